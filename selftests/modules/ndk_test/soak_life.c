// SPDX-License-Identifier: GPL-2.0
/* Stress: calls and their ends, objects and their closes, and what the slots of a worker share. */

#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "failnth.h"
#include "soak.h"

/* --- verdicts ------------------------------------------------------------- */

/* Under the lock of the slot. */
void sk_note(struct sk_owner *o, struct sk_past past)
{
	past.op = READ_ONCE(o->op);
	o->past[o->nr_past++ % SK_PAST] = past;
}

static void tell_past(struct sk_owner *o)
{
	unsigned int i;

	o->told = true;
	for (i = 0; i < min(o->nr_past, SK_PAST); i++) {
		struct sk_past *p = &o->past[(o->nr_past - 1 - i) % SK_PAST];

		if (p->came)
			pr_info("  %s %u, operation %llu: %c received %llu, %u bytes, token %x: %s\n", o->name, o->nr, p->op,
				p->end, p->id, p->length, p->token, t_errname(p->status));
		else
			pr_info("  %s %u, operation %llu: %c posted %llu, type %x, flags %x, %u bytes, registration %u, cells %u to %u, token %x\n",
				o->name, o->nr, p->op, p->end, p->id, p->type, p->flags, p->length, p->reg, p->first, p->last,
				p->token);
	}
}

void sk_fail(struct sk_owner *o, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	t_fail(o->k->t, "seed %llu, worker %u, operation %llu, %s %u: %pV", o->k->seed, o->worker, READ_ONCE(o->op), o->name,
	       o->nr, &vaf);
	va_end(args);
	atomic_set(&o->k->stop, 1);
	if (!o->told)
		tell_past(o);
}

void sk_count(struct soak *k, enum sk_count what, u64 n)
{
	atomic64_add(n, &k->count[what]);
}

/* --- calls ---------------------------------------------------------------- */

void sk_owner_init(struct sk_owner *o, struct soak *k, const char *name, unsigned int worker, unsigned int nr)
{
	o->k = k;
	o->name = name;
	o->worker = worker;
	o->nr = nr;
	spin_lock_init(&o->lock);
}

struct sk_call *sk_call(struct sk_owner *o, const char *what)
{
	struct sk_call *c;

	spin_lock_bh(&o->lock);
	if (WARN_ON_ONCE(o->nr_calls == SK_CALLS))
		o->nr_calls--;
	c = &o->calls[o->nr_calls++];
	spin_unlock_bh(&o->lock);
	memset(c, 0, sizeof(*c));
	c->o = o;
	c->what = what;
	init_completion(&c->done);
	return c;
}

static void called(struct sk_call *c, int status, struct ndk_object_header *object)
{
	t_context(c->o->k->t, c->what);
	if (atomic_inc_return(&c->calls) > 1) {
		sk_fail(c->o, "%s completed twice", c->what);
		return;
	}
	if (status > 0 || status == -EINPROGRESS)
		sk_fail(c->o, "%s completed with %d", c->what, status);
	c->status = status;
	c->object = object;
	complete_all(&c->done);
}

void sk_created(void *context, int status, struct ndk_object_header *object)
{
	struct sk_call *c = context;

	if (!status != !!object)
		sk_fail(c->o, "%s: %s, and the object is %p", c->what, t_errname(status), object);
	called(c, status, object);
}

void sk_done(void *context, int status)
{
	called(context, status, NULL);
}

static void sk_closed(void *context)
{
	called(context, 0, NULL);
}

int sk_wait(struct sk_call *c, int rc)
{
	if (rc != -EINPROGRESS)
		return rc;
	c->pending = true;
	if (!wait_for_completion_timeout(&c->done, t_ticks(60))) {
		sk_fail(c->o, "%s has not completed", c->what);
		return -ETIME;
	}
	return c->status;
}

bool sk_all_done(struct sk_owner *o)
{
	unsigned int i;

	for (i = 0; i < READ_ONCE(o->nr_calls); i++)
		if (o->calls[i].pending && !completion_done(&o->calls[i].done))
			return false;
	return true;
}

void sk_say_pending(struct sk_owner *o)
{
	unsigned int i;

	for (i = 0; i < o->nr_calls; i++)
		if (o->calls[i].pending && !completion_done(&o->calls[i].done))
			sk_fail(o, "%s has not completed", o->calls[i].what);
}

