// SPDX-License-Identifier: GPL-2.0
/* A device that refuses: requests, alone and out of the middle of a chain, objects, connections. On ndk_nulldev. */

#include <linux/errno.h>

#include "ndk_test.h"

#define LEN 64
#define DEFER NDK_OP_FLAG_DEFER
#define RW (NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE)

/* The n-th such call of the device from now on fails. */
static bool refuse(struct t *t, const char *call, int n, int error)
{
	return !t_host(t, "echo '%d %d' >/sys/kernel/debug/ndk_nulldev/%s", n, error, call);
}

struct rt {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct t_buf *abuf, *bbuf;
};

static struct rt *setup(struct t *t)
{
	struct rt *r = t_alloc(t, sizeof(*r));

	r->t = t;
	r->p = t_pair(t, NULL);
	if (!r->p)
		return NULL;
	r->a = &r->p->a;
	r->b = &r->p->b;
	r->abuf = t_buf(r->a, PAGE_SIZE);
	r->bbuf = t_buf(r->b, PAGE_SIZE);
	return r->abuf && r->bbuf ? r : NULL;
}

static int send(struct rt *r, unsigned long i, u32 flags)
{
	return t_post_send(r->a, i, r->abuf, i * LEN, LEN, flags);
}

static bool receives(struct rt *r, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!EXPECT_STATUS(r->t, t_post_receive(r->b, i, r->bbuf, i * LEN, LEN), 0))
			return false;
	return true;
}

/* Of requests 0 to nr - 1 the first ones succeeded, the others were cancelled, each once and in order. */
static void ended(struct rt *r, int good, int nr)
{
	int i;

	for (i = 0; i < good; i++)
		if (!t_take_ok(r->a, r->a->icq, i, NDK_OPERATION_SEND) ||
		    !t_take_ok(r->b, r->b->rcq, i, NDK_OPERATION_RECEIVE))
			return;
	for (; i < nr; i++)
		if (!t_take_status(r->a, r->a->icq, i, NDK_OPERATION_SEND, -ECANCELED))
			return;
	EXPECT(r->t, t_no_result(r->a->icq, 10));
}

/* A connection from which the device dropped requests is over: posts are refused, and both ends hear of it. */
static void is_over(struct rt *r)
{
	EXPECT_STATUS(r->t, send(r, 9, 0), -ENOTCONN);
	EXPECT_STATUS(r->t, t_post_receive(r->a, 9, r->abuf, 0, LEN), -ENOTCONN);
	t_wait_gone(r->a);
	t_wait_gone(r->b);
	EXPECT_STATUS(r->t, t_join(t_disconnect_start(r->b)), 0);
}

/*
 * Three requests wait, a fourth rings, and the device refuses one of the list. What comes before has succeeded; what was
 * accepted and comes after is cancelled; the fourth has failed in its post.
 * Proves: 7.1-refused, 7.5-push-on-undeferred, 7.5-push-on-failure
 */
static void one_of_a_chain(struct t *t)
{
	struct rt *r = setup(t);
	int i, at = t->arg;

	if (!r || !receives(r, 4))
		return;
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, send(r, i, DEFER), 0);
	if (!refuse(t, "post_send", at, ENOMEM))
		return;
	EXPECT_STATUS(t, send(r, 3, 0), -ENOBUFS);
	ended(r, at - 1, 3);
	if (at <= 3) {
		is_over(r);
		return;
	}
	/* It alone was refused, as though it had been posted alone: nothing is over. */
	EXPECT_STATUS(t, send(r, 3, 0), 0);
	if (t_take_ok(r->a, r->a->icq, 3, NDK_OPERATION_SEND))
		t_take_ok(r->b, r->b->rcq, 3, NDK_OPERATION_RECEIVE);
}

/* The same where silent requests wait: what succeeded says nothing, what was cancelled does. */
static void one_of_a_silent_chain(struct t *t)
{
	struct rt *r = setup(t);
	int i;

	if (!r || !receives(r, 4))
		return;
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, send(r, i, DEFER | NDK_OP_FLAG_SILENT_SUCCESS), 0);
	if (!refuse(t, "post_send", 2, EINVAL))
		return;
	EXPECT_STATUS(t, send(r, 3, 0), -ENOTCONN);
	t_take_ok(r->b, r->b->rcq, 0, NDK_OPERATION_RECEIVE);
	for (i = 1; i < 3; i++)
		t_take_status(r->a, r->a->icq, i, NDK_OPERATION_SEND, -ECANCELED);
	EXPECT(t, t_no_result(r->a->icq, 10));
	is_over(r);
}

