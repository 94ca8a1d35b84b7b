// SPDX-License-Identifier: GPL-2.0
/* Adapters: which there are, what they can do, and when they let go. */

#include <linux/kthread.h>
#include <linux/netdevice.h>

#include "ndk_test.h"

#define THIS_VERSION { NDK_VERSION_MAJOR, NDK_VERSION_MINOR }

static struct ndk_open_params by_device(const char *device)
{
	return (struct ndk_open_params) { .version = THIS_VERSION, .device = device };
}

static struct ndk_open_params by_address(struct sockaddr_storage *ss)
{
	return (struct ndk_open_params) {
		.version = THIS_VERSION,
		.address = (struct sockaddr *)ss,
		.address_len = t_addr_len(ss),
	};
}

/* Opens, and proves that what it got is alive. */
static void opens(struct t *t, const struct ndk_open_params *params)
{
	struct ndk_adapter *adapter;
	struct t_end *e = t_alloc(t, sizeof(*e));
	int rc = t_open(t, SIDE_A, params, &adapter);

	e->t = t;
	if (!EXPECT_STATUS(t, rc, 0))
		return;
	e->adapter = adapter;
	t_create(e, KIND_PD);
}

static void does_not_open(struct t *t, const struct ndk_open_params *params, int status)
{
	struct ndk_adapter *adapter;

	EXPECT_STATUS(t, t_open(t, SIDE_A, params, &adapter), status);
	EXPECT(t, adapter == t_poison());
}

static void opens_by_device(struct t *t)
{
	struct ndk_open_params params = by_device(world.device[SIDE_A]);

	opens(t, &params);
	params.port = 1;
	opens(t, &params);
}

static void opens_by_ifindex(struct t *t)
{
	struct ndk_open_params params = { .version = THIS_VERSION, .ifindex = world.ifindex[SIDE_A] };

	opens(t, &params);
}

static void opens_by_address(struct t *t)
{
	struct sockaddr_storage ss;
	struct ndk_open_params params;

	t_addr(SIDE_A, t->arg, 0, &ss);
	params = by_address(&ss);
	opens(t, &params);
	/* The port is ignored. */
	t_addr(SIDE_A, t->arg, 4711, &ss);
	opens(t, &params);
	/* A longer buffer holds the same address. */
	params.address_len = sizeof(ss);
	opens(t, &params);
}

static void unknown_device(struct t *t)
{
	struct ndk_open_params params = by_device("no_such_device");

	does_not_open(t, &params, -ENODEV);
	params = by_device(world.device[SIDE_A]);
	params.port = 2;
	does_not_open(t, &params, -ENODEV);
	params.port = U32_MAX;
	does_not_open(t, &params, -ENODEV);
}

static void unknown_ifindex(struct t *t)
{
	struct ndk_open_params params = { .version = THIS_VERSION, .ifindex = 99999 };

	does_not_open(t, &params, -ENODEV);
	/* The loopback interface is there and carries no RDMA. */
	params.ifindex = 1;
	does_not_open(t, &params, -ENODEV);
}

static void unknown_address(struct t *t)
{
	struct sockaddr_storage ss;
	struct ndk_open_params params;

	t_addr(SIDE_A, t->arg, 0, &ss);
	if (t->arg == AF_INET6)
		((struct sockaddr_in6 *)&ss)->sin6_addr.s6_addr[15] = 0x99;
	else
		((struct sockaddr_in *)&ss)->sin_addr.s_addr = htonl(0x0a090099);
	params = by_address(&ss);
	does_not_open(t, &params, -ENODEV);
}

/* What is in the other namespace is not here. */
static void other_namespace(struct t *t)
{
	struct sockaddr_storage ss;
	struct ndk_open_params params;

	t_addr(SIDE_B, AF_INET, 0, &ss);
	params = by_address(&ss);
	does_not_open(t, &params, -ENODEV);
	t_addr(SIDE_B, AF_INET6, 0, &ss);
	params = by_address(&ss);
	does_not_open(t, &params, -ENODEV);
	params = by_device(world.device[SIDE_B]);
	does_not_open(t, &params, -ENODEV);
}

static void exactly_one_name(struct t *t)
{
	struct sockaddr_storage ss;
	struct ndk_open_params params = { .version = THIS_VERSION };

	t_addr(SIDE_A, AF_INET, 0, &ss);
	does_not_open(t, &params, -EINVAL);
	params = by_device(world.device[SIDE_A]);
	params.ifindex = world.ifindex[SIDE_A];
	does_not_open(t, &params, -EINVAL);
	params = by_address(&ss);
	params.ifindex = world.ifindex[SIDE_A];
	does_not_open(t, &params, -EINVAL);
	params = by_address(&ss);
	params.device = world.device[SIDE_A];
	does_not_open(t, &params, -EINVAL);
	params.ifindex = world.ifindex[SIDE_A];
	does_not_open(t, &params, -EINVAL);
}

