// SPDX-License-Identifier: GPL-2.0
/* Static inlines and macros of the kernel as functions that Rust can call. No logic here. */

#include <linux/cpumask.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/preempt.h>
#include <linux/sched/mm.h>
#include <net/addrconf.h>
#include <net/ip_fib.h>
#include <net/if_inet6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "helpers.h"
#include "sizes_generated.h"

/* Verbs. */

int ndk_helper_ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad)
{
	return ib_post_send(qp, wr, bad);
}

int ndk_helper_ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad)
{
	return ib_post_recv(qp, wr, bad);
}

int ndk_helper_ib_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad)
{
	return ib_post_srq_recv(srq, wr, bad);
}

int ndk_helper_ib_poll_cq(struct ib_cq *cq, int num, struct ib_wc *wc)
{
	return ib_poll_cq(cq, num, wc);
}

int ndk_helper_ib_req_notify_cq(struct ib_cq *cq, int flags)
{
	return ib_req_notify_cq(cq, flags);
}

struct ib_cq *ndk_helper_ib_create_cq(struct ib_device *dev, ib_comp_handler comp,
				      void (*event)(struct ib_event *ev, void *ctx),
				      void *ctx, const struct ib_cq_init_attr *attr)
{
	return ib_create_cq(dev, comp, event, ctx, attr);
}

int ndk_helper_ib_destroy_cq(struct ib_cq *cq)
{
	return ib_destroy_cq_user(cq, NULL);
}

struct ib_qp *ndk_helper_ib_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr)
{
	return ib_create_qp(pd, attr);
}

int ndk_helper_ib_destroy_qp(struct ib_qp *qp)
{
	return ib_destroy_qp(qp);
}

struct ib_srq *ndk_helper_ib_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr)
{
	return ib_create_srq(pd, attr);
}

int ndk_helper_ib_destroy_srq(struct ib_srq *srq)
{
	return ib_destroy_srq_user(srq, NULL);
}

struct ib_pd *ndk_helper_ib_alloc_pd(struct ib_device *dev)
{
	return ib_alloc_pd(dev, 0);
}

int ndk_helper_ib_dealloc_pd(struct ib_pd *pd)
{
	return ib_dealloc_pd_user(pd, NULL);
}

int ndk_helper_ib_dereg_mr(struct ib_mr *mr)
{
	return ib_dereg_mr(mr);
}

void ndk_helper_ib_update_fast_reg_key(struct ib_mr *mr, u8 key)
{
	ib_update_fast_reg_key(mr, key);
}

u32 ndk_helper_ib_inc_rkey(u32 rkey)
{
	return ib_inc_rkey(rkey);
}

bool ndk_helper_rdma_protocol_ib(const struct ib_device *dev, u32 port)
{
	return rdma_protocol_ib(dev, port);
}

bool ndk_helper_rdma_protocol_roce_udp(const struct ib_device *dev, u32 port)
{
	return rdma_protocol_roce_udp_encap(dev, port);
}

bool ndk_helper_rdma_protocol_roce_eth(const struct ib_device *dev, u32 port)
{
	return rdma_protocol_roce_eth_encap(dev, port);
}

bool ndk_helper_rdma_protocol_iwarp(const struct ib_device *dev, u32 port)
{
	return rdma_protocol_iwarp(dev, port);
}

bool ndk_helper_rdma_cap_read_inv(struct ib_device *dev, u32 port)
{
	return rdma_cap_read_inv(dev, port);
}

/* An address that leads from a port back to it. */
int ndk_helper_ah_to_self(struct ib_device *dev, u32 port, const struct ib_gid_attr *gid,
			  struct rdma_ah_attr *ah)
{
	struct ib_port_attr attr;
	struct net_device *ndev;
	int ret;

