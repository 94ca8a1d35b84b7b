// SPDX-License-Identifier: GPL-2.0
/* A connection one CQ of which is watched: that of end a's receives. */

#include "cqt.h"

struct cqt *cqt_setup(struct t *t, const struct t_cfg *cfg)
{
	struct cqt *c = t_alloc(t, sizeof(*c));

	c->t = t;
	c->p = t_pair(t, cfg);
	if (!c->p)
		return NULL;
	c->cq = c->p->a.rcq;
	c->in = t_buf(&c->p->a, PAGE_SIZE);
	c->out = t_buf(&c->p->b, PAGE_SIZE);
	return c->in && c->out ? c : NULL;
}

bool cqt_send(struct cqt *c, u32 flags)
{
	unsigned int n = ++c->sent;

	return EXPECT_STATUS(c->t, t_post_receive(&c->p->a, n, c->in, 0, CQT_LEN), 0) &&
	       EXPECT_STATUS(c->t, t_post_send(&c->p->b, n, c->out, 0, CQT_LEN, flags), 0) &&
	       t_take_ok(&c->p->b, c->p->b.icq, n, NDK_OPERATION_SEND);
}

bool cqt_deliver(struct cqt *c, u32 flags)
{
	return cqt_send(c, flags) && t_arrived(&c->p->b);
}

bool cqt_notified(struct cqt *c)
{
	if (!wait_for_completion_timeout(&c->cq->notified, t_ticks(5))) {
		t_fail(c->t, "no notification");
		return false;
	}
	return EXPECT_STATUS(c->t, c->cq->status, 0);
}

bool cqt_quiet(struct cqt *c)
{
	if (!wait_for_completion_timeout(&c->cq->notified, msecs_to_jiffies(40)))
		return true;
	t_fail(c->t, "a notification that nobody armed for");
	return false;
}

bool cqt_unsolicited(struct cqt *c)
{
	return world.iwarp || cqt_quiet(c);
}

void cqt_empty(struct cqt *c)
{
	struct ndk_result_ex r[8];

	while (ndk_get_cq_results_ex(c->cq->cq, r, ARRAY_SIZE(r)))
		;
}

bool cqt_second(struct t_pair *p, struct t_end *a2, struct t_end *b2)
{
	t_end_copy(a2, &p->a);
	t_end_copy(b2, &p->b);
	a2->connector = NULL;
	b2->connector = NULL;
	return t_end_qp(a2) && t_end_qp(b2) && t_establish(a2, p->listener, b2);
}

struct cqt *cqt_tiny(struct t *t, u32 depth)
{
	const struct t_cfg cfg = { .depth = CQT_FLOOD, .cq_depth = 2 * CQT_FLOOD, .sge = 1 };
	struct cqt *c = t_alloc(t, sizeof(*c));
	struct t_pair *p = t_pair_unconnected(t, &cfg);

	if (!p)
		return NULL;
	c->t = t;
	c->p = p;
	t_close(t, &p->a.qp->header);
	c->cq = t_cq(&p->a, depth);
	if (!c->cq)
		return NULL;
	p->a.rcq = c->cq;
	if (!t_end_qp(&p->a) || !t_establish(&p->a, p->listener, &p->b))
		return NULL;
	c->in = t_buf(&p->a, CQT_LEN);
	c->out = t_buf(&p->b, CQT_LEN);
	return c->in && c->out ? c : NULL;
}

bool cqt_flood_receives(struct cqt *c)
{
	int i;

	for (i = 0; i < CQT_FLOOD; i++)
		if (!EXPECT_STATUS(c->t, t_post_receive(&c->p->a, i, c->in, 0, CQT_LEN), 0))
			return false;
	return true;
}

void cqt_flood(struct cqt *c)
{
	int i;

	for (i = 0; i < CQT_FLOOD; i++)
		t_post_send(&c->p->b, i, c->out, 0, CQT_LEN, 0);
}
