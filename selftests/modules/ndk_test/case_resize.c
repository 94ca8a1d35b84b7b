// SPDX-License-Identifier: GPL-2.0
/* CQs that become larger and smaller, under QPs and traffic. */

#include <linux/delay.h>
#include <linux/kthread.h>

#include "cqt.h"

/* A CQ for which the device's CQ of a small one is too small, whatever that was rounded up to. */
#define LARGE 600

static struct cqt *small(struct t *t)
{
	const struct t_cfg cfg = { .depth = 32, .cq_depth = 64 };

	return cqt_setup(t, &cfg);
}

/* As cqt_deliver(), to another connection. */
static bool send_to(struct cqt *c, struct t_end *a, struct t_end *b, unsigned long ctx, u32 flags)
{
	return EXPECT_STATUS(c->t, t_post_receive(a, ctx, c->in, 0, CQT_LEN), 0) &&
	       EXPECT_STATUS(c->t, t_post_send(b, ctx, c->out, 0, CQT_LEN, flags), 0) &&
	       t_take_ok(b, b->icq, ctx, NDK_OPERATION_SEND);
}

static bool deliver_to(struct cqt *c, struct t_end *a, struct t_end *b, unsigned long ctx, u32 flags)
{
	return send_to(c, a, b, ctx, flags) && t_arrived(b);
}

/* Proves: RESIZE_CQ.bad-argument */
static void arguments(struct t *t)
{
	struct cqt *c = small(t);
	struct ndk_adapter_info info;

	if (!c)
		return;
	info = t_info(t, c->p->a.adapter);
	EXPECT(t, info.adapter_flags & NDK_ADAPTER_FLAG_CQ_RESIZE);
	EXPECT_STATUS(t, t_resize(c->cq, 0), -EINVAL);
	EXPECT_STATUS(t, t_resize(c->cq, info.max_cq_depth + 1), -EINVAL);
	EXPECT_STATUS(t, t_resize(c->cq, U32_MAX), -EINVAL);
	EXPECT_STATUS(t, ndk_resize_cq(c->cq->cq, 32, NULL, NULL), -EINVAL);
	t_ping(&c->p->b, &c->p->a);
	EXPECT_STATUS(t, t_resize(c->cq, info.max_cq_depth), 0);
	EXPECT_STATUS(t, t_resize(c->cq, 1), 0);
	EXPECT_STATUS(t, t_resize(c->cq, 64), 0);
	t_ping(&c->p->b, &c->p->a);
}

/* Proves: RESIZE_CQ.softirq */
static void any_context(struct t *t)
{
	struct cqt *c = small(t);
	struct t_await *w = t_await(t, "resize CQ");
	int rc;

	if (!c)
		return;
	spin_lock_bh(&t_consumer_lock);
	rc = ndk_resize_cq(c->cq->cq, LARGE, t_done, w);
	spin_unlock_bh(&t_consumer_lock);
	EXPECT_STATUS(t, t_wait(w, rc), 0);
}

/*
 * As many completions as the new depth wait in it.
 * Proves: RESIZE_CQ.ok
 */
static void unused_cq_holds_more(struct t *t)
{
	const struct t_cfg cfg = { .depth = LARGE, .cq_depth = 8 };
	struct cqt *c = t_alloc(t, sizeof(*c));
	int i;

	c->t = t;
	c->p = t_pair_unconnected(t, &cfg);
	if (!c->p)
		return;
	t_close(t, &c->p->a.qp->header);
	c->cq = c->p->a.rcq;
	/* Back and forth: the last counts. */
	for (i = 1; i <= 3; i++)
		if (!EXPECT_STATUS(t, t_resize(c->cq, i * LARGE), 0) || !EXPECT_STATUS(t, t_resize(c->cq, i), 0))
			return;
	EXPECT_STATUS(t, t_resize(c->cq, LARGE), 0);
	if (!t_end_qp(&c->p->a) || !t_establish(&c->p->a, c->p->listener, &c->p->b))
		return;
	c->in = t_buf(&c->p->a, PAGE_SIZE);
	c->out = t_buf(&c->p->b, PAGE_SIZE);
	for (i = 0; c->in && c->out && i < LARGE; i++)
		if (!cqt_send(c, 0))
			return;
	if (!t_arrived(&c->p->b))
		return;
	t_drain(c->cq, LARGE, 0);
}

