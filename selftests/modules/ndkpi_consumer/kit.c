// SPDX-License-Identifier: GPL-2.0
/* What every case uses: callbacks that are counted, and the two ends of a connection. */

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>

#include "consumer.h"

const NDK_VERSION version = { 2, 1 };

static unsigned long ticks(unsigned int seconds)
{
	return msecs_to_jiffies(1000 * seconds * scale);
}

/* --- calls and callbacks -------------------------------------------------- */

void answer_init(struct answer *a)
{
	memset(a, 0, sizeof(*a));
	init_completion(&a->done);
}

static void answered(struct answer *a, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
	if (!in_serving_softirq())
		FAIL("a callback outside of softirq");
	if (atomic_inc_return(&a->calls) > 1)
		FAIL("a callback came twice");
	a->status = status;
	a->object = object;
	if (a->then)
		a->then(a);
	complete(&a->done);
}

VOID on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
	if (NT_SUCCESS(status) != !!object)
		FAIL("status %#010x with object %p", status, object);
	answered(context, status, object);
}

VOID on_request(PVOID context, NTSTATUS status)
{
	if (status == STATUS_PENDING)
		FAIL("pending in a completion");
	answered(context, status, NULL);
}

VOID on_close(PVOID context)
{
	answered(context, STATUS_SUCCESS, NULL);
}

NTSTATUS wait_for(struct answer *a)
{
	/* What is on the stack must not go while a callback may come. */
	if (!wait_for_completion_timeout(&a->done, ticks(30))) {
		FAIL("a callback is missing");
		wait_for_completion(&a->done);
	}
	return a->status;
}

NTSTATUS settle(struct answer *a, NTSTATUS status)
{
	if (status == STATUS_PENDING)
		return wait_for(a);
	if (atomic_read(&a->calls))
		FAIL("a callback of a call that answered %#010x", status);
	return status;
}

NTSTATUS created(struct answer *a, NTSTATUS status, PVOID *object)
{
	bool pending = status == STATUS_PENDING;
	PVOID left = *object;

	status = settle(a, status);
	if (pending || !NT_SUCCESS(status)) {
		if (*object != POISON || left != POISON)
			FAIL("the result pointer of a call that did not succeed at once was written");
		*object = a->object;
	} else if (left == POISON) {
		FAIL("the result pointer was not written");
		*object = NULL;
	}
	return status;
}

/* --- one end -------------------------------------------------------------- */

VOID on_notification(PVOID context, NTSTATUS status)
{
	struct end *e = context;

	if (!in_serving_softirq())
		FAIL("a notification outside of softirq");
	if (atomic_inc_return(&e->running) > 1)
		FAIL("two notifications at a time");
	e->cq_status = status;
	complete(&e->notified);
	atomic_dec(&e->running);
}

VOID on_gone(PVOID context)
{
	answered(context, STATUS_CONNECTION_DISCONNECTED, NULL);
}

ULONG local_length(void)
{
	return local.si_family == AF_INET6 ? sizeof(SOCKADDR_IN6) : sizeof(SOCKADDR_IN);
}

bool end_open_qp(struct end *e)
{
	NTSTATUS rc;

	e->qp = CREATE(NDK_QP, rc, e->pd->Dispatch->NdkCreateQp, e->pd, e->cq, e->cq, e, DEPTH, DEPTH, SGES, SGES,
		       INLINE);
	return EXPECT_STATUS(rc, STATUS_SUCCESS);
}

bool end_open(struct end *e)
{
	ULONG size = sizeof(e->info);
	NTSTATUS rc;

	memset(e, 0, sizeof(*e));
	init_completion(&e->notified);
	answer_init(&e->gone);
	rc = WskOpenNdkAdapter(client, version, interface, &e->adapter);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS)) {
		e->adapter = NULL;
		return false;
	}
	rc = e->adapter->Dispatch->NdkQueryAdapterInfo(e->adapter, &e->info, &size);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		return false;
	e->pd = CREATE(NDK_PD, rc, e->adapter->Dispatch->NdkCreatePd, e->adapter);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		return false;
	e->cq = CREATE(NDK_CQ, rc, e->adapter->Dispatch->NdkCreateCq, e->adapter, 4 * DEPTH, on_notification, e, NULL);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS) || !end_open_qp(e))
		return false;
	e->memory = kzalloc(MEMORY, GFP_KERNEL);
	e->mdl = e->memory ? IoAllocateMdl(e->memory, MEMORY, FALSE, FALSE, NULL) : NULL;
	if (!EXPECT(e->mdl))
		return false;
	MmBuildMdlForNonPagedPool(e->mdl);
	e->mr = CREATE(NDK_MR, rc, e->pd->Dispatch->NdkCreateMr, e->pd, FALSE);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS)) {
		DECLARE_ANSWER(a);

		rc = settle(&a, e->mr->Dispatch->NdkRegisterMr(e->mr, e->mdl, MEMORY,
							       NDK_MR_FLAG_ALLOW_LOCAL_WRITE |
							       NDK_MR_FLAG_ALLOW_REMOTE_READ |
							       NDK_MR_FLAG_ALLOW_REMOTE_WRITE |
							       NDK_MR_FLAG_RDMA_READ_SINK, on_request, &a));
	}
	return EXPECT_STATUS(rc, STATUS_SUCCESS);
}

