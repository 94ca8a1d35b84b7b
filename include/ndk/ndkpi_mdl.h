/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Windows names: memory descriptor lists, as far as a consumer of NDKPI
 * needs them to describe buffers of the kernel. Include <ndk/ndkpi.h>.
 *
 * Memory of the Linux kernel is never paged out, so there is nothing to lock: an
 * MDL is usable once MmBuildMdlForNonPagedPool(), IoBuildPartialMdl() or
 * ndkpi_build_mdl_from_pages() has filled in its pages.
 */
#ifndef _NDK_NDKPI_MDL_H
#define _NDK_NDKPI_MDL_H

#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <ndk/ndkpi_base.h>

/* I/O request packets do not exist here: pointers to them are NULL. */
struct _IRP;
typedef struct _IRP *PIRP;

/**
 * struct _MDL - a buffer, by its pages
 * @Next: what follows in a chain, or NULL
 * @StartVa: address of the page in which the buffer starts
 * @MappedSystemVa: where the CPU finds the first byte, NULL if nowhere
 * @ByteCount: bytes
 * @ByteOffset: of the first byte in its page
 * @room: pages that @pages has room for
 * @built: whether @pages is filled in
 * @pages: numbers of the pages
 *
 * Consumers may use @Next; the rest is for the functions of this file.
 */
struct _MDL {
	struct _MDL *Next;
	PVOID StartVa;
	PVOID MappedSystemVa;
	ULONG ByteCount;
	ULONG ByteOffset;
	ULONG room;
	bool built;
	PFN_NUMBER pages[];
};
typedef struct _MDL MDL, *PMDL;

enum _MM_PAGE_PRIORITY {
	LowPagePriority		= 0,
	NormalPagePriority	= 16,
	HighPagePriority	= 32,
};

#define MmGetMdlVirtualAddress(mdl)	((PVOID)((u8 *)(mdl)->StartVa + (mdl)->ByteOffset))
#define MmGetMdlByteCount(mdl)		((mdl)->ByteCount)
#define MmGetMdlByteOffset(mdl)		((mdl)->ByteOffset)
#define MmGetMdlPfnArray(mdl)		((mdl)->pages)
#define MmGetSystemAddressForMdlSafe(mdl, priority)	((void)(priority), (mdl)->MappedSystemVa)

/**
 * MmSizeOfMdl - bytes of an MDL
 * @base: address of the buffer
 * @length: its bytes
 *
 * Return: what MmInitializeMdl() needs.
 */
static inline SIZE_T MmSizeOfMdl(PVOID base, SIZE_T length)
{
	return struct_size((MDL *)NULL, pages, ADDRESS_AND_SIZE_TO_SPAN_PAGES(base, length));
}

/**
 * MmInitializeMdl - make an MDL in memory of the consumer's
 * @mdl: the memory, of MmSizeOfMdl() bytes
 * @base: address of the buffer
 * @length: its bytes
 */
static inline void MmInitializeMdl(MDL *mdl, PVOID base, SIZE_T length)
{
	memset(mdl, 0, sizeof(*mdl));
	mdl->ByteOffset = offset_in_page(base);
	mdl->StartVa = (u8 *)base - mdl->ByteOffset;
	mdl->ByteCount = length;
	mdl->room = ADDRESS_AND_SIZE_TO_SPAN_PAGES(base, length);
}

/**
 * IoAllocateMdl - make an MDL
 * @base: address of the buffer
 * @length: its bytes
 * @secondary: ignored
 * @quota: ignored
 * @irp: NULL
 *
 * Context: any.
 * Return: the MDL, without its pages; NULL without memory.
 */
static inline MDL *IoAllocateMdl(PVOID base, ULONG length, BOOLEAN secondary, BOOLEAN quota, PIRP irp)
{
	MDL *mdl = kmalloc(MmSizeOfMdl(base, length), GFP_ATOMIC | __GFP_NOWARN);

	if (mdl)
		MmInitializeMdl(mdl, base, length);
	return mdl;
}

/**
 * IoFreeMdl - free an MDL of IoAllocateMdl()
 * @mdl: the MDL, not what follows it in a chain
 */
static inline void IoFreeMdl(MDL *mdl)
{
	kfree(mdl);
}

/**
 * MmBuildMdlForNonPagedPool - fill in the pages of an MDL
 * @mdl: MDL over memory of the kernel: of kmalloc(), the page allocator or
 *	vmalloc()
 *
 * An MDL over other memory stays without pages; NDK's functions refuse it with
 * STATUS_INVALID_PARAMETER.
 * Context: any.
 */
