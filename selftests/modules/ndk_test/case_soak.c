// SPDX-License-Identifier: GPL-2.0
/* Everything at once, for as long as one likes: operations that a seed chooses, on many connections and both CPUs. */

#include "soak.h"

/* Proves: 3-close-last, 7.1-once, 7.2-order */
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
