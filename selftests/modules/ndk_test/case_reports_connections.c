// SPDX-License-Identifier: GPL-2.0
/* Connections: what was reported of other connection managers (Documentation/bug-rows). */

#include <linux/kthread.h>
#include <linux/prandom.h>

#include "ndk_test.h"

/* --- something else at the same time -------------------------------------- */

struct beside {
	struct t *t;
	void (*run)(struct beside *b);
	void *arg;
	bool stop;
	struct completion done;
};

static int beside_thread(void *arg)
{
	struct beside *b = arg;

	b->run(b);
	complete(&b->done);
	return 0;
}

static struct beside *beside(struct t *t, void (*run)(struct beside *b), void *arg)
{
	struct beside *b = t_alloc(t, sizeof(*b));

	b->t = t;
	b->run = run;
	b->arg = arg;
	init_completion(&b->done);
	if (!EXPECT(t, !IS_ERR(kthread_run(beside_thread, b, "ndk_test_beside"))))
		return NULL;
	return b;
}

static void beside_ends(struct beside *b)
{
	WRITE_ONCE(b->stop, true);
	wait_for_completion(&b->done);
}

/* The end of a connection that is over is taken for another, with another QP. */
static bool anew(struct t_end *e)
{
	if (e->qp)
		t_close(e->t, &e->qp->header);
	e->connector = NULL;
	reinit_completion(&e->gone_done);
	atomic_set(&e->gone, 0);
	return t_end_qp(e);
}

/* --- refusals ------------------------------------------------------------- */

/* Every refusal is told, with its data. */
/* Bug: B13 */
static void refused_every_time(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	unsigned int i, rounds = t_long ? 300 : 40;
	struct ndk_connector *incoming;
	struct t_await *connect;
	u32 in, out, len;
	u8 data[256], got[256];

	for (i = 0; p && i < rounds; i++) {
		connect = t_connect_start(&p->a, &p->listener->address);
		incoming = connect ? t_incoming(p->listener) : NULL;
		if (!incoming)
			return;
		t_fill(data, 20, i);
		EXPECT_STATUS(t, ndk_reject(incoming, data, 20), 0);
		if (!EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED))
			return;
		len = sizeof(got);
		EXPECT_STATUS(t, ndk_get_connection_data(p->a.connector, &in, &out, got, &len), 0);
		if (!EXPECT(t, len >= 20) || !t_check_fill(t, got, 20, i, "data of the refusal"))
			return;
		t_close(t, &incoming->header);
	}
}

/* --- listeners that come and go ------------------------------------------- */

static void churns(struct beside *b)
{
	struct t_end *e = b->arg;
	struct t_listener *l;
	unsigned int i;

	for (i = 0; i < 120 && !READ_ONCE(b->stop); i++) {
		l = t_listener(e);
		if (!l)
			return;
		EXPECT_STATUS(b->t, t_listen(l, SIDE_B, AF_INET, 7000 + i % 64), 0);
		t_close(b->t, &l->listener->header);
	}
}

/* Bug: B11 */
static void neighbours_come_and_go(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct beside *b = p ? beside(t, churns, &p->b) : NULL;
	unsigned int i;

	for (i = 0; b && i < 15 && t_establish(&p->a, p->listener, &p->b); i++) {
		if (!t_ping(&p->a, &p->b))
			break;
		t_close(t, &p->a.connector->header);
		t_close(t, &p->b.connector->header);
		if (!anew(&p->a) || !anew(&p->b))
			break;
	}
	if (b)
		beside_ends(b);
	EXPECT_EQ(t, i, 15);
}

/* --- calls in any order --------------------------------------------------- */

#define CONNECTORS 4
#define LISTENERS 2

struct fuzz {
	struct t *t;
	struct rnd_state rnd;
	struct t_end a, b;
	/* The first half are ours, the rest came in. */
	struct ndk_connector *connectors[2 * CONNECTORS];
	struct ndk_qp *qps[2][2];
	struct t_listener *listeners[LISTENERS];
	unsigned int seen[12];
};

static u32 any(struct fuzz *f, u32 below)
{
	return prandom_u32_state(&f->rnd) % below;
}

static void may_be(struct fuzz *f, struct t_await *w, int rc)
{
	switch (rc) {
	case -EINPROGRESS:
		w->pending = true;
		break;
	case 0:
	case -EINVAL:
	case -ENOTCONN:
	case -EISCONN:
	case -EBADFD:
	case -ECONNABORTED:
	case -ECONNREFUSED:
	case -ETIMEDOUT:
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
	case -EEXIST:
	case -ENOSPC:
		break;
	default:
		t_fail(f->t, "%s: %s", w ? w->what : "a call", t_errname(rc));
	}
}

