// SPDX-License-Identifier: GPL-2.0
/*
 * Packets get lost, or arrive in another order: the transport sends them again, and no consumer sees it. Lost on the way in
 * only: one that is lost on the way out is to rxe a failure of its own.
 */

#include <linux/jiffies.h>

#include "soak.h"

#define LEN 256

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

static unsigned int connected(struct soak *k)
{
	unsigned int i, up = 0;

	for (i = 0; i < k->slots; i++)
		up += READ_ONCE(k->slot[i]->state) == SLOT_UP;
	return up;
}

/* What is under test is the connection, not how it comes about. */
static bool all_up(struct t *t, struct soak *k)
{
	unsigned long end = jiffies + t_ticks(180);

	k->no_connects = false;
	while (connected(k) < k->slots && !atomic_read(&k->stop) && time_before(jiffies, end))
		t_sleep(20);
	k->no_connects = t->arg != REORDERED;
	return EXPECT_EQ(t, connected(k), k->slots);
}

/* Until all is transferred, or too few connections are left. */
static void transfer(struct t *t, struct soak *k)
{
	unsigned long last = jiffies;
	s64 now, before = 0;

	do {
		t_sleep(50);
		now = moved(k);
		WRITE_ONCE(t_soak.done, now);
		if (now != before)
			last = jiffies;
		before = now;
	} while (now < t_soak.messages && connected(k) > k->slots / 2 && !atomic_read(&k->stop) &&
		 time_before(jiffies, last + t_ticks(60)));
	if (now == before && time_after_eq(jiffies, last + t_ticks(60)) && !t->failures)
		t_fail(t, "nothing moves any more after %lld of %u transfers", now, t_soak.messages);
}

/* What is under way ends: every request has its result before anything is closed. */
static void come_to_rest(struct soak *k)
{
	unsigned long last = jiffies;
	unsigned int i;

	k->draining = true;
	for (i = 0; i < k->slots && time_before(jiffies, last + t_ticks(60));) {
		if (sk_sends_outstanding(&k->slot[i]->a) || sk_sends_outstanding(&k->slot[i]->b))
			t_sleep(20);
		else
			i++;
	}
	if (i < k->slots) {
		sk_fail(&k->slot[i]->o, "requests have no result");
		sk_tell_outstanding(&k->slot[i]->a);
		sk_tell_outstanding(&k->slot[i]->b);
		t_host(k->t, "cat /sys/kernel/debug/ndk/*/objects; rdma resource show qp; rdma -d statistic show; false");
	}
}

/*
 * Sends, writes and reads, registrations, windows and invalidations behind them in the queue, on all connections at once. Where
 * rxe forgets a request its connection ends, with a result for each request; that befalls few.
 * Proves: 7.1-accepted, 7.2-order, 7.7-tokens-early
 * Bug: B32, B51, K12
 */
static void under_loss(struct t *t)
{
	struct soak *k = sk_new(t, t_soak.connections, SZ_8K, t_soak.seed + t->arg);
	unsigned long start;
	s64 ended;

	if (!k)
		return;
	k->steady = true;
	k->lossy = true;
	/* What limits.rst says of rxe: responses that come out of order, or get lost with requests behind, can give wrong bytes. */
	k->no_reads = t->arg == REORDERED;
	k->lone_reads = true;
	k->end = jiffies + t_ticks(7200);
	/* Another queueing discipline drops what is on its way out, so this one is there before all and goes after all. */
	if (t->arg == REORDERED && !begin_loss(t, t->arg))
		return;
	if (sk_start(k)) {
		start = jiffies;
		while (moved(k) < t_soak.messages && !atomic_read(&k->stop) && !t->failures && all_up(t, k)) {
			if (t->arg != REORDERED && !begin_loss(t, t->arg))
				break;
			transfer(t, k);
			if (t->arg != REORDERED)
				end_loss(t, t->arg);
		}
		t_note(t, "%lld transfers in %u ms", moved(k), jiffies_to_msecs(jiffies - start));
		come_to_rest(k);
		atomic_set(&k->stop, 1);
		sk_join(k);
	}
	sk_finish(k);
	if (t->arg == REORDERED)
		end_loss(t, t->arg);
	ended = atomic64_read(&k->count[N_STALLED]) + atomic64_read(&k->count[N_GAVE_UP]);
	if (ended > 1 + moved(k) / 2000)
		t_fail(t, "%lld connections ended by themselves", ended);
	sk_report(k);
}

/* --- a device that forgets -------------------------------------------------- */

/* So many packets that the device waits for their way while it sends them: an acknowledgement comes meanwhile. */
#define MESSAGE (100 * 4096)

/*
 * All acknowledgements of a message get lost but one, the first one while it is sent again: rxe takes it for that of the last
 * packet, which it is, has nothing left to ask for, and waits for ever. All other ways for a queue to stand still, at the same
 * time and longer, are no reason to end a connection: silent requests that are done, results that nobody takes, a request that
 * waits for its doorbell.
 * Proves: 7.1-accepted, 7.2-error-ends, 12-slow-consumer
 */
