// SPDX-License-Identifier: GPL-2.0
/* Numbers, layouts, adapters, objects: what a consumer sees before there is a connection. */

#include <linux/slab.h>

#include "consumer.h"

/* --- numbers, once more and from NDKPI itself ------------------------------ */

static_assert(sizeof(NDK_OBJECT_HEADER) == 40 && offsetof(NDK_OBJECT_HEADER, ObjectType) == 4 &&
	      offsetof(NDK_OBJECT_HEADER, NdkReserved) == 8 && sizeof(NDK_OBJECT_HEADER_RESERVED_BLOCK) == 32);
static_assert(sizeof(NDK_ADAPTER) == 48 && offsetof(NDK_ADAPTER, Dispatch) == 40);
static_assert(sizeof(NDK_ADAPTER_INFO) == 104 && offsetof(NDK_ADAPTER_INFO, MaxRegistrationSize) == 16 &&
	      offsetof(NDK_ADAPTER_INFO, FRMRPageCount) == 32 && offsetof(NDK_ADAPTER_INFO, AdapterFlags) == 92 &&
	      offsetof(NDK_ADAPTER_INFO, RdmaTechnology) == 96);
static_assert(sizeof(NDK_SGE) == 16 && offsetof(NDK_SGE, Length) == 8 && offsetof(NDK_SGE, MemoryRegionToken) == 12);
static_assert(offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageCount) == 8 &&
	      offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) == 16);
static_assert(sizeof(NDK_RESULT) == 24 && offsetof(NDK_RESULT, QPContext) == 8);
static_assert(sizeof(NDK_RESULT_EX) == 40 && offsetof(NDK_RESULT_EX, Type) == 24 &&
	      offsetof(NDK_RESULT_EX, ProviderErrorCode) == 28 &&
	      offsetof(NDK_RESULT_EX, TypeSpecificCompletionOutput) == 32);
#define IS(name, value)	static_assert((name) == (value))
IS(NDK_OP_FLAG_SILENT_SUCCESS, 0x1);
IS(NDK_OP_FLAG_READ_FENCE, 0x2);
IS(NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, 0x4);
IS(NDK_OP_FLAG_ALLOW_REMOTE_READ, 0x8);
IS(NDK_OP_FLAG_ALLOW_LOCAL_WRITE, 0x10);
IS(NDK_OP_FLAG_ALLOW_REMOTE_WRITE, 0x30);
IS(NDK_OP_FLAG_INLINE, 0x40);
IS(NDK_OP_FLAG_RDMA_READ_SINK, 0x80);
IS(NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE, 0x100);
IS(NDK_OP_FLAG_DEFER, 0x200);
IS(NDK_MR_FLAG_ALLOW_LOCAL_READ, 0);
IS(NDK_MR_FLAG_ALLOW_LOCAL_WRITE, 1);
IS(NDK_MR_FLAG_ALLOW_REMOTE_READ, 2);
IS(NDK_MR_FLAG_ALLOW_REMOTE_WRITE, 5);
IS(NDK_MR_FLAG_RDMA_READ_SINK, 8);
IS(NDK_CQ_NOTIFY_ERRORS, 0);
IS(NDK_CQ_NOTIFY_ANY, 1);
IS(NDK_CQ_NOTIFY_SOLICITED, 2);
IS(NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED, NDK_ADAPTER_FLAG_IN_ORDER_DMA);
IS(NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED, 2);
IS(NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED, NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION);
IS(NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED, NDK_ADAPTER_FLAG_MULTI_ENGINE);
IS(NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED, NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE);
IS(NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED, NDK_ADAPTER_FLAG_CQ_RESIZE);
IS(NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED, NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS);
IS(NdkOperationTypeReceiveAndInvalidate, 32769);
IS(NdkOperationTypeWrite, 64);
IS(NdkObjectTypeSrq, 10);
IS(NdkObjectTypeMax, 11);
IS(NdkRoCEv2, 4);

