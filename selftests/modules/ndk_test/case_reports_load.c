// SPDX-License-Identifier: GPL-2.0
/* Load: what was reported of other drivers and consumers when many do much at once (Documentation/bug-rows). */

#include <linux/kthread.h>
#include <linux/wait.h>

#include "ndk_test.h"

/* --- room ----------------------------------------------------------------- */

#define POSTERS 8
#define EACH 40

struct crowd {
	struct t *t;
	struct t_pair *p;
	/* NDKPI: posts to one queue are the consumer's to serialize. */
	spinlock_t lock;
	wait_queue_head_t room;
	atomic_t taken, running;
};

static void makes_room(struct t_cq *cq)
{
	struct crowd *c = cq->arg;
	struct ndk_result_ex r[4];
	u32 n;

	n = ndk_get_cq_results_ex(cq->cq, r, ARRAY_SIZE(r));
	atomic_add(n, &c->taken);
	ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
	wake_up_all(&c->room);
}

static bool sent_one(struct crowd *c)
{
	int rc;

	spin_lock_bh(&c->lock);
	rc = t_post_send(&c->p->a, 1, NULL, 0, 0, 0);
	spin_unlock_bh(&c->lock);
	if (rc && rc != -ENOBUFS)
		t_fail(c->t, "send: %s", t_errname(rc));
	return rc != -ENOBUFS;
}

static int posts(void *arg)
{
	struct crowd *c = arg;
	int i;

	for (i = 0; i < EACH; i++) {
		if (!wait_event_timeout(c->room, sent_one(c), t_ticks(10))) {
			t_fail(c->t, "no room in ten seconds");
			break;
		}
	}
	atomic_dec(&c->running);
	wake_up_all(&c->room);
	return 0;
}

static void takes(struct t_cq *cq)
{
	struct crowd *c = cq->arg;
	struct ndk_result_ex r[4];
	u32 n = ndk_get_cq_results_ex(cq->cq, r, ARRAY_SIZE(r));

	while (n--)
		t_post_receive(&c->p->b, 1, NULL, 0, 0);
	ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
}

static bool crowd_is_done(struct crowd *c)
{
	return !atomic_read(&c->running) && atomic_read(&c->taken) >= POSTERS * EACH;
}

/* Eight who post to a queue of one to four, and wait for room where there is none: nobody is forgotten. */
/* Bug: B69, B70, K6 */
static void little_room(struct t *t)
{
	const struct t_cfg cfg = { .depth = t->arg, .cq_depth = 16 };
	struct crowd *c = t_alloc(t, sizeof(*c));
	int i, taken;

	c->t = t;
	c->p = t_pair_unconnected(t, &cfg);
	if (!c->p)
		return;
	spin_lock_init(&c->lock);
	init_waitqueue_head(&c->room);
	for (i = 0; i < t->arg; i++)
		EXPECT_STATUS(t, t_post_receive(&c->p->b, 1, NULL, 0, 0), 0);
	c->p->b.rcq->arg = c;
	c->p->a.icq->arg = c;
	WRITE_ONCE(c->p->b.rcq->then, takes);
	WRITE_ONCE(c->p->a.icq->then, makes_room);
	ndk_arm_cq(c->p->b.rcq->cq, NDK_CQ_NOTIFY_ANY);
	ndk_arm_cq(c->p->a.icq->cq, NDK_CQ_NOTIFY_ANY);
	if (!t_establish(&c->p->a, c->p->listener, &c->p->b))
		return;
	for (i = 0; i < POSTERS; i++) {
		atomic_inc(&c->running);
		if (IS_ERR(kthread_run(posts, c, "ndk_test_post/%d", i)))
			atomic_dec(&c->running);
	}
	do {
		taken = atomic_read(&c->taken);
		wait_event_timeout(c->room, crowd_is_done(c), t_ticks(10));
	} while (!crowd_is_done(c) && atomic_read(&c->taken) > taken);
	if (!crowd_is_done(c))
		t_fail(t, "no message in ten seconds after %d of %d", taken, POSTERS * EACH);
	t_cq_stop(c->p->a.icq);
	t_cq_stop(c->p->b.rcq);
}

/* --- connections over one CQ ---------------------------------------------- */

