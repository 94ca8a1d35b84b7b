/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations fail in a call: the first, then the second, until the call has no more (fail_nth of this task). Or in the workers
 * of all work queues, since what sleeps is done in them.
 */
#ifndef _NDK_TEST_FAILNTH_H
#define _NDK_TEST_FAILNTH_H

#include <linux/sched.h>

#include "ndk_test.h"

#ifdef CONFIG_FAULT_INJECTION
static inline void fail_nth(unsigned int n)
{
	WRITE_ONCE(current->fail_nth, n);
}

/* Whether there were that many. */
static inline bool was_hit(void)
{
	bool hit = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return hit;
}
#else
static inline void fail_nth(unsigned int n)
{
}

static inline bool was_hit(void)
{
	return false;
}
#endif

/* From now on the n-th allocation of each worker fails. */
void workers_fail_nth(unsigned int n);
/* No more; whether one did. */
bool workers_were_hit(void);

#define MOST 100

/* Nobody hears of a failure but by its status; the call that follows works. */
static inline bool judge(struct t *t, const char *what, unsigned int n, bool hit, int status)
{
	if (!hit && status) {
		t_fail(t, "%s: %s with no allocation failed", what, t_errname(status));
		return false;
	}
	if (hit && status && status != -ENOMEM) {
		t_fail(t, "%s: %s with allocation %u failed", what, t_errname(status), n);
		return false;
	}
	return true;
}

#endif /* _NDK_TEST_FAILNTH_H */
