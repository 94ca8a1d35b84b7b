// SPDX-License-Identifier: GPL-2.0
/* Shared endpoints, and ends that share one. */

#include "ndk_test.h"

int t_share_call(struct t_end *e, const struct sockaddr_storage *at, ndk_create_completion_fn done,
		 struct t_await *w, void **out)
{
	return ndk_create_shared_endpoint(e->adapter, (const struct sockaddr *)at, t_addr_len(at), done, w,
					  (struct ndk_shared_endpoint **)out);
}

struct ndk_shared_endpoint *t_try_share(struct t_end *e, int family, u16 port, int *status)
{
	struct t_await *w = t_await(e->t, "create shared endpoint");
	struct ndk_object_header *h;
	struct sockaddr_storage at;
	void *out = t_poison();
	int rc;

	t_addr(e->side, family, port, &at);
	rc = t_share_call(e, &at, t_created, w, &out);
	h = t_create_end(e, KIND_SHARED_ENDPOINT, w, rc, &out, status);
	return h ? container_of(h, struct ndk_shared_endpoint, header) : NULL;
}

bool t_share(struct t_end *e, int family, u16 port)
{
	int status;

	e->shared = t_try_share(e, family, port, &status);
	if (!e->shared)
		t_fail(e->t, "create shared endpoint: %s", t_errname(status));
	return e->shared;
}

int t_shared_address(struct ndk_shared_endpoint *shared, struct sockaddr_storage *ss)
{
	u32 len = sizeof(*ss);

	return ndk_get_shared_endpoint_local_address(shared, (struct sockaddr *)ss, &len);
}

int t_shared_connect_call(struct t_end *e, const struct sockaddr_storage *to, struct t_await *w)
{
	return ndk_connect_with_shared_endpoint(e->connector, e->qp, e->shared, (const struct sockaddr *)to,
						t_addr_len(to), e->cfg.inbound, e->cfg.outbound, e->private_data,
						e->private_data_len, t_done, w);
}

int t_listen_status(struct t_end *e, int family, u16 port)
{
	struct t_listener *l = t_listener(e);

	return l ? t_listen(l, e->side, family, port) : -EINVAL;
}

int t_share_status(struct t_end *e, int family, u16 port)
{
	int status;

	t_try_share(e, family, port, &status);
	return status;
}

/* Another end of the same adapter and CQs, with a QP of its own. */
struct t_end *t_sibling(struct t_end *e)
{
	struct t_end *s = t_alloc(e->t, sizeof(*s));

	t_end_copy(s, e);
	s->connector = NULL;
	return t_end_qp(s) ? s : NULL;
}

bool t_connector_of(struct t_end *e)
{
	struct ndk_object_header *h = t_create(e, KIND_CONNECTOR);

	if (h)
		e->connector = container_of(h, struct ndk_connector, header);
	return h;
}
