/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Windows names: function types, dispatch tables and objects of NDKPI 2.1.
 * Include <ndk/ndkpi.h>.
 *
 * What a function does, and in which context it may be called, is said at the
 * function of <ndk/ndk.h> that stands above it.
 */
#ifndef _NDK_NDKPI_DISPATCH_H
#define _NDK_NDKPI_DISPATCH_H

#include <ndk/ndkpi_types.h>

/* Callbacks of a consumer: all in softirq context, with no lock held. */

/* ndk_create_completion_fn */
typedef VOID NDK_FN_CREATE_COMPLETION(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object);

/* ndk_request_completion_fn */
typedef VOID NDK_FN_REQUEST_COMPLETION(PVOID Context, NTSTATUS Status);

/* ndk_close_completion_fn */
typedef VOID NDK_FN_CLOSE_COMPLETION(PVOID Context);

/* ndk_cq_notification_fn */
typedef VOID NDK_FN_CQ_NOTIFICATION_CALLBACK(PVOID CqNotificationContext, NTSTATUS CqStatus);

/* ndk_srq_notification_fn */
typedef VOID NDK_FN_SRQ_NOTIFICATION_CALLBACK(PVOID SrqNotificationContext, NTSTATUS SrqStatus);

/* ndk_connect_event_fn */
typedef VOID NDK_FN_CONNECT_EVENT_CALLBACK(PVOID ConnectEventContext, NDK_CONNECTOR *Connector);

/* ndk_disconnect_event_fn */
typedef VOID NDK_FN_DISCONNECT_EVENT_CALLBACK(PVOID DisconnectEventContext);

/* ndk_disconnect_event_ex_fn */
typedef VOID NDK_FN_DISCONNECT_EVENT_CALLBACK_EX(PVOID DisconnectEventContext,
		ULONG ProviderDisconnectReason);

/* Every object */

/* ndk_query_extension() */
typedef NTSTATUS NDK_FN_QUERY_EXTENSION_INTERFACE(NDK_OBJECT_HEADER *Object,
		const GUID *ExtensionId, NDK_VERSION Version, NDK_EXTENSION_INTERFACE *Extension);

/* ndk_close_*() */
typedef NTSTATUS NDK_FN_CLOSE_OBJECT(NDK_OBJECT_HEADER *Object,
		NDK_FN_CLOSE_COMPLETION *CloseCompletion, PVOID RequestContext);

/* Adapter */

/* ndk_query_adapter_info() */
typedef NTSTATUS NDK_FN_QUERY_ADAPTER_INFO(NDK_ADAPTER *Adapter, NDK_ADAPTER_INFO *Info,
		ULONG *BufferSize);

/* ndk_create_cq(); the affinity names a processor or is NULL */
typedef NTSTATUS NDK_FN_CREATE_CQ(NDK_ADAPTER *Adapter, ULONG CqDepth,
		NDK_FN_CQ_NOTIFICATION_CALLBACK *CqNotification, PVOID CqNotificationContext,
		GROUP_AFFINITY *Affinity, NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext,
		NDK_CQ **Cq);

/* ndk_create_pd() */
typedef NTSTATUS NDK_FN_CREATE_PD(NDK_ADAPTER *Adapter,
		NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext, NDK_PD **Pd);

/* ndk_create_shared_endpoint() */
typedef NTSTATUS NDK_FN_CREATE_SHARED_ENDPOINT(NDK_ADAPTER *Adapter, const SOCKADDR *Address,
		ULONG AddressLength, NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext,
		NDK_SHARED_ENDPOINT **SharedEndpoint);

/* ndk_create_connector() */
typedef NTSTATUS NDK_FN_CREATE_CONNECTOR(NDK_ADAPTER *Adapter,
		NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext, NDK_CONNECTOR **Connector);

/* ndk_create_listener() */
typedef NTSTATUS NDK_FN_CREATE_LISTENER(NDK_ADAPTER *Adapter,
		NDK_FN_CONNECT_EVENT_CALLBACK *ConnectEvent, PVOID ConnectEventContext,
		NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext, NDK_LISTENER **Listener);

/* ndk_build_lam(), from an MDL chain */
typedef NTSTATUS NDK_FN_BUILD_LAM(NDK_ADAPTER *Adapter, MDL *Mdl, SIZE_T Length,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext,
		NDK_LOGICAL_ADDRESS_MAPPING *Lam, ULONG *LamSize, ULONG *Fbo);

