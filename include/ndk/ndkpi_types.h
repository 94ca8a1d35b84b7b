/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Windows names: constants and structures of NDKPI 2.1. Include
 * <ndk/ndkpi.h>.
 *
 * NDK_OP_FLAG_*, NDK_MR_FLAG_* and NDK_CQ_NOTIFY_* have one name on both sides:
 * see <ndk/ndk_types.h>.
 */
#ifndef _NDK_NDKPI_TYPES_H
#define _NDK_NDKPI_TYPES_H

#include <ndk/ndk_types.h>
#include <ndk/ndkpi_base.h>
#include <ndk/ndkpi_mdl.h>

typedef struct _NDK_ADAPTER NDK_ADAPTER;
typedef struct _NDK_CQ NDK_CQ;
typedef struct _NDK_SRQ NDK_SRQ;
typedef struct _NDK_QP NDK_QP;
typedef struct _NDK_PD NDK_PD;
typedef struct _NDK_MR NDK_MR;
typedef struct _NDK_MW NDK_MW;
typedef struct _NDK_SHARED_ENDPOINT NDK_SHARED_ENDPOINT;
typedef struct _NDK_CONNECTOR NDK_CONNECTOR;
typedef struct _NDK_LISTENER NDK_LISTENER;

/**
 * struct _NDK_VERSION - version of the interface
 * @Major: must match exactly
 * @Minor: a higher one is a superset of a lower one
 */
struct _NDK_VERSION {
	USHORT Major;
	USHORT Minor;
};
typedef struct _NDK_VERSION NDK_VERSION;

enum _NDK_OBJECT_TYPE {
	NdkObjectTypeUndefined		= 0,
	NdkObjectTypeAdapter		= 1,
	NdkObjectTypeQp			= 2,
	NdkObjectTypeCq			= 3,
	NdkObjectTypeMr			= 4,
	NdkObjectTypeMw			= 5,
	NdkObjectTypePd			= 6,
	NdkObjectTypeSharedEndpoint	= 7,
	NdkObjectTypeConnector		= 8,
	NdkObjectTypeListener		= 9,
	NdkObjectTypeSrq		= 10,
	NdkObjectTypeMax		= 11,
};
typedef enum _NDK_OBJECT_TYPE NDK_OBJECT_TYPE;

/**
 * struct _NDK_OBJECT_HEADER_RESERVED_BLOCK - not for consumers
 * @rf: what stands between consumer and provider keeps its own here
 */
struct _NDK_OBJECT_HEADER_RESERVED_BLOCK {
	PVOID rf[4];
};
typedef struct _NDK_OBJECT_HEADER_RESERVED_BLOCK NDK_OBJECT_HEADER_RESERVED_BLOCK;

/**
 * struct _NDK_OBJECT_HEADER - first member of every object
 * @Version: version in force on this adapter
 * @ObjectType: what object it is of
 * @NdkReserved: not for consumers
 */
struct _NDK_OBJECT_HEADER {
	NDK_VERSION Version;
	NDK_OBJECT_TYPE ObjectType;
	NDK_OBJECT_HEADER_RESERVED_BLOCK NdkReserved;
};
typedef struct _NDK_OBJECT_HEADER NDK_OBJECT_HEADER;

enum _NDK_RDMA_TECHNOLOGY {
	NdkUndefined		= 0,
	NdkiWarp		= 1,
	NdkInfiniBand		= 2,
	NdkRoCE			= 3,
	NdkRoCEv2		= 4,
	NdkMaxTechnology	= 5,
};
typedef enum _NDK_RDMA_TECHNOLOGY NDK_RDMA_TECHNOLOGY;

/* The flags of an adapter that have a longer name on Windows; RDMA_READ_SINK_NOT_REQUIRED has the same. */
#define NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED			0x00000001u
#define NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED	0x00000004u
#define NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED			0x00000008u
#define NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED	0x00000010u
#define NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED			0x00000100u
#define NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED		0x00010000u

