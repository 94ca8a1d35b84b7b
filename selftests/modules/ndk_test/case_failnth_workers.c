// SPDX-License-Identifier: GPL-2.0
/*
 * What sleeps is done in workers. In each of these operations the first allocation of every worker fails, then the second, until
 * no worker allocates as many: the operation succeeds or ends with ENOMEM, and works when it is done once more.
 */

#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "failnth.h"

/* --- all workers ---------------------------------------------------------- */

#define WORKERS 256

static struct task_struct *workers[WORKERS];
static unsigned int nr_workers;

#ifdef CONFIG_FAULT_INJECTION
static void set_fail_nth(struct task_struct *p, unsigned int n)
{
	WRITE_ONCE(p->fail_nth, n);
}

static bool has_failed(struct task_struct *p)
{
	return !READ_ONCE(p->fail_nth);
}
#else
static void set_fail_nth(struct task_struct *p, unsigned int n)
{
}

static bool has_failed(struct task_struct *p)
{
	return false;
}
#endif

void workers_fail_nth(unsigned int n)
{
	struct task_struct *g, *p;

	nr_workers = 0;
	rcu_read_lock();
	for_each_process_thread(g, p) {
		if (!(p->flags & PF_WQ_WORKER) || nr_workers == WORKERS)
			continue;
		get_task_struct(p);
		set_fail_nth(p, n);
		workers[nr_workers++] = p;
	}
	rcu_read_unlock();
}

bool workers_were_hit(void)
{
	bool hit = false;

	while (nr_workers) {
		struct task_struct *p = workers[--nr_workers];

		hit |= has_failed(p);
		set_fail_nth(p, 0);
		put_task_struct(p);
	}
	return hit;
}

/* --- operations ----------------------------------------------------------- */

struct job {
	struct t *t;
	struct t_end *e;
	/* Made by prepare(), used or made by run(), given up by undo(). */
	struct ndk_object_header *h;
	struct t_region *r;
	struct t_listener *l;
	struct t_srq *srq;
	struct t_cq *cq;
	long arg;
};

struct op {
	const char *name;
	bool (*prepare)(struct job *j);
	int (*run)(struct job *j);
	void (*undo)(struct job *j);
	long arg;
};

static int create(struct job *j)
{
	int status;

	j->h = t_try_create(j->e, j->arg, &status);
	return status;
}

static void close_it(struct job *j)
{
	if (j->h)
		t_close(j->t, j->h);
	j->h = NULL;
}

static bool with_srq(struct job *j)
{
	if (!j->e->srq) {
		j->srq = t_srq(j->e, 16, 4);
		j->e->srq = j->srq ? j->srq->srq : NULL;
	}
	return j->e->srq;
}

static bool make(struct job *j)
{
	j->h = t_create(j->e, j->arg);
	return j->h;
}

/* A close cannot fail. */
static int closes(struct job *j)
{
	struct t_await *w = t_close_start(j->t, j->h);

	j->h = NULL;
	return t_join(w);
}

static bool has_memory(struct job *j)
{
	if (!j->r)
		j->r = t_memory(j->e, 4 * PAGE_SIZE);
	return j->r;
}

static int registers(struct job *j)
{
	return t_register(j->e, j->r, NDK_MR_FLAG_ALLOW_REMOTE_READ);
}

static void deregisters(struct job *j)
{
	EXPECT_STATUS(j->t, t_deregister(j->e, j->r), 0);
}

static bool has_region(struct job *j)
{
	return has_memory(j) && EXPECT_STATUS(j->t, registers(j), 0);
}

static int tries_to_deregister(struct job *j)
{
	int rc = t_deregister(j->e, j->r);

	/* It is registered still, and can be given up. */
	if (rc) {
		workers_were_hit();
		deregisters(j);
	}
	return rc;
}

static int initializes(struct job *j)
{
	struct t_await *w = t_await(j->t, "initialize fast register");

	return t_wait(w, ndk_initialize_fast_register_mr(container_of(j->h, struct ndk_mr, header), 16, true, t_done, w));
}

static bool has_listener(struct job *j)
{
	j->l = t_listener(j->e);
	return j->l;
}

static int listens(struct job *j)
{
	return t_listen(j->l, SIDE_A, AF_INET, 6000);
}

static void close_listener(struct job *j)
{
	t_close(j->t, &j->l->listener->header);
}

static int modifies(struct job *j)
{
	return t_srq_modify(j->srq, 64, 1);
}

