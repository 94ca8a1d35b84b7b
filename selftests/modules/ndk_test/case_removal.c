// SPDX-License-Identifier: GPL-2.0
/* The device goes away under its consumers: none hangs, none keeps it, and all is well with the next. */

#include <linux/delay.h>
#include <linux/kthread.h>

#include "ndk_test.h"

/* --- connections that are busy -------------------------------------------- */

#define FLOWS 16
#define WINDOW 4
#define LEN SZ_4K

struct half {
	struct t_end e;
	struct t_buf *in, *out;
	unsigned int posted, ended, good;
	bool dead;
};

struct flows {
	struct t *t;
	struct t_listener *listener;
	struct half a[FLOWS], b[FLOWS];
	atomic_t stop;
	struct completion done;
};

static void post_one(struct half *h, bool receive)
{
	int rc = receive ? t_post_receive(&h->e, 1, h->in, 0, LEN) : t_post_send(&h->e, 2, h->out, 0, LEN, 0);

	if (!rc)
		h->posted++;
	else
		h->dead = true;
	if (rc && rc != -ENODEV && rc != -ENOTCONN)
		t_fail(h->e.t, "posting: %s", t_errname(rc));
}

static void pump_half(struct half *h)
{
	struct ndk_result_ex r[8];
	u32 n, i;

	n = ndk_get_cq_results_ex(h->e.rcq->cq, r, ARRAY_SIZE(r));
	for (i = 0; i < n; i++) {
		h->ended++;
		if (r[i].status)
			h->dead = true;
		else
			h->good++;
		if (!h->dead)
			post_one(h, r[i].type == NDK_OPERATION_RECEIVE);
	}
}

static int pump(void *arg)
{
	struct flows *f = arg;
	int i;

	while (!atomic_read(&f->stop)) {
		for (i = 0; i < FLOWS; i++) {
			pump_half(&f->a[i]);
			pump_half(&f->b[i]);
		}
		usleep_range(50, 200);
	}
	complete(&f->done);
	return 0;
}

static bool half_init(struct flows *f, struct half *h, enum t_side side)
{
	const struct t_cfg cfg = { .depth = 2 * WINDOW, .one_cq = true, .cq_depth = 64, .sge = 1 };
	int i;

	if (!t_end_init(f->t, &h->e, side, &cfg) || !t_end_qp(&h->e))
		return false;
	h->in = t_buf(&h->e, LEN);
	h->out = t_buf(&h->e, LEN);
	for (i = 0; h->in && i < WINDOW; i++)
		post_one(h, true);
	return h->in && h->out && !h->dead;
}

static struct flows *flows(struct t *t)
{
	struct flows *f = t_alloc(t, sizeof(*f));
	struct task_struct *task;
	int i, j;

	f->t = t;
	init_completion(&f->done);
	for (i = 0; i < FLOWS; i++)
		if (!half_init(f, &f->a[i], SIDE_A) || !half_init(f, &f->b[i], SIDE_B))
			return NULL;
	f->listener = t_listening(&f->b[0].e, AF_INET, 0);
	if (!f->listener)
		return NULL;
	for (i = 0; i < FLOWS; i++)
		if (!t_establish(&f->a[i].e, f->listener, &f->b[i].e))
			return NULL;
	for (i = 0; i < FLOWS; i++) {
		for (j = 0; j < WINDOW; j++) {
			post_one(&f->a[i], false);
			post_one(&f->b[i], false);
		}
	}
	task = kthread_run(pump, f, "ndk_test_pump");
	return EXPECT(t, !IS_ERR(task)) ? f : NULL;
}

static bool moving(struct flows *f)
{
	unsigned int i, tries;

	for (tries = 0; tries < 1000; tries++) {
		for (i = 0; i < FLOWS && f->a[i].good >= 20 && f->b[i].good >= 20; i++)
			;
		if (i == FLOWS)
			return true;
		t_sleep(10);
	}
	t_fail(f->t, "the transfers do not move");
	return false;
}

/* Every request that was accepted has ended, on both sides. */
static void all_ended(struct flows *f)
{
	unsigned long end = jiffies + t_ticks(60);
	unsigned int i, a, b;

	do {
		t_sleep(20);
		for (i = 0, a = 0, b = 0; i < FLOWS; i++) {
			a += f->a[i].posted - f->a[i].ended;
			b += f->b[i].posted - f->b[i].ended;
		}
	} while ((a || b) && time_before(jiffies, end));
	if (a || b)
		t_fail(f->t, "%u requests of a and %u of b have no result", a, b);
}

static void stop(struct flows *f)
{
	atomic_set(&f->stop, 1);
	wait_for_completion(&f->done);
}

