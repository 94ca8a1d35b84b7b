// SPDX-License-Identifier: GPL-2.0
/* The calls over ndk. */
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <ndk/ndk.h>

#include "layer.h"

#define TIMEOUT	(60 * HZ)

/* A call that may be pending. */
struct call {
	struct completion done;
	int status;
	struct ndk_object_header *object;
};

struct conn {
	struct ndk_qp *qp[2];
	struct ndk_connector *connector[2];
	/* Of connect and accept. */
	struct call call[2];
};

/* A list of pages on its way. */
struct slot {
	struct completion done;
	struct ndk_lam *lam;
	int status;
};

struct side {
	struct ndk_adapter *adapter;
	struct ndk_pd *pd;
	struct ndk_cq *cq;
	struct ndk_sge sge;
};

struct ours {
	const struct perf_job *job;
	struct side side[2];
	struct ndk_listener *listener;
	struct completion came;
	struct ndk_connector *incoming;
	struct conn *conn;
	/* Whether the notification takes completions and arms again. */
	bool rounds;
	/* For lists of pages. */
	struct slot slots[LIST_SLOTS];
	struct scatterlist *pages;
	u32 nr_pages;
	struct ndk_mr *mr;
	u32 notified;
	u8 *memory;
};

static void on_created(void *context, int status, struct ndk_object_header *object)
{
	struct call *call = context;

	call->status = status;
	call->object = object;
	complete(&call->done);
}

static void on_done(void *context, int status)
{
	on_created(context, status, NULL);
}

static void on_closed(void *context)
{
	on_created(context, 0, NULL);
}

static int end_of(struct call *call, int ret)
{
	if (ret != -EINPROGRESS)
		return ret;
	wait_for_completion(&call->done);
	return call->status;
}

#define CALL(_call, _f) ({ init_completion(&(_call).done); end_of(&(_call), (_f)); })

/* Creates an object: @_f with the completion's context and an out pointer. */
#define CREATE(_out, _f, ...) ({								\
	struct call _call;									\
	typeof(_out) _now = NULL;								\
	int _ret = CALL(_call, _f(__VA_ARGS__, on_created, &_call, &_now));			\
												\
	if (!_ret)										\
		_out = _now ?: container_of(_call.object, typeof(*_now), header);		\
	_ret;											\
})

#define CLOSE(_f, _object) do {									\
	struct call _call;									\
												\
	if (_object)										\
		CALL(_call, _f(_object, on_closed, &_call));					\
} while (0)

static void on_notified(void *context, int status)
{
	struct ours *o = context;
	struct ndk_result_ex results[LAYER_POLL];
	struct slot *slot;
	u32 i, n;

	if (o->rounds) {
		do {
			n = ndk_get_cq_results_ex(o->side[0].cq, results, LAYER_POLL);
			for (i = 0; i < n; i++) {
				slot = results[i].request_context;
				if (slot) {
					slot->status = results[i].status;
					complete(&slot->done);
				}
			}
		} while (n == LAYER_POLL);
		ndk_arm_cq(o->side[0].cq, NDK_CQ_NOTIFY_ANY);
	}
	WRITE_ONCE(o->notified, o->notified + 1);
}

static void on_connect(void *context, struct ndk_connector *connector)
{
	struct ours *o = context;

	o->incoming = connector;
	complete(&o->came);
}

static void on_gone(void *context)
{
}

static u32 length_of(const struct sockaddr *address)
{
	return address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int open_side(struct ours *o, int n, const struct perf_end *end)
{
	struct ndk_open_params params = {
		.version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR },
		.address = end->address,
		.address_len = length_of(end->address),
		.client = KBUILD_MODNAME,
	};
	u32 depth = is_list(o->job) ? 2 * LIST_WRS : 2 * o->job->qps * layer_depth(o->job);
	struct side *side = &o->side[n];
	int ret;

	ret = ndk_open_adapter(end->net, &params, &side->adapter);
	if (ret)
		return ret;
	ret = CREATE(side->pd, ndk_create_pd, side->adapter) ?:
	      CREATE(side->cq, ndk_create_cq, side->adapter, depth, on_notified, o, -1);
	if (ret)
		return ret;
	side->sge = (struct ndk_sge) {
		.virtual_address = (uintptr_t)o->memory + n * LAYER_SIZE,
		.length = LAYER_SIZE,
		.token = ndk_get_privileged_token(side->pd),
	};
	return 0;
}

static int listen(struct ours *o, const struct perf_end *end, struct sockaddr_storage *at)
{
	u32 len = length_of(end->address);
	struct call call;
	int ret;

	ret = CREATE(o->listener, ndk_create_listener, o->side[1].adapter, on_connect, o) ?:
	      CALL(call, ndk_listen(o->listener, end->address, len, on_done, &call));
	len = sizeof(*at);
	return ret ?: ndk_get_listener_local_address(o->listener, (struct sockaddr *)at, &len);
}

