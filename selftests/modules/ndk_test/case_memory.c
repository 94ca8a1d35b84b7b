// SPDX-License-Identifier: GPL-2.0
/* Registered memory: the rights it gives, to whom, and until when. */

#include <linux/mm.h>

#include "ndk_test.h"

#define SIZE SZ_8K
#define RD NDK_MR_FLAG_ALLOW_REMOTE_READ
#define WR NDK_MR_FLAG_ALLOW_REMOTE_WRITE

struct mt {
	struct t *t;
	struct t_pair *p;
	struct t_end *a, *b;
	struct t_buf *buf;
	struct t_region *sink;
};

/* End a reaches for the memory of end b. */
static struct mt *setup(struct t *t)
{
	struct mt *m = t_alloc(t, sizeof(*m));

	m->t = t;
	m->p = t_pair(t, NULL);
	if (!m->p)
		return NULL;
	m->a = &m->p->a;
	m->b = &m->p->b;
	m->buf = t_buf(m->a, SIZE);
	m->sink = t_region(m->a, SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	return m->buf && m->sink ? m : NULL;
}

static int post_read(struct mt *m, u64 remote, u32 token, u32 length)
{
	struct ndk_sge sge = { .virtual_address = m->sink->base, .length = length, .token = m->sink->local };

	return ndk_read(m->a->qp, CTX(1), &sge, 1, remote, token, 0);
}

static bool reads(struct mt *m, struct t_region *r, u32 seed)
{
	t_fill(r->va, SIZE, seed);
	memset(m->sink->va, 0, SIZE);
	return EXPECT_STATUS(m->t, post_read(m, r->base, r->remote, SIZE), 0) &&
	       t_take_ok(m->a, m->a->icq, 1, NDK_OPERATION_READ) &&
	       t_check_fill(m->t, m->sink->va, SIZE, seed, "read");
}

static bool writes(struct mt *m, struct t_region *r, u32 seed)
{
	t_fill(m->buf->va, SIZE, seed);
	return EXPECT_STATUS(m->t, t_post_write(m->a, 2, m->buf, 0, SIZE, r->base, r->remote, 0), 0) &&
	       t_take_ok(m->a, m->a->icq, 2, NDK_OPERATION_WRITE) &&
	       t_ping(m->a, m->b) && t_check_fill(m->t, r->va, SIZE, seed, "written");
}

/* The request was posted; the peer's adapter refuses it, and both ends lose the connection. */
static void refused_by_the_peer(struct mt *m, unsigned long ctx, u32 type)
{
	t_refused(m->a, m->a->icq, ctx, type);
	t_wait_gone(m->a);
	t_wait_gone(m->b);
}

static void write_is_refused(struct mt *m, struct t_region *r, u64 remote, u32 token, u32 length)
{
	memset(r->va, 0xee, r->size);
	memset(m->buf->va, 0x11, SIZE);
	EXPECT_STATUS(m->t, t_post_write(m->a, 2, m->buf, 0, length, remote, token, 0), 0);
	refused_by_the_peer(m, 2, NDK_OPERATION_WRITE);
	t_check_byte(m->t, r->va, r->size, 0xee, "memory that was not to be written to");
}

static void read_is_refused(struct mt *m, u64 remote, u32 token, u32 length)
{
	memset(m->sink->va, 0xee, SIZE);
	EXPECT_STATUS(m->t, post_read(m, remote, token, length), 0);
	refused_by_the_peer(m, 1, NDK_OPERATION_READ);
}

/* --- rights --------------------------------------------------------------- */

/* Proves: REGISTER_MR.ok, GET_REMOTE_TOKEN_FROM_MR.ok, READ.ok, WRITE.ok */
static void read_and_write(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD | WR);
	if (r && reads(m, r, 1) && writes(m, r, 2))
		reads(m, r, 3);
}

/* Proves: REGISTER_MR.ok, 7.2-bad-remote, 7.2-error-ends */
static void read_only(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD);
	if (r && reads(m, r, 1))
		write_is_refused(m, r, r->base, r->remote, 64);
}