/**
 * struct _NDK_ADAPTER_INFO - limits of an adapter; each member is that of &struct ndk_adapter_info which is named with it
 * @Version: version
 * @VendorId: vendor_id
 * @DeviceId: device_id
 * @MaxRegistrationSize: max_registration_size
 * @MaxWindowSize: max_window_size
 * @FRMRPageCount: frmr_page_count
 * @MaxInitiatorRequestSge: max_initiator_request_sge
 * @MaxReceiveRequestSge: max_receive_request_sge
 * @MaxReadRequestSge: max_read_request_sge
 * @MaxTransferLength: max_transfer_length
 * @MaxInlineDataSize: max_inline_data_size
 * @MaxInboundReadLimit: max_inbound_read_limit
 * @MaxOutboundReadLimit: max_outbound_read_limit
 * @MaxReceiveQueueDepth: max_receive_queue_depth
 * @MaxInitiatorQueueDepth: max_initiator_queue_depth
 * @MaxSrqDepth: max_srq_depth
 * @MaxCqDepth: max_cq_depth
 * @LargeRequestThreshold: large_request_threshold
 * @MaxCallerData: max_caller_data
 * @MaxCalleeData: max_callee_data
 * @AdapterFlags: adapter_flags
 * @RdmaTechnology: rdma_technology
 */
struct _NDK_ADAPTER_INFO {
	NDK_VERSION Version;
	UINT32 VendorId;
	UINT32 DeviceId;
	SIZE_T MaxRegistrationSize;
	SIZE_T MaxWindowSize;
	ULONG FRMRPageCount;
	ULONG MaxInitiatorRequestSge;
	ULONG MaxReceiveRequestSge;
	ULONG MaxReadRequestSge;
	ULONG MaxTransferLength;
	ULONG MaxInlineDataSize;
	ULONG MaxInboundReadLimit;
	ULONG MaxOutboundReadLimit;
	ULONG MaxReceiveQueueDepth;
	ULONG MaxInitiatorQueueDepth;
	ULONG MaxSrqDepth;
	ULONG MaxCqDepth;
	ULONG LargeRequestThreshold;
	ULONG MaxCallerData;
	ULONG MaxCalleeData;
	ULONG AdapterFlags;
	NDK_RDMA_TECHNOLOGY RdmaTechnology;
};
typedef struct _NDK_ADAPTER_INFO NDK_ADAPTER_INFO;

typedef PHYSICAL_ADDRESS NDK_LOGICAL_ADDRESS;

/**
 * struct _NDK_LOGICAL_ADDRESS_MAPPING - a buffer as the adapter addresses it
 * @AdapterContext: not for consumers
 * @AdapterPageCount: entries of @AdapterPageArray
 * @AdapterPageArray: address of each page, PAGE_SIZE long and aligned
 */
struct _NDK_LOGICAL_ADDRESS_MAPPING {
	PVOID AdapterContext;
	ULONG AdapterPageCount;
	NDK_LOGICAL_ADDRESS AdapterPageArray[];
};
typedef struct _NDK_LOGICAL_ADDRESS_MAPPING NDK_LOGICAL_ADDRESS_MAPPING;

/**
 * struct _NDK_SGE - one piece of a buffer
 * @VirtualAddress: address within a registered MR, or with NDK_OP_FLAG_INLINE of
 *	the data itself
 * @LogicalAddress: address out of a LAM, where @MemoryRegionToken is the
 *	privileged token
 * @Length: bytes
 * @MemoryRegionToken: local token of the MR, or the privileged token
 */
struct _NDK_SGE {
	union {
		PVOID VirtualAddress;
		NDK_LOGICAL_ADDRESS LogicalAddress;
	};
	ULONG Length;
	UINT32 MemoryRegionToken;
};
typedef struct _NDK_SGE NDK_SGE;

