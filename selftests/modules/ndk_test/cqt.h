/* SPDX-License-Identifier: GPL-2.0 */
/* A connection one CQ of which is watched: that of end a's receives. */
#ifndef _NDK_TEST_CQT_H
#define _NDK_TEST_CQT_H

#include "ndk_test.h"

#define CQT_LEN 64

struct cqt {
	struct t *t;
	struct t_pair *p;
	struct t_cq *cq;
	struct t_buf *in, *out;
	unsigned int sent;
};

struct cqt *cqt_setup(struct t *t, const struct t_cfg *cfg);
/* When it returns, the message is on its way to its receive at a. */
bool cqt_send(struct cqt *c, u32 flags);
/* When it returns, the receive has completed at a: rxe acknowledges after it placed the completion. */
bool cqt_deliver(struct cqt *c, u32 flags);
/* The CQ notifies, with success. */
bool cqt_notified(struct cqt *c);
/* It does not, for 40 ms. */
bool cqt_quiet(struct cqt *c);
/* Nothing solicited came, as far as the device can tell: on siw all that comes answers an arm for that. */
bool cqt_unsolicited(struct cqt *c);
/* Takes all results. */
void cqt_empty(struct cqt *c);
/* A second connection between the same two ends, on the CQs of the first. */
bool cqt_second(struct t_pair *p, struct t_end *a2, struct t_end *b2);

/* More than any rounding up of a small CQ, or room in it for a provider's own, can hold. */
#define CQT_FLOOD 1200

/* The same as cqt_setup(), with a CQ that was asked for with so many entries, and room for a flood in all else. */
struct cqt *cqt_tiny(struct t *t, u32 depth);
/* Posts the receives of a flood, and sends it. */
bool cqt_flood_receives(struct cqt *c);
void cqt_flood(struct cqt *c);

#endif /* _NDK_TEST_CQT_H */
