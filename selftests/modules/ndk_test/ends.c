// SPDX-License-Identifier: GPL-2.0
/* The two ends of a connection: what they are made of, and how they come together. */

#include <linux/slab.h>
#include <net/ipv6.h>

#include "ndk_test.h"

/* --- objects by kind ------------------------------------------------------ */

static const struct {
	const char *name;
	u32 type;
} kinds[KINDS] = {
	[KIND_PD] = { "create PD", NDK_OBJECT_PD },
	[KIND_CQ] = { "create CQ", NDK_OBJECT_CQ },
	[KIND_QP] = { "create QP", NDK_OBJECT_QP },
	[KIND_MR] = { "create MR", NDK_OBJECT_MR },
	[KIND_FAST_MR] = { "create fast-register MR", NDK_OBJECT_MR },
	[KIND_MW] = { "create MW", NDK_OBJECT_MW },
	[KIND_CONNECTOR] = { "create connector", NDK_OBJECT_CONNECTOR },
	[KIND_LISTENER] = { "create listener", NDK_OBJECT_LISTENER },
	[KIND_SRQ] = { "create SRQ", NDK_OBJECT_SRQ },
	[KIND_SHARED_ENDPOINT] = { "create shared endpoint", NDK_OBJECT_SHARED_ENDPOINT },
};

u32 t_kind_type(enum t_kind kind)
{
	return kinds[kind].type;
}

const char *t_kind_name(enum t_kind kind)
{
	return kinds[kind].name;
}

static void unwanted_notification(void *context, int status)
{
	struct t_end *e = context;

	t_fail(e->t, "a CQ that was never armed notifies");
}

static void unwanted_srq_notification(void *context, int status)
{
	struct t_end *e = context;

	t_fail(e->t, "an SRQ without a threshold notifies");
}

static void unwanted_connect_event(void *context, struct ndk_connector *connector)
{
	struct t_end *e = context;

	t_fail(e->t, "a listener that does not listen has a connect event");
	t_track(e->t, &connector->header, NDK_OBJECT_CONNECTOR);
}

int t_create_call(struct t_end *e, enum t_kind kind, struct t_await *w, void **out)
{
	const struct t_cfg *c = &e->cfg;
	struct sockaddr_storage any;

	switch (kind) {
	case KIND_PD:
		return ndk_create_pd(e->adapter, t_created, w, (struct ndk_pd **)out);
	case KIND_CQ:
		return ndk_create_cq(e->adapter, c->cq_depth, unwanted_notification, e, -1, t_created, w,
				     (struct ndk_cq **)out);
	case KIND_SRQ:
		return ndk_create_srq(e->pd, c->depth, c->sge, 0, unwanted_srq_notification, e, -1, t_created, w,
				      (struct ndk_srq **)out);
	case KIND_QP:
		if (e->srq)
			return ndk_create_qp_with_srq(e->pd, e->rcq->cq, e->icq->cq, e->srq, e, c->depth, c->sge,
						      c->inline_size, t_created, w, (struct ndk_qp **)out);
		return ndk_create_qp(e->pd, e->rcq->cq, e->icq->cq, e, c->depth, c->depth, c->sge, c->sge,
				     c->inline_size, t_created, w, (struct ndk_qp **)out);
	case KIND_MR:
	case KIND_FAST_MR:
		return ndk_create_mr(e->pd, kind == KIND_FAST_MR, t_created, w, (struct ndk_mr **)out);
	case KIND_MW:
		return ndk_create_mw(e->pd, t_created, w, (struct ndk_mw **)out);
	case KIND_CONNECTOR:
		return ndk_create_connector(e->adapter, t_created, w, (struct ndk_connector **)out);
	case KIND_LISTENER:
		return ndk_create_listener(e->adapter, unwanted_connect_event, e, t_created, w,
					   (struct ndk_listener **)out);
	case KIND_SHARED_ENDPOINT:
		t_addr(e->side, c->family, 0, &any);
		return t_share_call(e, &any, t_created, w, out);
	default:
		return -EINVAL;
	}
}

struct ndk_object_header *t_create_end(struct t_end *e, enum t_kind kind, struct t_await *w,
				       int rc, void **out, int *status)
{
	*status = t_wait(w, rc);
	if (rc == -EINPROGRESS) {
		if (*out != t_poison())
			t_fail(e->t, "%s: pending, and the out pointer was written to", w->what);
		if (*status)
			return NULL;
		if (w->object && w->object->type != kinds[kind].type)
			t_fail(e->t, "%s: made an object of type %u", w->what, w->object->type);
		return w->object;
	}
	if (rc) {
		if (*out != t_poison())
			t_fail(e->t, "%s: failed, and the out pointer was written to", w->what);
		return NULL;
	}
	if (*out == t_poison() || !*out) {
		t_fail(e->t, "%s: succeeded without an object", w->what);
		*status = -EIO;
		return NULL;
	}
	t_track(e->t, *out, kinds[kind].type);
	return *out;
}

