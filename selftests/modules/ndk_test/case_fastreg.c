// SPDX-License-Identifier: GPL-2.0
/* Fast registration: made ready once, given out and taken back with requests in the queue. */

#include <linux/mm.h>

#include "ndk_test.h"

#define PAGES 4
#define SIZE (PAGES * PAGE_SIZE)
#define RW (NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE)

struct ft {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct ndk_mr *mr;
	/* b's buffer, whose pages are registered, and a's. */
	struct t_buf *buf, *peer;
	u64 base;
};

static int make_ready(struct t_end *e, struct ndk_mr *mr, u32 pages, bool remote)
{
	struct t_await *w = t_await(e->t, "initialize fast register");

	return t_wait(w, ndk_initialize_fast_register_mr(mr, pages, remote, t_done, w));
}

static struct ndk_mr *fast_mr(struct t_end *e, u32 pages, bool remote)
{
	struct ndk_object_header *h = t_create(e, KIND_FAST_MR);
	struct ndk_mr *mr;

	if (!h)
		return NULL;
	mr = container_of(h, struct ndk_mr, header);
	return EXPECT_STATUS(e->t, make_ready(e, mr, pages, remote), 0) ? mr : NULL;
}

static struct ft *setup(struct t *t, bool remote)
{
	struct ft *f = t_alloc(t, sizeof(*f));

	f->t = t;
	f->p = t_pair(t, NULL);
	if (!f->p)
		return NULL;
	f->a = &f->p->a;
	f->b = &f->p->b;
	f->buf = t_buf(f->b, SIZE);
	f->peer = t_buf(f->a, SIZE);
	if (!f->buf || !f->peer)
		return NULL;
	f->mr = fast_mr(f->b, PAGES, remote);
	f->base = 0x550000000000;
	return f->mr ? f : NULL;
}

static int post(struct ft *f, unsigned long ctx, u32 flags)
{
	return ndk_fast_register(f->b->qp, CTX(ctx), f->mr, PAGES, f->buf->lam->pages, 0, SIZE, f->base, flags);
}

static bool registered(struct ft *f, u32 flags)
{
	return EXPECT_STATUS(f->t, post(f, 1, flags), 0) &&
	       t_take_ok(f->b, f->b->icq, 1, NDK_OPERATION_FAST_REGISTER);
}

static bool invalidated(struct ft *f)
{
	return EXPECT_STATUS(f->t, ndk_invalidate(f->b->qp, CTX(2), &f->mr->header, 0), 0) &&
	       t_take_ok(f->b, f->b->icq, 2, NDK_OPERATION_INVALIDATE);
}

static bool peer_writes(struct ft *f, u32 token, u32 seed)
{
	t_fill(f->peer->va, SIZE, seed);
	return EXPECT_STATUS(f->t, t_post_write(f->a, 3, f->peer, 0, SIZE, f->base, token, 0), 0) &&
	       t_take_ok(f->a, f->a->icq, 3, NDK_OPERATION_WRITE) && t_ping(f->a, f->b) &&
	       t_check_fill(f->t, f->buf->va, SIZE, seed, "written by the peer");
}

