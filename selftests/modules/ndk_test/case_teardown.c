// SPDX-License-Identifier: GPL-2.0
/* Close in every state of a connector, from every kind of callback, whatever has become of the peer. */

#include <linux/delay.h>

#include "scene.h"

static void pending_has_ended(struct t_await *w)
{
	struct scene *s = w->arg;

	if (s->pending && !t_has_left(s->pending))
		t_fail(w->t, "%s: closed before %s was completed", w->what, s->pending->what);
}

static void close_subject(struct t *t, struct scene *s, enum stage state)
{
	s->closing = t_close_then(t, &s->connector->header, pending_has_ended, s);
	s->closing->what = t_stage_names[state];
}

static void subject_is_closed(struct t *t, struct scene *s, enum stage state, bool dead)
{
	int status;

	if (t_join(s->closing) || !s->pending)
		return;
	status = t_join(s->pending);
	if (status == -ECANCELED)
		return;
	/* A connection that the peer gave up before the close. */
	if (dead && status == (state == A_CONNECTING ? -ECONNREFUSED : -ECONNABORTED))
		return;
	/* What may have ended by itself at the last moment. */
	if (!status && state != A_CONNECTING && state != P_ACCEPTING)
		return;
	t_fail(t, "%s: what was pending ended with %s", t_stage_names[state], t_errname(status));
}

/* Proves: CLOSE_OBJECT.wrong-state, 3.1-CONNECTOR, 3.8, 3.9 */
static void peer_alive(struct t *t)
{
	struct scene *s = t_alloc(t, sizeof(*s));
	enum stage state = t->arg;

	if (!t_reach(t, s, state))
		return;
	close_subject(t, s, state);
	subject_is_closed(t, s, state, false);
	switch (state) {
	case A_CONNECTED:
	case A_SENDING:
	case P_CONNECTED:
	case P_SENDING:
		/* Close without disconnect: an event for the peer, none for the one who closed. */
		t_wait_gone(s->peer);
		EXPECT_EQ(t, atomic_read(&s->subject->gone), 0);
		break;
	default:
		break;
	}
}

static bool reach_all(struct t *t, struct scene *s, enum stage from, enum stage to)
{
	enum stage i;

	for (i = from; i < to; i++) {
		if (!t_reach(t, &s[i], i)) {
			t_fail(t, "%s: not reached", t_stage_names[i]);
			return false;
		}
	}
	return true;
}

static void close_all(struct t *t, struct scene *s, enum stage from, enum stage to, bool dead)
{
	enum stage i;

	for (i = from; i < to; i++)
		close_subject(t, &s[i], i);
	for (i = from; i < to; i++)
		subject_is_closed(t, &s[i], i, dead);
}

/* No packet of the peer arrives any more, and none reaches it. */
/* Proves: CLOSE_OBJECT.wrong-state, 3.1-CONNECTOR, 3.8, 3.9 */
/* Bug: B2, B38, K2 */
static void peer_silent(struct t *t)
{
	enum stage from = t->arg, to = from == A_IDLE ? P_INCOMING : STATES;
	struct scene *s = t_alloc(t, STATES * sizeof(*s));

	if (!reach_all(t, s, from, to) || t_host(t, "silence"))
		return;
	close_all(t, s, from, to, false);
	t_host(t, "unsilence");
}

/* A connect on its way to a host that does not answer at all. */
/* Proves: CONNECT.close-pending, 3.9, 5.3-CONNECTING-close, 12-cancelled */
/* Bug: B2 */
static void connecting_to_a_silent_peer(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect;

	if (!p || t_host(t, "silence"))
		return;
	connect = t_connect_start(&p->a, &p->listener->address);
	if (connect) {
		t_sleep(200);
		EXPECT(t, !t_is_done(connect));
		t_close(t, &p->a.connector->header);
		EXPECT(t, t_is_done(connect));
		EXPECT_STATUS(t, t_join(connect), -ECANCELED);
	}
	t_host(t, "unsilence");
}

/* The link of the peer is deleted under the connection. */
/* Proves: CLOSE_OBJECT.wrong-state, 3.1-CONNECTOR, 3.8, 3.9 */
/* Bug: B38, S22, S23 */
static void peer_dead(struct t *t)
{
	enum stage from = t->arg, to = from == A_IDLE ? P_INCOMING : STATES;
	struct scene *s = t_alloc(t, STATES * sizeof(*s));
	char ns = from == A_IDLE ? 'b' : 'a';

	if (reach_all(t, s, from, to) && !t_host(t, "link_del %c", ns))
		close_all(t, s, from, to, true);
	t_host(t, "link_add %c && link_ready %c", ns, ns);
}

/* --- from inside callbacks ------------------------------------------------ */

