// SPDX-License-Identifier: GPL-2.0
/* Stress: how a slot comes up, and the ways in which it goes down. */

#include <linux/sched.h>
#include <linux/slab.h>

#include "soak.h"

#define MAGIC 0x736f616b

/* What a connect carries: for which life of which slot it is. */
struct hello {
	u32 magic, slot, life;
};

/* --- up ------------------------------------------------------------------- */

/* Under the lock of the slot: whether something came that nobody brought about. Why is judged when all results are there. */
bool sk_broke(struct sk_slot *s)
{
	if (s->ending || s->o.k->removed)
		return false;
	s->ending = true;
	s->broken = true;
	return true;
}

static void gone(void *context)
{
	struct sk_end *e = context;
	struct sk_slot *s = e->s;

	t_context(s->o.k->t, "disconnect event");
	if (atomic_inc_return(&e->gone) > 1)
		sk_fail(&s->o, "a second disconnect event at end %c", 'a' + e->side);
	spin_lock(&s->lock);
	sk_broke(s);
	if (s->hears == e && s->react == REACT_DISCONNECT)
		sk_disconnect(e);
	else if (s->hears == e && s->react == REACT_CLOSE)
		sk_close_connector(e);
	spin_unlock(&s->lock);
}

static void gone_ex(void *context, u32 reason)
{
	gone(context);
}

static void accept(struct sk_slot *s)
{
	struct sk_end *b = &s->b;
	struct sk_call *c = sk_call(&s->o, "accept");
	u32 limit = 1 + s->life % 8;
	int rc;

	s->accept = c;
	c->pending = true;
	if (s->life & 1)
		rc = ndk_accept(b->connector, b->qp, limit, limit, NULL, 0, gone, b, sk_done, c);
	else
		rc = ndk_accept_ex(b->connector, b->qp, limit, limit, NULL, 0, gone_ex, b, sk_done, c);
	if (rc == -EINPROGRESS)
		return;
	c->pending = false;
	c->status = rc;
	complete_all(&c->done);
}

static void stray_closed(void *context)
{
	struct soak *k = context;

	atomic_dec(&k->strays);
}

/* Somebody gave up between the connect and this event: nobody knows the connector. */
static void stray(struct soak *k, struct ndk_connector *connector)
{
	atomic_inc(&k->strays);
	if (ndk_close_connector(connector, stray_closed, k) != -EINPROGRESS)
		atomic_dec(&k->strays);
}

void sk_connect_event(void *context, struct ndk_connector *connector)
{
	struct sk_set *set = context;
	struct soak *k = set->o.k;
	struct sk_slot *s;
	struct hello h = {};
	u32 len = 0, in, out;
	bool ours;
	u8 data[256];
	int rc;

	t_context(k->t, "connect event");
	len = sizeof(data);
	rc = ndk_get_connection_data(connector, &in, &out, data, &len);
	if (!rc && len >= sizeof(h))
		memcpy(&h, data, sizeof(h));
	if (h.magic != MAGIC || h.slot >= k->slots) {
		if (rc != -ECONNABORTED && !k->removed)
			sk_fail(&set->o, "connection data: %s, %u bytes", t_errname(rc), len);
		stray(k, connector);
		return;
	}
	s = k->slot[h.slot];
	spin_lock(&s->lock);
	ours = s->wanted && s->life == h.life;
	if (ours) {
		s->wanted = false;
		s->b.connector = connector;
		sk_own(&s->o, &connector->header);
		if (s->accept_at_once)
			accept(s);
		complete(&s->came);
	}
	spin_unlock(&s->lock);
	if (!ours)
		stray(k, connector);
}

static void end_reset(struct sk_end *e)
{
	struct sk_slot *s = e->s;
	u32 side = e->side;
	u8 *va = e->va;
	struct scatterlist sg = e->sg, shown = e->shown;

	memset(e, 0, sizeof(*e));
	e->s = s;
	e->side = side;
	e->va = va;
	e->sg = sg;
	e->shown = shown;
	spin_lock_init(&e->own[0].lock);
	spin_lock_init(&e->own[1].lock);
}

static bool failed(struct sk_slot *s, const char *what, int status)
{
	if (!s->o.k->removed)
		sk_fail(&s->o, "%s: %s", what, t_errname(status));
	return false;
}

