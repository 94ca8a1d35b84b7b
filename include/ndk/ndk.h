/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Network Direct for Linux: the API for kernel consumers.
 *
 * The object model is that of NDKPI. Every object starts with a header and a
 * pointer to a constant dispatch table; the inline functions below call
 * through it. Three rules hold everywhere:
 *
 * - A function that may complete later returns -EINPROGRESS and then calls its
 *   completion exactly once. Any other return value is the final answer, and
 *   the completion is not called.
 * - Completions and events are called in softirq context, with no lock of the
 *   provider held. The consumer may call every function of this file from
 *   them, closing the object at hand included, except ndk_open_adapter(),
 *   ndk_close_adapter(), ndk_query_adapter_info() and the client functions.
 * - A close cannot fail. Its completion is the last callback of the object.
 *
 * Three statuses mean the same wherever they are listed: -ENODEV that the device
 * has been removed, -ENOMEM that there was no memory, and -EINVAL, whatever else
 * it stands for, that a handle, a completion or a buffer is NULL where there must
 * be one, or that the bytes of an address are none of IPv4 or IPv6.
 *
 * Of each function the description says, after what it does, in which order it
 * stands to others (Ordering), how long what it takes and gives is held
 * (Lifetime), from where it may be called (Context), and every status with its
 * cause (Return).
 *
 * Unless a function says otherwise it may be called in any context in which
 * interrupts are enabled, softirq and under a spinlock included.
 *
 * The file is long because every call has its whole description here, and a
 * consumer looks for all of them in one place.
 */
#ifndef _NDK_NDK_H
#define _NDK_NDK_H

#include <ndk/ndk_types.h>

/* Adapters: the exported functions, in symbol namespace NDK. */

/**
 * struct ndk_open_params - which adapter, and what of it
 * @version: major must be NDK_VERSION_MAJOR or 1; minor is the lowest that the
 *	consumer can live with. The adapter answers with its highest.
 * @device: name of an RDMA device, such as "rxe0", or NULL
 * @port: with @device its port, from 1; 0 for the first
 * @ifindex: index in @net of a network interface that carries RDMA, or 0
 * @address: IP address of such an interface, or NULL; its port is ignored
 * @address_len: bytes of @address
 * @client: name of the consumer, by which debugfs lists what it has; or NULL
 *
 * Exactly one of @device, @ifindex and @address is given.
 */
struct ndk_open_params {
	struct ndk_version version;
	const char *device;
	u32 port;
	int ifindex;
	const struct sockaddr *address;
	u32 address_len;
	const char *client;
};

/**
 * struct ndk_adapter_desc - an adapter that can be opened
 * @device: name of the RDMA device
 * @port: its port, from 1
 * @ifindex: network interface behind it, in the namespace @net
 * @net: namespace of that interface, valid during the callback only; NULL when
 *	the interface has gone
 */
struct ndk_adapter_desc {
	char device[64];
	u32 port;
	int ifindex;
	struct net *net;
};

/**
 * struct ndk_client - a consumer that wants to know which adapters there are
 * @add: an adapter has come; also called during ndk_register_client() for
 *	those that are there. Process context, may sleep, may open adapters.
 * @remove: an adapter has gone: its open instances answer -ENODEV until they
 *	are closed. Process context, may sleep, may close adapters. The
 *	removal of the device does not wait for it.
 * @provider: the provider's, NULL before registration
 *
 * Callbacks of one client come one at a time and in order.
 */
struct ndk_client {
	void (*add)(struct ndk_client *client,
		    const struct ndk_adapter_desc *adapter);
	void (*remove)(struct ndk_client *client,
		       const struct ndk_adapter_desc *adapter);
	void *provider;
};

/**
 * ndk_open_adapter - open an instance of an adapter
 * @net: network namespace in which @params is meant
 * @params: which adapter
 * @adapter: the instance, on success
 *
 * Any number of instances may be open, each with a life of its own.
 *
 * Ordering: opens and closes need no order among each other or against the
 * coming and going of devices.
 *
 * Lifetime: the instance stays until ndk_close_adapter(), also when its device
 * is removed: all its calls then answer -ENODEV. @params and what it points to
 * are read during the call only.
 *
 * Context: process context, sleeps; never in a callback of an object or under
 * a lock.
 * Return: 0; -EPROTONOSUPPORT for a version that is not spoken; -ENODEV when
 * there is no such adapter; -ENETDOWN when it is not ready; -EINVAL unless
 * exactly one of the three names is given; -ENOMEM.
 */
int ndk_open_adapter(struct net *net, const struct ndk_open_params *params,
		     struct ndk_adapter **adapter);

/**
 * ndk_close_adapter - close an instance of an adapter
 * @adapter: the instance
 *
 * Returns when every object below the instance is closed and every callback
 * of them has returned. Closing those objects is the consumer's duty.
 *
 * Ordering: nothing of the instance is called at the same time or later.
 *
 * Lifetime: @adapter is freed when the call returns. No callback of its
 * objects runs then, so that the consumer's module may go.
 *
 * Context: process context, sleeps; never in a callback of an object or under
 * a lock.
 */
void ndk_close_adapter(struct ndk_adapter *adapter);

/**
 * ndk_register_client - be told of adapters that come and go
 * @client: the client; must stay until ndk_unregister_client()
 *
 * Ordering: @add comes first for a port, then @remove, in the order of the
 * events; the first calls of @add come during this call.
 *
 * Lifetime: @client belongs to the provider until ndk_unregister_client()
 * returns.
 *
 * Context: process context, sleeps; never in a callback of an object or under
 * a lock.
 * Return: 0; -EINVAL without both callbacks, or when @client is registered
 * already; -ENOMEM.
 */
int ndk_register_client(struct ndk_client *client);

/**
 * ndk_unregister_client - no longer be told
 * @client: the client
 *
 * No callback runs after it returns.
 *
 * Ordering: waits for a callback that runs.
 *
 * Lifetime: instances that were opened stay; close them before or after.
 *
 * Context: process context, sleeps; not in a callback of @client.
 */
void ndk_unregister_client(struct ndk_client *client);

/* Every object */

/**
 * ndk_query_extension - ask an object for an extension
 * @object: header of the object
 * @query: its @query_extension slot
 * @id: name of the extension
 * @version: version wanted
 * @extension: the extension, on success
 *
 * No extension is defined.
 *
 * Ordering: none.
 *
 * Lifetime: @object is not closed.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EOPNOTSUPP.
 */
static inline int
ndk_query_extension(struct ndk_object_header *object,
		    int (*query)(struct ndk_object_header *,
				 const struct ndk_guid *, struct ndk_version,
				 struct ndk_extension *),
		    const struct ndk_guid *id, struct ndk_version version,
		    struct ndk_extension *extension)
{
	return query(object, id, version, extension);
}

/* Adapter */

/**
 * ndk_query_adapter_info - read the limits of an adapter
 * @adapter: the adapter
 * @info: where to, or NULL to ask for the size
 * @size: bytes at @info; on return the bytes written, or with -ENOSPC those
 *	needed. The size of the structure without @rdma_technology will do.
 *
 * Ordering: none; what it says of an instance does not change.
 *
 * Lifetime: @adapter is open.
 *
 * Context: process context.
 * Return: 0; -ENOSPC when @size is too small; -ENODEV.
 */
static inline int ndk_query_adapter_info(struct ndk_adapter *adapter,
					 struct ndk_adapter_info *info,
					 size_t *size)
{
	return adapter->dispatch->query_adapter_info(adapter, info, size);
}

