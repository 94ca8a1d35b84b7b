// SPDX-License-Identifier: GPL-2.0

//! Functions of a listener.

use super::{
    address_of,
    close,
    open,
    pending_request,
    put_address,
    query_extension,
    View, //
};
use crate::{
    ffi::{
        self,
        ndk_listener,
        ndk_object_header, //
    },
    listener::{
        self,
        Listener, //
    },
    status, //
};
use core::ffi::{
    c_int,
    c_void, //
};

unsafe extern "C" fn listen(
    listener: *mut ndk_listener,
    address: *const ffi::sockaddr,
    address_len: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        pending_request(listener, completion, context, |listener, completion| {
            listener::listen(listener, address_of(address, address_len)?, completion)
        })
    }
}

unsafe extern "C" fn get_listener_local_address(
    listener: *mut ndk_listener,
    address: *mut ffi::sockaddr,
    address_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    status::of(unsafe {
        put_address(
            open::<Listener>(listener).local_address(),
            address,
            address_len,
        )
    })
}

unsafe extern "C" fn control_connect_events(listener: *mut ndk_listener, pause: bool) {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Listener>(listener) }.control_connect_events(pause);
}

/// Functions of a listener.
static DISPATCH: ffi::ndk_listener_dispatch = ffi::ndk_listener_dispatch {
    close: Some(close::<Listener>),
    query_extension: Some(query_extension),
    listen: Some(listen),
    get_local_address: Some(get_listener_local_address),
    control_connect_events: Some(control_connect_events),
};

impl View for ndk_listener {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_LISTENER;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
