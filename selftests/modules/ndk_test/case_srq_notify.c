// SPDX-License-Identifier: GPL-2.0
/* When an SRQ tells that it runs low. */

#include <linux/cpumask.h>

#include "ndk_test.h"

/* --- notification --------------------------------------------------------- */

/* Proves: SRQ_NOTIFICATION_CALLBACK.ok, 12-srq-falling, 8.5-threshold-once, SRQ_NOTIFICATION_CALLBACK.wrong-state */
static void falling_edge(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 32, 3);

	if (!s)
		return;
	/* Empty, and with less than the threshold, it has not fallen yet. */
	if (!t_shared_fill(s, 0, 2) || !t_shared_send(s, 0, 50) || !t_shared_send(s, 1, 51))
		return;
	t_shared_got(s, 0, 0, 50);
	t_shared_got(s, 1, 1, 51);
	t_srq_silent(s->srq, 50);
	if (!t_shared_fill(s, 2, 4))
		return;
	t_srq_silent(s->srq, 50);
	/* Four are left, then three, then two. Nobody polls for the notification. */
	if (!t_shared_send(s, 0, 52))
		return;
	t_srq_silent(s->srq, 50);
	if (!t_shared_send(s, 1, 53) || !t_srq_low(s->srq))
		return;
	/* Once. */
	if (!t_shared_send(s, 0, 54) || !t_shared_send(s, 1, 55))
		return;
	t_shared_got(s, 0, 2, 52);
	t_shared_got(s, 1, 3, 53);
	t_shared_got(s, 0, 4, 54);
	t_shared_got(s, 1, 5, 55);
	t_srq_silent(s->srq, 50);
	if (!t_shared_fill(s, 6, 8) || !t_shared_send(s, 0, 56))
		return;
	t_srq_silent(s->srq, 50);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 1);
}

/* Proves: MODIFY_SRQ.ok, 8.5-threshold-once, SRQ_NOTIFICATION_CALLBACK.ok */
static void armed_again(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 32, 0);
	unsigned int i;

	if (!s || !t_shared_fill(s, 0, 20))
		return;
	for (i = 0; i < 4; i++) {
		/* 20, 18, 16, 14 are there: one less is enough, and still not below the threshold; two are. */
		if (!EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 19 - 2 * i), 0) || !t_shared_send(s, 0, 60))
			return;
		t_srq_silent(s->srq, 20);
		if (!t_shared_send(s, 0, 61) || !t_srq_low(s->srq))
			return;
		t_shared_got(s, 0, 2 * i, 60);
		t_shared_got(s, 0, 2 * i + 1, 61);
		t_srq_silent(s->srq, 20);
	}
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 4);
}

/* Proves: MODIFY_SRQ.ok, 8.5-threshold-now */
/* Bug: B59 */
static void below_already(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 32, 0);

	if (!s)
		return;
	/* Of an empty one. */
	if (!EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 1), 0) || !t_srq_low(s->srq))
		return;
	if (!t_shared_fill(s, 0, 4))
		return;
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 4), 0);
	t_srq_silent(s->srq, 30);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 5), 0);
	if (!t_srq_low(s->srq))
		return;
	/* What waits to be polled is not queued any more. */
	if (!t_shared_send(s, 0, 70) || !t_shared_send(s, 1, 71) || !t_shared_send(s, 0, 72))
		return;
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 2), 0);
	if (!t_srq_low(s->srq))
		return;
	/* More than it can ever have. */
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, ~0), 0);
	if (!t_srq_low(s->srq))
		return;
	t_srq_silent(s->srq, 30);
	t_shared_got(s, 0, 0, 70);
	t_shared_got(s, 1, 1, 71);
	t_shared_got(s, 0, 2, 72);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 4);
}

/* Proves: MODIFY_SRQ.ok, 8.5-threshold-zero */
static void threshold_is_kept(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, t_srq_start(8, 32), 2);

	if (!s || !t_shared_fill(s, 0, 3))
		return;
	/* Armed, and so it stays. */
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 0), 0);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 16, 0), 0);
	if (!t_shared_send(s, 0, 80))
		return;
	t_srq_silent(s->srq, 30);
	if (!t_shared_send(s, 0, 81) || !t_srq_low(s->srq))
		return;
	/* Not armed, and so it stays. */
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 0), 0);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 32, 0), 0);
	if (!t_shared_send(s, 0, 82))
		return;
	t_srq_silent(s->srq, 30);
	/* The depth is kept in turn: 3 taken, none polled, and so 32 fit when they are. */
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 1), 0);
	t_srq_low(s->srq);
	t_shared_got(s, 0, 0, 80);
	t_shared_got(s, 0, 1, 81);
	t_shared_got(s, 0, 2, 82);
	t_shared_fill(s, 3, 32);
	EXPECT_STATUS(t, t_shared_post(s, 35), -ENOBUFS);
}

