// SPDX-License-Identifier: GPL-2.0
/* Deferred requests: a chain has one doorbell, and whatever happens to it, what was accepted ends once. */

#include "ndk_test.h"

#define LEN 64
#define DEFER NDK_OP_FLAG_DEFER
#define RW (NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE)

struct dt {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct t_buf *abuf, *bbuf;
};

static struct dt *setup(struct t *t, const struct t_cfg *cfg)
{
	struct dt *d = t_alloc(t, sizeof(*d));

	d->t = t;
	d->p = t_pair(t, cfg);
	if (!d->p)
		return NULL;
	d->a = &d->p->a;
	d->b = &d->p->b;
	d->abuf = t_buf(d->a, SZ_16K);
	d->bbuf = t_buf(d->b, SZ_16K);
	return d->abuf && d->bbuf ? d : NULL;
}

static bool receives(struct dt *d, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!EXPECT_STATUS(d->t, t_post_receive(d->b, i, d->bbuf, i * LEN, LEN), 0))
			return false;
	return true;
}

static int defer(struct dt *d, unsigned long i, u32 flags)
{
	return t_post_send(d->a, i, d->abuf, i * LEN, LEN, DEFER | flags);
}

/* Requests 0 to nr - 1 came out at both ends, in order. */
static bool all_sent(struct dt *d, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!t_take_ok(d->b, d->b->rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(d->a, d->a->icq, i, NDK_OPERATION_SEND))
			return false;
	return t_check_fill(d->t, d->bbuf->va, nr * LEN, 3, "received");
}

/* Proves: SEND.ok, 7.5-hint, 7.5-push-on-undeferred, 7.2-order */
static void a_chain_goes_with_its_last_request(struct t *t)
{
	const struct t_cfg cfg = { .depth = 40 };
	struct dt *d = setup(t, &cfg);
	int i, nr = t->arg;

	if (!d || !receives(d, nr))
		return;
	t_fill(d->abuf->va, nr * LEN, 3);
	for (i = 0; i < nr - 1; i++)
		EXPECT_STATUS(t, defer(d, i, 0), 0);
	EXPECT_STATUS(t, t_post_send(d->a, i, d->abuf, i * LEN, LEN, 0), 0);
	if (all_sent(d, nr))
		t_ping(d->a, d->b);
}

/* The consumer has its array of SGEs and its inline data back when the post returns. */
static void pieces_are_taken_when_posted(struct t *t)
{
	const struct t_cfg cfg = { .inline_size = LEN, .sge = 4 };
	struct dt *d = setup(t, &cfg);
	struct ndk_sge sge[8];
	u8 data[LEN];
	u32 n, i;

	if (!d || !receives(d, 3))
		return;
	t_fill(d->abuf->va, 3 * LEN, 3);
	n = t_sges(d->abuf, 0, LEN, sge, ARRAY_SIZE(sge));
	EXPECT_STATUS(t, ndk_send(d->a->qp, CTX(0), sge, n, DEFER), 0);
	memset(sge, 0xee, sizeof(sge));
	/* More pieces than other requests have. */
	memcpy(data, d->abuf->va + LEN, LEN);
	for (i = 0; i < 8; i++)
		sge[i] = (struct ndk_sge) { .virtual_address = (u64)(unsigned long)&data[i * 8], .length = 8 };
	EXPECT_STATUS(t, ndk_send(d->a->qp, CTX(1), sge, 8, DEFER | NDK_OP_FLAG_INLINE), 0);
	memset(sge, 0xee, sizeof(sge));
	memset(data, 0xee, sizeof(data));
	EXPECT_STATUS(t, t_post_send(d->a, 2, d->abuf, 2 * LEN, LEN, 0), 0);
	all_sent(d, 3);
}

