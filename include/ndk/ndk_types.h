/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - types of the API for kernel consumers: constants, structures, callbacks
 * and dispatch tables. Include <ndk/ndk.h>, which has the calls.
 *
 * The file is long because each member of each structure and table is described
 * where it stands.
 */
#ifndef _NDK_NDK_TYPES_H
#define _NDK_NDK_TYPES_H

#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/stddef.h>
#include <linux/types.h>

struct net;

struct ndk_adapter;
struct ndk_pd;
struct ndk_cq;
struct ndk_srq;
struct ndk_qp;
struct ndk_mr;
struct ndk_mw;
struct ndk_shared_endpoint;
struct ndk_connector;
struct ndk_listener;

/**
 * struct ndk_version - version of the interface
 * @major: must match exactly
 * @minor: a higher minor is a superset of a lower one
 */
struct ndk_version {
	u16 major;
	u16 minor;
};

/* The newest version that this header describes. */
#define NDK_VERSION_MAJOR	2
#define NDK_VERSION_MINOR	1

/**
 * enum ndk_object_type - what an &struct ndk_object_header belongs to
 * @NDK_OBJECT_UNDEFINED: never the type of a live object
 * @NDK_OBJECT_ADAPTER: &struct ndk_adapter
 * @NDK_OBJECT_QP: &struct ndk_qp
 * @NDK_OBJECT_CQ: &struct ndk_cq
 * @NDK_OBJECT_MR: &struct ndk_mr
 * @NDK_OBJECT_MW: &struct ndk_mw
 * @NDK_OBJECT_PD: &struct ndk_pd
 * @NDK_OBJECT_SHARED_ENDPOINT: &struct ndk_shared_endpoint
 * @NDK_OBJECT_CONNECTOR: &struct ndk_connector
 * @NDK_OBJECT_LISTENER: &struct ndk_listener
 * @NDK_OBJECT_SRQ: &struct ndk_srq
 * @NDK_OBJECT_MAX: one past the last type of this header
 */
enum ndk_object_type {
	NDK_OBJECT_UNDEFINED		= 0,
	NDK_OBJECT_ADAPTER		= 1,
	NDK_OBJECT_QP			= 2,
	NDK_OBJECT_CQ			= 3,
	NDK_OBJECT_MR			= 4,
	NDK_OBJECT_MW			= 5,
	NDK_OBJECT_PD			= 6,
	NDK_OBJECT_SHARED_ENDPOINT	= 7,
	NDK_OBJECT_CONNECTOR		= 8,
	NDK_OBJECT_LISTENER		= 9,
	NDK_OBJECT_SRQ			= 10,
	NDK_OBJECT_MAX			= 11,
};

/**
 * struct ndk_object_header - first member of every object
 * @version: version in force on this adapter
 * @type: an &enum ndk_object_type
 * @reserved: zero at creation; the provider never touches it afterwards, so
 *	it is free for the consumer or a framework between the two
 */
struct ndk_object_header {
	struct ndk_version version;
	u32 type;
	void *reserved[4];
};

/* Completion and event callbacks: all in softirq context. */