static bool link_comes_back(struct t *t, char ns)
{
	return !t_host(t, "link_add %c && link_ready %c", ns, ns);
}

/*
 * The new device, from nothing to a message. It numbers its QPs from the start
 * again, and the peer's connection manager would take a number of an old
 * connection for a stale request: so those are used up before.
 */
static void works_again(struct t *t)
{
	const struct t_cfg small = { .depth = 1, .sge = 1 };
	struct t_end *e = t_alloc(t, 2 * sizeof(*e));
	struct t_pair *p;
	int side, i;

	for (side = 0; side < 2; side++) {
		t->side[side] = NULL;
		if (!t_end_init(t, &e[side], side, &small))
			return;
		for (i = 0; i < 3 * FLOWS; i++)
			if (!t_end_qp(&e[side]))
				return;
	}
	p = t_pair(t, NULL);
	if (p)
		t_ping(&p->a, &p->b);
}

/* Proves: 5.5-CONNECTED-abort, 12-removal */
/* Bug: B23, B124, S12, S14, S21, K4 */
static void busy_connections(struct t *t)
{
	char ns = t->arg == SIDE_A ? 'a' : 'b';
	struct flows *f = flows(t);
	unsigned long start;
	int i;

	if (!f)
		return;
	if (!moving(f)) {
		stop(f);
		return;
	}
	/* Nobody has closed anything, and nobody is asked to. */
	start = jiffies;
	t_host(t, "link_del %c", ns);
	if (time_after(jiffies, start + t_ticks(30)))
		t_fail(t, "the deletion of the link took %u ms", jiffies_to_msecs(jiffies - start));
	for (i = 0; i < FLOWS; i++) {
		t_wait_gone(&f->a[i].e);
		t_wait_gone(&f->b[i].e);
		/* The event flushes nothing; on the side that is gone all is over. */
		ndk_flush(t->arg == SIDE_A ? f->b[i].e.qp : f->a[i].e.qp);
	}
	all_ended(f);
	stop(f);
	if (link_comes_back(t, ns))
		works_again(t);
}

/* --- objects without a device --------------------------------------------- */

static void try_enodev(struct t_end *e, enum t_kind kind)
{
	int status;

	t_try_create(e, kind, &status);
	if (status != -ENODEV)
		t_fail(e->t, "%s: %s, should be ENODEV", t_kind_name(kind), t_errname(status));
}

/*
 * Proves: QUERY_ADAPTER_INFO.wrong-state, CREATE_PD.wrong-state, CREATE_CQ.wrong-state, CREATE_QP.wrong-state,
 * CREATE_MR.wrong-state, CREATE_MW.wrong-state, CREATE_CONNECTOR.wrong-state, CREATE_LISTENER.wrong-state,
 * BUILD_LAM.wrong-state, RELEASE_LAM.wrong-state, REGISTER_MR.wrong-state, DEREGISTER_MR.wrong-state, SEND.wrong-state,
 * RECEIVE.wrong-state, WRITE.wrong-state, READ.wrong-state, FLUSH.wrong-state, ARM_CQ.wrong-state,
 * GET_CQ_RESULTS_EX.wrong-state, DISCONNECT.wrong-state, LISTEN.wrong-state, CONNECT.wrong-state,
 * CONTROL_CONNECT_EVENTS.wrong-state, SEND_AND_INVALIDATE.wrong-state, FAST_REGISTER.wrong-state, INVALIDATE.wrong-state,
 * INITIALIZE_FAST_REGISTER_MR.wrong-state, GET_LOCAL_TOKEN_FROM_MR.wrong-state, GET_REMOTE_TOKEN_FROM_MR.wrong-state,
 * GET_PRIVILEGED_MEMORY_REGION_TOKEN.wrong-state, GET_LOCAL_ADDRESS.wrong-state, GET_PEER_ADDRESS.wrong-state,
 * GET_CONNECTION_DATA.wrong-state, REJECT.wrong-state, GET_CQ_RESULTS.wrong-state, RESIZE_CQ.wrong-state,
 * CONTROL_CQ_INTERRUPT_MODERATION.wrong-state, 12-removal
 */
