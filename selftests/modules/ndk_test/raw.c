// SPDX-License-Identifier: GPL-2.0
/* The raw peer: as little as it takes to reach for what is not its own. */

#include <linux/delay.h>
#include <linux/slab.h>

#include "raw.h"

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct raw *r = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (r->request)
			return -EBUSY;
		r->request = id;
	}
	r->what = event->event;
	r->status = event->status;
	r->data_len = 0;
	if (event->param.conn.private_data && (event->event == RDMA_CM_EVENT_CONNECT_REQUEST ||
					       event->event == RDMA_CM_EVENT_CONNECT_RESPONSE ||
					       event->event == RDMA_CM_EVENT_ESTABLISHED ||
					       event->event == RDMA_CM_EVENT_REJECTED)) {
		r->data_len = event->param.conn.private_data_len;
		memcpy(r->data, event->param.conn.private_data, r->data_len);
	}
	complete(&r->event);
	return 0;
}

static void free_qp(struct raw *r)
{
	if (r->qp)
		ib_destroy_qp(r->qp);
	if (r->id)
		r->id->qp = NULL;
	if (r->cq)
		ib_free_cq(r->cq);
	if (r->dma)
		ib_dma_unmap_single(r->pd->device, r->dma, RAW_BUF, DMA_BIDIRECTIONAL);
	if (r->pd)
		ib_dealloc_pd(r->pd);
	r->qp = NULL;
	r->cq = NULL;
	r->dma = 0;
	r->pd = NULL;
}

struct raw *raw_new(struct t *t, enum t_side side)
{
	struct raw *r = kzalloc_obj(*r, GFP_KERNEL | __GFP_NOFAIL);

	r->t = t;
	r->side = side;
	init_completion(&r->event);
	r->buf = kzalloc(RAW_BUF, GFP_KERNEL | __GFP_NOFAIL);
	r->id = rdma_create_id(world.net[side], handler, r, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(r->id)) {
		t_fail(t, "raw: no id");
		r->id = NULL;
	}
	return r;
}

void raw_free(struct raw *r)
{
	if (!r)
		return;
	/* The id first: it says goodbye, or breaks off. */
	if (r->request)
		rdma_destroy_id(r->request);
	if (r->id) {
		r->id->qp = NULL;
		rdma_destroy_id(r->id);
		r->id = NULL;
	}
	free_qp(r);
	kfree(r->buf);
	kfree(r);
}

static int make_qp(struct raw *r)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	int rc;

	r->pd = ib_alloc_pd(r->id->device, 0);
	if (IS_ERR(r->pd)) {
		rc = PTR_ERR(r->pd);
		r->pd = NULL;
		return rc;
	}
	r->cq = ib_alloc_cq(r->id->device, NULL, 128, 0, IB_POLL_DIRECT);
	if (IS_ERR(r->cq)) {
		rc = PTR_ERR(r->cq);
		r->cq = NULL;
		return rc;
	}
	r->dma = ib_dma_map_single(r->pd->device, r->buf, RAW_BUF, DMA_BIDIRECTIONAL);
	attr.send_cq = r->cq;
	attr.recv_cq = r->cq;
	rc = rdma_create_qp(r->id, r->pd, &attr);
	if (!rc)
		r->qp = r->id->qp;
	return rc;
}

bool raw_wait(struct raw *r, enum rdma_cm_event_type what)
{
	if (!wait_for_completion_timeout(&r->event, t_ticks(20))) {
		t_fail(r->t, "raw: no event, %s expected", rdma_event_msg(what));
		return false;
	}
	if (r->what != what) {
		t_fail(r->t, "raw: %s (status %d), %s expected", rdma_event_msg(r->what), r->status,
		       rdma_event_msg(what));
		return false;
	}
	return true;
}

