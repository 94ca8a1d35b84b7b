// SPDX-License-Identifier: GPL-2.0

//! Functions of a shared endpoint.

use super::{
    close,
    open,
    put_address,
    query_extension,
    View, //
};
use crate::{
    ffi::{
        self,
        ndk_object_header,
        ndk_shared_endpoint, //
    },
    shared_endpoint::SharedEndpoint,
    status, //
};
use core::ffi::c_int;

unsafe extern "C" fn get_shared_endpoint_local_address(
    endpoint: *mut ndk_shared_endpoint,
    address: *mut ffi::sockaddr,
    address_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    status::of(unsafe {
        put_address(
            open::<SharedEndpoint>(endpoint).local_address(),
            address,
            address_len,
        )
    })
}

/// Functions of a shared endpoint.
static DISPATCH: ffi::ndk_shared_endpoint_dispatch = ffi::ndk_shared_endpoint_dispatch {
    close: Some(close::<SharedEndpoint>),
    query_extension: Some(query_extension),
    get_local_address: Some(get_shared_endpoint_local_address),
};

impl View for ndk_shared_endpoint {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_SHARED_ENDPOINT;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