/**
 * typedef ndk_create_completion_fn - end of a create call that was pending
 * @context: context given with the call
 * @status: 0, or a negative errno, with which @object is NULL
 * @object: header of the new object
 *
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_create_completion_fn)(void *context, int status,
					 struct ndk_object_header *object);

/**
 * typedef ndk_request_completion_fn - end of a request that was pending
 * @context: context given with the call
 * @status: 0 or a negative errno
 *
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_request_completion_fn)(void *context, int status);

/**
 * typedef ndk_close_completion_fn - end of a close that was pending
 * @context: context given with the call
 *
 * The last callback of the object.
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_close_completion_fn)(void *context);

/**
 * typedef ndk_cq_notification_fn - an armed CQ has what it was armed for
 * @context: context given to ndk_create_cq()
 * @status: 0, -EOVERFLOW when more completions were due than the CQ holds, or
 *	-EIO when it failed or its device was removed. After an error the CQ
 *	and its QPs are dead, and nothing is notified any more; results that are
 *	there can still be taken.
 *
 * At most one call for each ndk_arm_cq(), never two at a time for one CQ. The
 * CQ may turn out to be empty.
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_cq_notification_fn)(void *context, int status);

/**
 * typedef ndk_srq_notification_fn - an SRQ fell below its threshold
 * @context: context given to ndk_create_srq()
 * @status: 0, or -EIO when the SRQ failed. After that the SRQ and its QPs are
 *	dead.
 *
 * One call at most for a threshold that was set with ndk_create_srq() or
 * ndk_modify_srq(), never two at a time for one SRQ. A failure is told once,
 * whether a threshold is set or not.
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_srq_notification_fn)(void *context, int status);

/**
 * typedef ndk_connect_event_fn - a listener has an incoming connection
 * @context: context given to ndk_create_listener()
 * @connector: new connector, now the consumer's: accept or reject it, and
 *	close it in every case
 *
 * Calls for one listener may overlap.
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_connect_event_fn)(void *context,
				     struct ndk_connector *connector);

/**
 * typedef ndk_disconnect_event_fn - the peer disconnected or the connection broke
 * @context: context given to ndk_accept() or ndk_complete_connect()
 *
 * At most once for a connection, and not for the consumer's own
 * ndk_disconnect() or close. Nothing is flushed by it.
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_disconnect_event_fn)(void *context);

/**
 * typedef ndk_disconnect_event_ex_fn - as ndk_disconnect_event_fn, with a reason
 * @context: context given to ndk_accept_ex() or ndk_complete_connect_ex()
 * @reason: provider's reason, 0 for none
 *
 * Context: softirq, with no lock of the provider held.
 */
typedef void (*ndk_disconnect_event_ex_fn)(void *context, u32 reason);

/* Adapter */

/**
 * enum ndk_rdma_technology - what is under an adapter
 * @NDK_RDMA_UNDEFINED: unknown
 * @NDK_RDMA_IWARP: iWARP
 * @NDK_RDMA_INFINIBAND: InfiniBand
 * @NDK_RDMA_ROCE: RoCE version 1
 * @NDK_RDMA_ROCE_V2: RoCE version 2
 * @NDK_RDMA_MAX: one past the last technology of this header
 */
enum ndk_rdma_technology {
	NDK_RDMA_UNDEFINED	= 0,
	NDK_RDMA_IWARP		= 1,
	NDK_RDMA_INFINIBAND	= 2,
	NDK_RDMA_ROCE		= 3,
	NDK_RDMA_ROCE_V2	= 4,
	NDK_RDMA_MAX		= 5,
};

/* Incoming data is written in order of position. */
#define NDK_ADAPTER_FLAG_IN_ORDER_DMA			0x00000001u
/* A read may use any buffer as sink: no NDK_*_FLAG_RDMA_READ_SINK is needed. */
#define NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED	0x00000002u
#define NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION	0x00000004u
#define NDK_ADAPTER_FLAG_MULTI_ENGINE			0x00000008u
#define NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE	0x00000010u
#define NDK_ADAPTER_FLAG_CQ_RESIZE			0x00000100u
#define NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS		0x00010000u

/**
 * struct ndk_adapter_info - limits of an adapter
 * @version: version in force
 * @vendor_id: IEEE OUI of the vendor, 0 if unknown
 * @device_id: vendor's number of the device
 * @max_registration_size: bytes in one memory registration
 * @max_window_size: bytes in one memory window
 * @frmr_page_count: pages of PAGE_SIZE in a fast registration of which the
 *	adapter can hold the most; an optimum, no maximum
 * @max_initiator_request_sge: SGEs in one initiator request
 * @max_receive_request_sge: SGEs in one receive
 * @max_read_request_sge: SGEs in one read
 * @max_transfer_length: bytes in one request, all SGEs together
 * @max_inline_data_size: bytes in one inline send or write
 * @max_inbound_read_limit: concurrent incoming reads per QP
 * @max_outbound_read_limit: concurrent outgoing reads per QP
 * @max_receive_queue_depth: outstanding receives per QP
 * @max_initiator_queue_depth: outstanding initiator requests per QP
 * @max_srq_depth: outstanding receives per SRQ, 0 where there are no SRQs
 * @max_cq_depth: entries per CQ
 * @large_request_threshold: bytes from which reads and writes do better than
 *	sends; a hint
 * @max_caller_data: bytes of private data with a connect
 * @max_callee_data: bytes of private data with an accept or a reject
 * @adapter_flags: NDK_ADAPTER_FLAG_*
 * @rdma_technology: an &enum ndk_rdma_technology
 */
