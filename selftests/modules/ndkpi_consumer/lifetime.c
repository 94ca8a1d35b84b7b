// SPDX-License-Identifier: GPL-2.0
/* When callbacks come and what may be done in them; memory and devices that are not there. */

#include <linux/sched.h>
#include <linux/slab.h>

#include "consumer.h"

/* --- closes inside callbacks ------------------------------------------------- */

struct chain {
	struct answer connected;
	struct answer closed;
	NDK_CONNECTOR *connector;
	NTSTATUS rc;
};

static void close_in_completion(struct answer *a)
{
	struct chain *c = a->arg;

	c->rc = c->connector->Dispatch->NdkCloseConnector(&c->connector->Header, on_close, &c->closed);
}

static void close_in_create(struct answer *a)
{
	struct answer *closed = a->arg;
	NDK_CQ *cq = CONTAINING_RECORD(a->object, NDK_CQ, Header);

	closed->status = cq->Dispatch->NdkCloseCq(a->object, on_close, closed);
}

/* Proves: CREATE_COMPLETION.close-pending, REQUEST_COMPLETION.close-pending, 3.1, 3.4 */
void case_callbacks(void)
{
	struct chain *c = kzalloc_obj(*c);
	SOCKADDR_STORAGE nobody = {};
	struct end end;
	NTSTATUS rc;
	NDK_CQ *cq;
	DECLARE_ANSWER(a);
	DECLARE_ANSWER(closed);

	if (!end_open(&end))
		goto out;
	/* An object is there when its completion is called, and may be closed in it. */
	a.then = close_in_create;
	a.arg = &closed;
	cq = POISON;
	rc = end.adapter->Dispatch->NdkCreateCq(end.adapter, 8, on_notification, &end, NULL, on_create, &a, &cq);
	EXPECT_STATUS(settle(&a, rc), STATUS_SUCCESS);
	EXPECT(cq == POISON);
	wait_for(&closed);

	/* Nobody listens at the port of discard: the connector is closed in the completion that says so. */
	memcpy(&nobody, &local, sizeof(local));
	((SOCKADDR_IN *)&nobody)->sin_port = htons(9);
	answer_init(&c->connected);
	answer_init(&c->closed);
	c->connected.then = close_in_completion;
	c->connected.arg = c;
	c->connector = CREATE(NDK_CONNECTOR, rc, end.adapter->Dispatch->NdkCreateConnector, end.adapter);
	end.connector = c->connector;
	rc = connect_to(&end, &nobody, local_length(), &c->connected);
	EXPECT_STATUS(rc, STATUS_PENDING);
	EXPECT_STATUS(settle(&c->connected, rc), STATUS_CONNECTION_REFUSED);
	end.connector = NULL;
	settle(&c->closed, c->rc);
out:
	end_close(&end);
	kfree(c);
}

/*
 * The close of a connector ends what is pending, first.
 * Proves: CONNECT.close-pending, 3.8, 3.9, 12-cancelled
 */
void case_pending(void)
{
	struct pair *p = kzalloc_obj(*p);
	NDK_CONNECTOR *c;
	DECLARE_ANSWER(connected);
	DECLARE_ANSWER(closed);
	NTSTATUS rc, ended;

	if (!pair_open(p))
		goto out;
	/* Accepted by nobody. */
	p->accept = false;
	rc = connect_to(&p->active, &p->address, p->address_length, &connected);
	EXPECT_STATUS(rc, STATUS_PENDING);
	wait_for(&p->incoming);
	c = p->active.connector;
	p->active.connector = NULL;
	ended = c->Dispatch->NdkCloseConnector(&c->Header, on_close, &closed);
	settle(&closed, ended);
	EXPECT_EQ(atomic_read(&connected.calls), 1);
	EXPECT_STATUS(settle(&connected, rc), STATUS_CANCELLED);
	c = CONTAINING_RECORD(p->incoming.object, NDK_CONNECTOR, Header);
	CLOSE(c, NdkCloseConnector);
out:
	pair_close(p);
	kfree(p);
}

/* --- atomic context ------------------------------------------------------------ */

static DEFINE_SPINLOCK(lock);

/* The call under a spinlock, its end outside of it. */
#define LOCKED(call) ({			\
	NTSTATUS _rc;			\
	spin_lock_bh(&lock);		\
	_rc = (call);			\
	spin_unlock_bh(&lock);		\
	_rc;				\
})

/*
 * Proves: CREATE_CQ.softirq, CREATE_PD.softirq, CREATE_MR.softirq, CREATE_LISTENER.softirq, CREATE_CONNECTOR.softirq,
 * REGISTER_MR.softirq, DEREGISTER_MR.softirq, BUILD_LAM.softirq, RELEASE_LAM.softirq, LISTEN.softirq, CLOSE_OBJECT.softirq
 */