/* --- a second CQ on the device -------------------------------------------- */

struct two {
	struct cqt *c;
	struct t_end a, b;
};

/* One QP from before, one from after. */
static struct two *two(struct t *t)
{
	struct two *w = t_alloc(t, sizeof(*w));

	w->c = small(t);
	if (!w->c || !EXPECT_STATUS(t, t_resize(w->c->cq, LARGE), 0) || !cqt_second(w->c->p, &w->a, &w->b))
		return NULL;
	return w;
}

/* Proves: RESIZE_CQ.ok, 7.2-order */
static void both_are_polled(struct t *t)
{
	struct two *w = two(t);
	struct ndk_result_ex r;
	int i, first = 0, second = 0;

	if (!w)
		return;
	for (i = 0; i < 20; i++)
		if (!cqt_deliver(w->c, 0) || !deliver_to(w->c, &w->a, &w->b, 101 + i, 0))
			return;
	for (i = 0; i < 40; i++) {
		if (!t_take(w->c->cq, &r) || !EXPECT_STATUS(t, r.status, 0))
			return;
		if (r.qp_context == &w->c->p->a)
			EXPECT_EQ(t, (long)r.request_context, ++first);
		else
			EXPECT_EQ(t, (long)r.request_context, 101 + second++);
	}
	EXPECT_EQ(t, first, 20);
	EXPECT_EQ(t, second, 20);
	EXPECT(t, t_no_result(w->c->cq, 20));
	/* Each is polled first in its turn: with one place the two alternate. */
	for (i = 0; i < 8; i++)
		if (!cqt_deliver(w->c, 0) || !deliver_to(w->c, &w->a, &w->b, 201, 0))
			return;
	for (i = 0, first = 0; i < 8; i++)
		if (EXPECT_EQ(t, ndk_get_cq_results_ex(w->c->cq->cq, &r, 1), 1) && r.qp_context == &w->c->p->a)
			first++;
	EXPECT_EQ(t, first, 4);
	t_drain(w->c->cq, 8, 0);
}

/*
 * What is armed is armed on both, and answered by either, once.
 * Proves: 7.4-one-shot, 7.4-fires, 7.4-new-since
 */
static void both_are_armed(struct t *t)
{
	struct two *w = two(t);
	int round;

	for (round = 0; w && round < 6; round++) {
		/* Before or after the arm, to the one or the other. */
		if (round >= 4)
			ndk_arm_cq(w->c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!(round & 1 ? cqt_deliver(w->c, 0) : deliver_to(w->c, &w->a, &w->b, 1, 0)))
			return;
		if (round < 4)
			ndk_arm_cq(w->c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!cqt_notified(w->c) || !cqt_deliver(w->c, 0) || !deliver_to(w->c, &w->a, &w->b, 1, 0))
			return;
		if (!cqt_quiet(w->c))
			return;
		EXPECT_EQ(t, atomic_read(&w->c->cq->calls), round + 1);
		cqt_empty(w->c);
	}
}

/* The arm was there before the CQ on the device was. */
static void armed_before(struct t *t)
{
	struct two *w = t_alloc(t, sizeof(*w));
	bool solicited = t->arg == NDK_CQ_NOTIFY_SOLICITED;

	w->c = small(t);
	if (!w->c)
		return;
	ndk_arm_cq(w->c->cq->cq, t->arg);
	if (!EXPECT_STATUS(t, t_resize(w->c->cq, LARGE), 0) || !cqt_second(w->c->p, &w->a, &w->b))
		return;
	if (solicited && (!deliver_to(w->c, &w->a, &w->b, 1, 0) || !cqt_deliver(w->c, 0)))
		return;
	if (!(solicited ? cqt_unsolicited(w->c) : cqt_quiet(w->c)))
		return;
	if (deliver_to(w->c, &w->a, &w->b, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) && cqt_notified(w->c))
		EXPECT_EQ(t, atomic_read(&w->c->cq->calls), 1);
}

