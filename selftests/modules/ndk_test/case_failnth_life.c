// SPDX-License-Identifier: GPL-2.0
/*
 * A connection from nothing to nothing, while allocations fail: any one of the machine, through failslab, from outside
 * (selftests/failnth.sh); or the n-th of each worker, those of the layers below among them.
 */

#include "failnth.h"
#include "scene.h"

/* Ended with success, or with a status that this call may have for want of memory. */
static bool survived(struct t *t, const char *what, int status, bool network)
{
	switch (status) {
	case 0:
		return true;
	case -ENOMEM:
		return false;
	case -ECONNREFUSED:
	case -ECONNABORTED:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		if (network)
			return false;
		break;
	}
	t_fail(t, "%s: %s", what, t_errname(status));
	return false;
}

static bool try_kind(struct t_end *e, enum t_kind kind, struct ndk_object_header **h)
{
	int status;

	*h = t_try_create(e, kind, &status);
	return survived(e->t, t_kind_name(kind), status, false);
}

static struct t_cq *try_cq(struct t_end *e)
{
	struct t_cq *cq = t_alloc(e->t, sizeof(*cq));
	struct t_await *w = t_await(e->t, "create CQ");
	struct ndk_object_header *h;
	void *out = t_poison();
	int rc, status;

	cq->t = e->t;
	init_completion(&cq->notified);
	rc = ndk_create_cq(e->adapter, 64, t_notified, cq, -1, t_created, w, (struct ndk_cq **)&out);
	h = t_create_end(e, KIND_CQ, w, rc, &out, &status);
	if (!survived(e->t, w->what, status, false))
		return NULL;
	cq->cq = container_of(h, struct ndk_cq, header);
	return cq;
}

static bool try_end(struct t *t, struct t_end *e, enum t_side side)
{
	struct ndk_open_params params = {
		.version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR }, .device = world.device[side],
	};
	struct ndk_object_header *h;

	e->t = t;
	e->side = side;
	e->cfg = (struct t_cfg) { .depth = 16, .sge = 2, .inline_size = 64, .cq_depth = 64, .inbound = 2, .outbound = 2 };
	init_completion(&e->gone_done);
	if (!survived(t, "open adapter", t_open(t, side, &params, &e->adapter), false) || !try_kind(e, KIND_PD, &h))
		return false;
	e->pd = container_of(h, struct ndk_pd, header);
	e->rcq = try_cq(e);
	e->icq = e->rcq;
	if (!e->rcq)
		return false;
	if (side == SIDE_B) {
		if (!try_kind(e, KIND_SRQ, &h))
			return false;
		e->srq = container_of(h, struct ndk_srq, header);
	}
	if (!try_kind(e, KIND_QP, &h))
		return false;
	e->qp = container_of(h, struct ndk_qp, header);
	return true;
}