void case_atomic(void)
{
	NDK_LOGICAL_ADDRESS_MAPPING *lam = kzalloc(256, GFP_KERNEL);
	NDK_LISTENER *listener = POISON;
	NDK_MR *mr = POISON;
	ULONG size = 256, fbo;
	struct end end;
	NTSTATUS rc;
	NDK_CQ *cq;
	MDL *mdl;
	DECLARE_ANSWER(a);
	DECLARE_ANSWER(b);
	DECLARE_ANSWER(c);
	DECLARE_ANSWER(d);
	DECLARE_ANSWER(e);
	DECLARE_ANSWER(f);

	if (!end_open(&end))
		goto out;
	cq = POISON;
	rc = LOCKED(end.adapter->Dispatch->NdkCreateCq(end.adapter, 8, on_notification, &end, NULL, on_create, &a, &cq));
	EXPECT_STATUS(created(&a, rc, (PVOID *)&cq), STATUS_SUCCESS);
	settle(&b, LOCKED(cq->Dispatch->NdkCloseCq(&cq->Header, on_close, &b)));

	spin_lock_bh(&lock);
	mdl = IoAllocateMdl(end.memory, MEMORY, FALSE, FALSE, NULL);
	MmBuildMdlForNonPagedPool(mdl);
	rc = end.pd->Dispatch->NdkCreateMr(end.pd, FALSE, on_create, &c, &mr);
	spin_unlock_bh(&lock);
	EXPECT_STATUS(created(&c, rc, (PVOID *)&mr), STATUS_SUCCESS);
	rc = LOCKED(mr->Dispatch->NdkRegisterMr(mr, mdl, MEMORY, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, on_request, &d));
	EXPECT_STATUS(settle(&d, rc), STATUS_SUCCESS);
	rc = LOCKED(mr->Dispatch->NdkDeregisterMr(mr, on_request, &e));
	EXPECT_STATUS(settle(&e, rc), STATUS_SUCCESS);
	settle(&f, LOCKED(mr->Dispatch->NdkCloseMr(&mr->Header, on_close, &f)));

	spin_lock_bh(&lock);
	rc = end.adapter->Dispatch->NdkBuildLAM(end.adapter, mdl, MEMORY, NULL, NULL, lam, &size, &fbo);
	if (NT_SUCCESS(rc))
		end.adapter->Dispatch->NdkReleaseLAM(end.adapter, lam);
	spin_unlock_bh(&lock);
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	IoFreeMdl(mdl);
	{
		DECLARE_ANSWER(made);
		DECLARE_ANSWER(listening);
		DECLARE_ANSWER(closed);

		rc = LOCKED(end.adapter->Dispatch->NdkCreateListener(end.adapter, on_connect, NULL, on_create, &made,
								     &listener));
		if (EXPECT_STATUS(created(&made, rc, (PVOID *)&listener), STATUS_SUCCESS)) {
			rc = LOCKED(listener->Dispatch->NdkListen(listener, (PSOCKADDR)&local, local_length(),
								  on_request, &listening));
			EXPECT_STATUS(settle(&listening, rc), STATUS_SUCCESS);
			settle(&closed, LOCKED(listener->Dispatch->NdkCloseListener(&listener->Header, on_close,
										    &closed)));
		}
	}
out:
	end_close(&end);
	kfree(lam);
}

/* --- no memory ------------------------------------------------------------------ */

#ifdef CONFIG_FAULT_INJECTION
/* The n-th allocation of the call fails. */
static NTSTATUS failing(NTSTATUS (*call)(struct end *end, struct answer *a, PVOID *object), unsigned int n,
			struct end *end, struct answer *a, PVOID *object, bool *hit)
{
	NTSTATUS rc;

	WRITE_ONCE(current->fail_nth, n);
	rc = call(end, a, object);
	*hit = !READ_ONCE(current->fail_nth);
	WRITE_ONCE(current->fail_nth, 0);
	return rc;
}

static NTSTATUS call_cq(struct end *end, struct answer *a, PVOID *object)
{
	return end->adapter->Dispatch->NdkCreateCq(end->adapter, 8, on_notification, end, NULL, on_create, a,
						   (NDK_CQ **)object);
}

static NTSTATUS call_pd(struct end *end, struct answer *a, PVOID *object)
{
	return end->adapter->Dispatch->NdkCreatePd(end->adapter, on_create, a, (NDK_PD **)object);
}

static NTSTATUS call_mr(struct end *end, struct answer *a, PVOID *object)
{
	return end->pd->Dispatch->NdkCreateMr(end->pd, FALSE, on_create, a, (NDK_MR **)object);
}

static NTSTATUS call_qp(struct end *end, struct answer *a, PVOID *object)
{
	return end->pd->Dispatch->NdkCreateQp(end->pd, end->cq, end->cq, end, 4, 4, 1, 1, 0, on_create, a,
					      (NDK_QP **)object);
}

