// SPDX-License-Identifier: GPL-2.0
/* The life of every kind of object: made, closed, in whatever order and from whatever context. */

#include <linux/delay.h>

#include "ndk_test.h"

/* Proves: CLOSE_OBJECT.ok, CLOSE_COMPLETION.ok, 2.1-type, 2.1-version, 2.2-callbacks-softirq, 2.5-pending */
static void is_made_and_closed(struct t *t)
{
	struct ndk_object_header *h;
	struct t_end *e = t_alloc(t, sizeof(*e));
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	/* More than once: what the first left must not be in the way. */
	for (i = 0; i < 3; i++) {
		h = t_create(e, t->arg);
		if (!h)
			return;
		t_close(t, h);
	}
}

/* Several at a time, closed in another order than made. */
/* Proves: CLOSE_OBJECT.ok */
static void many_at_a_time(struct t *t)
{
	struct ndk_object_header *h[12];
	struct t_await *w[12];
	struct t_end *e = t_alloc(t, sizeof(*e));
	int i;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(h); i++) {
		h[i] = t_create(e, t->arg);
		if (!h[i])
			return;
	}
	for (i = 0; i < ARRAY_SIZE(h); i++)
		w[i] = t_close_start(t, h[(i * 5) % ARRAY_SIZE(h)]);
	for (i = 0; i < ARRAY_SIZE(h); i++)
		t_join(w[i]);
}

/* --- contexts ------------------------------------------------------------- */

/* A provider that sleeps here is told so by the kernel. */
/* Proves: CLOSE_OBJECT.softirq, 2.2-any-context */
static void under_a_spinlock(struct t *t)
{
	struct ndk_object_header *h;
	struct t_await *w, *closing;
	struct t_end *e = t_alloc(t, sizeof(*e));
	void *out = t_poison();
	int rc, status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	w = t_await(t, t_kind_name(t->arg));
	spin_lock_bh(&t_consumer_lock);
	rc = t_create_call(e, t->arg, w, &out);
	spin_unlock_bh(&t_consumer_lock);
	h = t_create_end(e, t->arg, w, rc, &out, &status);
	if (!EXPECT(t, h))
		return;
	spin_lock_bh(&t_consumer_lock);
	closing = t_close_start(t, h);
	spin_unlock_bh(&t_consumer_lock);
	t_join(closing);
}

struct in_callback {
	struct t_end *e;
	enum t_kind kind;
	struct t_await *create, *closing;
	void *out;
	int rc;
	bool keep;
};

static void close_created(struct t_await *w)
{
	struct in_callback *c = w->arg;

	if (w->object)
		c->closing = t_close_start(w->t, w->object);
}

/* In the completion of something else: creates, and closes in the completion of that, or at once if there is none. */
static void create_in_callback(struct t_await *w)
{
	struct in_callback *c = w->arg;

	c->create = t_await(w->t, t_kind_name(c->kind));
	c->create->then = close_created;
	c->create->arg = c;
	c->out = t_poison();
	c->rc = t_create_call(c->e, c->kind, c->create, &c->out);
	if (c->rc == -EINPROGRESS) {
		c->create->pending = true;
	} else if (!c->rc) {
		t_track(w->t, c->out, t_kind_type(c->kind));
		c->closing = t_close_start(w->t, c->out);
	}
}

/* Proves: CLOSE_OBJECT.softirq, CLOSE_COMPLETION.softirq, CLOSE_COMPLETION.close-pending, 2.2-any-context */
static void in_a_callback(struct t *t)
{
	struct in_callback *c = t_alloc(t, sizeof(*c));
	struct ndk_object_header *pd;
	struct t_await *w;
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	c->e = e;
	c->kind = t->arg;
	pd = t_create(e, KIND_PD);
	if (!pd)
		return;
	w = t_close_then(t, pd, create_in_callback, c);
	if (!w->pending) {
		t_fail(t, "the close of a PD is expected to pend");
		return;
	}
	t_join(w);
	if (!c->create)
		return;
	if (c->rc == -EINPROGRESS)
		EXPECT_STATUS(t, t_join(c->create), 0);
	else
		EXPECT_STATUS(t, c->rc, 0);
	if (EXPECT(t, c->closing))
		t_join(c->closing);
}