/* Completions of both are counted together. */
static void both_are_moderated(struct t *t)
{
	struct two *w = two(t);

	if (!w)
		return;
	EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(w->c->cq->cq, U32_MAX, 5), 0);
	ndk_arm_cq(w->c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!cqt_deliver(w->c, 0) || !deliver_to(w->c, &w->a, &w->b, 1, 0) || !cqt_deliver(w->c, 0) ||
	    !deliver_to(w->c, &w->a, &w->b, 1, 0) || !cqt_quiet(w->c))
		return;
	if (deliver_to(w->c, &w->a, &w->b, 1, 0) && cqt_notified(w->c))
		t_drain(w->c->cq, 5, 0);
}

/* All that both QPs may have waits in the CQ, and none is lost. */
static void holds_what_both_have(struct t *t)
{
	struct two *w = t_alloc(t, sizeof(*w));
	struct t_pair *p;
	int i;

	w->c = small(t);
	if (!w->c || !EXPECT_STATUS(t, t_resize(w->c->cq, LARGE), 0))
		return;
	p = w->c->p;
	p->a.cfg.depth = LARGE - 32;
	p->b.cfg.depth = LARGE - 32;
	if (!cqt_second(p, &w->a, &w->b))
		return;
	for (i = 0; i < 32; i++)
		if (!cqt_send(w->c, 0))
			return;
	for (i = 0; i < LARGE - 32; i++)
		if (!send_to(w->c, &w->a, &w->b, 1, 0))
			return;
	if (t_arrived(&p->b) && t_arrived(&w->b) && t_drain(w->c->cq, LARGE, 0))
		EXPECT(t, t_no_result(w->c->cq, 20));
}

/* The QP goes, with results that nobody took; what came after goes on. */
static void first_qp_goes(struct t *t)
{
	struct two *w = two(t);
	struct t_end *a;
	int i;

	if (!w)
		return;
	a = &w->c->p->a;
	for (i = 0; i < 4; i++)
		if (!cqt_deliver(w->c, 0) || !deliver_to(w->c, &w->a, &w->b, 11 + i, 0))
			return;
	EXPECT_STATUS(t, t_post_receive(a, 5, w->c->in, 0, CQT_LEN), 0);
	t_close(t, &a->connector->header);
	t_close(t, &a->qp->header);
	/* Those of the closed one were taken out when it went. */
	for (i = 0; i < 9; i++) {
		struct ndk_result_ex r;

		if (!t_take(w->c->cq, &r))
			return;
		EXPECT_STATUS(t, r.status, r.qp_context == a && (long)r.request_context == 5 ? -ECANCELED : 0);
	}
	ndk_arm_cq(w->c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_to(w->c, &w->a, &w->b, 1, 0) || !wait_for_completion_timeout(&w->c->cq->notified, t_ticks(5)))
		t_fail(t, "the second QP is not heard of");
	t_drain(w->c->cq, 1, 0);
	/* And once more, with nobody on the first. */
	EXPECT_STATUS(t, t_resize(w->c->cq, 2 * LARGE), 0);
	t_ping(&w->b, &w->a);
}

/* --- smaller -------------------------------------------------------------- */

