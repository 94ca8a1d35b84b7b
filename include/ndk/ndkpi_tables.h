/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Windows names: the slots of NDKPI's tables, and the tables. Include
 * <ndk/ndkpi.h>; nothing here is for consumers.
 *
 * The tables are reached from that of the adapter, which WskOpenNdkAdapter() puts
 * in place: only the files of a module that call it contain them.
 */
#ifndef _NDK_NDKPI_TABLES_H
#define _NDK_NDKPI_TABLES_H

#include <ndk/ndkpi_calls.h>

/* --- MW ------------------------------------------------------------------- */

static inline UINT32 ndkpi_get_remote_token_from_mw(NDK_MW *mw)
{
	return ndkpi_lower(mw, mw)->get_remote_token(ndkpi_native(mw, mw));
}

static const NDK_MW_DISPATCH ndkpi_mw_table __maybe_unused = {
	.NdkCloseMw = ndkpi_close,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkGetRemoteTokenFromMw = ndkpi_get_remote_token_from_mw,
};

/* --- MR ------------------------------------------------------------------- */

/* The scatterlist stays with the MR while it is registered. */
static inline void ndkpi_settle_registration(struct ndkpi_request *r, int status)
{
	if (status)
		sg_free_table(&r->buffer);
	else
		r->mr->buffer = r->buffer;
	kfree(r);
}

static inline void ndkpi_registered(void *context, int status)
{
	struct ndkpi_request *r = context;
	NDK_FN_REQUEST_COMPLETION *completion = r->completion;
	PVOID consumer = r->context;

	ndkpi_settle_registration(r, status);
	completion(consumer, ndkpi_status(status));
}

static inline NTSTATUS ndkpi_register_mr(NDK_MR *mr, MDL *mdl, SIZE_T length, ULONG flags,
					 NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);
	int ret;

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	ret = ndkpi_mdl_to_sg(mdl, length, &r->buffer);
	if (ret) {
		kfree(r);
		return ndkpi_status(ret);
	}
	r->mr = mr->Header.NdkReserved.rf[1];
	/* NDKPI: the address of the first MDL is the address of the region. */
	ret = ndkpi_lower(mr, mr)->register_mr(ndkpi_native(mr, mr), r->buffer.sgl, r->buffer.orig_nents,
					       (uintptr_t)MmGetMdlVirtualAddress(mdl), length, flags,
					       completion ? ndkpi_registered : NULL, r);
	if (ret != -EINPROGRESS)
		ndkpi_settle_registration(r, ret);
	return ndkpi_status(ret);
}

static inline void ndkpi_settle_deregistration(struct ndkpi_request *r, int status)
{
	if (!status)
		sg_free_table(&r->mr->buffer);
	kfree(r);
}

static inline void ndkpi_deregistered(void *context, int status)
{
	struct ndkpi_request *r = context;
	NDK_FN_REQUEST_COMPLETION *completion = r->completion;
	PVOID consumer = r->context;

	ndkpi_settle_deregistration(r, status);
	completion(consumer, ndkpi_status(status));
}

static inline NTSTATUS ndkpi_deregister_mr(NDK_MR *mr, NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);
	int ret;

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	r->mr = mr->Header.NdkReserved.rf[1];
	ret = ndkpi_lower(mr, mr)->deregister(ndkpi_native(mr, mr), completion ? ndkpi_deregistered : NULL, r);
	if (ret != -EINPROGRESS)
		ndkpi_settle_deregistration(r, ret);
	return ndkpi_status(ret);
}

static inline NTSTATUS ndkpi_initialize_fast_register_mr(NDK_MR *mr, ULONG page_count, BOOLEAN remote_access,
							 NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(mr, mr)->initialize_fast_register(ndkpi_native(mr, mr), page_count,
										remote_access, ndkpi_answer(r), r));
}

