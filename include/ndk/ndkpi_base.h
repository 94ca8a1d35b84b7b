/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - Windows names: basic types and statuses. Include <ndk/ndkpi.h>.
 *
 * Only what the declarations of NDKPI and its consumers' calls need is here.
 */
#ifndef _NDK_NDKPI_BASE_H
#define _NDK_NDKPI_BASE_H

#include <asm/byteorder.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/types.h>

#ifndef CONFIG_64BIT
#error "NDKPI's structures are laid out as on 64-bit Windows"
#endif

/*
 * ULONG and LONG have 32 bits, as on Windows: print them with %u and %d, not
 * with %lu and %ld.
 */
#define VOID		void
#define CONST		const

typedef void *PVOID;
typedef u8 UCHAR, *PUCHAR;
typedef u8 BOOLEAN, *PBOOLEAN;
typedef s8 CHAR, *PCHAR;
typedef s16 SHORT, CSHORT;
typedef u16 USHORT, *PUSHORT;
typedef int INT;
typedef unsigned int UINT;
typedef s32 LONG, *PLONG;
typedef u32 ULONG, *PULONG;
typedef s64 LONGLONG;
typedef u64 ULONGLONG;
typedef u8 UINT8;
typedef u16 UINT16;
typedef u32 UINT32, *PUINT32;
typedef u64 UINT64, *PUINT64;
typedef s32 INT32;
typedef s64 INT64;
typedef u32 ULONG32;
typedef u64 ULONG64;
typedef size_t SIZE_T, *PSIZE_T;
typedef unsigned long ULONG_PTR;
typedef unsigned long UINT_PTR;
typedef ULONG_PTR KAFFINITY;
typedef unsigned long PFN_NUMBER, *PPFN_NUMBER;
typedef u8 KIRQL;
typedef ULONG IF_INDEX;

#ifndef TRUE
#define TRUE	1
#endif
#ifndef FALSE
#define FALSE	0
#endif

/* The annotations of a source analyser that Linux does not have. */
#define _In_
#define _In_opt_
#define _In_reads_(n)
#define _In_reads_opt_(n)
#define _In_reads_bytes_(n)
#define _In_reads_bytes_opt_(n)
#define _Out_
#define _Out_opt_
#define _Out_writes_(n)
#define _Out_writes_to_(n, m)
#define _Out_writes_bytes_(n)
#define _Out_writes_bytes_opt_(n)
#define _Out_writes_bytes_to_(n, m)
#define _Out_writes_bytes_to_opt_(n, m)
#define _Outptr_
#define _Inout_
#define _Inout_opt_
#define _Use_decl_annotations_
#define _Must_inspect_result_
#define _Function_class_(name)
#define _IRQL_requires_(level)
#define _IRQL_requires_max_(level)
#define _IRQL_requires_min_(level)
#define _IRQL_requires_same_

#define UNREFERENCED_PARAMETER(p)		((void)(p))
#define CONTAINING_RECORD(address, type, field)	container_of(address, type, field)
#define FIELD_OFFSET(type, field)		((LONG)offsetof(type, field))
#define RtlZeroMemory(to, length)		memset(to, 0, length)
#define RtlCopyMemory(to, from, length)		memcpy(to, from, length)
#define MAXULONG				U32_MAX

/* How many pages a buffer touches. */
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(va, size) \
	((ULONG)DIV_ROUND_UP(offset_in_page(va) + (size_t)(size), PAGE_SIZE))

/**
 * union _LARGE_INTEGER - 64 bits, whole or by halves
 * @LowPart: the lower half
 * @HighPart: the upper half
 * @QuadPart: the whole
 */
union _LARGE_INTEGER {
	struct {
#ifdef __LITTLE_ENDIAN
		ULONG LowPart;
		LONG HighPart;
#else
		LONG HighPart;
		ULONG LowPart;
#endif
	};
	LONGLONG QuadPart;
};
typedef union _LARGE_INTEGER LARGE_INTEGER, PHYSICAL_ADDRESS;

/**
 * struct _GUID - name of an extension
 * @Data1: first four bytes
 * @Data2: two more
 * @Data3: two more
 * @Data4: the other eight
 */
struct _GUID {
	ULONG Data1;
	USHORT Data2;
	USHORT Data3;
	UCHAR Data4[8];
};
typedef struct _GUID GUID;

/**
 * struct _GROUP_AFFINITY - processors of one group
 * @Mask: bit n is processor n of the group; the lowest one counts here
 * @Group: 64 processors make a group
 * @Reserved: zero
 */