static bool try_memory(struct t_end *e)
{
	struct t_region *r = t_alloc(e->t, sizeof(*r));
	struct ndk_object_header *h;
	struct t_await *w;
	int rc;

	if (!try_kind(e, KIND_MR, &h))
		return false;
	r->mr = container_of(h, struct ndk_mr, header);
	r->size = 4 * PAGE_SIZE;
	r->va = PTR_ALIGN((u8 *)t_alloc(e->t, r->size + PAGE_SIZE), PAGE_SIZE);
	r->base = (u64)(unsigned long)r->va;
	r->sg = t_alloc(e->t, sizeof(*r->sg));
	r->nents = 1;
	sg_init_one(r->sg, r->va, r->size);
	rc = t_register(e, r, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	if (survived(e->t, "register MR", rc, false))
		survived(e->t, "deregister MR", t_deregister(e, r), false);
	if (!try_kind(e, KIND_FAST_MR, &h))
		return false;
	w = t_await(e->t, "initialize fast register");
	rc = ndk_initialize_fast_register_mr(container_of(h, struct ndk_mr, header), 16, true, t_done, w);
	return survived(e->t, w->what, t_wait(w, rc), false);
}

/* A connection from nothing to nothing, as far as memory lasts. What cannot be made is left; the end closes the rest. */
static void life(struct t *t)
{
	struct t_end *a = t_alloc(t, sizeof(*a)), *b = t_alloc(t, sizeof(*b));
	struct t_await *connect, *accept, *complete, *listen, *w;
	struct ndk_connector *incoming = NULL;
	struct ndk_object_header *h;
	struct sockaddr_storage ss;
	struct t_listener *l;
	unsigned long end;
	u32 len;
	int rc;

	if (!try_end(t, a, SIDE_A) || !try_end(t, b, SIDE_B) || !try_memory(a))
		return;
	l = t_try_listener(b, &rc);
	if (!survived(t, "create listener", rc, false))
		return;
	listen = t_await(t, "listen");
	len = t_addr(SIDE_B, AF_INET, 0, &ss);
	rc = t_wait(listen, ndk_listen(l->listener, (struct sockaddr *)&ss, len, t_done, listen));
	if (!survived(t, "listen", rc, false))
		return;
	len = sizeof(l->address);
	ndk_get_listener_local_address(l->listener, (struct sockaddr *)&l->address, &len);
	if (!try_kind(a, KIND_SHARED_ENDPOINT, &h))
		return;
	a->shared = container_of(h, struct ndk_shared_endpoint, header);
	if (!try_kind(a, KIND_CONNECTOR, &h))
		return;
	a->connector = container_of(h, struct ndk_connector, header);
	connect = t_await(t, "connect");
	rc = t_shared_connect_call(a, &l->address, connect);
	if (rc != -EINPROGRESS) {
		survived(t, "connect", rc, true);
		return;
	}
	connect->pending = true;
	/* The request, or its refusal because the other side has no memory for it. */
	for (end = jiffies + t_ticks(60); time_before(jiffies, end) && !t_is_done(connect);) {
		if (wait_for_completion_timeout(&l->came, HZ / 20)) {
			incoming = l->queue[0];
			break;
		}
	}
	if (!incoming) {
		survived(t, "connect", t_join(connect), true);
		return;
	}
	accept = t_await(t, "accept");
	rc = ndk_accept(incoming, b->qp, 1, 1, NULL, 0, t_gone, b, t_done, accept);
	if (rc != -EINPROGRESS) {
		survived(t, "accept", rc, true);
		return;
	}
	accept->pending = true;
	b->connector = incoming;
	if (!survived(t, "connect", t_join_secs(connect, 90), true))
		return;
	complete = t_await(t, "complete connect");
	rc = t_wait(complete, ndk_complete_connect(a->connector, t_gone, a, t_done, complete));
	if (!survived(t, "complete connect", rc, true))
		return;
	if (!survived(t, "accept", t_join_secs(accept, 90), true))
		return;
	w = t_await(t, "disconnect");
	rc = ndk_disconnect(a->connector, t_done, w);
	if (rc != -EINPROGRESS) {
		survived(t, "disconnect", rc, true);
		return;
	}
	w->pending = true;
	if (wait_for_completion_timeout(&b->gone_done, t_ticks(30)))
		t_close(t, &b->connector->header);
	survived(t, "disconnect", t_join_secs(w, 90), true);
}

/*
 * A datagram that rxe has no memory for ends its QP for such, and nobody connects any more (Documentation/limits.rst): then the
 * links are made again. Of what the life left open nothing holds that up.
 */
static void recover(struct t *t)
{
	bool silent = false;
	unsigned int i;

	for (i = 0; i < t->nr_awaits; i++)
		silent |= t->awaits[i].status == -ETIMEDOUT;
	t_start_over(t);
	if (silent)
		t_host(t, "mend links a");
}

/*
 * Proves: CREATE_COMPLETION.no-resources, REQUEST_COMPLETION.no-resources, CONNECT_EVENT_CALLBACK.no-resources,
 * 2.3-memory, 4.4-no-memory
 */
static void one_life(struct t *t)
{
	life(t);
	recover(t);
}

/* Proves: CREATE_COMPLETION.no-resources, REQUEST_COMPLETION.no-resources, 2.3-memory */
/* Bug: B3, B4, K20 */
static void in_all_workers(struct t *t)
{
	unsigned int n, most = t_long ? 100 : 8;
	struct t_pair *p;
	bool hit = true;

	for (n = 1; hit && n <= most && !t->failures; n++) {
		workers_fail_nth(n);
		life(t);
		hit = workers_were_hit();
		recover(t);
		if (t->failures)
			t_fail(t, "with allocation %u of each worker failed", n);
	}
	EXPECT(t, n > 2);
	p = t_pair(t, NULL);
	if (p)
		t_ping(&p->a, &p->b);
}

/*
 * The calls find no memory; that the workers find none for the closes of single objects is in case_failnth_workers.c.
 *
 * Proves: CLOSE_OBJECT.no-resources, CLOSE_COMPLETION.no-resources, 2.5-infallible
 */
/* Bug: K20 */
static void closes_at_every_stage(struct t *t)
{
	struct t_await *connector, *qp;
	enum stage state;
	struct scene *s;
	unsigned int n;
	bool hit;

	for (state = A_IDLE; state < STATES; state++) {
		for (n = 1, hit = true; hit && n < MOST && !t->failures; n++) {
			s = t_alloc(t, sizeof(*s));
			if (!t_reach(t, s, state)) {
				t_fail(t, "%s is not reached", t_stage_names[state]);
				return;
			}
			fail_nth(n);
			connector = t_close_start(t, &s->connector->header);
			qp = t_close_start(t, &s->subject->qp->header);
			hit = was_hit();
			t_join(connector);
			t_join(qp);
			if (s->pending && !t_is_done(s->pending))
				t_fail(t, "%s: closed before its request had ended", t_stage_names[state]);
			recover(t);
		}
	}
}

static const struct t_case cases[] = {
	{ "one_life", one_life },
	{ "the_same_allocation_of_all_workers_fails", in_all_workers },
	{ "closes_at_every_stage_cannot_fail", closes_at_every_stage },
};

T_GROUP(failnth_life, cases);
