/* SPDX-License-Identifier: GPL-2.0 */
/* What bindgen reads for Rust consumers. */
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <ndk/ndk.h>
#include <ndk/ndk_query.h>