static const struct {
	int error;
	ULONG number;
	NTSTATUS status;
} statuses[] = {
	{ 0, 0, STATUS_SUCCESS },
	{ -EINPROGRESS, 0x103, STATUS_PENDING },
	{ -EOVERFLOW, 0x80000005, STATUS_BUFFER_OVERFLOW },
	{ -EBUSY, 0x80000011, STATUS_DEVICE_BUSY },
	{ -ENOBUFS, 0x8000001a, STATUS_NO_MORE_ENTRIES },
	{ -EACCES, 0xc0000005, STATUS_ACCESS_VIOLATION },
	{ -EINVAL, 0xc000000d, STATUS_INVALID_PARAMETER },
	{ -EBADRQC, 0xc0000010, STATUS_INVALID_DEVICE_REQUEST },
	{ -ENOSPC, 0xc0000023, STATUS_BUFFER_TOO_SMALL },
	{ -EDOM, 0xc0000030, STATUS_INVALID_PARAMETER_MIX },
	{ -EMSGSIZE, 0xc000003c, STATUS_DATA_OVERRUN },
	{ -EADDRINUSE, 0xc0000043, STATUS_SHARING_VIOLATION },
	{ -ENOMEM, 0xc000009a, STATUS_INSUFFICIENT_RESOURCES },
	{ -ETIMEDOUT, 0xc00000b5, STATUS_IO_TIMEOUT },
	{ -EOPNOTSUPP, 0xc00000bb, STATUS_NOT_SUPPORTED },
	{ -EIO, 0xc00000e5, STATUS_INTERNAL_ERROR },
	{ -ECANCELED, 0xc0000120, STATUS_CANCELLED },
	{ -EREMOTEIO, 0xc000013d, STATUS_REMOTE_RESOURCES },
	{ -EADDRNOTAVAIL, 0xc0000141, STATUS_INVALID_ADDRESS },
	{ -EBADFD, 0xc0000184, STATUS_INVALID_DEVICE_STATE },
	{ -E2BIG, 0xc0000206, STATUS_INVALID_BUFFER_SIZE },
	{ -EUSERS, 0xc0000209, STATUS_TOO_MANY_ADDRESSES },
	{ -EEXIST, 0xc000020a, STATUS_ADDRESS_ALREADY_EXISTS },
	{ -ESHUTDOWN, 0xc000020c, STATUS_CONNECTION_DISCONNECTED },
	{ -ECONNREFUSED, 0xc0000236, STATUS_CONNECTION_REFUSED },
	{ -ENOTCONN, 0xc000023a, STATUS_CONNECTION_INVALID },
	{ -EISCONN, 0xc000023b, STATUS_CONNECTION_ACTIVE },
	{ -ENETUNREACH, 0xc000023c, STATUS_NETWORK_UNREACHABLE },
	{ -EHOSTUNREACH, 0xc000023d, STATUS_HOST_UNREACHABLE },
	{ -ECONNABORTED, 0xc0000241, STATUS_CONNECTION_ABORTED },
	{ -ENODEV, 0xc00002b6, STATUS_DEVICE_REMOVED },
	{ -ERANGE, 0xc000042b, STATUS_IMPLEMENTATION_LIMIT },
	{ -EPROTONOSUPPORT, 0xc0010004, NDIS_STATUS_BAD_VERSION },
	{ -ENETDOWN, 0xc0010011, NDIS_STATUS_ADAPTER_NOT_READY },
};

/* Proves: 6.11-statuses */
void case_layout(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		EXPECT_EQ((ULONG)statuses[i].status, statuses[i].number);
		EXPECT_STATUS(ndkpi_status(statuses[i].error), statuses[i].status);
		EXPECT_EQ(ndkpi_errno(statuses[i].status), statuses[i].error);
	}
	/* What has no counterpart. */
	EXPECT_STATUS(ndkpi_status(-EILSEQ), STATUS_INTERNAL_ERROR);
	EXPECT_STATUS(ndkpi_status(-MAX_ERRNO), STATUS_INTERNAL_ERROR);
	EXPECT_STATUS(ndkpi_status(INT_MIN), STATUS_INTERNAL_ERROR);
	EXPECT_STATUS(ndkpi_status(1), STATUS_INTERNAL_ERROR);
	EXPECT_EQ(ndkpi_errno((NTSTATUS)0xc0000001), -EIO);
	EXPECT(NT_SUCCESS(STATUS_SUCCESS) && NT_SUCCESS(STATUS_PENDING));
	EXPECT(!NT_SUCCESS(STATUS_BUFFER_OVERFLOW) && NT_WARNING(STATUS_BUFFER_OVERFLOW));
	EXPECT(!NT_SUCCESS(STATUS_CANCELLED) && NT_ERROR(STATUS_CANCELLED));
}

/* --- adapters -------------------------------------------------------------- */

/*
 * Proves: QUERY_ADAPTER_INFO.ok, QUERY_ADAPTER_INFO.bad-argument, QUERY_EXTENSION_INTERFACE.ok, 2.6-extension, 6.1-prefix,
 * 9.1-major, 9.1-too-new, 9.1-floor, 9.1-everywhere
 */
