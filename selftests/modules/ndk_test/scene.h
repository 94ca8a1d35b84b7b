/* SPDX-License-Identifier: GPL-2.0 */
/* A connector in any of its states, on either side. */
#ifndef _NDK_TEST_SCENE_H
#define _NDK_TEST_SCENE_H

#include "ndk_test.h"

enum stage {
	A_IDLE, A_CONNECTING, A_ACCEPTED, A_REJECTED, A_COMPLETING, A_CONNECTED, A_SENDING, A_PEER_GONE,
	A_DISCONNECTING, A_DISCONNECTED,
	P_INCOMING, P_REJECTED, P_ACCEPTING, P_CONNECTED, P_SENDING, P_PEER_GONE, P_DISCONNECTING, P_DISCONNECTED,
	STATES
};

extern const char *const t_stage_names[STATES];

/* A connection of which one end, the subject, is in a given state. */
struct scene {
	/* What its ends are like, or NULL. */
	const struct t_cfg *cfg;
	struct t_pair *p;
	struct t_end *subject, *peer;
	struct ndk_connector *connector;
	/* What is pending on it. */
	struct t_await *pending;
	struct t_await *closing;
	/* As far as it came to them. */
	struct t_await *connect, *accept, *complete;
	struct ndk_connector *incoming;
};

/* Brings a new connection so far that its subject is in this state. */
bool t_reach(struct t *t, struct scene *s, enum stage state);

#endif /* _NDK_TEST_SCENE_H */
