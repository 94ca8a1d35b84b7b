// SPDX-License-Identifier: GPL-2.0
/* Requests that tell of no success, that are flushed, and whose QP is closed: each ends once, and nothing else does. */

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "queues.h"

/* --- silent success ------------------------------------------------------- */

/* The peer may have a message before its sender has the acknowledgement that frees the entry. */
static int send_soon(struct qt *q, int i, u32 flags)
{
	int tries, rc;

	for (tries = 0; tries < 10; tries++) {
		rc = t_post_send(q->a, i, q->abuf, (i % 8) * LEN, LEN, flags);
		if (rc != -ENOBUFS)
			break;
		t_sleep(1);
	}
	return rc;
}

/* Many times the depth of the queue; nothing is ever taken from the CQ in which nothing comes. */
/* Proves: SEND.ok, 6.4-silent */
static void silent_sends(struct t *t)
{
	const struct t_cfg cfg = { .depth = 16, .cq_depth = 64 };
	struct qt *q = qt_setup(t, &cfg, true);
	u32 last = t->arg ? 0 : NDK_OP_FLAG_SILENT_SUCCESS;
	int i;

	if (!q)
		return;
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, i * LEN, LEN), 0);
	for (i = 0; i < 400; i++) {
		if (!EXPECT_STATUS(t, send_soon(q, i, i == 399 ? last : NDK_OP_FLAG_SILENT_SUCCESS), 0) ||
		    !t_take_ok(q->b, q->b->rcq, i % 8, NDK_OPERATION_RECEIVE) ||
		    !EXPECT_STATUS(t, t_post_receive(q->b, i % 8, q->bbuf, (i % 8) * LEN, LEN), 0)) {
			t_fail(t, "after %d", i);
			return;
		}
	}
	if (!last)
		t_take_ok(q->a, q->a->icq, 399, NDK_OPERATION_SEND);
	EXPECT(t, t_no_result(q->a->icq, 50));
}

/* Silent ones do not notify. */
/* Proves: 6.4-silent */
static void silent_sends_do_not_notify(struct t *t)
{
	const struct t_cfg cfg = { .depth = 16, .cq_depth = 64 };
	struct qt *q = qt_setup(t, &cfg, true);
	struct ndk_result_ex r;
	int i;

	if (!q)
		return;
	ndk_arm_cq(q->a->icq->cq, NDK_CQ_NOTIFY_ANY);
	for (i = 0; i < 12; i++) {
		EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, 0, LEN), 0);
		EXPECT_STATUS(t, t_post_send(q->a, i, q->abuf, 0, LEN, NDK_OP_FLAG_SILENT_SUCCESS), 0);
		if (!t_take_ok(q->b, q->b->rcq, i, NDK_OPERATION_RECEIVE))
			return;
	}
	t_sleep(30);
	/* The CQ may turn out to be empty, so a notification is allowed; it must not be lost for what comes then. */
	EXPECT_EQ(t, ndk_get_cq_results_ex(q->a->icq->cq, &r, 1), 0);
	EXPECT_STATUS(t, t_post_receive(q->b, 1, q->bbuf, 0, LEN), 0);
	EXPECT_STATUS(t, t_post_send(q->a, 2, q->abuf, 0, LEN, 0), 0);
	t_take_ok(q->b, q->b->rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(q->a, q->a->icq, 2, NDK_OPERATION_SEND);
}

/* Proves: 6.4-silent, 7.6-cancels */
/* Bug: B101 */
static void silent_failures(struct t *t)
{
	struct qt *q = qt_setup(t, NULL, true);
	int i;

	if (!q)
		return;
	/* Nobody receives, so they are outstanding when the queue is flushed. */
	for (i = 0; i < 10; i++)
		EXPECT_STATUS(t, t_post_send(q->a, i, q->abuf, 0, LEN, NDK_OP_FLAG_SILENT_SUCCESS), 0);
	ndk_flush(q->a->qp);
	for (i = 0; i < 10; i++)
		if (!t_take_status(q->a, q->a->icq, i, NDK_OPERATION_SEND, -ECANCELED))
			return;
	EXPECT(t, t_no_result(q->a->icq, 30));
}

/* Some succeeded silently before one fails: each failure is told, no success. */
/* Proves: 6.4-silent, 7.2-error-ends */
static void silent_then_failure(struct t *t)
{
	struct qt *q = qt_setup(t, NULL, true);
	struct t_region *r;
	int i;

	if (!q)
		return;
	r = t_region(q->b, PAGE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	if (!r)
		return;
	for (i = 0; i < 5; i++) {
		EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, 0, LEN), 0);
		EXPECT_STATUS(t, t_post_send(q->a, i, q->abuf, 0, LEN, NDK_OP_FLAG_SILENT_SUCCESS), 0);
		t_take_ok(q->b, q->b->rcq, i, NDK_OPERATION_RECEIVE);
	}
	/* The peer has not granted it. */
	EXPECT_STATUS(t, t_post_write(q->a, 50, q->abuf, 0, LEN, r->base, r->remote,
				      NDK_OP_FLAG_SILENT_SUCCESS), 0);
	t_take_status(q->a, q->a->icq, 50, NDK_OPERATION_WRITE, -EREMOTEIO);
	EXPECT(t, t_no_result(q->a->icq, 30));
	t_wait_gone(q->a);
	t_wait_gone(q->b);
}

