// SPDX-License-Identifier: GPL-2.0
/* All ports that port 0 can have chosen are taken: 16384 shared endpoints at a time. */

#include <linux/mm.h>

#include "ndk_test.h"

#define FIRST_PORT 49152
#define PORTS (65536 - FIRST_PORT)

struct slot {
	struct fill *fill;
	struct ndk_shared_endpoint *endpoint;
	int status;
};

struct fill {
	struct t *t;
	atomic_t left;
	struct completion done;
	struct slot slots[PORTS];
};

/* Too many for an await each. */
static void one_done(struct slot *s)
{
	if (atomic_dec_and_test(&s->fill->left))
		complete(&s->fill->done);
}

static void made(void *context, int status, struct ndk_object_header *object)
{
	struct slot *s = context;

	s->status = status;
	if (object)
		s->endpoint = container_of(object, struct ndk_shared_endpoint, header);
	one_done(s);
}

static void closed(void *context)
{
	one_done(context);
}

static bool all_done(struct fill *f, const char *what)
{
	if (wait_for_completion_timeout(&f->done, t_ticks(60)))
		return true;
	t_fail(f->t, "%s: %d have not completed", what, atomic_read(&f->left));
	f->t->wedged = true;
	return false;
}

static bool make_all(struct fill *f, struct t_end *e)
{
	struct sockaddr_storage any, at;
	unsigned long *seen = t_alloc(f->t, BITS_TO_LONGS(PORTS) * sizeof(*seen));
	void *out = t_poison();
	bool good = true;
	int i, rc;

	atomic_set(&f->left, PORTS);
	init_completion(&f->done);
	t_addr(e->side, AF_INET, 0, &any);
	for (i = 0; i < PORTS; i++) {
		f->slots[i].fill = f;
		rc = ndk_create_shared_endpoint(e->adapter, (struct sockaddr *)&any, t_addr_len(&any), made,
						&f->slots[i], (struct ndk_shared_endpoint **)&out);
		if (rc == -EINPROGRESS)
			continue;
		f->slots[i].status = rc;
		one_done(&f->slots[i]);
	}
	if (!all_done(f, "create"))
		return false;
	for (i = 0; i < PORTS && good; i++) {
		good = EXPECT_STATUS(f->t, f->slots[i].status, 0) &&
		       EXPECT_STATUS(f->t, t_shared_address(f->slots[i].endpoint, &at), 0) &&
		       EXPECT(f->t, t_port(&at) >= FIRST_PORT) &&
		       EXPECT(f->t, !__test_and_set_bit(t_port(&at) - FIRST_PORT, seen));
	}
	return good;
}

static void close_all(struct fill *f)
{
	int i;

	atomic_set(&f->left, PORTS);
	reinit_completion(&f->done);
	for (i = 0; i < PORTS; i++)
		if (!f->slots[i].endpoint ||
		    ndk_close_shared_endpoint(f->slots[i].endpoint, closed, &f->slots[i]) != -EINPROGRESS)
			one_done(&f->slots[i]);
	all_done(f, "close");
}

/* None is left for anybody, but of another family, or by name; and the one that comes back is found. */
static void nothing_left(struct t *t, struct fill *f, struct t_pair *p)
{
	struct sockaddr_storage from, freed;
	struct ndk_shared_endpoint *one;
	struct ndk_object_header *h;
	struct t_listener *l;
	struct t_await *w;
	int status;

	t_try_share(&p->a, AF_INET, 0, &status);
	EXPECT_STATUS(t, status, -EUSERS);
	l = t_listener(&p->a);
	h = t_create(&p->a, KIND_CONNECTOR);
	if (!l || !h)
		return;
	EXPECT_STATUS(t, t_listen(l, SIDE_A, AF_INET, 0), -EUSERS);
	p->a.connector = container_of(h, struct ndk_connector, header);
	w = t_await(t, "connect");
	t_addr(SIDE_A, AF_INET, 0, &from);
	EXPECT_STATUS(t, t_wait(w, t_connect_call(&p->a, &from, &p->listener->address, w)), -EUSERS);
	t_try_share(&p->a, AF_INET6, 0, &status);
	EXPECT_STATUS(t, status, 0);
	t_try_share(&p->a, AF_INET, 5000, &status);
	EXPECT_STATUS(t, status, 0);

	one = f->slots[PORTS / 3].endpoint;
	EXPECT_STATUS(t, t_shared_address(one, &freed), 0);
	f->slots[PORTS / 3].endpoint = NULL;
	t_track(t, &one->header, NDK_OBJECT_SHARED_ENDPOINT);
	t_close(t, &one->header);
	if (EXPECT_STATUS(t, t_listen(l, SIDE_A, AF_INET, 0), 0))
		EXPECT(t, t_same_addr(&l->address, &freed));
	t_close(t, &l->listener->header);
	/* And the connector has not suffered. */
	if (t_establish(&p->a, p->listener, &p->b))
		t_ping(&p->a, &p->b);
}

/* Proves: 4.3-exhausted, 4.3-ports, 5.3-IDLE-connect-no-port, 5.6-CREATED-listen-no-port, 5.6-CREATED-retry, 5.7-create-no-port */
static void no_port_is_free(struct t *t)
{
	struct t_pair *p = t_pair_unconnected(t, NULL);
	struct fill *f;

	if (!p)
		return;
	f = kvzalloc_obj(*f, GFP_KERNEL | __GFP_NOFAIL);
	f->t = t;
	if (make_all(f, &p->a))
		nothing_left(t, f, p);
	if (t->wedged)
		return;
	close_all(f);
	if (t->wedged)
		return;
	kvfree(f);
	EXPECT(t, t_share(&p->a, AF_INET, 0));
}

static const struct t_case cases[] = {
	{ "no_port_is_free", no_port_is_free },
};

T_GROUP(exhaustion, cases);
