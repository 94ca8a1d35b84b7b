// SPDX-License-Identifier: GPL-2.0
/*
 * What befalls the network, while a connection is at each of its stages: all of them at once, in one case. Every call ends, in
 * time and with a status that its description lists; everything can be closed; and afterwards there are connections again.
 * selftests/netfaults.sh loads ndk with short times.
 */

#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>

#include "scene.h"

enum fault { LINK_DOWN, LINK_FLAPS, ADDRESS_GOES, NEIGHBOUR_CHANGES, INTERFACE_GOES, NAMESPACE_GOES };

/* befall() and mend() of selftests/lib.sh know them by these names. */
static const char *const fault_names[] = {
	[LINK_DOWN] = "link_down", [LINK_FLAPS] = "link_flaps", [ADDRESS_GOES] = "address_goes",
	[NEIGHBOUR_CHANGES] = "neighbour_changes", [INTERFACE_GOES] = "interface_goes", [NAMESPACE_GOES] = "namespace_goes",
};

enum point { RESOLVING, CONNECTING, SHARING, INCOMING, ACCEPTING, BUSY, DISCONNECTING, CLOSING, POINTS };

static const char *const point_names[POINTS] = {
	[RESOLVING] = "resolving", [CONNECTING] = "connecting", [SHARING] = "connecting from a shared endpoint",
	[INCOMING] = "incoming", [ACCEPTING] = "accepting", [BUSY] = "busy", [DISCONNECTING] = "disconnecting",
	[CLOSING] = "closing",
};

/* Seconds that a call may take; no time that ndk is loaded with is longer than half of it. */
#define LIMIT		8
#define CLOSERS		4
#define WINDOW		2
#define LEN		SZ_1K

/* Messages without end, from the notifications of one CQ. */
struct flow {
	struct t_end *e;
	struct t_buf *in, *out;
	unsigned int posted, ended;
	bool over;
};

struct spot {
	enum point point;
	struct scene s;
	struct flow flows[2];
	/* The next call at this point, and what it returned. */
	struct t_await *next;
	int rc;
};

struct run {
	struct t *t;
	enum fault fault;
	char side;
	struct t_cfg cfg;
	struct spot spots[POINTS + CLOSERS];
	unsigned int nr;
	struct completion struck;
	int verdict;
};

static bool device_goes(struct run *r)
{
	return r->fault == INTERFACE_GOES || r->fault == NAMESPACE_GOES;
}

/* --- what a call may end with --------------------------------------------- */

static const int connect_ends[] = {
	0, -ENETUNREACH, -EHOSTUNREACH, -ECONNREFUSED, -ETIMEDOUT, -EADDRNOTAVAIL, -ENODEV, 1
};
static const int accept_ends[] = { 0, -ECONNABORTED, -ETIMEDOUT, -ENODEV, 1 };
static const int complete_ends[] = { 0, -ECONNABORTED, -ETIMEDOUT, -ENODEV, 1 };
static const int disconnect_ends[] = { 0, -ENOTCONN, -ETIMEDOUT, -ECONNABORTED, -ENODEV, 1 };

/* How the call that returned rc ended; it must be one of these, and have taken no longer than LIMIT. */
static int ends(struct run *r, struct spot *s, struct t_await *w, int rc, const int *allowed)
{
	if (rc == -EINPROGRESS) {
		w->pending = true;
		rc = t_join_secs(w, LIMIT);
	}
	while (*allowed <= 0 && *allowed != rc)
		allowed++;
	if (*allowed > 0 || (rc == -ENODEV && !device_goes(r)))
		t_fail(r->t, "%s, %s: %s", point_names[s->point], w->what, t_errname(rc));
	return rc;
}

/* --- traffic -------------------------------------------------------------- */

static void post_one(struct flow *f, bool receive)
{
	int rc = receive ? t_post_receive(f->e, 1, f->in, 0, LEN) : t_post_send(f->e, 2, f->out, 0, LEN, 0);

	if (!rc)
		f->posted++;
	else
		f->over = true;
	if (rc && rc != -ENODEV && rc != -ENOTCONN)
		t_fail(f->e->t, "posting: %s", t_errname(rc));
}

