// SPDX-License-Identifier: GPL-2.0
/* What both sides need: the pages of a buffer, and how much memory was given out, by the allocators' own tracepoints. */
#include <linux/delay.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "layer.h"

struct scatterlist *layer_pages(const struct perf_end *end, u32 *nr)
{
	u32 i = 0, count = DIV_ROUND_UP(end->length, PAGE_SIZE);
	struct scatterlist *list = kvmalloc_objs(*list, count);
	struct sg_page_iter iter;

	if (!list)
		return NULL;
	sg_init_table(list, count);
	for_each_sg_page(end->sgl, &iter, end->nents, 0)
		sg_set_page(&list[i++], sg_page_iter_page(&iter), PAGE_SIZE, 0);
	*nr = count;
	return list;
}

static atomic64_t bytes;

static void on_alloc(void *data, unsigned long site, const void *ptr, size_t asked, size_t given, gfp_t flags, int node)
{
	if (ptr)
		atomic64_add(given, &bytes);
}

static void on_cache_alloc(void *data, unsigned long site, const void *ptr, struct kmem_cache *cache, gfp_t flags, int node)
{
	if (ptr)
		atomic64_add(kmem_cache_size(cache), &bytes);
}

static void on_free(void *data, unsigned long site, const void *ptr)
{
	if (!ZERO_OR_NULL_PTR(ptr))
		atomic64_sub(ksize(ptr), &bytes);
}

static void on_cache_free(void *data, unsigned long site, const void *ptr, const struct kmem_cache *cache)
{
	if (ptr)
		atomic64_sub(kmem_cache_size((struct kmem_cache *)cache), &bytes);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} probes[] = {
	{ "kmalloc", on_alloc }, { "kmem_cache_alloc", on_cache_alloc }, { "kfree", on_free }, { "kmem_cache_free", on_cache_free },
};

static void find(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
}

/* What is freed late is freed. */
static void settle(void)
{
	rcu_barrier();
	msleep(50);
}

static void unprobe(int nr)
{
	while (nr--)
		tracepoint_probe_unregister(probes[nr].tp, probes[nr].probe, NULL);
	tracepoint_synchronize_unregister();
}

int layer_count_begin(void)
{
	int i, ret = 0;

	for_each_kernel_tracepoint(find, NULL);
	settle();
	atomic64_set(&bytes, 0);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		ret = probes[i].tp ? tracepoint_probe_register(probes[i].tp, probes[i].probe, NULL) : -ENOENT;
		if (ret)
			break;
	}
	if (ret)
		unprobe(i);
	return ret;
}

u64 layer_count_end(void)
{
	s64 all;

	settle();
	all = atomic64_read(&bytes);
	unprobe(ARRAY_SIZE(probes));
	return max(all, 0);
}
