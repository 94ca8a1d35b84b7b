// SPDX-License-Identifier: GPL-2.0
/* Objects: making them, changing them, taking them down. */
#include <linux/slab.h>

#include "nulldev.h"

/* One network: numbers of QPs are those of the module. */
static DEFINE_XARRAY_ALLOC1(nd_qps);

int nd_ring_init(struct nd_ring *ring, u32 entries)
{
	u32 places = roundup_pow_of_two(max(entries, 1));

	ring->size = max(entries, 1);
	ring->mask = places - 1;
	ring->seq = kvcalloc(places, sizeof(*ring->seq), GFP_KERNEL);
	return ring->seq ? 0 : -ENOMEM;
}

void nd_ring_free(struct nd_ring *ring)
{
	kvfree(ring->seq);
}

int nd_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return nd_refuses(ND_ALLOC_PD);
}

int nd_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/* --- CQs ------------------------------------------------------------------- */

int nd_create_cq(struct ib_cq *base, const struct ib_cq_init_attr *attr, struct uverbs_attr_bundle *attrs)
{
	struct nd_cq *cq = to_nd_cq(base);
	int ret;

	ret = nd_refuses(ND_CREATE_CQ) ?: nd_ring_init(&cq->ring, attr->cqe);
	if (ret)
		return ret;
	cq->wc = kvcalloc(cq->ring.mask + 1, sizeof(*cq->wc), GFP_KERNEL);
	if (!cq->wc) {
		nd_ring_free(&cq->ring);
		return -ENOMEM;
	}
	base->cqe = attr->cqe;
	return 0;
}

int nd_destroy_cq(struct ib_cq *base, struct ib_udata *udata)
{
	struct nd_cq *cq = to_nd_cq(base);

	kvfree(cq->wc);
	nd_ring_free(&cq->ring);
	return 0;
}

/* --- QPs ------------------------------------------------------------------- */

static struct nd_link *link_new(struct nd_qp *a, struct nd_qp *b)
{
	struct nd_link *link = kzalloc_obj(*link);

	if (link) {
		refcount_set(&link->users, b ? 2 : 1);
		link->end[0] = a;
		link->end[1] = b;
	}
	return link;
}

void nd_link_put(struct nd_link *link)
{
	if (refcount_dec_and_test(&link->users))
		kfree(link);
}

int nd_create_qp(struct ib_qp *base, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct nd_qp *qp = to_nd_qp(base);
	int ret;
	u32 id;

	if (attr->qp_type != IB_QPT_RC || attr->srq)
		return -EOPNOTSUPP;
	if (attr->cap.max_send_wr > ND_MAX_WR || attr->cap.max_recv_wr > ND_MAX_WR ||
	    attr->cap.max_send_sge > ND_MAX_SGE || attr->cap.max_recv_sge > ND_MAX_SGE)
		return -EINVAL;
	ret = nd_refuses(ND_CREATE_QP);
	if (ret)
		return ret;
	attr->cap.max_inline_data = 0;
	refcount_set(&qp->users, 1);
	init_completion(&qp->unused);
	INIT_WORK(&qp->broken, nd_broken);
	qp->state = IB_QPS_RESET;
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	ret = nd_ring_init(&qp->sq, attr->cap.max_send_wr) ?: nd_ring_init(&qp->rq, attr->cap.max_recv_wr);
	if (ret)
		goto free;
	qp->send = kvcalloc(qp->sq.mask + 1, sizeof(*qp->send), GFP_KERNEL);
	qp->recv = kvcalloc(qp->rq.mask + 1, sizeof(*qp->recv), GFP_KERNEL);
	qp->link = link_new(qp, NULL);
	ret = -ENOMEM;
	if (!qp->send || !qp->recv || !qp->link)
		goto free;
	ret = xa_alloc(&nd_qps, &id, qp, XA_LIMIT(1, 0xffffff), GFP_KERNEL);
	if (ret)
		goto free;
	base->qp_num = id;
	return 0;

free:
	kfree(qp->link);
	kvfree(qp->recv);
	kvfree(qp->send);
	nd_ring_free(&qp->rq);
	nd_ring_free(&qp->sq);
	return ret;
}

struct ib_qp *nd_get_qp(struct ib_device *dev, int qpn)
{
	struct nd_qp *qp = xa_load(&nd_qps, qpn);

	return qp && qp->base.device == dev ? &qp->base : NULL;
}

void nd_hold_qp(struct ib_qp *base)
{
	refcount_inc(&to_nd_qp(base)->users);
}

