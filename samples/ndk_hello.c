// SPDX-License-Identifier: GPL-2.0
/* A whole consumer of ndk: "insmod ndk_hello.ko address=IP" sends one message from IP to itself. */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <ndk/ndk.h>

#define HALF (PAGE_SIZE / 2)
static char *address;
module_param(address, charp, 0);

/* The end of a request, for the one who waits for it: set by the callbacks, in softirq context. */
struct answer {
	struct completion done;
	int status;
	struct ndk_object_header *object;
};

#define ANSWER(name) struct answer name = { .done = COMPLETION_INITIALIZER(name.done) }
static ANSWER(answer);
static ANSWER(accepted);
static ANSWER(notified);
static ANSWER(refused);
static struct ndk_adapter *adapter;
static struct ndk_pd *pd;
static struct ndk_cq *cq;
static struct ndk_mr *mr;
static struct ndk_qp *client_qp, *server_qp;
static struct ndk_listener *listener;
static struct ndk_connector *client, *server;

static void on_create(void *context, int status, struct ndk_object_header *object)
{
	struct answer *a = context;

	a->status = status;
	a->object = object;
	complete(&a->done);
}

static void on_status(void *context, int status)
{
	on_create(context, status, NULL);
}

static void on_close(void *context)
{
	on_create(context, 0, NULL);
}

static void on_connect(void *context, struct ndk_connector *connector)
{
	int ret = ndk_accept(connector, server_qp, 0, 0, NULL, 0, NULL, NULL, on_status, &accepted);

	server = connector;
	if (ret != -EINPROGRESS)
		on_status(&accepted, ret);
}

static int settle(struct answer *a, int ret)
{
	if (ret == -EINPROGRESS)
		wait_for_completion(&a->done);
	return ret == -EINPROGRESS ? a->status : ret;
}

/* The same for a new object: between parent and completion come the arguments of its own. */
#define create(kind, o, parent, ...)								\
	(settle(&answer, ndk_create_##kind(parent, ##__VA_ARGS__, on_create, &answer, &(o))) ?:	\
	 ((o) = (o) ?: container_of(answer.object, typeof(*(o)), header), 0))
#define close(kind, o) (!(o) ? 0 : settle(&answer, ndk_close_##kind(o, on_close, &answer)))

static int talk(struct sockaddr_storage *local, char *buffer)
{
	struct sockaddr_storage remote = *local;
	struct sockaddr *addr = (struct sockaddr *)&remote;
	u32 len = sizeof(remote);
	struct ndk_sge from = { { (uintptr_t)buffer }, HALF }, to = { { (uintptr_t)buffer + HALF }, HALF };
	struct ndk_result result;
	struct scatterlist sg;
	int ret;

	sg_init_one(&sg, buffer, PAGE_SIZE);
	strscpy(buffer, "hello, world", HALF);
	ret = create(pd, pd, adapter) ?: create(cq, cq, adapter, 16, on_status, &notified, -1) ?:
	      create(qp, client_qp, pd, cq, cq, NULL, 4, 4, 1, 1, 0) ?:
	      create(qp, server_qp, pd, cq, cq, NULL, 4, 4, 1, 1, 0) ?:
	      create(listener, listener, adapter, on_connect, NULL) ?:
	      create(connector, client, adapter) ?: create(mr, mr, pd, false) ?:
	      settle(&answer, ndk_register_mr(mr, &sg, 1, from.virtual_address, PAGE_SIZE,
					      NDK_MR_FLAG_ALLOW_LOCAL_WRITE, on_status, &answer));
	if (ret)
		return ret;
	from.token = ndk_get_local_token_from_mr(mr);
	to.token = from.token;
	/* The receive first, so that no message comes too early. on_connect() accepts. */
	ret = ndk_receive(server_qp, NULL, &to, 1) ?:
	      settle(&answer, ndk_listen(listener, addr, len, on_status, &answer)) ?:
	      ndk_get_listener_local_address(listener, addr, &len) ?:
	      settle(&answer, ndk_connect(client, client_qp, (struct sockaddr *)local, len, addr,
					   len, 0, 0, NULL, 0, on_status, &answer)) ?:
	      settle(&answer, ndk_complete_connect(client, NULL, NULL, on_status, &answer)) ?:
	      settle(&accepted, -EINPROGRESS) ?:
	      ndk_send(client_qp, NULL, &from, 1, NDK_OP_FLAG_SILENT_SUCCESS);
	/* Take, or arm and wait. The send is silent, so the only result is that of the receive. */
	while (!ret && !ndk_get_cq_results(cq, &result, 1)) {
		ndk_arm_cq(cq, NDK_CQ_NOTIFY_ANY);
		ret = settle(&notified, -EINPROGRESS);
	}
	ret = ret ?: result.status;
	pr_info("%pISpc: status %d, received: %s\n", addr, ret, buffer + HALF);
	return ret;
}

static int __init ndk_hello_init(void)
{
	struct sockaddr_storage addr = {};
	struct ndk_open_params params = { .version = { NDK_VERSION_MAJOR, NDK_VERSION_MINOR },
		.address = (struct sockaddr *)&addr, .address_len = sizeof(addr), .client = KBUILD_MODNAME };
	char *buffer = (char *)get_zeroed_page(GFP_KERNEL);
	int ret, pending;

	ret = !buffer ? -ENOMEM :
	      inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, address ?: "", NULL, &addr) ?:
	      ndk_open_adapter(current->nsproxy->net_ns, &params, &adapter) ?: talk(&addr, buffer);
	/* No close fails. That of a connector ends the connection, that of a listener waits for its connectors. */
	close(connector, client);
	pending = listener ? ndk_close_listener(listener, on_close, &refused) : 0;
	close(connector, server);
	settle(&refused, pending);
	close(qp, client_qp);
	close(qp, server_qp);
	close(mr, mr);
	close(cq, cq);
	close(pd, pd);
	if (adapter)
		ndk_close_adapter(adapter);
	free_page((unsigned long)buffer);
	return ret;
}
module_init(ndk_hello_init);

static void __exit ndk_hello_exit(void)
{
}
module_exit(ndk_hello_exit);

MODULE_DESCRIPTION("Example of an ndk consumer");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("NDK");
