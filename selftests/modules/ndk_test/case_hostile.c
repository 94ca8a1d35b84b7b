// SPDX-License-Identifier: GPL-2.0
/* A peer that breaks the rules: it loses its connection, and nothing else happens. End a is ours, the raw one is at b. */

#include <linux/random.h>

#include "raw.h"

struct ht {
	struct t *t;
	struct t_end e;
	struct t_listener *listener;
	struct raw *peer;
};

static struct ht *setup(struct t *t)
{
	struct ht *h = t_alloc(t, sizeof(*h));

	h->t = t;
	if (!t_end_init(t, &h->e, SIDE_A, NULL) || !t_end_qp(&h->e))
		return NULL;
	h->listener = t_listening(&h->e, AF_INET, 0);
	return h->listener ? h : NULL;
}

/* The raw peer connects, and the connection stands. */
static bool connected(struct ht *h)
{
	struct ndk_connector *incoming;
	struct t_await *accept;

	h->peer = raw_new(h->t, SIDE_B);
	if (!raw_resolve(h->peer, &h->listener->address, true) ||
	    !EXPECT_STATUS(h->t, raw_connect(h->peer, "hello", 5, 4, 4), 0))
		return false;
	incoming = t_incoming(h->listener);
	accept = incoming ? t_accept_start(&h->e, incoming) : NULL;
	return accept && raw_wait(h->peer, RDMA_CM_EVENT_ESTABLISHED) &&
	       EXPECT_STATUS(h->t, t_join(accept), 0);
}

/* After whatever happened, a peer of our own kind gets what it wants. */
static void still_works(struct ht *h)
{
	struct t_pair *p = t_pair(h->t, NULL);

	if (p && t_ping(&p->a, &p->b))
		t_ping(&p->b, &p->a);
}

static struct ht *connected_peer(struct t *t)
{
	struct ht *h = setup(t);

	if (!h)
		return NULL;
	if (connected(h))
		return h;
	raw_free(h->peer);
	return NULL;
}

/* --- on a connection ------------------------------------------------------ */

