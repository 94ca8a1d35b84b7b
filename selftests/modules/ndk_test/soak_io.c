// SPDX-License-Identifier: GPL-2.0
/* Stress: requests, and their results: each once, in order, and what it says is so. */

#include <linux/jhash.h>

#include "soak.h"

/* --- messages ------------------------------------------------------------- */

/* At the head of whatever moves. */
struct msg {
	u32 slot, life, from, seq, length, token, pad;
	u32 hash;
};

static u32 hash_of(const struct msg *m, u32 length)
{
	u32 head = jhash2((const u32 *)m, offsetof(struct msg, hash) / 4, 1);

	return jhash2((const u32 *)(m + 1), (length - sizeof(*m)) / 4, head);
}

void sk_build(struct sk_end *e, void *at, u32 length, u32 seq, u32 token)
{
	struct msg *m = at;
	u32 *word = (u32 *)(m + 1), i;

	*m = (struct msg) {
		.slot = e->s->o.nr, .life = e->s->life, .from = e->side, .seq = seq, .length = length, .token = token,
	};
	for (i = 0; i < (length - sizeof(*m)) / 4; i++)
		word[i] = (seq + i) * 0x9e3779b1 ^ m->slot;
	m->hash = hash_of(m, length);
}

static bool whole(struct sk_end *from, const void *at, u32 length, u32 seq, const char *what)
{
	const struct msg *m = at;
	struct sk_owner *o = &from->s->o;

	if (m->slot != o->nr || m->life != from->s->life || m->from != from->side || m->seq != seq || m->length != length) {
		sk_fail(o, "%s is number %u of end %u of life %u of connection %u, %u bytes; should be %u of %u of %u, %u bytes",
			what, m->seq, m->from, m->life, m->slot, m->length, seq, from->side, from->s->life, length);
		return false;
	}
	if (m->hash != hash_of(m, length)) {
		sk_fail(o, "%s number %u of end %u: wrong checksum", what, seq, from->side);
		return false;
	}
	sk_count(o->k, N_BYTES, length);
	return true;
}

void *sk_cell(struct sk_end *e, u32 nr)
{
	return e->va + (size_t)nr * e->s->o.k->cell;
}

struct sk_end *sk_peer(struct sk_end *e)
{
	return e == &e->s->a ? &e->s->b : &e->s->a;
}

void sk_prepare_memory(struct sk_end *e)
{
	u32 i;

	for (i = 0; i < SK_SOURCES; i++)
		sk_build(e, sk_cell(e, SK_TARGET + SK_DEPTH + i), e->s->o.k->cell >> i, i, 0);
}

/* --- receives ------------------------------------------------------------- */

#define OF_RQ	BIT_ULL(47)
#define OF_SRQ	BIT_ULL(46)

void *sk_context(struct sk_slot *s, u64 id)
{
	return (void *)(((u64)(s->life & 0xffff) << 48) | id);
}

u32 sk_pieces(struct ndk_lam *lam, size_t at, u32 length, u32 token, struct ndk_sge *sge)
{
	u32 n = 0, part;

	for (; length; at += part, length -= part) {
		u64 address = lam->pages[at / PAGE_SIZE] + at % PAGE_SIZE;

		part = min_t(u32, length, PAGE_SIZE - at % PAGE_SIZE);
		if (n && sge[n - 1].logical_address + sge[n - 1].length == address)
			sge[n - 1].length += part;
		else
			sge[n++] = (struct ndk_sge) { .logical_address = address, .length = part, .token = token };
	}
	return n;
}

/* Nothing else may be refused on a connection that nobody ends. */
void sk_refused(struct sk_end *e, const char *what, int rc)
{
	if (e->s->o.k->removed || (e->s->ending && (rc == -ENOTCONN || rc == -EBADRQC || rc == -ECANCELED)))
		return;
	sk_fail(&e->s->o, "%s at end %c: %s", what, 'a' + e->side, t_errname(rc));
}

/* Under the lock of the slot. */
static bool receive(struct sk_end *e)
{
	struct soak *k = e->s->o.k;
	struct ndk_sge sge[4];
	u64 id = e->rq.head;
	u32 n;
	int rc;

	if (e->srq || e->qp_closed || !e->qp || id - e->rq.tail == SK_DEPTH)
		return false;
	n = sk_pieces(e->lam, (SK_IN + id % SK_DEPTH) * k->cell, k->cell, e->token, sge);
	e->rq.req[id % SK_DEPTH] = (struct sk_req) { .type = NDK_OPERATION_RECEIVE, .reg = REGS };
	e->rq.head++;
	rc = ndk_receive(e->qp, sk_context(e->s, OF_RQ | id), sge, n);
	if (!rc)
		return true;
	e->rq.head--;
	sk_refused(e, "receive", rc);
	return false;
}

