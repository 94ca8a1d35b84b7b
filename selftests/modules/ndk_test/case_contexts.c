// SPDX-License-Identifier: GPL-2.0
/* Calls from where nothing can sleep: in softirq, under a spinlock of the consumer, and from inside callbacks. */

#include <linux/workqueue.h>

#include "ndk_test.h"

struct softirq_call {
	struct work_struct work;
	void (*run)(void *arg);
	void *arg;
};

static void do_in_softirq(struct work_struct *work)
{
	struct softirq_call *call = container_of(work, struct softirq_call, work);

	spin_lock(&t_consumer_lock);
	call->run(call->arg);
	spin_unlock(&t_consumer_lock);
}

/* Runs it in softirq and under a spinlock: a provider that sleeps there is told so by the kernel. */
static void from_softirq(void (*run)(void *arg), void *arg)
{
	struct softirq_call call = { .run = run, .arg = arg };

	INIT_WORK_ONSTACK(&call.work, do_in_softirq);
	queue_work(system_bh_wq, &call.work);
	flush_work(&call.work);
	destroy_work_on_stack(&call.work);
}

/* --- memory --------------------------------------------------------------- */

struct memory {
	struct t_end e;
	struct t_region *r;
	struct ndk_mr *fast;
	struct ndk_lam *lam;
	size_t lam_size;
	struct t_await *reg, *init, *dereg;
	int built, registered, initialized, deregistered;
	u32 fbo, privileged, local, remote;
};

static void memory_begins(void *arg)
{
	struct memory *m = arg;
	struct t_region *r = m->r;

	m->built = ndk_build_lam(m->e.adapter, r->sg, r->nents, r->size, NULL, NULL, m->lam, &m->lam_size, &m->fbo);
	if (!m->built)
		ndk_release_lam(m->e.adapter, m->lam);
	m->privileged = ndk_get_privileged_token(m->e.pd);
	m->registered = ndk_register_mr(r->mr, r->sg, r->nents, r->base, r->size, NDK_MR_FLAG_ALLOW_REMOTE_READ,
					t_done, m->reg);
	m->initialized = ndk_initialize_fast_register_mr(m->fast, 4, true, t_done, m->init);
}

static void memory_ends(void *arg)
{
	struct memory *m = arg;

	m->local = ndk_get_local_token_from_mr(m->r->mr);
	m->remote = ndk_get_remote_token_from_mr(m->r->mr);
	m->deregistered = ndk_deregister_mr(m->r->mr, t_done, m->dereg);
}

/*
 * Proves: BUILD_LAM.softirq, RELEASE_LAM.softirq, GET_PRIVILEGED_MEMORY_REGION_TOKEN.softirq, REGISTER_MR.softirq,
 * DEREGISTER_MR.softirq, INITIALIZE_FAST_REGISTER_MR.softirq, GET_LOCAL_TOKEN_FROM_MR.softirq,
 * GET_REMOTE_TOKEN_FROM_MR.softirq, REQUEST_COMPLETION.softirq, 2.2-any-context, 2.2-callbacks-softirq
 */
static void memory_calls(struct t *t)
{
	struct memory *m = t_alloc(t, sizeof(*m));
	struct ndk_object_header *h;

	if (!t_end_init(t, &m->e, SIDE_A, NULL))
		return;
	m->r = t_memory(&m->e, 2 * PAGE_SIZE);
	h = t_create(&m->e, KIND_FAST_MR);
	if (!m->r || !h)
		return;
	m->fast = container_of(h, struct ndk_mr, header);
	m->lam_size = struct_size(m->lam, pages, 3);
	m->lam = t_alloc(t, m->lam_size);
	m->reg = t_await(t, "register MR");
	m->init = t_await(t, "initialize fast register");
	m->dereg = t_await(t, "deregister MR");
	from_softirq(memory_begins, m);
	EXPECT_STATUS(t, m->built, 0);
	EXPECT_EQ(t, m->privileged, ndk_get_privileged_token(m->e.pd));
	if (!EXPECT_STATUS(t, t_wait(m->reg, m->registered), 0) ||
	    !EXPECT_STATUS(t, t_wait(m->init, m->initialized), 0))
		return;
	from_softirq(memory_ends, m);
	EXPECT(t, m->local && m->remote);
	EXPECT_STATUS(t, t_wait(m->dereg, m->deregistered), 0);
}

/* --- connections ---------------------------------------------------------- */

