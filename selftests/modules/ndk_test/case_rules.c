// SPDX-License-Identifier: GPL-2.0
/* Rules that are about no single function: what every object, every call and every completion keeps. */

#include <linux/kthread.h>
#include <linux/mm.h>

#include "ndk_test.h"

/* --- tables --------------------------------------------------------------- */

static void filled(struct t *t, const char *what, const void *table, size_t size)
{
	const void *const *slots = table;
	size_t i;

	for (i = 0; i < size / sizeof(*slots); i++)
		if (!slots[i])
			t_fail(t, "slot %zu of %s is empty", i, what);
}

#define FILLED(t, object) filled(t, #object, (object)->dispatch, sizeof(*(object)->dispatch))

/* Proves: 6.9-slots */
static void slots(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_object_header *h, *srq;
	struct t_region *r;

	if (!p)
		return;
	r = t_memory(&p->a, PAGE_SIZE);
	h = t_create(&p->a, KIND_SHARED_ENDPOINT);
	srq = t_create(&p->a, KIND_SRQ);
	if (!r || !h || !srq)
		return;
	FILLED(t, container_of(srq, struct ndk_srq, header));
	FILLED(t, container_of(h, struct ndk_shared_endpoint, header));
	FILLED(t, p->a.adapter);
	FILLED(t, p->a.pd);
	FILLED(t, p->a.rcq->cq);
	FILLED(t, p->a.qp);
	FILLED(t, r->mr);
	FILLED(t, p->a.connector);
	FILLED(t, p->b.connector);
	FILLED(t, p->listener->listener);
	/* All objects of a kind have one table, however they came about. */
	EXPECT(t, p->a.connector->dispatch == p->b.connector->dispatch);
	EXPECT(t, p->a.pd->dispatch == p->b.pd->dispatch);
}

/* --- arguments ------------------------------------------------------------ */

/*
 * Proves: CREATE_CONNECTOR.bad-argument, CREATE_LISTENER.bad-argument, CREATE_MR.bad-argument,
 * QUERY_ADAPTER_INFO.bad-argument, GET_CQ_RESULTS_EX.bad-argument, ARM_CQ.bad-argument, 2.3-failed
 */
static void no_place_for_the_answer(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_adapter_info info;
	struct t_await *w;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	w = t_await(t, "a create call without a place for the object");
	EXPECT_STATUS(t, ndk_create_connector(e->adapter, t_created, w, NULL), -EINVAL);
	EXPECT_STATUS(t, ndk_create_mr(e->pd, false, t_created, w, NULL), -EINVAL);
	EXPECT_STATUS(t, ndk_create_mr(e->pd, true, t_created, w, NULL), -EINVAL);
	EXPECT_STATUS(t, ndk_query_adapter_info(e->adapter, &info, NULL), -EINVAL);
	EXPECT_EQ(t, ndk_get_cq_results_ex(e->rcq->cq, NULL, 0), 0);
	EXPECT_EQ(t, ndk_get_cq_results(e->rcq->cq, NULL, 0), 0);
	/* No type of arm: it arms for nothing. */
	ndk_arm_cq(e->rcq->cq, 3);
	ndk_arm_cq(e->rcq->cq, U32_MAX);
	t_create(e, KIND_CONNECTOR);
	t_create(e, KIND_MR);
	EXPECT_EQ(t, atomic_read(&e->rcq->calls), 0);
}