/* --- antecedents and successors ------------------------------------------- */

/* The successor's close callback: long enough that an antecedent which does not wait for its return is caught. */
static void linger(struct t_await *w)
{
	WRITE_ONCE(*(struct t_await **)w->arg, w);
	mdelay(30);
}

static void after_successor(struct t_await *w)
{
	struct t_await *successor = READ_ONCE(*(struct t_await **)w->arg);

	if (!successor)
		t_fail(w->t, "%s: completed before the successor's", w->what);
	else if (!t_has_left(successor))
		t_fail(w->t, "%s: completed before the callback of %s returned", w->what, successor->what);
}

static void antecedent_waits(struct t *t, struct ndk_object_header *antecedent,
			     struct ndk_object_header *successor)
{
	struct t_await **slot = t_alloc(t, sizeof(*slot)), *first, *second;

	first = t_close_then(t, antecedent, after_successor, slot);
	t_sleep(50);
	EXPECT(t, first->pending && !t_is_done(first));
	second = t_close_then(t, successor, linger, slot);
	EXPECT(t, second->pending);
	t_join(first);
	t_join(second);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-PD, 3.5, 3.6 */
static void pd_before(struct t *t)
{
	struct ndk_object_header *h;
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	h = t_create(e, t->arg);
	if (h)
		antecedent_waits(t, &e->pd->header, h);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-CQ, 3.5, 3.6 */
static void receive_cq_before_qp(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (t_end_init(t, e, SIDE_A, NULL) && t_end_qp(e))
		antecedent_waits(t, &e->rcq->cq->header, &e->qp->header);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-CQ, 3.5, 3.6 */
static void initiator_cq_before_qp(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (t_end_init(t, e, SIDE_A, NULL) && t_end_qp(e))
		antecedent_waits(t, &e->icq->cq->header, &e->qp->header);
}

static bool end_with_srq(struct t *t, struct t_end *e)
{
	struct ndk_object_header *h;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return false;
	h = t_create(e, KIND_SRQ);
	if (!h)
		return false;
	e->srq = container_of(h, struct ndk_srq, header);
	return t_end_qp(e);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-SRQ, 3.5, 3.6 */
static void srq_before_qp(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));

	if (end_with_srq(t, e))
		antecedent_waits(t, &e->srq->header, &e->qp->header);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-PD, 3.1-SRQ, 3.5, 3.6 */
static void pd_before_srq_and_qp(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_await *w[3];
	int i;

	if (!end_with_srq(t, e))
		return;
	w[0] = t_close_start(t, &e->pd->header);
	w[1] = t_close_start(t, &e->srq->header);
	t_sleep(30);
	EXPECT(t, !t_is_done(w[0]) && !t_is_done(w[1]));
	w[2] = t_close_start(t, &e->qp->header);
	for (i = 0; i < 3; i++)
		t_join(w[i]);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-QP, 3.5, 3.6 */
static void qp_before_connector(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_end *e;

	if (!p)
		return;
	e = t->arg == SIDE_A ? &p->a : &p->b;
	antecedent_waits(t, &e->qp->header, &e->connector->header);
}

/* Proves: CLOSE_OBJECT.close-pending, 3.1-LISTENER, 3.5, 3.6 */
static void listener_before_connector(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);

	if (p)
		antecedent_waits(t, &p->listener->listener->header, &p->b.connector->header);
}

/* The connection was never accepted. */
/* Proves: CLOSE_OBJECT.close-pending, 3.1-LISTENER, 3.5, 3.6, 4.2-not-accepted */
static void listener_before_incoming(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_connector *incoming;

	if (!p || !t_connect_start(&p->a, &p->listener->address))
		return;
	incoming = t_incoming(p->listener);
	if (incoming)
		antecedent_waits(t, &p->listener->listener->header, &incoming->header);
}

/*
 * The connection stands, or is still asked for.
 *
 * Proves: 3.5, 3.6, 3.1-SHARED_ENDPOINT, 5.7-CLOSING-last
 */
static void shared_endpoint_before_connector(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);

	if (!p || !t_share(&p->a, AF_INET, 0))
		return;
	if (t->arg ? !t_connect_start(&p->a, &p->listener->address) || !t_incoming(p->listener) :
		     !t_establish(&p->a, p->listener, &p->b))
		return;
	antecedent_waits(t, &p->a.shared->header, &p->a.connector->header);
}

/* Proves: 3.6, 3.7 */
static void adapter_after_callbacks(struct t *t)
{
	struct t_await **slot = t_alloc(t, sizeof(*slot)), *closing;
	struct ndk_adapter *adapter = t_another(t, SIDE_A);
	struct ndk_object_header *h;
	struct t_end *e = t_alloc(t, sizeof(*e));

	e->t = t;
	e->cfg.cq_depth = 8;
	if (!adapter)
		return;
	e->adapter = adapter;
	h = t_create(e, t->arg);
	if (!h)
		return;
	closing = t_close_then(t, h, linger, slot);
	if (t_close_adapter(t, adapter) && !t_has_left(closing))
		t_fail(t, "ndk_close_adapter() returned before a close completion did");
	t_join(closing);
}

/* Everything of a connection closed from the top: each waits, none is forgotten. */
/* Proves: CLOSE_OBJECT.close-pending, 3.5 */
static void all_antecedents_first(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_await *w[5];
	int i;

	if (!p)
		return;
	w[0] = t_close_start(t, &p->a.pd->header);
	w[1] = t_close_start(t, &p->a.rcq->cq->header);
	w[2] = t_close_start(t, &p->a.icq->cq->header);
	w[3] = t_close_start(t, &p->a.qp->header);
	t_sleep(50);
	for (i = 0; i < 4; i++)
		EXPECT(t, !t_is_done(w[i]));
	w[4] = t_close_start(t, &p->a.connector->header);
	for (i = 0; i < 5; i++)
		t_join(w[i]);
}

/* --- the shell belongs to the consumer ------------------------------------ */

#define PATTERN ((void *)0x5a5a5a5a5a5a5a5aUL)

static void mark(struct ndk_object_header *h)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(h->reserved); i++)
		h->reserved[i] = PATTERN;
}