/**
 * ndk_create_cq - create a CQ
 * @adapter: the adapter
 * @depth: completions that it must be able to hold, from 1
 * @notification: called when an arm is answered
 * @notification_context: for @notification
 * @affinity: CPU on which notifications are preferred, -1 for any; a number of
 *	no CPU, or of one that is offline, is no error and stands for any
 * @completion: called if the call is pending
 * @context: for @completion
 * @cq: the CQ, if the call is not pending and succeeds
 *
 * It may serve many QPs, and both queues of each.
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @adapter may be closed while the call pends: it completes first.
 * @cq holds @adapter, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL for a depth of 0 or over max_cq_depth;
 * -ENOMEM and -ENODEV, here or in @completion.
 */
static inline int ndk_create_cq(struct ndk_adapter *adapter, u32 depth,
				ndk_cq_notification_fn notification,
				void *notification_context, int affinity,
				ndk_create_completion_fn completion,
				void *context, struct ndk_cq **cq)
{
	return adapter->dispatch->create_cq(adapter, depth, notification,
					    notification_context, affinity,
					    completion, context, cq);
}

/**
 * ndk_create_pd - create a PD
 * @adapter: the adapter
 * @completion: called if the call is pending
 * @context: for @completion
 * @pd: the PD, if the call is not pending and succeeds
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @adapter may be closed while the call pends: it completes first.
 * @pd holds @adapter, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -ENOMEM and -ENODEV, here or in @completion.
 */
static inline int ndk_create_pd(struct ndk_adapter *adapter,
				ndk_create_completion_fn completion,
				void *context, struct ndk_pd **pd)
{
	return adapter->dispatch->create_pd(adapter, completion, context, pd);
}

/**
 * ndk_create_shared_endpoint - create a shared endpoint
 * @adapter: the adapter
 * @address: local IP address of the adapter, and port; port 0 has one chosen
 * @address_len: bytes of @address
 * @completion: called if the call is pending
 * @context: for @completion
 * @endpoint: the endpoint, if the call is not pending and succeeds
 *
 * Any number of connectors can connect from it, each to another remote address
 * and port, with ndk_connect_with_shared_endpoint(). Nobody else can listen on
 * its address or connect from it.
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @adapter may be closed while the call pends: it completes first.
 * @endpoint holds @adapter, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EADDRINUSE, -EADDRNOTAVAIL when @address is none of
 * the adapter's, -EUSERS when no port of 49152-65535 is free, -ENOMEM, -ENODEV,
 * here or in @completion; -EINVAL.
 */
static inline int
ndk_create_shared_endpoint(struct ndk_adapter *adapter,
			   const struct sockaddr *address, u32 address_len,
			   ndk_create_completion_fn completion, void *context,
			   struct ndk_shared_endpoint **endpoint)
{
	return adapter->dispatch->create_shared_endpoint(adapter, address,
							 address_len,
							 completion, context,
							 endpoint);
}

/**
 * ndk_create_connector - create a connector for the active side
 * @adapter: the adapter
 * @completion: called if the call is pending
 * @context: for @completion
 * @connector: the connector, if the call is not pending and succeeds
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @adapter may be closed while the call pends: it completes first.
 * @connector holds @adapter, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS; -ENOMEM; -ENODEV.
 */
static inline int ndk_create_connector(struct ndk_adapter *adapter,
				       ndk_create_completion_fn completion,
				       void *context,
				       struct ndk_connector **connector)
{
	return adapter->dispatch->create_connector(adapter, completion, context,
						   connector);
}

/**
 * ndk_create_listener - create a listener
 * @adapter: the adapter
 * @connect_event: called for each incoming connection
 * @connect_event_context: for @connect_event
 * @completion: called if the call is pending
 * @context: for @completion
 * @listener: the listener, if the call is not pending and succeeds
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @adapter may be closed while the call pends: it completes first.
 * @listener holds @adapter, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS; -EINVAL; -ENOMEM; -ENODEV.
 */
static inline int ndk_create_listener(struct ndk_adapter *adapter,
				      ndk_connect_event_fn connect_event,
				      void *connect_event_context,
				      ndk_create_completion_fn completion,
				      void *context,
				      struct ndk_listener **listener)
{
	return adapter->dispatch->create_listener(adapter, connect_event,
						  connect_event_context,
						  completion, context,
						  listener);
}

/**
 * ndk_build_lam - map a buffer for the adapter
 * @adapter: the adapter
 * @sgl: the buffer: gapless but for its ends, so that it could be mapped
 *	virtually contiguous. Stays pinned until ndk_release_lam().
 * @nents: entries of @sgl
 * @length: bytes of the buffer, from its start
 * @completion: called if the call is pending; NULL to have it done at once
 * @context: for @completion
 * @lam: the mapping; NULL to ask for the size
 * @lam_size: bytes at @lam; on return the bytes used, or with -ENOSPC needed
 * @fbo: offset of the first byte in the first page
 *
 * The pages serve SGEs with the privileged token, and ndk_fast_register().
 *
 * Ordering: the pages may be used from the return of 0, or from @completion
 * on.
 *
 * Lifetime: @sgl and its memory stay until ndk_release_lam(), which comes
 * before the close of @adapter; @lam is the consumer's memory throughout.
 *
 * Context: with @completion any with interrupts enabled; with NULL process
 * context, where it may sleep.
 * Return: 0 or -EINPROGRESS; -EINVAL for a buffer with gaps or shorter than
 * @length; -ENOSPC; -ENOMEM; -ENODEV.
 */
static inline int ndk_build_lam(struct ndk_adapter *adapter,
				struct scatterlist *sgl, unsigned int nents,
				u64 length,
				ndk_request_completion_fn completion,
				void *context, struct ndk_lam *lam,
				size_t *lam_size, u32 *fbo)
{
	return adapter->dispatch->build_lam(adapter, sgl, nents, length,
					    completion, context, lam, lam_size,
					    fbo);
}

/**
 * ndk_release_lam - undo ndk_build_lam()
 * @adapter: the adapter
 * @lam: the mapping, used by no outstanding request
 *
 * Ordering: after the last request that uses the pages has completed, and the
 * fast registration of them is invalidated.
 *
 * Lifetime: the pages mean nothing after the call. It is due also when the
 * device has been removed.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 */
static inline void ndk_release_lam(struct ndk_adapter *adapter,
				   struct ndk_lam *lam)
{
	adapter->dispatch->release_lam(adapter, lam);
}

/* PD */

/**
 * ndk_close_pd - close a PD
 * @pd: the PD
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Completes after everything made from @pd is closed.
 *
 * Ordering: @pd is not used in any call after this one, which may be made at
 * any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done.
 *
 * Lifetime: @pd is freed when @completion has returned, or when the call
 * returns 0. MRs, windows, SRQs and QPs hold @pd: it may be closed before
 * them, and ends with the last.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_pd(struct ndk_pd *pd,
			       ndk_close_completion_fn completion,
			       void *context)
{
	return pd->dispatch->close(&pd->header, completion, context);
}

/**
 * ndk_create_mr - create an MR
 * @pd: the PD
 * @fast_register: whether it is for ndk_initialize_fast_register_mr() and
 *	ndk_fast_register(), or for ndk_register_mr()
 * @completion: called if the call is pending
 * @context: for @completion
 * @mr: the MR, if the call is not pending and succeeds
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @pd may be closed while the call pends: it completes first. @mr
 * holds @pd, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS; -ENOMEM; -ENODEV.
 */
static inline int ndk_create_mr(struct ndk_pd *pd, bool fast_register,
				ndk_create_completion_fn completion,
				void *context, struct ndk_mr **mr)
{
	return pd->dispatch->create_mr(pd, fast_register, completion, context,
				       mr);
}

/**
 * ndk_create_mw - create a memory window
 * @pd: the PD
 * @completion: called if the call is pending
 * @context: for @completion
 * @mw: the window, if the call is not pending and succeeds
 *
 * It shows nothing until ndk_bind(). Close it with ndk_close_mw().
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @pd may be closed while the call pends: it completes first. @mw
 * holds @pd, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -ENOMEM; -ENODEV.
 */
