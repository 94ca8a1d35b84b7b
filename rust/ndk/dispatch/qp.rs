// SPDX-License-Identifier: GPL-2.0

//! Functions of a QP.

use super::{
    close,
    given,
    open,
    query_extension,
    shared,
    slice_of,
    View, //
};
use crate::{
    ffi::{
        self,
        ndk_mr,
        ndk_mw,
        ndk_object_header,
        ndk_qp, //
    },
    mr::{
        self,
        Mr, //
    },
    mw::{
        self,
        Mw, //
    },
    qp::{
        self,
        Qp, //
    },
    state::{
        flags,
        status::Status, //
    },
    status::{
        self,
        Result, //
    },
    verbs::inline::Pieces, //
};
use core::ffi::{
    c_int,
    c_void, //
};

/// The pieces of a send or write.
///
/// # Safety
///
/// `sgl` is readable for `nr_sge` elements during `'a` where it is not null. With `NDK_OP_FLAG_INLINE`, the same holds for the
/// kernel memory that they name.
#[inline]
unsafe fn pieces_of<'a>(sgl: *const ffi::ndk_sge, nr_sge: u32, flags: u32) -> Result<Pieces<'a>> {
    let inline = flags & flags::INLINE != 0;
    // SAFETY: By this function's requirements.
    unsafe { slice_of(sgl, nr_sge).map(|sgl| Pieces::new(sgl, inline)) }
}

/// What an invalidation names.
///
/// # Safety
///
/// `object` is null or a handle that stays open during `'a`.
unsafe fn memory_of<'a>(object: *mut ndk_object_header) -> Result<qp::Memory<'a>> {
    // SAFETY: By this function's requirements.
    let kind = unsafe { object.as_ref() }.map(|header| header.type_);
    match kind {
        Some(ffi::ndk_object_type_NDK_OBJECT_MR) => {
            // SAFETY: It is an MR, by its header, and open by this function's requirements.
            Ok(qp::Memory::Mr(unsafe { open::<Mr>(object.cast()) }))
        }
        Some(ffi::ndk_object_type_NDK_OBJECT_MW) => {
            // SAFETY: It is a window, by its header, and open by this function's requirements.
            Ok(qp::Memory::Mw(unsafe { open::<Mw>(object.cast()) }))
        }
        _ => Err(Status::InvalidParameter),
    }
}

unsafe extern "C" fn flush(qp: *mut ndk_qp) {
    // SAFETY: The consumer's, as the module documentation says.
    qp::flush(&unsafe { shared::<Qp>(qp) });
}

unsafe extern "C" fn send(
    qp: *mut ndk_qp,
    context: *mut c_void,
    sgl: *const ffi::ndk_sge,
    nr_sge: u32,
    flags: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, pieces) = unsafe { (open::<Qp>(qp), pieces_of(sgl, nr_sge, flags)) };
    status::of(qp.initiate(|qp| qp.send(context, pieces?, flags, None)))
}

unsafe extern "C" fn receive(
    qp: *mut ndk_qp,
    context: *mut c_void,
    sgl: *const ffi::ndk_sge,
    nr_sge: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, sgl) = unsafe { (open::<Qp>(qp), slice_of(sgl, nr_sge)) };
    status::of(sgl.and_then(|sgl| qp.receive(context, sgl)))
}

unsafe extern "C" fn bind(
    qp: *mut ndk_qp,
    context: *mut c_void,
    mr: *mut ndk_mr,
    mw: *mut ndk_mw,
    va: u64,
    length: u64,
    flags: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, mr, mw) = unsafe { (open::<Qp>(qp), given::<Mr>(mr), given::<Mw>(mw)) };
    let bind = mw::Bind { va, length, flags };
    status::of(qp.initiate(|qp| qp.bind(context, mr?, &*mw?, bind)))
}

unsafe extern "C" fn fast_register(
    qp: *mut ndk_qp,
    context: *mut c_void,
    mr: *mut ndk_mr,
    page_count: u32,
    pages: *const u64,
    fbo: u32,
    length: u64,
    va: u64,
    flags: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, mr, pages) = unsafe { (open::<Qp>(qp), given::<Mr>(mr), slice_of(pages, page_count)) };
    status::of(qp.initiate(|qp| {
        let region = mr::Region {
            pages: pages?,
            fbo,
            length,
            va,
        };
        qp.fast_register(context, &*mr?, region, flags)
    }))
}

unsafe extern "C" fn invalidate(
    qp: *mut ndk_qp,
    context: *mut c_void,
    mr_or_mw: *mut ndk_object_header,
    flags: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, memory) = unsafe { (open::<Qp>(qp), memory_of(mr_or_mw)) };
    status::of(qp.initiate(|qp| qp.invalidate(context, memory?, flags)))
}

unsafe extern "C" fn read(
    qp: *mut ndk_qp,
    context: *mut c_void,
    sgl: *const ffi::ndk_sge,
    nr_sge: u32,
    remote_address: u64,
    remote_token: u32,
    flags: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, sgl) = unsafe { (open::<Qp>(qp), slice_of(sgl, nr_sge)) };
    let remote = qp::Remote {
        address: remote_address,
        token: remote_token,
    };
    status::of(qp.initiate(|qp| qp.read(context, sgl?, remote, flags)))
}

unsafe extern "C" fn write(
    qp: *mut ndk_qp,
    context: *mut c_void,
    sgl: *const ffi::ndk_sge,
    nr_sge: u32,
    remote_address: u64,
    remote_token: u32,
    flags: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, pieces) = unsafe { (open::<Qp>(qp), pieces_of(sgl, nr_sge, flags)) };
    let remote = qp::Remote {
        address: remote_address,
        token: remote_token,
    };
    status::of(qp.initiate(|qp| qp.write(context, pieces?, remote, flags)))
}

unsafe extern "C" fn send_and_invalidate(
    qp: *mut ndk_qp,
    context: *mut c_void,
    sgl: *const ffi::ndk_sge,
    nr_sge: u32,
    flags: u32,
    remote_token: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, pieces) = unsafe { (open::<Qp>(qp), pieces_of(sgl, nr_sge, flags)) };
    status::of(qp.initiate(|qp| qp.send(context, pieces?, flags, Some(remote_token))))
}

/// Functions of a QP.
static DISPATCH: ffi::ndk_qp_dispatch = ffi::ndk_qp_dispatch {
    close: Some(close::<Qp>),
    query_extension: Some(query_extension),
    flush: Some(flush),
    send: Some(send),
    receive: Some(receive),
    bind: Some(bind),
    fast_register: Some(fast_register),
    invalidate: Some(invalidate),
    read: Some(read),
    write: Some(write),
    send_and_invalidate: Some(send_and_invalidate),
};

impl View for ndk_qp {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_QP;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
