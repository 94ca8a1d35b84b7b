// SPDX-License-Identifier: GPL-2.0
/* What there is to know of an adapter from the outside: capabilities and counters; case_tables.c has tables and debugfs. */

#include <linux/slab.h>

#include <ndk/ndk_query.h>

#include "cqt.h"
#include "ndk_test.h"

struct ndk_open_params t_the(enum t_side side)
{
	/* The version is not looked at. */
	return (struct ndk_open_params) { .version = { 77, 77 }, .device = world.device[side] };
}

/* One of the four queries, so that what they have in common is asked of each. */
struct query {
	const char *name;
	int (*ask)(struct net *net, const struct ndk_open_params *params, void *to, size_t *size);
	size_t least;
};

#define QUERY(what, type) \
	static int ask_##what(struct net *net, const struct ndk_open_params *params, void *to, size_t *size) \
	{ \
		return ndk_query_##what(net, params, (type *)to, size); \
	}
QUERY(capabilities, struct ndk_capabilities)
QUERY(statistics, struct ndk_statistics)
QUERY(connections, struct ndk_connections)
QUERY(local_endpoints, struct ndk_local_endpoints)

static const struct query queries[] = {
	{ "capabilities", ask_capabilities, sizeof(struct ndk_capabilities) },
	{ "statistics", ask_statistics, sizeof(struct ndk_statistics) },
	{ "connections", ask_connections, offsetof(struct ndk_connections, connections) },
	{ "local endpoints", ask_local_endpoints, offsetof(struct ndk_local_endpoints, endpoints) },
};

static int ask(const struct query *q, struct ndk_open_params *params, void *to, size_t *size)
{
	return q->ask(world.net[SIDE_A], params, to, size);
}

/* Proves: 9.6-sizes */
static void sizes(struct t *t)
{
	struct ndk_open_params params = t_the(SIDE_A);
	const struct query *q;
	size_t size, needed;
	u8 *to;

	for (q = queries; q < queries + ARRAY_SIZE(queries); q++) {
		t_trace("%s", q->name);
		size = 12345;
		EXPECT_STATUS(t, ask(q, &params, NULL, &size), -ENOSPC);
		needed = size;
		EXPECT_EQ(t, needed, q->least);
		to = t_alloc(t, needed + 100);
		memset(to, 0xa5, needed + 100);
		size = needed - 1;
		EXPECT_STATUS(t, ask(q, &params, to, &size), -ENOSPC);
		EXPECT_EQ(t, size, needed);
		t_check_byte(t, to, needed + 100, 0xa5, "a buffer that was too small");
		size = needed + 100;
		EXPECT_STATUS(t, ask(q, &params, to, &size), 0);
		EXPECT_EQ(t, size, needed);
		t_check_byte(t, to + needed, 100, 0xa5, "what is behind the answer");
	}
}

/* Proves: 9.6-sizes */
static void bad_arguments(struct t *t)
{
	struct ndk_open_params params = t_the(SIDE_A), none = {}, two = t_the(SIDE_A), unknown = t_the(SIDE_A);
	struct ndk_open_params other = t_the(SIDE_B);
	const struct query *q;
	size_t size;
	u8 *to = t_alloc(t, SZ_4K);

	two.ifindex = world.ifindex[SIDE_A];
	unknown.device = "no_such_device";
	memset(to, 0xa5, SZ_4K);
	for (q = queries; q < queries + ARRAY_SIZE(queries); q++) {
		t_trace("%s", q->name);
		size = SZ_4K;
		EXPECT_STATUS(t, q->ask(NULL, &params, to, &size), -EINVAL);
		EXPECT_STATUS(t, q->ask(world.net[SIDE_A], NULL, to, &size), -EINVAL);
		EXPECT_STATUS(t, ask(q, &params, to, NULL), -EINVAL);
		EXPECT_STATUS(t, ask(q, &none, to, &size), -EINVAL);
		EXPECT_STATUS(t, ask(q, &two, to, &size), -EINVAL);
		EXPECT_STATUS(t, ask(q, &unknown, to, &size), -ENODEV);
		/* Adapters of other namespaces are none. */
		if (!world.iwarp)
			EXPECT_STATUS(t, ask(q, &other, to, &size), -ENODEV);
		EXPECT_EQ(t, size, SZ_4K);
		t_check_byte(t, to, SZ_4K, 0xa5, "the answer to a bad question");
	}
}

