// SPDX-License-Identifier: GPL-2.0
/* What both ends learn of each other: addresses and ports, private data, read limits. */

#include <linux/inet.h>
#include <linux/slab.h>

#include "ndk_test.h"

/* --- addresses and ports -------------------------------------------------- */

static int local(struct ndk_connector *c, struct sockaddr_storage *ss, u32 *len)
{
	return ndk_get_local_address(c, (struct sockaddr *)ss, len);
}

static int peer(struct ndk_connector *c, struct sockaddr_storage *ss, u32 *len)
{
	return ndk_get_peer_address(c, (struct sockaddr *)ss, len);
}

static bool dynamic(const struct sockaddr_storage *ss)
{
	return t_port(ss) >= 49152;
}

/*
 * Proves: GET_LOCAL_ADDRESS.ok, GET_PEER_ADDRESS.ok, GET_LISTENER_LOCAL_ADDRESS.ok, 4.2-local-address, 4.3-families,
 * 4.3-ports
 */
static void ends_know_each_other(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair(t, &cfg);
	struct sockaddr_storage al, ap, bl, bp, want;
	u32 len = sizeof(al);

	if (!p)
		return;
	EXPECT_STATUS(t, local(p->a.connector, &al, &len), 0);
	EXPECT_EQ(t, len, t_addr_len(&al));
	len = sizeof(ap);
	EXPECT_STATUS(t, peer(p->a.connector, &ap, &len), 0);
	len = sizeof(bl);
	EXPECT_STATUS(t, local(p->b.connector, &bl, &len), 0);
	len = sizeof(bp);
	EXPECT_STATUS(t, peer(p->b.connector, &bp, &len), 0);
	EXPECT_EQ(t, len, t_addr_len(&bp));
	/* The port was left to the provider on both sides. */
	EXPECT(t, dynamic(&al));
	EXPECT(t, dynamic(&p->listener->address));
	t_addr(SIDE_A, t->arg, t_port(&al), &want);
	EXPECT(t, t_same_addr(&al, &want));
	EXPECT(t, t_same_addr(&al, &bp));
	EXPECT(t, t_same_addr(&ap, &p->listener->address));
	EXPECT(t, t_same_addr(&bl, &p->listener->address));
}

/* Both ends on one adapter, over its own address. */
/* Proves: CONNECT.ok, ACCEPT.ok, 4.3-loopback, 4.3-families */
static void adapter_meets_itself(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_end *a = t_alloc(t, sizeof(*a)), *b = t_alloc(t, sizeof(*b));
	struct sockaddr_storage from, to;
	struct t_listener *l;
	u32 len = sizeof(from);

	if (!t_end_init(t, a, SIDE_A, &cfg) || !t_end_init(t, b, SIDE_A, &cfg) || !t_end_qp(a) || !t_end_qp(b))
		return;
	EXPECT(t, t_info(t, a->adapter).adapter_flags & NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS);
	l = t_listening(b, t->arg, 0);
	if (!l || !t_establish(a, l, b))
		return;
	EXPECT_STATUS(t, local(a->connector, &from, &len), 0);
	len = sizeof(to);
	EXPECT_STATUS(t, peer(a->connector, &to, &len), 0);
	EXPECT(t, t_same_addr(&to, &l->address));
	EXPECT(t, t_port(&from) != t_port(&to));
	if (!t_ping(a, b) || !t_ping(b, a))
		return;
	t_close(t, &a->connector->header);
	t_wait_gone(b);
}

/* Nothing is written where not all fits. */
/*
 * Proves: GET_LOCAL_ADDRESS.bad-argument, GET_PEER_ADDRESS.bad-argument, GET_LISTENER_LOCAL_ADDRESS.bad-argument,
 * 5.6-LISTENING-address
 */
