// SPDX-License-Identifier: GPL-2.0
/* SRQs: what ends when, and what becomes of their receives. */

#include <linux/delay.h>

#include "ndk_test.h"

/* --- QPs that end --------------------------------------------------------- */

/* Proves: 7.6-srq, FLUSH.ok */
static void flush(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);

	if (!s || !t_shared_fill(s, 0, 6))
		return;
	ndk_flush(s->b[0].qp);
	EXPECT(t, t_no_result(s->b[0].rcq, 50));
	t_shared_still_there(s, 1, 0, 6);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
}

/* Proves: 7.6-srq, DISCONNECT.ok, 3.1-QP, CLOSE_OBJECT.ok */
static void disconnect(struct t *t)
{
	struct t_shared *s = t_shared(t, 3, 16, 0);
	struct t_await *w[2];
	unsigned long start;
	int i;

	if (!s || !t_shared_fill(s, 0, 6) || !t_shared_still_there(s, 0, 0, 1) || !t_shared_still_there(s, 1, 1, 1))
		return;
	start = jiffies;
	for (i = 0; i < 2; i++) {
		/* From either side. */
		w[0] = t_disconnect_start(i ? &s->a[i] : &s->b[i]);
		if (!w[0] || !t_wait_gone(i ? &s->b[i] : &s->a[i]))
			return;
		w[1] = t_disconnect_start(i ? &s->b[i] : &s->a[i]);
		if (!w[1])
			return;
		EXPECT_STATUS(t, t_join(w[0]), 0);
		EXPECT_STATUS(t, t_join(w[1]), 0);
		t_close(t, &s->b[i].connector->header);
		t_close(t, &s->b[i].qp->header);
		EXPECT(t, t_no_result(s->b[i].rcq, 0));
	}
	/* Nothing had to be waited for. */
	if (time_after(jiffies, start + t_ticks(4)))
		t_fail(t, "two disconnects took %u ms", jiffies_to_msecs(jiffies - start));
	t_shared_still_there(s, 2, 2, 4);
}

/* What a QP has received is the consumer's, also when the QP is gone before it looks. */
/* Proves: 8.5-results, 3.1-QP */
/* Bug: B55 */
static void results_of_closed_qp(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	unsigned long i;

	if (!s || !t_shared_fill(s, 0, 12))
		return;
	for (i = 0; i < 8; i++)
		if (!t_shared_send(s, i % 2, i))
			return;
	if (t->arg)
		ndk_flush(s->b[0].qp);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	for (i = 0; i < 8; i++)
		t_shared_got(s, i % 2, i, i);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
	t_shared_still_there(s, 1, 8, 4);
}

/* Proves: 7.2-receive-too-small, 7.2-error-ends, 7.6-srq */
static void too_large_a_message(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	struct ndk_result_ex r;
	struct t_buf *large;

	if (!s || !t_shared_fill(s, 0, 5))
		return;
	large = t_buf(&s->a[0], 3 * PAGE_SIZE);
	if (!large)
		return;
	memset(s->in->va + T_MESSAGE, 0xee, T_MESSAGE);
	EXPECT_STATUS(t, t_post_send(&s->a[0], 1, large, 0, 3 * PAGE_SIZE, 0), 0);
	/* Some devices say no more than that the request was not in order. */
	if (t_take(s->b[0].rcq, &r) && r.status != -EBADRQC)
		EXPECT_STATUS(t, r.status, -EOVERFLOW);
	EXPECT_EQ(t, (long)r.request_context, 0);
	EXPECT(t, r.qp_context == &s->b[0]);
	t_wait_gone(&s->b[0]);
	t_wait_gone(&s->a[0]);
	t_check_byte(t, s->in->va + T_MESSAGE, T_MESSAGE, 0xee, "behind the receive");
	EXPECT_EQ(t, atomic_read(&s->b[1].gone), 0);
	t_shared_still_there(s, 1, 1, 4);
}

/*
 * The sender goes when a part of its message is there. What has become of the receive is the device's affair; the others are
 * there for everybody else, and no byte of the broken message is.
 */