static bool get_capabilities(struct t *t, enum t_side side, struct ndk_capabilities *caps)
{
	struct ndk_open_params params = t_the(side);
	size_t size = sizeof(*caps);

	memset(caps, 0xa5, sizeof(*caps));
	return EXPECT_STATUS(t, ndk_query_capabilities(world.net[side], &params, caps, &size), 0) &&
		EXPECT_EQ(t, size, sizeof(*caps));
}

/* All but the padding. */
static bool same_info(const struct ndk_adapter_info *x, const struct ndk_adapter_info *y)
{
	size_t from = offsetof(struct ndk_adapter_info, max_registration_size);
	size_t to = offsetofend(struct ndk_adapter_info, rdma_technology);

	return x->version.major == y->version.major && x->version.minor == y->version.minor &&
		x->vendor_id == y->vendor_id && x->device_id == y->device_id &&
		!memcmp((u8 *)x + from, (u8 *)y + from, to - from);
}

#define TRAFFIC (BIT_ULL(26) | BIT_ULL(27) | BIT_ULL(28) | BIT_ULL(29))

/* Proves: 9.4-capabilities, 9.4-read-limits, 9.6-missing */
static void capabilities(struct t *t)
{
	struct ndk_adapter *adapter = t_adapter(t, SIDE_A);
	struct ndk_capabilities caps;
	struct ndk_adapter_info info;

	if (!adapter || !get_capabilities(t, SIDE_A, &caps))
		return;
	info = t_info(t, adapter);
	EXPECT_EQ(t, caps.flags, 0);
	EXPECT(t, caps.enabled);
	EXPECT(t, caps.max_qp_count > 0 && caps.max_cq_count > 0);
	EXPECT(t, caps.max_mr_count > 0 && caps.max_pd_count > 0);
	EXPECT_EQ(t, !caps.max_mw_count, !info.max_window_size);
	EXPECT_EQ(t, !caps.max_srq_count, !info.max_srq_depth);
	/* 0 is no limit, and a limit of all QPs is not below that of one. */
	EXPECT(t, !caps.max_inbound_read_limit || caps.max_inbound_read_limit >= info.max_inbound_read_limit);
	EXPECT_EQ(t, caps.max_outbound_read_limit, 0);
	EXPECT_EQ(t, caps.missing_counter_mask, world.iwarp ? TRAFFIC : 0);
	EXPECT(t, same_info(&caps.info, &info));
}

/* The same while the adapter cannot be opened, which they say. */
/* Proves: 9.4-disabled, 9.1-not-ready */
static void capabilities_of_a_link_that_is_down(struct t *t)
{
	struct ndk_open_params params = { .version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR } };
	struct ndk_capabilities up, down;
	struct ndk_adapter *adapter;

	params.device = world.device[SIDE_A];
	if (!get_capabilities(t, SIDE_A, &up) || t_host(t, "ip -n a link set veth_a down"))
		return;
	if (get_capabilities(t, SIDE_A, &down)) {
		EXPECT(t, !down.enabled);
		down.enabled = up.enabled;
		EXPECT(t, same_info(&up.info, &down.info));
		EXPECT_EQ(t, down.max_qp_count, up.max_qp_count);
		EXPECT_EQ(t, down.missing_counter_mask, up.missing_counter_mask);
	}
	EXPECT_STATUS(t, t_open(t, SIDE_A, &params, &adapter), -ENETDOWN);
	EXPECT(t, adapter == t_poison());
	/* IPv6 addresses went with the link. */
	t_host(t, "ip -n a link set veth_a up && ip -n a addr replace fd09::1/64 dev veth_a nodad && link_ready a");
	if (get_capabilities(t, SIDE_A, &up))
		EXPECT(t, up.enabled);
	EXPECT_STATUS(t, t_open(t, SIDE_A, &params, &adapter), 0);
}

static void read_counters(struct t *t, enum t_side side, struct ndk_counters *to)
{
	struct ndk_open_params params = t_the(side);
	struct ndk_statistics s;
	size_t size = sizeof(s);
	int i;

	memset(&s, 0xa5, sizeof(s));
	EXPECT_STATUS(t, ndk_query_statistics(world.net[side], &params, &s, &size), 0);
	EXPECT_EQ(t, size, sizeof(s));
	EXPECT_EQ(t, s.flags, 0);
	for (i = 0; i < ARRAY_SIZE(s.counters.reserved); i++)
		EXPECT_EQ(t, s.counters.reserved[i], 0);
	*to = s.counters;
}

/* Of both sides. */
static struct ndk_counters *read_both(struct t *t)
{
	struct ndk_counters *both = t_alloc(t, 2 * sizeof(*both));

	read_counters(t, SIDE_A, &both[SIDE_A]);
	read_counters(t, SIDE_B, &both[SIDE_B]);
	return both;
}