struct connection {
	struct t *t;
	struct t_pair *p;
	struct t_listener *listener;
	struct sockaddr_storage from, at;
	struct t_await *listen, *connect, *accept, *complete, *disconnect, *answer;
	int rc;
	/* Reject instead of going on: in the connect event, or when the connect has succeeded. */
	bool passive_rejects, active_rejects;
	struct completion decided;
};

static void listens(void *arg)
{
	struct connection *c = arg;

	c->rc = ndk_listen(c->listener->listener, (struct sockaddr *)&c->at, t_addr_len(&c->at), t_done, c->listen);
}

static void connects(void *arg)
{
	struct connection *c = arg;
	u32 len = sizeof(c->listener->address);

	c->rc = ndk_get_listener_local_address(c->listener->listener, (struct sockaddr *)&c->listener->address, &len);
	ndk_control_connect_events(c->listener->listener, true);
	ndk_control_connect_events(c->listener->listener, false);
	if (!c->rc)
		c->rc = t_connect_call(&c->p->a, &c->from, &c->listener->address, c->connect);
}

static void disconnects(void *arg)
{
	struct connection *c = arg;

	c->rc = ndk_disconnect(c->p->a.connector, t_done, c->disconnect);
}

/* In a callback: what a connector tells is the same as anywhere. */
static void asks(struct connection *c, struct ndk_connector *connector, const struct sockaddr_storage *local)
{
	struct sockaddr_storage ss;
	u32 in = 0, out = 0, len = sizeof(ss);

	EXPECT_STATUS(c->t, ndk_get_local_address(connector, (struct sockaddr *)&ss, &len), 0);
	if (local)
		EXPECT(c->t, t_same_addr(&ss, local));
	len = sizeof(ss);
	EXPECT_STATUS(c->t, ndk_get_peer_address(connector, (struct sockaddr *)&ss, &len), 0);
	EXPECT_EQ(c->t, ss.ss_family, AF_INET);
	len = 0;
	EXPECT_STATUS(c->t, ndk_get_connection_data(connector, &in, &out, NULL, &len), 0);
	EXPECT(c->t, in == 4 && out == 4);
}

static void asked_and_answered(struct t_listener *l, struct ndk_connector *connector)
{
	struct connection *c = l->arg;
	struct t_end *b = &c->p->b;

	asks(c, connector, &l->address);
	b->connector = connector;
	if (c->passive_rejects) {
		EXPECT_STATUS(c->t, ndk_reject(connector, NULL, 0), 0);
		return;
	}
	t_pended(c->accept, ndk_accept_ex(connector, b->qp, 4, 4, NULL, 0, t_gone_ex, b, t_done, c->accept));
}

static void accepted(struct t_await *w)
{
	struct connection *c = w->arg;
	struct t_end *a = &c->p->a;

	if (!w->status) {
		asks(c, a->connector, NULL);
		if (c->active_rejects)
			EXPECT_STATUS(c->t, ndk_reject(a->connector, NULL, 0), 0);
		else
			t_pended(c->complete, ndk_complete_connect_ex(a->connector, t_gone_ex, a, t_done, c->complete));
	}
	complete(&c->decided);
}

static void answers(struct t_end *b)
{
	struct connection *c = container_of(b, struct t_pair, b)->listener->arg;

	t_pended(c->answer, ndk_disconnect(b->connector, t_done, c->answer));
}

/* From the listen on, no call is made where one could sleep. */
static struct connection *connection(struct t *t, bool passive_rejects, bool active_rejects)
{
	struct connection *c = t_alloc(t, sizeof(*c));
	struct ndk_object_header *h;

	c->t = t;
	c->passive_rejects = passive_rejects;
	c->active_rejects = active_rejects;
	init_completion(&c->decided);
	c->p = t_pair_unconnected(t, NULL);
	if (!c->p)
		return NULL;
	c->listener = t_listener(&c->p->b);
	h = t_create(&c->p->a, KIND_CONNECTOR);
	if (!c->listener || !h)
		return NULL;
	c->p->a.connector = container_of(h, struct ndk_connector, header);
	c->p->listener->arg = c;
	c->p->b.on_gone = answers;
	c->listener->arg = c;
	c->listener->then = asked_and_answered;
	t_addr(SIDE_A, AF_INET, 0, &c->from);
	t_addr(SIDE_B, AF_INET, 0, &c->at);
	c->listen = t_await(t, "listen");
	c->connect = t_await(t, "connect");
	c->connect->arg = c;
	c->connect->then = accepted;
	c->accept = t_await(t, "accept");
	c->complete = t_await(t, "complete connect");
	c->disconnect = t_await(t, "disconnect");
	c->answer = t_await(t, "disconnect in the event");
	from_softirq(listens, c);
	if (!EXPECT_STATUS(t, t_wait(c->listen, c->rc), 0))
		return NULL;
	from_softirq(connects, c);
	if (!t_pended(c->connect, c->rc))
		return NULL;
	if (!wait_for_completion_timeout(&c->decided, t_ticks(10))) {
		t_fail(t, "connect has not ended");
		return NULL;
	}
	return c;
}