struct _GROUP_AFFINITY {
	KAFFINITY Mask;
	USHORT Group;
	USHORT Reserved[3];
};
typedef struct _GROUP_AFFINITY GROUP_AFFINITY, *PGROUP_AFFINITY;

/*
 * Addresses are those of Linux, and so are the values of AF_INET6 and the names
 * of the members below sin_addr and sin6_addr.
 */
typedef struct sockaddr SOCKADDR, *PSOCKADDR;
typedef struct sockaddr_in SOCKADDR_IN, *PSOCKADDR_IN;
typedef struct sockaddr_in6 SOCKADDR_IN6, *PSOCKADDR_IN6;
typedef struct sockaddr_storage SOCKADDR_STORAGE, *PSOCKADDR_STORAGE;
typedef sa_family_t ADDRESS_FAMILY;

/**
 * union _SOCKADDR_INET - address of either family
 * @Ipv4: with @si_family AF_INET
 * @Ipv6: with @si_family AF_INET6
 * @si_family: family
 */
union _SOCKADDR_INET {
	SOCKADDR_IN Ipv4;
	SOCKADDR_IN6 Ipv6;
	ADDRESS_FAMILY si_family;
};
typedef union _SOCKADDR_INET SOCKADDR_INET, *PSOCKADDR_INET;

/* Statuses */
typedef LONG NTSTATUS;
typedef LONG NDIS_STATUS;

#define NT_SUCCESS(status)	((NTSTATUS)(status) >= 0)
#define NT_ERROR(status)	((ULONG)(status) >> 30 == 3)
#define NT_WARNING(status)	((ULONG)(status) >> 30 == 2)

#define STATUS_SUCCESS			((NTSTATUS)0x00000000)
#define STATUS_PENDING			((NTSTATUS)0x00000103)
#define STATUS_BUFFER_OVERFLOW		((NTSTATUS)0x80000005)
#define STATUS_DEVICE_BUSY		((NTSTATUS)0x80000011)
#define STATUS_NO_MORE_ENTRIES		((NTSTATUS)0x8000001A)
#define STATUS_ACCESS_VIOLATION		((NTSTATUS)0xC0000005)
#define STATUS_INVALID_PARAMETER	((NTSTATUS)0xC000000D)
#define STATUS_INVALID_DEVICE_REQUEST	((NTSTATUS)0xC0000010)
#define STATUS_BUFFER_TOO_SMALL		((NTSTATUS)0xC0000023)
#define STATUS_INVALID_PARAMETER_MIX	((NTSTATUS)0xC0000030)
#define STATUS_DATA_OVERRUN		((NTSTATUS)0xC000003C)
#define STATUS_SHARING_VIOLATION	((NTSTATUS)0xC0000043)
#define STATUS_INSUFFICIENT_RESOURCES	((NTSTATUS)0xC000009A)
#define STATUS_IO_TIMEOUT		((NTSTATUS)0xC00000B5)
#define STATUS_NOT_SUPPORTED		((NTSTATUS)0xC00000BB)
#define STATUS_INTERNAL_ERROR		((NTSTATUS)0xC00000E5)
#define STATUS_CANCELLED		((NTSTATUS)0xC0000120)
#define STATUS_REMOTE_RESOURCES		((NTSTATUS)0xC000013D)
#define STATUS_INVALID_ADDRESS		((NTSTATUS)0xC0000141)
#define STATUS_INVALID_DEVICE_STATE	((NTSTATUS)0xC0000184)
#define STATUS_INVALID_BUFFER_SIZE	((NTSTATUS)0xC0000206)
#define STATUS_TOO_MANY_ADDRESSES	((NTSTATUS)0xC0000209)
#define STATUS_ADDRESS_ALREADY_EXISTS	((NTSTATUS)0xC000020A)
#define STATUS_CONNECTION_DISCONNECTED	((NTSTATUS)0xC000020C)
#define STATUS_CONNECTION_REFUSED	((NTSTATUS)0xC0000236)
#define STATUS_CONNECTION_INVALID	((NTSTATUS)0xC000023A)
#define STATUS_CONNECTION_ACTIVE	((NTSTATUS)0xC000023B)
#define STATUS_NETWORK_UNREACHABLE	((NTSTATUS)0xC000023C)
#define STATUS_HOST_UNREACHABLE		((NTSTATUS)0xC000023D)
#define STATUS_CONNECTION_ABORTED	((NTSTATUS)0xC0000241)
#define STATUS_DEVICE_REMOVED		((NTSTATUS)0xC00002B6)
#define STATUS_IMPLEMENTATION_LIMIT	((NTSTATUS)0xC000042B)