static void bad_address(struct t *t)
{
	struct sockaddr_storage ss;
	struct ndk_open_params params;

	t_addr(SIDE_A, AF_INET, 0, &ss);
	params = by_address(&ss);
	params.address_len = sizeof(struct sockaddr_in) - 1;
	does_not_open(t, &params, -EINVAL);
	params.address_len = 0;
	does_not_open(t, &params, -EINVAL);
	params.address_len = sizeof(ss);
	ss.ss_family = AF_UNIX;
	does_not_open(t, &params, -EINVAL);
	t_addr(SIDE_A, AF_INET6, 0, &ss);
	params.address_len = sizeof(struct sockaddr_in);
	does_not_open(t, &params, -EINVAL);
}

/* Any older version gets the newest of its major; every header is checked for it. */
/* Proves: 9.1-floor, 2.1-version */
static void speaks_version(struct t *t)
{
	struct ndk_open_params params = by_device(world.device[SIDE_A]);

	if (t->arg / 10 == 1)
		t->version = (struct ndk_version) { 1, 2 };
	params.version = (struct ndk_version) { t->arg / 10, t->arg % 10 };
	opens(t, &params);
}

static void refuses_version(struct t *t)
{
	struct ndk_open_params params = by_device(world.device[SIDE_A]);

	params.version = (struct ndk_version) { t->arg / 10, t->arg % 10 };
	does_not_open(t, &params, -EPROTONOSUPPORT);
}

/* Proves: QUERY_ADAPTER_INFO.ok, QUERY_ADAPTER_INFO.bad-argument, 6.1-prefix */
static void info_size(struct t *t)
{
	struct ndk_adapter *adapter = t_adapter(t, SIDE_A);
	struct ndk_adapter_info info;
	size_t full = sizeof(info), prefix = offsetof(struct ndk_adapter_info, rdma_technology);
	size_t size;

	if (!adapter)
		return;
	size = 0;
	EXPECT_STATUS(t, ndk_query_adapter_info(adapter, NULL, &size), -ENOSPC);
	EXPECT_EQ(t, size, full);

	memset(&info, 0xa5, sizeof(info));
	size = prefix - 1;
	EXPECT_STATUS(t, ndk_query_adapter_info(adapter, &info, &size), -ENOSPC);
	EXPECT_EQ(t, size, full);
	t_check_byte(t, &info, sizeof(info), 0xa5, "info of a call that failed");

	size = prefix;
	EXPECT_STATUS(t, ndk_query_adapter_info(adapter, &info, &size), 0);
	EXPECT_EQ(t, size, prefix);
	EXPECT_EQ(t, info.version.major, NDK_VERSION_MAJOR);
	t_check_byte(t, (u8 *)&info + prefix, sizeof(info) - prefix, 0xa5, "info behind the old size");

	size = full + 100;
	EXPECT_STATUS(t, ndk_query_adapter_info(adapter, &info, &size), 0);
	EXPECT_EQ(t, size, full);
}

/* Proves: QUERY_ADAPTER_INFO.ok */
static void info_sane(struct t *t)
{
	struct ndk_adapter *adapter = t_adapter(t, SIDE_A);
	struct ndk_adapter_info i;
	u32 flags;

	if (!adapter)
		return;
	flags = NDK_ADAPTER_FLAG_IN_ORDER_DMA |
		NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED |
		NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION |
		NDK_ADAPTER_FLAG_MULTI_ENGINE |
		NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE |
		NDK_ADAPTER_FLAG_CQ_RESIZE |
		NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS;
	i = t_info(t, adapter);
	EXPECT_EQ(t, i.version.major, NDK_VERSION_MAJOR);
	EXPECT_EQ(t, i.version.minor, NDK_VERSION_MINOR);
	EXPECT(t, i.frmr_page_count >= 16);
	EXPECT(t, i.max_registration_size >= i.frmr_page_count * PAGE_SIZE);
	EXPECT(t, i.max_initiator_request_sge >= 1);
	EXPECT(t, i.max_receive_request_sge >= 1);
	EXPECT(t, i.max_read_request_sge >= 1);
	EXPECT(t, i.max_read_request_sge <= i.max_initiator_request_sge);
	EXPECT(t, i.max_transfer_length >= SZ_1M);
	EXPECT(t, i.max_inline_data_size >= 16);
	EXPECT(t, i.max_inbound_read_limit >= 1 && i.max_inbound_read_limit <= 255);
	EXPECT(t, i.max_outbound_read_limit >= 1 && i.max_outbound_read_limit <= 255);
	EXPECT(t, i.max_receive_queue_depth >= 256);
	EXPECT(t, i.max_initiator_queue_depth >= 256);
	EXPECT(t, i.max_cq_depth >= i.max_receive_queue_depth || i.max_cq_depth >= 1024);
	EXPECT(t, i.large_request_threshold > 0);
	if (world.iwarp) {
		EXPECT_EQ(t, i.rdma_technology, NDK_RDMA_IWARP);
		EXPECT(t, i.max_caller_data >= 56 && i.max_callee_data >= 56);
	} else {
		EXPECT_EQ(t, i.rdma_technology, NDK_RDMA_ROCE_V2);
		/* What the connection manager leaves of its messages. */
		EXPECT_EQ(t, i.max_caller_data, 56);
		EXPECT(t, i.max_callee_data >= 148 && i.max_callee_data <= 196);
	}
	EXPECT_EQ(t, i.adapter_flags & ~flags, 0);
}

