// SPDX-License-Identifier: GPL-2.0
/* Requests and memory: what was reported of other drivers and consumers (Documentation/bug-rows). */

#include <linux/prandom.h>

#include "ndk_test.h"

#define SIZE (4 * PAGE_SIZE)
#define REMOTE (NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE)
#define SINK (NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK)

/* b has memory that a may use, by an MR for fast registration as well; a has a sink for reads. */
struct st {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct t_region *r, *sink;
	struct ndk_mr *fast;
	struct t_buf *pages;
	u64 base;
	struct ndk_result_ex result;
};

static struct ndk_mr *fast_mr(struct t_end *e)
{
	struct ndk_object_header *h = t_create(e, KIND_FAST_MR);
	struct t_await *w = t_await(e->t, "initialize fast register");
	struct ndk_mr *mr;

	if (!h)
		return NULL;
	mr = container_of(h, struct ndk_mr, header);
	return EXPECT_STATUS(e->t, t_wait(w, ndk_initialize_fast_register_mr(mr, 4, true, t_done, w)), 0) ? mr : NULL;
}

static struct st *setup(struct t *t, const struct t_cfg *cfg)
{
	struct st *s = t_alloc(t, sizeof(*s));

	s->t = t;
	s->p = t_pair(t, cfg);
	if (!s->p)
		return NULL;
	s->a = &s->p->a;
	s->b = &s->p->b;
	s->r = t_region(s->b, SIZE, REMOTE);
	s->sink = t_region(s->a, SIZE, SINK);
	s->fast = fast_mr(s->b);
	s->pages = t_buf(s->b, SIZE);
	s->base = 0x660000000000;
	return s->r && s->sink && s->fast && s->pages ? s : NULL;
}

static int reads(struct st *s, unsigned long ctx, size_t at, size_t length, u64 from, u32 token, u32 flags)
{
	struct ndk_sge sge = { .virtual_address = s->sink->base + at, .length = length, .token = s->sink->local };

	return ndk_read(s->a->qp, CTX(ctx), &sge, 1, from, token, flags);
}

static int registers(struct st *s, unsigned long ctx, u32 flags)
{
	return ndk_fast_register(s->b->qp, CTX(ctx), s->fast, 4, s->pages->lam->pages, 0, SIZE, s->base,
				 NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE | flags);
}

/* --- failures ------------------------------------------------------------- */

/* Connection after connection is ended by a bad token, and every request has its result. */
/* Bug: B31 */
static void bad_tokens(struct t *t)
{
	struct t_pair *p;
	struct t_buf *out;
	int i, j;

	for (i = 0; i < 8; i++) {
		p = t_pair(t, NULL);
		out = p ? t_buf(&p->a, 64) : NULL;
		if (!out)
			return;
		for (j = 0; j < 8; j++)
			EXPECT_STATUS(t, t_post_write(&p->a, j, out, 0, 64, 0x1000, 0x7ffffe00 + i, 0), 0);
		if (!t_take_status(&p->a, p->a.icq, 0, NDK_OPERATION_WRITE, -EREMOTEIO))
			return;
		for (j = 1; j < 8; j++)
			if (!t_take_status(&p->a, p->a.icq, j, NDK_OPERATION_WRITE, -ECANCELED))
				return;
		t_wait_gone(&p->a);
	}
}