/* QP after QP on two CQs, each with requests that are never polled until it is gone: they take no room from the next one. */
/* Bug: B109 */
static void one_cq(struct t *t)
{
	const struct t_cfg cfg = { .depth = 4, .one_cq = true, .cq_depth = 16 };
	unsigned int i, j, rounds = t_long ? 150 : 30;
	struct t_end *a = t_alloc(t, sizeof(*a)), *b = t_alloc(t, sizeof(*b));
	struct ndk_result_ex r[16];
	struct t_listener *l;
	struct t_await *qa, *qb;
	u32 n;

	if (!t_end_init(t, a, SIDE_A, &cfg) || !t_end_init(t, b, SIDE_B, &cfg))
		return;
	l = t_listening(b, AF_INET, 0);
	for (i = 0; l && i < rounds && !t->failures; i++) {
		reinit_completion(&a->gone_done);
		reinit_completion(&b->gone_done);
		atomic_set(&a->gone, 0);
		atomic_set(&b->gone, 0);
		a->connector = NULL;
		if (!t_end_qp(a) || !t_end_qp(b))
			return;
		for (j = 0; j < 4; j++)
			EXPECT_STATUS(t, t_post_receive(b, j, NULL, 0, 0), 0);
		if (!t_establish(a, l, b))
			return;
		for (j = 0; j < 4; j++)
			EXPECT_STATUS(t, t_post_send(a, j, NULL, 0, 0, 0), 0);
		t_close(t, &a->connector->header);
		t_wait_gone(b);
		t_close(t, &b->connector->header);
		qa = t_close_start(t, &a->qp->header);
		qb = t_close_start(t, &b->qp->header);
		t_join(qa);
		t_join(qb);
		n = ndk_get_cq_results_ex(a->rcq->cq, r, ARRAY_SIZE(r));
		EXPECT_EQ(t, n, 4);
		n = ndk_get_cq_results_ex(b->rcq->cq, r, ARRAY_SIZE(r));
		EXPECT_EQ(t, n, 4);
	}
}

/* --- many at once --------------------------------------------------------- */

#define THREADS 4
#define TIMES 4

struct threads {
	struct t *t;
	struct t_pair *pairs[THREADS][TIMES];
	atomic_t running;
	struct completion ended;
};

struct thread {
	struct threads *all;
	unsigned int nr;
};

static int connects(void *arg)
{
	struct thread *self = arg;
	struct threads *all = self->all;
	unsigned int i;

	for (i = 0; i < TIMES; i++) {
		struct t_pair *p = all->pairs[self->nr][i];

		if (!t_establish(&p->a, p->listener, &p->b))
			break;
		t_close(all->t, &p->a.connector->header);
		t_close(all->t, &p->b.connector->header);
	}
	if (atomic_dec_and_test(&all->running))
		complete(&all->ended);
	return 0;
}

/* Bug: B7, K19 */
static void threads_connect(struct t *t)
{
	const struct t_cfg cfg = { .depth = 4, .cq_depth = 16 };
	struct threads *all = t_alloc(t, sizeof(*all));
	struct thread *self = t_alloc(t, THREADS * sizeof(*self));
	unsigned int i, j;

	all->t = t;
	init_completion(&all->ended);
	for (i = 0; i < THREADS; i++) {
		for (j = 0; j < TIMES; j++) {
			all->pairs[i][j] = t_pair_unconnected(t, &cfg);
			if (!all->pairs[i][j])
				return;
		}
	}
	atomic_set(&all->running, THREADS);
	for (i = 0; i < THREADS; i++) {
		self[i] = (struct thread) { all, i };
		if (IS_ERR(kthread_run(connects, &self[i], "ndk_test_conn/%d", i)))
			connects(&self[i]);
	}
	if (!wait_for_completion_timeout(&all->ended, t_ticks(60))) {
		t_fail(t, "%d threads have not ended in a minute", atomic_read(&all->running));
		wait_for_completion(&all->ended);
	}
}

/* --- a flood -------------------------------------------------------------- */

#define FLOODS 4

struct flood {
	struct t_pair *p;
	atomic_t results;
	/* Somebody else may end the connection. */
	bool may_fail;
	bool stop;
};

static void pours(struct t_cq *cq)
{
	struct flood *f = cq->arg;
	struct t_end *e = cq == f->p->a.rcq ? &f->p->a : &f->p->b;
	struct ndk_result_ex r[8];
	u32 n, i;

	n = ndk_get_cq_results_ex(cq->cq, r, ARRAY_SIZE(r));
	atomic_add(n, &f->results);
	for (i = 0; i < n && !READ_ONCE(f->stop); i++) {
		if (r[i].status && !f->may_fail)
			t_fail(e->t, "%s in the flood", t_errname(r[i].status));
		else if (r[i].status)
			WRITE_ONCE(f->stop, true);
		else if (r[i].type == NDK_OPERATION_RECEIVE)
			t_post_receive(e, 1, NULL, 0, 0);
		else
			t_post_send(e, 2, NULL, 0, 0, 0);
	}
	ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
}