static void address_does_not_fit(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair(t, &cfg);
	struct sockaddr_storage ss;
	u32 need, len;

	if (!p)
		return;
	need = t_addr_len(&p->listener->address);
	memset(&ss, 0xee, sizeof(ss));
	len = need - 1;
	EXPECT_STATUS(t, local(p->a.connector, &ss, &len), -ENOSPC);
	EXPECT_EQ(t, len, need);
	len = 0;
	EXPECT_STATUS(t, peer(p->a.connector, &ss, &len), -ENOSPC);
	EXPECT_EQ(t, len, need);
	len = 2;
	EXPECT_STATUS(t, ndk_get_listener_local_address(p->listener->listener, (struct sockaddr *)&ss, &len), -ENOSPC);
	EXPECT_EQ(t, len, need);
	t_check_byte(t, &ss, sizeof(ss), 0xee, "address that did not fit");
	len = need;
	EXPECT_STATUS(t, local(p->a.connector, &ss, &len), 0);
	t_check_byte(t, (u8 *)&ss + need, sizeof(ss) - need, 0xee, "behind the address");
}

/* The incoming connector knows both addresses before it is answered. */
/* Proves: GET_LOCAL_ADDRESS.ok, GET_PEER_ADDRESS.ok, 5.3-CONNECTING-address */
static void incoming_knows_addresses(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage ss, want;
	struct ndk_connector *incoming;
	u32 len = sizeof(ss);

	if (!p || !t_connect_start(&p->a, &p->listener->address))
		return;
	incoming = t_incoming(p->listener);
	if (!incoming)
		return;
	EXPECT_STATUS(t, local(incoming, &ss, &len), 0);
	EXPECT(t, t_same_addr(&ss, &p->listener->address));
	len = sizeof(ss);
	EXPECT_STATUS(t, peer(incoming, &ss, &len), 0);
	t_addr(SIDE_A, AF_INET, t_port(&ss), &want);
	EXPECT(t, t_same_addr(&ss, &want));
	/* And so does the connector that is connecting. */
	len = sizeof(ss);
	EXPECT_STATUS(t, local(p->a.connector, &ss, &len), 0);
	EXPECT(t, t_same_addr(&ss, &want));
}

/* Proves: CONNECT.ok */
static void chosen_port(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage from, ss;
	struct ndk_object_header *h;
	struct ndk_connector *incoming;
	struct t_await *w;
	u32 len = sizeof(ss);

	if (!p)
		return;
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return;
	p->a.connector = container_of(h, struct ndk_connector, header);
	t_addr(SIDE_A, AF_INET, 4567, &from);
	w = t_await(t, "connect");
	if (!t_pended(w, t_connect_call(&p->a, &from, &p->listener->address, w)))
		return;
	incoming = t_incoming(p->listener);
	if (!incoming)
		return;
	EXPECT_STATUS(t, peer(incoming, &ss, &len), 0);
	EXPECT(t, t_same_addr(&ss, &from));
}

/* Proves: LISTEN.ok, 4.3-ports, 5.6-CREATED-listen */
static void dynamic_ports(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_listener *l[24];
	int i, j;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(l); i++) {
		l[i] = t_listening(e, i % 2 ? AF_INET6 : AF_INET, 0);
		if (!l[i])
			return;
		EXPECT(t, dynamic(&l[i]->address));
		for (j = 0; j < i; j++)
			EXPECT(t, !t_same_addr(&l[i]->address, &l[j]->address));
	}
}

static int listen_status(struct t_end *e, int family, u16 port)
{
	struct t_listener *l = t_listener(e);

	return l ? t_listen(l, e->side, family, port) : -EINVAL;
}

