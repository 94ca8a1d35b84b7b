// SPDX-License-Identifier: GPL-2.0
/* How a connection comes about, or does not. */

#include <linux/kthread.h>
#include <linux/slab.h>

#include "ndk_test.h"

/*
 * Proves: CONNECT.ok, ACCEPT.ok, COMPLETE_CONNECT.ok, LISTEN.ok, REQUEST_COMPLETION.ok, CONNECT_EVENT_CALLBACK.ok,
 * 2.4-pending, 4.3-families, 5.3-IDLE-connect, 5.3-CONNECTING-accepted, 5.3-ACCEPTED-complete,
 * 5.3-COMPLETING-success, 5.4-event, 5.4-INCOMING-accept, 5.4-ACCEPTING-success, 5.6-LISTENING-event
 */
/* Bug: B16 */
static void connects(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair(t, &cfg);

	if (p && t_ping(&p->a, &p->b))
		t_ping(&p->b, &p->a);
}

/* Proves: CONNECT.ok, ACCEPT.ok, COMPLETE_CONNECT.ok, 4.4-new-connector */
/* Bug: B20 */
static void connects_many_times(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_object_header *h;
	int i;

	if (!p)
		return;
	for (i = 0; i < 10; i++) {
		if (i) {
			h = t_create(&p->a, KIND_QP);
			if (!h)
				return;
			p->a.qp = container_of(h, struct ndk_qp, header);
			h = t_create(&p->b, KIND_QP);
			if (!h)
				return;
			p->b.qp = container_of(h, struct ndk_qp, header);
			p->a.connector = NULL;
			reinit_completion(&p->a.gone_done);
			atomic_set(&p->a.gone, 0);
			reinit_completion(&p->b.gone_done);
			atomic_set(&p->b.gone, 0);
		}
		if (!t_establish(&p->a, p->listener, &p->b) || !t_ping(&p->a, &p->b))
			return;
		t_close_start(t, &p->a.connector->header);
		t_wait_gone(&p->b);
		t_close(t, &p->b.connector->header);
		t_close_start(t, &p->a.qp->header);
		t_close(t, &p->b.qp->header);
	}
}

/* --- the steps ------------------------------------------------------------ */

struct steps {
	struct t *t;
	struct t_pair *p;
	struct t_await *connect, *accept;
	struct ndk_connector *incoming;
};

/* Up to the connect event. */
static struct steps *requested(struct t *t)
{
	struct steps *s = t_alloc(t, sizeof(*s));

	s->t = t;
	s->p = t_pair_unconnected(t, NULL);
	if (!s->p)
		return NULL;
	s->connect = t_connect_start(&s->p->a, &s->p->listener->address);
	s->incoming = s->connect ? t_incoming(s->p->listener) : NULL;
	return s->incoming ? s : NULL;
}

/* Up to the success of the connect. */
static struct steps *accepted(struct t *t)
{
	struct steps *s = requested(t);

	if (!s)
		return NULL;
	s->accept = t_accept_start(&s->p->b, s->incoming);
	return s->accept && EXPECT_STATUS(t, t_join(s->connect), 0) ? s : NULL;
}

/* Proves: CONNECT.ok, 5.3-IDLE-connect, 5.3-CONNECTING-accepted */
static void connect_waits_for_accept(struct t *t)
{
	struct steps *s = requested(t);

	if (!s)
		return;
	t_sleep(200);
	if (!EXPECT(t, !t_is_done(s->connect)))
		return;
	s->accept = t_accept_start(&s->p->b, s->incoming);
	if (s->accept)
		EXPECT_STATUS(t, t_join(s->connect), 0);
}

/* Proves: ACCEPT.ok, COMPLETE_CONNECT.ok, 5.4-INCOMING-accept, 5.4-ACCEPTING-success */
static void accept_waits_for_complete(struct t *t)
{
	struct steps *s = accepted(t);
	struct t_await *complete;

	if (!s)
		return;
	t_sleep(500);
	/* iWARP has no third message to wait for. */
	if (!EXPECT(t, t_is_done(s->accept) == world.iwarp))
		return;
	complete = t_complete_start(&s->p->a);
	if (complete && EXPECT_STATUS(t, t_join(complete), 0) && EXPECT_STATUS(t, t_join(s->accept), 0))
		t_ping(&s->p->a, &s->p->b);
}