static void modifies_back(struct job *j)
{
	EXPECT_STATUS(j->t, t_srq_modify(j->srq, 16, 4), 0);
}

static bool has_cq(struct job *j)
{
	j->cq = t_cq(j->e, 16);
	return j->cq;
}

static int resizes(struct job *j)
{
	return t_resize(j->cq, 600);
}

static void close_cq(struct job *j)
{
	t_close(j->t, &j->cq->cq->header);
}

static const struct op ops[] = {
	{ "create PD", NULL, create, close_it, KIND_PD },
	{ "create CQ", NULL, create, close_it, KIND_CQ },
	{ "create SRQ", NULL, create, close_it, KIND_SRQ },
	{ "create QP", NULL, create, close_it, KIND_QP },
	{ "create MR", NULL, create, close_it, KIND_MR },
	{ "create fast-register MR", NULL, create, close_it, KIND_FAST_MR },
	{ "create MW", NULL, create, close_it, KIND_MW },
	{ "create connector", NULL, create, close_it, KIND_CONNECTOR },
	{ "create listener", NULL, create, close_it, KIND_LISTENER },
	{ "create shared endpoint", NULL, create, close_it, KIND_SHARED_ENDPOINT },
	{ "register MR", has_memory, registers, deregisters },
	{ "deregister MR", has_region, tries_to_deregister, NULL },
	{ "initialize fast register", make, initializes, close_it, KIND_FAST_MR },
	{ "listen", has_listener, listens, close_listener },
	{ "resize CQ", has_cq, resizes, close_cq },
	{ "close PD", make, closes, NULL, KIND_PD },
	{ "close CQ", make, closes, NULL, KIND_CQ },
	{ "close SRQ", make, closes, NULL, KIND_SRQ },
	{ "close QP", make, closes, NULL, KIND_QP },
	{ "close MR", make, closes, NULL, KIND_MR },
	{ "close MW", make, closes, NULL, KIND_MW },
	{ "close listener", make, closes, NULL, KIND_LISTENER },
	{ "close shared endpoint", make, closes, NULL, KIND_SHARED_ENDPOINT },
	{ "modify SRQ", with_srq, modifies, modifies_back },
	{ "create QP with SRQ", with_srq, create, close_it, KIND_QP },
};

/* False when no worker allocates as many. */
static bool nth(struct job *j, const struct op *op, unsigned int n)
{
	bool hit;
	int rc;

	j->arg = op->arg;
	if (op->prepare && !op->prepare(j))
		return false;
	workers_fail_nth(n);
	rc = op->run(j);
	hit = workers_were_hit();
	if (!judge(j->t, op->name, n, hit || rc, rc))
		return false;
	if (rc && op->run != tries_to_deregister && !EXPECT_STATUS(j->t, op->run(j), 0)) {
		t_fail(j->t, "%s, after its worker's allocation %u failed", op->name, n);
		return false;
	}
	if (op->undo)
		op->undo(j);
	return hit;
}

/*
 * Proves: CREATE_PD.no-resources, CREATE_CQ.no-resources, CREATE_SRQ.no-resources, CREATE_QP.no-resources,
 * CREATE_QP_WITH_SRQ.no-resources, CREATE_MR.no-resources, CREATE_MW.no-resources, CREATE_SHARED_ENDPOINT.no-resources,
 * REGISTER_MR.no-resources, DEREGISTER_MR.no-resources, INITIALIZE_FAST_REGISTER_MR.no-resources, LISTEN.no-resources,
 * RESIZE_CQ.no-resources, MODIFY_SRQ.no-resources, CLOSE_OBJECT.no-resources, 2.3-failed, 2.3-memory, 2.5-infallible
 */
/* Bug: B40, B42, B76, K20 */
static void every_operation(struct t *t)
{
	struct job *j = t_alloc(t, sizeof(*j));
	unsigned int hits = 0, n;
	const struct op *op;

	j->t = t;
	j->e = t_alloc(t, sizeof(*j->e));
	if (!t_end_init(t, j->e, SIDE_A, NULL))
		return;
	for (op = ops; op < ops + ARRAY_SIZE(ops) && !t->failures; op++) {
		for (n = 1; n < MOST && nth(j, op, n); n++)
			hits++;
		t_trace("%s: %u allocations", op->name, n - 1);
		EXPECT(t, n < MOST);
	}
	/* At least every object of the device is made by a worker. */
	EXPECT(t, hits > 10);
}

static const struct t_case cases[] = {
	{ "every_allocation_of_a_worker_fails", every_operation },
};

T_GROUP(failnth_workers, cases);