/*
 * Proves: LISTEN.softirq, GET_LISTENER_LOCAL_ADDRESS.softirq, CONTROL_CONNECT_EVENTS.softirq, CONNECT.softirq,
 * GET_LOCAL_ADDRESS.softirq, GET_PEER_ADDRESS.softirq, GET_CONNECTION_DATA.softirq, ACCEPT_EX.softirq,
 * COMPLETE_CONNECT_EX.softirq, DISCONNECT.softirq, CONNECT_EVENT_CALLBACK.softirq, DISCONNECT_EVENT_CALLBACK_EX.softirq,
 * REQUEST_COMPLETION.softirq, 2.2-any-context, 2.2-callbacks-softirq, 5.4-INCOMING-addresses, 5.4-INCOMING-accept
 */
static void connection_calls(struct t *t)
{
	struct connection *c = connection(t, false, false);

	if (!c || !EXPECT_STATUS(t, t_join(c->connect), 0) || !EXPECT_STATUS(t, t_join(c->complete), 0) ||
	    !EXPECT_STATUS(t, t_join(c->accept), 0) || !t_ping(&c->p->a, &c->p->b))
		return;
	from_softirq(disconnects, c);
	if (!t_pended(c->disconnect, c->rc))
		return;
	EXPECT_STATUS(t, t_join(c->disconnect), 0);
	EXPECT_STATUS(t, t_join(c->answer), 0);
}

/* Proves: REJECT.softirq, 5.4-INCOMING-reject, 5.4-INCOMING-addresses */
static void reject_in_the_event(struct t *t)
{
	struct connection *c = connection(t, true, false);

	if (c)
		EXPECT_STATUS(t, t_join(c->connect), -ECONNREFUSED);
}

/* Proves: REJECT.softirq, 5.3-ACCEPTED-reject */
static void reject_in_the_completion(struct t *t)
{
	struct connection *c = connection(t, false, true);

	if (!c)
		return;
	EXPECT_STATUS(t, t_join(c->connect), 0);
	EXPECT_STATUS(t, t_join(c->accept), -ECONNABORTED);
	EXPECT_EQ(t, atomic_read(&c->p->b.gone), 0);
}

/* --- requests ------------------------------------------------------------- */

struct requests {
	struct t *t;
	struct t_pair *p;
	struct ndk_mr *mr;
	struct t_buf *buf, *in, *out;
	struct t_region *sink;
	u32 token;
	int rc[3];
	struct ndk_result plain[4];
	u32 taken;
};

#define BASE 0x660000000000ULL

static void registers(void *arg)
{
	struct requests *q = arg;

	q->rc[0] = ndk_fast_register(q->p->b.qp, CTX(1), q->mr, 1, q->buf->lam->pages, 0, PAGE_SIZE, BASE,
				     NDK_OP_FLAG_ALLOW_REMOTE_READ);
	q->token = ndk_get_remote_token_from_mr(q->mr);
}

static void reads_and_sends(void *arg)
{
	struct requests *q = arg;
	struct ndk_sge sge = { .virtual_address = q->sink->base, .length = PAGE_SIZE, .token = q->sink->local };

	q->rc[0] = t_post_receive(&q->p->b, 2, q->in, 0, 64);
	q->rc[1] = ndk_read(q->p->a.qp, CTX(3), &sge, 1, BASE, q->token, 0);
	t_sges(q->out, 0, 64, &sge, 1);
	q->rc[2] = ndk_send_and_invalidate(q->p->a.qp, CTX(4), &sge, 1, NDK_OP_FLAG_READ_FENCE, q->token);
}

static void takes(void *arg)
{
	struct requests *q = arg;

	q->taken = ndk_get_cq_results(q->p->b.rcq->cq, q->plain, ARRAY_SIZE(q->plain));
}

static void invalidates(void *arg)
{
	struct requests *q = arg;

	q->rc[0] = ndk_invalidate(q->p->b.qp, CTX(5), &q->mr->header, 0);
}

static void flushes(void *arg)
{
	struct requests *q = arg;

	ndk_flush(q->p->b.qp);
}

