// SPDX-License-Identifier: GPL-2.0
/* The data path: posts, copies, completions. */
#include <linux/delay.h>
#include <linux/string.h>

#include "nulldev.h"

/* --- CQs ------------------------------------------------------------------- */

static void complete_one(struct ib_cq *base, const struct ib_wc *wc, bool solicited)
{
	struct nd_cq *cq = to_nd_cq(base);
	struct ib_event event = { .device = base->device, .element.cq = base, .event = IB_EVENT_CQ_ERR };
	u32 pos, armed;

	if (unlikely(!nd_ring_reserve(&cq->ring, &pos))) {
		if (!xchg(&cq->overrun, true) && base->event_handler)
			base->event_handler(&event, base->cq_context);
		return;
	}
	cq->wc[pos & cq->ring.mask] = *wc;
	nd_ring_publish(&cq->ring, pos);
	/* Pairs with the barrier in nd_req_notify_cq(): one of both sees the other. */
	smp_mb();
	armed = READ_ONCE(cq->armed);
	if (!armed || (armed == IB_CQ_SOLICITED && !solicited && wc->status == IB_WC_SUCCESS))
		return;
	if (cmpxchg(&cq->armed, armed, 0) == armed)
		base->comp_handler(base, base->cq_context);
}

int nd_poll_cq(struct ib_cq *base, int nr, struct ib_wc *wc)
{
	struct nd_cq *cq = to_nd_cq(base);
	int n;

	for (n = 0; n < nr && nd_ring_ready(&cq->ring); n++) {
		wc[n] = cq->wc[cq->ring.head & cq->ring.mask];
		nd_ring_advance(&cq->ring);
	}
	return n;
}

int nd_req_notify_cq(struct ib_cq *base, enum ib_cq_notify_flags flags)
{
	struct nd_cq *cq = to_nd_cq(base);
	u32 want = flags & IB_CQ_SOLICITED_MASK;

	/* One for solicited completions does not weaken one for all. */
	if (want == IB_CQ_NEXT_COMP || !READ_ONCE(cq->armed)) {
		/* Pairs with the barrier in complete_one(). */
		smp_store_mb(cq->armed, want);
	}
	return (flags & IB_CQ_REPORT_MISSED_EVENTS) && nd_ring_ready(&cq->ring);
}

/* --- memory ---------------------------------------------------------------- */

/* A place in a list of pieces. */
struct cursor {
	struct nd_qp *qp;
	const struct ib_sge *sge;
	int nr;
	u32 done;
	int access;
};

static bool key_fits(struct nd_qp *qp, const struct nd_mr *mr, u32 key, u64 addr, u32 len, int access)
{
	return mr && READ_ONCE(mr->key) == key && mr->base.pd == qp->base.pd && (mr->access & access) == access &&
	       addr >= mr->base.iova && addr - mr->base.iova + len <= mr->base.length;
}

/* Where the place is in memory, and how many bytes there are in one piece; 0 for the end, negative for a wrong key. */
static int at_cursor(struct cursor *c, void **to)
{
	struct nd_mr *mr;
	u64 addr, offset;
	u32 left;

	while (c->nr && c->done == c->sge->length) {
		c->sge++;
		c->nr--;
		c->done = 0;
	}
	if (!c->nr)
		return 0;
	addr = c->sge->addr + c->done;
	left = c->sge->length - c->done;
	if (c->sge->lkey == ND_DMA_LKEY && !(c->access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE))) {
		*to = (void *)(uintptr_t)addr;
		return min_t(u32, left, INT_MAX);
	}
	mr = xa_load(&to_nd_dev(c->qp->base.device)->mrs, c->sge->lkey >> 8);
	if (!key_fits(c->qp, mr, c->sge->lkey, addr, left, c->access))
		return -EACCES;
	offset = addr - (mr->base.iova & PAGE_MASK);
	*to = (void *)(uintptr_t)(mr->pages[offset >> PAGE_SHIFT] + offset_in_page(offset));
	return min_t(u32, left, PAGE_SIZE - offset_in_page(offset));
}

