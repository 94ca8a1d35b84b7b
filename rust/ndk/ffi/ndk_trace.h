/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of ndk. Objects go by the numbers that debugfs ndk/ lists them under; QPs and their requests by device and QP
 * number as well, as "rdma resource show qp" has them. Contexts are the consumer's, and printed as hashed pointers are.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ndk

#if !defined(_NDK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _NDK_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include <ndk/ndk_types.h>
#include <rdma/ib_verbs.h>

TRACE_DEFINE_ENUM(NDK_OBJECT_ADAPTER);
TRACE_DEFINE_ENUM(NDK_OBJECT_QP);
TRACE_DEFINE_ENUM(NDK_OBJECT_CQ);
TRACE_DEFINE_ENUM(NDK_OBJECT_MR);
TRACE_DEFINE_ENUM(NDK_OBJECT_MW);
TRACE_DEFINE_ENUM(NDK_OBJECT_PD);
TRACE_DEFINE_ENUM(NDK_OBJECT_SHARED_ENDPOINT);
TRACE_DEFINE_ENUM(NDK_OBJECT_CONNECTOR);
TRACE_DEFINE_ENUM(NDK_OBJECT_LISTENER);
TRACE_DEFINE_ENUM(NDK_OBJECT_SRQ);

#define ndk_show_type(type)					\
	__print_symbolic(type,					\
		{ NDK_OBJECT_ADAPTER,		"adapter" },	\
		{ NDK_OBJECT_QP,		"qp" },		\
		{ NDK_OBJECT_CQ,		"cq" },		\
		{ NDK_OBJECT_MR,		"mr" },		\
		{ NDK_OBJECT_MW,		"mw" },		\
		{ NDK_OBJECT_PD,		"pd" },		\
		{ NDK_OBJECT_SHARED_ENDPOINT,	"shared_endpoint" }, \
		{ NDK_OBJECT_CONNECTOR,		"connector" },	\
		{ NDK_OBJECT_LISTENER,		"listener" },	\
		{ NDK_OBJECT_SRQ,		"srq" })

TRACE_DEFINE_ENUM(NDK_OPERATION_RECEIVE);
TRACE_DEFINE_ENUM(NDK_OPERATION_SEND);
TRACE_DEFINE_ENUM(NDK_OPERATION_FAST_REGISTER);
TRACE_DEFINE_ENUM(NDK_OPERATION_BIND);
TRACE_DEFINE_ENUM(NDK_OPERATION_INVALIDATE);
TRACE_DEFINE_ENUM(NDK_OPERATION_READ);
TRACE_DEFINE_ENUM(NDK_OPERATION_WRITE);
TRACE_DEFINE_ENUM(NDK_OPERATION_RECEIVE_AND_INVALIDATE);

#define ndk_show_operation(operation)				\
	__print_symbolic(operation,				\
		{ NDK_OPERATION_RECEIVE,	"receive" },	\
		{ NDK_OPERATION_SEND,		"send" },	\
		{ NDK_OPERATION_FAST_REGISTER,	"fast_register" }, \
		{ NDK_OPERATION_BIND,		"bind" },	\
		{ NDK_OPERATION_INVALIDATE,	"invalidate" },	\
		{ NDK_OPERATION_READ,		"read" },	\
		{ NDK_OPERATION_WRITE,		"write" },	\
		{ NDK_OPERATION_RECEIVE_AND_INVALIDATE, "receive_and_invalidate" })

#define ndk_show_flags(flags)						\
	__print_flags(flags, "|",					\
		{ NDK_OP_FLAG_SILENT_SUCCESS,		"silent" },	\
		{ NDK_OP_FLAG_READ_FENCE,		"fence" },	\
		{ NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT,	"solicit" },	\
		{ NDK_OP_FLAG_ALLOW_REMOTE_READ,	"remote_read" }, \
		{ NDK_OP_FLAG_ALLOW_REMOTE_WRITE,	"remote_write" }, \
		{ NDK_OP_FLAG_ALLOW_LOCAL_WRITE,	"local_write" }, \
		{ NDK_OP_FLAG_INLINE,			"inline" },	\
		{ NDK_OP_FLAG_RDMA_READ_SINK,		"read_sink" },	\
		{ NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE, "local_invalidate" }, \
		{ NDK_OP_FLAG_DEFER,			"defer" })