static void fuzz_gone(void *context)
{
}

static void takes_incoming(struct fuzz *f, struct t_listener *l)
{
	unsigned int i;

	spin_lock_bh(&l->lock);
	for (i = CONNECTORS; i < 2 * CONNECTORS && l->head != l->tail; i++)
		if (!f->connectors[i])
			f->connectors[i] = l->queue[l->tail++ % ARRAY_SIZE(l->queue)];
	spin_unlock_bh(&l->lock);
}

static void connector_call(struct fuzz *f, unsigned int what, unsigned int i)
{
	struct ndk_connector *c = f->connectors[i];
	struct ndk_qp *qp = f->qps[i >= CONNECTORS][any(f, 2)];
	struct t_listener *l = f->listeners[any(f, LISTENERS)];
	struct sockaddr_storage from;
	struct ndk_object_header *h;
	struct t_await *w;
	u32 len, in, out;

	w = t_await(f->t, "a call in any order");
	switch (what) {
	case 0:
	case 1:
		t_addr(SIDE_A, AF_INET, 0, &from);
		/* A connector of the other side is none of this address's adapter. */
		may_be(f, w, ndk_connect(c, qp, (struct sockaddr *)&from, t_addr_len(&from), (struct sockaddr *)&l->address,
					 t_addr_len(&l->address), 1, 1, NULL, 0, t_done, w));
		break;
	case 2:
		may_be(f, w, ndk_accept(c, qp, 1, 1, NULL, 0, fuzz_gone, f, t_done, w));
		break;
	case 3:
		may_be(f, w, ndk_complete_connect(c, fuzz_gone, f, t_done, w));
		break;
	case 4:
		may_be(f, w, ndk_disconnect(c, t_done, w));
		break;
	case 5:
		may_be(f, w, ndk_reject(c, "no", 2));
		break;
	case 6:
		len = sizeof(from);
		may_be(f, w, ndk_get_peer_address(c, (struct sockaddr *)&from, &len));
		len = 0;
		may_be(f, w, ndk_get_connection_data(c, &in, &out, NULL, &len));
		break;
	default:
		t_close_start(f->t, &c->header);
		f->connectors[i] = NULL;
		if (i < CONNECTORS) {
			h = t_create(&f->a, KIND_CONNECTOR);
			f->connectors[i] = h ? container_of(h, struct ndk_connector, header) : NULL;
		}
		break;
	}
}

static void listener_call(struct fuzz *f, unsigned int i)
{
	struct t_listener *l = f->listeners[i];
	u32 len = sizeof(l->address);

	switch (any(f, 4)) {
	case 0:
		/* The second is refused. */
		may_be(f, NULL, t_listen(l, SIDE_B, AF_INET, 0));
		break;
	case 1:
		ndk_control_connect_events(l->listener, any(f, 2));
		break;
	case 2:
		may_be(f, NULL, ndk_get_listener_local_address(l->listener, (struct sockaddr *)&l->address, &len));
		break;
	default:
		t_close_start(f->t, &l->listener->header);
		f->listeners[i] = t_listening(&f->b, AF_INET, 0);
		break;
	}
}

/* Each call has its status, whatever came before, and everything can be closed. */
/* Bug: B8, S3, S4 */
static void any_order(struct t *t)
{
	struct fuzz *f = t_alloc(t, sizeof(*f));
	unsigned int i, n, side, calls = t_long ? 600 : 400;
	struct ndk_object_header *h;

	f->t = t;
	prandom_seed_state(&f->rnd, t_soak.seed);
	if (!t_end_init(t, &f->a, SIDE_A, NULL) || !t_end_init(t, &f->b, SIDE_B, NULL))
		return;
	for (side = 0; side < 2; side++) {
		for (i = 0; i < 2; i++) {
			h = t_create(side ? &f->b : &f->a, KIND_QP);
			if (!h)
				return;
			f->qps[side][i] = container_of(h, struct ndk_qp, header);
		}
	}
	for (i = 0; i < CONNECTORS; i++) {
		h = t_create(&f->a, KIND_CONNECTOR);
		if (!h)
			return;
		f->connectors[i] = container_of(h, struct ndk_connector, header);
	}
	for (i = 0; i < LISTENERS; i++) {
		f->listeners[i] = t_listening(&f->b, AF_INET, 0);
		if (!f->listeners[i])
			return;
	}
	for (n = 0; n < calls && !t->failures; n++) {
		for (i = 0; i < LISTENERS && f->listeners[i]; i++)
			takes_incoming(f, f->listeners[i]);
		i = any(f, 2 * CONNECTORS + LISTENERS);
		if (i >= 2 * CONNECTORS)
			listener_call(f, i - 2 * CONNECTORS);
		else if (f->connectors[i])
			connector_call(f, any(f, 8), i);
		if (n % 4 == 0)
			t_sleep(any(f, 5));
	}
	if (t->failures)
		t_fail(t, "seed %llu, call %u", t_soak.seed, n);
}