/* Copies as much as there is to copy: IB_WC_SUCCESS, or whose fault it was. */
static enum ib_wc_status copy(struct cursor *to, enum ib_wc_status to_fault,
			      struct cursor *from, enum ib_wc_status from_fault)
{
	void *target, *source;
	int room, left;

	for (;;) {
		left = at_cursor(from, &source);
		if (left <= 0)
			return left ? from_fault : IB_WC_SUCCESS;
		room = at_cursor(to, &target);
		if (room <= 0)
			return to_fault;
		left = min(left, room);
		memcpy(target, source, left);
		from->done += left;
		to->done += left;
	}
}

static u32 total(const struct ib_sge *sge, int nr)
{
	u32 sum = 0;

	while (nr--)
		sum += sge++->length;
	return sum;
}

/* --- requests -------------------------------------------------------------- */

static const enum ib_wc_opcode wc_opcodes[] = {
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_RDMA_READ_WITH_INV] = IB_WC_RDMA_READ,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
};

static void send_done(struct nd_qp *qp, const struct nd_send *send, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = send->wr_id,
		.status = status,
		.opcode = wc_opcodes[send->opcode],
		.byte_len = total(send->sge, send->nr),
		.qp = &qp->base,
		.port_num = 1,
	};

	if (status != IB_WC_SUCCESS || qp->signal_all || send->flags & IB_SEND_SIGNALED)
		complete_one(qp->base.send_cq, &wc, false);
}

static void recv_done(struct nd_qp *qp, const struct nd_recv *recv, enum ib_wc_status status, u32 bytes,
		      const struct nd_send *send)
{
	struct ib_wc wc = {
		.wr_id = recv->wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = bytes,
		.qp = &qp->base,
		.port_num = 1,
	};

	if (send && send->opcode == IB_WR_SEND_WITH_INV) {
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = send->key;
	}
	complete_one(qp->base.recv_cq, &wc, send && send->flags & IB_SEND_SOLICITED);
}

static bool invalidate(struct nd_qp *qp, u32 key)
{
	struct nd_mr *mr = xa_load(&to_nd_dev(qp->base.device)->mrs, key >> 8);

	return mr && mr->base.pd == qp->base.pd && cmpxchg(&mr->key, key, 0) == key;
}

/* A request went wrong: the QP fails, and with it the connection. */
static void break_down(struct nd_qp *qp)
{
	cmpxchg(&qp->state, IB_QPS_RTS, IB_QPS_ERR);
	queue_work(nd_wq, &qp->broken);
}

static void tell_of_access(struct nd_qp *qp)
{
	struct ib_event event = { .device = qp->base.device, .element.qp = &qp->base, .event = IB_EVENT_QP_ACCESS_ERR };

	if (qp->base.event_handler)
		qp->base.event_handler(&event, qp->base.qp_context);
}

static enum ib_wc_status message(struct nd_qp *qp, struct nd_qp *peer, const struct nd_send *send)
{
	struct nd_recv *recv = &peer->recv[peer->rq.head & peer->rq.mask];
	struct cursor from = { .qp = qp, .sge = send->sge, .nr = send->nr };
	struct cursor to = { .qp = peer, .sge = recv->sge, .nr = recv->nr, .access = IB_ACCESS_LOCAL_WRITE };
	enum ib_wc_status status, theirs;

