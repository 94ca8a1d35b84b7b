// SPDX-License-Identifier: GPL-2.0
/* What every case uses: verdicts, callbacks that are counted, objects that are closed behind a case. */

#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "ndk_test.h"

/* --- verdicts ------------------------------------------------------------- */

const char *t_errname(int status)
{
	switch (status) {
	case 0: return "success";
	case -EINPROGRESS: return "EINPROGRESS";
	case -EOVERFLOW: return "EOVERFLOW";
	case -EBUSY: return "EBUSY";
	case -ENOBUFS: return "ENOBUFS";
	case -EACCES: return "EACCES";
	case -EINVAL: return "EINVAL";
	case -EDOM: return "EDOM";
	case -EBADRQC: return "EBADRQC";
	case -ENOSPC: return "ENOSPC";
	case -EMSGSIZE: return "EMSGSIZE";
	case -EADDRINUSE: return "EADDRINUSE";
	case -ENOMEM: return "ENOMEM";
	case -ENETUNREACH: return "ENETUNREACH";
	case -EHOSTUNREACH: return "EHOSTUNREACH";
	case -ENODEV: return "ENODEV";
	case -EPROTONOSUPPORT: return "EPROTONOSUPPORT";
	case -ETIMEDOUT: return "ETIMEDOUT";
	case -EOPNOTSUPP: return "EOPNOTSUPP";
	case -EIO: return "EIO";
	case -ECANCELED: return "ECANCELED";
	case -EREMOTEIO: return "EREMOTEIO";
	case -EADDRNOTAVAIL: return "EADDRNOTAVAIL";
	case -EBADFD: return "EBADFD";
	case -E2BIG: return "E2BIG";
	case -EUSERS: return "EUSERS";
	case -EEXIST: return "EEXIST";
	case -ECONNREFUSED: return "ECONNREFUSED";
	case -ENOTCONN: return "ENOTCONN";
	case -EISCONN: return "EISCONN";
	case -ECONNABORTED: return "ECONNABORTED";
	case -ESHUTDOWN: return "ESHUTDOWN";
	case -ERANGE: return "ERANGE";
	case -ENETDOWN: return "ENETDOWN";
	default: return "another status";
	}
}

void t_fail_at(struct t *t, const char *func, int line, const char *fmt, ...)
{
	unsigned long flags;
	va_list args;

	spin_lock_irqsave(&t->lock, flags);
	t->failures++;
	t->log_len += scnprintf(t->log + t->log_len, T_LOG - t->log_len, "# %s:%d: ", func, line);
	va_start(args, fmt);
	t->log_len += vscnprintf(t->log + t->log_len, T_LOG - t->log_len, fmt, args);
	va_end(args);
	t->log_len += scnprintf(t->log + t->log_len, T_LOG - t->log_len, "\n");
	spin_unlock_irqrestore(&t->lock, flags);
}

void t_note(struct t *t, const char *fmt, ...)
{
	unsigned long flags;
	va_list args;

	spin_lock_irqsave(&t->lock, flags);
	t->log_len += scnprintf(t->log + t->log_len, T_LOG - t->log_len, "# ");
	va_start(args, fmt);
	t->log_len += vscnprintf(t->log + t->log_len, T_LOG - t->log_len, fmt, args);
	va_end(args);
	t->log_len += scnprintf(t->log + t->log_len, T_LOG - t->log_len, "\n");
	spin_unlock_irqrestore(&t->lock, flags);
}

unsigned long t_ticks(unsigned int seconds)
{
	return (unsigned long)seconds * t_scale * HZ;
}

void t_sleep(unsigned int ms)
{
	fsleep((unsigned long)ms * USEC_PER_MSEC);
}

DEFINE_SPINLOCK(t_consumer_lock);

/* What an out pointer holds before a call, and after one that is pending. */
void *t_poison(void)
{
	static int nothing;

	return &nothing;
}

/* --- memory that lives as long as the case -------------------------------- */

struct t_mem {
	struct list_head list;
	u8 data[] __aligned(__alignof__(u64));
};

/* Never fails: allocation failures are injected into the provider, not into its test. */
void *t_alloc(struct t *t, size_t size)
{
	struct t_mem *mem = kzalloc(sizeof(*mem) + size, GFP_KERNEL | __GFP_NOFAIL);

	spin_lock_irq(&t->lock);
	list_add(&mem->list, &t->mem);
	spin_unlock_irq(&t->lock);
	return mem->data;
}

/* --- callbacks ------------------------------------------------------------ */

/*
 * Locks that the interrupted task holds are none of the callback's, and the
 * maps of work items are no locks.
 */
