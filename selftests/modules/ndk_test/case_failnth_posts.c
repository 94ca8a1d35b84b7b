// SPDX-License-Identifier: GPL-2.0
/* Requests of memory without memory, and every kind of request on a queue without room. */

#include "failnth.h"

#define BASE 0x770000000000ULL

struct posts {
	struct t *t;
	struct t_pair *p;
	struct ndk_mr *mr;
	struct t_buf *buf, *in, *out;
	struct t_region *sink;
	u32 token;
};

static struct posts *setup(struct t *t, const struct t_cfg *cfg)
{
	struct posts *s = t_alloc(t, sizeof(*s));
	struct ndk_object_header *h;
	struct t_await *w;

	s->t = t;
	s->p = t_pair(t, cfg);
	if (!s->p)
		return NULL;
	s->buf = t_buf(&s->p->b, 2 * PAGE_SIZE);
	s->in = t_buf(&s->p->b, 64);
	s->out = t_buf(&s->p->a, 64);
	s->sink = t_region(&s->p->a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	h = t_create(&s->p->b, KIND_FAST_MR);
	if (!s->buf || !s->in || !s->out || !s->sink || !h)
		return NULL;
	s->mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	if (!EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(s->mr, 2, true, t_done, w)), 0))
		return NULL;
	return s;
}

static int registers(struct posts *s)
{
	return ndk_fast_register(s->p->b.qp, CTX(1), s->mr, 2, s->buf->lam->pages, 0, 2 * PAGE_SIZE, BASE,
				 NDK_OP_FLAG_ALLOW_REMOTE_READ);
}

static int reads(struct posts *s)
{
	struct ndk_sge sge = { .virtual_address = s->sink->base, .length = 64, .token = s->sink->local };

	return ndk_read(s->p->a.qp, CTX(2), &sge, 1, BASE, s->token, 0);
}

static int sends(struct posts *s)
{
	struct ndk_sge sge;

	t_sges(s->out, 0, 64, &sge, 1);
	return ndk_send_and_invalidate(s->p->a.qp, CTX(3), &sge, 1, 0, s->token);
}

/* The device may want memory for the pages of a registration; then nothing was posted. Nothing else wants any. */
static bool registered(struct posts *s)
{
	unsigned int n;
	bool hit;
	int rc;

	for (n = 1; n < MOST; n++) {
		fail_nth(n);
		rc = registers(s);
		hit = was_hit();
		if (!judge(s->t, "fast register", n, hit, rc))
			return false;
		if (!rc)
			break;
		EXPECT(s->t, t_no_result(s->p->b.icq, 1));
	}
	s->token = ndk_get_remote_token_from_mr(s->mr);
	return !rc && t_take_ok(&s->p->b, s->p->b.icq, 1, NDK_OPERATION_FAST_REGISTER);
}

/*
 * Proves: FAST_REGISTER.no-resources, INVALIDATE.no-resources, READ.no-resources, SEND_AND_INVALIDATE.no-resources,
 * GET_CQ_RESULTS.no-resources, FLUSH.no-resources
 */
static void without_memory(struct t *t)
{
	struct posts *s = setup(t, NULL);
	struct ndk_result r[2];
	bool hit;
	int i, rc;
	u32 n;

	for (i = 0; s && i < 4; i++) {
		if (!registered(s))
			return;
		fail_nth(1);
		rc = reads(s);
		hit = was_hit();
		EXPECT(t, !hit && !rc);
		if (!t_take_ok(&s->p->a, s->p->a.icq, 2, NDK_OPERATION_READ))
			return;
		fail_nth(1);
		rc = ndk_invalidate(s->p->b.qp, CTX(4), &s->mr->header, 0);
		hit = was_hit();
		EXPECT(t, !hit && !rc);
		if (!t_take_ok(&s->p->b, s->p->b.icq, 4, NDK_OPERATION_INVALIDATE) || !registered(s))
			return;
		EXPECT_STATUS(t, t_post_receive(&s->p->b, 5, s->in, 0, 64), 0);
		fail_nth(1);
		rc = sends(s);
		hit = was_hit();
		EXPECT(t, !hit && !rc);
		if (!t_take_ok(&s->p->a, s->p->a.icq, 3, NDK_OPERATION_SEND))
			return;
		fail_nth(1);
		n = ndk_get_cq_results(s->p->b.rcq->cq, r, ARRAY_SIZE(r));
		hit = was_hit();
		EXPECT(t, !hit && n == 1);
	}
	if (!s)
		return;
	/* A flush has no status to tell of a want of memory: it does what it is for. */
	EXPECT_STATUS(t, t_post_receive(&s->p->b, 6, s->in, 0, 64), 0);
	fail_nth(1);
	ndk_flush(s->p->b.qp);
	was_hit();
	t_take_status(&s->p->b, s->p->b.rcq, 6, NDK_OPERATION_RECEIVE, -ECANCELED);
}