struct ndk_adapter_info {
	struct ndk_version version;
	u32 vendor_id;
	u32 device_id;
	size_t max_registration_size;
	size_t max_window_size;
	u32 frmr_page_count;
	u32 max_initiator_request_sge;
	u32 max_receive_request_sge;
	u32 max_read_request_sge;
	u32 max_transfer_length;
	u32 max_inline_data_size;
	u32 max_inbound_read_limit;
	u32 max_outbound_read_limit;
	u32 max_receive_queue_depth;
	u32 max_initiator_queue_depth;
	u32 max_srq_depth;
	u32 max_cq_depth;
	u32 large_request_threshold;
	u32 max_caller_data;
	u32 max_callee_data;
	u32 adapter_flags;
	u32 rdma_technology;
};

/* Requests and results */

/**
 * struct ndk_sge - one piece of a buffer
 * @virtual_address: address within a registered MR; with NDK_OP_FLAG_INLINE
 *	a kernel address, which the call itself reads
 * @logical_address: address out of an &struct ndk_lam, where @token is the
 *	privileged token
 * @length: bytes
 * @token: local token of the MR, or the privileged token
 */
struct ndk_sge {
	union {
		u64 virtual_address;
		u64 logical_address;
	};
	u32 length;
	u32 token;
};

/**
 * struct ndk_lam - a buffer as the adapter addresses it
 * @adapter_context: the provider's, not to be altered
 * @page_count: entries of @pages
 * @reserved: zero
 * @pages: address of each page, PAGE_SIZE long and aligned
 */
struct ndk_lam {
	void *adapter_context;
	u32 page_count;
	u32 reserved;
	u64 pages[];
};

/* Flags of requests. Each function names those it takes. */
#define NDK_OP_FLAG_SILENT_SUCCESS		0x00000001u
#define NDK_OP_FLAG_READ_FENCE			0x00000002u
#define NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT	0x00000004u
#define NDK_OP_FLAG_ALLOW_REMOTE_READ		0x00000008u
#define NDK_OP_FLAG_ALLOW_LOCAL_WRITE		0x00000010u
/* Two bits: contains the right to write locally. */
#define NDK_OP_FLAG_ALLOW_REMOTE_WRITE		0x00000030u
#define NDK_OP_FLAG_INLINE			0x00000040u
#define NDK_OP_FLAG_RDMA_READ_SINK		0x00000080u
#define NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE	0x00000100u
#define NDK_OP_FLAG_DEFER			0x00000200u

/* Flags of ndk_register_mr(). */
#define NDK_MR_FLAG_ALLOW_LOCAL_READ		0x00000000u
#define NDK_MR_FLAG_ALLOW_LOCAL_WRITE		0x00000001u
#define NDK_MR_FLAG_ALLOW_REMOTE_READ		0x00000002u
/* Two bits: contains the right to write locally. */
#define NDK_MR_FLAG_ALLOW_REMOTE_WRITE		0x00000005u
#define NDK_MR_FLAG_RDMA_READ_SINK		0x00000008u

/**
 * enum ndk_cq_notify - what a CQ is armed for
 * @NDK_CQ_NOTIFY_ERRORS: faults of the CQ itself only
 * @NDK_CQ_NOTIFY_ANY: any completion
 * @NDK_CQ_NOTIFY_SOLICITED: a solicited receive, or any failed request
 *
 * A second arm before the first was answered keeps the stronger of the two,
 * where ANY is stronger than SOLICITED, and SOLICITED than ERRORS.
 */