struct ndk_object_header *t_try_create(struct t_end *e, enum t_kind kind, int *status)
{
	struct t_await *w = t_await(e->t, kinds[kind].name);
	void *out = t_poison();
	int rc = t_create_call(e, kind, w, &out);

	return t_create_end(e, kind, w, rc, &out, status);
}

struct ndk_object_header *t_create(struct t_end *e, enum t_kind kind)
{
	struct ndk_object_header *h;
	int status;

	h = t_try_create(e, kind, &status);
	if (status)
		t_fail(e->t, "%s: %s", kinds[kind].name, t_errname(status));
	return h;
}

/* --- CQs ------------------------------------------------------------------ */

void t_notified(void *context, int status)
{
	struct t_cq *cq = context;
	void (*then)(struct t_cq *cq);

	t_context(cq->t, "CQ notification");
	if (atomic_inc_return(&cq->inside) > 1)
		t_fail(cq->t, "two notifications of one CQ at a time");
	cq->status = status;
	cq->cpu = smp_processor_id();
	atomic_inc(&cq->calls);
	then = READ_ONCE(cq->then);
	if (then)
		then(cq);
	atomic_dec(&cq->inside);
	complete(&cq->notified);
}

void t_cq_stop(struct t_cq *cq)
{
	WRITE_ONCE(cq->then, NULL);
	/* Pairs with the increment before the read in t_notified(). */
	smp_mb();
	while (atomic_read(&cq->inside))
		t_sleep(1);
}

struct t_cq *t_cq_near(struct t_end *e, u32 depth, int affinity)
{
	struct t_cq *cq = t_alloc(e->t, sizeof(*cq));
	struct t_await *w = t_await(e->t, "create CQ");
	struct ndk_object_header *h;
	void *out = t_poison();
	int rc, status;

	cq->t = e->t;
	init_completion(&cq->notified);
	rc = ndk_create_cq(e->adapter, depth, t_notified, cq, affinity, t_created, w, (struct ndk_cq **)&out);
	h = t_create_end(e, KIND_CQ, w, rc, &out, &status);
	if (!h) {
		t_fail(e->t, "create CQ: %s", t_errname(status));
		return NULL;
	}
	cq->cq = container_of(h, struct ndk_cq, header);
	return cq;
}

struct t_cq *t_cq(struct t_end *e, u32 depth)
{
	return t_cq_near(e, depth, -1);
}

int t_resize(struct t_cq *cq, u32 depth)
{
	struct t_await *w = t_await(cq->t, "resize CQ");

	return t_wait(w, ndk_resize_cq(cq->cq, depth, t_done, w));
}

/* --- ends ----------------------------------------------------------------- */

bool t_end_init(struct t *t, struct t_end *e, enum t_side side, const struct t_cfg *cfg)
{
	struct ndk_object_header *pd;

	memset(e, 0, sizeof(*e));
	e->t = t;
	e->side = side;
	if (cfg)
		e->cfg = *cfg;
	if (!e->cfg.family)
		e->cfg.family = AF_INET;
	if (!e->cfg.depth)
		e->cfg.depth = 32;
	if (!e->cfg.sge)
		e->cfg.sge = 4;
	if (!e->cfg.cq_depth)
		e->cfg.cq_depth = 4 * e->cfg.depth;
	if (!e->cfg.inbound && !e->cfg.outbound) {
		e->cfg.inbound = 4;
		e->cfg.outbound = 4;
	}
	init_completion(&e->gone_done);
	e->adapter = t_adapter(t, side);
	if (!e->adapter)
		return false;
	pd = t_create(e, KIND_PD);
	if (!pd)
		return false;
	e->pd = container_of(pd, struct ndk_pd, header);
	e->rcq = t_cq(e, e->cfg.cq_depth);
	e->icq = e->cfg.one_cq ? e->rcq : t_cq(e, e->cfg.cq_depth);
	return e->rcq && e->icq;
}

void t_end_copy(struct t_end *to, const struct t_end *from)
{
	*to = *from;
	atomic_set(&to->gone, 0);
	init_completion(&to->gone_done);
}

bool t_end_qp(struct t_end *e)
{
	struct ndk_object_header *qp = t_create(e, KIND_QP);

	if (!qp)
		return false;
	e->qp = container_of(qp, struct ndk_qp, header);
	e->qp_tried = false;
	return true;
}

void t_end_close_start(struct t_end *e)
{
	t_close_start(e->t, &e->pd->header);
	t_close_start(e->t, &e->rcq->cq->header);
	if (e->icq != e->rcq)
		t_close_start(e->t, &e->icq->cq->header);
	if (e->qp)
		t_close_start(e->t, &e->qp->header);
	if (e->connector)
		t_close_start(e->t, &e->connector->header);
}