static inline int ndk_create_mw(struct ndk_pd *pd,
				ndk_create_completion_fn completion,
				void *context, struct ndk_mw **mw)
{
	return pd->dispatch->create_mw(pd, completion, context, mw);
}

/**
 * ndk_create_srq - create an SRQ
 * @pd: the PD
 * @depth: outstanding receives
 * @max_sge: SGEs of each
 * @notify_threshold: notify once when fewer receives are left, after there were
 *	that many; 0 for never
 * @notification: called then, or NULL
 * @notification_context: for @notification
 * @affinity: CPU on which notifications are preferred, -1 for any
 * @completion: called if the call is pending
 * @context: for @completion
 * @srq: the SRQ, if the call is not pending and succeeds
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @pd may be closed while the call pends: it completes first. @srq
 * holds @pd, and is the consumer's until its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL for a depth of 0 or over a limit, where
 * @max_sge may be up to max_receive_request_sge; -EOPNOTSUPP where SRQs are not
 * offered (max_srq_depth is 0); -ENOMEM and -ENODEV, here or in @completion.
 */
static inline int ndk_create_srq(struct ndk_pd *pd, u32 depth, u32 max_sge,
				 u32 notify_threshold,
				 ndk_srq_notification_fn notification,
				 void *notification_context, int affinity,
				 ndk_create_completion_fn completion,
				 void *context, struct ndk_srq **srq)
{
	return pd->dispatch->create_srq(pd, depth, max_sge, notify_threshold,
					notification, notification_context,
					affinity, completion, context, srq);
}

/**
 * ndk_create_qp - create a QP
 * @pd: the PD
 * @receive_cq: CQ of its receives
 * @initiator_cq: CQ of its initiator requests; may be the same
 * @qp_context: given back in every result
 * @receive_depth: outstanding receives
 * @initiator_depth: outstanding initiator requests
 * @max_receive_sge: SGEs of a receive
 * @max_initiator_sge: SGEs of an initiator request
 * @inline_size: bytes of a request with NDK_OP_FLAG_INLINE
 * @completion: called if the call is pending
 * @context: for @completion
 * @qp: the QP, if the call is not pending and succeeds
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @pd may be closed while the call pends: it completes first. @qp
 * holds @pd, @receive_cq and @initiator_cq, and is the consumer's until its
 * close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL over a limit of &struct ndk_adapter_info, or
 * for a CQ of another adapter; -ENOMEM and -ENODEV, here or in @completion.
 */
static inline int ndk_create_qp(struct ndk_pd *pd, struct ndk_cq *receive_cq,
				struct ndk_cq *initiator_cq, void *qp_context,
				u32 receive_depth, u32 initiator_depth,
				u32 max_receive_sge, u32 max_initiator_sge,
				u32 inline_size,
				ndk_create_completion_fn completion,
				void *context, struct ndk_qp **qp)
{
	return pd->dispatch->create_qp(pd, receive_cq, initiator_cq, qp_context,
				       receive_depth, initiator_depth,
				       max_receive_sge, max_initiator_sge,
				       inline_size, completion, context, qp);
}

/**
 * ndk_create_qp_with_srq - create a QP whose receives come from an SRQ
 * @pd: the PD
 * @receive_cq: CQ of its receives
 * @initiator_cq: CQ of its initiator requests; may be the same
 * @srq: the SRQ
 * @qp_context: given back in every result
 * @initiator_depth: outstanding initiator requests
 * @max_initiator_sge: SGEs of an initiator request
 * @inline_size: bytes of a request with NDK_OP_FLAG_INLINE
 * @completion: called if the call is pending
 * @context: for @completion
 * @qp: the QP, if the call is not pending and succeeds
 *
 * A receive from the SRQ that a message for this QP takes has its result in
 * @receive_cq, with @qp_context.
 *
 * Ordering: creates do not wait for each other, and may complete in another
 * order than they were called in; @completion may run before the call returns.
 *
 * Lifetime: @pd may be closed while the call pends: it completes first. @qp
 * holds @pd, @receive_cq, @initiator_cq and @srq, and is the consumer's until
 * its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: as ndk_create_qp(); -EINVAL for an SRQ of another PD as well.
 */
static inline int
ndk_create_qp_with_srq(struct ndk_pd *pd, struct ndk_cq *receive_cq,
		       struct ndk_cq *initiator_cq, struct ndk_srq *srq,
		       void *qp_context, u32 initiator_depth,
		       u32 max_initiator_sge, u32 inline_size,
		       ndk_create_completion_fn completion, void *context,
		       struct ndk_qp **qp)
{
	return pd->dispatch->create_qp_with_srq(pd, receive_cq, initiator_cq,
						srq, qp_context,
						initiator_depth,
						max_initiator_sge, inline_size,
						completion, context, qp);
}

/**
 * ndk_get_privileged_token - token for the addresses of an &struct ndk_lam
 * @pd: the PD
 *
 * It gives local rights only.
 *
 * Ordering: none; the token is one and the same for the life of @pd.
 *
 * Lifetime: good for requests of QPs of @pd until its close, and only for
 * addresses of a LAM that has not been released.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: the token.
 */
static inline u32 ndk_get_privileged_token(struct ndk_pd *pd)
{
	return pd->dispatch->get_privileged_token(pd);
}

/* CQ */

/**
 * ndk_close_cq - close a CQ
 * @cq: the CQ
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Completes after every QP on @cq is closed.
 *
 * Ordering: @cq is not used in any call after this one, which may be made at
 * any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. Results that are left
 * are lost; no notification comes after @completion, and no arm is answered
 * after the call but by one that runs already.
 *
 * Lifetime: @cq is freed when @completion has returned, or when the call
 * returns 0. QPs hold @cq: it may be closed before them, and ends with the
 * last.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_cq(struct ndk_cq *cq,
			       ndk_close_completion_fn completion,
			       void *context)
{
	return cq->dispatch->close(&cq->header, completion, context);
}

/**
 * ndk_resize_cq - change the depth of a CQ
 * @cq: the CQ
 * @depth: completions that it must be able to hold
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Traffic need not stop, and no completion is lost. Ask for more before the QPs
 * are created that need it: -ENOMEM may mean that QPs of @cq, together, have
 * more requests than the depth, and cannot have that many completions waiting.
 * A call that fails changes nothing.
 *
 * Ordering: calls that overlap take effect in any order. Polling, arming and
 * posting go on meanwhile.
 *
 * Lifetime: @cq may be closed while it pends: @completion comes first, with
 * -ECANCELED or what was done.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL for a depth of 0 or over max_cq_depth; -ENOMEM
 * and -ENODEV, here or in @completion; in @completion -EOVERFLOW below what is
 * queued; -EOPNOTSUPP without NDK_ADAPTER_FLAG_CQ_RESIZE.
 */
static inline int ndk_resize_cq(struct ndk_cq *cq, u32 depth,
				ndk_request_completion_fn completion,
				void *context)
{
	return cq->dispatch->resize(cq, depth, completion, context);
}

/**
 * ndk_arm_cq - ask for one notification
 * @cq: the CQ
 * @type: an &enum ndk_cq_notify
 *
 * Completions that came after the last notification answer at once. Not to be
 * called at the same time as ndk_get_cq_results() or another arm of @cq.
 *
 * Ordering: an arm while one is outstanding makes the stronger of both. The
 * notification may run before the call returns.
 *
 * Lifetime: what has been armed ends with its notification, with an error of
 * @cq, or with its close, which brings none.
 *
 * Context: any with interrupts enabled, the notification of @cq included; does
 * not sleep, takes no lock.
 */
