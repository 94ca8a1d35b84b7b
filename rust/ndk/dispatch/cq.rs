// SPDX-License-Identifier: GPL-2.0

//! Functions of a CQ.

use super::{
    close,
    open,
    query_extension,
    View, //
};
use crate::{
    cq::Cq,
    ffi::{
        self,
        ndk_cq,
        ndk_object_header, //
    },
    state::{
        arm::ArmType,
        status::Status, //
    },
    status, //
};
use core::ffi::{
    c_int,
    c_void, //
};

unsafe extern "C" fn resize_cq(
    _cq: *mut ndk_cq,
    _depth: u32,
    _completion: ffi::ndk_request_completion_fn,
    _context: *mut c_void,
) -> c_int {
    status::to_errno(Status::NotSupported)
}

unsafe extern "C" fn arm_cq(cq: *mut ndk_cq, kind: u32) {
    let kind = match kind {
        ffi::ndk_cq_notify_NDK_CQ_NOTIFY_ANY => ArmType::Any,
        ffi::ndk_cq_notify_NDK_CQ_NOTIFY_SOLICITED => ArmType::Solicited,
        // Nothing can be answered, and the weakest arm does the least.
        _ => ArmType::Errors,
    };
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Cq>(cq) }.arm(kind);
}

unsafe extern "C" fn get_cq_results(
    cq: *mut ndk_cq,
    results: *mut ffi::ndk_result,
    count: u32,
) -> u32 {
    // SAFETY: The consumer's, as the module documentation says; `results` has room for `count`.
    unsafe { open::<Cq>(cq).poll(results, count) }
}

unsafe extern "C" fn get_cq_results_ex(
    cq: *mut ndk_cq,
    results: *mut ffi::ndk_result_ex,
    count: u32,
) -> u32 {
    // SAFETY: The consumer's, as the module documentation says; `results` has room for `count`.
    unsafe { open::<Cq>(cq).poll(results, count) }
}

unsafe extern "C" fn control_cq_interrupt_moderation(
    _cq: *mut ndk_cq,
    _interval: u32,
    _count: u32,
) -> c_int {
    status::to_errno(Status::NotSupported)
}

/// Functions of a CQ.
static DISPATCH: ffi::ndk_cq_dispatch = ffi::ndk_cq_dispatch {
    close: Some(close::<Cq>),
    query_extension: Some(query_extension),
    resize: Some(resize_cq),
    arm: Some(arm_cq),
    get_results: Some(get_cq_results),
    control_interrupt_moderation: Some(control_cq_interrupt_moderation),
    get_results_ex: Some(get_cq_results_ex),
};

impl View for ndk_cq {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_CQ;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
