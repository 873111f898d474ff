/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_MESSAGES_H
#define REPORT_MESSAGES_H

/*
 * What tierd says in the journal: a name and a MESSAGE_ID each, never changed once released.
 * conf/tierd.catalog explains every one of them (a test compares).
 */
#define MESSAGES(X)                                               \
	X(STARTED, "f5f76428414897792f44d142f68900b8")           \
	X(STOPPED, "5f97b12b3ad9c35dc4c8c39a38e3e222")           \
	X(RELOADED, "741219d7fc9b92173ca76e2b328b95f9")          \
	X(RELOAD_FAILED, "2b23bbbaa71ada7838cb1d5d6ada763a")     \
	X(TRACKER_DEGRADED, "7a1e152a641bc8e8cd1f6a0d29abb196")  \
	X(TRACKER_RECOVERED, "9cd698269b4bf21589310e11692c0472") \
	X(MEMORY_MOVED, "6384ad19c7db8f5f8a0ebd1b4c35ade4")      \
	X(JOB_FINISHED, "98f973b9aab2819d49169112f1d8e6ff")      \
	X(MOVER_STUCK, "823d460cb71574c1579612753fddc557")       \
	X(TICK_FAILED, "51e677588e84b0f7bc424c696a23430c")       \
	X(BUS_CONNECTED, "225f6894eef3056a204e49a29f99ad7b")     \
	X(BUS_MISSING, "a9d31e464891c052c90726a15cdc23ca")      

#define MESSAGE_ENUM(name, id) MESSAGE_##name,
enum message {
	MESSAGES(MESSAGE_ENUM) MESSAGE_COUNT,
};
#undef MESSAGE_ENUM

#endif
