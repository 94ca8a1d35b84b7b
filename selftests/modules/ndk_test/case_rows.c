// SPDX-License-Identifier: GPL-2.0
/* The tables of states, row by row: each call in each state of a connector and of a listener, and what is left to be seen. */

#include <linux/delay.h>
#include <linux/kthread.h>

#include "scene.h"

/* --- calls in every state of a connector ---------------------------------- */

enum call {
	CONNECT, CONNECT_SHARED, COMPLETE, COMPLETE_EX, ACCEPT, ACCEPT_EX, REJECT, DISCONNECT, DATA, LOCAL, PEER, CALLS
};

static const char *const call_names[CALLS] = {
	[CONNECT] = "connect", [CONNECT_SHARED] = "connect with a shared endpoint", [COMPLETE] = "complete",
	[COMPLETE_EX] = "complete_ex", [ACCEPT] = "accept", [ACCEPT_EX] = "accept_ex", [REJECT] = "reject",
	[DISCONNECT] = "disconnect", [DATA] = "connection data", [LOCAL] = "local address", [PEER] = "peer address",
};

/* What would not be refused, and so is not called here. */
#define GOES_ON 1

#define NOTHING -ENOTCONN
#define IN_USE -EISCONN

/* In the order of the calls, where both forms of one have one column: connect, complete, accept, reject, disconnect, data, addresses. */
static const int rows[STATES][7] = {
	[A_IDLE]          = { GOES_ON, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING },
	[A_CONNECTING]    = { IN_USE,  NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0 },
	[A_ACCEPTED]      = { IN_USE,  GOES_ON, NOTHING, GOES_ON, NOTHING, 0,       0 },
	[A_REJECTED]      = { NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
	[A_CONNECTED]     = { IN_USE,  NOTHING, NOTHING, NOTHING, GOES_ON, 0,       0 },
	[A_PEER_GONE]     = { IN_USE,  NOTHING, NOTHING, NOTHING, GOES_ON, 0,       0 },
	[A_DISCONNECTING] = { IN_USE,  NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
	[A_DISCONNECTED]  = { NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
	[P_INCOMING]      = { NOTHING, NOTHING, GOES_ON, GOES_ON, NOTHING, 0,       0 },
	[P_REJECTED]      = { NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
	[P_ACCEPTING]     = { IN_USE,  NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
	[P_CONNECTED]     = { IN_USE,  NOTHING, NOTHING, NOTHING, GOES_ON, 0,       0 },
	[P_PEER_GONE]     = { IN_USE,  NOTHING, NOTHING, NOTHING, GOES_ON, 0,       0 },
	[P_DISCONNECTING] = { IN_USE,  NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
	[P_DISCONNECTED]  = { NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0,       0 },
};

static const u8 columns[CALLS] = { 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 6 };

/* An end with the subject's connector and a QP that is not in use, so that it is not the QP that is refused. */
static int make_call(struct t_end *e, enum call call, const struct sockaddr_storage *to, struct t_await *w)
{
	struct sockaddr_storage ss;
	u32 len = sizeof(ss);

	switch (call) {
	case CONNECT:
		t_addr(e->side, AF_INET, 0, &ss);
		return t_connect_call(e, &ss, to, w);
	case CONNECT_SHARED:
		return t_shared_connect_call(e, to, w);
	case COMPLETE:
		return ndk_complete_connect(e->connector, t_gone, e, t_done, w);
	case COMPLETE_EX:
		return ndk_complete_connect_ex(e->connector, t_gone_ex, e, t_done, w);
	case ACCEPT:
		return ndk_accept(e->connector, e->qp, 1, 1, NULL, 0, t_gone, e, t_done, w);
	case ACCEPT_EX:
		return ndk_accept_ex(e->connector, e->qp, 1, 1, NULL, 0, t_gone_ex, e, t_done, w);
	case REJECT:
		return ndk_reject(e->connector, NULL, 0);
	case DISCONNECT:
		return ndk_disconnect(e->connector, t_done, w);
	case DATA:
		len = 0;
		return ndk_get_connection_data(e->connector, NULL, NULL, NULL, &len);
	case LOCAL:
		return ndk_get_local_address(e->connector, (struct sockaddr *)&ss, &len);
	default:
		return ndk_get_peer_address(e->connector, (struct sockaddr *)&ss, &len);
	}
}

/* What was under way goes on as if nothing had been called. */
static void goes_on(struct t *t, struct scene *s, enum stage state)
{
	struct t_end *a = &s->p->a, *b = &s->p->b;

	switch (state) {
	case A_CONNECTING:
	case P_INCOMING:
		s->accept = t_accept_start(b, s->incoming);
		if (!s->accept || !EXPECT_STATUS(t, t_join(s->connect), 0))
			return;
		fallthrough;
	case A_ACCEPTED:
	case P_ACCEPTING:
		s->complete = t_complete_start(a);
		if (!s->complete || !EXPECT_STATUS(t, t_join(s->complete), 0) ||
		    !EXPECT_STATUS(t, t_join(s->accept), 0))
			return;
		fallthrough;
	case A_CONNECTED:
	case P_CONNECTED:
		if (t_ping(a, b))
			t_ping(b, a);
		break;
	case A_DISCONNECTING:
	case P_DISCONNECTING:
		t_close(t, &s->peer->connector->header);
		EXPECT_STATUS(t, t_join(s->pending), 0);
		break;
	default:
		break;
	}
	EXPECT(t, atomic_read(&s->subject->gone) == (state == A_PEER_GONE || state == P_PEER_GONE));
}

/*
 * Proves: CONNECT.wrong-state, CONNECT_WITH_SHARED_ENDPOINT.wrong-state, COMPLETE_CONNECT.wrong-state,
 * COMPLETE_CONNECT_EX.wrong-state, ACCEPT.wrong-state, ACCEPT_EX.wrong-state, REJECT.wrong-state, DISCONNECT.wrong-state,
 * GET_CONNECTION_DATA.wrong-state, GET_LOCAL_ADDRESS.wrong-state, GET_PEER_ADDRESS.wrong-state, 12-wrong-state, 2.4-inline
 */
/* Bug: B8, S3, S4 */
static void calls_in(struct t *t)
{
	struct scene *s = t_alloc(t, sizeof(*s));
	struct t_end *e = t_alloc(t, sizeof(*e));
	enum stage state = t->arg;
	struct t_await *w;
	enum call call;
	int want, got;

	if (!t_reach(t, s, state))
		return;
	*e = *s->subject;
	e->connector = s->connector;
	if (!t_end_qp(e) || !t_share(e, AF_INET, 0))
		return;
	for (call = 0; call < CALLS; call++) {
		want = rows[state][columns[call]];
		if (want == GOES_ON)
			continue;
		w = t_await(t, call_names[call]);
		got = make_call(e, call, &s->p->listener->address, w);
		if (got == -EINPROGRESS) {
			w->pending = true;
			got = t_join(w);
			t_fail(t, "%s, %s: pended", t_stage_names[state], call_names[call]);
		}
		if (got != want)
			t_fail(t, "%s, %s: %s, should be %s", t_stage_names[state], call_names[call], t_errname(got),
			       t_errname(want));
	}
	goes_on(t, s, state);
	/* Nothing of what was refused is held. */
	t_close(t, &e->shared->header);
}

/* --- the last step of the active side ------------------------------------- */

struct closer {
	struct t *t;
	struct ndk_connector *connector;
	struct completion go, done;
	unsigned int delay;
};

static int close_in_thread(void *arg)
{
	struct closer *c = arg;

	wait_for_completion(&c->go);
	udelay(c->delay);
	t_close_start(c->t, &c->connector->header);
	complete(&c->done);
	return 0;
}

/*
 * The peer gives up just while the connect is completed: that fails, or the connection stands and ends with an event. Never both,
 * and never neither.
 *
 * Proves: 5.3-COMPLETING-abandoned, 5.3-COMPLETING-lost, 5.3-ACCEPTED-abandoned, 12-no-early-event
 */
static void abandoned_while_completing(struct t *t)
{
	struct scene *s = t_alloc(t, sizeof(*s));
	struct closer *c = t_alloc(t, 40 * sizeof(*c));
	unsigned int stood = 0, failed = 0;
	struct t_await *w;
	int i, rc;

	for (i = 0; i < 40; i++) {
		if (!t_reach(t, s, A_ACCEPTED))
			return;
		c[i] = (struct closer) { .t = t, .connector = s->incoming, .delay = (i % 10) * 20 };
		init_completion(&c[i].go);
		init_completion(&c[i].done);
		if (!EXPECT(t, !IS_ERR(kthread_run(close_in_thread, &c[i], "ndk_test_close"))))
			return;
		w = t_await(t, "complete connect");
		complete(&c[i].go);
		udelay((i / 10) * 100);
		rc = t_wait(w, ndk_complete_connect(s->p->a.connector, t_gone, &s->p->a, t_done, w));
		wait_for_completion(&c[i].done);
		if (!rc) {
			stood++;
			t_wait_gone(&s->p->a);
		} else if (EXPECT_STATUS(t, rc, -ECONNABORTED)) {
			failed++;
			t_sleep(2);
			EXPECT_EQ(t, atomic_read(&s->p->a.gone), 0);
		}
		t_close(t, &s->p->a.connector->header);
		t_close_start(t, &s->p->a.qp->header);
		t_close_start(t, &s->p->b.qp->header);
		t_close_start(t, &s->p->listener->listener->header);
	}
	t_trace("%u stood, %u failed", stood, failed);
}

/* --- what a disconnect leaves --------------------------------------------- */

/*
 * Neither connector nor QP is good for another connection, on either side.
 *
 * Proves: 5.5-DISCONNECTED-reuse, 5.10-no-reuse, 5.3-IDLE-connect-busy-qp, 5.4-INCOMING-accept-busy-qp
 */
static void no_reuse(struct t *t)
{
	struct scene *s = t_alloc(t, sizeof(*s));
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_connector *incoming;
	struct t_await *connect, *w;
	struct ndk_object_header *h;
	struct sockaddr_storage from;

	if (!t_reach(t, s, t->arg))
		return;
	w = t_await(t, "connect");
	t_addr(SIDE_A, AF_INET, 0, &from);
	EXPECT_STATUS(t, t_connect_call(&s->p->a, &from, &s->p->listener->address, w), -ENOTCONN);
	/* A new connector on the old QP; the other way round. */
	t_end_copy(e, &s->p->a);
	h = t_create(e, KIND_CONNECTOR);
	if (!h)
		return;
	e->connector = container_of(h, struct ndk_connector, header);
	EXPECT_STATUS(t, t_connect_call(e, &from, &s->p->listener->address, w), -EISCONN);
	if (!t_end_qp(e))
		return;
	connect = t_connect_start(e, &s->p->listener->address);
	incoming = connect ? t_incoming(s->p->listener) : NULL;
	if (!incoming)
		return;
	EXPECT_STATUS(t, ndk_accept(incoming, s->p->b.qp, 1, 1, NULL, 0, t_gone, &s->p->b, t_done, w), -EISCONN);
	/* With a new QP it comes about. */
	if (!t_end_qp(&s->p->b))
		return;
	reinit_completion(&s->p->b.gone_done);
	atomic_set(&s->p->b.gone, 0);
	w = t_accept_start(&s->p->b, incoming);
	if (!w || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	connect = t_complete_start(e);
	if (connect && !t_join(connect) && !t_join(w))
		t_ping(e, &s->p->b);
}

#define WRITES 12
#define LENGTH SZ_64K

/*
 * A disconnect in the midst of silent writes: when it completes each is done, or has said that it is not, and nothing reads the
 * source or writes the target any more.
 *
 * Proves: 5.10-waits, 5.10-flush, 6.4-silent, 5.5-DISCONNECTING-done
 */
static void silent_requests(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_result_ex r[2 * WRITES];
	struct t_region *target;
	struct t_await *w, *other;
	struct t_buf *from;
	int round, i;
	u32 n;

	for (round = 0; round < 4; round++, p = t_pair(t, NULL)) {
		if (!p)
			return;
		target = t_region(&p->b, WRITES * LENGTH, NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
		from = t_buf(&p->a, LENGTH);
		if (!target || !from)
			return;
		memset(from->va, 0x11, LENGTH);
		for (i = 0; i < WRITES; i++)
			EXPECT_STATUS(t, t_post_write(&p->a, i, from, 0, LENGTH, target->base + i * LENGTH,
						      target->remote, NDK_OP_FLAG_SILENT_SUCCESS), 0);
		w = t_disconnect_start(&p->a);
		if (!w || !t_wait_gone(&p->b))
			return;
		other = t_disconnect_start(&p->b);
		if (!other)
			return;
		EXPECT_STATUS(t, t_join(w), 0);
		/* From here on the source is ours. */
		memset(from->va, 0x99, LENGTH);
		n = ndk_get_cq_results_ex(p->a.icq->cq, r, ARRAY_SIZE(r));
		EXPECT(t, n <= WRITES);
		for (i = 0; i < n; i++) {
			EXPECT_STATUS(t, r[i].status, -ECANCELED);
			EXPECT_EQ(t, (unsigned long)r[i].request_context, WRITES - n + i);
		}
		EXPECT_STATUS(t, t_join(other), 0);
		t_sleep(20);
		/* The first ones have arrived whole, unless they said otherwise; nothing is of the time after. */
		for (i = 0; i < WRITES - n; i++)
			t_check_byte(t, target->va + i * LENGTH, LENGTH, 0x11, "target of a silent success");
		EXPECT(t, !memchr(target->va, 0x99, WRITES * LENGTH));
		EXPECT_EQ(t, ndk_get_cq_results_ex(p->a.icq->cq, r, ARRAY_SIZE(r)), 0);
	}
}

/* --- listeners ------------------------------------------------------------ */

enum listener_state { CREATED, LISTENING, PAUSED, UNANSWERED, ACCEPTED };

/*
 * The close of a listener in each state: what comes then is refused at once and brings no event; the address is free when the
 * last connector is closed.
 *
 * Proves: 5.6-any-close, 5.6-CLOSING-request, 5.6-CLOSING-last, 3.1-LISTENER, 3.1-LISTENER-refuses, 5.4-refused, 4.2-not-accepted
 */
static void listener_closed(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_end *late = t_alloc(t, sizeof(*late));
	struct ndk_connector *delivered = NULL;
	struct sockaddr_storage to;
	struct t_await *closing;
	struct t_listener *l;
	int i;

	if (!p)
		return;
	l = p->listener;
	to = l->address;
	t_end_copy(late, &p->a);
	if (!t_end_qp(late))
		return;
	switch (t->arg) {
	case CREATED:
		l = t_listener(&p->b);
		if (l)
			t_close(t, &l->listener->header);
		return;
	case PAUSED:
		ndk_control_connect_events(l->listener, true);
		break;
	case UNANSWERED:
		delivered = t_connect_start(&p->a, &to) ? t_incoming(l) : NULL;
		if (!delivered)
			return;
		break;
	case ACCEPTED:
		if (!t_establish(&p->a, l, &p->b))
			return;
		delivered = p->b.connector;
		break;
	default:
		break;
	}
	i = atomic_read(&l->events);
	closing = t_close_start(t, &l->listener->header);
	EXPECT_STATUS(t, t_connect(late, &to), -ECONNREFUSED);
	EXPECT_STATUS(t, t_connect(late, &to), -ECONNREFUSED);
	EXPECT_EQ(t, atomic_read(&l->events), i);
	if (delivered) {
		EXPECT(t, !t_is_done(closing));
		l = t_listener(&p->b);
		if (!l || !EXPECT_STATUS(t, t_listen(l, SIDE_B, AF_INET, t_port(&to)), -EADDRINUSE))
			return;
		t_close(t, &delivered->header);
	}
	t_join(closing);
	l = t_listener(&p->b);
	if (l)
		EXPECT_STATUS(t, t_listen(l, SIDE_B, AF_INET, t_port(&to)), 0);
}

/* --- loopback ------------------------------------------------------------- */

/*
 * An adapter connects to itself, from an address of its own and over a shared endpoint.
 *
 * Proves: 4.3-loopback, 4.3-families
 */
static void loopback(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_end *a = t_alloc(t, 2 * sizeof(*a)), *b = t_alloc(t, 2 * sizeof(*b));
	struct sockaddr_storage ss;
	struct t_listener *l;
	u32 len;
	int i;

	if (!t_end_init(t, &a[0], SIDE_A, &cfg) || !t_end_init(t, &b[0], SIDE_A, &cfg))
		return;
	EXPECT(t, t_info(t, a[0].adapter).adapter_flags & NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS);
	l = t_listening(&b[0], t->arg, 0);
	if (!l)
		return;
	t_end_copy(&a[1], &a[0]);
	t_end_copy(&b[1], &b[0]);
	if (!t_share(&a[1], t->arg, 0))
		return;
	for (i = 0; i < 2; i++) {
		if (!t_end_qp(&a[i]) || !t_end_qp(&b[i]) || !t_establish(&a[i], l, &b[i]))
			return;
		len = sizeof(ss);
		EXPECT_STATUS(t, ndk_get_peer_address(a[i].connector, (struct sockaddr *)&ss, &len), 0);
		EXPECT(t, t_same_addr(&ss, &l->address));
		if (t_ping(&a[i], &b[i]))
			t_ping(&b[i], &a[i]);
	}
}

#define CALLS_IN(name, state) { "calls_when_" name, calls_in, state }

static const struct t_case cases[] = {
	CALLS_IN("idle", A_IDLE), /* Proves: 5.3-IDLE-complete, 5.3-IDLE-other */
	/* Proves: 5.3-CONNECTING-complete, 5.3-CONNECTING-connect, 5.3-CONNECTING-address */
	CALLS_IN("connecting", A_CONNECTING),
	CALLS_IN("accepted", A_ACCEPTED), /* Proves: 5.3-ACCEPTED-data */
	CALLS_IN("rejected", A_REJECTED), /* Proves: 5.4-REJECTED-other, 5.4-REJECTED-close */
	CALLS_IN("active_connected", A_CONNECTED),
	CALLS_IN("active_peer_gone", A_PEER_GONE),
	CALLS_IN("active_disconnecting", A_DISCONNECTING), /* Proves: 5.5-DISCONNECTING-again */
	CALLS_IN("active_disconnected", A_DISCONNECTED), /* Proves: 5.5-any-disconnect */
	CALLS_IN("incoming", P_INCOMING), /* Proves: 5.4-INCOMING-other, 5.4-INCOMING-data, 5.4-INCOMING-addresses */
	CALLS_IN("passive_rejected", P_REJECTED), /* Proves: 5.4-REJECTED-other, 5.4-REJECTED-close */
	CALLS_IN("accepting", P_ACCEPTING),
	CALLS_IN("passive_connected", P_CONNECTED),
	CALLS_IN("passive_peer_gone", P_PEER_GONE),
	CALLS_IN("passive_disconnecting", P_DISCONNECTING), /* Proves: 5.5-DISCONNECTING-again */
	CALLS_IN("passive_disconnected", P_DISCONNECTED), /* Proves: 5.5-any-disconnect */
	{ "abandoned_while_completing", abandoned_while_completing },
	{ "disconnected_by_the_active_side_is_not_used_again", no_reuse, A_DISCONNECTED },
	{ "disconnected_by_the_passive_side_is_not_used_again", no_reuse, P_DISCONNECTED },
	{ "disconnect_waits_for_silent_requests", silent_requests },
	{ "created_listener_closed", listener_closed, CREATED },
	{ "listening_listener_closed", listener_closed, LISTENING },
	{ "paused_listener_closed", listener_closed, PAUSED },
	{ "listener_closed_with_an_unanswered_connection", listener_closed, UNANSWERED },
	{ "listener_closed_with_a_connection", listener_closed, ACCEPTED },
	{ "adapter_connects_to_itself_over_ipv4", loopback, AF_INET },
	{ "adapter_connects_to_itself_over_ipv6", loopback, AF_INET6 },
};

T_GROUP(rows, cases);