/* The number of a counter is its place. */
static_assert(sizeof(struct ndk_counters) == 30 * sizeof(u64));
static_assert(offsetof(struct ndk_counters, active_connection) == 4 * sizeof(u64));
static_assert(offsetof(struct ndk_counters, cq_error) == 25 * sizeof(u64));
static_assert(offsetof(struct ndk_counters, rdma_out_frames) == 29 * sizeof(u64));

struct change {
	s8 connect, accept, connect_failure, connection_error, active_connection, cq_error;
};

/* What changed since: all that is not named has not. */
static noinline void changed(struct t *t, enum t_side side, const struct ndk_counters *before, struct change by)
{
	struct ndk_counters *now = t_alloc(t, sizeof(*now));

	read_counters(t, side, now);
	EXPECT_EQ(t, now->connect - before->connect, by.connect);
	EXPECT_EQ(t, now->accept - before->accept, by.accept);
	EXPECT_EQ(t, now->connect_failure - before->connect_failure, by.connect_failure);
	EXPECT_EQ(t, now->connection_error - before->connection_error, by.connection_error);
	EXPECT_EQ(t, now->active_connection - before->active_connection, by.active_connection);
	EXPECT_EQ(t, now->cq_error - before->cq_error, by.cq_error);
}

#define CHANGED(t, side, before, ...) changed(t, side, &(before)[side], (struct change) { __VA_ARGS__ })

/* Proves: 9.6-counters */
static void connections_are_counted(struct t *t)
{
	struct ndk_counters *before;
	struct t_await *a, *b;
	struct t_pair *p;

	before = read_both(t);
	p = t_pair(t, NULL);
	if (!p)
		return;
	CHANGED(t, SIDE_A, before, .connect = 1, .active_connection = 1);
	CHANGED(t, SIDE_B, before, .accept = 1, .active_connection = 1);
	/* In good order no error is counted at either end. */
	a = t_disconnect_start(&p->a);
	if (!a || !t_wait_gone(&p->b))
		return;
	b = t_disconnect_start(&p->b);
	if (b)
		t_join(b);
	t_join(a);
	CHANGED(t, SIDE_A, before, .connect = 1);
	CHANGED(t, SIDE_B, before, .accept = 1);
}

/* Proves: 9.6-counters */
static void closes_are_no_errors(struct t *t)
{
	struct ndk_counters *before;
	struct t_pair *p;

	before = read_both(t);
	p = t_pair(t, NULL);
	if (!p)
		return;
	t_close(t, &p->a.connector->header);
	p->a.connector = NULL;
	t_wait_gone(&p->b);
	CHANGED(t, SIDE_A, before, .connect = 1);
	CHANGED(t, SIDE_B, before, .accept = 1);
}

/* Proves: 9.6-counters */
static void failures_are_counted(struct t *t)
{
	struct ndk_counters *before;
	struct ndk_connector *incoming;
	struct sockaddr_storage nowhere;
	struct t_await *w;
	struct t_pair *p = t_pair_unconnected(t, NULL);

	if (!p)
		return;
	/* Rejected: at both ends an attempt ended. */
	before = read_both(t);
	w = t_connect_start(&p->a, &p->listener->address);
	incoming = w ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	EXPECT_STATUS(t, ndk_reject(incoming, NULL, 0), 0);
	EXPECT_STATUS(t, t_join(w), -ECONNREFUSED);
	t_close(t, &incoming->header);
	CHANGED(t, SIDE_A, before, .connect_failure = 1);
	CHANGED(t, SIDE_B, before, .connect_failure = 1);
	/* Paused: nobody got a connector, an attempt ended all the same. */
	before = read_both(t);
	ndk_control_connect_events(p->listener->listener, true);
	EXPECT_STATUS(t, t_connect(&p->a, &p->listener->address), -ECONNREFUSED);
	CHANGED(t, SIDE_A, before, .connect_failure = 1);
	CHANGED(t, SIDE_B, before, .connect_failure = 1);
	/* Nobody listens there: the peer's adapter has no part in it. */
	before = read_both(t);
	t_addr(SIDE_B, AF_INET, 9, &nowhere);
	EXPECT_STATUS(t, t_connect(&p->a, &nowhere), -ECONNREFUSED);
	CHANGED(t, SIDE_A, before, .connect_failure = 1);
	CHANGED(t, SIDE_B, before);
	/* A call that is refused is no attempt. */
	EXPECT_STATUS(t, ndk_connect(p->a.connector, p->a.qp, NULL, 0, NULL, 0, 0, 0, NULL, 0, t_done,
				     t_await(t, "connect to nothing")), -EINVAL);
	CHANGED(t, SIDE_A, before, .connect_failure = 1);
}

