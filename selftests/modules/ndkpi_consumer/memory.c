// SPDX-License-Identifier: GPL-2.0
/* Buffers: MDLs, registrations, LAMs. */

#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "consumer.h"

#define ACCESS	(NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ)

/* --- MDLs ------------------------------------------------------------------ */

static MDL *mdl_over(PVOID va, ULONG length)
{
	MDL *mdl = IoAllocateMdl(va, length, FALSE, FALSE, NULL);

	if (EXPECT(mdl))
		MmBuildMdlForNonPagedPool(mdl);
	return mdl;
}

static void expect_pages(PUCHAR va, size_t length, struct sg_table *table)
{
	struct scatterlist *sg;
	size_t at = 0;
	int i;

	for_each_sgtable_sg(table, sg, i) {
		struct page *page = is_vmalloc_addr(va + at) ? vmalloc_to_page(va + at) : virt_to_page(va + at);

		EXPECT(sg_page(sg) == page);
		EXPECT_EQ(sg->offset, offset_in_page(va + at));
		at += sg->length;
	}
	EXPECT_EQ(at, length);
}

static void expect_sg(MDL *mdl, PUCHAR va, size_t length)
{
	struct sg_table table = {};

	if (!EXPECT_EQ(ndkpi_mdl_to_sg(mdl, length, &table), 0))
		return;
	expect_pages(va, length, &table);
	sg_free_table(&table);
}

static void expect_none(MDL *mdl, size_t length)
{
	struct sg_table table = {};

	EXPECT_EQ(ndkpi_mdl_to_sg(mdl, length, &table), -EINVAL);
}

static void chain(PUCHAR va, MDL *part[3])
{
	/* The first two meet within a page, the others at its end. */
	part[0] = mdl_over(va + 100, PAGE_SIZE);
	part[1] = mdl_over(va + 100 + PAGE_SIZE, PAGE_SIZE - 100);
	part[2] = mdl_over(va + 2 * PAGE_SIZE, PAGE_SIZE);
	part[0]->Next = part[1];
	part[1]->Next = part[2];
}

static void chains(PUCHAR va)
{
	MDL *part[3], *whole, *gap;
	int i;

	chain(va, part);
	expect_sg(part[0], va + 100, 1);
	expect_sg(part[0], va + 100, PAGE_SIZE);
	expect_sg(part[0], va + 100, PAGE_SIZE + 1);
	expect_sg(part[0], va + 100, 3 * PAGE_SIZE - 100);
	expect_none(part[0], 3 * PAGE_SIZE - 99);
	expect_none(part[0], 0);
	expect_none(NULL, 1);
	/* A chain with a gap is as long as up to there. */
	gap = mdl_over(va + 2 * PAGE_SIZE + 8, 64);
	part[1]->Next = gap;
	expect_sg(part[0], va + 100, 2 * PAGE_SIZE - 100);
	expect_none(part[0], 2 * PAGE_SIZE - 99);
	part[1]->Next = NULL;
	/* Contiguous by name, but not the same page: not one buffer. */
	part[1]->pages[0] = part[2]->pages[0];
	expect_none(part[0], PAGE_SIZE + 1);
	for (i = 0; i < 3; i++)
		IoFreeMdl(part[i]);
	IoFreeMdl(gap);

	/* A part of a buffer. */
	whole = mdl_over(va, 3 * PAGE_SIZE);
	part[0] = IoAllocateMdl(va + PAGE_SIZE + 10, PAGE_SIZE, FALSE, FALSE, NULL);
	IoBuildPartialMdl(whole, part[0], va + PAGE_SIZE + 10, PAGE_SIZE);
	EXPECT(MmGetMdlVirtualAddress(part[0]) == va + PAGE_SIZE + 10);
	EXPECT(MmGetSystemAddressForMdlSafe(part[0], NormalPagePriority) == va + PAGE_SIZE + 10);
	expect_sg(part[0], va + PAGE_SIZE + 10, PAGE_SIZE);
	/* To the end of the buffer, for which there is room as well. */
	IoBuildPartialMdl(whole, part[0], va + 3 * PAGE_SIZE - 20, 0);
	EXPECT_EQ(MmGetMdlByteCount(part[0]), 20);
	expect_sg(part[0], va + 3 * PAGE_SIZE - 20, 20);
	/* Beyond it, before it, too large for the target. */
	IoBuildPartialMdl(whole, part[0], va + 3 * PAGE_SIZE - 20, 21);
	expect_none(part[0], 1);
	IoBuildPartialMdl(whole, part[0], va - 1, 1);
	expect_none(part[0], 1);
	IoBuildPartialMdl(whole, part[0], va, 3 * PAGE_SIZE);
	expect_none(part[0], 1);
	IoFreeMdl(part[0]);
	IoFreeMdl(whole);
}