/* Proves: 7.4-fires */
static void silent_requests_in_a_chain(struct t *t)
{
	struct dt *d = setup(t, NULL);
	int i, round;

	if (!d)
		return;
	t_fill(d->abuf->va, 8 * LEN, 3);
	for (round = 0; round < 40; round++) {
		if (!receives(d, 8))
			return;
		for (i = 0; i < 7; i++)
			EXPECT_STATUS(t, defer(d, i, NDK_OP_FLAG_SILENT_SUCCESS), 0);
		EXPECT_STATUS(t, t_post_send(d->a, 7, d->abuf, 7 * LEN, LEN, 0), 0);
		for (i = 0; i < 8; i++)
			if (!t_take_ok(d->b, d->b->rcq, i, NDK_OPERATION_RECEIVE))
				return;
		if (!t_take_ok(d->a, d->a->icq, 7, NDK_OPERATION_SEND))
			return;
	}
	EXPECT(t, t_no_result(d->a->icq, 20));
}

enum { BAD_FLAG, TOO_MANY_BYTES, NO_ARRAY, NO_MR, NOT_VALID, BAD_RANGE, TOO_MUCH_INLINE };

static int failing_post(struct dt *d, long how, struct ndk_mr *mr)
{
	struct ndk_sge sge[2] = { { .length = U32_MAX }, { .length = 2 } };
	struct ndk_qp *qp = d->a->qp;

	switch (how) {
	case BAD_FLAG:
		return ndk_send(qp, CTX(99), sge, 0, DEFER | 0x80000000);
	case TOO_MANY_BYTES:
		return ndk_write(qp, CTX(99), sge, 2, 0, 0, DEFER);
	case NO_ARRAY:
		return ndk_read(qp, CTX(99), NULL, 1, 0, 0, DEFER);
	case NO_MR:
		return ndk_invalidate(qp, CTX(99), NULL, DEFER);
	case NOT_VALID:
		return ndk_invalidate(qp, CTX(99), &mr->header, DEFER);
	case BAD_RANGE:
		return ndk_fast_register(qp, CTX(99), mr, 1, d->abuf->lam->pages, PAGE_SIZE, 1, 0, DEFER);
	default:
		sge[0] = (struct ndk_sge) { .virtual_address = (u64)(unsigned long)sge, .length = 32 };
		return ndk_send(qp, CTX(99), sge, 1, DEFER | NDK_OP_FLAG_INLINE);
	}
}

/* Proves: 7.5-push-on-failure, 7.1-refused */
static void a_failing_post_pushes(struct t *t)
{
	struct dt *d = setup(t, NULL);
	struct ndk_object_header *h;
	int rc;

	if (!d || !receives(d, 3))
		return;
	h = t_create(d->a, KIND_FAST_MR);
	if (!h)
		return;
	t_fill(d->abuf->va, 3 * LEN, 3);
	EXPECT_STATUS(t, defer(d, 0, 0), 0);
	EXPECT_STATUS(t, defer(d, 1, 0), 0);
	EXPECT_STATUS(t, defer(d, 2, 0), 0);
	rc = failing_post(d, t->arg, container_of(h, struct ndk_mr, header));
	EXPECT(t, rc && rc != -EINPROGRESS);
	if (all_sent(d, 3) && EXPECT(t, t_no_result(d->a->icq, 10)))
		t_ping(d->a, d->b);
}

/* Proves: 7.5-push-on-failure, 7.1-full */
static void a_full_queue_pushes(struct t *t)
{
	const struct t_cfg cfg = { .depth = 8, .cq_depth = 64 };
	struct dt *d = setup(t, &cfg);
	int i;

	if (!d || !receives(d, 8))
		return;
	t_fill(d->abuf->va, 8 * LEN, 3);
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, defer(d, i, 0), 0);
	EXPECT_STATUS(t, defer(d, 99, 0), -ENOBUFS);
	if (all_sent(d, 8))
		t_ping(d->a, d->b);
}

enum { FLUSH, DISCONNECT, CLOSE_CONNECTOR, CLOSE_QP_TOO, PEER_CLOSES };

