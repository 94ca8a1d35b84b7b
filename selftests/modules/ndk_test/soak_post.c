// SPDX-License-Identifier: GPL-2.0
/* Stress: the requests of the initiator queue. */

#include "soak.h"

#define RW (NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE)

/* A request before it is posted. */
struct want {
	u32 type, flags;
	/* of a message */
	u32 length;
	/* whose token is used, or what is registered or invalidated */
	u8 reg;
	/* for a write or read: where at the peer; for a registration: what part is shown */
	u8 cell, first, last;
	/* send: the peer's registration with this token goes */
	u32 token;
};

static int post_data(struct sk_end *e, const struct want *w, u64 id)
{
	struct soak *k = e->s->o.k;
	struct sk_end *peer = sk_peer(e);
	struct sk_reg *remote = &peer->reg[w->reg];
	void *ctx = sk_context(e->s, id), *out = sk_cell(e, SK_OUT + id % SK_DEPTH);
	struct ndk_sge sge[4];
	u32 n, flags = w->flags;
	u64 at = remote->base + (u64)(w->cell - remote->first) * k->cell;

	if (w->type == NDK_OPERATION_SEND)
		sk_build(e, out, w->length, e->sent, w->token);
	else if (w->type == NDK_OPERATION_WRITE)
		sk_build(e, out, w->length, (u32)id, 0);
	else
		memset(out, 0xee, w->length);
	if (flags & NDK_OP_FLAG_INLINE && w->length <= e->inline_size) {
		sge[0] = (struct ndk_sge) { .virtual_address = (u64)(unsigned long)out, .length = w->length, .token = 0x5a5a5a5a };
		n = 1;
	} else {
		flags &= ~NDK_OP_FLAG_INLINE;
		n = sk_pieces(e->lam, (SK_OUT + id % SK_DEPTH) * k->cell, w->length, e->token, sge);
	}
	switch (w->type) {
	case NDK_OPERATION_WRITE:
		return ndk_write(e->qp, ctx, sge, n, at, remote->token, flags);
	case NDK_OPERATION_READ:
		return ndk_read(e->qp, ctx, sge, n, at, remote->token, flags);
	default:
		if (w->token)
			return ndk_send_and_invalidate(e->qp, ctx, sge, n, flags, w->token);
		return ndk_send(e->qp, ctx, sge, n, flags);
	}
}

static int post_memory(struct sk_end *e, const struct want *w, u64 id)
{
	struct soak *k = e->s->o.k;
	struct sk_reg *reg = &e->reg[w->reg];
	void *ctx = sk_context(e->s, id);
	size_t at = (size_t)(SK_TARGET + w->first) * k->cell, length = (size_t)(w->last - w->first) * k->cell;
	struct ndk_mr *fast = w->reg < REG_WINDOW ? e->fast[w->reg - REG_FAST] : NULL;
	struct ndk_mw *mw = fast ? NULL : e->mw[w->reg - REG_WINDOW];
	int rc;

	switch (w->type) {
	case NDK_OPERATION_FAST_REGISTER:
		reg->base = ((u64)w->reg << 40) + id * PAGE_SIZE + at % PAGE_SIZE;
		rc = ndk_fast_register(e->qp, ctx, fast, DIV_ROUND_UP(at % PAGE_SIZE + length, PAGE_SIZE),
				       &e->lam->pages[at / PAGE_SIZE], at % PAGE_SIZE, length, reg->base, w->flags | RW);
		break;
	case NDK_OPERATION_BIND:
		reg->base = e->reg[REG_MR].base + (u64)w->first * k->cell;
		rc = ndk_bind(e->qp, ctx, e->mr, mw, reg->base, length, w->flags | RW);
		break;
	default:
		return ndk_invalidate(e->qp, ctx, fast ? &fast->header : &mw->header, w->flags);
	}
	/* It can be had before the completion. */
	if (!rc)
		reg->token = fast ? ndk_get_remote_token_from_mr(fast) : ndk_get_remote_token_from_mw(mw);
	return rc;
}

