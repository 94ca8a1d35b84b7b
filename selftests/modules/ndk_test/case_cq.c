// SPDX-License-Identifier: GPL-2.0
/* CQs: when they notify, when they do not, and what they give. The CQ of end a's receives is the one that is watched. */

#include <linux/delay.h>

#include "cqt.h"

/* --- arm ------------------------------------------------------------------ */

/* Proves: CQ_NOTIFICATION_CALLBACK.wrong-state, 7.4-no-arm */
/* Bug: B60, K7 */
static void nothing_without_arm(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c || !cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT))
		return;
	cqt_quiet(c);
	ndk_flush(c->p->a.qp);
	cqt_quiet(c);
}

/*
 * Proves: ARM_CQ.ok, CQ_NOTIFICATION_CALLBACK.ok, CQ_NOTIFICATION_CALLBACK.softirq, 7.4-fires, 7.4-one-shot,
 * 7.4-match-any
 */
static void once_per_arm(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	int i;

	if (!c)
		return;
	for (i = 1; i <= 3; i++) {
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!cqt_deliver(c, 0) || !cqt_notified(c))
			return;
		if (!cqt_deliver(c, 0) || !cqt_deliver(c, 0) || !cqt_quiet(c))
			return;
		EXPECT_EQ(t, atomic_read(&c->cq->calls), i);
		cqt_empty(c);
	}
}

/* The consumer finds the CQ empty, a completion comes, the consumer arms. */
/* Proves: ARM_CQ.ok, 7.4-new-since */
/* Bug: B102 */
static void between_poll_and_arm(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	struct ndk_result_ex r;
	int i;

	if (!c)
		return;
	for (i = 0; i < 10; i++) {
		if (!EXPECT_EQ(t, ndk_get_cq_results_ex(c->cq->cq, &r, 1), 0) || !cqt_deliver(c, 0))
			return;
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!cqt_notified(c))
			return;
		EXPECT_EQ(t, ndk_get_cq_results_ex(c->cq->cq, &r, 1), 1);
	}
}

/* Proves: ARM_CQ.ok, 7.4-match-solicited */
static void solicited_only(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_SOLICITED);
	if (!cqt_deliver(c, 0) || !cqt_unsolicited(c))
		return;
	if (!cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) || !cqt_notified(c))
		return;
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 1);
}

/* Proves: 7.4-new-since */
static void solicited_came_before_arm(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c || !cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT))
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_SOLICITED);
	cqt_notified(c);
}

/* Proves: 7.4-match-solicited */
static void solicited_on_failed_receive(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c || !EXPECT_STATUS(t, t_post_receive(&c->p->a, 1, c->in, 0, CQT_LEN), 0))
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_SOLICITED);
	if (!cqt_quiet(c))
		return;
	ndk_flush(c->p->a.qp);
	if (cqt_notified(c))
		t_take_status(&c->p->a, c->cq, 1, NDK_OPERATION_RECEIVE, -ECANCELED);
}

/* A send that waits for a receive of the peer, and is flushed. */
/* Proves: 7.4-match-solicited */
static void solicited_on_failed_send(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c)
		return;
	c->cq = c->p->b.icq;
	if (!EXPECT_STATUS(t, t_post_send(&c->p->b, 1, c->out, 0, CQT_LEN, 0), 0))
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_SOLICITED);
	if (!cqt_quiet(c))
		return;
	ndk_flush(c->p->b.qp);
	if (cqt_notified(c))
		t_take_status(&c->p->b, c->cq, 1, NDK_OPERATION_SEND, -ECANCELED);
}

/* Proves: ARM_CQ.ok, 7.4-match-errors */
static void errors_means_faults_of_the_cq(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ERRORS);
	if (!cqt_deliver(c, 0) || !cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) || !cqt_quiet(c))
		return;
	if (!EXPECT_STATUS(t, t_post_receive(&c->p->a, 99, c->in, 0, CQT_LEN), 0))
		return;
	ndk_flush(c->p->a.qp);
	cqt_quiet(c);
}

static int strength(u32 type)
{
	return type == NDK_CQ_NOTIFY_ANY ? 2 : type == NDK_CQ_NOTIFY_SOLICITED ? 1 : 0;
}