static inline UINT32 ndkpi_get_remote_token_from_mr(NDK_MR *mr)
{
	return ndkpi_lower(mr, mr)->get_remote_token(ndkpi_native(mr, mr));
}

static inline UINT32 ndkpi_get_local_token_from_mr(NDK_MR *mr)
{
	return ndkpi_lower(mr, mr)->get_local_token(ndkpi_native(mr, mr));
}

static const NDK_MR_DISPATCH ndkpi_mr_table __maybe_unused = {
	.NdkCloseMr = ndkpi_close_kept,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkRegisterMr = ndkpi_register_mr,
	.NdkDeregisterMr = ndkpi_deregister_mr,
	.NdkInitializeFastRegisterMr = ndkpi_initialize_fast_register_mr,
	.NdkGetRemoteTokenFromMr = ndkpi_get_remote_token_from_mr,
	.NdkGetLocalTokenFromMr = ndkpi_get_local_token_from_mr,
};

/* --- QP ------------------------------------------------------------------- */

static inline VOID ndkpi_flush(NDK_QP *qp)
{
	ndkpi_lower(qp, qp)->flush(ndkpi_native(qp, qp));
}

static inline NTSTATUS ndkpi_send(NDK_QP *qp, PVOID context, const NDK_SGE *sgl, ULONG nr_sge, ULONG flags)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->send(ndkpi_native(qp, qp), context, (const struct ndk_sge *)sgl,
						      nr_sge, flags));
}

static inline NTSTATUS ndkpi_receive(NDK_QP *qp, PVOID context, const NDK_SGE *sgl, ULONG nr_sge)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->receive(ndkpi_native(qp, qp), context,
							 (const struct ndk_sge *)sgl, nr_sge));
}

static inline NTSTATUS ndkpi_bind(NDK_QP *qp, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID va, SIZE_T length,
				  ULONG flags)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->bind(ndkpi_native(qp, qp), context, ndkpi_native(mr, mr),
						      ndkpi_native(mw, mw), (uintptr_t)va, length, flags));
}

static inline NTSTATUS ndkpi_fast_register(NDK_QP *qp, PVOID context, NDK_MR *mr, ULONG page_count,
					   const NDK_LOGICAL_ADDRESS *pages, ULONG fbo, SIZE_T length, PVOID va,
					   ULONG flags)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->fast_register(ndkpi_native(qp, qp), context, ndkpi_native(mr, mr),
							       page_count, (const u64 *)pages, fbo, length,
							       (uintptr_t)va, flags));
}

static inline NTSTATUS ndkpi_invalidate(NDK_QP *qp, PVOID context, NDK_OBJECT_HEADER *mr_or_mw, ULONG flags)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->invalidate(ndkpi_native(qp, qp), context,
							    (struct ndk_object_header *)mr_or_mw, flags));
}

static inline NTSTATUS ndkpi_read(NDK_QP *qp, PVOID context, const NDK_SGE *sgl, ULONG nr_sge, UINT64 address,
				  UINT32 token, ULONG flags)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->read(ndkpi_native(qp, qp), context, (const struct ndk_sge *)sgl,
						      nr_sge, address, token, flags));
}

static inline NTSTATUS ndkpi_write(NDK_QP *qp, PVOID context, const NDK_SGE *sgl, ULONG nr_sge, UINT64 address,
				   UINT32 token, ULONG flags)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->write(ndkpi_native(qp, qp), context, (const struct ndk_sge *)sgl,
						       nr_sge, address, token, flags));
}

static inline NTSTATUS ndkpi_send_and_invalidate(NDK_QP *qp, PVOID context, const NDK_SGE *sgl, ULONG nr_sge,
						 ULONG flags, UINT32 token)
{
	return ndkpi_status(ndkpi_lower(qp, qp)->send_and_invalidate(ndkpi_native(qp, qp), context,
								     (const struct ndk_sge *)sgl, nr_sge, flags,
								     token));
}

