// SPDX-License-Identifier: GPL-2.0
/* One local address for several connectors. */

#include <linux/kthread.h>

#include "raw.h"

static bool local_is(struct ndk_connector *c, const struct sockaddr_storage *want)
{
	struct sockaddr_storage ss;
	u32 len = sizeof(ss);

	return !ndk_get_local_address(c, (struct sockaddr *)&ss, &len) && t_same_addr(&ss, want);
}

static bool peer_is(struct ndk_connector *c, const struct sockaddr_storage *want)
{
	struct sockaddr_storage ss;
	u32 len = sizeof(ss);

	return !ndk_get_peer_address(c, (struct sockaddr *)&ss, &len) && t_same_addr(&ss, want);
}

/* A plain connect from this address. */
static int connect_from(struct t_end *e, const struct sockaddr_storage *from, const struct sockaddr_storage *to)
{
	struct t_await *w = t_await(e->t, "connect");

	return t_wait(w, t_connect_call(e, from, to, w));
}

/* --- connections over it -------------------------------------------------- */

#define REMOTES 4

/*
 * Proves: CREATE_SHARED_ENDPOINT.ok, CONNECT_WITH_SHARED_ENDPOINT.ok, GET_SHARED_ENDPOINT_LOCAL_ADDRESS.ok, CLOSE_OBJECT.ok,
 * 5.7-create, 5.7-OPEN-connect, 5.7-OPEN-address, 4.3-ports, 4.3-families, 5.3-CONNECTING-accepted
 */
static void several_remotes(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_end *a[REMOTES], *b[REMOTES];
	struct t_listener *l[REMOTES];
	struct sockaddr_storage at, want;
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	int i;

	if (!p || !t_share(&p->a, t->arg, 0) || !EXPECT_STATUS(t, t_shared_address(p->a.shared, &at), 0))
		return;
	t_addr(SIDE_A, t->arg, t_port(&at), &want);
	EXPECT(t, t_same_addr(&at, &want));
	EXPECT(t, t_port(&at) >= 49152);
	for (i = 0; i < REMOTES; i++) {
		a[i] = t_sibling(&p->a);
		b[i] = t_sibling(&p->b);
		l[i] = t_listening(&p->b, t->arg, 0);
		if (!a[i] || !b[i] || !l[i] || !t_establish(a[i], l[i], b[i]))
			return;
		EXPECT(t, local_is(a[i]->connector, &at));
		EXPECT(t, peer_is(a[i]->connector, &l[i]->address));
		EXPECT(t, peer_is(b[i]->connector, &at));
	}
	for (i = 0; i < REMOTES; i++)
		if (!t_ping(a[i], b[i]) || !t_ping(b[i], a[i]))
			return;
	/* One of them goes, in whatever way; the others do not notice. */
	t_close(t, &a[0]->connector->header);
	t_wait_gone(b[0]);
	t_close(t, &b[1]->connector->header);
	t_wait_gone(a[1]);
	for (i = 2; i < REMOTES; i++)
		t_ping(a[i], b[i]);
}

/* Proves: 5.7-create, 5.7-OPEN-address, CREATE_SHARED_ENDPOINT.ok */
static void port_of_the_consumers_choice(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct sockaddr_storage at, want;

	if (!p || !t_share(&p->a, t->arg, 4321) || !EXPECT_STATUS(t, t_shared_address(p->a.shared, &at), 0))
		return;
	t_addr(SIDE_A, t->arg, 4321, &want);
	EXPECT(t, t_same_addr(&at, &want));
	if (!t_establish(&p->a, p->listener, &p->b))
		return;
	EXPECT(t, local_is(p->a.connector, &want));
	EXPECT(t, peer_is(p->b.connector, &want));
	t_ping(&p->a, &p->b);
}