/* Proves: 8.4-resize-busy */
static void not_below_what_is_queued(struct t *t)
{
	struct cqt *c = small(t);
	int i;

	if (!c)
		return;
	for (i = 0; i < 10; i++)
		if (!cqt_deliver(c, 0))
			return;
	EXPECT_STATUS(t, t_resize(c->cq, 9), -EOVERFLOW);
	EXPECT_STATUS(t, t_resize(c->cq, 1), -EOVERFLOW);
	/* Unchanged: more of them fit. */
	for (i = 0; i < 10; i++)
		if (!cqt_deliver(c, 0))
			return;
	EXPECT_STATUS(t, t_resize(c->cq, 20), 0);
	for (i = 1; i <= 10; i++)
		t_take_ok_now(&c->p->a, c->cq, i);
	EXPECT_STATUS(t, t_resize(c->cq, 9), -EOVERFLOW);
	EXPECT_STATUS(t, t_resize(c->cq, 10), 0);
	for (; i <= 20; i++)
		t_take_ok_now(&c->p->a, c->cq, i);
	EXPECT(t, t_no_result(c->cq, 20));
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 0);
}

/* QPs for more than the CQ on the device holds: to grow under them would promise what cannot be kept. */
#define FLOOD 1200

static void more_than_can_be_kept(struct t *t)
{
	const struct t_cfg cfg = { .depth = FLOOD, .cq_depth = 8, .sge = 1 };
	struct cqt *c = cqt_setup(t, &cfg);

	if (!c)
		return;
	EXPECT_STATUS(t, t_resize(c->cq, FLOOD), -ENOMEM);
	EXPECT_STATUS(t, t_resize(c->cq, 4), 0);
	EXPECT_STATUS(t, t_resize(c->cq, FLOOD), -ENOMEM);
	/* As if nothing had been. */
	t_ping(&c->p->b, &c->p->a);
	t_close(t, &c->p->a.connector->header);
	t_close(t, &c->p->a.qp->header);
	EXPECT_STATUS(t, t_resize(c->cq, FLOOD), 0);
}

/*
 * More than the depth is an overrun all the same, on whichever it is.
 * Proves: 7.4-fault-latched, 7.2-cq-fault
 */
static void overrun(struct t *t)
{
	const struct t_cfg cfg = { .depth = 4 * FLOOD, .cq_depth = 64, .sge = 1 };
	struct cqt *c = small(t);
	struct t_end *a = t_alloc(t, sizeof(*a)), *b = t_alloc(t, sizeof(*b));
	int i;

	if (!c || !EXPECT_STATUS(t, t_resize(c->cq, LARGE), 0))
		return;
	*a = c->p->a;
	*b = c->p->b;
	a->cfg.depth = cfg.depth;
	b->cfg.depth = cfg.depth;
	b->icq = t_cq(b, 2 * cfg.depth);
	a->connector = NULL;
	b->connector = NULL;
	init_completion(&a->gone_done);
	init_completion(&b->gone_done);
	if (!b->icq || !t_end_qp(a) || !t_end_qp(b) || !t_establish(a, c->p->listener, b))
		return;
	for (i = 0; i < cfg.depth; i++)
		if (!EXPECT_STATUS(t, t_post_receive(a, i, c->in, 0, CQT_LEN), 0))
			return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ERRORS);
	for (i = 0; i < cfg.depth; i++)
		t_post_send(b, i, c->out, 0, CQT_LEN, 0);
	if (EXPECT(t, wait_for_completion_timeout(&c->cq->notified, t_ticks(20))))
		EXPECT_STATUS(t, c->cq->status, -EOVERFLOW);
	/* All QPs of the CQ are dead, also those on the other. */
	t_wait_gone(a);
	t_wait_gone(&c->p->a);
}

/* --- under traffic -------------------------------------------------------- */

#define MESSAGES 3000
#define WINDOW 16

struct flow {
	struct two *w;
	struct t_end *a, *b;
	unsigned int sent, acked, received;
	struct task_struct *task;
	atomic_t over;
};