void case_mdl(void)
{
	PUCHAR linear = kmalloc(4 * PAGE_SIZE, GFP_KERNEL), mapped = vmalloc(4 * PAGE_SIZE);
	struct page *pages[2];
	MDL *mdl;

	if (!EXPECT(linear && mapped))
		goto out;
	EXPECT_EQ(ADDRESS_AND_SIZE_TO_SPAN_PAGES(linear, 0), 0);
	EXPECT_EQ(ADDRESS_AND_SIZE_TO_SPAN_PAGES(linear + 1, PAGE_SIZE), 2);
	EXPECT_EQ(ADDRESS_AND_SIZE_TO_SPAN_PAGES(linear + PAGE_SIZE - 1, 1), 1);

	mdl = IoAllocateMdl(linear + 40, 2 * PAGE_SIZE, FALSE, FALSE, NULL);
	EXPECT(MmGetMdlVirtualAddress(mdl) == linear + 40 && MmGetMdlByteCount(mdl) == 2 * PAGE_SIZE);
	EXPECT(MmGetMdlByteOffset(mdl) == 40 && !mdl->Next);
	/* Not filled in yet. */
	expect_none(mdl, 1);
	MmBuildMdlForNonPagedPool(mdl);
	EXPECT(MmGetMdlPfnArray(mdl)[2] == page_to_pfn(virt_to_page(linear + 2 * PAGE_SIZE)));
	EXPECT(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority) == linear + 40);
	expect_sg(mdl, linear + 40, 2 * PAGE_SIZE);
	IoFreeMdl(mdl);

	chains(linear);
	chains(mapped);

	/* What is no memory. */
	mdl = mdl_over((PVOID)8, 8);
	expect_none(mdl, 8);
	IoFreeMdl(mdl);

	/* Pages, with a name that is no address. */
	pages[0] = vmalloc_to_page(mapped + PAGE_SIZE);
	pages[1] = vmalloc_to_page(mapped + 2 * PAGE_SIZE);
	mdl = IoAllocateMdl((PVOID)0x10000020, PAGE_SIZE, FALSE, FALSE, NULL);
	ndkpi_build_mdl_from_pages(mdl, pages);
	EXPECT(!MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority));
	expect_sg(mdl, mapped + PAGE_SIZE + 32, PAGE_SIZE);
	IoFreeMdl(mdl);
out:
	kfree(linear);
	vfree(mapped);
}

/* --- RegisterMr ------------------------------------------------------------ */

static NTSTATUS register_mr(NDK_MR *mr, MDL *mdl, SIZE_T length, ULONG flags)
{
	DECLARE_ANSWER(a);

	return settle(&a, mr->Dispatch->NdkRegisterMr(mr, mdl, length, flags, on_request, &a));
}

static NTSTATUS deregister_mr(NDK_MR *mr)
{
	DECLARE_ANSWER(a);

	return settle(&a, mr->Dispatch->NdkDeregisterMr(mr, on_request, &a));
}

/*
 * Proves: REGISTER_MR.ok, REGISTER_MR.bad-argument, REGISTER_MR.wrong-state, DEREGISTER_MR.ok, DEREGISTER_MR.wrong-state,
 * INITIALIZE_FAST_REGISTER_MR.ok, INITIALIZE_FAST_REGISTER_MR.bad-argument, 7.7-contiguous, 7.7-mr-kind, 7.7-mr-again
 */
