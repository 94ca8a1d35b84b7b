// SPDX-License-Identifier: GPL-2.0

//! Functions of an MR.

use super::{
    buffer_of,
    close,
    open,
    pending_request,
    query_extension,
    View, //
};
use crate::{
    ffi::{
        self,
        ndk_mr,
        ndk_object_header, //
    },
    mr::{
        self,
        Mr, //
    },
};
use core::ffi::{
    c_int,
    c_void, //
};

unsafe extern "C" fn register_mr(
    mr: *mut ndk_mr,
    sgl: *mut ffi::scatterlist,
    nents: u32,
    va: u64,
    length: u64,
    flags: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says. It leaves the scatterlist of `nents` entries alone until it is
    // deregistered.
    unsafe {
        pending_request(mr, completion, context, |mr, completion| {
            let buffer = buffer_of(sgl, nents, length)?;
            mr::register(mr, buffer, va, flags, completion)
        })
    }
}

unsafe extern "C" fn deregister_mr(
    mr: *mut ndk_mr,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { pending_request(mr, completion, context, mr::deregister) }
}

unsafe extern "C" fn initialize_fast_register(
    mr: *mut ndk_mr,
    page_count: u32,
    remote_access: bool,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        pending_request(mr, completion, context, |mr, completion| {
            mr::initialize_fast_register(mr, page_count, remote_access, completion)
        })
    }
}

unsafe extern "C" fn get_remote_token(mr: *mut ndk_mr) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Mr>(mr) }.remote_token()
}

unsafe extern "C" fn get_local_token(mr: *mut ndk_mr) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Mr>(mr) }.local_token()
}

/// Functions of an MR.
static DISPATCH: ffi::ndk_mr_dispatch = ffi::ndk_mr_dispatch {
    close: Some(close::<Mr>),
    query_extension: Some(query_extension),
    register_mr: Some(register_mr),
    deregister: Some(deregister_mr),
    initialize_fast_register: Some(initialize_fast_register),
    get_remote_token: Some(get_remote_token),
    get_local_token: Some(get_local_token),
};

impl View for ndk_mr {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_MR;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
