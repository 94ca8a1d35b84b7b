// SPDX-License-Identifier: GPL-2.0
/*
 * Who does not answer in time. selftests/timeouts.sh loads ndk with these
 * times, each multiplied by the factor for all time limits, and this backlog.
 */

#include "raw.h"

#define CONNECT_MS	1500
#define HOLD_MS		800
#define ACCEPT_MS	400
#define DISCONNECT_MS	500
#define BACKLOG		3

static u64 now_ms(void)
{
	return ktime_get_ns() / NSEC_PER_MSEC;
}

/* It took the time that was chosen, and not the ten times as long that any other would be. */
static void expect_duration(struct t *t, u64 start, unsigned int ms)
{
	u64 passed = now_ms() - start;

	if (passed < ms * t_scale || passed > 4 * ms * t_scale + 2000)
		t_fail(t, "took %llu ms, should be about %u", passed, ms * t_scale);
}

/*
 * The peer is there and its consumer does not answer; the same connector connects then.
 *
 * Proves: 5.3-CONNECTING-timeout, 5.4-INCOMING-abandoned, REQUEST_COMPLETION.ok
 */
static void connect_without_an_answer(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct ndk_connector *incoming;
	struct t_await *connect, *w;
	u64 start = now_ms();

	if (!p)
		return;
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	EXPECT_STATUS(t, t_join(connect), -ETIMEDOUT);
	expect_duration(t, start, CONNECT_MS);
	t_sleep(100);
	w = t_await(t, "accept");
	EXPECT_STATUS(t, t_wait(w, ndk_accept(incoming, p->b.qp, 1, 1, NULL, 0, t_gone, &p->b, t_done, w)),
		      -ECONNABORTED);
	EXPECT_STATUS(t, ndk_reject(incoming, NULL, 0), -ECONNABORTED);
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/*
 * Nobody is heard of at all.
 *
 * Proves: 5.3-CONNECTING-timeout
 */
static void connect_into_silence(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct sockaddr_storage to;
	u64 start;

	if (!p)
		return;
	/* The neighbour is known. */
	t_addr(SIDE_B, t->arg, 7, &to);
	EXPECT_STATUS(t, t_connect(&p->a, &to), -ECONNREFUSED);
	if (t_host(t, "silence"))
		return;
	start = now_ms();
	EXPECT_STATUS(t, t_connect(&p->a, &p->listener->address), -ETIMEDOUT);
	expect_duration(t, start, CONNECT_MS);
	t_host(t, "unsilence");
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/*
 * The peer has accepted, and our consumer neither completes nor rejects. The peer is told, and the connector is over; the QP is
 * as it was.
 *
 * Proves: 5.3-ACCEPTED-timeout, 5.3-COMPLETING-timeout, COMPLETE_CONNECT.wrong-state, COMPLETE_CONNECT_EX.wrong-state,
 * REJECT.wrong-state, 5.4-ACCEPTING-abandoned
 */
static void held_too_long(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct raw *listener = raw_new(t, SIDE_B), *end = NULL;
	struct sockaddr_storage to;
	struct t_await *connect, *w;
	u64 start;

	if (!p || !raw_listen(listener, &to))
		goto out;
	connect = t_connect_start(&p->a, &to);
	end = connect ? raw_accept_end(listener) : NULL;
	if (!end || !EXPECT_STATUS(t, raw_accept(end, NULL, 0), 0) || !EXPECT_STATUS(t, t_join(connect), 0))
		goto out;
	start = now_ms();
	if (!raw_wait(end, RDMA_CM_EVENT_REJECTED))
		goto out;
	expect_duration(t, start, HOLD_MS);
	w = t_await(t, "complete connect");
	if (t->arg)
		EXPECT_STATUS(t, ndk_reject(p->a.connector, NULL, 0), -ETIMEDOUT);
	else
		EXPECT_STATUS(t, ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, w), -ETIMEDOUT);
	EXPECT_STATUS(t, ndk_complete_connect_ex(p->a.connector, t_gone_ex, &p->a, t_done, w), -ETIMEDOUT);
	EXPECT_STATUS(t, ndk_disconnect(p->a.connector, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, t_connect_call(&p->a, &to, &p->listener->address, w), -ENOTCONN);
	t_close(t, &p->a.connector->header);
	p->a.connector = NULL;
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
	EXPECT_EQ(t, atomic_read(&p->a.gone), 0);
out:
	raw_free(end);
	raw_free(listener);
}

/*
 * We have accepted, and the peer's consumer does not complete. What was posted comes back, and the peer is told.
 *
 * Proves: 5.4-ACCEPTING-timeout, 5.3-ACCEPTED-abandoned, 5.4-REJECTED-other, ACCEPT.ok
 */
static void never_completed(struct t *t)
{
	const struct t_cfg cfg = { .family = t->arg };
	struct t_pair *p = t_pair_unconnected(t, &cfg);
	struct ndk_connector *incoming;
	struct t_await *connect, *accept, *w;
	struct t_buf *in;
	u64 start;

	if (!p)
		return;
	in = t_buf(&p->b, 64);
	if (!in || !EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, 64), 0))
		return;
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	start = now_ms();
	accept = incoming ? t_accept_start(&p->b, incoming) : NULL;
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	EXPECT_STATUS(t, t_join(accept), -ETIMEDOUT);
	expect_duration(t, start, ACCEPT_MS);
	t_take_status(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE, -ECANCELED);
	t_sleep(100);
	w = t_await(t, "a call when it is over");
	EXPECT_STATUS(t, ndk_complete_connect(p->a.connector, t_gone, &p->a, t_done, w), -ECONNABORTED);
	EXPECT_STATUS(t, ndk_reject(incoming, NULL, 0), -ENOTCONN);
	EXPECT_STATUS(t, ndk_disconnect(incoming, t_done, w), -ENOTCONN);
	EXPECT_STATUS(t, ndk_send(p->b.qp, CTX(2), NULL, 0, 0), -ENOTCONN);
	EXPECT_EQ(t, atomic_read(&p->a.gone), 0);
	EXPECT_EQ(t, atomic_read(&p->b.gone), 0);
}