TRACE_DEFINE_ENUM(NDK_CQ_NOTIFY_ERRORS);
TRACE_DEFINE_ENUM(NDK_CQ_NOTIFY_ANY);
TRACE_DEFINE_ENUM(NDK_CQ_NOTIFY_SOLICITED);

#define ndk_show_notify(type)					\
	__print_symbolic(type,					\
		{ NDK_CQ_NOTIFY_ERRORS,		"errors" },	\
		{ NDK_CQ_NOTIFY_ANY,		"any" },	\
		{ NDK_CQ_NOTIFY_SOLICITED,	"solicited" })

/* Devices. */

DECLARE_EVENT_CLASS(ndk_device_class,
	TP_PROTO(const char *device, u32 port),
	TP_ARGS(device, port),
	TP_STRUCT__entry(
		__string(device, device)
		__field(u32, port)
	),
	TP_fast_assign(
		__assign_str(device);
		__entry->port = port;
	),
	TP_printk("device=%s port=%u", __get_str(device), __entry->port)
);

DEFINE_EVENT(ndk_device_class, ndk_device_add,
	TP_PROTO(const char *device, u32 port),
	TP_ARGS(device, port)
);

DEFINE_EVENT(ndk_device_class, ndk_device_remove,
	TP_PROTO(const char *device, u32 port),
	TP_ARGS(device, port)
);

DEFINE_EVENT(ndk_device_class, ndk_device_removed,
	TP_PROTO(const char *device, u32 port),
	TP_ARGS(device, port)
);

/* Life of every object. */

DECLARE_EVENT_CLASS(ndk_object_class,
	TP_PROTO(u64 object, u32 type),
	TP_ARGS(object, type),
	TP_STRUCT__entry(
		__field(u64, object)
		__field(u32, type)
	),
	TP_fast_assign(
		__entry->object = object;
		__entry->type = type;
	),
	TP_printk("object=%llu type=%s", __entry->object, ndk_show_type(__entry->type))
);

DEFINE_EVENT(ndk_object_class, ndk_object_create,
	TP_PROTO(u64 object, u32 type),
	TP_ARGS(object, type)
);

DEFINE_EVENT(ndk_object_class, ndk_object_close,
	TP_PROTO(u64 object, u32 type),
	TP_ARGS(object, type)
);

DEFINE_EVENT(ndk_object_class, ndk_object_closed,
	TP_PROTO(u64 object, u32 type),
	TP_ARGS(object, type)
);

/* Connections. */

DECLARE_EVENT_CLASS(ndk_state_class,
	TP_PROTO(u64 object, const char *from, const char *to),
	TP_ARGS(object, from, to),
	TP_STRUCT__entry(
		__field(u64, object)
		__string(from, from)
		__string(to, to)
	),
	TP_fast_assign(
		__entry->object = object;
		__assign_str(from);
		__assign_str(to);
	),
	TP_printk("object=%llu %s -> %s", __entry->object, __get_str(from), __get_str(to))
);

DEFINE_EVENT(ndk_state_class, ndk_connector_state,
	TP_PROTO(u64 object, const char *from, const char *to),
	TP_ARGS(object, from, to)
);

DEFINE_EVENT(ndk_state_class, ndk_listener_state,
	TP_PROTO(u64 object, const char *from, const char *to),
	TP_ARGS(object, from, to)
);

TRACE_EVENT(ndk_endpoint_bind,
	TP_PROTO(const struct sockaddr_storage *local, int status),
	TP_ARGS(local, status),
	TP_STRUCT__entry(
		__array(u8, local, sizeof(struct sockaddr_in6))
		__field(int, status)
	),
	TP_fast_assign(
		memcpy(__entry->local, local, sizeof(struct sockaddr_in6));
		__entry->status = status;
	),
	TP_printk("local=%pISpc status=%d", __entry->local, __entry->status)
);

