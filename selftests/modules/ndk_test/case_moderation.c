// SPDX-License-Identifier: GPL-2.0
/* Notifications that wait for more completions, and the CPU on which they run. */

#include <linux/cpumask.h>
#include <linux/limits.h>
#include <linux/sched.h>

#include "cqt.h"
#include "failnth.h"

#define DEPTH 64
#define NEVER U32_MAX
#define MS 1000
/* For waits that are to end by something else. */
#define LONG (600 * 1000 * MS)

static struct cqt *moderated(struct t *t, u32 interval, u32 count)
{
	const struct t_cfg cfg = { .cq_depth = DEPTH };
	struct cqt *c = cqt_setup(t, &cfg);

	if (c && !EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(c->cq->cq, interval, count), 0))
		return NULL;
	return c;
}

static bool deliver_nr(struct cqt *c, unsigned int nr)
{
	while (nr--)
		if (!cqt_deliver(c, 0))
			return false;
	return true;
}

static void control(struct cqt *c, u32 interval, u32 count, int status)
{
	EXPECT_STATUS(c->t, ndk_control_cq_interrupt_moderation(c->cq->cq, interval, count), status);
}

/* --- values --------------------------------------------------------------- */

/* Proves: CONTROL_CQ_INTERRUPT_MODERATION.ok, CONTROL_CQ_INTERRUPT_MODERATION.bad-argument, 8.4-moderation-mix */
static void values(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	const struct t_cfg cfg = { .cq_depth = DEPTH };
	static const struct { u32 interval, count; int status; } v[] = {
		{ 0, 0, 0 }, { 0, 1, 0 }, { 0, 16, 0 }, { 0, DEPTH + 1, 0 }, { 0, NEVER, 0 },
		{ 1, 0, 0 }, { 1, 1, 0 }, { 1, 2, 0 }, { 1, DEPTH, 0 }, { 1, DEPTH + 1, 0 }, { 1, NEVER, 0 },
		{ NEVER - 1, 2, 0 }, { NEVER - 1, NEVER, 0 },
		{ NEVER, 0, 0 }, { NEVER, 1, 0 }, { NEVER, 2, 0 }, { NEVER, DEPTH, 0 },
		{ NEVER, DEPTH + 1, -EDOM }, { NEVER, NEVER - 1, -EDOM }, { NEVER, NEVER, -EDOM },
	};
	unsigned int i;

	if (!t_end_init(t, e, SIDE_A, &cfg))
		return;
	EXPECT(t, t_info(t, e->adapter).adapter_flags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION);
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		int rc = ndk_control_cq_interrupt_moderation(e->rcq->cq, v[i].interval, v[i].count);

		if (rc != v[i].status)
			t_fail(t, "%u us, %u: %s, should be %s", v[i].interval, v[i].count, t_errname(rc),
			       t_errname(v[i].status));
	}
}

/* Proves: CONTROL_CQ_INTERRUPT_MODERATION.softirq */
static void any_context(struct t *t)
{
	struct cqt *c = moderated(t, 0, 0);

	if (!c)
		return;
	spin_lock_bh(&t_consumer_lock);
	control(c, NEVER, 2, 0);
	spin_unlock_bh(&t_consumer_lock);
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_nr(c, 1) || !cqt_quiet(c))
		return;
	spin_lock_bh(&t_consumer_lock);
	control(c, 0, 0, 0);
	spin_unlock_bh(&t_consumer_lock);
	cqt_notified(c);
}

/* --- what governs --------------------------------------------------------- */

/* Proves: 8.4-moderation-none */
static void none(struct t *t)
{
	static const struct { u32 interval, count; } v[] = {
		{ 0, 8 }, { 0, NEVER }, { LONG, 0 }, { LONG, 1 }, { NEVER, 0 }, { NEVER, 1 },
	};
	struct cqt *c = moderated(t, NEVER, 2);
	unsigned int i;

	for (i = 0; c && i < ARRAY_SIZE(v); i++) {
		control(c, v[i].interval, v[i].count, 0);
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!deliver_nr(c, 1) || !cqt_notified(c))
			return;
		cqt_empty(c);
	}
}

