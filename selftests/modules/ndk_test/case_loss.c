// SPDX-License-Identifier: GPL-2.0
/*
 * Packets get lost, or arrive in another order: the transport sends them again, and no consumer sees it. Lost on the way in only: one
 * that is lost on the way out is to rxe a failure of its own.
 */

#include <linux/jiffies.h>

#include "soak.h"

enum { ONE_IN_100, ONE_IN_10, REORDERED };

/* loss() and netem() are in selftests/lib.sh. The answers get lost as well, if less: whoever is not answered seven times gives up. */
static bool begin_loss(struct t *t, long kind)
{
	switch (kind) {
	case ONE_IN_100:
		return !t_host(t, "loss a 10 && loss b 10");
	case ONE_IN_10:
		return !t_host(t, "loss a 10 && loss b 100");
	default:
		return !t_host(t, "netem a delay 10ms reorder 80%% limit 20000 && netem b delay 10ms reorder 80%% limit 20000");
	}
}

static void end_loss(struct t *t, long kind)
{
	if (kind == REORDERED)
		t_host(t, "netem_off a && netem_off b");
	else
		t_host(t, "loss_off a && loss_off b");
}

static s64 moved(struct soak *k)
{
	return atomic64_read(&k->count[N_MESSAGES]) + atomic64_read(&k->count[N_WRITES]) + atomic64_read(&k->count[N_READS]);
}

/*
 * Sends, writes and reads, registrations, windows and invalidations behind them in the queue, on all connections at once.
 * Proves: 7.1-accepted, 7.2-order, 7.7-tokens-early
 * Bug: B32, B51, K12
 */
static void under_loss(struct t *t)
{
	struct soak *k = sk_new(t, t_soak.connections, SZ_8K, t_soak.seed + t->arg);
	unsigned long start = jiffies, last = jiffies;
	unsigned int i, up;
	s64 now, before = 0;

	if (!k)
		return;
	k->steady = true;
	/* What limits.rst says of rxe: responses that come out of order, or get lost with requests behind, can give wrong bytes. */
	k->no_reads = t->arg == REORDERED;
	k->lone_reads = true;
	k->end = jiffies + t_ticks(7200);
	/* Another queueing discipline drops what is on its way out, so this one is there before all and goes after all. */
	if (t->arg == REORDERED && !begin_loss(t, t->arg))
		return;
	if (sk_start(k)) {
		/* What is under test is the connection, not how it comes about. */
		do {
			t_sleep(20);
			for (i = 0, up = 0; i < k->slots; i++)
				up += READ_ONCE(k->slot[i]->state) == SLOT_UP;
		} while (up < k->slots && !atomic_read(&k->stop) && time_before(jiffies, start + t_ticks(180)));
		EXPECT_EQ(t, up, k->slots);
		atomic64_set(&k->count[N_MESSAGES], 0);
		start = jiffies;
		if (t->arg == REORDERED || begin_loss(t, t->arg)) {
			do {
				t_sleep(50);
				now = moved(k);
				WRITE_ONCE(t_soak.done, now);
				if (now != before)
					last = jiffies;
				before = now;
			} while (now < t_soak.messages && !atomic_read(&k->stop) && time_before(jiffies, last + t_ticks(60)));
			if (now < t_soak.messages && !t->failures)
				t_fail(t, "nothing moves any more after %lld of %u transfers", now, t_soak.messages);
			if (t->arg != REORDERED)
				end_loss(t, t->arg);
		}
		t_note(t, "%lld transfers in %u ms", moved(k), jiffies_to_msecs(jiffies - start));
		/* What is still under way ends as well: every request has its result before anything is closed. */
		k->draining = true;
		for (i = 0, last = jiffies; i < k->slots && time_before(jiffies, last + t_ticks(60));) {
			if (sk_sends_outstanding(&k->slot[i]->a) || sk_sends_outstanding(&k->slot[i]->b))
				t_sleep(20);
			else
				i++;
		}
		if (i < k->slots) {
			sk_fail(&k->slot[i]->o, "requests have no result");
			sk_tell_outstanding(&k->slot[i]->a);
			sk_tell_outstanding(&k->slot[i]->b);
		}
		atomic_set(&k->stop, 1);
		sk_join(k);
	}
	sk_finish(k);
	if (t->arg == REORDERED)
		end_loss(t, t->arg);
	sk_report(k);
}

/* --- a receiver that is late ------------------------------------------------ */

#define BATCH 16
#define LEN 256

/*
 * The receives come ten times as late as what the receiver's device asks its peer to wait, again and again.
 * Proves: 7.2-no-receive, 12-slow-consumer
 * Bug: B35
 */
static void late_receives(struct t *t)
{
	const struct t_cfg cfg = { .depth = 2 * BATCH, .cq_depth = 8 * BATCH };
	struct t_pair *p = t_pair(t, &cfg);
	struct t_buf *out, *in;
	unsigned int sent = 0, got = 0, i;

	if (!p)
		return;
	out = t_buf(&p->a, BATCH * LEN);
	in = t_buf(&p->b, BATCH * LEN);
	if (!out || !in)
		return;
	while (got < t_soak.messages) {
		for (i = 0; i < BATCH; i++, sent++) {
			t_fill(out->va + i * LEN, LEN, sent);
			if (!EXPECT_STATUS(t, t_post_send(&p->a, sent, out, i * LEN, LEN, 0), 0))
				return;
		}
		/* The RNR timer is 0.64 ms. */
		t_sleep(7);
		for (i = 0; i < BATCH; i++)
			if (!EXPECT_STATUS(t, t_post_receive(&p->b, got + i, in, i * LEN, LEN), 0))
				return;
		for (i = 0; i < BATCH; i++, got++)
			if (!t_take_ok(&p->b, p->b.rcq, got, NDK_OPERATION_RECEIVE) ||
			    !t_check_fill(t, in->va + i * LEN, LEN, got, "received late"))
				return;
		for (i = 0; i < BATCH; i++)
			if (!t_take_ok(&p->a, p->a.icq, sent - BATCH + i, NDK_OPERATION_SEND))
				return;
		WRITE_ONCE(t_soak.done, got);
	}
	t_note(t, "%u messages", got);
}

static const struct t_case cases[] = {
	{ "one_packet_in_a_hundred", under_loss, ONE_IN_100 },
	{ "one_packet_in_ten", under_loss, ONE_IN_10 },
	{ "packets_out_of_order", under_loss, REORDERED },
	{ "receives_that_are_late", late_receives },
};

T_GROUP(loss, cases);