/* Proves: 4.1-listener, 5.6-CREATED-listen-busy */
/* Bug: B12, B113 */
static void address_in_use(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e)), *again = t_alloc(t, sizeof(*again));
	struct t_listener *l;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	l = t_listening(e, t->arg, 5001);
	if (!l)
		return;
	EXPECT_STATUS(t, listen_status(e, t->arg, 5001), -EADDRINUSE);
	/* From another instance of the adapter as well. */
	t_end_copy(again, e);
	again->adapter = t_another(t, SIDE_A);
	if (again->adapter)
		EXPECT_STATUS(t, listen_status(again, t->arg, 5001), -EADDRINUSE);
	/* Not the other port, and not the other address. */
	EXPECT_STATUS(t, listen_status(e, t->arg, 5002), 0);
	EXPECT_STATUS(t, listen_status(e, t->arg == AF_INET ? AF_INET6 : AF_INET, 5001), 0);
	t_close(t, &l->listener->header);
	EXPECT_STATUS(t, listen_status(e, t->arg, 5001), 0);
}

/* A connection from a port keeps it from listeners, and from connections to elsewhere. */
/* Proves: 4.1-connector, 4.1-until-closed, 5.3-IDLE-connect-shared-address, 5.3-IDLE-connect-same-tuple */
static void source_port_in_use(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_end *second = t_alloc(t, sizeof(*second));
	struct t_await *first, *accept, *complete, *w;
	struct ndk_connector *incoming;
	struct sockaddr_storage from;
	struct ndk_object_header *h;
	struct t_listener *other;

	if (!p)
		return;
	other = t_listening(&p->b, AF_INET, 0);
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!other || !h)
		return;
	p->a.connector = container_of(h, struct ndk_connector, header);
	t_addr(SIDE_A, AF_INET, 4711, &from);
	first = t_await(t, "connect");
	if (!t_pended(first, t_connect_call(&p->a, &from, &p->listener->address, first)))
		return;
	incoming = t_incoming(p->listener);
	accept = incoming ? t_accept_start(&p->b, incoming) : NULL;
	if (!accept || !EXPECT_STATUS(t, t_join(first), 0))
		return;
	complete = t_complete_start(&p->a);
	if (!complete || t_join(complete) || t_join(accept))
		return;

	t_end_copy(second, &p->a);
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h || !t_end_qp(second))
		return;
	second->connector = container_of(h, struct ndk_connector, header);
	w = t_await(t, "connect as another does");
	EXPECT_STATUS(t, t_wait(w, t_connect_call(second, &from, &p->listener->address, w)), -EEXIST);
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return;
	second->connector = container_of(h, struct ndk_connector, header);
	w = t_await(t, "connect from a port in use");
	EXPECT_STATUS(t, t_wait(w, t_connect_call(second, &from, &other->address, w)), -EADDRINUSE);
	EXPECT_STATUS(t, listen_status(&p->a, AF_INET, 4711), -EADDRINUSE);

	/* Disconnected is not closed. */
	t_close(t, &p->b.connector->header);
	t_wait_gone(&p->a);
	EXPECT_STATUS(t, listen_status(&p->a, AF_INET, 4711), -EADDRINUSE);
	t_close(t, &p->a.connector->header);
	EXPECT_STATUS(t, listen_status(&p->a, AF_INET, 4711), 0);
}

/* The address of a listener is free only when the last connector of it is closed. */
/* Proves: 3.1-LISTENER, 4.1-listener, 4.2-listener-closed, 5.6-CLOSING-last */
static void listener_address_outlives_it(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_await *w;
	u16 port;

	if (!p)
		return;
	port = t_port(&p->listener->address);
	w = t_close_start(t, &p->listener->listener->header);
	t_sleep(50);
	EXPECT(t, !t_is_done(w));
	EXPECT_STATUS(t, listen_status(&p->b, AF_INET, port), -EADDRINUSE);
	t_ping(&p->a, &p->b);
	t_close(t, &p->b.connector->header);
	t_join(w);
	EXPECT_STATUS(t, listen_status(&p->b, AF_INET, port), 0);
}