/* Requests. */

TRACE_EVENT(ndk_post,
	TP_PROTO(const struct ib_qp *qp, u32 operation, u32 flags, u64 context, bool signalled),
	TP_ARGS(qp, operation, flags, context, signalled),
	TP_STRUCT__entry(
		__string(device, dev_name(&qp->device->dev))
		__field(u32, qpn)
		__field(u32, operation)
		__field(u32, flags)
		__field(u64, context)
		__field(bool, signalled)
	),
	TP_fast_assign(
		__assign_str(device);
		__entry->qpn = qp->qp_num;
		__entry->operation = operation;
		__entry->flags = flags;
		__entry->context = context;
		__entry->signalled = signalled;
	),
	TP_printk("device=%s qpn=%u operation=%s flags=%s context=%p signalled=%d",
		__get_str(device), __entry->qpn, ndk_show_operation(__entry->operation),
		ndk_show_flags(__entry->flags), (void *)(unsigned long)__entry->context,
		__entry->signalled)
);

TRACE_EVENT(ndk_doorbell,
	TP_PROTO(const struct ib_qp *qp, bool receive, u32 requests, int status),
	TP_ARGS(qp, receive, requests, status),
	TP_STRUCT__entry(
		__string(device, dev_name(&qp->device->dev))
		__field(u32, qpn)
		__field(bool, receive)
		__field(u32, requests)
		__field(int, status)
	),
	TP_fast_assign(
		__assign_str(device);
		__entry->qpn = qp->qp_num;
		__entry->receive = receive;
		__entry->requests = requests;
		__entry->status = status;
	),
	TP_printk("device=%s qpn=%u queue=%s requests=%u status=%d",
		__get_str(device), __entry->qpn, __entry->receive ? "receive" : "initiator",
		__entry->requests, __entry->status)
);

TRACE_EVENT(ndk_completion,
	TP_PROTO(u64 cq, int status, u32 operation, u32 bytes, u64 qp_context, u64 context),
	TP_ARGS(cq, status, operation, bytes, qp_context, context),
	TP_STRUCT__entry(
		__field(u64, cq)
		__field(int, status)
		__field(u32, operation)
		__field(u32, bytes)
		__field(u64, qp_context)
		__field(u64, context)
	),
	TP_fast_assign(
		__entry->cq = cq;
		__entry->status = status;
		__entry->operation = operation;
		__entry->bytes = bytes;
		__entry->qp_context = qp_context;
		__entry->context = context;
	),
	TP_printk("cq=%llu status=%d operation=%s bytes=%u qp_context=%p context=%p",
		__entry->cq, __entry->status, ndk_show_operation(__entry->operation),
		__entry->bytes, (void *)(unsigned long)__entry->qp_context,
		(void *)(unsigned long)__entry->context)
);

TRACE_EVENT(ndk_arm,
	TP_PROTO(u64 cq, u32 type),
	TP_ARGS(cq, type),
	TP_STRUCT__entry(
		__field(u64, cq)
		__field(u32, type)
	),
	TP_fast_assign(
		__entry->cq = cq;
		__entry->type = type;
	),
	TP_printk("cq=%llu type=%s", __entry->cq, ndk_show_notify(__entry->type))
);

DECLARE_EVENT_CLASS(ndk_notify_class,
	TP_PROTO(u64 cq, int status),
	TP_ARGS(cq, status),
	TP_STRUCT__entry(
		__field(u64, cq)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->cq = cq;
		__entry->status = status;
	),
	TP_printk("cq=%llu status=%d", __entry->cq, __entry->status)
);

DEFINE_EVENT(ndk_notify_class, ndk_notify_begin,
	TP_PROTO(u64 cq, int status),
	TP_ARGS(cq, status)
);

DEFINE_EVENT(ndk_notify_class, ndk_notify_end,
	TP_PROTO(u64 cq, int status),
	TP_ARGS(cq, status)
);

/* SRQs. */