static int connect_one(struct ours *o, struct conn *conn, const struct perf_end *a, const struct sockaddr *to)
{
	u32 depth = is_list(o->job) ? LIST_WRS : layer_depth(o->job), sges = is_list(o->job) ? LIST_SGE : 1;
	struct call call;
	int n, ret;

	for (n = 0; n < 2; n++) {
		struct side *side = &o->side[n];

		ret = CREATE(conn->qp[n], ndk_create_qp, side->pd, side->cq, side->cq, conn, depth, depth, sges, sges, 0);
		if (ret)
			return ret;
		init_completion(&conn->call[n].done);
	}
	ret = CREATE(conn->connector[0], ndk_create_connector, o->side[0].adapter);
	if (ret)
		return ret;
	ret = ndk_connect(conn->connector[0], conn->qp[0], a->address, length_of(a->address), to, length_of(to), 16, 16, NULL, 0,
			  on_done, &conn->call[0]);
	if (ret != -EINPROGRESS)
		return ret;
	if (!wait_for_completion_timeout(&o->came, TIMEOUT))
		return -ETIMEDOUT;
	conn->connector[1] = o->incoming;
	ret = ndk_accept(conn->connector[1], conn->qp[1], 16, 16, NULL, 0, on_gone, NULL, on_done, &conn->call[1]);
	if (ret != -EINPROGRESS)
		return ret;
	return end_of(&conn->call[0], ret) ?:
	       CALL(call, ndk_complete_connect(conn->connector[0], on_gone, NULL, on_done, &call)) ?:
	       end_of(&conn->call[1], ret);
}

static void close_all(struct ours *o)
{
	struct conn *conn;
	int n;

	for (conn = o->conn; conn && conn < o->conn + o->job->qps; conn++) {
		for (n = 0; n < 2; n++)
			CLOSE(ndk_close_connector, conn->connector[n]);
		for (n = 0; n < 2; n++)
			CLOSE(ndk_close_qp, conn->qp[n]);
	}
	CLOSE(ndk_close_listener, o->listener);
	CLOSE(ndk_close_mr, o->mr);
	for (n = 0; n < LIST_SLOTS; n++)
		kvfree(o->slots[n].lam);
	kvfree(o->pages);
	for (n = 0; n < 2; n++) {
		CLOSE(ndk_close_cq, o->side[n].cq);
		CLOSE(ndk_close_pd, o->side[n].pd);
		if (o->side[n].adapter)
			ndk_close_adapter(o->side[n].adapter);
	}
	kvfree(o->conn);
	kfree(o->memory);
	kfree(o);
}

static int drain(struct ours *o, int n, u32 count)
{
	struct ndk_result_ex results[LAYER_POLL];
	u32 got;

	while (count) {
		got = ndk_get_cq_results_ex(o->side[n].cq, results, LAYER_POLL);
		if (!got || results[0].status)
			return -EIO;
		count -= got;
	}
	return 0;
}

/* One batch of messages, which are received at once. */
static int batch(struct ours *o, u64 *totals, u32 *turn)
{
	const struct perf_job *job = o->job;
	u64 begin, received, sent, polled;
	u32 i, at;
	int ret = 0;

	begin = layer_now(job);
	for (i = 0, at = *turn; i < LAYER_BATCH; i++, at = at + 1 < job->qps ? at + 1 : 0)
		ret |= ndk_receive(o->conn[at].qp[1], NULL, &o->side[1].sge, 1);
	received = layer_now(job);
	for (i = 0, at = *turn; i < LAYER_BATCH; i++, at = at + 1 < job->qps ? at + 1 : 0)
		ret |= ndk_send(o->conn[at].qp[0], NULL, &o->side[0].sge, 1, 0);
	sent = layer_now(job);
	if (ret || drain(o, 0, LAYER_BATCH))
		return -EIO;
	polled = layer_now(job);
	*turn = at;
	totals[LAYER_RECEIVE] += received - begin;
	totals[LAYER_SEND] += sent - received;
	totals[LAYER_POLL_CQ] += polled - sent;
	return drain(o, 1, LAYER_BATCH);
}

/* Posts something that completes at once, and lets the notification come. */
static int notify(struct ours *o)
{
	u32 before = o->notified;
	int ret;

	local_bh_disable();
	ret = ndk_write(o->conn[0].qp[0], NULL, NULL, 0, 0, 0, 0);
	local_bh_enable();
	while (!ret && READ_ONCE(o->notified) == before)
		cond_resched();
	return ret;
}

