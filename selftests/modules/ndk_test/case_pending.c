// SPDX-License-Identifier: GPL-2.0
/* What is closed while a call on it, or below it, is still under way: the call ends first, and the close is not held up. */

#include <linux/bitmap.h>
#include <linux/delay.h>

#include "ndk_test.h"

/* Ended by itself before the close could reach it, or by the close. */
static void ended_or_cancelled(struct t_await *w)
{
	int status = t_join(w);

	if (status && status != -ECANCELED)
		t_fail(w->t, "%s: %s", w->what, t_errname(status));
}

static void has_returned(struct t_await *w)
{
	struct t_await *before = w->arg;

	if (!t_has_left(before))
		t_fail(w->t, "%s: completed before the callback of %s returned", w->what, before->what);
}

/* Closes it while `w` is pending: that callback returns before the close completes. */
static void closes_after(struct t *t, struct ndk_object_header *h, struct t_await *w)
{
	struct t_await *closing = t_close_then(t, h, has_returned, w);

	t_join(closing);
	ended_or_cancelled(w);
}

/* The callback runs on: what does not wait for its return is caught. */
static void run_on(struct t_await *w)
{
	mdelay(20);
}

/* --- creates -------------------------------------------------------------- */

static void close_created(struct t_await *w)
{
	if (w->object)
		w->arg = t_close_start(w->t, w->object);
	mdelay(20);
}

/* The adapter is closed while something is being created below it. */
static void create_below_an_adapter(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_await *w;
	void *out;
	int i;

	e->t = t;
	e->cfg.cq_depth = 8;
	for (i = 0; i < 5; i++) {
		e->adapter = t_another(t, SIDE_A);
		if (!e->adapter)
			return;
		out = t_poison();
		w = t_await(t, t_kind_name(t->arg));
		w->then = close_created;
		if (!t_pended(w, t_create_call(e, t->arg, w, &out)) || !t_close_adapter(t, e->adapter))
			return;
		if (!t_has_left(w))
			t_fail(t, "ndk_close_adapter() returned before the create completion did");
		EXPECT(t, out == t_poison());
		ended_or_cancelled(w);
		if (w->arg && !t_has_left(w->arg))
			t_fail(t, "ndk_close_adapter() returned before the close completion did");
	}
}

enum antecedent { ITS_PD, ITS_RECEIVE_CQ, ITS_INITIATOR_CQ };

/* What the QP is made from is closed while it is being made. */
static void create_qp(struct t *t)
{
	struct t_await *w, *closing;
	struct t_end *e;
	void *out;
	int i;

	for (i = 0; i < 8; i++) {
		e = t_alloc(t, sizeof(*e));
		if (!t_end_init(t, e, SIDE_A, NULL))
			return;
		out = t_poison();
		w = t_await(t, "create QP");
		if (!t_pended(w, t_create_call(e, KIND_QP, w, &out)))
			return;
		udelay(i * 20);
		closing = t_close_start(t, t->arg == ITS_PD ? &e->pd->header :
					   t->arg == ITS_RECEIVE_CQ ? &e->rcq->cq->header : &e->icq->cq->header);
		ended_or_cancelled(w);
		EXPECT(t, out == t_poison());
		if (w->object) {
			/* It was made before the close: that waits for it. */
			t_sleep(10);
			EXPECT(t, !t_is_done(closing));
			t_close(t, w->object);
		}
		t_join(closing);
	}
}

/* --- requests ------------------------------------------------------------- */

/* Proves: DEREGISTER_MR.close-pending, 3.1-MR, 3.8, 3.9 */
static void closed_while_deregistering(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_region *r;
	struct t_await *w;
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < 5; i++) {
		r = t_region(e, PAGE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
		if (!r)
			return;
		w = t_await(t, "deregister MR");
		w->then = run_on;
		if (!t_pended(w, ndk_deregister_mr(r->mr, t_done, w)))
			return;
		closes_after(t, &r->mr->header, w);
	}
}

/* Proves: INITIALIZE_FAST_REGISTER_MR.close-pending, 3.1-MR, 3.8, 3.9 */
static void closed_while_initializing(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_await *w;
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < 5; i++) {
		h = t_create(e, KIND_FAST_MR);
		if (!h)
			return;
		w = t_await(t, "initialize fast register");
		w->then = run_on;
		if (!t_pended(w, ndk_initialize_fast_register_mr(container_of(h, struct ndk_mr, header), 16, true,
								 t_done, w)))
			return;
		closes_after(t, h, w);
	}
}

/* Proves: LISTEN.close-pending, 3.1-LISTENER, 3.8, 3.9, 5.6-any-close */
static void listens(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct sockaddr_storage ss;
	struct t_listener *l;
	struct t_await *w;
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < 8; i++) {
		l = t_listener(e);
		if (!l)
			return;
		t_addr(SIDE_A, AF_INET, 6100, &ss);
		w = t_await(t, "listen");
		w->then = run_on;
		if (!t_pended(w, ndk_listen(l->listener, (struct sockaddr *)&ss, t_addr_len(&ss), t_done, w)))
			return;
		udelay(i * 20);
		/* And the address is free, or the next listen fails. */
		closes_after(t, &l->listener->header, w);
	}
}

