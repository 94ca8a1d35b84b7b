// SPDX-License-Identifier: GPL-2.0
/* SRQs that fail, whose device goes, and that many QPs share at a time. */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "ndk_test.h"

/* --- the SRQ fails -------------------------------------------------------- */

/* The device says that its SRQs failed; ours is the only one. */
static bool srqs_fail(struct t *t, enum t_side side)
{
	struct net_device *netdev = dev_get_by_index(world.net[side], world.ifindex[side]);
	struct ib_event event = { .event = IB_EVENT_SRQ_ERR };
	struct rdma_restrack_entry *res;
	struct ib_device *device;
	bool found = false;
	u32 id;

	device = netdev ? ib_device_get_by_netdev(netdev, RDMA_DRIVER_UNKNOWN) : NULL;
	dev_put(netdev);
	if (!EXPECT(t, device))
		return false;
	event.device = device;
	for (id = 0; id < 4096 && !found; id++) {
		res = rdma_restrack_get_byid(device, RDMA_RESTRACK_SRQ, id);
		if (IS_ERR(res))
			continue;
		event.element.srq = container_of(res, struct ib_srq, res);
		local_bh_disable();
		event.element.srq->event_handler(&event, event.element.srq->srq_context);
		local_bh_enable();
		rdma_restrack_put(res);
		found = true;
	}
	ib_device_put(device);
	return EXPECT(t, found);
}

/* Proves: SRQ_NOTIFICATION_CALLBACK.ok, SRQ_RECEIVE.wrong-state, MODIFY_SRQ.wrong-state, CREATE_QP_WITH_SRQ.wrong-state */
static void fails(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, t->arg ? 4 : 0);
	void *out = t_poison();
	struct t_await *w;
	struct t_end *b;
	int i, status;

	if (!s || !t_shared_fill(s, 0, 6) || !srqs_fail(t, SIDE_B))
		return;
	if (wait_for_completion_timeout(&s->srq->notified, t_ticks(10)))
		EXPECT_STATUS(t, s->srq->status, -EIO);
	else
		t_fail(t, "the SRQ does not tell that it failed");
	for (i = 0; i < 2; i++)
		t_wait_gone(&s->b[i]);
	b = &s->b[0];
	EXPECT_STATUS(t, t_shared_post(s, 9), -EIO);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 32, 9), -EIO);
	w = t_await(t, "create QP with SRQ");
	EXPECT(t, !t_create_end(b, KIND_QP, w, t_create_call(b, KIND_QP, w, &out), &out, &status));
	EXPECT_STATUS(t, status, -EIO);
	srqs_fail(t, SIDE_B);
	t_srq_silent(s->srq, 30);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 1);
}

/* Proves: 12-removal, CREATE_SRQ.wrong-state, CREATE_QP_WITH_SRQ.wrong-state, MODIFY_SRQ.wrong-state, SRQ_RECEIVE.wrong-state */
/* Bug: B124 */
static void device_goes(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, t_srq_start(32, 64), 4);
	struct t_await *w;
	struct t_end *b;
	void *out = t_poison();
	int rc, status;

	if (!s || !t_shared_fill(s, 0, 12))
		return;
	b = &s->b[0];
	/* One is polled, one is not, the others are still there. */
	if (!t_shared_still_there(s, 0, 0, 1) || !t_shared_send(s, 1, 1))
		return;
	w = t_await(t, "modify SRQ");
	rc = ndk_modify_srq(s->srq->srq, 64, 0, t_done, w);
	if (t_host(t, "link_del b"))
		return;
	rc = t_wait(w, rc);
	if (rc)
		EXPECT_STATUS(t, rc, -ENODEV);
	t_wait_gone(b);
	t_shared_got(s, 1, 1, 1);
	EXPECT(t, t_no_result(b->rcq, 20));
	EXPECT_STATUS(t, t_shared_post(s, 20), -ENODEV);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 16, 4), -ENODEV);
	EXPECT(t, !t_try_create(b, KIND_SRQ, &status));
	EXPECT_STATUS(t, status, -ENODEV);
	w = t_await(t, "create QP with SRQ");
	EXPECT(t, !t_create_end(b, KIND_QP, w, t_create_call(b, KIND_QP, w, &out), &out, &status));
	EXPECT_STATUS(t, status, -ENODEV);
	/* It was told of once. */
	if (wait_for_completion_timeout(&s->srq->notified, t_ticks(10)))
		EXPECT_STATUS(t, s->srq->status, -EIO);
	t_srq_silent(s->srq, 20);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 1);
	t_host(t, "link_add b && link_ready b");
	t->side[SIDE_B] = NULL;
}