/* Proves: 7.2-error-ends, 7.6-srq, 3.1-QP */
static void message_breaks_off(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	unsigned long end = jiffies + t_ticks(10);
	unsigned int left = 15, i;
	struct ndk_result_ex r;
	struct t_buf *in, *out;

	if (!s)
		return;
	in = t_buf(&s->b[0], SZ_64K);
	out = t_buf(&s->a[0], SZ_64K);
	if (!in || !out)
		return;
	memset(in->va, 0, SZ_64K);
	memset(out->va, 0x5a, SZ_64K);
	EXPECT_STATUS(t, t_post_srq(s->srq, 100, in, 0, SZ_64K), 0);
	if (!t_shared_fill(s, 0, 15) || t_host(t, "netem a rate 1mbit"))
		return;
	EXPECT_STATUS(t, t_post_send(&s->a[0], 1, out, 0, SZ_64K, 0), 0);
	while (READ_ONCE(*(u8 *)in->va) != 0x5a && time_before(jiffies, end))
		t_sleep(1);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
	EXPECT_EQ(t, READ_ONCE(*(u8 *)in->va), 0x5a);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	t_host(t, "netem_off a");
	if (ndk_get_cq_results_ex(s->b[0].rcq->cq, &r, 1)) {
		EXPECT_STATUS(t, r.status, -ECANCELED);
		EXPECT_EQ(t, (long)r.request_context, 100);
		EXPECT(t, r.qp_context == &s->b[0]);
	}
	for (i = 0; i < left; i++)
		if (!t_shared_send(s, 1, i) || !t_shared_got(s, 1, i, i))
			return;
	/* All have been there and back, so all can be posted again. */
	t_shared_fill(s, 0, 15);
}

/* Proves: 7.2-empty-srq, 3.9, CLOSE_OBJECT.close-pending */
static void closed_with_a_message_waiting(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	struct ndk_result_ex r;

	if (!s)
		return;
	EXPECT_STATUS(t, t_post_send(&s->a[0], 1, s->out[0], 0, T_MESSAGE, 0), 0);
	t_sleep(30);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	if (t_take(s->a[0].icq, &r))
		EXPECT(t, r.status);
	t_wait_gone(&s->a[0]);
	if (t_shared_fill(s, 0, 2))
		t_shared_still_there(s, 1, 0, 2);
}

/* --- the SRQ ends --------------------------------------------------------- */

/* Proves: 3.1-SRQ, SRQ_RECEIVE.close-pending, 3.9 */
static void receives_are_dropped(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 16, 0);
	struct t_await *w;

	if (!s || !t_shared_fill(s, 0, 16) || !t_shared_still_there(s, 0, 0, 4))
		return;
	w = t_close_start(t, &s->srq->srq->header);
	t_sleep(30);
	EXPECT(t, w->pending && !t_is_done(w));
	/* Its QP goes on with what is there. */
	t_shared_still_there(s, 0, 4, 4);
	t_close(t, &s->b[0].connector->header);
	EXPECT(t, !t_is_done(w));
	t_close(t, &s->b[0].qp->header);
	t_join(w);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
}

/* Proves: CREATE_SRQ.close-pending, CREATE_QP_WITH_SRQ.close-pending, MODIFY_SRQ.close-pending, 3.6, 3.8, 2.4-pending */
static void closed_while_pending(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_await *w, *modify, *closing[2];
	struct t_srq *s;
	void *out;
	int rc, status, i;

	for (i = 0; i < 5; i++) {
		if (!t_end_init(t, e, SIDE_A, NULL))
			return;
		s = t_srq(e, 16, 0);
		if (!s)
			return;
		e->srq = s->srq;
		out = t_poison();
		modify = t_await(t, "modify SRQ");
		if (!t_pended(modify, ndk_modify_srq(s->srq, 8, 0, t_done, modify)))
			return;
		w = t_await(t, "create QP with SRQ");
		rc = t_create_call(e, KIND_QP, w, &out);
		closing[0] = t_close_start(t, &s->srq->header);
		h = t_create_end(e, KIND_QP, w, rc, &out, &status);
		if (h) {
			t_sleep(10);
			EXPECT(t, !t_is_done(closing[0]));
			t_close(t, h);
		}
		t_join(closing[0]);
		EXPECT(t, t_is_done(modify));
		rc = t_join(modify);
		if (rc)
			EXPECT_STATUS(t, rc, -ECANCELED);
		out = t_poison();
		e->srq = NULL;
		w = t_await(t, "create SRQ");
		rc = t_create_call(e, KIND_SRQ, w, &out);
		closing[1] = t_close_start(t, &e->pd->header);
		h = t_create_end(e, KIND_SRQ, w, rc, &out, &status);
		if (h) {
			t_sleep(10);
			EXPECT(t, !t_is_done(closing[1]));
			t_close(t, h);
		}
		t_join(closing[1]);
	}
}

