// SPDX-License-Identifier: GPL-2.0
/* Connections: both sides of them, their data, their ends. */

#include <linux/slab.h>

#include "consumer.h"

static u16 port_of(const SOCKADDR_STORAGE *address)
{
	/* At the same place in both families. */
	return be16_to_cpu(((const SOCKADDR_IN *)address)->sin_port);
}

static NTSTATUS disconnect(NDK_CONNECTOR *c)
{
	DECLARE_ANSWER(a);

	return settle(&a, c->Dispatch->NdkDisconnect(c, on_request, &a));
}

static void expect_data(NDK_CONNECTOR *c, const char *text)
{
	ULONG inbound, outbound, length = 0, capacity;
	UCHAR data[256];

	/* NDKPI: without a buffer the size alone; with a smaller one as much as fits. */
	EXPECT_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, NULL, &length), STATUS_SUCCESS);
	capacity = length;
	length = 3;
	EXPECT_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, data, &length), STATUS_BUFFER_TOO_SMALL);
	EXPECT(length == capacity && !memcmp(data, text, 3));
	length = sizeof(data);
	EXPECT_STATUS(c->Dispatch->NdkGetConnectionData(c, &inbound, &outbound, data, &length), STATUS_SUCCESS);
	EXPECT(length == capacity && !memcmp(data, text, strlen(text)));
	EXPECT(inbound == 4 && outbound == 4);
	length = 1;
	EXPECT_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, NULL, &length), STATUS_INVALID_PARAMETER);
}

/*
 * Proves: CONNECT.ok, COMPLETE_CONNECT.ok, ACCEPT.ok, LISTEN.ok, LISTEN.wrong-state, GET_LISTENER_LOCAL_ADDRESS.ok,
 * GET_CONNECTION_DATA.ok, GET_CONNECTION_DATA.bad-argument, GET_LOCAL_ADDRESS.ok, GET_PEER_ADDRESS.ok, DISCONNECT.ok,
 * DISCONNECT.wrong-state, CONNECT.wrong-state, CONNECT_EVENT_CALLBACK.ok, DISCONNECT_EVENT_CALLBACK.ok, 12-listen-twice,
 * 5.10-event-whom
 */
void case_connect(void)
{
	struct pair *p = kzalloc_obj(*p);
	SOCKADDR_STORAGE address;
	NDK_CONNECTOR *c;
	ULONG length;
	DECLARE_ANSWER(again);
	DECLARE_ANSWER(a);
	NTSTATUS rc;

	if (!pair_open(p))
		goto out;
	EXPECT(port_of(&p->address) >= 49152);
	rc = settle(&again, p->listener->Dispatch->NdkListen(p->listener, (PSOCKADDR)&p->address, p->address_length,
							     on_request, &again));
	EXPECT_STATUS(rc, STATUS_INVALID_DEVICE_STATE);
	length = 1;
	EXPECT_STATUS(p->listener->Dispatch->NdkGetLocalAddress(p->listener, (PSOCKADDR)&address, &length),
		      STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(length, local_length());

	/* The two steps of the active side. */
	rc = settle(&a, connect_to(&p->active, &p->address, p->address_length, &a));
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		goto out;
	c = p->active.connector;
	EXPECT_STATUS(disconnect(c), STATUS_CONNECTION_INVALID);
	expect_data(c, "accept");
	{
		DECLARE_ANSWER(completed);

		rc = settle(&completed, c->Dispatch->NdkCompleteConnect(c, on_gone, &p->active.gone, on_request,
									&completed));
	}
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS) || !EXPECT_STATUS(wait_for(&p->accepted), STATUS_SUCCESS))
		goto out;
	length = sizeof(address);
	EXPECT_STATUS(c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&address, &length), STATUS_SUCCESS);
	EXPECT(length == p->address_length && !memcmp(&address, &p->address, length));
	length = sizeof(address);
	EXPECT_STATUS(c->Dispatch->NdkGetLocalAddress(c, (PSOCKADDR)&address, &length), STATUS_SUCCESS);
	EXPECT(port_of(&address) >= 49152 && port_of(&address) != port_of(&p->address));
	length = sizeof(address);
	EXPECT_STATUS(p->passive.connector->Dispatch->NdkGetLocalAddress(p->passive.connector, (PSOCKADDR)&address,
									 &length), STATUS_SUCCESS);
	EXPECT(port_of(&address) == port_of(&p->address));
	{
		DECLARE_ANSWER(second);

		rc = settle(&second, connect_to(&p->active, &p->address, p->address_length, &second));
	}
	EXPECT_STATUS(rc, STATUS_CONNECTION_ACTIVE);

	/* In good order: the peer hears of it, and answers. */
	reinit_completion(&a.done);
	atomic_set(&a.calls, 0);
	rc = c->Dispatch->NdkDisconnect(c, on_request, &a);
	EXPECT_STATUS(wait_for(&p->passive.gone), STATUS_CONNECTION_DISCONNECTED);
	EXPECT_STATUS(disconnect(p->passive.connector), STATUS_SUCCESS);
	EXPECT_STATUS(settle(&a, rc), STATUS_SUCCESS);
	EXPECT_EQ(atomic_read(&p->active.gone.calls), 0);
	EXPECT_STATUS(disconnect(c), STATUS_CONNECTION_INVALID);