/* Proves: CONNECT.bad-argument, 5.3-IDLE-connect-foreign-address */
static void not_local(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage from;
	struct ndk_object_header *h;
	struct t_await *w;

	if (!p)
		return;
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!h)
		return;
	p->a.connector = container_of(h, struct ndk_connector, header);
	/* The peer's address, and one that nobody has. */
	t_addr(SIDE_B, AF_INET, 0, &from);
	if (t->arg)
		((struct sockaddr_in *)&from)->sin_addr.s_addr = htonl(0x0a090063);
	w = t_await(t, "connect from an address of somebody else");
	EXPECT_STATUS(t, t_wait(w, t_connect_call(&p->a, &from, &p->listener->address, w)), -EADDRNOTAVAIL);
	EXPECT(t, t_nothing_incoming(p->listener, 50));
}

/* --- private data --------------------------------------------------------- */

/* At the active end after its connect, or at the passive one in its event. */
static void data_rows(struct t *t, struct ndk_connector *c, const u8 *sent, u32 sent_len)
{
	u32 rds, len, in = 0, out = 0;
	u8 buf[520];

	/* no buffer, length 0: how much */
	len = 0;
	EXPECT_STATUS(t, ndk_get_connection_data(c, &in, &out, NULL, &len), 0);
	rds = len;
	EXPECT(t, rds >= sent_len && rds < sizeof(buf) - 8);
	/* no buffer, a length */
	len = 8;
	EXPECT_STATUS(t, ndk_get_connection_data(c, NULL, NULL, NULL, &len), -EINVAL);
	/* a buffer that is large enough, and one that just is */
	memset(buf, 0xee, sizeof(buf));
	len = sizeof(buf);
	EXPECT_STATUS(t, ndk_get_connection_data(c, NULL, NULL, buf, &len), 0);
	EXPECT_EQ(t, len, rds);
	EXPECT(t, !memcmp(buf, sent, sent_len));
	t_check_byte(t, buf + sent_len, rds - sent_len, 0, "behind what was sent");
	t_check_byte(t, buf + rds, sizeof(buf) - rds, 0xee, "behind the capacity");
	memset(buf, 0xee, sizeof(buf));
	len = rds;
	EXPECT_STATUS(t, ndk_get_connection_data(c, NULL, NULL, buf, &len), 0);
	EXPECT_EQ(t, len, rds);
	EXPECT(t, !memcmp(buf, sent, sent_len));
	/* a buffer that is too small gets what fits */
	if (sent_len > 4) {
		memset(buf, 0xee, sizeof(buf));
		len = 4;
		EXPECT_STATUS(t, ndk_get_connection_data(c, NULL, NULL, buf, &len), -ENOSPC);
		EXPECT_EQ(t, len, rds);
		EXPECT(t, !memcmp(buf, sent, 4));
		t_check_byte(t, buf + 4, sizeof(buf) - 4, 0xee, "behind a small buffer");
	}
}

/*
 * Proves: GET_CONNECTION_DATA.ok, GET_CONNECTION_DATA.bad-argument, 5.3-ACCEPTED-data, 5.4-INCOMING-data, 5.8-copied,
 * 5.8-size, 5.8-partial, 5.8-null
 */
static void private_data(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete;
	struct ndk_adapter_info info;
	struct ndk_connector *incoming;
	u8 ask[256], answer[256];

	if (!p)
		return;
	info = t_info(t, p->a.adapter);
	t_fill(ask, sizeof(ask), 1);
	t_fill(answer, sizeof(answer), 2);
	p->a.private_data = ask;
	p->a.private_data_len = t->arg < 0 ? info.max_caller_data : t->arg;
	p->b.private_data = answer;
	p->b.private_data_len = t->arg < 0 ? info.max_callee_data : t->arg;
	if (!t->arg) {
		p->a.private_data = NULL;
		p->b.private_data = NULL;
	}
	connect = t_connect_start(&p->a, &p->listener->address);
	/* It was copied during the call. */
	memset(ask, 0, sizeof(ask));
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	t_fill(ask, sizeof(ask), 1);
	data_rows(t, incoming, ask, p->a.private_data_len);
	accept = t_accept_start(&p->b, incoming);
	memset(answer, 0, sizeof(answer));
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	t_fill(answer, sizeof(answer), 2);
	data_rows(t, p->a.connector, answer, p->b.private_data_len);
	complete = t_complete_start(&p->a);
	if (complete && !t_join(complete) && !t_join(accept))
		t_ping(&p->a, &p->b);
}