static void check_mark(struct t *t, struct ndk_object_header *h, u32 type)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(h->reserved); i++)
		if (h->reserved[i] != PATTERN)
			t_fail(t, "the reserved block of an object of type %u was written to", type);
	EXPECT_EQ(t, h->type, type);
	EXPECT_EQ(t, h->version.major, NDK_VERSION_MAJOR);
	EXPECT_EQ(t, h->version.minor, NDK_VERSION_MINOR);
}

/* Proves: 2.1-reserved, 2.1-version, 2.1-type */
static void reserved_block_is_the_consumers(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_region *r;
	struct t_await *w;

	if (!p)
		return;
	r = t_region(&p->a, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	if (!r || !t_share(&p->a, AF_INET, 0))
		return;
	mark(&p->a.shared->header);
	mark(&p->a.adapter->header);
	mark(&p->a.pd->header);
	mark(&p->a.rcq->cq->header);
	mark(&p->a.icq->cq->header);
	mark(&p->a.qp->header);
	mark(&r->mr->header);
	mark(&p->listener->listener->header);
	if (!t_establish(&p->a, p->listener, &p->b))
		return;
	mark(&p->a.connector->header);
	mark(&p->b.connector->header);
	t_ping(&p->a, &p->b);
	t_ping(&p->b, &p->a);
	EXPECT_STATUS(t, t_deregister(&p->a, r), 0);
	w = t_disconnect_start(&p->a);
	if (!w || !t_wait_gone(&p->b))
		return;
	t_close(t, &p->b.connector->header);
	t_join(w);
	check_mark(t, &p->a.adapter->header, NDK_OBJECT_ADAPTER);
	check_mark(t, &p->a.pd->header, NDK_OBJECT_PD);
	check_mark(t, &p->a.rcq->cq->header, NDK_OBJECT_CQ);
	check_mark(t, &p->a.icq->cq->header, NDK_OBJECT_CQ);
	check_mark(t, &p->a.qp->header, NDK_OBJECT_QP);
	check_mark(t, &r->mr->header, NDK_OBJECT_MR);
	check_mark(t, &p->listener->listener->header, NDK_OBJECT_LISTENER);
	check_mark(t, &p->a.connector->header, NDK_OBJECT_CONNECTOR);
	check_mark(t, &p->a.shared->header, NDK_OBJECT_SHARED_ENDPOINT);
}

/* A framework between the two may replace the table; a provider that looks at it again jumps to nowhere. */
/* Proves: 2.1-dispatch */
static void table_is_the_consumers(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	const struct ndk_adapter_dispatch *adapter;
	const struct ndk_shared_endpoint_dispatch *shared;
	const struct ndk_connector_dispatch *connector;
	const struct ndk_listener_dispatch *listener;
	const struct ndk_pd_dispatch *pd;
	const struct ndk_cq_dispatch *rcq, *icq;
	const struct ndk_qp_dispatch *qp;
	struct t_buf *in, *out;
	int rc;

	if (!p)
		return;
	out = t_buf(&p->a, 64);
	in = t_buf(&p->b, 64);
	if (!in || !out || !t_share(&p->a, AF_INET, 0))
		return;
	shared = xchg(&p->a.shared->dispatch, NULL);
	adapter = xchg(&p->a.adapter->dispatch, NULL);
	pd = xchg(&p->a.pd->dispatch, NULL);
	listener = xchg(&p->listener->listener->dispatch, NULL);
	rcq = xchg(&p->a.rcq->cq->dispatch, NULL);
	icq = xchg(&p->a.icq->cq->dispatch, NULL);
	qp = xchg(&p->a.qp->dispatch, NULL);
	p->a.adapter->dispatch = adapter;
	if (t_establish(&p->a, p->listener, &p->b)) {
		connector = xchg(&p->a.connector->dispatch, NULL);
		EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, 64), 0);
		p->a.qp->dispatch = qp;
		rc = t_post_send(&p->a, 2, out, 0, 64, 0);
		p->a.qp->dispatch = NULL;
		EXPECT_STATUS(t, rc, 0);
		t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE);
		p->a.icq->cq->dispatch = icq;
		t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_SEND);
		/* The peer's close runs through the whole of this end. */
		t_close(t, &p->b.connector->header);
		t_wait_gone(&p->a);
		p->a.connector->dispatch = connector;
	}
	p->a.shared->dispatch = shared;
	p->a.pd->dispatch = pd;
	p->listener->listener->dispatch = listener;
	p->a.rcq->cq->dispatch = rcq;
	p->a.icq->cq->dispatch = icq;
	p->a.qp->dispatch = qp;
}