struct in_callbacks {
	struct t_pair *p;
	struct t_await *accept, *complete;
	struct completion both;
};

static void accept_at_once(struct t_listener *l, struct ndk_connector *connector)
{
	struct in_callbacks *c = l->arg;

	c->accept = t_accept_start(&c->p->b, connector);
}

static void complete_at_once(struct t_await *w)
{
	struct in_callbacks *c = w->arg;

	if (!w->status)
		c->complete = t_complete_start(&c->p->a);
	complete(&c->both);
}

/* Accept in the connect event, complete in the completion of connect: nobody sleeps in between. */
/*
 * Proves: ACCEPT.softirq, COMPLETE_CONNECT.softirq, REQUEST_COMPLETION.softirq, CONNECT_EVENT_CALLBACK.softirq,
 * 5.4-INCOMING-accept
 */
static void established_in_callbacks(struct t *t)
{
	struct in_callbacks *c = t_alloc(t, sizeof(*c));
	struct sockaddr_storage from;
	struct ndk_object_header *h;
	struct t_await *w;

	init_completion(&c->both);
	c->p = t_pair_unconnected(t, NULL);
	if (!c->p)
		return;
	c->p->listener->arg = c;
	c->p->listener->then = accept_at_once;
	h = t_create(&c->p->a, KIND_CONNECTOR);
	if (!h)
		return;
	c->p->a.connector = container_of(h, struct ndk_connector, header);
	w = t_await(t, "connect");
	w->arg = c;
	w->then = complete_at_once;
	t_addr(SIDE_A, AF_INET, 0, &from);
	if (!t_pended(w, t_connect_call(&c->p->a, &from, &c->p->listener->address, w)) ||
	    !EXPECT_STATUS(t, t_join(w), 0) || !EXPECT(t, c->complete && c->accept))
		return;
	if (EXPECT_STATUS(t, t_join(c->complete), 0) && EXPECT_STATUS(t, t_join(c->accept), 0))
		t_ping(&c->p->a, &c->p->b);
}

/* The forms whose disconnect event has a reason. */
/*
 * Proves: ACCEPT_EX.ok, COMPLETE_CONNECT_EX.ok, DISCONNECT_EVENT_CALLBACK_EX.ok,
 * DISCONNECT_EVENT_CALLBACK_EX.softirq, 5.10-ex
 */
static void ex_forms(struct t *t)
{
	struct steps *s = requested(t);
	struct t_await *accept, *complete, *w;
	struct t_end *a, *b;

	if (!s)
		return;
	a = &s->p->a;
	b = &s->p->b;
	b->connector = s->incoming;
	accept = t_await(t, "accept_ex");
	if (!t_pended(accept, ndk_accept_ex(b->connector, b->qp, 1, 1, NULL, 0, t_gone_ex, b, t_done, accept)) ||
	    !EXPECT_STATUS(t, t_join(s->connect), 0))
		return;
	complete = t_await(t, "complete_connect_ex");
	if (!t_pended(complete, ndk_complete_connect_ex(a->connector, t_gone_ex, a, t_done, complete)) ||
	    !EXPECT_STATUS(t, t_join(complete), 0) || !EXPECT_STATUS(t, t_join(accept), 0) || !t_ping(a, b))
		return;
	w = t_disconnect_start(t->arg ? a : b);
	if (!w || !t_wait_gone(t->arg ? b : a))
		return;
	t_close(t, t->arg ? &b->connector->header : &a->connector->header);
	EXPECT_STATUS(t, t_join(w), 0);
}