void sk_receives(struct sk_end *e, u32 most)
{
	spin_lock_bh(&e->s->lock);
	while (most-- && receive(e))
		;
	spin_unlock_bh(&e->s->lock);
}

void sk_srq_receives(struct sk_set *set, u32 most)
{
	struct soak *k = set->o.k;
	struct ndk_sge sge[4];
	u32 i, n;
	int rc;

	spin_lock_bh(&set->srq_lock);
	for (i = 0; i < SK_SRQ && most && !set->srq_closed; i++) {
		if (set->srq_posted[i])
			continue;
		most--;
		n = sk_pieces(set->srq_lam, i * k->cell, k->cell, set->token, sge);
		set->srq_posted[i] = true;
		rc = ndk_srq_receive(set->srq, (void *)(OF_RQ | OF_SRQ | i), sge, n);
		if (rc) {
			set->srq_posted[i] = false;
			if (!k->removed)
				sk_fail(&set->o, "receive on the SRQ: %s", t_errname(rc));
			break;
		}
	}
	spin_unlock_bh(&set->srq_lock);
}

static void note_receive(struct sk_end *e, const void *at, const struct ndk_result_ex *r)
{
	const struct msg *m = at;

	sk_note(&e->s->o, (struct sk_past) {
		.came = true, .end = 'a' + e->side, .id = m->seq, .token = m->token, .length = r->bytes_transferred,
		.status = r->status,
	});
}

/*
 * Sent again, rxe can take the message that came last for a new one: Documentation/limits.rst. That befalls so few that all
 * others who deliver twice are found.
 */
static bool repeated(struct sk_end *e, const struct msg *m, u32 length)
{
	struct soak *k = e->s->o.k;

	if (!e->got || m->life != e->s->life || m->seq != e->got - 1 || length < sizeof(*m) || length > k->cell ||
	    !whole(sk_peer(e), m, length, m->seq, "what came twice"))
		return false;
	sk_count(k, N_REPEATED, 1);
	if (atomic64_read(&k->count[N_REPEATED]) > 1 + atomic64_read(&k->count[N_MESSAGES]) / 10000)
		sk_fail(&e->s->o, "too many messages came twice");
	return true;
}

/* A message is there. */
static void received(struct sk_end *e, const void *at, const struct ndk_result_ex *r, bool typed)
{
	const struct msg *m = at;
	struct soak *k = e->s->o.k;
	bool invalidates = r->type == NDK_OPERATION_RECEIVE_AND_INVALIDATE;
	int i;

	if (r->bytes_transferred < sizeof(*m) || r->bytes_transferred > k->cell) {
		sk_fail(&e->s->o, "a message of %u bytes", r->bytes_transferred);
		return;
	}
	note_receive(e, at, r);
	if (repeated(e, m, r->bytes_transferred) || !whole(sk_peer(e), at, r->bytes_transferred, e->got, "message"))
		return;
	e->got++;
	sk_count(k, N_MESSAGES, 1);
	if (typed && (invalidates != !!m->token || (invalidates && r->type_specific != m->token)))
		sk_fail(&e->s->o, "message %u invalidates %x, and its result has type %x, token %llx", m->seq, m->token, r->type,
			r->type_specific);
	if (!m->token)
		return;
	sk_count(k, N_REMOTE_INVALIDATED, 1);
	for (i = REG_FAST; i < REGS; i++) {
		if (e->reg[i].state != REG_TAKING || e->reg[i].token != m->token)
			continue;
		e->reg[i].state = REG_NONE;
		return;
	}
	sk_fail(&e->s->o, "message %u invalidates %x, which is not registered", m->seq, m->token);
}

/* A message that invalidates what this end has closed meanwhile, or a second time, came, and those after it come as well. */
static void refused(struct sk_end *e, const void *at, const struct ndk_result_ex *r)
{
	const struct msg *m = at;

	note_receive(e, at, r);
	if (repeated(e, m, m->length))
		e->s->gave_up = true;
	else
		e->got++;
}

/* --- results -------------------------------------------------------------- */

static void succeeded(struct sk_end *e, u64 id, const struct sk_req *q)
{
	struct soak *k = e->s->o.k;
	struct sk_end *peer = sk_peer(e);
	struct sk_reg *own = &e->reg[q->reg];

	switch (q->type) {
	case NDK_OPERATION_WRITE:
		peer->reg[q->reg].uses--;
		if (whole(e, sk_cell(peer, SK_TARGET + q->cell), q->length, (u32)id, "what was written"))
			sk_count(k, N_WRITES, 1);
		break;
	case NDK_OPERATION_READ:
		peer->reg[q->reg].uses--;
		if (whole(peer, sk_cell(e, SK_OUT + id % SK_DEPTH), q->length, q->cell, "what was read"))
			sk_count(k, N_READS, 1);
		break;
	case NDK_OPERATION_FAST_REGISTER:
	case NDK_OPERATION_BIND:
		sk_count(k, q->type == NDK_OPERATION_BIND ? N_BOUND : N_REGISTERED, 1);
		if (own->state == REG_MAKING)
			own->state = REG_READY;
		break;
	case NDK_OPERATION_INVALIDATE:
		sk_count(k, N_INVALIDATED, 1);
		own->state = REG_NONE;
		break;
	}
}