/* One cell of the table: the stronger of two arms stays, and answers once. */
static void merge(struct t *t)
{
	u32 first = t->arg / 10, second = t->arg % 10;
	int stronger = max(strength(first), strength(second));
	struct cqt *c = cqt_setup(t, NULL);

	if (!c)
		return;
	ndk_arm_cq(c->cq->cq, first);
	ndk_arm_cq(c->cq->cq, second);
	if (!cqt_deliver(c, 0) || !(stronger == 2 ? cqt_notified(c) : stronger ? cqt_unsolicited(c) : cqt_quiet(c)))
		return;
	if (!cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) || !(stronger == 1 ? cqt_notified(c) : cqt_quiet(c)))
		return;
	if (!cqt_deliver(c, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) || !cqt_quiet(c))
		return;
	EXPECT_EQ(t, atomic_read(&c->cq->calls), stronger ? 1 : 0);
}

/* --- inside the callback -------------------------------------------------- */

static void arm_again(struct t_cq *cq)
{
	cq->then = NULL;
	ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
	mdelay(5);
}

/* Proves: ARM_CQ.softirq, 7.4-one-shot, 7.4-serial */
/* Bug: B28 */
static void arm_inside(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c)
		return;
	c->cq->then = arm_again;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	if (!cqt_deliver(c, 0) || !cqt_notified(c))
		return;
	/* What was there at the first may answer the second arm or not; this must. */
	if (!cqt_deliver(c, 0) || !cqt_notified(c))
		return;
	t_sleep(50);
	EXPECT_EQ(t, atomic_read(&c->cq->calls), 2);
}

/* All of a receiver in its notification: take, give back, arm, take again. A lost notification stops it for good. */
#define ROUNDS 300

struct driven {
	struct cqt *c;
	atomic_t received;
	struct completion done;
	u32 delay;
};

static void receive_in_callback(struct t_cq *cq)
{
	struct driven *d = cq->arg;
	struct cqt *c = d->c;
	struct ndk_result_ex r[4];
	int armed = 0;
	u32 n, i;

	udelay(d->delay);
	do {
		n = ndk_get_cq_results_ex(cq->cq, r, ARRAY_SIZE(r));
		for (i = 0; i < n; i++) {
			EXPECT_STATUS(c->t, r[i].status, 0);
			EXPECT_STATUS(c->t, t_post_receive(&c->p->a, 1, c->in, 0, CQT_LEN), 0);
			if (atomic_inc_return(&d->received) == ROUNDS)
				complete(&d->done);
		}
		if (!n && !armed++) {
			ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
			n = 1;
		}
	} while (n);
}

static void drive(struct t *t, struct cqt *c, struct driven *d)
{
	struct ndk_result_ex r;
	int i, posted;

	for (i = 0; i < 16; i++)
		if (!EXPECT_STATUS(t, t_post_receive(&c->p->a, 1, c->in, 0, CQT_LEN), 0))
			return;
	c->cq->arg = d;
	c->cq->then = receive_in_callback;
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	for (posted = 0; posted < ROUNDS; posted++) {
		if (posted >= 8 && !t_take(c->p->b.icq, &r))
			return;
		if (!EXPECT_STATUS(t, t_post_send(&c->p->b, 1, c->out, 0, CQT_LEN, 0), 0))
			return;
	}
	if (!wait_for_completion_timeout(&d->done, t_ticks(10)))
		t_fail(t, "stuck after %d of %d", atomic_read(&d->received), ROUNDS);
}

/* Proves: ARM_CQ.softirq, GET_CQ_RESULTS_EX.softirq, RECEIVE.softirq, 7.4-serial */
/* Bug: B28 */
static void driven_by_callbacks(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	struct driven *d = t_alloc(t, sizeof(*d));

	if (!c)
		return;
	d->c = c;
	d->delay = t->arg;
	init_completion(&d->done);
	drive(t, c, d);
	/* What is still armed must not post to a QP that is being closed. */
	t_cq_stop(c->cq);
}

/* --- taking results ------------------------------------------------------- */