	theirs = IB_WC_SUCCESS;
	status = copy(&to, IB_WC_REM_INV_REQ_ERR, &from, IB_WC_LOC_PROT_ERR);
	if (status == IB_WC_LOC_PROT_ERR)
		return status;
	if (status)
		theirs = to.nr ? IB_WC_LOC_PROT_ERR : IB_WC_LOC_LEN_ERR;
	else if (send->opcode == IB_WR_SEND_WITH_INV && !invalidate(peer, send->key))
		theirs = IB_WC_MW_BIND_ERR;
	recv_done(peer, recv, theirs, total(send->sge, send->nr), send);
	nd_ring_advance(&peer->rq);
	if (theirs == IB_WC_SUCCESS)
		return IB_WC_SUCCESS;
	break_down(peer);
	return theirs == IB_WC_LOC_LEN_ERR ? IB_WC_REM_INV_REQ_ERR : IB_WC_REM_OP_ERR;
}

static enum ib_wc_status transfer(struct nd_qp *qp, struct nd_qp *peer, const struct nd_send *send)
{
	struct ib_sge remote = { .addr = send->remote, .length = total(send->sge, send->nr), .lkey = send->key };
	struct cursor here = { .qp = qp, .sge = send->sge, .nr = send->nr };
	struct cursor there = { .qp = peer, .sge = &remote, .nr = 1 };
	enum ib_wc_status status;

	if (send->opcode == IB_WR_RDMA_WRITE) {
		there.access = IB_ACCESS_REMOTE_WRITE;
		status = copy(&there, IB_WC_REM_ACCESS_ERR, &here, IB_WC_LOC_PROT_ERR);
	} else {
		here.access = IB_ACCESS_LOCAL_WRITE;
		there.access = IB_ACCESS_REMOTE_READ;
		status = copy(&here, IB_WC_LOC_PROT_ERR, &there, IB_WC_REM_ACCESS_ERR);
		if (!status && send->opcode == IB_WR_RDMA_READ_WITH_INV && !invalidate(qp, send->sge[0].lkey))
			status = IB_WC_LOC_PROT_ERR;
	}
	if (status == IB_WC_REM_ACCESS_ERR) {
		tell_of_access(peer);
		break_down(peer);
	}
	return status;
}

/* Does the request at the head of the queue; false if it has to wait. */
static bool execute(struct nd_qp *qp, struct nd_qp *peer)
{
	struct nd_send *send = &qp->send[qp->sq.head & qp->sq.mask];
	enum ib_wc_status status = IB_WC_SUCCESS;

	switch (send->opcode) {
	case IB_WR_REG_MR:
		send->mr->access = send->access;
		WRITE_ONCE(send->mr->key, send->key);
		break;
	case IB_WR_LOCAL_INV:
		if (!invalidate(qp, send->key))
			status = IB_WC_MW_BIND_ERR;
		break;
	default:
		/* A peer that is going takes this QP along in a moment. */
		if (!peer || READ_ONCE(peer->state) != IB_QPS_RTS)
			return false;
		if (send->opcode == IB_WR_SEND || send->opcode == IB_WR_SEND_WITH_INV) {
			if (!nd_ring_ready(&peer->rq))
				return false;
			status = message(qp, peer, send);
		} else {
			status = transfer(qp, peer, send);
		}
	}
	send_done(qp, send, status);
	nd_ring_advance(&qp->sq);
	if (status)
		break_down(qp);
	return true;
}

static void work_on(struct nd_qp *qp, struct nd_qp *peer)
{
	if (!qp)
		return;
	while (READ_ONCE(qp->state) == IB_QPS_RTS && nd_ring_ready(&qp->sq))
		if (!execute(qp, peer))
			return;
	if (READ_ONCE(qp->state) != IB_QPS_ERR)
		return;
	for (; nd_ring_ready(&qp->sq); nd_ring_advance(&qp->sq))
		send_done(qp, &qp->send[qp->sq.head & qp->sq.mask], IB_WC_WR_FLUSH_ERR);
	for (; nd_ring_ready(&qp->rq); nd_ring_advance(&qp->rq))
		recv_done(qp, &qp->recv[qp->rq.head & qp->rq.mask], IB_WC_WR_FLUSH_ERR, 0, NULL);
}