/* Proves: 7.5-push-on-end, FLUSH.ok */
static void the_end_leaves_none_behind(struct t *t)
{
	struct dt *d = setup(t, NULL);
	struct ndk_result_ex r;
	struct t_await *w = NULL;
	int i;

	if (!d || !receives(d, 3))
		return;
	EXPECT_STATUS(t, defer(d, 0, 0), 0);
	EXPECT_STATUS(t, defer(d, 1, NDK_OP_FLAG_READ_FENCE), 0);
	EXPECT_STATUS(t, defer(d, 2, 0), 0);
	switch (t->arg) {
	case FLUSH:
		ndk_flush(d->a->qp);
		break;
	case DISCONNECT:
		w = t_disconnect_start(d->a);
		if (t_wait_gone(d->b))
			t_join(t_disconnect_start(d->b));
		break;
	case CLOSE_QP_TOO:
		t_close_start(t, &d->a->qp->header);
		fallthrough;
	case CLOSE_CONNECTOR:
		w = t_close_start(t, &d->a->connector->header);
		d->a->connector = NULL;
		if (t->arg == CLOSE_QP_TOO)
			d->a->qp = NULL;
		break;
	case PEER_CLOSES:
		t_close(t, &d->b->connector->header);
		d->b->connector = NULL;
		t_wait_gone(d->a);
		t_join(t_disconnect_start(d->a));
		break;
	}
	if (w)
		t_join(w);
	/* Those that reached the peer before the end may have succeeded. */
	for (i = 0; i < 3; i++) {
		if (!t_take(d->a->icq, &r))
			return;
		EXPECT_EQ(t, (long)r.request_context, i);
		EXPECT(t, !r.status || r.status == -ECANCELED);
	}
	EXPECT(t, t_no_result(d->a->icq, 10));
}

static struct ndk_mr *ready_mr(struct dt *d)
{
	struct ndk_object_header *h = t_create(d->a, KIND_FAST_MR);
	struct t_await *w;
	struct ndk_mr *mr;

	if (!h)
		return NULL;
	mr = container_of(h, struct ndk_mr, header);
	w = t_await(d->t, "initialize fast register");
	return EXPECT_STATUS(d->t, t_wait(w, ndk_initialize_fast_register_mr(mr, 4, true, t_done, w)), 0) ? mr : NULL;
}

static int defer_register(struct dt *d, struct ndk_mr *mr, unsigned long ctx)
{
	return ndk_fast_register(d->a->qp, CTX(ctx), mr, 2, d->abuf->lam->pages, 0, 2 * PAGE_SIZE, 0x10000, RW | DEFER);
}

/* The scenario of the deferral rules: the second registration fails, so the first one goes, and the send never does. */
static void registrations_of_which_one_fails(struct t *t)
{
	struct dt *d = setup(t, NULL);
	struct ndk_mr *first, *second;

	if (!d)
		return;
	first = ready_mr(d);
	second = first ? ready_mr(d) : NULL;
	if (!second)
		return;
	EXPECT_STATUS(t, defer_register(d, first, 1), 0);
	EXPECT_STATUS(t, ndk_fast_register(d->a->qp, CTX(2), second, 5, d->abuf->lam->pages, 0, PAGE_SIZE, 0x10000,
					   RW | DEFER), -EINVAL);
	t_take_ok(d->a, d->a->icq, 1, NDK_OPERATION_FAST_REGISTER);
	EXPECT(t, t_no_result(d->a->icq, 20));
	EXPECT_STATUS(t, defer_register(d, second, 3), 0);
	EXPECT_STATUS(t, ndk_invalidate(d->a->qp, CTX(4), &first->header, 0), 0);
	t_take_ok(d->a, d->a->icq, 3, NDK_OPERATION_FAST_REGISTER);
	t_take_ok(d->a, d->a->icq, 4, NDK_OPERATION_INVALIDATE);
}