void sk_owner_reset(struct sk_owner *o)
{
	struct sk_call *c;
	unsigned int i;
	int calls;

	for (c = o->calls; c < &o->calls[o->nr_calls]; c++) {
		calls = atomic_read(&c->calls);
		if (calls != c->pending)
			sk_fail(o, "%s was %spending, and completed %d times", c->what, c->pending ? "" : "not ", calls);
		/* Whoever disconnects is answered, or the other has gone. */
		if (!strcmp(c->what, "disconnect") && c->status == -ETIMEDOUT && !o->k->removed)
			sk_fail(o, "nobody answered a disconnect");
	}
	for (i = 0; i < o->nr_objs; i++)
		if (!o->objs[i].closing)
			sk_fail(o, "an object of type %u was not closed", o->objs[i].type);
	o->nr_calls = 0;
	o->nr_objs = 0;
	o->fail_in = 0;
}

/* --- objects -------------------------------------------------------------- */

bool sk_own(struct sk_owner *o, struct ndk_object_header *h)
{
	bool room;

	spin_lock_bh(&o->lock);
	room = o->nr_objs < SK_OBJS;
	if (!WARN_ON_ONCE(!room))
		o->objs[o->nr_objs++] = (struct sk_obj) { .header = h, .type = h->type };
	spin_unlock_bh(&o->lock);
	return room;
}

void sk_fail_before(struct sk_owner *o)
{
	if (!o->fail_in || --o->fail_in)
		return;
	o->armed = true;
	fail_nth(o->fail_nth);
}

void *sk_made(struct sk_owner *o, struct sk_call *c, int rc, void *out)
{
	bool hit = o->armed && was_hit();
	struct ndk_object_header *h = out;
	int status = sk_wait(c, rc);

	o->armed = false;
	if (rc == -EINPROGRESS) {
		if (out != t_poison())
			sk_fail(o, "%s is pending and has written its out pointer", c->what);
		h = c->object;
	}
	if (status) {
		if (hit && status == -ENOMEM)
			sk_count(o->k, N_NO_MEMORY, 1);
		else if (!o->k->removed)
			sk_fail(o, "%s: %s%s", c->what, t_errname(status), hit ? " with an allocation failed" : "");
		return NULL;
	}
	if (!h || h == t_poison()) {
		sk_fail(o, "%s succeeded without an object", c->what);
		return NULL;
	}
	return sk_own(o, h) ? h : NULL;
}

static int close_call(struct ndk_object_header *h, u32 type, struct sk_call *c)
{
	switch (type) {
	case NDK_OBJECT_PD: return ndk_close_pd((struct ndk_pd *)h, sk_closed, c);
	case NDK_OBJECT_CQ: return ndk_close_cq((struct ndk_cq *)h, sk_closed, c);
	case NDK_OBJECT_QP: return ndk_close_qp((struct ndk_qp *)h, sk_closed, c);
	case NDK_OBJECT_MR: return ndk_close_mr((struct ndk_mr *)h, sk_closed, c);
	case NDK_OBJECT_MW: return ndk_close_mw((struct ndk_mw *)h, sk_closed, c);
	case NDK_OBJECT_CONNECTOR: return ndk_close_connector((struct ndk_connector *)h, sk_closed, c);
	case NDK_OBJECT_LISTENER: return ndk_close_listener((struct ndk_listener *)h, sk_closed, c);
	case NDK_OBJECT_SRQ: return ndk_close_srq((struct ndk_srq *)h, sk_closed, c);
	case NDK_OBJECT_SHARED_ENDPOINT: return ndk_close_shared_endpoint((struct ndk_shared_endpoint *)h, sk_closed, c);
	default: return -EINVAL;
	}
}

