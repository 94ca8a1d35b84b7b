// SPDX-License-Identifier: GPL-2.0
/* Everything at once, for as long as one likes: operations that a seed chooses, on many connections and both CPUs. */

#include "soak.h"

/*
 * Proves: 2.4-pending, 2.5-pending, 2.5-last, 3.5, 3.6, 3.8, 3.9, 5.10-once, 6.5-types, 7.1-accepted, 7.2-order, 7.4-one-shot,
 * 7.4-serial, 7.5-hint, 7.5-push-on-end, 8.4-resize
 * Bug: B39, K6
 */
static void random_operations(struct t *t)
{
	struct soak *k = sk_new(t, t_soak.connections, SZ_8K, t_soak.seed);

	if (!k)
		return;
	k->ops = t_soak.ops;
	k->end = jiffies + t_soak.seconds * HZ;
	if (sk_start(k))
		sk_join(k);
	sk_finish(k);
	sk_report(k);
}

static const struct t_case cases[] = {
	{ "random_operations", random_operations },
};

T_GROUP(soak, cases);
