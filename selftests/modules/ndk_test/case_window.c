// SPDX-License-Identifier: GPL-2.0
/* Memory windows: bound with a request, seen by the peer as far as they go, and gone when they are to be gone. */

#include "ndk_test.h"

#define SIZE (4 * PAGE_SIZE)
#define CAN_READ NDK_OP_FLAG_ALLOW_REMOTE_READ
#define CAN_WRITE NDK_OP_FLAG_ALLOW_REMOTE_WRITE
#define RW (CAN_READ | CAN_WRITE)
#define BIND NDK_OPERATION_BIND
#define INVALIDATE NDK_OPERATION_INVALIDATE

struct wt {
	struct t *t;
	struct t_pair *p;
	/* b has memory and window, a is the peer. */
	struct t_end *a, *b;
	struct t_region *r;
	struct ndk_mw *mw;
	struct t_buf *peer;
};

static struct ndk_mw *window(struct t_end *e)
{
	struct ndk_object_header *h = t_create(e, KIND_MW);

	return h ? container_of(h, struct ndk_mw, header) : NULL;
}

static struct wt *setup(struct t *t, u32 rights)
{
	struct wt *w = t_alloc(t, sizeof(*w));

	w->t = t;
	w->p = t_pair(t, NULL);
	if (!w->p)
		return NULL;
	w->a = &w->p->a;
	w->b = &w->p->b;
	w->r = t_region(w->b, SIZE, rights);
	w->mw = w->r ? window(w->b) : NULL;
	w->peer = t_buf(w->a, SIZE);
	return w->mw && w->peer ? w : NULL;
}

static int bind(struct wt *w, unsigned long ctx, u64 at, u64 length, u32 flags)
{
	return ndk_bind(w->b->qp, CTX(ctx), w->r->mr, w->mw, w->r->base + at, length, flags);
}

static bool bound(struct wt *w, u64 at, u64 length, u32 flags)
{
	return EXPECT_STATUS(w->t, bind(w, 1, at, length, flags), 0) && t_take_ok(w->b, w->b->icq, 1, BIND);
}

static bool unbound(struct wt *w)
{
	return EXPECT_STATUS(w->t, ndk_invalidate(w->b->qp, CTX(2), &w->mw->header, 0), 0) &&
	       t_take_ok(w->b, w->b->icq, 2, INVALIDATE);
}

static bool peer_writes(struct wt *w, u32 token, u64 at, u64 length, u32 seed)
{
	t_fill(w->peer->va, length, seed);
	return EXPECT_STATUS(w->t, t_post_write(w->a, 3, w->peer, 0, length, w->r->base + at, token, 0), 0) &&
	       t_take_ok(w->a, w->a->icq, 3, NDK_OPERATION_WRITE) && t_ping(w->a, w->b) &&
	       t_check_fill(w->t, w->r->va + at, length, seed, "written through the window");
}

static bool peer_reads(struct wt *w, u32 token, u64 at, u64 length, u32 seed)
{
	struct t_region *sink = t_region(w->a, length, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	struct ndk_sge sge;

	if (!sink)
		return false;
	t_fill(w->r->va + at, length, seed);
	sge = (struct ndk_sge) { .virtual_address = sink->base, .length = length, .token = sink->local };
	return EXPECT_STATUS(w->t, ndk_read(w->a->qp, CTX(4), &sge, 1, w->r->base + at, token, 0), 0) &&
	       t_take_ok(w->a, w->a->icq, 4, NDK_OPERATION_READ) &&
	       t_check_fill(w->t, sink->va, length, seed, "read through the window");
}

/* Ends the connection. */
static void peer_is_refused(struct wt *w, u32 token, u64 at, u64 length)
{
	memset(w->r->va, 0xee, SIZE);
	memset(w->peer->va, 0x11, SIZE);
	EXPECT_STATUS(w->t, t_post_write(w->a, 5, w->peer, 0, length, w->r->base + at, token, 0), 0);
	t_refused(w->a, w->a->icq, 5, NDK_OPERATION_WRITE);
	t_wait_gone(w->a);
	t_wait_gone(w->b);
	t_check_byte(w->t, w->r->va, SIZE, 0xee, "memory beyond the window");
}

static int deregister(struct wt *w)
{
	return t_deregister(w->b, w->r);
}

/* --- a life --------------------------------------------------------------- */

/* Proves: BIND.ok, INVALIDATE.ok, GET_REMOTE_TOKEN_FROM_MW.ok, CREATE_MW.ok, 7.7-tokens-early */
/* Bug: B41 */
static void bind_use_unbind(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 token, last = 0;
	int i;

	if (!w)
		return;
	for (i = 0; i < 6; i++) {
		/* Not aligned, over the end of a page. */
		if (!EXPECT_STATUS(t, bind(w, 1, 100 + i, PAGE_SIZE + 7, RW), 0))
			return;
		/* Before the completion. */
		token = ndk_get_remote_token_from_mw(w->mw);
		EXPECT(t, token && token != last && token != w->r->remote);
		last = token;
		if (!t_take_ok(w->b, w->b->icq, 1, BIND) || !peer_writes(w, token, 100 + i, PAGE_SIZE + 7, i) ||
		    !peer_reads(w, token, 100 + i, PAGE_SIZE + 7, i + 50) || !unbound(w))
			return;
		EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(9), &w->mw->header, 0), -EBADRQC);
	}
	peer_is_refused(w, token, 200, 64);
}

