// SPDX-License-Identifier: GPL-2.0
/* The queues of a QP: full, silent, flushed, closed. Whatever was accepted ends exactly once, and nothing else does. */

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "ndk_test.h"

#define LEN 64

struct qt {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct t_buf *abuf, *bbuf;
};

static struct qt *setup(struct t *t, const struct t_cfg *cfg, bool connected)
{
	struct qt *q = t_alloc(t, sizeof(*q));

	q->t = t;
	q->p = connected ? t_pair(t, cfg) : t_pair_unconnected(t, cfg);
	if (!q->p)
		return NULL;
	q->a = &q->p->a;
	q->b = &q->p->b;
	q->abuf = t_buf(q->a, SZ_64K);
	q->bbuf = t_buf(q->b, SZ_64K);
	return q->abuf && q->bbuf ? q : NULL;
}

/* --- flags, sizes, states ------------------------------------------------- */

static const u32 all_flags[] = {
	NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, NDK_OP_FLAG_ALLOW_REMOTE_READ, NDK_OP_FLAG_ALLOW_LOCAL_WRITE,
	NDK_OP_FLAG_INLINE, NDK_OP_FLAG_RDMA_READ_SINK, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE,
	NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE, 0x400, 0x80000000,
};

/* Proves: SEND.bad-argument, SEND_AND_INVALIDATE.bad-argument, WRITE.bad-argument, READ.bad-argument, 7.1-refused */
static void flags_of_other_requests(struct t *t)
{
	struct qt *q = setup(t, NULL, true);
	struct t_region *r, *sink;
	struct ndk_sge sge, rsge;
	int i;

	if (!q)
		return;
	r = t_region(q->b, PAGE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
	sink = t_region(q->a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	if (!r || !sink)
		return;
	t_sges(q->abuf, 0, 8, &sge, 1);
	rsge = (struct ndk_sge) { .virtual_address = sink->base, .length = 8, .token = sink->local };
	for (i = 0; i < ARRAY_SIZE(all_flags); i++) {
		u32 f = all_flags[i];

		if (f != NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT && f != NDK_OP_FLAG_INLINE) {
			EXPECT_STATUS(t, ndk_send(q->a->qp, CTX(1), &sge, 1, f), -EINVAL);
			EXPECT_STATUS(t, ndk_send_and_invalidate(q->a->qp, CTX(1), &sge, 1, f, 1), -EINVAL);
		}
		if (f != NDK_OP_FLAG_INLINE)
			EXPECT_STATUS(t, ndk_write(q->a->qp, CTX(1), &sge, 1, r->base, r->remote, f), -EINVAL);
		if (f != NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE)
			EXPECT_STATUS(t, ndk_read(q->a->qp, CTX(1), &rsge, 1, r->base, r->remote, f), -EINVAL);
	}
	EXPECT(t, t_no_result(q->a->icq, 30));
	t_ping(q->a, q->b);
}

/* Proves: SEND.bad-argument, WRITE.bad-argument, READ.bad-argument, RECEIVE.bad-argument, 7.1-refused */
static void too_much_in_one_request(struct t *t)
{
	const struct t_cfg cfg = { .sge = 2, .inline_size = 32 };
	struct qt *q = setup(t, &cfg, true);
	struct ndk_adapter_info info;
	struct ndk_sge sge[40];
	u8 data[64] = {};
	u32 i, over;

	if (!q)
		return;
	info = t_info(t, q->a->adapter);
	over = max3(info.max_initiator_request_sge, info.max_receive_request_sge, info.max_read_request_sge) + 1;
	if (!EXPECT(t, over <= ARRAY_SIZE(sge)))
		return;
	for (i = 0; i < over; i++)
		t_sges(q->abuf, i * 16, 8, &sge[i], 1);
	EXPECT_STATUS(t, ndk_send(q->a->qp, CTX(1), sge, over, 0), -EMSGSIZE);
	EXPECT_STATUS(t, ndk_write(q->a->qp, CTX(1), sge, over, 0, 0, 0), -EMSGSIZE);
	EXPECT_STATUS(t, ndk_read(q->a->qp, CTX(1), sge, over, 0, 0, 0), -EMSGSIZE);
	EXPECT_STATUS(t, ndk_receive(q->a->qp, CTX(1), sge, over), -EMSGSIZE);
	/* More bytes than one request can have. */
	if (info.max_transfer_length < U32_MAX - 1) {
		sge[0].length = info.max_transfer_length;
		sge[1].length = 1;
		EXPECT_STATUS(t, ndk_send(q->a->qp, CTX(1), sge, 2, 0), -EMSGSIZE);
		EXPECT_STATUS(t, ndk_write(q->a->qp, CTX(1), sge, 2, 0, 0, 0), -EMSGSIZE);
	}
	/* A sum that does not fit into 32 bits. */
	sge[0].length = U32_MAX;
	sge[1].length = 2;
	EXPECT_STATUS(t, ndk_send(q->a->qp, CTX(1), sge, 2, 0), -EMSGSIZE);
	EXPECT_STATUS(t, ndk_write(q->a->qp, CTX(1), sge, 2, 0, 0, 0), -EMSGSIZE);
	/* More inline than the QP has, though no more than the adapter. */
	sge[0] = (struct ndk_sge) { .virtual_address = (u64)(unsigned long)data, .length = 33 };
	EXPECT_STATUS(t, ndk_send(q->a->qp, CTX(1), sge, 1, NDK_OP_FLAG_INLINE), -EMSGSIZE);
	EXPECT_STATUS(t, ndk_write(q->a->qp, CTX(1), sge, 1, 0, 0, NDK_OP_FLAG_INLINE), -EMSGSIZE);
	EXPECT(t, t_no_result(q->a->icq, 30));
	EXPECT(t, t_no_result(q->a->rcq, 1));
	t_ping(q->a, q->b);
	t_ping(q->b, q->a);
}

static void all_not_connected(struct qt *q)
{
	struct ndk_object_header *h;
	struct ndk_sge sge;

	h = t_create(q->a, KIND_FAST_MR);
	if (!h)
		return;
	t_sges(q->abuf, 0, 8, &sge, 1);
	EXPECT_STATUS(q->t, ndk_send(q->a->qp, CTX(1), &sge, 1, 0), -ENOTCONN);
	EXPECT_STATUS(q->t, ndk_send_and_invalidate(q->a->qp, CTX(1), &sge, 1, 0, 1), -ENOTCONN);
	EXPECT_STATUS(q->t, ndk_write(q->a->qp, CTX(1), &sge, 1, 0, 0, 0), -ENOTCONN);
	EXPECT_STATUS(q->t, ndk_read(q->a->qp, CTX(1), &sge, 1, 0, 0, 0), -ENOTCONN);
	EXPECT_STATUS(q->t, ndk_invalidate(q->a->qp, CTX(1), h, 0), -ENOTCONN);
}

/*
 * Proves: SEND.wrong-state, SEND_AND_INVALIDATE.wrong-state, WRITE.wrong-state, READ.wrong-state,
 * INVALIDATE.wrong-state, 7.1-not-connected
 */
static void posts_before_connect(struct t *t)
{
	struct qt *q = setup(t, NULL, false);

	if (!q)
		return;
	all_not_connected(q);
	EXPECT(t, t_no_result(q->a->icq, 30));
	if (t_establish(q->a, q->p->listener, q->b))
		t_ping(q->a, q->b);
}

/* Between the peer's accept and our own completing there is no connection yet. */
/*
 * Proves: SEND.wrong-state, SEND_AND_INVALIDATE.wrong-state, WRITE.wrong-state, READ.wrong-state,
 * INVALIDATE.wrong-state, 7.1-not-connected
 */
static void posts_while_connecting(struct t *t)
{
	struct qt *q = setup(t, NULL, false);
	struct t_await *connect, *accept, *complete;
	struct ndk_connector *incoming;

	if (!q)
		return;
	connect = t_connect_start(q->a, &q->p->listener->address);
	if (!connect)
		return;
	all_not_connected(q);
	incoming = t_incoming(q->p->listener);
	accept = incoming ? t_accept_start(q->b, incoming) : NULL;
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	if (!world.iwarp)
		all_not_connected(q);
	complete = t_complete_start(q->a);
	if (complete && !t_join(complete) && !t_join(accept))
		t_ping(q->a, q->b);
}

/*
 * Proves: SEND.wrong-state, SEND_AND_INVALIDATE.wrong-state, WRITE.wrong-state, READ.wrong-state,
 * INVALIDATE.wrong-state, 7.1-not-connected, 5.5-DISCONNECTED-post
 */
static void posts_after_disconnect(struct t *t)
{
	struct qt *q = setup(t, NULL, true);
	struct t_await *wa, *wb;

	if (!q)
		return;
	wa = t_disconnect_start(q->a);
	if (!wa || !t_wait_gone(q->b))
		return;
	wb = t_disconnect_start(q->b);
	if (!wb)
		return;
	EXPECT_STATUS(t, t_join(wa), 0);
	EXPECT_STATUS(t, t_join(wb), 0);
	all_not_connected(q);
	EXPECT(t, t_no_result(q->a->icq, 30));
}

/* Proves: RECEIVE.wrong-state, 7.1-receive-early */
static void receives_before_connect(struct t *t)
{
	struct qt *q = setup(t, NULL, false);
	int i;

	if (!q)
		return;
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, i * LEN, LEN), 0);
	EXPECT(t, t_no_result(q->b->rcq, 30));
	if (!t_establish(q->a, q->p->listener, q->b))
		return;
	t_fill(q->abuf->va, 8 * LEN, 1);
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, t_post_send(q->a, i, q->abuf, i * LEN, LEN, 0), 0);
	for (i = 0; i < 8; i++)
		t_take_ok(q->b, q->b->rcq, i, NDK_OPERATION_RECEIVE);
	t_check_fill(t, q->bbuf->va, 8 * LEN, 1, "received");
}