/* Proves: GET_CQ_RESULTS.ok, GET_CQ_RESULTS.bad-argument, GET_CQ_RESULTS_EX.ok, 6.4-error-code */
static void two_forms_one_queue(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	struct ndk_result plain[3];
	struct ndk_result_ex ex[8];
	int i;

	if (!c)
		return;
	for (i = 0; i < 6; i++)
		if (!cqt_deliver(c, 0))
			return;
	memset(plain, 0xa5, sizeof(plain));
	EXPECT_EQ(t, ndk_get_cq_results(c->cq->cq, plain, 0), 0);
	if (!EXPECT_EQ(t, ndk_get_cq_results(c->cq->cq, plain, 2), 2))
		return;
	for (i = 0; i < 2; i++) {
		EXPECT_STATUS(t, plain[i].status, 0);
		EXPECT_EQ(t, plain[i].bytes_transferred, CQT_LEN);
		EXPECT_EQ(t, (long)plain[i].request_context, i + 1);
		EXPECT(t, plain[i].qp_context == &c->p->a);
	}
	t_check_byte(t, &plain[2], sizeof(plain[2]), 0xa5, "result beyond the count");
	if (!EXPECT_EQ(t, ndk_get_cq_results_ex(c->cq->cq, ex, 1), 1))
		return;
	EXPECT_EQ(t, (long)ex[0].request_context, 3);
	if (!EXPECT_EQ(t, ndk_get_cq_results(c->cq->cq, plain, 1), 1))
		return;
	EXPECT_EQ(t, (long)plain[0].request_context, 4);
	/* Fewer than asked for: empty. */
	if (!EXPECT_EQ(t, ndk_get_cq_results_ex(c->cq->cq, ex, 8), 2))
		return;
	for (i = 0; i < 2; i++) {
		EXPECT_STATUS(t, ex[i].status, 0);
		EXPECT_EQ(t, ex[i].bytes_transferred, CQT_LEN);
		EXPECT_EQ(t, (long)ex[i].request_context, i + 5);
		EXPECT(t, ex[i].qp_context == &c->p->a);
		EXPECT_EQ(t, ex[i].type, NDK_OPERATION_RECEIVE);
		EXPECT_EQ(t, ex[i].provider_error_code, 0);
	}
	EXPECT_EQ(t, ndk_get_cq_results(c->cq->cq, plain, 3), 0);
	EXPECT_EQ(t, ndk_get_cq_results_ex(c->cq->cq, ex, 8), 0);
}

/* Proves: FLUSH.ok, GET_CQ_RESULTS_EX.ok, 7.6-only-this */
/* Bug: B29 */
static void two_qps_one_cq(struct t *t)
{
	struct t_end *a2 = t_alloc(t, sizeof(*a2)), *b2 = t_alloc(t, sizeof(*b2));
	const struct t_cfg cfg = { .one_cq = true };
	struct cqt *c = cqt_setup(t, &cfg);
	struct ndk_result_ex r;
	int i, first = 0, second = 0;

	if (!c || !cqt_second(c->p, a2, b2))
		return;
	for (i = 0; i < 4; i++) {
		EXPECT_STATUS(t, t_post_receive(&c->p->a, 10 + i, c->in, 0, CQT_LEN), 0);
		EXPECT_STATUS(t, t_post_receive(a2, 20 + i, c->in, 0, CQT_LEN), 0);
	}
	for (i = 0; i < 4; i++) {
		EXPECT_STATUS(t, t_post_send(&c->p->b, 1, c->out, 0, CQT_LEN, 0), 0);
		EXPECT_STATUS(t, t_post_send(b2, 2, c->out, 0, CQT_LEN, 0), 0);
	}
	for (i = 0; i < 8; i++) {
		if (!t_take(c->cq, &r) || !EXPECT_STATUS(t, r.status, 0))
			return;
		if (r.qp_context == &c->p->a)
			EXPECT_EQ(t, (long)r.request_context, 10 + first++);
		else if (r.qp_context == a2)
			EXPECT_EQ(t, (long)r.request_context, 20 + second++);
		else
			t_fail(t, "a result of no QP");
	}
	EXPECT_EQ(t, first, 4);
	EXPECT_EQ(t, second, 4);
	if (!t_drain(c->p->b.icq, 8, 0))
		return;
	/* A flush is of one QP. */
	EXPECT_STATUS(t, t_post_receive(&c->p->a, 31, c->in, 0, CQT_LEN), 0);
	EXPECT_STATUS(t, t_post_receive(a2, 32, c->in, 0, CQT_LEN), 0);
	ndk_flush(c->p->a.qp);
	t_take_status(&c->p->a, c->cq, 31, NDK_OPERATION_RECEIVE, -ECANCELED);
	EXPECT(t, t_no_result(c->cq, 50));
	EXPECT_STATUS(t, t_post_send(b2, 2, c->out, 0, CQT_LEN, 0), 0);
	t_take_ok(a2, c->cq, 32, NDK_OPERATION_RECEIVE);
}

/* --- overrun -------------------------------------------------------------- */

