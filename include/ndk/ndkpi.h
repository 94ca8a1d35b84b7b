/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Network Direct for Linux: the Windows names of NDKPI 2.1 over <ndk/ndk.h>,
 * for consumers that were written for Windows. Documentation/porting.rst is the
 * guide.
 *
 * A module that includes this file imports the symbol namespace NDK and needs
 * nothing else: all of it is inline. The rules are those of <ndk/ndk.h>. What is
 * said there of errnos holds here of the statuses that ndkpi_status() makes of
 * them, in return values, completions, events and results alike.
 *
 * An object that came from here is used through its Dispatch only, not through
 * the calls of <ndk/ndk.h>.
 */
#ifndef _NDK_NDKPI_H
#define _NDK_NDKPI_H

#include <net/net_namespace.h>

#include <ndk/ndkpi_tables.h>

/* --- PD ------------------------------------------------------------------- */

static inline NTSTATUS ndkpi_create_mr(NDK_PD *pd, BOOLEAN fast_register, NDK_FN_CREATE_COMPLETION *completion,
				       PVOID context, NDK_MR **mr)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_mr_table, true, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, mr, mr, ndkpi_lower(pd, pd)->create_mr, ndkpi_native(pd, pd), fast_register);
}

static inline NTSTATUS ndkpi_create_mw(NDK_PD *pd, NDK_FN_CREATE_COMPLETION *completion, PVOID context, NDK_MW **mw)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_mw_table, false, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, mw, mw, ndkpi_lower(pd, pd)->create_mw, ndkpi_native(pd, pd));
}

static inline NTSTATUS ndkpi_create_srq(NDK_PD *pd, ULONG depth, ULONG max_sge, ULONG threshold,
					NDK_FN_SRQ_NOTIFICATION_CALLBACK *notification, PVOID notification_context,
					GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION *completion,
					PVOID context, NDK_SRQ **srq)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_srq_table, true, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	o->srq_notification = notification;
	o->event_context = notification_context;
	return ndkpi_create(o, srq, srq, ndkpi_lower(pd, pd)->create_srq, ndkpi_native(pd, pd), depth, max_sge,
			    threshold, notification ? ndkpi_srq_notification : NULL, o, ndkpi_processor(affinity));
}

static inline NTSTATUS ndkpi_create_qp(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context,
				       ULONG receive_depth, ULONG initiator_depth, ULONG max_receive_sge,
				       ULONG max_initiator_sge, ULONG inline_size,
				       NDK_FN_CREATE_COMPLETION *completion, PVOID context, NDK_QP **qp)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_qp_table, false, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, qp, qp, ndkpi_lower(pd, pd)->create_qp, ndkpi_native(pd, pd),
			    ndkpi_native(cq, receive_cq), ndkpi_native(cq, initiator_cq), qp_context, receive_depth,
			    initiator_depth, max_receive_sge, max_initiator_sge, inline_size);
}

static inline NTSTATUS ndkpi_create_qp_with_srq(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq,
						PVOID qp_context, ULONG initiator_depth, ULONG max_initiator_sge,
						ULONG inline_size, NDK_FN_CREATE_COMPLETION *completion,
						PVOID context, NDK_QP **qp)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_qp_table, false, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, qp, qp, ndkpi_lower(pd, pd)->create_qp_with_srq, ndkpi_native(pd, pd),
			    ndkpi_native(cq, receive_cq), ndkpi_native(cq, initiator_cq), ndkpi_native(srq, srq),
			    qp_context, initiator_depth, max_initiator_sge, inline_size);
}

static inline VOID ndkpi_get_privileged_memory_region_token(NDK_PD *pd, UINT32 *token)
{
	*token = ndkpi_lower(pd, pd)->get_privileged_token(ndkpi_native(pd, pd));
}

static const NDK_PD_DISPATCH ndkpi_pd_table __maybe_unused = {
	.NdkClosePd = ndkpi_close,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkCreateMr = ndkpi_create_mr,
	.NdkCreateMw = ndkpi_create_mw,
	.NdkCreateSrq = ndkpi_create_srq,
	.NdkCreateQp = ndkpi_create_qp,
	.NdkCreateQpWithSrq = ndkpi_create_qp_with_srq,
	.NdkGetPrivilegedMemoryRegionToken = ndkpi_get_privileged_memory_region_token,
};