/* Refused posts take no place from those that are not. */
/* Bug: B66 */
static void refused_posts(struct t *t)
{
	const struct t_cfg cfg = { .depth = 8 };
	struct st *s = setup(t, &cfg);
	unsigned int i;

	if (!s || !EXPECT_STATUS(t, registers(s, 1, 0), 0) || !t_take_ok(s->b, s->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	for (i = 0; i < 100; i++)
		EXPECT_STATUS(t, registers(s, 2, 0), -EBADRQC);
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, t_post_receive(s->a, i, t_buf(s->a, 64), 0, 64), 0);
	for (i = 0; i < 8; i++)
		EXPECT_STATUS(t, t_post_send(s->b, i, s->pages, 0, 64, 0), 0);
	for (i = 0; i < 8; i++)
		if (!t_take_ok(s->b, s->b->icq, i, NDK_OPERATION_SEND) ||
		    !t_take_ok(s->a, s->a->rcq, i, NDK_OPERATION_RECEIVE))
			return;
}

/* An address that wraps, ours in a request: it fails, and touches nothing. */
/* Bug: B46, K13 */
static void own_address_wraps(struct t *t)
{
	static const struct { u64 address; u32 length; } bad[] = {
		{ -64ULL, 128 }, { -1ULL, 1 }, { -PAGE_SIZE, PAGE_SIZE }, { -4096ULL, 8192 }, { 0, 64 },
	};
	struct ndk_result_ex r;
	struct ndk_sge sge;
	struct st *s;
	unsigned int i, kind;
	int rc;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (kind = 0; kind < 3; kind++) {
			s = setup(t, NULL);
			if (!s)
				return;
			sge = (struct ndk_sge) {
				.virtual_address = bad[i].address, .length = bad[i].length, .token = s->sink->local,
			};
			if (kind == 0)
				rc = ndk_read(s->a->qp, CTX(1), &sge, 1, s->r->base, s->r->remote, 0);
			else if (kind == 1)
				rc = ndk_write(s->a->qp, CTX(1), &sge, 1, s->r->base, s->r->remote, 0);
			else
				rc = ndk_send(s->a->qp, CTX(1), &sge, 1, 0);
			if (rc) {
				if (rc != -EINVAL)
					EXPECT_STATUS(t, rc, -EACCES);
				continue;
			}
			if (!t_take(s->a->icq, &r))
				return;
			/* rxe flushes what it cannot send (Documentation/limits.rst). */
			if (r.status != -EBADRQC && r.status != -ECANCELED && !EXPECT_STATUS(t, r.status, -EACCES))
				t_fail(t, "kind %u of %llx + %x", kind, bad[i].address, bad[i].length);
			t_wait_gone(s->a);
		}
		t_start_over(t);
		t->side[0] = NULL;
		t->side[1] = NULL;
	}
}

/* --- fences and order ----------------------------------------------------- */

/* A read with a fence behind a silent registration, and behind a chain of them. */
/* Bug: B33 */
static void fence_behind_silence(struct t *t)
{
	struct st *s = setup(t, NULL);
	struct t_region *from;
	struct ndk_sge sge;
	unsigned int i;

	from = s ? t_region(s->a, SIZE, REMOTE) : NULL;
	if (!from)
		return;
	for (i = 0; i < 50; i++) {
		if (!EXPECT_STATUS(t, registers(s, 1, NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_ALLOW_LOCAL_WRITE |
						NDK_OP_FLAG_RDMA_READ_SINK | (i & 1 ? NDK_OP_FLAG_DEFER : 0)), 0))
			return;
		t_fill(from->va, SIZE, i);
		sge = (struct ndk_sge) {
			.virtual_address = s->base, .length = SIZE, .token = ndk_get_local_token_from_mr(s->fast),
		};
		EXPECT_STATUS(t, ndk_read(s->b->qp, CTX(2), &sge, 1, from->base, from->remote, NDK_OP_FLAG_READ_FENCE), 0);
		/* It waits for the read as well, which the registration is needed for. */
		EXPECT_STATUS(t, ndk_invalidate(s->b->qp, CTX(3), &s->fast->header, NDK_OP_FLAG_READ_FENCE), 0);
		if (!t_take_ok(s->b, s->b->icq, 2, NDK_OPERATION_READ) ||
		    !t_take_ok(s->b, s->b->icq, 3, NDK_OPERATION_INVALIDATE) ||
		    !t_check_fill(t, s->pages->va, SIZE, i, "read"))
			return;
	}
}

