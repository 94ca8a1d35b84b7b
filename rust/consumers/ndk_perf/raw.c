// SPDX-License-Identifier: GPL-2.0
/*
 * Data path of the baseline. Side a measures, side b answers. A side has one PD, one CQ in
 * softirq context, one memory region over its whole buffer, and a QP for each connection.
 *
 * The buffer: what is sent, read or written at 0, what is received behind it.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "raw.h"

#define TIMEOUT		(60 * HZ)
/* Receives posted to each QP: twice what can be outstanding, as credits come back in halves. */
#define RECEIVES(job)	(2 * (job)->depth)

struct raw_run;

struct raw_conn {
	struct raw_side *side;
	struct rdma_cm_id *id;
	struct ib_cqe send, recv, rdma, credit;
	struct completion event;
	int status;
	/* Rate: what may be sent, what is outstanding and what came in since the last credit. */
	u32 credits;
	u32 outstanding;
	u32 received;
};

struct raw_side {
	struct raw_run *run;
	const struct perf_end *end;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_mr *mr;
	int mapped;
	struct ib_cqe reg, inv;
	struct raw_conn conn[PERF_MAX_QPS];
	u32 conns;
};

struct raw_run {
	const struct perf_job *job;
	struct perf_result *result;
	struct raw_side a, b;
	struct rdma_cm_id *listener;
	struct completion done;
	bool over;
	int status;
	u64 stamp;
	u32 posted;
	u32 completed;
};

static void raw_end(struct raw_run *run, int status)
{
	if (!run->over) {
		run->over = true;
		run->status = status;
		complete(&run->done);
	}
}

static bool raw_failed(struct raw_run *run, const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return false;
	/* What is flushed after the end says nothing. */
	raw_end(run, -EIO);
	return true;
}

static int raw_post_recv(struct raw_conn *conn)
{
	struct raw_side *side = conn->side;
	struct ib_sge sge = {
		.addr = side->mr->iova + side->run->job->size,
		.length = side->run->job->size,
		.lkey = side->mr->lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &conn->recv, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(conn->id->qp, &wr, NULL);
}

/* Posts @count sends as one list, of which the last is signalled. */
static int raw_post_sends(struct raw_conn *conn, u32 count, u32 size, struct ib_cqe *cqe)
{
	struct raw_side *side = conn->side;
	struct ib_sge sge = { .addr = side->mr->iova, .length = size, .lkey = side->mr->lkey };
	struct ib_send_wr wr[16];
	u32 i;

	for (i = 0; i < count; i++) {
		wr[i] = (struct ib_send_wr) {
			.wr_cqe = cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.send_flags = i + 1 < count ? 0 : IB_SEND_SIGNALED,
		};
	}
	return ib_post_send(conn->id->qp, &wr[0], NULL);
}

static int raw_post_rdma(struct raw_conn *conn)
{
	struct raw_side *side = conn->side;
	struct raw_run *run = side->run;
	struct ib_sge sge = {
		.addr = side->mr->iova,
		.length = run->job->size,
		.lkey = side->mr->lkey,
	};
	bool read = run->job->test == PERF_READ_LATENCY || run->job->test == PERF_READ_STREAM;
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &conn->rdma,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.wr.opcode = read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
		.remote_addr = run->b.mr->iova,
		.rkey = run->b.mr->rkey,
	};

	return ib_post_send(conn->id->qp, &wr.wr, NULL);
}

static int raw_post_reg(struct raw_side *side)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.wr_cqe = &side->reg,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = side->mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int n;

	n = ib_map_mr_sg(side->mr, side->end->sgl, side->mapped, NULL, PAGE_SIZE);
	if (n != side->mapped)
		return n < 0 ? n : -EINVAL;
	ib_update_fast_reg_key(side->mr, ib_inc_rkey(side->mr->rkey));
	wr.key = side->mr->rkey;
	return ib_post_send(side->conn[0].id->qp, &wr.wr, NULL);
}