enum ndk_cq_notify {
	NDK_CQ_NOTIFY_ERRORS	= 0,
	NDK_CQ_NOTIFY_ANY	= 1,
	NDK_CQ_NOTIFY_SOLICITED	= 2,
};

/**
 * enum ndk_operation_type - what a result answers
 * @NDK_OPERATION_RECEIVE: receive
 * @NDK_OPERATION_SEND: send, with or without remote invalidation
 * @NDK_OPERATION_FAST_REGISTER: fast register
 * @NDK_OPERATION_BIND: bind
 * @NDK_OPERATION_INVALIDATE: invalidate
 * @NDK_OPERATION_READ: read
 * @NDK_OPERATION_WRITE: write
 * @NDK_OPERATION_RECEIVE_AND_INVALIDATE: receive whose sender had a token
 *	invalidated; contains the bit of NDK_OPERATION_RECEIVE
 */
enum ndk_operation_type {
	NDK_OPERATION_RECEIVE			= 0x0001,
	NDK_OPERATION_SEND			= 0x0002,
	NDK_OPERATION_FAST_REGISTER		= 0x0004,
	NDK_OPERATION_BIND			= 0x0008,
	NDK_OPERATION_INVALIDATE		= 0x0010,
	NDK_OPERATION_READ			= 0x0020,
	NDK_OPERATION_WRITE			= 0x0040,
	NDK_OPERATION_RECEIVE_AND_INVALIDATE	= 0x8001,
};

/**
 * struct ndk_result - end of one request
 * @status: 0 or a negative errno; after an error the connection is lost
 * @bytes_transferred: bytes received; defined for receives only
 * @qp_context: context given to ndk_create_qp()
 * @request_context: context given with the request
 */
struct ndk_result {
	int status;
	u32 bytes_transferred;
	void *qp_context;
	void *request_context;
};

/**
 * struct ndk_result_ex - end of one request, with its type
 * @status: as in &struct ndk_result
 * @bytes_transferred: as in &struct ndk_result
 * @qp_context: as in &struct ndk_result
 * @request_context: as in &struct ndk_result
 * @type: an &enum ndk_operation_type
 * @provider_error_code: the &enum ib_wc_status of a failure in the low 16
 *	bits, the device's vendor error in the high 16; 0 on success
 * @type_specific: the token that was invalidated, for
 *	NDK_OPERATION_RECEIVE_AND_INVALIDATE; else undefined
 */
struct ndk_result_ex {
	int status;
	u32 bytes_transferred;
	void *qp_context;
	void *request_context;
	u32 type;
	u32 provider_error_code;
	u64 type_specific;
};

/**
 * struct ndk_guid - name of an extension
 * @b: the 16 bytes
 */
struct ndk_guid {
	u8 b[16];
};

/**
 * struct ndk_extension - an extension of an object
 * @dispatch: its functions
 */
struct ndk_extension {
	const void *dispatch;
};

/* Dispatch tables. Slots are in NDKPI's order; new ones are only appended. */

/**
 * struct ndk_adapter_dispatch - functions of an adapter
 * @query_extension: see ndk_query_extension()
 * @query_adapter_info: see ndk_query_adapter_info()
 * @create_cq: see ndk_create_cq()
 * @create_pd: see ndk_create_pd()
 * @create_shared_endpoint: see ndk_create_shared_endpoint()
 * @create_connector: see ndk_create_connector()
 * @create_listener: see ndk_create_listener()
 * @build_lam: see ndk_build_lam()
 * @release_lam: see ndk_release_lam()
 */
