// SPDX-License-Identifier: GPL-2.0
/* Buffers, requests and their results. */

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ndk_test.h"

/* --- buffers -------------------------------------------------------------- */

/* Mapped for the adapter with a LAM, to be used with the privileged token. */
struct t_buf *t_buf(struct t_end *e, size_t size)
{
	struct t_buf *buf = t_alloc(e->t, sizeof(*buf));
	struct ndk_lam *lam;
	int rc;

	buf->adapter = e->adapter;
	buf->size = PAGE_ALIGN(size ?: 1);
	buf->va = alloc_pages_exact(buf->size, GFP_KERNEL | __GFP_ZERO);
	if (!buf->va) {
		t_fail(e->t, "no memory for a buffer of %zu", size);
		return NULL;
	}
	list_add(&buf->list, &e->t->bufs);
	sg_init_one(&buf->sg, buf->va, buf->size);
	rc = ndk_build_lam(e->adapter, &buf->sg, 1, buf->size, NULL, NULL, NULL, &buf->lam_size, &buf->fbo);
	if (!EXPECT_STATUS(e->t, rc, -ENOSPC))
		return NULL;
	lam = t_alloc(e->t, buf->lam_size);
	rc = ndk_build_lam(e->adapter, &buf->sg, 1, buf->size, NULL, NULL, lam, &buf->lam_size, &buf->fbo);
	if (!EXPECT_STATUS(e->t, rc, 0))
		return NULL;
	buf->lam = lam;
	buf->token = ndk_get_privileged_token(e->pd);
	return buf;
}

u32 t_sges(struct t_buf *buf, size_t offset, size_t length, struct ndk_sge *sge, u32 max)
{
	u32 n = 0;

	while (length) {
		size_t at = buf->fbo + offset;
		size_t part = min(length, PAGE_SIZE - at % PAGE_SIZE);
		u64 address = buf->lam->pages[at / PAGE_SIZE] + at % PAGE_SIZE;

		if (n && sge[n - 1].logical_address + sge[n - 1].length == address) {
			sge[n - 1].length += part;
		} else {
			if (n == max)
				return 0;
			sge[n].logical_address = address;
			sge[n].length = part;
			sge[n].token = buf->token;
			n++;
		}
		offset += part;
		length -= part;
	}
	return n;
}

static u8 pattern(size_t i, u32 seed)
{
	return (i * 7 + (i >> 8) + seed * 31) & 0xff;
}

void t_fill(void *p, size_t length, u32 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		((u8 *)p)[i] = pattern(i, seed);
}

bool t_check_fill(struct t *t, const void *p, size_t length, u32 seed, const char *what)
{
	const u8 *bytes = p;
	size_t i;

	for (i = 0; i < length; i++) {
		if (bytes[i] != pattern(i, seed)) {
			t_fail(t, "%s: byte %zu of %zu is %02x, should be %02x", what, i, length,
			       bytes[i], pattern(i, seed));
			return false;
		}
	}
	return true;
}

bool t_check_byte(struct t *t, const void *p, size_t length, u8 byte, const char *what)
{
	const u8 *wrong = memchr_inv(p, byte, length);

	if (!wrong)
		return true;
	t_fail(t, "%s: byte %td of %zu is %02x, should be %02x", what, wrong - (const u8 *)p, length,
	       *wrong, byte);
	return false;
}

/* --- requests ------------------------------------------------------------- */

#define SGES 16

int t_post_send(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length, u32 flags)
{
	struct ndk_sge sge[SGES];
	u32 n = buf ? t_sges(buf, offset, length, sge, SGES) : 0;

	return ndk_send(e->qp, CTX(ctx), sge, n, flags);
}

int t_post_receive(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length)
{
	struct ndk_sge sge[SGES];
	u32 n = buf ? t_sges(buf, offset, length, sge, SGES) : 0;

	return ndk_receive(e->qp, CTX(ctx), sge, n);
}

int t_post_srq(struct t_srq *s, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length)
{
	struct ndk_sge sge[SGES];
	u32 n = buf ? t_sges(buf, offset, length, sge, SGES) : 0;

	return ndk_srq_receive(s->srq, CTX(ctx), sge, n);
}

int t_post_write(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length,
		 u64 remote, u32 token, u32 flags)
{
	struct ndk_sge sge[SGES];
	u32 n = t_sges(buf, offset, length, sge, SGES);

	return ndk_write(e->qp, CTX(ctx), sge, n, remote, token, flags);
}

int t_post_read(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length,
		u64 remote, u32 token, u32 flags)
{
	struct ndk_sge sge[SGES];
	u32 n = t_sges(buf, offset, length, sge, SGES);

	return ndk_read(e->qp, CTX(ctx), sge, n, remote, token, flags);
}

/* --- results -------------------------------------------------------------- */

static bool take(struct t_cq *cq, struct ndk_result_ex *r, unsigned long ticks)
{
	unsigned long end = jiffies + ticks;

	for (;;) {
		if (ndk_get_cq_results_ex(cq->cq, r, 1))
			return true;
		reinit_completion(&cq->notified);
		ndk_arm_cq(cq->cq, NDK_CQ_NOTIFY_ANY);
		/* Whatever came before the arm and after the last notification answers it. */
		if (time_after(jiffies, end))
			return ndk_get_cq_results_ex(cq->cq, r, 1);
		if (!wait_for_completion_timeout(&cq->notified, max(1L, (long)(end - jiffies))) &&
		    ndk_get_cq_results_ex(cq->cq, r, 1)) {
			/* It may have come in this very moment. */
			if (!wait_for_completion_timeout(&cq->notified, t_ticks(2)))
				t_fail(cq->t, "a result is there, and the arm was not answered");
			return true;
		}
	}
}

