// SPDX-License-Identifier: GPL-2.0
/* A window of one end, and what the other end sees through it. */

#include "windows.h"

struct ndk_mw *wt_window(struct t_end *e)
{
	struct ndk_object_header *h = t_create(e, KIND_MW);

	return h ? container_of(h, struct ndk_mw, header) : NULL;
}

struct wt *wt_setup(struct t *t, u32 rights)
{
	struct wt *w = t_alloc(t, sizeof(*w));

	w->t = t;
	w->p = t_pair(t, NULL);
	if (!w->p)
		return NULL;
	w->a = &w->p->a;
	w->b = &w->p->b;
	w->r = t_region(w->b, SIZE, rights);
	w->mw = w->r ? wt_window(w->b) : NULL;
	w->peer = t_buf(w->a, SIZE);
	return w->mw && w->peer ? w : NULL;
}

int wt_bind(struct wt *w, unsigned long ctx, u64 at, u64 length, u32 flags)
{
	return ndk_bind(w->b->qp, CTX(ctx), w->r->mr, w->mw, w->r->base + at, length, flags);
}

bool wt_bound(struct wt *w, u64 at, u64 length, u32 flags)
{
	return EXPECT_STATUS(w->t, wt_bind(w, 1, at, length, flags), 0) && t_take_ok(w->b, w->b->icq, 1, BIND);
}

bool wt_unbound(struct wt *w)
{
	return EXPECT_STATUS(w->t, ndk_invalidate(w->b->qp, CTX(2), &w->mw->header, 0), 0) &&
	       t_take_ok(w->b, w->b->icq, 2, INVALIDATE);
}

bool wt_peer_writes(struct wt *w, u32 token, u64 at, u64 length, u32 seed)
{
	t_fill(w->peer->va, length, seed);
	return EXPECT_STATUS(w->t, t_post_write(w->a, 3, w->peer, 0, length, w->r->base + at, token, 0), 0) &&
	       t_take_ok(w->a, w->a->icq, 3, NDK_OPERATION_WRITE) && t_ping(w->a, w->b) &&
	       t_check_fill(w->t, w->r->va + at, length, seed, "written through the window");
}

bool wt_peer_reads(struct wt *w, u32 token, u64 at, u64 length, u32 seed)
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
void wt_peer_is_refused(struct wt *w, u32 token, u64 at, u64 length)
{
	memset(w->r->va, 0xee, SIZE);
	memset(w->peer->va, 0x11, SIZE);
	EXPECT_STATUS(w->t, t_post_write(w->a, 5, w->peer, 0, length, w->r->base + at, token, 0), 0);
	t_refused(w->a, w->a->icq, 5, NDK_OPERATION_WRITE);
	t_wait_gone(w->a);
	t_wait_gone(w->b);
	t_check_byte(w->t, w->r->va, SIZE, 0xee, "memory beyond the window");
}

int wt_deregister(struct wt *w)
{
	return t_deregister(w->b, w->r);
}