static inline void ndk_arm_cq(struct ndk_cq *cq, u32 type)
{
	cq->dispatch->arm(cq, type);
}

/**
 * ndk_get_cq_results - take results
 * @cq: the CQ
 * @results: where to
 * @count: entries of @results
 *
 * The consumer serializes the calls for one CQ, and against ndk_arm_cq().
 *
 * Ordering: results come in the order in which requests of a queue were
 * posted; between queues there is none.
 *
 * Lifetime: @results is the caller's. A result of a QP may be taken after the
 * QP is closed; @qp_context is then still what it was.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: number taken; fewer than @count means that the CQ was empty.
 */
static inline u32 ndk_get_cq_results(struct ndk_cq *cq,
				     struct ndk_result *results, u32 count)
{
	return cq->dispatch->get_results(cq, results, count);
}

/**
 * ndk_control_cq_interrupt_moderation - have notifications come in groups
 * @cq: the CQ
 * @interval: microseconds by which a notification may be late; 0 for none,
 *	U32_MAX for no bound
 * @count: completions after which it comes all the same; 0 or 1 for none,
 *	U32_MAX or more than the depth for no bound
 *
 * A CQ begins without. The latest call governs, also over a notification that
 * is being held back; a count is counted from the next arm on. Results can be
 * taken all the while. Errors of the CQ are not held back, nor are failed
 * requests where completions are counted. Not to be called at the same time
 * for one CQ.
 *
 * Ordering: needs no order against polling and arming.
 *
 * Lifetime: holds until the next call, or the close of @cq; a close drops what
 * is held back.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0; -EDOM when both are without bound; -ENOMEM; -ENODEV; -EOPNOTSUPP
 * without NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION.
 */
static inline int ndk_control_cq_interrupt_moderation(struct ndk_cq *cq,
						      u32 interval, u32 count)
{
	return cq->dispatch->control_interrupt_moderation(cq, interval, count);
}

/**
 * ndk_get_cq_results_ex - take results with their types
 * @cq: the CQ
 * @results: where to
 * @count: entries of @results
 *
 * Ordering: as ndk_get_cq_results(); both may be used by turns.
 *
 * Lifetime: as ndk_get_cq_results().
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: as ndk_get_cq_results(), from the same queue.
 */
static inline u32 ndk_get_cq_results_ex(struct ndk_cq *cq,
					struct ndk_result_ex *results,
					u32 count)
{
	return cq->dispatch->get_results_ex(cq, results, count);
}

/* SRQ */

/**
 * ndk_close_srq - close an SRQ
 * @srq: the SRQ
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Completes when the QPs made with it are closed. Receives that are still
 * posted then have no result.
 *
 * Ordering: @srq is not used in any call after this one, which may be made at
 * any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. Buffers of receives that
 * are left are the consumer's from @completion on.
 *
 * Lifetime: @srq is freed when @completion has returned, or when the call
 * returns 0. QPs hold @srq: it may be closed before them, and ends with the
 * last.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_srq(struct ndk_srq *srq,
				ndk_close_completion_fn completion,
				void *context)
{
	return srq->dispatch->close(&srq->header, completion, context);
}

/**
 * ndk_modify_srq - change depth or threshold of an SRQ
 * @srq: the SRQ
 * @depth: outstanding receives, 0 to keep
 * @notify_threshold: arms one notification; 0 keeps threshold and arming
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Where fewer than @notify_threshold receives are left the notification comes
 * at once. A depth that fails changes the threshold neither. Calls that overlap
 * take effect in any order.
 *
 * Ordering: the notification may run before the call returns, and needs no
 * order against posts.
 *
 * Lifetime: @srq may be closed while it pends: @completion comes first.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL over max_srq_depth; -ENOMEM and -ENODEV, here
 * or in @completion; there also -EOVERFLOW below what is outstanding, -ENOMEM
 * where the device's queue cannot be made larger, and -EIO for an SRQ that has
 * failed.
 */
static inline int ndk_modify_srq(struct ndk_srq *srq, u32 depth,
				 u32 notify_threshold,
				 ndk_request_completion_fn completion,
				 void *context)
{
	return srq->dispatch->modify(srq, depth, notify_threshold, completion,
				     context);
}

/**
 * ndk_srq_receive - post a receive to an SRQ
 * @srq: the SRQ, with connected QPs or without
 * @context: given back in the result
 * @sgl: the buffer; the array is read during the call only
 * @nr_sge: entries of @sgl
 *
 * Ordering: calls for one SRQ may overlap. Which QP takes which receive is the
 * device's choice; of one QP they complete in the order of its messages.
 *
 * Lifetime: the buffer is the provider's until its result is taken, or until
 * the close of @srq completes.
 *
 * Context: any with interrupts enabled; does not sleep.
 * Return: 0; -ENOBUFS when the SRQ is full; -EMSGSIZE for too many SGEs or
 * bytes; -EIO for an SRQ that has failed; -ENODEV.
 */
static inline int ndk_srq_receive(struct ndk_srq *srq, void *context,
				  const struct ndk_sge *sgl, u32 nr_sge)
{
	return srq->dispatch->receive(srq, context, sgl, nr_sge);
}

/*
 * QP. The consumer serializes posts to the initiator queue of one QP, and
 * those to its receive queue. A post that fails has no completion, and leaves
 * the queue as it was.
 */

/**
 * ndk_close_qp - close a QP
 * @qp: the QP
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Outstanding requests end with -ECANCELED; their results stay in the CQ.
 * Completes after the connector that uses @qp is closed.
 *
 * Ordering: @qp is not used in any call after this one, which may be made at
 * any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. Results of the flush are
 * in the CQs when @completion is called.
 *
 * Lifetime: @qp is freed when @completion has returned, or when the call
 * returns 0. The connector that uses @qp holds it: the close ends after that
 * one's. @qp holds its CQs, PD and SRQ until then.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_qp(struct ndk_qp *qp,
			       ndk_close_completion_fn completion,
			       void *context)
{
	return qp->dispatch->close(&qp->header, completion, context);
}

/**
 * ndk_flush - cancel everything outstanding on a QP
 * @qp: the QP
 *
 * Outstanding requests end with -ECANCELED in the CQ, in time. The connection
 * does not survive it. May be called at the same time as posts.
 *
 * Ordering: whatever was posted before the call is flushed, deferred requests
 * included; a post at the same time either fails or is flushed too.
 *
 * Lifetime: @qp stays, and can only be closed with its connection.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 */
static inline void ndk_flush(struct ndk_qp *qp)
{
	qp->dispatch->flush(qp);
}

/**
 * ndk_send - send a message
 * @qp: the QP, connected
 * @context: given back in the result
 * @sgl: the message; the array is read during the call only
 * @nr_sge: entries of @sgl, 0 for an empty message
 * @flags: NDK_OP_FLAG_SILENT_SUCCESS, READ_FENCE, SEND_AND_SOLICIT_EVENT,
 *	INLINE, DEFER
 *
 * Ordering: requests of one QP are started and completed in the order of the
 * posts; with READ_FENCE one waits for the reads before it. The consumer posts
 * one at a time, but flush, close and polling need no lock against it.
 *
 * Lifetime: the buffer is the provider's until the result is taken, or with a
 * silent success that of a later request of the same queue; data posted INLINE
 * only until the call returns.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: 0; -ENOTCONN when not connected; -ENOBUFS when the queue is full;
 * -EMSGSIZE for too many SGEs or bytes; -EINVAL for another flag; -ENODEV.
 */
static inline int ndk_send(struct ndk_qp *qp, void *context,
			   const struct ndk_sge *sgl, u32 nr_sge, u32 flags)
{
	return qp->dispatch->send(qp, context, sgl, nr_sge, flags);
}

