/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Windows names: how the slots of NDKPI's tables call those of ndk. Include
 * <ndk/ndkpi.h>; nothing here is for consumers.
 *
 * An object of ndk has NDKPI's layout. NDKPI lets what stands between provider
 * and consumer replace the dispatch pointer of an object, and gives it the
 * reserved block of the header: so an object becomes an NDKPI object by having
 * its pointer replaced. rf[0] keeps the provider's table. There is no object
 * beside the object, and requests on the data path pass through as they are.
 *
 * What needs memory is a call that may be pending, for the time that it is (its
 * completion has to turn a status), and these objects: CQs, SRQs and listeners,
 * whose events go through here, and MRs, which keep a scatterlist. Theirs is in
 * rf[1], and goes with the close. Close itself allocates nothing.
 */
#ifndef _NDK_NDKPI_CALLS_H
#define _NDK_NDKPI_CALLS_H

#include <linux/bitops.h>
#include <linux/cpumask.h>

#include <ndk/ndk.h>
#include <ndk/ndkpi_dispatch.h>

/* What every table of ndk but the adapter's begins with. */
struct ndkpi_common {
	int (*close)(struct ndk_object_header *object, ndk_close_completion_fn completion, void *context);
	int (*query_extension)(struct ndk_object_header *object, const struct ndk_guid *id,
			       struct ndk_version version, struct ndk_extension *extension);
};

