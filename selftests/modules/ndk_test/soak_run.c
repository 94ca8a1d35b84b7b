// SPDX-License-Identifier: GPL-2.0
/* Stress: the generator, and the workers that do what it says. */

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "soak.h"

/* --- numbers -------------------------------------------------------------- */

u64 sk_mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

u32 sk_roll(struct sk_dice *d, u32 sides)
{
	d->state += 0x9e3779b97f4a7c15ull;
	return (u32)(sk_mix(d->state) >> 32) % sides;
}

/* All that a worker does with its n-th operation comes from here. */
static struct sk_dice dice(struct sk_worker *w)
{
	return (struct sk_dice) { sk_mix(w->k->seed ^ sk_mix(w->op * SK_WORKERS + w->nr)) };
}

/* --- operations ----------------------------------------------------------- */

static void poll_end(struct sk_end *e)
{
	struct sk_cq *cq[] = { e->rcq, e->icq };
	int i;

	for (i = 0; i < ARRAY_SIZE(cq); i++) {
		if (cq[i]->callback)
			continue;
		spin_lock_bh(&cq[i]->lock);
		sk_poll(cq[i], 32);
		spin_unlock_bh(&cq[i]->lock);
	}
}

static void arm(struct sk_end *e, struct sk_dice *d)
{
	u32 type = sk_roll(d, 3);

	if (e->icq->callback)
		return;
	spin_lock_bh(&e->icq->lock);
	sk_arm(e->icq, type);
	spin_unlock_bh(&e->icq->lock);
}

static void resize_cq(struct sk_end *e, struct sk_dice *d)
{
	struct sk_cq *cq = &e->own[0];
	u32 least = SK_DEPTH + (e->srq ? SK_SRQ : SK_DEPTH), depth = least + sk_roll(d, 200);
	struct sk_call *c = cq->resizing;
	int rc;

	/* One at a time, and as many as there is room to remember. */
	if (!cq->cq || e->s->o.nr_calls > SK_CALLS / 2 || (c && c->pending && !completion_done(&c->done)))
		return;
	if (c && c->status && c->status != -ENOMEM && !e->s->o.k->removed)
		sk_fail(&e->s->o, "resize: %s", t_errname(c->status));
	c = sk_call(&e->s->o, "resize CQ");
	cq->resizing = c;
	c->pending = true;
	rc = ndk_resize_cq(cq->cq, depth, sk_done, c);
	if (rc != -EINPROGRESS) {
		c->pending = false;
		c->status = rc;
	}
	sk_count(e->s->o.k, N_RESIZED, 1);
}

static void moderate(struct sk_end *e, struct sk_dice *d)
{
	u32 interval = sk_roll(d, 2000), count = sk_roll(d, 9);
	int rc;

	if (!e->own[0].cq)
		return;
	rc = ndk_control_cq_interrupt_moderation(e->own[0].cq, interval, count);
	if (rc && rc != -ENOMEM && !e->s->o.k->removed)
		sk_fail(&e->s->o, "moderation of %u us, %u: %s", interval, count, t_errname(rc));
}

static void ask(struct sk_end *e)
{
	struct sockaddr_storage ss;
	u32 len = sizeof(ss), in, out;
	struct ndk_adapter_info info;
	size_t size = sizeof(info);
	int rc;

	rc = ndk_get_local_address(e->connector, (struct sockaddr *)&ss, &len);
	len = sizeof(ss);
	rc = rc ?: ndk_get_peer_address(e->connector, (struct sockaddr *)&ss, &len);
	len = 0;
	rc = rc ?: ndk_get_connection_data(e->connector, &in, &out, NULL, &len);
	rc = rc ?: ndk_query_adapter_info(e->s->o.k->adapter[e->side], &info, &size);
	if (rc && !e->s->o.k->removed && !READ_ONCE(e->s->ending))
		sk_fail(&e->s->o, "a query: %s", t_errname(rc));
}

