// SPDX-License-Identifier: GPL-2.0
/*
 * Every argument out of its range, one by one: the documented status, no
 * completion (which the end of the case judges), no object, and afterwards a
 * good call that works.
 */

#include <linux/mm.h>

#include "ndk_test.h"

static struct t_end *end_of(struct t *t, bool qp)
{
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (!t_end_init(t, e, SIDE_A, NULL) || (qp && !t_end_qp(e)))
		return NULL;
	return e;
}

static void refused(struct t *t, struct t_await *w, int rc, void *out, int status)
{
	if (rc == -EINPROGRESS) {
		w->pending = true;
		rc = t_join(w);
		t_fail(t, "%s: accepted, ended with %s", w->what, t_errname(rc));
	}
	EXPECT_STATUS(t, rc, status);
	EXPECT(t, out == t_poison());
}

/* --- create CQ ------------------------------------------------------------ */

static void try_cq(struct t_end *e, u32 depth, ndk_cq_notification_fn fn, ndk_create_completion_fn done, int status)
{
	struct t_await *w = t_await(e->t, "create CQ with a bad argument");
	void *out = t_poison();
	int rc = ndk_create_cq(e->adapter, depth, fn, NULL, -1, done, w, (struct ndk_cq **)&out);

	refused(e->t, w, rc, out, status);
}

static void never(void *context, int status)
{
	WARN(1, "a notification of a CQ that was not made");
}

/*
 * Proves: CREATE_CQ.bad-argument, CREATE_COMPLETION.bad-argument, CQ_NOTIFICATION_CALLBACK.bad-argument, 6.1-limits
 */
/* Bug: B68, B75 */
static void create_cq(struct t *t)
{
	struct t_end *e = end_of(t, false);
	u32 max;

	if (!e)
		return;
	max = t_info(t, e->adapter).max_cq_depth;
	try_cq(e, 0, never, t_created, -EINVAL);
	try_cq(e, max + 1, never, t_created, -EINVAL);
	try_cq(e, U32_MAX, never, t_created, -EINVAL);
	try_cq(e, 8, NULL, t_created, -EINVAL);
	try_cq(e, 8, never, NULL, -EINVAL);
	t_create(e, KIND_CQ);
}

/* A CPU that does not exist is a preference that cannot be met. */
/* Proves: CREATE_CQ.ok, 8.2-affinity */
static void cq_affinity(struct t *t)
{
	struct t_end *e = end_of(t, false);
	static const int cpus[] = { -1, 0, 1, 4095, INT_MAX, INT_MIN };
	int i;

	if (!e)
		return;
	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		struct t_await *w = t_await(t, "create CQ");
		void *out = t_poison();
		int rc = ndk_create_cq(e->adapter, 8, never, NULL, cpus[i], t_created, w, (struct ndk_cq **)&out);
		int status;

		t_create_end(e, KIND_CQ, w, rc, &out, &status);
		EXPECT_STATUS(t, status, 0);
	}
}

/* --- create PD, connector, listener --------------------------------------- */

/* Proves: CREATE_PD.bad-argument, CREATE_COMPLETION.bad-argument */
static void create_pd(struct t *t)
{
	struct t_end *e = end_of(t, false);
	struct t_await *w = t_await(t, "create PD without a completion");
	void *out = t_poison();
	int rc;

	if (!e)
		return;
	rc = ndk_create_pd(e->adapter, NULL, w, (struct ndk_pd **)&out);
	refused(t, w, rc, out, -EINVAL);
	t_create(e, KIND_PD);
}

/* Proves: CREATE_LISTENER.bad-argument, CONNECT_EVENT_CALLBACK.bad-argument */
static void create_listener(struct t *t)
{
	struct t_end *e = end_of(t, false);
	struct t_await *w = t_await(t, "create listener without a connect event");
	void *out = t_poison();
	int rc;

	if (!e)
		return;
	rc = ndk_create_listener(e->adapter, NULL, e, t_created, w, (struct ndk_listener **)&out);
	refused(t, w, rc, out, -EINVAL);
	t_create(e, KIND_LISTENER);
}

/* --- create QP ------------------------------------------------------------ */

struct qp_args {
	struct ndk_cq *rcq, *icq;
	u32 receives, initiators, receive_sge, initiator_sge, inline_size;
	ndk_create_completion_fn done;
};