void case_adapter(void)
{
	const NDK_VERSION high = { 2, 2 }, other = { 3, 0 }, low = { 1, 1 };
	NDK_EXTENSION_INTERFACE extension;
	const GUID id = { 1, 2, 3, { 4 } };
	NDK_ADAPTER *adapter = POISON, *second;
	NDK_ADAPTER_INFO info;
	ULONG size;

	EXPECT_STATUS(WskOpenNdkAdapter(client, high, interface, &adapter), NDIS_STATUS_BAD_VERSION);
	EXPECT_STATUS(WskOpenNdkAdapter(client, other, interface, &adapter), NDIS_STATUS_BAD_VERSION);
	EXPECT_STATUS(WskOpenNdkAdapter(client, version, 0x7fffffff, &adapter), STATUS_DEVICE_REMOVED);
	EXPECT_STATUS(WskOpenNdkAdapter(client, version, 0, &adapter), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(WskOpenNdkAdapter(client, version, interface, NULL), STATUS_INVALID_PARAMETER);
	EXPECT(adapter == POISON);
	/* An index means an interface of this namespace only. */
	EXPECT_STATUS(WskOpenNdkAdapter(NULL, version, interface, &adapter), STATUS_DEVICE_REMOVED);

	/* Who asks for the lowest minor gets the highest. */
	if (!EXPECT_STATUS(WskOpenNdkAdapter(client, low, interface, &second), STATUS_SUCCESS))
		return;
	EXPECT(second->Header.Version.Major == 1 && second->Header.Version.Minor == 2);
	WskCloseNdkAdapter(client, second);
	if (!EXPECT_STATUS(WskOpenNdkAdapter(client, (NDK_VERSION) { 2, 0 }, interface, &adapter), STATUS_SUCCESS))
		return;
	EXPECT(adapter->Header.Version.Major == 2 && adapter->Header.Version.Minor == 1);
	EXPECT(adapter->Header.ObjectType == NdkObjectTypeAdapter);

	size = 0;
	EXPECT_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, NULL, &size), STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(size, 104);
	size = 95;
	EXPECT_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(size, 104);
	EXPECT_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, NULL), STATUS_INVALID_PARAMETER);
	/* The structure of the 1.x interface. */
	size = 96;
	RtlZeroMemory(&info, sizeof(info));
	EXPECT_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
	EXPECT(size == 96 && info.MaxCqDepth && !info.RdmaTechnology);
	size = sizeof(info);
	EXPECT_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
	EXPECT(size == 104 && info.Version.Major == 2 && info.Version.Minor == 1);
	EXPECT_EQ(info.RdmaTechnology, NdkRoCEv2);
	EXPECT(info.FRMRPageCount >= 16 && info.MaxReadRequestSge <= info.MaxInitiatorRequestSge);
	EXPECT(info.AdapterFlags & NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED);
	EXPECT_STATUS(adapter->Dispatch->NdkQueryExtension(&adapter->Header, &id, version, &extension),
		      STATUS_NOT_SUPPORTED);
	WskCloseNdkAdapter(client, adapter);
}

/* --- objects --------------------------------------------------------------- */

static bool is_object(NDK_OBJECT_HEADER *h, NDK_OBJECT_TYPE type, size_t slots)
{
	/* Every object is a header and a table, and every table has the extension but the adapter's second. */
	const NDK_PD *object = CONTAINING_RECORD(h, NDK_PD, Header);
	const PVOID *table = (const PVOID *)object->Dispatch;
	NDK_EXTENSION_INTERFACE extension;
	const GUID id = { 1 };
	size_t i;

	if (!EXPECT_EQ(h->ObjectType, type) || !EXPECT(h->Version.Major == 2 && h->Version.Minor == 1))
		return false;
	for (i = 0; i < slots; i++)
		EXPECT(table[i]);
	return EXPECT_STATUS(object->Dispatch->NdkQueryExtension(h, &id, version, &extension), STATUS_NOT_SUPPORTED);
}

#define SLOTS(type)	(sizeof(NDK_##type##_DISPATCH) / sizeof(PVOID))

/*
 * Proves: CREATE_CQ.ok, CREATE_PD.ok, CREATE_QP.ok, CREATE_MR.ok, CREATE_CONNECTOR.ok, CREATE_LISTENER.ok, CLOSE_OBJECT.ok,
 * CREATE_CQ.bad-argument, CREATE_QP.bad-argument, CREATE_LISTENER.bad-argument, CREATE_SHARED_ENDPOINT.ok,
 * CREATE_SRQ.ok, CREATE_SRQ.bad-argument, 2.1-dispatch, 2.1-type, 2.1-version,
 * 2.3-pending, 2.3-out-pointer, 2.3-inline, 2.3-failed, 6.9-slots, 8.2-affinity
 */
