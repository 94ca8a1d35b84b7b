// SPDX-License-Identifier: GPL-2.0
/* The way to the peer: neighbours that answer late or never, networks that are not there. */

#include <linux/delay.h>

#include "ndk_test.h"

/* An address of the link that no host has. */
static void nobody(struct sockaddr_storage *to)
{
	t_addr(SIDE_B, AF_INET, 4000, to);
	((struct sockaddr_in *)to)->sin_addr.s_addr = htonl(0x0a090063);
}

/* An answer of the neighbour that was missed is seen with the next try, long before the time to find it is over. */
/* Proves: 5.3-CONNECTING-refused */
static void cold_neighbour(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct sockaddr_storage to;
	u64 start;
	int i;

	if (!p)
		return;
	t_addr(SIDE_B, t->arg, 7, &to);
	for (i = 0; i < 5; i++) {
		EXPECT_STATUS(t, t_host(t, "forget_neighbours"), 0);
		start = ktime_get_ns();
		EXPECT_STATUS(t, t_connect(&p->a, &to), -ECONNREFUSED);
		EXPECT(t, ktime_get_ns() - start < 2ull * t_scale * NSEC_PER_SEC);
	}
}

/* Proves: 5.3-CONNECTING-no-host */
/* Bug: S2 */
static void no_such_host(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage to;
	int rc;

	if (!p)
		return;
	nobody(&to);
	rc = t_connect(&p->a, &to);
	if (rc != -ETIMEDOUT)
		EXPECT_STATUS(t, rc, -EHOSTUNREACH);
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* IPv4 takes a host without a route for a neighbour when the interface is given, as it is by the source address. */
/* Proves: 5.3-CONNECTING-no-network */
static void no_such_network(struct t *t)
{
	const struct t_cfg cfg = { .family = AF_INET6 };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct sockaddr_storage to;

	if (!p)
		return;
	t_addr(SIDE_B, AF_INET6, 4000, &to);
	((struct sockaddr_in6 *)&to)->sin6_addr.s6_addr[0] = 0x20;
	EXPECT_STATUS(t, t_connect(&p->a, &to), -ENETUNREACH);
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* A neighbour that does not answer is looked for again and again, first after 100 ms. Closed before, at and after that. */
/* Proves: CONNECT.close-pending, 3.9, 5.3-CONNECTING-close */
static void closed_while_looking(struct t *t)
{
	struct t_await *connect[16];
	struct t_pair *p[ARRAY_SIZE(connect)];
	struct sockaddr_storage to;
	int i;

	nobody(&to);
	for (i = 0; i < ARRAY_SIZE(connect); i++) {
		p[i] = t_pair_unconnected(t, NULL);
		if (!p[i])
			return;
	}
	for (i = 0; i < ARRAY_SIZE(connect); i++) {
		connect[i] = t_connect_start(&p[i]->a, &to);
		if (!connect[i])
			return;
	}
	msleep(80);
	for (i = 0; i < ARRAY_SIZE(connect); i++) {
		t_close_start(t, &p[i]->a.connector->header);
		usleep_range(2000, 2500);
	}
	for (i = 0; i < ARRAY_SIZE(connect); i++)
		EXPECT_STATUS(t, t_join(connect[i]), -ECANCELED);
}

static const struct t_case cases[] = {
	{ "cold_over_ipv4", cold_neighbour, AF_INET },
	{ "cold_over_ipv6", cold_neighbour, AF_INET6 },
	{ "no_such_host_and_retry", no_such_host },
	{ "no_such_network_and_retry", no_such_network },
	/* Bug: S5 */
	{ "closed_between_two_looks", closed_while_looking },
};

T_GROUP(neighbour, cases);