/**
 * ndk_receive - post a receive
 * @qp: the QP, connected or not
 * @context: given back in the result
 * @sgl: the buffer; the array is read during the call only
 * @nr_sge: entries of @sgl
 *
 * Ordering: receives are filled and completed in the order of the posts. The
 * consumer posts one at a time, beside posts to the initiator queue.
 *
 * Lifetime: the buffer is the provider's until the result is taken.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: 0; -ENOBUFS when the queue is full; -EMSGSIZE for too many SGEs or
 * bytes; -ENOTCONN when the connection has ended; -EBADRQC on a QP with an SRQ;
 * -ENODEV.
 */
static inline int ndk_receive(struct ndk_qp *qp, void *context,
			      const struct ndk_sge *sgl, u32 nr_sge)
{
	return qp->dispatch->receive(qp, context, sgl, nr_sge);
}

/**
 * ndk_bind - bind a memory window
 * @qp: the QP, connected
 * @context: given back in the result
 * @mr: registered MR in which the window lies
 * @mw: the window
 * @va: its start, an address within @mr
 * @length: its bytes
 * @flags: NDK_OP_FLAG_SILENT_SUCCESS, READ_FENCE, ALLOW_REMOTE_READ,
 *	ALLOW_REMOTE_WRITE, DEFER
 *
 * Its token can be read when the call returns. A window that is bound moves:
 * what it showed before it shows no more. Windows may overlap. Until the window
 * is unbound (ndk_invalidate(), a peer's invalidation, another bind, its close)
 * @mr is not deregistered, and its close pends. ALLOW_REMOTE_WRITE needs an MR
 * with ALLOW_LOCAL_WRITE.
 *
 * Ordering: as ndk_send(); requests that are posted after it may use the
 * token.
 *
 * Lifetime: @mr and @mw may be closed once the call has returned; the closes
 * wait for the request. The token lives until the window is unbound.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: 0; -ENOTCONN when not connected; -EACCES when @mr has not the rights,
 * or @mr or @mw is of another PD; -EINVAL when the window is empty, not within
 * @mr, or larger than max_window_size; -EBADRQC when @mr is not registered by
 * ndk_register_mr(); -ENOBUFS when the queue is full, or two invalidations of
 * @mw are on their way; -ENODEV.
 */
static inline int ndk_bind(struct ndk_qp *qp, void *context,
			   struct ndk_mr *mr, struct ndk_mw *mw, u64 va,
			   u64 length, u32 flags)
{
	return qp->dispatch->bind(qp, context, mr, mw, va, length, flags);
}

/**
 * ndk_fast_register - register the pages of a LAM
 * @qp: the QP, connected
 * @context: given back in the result
 * @mr: MR that ndk_initialize_fast_register_mr() has made ready
 * @page_count: entries of @pages, at most as many as @mr was made ready for
 * @pages: addresses out of an &struct ndk_lam
 * @fbo: offset of the region in the first page, below PAGE_SIZE
 * @length: bytes of the region
 * @va: address that names the first byte; equal to @fbo modulo PAGE_SIZE, and
 *	0 only if @fbo is
 * @flags: NDK_OP_FLAG_SILENT_SUCCESS, READ_FENCE, ALLOW_REMOTE_READ,
 *	ALLOW_LOCAL_WRITE, ALLOW_REMOTE_WRITE, RDMA_READ_SINK, DEFER
 *
 * The tokens of @mr are new, and can be read as soon as the call returns.
 *
 * Ordering: as ndk_send(); requests that are posted after it may use the
 * tokens.
 *
 * Lifetime: @pages is read during the call only; the LAM it came from stays
 * until the registration is invalidated and that has completed.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: 0; -ENOTCONN when not connected; -EACCES for remote rights that @mr
 * was not made ready for; -EINVAL for numbers that do not agree with each other
 * or @mr, an @mr of another PD, or another flag; -EBADRQC when @mr is
 * registered or not ready; -ENOBUFS when the queue is full; -ENODEV.
 */
static inline int ndk_fast_register(struct ndk_qp *qp, void *context,
				    struct ndk_mr *mr, u32 page_count,
				    const u64 *pages, u32 fbo, u64 length,
				    u64 va, u32 flags)
{
	return qp->dispatch->fast_register(qp, context, mr, page_count, pages,
					   fbo, length, va, flags);
}

/**
 * ndk_invalidate - end a fast registration, or unbind a window
 * @qp: the QP, connected
 * @context: given back in the result
 * @mr_or_mw: header of the MR or window
 * @flags: NDK_OP_FLAG_SILENT_SUCCESS, READ_FENCE, DEFER
 *
 * The token is dead for further requests when the call returns, and for the peer
 * when the request has completed; until then an MR counts as bound.
 *
 * Ordering: as ndk_send(); it waits for the requests before it that use the
 * token only with READ_FENCE, and those are reads.
 *
 * Lifetime: the memory is the consumer's alone when the request has completed,
 * with a silent success when a later one of @qp has.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: 0; -ENOTCONN when not connected; -EINVAL for what is no MR or window
 * of the PD of @qp, or for another flag; -EBADRQC when there is nothing to end,
 * also when the peer has ended it and its message was taken from the CQ;
 * -ENOBUFS when the queue is full; -ENODEV. When the peer has ended it and that
 * is not known yet, the request ends with an error, and with it the connection.
 */
static inline int ndk_invalidate(struct ndk_qp *qp, void *context,
				 struct ndk_object_header *mr_or_mw, u32 flags)
{
	return qp->dispatch->invalidate(qp, context, mr_or_mw, flags);
}

/**
 * ndk_read - read from the peer's memory
 * @qp: the QP, connected
 * @context: given back in the result
 * @sgl: the buffer; the array is read during the call only
 * @nr_sge: entries of @sgl
 * @remote_address: address within the peer's region
 * @remote_token: the peer's token
 * @flags: NDK_OP_FLAG_SILENT_SUCCESS, READ_FENCE, RDMA_READ_LOCAL_INVALIDATE,
 *	DEFER
 *
 * Ordering: as ndk_send(). A message or write that is posted later may reach
 * the peer before the data has been read: use READ_FENCE, or wait for the
 * result.
 *
 * Lifetime: as ndk_send(); with RDMA_READ_LOCAL_INVALIDATE the token of @sgl
 * is dead when the result is taken.
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: as ndk_send().
 */
static inline int ndk_read(struct ndk_qp *qp, void *context,
			   const struct ndk_sge *sgl, u32 nr_sge,
			   u64 remote_address, u32 remote_token, u32 flags)
{
	return qp->dispatch->read(qp, context, sgl, nr_sge, remote_address,
				  remote_token, flags);
}

/**
 * ndk_write - write to the peer's memory
 * @qp: the QP, connected
 * @context: given back in the result
 * @sgl: the data; the array is read during the call only
 * @nr_sge: entries of @sgl
 * @remote_address: address within the peer's region
 * @remote_token: the peer's token
 * @flags: NDK_OP_FLAG_SILENT_SUCCESS, READ_FENCE, INLINE, DEFER
 *
 * Ordering: as ndk_send(). A message that is posted later reaches the peer
 * after the data.
 *
 * Lifetime: as ndk_send().
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: as ndk_send().
 */
static inline int ndk_write(struct ndk_qp *qp, void *context,
			    const struct ndk_sge *sgl, u32 nr_sge,
			    u64 remote_address, u32 remote_token, u32 flags)
{
	return qp->dispatch->write(qp, context, sgl, nr_sge, remote_address,
				   remote_token, flags);
}

/**
 * ndk_send_and_invalidate - send, and invalidate a token of the peer's
 * @qp: the QP, connected
 * @context: given back in the result
 * @sgl: the message; the array is read during the call only
 * @nr_sge: entries of @sgl
 * @flags: as ndk_send()
 * @remote_token: the peer's token; an invalid one ends the connection
 *
 * Ordering: as ndk_send(). The peer's token is dead before the peer can take
 * the result of its receive.
 *
 * Lifetime: as ndk_send().
 *
 * Context: any with interrupts enabled; does not sleep, takes no lock.
 * Return: as ndk_send().
 */