void case_objects(void)
{
	GROUP_AFFINITY affinity = { .Mask = 1, .Group = 0 };
	NDK_ADAPTER *adapter;
	NDK_SHARED_ENDPOINT *endpoint;
	NDK_CONNECTOR *connector;
	NDK_LISTENER *listener;
	struct end end;
	NDK_SRQ *srq;
	NTSTATUS rc;
	NDK_CQ *cq;
	NDK_QP *qp;
	NDK_MR *mr;

	if (!end_open(&end))
		goto out;
	adapter = end.adapter;
	is_object(&end.pd->Header, NdkObjectTypePd, SLOTS(PD));
	is_object(&end.cq->Header, NdkObjectTypeCq, SLOTS(CQ));
	is_object(&end.qp->Header, NdkObjectTypeQp, SLOTS(QP));
	is_object(&end.mr->Header, NdkObjectTypeMr, SLOTS(MR));

	cq = CREATE(NDK_CQ, rc, adapter->Dispatch->NdkCreateCq, adapter, 8, on_notification, &end, &affinity);
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	CLOSE(cq, NdkCloseCq);
	/* A preference for a processor that is not there is none. */
	affinity.Group = 65535;
	cq = CREATE(NDK_CQ, rc, adapter->Dispatch->NdkCreateCq, adapter, 8, on_notification, &end, &affinity);
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	CLOSE(cq, NdkCloseCq);
	cq = CREATE(NDK_CQ, rc, adapter->Dispatch->NdkCreateCq, adapter, end.info.MaxCqDepth + 1, on_notification, &end,
		    NULL);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	cq = CREATE(NDK_CQ, rc, adapter->Dispatch->NdkCreateCq, adapter, 8, NULL, NULL, NULL);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	qp = CREATE(NDK_QP, rc, end.pd->Dispatch->NdkCreateQp, end.pd, end.cq, end.cq, NULL,
		    end.info.MaxReceiveQueueDepth + 1, 1, 1, 1, 0);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	listener = CREATE(NDK_LISTENER, rc, adapter->Dispatch->NdkCreateListener, adapter, NULL, NULL);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);

	mr = CREATE(NDK_MR, rc, end.pd->Dispatch->NdkCreateMr, end.pd, TRUE);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS))
		is_object(&mr->Header, NdkObjectTypeMr, SLOTS(MR));
	CLOSE(mr, NdkCloseMr);
	connector = CREATE(NDK_CONNECTOR, rc, adapter->Dispatch->NdkCreateConnector, adapter);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS))
		is_object(&connector->Header, NdkObjectTypeConnector, SLOTS(CONNECTOR));
	CLOSE(connector, NdkCloseConnector);
	listener = CREATE(NDK_LISTENER, rc, adapter->Dispatch->NdkCreateListener, adapter, on_connect, NULL);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS))
		is_object(&listener->Header, NdkObjectTypeListener, SLOTS(LISTENER));
	CLOSE(listener, NdkCloseListener);
	endpoint = CREATE(NDK_SHARED_ENDPOINT, rc, adapter->Dispatch->NdkCreateSharedEndpoint, adapter, (PSOCKADDR)&local,
			  local_length());
	if (EXPECT_STATUS(rc, STATUS_SUCCESS))
		is_object(&endpoint->Header, NdkObjectTypeSharedEndpoint, SLOTS(SHARED_ENDPOINT));
	CLOSE(endpoint, NdkCloseSharedEndpoint);
	srq = CREATE(NDK_SRQ, rc, end.pd->Dispatch->NdkCreateSrq, end.pd, 8, 1, 0, NULL, NULL, NULL);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS))
		is_object(&srq->Header, NdkObjectTypeSrq, SLOTS(SRQ));
	CLOSE(srq, NdkCloseSrq);
	srq = CREATE(NDK_SRQ, rc, end.pd->Dispatch->NdkCreateSrq, end.pd, end.info.MaxSrqDepth + 1, 1, 0, NULL, NULL, NULL);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	EXPECT(!qp && !cq && !srq);
	/* The end of a close need not be told: the adapter waits for it. */
	mr = CREATE(NDK_MR, rc, end.pd->Dispatch->NdkCreateMr, end.pd, FALSE);
	connector = CREATE(NDK_CONNECTOR, rc, adapter->Dispatch->NdkCreateConnector, adapter);
	if (EXPECT(mr && connector)) {
		mr->Dispatch->NdkCloseMr(&mr->Header, NULL, NULL);
		connector->Dispatch->NdkCloseConnector(&connector->Header, NULL, NULL);
	}
out:
	end_close(&end);
}
