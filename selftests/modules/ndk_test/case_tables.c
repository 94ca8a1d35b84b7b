// SPDX-License-Identifier: GPL-2.0
/* The connections and local endpoints of an adapter, and what debugfs shows. */

#include <ndk/ndk_query.h>

#include "ndk_test.h"

#define DIR_A "/sys/kernel/debug/ndk/%s"

static struct ndk_connections *get_connections(struct t *t, enum t_side side)
{
	size_t size = struct_size_t(struct ndk_connections, connections, 64);
	struct ndk_connections *c = t_alloc(t, size);
	struct ndk_open_params params = t_the(side);

	memset(c, 0xa5, size);
	if (!EXPECT_STATUS(t, ndk_query_connections(world.net[side], &params, c, &size), 0))
		return NULL;
	EXPECT_EQ(t, c->flags, 0);
	EXPECT_EQ(t, c->mapped_to_tcp, world.iwarp);
	EXPECT_EQ(t, size, struct_size(c, connections, c->count));
	return c;
}

static bool addr_is(struct ndk_connector *c, bool peer, const struct sockaddr_storage *want)
{
	struct sockaddr_storage ss = {};
	u32 len = sizeof(ss);
	int rc = peer ? ndk_get_peer_address(c, (struct sockaddr *)&ss, &len) :
			ndk_get_local_address(c, (struct sockaddr *)&ss, &len);

	return !rc && t_same_addr(&ss, want);
}

/* Proves: 9.6-connections */
static void connections_are_listed(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct ndk_connections *c;
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct ndk_connection_entry *e;
	struct t_await *w;
	size_t size;
	int i;

	if (!p)
		return;
	/* One that is asked for is none yet. */
	w = t_connect_start(&p->a, &p->listener->address);
	p->b.connector = w ? t_incoming(p->listener) : NULL;
	if (!p->b.connector)
		return;
	for (i = 0; i < 2; i++) {
		c = get_connections(t, i);
		if (c)
			EXPECT_EQ(t, c->count, 0);
	}
	EXPECT_STATUS(t, ndk_reject(p->b.connector, NULL, 0), 0);
	EXPECT_STATUS(t, t_join(w), -ECONNREFUSED);
	if (!t_establish(&p->a, p->listener, &p->b))
		return;
	for (i = 0; i < 2; i++) {
		c = get_connections(t, i);
		if (!c || !EXPECT_EQ(t, c->count, 1))
			return;
		e = &c->connections[0];
		EXPECT(t, addr_is(p->a.connector, i == SIDE_B, &e->local));
		EXPECT(t, addr_is(p->b.connector, i == SIDE_B, &e->remote));
		EXPECT(t, !e->user_mode_owner);
		EXPECT_EQ(t, e->owner_pid, 0);
	}
	/* With room for none the size is that of one. */
	size = offsetof(struct ndk_connections, connections);
	{
		struct ndk_open_params params = t_the(SIDE_A);

		EXPECT_STATUS(t, ndk_query_connections(world.net[SIDE_A], &params, c, &size), -ENOSPC);
		EXPECT_EQ(t, size, struct_size(c, connections, 1));
	}
	t_close(t, &p->a.connector->header);
	p->a.connector = NULL;
	t_wait_gone(&p->b);
	for (i = 0; i < 2; i++) {
		c = get_connections(t, i);
		if (c)
			EXPECT_EQ(t, c->count, 0);
	}
}

/*
 * Both ends are connections of one adapter. On iWARP a TCP connection is below each: its ends stand behind it, and nothing else
 * of it.
 */
/* Proves: 9.6-connections, 9.6-tcp-pairs */
static void connection_to_itself(struct t *t)
{
	struct ndk_connection_entry *nd, *tcp;
	struct t_end *a = t_alloc(t, sizeof(*a)), *b = t_alloc(t, sizeof(*b));
	struct ndk_connections *c;
	struct t_listener *l;
	unsigned int i, step = world.iwarp ? 2 : 1;

	/* Over siw nothing else connects, where both hosts are in one namespace. */
	if (!t_end_init(t, a, SIDE_A, NULL) || !t_end_init(t, b, SIDE_A, NULL) || !t_end_qp(a) || !t_end_qp(b))
		return;
	l = t_listening(b, AF_INET, 0);
	if (!l || !t_establish(a, l, b))
		return;
	c = get_connections(t, SIDE_A);
	if (!c || !EXPECT_EQ(t, c->count, 2 * step))
		return;
	EXPECT(t, t_same_addr(&c->connections[0].local, &c->connections[step].remote));
	EXPECT(t, t_same_addr(&c->connections[step].local, &c->connections[0].remote));
	for (i = 0; i < c->count; i += step) {
		nd = &c->connections[i];
		EXPECT(t, !nd->user_mode_owner && !nd->owner_pid);
		if (!world.iwarp)
			continue;
		tcp = nd + 1;
		EXPECT(t, t_same_addr(&nd->local, &tcp->local));
		EXPECT(t, t_same_addr(&nd->remote, &tcp->remote));
		t_check_byte(t, &tcp->user_mode_owner, sizeof(tcp->user_mode_owner), 0xa5, "owner of a TCP entry");
		t_check_byte(t, &tcp->owner_pid, sizeof(tcp->owner_pid), 0xa5, "process of a TCP entry");
	}
}