/* An MR whose registration waits is closed: the close waits for nothing that the consumer would have to do. */
static void the_mr_of_a_waiting_registration_is_closed(struct t *t)
{
	struct dt *d = setup(t, NULL);
	struct ndk_mr *mr;

	if (!d)
		return;
	mr = ready_mr(d);
	if (!mr)
		return;
	EXPECT_STATUS(t, defer_register(d, mr, 1), 0);
	EXPECT_STATUS(t, t_join(t_close_start(t, &mr->header)), 0);
	t_take_ok(d->a, d->a->icq, 1, NDK_OPERATION_FAST_REGISTER);
	t_ping(d->a, d->b);
}

/* Posts from inside of a callback, in softirq. */
struct burst {
	struct dt *d;
	int rc;
};

static void post_burst(struct t_await *w)
{
	struct burst *burst = w->arg;
	int i;

	for (i = 0; i < 3 && !burst->rc; i++)
		burst->rc = defer(burst->d, i, i == 1 ? NDK_OP_FLAG_READ_FENCE : 0);
	burst->rc = burst->rc ?: t_post_send(burst->d->a, 3, burst->d->abuf, 3 * LEN, LEN, 0);
}

/* Proves: SEND.softirq */
static void a_chain_posted_in_softirq(struct t *t)
{
	struct dt *d = setup(t, NULL);
	struct ndk_object_header *h;
	struct burst burst = { .d = d };

	if (!d || !receives(d, 4))
		return;
	t_fill(d->abuf->va, 4 * LEN, 3);
	h = t_create(d->a, KIND_MR);
	if (!h)
		return;
	t_join(t_close_then(t, h, post_burst, &burst));
	EXPECT_STATUS(t, burst.rc, 0);
	all_sent(d, 4);
}

/*
 * A read that invalidates, and the proof that its sink is gone: a registration of the same MR is possible again.
 * Proves: READ.ok, 6.6-read-invalidate
 */