/* Proves: BIND.ok, 7.7-name-only */
static void ends_of_the_region(struct t *t)
{
	static const struct { u64 at, length; } parts[] = {
		{ 0, 1 }, { 0, SIZE }, { SIZE - 1, 1 }, { PAGE_SIZE, PAGE_SIZE }, { PAGE_SIZE - 1, 2 }, { 5, SIZE - 5 },
	};
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	int i;

	if (!w)
		return;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (!bound(w, parts[i].at, parts[i].length, RW) ||
		    !peer_writes(w, ndk_get_remote_token_from_mw(w->mw), parts[i].at, parts[i].length, i) || !unbound(w))
			return;
}

enum { BEFORE, BEHIND, READ_ONLY, UNBOUND, CLOSED };

/* Proves: 7.2-bad-remote, 3.1-MW */
static void beyond_the_window(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 token;

	if (!w || !bound(w, PAGE_SIZE, 100, t->arg == READ_ONLY ? CAN_READ : RW))
		return;
	token = ndk_get_remote_token_from_mw(w->mw);
	switch (t->arg) {
	case BEFORE:
		peer_is_refused(w, token, PAGE_SIZE - 1, 10);
		break;
	case BEHIND:
		peer_is_refused(w, token, PAGE_SIZE + 91, 10);
		break;
	case READ_ONLY:
		if (peer_reads(w, token, PAGE_SIZE, 100, 1))
			peer_is_refused(w, token, PAGE_SIZE, 100);
		break;
	case UNBOUND:
		if (unbound(w))
			peer_is_refused(w, token, PAGE_SIZE, 100);
		break;
	case CLOSED:
		t_close(t, &w->mw->header);
		peer_is_refused(w, token, PAGE_SIZE, 100);
		break;
	}
}

/* --- several, again, elsewhere -------------------------------------------- */

#define WINDOWS 5

/* Windows of one MR, which overlap; each ends by itself. */
static void several_windows_on_one_mr(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_mw *mw[WINDOWS];
	u32 token[WINDOWS];
	int i, j;

	if (!w)
		return;
	for (i = 0; i < WINDOWS; i++) {
		mw[i] = window(w->b);
		if (!mw[i])
			return;
		w->mw = mw[i];
		if (!bound(w, i * 1000, 3000, RW))
			return;
		token[i] = ndk_get_remote_token_from_mw(mw[i]);
		for (j = 0; j < i; j++)
			EXPECT(t, token[i] != token[j]);
	}
	for (i = 0; i < WINDOWS; i++) {
		for (j = i; j < WINDOWS; j++)
			if (!peer_writes(w, token[j], j * 1000, 3000, i + j))
				return;
		EXPECT_STATUS(t, deregister(w), -EBUSY);
		w->mw = mw[i];
		if (!unbound(w))
			return;
	}
	EXPECT_STATUS(t, deregister(w), 0);
}

/* A window that is bound anew shows the new part only, from the post on, under another token. */
/* Bug: B48 */
static void bound_again(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 token, last = 0;
	int i;

	if (!w)
		return;
	for (i = 0; i < 6; i++) {
		if (!bound(w, i * 1000, 1000, RW))
			return;
		token = ndk_get_remote_token_from_mw(w->mw);
		EXPECT(t, token != last);
		if (!peer_writes(w, token, i * 1000, 1000, i))
			return;
		last = token;
	}
	EXPECT_STATUS(t, deregister(w), -EBUSY);
	if (t->arg) {
		/* The token before the last one. */
		u32 old = token;

		if (bound(w, 0, 1000, RW))
			peer_is_refused(w, old, 5000, 1000);
		return;
	}
	if (unbound(w))
		EXPECT_STATUS(t, deregister(w), 0);
}

