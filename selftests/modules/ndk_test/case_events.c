// SPDX-License-Identifier: GPL-2.0
/* Events and posts beside other calls: in parallel, late, slow, in either form. */

#include <linux/delay.h>
#include <linux/kthread.h>

#include "ndk_test.h"

/* --- posts ---------------------------------------------------------------- */

/* Of each of the four posters; fewer where everything is slow. */
#define POSTS (2000 / t_scale)

struct poster {
	struct t_end *e;
	struct t_buf *buf;
	bool receives;
	int posted;
	/* Who posts the receives for what this one sends. */
	struct poster *peer;
	struct completion done;
};

/* One queue of a QP; nobody else posts to it. */
static int post_many(void *arg)
{
	struct poster *p = arg;
	unsigned long end = jiffies + t_ticks(20);
	int i, rc;

	for (i = 0; i < POSTS && time_before(jiffies, end);) {
		/* On iWARP a message waits for no receive. */
		if (world.iwarp && !p->receives && READ_ONCE(p->peer->posted) <= i) {
			usleep_range(2, 20);
			continue;
		}
		rc = p->receives ? t_post_receive(p->e, i, p->buf, 0, 64) : t_post_send(p->e, i, p->buf, 0, 64, 0);
		if (!rc) {
			WRITE_ONCE(p->posted, ++i);
		} else if (rc == -ENOBUFS) {
			/* At once when there is room: what was taken must be out of the provider's hands by then. */
			usleep_range(2, 20);
		} else {
			t_fail(p->e->t, "posting: %s", t_errname(rc));
			break;
		}
	}
	complete(&p->done);
	return 0;
}

/* Both queues of both QPs are posted to at the same time, by four threads without a lock. */
/* Proves: SEND.ok, RECEIVE.ok, 7.1-parallel-queues, 7.1-accepted, 7.2-order */
static void queues_in_parallel(struct t *t)
{
	const struct t_cfg cfg = { .depth = 8, .cq_depth = 64 };
	struct t_pair *p = t_pair(t, &cfg);
	struct poster *posters = t_alloc(t, 4 * sizeof(*posters));
	struct t_cq *cqs[4];
	struct task_struct *task;
	unsigned int next[4] = {};
	struct ndk_result_ex r[8];
	unsigned long end;
	u32 n, j;
	int i;

	if (!p)
		return;
	for (i = 0; i < 4; i++) {
		posters[i].e = i < 2 ? &p->a : &p->b;
		posters[i].receives = i % 2;
		posters[i].peer = &posters[3 - i];
		posters[i].buf = t_buf(posters[i].e, 64);
		init_completion(&posters[i].done);
		cqs[i] = i % 2 ? posters[i].e->rcq : posters[i].e->icq;
		if (!posters[i].buf)
			return;
	}
	for (i = 0; i < 4; i++) {
		task = kthread_run(post_many, &posters[i], "ndk_test_post");
		if (IS_ERR(task)) {
			t_fail(t, "no thread");
			complete(&posters[i].done);
		}
	}
	end = jiffies + t_ticks(20);
	while ((next[0] < POSTS || next[1] < POSTS || next[2] < POSTS || next[3] < POSTS) && time_before(jiffies, end)) {
		for (i = 0; i < 4; i++) {
			n = ndk_get_cq_results_ex(cqs[i]->cq, r, ARRAY_SIZE(r));
			for (j = 0; j < n; j++) {
				EXPECT_STATUS(t, r[j].status, 0);
				EXPECT_EQ(t, (unsigned long)r[j].request_context, next[i]);
				next[i]++;
			}
		}
		usleep_range(5, 20);
	}
	for (i = 0; i < 4; i++) {
		wait_for_completion(&posters[i].done);
		EXPECT_EQ(t, next[i], POSTS);
	}
}