static int raw_post_inv(struct raw_side *side)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.wr_cqe = &side->inv,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = side->mr->rkey,
	};

	return ib_post_send(side->conn[0].id->qp, &wr, NULL);
}

static void raw_sample(struct raw_run *run)
{
	u64 now = ktime_get_ns();

	run->result->samples[run->completed++] = now - run->stamp;
	run->stamp = now;
}

/* Sends as much as depth and credits allow. */
static int raw_pump(struct raw_conn *conn)
{
	struct raw_run *run = conn->side->run;
	const struct perf_job *job = run->job;
	int ret = 0;

	while (!ret && run->posted < job->iters && conn->credits >= job->chain &&
	       conn->outstanding + job->chain <= job->depth) {
		ret = raw_post_sends(conn, job->chain, job->size, &conn->send);
		conn->credits -= job->chain;
		conn->outstanding += job->chain;
		run->posted += job->chain;
	}
	return ret;
}

static void raw_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_conn *conn = container_of(wc->wr_cqe, struct raw_conn, send);
	struct raw_run *run = conn->side->run;
	int ret;

	if (raw_failed(run, wc) || run->job->test != PERF_SEND_RATE)
		return;
	conn->outstanding -= run->job->chain;
	run->completed += run->job->chain;
	if (run->completed >= run->job->iters) {
		raw_end(run, 0);
		return;
	}
	ret = raw_pump(conn);
	if (ret)
		raw_end(run, ret);
}

static void raw_credit_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_conn *conn = container_of(wc->wr_cqe, struct raw_conn, credit);

	raw_failed(conn->side->run, wc);
}

static void raw_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_conn *conn = container_of(wc->wr_cqe, struct raw_conn, recv);
	struct raw_run *run = conn->side->run;
	bool a = conn->side == &run->a;
	int ret;

	if (raw_failed(run, wc))
		return;
	ret = raw_post_recv(conn);
	if (!ret && run->job->test == PERF_SEND_RATE) {
		if (a) {
			conn->credits += run->job->depth / 2;
			ret = raw_pump(conn);
		} else if (++conn->received == run->job->depth / 2) {
			conn->received = 0;
			ret = raw_post_sends(conn, 1, 0, &conn->credit);
		}
	} else if (!ret) {
		if (a)
			raw_sample(run);
		if (a && run->completed == run->job->iters)
			raw_end(run, 0);
		else
			ret = raw_post_sends(conn, 1, run->job->size, &conn->send);
	}
	if (ret)
		raw_end(run, ret);
}

static void raw_rdma_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_conn *conn = container_of(wc->wr_cqe, struct raw_conn, rdma);
	struct raw_run *run = conn->side->run;
	int ret = 0;

	if (raw_failed(run, wc))
		return;
	if (run->job->test == PERF_WRITE_LATENCY || run->job->test == PERF_READ_LATENCY)
		raw_sample(run);
	else
		run->completed++;
	if (run->completed == run->job->iters) {
		raw_end(run, 0);
	} else if (run->posted < run->job->iters) {
		run->posted++;
		ret = raw_post_rdma(conn);
	}
	if (ret)
		raw_end(run, ret);
}

static void raw_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_side *side = container_of(wc->wr_cqe, struct raw_side, reg);
	struct raw_run *run = side->run;
	int ret;

	if (raw_failed(run, wc))
		return;
	/* Before the measurement the registration is waited for. */
	if (run->job->test != PERF_REGISTER || side == &run->b) {
		complete(&side->conn[0].event);
		return;
	}
	ret = raw_post_inv(side);
	if (ret)
		raw_end(run, ret);
}

static void raw_inv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_side *side = container_of(wc->wr_cqe, struct raw_side, inv);
	struct raw_run *run = side->run;
	int ret;

	if (raw_failed(run, wc))
		return;
	if (++run->completed == run->job->iters) {
		raw_end(run, 0);
		return;
	}
	ret = raw_post_reg(side);
	if (ret)
		raw_end(run, ret);
}