static void reads_that_invalidate(struct t *t)
{
	struct dt *d = setup(t, NULL);
	u32 flags = NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE | (t->arg ? DEFER : 0);
	struct ndk_result_ex r;
	struct t_region *from;
	struct ndk_sge sge;
	struct ndk_mr *mr;
	int i;

	if (!d)
		return;
	EXPECT(t, t_info(t, d->a->adapter).adapter_flags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE);
	from = t_region(d->b, PAGE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	mr = ready_mr(d);
	if (!from || !mr)
		return;
	for (i = 0; i < 5; i++) {
		t_fill(from->va, PAGE_SIZE, i);
		EXPECT_STATUS(t, ndk_fast_register(d->a->qp, CTX(1), mr, 1, d->abuf->lam->pages, 0, PAGE_SIZE, 0x10000,
						   NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK | DEFER), 0);
		sge = (struct ndk_sge) {
			.virtual_address = 0x10000, .length = PAGE_SIZE, .token = ndk_get_local_token_from_mr(mr),
		};
		EXPECT_STATUS(t, ndk_read(d->a->qp, CTX(2), &sge, 1, from->base, from->remote, flags), 0);
		if (t->arg && (!EXPECT_STATUS(t, t_post_receive(d->b, 0, NULL, 0, 0), 0) ||
			       !EXPECT_STATUS(t, t_post_send(d->a, 3, NULL, 0, 0, NDK_OP_FLAG_SILENT_SUCCESS), 0)))
			return;
		if (!t_take_ok(d->a, d->a->icq, 1, NDK_OPERATION_FAST_REGISTER) ||
		    !t_take_ok(d->a, d->a->icq, 2, NDK_OPERATION_READ) ||
		    !t_check_fill(t, d->abuf->va, PAGE_SIZE, i, "read"))
			return;
		if (t->arg && !t_take_ok(d->b, d->b->rcq, 0, NDK_OPERATION_RECEIVE))
			return;
		EXPECT_STATUS(t, ndk_invalidate(d->a->qp, CTX(4), &mr->header, 0), -EBADRQC);
	}
	/* Used again, the token is refused; which failure it is depends on who notices. */
	EXPECT_STATUS(t, t_post_receive(d->b, 0, d->bbuf, 0, LEN), 0);
	sge.length = LEN;
	EXPECT_STATUS(t, ndk_send(d->a->qp, CTX(5), &sge, 1, 0), 0);
	do {
		if (!t_take(d->a->icq, &r))
			return;
	} while (r.request_context != CTX(5));
	EXPECT(t, r.status);
	t_wait_gone(d->a);
}

/* What fails has one completion, that of the read. */
static void a_failed_read_that_invalidates(struct t *t)
{
	struct dt *d = setup(t, NULL);
	struct ndk_sge sge;
	struct ndk_mr *mr;

	if (!d)
		return;
	mr = ready_mr(d);
	if (!mr)
		return;
	EXPECT_STATUS(t, ndk_fast_register(d->a->qp, CTX(1), mr, 1, d->abuf->lam->pages, 0, PAGE_SIZE, 0x10000,
					   NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK), 0);
	sge = (struct ndk_sge) {
		.virtual_address = 0x10000, .length = PAGE_SIZE, .token = ndk_get_local_token_from_mr(mr),
	};
	t_take_ok(d->a, d->a->icq, 1, NDK_OPERATION_FAST_REGISTER);
	EXPECT_STATUS(t, ndk_read(d->a->qp, CTX(2), &sge, 1, 0x1000, 0x1234, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE |
				  (t->arg ? NDK_OP_FLAG_SILENT_SUCCESS : 0)), 0);
	EXPECT_STATUS(t, t_post_send(d->a, 3, NULL, 0, 0, 0), 0);
	t_refused(d->a, d->a->icq, 2, NDK_OPERATION_READ);
	t_take_status(d->a, d->a->icq, 3, NDK_OPERATION_SEND, -ECANCELED);
	EXPECT(t, t_no_result(d->a->icq, 10));
}

static const struct t_case cases[] = {
	{ "chain_of_2", a_chain_goes_with_its_last_request, 2 },
	{ "chain_of_16", a_chain_goes_with_its_last_request, 16 },
	{ "chain_of_17", a_chain_goes_with_its_last_request, 17 },
	{ "chain_of_33", a_chain_goes_with_its_last_request, 33 },
	{ "pieces_are_taken_when_posted", pieces_are_taken_when_posted },
	{ "silent_requests_in_a_chain", silent_requests_in_a_chain },
	{ "bad_flag_pushes", a_failing_post_pushes, BAD_FLAG },
	{ "too_many_bytes_push", a_failing_post_pushes, TOO_MANY_BYTES },
	{ "null_array_pushes", a_failing_post_pushes, NO_ARRAY },
	{ "null_mr_pushes", a_failing_post_pushes, NO_MR },
	{ "invalid_mr_pushes", a_failing_post_pushes, NOT_VALID },
	{ "bad_range_pushes", a_failing_post_pushes, BAD_RANGE },
	{ "too_much_inline_pushes", a_failing_post_pushes, TOO_MUCH_INLINE },
	{ "full_queue_pushes", a_full_queue_pushes },
	{ "flush_pushes", the_end_leaves_none_behind, FLUSH },
	{ "disconnect_pushes", the_end_leaves_none_behind, DISCONNECT },
	{ "close_of_the_connector_pushes", the_end_leaves_none_behind, CLOSE_CONNECTOR },
	{ "close_of_the_qp_pushes", the_end_leaves_none_behind, CLOSE_QP_TOO },
	{ "close_by_the_peer_pushes", the_end_leaves_none_behind, PEER_CLOSES },
	{ "registrations_of_which_one_fails", registrations_of_which_one_fails },
	{ "mr_of_a_waiting_registration_is_closed", the_mr_of_a_waiting_registration_is_closed },
	{ "chain_posted_in_softirq", a_chain_posted_in_softirq },
	{ "read_that_invalidates", reads_that_invalidate, 0 },
	{ "deferred_read_that_invalidates", reads_that_invalidate, 1 },
	{ "failed_read_that_invalidates", a_failed_read_that_invalidates, 0 },
	{ "silent_failed_read_that_invalidates", a_failed_read_that_invalidates, 1 },
};

T_GROUP(defer, cases);