struct ndk_adapter_dispatch {
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*query_adapter_info)(struct ndk_adapter *adapter,
				  struct ndk_adapter_info *info, size_t *size);
	int (*create_cq)(struct ndk_adapter *adapter, u32 depth,
			 ndk_cq_notification_fn notification,
			 void *notification_context, int affinity,
			 ndk_create_completion_fn completion, void *context,
			 struct ndk_cq **cq);
	int (*create_pd)(struct ndk_adapter *adapter,
			 ndk_create_completion_fn completion, void *context,
			 struct ndk_pd **pd);
	int (*create_shared_endpoint)(struct ndk_adapter *adapter,
				      const struct sockaddr *address,
				      u32 address_len,
				      ndk_create_completion_fn completion,
				      void *context,
				      struct ndk_shared_endpoint **endpoint);
	int (*create_connector)(struct ndk_adapter *adapter,
				ndk_create_completion_fn completion,
				void *context,
				struct ndk_connector **connector);
	int (*create_listener)(struct ndk_adapter *adapter,
			       ndk_connect_event_fn connect_event,
			       void *connect_event_context,
			       ndk_create_completion_fn completion,
			       void *context, struct ndk_listener **listener);
	int (*build_lam)(struct ndk_adapter *adapter, struct scatterlist *sgl,
			 unsigned int nents, u64 length,
			 ndk_request_completion_fn completion, void *context,
			 struct ndk_lam *lam, size_t *lam_size, u32 *fbo);
	void (*release_lam)(struct ndk_adapter *adapter, struct ndk_lam *lam);
};

/**
 * struct ndk_pd_dispatch - functions of a PD
 * @close: see ndk_close_pd()
 * @query_extension: see ndk_query_extension()
 * @create_mr: see ndk_create_mr()
 * @create_mw: see ndk_create_mw()
 * @create_srq: see ndk_create_srq()
 * @create_qp: see ndk_create_qp()
 * @create_qp_with_srq: see ndk_create_qp_with_srq()
 * @get_privileged_token: see ndk_get_privileged_token()
 */
struct ndk_pd_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*create_mr)(struct ndk_pd *pd, bool fast_register,
			 ndk_create_completion_fn completion, void *context,
			 struct ndk_mr **mr);
	int (*create_mw)(struct ndk_pd *pd,
			 ndk_create_completion_fn completion, void *context,
			 struct ndk_mw **mw);
	int (*create_srq)(struct ndk_pd *pd, u32 depth, u32 max_sge,
			  u32 notify_threshold,
			  ndk_srq_notification_fn notification,
			  void *notification_context, int affinity,
			  ndk_create_completion_fn completion, void *context,
			  struct ndk_srq **srq);
	int (*create_qp)(struct ndk_pd *pd, struct ndk_cq *receive_cq,
			 struct ndk_cq *initiator_cq, void *qp_context,
			 u32 receive_depth, u32 initiator_depth,
			 u32 max_receive_sge, u32 max_initiator_sge,
			 u32 inline_size, ndk_create_completion_fn completion,
			 void *context, struct ndk_qp **qp);
	int (*create_qp_with_srq)(struct ndk_pd *pd, struct ndk_cq *receive_cq,
				  struct ndk_cq *initiator_cq,
				  struct ndk_srq *srq, void *qp_context,
				  u32 initiator_depth, u32 max_initiator_sge,
				  u32 inline_size,
				  ndk_create_completion_fn completion,
				  void *context, struct ndk_qp **qp);
	u32 (*get_privileged_token)(struct ndk_pd *pd);
};

/**
 * struct ndk_cq_dispatch - functions of a CQ
 * @close: see ndk_close_cq()
 * @query_extension: see ndk_query_extension()
 * @resize: see ndk_resize_cq()
 * @arm: see ndk_arm_cq()
 * @get_results: see ndk_get_cq_results()
 * @control_interrupt_moderation: see ndk_control_cq_interrupt_moderation()
 * @get_results_ex: see ndk_get_cq_results_ex(), since 1.2
 */