static void srq(struct sk_worker *w, struct sk_dice *d)
{
	struct sk_owner *o = &w->set.o;
	u32 threshold = sk_roll(d, 16);
	struct sk_call *c;
	int rc;

	sk_srq_receives(&w->set, SK_SRQ);
	if (o->nr_calls > SK_CALLS / 2 || !sk_once_in(d, 4))
		return;
	c = sk_call(o, "modify SRQ");
	rc = sk_wait(c, ndk_modify_srq(w->set.srq, 0, threshold, sk_done, c));
	if (rc && !o->k->removed)
		sk_fail(o, "modify SRQ: %s", t_errname(rc));
}

static void transfer(struct sk_worker *w, struct sk_slot *s, struct sk_dice *d)
{
	struct sk_end *e = sk_once_in(d, 2) ? &s->a : &s->b;
	u32 what = sk_roll(d, 100), times = 1 + sk_roll(d, 3);

	/* Most of the time nobody waits for the other's receives. */
	if (!sk_once_in(d, 4)) {
		poll_end(&s->a);
		poll_end(&s->b);
		sk_receives(&s->a, SK_DEPTH);
		sk_receives(&s->b, SK_DEPTH);
		sk_srq_receives(&w->set, SK_SRQ / 2);
	}
	if (READ_ONCE(w->k->draining))
		return;
	switch (what) {
	case 0 ... 24:
		while (times--)
			sk_send(e, d, 0);
		break;
	case 25 ... 31:
		sk_receives(e, 1 + sk_roll(d, SK_DEPTH));
		break;
	case 32 ... 41:
		while (times--)
			sk_write(e, d, 0);
		break;
	case 42 ... 50:
		while (times--)
			sk_read(e, d, 0);
		break;
	case 51 ... 56:
		sk_fast_register(e, d, 0);
		break;
	case 57 ... 60:
		sk_bind(e, d, 0);
		break;
	case 61 ... 66:
		sk_invalidate(e, d, 0);
		break;
	case 67 ... 70:
		sk_send_and_invalidate(e, d, 0);
		break;
	case 71 ... 77:
		sk_chain(e, d);
		break;
	case 78 ... 91:
		poll_end(&s->a);
		poll_end(&s->b);
		break;
	case 92:
		arm(e, d);
		break;
	case 93:
		resize_cq(e, d);
		break;
	case 94:
		moderate(e, d);
		break;
	case 95 ... 96:
		ask(e);
		break;
	default:
		srq(w, d);
		break;
	}
}

/* --- storms: everything of a worker goes at once ---------------------------- */

static bool all_empty(struct sk_worker *w)
{
	bool empty = true;
	unsigned int i;

	for (i = w->nr; i < w->k->slots; i += SK_WORKERS) {
		sk_visit(w->k->slot[i]);
		empty = empty && w->k->slot[i]->state == SLOT_EMPTY;
	}
	return empty;
}

static void put_down(struct sk_worker *w, struct sk_dice *d)
{
	const u64 last = BIT_ULL(NDK_OBJECT_CQ) | BIT_ULL(NDK_OBJECT_SRQ);
	struct sk_set *set = &w->set;
	struct soak *k = w->k;
	unsigned long end = jiffies + t_ticks(120);
	unsigned int i, start = sk_roll(d, k->slots);
	bool early = sk_once_in(d, 2), hard;

	/* Parents before or after their children. */
	if (early)
		sk_close_all(&set->o, d, last);
	for (i = 0; i < k->slots; i++) {
		struct sk_slot *s = k->slot[(start + i) % k->slots];

		hard = sk_once_in(d, 4);
		if (s->o.worker == w->nr && (s->state == SLOT_UP || s->state == SLOT_ENDING)) {
			s->o.op = w->op;
			s->shuffle = d->state;
			sk_take_down(s, hard);
		}
	}
	while (!all_empty(w) && time_before(jiffies, end))
		usleep_range(500, 1000);
	sk_cq_stop(&set->cq[SIDE_A]);
	sk_cq_stop(&set->cq[SIDE_B]);
	spin_lock_bh(&set->srq_lock);
	set->srq_closed = true;
	spin_unlock_bh(&set->srq_lock);
	sk_close_all(&set->o, d, 0);
	while (!sk_all_done(&set->o) && time_before(jiffies, end))
		usleep_range(500, 1000);
	if (!sk_all_done(&set->o)) {
		sk_say_pending(&set->o);
		k->t->wedged = true;
		return;
	}
	sk_owner_reset(&set->o);
	if (set->srq_lam)
		ndk_release_lam(k->adapter[SIDE_B], set->srq_lam);
	kfree(set->srq_lam);
	set->srq_lam = NULL;
	set->srq = NULL;
}