static int raw_side_setup(struct raw_side *side, struct ib_device *dev)
{
	const struct perf_job *job = side->run->job;

	if (side->dev)
		return side->dev == dev ? 0 : -EXDEV;
	side->dev = dev;
	side->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(side->pd))
		return PTR_ERR(side->pd);
	side->cq = ib_alloc_cq(dev, side, job->qps * (RECEIVES(job) + 2 * job->depth + 8), 0,
			       IB_POLL_SOFTIRQ);
	if (IS_ERR(side->cq))
		return PTR_ERR(side->cq);
	side->mr = ib_alloc_mr(side->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(side->end->length, PAGE_SIZE));
	if (IS_ERR(side->mr))
		return PTR_ERR(side->mr);
	side->mapped = ib_dma_map_sg(dev, side->end->sgl, side->end->nents, DMA_BIDIRECTIONAL);
	return side->mapped ? 0 : -EIO;
}

static void raw_side_teardown(struct raw_side *side)
{
	if (side->mapped)
		ib_dma_unmap_sg(side->dev, side->end->sgl, side->end->nents, DMA_BIDIRECTIONAL);
	if (!IS_ERR_OR_NULL(side->mr))
		ib_dereg_mr(side->mr);
	if (!IS_ERR_OR_NULL(side->cq))
		ib_free_cq(side->cq);
	if (!IS_ERR_OR_NULL(side->pd))
		ib_dealloc_pd(side->pd);
}

static struct raw_conn *raw_conn_add(struct raw_side *side, struct rdma_cm_id *id)
{
	struct raw_conn *conn = &side->conn[side->conns++];

	conn->side = side;
	conn->id = id;
	conn->send.done = raw_send_done;
	conn->recv.done = raw_recv_done;
	conn->rdma.done = raw_rdma_done;
	conn->credit.done = raw_credit_done;
	conn->credits = RECEIVES(side->run->job);
	init_completion(&conn->event);
	return conn;
}