static void flows_on(struct t_cq *cq)
{
	struct flow *f = cq->arg;
	struct ndk_result_ex r[8];
	u32 n, i;

	n = ndk_get_cq_results_ex(cq->cq, r, ARRAY_SIZE(r));
	for (i = 0; i < n; i++) {
		f->ended++;
		if (r[i].status)
			f->over = true;
		if (!f->over)
			post_one(f, r[i].type == NDK_OPERATION_RECEIVE);
	}
	/* A CQ without a device has told so. */
	if (!cq->status)
		ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
}

static bool flow_starts(struct flow *f, struct t_end *e)
{
	int i;

	f->e = e;
	f->in = t_buf(e, LEN);
	f->out = t_buf(e, LEN);
	if (!f->in || !f->out)
		return false;
	for (i = 0; i < WINDOW; i++)
		post_one(f, true);
	return !f->over;
}

static void flow_goes(struct flow *f)
{
	int i;

	for (i = 0; i < WINDOW; i++)
		post_one(f, false);
	f->e->rcq->arg = f;
	WRITE_ONCE(f->e->rcq->then, flows_on);
	ndk_arm_cq(f->e->rcq->cq, NDK_CQ_NOTIFY_ANY);
}

static bool make_busy(struct spot *s)
{
	return flow_starts(&s->flows[0], &s->s.p->a) && flow_starts(&s->flows[1], &s->s.p->b) &&
	       t_establish(&s->s.p->a, s->s.p->listener, &s->s.p->b);
}

/* It goes on, or it has an end. */
static void moves_or_ends(struct run *r, struct spot *s)
{
	unsigned long end = jiffies + t_ticks(LIMIT);
	unsigned int before[2], i;

	for (i = 0; i < 2; i++)
		before[i] = READ_ONCE(s->flows[i].ended);
	for (;;) {
		for (i = 0; i < 2; i++)
			if (!READ_ONCE(s->flows[i].over) && READ_ONCE(s->flows[i].ended) - before[i] < 4 * WINDOW)
				break;
		if (i == 2)
			return;
		if (time_after(jiffies, end)) {
			t_fail(r->t, "%s: end %c neither moves nor ends", point_names[s->point], i ? 'b' : 'a');
			return;
		}
		t_sleep(10);
	}
}

static void all_ended(struct run *r, struct spot *s)
{
	unsigned long end = jiffies + t_ticks(LIMIT);
	struct flow *f;

	for (f = s->flows; f < s->flows + 2; f++) {
		/* A result that no notification came for is one that was lost. */
		while (READ_ONCE(f->ended) != READ_ONCE(f->posted) && time_before(jiffies, end))
			t_sleep(5);
		if (f->ended != f->posted)
			t_fail(r->t, "%s: %u requests of %u have a result", point_names[s->point], f->ended, f->posted);
		t_cq_stop(f->e->rcq);
	}
}

/* --- the stages ----------------------------------------------------------- */

static bool reach(struct run *r, struct spot *s)
{
	struct sockaddr_storage to;
	struct t_pair *p;

	s->s.cfg = &r->cfg;
	switch (s->point) {
	case CONNECTING:
		return t_reach(r->t, &s->s, A_CONNECTING);
	case INCOMING:
		return t_reach(r->t, &s->s, P_INCOMING);
	case ACCEPTING:
		return t_reach(r->t, &s->s, P_ACCEPTING);
	case DISCONNECTING:
		return t_reach(r->t, &s->s, A_DISCONNECTING);
	default:
		break;
	}
	p = t_pair_unconnected(r->t, &r->cfg);
	if (!p)
		return false;
	s->s.p = p;
	switch (s->point) {
	case RESOLVING:
		/* An address of the link that no host has. */
		t_addr(SIDE_B, r->cfg.family, 4000, &to);
		if (to.ss_family == AF_INET6)
			((struct sockaddr_in6 *)&to)->sin6_addr.s6_addr[15] = 0x63;
		else
			((u8 *)&((struct sockaddr_in *)&to)->sin_addr)[3] = 0x63;
		s->s.connect = t_connect_start(&p->a, &to);
		return s->s.connect;
	case SHARING:
		if (!t_share(&p->a, r->cfg.family, 0))
			return false;
		s->s.connect = t_connect_start(&p->a, &p->listener->address);
		return s->s.connect && t_incoming(p->listener);
	default:
		return make_busy(s);
	}
}