static inline int ndk_send_and_invalidate(struct ndk_qp *qp, void *context,
					  const struct ndk_sge *sgl, u32 nr_sge,
					  u32 flags, u32 remote_token)
{
	return qp->dispatch->send_and_invalidate(qp, context, sgl, nr_sge,
						 flags, remote_token);
}

/* MR */

/**
 * ndk_close_mr - close an MR
 * @mr: the MR; a registration that is left is ended
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: @mr is not used in any call after this one, which may be made at
 * any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. The tokens are dead when
 * @completion is called.
 *
 * Lifetime: @mr is freed when @completion has returned, or when the call
 * returns 0. Windows bound to @mr, and requests that use it, are waited for.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_mr(struct ndk_mr *mr,
			       ndk_close_completion_fn completion,
			       void *context)
{
	return mr->dispatch->close(&mr->header, completion, context);
}

/**
 * ndk_register_mr - register a buffer
 * @mr: MR created with fast_register false
 * @sgl: the buffer: gapless but for its ends; stays pinned while registered
 * @nents: entries of @sgl
 * @va: address that names the first byte; equal to its offset modulo
 *	PAGE_SIZE. It is never dereferenced.
 * @length: bytes, up to max_registration_size
 * @flags: NDK_MR_FLAG_*
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: one request of @mr at a time. The tokens are there from
 * @completion on.
 *
 * Lifetime: @sgl and its memory stay until the registration has ended. @mr may
 * be closed while the call pends: @completion comes first.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL for a buffer with gaps, a wrong size or flag;
 * -EBADRQC for an MR that is registered or of the other kind; -ENOMEM and
 * -ENODEV, here or in @completion.
 */
static inline int ndk_register_mr(struct ndk_mr *mr, struct scatterlist *sgl,
				  unsigned int nents, u64 va, u64 length,
				  u32 flags,
				  ndk_request_completion_fn completion,
				  void *context)
{
	return mr->dispatch->register_mr(mr, sgl, nents, va, length, flags,
					 completion, context);
}

/**
 * ndk_deregister_mr - end a registration of ndk_register_mr()
 * @mr: the MR
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Afterwards its tokens are dead and it can be registered again.
 *
 * Ordering: one request of @mr at a time. Requests that use the tokens have
 * completed before; others fail, and their connections with them.
 *
 * Lifetime: the memory is the consumer's alone from @completion on.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EBADRQC when it is not registered; -EBUSY while a
 * window is bound to it, which it is until the invalidation has completed;
 * -ENODEV.
 */
static inline int ndk_deregister_mr(struct ndk_mr *mr,
				    ndk_request_completion_fn completion,
				    void *context)
{
	return mr->dispatch->deregister(mr, completion, context);
}

/**
 * ndk_initialize_fast_register_mr - make an MR ready for ndk_fast_register()
 * @mr: MR created with fast_register true
 * @page_count: most pages of a registration, from 1
 * @remote_access: whether a registration may give remote rights
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: one request of @mr at a time. It may be repeated, with other
 * values, while nothing is registered.
 *
 * Lifetime: @mr may be closed while the call pends: @completion comes first.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EINVAL for 0 pages; -ERANGE for more pages than the
 * adapter can do; -EBADRQC for an MR of the other kind or with a registration;
 * -ENOMEM and -ENODEV, here or in @completion.
 */
static inline int
ndk_initialize_fast_register_mr(struct ndk_mr *mr, u32 page_count,
				bool remote_access,
				ndk_request_completion_fn completion,
				void *context)
{
	return mr->dispatch->initialize_fast_register(mr, page_count,
						      remote_access, completion,
						      context);
}

/**
 * ndk_get_remote_token_from_mr - token of an MR, for the peer
 * @mr: the MR, registered, or ready for fast registration
 *
 * Ordering: after the completion of ndk_register_mr() or the return of
 * ndk_fast_register(); each registration has a new one.
 *
 * Lifetime: good until that registration ends; 0 where there never was one.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: the token, a number in the CPU's byte order.
 */
static inline u32 ndk_get_remote_token_from_mr(struct ndk_mr *mr)
{
	return mr->dispatch->get_remote_token(mr);
}

/**
 * ndk_get_local_token_from_mr - token of an MR, for SGEs
 * @mr: the MR, registered, or ready for fast registration
 *
 * Ordering: as ndk_get_remote_token_from_mr().
 *
 * Lifetime: as ndk_get_remote_token_from_mr().
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: the token.
 */
static inline u32 ndk_get_local_token_from_mr(struct ndk_mr *mr)
{
	return mr->dispatch->get_local_token(mr);
}

/* MW */

/**
 * ndk_close_mw - close a memory window
 * @mw: the window
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: @mw is not used in any call after this one, which may be made at
 * any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. What it showed it shows
 * no more when @completion is called, and its MR is free of it.
 *
 * Lifetime: @mw is freed when @completion has returned, or when the call
 * returns 0. Requests that use @mw are waited for.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_mw(struct ndk_mw *mw,
			       ndk_close_completion_fn completion,
			       void *context)
{
	return mw->dispatch->close(&mw->header, completion, context);
}

/**
 * ndk_get_remote_token_from_mw - token of a window, for the peer
 * @mw: the window, bound
 *
 * Ordering: after the return of ndk_bind(); each bind has a new one.
 *
 * Lifetime: good until the window is unbound or bound anew.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: the token.
 */
static inline u32 ndk_get_remote_token_from_mw(struct ndk_mw *mw)
{
	return mw->dispatch->get_remote_token(mw);
}

/* Shared endpoint */

/**
 * ndk_close_shared_endpoint - close a shared endpoint
 * @endpoint: the endpoint
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Connections over it go on. Completes, and frees the address, when every
 * connector over it is closed; disconnected is not enough.
 *
 * Ordering: @endpoint is not used in any call after this one, which may be
 * made at any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done.
 *
 * Lifetime: @endpoint is freed when @completion has returned, or when the call
 * returns 0. Connectors over it hold it.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int
ndk_close_shared_endpoint(struct ndk_shared_endpoint *endpoint,
			  ndk_close_completion_fn completion, void *context)
{
	return endpoint->dispatch->close(&endpoint->header, completion,
					 context);
}

/**
 * ndk_get_shared_endpoint_local_address - address of a shared endpoint
 * @endpoint: the endpoint
 * @address: where to
 * @address_len: bytes at @address; on return those of the address
 *
 * Ordering: none; the address does not change.
 *
 * Lifetime: @endpoint is not closed.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0; -ENOSPC when too small, with @address untouched; -EINVAL; -ENODEV.
 */
static inline int
ndk_get_shared_endpoint_local_address(struct ndk_shared_endpoint *endpoint,
				      struct sockaddr *address,
				      u32 *address_len)
{
	return endpoint->dispatch->get_local_address(endpoint, address,
						     address_len);
}

/* Connector */