static struct ndk_local_endpoints *get_endpoints(struct t *t, enum t_side side)
{
	size_t size = struct_size_t(struct ndk_local_endpoints, endpoints, 64);
	struct ndk_local_endpoints *l = t_alloc(t, size);
	struct ndk_open_params params = t_the(side);

	memset(l, 0xa5, size);
	if (!EXPECT_STATUS(t, ndk_query_local_endpoints(world.net[side], &params, l, &size), 0))
		return NULL;
	EXPECT_EQ(t, l->flags, 0);
	EXPECT_EQ(t, l->mapped_to_tcp, world.iwarp);
	EXPECT_EQ(t, size, struct_size(l, endpoints, l->count));
	return l;
}

/* Whether there is exactly one such endpoint. */
static bool is_listed(struct t *t, enum t_side side, const struct sockaddr_storage *at, bool listener)
{
	struct ndk_local_endpoints *l = get_endpoints(t, side);
	unsigned int i, step = world.iwarp ? 2 : 1, found = 0;

	for (i = 0; l && i < l->count; i += step) {
		EXPECT(t, !l->endpoints[i].user_mode_owner);
		EXPECT_EQ(t, l->endpoints[i].owner_pid, 0);
		if (!t_same_addr(&l->endpoints[i].local, at))
			continue;
		found++;
		EXPECT_EQ(t, l->endpoints[i].listener, listener);
		if (world.iwarp) {
			EXPECT(t, t_same_addr(&l->endpoints[i + 1].local, at));
			t_check_byte(t, &l->endpoints[i + 1].owner_pid, sizeof(u32), 0xa5,
				     "process of a TCP entry");
		}
	}
	return found == 1;
}

/* Proves: 9.6-endpoints */
static void endpoints_are_listed(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_shared_endpoint *shared;
	struct sockaddr_storage at;
	struct ndk_local_endpoints *l;
	struct t_listener *v4, *v6;
	int status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	l = get_endpoints(t, SIDE_A);
	if (l)
		EXPECT_EQ(t, l->count, 0);
	v4 = t_listening(e, AF_INET, 0);
	v6 = t_listening(e, AF_INET6, 0);
	shared = t_try_share(e, AF_INET, 0, &status);
	if (!v4 || !v6 || !EXPECT_STATUS(t, status, 0))
		return;
	EXPECT_STATUS(t, t_shared_address(shared, &at), 0);
	EXPECT(t, is_listed(t, SIDE_A, &v4->address, true));
	EXPECT(t, is_listed(t, SIDE_A, &v6->address, true));
	EXPECT(t, is_listed(t, SIDE_A, &at, false));
	l = get_endpoints(t, SIDE_A);
	if (l)
		EXPECT_EQ(t, l->count, world.iwarp ? 6 : 3);
	t_close(t, &v4->listener->header);
	t_close(t, &shared->header);
	EXPECT(t, !is_listed(t, SIDE_A, &v4->address, true));
	EXPECT(t, !is_listed(t, SIDE_A, &at, false));
	EXPECT(t, is_listed(t, SIDE_A, &v6->address, true));
}

/* A listener that is closed offers nothing any more, though its address stays taken; a connector's address is none of these. */
/* Proves: 9.6-endpoints, 4.2-listener-closed */
static void closed_listeners_are_not_listed(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_local_endpoints *l;
	struct t_await *w;

	if (!p)
		return;
	EXPECT(t, is_listed(t, SIDE_B, &p->listener->address, true));
	l = get_endpoints(t, SIDE_A);
	if (l)
		EXPECT_EQ(t, l->count, 0);
	w = t_close_start(t, &p->listener->listener->header);
	EXPECT(t, !is_listed(t, SIDE_B, &p->listener->address, true) || !t_is_done(w));
	t_sleep(50);
	EXPECT(t, !t_is_done(w));
	t_host(t, "grep -q 'type=listener owner=' /sys/kernel/debug/ndk/%s/endpoints", world.device[SIDE_B]);
	t_host(t, "grep -q 'type=connector owner=' /sys/kernel/debug/ndk/%s/endpoints", world.device[SIDE_A]);
	t_close(t, &p->b.connector->header);
	p->b.connector = NULL;
	t_join(w);
	EXPECT(t, !is_listed(t, SIDE_B, &p->listener->address, true));
	t_host(t, "! grep -q . /sys/kernel/debug/ndk/%s/endpoints", world.device[SIDE_B]);
}