struct inside {
	struct t_await *closing;
	struct completion begun;
	bool left;
};

static void close_in_notification(struct t_srq *s)
{
	struct inside *i = s->arg;

	i->closing = t_close_start(s->t, &s->srq->header);
	mdelay(20);
	EXPECT(s->t, !t_is_done(i->closing));
	WRITE_ONCE(i->left, true);
}

static void linger(struct t_srq *s)
{
	struct inside *i = s->arg;

	complete(&i->begun);
	mdelay(30);
	WRITE_ONCE(i->left, true);
}

static void after_it_left(struct t_await *w)
{
	struct inside *i = w->arg;

	EXPECT(w->t, READ_ONCE(i->left));
}

/* Proves: SRQ_NOTIFICATION_CALLBACK.close-pending, 3.10, 3.4, 3.1-SRQ, CLOSE_OBJECT.softirq */
static void closed_in_its_notification(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct inside *i = t_alloc(t, sizeof(*i));
	struct t_await *modify;
	struct t_srq *s;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	init_completion(&i->begun);
	s = t_srq(e, 16, 0);
	if (!s)
		return;
	s->arg = i;
	s->then = close_in_notification;
	modify = t_await(t, "modify SRQ");
	if (!t_pended(modify, ndk_modify_srq(s->srq, 0, 4, t_done, modify)))
		return;
	t_srq_low(s);
	if (EXPECT(t, i->closing))
		t_join(i->closing);
	EXPECT_STATUS(t, t_join(modify), 0);

	i->left = false;
	s = t_srq(e, 16, 0);
	if (!s)
		return;
	s->arg = i;
	s->then = linger;
	EXPECT_STATUS(t, t_srq_modify(s, 0, 4), 0);
	if (!wait_for_completion_timeout(&i->begun, t_ticks(10))) {
		t_fail(t, "the SRQ does not notify");
		return;
	}
	t_join(t_close_then(t, &s->srq->header, after_it_left, i));
}

static void close_in_completion(struct t_await *w)
{
	struct t_srq *s = w->arg;
	struct inside *i = s->arg;

	i->closing = t_close_start(w->t, &s->srq->header);
}

/* Proves: 3.4, 3.2, REQUEST_COMPLETION.close-pending */
static void closed_in_the_completion_of_modify(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct inside *i = t_alloc(t, sizeof(*i));
	struct t_await *w;
	struct t_srq *s;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s = t_srq(e, t_srq_start(16, 32), 0);
	if (!s)
		return;
	s->arg = i;
	w = t_await(t, "modify SRQ");
	w->then = close_in_completion;
	w->arg = s;
	EXPECT_STATUS(t, t_wait(w, ndk_modify_srq(s->srq, 32, 0, t_done, w)), 0);
	if (EXPECT(t, i->closing))
		t_join(i->closing);
}

/* Proves: 3.8, SRQ_NOTIFICATION_CALLBACK.wrong-state */
static void silent_after_its_close(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 16, 0);
	struct t_await *w;

	if (!s || !t_shared_fill(s, 0, 4))
		return;
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 3), 0);
	w = t_close_start(t, &s->srq->srq->header);
	t_shared_still_there(s, 0, 0, 4);
	t_srq_silent(s->srq, 30);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	t_join(w);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 0);
}

static const struct t_case cases[] = {
	{ "flush_leaves_receives_alone", flush },
	{ "disconnect_leaves_receives_alone", disconnect },
	{ "results_outlive_their_qp", results_of_closed_qp, false },
	{ "results_outlive_their_flushed_qp", results_of_closed_qp, true },
	{ "message_too_large_ends_one_connection", too_large_a_message },
	{ "message_breaks_off", message_breaks_off },
	{ "qp_closed_with_a_message_waiting", closed_with_a_message_waiting },
	{ "srq_closed_before_its_qp", receives_are_dropped },
	{ "closed_while_requests_pend", closed_while_pending },
	{ "closed_in_its_notification", closed_in_its_notification },
	{ "closed_in_the_completion_of_modify", closed_in_the_completion_of_modify },
	{ "silent_after_its_close", silent_after_its_close },
};

T_GROUP(srq_life, cases);