/* A receive has a place. */
static void failed(struct sk_end *e, const struct sk_req *q, const void *place, const struct ndk_result_ex *r)
{
	if (place && r->status == -EACCES)
		refused(e, place, r);
	if (q->type == NDK_OPERATION_WRITE || q->type == NDK_OPERATION_READ)
		sk_peer(e)->reg[q->reg].uses--;
	sk_count(e->s->o.k, N_CANCELLED, 1);
	if (r->status == -ETIMEDOUT)
		e->s->gave_up = true;
	if (!sk_broke(e->s))
		return;
	e->s->why_type = q->type;
	e->s->why = r->status;
	if (r->status != -ETIMEDOUT && r->status != -ECANCELED && !e->s->gave_up)
		sk_fail(&e->s->o, "a request of type %x at end %c: %s (provider's code %x)", q->type, 'a' + e->side,
			t_errname(r->status), r->provider_error_code);
}

/* What completed on a queue is what was posted first, but for what may be silent. */
static void queue_result(struct sk_end *e, struct sk_queue *queue, u64 id, const struct ndk_result_ex *r, bool typed)
{
	struct sk_owner *o = &e->s->o;
	bool rq = queue == &e->rq;
	struct sk_req *q;

	if (id < queue->tail || id >= queue->head) {
		sk_fail(o, "request %llu of the %s queue of end %c completes, outstanding are %llu to %llu", id,
			rq ? "receive" : "initiator", 'a' + e->side, queue->tail, queue->head);
		return;
	}
	for (; queue->tail < id; queue->tail++) {
		q = &queue->req[queue->tail % SK_DEPTH];
		if (!q->silent)
			sk_fail(o, "request %llu of end %c completes, and %llu has not", id, 'a' + e->side, queue->tail);
		succeeded(e, queue->tail, q);
	}
	q = &queue->req[id % SK_DEPTH];
	queue->tail++;
	if (typed && (rq ? !(r->type & NDK_OPERATION_RECEIVE) : r->type != q->type))
		sk_fail(o, "request %llu of end %c is of type %x, its result of %x", id, 'a' + e->side, q->type, r->type);
	if (!r->status && queue->failed)
		sk_fail(o, "request %llu of end %c succeeds after one that failed", id, 'a' + e->side);
	if (r->status) {
		queue->failed |= !rq || r->status != -EACCES;
		failed(e, q, rq ? sk_cell(e, SK_IN + id % SK_DEPTH) : NULL, r);
	} else if (rq) {
		received(e, sk_cell(e, SK_IN + id % SK_DEPTH), r, typed);
	} else {
		if (q->silent)
			sk_fail(o, "request %llu of end %c succeeds aloud", id, 'a' + e->side);
		succeeded(e, id, q);
	}
}

static void srq_result(struct sk_end *e, u32 place, const struct ndk_result_ex *r, bool typed)
{
	struct sk_set *set = e->s->set;
	const struct msg *m;
	bool posted, stale;

	if (place >= SK_SRQ) {
		sk_fail(&e->s->o, "receive %u of the SRQ completes at end %c", place, 'a' + e->side);
		return;
	}
	m = (struct msg *)(set->srq_va + (size_t)place * e->s->o.k->cell);
	/* It came to an earlier life, of which nobody counted the results. */
	stale = r->status && r->status != -EACCES ? e->s->hard_lives : m->life != e->s->life && e->s->hard_lives & BIT_ULL(m->life % 64);
	if (stale)
		;
	else if (!r->status)
		received(e, m, r, typed);
	else
		failed(e, &(struct sk_req) { .type = NDK_OPERATION_RECEIVE }, m, r);
	spin_lock(&set->srq_lock);
	posted = set->srq_posted[place];
	set->srq_posted[place] = false;
	spin_unlock(&set->srq_lock);
	if (!posted)
		sk_fail(&set->o, "receive %u of the SRQ completes twice", place);
	/* Most are posted anew at once. */
	if (!r->status && place % 8)
		sk_srq_receives(set, 1);
}

