// SPDX-License-Identifier: GPL-2.0
/* The end of a connection in good order, and when only one side keeps it. */

#include "ndk_test.h"

/*
 * Proves: DISCONNECT.ok, DISCONNECT_EVENT_CALLBACK.ok, 5.5-CONNECTED-disconnect, 5.5-CONNECTED-peer-disconnect,
 * 5.5-PEER_GONE-disconnect, 5.5-DISCONNECTING-done, 5.10-event-whom, 5.10-once
 */
/* Bug: B116 */
static void one_after_the_other(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_end *first, *second;
	struct t_await *w1, *w2;

	if (!p)
		return;
	first = t->arg == SIDE_A ? &p->a : &p->b;
	second = t->arg == SIDE_A ? &p->b : &p->a;
	w1 = t_disconnect_start(first);
	if (!w1 || !t_wait_gone(second))
		return;
	/* It takes both, but on iWARP, where the peer's device answers by itself. */
	t_sleep(100);
	if (!world.iwarp)
		EXPECT(t, !t_is_done(w1));
	w2 = t_disconnect_start(second);
	if (!w2)
		return;
	EXPECT_STATUS(t, t_join(w2), 0);
	EXPECT_STATUS(t, t_join(w1), 0);
	/* The one who began hears nothing. */
	t_sleep(30);
	EXPECT_EQ(t, atomic_read(&first->gone), 0);
	EXPECT_EQ(t, atomic_read(&second->gone), 1);
}

/* Proves: DISCONNECT.ok, 5.5-DISCONNECTING-race */
/* Bug: B97 */
static void both_at_once(struct t *t)
{
	struct t_await *w1, *w2;
	struct t_pair *p;
	int i;

	for (i = 0; i < 6; i++) {
		p = t_pair(t, NULL);
		if (!p)
			return;
		w1 = t_disconnect_start(i % 2 ? &p->a : &p->b);
		w2 = t_disconnect_start(i % 2 ? &p->b : &p->a);
		if (!w1 || !w2)
			return;
		EXPECT_STATUS(t, t_join(w1), 0);
		EXPECT_STATUS(t, t_join(w2), 0);
	}
}

static struct t_await *answered;

static void answer(struct t_end *e)
{
	answered = t_disconnect_start(e);
}

/* Proves: DISCONNECT.softirq, DISCONNECT_EVENT_CALLBACK.softirq, 5.5-PEER_GONE-disconnect */
static void in_the_event(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_await *w;

	if (!p)
		return;
	answered = NULL;
	p->b.on_gone = answer;
	w = t_disconnect_start(&p->a);
	if (!w)
		return;
	EXPECT_STATUS(t, t_join(w), 0);
	if (EXPECT(t, answered))
		EXPECT_STATUS(t, t_join(answered), 0);
}

/* The event says that the peer wants to end, and cancels nothing: what the peer sent before is still received. */
/* Proves: 5.5-CONNECTED-peer-disconnect, 5.10-event-no-promise, 5.10-flush */
static void event_does_not_flush(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *in, *out;
	struct t_await *w, *w2;
	int i;

	if (!p)
		return;
	in = t_buf(&p->b, PAGE_SIZE);
	out = t_buf(&p->a, PAGE_SIZE);
	if (!in || !out)
		return;
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, t_post_receive(&p->b, i, in, 0, 64), 0);
	EXPECT_STATUS(t, t_post_send(&p->a, 1, out, 0, 64, 0), 0);
	t_take_ok(&p->a, p->a.icq, 1, NDK_OPERATION_SEND);
	w = t_disconnect_start(&p->a);
	if (!w || !t_wait_gone(&p->b))
		return;
	t_take_ok(&p->b, p->b.rcq, 0, NDK_OPERATION_RECEIVE);
	EXPECT(t, t_no_result(p->b.rcq, 100));
	/* The disconnect does. */
	w2 = t_disconnect_start(&p->b);
	if (!w2)
		return;
	EXPECT_STATUS(t, t_join(w2), 0);
	EXPECT_STATUS(t, t_join(w), 0);
	for (i = 1; i < 8; i++)
		t_take_status(&p->b, p->b.rcq, i, NDK_OPERATION_RECEIVE, -ECANCELED);
}

/* When it completes, everything that was outstanding has its result already. */
/* Proves: 5.5-DISCONNECTING-done, 5.10-waits, 5.10-flush */
static void nothing_moves_after_it(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_result_ex r[12];
	struct t_buf *in;
	struct t_await *w;
	u32 n;
	int i;

	if (!p)
		return;
	in = t_buf(&p->a, PAGE_SIZE);
	if (!in)
		return;
	for (i = 0; i < 10; i++)
		EXPECT_STATUS(t, t_post_receive(&p->a, i, in, 0, 64), 0);
	w = t_disconnect_start(&p->a);
	if (!w || !t_wait_gone(&p->b))
		return;
	t_close_start(t, &p->b.connector->header);
	EXPECT_STATUS(t, t_join(w), 0);
	n = ndk_get_cq_results_ex(p->a.rcq->cq, r, ARRAY_SIZE(r));
	EXPECT_EQ(t, n, 10);
	for (i = 0; i < n; i++)
		EXPECT_STATUS(t, r[i].status, -ECANCELED);
}

