/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDK_CLIENT_HELPERS_H
#define NDK_CLIENT_HELPERS_H

#include <linux/types.h>

struct net;
struct workqueue_struct;

struct net *ndk_client_current_net(void);
struct net *ndk_client_get_net(struct net *net);
void ndk_client_put_net(struct net *net);
bool ndk_client_in_softirq(void);
struct workqueue_struct *ndk_client_alloc_queue(const char *name);

#endif