struct everything {
	struct t_end *e;
	struct ndk_object_header *objects[10];
	struct t_await *closing[10];
	unsigned int nr;
	struct completion closed;
};

static void add(struct everything *v, struct ndk_object_header *h)
{
	v->objects[v->nr++] = h;
}

static void close_everything(struct everything *v)
{
	int i;

	for (i = 0; i < v->nr; i++)
		v->closing[i] = t_close_start(v->e->t, v->objects[i]);
	complete(&v->closed);
}

static void everything_is_closed(struct everything *v)
{
	int i;

	if (!wait_for_completion_timeout(&v->closed, t_ticks(10))) {
		t_fail(v->e->t, "the callback was not called");
		return;
	}
	for (i = 0; i < v->nr; i++)
		t_join(v->closing[i]);
}

static void in_completion(struct t_await *w)
{
	close_everything(w->arg);
}

static void in_notification(struct t_cq *cq)
{
	close_everything(cq->arg);
}

static void in_connect_event(struct t_listener *l, struct ndk_connector *connector)
{
	struct everything *v = l->arg;

	add(v, &connector->header);
	close_everything(v);
}

static struct everything *the_everything;

static void in_disconnect_event(struct t_end *e)
{
	close_everything(the_everything);
}

enum callback {
	CREATE_COMPLETION, CLOSE_COMPLETION, REGISTER_COMPLETION, LISTEN_COMPLETION, CONNECT_COMPLETION,
	ACCEPT_COMPLETION, COMPLETE_CONNECT_COMPLETION, DISCONNECT_COMPLETION, CQ_NOTIFICATION, CONNECT_EVENT,
	DISCONNECT_EVENT,
};

/* A completion whose await closes everything. */
static struct t_await *closing_await(struct everything *v, const char *what)
{
	struct t_await *w = t_await(v->e->t, what);

	w->then = in_completion;
	w->arg = v;
	return w;
}

/* Proves: 3.4 */
/* Bug: B21, B24, K5 */
static void from_inside(struct t *t)
{
	struct everything *v = t_alloc(t, sizeof(*v));
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *w, *connect, *accept, *complete;
	struct ndk_connector *incoming;
	struct sockaddr_storage ss;
	struct t_listener *extra;
	struct t_region *r;
	struct t_buf *buf;
	struct ndk_object_header *h;
	void *out = t_poison();
	bool active = t->arg == CONNECT_COMPLETION || t->arg == COMPLETE_CONNECT_COMPLETION;
	struct t_end *e;

	if (!p)
		return;
	e = active ? &p->a : &p->b;
	v->e = e;
	init_completion(&v->closed);
	r = t_memory(e, PAGE_SIZE);
	buf = t_buf(&p->a, 64);
	if (!r || !buf)
		return;
	add(v, &e->pd->header);
	add(v, &e->rcq->cq->header);
	add(v, &e->icq->cq->header);
	add(v, &e->qp->header);
	add(v, &r->mr->header);
	if (!active)
		add(v, &p->listener->listener->header);
	if (t->arg == CONNECT_EVENT) {
		p->listener->arg = v;
		p->listener->then = in_connect_event;
	}
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return;
	p->a.connector = container_of(h, struct ndk_connector, header);
	if (active)
		add(v, h);

	/* Up to a connection, unless the callback comes before. */
	connect = t->arg == CONNECT_COMPLETION ? closing_await(v, "connect") : t_await(t, "connect");
	t_addr(SIDE_A, AF_INET, 0, &ss);
	if (!t_pended(connect, t_connect_call(&p->a, &ss, &p->listener->address, connect)))
		return;
	if (t->arg == CONNECT_EVENT) {
		everything_is_closed(v);
		EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
		return;
	}
	incoming = t_incoming(p->listener);
	if (!incoming)
		return;
	p->b.connector = incoming;
	if (!active)
		add(v, &incoming->header);
	accept = t->arg == ACCEPT_COMPLETION ? closing_await(v, "accept") : t_await(t, "accept");
	if (!t_pended(accept, ndk_accept(incoming, p->b.qp, 1, 1, NULL, 0, t_gone, &p->b, t_done, accept)) ||
	    !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	if (t->arg == CONNECT_COMPLETION) {
		everything_is_closed(v);
		EXPECT_STATUS(t, t_join(accept), -ECONNABORTED);
		return;
	}
	complete = t->arg == COMPLETE_CONNECT_COMPLETION ? closing_await(v, "complete connect") :
							   t_await(t, "complete connect");
	if (!t_pended(complete, ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, complete)) ||
	    !EXPECT_STATUS(t, t_join(complete), 0))
		return;
	/* The active side may close before the passive one has seen the last message. */
	if (!active && !EXPECT_STATUS(t, t_join(accept), 0))
		return;

	switch (t->arg) {
	case CREATE_COMPLETION:
		w = closing_await(v, "create PD");
		if (!t_pended(w, ndk_create_pd(e->adapter, t_created, w, (struct ndk_pd **)&out)))
			return;
		break;
	case CLOSE_COMPLETION:
		h = t_create(e, KIND_PD);
		if (h)
			t_close_then(t, h, in_completion, v);
		break;
	case REGISTER_COMPLETION:
		w = closing_await(v, "register MR");
		if (!t_pended(w, ndk_register_mr(r->mr, r->sg, 1, r->base, r->size, 0, t_done, w)))
			return;
		break;
	case LISTEN_COMPLETION:
		extra = t_listener(e);
		if (!extra)
			return;
		add(v, &extra->listener->header);
		w = closing_await(v, "listen");
		t_addr(SIDE_B, AF_INET, 0, &ss);
		if (!t_pended(w, ndk_listen(extra->listener, (struct sockaddr *)&ss, t_addr_len(&ss), t_done, w)))
			return;
		break;
	case DISCONNECT_COMPLETION:
		w = closing_await(v, "disconnect");
		if (!t_pended(w, ndk_disconnect(e->connector, t_done, w)) || !t_wait_gone(&p->a))
			return;
		t_close_start(t, &p->a.connector->header);
		break;
	case DISCONNECT_EVENT:
		the_everything = v;
		e->on_gone = in_disconnect_event;
		t_close_start(t, &p->a.connector->header);
		break;
	case CQ_NOTIFICATION:
		e->rcq->arg = v;
		e->rcq->then = in_notification;
		if (!EXPECT_STATUS(t, ndk_receive(e->qp, CTX(1), NULL, 0), 0))
			return;
		ndk_arm_cq(e->rcq->cq, NDK_CQ_NOTIFY_ANY);
		EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(2), NULL, 0, 0), 0);
		break;
	}
	everything_is_closed(v);
	EXPECT_EQ(t, atomic_read(&e->gone), t->arg == DISCONNECT_EVENT ? 1 : 0);
}