	memset(ah, 0, sizeof(*ah));
	ah->type = rdma_ah_find_type(dev, port);
	rdma_ah_set_port_num(ah, port);
	rdma_ah_set_grh(ah, NULL, 0, gid->index, 1, 0);
	rdma_ah_set_dgid_raw(ah, (void *)gid->gid.raw);
	ah->grh.sgid_attr = gid;
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE) {
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(gid);
		if (!IS_ERR(ndev))
			memcpy(ah->roce.dmac, ndev->dev_addr, ETH_ALEN);
		rcu_read_unlock();
		return PTR_ERR_OR_ZERO(ndev);
	}
	ret = ib_query_port(dev, port, &attr);
	if (ret)
		return ret;
	rdma_ah_set_dlid(ah, attr.lid);
	return 0;
}

void ndk_helper_ib_device_name(const struct ib_device *dev, char *name, size_t size)
{
	strscpy(name, dev_name(&dev->dev), size);
}

/* DMA. */

bool ndk_helper_ib_uses_virt_dma(struct ib_device *dev)
{
	return ib_uses_virt_dma(dev);
}

int ndk_helper_ib_dma_mapping_error(struct ib_device *dev, u64 addr)
{
	return ib_dma_mapping_error(dev, addr);
}

u64 ndk_helper_ib_dma_map_single(struct ib_device *dev, void *ptr, size_t size,
				 enum dma_data_direction dir)
{
	return ib_dma_map_single(dev, ptr, size, dir);
}

void ndk_helper_ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t size,
				    enum dma_data_direction dir)
{
	ib_dma_unmap_single(dev, addr, size, dir);
}

int ndk_helper_ib_dma_map_sg(struct ib_device *dev, struct scatterlist *sg, int nents,
			     enum dma_data_direction dir)
{
	return ib_dma_map_sg(dev, sg, nents, dir);
}

void ndk_helper_ib_dma_unmap_sg(struct ib_device *dev, struct scatterlist *sg, int nents,
				enum dma_data_direction dir)
{
	ib_dma_unmap_sg(dev, sg, nents, dir);
}

void ndk_helper_ib_dma_sync_for_cpu(struct ib_device *dev, u64 addr, size_t size,
				    enum dma_data_direction dir)
{
	ib_dma_sync_single_for_cpu(dev, addr, size, dir);
}

void ndk_helper_ib_dma_sync_for_device(struct ib_device *dev, u64 addr, size_t size,
				       enum dma_data_direction dir)
{
	ib_dma_sync_single_for_device(dev, addr, size, dir);
}

u64 ndk_helper_sg_dma_address(struct scatterlist *sg)
{
	return sg_dma_address(sg);
}

u32 ndk_helper_sg_dma_len(struct scatterlist *sg)
{
	return sg_dma_len(sg);
}

void ndk_helper_sg_set_dma(struct scatterlist *sg, u64 addr, u32 len)
{
	sg_dma_address(sg) = addr;
	sg_dma_len(sg) = len;
}

void ndk_helper_sg_init_table(struct scatterlist *sg, int nents)
{
	sg_init_table(sg, nents);
}

/* Connection manager. */

struct rdma_cm_id *ndk_helper_rdma_create_id(struct net *net, rdma_cm_event_handler handler,
					     void *ctx)
{
	return rdma_create_id(net, handler, ctx, RDMA_PS_TCP, IB_QPT_RC);
}

int ndk_helper_rdma_id_route(const struct rdma_cm_id *id)
{
	const struct rdma_addr *addr = &id->route.addr;
	const struct sockaddr_in *src = (const void *)&addr->src_addr;
	const struct sockaddr_in *dst = (const void *)&addr->dst_addr;
	struct flowi4 fl4 = {
		.saddr = src->sin_addr.s_addr,
		.daddr = dst->sin_addr.s_addr,
		.flowi4_oif = addr->dev_addr.bound_dev_if,
	};
	struct fib_result res;

	if (src->sin_family != AF_INET || dst->sin_family != AF_INET)
		return 0;
	return fib_lookup(addr->dev_addr.net, &fl4, &res, 0);
}

/* Network. */

struct net *ndk_helper_dev_net_get(struct net_device *dev)
{
	struct net *net;

	rcu_read_lock();
	net = maybe_get_net(dev_net_rcu(dev));
	rcu_read_unlock();
	return net;
}

