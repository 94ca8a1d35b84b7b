// SPDX-License-Identifier: GPL-2.0
/* SRQs: who gets a receive, how deep they are. */

#include "ndk_test.h"

/* --- what they are made of ------------------------------------------------ */

static int try_srq(struct t_end *e, u32 depth, u32 sge, u32 threshold, int cpu)
{
	struct t_srq *s = t_alloc(e->t, sizeof(*s));
	struct t_await *w = t_await(e->t, "create SRQ");
	struct ndk_object_header *h;
	void *out = t_poison();
	int status;

	s->t = e->t;
	s->e = e;
	init_completion(&s->notified);
	h = t_create_end(e, KIND_SRQ, w, t_srq_call(s, depth, sge, threshold, cpu, w, &out), &out, &status);
	if (h)
		t_close(e->t, h);
	return status;
}

/* Proves: CREATE_SRQ.bad-argument, CREATE_SRQ.ok, 8.2-affinity, SRQ_NOTIFICATION_CALLBACK.bad-argument */
/* Bug: B68, B75 */
static void create_arguments(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_adapter_info i;
	struct ndk_object_header *h;
	struct t_await *w;
	void *out = t_poison();
	int rc;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	i = t_info(t, e->adapter);
	EXPECT(t, i.max_srq_depth > 0);
	EXPECT_STATUS(t, try_srq(e, 1, 1, 0, -1), 0);
	EXPECT_STATUS(t, try_srq(e, 100, i.max_receive_request_sge, 1, -1), 0);
	EXPECT_STATUS(t, try_srq(e, 4096, 0, 5000, -1), 0);
	EXPECT_STATUS(t, try_srq(e, 1, 1, ~0, 0), 0);
	EXPECT_STATUS(t, try_srq(e, 0, 1, 0, -1), -EINVAL);
	EXPECT_STATUS(t, try_srq(e, i.max_srq_depth + 1, 1, 0, -1), -EINVAL);
	EXPECT_STATUS(t, try_srq(e, ~0, 1, 0, -1), -EINVAL);
	EXPECT_STATUS(t, try_srq(e, 1, i.max_receive_request_sge + 1, 0, -1), -EINVAL);
	/* A CPU that does not exist is a wish that is not fulfilled. */
	EXPECT_STATUS(t, try_srq(e, 1, 1, 0, 100000), 0);
	EXPECT_STATUS(t, try_srq(e, 1, 1, 0, INT_MIN), 0);
	w = t_await(t, "create SRQ without a completion");
	EXPECT_STATUS(t, ndk_create_srq(e->pd, 1, 1, 0, NULL, NULL, -1, NULL, w, (struct ndk_srq **)&out), -EINVAL);
	EXPECT(t, out == t_poison());
	/* The notification is optional. */
	w = t_await(t, "create SRQ without a notification");
	rc = ndk_create_srq(e->pd, 4, 1, 2, NULL, NULL, -1, t_created, w, (struct ndk_srq **)&out);
	h = t_create_end(e, KIND_SRQ, w, rc, &out, &rc);
	if (!EXPECT(t, h))
		return;
	w = t_await(t, "modify SRQ");
	rc = ndk_modify_srq(container_of(h, struct ndk_srq, header), 0, 3, t_done, w);
	EXPECT_STATUS(t, t_wait(w, rc), 0);
}

static int try_qp(struct t_end *e, struct ndk_cq *receive, struct ndk_cq *initiator, struct ndk_srq *srq, u32 depth,
		  u32 sge, u32 inline_size)
{
	struct t_await *w = t_await(e->t, "create QP with SRQ");
	struct ndk_object_header *h;
	void *out = t_poison();
	int status;

	h = t_create_end(e, KIND_QP, w,
			 ndk_create_qp_with_srq(e->pd, receive, initiator, srq, e, depth, sge, inline_size, t_created,
						w, (struct ndk_qp **)&out), &out, &status);
	if (h)
		t_close(e->t, h);
	return status;
}

