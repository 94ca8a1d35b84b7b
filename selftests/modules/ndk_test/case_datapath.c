// SPDX-License-Identifier: GPL-2.0
/* What is sent, read and written arrives, whatever its size and shape. */


#include "ndk_test.h"

/* --- send and receive ----------------------------------------------------- */

static void transfer(struct t_end *from, struct t_end *to, size_t size, u32 seed)
{
	struct t_buf *out = t_buf(from, size), *in = t_buf(to, size + 64);
	struct ndk_result_ex r;
	struct t *t = from->t;

	if (!out || !in)
		return;
	t_fill(out->va, size, seed);
	memset(in->va, 0xee, size + 64);
	if (!EXPECT_STATUS(t, t_post_receive(to, 1, in, 0, size + 64), 0) ||
	    !EXPECT_STATUS(t, t_post_send(from, 2, out, 0, size, 0), 0))
		return;
	if (!t_take(to->rcq, &r) || !EXPECT_STATUS(t, r.status, 0))
		return;
	EXPECT_EQ(t, r.bytes_transferred, size);
	EXPECT_EQ(t, r.type, NDK_OPERATION_RECEIVE);
	t_check_fill(t, in->va, size, seed, "received");
	t_check_byte(t, in->va + size, 64, 0xee, "behind the message");
	t_take_ok(from, from->icq, 2, NDK_OPERATION_SEND);
}

/* Proves: SEND.ok, RECEIVE.ok, 7.1-accepted */
/* Bug: B50 */
static void send_size(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);

	if (!p)
		return;
	transfer(&p->a, &p->b, t->arg, 1);
	transfer(&p->b, &p->a, t->arg, 2);
}

/* The receive is just as large as the message. */
/* Proves: SEND.ok, RECEIVE.ok */
static void exact_fit(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *out, *in;

	if (!p)
		return;
	out = t_buf(&p->a, 5000);
	in = t_buf(&p->b, 5000);
	if (!out || !in)
		return;
	t_fill(out->va, 5000, 3);
	EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, 5000), 0);
	EXPECT_STATUS(t, t_post_send(&p->a, 2, out, 0, 5000, 0), 0);
	t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_SEND);
	t_check_fill(t, in->va, 5000, 3, "received");
}

/* --- several pieces ------------------------------------------------------- */

/* Pieces of odd lengths that lie in the buffer in another order than in the message. */
static const struct { u16 offset, length; } out_pieces[] = {
	{ 3000, 7 }, { 0, 500 }, { 1024, 1 }, { 2000, 900 },
}, in_pieces[] = {
	{ 100, 64 }, { 1000, 1200 }, { 8, 3 }, { 3000, 500 },
};

/* Proves: SEND.ok, RECEIVE.ok */
static void gather_and_scatter(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_sge out_sge[4], in_sge[4];
	struct t_buf *out, *in;
	u8 *sent, *got;
	size_t n = 0, m = 0;
	int i;

	if (!p)
		return;
	out = t_buf(&p->a, PAGE_SIZE);
	in = t_buf(&p->b, PAGE_SIZE);
	if (!out || !in)
		return;
	sent = t_alloc(t, PAGE_SIZE);
	got = t_alloc(t, PAGE_SIZE);
	t_fill(out->va, PAGE_SIZE, 5);
	memset(in->va, 0xee, PAGE_SIZE);
	for (i = 0; i < 4; i++) {
		t_sges(out, out_pieces[i].offset, out_pieces[i].length, &out_sge[i], 1);
		t_sges(in, in_pieces[i].offset, in_pieces[i].length, &in_sge[i], 1);
		memcpy(sent + n, out->va + out_pieces[i].offset, out_pieces[i].length);
		n += out_pieces[i].length;
	}
	EXPECT_STATUS(t, ndk_receive(p->b.qp, CTX(1), in_sge, 4), 0);
	EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(2), out_sge, 4, 0), 0);
	/* The arrays are read during the call only. */
	memset(in_sge, 0xff, sizeof(in_sge));
	memset(out_sge, 0xff, sizeof(out_sge));
	t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_SEND);
	for (i = 0; i < 4; i++) {
		size_t part = min_t(size_t, in_pieces[i].length, n - m);

		memcpy(got + m, in->va + in_pieces[i].offset, part);
		m += part;
	}
	EXPECT_EQ(t, m, n);
	EXPECT(t, !memcmp(sent, got, n));
	EXPECT_EQ(t, in->va[in_pieces[3].offset + 500], 0xee);
	EXPECT_EQ(t, in->va[99], 0xee);
}