/* --- resources are looked at ---------------------------------------------- */

static void looks(struct beside *b)
{
	t_host(b->t, "watch_resources %u", t_long ? 60 : 4);
	WRITE_ONCE(b->stop, true);
}

/* What is made and closed is listed all the while. */
/* Bug: B65, B19, S9, K1 */
static void looked_at(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct beside *b = p ? beside(t, looks, NULL) : NULL;
	struct ndk_object_header *h;
	enum t_kind kind;
	unsigned int i;

	for (i = 0; b && i < 40 && !READ_ONCE(b->stop) && !t->failures; i++) {
		for (kind = KIND_PD; kind < KINDS; kind++) {
			h = t_create(&p->a, kind);
			if (h)
				t_close_start(t, h);
		}
		if (!t_establish(&p->a, p->listener, &p->b))
			break;
		t_close(t, &p->a.connector->header);
		t_close(t, &p->b.connector->header);
		if (!anew(&p->a) || !anew(&p->b))
			break;
	}
	if (b)
		wait_for_completion(&b->done);
	EXPECT(t, i > 2);
}

/* --- losses --------------------------------------------------------------- */

/* The active side's host dies and comes back; its QP has the number that a connection of the passive side still knows. */
/* Bug: B14 */
static void back_from_the_dead(struct t *t)
{
	struct t_end *a = t_alloc(t, sizeof(*a)), *b, *a2 = t_alloc(t, sizeof(*a2));
	struct t_await *connect = NULL;
	struct t_listener *l;
	unsigned int tries;
	int rc = -EIO;

	b = t_alloc(t, sizeof(*b));
	if (!t_end_init(t, a, SIDE_A, NULL) || !t_end_init(t, b, SIDE_B, NULL) || !t_end_init(t, a2, SIDE_A, NULL) ||
	    !t_end_qp(a) || !t_end_qp(a2) || !t_end_qp(b))
		return;
	l = t_listening(a, AF_INET, 0);
	if (!l || !t_establish(b, l, a))
		return;
	t_host(t, "silence && link_del b && unsilence && link_add b && link_ready b");
	t->side[SIDE_B] = NULL;
	if (!t_end_init(t, b, SIDE_B, NULL) || !t_end_qp(b))
		return;
	for (tries = 0; tries < 3; tries++) {
		connect = t_connect_start(b, &l->address);
		while (connect && !t_is_done(connect) && !completion_done(&l->came))
			t_sleep(5);
		if (!connect || completion_done(&l->came))
			break;
		rc = t_join(connect);
		if (rc != -ECONNREFUSED)
			break;
	}
	if (connect && completion_done(&l->came)) {
		if (!t_accept_start(a2, t_incoming(l)) || !EXPECT_STATUS(t, t_join(connect), 0))
			return;
		connect = t_complete_start(b);
		if (connect && EXPECT_STATUS(t, t_join(connect), 0))
			t_ping(b, a2);
	} else {
		t_fail(t, "no connection after %u tries: %s", tries, t_errname(rc));
	}
}

#define CLIENTS 8

/* All connections break at once, and all clients come back at once. */
/* Bug: B118 */
static void all_break(struct t *t)
{
	struct t_pair *p[CLIENTS];
	struct t_buf *out;
	unsigned int i;

	for (i = 0; i < CLIENTS; i++) {
		p[i] = t_pair(t, NULL);
		if (!p[i])
			return;
	}
	if (t_host(t, "silence"))
		return;
	for (i = 0; i < CLIENTS; i++) {
		out = t_buf(&p[i]->a, 64);
		if (out)
			EXPECT_STATUS(t, t_post_send(&p[i]->a, 1, out, 0, 64, 0), 0);
	}
	/* Who has requests looks for their results. */
	for (i = 0; i < CLIENTS; i++)
		if (t_take_status(&p[i]->a, p[i]->a.icq, 1, NDK_OPERATION_SEND, -ETIMEDOUT))
			t_wait_gone(&p[i]->a);
	t_host(t, "unsilence");
	for (i = 0; i < CLIENTS; i++) {
		t_close(t, &p[i]->a.connector->header);
		t_close(t, &p[i]->b.connector->header);
		if (!anew(&p[i]->a) || !anew(&p[i]->b))
			return;
	}
	for (i = 0; i < CLIENTS; i++) {
		if (!t_establish(&p[i]->a, p[i]->listener, &p[i]->b) || !t_ping(&p[i]->a, &p[i]->b))
			return;
	}
}