static void try_qp(struct t_end *e, const struct qp_args *a, int status)
{
	struct t_await *w = t_await(e->t, "create QP with a bad argument");
	void *out = t_poison();
	int rc = ndk_create_qp(e->pd, a->rcq, a->icq, e, a->receives, a->initiators, a->receive_sge,
			       a->initiator_sge, a->inline_size, a->done, w, (struct ndk_qp **)&out);

	refused(e->t, w, rc, out, status);
}

#define TRY_QP(e, good, field, value) do {	\
	struct qp_args _a = good;		\
	_a.field = value;			\
	try_qp(e, &_a, -EINVAL);		\
} while (0)

/* Proves: CREATE_QP.bad-argument, CREATE_COMPLETION.bad-argument, 6.1-limits */
/* Bug: B68, B75 */
static void create_qp(struct t *t)
{
	struct t_end *e = end_of(t, false), *b = t_alloc(t, sizeof(*b));
	struct ndk_adapter_info i;
	struct qp_args good;

	if (!e || !t_end_init(t, b, SIDE_B, NULL))
		return;
	i = t_info(t, e->adapter);
	good = (struct qp_args) {
		.rcq = e->rcq->cq, .icq = e->icq->cq, .receives = 8, .initiators = 8,
		.receive_sge = 1, .initiator_sge = 1, .done = t_created,
	};
	TRY_QP(e, good, receives, i.max_receive_queue_depth + 1);
	TRY_QP(e, good, receives, U32_MAX);
	TRY_QP(e, good, initiators, i.max_initiator_queue_depth + 1);
	TRY_QP(e, good, initiators, U32_MAX);
	TRY_QP(e, good, receive_sge, i.max_receive_request_sge + 1);
	TRY_QP(e, good, receive_sge, U32_MAX);
	TRY_QP(e, good, initiator_sge, i.max_initiator_request_sge + 1);
	TRY_QP(e, good, initiator_sge, U32_MAX);
	TRY_QP(e, good, inline_size, i.max_inline_data_size + 1);
	TRY_QP(e, good, inline_size, U32_MAX);
	TRY_QP(e, good, done, NULL);
	TRY_QP(e, good, rcq, NULL);
	TRY_QP(e, good, icq, NULL);
	/* CQs of another adapter */
	TRY_QP(e, good, rcq, b->rcq->cq);
	TRY_QP(e, good, icq, b->icq->cq);
	t_end_qp(e);
}

/* --- register MR ---------------------------------------------------------- */

struct mr_args {
	struct scatterlist *sg;
	unsigned int nents;
	u64 va;
	u64 length;
	u32 flags;
	ndk_request_completion_fn done;
};

static void try_mr(struct t_end *e, struct ndk_mr *mr, const struct mr_args *a, int status)
{
	struct t_await *w = t_await(e->t, "register MR with a bad argument");
	int rc = ndk_register_mr(mr, a->sg, a->nents, a->va, a->length, a->flags, a->done, w);

	refused(e->t, w, rc, t_poison(), status);
}

#define TRY_MR(e, mr, good, field, value) do {	\
	struct mr_args _a = good;		\
	_a.field = value;			\
	try_mr(e, mr, &_a, -EINVAL);		\
} while (0)