/* --- addresses ------------------------------------------------------------ */

u32 t_addr(enum t_side side, int family, u16 port, struct sockaddr_storage *ss)
{
	memset(ss, 0, sizeof(*ss));
	if (family == AF_INET6) {
		memcpy(ss, &world.v6[side], sizeof(world.v6[side]));
		((struct sockaddr_in6 *)ss)->sin6_port = htons(port);
	} else {
		memcpy(ss, &world.v4[side], sizeof(world.v4[side]));
		((struct sockaddr_in *)ss)->sin_port = htons(port);
	}
	return t_addr_len(ss);
}

u32 t_addr_len(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

u16 t_port(const struct sockaddr_storage *ss)
{
	/* The port is at the same place in both. */
	return ntohs(((const struct sockaddr_in *)ss)->sin_port);
}

bool t_same_addr(const struct sockaddr_storage *x, const struct sockaddr_storage *y)
{
	if (x->ss_family != y->ss_family || t_port(x) != t_port(y))
		return false;
	if (x->ss_family == AF_INET6)
		return ipv6_addr_equal(&((const struct sockaddr_in6 *)x)->sin6_addr,
				       &((const struct sockaddr_in6 *)y)->sin6_addr);
	return ((const struct sockaddr_in *)x)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)y)->sin_addr.s_addr;
}

/* --- listeners ------------------------------------------------------------ */

static void connect_event(void *context, struct ndk_connector *connector)
{
	struct t_listener *l = context;

	t_context(l->t, "connect event");
	t_trace("connect event");
	t_track(l->t, &connector->header, NDK_OBJECT_CONNECTOR);
	atomic_inc(&l->events);
	if (l->then) {
		l->then(l, connector);
		return;
	}
	spin_lock(&l->lock);
	if (l->head - l->tail < ARRAY_SIZE(l->queue))
		l->queue[l->head++ % ARRAY_SIZE(l->queue)] = connector;
	else
		t_fail(l->t, "more incoming connections than expected");
	spin_unlock(&l->lock);
	complete(&l->came);
}

struct t_listener *t_try_listener(struct t_end *e, int *status)
{
	struct t_listener *l = t_alloc(e->t, sizeof(*l));
	struct t_await *w = t_await(e->t, "create listener");
	struct ndk_object_header *h;
	void *out = t_poison();
	int rc;

	l->t = e->t;
	spin_lock_init(&l->lock);
	init_completion(&l->came);
	rc = ndk_create_listener(e->adapter, connect_event, l, t_created, w, (struct ndk_listener **)&out);
	h = t_create_end(e, KIND_LISTENER, w, rc, &out, status);
	if (!h)
		return NULL;
	l->listener = container_of(h, struct ndk_listener, header);
	return l;
}

struct t_listener *t_listener(struct t_end *e)
{
	int status;
	struct t_listener *l = t_try_listener(e, &status);

	if (!l)
		t_fail(e->t, "create listener: %s", t_errname(status));
	return l;
}

int t_listen(struct t_listener *l, enum t_side side, int family, u16 port)
{
	struct t_await *w = t_await(l->t, "listen");
	struct sockaddr_storage ss;
	u32 len = t_addr(side, family, port, &ss);
	int rc;

	rc = t_wait(w, ndk_listen(l->listener, (struct sockaddr *)&ss, len, t_done, w));
	if (rc)
		return rc;
	len = sizeof(l->address);
	return ndk_get_listener_local_address(l->listener, (struct sockaddr *)&l->address, &len);
}

struct t_listener *t_listening(struct t_end *e, int family, u16 port)
{
	struct t_listener *l = t_listener(e);
	int rc;

	if (!l)
		return NULL;
	rc = t_listen(l, e->side, family, port);
	if (rc) {
		t_fail(e->t, "listen: %s", t_errname(rc));
		return NULL;
	}
	return l;
}

static struct ndk_connector *take_incoming(struct t_listener *l)
{
	struct ndk_connector *connector = NULL;

	spin_lock_bh(&l->lock);
	if (l->head != l->tail)
		connector = l->queue[l->tail++ % ARRAY_SIZE(l->queue)];
	spin_unlock_bh(&l->lock);
	return connector;
}

struct ndk_connector *t_incoming(struct t_listener *l)
{
	if (!wait_for_completion_timeout(&l->came, t_ticks(10))) {
		t_fail(l->t, "no incoming connection");
		return NULL;
	}
	return take_incoming(l);
}

bool t_nothing_incoming(struct t_listener *l, unsigned int ms)
{
	return !wait_for_completion_timeout(&l->came, msecs_to_jiffies(ms));
}

/* --- connections ---------------------------------------------------------- */