/* Proves: REJECT.ok, 5.3-CONNECTING-refused, 5.8-callee */
/* Bug: B13 */
static void reject_data(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_connector *incoming;
	struct t_await *connect;
	u8 data[256];
	u32 max;

	if (!p)
		return;
	max = t_info(t, p->b.adapter).max_callee_data;
	t_fill(data, sizeof(data), 3);
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	EXPECT_STATUS(t, ndk_reject(incoming, data, max), 0);
	EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
	/* What fits into a reject may be less than what fits into an accept. */
	data_rows(t, p->a.connector, data, world.iwarp ? max : min(max, 148U));
}

/* Too long at accept and at reject: refused, and the connector is as it was. */
/* Proves: ACCEPT.bad-argument, REJECT.bad-argument, 5.4-INCOMING-accept-long-data, 5.8-too-long */
/* Bug: B26 */
static void too_long_data(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_connector *incoming;
	struct t_await *connect, *accept, *w, *complete;
	static const u8 data[512];
	u32 max;

	if (!p)
		return;
	max = t_info(t, p->b.adapter).max_callee_data;
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	w = t_await(t, "accept with too much data");
	EXPECT_STATUS(t, ndk_accept(incoming, p->b.qp, 1, 1, data, max + 1, t_gone, &p->b, t_done, w), -E2BIG);
	EXPECT_STATUS(t, ndk_accept(incoming, p->b.qp, 1, 1, data, 256, t_gone, &p->b, t_done, w), -E2BIG);
	EXPECT_STATUS(t, ndk_accept(incoming, p->b.qp, 1, 1, NULL, 8, t_gone, &p->b, t_done, w), -EINVAL);
	EXPECT_STATUS(t, ndk_accept(incoming, NULL, 1, 1, NULL, 0, t_gone, &p->b, t_done, w), -EINVAL);
	EXPECT_STATUS(t, ndk_accept(incoming, p->b.qp, 1, 1, NULL, 0, t_gone, &p->b, NULL, w), -EINVAL);
	EXPECT_STATUS(t, ndk_reject(incoming, data, max + 1), -E2BIG);
	EXPECT_STATUS(t, ndk_reject(incoming, data, 256), -E2BIG);
	EXPECT_STATUS(t, ndk_reject(incoming, NULL, 8), -EINVAL);
	t_sleep(20);
	EXPECT(t, !t_is_done(connect));
	accept = t_accept_start(&p->b, incoming);
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	EXPECT_STATUS(t, ndk_reject(p->a.connector, data, max + 1), -E2BIG);
	complete = t_complete_start(&p->a);
	if (complete && !t_join(complete) && !t_join(accept))
		t_ping(&p->a, &p->b);
}

/* --- read limits ---------------------------------------------------------- */

struct limits {
	u32 a_in, a_out, b_in, b_out;
};

static const struct limits limits[] = {
	{ 5, 3, 2, 8 },
	{ 1, 1, 1, 1 },
	{ 0, 4, 4, 4 },
	{ 4, 4, 0, 0 },
	{ U32_MAX, U32_MAX, U32_MAX, U32_MAX },
	{ 300, 2, 7, 256 },
};

