/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk_test - a kernel consumer that proves, call by call, that the provider
 * keeps what <ndk/ndk.h> promises.
 *
 * A case is one function. It runs in process context, in the task that writes
 * to the debugfs file "run", and works on both ends of a connection: network
 * namespaces a and b are in one kernel. What it made and did not close is
 * closed behind it; a callback that comes twice, never, or in the wrong
 * context fails it wherever it comes from.
 */
#ifndef _NDK_TEST_H
#define _NDK_TEST_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/printk.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <ndk/ndk.h>

enum t_side { SIDE_A, SIDE_B };

/* The two hosts. */
struct t_world {
	struct net *net[2];
	char device[2][64];
	char ifname[2][16];
	int ifindex[2];
	struct sockaddr_in v4[2];
	struct sockaddr_in6 v6[2];
	bool iwarp;
};

extern struct t_world world;
extern unsigned int t_scale;
extern bool t_verbose;
extern unsigned int t_rounds;
extern bool t_long;

/* How much of the cases that can be made long. */
struct t_soak {
	u64 seed;
	u64 ops;
	unsigned int connections;
	unsigned int seconds;
	unsigned int messages;
	unsigned int removals;
	/* how far it has come */
	u64 done;
};

extern struct t_soak t_soak;

/* What happens, with the time of the kernel log. */
#define t_trace(fmt, ...) do {						\
	if (t_verbose)							\
		pr_info("  " fmt "\n", ##__VA_ARGS__);			\
} while (0)

struct t;
struct t_await;
struct t_end;
struct t_listener;

struct t_case {
	const char *name;
	void (*run)(struct t *t);
	long arg;
};

struct t_group {
	const char *name;
	const struct t_case *cases;
	size_t nr;
};

#define T_GROUP(_name, _cases) \
	const struct t_group _name##_group = { .name = #_name, .cases = _cases, .nr = ARRAY_SIZE(_cases) }

extern const struct t_group adapter_group;
extern const struct t_group lifetime_group;
extern const struct t_group arguments_group;
extern const struct t_group contexts_group;
extern const struct t_group pending_group;
extern const struct t_group rules_group;
extern const struct t_group events_group;
extern const struct t_group cq_group;
extern const struct t_group moderation_group;
extern const struct t_group resize_group;
extern const struct t_group datapath_group;
extern const struct t_group queues_group;
extern const struct t_group queue_ends_group;
extern const struct t_group defer_group;
extern const struct t_group srq_group;
extern const struct t_group srq_notify_group;
extern const struct t_group srq_life_group;
extern const struct t_group srq_crowd_group;
extern const struct t_group window_group;
extern const struct t_group window_rules_group;
extern const struct t_group memory_group;
extern const struct t_group fastreg_group;
extern const struct t_group connect_group;
extern const struct t_group listening_group;
extern const struct t_group neighbour_group;
extern const struct t_group addresses_group;
extern const struct t_group teardown_group;
extern const struct t_group disconnect_group;
extern const struct t_group removal_group;
extern const struct t_group failnth_group;
extern const struct t_group failnth_cq_group;
extern const struct t_group failnth_posts_group;
extern const struct t_group failnth_workers_group;
extern const struct t_group failnth_life_group;
extern const struct t_group hostile_group;
extern const struct t_group observe_group;
extern const struct t_group tables_group;
extern const struct t_group versions_group;
extern const struct t_group shared_endpoint_group;
extern const struct t_group shared_calls_group;
extern const struct t_group exhaustion_group;
extern const struct t_group timeouts_group;
extern const struct t_group rows_group;
extern const struct t_group netfaults_group;
extern const struct t_group reports_requests_group;
extern const struct t_group reports_load_group;
extern const struct t_group reports_connections_group;
extern const struct t_group soak_group;
extern const struct t_group refuses_group;
extern const struct t_group costless_group;
extern const struct t_group removal_storm_group;
extern const struct t_group loss_group;

/*
 * One call that may be answered by a callback, and that callback: exactly once
 * if the call was pending, never if it was not. Judged when the case ends.
 */
