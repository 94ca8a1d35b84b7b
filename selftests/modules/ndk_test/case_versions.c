// SPDX-License-Identifier: GPL-2.0
/* Versions, and what each promises: headers, the layout of tables and structures, extensions. */

#include "ndk_test.h"

/* --- layouts -------------------------------------------------------------- */

/* NDKPI's order. What a later minor version brought stands behind all that was there before. */
#define SLOT(table, nr, slot) static_assert(offsetof(struct ndk_##table##_dispatch, slot) == (nr) * sizeof(void *))
#define SLOTS(table, count) static_assert(sizeof(struct ndk_##table##_dispatch) == (count) * sizeof(void *))

SLOT(adapter, 0, query_extension);
SLOT(adapter, 1, query_adapter_info);
SLOT(adapter, 2, create_cq);
SLOT(adapter, 3, create_pd);
SLOT(adapter, 4, create_shared_endpoint);
SLOT(adapter, 5, create_connector);
SLOT(adapter, 6, create_listener);
SLOT(adapter, 7, build_lam);
SLOT(adapter, 8, release_lam);
SLOTS(adapter, 9);

SLOT(pd, 0, close);
SLOT(pd, 1, query_extension);
SLOT(pd, 2, create_mr);
SLOT(pd, 3, create_mw);
SLOT(pd, 4, create_srq);
SLOT(pd, 5, create_qp);
SLOT(pd, 6, create_qp_with_srq);
SLOT(pd, 7, get_privileged_token);
SLOTS(pd, 8);

SLOT(cq, 0, close);
SLOT(cq, 1, query_extension);
SLOT(cq, 2, resize);
SLOT(cq, 3, arm);
SLOT(cq, 4, get_results);
SLOT(cq, 5, control_interrupt_moderation);
/* 1.2 */
SLOT(cq, 6, get_results_ex);
SLOTS(cq, 7);

SLOT(srq, 0, close);
SLOT(srq, 1, query_extension);
SLOT(srq, 2, modify);
SLOT(srq, 3, receive);
SLOTS(srq, 4);

SLOT(qp, 0, close);
SLOT(qp, 1, query_extension);
SLOT(qp, 2, flush);
SLOT(qp, 3, send);
SLOT(qp, 4, receive);
SLOT(qp, 5, bind);
SLOT(qp, 6, fast_register);
SLOT(qp, 7, invalidate);
SLOT(qp, 8, read);
SLOT(qp, 9, write);
/* 1.2 */
SLOT(qp, 10, send_and_invalidate);
SLOTS(qp, 11);

SLOT(mr, 0, close);
SLOT(mr, 1, query_extension);
SLOT(mr, 2, register_mr);
SLOT(mr, 3, deregister);
SLOT(mr, 4, initialize_fast_register);
SLOT(mr, 5, get_remote_token);
SLOT(mr, 6, get_local_token);
SLOTS(mr, 7);

SLOT(mw, 0, close);
SLOT(mw, 1, query_extension);
SLOT(mw, 2, get_remote_token);
SLOTS(mw, 3);

SLOT(shared_endpoint, 0, close);
SLOT(shared_endpoint, 1, query_extension);
SLOT(shared_endpoint, 2, get_local_address);
SLOTS(shared_endpoint, 3);

SLOT(connector, 0, close);
SLOT(connector, 1, query_extension);
SLOT(connector, 2, connect);
SLOT(connector, 3, connect_with_shared_endpoint);
SLOT(connector, 4, complete_connect);
SLOT(connector, 5, accept);
SLOT(connector, 6, reject);
SLOT(connector, 7, get_connection_data);
SLOT(connector, 8, get_local_address);
SLOT(connector, 9, get_peer_address);
SLOT(connector, 10, disconnect);
/* 2.1 */
SLOT(connector, 11, complete_connect_ex);
SLOT(connector, 12, accept_ex);
SLOTS(connector, 13);

SLOT(listener, 0, close);
SLOT(listener, 1, query_extension);
SLOT(listener, 2, listen);
SLOT(listener, 3, get_local_address);
SLOT(listener, 4, control_connect_events);
SLOTS(listener, 5);