static void everything_is_enodev(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_end *b;
	struct ndk_adapter_info info;
	size_t size = sizeof(info);
	struct ndk_connector *idle;
	struct ndk_object_header *h;
	struct sockaddr_storage ss;
	struct t_listener *l;
	struct t_region *r, *unused;
	struct ndk_sge sge;
	struct t_buf *buf;
	struct ndk_result_ex result;
	struct ndk_result plain;
	struct t_await *w;
	enum t_kind kind;
	u32 fbo, len, in, out;
	struct ndk_mr *fast, *ready;
	int rc;

	if (!p)
		return;
	b = &p->b;
	r = t_region(b, PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	unused = t_memory(b, PAGE_SIZE);
	buf = t_buf(b, PAGE_SIZE);
	h = t_create(b, KIND_CONNECTOR);
	l = t_listener(b);
	if (!r || !unused || !buf || !h || !l)
		return;
	idle = container_of(h, struct ndk_connector, header);
	h = t_create(b, KIND_FAST_MR);
	if (!h)
		return;
	fast = container_of(h, struct ndk_mr, header);
	h = t_create(b, KIND_FAST_MR);
	if (!h)
		return;
	ready = container_of(h, struct ndk_mr, header);
	w = t_await(t, "initialize fast register");
	if (!EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(ready, 4, true, t_done, w)), 0))
		return;
	t_sges(buf, 0, 64, &sge, 1);
	if (t_host(t, "link_del b"))
		return;
	t_wait_gone(b);

	EXPECT_STATUS(t, ndk_query_adapter_info(b->adapter, &info, &size), -ENODEV);
	for (kind = 0; kind < KINDS; kind++)
		try_enodev(b, kind);
	size = buf->lam_size;
	EXPECT_STATUS(t, ndk_build_lam(b->adapter, &buf->sg, 1, PAGE_SIZE, NULL, NULL, t_alloc(t, size), &size, &fbo),
		      -ENODEV);
	w = t_await(t, "register MR");
	EXPECT_STATUS(t, t_wait(w, ndk_register_mr(unused->mr, unused->sg, 1, unused->base, PAGE_SIZE, 0, t_done, w)),
		      -ENODEV);
	/* What went with the device is not registered any more. */
	rc = t_deregister(b, r);
	EXPECT(t, !rc || rc == -ENODEV);
	EXPECT_STATUS(t, ndk_send(b->qp, CTX(1), &sge, 1, 0), -ENODEV);
	EXPECT_STATUS(t, ndk_receive(b->qp, CTX(1), &sge, 1), -ENODEV);
	EXPECT_STATUS(t, ndk_write(b->qp, CTX(1), &sge, 1, 0, 0, 0), -ENODEV);
	EXPECT_STATUS(t, ndk_read(b->qp, CTX(1), &sge, 1, 0, 0, 0), -ENODEV);
	EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(b->rcq->cq, 1, 2), -ENODEV);
	EXPECT_STATUS(t, ndk_send_and_invalidate(b->qp, CTX(1), &sge, 1, 0, 1), -ENODEV);
	EXPECT_STATUS(t, ndk_fast_register(b->qp, CTX(1), ready, 1, buf->lam->pages, 0, PAGE_SIZE, SZ_4K, 0), -ENODEV);
	EXPECT_STATUS(t, ndk_invalidate(b->qp, CTX(1), &ready->header, 0), -ENODEV);
	w = t_await(t, "initialize fast register");
	EXPECT_STATUS(t, t_wait(w, ndk_initialize_fast_register_mr(fast, 4, true, t_done, w)), -ENODEV);
	/* No token opens anything any more. */
	EXPECT_EQ(t, ndk_get_local_token_from_mr(r->mr), 0);
	EXPECT_EQ(t, ndk_get_remote_token_from_mr(ready), 0);
	EXPECT_EQ(t, ndk_get_privileged_token(b->pd), buf->token);
	len = sizeof(ss);
	EXPECT_STATUS(t, ndk_get_local_address(b->connector, (struct sockaddr *)&ss, &len), -ENODEV);
	EXPECT_STATUS(t, ndk_get_peer_address(b->connector, (struct sockaddr *)&ss, &len), -ENODEV);
	len = 0;
	EXPECT_STATUS(t, ndk_get_connection_data(b->connector, &in, &out, NULL, &len), -ENODEV);
	EXPECT_STATUS(t, ndk_reject(b->connector, NULL, 0), -ENODEV);
	EXPECT_EQ(t, ndk_get_cq_results(b->icq->cq, &plain, 1), 0);
	EXPECT_STATUS(t, t_resize(b->rcq, 64), -ENODEV);
	ndk_flush(b->qp);
	ndk_arm_cq(b->rcq->cq, NDK_CQ_NOTIFY_ERRORS);
	EXPECT_EQ(t, ndk_get_cq_results_ex(b->icq->cq, &result, 1), 0);
	w = t_await(t, "disconnect");
	EXPECT_STATUS(t, t_wait(w, ndk_disconnect(b->connector, t_done, w)), -ENODEV);
	w = t_await(t, "listen");
	len = t_addr(SIDE_B, AF_INET, 0, &ss);
	EXPECT_STATUS(t, t_wait(w, ndk_listen(l->listener, (struct sockaddr *)&ss, len, t_done, w)), -ENODEV);
	w = t_await(t, "connect");
	b->connector = idle;
	EXPECT_STATUS(t, t_wait(w, t_connect_call(b, &ss, &p->listener->address, w)), -ENODEV);
	ndk_control_connect_events(p->listener->listener, true);
	if (link_comes_back(t, 'b'))
		works_again(t);
}

