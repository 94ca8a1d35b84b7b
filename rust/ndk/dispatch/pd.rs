// SPDX-License-Identifier: GPL-2.0

//! Functions of a PD.

use super::{
    close,
    open,
    pending_create,
    put_handle,
    query_extension,
    shared,
    View, //
};
use crate::{
    callback::SrqNotification,
    cq::Cq,
    ffi::{
        self,
        ndk_cq,
        ndk_mr,
        ndk_mw,
        ndk_object_header,
        ndk_pd,
        ndk_qp,
        ndk_srq, //
    },
    mr,
    mw,
    pd::Pd,
    qp,
    srq::{
        self,
        Srq, //
    },
    state::status::Status,
    status,
    sync::Affinity, //
};
use core::ffi::{
    c_int,
    c_void, //
};

unsafe extern "C" fn create_mr(
    pd: *mut ndk_pd,
    fast_register: bool,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    mr: *mut *mut ndk_mr,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let pd = unsafe { shared::<Pd>(pd) };
    // SAFETY: As above.
    unsafe { put_handle(mr, || mr::create(&pd, fast_register)) }
}

unsafe extern "C" fn create_mw(
    pd: *mut ndk_pd,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _mw: *mut *mut ndk_mw,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { pending_create(pd, completion, context, mw::create) }
}

unsafe extern "C" fn create_srq(
    pd: *mut ndk_pd,
    depth: u32,
    max_sge: u32,
    notify_threshold: u32,
    notification: ffi::ndk_srq_notification_fn,
    notification_context: *mut c_void,
    affinity: c_int,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _srq: *mut *mut ndk_srq,
) -> c_int {
    let config = srq::Config {
        depth,
        max_sge,
        threshold: notify_threshold,
        affinity: Affinity::new(affinity),
    };
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let notification = SrqNotification::new(notification, notification_context);
        pending_create(pd, completion, context, |pd, completion| {
            srq::create(pd, config, notification, completion)
        })
    }
}

unsafe extern "C" fn create_qp(
    pd: *mut ndk_pd,
    receive_cq: *mut ndk_cq,
    initiator_cq: *mut ndk_cq,
    qp_context: *mut c_void,
    receive_depth: u32,
    initiator_depth: u32,
    max_receive_sge: u32,
    max_initiator_sge: u32,
    inline_size: u32,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _qp: *mut *mut ndk_qp,
) -> c_int {
    if receive_cq.is_null() || initiator_cq.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    let config = qp::Config {
        context: qp_context.expose_provenance(),
        initiator_depth,
        max_initiator_sge,
        inline_size,
    };
    let receives = qp::Wanted::Own {
        depth: receive_depth,
        max_sge: max_receive_sge,
    };
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let (receive_cq, initiator_cq) = (shared::<Cq>(receive_cq), shared::<Cq>(initiator_cq));
        pending_create(pd, completion, context, |pd, completion| {
            qp::create(pd, &receive_cq, &initiator_cq, receives, config, completion)
        })
    }
}

unsafe extern "C" fn create_qp_with_srq(
    pd: *mut ndk_pd,
    receive_cq: *mut ndk_cq,
    initiator_cq: *mut ndk_cq,
    srq: *mut ndk_srq,
    qp_context: *mut c_void,
    initiator_depth: u32,
    max_initiator_sge: u32,
    inline_size: u32,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _qp: *mut *mut ndk_qp,
) -> c_int {
    if receive_cq.is_null() || initiator_cq.is_null() || srq.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    let config = qp::Config {
        context: qp_context.expose_provenance(),
        initiator_depth,
        max_initiator_sge,
        inline_size,
    };
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let (receive_cq, initiator_cq) = (shared::<Cq>(receive_cq), shared::<Cq>(initiator_cq));
        let receives = qp::Wanted::Shared(shared::<Srq>(srq));
        pending_create(pd, completion, context, |pd, completion| {
            qp::create(pd, &receive_cq, &initiator_cq, receives, config, completion)
        })
    }
}

unsafe extern "C" fn get_privileged_token(pd: *mut ndk_pd) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Pd>(pd) }.privileged_token()
}

/// Functions of a PD.
static DISPATCH: ffi::ndk_pd_dispatch = ffi::ndk_pd_dispatch {
    close: Some(close::<Pd>),
    query_extension: Some(query_extension),
    create_mr: Some(create_mr),
    create_mw: Some(create_mw),
    create_srq: Some(create_srq),
    create_qp: Some(create_qp),
    create_qp_with_srq: Some(create_qp_with_srq),
    get_privileged_token: Some(get_privileged_token),
};

impl View for ndk_pd {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_PD;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