static bool peer_reads(struct ft *f, u32 token, u32 seed)
{
	struct t_region *sink = t_region(f->a, SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	struct ndk_sge sge;

	if (!sink)
		return false;
	t_fill(f->buf->va, SIZE, seed);
	sge = (struct ndk_sge) { .virtual_address = sink->base, .length = SIZE, .token = sink->local };
	return EXPECT_STATUS(f->t, ndk_read(f->a->qp, CTX(4), &sge, 1, f->base, token, 0), 0) &&
	       t_take_ok(f->a, f->a->icq, 4, NDK_OPERATION_READ) &&
	       t_check_fill(f->t, sink->va, SIZE, seed, "read by the peer");
}

static void peer_is_refused(struct ft *f, u32 token)
{
	memset(f->buf->va, 0xee, SIZE);
	memset(f->peer->va, 0x11, SIZE);
	EXPECT_STATUS(f->t, t_post_write(f->a, 3, f->peer, 0, 64, f->base, token, 0), 0);
	t_refused(f->a, f->a->icq, 3, NDK_OPERATION_WRITE);
	t_wait_gone(f->a);
	t_wait_gone(f->b);
	t_check_byte(f->t, f->buf->va, SIZE, 0xee, "memory whose token is not valid");
}

/* --- a life --------------------------------------------------------------- */

/* Proves: FAST_REGISTER.ok, INVALIDATE.ok, GET_REMOTE_TOKEN_FROM_MR.ok, 6.5-types, 7.7-tokens-early */
/* Bug: B41 */
static void register_use_invalidate(struct t *t)
{
	struct ft *f = setup(t, true);
	u32 token, last = 0;
	int i;

	if (!f)
		return;
	for (i = 0; i < 5; i++) {
		if (!EXPECT_STATUS(t, post(f, 1, RW), 0))
			return;
		/* Before the completion. */
		token = ndk_get_remote_token_from_mr(f->mr);
		EXPECT(t, token != last);
		last = token;
		if (!t_take_ok(f->b, f->b->icq, 1, NDK_OPERATION_FAST_REGISTER) ||
		    !peer_writes(f, token, i) || !peer_reads(f, token, i + 50) || !invalidated(f))
			return;
	}
	peer_is_refused(f, token);
}

/* As SMB Direct does it: the registration and the message that tells of it are posted back to back. */
/* Proves: FAST_REGISTER.ok, 7.5-hint, 7.7-tokens-early */
static void register_and_send_at_once(struct t *t)
{
	struct ft *f = setup(t, true);
	struct t_buf *msg, *in;

	if (!f)
		return;
	msg = t_buf(f->b, 64);
	in = t_buf(f->a, 64);
	if (!msg || !in)
		return;
	EXPECT_STATUS(t, t_post_receive(f->a, 10, in, 0, 64), 0);
	EXPECT_STATUS(t, post(f, 1, RW | NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER), 0);
	*(u32 *)msg->va = ndk_get_remote_token_from_mr(f->mr);
	EXPECT_STATUS(t, t_post_send(f->b, 11, msg, 0, 64, 0), 0);
	if (!t_take_ok(f->a, f->a->rcq, 10, NDK_OPERATION_RECEIVE) ||
	    !t_take_ok(f->b, f->b->icq, 11, NDK_OPERATION_SEND))
		return;
	peer_writes(f, *(u32 *)in->va, 7);
}

/* A local token of a fast registration serves SGEs. */
/* Proves: FAST_REGISTER.ok, GET_LOCAL_TOKEN_FROM_MR.ok */
static void local_use(struct t *t)
{
	struct ft *f = setup(t, false);
	struct t_buf *in;
	struct ndk_sge sge;

	if (!f || !registered(f, NDK_OP_FLAG_ALLOW_LOCAL_WRITE))
		return;
	in = t_buf(f->a, SIZE);
	if (!in)
		return;
	t_fill(f->buf->va, SIZE, 5);
	sge = (struct ndk_sge) {
		.virtual_address = f->base, .length = SIZE, .token = ndk_get_local_token_from_mr(f->mr),
	};
	EXPECT_STATUS(t, t_post_receive(f->a, 1, in, 0, SIZE), 0);
	EXPECT_STATUS(t, ndk_send(f->b->qp, CTX(2), &sge, 1, 0), 0);
	t_take_ok(f->a, f->a->rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(f->b, f->b->icq, 2, NDK_OPERATION_SEND);
	t_check_fill(t, in->va, SIZE, 5, "sent from a fast registration");
}

/* Proves: FAST_REGISTER.ok, 7.2-bad-remote */
static void read_right_alone(struct t *t)
{
	struct ft *f = setup(t, true);

	if (!f || !registered(f, NDK_OP_FLAG_ALLOW_REMOTE_READ))
		return;
	if (peer_reads(f, ndk_get_remote_token_from_mr(f->mr), 1))
		peer_is_refused(f, ndk_get_remote_token_from_mr(f->mr));
}

/* Proves: FAST_REGISTER.ok, 8.6-fast-register */
static void part_of_the_pages(struct t *t)
{
	struct ft *f = setup(t, true);
	u32 token;

	if (!f)
		return;
	f->base = 0x550000000000 + 700;
	EXPECT_STATUS(t, ndk_fast_register(f->b->qp, CTX(1), f->mr, 2, f->buf->lam->pages + 1, 700, 1000, f->base,
					   RW), 0);
	if (!t_take_ok(f->b, f->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	token = ndk_get_remote_token_from_mr(f->mr);
	memset(f->buf->va, 0xee, SIZE);
	t_fill(f->peer->va, 1000, 3);
	EXPECT_STATUS(t, t_post_write(f->a, 3, f->peer, 0, 1000, f->base, token, 0), 0);
	t_take_ok(f->a, f->a->icq, 3, NDK_OPERATION_WRITE);
	if (!t_ping(f->a, f->b))
		return;
	t_check_fill(t, f->buf->va + PAGE_SIZE + 700, 1000, 3, "written by the peer");
	t_check_byte(t, f->buf->va, PAGE_SIZE + 700, 0xee, "before the region");
	t_check_byte(t, f->buf->va + PAGE_SIZE + 1700, 500, 0xee, "behind the region");
	/* One byte beyond. */
	EXPECT_STATUS(t, t_post_write(f->a, 4, f->peer, 0, 1001, f->base, token, 0), 0);
	t_refused(f->a, f->a->icq, 4, NDK_OPERATION_WRITE);
	t_wait_gone(f->a);
	t_wait_gone(f->b);
	t_check_byte(t, f->buf->va + PAGE_SIZE + 1700, 500, 0xee, "behind the region");
}

/* Pages in another order than in memory. */
/* Proves: FAST_REGISTER.ok */
static void pages_in_any_order(struct t *t)
{
	struct ft *f = setup(t, true);
	u64 pages[PAGES];
	u8 *want;
	int i;

	if (!f)
		return;
	want = t_alloc(t, SIZE);
	t_fill(want, SIZE, 8);
	for (i = 0; i < PAGES; i++)
		pages[i] = f->buf->lam->pages[PAGES - 1 - i];
	EXPECT_STATUS(t, ndk_fast_register(f->b->qp, CTX(1), f->mr, PAGES, pages, 0, SIZE, f->base, RW), 0);
	/* The array is read during the call only. */
	memset(pages, 0xff, sizeof(pages));
	if (!t_take_ok(f->b, f->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	memcpy(f->peer->va, want, SIZE);
	EXPECT_STATUS(t, t_post_write(f->a, 3, f->peer, 0, SIZE, f->base, ndk_get_remote_token_from_mr(f->mr), 0),
		      0);
	t_take_ok(f->a, f->a->icq, 3, NDK_OPERATION_WRITE);
	if (!t_ping(f->a, f->b))
		return;
	for (i = 0; i < PAGES; i++)
		EXPECT(t, !memcmp(f->buf->va + (PAGES - 1 - i) * PAGE_SIZE, want + i * PAGE_SIZE, PAGE_SIZE));
}

/* Proves: INITIALIZE_FAST_REGISTER_MR.ok, FAST_REGISTER.ok, 6.1-limits */
static void as_many_pages_as_initialized(struct t *t)
{
	struct ft *f = setup(t, true);
	struct t_buf *big;
	struct ndk_mr *mr;
	u32 pages;

	if (!f)
		return;
	pages = t_info(t, f->b->adapter).frmr_page_count;
	mr = fast_mr(f->b, pages, true);
	big = t_buf(f->b, pages * PAGE_SIZE);
	if (!mr || !big)
		return;
	EXPECT_STATUS(t, ndk_fast_register(f->b->qp, CTX(1), mr, pages, big->lam->pages, 0, pages * PAGE_SIZE,
					   f->base, RW), 0);
	if (!t_take_ok(f->b, f->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	t_fill(f->peer->va, 64, 2);
	EXPECT_STATUS(t, t_post_write(f->a, 3, f->peer, 0, 64, f->base + pages * PAGE_SIZE - 64,
				      ndk_get_remote_token_from_mr(mr), 0), 0);
	t_take_ok(f->a, f->a->icq, 3, NDK_OPERATION_WRITE);
	if (t_ping(f->a, f->b))
		t_check_fill(t, big->va + pages * PAGE_SIZE - 64, 64, 2, "the last bytes");
}

/* --- refused posts -------------------------------------------------------- */

struct args {
	u32 count;
	u32 fbo;
	u64 length;
	u64 va;
	u32 flags;
};

/* Proves: FAST_REGISTER.bad-argument, INVALIDATE.bad-argument, 7.1-refused, 7.7-no-zero-based, 8.6-fast-register */
static void arguments(struct t *t)
{
	static const struct { struct args a; const char *what; } bad[] = {
		{ { 0, 0, 1, SZ_4K, RW }, "no pages" },
		{ { PAGES + 1, 0, SIZE, SZ_4K, RW }, "more pages than initialized" },
		{ { U32_MAX, 0, SIZE, SZ_4K, RW }, "very many pages" },
		{ { PAGES, PAGE_SIZE, 100, SZ_4K, RW }, "offset of a page" },
		{ { PAGES, U32_MAX, 100, SZ_4K + (PAGE_SIZE - 1), RW }, "offset far beyond" },
		{ { PAGES, 0, 0, SZ_4K, RW }, "no bytes" },
		{ { PAGES, 0, SIZE + 1, SZ_4K, RW }, "more bytes than pages" },
		{ { PAGES, 8, SIZE - 7, SZ_4K + 8, RW }, "more bytes than behind the offset" },
		{ { PAGES, 8, U64_MAX - 4, SZ_4K + 8, RW }, "offset and length that wrap" },
		{ { PAGES, 0, SIZE, SZ_4K + 1, RW }, "address of another offset" },
		{ { PAGES, 8, 100, SZ_4K, RW }, "address without the offset" },
		{ { PAGES, 8, 100, 0, RW }, "address 0 with an offset" },
		{ { PAGES, 0, SIZE, U64_MAX - PAGE_SIZE + 1, RW }, "address and length that wrap" },
		{ { PAGES, 0, SIZE, SZ_4K, RW | NDK_OP_FLAG_INLINE }, "flag of another request" },
		{ { PAGES, 0, SIZE, SZ_4K, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT }, "flag of another request" },
		{ { PAGES, 0, SIZE, SZ_4K, 0x20 }, "half of a right" },
		{ { PAGES, 0, SIZE, SZ_4K, 0x80000000 }, "flag that does not exist" },
	};
	struct ft *f = setup(t, true);
	int i;

	if (!f)
		return;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct args *a = &bad[i].a;
		int rc = ndk_fast_register(f->b->qp, CTX(1), f->mr, a->count, f->buf->lam->pages, a->fbo,
					   a->length, a->va, a->flags);

		if (rc != -EINVAL)
			t_fail(t, "%s: %s", bad[i].what, t_errname(rc));
	}
	EXPECT_STATUS(t, ndk_invalidate(f->b->qp, CTX(1), &f->mr->header, NDK_OP_FLAG_INLINE), -EINVAL);
	EXPECT_STATUS(t, ndk_invalidate(f->b->qp, CTX(1), &f->b->pd->header, 0), -EINVAL);
	EXPECT(t, t_no_result(f->b->icq, 30));
	/* Nothing happened to the MR. */
	if (registered(f, RW))
		peer_writes(f, ndk_get_remote_token_from_mr(f->mr), 4);
}

/*
 * Proves: FAST_REGISTER.wrong-state, INVALIDATE.wrong-state, INITIALIZE_FAST_REGISTER_MR.wrong-state, 7.7-mr-kind,
 * 8.6-invalidate-twice
 */
static void wrong_state(struct t *t)
{
	struct ft *f = setup(t, true);
	struct ndk_object_header *h;
	struct ndk_mr *raw, *normal;
	struct t_await *w;

	if (!f)
		return;
	h = t_create(f->b, KIND_FAST_MR);
	if (!h)
		return;
	raw = container_of(h, struct ndk_mr, header);
	h = t_create(f->b, KIND_MR);
	if (!h)
		return;
	normal = container_of(h, struct ndk_mr, header);
	EXPECT_STATUS(t, ndk_fast_register(f->b->qp, CTX(1), raw, 1, f->buf->lam->pages, 0, 100, SZ_4K, RW),
		      -EBADRQC);
	EXPECT_STATUS(t, ndk_fast_register(f->b->qp, CTX(1), normal, 1, f->buf->lam->pages, 0, 100, SZ_4K, RW),
		      -EBADRQC);
	EXPECT_STATUS(t, ndk_invalidate(f->b->qp, CTX(1), &raw->header, 0), -EBADRQC);
	EXPECT_STATUS(t, ndk_invalidate(f->b->qp, CTX(1), &normal->header, 0), -EBADRQC);
	EXPECT_STATUS(t, ndk_invalidate(f->b->qp, CTX(1), &f->mr->header, 0), -EBADRQC);
	if (!registered(f, RW))
		return;
	EXPECT_STATUS(t, post(f, 1, RW), -EBADRQC);
	w = t_await(t, "initialize a registered MR");
	EXPECT_STATUS(t, ndk_initialize_fast_register_mr(f->mr, PAGES, true, t_done, w), -EBADRQC);
	if (!peer_writes(f, ndk_get_remote_token_from_mr(f->mr), 4) || !invalidated(f))
		return;
	EXPECT_STATUS(t, ndk_invalidate(f->b->qp, CTX(1), &f->mr->header, 0), -EBADRQC);
	EXPECT(t, t_no_result(f->b->icq, 30));
	t_ping(f->a, f->b);
}

/* Proves: FAST_REGISTER.bad-argument, 7.7-access */
static void remote_rights_not_initialized(struct t *t)
{
	struct ft *f = setup(t, false);

	if (!f)
		return;
	EXPECT_STATUS(t, post(f, 1, NDK_OP_FLAG_ALLOW_REMOTE_READ), -EACCES);
	EXPECT_STATUS(t, post(f, 1, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), -EACCES);
	EXPECT(t, t_no_result(f->b->icq, 30));
	registered(f, NDK_OP_FLAG_ALLOW_LOCAL_WRITE);
}

/* Proves: INITIALIZE_FAST_REGISTER_MR.ok */
static void initialized_again(struct t *t)
{
	struct ft *f = setup(t, false);

	if (!f)
		return;
	if (!EXPECT_STATUS(t, make_ready(f->b, f->mr, PAGES, true), 0) || !registered(f, RW))
		return;
	if (!peer_writes(f, ndk_get_remote_token_from_mr(f->mr), 3) || !invalidated(f))
		return;
	EXPECT_STATUS(t, make_ready(f->b, f->mr, 1, true), 0);
	EXPECT_STATUS(t, post(f, 1, RW), -EINVAL);
}

/* --- remote invalidation -------------------------------------------------- */

/* Proves: SEND_AND_INVALIDATE.ok, 6.5-types, 6.5-receive-bit, 7.3-any-getter, 7.3-invalidated-first */
static void remote_invalidation(struct t *t)
{
	struct ft *f = setup(t, true);
	struct t_buf *in, *msg;
	struct ndk_result_ex r;
	struct ndk_result plain;
	struct ndk_sge sge;
	u32 token;
	int i;

	if (!f)
		return;
	in = t_buf(f->b, 64);
	msg = t_buf(f->a, 64);
	if (!in || !msg)
		return;
	for (i = 0; i < 4; i++) {
		if (!registered(f, RW))
			return;
		token = ndk_get_remote_token_from_mr(f->mr);
		if (!peer_writes(f, token, i))
			return;
		t_fill(msg->va, 64, i);
		t_sges(msg, 0, 64, &sge, 1);
		EXPECT_STATUS(t, t_post_receive(f->b, 5, in, 0, 64), 0);
		EXPECT_STATUS(t, ndk_send_and_invalidate(f->a->qp, CTX(6), &sge, 1, 0, token), 0);
		t_take_ok(f->a, f->a->icq, 6, NDK_OPERATION_SEND);
		if (i % 2) {
			/* The plain form does not say so; the token is invalid all the same. */
			t_sleep(20);
			if (!EXPECT_EQ(t, ndk_get_cq_results(f->b->rcq->cq, &plain, 1), 1))
				return;
			EXPECT_STATUS(t, plain.status, 0);
			EXPECT_EQ(t, plain.bytes_transferred, 64);
		} else {
			if (!t_take(f->b->rcq, &r) || !EXPECT_STATUS(t, r.status, 0))
				return;
			EXPECT_EQ(t, r.type, NDK_OPERATION_RECEIVE_AND_INVALIDATE);
			EXPECT(t, r.type & NDK_OPERATION_RECEIVE);
			EXPECT_EQ(t, (u32)r.type_specific, token);
			EXPECT_EQ(t, r.bytes_transferred, 64);
		}
		t_check_fill(t, in->va, 64, i, "received");
	}
	peer_is_refused(f, token);
}

/* Proves: 7.2-bad-invalidate */
static void remote_invalidation_of_nothing(struct t *t)
{
	struct ft *f = setup(t, true);
	struct t_buf *in, *msg;
	struct ndk_result_ex r;
	struct ndk_sge sge;

	if (!f)
		return;
	in = t_buf(f->b, 64);
	msg = t_buf(f->a, 64);
	if (!in || !msg)
		return;
	t_sges(msg, 0, 64, &sge, 1);
	EXPECT_STATUS(t, t_post_receive(f->b, 5, in, 0, 64), 0);
	EXPECT_STATUS(t, ndk_send_and_invalidate(f->a->qp, CTX(6), &sge, 1, 0, 0x7ffffe01), 0);
	if (t_take(f->b->rcq, &r))
		EXPECT(t, r.status);
	t_wait_gone(f->a);
	t_wait_gone(f->b);
}

/* --- read with local invalidate ------------------------------------------- */

/* Proves: READ.ok, 6.6-read-invalidate */
static void read_and_local_invalidate(struct t *t)
{
	struct ft *f = setup(t, true);
	struct t_region *source;
	struct ndk_sge sge;
	bool offered;
	int i;

	if (!f)
		return;
	offered = t_info(t, f->b->adapter).adapter_flags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE;
	source = t_region(f->a, SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	if (!source)
		return;
	for (i = 0; i < 4; i++) {
		if (!registered(f, NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_RDMA_READ_SINK))
			return;
		t_fill(source->va, SIZE, i);
		sge = (struct ndk_sge) {
			.virtual_address = f->base, .length = SIZE, .token = ndk_get_local_token_from_mr(f->mr),
		};
		EXPECT_STATUS(t, ndk_read(f->b->qp, CTX(9), &sge, 1, source->base, source->remote,
					  NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE), 0);
		if (!t_take_ok(f->b, f->b->icq, 9, NDK_OPERATION_READ))
			return;
		EXPECT(t, t_no_result(f->b->icq, 5));
		t_check_fill(t, f->buf->va, SIZE, i, "read");
		/* Where it is not offered the flag is ignored. */
		if (!offered && !invalidated(f))
			return;
	}
	peer_is_refused(f, ndk_get_remote_token_from_mr(f->mr));
}

/* --- close ---------------------------------------------------------------- */

/* Proves: 3.1-MR, 7.2-bad-remote, 12-mr-implicit */
/* Bug: B123 */
static void closed_while_valid(struct t *t)
{
	struct ft *f = setup(t, true);
	u32 token;

	if (!f || !registered(f, RW))
		return;
	token = ndk_get_remote_token_from_mr(f->mr);
	if (!peer_writes(f, token, 1))
		return;
	t_close(t, &f->mr->header);
	peer_is_refused(f, token);
}

/* Of a registration that was flushed nobody knows whether it was made; made ready again, the MR serves another QP. */
/* Proves: INITIALIZE_FAST_REGISTER_MR.ok, 7.6-cancels */
/* Bug: B120 */
static void flushed(struct t *t)
{
	struct ft *f = setup(t, true);
	struct t_end *a2 = t_alloc(t, sizeof(*a2)), *b2 = t_alloc(t, sizeof(*b2));

	if (!f)
		return;
	/* Held up behind a send that nobody receives. */
	EXPECT_STATUS(t, t_post_send(f->b, 1, f->buf, 0, 64, 0), 0);
	EXPECT_STATUS(t, post(f, 2, RW | NDK_OP_FLAG_SILENT_SUCCESS), 0);
	ndk_flush(f->b->qp);
	t_take_status(f->b, f->b->icq, 1, NDK_OPERATION_SEND, -ECANCELED);
	t_take_status(f->b, f->b->icq, 2, NDK_OPERATION_FAST_REGISTER, -ECANCELED);
	*a2 = *f->a;
	*b2 = *f->b;
	a2->connector = NULL;
	init_completion(&a2->gone_done);
	init_completion(&b2->gone_done);
	if (!t_end_qp(a2) || !t_end_qp(b2) || !t_establish(a2, f->p->listener, b2))
		return;
	f->a = a2;
	f->b = b2;
	if (EXPECT_STATUS(t, make_ready(b2, f->mr, PAGES, true), 0) && registered(f, RW))
		peer_writes(f, ndk_get_remote_token_from_mr(f->mr), 3);
}

static const struct t_case cases[] = {
	{ "registered_used_and_invalidated", register_use_invalidate },
	{ "registered_and_sent_at_once", register_and_send_at_once },
	{ "local_token_serves_sges", local_use },
	{ "read_right_alone_refuses_a_write", read_right_alone },
	{ "offset_and_length_bound_the_region", part_of_the_pages },
	{ "pages_in_any_order", pages_in_any_order },
	{ "as_many_pages_as_the_adapter_says", as_many_pages_as_initialized },
	{ "bad_arguments_are_einval", arguments },
	{ "wrong_state_is_ebadrqc", wrong_state },
	{ "remote_rights_not_initialized_are_eacces", remote_rights_not_initialized },
	{ "initialized_again", initialized_again },
	{ "remote_invalidation", remote_invalidation },
	{ "remote_invalidation_of_nothing_ends_the_connection", remote_invalidation_of_nothing },
	{ "read_and_local_invalidate", read_and_local_invalidate },
	{ "closed_while_valid", closed_while_valid },
	{ "flushed_registration_is_made_again", flushed },
};

T_GROUP(fastreg, cases);
