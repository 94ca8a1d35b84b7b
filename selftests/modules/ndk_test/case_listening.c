// SPDX-License-Identifier: GPL-2.0
/* Who listens: paused and resumed, for many connects at a time, closed under them; and what is in use already. */

#include <linux/kthread.h>

#include "ndk_test.h"

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
	{ "pause_and_resume", pause_and_resume },
	{ "paused_before_listen", paused_before_listen },
	{ "pause_spares_connections", pause_spares_connections },
	{ "sixteen_at_once", many_at_once },
	{ "listener_closed_under_a_stream_of_connects", stream_of_connects },
	{ "qp_or_connector_in_use_is_eisconn", qp_in_use },
};

T_GROUP(listening, cases);