/* Proves: COMPLETE_CONNECT.bad-argument, COMPLETE_CONNECT_EX.bad-argument, ACCEPT.bad-argument, ACCEPT_EX.bad-argument */
static void establishment(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete, *w;
	static const u8 data[512];
	struct ndk_connector *c;
	struct t_end *a, *b;
	u32 max;

	if (!p)
		return;
	a = &p->a;
	b = &p->b;
	max = t_info(t, b->adapter).max_callee_data;
	connect = t_connect_start(a, &p->listener->address);
	c = connect ? t_incoming(p->listener) : NULL;
	if (!c)
		return;
	w = t_await(t, "a call with a bad argument");
	EXPECT_STATUS(t, ndk_accept_ex(c, NULL, 1, 1, NULL, 0, t_gone_ex, b, t_done, w), -EINVAL);
	EXPECT_STATUS(t, ndk_accept_ex(c, b->qp, 1, 1, NULL, 8, t_gone_ex, b, t_done, w), -EINVAL);
	EXPECT_STATUS(t, ndk_accept_ex(c, b->qp, 1, 1, data, max + 1, t_gone_ex, b, t_done, w), -E2BIG);
	EXPECT_STATUS(t, ndk_accept_ex(c, b->qp, 1, 1, NULL, 0, t_gone_ex, b, NULL, w), -EINVAL);
	/* A QP of another adapter. */
	EXPECT_STATUS(t, ndk_accept(c, a->qp, 1, 1, NULL, 0, t_gone, b, t_done, w), -EINVAL);
	EXPECT_STATUS(t, ndk_accept_ex(c, a->qp, 1, 1, NULL, 0, t_gone_ex, b, t_done, w), -EINVAL);
	accept = t_accept_start(b, c);
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	EXPECT_STATUS(t, ndk_complete_connect(a->connector, t_gone, a, NULL, w), -EINVAL);
	EXPECT_STATUS(t, ndk_complete_connect_ex(a->connector, t_gone_ex, a, NULL, w), -EINVAL);
	complete = t_complete_start(a);
	if (complete && !t_join(complete) && !t_join(accept))
		t_ping(a, b);
}

/* --- tokens --------------------------------------------------------------- */

/* Proves: GET_LOCAL_TOKEN_FROM_MR.wrong-state, GET_REMOTE_TOKEN_FROM_MR.wrong-state, DEREGISTER_MR.ok */
static void tokens_of_nothing(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_region *r;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	r = t_memory(e, PAGE_SIZE);
	h = t_create(e, KIND_FAST_MR);
	if (!r || !h)
		return;
	/* Not registered, or not made ready: a number that is no token. */
	EXPECT_EQ(t, ndk_get_local_token_from_mr(r->mr), 0);
	EXPECT_EQ(t, ndk_get_remote_token_from_mr(r->mr), 0);
	EXPECT_EQ(t, ndk_get_remote_token_from_mr(container_of(h, struct ndk_mr, header)), 0);
	if (!EXPECT_STATUS(t, t_register(e, r, NDK_MR_FLAG_ALLOW_REMOTE_READ), 0))
		return;
	EXPECT(t, r->local && r->remote);
	if (!EXPECT_STATUS(t, t_deregister(e, r), 0))
		return;
	EXPECT_EQ(t, ndk_get_local_token_from_mr(r->mr), 0);
	EXPECT_EQ(t, ndk_get_remote_token_from_mr(r->mr), 0);
}

/* --- completions ---------------------------------------------------------- */

/* A consumer that does not want to know, and whose adapter tells when all is gone. */
/* Proves: CLOSE_OBJECT.bad-argument, CLOSE_COMPLETION.bad-argument, 3.1-ADAPTER */
static void closed_without_a_completion(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h[KINDS];
	enum t_kind kind;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (kind = 0; kind < KINDS; kind++) {
		h[kind] = t_create(e, kind);
		if (!h[kind])
			return;
	}
	for (kind = 0; kind < KINDS; kind++)
		EXPECT_STATUS(t, t_close_silently(t, h[kind]), -EINPROGRESS);
	EXPECT_STATUS(t, t_close_silently(t, &e->pd->header), -EINPROGRESS);
	EXPECT_STATUS(t, t_close_silently(t, &e->rcq->cq->header), -EINPROGRESS);
	EXPECT_STATUS(t, t_close_silently(t, &e->icq->cq->header), -EINPROGRESS);
	t_close_adapter(t, e->adapter);
}

struct racing {
	struct t_await *w, *closing;
	/* The call has returned. */
	bool returned;
	unsigned int *before;
};

/* The object is closed in the completion, whether the call that it answers has returned or not. */
static void close_at_once(struct t_await *w)
{
	struct racing *r = w->arg;

	if (!READ_ONCE(r->returned))
		(*r->before)++;
	if (w->object)
		r->closing = t_close_start(w->t, w->object);
}

#define RACES 200