/* A stale answer of the device to the first threshold must not be taken for the second. */
/* Proves: 8.5-threshold-once, MODIFY_SRQ.ok */
static void lowered_threshold(struct t *t)
{
	struct t_shared *s = t_shared(t, 1, 64, 0);
	unsigned int i;

	if (!s || !t_shared_fill(s, 0, 20))
		return;
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 18), 0);
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 3), 0);
	for (i = 0; i < 17; i++)
		if (!t_shared_send(s, 0, i) || !t_shared_got(s, 0, i, i))
			return;
	t_srq_silent(s->srq, 50);
	t_shared_send(s, 0, 17);
	t_srq_low(s->srq);
	EXPECT_EQ(t, atomic_read(&s->srq->calls), 1);
}

struct refill {
	struct t_shared *s;
	unsigned int next;
	struct t_await *modify[40];
	unsigned int modifies;
};

/* What a consumer does: posts what is missing, and arms again, from inside the notification. */
static void refill(struct t_srq *srq)
{
	struct refill *f = srq->arg;
	unsigned int i = f->modifies;

	while (!t_shared_post(f->s, f->next))
		f->next++;
	if (i == ARRAY_SIZE(f->modify))
		return;
	f->modify[i] = t_await(srq->t, "modify SRQ in a notification");
	if (t_pended(f->modify[i], ndk_modify_srq(srq->srq, 0, 4, t_done, f->modify[i])))
		WRITE_ONCE(f->modifies, i + 1);
}

/* Proves: SRQ_RECEIVE.softirq, MODIFY_SRQ.softirq, SRQ_NOTIFICATION_CALLBACK.softirq, 8.5-threshold-once */
/* Bug: B28 */
static void refilled_by_notifications(struct t *t)
{
	struct t_shared *s = t_shared(t, 2, 8, 0);
	struct refill *f = t_alloc(t, sizeof(*f));
	unsigned int i;

	if (!s)
		return;
	f->s = s;
	s->srq->arg = f;
	s->srq->then = refill;
	EXPECT_STATUS(t, t_srq_modify(s->srq, 0, 1), 0);
	for (i = 0; i < 100; i++)
		if (!t_shared_send(s, i % 2, i) || !t_shared_got(s, i % 2, i, i))
			return;
	EXPECT(t, f->next >= 100 && atomic_read(&s->srq->calls) >= 100 / 8);
	WRITE_ONCE(s->srq->then, NULL);
	for (i = 0; i < READ_ONCE(f->modifies); i++)
		EXPECT_STATUS(t, t_join(f->modify[i]), 0);
}

/* Proves: 8.2-affinity, SRQ_NOTIFICATION_CALLBACK.ok */
static void affinity(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_srq *s = t_alloc(t, sizeof(*s));
	struct ndk_object_header *h;
	struct t_await *w;
	void *out;
	int cpu, status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	s->t = t;
	s->e = e;
	init_completion(&s->notified);
	for_each_online_cpu(cpu) {
		w = t_await(t, "create SRQ");
		out = t_poison();
		h = t_create_end(e, KIND_SRQ, w, t_srq_call(s, 4, 1, 0, cpu, w, &out), &out, &status);
		if (!EXPECT(t, h))
			return;
		s->srq = container_of(h, struct ndk_srq, header);
		EXPECT_STATUS(t, t_srq_modify(s, 0, 1), 0);
		if (t_srq_low(s))
			EXPECT_EQ(t, s->cpu, cpu);
		t_close(t, h);
	}
}

static const struct t_case cases[] = {
	{ "notifies_of_a_fall", falling_edge },
	{ "notifies_when_armed_again", armed_again },
	{ "notifies_at_once_below_the_threshold", below_already },
	{ "threshold_zero_keeps_what_there_is", threshold_is_kept },
	{ "lower_threshold_takes_the_place_of_a_higher", lowered_threshold },
	{ "refilled_by_its_notifications", refilled_by_notifications },
	{ "notifies_where_it_is_wanted", affinity },
};

T_GROUP(srq_notify, cases);