static NTSTATUS call_connector(struct end *end, struct answer *a, PVOID *object)
{
	return end->adapter->Dispatch->NdkCreateConnector(end->adapter, on_create, a, (NDK_CONNECTOR **)object);
}

static NTSTATUS call_listener(struct end *end, struct answer *a, PVOID *object)
{
	return end->adapter->Dispatch->NdkCreateListener(end->adapter, on_connect, NULL, on_create, a,
							 (NDK_LISTENER **)object);
}

static NTSTATUS call_srq(struct end *end, struct answer *a, PVOID *object)
{
	return end->pd->Dispatch->NdkCreateSrq(end->pd, 8, 1, 0, NULL, NULL, NULL, on_create, a, (NDK_SRQ **)object);
}

static NTSTATUS call_shared(struct end *end, struct answer *a, PVOID *object)
{
	return end->adapter->Dispatch->NdkCreateSharedEndpoint(end->adapter, (PSOCKADDR)&local, local_length(), on_create,
							       a, (NDK_SHARED_ENDPOINT **)object);
}

static NTSTATUS call_mw(struct end *end, struct answer *a, PVOID *object)
{
	return end->pd->Dispatch->NdkCreateMw(end->pd, on_create, a, (NDK_MW **)object);
}

static NTSTATUS call_register(struct end *end, struct answer *a, PVOID *mr)
{
	return ((NDK_MR *)*mr)->Dispatch->NdkRegisterMr(*mr, end->mdl, MEMORY, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, on_request,
							a);
}

static NTSTATUS call_deregister(struct end *end, struct answer *a, PVOID *mr)
{
	return ((NDK_MR *)*mr)->Dispatch->NdkDeregisterMr(*mr, on_request, a);
}

static NTSTATUS call_lam(struct end *end, struct answer *a, PVOID *lam)
{
	ULONG size = 256, fbo;

	return end->adapter->Dispatch->NdkBuildLAM(end->adapter, end->mdl, MEMORY, on_request, a, *lam, &size, &fbo);
}

static NTSTATUS (*const creates[])(struct end *end, struct answer *a, PVOID *object) = {
	call_cq, call_pd, call_mr, call_qp, call_connector, call_listener, call_srq, call_shared, call_mw,
};

static NTSTATUS once(NTSTATUS (*call)(struct end *end, struct answer *a, PVOID *object), unsigned int n,
		     struct end *end, PVOID *object, bool create, bool *hit)
{
	NTSTATUS rc;
	DECLARE_ANSWER(a);

	rc = failing(call, n, end, &a, object, hit);
	rc = create ? created(&a, rc, object) : settle(&a, rc);
	if (!NT_SUCCESS(rc) && (rc != STATUS_INSUFFICIENT_RESOURCES || !*hit))
		FAIL("%ps: %#010x with allocation %u", call, rc, n);
	return rc;
}

/*
 * Proves: CREATE_CQ.no-resources, CREATE_PD.no-resources, CREATE_MR.no-resources, CREATE_QP.no-resources,
 * CREATE_CONNECTOR.no-resources, CREATE_LISTENER.no-resources, CREATE_SRQ.no-resources, CREATE_SHARED_ENDPOINT.no-resources,
 * CREATE_MW.no-resources,
 * REGISTER_MR.no-resources, DEREGISTER_MR.no-resources, BUILD_LAM.no-resources, 2.3-memory
 */
void case_failing(void)
{
	PVOID lam = kzalloc(256, GFP_KERNEL), object;
	struct end end;
	unsigned int n;
	NDK_PD *any;
	bool hit;
	size_t i;

	if (!end_open(&end))
		goto out;
	for (i = 0; i < ARRAY_SIZE(creates); i++) {
		for (n = 1, hit = true; hit && n < 100; n++) {
			object = POISON;
			if (NT_SUCCESS(once(creates[i], n, &end, &object, true, &hit))) {
				/* Every table begins with the close. */
				any = object;
				CLOSE(any, NdkClosePd);
			}
		}
		/* Of the object and of ours at the least. */
		EXPECT(n > 3 && !hit);
	}
	{
		NDK_MR *mr = end.mr;
		DECLARE_ANSWER(first);

		EXPECT_STATUS(settle(&first, mr->Dispatch->NdkDeregisterMr(mr, on_request, &first)), STATUS_SUCCESS);
		object = mr;
		for (n = 1, hit = true; hit && n < 100; n++) {
			if (NT_SUCCESS(once(call_register, n, &end, &object, false, &hit))) {
				DECLARE_ANSWER(a);

				settle(&a, mr->Dispatch->NdkDeregisterMr(mr, on_request, &a));
			}
		}
		EXPECT(n > 3 && !hit);
		for (n = 1, hit = true; hit && n < 100; n++) {
			DECLARE_ANSWER(a);

			EXPECT_STATUS(settle(&a, call_register(&end, &a, &object)), STATUS_SUCCESS);
			while (!NT_SUCCESS(once(call_deregister, n, &end, &object, false, &hit)))
				n++;
		}
		EXPECT(n > 2 && !hit);
	}
	for (n = 1, hit = true; hit && n < 100; n++) {
		if (NT_SUCCESS(once(call_lam, n, &end, &lam, false, &hit)))
			end.adapter->Dispatch->NdkReleaseLAM(end.adapter, lam);
	}
	EXPECT(n > 3 && !hit);
out:
	end_close(&end);
	kfree(lam);
}
/* Whether the call did without memory: the first allocation would have failed. */
#define WITHOUT_MEMORY(call) ({				\
	WRITE_ONCE(current->fail_nth, 1);		\
	(call);						\
	EXPECT_EQ(READ_ONCE(current->fail_nth), 1);	\
	WRITE_ONCE(current->fail_nth, 0);		\
})

