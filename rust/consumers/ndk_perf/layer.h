/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the layer costs by the call, over a device that costs little (ndk_nulldev): ours in layer_ours.c, verbs in layer_raw.c,
 * step by step the same. Both ends in one thread, with LAYER_BATCH requests at a time, spread over the QPs.
 */
#ifndef NDK_PERF_LAYER_H
#define NDK_PERF_LAYER_H

#include <linux/ktime.h>
#include <linux/timex.h>

#include "raw.h"

#define LAYER_BATCH	64
#define LAYER_POLL	16
/* Depth of the queues of one QP among many. */
#define LAYER_DEPTH	12
#define LAYER_SIZE	64

/* Totals, in the order in which they are reported. */
enum layer_figure {
	LAYER_RECEIVE,
	LAYER_SEND,
	LAYER_POLL_CQ,
	LAYER_ARM,
	/* From a post to the end of the callback that took its completion and armed again. */
	LAYER_ROUND,
	/* Bytes that the connections take. */
	LAYER_BYTES,
	LAYER_FIGURES
};

/* In ns, or in ticks of the processor, which are instructions in a machine that counts those (QEMU with -icount shift=0). */
static inline u64 layer_now(const struct perf_job *job)
{
	return job->ticks ? get_cycles() : ktime_get_ns();
}

static inline u32 layer_depth(const struct perf_job *job)
{
	return job->qps == 1 ? 2 * LAYER_BATCH : LAYER_DEPTH;
}

/* Pieces of a request, and requests outstanding, where lists of pages are transferred. */
#define LIST_SGE	16
#define LIST_WRS	256
#define LIST_SLOTS	16

static inline bool is_list(const struct perf_job *job)
{
	return job->test == PERF_LIST_READ || job->test == PERF_LIST_WRITE;
}

/* The pages of a buffer one by one, as those of a file are: none is joined with the next. */
struct scatterlist *layer_pages(const struct perf_end *end, u32 *nr);

/* Bytes that the kernel's allocators have given out and not got back since layer_count_begin(). */
int layer_count_begin(void);
u64 layer_count_end(void);

int ndk_perf_layer_ours(const struct perf_job *job, const struct perf_end *a, const struct perf_end *b,
			struct perf_result *result);
int ndk_perf_layer_raw(const struct perf_job *job, const struct perf_end *a, const struct perf_end *b,
		       struct perf_result *result);

#endif