static const NDK_QP_DISPATCH ndkpi_qp_table __maybe_unused = {
	.NdkCloseQp = ndkpi_close,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkFlush = ndkpi_flush,
	.NdkSend = ndkpi_send,
	.NdkReceive = ndkpi_receive,
	.NdkBind = ndkpi_bind,
	.NdkFastRegister = ndkpi_fast_register,
	.NdkInvalidate = ndkpi_invalidate,
	.NdkRead = ndkpi_read,
	.NdkWrite = ndkpi_write,
	.NdkSendAndInvalidate = ndkpi_send_and_invalidate,
};

/* --- SRQ ------------------------------------------------------------------ */

static inline void ndkpi_srq_notification(void *context, int status)
{
	struct ndkpi_object *o = context;

	o->srq_notification(o->event_context, ndkpi_status(status));
}

static inline NTSTATUS ndkpi_modify_srq(NDK_SRQ *srq, ULONG depth, ULONG threshold,
					NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(srq, srq)->modify(ndkpi_native(srq, srq), depth, threshold,
								ndkpi_answer(r), r));
}

static inline NTSTATUS ndkpi_srq_receive(NDK_SRQ *srq, PVOID context, const NDK_SGE *sgl, ULONG nr_sge)
{
	return ndkpi_status(ndkpi_lower(srq, srq)->receive(ndkpi_native(srq, srq), context,
							   (const struct ndk_sge *)sgl, nr_sge));
}

static const NDK_SRQ_DISPATCH ndkpi_srq_table __maybe_unused = {
	.NdkCloseSrq = ndkpi_close_kept,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkModifySrq = ndkpi_modify_srq,
	.NdkSrqReceive = ndkpi_srq_receive,
};

/* --- CQ ------------------------------------------------------------------- */

static inline void ndkpi_cq_notification(void *context, int status)
{
	struct ndkpi_object *o = context;

	o->cq_notification(o->event_context, ndkpi_status(status));
}

static inline NTSTATUS ndkpi_resize_cq(NDK_CQ *cq, ULONG depth, NDK_FN_REQUEST_COMPLETION *completion,
				       PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(cq, cq)->resize(ndkpi_native(cq, cq), depth, ndkpi_answer(r), r));
}

static inline VOID ndkpi_arm_cq(NDK_CQ *cq, ULONG type)
{
	ndkpi_lower(cq, cq)->arm(ndkpi_native(cq, cq), type);
}

/* Results are turned where they are: only the status is another number. */
static inline ULONG ndkpi_get_cq_results(NDK_CQ *cq, NDK_RESULT *results, ULONG count)
{
	ULONG i, n = ndkpi_lower(cq, cq)->get_results(ndkpi_native(cq, cq), (struct ndk_result *)results, count);

	for (i = 0; i < n; i++)
		results[i].Status = ndkpi_status(results[i].Status);
	return n;
}

static inline NTSTATUS ndkpi_control_cq_interrupt_moderation(NDK_CQ *cq, ULONG interval, ULONG count)
{
	return ndkpi_status(ndkpi_lower(cq, cq)->control_interrupt_moderation(ndkpi_native(cq, cq), interval, count));
}

static inline ULONG ndkpi_get_cq_results_ex(NDK_CQ *cq, NDK_RESULT_EX *results, ULONG count)
{
	ULONG i, n;

	n = ndkpi_lower(cq, cq)->get_results_ex(ndkpi_native(cq, cq), (struct ndk_result_ex *)results, count);
	for (i = 0; i < n; i++)
		results[i].Status = ndkpi_status(results[i].Status);
	return n;
}

static const NDK_CQ_DISPATCH ndkpi_cq_table __maybe_unused = {
	.NdkCloseCq = ndkpi_close_kept,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkResizeCq = ndkpi_resize_cq,
	.NdkArmCq = ndkpi_arm_cq,
	.NdkGetCqResults = ndkpi_get_cq_results,
	.NdkControlCqInterruptModeration = ndkpi_control_cq_interrupt_moderation,
	.NdkGetCqResultsEx = ndkpi_get_cq_results_ex,
};