/*
 * A consumer that thinks for longer than the peer may take is not cut off, and no timer is left when the connection stands.
 *
 * Proves: 12-slow-consumer
 */
static void slow_consumer(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_await *connect, *accept, *complete;
	struct ndk_connector *incoming;

	if (!p)
		return;
	connect = t_connect_start(&p->a, &p->listener->address);
	incoming = connect ? t_incoming(p->listener) : NULL;
	if (!incoming)
		return;
	t_sleep(2 * ACCEPT_MS * t_scale);
	EXPECT(t, !t_is_done(connect));
	accept = t_accept_start(&p->b, incoming);
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	complete = t_complete_start(&p->a);
	if (!complete || !EXPECT_STATUS(t, t_join(complete), 0) || !EXPECT_STATUS(t, t_join(accept), 0))
		return;
	t_sleep(2 * CONNECT_MS * t_scale);
	if (t_ping(&p->a, &p->b))
		t_ping(&p->b, &p->a);
	EXPECT_EQ(t, atomic_read(&p->a.gone), 0);
	EXPECT_EQ(t, atomic_read(&p->b.gone), 0);
}

/*
 * One peer is there and does not answer, another (of the other address family) is not heard of any more.
 *
 * Proves: 5.5-DISCONNECTING-abort, 5.10-event-whom, 5.10-no-half, 5.10-flush, 5.5-DISCONNECTED-post
 */
