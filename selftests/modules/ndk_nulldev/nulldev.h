/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk_nulldev - an RDMA device that is nothing but memory: a message is copied within the call that posts it, and its
 * completions are in the CQs when the call returns. So what a layer above costs is not lost in what a device costs,
 * and the device can be told to refuse (debugfs).
 *
 * To the RDMA core it is an iWARP device: those make connections without a management datagram. All devices of the
 * module are one network.
 *
 * The data path takes no lock and allocates nothing. A ring has any number of producers; its consumer is, for the
 * queues of QPs, whoever owns their link (nd_pump()).
 */
#ifndef _NDK_NULLDEV_H
#define _NDK_NULLDEV_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#define ND_MAX_SGE	8
#define ND_MAX_PAGES	512
#define ND_MAX_WR	16384
/* The privileged token; keys of MRs are larger. */
#define ND_DMA_LKEY	1

/* --- what can be refused (main.c) ------------------------------------------ */

enum nd_call {
	ND_ALLOC_PD, ND_CREATE_CQ, ND_CREATE_QP, ND_MODIFY_QP, ND_ALLOC_MR, ND_MAP_MR, ND_POST_SEND, ND_POST_RECV,
	ND_CONNECT, ND_ACCEPT, ND_CALLS
};

struct nd_fault {
	/* Calls until the one that fails, 0 for none. */
	atomic_t left;
	int error;
};

extern struct nd_fault nd_faults[ND_CALLS];
extern struct workqueue_struct *nd_wq;

/* The error of this call, 0 mostly. */
static inline int nd_refuses(enum nd_call call)
{
	struct nd_fault *fault = &nd_faults[call];

	if (likely(!atomic_read(&fault->left)) || atomic_dec_if_positive(&fault->left))
		return 0;
	return fault->error;
}

/* --- rings ------------------------------------------------------------------ */

/* @seq: of each place, the position that is there, plus 1 */
struct nd_ring {
	u32 size;
	u32 mask;
	atomic_t tail;
	u32 head;
	u32 *seq;
};

int nd_ring_init(struct nd_ring *ring, u32 entries);
void nd_ring_free(struct nd_ring *ring);

/* Takes a place; any context. */
static inline bool nd_ring_reserve(struct nd_ring *ring, u32 *pos)
{
	int tail = atomic_read(&ring->tail);

	do {
		if ((u32)tail - READ_ONCE(ring->head) >= ring->size)
			return false;
	} while (!atomic_try_cmpxchg(&ring->tail, &tail, tail + 1));
	*pos = tail;
	return true;
}

static inline void nd_ring_publish(struct nd_ring *ring, u32 pos)
{
	/* Pairs with nd_ring_ready(). */
	smp_store_release(&ring->seq[pos & ring->mask], pos + 1);
}

/* Whether the entry at the head is there; for the consumer. */
static inline bool nd_ring_ready(struct nd_ring *ring)
{
	/* Pairs with nd_ring_publish(). */
	return smp_load_acquire(&ring->seq[ring->head & ring->mask]) == ring->head + 1;
}

static inline void nd_ring_advance(struct nd_ring *ring)
{
	/* The entry was read; pairs with the control dependency in nd_ring_reserve(). */
	smp_store_release(&ring->head, ring->head + 1);
}

/* --- objects ----------------------------------------------------------------- */

struct nd_dev {
	struct ib_device base;
	struct xarray mrs;
	u8 gid[ETH_ALEN];
};

struct nd_pd {
	struct ib_pd base;
};

struct nd_cq {
	struct ib_cq base;
	struct nd_ring ring;
	struct ib_wc *wc;
	/* enum ib_cq_notify_flags, 0 for not armed */
	u32 armed;
	bool overrun;
};

struct nd_mr {
	struct ib_mr base;
	struct rcu_head rcu;
	u32 id;
	u32 max_pages;
	u32 nr_pages;
	int access;
	/* The key under which it can be used, 0 for none. */
	u32 key;
	u64 pages[] __counted_by(max_pages);
};

struct nd_send {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	int flags;
	u32 key;
	int access;
	int nr;
	u64 remote;
	struct nd_mr *mr;
	struct ib_sge sge[ND_MAX_SGE];
};

struct nd_recv {
	u64 wr_id;
	int nr;
	struct ib_sge sge[ND_MAX_SGE];
};

struct nd_qp;

/*
 * What carries the messages of two QPs, or of one that has no peer. Who raises @kicks from 0 owns it, and goes on until it is 0
 * again; others leave the work to the owner.
 */
struct nd_link {
	refcount_t users;
	atomic_t kicks;
	struct nd_qp *end[2];
};

struct nd_qp {
	struct ib_qp base;
	refcount_t users;
	struct completion unused;
	/* enum ib_qp_state */
	int state;
	bool signal_all;
	struct nd_ring sq, rq;
	struct nd_send *send;
	struct nd_recv *recv;
	struct nd_link *link;
	/* Under the lock of the connection manager. */
	struct nd_conn *conn;
	struct work_struct broken;
};

static inline struct nd_dev *to_nd_dev(struct ib_device *dev)
{
	return container_of(dev, struct nd_dev, base);
}

static inline struct nd_cq *to_nd_cq(struct ib_cq *cq)
{
	return container_of(cq, struct nd_cq, base);
}

static inline struct nd_mr *to_nd_mr(struct ib_mr *mr)
{
	return container_of(mr, struct nd_mr, base);
}

static inline struct nd_qp *to_nd_qp(struct ib_qp *qp)
{
	return container_of(qp, struct nd_qp, base);
}

/* --- verbs.c ------------------------------------------------------------------ */

int nd_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int nd_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int nd_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, struct uverbs_attr_bundle *attrs);
int nd_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int nd_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int nd_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int nd_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
struct ib_mr *nd_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *nd_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt, int access, struct ib_dmah *dmah,
			     struct ib_udata *udata);
struct ib_mr *nd_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages);
int nd_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
int nd_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset);
struct ib_qp *nd_get_qp(struct ib_device *dev, int qpn);
void nd_hold_qp(struct ib_qp *qp);
void nd_put_qp(struct ib_qp *qp);
/* From INIT to RTS, both, with the lock of the connection manager. */
int nd_join(struct nd_qp *a, struct nd_qp *b);
/* Into the error state, where everything is flushed. */
void nd_fail(struct nd_qp *qp);

/* --- data.c -------------------------------------------------------------------- */

int nd_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int nd_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
int nd_poll_cq(struct ib_cq *cq, int nr, struct ib_wc *wc);
int nd_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);
/* Does what there is to do. Any context. */
void nd_pump(struct nd_link *link);
/* Takes a QP off its link: nobody looks at it any more. Sleeps. */
void nd_unlink(struct nd_qp *qp);
void nd_link_put(struct nd_link *link);

/* --- cm.c ---------------------------------------------------------------------- */

extern struct mutex nd_cm_lock;

int nd_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int nd_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int nd_reject(struct iw_cm_id *id, const void *data, u8 len);
int nd_create_listen(struct iw_cm_id *id, int backlog);
int nd_destroy_listen(struct iw_cm_id *id);
/* The connection of a QP ends at both sides. Sleeps. */
void nd_disconnect(struct nd_qp *qp);
void nd_broken(struct work_struct *work);

#endif