out:
	pair_close(p);
	kfree(p);
}

/* The connector that came in, once it has. */
static NDK_CONNECTOR *came_in(struct pair *p)
{
	wait_for(&p->incoming);
	return CONTAINING_RECORD(p->incoming.object, NDK_CONNECTOR, Header);
}

/*
 * Proves: REJECT.ok, REJECT.wrong-state, CONTROL_CONNECT_EVENTS.ok, CONNECT.bad-argument, COMPLETE_CONNECT.wrong-state,
 * CREATE_LISTENER.ok, LISTEN.bad-argument
 */
void case_refuse(void)
{
	struct pair *p = kzalloc_obj(*p);
	NDK_CONNECTOR *incoming;
	SOCKADDR_STORAGE other;
	NDK_LISTENER *second;
	PUCHAR data = NULL;
	ULONG length;
	NTSTATUS rc;

	if (!pair_open(p))
		goto out;
	p->accept = false;
	second = CREATE(NDK_LISTENER, rc, p->passive.adapter->Dispatch->NdkCreateListener, p->passive.adapter, on_connect,
			p);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS)) {
		DECLARE_ANSWER(taken);
		DECLARE_ANSWER(foreign);

		length = sizeof(other);
		EXPECT_STATUS(second->Dispatch->NdkGetLocalAddress(second, (PSOCKADDR)&other, &length),
			      STATUS_INVALID_DEVICE_STATE);
		rc = settle(&taken, second->Dispatch->NdkListen(second, (PSOCKADDR)&p->address, p->address_length,
								on_request, &taken));
		EXPECT_STATUS(rc, STATUS_SHARING_VIOLATION);
		other = p->address;
		if (other.ss_family == AF_INET6)
			((SOCKADDR_IN6 *)&other)->sin6_addr.s6_addr[15] ^= 0x40;
		else
			((SOCKADDR_IN *)&other)->sin_addr.s_addr ^= htonl(0x40);
		rc = settle(&foreign, second->Dispatch->NdkListen(second, (PSOCKADDR)&other, p->address_length,
								  on_request, &foreign));
		EXPECT_STATUS(rc, STATUS_INVALID_ADDRESS);
		CLOSE(second, NdkCloseListener);
	}

	/* As if nobody listened, and the same connector may try again. */
	p->listener->Dispatch->NdkControlConnectEvents(p->listener, TRUE);
	{
		DECLARE_ANSWER(a);

		rc = settle(&a, connect_to(&p->active, &p->address, p->address_length, &a));
		EXPECT_STATUS(rc, STATUS_CONNECTION_REFUSED);
	}
	p->listener->Dispatch->NdkControlConnectEvents(p->listener, FALSE);
	{
		NDK_CONNECTOR *c = p->active.connector;
		DECLARE_ANSWER(a);
		DECLARE_ANSWER(b);

		rc = settle(&b, c->Dispatch->NdkCompleteConnect(c, NULL, NULL, on_request, &b));
		EXPECT_STATUS(rc, STATUS_CONNECTION_INVALID);
		data = kzalloc(p->active.info.MaxCallerData + 1, GFP_KERNEL);
		rc = c->Dispatch->NdkConnect(c, p->active.qp, (PSOCKADDR)&local, local_length(), (PSOCKADDR)&p->address,
					     p->address_length, 0, 0, data, p->active.info.MaxCallerData + 1, on_request,
					     &a);
		EXPECT_STATUS(rc, STATUS_INVALID_BUFFER_SIZE);
		rc = connect_to(&p->active, &p->address, p->address_length, &a);
		incoming = came_in(p);
		EXPECT_STATUS(incoming->Dispatch->NdkReject(incoming, "no", 2), STATUS_SUCCESS);
		EXPECT_STATUS(settle(&a, rc), STATUS_CONNECTION_REFUSED);
		EXPECT_STATUS(incoming->Dispatch->NdkReject(incoming, NULL, 0), STATUS_CONNECTION_INVALID);
		CLOSE(incoming, NdkCloseConnector);
	}

	/* The active side does not want it after all: the accept of the other fails. */
	answer_init(&p->incoming);
	p->accept = true;
	{
		NDK_CONNECTOR *c = p->active.connector;
		DECLARE_ANSWER(a);

		rc = settle(&a, connect_to(&p->active, &p->address, p->address_length, &a));
		if (EXPECT_STATUS(rc, STATUS_SUCCESS))
			EXPECT_STATUS(c->Dispatch->NdkReject(c, "never mind", 10), STATUS_SUCCESS);
		EXPECT_STATUS(wait_for(&p->accepted), STATUS_CONNECTION_ABORTED);
	}