/* Proves: CREATE_QP_WITH_SRQ.bad-argument, CREATE_QP_WITH_SRQ.ok */
static void qp_arguments(struct t *t)
{
	struct t_end *e = t_alloc(t, 3 * sizeof(*e));
	struct t_srq *s, *other;
	struct ndk_adapter_info i;
	struct t_await *w;
	void *out = t_poison();

	if (!t_end_init(t, &e[0], SIDE_A, NULL) || !t_end_init(t, &e[1], SIDE_A, NULL) ||
	    !t_end_init(t, &e[2], SIDE_B, NULL))
		return;
	s = t_srq(&e[0], 16, 0);
	other = t_srq(&e[1], 16, 0);
	if (!s || !other)
		return;
	i = t_info(t, e->adapter);
#define TRY(receive, initiator, srq, depth, sge, size) try_qp(e, receive, initiator, srq, depth, sge, size)
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->icq->cq, s->srq, 16, 1, 0), 0);
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->rcq->cq, s->srq, 1, 0, 64), 0);
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->icq->cq, s->srq, i.max_initiator_queue_depth + 1, 1, 0), -EINVAL);
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->icq->cq, s->srq, 16, i.max_initiator_request_sge + 1, 0), -EINVAL);
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->icq->cq, s->srq, 16, 1, i.max_inline_data_size + 1), -EINVAL);
	EXPECT_STATUS(t, TRY(NULL, e->icq->cq, s->srq, 16, 1, 0), -EINVAL);
	EXPECT_STATUS(t, TRY(e->rcq->cq, NULL, s->srq, 16, 1, 0), -EINVAL);
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->icq->cq, NULL, 16, 1, 0), -EINVAL);
	/* Of another PD, and CQs of another adapter. */
	EXPECT_STATUS(t, TRY(e->rcq->cq, e->icq->cq, other->srq, 16, 1, 0), -EINVAL);
	EXPECT_STATUS(t, TRY(e[2].rcq->cq, e->icq->cq, s->srq, 16, 1, 0), -EINVAL);
	EXPECT_STATUS(t, TRY(e->rcq->cq, e[2].icq->cq, s->srq, 16, 1, 0), -EINVAL);
#undef TRY
	w = t_await(t, "create QP with SRQ without a completion");
	EXPECT_STATUS(t, ndk_create_qp_with_srq(e->pd, e->rcq->cq, e->icq->cq, s->srq, e, 1, 1, 0, NULL, w,
						(struct ndk_qp **)&out), -EINVAL);
	EXPECT(t, out == t_poison());
}

/* --- receives ------------------------------------------------------------- */

/* Proves: SRQ_RECEIVE.bad-argument, SRQ_RECEIVE.no-resources, 12-full-queue */
static void receive_arguments(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_sge sge[8];
	struct t_buf *buf;
	struct t_srq *s;
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s = t_srq(e, 5, 0);
	buf = t_buf(e, PAGE_SIZE);
	if (!s || !buf)
		return;
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		t_sges(buf, 64 * i, 64, &sge[i], 1);
	EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(1), sge, e->cfg.sge), 0);
	EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(2), NULL, 0), 0);
	EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(3), sge, e->cfg.sge + 1), -EMSGSIZE);
	EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(3), NULL, 1), -EINVAL);
	sge[0].length = ~0;
	EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(3), sge, 2), -EMSGSIZE);
	sge[0].length = 64;
	/* What was refused has taken no place, and the depth is just what was asked for. */
	for (i = 3; i <= 5; i++)
		EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(i), sge, 1), 0);
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(6), sge, 1), -ENOBUFS);
}

/* Proves: SRQ_RECEIVE.ok, CREATE_QP_WITH_SRQ.ok, 8.5-results, 8.5-early */
static void results(struct t *t)
{
	struct t_shared *s = t_shared_unconnected(t, 3, 32, 0);
	unsigned int i, round;

	if (!s)
		return;
	/* Before there is a connection, and the first to ask takes the first. */
	if (!t_shared_fill(s, 1, 6) || !t_shared_connect(s))
		return;
	for (round = 0; round < 2; round++)
		for (i = 0; i < 3; i++)
			if (!t_shared_send(s, (i * 2) % 3, 100 + 3 * round + i))
				return;
	/* Taken in another order than they came. */
	for (i = 3; i--;) {
		unsigned int at = (i * 2) % 3;

		if (!t_shared_got(s, at, 1 + i, 100 + i) || !t_shared_got(s, at, 4 + i, 103 + i))
			return;
		EXPECT(t, t_no_result(s->b[at].rcq, 0));
	}
	/* The places are free again, all of them. */
	if (!t_shared_fill(s, 1, 32))
		return;
	EXPECT_STATUS(t, t_shared_post(s, 33), -ENOBUFS);
	for (i = 0; i < 32; i++)
		if (!t_shared_send(s, i % 3, i) || !t_shared_got(s, i % 3, 1 + i, i))
			return;
}