/* Proves: CQ_NOTIFICATION_CALLBACK.ok, 7.2-cq-fault, 7.4-fault-latched */
/* Bug: K8 */
static void overrun(struct t *t)
{
	struct cqt *c = cqt_tiny(t, 1);
	unsigned long end;

	if (!c || !cqt_flood_receives(c))
		return;
	if (t->arg >= 0)
		ndk_arm_cq(c->cq->cq, t->arg);
	cqt_flood(c);
	if (t->arg < 0) {
		/* Nobody is armed: the next arm hears of it. */
		t_sleep(500);
		EXPECT_EQ(t, atomic_read(&c->cq->calls), 0);
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ERRORS);
	}
	end = jiffies + t_ticks(10);
	while (wait_for_completion_timeout(&c->cq->notified, max(1L, (long)(end - jiffies)))) {
		/* What came before the CQ was full answers as well. */
		if (t->arg != NDK_CQ_NOTIFY_ANY || c->cq->status)
			break;
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	}
	EXPECT_STATUS(t, c->cq->status, -EOVERFLOW);
	/* The QPs of the CQ go with it. */
	t_wait_gone(&c->p->a);
	t_wait_gone(&c->p->b);
}

/* --- many rounds ---------------------------------------------------------- */

/* Lets others work, without sleeping if that may be: siw sends in a thread of one processor, which has to have it. */
static void give_way(void)
{
	if (world.iwarp)
		usleep_range(5, 20);
	else
		cond_resched();
}

/* Counts the callbacks until there are so many. */
static bool called(struct cqt *c, int calls)
{
	unsigned long end = jiffies + t_ticks(10);

	while (atomic_read(&c->cq->calls) < calls) {
		if (time_after(jiffies, end)) {
			t_fail(c->t, "a notification is lost after %d", calls - 1);
			return false;
		}
		give_way();
	}
	return true;
}

/* The send has completed, so the receive at the peer has. */
static bool placed(struct cqt *c)
{
	unsigned long end = jiffies + t_ticks(10);
	struct ndk_result r;

	while (!ndk_get_cq_results(c->p->b.icq->cq, &r, 1)) {
		if (time_after(jiffies, end)) {
			t_fail(c->t, "a send does not complete");
			return false;
		}
		give_way();
	}
	return EXPECT_STATUS(c->t, r.status, 0);
}

/*
 * In the first of three rounds the completion comes between an empty poll and the arm, in the second about when the CQ is
 * armed, in the third after.
 * Proves: 7.4-new-since, 7.4-fires, 7.4-one-shot, ARM_CQ.ok
 */
/* Bug: B29, B102, K6 */
static void rounds(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	struct ndk_sge in, out;
	struct ndk_result r;
	unsigned int i, nr = max(t_rounds / (t_scale > 1 ? 20 : 1), 3);

	if (!c)
		return;
	t_sges(c->in, 0, CQT_LEN, &in, 1);
	t_sges(c->out, 0, CQT_LEN, &out, 1);
	for (i = 0; i < nr; i++) {
		if (ndk_get_cq_results(c->cq->cq, &r, 1)) {
			t_fail(t, "round %u: a result of nobody", i);
			return;
		}
		if (i % 3 == 2)
			ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!EXPECT_STATUS(t, ndk_receive(c->p->a.qp, CTX(i), &in, 1), 0) ||
		    !EXPECT_STATUS(t, ndk_send(c->p->b.qp, CTX(i), &out, 1, 0), 0))
			return;
		if (i % 3 == 0 && !placed(c))
			return;
		if (i % 3 != 2)
			ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		if (!called(c, i + 1) || (i % 3 && !placed(c)))
			return;
		if (!EXPECT_EQ(t, ndk_get_cq_results(c->cq->cq, &r, 1), 1) || !EXPECT_STATUS(t, r.status, 0) ||
		    !EXPECT_EQ(t, (unsigned long)r.request_context, i) ||
		    !EXPECT_EQ(t, atomic_read(&c->cq->calls), i + 1))
			return;
	}
	t_sleep(40);
	EXPECT_EQ(t, atomic_read(&c->cq->calls), nr);
}

/*
 * Success has none, failures have the device's.
 * Proves: GET_CQ_RESULTS_EX.ok
 */
/* Bug: B57, B110 */
static void error_codes(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);
	struct ndk_result_ex r;
	struct ndk_result plain;

	if (!c || !cqt_deliver(c, 0))
		return;
	memset(&r, 0xff, sizeof(r));
	if (!EXPECT_EQ(t, ndk_get_cq_results_ex(c->cq->cq, &r, 1), 1))
		return;
	EXPECT_EQ(t, r.provider_error_code, 0);
	EXPECT_STATUS(t, t_post_receive(&c->p->a, 1, c->in, 0, CQT_LEN), 0);
	EXPECT_STATUS(t, t_post_receive(&c->p->a, 2, c->in, 0, CQT_LEN), 0);
	ndk_flush(c->p->a.qp);
	if (!t_take(c->cq, &r))
		return;
	EXPECT_STATUS(t, r.status, -ECANCELED);
	EXPECT(t, r.provider_error_code);
	ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
	wait_for_completion_timeout(&c->cq->notified, t_ticks(2));
	/* The plain form has no room for it. */
	if (EXPECT_EQ(t, ndk_get_cq_results(c->cq->cq, &plain, 1), 1))
		EXPECT_STATUS(t, plain.status, -ECANCELED);
}

