// SPDX-License-Identifier: GPL-2.0
/* The symbols for kernel consumers; the functions are in rust/ndk/exports.rs. */

#include <linux/export.h>
#include <ndk/ndk.h>
#include <ndk/ndk_query.h>

EXPORT_SYMBOL_NS_GPL(ndk_open_adapter, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_close_adapter, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_register_client, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_unregister_client, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_query_capabilities, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_query_statistics, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_query_connections, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_query_local_endpoints, "NDK");
