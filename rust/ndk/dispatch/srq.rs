// SPDX-License-Identifier: GPL-2.0

//! Functions of an SRQ.

use super::{
    close,
    open,
    pending_request,
    query_extension,
    slice_of,
    View, //
};
use crate::{
    ffi::{
        self,
        ndk_object_header,
        ndk_srq, //
    },
    srq::{
        self,
        Srq, //
    },
    status, //
};
use core::ffi::{
    c_int,
    c_void, //
};

unsafe extern "C" fn modify_srq(
    srq: *mut ndk_srq,
    depth: u32,
    notify_threshold: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        pending_request(srq, completion, context, |srq: &_, completion| {
            srq::modify(srq, depth, notify_threshold, completion)
        })
    }
}

unsafe extern "C" fn srq_receive(
    srq: *mut ndk_srq,
    context: *mut c_void,
    sgl: *const ffi::ndk_sge,
    nr_sge: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (srq, sgl) = unsafe { (open::<Srq>(srq), slice_of(sgl, nr_sge)) };
    status::of(sgl.and_then(|sgl| srq.receive(context, sgl)))
}

/// Functions of an SRQ.
static DISPATCH: ffi::ndk_srq_dispatch = ffi::ndk_srq_dispatch {
    close: Some(close::<Srq>),
    query_extension: Some(query_extension),
    modify: Some(modify_srq),
    receive: Some(srq_receive),
};

impl View for ndk_srq {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_SRQ;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