/* Proves: 8.5-no-receive, RECEIVE.wrong-state */
static void no_receive(struct t *t)
{
	struct t_shared *s = t_shared_unconnected(t, 1, 8, 0);
	struct t_await *w;

	if (!s)
		return;
	EXPECT_STATUS(t, t_post_receive(&s->b[0], 1, s->in, 0, 64), -EBADRQC);
	if (!t_shared_connect(s))
		return;
	EXPECT_STATUS(t, t_post_receive(&s->b[0], 1, s->in, 0, 64), -EBADRQC);
	w = t_disconnect_start(&s->a[0]);
	if (!w || !t_wait_gone(&s->b[0]))
		return;
	t_close(t, &s->b[0].connector->header);
	t_join(w);
	EXPECT_STATUS(t, t_post_receive(&s->b[0], 1, s->in, 0, 64), -EBADRQC);
	/* The SRQ takes receives whatever becomes of a QP. */
	EXPECT_STATUS(t, t_shared_post(s, 1), 0);
}

/* Proves: 7.2-empty-srq, SRQ_RECEIVE.ok */
static void empty_srq(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 8, 0);
	unsigned int i;

	if (!s)
		return;
	for (i = 0; i < 2; i++) {
		t_fill(s->out[i]->va, T_MESSAGE, 40 + i);
		EXPECT_STATUS(t, t_post_send(&s->a[i], 40 + i, s->out[i], 0, T_MESSAGE, 0), 0);
	}
	EXPECT(t, t_no_result(s->a[0].icq, 300));
	EXPECT(t, t_no_result(s->a[1].icq, 0));
	if (!t_shared_fill(s, 1, 2))
		return;
	for (i = 0; i < 2; i++) {
		struct ndk_result_ex r;

		t_take_ok(&s->a[i], s->a[i].icq, 40 + i, NDK_OPERATION_SEND);
		if (!t_take(s->b[i].rcq, &r))
			return;
		EXPECT_STATUS(t, r.status, 0);
		EXPECT(t, r.qp_context == &s->b[i]);
		t_check_fill(t, s->in->va + (unsigned long)r.request_context * T_MESSAGE, T_MESSAGE, 40 + i, "late");
	}
	EXPECT_EQ(t, atomic_read(&s->b[0].gone) + atomic_read(&s->b[1].gone), 0);
}

/* Proves: SEND_AND_INVALIDATE.ok, 7.3-any-getter, 8.5-results */
static void invalidating(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 8, 0);
	struct ndk_result_ex r;
	struct ndk_sge sge;
	struct ndk_mr *mr;
	struct ndk_object_header *h;
	struct t_buf *buf;
	struct t_await *w;
	u32 token;

	if (!s)
		return;
	buf = t_buf(&s->b[0], PAGE_SIZE);
	h = t_create(&s->b[0], KIND_FAST_MR);
	if (!buf || !h)
		return;
	mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	if (!EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(mr, 1, true, t_done, w)), 0))
		return;
	EXPECT_STATUS(t, ndk_fast_register(s->b[0].qp, CTX(1), mr, 1, buf->lam->pages, 0, PAGE_SIZE, PAGE_SIZE,
					   NDK_OP_FLAG_ALLOW_REMOTE_READ), 0);
	t_take_ok(&s->b[0], s->b[0].icq, 1, NDK_OPERATION_FAST_REGISTER);
	token = ndk_get_remote_token_from_mr(mr);
	EXPECT_STATUS(t, t_shared_post(s, 2), 0);
	t_sges(s->out[0], 0, 64, &sge, 1);
	EXPECT_STATUS(t, ndk_send_and_invalidate(s->a[0].qp, CTX(3), &sge, 1, 0, token), 0);
	t_take_ok(&s->a[0], s->a[0].icq, 3, NDK_OPERATION_SEND);
	if (!t_take(s->b[0].rcq, &r))
		return;
	EXPECT_STATUS(t, r.status, 0);
	EXPECT_EQ(t, r.type, NDK_OPERATION_RECEIVE_AND_INVALIDATE);
	EXPECT_EQ(t, (u32)r.type_specific, token);
	EXPECT_EQ(t, r.bytes_transferred, 64);
}

/* --- depth ---------------------------------------------------------------- */