/* Proves: FLUSH.ok, DISCONNECT_EVENT_CALLBACK.wrong-state, 5.5-CONNECTED-flush, 7.1-not-connected, 12-flush-kills */
static void flush_ends_the_connection(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *buf;

	if (!p)
		return;
	buf = t_buf(&p->a, 64);
	if (!buf)
		return;
	EXPECT_STATUS(t, t_post_receive(&p->a, 1, buf, 0, 64), 0);
	ndk_flush(p->a.qp);
	t_take_status(&p->a, p->a.rcq, 1, NDK_OPERATION_RECEIVE, -ECANCELED);
	/* What is accepted after it is cancelled as well, what is not has no result. */
	if (!t_post_send(&p->a, 2, buf, 0, 64, 0))
		t_take_status(&p->a, p->a.icq, 2, NDK_OPERATION_SEND, -ECANCELED);
	/* The peer hears of it when it sends, or when the connection is closed. */
	t_close(t, &p->a.connector->header);
	t_wait_gone(&p->b);
	/* On iWARP it has ended a TCP connection, and may have heard of that before the close. */
	EXPECT(t, atomic_read(&p->a.gone) <= world.iwarp);
}

/* --- events --------------------------------------------------------------- */

struct slow_event {
	struct completion started;
	atomic_t left;
};

static void stay(struct t_listener *l, struct ndk_connector *connector)
{
	struct slow_event *s = l->arg;

	complete(&s->started);
	mdelay(150);
	atomic_inc(&s->left);
}

/* Pause does not wait: it returns while an event runs, and may be called from inside one. */
/* Proves: CONTROL_CONNECT_EVENTS.ok, 12-pause-late, 4.4-pause */
static void pause_during_an_event(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct slow_event *s = t_alloc(t, sizeof(*s));
	struct t_await *connect;

	if (!p)
		return;
	init_completion(&s->started);
	p->listener->arg = s;
	p->listener->then = stay;
	connect = t_connect_start(&p->a, &p->listener->address);
	if (!connect)
		return;
	if (!wait_for_completion_timeout(&s->started, t_ticks(10))) {
		t_fail(t, "no connect event");
		return;
	}
	ndk_control_connect_events(p->listener->listener, true);
	EXPECT_EQ(t, atomic_read(&s->left), 0);
	while (!atomic_read(&s->left))
		t_sleep(5);
	EXPECT_EQ(t, atomic_read(&p->listener->events), 1);
	EXPECT(t, !t_is_done(connect));
}

/* The consumer of a listener is slow, and that of a connect is as well: nobody is timed out. */
/* Proves: CONNECT.ok, ACCEPT.ok, 12-slow-consumer */
static void slow_consumers(struct t *t)
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
	/* Longer than the connection manager waits for an answer before it asks again. */
	t_sleep(6000);
	accept = t_accept_start(&p->b, incoming);
	if (!accept || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	t_sleep(6000);
	complete = t_complete_start(&p->a);
	if (complete && EXPECT_STATUS(t, t_join(complete), 0) && EXPECT_STATUS(t, t_join(accept), 0))
		t_ping(&p->a, &p->b);
}

/* Proves: 4.4-created, 5.4-refused, CONNECT_EVENT_CALLBACK.wrong-state */
static void new_listener_does_not_listen(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct sockaddr_storage to;
	struct t_listener *l;

	if (!p)
		return;
	l = t_listener(&p->b);
	if (!l)
		return;
	t_addr(SIDE_B, AF_INET, 6200, &to);
	EXPECT_STATUS(t, t_connect(&p->a, &to), -ECONNREFUSED);
	EXPECT_EQ(t, atomic_read(&l->events), 0);
	if (!EXPECT_STATUS(t, t_listen(l, SIDE_B, AF_INET, 6200), 0))
		return;
	if (t_establish(&p->a, l, &p->b))
		t_ping(&p->a, &p->b);
}

struct told {
	struct t_end *e;
	unsigned int plain, ex;
	u32 reason;
	struct completion done;
};