/* Proves: 5.8-caller, 5.9-negotiated, 5.3-CONNECTING-refused, 5.3-ACCEPTED-data */
static void data_and_limits(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_connector *incoming;
	u32 len, in = 0, out = 0;
	struct t_await *connect;
	u8 data[256];

	if (!p || !t_share(&p->a, AF_INET, 0))
		return;
	p->a.private_data = "hello";
	p->a.private_data_len = 5;
	p->a.cfg.inbound = 3;
	p->a.cfg.outbound = 2;
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	len = sizeof(data);
	EXPECT_STATUS(t, ndk_get_connection_data(incoming, &in, &out, data, &len), 0);
	EXPECT(t, !memcmp(data, "hello", 6));
	EXPECT_EQ(t, in, 2);
	EXPECT_EQ(t, out, 3);
	EXPECT_STATUS(t, ndk_reject(incoming, "no", 3), 0);
	EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
	len = sizeof(data);
	EXPECT_STATUS(t, ndk_get_connection_data(p->a.connector, NULL, NULL, data, &len), 0);
	EXPECT(t, !memcmp(data, "no", 3));
	/* Once more, over the same endpoint. */
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/*
 * What failed holds nothing of the endpoint: it can go, and the connector connects without it.
 *
 * Proves: 5.7-OPEN-close, 5.3-CONNECTING-refused, 5.3-IDLE-close
 */
static void refused_and_retried(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage to, at;
	int i;

	if (!p || !t_share(&p->a, AF_INET, 0) || t_shared_address(p->a.shared, &at))
		return;
	t_addr(SIDE_B, AF_INET, 7, &to);
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(t, t_connect(&p->a, &to), -ECONNREFUSED);
	t_close(t, &p->a.shared->header);
	p->a.shared = NULL;
	EXPECT_STATUS(t, t_listen_status(&p->a, AF_INET, t_port(&at)), 0);
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* --- who has an address --------------------------------------------------- */

/* Proves: 5.3-IDLE-shared-same-tuple, 5.7-OPEN-connect-again, 4.1-until-closed, 5.3-IDLE-connect-same-tuple */
static void same_connection(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct sockaddr_storage at;
	struct t_await *connect, *w;
	struct ndk_connector *incoming;
	struct t_end *again;
	struct t_await *end;

	if (!p || !t_share(&p->a, t->arg, 0) || t_shared_address(p->a.shared, &at))
		return;
	again = t_sibling(&p->a);
	if (!again || !t_connector_of(again))
		return;
	/* While the first is asked for; when it stands; when it is disconnected. */
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	w = t_await(t, "connect as another does");
	EXPECT_STATUS(t, t_wait(w, t_shared_connect_call(again, &p->listener->address, w)), -EEXIST);
	EXPECT_STATUS(t, connect_from(again, &at, &p->listener->address), -EEXIST);
	w = t_accept_start(&p->b, incoming);
	if (!w || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	end = t_complete_start(&p->a);
	if (!end || t_join(end) || t_join(w))
		return;
	again->connector = NULL;
	if (!t_connector_of(again))
		return;
	w = t_await(t, "connect as another does");
	EXPECT_STATUS(t, t_wait(w, t_shared_connect_call(again, &p->listener->address, w)), -EEXIST);
	end = t_disconnect_start(&p->a);
	if (!end || !t_wait_gone(&p->b))
		return;
	t_close(t, &p->b.connector->header);
	EXPECT_STATUS(t, t_join(end), 0);
	again->connector = NULL;
	if (!t_connector_of(again))
		return;
	w = t_await(t, "connect as another did");
	EXPECT_STATUS(t, t_wait(w, t_shared_connect_call(again, &p->listener->address, w)), -EEXIST);
	/* When it is closed it may. */
	t_close(t, &p->a.connector->header);
	again->connector = NULL;
	p->b.connector = NULL;
	reinit_completion(&p->b.gone_done);
	atomic_set(&p->b.gone, 0);
	if (t_end_qp(&p->b) && t_establish(again, p->listener, &p->b))
		t_ping(again, &p->b);
}

/* Proves: 5.7-OPEN-elsewhere, 5.7-create-busy, 5.3-IDLE-connect-shared-address, 5.6-CREATED-listen-busy */
/* Bug: B12 */
static void address_in_use(struct t *t)
{
	int family = t->arg, other = family == AF_INET ? AF_INET6 : AF_INET;
	const struct t_cfg cfg = { .family = family };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct sockaddr_storage at;
	struct t_end *second;
	struct t_await *w;

	if (!p || !t_share(&p->a, family, 4322) || t_shared_address(p->a.shared, &at))
		return;
	second = t_sibling(&p->a);
	if (!second || !t_connector_of(second))
		return;
	EXPECT_STATUS(t, t_share_status(second, family, 4322), -EADDRINUSE);
	EXPECT_STATUS(t, t_listen_status(second, family, 4322), -EADDRINUSE);
	EXPECT_STATUS(t, connect_from(second, &at, &p->listener->address), -EADDRINUSE);
	/* From another instance of the adapter as well. */
	second->adapter = t_another(t, SIDE_A);
	if (!second->adapter)
		return;
	EXPECT_STATUS(t, t_share_status(second, family, 4322), -EADDRINUSE);
	EXPECT_STATUS(t, t_listen_status(second, family, 4322), -EADDRINUSE);
	/* Not the other port, and not the other address. */
	EXPECT_STATUS(t, t_share_status(second, family, 4323), 0);
	EXPECT_STATUS(t, t_share_status(second, other, 4322), 0);
	/* And the other way round. */
	EXPECT_STATUS(t, t_share_status(&p->b, family, t_port(&p->listener->address)), -EADDRINUSE);
	t_addr(SIDE_A, family, 4324, &at);
	second->adapter = p->a.adapter;
	second->connector = NULL;
	if (!t_connector_of(second))
		return;
	w = t_await(t, "connect");
	if (!t_pended(w, t_connect_call(second, &at, &p->listener->address, w)) || !t_incoming(p->listener))
		return;
	EXPECT_STATUS(t, t_share_status(&p->a, family, 4324), -EADDRINUSE);
	t_close(t, &second->connector->header);
	EXPECT_STATUS(t, t_share_status(&p->a, family, 4324), 0);
	/* When it is closed. */
	t_close(t, &p->a.shared->header);
	EXPECT_STATUS(t, t_listen_status(&p->a, family, 4322), 0);
}

/* Proves: 4.1-shared, 4.2-shared-closed, 5.7-OPEN-close-live, 5.7-CLOSING-last, 3.1-SHARED_ENDPOINT, 4.1-until-closed */
static void address_outlives_it(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct t_await *w, *end, *other;
	struct sockaddr_storage at;
	struct t_end *second;

	if (!p || !t_share(&p->a, t->arg, 0) || t_shared_address(p->a.shared, &at))
		return;
	second = t_sibling(&p->a);
	if (!second || !t_connector_of(second) || !t_establish(&p->a, p->listener, &p->b))
		return;
	w = t_close_start(t, &p->a.shared->header);
	t_sleep(50);
	EXPECT(t, !t_is_done(w));
	EXPECT_STATUS(t, t_listen_status(&p->a, t->arg, t_port(&at)), -EADDRINUSE);
	EXPECT_STATUS(t, t_share_status(&p->a, t->arg, t_port(&at)), -EADDRINUSE);
	EXPECT_STATUS(t, connect_from(second, &at, &p->listener->address), -EEXIST);
	/* The connection does not notice, and its end frees nothing. */
	t_ping(&p->a, &p->b);
	end = t_disconnect_start(&p->a);
	if (!end || !t_wait_gone(&p->b))
		return;
	other = t_disconnect_start(&p->b);
	if (!other)
		return;
	EXPECT_STATUS(t, t_join(end), 0);
	EXPECT_STATUS(t, t_join(other), 0);
	EXPECT(t, !t_is_done(w));
	EXPECT_STATUS(t, t_listen_status(&p->a, t->arg, t_port(&at)), -EADDRINUSE);
	t_close(t, &p->a.connector->header);
	t_join(w);
	EXPECT_STATUS(t, t_listen_status(&p->a, t->arg, t_port(&at)), 0);
}

/*
 * Somebody who does not know of ndk has the address, and would even share it.
 *
 * Proves: 5.7-create-busy, 4.3-ports
 */
static void outsider(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct raw *r = raw_new(t, SIDE_A), *late = raw_new(t, SIDE_A);
	struct sockaddr_storage ss;

	if (!r->id || !late->id || !t_end_init(t, e, SIDE_A, NULL))
		goto out;
	t_addr(SIDE_A, AF_INET, 4325, &ss);
	if (t->arg)
		EXPECT_STATUS(t, rdma_set_reuseaddr(r->id, 1), 0);
	if (!EXPECT_STATUS(t, rdma_bind_addr(r->id, (struct sockaddr *)&ss), 0))
		goto out;
	EXPECT_STATUS(t, t_share_status(e, AF_INET, 4325), -EADDRINUSE);
	/* The address is refused to one who does not share. */
	if (t_share(e, AF_INET, 4326)) {
		t_addr(SIDE_A, AF_INET, 4326, &ss);
		EXPECT_STATUS(t, rdma_bind_addr(late->id, (struct sockaddr *)&ss), -EADDRINUSE);
		t_close(t, &e->shared->header);
		EXPECT_STATUS(t, rdma_bind_addr(late->id, (struct sockaddr *)&ss), 0);
	}
out:
	raw_free(r);
	raw_free(late);
}

struct race {
	struct t_end *e;
	struct t_await *w;
	void *out;
	int rc;
	struct completion *go, done;
};

static int create_in_thread(void *arg)
{
	struct race *r = arg;
	struct sockaddr_storage at;

	t_addr(SIDE_A, AF_INET, 4327, &at);
	wait_for_completion(r->go);
	r->rc = t_share_call(r->e, &at, t_created, r->w, &r->out);
	complete(&r->done);
	return 0;
}

/* Proves: 5.7-create-busy, 2.3-pending, 2.3-failed */
static void one_of_several_wins(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct race *r = t_alloc(t, 4 * sizeof(*r));
	struct completion *go = t_alloc(t, sizeof(*go));
	struct ndk_object_header *h, *winner = NULL;
	int round, i, status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (round = 0; round < 10; round++) {
		init_completion(go);
		for (i = 0; i < 4; i++) {
			r[i] = (struct race) {
				.e = e, .w = t_await(t, "create shared endpoint"), .out = t_poison(), .go = go,
			};
			init_completion(&r[i].done);
			if (IS_ERR(kthread_run(create_in_thread, &r[i], "ndk_test_share")))
				complete(&r[i].done);
		}
		complete_all(go);
		winner = NULL;
		for (i = 0; i < 4; i++) {
			wait_for_completion(&r[i].done);
			h = t_create_end(e, KIND_SHARED_ENDPOINT, r[i].w, r[i].rc, &r[i].out, &status);
			if (!h)
				EXPECT_STATUS(t, status, -EADDRINUSE);
			else if (EXPECT(t, !winner))
				winner = h;
		}
		if (!EXPECT(t, winner))
			return;
		t_close(t, winner);
	}
}

static const struct t_case cases[] = {
	{ "several_remotes_from_one_ipv4_address", several_remotes, AF_INET },
	{ "several_remotes_from_one_ipv6_address", several_remotes, AF_INET6 },
	{ "ipv4_port_of_the_consumers_choice", port_of_the_consumers_choice, AF_INET },
	{ "ipv6_port_of_the_consumers_choice", port_of_the_consumers_choice, AF_INET6 },
	{ "private_data_limits_and_a_reject", data_and_limits },
	{ "refused_connect_holds_nothing", refused_and_retried },
	{ "same_ipv4_connection_is_eexist", same_connection, AF_INET },
	{ "same_ipv6_connection_is_eexist", same_connection, AF_INET6 },
	{ "ipv4_address_in_use_is_eaddrinuse", address_in_use, AF_INET },
	{ "ipv6_address_in_use_is_eaddrinuse", address_in_use, AF_INET6 },
	{ "ipv4_address_outlives_it", address_outlives_it, AF_INET },
	{ "ipv6_address_outlives_it", address_outlives_it, AF_INET6 },
	{ "address_of_an_outsider_is_eaddrinuse", outsider, 0 },
	{ "address_that_an_outsider_would_share_is_eaddrinuse", outsider, 1 },
	{ "one_of_several_creates_wins", one_of_several_wins },
};

T_GROUP(shared_endpoint, cases);