/* Several reads into a registration, which a fenced invalidation takes back behind them. */
/* Bug: B62 */
static void invalidation_waits_for_reads(struct t *t)
{
	struct st *s = setup(t, NULL);
	struct t_region *from;
	struct ndk_sge sge;
	unsigned int i, j;

	from = s ? t_region(s->a, SIZE, REMOTE) : NULL;
	if (!from)
		return;
	for (i = 0; i < 20; i++) {
		EXPECT_STATUS(t, registers(s, 1, NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK), 0);
		if (!t_take_ok(s->b, s->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
			return;
		t_fill(from->va, SIZE, i);
		for (j = 0; j < 8; j++) {
			sge = (struct ndk_sge) {
				.virtual_address = s->base + j * SIZE / 8, .length = SIZE / 8,
				.token = ndk_get_local_token_from_mr(s->fast),
			};
			EXPECT_STATUS(t, ndk_read(s->b->qp, CTX(10 + j), &sge, 1, from->base + j * SIZE / 8, from->remote, 0), 0);
		}
		EXPECT_STATUS(t, ndk_invalidate(s->b->qp, CTX(3), &s->fast->header, NDK_OP_FLAG_READ_FENCE), 0);
		for (j = 0; j < 8; j++)
			if (!t_take_ok(s->b, s->b->icq, 10 + j, NDK_OPERATION_READ))
				return;
		if (!t_take_ok(s->b, s->b->icq, 3, NDK_OPERATION_INVALIDATE) ||
		    !t_check_fill(t, s->pages->va, SIZE, i, "read"))
			return;
	}
}

/* The source of a write is taken back right behind it: in the order of the queue, with a fence or without. */
/* Bug: B122 */
static void invalidation_behind_a_write(struct t *t)
{
	struct st *s = setup(t, NULL);
	struct t_region *to;
	struct ndk_sge sge;
	unsigned int i;

	to = s ? t_region(s->a, SIZE, REMOTE) : NULL;
	if (!to)
		return;
	for (i = 0; i < 40; i++) {
		EXPECT_STATUS(t, registers(s, 1, 0), 0);
		if (!t_take_ok(s->b, s->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
			return;
		t_fill(s->pages->va, SIZE, i);
		sge = (struct ndk_sge) {
			.virtual_address = s->base, .length = SIZE, .token = ndk_get_local_token_from_mr(s->fast),
		};
		EXPECT_STATUS(t, ndk_write(s->b->qp, CTX(2), &sge, 1, to->base, to->remote, i & 2 ? NDK_OP_FLAG_DEFER : 0), 0);
		EXPECT_STATUS(t, ndk_invalidate(s->b->qp, CTX(3), &s->fast->header, i & 1 ? NDK_OP_FLAG_READ_FENCE : 0), 0);
		if (!t_take_ok(s->b, s->b->icq, 2, NDK_OPERATION_WRITE) ||
		    !t_take_ok(s->b, s->b->icq, 3, NDK_OPERATION_INVALIDATE) || !t_ping(s->b, s->a) ||
		    !t_check_fill(t, to->va, SIZE, i, "written"))
			return;
	}
}

#define PIECES 24
#define PIECE 512

/* What a round of any_flags expects: the requests that tell, and for each send which read it must carry. */
struct plan {
	u8 tells[PIECES];
	int carries[PIECES];
	unsigned int nr, sent;
};

static bool post_any(struct st *s, struct rnd_state *rnd, struct plan *plan)
{
	struct ndk_sge sge = { .virtual_address = s->sink->base, .length = PIECE, .token = s->sink->local };
	int last = -1, rc, i;
	u32 kind, flags;

	for (i = 0; i < PIECES; i++) {
		kind = prandom_u32_state(rnd) % 3;
		flags = prandom_u32_state(rnd) & (NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE);
		/* The last one ends the chain, and tells of the others. */
		if (i == PIECES - 1)
			flags &= ~NDK_OP_FLAG_SILENT_SUCCESS;
		else if (prandom_u32_state(rnd) & 1)
			flags |= NDK_OP_FLAG_DEFER;
		if (kind == 0)
			rc = reads(s, i, 0, PIECE, s->r->base + i * PIECE, s->r->remote, flags);
		else if (kind == 1)
			rc = ndk_send(s->a->qp, CTX(i), &sge, 1, flags);
		else
			rc = ndk_write(s->a->qp, CTX(i), &sge, 1, s->r->base + SIZE - PIECE, s->r->remote, flags);
		if (!EXPECT_STATUS(s->t, rc, 0))
			return false;
		if (!(flags & NDK_OP_FLAG_SILENT_SUCCESS))
			plan->tells[plan->nr++] = i;
		if (kind == 0)
			last = i;
		if (kind == 1)
			plan->carries[plan->sent++] = flags & NDK_OP_FLAG_READ_FENCE ? last : -1;
	}
	return true;
}

/*
 * Reads, writes and sends with any flags there are: each that is not silent has its result, in order; and what was sent behind a
 * fence is what the read before it brought.
 */
/* Bug: B34, K11 */
static void any_flags(struct t *t)
{
	const struct t_cfg cfg = { .depth = 64 };
	struct st *s = setup(t, &cfg);
	unsigned int round, i, fences = 0;
	struct rnd_state rnd;
	struct plan plan;
	struct t_buf *in;

	in = s ? t_buf(s->b, PIECES * PIECE) : NULL;
	if (!in)
		return;
	prandom_seed_state(&rnd, 34);
	for (round = 0; round < 40; round++) {
		memset(&plan, 0, sizeof(plan));
		t_fill(s->r->va, SIZE, round);
		memset(s->sink->va, 0xee, PIECE);
		for (i = 0; i < PIECES; i++)
			EXPECT_STATUS(t, t_post_receive(s->b, i, in, i * PIECE, PIECE), 0);
		if (!post_any(s, &rnd, &plan))
			return;
		for (i = 0; i < plan.nr; i++)
			if (!t_take(s->a->icq, &s->result) || !EXPECT_STATUS(t, s->result.status, 0) ||
			    !EXPECT_EQ(t, (long)s->result.request_context, plan.tells[i]))
				return;
		for (i = 0; i < plan.sent; i++) {
			if (!t_take_ok(s->b, s->b->rcq, i, NDK_OPERATION_RECEIVE))
				return;
			if (plan.carries[i] < 0)
				continue;
			fences++;
			if (memcmp(in->va + i * PIECE, s->r->va + plan.carries[i] * PIECE, PIECE))
				t_fail(t, "round %u: send %u carries something else than read %d", round, i, plan.carries[i]);
		}
		/* The receives that are left. */
		for (; i < PIECES; i++) {
			EXPECT_STATUS(t, t_post_send(s->a, i, NULL, 0, 0, 0), 0);
			if (!t_take_ok(s->a, s->a->icq, i, NDK_OPERATION_SEND) ||
			    !t_take_ok(s->b, s->b->rcq, i, NDK_OPERATION_RECEIVE))
				return;
		}
	}
	EXPECT(t, fences > 50);
}

/* --- limits and domains --------------------------------------------------- */

/* There is no way to change the limits of reads of a connection; calls that would are refused, under reads. */
/* Bug: B44 */
static void limits_under_reads(struct t *t)
{
	struct st *s = setup(t, NULL);
	struct sockaddr_storage from;
	struct t_await *w;
	unsigned int i, j;

	if (!s)
		return;
	t_addr(SIDE_A, AF_INET, 0, &from);
	for (i = 0; i < 20; i++) {
		t_fill(s->r->va, SIZE, i);
		for (j = 0; j < 16; j++)
			EXPECT_STATUS(t, reads(s, j, j * SIZE / 16, SIZE / 16, s->r->base + j * SIZE / 16, s->r->remote, 0), 0);
		w = t_await(t, "accept");
		EXPECT_STATUS(t, ndk_accept(s->b->connector, s->b->qp, 1 + i % 8, 1, NULL, 0, t_gone, s->b, t_done, w), -ENOTCONN);
		w = t_await(t, "connect");
		EXPECT_STATUS(t, ndk_connect(s->a->connector, s->a->qp, (struct sockaddr *)&from, t_addr_len(&from),
					     (struct sockaddr *)&s->p->listener->address,
					     t_addr_len(&s->p->listener->address), 1 + i % 8, 1, NULL, 0, t_done, w), -EISCONN);
		for (j = 0; j < 16; j++)
			if (!t_take_ok(s->a, s->a->icq, j, NDK_OPERATION_READ))
				return;
		t_check_fill(t, s->sink->va, SIZE, i, "read");
	}
}

/* MR, window and QP are of one PD, or it is refused, and nothing has changed. */
/* Bug: B45 */
static void other_domains(struct t *t)
{
	struct st *s = setup(t, NULL);
	struct ndk_object_header *h;
	struct t_region *foreign;
	struct ndk_mr *fast;
	struct ndk_mw *own, *other;
	struct ndk_pd *pd;

	h = s ? t_create(s->b, KIND_MW) : NULL;
	if (!h)
		return;
	own = container_of(h, struct ndk_mw, header);
	pd = s->b->pd;
	h = t_create(s->b, KIND_PD);
	if (!h)
		return;
	s->b->pd = container_of(h, struct ndk_pd, header);
	foreign = t_region(s->b, SIZE, REMOTE);
	fast = fast_mr(s->b);
	h = t_create(s->b, KIND_MW);
	s->b->pd = pd;
	if (!foreign || !fast || !h)
		return;
	other = container_of(h, struct ndk_mw, header);
	EXPECT_STATUS(t, ndk_bind(s->b->qp, CTX(1), foreign->mr, own, foreign->base, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ), -EACCES);
	EXPECT_STATUS(t, ndk_bind(s->b->qp, CTX(1), s->r->mr, other, s->r->base, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ), -EACCES);
	EXPECT_STATUS(t, ndk_bind(s->b->qp, CTX(1), foreign->mr, other, foreign->base, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ),
		      -EACCES);
	EXPECT_STATUS(t, ndk_fast_register(s->b->qp, CTX(1), fast, 4, s->pages->lam->pages, 0, SIZE, s->base,
					   NDK_OP_FLAG_ALLOW_REMOTE_READ), -EINVAL);
	EXPECT(t, t_no_result(s->b->icq, 5));
	EXPECT_STATUS(t, t_deregister(s->b, foreign), 0);
	EXPECT_STATUS(t, ndk_bind(s->b->qp, CTX(2), s->r->mr, own, s->r->base, 64, NDK_OP_FLAG_ALLOW_REMOTE_READ), 0);
	t_take_ok(s->b, s->b->icq, 2, NDK_OPERATION_BIND);
}

/* --- invalidation --------------------------------------------------------- */

/* When the invalidation is done the memory is its owner's, whatever the peer has on its way. */
/* Bug: B119, K18 */
static void peer_writes_on(struct t *t)
{
	struct ndk_result_ex r;
	struct t_buf *out;
	struct st *s;
	unsigned int i, j, n;
	bool ours;

	for (i = 0; i < 6; i++) {
		s = setup(t, NULL);
		out = s ? t_buf(s->a, SIZE) : NULL;
		if (!out || !EXPECT_STATUS(t, registers(s, 1, 0), 0) ||
		    !t_take_ok(s->b, s->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
			return;
		memset(out->va, 0x11, SIZE);
		for (j = 0; j < 16; j++)
			EXPECT_STATUS(t, t_post_write(s->a, j, out, 0, SIZE, s->base, ndk_get_remote_token_from_mr(s->fast), 0), 0);
		t_sleep(i);
		EXPECT_STATUS(t, ndk_invalidate(s->b->qp, CTX(2), &s->fast->header, 0), 0);
		/* The peer may have been refused before: then it is flushed, and ends with the connection. */
		if (!t_take(s->b->icq, &r))
			return;
		ours = !r.status;
		if (ours)
			memset(s->pages->va, 0xee, SIZE);
		else
			EXPECT_STATUS(t, r.status, -ECANCELED);
		for (n = 0; n < 16 && t_take(s->a->icq, &r); n++)
			;
		EXPECT_EQ(t, n, 16);
		t_sleep(5);
		if (ours)
			t_check_byte(t, s->pages->va, SIZE, 0xee, "memory that was taken back");
	}
}

/* Another connection over the PDs of one. */
static struct t_end *another(struct t_end *e)
{
	struct t_end *other = t_alloc(e->t, sizeof(*other));

	t_end_copy(other, e);
	other->connector = NULL;
	other->rcq = t_cq(other, 64);
	other->icq = t_cq(other, 64);
	return other->rcq && other->icq && t_end_qp(other) ? other : NULL;
}

/*
 * An invalidation that the end of the connection cancelled has invalidated nothing: the registration is no free one. The close
 * of the MR ends the access, also over another connection.
 */
/* Bug: B120, B67, B123, K18 */
static void cancelled_invalidation(struct t *t)
{
	struct st *s = setup(t, NULL);
	struct t_end *a, *b;
	u32 token;
	int rc;

	if (!s || !EXPECT_STATUS(t, registers(s, 1, 0), 0) || !t_take_ok(s->b, s->b->icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	token = ndk_get_remote_token_from_mr(s->fast);
	a = another(s->a);
	b = another(s->b);
	if (!a || !b || !t_establish(a, s->p->listener, b))
		return;
	/* The first one ends. */
	ndk_flush(s->b->qp);
	rc = ndk_invalidate(s->b->qp, CTX(2), &s->fast->header, 0);
	if (!rc)
		t_take_status(s->b, s->b->icq, 2, NDK_OPERATION_INVALIDATE, -ECANCELED);
	else
		EXPECT_STATUS(t, rc, -ENOTCONN);
	s->a = a;
	s->b = b;
	EXPECT_STATUS(t, registers(s, 3, 0), -EBADRQC);
	EXPECT_STATUS(t, reads(s, 4, 0, 64, s->base, token, 0), 0);
	t_take_ok(a, a->icq, 4, NDK_OPERATION_READ);
	t_close(t, &s->fast->header);
	EXPECT_STATUS(t, reads(s, 5, 0, 64, s->base, token, 0), 0);
	t_take_status(a, a->icq, 5, NDK_OPERATION_READ, -EREMOTEIO);
}

static const struct t_case cases[] = {
	{ "bad_tokens_again_and_again", bad_tokens },
	{ "refused_posts_take_no_room", refused_posts },
	{ "own_address_that_wraps", own_address_wraps },
	{ "fence_behind_a_silent_registration", fence_behind_silence },
	{ "fenced_invalidation_waits_for_reads", invalidation_waits_for_reads },
	{ "invalidation_behind_a_write_of_its_memory", invalidation_behind_a_write },
	{ "any_flags_in_any_order", any_flags },
	{ "limits_of_reads_stay_under_reads", limits_under_reads },
	{ "objects_of_another_pd", other_domains },
	{ "peer_writes_while_its_token_is_taken", peer_writes_on },
	{ "cancelled_invalidation_frees_nothing", cancelled_invalidation },
};

T_GROUP(reports_requests, cases);
