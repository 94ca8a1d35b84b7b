// SPDX-License-Identifier: GPL-2.0
/* A link goes while transfers run on as many connections as one likes, again and again. */

#include <linux/jiffies.h>

#include "soak.h"

static bool all_up(struct soak *k)
{
	unsigned int i;

	for (i = 0; i < k->slots; i++)
		if (READ_ONCE(k->slot[i]->state) != SLOT_UP)
			return false;
	return true;
}

/* All connections stand, and something has moved on them since. */
static bool moving(struct soak *k)
{
	unsigned long end = jiffies + t_ticks(180);
	s64 messages;

	while (!all_up(k) && time_before(jiffies, end) && !atomic_read(&k->stop))
		t_sleep(20);
	messages = atomic64_read(&k->count[N_MESSAGES]) + 4 * k->slots;
	while (atomic64_read(&k->count[N_MESSAGES]) < messages && time_before(jiffies, end) && !atomic_read(&k->stop))
		t_sleep(20);
	if (time_before(jiffies, end) && !atomic_read(&k->stop))
		return true;
	t_fail(k->t, "%s", all_up(k) ? "the transfers do not move" : "not all connections are up");
	return false;
}

/* Both ends of all have heard of it. */
static void all_notified(struct soak *k)
{
	unsigned long end = jiffies + t_ticks(60);
	unsigned int i, missing;

	do {
		t_sleep(20);
		for (i = 0, missing = 0; i < k->slots; i++)
			missing += !atomic_read(&k->slot[i]->a.gone) + !atomic_read(&k->slot[i]->b.gone);
	} while (missing && time_before(jiffies, end));
	if (missing)
		t_fail(k->t, "%u ends of %u connections have no disconnect event", missing, k->slots);
}

/*
 * The new device numbers its QPs from the start again. To the connection manager of the peer the same numbers of the same
 * device, which it knows by its MAC address, would be those of a connection that it has just ended.
 */
static bool link_comes_back(struct soak *k, enum t_side side, unsigned int round)
{
	char ns = 'a' + side;

	return !t_host(k->t, "ip -n %c link set veth_%c address 02:00:00:%02x:%02x:%02x && forget_neighbours && link_add %c && link_ready %c",
		       ns, ns, 0x10 + side, (round >> 8) & 0xff, round & 0xff, ns, ns);
}

/* Proves: 5.5-CONNECTED-abort, 12-removal */
/* Bug: B23, B107, B124, K4, S13 */
static void again_and_again(struct t *t)
{
	struct soak *k = sk_new(t, t_soak.connections, SZ_2K, t_soak.seed);
	unsigned long start, longest = 0;
	enum t_side side = SIDE_B;
	unsigned int round;

	if (!k)
		return;
	k->steady = true;
	k->light = true;
	for (round = 0; round < t_soak.removals && !t->failures; round++) {
		k->end = jiffies + t_ticks(600);
		if (!sk_start(k))
			break;
		if (moving(k)) {
			/* Nobody has closed anything, and nobody is asked to. */
			k->removed = true;
			start = jiffies;
			t_host(t, "link_del %c", 'a' + side);
			longest = max(longest, jiffies - start);
			if (jiffies - start > t_ticks(60))
				t_fail(t, "the deletion of the link took %u ms", jiffies_to_msecs(jiffies - start));
			all_notified(k);
		}
		atomic_set(&k->stop, 1);
		sk_join(k);
		/* Each request has its result, each call its end. */
		sk_put_down(k);
		if (!k->removed || t->wedged)
			break;
		t_close_adapter(t, k->adapter[side]);
		if (!link_comes_back(k, side, round))
			break;
		k->removed = false;
		atomic_set(&k->stop, 0);
		WRITE_ONCE(t_soak.done, round + 1);
		side = !side;
	}
	sk_finish(k);
	t_note(t, "%u removals under %u connections, of which one took %u ms and all others less", round, k->slots,
	       jiffies_to_msecs(longest));
	sk_report(k);
}

static const struct t_case cases[] = {
	{ "links_go_under_all_connections", again_and_again },
};

T_GROUP(removal_storm, cases);