out:
	pair_close(p);
	kfree(p);
	kfree(data);
}

/* --- the calls of 2.1 ------------------------------------------------------ */

static VOID on_gone_ex(PVOID context, ULONG reason)
{
	on_gone(context);
}

static VOID accept_extended(PVOID context, NDK_CONNECTOR *connector)
{
	struct pair *p = context;
	NTSTATUS rc;

	p->passive.connector = connector;
	rc = connector->Dispatch->NdkAcceptEx(connector, p->passive.qp, 4, 4, NULL, 0, on_gone_ex, &p->passive.gone,
					      on_request, &p->accepted);
	if (rc != STATUS_PENDING)
		FAIL("accept: %#010x", rc);
}

/* Proves: ACCEPT_EX.ok, COMPLETE_CONNECT_EX.ok, DISCONNECT_EVENT_CALLBACK_EX.ok, 5.5-CONNECTED-peer-close */
void case_extended(void)
{
	struct pair *p = kzalloc_obj(*p);
	NDK_LISTENER *listener;
	SOCKADDR_STORAGE at;
	ULONG length = sizeof(at);
	NDK_CONNECTOR *c;
	DECLARE_ANSWER(listening);
	DECLARE_ANSWER(connected);
	DECLARE_ANSWER(completed);
	NTSTATUS rc;

	if (!pair_open(p))
		goto out;
	listener = CREATE(NDK_LISTENER, rc, p->passive.adapter->Dispatch->NdkCreateListener, p->passive.adapter,
			  accept_extended, p);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		goto out;
	rc = settle(&listening, listener->Dispatch->NdkListen(listener, (PSOCKADDR)&local, local_length(), on_request,
							      &listening));
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	listener->Dispatch->NdkGetLocalAddress(listener, (PSOCKADDR)&at, &length);
	rc = settle(&connected, connect_to(&p->active, &at, length, &connected));
	if (EXPECT_STATUS(rc, STATUS_SUCCESS)) {
		c = p->active.connector;
		rc = settle(&completed, c->Dispatch->NdkCompleteConnectEx(c, on_gone_ex, &p->active.gone, on_request,
									  &completed));
		EXPECT_STATUS(rc, STATUS_SUCCESS);
		EXPECT_STATUS(wait_for(&p->accepted), STATUS_SUCCESS);
		/* A close is the end of the connection for the other side, and no event for its own. */
		CLOSE(p->passive.connector, NdkCloseConnector);
		EXPECT_STATUS(wait_for(&p->active.gone), STATUS_CONNECTION_DISCONNECTED);
		EXPECT_EQ(atomic_read(&p->passive.gone.calls), 0);
	}
	CLOSE(listener, NdkCloseListener);
out:
	pair_close(p);
	kfree(p);
}

