/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traffic under stress: many connections, each a slot, on which two workers, one per CPU, do what a generator says.
 *
 * What a worker does with its n-th operation is a function of the seed, the worker and n alone. Both ends of a slot belong to one
 * worker; callbacks of the provider run beside it on any CPU.
 *
 * Locks, the outer first: sk_cq.lock (poll and arm), sk_slot.lock (the queues, what is registered, who may still call),
 * sk_set.srq_lock, sk_owner.lock (calls, objects). Posts are made with them held, as consumers do.
 */
#ifndef _NDK_TEST_SOAK_H
#define _NDK_TEST_SOAK_H

#include "ndk_test.h"

#define SK_SLOTS	256
#define SK_WORKERS	2
#define SK_DEPTH	16
#define SK_SOURCES	4
/* An end's memory in cells: what it sends or reads into, receives into, is written to, is read from. */
#define SK_OUT		0
#define SK_IN		SK_DEPTH
#define SK_TARGET	(2 * SK_DEPTH)
#define SK_CELLS	(3 * SK_DEPTH + SK_SOURCES)
#define SK_SHOWN	(SK_CELLS - SK_TARGET)
#define SK_SRQ		64
#define SK_CALLS	96
#define SK_OBJS		40
#define SK_PAST		48

/* What shows memory to the peer: the registered MR, fast MRs, windows. */
enum { REG_MR, REG_FAST, REG_WINDOW = REG_FAST + 2, REGS = REG_WINDOW + 2 };

struct soak;
struct sk_slot;

/* One call that can pend, and its end: once, and only if it pended. */
struct sk_call {
	struct sk_owner *o;
	const char *what;
	struct completion done;
	atomic_t calls;
	bool pending;
	int status;
	struct ndk_object_header *object;
};

struct sk_obj {
	struct ndk_object_header *header;
	u32 type;
	bool closing;
};

/* A request that was posted, or a message that came, and how it ended. */
struct sk_past {
	u64 op, id;
	u32 type, flags, token, length;
	int status;
	u8 end, reg, first, last;
	bool came;
};

/* What calls are made for: a slot, or what the slots of a worker share. */
struct sk_owner {
	struct soak *k;
	const char *name;
	unsigned int worker, nr;
	/* the worker's operation that was the last to touch it */
	u64 op;
	spinlock_t lock;
	unsigned int nr_calls, nr_objs;
	struct sk_call calls[SK_CALLS];
	struct sk_obj objs[SK_OBJS];
	/* The fail_in-th creation from now on has its fail_nth-th allocation fail. */
	unsigned int fail_in, fail_nth;
	bool armed;
	/* what happened last, for whoever looks into a failure */
	struct sk_past past[SK_PAST];
	unsigned int nr_past;
	bool told;
};

struct sk_cq {
	struct sk_owner *o;
	spinlock_t lock;
	struct ndk_cq *cq;
	u32 depth;
	/* Emptied and armed by its notifications; else the worker polls it, and may arm it. */
	bool callback;
	/* Results are taken in the form that has no type. */
	bool plain;
	bool closed;
	struct sk_call *resizing;
	atomic_t arms, calls, inside;
};

struct sk_req {
	u32 type;
	bool silent;
	u8 reg;
	u8 cell;
	u32 length;
};

struct sk_queue {
	u64 head, tail;
	/* An error came: nothing after it succeeds. */
	bool failed;
	struct sk_req req[SK_DEPTH];
};

enum reg_state { REG_NONE, REG_MAKING, REG_READY, REG_TAKING };

/* Cells first to last - 1 can be reached with this token. */
struct sk_reg {
	enum reg_state state;
	u32 token;
	u64 base;
	u8 first, last;
	/* requests of the peer under way that use it */
	unsigned int uses;
};

struct sk_end {
	struct sk_slot *s;
	enum t_side side;
	struct ndk_pd *pd;
	struct sk_cq own[2];
	struct sk_cq *rcq, *icq;
	struct ndk_qp *qp;
	struct ndk_connector *connector;
	struct ndk_shared_endpoint *shared;
	struct ndk_mr *mr, *fast[2];
	struct ndk_mw *mw[2];
	bool srq;
	u8 *va;
	struct scatterlist sg, shown;
	struct ndk_lam *lam;
	u32 token, inline_size;
	struct sk_queue rq, sq;
	struct sk_reg reg[REGS];
	/* messages */
	u32 sent, got;
	/* No more calls on them: their close was called. */
	bool qp_closed, connector_closed;
	/* Its own disconnect or close was called. */
	bool left;
	atomic_t gone;
};