/**
 * ndk_close_connector - close a connector, in any state
 * @connector: the connector
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * A pending request of it ends first, with -ECANCELED. An incoming connection
 * is rejected, an established one aborted; its QP is flushed.
 *
 * Ordering: @connector is not used in any call after this one, which may be
 * made at any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. The disconnect event
 * comes no more once the call has returned, but for one that runs already.
 *
 * Lifetime: @connector is freed when @completion has returned, or when the
 * call returns 0. It holds its QP, and its listener or shared endpoint, until
 * then.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_connector(struct ndk_connector *connector,
				      ndk_close_completion_fn completion,
				      void *context)
{
	return connector->dispatch->close(&connector->header, completion,
					  context);
}

/**
 * ndk_connect - ask a peer for a connection
 * @connector: connector of ndk_create_connector()
 * @qp: QP for the connection
 * @source: local IP address of the adapter, and port; port 0 has one chosen
 * @source_len: bytes of @source
 * @destination: peer's IP address and port
 * @destination_len: bytes of @destination
 * @inbound_read_limit: reads of the peer at a time; capped silently
 * @outbound_read_limit: reads of ours at a time; capped silently
 * @private_data: for the peer, copied during the call; or NULL
 * @private_data_len: its bytes, at most max_caller_data
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Success means that the peer accepts. Call ndk_complete_connect() or
 * ndk_reject() next.
 *
 * Ordering: one request of @connector at a time. @completion may run before
 * the call returns; ndk_complete_connect() may be called from it.
 *
 * Lifetime: @qp is held until the connector is closed or the connect has
 * failed. Addresses and private data are read during the call only. @connector
 * may be closed while the call pends: @completion comes first.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; here or in @completion: -ENOMEM, -ENETUNREACH(*),
 * -EHOSTUNREACH(*), -ECONNREFUSED(*) when nobody listens or the peer rejects,
 * -ETIMEDOUT(*), -EADDRINUSE, -EADDRNOTAVAIL when @source is none of the
 * adapter's, -EUSERS when no port is free, -EEXIST when the same connection
 * exists, -EISCONN for a QP or connector in use, -E2BIG for too long private
 * data, -EINVAL for a multicast @destination or a QP of another adapter,
 * -ENODEV. After one marked (*) the connector can be used again.
 */
static inline int ndk_connect(struct ndk_connector *connector,
			      struct ndk_qp *qp, const struct sockaddr *source,
			      u32 source_len,
			      const struct sockaddr *destination,
			      u32 destination_len, u32 inbound_read_limit,
			      u32 outbound_read_limit, const void *private_data,
			      u32 private_data_len,
			      ndk_request_completion_fn completion,
			      void *context)
{
	return connector->dispatch->connect(connector, qp, source, source_len,
					    destination, destination_len,
					    inbound_read_limit,
					    outbound_read_limit, private_data,
					    private_data_len, completion,
					    context);
}

/**
 * ndk_connect_with_shared_endpoint - as ndk_connect(), from a shared endpoint
 * @connector: connector of ndk_create_connector()
 * @qp: QP for the connection
 * @endpoint: the local address
 * @destination: peer's IP address and port
 * @destination_len: bytes of @destination
 * @inbound_read_limit: reads of the peer at a time; capped silently
 * @outbound_read_limit: reads of ours at a time; capped silently
 * @private_data: for the peer, copied during the call; or NULL
 * @private_data_len: its bytes, at most max_caller_data
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * The connector has the address of @endpoint, and @endpoint stays until the
 * connector is closed, or until the connect has failed.
 *
 * Ordering: as ndk_connect().
 *
 * Lifetime: as ndk_connect(); @endpoint is held as @qp is.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: as ndk_connect(), without -EADDRINUSE, -EADDRNOTAVAIL and -EUSERS:
 * -EEXIST when there is a connection from @endpoint to @destination that is not
 * closed, and -EINVAL for an endpoint of another adapter.
 */
static inline int
ndk_connect_with_shared_endpoint(struct ndk_connector *connector,
				 struct ndk_qp *qp,
				 struct ndk_shared_endpoint *endpoint,
				 const struct sockaddr *destination,
				 u32 destination_len, u32 inbound_read_limit,
				 u32 outbound_read_limit,
				 const void *private_data, u32 private_data_len,
				 ndk_request_completion_fn completion,
				 void *context)
{
	return connector->dispatch->connect_with_shared_endpoint(
		connector, qp, endpoint, destination, destination_len,
		inbound_read_limit, outbound_read_limit, private_data,
		private_data_len, completion, context);
}

/**
 * ndk_complete_connect - take the connection that the peer has accepted
 * @connector: connector whose ndk_connect() succeeded
 * @disconnect_event: called when the connection ends other than by us, or NULL
 * @disconnect_event_context: for @disconnect_event
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: requests may be posted to the QP once the call has succeeded, in
 * @completion already. @disconnect_event comes after @completion, never
 * before.
 *
 * Lifetime: the connection lasts until ndk_disconnect(), the close of the
 * connector, or its end by the peer or the network.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -ENOTCONN when there is nothing to complete;
 * -ECONNABORTED when the peer gave up, -ETIMEDOUT when it came too late,
 * -ENODEV, here or in @completion.
 */
static inline int
ndk_complete_connect(struct ndk_connector *connector,
		     ndk_disconnect_event_fn disconnect_event,
		     void *disconnect_event_context,
		     ndk_request_completion_fn completion, void *context)
{
	return connector->dispatch->complete_connect(connector,
						     disconnect_event,
						     disconnect_event_context,
						     completion, context);
}

/**
 * ndk_accept - accept an incoming connection
 * @connector: connector of an ndk_connect_event_fn
 * @qp: QP for the connection
 * @inbound_read_limit: reads of the peer at a time; capped silently
 * @outbound_read_limit: reads of ours at a time; capped silently
 * @private_data: for the peer, copied during the call; or NULL
 * @private_data_len: its bytes, at most max_callee_data
 * @disconnect_event: called when the connection ends other than by us, or NULL
 * @disconnect_event_context: for @disconnect_event
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Completes when the peer completes the connect.
 *
 * Ordering: receives are posted before, since a message of the peer may come
 * before @completion; requests may be posted from @completion on.
 * @disconnect_event comes after it, never before.
 *
 * Lifetime: as ndk_connect() of @qp, and as ndk_complete_connect() of the
 * connection.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -ENOTCONN for a connector that is not incoming;
 * -ECONNABORTED when the peer gave up, -ETIMEDOUT when it did not complete,
 * -EISCONN for a QP in use, -E2BIG for too long private data, -EINVAL for a QP
 * of another adapter, -ENOMEM, -ENODEV, here or in @completion.
 */
static inline int ndk_accept(struct ndk_connector *connector,
			     struct ndk_qp *qp, u32 inbound_read_limit,
			     u32 outbound_read_limit, const void *private_data,
			     u32 private_data_len,
			     ndk_disconnect_event_fn disconnect_event,
			     void *disconnect_event_context,
			     ndk_request_completion_fn completion,
			     void *context)
{
	return connector->dispatch->accept(connector, qp, inbound_read_limit,
					   outbound_read_limit, private_data,
					   private_data_len, disconnect_event,
					   disconnect_event_context, completion,
					   context);
}

/**
 * ndk_reject - refuse a connection
 * @connector: incoming connector, or one whose ndk_connect() succeeded
 * @private_data: for the peer, copied during the call; or NULL
 * @private_data_len: its bytes, at most max_callee_data
 *
 * Afterwards the connector can only be closed.
 *
 * Ordering: not while a request of @connector pends.
 *
 * Lifetime: @private_data is read during the call only. @connector stays until
 * its close.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0; -ECONNABORTED when the peer gave up before; -ENOTCONN in another
 * state; -E2BIG for too long private data; -EINVAL; -ENOMEM; -ENODEV.
 */
static inline int ndk_reject(struct ndk_connector *connector,
			     const void *private_data, u32 private_data_len)
{
	return connector->dispatch->reject(connector, private_data,
					   private_data_len);
}