struct t_await {
	struct t *t;
	const char *what;
	struct completion done;
	atomic_t calls;
	bool pending;
	/* The callback is about to return: what must wait for its return sees it set. */
	bool left;
	int status;
	struct ndk_object_header *object;
	/* Run inside the callback, before anybody is woken. */
	void (*then)(struct t_await *w);
	void *arg;
};

struct t_obj {
	struct ndk_object_header *header;
	u32 type;
};

struct t_buf {
	struct list_head list;
	struct ndk_adapter *adapter;
	u8 *va;
	size_t size;
	struct scatterlist sg;
	struct ndk_lam *lam;
	size_t lam_size;
	u32 fbo;
	u32 token;
};

#define T_AWAITS	2048
#define T_OBJS		512
#define T_ADAPTERS	16
#define T_LOG		8192

/* One run of one case. */
struct t {
	const struct t_case *c;
	long arg;
	/* in force on the adapters of the case */
	struct ndk_version version;
	spinlock_t lock;
	unsigned int failures;
	/* Something never ended: memory must stay, and so must the module. */
	bool wedged;
	unsigned int nr_awaits;
	struct t_await awaits[T_AWAITS];
	struct t_obj objs[T_OBJS];
	struct ndk_adapter *adapters[T_ADAPTERS];
	struct ndk_adapter *side[2];
	struct list_head bufs;
	struct list_head mem;
	size_t log_len;
	char log[T_LOG];
};

/* --- verdicts ------------------------------------------------------------- */

const char *t_errname(int status);

__printf(4, 5)
void t_fail_at(struct t *t, const char *func, int line, const char *fmt, ...);

/* Something to know, that is no failure. */
__printf(2, 3)
void t_note(struct t *t, const char *fmt, ...);

#define t_fail(t, fmt, ...) t_fail_at(t, __func__, __LINE__, fmt, ##__VA_ARGS__)

#define EXPECT(t, cond) ({						\
	bool _ok = (cond);						\
	if (!_ok)							\
		t_fail(t, "not so: %s", #cond);				\
	_ok;								\
})

#define EXPECT_EQ(t, got, want) ({					\
	long long _got = (got), _want = (want);				\
	if (_got != _want)						\
		t_fail(t, "%s is %lld, should be %lld", #got, _got, _want); \
	_got == _want;							\
})

/* Both are 0 or a negative errno. */
#define EXPECT_STATUS(t, got, want) ({					\
	int _got = (got), _want = (want);				\
	if (_got != _want)						\
		t_fail(t, "%s is %s, should be %s", #got,		\
		       t_errname(_got), t_errname(_want));		\
	_got == _want;							\
})

/* --- kit.c: calls, callbacks, objects ------------------------------------- */

void t_begin(struct t *t, const struct t_case *c);
/* Everything is closed and judged, and the case goes on with nothing. */
void t_start_over(struct t *t);
void t_end_case(struct t *t);
void *t_alloc(struct t *t, size_t size);
unsigned long t_ticks(unsigned int seconds);
void t_sleep(unsigned int ms);

/* Called first in every callback. */
void t_context(struct t *t, const char *what);

struct t_await *t_await(struct t *t, const char *what);
/* The callbacks; the context is the await. */
void t_created(void *context, int status, struct ndk_object_header *object);
void t_done(void *context, int status);
void t_closed(void *context);
/* The call returned rc: notes whether it is pending, and waits for its end. */
int t_wait(struct t_await *w, int rc);
/* The call returned rc and must be pending. */
bool t_pended(struct t_await *w, int rc);
/* The end of a pending call. */
int t_join(struct t_await *w);
int t_join_secs(struct t_await *w, unsigned int seconds);
bool t_is_done(struct t_await *w);
/* Whether its callback was about to return. */
bool t_has_left(struct t_await *w);

void t_track(struct t *t, struct ndk_object_header *header, u32 type);
struct t_await *t_close_start(struct t *t, struct ndk_object_header *header);
struct t_await *t_close_then(struct t *t, struct ndk_object_header *header,
			     void (*then)(struct t_await *w), void *arg);
void t_close(struct t *t, struct ndk_object_header *header);
/* All that the case has open and is of these types, the last first. */
#define T_EVERYTHING	(~0U)
void t_close_all(struct t *t, u32 types);
/* The call alone, without a completion. */
int t_close_silently(struct t *t, struct ndk_object_header *header);