/* --- flush and close ------------------------------------------------------ */

/* Proves: FLUSH.ok, 5.5-CONNECTED-flush, 7.6-cancels, 7.6-drain */
/* Bug: B56, B110, K9 */
static void flush_everything(struct t *t)
{
	struct qt *q = qt_setup(t, NULL, true);
	int i;

	if (!q)
		return;
	for (i = 0; i < 12; i++) {
		EXPECT_STATUS(t, t_post_receive(q->a, i, q->abuf, 0, LEN), 0);
		EXPECT_STATUS(t, t_post_send(q->a, 100 + i, q->abuf, 0, LEN, 0), 0);
	}
	ndk_flush(q->a->qp);
	for (i = 0; i < 12; i++)
		t_take_status(q->a, q->a->rcq, i, NDK_OPERATION_RECEIVE, -ECANCELED);
	for (i = 0; i < 12; i++)
		t_take_status(q->a, q->a->icq, 100 + i, NDK_OPERATION_SEND, -ECANCELED);
	EXPECT(t, t_no_result(q->a->rcq, 30));
	EXPECT(t, t_no_result(q->a->icq, 1));
}

/* Proves: FLUSH.wrong-state */
/* Bug: B110 */
static void flush_before_connect(struct t *t)
{
	struct qt *q = qt_setup(t, NULL, false);
	int i;

	if (!q)
		return;
	for (i = 0; i < 4; i++)
		EXPECT_STATUS(t, t_post_receive(q->a, i, q->abuf, 0, LEN), 0);
	ndk_flush(q->a->qp);
	for (i = 0; i < 4; i++)
		t_take_status(q->a, q->a->rcq, i, NDK_OPERATION_RECEIVE, -ECANCELED);
	EXPECT(t, t_no_result(q->a->rcq, 30));
}

/* Proves: FLUSH.ok */
static void flush_of_nothing(struct t *t)
{
	struct qt *q = qt_setup(t, NULL, true);

	if (!q)
		return;
	ndk_flush(q->a->qp);
	ndk_flush(q->a->qp);
	EXPECT(t, t_no_result(q->a->icq, 50));
	EXPECT(t, t_no_result(q->a->rcq, 1));
}

#define MANY 64

/* Takes what there is until it is quiet; each request at most once. */
static unsigned int count_results(struct t *t, struct t_cq *cq, unsigned long *seen)
{
	struct ndk_result_ex r;
	unsigned int n = 0;

	while (ndk_get_cq_results_ex(cq->cq, &r, 1)) {
		unsigned long ctx = (unsigned long)r.request_context;

		n++;
		if (ctx >= 2 * MANY)
			t_fail(t, "a result of a request that was not made");
		else if (test_and_set_bit(ctx, seen))
			t_fail(t, "request %lu has two results", ctx);
		if (r.status && r.status != -ECANCELED)
			t_fail(t, "request %lu: %s", ctx, t_errname(r.status));
	}
	return n;
}

/* Receives and sends are outstanding when QP and connector are closed; when the close is complete all results are there. */
/* Proves: SEND.close-pending, RECEIVE.close-pending, 3.1-QP, 3.9 */
static void close_with_outstanding(struct t *t)
{
	const struct t_cfg cfg = { .depth = MANY, .cq_depth = 4 * MANY, .one_cq = true };
	struct qt *q = qt_setup(t, &cfg, true);
	unsigned long *seen = bitmap_zalloc(2 * MANY, GFP_KERNEL | __GFP_NOFAIL);
	struct t_await *w;
	int i;

	if (!q)
		goto out;
	/* The peer takes some of the sends. */
	for (i = 0; i < 5; i++)
		EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, 0, LEN), 0);
	for (i = 0; i < MANY; i++) {
		EXPECT_STATUS(t, t_post_receive(q->a, i, q->abuf, 0, LEN), 0);
		EXPECT_STATUS(t, t_post_send(q->a, MANY + i, q->abuf, 0, LEN, 0), 0);
	}
	w = t_close_start(t, &q->a->qp->header);
	if (t->arg)
		t_sleep(20);
	t_close(t, &q->a->connector->header);
	t_join(w);
	EXPECT_EQ(t, count_results(t, q->a->rcq, seen), 2 * MANY);
out:
	bitmap_free(seen);
}