bool raw_resolve(struct raw *r, const struct sockaddr_storage *to, bool with_qp)
{
	struct sockaddr_storage from;

	if (!r->id)
		return false;
	t_addr(r->side, to->ss_family, 0, &from);
	if (!EXPECT_STATUS(r->t, rdma_resolve_addr(r->id, (struct sockaddr *)&from, (struct sockaddr *)to, 2000), 0) ||
	    !raw_wait(r, RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    !EXPECT_STATUS(r->t, rdma_resolve_route(r->id, 2000), 0) || !raw_wait(r, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return false;
	return !with_qp || EXPECT_STATUS(r->t, make_qp(r), 0);
}

int raw_connect(struct raw *r, const void *data, u8 len, u8 resources, u8 depth)
{
	/* The number of a QP that is not there, but another each time: or the request would be taken for a stale one. */
	static u32 qp_num = 0x700000;
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = len, .responder_resources = resources,
		.initiator_depth = depth, .retry_count = 7, .rnr_retry_count = 7, .qp_num = qp_num++,
	};
	int rc;

	rdma_lock_handler(r->id);
	rc = rdma_connect_locked(r->id, &param);
	rdma_unlock_handler(r->id);
	return rc;
}

bool raw_listen(struct raw *r, struct sockaddr_storage *address)
{
	if (!r->id)
		return false;
	t_addr(r->side, AF_INET, 0, address);
	if (!EXPECT_STATUS(r->t, rdma_bind_addr(r->id, (struct sockaddr *)address), 0) ||
	    !EXPECT_STATUS(r->t, rdma_listen(r->id, 8), 0))
		return false;
	*address = r->id->route.addr.src_addr;
	return true;
}

struct raw *raw_accept_end(struct raw *listener)
{
	struct raw *r;

	if (!raw_wait(listener, RDMA_CM_EVENT_CONNECT_REQUEST))
		return NULL;
	r = kzalloc_obj(*r, GFP_KERNEL | __GFP_NOFAIL);
	r->t = listener->t;
	r->side = listener->side;
	init_completion(&r->event);
	r->buf = kzalloc(RAW_BUF, GFP_KERNEL | __GFP_NOFAIL);
	r->id = listener->request;
	listener->request = NULL;
	r->id->context = r;
	if (!EXPECT_STATUS(r->t, make_qp(r), 0)) {
		raw_free(r);
		return NULL;
	}
	return r;
}

int raw_accept(struct raw *r, const void *data, u8 len)
{
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = len, .responder_resources = 1, .initiator_depth = 1,
		.rnr_retry_count = 7,
	};
	int rc;

	rdma_lock_handler(r->id);
	rc = rdma_accept(r->id, &param);
	rdma_unlock_handler(r->id);
	return rc;
}

static int post(struct raw *r, struct ib_send_wr *wr)
{
	return ib_post_send(r->qp, wr, NULL);
}

int raw_send(struct raw *r, u32 length, u32 invalidate)
{
	struct ib_sge sge = { .addr = r->dma, .length = length, .lkey = r->pd->local_dma_lkey };
	struct ib_send_wr wr = {
		.opcode = invalidate ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.ex.invalidate_rkey = invalidate,
		.sg_list = &sge, .num_sge = length ? 1 : 0,
	};

	return post(r, &wr);
}

int raw_receive(struct raw *r, u32 length)
{
	struct ib_sge sge = { .addr = r->dma, .length = length, .lkey = r->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(r->qp, &wr, NULL);
}

int raw_rdma(struct raw *r, enum ib_wr_opcode opcode, u32 length, u64 remote, u32 token)
{
	struct ib_sge sge = { .addr = r->dma, .length = length, .lkey = r->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = remote, .rkey = token,
	};

	return post(r, &wr.wr);
}

int raw_poll(struct raw *r)
{
	unsigned long end = jiffies + t_ticks(20);
	struct ib_wc wc;

	do {
		if (ib_poll_cq(r->cq, 1, &wc) > 0)
			return wc.status;
		usleep_range(100, 500);
	} while (time_before(jiffies, end));
	t_fail(r->t, "raw: no completion");
	return -ETIME;
}
