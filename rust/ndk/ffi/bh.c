// SPDX-License-Identifier: GPL-2.0
/*
 * Where consumers are called: work items in softirq context, a queue and a tasklet for each CPU.
 *
 * A workqueue with WQ_BH does the same. But it takes the lock of its pool, with interrupts off, five times for each item, and
 * has a way of its own into softirq for each that comes alone; here what is due at the same time shares one, and an item costs
 * a few atomic operations. It is what a callback costs (Documentation/performance.rst, M5 and M6).
 *
 * The items are those of the kernel crate, struct work_struct, which never see a workqueue: of @data two bits are used, and of
 * @entry the first pointer. An item is either idle, or pending: in a queue, or running, or both running and due once more; then
 * whoever runs it queues it again.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "helpers.h"

#define PENDING	BIT(WORK_STRUCT_PENDING_BIT)
#define RUNNING	BIT(WORK_STRUCT_INACTIVE_BIT)

/* Softirqs have to let others run after so long; it is the kernel's own measure. */
#define WINDOW	msecs_to_jiffies(2)

struct bh {
	struct llist_head queued;
	/* What was queued, in order; the tasklet's alone. */
	struct llist_node *due;
	/* Whether the tasklet has something in hand. */
	bool busy;
	struct tasklet_struct tasklet;
	/* Schedules the tasklet on behalf of another CPU. */
	struct work_struct remote;
};

static struct bh __percpu *bhs;
static struct workqueue_struct *remote_wq;

static struct llist_node *node_of(struct work_struct *work)
{
	BUILD_BUG_ON(sizeof(struct llist_node) > sizeof(work->entry));
	return (struct llist_node *)&work->entry;
}

static struct work_struct *work_of(struct llist_node *node)
{
	return container_of((struct list_head *)node, struct work_struct, entry);
}

static void push(struct work_struct *work)
{
	struct bh *bh = get_cpu_ptr(bhs);

	/* Otherwise the tasklet is on its way. */
	if (llist_add(node_of(work), &bh->queued))
		tasklet_schedule(&bh->tasklet);
	put_cpu_ptr(bhs);
}

static void push_to(struct work_struct *work, unsigned int cpu)
{
	struct bh *bh = per_cpu_ptr(bhs, cpu);

	if (llist_add(node_of(work), &bh->queued))
		queue_work_on(cpu, remote_wq, &bh->remote);
}

static void on_behalf(struct work_struct *remote)
{
	tasklet_schedule(&container_of(remote, struct bh, remote)->tasklet);
}

static void run_due(struct tasklet_struct *tasklet)
{
	struct bh *bh = container_of(tasklet, struct bh, tasklet);
	unsigned long end = jiffies + WINDOW;
	struct work_struct *work;

	WRITE_ONCE(bh->busy, true);
	do {
		if (!bh->due)
			bh->due = llist_reverse_order(llist_del_all(&bh->queued));
		if (!bh->due) {
			/* After all that the items did. */
			smp_store_release(&bh->busy, false);
			return;
		}
		work = work_of(bh->due);
		/* Before it can be queued again. */
		bh->due = bh->due->next;
		/* From pending to running. Fully ordered: it sees what was done before it was queued. */
		atomic_long_fetch_xor(PENDING | RUNNING, &work->data);
		work->func(work);
	} while (!time_after(jiffies, end));
	tasklet_schedule(&bh->tasklet);
}

/*
 * Queues an item, on this CPU or, where there is one of that number and online, on @cpu. Any context. False for one that is
 * pending; it sees what was done before this.
 */
bool ndk_bh_queue(struct work_struct *work, int cpu)
{
	long was = atomic_long_fetch_or(PENDING, &work->data);

	if (was & PENDING)
		return false;
	if (was & RUNNING)
		return true;
	/* A CPU does not go offline while preemption is off somewhere. */
	preempt_disable();
	if (cpu >= 0 && cpu < nr_cpu_ids && cpu != smp_processor_id() && cpu_online(cpu))
		push_to(work, cpu);
	else
		push(work);
	preempt_enable();
	return true;
}

/* The item has run; the last that it does. */
void ndk_bh_ran(struct work_struct *work)
{
	if (atomic_long_fetch_andnot(RUNNING, &work->data) & PENDING)
		push(work);
}

int ndk_bh_start(void)
{
	int cpu;

	remote_wq = alloc_workqueue("ndk_bh", WQ_BH | WQ_PERCPU, 0);
	if (!remote_wq)
		return -ENOMEM;
	bhs = alloc_percpu(struct bh);
	if (!bhs) {
		destroy_workqueue(remote_wq);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		struct bh *bh = per_cpu_ptr(bhs, cpu);

		init_llist_head(&bh->queued);
		tasklet_setup(&bh->tasklet, run_due);
		INIT_WORK(&bh->remote, on_behalf);
	}
	return 0;
}

static bool is_idle(struct bh *bh)
{
	if (!llist_empty(&bh->queued))
		return false;
	/* The tasklet says that it is busy before it empties the queue. */
	smp_rmb();
	return !READ_ONCE(bh->busy);
}

/* Runs what is queued, and what that queues. Sleeps. */
void ndk_bh_stop(void)
{
	bool idle;
	int cpu;

	do {
		idle = true;
		for_each_possible_cpu(cpu) {
			struct bh *bh = per_cpu_ptr(bhs, cpu);

			while (!is_idle(bh)) {
				idle = false;
				fsleep(100);
			}
		}
	} while (!idle);
	destroy_workqueue(remote_wq);
	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(bhs, cpu)->tasklet);
	free_percpu(bhs);
}