TRACE_EVENT(ndk_srq_receive,
	TP_PROTO(u64 srq, u64 context, u32 level, int status),
	TP_ARGS(srq, context, level, status),
	TP_STRUCT__entry(
		__field(u64, srq)
		__field(u64, context)
		__field(u32, level)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->srq = srq;
		__entry->context = context;
		__entry->level = level;
		__entry->status = status;
	),
	TP_printk("srq=%llu context=%p level=%u status=%d", __entry->srq,
		(void *)(unsigned long)__entry->context, __entry->level, __entry->status)
);

TRACE_EVENT(ndk_srq_modify,
	TP_PROTO(u64 srq, u32 depth, u32 threshold, int status),
	TP_ARGS(srq, depth, threshold, status),
	TP_STRUCT__entry(
		__field(u64, srq)
		__field(u32, depth)
		__field(u32, threshold)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->srq = srq;
		__entry->depth = depth;
		__entry->threshold = threshold;
		__entry->status = status;
	),
	TP_printk("srq=%llu depth=%u threshold=%u status=%d", __entry->srq, __entry->depth,
		__entry->threshold, __entry->status)
);

DECLARE_EVENT_CLASS(ndk_srq_notify_class,
	TP_PROTO(u64 srq, int status),
	TP_ARGS(srq, status),
	TP_STRUCT__entry(
		__field(u64, srq)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->srq = srq;
		__entry->status = status;
	),
	TP_printk("srq=%llu status=%d", __entry->srq, __entry->status)
);

DEFINE_EVENT(ndk_srq_notify_class, ndk_srq_notify_begin,
	TP_PROTO(u64 srq, int status),
	TP_ARGS(srq, status)
);

DEFINE_EVENT(ndk_srq_notify_class, ndk_srq_notify_end,
	TP_PROTO(u64 srq, int status),
	TP_ARGS(srq, status)
);

/* Memory. */

DECLARE_EVENT_CLASS(ndk_mr_class,
	TP_PROTO(u64 mr, u32 token, u64 va, u64 length, u32 flags, int status),
	TP_ARGS(mr, token, va, length, flags, status),
	TP_STRUCT__entry(
		__field(u64, mr)
		__field(u32, token)
		__field(u64, va)
		__field(u64, length)
		__field(u32, flags)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->mr = mr;
		__entry->token = token;
		__entry->va = va;
		__entry->length = length;
		__entry->flags = flags;
		__entry->status = status;
	),
	TP_printk("mr=%llu token=0x%x va=%p length=%llu flags=0x%x status=%d", __entry->mr,
		__entry->token, (void *)(unsigned long)__entry->va, __entry->length,
		__entry->flags, __entry->status)
);

DEFINE_EVENT(ndk_mr_class, ndk_mr_register,
	TP_PROTO(u64 mr, u32 token, u64 va, u64 length, u32 flags, int status),
	TP_ARGS(mr, token, va, length, flags, status)
);

DEFINE_EVENT(ndk_mr_class, ndk_mr_fast_register,
	TP_PROTO(u64 mr, u32 token, u64 va, u64 length, u32 flags, int status),
	TP_ARGS(mr, token, va, length, flags, status)
);

DECLARE_EVENT_CLASS(ndk_mr_end_class,
	TP_PROTO(u64 mr, u32 token, int status),
	TP_ARGS(mr, token, status),
	TP_STRUCT__entry(
		__field(u64, mr)
		__field(u32, token)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->mr = mr;
		__entry->token = token;
		__entry->status = status;
	),
	TP_printk("mr=%llu token=0x%x status=%d", __entry->mr, __entry->token, __entry->status)
);

DEFINE_EVENT(ndk_mr_end_class, ndk_mr_invalidate,
	TP_PROTO(u64 mr, u32 token, int status),
	TP_ARGS(mr, token, status)
);

DEFINE_EVENT(ndk_mr_end_class, ndk_mr_deregister,
	TP_PROTO(u64 mr, u32 token, int status),
	TP_ARGS(mr, token, status)
);

#endif /* _NDK_TRACE_H */

/* Outside of the guard: the kernel reads the file several times. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ndk_trace
#include <trace/define_trace.h>