/* Sizes of 64 bits are those of NDKPI: of the adapter information 96 bytes without what came last. */
static_assert(sizeof(struct ndk_object_header) == 40);
static_assert(sizeof(struct ndk_pd) == 48);
static_assert(sizeof(struct ndk_sge) == 16);
static_assert(offsetof(struct ndk_lam, pages) == 16);
static_assert(offsetof(struct ndk_adapter_info, rdma_technology) == 96);
static_assert(offsetof(struct ndk_adapter_info, max_registration_size) == 16);
static_assert(sizeof(struct ndk_adapter_info) == 104);
static_assert(sizeof(struct ndk_result) == 24);
static_assert(sizeof(struct ndk_result_ex) == 40);
static_assert(offsetof(struct ndk_result_ex, provider_error_code) == offsetof(struct ndk_result_ex, type) + 4);
static_assert(offsetof(struct ndk_result_ex, type_specific) == 32);

/* --- one of each ---------------------------------------------------------- */

#define MOST 16

/* An object of every type that there is, made over adapters of one version. */
struct all {
	struct t_pair *pair;
	struct ndk_object_header *h[MOST];
	unsigned int nr;
};

static void put(struct all *all, struct ndk_object_header *h)
{
	if (h && !WARN_ON(all->nr == MOST))
		all->h[all->nr++] = h;
}

static bool open_both(struct t *t, struct ndk_version version)
{
	struct ndk_open_params params = { .version = version };
	struct ndk_adapter *adapter;
	int i;

	t->side[SIDE_A] = NULL;
	t->side[SIDE_B] = NULL;
	for (i = 0; i < 2; i++) {
		params.device = world.device[i];
		if (!EXPECT_STATUS(t, t_open(t, i, &params, &adapter), 0))
			return false;
		t->side[i] = adapter;
	}
	return true;
}

/* Each header is checked for its type and version where the kit gets it. */
static struct all *make_all(struct t *t, struct ndk_version version)
{
	struct all *all = t_alloc(t, sizeof(*all));
	enum t_kind kind;

	if (!open_both(t, version))
		return NULL;
	all->pair = t_pair(t, NULL);
	if (!all->pair)
		return NULL;
	put(all, &all->pair->a.adapter->header);
	for (kind = 0; kind < KINDS; kind++)
		put(all, t_create(&all->pair->a, kind));
	/* The other ways to a connector. */
	put(all, &all->pair->a.connector->header);
	put(all, &all->pair->b.connector->header);
	return all;
}

static struct ndk_version newest_of(u16 major)
{
	return major == 1 ? (struct ndk_version) { 1, 2 } : (struct ndk_version) { NDK_VERSION_MAJOR, NDK_VERSION_MINOR };
}

static unsigned int slots_of(u32 type)
{
	switch (type) {
	case NDK_OBJECT_ADAPTER: return sizeof(struct ndk_adapter_dispatch) / sizeof(void *);
	case NDK_OBJECT_QP: return sizeof(struct ndk_qp_dispatch) / sizeof(void *);
	case NDK_OBJECT_CQ: return sizeof(struct ndk_cq_dispatch) / sizeof(void *);
	case NDK_OBJECT_MR: return sizeof(struct ndk_mr_dispatch) / sizeof(void *);
	case NDK_OBJECT_MW: return sizeof(struct ndk_mw_dispatch) / sizeof(void *);
	case NDK_OBJECT_PD: return sizeof(struct ndk_pd_dispatch) / sizeof(void *);
	case NDK_OBJECT_SHARED_ENDPOINT: return sizeof(struct ndk_shared_endpoint_dispatch) / sizeof(void *);
	case NDK_OBJECT_CONNECTOR: return sizeof(struct ndk_connector_dispatch) / sizeof(void *);
	case NDK_OBJECT_LISTENER: return sizeof(struct ndk_listener_dispatch) / sizeof(void *);
	case NDK_OBJECT_SRQ: return sizeof(struct ndk_srq_dispatch) / sizeof(void *);
	default: return 0;
	}
}

static void *const *slots(struct ndk_object_header *h)
{
	/* All shells have the table after the header. */
	return (void *const *)((struct ndk_pd *)h)->dispatch;
}

/*
 * Whatever version was asked for, its major's newest is in every header and in the limits, and the connection works.
 * Proves: 9.1-everywhere, 9.1-floor, 2.1-version, 2.1-type, 2.1-reserved
 */