/* What the consumers do next, of whom nobody has noticed anything. */
static void go_on(struct run *r, struct spot *s)
{
	struct t_pair *p = s->s.p;

	switch (s->point) {
	case INCOMING:
		s->next = t_await(r->t, "accept");
		s->rc = ndk_accept(s->s.incoming, p->b.qp, 1, 1, NULL, 0, t_gone, &p->b, t_done, s->next);
		break;
	case ACCEPTING:
		s->next = t_await(r->t, "complete connect");
		s->rc = ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, s->next);
		break;
	case DISCONNECTING:
		s->next = t_await(r->t, "disconnect");
		s->rc = ndk_disconnect(p->b.connector, t_done, s->next);
		break;
	default:
		return;
	}
	if (s->rc == -EINPROGRESS)
		s->next->pending = true;
}

static void disconnects(struct run *r, struct spot *s, struct t_end *e)
{
	struct t_await *w = t_await(r->t, "disconnect");

	ends(r, s, w, ndk_disconnect(e->connector, t_done, w), disconnect_ends);
}

static void all_ends(struct run *r, struct spot *s)
{
	struct t_pair *p = s->s.p;
	struct t_await *w;
	int rc;

	switch (s->point) {
	case RESOLVING:
	case CONNECTING:
	case SHARING:
		ends(r, s, s->s.connect, -EINPROGRESS, connect_ends);
		break;
	case INCOMING:
		rc = ends(r, s, s->s.connect, -EINPROGRESS, connect_ends);
		if (!rc) {
			w = t_await(r->t, "complete connect");
			ends(r, s, w, ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, w), complete_ends);
		}
		ends(r, s, s->next, s->rc, accept_ends);
		break;
	case ACCEPTING:
		ends(r, s, s->next, s->rc, complete_ends);
		ends(r, s, s->s.accept, -EINPROGRESS, accept_ends);
		break;
	case BUSY:
		moves_or_ends(r, s);
		disconnects(r, s, &p->a);
		disconnects(r, s, &p->b);
		all_ended(r, s);
		break;
	case DISCONNECTING:
		ends(r, s, s->next, s->rc, disconnect_ends);
		ends(r, s, s->s.pending, -EINPROGRESS, disconnect_ends);
		break;
	default:
		break;
	}
}

/* --- the fault ------------------------------------------------------------ */

static int strikes(void *arg)
{
	struct run *r = arg;

	r->verdict = t_host(r->t, "befall %s %c", fault_names[r->fault], r->side);
	/* Waited for more than once. */
	complete_all(&r->struck);
	return 0;
}

/* While it strikes, ends are closed one after the other. */
static bool strike(struct run *r)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		if (r->spots[i].point == CLOSING || r->spots[i].point == BUSY) {
			flow_goes(&r->spots[i].flows[0]);
			flow_goes(&r->spots[i].flows[1]);
		}
	}
	init_completion(&r->struck);
	if (!EXPECT(r->t, !IS_ERR(kthread_run(strikes, r, "ndk_test_fault"))))
		return false;
	for (i = 0; i < r->nr; i++) {
		if (r->spots[i].point != CLOSING)
			continue;
		wait_for_completion_timeout(&r->struck, msecs_to_jiffies(40 * t_scale));
		t_close_start(r->t, &r->spots[i].s.p->a.connector->header);
		t_close_start(r->t, &r->spots[i].s.p->a.qp->header);
	}
	wait_for_completion(&r->struck);
	return !r->verdict;
}

/* --- before and after ----------------------------------------------------- */

static struct net *net_of(const char *ifname)
{
	struct net *net, *found = NULL;

