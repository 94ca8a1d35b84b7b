// SPDX-License-Identifier: GPL-2.0
/*
 * The device, made and deleted as an RDMA link: rdma link add NAME type nulldev netdev INTERFACE.
 *
 * debugfs ndk_nulldev/CALL, for each call that can be refused: write "N ERRNO", and the N-th call from now on fails with
 * -ERRNO; "0 0" takes that back.
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/uaccess.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_netlink.h>

#include "nulldev.h"

/* No driver of the kernel has it. */
#define ND_DRIVER	((enum rdma_driver_id)0x4e44)

struct nd_fault nd_faults[ND_CALLS];
struct workqueue_struct *nd_wq;

static const char *const call_names[ND_CALLS] = {
	[ND_ALLOC_PD] = "alloc_pd",
	[ND_CREATE_CQ] = "create_cq",
	[ND_CREATE_QP] = "create_qp",
	[ND_MODIFY_QP] = "modify_qp",
	[ND_ALLOC_MR] = "alloc_mr",
	[ND_MAP_MR] = "map_mr",
	[ND_POST_SEND] = "post_send",
	[ND_POST_RECV] = "post_recv",
	[ND_CONNECT] = "connect",
	[ND_ACCEPT] = "accept",
};

static int nd_query_device(struct ib_device *base, struct ib_device_attr *attr, struct ib_udata *udata)
{
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY;
	attr->max_cq = INT_MAX;
	attr->max_cqe = 1 << 20;
	attr->max_fast_reg_page_list_len = ND_MAX_PAGES;
	attr->max_mr = INT_MAX;
	attr->max_mr_size = U64_MAX;
	attr->max_pd = INT_MAX;
	attr->max_qp = INT_MAX;
	attr->max_qp_init_rd_atom = 128;
	attr->max_qp_rd_atom = 128;
	attr->max_qp_wr = ND_MAX_WR;
	attr->max_recv_sge = ND_MAX_SGE;
	attr->max_send_sge = ND_MAX_SGE;
	attr->max_sge_rd = ND_MAX_SGE;
	attr->page_size_cap = PAGE_SIZE;
	addrconf_addr_eui48((u8 *)&attr->sys_image_guid, to_nd_dev(base)->gid);
	return 0;
}

static int nd_query_port(struct ib_device *base, u32 port, struct ib_port_attr *attr)
{
	struct net_device *ndev = ib_device_get_netdev(base, port);

	if (!ndev)
		return -ENODEV;
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = SZ_1G;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	attr->state = ib_get_curr_port_state(ndev);
	attr->phys_state = attr->state == IB_PORT_ACTIVE ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	dev_put(ndev);
	return 0;
}

static int nd_get_port_immutable(struct ib_device *base, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int nd_query_gid(struct ib_device *base, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_nd_dev(base)->gid, ETH_ALEN);
	return 0;
}

static void nd_dealloc_driver(struct ib_device *base)
{
	xa_destroy(&to_nd_dev(base)->mrs);
}

static const struct ib_device_ops nd_ops = {
	.owner = THIS_MODULE,
	.driver_id = ND_DRIVER,

	.alloc_mr = nd_alloc_mr,
	.alloc_pd = nd_alloc_pd,
	.create_cq = nd_create_cq,
	.create_qp = nd_create_qp,
	.dealloc_driver = nd_dealloc_driver,
	.dealloc_pd = nd_dealloc_pd,
	.dereg_mr = nd_dereg_mr,
	.destroy_cq = nd_destroy_cq,
	.destroy_qp = nd_destroy_qp,
	.get_dma_mr = nd_get_dma_mr,
	.get_port_immutable = nd_get_port_immutable,
	.iw_accept = nd_accept,
	.iw_add_ref = nd_hold_qp,
	.iw_connect = nd_connect,
	.iw_create_listen = nd_create_listen,
	.iw_destroy_listen = nd_destroy_listen,
	.iw_get_qp = nd_get_qp,
	.iw_reject = nd_reject,
	.iw_rem_ref = nd_put_qp,
	.map_mr_sg = nd_map_mr_sg,
	.modify_qp = nd_modify_qp,
	.poll_cq = nd_poll_cq,
	.post_recv = nd_post_recv,
	.post_send = nd_post_send,
	.query_device = nd_query_device,
	.query_gid = nd_query_gid,
	.query_port = nd_query_port,
	.reg_user_mr = nd_reg_user_mr,
	.req_notify_cq = nd_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, nd_cq, base),
	INIT_RDMA_OBJ_SIZE(ib_pd, nd_pd, base),
	INIT_RDMA_OBJ_SIZE(ib_qp, nd_qp, base),
};