int t_open(struct t *t, enum t_side side, const struct ndk_open_params *params,
	   struct ndk_adapter **adapter);
/* The adapter of a side, opened on first use. */
struct ndk_adapter *t_adapter(struct t *t, enum t_side side);
struct ndk_adapter *t_another(struct t *t, enum t_side side);
/* ndk_close_adapter() in a thread: false if it has not returned in time. */
bool t_close_adapter(struct t *t, struct ndk_adapter *adapter);
/* An adapter for the queries of <ndk/ndk_query.h>. */
struct ndk_open_params t_the(enum t_side side);
struct ndk_adapter_info t_info(struct t *t, struct ndk_adapter *adapter);

/* --- host.c --------------------------------------------------------------- */

/* A command of selftests/lib.sh, run as root in the guest. */
__printf(2, 3)
int t_host(struct t *t, const char *fmt, ...);

struct t_cq {
	struct t *t;
	struct ndk_cq *cq;
	struct completion notified;
	atomic_t calls;
	atomic_t inside;
	int status;
	/* where the last notification ran */
	int cpu;
	void (*then)(struct t_cq *cq);
	void *arg;
};

void t_notified(void *context, int status);
/* No notification calls cq->then any more when it returns. */
void t_cq_stop(struct t_cq *cq);

/* --- ends.c: the two ends of a connection --------------------------------- */

struct t_cfg {
	/* 0 stands for IPv4 */
	int family;
	u32 depth;
	u32 sge;
	u32 inline_size;
	u32 cq_depth;
	/* receives and initiator requests on one CQ */
	bool one_cq;
	u32 inbound;
	u32 outbound;
};

struct t_end {
	struct t *t;
	enum t_side side;
	struct t_cfg cfg;
	struct ndk_adapter *adapter;
	struct ndk_pd *pd;
	struct t_cq *rcq;
	struct t_cq *icq;
	/* The QP takes its receives from here, if it is there. */
	struct ndk_srq *srq;
	struct ndk_qp *qp;
	/* A connect has been started with it. */
	bool qp_tried;
	struct ndk_connector *connector;
	/* Connects go from here, if it is there. */
	struct ndk_shared_endpoint *shared;
	const void *private_data;
	u32 private_data_len;
	atomic_t gone;
	struct completion gone_done;
	void (*on_gone)(struct t_end *e);
};

struct t_pair {
	struct t_end a;
	struct t_end b;
	struct t_listener *listener;
};

enum t_kind {
	KIND_PD, KIND_CQ, KIND_SRQ, KIND_QP, KIND_MR, KIND_FAST_MR, KIND_MW, KIND_CONNECTOR, KIND_LISTENER,
	KIND_SHARED_ENDPOINT, KINDS
};

u32 t_kind_type(enum t_kind kind);
const char *t_kind_name(enum t_kind kind);
/* The create call alone. */
int t_create_call(struct t_end *e, enum t_kind kind, struct t_await *w, void **out);
/* Judges what it returned; the object, or NULL with *status. */
struct ndk_object_header *t_create_end(struct t_end *e, enum t_kind kind, struct t_await *w,
				       int rc, void **out, int *status);
struct ndk_object_header *t_create(struct t_end *e, enum t_kind kind);
struct ndk_object_header *t_try_create(struct t_end *e, enum t_kind kind, int *status);
void *t_poison(void);
/* A consumer's lock, under which a case calls what must not sleep. */
extern spinlock_t t_consumer_lock;

/* Another end that shares everything but what tells of the end of its connection. */
void t_end_copy(struct t_end *to, const struct t_end *from);

/* Adapter, PD and CQs; with t_end_qp() a QP as well. */
bool t_end_init(struct t *t, struct t_end *e, enum t_side side, const struct t_cfg *cfg);
bool t_end_qp(struct t_end *e);
struct t_cq *t_cq(struct t_end *e, u32 depth);
int t_resize(struct t_cq *cq, u32 depth);
/* Wants its notifications on that CPU. */
struct t_cq *t_cq_near(struct t_end *e, u32 depth, int affinity);
/* Starts to close everything of an end, in an order that is the reverse of the natural one. */
void t_end_close_start(struct t_end *e);