/* It moves to another MR: the first one is free again. Proves: 12-mr-mw-end */
static void bound_to_another_mr(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct t_region *first, *second;

	if (!w || !bound(w, 0, 100, RW))
		return;
	first = w->r;
	second = t_region(w->b, SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	if (!second)
		return;
	EXPECT_STATUS(t, t_deregister(w->b, first), -EBUSY);
	w->r = second;
	if (!bound(w, 50, 100, RW))
		return;
	EXPECT_STATUS(t, t_deregister(w->b, first), 0);
	EXPECT_STATUS(t, t_deregister(w->b, second), -EBUSY);
	if (peer_writes(w, ndk_get_remote_token_from_mw(w->mw), 50, 100, 3) && unbound(w))
		EXPECT_STATUS(t, t_deregister(w->b, second), 0);
}

/* Posted back to back, nothing waited for: what a consumer with a full pipeline does. */
static void unbound_and_bound_at_once(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 defer = t->arg ? NDK_OP_FLAG_DEFER : 0;
	int i;

	if (!w || !bound(w, 0, 1000, RW))
		return;
	for (i = 1; i < 10; i++) {
		EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(2), &w->mw->header, defer), 0);
		EXPECT_STATUS(t, bind(w, 1, i * 100, 1000, RW), 0);
		if (!t_take_ok(w->b, w->b->icq, 2, INVALIDATE) || !t_take_ok(w->b, w->b->icq, 1, BIND) ||
		    !peer_writes(w, ndk_get_remote_token_from_mw(w->mw), i * 100, 1000, i))
			return;
	}
}

static void post_in_callback(struct t_await *await)
{
	struct wt *w = await->arg;

	EXPECT_STATUS(w->t, bind(w, 1, 0, 64, RW), 0);
	EXPECT(w->t, ndk_get_remote_token_from_mw(w->mw));
	EXPECT_STATUS(w->t, ndk_invalidate(w->b->qp, CTX(2), &w->mw->header, 0), 0);
}

/* Proves: BIND.softirq, INVALIDATE.softirq, GET_REMOTE_TOKEN_FROM_MW.softirq */
static void bound_in_softirq(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_object_header *h;

	if (!w)
		return;
	h = t_create(w->b, KIND_MR);
	if (!h)
		return;
	t_join(t_close_then(t, h, post_in_callback, w));
	t_take_ok(w->b, w->b->icq, 1, BIND);
	t_take_ok(w->b, w->b->icq, 2, INVALIDATE);
}

/* --- invalidated by the peer ---------------------------------------------- */

/* Proves: SEND_AND_INVALIDATE.ok, GET_CQ_RESULTS_EX.ok, 7.3-any-getter, 7.3-invalidated-first */
static void invalidated_by_the_peer(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r = {};
	struct ndk_result plain;
	struct t_buf *in;
	u32 token;
	int i;

	if (!w)
		return;
	in = t_buf(w->b, 64);
	if (!in)
		return;
	for (i = 0; i < 4; i++) {
		if (!bound(w, 0, 1000, RW))
			return;
		token = ndk_get_remote_token_from_mw(w->mw);
		EXPECT_STATUS(t, t_post_receive(w->b, 7, in, 0, 64), 0);
		EXPECT_STATUS(t, ndk_send_and_invalidate(w->a->qp, CTX(8), NULL, 0, 0, token), 0);
		if (!t_take_ok(w->a, w->a->icq, 8, NDK_OPERATION_SEND))
			return;
		if (i % 2) {
			if (!t_take(w->b->rcq, &r))
				return;
			EXPECT_STATUS(t, r.status, 0);
			EXPECT_EQ(t, r.type, NDK_OPERATION_RECEIVE_AND_INVALIDATE);
			EXPECT_EQ(t, r.type_specific, token);
		} else {
			while (!ndk_get_cq_results(w->b->rcq->cq, &plain, 1))
				t_sleep(1);
			EXPECT_STATUS(t, plain.status, 0);
		}
		/* Nothing is bound any more, and nothing can be unbound. */
		EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(9), &w->mw->header, 0), -EBADRQC);
		EXPECT_STATUS(t, deregister(w), 0);
		if (!EXPECT_STATUS(t, t_register(w->b, w->r, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), 0))
			return;
	}
	peer_is_refused(w, token, 0, 64);
}