void case_register(void)
{
	PUCHAR va = vmalloc(4 * PAGE_SIZE);
	MDL *part[3], *unbuilt;
	NDK_MR *mr, *fast;
	struct end end;
	UINT32 token;
	NTSTATUS rc;
	int i;

	if (!end_open(&end) || !EXPECT(va))
		goto out;
	chain(va, part);
	mr = CREATE(NDK_MR, rc, end.pd->Dispatch->NdkCreateMr, end.pd, FALSE);
	fast = CREATE(NDK_MR, rc, end.pd->Dispatch->NdkCreateMr, end.pd, TRUE);
	EXPECT_STATUS(deregister_mr(mr), STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_STATUS(register_mr(mr, part[0], 3 * PAGE_SIZE - 100, ACCESS), STATUS_SUCCESS);
	token = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
	EXPECT(token && mr->Dispatch->NdkGetRemoteTokenFromMr(mr));
	/* One registration at a time; what is refused leaves the first as it is. */
	EXPECT_STATUS(register_mr(mr, part[0], PAGE_SIZE, ACCESS), STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_EQ(mr->Dispatch->NdkGetLocalTokenFromMr(mr), token);
	EXPECT_STATUS(deregister_mr(mr), STATUS_SUCCESS);
	EXPECT_STATUS(register_mr(mr, part[0], 3 * PAGE_SIZE - 99, ACCESS), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(register_mr(mr, part[0], 0, ACCESS), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(register_mr(mr, NULL, 1, ACCESS), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(register_mr(mr, part[0], 1, 0x80), STATUS_INVALID_PARAMETER);
	unbuilt = IoAllocateMdl(va, PAGE_SIZE, FALSE, FALSE, NULL);
	EXPECT_STATUS(register_mr(mr, unbuilt, 1, ACCESS), STATUS_INVALID_PARAMETER);
	IoFreeMdl(unbuilt);
	EXPECT_STATUS(mr->Dispatch->NdkRegisterMr(mr, part[0], 1, ACCESS, NULL, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(mr->Dispatch->NdkDeregisterMr(mr, NULL, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_STATUS(register_mr(fast, part[0], 1, ACCESS), STATUS_INVALID_DEVICE_REQUEST);
	/* It can be had again, and the close ends it. */
	EXPECT_STATUS(register_mr(mr, part[0], PAGE_SIZE, ACCESS), STATUS_SUCCESS);
	{
		DECLARE_ANSWER(a);

		rc = settle(&a, fast->Dispatch->NdkInitializeFastRegisterMr(fast, 0x10000000, TRUE, on_request, &a));
		EXPECT_STATUS(rc, STATUS_IMPLEMENTATION_LIMIT);
	}
	{
		DECLARE_ANSWER(a);

		rc = settle(&a, fast->Dispatch->NdkInitializeFastRegisterMr(fast, 4, TRUE, on_request, &a));
		EXPECT_STATUS(rc, STATUS_SUCCESS);
	}
	CLOSE(fast, NdkCloseMr);
	CLOSE(mr, NdkCloseMr);
	for (i = 0; i < 3; i++)
		IoFreeMdl(part[i]);
out:
	end_close(&end);
	vfree(va);
}

/* --- LAM ------------------------------------------------------------------- */

/* Proves: BUILD_LAM.ok, BUILD_LAM.bad-argument, RELEASE_LAM.ok, 12-lam-inline */
void case_lam(void)
{
	NDK_LOGICAL_ADDRESS_MAPPING *lam = NULL;
	PUCHAR va = vmalloc(4 * PAGE_SIZE);
	const SIZE_T length = 3 * PAGE_SIZE - 100;
	const ULONG needed = 16 + 3 * 8;
	ULONG size = 0, fbo = 0, i;
	NDK_ADAPTER *adapter;
	struct end end;
	MDL *part[3];
	DECLARE_ANSWER(a);
	NTSTATUS rc;

	if (!end_open(&end) || !EXPECT(va))
		goto out;
	adapter = end.adapter;
	chain(va, part);
	rc = settle(&a, adapter->Dispatch->NdkBuildLAM(adapter, part[0], length, on_request, &a, NULL, &size, &fbo));
	EXPECT_STATUS(rc, STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(size, needed);
	lam = kzalloc(needed, GFP_KERNEL);
	size = needed - 1;
	rc = adapter->Dispatch->NdkBuildLAM(adapter, part[0], length, NULL, NULL, lam, &size, &fbo);
	EXPECT_STATUS(rc, STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(size, needed);
	rc = adapter->Dispatch->NdkBuildLAM(adapter, part[0], length + 1, NULL, NULL, lam, &size, &fbo);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	rc = adapter->Dispatch->NdkBuildLAM(adapter, part[0], length, NULL, NULL, lam, NULL, &fbo);
	EXPECT_STATUS(rc, STATUS_INVALID_PARAMETER);
	/* With a completion and without. */
	for (i = 0; i < 2; i++) {
		size = needed;
		reinit_completion(&a.done);
		rc = settle(&a, adapter->Dispatch->NdkBuildLAM(adapter, part[0], length, i ? NULL : on_request, &a, lam,
							       &size, &fbo));
		if (!EXPECT_STATUS(rc, STATUS_SUCCESS))
			break;
		EXPECT(size == needed && fbo == 100 && lam->AdapterPageCount == 3);
		EXPECT(!offset_in_page(lam->AdapterPageArray[0].QuadPart));
		EXPECT(lam->AdapterPageArray[0].QuadPart != lam->AdapterPageArray[1].QuadPart);
		adapter->Dispatch->NdkReleaseLAM(adapter, lam);
	}
	for (i = 0; i < 3; i++)
		IoFreeMdl(part[i]);
out:
	kfree(lam);
	end_close(&end);
	vfree(va);
}