bool t_take(struct t_cq *cq, struct ndk_result_ex *r)
{
	if (take(cq, r, t_ticks(10)))
		return true;
	t_fail(cq->t, "no result");
	return false;
}

bool t_try_take(struct t_cq *cq, struct ndk_result_ex *r, unsigned int ms)
{
	return take(cq, r, msecs_to_jiffies(ms));
}

bool t_no_result(struct t_cq *cq, unsigned int ms)
{
	struct ndk_result_ex r;

	t_sleep(ms);
	return !ndk_get_cq_results_ex(cq->cq, &r, 1);
}

bool t_take_status(struct t_end *e, struct t_cq *cq, unsigned long ctx, u32 type, int status)
{
	struct ndk_result_ex r;

	if (!t_take(cq, &r))
		return false;
	if (r.status != status) {
		t_fail(e->t, "request %lu (%lu expected): %s, should be %s (provider's code %x)",
		       (unsigned long)r.request_context, ctx, t_errname(r.status), t_errname(status),
		       r.provider_error_code);
		return false;
	}
	if (!status && r.provider_error_code)
		t_fail(e->t, "request %lu: success with code %x", ctx, r.provider_error_code);
	return EXPECT_EQ(e->t, (long)r.request_context, ctx) && EXPECT(e->t, r.qp_context == e) &&
	       EXPECT_EQ(e->t, r.type, type);
}

bool t_take_ok(struct t_end *e, struct t_cq *cq, unsigned long ctx, u32 type)
{
	return t_take_status(e, cq, ctx, type, 0);
}

bool t_take_ok_now(struct t_end *e, struct t_cq *cq, unsigned long ctx)
{
	struct ndk_result_ex r;

	return EXPECT_EQ(e->t, ndk_get_cq_results_ex(cq->cq, &r, 1), 1) && EXPECT_STATUS(e->t, r.status, 0) &&
	       EXPECT_EQ(e->t, (long)r.request_context, ctx);
}

bool t_drain(struct t_cq *cq, unsigned int nr, int status)
{
	struct ndk_result_ex r;
	bool same = true;

	while (nr--) {
		if (!t_take(cq, &r))
			return false;
		if (r.status != status) {
			t_fail(cq->t, "request %lu: %s, should be %s", (unsigned long)r.request_context,
			       t_errname(r.status), t_errname(status));
			same = false;
		}
	}
	return same;
}

bool t_arrived(struct t_end *e)
{
	return !world.iwarp || (EXPECT_STATUS(e->t, ndk_read(e->qp, CTX(9003), NULL, 0, 0, 0, 0), 0) &&
				t_take_ok(e, e->icq, 9003, NDK_OPERATION_READ));
}

bool t_refused(struct t_end *e, struct t_cq *cq, unsigned long ctx, u32 type)
{
	struct ndk_result_ex r;

	if (!world.iwarp)
		return t_take_status(e, cq, ctx, type, -EREMOTEIO);
	return t_take(cq, &r) && EXPECT_EQ(e->t, (long)r.request_context, ctx) && EXPECT(e->t, r.qp_context == e) &&
	       EXPECT_EQ(e->t, r.type, type) && EXPECT(e->t, r.status || type != NDK_OPERATION_READ);
}

bool t_ping(struct t_end *from, struct t_end *to)
{
	struct t_buf *out = t_buf(from, 256), *in = t_buf(to, 256);

	if (!out || !in)
		return false;
	t_fill(out->va, 256, 77);
	if (!EXPECT_STATUS(to->t, t_post_receive(to, 9001, in, 0, 256), 0) ||
	    !EXPECT_STATUS(from->t, t_post_send(from, 9002, out, 0, 256, 0), 0))
		return false;
	return t_take_ok(to, to->rcq, 9001, NDK_OPERATION_RECEIVE) &&
	       t_take_ok(from, from->icq, 9002, NDK_OPERATION_SEND) &&
	       t_check_fill(to->t, in->va, 256, 77, "ping");
}

/* --- registered memory ---------------------------------------------------- */

struct t_region *t_memory(struct t_end *e, size_t size)
{
	struct t_region *r = t_alloc(e->t, sizeof(*r));
	struct ndk_object_header *h;

	/* Memory of the case: not freed before everything is closed. */
	r->va = PTR_ALIGN((u8 *)t_alloc(e->t, size + PAGE_SIZE), PAGE_SIZE);
	r->size = size;
	r->sg = t_alloc(e->t, sizeof(*r->sg));
	r->nents = 1;
	sg_init_one(r->sg, r->va, size);
	r->base = (u64)(unsigned long)r->va;
	h = t_create(e, KIND_MR);
	if (!h)
		return NULL;
	r->mr = container_of(h, struct ndk_mr, header);
	return r;
}

int t_register(struct t_end *e, struct t_region *r, u32 flags)
{
	struct t_await *w = t_await(e->t, "register MR");
	int rc = t_wait(w, ndk_register_mr(r->mr, r->sg, r->nents, r->base, r->size, flags, t_done, w));

	if (!rc) {
		r->local = ndk_get_local_token_from_mr(r->mr);
		r->remote = ndk_get_remote_token_from_mr(r->mr);
	}
	return rc;
}

int t_deregister(struct t_end *e, struct t_region *r)
{
	struct t_await *w = t_await(e->t, "deregister MR");

	return t_wait(w, ndk_deregister_mr(r->mr, t_done, w));
}

struct t_region *t_region(struct t_end *e, size_t size, u32 flags)
{
	struct t_region *r = t_memory(e, size);

	if (!r || !EXPECT_STATUS(e->t, t_register(e, r, flags), 0))
		return NULL;
	return r;
}