/* --- shared endpoint ------------------------------------------------------ */

static inline NTSTATUS ndkpi_get_shared_endpoint_local_address(NDK_SHARED_ENDPOINT *endpoint, SOCKADDR *address,
							       ULONG *length)
{
	return ndkpi_status(ndkpi_lower(shared_endpoint, endpoint)
			    ->get_local_address(ndkpi_native(shared_endpoint, endpoint), address, length));
}

static const NDK_SHARED_ENDPOINT_DISPATCH ndkpi_shared_endpoint_table __maybe_unused = {
	.NdkCloseSharedEndpoint = ndkpi_close,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkGetLocalAddress = ndkpi_get_shared_endpoint_local_address,
};

/* --- connector ------------------------------------------------------------ */

static inline NTSTATUS ndkpi_connect(NDK_CONNECTOR *c, NDK_QP *qp, const SOCKADDR *source, ULONG source_length,
				     const SOCKADDR *destination, ULONG destination_length, ULONG inbound,
				     ULONG outbound, const VOID *data, ULONG data_length,
				     NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(connector, c)->connect(ndkpi_native(connector, c), ndkpi_native(qp, qp),
								     source, source_length, destination,
								     destination_length, inbound, outbound, data,
								     data_length, ndkpi_answer(r), r));
}

static inline NTSTATUS ndkpi_connect_with_shared_endpoint(NDK_CONNECTOR *c, NDK_QP *qp, NDK_SHARED_ENDPOINT *endpoint,
							  const SOCKADDR *destination, ULONG destination_length,
							  ULONG inbound, ULONG outbound, const VOID *data,
							  ULONG data_length, NDK_FN_REQUEST_COMPLETION *completion,
							  PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);
	int ret;

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	ret = ndkpi_lower(connector, c)->connect_with_shared_endpoint(ndkpi_native(connector, c), ndkpi_native(qp, qp),
								      ndkpi_native(shared_endpoint, endpoint),
								      destination, destination_length, inbound,
								      outbound, data, data_length, ndkpi_answer(r), r);
	return ndkpi_requested(r, ret);
}

/* A disconnect event has no status to turn: the consumer's is the provider's. */
static inline NTSTATUS ndkpi_complete_connect(NDK_CONNECTOR *c, NDK_FN_DISCONNECT_EVENT_CALLBACK *event,
					      PVOID event_context, NDK_FN_REQUEST_COMPLETION *completion,
					      PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(connector, c)->complete_connect(ndkpi_native(connector, c), event,
									      event_context, ndkpi_answer(r), r));
}

static inline NTSTATUS ndkpi_accept(NDK_CONNECTOR *c, NDK_QP *qp, ULONG inbound, ULONG outbound, const VOID *data,
				    ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK *event, PVOID event_context,
				    NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(connector, c)->accept(ndkpi_native(connector, c), ndkpi_native(qp, qp),
								    inbound, outbound, data, data_length, event,
								    event_context, ndkpi_answer(r), r));
}

static inline NTSTATUS ndkpi_reject(NDK_CONNECTOR *c, const VOID *data, ULONG data_length)
{
	return ndkpi_status(ndkpi_lower(connector, c)->reject(ndkpi_native(connector, c), data, data_length));
}

static inline NTSTATUS ndkpi_get_connection_data(NDK_CONNECTOR *c, ULONG *inbound, ULONG *outbound, PVOID data,
						 ULONG *data_length)
{
	return ndkpi_status(ndkpi_lower(connector, c)->get_connection_data(ndkpi_native(connector, c), inbound,
									   outbound, data, data_length));
}

static inline NTSTATUS ndkpi_get_local_address(NDK_CONNECTOR *c, SOCKADDR *address, ULONG *length)
{
	return ndkpi_status(ndkpi_lower(connector, c)->get_local_address(ndkpi_native(connector, c), address,
									 length));
}

