// SPDX-License-Identifier: GPL-2.0
/* What moves data, and what is told of it. */

#include <linux/slab.h>

#include "consumer.h"

#define CONTEXT(n)	((PVOID)(uintptr_t)(n))

static NTSTATUS post_send(struct end *e, ULONG n, NDK_SGE *sge, ULONG flags)
{
	return e->qp->Dispatch->NdkSend(e->qp, CONTEXT(n), sge, 1, flags);
}

static NTSTATUS post_receive(struct end *e, ULONG n, size_t offset, ULONG length)
{
	NDK_SGE sge = piece(e, offset, length);

	return e->qp->Dispatch->NdkReceive(e->qp, CONTEXT(n), &sge, 1);
}

static UINT64 address_of(struct end *e, size_t offset)
{
	return (uintptr_t)MmGetMdlVirtualAddress(e->mdl) + offset;
}

/*
 * Proves: SEND.ok, SEND.wrong-state, SEND.bad-argument, RECEIVE.ok, RECEIVE.bad-argument, READ.ok, WRITE.ok,
 * GET_CQ_RESULTS.ok, GET_CQ_RESULTS_EX.ok, ARM_CQ.ok, CQ_NOTIFICATION_CALLBACK.ok, GET_LOCAL_TOKEN_FROM_MR.ok,
 * GET_REMOTE_TOKEN_FROM_MR.ok, 6.2-inline, 12-full-queue
 */