/**
 * ndk_get_connection_data - what the peer sent, and the read limits in force
 * @connector: incoming connector, or one whose ndk_connect() has ended
 * @inbound_read_limit: reads of the peer at a time; or NULL
 * @outbound_read_limit: reads of ours at a time; or NULL
 * @private_data: where to put the private data; or NULL
 * @private_data_len: bytes at @private_data, 0 with NULL; on return the
 *	capacity of the transport, which is not what the peer sent: the rest
 *	is zero
 *
 * Ordering: from the connect event, or from the completion of ndk_connect(),
 * on.
 *
 * Lifetime: what the peer sent is kept until the close of @connector.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0; -ENOSPC when it does not fit, with as much as fits copied;
 * -EINVAL; -ENOTCONN when there is no data.
 */
static inline int ndk_get_connection_data(struct ndk_connector *connector,
					  u32 *inbound_read_limit,
					  u32 *outbound_read_limit,
					  void *private_data,
					  u32 *private_data_len)
{
	return connector->dispatch->get_connection_data(connector,
							inbound_read_limit,
							outbound_read_limit,
							private_data,
							private_data_len);
}

/**
 * ndk_get_local_address - local address of a connector
 * @connector: the connector
 * @address: where to
 * @address_len: bytes at @address; on return those of the address
 *
 * Ordering: from the connect event, or from the completion of ndk_connect(),
 * on.
 *
 * Lifetime: kept until the close of @connector, also when the connection has
 * ended.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0; -ENOSPC when too small, with @address untouched; -ENOTCONN when
 * it has none yet.
 */
static inline int ndk_get_local_address(struct ndk_connector *connector,
					struct sockaddr *address,
					u32 *address_len)
{
	return connector->dispatch->get_local_address(connector, address,
						      address_len);
}

/**
 * ndk_get_peer_address - peer's address of a connector
 * @connector: the connector
 * @address: where to
 * @address_len: bytes at @address; on return those of the address
 *
 * Ordering: as ndk_get_local_address().
 *
 * Lifetime: as ndk_get_local_address().
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: as ndk_get_local_address().
 */
static inline int ndk_get_peer_address(struct ndk_connector *connector,
				       struct sockaddr *address,
				       u32 *address_len)
{
	return connector->dispatch->get_peer_address(connector, address,
						     address_len);
}

/**
 * ndk_disconnect - end a connection in good order
 * @connector: the connector, connected
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Completes when the peer has answered or a timeout has passed, and nothing of
 * the QP moves any more; what is outstanding ends with -ECANCELED. After it the
 * connection is gone, whatever the status.
 *
 * Ordering: after it no disconnect event comes, but for one that runs already.
 * Requests that should reach the peer have completed before the call.
 *
 * Lifetime: buffers of the QP are the consumer's from @completion on. QP and
 * connector can only be closed.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -ENOTCONN when not connected; -ETIMEDOUT when the peer
 * did not answer, -ECONNABORTED when the connection broke, -ENODEV, here or in
 * @completion.
 */
static inline int ndk_disconnect(struct ndk_connector *connector,
				 ndk_request_completion_fn completion,
				 void *context)
{
	return connector->dispatch->disconnect(connector, completion, context);
}

/**
 * ndk_complete_connect_ex - as ndk_complete_connect(), with another event
 * @connector: connector whose ndk_connect() succeeded
 * @disconnect_event: called when the connection ends other than by us, or NULL
 * @disconnect_event_context: for @disconnect_event
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: as ndk_complete_connect().
 *
 * Lifetime: as ndk_complete_connect().
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: as ndk_complete_connect().
 */
static inline int
ndk_complete_connect_ex(struct ndk_connector *connector,
			ndk_disconnect_event_ex_fn disconnect_event,
			void *disconnect_event_context,
			ndk_request_completion_fn completion, void *context)
{
	return connector->dispatch->complete_connect_ex(
		connector, disconnect_event, disconnect_event_context,
		completion, context);
}

/**
 * ndk_accept_ex - as ndk_accept(), with another event
 * @connector: connector of an ndk_connect_event_fn
 * @qp: QP for the connection
 * @inbound_read_limit: reads of the peer at a time; capped silently
 * @outbound_read_limit: reads of ours at a time; capped silently
 * @private_data: for the peer, copied during the call; or NULL
 * @private_data_len: its bytes, at most max_callee_data
 * @disconnect_event: called when the connection ends other than by us, or NULL
 * @disconnect_event_context: for @disconnect_event
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: as ndk_accept().
 *
 * Lifetime: as ndk_accept().
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: as ndk_accept().
 */
static inline int ndk_accept_ex(struct ndk_connector *connector,
				struct ndk_qp *qp, u32 inbound_read_limit,
				u32 outbound_read_limit,
				const void *private_data, u32 private_data_len,
				ndk_disconnect_event_ex_fn disconnect_event,
				void *disconnect_event_context,
				ndk_request_completion_fn completion,
				void *context)
{
	return connector->dispatch->accept_ex(connector, qp, inbound_read_limit,
					      outbound_read_limit, private_data,
					      private_data_len,
					      disconnect_event,
					      disconnect_event_context,
					      completion, context);
}

/* Listener */

/**
 * ndk_close_listener - close a listener
 * @listener: the listener
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Incoming connections are refused at once. Completes, and frees the address,
 * when every connector that @listener gave is closed.
 *
 * Ordering: @listener is not used in any call after this one, which may be
 * made at any time, also while its other calls pend: those complete before
 * @completion, with -ECANCELED unless they were done. No connect event begins
 * after the call has returned.
 *
 * Lifetime: @listener is freed when @completion has returned, or when the call
 * returns 0. Connectors that it gave hold it.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0 or -EINPROGRESS.
 */
static inline int ndk_close_listener(struct ndk_listener *listener,
				     ndk_close_completion_fn completion,
				     void *context)
{
	return listener->dispatch->close(&listener->header, completion,
					 context);
}

/**
 * ndk_listen - start to listen
 * @listener: the listener
 * @address: local IP address of the adapter, and port; port 0 has one chosen
 * @address_len: bytes of @address
 * @completion: called if the call is pending
 * @context: for @completion
 *
 * Ordering: connect events may come before @completion. One call for a
 * listener, unless it fails.
 *
 * Lifetime: @address is read during the call only, and taken until the close
 * of @listener has completed.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: -EINPROGRESS; -EADDRINUSE, -EADDRNOTAVAIL when @address is none of
 * the adapter's, -EUSERS when no port is free, -ENOMEM, -ENODEV, here or in
 * @completion; -EBADFD for a listener that listens; -EINVAL.
 */
static inline int ndk_listen(struct ndk_listener *listener,
			     const struct sockaddr *address, u32 address_len,
			     ndk_request_completion_fn completion,
			     void *context)
{
	return listener->dispatch->listen(listener, address, address_len,
					  completion, context);
}

/**
 * ndk_get_listener_local_address - address that a listener listens on
 * @listener: the listener
 * @address: where to
 * @address_len: bytes at @address; on return those of the address
 *
 * Ordering: from the completion of ndk_listen() on; the address does not
 * change.
 *
 * Lifetime: @listener is not closed.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 * Return: 0; -ENOSPC when too small, with @address untouched; -EBADFD when it
 * does not listen.
 */
static inline int
ndk_get_listener_local_address(struct ndk_listener *listener,
			       struct sockaddr *address, u32 *address_len)
{
	return listener->dispatch->get_local_address(listener, address,
						     address_len);
}

/**
 * ndk_control_connect_events - pause or resume a listener
 * @listener: the listener
 * @pause: whether to refuse what comes in, as if nobody listened
 *
 * One event that was on its way may still come after a pause.
 *
 * Ordering: the latest call governs. Connections that were announced before
 * are not touched.
 *
 * Lifetime: @listener is not closed; before ndk_listen() as well.
 *
 * Context: any with interrupts enabled, softirq and under a spinlock included;
 * does not sleep.
 */
static inline void ndk_control_connect_events(struct ndk_listener *listener,
					      bool pause)
{
	listener->dispatch->control_connect_events(listener, pause);
}

#endif /* _NDK_NDK_H */