/* What is under way when the device goes: each ends, none with success that was none. */
/* Proves: 12-removal */
/* Bug: B124 */
static void pending_requests(struct t *t)
{
	struct t_pair *connecting = t_pair_unconnected(t, NULL), *incoming = t_pair_unconnected(t, NULL);
	struct t_pair *accepting = t_pair_unconnected(t, NULL), *disconnecting = t_pair(t, NULL);
	struct t_await *wc, *wi, *wa, *waa, *wd, *w;
	struct ndk_connector *c, *ci;
	int rc;

	if (!connecting || !incoming || !accepting || !disconnecting)
		return;
	/* All four with the subject on b, whose link goes. */
	wi = t_connect_start(&incoming->a, &incoming->listener->address);
	ci = wi ? t_incoming(incoming->listener) : NULL;
	waa = t_connect_start(&accepting->a, &accepting->listener->address);
	c = waa ? t_incoming(accepting->listener) : NULL;
	wa = c ? t_accept_start(&accepting->b, c) : NULL;
	wd = t_disconnect_start(&disconnecting->b);
	if (!ci || !wa || !wd || t_join(waa) || !t_wait_gone(&disconnecting->a))
		return;
	/* b to a listener of a that does not answer. */
	connecting->listener = t_listening(&connecting->a, AF_INET, 0);
	wc = connecting->listener ? t_connect_start(&connecting->b, &connecting->listener->address) : NULL;
	if (!wc || !t_incoming(connecting->listener) || t_host(t, "link_del b"))
		return;
	EXPECT_STATUS(t, t_join(wc), -ENODEV);
	EXPECT_STATUS(t, t_join(wa), -ENODEV);
	rc = t_join(wd);
	if (rc != -ENODEV && rc != -ECONNABORTED)
		t_fail(t, "disconnect: %s", t_errname(rc));
	w = t_await(t, "accept");
	EXPECT_STATUS(t, t_wait(w, ndk_accept(ci, incoming->b.qp, 1, 1, NULL, 0, t_gone, &incoming->b, t_done, w)),
		      -ENODEV);
	EXPECT_STATUS(t, ndk_reject(ci, NULL, 0), -ENODEV);
	if (link_comes_back(t, 'b'))
		works_again(t);
}

/* --- CQs ------------------------------------------------------------------ */

static bool fault(struct t_cq *cq)
{
	/* The end of the requests may have answered first. */
	while (wait_for_completion_timeout(&cq->notified, t_ticks(5))) {
		if (cq->status)
			return EXPECT_STATUS(cq->t, cq->status, -EIO);
		ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ERRORS);
	}
	t_fail(cq->t, "the CQ has not notified");
	return false;
}

/*
 * Armed or not: each tells once that it is over, and gives what its requests became.
 * Proves: 12-removal, 7.4-fault-latched
 */
static void armed_cqs_fail(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_cq *any, *errors, *held, *idle;
	struct t_buf *buf;
	int calls, i;

	if (!p)
		return;
	any = p->b.rcq;
	errors = t_cq(&p->b, 8);
	held = t_cq(&p->b, 8);
	idle = t_cq(&p->b, 8);
	buf = t_buf(&p->b, 64);
	if (!errors || !held || !idle || !buf)
		return;
	for (i = 1; i <= 3; i++)
		EXPECT_STATUS(t, t_post_receive(&p->b, i, buf, 0, 64), 0);
	EXPECT_STATUS(t, ndk_control_cq_interrupt_moderation(held->cq, U32_MAX, 4), 0);
	ndk_arm_cq(any->cq, NDK_CQ_NOTIFY_ANY);
	ndk_arm_cq(errors->cq, NDK_CQ_NOTIFY_ERRORS);
	ndk_arm_cq(held->cq, NDK_CQ_NOTIFY_SOLICITED);
	if (t_host(t, "link_del b"))
		return;
	if (fault(any) && fault(errors) && fault(held)) {
		EXPECT_EQ(t, atomic_read(&errors->calls), 1);
		EXPECT_EQ(t, atomic_read(&held->calls), 1);
	}
	EXPECT_EQ(t, atomic_read(&idle->calls), 0);
	ndk_arm_cq(idle->cq, NDK_CQ_NOTIFY_ANY);
	fault(idle);
	/* Once. */
	calls = atomic_read(&any->calls);
	ndk_arm_cq(any->cq, NDK_CQ_NOTIFY_ANY);
	ndk_arm_cq(idle->cq, NDK_CQ_NOTIFY_ANY);
	t_sleep(50);
	EXPECT_EQ(t, atomic_read(&any->calls), calls);
	EXPECT_EQ(t, atomic_read(&idle->calls), 1);
	for (i = 1; i <= 3; i++) {
		struct ndk_result_ex r;

		if (!EXPECT_EQ(t, ndk_get_cq_results_ex(any->cq, &r, 1), 1))
			break;
		EXPECT_STATUS(t, r.status, -ECANCELED);
		EXPECT_EQ(t, (long)r.request_context, i);
	}
	if (link_comes_back(t, 'b'))
		works_again(t);
}