static void take_result(const struct ndk_result_ex *r, bool typed)
{
	struct sk_end *e = r->qp_context;
	struct sk_slot *s = e->s;
	u64 context = (u64)r->request_context, id = context & (OF_SRQ - 1), life = context >> 48;
	bool rq = context & OF_RQ;

	spin_lock(&s->lock);
	if (context & OF_SRQ) {
		srq_result(e, id, r, typed);
	} else if (life == (s->life & 0xffff)) {
		queue_result(e, rq ? &e->rq : &e->sq, id, r, typed);
		/* Most receives are posted anew at once. */
		if (rq && !r->status && (s->o.k->steady || id % 8))
			receive(e);
	} else if (!(s->hard_lives & BIT_ULL(life % 64))) {
		sk_fail(&s->o, "a result of life %llu in life %u", life, s->life);
	}
	spin_unlock(&s->lock);
}

static u64 outstanding(struct sk_end *e, const struct sk_queue *rq)
{
	u64 id, n;

	spin_lock_bh(&e->s->lock);
	n = rq ? rq->head - rq->tail : 0;
	/* Of the last ones those that are silent may have succeeded. */
	for (id = e->sq.tail; id < e->sq.head; id++)
		n += !e->sq.req[id % SK_DEPTH].silent;
	spin_unlock_bh(&e->s->lock);
	return n;
}

u64 sk_outstanding(struct sk_end *e)
{
	return outstanding(e, &e->rq);
}

u64 sk_sends_outstanding(struct sk_end *e)
{
	return outstanding(e, NULL);
}

/* For whoever looks into a failure. */
void sk_tell_outstanding(struct sk_end *e)
{
	u64 id;

	for (id = e->sq.tail; id < e->sq.head; id++) {
		struct sk_req *q = &e->sq.req[id % SK_DEPTH];

		pr_info("  connection %u: %c waits for %llu, type %x, %u bytes, registration %u%s\n", e->s->o.nr, 'a' + e->side, id,
			q->type, q->length, q->reg, q->silent ? ", silent" : "");

	}
	pr_info("  connection %u: %c has %llu receives, %u messages sent, %u received\n", e->s->o.nr, 'a' + e->side,
		e->rq.head - e->rq.tail, e->sent, e->got);
}

/* --- CQs ------------------------------------------------------------------ */

/* Under the lock of the CQ. */
u32 sk_poll(struct sk_cq *cq, u32 most)
{
	struct ndk_result_ex ex[8];
	struct ndk_result plain[8];
	u32 sum = 0, n, i;

	do {
		if (cq->plain) {
			n = ndk_get_cq_results(cq->cq, plain, ARRAY_SIZE(plain));
			for (i = 0; i < n; i++)
				ex[i] = (struct ndk_result_ex) {
					plain[i].status, plain[i].bytes_transferred, plain[i].qp_context, plain[i].request_context,
				};
		} else {
			n = ndk_get_cq_results_ex(cq->cq, ex, ARRAY_SIZE(ex));
		}
		for (i = 0; i < n; i++)
			take_result(&ex[i], !cq->plain);
		sum += n;
	} while (n == ARRAY_SIZE(ex) && sum < most);
	return sum;
}

/* Under the lock of the CQ. */
void sk_arm(struct sk_cq *cq, u32 type)
{
	atomic_inc(&cq->arms);
	ndk_arm_cq(cq->cq, type);
}

static void notified(void *context, int status)
{
	struct sk_cq *cq = context;
	struct soak *k = cq->o->k;

	t_context(k->t, "CQ notification");
	if (atomic_inc_return(&cq->inside) > 1)
		sk_fail(cq->o, "two notifications of one CQ at a time");
	if (atomic_inc_return(&cq->calls) > atomic_read(&cq->arms))
		sk_fail(cq->o, "more notifications than arms");
	if (status && !k->removed)
		sk_fail(cq->o, "a CQ notifies %s", t_errname(status));
	sk_count(k, N_NOTIFIED, 1);
	spin_lock(&cq->lock);
	if (cq->callback && !cq->closed) {
		sk_poll(cq, 64);
		if (!status)
			sk_arm(cq, NDK_CQ_NOTIFY_ANY);
	}
	spin_unlock(&cq->lock);
	atomic_dec(&cq->inside);
}

bool sk_cq_create(struct sk_cq *cq, struct sk_owner *o, enum t_side side, u32 depth, bool callback, int cpu)
{
	memset(cq, 0, sizeof(*cq));
	spin_lock_init(&cq->lock);
	cq->o = o;
	cq->depth = depth;
	cq->callback = callback;
	cq->plain = depth % 3 == cpu;
	cq->cq = SK_CREATE(o, ndk_cq, ndk_create_cq, o->k->adapter[side], depth, notified, cq, cpu);
	if (!cq->cq)
		return false;
	if (callback) {
		spin_lock_bh(&cq->lock);
		sk_arm(cq, NDK_CQ_NOTIFY_ANY);
		spin_unlock_bh(&cq->lock);
	}
	return true;
}

void sk_cq_stop(struct sk_cq *cq)
{
	spin_lock_bh(&cq->lock);
	cq->closed = true;
	spin_unlock_bh(&cq->lock);
}