/* ndk_release_lam() */
typedef VOID NDK_FN_RELEASE_LAM(NDK_ADAPTER *Adapter, NDK_LOGICAL_ADDRESS_MAPPING *Lam);

/* PD */

/* ndk_create_mr() */
typedef NTSTATUS NDK_FN_CREATE_MR(NDK_PD *Pd, BOOLEAN FastRegister,
		NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext, NDK_MR **Mr);

/* ndk_create_mw() */
typedef NTSTATUS NDK_FN_CREATE_MW(NDK_PD *Pd, NDK_FN_CREATE_COMPLETION *CreateCompletion,
		PVOID RequestContext, NDK_MW **Mw);

/* ndk_create_srq() */
typedef NTSTATUS NDK_FN_CREATE_SRQ(NDK_PD *Pd, ULONG SrqDepth, ULONG MaxReceiveRequestSge,
		ULONG NotifyThreshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK *SrqNotification,
		PVOID SrqNotificationContext, GROUP_AFFINITY *Affinity,
		NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext, NDK_SRQ **Srq);

/* ndk_create_qp() */
typedef NTSTATUS NDK_FN_CREATE_QP(NDK_PD *Pd, NDK_CQ *ReceiveCq, NDK_CQ *InitiatorCq,
		PVOID QPContext, ULONG ReceiveQueueDepth, ULONG InitiatorQueueDepth, ULONG MaxReceiveRequestSge,
		ULONG MaxInitiatorRequestSge, ULONG InlineDataSize, NDK_FN_CREATE_COMPLETION *CreateCompletion,
		PVOID RequestContext, NDK_QP **Qp);

/* ndk_create_qp_with_srq() */
typedef NTSTATUS NDK_FN_CREATE_QP_WITH_SRQ(NDK_PD *Pd, NDK_CQ *ReceiveCq, NDK_CQ *InitiatorCq,
		NDK_SRQ *Srq, PVOID QPContext, ULONG InitiatorQueueDepth, ULONG MaxInitiatorRequestSge,
		ULONG InlineDataSize, NDK_FN_CREATE_COMPLETION *CreateCompletion, PVOID RequestContext,
		NDK_QP **Qp);

/* ndk_get_privileged_token() */
typedef VOID NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN(NDK_PD *Pd, UINT32 *Token);

/* CQ */