static const char *held_lock(void)
{
#ifdef CONFIG_LOCKDEP
	int i;

	for (i = 0; debug_locks && i < current->lockdep_depth; i++) {
		struct held_lock *held = &current->held_locks[i];

		if (held->irq_context && held->instance->wait_type_inner != LD_WAIT_INV)
			return held->instance->name;
	}
#endif
	return NULL;
}

void t_context(struct t *t, const char *what)
{
	const char *lock = held_lock();

	if (!in_serving_softirq())
		t_fail(t, "%s: not in softirq (preempt_count %x)", what, preempt_count());
	if (in_hardirq() || irqs_disabled())
		t_fail(t, "%s: interrupts are off", what);
	if (lock)
		t_fail(t, "%s: the lock %s is held", what, lock);
}

struct t_await *t_await(struct t *t, const char *what)
{
	struct t_await *w;
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	WARN_ON_ONCE(t->nr_awaits == T_AWAITS);
	w = &t->awaits[min(t->nr_awaits, T_AWAITS - 1)];
	t->nr_awaits = min(t->nr_awaits + 1, T_AWAITS);
	spin_unlock_irqrestore(&t->lock, flags);
	w->t = t;
	w->what = what;
	init_completion(&w->done);
	return w;
}

static void await_called(struct t_await *w, int status, struct ndk_object_header *object)
{
	t_context(w->t, w->what);
	if (atomic_inc_return(&w->calls) > 1) {
		t_fail(w->t, "%s: completed twice", w->what);
		return;
	}
	if (status > 0 || status == -EINPROGRESS)
		t_fail(w->t, "%s: completed with %d", w->what, status);
	w->status = status;
	w->object = object;
	t_trace("%s: %s", w->what, t_errname(status));
	if (w->then)
		w->then(w);
	/* Pairs with t_has_left(). */
	smp_store_release(&w->left, true);
	complete_all(&w->done);
}

bool t_has_left(struct t_await *w)
{
	/* Pairs with the release in await_called(). */
	return smp_load_acquire(&w->left);
}

void t_created(void *context, int status, struct ndk_object_header *object)
{
	struct t_await *w = context;

	if (status && object)
		t_fail(w->t, "%s: failed with %s and gave an object", w->what, t_errname(status));
	if (!status && !object)
		t_fail(w->t, "%s: succeeded without an object", w->what);
	if (!status && object)
		t_track(w->t, object, object->type);
	await_called(w, status, object);
}

void t_done(void *context, int status)
{
	await_called(context, status, NULL);
}

void t_closed(void *context)
{
	await_called(context, 0, NULL);
}

bool t_pended(struct t_await *w, int rc)
{
	if (rc != -EINPROGRESS) {
		t_fail(w->t, "%s: %s at once, should be pending", w->what, t_errname(rc));
		return false;
	}
	w->pending = true;
	return true;
}

int t_join_secs(struct t_await *w, unsigned int seconds)
{
	if (!wait_for_completion_timeout(&w->done, t_ticks(seconds))) {
		t_fail(w->t, "%s: not completed in %u s", w->what, seconds * t_scale);
		return -ETIME;
	}
	return w->status;
}

int t_join(struct t_await *w)
{
	return t_join_secs(w, 10);
}

int t_wait(struct t_await *w, int rc)
{
	if (rc > 0)
		t_fail(w->t, "%s: returned %d", w->what, rc);
	if (rc != -EINPROGRESS)
		return rc;
	w->pending = true;
	return t_join(w);
}

bool t_is_done(struct t_await *w)
{
	return completion_done(&w->done);
}

/* --- objects -------------------------------------------------------------- */

static void check_header(struct t *t, struct ndk_object_header *h, u32 type)
{
	int i;

	if (h->type != type)
		t_fail(t, "an object of type %u has type %u in its header", type, h->type);
	if (h->version.major != t->version.major || h->version.minor != t->version.minor)
		t_fail(t, "an object of type %u has version %u.%u", type, h->version.major, h->version.minor);
	for (i = 0; i < ARRAY_SIZE(h->reserved); i++)
		if (h->reserved[i])
			t_fail(t, "an object of type %u has a reserved block that is not zero", type);
	/* All shells have the table after the header. */
	if (!((struct ndk_pd *)h)->dispatch)
		t_fail(t, "an object of type %u has no dispatch table", type);
}

void t_track(struct t *t, struct ndk_object_header *header, u32 type)
{
	unsigned long flags;
	int i;

	check_header(t, header, type);
	spin_lock_irqsave(&t->lock, flags);
	for (i = 0; i < T_OBJS && t->objs[i].header; i++)
		;
	if (!WARN_ON_ONCE(i == T_OBJS)) {
		t->objs[i].header = header;
		t->objs[i].type = type;
	}
	spin_unlock_irqrestore(&t->lock, flags);
}