/* Posts what there is a receive for, takes the peer's results; false when it is over. */
static bool flow_step(struct flow *f)
{
	struct cqt *c = f->w->c;
	struct ndk_result_ex r;

	while (ndk_get_cq_results_ex(f->b->icq->cq, &r, 1)) {
		f->acked++;
		if (!EXPECT_STATUS(c->t, r.status, 0))
			return false;
	}
	/* The receive of the last message that came may not have been posted anew yet. */
	while (f->sent < MESSAGES && f->sent - f->acked < WINDOW && f->sent - READ_ONCE(f->received) < WINDOW - 1) {
		f->sent++;
		if (!EXPECT_STATUS(c->t, t_post_send(f->b, f->sent, c->out, 0, CQT_LEN, 0), 0))
			return false;
	}
	return f->acked < MESSAGES && !atomic_read(&f->over);
}

static int flow_thread(void *arg)
{
	struct flow *f = arg;

	while (flow_step(f))
		usleep_range(20, 60);
	atomic_set(&f->over, 1);
	while (!kthread_should_stop())
		usleep_range(200, 400);
	return 0;
}

static void receive(struct flow *f, struct t_cq *cq)
{
	struct cqt *c = f->w->c;
	struct ndk_result_ex r[8];
	u32 n, i;

	do {
		n = ndk_get_cq_results_ex(cq->cq, r, ARRAY_SIZE(r));
		for (i = 0; i < n; i++) {
			/* A flushed receive that is posted anew is flushed again, for ever. */
			if (!EXPECT_STATUS(c->t, r[i].status, 0)) {
				atomic_set(&f->over, 1);
				return;
			}
			EXPECT_EQ(c->t, (long)r[i].request_context, f->received + 1);
			WRITE_ONCE(f->received, f->received + 1);
			EXPECT_STATUS(c->t, t_post_receive(f->a, f->received + WINDOW, c->in, 0, CQT_LEN), 0);
		}
	} while (n == ARRAY_SIZE(r));
}

static void receive_notified(struct t_cq *cq)
{
	receive(cq->arg, cq);
	ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
}

static int poll_thread(void *arg)
{
	struct flow *f = arg;

	while (!kthread_should_stop()) {
		receive(f, f->w->c->cq);
		usleep_range(20, 60);
	}
	return 0;
}

/*
 * Nothing is lost and nothing comes twice or out of order while the CQ changes all the time.
 * Proves: 8.4-resize
 */
/* Bug: B30 */
static void under_traffic(struct t *t)
{
	struct flow *f = t_alloc(t, sizeof(*f));
	struct task_struct *poller = NULL;
	unsigned long end;
	unsigned int i, resizes = 0;

	f->w = two(t);
	if (!f->w)
		return;
	/* On the older one on the device, or on the newest. */
	f->a = t->arg & 1 ? &f->w->a : &f->w->c->p->a;
	f->b = t->arg & 1 ? &f->w->b : &f->w->c->p->b;
	for (i = 1; i <= WINDOW; i++)
		if (!EXPECT_STATUS(t, t_post_receive(f->a, i, f->w->c->in, 0, CQT_LEN), 0))
			return;
	f->w->c->cq->arg = f;
	if (t->arg & 2)
		poller = kthread_run(poll_thread, f, "ndk_test_poll");
	else
		f->w->c->cq->then = receive_notified;
	f->task = kthread_run(flow_thread, f, "ndk_test_flow");
	if (!EXPECT(t, !IS_ERR_OR_NULL(f->task) && !IS_ERR(poller)))
		return;
	if (!poller)
		ndk_arm_cq(f->w->c->cq->cq, NDK_CQ_NOTIFY_ANY);
	end = jiffies + t_ticks(20);
	while (!atomic_read(&f->over) && time_before(jiffies, end)) {
		static const u32 depths[] = { 64, LARGE, 2 * LARGE, 40, 3 * LARGE, 64 };
		struct t_end *more = t_alloc(t, sizeof(*more));

		EXPECT_STATUS(t, t_resize(f->w->c->cq, depths[resizes % ARRAY_SIZE(depths)]), 0);
		/* QPs that come and go keep the list moving. */
		if (resizes++ < 40) {
			*more = f->w->c->p->a;
			if (!t_end_qp(more))
				break;
			if (resizes % 4)
				t_close(t, &more->qp->header);
		}
	}
	atomic_set(&f->over, 1);
	kthread_stop(f->task);
	for (i = 0; i < 200 && READ_ONCE(f->received) < f->acked; i++)
		t_sleep(10);
	if (poller)
		kthread_stop(poller);
	t_cq_stop(f->w->c->cq);
	EXPECT_EQ(t, f->acked, MESSAGES);
	EXPECT_EQ(t, f->received, MESSAGES);
	if (resizes < 5)
		t_fail(t, "only %u resizes", resizes);
}

