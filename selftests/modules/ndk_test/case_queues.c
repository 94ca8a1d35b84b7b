// SPDX-License-Identifier: GPL-2.0
/* The queues of a QP: what they refuse, and what full ones do. */

#include "queues.h"

/* --- flags, sizes, states ------------------------------------------------- */

static const u32 all_flags[] = {
	NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, NDK_OP_FLAG_ALLOW_REMOTE_READ, NDK_OP_FLAG_ALLOW_LOCAL_WRITE,
	NDK_OP_FLAG_INLINE, NDK_OP_FLAG_RDMA_READ_SINK, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE,
	NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE, 0x400, 0x80000000,
};

/* Proves: SEND.bad-argument, SEND_AND_INVALIDATE.bad-argument, WRITE.bad-argument, READ.bad-argument, 7.1-refused */
static void flags_of_other_requests(struct t *t)
{
	struct qt *q = qt_setup(t, NULL, true);
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
	struct qt *q = qt_setup(t, &cfg, true);
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
	struct qt *q = qt_setup(t, NULL, false);

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
	struct qt *q = qt_setup(t, NULL, false);
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
	struct qt *q = qt_setup(t, NULL, true);
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
	struct qt *q = qt_setup(t, NULL, false);
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
	struct qt *q = qt_setup(t, &cfg, true);
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
	struct qt *q = qt_setup(t, &cfg, true);
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

static const struct t_case cases[] = {
	{ "flags_of_other_requests_are_einval", flags_of_other_requests },
	{ "too_much_in_one_request_is_emsgsize", too_much_in_one_request },
	{ "posts_before_connect_are_enotconn", posts_before_connect },
	{ "posts_while_connecting_are_enotconn", posts_while_connecting },
	{ "posts_after_disconnect_are_enotconn", posts_after_disconnect },
	{ "receives_before_connect_are_used", receives_before_connect },
	{ "full_initiator_queue_is_enobufs", initiator_queue_full },
	{ "full_receive_queue_is_enobufs", receive_queue_full },
};

T_GROUP(queues, cases);
