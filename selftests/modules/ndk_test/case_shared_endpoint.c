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

static int listen_status(struct t_end *e, int family, u16 port)
{
	struct t_listener *l = t_listener(e);

	return l ? t_listen(l, e->side, family, port) : -EINVAL;
}

static int share_status(struct t_end *e, int family, u16 port)
{
	int status;

	t_try_share(e, family, port, &status);
	return status;
}

/* Another end of the same adapter and CQs, with a QP of its own. */
static struct t_end *sibling(struct t_end *e)
{
	struct t_end *s = t_alloc(e->t, sizeof(*s));

	t_end_copy(s, e);
	s->connector = NULL;
	return t_end_qp(s) ? s : NULL;
}

static bool connector_of(struct t_end *e)
{
	struct ndk_object_header *h = t_create(e, KIND_CONNECTOR);

	if (h)
		e->connector = container_of(h, struct ndk_connector, header);
	return h;
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
		a[i] = sibling(&p->a);
		b[i] = sibling(&p->b);
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
	EXPECT_STATUS(t, listen_status(&p->a, AF_INET, t_port(&at)), 0);
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
	again = sibling(&p->a);
	if (!again || !connector_of(again))
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
	if (!connector_of(again))
		return;
	w = t_await(t, "connect as another does");
	EXPECT_STATUS(t, t_wait(w, t_shared_connect_call(again, &p->listener->address, w)), -EEXIST);
	end = t_disconnect_start(&p->a);
	if (!end || !t_wait_gone(&p->b))
		return;
	t_close(t, &p->b.connector->header);
	EXPECT_STATUS(t, t_join(end), 0);
	again->connector = NULL;
	if (!connector_of(again))
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
	second = sibling(&p->a);
	if (!second || !connector_of(second))
		return;
	EXPECT_STATUS(t, share_status(second, family, 4322), -EADDRINUSE);
	EXPECT_STATUS(t, listen_status(second, family, 4322), -EADDRINUSE);
	EXPECT_STATUS(t, connect_from(second, &at, &p->listener->address), -EADDRINUSE);
	/* From another instance of the adapter as well. */
	second->adapter = t_another(t, SIDE_A);
	if (!second->adapter)
		return;
	EXPECT_STATUS(t, share_status(second, family, 4322), -EADDRINUSE);
	EXPECT_STATUS(t, listen_status(second, family, 4322), -EADDRINUSE);
	/* Not the other port, and not the other address. */
	EXPECT_STATUS(t, share_status(second, family, 4323), 0);
	EXPECT_STATUS(t, share_status(second, other, 4322), 0);
	/* And the other way round. */
	EXPECT_STATUS(t, share_status(&p->b, family, t_port(&p->listener->address)), -EADDRINUSE);
	t_addr(SIDE_A, family, 4324, &at);
	second->adapter = p->a.adapter;
	second->connector = NULL;
	if (!connector_of(second))
		return;
	w = t_await(t, "connect");
	if (!t_pended(w, t_connect_call(second, &at, &p->listener->address, w)) || !t_incoming(p->listener))
		return;
	EXPECT_STATUS(t, share_status(&p->a, family, 4324), -EADDRINUSE);
	t_close(t, &second->connector->header);
	EXPECT_STATUS(t, share_status(&p->a, family, 4324), 0);
	/* When it is closed. */
	t_close(t, &p->a.shared->header);
	EXPECT_STATUS(t, listen_status(&p->a, family, 4322), 0);
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
	second = sibling(&p->a);
	if (!second || !connector_of(second) || !t_establish(&p->a, p->listener, &p->b))
		return;
	w = t_close_start(t, &p->a.shared->header);
	t_sleep(50);
	EXPECT(t, !t_is_done(w));
	EXPECT_STATUS(t, listen_status(&p->a, t->arg, t_port(&at)), -EADDRINUSE);
	EXPECT_STATUS(t, share_status(&p->a, t->arg, t_port(&at)), -EADDRINUSE);
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
	EXPECT_STATUS(t, listen_status(&p->a, t->arg, t_port(&at)), -EADDRINUSE);
	t_close(t, &p->a.connector->header);
	t_join(w);
	EXPECT_STATUS(t, listen_status(&p->a, t->arg, t_port(&at)), 0);
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
	EXPECT_STATUS(t, share_status(e, AF_INET, 4325), -EADDRINUSE);
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

/* --- arguments and states ------------------------------------------------- */

static void share_refused(struct t_end *e, const struct sockaddr_storage *at, u32 len, ndk_create_completion_fn done,
			  int status)
{
	struct t_await *w = t_await(e->t, "create shared endpoint with a bad argument");
	void *out = t_poison();
	int rc;

	rc = t_wait(w, ndk_create_shared_endpoint(e->adapter, (const struct sockaddr *)at, len, done, w,
						  (struct ndk_shared_endpoint **)&out));
	EXPECT_STATUS(e->t, rc, status);
	EXPECT(e->t, out == t_poison());
}

/* Proves: CREATE_SHARED_ENDPOINT.bad-argument, 5.7-create-foreign */
static void bad_create(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct sockaddr_storage at;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	t_addr(SIDE_A, AF_INET, 0, &at);
	share_refused(e, &at, 0, t_created, -EINVAL);
	share_refused(e, &at, sizeof(struct sockaddr_in) - 1, t_created, -EINVAL);
	share_refused(e, NULL, sizeof(struct sockaddr_in), t_created, -EINVAL);
	share_refused(e, &at, sizeof(struct sockaddr_in), NULL, -EINVAL);
	at.ss_family = AF_UNIX;
	share_refused(e, &at, sizeof(at), t_created, -EINVAL);
	t_addr(SIDE_A, AF_INET6, 0, &at);
	share_refused(e, &at, sizeof(struct sockaddr_in), t_created, -EINVAL);
	/* The peer's address, one that nobody has, and all at once. */
	t_addr(SIDE_B, AF_INET, 0, &at);
	share_refused(e, &at, t_addr_len(&at), t_created, -EADDRNOTAVAIL);
	t_addr(SIDE_B, AF_INET6, 4328, &at);
	share_refused(e, &at, t_addr_len(&at), t_created, -EADDRNOTAVAIL);
	t_addr(SIDE_A, AF_INET, 4328, &at);
	((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(0x0a090063);
	share_refused(e, &at, t_addr_len(&at), t_created, -EADDRNOTAVAIL);
	((struct sockaddr_in *)&at)->sin_addr.s_addr = 0;
	share_refused(e, &at, t_addr_len(&at), t_created, -EADDRNOTAVAIL);
	EXPECT_STATUS(t, share_status(e, AF_INET, 4328), 0);
}

/* Proves: GET_SHARED_ENDPOINT_LOCAL_ADDRESS.bad-argument, 5.7-OPEN-address */
static void address_does_not_fit(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct sockaddr_storage ss;
	struct sockaddr *sa = (struct sockaddr *)&ss;
	u32 need, len;

	if (!t_end_init(t, e, SIDE_A, NULL) || !t_share(e, t->arg, 0) || t_shared_address(e->shared, &ss))
		return;
	need = t_addr_len(&ss);
	memset(&ss, 0xee, sizeof(ss));
	len = need - 1;
	EXPECT_STATUS(t, ndk_get_shared_endpoint_local_address(e->shared, sa, &len), -ENOSPC);
	EXPECT_EQ(t, len, need);
	len = 0;
	EXPECT_STATUS(t, ndk_get_shared_endpoint_local_address(e->shared, NULL, &len), -ENOSPC);
	EXPECT_EQ(t, len, need);
	EXPECT_STATUS(t, ndk_get_shared_endpoint_local_address(e->shared, sa, NULL), -EINVAL);
	t_check_byte(t, &ss, sizeof(ss), 0xee, "address that did not fit");
	EXPECT_STATUS(t, ndk_get_shared_endpoint_local_address(e->shared, sa, &len), 0);
	EXPECT_EQ(t, len, need);
	t_check_byte(t, (u8 *)&ss + need, sizeof(ss) - need, 0xee, "behind the address");
}

struct connect_args {
	struct ndk_qp *qp;
	struct ndk_shared_endpoint *endpoint;
	struct sockaddr_storage *to;
	u32 to_len;
	const void *data;
	u32 data_len;
	ndk_request_completion_fn done;
};

static void connect_refused(struct t_end *e, const struct connect_args *a, int status)
{
	struct t_await *w = t_await(e->t, "connect with a bad argument");

	EXPECT_STATUS(e->t, ndk_connect_with_shared_endpoint(e->connector, a->qp, a->endpoint, (struct sockaddr *)a->to,
							     a->to_len, 1, 1, a->data, a->data_len, a->done, w),
		      status);
}

#define TRY_CONNECT(e, good, field, value, status) do {	\
	struct connect_args _a = good;			\
							\
	_a.field = value;				\
	connect_refused(e, &_a, status);		\
} while (0)

/* Proves: CONNECT_WITH_SHARED_ENDPOINT.bad-argument, 5.8-too-long, 5.3-IDLE-connect-long-data */
static void bad_connect(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage to6, other;
	struct ndk_shared_endpoint *elsewhere;
	struct connect_args good;
	static const u8 data[300];
	struct t_end *e;
	u32 max;
	int status;

	if (!p || !t_share(&p->a, AF_INET, 0) || !connector_of(&p->a))
		return;
	e = &p->a;
	elsewhere = t_try_share(&p->b, AF_INET, 0, &status);
	max = t_info(t, e->adapter).max_caller_data;
	other = p->listener->address;
	good = (struct connect_args) {
		.qp = e->qp, .endpoint = e->shared, .to = &p->listener->address, .to_len = sizeof(struct sockaddr_in),
		.done = t_done,
	};
	TRY_CONNECT(e, good, qp, NULL, -EINVAL);
	TRY_CONNECT(e, good, qp, p->b.qp, -EINVAL);
	TRY_CONNECT(e, good, endpoint, NULL, -EINVAL);
	TRY_CONNECT(e, good, endpoint, elsewhere, -EINVAL);
	TRY_CONNECT(e, good, to, NULL, -EINVAL);
	TRY_CONNECT(e, good, to_len, 0, -EINVAL);
	TRY_CONNECT(e, good, to_len, sizeof(struct sockaddr_in) - 1, -EINVAL);
	other.ss_family = AF_UNIX;
	TRY_CONNECT(e, good, to, &other, -EINVAL);
	t_addr(SIDE_B, AF_INET, 0, &other);
	TRY_CONNECT(e, good, to, &other, -EINVAL);
	other = p->listener->address;
	((struct sockaddr_in *)&other)->sin_addr.s_addr = 0;
	TRY_CONNECT(e, good, to, &other, -EINVAL);
	((struct sockaddr_in *)&other)->sin_addr.s_addr = htonl(0xe0000001);
	TRY_CONNECT(e, good, to, &other, -EINVAL);
	TRY_CONNECT(e, good, done, NULL, -EINVAL);
	TRY_CONNECT(e, good, data_len, 8, -EINVAL);
	/* Of the other family. */
	t_addr(SIDE_B, AF_INET6, t_port(&p->listener->address), &to6);
	good.to_len = sizeof(struct sockaddr_in6);
	TRY_CONNECT(e, good, to, &to6, -EINVAL);
	good.to_len = sizeof(struct sockaddr_in);
	good.data = data;
	TRY_CONNECT(e, good, data_len, max + 1, -E2BIG);
	TRY_CONNECT(e, good, data_len, U32_MAX, -E2BIG);
	EXPECT(t, t_nothing_incoming(p->listener, 50));
	/* Nothing of it is held, and it works. */
	if (t_establish(e, p->listener, &p->b))
		t_ping(e, &p->b);
}

/* Proves: CONNECT_WITH_SHARED_ENDPOINT.wrong-state, 5.3-CONNECTING-connect, 5.4-INCOMING-other, 5.3-IDLE-connect-busy-qp */
static void wrong_state(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete, *w, *end;
	struct ndk_connector *incoming, *mine;
	struct sockaddr_storage to;
	struct t_end *spare;
	int status;

	if (!p || !t_share(&p->a, AF_INET, 0))
		return;
	spare = sibling(&p->a);
	p->b.shared = t_try_share(&p->b, AF_INET, 0, &status);
	if (!spare || !p->b.shared)
		return;
	t_addr(SIDE_B, AF_INET, 7, &to);
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	mine = p->a.connector;
	/* Connecting; incoming. */
	w = t_await(t, "connect in a wrong state");
	spare->connector = mine;
	EXPECT_STATUS(t, t_shared_connect_call(spare, &to, w), -EISCONN);
	p->b.connector = incoming;
	EXPECT_STATUS(t, t_shared_connect_call(&p->b, &to, w), -ENOTCONN);
	/* Another connector on the QP that connects. */
	spare->connector = NULL;
	if (!connector_of(spare))
		return;
	swap(spare->qp, p->a.qp);
	EXPECT_STATUS(t, t_shared_connect_call(spare, &to, w), -EISCONN);
	swap(spare->qp, p->a.qp);
	/* Accepted; connected. */
	accept = t_accept_start(&p->b, incoming);
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	EXPECT_STATUS(t, t_shared_connect_call(&p->a, &to, w), -EISCONN);
	complete = t_complete_start(&p->a);
	if (!complete || t_join(complete) || t_join(accept))
		return;
	EXPECT_STATUS(t, t_shared_connect_call(&p->a, &to, w), -EISCONN);
	t_ping(&p->a, &p->b);
	/* Disconnected. */
	end = t_disconnect_start(&p->a);
	if (!end || !t_wait_gone(&p->b))
		return;
	t_close(t, &p->b.connector->header);
	EXPECT_STATUS(t, t_join(end), 0);
	status = t_shared_connect_call(&p->a, &to, w);
	EXPECT(t, status == -ENOTCONN || status == -EISCONN);
	/* None of these is a connector over the endpoint, but the first. */
	end = t_close_start(t, &p->a.shared->header);
	t_sleep(20);
	EXPECT(t, !t_is_done(end));
	t_close(t, &mine->header);
	t_join(end);
}

/* --- contexts and closes -------------------------------------------------- */

/* Proves: CONNECT_WITH_SHARED_ENDPOINT.softirq, GET_SHARED_ENDPOINT_LOCAL_ADDRESS.softirq, CREATE_SHARED_ENDPOINT.softirq */
static void under_a_spinlock(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete;
	struct ndk_connector *incoming;
	struct sockaddr_storage at;
	int rc, status;

	if (!p || !t_share(&p->a, AF_INET, 0) || !connector_of(&p->a))
		return;
	connect = t_await(t, "connect");
	spin_lock_bh(&t_consumer_lock);
	status = t_shared_address(p->a.shared, &at);
	rc = t_shared_connect_call(&p->a, &p->listener->address, connect);
	spin_unlock_bh(&t_consumer_lock);
	EXPECT_STATUS(t, status, 0);
	if (!t_pended(connect, rc))
		return;
	incoming = t_incoming(p->listener);
	accept = incoming ? t_accept_start(&p->b, incoming) : NULL;
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	complete = t_complete_start(&p->a);
	if (complete && !t_join(complete) && !t_join(accept))
		t_ping(&p->a, &p->b);
}

struct from_callbacks {
	struct t_pair *p;
	struct t_await *connect, *closing[2];
};

static void connect_in_create(struct t_await *w)
{
	struct from_callbacks *c = w->arg;
	struct t_end *a = &c->p->a;

	if (w->status)
		return;
	a->shared = container_of(w->object, struct ndk_shared_endpoint, header);
	if (t_pended(c->connect, t_shared_connect_call(a, &c->p->listener->address, c->connect)))
		return;
	complete_all(&c->connect->done);
}

static void close_in_connect(struct t_await *w)
{
	struct from_callbacks *c = w->arg;

	c->closing[0] = t_close_start(w->t, &c->p->a.shared->header);
	c->closing[1] = t_close_start(w->t, &c->p->a.connector->header);
}

/*
 * Created, connected over in the completion of that, and closed in the completion of the connect, the antecedent first.
 *
 * Proves: 3.1, 3.2, 3.4, CLOSE_OBJECT.softirq, CONNECT_WITH_SHARED_ENDPOINT.softirq
 */
static void from_callbacks_alone(struct t *t)
{
	struct from_callbacks *c = t_alloc(t, sizeof(*c));
	struct sockaddr_storage any;
	struct t_await *w, *accept;
	struct ndk_connector *incoming;
	void *out = t_poison();

	c->p = t_pair_unconnected(t, NULL);
	if (!c->p || !connector_of(&c->p->a))
		return;
	c->connect = t_await(t, "connect");
	c->connect->then = close_in_connect;
	c->connect->arg = c;
	w = t_await(t, "create shared endpoint");
	w->then = connect_in_create;
	w->arg = c;
	t_addr(SIDE_A, AF_INET, 0, &any);
	if (!t_pended(w, t_share_call(&c->p->a, &any, t_created, w, &out)) || !EXPECT_STATUS(t, t_join(w), 0))
		return;
	incoming = t_incoming(c->p->listener);
	accept = incoming ? t_accept_start(&c->p->b, incoming) : NULL;
	if (!accept || !EXPECT_STATUS(t, t_join(c->connect), 0))
		return;
	t_join(c->closing[0]);
	t_join(c->closing[1]);
	EXPECT_STATUS(t, t_join(accept), -ECONNABORTED);
}

/* Proves: CONNECT_WITH_SHARED_ENDPOINT.close-pending, 5.3-CONNECTING-close, 5.7-CLOSING-last */
static void closed_while_connecting(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *endpoint, *connector;
	struct sockaddr_storage at;

	if (!p || !t_share(&p->a, AF_INET, 0) || t_shared_address(p->a.shared, &at))
		return;
	connect = t_connect_start(&p->a, &p->listener->address);
	/* At once, or when the peer has it. */
	if (!connect || (t->arg && !t_incoming(p->listener)))
		return;
	endpoint = t_close_start(t, &p->a.shared->header);
	connector = t_close_start(t, &p->a.connector->header);
	t_join(connector);
	EXPECT(t, t_is_done(connect));
	EXPECT_STATUS(t, t_join(connect), -ECANCELED);
	t_join(endpoint);
	EXPECT_STATUS(t, listen_status(&p->a, AF_INET, t_port(&at)), 0);
}

static void close_what_came(struct t_await *w)
{
	struct t_await **closing = w->arg;

	if (w->object)
		*closing = t_close_start(w->t, w->object);
}

/*
 * The adapter is closed with a create pending, whose completion closes what it brings.
 *
 * Proves: 3.7, 3.1-ADAPTER, CREATE_SHARED_ENDPOINT.close-pending
 */
static void adapter_closed(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct sockaddr_storage any;
	struct t_await *w, *closing = NULL;
	void *out = t_poison();

	e->t = t;
	e->adapter = t_another(t, SIDE_A);
	if (!e->adapter)
		return;
	t_addr(SIDE_A, AF_INET, 0, &any);
	w = t_await(t, "create shared endpoint");
	w->then = close_what_came;
	w->arg = &closing;
	if (!t_pended(w, t_share_call(e, &any, t_created, w, &out)))
		return;
	if (t_close_adapter(t, e->adapter))
		EXPECT(t, t_has_left(w) && closing && t_has_left(closing));
	EXPECT_STATUS(t, t_join(w), 0);
}

/* --- many ----------------------------------------------------------------- */

#define MANY 16

struct connecting {
	struct t_end *a, *b;
	struct t_listener *l;
	struct t_await *connect, *accept, *complete;
};

/* Proves: 5.7-OPEN-connect, 5.7-CLOSING-last */
static void many_at_once(struct t *t)
{
	struct connecting *c = t_alloc(t, MANY * sizeof(*c));
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct ndk_connector *incoming;
	struct t_await *closing[MANY + 1];
	int i;

	if (!p || !t_share(&p->a, AF_INET, 0))
		return;
	for (i = 0; i < MANY; i++) {
		c[i].a = sibling(&p->a);
		c[i].b = sibling(&p->b);
		c[i].l = t_listening(&p->b, AF_INET, 0);
		if (!c[i].a || !c[i].b || !c[i].l)
			return;
	}
	for (i = 0; i < MANY; i++) {
		c[i].connect = t_connect_start(c[i].a, &c[i].l->address);
		if (!c[i].connect)
			return;
	}
	for (i = 0; i < MANY; i++) {
		incoming = t_incoming(c[i].l);
		c[i].accept = incoming ? t_accept_start(c[i].b, incoming) : NULL;
		if (!c[i].accept)
			return;
	}
	for (i = 0; i < MANY; i++) {
		EXPECT_STATUS(t, t_join(c[i].connect), 0);
		c[i].complete = t_complete_start(c[i].a);
	}
	for (i = 0; i < MANY; i++)
		if (!c[i].complete || t_join(c[i].complete) || t_join(c[i].accept))
			t_fail(t, "connection %d does not stand", i);
	/* All closed at once; the endpoint first, and done last. */
	closing[MANY] = t_close_start(t, &p->a.shared->header);
	for (i = 0; i < MANY; i++)
		closing[i] = t_close_start(t, &c[i].a->connector->header);
	t_join(closing[MANY]);
	for (i = 0; i < MANY; i++)
		EXPECT(t, t_is_done(closing[i]));
}

/*
 * One remote after the other from one address, again and again.
 *
 * Proves: 5.7-OPEN-connect, 4.1-until-closed
 */
static void again_and_again(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_end *a, *b;
	int i;

	if (!p || !t_share(&p->a, AF_INET, 0))
		return;
	for (i = 0; i < 12; i++) {
		a = sibling(&p->a);
		b = sibling(&p->b);
		if (!a || !b || !t_establish(a, p->listener, b) || !t_ping(b, a))
			return;
		t_close_start(t, &a->qp->header);
		t_close(t, &a->connector->header);
		t_wait_gone(b);
		t_close_start(t, &b->qp->header);
		t_close(t, &b->connector->header);
	}
}

/* --- removal -------------------------------------------------------------- */

/* Proves: 12-removal, CREATE_SHARED_ENDPOINT.wrong-state, GET_SHARED_ENDPOINT_LOCAL_ADDRESS.wrong-state */
static void device_goes(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_end *spare, *pending, *fresh = t_alloc(t, sizeof(*fresh));
	struct t_await *w, *connect, *closing;
	struct sockaddr_storage at;
	struct t_listener *l;

	if (!p || !t_share(&p->a, AF_INET, 4329))
		return;
	spare = sibling(&p->a);
	pending = sibling(&p->a);
	l = t_listening(&p->b, AF_INET, 0);
	if (!spare || !pending || !l || !connector_of(spare) || !t_establish(&p->a, p->listener, &p->b))
		return;
	connect = t_connect_start(pending, &l->address);
	/* One whose close waits already. */
	if (!connect || !t_incoming(l) || !t_share(spare, AF_INET6, 4329))
		return;
	closing = t_close_start(t, &p->a.shared->header);
	if (t_host(t, "link_del a"))
		return;
	t_wait_gone(&p->a);
	EXPECT_STATUS(t, t_join(connect), -ENODEV);
	EXPECT_STATUS(t, t_shared_address(spare->shared, &at), -ENODEV);
	EXPECT_STATUS(t, share_status(&p->a, AF_INET, 0), -ENODEV);
	w = t_await(t, "connect without a device");
	EXPECT_STATUS(t, t_shared_connect_call(spare, &p->listener->address, w), -ENODEV);
	EXPECT(t, !t_is_done(closing));
	if (t_host(t, "link_add a && link_ready a"))
		return;
	/* The address is free for the new device, whatever is open of the old one. */
	t->side[SIDE_A] = NULL;
	if (t_end_init(t, fresh, SIDE_A, NULL)) {
		EXPECT_STATUS(t, share_status(fresh, AF_INET, 4329), 0);
		EXPECT_STATUS(t, share_status(fresh, AF_INET6, 4329), 0);
	}
	t_close(t, &spare->shared->header);
	t_close(t, &pending->connector->header);
	EXPECT(t, !t_is_done(closing));
	t_close(t, &p->a.connector->header);
	t_join(closing);
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
	{ "create_with_bad_arguments", bad_create },
	{ "ipv4_address_that_does_not_fit", address_does_not_fit, AF_INET },
	{ "ipv6_address_that_does_not_fit", address_does_not_fit, AF_INET6 },
	{ "connect_with_bad_arguments", bad_connect },
	{ "connect_in_a_wrong_state", wrong_state },
	{ "connect_and_query_under_a_spinlock", under_a_spinlock },
	{ "from_callbacks_alone", from_callbacks_alone },
	{ "closed_at_once_after_a_connect", closed_while_connecting, 0 },
	{ "closed_while_the_peer_thinks", closed_while_connecting, 1 },
	{ "adapter_close_waits_for_a_create", adapter_closed },
	{ "sixteen_at_once", many_at_once },
	{ "same_remote_again_and_again", again_and_again },
	{ "device_goes", device_goes },
};

T_GROUP(shared_endpoint, cases);