/* Proves: REGISTER_MR.ok, 7.2-bad-remote, 7.2-error-ends */
static void write_only(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, WR);
	if (r && writes(m, r, 1))
		read_is_refused(m, r->base, r->remote, 64);
}

/* Proves: 7.2-bad-remote */
static void local_only(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	if (!r)
		return;
	if (t->arg)
		write_is_refused(m, r, r->base, r->remote, 64);
	else
		read_is_refused(m, r->base, r->remote, 64);
}

/* The token that serves a LAM gives a peer nothing. */
/* Proves: GET_PRIVILEGED_MEMORY_REGION_TOKEN.ok, 7.7-privileged */
static void privileged_token_is_local(struct t *t)
{
	struct mt *m = setup(t);
	struct t_buf *buf;
	u32 token;

	if (!m)
		return;
	buf = t_buf(m->b, PAGE_SIZE);
	if (!buf)
		return;
	token = ndk_get_privileged_token(m->b->pd);
	memset(buf->va, 0xee, PAGE_SIZE);
	memset(m->buf->va, 0x11, 64);
	EXPECT_STATUS(t, t_post_write(m->a, 2, m->buf, 0, 64, buf->lam->pages[0], token, 0), 0);
	refused_by_the_peer(m, 2, NDK_OPERATION_WRITE);
	t_check_byte(t, buf->va, PAGE_SIZE, 0xee, "memory behind the privileged token");
}

/* A region that may not be written to locally takes no receive. */
/* Proves: REGISTER_MR.ok, 7.2-error-ends */
static void receive_needs_local_write(struct t *t)
{
	struct mt *m = setup(t);
	struct ndk_result_ex r;
	struct t_region *region;
	struct ndk_sge sge;
	int rc;

	if (!m)
		return;
	region = t_region(m->b, PAGE_SIZE, RD);
	if (!region)
		return;
	memset(region->va, 0xee, PAGE_SIZE);
	sge = (struct ndk_sge) { .virtual_address = region->base, .length = 64, .token = region->local };
	rc = ndk_receive(m->b->qp, CTX(5), &sge, 1);
	if (!rc) {
		EXPECT_STATUS(t, t_post_send(m->a, 6, m->buf, 0, 64, 0), 0);
		/* Some devices say no more than that the request was not in order, or that something failed. */
		if (t_take(m->b->rcq, &r) && r.status != -EBADRQC && r.status != -EIO)
			EXPECT_STATUS(t, r.status, -EACCES);
		t_wait_gone(m->b);
	} else {
		EXPECT_STATUS(t, rc, -EACCES);
	}
	t_check_byte(t, region->va, PAGE_SIZE, 0xee, "memory that may not be written to");
}

/* --- bounds --------------------------------------------------------------- */

/* Proves: REGISTER_MR.ok */
static void in_bounds(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE - 100, RD | WR);
	if (!r)
		return;
	/* First and last byte. */
	EXPECT_STATUS(t, post_read(m, r->base, r->remote, 1), 0);
	t_take_ok(m->a, m->a->icq, 1, NDK_OPERATION_READ);
	EXPECT_STATUS(t, post_read(m, r->base + SIZE - 101, r->remote, 1), 0);
	t_take_ok(m->a, m->a->icq, 1, NDK_OPERATION_READ);
	EXPECT_STATUS(t, post_read(m, r->base, r->remote, SIZE - 100), 0);
	t_take_ok(m->a, m->a->icq, 1, NDK_OPERATION_READ);
}

enum bound { READ_BEHIND, READ_BEFORE, WRITE_BEHIND, WRITE_BEFORE, READ_WRAPS, WRITE_WRAPS, READ_ACROSS };