/* A consumer need not want to know. */
/* Proves: ACCEPT.ok, COMPLETE_CONNECT.ok, DISCONNECT_EVENT_CALLBACK.bad-argument */
static void without_disconnect_event(struct t *t)
{
	struct steps *s = requested(t);
	struct t_await *accept, *complete;
	struct t_end *a, *b;

	if (!s)
		return;
	a = &s->p->a;
	b = &s->p->b;
	b->connector = s->incoming;
	accept = t_await(t, "accept");
	if (!t_pended(accept, ndk_accept(b->connector, b->qp, 1, 1, NULL, 0, NULL, NULL, t_done, accept)) ||
	    !EXPECT_STATUS(t, t_join(s->connect), 0))
		return;
	complete = t_await(t, "complete connect");
	if (!t_pended(complete, ndk_complete_connect(a->connector, NULL, NULL, t_done, complete)) ||
	    !EXPECT_STATUS(t, t_join(complete), 0) || !EXPECT_STATUS(t, t_join(accept), 0))
		return;
	t_ping(a, b);
	t_close(t, &b->connector->header);
	t_sleep(50);
	t_close(t, &a->connector->header);
}

/* --- rejects -------------------------------------------------------------- */

#define REJECT_DATA "not today, thank you"

/* What the passive side has of it that the active one does not complete: on iWARP a connection, which ends. */
static void abandoned(struct steps *s)
{
	struct t *t = s->p->b.t;

	EXPECT_STATUS(t, t_join(s->accept), world.iwarp ? 0 : -ECONNABORTED);
	if (world.iwarp) {
		t_wait_gone(&s->p->b);
		return;
	}
	t_sleep(30);
	EXPECT_EQ(t, atomic_read(&s->p->b.gone), 0);
}

/*
 * Proves: REJECT.ok, REJECT.wrong-state, ACCEPT.wrong-state, 5.3-CONNECTING-refused, 5.4-INCOMING-reject,
 * 5.4-REJECTED-other, 5.4-REJECTED-close
 */
static void passive_reject(struct t *t)
{
	struct steps *s = requested(t);
	char data[256] = {};
	u32 len = sizeof(data);
	struct t_await *w;

	if (!s)
		return;
	EXPECT_STATUS(t, ndk_reject(s->incoming, REJECT_DATA, sizeof(REJECT_DATA)), 0);
	EXPECT_STATUS(t, t_join(s->connect), -ECONNREFUSED);
	/* siw may see the end of the TCP connection before it has read them. */
	if (!world.iwarp) {
		EXPECT_STATUS(t, ndk_get_connection_data(s->p->a.connector, NULL, NULL, data, &len), 0);
		EXPECT(t, !strcmp(data, REJECT_DATA));
	}
	/* It can only be closed. */
	w = t_await(t, "a call after a reject");
	EXPECT_STATUS(t, ndk_reject(s->incoming, NULL, 0), -ENOTCONN);
	EXPECT_STATUS(t, ndk_accept(s->incoming, s->p->b.qp, 1, 1, NULL, 0, t_gone, &s->p->b, t_done, w), -ENOTCONN);
	t_close(t, &s->incoming->header);
	/* The active connector, and its QP, can be used again. */
	if (t_establish(&s->p->a, s->p->listener, &s->p->b))
		t_ping(&s->p->a, &s->p->b);
}

/* Proves: 3.1-CONNECTOR-incoming, 5.3-CONNECTING-refused, 5.4-INCOMING-close */
static void passive_close_is_a_reject(struct t *t)
{
	struct steps *s = requested(t);

	if (!s)
		return;
	t_close(t, &s->incoming->header);
	EXPECT_STATUS(t, t_join(s->connect), -ECONNREFUSED);
	if (t_establish(&s->p->a, s->p->listener, &s->p->b))
		t_ping(&s->p->a, &s->p->b);
}

/*
 * Proves: REJECT.ok, REJECT.wrong-state, COMPLETE_CONNECT.wrong-state, DISCONNECT.wrong-state, 5.3-ACCEPTED-reject,
 * 5.4-ACCEPTING-abandoned, 5.4-REJECTED-other, 12-no-early-event
 */