static void gone(struct t_end *e)
{
	t_context(e->t, "disconnect event");
	t_trace("disconnect event at %c", e->side == SIDE_A ? 'a' : 'b');
	if (atomic_inc_return(&e->gone) > 1)
		t_fail(e->t, "a second disconnect event");
	if (e->on_gone)
		e->on_gone(e);
	complete_all(&e->gone_done);
}

void t_gone(void *context)
{
	gone(context);
}

void t_gone_ex(void *context, u32 reason)
{
	gone(context);
}

bool t_wait_gone(struct t_end *e)
{
	if (wait_for_completion_timeout(&e->gone_done, t_ticks(20)))
		return true;
	t_fail(e->t, "no disconnect event at end %c", e->side == SIDE_A ? 'a' : 'b');
	return false;
}

int t_connect_call(struct t_end *e, const struct sockaddr_storage *from,
		   const struct sockaddr_storage *to, struct t_await *w)
{
	return ndk_connect(e->connector, e->qp, (const struct sockaddr *)from, t_addr_len(from),
			   (const struct sockaddr *)to, t_addr_len(to), e->cfg.inbound,
			   e->cfg.outbound, e->private_data, e->private_data_len, t_done, w);
}

/* Makes a connector if the end has none yet. */
struct t_await *t_connect_start(struct t_end *e, const struct sockaddr_storage *to)
{
	struct t_await *w = t_await(e->t, "connect");
	struct sockaddr_storage from;
	struct ndk_object_header *h;
	int rc;

	if (!e->connector) {
		h = t_create(e, KIND_CONNECTOR);
		if (!h)
			return NULL;
		e->connector = container_of(h, struct ndk_connector, header);
	}
	/* On iWARP a connect that failed has used the QP up. */
	if (world.iwarp && e->qp_tried) {
		t_close_start(e->t, &e->qp->header);
		if (!t_end_qp(e))
			return NULL;
	}
	e->qp_tried = true;
	t_addr(e->side, to->ss_family, 0, &from);
	t_trace("connect to port %u", t_port(to));
	rc = e->shared ? t_shared_connect_call(e, to, w) : t_connect_call(e, &from, to, w);
	return t_pended(w, rc) ? w : NULL;
}

int t_connect(struct t_end *e, const struct sockaddr_storage *to)
{
	struct t_await *w = t_connect_start(e, to);

	return w ? t_join_secs(w, 60) : -EINVAL;
}

struct t_await *t_accept_start(struct t_end *e, struct ndk_connector *connector)
{
	struct t_await *w = t_await(e->t, "accept");
	int rc;

	e->connector = connector;
	rc = ndk_accept(connector, e->qp, e->cfg.inbound, e->cfg.outbound, e->private_data,
			e->private_data_len, t_gone, e, t_done, w);
	return t_pended(w, rc) ? w : NULL;
}

struct t_await *t_complete_start(struct t_end *e)
{
	struct t_await *w = t_await(e->t, "complete connect");

	return t_pended(w, ndk_complete_connect(e->connector, t_gone, e, t_done, w)) ? w : NULL;
}

struct t_await *t_disconnect_start(struct t_end *e)
{
	struct t_await *w = t_await(e->t, "disconnect");

	return t_pended(w, ndk_disconnect(e->connector, t_done, w)) ? w : NULL;
}

bool t_establish(struct t_end *a, struct t_listener *l, struct t_end *b)
{
	struct t_await *connect, *accept, *complete;
	struct ndk_connector *incoming;

	connect = t_connect_start(a, &l->address);
	if (!connect)
		return false;
	incoming = t_incoming(l);
	if (!incoming) {
		t_note(a->t, "the connect %s", t_has_left(connect) ? t_errname(t_join(connect)) : "pends");
		return false;
	}
	accept = t_accept_start(b, incoming);
	if (!accept || !EXPECT_STATUS(a->t, t_join(connect), 0))
		return false;
	complete = t_complete_start(a);
	return complete && EXPECT_STATUS(a->t, t_join(complete), 0) && EXPECT_STATUS(a->t, t_join(accept), 0);
}

struct t_pair *t_pair_unconnected(struct t *t, const struct t_cfg *cfg)
{
	struct t_pair *p = t_alloc(t, sizeof(*p));

	if (!t_end_init(t, &p->a, SIDE_A, cfg) || !t_end_init(t, &p->b, SIDE_B, cfg))
		return NULL;
	if (!t_end_qp(&p->a) || !t_end_qp(&p->b))
		return NULL;
	p->listener = t_listening(&p->b, p->b.cfg.family, 0);
	return p->listener ? p : NULL;
}

struct t_pair *t_pair(struct t *t, const struct t_cfg *cfg)
{
	struct t_pair *p = t_pair_unconnected(t, cfg);

	if (!p || !t_establish(&p->a, p->listener, &p->b))
		return NULL;
	return p;
}