	rcu_read_lock();
	for_each_net_rcu(net) {
		if (dev_get_by_name_rcu(net, ifname)) {
			found = maybe_get_net(net);
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* Both hosts are the spare one; nobody but our connections keeps its namespace. */
static bool move_to_the_spare(struct run *r)
{
	struct net *net;
	int side;

	if (t_host(r->t, "spare_up"))
		return false;
	net = net_of("veth_c");
	if (!EXPECT(r->t, net))
		return false;
	for (side = 0; side < 2; side++) {
		world.net[side] = net;
		strscpy(world.device[side], "rxe_c");
		world.v4[side].sin_addr.s_addr = htonl(0x0a080001);
		world.v6[side].sin6_addr = (struct in6_addr) { .s6_addr = { 0xfd, 8, [15] = 1 } };
		t_adapter(r->t, side);
		world.net[side] = NULL;
	}
	put_net(net);
	return r->t->side[SIDE_A] && r->t->side[SIDE_B];
}

/* The namespace goes with its last connection, whatever else its adapters have open. */
static void namespace_went(struct run *r)
{
	unsigned long end = jiffies + t_ticks(LIMIT);
	struct ndk_object_header *pd;
	int status;

	t_close_all(r->t, BIT(NDK_OBJECT_CONNECTOR) | BIT(NDK_OBJECT_LISTENER) | BIT(NDK_OBJECT_SHARED_ENDPOINT));
	do {
		pd = t_try_create(&r->spots[0].s.p->a, KIND_PD, &status);
		if (pd)
			t_close(r->t, pd);
		t_sleep(20);
	} while (!status && time_before(jiffies, end));
	EXPECT_STATUS(r->t, status, -ENODEV);
}

/* One try; what the connect says if that was all. */
static int connects_once(struct t_pair *p, bool *connected)
{
	struct t_await *connect = t_connect_start(&p->a, &p->listener->address), *accept, *complete;
	struct ndk_connector *incoming;
	int rc;

	if (!connect)
		return -EIO;
	while (!t_is_done(connect) && !wait_for_completion_timeout(&p->listener->came, HZ / 50))
		;
	incoming = p->listener->queue[p->listener->tail % ARRAY_SIZE(p->listener->queue)];
	if (p->listener->tail == READ_ONCE(p->listener->head))
		return t_join(connect);
	p->listener->tail++;
	accept = t_await(p->b.t, "accept");
	p->b.connector = incoming;
	rc = ndk_accept(incoming, p->b.qp, 1, 1, NULL, 0, t_gone, &p->b, t_done, accept);
	accept->pending = rc == -EINPROGRESS;
	rc = t_join(connect);
	if (rc) {
		t_close(p->b.t, &incoming->header);
		return rc;
	}
	complete = t_complete_start(&p->a);
	*connected = complete && EXPECT_STATUS(p->a.t, t_join(complete), 0) && EXPECT_STATUS(p->a.t, t_join(accept), 0);
	return 0;
}

/*
 * A link that has just come back may need a second to find its neighbours. And after a device came back with the numbers of its
 * QPs from the start, a peer may take a request for one of the connections that it has not forgotten: it is refused, and the
 * next is not.
 */
static void works_again(struct t *t, int family)
{
	const struct t_cfg cfg = { .family = family };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	bool connected = false;
	int tries, rc = -EIO;

	for (tries = 0; p && tries < 10 && !connected; tries++) {
		rc = connects_once(p, &connected);
		if (rc != -ETIMEDOUT && rc != -ECONNREFUSED)
			break;
	}
	if (connected)
		t_ping(&p->a, &p->b);
	else
		t_fail(t, "no connection afterwards: %s", t_errname(rc));
}

#define STRIKE(fault, side, family)	((fault) | (side) << 4 | (family) << 8)

/* Bug: B93, B2, S2, S5, K2, K4 */
static void strikes_every_stage(struct t *t)
{
	struct run *r = t_alloc(t, sizeof(*r));
	struct t_world saved = world;
	unsigned int i;
	bool reached = true;

	r->t = t;
	r->fault = t->arg & 15;
	r->side = "ab"[t->arg >> 4 & 1];
	r->cfg = (struct t_cfg) { .family = t->arg >> 8, .depth = 2 * WINDOW, .one_cq = true, .cq_depth = 64 };
	if (r->fault == NAMESPACE_GOES && !move_to_the_spare(r))
		goto out;
	for (i = 0; i < ARRAY_SIZE(r->spots); i++) {
		/* The ones that are held with a limit of time come last. */
		r->spots[i].point = i < CLOSERS ? CLOSING : POINTS - 1 - (i - CLOSERS);
		reached = reach(r, &r->spots[i]);
		if (!reached) {
			t_fail(t, "the stage \"%s\" is not reached", point_names[r->spots[i].point]);
			goto out;
		}
		r->nr++;
	}
	if (strike(r)) {
		for (i = 0; i < r->nr; i++)
			go_on(r, &r->spots[i]);
		for (i = 0; i < r->nr; i++)
			all_ends(r, &r->spots[i]);
	}
	if (r->fault == NAMESPACE_GOES)
		namespace_went(r);
out:
	for (i = 0; i < r->nr; i++)
		if (r->spots[i].point == CLOSING && r->spots[i].flows[1].e) {
			t_cq_stop(r->spots[i].flows[0].e->rcq);
			t_cq_stop(r->spots[i].flows[1].e->rcq);
		}
	world = saved;
	t_close_all(t, T_EVERYTHING);
	/* Those of devices that are gone hold nothing up. */
	for (i = 0; i < 2; i++)
		t->side[i] = NULL;
	if (!t_host(t, "mend %s %c", fault_names[r->fault], r->side) && reached) {
		works_again(t, AF_INET);
		works_again(t, AF_INET6);
	}
}

static const struct t_case cases[] = {
	{ "active_link_down_ipv4", strikes_every_stage, STRIKE(LINK_DOWN, SIDE_A, AF_INET) },
	{ "active_link_down_ipv6", strikes_every_stage, STRIKE(LINK_DOWN, SIDE_A, AF_INET6) },
	{ "passive_link_down_ipv4", strikes_every_stage, STRIKE(LINK_DOWN, SIDE_B, AF_INET) },
	{ "passive_link_down_ipv6", strikes_every_stage, STRIKE(LINK_DOWN, SIDE_B, AF_INET6) },
	{ "active_link_flaps_ipv4", strikes_every_stage, STRIKE(LINK_FLAPS, SIDE_A, AF_INET) },
	{ "active_link_flaps_ipv6", strikes_every_stage, STRIKE(LINK_FLAPS, SIDE_A, AF_INET6) },
	{ "passive_link_flaps_ipv4", strikes_every_stage, STRIKE(LINK_FLAPS, SIDE_B, AF_INET) },
	{ "passive_link_flaps_ipv6", strikes_every_stage, STRIKE(LINK_FLAPS, SIDE_B, AF_INET6) },
	{ "active_address_goes_ipv4", strikes_every_stage, STRIKE(ADDRESS_GOES, SIDE_A, AF_INET) },
	{ "active_address_goes_ipv6", strikes_every_stage, STRIKE(ADDRESS_GOES, SIDE_A, AF_INET6) },
	{ "passive_address_goes_ipv4", strikes_every_stage, STRIKE(ADDRESS_GOES, SIDE_B, AF_INET) },
	{ "passive_address_goes_ipv6", strikes_every_stage, STRIKE(ADDRESS_GOES, SIDE_B, AF_INET6) },
	{ "active_neighbour_changes_ipv4", strikes_every_stage, STRIKE(NEIGHBOUR_CHANGES, SIDE_A, AF_INET) },
	{ "active_neighbour_changes_ipv6", strikes_every_stage, STRIKE(NEIGHBOUR_CHANGES, SIDE_A, AF_INET6) },
	{ "passive_neighbour_changes_ipv4", strikes_every_stage, STRIKE(NEIGHBOUR_CHANGES, SIDE_B, AF_INET) },
	{ "passive_neighbour_changes_ipv6", strikes_every_stage, STRIKE(NEIGHBOUR_CHANGES, SIDE_B, AF_INET6) },
	/* Bug: S11, S12, S14, S19, S21 */
	{ "interface_goes_ipv4", strikes_every_stage, STRIKE(INTERFACE_GOES, SIDE_A, AF_INET) },
	{ "interface_goes_ipv6", strikes_every_stage, STRIKE(INTERFACE_GOES, SIDE_B, AF_INET6) },
	/* Bug: S13 */
	{ "namespace_goes_ipv4", strikes_every_stage, STRIKE(NAMESPACE_GOES, SIDE_A, AF_INET) },
	/* Bug: S13 */
	{ "namespace_goes_ipv6", strikes_every_stage, STRIKE(NAMESPACE_GOES, SIDE_A, AF_INET6) },
};

T_GROUP(netfaults, cases);