/* --- close, removal ------------------------------------------------------- */

/* Proves: RESIZE_CQ.close-pending */
static void closed_while_pending(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_await *w[6], *closed;
	struct t_cq *cq;
	int round, i, rc;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (round = 0; round < 10; round++) {
		cq = t_cq(e, 8);
		if (!cq)
			return;
		for (i = 0; i < ARRAY_SIZE(w); i++) {
			w[i] = t_await(t, "resize CQ");
			rc = ndk_resize_cq(cq->cq, i & 1 ? 8 : LARGE, t_done, w[i]);
			if (!t_pended(w[i], rc))
				return;
		}
		closed = t_close_start(t, &cq->cq->header);
		t_join(closed);
		for (i = 0; i < ARRAY_SIZE(w); i++)
			if (!t_has_left(w[i]))
				t_fail(t, "the close has completed before the resize");
	}
}

/* Proves: 12-removal */
static void device_goes(struct t *t)
{
	struct two *w = two(t);
	struct t_await *r[4];
	int i, rc;

	if (!w || !cqt_deliver(w->c, 0) || !deliver_to(w->c, &w->a, &w->b, 2, 0))
		return;
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = t_await(t, "resize CQ");
		if (!t_pended(r[i], ndk_resize_cq(w->c->cq->cq, (i + 2) * LARGE, t_done, r[i])))
			return;
	}
	if (t_host(t, "link_del a"))
		return;
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		rc = t_join(r[i]);
		EXPECT(t, !rc || rc == -ENODEV);
	}
	EXPECT_STATUS(t, t_resize(w->c->cq, 8), -ENODEV);
	t_wait_gone(&w->a);
	/* What was there is there still. */
	t_drain(w->c->cq, 2, 0);
	t_host(t, "link_add a && link_ready a");
}

static const struct t_case cases[] = {
	{ "arguments", arguments },
	{ "in_any_context", any_context },
	{ "unused_cq_holds_more", unused_cq_holds_more },
	{ "qps_from_before_and_after_are_polled", both_are_polled },
	{ "qps_from_before_and_after_notify", both_are_armed },
	{ "any_arm_from_before_holds", armed_before, NDK_CQ_NOTIFY_ANY },
	{ "solicited_arm_from_before_holds", armed_before, NDK_CQ_NOTIFY_SOLICITED },
	{ "completions_of_both_are_moderated", both_are_moderated },
	{ "holds_what_both_have", holds_what_both_have },
	{ "qp_from_before_goes", first_qp_goes },
	{ "not_below_what_is_queued", not_below_what_is_queued },
	/* Bug: B91 */
	{ "more_than_can_be_kept_is_refused", more_than_can_be_kept },
	{ "overrun_of_one_kills_all_qps", overrun },
	{ "under_traffic_that_notifies", under_traffic, 0 },
	{ "under_traffic_of_a_newer_qp_that_notifies", under_traffic, 1 },
	{ "under_traffic_that_is_polled", under_traffic, 2 },
	{ "under_traffic_of_a_newer_qp_that_is_polled", under_traffic, 3 },
	{ "closed_while_pending", closed_while_pending },
	{ "device_goes_while_pending", device_goes },
};

T_GROUP(resize, cases);