/* Proves: 7.2-bad-remote, 7.2-error-ends */
/* Bug: B46 */
static void out_of_bounds(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;
	u64 end;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD | WR);
	if (!r)
		return;
	end = r->base + SIZE;
	switch (t->arg) {
	case READ_BEHIND:
		read_is_refused(m, end, r->remote, 1);
		break;
	case READ_BEFORE:
		read_is_refused(m, r->base - 1, r->remote, 1);
		break;
	case READ_ACROSS:
		read_is_refused(m, end - 63, r->remote, 64);
		break;
	case READ_WRAPS:
		read_is_refused(m, U64_MAX - 15, r->remote, 64);
		break;
	case WRITE_BEHIND:
		write_is_refused(m, r, end - 63, r->remote, 64);
		break;
	case WRITE_BEFORE:
		write_is_refused(m, r, r->base - 1, r->remote, 64);
		break;
	case WRITE_WRAPS:
		write_is_refused(m, r, U64_MAX - 15, r->remote, 64);
		break;
	}
}

/* --- tokens --------------------------------------------------------------- */

/* Proves: DEREGISTER_MR.ok, 7.2-bad-remote */
/* Bug: B67 */
static void stale_token(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD | WR);
	if (!r || !reads(m, r, 1) || !EXPECT_STATUS(t, t_deregister(m->b, r), 0))
		return;
	if (t->arg)
		write_is_refused(m, r, r->base, r->remote, 64);
	else
		read_is_refused(m, r->base, r->remote, 64);
}

/* Proves: 3.1-MR, 7.2-bad-remote, 12-mr-implicit */
/* Bug: B123 */
static void token_of_a_closed_mr(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD | WR);
	if (!r || !reads(m, r, 1))
		return;
	t_close(t, &r->mr->header);
	write_is_refused(m, r, r->base, r->remote, 64);
}

/* Proves: 7.2-bad-remote */
static void made_up_token(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD | WR);
	if (r)
		write_is_refused(m, r, r->base, r->remote ^ 0x1, 64);
}

/* The token is of another connection's PD. */
/* Proves: 7.2-bad-remote */
static void token_of_another_pd(struct t *t)
{
	struct mt *m = setup(t);
	struct t_end *other = t_alloc(t, sizeof(*other));
	struct t_region *r;

	if (!m || !t_end_init(t, other, SIDE_B, NULL))
		return;
	r = t_region(other, SIZE, RD | WR);
	if (r)
		write_is_refused(m, r, r->base, r->remote, 64);
}

/* Proves: REGISTER_MR.ok, DEREGISTER_MR.ok, 7.7-mr-again */
static void registered_again(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;
	u32 last = 0;
	int i;

	if (!m)
		return;
	r = t_memory(m->b, SIZE);
	if (!r)
		return;
	for (i = 0; i < 6; i++) {
		if (!EXPECT_STATUS(t, t_register(m->b, r, RD | WR), 0) || !reads(m, r, i))
			return;
		/* Or an old token would be good again. */
		EXPECT(t, r->remote != last);
		last = r->remote;
		if (!EXPECT_STATUS(t, t_deregister(m->b, r), 0))
			return;
	}
}

/* One buffer, several MRs, each with rights of its own. */
/* Proves: REGISTER_MR.ok */
static void one_buffer_twice(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r, *again;

	if (!m)
		return;
	r = t_region(m->b, SIZE, RD);
	again = t_memory(m->b, PAGE_SIZE);
	if (!r || !again)
		return;
	again->va = r->va;
	again->base = r->base;
	again->sg = r->sg;
	again->size = SIZE;
	if (!EXPECT_STATUS(t, t_register(m->b, again, WR), 0))
		return;
	EXPECT(t, again->remote != r->remote);
	if (writes(m, again, 1) && reads(m, r, 2))
		write_is_refused(m, r, r->base, r->remote, 64);
}

/* --- names and shapes ----------------------------------------------------- */