/* Proves: CREATE_COMPLETION.ok, 2.3-pending, 2.3-out-pointer, 3.1, 3.2, 3.3, 3.4 */
/* Bug: K1 */
static void completions_race_with_calls(struct t *t)
{
	struct racing *r = t_alloc(t, RACES * sizeof(*r));
	struct t_end *e = t_alloc(t, sizeof(*e));
	unsigned int before = 0;
	void *out;
	int i;

	e->t = t;
	e->cfg.cq_depth = 8;
	e->adapter = t_adapter(t, SIDE_A);
	if (!e->adapter)
		return;
	for (i = 0; i < RACES; i++) {
		out = t_poison();
		r[i].before = &before;
		r[i].w = t_await(t, "create");
		r[i].w->then = close_at_once;
		r[i].w->arg = &r[i];
		t_pended(r[i].w, t_create_call(e, i % 2 ? KIND_PD : KIND_CQ, r[i].w, &out));
		WRITE_ONCE(r[i].returned, true);
		EXPECT(t, out == t_poison());
	}
	for (i = 0; i < RACES; i++) {
		EXPECT_STATUS(t, t_join(r[i].w), 0);
		if (r[i].closing)
			t_join(r[i].closing);
	}
	t_trace("%u completions came before the call had returned", before);
}

static void close_the_mr(struct t_await *w)
{
	w->arg = t_close_start(w->t, w->arg);
}

/* Proves: REQUEST_COMPLETION.ok, REQUEST_COMPLETION.close-pending, 2.4-pending, 3.2, 3.3, 3.4 */
/* Bug: B71 */
static void requests_race_with_calls(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_await *w[40];
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		h = t_create(e, KIND_FAST_MR);
		if (!h)
			return;
		w[i] = t_await(t, "initialize fast register");
		w[i]->then = close_the_mr;
		w[i]->arg = h;
		t_pended(w[i], ndk_initialize_fast_register_mr(container_of(h, struct ndk_mr, header), 16, i % 2,
							       t_done, w[i]));
	}
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		EXPECT_STATUS(t, t_join(w[i]), 0);
		t_join(w[i]->arg);
	}
}

/* --- LAMs ----------------------------------------------------------------- */

/* The completion is not called: the end of the case judges that. */
/* Proves: BUILD_LAM.ok, REQUEST_COMPLETION.wrong-state, 2.4-inline, 12-lam-inline */
static void lam_with_a_completion(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_lam *lam = t_alloc(t, PAGE_SIZE);
	u8 *va = PTR_ALIGN((u8 *)t_alloc(t, 4 * PAGE_SIZE), PAGE_SIZE);
	struct t_await *w = t_await(t, "build LAM");
	struct scatterlist sg;
	size_t size = PAGE_SIZE;
	u32 fbo = 0;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	sg_init_one(&sg, va + 8, PAGE_SIZE);
	if (EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, PAGE_SIZE, t_done, w, lam, &size, &fbo), 0)) {
		EXPECT_EQ(t, fbo, 8);
		EXPECT_EQ(t, lam->page_count, 2);
		ndk_release_lam(e->adapter, lam);
	}
	size = 4;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, PAGE_SIZE, t_done, w, lam, &size, &fbo), -ENOSPC);
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 0, t_done, w, lam, &size, &fbo), -EINVAL);
	t_sleep(20);
}

struct adapter_close {
	struct ndk_adapter *adapter;
	struct completion done;
};

static int close_adapter(void *arg)
{
	struct adapter_close *c = arg;

	ndk_close_adapter(c->adapter);
	complete(&c->done);
	return 0;
}