/* A limit that cannot be had is none. Depths are tried up to what memory allows. */
/* Proves: CREATE_CQ.ok, CREATE_QP.ok, 6.1-limits */
/* Bug: B68 */
static void limits_can_be_had(struct t *t)
{
	struct ndk_adapter *adapter = t_adapter(t, SIDE_A);
	struct ndk_adapter_info i;
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct t_cfg cfg = {};

	if (!adapter)
		return;
	i = t_info(t, adapter);
	if (!t_end_init(t, e, SIDE_A, NULL))
		return;
	cfg = e->cfg;
	e->cfg.cq_depth = i.max_cq_depth;
	t_create(e, KIND_CQ);
	e->cfg = cfg;
	e->cfg.depth = 1;
	e->cfg.sge = min(i.max_initiator_request_sge, i.max_receive_request_sge);
	t_create(e, KIND_QP);
	e->cfg = cfg;
	e->cfg.depth = 1;
	e->cfg.inline_size = i.max_inline_data_size;
	t_create(e, KIND_QP);
	e->cfg = cfg;
	e->cfg.depth = min3(i.max_receive_queue_depth, i.max_initiator_queue_depth, 4096U);
	e->cfg.sge = 1;
	t_create(e, KIND_QP);
}

/* Proves: 9.1-instances */
static void instances_are_independent(struct t *t)
{
	struct ndk_adapter *one = t_another(t, SIDE_A), *two = t_another(t, SIDE_A);
	struct t_end *e = t_alloc(t, sizeof(*e));
	struct ndk_object_header *pd;

	e->t = t;
	if (!one || !two)
		return;
	EXPECT(t, one != two);
	e->adapter = one;
	pd = t_create(e, KIND_PD);
	/* Nothing is open below the second: its close returns though the first is in use. */
	if (!t_close_adapter(t, two))
		return;
	if (pd)
		t_close(t, pd);
	t_create(e, KIND_PD);
}

struct closing {
	struct t *t;
	struct ndk_adapter *adapter;
	struct completion started, done;
};

static int close_in_thread(void *arg)
{
	struct closing *c = arg;

	complete(&c->started);
	ndk_close_adapter(c->adapter);
	complete(&c->done);
	return 0;
}

/* The adapter is closed while this kind of object is open, and returns when that is closed. */
/* Proves: 3.1-ADAPTER */
static void close_waits_for(struct t *t)
{
	struct closing *c = t_alloc(t, sizeof(*c));
	struct ndk_object_header *h, *pd = NULL;
	struct task_struct *task;
	struct t_end *e = t_alloc(t, sizeof(*e));

	e->t = t;
	e->cfg.cq_depth = 8;
	c->t = t;
	init_completion(&c->started);
	init_completion(&c->done);
	e->adapter = t_adapter(t, SIDE_A);
	if (!e->adapter)
		return;
	c->adapter = e->adapter;
	if (t->arg == KIND_MR) {
		pd = t_create(e, KIND_PD);
		if (!pd)
			return;
		e->pd = container_of(pd, struct ndk_pd, header);
	}
	h = t_create(e, t->arg);
	if (!h)
		return;
	/* From here on the thread closes it. */
	t->adapters[0] = NULL;
	t->side[SIDE_A] = NULL;
	task = kthread_run(close_in_thread, c, "ndk_test_close");
	if (!EXPECT(t, !IS_ERR(task)))
		return;
	wait_for_completion(&c->started);
	if (pd)
		t_close_start(t, pd);
	if (wait_for_completion_timeout(&c->done, msecs_to_jiffies(200))) {
		t_fail(t, "ndk_close_adapter() returned while an object was open");
		return;
	}
	t_close(t, h);
	if (!wait_for_completion_timeout(&c->done, t_ticks(10))) {
		t_fail(t, "ndk_close_adapter() has not returned");
		t->wedged = true;
	}
}

/* --- clients -------------------------------------------------------------- */