#define NDIS_STATUS_SUCCESS		((NDIS_STATUS)STATUS_SUCCESS)
#define NDIS_STATUS_RESOURCES		((NDIS_STATUS)STATUS_INSUFFICIENT_RESOURCES)
#define NDIS_STATUS_BAD_VERSION		((NDIS_STATUS)0xC0010004)
#define NDIS_STATUS_ADAPTER_NOT_READY	((NDIS_STATUS)0xC0010011)

/* The one table: what each error number of <ndk/ndk.h> is on Windows. */
static const NTSTATUS ndkpi_statuses[] __maybe_unused = {
	[EINPROGRESS]		= STATUS_PENDING,
	[EOVERFLOW]		= STATUS_BUFFER_OVERFLOW,
	[EBUSY]			= STATUS_DEVICE_BUSY,
	[ENOBUFS]		= STATUS_NO_MORE_ENTRIES,
	[EACCES]		= STATUS_ACCESS_VIOLATION,
	[EINVAL]		= STATUS_INVALID_PARAMETER,
	[EBADRQC]		= STATUS_INVALID_DEVICE_REQUEST,
	[ENOSPC]		= STATUS_BUFFER_TOO_SMALL,
	[EDOM]			= STATUS_INVALID_PARAMETER_MIX,
	[EMSGSIZE]		= STATUS_DATA_OVERRUN,
	[EADDRINUSE]		= STATUS_SHARING_VIOLATION,
	[ENOMEM]		= STATUS_INSUFFICIENT_RESOURCES,
	[ETIMEDOUT]		= STATUS_IO_TIMEOUT,
	[EOPNOTSUPP]		= STATUS_NOT_SUPPORTED,
	[EIO]			= STATUS_INTERNAL_ERROR,
	[ECANCELED]		= STATUS_CANCELLED,
	[EREMOTEIO]		= STATUS_REMOTE_RESOURCES,
	[EADDRNOTAVAIL]		= STATUS_INVALID_ADDRESS,
	[EBADFD]		= STATUS_INVALID_DEVICE_STATE,
	[E2BIG]			= STATUS_INVALID_BUFFER_SIZE,
	[EUSERS]		= STATUS_TOO_MANY_ADDRESSES,
	[EEXIST]		= STATUS_ADDRESS_ALREADY_EXISTS,
	[ESHUTDOWN]		= STATUS_CONNECTION_DISCONNECTED,
	[ECONNREFUSED]		= STATUS_CONNECTION_REFUSED,
	[ENOTCONN]		= STATUS_CONNECTION_INVALID,
	[EISCONN]		= STATUS_CONNECTION_ACTIVE,
	[ENETUNREACH]		= STATUS_NETWORK_UNREACHABLE,
	[EHOSTUNREACH]		= STATUS_HOST_UNREACHABLE,
	[ECONNABORTED]		= STATUS_CONNECTION_ABORTED,
	[ENODEV]		= STATUS_DEVICE_REMOVED,
	[ERANGE]		= STATUS_IMPLEMENTATION_LIMIT,
	[EPROTONOSUPPORT]	= NDIS_STATUS_BAD_VERSION,
	[ENETDOWN]		= NDIS_STATUS_ADAPTER_NOT_READY,
};

/**
 * ndkpi_status - what a status of <ndk/ndk.h> is on Windows
 * @error: 0 or a negative errno
 *
 * Return: the status; STATUS_INTERNAL_ERROR for an error that has none.
 */
static inline NTSTATUS ndkpi_status(int error)
{
	unsigned int n = -(unsigned int)error;

	if (likely(!error))
		return STATUS_SUCCESS;
	if (n < ARRAY_SIZE(ndkpi_statuses) && ndkpi_statuses[n])
		return ndkpi_statuses[n];
	return STATUS_INTERNAL_ERROR;
}

/**
 * ndkpi_errno - what a status is on Linux
 * @status: a status of this file
 *
 * For what a ported consumer tells the rest of the kernel.
 * Return: 0 for STATUS_SUCCESS; else a negative errno, -EIO for a status that
 * has none.
 */
static inline int ndkpi_errno(NTSTATUS status)
{
	unsigned int n;

	if (!status)
		return 0;
	for (n = 0; n < ARRAY_SIZE(ndkpi_statuses); n++)
		if (ndkpi_statuses[n] == status)
			return -(int)n;
	return -EIO;
}

#endif /* _NDK_NDKPI_BASE_H */