/* --- against callbacks that run ------------------------------------------- */

struct running {
	struct completion started;
	bool left;
};

static struct running *the_running;

static void run_on(void)
{
	complete(&the_running->started);
	mdelay(60);
	WRITE_ONCE(the_running->left, true);
}

static void run_on_gone(struct t_end *e)
{
	run_on();
}

static void run_on_notified(struct t_cq *cq)
{
	cq->then = NULL;
	run_on();
}

static void run_on_incoming(struct t_listener *l, struct ndk_connector *connector)
{
	l->arg = connector;
	run_on();
}

static void event_has_returned(struct t_await *w)
{
	if (!READ_ONCE(the_running->left))
		t_fail(w->t, "%s: completed while an event was running", w->what);
}

/* Proves: 3.8, 3.10 */
/* Bug: K2, B101 */
static void waits_for_a_running_event(struct t *t)
{
	struct t_pair *p = t->arg == CONNECT_EVENT ? t_pair_unconnected(t, NULL) : t_pair(t, NULL);
	struct ndk_object_header *h;
	struct t_await *w;

	if (!p)
		return;
	the_running = t_alloc(t, sizeof(*the_running));
	init_completion(&the_running->started);
	switch (t->arg) {
	case DISCONNECT_EVENT:
		h = &p->b.connector->header;
		p->b.on_gone = run_on_gone;
		t_close_start(t, &p->a.connector->header);
		break;
	case CQ_NOTIFICATION:
		h = &p->b.rcq->cq->header;
		p->b.rcq->then = run_on_notified;
		EXPECT_STATUS(t, ndk_receive(p->b.qp, CTX(1), NULL, 0), 0);
		ndk_arm_cq(p->b.rcq->cq, NDK_CQ_NOTIFY_ANY);
		EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(2), NULL, 0, 0), 0);
		break;
	default:
		h = &p->listener->listener->header;
		p->listener->then = run_on_incoming;
		if (!t_connect_start(&p->a, &p->listener->address))
			return;
		break;
	}
	if (!wait_for_completion_timeout(&the_running->started, t_ticks(10))) {
		t_fail(t, "no event");
		return;
	}
	if (t->arg == CQ_NOTIFICATION) {
		t_close_start(t, &p->b.connector->header);
		t_close_start(t, &p->b.qp->header);
	}
	w = t_close_then(t, h, event_has_returned, NULL);
	if (t->arg == CONNECT_EVENT) {
		/* The listener waits for the connector as well; that close must not be what holds it. */
		t_sleep(5);
		t_close_start(t, &((struct ndk_connector *)READ_ONCE(p->listener->arg))->header);
	}
	t_join(w);
}

#define ALIVE(name, state) { name "_closed_with_the_peer_alive", peer_alive, state }