/* --- workers -------------------------------------------------------------- */

static void step(struct sk_worker *w)
{
	struct soak *k = w->k;
	struct sk_dice d = dice(w);
	struct sk_slot *s = k->slot[sk_roll(&d, k->slots / SK_WORKERS) * SK_WORKERS + w->nr];
	enum slot_state state = s->state;
	bool storm = !sk_roll(&d, 50 * k->slots), end = !sk_roll(&d, 200);

	WRITE_ONCE(s->o.op, w->op);
	WRITE_ONCE(w->set.o.op, w->op);
	if (storm && !k->steady) {
		sk_count(k, N_STORMS, 1);
		put_down(w, &d);
		if (!sk_set_up(&w->set))
			atomic_set(&k->stop, 1);
		return;
	}
	switch (state) {
	case SLOT_EMPTY:
		if (!READ_ONCE(k->no_connects))
			sk_connect(s, &d);
		break;
	case SLOT_UP:
		if (READ_ONCE(s->broken))
			sk_take_down(s, false);
		else if (end && !k->steady)
			sk_end(s, &d);
		else
			transfer(w, s, &d);
		break;
	default:
		sk_visit(s);
		if (s->state == state)
			usleep_range(20, 50);
		break;
	}
}

static int work(void *arg)
{
	struct sk_worker *w = arg;
	struct soak *k = w->k;

	while (!atomic_read(&k->stop) && (!k->ops || w->op < k->ops) && time_before(jiffies, k->end)) {
		WRITE_ONCE(w->op, w->op + 1);
		if (!w->nr && !k->steady)
			WRITE_ONCE(t_soak.done, w->op);
		step(w);
		/* Others have work to do, all the more where nothing moves any more. */
		if (READ_ONCE(k->removed))
			usleep_range(500, 1000);
		else if (k->steady && !(w->op % 8))
			usleep_range(100, 200);
		cond_resched();
	}
	complete(&w->done);
	return 0;
}

static void *pages(size_t size, struct scatterlist *sg)
{
	void *va = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO);

	if (va)
		sg_init_one(sg, va, size);
	return va;
}

static bool memory(struct soak *k)
{
	size_t size = PAGE_ALIGN((size_t)SK_CELLS * k->cell);
	unsigned int i, j;

	for (i = 0; i < SK_WORKERS; i++) {
		k->worker[i].set.srq_va = pages(SK_SRQ * k->cell, &k->worker[i].set.srq_sg);
		if (!k->worker[i].set.srq_va)
			return false;
	}
	for (i = 0; i < k->slots; i++) {
		struct sk_end *e[] = { &k->slot[i]->a, &k->slot[i]->b };

		for (j = 0; j < 2; j++) {
			e[j]->s = k->slot[i];
			e[j]->side = j;
			e[j]->va = pages(size, &e[j]->sg);
			if (!e[j]->va)
				return false;
			sg_init_one(&e[j]->shown, e[j]->va + SK_TARGET * k->cell, SK_SHOWN * k->cell);
		}
	}
	return true;
}

struct soak *sk_new(struct t *t, unsigned int slots, u32 cell, u64 seed)
{
	struct soak *k = t_alloc(t, sizeof(*k));
	unsigned int i;