/*
 * Proves: FAST_REGISTER.softirq, INVALIDATE.softirq, READ.softirq, SEND_AND_INVALIDATE.softirq, GET_CQ_RESULTS.softirq,
 * FLUSH.softirq, RECEIVE.softirq, 2.2-any-context
 */
static void request_calls(struct t *t)
{
	struct requests *q = t_alloc(t, sizeof(*q));
	struct ndk_object_header *h;
	struct t_await *w;

	q->t = t;
	q->p = t_pair(t, NULL);
	if (!q->p)
		return;
	q->buf = t_buf(&q->p->b, PAGE_SIZE);
	q->in = t_buf(&q->p->b, 64);
	q->out = t_buf(&q->p->a, 64);
	q->sink = t_region(&q->p->a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	h = t_create(&q->p->b, KIND_FAST_MR);
	if (!q->buf || !q->in || !q->out || !q->sink || !h)
		return;
	q->mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	if (!EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(q->mr, 1, true, t_done, w)), 0))
		return;
	t_fill(q->buf->va, PAGE_SIZE, 1);
	t_fill(q->out->va, 64, 2);
	from_softirq(registers, q);
	if (!EXPECT_STATUS(t, q->rc[0], 0) || !t_take_ok(&q->p->b, q->p->b.icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	from_softirq(reads_and_sends, q);
	EXPECT(t, !q->rc[0] && !q->rc[1] && !q->rc[2]);
	if (!t_take_ok(&q->p->a, q->p->a.icq, 3, NDK_OPERATION_READ) ||
	    !t_take_ok(&q->p->a, q->p->a.icq, 4, NDK_OPERATION_SEND))
		return;
	t_check_fill(t, q->sink->va, PAGE_SIZE, 1, "read");
	if (world.iwarp)
		t_sleep(50);
	from_softirq(takes, q);
	if (!EXPECT_EQ(t, q->taken, 1))
		return;
	EXPECT_STATUS(t, q->plain[0].status, 0);
	EXPECT_EQ(t, (long)q->plain[0].request_context, 2);
	t_check_fill(t, q->in->va, 64, 2, "received");
	from_softirq(registers, q);
	if (!EXPECT_STATUS(t, q->rc[0], 0) || !t_take_ok(&q->p->b, q->p->b.icq, 1, NDK_OPERATION_FAST_REGISTER))
		return;
	from_softirq(invalidates, q);
	if (!EXPECT_STATUS(t, q->rc[0], 0) || !t_take_ok(&q->p->b, q->p->b.icq, 5, NDK_OPERATION_INVALIDATE))
		return;
	EXPECT_STATUS(t, t_post_receive(&q->p->b, 6, q->in, 0, 64), 0);
	from_softirq(flushes, q);
	t_take_status(&q->p->b, q->p->b.rcq, 6, NDK_OPERATION_RECEIVE, -ECANCELED);
}

/* --- extensions ----------------------------------------------------------- */

struct asked {
	struct t_end e;
	int rc[4];
};

#define ASK(object) \
	ndk_query_extension(&(object)->header, (object)->dispatch->query_extension, NULL, (struct ndk_version) { 9, 9 }, NULL)

static void asks_for_extensions(void *arg)
{
	struct asked *a = arg;

	a->rc[0] = ASK(a->e.adapter);
	a->rc[1] = ASK(a->e.pd);
	a->rc[2] = ASK(a->e.rcq->cq);
	a->rc[3] = ASK(a->e.qp);
}

/* Whatever it is asked for: without an identifier, without a place for the answer. */
/* Proves: QUERY_EXTENSION_INTERFACE.softirq, QUERY_EXTENSION_INTERFACE.bad-argument, 2.6-extension */
static void extension_calls(struct t *t)
{
	struct asked *a = t_alloc(t, sizeof(*a));
	int i;

	if (!t_end_init(t, &a->e, SIDE_A, NULL) || !t_end_qp(&a->e))
		return;
	from_softirq(asks_for_extensions, a);
	for (i = 0; i < ARRAY_SIZE(a->rc); i++)
		EXPECT_STATUS(t, a->rc[i], -EOPNOTSUPP);
}

static const struct t_case cases[] = {
	{ "memory_calls", memory_calls },
	{ "connection_calls", connection_calls },
	{ "reject_in_the_connect_event", reject_in_the_event },
	{ "reject_in_the_completion_of_connect", reject_in_the_completion },
	{ "request_calls", request_calls },
	{ "extension_calls", extension_calls },
};

T_GROUP(contexts, cases);
