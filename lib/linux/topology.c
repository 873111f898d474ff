// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory nodes as sysfs shows them: which there are, which have CPUs, how far they are from each
 * other, how much of them is free, and the kernel's own tiers. What changes only with hotplug is
 * kept from one read to the next; free memory is read every time. Decides nothing about the order:
 * that is order.c.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "linux/linux.h"
#include "linux/topology.h"
#include "util.h"

#define NODE_DIR "devices/system/node"
#define TIER_DIR "devices/virtual/memory_tiering"

/* A list of 1,024 node ids is below 5 KiB; a node's meminfo and distances are below 4 KiB. */
#define FILE_MAX_BYTES (16 * KiB)

/* The kernel numbers its tiers by abstract distance / 128; a number beyond this is no tier. */
#define KERNEL_TIER_MAX 1000000

/* A node may go offline while its files are read: begin again, this often. */
#define READ_TRIES 3

/* What tells that nodes came, went or changed their tier. */
struct shape {
	struct node_set online;
	struct node_set with_cpus;
	int kernel_tier[TIER_NODES_MAX]; /* by index among the online nodes */
};

struct topology_cache {
	pthread_mutex_t lock;
	bool valid;
	struct shape shape;
	struct tier_topology topology; /* without memory and ranks */
};

int topology_cache_new(struct topology_cache **ret)
{
	struct topology_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

struct topology_cache *topology_cache_free(struct topology_cache *c)
{
	if (!c)
		return NULL;
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

DEFINE_CLEANUP(struct tier_topology *, tier_topology_free)

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int read_node_list(int sys_fd, const char *path, struct node_set *ret)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = file_read_at(sys_fd, path, FILE_MAX_BYTES, false, &text, &size);
	return r < 0 ? r : parse_node_list(text, size, ret);
}

/* Index of the online node @id among the online nodes, which are at most TIER_NODES_MAX. */
static size_t online_index(const struct shape *s, int id)
{
	size_t index = 0;

	for (int i = node_set_next(&s->online, 0); i >= 0 && i < id;
	     i = node_set_next(&s->online, i + 1))
		index++;
	return index;
}

/* Enters the nodes of one of the kernel's tiers. */
static int read_kernel_tier(int sys_fd, const char *name, struct shape *s)
{
	char path[sizeof(TIER_DIR "/memory_tier1000000/nodelist") + 8];
	struct node_set nodes;
	uint64_t number;
	size_t prefix = strlen("memory_tier");
	int r;

	if (strncmp(name, "memory_tier", prefix) ||
	    parse_u64(name + prefix, strlen(name + prefix), KERNEL_TIER_MAX, &number) < 0)
		return 0;
	snprintf(path, sizeof(path), TIER_DIR "/memory_tier%d/nodelist", (int)number);
	r = read_node_list(sys_fd, path, &nodes);
	if (r == -ENOENT) /* the tier is gone, or a kernel older than nodelist */
		return 0;
	if (r < 0)
		return r;
	for (int id = node_set_next(&nodes, 0); id >= 0; id = node_set_next(&nodes, id + 1)) {
		int *tier;

		if (!node_set_has(&s->online, id))
			continue;
		/* A node on its way from one tier to another may be seen in both. */
		tier = &s->kernel_tier[online_index(s, id)];
		if (*tier == KERNEL_TIER_NONE || *tier > (int)number)
			*tier = (int)number;
	}
	return 0;
}

static int read_kernel_tiers(int sys_fd, struct shape *s)
{
	cleanup(closedirp) DIR *dir = NULL;
	cleanup(closep) int fd = -1;
	struct dirent *entry;
	int r;

	for (size_t i = 0; i < TIER_NODES_MAX; i++)
		s->kernel_tier[i] = KERNEL_TIER_NONE;
	fd = file_open_at(sys_fd, TIER_DIR, O_RDONLY | O_DIRECTORY, false);
	if (fd == -ENOENT) /* built without CONFIG_MIGRATION, or a tree without it */
		return 0;
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	steal_fd(&fd);
	while ((entry = readdir(dir))) {
		r = read_kernel_tier(sys_fd, entry->d_name, s);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_shape(int sys_fd, struct shape *ret)
{
	struct shape s;
	int r;

	memset(&s, 0, sizeof(s)); /* compared as bytes */
	r = read_node_list(sys_fd, NODE_DIR "/online", &s.online);
	if (r < 0)
		return r;
	if (node_set_count(&s.online) == 0)
		return -EINVAL;
	if (node_set_count(&s.online) > TIER_NODES_MAX)
		return -E2BIG;
	r = read_node_list(sys_fd, NODE_DIR "/has_cpu", &s.with_cpus);
	if (r < 0)
		return r;
	r = read_kernel_tiers(sys_fd, &s);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}

static int read_node_file(int sys_fd, int id, const char *name, char **ret, size_t *ret_size)
{
	char path[sizeof(NODE_DIR "/node1023/distance") + 8];

	snprintf(path, sizeof(path), NODE_DIR "/node%d/%s", id, name);
	return file_read_at(sys_fd, path, FILE_MAX_BYTES, false, ret, ret_size);
}

static int read_distances(int sys_fd, struct tier_topology *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		cleanup(freep) char *text = NULL;
		size_t size, n;
		int r;

		r = read_node_file(sys_fd, t->nodes[i].id, "distance", &text, &size);
		if (r < 0)
			return r;
		/* As many as there are online nodes, or a node came or went just now. */
		r = parse_distances(text, size, TIER_NODES_MAX, t->distance[i], &n);
		if (r < 0)
			return r;
		if (n != t->n_nodes)
			return -ENOENT;
	}
	return 0;
}

/* All that stays as it is until nodes come or go. */
static int read_fixed(struct linux_machine *m, const struct shape *s, struct tier_topology *ret)
{
	cleanup(tier_topology_freep) struct tier_topology *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	for (int id = node_set_next(&s->online, 0); id >= 0; id = node_set_next(&s->online, id + 1))
		t->nodes[t->n_nodes++] = (struct tier_node){
			.id = id,
			.has_cpus = node_set_has(&s->with_cpus, id),
		};
	r = read_distances(m->sys_fd, t);
	if (r < 0)
		return r;
	attributes_read(m->root, t);
	*ret = *t;
	return 0;
}

static int read_memory(struct linux_machine *m, struct tier_topology *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		cleanup(freep) char *text = NULL;
		struct tier_node *node = &t->nodes[i];
		size_t size;
		int r;

		r = read_node_file(m->sys_fd, node->id, "meminfo", &text, &size);
		if (r < 0)
			return r;
		r = parse_meminfo(text, size, &node->total_bytes, &node->free_bytes);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_nodes(struct linux_machine *m, struct topology_cache *c, struct tier_topology *t,
		      struct shape *ret_shape)
{
	struct shape s;
	int r;

	r = read_shape(m->sys_fd, &s);
	if (r < 0)
		return r;
	if (!c->valid || memcmp(&c->shape, &s, sizeof(s))) {
		c->valid = false;
		r = read_fixed(m, &s, &c->topology);
		if (r < 0)
			return r;
		c->shape = s;
		c->valid = true;
	}
	*t = c->topology;
	r = read_memory(m, t);
	if (r < 0)
		return r;
	*ret_shape = s;
	return 0;
}

/* A kernel without CONFIG_NUMA has no node directory: all memory is node 0. */
static int read_without_nodes(struct linux_machine *m, struct tier_topology *t)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = file_read_at(m->proc_fd, "meminfo", FILE_MAX_BYTES, false, &text, &size);
	if (r < 0)
		return r;
	memset(t, 0, sizeof(*t));
	t->n_nodes = 1;
	t->nodes[0].has_cpus = true;
	return parse_meminfo(text, size, &t->nodes[0].total_bytes, &t->nodes[0].free_bytes);
}

static bool has_node_directory(int sys_fd)
{
	cleanup(closep) int fd = file_open_at(sys_fd, NODE_DIR, O_PATH | O_DIRECTORY, false);

	return fd != -ENOENT;
}

static int read_all(struct linux_machine *m, struct topology_cache *c, struct tier_topology *t,
		    struct shape *ret_shape)
{
	int r = -ENOENT;

	if (!has_node_directory(m->sys_fd))
		return read_without_nodes(m, t);
	for (int i = 0; i < READ_TRIES && r == -ENOENT; i++)
		r = read_nodes(m, c, t, ret_shape);
	return r;
}

int linux_topology_read(struct linux_machine *m, struct tier_topology **ret)
{
	cleanup(tier_topology_freep) struct tier_topology *t = calloc(1, sizeof(*t));
	struct shape shape = {.kernel_tier = {KERNEL_TIER_NONE}};
	struct tier_list order;
	const char *why;
	int r;

	if (!t)
		return -ENOMEM;
	if (m->tier_override) {
		r = parse_tier_list(m->tier_override, strlen(m->tier_override), &order, &why);
		if (r < 0)
			return r;
	}
	pthread_mutex_lock(&m->topology->lock);
	r = read_all(m, m->topology, t, &shape);
	pthread_mutex_unlock(&m->topology->lock);
	if (r < 0)
		return r;
	order_nodes(t, shape.kernel_tier, m->tier_override ? &order : NULL);
	*ret = STEAL(t);
	return 0;
}
