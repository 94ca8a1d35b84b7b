// SPDX-License-Identifier: GPL-2.0
/* SRQs, and connections whose receives come from one. */

#include <linux/smp.h>

#include "ndk_test.h"

static void srq_notified(void *context, int status)
{
	struct t_srq *s = context;
	void (*then)(struct t_srq *s);

	t_context(s->t, "SRQ notification");
	if (atomic_inc_return(&s->inside) > 1)
		t_fail(s->t, "two notifications of one SRQ at a time");
	s->status = status;
	s->cpu = smp_processor_id();
	atomic_inc(&s->calls);
	then = READ_ONCE(s->then);
	if (then)
		then(s);
	atomic_dec(&s->inside);
	complete(&s->notified);
}

int t_srq_call(struct t_srq *s, u32 depth, u32 sge, u32 threshold, int cpu, struct t_await *w, void **out)
{
	return ndk_create_srq(s->e->pd, depth, sge, threshold, srq_notified, s, cpu, t_created, w,
			      (struct ndk_srq **)out);
}

struct t_srq *t_srq(struct t_end *e, u32 depth, u32 threshold)
{
	struct t_srq *s = t_alloc(e->t, sizeof(*s));
	struct t_await *w = t_await(e->t, "create SRQ");
	struct ndk_object_header *h;
	void *out = t_poison();
	int status;

	s->t = e->t;
	s->e = e;
	s->cpu = -1;
	init_completion(&s->notified);
	h = t_create_end(e, KIND_SRQ, w, t_srq_call(s, depth, e->cfg.sge, threshold, -1, w, &out), &out, &status);
	if (!h) {
		t_fail(e->t, "create SRQ: %s", t_errname(status));
		return NULL;
	}
	s->srq = container_of(h, struct ndk_srq, header);
	return s;
}

u32 t_srq_start(u32 depth, u32 most)
{
	return world.iwarp ? most : depth;
}

int t_srq_modify(struct t_srq *s, u32 depth, u32 threshold)
{
	struct t_await *w = t_await(s->t, "modify SRQ");

	return t_wait(w, ndk_modify_srq(s->srq, depth, threshold, t_done, w));
}

bool t_srq_low(struct t_srq *s)
{
	if (!wait_for_completion_timeout(&s->notified, t_ticks(10))) {
		t_fail(s->t, "the SRQ does not notify");
		return false;
	}
	return EXPECT_STATUS(s->t, s->status, 0);
}

bool t_srq_silent(struct t_srq *s, unsigned int ms)
{
	t_sleep(ms);
	if (!try_wait_for_completion(&s->notified))
		return true;
	t_fail(s->t, "the SRQ notifies, with %s", t_errname(s->status));
	return false;
}

/* --- connections that share one ------------------------------------------- */

static bool more_cqs(struct t_end *e)
{
	init_completion(&e->gone_done);
	e->rcq = t_cq(e, e->cfg.cq_depth);
	e->icq = t_cq(e, e->cfg.cq_depth);
	return e->rcq && e->icq;
}

struct t_shared *t_shared_unconnected(struct t *t, unsigned int nr, u32 depth, u32 threshold)
{
	struct t_shared *s = t_alloc(t, sizeof(*s));
	unsigned int i;

	s->t = t;
	s->nr = nr;
	for (i = 0; i < nr; i++) {
		if (!t_end_init(t, &s->a[i], SIDE_A, NULL) || !t_end_qp(&s->a[i]))
			return NULL;
		s->out[i] = t_buf(&s->a[i], T_MESSAGE);
		if (!s->out[i])
			return NULL;
	}
	if (!t_end_init(t, &s->b[0], SIDE_B, NULL))
		return NULL;
	s->in = t_buf(&s->b[0], T_PLACES * T_MESSAGE);
	s->srq = t_srq(&s->b[0], depth, threshold);
	if (!s->in || !s->srq)
		return NULL;
	s->b[0].srq = s->srq->srq;
	for (i = 0; i < nr; i++) {
		if (i) {
			s->b[i] = s->b[0];
			s->b[i].qp = NULL;
			if (!more_cqs(&s->b[i]))
				return NULL;
		}
		if (!t_end_qp(&s->b[i]))
			return NULL;
	}
	s->listener = t_listening(&s->b[0], AF_INET, 0);
	return s->listener ? s : NULL;
}

bool t_shared_connect(struct t_shared *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (!t_establish(&s->a[i], s->listener, &s->b[i]))
			return false;
	return true;
}

struct t_shared *t_shared(struct t *t, unsigned int nr, u32 depth, u32 threshold)
{
	struct t_shared *s = t_shared_unconnected(t, nr, depth, threshold);

	return s && t_shared_connect(s) ? s : NULL;
}

int t_shared_post(struct t_shared *s, unsigned long ctx)
{
	return t_post_srq(s->srq, ctx, s->in, ctx % T_PLACES * T_MESSAGE, T_MESSAGE);
}

bool t_shared_fill(struct t_shared *s, unsigned long first, unsigned int nr)
{
	while (nr--)
		if (!EXPECT_STATUS(s->t, t_shared_post(s, first++), 0))
			return false;
	return true;
}

bool t_shared_send(struct t_shared *s, unsigned int i, unsigned long ctx)
{
	t_fill(s->out[i]->va, T_MESSAGE, ctx);
	return EXPECT_STATUS(s->t, t_post_send(&s->a[i], ctx, s->out[i], 0, T_MESSAGE, 0), 0) &&
	       t_take_ok(&s->a[i], s->a[i].icq, ctx, NDK_OPERATION_SEND);
}

bool t_shared_got(struct t_shared *s, unsigned int i, unsigned long receive, unsigned long sent)
{
	return t_take_ok(&s->b[i], s->b[i].rcq, receive, NDK_OPERATION_RECEIVE) &&
	       t_check_fill(s->t, s->in->va + receive % T_PLACES * T_MESSAGE, T_MESSAGE, sent, "received");
}

bool t_shared_still_there(struct t_shared *s, unsigned int i, unsigned long first, unsigned int nr)
{
	for (; nr--; first++)
		if (!t_shared_send(s, i, first) || !t_shared_got(s, i, first, first))
			return false;
	return true;
}
