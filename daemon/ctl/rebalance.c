// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl rebalance: says what will be moved, starts the job, follows it, and ends with a status
 * that tells whether everything is where it was asked to be.
 */
#include <stdio.h>

#include "ctl/daemon-state.h"
#include "ctl/watch.h"
#include "report/text.h"
#include "util.h"

DEFINE_CLEANUP(struct watch *, watch_free)

struct request {
	uint64_t cgroup_id;
	const char *cgroup; /* as it was given */
	int rank;           /* -1: hot up, cold down */
};

struct summary {
	uint64_t promote_bytes;
	uint64_t demote_bytes;
	uint64_t asked_bytes;
	uint32_t batches;
	struct dict_amounts held;
};

#define FIELD(key, type, member) { key, type, offsetof(struct summary, member), NULL }

static const struct dict_field summary_fields[] = {
	FIELD("promote_bytes", "t", promote_bytes), FIELD("demote_bytes", "t", demote_bytes),
	FIELD("asked_bytes", "t", asked_bytes),     FIELD("batches", "u", batches),
	FIELD("held_bytes", "a{st}", held),
};

static enum ctl_exit slowest_rank(sd_bus *bus, int *ret)
{
	cleanup(daemon_state_done) struct daemon_state s = { 0 };
	enum ctl_exit status = daemon_state_get(bus, &s);

	if (status)
		return status;
	if (!s.tiers.n) {
		ctl_error("tierd has not looked at the machine yet");
		return CTL_FAILED;
	}
	*ret = (int)s.tiers.tiers[s.tiers.n - 1].rank;
	return CTL_OK;
}

/* Digits are taken as they are: the daemon knows which tiers there are. */
static enum ctl_exit parse_tier(const char *text, sd_bus *bus, int *ret)
{
	size_t n = strspn(text, "0123456789");

	if (!strcmp(text, "slow"))
		return slowest_rank(bus, ret);
	if (!strcmp(text, "fast")) {
		*ret = 0;
		return CTL_OK;
	}
	/* At most 32 tiers exist. */
	if (n < 1 || n > 2 || text[n]) {
		ctl_error("--to takes the number of a tier, fast or slow");
		return CTL_USAGE;
	}
	*ret = atoi(text);
	return CTL_OK;
}

static enum ctl_exit ask(sd_bus *bus, const struct request *q, bool dry_run, struct summary *ret,
			 uint64_t *ret_job)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	enum ctl_exit status = client_call(bus, "Rebalance", &reply, "tib", q->cgroup_id, q->rank,
					   (int)dry_run);
	int r;

	if (status)
		return status;
	r = dict_read(reply, summary_fields, ARRAY_SIZE(summary_fields), ret);
	if (r >= 0)
		r = sd_bus_message_read(reply, "t", ret_job);
	return r < 0 ? client_bad_reply(r) : CTL_OK;
}

static enum ctl_exit print_json(const struct request *q, const struct summary *s, uint64_t job_id,
				const char *result, const struct job *job)
{
	struct json_object *o = json_new();

	json_add_text(o, "verb", "rebalance");
	json_add_text(o, "result", result);
	json_add_u64(o, "cgroup_id", q->cgroup_id);
	json_object_object_add(o, "to_tier", q->rank < 0 ? NULL : json_object_new_int(q->rank));
	json_add_u64(o, "promote_bytes", s->promote_bytes);
	json_add_u64(o, "demote_bytes", s->demote_bytes);
	json_add_u64(o, "asked_bytes", s->asked_bytes);
	json_add_u64(o, "batches", s->batches);
	json_add_amounts(o, "held_bytes", &s->held);
	json_add_u64(o, "job_id", job_id);
	if (job)
		job_add_json(o, job);
	return json_print(o);
}