/* The address is a name only: any that has the right offset does. */
/* Proves: REGISTER_MR.ok, 7.7-name-only */
static void any_address(struct t *t)
{
	static const u64 names[] = { 0, SZ_4K, 0x123456789000, U64_MAX - SZ_64K + 1 };
	struct mt *m = setup(t);
	struct t_region *r;
	int i;

	if (!m)
		return;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		r = t_memory(m->b, SIZE);
		if (!r)
			return;
		r->base = names[i];
		if (!EXPECT_STATUS(t, t_register(m->b, r, RD | WR), 0) || !reads(m, r, i) || !writes(m, r, i + 9))
			return;
	}
}

/* Begins and ends within a page, and lies in pages that are not neighbours. */
/* Proves: REGISTER_MR.ok */
/* Bug: B85, B100, K17 */
static void scattered_pages(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;
	struct ndk_sge sge;
	u8 *pages[3], *want;
	size_t length = PAGE_SIZE - 300 + PAGE_SIZE + 1000;
	int i;

	if (!m)
		return;
	r = t_memory(m->b, PAGE_SIZE);
	if (!r)
		return;
	for (i = 0; i < 3; i++)
		pages[i] = PTR_ALIGN((u8 *)t_alloc(t, 2 * PAGE_SIZE), PAGE_SIZE);
	r->sg = t_alloc(t, 3 * sizeof(*r->sg));
	r->nents = 3;
	sg_init_table(r->sg, 3);
	sg_set_buf(&r->sg[0], pages[2] + 300, PAGE_SIZE - 300);
	sg_set_buf(&r->sg[1], pages[0], PAGE_SIZE);
	sg_set_buf(&r->sg[2], pages[1], 1000);
	r->base = 0x7000000000 + 300;
	r->size = length;
	if (!EXPECT_STATUS(t, t_register(m->b, r, RD | WR), 0))
		return;
	want = t_alloc(t, length);
	t_fill(want, length, 4);
	memcpy(pages[2] + 300, want, PAGE_SIZE - 300);
	memcpy(pages[0], want + PAGE_SIZE - 300, PAGE_SIZE);
	memcpy(pages[1], want + 2 * PAGE_SIZE - 300, 1000);
	sge = (struct ndk_sge) { .virtual_address = m->sink->base, .length = SIZE, .token = m->sink->local };
	sge.length = min(length, SIZE);
	EXPECT_STATUS(t, ndk_read(m->a->qp, CTX(1), &sge, 1, r->base + length - sge.length, r->remote, 0), 0);
	t_take_ok(m->a, m->a->icq, 1, NDK_OPERATION_READ);
	EXPECT(t, !memcmp(m->sink->va, want + length - sge.length, sge.length));
}

/* Proves: REGISTER_MR.ok */
static void registers_a_prefix(struct t *t)
{
	struct mt *m = setup(t);
	struct t_region *r;

	if (!m)
		return;
	r = t_memory(m->b, SIZE);
	if (!r)
		return;
	r->size = PAGE_SIZE + 10;
	if (!EXPECT_STATUS(t, t_register(m->b, r, RD | WR), 0))
		return;
	EXPECT_STATUS(t, post_read(m, r->base + PAGE_SIZE, r->remote, 10), 0);
	t_take_ok(m->a, m->a->icq, 1, NDK_OPERATION_READ);
	read_is_refused(m, r->base + PAGE_SIZE, r->remote, 11);
}

/* Without a connection, and many at a time: the PD serves itself. */
/* Proves: REGISTER_MR.ok, DEREGISTER_MR.ok */
static void many_without_a_connection(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_region *r[24];
	struct t_await *w[24];
	int i, j;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = t_memory(e, PAGE_SIZE);
		if (!r[i])
			return;
	}
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		w[i] = t_await(t, "register MR");
		if (!t_pended(w[i], ndk_register_mr(r[i]->mr, r[i]->sg, 1, r[i]->base, r[i]->size, RD,
						    t_done, w[i])))
			return;
	}
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		EXPECT_STATUS(t, t_join(w[i]), 0);
		r[i]->remote = ndk_get_remote_token_from_mr(r[i]->mr);
		for (j = 0; j < i; j++)
			EXPECT(t, r[i]->remote != r[j]->remote);
	}
	/* Half are deregistered, half are closed as they are. */
	for (i = 0; i < ARRAY_SIZE(r); i += 2)
		EXPECT_STATUS(t, t_deregister(e, r[i]), 0);
}