/* --- adapter -------------------------------------------------------------- */

static inline NTSTATUS ndkpi_query_adapter_info(NDK_ADAPTER *a, NDK_ADAPTER_INFO *info, ULONG *size)
{
	size_t bytes;
	int ret;

	if (!size)
		return STATUS_INVALID_PARAMETER;
	bytes = *size;
	ret = ndkpi_lower(adapter, a)->query_adapter_info(ndkpi_native(adapter, a), (struct ndk_adapter_info *)info,
							  &bytes);
	*size = bytes;
	return ndkpi_status(ret);
}

static inline NTSTATUS ndkpi_create_cq(NDK_ADAPTER *a, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK *notification,
				       PVOID notification_context, GROUP_AFFINITY *affinity,
				       NDK_FN_CREATE_COMPLETION *completion, PVOID context, NDK_CQ **cq)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_cq_table, true, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	o->cq_notification = notification;
	o->event_context = notification_context;
	return ndkpi_create(o, cq, cq, ndkpi_lower(adapter, a)->create_cq, ndkpi_native(adapter, a), depth,
			    notification ? ndkpi_cq_notification : NULL, o, ndkpi_processor(affinity));
}

static inline NTSTATUS ndkpi_create_pd(NDK_ADAPTER *a, NDK_FN_CREATE_COMPLETION *completion, PVOID context,
				       NDK_PD **pd)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_pd_table, false, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, pd, pd, ndkpi_lower(adapter, a)->create_pd, ndkpi_native(adapter, a));
}

static inline NTSTATUS ndkpi_create_shared_endpoint(NDK_ADAPTER *a, const SOCKADDR *address, ULONG length,
						    NDK_FN_CREATE_COMPLETION *completion, PVOID context,
						    NDK_SHARED_ENDPOINT **endpoint)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_shared_endpoint_table, false, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, endpoint, shared_endpoint, ndkpi_lower(adapter, a)->create_shared_endpoint,
			    ndkpi_native(adapter, a), address, length);
}

static inline NTSTATUS ndkpi_create_connector(NDK_ADAPTER *a, NDK_FN_CREATE_COMPLETION *completion, PVOID context,
					      NDK_CONNECTOR **connector)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_connector_table, false, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_create(o, connector, connector, ndkpi_lower(adapter, a)->create_connector,
			    ndkpi_native(adapter, a));
}

static inline NTSTATUS ndkpi_create_listener(NDK_ADAPTER *a, NDK_FN_CONNECT_EVENT_CALLBACK *event,
					     PVOID event_context, NDK_FN_CREATE_COMPLETION *completion,
					     PVOID context, NDK_LISTENER **listener)
{
	struct ndkpi_object *o = ndkpi_begin(&ndkpi_listener_table, true, completion, context);

	if (!o)
		return STATUS_INSUFFICIENT_RESOURCES;
	o->connect_event = event;
	o->event_context = event_context;
	return ndkpi_create(o, listener, listener, ndkpi_lower(adapter, a)->create_listener, ndkpi_native(adapter, a),
			    event ? ndkpi_connect_event : NULL, o);
}

/* The consumer's LAM has ours for its context, and ours the provider's. */
static inline void ndkpi_settle_lam(struct ndkpi_lam *l, int status)
{
	*l->told = min_t(size_t, l->size, MAXULONG);
	if (status) {
		sg_free_table(&l->buffer);
		kfree(l);
		return;
	}
	l->provider = l->lam->AdapterContext;
	l->lam->AdapterContext = l;
}

static inline void ndkpi_lam_built(void *context, int status)
{
	struct ndkpi_lam *l = context;
	NDK_FN_REQUEST_COMPLETION *completion = l->completion;
	PVOID consumer = l->context;

	ndkpi_settle_lam(l, status);
	completion(consumer, ndkpi_status(status));
}