enum slot_state { SLOT_EMPTY, SLOT_UP, SLOT_ENDING, SLOT_DRAINING, SLOT_CLOSING };

/* What the other end does in its disconnect event. */
enum { REACT_LATER, REACT_DISCONNECT, REACT_CLOSE };

struct sk_slot {
	struct sk_owner o;
	struct sk_set *set;
	spinlock_t lock;
	enum slot_state state;
	u32 life;
	bool ending;
	/* It ended by itself; the transport had no answer for too long. */
	bool broken, gave_up;
	/* what failed first, if a request did */
	u32 why_type;
	int why;
	/* Before the slot is taken down, this end hears of the other's. */
	struct sk_end *hears;
	int react;
	/* It waits until calls have ended before it closes anything. */
	bool waits;
	/* Lives that were closed all at once, the CQs with them, so that nobody counted the results. */
	u64 hard_lives;
	u64 shuffle;
	unsigned long deadline;
	/* All calls have ended; results that notifications are to take have until then. */
	bool settled;
	unsigned long patience;
	bool wanted, accept_at_once;
	struct completion came;
	struct sk_call *accept;
	struct sk_end a, b;
};

/* What the slots of a worker share. */
struct sk_set {
	struct sk_owner o;
	struct ndk_pd *pd[2];
	struct sk_cq cq[2];
	struct ndk_listener *listener[2];
	struct sockaddr_storage address[2];
	struct ndk_srq *srq;
	u32 token;
	spinlock_t srq_lock;
	bool srq_closed;
	bool srq_posted[SK_SRQ];
	u8 *srq_va;
	struct scatterlist srq_sg;
	struct ndk_lam *srq_lam;
};

enum sk_count {
	N_CONNECTED, N_ABANDONED, N_REFUSED, N_NO_MEMORY, N_MESSAGES, N_REPEATED, N_WRITES, N_READS, N_REGISTERED, N_BOUND, N_INVALIDATED,
	N_REMOTE_INVALIDATED, N_CHAINS, N_BYTES, N_RESIZED, N_NOTIFIED, N_CANCELLED, N_ENDS, N_GAVE_UP, N_STALLED, N_STORMS, N_COUNTS
};

struct sk_worker {
	struct soak *k;
	unsigned int nr;
	struct task_struct *task;
	struct completion done;
	u64 op;
	struct sk_set set;
};

struct soak {
	struct t *t;
	unsigned int slots;
	u32 cell;
	u64 seed;
	/* operations of each worker, and when to stop at the latest */
	u64 ops;
	unsigned long end;
	/* Nothing but transfers. */
	bool steady;
	/* Packets get lost: the device may forget a request, and the transport may give up. */
	bool lossy;
	/* No connection is made. */
	bool no_connects;
	/* See case_loss.c: none, or with nothing before or behind them in the queue. */
	bool no_reads, lone_reads;
	/* Nothing new is posted. */
	bool draining;
	/* Few ends have registered memory, and none a PD of its own. */
	bool light;
	/* Any failure may come: a device is gone. */
	bool removed;
	atomic_t stop;
	atomic_t strays;
	atomic64_t count[N_COUNTS];
	struct ndk_adapter *adapter[2];
	struct sk_worker worker[SK_WORKERS];
	struct sk_slot *slot[SK_SLOTS];
};

/* Numbers that depend on nothing but where they begin. */
struct sk_dice {
	u64 state;
};

u64 sk_mix(u64 x);
u32 sk_roll(struct sk_dice *d, u32 sides);
static inline bool sk_once_in(struct sk_dice *d, u32 sides)
{
	return !sk_roll(d, sides);
}

/* --- soak_life.c: calls, objects, connections ------------------------------- */

void sk_note(struct sk_owner *o, struct sk_past past);
__printf(2, 3)
void sk_fail(struct sk_owner *o, const char *fmt, ...);
void sk_count(struct soak *k, enum sk_count what, u64 n);
void sk_owner_init(struct sk_owner *o, struct soak *k, const char *name, unsigned int worker, unsigned int nr);
struct sk_call *sk_call(struct sk_owner *o, const char *what);
void sk_created(void *context, int status, struct ndk_object_header *object);
void sk_done(void *context, int status);
/* The end of a call that returned rc. */
int sk_wait(struct sk_call *c, int rc);
bool sk_all_done(struct sk_owner *o);
void sk_say_pending(struct sk_owner *o);
/* Judges the calls, all of which have ended, and forgets them. */
void sk_owner_reset(struct sk_owner *o);
void sk_fail_before(struct sk_owner *o);
void *sk_made(struct sk_owner *o, struct sk_call *c, int rc, void *out);