struct ndk_cq_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*resize)(struct ndk_cq *cq, u32 depth,
		      ndk_request_completion_fn completion, void *context);
	void (*arm)(struct ndk_cq *cq, u32 type);
	u32 (*get_results)(struct ndk_cq *cq, struct ndk_result *results,
			   u32 count);
	int (*control_interrupt_moderation)(struct ndk_cq *cq, u32 interval,
					    u32 count);
	u32 (*get_results_ex)(struct ndk_cq *cq, struct ndk_result_ex *results,
			      u32 count);
};

/**
 * struct ndk_srq_dispatch - functions of an SRQ
 * @close: see ndk_close_srq()
 * @query_extension: see ndk_query_extension()
 * @modify: see ndk_modify_srq()
 * @receive: see ndk_srq_receive()
 */
struct ndk_srq_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*modify)(struct ndk_srq *srq, u32 depth, u32 notify_threshold,
		      ndk_request_completion_fn completion, void *context);
	int (*receive)(struct ndk_srq *srq, void *context,
		       const struct ndk_sge *sgl, u32 nr_sge);
};

/**
 * struct ndk_qp_dispatch - functions of a QP
 * @close: see ndk_close_qp()
 * @query_extension: see ndk_query_extension()
 * @flush: see ndk_flush()
 * @send: see ndk_send()
 * @receive: see ndk_receive()
 * @bind: see ndk_bind()
 * @fast_register: see ndk_fast_register()
 * @invalidate: see ndk_invalidate()
 * @read: see ndk_read()
 * @write: see ndk_write()
 * @send_and_invalidate: see ndk_send_and_invalidate(), since 1.2
 */
struct ndk_qp_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	void (*flush)(struct ndk_qp *qp);
	int (*send)(struct ndk_qp *qp, void *context,
		    const struct ndk_sge *sgl, u32 nr_sge, u32 flags);
	int (*receive)(struct ndk_qp *qp, void *context,
		       const struct ndk_sge *sgl, u32 nr_sge);
	int (*bind)(struct ndk_qp *qp, void *context, struct ndk_mr *mr,
		    struct ndk_mw *mw, u64 va, u64 length, u32 flags);
	int (*fast_register)(struct ndk_qp *qp, void *context,
			     struct ndk_mr *mr, u32 page_count,
			     const u64 *pages, u32 fbo, u64 length, u64 va,
			     u32 flags);
	int (*invalidate)(struct ndk_qp *qp, void *context,
			  struct ndk_object_header *mr_or_mw, u32 flags);
	int (*read)(struct ndk_qp *qp, void *context,
		    const struct ndk_sge *sgl, u32 nr_sge, u64 remote_address,
		    u32 remote_token, u32 flags);
	int (*write)(struct ndk_qp *qp, void *context,
		     const struct ndk_sge *sgl, u32 nr_sge, u64 remote_address,
		     u32 remote_token, u32 flags);
	int (*send_and_invalidate)(struct ndk_qp *qp, void *context,
				   const struct ndk_sge *sgl, u32 nr_sge,
				   u32 flags, u32 remote_token);
};

/**
 * struct ndk_mr_dispatch - functions of an MR
 * @close: see ndk_close_mr()
 * @query_extension: see ndk_query_extension()
 * @register_mr: see ndk_register_mr()
 * @deregister: see ndk_deregister_mr()
 * @initialize_fast_register: see ndk_initialize_fast_register_mr()
 * @get_remote_token: see ndk_get_remote_token_from_mr()
 * @get_local_token: see ndk_get_local_token_from_mr()
 */
struct ndk_mr_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*register_mr)(struct ndk_mr *mr, struct scatterlist *sgl,
			   unsigned int nents, u64 va, u64 length, u32 flags,
			   ndk_request_completion_fn completion,
			   void *context);
	int (*deregister)(struct ndk_mr *mr,
			  ndk_request_completion_fn completion, void *context);
	int (*initialize_fast_register)(struct ndk_mr *mr, u32 page_count,
					bool remote_access,
					ndk_request_completion_fn completion,
					void *context);
	u32 (*get_remote_token)(struct ndk_mr *mr);
	u32 (*get_local_token)(struct ndk_mr *mr);
};

