// SPDX-License-Identifier: GPL-2.0
/* Memory windows: what is refused, and what waits for what at their end. */

#include "windows.h"

/* --- what is refused ------------------------------------------------------ */

/* Proves: BIND.bad-argument, BIND.wrong-state, 7.7-access, 7.1-refused */
/* Bug: B45, B47 */
static void bad_arguments(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_REMOTE_READ);
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
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, CAN_WRITE), -EACCES);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, RW), -EACCES);
	/* Not within the region. */
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 0, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, SIZE + 1, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 1, SIZE, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, SIZE, 1, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, -1ULL, 1, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 1, -1ULL, CAN_READ), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, -base, CAN_READ), -EINVAL);
	/* Flags of other requests, and half of a right. */
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, CAN_READ | NDK_OP_FLAG_INLINE), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, CAN_READ | NDK_OP_FLAG_RDMA_READ_SINK), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, NDK_OP_FLAG_ALLOW_LOCAL_WRITE), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, CAN_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE), -EINVAL);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 10, 0x80000000), -EINVAL);
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
	foreign = wt_window(w->b);
	w->b->pd = pd;
	if (!foreign)
		return;
	EXPECT_STATUS(t, ndk_bind(w->b->qp, CTX(1), w->r->mr, foreign, base, 10, CAN_READ), -EACCES);
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &foreign->header, 0), -EINVAL);
	/* A window that shows nothing. */
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &w->mw->header, 0), -EBADRQC);
	EXPECT(t, t_no_result(w->b->icq, 10));
	/* After all that, all is as it was. */
	if (wt_bound(w, 0, 10, CAN_READ) && wt_unbound(w))
		EXPECT_STATUS(t, wt_deregister(w), 0);
	await = t_close_start(t, &foreign->header);
	EXPECT_STATUS(t, t_join(await), 0);
}

/* Proves: CREATE_MW.bad-argument */
static void create_without_a_completion(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
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
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	int i, n = 0;

	if (!w)
		return;
	/* The peer has no receive: nothing completes. */
	while (n < 1000 && !ndk_send(w->b->qp, CTX(n), NULL, 0, 0))
		n++;
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 100, RW), -ENOBUFS);
	/* Nothing is bound. */
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &w->mw->header, 0), -EBADRQC);
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, ndk_receive(w->a->qp, CTX(i), NULL, 0), 0);
		if (!t_take_ok(w->a, w->a->rcq, i, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(w->b, w->b->icq, i, NDK_OPERATION_SEND))
			return;
	}
	if (wt_bound(w, 0, 100, RW) && wt_unbound(w))
		EXPECT_STATUS(t, wt_deregister(w), 0);
}

/* Proves: GET_REMOTE_TOKEN_FROM_MW.wrong-state, 8.8-mw-starts-invalid */
static void new_window_shows_nothing(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	if (w)
		wt_peer_is_refused(w, ndk_get_remote_token_from_mw(w->mw), 0, 64);
}

/* Proves: CREATE_MW.close-pending, 3.1-PD, 3.8 */
static void pd_closed_while_a_window_is_made(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
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
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_qp *first;
	struct ndk_object_header *h;

	if (!w || !wt_bound(w, 0, 100, RW))
		return;
	/* One that is not connected takes no request at all. */
	first = w->b->qp;
	h = t_create(w->b, KIND_QP);
	if (!h)
		return;
	w->b->qp = container_of(h, struct ndk_qp, header);
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 100, RW), -ENOTCONN);
	EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(1), &w->mw->header, 0), -ENOTCONN);
	w->b->qp = first;
	if (wt_unbound(w))
		EXPECT_STATUS(t, wt_deregister(w), 0);
}

/* A window without rights is a window that the peer cannot use. */
static void no_rights(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	if (w && wt_bound(w, 0, 100, 0))
		wt_peer_is_refused(w, ndk_get_remote_token_from_mw(w->mw), 0, 64);
}

/* A window larger than the adapter has. */
static void too_large(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
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
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	if (!w || !wt_bound(w, 0, 100, RW))
		return;
	EXPECT_STATUS(t, wt_deregister(w), -EBUSY);
	/* Still usable. */
	if (!wt_peer_writes(w, ndk_get_remote_token_from_mw(w->mw), 0, 100, 1) || !wt_unbound(w))
		return;
	EXPECT_STATUS(t, wt_deregister(w), 0);
}

/* Proves: 3.1-MR, 3.5, 12-mr-mw-end, GET_REMOTE_TOKEN_FROM_MW.ok */
static void mr_closed_while_bound(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct t_await *mr;

	if (!w || !wt_bound(w, 0, 100, RW))
		return;
	mr = t_close_start(t, &w->r->mr->header);
	t_sleep(30);
	EXPECT(t, !t_is_done(mr));
	/* The window lives on. */
	wt_peer_writes(w, ndk_get_remote_token_from_mw(w->mw), 0, 100, 1);
	if (t->arg)
		t_close(t, &w->mw->header);
	else
		wt_unbound(w);
	EXPECT_STATUS(t, t_join(mr), 0);
}

/* A bind that is flushed binds nothing. */
static void flushed_bind(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r;

	if (!w)
		return;
	EXPECT_STATUS(t, wt_bind(w, 1, 0, 100, RW | NDK_OP_FLAG_DEFER), 0);
	ndk_flush(w->b->qp);
	if (!t_take(w->b->icq, &r))
		return;
	EXPECT_STATUS(t, r.status, -ECANCELED);
	EXPECT_EQ(t, r.type, BIND);
	EXPECT_STATUS(t, wt_deregister(w), 0);
}

/* Proves: BIND.close-pending, 3.1-MW, 12-mr-implicit */
static void closed_in_mid_use(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r;
	int i;

	if (!w)
		return;
	for (i = 0; i < 20; i++) {
		struct ndk_mw *mw = wt_window(w->b);

		if (!mw)
			return;
		w->mw = mw;
		/* With its request on the way, and also with it waiting for its doorbell. */
		EXPECT_STATUS(t, wt_bind(w, i, 0, 100, RW | (i % 2 ? NDK_OP_FLAG_DEFER : 0)), 0);
		t_close(t, &mw->header);
		if (!t_take(w->b->icq, &r))
			return;
		EXPECT_STATUS(t, r.status, 0);
	}
	EXPECT_STATUS(t, wt_deregister(w), 0);
	t_ping(w->a, w->b);
}

static const struct t_case cases[] = {
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

T_GROUP(window_rules, cases);