/* --- many at a time ------------------------------------------------------- */

#define MESSAGES 600
#define WINDOW 4

struct crowd {
	struct t *t;
	struct t_shared *s;
	spinlock_t lock;
	/* receives posted and not seen again, by their numbers */
	DECLARE_BITMAP(posted, T_PLACES);
	atomic_t running;
	struct completion done;
};

struct member {
	struct crowd *c;
	unsigned int i;
};

static bool repost(struct crowd *c, unsigned long ctx)
{
	int rc;

	/* The consumer serializes its posts. */
	spin_lock_bh(&c->lock);
	if (__test_and_set_bit(ctx, c->posted))
		t_fail(c->t, "receive %lu has completed without being posted", ctx);
	rc = t_shared_post(c->s, ctx);
	spin_unlock_bh(&c->lock);
	return EXPECT_STATUS(c->t, rc, 0);
}

static bool taken(struct crowd *c, struct member *m, const struct ndk_result_ex *r)
{
	unsigned long ctx = (unsigned long)r->request_context;
	bool was;

	if (!EXPECT_STATUS(c->t, r->status, 0) || !EXPECT(c->t, ctx < T_PLACES))
		return false;
	EXPECT(c->t, r->qp_context == &c->s->b[m->i]);
	/* Each sender has its own byte. */
	t_check_byte(c->t, c->s->in->va + ctx * T_MESSAGE, T_MESSAGE, 0x10 + m->i, "received");
	spin_lock_bh(&c->lock);
	was = __test_and_clear_bit(ctx, c->posted);
	spin_unlock_bh(&c->lock);
	return EXPECT(c->t, was) && repost(c, ctx);
}

static int talk(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->c;
	struct t_end *a = &c->s->a[m->i], *b = &c->s->b[m->i];
	unsigned long end = jiffies + t_ticks(60);
	unsigned int sent = 0, acked = 0, received = 0, n, k;
	struct ndk_result_ex r[8];

	memset(c->s->out[m->i]->va, 0x10 + m->i, T_MESSAGE);
	while ((acked < MESSAGES || received < MESSAGES) && time_before(jiffies, end)) {
		while (sent < MESSAGES && sent - acked < WINDOW) {
			if (!EXPECT_STATUS(c->t, t_post_send(a, sent, c->s->out[m->i], 0, T_MESSAGE, 0), 0))
				goto out;
			sent++;
		}
		n = ndk_get_cq_results_ex(a->icq->cq, r, ARRAY_SIZE(r));
		for (k = 0; k < n; k++)
			if (!EXPECT_STATUS(c->t, r[k].status, 0))
				goto out;
		acked += n;
		n = ndk_get_cq_results_ex(b->rcq->cq, r, ARRAY_SIZE(r));
		for (k = 0; k < n; k++)
			if (!taken(c, m, &r[k]))
				goto out;
		received += n;
		if (!n)
			usleep_range(20, 100);
	}
	EXPECT_EQ(c->t, acked, MESSAGES);
	EXPECT_EQ(c->t, received, MESSAGES);
out:
	if (atomic_dec_and_test(&c->running))
		complete(&c->done);
	return 0;
}

