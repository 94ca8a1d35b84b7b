// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of ndk_trace.h, and for each a function that Rust calls while somebody listens to it. */

#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include "ndk_trace.h"