static int nd_newlink(const char *name, struct net_device *ndev)
{
	struct ib_device *base;
	struct nd_dev *dev;
	int ret;

	base = ib_device_get_by_netdev(ndev, ND_DRIVER);
	if (base) {
		ib_device_put(base);
		return -EEXIST;
	}
	dev = ib_alloc_device(nd_dev, base);
	if (!dev)
		return -ENOMEM;
	base = &dev->base;
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	memcpy(dev->gid, ndev->dev_addr, ETH_ALEN);
	addrconf_addr_eui48((u8 *)&base->node_guid, dev->gid);
	base->node_type = RDMA_NODE_RNIC;
	base->phys_port_cnt = 1;
	base->num_comp_vectors = num_possible_cpus();
	base->local_dma_lkey = ND_DMA_LKEY;
	strscpy(base->iw_ifname, ndev->name);
	base->iw_driver_flags = IW_F_NO_PORT_MAP;
	ib_set_device_ops(base, &nd_ops);
	ret = ib_device_set_netdev(base, ndev, 1);
	if (!ret) {
		ib_mark_name_assigned_by_user(base);
		ret = ib_register_device(base, name, NULL);
	}
	if (ret)
		ib_dealloc_device(base);
	return ret;
}

static struct rdma_link_ops nd_link_ops = {
	.type = "nulldev",
	.newlink = nd_newlink,
};

static int nd_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct ib_device *base;

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_OK;
	base = ib_device_get_by_netdev(netdev_notifier_info_to_dev(arg), ND_DRIVER);
	if (base) {
		ib_unregister_device_queued(base);
		ib_device_put(base);
	}
	return NOTIFY_OK;
}

static struct notifier_block nd_netdev_nb = {
	.notifier_call = nd_netdev_event,
};

static ssize_t fault_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct nd_fault *fault = file->private_data;
	unsigned int left, error;
	char text[32];

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	if (sscanf(text, "%u %u", &left, &error) != 2 || left > INT_MAX || error >= MAX_ERRNO || (left && !error))
		return -EINVAL;
	atomic_set(&fault->left, 0);
	fault->error = -(int)error;
	/* After its error. */
	atomic_set_release(&fault->left, left);
	return count;
}

static const struct file_operations fault_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fault_write,
};

static struct dentry *dir;

static int __init nd_init(void)
{
	int ret, i;

	nd_wq = alloc_workqueue("ndk_nulldev", WQ_UNBOUND, 0);
	if (!nd_wq)
		return -ENOMEM;
	ret = register_netdevice_notifier(&nd_netdev_nb);
	if (ret) {
		destroy_workqueue(nd_wq);
		return ret;
	}
	dir = debugfs_create_dir("ndk_nulldev", NULL);
	for (i = 0; i < ND_CALLS; i++)
		debugfs_create_file(call_names[i], 0200, dir, &nd_faults[i], &fault_fops);
	rdma_link_register(&nd_link_ops);
	return 0;
}

static void __exit nd_exit(void)
{
	rdma_link_unregister(&nd_link_ops);
	unregister_netdevice_notifier(&nd_netdev_nb);
	ib_unregister_driver(ND_DRIVER);
	debugfs_remove(dir);
	destroy_workqueue(nd_wq);
}

module_init(nd_init);
module_exit(nd_exit);

MODULE_DESCRIPTION("RDMA device that is nothing but memory, for tests and measurements of ndk");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("nulldev");