/* Proves: REGISTER_MR.bad-argument, REQUEST_COMPLETION.bad-argument, 7.7-contiguous */
static void register_mr(struct t *t)
{
	struct t_end *e = end_of(t, false);
	struct t_region *r;
	struct scatterlist gap[2];
	struct mr_args good;
	u8 *page;

	if (!e)
		return;
	r = t_memory(e, 4 * PAGE_SIZE);
	if (!r)
		return;
	page = r->va;
	good = (struct mr_args) {
		.sg = r->sg, .nents = 1, .va = r->base, .length = r->size,
		.flags = NDK_MR_FLAG_ALLOW_LOCAL_WRITE, .done = t_done,
	};
	TRY_MR(e, r->mr, good, length, 0);
	TRY_MR(e, r->mr, good, length, r->size + 1);
	TRY_MR(e, r->mr, good, length, U64_MAX);
	TRY_MR(e, r->mr, good, nents, 0);
	TRY_MR(e, r->mr, good, done, NULL);
	/* Not the offset of the first byte modulo the page size. */
	TRY_MR(e, r->mr, good, va, r->base + 1);
	TRY_MR(e, r->mr, good, va, r->base + PAGE_SIZE / 2);
	/* The region would go beyond the end of addresses. */
	TRY_MR(e, r->mr, good, va, U64_MAX - 2 * PAGE_SIZE + 1);
	/* One bit of a right that has two, and bits of none. */
	TRY_MR(e, r->mr, good, flags, 0x4);
	TRY_MR(e, r->mr, good, flags, 0x10);
	TRY_MR(e, r->mr, good, flags, 0x80000000 | NDK_MR_FLAG_ALLOW_LOCAL_WRITE);

	/* Gaps: the first piece ends, or the second begins, within a page. */
	sg_init_table(gap, 2);
	sg_set_buf(&gap[0], page, 100);
	sg_set_buf(&gap[1], page + PAGE_SIZE, PAGE_SIZE);
	good.sg = gap;
	good.nents = 2;
	good.length = 100 + PAGE_SIZE;
	try_mr(e, r->mr, &good, -EINVAL);
	sg_init_table(gap, 2);
	sg_set_buf(&gap[0], page, PAGE_SIZE);
	sg_set_buf(&gap[1], page + 2 * PAGE_SIZE + 8, 100);
	good.length = PAGE_SIZE + 100;
	try_mr(e, r->mr, &good, -EINVAL);

	EXPECT_STATUS(t, t_register(e, r, NDK_MR_FLAG_ALLOW_LOCAL_WRITE), 0);
}

/* Proves: REGISTER_MR.bad-argument, 6.1-limits */
/* Bug: B63, B75 */
static void register_too_much(struct t *t)
{
	struct t_end *e = end_of(t, false);
	size_t max, size, left;
	struct scatterlist *sg;
	struct mr_args args;
	struct t_region *r;
	u32 n, i;

	if (!e)
		return;
	r = t_memory(e, PAGE_SIZE);
	if (!r)
		return;
	max = t_info(t, e->adapter).max_registration_size;
	/* The same page again and again, so that the size needs no memory. */
	size = max + 1;
	n = DIV_ROUND_UP(size, PAGE_SIZE);
	if (!EXPECT(t, n <= 65536))
		return;
	sg = t_alloc(t, n * sizeof(*sg));
	sg_init_table(sg, n);
	for (i = 0, left = size; i < n; i++, left -= min(left, PAGE_SIZE))
		sg_set_buf(&sg[i], r->va, min(left, PAGE_SIZE));
	args = (struct mr_args) {
		.sg = sg, .nents = n, .va = r->base, .length = size,
		.flags = NDK_MR_FLAG_ALLOW_REMOTE_READ, .done = t_done,
	};
	try_mr(e, r->mr, &args, -EINVAL);
	/* All that is promised can be had. */
	r->sg = sg;
	r->nents = DIV_ROUND_UP(max, PAGE_SIZE);
	r->size = max;
	EXPECT_STATUS(t, t_register(e, r, NDK_MR_FLAG_ALLOW_REMOTE_READ), 0);
}

/* Calls of one kind of MR on the other, and in the wrong state. */
/*
 * Proves: REGISTER_MR.wrong-state, DEREGISTER_MR.wrong-state, DEREGISTER_MR.bad-argument,
 * INITIALIZE_FAST_REGISTER_MR.wrong-state, 7.7-mr-kind, 7.7-mr-again
 */
/* Bug: B64 */
static void mr_in_the_wrong_state(struct t *t)
{
	struct t_end *e = end_of(t, false);
	struct t_region *r;
	struct ndk_object_header *h;
	struct ndk_mr *fast;
	struct t_await *w;

	if (!e)
		return;
	r = t_memory(e, PAGE_SIZE);
	h = t_create(e, KIND_FAST_MR);
	if (!r || !h)
		return;
	fast = container_of(h, struct ndk_mr, header);
	w = t_await(t, "a call in the wrong state");
	EXPECT_STATUS(t, ndk_deregister_mr(r->mr, t_done, w), -EBADRQC);
	EXPECT_STATUS(t, ndk_deregister_mr(fast, t_done, w), -EBADRQC);
	EXPECT_STATUS(t, ndk_initialize_fast_register_mr(r->mr, 4, true, t_done, w), -EBADRQC);
	EXPECT_STATUS(t, ndk_register_mr(fast, r->sg, 1, r->base, PAGE_SIZE, 0, t_done, w), -EBADRQC);
	EXPECT_STATUS(t, t_register(e, r, 0), 0);
	EXPECT_STATUS(t, ndk_register_mr(r->mr, r->sg, 1, r->base, PAGE_SIZE, 0, t_done, w), -EBADRQC);
	EXPECT_STATUS(t, ndk_deregister_mr(r->mr, NULL, w), -EINVAL);
	EXPECT_STATUS(t, t_deregister(e, r), 0);
	EXPECT_STATUS(t, ndk_deregister_mr(r->mr, t_done, w), -EBADRQC);
	EXPECT_STATUS(t, t_register(e, r, 0), 0);
}