void end_close(struct end *e)
{
	if (!e->adapter)
		return;
	CLOSE(e->connector, NdkCloseConnector);
	CLOSE(e->qp, NdkCloseQp);
	CLOSE(e->mr, NdkCloseMr);
	CLOSE(e->cq, NdkCloseCq);
	CLOSE(e->pd, NdkClosePd);
	WskCloseNdkAdapter(client, e->adapter);
	if (e->mdl)
		IoFreeMdl(e->mdl);
	kfree(e->memory);
	e->adapter = NULL;
}

NDK_SGE piece(struct end *e, size_t offset, ULONG length)
{
	NDK_SGE sge = { .VirtualAddress = (PUCHAR)MmGetMdlVirtualAddress(e->mdl) + offset, .Length = length };

	sge.MemoryRegionToken = e->mr->Dispatch->NdkGetLocalTokenFromMr(e->mr);
	return sge;
}

bool take(struct end *e, NDK_RESULT_EX *result)
{
	while (!e->cq->Dispatch->NdkGetCqResultsEx(e->cq, result, 1)) {
		e->cq->Dispatch->NdkArmCq(e->cq, NDK_CQ_NOTIFY_ANY);
		if (!wait_for_completion_timeout(&e->notified, ticks(20))) {
			FAIL("no result");
			return false;
		}
		if (!EXPECT_STATUS(e->cq_status, STATUS_SUCCESS))
			return false;
	}
	return true;
}

bool take_status(struct end *e, PVOID context, ULONG type, NTSTATUS status)
{
	NDK_RESULT_EX result;

	return take(e, &result) && EXPECT_STATUS(result.Status, status) && EXPECT_EQ(result.Type, type) &&
	       EXPECT(result.RequestContext == context) && EXPECT(result.QPContext == e);
}

/* --- two ends ------------------------------------------------------------- */

VOID on_connect(PVOID context, NDK_CONNECTOR *connector)
{
	struct pair *p = context;
	NTSTATUS rc;

	if (connector->Header.ObjectType != NdkObjectTypeConnector)
		FAIL("not a connector");
	if (p->accept) {
		p->passive.connector = connector;
		rc = connector->Dispatch->NdkAccept(connector, p->passive.qp, 4, 4, "accept", 6, on_gone,
						    &p->passive.gone, on_request, &p->accepted);
		if (rc != STATUS_PENDING)
			FAIL("accept: %#010x", rc);
	}
	answered(&p->incoming, STATUS_SUCCESS, &connector->Header);
}

NTSTATUS pair_listen(struct pair *p)
{
	NDK_ADAPTER *adapter = p->passive.adapter;
	NTSTATUS rc;
	DECLARE_ANSWER(a);

	p->listener = CREATE(NDK_LISTENER, rc, adapter->Dispatch->NdkCreateListener, adapter, on_connect, p);
	if (!NT_SUCCESS(rc))
		return rc;
	rc = settle(&a, p->listener->Dispatch->NdkListen(p->listener, (PSOCKADDR)&local, local_length(), on_request, &a));
	if (!NT_SUCCESS(rc))
		return rc;
	p->address_length = sizeof(p->address);
	return p->listener->Dispatch->NdkGetLocalAddress(p->listener, (PSOCKADDR)&p->address, &p->address_length);
}

bool pair_open(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	answer_init(&p->accepted);
	answer_init(&p->incoming);
	p->accept = true;
	return end_open(&p->active) && end_open(&p->passive) && EXPECT_STATUS(pair_listen(p), STATUS_SUCCESS);
}

/* The connect alone, with a connector of its own if there is none. */
NTSTATUS connect_to(struct end *e, const SOCKADDR_STORAGE *address, ULONG length, struct answer *a)
{
	NTSTATUS rc = STATUS_SUCCESS;

	if (!e->connector)
		e->connector = CREATE(NDK_CONNECTOR, rc, e->adapter->Dispatch->NdkCreateConnector, e->adapter);
	if (!NT_SUCCESS(rc))
		return rc;
	return e->connector->Dispatch->NdkConnect(e->connector, e->qp, (PSOCKADDR)&local, local_length(),
						  (PSOCKADDR)address, length, 4, 4, "connect", 7, on_request, a);
}

bool pair_connect(struct pair *p)
{
	NDK_CONNECTOR *c;
	DECLARE_ANSWER(connected);
	DECLARE_ANSWER(completed);
	NTSTATUS rc;

	rc = settle(&connected, connect_to(&p->active, &p->address, p->address_length, &connected));
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		return false;
	c = p->active.connector;
	rc = settle(&completed, c->Dispatch->NdkCompleteConnect(c, on_gone, &p->active.gone, on_request, &completed));
	return EXPECT_STATUS(rc, STATUS_SUCCESS) && EXPECT_STATUS(wait_for(&p->accepted), STATUS_SUCCESS);
}

void pair_close(struct pair *p)
{
	NDK_LISTENER *listener = p->listener;
	DECLARE_ANSWER(closed);
	NTSTATUS rc = STATUS_SUCCESS;

	/* The close of the listener ends when its connectors are closed. */
	if (listener)
		rc = listener->Dispatch->NdkCloseListener(&listener->Header, on_close, &closed);
	end_close(&p->active);
	if (p->passive.connector)
		CLOSE(p->passive.connector, NdkCloseConnector);
	if (listener)
		settle(&closed, rc);
	end_close(&p->passive);
}