static const struct t_case cases[] = {
	ALIVE("idle", A_IDLE), /* Proves: 5.3-IDLE-close */
	ALIVE("connecting", A_CONNECTING), /* Proves: CONNECT.close-pending, 5.3-CONNECTING-close */
	ALIVE("accepted", A_ACCEPTED), /* Proves: 5.3-ACCEPTED-close */
	ALIVE("rejected", A_REJECTED), /* Proves: REJECT.close-pending, 5.4-REJECTED-close */
	ALIVE("completing", A_COMPLETING), /* Proves: COMPLETE_CONNECT.close-pending */
	/* Proves: 3.1-CONNECTOR-no-event, 5.5-CONNECTED-close, 5.5-CONNECTED-peer-close */
	ALIVE("active_connected", A_CONNECTED),
	ALIVE("active_sending", A_SENDING), /* Proves: 3.1-CONNECTOR-no-event, 5.5-CONNECTED-close */
	ALIVE("active_peer_gone", A_PEER_GONE), /* Proves: 5.5-PEER_GONE-close */
	ALIVE("active_disconnecting", A_DISCONNECTING), /* Proves: DISCONNECT.close-pending */
	ALIVE("active_disconnected", A_DISCONNECTED),
	ALIVE("incoming", P_INCOMING), /* Proves: 5.4-INCOMING-close */
	ALIVE("passive_rejected", P_REJECTED), /* Proves: 5.4-REJECTED-close */
	ALIVE("accepting", P_ACCEPTING), /* Proves: ACCEPT.close-pending, 5.4-ACCEPTING-close */
	/* Proves: 3.1-CONNECTOR-no-event, 5.5-CONNECTED-close, 5.5-CONNECTED-peer-close */
	ALIVE("passive_connected", P_CONNECTED),
	ALIVE("passive_sending", P_SENDING), /* Proves: 3.1-CONNECTOR-no-event, 5.5-CONNECTED-close */
	ALIVE("passive_peer_gone", P_PEER_GONE), /* Proves: 5.5-PEER_GONE-close */
	ALIVE("passive_disconnecting", P_DISCONNECTING), /* Proves: DISCONNECT.close-pending */
	ALIVE("passive_disconnected", P_DISCONNECTED),
	{ "all_active_states_closed_with_the_peer_silent", peer_silent, A_IDLE },
	{ "all_passive_states_closed_with_the_peer_silent", peer_silent, P_INCOMING },
	{ "connecting_closed_with_the_peer_silent_from_the_start", connecting_to_a_silent_peer },
	{ "all_active_states_closed_with_the_peer_dead", peer_dead, A_IDLE },
	{ "all_passive_states_closed_with_the_peer_dead", peer_dead, P_INCOMING },
	/* Proves: CREATE_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_create", from_inside, CREATE_COMPLETION },
	/* Proves: CLOSE_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_close", from_inside, CLOSE_COMPLETION },
	/* Proves: REQUEST_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_register", from_inside, REGISTER_COMPLETION },
	/* Proves: REQUEST_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_listen", from_inside, LISTEN_COMPLETION },
	/* Proves: REQUEST_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_connect", from_inside, CONNECT_COMPLETION },
	/* Proves: REQUEST_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_accept", from_inside, ACCEPT_COMPLETION },
	/* Proves: REQUEST_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_complete_connect", from_inside, COMPLETE_CONNECT_COMPLETION },
	/* Proves: REQUEST_COMPLETION.close-pending */
	{ "everything_closed_in_the_completion_of_disconnect", from_inside, DISCONNECT_COMPLETION },
	/* Proves: CQ_NOTIFICATION_CALLBACK.close-pending */
	{ "everything_closed_in_a_cq_notification", from_inside, CQ_NOTIFICATION },
	{ "everything_closed_in_a_connect_event", from_inside, CONNECT_EVENT }, /* Proves: CONNECT_EVENT_CALLBACK.close-pending */
	/* Proves: DISCONNECT_EVENT_CALLBACK.close-pending */
	{ "everything_closed_in_a_disconnect_event", from_inside, DISCONNECT_EVENT },
	/* Proves: DISCONNECT_EVENT_CALLBACK.close-pending, 3.1-CONNECTOR */
	{ "close_waits_for_a_running_disconnect_event", waits_for_a_running_event, DISCONNECT_EVENT },
	/* Proves: CQ_NOTIFICATION_CALLBACK.close-pending, 3.1-CQ */
	{ "close_waits_for_a_running_cq_notification", waits_for_a_running_event, CQ_NOTIFICATION },
	/* Proves: CONNECT_EVENT_CALLBACK.close-pending, 3.1-LISTENER */
	{ "close_waits_for_a_running_connect_event", waits_for_a_running_event, CONNECT_EVENT },
};

T_GROUP(teardown, cases);
