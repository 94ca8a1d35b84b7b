/* SPDX-License-Identifier: GPL-2.0 */
/* A peer that does not know of ndk: raw verbs and rdma_cm, in the other namespace, and no manners. */
#ifndef _NDK_TEST_RAW_H
#define _NDK_TEST_RAW_H

#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "ndk_test.h"

struct raw {
	struct t *t;
	enum t_side side;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u8 *buf;
	u64 dma;
	/* The last event, its status or reject reason, and the private data with it. */
	struct completion event;
	enum rdma_cm_event_type what;
	int status;
	u8 data[256];
	unsigned int data_len;
	/* A listener's newest request; refused by the handler while nobody wants it. */
	struct rdma_cm_id *request;
};

#define RAW_BUF SZ_16K

struct raw *raw_new(struct t *t, enum t_side side);
void raw_free(struct raw *r);
/* Address and route; with_qp for a connection that is more than a request. */
bool raw_resolve(struct raw *r, const struct sockaddr_storage *to, bool with_qp);
int raw_connect(struct raw *r, const void *data, u8 len, u8 resources, u8 depth);
bool raw_wait(struct raw *r, enum rdma_cm_event_type what);
bool raw_listen(struct raw *r, struct sockaddr_storage *address);
/* Makes the QP of a request that came in, and takes it over from the listener. */
struct raw *raw_accept_end(struct raw *listener);
int raw_accept(struct raw *r, const void *data, u8 len);
int raw_send(struct raw *r, u32 length, u32 invalidate);
int raw_receive(struct raw *r, u32 length);
int raw_rdma(struct raw *r, enum ib_wr_opcode opcode, u32 length, u64 remote, u32 token);
/* The status of the next completion, or -ETIME. */
int raw_poll(struct raw *r);

#endif /* _NDK_TEST_RAW_H */