static void active_reject(struct t *t)
{
	struct steps *s = accepted(t);
	struct t_await *w;

	if (!s)
		return;
	EXPECT_STATUS(t, ndk_reject(s->p->a.connector, REJECT_DATA, sizeof(REJECT_DATA)), 0);
	abandoned(s);
	w = t_await(t, "a call after a reject");
	EXPECT_STATUS(t, ndk_complete_connect(s->p->a.connector, t_gone, &s->p->a, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_reject(s->p->a.connector, NULL, 0), -ENOTCONN);
	EXPECT_STATUS(t, ndk_disconnect(s->p->a.connector, t_done, w), -ENOTCONN);
	EXPECT_EQ(t, atomic_read(&s->p->a.gone), 0);
}

/* Proves: DISCONNECT_EVENT_CALLBACK.wrong-state, 5.3-ACCEPTED-close, 5.4-ACCEPTING-abandoned, 12-no-early-event */
static void active_close_is_a_reject(struct t *t)
{
	struct steps *s = accepted(t);

	if (!s)
		return;
	t_close(t, &s->p->a.connector->header);
	abandoned(s);
}

/* The passive side gives up while the active one has not completed. */
/* Proves: ACCEPT.close-pending, 5.3-ACCEPTED-abandoned, 5.4-ACCEPTING-close, 12-cancelled */
static void passive_gives_up(struct t *t)
{
	struct steps *s = accepted(t);
	struct t_await *w;
	int rc;

	if (!s)
		return;
	if (world.iwarp)
		EXPECT_STATUS(t, t_join(s->accept), 0);
	t_close(t, &s->incoming->header);
	if (!world.iwarp)
		EXPECT_STATUS(t, t_join(s->accept), -ECANCELED);
	t_sleep(200);
	if (t->arg) {
		EXPECT_STATUS(t, ndk_reject(s->p->a.connector, NULL, 0), -ECONNABORTED);
		return;
	}
	w = t_await(t, "complete connect");
	rc = t_wait(w, ndk_complete_connect(s->p->a.connector, t_gone, &s->p->a, t_done, w));
	EXPECT_STATUS(t, rc, -ECONNABORTED);
}

/* The active side gives up before the passive one has answered. */
/* Proves: CONNECT.close-pending, 5.3-CONNECTING-close, 5.4-INCOMING-abandoned, 12-cancelled */
static void active_gives_up(struct t *t)
{
	struct steps *s = requested(t);
	struct t_await *w;
	int rc;

	if (!s)
		return;
	t_close(t, &s->p->a.connector->header);
	EXPECT_STATUS(t, t_join(s->connect), -ECANCELED);
	t_sleep(200);
	if (t->arg) {
		rc = ndk_reject(s->incoming, NULL, 0);
	} else {
		w = t_await(t, "accept");
		rc = t_wait(w, ndk_accept(s->incoming, s->p->b.qp, 1, 1, NULL, 0, t_gone, &s->p->b, t_done, w));
		if (world.iwarp)
			t_wait_gone(&s->p->b);
	}
	/* siw does not tell of it that a peer has gone before it was answered. */
	EXPECT_STATUS(t, rc, world.iwarp ? 0 : -ECONNABORTED);
}

/* --- nobody there --------------------------------------------------------- */

/* Proves: 5.3-CONNECTING-refused, 5.4-refused */
static void nobody_listens(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage to;
	int i;

	if (!p)
		return;
	t_addr(SIDE_B, AF_INET, 7, &to);
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, t_connect(&p->a, &to), -ECONNREFUSED);
	/* The same connector and QP. */
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* --- pause ---------------------------------------------------------------- */

/*
 * Proves: CONTROL_CONNECT_EVENTS.ok, CONNECT_EVENT_CALLBACK.wrong-state, 4.4-pause, 4.4-resume, 5.4-refused,
 * 5.6-LISTENING-pause, 5.6-PAUSED-request,
 * 5.6-PAUSED-resume
 */
static void pause_and_resume(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	int i;

	if (!p)
		return;
	ndk_control_connect_events(p->listener->listener, true);
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, t_connect(&p->a, &p->listener->address), -ECONNREFUSED);
	EXPECT_EQ(t, atomic_read(&p->listener->events), 0);
	/* Nothing was kept for later. */
	ndk_control_connect_events(p->listener->listener, false);
	EXPECT(t, t_nothing_incoming(p->listener, 50));
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* Proves: CONTROL_CONNECT_EVENTS.wrong-state, 5.6-CREATED-pause */
static void paused_before_listen(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_listener *l;

	if (!p)
		return;
	l = t_listener(&p->b);
	if (!l)
		return;
	ndk_control_connect_events(l->listener, true);
	if (!EXPECT_STATUS(t, t_listen(l, SIDE_B, AF_INET, 0), 0))
		return;
	EXPECT_STATUS(t, t_connect(&p->a, &l->address), -ECONNREFUSED);
	EXPECT_EQ(t, atomic_read(&l->events), 0);
	ndk_control_connect_events(l->listener, false);
	if (t_establish(&p->a, l, &p->b))
		t_ping(&p->a, &p->b);
}

/* What was connected before is not touched by a pause. */
/* Proves: CONTROL_CONNECT_EVENTS.ok */
static void pause_spares_connections(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);

	if (!p)
		return;
	ndk_control_connect_events(p->listener->listener, true);
	t_sleep(20);
	if (t_ping(&p->a, &p->b))
		t_ping(&p->b, &p->a);
	EXPECT_EQ(t, atomic_read(&p->a.gone), 0);
}