static void print_amounts(const char *before, const struct dict_amounts *a, const char *leave_out)
{
	char size[TEXT_NUMBER_MAX];
	bool any = false;

	for (size_t i = 0; i < a->n; i++) {
		if (!strcmp(a->items[i].name, leave_out))
			continue;
		printf("%s%s %s", any ? ", " : before, text_size(a->items[i].bytes, size),
		       a->items[i].name);
		any = true;
	}
	if (any)
		putchar('\n');
}

static void print_plan(const char *what, const struct summary *s)
{
	char up[TEXT_NUMBER_MAX], down[TEXT_NUMBER_MAX];

	printf("%s: %s up, %s down, in %u batches\n", what, text_size(s->promote_bytes, up),
	       text_size(s->demote_bytes, down), s->batches);
	print_amounts("left out: ", &s->held, "");
}

static void print_result(const struct summary *s, const char *result, const struct job *job)
{
	char moved[TEXT_NUMBER_MAX], asked[TEXT_NUMBER_MAX];

	printf("%s: %s of %s moved\n", result, text_size(job->moved_bytes, moved),
	       text_size(job->asked_bytes, asked));
	print_amounts("not moved: ", &job->results, "moved");
	print_amounts("left out: ", &s->held, "");
}

static enum ctl_exit status_of(const char *result, const struct summary *s)
{
	if (!strcmp(result, "cancelled"))
		return CTL_CANCELLED;
	if (!strcmp(result, "partial"))
		return CTL_PARTIAL;
	if (strcmp(result, "done"))
		return CTL_FAILED;
	/* The job moved all that it was given, but it was not given everything. */
	return dict_amounts_sum(&s->held) ? CTL_PARTIAL : CTL_OK;
}

static enum ctl_exit follow(const struct ctl_options *options, struct watch *w,
			    const struct request *q, const struct summary *s, uint64_t job_id)
{
	cleanup(job_done) struct job job = { 0 };
	enum ctl_exit status, printed = CTL_OK;
	const char *result;

	status = watch_job(w, job_id, s->asked_bytes, options->json, &result, &job);
	if (status)
		return status;
	status = status_of(result, s);
	if (status == CTL_PARTIAL)
		result = "partial";
	if (options->json)
		printed = print_json(q, s, job_id, result, &job);
	else
		print_result(s, result, &job);
	return printed ? printed : status;
}

/* Nothing is waited for: a dry run, nothing to move, or --wait=no. */
static enum ctl_exit tell(const struct ctl_options *options, const struct request *q,
			  const struct summary *s, uint64_t job_id)
{
	enum ctl_exit status = CTL_OK;

	/* Nothing moved, and not because everything is in its place. */
	if (!job_id && !options->dry_run && dict_amounts_sum(&s->held))
		status = CTL_PARTIAL;
	if (options->json) {
		enum ctl_exit printed = print_json(q, s, job_id,
						   options->dry_run ? "planned" :
						   job_id	   ? "started" :
						   status	   ? "partial" :
								     "done",
						   NULL);
		return printed ? printed : status;
	}
	if (options->dry_run)
		print_plan("would move", s);
	else if (job_id)
		printf("job %llu\n", (unsigned long long)job_id);
	else
		puts("nothing to move");
	if (!options->dry_run && !job_id)
		print_amounts("left out: ", &s->held, "");
	return status;
}

enum ctl_exit ctl_rebalance(const struct ctl_options *options, int argc, char **argv)
{
	cleanup(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	cleanup(watch_freep) struct watch *w = NULL;
	struct request q = { .cgroup = argv[0], .rank = -1 };
	struct summary s = { 0 };
	uint64_t job_id = 0;
	enum ctl_exit status = client_open(&bus);

	if (!status && options->to)
		status = parse_tier(options->to, bus, &q.rank);
	if (!status)
		status = client_find_cgroup(bus, q.cgroup, &q.cgroup_id);
	if (!status && options->wait && !options->dry_run)
		status = watch_new(bus, &w);
	if (!status)
		status = ask(bus, &q, options->dry_run, &s, &job_id);
	if (status)
		return status;
	return w && job_id ? follow(options, w, &q, &s, job_id) : tell(options, &q, &s, job_id);
}