/* Proves: 9.6-counters */
static void errors_are_counted(struct t *t)
{
	struct ndk_counters *before, *after;
	u64 errors[2];
	struct t_pair *p;
	struct t_buf *out;

	before = read_both(t);
	p = t_pair(t, NULL);
	out = p ? t_buf(&p->a, 64) : NULL;
	if (!out)
		return;
	EXPECT_STATUS(t, t_post_write(&p->a, 1, out, 0, 64, 0x1000, 0x12345678, 0), 0);
	t_take_status(&p->a, p->a.icq, 1, NDK_OPERATION_WRITE, -EREMOTEIO);
	t_wait_gone(&p->a);
	t_wait_gone(&p->b);
	/* Which end finds out and which is told by the other is up to them. */
	after = read_both(t);
	errors[SIDE_A] = after[SIDE_A].connection_error - before[SIDE_A].connection_error;
	errors[SIDE_B] = after[SIDE_B].connection_error - before[SIDE_B].connection_error;
	EXPECT(t, errors[SIDE_A] + errors[SIDE_B] > 0);
	EXPECT(t, errors[SIDE_A] <= 1 && errors[SIDE_B] <= 1);
	EXPECT_EQ(t, after[SIDE_A].active_connection, before[SIDE_A].active_connection);
	EXPECT_EQ(t, after[SIDE_B].active_connection, before[SIDE_B].active_connection);
}

/* Proves: 9.6-counters */
static void failed_cqs_are_counted(struct t *t)
{
	struct cqt *c = cqt_tiny(t, 1);
	struct ndk_counters *before;

	if (!c)
		return;
	before = read_both(t);
	if (!cqt_flood_receives(c))
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ERRORS);
	cqt_flood(c);
	EXPECT(t, wait_for_completion_timeout(&c->cq->notified, t_ticks(10)));
	EXPECT_STATUS(t, c->cq->status, -EOVERFLOW);
	t_wait_gone(&c->p->a);
	CHANGED(t, SIDE_A, before, .cq_error = 1, .connection_error = 1, .active_connection = -1);
}

/* Proves: 9.6-counters */
static void traffic_is_counted(struct t *t)
{
	struct ndk_counters *before, *after;
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *in, *out;
	int tries;

	if (!p)
		return;
	in = t_buf(&p->b, SZ_64K);
	out = t_buf(&p->a, SZ_64K);
	if (!in || !out)
		return;
	before = read_both(t);
	EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, SZ_64K), 0);
	EXPECT_STATUS(t, t_post_send(&p->a, 2, out, 0, SZ_64K, 0), 0);
	t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_SEND);
	/* A device may count what it has sent a moment later. */
	for (tries = 0; tries < 20; tries++) {
		after = read_both(t);
		if (after[SIDE_B].rdma_out_frames > before[SIDE_B].rdma_out_frames)
			break;
		t_sleep(50);
	}
	/* At least the data, in packets of 4096 bytes at most, and the other way at least an acknowledgment. */
	EXPECT(t, after[SIDE_A].rdma_out_octets - before[SIDE_A].rdma_out_octets >= SZ_64K);
	EXPECT(t, after[SIDE_B].rdma_in_octets - before[SIDE_B].rdma_in_octets >= SZ_64K);
	EXPECT(t, after[SIDE_A].rdma_out_frames - before[SIDE_A].rdma_out_frames >= 16);
	EXPECT(t, after[SIDE_B].rdma_in_frames - before[SIDE_B].rdma_in_frames >= 16);
	EXPECT(t, after[SIDE_A].rdma_in_frames > before[SIDE_A].rdma_in_frames);
	EXPECT(t, after[SIDE_B].rdma_out_frames > before[SIDE_B].rdma_out_frames);
}

static const struct t_case cases[] = {
	{ "sizes_are_told_and_checked", sizes },
	{ "bad_arguments_change_nothing", bad_arguments },
	{ "capabilities", capabilities },
	{ "capabilities_of_a_link_that_is_down", capabilities_of_a_link_that_is_down },
	{ "connections_are_counted", connections_are_counted },
	{ "closes_are_no_errors", closes_are_no_errors },
	{ "failures_are_counted", failures_are_counted },
	{ "errors_are_counted", errors_are_counted },
	{ "failed_cqs_are_counted", failed_cqs_are_counted },
	{ "traffic_is_counted", traffic_is_counted },
};

T_GROUP(observe, cases);