/* --- many ----------------------------------------------------------------- */

#define MANY 16

/* Proves: CONNECT.ok, ACCEPT.ok, CONNECT_EVENT_CALLBACK.ok, 4.4-new-connector */
static void many_at_once(struct t *t)
{
	struct t_end *a = t_alloc(t, MANY * sizeof(*a)), *b = t_alloc(t, MANY * sizeof(*b));
	struct t_await *connect[MANY], *accept[MANY], *complete[MANY];
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_connector *incoming;
	int i;

	if (!p)
		return;
	for (i = 0; i < MANY; i++) {
		t_end_copy(&a[i], &p->a);
		t_end_copy(&b[i], &p->b);
		if (!t_end_qp(&a[i]) || !t_end_qp(&b[i]))
			return;
	}
	for (i = 0; i < MANY; i++) {
		connect[i] = t_connect_start(&a[i], &p->listener->address);
		if (!connect[i])
			return;
	}
	for (i = 0; i < MANY; i++) {
		incoming = t_incoming(p->listener);
		accept[i] = incoming ? t_accept_start(&b[i], incoming) : NULL;
		if (!accept[i])
			return;
	}
	for (i = 0; i < MANY; i++) {
		EXPECT_STATUS(t, t_join(connect[i]), 0);
		complete[i] = t_complete_start(&a[i]);
	}
	for (i = 0; i < MANY; i++) {
		if (complete[i])
			EXPECT_STATUS(t, t_join(complete[i]), 0);
		EXPECT_STATUS(t, t_join(accept[i]), 0);
	}
	EXPECT_EQ(t, atomic_read(&p->listener->events), MANY);
}

struct stream {
	struct t *t;
	struct t_end end;
	struct t_listener *listener;
	atomic_t *stop;
	unsigned int refused;
	struct completion done;
};

/* Connects until it is told to stop; the connector is used again after a refusal. */
static int connect_stream(void *arg)
{
	struct stream *s = arg;
	struct t_await *w;
	int rc;

	while (!atomic_read(s->stop)) {
		w = t_connect_start(&s->end, &s->listener->address);
		rc = w ? t_join(w) : -EINVAL;
		if (rc != -ECONNREFUSED) {
			/* Nobody accepts. */
			t_fail(s->t, "connect: %s", t_errname(rc));
			break;
		}
		s->refused++;
		t_sleep(2);
	}
	complete(&s->done);
	return 0;
}

static void reject_each(struct t_listener *l, struct ndk_connector *connector)
{
	t_close_start(l->t, &connector->header);
}

/* Proves: 3.1-LISTENER-refuses, 4.4-close-in-flight, 5.4-refused */
static void stream_of_connects(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct stream *s = t_alloc(t, 4 * sizeof(*s));
	atomic_t *stop = t_alloc(t, sizeof(*stop));
	struct task_struct *task;
	struct t_listener *l;
	int i, n, events;

	if (!p)
		return;
	l = p->listener;
	l->then = reject_each;
	for (i = 0; i < 4; i++) {
		s[i].t = t;
		t_end_copy(&s[i].end, &p->a);
		s[i].listener = l;
		s[i].stop = stop;
		init_completion(&s[i].done);
		if (!t_end_qp(&s[i].end))
			return;
	}
	for (n = 0; n < 4; n++) {
		task = kthread_run(connect_stream, &s[n], "ndk_test_conn");
		if (!EXPECT(t, !IS_ERR(task)))
			break;
	}
	for (i = 0; i < 100 && atomic_read(&l->events) < 8; i++)
		t_sleep(20);
	EXPECT(t, atomic_read(&l->events) >= 8);
	t_close(t, &l->listener->header);
	events = atomic_read(&l->events);
	t_sleep(100);
	/* Refused as if nobody listened, and without a word to the consumer. */
	EXPECT_EQ(t, atomic_read(&l->events), events);
	atomic_set(stop, 1);
	for (i = 0; i < n; i++) {
		wait_for_completion(&s[i].done);
		EXPECT(t, s[i].refused > 0);
	}
}