/* Proves: DISCONNECT.wrong-state, DISCONNECT.bad-argument, 5.5-DISCONNECTING-again, 5.5-any-disconnect */
static void twice(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_await *w, *again;

	if (!p)
		return;
	w = t_disconnect_start(&p->a);
	if (!w)
		return;
	again = t_await(t, "disconnect again");
	EXPECT_STATUS(t, ndk_disconnect(p->a.connector, t_done, again), -ENOTCONN);
	if (!t_wait_gone(&p->b))
		return;
	t_close(t, &p->b.connector->header);
	EXPECT_STATUS(t, t_join(w), 0);
	EXPECT_STATUS(t, ndk_disconnect(p->a.connector, t_done, again), -ENOTCONN);
	EXPECT_STATUS(t, ndk_disconnect(p->a.connector, NULL, again), -EINVAL);
}

/* Proves: CONNECT.wrong-state, 5.10-no-reuse */
static void never_used_again(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct sockaddr_storage from;
	struct t_await *w, *again;
	int rc;

	if (!p)
		return;
	w = t_disconnect_start(&p->a);
	if (!w || !t_wait_gone(&p->b))
		return;
	t_close(t, &p->b.connector->header);
	EXPECT_STATUS(t, t_join(w), 0);
	t_addr(SIDE_A, AF_INET, 0, &from);
	again = t_await(t, "connect after a disconnect");
	rc = t_wait(again, t_connect_call(&p->a, &from, &p->listener->address, again));
	EXPECT(t, rc == -ENOTCONN || rc == -EISCONN);
	EXPECT(t, t_nothing_incoming(p->listener, 50));
	/* Nothing of it can be asked to go on. */
	EXPECT_STATUS(t, ndk_reject(p->a.connector, NULL, 0), -ENOTCONN);
	EXPECT_STATUS(t, ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, again), -ENOTCONN);
}

/* The QP breaks: both ends hear of it, and each once. */
/* Proves: DISCONNECT_EVENT_CALLBACK.ok, 5.5-CONNECTED-abort, 5.10-once, 7.2-error-ends */
static void broken_by_an_error(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *out;
	struct t_await *w;

	if (!p)
		return;
	out = t_buf(&p->a, 64);
	if (!out)
		return;
	EXPECT_STATUS(t, t_post_write(&p->a, 1, out, 0, 64, 0x1000, 0x12345678, 0), 0);
	t_refused(&p->a, p->a.icq, 1, NDK_OPERATION_WRITE);
	t_wait_gone(&p->a);
	t_wait_gone(&p->b);
	t_sleep(100);
	EXPECT_EQ(t, atomic_read(&p->a.gone), 1);
	EXPECT_EQ(t, atomic_read(&p->b.gone), 1);
	/* There is nothing left to be graceful about. */
	w = t_await(t, "disconnect after an error");
	t_wait(w, ndk_disconnect(p->a.connector, t_done, w));
}

/* Traffic, and a peer of which no packet comes any more: the retries end, and the consumer hears of it. */
/* Proves: DISCONNECT_EVENT_CALLBACK.ok, 5.5-CONNECTED-abort */
static void broken_by_silence(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_result_ex r;
	struct t_buf *out;

	if (!p)
		return;
	out = t_buf(&p->a, 64);
	if (!out || t_host(t, "silence"))
		return;
	EXPECT_STATUS(t, t_post_send(&p->a, 1, out, 0, 64, 0), 0);
	if (t_try_take(p->a.icq, &r, 30000 * t_scale))
		EXPECT_STATUS(t, r.status, -ETIMEDOUT);
	else
		t_fail(t, "no result");
	t_wait_gone(&p->a);
	t_host(t, "unsilence");
}

static const struct t_case cases[] = {
	{ "active_side_first", one_after_the_other, SIDE_A },
	{ "passive_side_first", one_after_the_other, SIDE_B },
	{ "both_at_once", both_at_once },
	{ "answered_in_the_event", in_the_event },
	{ "event_does_not_flush", event_does_not_flush },
	{ "nothing_moves_after_the_completion", nothing_moves_after_it },
	{ "second_disconnect_is_enotconn", twice },
	{ "disconnected_is_never_used_again", never_used_again },
	{ "error_ends_the_connection_on_both_sides", broken_by_an_error },
	{ "silence_under_traffic_ends_the_connection", broken_by_silence },
};

T_GROUP(disconnect, cases);