enum { BY_FLUSH, BY_FAILURE, BY_CLOSE };

/*
 * What waits is pushed by something else than a request behind it, and the device refuses the second.
 * Proves: 7.5-push-on-end, 7.5-push-on-failure, FLUSH.ok
 */
static void one_of_a_pushed_chain(struct t *t)
{
	struct rt *r = setup(t);
	struct t_await *w;
	int i;

	if (!r || !receives(r, 4))
		return;
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, send(r, i, DEFER), 0);
	if (!refuse(t, "post_send", 2, ENOMEM))
		return;
	switch (t->arg) {
	case BY_FLUSH:
		ndk_flush(r->a->qp);
		ended(r, 0, 3);
		break;
	case BY_FAILURE:
		EXPECT_STATUS(t, ndk_send(r->a->qp, CTX(3), NULL, 1, 0), -EINVAL);
		ended(r, 1, 3);
		is_over(r);
		break;
	case BY_CLOSE:
		w = t_close_start(t, &r->a->connector->header);
		r->a->connector = NULL;
		t_join(w);
		ended(r, 0, 3);
		break;
	}
}

/* The request behind the chain is two to the device, which takes one of them: it was accepted, and is cancelled. */
static void half_a_request(struct t *t)
{
	struct rt *r = setup(t);
	struct ndk_object_header *h;
	struct t_region *memory;
	struct ndk_mw *mw;

	if (!r || !receives(r, 1))
		return;
	memory = t_region(r->a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ |
			  NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
	h = t_create(r->a, KIND_MW);
	if (!memory || !h)
		return;
	mw = container_of(h, struct ndk_mw, header);
	EXPECT_STATUS(t, ndk_bind(r->a->qp, CTX(1), memory->mr, mw, memory->base, LEN, RW), 0);
	if (!t_take_ok(r->a, r->a->icq, 1, NDK_OPERATION_BIND))
		return;
	EXPECT_STATUS(t, send(r, 0, DEFER), 0);
	/* The send, the end of what the window showed, and what it is to show. */
	if (!refuse(t, "post_send", 3, ENOMEM))
		return;
	EXPECT_STATUS(t, ndk_bind(r->a->qp, CTX(2), memory->mr, mw, memory->base + LEN, LEN, RW), 0);
	t_take_ok(r->a, r->a->icq, 0, NDK_OPERATION_SEND);
	t_take_status(r->a, r->a->icq, 2, NDK_OPERATION_BIND, -ECANCELED);
	EXPECT(t, t_no_result(r->a->icq, 10));
	is_over(r);
}

/*
 * Refused alone, a request has failed and nothing else has: no completion, and the queues go on.
 * Proves: 7.1-refused, SEND.no-resources, RECEIVE.no-resources
 */
static void a_request_alone(struct t *t)
{
	static const int errors[][2] = { { ENOMEM, -ENOBUFS }, { EINVAL, -ENOTCONN }, { EIO, -EIO } };
	struct rt *r = setup(t);
	int i;

	for (i = 0; r && i < ARRAY_SIZE(errors); i++) {
		if (!refuse(t, "post_recv", 1, errors[i][0]))
			return;
		EXPECT_STATUS(t, t_post_receive(r->b, 7, r->bbuf, 0, LEN), errors[i][1]);
		if (!refuse(t, "post_send", 1, errors[i][0]))
			return;
		EXPECT_STATUS(t, send(r, 7, t->arg), errors[i][1]);
		EXPECT(t, t_no_result(r->b->rcq, 1) && t_no_result(r->a->icq, 1));
		if (!t_ping(r->a, r->b))
			return;
	}
}

static const struct {
	const char *call;
	enum t_kind kind;
} made[] = {
	{ "alloc_pd", KIND_PD }, { "create_cq", KIND_CQ }, { "create_qp", KIND_QP }, { "modify_qp", KIND_QP },
};

/* Proves: CREATE_PD.no-resources, CREATE_CQ.no-resources, CREATE_QP.no-resources, 2.3-failed */
static void objects(struct t *t)
{
	static const int errors[][2] = { { ENOMEM, -ENOMEM }, { EIO, -EIO } };
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	int i, j, status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(made); i++) {
		for (j = 0; j < ARRAY_SIZE(errors); j++) {
			if (!refuse(t, made[i].call, 1, errors[j][0]))
				return;
			EXPECT(t, !t_try_create(e, made[i].kind, &status));
			EXPECT_STATUS(t, status, errors[j][1]);
		}
		h = t_create(e, made[i].kind);
		if (!h)
			return;
		t_close(t, h);
	}
}