/* SGEs of a registered MR by its local token, beside those of a LAM. */
/* Proves: GET_PRIVILEGED_MEMORY_REGION_TOKEN.ok, GET_LOCAL_TOKEN_FROM_MR.ok, 6.2-privileged */
static void mr_and_lam_in_one_request(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_sge sge[2];
	struct t_region *out, *in;
	struct t_buf *lam, *in_lam;

	if (!p)
		return;
	out = t_region(&p->a, 2 * PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_READ);
	in = t_region(&p->b, 2 * PAGE_SIZE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
	lam = t_buf(&p->a, PAGE_SIZE);
	in_lam = t_buf(&p->b, PAGE_SIZE);
	if (!out || !in || !lam || !in_lam)
		return;
	t_fill(out->va + 200, PAGE_SIZE, 6);
	t_fill(lam->va, 300, 7);
	sge[0] = (struct ndk_sge) { .virtual_address = in->base + 50, .length = PAGE_SIZE, .token = in->local };
	t_sges(in_lam, 10, 300, &sge[1], 1);
	EXPECT_STATUS(t, ndk_receive(p->b.qp, CTX(1), sge, 2), 0);
	sge[0] = (struct ndk_sge) { .virtual_address = out->base + 200, .length = PAGE_SIZE, .token = out->local };
	t_sges(lam, 0, 300, &sge[1], 1);
	EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(2), sge, 2, 0), 0);
	t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_SEND);
	t_check_fill(t, in->va + 50, PAGE_SIZE, 6, "received into the MR");
	t_check_fill(t, in_lam->va + 10, 300, 7, "received into the LAM");
}

/* --- read and write ------------------------------------------------------- */

#define REMOTE (NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE)

/* So much, or what can be registered with room around it. */
static size_t as_large(struct t_pair *p, size_t size)
{
	return min(size, t_info(p->a.t, p->a.adapter).max_registration_size - PAGE_SIZE);
}

/* Proves: WRITE.ok */
/* Bug: B50 */
static void write_size(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *r;
	struct t_buf *out;
	size_t size, room;

	if (!p)
		return;
	size = as_large(p, t->arg);
	room = max(size, 1UL) + 128;
	r = t_region(&p->b, room, REMOTE);
	out = t_buf(&p->a, size);
	if (!r || !out)
		return;
	t_fill(out->va, size, 8);
	memset(r->va, 0xee, room);
	EXPECT_STATUS(t, t_post_write(&p->a, 3, out, 0, size, r->base + 64, r->remote, 0), 0);
	t_take_ok(&p->a, p->a.icq, 3, NDK_OPERATION_WRITE);
	if (world.iwarp)
		/* The success of a write means less there; what follows a write does not overtake it. */
		t_ping(&p->a, &p->b);
	t_check_fill(t, r->va + 64, size, 8, "written");
	t_check_byte(t, r->va, 64, 0xee, "before what was written");
	t_check_byte(t, r->va + 64 + size, 64, 0xee, "behind what was written");
	EXPECT(t, t_no_result(p->b.rcq, 10));
}