/* Proves: 7.2-bad-invalidate */
static void invalidated_twice_by_the_peer(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r;
	struct t_buf *in;
	u32 token;

	if (!w || !bound(w, 0, 1000, RW))
		return;
	in = t_buf(w->b, 64);
	if (!in)
		return;
	token = ndk_get_remote_token_from_mw(w->mw);
	EXPECT_STATUS(t, t_post_receive(w->b, 7, in, 0, 64), 0);
	EXPECT_STATUS(t, t_post_receive(w->b, 8, in, 0, 64), 0);
	EXPECT_STATUS(t, ndk_send_and_invalidate(w->a->qp, CTX(1), NULL, 0, 0, token), 0);
	t_take_ok(w->b, w->b->rcq, 7, NDK_OPERATION_RECEIVE_AND_INVALIDATE);
	EXPECT_STATUS(t, ndk_send_and_invalidate(w->a->qp, CTX(2), NULL, 0, 0, token), 0);
	if (t_take(w->b->rcq, &r))
		EXPECT(t, r.status);
	t_wait_gone(w->b);
	t_wait_gone(w->a);
}

/* --- what is refused ------------------------------------------------------ */

/* Proves: BIND.bad-argument, BIND.wrong-state, 7.7-access, 7.1-refused */
/* Bug: B45, B47 */
static void bad_arguments(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	struct ndk_object_header *h, *other;
	struct t_region *unregistered;
	struct t_await *await;
	struct ndk_pd *pd;
	struct ndk_mw *foreign;
	u64 base;

	if (!w)
		return;
	base = w->r->base;
	/* Remote writing needs an MR that can be written. */
	EXPECT_STATUS(t, bind(w, 1, 0, 10, CAN_WRITE), -EACCES);
	EXPECT_STATUS(t, bind(w, 1, 0, 10, RW), -EACCES);
	/* Not within the region. */
	EXPECT_STATUS(t, bind(w, 1, 0, 0, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 0, SIZE + 1, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 1, SIZE, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, SIZE, 1, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, -1ULL, 1, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 1, -1ULL, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 0, -base, CAN_READ), -EINVAL);
	/* Flags of other requests, and half of a right. */
	EXPECT_STATUS(t, bind(w, 1, 0, 10, CAN_READ | NDK_OP_FLAG_INLINE), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 0, 10, CAN_READ | NDK_OP_FLAG_RDMA_READ_SINK), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 0, 10, NDK_OP_FLAG_ALLOW_LOCAL_WRITE), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 0, 10, CAN_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE), -EINVAL);
	EXPECT_STATUS(t, bind(w, 1, 0, 10, 0x80000000), -EINVAL);
	/* No object. */
	EXPECT_STATUS(t, ndk_bind(w->b->qp, CTX(1), NULL, w->mw, base, 10, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, ndk_bind(w->b->qp, CTX(1), w->r->mr, NULL, base, 10, CAN_READ), -EINVAL);
	/* An MR that is not registered, one for fast registration, a window of another PD. */
	unregistered = t_memory(w->b, PAGE_SIZE);
	h = t_create(w->b, KIND_FAST_MR);
	other = t_create(w->b, KIND_PD);
	if (!unregistered || !h || !other)
		return;
	EXPECT_STATUS(t, ndk_bind(w->b->qp, CTX(1), unregistered->mr, w->mw, unregistered->base, 10, CAN_READ), -EBADRQC);
	EXPECT_STATUS(t, ndk_bind(w->b->qp, CTX(1), container_of(h, struct ndk_mr, header), w->mw, base, 10, CAN_READ),
		      -EBADRQC);
	pd = w->b->pd;
	w->b->pd = container_of(other, struct ndk_pd, header);
	foreign = window(w->b);
	w->b->pd = pd;
	if (!foreign)
		return;
	EXPECT_STATUS(t, ndk_bind(w->b->qp, CTX(1), w->r->mr, foreign, base, 10, CAN_READ), -EACCES);
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &foreign->header, 0), -EINVAL);
	/* A window that shows nothing. */
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &w->mw->header, 0), -EBADRQC);
	EXPECT(t, t_no_result(w->b->icq, 10));
	/* After all that, all is as it was. */
	if (bound(w, 0, 10, CAN_READ) && unbound(w))
		EXPECT_STATUS(t, deregister(w), 0);
	await = t_close_start(t, &foreign->header);
	EXPECT_STATUS(t, t_join(await), 0);
}