/* Proves: REGISTER_MR.no-resources, INITIALIZE_FAST_REGISTER_MR.no-resources */
static void registrations(struct t *t)
{
	static const char *const calls[] = { "alloc_mr", "map_mr", "post_send", "create_qp", "connect", "accept" };
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_region *r;
	struct t_await *w;
	int i;

	/* A PD makes its own QP for the first, so each has a PD of its own. */
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!t_end_init(t, e, SIDE_A, NULL))
			return;
		r = t_memory(e, PAGE_SIZE);
		if (!r || !refuse(t, calls[i], 1, ENOMEM))
			return;
		EXPECT(t, t_register(e, r, NDK_MR_FLAG_ALLOW_LOCAL_WRITE));
		EXPECT_STATUS(t, t_register(e, r, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), 0);
		EXPECT_STATUS(t, t_deregister(e, r), 0);
	}
	r = t_alloc(t, sizeof(*r));
	r->mr = container_of(t_create(e, KIND_FAST_MR), struct ndk_mr, header);
	if (!refuse(t, "alloc_mr", 1, ENOMEM))
		return;
	w = t_await(t, "initialize fast register");
	EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(r->mr, 4, false, t_done, w)), -ENOMEM);
	w = t_await(t, "initialize fast register");
	EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(r->mr, 4, false, t_done, w)), 0);
}

/* Proves: CONNECT.no-resources, ACCEPT.no-resources */
static void connections(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept;
	struct ndk_connector *incoming;

	if (!p || !refuse(t, t->arg ? "accept" : "connect", 1, ENOMEM))
		return;
	connect = t_connect_start(&p->a, &p->listener->address);
	if (!connect)
		return;
	if (t->arg) {
		incoming = t_incoming(p->listener);
		accept = incoming ? t_accept_start(&p->b, incoming) : NULL;
		if (!accept)
			return;
		EXPECT_STATUS(t, t_join(accept), -ENOMEM);
	}
	EXPECT_STATUS(t, t_join(connect), t->arg ? -ECONNREFUSED : -ENOMEM);
	t_close(t, &p->a.connector->header);
	t_close(t, &p->a.qp->header);
	p->a.connector = NULL;
	if (p->b.connector)
		t_close(t, &p->b.connector->header);
	t_close(t, &p->b.qp->header);
	if (t_end_qp(&p->a) && t_end_qp(&p->b) && t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

static const struct t_case cases[] = {
	{ "first_of_a_chain", one_of_a_chain, 1 },
	{ "second_of_a_chain", one_of_a_chain, 2 },
	{ "third_of_a_chain", one_of_a_chain, 3 },
	{ "last_of_a_chain", one_of_a_chain, 4 },
	{ "one_of_a_silent_chain", one_of_a_silent_chain },
	{ "one_of_a_chain_that_a_flush_pushes", one_of_a_pushed_chain, BY_FLUSH },
	{ "one_of_a_chain_that_a_failure_pushes", one_of_a_pushed_chain, BY_FAILURE },
	{ "one_of_a_chain_that_a_close_pushes", one_of_a_pushed_chain, BY_CLOSE },
	{ "half_a_request", half_a_request },
	{ "request_alone", a_request_alone },
	{ "silent_request_alone", a_request_alone, NDK_OP_FLAG_SILENT_SUCCESS },
	{ "objects", objects },
	{ "registrations", registrations },
	{ "connect", connections, 0 },
	{ "accept", connections, 1 },
};

T_GROUP(refuses, cases);