/* --- debugfs -------------------------------------------------------------- */

/* A line of this kind stands in a file of side A. */
static void says(struct t *t, const char *file, const char *pattern)
{
	t_host(t, "grep -qE '%s' " DIR_A "/%s", pattern, world.device[SIDE_A], file);
}

static void files_tell(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *buf;

	if (!p || !t_region(&p->a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE) || !t_create(&p->a, KIND_FAST_MR) ||
	    !t_share(&p->a, AF_INET, 0))
		return;
	buf = t_buf(&p->a, 64);
	if (!buf)
		return;
	EXPECT_STATUS(t, t_post_receive(&p->a, 1, buf, 0, 64), 0);
	ndk_arm_cq(p->a.rcq->cq, NDK_CQ_NOTIFY_SOLICITED);
	says(t, "objects", "^object=[0-9]+ type=adapter adapter=[0-9]+ client=ndk_test closing=0 .* version=2\\.1$");
	says(t, "objects", "type=pd adapter=[0-9]+ client=ndk_test closing=0 requests=0 callbacks=0 successors=[1-9]");
	says(t, "objects", "type=cq .* depth=[0-9]+ armed=solicited qps=1 ");
	says(t, "objects", "type=cq .* armed=no qps=1 ");
	says(t, "objects", "type=qp .* successors=[1-9] qpn=[0-9]+ posts=all initiator=0/[0-9]+ .* receive=1/[0-9]+$");
	says(t, "objects", "type=mr .* kind=normal state=registered token=0x[1-9a-f]");
	says(t, "objects", "type=mr .* kind=fast state=created ");
	says(t, "objects", "type=connector .* state=connected qp=[0-9]+ local=10\\.9\\.0\\.1:[0-9]+ peer=10\\.9\\.0\\.2:");
	says(t, "objects", "type=shared_endpoint .* local=10\\.9\\.0\\.1:[0-9]+$");
	says(t, "connections", "^local=10\\.9\\.0\\.1:[0-9]+ peer=10\\.9\\.0\\.2:[0-9]+$");
	says(t, "endpoints", "^local=10\\.9\\.0\\.1:[0-9]+ type=shared owner=open connectors=0$");
	says(t, "endpoints", "^local=10\\.9\\.0\\.1:[0-9]+ type=connector ");
	says(t, "counters", "^active_connection 1$");
	says(t, "counters", "^rdma_out_octets [1-9]");
	says(t, "adapter", "^enabled 1$");
	says(t, "adapter", "^version 2\\.1$");
	t_host(t, "grep -qE 'type=listener .* state=listening paused=0 unanswered=0 local=' /sys/kernel/debug/ndk/%s/objects",
	       world.device[SIDE_B]);
	t_host(t, "grep -qE 'type=connector .* state=connected listener=[0-9]+ ' /sys/kernel/debug/ndk/%s/objects",
	       world.device[SIDE_B]);
	/* Nobody can write. */
	t_host(t, "! ls -l " DIR_A " | grep w-", world.device[SIDE_A]);
}

/* What hangs is seen: a close that waits for a successor. */
static void files_tell_what_a_close_waits_for(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_await *w;

	if (!p)
		return;
	w = t_close_start(t, &p->a.pd->header);
	p->a.pd = NULL;
	says(t, "objects", "type=pd .* closing=1 requests=0 callbacks=0 successors=1");
	EXPECT(t, !t_is_done(w));
	t_close(t, &p->a.connector->header);
	t_close(t, &p->a.qp->header);
	p->a.connector = NULL;
	p->a.qp = NULL;
	t_join(w);
	t_host(t, "! grep -q 'type=pd ' " DIR_A "/objects", world.device[SIDE_A]);
}

static void nothing_is_left_behind(struct t *t)
{
	t_host(t, "! grep -q . " DIR_A "/objects", world.device[SIDE_A]);
	t_host(t, "! grep -q . " DIR_A "/endpoints", world.device[SIDE_A]);
	t_host(t, "! grep -q . " DIR_A "/connections", world.device[SIDE_A]);
}

static const struct t_case cases[] = {
	{ "connections_are_listed_ipv4", connections_are_listed, AF_INET },
	{ "connections_are_listed_ipv6", connections_are_listed, AF_INET6 },
	{ "connection_to_itself", connection_to_itself },
	{ "endpoints_are_listed", endpoints_are_listed },
	{ "closed_listeners_are_not_listed", closed_listeners_are_not_listed },
	{ "files_tell", files_tell },
	{ "files_tell_what_a_close_waits_for", files_tell_what_a_close_waits_for },
	{ "nothing_is_left_behind", nothing_is_left_behind },
};

T_GROUP(tables, cases);