static bool make_end(struct sk_end *e, struct sk_dice *d, bool srq)
{
	struct sk_slot *s = e->s;
	struct soak *k = s->o.k;
	u32 cqs = sk_roll(d, 4), inline_size = sk_once_in(d, 2) ? 0 : 128, depth = SK_DEPTH + (srq ? SK_SRQ : SK_DEPTH);
	bool callback = k->steady || sk_once_in(d, 2), own_pd = !srq && sk_once_in(d, 4), memory = !sk_once_in(d, 8) != k->light;
	int cpu = (int)sk_roll(d, 4) - 1, i;
	struct sk_call *c;

	if (!sk_lam(k, e->side, &e->sg, &e->lam))
		return failed(s, "build LAM", -ENOMEM);
	e->srq = srq;
	e->inline_size = inline_size;
	e->pd = own_pd && !k->light ? SK_CREATE(&s->o, ndk_pd, ndk_create_pd, k->adapter[e->side]) : s->set->pd[e->side];
	if (!e->pd)
		return false;
	e->token = ndk_get_privileged_token(e->pd);
	if (cqs == 0) {
		e->rcq = &s->set->cq[e->side];
		e->icq = e->rcq;
	} else {
		e->rcq = &e->own[0];
		e->icq = cqs == 1 ? &e->own[1] : &e->own[0];
		if (!sk_cq_create(e->rcq, &s->o, e->side, depth, callback, cpu))
			return false;
		if (cqs == 1 && !sk_cq_create(e->icq, &s->o, e->side, depth, !callback || k->steady, cpu))
			return false;
	}
	if (srq)
		e->qp = SK_CREATE(&s->o, ndk_qp, ndk_create_qp_with_srq, e->pd, e->rcq->cq, e->icq->cq, s->set->srq, e, SK_DEPTH,
				  4, inline_size);
	else
		e->qp = SK_CREATE(&s->o, ndk_qp, ndk_create_qp, e->pd, e->rcq->cq, e->icq->cq, e, SK_DEPTH, SK_DEPTH, 4, 4,
				  inline_size);
	if (!e->qp || !memory)
		return e->qp;
	e->mr = SK_CREATE(&s->o, ndk_mr, ndk_create_mr, e->pd, false);
	if (!e->mr)
		return false;
	c = sk_call(&s->o, "register MR");
	e->reg[REG_MR].base = 0x100000000ull * (1 + s->o.nr) + (e->shown.offset & ~PAGE_MASK);
	if (sk_wait(c, ndk_register_mr(e->mr, &e->shown, 1, e->reg[REG_MR].base, e->shown.length,
				       NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE, sk_done, c)))
		return failed(s, "register MR", c->status);
	e->reg[REG_MR] = (struct sk_reg) { REG_READY, ndk_get_remote_token_from_mr(e->mr), e->reg[REG_MR].base, 0, SK_SHOWN };
	for (i = 0; i < 2; i++) {
		e->fast[i] = SK_CREATE(&s->o, ndk_mr, ndk_create_mr, e->pd, true);
		if (!e->fast[i])
			return false;
		c = sk_call(&s->o, "initialize fast register");
		if (sk_wait(c, ndk_initialize_fast_register_mr(e->fast[i], e->shown.length / PAGE_SIZE + 2, true, sk_done, c)))
			return failed(s, c->what, c->status);
		e->mw[i] = SK_CREATE(&s->o, ndk_mw, ndk_create_mw, e->pd);
		if (!e->mw[i])
			return false;
	}
	return true;
}

static int connect(struct sk_slot *s, struct sk_call *c, bool shared, int family, const void *data, u32 len)
{
	struct sk_end *a = &s->a;
	const struct sockaddr *to = (struct sockaddr *)&s->set->address[family == AF_INET6];
	struct sockaddr_storage from;
	u32 from_len = t_addr(SIDE_A, family, 0, &from), to_len = t_addr_len((struct sockaddr_storage *)to), limit = 1 + s->life % 8;
	int rc;

	c->pending = true;
	if (shared)
		rc = ndk_connect_with_shared_endpoint(a->connector, a->qp, a->shared, to, to_len, limit, limit, data, len, sk_done, c);
	else
		rc = ndk_connect(a->connector, a->qp, (struct sockaddr *)&from, from_len, to, to_len, limit, limit, data, len,
				 sk_done, c);
	if (rc != -EINPROGRESS)
		c->pending = false;
	return rc;
}