/* --- slots that are there and answer -------------------------------------- */

static const struct ndk_guid some_guid = { { 1, 2, 3 } };

#define NO_EXTENSION(t, object) do {						\
	struct ndk_extension _x = { .dispatch = t_poison() };			\
	EXPECT_STATUS(t, ndk_query_extension(&(object)->header,			\
		(object)->dispatch->query_extension, &some_guid,		\
		(struct ndk_version) { 1, 0 }, &_x), -EOPNOTSUPP);		\
	EXPECT(t, _x.dispatch == t_poison());					\
} while (0)

/* Proves: QUERY_EXTENSION_INTERFACE.ok, 2.6-extension */
static void no_extensions(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *r;
	struct t_srq *srq;

	if (!p)
		return;
	r = t_memory(&p->a, PAGE_SIZE);
	srq = t_srq(&p->a, 1, 0);
	if (!r || !srq || !t_share(&p->a, AF_INET, 0))
		return;
	NO_EXTENSION(t, p->a.adapter);
	NO_EXTENSION(t, p->a.pd);
	NO_EXTENSION(t, p->a.rcq->cq);
	NO_EXTENSION(t, p->a.qp);
	NO_EXTENSION(t, r->mr);
	NO_EXTENSION(t, p->a.connector);
	NO_EXTENSION(t, p->listener->listener);
	NO_EXTENSION(t, p->a.shared);
	NO_EXTENSION(t, srq->srq);
}

