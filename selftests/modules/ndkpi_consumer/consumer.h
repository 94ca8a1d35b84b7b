/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndkpi_consumer - a consumer of NDKPI as it would be written for Windows: it
 * knows the names of <ndk/ndkpi.h> only. Loading the module runs one case.
 */
#ifndef _NDKPI_CONSUMER_H
#define _NDKPI_CONSUMER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/printk.h>
#include <linux/spinlock.h>

#include <ndk/ndkpi.h>

/* Where the module was loaded. */
extern PWSK_CLIENT client;
extern IF_INDEX interface;
extern SOCKADDR_INET local;
extern unsigned int scale;
extern atomic_t failures;

#define FAIL(fmt, ...) do {								\
	atomic_inc(&failures);								\
	pr_err("ndkpi_consumer: %s:%d: " fmt "\n", __func__, __LINE__, ##__VA_ARGS__);	\
} while (0)

#define EXPECT(cond) ({									\
	bool _ok = (cond);								\
	if (!_ok)									\
		FAIL("not so: %s", #cond);						\
	_ok;										\
})

#define EXPECT_STATUS(got, want) ({							\
	NTSTATUS _got = (got), _want = (want);						\
	if (_got != _want)								\
		FAIL("%s is %#010x, should be %#010x", #got, _got, _want);		\
	_got == _want;									\
})

#define EXPECT_EQ(got, want) ({								\
	s64 _got = (got), _want = (want);						\
	if (_got != _want)								\
		FAIL("%s is %lld, should be %lld", #got, _got, _want);			\
	_got == _want;									\
})

/* --- kit.c ---------------------------------------------------------------- */

/* The end of a call, or an event. */
struct answer {
	struct completion done;
	atomic_t calls;
	NTSTATUS status;
	NDK_OBJECT_HEADER *object;
	/* what else the callback does */
	void (*then)(struct answer *a);
	void *arg;
};

#define DECLARE_ANSWER(name)	struct answer name = { .done = COMPLETION_INITIALIZER_ONSTACK(name.done) }

void answer_init(struct answer *a);
NDK_FN_CREATE_COMPLETION on_create;
NDK_FN_REQUEST_COMPLETION on_request;
NDK_FN_CLOSE_COMPLETION on_close;

/* What the call answered in the end; its callback came once if it was pending, else never. */
NTSTATUS settle(struct answer *a, NTSTATUS status);
/* For a callback that must come. */
NTSTATUS wait_for(struct answer *a);

/* Nothing that a create call may leave in a result pointer. */
#define POISON	((PVOID)0x5ca1ab1e)

/* A new object of kind NAME, or NULL: CREATE(NDK_CQ, status, call up to its last three arguments). */
#define CREATE(type, rc, call, ...) ({							\
	DECLARE_ANSWER(_a);									\
	type *_o = POISON;								\
	NTSTATUS _s = call(__VA_ARGS__, on_create, &_a, &_o);				\
	rc = created(&_a, _s, (PVOID *)&_o);						\
	_o;										\
})
NTSTATUS created(struct answer *a, NTSTATUS status, PVOID *object);

#define CLOSE(object, slot) do {							\
	if (object) {									\
		DECLARE_ANSWER(_a);								\
		settle(&_a, (object)->Dispatch->slot(&(object)->Header, on_close, &_a));	\
		object = NULL;								\
	}										\
} while (0)

/* One end of a connection. */
struct end {
	NDK_ADAPTER *adapter;
	NDK_ADAPTER_INFO info;
	NDK_PD *pd;
	NDK_CQ *cq;
	NDK_QP *qp;
	NDK_CONNECTOR *connector;
	struct completion notified;
	atomic_t running;
	NTSTATUS cq_status;
	struct answer gone;
	/* registered memory */
	u8 *memory;
	MDL *mdl;
	NDK_MR *mr;
};

#define MEMORY	(2 * PAGE_SIZE)
#define DEPTH	16
#define SGES	4
#define INLINE	64

extern const NDK_VERSION version;

NDK_FN_CQ_NOTIFICATION_CALLBACK on_notification;
NDK_FN_DISCONNECT_EVENT_CALLBACK on_gone;

/* Adapter, PD, CQ, QP, memory, MR. */
bool end_open(struct end *e);
bool end_open_qp(struct end *e);
void end_close(struct end *e);
NDK_SGE piece(struct end *e, size_t offset, ULONG length);

/* The next result, waited for; of the type if it is not 0. */
bool take(struct end *e, NDK_RESULT_EX *result);
bool take_status(struct end *e, PVOID context, ULONG type, NTSTATUS status);

struct pair {
	struct end active;
	struct end passive;
	NDK_LISTENER *listener;
	SOCKADDR_STORAGE address;
	ULONG address_length;
	struct answer accepted;
	struct answer incoming;
	/* connect events accept with passive.qp, or leave the connector in incoming.object */
	bool accept;
	bool extended;
};

NDK_FN_CONNECT_EVENT_CALLBACK on_connect;

bool pair_open(struct pair *p);
/* Connects active and passive. */
bool pair_connect(struct pair *p);
void pair_close(struct pair *p);
NTSTATUS pair_listen(struct pair *p);
NTSTATUS connect_to(struct end *e, const SOCKADDR_STORAGE *address, ULONG length, struct answer *a);
ULONG local_length(void);

/* --- cases ---------------------------------------------------------------- */

void case_layout(void);
void case_adapter(void);
void case_objects(void);
void case_mdl(void);
void case_register(void);
void case_lam(void);
void case_connect(void);
void case_refuse(void);
void case_extended(void);
void case_shared_endpoint(void);
void case_transfer(void);
void case_invalidate(void);
void case_window(void);
void case_srq(void);
void case_cq(void);
void case_flush(void);
void case_callbacks(void);
void case_pending(void);
void case_atomic(void);
void case_failing(void);
void case_path(void);
void case_removal(void);
void case_removal_end(void);

#endif /* _NDKPI_CONSUMER_H */