/* A chain is kept in what the QP has. */
/* Proves: SEND.no-resources, READ.no-resources, WRITE.no-resources, 7.5-hint */
static void chains_without_memory(struct t *t)
{
	struct posts *s = setup(t, NULL);
	struct ndk_sge sink;
	unsigned int i;
	bool hit;
	int rc[4];

	if (!s || !registered(s))
		return;
	sink = (struct ndk_sge) { .virtual_address = s->sink->base, .length = 64, .token = s->sink->local };
	for (i = 0; i < 20; i++) {
		EXPECT_STATUS(t, t_post_receive(&s->p->b, 5, s->in, 0, 64), 0);
		EXPECT_STATUS(t, t_post_receive(&s->p->b, 6, s->in, 0, 64), 0);
		fail_nth(1);
		rc[0] = t_post_send(&s->p->a, 1, s->out, 0, 64, NDK_OP_FLAG_DEFER);
		rc[1] = ndk_read(s->p->a.qp, CTX(2), &sink, 1, BASE, s->token, NDK_OP_FLAG_DEFER);
		rc[2] = t_post_send(&s->p->a, 3, s->out, 0, 64, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
		rc[3] = ndk_read(s->p->a.qp, CTX(4), &sink, 1, BASE, s->token, NDK_OP_FLAG_READ_FENCE);
		hit = was_hit();
		EXPECT(t, !hit && !rc[0] && !rc[1] && !rc[2] && !rc[3]);
		if (!t_drain(s->p->a.icq, 3, 0) || !t_drain(s->p->b.rcq, 2, 0))
			return;
	}
}

#define DEPTH 8

/*
 * Proves: SEND.no-resources, SEND_AND_INVALIDATE.no-resources, WRITE.no-resources, READ.no-resources,
 * FAST_REGISTER.no-resources, INVALIDATE.no-resources, 7.1-full, 7.1-refused, 12-full-queue
 */
static void without_room(struct t *t)
{
	const struct t_cfg cfg = { .depth = DEPTH, .cq_depth = 64 };
	struct posts *s = setup(t, &cfg);
	int i, n, side;

	if (!s)
		return;
	if (!EXPECT_STATUS(t, registers(s), 0) ||
	    !t_take_ok(&s->p->b, s->p->b.icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	s->token = ndk_get_remote_token_from_mr(s->mr);
	/* Messages that nobody receives fill the queue of either end. */
	for (side = 0; side < 2; side++)
		for (n = 0; n < 4 * DEPTH; n++)
			if (t_post_send(side ? &s->p->b : &s->p->a, 10 + n, side ? s->in : s->out, 0, 64, 0))
				break;
	if (!EXPECT(t, n >= DEPTH && n < 4 * DEPTH))
		return;
	EXPECT_STATUS(t, t_post_send(&s->p->a, 9, s->out, 0, 64, 0), -ENOBUFS);
	EXPECT_STATUS(t, sends(s), -ENOBUFS);
	EXPECT_STATUS(t, reads(s), -ENOBUFS);
	EXPECT_STATUS(t, t_post_write(&s->p->a, 9, s->out, 0, 64, BASE, s->token, 0), -ENOBUFS);
	EXPECT_STATUS(t, ndk_invalidate(s->p->b.qp, CTX(9), &s->mr->header, 0), -ENOBUFS);
	/* It is registered still: a peer's read proves it, when there is room again. */
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, t_post_receive(&s->p->b, i, s->in, 0, 64), 0);
		if (!t_take_ok(&s->p->b, s->p->b.rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(&s->p->a, s->p->a.icq, 10 + i, NDK_OPERATION_SEND))
			return;
	}
	if (!EXPECT_STATUS(t, reads(s), 0) || !t_take_ok(&s->p->a, s->p->a.icq, 2, NDK_OPERATION_READ))
		return;
	/* And what is not registered stays so: the queue of b is full until a receives. */
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, t_post_receive(&s->p->a, i, s->out, 0, 64), 0);
		if (!t_take_ok(&s->p->a, s->p->a.rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(&s->p->b, s->p->b.icq, 10 + i, NDK_OPERATION_SEND))
			return;
	}
	if (!EXPECT_STATUS(t, ndk_invalidate(s->p->b.qp, CTX(4), &s->mr->header, 0), 0) ||
	    !t_take_ok(&s->p->b, s->p->b.icq, 4, NDK_OPERATION_INVALIDATE))
		return;
	for (i = 0; i < n; i++)
		EXPECT_STATUS(t, t_post_send(&s->p->b, 10 + i, s->in, 0, 64, 0), 0);
	EXPECT_STATUS(t, registers(s), -ENOBUFS);
	EXPECT_STATUS(t, ndk_invalidate(s->p->b.qp, CTX(9), &s->mr->header, 0), -EBADRQC);
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, t_post_receive(&s->p->a, i, s->out, 0, 64), 0);
		if (!t_take_ok(&s->p->a, s->p->a.rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(&s->p->b, s->p->b.icq, 10 + i, NDK_OPERATION_SEND))
			return;
	}
	if (EXPECT_STATUS(t, registers(s), 0))
		t_take_ok(&s->p->b, s->p->b.icq, 1, NDK_OPERATION_FAST_REGISTER);
	EXPECT(t, t_no_result(s->p->b.icq, 10));
}

static const struct t_case cases[] = {
	{ "requests_of_memory_need_none", without_memory },
	{ "chains_need_no_memory", chains_without_memory },
	{ "every_kind_of_request_on_a_full_queue", without_room },
};

T_GROUP(failnth_posts, cases);