	k->t = t;
	k->slots = clamp(round_down(slots, SK_WORKERS), SK_WORKERS, SK_SLOTS);
	k->cell = cell;
	k->seed = seed;
	for (i = 0; i < k->slots; i++) {
		struct sk_slot *s = t_alloc(t, sizeof(*s));

		k->slot[i] = s;
		sk_owner_init(&s->o, k, "connection", i % SK_WORKERS, i);
		spin_lock_init(&s->lock);
		init_completion(&s->came);
		s->set = &k->worker[i % SK_WORKERS].set;
	}
	for (i = 0; i < SK_WORKERS; i++) {
		k->worker[i].k = k;
		k->worker[i].nr = i;
		sk_owner_init(&k->worker[i].set.o, k, "what is shared", i, i);
		spin_lock_init(&k->worker[i].set.srq_lock);
	}
	if (!memory(k)) {
		t_fail(t, "no memory");
		return NULL;
	}
	return k;
}

bool sk_start(struct soak *k)
{
	struct sk_worker *w;
	int side;

	for (side = 0; side < 2; side++) {
		k->adapter[side] = t_adapter(k->t, side);
		if (!k->adapter[side])
			return false;
	}
	for (w = k->worker; w < k->worker + SK_WORKERS; w++) {
		init_completion(&w->done);
		if (!w->set.srq && !sk_set_up(&w->set))
			return false;
	}
	for (w = k->worker; w < k->worker + SK_WORKERS; w++) {
		w->task = kthread_create(work, w, "ndk_test_soak%u", w->nr);
		if (IS_ERR(w->task)) {
			t_fail(k->t, "no thread");
			complete(&w->done);
			continue;
		}
		kthread_bind(w->task, w->nr % num_online_cpus());
		wake_up_process(w->task);
	}
	return true;
}

void sk_join(struct soak *k)
{
	unsigned int i;

	/* Shorter than what would look like a hung task. */
	for (i = 0; i < SK_WORKERS; i++)
		while (!wait_for_completion_timeout(&k->worker[i].done, 10 * HZ))
			;
}

static void free_memory(struct soak *k)
{
	size_t size = PAGE_ALIGN((size_t)SK_CELLS * k->cell);
	unsigned int i;

	for (i = 0; i < SK_WORKERS; i++)
		free_pages_exact(k->worker[i].set.srq_va, SK_SRQ * k->cell);
	for (i = 0; i < k->slots; i++) {
		free_pages_exact(k->slot[i]->a.va, size);
		free_pages_exact(k->slot[i]->b.va, size);
	}
}

void sk_put_down(struct soak *k)
{
	struct sk_dice d = { k->seed ^ k->worker[0].op };
	unsigned int i;

	for (i = 0; i < SK_WORKERS; i++)
		put_down(&k->worker[i], &d);
}

void sk_finish(struct soak *k)
{
	unsigned long end = jiffies + t_ticks(30);

	sk_put_down(k);
	while (atomic_read(&k->strays) && time_before(jiffies, end))
		usleep_range(500, 1000);
	if (atomic_read(&k->strays)) {
		t_fail(k->t, "%d connectors that came late are not closed", atomic_read(&k->strays));
		k->t->wedged = true;
	}
	if (!k->t->wedged)
		free_memory(k);
}

static const char *const count_names[N_COUNTS] = {
	[N_CONNECTED] = "connections", [N_ABANDONED] = "abandoned", [N_REFUSED] = "refused", [N_NO_MEMORY] = "without memory",
	[N_MESSAGES] = "messages", [N_REPEATED] = "repeated by rxe", [N_WRITES] = "writes", [N_READS] = "reads", [N_REGISTERED] = "fast registrations",
	[N_BOUND] = "binds", [N_INVALIDATED] = "invalidations", [N_REMOTE_INVALIDATED] = "by the peer", [N_CHAINS] = "chains",
	[N_BYTES] = "bytes checked", [N_RESIZED] = "resizes", [N_NOTIFIED] = "notifications", [N_CANCELLED] = "cancelled",
	[N_ENDS] = "ends", [N_GAVE_UP] = "given up by the transport", [N_STALLED] = "stalled by the device",
	[N_STORMS] = "storms",
};

/* What was done, into the results. */
void sk_report(struct soak *k)
{
	int i;

	t_note(k->t, "seed %llu: %llu and %llu operations", k->seed, k->worker[0].op, k->worker[1].op);
	for (i = 0; i < N_COUNTS; i++)
		t_note(k->t, "  %lld %s", atomic64_read(&k->count[i]), count_names[i]);
}