/* Proves: 8.4-moderation-interval, 8.4-moderation-visible, 7.4-moderation */
static void interval(struct t *t)
{
	struct cqt *c = moderated(t, 300 * MS, t->arg);
	unsigned long start = jiffies;

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	/* Not before there is something. */
	t_sleep(350);
	if (!cqt_quiet(c))
		return;
	start = jiffies;
	if (!deliver_nr(c, 5) || !cqt_quiet(c))
		return;
	/* Results are there all the while. */
	if (!t_take_ok_now(&c->p->a, c->cq, 1) || !cqt_notified(c))
		return;
	if (time_before(jiffies, start + msecs_to_jiffies(290)))
		t_fail(t, "after %u ms", jiffies_to_msecs(jiffies - start));
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 1);
	cqt_quiet(c);
}

/* Proves: 8.4-moderation-count, 8.4-moderation-visible */
static void count(struct t *t)
{
	struct cqt *c = moderated(t, t->arg, 6);
	int round;

	for (round = 0; c && round < 3; round++) {
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!deliver_nr(c, 3) || !cqt_quiet(c))
			return;
		/* What was taken early counts. */
		if (!t_take_ok_now(&c->p->a, c->cq, 6 * round + 1) || !deliver_nr(c, 2) || !cqt_quiet(c))
			return;
		if (!t_take_ok_now(&c->p->a, c->cq, 6 * round + 2) || !deliver_nr(c, 1) || !cqt_notified(c))
			return;
		EXPECT_EQ(t, atomic_read(&c->cq->calls), round + 1);
		t_drain(c->cq, 4, 0);
	}
}

/* What is there at the arm counts as well. */
static void count_with_what_is_there(struct t *t)
{
	struct cqt *c = moderated(t, NEVER, 4);

	if (!c || !deliver_nr(c, 3))
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!cqt_quiet(c) || !deliver_nr(c, 1) || !cqt_notified(c))
		return;
	/* Four are still there: enough for the next arm. */
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (cqt_notified(c))
		EXPECT_EQ(t, atomic_read(&c->cq->calls), 2);
}

/* Both set: the time ends what the count does not, and a count that is the depth can be reached. */
static void time_before_count(struct t *t)
{
	struct cqt *c = moderated(t, 100 * MS, 16);
	unsigned long start;

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	start = jiffies;
	if (!deliver_nr(c, 2) || !cqt_notified(c))
		return;
	if (time_before(jiffies, start + msecs_to_jiffies(95)))
		t_fail(t, "after %u ms", jiffies_to_msecs(jiffies - start));
}

static void count_is_depth(struct t *t)
{
	struct cqt *c = moderated(t, NEVER, DEPTH);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_nr(c, DEPTH - 1) || !cqt_quiet(c) || !deliver_nr(c, 1) || !cqt_notified(c))
		return;
	t_drain(c->cq, DEPTH, 0);
}

/* --- the latest setting --------------------------------------------------- */

/* Each ends what is held back, at once or in its own time. */
static void latest(struct t *t)
{
	static const struct { u32 interval, count; } v[] = {
		{ 0, 0 }, { 0, NEVER }, { LONG, 1 }, { NEVER, 3 }, { LONG, 2 }, { 50 * MS, 32 },
	};
	struct cqt *c = moderated(t, NEVER, 32);
	unsigned int i;

	for (i = 0; c && i < ARRAY_SIZE(v); i++) {
		control(c, i % 2 ? LONG : NEVER, 32, 0);
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!deliver_nr(c, 3) || !cqt_quiet(c))
			return;
		/* Refused: nothing changes. */
		control(c, NEVER, NEVER, -EDOM);
		if (!cqt_quiet(c))
			return;
		control(c, v[i].interval, v[i].count, 0);
		if (!cqt_notified(c))
			return;
		EXPECT_EQ(t, atomic_read(&c->cq->calls), i + 1);
		cqt_empty(c);
	}
}

/* Again and again, shorter than it takes: the wait is not begun anew. */
static void repeated(struct t *t)
{
	struct cqt *c = moderated(t, 100 * MS, NEVER);
	unsigned long end = jiffies + t_ticks(2);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_nr(c, 1))
		return;
	while (!completion_done(&c->cq->notified) && time_before(jiffies, end)) {
		control(c, 100 * MS, NEVER, 0);
		t_sleep(5);
	}
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 1);
}

/* --- what is not moderated ------------------------------------------------ */