/* --- clients -------------------------------------------------------------- */

struct watcher {
	struct ndk_client client;
	struct t *t;
	atomic_t added, removed;
	struct ndk_adapter *held;
	struct completion came;
};

static void watch_add(struct ndk_client *client, const struct ndk_adapter_desc *desc)
{
	struct watcher *w = container_of(client, struct watcher, client);

	if (strcmp(desc->device, world.device[SIDE_B]))
		return;
	atomic_inc(&w->added);
	complete(&w->came);
}

/* Closes in the callback what it holds, as a consumer does. */
static void watch_remove(struct ndk_client *client, const struct ndk_adapter_desc *desc)
{
	struct watcher *w = container_of(client, struct watcher, client);
	struct ndk_adapter *held = w->held;

	if (strcmp(desc->device, world.device[SIDE_B]))
		return;
	atomic_inc(&w->removed);
	w->held = NULL;
	if (held)
		ndk_close_adapter(held);
}

/* Proves: 12-removal */
static void clients_hear(struct t *t)
{
	struct watcher *w = t_alloc(t, sizeof(*w));
	struct ndk_open_params params = {
		.version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR }, .device = world.device[SIDE_B],
	};
	int i;

	w->t = t;
	w->client.add = watch_add;
	w->client.remove = watch_remove;
	init_completion(&w->came);
	if (!EXPECT_STATUS(t, ndk_register_client(&w->client), 0))
		return;
	EXPECT_EQ(t, atomic_read(&w->added), 1);
	for (i = 0; i < 2; i++) {
		reinit_completion(&w->came);
		if (!EXPECT_STATUS(t, ndk_open_adapter(world.net[SIDE_B], &params, &w->held), 0))
			break;
		if (t_host(t, "link_del b") || t_host(t, "link_add b && link_ready b"))
			break;
		if (!wait_for_completion_timeout(&w->came, t_ticks(10)))
			t_fail(t, "the client has not heard of the new link");
		EXPECT_EQ(t, atomic_read(&w->removed), i + 1);
		EXPECT_EQ(t, atomic_read(&w->added), i + 2);
		EXPECT(t, !w->held);
	}
	ndk_unregister_client(&w->client);
	if (w->held)
		ndk_close_adapter(w->held);
}

/* An adapter that nobody closes stays open over several lives of the link. */
/* Proves: 12-removal */
/* Bug: S11, S17, S18, S19 */
static void held_over_several_lives(struct t *t)
{
	struct ndk_adapter *held[3];
	struct ndk_adapter_info info;
	size_t size;
	int i;

	for (i = 0; i < 3; i++) {
		held[i] = t_another(t, SIDE_B);
		if (!held[i] || t_host(t, "link_del b") || !link_comes_back(t, 'b'))
			return;
	}
	for (i = 0; i < 3; i++) {
		size = sizeof(info);
		EXPECT_STATUS(t, ndk_query_adapter_info(held[i], &info, &size), -ENODEV);
	}
	works_again(t);
}

static const struct t_case cases[] = {
	{ "sixteen_busy_connections_lose_the_passive_link", busy_connections, SIDE_B },
	{ "sixteen_busy_connections_lose_the_active_link", busy_connections, SIDE_A },
	{ "every_call_is_enodev", everything_is_enodev },
	{ "pending_requests_end", pending_requests },
	{ "cqs_fail_once_armed_or_not", armed_cqs_fail },
	{ "clients_hear_of_removal_and_arrival", clients_hear },
	{ "adapters_held_over_several_lives_of_the_link", held_over_several_lives },
};

T_GROUP(removal, cases);
