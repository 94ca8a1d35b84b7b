// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations fail. In the calls themselves every one does, first the first,
 * then the second, until the call has no more (fail_nth of this task, set just
 * around the call). case_failnth_workers.c has those that the provider's
 * workers make, case_failnth_life.c those of the layers below.
 */

#include <ndk/ndk_query.h>

#include "failnth.h"

static void create_each(struct t *t, struct t_end *e)
{
	struct ndk_object_header *h;
	enum t_kind kind = t->arg;
	unsigned int n;
	bool hit;

	for (n = 1; n < MOST; n++) {
		struct t_await *w = t_await(t, t_kind_name(kind));
		void *out = t_poison();
		int rc, status;

		fail_nth(n);
		rc = t_create_call(e, kind, w, &out);
		hit = was_hit();
		h = t_create_end(e, kind, w, rc, &out, &status);
		if (!judge(t, w->what, n, hit, status))
			return;
		if (h)
			t_close(t, h);
		if (!hit)
			break;
	}
	/* At least the object itself is allocated, or nothing was tested. */
	EXPECT(t, n > 1 && n < MOST);
}

/* Proves: 2.3-failed, 2.3-memory */
static void create(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (t_end_init(t, e, SIDE_A, NULL))
		create_each(t, e);
}

/* Proves: CREATE_QP_WITH_SRQ.no-resources, 2.3-failed, 2.3-memory */
/* Bug: B40 */
static void create_with_srq(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_srq *s;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s = t_srq(e, 16, 4);
	if (!s)
		return;
	e->srq = s->srq;
	create_each(t, e);
}