/* What is so from the moment of the post on. */
static void posted(struct sk_end *e, const struct want *w)
{
	struct sk_end *peer = sk_peer(e);

	switch (w->type) {
	case NDK_OPERATION_SEND:
		e->sent++;
		if (w->token)
			peer->reg[w->reg].state = REG_TAKING;
		break;
	case NDK_OPERATION_WRITE:
	case NDK_OPERATION_READ:
		peer->reg[w->reg].uses++;
		break;
	case NDK_OPERATION_FAST_REGISTER:
	case NDK_OPERATION_BIND:
		e->reg[w->reg].state = REG_MAKING;
		e->reg[w->reg].first = w->first;
		e->reg[w->reg].last = w->last;
		break;
	case NDK_OPERATION_INVALIDATE:
		e->reg[w->reg].state = REG_TAKING;
		break;
	}
}

/* Under the lock of the slot, for which results wait. */
static bool post(struct sk_end *e, struct want *w)
{
	struct sk_owner *o = &e->s->o;
	u64 id = e->sq.head;
	int rc;

	/* Silent ones keep their places until another one completes. */
	if (id - e->sq.tail >= SK_DEPTH / 2)
		w->flags &= ~NDK_OP_FLAG_SILENT_SUCCESS;
	e->sq.req[id % SK_DEPTH] = (struct sk_req) {
		.type = w->type, .silent = w->flags & NDK_OP_FLAG_SILENT_SUCCESS, .reg = w->reg,
		.cell = w->type == NDK_OPERATION_READ ? w->cell - SK_DEPTH : w->cell, .length = w->length,
	};
	e->sq.head++;
	if (w->type == NDK_OPERATION_SEND || w->type == NDK_OPERATION_WRITE || w->type == NDK_OPERATION_READ)
		rc = post_data(e, w, id);
	else
		rc = post_memory(e, w, id);
	if (rc) {
		e->sq.head--;
		sk_refused(e, "post", rc);
		return false;
	}
	posted(e, w);
	sk_note(o, (struct sk_past) {
		.id = id, .type = w->type, .flags = w->flags, .token = w->token, .length = w->length, .end = 'a' + e->side,
		.reg = w->reg, .first = w->first, .last = w->last,
	});
	return true;
}

static bool room(struct sk_end *e)
{
	if (e->s->o.k->lone_reads && e->sq.head != e->sq.tail &&
	    e->sq.req[e->sq.tail % SK_DEPTH].type == NDK_OPERATION_READ)
		return false;
	return e->qp && !e->qp_closed && e->sq.head - e->sq.tail < SK_DEPTH;
}

static u32 some_flags(struct sk_dice *d, u32 flags)
{
	if (sk_once_in(d, 4))
		flags |= NDK_OP_FLAG_SILENT_SUCCESS;
	if (sk_once_in(d, 8))
		flags |= NDK_OP_FLAG_READ_FENCE;
	return flags;
}

static u32 some_length(struct sk_end *e, struct sk_dice *d)
{
	u32 most = e->s->o.k->cell;

	/* Most are short. */
	if (!sk_once_in(d, 4))
		most = min(most, 512U);
	return SK_LEAST + 4 * sk_roll(d, (most - SK_LEAST) / 4 + 1);
}

void sk_send(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	struct want w = { .type = NDK_OPERATION_SEND, .length = some_length(e, d), .flags = some_flags(d, flags) };

	if (sk_once_in(d, 4))
		w.flags |= NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT;
	if (sk_once_in(d, 3))
		w.flags |= NDK_OP_FLAG_INLINE;
	spin_lock_bh(&e->s->lock);
	if (room(e))
		post(e, &w);
	spin_unlock_bh(&e->s->lock);
}

/* Some registration of the peer's that shows this cell. */
static bool way_to(struct sk_end *e, u32 cell, u32 from, struct want *w)
{
	struct sk_end *peer = sk_peer(e);
	u32 i;

	w->cell = cell;
	for (i = 0; i < REGS; i++) {
		w->reg = (from + i) % REGS;
		if (peer->reg[w->reg].state == REG_READY && peer->reg[w->reg].first <= cell && cell < peer->reg[w->reg].last)
			return true;
	}
	return false;
}