/* Nothing but an armed condition that is met begins a wait. */
static void conditions(struct t *t)
{
	struct cqt *c = moderated(t, 20 * MS, 4);

	if (!c || !deliver_nr(c, 6))
		return;
	t_sleep(30);
	if (!cqt_quiet(c))
		return;
	cqt_empty(c);
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ERRORS);
	if (!deliver_nr(c, 6) || !cqt_quiet(c))
		return;
	cqt_empty(c);
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_SOLICITED);
	if (!deliver_nr(c, 6) || !cqt_unsolicited(c))
		return;
	if (!cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) || !cqt_notified(c))
		return;
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 1);
}

/* A failed request is told at once: after it, less may come than is waited for. */
static void failure(struct t *t)
{
	struct cqt *c = moderated(t, t->arg ? LONG : NEVER, 32);

	if (!c || !EXPECT_STATUS(t, t_post_receive(&c->p->a, 1, c->in, 0, CQT_LEN), 0))
		return;
	ndk_arm_cq(c->cq->cq, t->arg ?: NDK_CQ_NOTIFY_ANY);
	if (!cqt_quiet(c))
		return;
	ndk_flush(c->p->a.qp);
	if (cqt_notified(c))
		t_take_status(&c->p->a, c->cq, 1, NDK_OPERATION_RECEIVE, -ECANCELED);
}

static void failure_while_held(struct t *t)
{
	struct cqt *c = moderated(t, NEVER, 32);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_nr(c, 2) || !EXPECT_STATUS(t, t_post_receive(&c->p->a, 3, c->in, 0, CQT_LEN), 0) || !cqt_quiet(c))
		return;
	ndk_flush(c->p->a.qp);
	if (!cqt_notified(c))
		return;
	EXPECT(t, t_take_ok_now(&c->p->a, c->cq, 1) && t_take_ok_now(&c->p->a, c->cq, 2));
	t_take_status(&c->p->a, c->cq, 3, NDK_OPERATION_RECEIVE, -ECANCELED);
}

/* An overrun is told at once. */
static void overrun(struct t *t)
{
	struct cqt *c = cqt_tiny(t, 8);
	unsigned long end;

	if (!c)
		return;
	EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(c->cq->cq, LONG, t->arg), 0);
	if (!cqt_flood_receives(c))
		return;
	/* Where completions are counted, enough of them are no error yet. */
	cqt_flood(c);
	end = jiffies + t_ticks(10);
	while (!c->cq->status && time_before(jiffies, end)) {
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!EXPECT(t, wait_for_completion_timeout(&c->cq->notified, t_ticks(10))))
			return;
		t_sleep(5);
	}
	EXPECT_STATUS(t, c->cq->status, -EOVERFLOW);
}

/* --- close ---------------------------------------------------------------- */

/* Proves: CONTROL_CQ_INTERRUPT_MODERATION.close-pending, 7.4-close */
static void closed_while_held(struct t *t)
{
	struct cqt *c = moderated(t, t->arg, 32);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_nr(c, 2) || !cqt_quiet(c))
		return;
	t_close_start(t, &c->p->a.connector->header);
	t_close_start(t, &c->p->a.qp->header);
	t_join(t_close_start(t, &c->cq->cq->header));
	EXPECT(t, atomic_read(&c->cq->calls) <= 1);
	atomic_set(&c->cq->calls, 0);
	t_sleep(20);
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 0);
}

/* Held while its QP goes, and used by none. */
static void held_without_a_qp(struct t *t)
{
	struct cqt *c = moderated(t, NEVER, 32);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!deliver_nr(c, 2) || !cqt_quiet(c))
		return;
	t_close(t, &c->p->a.connector->header);
	t_close(t, &c->p->a.qp->header);
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 0);
	EXPECT(t, t_take_ok_now(&c->p->a, c->cq, 1) && t_take_ok_now(&c->p->a, c->cq, 2));
	control(c, 0, 0, 0);
	cqt_notified(c);
}

/* --- the CPU -------------------------------------------------------------- */

/* As cqt_setup(), with the CQ where it is wished. */
static struct cqt *setup_near(struct t *t, int cpu)
{
	struct cqt *c = t_alloc(t, sizeof(*c));