/* What cannot be changed for want of memory is as it was, and a post needs none. */
/* Proves: MODIFY_SRQ.no-resources, SRQ_RECEIVE.no-resources */
static void modify_srq(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	u32 depth = 2, posted = 0;
	struct t_await *w;
	struct t_srq *s;
	unsigned int n;
	bool hit;
	int rc;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s = t_srq(e, depth, 1);
	if (!s)
		return;
	for (n = 1; n < MOST; n++) {
		w = t_await(t, "modify SRQ");
		fail_nth(n);
		rc = ndk_modify_srq(s->srq, 2 * depth, 1, t_done, w);
		hit = was_hit();
		rc = t_wait(w, rc);
		if (!judge(t, w->what, n, hit, rc))
			return;
		if (!rc)
			depth *= 2;
		do {
			fail_nth(1);
			rc = ndk_srq_receive(s->srq, NULL, NULL, 0);
			EXPECT(t, !was_hit());
		} while (!rc && ++posted < 10000);
		EXPECT_STATUS(t, rc, -ENOBUFS);
		EXPECT_EQ(t, posted, depth);
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

/* A close cannot fail. */
/* Proves: CLOSE_OBJECT.no-resources, CLOSE_COMPLETION.no-resources, 2.5-infallible */
static void closes(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_await *w;
	unsigned int n;
	bool hit;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (n = 1; n < MOST; n++) {
		h = t_create(e, t->arg);
		if (!h)
			return;
		fail_nth(n);
		w = t_close_start(t, h);
		hit = was_hit();
		t_join(w);
		if (!hit)
			break;
	}
	EXPECT(t, n < MOST);
}

static void open_adapter(struct t *t)
{
	struct ndk_open_params params = {
		.version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR }, .device = world.device[SIDE_A],
	};
	struct ndk_adapter *adapter;
	unsigned int n;
	bool hit;
	int rc;

	for (n = 1; n < MOST; n++) {
		fail_nth(n);
		rc = ndk_open_adapter(world.net[SIDE_A], &params, &adapter);
		hit = was_hit();
		if (!judge(t, "open adapter", n, hit, rc))
			return;
		if (!rc)
			ndk_close_adapter(adapter);
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

static void add(struct ndk_client *client, const struct ndk_adapter_desc *adapter)
{
}

static void register_client(struct t *t)
{
	struct ndk_client *client = t_alloc(t, sizeof(*client));
	unsigned int n;
	bool hit;
	int rc;

	for (n = 1; n < MOST; n++) {
		memset(client, 0, sizeof(*client));
		client->add = add;
		client->remove = add;
		fail_nth(n);
		rc = ndk_register_client(client);
		hit = was_hit();
		if (!judge(t, "register client", n, hit, rc))
			return;
		if (!rc)
			ndk_unregister_client(client);
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

static int query(unsigned int which, void *to, size_t size)
{
	struct ndk_open_params params = t_the(SIDE_A);

	switch (which) {
	case 0:
		return ndk_query_capabilities(world.net[SIDE_A], &params, to, &size);
	case 1:
		return ndk_query_statistics(world.net[SIDE_A], &params, to, &size);
	case 2:
		return ndk_query_connections(world.net[SIDE_A], &params, to, &size);
	default:
		return ndk_query_local_endpoints(world.net[SIDE_A], &params, to, &size);
	}
}

/* With something to tell of. */
static void queries(struct t *t)
{
	void *to = t_alloc(t, SZ_16K);
	unsigned int which, n;
	bool hit;
	int rc;

	if (!t_pair(t, NULL))
		return;
	for (which = 0; which < 4; which++) {
		for (n = 1; n < MOST; n++) {
			fail_nth(n);
			rc = query(which, to, SZ_16K);
			hit = was_hit();
			if (!judge(t, "query", n, hit, rc))
				return;
			if (!hit)
				break;
		}
		EXPECT(t, n < MOST);
	}
}

/*
 * Proves: REGISTER_MR.no-resources, DEREGISTER_MR.no-resources, INITIALIZE_FAST_REGISTER_MR.no-resources,
 * BUILD_LAM.no-resources
 */
static void memory(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_region *r;
	struct ndk_mr *fast;
	struct t_await *w;
	struct ndk_lam *lam;
	size_t size;
	unsigned int n;
	u32 fbo;
	bool hit;
	int rc;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	r = t_memory(e, 4 * PAGE_SIZE);
	h = t_create(e, KIND_FAST_MR);
	if (!r || !h)
		return;
	fast = container_of(h, struct ndk_mr, header);
	lam = t_alloc(t, PAGE_SIZE);
	for (n = 1; n < MOST; n++) {
		w = t_await(t, "register MR");
		fail_nth(n);
		rc = ndk_register_mr(r->mr, r->sg, 1, r->base, r->size, NDK_MR_FLAG_ALLOW_REMOTE_READ, t_done, w);
		hit = was_hit();
		rc = t_wait(w, rc);
		if (!judge(t, w->what, n, hit, rc))
			return;
		if (rc)
			continue;
		w = t_await(t, "deregister MR");
		fail_nth(n);
		rc = ndk_deregister_mr(r->mr, t_done, w);
		hit |= was_hit();
		rc = t_wait(w, rc);
		if (!judge(t, w->what, n, hit, rc))
			return;
		if (rc && !EXPECT_STATUS(t, t_deregister(e, r), 0))
			return;
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
	for (n = 1; n < MOST; n++) {
		w = t_await(t, "initialize fast register");
		fail_nth(n);
		rc = ndk_initialize_fast_register_mr(fast, 16, true, t_done, w);
		hit = was_hit();
		rc = t_wait(w, rc);
		if (!judge(t, w->what, n, hit, rc))
			return;
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
	for (n = 1; n < MOST; n++) {
		size = PAGE_SIZE;
		fail_nth(n);
		rc = ndk_build_lam(e->adapter, r->sg, 1, r->size, NULL, NULL, lam, &size, &fbo);
		hit = was_hit();
		if (!judge(t, "build LAM", n, hit, rc))
			return;
		if (!rc)
			ndk_release_lam(e->adapter, lam);
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

/* Proves: LISTEN.no-resources, 5.6-CREATED-listen-no-memory, 5.6-CREATED-retry */
static void do_listen(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct sockaddr_storage ss;
	struct t_listener *l;
	struct t_await *w;
	unsigned int n;
	bool hit;
	u32 len;
	int rc;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (n = 1; n < MOST; n++) {
		l = t_listener(e);
		if (!l)
			return;
		len = t_addr(SIDE_A, AF_INET, 6000, &ss);
		w = t_await(t, "listen");
		fail_nth(n);
		rc = ndk_listen(l->listener, (struct sockaddr *)&ss, len, t_done, w);
		hit = was_hit();
		rc = t_wait(w, rc);
		if (!judge(t, w->what, n, hit, rc))
			return;
		/* The address is not taken by a listen that failed. */
		if (rc && !EXPECT_STATUS(t, t_listen(l, SIDE_A, AF_INET, 6000), 0))
			return;
		t_close(t, &l->listener->header);
		if (!hit)
			break;
	}
	EXPECT(t, n > 1 && n < MOST);
}

/* connect, accept, complete connect, disconnect: each call with each of its allocations failed, on fresh connections. */
enum step { CONNECT, CONNECT_SHARED, ACCEPT, ACCEPT_EX, COMPLETE, COMPLETE_EX, DISCONNECT, REJECT };

static bool one_step(struct t *t, struct t_pair *p, enum step step, unsigned int n, bool *hit)
{
	struct t_await *connect, *accept, *complete, *w;
	struct ndk_connector *incoming;
	struct ndk_object_header *h;
	struct sockaddr_storage ss;
	int rc;

	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return false;
	p->a.connector = container_of(h, struct ndk_connector, header);
	t_addr(SIDE_A, AF_INET, 0, &ss);
	connect = t_await(t, "connect");
	if (step == CONNECT || step == CONNECT_SHARED) {
		if (step == CONNECT_SHARED && !t_share(&p->a, AF_INET, 0))
			return false;
		fail_nth(n);
		rc = p->a.shared ? t_shared_connect_call(&p->a, &p->listener->address, connect) :
				   t_connect_call(&p->a, &ss, &p->listener->address, connect);
		*hit = was_hit();
		if (rc != -EINPROGRESS) {
			/* Nothing of it is held. */
			if (p->a.shared)
				t_close(t, &p->a.shared->header);
			return judge(t, "connect", n, *hit, rc);
		}
		connect->pending = true;
	} else if (!t_pended(connect, t_connect_call(&p->a, &ss, &p->listener->address, connect))) {
		return false;
	}
	incoming = t_incoming(p->listener);
	if (!incoming)
		return false;
	if (step == REJECT) {
		fail_nth(n);
		rc = ndk_reject(incoming, "no", 2);
		*hit = was_hit();
		if (!judge(t, "reject", n, *hit, rc))
			return false;
		t_close(t, &incoming->header);
		return EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
	}
	accept = t_await(t, "accept");
	if (step == ACCEPT || step == ACCEPT_EX)
		fail_nth(n);
	rc = step == ACCEPT_EX ?
		ndk_accept_ex(incoming, p->b.qp, 1, 1, "yes", 3, t_gone_ex, &p->b, t_done, accept) :
		ndk_accept(incoming, p->b.qp, 1, 1, "yes", 3, t_gone, &p->b, t_done, accept);
	if (step == ACCEPT || step == ACCEPT_EX)
		*hit = was_hit();
	p->b.connector = incoming;
	if (rc != -EINPROGRESS) {
		if (!judge(t, "accept", n, *hit, rc))
			return false;
		t_close(t, &incoming->header);
		return EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
	}
	accept->pending = true;
	if (!EXPECT_STATUS(t, t_join(connect), 0))
		return false;
	complete = t_await(t, "complete connect");
	if (step == COMPLETE || step == COMPLETE_EX)
		fail_nth(n);
	rc = step == COMPLETE_EX ? ndk_complete_connect_ex(p->a.connector, t_gone_ex, &p->a, t_done, complete) :
				   ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, complete);
	if (step == COMPLETE || step == COMPLETE_EX)
		*hit = was_hit();
	if (rc != -EINPROGRESS) {
		if (!judge(t, "complete connect", n, *hit, rc))
			return false;
		t_close(t, &p->a.connector->header);
		return EXPECT_STATUS(t, t_join(accept), -ECONNABORTED);
	}
	complete->pending = true;
	if (!EXPECT_STATUS(t, t_join(complete), 0) || !EXPECT_STATUS(t, t_join(accept), 0))
		return false;
	w = t_await(t, "disconnect");
	if (step == DISCONNECT)
		fail_nth(n);
	rc = ndk_disconnect(p->a.connector, t_done, w);
	if (step == DISCONNECT)
		*hit = was_hit();
	if (rc != -EINPROGRESS)
		return judge(t, "disconnect", n, *hit, rc);
	w->pending = true;
	if (!t_wait_gone(&p->b))
		return false;
	t_close(t, &p->b.connector->header);
	return EXPECT_STATUS(t, t_join(w), 0);
}

static void connection(struct t *t)
{
	struct t_pair *p;
	unsigned int n;
	bool hit;

	for (n = 1; n < MOST; n++) {
		p = t_pair_unconnected(t, NULL);
		hit = false;
		if (!p || !one_step(t, p, t->arg, n, &hit)) {
			t_fail(t, "with allocation %u failed", n);
			return;
		}
		if (!hit)
			break;
	}
	EXPECT(t, n < MOST);
}

/* The data path allocates nothing, so nothing can fail in it. */
/*
 * Proves: SEND.no-resources, RECEIVE.no-resources, WRITE.no-resources, ARM_CQ.no-resources,
 * GET_CQ_RESULTS_EX.no-resources
 */
static void data_path(struct t *t)
{
	const struct t_cfg cfg = { .inline_size = 32 };
	struct t_pair *p = t_pair(t, &cfg);
	struct ndk_result_ex result;
	struct t_region *r;
	struct t_buf *in, *out;
	struct ndk_sge sge;
	u8 data[32] = {};
	bool hit;
	int rc[5], i;

	if (!p)
		return;
	r = t_region(&p->b, PAGE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ);
	in = t_buf(&p->b, PAGE_SIZE);
	out = t_buf(&p->a, PAGE_SIZE);
	if (!r || !in || !out)
		return;
	sge = (struct ndk_sge) { .virtual_address = (u64)(unsigned long)data, .length = 32 };
	for (i = 0; i < 20; i++) {
		fail_nth(1);
		rc[0] = t_post_receive(&p->b, 1, in, 0, 64);
		rc[1] = t_post_receive(&p->b, 2, in, 64, 64);
		rc[2] = t_post_send(&p->a, 3, out, 0, 64, 0);
		rc[3] = ndk_send(p->a.qp, CTX(4), &sge, 1, NDK_OP_FLAG_INLINE);
		rc[4] = t_post_write(&p->a, 5, out, 0, 64, r->base, r->remote, 0);
		ndk_arm_cq(p->b.icq->cq, NDK_CQ_NOTIFY_ANY);
		ndk_get_cq_results_ex(p->b.icq->cq, &result, 1);
		hit = was_hit();
		EXPECT(t, !hit);
		EXPECT(t, !rc[0] && !rc[1] && !rc[2] && !rc[3] && !rc[4]);
		if (!t_drain(p->a.icq, 3, 0) || !t_drain(p->b.rcq, 2, 0))
			return;
	}
}

static const struct t_case cases[] = {
	{ "open_adapter", open_adapter },
	{ "register_client", register_client },
	{ "queries", queries },
	{ "create_pd", create, KIND_PD }, /* Proves: CREATE_PD.no-resources */
	/* Bug: B76 */
	{ "create_cq", create, KIND_CQ }, /* Proves: CREATE_CQ.no-resources */
	/* Bug: B40, S20 */
	{ "create_qp", create, KIND_QP }, /* Proves: CREATE_QP.no-resources */
	{ "create_srq", create, KIND_SRQ }, /* Proves: CREATE_SRQ.no-resources */
	{ "create_qp_with_srq", create_with_srq, KIND_QP },
	{ "modify_srq", modify_srq },
	{ "create_mr", create, KIND_MR }, /* Proves: CREATE_MR.no-resources */
	{ "create_fast_mr", create, KIND_FAST_MR }, /* Proves: CREATE_MR.no-resources */
	{ "create_mw", create, KIND_MW }, /* Proves: CREATE_MW.no-resources */
	{ "create_connector", create, KIND_CONNECTOR }, /* Proves: CREATE_CONNECTOR.no-resources */
	{ "create_listener", create, KIND_LISTENER }, /* Proves: CREATE_LISTENER.no-resources */
	/* Proves: CREATE_SHARED_ENDPOINT.no-resources, 5.7-create-no-memory */
	{ "create_shared_endpoint", create, KIND_SHARED_ENDPOINT },
	{ "close_pd_cannot_fail", closes, KIND_PD },
	{ "close_cq_cannot_fail", closes, KIND_CQ },
	{ "close_qp_cannot_fail", closes, KIND_QP },
	{ "close_srq_cannot_fail", closes, KIND_SRQ },
	{ "close_mr_cannot_fail", closes, KIND_MR },
	{ "close_mw_cannot_fail", closes, KIND_MW },
	{ "close_connector_cannot_fail", closes, KIND_CONNECTOR },
	{ "close_listener_cannot_fail", closes, KIND_LISTENER },
	{ "close_shared_endpoint_cannot_fail", closes, KIND_SHARED_ENDPOINT },
	{ "register_and_map_memory", memory },
	{ "listen", do_listen },
	{ "connect", connection, CONNECT }, /* Proves: CONNECT.no-resources, 5.3-IDLE-connect-no-memory */
	{ "connect_with_shared_endpoint", connection, CONNECT_SHARED }, /* Proves: CONNECT_WITH_SHARED_ENDPOINT.no-resources */
	{ "accept", connection, ACCEPT }, /* Proves: ACCEPT.no-resources */
	{ "complete_connect", connection, COMPLETE }, /* Proves: COMPLETE_CONNECT.no-resources */
	{ "accept_ex", connection, ACCEPT_EX }, /* Proves: ACCEPT_EX.no-resources */
	{ "complete_connect_ex", connection, COMPLETE_EX }, /* Proves: COMPLETE_CONNECT_EX.no-resources */
	{ "disconnect", connection, DISCONNECT }, /* Proves: DISCONNECT.no-resources */
	{ "reject", connection, REJECT }, /* Proves: REJECT.no-resources */
	{ "data_path_allocates_nothing", data_path },
};

T_GROUP(failnth, cases);