static int measure(struct ours *o, u64 *totals)
{
	const struct perf_job *job = o->job;
	u32 i, turn = 0;
	u64 begin;
	int ret = 0;

	for (i = 0; !ret && i < job->iters; i += LAYER_BATCH)
		ret = batch(o, totals, &turn);
	for (i = 0; !ret && i < job->iters; i++) {
		begin = layer_now(job);
		ndk_arm_cq(o->side[0].cq, NDK_CQ_NOTIFY_ANY);
		totals[LAYER_ARM] += layer_now(job) - begin;
		ret = notify(o) ?: drain(o, 0, 1);
	}
	o->rounds = true;
	ndk_arm_cq(o->side[0].cq, NDK_CQ_NOTIFY_ANY);
	begin = layer_now(job);
	for (i = 0; !ret && i < job->iters; i++)
		ret = notify(o);
	totals[LAYER_ROUND] = layer_now(job) - begin;
	return ret;
}

static int list_set_up(struct ours *o, const struct perf_end *a, const struct perf_end *b)
{
	const u32 flags = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
	struct call call;
	int ret, n;

	o->pages = layer_pages(a, &o->nr_pages);
	if (!o->pages)
		return -ENOMEM;
	for (n = 0; n < LIST_SLOTS; n++) {
		init_completion(&o->slots[n].done);
		o->slots[n].lam = kvzalloc_flex(*o->slots[n].lam, pages, o->nr_pages);
		if (!o->slots[n].lam)
			return -ENOMEM;
	}
	ret = CREATE(o->mr, ndk_create_mr, o->side[1].pd, false);
	return ret ?: CALL(call, ndk_register_mr(o->mr, b->sgl, b->nents, PAGE_SIZE, b->length, flags, on_done, &call));
}

/* Maps the list, and posts as many requests as it takes: one doorbell, one completion. */
static int list_start(struct ours *o, struct slot *slot)
{
	u32 token = ndk_get_remote_token_from_mr(o->mr), i, n, fbo;
	bool reads = o->job->test == PERF_LIST_READ;
	struct ndk_qp *qp = o->conn[0].qp[0];
	struct ndk_sge sge[LIST_SGE];
	size_t size;
	int ret;

	size = struct_size(slot->lam, pages, o->nr_pages);
	ret = ndk_build_lam(o->side[0].adapter, o->pages, o->nr_pages, o->job->size, NULL, NULL, slot->lam, &size, &fbo);
	for (i = 0; !ret && i < o->nr_pages; i += n) {
		u64 remote = PAGE_SIZE + (u64)i * PAGE_SIZE;
		u32 flags = i + LIST_SGE < o->nr_pages ? NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS : 0;

		for (n = 0; n < LIST_SGE && i + n < o->nr_pages; n++)
			sge[n] = (struct ndk_sge) {
				.virtual_address = slot->lam->pages[i + n],
				.length = PAGE_SIZE,
				.token = o->side[0].sge.token,
			};
		ret = reads ? ndk_read(qp, slot, sge, n, remote, token, flags) : ndk_write(qp, slot, sge, n, remote, token, flags);
	}
	return ret;
}

static int list_end(struct ours *o, struct slot *slot)
{
	if (!wait_for_completion_timeout(&slot->done, TIMEOUT))
		return -ETIMEDOUT;
	ndk_release_lam(o->side[0].adapter, slot->lam);
	return slot->status;
}

static int list_measure(struct ours *o, const struct perf_end *a, const struct perf_end *b, u64 *elapsed)
{
	u32 i, iters = o->job->iters, depth = o->job->depth;
	int ret = list_set_up(o, a, b);
	u64 begin;

	o->rounds = true;
	ndk_arm_cq(o->side[0].cq, NDK_CQ_NOTIFY_ANY);
	begin = ktime_get_ns();
	for (i = 0; !ret && i < iters + depth; i++) {
		if (i >= depth)
			ret = list_end(o, &o->slots[i % depth]);
		if (!ret && i < iters)
			ret = list_start(o, &o->slots[i % depth]);
	}
	*elapsed = ktime_get_ns() - begin;
	return ret;
}

int ndk_perf_layer_ours(const struct perf_job *job, const struct perf_end *a, const struct perf_end *b,
			struct perf_result *result)
{
	struct sockaddr_storage at = {};
	struct ours *o;
	int ret, counting = -1;
	u32 i;

	o = kzalloc_obj(*o);
	if (!o)
		return -ENOMEM;
	o->job = job;
	init_completion(&o->came);
	o->memory = kzalloc(2 * LAYER_SIZE, GFP_KERNEL);
	o->conn = kvzalloc_objs(*o->conn, job->qps);
	ret = -ENOMEM;
	if (!o->memory || !o->conn)
		goto out;
	ret = open_side(o, 0, a) ?: open_side(o, 1, b) ?: listen(o, b, &at);
	if (!ret && job->count)
		ret = counting = layer_count_begin();
	for (i = 0; !ret && i < job->qps; i++)
		ret = connect_one(o, &o->conn[i], a, (struct sockaddr *)&at);
	if (job->count && !counting)
		result->samples[LAYER_BYTES] = layer_count_end();
	if (is_list(job))
		ret = ret ?: list_measure(o, a, b, &result->elapsed);
	else
		ret = ret ?: measure(o, result->samples);
	result->count = job->iters;
out:
	close_all(o);
	return ret;
}