static const struct t_case cases[] = {
	/* Proves: CREATE_PD.ok, CREATE_COMPLETION.ok, 2.3-pending, 2.3-out-pointer */
	{ "pd_is_made_and_closed", is_made_and_closed, KIND_PD },
	/* Proves: CREATE_CQ.ok, CREATE_COMPLETION.ok, 2.3-pending, 2.3-out-pointer */
	{ "cq_is_made_and_closed", is_made_and_closed, KIND_CQ },
	/* Proves: CREATE_QP.ok, CREATE_COMPLETION.ok, 2.3-pending, 2.3-out-pointer */
	{ "qp_is_made_and_closed", is_made_and_closed, KIND_QP },
	/* Proves: CREATE_SRQ.ok, CREATE_COMPLETION.ok, 2.3-pending, 2.3-out-pointer */
	{ "srq_is_made_and_closed", is_made_and_closed, KIND_SRQ },
	/* Proves: CREATE_MR.ok, CREATE_COMPLETION.wrong-state, 2.3-inline */
	{ "mr_is_made_and_closed", is_made_and_closed, KIND_MR },
	/* Proves: CREATE_MR.ok, CREATE_COMPLETION.wrong-state, 2.3-inline */
	{ "fast_mr_is_made_and_closed", is_made_and_closed, KIND_FAST_MR },
	{ "mw_is_made_and_closed", is_made_and_closed, KIND_MW },
	/* Proves: CREATE_CONNECTOR.ok, CREATE_COMPLETION.wrong-state, 2.3-inline */
	{ "connector_is_made_and_closed", is_made_and_closed, KIND_CONNECTOR },
	/* Proves: CREATE_LISTENER.ok, CREATE_COMPLETION.wrong-state, 2.3-inline */
	{ "listener_is_made_and_closed", is_made_and_closed, KIND_LISTENER },
	/* Proves: CREATE_SHARED_ENDPOINT.ok, CREATE_COMPLETION.ok, 2.3-pending, 2.3-out-pointer */
	{ "shared_endpoint_is_made_and_closed", is_made_and_closed, KIND_SHARED_ENDPOINT },
	{ "pd_many_at_a_time", many_at_a_time, KIND_PD }, /* Proves: CREATE_PD.ok */
	{ "cq_many_at_a_time", many_at_a_time, KIND_CQ }, /* Proves: CREATE_CQ.ok */
	{ "qp_many_at_a_time", many_at_a_time, KIND_QP }, /* Proves: CREATE_QP.ok */
	{ "srq_many_at_a_time", many_at_a_time, KIND_SRQ }, /* Proves: CREATE_SRQ.ok */
	{ "mr_many_at_a_time", many_at_a_time, KIND_MR }, /* Proves: CREATE_MR.ok */
	{ "fast_mr_many_at_a_time", many_at_a_time, KIND_FAST_MR }, /* Proves: CREATE_MR.ok */
	{ "mw_many_at_a_time", many_at_a_time, KIND_MW }, /* Proves: CREATE_MW.ok */
	{ "connector_many_at_a_time", many_at_a_time, KIND_CONNECTOR }, /* Proves: CREATE_CONNECTOR.ok */
	{ "listener_many_at_a_time", many_at_a_time, KIND_LISTENER }, /* Proves: CREATE_LISTENER.ok */
	/* Proves: CREATE_SHARED_ENDPOINT.ok */
	{ "shared_endpoint_many_at_a_time", many_at_a_time, KIND_SHARED_ENDPOINT },
	{ "pd_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_PD }, /* Proves: CREATE_PD.softirq */
	{ "cq_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_CQ }, /* Proves: CREATE_CQ.softirq */
	{ "qp_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_QP }, /* Proves: CREATE_QP.softirq */
	{ "srq_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_SRQ }, /* Proves: CREATE_SRQ.softirq */
	{ "mr_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_MR }, /* Proves: CREATE_MR.softirq */
	{ "fast_mr_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_FAST_MR }, /* Proves: CREATE_MR.softirq */
	{ "mw_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_MW }, /* Proves: CREATE_MW.softirq */
	{ "connector_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_CONNECTOR }, /* Proves: CREATE_CONNECTOR.softirq */
	{ "listener_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_LISTENER }, /* Proves: CREATE_LISTENER.softirq */
	/* Proves: CREATE_SHARED_ENDPOINT.softirq */
	{ "shared_endpoint_made_and_closed_under_a_spinlock", under_a_spinlock, KIND_SHARED_ENDPOINT },
	/* Proves: CREATE_PD.softirq, CREATE_COMPLETION.softirq, CREATE_COMPLETION.close-pending, 3.1, 3.4 */
	{ "pd_made_and_closed_in_callbacks", in_a_callback, KIND_PD },
	/* Proves: CREATE_CQ.softirq, CREATE_COMPLETION.softirq, CREATE_COMPLETION.close-pending, 3.1, 3.4 */
	{ "cq_made_and_closed_in_callbacks", in_a_callback, KIND_CQ },
	/* Proves: CREATE_QP.softirq, CREATE_COMPLETION.softirq, CREATE_COMPLETION.close-pending, 3.1, 3.4 */
	{ "qp_made_and_closed_in_callbacks", in_a_callback, KIND_QP },
	{ "srq_made_and_closed_in_callbacks", in_a_callback, KIND_SRQ }, /* Proves: CREATE_SRQ.softirq */
	{ "mr_made_and_closed_in_callbacks", in_a_callback, KIND_MR }, /* Proves: CREATE_MR.softirq */
	{ "fast_mr_made_and_closed_in_callbacks", in_a_callback, KIND_FAST_MR }, /* Proves: CREATE_MR.softirq */
	{ "mw_made_and_closed_in_callbacks", in_a_callback, KIND_MW }, /* Proves: CREATE_MW.softirq */
	{ "connector_made_and_closed_in_callbacks", in_a_callback, KIND_CONNECTOR }, /* Proves: CREATE_CONNECTOR.softirq */
	{ "listener_made_and_closed_in_callbacks", in_a_callback, KIND_LISTENER }, /* Proves: CREATE_LISTENER.softirq */
	/* Proves: CREATE_SHARED_ENDPOINT.softirq, CREATE_COMPLETION.softirq, CREATE_COMPLETION.close-pending, 3.1, 3.4 */
	{ "shared_endpoint_made_and_closed_in_callbacks", in_a_callback, KIND_SHARED_ENDPOINT },
	{ "pd_closed_before_its_qp", pd_before, KIND_QP },
	{ "pd_closed_before_its_srq", pd_before, KIND_SRQ },
	{ "pd_closed_before_its_mr", pd_before, KIND_MR },
	{ "pd_closed_before_its_fast_mr", pd_before, KIND_FAST_MR },
	{ "pd_closed_before_its_mw", pd_before, KIND_MW },
	{ "receive_cq_closed_before_its_qp", receive_cq_before_qp },
	{ "initiator_cq_closed_before_its_qp", initiator_cq_before_qp },
	{ "srq_closed_before_its_qp", srq_before_qp },
	{ "pd_closed_before_srq_and_qp", pd_before_srq_and_qp },
	{ "active_qp_closed_before_its_connector", qp_before_connector, SIDE_A },
	{ "passive_qp_closed_before_its_connector", qp_before_connector, SIDE_B },
	{ "listener_closed_before_its_connection", listener_before_connector },
	{ "listener_closed_before_an_unanswered_connection", listener_before_incoming },
	{ "shared_endpoint_closed_before_its_connection", shared_endpoint_before_connector, 0 },
	{ "shared_endpoint_closed_before_a_pending_connect", shared_endpoint_before_connector, 1 },
	{ "all_antecedents_closed_first", all_antecedents_first },
	{ "adapter_close_waits_for_the_callback_of_pd", adapter_after_callbacks, KIND_PD },
	{ "adapter_close_waits_for_the_callback_of_cq", adapter_after_callbacks, KIND_CQ },
	{ "adapter_close_waits_for_the_callback_of_connector", adapter_after_callbacks, KIND_CONNECTOR },
	{ "adapter_close_waits_for_the_callback_of_listener", adapter_after_callbacks, KIND_LISTENER },
	{ "adapter_close_waits_for_the_callback_of_shared_endpoint", adapter_after_callbacks, KIND_SHARED_ENDPOINT },
	{ "reserved_block_is_the_consumers", reserved_block_is_the_consumers },
	{ "dispatch_table_is_the_consumers", table_is_the_consumers },
	{ "no_object_has_an_extension", no_extensions },
};

T_GROUP(lifetime, cases);