/* --- full ----------------------------------------------------------------- */

/* Proves: SEND.no-resources, 7.1-full, 7.1-refused, 12-full-queue */
static void initiator_queue_full(struct t *t)
{
	const struct t_cfg cfg = { .depth = 16, .cq_depth = 256 };
	struct qt *q = setup(t, &cfg, true);
	int i, n, rc, round;

	if (!q)
		return;
	for (round = 0; round < 3; round++) {
		/* The peer has no receive: nothing completes. */
		for (n = 0; n < 200; n++) {
			rc = t_post_send(q->a, n, q->abuf, 0, LEN, 0);
			if (rc)
				break;
		}
		EXPECT_STATUS(t, rc, -ENOBUFS);
		EXPECT(t, n >= 16 && n < 200);
		EXPECT_STATUS(t, t_post_send(q->a, 999, q->abuf, 0, LEN, 0), -ENOBUFS);
		for (i = 0; i < n; i++) {
			EXPECT_STATUS(t, t_post_receive(q->b, i, q->bbuf, 0, LEN), 0);
			if (!t_take_ok(q->b, q->b->rcq, i, NDK_OPERATION_RECEIVE) ||
			    !t_take_ok(q->a, q->a->icq, i, NDK_OPERATION_SEND))
				return;
		}
		EXPECT(t, t_no_result(q->a->icq, 10));
	}
}