/* Proves: REGISTER_MR.close-pending, 2.4-pending, 3.8, 3.9, 12-cancelled */
static void closed_while_registering(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_await *w, *closing;
	struct t_region *r;
	int i, status;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	for (i = 0; i < 10; i++) {
		r = t_memory(e, PAGE_SIZE);
		if (!r)
			return;
		w = t_await(t, "register MR");
		if (!t_pended(w, ndk_register_mr(r->mr, r->sg, 1, r->base, r->size, RD, t_done, w)))
			return;
		closing = t_close_start(t, &r->mr->header);
		t_join(closing);
		/* The close completes after the completion of what was pending. */
		if (!EXPECT(t, t_is_done(w)))
			return;
		status = t_join(w);
		if (status && status != -ECANCELED)
			t_fail(t, "register: %s", t_errname(status));
	}
}

static void close_in_register(struct t_await *w)
{
	w->arg = t_close_start(w->t, w->arg);
}

/* Proves: REQUEST_COMPLETION.close-pending, 3.4 */
static void closed_in_the_completion_of_register(struct t *t)
{
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_region *r;
	struct t_await *w;

	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	r = t_memory(e, PAGE_SIZE);
	if (!r)
		return;
	w = t_await(t, "register MR");
	w->then = close_in_register;
	w->arg = &r->mr->header;
	if (t_pended(w, ndk_register_mr(r->mr, r->sg, 1, r->base, r->size, RD, t_done, w)) && !t_join(w))
		t_join(w->arg);
}

static const struct t_case cases[] = {
	{ "remote_read_and_write", read_and_write },
	{ "read_right_alone_refuses_a_write", read_only },
	{ "write_right_alone_refuses_a_read", write_only },
	{ "no_remote_right_refuses_a_read", local_only, 0 },
	{ "no_remote_right_refuses_a_write", local_only, 1 }, /* Proves: 6.7-remote-write */
	{ "privileged_token_gives_the_peer_nothing", privileged_token_is_local },
	{ "receive_needs_the_right_to_write", receive_needs_local_write },
	{ "first_and_last_byte_are_in_bounds", in_bounds },
	{ "read_behind_the_end_is_refused", out_of_bounds, READ_BEHIND },
	{ "read_before_the_start_is_refused", out_of_bounds, READ_BEFORE },
	{ "read_across_the_end_is_refused", out_of_bounds, READ_ACROSS },
	{ "read_that_wraps_is_refused", out_of_bounds, READ_WRAPS },
	{ "write_across_the_end_is_refused", out_of_bounds, WRITE_BEHIND },
	{ "write_across_the_start_is_refused", out_of_bounds, WRITE_BEFORE },
	{ "write_that_wraps_is_refused", out_of_bounds, WRITE_WRAPS },
	{ "stale_token_refuses_a_read", stale_token, 0 },
	{ "stale_token_refuses_a_write", stale_token, 1 },
	{ "token_of_a_closed_mr_is_refused", token_of_a_closed_mr },
	{ "made_up_token_is_refused", made_up_token },
	{ "token_of_another_pd_is_refused", token_of_another_pd },
	{ "registered_again_has_another_token", registered_again },
	{ "one_buffer_in_two_mrs", one_buffer_twice },
	{ "address_is_only_a_name", any_address },
	{ "pages_that_are_no_neighbours", scattered_pages },
	{ "shorter_than_the_buffer", registers_a_prefix },
	{ "many_at_a_time_without_a_connection", many_without_a_connection },
	{ "closed_while_registering", closed_while_registering },
	{ "closed_in_the_completion_of_register", closed_in_the_completion_of_register },
};

T_GROUP(memory, cases);
