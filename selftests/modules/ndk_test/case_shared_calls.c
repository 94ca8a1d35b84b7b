// SPDX-License-Identifier: GPL-2.0
/* Shared endpoints: arguments and states, contexts, closes, many at a time, removal. */

#include "raw.h"

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
	EXPECT_STATUS(t, t_share_status(e, AF_INET, 4328), 0);
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

	if (!p || !t_share(&p->a, AF_INET, 0) || !t_connector_of(&p->a))
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
	spare = t_sibling(&p->a);
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
	if (!t_connector_of(spare))
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

	if (!p || !t_share(&p->a, AF_INET, 0) || !t_connector_of(&p->a))
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
	if (!c->p || !t_connector_of(&c->p->a))
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
	EXPECT_STATUS(t, t_listen_status(&p->a, AF_INET, t_port(&at)), 0);
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
		c[i].a = t_sibling(&p->a);
		c[i].b = t_sibling(&p->b);
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
		a = t_sibling(&p->a);
		b = t_sibling(&p->b);
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
	spare = t_sibling(&p->a);
	pending = t_sibling(&p->a);
	l = t_listening(&p->b, AF_INET, 0);
	if (!spare || !pending || !l || !t_connector_of(spare) || !t_establish(&p->a, p->listener, &p->b))
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
	EXPECT_STATUS(t, t_share_status(&p->a, AF_INET, 0), -ENODEV);
	w = t_await(t, "connect without a device");
	EXPECT_STATUS(t, t_shared_connect_call(spare, &p->listener->address, w), -ENODEV);
	EXPECT(t, !t_is_done(closing));
	if (t_host(t, "link_add a && link_ready a"))
		return;
	/* The address is free for the new device, whatever is open of the old one. */
	t->side[SIDE_A] = NULL;
	if (t_end_init(t, fresh, SIDE_A, NULL)) {
		EXPECT_STATUS(t, t_share_status(fresh, AF_INET, 4329), 0);
		EXPECT_STATUS(t, t_share_status(fresh, AF_INET6, 4329), 0);
	}
	t_close(t, &spare->shared->header);
	t_close(t, &pending->connector->header);
	EXPECT(t, !t_is_done(closing));
	t_close(t, &p->a.connector->header);
	t_join(closing);
}

static const struct t_case cases[] = {
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

T_GROUP(shared_calls, cases);