/* Proves: RELEASE_LAM.ok, 3.1-ADAPTER, 7.7-lam-release */
static void adapter_waits_for_a_lam(struct t *t)
{
	struct adapter_close *c = t_alloc(t, sizeof(*c));
	struct ndk_lam *lam = t_alloc(t, PAGE_SIZE);
	u8 *va = PTR_ALIGN((u8 *)t_alloc(t, 2 * PAGE_SIZE), PAGE_SIZE);
	struct task_struct *task;
	struct scatterlist sg;
	size_t size = PAGE_SIZE;
	u32 fbo;

	c->adapter = t_adapter(t, SIDE_A);
	if (!c->adapter)
		return;
	init_completion(&c->done);
	sg_init_one(&sg, va, PAGE_SIZE);
	if (!EXPECT_STATUS(t, ndk_build_lam(c->adapter, &sg, 1, PAGE_SIZE, NULL, NULL, lam, &size, &fbo), 0))
		return;
	t->adapters[0] = NULL;
	t->side[SIDE_A] = NULL;
	task = kthread_run(close_adapter, c, "ndk_test_close");
	if (!EXPECT(t, !IS_ERR(task)))
		return;
	if (wait_for_completion_timeout(&c->done, msecs_to_jiffies(150))) {
		t_fail(t, "ndk_close_adapter() returned while a LAM was there");
		return;
	}
	ndk_release_lam(c->adapter, lam);
	if (!wait_for_completion_timeout(&c->done, t_ticks(10))) {
		t_fail(t, "ndk_close_adapter() has not returned");
		t->wedged = true;
	}
}

/* Many more than fit at a time, each given back: what was mapped does not stay so. */
/* Proves: BUILD_LAM.ok, RELEASE_LAM.ok, 7.7-lam-release */
static void lams_again_and_again(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_lam *lam = t_alloc(t, PAGE_SIZE);
	u8 *va = PTR_ALIGN((u8 *)t_alloc(t, 5 * PAGE_SIZE), PAGE_SIZE);
	struct scatterlist sg;
	int before, i;
	size_t size;
	u32 fbo;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	before = page_ref_count(virt_to_page(va));
	for (i = 0; i < 500; i++) {
		sg_init_one(&sg, va + i % PAGE_SIZE, 3 * PAGE_SIZE);
		size = PAGE_SIZE;
		if (!EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 3 * PAGE_SIZE, NULL, NULL, lam, &size, &fbo), 0))
			return;
		EXPECT_EQ(t, fbo, i % PAGE_SIZE);
		ndk_release_lam(e->adapter, lam);
	}
	EXPECT_EQ(t, page_ref_count(virt_to_page(va)), before);
}

#define SILENT 12

/* With the success of a request the silent ones before it have succeeded as well: what they send is the consumer's again. */
/* Proves: WRITE.ok, 6.4-silent */
static void source_after_a_later_success(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *target;
	struct t_buf *from;
	int round, i;

	if (!p)
		return;
	target = t_region(&p->b, SILENT * SZ_64K, NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
	from = t_buf(&p->a, SZ_64K);
	/* Slow, so that the device has taken more than it has sent. */
	if (!target || !from || t_host(t, "netem a rate 100mbit"))
		return;
	for (round = 1; round <= 2; round++) {
		memset(from->va, round, SZ_64K);
		for (i = 0; i < SILENT - 1; i++)
			EXPECT_STATUS(t, t_post_write(&p->a, i, from, 0, SZ_64K, target->base + i * SZ_64K, target->remote,
						      NDK_OP_FLAG_SILENT_SUCCESS), 0);
		EXPECT_STATUS(t, t_post_write(&p->a, i, from, 0, SZ_64K, target->base + i * SZ_64K, target->remote, 0), 0);
		if (!t_take_ok(&p->a, p->a.icq, i, NDK_OPERATION_WRITE))
			break;
		memset(from->va, 0x99, SZ_64K);
		if (!t_arrived(&p->a) || !t_check_byte(t, target->va, SILENT * SZ_64K, round, "written in silence"))
			break;
	}
	t_host(t, "netem_off a");
}

static const struct t_case cases[] = {
	{ "every_slot_is_filled", slots },
	{ "no_place_for_the_answer_is_einval", no_place_for_the_answer },
	{ "accept_and_complete_with_bad_arguments", establishment },
	{ "no_tokens_without_a_registration", tokens_of_nothing },
	{ "closed_without_a_completion", closed_without_a_completion },
	{ "create_completions_race_with_their_calls", completions_race_with_calls },
	{ "request_completions_race_with_their_calls", requests_race_with_calls },
	{ "lam_with_a_completion", lam_with_a_completion },
	{ "adapter_close_waits_for_a_lam", adapter_waits_for_a_lam },
	{ "lams_again_and_again", lams_again_and_again },
	{ "source_is_free_with_a_later_success", source_after_a_later_success },
};

T_GROUP(rules, cases);