static void forgotten(struct t *t)
{
	const struct t_cfg cfg = { .depth = 8, .sge = 4 };
	struct t_pair *p = t_pair(t, &cfg), *idle = t_pair(t, &cfg);
	struct t_buf *out, *in, *small[2];
	struct ndk_result_ex r;
	unsigned long start;
	unsigned int i;

	if (!p || !idle)
		return;
	out = t_buf(&p->a, MESSAGE);
	in = t_buf(&p->b, MESSAGE);
	small[0] = t_buf(&idle->a, 2 * LEN);
	small[1] = t_buf(&idle->b, 2 * LEN);
	if (!out || !in || !small[0] || !small[1])
		return;
	for (i = 0; i < 2; i++) {
		EXPECT_STATUS(t, t_post_receive(&idle->a, i, small[0], i * LEN, LEN), 0);
		EXPECT_STATUS(t, t_post_receive(&idle->b, i, small[1], i * LEN, LEN), 0);
	}
	EXPECT_STATUS(t, t_post_send(&idle->a, 0, small[0], 0, LEN, NDK_OP_FLAG_SILENT_SUCCESS), 0);
	EXPECT_STATUS(t, t_post_send(&idle->a, 1, small[0], 0, LEN, 0), 0);
	EXPECT_STATUS(t, t_post_send(&idle->b, 7, small[1], 0, LEN, NDK_OP_FLAG_DEFER), 0);
	for (i = 0; i < 2; i++)
		t_take_ok(&idle->b, idle->b.rcq, i, NDK_OPERATION_RECEIVE);
	/* No acknowledgement is to come any more. */
	t_sleep(50);
	EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, MESSAGE), 0);
	t_fill(out->va, MESSAGE, 1);
	if (!EXPECT(t, !t_host(t, "lose_some a 0x11 '!= 2'")))
		return;
	start = jiffies;
	EXPECT_STATUS(t, t_post_send(&p->a, 1, out, 0, MESSAGE, 0), 0);
	if (t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE))
		t_check_fill(t, in->va, MESSAGE, 1, "received once");
	/* It is sent again after half a second. */
	t_sleep(1500);
	t_host(t, "loss_off a");
	if (!EXPECT(t, t_try_take(p->a.icq, &r, 40000)))
		return;
	t_note(t, "a result after %u ms: %s", jiffies_to_msecs(jiffies - start), t_errname(r.status));
	EXPECT_STATUS(t, r.status, -ECANCELED);
	t_wait_gone(&p->a);
	t_close(t, &p->a.connector->header);
	t_wait_gone(&p->b);
	t_take_ok(&idle->a, idle->a.icq, 1, NDK_OPERATION_SEND);
	EXPECT_STATUS(t, t_post_send(&idle->b, 8, small[1], 0, LEN, 0), 0);
	for (i = 0; i < 2; i++) {
		t_take_ok(&idle->b, idle->b.icq, 7 + i, NDK_OPERATION_SEND);
		t_take_ok(&idle->a, idle->a.rcq, i, NDK_OPERATION_RECEIVE);
	}
	EXPECT_EQ(t, atomic_read(&idle->a.gone) + atomic_read(&idle->b.gone), 0);
	t_ping(&idle->a, &idle->b);
}

/* --- a fence ---------------------------------------------------------------- */

/*
 * The request of a fenced read is lost, and sent again: it does not wait for itself. It has an invalidation behind it; before
 * it are as many reads as the case says.
 * Proves: 6.6-read-invalidate, 6.6-fence, 7.1-accepted, 7.2-order
 */
static void lost_behind_a_fence(struct t *t)
{
	const u32 flags = NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE;
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *source;
	struct ndk_object_header *h;
	struct t_buf *sink, *other;
	struct t_await *w;
	struct ndk_sge sge;
	struct ndk_mr *mr;
	int i, round;

	if (!p)
		return;
	sink = t_buf(&p->a, PAGE_SIZE);
	other = t_buf(&p->a, PAGE_SIZE);
	source = t_region(&p->b, PAGE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	h = t_create(&p->a, KIND_FAST_MR);
	if (!sink || !other || !source || !h)
		return;
	mr = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	if (!EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(mr, 1, true, t_done, w)), 0))
		return;
	for (round = 0; round < 3; round++) {
		t_fill(source->va, PAGE_SIZE, round);
		EXPECT_STATUS(t, ndk_fast_register(p->a.qp, CTX(10), mr, 1, sink->lam->pages, 0, PAGE_SIZE, 0x1000,
						   NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_RDMA_READ_SINK), 0);
		if (!t_take_ok(&p->a, p->a.icq, 10, NDK_OPERATION_FAST_REGISTER) ||
		    !EXPECT(t, !t_host(t, "lose_some b 0x0c '== %ld'", t->arg)))
			return;
		for (i = 0; i < t->arg; i++)
			EXPECT_STATUS(t, t_post_read(&p->a, i, other, 0, PAGE_SIZE, source->base, source->remote, 0), 0);
		sge = (struct ndk_sge) { .virtual_address = 0x1000, .length = PAGE_SIZE, .token = ndk_get_local_token_from_mr(mr) };
		EXPECT_STATUS(t, ndk_read(p->a.qp, CTX(11), &sge, 1, source->base, source->remote, flags), 0);
		for (i = 0; i < t->arg; i++)
			t_take_ok(&p->a, p->a.icq, i, NDK_OPERATION_READ);
		if (t_take_ok(&p->a, p->a.icq, 11, NDK_OPERATION_READ))
			t_check_fill(t, sink->va, PAGE_SIZE, round, "read behind a fence");
		t_host(t, "loss_off b");
		if (t->failures)
			return;
	}
}

/* --- a receiver that is late ------------------------------------------------ */

#define BATCH 16

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
	{ "a_request_that_the_device_forgets", forgotten },
	{ "a_fenced_read_that_is_lost", lost_behind_a_fence },
	{ "a_fenced_read_that_is_lost_behind_a_read", lost_behind_a_fence, 1 },
	{ "receives_that_are_late", late_receives },
};

T_GROUP(loss, cases);