/* Proves: READ.ok */
/* Bug: B50 */
static void read_size(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *r, *sink;
	struct ndk_sge sge;
	size_t size, room;

	if (!p)
		return;
	size = as_large(p, t->arg);
	room = max(size, 1UL) + 128;
	r = t_region(&p->b, room, REMOTE);
	sink = t_region(&p->a, room, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	if (!r || !sink)
		return;
	t_fill(r->va + 64, size, 9);
	memset(sink->va, 0xee, room);
	sge = (struct ndk_sge) { .virtual_address = sink->base + 32, .length = size, .token = sink->local };
	EXPECT_STATUS(t, ndk_read(p->a.qp, CTX(4), &sge, size ? 1 : 0, r->base + 64, r->remote, 0), 0);
	t_take_ok(&p->a, p->a.icq, 4, NDK_OPERATION_READ);
	t_check_fill(t, sink->va + 32, size, 9, "read");
	t_check_byte(t, sink->va, 32, 0xee, "before what was read");
	t_check_byte(t, sink->va + 32 + size, 64, 0xee, "behind what was read");
}

/* A LAM may be the sink where the adapter says that none needs the right. */
/* Proves: READ.ok, 7.7-read-sink */
static void read_into_lam(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *r;
	struct t_buf *sink;

	if (!p)
		return;
	if (!(t_info(t, p->a.adapter).adapter_flags & NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED)) {
		EXPECT(t, world.iwarp);
		return;
	}
	r = t_region(&p->b, SZ_8K, NDK_MR_FLAG_ALLOW_REMOTE_READ);
	sink = t_buf(&p->a, SZ_8K);
	if (!r || !sink)
		return;
	t_fill(r->va, SZ_8K, 10);
	EXPECT_STATUS(t, t_post_read(&p->a, 4, sink, 100, SZ_8K - 100, r->base, r->remote, 0), 0);
	t_take_ok(&p->a, p->a.icq, 4, NDK_OPERATION_READ);
	t_check_fill(t, sink->va + 100, SZ_8K - 100, 10, "read");
}

/* Proves: WRITE.ok */
static void write_from_pieces(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct ndk_sge sge[4];
	struct t_region *r;
	struct t_buf *out;
	u8 *sent;
	size_t n = 0;
	int i;

	if (!p)
		return;
	r = t_region(&p->b, PAGE_SIZE, REMOTE);
	out = t_buf(&p->a, PAGE_SIZE);
	if (!r || !out)
		return;
	sent = t_alloc(t, PAGE_SIZE);
	t_fill(out->va, PAGE_SIZE, 11);
	for (i = 0; i < 4; i++) {
		t_sges(out, out_pieces[i].offset, out_pieces[i].length, &sge[i], 1);
		memcpy(sent + n, out->va + out_pieces[i].offset, out_pieces[i].length);
		n += out_pieces[i].length;
	}
	EXPECT_STATUS(t, ndk_write(p->a.qp, CTX(1), sge, 4, r->base + 5, r->remote, 0), 0);
	t_take_ok(&p->a, p->a.icq, 1, NDK_OPERATION_WRITE);
	t_ping(&p->a, &p->b);
	EXPECT(t, !memcmp(r->va + 5, sent, n));
}

/* --- inline --------------------------------------------------------------- */

static u32 inline_sges(u8 *from, size_t length, struct ndk_sge *sge, u32 n)
{
	size_t part = length / n, i;

	for (i = 0; i < n; i++) {
		sge[i].virtual_address = (u64)(unsigned long)from + i * part;
		sge[i].length = i + 1 < n ? part : length - part * (n - 1);
		/* To be ignored. */
		sge[i].token = 0xdeadbeef;
	}
	return n;
}

/* The buffer is overwritten as soon as the post has returned, and is no memory that the adapter knows. */
/* Proves: SEND.ok, 6.2-inline */
static void inline_send(struct t *t)
{
	const struct t_cfg cfg = { .sge = 2, .inline_size = 64 };
	struct t_pair *p = t_pair(t, &cfg);
	struct ndk_sge sge[16];
	struct t_buf *in;
	u8 data[64];
	int i;

	if (!p)
		return;
	in = t_buf(&p->b, PAGE_SIZE);
	if (!in)
		return;
	for (i = 0; i < 16; i++)
		EXPECT_STATUS(t, t_post_receive(&p->b, i, in, i * 64, 64), 0);
	for (i = 0; i < 16; i++) {
		t_fill(data, sizeof(data), i);
		inline_sges(data, sizeof(data), sge, t->arg);
		if (!EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(100 + i), sge, t->arg, NDK_OP_FLAG_INLINE), 0))
			return;
		memset(data, 0xff, sizeof(data));
	}
	for (i = 0; i < 16; i++) {
		t_take_ok(&p->b, p->b.rcq, i, NDK_OPERATION_RECEIVE);
		t_take_ok(&p->a, p->a.icq, 100 + i, NDK_OPERATION_SEND);
		t_check_fill(t, in->va + i * 64, 64, i, "inline message");
	}
}