/* Eight QPs, each polled in a thread of its own, take from one SRQ of which the depth changes meanwhile. */
/* Proves: 8.5-results, SRQ_RECEIVE.ok, MODIFY_SRQ.ok */
/* Bug: B107 */
static void crowd(struct t *t)
{
	struct t_shared *s = t_shared(t, T_SHARED, t_srq_start(T_PLACES, 4 * T_PLACES), 0);
	struct crowd *c = t_alloc(t, sizeof(*c));
	struct member *m = t_alloc(t, T_SHARED * sizeof(*m));
	unsigned int i, depth = T_PLACES;

	if (!s)
		return;
	c->t = t;
	c->s = s;
	spin_lock_init(&c->lock);
	init_completion(&c->done);
	atomic_set(&c->running, T_SHARED);
	for (i = 0; i < T_PLACES; i++)
		if (!repost(c, i))
			return;
	for (i = 0; i < T_SHARED; i++) {
		m[i].c = c;
		m[i].i = i;
		if (IS_ERR(kthread_run(talk, &m[i], "ndk_test_talk")))
			talk(&m[i]);
	}
	while (!try_wait_for_completion(&c->done)) {
		depth = depth == T_PLACES ? 4 * T_PLACES : T_PLACES;
		EXPECT_STATUS(t, t_srq_modify(s->srq, depth, 0), 0);
		/* The threads that poll find the time. */
		t_sleep(100);
	}
	EXPECT_EQ(t, bitmap_weight(c->posted, T_PLACES), T_PLACES);
}

/* QPs come and go over receives that stay, and every receive comes back once. */
/* Proves: 8.5-results, 7.6-srq, CREATE_QP_WITH_SRQ.ok */
static void qps_come_and_go(struct t *t)
{
	struct t_shared *s = t_shared(t, 3, 32, 0);
	unsigned long next = 32, taken = 0;
	struct ndk_result_ex r;
	unsigned int round, i;
	struct t_end *a, *b;

	if (!s || !t_shared_fill(s, 0, 32))
		return;
	for (round = 0; round < 12; round++) {
		a = &s->a[round % 3];
		b = &s->b[round % 3];
		for (i = 0; i < 5; i++)
			if (!t_shared_send(s, (round + i) % 3, 1000 + i))
				return;
		/* With results that nobody has looked at, and without a goodbye. */
		t_close(t, &(round % 2 ? a : b)->connector->header);
		t_close(t, &(round % 2 ? b : a)->connector->header);
		t_close(t, &b->qp->header);
		t_close(t, &a->qp->header);
		for (i = 0; i < 3; i++) {
			while (ndk_get_cq_results_ex(s->b[i].rcq->cq, &r, 1)) {
				EXPECT_STATUS(t, r.status, 0);
				EXPECT(t, r.qp_context == &s->b[i]);
				EXPECT_EQ(t, (unsigned long)r.request_context < next, true);
				EXPECT_STATUS(t, t_shared_post(s, next++), 0);
				taken++;
			}
		}
		a->connector = NULL;
		b->connector = NULL;
		atomic_set(&a->gone, 0);
		atomic_set(&b->gone, 0);
		if (!t_end_qp(a) || !t_end_qp(b) || !t_establish(a, s->listener, b))
			return;
	}
	EXPECT_EQ(t, taken, 12 * 5);
	EXPECT_STATUS(t, t_shared_post(s, next), -ENOBUFS);
	t_shared_still_there(s, 0, next - 32, 32);
}

static const struct t_case cases[] = {
	{ "fails_unarmed", fails, false },
	{ "fails_armed", fails, true },
	{ "eight_qps_take_from_one_srq", crowd },
	{ "qps_come_and_go_over_one_srq", qps_come_and_go },
	{ "device_goes", device_goes },
};

T_GROUP(srq_crowd, cases);