static bool untrack(struct t *t, struct ndk_object_header *header)
{
	unsigned long flags;
	bool found = false;
	int i;

	spin_lock_irqsave(&t->lock, flags);
	for (i = 0; i < T_OBJS && !found; i++) {
		if (t->objs[i].header == header) {
			t->objs[i].header = NULL;
			found = true;
		}
	}
	spin_unlock_irqrestore(&t->lock, flags);
	return found;
}

static int close_call(struct ndk_object_header *h, ndk_close_completion_fn done, void *context)
{
	switch (h->type) {
	case NDK_OBJECT_PD:
		return ndk_close_pd(container_of(h, struct ndk_pd, header), done, context);
	case NDK_OBJECT_CQ:
		return ndk_close_cq(container_of(h, struct ndk_cq, header), done, context);
	case NDK_OBJECT_QP:
		return ndk_close_qp(container_of(h, struct ndk_qp, header), done, context);
	case NDK_OBJECT_MR:
		return ndk_close_mr(container_of(h, struct ndk_mr, header), done, context);
	case NDK_OBJECT_MW:
		return ndk_close_mw(container_of(h, struct ndk_mw, header), done, context);
	case NDK_OBJECT_CONNECTOR:
		return ndk_close_connector(container_of(h, struct ndk_connector, header), done, context);
	case NDK_OBJECT_LISTENER:
		return ndk_close_listener(container_of(h, struct ndk_listener, header), done, context);
	case NDK_OBJECT_SRQ:
		return ndk_close_srq(container_of(h, struct ndk_srq, header), done, context);
	case NDK_OBJECT_SHARED_ENDPOINT:
		return ndk_close_shared_endpoint(container_of(h, struct ndk_shared_endpoint, header), done, context);
	default:
		return -EINVAL;
	}
}

static const char *close_name(u32 type)
{
	switch (type) {
	case NDK_OBJECT_PD: return "close PD";
	case NDK_OBJECT_CQ: return "close CQ";
	case NDK_OBJECT_QP: return "close QP";
	case NDK_OBJECT_MR: return "close MR";
	case NDK_OBJECT_MW: return "close MW";
	case NDK_OBJECT_CONNECTOR: return "close connector";
	case NDK_OBJECT_LISTENER: return "close listener";
	case NDK_OBJECT_SRQ: return "close SRQ";
	case NDK_OBJECT_SHARED_ENDPOINT: return "close shared endpoint";
	default: return "close";
	}
}

/* The await of a close that ended at once is done as well. */
struct t_await *t_close_then(struct t *t, struct ndk_object_header *header,
			     void (*then)(struct t_await *w), void *arg)
{
	struct t_await *w = t_await(t, close_name(header->type));
	int rc;

	if (!untrack(t, header))
		t_fail(t, "%s: closed twice by the test", w->what);
	w->then = then;
	w->arg = arg;
	t_trace("%s", w->what);
	rc = close_call(header, t_closed, w);
	if (rc == -EINPROGRESS) {
		w->pending = true;
		return w;
	}
	if (rc)
		t_fail(t, "%s: failed with %s", w->what, t_errname(rc));
	WRITE_ONCE(w->left, true);
	complete_all(&w->done);
	return w;
}

struct t_await *t_close_start(struct t *t, struct ndk_object_header *header)
{
	return t_close_then(t, header, NULL, NULL);
}

int t_close_silently(struct t *t, struct ndk_object_header *header)
{
	untrack(t, header);
	return close_call(header, NULL, NULL);
}

void t_close(struct t *t, struct ndk_object_header *header)
{
	t_join(t_close_start(t, header));
}

/* --- adapters ------------------------------------------------------------- */

int t_open(struct t *t, enum t_side side, const struct ndk_open_params *params,
	   struct ndk_adapter **adapter)
{
	struct ndk_open_params named = *params;
	int rc, i;

	*adapter = t_poison();
	named.client = KBUILD_MODNAME;
	rc = ndk_open_adapter(world.net[side], &named, adapter);
	if (rc)
		return rc;
	check_header(t, &(*adapter)->header, NDK_OBJECT_ADAPTER);
	for (i = 0; i < T_ADAPTERS; i++) {
		if (!t->adapters[i]) {
			t->adapters[i] = *adapter;
			return 0;
		}
	}
	WARN_ON_ONCE(1);
	return 0;
}

struct ndk_adapter *t_another(struct t *t, enum t_side side)
{
	struct ndk_open_params params = {
		.version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR },
		.device = world.device[side],
	};
	struct ndk_adapter *adapter;
	int rc = t_open(t, side, &params, &adapter);

	if (rc) {
		t_fail(t, "opening %s: %s", world.device[side], t_errname(rc));
		return NULL;
	}
	return adapter;
}

