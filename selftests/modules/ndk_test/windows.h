/* SPDX-License-Identifier: GPL-2.0 */
/* A window of one end, and what the other end sees through it. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "ndk_test.h"

#define SIZE (4 * PAGE_SIZE)
#define CAN_READ NDK_OP_FLAG_ALLOW_REMOTE_READ
#define CAN_WRITE NDK_OP_FLAG_ALLOW_REMOTE_WRITE
#define RW (CAN_READ | CAN_WRITE)
#define BIND NDK_OPERATION_BIND
#define INVALIDATE NDK_OPERATION_INVALIDATE

struct wt {
	struct t *t;
	struct t_pair *p;
	/* b has memory and window, a is the peer. */
	struct t_end *a, *b;
	struct t_region *r;
	struct ndk_mw *mw;
	struct t_buf *peer;
};

struct ndk_mw *wt_window(struct t_end *e);
struct wt *wt_setup(struct t *t, u32 rights);
int wt_bind(struct wt *w, unsigned long ctx, u64 at, u64 length, u32 flags);
bool wt_bound(struct wt *w, u64 at, u64 length, u32 flags);
bool wt_unbound(struct wt *w);
bool wt_peer_writes(struct wt *w, u32 token, u64 at, u64 length, u32 seed);
bool wt_peer_reads(struct wt *w, u32 token, u64 at, u64 length, u32 seed);
/* Ends the connection. */
void wt_peer_is_refused(struct wt *w, u32 token, u64 at, u64 length);
int wt_deregister(struct wt *w);

#endif
