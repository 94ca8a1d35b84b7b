// SPDX-License-Identifier: GPL-2.0
/*
 * insmod ndkpi_consumer.ko run=CASE interface=NAME address=IP: runs a case over the interface, in the network namespace of
 * the caller, with itself as peer. Loading fails if the case does.
 */

#include <linux/inet.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>

#include "consumer.h"

static char *run = "";
module_param(run, charp, 0);
MODULE_PARM_DESC(run, "which case");

static char *interface_name = "";
module_param_named(interface, interface_name, charp, 0);
MODULE_PARM_DESC(interface, "interface that carries RDMA");

static char *address = "";
module_param(address, charp, 0);
MODULE_PARM_DESC(address, "its IP address");

unsigned int scale = 1;
module_param(scale, uint, 0);
MODULE_PARM_DESC(scale, "factor for all time limits");

PWSK_CLIENT client;
IF_INDEX interface;
SOCKADDR_INET local;
atomic_t failures;

static const struct {
	const char *name;
	void (*run)(void);
	/* what is left for the time when the module goes */
	void (*end)(void);
} cases[] = {
	{ "layout", case_layout },
	{ "adapter", case_adapter },
	{ "objects", case_objects },
	{ "mdl", case_mdl },
	{ "register", case_register },
	{ "lam", case_lam },
	{ "connect", case_connect },
	{ "refuse", case_refuse },
	{ "extended", case_extended },
	{ "shared_endpoint", case_shared_endpoint },
	{ "transfer", case_transfer },
	{ "invalidate", case_invalidate },
	{ "window", case_window },
	{ "srq", case_srq },
	{ "cq", case_cq },
	{ "flush", case_flush },
	{ "callbacks", case_callbacks },
	{ "pending", case_pending },
	{ "atomic", case_atomic },
	{ "failing", case_failing },
	{ "path", case_path },
	{ "removal", case_removal, case_removal_end },
};

static int running = -1;

static int __init consumer_init(void)
{
	struct sockaddr_storage storage = {};
	struct net_device *dev;
	size_t i;
	int rc;

	client = get_net(current->nsproxy->net_ns);
	dev = dev_get_by_name(client, interface_name);
	rc = dev ? inet_pton_with_scope(client, AF_UNSPEC, address, NULL, &storage) : -ENODEV;
	if (dev) {
		interface = dev->ifindex;
		dev_put(dev);
	}
	memcpy(&local, &storage, sizeof(local));
	for (i = 0; !rc && i < ARRAY_SIZE(cases); i++) {
		if (!strcmp(cases[i].name, run)) {
			running = i;
			cases[i].run();
			break;
		}
	}
	if (!rc && running < 0)
		rc = -ENOENT;
	if (!rc && atomic_read(&failures))
		rc = -EIO;
	if (rc)
		put_net(client);
	return rc;
}

static void __exit consumer_exit(void)
{
	if (cases[running].end)
		cases[running].end();
	put_net(client);
	pr_info("ndkpi_consumer: %s: %d failures\n", cases[running].name, atomic_read(&failures));
}

module_init(consumer_init);
module_exit(consumer_exit);

MODULE_DESCRIPTION("A consumer of ndk by the Windows names of NDKPI");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("NDK");
