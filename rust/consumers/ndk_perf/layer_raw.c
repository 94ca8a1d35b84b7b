// SPDX-License-Identifier: GPL-2.0
/* The calls over verbs: what a consumer of the kernel's own interface does. */
#include <linux/completion.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include "layer.h"

#define TIMEOUT	(60 * HZ)

struct raw;

struct conn {
	struct raw *raw;
	struct rdma_cm_id *id[2];
	struct completion event;
	int status;
};

/* A list of pages on its way. */
struct slot {
	struct rdma_rw_ctx ctx;
	struct ib_cqe cqe;
	struct completion done;
	int status;
};

struct side {
	struct ib_device *dev;
	struct ib_pd *pd;
	/* For polls, for rounds, and for arms. */
	struct ib_cq *cq, *softirq, *own;
	struct ib_sge sge;
};

struct raw {
	const struct perf_job *job;
	const struct perf_end *end[2];
	struct side side[2];
	struct rdma_cm_id *listener;
	/* Those that are measured, and two more: for rounds, and for arms. */
	struct conn *conn;
	u32 conns;
	struct ib_cqe cqe, round;
	u32 polled;
	u32 notified;
	u8 *memory;
	/* For lists of pages. */
	struct slot slots[LIST_SLOTS], reg;
	struct scatterlist *pages;
	u32 nr_pages;
	struct ib_mr *mr;
	int mapped;
};

static void on_polled(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw *raw = cq->cq_context;

	raw->polled += wc->status == IB_WC_SUCCESS;
}

static void on_round(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw *raw = cq->cq_context;

	WRITE_ONCE(raw->notified, raw->notified + 1);
}

static void on_own(struct ib_cq *cq, void *context)
{
	struct raw *raw = context;

	WRITE_ONCE(raw->notified, raw->notified + 1);
}

static int set_up_side(struct raw *raw, int n, struct ib_device *dev)
{
	struct ib_cq_init_attr attr = { .cqe = is_list(raw->job) ? 2 * LIST_WRS : 2 * layer_depth(raw->job) };
	struct side *side = &raw->side[n];

	if (side->dev)
		return 0;
	side->dev = dev;
	side->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(side->pd))
		return PTR_ERR(side->pd);
	side->cq = ib_alloc_cq(dev, raw, 2 * raw->job->qps * layer_depth(raw->job), 0, IB_POLL_DIRECT);
	if (IS_ERR(side->cq))
		return PTR_ERR(side->cq);
	side->softirq = ib_alloc_cq(dev, raw, attr.cqe, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(side->softirq))
		return PTR_ERR(side->softirq);
	side->own = ib_create_cq(dev, on_own, NULL, raw, &attr);
	if (IS_ERR(side->own))
		return PTR_ERR(side->own);
	/* Where the device has no addresses of its own those are the CPU's. */
	if (!ib_uses_virt_dma(dev))
		return -EOPNOTSUPP;
	side->sge = (struct ib_sge) {
		.addr = (uintptr_t)raw->memory + n * LAYER_SIZE,
		.length = LAYER_SIZE,
		.lkey = side->pd->local_dma_lkey,
	};
	return 0;
}

static int create_qp(struct raw *raw, struct conn *conn, int n)
{
	u32 depth = layer_depth(raw->job), at = conn - raw->conn;
	struct side *side = &raw->side[n];
	struct ib_cq *cq = at < raw->job->qps ? side->cq : at == raw->job->qps ? side->softirq : side->own;
	struct ib_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	if (is_list(raw->job)) {
		attr.cap.max_send_wr = LIST_WRS;
		attr.cap.max_send_sge = LIST_SGE;
		attr.cap.max_rdma_ctxs = LIST_SLOTS;
		attr.port_num = conn->id[n]->port_num;
	}
	return rdma_create_qp(conn->id[n], side->pd, &attr);
}

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .responder_resources = 16, .initiator_depth = 16, .rnr_retry_count = 7 };
	struct conn *conn = id->context;
	struct raw *raw;
	int ret;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		/* The new id has the listener's context. */
		raw = id->context;
		conn = &raw->conn[raw->conns];
		conn->id[1] = id;
		id->context = conn;
		ret = create_qp(raw, conn, 1) ?: rdma_accept(id, &param);
		if (ret) {
			/* A failure destroys the id. */
			if (id->qp)
				rdma_destroy_qp(id);
			conn->id[1] = NULL;
		}
		return ret;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		complete(&conn->event);
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return 0;
	default:
		conn->status = event->status ?: -ECONNABORTED;
		complete(&conn->event);
		return 0;
	}
}