enum { GO_ON, CLOSE_A, CLOSE_B, CLOSE_QP_A, CLOSE_QP_B, CLOSE_ALL, CLOSE_HARD, REJECT };

/* Somebody loses interest on the way. */
static bool abandon(struct sk_slot *s, int how, struct sk_end *rejects)
{
	sk_count(s->o.k, N_ABANDONED, 1);
	spin_lock_bh(&s->lock);
	s->ending = true;
	s->wanted = false;
	switch (how) {
	case CLOSE_A:
		sk_close_connector(&s->a);
		break;
	case CLOSE_B:
		sk_close_connector(&s->b);
		break;
	case CLOSE_QP_A:
		sk_close_qp(&s->a);
		break;
	case CLOSE_QP_B:
		sk_close_qp(&s->b);
		break;
	case REJECT:
		if (rejects->connector && !rejects->connector_closed)
			ndk_reject(rejects->connector, NULL, 0);
		break;
	}
	spin_unlock_bh(&s->lock);
	sk_take_down(s, how == CLOSE_HARD);
	return false;
}

static bool not_so(struct sk_slot *s, const char *what, int status)
{
	if (!s->o.k->removed && !atomic_read(&s->o.k->stop))
		sk_fail(&s->o, "%s: %s", what, t_errname(status));
	s->ending = true;
	sk_take_down(s, false);
	return false;
}

static bool came_up(struct sk_slot *s, struct sk_dice *d)
{
	struct soak *k = s->o.k;
	struct hello hello = { MAGIC, s->o.nr, s->life };
	bool srq = !sk_roll(d, 5), shared = sk_once_in(d, 4), paused = !sk_roll(d, 24), quits = !sk_roll(d, 5);
	int family = sk_once_in(d, 3) ? AF_INET6 : AF_INET, step = 1 + sk_roll(d, 5), how = 1 + sk_roll(d, REJECT);
	struct sk_call *c, *cc;
	struct sockaddr_storage any;
	u32 len;
	int rc;

	s->accept_at_once = sk_once_in(d, 2);
	if (!sk_roll(d, 10) && !k->steady) {
		s->o.fail_in = 1 + sk_roll(d, 12);
		s->o.fail_nth = 1 + sk_roll(d, 6);
	}
	if (k->steady) {
		paused = false;
		quits = false;
	}
	if (!quits)
		step = 0;
	if (!make_end(&s->a, d, false) || !make_end(&s->b, d, srq))
		return false;
	s->a.connector = SK_CREATE(&s->o, ndk_connector, ndk_create_connector, k->adapter[SIDE_A]);
	if (!s->a.connector)
		return false;
	if (shared) {
		len = t_addr(SIDE_A, family, 0, &any);
		s->a.shared = SK_CREATE(&s->o, ndk_shared_endpoint, ndk_create_shared_endpoint, k->adapter[SIDE_A],
					(struct sockaddr *)&any, len);
		if (!s->a.shared)
			return false;
	}
	sk_prepare_memory(&s->a);
	sk_prepare_memory(&s->b);
	sk_receives(&s->a, SK_DEPTH / 2);
	sk_receives(&s->b, SK_DEPTH / 2);
	spin_lock_bh(&s->lock);
	reinit_completion(&s->came);
	s->accept = NULL;
	s->wanted = true;
	spin_unlock_bh(&s->lock);
	if (paused)
		ndk_control_connect_events(s->set->listener[family == AF_INET6], true);
	c = sk_call(&s->o, "connect");
	rc = connect(s, c, shared, family, &hello, sizeof(hello));
	if (paused) {
		rc = sk_wait(c, rc);
		ndk_control_connect_events(s->set->listener[family == AF_INET6], false);
		sk_count(k, N_REFUSED, 1);
		/* An event that was on its way may have come all the same. */
		if (rc == -ECONNREFUSED || !rc || rc == -ETIME)
			return abandon(s, CLOSE_ALL, NULL);
		return not_so(s, "connect to a paused listener", rc);
	}
	if (rc != -EINPROGRESS)
		return not_so(s, "connect", rc);
	if (step == 1)
		return abandon(s, how, &s->a);
	if (!wait_for_completion_timeout(&s->came, t_ticks(30)))
		return not_so(s, "no connect event; the connect", completion_done(&c->done) ? c->status : -EINPROGRESS);
	if (step == 2)
		return abandon(s, how, &s->b);
	if (!s->accept) {
		spin_lock_bh(&s->lock);
		accept(s);
		spin_unlock_bh(&s->lock);
	}
	if (step == 3)
		return abandon(s, how, &s->a);
	rc = sk_wait(c, -EINPROGRESS);
	if (rc)
		return not_so(s, "connect", rc);
	if (step == 4)
		return abandon(s, how, &s->a);
	cc = sk_call(&s->o, "complete connect");
	cc->pending = true;
	if (s->life & 2)
		rc = ndk_complete_connect(s->a.connector, gone, &s->a, sk_done, cc);
	else
		rc = ndk_complete_connect_ex(s->a.connector, gone_ex, &s->a, sk_done, cc);
	if (rc != -EINPROGRESS) {
		cc->pending = false;
		return not_so(s, "complete connect", rc);
	}
	if (step == 5)
		return abandon(s, how, &s->b);
	rc = sk_wait(cc, -EINPROGRESS);
	if (rc)
		return not_so(s, "complete connect", rc);
	rc = sk_wait(s->accept, s->accept->pending ? -EINPROGRESS : s->accept->status);
	return rc ? not_so(s, "accept", rc) : true;
}