/* The object that a creating function makes, or NULL. */
#define SK_CREATE(owner, type, fn, ...) ({						\
	struct sk_owner *_o = (owner);							\
	struct sk_call *_c = sk_call(_o, #fn);						\
	struct type *_out = t_poison();							\
	int _rc;									\
	sk_fail_before(_o);								\
	_rc = fn(__VA_ARGS__, sk_created, _c, &_out);					\
	(struct type *)sk_made(_o, _c, _rc, _out);					\
})

bool sk_own(struct sk_owner *o, struct ndk_object_header *h);
/* Starts the close of everything of an owner, but what skip says, in an order that the dice make. */
void sk_close_all(struct sk_owner *o, struct sk_dice *d, u64 skip);
void sk_close_connector(struct sk_end *e);
void sk_close_qp(struct sk_end *e);
void sk_disconnect(struct sk_end *e);
bool sk_set_up(struct sk_set *set);
bool sk_lam(struct soak *k, enum t_side side, struct scatterlist *sg, struct ndk_lam **lam);

/* --- soak_connect.c --------------------------------------------------------- */

void sk_connect_event(void *context, struct ndk_connector *connector);
/* Brings an empty slot up, or as far as the dice let it come. */
void sk_connect(struct sk_slot *s, struct sk_dice *d);
bool sk_broke(struct sk_slot *s);
/* Ends a connection in one of many ways. */
void sk_end(struct sk_slot *s, struct sk_dice *d);
/* Takes a slot that is not up one step further to its end. */
void sk_visit(struct sk_slot *s);
/* Everything of the slot is closed, one after the other or at once. */
void sk_take_down(struct sk_slot *s, bool hard);

/* --- soak_io.c: requests and results ---------------------------------------- */

bool sk_cq_create(struct sk_cq *cq, struct sk_owner *o, enum t_side side, u32 depth, bool callback, int cpu);
void sk_cq_stop(struct sk_cq *cq);
u32 sk_poll(struct sk_cq *cq, u32 most);
void sk_arm(struct sk_cq *cq, u32 type);
/* As many as there is room for, up to most. */
void sk_receives(struct sk_end *e, u32 most);
/* A receive into each free place of the SRQ, up to most. */
void sk_srq_receives(struct sk_set *set, u32 most);
void *sk_cell(struct sk_end *e, u32 nr);
struct sk_end *sk_peer(struct sk_end *e);
void *sk_context(struct sk_slot *s, u64 id);
u32 sk_pieces(struct ndk_lam *lam, size_t at, u32 length, u32 token, struct ndk_sge *sge);
/* What moves: its sender's number seq of it, with a checksum. */
#define SK_LEAST	32
void sk_build(struct sk_end *e, void *at, u32 length, u32 seq, u32 token);
void sk_refused(struct sk_end *e, const char *what, int rc);
void sk_prepare_memory(struct sk_end *e);
/* Requests that have no result yet, but may still have one. */
u64 sk_outstanding(struct sk_end *e);
void sk_tell_outstanding(struct sk_end *e);
/* Of these, what the peer has to do with. */
u64 sk_sends_outstanding(struct sk_end *e);

/* --- soak_post.c: the initiator queue; nothing is done for which there is no room or no use now --------- */

void sk_send(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_write(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_read(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_fast_register(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_bind(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_invalidate(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_send_and_invalidate(struct sk_end *e, struct sk_dice *d, u32 flags);
void sk_chain(struct sk_end *e, struct sk_dice *d);

/* --- soak_run.c: the generator and its workers ------------------------------ */

struct soak *sk_new(struct t *t, unsigned int slots, u32 cell, u64 seed);
/* The workers run until ops, end or stop. */
bool sk_start(struct soak *k);
void sk_join(struct soak *k);
/* Everything that the workers have is closed, in any order. */
void sk_put_down(struct soak *k);
/* That, and the memory is freed. */
void sk_finish(struct soak *k);
void sk_report(struct soak *k);

#endif /* _NDK_TEST_SOAK_H */