/* Proves: INITIALIZE_FAST_REGISTER_MR.ok, INITIALIZE_FAST_REGISTER_MR.bad-argument */
static void initialize_fast_register(struct t *t)
{
	struct t_end *e = end_of(t, false);
	struct ndk_object_header *h;
	struct ndk_mr *mr;
	struct t_await *w;

	if (!e)
		return;
	h = t_create(e, KIND_FAST_MR);
	if (!h)
		return;
	mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register with a bad argument");
	EXPECT_STATUS(t, ndk_initialize_fast_register_mr(mr, 0, true, t_done, w), -EINVAL);
	EXPECT_STATUS(t, ndk_initialize_fast_register_mr(mr, U32_MAX, true, t_done, w), -ERANGE);
	EXPECT_STATUS(t, ndk_initialize_fast_register_mr(mr, 1 << 20, false, t_done, w), -ERANGE);
	EXPECT_STATUS(t, ndk_initialize_fast_register_mr(mr, 4, true, NULL, w), -EINVAL);
	w = t_await(t, "initialize fast register");
	EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(mr, t_info(t, e->adapter).frmr_page_count,
								   true, t_done, w)), 0);
}

/* --- build LAM ------------------------------------------------------------ */

/* Proves: BUILD_LAM.ok, BUILD_LAM.bad-argument, RELEASE_LAM.ok, 7.7-contiguous */
static void build_lam(struct t *t)
{
	struct t_end *e = end_of(t, false);
	u8 *va;
	struct scatterlist sg, gap[2];
	struct ndk_lam *lam;
	size_t size, needed;
	u32 fbo = 0xa5a5;

	if (!e)
		return;
	va = PTR_ALIGN((u8 *)t_alloc(t, 4 * PAGE_SIZE), PAGE_SIZE);
	lam = t_alloc(t, PAGE_SIZE);
	memset(lam, 0xa5, PAGE_SIZE);
	sg_init_one(&sg, va + 100, 2 * PAGE_SIZE);

	/* How much: three pages are touched. */
	needed = 0;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 2 * PAGE_SIZE, NULL, NULL, NULL, &needed, &fbo),
		      -ENOSPC);
	EXPECT_EQ(t, needed, struct_size(lam, pages, 3));
	size = needed - 1;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 2 * PAGE_SIZE, NULL, NULL, lam, &size, &fbo), -ENOSPC);
	EXPECT_EQ(t, size, needed);
	size = PAGE_SIZE;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 0, NULL, NULL, lam, &size, &fbo), -EINVAL);
	size = PAGE_SIZE;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 2 * PAGE_SIZE + 1, NULL, NULL, lam, &size, &fbo),
		      -EINVAL);
	size = PAGE_SIZE;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 0, 100, NULL, NULL, lam, &size, &fbo), -EINVAL);
	sg_init_table(gap, 2);
	sg_set_buf(&gap[0], va, 100);
	sg_set_buf(&gap[1], va + PAGE_SIZE, PAGE_SIZE);
	size = PAGE_SIZE;
	EXPECT_STATUS(t, ndk_build_lam(e->adapter, gap, 2, 100 + PAGE_SIZE, NULL, NULL, lam, &size, &fbo),
		      -EINVAL);
	t_check_byte(t, lam, PAGE_SIZE, 0xa5, "LAM of calls that failed");
	EXPECT_EQ(t, fbo, 0xa5a5);

	size = PAGE_SIZE;
	if (!EXPECT_STATUS(t, ndk_build_lam(e->adapter, &sg, 1, 2 * PAGE_SIZE, NULL, NULL, lam, &size, &fbo), 0))
		return;
	EXPECT_EQ(t, size, needed);
	EXPECT_EQ(t, fbo, 100);
	EXPECT_EQ(t, lam->page_count, 3);
	EXPECT_EQ(t, lam->reserved, 0);
	EXPECT_EQ(t, lam->pages[0] % PAGE_SIZE, 0);
	EXPECT_EQ(t, lam->pages[2] % PAGE_SIZE, 0);
	ndk_release_lam(e->adapter, lam);
}