/* Proves: RECEIVE.ok */
static void well_behaved(struct t *t)
{
	struct ht *h = connected_peer(t);
	struct t_region *r;
	struct t_buf *in;

	if (!h)
		return;
	in = t_buf(&h->e, 256);
	r = t_region(&h->e, SZ_8K, NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
	if (!in || !r)
		goto out;
	EXPECT_STATUS(t, t_post_receive(&h->e, 1, in, 0, 256), 0);
	t_fill(h->peer->buf, 256, 1);
	EXPECT_STATUS(t, raw_send(h->peer, 256, 0), 0);
	EXPECT_EQ(t, raw_poll(h->peer), IB_WC_SUCCESS);
	t_take_ok(&h->e, h->e.rcq, 1, NDK_OPERATION_RECEIVE);
	t_check_fill(t, in->va, 256, 1, "received");
	t_fill(h->peer->buf, SZ_8K, 2);
	EXPECT_STATUS(t, raw_rdma(h->peer, IB_WR_RDMA_WRITE, SZ_8K, r->base, r->remote), 0);
	EXPECT_EQ(t, raw_poll(h->peer), IB_WC_SUCCESS);
	t_check_fill(t, r->va, SZ_8K, 2, "written");
	t_fill(r->va, SZ_8K, 3);
	EXPECT_STATUS(t, raw_rdma(h->peer, IB_WR_RDMA_READ, SZ_8K, r->base, r->remote), 0);
	EXPECT_EQ(t, raw_poll(h->peer), IB_WC_SUCCESS);
	t_check_fill(t, h->peer->buf, SZ_8K, 3, "read");
out:
	raw_free(h->peer);
	t_wait_gone(&h->e);
}

/* Proves: 7.2-receive-too-small, 7.2-error-ends */
static void too_large_message(struct t *t)
{
	struct ht *h = connected_peer(t);
	struct ndk_result_ex r;
	struct t_buf *in;
	int status;

	if (!h)
		return;
	in = t_buf(&h->e, PAGE_SIZE);
	if (!in)
		goto out;
	memset(in->va, 0xee, PAGE_SIZE);
	EXPECT_STATUS(t, t_post_receive(&h->e, 1, in, 0, 100), 0);
	EXPECT_STATUS(t, t_post_receive(&h->e, 2, in, 2000, 100), 0);
	EXPECT_STATUS(t, raw_send(h->peer, t->arg, 0), 0);
	/* Some devices say no more than that the request was not in order. */
	if (t_take(h->e.rcq, &r) && r.status != -EBADRQC)
		EXPECT_STATUS(t, r.status, -EOVERFLOW);
	status = raw_poll(h->peer);
	EXPECT(t, status != IB_WC_SUCCESS);
	t_take_status(&h->e, h->e.rcq, 2, NDK_OPERATION_RECEIVE, -ECANCELED);
	t_wait_gone(&h->e);
	t_check_byte(t, in->va + 100, PAGE_SIZE - 100, 0xee, "behind the receive");
	still_works(h);
out:
	raw_free(h->peer);
}

enum reach {
	READ_BEYOND, READ_FAR_BEYOND, READ_WRAPPING, WRITE_BEYOND, WRITE_WITHOUT_RIGHT, READ_STALE, WRITE_STALE,
	WRITE_PRIVILEGED,
};

/* Proves: 7.2-bad-remote */
static void reaches_for(struct t *t)
{
	struct ht *h = connected_peer(t);
	enum ib_wr_opcode opcode = IB_WR_RDMA_READ;
	struct t_region *r, *secret;
	u64 remote;
	u32 length = 64, token;
	int status;

	if (!h)
		return;
	r = t_region(&h->e, SZ_4K, t->arg == WRITE_WITHOUT_RIGHT ? NDK_MR_FLAG_ALLOW_REMOTE_READ :
		     NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
	secret = t_region(&h->e, SZ_4K, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	if (!r || !secret)
		goto out;
	memset(r->va, 0xee, SZ_4K);
	memset(secret->va, 0xee, SZ_4K);
	memset(h->peer->buf, 0x11, RAW_BUF);
	remote = r->base;
	token = r->remote;
	switch (t->arg) {
	case READ_BEYOND:
		length = SZ_4K + 1;
		break;
	case READ_FAR_BEYOND:
		remote += SZ_1G;
		break;
	case READ_WRAPPING:
		remote = U64_MAX - 7;
		break;
	case WRITE_BEYOND:
		opcode = IB_WR_RDMA_WRITE;
		remote += SZ_4K - 63;
		break;
	case WRITE_WITHOUT_RIGHT:
		opcode = IB_WR_RDMA_WRITE;
		break;
	case WRITE_STALE:
		opcode = IB_WR_RDMA_WRITE;
		fallthrough;
	case READ_STALE:
		EXPECT_STATUS(t, t_deregister(&h->e, r), 0);
		break;
	case WRITE_PRIVILEGED:
		opcode = IB_WR_RDMA_WRITE;
		remote = (u64)(unsigned long)secret->va;
		token = ndk_get_privileged_token(h->e.pd);
		break;
	}
	EXPECT_STATUS(t, raw_rdma(h->peer, opcode, length, remote, token), 0);
	status = raw_poll(h->peer);
	EXPECT(t, status == IB_WC_REM_ACCESS_ERR || status == IB_WC_REM_INV_REQ_ERR || status == IB_WC_REM_OP_ERR);
	t_wait_gone(&h->e);
	t_check_byte(t, r->va, SZ_4K, 0xee, "memory of the region");
	t_check_byte(t, secret->va, SZ_4K, 0xee, "memory that is none of the peer's");
	if (opcode == IB_WR_RDMA_READ)
		t_check_byte(t, h->peer->buf, RAW_BUF, 0x11, "the peer's buffer");
	still_works(h);
out:
	raw_free(h->peer);
}

/* Proves: 7.2-bad-invalidate */
static void invalidates_what_is_not(struct t *t)
{
	struct ht *h = connected_peer(t);
	struct ndk_result_ex r;
	struct t_buf *in;

	if (!h)
		return;
	in = t_buf(&h->e, 256);
	if (!in)
		goto out;
	EXPECT_STATUS(t, t_post_receive(&h->e, 1, in, 0, 256), 0);
	EXPECT_STATUS(t, raw_send(h->peer, 16, 0x7ffff17), 0);
	if (t_take(h->e.rcq, &r))
		EXPECT(t, r.status);
	t_wait_gone(&h->e);
	still_works(h);
out:
	raw_free(h->peer);
}

/* Messages for which there is no receive, and then the peer is gone. */
/* Proves: 7.2-no-receive */
static void floods_and_goes(struct t *t)
{
	struct ht *h = connected_peer(t);
	int i;

	if (!h)
		return;
	for (i = 0; i < 16; i++)
		EXPECT_STATUS(t, raw_send(h->peer, 256, 0), 0);
	t_sleep(50);
	raw_free(h->peer);
	t_wait_gone(&h->e);
	still_works(h);
}

/* --- in the handshake ----------------------------------------------------- */

/* Proves: GET_CONNECTION_DATA.ok, 5.9-capped */
static void garbage_data(struct t *t)
{
	struct ht *h = setup(t);
	u8 sent[56], got[256];
	struct ndk_connector *incoming;
	struct raw *peer;
	u32 len, in, out, i;

	if (!h)
		return;
	for (i = 0; i < 8; i++) {
		get_random_bytes(sent, sizeof(sent));
		peer = raw_new(t, SIDE_B);
		/* And more reads than anybody has. */
		if (!raw_resolve(peer, &h->listener->address, false) ||
		    !EXPECT_STATUS(t, raw_connect(peer, sent, i * 8, 255, 255), 0)) {
			raw_free(peer);
			return;
		}
		incoming = t_incoming(h->listener);
		if (!incoming) {
			raw_free(peer);
			return;
		}
		len = sizeof(got);
		EXPECT_STATUS(t, ndk_get_connection_data(incoming, &in, &out, got, &len), 0);
		EXPECT(t, len >= i * 8 && len <= sizeof(got));
		EXPECT(t, !memcmp(sent, got, i * 8));
		EXPECT(t, in <= t_info(t, h->e.adapter).max_inbound_read_limit);
		EXPECT(t, out <= t_info(t, h->e.adapter).max_outbound_read_limit);
		EXPECT_STATUS(t, ndk_reject(incoming, sent, sizeof(sent)), 0);
		if (raw_wait(peer, RDMA_CM_EVENT_REJECTED))
			EXPECT(t, peer->data_len >= sizeof(sent) && !memcmp(peer->data, sent, sizeof(sent)));
		t_close(t, &incoming->header);
		raw_free(peer);
	}
	still_works(h);
}

/* Asks, and is gone before there is an answer. */
/* Proves: 5.4-INCOMING-abandoned */
static void asks_and_goes(struct t *t)
{
	struct ht *h = setup(t);
	struct ndk_connector *incoming[8];
	struct raw *peer[8];
	struct t_await *w;
	int i, rc;

	if (!h)
		return;
	for (i = 0; i < 8; i++) {
		peer[i] = raw_new(t, SIDE_B);
		if (!raw_resolve(peer[i], &h->listener->address, false) ||
		    !EXPECT_STATUS(t, raw_connect(peer[i], NULL, 0, 1, 1), 0)) {
			while (i >= 0)
				raw_free(peer[i--]);
			return;
		}
		incoming[i] = t_incoming(h->listener);
	}
	for (i = 0; i < 8; i++)
		raw_free(peer[i]);
	t_sleep(200);
	for (i = 0; i < 8 && incoming[i]; i++) {
		w = t_await(t, "accept");
		if (i % 2)
			rc = ndk_reject(incoming[i], NULL, 0);
		else
			rc = t_wait(w, ndk_accept(incoming[i], h->e.qp, 1, 1, NULL, 0, t_gone, &h->e, t_done, w));
		EXPECT_STATUS(t, rc, -ECONNABORTED);
		/* An accept that failed may have used its QP up. */
		if (!(i % 2)) {
			t_close(t, &incoming[i]->header);
			t_close(t, &h->e.qp->header);
			if (!t_end_qp(&h->e))
				return;
		}
	}
	still_works(h);
}

/* Never says the last word of the handshake: close gets out of it at once. */
/* Proves: ACCEPT.close-pending, 3.9, 5.4-ACCEPTING-close */
static void never_completes(struct t *t)
{
	struct ht *h = setup(t);
	struct ndk_connector *incoming;
	struct t_await *accept;
	struct raw *peer;

	if (!h)
		return;
	peer = raw_new(t, SIDE_B);
	/* Without a QP the answer is held back until somebody acts on it. */
	if (!raw_resolve(peer, &h->listener->address, false) ||
	    !EXPECT_STATUS(t, raw_connect(peer, NULL, 0, 1, 1), 0))
		goto out;
	incoming = t_incoming(h->listener);
	accept = incoming ? t_accept_start(&h->e, incoming) : NULL;
	if (!accept || !raw_wait(peer, RDMA_CM_EVENT_CONNECT_RESPONSE))
		goto out;
	t_sleep(300);
	EXPECT(t, !t_is_done(accept));
	t_close(t, &incoming->header);
	EXPECT_STATUS(t, t_join(accept), -ECANCELED);
	still_works(h);
out:
	raw_free(peer);
}

/* --- as the passive side -------------------------------------------------- */

enum passive { ACCEPTS_WITH_DATA, REJECTS_WITH_DATA, REJECTS_IN_SILENCE, GOES_AFTER_ACCEPT };

static void raw_listener(struct t *t)
{
	struct ht *h = setup(t);
	struct raw *listener, *peer = NULL;
	struct t_await *connect, *complete, *w;
	struct sockaddr_storage to;
	u8 data[196], got[256];
	u32 len = sizeof(got);

	if (!h)
		return;
	get_random_bytes(data, sizeof(data));
	listener = raw_new(t, SIDE_B);
	connect = raw_listen(listener, &to) ? t_connect_start(&h->e, &to) : NULL;
	if (!connect)
		goto out;
	peer = raw_accept_end(listener);
	if (!peer)
		goto out;
	switch (t->arg) {
	case ACCEPTS_WITH_DATA:
	case GOES_AFTER_ACCEPT:
		EXPECT_STATUS(t, raw_accept(peer, data, sizeof(data)), 0);
		if (!EXPECT_STATUS(t, t_join(connect), 0))
			break;
		EXPECT_STATUS(t, ndk_get_connection_data(h->e.connector, NULL, NULL, got, &len), 0);
		EXPECT(t, len >= sizeof(data) && !memcmp(got, data, sizeof(data)));
		if (t->arg == GOES_AFTER_ACCEPT) {
			raw_free(peer);
			peer = NULL;
			t_sleep(200);
			w = t_await(t, "complete connect");
			EXPECT_STATUS(t, t_wait(w, ndk_complete_connect(h->e.connector, t_gone, &h->e, t_done, w)),
				      -ECONNABORTED);
			break;
		}
		complete = t_complete_start(&h->e);
		if (!complete || !EXPECT_STATUS(t, t_join(complete), 0) ||
		    !raw_wait(peer, RDMA_CM_EVENT_ESTABLISHED))
			break;
		raw_free(peer);
		peer = NULL;
		t_wait_gone(&h->e);
		break;
	case REJECTS_WITH_DATA:
		EXPECT_STATUS(t, rdma_reject(peer->id, data, 148, IB_CM_REJ_CONSUMER_DEFINED), 0);
		EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
		EXPECT_STATUS(t, ndk_get_connection_data(h->e.connector, NULL, NULL, got, &len), 0);
		EXPECT(t, len >= 148 && !memcmp(got, data, 148));
		break;
	case REJECTS_IN_SILENCE:
		raw_free(peer);
		peer = NULL;
		EXPECT_STATUS(t, t_join(connect), -ECONNREFUSED);
		break;
	}
	still_works(h);
out:
	raw_free(peer);
	raw_free(listener);
}

static const struct t_case cases[] = {
	{ "well_behaved_peer_gets_what_it_wants", well_behaved },
	{ "message_one_byte_too_large", too_large_message, 101 },
	{ "message_much_too_large", too_large_message, SZ_16K },
	{ "reads_one_byte_beyond_a_region", reaches_for, READ_BEYOND },
	{ "reads_far_beyond_a_region", reaches_for, READ_FAR_BEYOND },
	/* Bug: B46, K13 */
	{ "reads_around_the_end_of_addresses", reaches_for, READ_WRAPPING },
	{ "writes_beyond_a_region", reaches_for, WRITE_BEYOND },
	{ "writes_where_it_may_read", reaches_for, WRITE_WITHOUT_RIGHT },
	{ "reads_with_a_stale_token", reaches_for, READ_STALE },
	{ "writes_with_a_stale_token", reaches_for, WRITE_STALE },
	{ "writes_with_the_privileged_token", reaches_for, WRITE_PRIVILEGED }, /* Proves: 7.7-privileged */
	{ "invalidates_a_token_that_is_none", invalidates_what_is_not },
	{ "sends_without_receives_and_goes", floods_and_goes },
	{ "garbage_private_data_and_read_limits", garbage_data },
	{ "asks_and_goes", asks_and_goes },
	{ "never_completes_the_handshake", never_completes },
	/* Proves: 5.3-CONNECTING-accepted, 5.3-ACCEPTED-data */
	{ "raw_listener_accepts_with_data", raw_listener, ACCEPTS_WITH_DATA },
	/* Bug: B13 */
	{ "raw_listener_rejects_with_data", raw_listener, REJECTS_WITH_DATA }, /* Proves: 5.3-CONNECTING-refused */
	{ "raw_listener_breaks_off", raw_listener, REJECTS_IN_SILENCE }, /* Proves: 5.3-CONNECTING-refused */
	{ "raw_listener_accepts_and_goes", raw_listener, GOES_AFTER_ACCEPT }, /* Proves: 5.3-ACCEPTED-abandoned */
};

T_GROUP(hostile, cases);