/* What moves data allocates nothing here, and neither does a close. */
void case_path(void)
{
	struct pair *p = kzalloc_obj(*p);
	struct end *a = &p->active, *b = &p->passive;
	NDK_RESULT_EX result;
	DECLARE_ANSWER(closed);
	NDK_SGE from, to;
	NTSTATUS rc;
	NDK_MR *mr;

	if (!pair_open(p) || !pair_connect(p))
		goto out;
	from = piece(a, 0, 8);
	to = piece(b, 0, 8);
	WITHOUT_MEMORY(rc = b->qp->Dispatch->NdkReceive(b->qp, NULL, &to, 1));
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	WITHOUT_MEMORY(rc = a->qp->Dispatch->NdkSend(a->qp, NULL, &from, 1, 0));
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	take_status(b, NULL, NdkOperationTypeReceive, STATUS_SUCCESS);
	take_status(a, NULL, NdkOperationTypeSend, STATUS_SUCCESS);
	WITHOUT_MEMORY(a->cq->Dispatch->NdkGetCqResultsEx(a->cq, &result, 1));
	WITHOUT_MEMORY(a->cq->Dispatch->NdkArmCq(a->cq, NDK_CQ_NOTIFY_ERRORS));
	mr = a->mr;
	a->mr = NULL;
	WITHOUT_MEMORY(rc = mr->Dispatch->NdkCloseMr(&mr->Header, on_close, &closed));
	settle(&closed, rc);
out:
	pair_close(p);
	kfree(p);
}
#else
void case_failing(void)
{
	FAIL("a kernel without CONFIG_FAULT_INJECTION");
}

void case_path(void)
{
	FAIL("a kernel without CONFIG_FAULT_INJECTION");
}
#endif

/* --- the device goes --------------------------------------------------------------- */

static struct pair *left;

/* Leaves a connection with requests outstanding. */
void case_removal(void)
{
	NDK_SGE sge;

	left = kzalloc_obj(*left);
	if (!pair_open(left) || !pair_connect(left)) {
		pair_close(left);
		kfree(left);
		return;
	}
	sge = piece(&left->passive, 0, 8);
	EXPECT_STATUS(left->passive.qp->Dispatch->NdkReceive(left->passive.qp, NULL, &sge, 1), STATUS_SUCCESS);
}

/*
 * The device has gone: everything says so, and everything can be closed.
 * Proves: QUERY_ADAPTER_INFO.wrong-state, RECEIVE.wrong-state, 12-removal
 */
void case_removal_end(void)
{
	struct end *e = &left->passive;
	NDK_RESULT_EX result;
	NDK_SGE sge = {};
	NDK_MR *mr;
	ULONG size;
	NTSTATUS rc;

	wait_for(&left->active.gone);
	wait_for(&left->passive.gone);
	if (take(e, &result)) {
		EXPECT(result.Status == STATUS_CANCELLED || result.Status == STATUS_DEVICE_REMOVED);
		EXPECT_EQ(result.Type, NdkOperationTypeReceive);
	}
	EXPECT_STATUS(e->qp->Dispatch->NdkReceive(e->qp, NULL, &sge, 0), STATUS_DEVICE_REMOVED);
	size = sizeof(e->info);
	EXPECT_STATUS(e->adapter->Dispatch->NdkQueryAdapterInfo(e->adapter, &e->info, &size), STATUS_DEVICE_REMOVED);
	mr = CREATE(NDK_MR, rc, e->pd->Dispatch->NdkCreateMr, e->pd, FALSE);
	if (NT_SUCCESS(rc))
		CLOSE(mr, NdkCloseMr);
	else
		EXPECT_STATUS(rc, STATUS_DEVICE_REMOVED);
	pair_close(left);
	kfree(left);
}