/* ndk_resize_cq() */
typedef NTSTATUS NDK_FN_RESIZE_CQ(NDK_CQ *Cq, ULONG CqDepth,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_arm_cq() */
typedef VOID NDK_FN_ARM_CQ(NDK_CQ *Cq, ULONG TriggerType);

/* ndk_get_cq_results() */
typedef ULONG NDK_FN_GET_CQ_RESULTS(NDK_CQ *Cq, NDK_RESULT *Results, ULONG Count);

/* ndk_control_cq_interrupt_moderation() */
typedef NTSTATUS NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION(NDK_CQ *Cq, ULONG ModerationInterval,
		ULONG ModerationCount);

/* ndk_get_cq_results_ex() */
typedef ULONG NDK_FN_GET_CQ_RESULTS_EX(NDK_CQ *Cq, NDK_RESULT_EX *Results, ULONG Count);

/* SRQ */

/* ndk_modify_srq() */
typedef NTSTATUS NDK_FN_MODIFY_SRQ(NDK_SRQ *Srq, ULONG SrqDepth, ULONG NotifyThreshold,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_srq_receive() */
typedef NTSTATUS NDK_FN_SRQ_RECEIVE(NDK_SRQ *Srq, PVOID RequestContext, const NDK_SGE *Sgl,
		ULONG SgeCount);

/* QP */

/* ndk_flush() */
typedef VOID NDK_FN_FLUSH(NDK_QP *Qp);

/* ndk_send() */
typedef NTSTATUS NDK_FN_SEND(NDK_QP *Qp, PVOID RequestContext, const NDK_SGE *Sgl, ULONG SgeCount,
		ULONG Flags);

/* ndk_send_and_invalidate() */
typedef NTSTATUS NDK_FN_SEND_AND_INVALIDATE(NDK_QP *Qp, PVOID RequestContext, const NDK_SGE *Sgl,
		ULONG SgeCount, ULONG Flags, UINT32 RemoteToken);

/* ndk_receive() */
typedef NTSTATUS NDK_FN_RECEIVE(NDK_QP *Qp, PVOID RequestContext, const NDK_SGE *Sgl,
		ULONG SgeCount);

/* ndk_bind() */
typedef NTSTATUS NDK_FN_BIND(NDK_QP *Qp, PVOID RequestContext, NDK_MR *Mr, NDK_MW *Mw,
		PVOID VirtualAddress, SIZE_T Length, ULONG Flags);

/* ndk_fast_register() */
typedef NTSTATUS NDK_FN_FAST_REGISTER(NDK_QP *Qp, PVOID RequestContext, NDK_MR *Mr,
		ULONG AdapterPageCount, const NDK_LOGICAL_ADDRESS *AdapterPageArray, ULONG Fbo, SIZE_T Length,
		PVOID BaseVirtualAddress, ULONG Flags);

/* ndk_invalidate() */
typedef NTSTATUS NDK_FN_INVALIDATE(NDK_QP *Qp, PVOID RequestContext, NDK_OBJECT_HEADER *MrOrMw,
		ULONG Flags);

/* ndk_read() */
typedef NTSTATUS NDK_FN_READ(NDK_QP *Qp, PVOID RequestContext, const NDK_SGE *Sgl, ULONG SgeCount,
		UINT64 RemoteAddress, UINT32 RemoteToken, ULONG Flags);

/* ndk_write() */
typedef NTSTATUS NDK_FN_WRITE(NDK_QP *Qp, PVOID RequestContext, const NDK_SGE *Sgl,
		ULONG SgeCount, UINT64 RemoteAddress, UINT32 RemoteToken, ULONG Flags);

/* MR */

/* ndk_register_mr(), from an MDL chain, whose address is the name */
typedef NTSTATUS NDK_FN_REGISTER_MR(NDK_MR *Mr, MDL *Mdl, SIZE_T Length, ULONG Flags,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_deregister_mr() */
typedef NTSTATUS NDK_FN_DEREGISTER_MR(NDK_MR *Mr, NDK_FN_REQUEST_COMPLETION *RequestCompletion,
		PVOID RequestContext);

/* ndk_initialize_fast_register_mr() */
typedef NTSTATUS NDK_FN_INITIALIZE_FAST_REGISTER_MR(NDK_MR *Mr, ULONG AdapterPageCount,
		BOOLEAN RemoteAccess, NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_get_remote_token_from_mr() */
typedef UINT32 NDK_FN_GET_REMOTE_TOKEN_FROM_MR(NDK_MR *Mr);

/* ndk_get_local_token_from_mr() */
typedef UINT32 NDK_FN_GET_LOCAL_TOKEN_FROM_MR(NDK_MR *Mr);

/* MW */

/* ndk_get_remote_token_from_mw() */
typedef UINT32 NDK_FN_GET_REMOTE_TOKEN_FROM_MW(NDK_MW *Mw);

/* Connector */

/* ndk_connect() */
typedef NTSTATUS NDK_FN_CONNECT(NDK_CONNECTOR *Connector, NDK_QP *Qp, const SOCKADDR *Source,
		ULONG SourceLength, const SOCKADDR *Destination, ULONG DestinationLength,
		ULONG InboundReadLimit, ULONG OutboundReadLimit, const VOID *PrivateData,
		ULONG PrivateDataLength, NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_connect_with_shared_endpoint() */
typedef NTSTATUS NDK_FN_CONNECT_WITH_SHARED_ENDPOINT(NDK_CONNECTOR *Connector, NDK_QP *Qp,
		NDK_SHARED_ENDPOINT *SharedEndpoint, const SOCKADDR *Destination, ULONG DestinationLength,
		ULONG InboundReadLimit, ULONG OutboundReadLimit, const VOID *PrivateData,
		ULONG PrivateDataLength, NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_complete_connect() */
typedef NTSTATUS NDK_FN_COMPLETE_CONNECT(NDK_CONNECTOR *Connector,
		NDK_FN_DISCONNECT_EVENT_CALLBACK *DisconnectEvent, PVOID DisconnectEventContext,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_complete_connect_ex() */
typedef NTSTATUS NDK_FN_COMPLETE_CONNECT_EX(NDK_CONNECTOR *Connector,
		NDK_FN_DISCONNECT_EVENT_CALLBACK_EX *DisconnectEvent, PVOID DisconnectEventContext,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_accept() */
typedef NTSTATUS NDK_FN_ACCEPT(NDK_CONNECTOR *Connector, NDK_QP *Qp, ULONG InboundReadLimit,
		ULONG OutboundReadLimit, const VOID *PrivateData, ULONG PrivateDataLength,
		NDK_FN_DISCONNECT_EVENT_CALLBACK *DisconnectEvent, PVOID DisconnectEventContext,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_accept_ex() */
typedef NTSTATUS NDK_FN_ACCEPT_EX(NDK_CONNECTOR *Connector, NDK_QP *Qp, ULONG InboundReadLimit,
		ULONG OutboundReadLimit, const VOID *PrivateData, ULONG PrivateDataLength,
		NDK_FN_DISCONNECT_EVENT_CALLBACK_EX *DisconnectEvent, PVOID DisconnectEventContext,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_reject() */
typedef NTSTATUS NDK_FN_REJECT(NDK_CONNECTOR *Connector, const VOID *PrivateData,
		ULONG PrivateDataLength);

/* ndk_get_connection_data() */
typedef NTSTATUS NDK_FN_GET_CONNECTION_DATA(NDK_CONNECTOR *Connector, ULONG *InboundReadLimit,
		ULONG *OutboundReadLimit, PVOID PrivateData, ULONG *PrivateDataLength);

/* ndk_get_local_address() */
typedef NTSTATUS NDK_FN_GET_LOCAL_ADDRESS(NDK_CONNECTOR *Connector, SOCKADDR *Address,
		ULONG *AddressLength);

/* ndk_get_peer_address() */
typedef NTSTATUS NDK_FN_GET_PEER_ADDRESS(NDK_CONNECTOR *Connector, SOCKADDR *Address,
		ULONG *AddressLength);

/* ndk_disconnect() */
typedef NTSTATUS NDK_FN_DISCONNECT(NDK_CONNECTOR *Connector,
		NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* Listener */

/* ndk_listen() */
typedef NTSTATUS NDK_FN_LISTEN(NDK_LISTENER *Listener, const SOCKADDR *Address,
		ULONG AddressLength, NDK_FN_REQUEST_COMPLETION *RequestCompletion, PVOID RequestContext);

/* ndk_get_listener_local_address() */
typedef NTSTATUS NDK_FN_GET_LISTENER_LOCAL_ADDRESS(NDK_LISTENER *Listener, SOCKADDR *Address,
		ULONG *AddressLength);

/* ndk_control_connect_events() */
typedef VOID NDK_FN_CONTROL_CONNECT_EVENTS(NDK_LISTENER *Listener, BOOLEAN Pause);

/* Shared endpoint */

/* ndk_get_shared_endpoint_local_address() */
typedef NTSTATUS NDK_FN_GET_SHARED_ENDPOINT_LOCAL_ADDRESS(NDK_SHARED_ENDPOINT *SharedEndpoint,
		SOCKADDR *Address, ULONG *AddressLength);

/* Dispatch tables: the slots in NDKPI's order, new ones at the end. */

/**
 * struct _NDK_ADAPTER_DISPATCH - functions of an adapter
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkQueryAdapterInfo: an NDK_FN_QUERY_ADAPTER_INFO
 * @NdkCreateCq: an NDK_FN_CREATE_CQ
 * @NdkCreatePd: an NDK_FN_CREATE_PD
 * @NdkCreateSharedEndpoint: an NDK_FN_CREATE_SHARED_ENDPOINT
 * @NdkCreateConnector: an NDK_FN_CREATE_CONNECTOR
 * @NdkCreateListener: an NDK_FN_CREATE_LISTENER
 * @NdkBuildLAM: an NDK_FN_BUILD_LAM
 * @NdkReleaseLAM: an NDK_FN_RELEASE_LAM
 */
struct _NDK_ADAPTER_DISPATCH {
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_QUERY_ADAPTER_INFO *NdkQueryAdapterInfo;
	NDK_FN_CREATE_CQ *NdkCreateCq;
	NDK_FN_CREATE_PD *NdkCreatePd;
	NDK_FN_CREATE_SHARED_ENDPOINT *NdkCreateSharedEndpoint;
	NDK_FN_CREATE_CONNECTOR *NdkCreateConnector;
	NDK_FN_CREATE_LISTENER *NdkCreateListener;
	NDK_FN_BUILD_LAM *NdkBuildLAM;
	NDK_FN_RELEASE_LAM *NdkReleaseLAM;
};
typedef struct _NDK_ADAPTER_DISPATCH NDK_ADAPTER_DISPATCH;

/**
 * struct _NDK_PD_DISPATCH - functions of a PD
 * @NdkClosePd: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkCreateMr: an NDK_FN_CREATE_MR
 * @NdkCreateMw: an NDK_FN_CREATE_MW
 * @NdkCreateSrq: an NDK_FN_CREATE_SRQ
 * @NdkCreateQp: an NDK_FN_CREATE_QP
 * @NdkCreateQpWithSrq: an NDK_FN_CREATE_QP_WITH_SRQ
 * @NdkGetPrivilegedMemoryRegionToken: an
 *	NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN
 */
struct _NDK_PD_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkClosePd;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_CREATE_MR *NdkCreateMr;
	NDK_FN_CREATE_MW *NdkCreateMw;
	NDK_FN_CREATE_SRQ *NdkCreateSrq;
	NDK_FN_CREATE_QP *NdkCreateQp;
	NDK_FN_CREATE_QP_WITH_SRQ *NdkCreateQpWithSrq;
	NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN *NdkGetPrivilegedMemoryRegionToken;
};
typedef struct _NDK_PD_DISPATCH NDK_PD_DISPATCH;

/**
 * struct _NDK_CQ_DISPATCH - functions of a CQ
 * @NdkCloseCq: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkResizeCq: an NDK_FN_RESIZE_CQ
 * @NdkArmCq: an NDK_FN_ARM_CQ
 * @NdkGetCqResults: an NDK_FN_GET_CQ_RESULTS
 * @NdkControlCqInterruptModeration: an NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION
 * @NdkGetCqResultsEx: an NDK_FN_GET_CQ_RESULTS_EX, since 1.2
 */
struct _NDK_CQ_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseCq;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_RESIZE_CQ *NdkResizeCq;
	NDK_FN_ARM_CQ *NdkArmCq;
	NDK_FN_GET_CQ_RESULTS *NdkGetCqResults;
	NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION *NdkControlCqInterruptModeration;
	NDK_FN_GET_CQ_RESULTS_EX *NdkGetCqResultsEx;
};
typedef struct _NDK_CQ_DISPATCH NDK_CQ_DISPATCH;

/**
 * struct _NDK_SRQ_DISPATCH - functions of an SRQ
 * @NdkCloseSrq: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkModifySrq: an NDK_FN_MODIFY_SRQ
 * @NdkSrqReceive: an NDK_FN_SRQ_RECEIVE
 */
struct _NDK_SRQ_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseSrq;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_MODIFY_SRQ *NdkModifySrq;
	NDK_FN_SRQ_RECEIVE *NdkSrqReceive;
};
typedef struct _NDK_SRQ_DISPATCH NDK_SRQ_DISPATCH;

/**
 * struct _NDK_QP_DISPATCH - functions of a QP
 * @NdkCloseQp: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkFlush: an NDK_FN_FLUSH
 * @NdkSend: an NDK_FN_SEND
 * @NdkReceive: an NDK_FN_RECEIVE
 * @NdkBind: an NDK_FN_BIND
 * @NdkFastRegister: an NDK_FN_FAST_REGISTER
 * @NdkInvalidate: an NDK_FN_INVALIDATE
 * @NdkRead: an NDK_FN_READ
 * @NdkWrite: an NDK_FN_WRITE
 * @NdkSendAndInvalidate: an NDK_FN_SEND_AND_INVALIDATE, since 1.2
 */
struct _NDK_QP_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseQp;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_FLUSH *NdkFlush;
	NDK_FN_SEND *NdkSend;
	NDK_FN_RECEIVE *NdkReceive;
	NDK_FN_BIND *NdkBind;
	NDK_FN_FAST_REGISTER *NdkFastRegister;
	NDK_FN_INVALIDATE *NdkInvalidate;
	NDK_FN_READ *NdkRead;
	NDK_FN_WRITE *NdkWrite;
	NDK_FN_SEND_AND_INVALIDATE *NdkSendAndInvalidate;
};
typedef struct _NDK_QP_DISPATCH NDK_QP_DISPATCH;

/**
 * struct _NDK_MR_DISPATCH - functions of an MR
 * @NdkCloseMr: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkRegisterMr: an NDK_FN_REGISTER_MR
 * @NdkDeregisterMr: an NDK_FN_DEREGISTER_MR
 * @NdkInitializeFastRegisterMr: an NDK_FN_INITIALIZE_FAST_REGISTER_MR
 * @NdkGetRemoteTokenFromMr: an NDK_FN_GET_REMOTE_TOKEN_FROM_MR
 * @NdkGetLocalTokenFromMr: an NDK_FN_GET_LOCAL_TOKEN_FROM_MR
 */
struct _NDK_MR_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseMr;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_REGISTER_MR *NdkRegisterMr;
	NDK_FN_DEREGISTER_MR *NdkDeregisterMr;
	NDK_FN_INITIALIZE_FAST_REGISTER_MR *NdkInitializeFastRegisterMr;
	NDK_FN_GET_REMOTE_TOKEN_FROM_MR *NdkGetRemoteTokenFromMr;
	NDK_FN_GET_LOCAL_TOKEN_FROM_MR *NdkGetLocalTokenFromMr;
};
typedef struct _NDK_MR_DISPATCH NDK_MR_DISPATCH;

/**
 * struct _NDK_MW_DISPATCH - functions of a memory window
 * @NdkCloseMw: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkGetRemoteTokenFromMw: an NDK_FN_GET_REMOTE_TOKEN_FROM_MW
 */
struct _NDK_MW_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseMw;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_GET_REMOTE_TOKEN_FROM_MW *NdkGetRemoteTokenFromMw;
};
typedef struct _NDK_MW_DISPATCH NDK_MW_DISPATCH;

/**
 * struct _NDK_SHARED_ENDPOINT_DISPATCH - functions of a shared endpoint
 * @NdkCloseSharedEndpoint: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkGetLocalAddress: an NDK_FN_GET_SHARED_ENDPOINT_LOCAL_ADDRESS
 */
struct _NDK_SHARED_ENDPOINT_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseSharedEndpoint;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_GET_SHARED_ENDPOINT_LOCAL_ADDRESS *NdkGetLocalAddress;
};
typedef struct _NDK_SHARED_ENDPOINT_DISPATCH NDK_SHARED_ENDPOINT_DISPATCH;

/**
 * struct _NDK_CONNECTOR_DISPATCH - functions of a connector
 * @NdkCloseConnector: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkConnect: an NDK_FN_CONNECT
 * @NdkConnectWithSharedEndpoint: an NDK_FN_CONNECT_WITH_SHARED_ENDPOINT
 * @NdkCompleteConnect: an NDK_FN_COMPLETE_CONNECT
 * @NdkAccept: an NDK_FN_ACCEPT
 * @NdkReject: an NDK_FN_REJECT
 * @NdkGetConnectionData: an NDK_FN_GET_CONNECTION_DATA
 * @NdkGetLocalAddress: an NDK_FN_GET_LOCAL_ADDRESS
 * @NdkGetPeerAddress: an NDK_FN_GET_PEER_ADDRESS
 * @NdkDisconnect: an NDK_FN_DISCONNECT
 * @NdkCompleteConnectEx: an NDK_FN_COMPLETE_CONNECT_EX, since 2.1
 * @NdkAcceptEx: an NDK_FN_ACCEPT_EX, since 2.1
 */
struct _NDK_CONNECTOR_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseConnector;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_CONNECT *NdkConnect;
	NDK_FN_CONNECT_WITH_SHARED_ENDPOINT *NdkConnectWithSharedEndpoint;
	NDK_FN_COMPLETE_CONNECT *NdkCompleteConnect;
	NDK_FN_ACCEPT *NdkAccept;
	NDK_FN_REJECT *NdkReject;
	NDK_FN_GET_CONNECTION_DATA *NdkGetConnectionData;
	NDK_FN_GET_LOCAL_ADDRESS *NdkGetLocalAddress;
	NDK_FN_GET_PEER_ADDRESS *NdkGetPeerAddress;
	NDK_FN_DISCONNECT *NdkDisconnect;
	NDK_FN_COMPLETE_CONNECT_EX *NdkCompleteConnectEx;
	NDK_FN_ACCEPT_EX *NdkAcceptEx;
};
typedef struct _NDK_CONNECTOR_DISPATCH NDK_CONNECTOR_DISPATCH;

/**
 * struct _NDK_LISTENER_DISPATCH - functions of a listener
 * @NdkCloseListener: an NDK_FN_CLOSE_OBJECT
 * @NdkQueryExtension: an NDK_FN_QUERY_EXTENSION_INTERFACE
 * @NdkListen: an NDK_FN_LISTEN
 * @NdkGetLocalAddress: an NDK_FN_GET_LISTENER_LOCAL_ADDRESS
 * @NdkControlConnectEvents: an NDK_FN_CONTROL_CONNECT_EVENTS
 */
struct _NDK_LISTENER_DISPATCH {
	NDK_FN_CLOSE_OBJECT *NdkCloseListener;
	NDK_FN_QUERY_EXTENSION_INTERFACE *NdkQueryExtension;
	NDK_FN_LISTEN *NdkListen;
	NDK_FN_GET_LISTENER_LOCAL_ADDRESS *NdkGetLocalAddress;
	NDK_FN_CONTROL_CONNECT_EVENTS *NdkControlConnectEvents;
};
typedef struct _NDK_LISTENER_DISPATCH NDK_LISTENER_DISPATCH;

/* Objects. The memory behind each is the provider's. */

/**
 * struct _NDK_ADAPTER - one port of an RDMA device
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_ADAPTER {
	NDK_OBJECT_HEADER Header;
	const NDK_ADAPTER_DISPATCH *Dispatch;
};

/**
 * struct _NDK_PD - protection domain
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_PD {
	NDK_OBJECT_HEADER Header;
	const NDK_PD_DISPATCH *Dispatch;
};

/**
 * struct _NDK_CQ - completion queue
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_CQ {
	NDK_OBJECT_HEADER Header;
	const NDK_CQ_DISPATCH *Dispatch;
};

/**
 * struct _NDK_SRQ - shared receive queue
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_SRQ {
	NDK_OBJECT_HEADER Header;
	const NDK_SRQ_DISPATCH *Dispatch;
};

/**
 * struct _NDK_QP - queue pair
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_QP {
	NDK_OBJECT_HEADER Header;
	const NDK_QP_DISPATCH *Dispatch;
};

/**
 * struct _NDK_MR - memory region
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_MR {
	NDK_OBJECT_HEADER Header;
	const NDK_MR_DISPATCH *Dispatch;
};

/**
 * struct _NDK_MW - memory window
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_MW {
	NDK_OBJECT_HEADER Header;
	const NDK_MW_DISPATCH *Dispatch;
};

/**
 * struct _NDK_SHARED_ENDPOINT - local address that several connectors share
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_SHARED_ENDPOINT {
	NDK_OBJECT_HEADER Header;
	const NDK_SHARED_ENDPOINT_DISPATCH *Dispatch;
};

/**
 * struct _NDK_CONNECTOR - one end of a connection
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_CONNECTOR {
	NDK_OBJECT_HEADER Header;
	const NDK_CONNECTOR_DISPATCH *Dispatch;
};

/**
 * struct _NDK_LISTENER - taker of incoming connections
 * @Header: header
 * @Dispatch: functions
 */
struct _NDK_LISTENER {
	NDK_OBJECT_HEADER Header;
	const NDK_LISTENER_DISPATCH *Dispatch;
};

/* 48 bytes each: the header, and the pointer. */
static_assert(sizeof(NDK_ADAPTER) == 48 && sizeof(struct ndk_adapter) == 48);
static_assert(sizeof(NDK_PD) == 48 && sizeof(struct ndk_pd) == 48);
static_assert(sizeof(NDK_CQ) == 48 && sizeof(struct ndk_cq) == 48);
static_assert(sizeof(NDK_SRQ) == 48 && sizeof(struct ndk_srq) == 48);
static_assert(sizeof(NDK_QP) == 48 && sizeof(struct ndk_qp) == 48);
static_assert(sizeof(NDK_MR) == 48 && sizeof(struct ndk_mr) == 48);
static_assert(sizeof(NDK_MW) == 48 && sizeof(struct ndk_mw) == 48);
static_assert(sizeof(NDK_SHARED_ENDPOINT) == 48 && sizeof(struct ndk_shared_endpoint) == 48);
static_assert(sizeof(NDK_CONNECTOR) == 48 && sizeof(struct ndk_connector) == 48);
static_assert(sizeof(NDK_LISTENER) == 48 && sizeof(struct ndk_listener) == 48);

#endif /* _NDK_NDKPI_DISPATCH_H */