static void every_object(struct t *t)
{
	struct ndk_version asked = { t->arg / 10, t->arg % 10 };
	struct ndk_adapter_info info;
	struct all *all;
	u32 types = 0;
	unsigned int i;

	t->version = newest_of(asked.major);
	all = make_all(t, asked);
	if (!all)
		return;
	for (i = 0; i < all->nr; i++)
		types |= BIT(all->h[i]->type);
	/* Of every type that can be made at all. */
	for (i = 0; i < KINDS; i++)
		EXPECT(t, types & BIT(t_kind_type(i)));
	info = t_info(t, all->pair->a.adapter);
	EXPECT_EQ(t, info.version.major, t->version.major);
	EXPECT_EQ(t, info.version.minor, t->version.minor);
	EXPECT(t, t_ping(&all->pair->a, &all->pair->b));
}

/*
 * Every slot is filled, in every version, and a table of 1.x is what one of 2.x begins with.
 * Proves: 6.9-slots, 9.1-prefix
 */
static void tables(struct t *t)
{
	struct all *first, *second;
	unsigned int i, slot, nr;

	t->version = newest_of(1);
	first = make_all(t, (struct ndk_version) { 1, 0 });
	if (!first)
		return;
	t->version = newest_of(2);
	second = make_all(t, (struct ndk_version) { 2, 0 });
	if (!second || !EXPECT_EQ(t, first->nr, second->nr))
		return;
	for (i = 0; i < first->nr; i++) {
		if (!EXPECT_EQ(t, first->h[i]->type, second->h[i]->type))
			return;
		nr = slots_of(first->h[i]->type);
		EXPECT(t, nr > 0);
		for (slot = 0; slot < nr; slot++) {
			if (!slots(second->h[i])[slot])
				t_fail(t, "type %u: slot %u is empty", second->h[i]->type, slot);
			if (slots(first->h[i])[slot] != slots(second->h[i])[slot])
				t_fail(t, "type %u: slot %u differs between versions", second->h[i]->type, slot);
		}
	}
}

typedef int (*query_extension_fn)(struct ndk_object_header *object, const struct ndk_guid *id,
				  struct ndk_version version, struct ndk_extension *extension);

/*
 * No object has an extension, by whatever name and in whatever version, and says so under a spinlock as well.
 * Proves: QUERY_EXTENSION_INTERFACE.ok, QUERY_EXTENSION_INTERFACE.softirq, 2.6-extension
 */
static void extensions(struct t *t)
{
	static const struct ndk_guid names[] = {
		{ {} },
		{ { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
		{ { [0 ... 15] = 0xff } },
	};
	static const struct ndk_version versions[] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { U16_MAX, U16_MAX } };
	struct all *all = make_all(t, (struct ndk_version) { 2, 1 });
	struct ndk_extension x = { .dispatch = t_poison() };
	query_extension_fn ask;
	unsigned int i, n, v;
	int rc;

	for (i = 0; all && i < all->nr; i++) {
		/* An adapter has no close. */
		ask = (query_extension_fn)slots(all->h[i])[all->h[i]->type == NDK_OBJECT_ADAPTER ? 0 : 1];
		for (n = 0; n < ARRAY_SIZE(names); n++) {
			for (v = 0; v < ARRAY_SIZE(versions); v++) {
				EXPECT_STATUS(t, ndk_query_extension(all->h[i], ask, &names[n], versions[v], &x),
					      -EOPNOTSUPP);
				spin_lock_bh(&t_consumer_lock);
				rc = ndk_query_extension(all->h[i], ask, &names[n], versions[v], &x);
				spin_unlock_bh(&t_consumer_lock);
				EXPECT_STATUS(t, rc, -EOPNOTSUPP);
				EXPECT(t, x.dispatch == t_poison());
			}
		}
	}
}

static const struct t_case cases[] = {
	{ "every_object_when_1.0_is_asked_for", every_object, 10 },
	{ "every_object_when_1.1_is_asked_for", every_object, 11 },
	{ "every_object_when_1.2_is_asked_for", every_object, 12 },
	{ "every_object_when_2.0_is_asked_for", every_object, 20 },
	{ "every_object_when_2.1_is_asked_for", every_object, 21 },
	{ "tables_are_full_and_prefixes", tables },
	{ "no_object_has_an_extension_by_any_name", extensions },
};

T_GROUP(versions, cases);
