// SPDX-License-Identifier: GPL-2.0
/* SRQs: what ends when, and what becomes of the rest. */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <rdma/restrack.h>

#include "raw.h"

/* --- QPs that end --------------------------------------------------------- */

/* The receives are as they were: connection i gets them in their order. */
static bool still_there(struct t_shared *s, unsigned int i, unsigned long first, unsigned int nr)
{
	for (; nr--; first++)
		if (!t_shared_send(s, i, first) || !t_shared_got(s, i, first, first))
			return false;
	return true;
}

/* Proves: 7.6-srq, FLUSH.ok */
static void flush(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);

	if (!s || !t_shared_fill(s, 0, 6))
		return;
	ndk_flush(s->b[0].qp);
	EXPECT(t, t_no_result(s->b[0].rcq, 50));
	still_there(s, 1, 0, 6);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
}

/* Proves: 7.6-srq, DISCONNECT.ok, 3.1-QP, CLOSE_OBJECT.ok */
static void disconnect(struct t *t)
{
	struct t_shared *s = t_shared(t, 3, 16, 0);
	struct t_await *w[2];
	unsigned long start;
	int i;

	if (!s || !t_shared_fill(s, 0, 6) || !still_there(s, 0, 0, 1) || !still_there(s, 1, 1, 1))
		return;
	start = jiffies;
	for (i = 0; i < 2; i++) {
		/* From either side. */
		w[0] = t_disconnect_start(i ? &s->a[i] : &s->b[i]);
		if (!w[0] || !t_wait_gone(i ? &s->b[i] : &s->a[i]))
			return;
		w[1] = t_disconnect_start(i ? &s->b[i] : &s->a[i]);
		if (!w[1])
			return;
		EXPECT_STATUS(t, t_join(w[0]), 0);
		EXPECT_STATUS(t, t_join(w[1]), 0);
		t_close(t, &s->b[i].connector->header);
		t_close(t, &s->b[i].qp->header);
		EXPECT(t, t_no_result(s->b[i].rcq, 0));
	}
	/* Nothing had to be waited for. */
	if (time_after(jiffies, start + t_ticks(4)))
		t_fail(t, "two disconnects took %u ms", jiffies_to_msecs(jiffies - start));
	still_there(s, 2, 2, 4);
}

/* What a QP has received is the consumer's, also when the QP is gone before it looks. */
/* Proves: 8.5-results, 3.1-QP */
/* Bug: B55 */
static void results_of_closed_qp(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	unsigned long i;

	if (!s || !t_shared_fill(s, 0, 12))
		return;
	for (i = 0; i < 8; i++)
		if (!t_shared_send(s, i % 2, i))
			return;
	if (t->arg)
		ndk_flush(s->b[0].qp);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	for (i = 0; i < 8; i++)
		t_shared_got(s, i % 2, i, i);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
	still_there(s, 1, 8, 4);
}

/* Proves: 7.2-receive-too-small, 7.2-error-ends, 7.6-srq */
static void too_large_a_message(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	struct ndk_result_ex r;
	struct t_buf *large;

	if (!s || !t_shared_fill(s, 0, 5))
		return;
	large = t_buf(&s->a[0], 3 * PAGE_SIZE);
	if (!large)
		return;
	memset(s->in->va + T_MESSAGE, 0xee, T_MESSAGE);
	EXPECT_STATUS(t, t_post_send(&s->a[0], 1, large, 0, 3 * PAGE_SIZE, 0), 0);
	/* Some devices say no more than that the request was not in order. */
	if (t_take(s->b[0].rcq, &r) && r.status != -EBADRQC)
		EXPECT_STATUS(t, r.status, -EOVERFLOW);
	EXPECT_EQ(t, (long)r.request_context, 0);
	EXPECT(t, r.qp_context == &s->b[0]);
	t_wait_gone(&s->b[0]);
	t_wait_gone(&s->a[0]);
	t_check_byte(t, s->in->va + T_MESSAGE, T_MESSAGE, 0xee, "behind the receive");
	EXPECT_EQ(t, atomic_read(&s->b[1].gone), 0);
	still_there(s, 1, 1, 4);
}

/*
 * The sender goes when a part of its message is there. What has become of the receive is the device's affair; the others are
 * there for everybody else, and no byte of the broken message is.
 */