/* Proves: MODIFY_SRQ.ok, MODIFY_SRQ.bad-argument, MODIFY_SRQ.no-resources, 8.5-modify-busy */
/* Bug: B42 */
static void depth(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, t_srq_start(4, 63), 0);
	struct ndk_adapter_info info;
	struct t_await *w;
	unsigned int i;

	if (!s || !EXPECT_STATUS(t, t_srq_modify(s->srq, 4, 0), 0))
		return;
	/* Who cannot says so. */
	if (world.iwarp)
		EXPECT_STATUS(t, t_srq_modify(s->srq, 64, 0), -ENOMEM);
	info = t_info(t, s->b[0].adapter);
	if (!t_shared_fill(s, 0, 4))
		return;
	EXPECT_STATUS(t, t_shared_post(s, 4), -ENOBUFS);
	/* Twice, since the first must leave nothing broken. */
	for (i = 0; i < 2; i++) {
		EXPECT_STATUS(t, t_srq_modify(s->srq, info.max_srq_depth + 1, 0), -EINVAL);
		EXPECT_STATUS(t, t_srq_modify(s->srq, ~0, 1), -EINVAL);
		EXPECT_STATUS(t, t_srq_modify(s->srq, 3, 9), -EOVERFLOW);
		EXPECT_STATUS(t, t_shared_post(s, 4), -ENOBUFS);
	}
	/* A threshold that came with a depth that failed has not come. */
	t_srq_silent(s->srq, 20);
	w = t_await(t, "modify SRQ without a completion");
	EXPECT_STATUS(t, ndk_modify_srq(s->srq->srq, 8, 0, NULL, w), -EINVAL);
	/* With receives in it and messages coming. */
	for (i = 0; i < 4; i++) {
		static const u32 depths[] = { 5, 21, 40, 63 };

		if (!EXPECT_STATUS(t, t_srq_modify(s->srq, depths[i], 0), 0))
			return;
		t_shared_fill(s, i ? depths[i - 1] + i - 1 : 4, depths[i] - (i ? depths[i - 1] - 1 : 4));
		EXPECT_STATUS(t, t_shared_post(s, 99), -ENOBUFS);
		t_shared_send(s, 0, i);
		t_shared_got(s, 0, i, i);
	}
	/* 62 are left. Those that completed do not count, polled or not. */
	EXPECT_STATUS(t, t_srq_modify(s->srq, 61, 0), -EOVERFLOW);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 62, 0), 0);
	EXPECT_STATUS(t, t_shared_post(s, 67), -ENOBUFS);
	for (i = 4; i < 10; i++)
		t_shared_send(s, 0, i);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 55, 0), -EOVERFLOW);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 56, 0), 0);
	for (i = 4; i < 66; i++) {
		if (i >= 10)
			t_shared_send(s, 0, i);
		if (!t_shared_got(s, 0, i, i))
			return;
	}
	EXPECT_STATUS(t, t_srq_modify(s->srq, 1, 0), 0);
	EXPECT_STATUS(t, t_shared_post(s, 0), 0);
	EXPECT_STATUS(t, t_shared_post(s, 1), -ENOBUFS);
}

/* Proves: MODIFY_SRQ.softirq, SRQ_RECEIVE.softirq, CREATE_SRQ.softirq, CREATE_QP_WITH_SRQ.softirq, 2.2-any-context */
static void under_a_spinlock(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_await *w, *closing;
	struct ndk_object_header *h;
	void *out = t_poison();
	struct t_srq *s;
	int rc, status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s = t_srq(e, 4, 0);
	if (!s)
		return;
	e->srq = s->srq;
	w = t_await(t, "modify SRQ");
	spin_lock_bh(&t_consumer_lock);
	rc = ndk_modify_srq(s->srq, 3, 2, t_done, w);
	EXPECT_STATUS(t, ndk_srq_receive(s->srq, CTX(1), NULL, 0), 0);
	spin_unlock_bh(&t_consumer_lock);
	EXPECT_STATUS(t, t_wait(w, rc), 0);
	t_srq_low(s);
	w = t_await(t, "create QP with SRQ");
	spin_lock_bh(&t_consumer_lock);
	rc = t_create_call(e, KIND_QP, w, &out);
	spin_unlock_bh(&t_consumer_lock);
	h = t_create_end(e, KIND_QP, w, rc, &out, &status);
	if (!EXPECT(t, h))
		return;
	spin_lock_bh(&t_consumer_lock);
	closing = t_close_start(t, h);
	spin_unlock_bh(&t_consumer_lock);
	t_join(closing);
}

static const struct t_case cases[] = {
	{ "arguments_of_create_srq", create_arguments },
	{ "arguments_of_create_qp_with_srq", qp_arguments },
	{ "arguments_of_srq_receive", receive_arguments },
	{ "results_come_to_the_qp_that_received", results },
	{ "qp_with_srq_has_no_receives_of_its_own", no_receive },
	{ "message_waits_for_a_receive", empty_srq },
	{ "receive_that_invalidates", invalidating },
	{ "depth_grows_and_shrinks", depth },
	{ "called_under_a_spinlock", under_a_spinlock },
};

T_GROUP(srq, cases);