static inline NTSTATUS ndkpi_get_peer_address(NDK_CONNECTOR *c, SOCKADDR *address, ULONG *length)
{
	return ndkpi_status(ndkpi_lower(connector, c)->get_peer_address(ndkpi_native(connector, c), address, length));
}

static inline NTSTATUS ndkpi_disconnect(NDK_CONNECTOR *c, NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(connector, c)->disconnect(ndkpi_native(connector, c), ndkpi_answer(r),
									r));
}

static inline NTSTATUS ndkpi_complete_connect_ex(NDK_CONNECTOR *c, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX *event,
						 PVOID event_context, NDK_FN_REQUEST_COMPLETION *completion,
						 PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(connector, c)->complete_connect_ex(ndkpi_native(connector, c), event,
										 event_context, ndkpi_answer(r), r));
}

static inline NTSTATUS ndkpi_accept_ex(NDK_CONNECTOR *c, NDK_QP *qp, ULONG inbound, ULONG outbound, const VOID *data,
				       ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX *event,
				       PVOID event_context, NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(connector, c)->accept_ex(ndkpi_native(connector, c), ndkpi_native(qp, qp),
								       inbound, outbound, data, data_length, event,
								       event_context, ndkpi_answer(r), r));
}

static const NDK_CONNECTOR_DISPATCH ndkpi_connector_table __maybe_unused = {
	.NdkCloseConnector = ndkpi_close,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkConnect = ndkpi_connect,
	.NdkConnectWithSharedEndpoint = ndkpi_connect_with_shared_endpoint,
	.NdkCompleteConnect = ndkpi_complete_connect,
	.NdkAccept = ndkpi_accept,
	.NdkReject = ndkpi_reject,
	.NdkGetConnectionData = ndkpi_get_connection_data,
	.NdkGetLocalAddress = ndkpi_get_local_address,
	.NdkGetPeerAddress = ndkpi_get_peer_address,
	.NdkDisconnect = ndkpi_disconnect,
	.NdkCompleteConnectEx = ndkpi_complete_connect_ex,
	.NdkAcceptEx = ndkpi_accept_ex,
};

/* --- listener ------------------------------------------------------------- */

static inline void ndkpi_connect_event(void *context, struct ndk_connector *connector)
{
	struct ndkpi_object *o = context;

	ndkpi_adopt(&connector->header, &ndkpi_connector_table, NULL);
	o->connect_event(o->event_context, (NDK_CONNECTOR *)connector);
}

static inline NTSTATUS ndkpi_listen(NDK_LISTENER *l, const SOCKADDR *address, ULONG length,
				    NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = ndkpi_request(completion, context);

	if (!r)
		return STATUS_INSUFFICIENT_RESOURCES;
	return ndkpi_requested(r, ndkpi_lower(listener, l)->listen(ndkpi_native(listener, l), address, length,
								   ndkpi_answer(r), r));
}

static inline NTSTATUS ndkpi_get_listener_local_address(NDK_LISTENER *l, SOCKADDR *address, ULONG *length)
{
	return ndkpi_status(ndkpi_lower(listener, l)->get_local_address(ndkpi_native(listener, l), address, length));
}

static inline VOID ndkpi_control_connect_events(NDK_LISTENER *l, BOOLEAN pause)
{
	ndkpi_lower(listener, l)->control_connect_events(ndkpi_native(listener, l), pause);
}

static const NDK_LISTENER_DISPATCH ndkpi_listener_table __maybe_unused = {
	.NdkCloseListener = ndkpi_close_kept,
	.NdkQueryExtension = ndkpi_query_extension,
	.NdkListen = ndkpi_listen,
	.NdkGetLocalAddress = ndkpi_get_listener_local_address,
	.NdkControlConnectEvents = ndkpi_control_connect_events,
};

#endif /* _NDK_NDKPI_TABLES_H */
