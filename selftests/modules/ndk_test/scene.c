// SPDX-License-Identifier: GPL-2.0
/* The way to each state of a connector. */

#include "scene.h"

const char *const t_stage_names[STATES] = {
	[A_IDLE] = "idle", [A_CONNECTING] = "connecting", [A_ACCEPTED] = "accepted", [A_REJECTED] = "rejected",
	[A_COMPLETING] = "completing", [A_CONNECTED] = "connected (active)", [A_SENDING] = "sending (active)",
	[A_PEER_GONE] = "peer gone (active)", [A_DISCONNECTING] = "disconnecting (active)",
	[A_DISCONNECTED] = "disconnected (active)", [P_INCOMING] = "incoming", [P_REJECTED] = "rejected (passive)",
	[P_ACCEPTING] = "accepting", [P_CONNECTED] = "connected (passive)", [P_SENDING] = "sending (passive)",
	[P_PEER_GONE] = "peer gone (passive)", [P_DISCONNECTING] = "disconnecting (passive)",
	[P_DISCONNECTED] = "disconnected (passive)",
};

static bool send_some(struct t_end *e)
{
	struct t_buf *buf = t_buf(e, SZ_64K);
	int i, rc;

	for (i = 0; buf && i < 8; i++)
		if (!EXPECT_STATUS(e->t, t_post_receive(e, i, buf, 0, 64), 0))
			return false;
	/* Nobody receives: they stay outstanding, or iWARP ends the connection. */
	for (i = 0; buf && i < 8; i++) {
		rc = t_post_send(e, i, buf, 0, SZ_64K, 0);
		if (world.iwarp && i && rc == -ENOTCONN)
			break;
		if (!EXPECT_STATUS(e->t, rc, 0))
			return false;
	}
	return buf;
}

static bool end_it(struct scene *s, enum stage state)
{
	struct t_await *w, *other;

	switch (state) {
	case A_SENDING:
	case P_SENDING:
		return send_some(s->subject);
	case A_PEER_GONE:
	case P_PEER_GONE:
		t_close_start(s->subject->t, &s->peer->connector->header);
		return t_wait_gone(s->subject);
	case A_DISCONNECTING:
	case P_DISCONNECTING:
		s->pending = t_disconnect_start(s->subject);
		return s->pending && t_wait_gone(s->peer);
	case A_DISCONNECTED:
	case P_DISCONNECTED:
		w = t_disconnect_start(s->subject);
		if (!w || !t_wait_gone(s->peer))
			return false;
		other = t_disconnect_start(s->peer);
		return other && !t_join(w) && !t_join(other);
	default:
		return true;
	}
}

bool t_reach(struct t *t, struct scene *s, enum stage state)
{
	struct ndk_object_header *h;

	s->p = t_pair_unconnected(t, s->cfg);
	if (!s->p)
		return false;
	s->subject = state < P_INCOMING ? &s->p->a : &s->p->b;
	s->peer = state < P_INCOMING ? &s->p->b : &s->p->a;
	h = t_create(&s->p->a, KIND_CONNECTOR);
	if (!h)
		return false;
	s->p->a.connector = container_of(h, struct ndk_connector, header);
	s->connector = s->p->a.connector;
	if (state == A_IDLE)
		return true;
	s->connect = t_connect_start(&s->p->a, &s->p->listener->address);
	s->incoming = s->connect ? t_incoming(s->p->listener) : NULL;
	if (!s->incoming)
		return false;
	if (state == A_CONNECTING) {
		s->pending = s->connect;
		return true;
	}
	if (state >= P_INCOMING)
		s->connector = s->incoming;
	if (state == P_INCOMING)
		return true;
	if (state == P_REJECTED)
		return EXPECT_STATUS(t, ndk_reject(s->incoming, NULL, 0), 0) &&
		       EXPECT_STATUS(t, t_join(s->connect), -ECONNREFUSED);
	s->accept = t_accept_start(&s->p->b, s->incoming);
	if (!s->accept || !EXPECT_STATUS(t, t_join(s->connect), 0))
		return false;
	if (state == P_ACCEPTING)
		s->pending = s->accept;
	if (state == A_ACCEPTED || state == P_ACCEPTING)
		return true;
	if (state == A_REJECTED)
		return EXPECT_STATUS(t, ndk_reject(s->connector, NULL, 0), 0);
	s->complete = t_complete_start(&s->p->a);
	if (state == A_COMPLETING) {
		s->pending = s->complete;
		return s->complete;
	}
	return s->complete && !t_join(s->complete) && !t_join(s->accept) && end_it(s, state);
}
