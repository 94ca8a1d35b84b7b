/* SPDX-License-Identifier: GPL-2.0 */
/* A connection whose queues are filled, and buffers at both ends. */
#ifndef QUEUES_H
#define QUEUES_H

#include "ndk_test.h"

#define LEN 64

struct qt {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct t_buf *abuf, *bbuf;
};

static inline struct qt *qt_setup(struct t *t, const struct t_cfg *cfg, bool connected)
{
	struct qt *q = t_alloc(t, sizeof(*q));

	q->t = t;
	q->p = connected ? t_pair(t, cfg) : t_pair_unconnected(t, cfg);
	if (!q->p)
		return NULL;
	q->a = &q->p->a;
	q->b = &q->p->b;
	q->abuf = t_buf(q->a, SZ_64K);
	q->bbuf = t_buf(q->b, SZ_64K);
	return q->abuf && q->bbuf ? q : NULL;
}

#endif