void sk_connect(struct sk_slot *s, struct sk_dice *d)
{
	bool up;

	s->life++;
	s->hard_lives &= ~BIT_ULL(s->life % 64);
	s->ending = false;
	s->hears = NULL;
	s->waits = false;
	s->broken = false;
	s->gave_up = false;
	s->why = 0;
	s->why_type = 0;
	s->wanted = false;
	end_reset(&s->a);
	end_reset(&s->b);
	s->shuffle = d->state;
	up = came_up(s, d);
	if (up) {
		sk_count(s->o.k, N_CONNECTED, 1);
		s->state = SLOT_UP;
	} else if (s->state == SLOT_EMPTY) {
		/* Not for want of interest, but of memory. */
		s->ending = true;
		sk_take_down(s, false);
	}
}

/* --- down ----------------------------------------------------------------- */

static void until(struct sk_slot *s, enum slot_state state)
{
	s->state = state;
	s->deadline = jiffies + t_ticks(60);
	s->settled = false;
}

/* Nobody polls or arms them any more. */
static void stop_cqs(struct sk_slot *s)
{
	sk_cq_stop(&s->a.own[0]);
	sk_cq_stop(&s->a.own[1]);
	sk_cq_stop(&s->b.own[0]);
	sk_cq_stop(&s->b.own[1]);
}

void sk_take_down(struct sk_slot *s, bool hard)
{
	struct sk_dice d = { s->shuffle };

	spin_lock_bh(&s->lock);
	s->ending = true;
	s->wanted = false;
	s->a.left = true;
	s->b.left = true;
	/* No request is posted from here on, nor any other call made on them. */
	s->a.qp_closed = true;
	s->b.qp_closed = true;
	s->a.connector_closed = true;
	s->b.connector_closed = true;
	spin_unlock_bh(&s->lock);
	if (hard) {
		s->hard_lives |= BIT_ULL(s->life % 64);
		stop_cqs(s);
	}
	sk_close_all(&s->o, &d, hard ? 0 : BIT_ULL(NDK_OBJECT_CQ));
	until(s, hard ? SLOT_CLOSING : SLOT_DRAINING);
}

void sk_end(struct sk_slot *s, struct sk_dice *d)
{
	u32 how = sk_roll(d, 8), react = sk_roll(d, 3);
	bool waits = sk_once_in(d, 2);
	struct sk_end *e = sk_once_in(d, 2) ? &s->a : &s->b, *peer = e == &s->a ? &s->b : &s->a;

	sk_count(s->o.k, N_ENDS, 1);
	s->shuffle = d->state;
	if (how == 6 || how == 7) {
		sk_take_down(s, how == 7);
		return;
	}
	spin_lock_bh(&s->lock);
	s->ending = true;
	s->react = react;
	/* A QP that is closed waits for its connector. */
	s->waits = waits && how != 5;
	switch (how) {
	case 0:
	case 1:
		s->hears = peer;
		sk_disconnect(e);
		break;
	case 2:
		sk_disconnect(e);
		sk_disconnect(peer);
		break;
	case 3:
		s->hears = peer;
		sk_close_connector(e);
		break;
	case 4:
		ndk_flush(e->qp);
		sk_disconnect(e);
		sk_disconnect(peer);
		break;
	case 5:
		sk_close_qp(e);
		ndk_flush(peer->qp);
		break;
	}
	spin_unlock_bh(&s->lock);
	until(s, SLOT_ENDING);
}