static bool flood(struct t *t, struct flood *f)
{
	const struct t_cfg cfg = { .depth = 8, .one_cq = true, .cq_depth = 64 };
	unsigned int i, side;
	struct t_end *e;

	f->p = t_pair_unconnected(t, &cfg);
	if (!f->p)
		return false;
	for (side = 0; side < 2; side++) {
		e = side ? &f->p->b : &f->p->a;
		for (i = 0; i < 8; i++)
			EXPECT_STATUS(t, t_post_receive(e, 1, NULL, 0, 0), 0);
		e->rcq->arg = f;
		WRITE_ONCE(e->rcq->then, pours);
		ndk_arm_cq(e->rcq->cq, NDK_CQ_NOTIFY_ANY);
	}
	if (!t_establish(&f->p->a, f->p->listener, &f->p->b))
		return false;
	for (i = 0; i < 4; i++) {
		EXPECT_STATUS(t, t_post_send(&f->p->a, 2, NULL, 0, 0, 0), 0);
		EXPECT_STATUS(t, t_post_send(&f->p->b, 2, NULL, 0, 0, 0), 0);
	}
	return true;
}

/*
 * Notifications without end on eight CQs: tasks sleep and wake up, and other CQs notify, as if there were none. The measure is
 * coarse, since a busy machine has pauses of its own; work without end would have no end.
 */
/* Bug: B54, B61, K19 */
static void tasks_under_a_flood(struct t *t)
{
	struct flood *f = t_alloc(t, FLOODS * sizeof(*f));
	struct t_pair *p = t_pair(t, NULL);
	unsigned int i, before[FLOODS];
	u64 start, longest = 0;

	for (i = 0; p && i < FLOODS; i++)
		if (!flood(t, &f[i]))
			goto out;
	for (i = 0; i < FLOODS; i++)
		before[i] = atomic_read(&f[i].results);
	for (i = 0; p && i < 150; i++) {
		start = ktime_get_ns();
		t_sleep(1);
		longest = max(longest, ktime_get_ns() - start);
		if (i % 50 == 0 && !t_ping(&p->a, &p->b))
			break;
	}
	EXPECT(t, longest < 3ULL * t_scale * NSEC_PER_SEC);
	for (i = 0; i < FLOODS; i++)
		EXPECT(t, atomic_read(&f[i].results) - before[i] > 8);
out:
	for (i = 0; i < FLOODS; i++)
		WRITE_ONCE(f[i].stop, true);
	for (i = 0; i < FLOODS && f[i].p; i++) {
		t_cq_stop(f[i].p->a.rcq);
		t_cq_stop(f[i].p->b.rcq);
	}
}

/*
 * Datagrams that nobody of ours has sent, to the QPs that there are, under traffic: with any opcode and length, and a good
 * checksum, so that they are looked at. They may end a connection, as whoever is on the path can, and nothing else.
 */
/* Bug: B49, B50 */
static void random_datagrams(struct t *t)
{
	struct flood *f = t_alloc(t, FLOODS * sizeof(*f));
	struct t_pair *p;
	unsigned int i;

	/* Without traffic what the device has received was ours. */
	if (t_long && t_host(t, "noise 1 %llu", t_soak.seed + 1))
		return;
	for (i = 0; i < FLOODS / 2; i++) {
		f[i].may_fail = true;
		if (!flood(t, &f[i]))
			goto out;
	}
	t_host(t, "noise %u %llu", t_long ? 60 : 1, t_soak.seed);
	p = t_pair(t, NULL);
	if (p)
		t_ping(&p->a, &p->b);
out:
	for (i = 0; i < FLOODS; i++)
		WRITE_ONCE(f[i].stop, true);
	for (i = 0; i < FLOODS && f[i].p; i++) {
		t_cq_stop(f[i].p->a.rcq);
		t_cq_stop(f[i].p->b.rcq);
	}
}

static const struct t_case cases[] = {
	{ "eight_posters_with_room_for_1", little_room, 1 },
	{ "eight_posters_with_room_for_2", little_room, 2 },
	{ "eight_posters_with_room_for_4", little_room, 4 },
	{ "connection_after_connection_over_one_cq", one_cq },
	{ "threads_connect_at_once", threads_connect },
	{ "tasks_go_on_under_a_flood", tasks_under_a_flood },
	{ "random_datagrams_under_traffic", random_datagrams },
};

T_GROUP(reports_load, cases);