static int raw_qp_setup(struct raw_conn *conn)
{
	const struct perf_job *job = conn->side->run->job;
	struct ib_qp_init_attr attr = {
		.send_cq = conn->side->cq,
		.recv_cq = conn->side->cq,
		.cap.max_send_wr = 2 * job->depth + 8,
		.cap.max_recv_wr = RECEIVES(job) + 4,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	return rdma_create_qp(conn->id, conn->side->pd, &attr);
}

static int raw_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct raw_conn *conn = id->context;
	struct rdma_conn_param param = { .responder_resources = 16, .initiator_depth = 16, .rnr_retry_count = 7 };
	struct raw_run *run;
	int ret;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		/* The new id has the listener's context. */
		run = id->context;
		if (run->b.conns == run->job->qps)
			return -EBUSY;
		conn = raw_conn_add(&run->b, id);
		id->context = conn;
		ret = raw_qp_setup(conn) ?: rdma_accept(id, &param);
		if (ret) {
			/* A failure destroys the id. */
			if (id->qp)
				rdma_destroy_qp(id);
			conn->id = NULL;
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

static int raw_wait(struct raw_conn *conn)
{
	if (!wait_for_completion_timeout(&conn->event, TIMEOUT))
		return -ETIMEDOUT;
	return conn->status;
}

static int raw_connect(struct raw_run *run)
{
	struct rdma_conn_param param = {
		.responder_resources = 16,
		.initiator_depth = 16,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct sockaddr *to = (struct sockaddr *)&run->listener->route.addr.src_addr;
	struct rdma_cm_id *id;
	struct raw_conn *conn;

	conn = raw_conn_add(&run->a, NULL);
	id = rdma_create_id(run->a.end->net, raw_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->id = id;
	return rdma_resolve_addr(id, (struct sockaddr *)run->a.end->address, to, 5000) ?:
	       raw_wait(conn) ?:
	       rdma_resolve_route(id, 5000) ?:
	       raw_wait(conn) ?:
	       raw_side_setup(&run->a, id->device) ?:
	       raw_qp_setup(conn) ?:
	       rdma_connect(id, &param) ?:
	       raw_wait(conn);
}

static int raw_listen(struct raw_run *run)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(run->b.end->net, raw_handler, run, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	run->listener = id;
	return rdma_bind_addr(id, (struct sockaddr *)run->b.end->address) ?:
	       raw_side_setup(&run->b, id->device) ?:
	       rdma_listen(id, 16);
}

static void raw_disconnect(struct raw_side *side)
{
	struct raw_conn *conn;

	for (conn = side->conn; conn < side->conn + side->conns; conn++) {
		if (!conn->id)
			continue;
		if (conn->id->qp) {
			rdma_disconnect(conn->id);
			ib_drain_qp(conn->id->qp);
			rdma_destroy_qp(conn->id);
		}
		rdma_destroy_id(conn->id);
	}
}

/* Registers the buffer, and posts the receives. */
static int raw_ready(struct raw_side *side, bool receives)
{
	u32 i, j;
	int ret;

	side->reg.done = raw_reg_done;
	side->inv.done = raw_inv_done;
	if (side == &side->run->b || side->run->job->test != PERF_REGISTER) {
		ret = raw_post_reg(side) ?: raw_wait(&side->conn[0]);
		if (ret)
			return ret;
	}
	for (i = 0; receives && i < side->conns; i++) {
		for (j = 0; j < RECEIVES(side->run->job); j++) {
			ret = raw_post_recv(&side->conn[i]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Sets the counters first, as completions may run at once and elsewhere. */
static int raw_start(struct raw_run *run)
{
	const struct perf_job *job = run->job;
	int ret = 0;
	u32 i, first;

	run->stamp = ktime_get_ns();
	switch (job->test) {
	case PERF_SEND_LATENCY:
		return raw_post_sends(&run->a.conn[0], 1, job->size, &run->a.conn[0].send);
	case PERF_SEND_RATE:
		/* One chain each; its completion fills the queue. */
		for (i = 0; i < run->a.conns; i++) {
			run->a.conn[i].credits -= job->chain;
			run->a.conn[i].outstanding = job->chain;
			run->posted += job->chain;
		}
		for (i = 0; !ret && i < run->a.conns; i++)
			ret = raw_post_sends(&run->a.conn[i], job->chain, job->size,
					     &run->a.conn[i].send);
		return ret;
	case PERF_REGISTER:
		return raw_post_reg(&run->a);
	default:
		first = min(job->depth, job->iters);
		run->posted = first;
		for (i = 0; !ret && i < first; i++)
			ret = raw_post_rdma(&run->a.conn[0]);
		return ret;
	}
}

int ndk_perf_raw_run(const struct perf_job *job, const struct perf_end *a,
		     const struct perf_end *b, struct perf_result *result)
{
	bool receives = job->test == PERF_SEND_LATENCY || job->test == PERF_SEND_RATE;
	struct raw_run *run;
	u64 start;
	int ret;
	u32 i;

	run = kzalloc_obj(*run);
	if (!run)
		return -ENOMEM;
	run->job = job;
	run->result = result;
	run->a.run = run;
	run->a.end = a;
	run->b.run = run;
	run->b.end = b;
	init_completion(&run->done);

	ret = raw_listen(run);
	for (i = 0; !ret && i < job->qps; i++)
		ret = raw_connect(run);
	/* The passive side's ESTABLISHED may come after the active side's. */
	for (i = 0; !ret && i < job->qps; i++)
		ret = raw_wait(&run->b.conn[i]);
	ret = ret ?: raw_ready(&run->b, receives) ?: raw_ready(&run->a, receives);
	if (!ret) {
		start = ktime_get_ns();
		ret = raw_start(run);
		if (!ret && !wait_for_completion_timeout(&run->done, TIMEOUT))
			ret = -ETIMEDOUT;
		result->elapsed = ktime_get_ns() - start;
		result->count = run->completed;
		ret = ret ?: run->status;
	}
	raw_disconnect(&run->a);
	raw_disconnect(&run->b);
	if (run->listener)
		rdma_destroy_id(run->listener);
	raw_side_teardown(&run->a);
	raw_side_teardown(&run->b);
	kfree(run);
	return ret;
}
