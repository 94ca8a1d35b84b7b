// SPDX-License-Identifier: GPL-2.0
/* Memory windows: bound with a request, seen by the peer as far as they go, and gone when it has invalidated them. */

#include "windows.h"

/* --- a life --------------------------------------------------------------- */

/* Proves: BIND.ok, INVALIDATE.ok, GET_REMOTE_TOKEN_FROM_MW.ok, CREATE_MW.ok, 7.7-tokens-early */
/* Bug: B41 */
static void bind_use_unbind(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 token, last = 0;
	int i;

	if (!w)
		return;
	for (i = 0; i < 6; i++) {
		/* Not aligned, over the end of a page. */
		if (!EXPECT_STATUS(t, wt_bind(w, 1, 100 + i, PAGE_SIZE + 7, RW), 0))
			return;
		/* Before the completion. */
		token = ndk_get_remote_token_from_mw(w->mw);
		EXPECT(t, token && token != last && token != w->r->remote);
		last = token;
		if (!t_take_ok(w->b, w->b->icq, 1, BIND) || !wt_peer_writes(w, token, 100 + i, PAGE_SIZE + 7, i) ||
		    !wt_peer_reads(w, token, 100 + i, PAGE_SIZE + 7, i + 50) || !wt_unbound(w))
			return;
		EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(9), &w->mw->header, 0), -EBADRQC);
	}
	wt_peer_is_refused(w, token, 200, 64);
}

/* Proves: BIND.ok, 7.7-name-only */
static void ends_of_the_region(struct t *t)
{
	static const struct { u64 at, length; } parts[] = {
		{ 0, 1 }, { 0, SIZE }, { SIZE - 1, 1 }, { PAGE_SIZE, PAGE_SIZE }, { PAGE_SIZE - 1, 2 }, { 5, SIZE - 5 },
	};
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	int i;

	if (!w)
		return;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (!wt_bound(w, parts[i].at, parts[i].length, RW) ||
		    !wt_peer_writes(w, ndk_get_remote_token_from_mw(w->mw), parts[i].at, parts[i].length, i) || !wt_unbound(w))
			return;
}

enum { BEFORE, BEHIND, READ_ONLY, UNBOUND, CLOSED };

/* Proves: 7.2-bad-remote, 3.1-MW */
static void beyond_the_window(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 token;

	if (!w || !wt_bound(w, PAGE_SIZE, 100, t->arg == READ_ONLY ? CAN_READ : RW))
		return;
	token = ndk_get_remote_token_from_mw(w->mw);
	switch (t->arg) {
	case BEFORE:
		wt_peer_is_refused(w, token, PAGE_SIZE - 1, 10);
		break;
	case BEHIND:
		wt_peer_is_refused(w, token, PAGE_SIZE + 91, 10);
		break;
	case READ_ONLY:
		if (wt_peer_reads(w, token, PAGE_SIZE, 100, 1))
			wt_peer_is_refused(w, token, PAGE_SIZE, 100);
		break;
	case UNBOUND:
		if (wt_unbound(w))
			wt_peer_is_refused(w, token, PAGE_SIZE, 100);
		break;
	case CLOSED:
		t_close(t, &w->mw->header);
		wt_peer_is_refused(w, token, PAGE_SIZE, 100);
		break;
	}
}

/* --- several, again, elsewhere -------------------------------------------- */

#define WINDOWS 5

/* Windows of one MR, which overlap; each ends by itself. */
static void several_windows_on_one_mr(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_mw *mw[WINDOWS];
	u32 token[WINDOWS];
	int i, j;

	if (!w)
		return;
	for (i = 0; i < WINDOWS; i++) {
		mw[i] = wt_window(w->b);
		if (!mw[i])
			return;
		w->mw = mw[i];
		if (!wt_bound(w, i * 1000, 3000, RW))
			return;
		token[i] = ndk_get_remote_token_from_mw(mw[i]);
		for (j = 0; j < i; j++)
			EXPECT(t, token[i] != token[j]);
	}
	for (i = 0; i < WINDOWS; i++) {
		for (j = i; j < WINDOWS; j++)
			if (!wt_peer_writes(w, token[j], j * 1000, 3000, i + j))
				return;
		EXPECT_STATUS(t, wt_deregister(w), -EBUSY);
		w->mw = mw[i];
		if (!wt_unbound(w))
			return;
	}
	EXPECT_STATUS(t, wt_deregister(w), 0);
}