static inline void MmBuildMdlForNonPagedPool(MDL *mdl)
{
	struct page *page;
	u8 *at;
	ULONG i;

	for (i = 0; i < mdl->room; i++) {
		at = (u8 *)mdl->StartVa + (size_t)i * PAGE_SIZE;
		if (is_vmalloc_addr(at))
			page = vmalloc_to_page(at);
		else
			page = virt_addr_valid(at) ? virt_to_page(at) : NULL;
		if (!page)
			return;
		mdl->pages[i] = page_to_pfn(page);
	}
	mdl->MappedSystemVa = MmGetMdlVirtualAddress(mdl);
	mdl->built = true;
}

/**
 * IoBuildPartialMdl - describe a part of a buffer
 * @source: MDL of the buffer, with its pages
 * @target: MDL with room for the pages of the part
 * @base: address of the part, counted as in MmGetMdlVirtualAddress(@source)
 * @length: its bytes; 0 for all from @base
 *
 * Where the part is not within the buffer, or @target too small, @target is left
 * without pages.
 */
static inline void IoBuildPartialMdl(MDL *source, MDL *target, PVOID base, ULONG length)
{
	uintptr_t start = (uintptr_t)MmGetMdlVirtualAddress(source), from = (uintptr_t)base;
	ULONG i, first, room = target->room;
	size_t rest;

	target->built = false;
	if (!source->built || from < start || from - start > source->ByteCount)
		return;
	rest = source->ByteCount - (from - start);
	if (!length)
		length = rest;
	if (length > rest || ADDRESS_AND_SIZE_TO_SPAN_PAGES(base, length) > room)
		return;
	target->ByteOffset = offset_in_page(base);
	target->StartVa = (u8 *)base - target->ByteOffset;
	target->ByteCount = length;
	target->MappedSystemVa = source->MappedSystemVa ?
				 (u8 *)source->MappedSystemVa + (from - start) : NULL;
	first = ((uintptr_t)target->StartVa - (uintptr_t)source->StartVa) >> PAGE_SHIFT;
	for (i = 0; i < ADDRESS_AND_SIZE_TO_SPAN_PAGES(base, length); i++)
		target->pages[i] = source->pages[first + i];
	target->built = true;
}

/**
 * ndkpi_build_mdl_from_pages - fill in an MDL from pages that one has
 * @mdl: MDL of IoAllocateMdl(), over any address that has the offset of the
 *	first byte in the first page. Nobody dereferences it: it names the buffer.
 * @pages: the pages
 *
 * Such an MDL has no system address, MmGetSystemAddressForMdlSafe() is NULL.
 */
static inline void ndkpi_build_mdl_from_pages(MDL *mdl, struct page **pages)
{
	ULONG i;

	for (i = 0; i < mdl->room; i++)
		mdl->pages[i] = page_to_pfn(pages[i]);
	mdl->built = true;
}

/* The pages of the first bytes of a chain, as a scatterlist. 0, -EINVAL, -ENOMEM. */
static inline int ndkpi_mdl_to_sg(const MDL *chain, size_t length, struct sg_table *table)
{
	const uintptr_t base = chain ? (uintptr_t)chain->StartVa : 0;
	uintptr_t end = chain ? (uintptr_t)MmGetMdlVirtualAddress(chain) : 0;
	size_t left = length, used, filled = 0, covered = 0, at, i;
	struct scatterlist *sg = NULL;
	unsigned int offset;
	const MDL *mdl;
	int ret;

	/* NDKPI: a chain must be virtually contiguous for the length, or the call fails. */
	for (mdl = chain; mdl && left; mdl = mdl->Next) {
		if (!mdl->built || (uintptr_t)MmGetMdlVirtualAddress(mdl) != end)
			return -EINVAL;
		end += mdl->ByteCount;
		left -= min_t(size_t, left, mdl->ByteCount);
	}
	if (left || !length)
		return -EINVAL;
	used = DIV_ROUND_UP(chain->ByteOffset + length, PAGE_SIZE);
	if (used > INT_MAX)
		return -EINVAL;
	ret = sg_alloc_table(table, used, GFP_ATOMIC | __GFP_NOWARN);
	if (ret)
		return ret;
	offset = chain->ByteOffset;
	left = length;
	for (mdl = chain; covered < length; covered += mdl->ByteCount, mdl = mdl->Next) {
		at = ((uintptr_t)mdl->StartVa - base) >> PAGE_SHIFT;
		for (i = 0; i < ADDRESS_AND_SIZE_TO_SPAN_PAGES((size_t)mdl->ByteOffset, mdl->ByteCount) &&
			    at + i < used; i++) {
			/* One MDL may end in the page in which the next begins. */
			if (at + i < filled) {
				if (page_to_pfn(sg_page(sg)) == mdl->pages[i])
					continue;
				sg_free_table(table);
				return -EINVAL;
			}
			sg = sg ? sg_next(sg) : table->sgl;
			sg_set_page(sg, pfn_to_page(mdl->pages[i]), min(left, PAGE_SIZE - offset), offset);
			left -= sg->length;
			offset = 0;
			filled++;
		}
	}
	return 0;
}

#endif /* _NDK_NDKPI_MDL_H */