struct ndk_adapter *t_adapter(struct t *t, enum t_side side)
{
	if (!t->side[side])
		t->side[side] = t_another(t, side);
	return t->side[side];
}

struct closer {
	struct ndk_adapter *adapter;
	struct completion done;
	refcount_t users;
};

static void closer_put(struct closer *c)
{
	if (refcount_dec_and_test(&c->users))
		kfree(c);
}

static int closer_thread(void *arg)
{
	struct closer *c = arg;

	ndk_close_adapter(c->adapter);
	complete(&c->done);
	closer_put(c);
	return 0;
}

bool t_close_adapter(struct t *t, struct ndk_adapter *adapter)
{
	struct closer *c = kzalloc(sizeof(*c), GFP_KERNEL | __GFP_NOFAIL);
	struct task_struct *task;
	bool closed;
	int i;

	for (i = 0; i < T_ADAPTERS; i++)
		if (t->adapters[i] == adapter)
			t->adapters[i] = NULL;
	for (i = 0; i < 2; i++)
		if (t->side[i] == adapter)
			t->side[i] = NULL;
	c->adapter = adapter;
	init_completion(&c->done);
	refcount_set(&c->users, 2);
	task = kthread_run(closer_thread, c, "ndk_test_close");
	/* Where memory is made short: without a limit, but not without a close. */
	if (IS_ERR(task))
		closer_thread(c);
	closed = wait_for_completion_timeout(&c->done, t_ticks(10));
	if (!closed) {
		t_fail(t, "ndk_close_adapter() has not returned");
		t->wedged = true;
	}
	closer_put(c);
	return closed;
}

struct ndk_adapter_info t_info(struct t *t, struct ndk_adapter *adapter)
{
	struct ndk_adapter_info info = {};
	size_t size = sizeof(info);
	int rc = ndk_query_adapter_info(adapter, &info, &size);

	if (rc || size != sizeof(info))
		t_fail(t, "querying the adapter: %s, %zu bytes", t_errname(rc), size);
	return info;
}

/* --- begin and end -------------------------------------------------------- */

void t_begin(struct t *t, const struct t_case *c)
{
	memset(t, 0, sizeof(*t));
	t->c = c;
	t->arg = c->arg;
	t->version = (struct ndk_version) { NDK_VERSION_MAJOR, NDK_VERSION_MINOR };
	spin_lock_init(&t->lock);
	INIT_LIST_HEAD(&t->bufs);
	INIT_LIST_HEAD(&t->mem);
}

void t_close_all(struct t *t, u32 types)
{
	struct t_await *first, *w;
	int i;

	first = &t->awaits[t->nr_awaits];
	for (i = T_OBJS - 1; i >= 0; i--)
		if (t->objs[i].header && (types & BIT(t->objs[i].type)))
			t_close_start(t, t->objs[i].header);
	for (w = first; w < &t->awaits[t->nr_awaits]; w++)
		if (w->pending && t_join(w) == -ETIME)
			t->wedged = true;
}

static void judge_awaits(struct t *t)
{
	struct t_await *w;
	int calls;

	for (w = t->awaits; w < &t->awaits[t->nr_awaits]; w++) {
		calls = atomic_read(&w->calls);
		if (w->pending && !calls) {
			t_fail(t, "%s: pending, never completed", w->what);
			t->wedged = true;
		}
		if (!w->pending && calls)
			t_fail(t, "%s: not pending, completed all the same", w->what);
	}
}

static void free_bufs(struct t *t, bool keep)
{
	struct t_buf *buf;

	list_for_each_entry(buf, &t->bufs, list) {
		if (buf->lam)
			ndk_release_lam(buf->adapter, buf->lam);
		if (!keep)
			free_pages_exact(buf->va, buf->size);
	}
}

void t_start_over(struct t *t)
{
	int i;

	t_close_all(t, T_EVERYTHING);
	free_bufs(t, t->wedged);
	INIT_LIST_HEAD(&t->bufs);
	for (i = 0; i < T_ADAPTERS; i++)
		if (t->adapters[i])
			t_close_adapter(t, t->adapters[i]);
	judge_awaits(t);
	if (t->wedged)
		return;
	memset(t->awaits, 0, t->nr_awaits * sizeof(t->awaits[0]));
	t->nr_awaits = 0;
}

void t_end_case(struct t *t)
{
	struct t_mem *mem, *next;

	t_start_over(t);
	if (t->wedged) {
		/* A late callback must find its context, and code to run. */
		__module_get(THIS_MODULE);
		return;
	}
	list_for_each_entry_safe(mem, next, &t->mem, list)
		kfree(mem);
}
