// SPDX-License-Identifier: GPL-2.0
/* The symbols for kernel consumers; the functions are in rust/ndk/exports.rs. */

#include <linux/export.h>
#include <ndk/ndk.h>

EXPORT_SYMBOL_NS_GPL(ndk_open_adapter, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_close_adapter, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_register_client, "NDK");
EXPORT_SYMBOL_NS_GPL(ndk_unregister_client, "NDK");