static inline NTSTATUS ndkpi_build_lam(NDK_ADAPTER *a, MDL *mdl, SIZE_T length,
				       NDK_FN_REQUEST_COMPLETION *completion, PVOID context,
				       NDK_LOGICAL_ADDRESS_MAPPING *lam, ULONG *size, ULONG *fbo)
{
	struct ndkpi_lam *l;
	int ret;

	if (!size)
		return STATUS_INVALID_PARAMETER;
	l = kzalloc_obj(*l, GFP_ATOMIC);
	if (!l)
		return STATUS_INSUFFICIENT_RESOURCES;
	l->completion = completion;
	l->context = context;
	l->lam = lam;
	l->size = *size;
	l->told = size;
	ret = ndkpi_mdl_to_sg(mdl, length, &l->buffer);
	if (!ret)
		ret = ndkpi_lower(adapter, a)->build_lam(ndkpi_native(adapter, a), l->buffer.sgl, l->buffer.orig_nents,
							 length, completion ? ndkpi_lam_built : NULL, l,
							 (struct ndk_lam *)lam, &l->size, fbo);
	if (ret != -EINPROGRESS)
		ndkpi_settle_lam(l, ret);
	return ndkpi_status(ret);
}

static inline VOID ndkpi_release_lam(NDK_ADAPTER *a, NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
	struct ndkpi_lam *l = lam->AdapterContext;

	lam->AdapterContext = l->provider;
	ndkpi_lower(adapter, a)->release_lam(ndkpi_native(adapter, a), (struct ndk_lam *)lam);
	sg_free_table(&l->buffer);
	kfree(l);
}

static const NDK_ADAPTER_DISPATCH ndkpi_adapter_table __maybe_unused = {
	.NdkQueryExtension = ndkpi_query_adapter_extension,
	.NdkQueryAdapterInfo = ndkpi_query_adapter_info,
	.NdkCreateCq = ndkpi_create_cq,
	.NdkCreatePd = ndkpi_create_pd,
	.NdkCreateSharedEndpoint = ndkpi_create_shared_endpoint,
	.NdkCreateConnector = ndkpi_create_connector,
	.NdkCreateListener = ndkpi_create_listener,
	.NdkBuildLAM = ndkpi_build_lam,
	.NdkReleaseLAM = ndkpi_release_lam,
};

/* --- the way in ----------------------------------------------------------- */

/* A client of WSK stands for the network namespace in which it means its interfaces. */
typedef struct net WSK_CLIENT, *PWSK_CLIENT;

/**
 * WskOpenNdkAdapter - open an instance of the adapter behind an interface
 * @client: network namespace, NULL for the initial one
 * @version: major must be 1 or 2; minor is the lowest that the consumer can live
 *	with
 * @interface: index of the interface in @client
 * @adapter: the instance, on success
 *
 * Context: process context, sleeps.
 * Return: STATUS_SUCCESS; NDIS_STATUS_BAD_VERSION; STATUS_DEVICE_REMOVED for an
 * interface that carries no RDMA; NDIS_STATUS_ADAPTER_NOT_READY;
 * STATUS_INVALID_PARAMETER; STATUS_INSUFFICIENT_RESOURCES.
 */
static inline NTSTATUS WskOpenNdkAdapter(PWSK_CLIENT client, NDK_VERSION version, IF_INDEX interface,
					 NDK_ADAPTER **adapter)
{
	struct ndk_open_params params = {
		.version = { version.Major, version.Minor },
		.ifindex = interface,
	};
	struct ndk_adapter *opened;
	int ret;

	if (!adapter)
		return STATUS_INVALID_PARAMETER;
	ret = ndk_open_adapter(client ?: &init_net, &params, &opened);
	if (ret)
		return ndkpi_status(ret);
	ndkpi_adopt(&opened->header, &ndkpi_adapter_table, NULL);
	*adapter = (NDK_ADAPTER *)opened;
	return STATUS_SUCCESS;
}

/**
 * WskCloseNdkAdapter - close an instance of an adapter
 * @client: as given to WskOpenNdkAdapter()
 * @adapter: the instance
 *
 * Returns when every object below it is closed and every callback of them has
 * returned.
 * Context: process context, sleeps; never in a callback.
 */
static inline VOID WskCloseNdkAdapter(PWSK_CLIENT client, NDK_ADAPTER *adapter)
{
	ndk_close_adapter((struct ndk_adapter *)adapter);
}

#endif /* _NDK_NDKPI_H */