/* Proves: CREATE_MW.bad-argument */
static void create_without_a_completion(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct t_await *await;
	void *out = t_poison();

	if (!w)
		return;
	await = t_await(t, "create MW without a completion");
	EXPECT_STATUS(t, ndk_create_mw(w->b->pd, NULL, await, (struct ndk_mw **)&out), -EINVAL);
	EXPECT(t, out == t_poison());
}

/* Proves: BIND.no-resources, 7.1-full */
static void bind_on_a_full_queue(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	int i, n = 0;

	if (!w)
		return;
	/* The peer has no receive: nothing completes. */
	while (n < 1000 && !ndk_send(w->b->qp, CTX(n), NULL, 0, 0))
		n++;
	EXPECT_STATUS(t, bind(w, 1, 0, 100, RW), -ENOBUFS);
	/* Nothing is bound. */
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &w->mw->header, 0), -EBADRQC);
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, ndk_receive(w->a->qp, CTX(i), NULL, 0), 0);
		if (!t_take_ok(w->a, w->a->rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(w->b, w->b->icq, i, NDK_OPERATION_SEND))
			return;
	}
	if (bound(w, 0, 100, RW) && unbound(w))
		EXPECT_STATUS(t, deregister(w), 0);
}

/* Proves: GET_REMOTE_TOKEN_FROM_MW.wrong-state, 8.8-mw-starts-invalid */
static void new_window_shows_nothing(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	if (w)
		peer_is_refused(w, ndk_get_remote_token_from_mw(w->mw), 0, 64);
}

/* Proves: CREATE_MW.close-pending, 3.1-PD, 3.8 */
static void pd_closed_while_a_window_is_made(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_object_header *pd, *mw;
	struct t_await *create, *close;
	void *out = t_poison();
	int i, rc, status;

	if (!w)
		return;
	for (i = 0; i < 10; i++) {
		pd = t_create(w->b, KIND_PD);
		if (!pd)
			return;
		create = t_await(t, "create MW");
		rc = ndk_create_mw(container_of(pd, struct ndk_pd, header), t_created, create, (struct ndk_mw **)&out);
		close = t_close_start(t, pd);
		mw = t_create_end(w->b, KIND_MW, create, rc, &out, &status);
		if (mw) {
			EXPECT(t, !t_is_done(close));
			t_close(t, mw);
		} else {
			EXPECT(t, status == -ECANCELED || status == -ENODEV);
		}
		EXPECT_STATUS(t, t_join(close), 0);
	}
}

/* A window is good on every QP of its PD. Proves: 8.6-bind-one-qp */
static void bound_by_two_qps(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_qp *first;
	struct ndk_object_header *h;

	if (!w || !bound(w, 0, 100, RW))
		return;
	/* One that is not connected takes no request at all. */
	first = w->b->qp;
	h = t_create(w->b, KIND_QP);
	if (!h)
		return;
	w->b->qp = container_of(h, struct ndk_qp, header);
	EXPECT_STATUS(t, bind(w, 1, 0, 100, RW), -ENOTCONN);
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &w->mw->header, 0), -ENOTCONN);
	w->b->qp = first;
	if (unbound(w))
		EXPECT_STATUS(t, deregister(w), 0);
}

/* A window without rights is a window that the peer cannot use. */
static void no_rights(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	if (w && bound(w, 0, 100, 0))
		peer_is_refused(w, ndk_get_remote_token_from_mw(w->mw), 0, 64);
}

/* A window larger than the adapter has. */
static void too_large(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_adapter_info info;

	if (!w)
		return;
	info = t_info(t, w->b->adapter);
	EXPECT(t, info.max_window_size >= SIZE && info.max_window_size <= info.max_registration_size);
}

/* --- lifetime ------------------------------------------------------------- */

/* Proves: DEREGISTER_MR.wrong-state, 7.7-mw-busy */
static void busy_until_the_invalidation_is_done(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	if (!w || !bound(w, 0, 100, RW))
		return;
	EXPECT_STATUS(t, deregister(w), -EBUSY);
	/* Still usable. */
	if (!peer_writes(w, ndk_get_remote_token_from_mw(w->mw), 0, 100, 1) || !unbound(w))
		return;
	EXPECT_STATUS(t, deregister(w), 0);
}

