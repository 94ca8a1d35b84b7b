// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of the baseline: connect, accept, disconnect and close, with a new QP at both
 * ends each time. PD and CQ of a side serve all of them.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "raw.h"

#define TIMEOUT		(60 * HZ)
#define MAX_WORKERS	64

struct connect_side {
	struct ib_pd *pd;
	struct ib_cq *cq;
};

struct connect_run {
	const struct perf_job *job;
	const struct perf_end *a, *b;
	struct connect_side active, passive;
	struct rdma_cm_id *listener;
	/* Ids of the passive side, and one for the run itself. */
	atomic_t ids;
	struct completion all_gone;
	atomic_t left;
	int status;
};

struct connect_worker {
	struct work_struct work;
	struct connect_run *run;
};

struct active {
	struct completion event;
	int status;
};

static int side_setup(struct connect_side *side, struct ib_device *dev)
{
	side->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(side->pd))
		return PTR_ERR(side->pd);
	side->cq = ib_alloc_cq(dev, side, 64, 0, IB_POLL_SOFTIRQ);
	return PTR_ERR_OR_ZERO(side->cq);
}

static void side_teardown(struct connect_side *side)
{
	if (!IS_ERR_OR_NULL(side->cq))
		ib_free_cq(side->cq);
	if (!IS_ERR_OR_NULL(side->pd))
		ib_dealloc_pd(side->pd);
}

static int create_qp(struct rdma_cm_id *id, struct connect_side *side)
{
	struct ib_qp_init_attr attr = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap.max_send_wr = 4,
		.cap.max_recv_wr = 4,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	return rdma_create_qp(id, side->pd, &attr);
}

static void put_run(struct connect_run *run)
{
	if (atomic_dec_and_test(&run->ids))
		complete(&run->all_gone);
}

static int passive_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct connect_run *run = id->context;
	int ret;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		ret = create_qp(id, &run->passive);
		if (ret)
			return ret;
		ret = rdma_accept(id, &param);
		if (ret)
			rdma_destroy_qp(id);
		else
			atomic_inc(&run->ids);
		return ret;
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		if (!id->qp)
			return 0;
		/* That destroys the id, which answers a disconnect. */
		rdma_destroy_qp(id);
		put_run(run);
		return 1;
	}
}

static int active_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct active *active = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_DISCONNECTED:
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		active->status = event->status ?: -ECONNABORTED;
	}
	complete(&active->event);
	return 0;
}

static int wait_event_of(struct active *active)
{
	if (!wait_for_completion_timeout(&active->event, TIMEOUT))
		return -ETIMEDOUT;
	return active->status;
}

static int connect_once(struct connect_run *run)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct sockaddr *to = (struct sockaddr *)&run->listener->route.addr.src_addr;
	struct active active = {};
	struct rdma_cm_id *id;
	int ret;

	init_completion(&active.event);
	id = rdma_create_id(run->a->net, active_handler, &active, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_resolve_addr(id, (struct sockaddr *)run->a->address, to, 5000) ?:
	      wait_event_of(&active) ?:
	      rdma_resolve_route(id, 5000) ?:
	      wait_event_of(&active) ?:
	      create_qp(id, &run->active) ?:
	      rdma_connect(id, &param) ?:
	      wait_event_of(&active) ?:
	      rdma_disconnect(id) ?:
	      wait_event_of(&active);
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return ret;
}

static void connect_work(struct work_struct *work)
{
	struct connect_worker *worker = container_of(work, struct connect_worker, work);
	struct connect_run *run = worker->run;
	int ret;

	while (!READ_ONCE(run->status) && atomic_dec_return(&run->left) >= 0) {
		ret = connect_once(run);
		if (ret)
			WRITE_ONCE(run->status, ret);
	}
}

/* The device of side a is known once an address is resolved. */
static int active_setup(struct connect_run *run)
{
	struct sockaddr *to = (struct sockaddr *)&run->listener->route.addr.src_addr;
	struct active active = {};
	struct rdma_cm_id *id;
	int ret;

	init_completion(&active.event);
	id = rdma_create_id(run->a->net, active_handler, &active, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_resolve_addr(id, (struct sockaddr *)run->a->address, to, 5000) ?:
	      wait_event_of(&active) ?:
	      side_setup(&run->active, id->device);
	rdma_destroy_id(id);
	return ret;
}

static int passive_setup(struct connect_run *run)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(run->b->net, passive_handler, run, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	run->listener = id;
	return rdma_bind_addr(id, (struct sockaddr *)run->b->address) ?:
	       side_setup(&run->passive, id->device) ?:
	       rdma_listen(id, MAX_WORKERS);
}

static int run_workers(struct connect_run *run)
{
	u32 i, n = clamp(run->job->depth, 1u, MAX_WORKERS);
	struct connect_worker *workers;
	struct workqueue_struct *wq;

	workers = kzalloc_objs(*workers, n);
	wq = alloc_workqueue("ndk_perf_raw", WQ_UNBOUND, MAX_WORKERS);
	if (!workers || !wq) {
		kfree(workers);
		if (wq)
			destroy_workqueue(wq);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		workers[i].run = run;
		INIT_WORK(&workers[i].work, connect_work);
		queue_work(wq, &workers[i].work);
	}
	destroy_workqueue(wq);
	kfree(workers);
	return run->status;
}

int ndk_perf_raw_connect(const struct perf_job *job, const struct perf_end *a,
			 const struct perf_end *b, struct perf_result *result)
{
	struct connect_run run = { .job = job, .a = a, .b = b };
	u64 start;
	int ret;

	atomic_set(&run.ids, 1);
	atomic_set(&run.left, job->iters);
	init_completion(&run.all_gone);
	ret = passive_setup(&run) ?: active_setup(&run);
	if (!ret) {
		start = ktime_get_ns();
		ret = run_workers(&run);
		/* Done when both ends are gone. */
		put_run(&run);
		wait_for_completion(&run.all_gone);
		result->elapsed = ktime_get_ns() - start;
		result->count = job->iters;
	}
	if (run.listener)
		rdma_destroy_id(run.listener);
	side_teardown(&run.active);
	side_teardown(&run.passive);
	return ret;
}
