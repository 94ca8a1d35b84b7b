// SPDX-License-Identifier: GPL-2.0

//! Tracepoints: `ffi/ndk_trace.h` has the events and their fields, and [`Documentation/observability.rst`] tells what they mean.
//!
//! While nobody listens to an event it costs a branch that is patched out; its arguments are made inside.

use super::sockaddr_storage;
use core::ffi::{
    c_int,
    CStr, //
};
use kernel::prelude::*;

/// Calls a tracepoint of `ndk_trace.h` if somebody listens to it.
///
/// # Safety
///
/// Pointers among the arguments are valid during the call: strings are terminated, what else is named is what the event takes.
macro_rules! event {
    ($name:ident, $($arg:expr),* $(,)?) => {{
        #[cfg(CONFIG_TRACEPOINTS)]
        ::kernel::macros::paste! {
            if ::kernel::jump_label::static_branch_unlikely!(
                $crate::ffi::[<__tracepoint_ $name>],
                ::kernel::bindings::tracepoint,
                key
            ) {
                $crate::ffi::[<rust_do_trace_ $name>]($($arg),*);
            }
        }
        #[cfg(not(CONFIG_TRACEPOINTS))]
        {
            $(let _ = || $arg;)*
        }
    }};
}
pub(crate) use event;

macro_rules! events {
    ($($(#[$doc:meta])* fn $fn:ident($($arg:ident: $type:ty),*) = $event:ident($($value:expr),*);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $fn($($arg: $type),*) {
            // SAFETY: The key is the tracepoint's own; references are valid, and what the event takes.
            unsafe { event!($event, $($value),*) };
        }
    )*};
}

events! {
    /// A port has come.
    fn device_add(device: &CStr, port: u32) = ndk_device_add(device.as_char_ptr(), port);

    /// A port is about to be revoked.
    fn device_remove(device: &CStr, port: u32) = ndk_device_remove(device.as_char_ptr(), port);

    /// Nothing of a port is left on its device.
    fn device_removed(device: &CStr, port: u32) = ndk_device_removed(device.as_char_ptr(), port);

    /// A consumer gets the handle of an object.
    fn object_create(object: u64, kind: u32) = ndk_object_create(object, kind);

    /// A consumer closes an object.
    fn object_close(object: u64, kind: u32) = ndk_object_close(object, kind);

    /// The close of an object completes.
    fn object_closed(object: u64, kind: u32) = ndk_object_closed(object, kind);

    /// A connector goes to another state.
    fn connector_state(object: u64, from: &CStr, to: &CStr) =
        ndk_connector_state(object, from.as_char_ptr(), to.as_char_ptr());

    /// A listener goes to another state.
    fn listener_state(object: u64, from: &CStr, to: &CStr) =
        ndk_listener_state(object, from.as_char_ptr(), to.as_char_ptr());

    /// An id of the connection manager was bound, or not, to an endpoint.
    fn endpoint_bind(local: &sockaddr_storage, status: c_int) = ndk_endpoint_bind(local, status);

    /// A completion goes to the consumer.
    fn completion(
        cq: u64, status: c_int, operation: u32, bytes: u32, qp_context: usize, context: usize
    ) = ndk_completion(cq, status, operation, bytes, qp_context as u64, context as u64);

    /// A CQ is armed.
    fn arm(cq: u64, kind: u32) = ndk_arm(cq, kind);

    /// The notification of a CQ is called.
    fn notify_begin(cq: u64, status: c_int) = ndk_notify_begin(cq, status);

    /// The notification of a CQ has returned.
    fn notify_end(cq: u64, status: c_int) = ndk_notify_end(cq, status);

    /// A receive was posted to an SRQ, or refused by the device.
    fn srq_receive(srq: u64, context: usize, level: u32, status: c_int) =
        ndk_srq_receive(srq, context as u64, level, status);

    /// An SRQ was modified, or not.
    fn srq_modify(srq: u64, depth: u32, threshold: u32, status: c_int) =
        ndk_srq_modify(srq, depth, threshold, status);

    /// The notification of an SRQ is called.
    fn srq_notify_begin(srq: u64, status: c_int) = ndk_srq_notify_begin(srq, status);

    /// The notification of an SRQ has returned.
    fn srq_notify_end(srq: u64, status: c_int) = ndk_srq_notify_end(srq, status);

    /// An MR was registered, or not.
    fn mr_register(mr: u64, token: u32, va: u64, length: u64, flags: u32, status: c_int) =
        ndk_mr_register(mr, token, va, length, flags, status);

    /// A fast registration was posted, or not.
    fn mr_fast_register(mr: u64, token: u32, va: u64, length: u64, flags: u32, status: c_int) =
        ndk_mr_fast_register(mr, token, va, length, flags, status);

    /// The end of a fast registration was posted, or not.
    fn mr_invalidate(mr: u64, token: u32, status: c_int) = ndk_mr_invalidate(mr, token, status);

    /// A registration was ended.
    fn mr_deregister(mr: u64, token: u32, status: c_int) = ndk_mr_deregister(mr, token, status);
}