/* Close of the connector whose accept or complete is pending, in the form whose disconnect event has a reason. */
static void ex_forms(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete;
	struct t_end *a, *b;

	if (!p)
		return;
	a = &p->a;
	b = &p->b;
	connect = t_connect_start(a, &p->listener->address);
	b->connector = connect ? t_incoming(p->listener) : NULL;
	if (!b->connector)
		return;
	accept = t_await(t, "accept_ex");
	accept->then = run_on;
	if (!t_pended(accept, ndk_accept_ex(b->connector, b->qp, 1, 1, NULL, 0, t_gone_ex, b, t_done, accept)) ||
	    !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	if (t->arg == SIDE_B) {
		closes_after(t, &b->connector->header, accept);
		EXPECT_STATUS(t, t_join(accept), -ECANCELED);
	} else {
		complete = t_await(t, "complete_connect_ex");
		complete->then = run_on;
		if (!t_pended(complete, ndk_complete_connect_ex(a->connector, t_gone_ex, a, t_done, complete)))
			return;
		closes_after(t, &a->connector->header, complete);
		t_join(accept);
	}
	/* Who closes has no event, and who was told of no connection has none either. */
	t_sleep(30);
	EXPECT_EQ(t, atomic_read(t->arg == SIDE_B ? &b->gone : &a->gone), 0);
	if (t->arg == SIDE_B)
		EXPECT_EQ(t, atomic_read(&a->gone), 0);
}

/* --- the event with a reason ---------------------------------------------- */

struct event {
	struct t_end *b;
	struct completion started;
	struct t_await *closing;
	bool closes;
	bool left;
};

static struct event *the_event;

static void in_the_event(struct t_end *b)
{
	struct event *v = the_event;

	if (v->closes)
		v->closing = t_close_start(b->t, &b->connector->header);
	complete(&v->started);
	mdelay(40);
	WRITE_ONCE(v->left, true);
}

static void event_has_returned(struct t_await *w)
{
	if (!READ_ONCE(the_event->left))
		t_fail(w->t, "%s: completed while the event was running", w->what);
}

/* Proves: DISCONNECT_EVENT_CALLBACK_EX.close-pending, DISCONNECT_EVENT_CALLBACK_EX.ok, 3.1-CONNECTOR, 3.4, 3.10, 5.10-ex */
static void event_with_a_reason(struct t *t)
{
	struct event *v = t_alloc(t, sizeof(*v));
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete, *w;
	struct t_end *b;

	if (!p)
		return;
	init_completion(&v->started);
	v->closes = t->arg;
	the_event = v;
	b = &p->b;
	b->on_gone = in_the_event;
	connect = t_connect_start(&p->a, &p->listener->address);
	b->connector = connect ? t_incoming(p->listener) : NULL;
	if (!b->connector)
		return;
	accept = t_await(t, "accept_ex");
	if (!t_pended(accept, ndk_accept_ex(b->connector, b->qp, 1, 1, NULL, 0, t_gone_ex, b, t_done, accept)) ||
	    !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	complete = t_complete_start(&p->a);
	if (!complete || !EXPECT_STATUS(t, t_join(complete), 0) || !EXPECT_STATUS(t, t_join(accept), 0))
		return;
	t_close_start(t, &p->a.connector->header);
	if (!wait_for_completion_timeout(&v->started, t_ticks(20))) {
		t_fail(t, "no disconnect event");
		return;
	}
	if (v->closes)
		w = v->closing;
	else
		w = t_close_then(t, &b->connector->header, event_has_returned, NULL);
	t_join(w);
	EXPECT(t, READ_ONCE(v->left));
	EXPECT_EQ(t, atomic_read(&b->gone), 1);
}

/* --- work requests -------------------------------------------------------- */

#define KINDS_OF_REQUESTS 8

/*
 * One of each kind in the queue, behind a message that nobody receives. The
 * QP goes, with or without a flush before: each has one result, in order.
 */
/*
 * Proves: SEND.close-pending, WRITE.close-pending, READ.close-pending, SEND_AND_INVALIDATE.close-pending,
 * FAST_REGISTER.close-pending, INVALIDATE.close-pending, RECEIVE.close-pending, 3.1-QP, 3.9, 6.4-silent, 7.1-accepted,
 * 7.2-order
 */
static void every_kind_of_request(struct t *t)
{
	static const u32 types[KINDS_OF_REQUESTS] = {
		NDK_OPERATION_SEND, NDK_OPERATION_FAST_REGISTER, NDK_OPERATION_WRITE, NDK_OPERATION_READ,
		NDK_OPERATION_SEND, NDK_OPERATION_INVALIDATE, NDK_OPERATION_SEND, NDK_OPERATION_WRITE,
	};
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_result_ex r[KINDS_OF_REQUESTS + 1];
	struct ndk_object_header *h;
	struct t_region *sink;
	struct t_buf *buf;
	struct t_await *w;
	struct ndk_sge sge;
	struct ndk_mr *mr;
	struct t_end *a;
	u32 n, i;

	if (!p)
		return;
	a = &p->a;
	buf = t_buf(a, PAGE_SIZE);
	sink = t_region(a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	h = t_create(a, KIND_FAST_MR);
	if (!buf || !sink || !h)
		return;
	mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	if (!EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(mr, 1, true, t_done, w)), 0))
		return;
	for (i = 0; i < 4; i++)
		EXPECT_STATUS(t, t_post_receive(a, i, buf, 0, 64), 0);
	t_sges(buf, 0, 64, &sge, 1);
	EXPECT_STATUS(t, t_post_send(a, 0, buf, 0, 64, 0), 0);
	EXPECT_STATUS(t, ndk_fast_register(a->qp, CTX(1), mr, 1, buf->lam->pages, 0, PAGE_SIZE, SZ_4K,
					   NDK_OP_FLAG_ALLOW_REMOTE_READ), 0);
	EXPECT_STATUS(t, t_post_write(a, 2, buf, 0, 64, SZ_4K, 1, 0), 0);
	EXPECT_STATUS(t, ndk_read(a->qp, CTX(3), &(struct ndk_sge) { .virtual_address = sink->base, .length = 64,
								     .token = sink->local }, 1, SZ_4K, 1, 0), 0);
	EXPECT_STATUS(t, ndk_send_and_invalidate(a->qp, CTX(4), &sge, 1, 0, 1), 0);
	EXPECT_STATUS(t, ndk_invalidate(a->qp, CTX(5), h, 0), 0);
	EXPECT_STATUS(t, t_post_send(a, 6, buf, 0, 64, NDK_OP_FLAG_SILENT_SUCCESS), 0);
	EXPECT_STATUS(t, t_post_write(a, 7, buf, 0, 64, SZ_4K, 1, NDK_OP_FLAG_SILENT_SUCCESS), 0);
	if (t->arg)
		ndk_flush(a->qp);
	w = t_close_start(t, &a->connector->header);
	t_close(t, &a->qp->header);
	t_join(w);
	/* All are there when the close is complete. */
	n = ndk_get_cq_results_ex(a->icq->cq, r, ARRAY_SIZE(r));
	if (!EXPECT_EQ(t, n, KINDS_OF_REQUESTS))
		return;
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, r[i].status, -ECANCELED);
		EXPECT_EQ(t, (long)r[i].request_context, i);
		EXPECT_EQ(t, r[i].type, types[i]);
		EXPECT(t, r[i].qp_context == a);
	}
	n = ndk_get_cq_results_ex(a->rcq->cq, r, ARRAY_SIZE(r));
	EXPECT_EQ(t, n, 4);
	for (i = 0; i < n; i++) {
		EXPECT_STATUS(t, r[i].status, -ECANCELED);
		EXPECT_EQ(t, (long)r[i].request_context, i);
	}
}