/**
 * struct ndk_mw_dispatch - functions of a memory window
 * @close: see ndk_close_mw()
 * @query_extension: see ndk_query_extension()
 * @get_remote_token: see ndk_get_remote_token_from_mw()
 */
struct ndk_mw_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	u32 (*get_remote_token)(struct ndk_mw *mw);
};

/**
 * struct ndk_shared_endpoint_dispatch - functions of a shared endpoint
 * @close: see ndk_close_shared_endpoint()
 * @query_extension: see ndk_query_extension()
 * @get_local_address: see ndk_get_shared_endpoint_local_address()
 */
struct ndk_shared_endpoint_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*get_local_address)(struct ndk_shared_endpoint *endpoint,
				 struct sockaddr *address, u32 *address_len);
};

/**
 * struct ndk_connector_dispatch - functions of a connector
 * @close: see ndk_close_connector()
 * @query_extension: see ndk_query_extension()
 * @connect: see ndk_connect()
 * @connect_with_shared_endpoint: see ndk_connect_with_shared_endpoint()
 * @complete_connect: see ndk_complete_connect()
 * @accept: see ndk_accept()
 * @reject: see ndk_reject()
 * @get_connection_data: see ndk_get_connection_data()
 * @get_local_address: see ndk_get_local_address()
 * @get_peer_address: see ndk_get_peer_address()
 * @disconnect: see ndk_disconnect()
 * @complete_connect_ex: see ndk_complete_connect_ex(), since 2.1
 * @accept_ex: see ndk_accept_ex(), since 2.1
 */
struct ndk_connector_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*connect)(struct ndk_connector *connector, struct ndk_qp *qp,
		       const struct sockaddr *source, u32 source_len,
		       const struct sockaddr *destination, u32 destination_len,
		       u32 inbound_read_limit, u32 outbound_read_limit,
		       const void *private_data, u32 private_data_len,
		       ndk_request_completion_fn completion, void *context);
	int (*connect_with_shared_endpoint)(struct ndk_connector *connector,
					    struct ndk_qp *qp,
					    struct ndk_shared_endpoint *endpoint,
					    const struct sockaddr *destination,
					    u32 destination_len,
					    u32 inbound_read_limit,
					    u32 outbound_read_limit,
					    const void *private_data,
					    u32 private_data_len,
					    ndk_request_completion_fn completion,
					    void *context);
	int (*complete_connect)(struct ndk_connector *connector,
				ndk_disconnect_event_fn disconnect_event,
				void *disconnect_event_context,
				ndk_request_completion_fn completion,
				void *context);
	int (*accept)(struct ndk_connector *connector, struct ndk_qp *qp,
		      u32 inbound_read_limit, u32 outbound_read_limit,
		      const void *private_data, u32 private_data_len,
		      ndk_disconnect_event_fn disconnect_event,
		      void *disconnect_event_context,
		      ndk_request_completion_fn completion, void *context);
	int (*reject)(struct ndk_connector *connector,
		      const void *private_data, u32 private_data_len);
	int (*get_connection_data)(struct ndk_connector *connector,
				   u32 *inbound_read_limit,
				   u32 *outbound_read_limit,
				   void *private_data, u32 *private_data_len);
	int (*get_local_address)(struct ndk_connector *connector,
				 struct sockaddr *address, u32 *address_len);
	int (*get_peer_address)(struct ndk_connector *connector,
				struct sockaddr *address, u32 *address_len);
	int (*disconnect)(struct ndk_connector *connector,
			  ndk_request_completion_fn completion, void *context);
	int (*complete_connect_ex)(struct ndk_connector *connector,
				   ndk_disconnect_event_ex_fn disconnect_event,
				   void *disconnect_event_context,
				   ndk_request_completion_fn completion,
				   void *context);
	int (*accept_ex)(struct ndk_connector *connector, struct ndk_qp *qp,
			 u32 inbound_read_limit, u32 outbound_read_limit,
			 const void *private_data, u32 private_data_len,
			 ndk_disconnect_event_ex_fn disconnect_event,
			 void *disconnect_event_context,
			 ndk_request_completion_fn completion, void *context);
};