static int wait_event_of(struct conn *conn)
{
	return wait_for_completion_timeout(&conn->event, TIMEOUT) ? conn->status : -ETIMEDOUT;
}

static int listen(struct raw *raw)
{
	struct rdma_cm_id *id = rdma_create_id(raw->end[1]->net, handler, raw, RDMA_PS_TCP, IB_QPT_RC);

	if (IS_ERR(id))
		return PTR_ERR(id);
	raw->listener = id;
	return rdma_bind_addr(id, (struct sockaddr *)raw->end[1]->address) ?:
	       set_up_side(raw, 1, id->device) ?:
	       rdma_listen(id, 16);
}

/* Of the active side only the device is wanted. */
static int find_active(struct raw *raw)
{
	struct rdma_cm_id *id = rdma_create_id(raw->end[0]->net, handler, raw, RDMA_PS_TCP, IB_QPT_RC);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_bind_addr(id, (struct sockaddr *)raw->end[0]->address) ?: set_up_side(raw, 0, id->device);
	rdma_destroy_id(id);
	return ret;
}

static int connect_one(struct raw *raw)
{
	struct rdma_conn_param param = {
		.responder_resources = 16,
		.initiator_depth = 16,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct sockaddr *to = (struct sockaddr *)&raw->listener->route.addr.src_addr;
	struct conn *conn = &raw->conn[raw->conns];
	struct rdma_cm_id *id;
	int ret;

	conn->raw = raw;
	init_completion(&conn->event);
	id = rdma_create_id(raw->end[0]->net, handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->id[0] = id;
	/* Both ends are established when both have said so. */
	ret = rdma_resolve_addr(id, (struct sockaddr *)raw->end[0]->address, to, 5000) ?:
	      wait_event_of(conn) ?:
	      rdma_resolve_route(id, 5000) ?:
	      wait_event_of(conn) ?:
	      create_qp(raw, conn, 0) ?:
	      rdma_connect(id, &param) ?:
	      wait_event_of(conn) ?:
	      wait_event_of(conn);
	raw->conns++;
	return ret;
}

static void close_all(struct raw *raw)
{
	struct conn *conn;
	int n;

	for (conn = raw->conn; conn && conn < raw->conn + raw->conns; conn++) {
		for (n = 0; n < 2; n++) {
			if (!conn->id[n])
				continue;
			rdma_disconnect(conn->id[n]);
			if (conn->id[n]->qp)
				rdma_destroy_qp(conn->id[n]);
		}
		for (n = 0; n < 2; n++)
			if (conn->id[n])
				rdma_destroy_id(conn->id[n]);
	}
	if (raw->listener)
		rdma_destroy_id(raw->listener);
	if (raw->mapped)
		ib_dma_unmap_sg(raw->side[1].dev, raw->end[1]->sgl, raw->end[1]->nents, DMA_BIDIRECTIONAL);
	if (!IS_ERR_OR_NULL(raw->mr))
		ib_dereg_mr(raw->mr);
	kvfree(raw->pages);
	for (n = 0; n < 2; n++) {
		struct side *side = &raw->side[n];

		if (!IS_ERR_OR_NULL(side->own))
			ib_destroy_cq(side->own);
		if (!IS_ERR_OR_NULL(side->softirq))
			ib_free_cq(side->softirq);
		if (!IS_ERR_OR_NULL(side->cq))
			ib_free_cq(side->cq);
		if (!IS_ERR_OR_NULL(side->pd))
			ib_dealloc_pd(side->pd);
	}
	kvfree(raw->conn);
	kfree(raw->memory);
	kfree(raw);
}

static int drain(struct raw *raw, int n, u32 count)
{
	raw->polled = 0;
	while (raw->polled < count)
		if (ib_process_cq_direct(raw->side[n].cq, LAYER_POLL) <= 0)
			return -EIO;
	return 0;
}

static int post_receive(struct raw *raw, u32 at)
{
	struct ib_recv_wr wr = { .wr_cqe = &raw->cqe, .sg_list = &raw->side[1].sge, .num_sge = 1 };

	return ib_post_recv(raw->conn[at].id[1]->qp, &wr, NULL);
}

static int post_send(struct raw *raw, u32 at)
{
	struct ib_send_wr wr = {
		.wr_cqe = &raw->cqe,
		.sg_list = &raw->side[0].sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(raw->conn[at].id[0]->qp, &wr, NULL);
}

static int batch(struct raw *raw, u64 *totals, u32 *turn)
{
	const struct perf_job *job = raw->job;
	u64 begin, received, sent, polled;
	u32 i, at;
	int ret = 0;

	begin = layer_now(job);
	for (i = 0, at = *turn; i < LAYER_BATCH; i++, at = at + 1 < job->qps ? at + 1 : 0)
		ret |= post_receive(raw, at);
	received = layer_now(job);
	for (i = 0, at = *turn; i < LAYER_BATCH; i++, at = at + 1 < job->qps ? at + 1 : 0)
		ret |= post_send(raw, at);
	sent = layer_now(job);
	if (ret || drain(raw, 0, LAYER_BATCH))
		return -EIO;
	polled = layer_now(job);
	*turn = at;
	totals[LAYER_RECEIVE] += received - begin;
	totals[LAYER_SEND] += sent - received;
	totals[LAYER_POLL_CQ] += polled - sent;
	return drain(raw, 1, LAYER_BATCH);
}

/* Posts something that completes at once, and lets the notification come. */
static int notify(struct raw *raw, u32 at, struct ib_cqe *cqe)
{
	struct ib_rdma_wr wr = { .wr.wr_cqe = cqe, .wr.opcode = IB_WR_RDMA_WRITE, .wr.send_flags = IB_SEND_SIGNALED };
	u32 before = raw->notified;
	int ret;

	local_bh_disable();
	ret = ib_post_send(raw->conn[at].id[0]->qp, &wr.wr, NULL);
	local_bh_enable();
	while (!ret && READ_ONCE(raw->notified) == before)
		cond_resched();
	return ret;
}

static int measure(struct raw *raw, u64 *totals)
{
	const struct perf_job *job = raw->job;
	u32 i, turn = 0;
	struct ib_wc wc;
	u64 begin;
	int ret = 0;

	for (i = 0; !ret && i < job->iters; i += LAYER_BATCH)
		ret = batch(raw, totals, &turn);
	for (i = 0; !ret && i < job->iters; i++) {
		begin = layer_now(job);
		ib_req_notify_cq(raw->side[0].own, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
		totals[LAYER_ARM] += layer_now(job) - begin;
		ret = notify(raw, job->qps + 1, &raw->cqe);
		if (!ret && ib_poll_cq(raw->side[0].own, 1, &wc) != 1)
			ret = -EIO;
	}
	begin = layer_now(job);
	for (i = 0; !ret && i < job->iters; i++)
		ret = notify(raw, job->qps, &raw->round);
	totals[LAYER_ROUND] = layer_now(job) - begin;
	return ret;
}

static void on_slot(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *slot = container_of(wc->wr_cqe, struct slot, cqe);

	slot->status = wc->status == IB_WC_SUCCESS ? 0 : -EIO;
	complete(&slot->done);
}

static int slot_end(struct slot *slot)
{
	return wait_for_completion_timeout(&slot->done, TIMEOUT) ? slot->status : -ETIMEDOUT;
}

static void slot_init(struct slot *slot)
{
	slot->cqe.done = on_slot;
	init_completion(&slot->done);
}

static int list_set_up(struct raw *raw)
{
	const struct perf_end *b = raw->end[1];
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.wr_cqe = &raw->reg.cqe,
		.wr.send_flags = IB_SEND_SIGNALED,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int n;

	for (n = 0; n < LIST_SLOTS; n++)
		slot_init(&raw->slots[n]);
	slot_init(&raw->reg);
	raw->pages = layer_pages(raw->end[0], &raw->nr_pages);
	if (!raw->pages)
		return -ENOMEM;
	raw->mr = ib_alloc_mr(raw->side[1].pd, IB_MR_TYPE_MEM_REG, raw->nr_pages + 1);
	if (IS_ERR(raw->mr))
		return PTR_ERR(raw->mr);
	raw->mapped = ib_dma_map_sg(raw->side[1].dev, b->sgl, b->nents, DMA_BIDIRECTIONAL);
	if (!raw->mapped || ib_map_mr_sg(raw->mr, b->sgl, raw->mapped, NULL, PAGE_SIZE) != raw->mapped)
		return -EIO;
	ib_update_fast_reg_key(raw->mr, ib_inc_rkey(raw->mr->rkey));
	wr.mr = raw->mr;
	wr.key = raw->mr->rkey;
	return ib_post_send(raw->conn[1].id[1]->qp, &wr.wr, NULL) ?: slot_end(&raw->reg);
}

static int list_measure(struct raw *raw, u64 *elapsed)
{
	enum dma_data_direction dir = raw->job->test == PERF_LIST_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	u32 i, iters = raw->job->iters, depth = raw->job->depth;
	/* That of rounds, the CQ of which is in softirq context. */
	struct rdma_cm_id *id = raw->conn[1].id[0];
	int ret = list_set_up(raw);
	struct slot *slot;
	u64 begin;

	begin = ktime_get_ns();
	for (i = 0; !ret && i < iters + depth; i++) {
		slot = &raw->slots[i % depth];
		if (i >= depth) {
			ret = slot_end(slot);
			if (!ret)
				rdma_rw_ctx_destroy(&slot->ctx, id->qp, id->port_num, raw->pages, raw->nr_pages, dir);
		}
		if (!ret && i < iters) {
			ret = rdma_rw_ctx_init(&slot->ctx, id->qp, id->port_num, raw->pages, raw->nr_pages, 0,
					       raw->mr->iova, raw->mr->rkey, dir);
			ret = ret < 0 ? ret : rdma_rw_ctx_post(&slot->ctx, id->qp, id->port_num, &slot->cqe, NULL);
		}
	}
	*elapsed = ktime_get_ns() - begin;
	return ret;
}

int ndk_perf_layer_raw(const struct perf_job *job, const struct perf_end *a, const struct perf_end *b,
		       struct perf_result *result)
{
	struct raw *raw;
	int ret, counting = -1;
	u32 i;

	raw = kzalloc_obj(*raw);
	if (!raw)
		return -ENOMEM;
	raw->job = job;
	raw->end[0] = a;
	raw->end[1] = b;
	raw->cqe.done = on_polled;
	raw->round.done = on_round;
	raw->memory = kzalloc(2 * LAYER_SIZE, GFP_KERNEL);
	raw->conn = kvzalloc_objs(*raw->conn, job->qps + 2);
	ret = -ENOMEM;
	if (!raw->memory || !raw->conn)
		goto out;
	ret = listen(raw) ?: find_active(raw);
	if (!ret && job->count)
		ret = counting = layer_count_begin();
	for (i = 0; !ret && i < job->qps; i++)
		ret = connect_one(raw);
	if (job->count && !counting)
		result->samples[LAYER_BYTES] = layer_count_end();
	for (i = 0; !ret && i < 2; i++)
		ret = connect_one(raw);
	if (is_list(job))
		ret = ret ?: list_measure(raw, &result->elapsed);
	else
		ret = ret ?: measure(raw, result->samples);
	result->count = job->iters;
out:
	close_all(raw);
	return ret;
}