static const struct t_case cases[] = {
	/* Proves: CREATE_PD.close-pending, 3.7, 3.8, 2.3-out-pointer */
	{ "adapter_closed_while_a_pd_is_made", create_below_an_adapter, KIND_PD },
	/* Proves: CREATE_CQ.close-pending, 3.7, 3.8, 2.3-out-pointer */
	{ "adapter_closed_while_a_cq_is_made", create_below_an_adapter, KIND_CQ },
	/* Proves: CREATE_QP.close-pending, 3.1-PD, 3.8, 12-cancelled */
	{ "pd_closed_while_a_qp_is_made", create_qp, ITS_PD },
	/* Proves: CREATE_QP.close-pending, 3.1-CQ, 12-cancelled */
	{ "receive_cq_closed_while_a_qp_is_made", create_qp, ITS_RECEIVE_CQ },
	/* Proves: CREATE_QP.close-pending, 3.1-CQ, 12-cancelled */
	{ "initiator_cq_closed_while_a_qp_is_made", create_qp, ITS_INITIATOR_CQ },
	/* Bug: B64 */
	{ "mr_closed_while_deregistering", closed_while_deregistering },
	{ "mr_closed_while_made_ready", closed_while_initializing },
	{ "listener_closed_while_it_begins_to_listen", listens },
	/* Proves: COMPLETE_CONNECT_EX.close-pending, DISCONNECT_EVENT_CALLBACK_EX.wrong-state, 3.1-CONNECTOR, 3.8, 3.9 */
	{ "connector_closed_while_complete_ex_is_pending", ex_forms, SIDE_A },
	/* Proves: ACCEPT_EX.close-pending, DISCONNECT_EVENT_CALLBACK_EX.wrong-state, 3.1-CONNECTOR, 3.8, 3.9 */
	{ "connector_closed_while_accept_ex_is_pending", ex_forms, SIDE_B },
	{ "connector_closed_in_an_event_with_a_reason", event_with_a_reason, true },
	{ "connector_closed_while_an_event_with_a_reason_runs", event_with_a_reason, false },
	{ "every_kind_of_request_closed_while_queued", every_kind_of_request, 0 },
	{ "every_kind_of_request_flushed_and_closed", every_kind_of_request, 1 }, /* Proves: FLUSH.close-pending, 7.6-cancels */
};

T_GROUP(pending, cases);