/* --- close ---------------------------------------------------------------- */

/* Proves: ARM_CQ.close-pending, CQ_NOTIFICATION_CALLBACK.close-pending, 3.8, 7.4-close */
static void close_while_armed(struct t *t)
{
	struct cqt *c;
	int i;

	for (i = 0; i < 5; i++) {
		c = cqt_setup(t, NULL);
		if (!c || !EXPECT_STATUS(t, t_post_receive(&c->p->a, 1, c->in, 0, CQT_LEN), 0))
			return;
		ndk_arm_cq(c->cq->cq, NDK_CQ_NOTIFY_ANY);
		/* The flush of the QP answers the arm while the CQ is being closed. */
		t_close_start(t, &c->p->a.connector->header);
		t_close_start(t, &c->p->a.qp->header);
		t_join(t_close_start(t, &c->cq->cq->header));
		EXPECT(t, atomic_read(&c->cq->calls) <= 1);
		/* Later is too late. */
		atomic_set(&c->cq->calls, 0);
		t_sleep(20);
		EXPECT_EQ(t, atomic_read(&c->cq->calls), 0);
	}
}

/* Proves: CLOSE_OBJECT.ok */
static void close_with_results(struct t *t)
{
	struct cqt *c = cqt_setup(t, NULL);

	if (!c || !cqt_deliver(c, 0) || !cqt_deliver(c, 0))
		return;
	t_close_start(t, &c->p->a.connector->header);
	t_close_start(t, &c->p->a.qp->header);
	t_close(t, &c->cq->cq->header);
}

static const struct t_case cases[] = {
	{ "no_notification_without_arm", nothing_without_arm },
	{ "one_notification_per_arm", once_per_arm },
	{ "completion_between_poll_and_arm_answers", between_poll_and_arm },
	{ "solicited_arm_waits_for_a_solicited_receive", solicited_only },
	{ "solicited_receive_before_the_arm_answers", solicited_came_before_arm },
	{ "solicited_arm_is_answered_by_a_failed_receive", solicited_on_failed_receive },
	{ "solicited_arm_is_answered_by_a_failed_send", solicited_on_failed_send },
	{ "errors_arm_is_not_answered_by_requests", errors_means_faults_of_the_cq },
	{ "merge_errors_errors", merge, 0 }, /* Proves: 7.4-ERRORS-ERRORS */
	{ "merge_errors_any", merge, 1 }, /* Proves: 7.4-ERRORS-ANY */
	{ "merge_errors_solicited", merge, 2 }, /* Proves: 7.4-ERRORS-SOLICITED */
	{ "merge_any_errors", merge, 10 }, /* Proves: 7.4-ANY-ERRORS */
	{ "merge_any_any", merge, 11 }, /* Proves: 7.4-ANY-ANY */
	{ "merge_any_solicited", merge, 12 }, /* Proves: 7.4-ANY-SOLICITED */
	{ "merge_solicited_errors", merge, 20 }, /* Proves: 7.4-SOLICITED-ERRORS */
	{ "merge_solicited_any", merge, 21 }, /* Proves: 7.4-SOLICITED-ANY */
	{ "merge_solicited_solicited", merge, 22 }, /* Proves: 7.4-SOLICITED-SOLICITED */
	{ "arm_inside_the_notification", arm_inside },
	{ "receiver_lives_in_its_notification", driven_by_callbacks, 0 },
	{ "slow_notifications_never_overlap", driven_by_callbacks, 300 },
	{ "results_and_results_ex_are_one_queue", two_forms_one_queue },
	{ "two_qps_share_a_cq", two_qps_one_cq },
	{ "overrun_answers_an_errors_arm", overrun, NDK_CQ_NOTIFY_ERRORS }, /* Proves: 7.4-match-errors */
	{ "overrun_answers_an_any_arm", overrun, NDK_CQ_NOTIFY_ANY },
	{ "overrun_without_arm_is_told_at_the_next", overrun, -1 },
	{ "rounds_lose_no_notification_and_make_none_too_many", rounds },
	{ "failures_have_the_code_of_the_device", error_codes },
	{ "no_notification_after_close", close_while_armed },
	{ "closed_with_results_in_it", close_with_results },
};

T_GROUP(cq, cases);