static bool late(struct sk_slot *s, const char *what)
{
	if (time_before(jiffies, s->deadline))
		return false;
	sk_fail(&s->o, "%s", what);
	sk_say_pending(&s->o);
	s->o.k->t->wedged = true;
	return true;
}

static void drain(struct sk_cq *cq)
{
	if (!cq->cq)
		return;
	spin_lock_bh(&cq->lock);
	if (!cq->closed)
		while (sk_poll(cq, 64))
			;
	spin_unlock_bh(&cq->lock);
}

/* All requests have their results; those of CQs that notifications empty come without our help. */
static bool drained(struct sk_slot *s)
{
	struct sk_cq *cq[] = { s->a.rcq, s->a.icq, s->b.rcq, s->b.icq };
	bool impatient = time_after(jiffies, s->patience);
	u64 before = sk_outstanding(&s->a) + sk_outstanding(&s->b), after;
	int i;

	for (i = 0; i < ARRAY_SIZE(cq); i++)
		if (cq[i] && (impatient || !cq[i]->callback))
			drain(cq[i]);
	after = sk_outstanding(&s->a) + sk_outstanding(&s->b);
	if (impatient && before && !after && !s->o.k->removed)
		sk_fail(&s->o, "%llu results were there, and the arm was not answered", before);
	else if (impatient && after)
		sk_fail(&s->o, "%llu requests have no result", after);
	return impatient || !after;
}

void sk_visit(struct sk_slot *s)
{
	struct sk_dice d = { s->shuffle };

	switch (s->state) {
	case SLOT_ENDING:
		if (s->hears && !atomic_read(&s->hears->gone)) {
			/* Whoever had left by itself when the other did hears nothing. */
			if (!late(s, "no disconnect event"))
				return;
		} else if (s->hears && s->react == REACT_LATER) {
			spin_lock_bh(&s->lock);
			sk_disconnect(s->hears);
			spin_unlock_bh(&s->lock);
		}
		if (s->waits && !sk_all_done(&s->o) && !late(s, "a disconnect has not completed"))
			return;
		sk_take_down(s, false);
		return;
	case SLOT_DRAINING:
		if (!sk_all_done(&s->o) && !late(s, "closes have not completed"))
			return;
		if (!s->settled) {
			s->settled = true;
			s->patience = jiffies + t_ticks(10);
		}
		if (!drained(s))
			return;
		/*
		 * On a busy machine a worker can be so late with its receives that the transport gives up; where packets get
		 * lost rxe can forget a request, and the provider ends the connection: limits.rst.
		 */
		if (s->gave_up && (s->o.k->lossy || !s->o.k->steady))
			sk_count(s->o.k, N_GAVE_UP, 1);
		else if (s->broken && s->o.k->lossy && (!s->why || s->why == -ECANCELED))
			sk_count(s->o.k, N_STALLED, 1);
		else if (s->broken)
			sk_fail(&s->o, "the connection broke, and nobody ended it; first a request of type %x, %s", s->why_type,
				t_errname(s->why));
		stop_cqs(s);
		sk_close_all(&s->o, &d, 0);
		until(s, SLOT_CLOSING);
		return;
	case SLOT_CLOSING:
		if (!sk_all_done(&s->o)) {
			late(s, "closes have not completed");
			return;
		}
		sk_owner_reset(&s->o);
		if (s->a.lam)
			ndk_release_lam(s->o.k->adapter[SIDE_A], s->a.lam);
		if (s->b.lam)
			ndk_release_lam(s->o.k->adapter[SIDE_B], s->b.lam);
		kfree(s->a.lam);
		kfree(s->b.lam);
		s->a.lam = NULL;
		s->b.lam = NULL;
		s->state = SLOT_EMPTY;
		return;
	default:
		return;
	}
}