struct watcher {
	struct ndk_client client;
	struct t *t;
	unsigned int added[2], removed[2];
	atomic_t inside;
};

static void watched(struct watcher *w, const struct ndk_adapter_desc *desc, unsigned int count[2])
{
	int i;

	if (atomic_inc_return(&w->inside) > 1)
		t_fail(w->t, "two callbacks of one client at a time");
	might_sleep();
	for (i = 0; i < 2; i++) {
		if (strcmp(desc->device, world.device[i]))
			continue;
		count[i]++;
		EXPECT_EQ(w->t, desc->port, 1);
		EXPECT_EQ(w->t, desc->ifindex, world.ifindex[i]);
		EXPECT(w->t, desc->net == world.net[i]);
	}
	atomic_dec(&w->inside);
}

static void watch_add(struct ndk_client *client, const struct ndk_adapter_desc *desc)
{
	struct watcher *w = container_of(client, struct watcher, client);
	struct ndk_open_params params = by_device(desc->device);
	struct ndk_adapter *adapter;

	watched(w, desc, w->added);
	/* The callback may open what it hears of. */
	params.port = desc->port;
	if (EXPECT_STATUS(w->t, ndk_open_adapter(desc->net, &params, &adapter), 0))
		ndk_close_adapter(adapter);
}

static void watch_remove(struct ndk_client *client, const struct ndk_adapter_desc *desc)
{
	struct watcher *w = container_of(client, struct watcher, client);

	watched(w, desc, w->removed);
}

static void clients_hear_of_adapters(struct t *t)
{
	struct watcher *w = t_alloc(t, sizeof(*w)), *second = t_alloc(t, sizeof(*w));

	w->t = t;
	w->client.add = watch_add;
	w->client.remove = watch_remove;
	*second = *w;
	if (!EXPECT_STATUS(t, ndk_register_client(&w->client), 0))
		return;
	EXPECT_EQ(t, w->added[SIDE_A], 1);
	EXPECT_EQ(t, w->added[SIDE_B], 1);
	if (EXPECT_STATUS(t, ndk_register_client(&second->client), 0)) {
		EXPECT_EQ(t, second->added[SIDE_A], 1);
		ndk_unregister_client(&second->client);
	}
	EXPECT_EQ(t, w->added[SIDE_A], 1);
	EXPECT_EQ(t, w->removed[SIDE_A], 0);
	ndk_unregister_client(&w->client);
}

static const struct t_case cases[] = {
	{ "opens_by_device_name_and_port", opens_by_device },
	{ "opens_by_interface", opens_by_ifindex },
	{ "opens_by_ipv4_address", opens_by_address, AF_INET },
	{ "opens_by_ipv6_address", opens_by_address, AF_INET6 },
	{ "unknown_device_or_port_is_enodev", unknown_device },
	{ "unknown_interface_is_enodev", unknown_ifindex },
	{ "unknown_ipv4_address_is_enodev", unknown_address, AF_INET },
	{ "unknown_ipv6_address_is_enodev", unknown_address, AF_INET6 },
	{ "adapter_of_another_namespace_is_enodev", other_namespace },
	{ "none_or_several_names_are_einval", exactly_one_name },
	{ "malformed_address_is_einval", bad_address },
	{ "version_1.0_gets_1.2", speaks_version, 10 },
	{ "version_1.1_gets_1.2", speaks_version, 11 },
	{ "version_1.2_gets_1.2", speaks_version, 12 },
	{ "version_1.3_is_not_spoken", refuses_version, 13 }, /* Proves: 9.1-too-new */
	{ "version_2.0_gets_2.1", speaks_version, 20 },
	{ "version_2.1_gets_2.1", speaks_version, 21 },
	{ "version_2.2_is_not_spoken", refuses_version, 22 }, /* Proves: 9.1-too-new */
	{ "version_3.0_is_not_spoken", refuses_version, 30 }, /* Proves: 9.1-major */
	{ "version_0.1_is_not_spoken", refuses_version, 1 }, /* Proves: 9.1-major */
	{ "info_size_is_asked_for_cut_and_checked", info_size },
	{ "info_is_sane", info_sane },
	{ "limits_can_be_had", limits_can_be_had },
	{ "instances_are_independent", instances_are_independent },
	{ "close_waits_for_pd", close_waits_for, KIND_PD },
	{ "close_waits_for_cq", close_waits_for, KIND_CQ },
	{ "close_waits_for_mr_below_a_closed_pd", close_waits_for, KIND_MR },
	{ "close_waits_for_connector", close_waits_for, KIND_CONNECTOR },
	{ "close_waits_for_listener", close_waits_for, KIND_LISTENER },
	{ "clients_hear_of_adapters", clients_hear_of_adapters },
};

T_GROUP(adapter, cases);