/* By the owner of the link, who gives it up. */
static void pump_owned(struct nd_link *link)
{
	int seen;

	rcu_read_lock();
	do {
		seen = atomic_read_acquire(&link->kicks);
		work_on(link->end[0], link->end[1]);
		work_on(link->end[1], link->end[0]);
	} while (atomic_sub_return(seen, &link->kicks));
	rcu_read_unlock();
}

void nd_pump(struct nd_link *link)
{
	if (atomic_inc_return(&link->kicks) == 1)
		pump_owned(link);
}

void nd_unlink(struct nd_qp *qp)
{
	struct nd_link *link = qp->link;

	while (atomic_cmpxchg(&link->kicks, 0, 1))
		fsleep(10);
	link->end[link->end[0] == qp ? 0 : 1] = NULL;
	pump_owned(link);
	nd_link_put(link);
}

/* --- posts ----------------------------------------------------------------- */

static bool is_valid(const struct ib_send_wr *wr)
{
	return wr->opcode < ARRAY_SIZE(wc_opcodes) && (wc_opcodes[wr->opcode] || wr->opcode == IB_WR_SEND) &&
	       wr->num_sge <= ND_MAX_SGE && !(wr->send_flags & IB_SEND_INLINE);
}

static void fill_send(struct nd_send *send, const struct ib_send_wr *wr)
{
	send->wr_id = wr->wr_id;
	send->opcode = wr->opcode;
	send->flags = wr->send_flags;
	send->nr = 0;
	switch (wr->opcode) {
	case IB_WR_REG_MR:
		send->mr = to_nd_mr(reg_wr(wr)->mr);
		send->key = reg_wr(wr)->key;
		send->access = reg_wr(wr)->access;
		return;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		send->remote = rdma_wr(wr)->remote_addr;
		send->key = rdma_wr(wr)->rkey;
		break;
	default:
		send->key = wr->ex.invalidate_rkey;
	}
	send->nr = wr->num_sge;
	memcpy(send->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
}

int nd_post_send(struct ib_qp *base, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct nd_qp *qp = to_nd_qp(base);
	/* Pairs with nd_join(). */
	int state = smp_load_acquire(&qp->state), ret = 0;
	u32 pos;

	if (state != IB_QPS_RTS && state != IB_QPS_ERR) {
		*bad = wr;
		return -EINVAL;
	}
	for (; wr; wr = wr->next) {
		ret = nd_refuses(ND_POST_SEND);
		if (!ret && !is_valid(wr))
			ret = -EINVAL;
		if (!ret && !nd_ring_reserve(&qp->sq, &pos))
			ret = -ENOMEM;
		if (ret) {
			*bad = wr;
			break;
		}
		fill_send(&qp->send[pos & qp->sq.mask], wr);
		nd_ring_publish(&qp->sq, pos);
	}
	nd_pump(qp->link);
	return ret;
}

int nd_post_recv(struct ib_qp *base, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct nd_qp *qp = to_nd_qp(base);
	struct nd_recv *recv;
	int state, ret = 0;
	u32 pos;

	for (; wr; wr = wr->next) {
		ret = nd_refuses(ND_POST_RECV);
		if (!ret && wr->num_sge > ND_MAX_SGE)
			ret = -EINVAL;
		if (!ret && !nd_ring_reserve(&qp->rq, &pos))
			ret = -ENOMEM;
		if (ret) {
			*bad = wr;
			break;
		}
		recv = &qp->recv[pos & qp->rq.mask];
		recv->wr_id = wr->wr_id;
		recv->nr = wr->num_sge;
		memcpy(recv->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
		nd_ring_publish(&qp->rq, pos);
	}
	/* Pairs with the barrier in nd_fail(). */
	smp_mb();
	/* Pairs with nd_join(), after which a message comes or came. */
	state = smp_load_acquire(&qp->state);
	if (state == IB_QPS_RTS || state == IB_QPS_ERR)
		nd_pump(qp->link);
	return ret;
}