/* A window that is bound anew shows the new part only, from the post on, under another token. */
/* Bug: B48 */
static void bound_again(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 token, last = 0;
	int i;

	if (!w)
		return;
	for (i = 0; i < 6; i++) {
		if (!wt_bound(w, i * 1000, 1000, RW))
			return;
		token = ndk_get_remote_token_from_mw(w->mw);
		EXPECT(t, token != last);
		if (!wt_peer_writes(w, token, i * 1000, 1000, i))
			return;
		last = token;
	}
	EXPECT_STATUS(t, wt_deregister(w), -EBUSY);
	if (t->arg) {
		/* The token before the last one. */
		u32 old = token;

		if (wt_bound(w, 0, 1000, RW))
			wt_peer_is_refused(w, old, 5000, 1000);
		return;
	}
	if (wt_unbound(w))
		EXPECT_STATUS(t, wt_deregister(w), 0);
}

/* It moves to another MR: the first one is free again. Proves: 12-mr-mw-end */
static void bound_to_another_mr(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct t_region *first, *second;

	if (!w || !wt_bound(w, 0, 100, RW))
		return;
	first = w->r;
	second = t_region(w->b, SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	if (!second)
		return;
	EXPECT_STATUS(t, t_deregister(w->b, first), -EBUSY);
	w->r = second;
	if (!wt_bound(w, 50, 100, RW))
		return;
	EXPECT_STATUS(t, t_deregister(w->b, first), 0);
	EXPECT_STATUS(t, t_deregister(w->b, second), -EBUSY);
	if (wt_peer_writes(w, ndk_get_remote_token_from_mw(w->mw), 50, 100, 3) && wt_unbound(w))
		EXPECT_STATUS(t, t_deregister(w->b, second), 0);
}

/* Posted back to back, nothing waited for: what a consumer with a full pipeline does. */
static void unbound_and_bound_at_once(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	u32 defer = t->arg ? NDK_OP_FLAG_DEFER : 0;
	int i;

	if (!w || !wt_bound(w, 0, 1000, RW))
		return;
	for (i = 1; i < 10; i++) {
		EXPECT_STATUS(t, ndk_invalidate(w->b->qp, CTX(2), &w->mw->header, defer), 0);
		EXPECT_STATUS(t, wt_bind(w, 1, i * 100, 1000, RW), 0);
		if (!t_take_ok(w->b, w->b->icq, 2, INVALIDATE) || !t_take_ok(w->b, w->b->icq, 1, BIND) ||
		    !wt_peer_writes(w, ndk_get_remote_token_from_mw(w->mw), i * 100, 1000, i))
			return;
	}
}

static void post_in_callback(struct t_await *await)
{
	struct wt *w = await->arg;

	EXPECT_STATUS(w->t, wt_bind(w, 1, 0, 64, RW), 0);
	EXPECT(w->t, ndk_get_remote_token_from_mw(w->mw));
	EXPECT_STATUS(w->t, ndk_invalidate(w->b->qp, CTX(2), &w->mw->header, 0), 0);
}

/* Proves: BIND.softirq, INVALIDATE.softirq, GET_REMOTE_TOKEN_FROM_MW.softirq */
static void bound_in_softirq(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
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
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
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
		if (!wt_bound(w, 0, 1000, RW))
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
		EXPECT_STATUS(t, wt_deregister(w), 0);
		if (!EXPECT_STATUS(t, t_register(w->b, w->r, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), 0))
			return;
	}
	wt_peer_is_refused(w, token, 0, 64);
}

/* Proves: 7.2-bad-invalidate */
static void invalidated_twice_by_the_peer(struct t *t)
{
	struct wt *w = wt_setup(t, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	struct ndk_result_ex r;
	struct t_buf *in;
	u32 token;

	if (!w || !wt_bound(w, 0, 1000, RW))
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
};

T_GROUP(window, cases);