u32 t_addr(enum t_side side, int family, u16 port, struct sockaddr_storage *ss);
u32 t_addr_len(const struct sockaddr_storage *ss);
u16 t_port(const struct sockaddr_storage *ss);
bool t_same_addr(const struct sockaddr_storage *x, const struct sockaddr_storage *y);

struct t_listener {
	struct t *t;
	struct ndk_listener *listener;
	struct sockaddr_storage address;
	spinlock_t lock;
	struct ndk_connector *queue[64];
	unsigned int head, tail;
	atomic_t events;
	struct completion came;
	void (*then)(struct t_listener *l, struct ndk_connector *connector);
	void *arg;
};

struct t_listener *t_listener(struct t_end *e);
struct t_listener *t_try_listener(struct t_end *e, int *status);
int t_listen(struct t_listener *l, enum t_side side, int family, u16 port);
/* Created and listening; port 0 for any. */
struct t_listener *t_listening(struct t_end *e, int family, u16 port);
struct ndk_connector *t_incoming(struct t_listener *l);
bool t_nothing_incoming(struct t_listener *l, unsigned int ms);

int t_share_call(struct t_end *e, const struct sockaddr_storage *at, ndk_create_completion_fn done,
		 struct t_await *w, void **out);
/* How the creation of a shared endpoint ends; port 0 for any. */
struct ndk_shared_endpoint *t_try_share(struct t_end *e, int family, u16 port, int *status);
/* e->shared. */
bool t_share(struct t_end *e, int family, u16 port);
int t_shared_address(struct ndk_shared_endpoint *shared, struct sockaddr_storage *ss);
int t_shared_connect_call(struct t_end *e, const struct sockaddr_storage *to, struct t_await *w);
/* How they end; port 0 for any. */
int t_listen_status(struct t_end *e, int family, u16 port);
int t_share_status(struct t_end *e, int family, u16 port);
/* Another end of the same adapter and CQs, with a QP of its own. */
struct t_end *t_sibling(struct t_end *e);
/* e->connector. */
bool t_connector_of(struct t_end *e);

void t_gone(void *context);
void t_gone_ex(void *context, u32 reason);
bool t_wait_gone(struct t_end *e);
int t_connect_call(struct t_end *e, const struct sockaddr_storage *from,
		   const struct sockaddr_storage *to, struct t_await *w);
struct t_await *t_connect_start(struct t_end *e, const struct sockaddr_storage *to);
/* How a connect ends. */
int t_connect(struct t_end *e, const struct sockaddr_storage *to);
struct t_await *t_accept_start(struct t_end *e, struct ndk_connector *connector);
struct t_await *t_complete_start(struct t_end *e);
struct t_await *t_disconnect_start(struct t_end *e);
/* From two ends with QPs to a connection. */
bool t_establish(struct t_end *a, struct t_listener *l, struct t_end *b);
struct t_pair *t_pair_unconnected(struct t *t, const struct t_cfg *cfg);
struct t_pair *t_pair(struct t *t, const struct t_cfg *cfg);

/* --- srqs.c: SRQs, and connections that share one --------------------------- */

/* An SRQ of this end's PD, the notifications of which are counted. */
struct t_srq {
	struct t *t;
	struct t_end *e;
	struct ndk_srq *srq;
	struct completion notified;
	atomic_t calls;
	atomic_t inside;
	int status;
	/* the last notification came here */
	int cpu;
	void (*then)(struct t_srq *s);
	void *arg;
};

/* The create call alone. */
int t_srq_call(struct t_srq *s, u32 depth, u32 sge, u32 threshold, int cpu, struct t_await *w, void **out);
struct t_srq *t_srq(struct t_end *e, u32 depth, u32 threshold);
/* The depth to begin with for an SRQ that is to have more later: siw cannot make it larger. */
u32 t_srq_start(u32 depth, u32 most);
int t_srq_modify(struct t_srq *s, u32 depth, u32 threshold);
/* It notifies, or it does not. */
bool t_srq_low(struct t_srq *s);
bool t_srq_silent(struct t_srq *s, unsigned int ms);

#define T_SHARED	8
#define T_MESSAGE	256
#define T_PLACES	64