void nd_put_qp(struct ib_qp *base)
{
	struct nd_qp *qp = to_nd_qp(base);

	if (refcount_dec_and_test(&qp->users))
		complete(&qp->unused);
}

void nd_fail(struct nd_qp *qp)
{
	/* Pairs with the read in nd_post_send() and nd_post_recv(), after their entry is published. */
	smp_store_mb(qp->state, IB_QPS_ERR);
	nd_pump(qp->link);
}

int nd_join(struct nd_qp *a, struct nd_qp *b)
{
	struct nd_link *link;

	if (a == b || READ_ONCE(a->state) != IB_QPS_INIT || READ_ONCE(b->state) != IB_QPS_INIT)
		return -EINVAL;
	link = link_new(a, b);
	if (!link)
		return -ENOMEM;
	/* Nobody looks at the link of a QP in INIT. */
	nd_link_put(a->link);
	nd_link_put(b->link);
	a->link = link;
	b->link = link;
	/* The link comes first; pairs with the acquire in the post functions. */
	smp_store_release(&a->state, IB_QPS_RTS);
	/* The same for the other. */
	smp_store_release(&b->state, IB_QPS_RTS);
	return 0;
}

int nd_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct nd_qp *qp = to_nd_qp(base), *peer;
	int ret = nd_refuses(ND_MODIFY_QP);

	if (ret || !(mask & IB_QP_STATE))
		return ret;
	switch (attr->qp_state) {
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		/* It is the connection that takes it on from there. */
		cmpxchg(&qp->state, IB_QPS_RESET, IB_QPS_INIT);
		return READ_ONCE(qp->state) == IB_QPS_INIT ? 0 : -EINVAL;
	case IB_QPS_RTS:
		/* Without the connection manager: joins both QPs, with one call for both. */
		if (!(mask & IB_QP_DEST_QPN))
			return -EINVAL;
		mutex_lock(&nd_cm_lock);
		peer = xa_load(&nd_qps, attr->dest_qp_num);
		ret = peer ? nd_join(qp, peer) : -EINVAL;
		mutex_unlock(&nd_cm_lock);
		return ret;
	case IB_QPS_SQD:
	case IB_QPS_ERR:
		nd_disconnect(qp);
		return 0;
	default:
		return -EINVAL;
	}
}

int nd_destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	struct nd_qp *qp = to_nd_qp(base);

	mutex_lock(&nd_cm_lock);
	xa_erase(&nd_qps, base->qp_num);
	mutex_unlock(&nd_cm_lock);
	nd_disconnect(qp);
	nd_unlink(qp);
	cancel_work_sync(&qp->broken);
	nd_put_qp(base);
	wait_for_completion(&qp->unused);
	kvfree(qp->recv);
	kvfree(qp->send);
	nd_ring_free(&qp->rq);
	nd_ring_free(&qp->sq);
	return 0;
}

/* --- MRs ------------------------------------------------------------------- */

/* There is no need of one: the privileged token is the device's. */
struct ib_mr *nd_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

struct ib_mr *nd_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt, int access, struct ib_dmah *dmah,
			     struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

struct ib_mr *nd_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages)
{
	struct nd_dev *dev = to_nd_dev(pd->device);
	struct nd_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG || max_pages > ND_MAX_PAGES)
		return ERR_PTR(-EINVAL);
	ret = nd_refuses(ND_ALLOC_MR);
	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc_flex(*mr, pages, max_pages);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_pages;
	/* What is looked at before the core has filled it in. */
	mr->base.pd = pd;
	ret = xa_alloc(&dev->mrs, &mr->id, mr, XA_LIMIT(1, 0xffffff), GFP_KERNEL);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	mr->base.lkey = mr->id << 8;
	mr->base.rkey = mr->base.lkey;
	return &mr->base;
}

int nd_dereg_mr(struct ib_mr *base, struct ib_udata *udata)
{
	struct nd_mr *mr = to_nd_mr(base);

	xa_erase(&to_nd_dev(base->device)->mrs, mr->id);
	kfree_rcu(mr, rcu);
	return 0;
}

static int set_page(struct ib_mr *base, u64 page)
{
	struct nd_mr *mr = to_nd_mr(base);

	if (mr->nr_pages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->nr_pages++] = page;
	return 0;
}

int nd_map_mr_sg(struct ib_mr *base, struct scatterlist *sg, int nents, unsigned int *offset)
{
	int ret = nd_refuses(ND_MAP_MR);

	to_nd_mr(base)->nr_pages = 0;
	return ret ?: ib_sg_to_pages(base, sg, nents, offset, set_page);
}