enum _NDK_OPERATION_TYPE {
	NdkOperationTypeReceive			= 1,
	NdkOperationTypeReceiveAndInvalidate	= 0x8001,
	NdkOperationTypeSend			= 2,
	NdkOperationTypeFastRegister		= 4,
	NdkOperationTypeBind			= 8,
	NdkOperationTypeInvalidate		= 16,
	NdkOperationTypeRead			= 32,
	NdkOperationTypeWrite			= 64,
};
typedef enum _NDK_OPERATION_TYPE NDK_OPERATION_TYPE;

/**
 * struct _NDK_RESULT - end of one request
 * @Status: how it ended; after an error the connection is lost
 * @BytesTransferred: bytes received; defined for receives only
 * @QPContext: context given with the QP
 * @RequestContext: context given with the request
 */
struct _NDK_RESULT {
	NTSTATUS Status;
	ULONG BytesTransferred;
	PVOID QPContext;
	PVOID RequestContext;
};
typedef struct _NDK_RESULT NDK_RESULT;

/**
 * struct _NDK_RESULT_EX - end of one request, with its type
 * @Status: how it ended; after an error the connection is lost
 * @BytesTransferred: bytes received; defined for receives only
 * @QPContext: context given with the QP
 * @RequestContext: context given with the request
 * @Type: what it was
 * @ProviderErrorCode: see &struct ndk_result_ex
 * @TypeSpecificCompletionOutput: token that the sender of a receive
 *	invalidated
 */
struct _NDK_RESULT_EX {
	NTSTATUS Status;
	ULONG BytesTransferred;
	PVOID QPContext;
	PVOID RequestContext;
	NDK_OPERATION_TYPE Type;
	ULONG ProviderErrorCode;
	ULONG_PTR TypeSpecificCompletionOutput;
};
typedef struct _NDK_RESULT_EX NDK_RESULT_EX;

/**
 * struct _NDK_EXTENSION_INTERFACE - an extension of an object
 * @Dispatch: its functions
 */
struct _NDK_EXTENSION_INTERFACE {
	const VOID *Dispatch;
};
typedef struct _NDK_EXTENSION_INTERFACE NDK_EXTENSION_INTERFACE;

/*
 * Layouts: those of NDKPI 2.1 on 64 bits, which <ndk/ndk.h> has as well, so that
 * what is passed need not be copied.
 */
#define NDKPI_SAME_SIZE(theirs, ours, size) \
	static_assert(sizeof(theirs) == (size) && sizeof(ours) == (size))
#define NDKPI_SAME_PLACE(theirs, field, ours, member)				\
	static_assert(offsetof(theirs, field) == offsetof(ours, member) &&	\
		      sizeof_field(theirs, field) == sizeof_field(ours, member))

NDKPI_SAME_SIZE(NDK_VERSION, struct ndk_version, 4);
NDKPI_SAME_SIZE(NDK_OBJECT_HEADER, struct ndk_object_header, 40);
NDKPI_SAME_SIZE(NDK_ADAPTER_INFO, struct ndk_adapter_info, 104);
NDKPI_SAME_SIZE(NDK_LOGICAL_ADDRESS_MAPPING, struct ndk_lam, 16);
NDKPI_SAME_SIZE(NDK_SGE, struct ndk_sge, 16);
NDKPI_SAME_SIZE(NDK_RESULT, struct ndk_result, 24);
NDKPI_SAME_SIZE(NDK_RESULT_EX, struct ndk_result_ex, 40);
NDKPI_SAME_SIZE(GUID, struct ndk_guid, 16);
NDKPI_SAME_SIZE(NDK_EXTENSION_INTERFACE, struct ndk_extension, 8);