/* Proves: 7.2-error-ends, 7.6-srq, 3.1-QP */
static void message_breaks_off(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	unsigned long end = jiffies + t_ticks(10);
	unsigned int left = 15, i;
	struct ndk_result_ex r;
	struct t_buf *in, *out;

	if (!s)
		return;
	in = t_buf(&s->b[0], SZ_64K);
	out = t_buf(&s->a[0], SZ_64K);
	if (!in || !out)
		return;
	memset(in->va, 0, SZ_64K);
	memset(out->va, 0x5a, SZ_64K);
	EXPECT_STATUS(t, t_post_srq(s->srq, 100, in, 0, SZ_64K), 0);
	if (!t_shared_fill(s, 0, 15) || t_host(t, "netem a rate 1mbit"))
		return;
	EXPECT_STATUS(t, t_post_send(&s->a[0], 1, out, 0, SZ_64K, 0), 0);
	while (READ_ONCE(*(u8 *)in->va) != 0x5a && time_before(jiffies, end))
		t_sleep(1);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
	EXPECT_EQ(t, READ_ONCE(*(u8 *)in->va), 0x5a);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	t_host(t, "netem_off a");
	if (ndk_get_cq_results_ex(s->b[0].rcq->cq, &r, 1)) {
		EXPECT_STATUS(t, r.status, -ECANCELED);
		EXPECT_EQ(t, (long)r.request_context, 100);
		EXPECT(t, r.qp_context == &s->b[0]);
	}
	for (i = 0; i < left; i++)
		if (!t_shared_send(s, 1, i) || !t_shared_got(s, 1, i, i))
			return;
	/* All have been there and back, so all can be posted again. */
	t_shared_fill(s, 0, 15);
}

/* Proves: 7.2-empty-srq, 3.9, CLOSE_OBJECT.close-pending */
static void closed_with_a_message_waiting(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 16, 0);
	struct ndk_result_ex r;

	if (!s)
		return;
	EXPECT_STATUS(t, t_post_send(&s->a[0], 1, s->out[0], 0, T_MESSAGE, 0), 0);
	t_sleep(30);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	if (t_take(s->a[0].icq, &r))
		EXPECT(t, r.status);
	t_wait_gone(&s->a[0]);
	if (t_shared_fill(s, 0, 2))
		still_there(s, 1, 0, 2);
}

/* --- the SRQ ends --------------------------------------------------------- */

/* Proves: 3.1-SRQ, SRQ_RECEIVE.close-pending, 3.9 */
static void receives_are_dropped(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 16, 0);
	struct t_await *w;

	if (!s || !t_shared_fill(s, 0, 16) || !still_there(s, 0, 0, 4))
		return;
	w = t_close_start(t, &s->srq->srq->header);
	t_sleep(30);
	EXPECT(t, w->pending && !t_is_done(w));
	/* Its QP goes on with what is there. */
	still_there(s, 0, 4, 4);
	t_close(t, &s->b[0].connector->header);
	EXPECT(t, !t_is_done(w));
	t_close(t, &s->b[0].qp->header);
	t_join(w);
	EXPECT(t, t_no_result(s->b[0].rcq, 0));
}

/* Proves: CREATE_SRQ.close-pending, CREATE_QP_WITH_SRQ.close-pending, MODIFY_SRQ.close-pending, 3.6, 3.8, 2.4-pending */
static void closed_while_pending(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *h;
	struct t_await *w, *modify, *closing[2];
	struct t_srq *s;
	void *out;
	int rc, status, i;

	for (i = 0; i < 5; i++) {
		if (!t_end_init(t, e, SIDE_A, NULL))
			return;
		s = t_srq(e, 16, 0);
		if (!s)
			return;
		e->srq = s->srq;
		out = t_poison();
		modify = t_await(t, "modify SRQ");
		if (!t_pended(modify, ndk_modify_srq(s->srq, 8, 0, t_done, modify)))
			return;
		w = t_await(t, "create QP with SRQ");
		rc = t_create_call(e, KIND_QP, w, &out);
		closing[0] = t_close_start(t, &s->srq->header);
		h = t_create_end(e, KIND_QP, w, rc, &out, &status);
		if (h) {
			t_sleep(10);
			EXPECT(t, !t_is_done(closing[0]));
			t_close(t, h);
		}
		t_join(closing[0]);
		EXPECT(t, t_is_done(modify));
		rc = t_join(modify);
		if (rc)
			EXPECT_STATUS(t, rc, -ECANCELED);
		out = t_poison();
		e->srq = NULL;
		w = t_await(t, "create SRQ");
		rc = t_create_call(e, KIND_SRQ, w, &out);
		closing[1] = t_close_start(t, &e->pd->header);
		h = t_create_end(e, KIND_SRQ, w, rc, &out, &status);
		if (h) {
			t_sleep(10);
			EXPECT(t, !t_is_done(closing[1]));
			t_close(t, h);
		}
		t_join(closing[1]);
	}
}