/* Proves: WRITE.ok, 6.2-inline */
static void inline_write(struct t *t)
{
	const struct t_cfg cfg = { .inline_size = 64 };
	struct t_pair *p = t_pair(t, &cfg);
	struct t_region *r;
	struct ndk_sge sge[8];
	u8 data[64];
	int i;

	if (!p)
		return;
	r = t_region(&p->b, PAGE_SIZE, REMOTE);
	if (!r)
		return;
	for (i = 0; i < 16; i++) {
		t_fill(data, sizeof(data), i);
		inline_sges(data, sizeof(data), sge, 3);
		if (!EXPECT_STATUS(t, ndk_write(p->a.qp, CTX(i), sge, 3, r->base + 64 * i, r->remote,
						NDK_OP_FLAG_INLINE), 0))
			return;
		memset(data, 0xff, sizeof(data));
	}
	for (i = 0; i < 16; i++)
		t_take_ok(&p->a, p->a.icq, i, NDK_OPERATION_WRITE);
	t_ping(&p->a, &p->b);
	for (i = 0; i < 16; i++)
		t_check_fill(t, r->va + i * 64, 64, i, "inline write");
}

/* All that is promised. */
/* Proves: SEND.ok, 6.1-limits, 6.2-inline */
static void inline_of_the_limit(struct t *t)
{
	struct ndk_adapter *adapter = t_adapter(t, SIDE_A);
	struct t_cfg cfg = {};
	struct t_pair *p;
	struct ndk_sge sge;
	struct t_buf *in;
	u32 max;
	u8 *data;

	if (!adapter)
		return;
	max = t_info(t, adapter).max_inline_data_size;
	cfg.inline_size = max;
	p = t_pair(t, &cfg);
	if (!p)
		return;
	in = t_buf(&p->b, max);
	if (!in)
		return;
	data = t_alloc(t, max);
	t_fill(data, max, 12);
	inline_sges(data, max, &sge, 1);
	EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, max), 0);
	EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(2), &sge, 1, NDK_OP_FLAG_INLINE), 0);
	memset(data, 0xff, max);
	t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE);
	t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_SEND);
	t_check_fill(t, in->va, max, 12, "inline message");
}

/* --- order ---------------------------------------------------------------- */