/* Connections of a to b, the receives of which come from one SRQ. */
struct t_shared {
	struct t *t;
	unsigned int nr;
	struct t_end a[T_SHARED];
	struct t_end b[T_SHARED];
	struct t_srq *srq;
	struct t_listener *listener;
	/* a place for each of T_PLACES receives */
	struct t_buf *in;
	struct t_buf *out[T_SHARED];
};

struct t_shared *t_shared_unconnected(struct t *t, unsigned int nr, u32 depth, u32 threshold);
bool t_shared_connect(struct t_shared *s);
struct t_shared *t_shared(struct t *t, unsigned int nr, u32 depth, u32 threshold);
/* A receive into the place of its number. */
int t_shared_post(struct t_shared *s, unsigned long ctx);
bool t_shared_fill(struct t_shared *s, unsigned long first, unsigned int nr);
/* A message, which has been received when it returns. */
bool t_shared_send(struct t_shared *s, unsigned int i, unsigned long ctx);
/* The next result of a connection is this receive, with this message. */
bool t_shared_got(struct t_shared *s, unsigned int i, unsigned long receive, unsigned long sent);
/* The receives are as they were: connection i gets them in their order. */
bool t_shared_still_there(struct t_shared *s, unsigned int i, unsigned long first, unsigned int nr);

/* --- io.c: buffers, requests, results ------------------------------------- */

struct t_buf *t_buf(struct t_end *e, size_t size);
/* A part of the buffer as SGEs with the privileged token; 0 if they do not fit. */
u32 t_sges(struct t_buf *buf, size_t offset, size_t length, struct ndk_sge *sge, u32 max);
void t_fill(void *p, size_t length, u32 seed);
bool t_check_fill(struct t *t, const void *p, size_t length, u32 seed, const char *what);
bool t_check_byte(struct t *t, const void *p, size_t length, u8 byte, const char *what);

#define CTX(n) ((void *)(unsigned long)(n))

int t_post_send(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length, u32 flags);
int t_post_receive(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length);
int t_post_srq(struct t_srq *s, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length);
int t_post_write(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length,
		 u64 remote, u32 token, u32 flags);
int t_post_read(struct t_end *e, unsigned long ctx, struct t_buf *buf, size_t offset, size_t length,
		u64 remote, u32 token, u32 flags);

/* The next result; waits for it with arm and notification as a consumer would. */
bool t_take(struct t_cq *cq, struct ndk_result_ex *r);
bool t_try_take(struct t_cq *cq, struct ndk_result_ex *r, unsigned int ms);
/* The next result is the success of this request. */
bool t_take_ok(struct t_end *e, struct t_cq *cq, unsigned long ctx, u32 type);
bool t_take_status(struct t_end *e, struct t_cq *cq, unsigned long ctx, u32 type, int status);
/* The success of this request is there, without a wait. */
bool t_take_ok_now(struct t_end *e, struct t_cq *cq, unsigned long ctx);
bool t_no_result(struct t_cq *cq, unsigned int ms);
/* Empties a CQ until nr results came; all with this status. */
bool t_drain(struct t_cq *cq, unsigned int nr, int status);
/* One message from one end to the other; proves that the connection works. */
/*
 * All that the end has sent and written is with its peer. On InfiniBand and RoCE that is what success says; on iWARP it says
 * that it is on its way, and a read of nothing comes back when it is there.
 */
bool t_arrived(struct t_end *e);
/*
 * The result of a request that the peer's device refuses. On iWARP the end of the connection tells it, and the request, unless
 * it is a read, may have succeeded.
 */
bool t_refused(struct t_end *e, struct t_cq *cq, unsigned long ctx, u32 type);
bool t_ping(struct t_end *from, struct t_end *to);

/* Registered memory of an end, as the peer may use it. */
struct t_region {
	struct ndk_mr *mr;
	u8 *va;
	size_t size;
	struct scatterlist *sg;
	unsigned int nents;
	u64 base;
	u32 local;
	u32 remote;
};

struct t_region *t_memory(struct t_end *e, size_t size);
int t_register(struct t_end *e, struct t_region *r, u32 flags);
int t_deregister(struct t_end *e, struct t_region *r);
struct t_region *t_region(struct t_end *e, size_t size, u32 flags);

#endif /* _NDK_TEST_H */