	c->t = t;
	c->p = t_pair_unconnected(t, NULL);
	if (!c->p)
		return NULL;
	t_close(t, &c->p->a.qp->header);
	c->cq = t_cq_near(&c->p->a, 32, cpu);
	c->p->a.rcq = c->cq;
	if (!c->cq || !t_end_qp(&c->p->a) || !t_establish(&c->p->a, c->p->listener, &c->p->b))
		return NULL;
	c->in = t_buf(&c->p->a, PAGE_SIZE);
	c->out = t_buf(&c->p->b, PAGE_SIZE);
	return c->in && c->out ? c : NULL;
}

/* Proves: CREATE_CQ.ok, 8.2-affinity */
static void affinity(struct t *t)
{
	static const int none[] = { -1, INT_MIN, INT_MAX, 4095 };
	unsigned int i, timed;
	struct cqt *c;
	int cpu;

	for (i = 0; i < nr_cpu_ids + ARRAY_SIZE(none); i++) {
		cpu = i < nr_cpu_ids ? (int)i : none[i - nr_cpu_ids];
		c = setup_near(t, cpu);
		/* At once, and by a timer. */
		for (timed = 0; timed < 2; timed++) {
			if (!c || !EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(c->cq->cq, timed * 5 * MS, NEVER), 0))
				return;
			ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
			if (!cqt_deliver(c, 0) || !cqt_notified(c))
				return;
			if (i < nr_cpu_ids && cpu_online(i))
				EXPECT_EQ(t, c->cq->cpu, cpu);
			cqt_empty(c);
		}
	}
}

static const struct t_case cases[] = {
	{ "values", values },
	{ "in_any_context", any_context },
	{ "values_that_are_none", none },
	{ "interval_alone", interval, NEVER },
	{ "interval_alone_with_a_count_over_the_depth", interval, DEPTH + 1 },
	{ "count_alone", count, NEVER },
	{ "count_before_the_interval", count, LONG },
	{ "count_with_what_is_there_at_the_arm", count_with_what_is_there },
	{ "interval_before_the_count", time_before_count },
	{ "count_that_is_the_depth", count_is_depth },
	{ "latest_setting_governs_what_is_held_back", latest },
	{ "repeated_setting_does_not_delay_for_ever", repeated },
	{ "only_an_armed_condition_begins_it", conditions },
	{ "failed_request_is_told_at_once", failure },
	{ "failed_request_is_told_at_once_to_a_solicited_arm", failure, NDK_CQ_NOTIFY_SOLICITED },
	{ "failed_request_ends_a_wait", failure_while_held },
	{ "overrun_is_told_at_once", overrun, NEVER },
	{ "overrun_is_told_at_once_where_completions_are_counted", overrun, 8 },
	{ "closed_while_held_by_a_count", closed_while_held, NEVER },
	{ "closed_while_held_by_a_timer", closed_while_held, LONG },
	{ "held_without_a_qp", held_without_a_qp },
	{ "notification_runs_where_it_was_wished", affinity },
};

T_GROUP(moderation, cases);

/* Proves: CONTROL_CQ_INTERRUPT_MODERATION.no-resources */
static void no_memory(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	const struct t_cfg cfg = { .cq_depth = 512 };
	unsigned int n;
	bool hit;
	int rc;

	if (!t_end_init(t, e, SIDE_A, &cfg))
		return;
	for (n = 1; n < MOST; n++) {
		fail_nth(n);
		rc = ndk_control_cq_interrupt_moderation(e->rcq->cq, 100, 512);
		hit = was_hit();
		if (!judge(t, "moderation", n, hit, rc))
			return;
		/* What needs no memory works. */
		EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(e->rcq->cq, 100, NEVER), 0);
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

/* Proves: RESIZE_CQ.no-resources */
static void resize_without_memory(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	struct t_await *w;
	unsigned int n;
	bool hit;
	int rc;

	for (n = 1; c && n < MOST; n++) {
		w = t_await(t, "resize CQ");
		fail_nth(n);
		rc = ndk_resize_cq(c->cq->cq, 600, t_done, w);
		hit = was_hit();
		if (!judge(t, w->what, n, hit, t_wait(w, rc)))
			return;
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

static const struct t_case failnth_cases[] = {
	{ "moderation", no_memory },
	{ "resize", resize_without_memory },
};

T_GROUP(failnth_cq, failnth_cases);