static const char *close_name(u32 type)
{
	static const char *const names[] = {
		[NDK_OBJECT_PD] = "close PD", [NDK_OBJECT_CQ] = "close CQ", [NDK_OBJECT_QP] = "close QP",
		[NDK_OBJECT_MR] = "close MR", [NDK_OBJECT_MW] = "close MW", [NDK_OBJECT_CONNECTOR] = "close connector",
		[NDK_OBJECT_LISTENER] = "close listener", [NDK_OBJECT_SRQ] = "close SRQ",
		[NDK_OBJECT_SHARED_ENDPOINT] = "close shared endpoint",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "close";
}

/* Once, whoever comes first: the worker or a callback. */
static void close_one(struct sk_owner *o, struct sk_obj *obj)
{
	struct sk_call *c;
	bool mine;
	int rc;

	spin_lock_bh(&o->lock);
	mine = !obj->closing;
	obj->closing = true;
	spin_unlock_bh(&o->lock);
	if (!mine)
		return;
	c = sk_call(o, close_name(obj->type));
	c->pending = true;
	rc = close_call(obj->header, obj->type, c);
	if (rc != -EINPROGRESS) {
		c->pending = false;
		complete_all(&c->done);
		if (rc)
			sk_fail(o, "%s: %s", c->what, t_errname(rc));
	}
}

static void close_header(struct sk_owner *o, struct ndk_object_header *h)
{
	unsigned int i;

	for (i = 0; i < READ_ONCE(o->nr_objs); i++)
		if (o->objs[i].header == h && !READ_ONCE(o->objs[i].closing)) {
			close_one(o, &o->objs[i]);
			return;
		}
}

/* Under the lock of the slot, so that nobody posts on a QP or calls a connector any more whose close was called. */
void sk_close_qp(struct sk_end *e)
{
	if (!e->qp || e->qp_closed)
		return;
	e->qp_closed = true;
	close_header(&e->s->o, &e->qp->header);
}

void sk_close_connector(struct sk_end *e)
{
	if (!e->connector || e->connector_closed)
		return;
	e->connector_closed = true;
	e->left = true;
	close_header(&e->s->o, &e->connector->header);
}

void sk_disconnect(struct sk_end *e)
{
	struct sk_call *c;
	int rc;

	if (!e->connector || e->connector_closed || e->left)
		return;
	e->left = true;
	c = sk_call(&e->s->o, "disconnect");
	c->pending = true;
	rc = ndk_disconnect(e->connector, sk_done, c);
	if (rc == -EINPROGRESS)
		return;
	c->pending = false;
	c->status = rc;
	complete_all(&c->done);
}

void sk_close_all(struct sk_owner *o, struct sk_dice *d, u64 skip)
{
	unsigned int order[SK_OBJS], i, j, n = o->nr_objs;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n; i > 1; i--) {
		j = sk_roll(d, i);
		swap(order[i - 1], order[j]);
	}
	for (i = 0; i < n; i++)
		if (!(skip & BIT_ULL(o->objs[order[i]].type)))
			close_one(o, &o->objs[order[i]]);
}

bool sk_lam(struct soak *k, enum t_side side, struct scatterlist *sg, struct ndk_lam **lam)
{
	size_t size = 0;
	u32 fbo;

	*lam = NULL;
	if (ndk_build_lam(k->adapter[side], sg, 1, sg->length, NULL, NULL, NULL, &size, &fbo) != -ENOSPC)
		return false;
	*lam = kzalloc(size, GFP_KERNEL | __GFP_NOFAIL);
	if (!ndk_build_lam(k->adapter[side], sg, 1, sg->length, NULL, NULL, *lam, &size, &fbo))
		return true;
	kfree(*lam);
	*lam = NULL;
	return false;
}

/* --- what the slots of a worker share --------------------------------------- */

static bool make_listener(struct sk_set *set, int i, int family)
{
	struct sk_call *c;
	struct sockaddr_storage ss;
	u32 len;
	int rc;

	set->listener[i] = SK_CREATE(&set->o, ndk_listener, ndk_create_listener, set->o.k->adapter[SIDE_B], sk_connect_event, set);
	if (!set->listener[i])
		return false;
	c = sk_call(&set->o, "listen");
	len = t_addr(SIDE_B, family, 0, &ss);
	rc = sk_wait(c, ndk_listen(set->listener[i], (struct sockaddr *)&ss, len, sk_done, c));
	len = sizeof(set->address[i]);
	if (!rc)
		rc = ndk_get_listener_local_address(set->listener[i], (struct sockaddr *)&set->address[i], &len);
	if (rc && !set->o.k->removed)
		sk_fail(&set->o, "listen: %s", t_errname(rc));
	return !rc;
}

static void srq_notified(void *context, int status)
{
	struct sk_set *set = context;

	t_context(set->o.k->t, "SRQ notification");
	if (status && !set->o.k->removed)
		sk_fail(&set->o, "the SRQ notifies %s", t_errname(status));
}

bool sk_set_up(struct sk_set *set)
{
	struct soak *k = set->o.k;
	int side;

	set->srq = NULL;
	set->srq_closed = false;
	memset(set->srq_posted, 0, sizeof(set->srq_posted));
	for (side = 0; side < 2; side++) {
		set->pd[side] = SK_CREATE(&set->o, ndk_pd, ndk_create_pd, k->adapter[side]);
		if (!set->pd[side] ||
		    !sk_cq_create(&set->cq[side], &set->o, side, 2 * SK_DEPTH * k->slots + SK_SRQ, true, set->o.worker))
			return false;
		if (!make_listener(set, side, side ? AF_INET6 : AF_INET))
			return false;
	}
	set->srq = SK_CREATE(&set->o, ndk_srq, ndk_create_srq, set->pd[SIDE_B], SK_SRQ, 4, 8, srq_notified, set, set->o.worker);
	set->token = ndk_get_privileged_token(set->pd[SIDE_B]);
	return set->srq && sk_lam(k, SIDE_B, &set->srq_sg, &set->srq_lam);
}