static void no_answer(struct t *t)
{
	const struct t_cfg cfg6 = { .family = AF_INET6 };
	struct t_pair *ignoring = t_pair(t, NULL), *silent = t_pair(t, &cfg6);
	struct t_await *wi, *ws, *again;
	struct t_buf *in;
	u64 start;

	if (!ignoring || !silent)
		return;
	in = t_buf(&silent->a, 64);
	if (!in || t_host(t, "silence ipv6"))
		return;
	EXPECT_STATUS(t, t_post_receive(&silent->a, 1, in, 0, 64), 0);
	start = now_ms();
	ws = t_disconnect_start(&silent->a);
	wi = t_disconnect_start(&ignoring->a);
	if (wi && ws && t_wait_gone(&ignoring->b)) {
		EXPECT_STATUS(t, t_join(wi), -ETIMEDOUT);
		EXPECT_STATUS(t, t_join(ws), -ETIMEDOUT);
		expect_duration(t, start, DISCONNECT_MS);
		t_take_status(&silent->a, silent->a.rcq, 1, NDK_OPERATION_RECEIVE, -ECANCELED);
		/* Gone all the same. */
		again = t_await(t, "disconnect again");
		EXPECT_STATUS(t, ndk_disconnect(ignoring->a.connector, t_done, again), -ENOTCONN);
		EXPECT_STATUS(t, ndk_send(ignoring->a.qp, CTX(1), NULL, 0, 0), -ENOTCONN);
		EXPECT_STATUS(t, ndk_send(silent->a.qp, CTX(1), NULL, 0, 0), -ENOTCONN);
		EXPECT_EQ(t, atomic_read(&silent->a.gone), 0);
		EXPECT_EQ(t, atomic_read(&silent->b.gone), 0);
	}
	t_host(t, "unsilence");
}

static struct t_await *ask(struct t_pair *p, struct t_end *e)
{
	t_end_copy(e, &p->a);
	e->connector = NULL;
	return t_end_qp(e) ? t_connect_start(e, &p->listener->address) : NULL;
}

/* How the consumer, or the peer, makes room in the backlog. */
enum room { REJECT, CLOSE, ACCEPT, PEER_GIVES_UP, ROOMS };

/*
 * As many connections as may wait for an answer do; more are refused as if nobody listened, until one of them has its answer.
 *
 * Proves: 4.4-backlog, 5.3-CONNECTING-refused
 */
static void backlog(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct t_end *asking = t_alloc(t, (BACKLOG + ROOMS) * sizeof(*asking));
	struct ndk_connector *incoming[BACKLOG + ROOMS];
	struct t_await *connect[BACKLOG + ROOMS];
	struct t_end *late = t_alloc(t, sizeof(*late));
	struct t_await *w;
	char data[256];
	enum room room;
	u32 len;
	int i;

	if (!p)
		return;
	for (i = 0; i < BACKLOG; i++) {
		connect[i] = ask(p, &asking[i]);
		incoming[i] = connect[i] ? t_incoming(p->listener) : NULL;
		if (!incoming[i])
			return;
	}
	for (room = 0; room < ROOMS; room++, i++) {
		w = ask(p, late);
		if (!w || !EXPECT_STATUS(t, t_join(w), -ECONNREFUSED))
			return;
		/* Nobody said so: there is nothing to read. */
		len = sizeof(data);
		EXPECT_STATUS(t, ndk_get_connection_data(late->connector, NULL, NULL, data, &len), -ENOTCONN);
		EXPECT_EQ(t, atomic_read(&p->listener->events), i);
		switch (room) {
		case REJECT:
			EXPECT_STATUS(t, ndk_reject(incoming[0], NULL, 0), 0);
			break;
		case CLOSE:
			t_close(t, &incoming[1]->header);
			break;
		case ACCEPT:
			if (!t_accept_start(&p->b, incoming[2]))
				return;
			break;
		default:
			t_close(t, &asking[BACKLOG].connector->header);
			t_sleep(100);
			break;
		}
		connect[i] = ask(p, &asking[i]);
		incoming[i] = connect[i] ? t_incoming(p->listener) : NULL;
		if (!incoming[i])
			return;
	}
}

static const struct t_case cases[] = {
	{ "connect_over_ipv4_without_an_answer", connect_without_an_answer, AF_INET },
	{ "connect_over_ipv6_without_an_answer", connect_without_an_answer, AF_INET6 },
	{ "connect_over_ipv4_into_silence", connect_into_silence, AF_INET },
	{ "connect_over_ipv6_into_silence", connect_into_silence, AF_INET6 },
	{ "held_too_long_for_complete", held_too_long, 0 },
	{ "held_too_long_for_reject", held_too_long, 1 },
	{ "accepted_over_ipv4_and_never_completed", never_completed, AF_INET },
	{ "accepted_over_ipv6_and_never_completed", never_completed, AF_INET6 },
	{ "slow_consumer_is_waited_for", slow_consumer },
	{ "disconnect_without_an_answer", no_answer },
	{ "full_backlog_refuses", backlog },
};

T_GROUP(timeouts, cases);
