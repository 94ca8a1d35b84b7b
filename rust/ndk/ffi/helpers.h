/* SPDX-License-Identifier: GPL-2.0 */
/* Static inlines and macros of the kernel as functions that Rust can call. */
#ifndef NDK_FFI_HELPERS_H
#define NDK_FFI_HELPERS_H

#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* Verbs. */
int ndk_helper_ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad);
int ndk_helper_ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad);
int ndk_helper_ib_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad);
int ndk_helper_ib_poll_cq(struct ib_cq *cq, int num, struct ib_wc *wc);
int ndk_helper_ib_req_notify_cq(struct ib_cq *cq, int flags);
struct ib_cq *ndk_helper_ib_create_cq(struct ib_device *dev, ib_comp_handler comp,
				      void (*event)(struct ib_event *ev, void *ctx),
				      void *ctx, const struct ib_cq_init_attr *attr);
int ndk_helper_ib_destroy_cq(struct ib_cq *cq);
struct ib_qp *ndk_helper_ib_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr);
int ndk_helper_ib_destroy_qp(struct ib_qp *qp);
struct ib_srq *ndk_helper_ib_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr);
int ndk_helper_ib_destroy_srq(struct ib_srq *srq);
struct ib_pd *ndk_helper_ib_alloc_pd(struct ib_device *dev);
int ndk_helper_ib_dealloc_pd(struct ib_pd *pd);
int ndk_helper_ib_dereg_mr(struct ib_mr *mr);
void ndk_helper_ib_update_fast_reg_key(struct ib_mr *mr, u8 key);
u32 ndk_helper_ib_inc_rkey(u32 rkey);
bool ndk_helper_rdma_protocol_ib(const struct ib_device *dev, u32 port);
bool ndk_helper_rdma_protocol_roce_udp(const struct ib_device *dev, u32 port);
bool ndk_helper_rdma_protocol_roce_eth(const struct ib_device *dev, u32 port);
bool ndk_helper_rdma_protocol_iwarp(const struct ib_device *dev, u32 port);
bool ndk_helper_rdma_cap_read_inv(struct ib_device *dev, u32 port);
int ndk_helper_ah_to_self(struct ib_device *dev, u32 port, const struct ib_gid_attr *gid,
			  struct rdma_ah_attr *ah);
void ndk_helper_ib_device_name(const struct ib_device *dev, char *name, size_t size);

/* DMA. */
bool ndk_helper_ib_uses_virt_dma(struct ib_device *dev);
int ndk_helper_ib_dma_mapping_error(struct ib_device *dev, u64 addr);
u64 ndk_helper_ib_dma_map_single(struct ib_device *dev, void *ptr, size_t size,
				 enum dma_data_direction dir);
void ndk_helper_ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t size,
				    enum dma_data_direction dir);
int ndk_helper_ib_dma_map_sg(struct ib_device *dev, struct scatterlist *sg, int nents,
			     enum dma_data_direction dir);
void ndk_helper_ib_dma_unmap_sg(struct ib_device *dev, struct scatterlist *sg, int nents,
				enum dma_data_direction dir);
void ndk_helper_ib_dma_sync_for_cpu(struct ib_device *dev, u64 addr, size_t size,
				    enum dma_data_direction dir);
void ndk_helper_ib_dma_sync_for_device(struct ib_device *dev, u64 addr, size_t size,
				       enum dma_data_direction dir);
u64 ndk_helper_sg_dma_address(struct scatterlist *sg);
u32 ndk_helper_sg_dma_len(struct scatterlist *sg);
void ndk_helper_sg_set_dma(struct scatterlist *sg, u64 addr, u32 len);
void ndk_helper_sg_init_table(struct scatterlist *sg, int nents);

/* Connection manager. */
struct rdma_cm_id *ndk_helper_rdma_create_id(struct net *net, rdma_cm_event_handler handler,
					     void *ctx);
int ndk_helper_rdma_id_route(const struct rdma_cm_id *id);

/* Network. */
struct net *ndk_helper_dev_net_get(struct net_device *dev);
struct net *ndk_helper_get_net(struct net *net);
void ndk_helper_put_net(struct net *net);
struct net *ndk_helper_init_net(void);
void ndk_helper_dev_put(struct net_device *dev);
int ndk_helper_netdev_ifindex(const struct net_device *dev);
bool ndk_helper_netdev_has_addr4(struct net_device *dev, __be32 addr);
bool ndk_helper_netdev_has_addr6(struct net_device *dev, const struct in6_addr *addr);
bool ndk_helper_netdev_addr(struct net_device *dev, struct sockaddr_storage *addr);

/* Work queues, contexts, locks. */
struct workqueue_struct *ndk_helper_alloc_wq(const char *name, unsigned int flags, int max_active);
unsigned int ndk_helper_wq_sleeping_flags(void);
int ndk_bh_start(void);
void ndk_bh_stop(void);
bool ndk_bh_queue(struct work_struct *work, int cpu);
void ndk_bh_ran(struct work_struct *work);
void ndk_helper_might_sleep(void);
bool ndk_helper_in_softirq(void);
unsigned int ndk_helper_memalloc_noio_save(void);
void ndk_helper_memalloc_noio_restore(unsigned int flags);
void ndk_helper_local_bh_disable(void);
void ndk_helper_local_bh_enable(void);
void ndk_helper_synchronize_rcu_expedited(void);
unsigned long ndk_helper_spin_lock_irqsave(spinlock_t *lock);
void ndk_helper_spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);
bool ndk_helper_spin_trylock_irqsave(spinlock_t *lock, unsigned long *flags);

#endif