/* A message that carries what a read brings, many times: without the fence it would carry what was there before. */
/* Proves: 6.6-fence */
/* Bug: B34 */
static void read_fence(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_region *r, *sink;
	struct ndk_sge sge;
	struct t_buf *in;
	int i;

	if (!p)
		return;
	r = t_region(&p->b, SZ_64K, REMOTE);
	sink = t_region(&p->a, SZ_64K, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	in = t_buf(&p->b, SZ_64K);
	if (!r || !sink || !in)
		return;
	for (i = 0; i < 8; i++) {
		t_fill(r->va, SZ_64K, i + 1);
		memset(sink->va, 0, SZ_64K);
		memset(in->va, 0xee, SZ_64K);
		sge = (struct ndk_sge) { .virtual_address = sink->base, .length = SZ_64K, .token = sink->local };
		EXPECT_STATUS(t, t_post_receive(&p->b, 1, in, 0, SZ_64K), 0);
		EXPECT_STATUS(t, ndk_read(p->a.qp, CTX(2), &sge, 1, r->base, r->remote, 0), 0);
		EXPECT_STATUS(t, ndk_send(p->a.qp, CTX(3), &sge, 1, NDK_OP_FLAG_READ_FENCE), 0);
		if (!t_take_ok(&p->b, p->b.rcq, 1, NDK_OPERATION_RECEIVE) ||
		    !t_take_ok(&p->a, p->a.icq, 2, NDK_OPERATION_READ) ||
		    !t_take_ok(&p->a, p->a.icq, 3, NDK_OPERATION_SEND) ||
		    !t_check_fill(t, in->va, SZ_64K, i + 1, "sent behind the fence"))
			return;
	}
}

/* Proves: 7.2-order */
static void in_order(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *in, *out;
	int i, round;

	if (!p)
		return;
	in = t_buf(&p->b, PAGE_SIZE);
	out = t_buf(&p->a, PAGE_SIZE);
	if (!in || !out)
		return;
	for (round = 0; round < 8; round++) {
		for (i = 0; i < 32; i++)
			EXPECT_STATUS(t, t_post_receive(&p->b, i, in, i * 8, 8), 0);
		for (i = 0; i < 32; i++) {
			*(u64 *)(out->va + i * 8) = round * 1000 + i;
			EXPECT_STATUS(t, t_post_send(&p->a, i, out, i * 8, 8, 0), 0);
		}
		for (i = 0; i < 32; i++) {
			if (!t_take_ok(&p->b, p->b.rcq, i, NDK_OPERATION_RECEIVE) ||
			    !t_take_ok(&p->a, p->a.icq, i, NDK_OPERATION_SEND))
				return;
			EXPECT_EQ(t, *(u64 *)(in->va + i * 8), round * 1000 + i);
		}
	}
}

/* More reads than the limit allows at a time: they wait, none fails. */
/* Proves: READ.ok, 8.6-read-queue */
static void more_reads_than_the_limit(struct t *t)
{
	const struct t_cfg cfg = { .inbound = 2, .outbound = 2 };
	struct t_pair *p = t_pair(t, &cfg);
	struct t_region *r, *sink;
	struct ndk_sge sge;
	int i;

	if (!p)
		return;
	r = t_region(&p->b, SZ_64K, REMOTE);
	sink = t_region(&p->a, SZ_64K, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
	if (!r || !sink)
		return;
	t_fill(r->va, SZ_64K, 13);
	for (i = 0; i < 16; i++) {
		sge = (struct ndk_sge) {
			.virtual_address = sink->base + i * SZ_4K, .length = SZ_4K, .token = sink->local,
		};
		EXPECT_STATUS(t, ndk_read(p->a.qp, CTX(i), &sge, 1, r->base + i * SZ_4K, r->remote, 0), 0);
	}
	for (i = 0; i < 16; i++)
		if (!t_take_ok(&p->a, p->a.icq, i, NDK_OPERATION_READ))
			return;
	t_check_fill(t, sink->va, SZ_64K, 13, "read");
}

/* --- contexts ------------------------------------------------------------- */

/* Proves: SEND.softirq, RECEIVE.softirq, WRITE.softirq, ARM_CQ.softirq, GET_CQ_RESULTS_EX.softirq, 2.2-any-context */
static void under_a_spinlock(struct t *t)
{
	const struct t_cfg cfg = { .inline_size = 32 };
	struct t_pair *p = t_pair(t, &cfg);
	struct ndk_result_ex r;
	struct t_region *region;
	struct t_buf *in, *out;
	struct ndk_sge sge;
	u8 data[32] = {};
	int rc[5];

	if (!p)
		return;
	region = t_region(&p->b, PAGE_SIZE, REMOTE);
	in = t_buf(&p->b, PAGE_SIZE);
	out = t_buf(&p->a, PAGE_SIZE);
	if (!region || !in || !out)
		return;
	inline_sges(data, 32, &sge, 1);
	spin_lock_bh(&t_consumer_lock);
	rc[0] = t_post_receive(&p->b, 1, in, 0, 64);
	rc[1] = t_post_receive(&p->b, 2, in, 64, 64);
	rc[2] = t_post_send(&p->a, 3, out, 0, 64, 0);
	rc[3] = ndk_send(p->a.qp, CTX(4), &sge, 1, NDK_OP_FLAG_INLINE);
	rc[4] = t_post_write(&p->a, 5, out, 0, 64, region->base, region->remote, 0);
	ndk_arm_cq(p->a.icq->cq, NDK_CQ_NOTIFY_ANY);
	ndk_get_cq_results_ex(p->b.icq->cq, &r, 1);
	spin_unlock_bh(&t_consumer_lock);
	EXPECT(t, !rc[0] && !rc[1] && !rc[2] && !rc[3] && !rc[4]);
	t_drain(p->a.icq, 3, 0);
	t_drain(p->b.rcq, 2, 0);
}

/* Proves: SEND.ok, RECEIVE.ok */
static void both_directions_at_once(struct t *t)
{
	struct t_pair *p = t_pair(t, NULL);
	struct t_buf *ain, *aout, *bin, *bout;
	int i, round;

	if (!p)
		return;
	ain = t_buf(&p->a, SZ_64K);
	aout = t_buf(&p->a, SZ_64K);
	bin = t_buf(&p->b, SZ_64K);
	bout = t_buf(&p->b, SZ_64K);
	if (!ain || !aout || !bin || !bout)
		return;
	t_fill(aout->va, SZ_64K, 14);
	t_fill(bout->va, SZ_64K, 15);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 8; i++) {
			EXPECT_STATUS(t, t_post_receive(&p->a, i, ain, i * SZ_8K, SZ_8K), 0);
			EXPECT_STATUS(t, t_post_receive(&p->b, i, bin, i * SZ_8K, SZ_8K), 0);
		}
		for (i = 0; i < 8; i++) {
			EXPECT_STATUS(t, t_post_send(&p->a, i, aout, i * SZ_8K, SZ_8K, 0), 0);
			EXPECT_STATUS(t, t_post_send(&p->b, i, bout, i * SZ_8K, SZ_8K, 0), 0);
		}
		for (i = 0; i < 8; i++) {
			t_take_ok(&p->a, p->a.rcq, i, NDK_OPERATION_RECEIVE);
			t_take_ok(&p->b, p->b.rcq, i, NDK_OPERATION_RECEIVE);
			t_take_ok(&p->a, p->a.icq, i, NDK_OPERATION_SEND);
			t_take_ok(&p->b, p->b.icq, i, NDK_OPERATION_SEND);
		}
	}
	t_check_fill(t, ain->va, SZ_64K, 15, "received at a");
	t_check_fill(t, bin->va, SZ_64K, 14, "received at b");
}