struct net *ndk_helper_get_net(struct net *net)
{
	return get_net(net);
}

void ndk_helper_put_net(struct net *net)
{
	put_net(net);
}

struct net *ndk_helper_init_net(void)
{
	return &init_net;
}

void ndk_helper_dev_put(struct net_device *dev)
{
	dev_put(dev);
}

int ndk_helper_netdev_ifindex(const struct net_device *dev)
{
	return READ_ONCE(dev->ifindex);
}

bool ndk_helper_netdev_has_addr4(struct net_device *dev, __be32 addr)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;
	bool found = false;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(dev);
	if (in_dev)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			if (ifa->ifa_local == addr) {
				found = true;
				break;
			}
	rcu_read_unlock();
	return found;
}

bool ndk_helper_netdev_has_addr6(struct net_device *dev, const struct in6_addr *addr)
{
	bool found = false;
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_ifaddr *ifa;
	struct inet6_dev *in6_dev;

	rcu_read_lock();
	in6_dev = __in6_dev_get(dev);
	if (in6_dev)
		list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list)
			if (ipv6_addr_equal(&ifa->addr, addr)) {
				found = true;
				break;
			}
	rcu_read_unlock();
#endif
	return found;
}

/* An address of the interface that a connection can have. */
bool ndk_helper_netdev_addr(struct net_device *dev, struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	struct in_device *in_dev;
	const struct in_ifaddr *ifa;
	bool found = false;

	memset(addr, 0, sizeof(*addr));
	rcu_read_lock();
	in_dev = __in_dev_get_rcu(dev);
	ifa = in_dev ? rcu_dereference(in_dev->ifa_list) : NULL;
	if (ifa) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = ifa->ifa_local;
		found = true;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (!found) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
		const struct inet6_ifaddr *ifa6;
		struct inet6_dev *in6_dev;

		in6_dev = __in6_dev_get(dev);
		if (in6_dev)
			list_for_each_entry_rcu(ifa6, &in6_dev->addr_list, if_list) {
				if (ifa6->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
					continue;
				in6->sin6_family = AF_INET6;
				in6->sin6_addr = ifa6->addr;
				if (ipv6_addr_type(&ifa6->addr) & IPV6_ADDR_LINKLOCAL)
					in6->sin6_scope_id = READ_ONCE(dev->ifindex);
				found = true;
				break;
			}
	}
#endif
	rcu_read_unlock();
	return found;
}

/* Work queues, contexts, locks. */

struct workqueue_struct *ndk_helper_alloc_wq(const char *name, unsigned int flags, int max_active)
{
	return alloc_workqueue("%s", flags, max_active, name);
}

unsigned int ndk_helper_wq_sleeping_flags(void)
{
	return WQ_MEM_RECLAIM | WQ_UNBOUND;
}

void ndk_helper_might_sleep(void)
{
	might_sleep();
}

bool ndk_helper_in_softirq(void)
{
	return in_serving_softirq() || IS_ENABLED(CONFIG_PREEMPT_RT);
}

unsigned int ndk_helper_memalloc_noio_save(void)
{
	/* The flags of a thread are changed by that thread alone; a timer interrupt on its CPU looks at them meanwhile. */
	return data_race(memalloc_noio_save());
}

void ndk_helper_memalloc_noio_restore(unsigned int flags)
{
	/* As above. */
	data_race((memalloc_noio_restore(flags), 0));
}

void ndk_helper_local_bh_disable(void)
{
	local_bh_disable();
}

void ndk_helper_local_bh_enable(void)
{
	local_bh_enable();
}

void ndk_helper_synchronize_rcu_expedited(void)
{
	synchronize_rcu_expedited();
}

unsigned long ndk_helper_spin_lock_irqsave(spinlock_t *lock)
{
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	return flags;
}

void ndk_helper_spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
	spin_unlock_irqrestore(lock, flags);
}

bool ndk_helper_spin_trylock_irqsave(spinlock_t *lock, unsigned long *flags)
{
	return spin_trylock_irqsave(lock, *flags);
}
