// SPDX-License-Identifier: GPL-2.0

//! Functions of a CQ.

use super::{
    close,
    open,
    pending_request,
    query_extension,
    View, //
};
use crate::{
    cq::{
        self,
        Cq, //
    },
    ffi::{
        self,
        ndk_cq,
        ndk_object_header, //
    },
    state::arm::ArmType,
    status,
    trace,
    verbs::{
        poll::Sink,
        work::Completed, //
    }, //
};
use core::{
    ffi::{
        c_int,
        c_void, //
    },
    ptr, //
};
use kernel::sync::Arc;

unsafe extern "C" fn resize_cq(
    cq: *mut ndk_cq,
    depth: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        pending_request(cq, completion, context, |cq, completion| {
            cq::resize(cq, depth, completion)
        })
    }
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

/// The two forms in which a consumer takes results.
trait Record {
    /// The C structure for a completion.
    fn new(completed: &Completed) -> Self;
}

impl Record for ffi::ndk_result {
    #[inline]
    fn new(completed: &Completed) -> Self {
        Self {
            status: status::of(completed.result),
            bytes_transferred: completed.bytes,
            qp_context: ptr::with_exposed_provenance_mut(completed.qp_context),
            request_context: ptr::with_exposed_provenance_mut(completed.request_context),
        }
    }
}

impl Record for ffi::ndk_result_ex {
    #[inline]
    fn new(completed: &Completed) -> Self {
        Self {
            status: status::of(completed.result),
            bytes_transferred: completed.bytes,
            qp_context: ptr::with_exposed_provenance_mut(completed.qp_context),
            request_context: ptr::with_exposed_provenance_mut(completed.request_context),
            type_: completed.operation,
            provider_error_code: completed.provider_error,
            type_specific: u64::from(completed.token),
        }
    }
}

/// The consumer's array of results.
///
/// # Invariants
///
/// `next` is writable for `room - taken` elements.
struct Results<R> {
    /// What traces call the CQ.
    cq: u64,
    next: *mut R,
    room: u32,
    taken: u32,
}

impl<R: Record> Sink for Results<R> {
    #[inline]
    fn left(&self) -> u32 {
        self.room - self.taken
    }

    #[inline]
    fn put(&mut self, completed: &Completed) {
        if self.taken == self.room {
            return;
        }
        trace::completion(
            self.cq,
            status::of(completed.result),
            completed.operation,
            completed.bytes,
            completed.qp_context,
            completed.request_context,
        );
        // SAFETY: By the type invariant there is room for one more.
        unsafe {
            self.next.write(R::new(completed));
            self.next = self.next.add(1);
        }
        self.taken += 1;
    }
}

/// Both forms of get_cq_results.
///
/// # Safety
///
/// As the module documentation says.
#[inline]
unsafe fn get_results<R: Record>(cq: *mut ndk_cq, results: *mut R, count: u32) -> u32 {
    // SAFETY: By the requirements of this function.
    let cq = unsafe { open::<Cq>(cq) };
    // INVARIANT: The consumer gives an array of that size.
    let mut results = Results {
        cq: cq.number(),
        next: results,
        room: count,
        taken: 0,
    };
    // SAFETY: The consumer serializes polls of one CQ.
    unsafe { cq.poller().poll(&mut results) };
    results.taken
}

unsafe extern "C" fn get_cq_results(
    cq: *mut ndk_cq,
    results: *mut ffi::ndk_result,
    count: u32,
) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { get_results(cq, results, count) }
}

unsafe extern "C" fn get_cq_results_ex(
    cq: *mut ndk_cq,
    results: *mut ffi::ndk_result_ex,
    count: u32,
) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { get_results(cq, results, count) }
}

unsafe extern "C" fn control_cq_interrupt_moderation(
    cq: *mut ndk_cq,
    interval: u32,
    count: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let cq: Arc<Cq> = unsafe { open::<Cq>(cq) }.into();
    status::of(cq.moderate(interval, count))
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
