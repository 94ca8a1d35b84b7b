// SPDX-License-Identifier: GPL-2.0
/* How a connection comes about step by step, or is refused. */

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
};

T_GROUP(connect, cases);
