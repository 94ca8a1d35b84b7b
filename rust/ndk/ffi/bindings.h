/* SPDX-License-Identifier: GPL-2.0 */
/* What bindgen reads for ndk.ko. */
#include <linux/hrtimer_types.h>

#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "helpers.h"
#include "ndk_trace.h"
#include "ndk_api.h"

/*
 * Rust asserts that its view of each structure has this size, C (sizes_generated.h)
 * that libclang and the compiler agree.
 */
#define NDK_SIZEOF(name) const size_t NDK_SIZEOF_##name = sizeof(struct name)
NDK_SIZEOF(ib_client);
NDK_SIZEOF(ib_cq);
NDK_SIZEOF(ib_device);
NDK_SIZEOF(ib_device_attr);
NDK_SIZEOF(ib_gid_attr);
NDK_SIZEOF(ib_mr);
NDK_SIZEOF(ib_pd);
NDK_SIZEOF(ib_port_attr);
NDK_SIZEOF(ib_qp);
NDK_SIZEOF(ib_qp_attr);
NDK_SIZEOF(ib_qp_init_attr);
NDK_SIZEOF(ib_rdma_wr);
NDK_SIZEOF(ib_recv_wr);
NDK_SIZEOF(ib_reg_wr);
NDK_SIZEOF(ib_send_wr);
NDK_SIZEOF(ib_srq);
NDK_SIZEOF(ib_srq_attr);
NDK_SIZEOF(ib_srq_init_attr);
NDK_SIZEOF(ib_wc);
NDK_SIZEOF(rdma_cm_event);
NDK_SIZEOF(rdma_cm_id);
NDK_SIZEOF(rdma_conn_param);