void sk_write(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	struct want w = { .type = NDK_OPERATION_WRITE, .length = some_length(e, d), .flags = some_flags(d, flags) };
	u32 from = sk_roll(d, REGS);

	if (sk_once_in(d, 4))
		w.flags |= NDK_OP_FLAG_INLINE;
	spin_lock_bh(&e->s->lock);
	if (room(e) && way_to(e, e->sq.head % SK_DEPTH, from, &w))
		post(e, &w);
	spin_unlock_bh(&e->s->lock);
}

void sk_read(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	struct want w = { .type = NDK_OPERATION_READ, .flags = some_flags(d, flags) };
	struct soak *k = e->s->o.k;
	u32 from = sk_roll(d, REGS), source = sk_roll(d, SK_SOURCES);

	w.length = k->cell >> source;
	if (k->lone_reads)
		w.flags &= ~(NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
	spin_lock_bh(&e->s->lock);
	if (room(e) && !k->no_reads && !(k->lone_reads && e->sq.head != e->sq.tail) && way_to(e, SK_DEPTH + source, from, &w))
		post(e, &w);
	spin_unlock_bh(&e->s->lock);
}

static void show(struct sk_end *e, struct sk_dice *d, u32 type, u32 flags)
{
	struct want w = { .type = type, .flags = some_flags(d, flags) };

	w.reg = (type == NDK_OPERATION_BIND ? REG_WINDOW : REG_FAST) + sk_roll(d, 2);
	w.first = sk_roll(d, SK_SHOWN);
	w.last = w.first + 1 + sk_roll(d, SK_SHOWN - w.first);
	spin_lock_bh(&e->s->lock);
	if (e->mr && room(e) && e->reg[w.reg].state == REG_NONE)
		post(e, &w);
	spin_unlock_bh(&e->s->lock);
}

void sk_fast_register(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	show(e, d, NDK_OPERATION_FAST_REGISTER, flags);
}

void sk_bind(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	show(e, d, NDK_OPERATION_BIND, flags);
}

/* What the peer has under way must be over. */
void sk_invalidate(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	struct want w = { .type = NDK_OPERATION_INVALIDATE, .flags = some_flags(d, flags) };

	w.reg = REG_FAST + sk_roll(d, REGS - REG_FAST);
	spin_lock_bh(&e->s->lock);
	if (room(e) && e->reg[w.reg].state == REG_READY && !e->reg[w.reg].uses)
		post(e, &w);
	spin_unlock_bh(&e->s->lock);
}

/* Writes of this end are over before, its reads by the fence. */
void sk_send_and_invalidate(struct sk_end *e, struct sk_dice *d, u32 flags)
{
	struct want w = { .type = NDK_OPERATION_SEND, .length = some_length(e, d), .flags = some_flags(d, flags) };
	struct sk_end *peer = sk_peer(e);

	w.flags |= NDK_OP_FLAG_READ_FENCE;
	w.reg = REG_FAST + sk_roll(d, REGS - REG_FAST);
	spin_lock_bh(&e->s->lock);
	if (room(e) && peer->reg[w.reg].state == REG_READY) {
		w.token = peer->reg[w.reg].token;
		post(e, &w);
	}
	spin_unlock_bh(&e->s->lock);
}

/* Requests that wait for their doorbell, and the one that rings it. */
void sk_chain(struct sk_end *e, struct sk_dice *d)
{
	static void (*const links[])(struct sk_end *e, struct sk_dice *d, u32 flags) = {
		sk_send, sk_write, sk_read, sk_fast_register, sk_bind, sk_invalidate, sk_send_and_invalidate,
	};
	u32 n = 1 + sk_roll(d, 5);

	if (SK_DEPTH - (READ_ONCE(e->sq.head) - READ_ONCE(e->sq.tail)) <= n)
		return;
	sk_count(e->s->o.k, N_CHAINS, 1);
	while (n--)
		links[sk_roll(d, ARRAY_SIZE(links))](e, d, NDK_OP_FLAG_DEFER);
	sk_send(e, d, 0);
}