/* Proves: 3.1-MR, 3.5, 12-mr-mw-end, GET_REMOTE_TOKEN_FROM_MW.ok */
static void mr_closed_while_bound(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct t_await *mr;

	if (!w || !bound(w, 0, 100, RW))
		return;
	mr = t_close_start(t, &w->r->mr->header);
	t_sleep(30);
	EXPECT(t, !t_is_done(mr));
	/* The window lives on. */
	peer_writes(w, ndk_get_remote_token_from_mw(w->mw), 0, 100, 1);
	if (t->arg)
		t_close(t, &w->mw->header);
	else
		unbound(w);
	EXPECT_STATUS(t, t_join(mr), 0);
}

/* A bind that is flushed binds nothing. */
static void flushed_bind(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r;

	if (!w)
		return;
	EXPECT_STATUS(t, bind(w, 1, 0, 100, RW | NDK_OP_FLAG_DEFER), 0);
	ndk_flush(w->b->qp);
	if (!t_take(w->b->icq, &r))
		return;
	EXPECT_STATUS(t, r.status, -ECANCELED);
	EXPECT_EQ(t, r.type, BIND);
	EXPECT_STATUS(t, deregister(w), 0);
}

/* Proves: BIND.close-pending, 3.1-MW, 12-mr-implicit */
static void closed_in_mid_use(struct t *t)
{
	struct wt *w = setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r;
	int i;

	if (!w)
		return;
	for (i = 0; i < 20; i++) {
		struct ndk_mw *mw = window(w->b);

		if (!mw)
			return;
		w->mw = mw;
		/* With its request on the way, and also with it waiting for its doorbell. */
		EXPECT_STATUS(t, bind(w, i, 0, 100, RW | (i % 2 ? NDK_OP_FLAG_DEFER : 0)), 0);
		t_close(t, &mw->header);
		if (!t_take(w->b->icq, &r))
			return;
		EXPECT_STATUS(t, r.status, 0);
	}
	EXPECT_STATUS(t, deregister(w), 0);
	t_ping(w->a, w->b);
}

static const struct t_case cases[] = {
	{ "bound_used_and_unbound", bind_use_unbind },
	{ "ends_of_the_region", ends_of_the_region },
	{ "access_before_the_window", beyond_the_window, BEFORE },
	{ "access_behind_the_window", beyond_the_window, BEHIND },
	{ "write_to_a_window_for_reading", beyond_the_window, READ_ONLY },
	{ "access_to_an_unbound_window", beyond_the_window, UNBOUND },
	{ "access_to_a_closed_window", beyond_the_window, CLOSED },
	{ "several_windows_on_one_mr", several_windows_on_one_mr },
	{ "bound_again_without_unbinding", bound_again, 0 },
	{ "token_before_it_was_bound_again", bound_again, 1 },
	{ "bound_to_another_mr", bound_to_another_mr },
	{ "unbound_and_bound_at_once", unbound_and_bound_at_once, 0 },
	{ "unbound_and_bound_in_a_chain", unbound_and_bound_at_once, 1 },
	{ "bound_in_softirq", bound_in_softirq },
	{ "invalidated_by_the_peer", invalidated_by_the_peer },
	{ "invalidated_twice_by_the_peer", invalidated_twice_by_the_peer },
	{ "bad_arguments_of_bind", bad_arguments },
	{ "create_without_a_completion", create_without_a_completion },
	{ "bind_on_a_full_queue", bind_on_a_full_queue },
	{ "new_window_shows_nothing", new_window_shows_nothing },
	{ "pd_closed_while_a_window_is_made", pd_closed_while_a_window_is_made },
	{ "window_is_of_its_pd_not_of_a_qp", bound_by_two_qps },
	{ "window_without_rights", no_rights },
	{ "size_of_a_window", too_large },
	{ "mr_is_busy_while_bound", busy_until_the_invalidation_is_done },
	{ "mr_closed_before_its_window_is_unbound", mr_closed_while_bound, 0 },
	{ "mr_closed_before_its_window", mr_closed_while_bound, 1 },
	{ "flushed_bind_binds_nothing", flushed_bind },
	{ "window_closed_in_mid_use", closed_in_mid_use },
};

T_GROUP(window, cases);