/* Proves: RECEIVE.no-resources, 7.1-full, 7.1-refused, 12-full-queue */
static void receive_queue_full(struct t *t)
{
	const struct t_cfg cfg = { .depth = 16, .cq_depth = 256 };
	struct qt *q = setup(t, &cfg, true);
	int i, n, rc;

	if (!q)
		return;
	for (n = 0; n < 200; n++) {
		rc = t_post_receive(q->b, n, q->bbuf, 0, LEN);
		if (rc)
			break;
	}
	EXPECT_STATUS(t, rc, -ENOBUFS);
	EXPECT(t, n >= 16 && n < 200);
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, t_post_send(q->a, i, q->abuf, 0, LEN, 0), 0);
		if (!t_take_ok(q->b, q->b->rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(q->a, q->a->icq, i, NDK_OPERATION_SEND))
			return;
	}
	EXPECT(t, t_no_result(q->b->rcq, 10));
	t_ping(q->a, q->b);
}

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
	struct qt *q = setup(t, &cfg, true);
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
	struct qt *q = setup(t, &cfg, true);
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
	struct qt *q = setup(t, NULL, true);
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
	struct qt *q = setup(t, NULL, true);
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
	struct qt *q = setup(t, NULL, true);
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
	struct qt *q = setup(t, NULL, false);
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
	struct qt *q = setup(t, NULL, true);

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
	struct qt *q = setup(t, &cfg, true);
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
	struct qt *q = setup(t, &cfg, true);
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
		q = setup(t, &cfg, true);
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
	{ "flags_of_other_requests_are_einval", flags_of_other_requests },
	{ "too_much_in_one_request_is_emsgsize", too_much_in_one_request },
	{ "posts_before_connect_are_enotconn", posts_before_connect },
	{ "posts_while_connecting_are_enotconn", posts_while_connecting },
	{ "posts_after_disconnect_are_enotconn", posts_after_disconnect },
	{ "receives_before_connect_are_used", receives_before_connect },
	{ "full_initiator_queue_is_enobufs", initiator_queue_full },
	{ "full_receive_queue_is_enobufs", receive_queue_full },
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

T_GROUP(queues, cases);
