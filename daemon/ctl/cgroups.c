// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The managed cgroups as the daemon lists them, and the id of the one that people mean. Names are
 * resolved here, with the caller's own rights, so that no path ever travels to the daemon.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "ctl/cgroups.h"
#include "report/text.h"
#include "util.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"
/* The daemon lists at most 16,384; room for what a later one may do. */
#define LIST_MAX 65536

#define FIELD(key, type, member) { key, type, offsetof(struct cgroup, member), NULL }

static const struct dict_field fields[] = {
	FIELD("cgroup_id", "t", id),
	FIELD("path", "ay", path),
	FIELD("name", "s", name),
	FIELD("policy", "s", policy),
	FIELD("mode", "s", mode),
	FIELD("paused", "b", paused),
	FIELD("processes", "u", processes),
	FIELD("tier_bytes", "at", tier_bytes),
	FIELD("hot_bytes", "t", hot_bytes),
	FIELD("hot_fast_bytes", "t", hot_fast_bytes),
	FIELD("tracked_bytes", "t", tracked_bytes),
	FIELD("promoted_bytes", "t", promoted_bytes),
	FIELD("demoted_bytes", "t", demoted_bytes),
	FIELD("failed_bytes", "t", failed_bytes),
	FIELD("ping_pong_bytes", "t", ping_pong_bytes),
	FIELD("folios_split", "t", folios_split),
	FIELD("last_move_us", "t", last_move_us),
	FIELD("stall_us", "t", stall_us),
};

void cgroup_list_done(struct cgroup_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		dict_done(fields, ARRAY_SIZE(fields), &l->cgroups[i]);
	free(l->cgroups);
	*l = (struct cgroup_list){ 0 };
}

static int read_one(sd_bus_message *m, struct cgroup_list *l, size_t *capacity)
{
	struct cgroup *c;
	int r = array_reserve((void **)&l->cgroups, capacity, l->n, sizeof(*c), LIST_MAX);

	if (r < 0)
		return r;
	c = &l->cgroups[l->n++];
	*c = (struct cgroup){ 0 };
	r = dict_read(m, fields, ARRAY_SIZE(fields), c);
	if (r < 0)
		return r;
	return c->path && c->name && c->mode ? 0 : -EBADMSG;
}

static int read_list(sd_bus_message *m, struct cgroup_list *l)
{
	size_t capacity = 0;
	int r = sd_bus_message_enter_container(m, 'a', "a{sv}");

	while (r >= 0 && (r = sd_bus_message_at_end(m, false)) == 0)
		r = read_one(m, l, &capacity);
	return r < 0 ? r : 0;
}

enum ctl_exit cgroup_list_get(sd_bus *bus, struct cgroup_list *ret)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct cgroup_list l = { 0 };
	enum ctl_exit status = client_call(bus, "ListCgroups", &reply, NULL);
	int r;

	if (status)
		return status;
	r = read_list(reply, &l);
	if (r < 0) {
		cgroup_list_done(&l);
		return client_bad_reply(r);
	}
	*ret = l;
	return CTL_OK;
}

/* The path below the mount that @name spells: without the mount, without slashes at the ends. */
static char *relative_path(const char *name)
{
	size_t mount = strlen(CGROUP_MOUNT), n;

	if (!strncmp(name, CGROUP_MOUNT, mount) && (!name[mount] || name[mount] == '/'))
		name += mount;
	name += strspn(name, "/");
	n = strlen(name);
	while (n && name[n - 1] == '/')
		n--;
	return strndup(name, n);
}

static bool has_dot_dot(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

static int stat_cgroup(const char *path, uint64_t *ret_id)
{
	cleanup(freep) char *full = NULL;
	struct stat st;

	if (asprintf(&full, CGROUP_MOUNT "/%s", path) < 0) {
		full = NULL;
		return -ENOMEM;
	}
	if (stat(full, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*ret_id = st.st_ino;
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The only cgroup with this path, or with this last component; *ret_n says how many there are. */
static const struct cgroup *search_list(const struct cgroup_list *l, const char *path, size_t *ret_n)
{
	const struct cgroup *found = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->cgroups[i].path, path)) {
			*ret_n = 1;
			return &l->cgroups[i];
		}
		if (strcmp(base_name(l->cgroups[i].path), path))
			continue;
		found = &l->cgroups[i];
		(*ret_n)++;
	}
	return found;
}

static enum ctl_exit no_such_cgroup(const char *name)
{
	cleanup(freep) char *printable = text_escape(name, strlen(name));

	ctl_error("there is no cgroup %s", printable ? printable : "of that name");
	return CTL_FAILED;
}

static enum ctl_exit find_listed(sd_bus *bus, const char *path, uint64_t *ret_id)
{
	cleanup(cgroup_list_done) struct cgroup_list l = { 0 };
	enum ctl_exit status = cgroup_list_get(bus, &l);
	const struct cgroup *c;
	size_t n;

	if (status)
		return status;
	c = search_list(&l, path, &n);
	if (n > 1) {
		ctl_error("%zu cgroups have this name, give the path (see tierctl list)", n);
		return CTL_FAILED;
	}
	/* Not listed, but perhaps there: the daemon will say that it does not manage it. */
	if (!c)
		return stat_cgroup(path, ret_id) < 0 ? no_such_cgroup(path) : CTL_OK;
	*ret_id = c->id;
	return CTL_OK;
}

enum ctl_exit client_find_cgroup(sd_bus *bus, const char *name, uint64_t *ret_id)
{
	cleanup(freep) char *path = relative_path(name);

	if (!path) {
		ctl_error("out of memory");
		return CTL_FAILED;
	}
	if (has_dot_dot(path) || !*name)
		return no_such_cgroup(name);
	/* A path is looked up now, as the daemon's list is as old as its last tick. */
	if ((strchr(path, '/') || !*path) && stat_cgroup(path, ret_id) >= 0)
		return CTL_OK;
	return find_listed(bus, path, ret_id);
}