static void told_plain(void *context)
{
	struct told *told = context;

	t_context(told->e->t, "disconnect event");
	told->plain++;
	complete(&told->done);
}

static void told_ex(void *context, u32 reason)
{
	struct told *told = context;

	t_context(told->e->t, "disconnect event with a reason");
	told->ex++;
	told->reason = reason;
	complete(&told->done);
}

/* One side takes the one form, the other the other; each with a context of its own, or with no event at all. */
/*
 * Proves: DISCONNECT_EVENT_CALLBACK.ok, DISCONNECT_EVENT_CALLBACK_EX.ok, DISCONNECT_EVENT_CALLBACK_EX.bad-argument,
 * ACCEPT_EX.ok, COMPLETE_CONNECT_EX.ok, 5.10-once, 8.9-ex-mixes
 */
static void forms_mix(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct told *a = t_alloc(t, sizeof(*a)), *b = t_alloc(t, sizeof(*b));
	bool active_ex = t->arg & 1, active_closes = t->arg & 2, none = t->arg & 4;
	struct t_await *connect, *accept, *complete;
	int rc;

	if (!p)
		return;
	a->e = &p->a;
	b->e = &p->b;
	init_completion(&a->done);
	init_completion(&b->done);
	connect = t_connect_start(&p->a, &p->listener->address);
	p->b.connector = connect ? t_incoming(p->listener) : NULL;
	if (!p->b.connector)
		return;
	accept = t_await(t, "accept");
	rc = active_ex ? ndk_accept(p->b.connector, p->b.qp, 1, 1, NULL, 0, told_plain, b, t_done, accept) :
			 ndk_accept_ex(p->b.connector, p->b.qp, 1, 1, NULL, 0, none ? NULL : told_ex, b, t_done, accept);
	if (!t_pended(accept, rc) || !EXPECT_STATUS(t, t_join(connect), 0))
		return;
	complete = t_await(t, "complete connect");
	rc = active_ex ? ndk_complete_connect_ex(p->a.connector, none ? NULL : told_ex, a, t_done, complete) :
			 ndk_complete_connect(p->a.connector, told_plain, a, t_done, complete);
	if (!t_pended(complete, rc) || !EXPECT_STATUS(t, t_join(complete), 0) || !EXPECT_STATUS(t, t_join(accept), 0))
		return;
	t_close(t, active_closes ? &p->a.connector->header : &p->b.connector->header);
	if (none) {
		t_sleep(50);
	} else if (!wait_for_completion_timeout(active_closes ? &b->done : &a->done, t_ticks(20))) {
		t_fail(t, "no disconnect event");
		return;
	}
	t_sleep(10);
	EXPECT_EQ(t, a->plain, !active_ex && !active_closes);
	EXPECT_EQ(t, a->ex, active_ex && !active_closes && !none);
	EXPECT_EQ(t, b->plain, active_ex && active_closes);
	EXPECT_EQ(t, b->ex, !active_ex && active_closes && !none);
	EXPECT_EQ(t, a->reason, 0);
	EXPECT_EQ(t, b->reason, 0);
}

static const struct t_case cases[] = {
	{ "queues_in_parallel", queues_in_parallel },
	{ "flush_ends_the_connection", flush_ends_the_connection },
	{ "pause_during_an_event", pause_during_an_event },
	{ "slow_consumers_are_not_timed_out", slow_consumers },
	{ "new_listener_does_not_listen", new_listener_does_not_listen },
	{ "passive_side_hears_a_reason", forms_mix, 2 },
	{ "active_side_hears_a_reason", forms_mix, 1 },
	{ "passive_side_hears_no_reason", forms_mix, 3 },
	{ "active_side_hears_no_reason", forms_mix, 0 },
	{ "passive_side_wants_no_reason", forms_mix, 6 },
	{ "active_side_wants_no_reason", forms_mix, 5 },
};

T_GROUP(events, cases);