/* --- listen --------------------------------------------------------------- */

static void try_listen(struct t_listener *l, struct sockaddr_storage *ss, u32 len, ndk_request_completion_fn done,
		       int status)
{
	struct t_await *w = t_await(l->t, "listen with a bad argument");

	refused(l->t, w, ndk_listen(l->listener, (struct sockaddr *)ss, len, done, w), t_poison(), status);
}

/*
 * Proves: LISTEN.bad-argument, LISTEN.wrong-state, GET_LISTENER_LOCAL_ADDRESS.wrong-state, 5.6-CREATED-address,
 * 5.6-CREATED-listen-foreign, 5.6-CREATED-retry, 5.6-LISTENING-listen, 12-listen-twice
 */
static void do_listen(struct t *t)
{
	struct t_end *e = end_of(t, false);
	struct t_listener *l;
	struct t_await *w;
	struct sockaddr_storage ss;
	u32 len = sizeof(ss);

	if (!e)
		return;
	l = t_listener(e);
	if (!l)
		return;
	EXPECT_STATUS(t, ndk_get_listener_local_address(l->listener, (struct sockaddr *)&ss, &len), -EBADFD);
	t_addr(SIDE_A, AF_INET, 0, &ss);
	try_listen(l, &ss, 0, t_done, -EINVAL);
	try_listen(l, &ss, sizeof(struct sockaddr_in) - 1, t_done, -EINVAL);
	try_listen(l, &ss, sizeof(struct sockaddr_in), NULL, -EINVAL);
	ss.ss_family = AF_UNIX;
	try_listen(l, &ss, sizeof(ss), t_done, -EINVAL);
	t_addr(SIDE_A, AF_INET6, 0, &ss);
	try_listen(l, &ss, sizeof(struct sockaddr_in), t_done, -EINVAL);

	/* Inline or not: none of the adapter's addresses. */
	t_addr(SIDE_B, AF_INET, 0, &ss);
	w = t_await(t, "listen on an address of somebody else");
	EXPECT_STATUS(t, t_wait(w, ndk_listen(l->listener, (struct sockaddr *)&ss, t_addr_len(&ss), t_done, w)),
		      -EADDRNOTAVAIL);
	EXPECT_STATUS(t, t_listen(l, SIDE_A, AF_INET, 0), 0);
	t_addr(SIDE_A, AF_INET, 0, &ss);
	try_listen(l, &ss, t_addr_len(&ss), t_done, -EBADFD);
}

/* --- connect -------------------------------------------------------------- */

struct connect_args {
	struct ndk_qp *qp;
	struct sockaddr_storage *from;
	u32 from_len;
	struct sockaddr_storage *to;
	u32 to_len;
	const void *data;
	u32 data_len;
	ndk_request_completion_fn done;
};

static int connect_with(struct t_end *e, const struct connect_args *a, struct t_await *w)
{
	return ndk_connect(e->connector, a->qp, (struct sockaddr *)a->from, a->from_len,
			   (struct sockaddr *)a->to, a->to_len, 1, 1, a->data, a->data_len, a->done, w);
}

#define TRY_CONNECT(e, good, field, value, status) do {				\
	struct connect_args _a = good;						\
	struct t_await *_w = t_await((e)->t, "connect with a bad argument");	\
										\
	_a.field = value;							\
	refused((e)->t, _w, connect_with(e, &_a, _w), t_poison(), status);	\
} while (0)

