// SPDX-License-Identifier: GPL-2.0
/*
 * Posting, polling and arming take no lock and allocate nothing. On ndk_nulldev, whose own part does neither, so that whatever
 * is seen is the provider's.
 */

#include <linux/preempt.h>
#include <linux/tracepoint.h>

#include "failnth.h"

#define LEN 64
#define BASE 0x770000000000ULL

/* --- locks: whatever lockdep is told of, but for RCU ------------------------ */

#ifdef CONFIG_LOCKDEP
static struct task_struct *watched;
static const char *first_lock;
static unsigned int nr_locks;

static void on_lock(void *data, struct lockdep_map *lock, unsigned int subclass, int trylock, int read, int check,
		    struct lockdep_map *next, unsigned long ip)
{
	/* Interrupts take locks as well. */
	if (current != READ_ONCE(watched) || !in_task() || lock == &rcu_lock_map)
		return;
	if (!nr_locks++)
		first_lock = lock->name;
}

static void find_tracepoint(struct tracepoint *tp, void *found)
{
	if (!strcmp(tp->name, "lock_acquire"))
		*(struct tracepoint **)found = tp;
}

static struct tracepoint *watch(struct t *t)
{
	struct tracepoint *tp = NULL;

	for_each_kernel_tracepoint(find_tracepoint, &tp);
	if (!EXPECT(t, tp) || !EXPECT_EQ(t, tracepoint_probe_register(tp, on_lock, NULL), 0))
		return NULL;
	return tp;
}

static void unwatch(struct tracepoint *tp)
{
	tracepoint_probe_unregister(tp, on_lock, NULL);
	tracepoint_synchronize_unregister();
}

static void begin(void)
{
	nr_locks = 0;
	first_lock = NULL;
	/* What the scheduler takes to have another task run is not the call's. */
	preempt_disable();
	WRITE_ONCE(watched, current);
}

static unsigned int locks(void)
{
	WRITE_ONCE(watched, NULL);
	preempt_enable();
	return nr_locks;
}
#else
static const char *first_lock;

static inline void begin(void) { }
static inline unsigned int locks(void) { return 0; }
#endif

/* --- what is called ---------------------------------------------------------- */

struct costs {
	struct t *t;
	struct t_pair *p;
	struct t_buf *out, *in;
	struct t_region *far, *near;
	struct ndk_mr *mr;
};

/*
 * A call of the data path. An interrupt that comes in the middle takes locks on its way out, when it does not count as one any
 * more: so what counts is whether there was a round in which the call took none.
 */
struct site {
	const char *call;
	const char *lock;
	bool clean;
	struct site *next;
};

static struct site *sites;

static void saw(struct site *site, unsigned int locks)
{
	struct site **at = &sites;

	while (*at && *at != site)
		at = &(*at)->next;
	if (!*at) {
		site->clean = false;
		site->next = NULL;
		*at = site;
	}
	if (locks)
		site->lock = first_lock;
	else
		site->clean = true;
}

static void judge_sites(struct t *t)
{
	for (; sites; sites = sites->next)
		if (!sites->clean)
			t_fail(t, "takes %s each time: %s", sites->lock, sites->call);
}

/* Runs one call under both watches. */
#define FREE(_c, _call) ({							\
	static struct site _site = { .call = #_call };				\
	long _rc;								\
	unsigned int _locks;							\
	bool _hit;								\
										\
	begin();								\
	fail_nth(1);								\
	_rc = (_call);								\
	_hit = was_hit();							\
	_locks = locks();							\
	if (_hit)								\
		t_fail((_c)->t, "allocates: %s", #_call);			\
	saw(&_site, _locks);							\
	_rc;									\
})

static struct costs *setup(struct t *t)
{
	const u32 all = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE |
			NDK_MR_FLAG_RDMA_READ_SINK;
	const struct t_cfg cfg = { .inline_size = LEN };
	struct costs *c = t_alloc(t, sizeof(*c));
	struct ndk_object_header *h;
	struct t_await *w;

	c->t = t;
	c->p = t_pair(t, &cfg);
	if (!c->p)
		return NULL;
	c->out = t_buf(&c->p->a, PAGE_SIZE);
	c->in = t_buf(&c->p->b, PAGE_SIZE);
	c->far = t_region(&c->p->b, PAGE_SIZE, all);
	c->near = t_region(&c->p->a, PAGE_SIZE, all);
	h = t_create(&c->p->a, KIND_FAST_MR);
	if (!c->out || !c->in || !c->far || !c->near || !h)
		return NULL;
	c->mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	return EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(c->mr, 1, true, t_done, w)), 0) ? c : NULL;
}