/* --- shared endpoints ------------------------------------------------------ */

/* Proves: CREATE_SHARED_ENDPOINT.ok, GET_SHARED_ENDPOINT_LOCAL_ADDRESS.ok, CONNECT_WITH_SHARED_ENDPOINT.ok */
void case_shared_endpoint(void)
{
	struct pair *p = kzalloc_obj(*p);
	NDK_SHARED_ENDPOINT *shared = NULL;
	SOCKADDR_STORAGE at = {}, seen;
	ULONG length = sizeof(at), seen_length = sizeof(seen);
	NDK_ADAPTER *adapter;
	NDK_CONNECTOR *c;
	DECLARE_ANSWER(connected);
	DECLARE_ANSWER(completed);
	DECLARE_ANSWER(again);
	NTSTATUS rc;

	if (!pair_open(p))
		goto out;
	adapter = p->active.adapter;
	shared = CREATE(NDK_SHARED_ENDPOINT, rc, adapter->Dispatch->NdkCreateSharedEndpoint, adapter, (PSOCKADDR)&local,
			local_length());
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS) || !EXPECT_EQ(shared->Header.ObjectType, NdkObjectTypeSharedEndpoint))
		goto out;
	EXPECT_STATUS(shared->Dispatch->NdkGetLocalAddress(shared, (PSOCKADDR)&at, &length), STATUS_SUCCESS);
	EXPECT(port_of(&at) >= 49152);
	c = CREATE(NDK_CONNECTOR, rc, adapter->Dispatch->NdkCreateConnector, adapter);
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		goto out;
	p->active.connector = c;
	rc = settle(&connected, c->Dispatch->NdkConnectWithSharedEndpoint(c, p->active.qp, shared, (PSOCKADDR)&p->address,
									  p->address_length, 4, 4, "connect", 7,
									  on_request, &connected));
	if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
		goto out;
	rc = settle(&completed, c->Dispatch->NdkCompleteConnect(c, on_gone, &p->active.gone, on_request, &completed));
	EXPECT_STATUS(rc, STATUS_SUCCESS);
	EXPECT_STATUS(wait_for(&p->accepted), STATUS_SUCCESS);
	c = p->passive.connector;
	EXPECT_STATUS(c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&seen, &seen_length), STATUS_SUCCESS);
	EXPECT(port_of(&seen) == port_of(&at));
	/* The same two addresses once more. */
	c = CREATE(NDK_CONNECTOR, rc, adapter->Dispatch->NdkCreateConnector, adapter);
	if (EXPECT_STATUS(rc, STATUS_SUCCESS)) {
		NDK_QP *qp = p->active.qp;

		if (end_open_qp(&p->active)) {
			rc = settle(&again, c->Dispatch->NdkConnectWithSharedEndpoint(c, p->active.qp, shared,
										      (PSOCKADDR)&p->address,
										      p->address_length, 4, 4, NULL, 0,
										      on_request, &again));
			EXPECT_STATUS(rc, STATUS_ADDRESS_ALREADY_EXISTS);
			CLOSE(p->active.qp, NdkCloseQp);
		}
		p->active.qp = qp;
		CLOSE(c, NdkCloseConnector);
	}
out:
	if (p->active.connector)
		CLOSE(p->active.connector, NdkCloseConnector);
	if (shared)
		CLOSE(shared, NdkCloseSharedEndpoint);
	pair_close(p);
	kfree(p);
}