struct inside {
	struct t_await *closing;
	struct completion begun;
	bool left;
};

static void close_in_notification(struct t_srq *s)
{
	struct inside *i = s->arg;

	i->closing = t_close_start(s->t, &s->srq->header);
	mdelay(20);
	EXPECT(s->t, !t_is_done(i->closing));
	WRITE_ONCE(i->left, true);
}

static void linger(struct t_srq *s)
{
	struct inside *i = s->arg;

	complete(&i->begun);
	mdelay(30);
	WRITE_ONCE(i->left, true);
}

static void after_it_left(struct t_await *w)
{
	struct inside *i = w->arg;

	EXPECT(w->t, READ_ONCE(i->left));
}

/* Proves: SRQ_NOTIFICATION_CALLBACK.close-pending, 3.10, 3.4, 3.1-SRQ, CLOSE_OBJECT.softirq */
static void closed_in_its_notification(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct inside *i = t_alloc(t, sizeof(*i));
	struct t_await *modify;
	struct t_srq *s;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	init_completion(&i->begun);
	s = t_srq(e, 16, 0);
	if (!s)
		return;
	s->arg = i;
	s->then = close_in_notification;
	modify = t_await(t, "modify SRQ");
	if (!t_pended(modify, ndk_modify_srq(s->srq, 0, 4, t_done, modify)))
		return;
	t_srq_low(s);
	if (EXPECT(t, i->closing))
		t_join(i->closing);
	EXPECT_STATUS(t, t_join(modify), 0);

	i->left = false;
	s = t_srq(e, 16, 0);
	if (!s)
		return;
	s->arg = i;
	s->then = linger;
	EXPECT_STATUS(t, t_srq_modify(s, 0, 4), 0);
	if (!wait_for_completion_timeout(&i->begun, t_ticks(10))) {
		t_fail(t, "the SRQ does not notify");
		return;
	}
	t_join(t_close_then(t, &s->srq->header, after_it_left, i));
}

static void close_in_completion(struct t_await *w)
{
	struct t_srq *s = w->arg;
	struct inside *i = s->arg;

	i->closing = t_close_start(w->t, &s->srq->header);
}

/* Proves: 3.4, 3.2, REQUEST_COMPLETION.close-pending */
static void closed_in_the_completion_of_modify(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct inside *i = t_alloc(t, sizeof(*i));
	struct t_await *w;
	struct t_srq *s;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s = t_srq(e, t_srq_start(16, 32), 0);
	if (!s)
		return;
	s->arg = i;
	w = t_await(t, "modify SRQ");
	w->then = close_in_completion;
	w->arg = s;
	EXPECT_STATUS(t, t_wait(w, ndk_modify_srq(s->srq, 32, 0, t_done, w)), 0);
	if (EXPECT(t, i->closing))
		t_join(i->closing);
}

/* Proves: 3.8, SRQ_NOTIFICATION_CALLBACK.wrong-state */
static void silent_after_its_close(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 16, 0);
	struct t_await *w;

	if (!s || !t_shared_fill(s, 0, 4))
		return;
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 3), 0);
	w = t_close_start(t, &s->srq->srq->header);
	still_there(s, 0, 0, 4);
	t_srq_silent(s->srq, 30);
	t_close(t, &s->b[0].connector->header);
	t_close(t, &s->b[0].qp->header);
	t_join(w);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 0);
}

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
	if (!still_there(s, 0, 0, 1) || !t_shared_send(s, 1, 1))
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
	still_there(s, 0, next - 32, 32);
}

static const struct t_case cases[] = {
	{ "flush_leaves_receives_alone", flush },
	{ "disconnect_leaves_receives_alone", disconnect },
	{ "results_outlive_their_qp", results_of_closed_qp, false },
	{ "results_outlive_their_flushed_qp", results_of_closed_qp, true },
	{ "message_too_large_ends_one_connection", too_large_a_message },
	{ "message_breaks_off", message_breaks_off },
	{ "qp_closed_with_a_message_waiting", closed_with_a_message_waiting },
	{ "srq_closed_before_its_qp", receives_are_dropped },
	{ "closed_while_requests_pend", closed_while_pending },
	{ "closed_in_its_notification", closed_in_its_notification },
	{ "closed_in_the_completion_of_modify", closed_in_the_completion_of_modify },
	{ "silent_after_its_close", silent_after_its_close },
	{ "fails_unarmed", fails, false },
	{ "fails_armed", fails, true },
	{ "eight_qps_take_from_one_srq", crowd },
	{ "qps_come_and_go_over_one_srq", qps_come_and_go },
	{ "device_goes", device_goes },
};

T_GROUP(srq_life, cases);