/* --- in use --------------------------------------------------------------- */

/*
 * Proves: CONNECT.wrong-state, ACCEPT.wrong-state, 5.3-IDLE-connect-busy-qp, 5.4-INCOMING-accept-busy-qp,
 * 12-wrong-state
 */
static void qp_in_use(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_object_header *h;
	struct sockaddr_storage from;
	struct t_await *w, *connect;
	struct ndk_connector *incoming;
	struct t_end *second = t_alloc(t, sizeof(*second));

	if (!p)
		return;
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return;
	t_end_copy(second, &p->a);
	second->connector = container_of(h, struct ndk_connector, header);
	t_addr(SIDE_A, AF_INET, 0, &from);
	/* A second connector on the QP of the first. */
	w = t_await(t, "connect with a QP in use");
	EXPECT_STATUS(t, t_wait(w, t_connect_call(second, &from, &p->listener->address, w)), -EISCONN);
	/* A second connect on a connector that is connected. */
	w = t_await(t, "connect on a connector in use");
	EXPECT_STATUS(t, t_wait(w, t_connect_call(&p->a, &from, &p->listener->address, w)), -EISCONN);
	/* An accept with a QP in use; another does. */
	if (!t_end_qp(second))
		return;
	connect = t_connect_start(second, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	w = t_await(t, "accept with a QP in use");
	EXPECT_STATUS(t, t_wait(w, ndk_accept(incoming, p->b.qp, 1, 1, NULL, 0, t_gone, &p->b, t_done, w)),
		      -EISCONN);
	EXPECT_STATUS(t, ndk_reject(incoming, NULL, 0), 0);
	EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
	t_ping(&p->a, &p->b);
}

static const struct t_case cases[] = {
	{ "connects_over_ipv4", connects, AF_INET },
	{ "connects_over_ipv6", connects, AF_INET6 },
	{ "connects_again_and_again", connects_many_times },
	{ "connect_waits_for_the_accept", connect_waits_for_accept },
	{ "accept_waits_for_the_completing", accept_waits_for_complete },
	{ "established_from_callbacks_alone", established_in_callbacks },
	{ "ex_forms_and_a_disconnect_by_the_passive_side", ex_forms, 0 },
	{ "ex_forms_and_a_disconnect_by_the_active_side", ex_forms, 1 },
	{ "without_disconnect_events", without_disconnect_event },
	{ "reject_by_the_passive_side_and_retry", passive_reject },
	{ "close_of_an_incoming_connector_is_a_reject", passive_close_is_a_reject },
	{ "reject_by_the_active_side", active_reject },
	{ "close_of_an_accepted_connector_is_a_reject", active_close_is_a_reject },
	{ "passive_side_gives_up_before_complete", passive_gives_up, 0 }, /* Proves: COMPLETE_CONNECT.wrong-state */
	{ "passive_side_gives_up_before_reject", passive_gives_up, 1 }, /* Proves: REJECT.wrong-state */
	{ "active_side_gives_up_before_accept", active_gives_up, 0 }, /* Proves: ACCEPT.wrong-state */
	{ "active_side_gives_up_before_reject", active_gives_up, 1 }, /* Proves: REJECT.wrong-state */
	{ "nobody_listens_and_retry", nobody_listens },
	{ "pause_and_resume", pause_and_resume },
	{ "paused_before_listen", paused_before_listen },
	{ "pause_spares_connections", pause_spares_connections },
	{ "sixteen_at_once", many_at_once },
	{ "listener_closed_under_a_stream_of_connects", stream_of_connects },
	{ "qp_or_connector_in_use_is_eisconn", qp_in_use },
};

T_GROUP(connect, cases);