/* Requests of all kinds are in flight in both directions. */
/* Proves: SEND.close-pending, WRITE.close-pending, RECEIVE.close-pending, 5.5-CONNECTED-close, 7.1-accepted */
/* Bug: B39, B107 */
static void close_in_mid_transfer(struct t *t)
{
	const struct t_cfg cfg = { .depth = MANY, .cq_depth = 4 * MANY, .one_cq = true };
	unsigned long *seen = bitmap_zalloc(2 * MANY, GFP_KERNEL | __GFP_NOFAIL);
	struct qt *q = qt_setup(t, &cfg, true);
	struct t_region *r;
	struct t_await *w;
	int i;

	if (!q)
		goto out;
	r = t_region(q->b, SZ_64K, NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
	if (!r)
		goto out;
	for (i = 0; i < MANY; i++) {
		EXPECT_STATUS(t, t_post_receive(q->a, i, q->abuf, 0, LEN), 0);
		EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, 0, SZ_4K), 0);
	}
	for (i = 0; i < MANY; i++) {
		if (i % 2)
			EXPECT_STATUS(t, t_post_write(q->a, MANY + i, q->abuf, 0, SZ_64K, r->base, r->remote, 0), 0);
		else
			EXPECT_STATUS(t, t_post_send(q->a, MANY + i, q->abuf, 0, SZ_4K, 0), 0);
		t_post_send(q->b, i, q->bbuf, 0, LEN, 0);
	}
	w = t_close_start(t, &q->a->connector->header);
	t_close(t, &q->a->qp->header);
	t_join(w);
	EXPECT_EQ(t, count_results(t, q->a->rcq, seen), 2 * MANY);
	t_wait_gone(q->b);
out:
	bitmap_free(seen);
}

/* --- flush and close against posts ---------------------------------------- */

struct racer {
	struct qt *q;
	atomic_t accepted;
	atomic_t stop;
	struct completion done;
};

static int post_until_refused(void *arg)
{
	struct racer *r = arg;
	struct t_end *e = r->q->a;

	while (!atomic_read(&r->stop) && atomic_read(&r->accepted) < 2 * MANY) {
		int rc = t_post_receive(e, atomic_read(&r->accepted), r->q->abuf, 0, LEN);

		if (!rc)
			atomic_inc(&r->accepted);
		else if (rc == -ENOBUFS)
			t_sleep(1);
		else
			break;
	}
	complete(&r->done);
	return 0;
}

/* Flush, or close of the connector, while another thread posts: both are allowed to run at the same time. */
/* Proves: 3.1-concurrent */
/* Bug: B39 */
static void race_with_posts(struct t *t)
{
	const struct t_cfg cfg = { .depth = 2 * MANY, .cq_depth = 4 * MANY, .one_cq = true, .sge = 1 };
	struct task_struct *task;
	struct ndk_result_ex r;
	struct racer *racer;
	struct t_await *w = NULL;
	struct qt *q;
	int i, n;

	for (i = 0; i < 8; i++) {
		q = qt_setup(t, &cfg, true);
		racer = t_alloc(t, sizeof(*racer));
		if (!q)
			return;
		racer->q = q;
		init_completion(&racer->done);
		task = kthread_run(post_until_refused, racer, "ndk_test_post");
		if (!EXPECT(t, !IS_ERR(task)))
			return;
		usleep_range(10 + 100 * i, 20 + 100 * i);
		if (t->arg)
			w = t_close_start(t, &q->a->connector->header);
		else
			ndk_flush(q->a->qp);
		wait_for_completion(&racer->done);
		if (w)
			t_join(w);
		t_close_start(t, &q->a->qp->header);
		if (!t->arg)
			t_close_start(t, &q->a->connector->header);
		for (n = 0; n < atomic_read(&racer->accepted); n++)
			if (!t_take(q->a->rcq, &r) || !EXPECT_STATUS(t, r.status, -ECANCELED))
				return;
		EXPECT(t, t_no_result(q->a->rcq, 10));
	}
}

static const struct t_case cases[] = {
	{ "silent_sends_without_end", silent_sends, 0 },
	{ "silent_sends_and_one_that_is_not", silent_sends, 1 },
	{ "silent_sends_do_not_use_up_an_arm", silent_sends_do_not_notify },
	{ "silent_requests_tell_their_cancellation", silent_failures },
	{ "silent_requests_tell_their_failure", silent_then_failure },
	{ "flush_cancels_both_queues", flush_everything },
	{ "flush_before_connect", flush_before_connect },
	{ "flush_of_nothing", flush_of_nothing },
	{ "qp_closed_with_outstanding_requests", close_with_outstanding, 0 },
	{ "qp_closed_before_its_connector_with_outstanding_requests", close_with_outstanding, 1 },
	{ "connection_closed_in_mid_transfer", close_in_mid_transfer },
	{ "flush_races_with_posts", race_with_posts, 0 }, /* Proves: 7.1-flush-beside */
	{ "close_of_the_connector_races_with_posts", race_with_posts, 1 }, /* Proves: 7.1-close-beside */
};

T_GROUP(queue_ends, cases);