/* Every tenth datagram is lost, while connections come about and are closed in whatever state they are. */
/* Bug: B6 */
static void lossy(struct t *t)
{
	struct t_pair *p[CLIENTS];
	struct t_await *connect[CLIENTS], *closing[CLIENTS];
	unsigned int i;

	for (i = 0; i < CLIENTS; i++) {
		p[i] = t_pair_unconnected(t, NULL);
		if (!p[i])
			return;
	}
	if (t_host(t, "lose 10"))
		return;
	for (i = 0; i < CLIENTS; i++)
		connect[i] = t_connect_start(&p[i]->a, &p[i]->listener->address);
	for (i = 0; i < CLIENTS; i++) {
		struct ndk_connector *incoming = NULL;
		struct t_await *w;

		t_sleep(10);
		if (completion_done(&p[i]->listener->came))
			incoming = t_incoming(p[i]->listener);
		if (!incoming)
			continue;
		w = t_await(t, "accept");
		w->pending = ndk_accept(incoming, p[i]->b.qp, 1, 1, NULL, 0, t_gone, &p[i]->b, t_done, w) == -EINPROGRESS;
	}
	for (i = 0; i < CLIENTS; i++)
		closing[i] = t_close_start(t, &p[i]->a.connector->header);
	for (i = 0; i < CLIENTS; i++) {
		t_join(closing[i]);
		EXPECT(t, !connect[i] || t_is_done(connect[i]));
	}
	t_close_all(t, T_EVERYTHING);
	t_host(t, "lose_nothing");
}

/* A port that another of the same host is not heard by (Documentation/limits.rst): the call ends, or its close ends it. */
static void meets_or_ends(struct t *t, struct t_pair *p)
{
	struct t_await *connect = t_connect_start(&p->a, &p->listener->address), *complete;
	int rc;

	if (!connect)
		return;
	if (!wait_for_completion_timeout(&p->listener->came, HZ)) {
		t_close(t, &p->a.connector->header);
		rc = t_join(connect);
		if (rc != -ECANCELED && rc != -ENETUNREACH && rc != -EHOSTUNREACH)
			EXPECT_STATUS(t, rc, -ETIMEDOUT);
		return;
	}
	if (!t_accept_start(&p->b, p->listener->queue[p->listener->tail++]) || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	complete = t_complete_start(&p->a);
	if (complete && EXPECT_STATUS(t, t_join(complete), 0))
		t_ping(&p->a, &p->b);
}

/* Two ports of one host, over the addresses of that host. */
/* Bug: B17 */
static void two_ports(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_world saved = world;
	struct t_pair *p;

	if (!t_host(t, "second_port_up")) {
		world.net[SIDE_B] = world.net[SIDE_A];
		strscpy(world.device[SIDE_B], "rxe_e");
		world.v4[SIDE_B].sin_addr.s_addr = htonl(0x0a070001);
		world.v6[SIDE_B].sin6_addr = (struct in6_addr) { .s6_addr = { 0xfd, 7, [15] = 1 } };
		p = t_pair_unconnected(t, &cfg);
		if (p)
			meets_or_ends(t, p);
		world = saved;
		t_start_over(t);
	}
	t_host(t, "second_port_down");
}

static const struct t_case cases[] = {
	{ "refused_with_data_every_time", refused_every_time },
	{ "neighbours_of_a_listener_come_and_go", neighbours_come_and_go },
	{ "calls_in_any_order", any_order },
	{ "listed_while_they_come_and_go", looked_at },
	{ "back_with_the_same_numbers", back_from_the_dead },
	{ "all_break_and_come_back_at_once", all_break },
	{ "closed_while_every_tenth_datagram_is_lost", lossy },
	{ "two_ports_of_one_host_over_ipv4", two_ports, AF_INET },
	{ "two_ports_of_one_host_over_ipv6", two_ports, AF_INET6 },
};

T_GROUP(reports_connections, cases);
