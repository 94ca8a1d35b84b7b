// SPDX-License-Identifier: GPL-2.0

//! Raw items of `include/ndk/ndk.h`, and the few functions of `helpers.c`.

#![allow(
    clippy::all,
    clippy::as_underscore,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    improper_ctypes,
    unreachable_pub,
    unused_imports,
    unsafe_op_in_unsafe_fn
)]

mod generated {
    use kernel::bindings::*;
    use kernel::ffi;
    use pin_init::{
        MaybeZeroable,
        Zeroable, //
    };

    type __kernel_size_t = usize;
    type __kernel_ssize_t = isize;
    type __kernel_ptrdiff_t = isize;

    include!(concat!(env!("NDK_GENERATED"), "/ndk_api_generated.rs"));
}

pub(crate) use generated::*;
pub(crate) use kernel::bindings::{
    net,
    sg_table,
    sockaddr,
    sockaddr_in,
    sockaddr_in6, //
};

extern "C" {
    pub(crate) fn ndk_client_current_net() -> *mut net;
    pub(crate) fn ndk_client_get_net(net: *mut net) -> *mut net;
    pub(crate) fn ndk_client_put_net(net: *mut net);
    pub(crate) fn ndk_client_in_softirq() -> bool;
    pub(crate) fn ndk_client_alloc_queue(
        name: *const kernel::ffi::c_char,
    ) -> *mut kernel::bindings::workqueue_struct;
}