#define NDKPI_BEGINS(kind)									\
	static_assert(offsetof(struct ndk_##kind##_dispatch, close) ==				\
			      offsetof(struct ndkpi_common, close) &&				\
		      offsetof(struct ndk_##kind##_dispatch, query_extension) ==		\
			      offsetof(struct ndkpi_common, query_extension))
NDKPI_BEGINS(pd);
NDKPI_BEGINS(cq);
NDKPI_BEGINS(srq);
NDKPI_BEGINS(qp);
NDKPI_BEGINS(mr);
NDKPI_BEGINS(mw);
NDKPI_BEGINS(shared_endpoint);
NDKPI_BEGINS(connector);
NDKPI_BEGINS(listener);
#undef NDKPI_BEGINS

/* The provider's table of an object, and the object as the provider knows it. */
#define ndkpi_lower(kind, object) \
	((const struct ndk_##kind##_dispatch *)(object)->Header.NdkReserved.rf[0])
#define ndkpi_native(kind, object)	((struct ndk_##kind *)(object))

/* A create call under way, and then what an object with events or memory keeps. */
struct ndkpi_object {
	/* of the create, then of the close */
	union {
		NDK_FN_CREATE_COMPLETION *created;
		NDK_FN_CLOSE_COMPLETION *closed;
	};
	PVOID context;
	const VOID *table;
	bool keep;
	union {
		NDK_FN_CQ_NOTIFICATION_CALLBACK *cq_notification;
		NDK_FN_SRQ_NOTIFICATION_CALLBACK *srq_notification;
		NDK_FN_CONNECT_EVENT_CALLBACK *connect_event;
	};
	PVOID event_context;
	/* of a registered MR */
	struct sg_table buffer;
};

/* A request that may be pending. */
struct ndkpi_request {
	NDK_FN_REQUEST_COMPLETION *completion;
	PVOID context;
	struct ndkpi_object *mr;
	struct sg_table buffer;
};

/* A LAM, from BuildLAM on: what its AdapterContext is here. */
struct ndkpi_lam {
	NDK_FN_REQUEST_COMPLETION *completion;
	PVOID context;
	struct sg_table buffer;
	NDK_LOGICAL_ADDRESS_MAPPING *lam;
	size_t size;
	ULONG *told;
	void *provider;
};

/* --- create --------------------------------------------------------------- */

static inline void ndkpi_adopt(struct ndk_object_header *header, const VOID *table, struct ndkpi_object *kept)
{
	/* All objects are a header and a pointer. */
	NDK_PD *object = (NDK_PD *)header;

	object->Header.NdkReserved.rf[0] = (PVOID)object->Dispatch;
	object->Header.NdkReserved.rf[1] = kept;
	object->Dispatch = table;
}

static inline struct ndkpi_object *ndkpi_begin(const VOID *table, bool keep,
					       NDK_FN_CREATE_COMPLETION *completion, PVOID context)
{
	struct ndkpi_object *o = kzalloc_obj(*o, GFP_ATOMIC);

	if (o) {
		o->created = completion;
		o->context = context;
		o->table = table;
		o->keep = keep;
	}
	return o;
}

static inline void ndkpi_born(struct ndkpi_object *o, struct ndk_object_header *header)
{
	if (header)
		ndkpi_adopt(header, o->table, o->keep ? o : NULL);
	if (!header || !o->keep)
		kfree(o);
}

static inline void ndkpi_created(void *context, int status, struct ndk_object_header *header)
{
	struct ndkpi_object *o = context;
	NDK_FN_CREATE_COMPLETION *created = o->created;
	PVOID consumer = o->context;

	ndkpi_born(o, header);
	created(consumer, ndkpi_status(status), (NDK_OBJECT_HEADER *)header);
}

/*
 * The call answered @ret. While it pends, o is not ours any more, nor is there an
 * object; else made is it.
 */
static inline NTSTATUS ndkpi_begun(struct ndkpi_object *o, int ret, struct ndk_object_header *made)
{
	if (ret != -EINPROGRESS)
		ndkpi_born(o, ret ? NULL : made);
	return ndkpi_status(ret);
}

/*
 * Calls slot of parent for a new object. NDKPI: a call that pends never writes the
 * result pointer, so the provider gets one of ours, and that pointer is written
 * when the object is there.
 */
#define ndkpi_create(o, result, kind, call, parent, ...) ({					\
	struct ndk_##kind *_made = NULL;							\
	NTSTATUS _status;									\
	int _ret;										\
	_ret = call(parent, ##__VA_ARGS__, (o)->created ? ndkpi_created : NULL, o,		\
		    (result) ? &_made : NULL);							\
	_status = ndkpi_begun(o, _ret, (struct ndk_object_header *)_made);			\
	if (_status == STATUS_SUCCESS)								\
		*(result) = (typeof(*(result)))_made;						\
	_status;										\
})

/* --- requests ------------------------------------------------------------- */

static inline struct ndkpi_request *ndkpi_request(NDK_FN_REQUEST_COMPLETION *completion, PVOID context)
{
	struct ndkpi_request *r = kzalloc_obj(*r, GFP_ATOMIC);

	if (r) {
		r->completion = completion;
		r->context = context;
	}
	return r;
}

static inline void ndkpi_done(void *context, int status)
{
	struct ndkpi_request *r = context;
	NDK_FN_REQUEST_COMPLETION *completion = r->completion;
	PVOID consumer = r->context;

	kfree(r);
	completion(consumer, ndkpi_status(status));
}

static inline ndk_request_completion_fn ndkpi_answer(struct ndkpi_request *r)
{
	return r->completion ? ndkpi_done : NULL;
}

static inline NTSTATUS ndkpi_requested(struct ndkpi_request *r, int ret)
{
	if (ret != -EINPROGRESS)
		kfree(r);
	return ndkpi_status(ret);
}

/* --- every object --------------------------------------------------------- */

static inline NTSTATUS ndkpi_query_extension(NDK_OBJECT_HEADER *object, const GUID *id, NDK_VERSION version,
					     NDK_EXTENSION_INTERFACE *extension)
{
	const struct ndkpi_common *lower = object->NdkReserved.rf[0];
	struct ndk_version v = { version.Major, version.Minor };

	return ndkpi_status(lower->query_extension((struct ndk_object_header *)object,
						   (const struct ndk_guid *)id, v,
						   (struct ndk_extension *)extension));
}

static inline NTSTATUS ndkpi_query_adapter_extension(NDK_OBJECT_HEADER *object, const GUID *id,
						     NDK_VERSION version, NDK_EXTENSION_INTERFACE *extension)
{
	const struct ndk_adapter_dispatch *lower = object->NdkReserved.rf[0];
	struct ndk_version v = { version.Major, version.Minor };

	return ndkpi_status(lower->query_extension((struct ndk_object_header *)object,
						   (const struct ndk_guid *)id, v,
						   (struct ndk_extension *)extension));
}

/* A close has no status to turn: the consumer's completion is the provider's. */
static inline NTSTATUS ndkpi_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION *completion, PVOID context)
{
	const struct ndkpi_common *lower = object->NdkReserved.rf[0];

	return ndkpi_status(lower->close((struct ndk_object_header *)object, completion, context));
}

static inline void ndkpi_forget(struct ndkpi_object *o)
{
	sg_free_table(&o->buffer);
	kfree(o);
}

static inline void ndkpi_closed(void *context)
{
	struct ndkpi_object *o = context;
	NDK_FN_CLOSE_COMPLETION *closed = o->closed;
	PVOID consumer = o->context;

	/* The last callback of the object: nothing comes back to o. */
	ndkpi_forget(o);
	if (closed)
		closed(consumer);
}

static inline NTSTATUS ndkpi_close_kept(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION *completion,
					PVOID context)
{
	const struct ndkpi_common *lower = object->NdkReserved.rf[0];
	struct ndkpi_object *o = object->NdkReserved.rf[1];
	int ret;

	o->closed = completion;
	o->context = context;
	ret = lower->close((struct ndk_object_header *)object, ndkpi_closed, o);
	if (ret != -EINPROGRESS)
		ndkpi_forget(o);
	return ndkpi_status(ret);
}

/* The processor that a preference names, -1 for none. */
static inline int ndkpi_processor(const GROUP_AFFINITY *affinity)
{
	unsigned long cpu;

	if (!affinity || !affinity->Mask)
		return -1;
	cpu = affinity->Group * 64ul + __ffs(affinity->Mask);
	return cpu < nr_cpu_ids ? (int)cpu : -1;
}

#endif /* _NDK_NDKPI_CALLS_H */