static const struct t_case cases[] = {
	{ "send_0_bytes", send_size, 0 }, /* Proves: 8.6-empty-message */
	{ "send_1_byte", send_size, 1 },
	{ "send_64_bytes", send_size, 64 },
	{ "send_4096_bytes", send_size, SZ_4K },
	{ "send_64_kib", send_size, SZ_64K },
	{ "send_1_mib", send_size, SZ_1M },
	{ "send_that_just_fits", exact_fit },
	{ "send_from_pieces_into_pieces", gather_and_scatter },
	{ "mr_and_lam_in_one_request", mr_and_lam_in_one_request },
	{ "write_0_bytes", write_size, 0 },
	{ "write_1_byte", write_size, 1 },
	{ "write_4096_bytes", write_size, SZ_4K },
	{ "write_1_mib", write_size, SZ_1M },
	{ "write_from_pieces", write_from_pieces },
	{ "read_0_bytes", read_size, 0 },
	{ "read_1_byte", read_size, 1 },
	{ "read_4096_bytes", read_size, SZ_4K },
	{ "read_1_mib", read_size, SZ_1M },
	{ "read_into_a_lam", read_into_lam },
	{ "inline_send_frees_the_buffer_at_once", inline_send, 2 },
	{ "inline_send_of_more_sges_than_the_queue_has", inline_send, 16 },
	{ "inline_write_frees_the_buffer_at_once", inline_write },
	{ "inline_send_of_the_limit", inline_of_the_limit },
	{ "read_fence_holds_a_send_back", read_fence },
	{ "requests_complete_in_order", in_order },
	{ "more_reads_than_the_limit_wait", more_reads_than_the_limit },
	{ "posts_under_a_spinlock", under_a_spinlock },
	{ "both_directions_at_once", both_directions_at_once },
};

T_GROUP(datapath, cases);
