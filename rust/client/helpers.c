// SPDX-License-Identifier: GPL-2.0
/* Static inlines that the Rust client needs. Each Rust consumer includes this file once. */

#include <linux/nsproxy.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "helpers.h"

struct net *ndk_client_current_net(void)
{
	return get_net(current->nsproxy->net_ns);
}

struct net *ndk_client_get_net(struct net *net)
{
	return get_net(net);
}

void ndk_client_put_net(struct net *net)
{
	put_net(net);
}

bool ndk_client_in_softirq(void)
{
	return in_serving_softirq();
}

struct workqueue_struct *ndk_client_alloc_queue(const char *name)
{
	return alloc_workqueue("%s", WQ_UNBOUND, 0, name);
}