NDKPI_SAME_PLACE(NDK_OBJECT_HEADER, Version, struct ndk_object_header, version);
NDKPI_SAME_PLACE(NDK_OBJECT_HEADER, ObjectType, struct ndk_object_header, type);
NDKPI_SAME_PLACE(NDK_OBJECT_HEADER, NdkReserved, struct ndk_object_header, reserved);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, Version, struct ndk_adapter_info, version);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, VendorId, struct ndk_adapter_info, vendor_id);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, DeviceId, struct ndk_adapter_info, device_id);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxRegistrationSize, struct ndk_adapter_info, max_registration_size);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxWindowSize, struct ndk_adapter_info, max_window_size);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, FRMRPageCount, struct ndk_adapter_info, frmr_page_count);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxInitiatorRequestSge, struct ndk_adapter_info, max_initiator_request_sge);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxReceiveRequestSge, struct ndk_adapter_info, max_receive_request_sge);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxReadRequestSge, struct ndk_adapter_info, max_read_request_sge);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxTransferLength, struct ndk_adapter_info, max_transfer_length);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxInlineDataSize, struct ndk_adapter_info, max_inline_data_size);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxInboundReadLimit, struct ndk_adapter_info, max_inbound_read_limit);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxOutboundReadLimit, struct ndk_adapter_info, max_outbound_read_limit);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxReceiveQueueDepth, struct ndk_adapter_info, max_receive_queue_depth);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxInitiatorQueueDepth, struct ndk_adapter_info, max_initiator_queue_depth);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxSrqDepth, struct ndk_adapter_info, max_srq_depth);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxCqDepth, struct ndk_adapter_info, max_cq_depth);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, LargeRequestThreshold, struct ndk_adapter_info, large_request_threshold);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxCallerData, struct ndk_adapter_info, max_caller_data);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, MaxCalleeData, struct ndk_adapter_info, max_callee_data);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, AdapterFlags, struct ndk_adapter_info, adapter_flags);
NDKPI_SAME_PLACE(NDK_ADAPTER_INFO, RdmaTechnology, struct ndk_adapter_info, rdma_technology);
NDKPI_SAME_PLACE(NDK_SGE, VirtualAddress, struct ndk_sge, virtual_address);
NDKPI_SAME_PLACE(NDK_SGE, LogicalAddress, struct ndk_sge, logical_address);
NDKPI_SAME_PLACE(NDK_SGE, Length, struct ndk_sge, length);
NDKPI_SAME_PLACE(NDK_SGE, MemoryRegionToken, struct ndk_sge, token);
NDKPI_SAME_PLACE(NDK_RESULT, Status, struct ndk_result, status);
NDKPI_SAME_PLACE(NDK_RESULT, BytesTransferred, struct ndk_result, bytes_transferred);
NDKPI_SAME_PLACE(NDK_RESULT, QPContext, struct ndk_result, qp_context);
NDKPI_SAME_PLACE(NDK_RESULT, RequestContext, struct ndk_result, request_context);
NDKPI_SAME_PLACE(NDK_RESULT_EX, Status, struct ndk_result_ex, status);
NDKPI_SAME_PLACE(NDK_RESULT_EX, BytesTransferred, struct ndk_result_ex, bytes_transferred);
NDKPI_SAME_PLACE(NDK_RESULT_EX, QPContext, struct ndk_result_ex, qp_context);
NDKPI_SAME_PLACE(NDK_RESULT_EX, RequestContext, struct ndk_result_ex, request_context);
NDKPI_SAME_PLACE(NDK_RESULT_EX, Type, struct ndk_result_ex, type);
NDKPI_SAME_PLACE(NDK_RESULT_EX, ProviderErrorCode, struct ndk_result_ex, provider_error_code);
NDKPI_SAME_PLACE(NDK_RESULT_EX, TypeSpecificCompletionOutput, struct ndk_result_ex, type_specific);
NDKPI_SAME_PLACE(NDK_LOGICAL_ADDRESS_MAPPING, AdapterContext, struct ndk_lam, adapter_context);
NDKPI_SAME_PLACE(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageCount, struct ndk_lam, page_count);
static_assert(offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) == offsetof(struct ndk_lam, pages));
static_assert(sizeof(NDK_LOGICAL_ADDRESS) == sizeof(u64));

#undef NDKPI_SAME_SIZE
#undef NDKPI_SAME_PLACE

#endif /* _NDK_NDKPI_TYPES_H */