/**
 * struct ndk_listener_dispatch - functions of a listener
 * @close: see ndk_close_listener()
 * @query_extension: see ndk_query_extension()
 * @listen: see ndk_listen()
 * @get_local_address: see ndk_get_listener_local_address()
 * @control_connect_events: see ndk_control_connect_events()
 */
struct ndk_listener_dispatch {
	int (*close)(struct ndk_object_header *object,
		     ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object,
			       const struct ndk_guid *id,
			       struct ndk_version version,
			       struct ndk_extension *extension);
	int (*listen)(struct ndk_listener *listener,
		      const struct sockaddr *address, u32 address_len,
		      ndk_request_completion_fn completion, void *context);
	int (*get_local_address)(struct ndk_listener *listener,
				 struct sockaddr *address, u32 *address_len);
	void (*control_connect_events)(struct ndk_listener *listener,
				       bool pause);
};

/*
 * Objects. The memory behind each is the provider's. It never reads the dispatch
 * pointer back: what stands between provider and consumer may replace it.
 */

/**
 * struct ndk_adapter - one port of an RDMA device
 * @header: header, of type NDK_OBJECT_ADAPTER
 * @dispatch: functions
 */
struct ndk_adapter {
	struct ndk_object_header header;
	const struct ndk_adapter_dispatch *dispatch;
};

/**
 * struct ndk_pd - protection domain
 * @header: header, of type NDK_OBJECT_PD
 * @dispatch: functions
 */
struct ndk_pd {
	struct ndk_object_header header;
	const struct ndk_pd_dispatch *dispatch;
};

/**
 * struct ndk_cq - completion queue
 * @header: header, of type NDK_OBJECT_CQ
 * @dispatch: functions
 */
struct ndk_cq {
	struct ndk_object_header header;
	const struct ndk_cq_dispatch *dispatch;
};

/**
 * struct ndk_srq - shared receive queue
 * @header: header, of type NDK_OBJECT_SRQ
 * @dispatch: functions
 */
struct ndk_srq {
	struct ndk_object_header header;
	const struct ndk_srq_dispatch *dispatch;
};

/**
 * struct ndk_qp - queue pair: an initiator queue and a receive queue
 * @header: header, of type NDK_OBJECT_QP
 * @dispatch: functions
 */
struct ndk_qp {
	struct ndk_object_header header;
	const struct ndk_qp_dispatch *dispatch;
};

/**
 * struct ndk_mr - memory region
 * @header: header, of type NDK_OBJECT_MR
 * @dispatch: functions
 */
struct ndk_mr {
	struct ndk_object_header header;
	const struct ndk_mr_dispatch *dispatch;
};

/**
 * struct ndk_mw - memory window
 * @header: header, of type NDK_OBJECT_MW
 * @dispatch: functions
 */
struct ndk_mw {
	struct ndk_object_header header;
	const struct ndk_mw_dispatch *dispatch;
};

/**
 * struct ndk_shared_endpoint - local address that several connectors share
 * @header: header, of type NDK_OBJECT_SHARED_ENDPOINT
 * @dispatch: functions
 */
struct ndk_shared_endpoint {
	struct ndk_object_header header;
	const struct ndk_shared_endpoint_dispatch *dispatch;
};

/**
 * struct ndk_connector - one end of a connection
 * @header: header, of type NDK_OBJECT_CONNECTOR
 * @dispatch: functions
 */
struct ndk_connector {
	struct ndk_object_header header;
	const struct ndk_connector_dispatch *dispatch;
};

/**
 * struct ndk_listener - taker of incoming connections
 * @header: header, of type NDK_OBJECT_LISTENER
 * @dispatch: functions
 */
struct ndk_listener {
	struct ndk_object_header header;
	const struct ndk_listener_dispatch *dispatch;
};

#endif /* _NDK_NDK_TYPES_H */