/* Proves: CONNECT.bad-argument, 5.3-IDLE-connect-long-data, 5.8-too-long */
static void do_connect(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage from, from6, other;
	struct ndk_object_header *h;
	struct connect_args good;
	struct t_end *e;
	static const u8 data[300];
	u32 max;

	if (!p)
		return;
	e = &p->a;
	h = t_create(e, KIND_CONNECTOR);
	if (!h)
		return;
	e->connector = container_of(h, struct ndk_connector, header);
	max = t_info(t, e->adapter).max_caller_data;
	t_addr(SIDE_A, AF_INET, 0, &from);
	t_addr(SIDE_A, AF_INET6, 0, &from6);
	other = from;
	other.ss_family = AF_UNIX;
	good = (struct connect_args) {
		.qp = e->qp, .from = &from, .from_len = sizeof(struct sockaddr_in),
		.to = &p->listener->address, .to_len = sizeof(struct sockaddr_in), .done = t_done,
	};
	TRY_CONNECT(e, good, qp, NULL, -EINVAL);
	TRY_CONNECT(e, good, from_len, sizeof(struct sockaddr_in) - 1, -EINVAL);
	TRY_CONNECT(e, good, from_len, 0, -EINVAL);
	TRY_CONNECT(e, good, from, &other, -EINVAL);
	TRY_CONNECT(e, good, to_len, sizeof(struct sockaddr_in) - 1, -EINVAL);
	TRY_CONNECT(e, good, to_len, 0, -EINVAL);
	TRY_CONNECT(e, good, to, &other, -EINVAL);
	TRY_CONNECT(e, good, done, NULL, -EINVAL);
	TRY_CONNECT(e, good, data_len, 8, -EINVAL);
	good.data = data;
	TRY_CONNECT(e, good, data_len, max + 1, -E2BIG);
	TRY_CONNECT(e, good, data_len, 256, -E2BIG);
	TRY_CONNECT(e, good, data_len, U32_MAX, -E2BIG);
	/* Of two families. */
	good.from = &from6;
	TRY_CONNECT(e, good, from_len, sizeof(struct sockaddr_in6), -EINVAL);
	EXPECT(t, t_nothing_incoming(p->listener, 100));
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* Calls that need a connection, or its beginning, on a connector that has neither. */
/*
 * Proves: COMPLETE_CONNECT.wrong-state, COMPLETE_CONNECT_EX.wrong-state, ACCEPT.wrong-state, ACCEPT_EX.wrong-state,
 * REJECT.wrong-state, DISCONNECT.wrong-state, GET_CONNECTION_DATA.wrong-state, GET_LOCAL_ADDRESS.wrong-state,
 * GET_PEER_ADDRESS.wrong-state, 5.3-IDLE-complete, 5.3-IDLE-other, 5.5-any-disconnect, 12-wrong-state
 */
static void idle_connector(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage ss;
	struct ndk_connector *c;
	struct ndk_object_header *h;
	struct t_await *w;
	u32 in = 7, out = 7, len = 0;

	if (!p)
		return;
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return;
	c = container_of(h, struct ndk_connector, header);
	w = t_await(t, "a call on an idle connector");
	EXPECT_STATUS(t, ndk_complete_connect(c, t_gone, &p->a, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_complete_connect_ex(c, t_gone_ex, &p->a, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_accept(c, p->a.qp, 1, 1, NULL, 0, t_gone, &p->a, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_accept_ex(c, p->a.qp, 1, 1, NULL, 0, t_gone_ex, &p->a, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_reject(c, NULL, 0), -ENOTCONN);
	EXPECT_STATUS(t, ndk_disconnect(c, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_get_connection_data(c, &in, &out, NULL, &len), -ENOTCONN);
	EXPECT_EQ(t, in, 7);
	EXPECT_EQ(t, out, 7);
	len = sizeof(ss);
	EXPECT_STATUS(t, ndk_get_local_address(c, (struct sockaddr *)&ss, &len), -ENOTCONN);
	EXPECT_STATUS(t, ndk_get_peer_address(c, (struct sockaddr *)&ss, &len), -ENOTCONN);
	/* It is as good as new, and so is the QP. */
	p->a.connector = c;
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

static const struct t_case cases[] = {
	{ "create_cq", create_cq },
	{ "create_cq_takes_any_affinity", cq_affinity },
	{ "create_pd", create_pd },
	{ "create_listener", create_listener },
	{ "create_qp", create_qp },
	{ "register_mr", register_mr },
	{ "register_mr_of_more_than_the_limit", register_too_much },
	{ "mr_in_the_wrong_state", mr_in_the_wrong_state },
	{ "initialize_fast_register", initialize_fast_register },
	{ "build_lam", build_lam },
	{ "listen", do_listen },
	{ "connect", do_connect },
	{ "calls_on_an_idle_connector", idle_connector },
};

T_GROUP(arguments, cases);