void case_transfer(void)
{
	struct pair *p = kzalloc_obj(*p);
	struct end *a = &p->active, *b = &p->passive;
	NDK_SGE sge, many[SGES + 1], data;
	NDK_RESULT result;
	UINT32 token;
	ULONG i;

	if (!pair_open(p))
		goto out;
	sge = piece(a, 0, 100);
	EXPECT_STATUS(post_send(a, 1, &sge, 0), STATUS_CONNECTION_INVALID);
	EXPECT_STATUS(post_receive(b, 2, PAGE_SIZE, 100), STATUS_SUCCESS);
	if (!pair_connect(p))
		goto out;

	/* By the plain results, and by a notification. */
	memset(a->memory, 0x11, 100);
	reinit_completion(&b->notified);
	b->cq->Dispatch->NdkArmCq(b->cq, NDK_CQ_NOTIFY_SOLICITED);
	EXPECT_STATUS(post_send(a, 3, &sge, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT), STATUS_SUCCESS);
	wait_for_completion(&b->notified);
	EXPECT_STATUS(b->cq_status, STATUS_SUCCESS);
	EXPECT_EQ(b->cq->Dispatch->NdkGetCqResults(b->cq, &result, 1), 1);
	EXPECT_STATUS(result.Status, STATUS_SUCCESS);
	EXPECT(result.BytesTransferred == 100 && result.QPContext == b && result.RequestContext == CONTEXT(2));
	EXPECT(!memcmp(b->memory + PAGE_SIZE, a->memory, 100));
	take_status(a, CONTEXT(3), NdkOperationTypeSend, STATUS_SUCCESS);
	EXPECT_EQ(a->cq->Dispatch->NdkGetCqResults(a->cq, &result, 1), 0);

	/* Inline: the data is read by the call, and its token does not matter. */
	EXPECT_STATUS(post_receive(b, 4, PAGE_SIZE, 100), STATUS_SUCCESS);
	data = (NDK_SGE) { .VirtualAddress = "inline data", .Length = 11 };
	EXPECT_STATUS(post_send(a, 5, &data, NDK_OP_FLAG_INLINE | NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
	take_status(b, CONTEXT(4), NdkOperationTypeReceive, STATUS_SUCCESS);
	EXPECT(!memcmp(b->memory + PAGE_SIZE, "inline data", 11));

	/* Chained requests: a write, then a read of what was written behind a fence. */
	token = b->mr->Dispatch->NdkGetRemoteTokenFromMr(b->mr);
	memset(a->memory, 0x22, 64);
	sge = piece(a, 0, 64);
	EXPECT_STATUS(a->qp->Dispatch->NdkWrite(a->qp, CONTEXT(6), &sge, 1, address_of(b, 8), token, NDK_OP_FLAG_DEFER),
		      STATUS_SUCCESS);
	sge = piece(a, PAGE_SIZE, 64);
	EXPECT_STATUS(a->qp->Dispatch->NdkRead(a->qp, CONTEXT(7), &sge, 1, address_of(b, 8), token,
					       NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
	take_status(a, CONTEXT(6), NdkOperationTypeWrite, STATUS_SUCCESS);
	take_status(a, CONTEXT(7), NdkOperationTypeRead, STATUS_SUCCESS);
	EXPECT(!memcmp(b->memory + 8, a->memory, 64) && !memcmp(a->memory + PAGE_SIZE, a->memory, 64));

	/* Refused at once, with no result. */
	for (i = 0; i <= SGES; i++)
		many[i] = piece(a, i, 1);
	EXPECT_STATUS(a->qp->Dispatch->NdkSend(a->qp, CONTEXT(8), many, SGES + 1, 0), STATUS_DATA_OVERRUN);
	EXPECT_STATUS(a->qp->Dispatch->NdkReceive(a->qp, CONTEXT(8), many, SGES + 1), STATUS_DATA_OVERRUN);
	EXPECT_STATUS(post_send(a, 8, &sge, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_INVALID_PARAMETER);
	for (i = 0; i < DEPTH; i++)
		EXPECT_STATUS(post_receive(a, 9, 0, 8), STATUS_SUCCESS);
	EXPECT_STATUS(post_receive(a, 9, 0, 8), STATUS_NO_MORE_ENTRIES);
	EXPECT_EQ(a->cq->Dispatch->NdkGetCqResults(a->cq, &result, 1), 0);

	/* A token that is none: the request fails, and with it the connection. */
	EXPECT_STATUS(a->qp->Dispatch->NdkRead(a->qp, CONTEXT(10), &sge, 1, address_of(b, 8), token ^ 0xff00, 0),
		      STATUS_SUCCESS);
	if (take_status(a, CONTEXT(10), NdkOperationTypeRead, STATUS_REMOTE_RESOURCES)) {
		for (i = 0; i < DEPTH; i++)
			take_status(a, CONTEXT(9), NdkOperationTypeReceive, STATUS_CANCELLED);
	}
out:
	pair_close(p);
	kfree(p);
}

/* --- fast registration ------------------------------------------------------ */

/*
 * Proves: FAST_REGISTER.ok, FAST_REGISTER.wrong-state, FAST_REGISTER.bad-argument, INVALIDATE.ok, INVALIDATE.wrong-state,
 * SEND_AND_INVALIDATE.ok, GET_PRIVILEGED_MEMORY_REGION_TOKEN.ok, 6.2-privileged, 6.5-types, 6.5-receive-bit,
 * 7.7-tokens-early
 */
void case_invalidate(void)
{
	struct pair *p = kzalloc_obj(*p);
	struct end *a = &p->active, *b = &p->passive;
	NDK_LOGICAL_ADDRESS_MAPPING *lam = NULL;
	ULONG size = 256, fbo, fast_flags = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
	UINT32 privileged, token = 0;
	NDK_RESULT_EX result;
	NDK_MR *mr = NULL;
	NDK_SGE sge;
	DECLARE_ANSWER(made);
	NTSTATUS rc;

	if (!pair_open(p))
		goto out;
	lam = kzalloc(size, GFP_KERNEL);
	rc = b->adapter->Dispatch->NdkBuildLAM(b->adapter, b->mdl, MEMORY, NULL, NULL, lam, &size, &fbo);
	mr = CREATE(NDK_MR, rc, b->pd->Dispatch->NdkCreateMr, b->pd, TRUE);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		goto out;
	rc = settle(&made, mr->Dispatch->NdkInitializeFastRegisterMr(mr, 4, TRUE, on_request, &made));
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	rc = b->qp->Dispatch->NdkFastRegister(b->qp, CONTEXT(1), mr, 2, lam->AdapterPageArray, fbo, MEMORY,
					      MmGetMdlVirtualAddress(b->mdl), fast_flags);
	EXPECT_STATUS(rc, STATUS_CONNECTION_INVALID);
	if (!pair_connect(p))
		goto out;
	EXPECT_STATUS(b->qp->Dispatch->NdkInvalidate(b->qp, CONTEXT(1), &mr->Header, 0), STATUS_INVALID_DEVICE_REQUEST);
	rc = b->qp->Dispatch->NdkFastRegister(b->qp, CONTEXT(1), mr, 2, lam->AdapterPageArray, PAGE_SIZE, MEMORY,
					      MmGetMdlVirtualAddress(b->mdl), fast_flags);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	rc = b->qp->Dispatch->NdkFastRegister(b->qp, CONTEXT(2), mr, 2, lam->AdapterPageArray, fbo, MEMORY,
					      MmGetMdlVirtualAddress(b->mdl), fast_flags | NDK_OP_FLAG_DEFER);
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	/* NDKPI: the token is there when the call returns. */
	token = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);

	/* A message by logical addresses and the privileged token. */
	b->pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(b->pd, &privileged);
	memset(b->memory, 0x33, 32);
	sge = (NDK_SGE) { .LogicalAddress = lam->AdapterPageArray[0], .Length = 32, .MemoryRegionToken = privileged };
	sge.LogicalAddress.QuadPart += fbo;
	memset(a->memory, 0, 32);
	sge.Length = 32;
	{
		NDK_SGE to = piece(a, 0, 32);

		EXPECT_STATUS(a->qp->Dispatch->NdkReceive(a->qp, CONTEXT(3), &to, 1), STATUS_SUCCESS);
	}
	EXPECT_STATUS(post_send(b, 4, &sge, 0), STATUS_SUCCESS);
	take_status(b, CONTEXT(2), NdkOperationTypeFastRegister, STATUS_SUCCESS);
	take_status(b, CONTEXT(4), NdkOperationTypeSend, STATUS_SUCCESS);
	take_status(a, CONTEXT(3), NdkOperationTypeReceive, STATUS_SUCCESS);
	EXPECT(!memcmp(a->memory, b->memory, 32));

	/* The peer writes by the token, and has it invalidated. */
	EXPECT_STATUS(post_receive(b, 5, PAGE_SIZE, 32), STATUS_SUCCESS);
	memset(a->memory, 0x44, 32);
	sge = piece(a, 0, 32);
	EXPECT_STATUS(a->qp->Dispatch->NdkWrite(a->qp, CONTEXT(6), &sge, 1, address_of(b, 64), token, 0), STATUS_SUCCESS);
	EXPECT_STATUS(a->qp->Dispatch->NdkSendAndInvalidate(a->qp, CONTEXT(7), &sge, 1, 0, token), STATUS_SUCCESS);
	take_status(a, CONTEXT(6), NdkOperationTypeWrite, STATUS_SUCCESS);
	/* NDKPI: at the sender it is a send. */
	take_status(a, CONTEXT(7), NdkOperationTypeSend, STATUS_SUCCESS);
	if (take(b, &result)) {
		EXPECT_STATUS(result.Status, STATUS_SUCCESS);
		EXPECT_EQ(result.Type, NdkOperationTypeReceiveAndInvalidate);
		EXPECT(result.Type & NdkOperationTypeReceive);
		EXPECT_EQ(result.TypeSpecificCompletionOutput, token);
		EXPECT_EQ(result.ProviderErrorCode, 0);
	}
	EXPECT(!memcmp(b->memory + 64, a->memory, 32));

	/* Once more, and ended by its owner. */
	rc = b->qp->Dispatch->NdkFastRegister(b->qp, CONTEXT(8), mr, 2, lam->AdapterPageArray, fbo, MEMORY,
					      MmGetMdlVirtualAddress(b->mdl), fast_flags | NDK_OP_FLAG_SILENT_SUCCESS);
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	EXPECT(mr->Dispatch->NdkGetRemoteTokenFromMr(mr) != token);
	EXPECT_STATUS(b->qp->Dispatch->NdkInvalidate(b->qp, CONTEXT(9), &mr->Header, 0), STATUS_SUCCESS);
	take_status(b, CONTEXT(9), NdkOperationTypeInvalidate, STATUS_SUCCESS);
out:
	if (mr)
		CLOSE(mr, NdkCloseMr);
	if (lam && lam->AdapterContext)
		b->adapter->Dispatch->NdkReleaseLAM(b->adapter, lam);
	kfree(lam);
	pair_close(p);
	kfree(p);
}

/* Proves: FLUSH.ok */
void case_flush(void)
{
	struct pair *p = kzalloc_obj(*p);
	struct end *b = &p->passive;
	NDK_RESULT results[2];
	ULONG i, n = 0;

	if (!pair_open(p))
		goto out;
	for (i = 0; i < 3; i++)
		EXPECT_STATUS(post_receive(b, 1 + i, 0, 8), STATUS_SUCCESS);
	if (!pair_connect(p))
		goto out;
	b->qp->Dispatch->NdkFlush(b->qp);
	/* By the plain results, two at a time: each of them has its status turned. */
	while (n < 3) {
		ULONG got = b->cq->Dispatch->NdkGetCqResults(b->cq, results, 2);

		for (i = 0; i < got; i++) {
			EXPECT_STATUS(results[i].Status, STATUS_CANCELLED);
			EXPECT(results[i].RequestContext == CONTEXT(++n));
		}
		if (!got) {
			b->cq->Dispatch->NdkArmCq(b->cq, NDK_CQ_NOTIFY_ANY);
			wait_for_completion(&b->notified);
		}
	}
	EXPECT_STATUS(post_receive(b, 9, 0, 8), STATUS_SUCCESS);
	take_status(b, CONTEXT(9), NdkOperationTypeReceive, STATUS_CANCELLED);
out:
	pair_close(p);
	kfree(p);
}

/* --- windows, SRQs, CQs ----------------------------------------------------- */

/* Proves: CREATE_MW.ok, BIND.ok, BIND.wrong-state, BIND.bad-argument, GET_REMOTE_TOKEN_FROM_MW.ok, 7.7-tokens-early */
void case_window(void)
{
	struct pair *p = kzalloc_obj(*p);
	struct end *a = &p->active, *b = &p->passive;
	PUCHAR base;
	NDK_MW *mw = NULL;
	UINT32 token;
	NTSTATUS rc;
	NDK_SGE sge;

	if (!pair_open(p))
		goto out;
	mw = CREATE(NDK_MW, rc, b->pd->Dispatch->NdkCreateMw, b->pd);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS) || !EXPECT_EQ(mw->Header.ObjectType, NdkObjectTypeMw))
		goto out;
	base = MmGetMdlVirtualAddress(b->mdl);
	EXPECT_STATUS(b->qp->Dispatch->NdkBind(b->qp, CONTEXT(1), b->mr, mw, base + 64, 128,
					       NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_CONNECTION_INVALID);
	if (!pair_connect(p))
		goto out;
	EXPECT_STATUS(b->qp->Dispatch->NdkBind(b->qp, CONTEXT(1), b->mr, mw, base + 64, MEMORY,
					       NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(b->qp->Dispatch->NdkBind(b->qp, CONTEXT(1), b->mr, mw, base + 64, 128,
					       NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_SUCCESS);
	token = mw->Dispatch->NdkGetRemoteTokenFromMw(mw);
	take_status(b, CONTEXT(1), NdkOperationTypeBind, STATUS_SUCCESS);
	memset(a->memory, 0x55, 128);
	sge = piece(a, 0, 128);
	EXPECT_STATUS(a->qp->Dispatch->NdkWrite(a->qp, CONTEXT(2), &sge, 1, address_of(b, 64), token, 0), STATUS_SUCCESS);
	take_status(a, CONTEXT(2), NdkOperationTypeWrite, STATUS_SUCCESS);
	EXPECT(!memcmp(b->memory + 64, a->memory, 128));
	EXPECT_STATUS(b->qp->Dispatch->NdkInvalidate(b->qp, CONTEXT(3), &mw->Header, 0), STATUS_SUCCESS);
	take_status(b, CONTEXT(3), NdkOperationTypeInvalidate, STATUS_SUCCESS);
	/* What was bound is bound no longer. */
	EXPECT_STATUS(a->qp->Dispatch->NdkWrite(a->qp, CONTEXT(4), &sge, 1, address_of(b, 64), token, 0), STATUS_SUCCESS);
	take_status(a, CONTEXT(4), NdkOperationTypeWrite, STATUS_REMOTE_RESOURCES);
out:
	if (mw)
		CLOSE(mw, NdkCloseMw);
	pair_close(p);
	kfree(p);
}

static struct answer low;

static VOID on_low(PVOID context, NTSTATUS status)
{
	on_request(context, status);
}

/*
 * Proves: CREATE_SRQ.ok, CREATE_QP_WITH_SRQ.ok, SRQ_RECEIVE.ok, MODIFY_SRQ.ok, MODIFY_SRQ.bad-argument,
 * SRQ_NOTIFICATION_CALLBACK.ok, RECEIVE.wrong-state, 8.5-no-receive, 8.5-results
 */
void case_srq(void)
{
	struct pair *p = kzalloc_obj(*p);
	struct end *a = &p->active, *b = &p->passive;
	NDK_SRQ *srq = NULL;
	DECLARE_ANSWER(modified);
	NDK_SGE sge;
	NTSTATUS rc;
	ULONG i;

	if (!pair_open(p))
		goto out;
	answer_init(&low);
	srq = CREATE(NDK_SRQ, rc, b->pd->Dispatch->NdkCreateSrq, b->pd, 8, 1, 0, on_low, &low, NULL);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS) || !EXPECT_EQ(srq->Header.ObjectType, NdkObjectTypeSrq))
		goto out;
	CLOSE(b->qp, NdkCloseQp);
	b->qp = CREATE(NDK_QP, rc, b->pd->Dispatch->NdkCreateQpWithSrq, b->pd, b->cq, b->cq, srq, b, DEPTH, 1, 0);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		goto out;
	for (i = 0; i < 4; i++) {
		sge = piece(b, 64 * i, 64);
		EXPECT_STATUS(srq->Dispatch->NdkSrqReceive(srq, CONTEXT(1 + i), &sge, 1), STATUS_SUCCESS);
	}
	/* A QP of an SRQ has no receives of its own. */
	EXPECT_STATUS(b->qp->Dispatch->NdkReceive(b->qp, CONTEXT(9), &sge, 1), STATUS_INVALID_DEVICE_REQUEST);
	{
		DECLARE_ANSWER(refused);

		rc = settle(&refused, srq->Dispatch->NdkModifySrq(srq, b->info.MaxSrqDepth + 1, 0, on_request, &refused));
		EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	}
	rc = settle(&modified, srq->Dispatch->NdkModifySrq(srq, 0, 3, on_request, &modified));
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	if (!pair_connect(p))
		goto out;
	EXPECT_EQ(atomic_read(&low.calls), 0);
	memset(a->memory, 0x66, 64);
	sge = piece(a, 0, 64);
	for (i = 0; i < 2; i++) {
		EXPECT_STATUS(post_send(a, 10 + i, &sge, 0), STATUS_SUCCESS);
		take_status(b, CONTEXT(1 + i), NdkOperationTypeReceive, STATUS_SUCCESS);
		EXPECT(!memcmp(b->memory + 64 * i, a->memory, 64));
	}
	/* Two are left, which is less than three. */
	EXPECT_STATUS(wait_for(&low), STATUS_SUCCESS);
out:
	CLOSE(p->active.connector, NdkCloseConnector);
	CLOSE(p->passive.connector, NdkCloseConnector);
	CLOSE(b->qp, NdkCloseQp);
	if (srq)
		CLOSE(srq, NdkCloseSrq);
	pair_close(p);
	kfree(p);
}

static NTSTATUS resize(NDK_CQ *cq, ULONG depth)
{
	DECLARE_ANSWER(a);

	return settle(&a, cq->Dispatch->NdkResizeCq(cq, depth, on_request, &a));
}

void case_cq(void)
{
	NTSTATUS absent = STATUS_NOT_SUPPORTED;
	struct end end;
	NDK_CQ *cq;

	if (!end_open(&end))
		goto out;
	cq = end.cq;
	if (end.info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) {
		EXPECT_STATUS(resize(cq, 8 * DEPTH), STATUS_SUCCESS);
		EXPECT_STATUS(resize(cq, end.info.MaxCqDepth + 1), STATUS_INVALID_PARAMETER);
	} else {
		EXPECT_STATUS(resize(cq, 8 * DEPTH), STATUS_NOT_SUPPORTED);
	}
	if (end.info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED)
		absent = STATUS_SUCCESS;
	EXPECT_STATUS(cq->Dispatch->NdkControlCqInterruptModeration(cq, 100, 4), absent);
	EXPECT_STATUS(cq->Dispatch->NdkControlCqInterruptModeration(cq, MAXULONG, MAXULONG),
		      absent ? absent : STATUS_INVALID_PARAMETER_MIX);
	EXPECT_STATUS(cq->Dispatch->NdkControlCqInterruptModeration(cq, 0, 0), absent);
out:
	end_close(&end);
}