/* Each side may send what the other takes; nothing above the adapter's own, silently. */
/* Proves: 5.9-negotiated */
/* Bug: B26 */
static void read_limits(struct t *t)
{
	const struct limits *l = &limits[t->arg];
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete;
	u32 max_in, max_out, a_in, a_out, b_in, b_out, in = 99, out = 99, len = 0;
	struct ndk_adapter_info info;
	struct ndk_connector *incoming;

	if (!p)
		return;
	info = t_info(t, p->a.adapter);
	max_in = info.max_inbound_read_limit;
	max_out = info.max_outbound_read_limit;
	a_in = min(l->a_in, max_in);
	a_out = min(l->a_out, max_out);
	b_in = min(l->b_in, max_in);
	b_out = min(l->b_out, max_out);
	p->a.cfg.inbound = l->a_in;
	p->a.cfg.outbound = l->a_out;
	p->b.cfg.inbound = l->b_in;
	p->b.cfg.outbound = l->b_out;
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	/* As the passive side sees them, before it adds its own. */
	EXPECT_STATUS(t, ndk_get_connection_data(incoming, &in, &out, NULL, &len), 0);
	EXPECT_EQ(t, in, min(max_in, a_out));
	EXPECT_EQ(t, out, min(max_out, a_in));
	accept = t_accept_start(&p->b, incoming);
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	len = 0;
	EXPECT_STATUS(t, ndk_get_connection_data(p->a.connector, &in, &out, NULL, &len), 0);
	EXPECT_EQ(t, in, min(a_in, b_out));
	EXPECT_EQ(t, out, min(a_out, b_in));
	complete = t_complete_start(&p->a);
	if (!complete || t_join(complete) || t_join(accept))
		return;
	/* The limits can still be asked for. */
	len = 0;
	EXPECT_STATUS(t, ndk_get_connection_data(p->a.connector, &in, &out, NULL, &len), 0);
	EXPECT_EQ(t, in, min(a_in, b_out));
	EXPECT_EQ(t, out, min(a_out, b_in));
	t_ping(&p->a, &p->b);
	t_ping(&p->b, &p->a);
}

static const struct t_case cases[] = {
	{ "ends_know_each_others_ipv4_address", ends_know_each_other, AF_INET },
	{ "ends_know_each_others_ipv6_address", ends_know_each_other, AF_INET6 },
	{ "adapter_meets_itself_over_ipv4", adapter_meets_itself, AF_INET },
	{ "adapter_meets_itself_over_ipv6", adapter_meets_itself, AF_INET6 },
	{ "ipv4_address_that_does_not_fit", address_does_not_fit, AF_INET },
	{ "ipv6_address_that_does_not_fit", address_does_not_fit, AF_INET6 },
	{ "incoming_connector_knows_addresses", incoming_knows_addresses },
	{ "source_port_of_the_consumers_choice", chosen_port },
	{ "ports_of_the_providers_choice", dynamic_ports },
	{ "ipv4_address_in_use_is_eaddrinuse", address_in_use, AF_INET },
	{ "ipv6_address_in_use_is_eaddrinuse", address_in_use, AF_INET6 },
	{ "source_port_in_use_is_eaddrinuse_or_eexist", source_port_in_use },
	{ "listeners_address_outlives_it", listener_address_outlives_it },
	{ "source_of_the_peer_is_eaddrnotavail", not_local, 0 },
	{ "source_of_nobody_is_eaddrnotavail", not_local, 1 },
	{ "private_data_none", private_data, 0 },
	{ "private_data_of_1_byte", private_data, 1 },
	{ "private_data_of_20_bytes", private_data, 20 },
	{ "private_data_of_the_limit", private_data, -1 }, /* Proves: 5.8-caller, 5.8-callee, 5.9-not-in-data */
	{ "private_data_of_a_reject", reject_data },
	{ "private_data_too_long_is_e2big", too_long_data },
	{ "read_limits_are_the_smaller_ones", read_limits, 0 },
	{ "read_limits_of_one", read_limits, 1 },
	{ "read_limit_of_zero_at_the_active_side", read_limits, 2 }, /* Proves: 5.9-zero */
	{ "read_limits_of_zero_at_the_passive_side", read_limits, 3 }, /* Proves: 5.9-zero */
	{ "read_limits_beyond_everything", read_limits, 4 }, /* Proves: 5.9-capped */
	{ "read_limits_beyond_a_byte", read_limits, 5 }, /* Proves: 5.9-capped */
};

T_GROUP(addresses, cases);