static bool polled(struct costs *c, struct t_cq *cq, u32 nr)
{
	struct ndk_result results[4];
	struct ndk_result_ex extended[4];
	u32 n;

	n = nr & 1 ? FREE(c, ndk_get_cq_results(cq->cq, results, ARRAY_SIZE(results)))
		   : FREE(c, ndk_get_cq_results_ex(cq->cq, extended, ARRAY_SIZE(extended)));
	return EXPECT_EQ(c->t, n, nr);
}

static void round_of_calls(struct costs *c)
{
	struct ndk_sge sge = { .virtual_address = c->near->base, .length = LEN, .token = c->near->local };
	struct ndk_sge raw = { .virtual_address = (u64)(uintptr_t)c->out->va, .length = LEN };
	struct ndk_qp *qp = c->p->a.qp;
	struct t *t = c->t;
	int i;

	for (i = 0; i < 5; i++)
		EXPECT_STATUS(t, FREE(c, t_post_receive(&c->p->b, i, c->in, 0, LEN)), 0);
	EXPECT_STATUS(t, FREE(c, t_post_send(&c->p->a, 0, c->out, 0, LEN, 0)), 0);
	EXPECT_STATUS(t, FREE(c, t_post_send(&c->p->a, 1, c->out, 0, LEN, NDK_OP_FLAG_SILENT_SUCCESS)), 0);
	EXPECT_STATUS(t, FREE(c, ndk_send(qp, CTX(2), &raw, 1, NDK_OP_FLAG_INLINE)), 0);
	EXPECT_STATUS(t, FREE(c, t_post_send(&c->p->a, 3, c->out, 0, LEN, NDK_OP_FLAG_DEFER)), 0);
	EXPECT_STATUS(t, FREE(c, t_post_send(&c->p->a, 4, c->out, 0, LEN, 0)), 0);
	if (!polled(c, c->p->a.icq, 4) || !polled(c, c->p->b.rcq, 4) || !polled(c, c->p->b.rcq, 1))
		return;
	EXPECT_STATUS(t, FREE(c, ndk_write(qp, CTX(5), &sge, 1, c->far->base, c->far->remote, 0)), 0);
	EXPECT_STATUS(t, FREE(c, ndk_read(qp, CTX(6), &sge, 1, c->far->base, c->far->remote, 0)), 0);
	if (!polled(c, c->p->a.icq, 2))
		return;
	FREE(c, (ndk_arm_cq(c->p->b.rcq->cq, NDK_CQ_NOTIFY_ANY), 0));
	FREE(c, (ndk_arm_cq(c->p->b.rcq->cq, NDK_CQ_NOTIFY_ERRORS), 0));
}

/*
 * Proves: SEND.no-resources, RECEIVE.no-resources, WRITE.no-resources, READ.no-resources, ARM_CQ.no-resources,
 * GET_CQ_RESULTS.no-resources
 */
static void the_data_path(struct t *t)
{
	struct costs *c = setup(t);
	int i;

	/* Until the first poll of a CQ the provider looks after its silent requests. */
	if (!c || !t_ping(&c->p->a, &c->p->b) || !t_ping(&c->p->b, &c->p->a))
		return;
#ifdef CONFIG_LOCKDEP
	struct tracepoint *tp = watch(t);

	if (!tp)
		return;
#endif
	/* The second time nothing is new, the third time nothing is due to the second; the others are for interrupts. */
	for (i = 0; i < 12; i++) {
		round_of_calls(c);
		/* To notify is to queue a work item, so what was armed does not stay so. */
		if (!t_ping(&c->p->a, &c->p->b))
			break;
	}
	judge_sites(t);
#ifdef CONFIG_LOCKDEP
	/* The watch sees. */
	begin();
	spin_lock_bh(&t->lock);
	spin_unlock_bh(&t->lock);
	EXPECT(t, locks() >= 1);
	unwatch(tp);
#endif
}

static const struct t_case cases[] = {
	{ "data_path_takes_no_lock_and_no_memory", the_data_path },
};

T_GROUP(costless, cases);
