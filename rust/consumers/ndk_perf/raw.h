/* SPDX-License-Identifier: GPL-2.0 */
/* The baseline of ndk_perf: the same measurements with kernel verbs and rdma_cm alone. */
#ifndef NDK_PERF_RAW_H
#define NDK_PERF_RAW_H

#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;

/* Mirrored by job.rs. */
enum perf_test {
	PERF_SEND_LATENCY	= 0,
	PERF_WRITE_LATENCY	= 1,
	PERF_READ_LATENCY	= 2,
	PERF_WRITE_STREAM	= 3,
	PERF_READ_STREAM	= 4,
	PERF_SEND_RATE		= 5,
	PERF_CONNECT		= 6,
	PERF_REGISTER		= 7,
	PERF_LAYER		= 8,
	PERF_LIST_READ		= 9,
	PERF_LIST_WRITE		= 10,
};

#define PERF_MAX_QPS	2

/*
 * What to measure: @iters operations of @size bytes, up to @depth outstanding, posted in chains of @chain, over @qps connections.
 * For PERF_CONNECT @depth connections are made at a time. For PERF_LAYER @ticks says in what to measure, @count whether to
 * count memory.
 */
struct perf_job {
	u32 test;
	u32 iters;
	u32 size;
	u32 depth;
	u32 chain;
	u32 qps;
	u32 ticks;
	u32 count;
};

/* One end, and its buffer, which the other layer uses as well. */
struct perf_end {
	struct net *net;
	const struct sockaddr *address;
	struct scatterlist *sgl;
	u32 nents;
	u64 length;
};

/*
 * @samples: room for @iters times in ns, of which the call fills @count, for tests of latency; for PERF_LAYER the totals
 * @elapsed: ns for all operations
 */
struct perf_result {
	u64 *samples;
	u32 count;
	u64 elapsed;
};

/* Both sleep until the measurement is over and everything is gone again. */
int ndk_perf_raw_run(const struct perf_job *job, const struct perf_end *a,
		     const struct perf_end *b, struct perf_result *result);
int ndk_perf_raw_connect(const struct perf_job *job, const struct perf_end *a,
			 const struct perf_end *b, struct perf_result *result);

#endif
