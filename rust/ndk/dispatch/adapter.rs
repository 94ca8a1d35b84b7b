// SPDX-License-Identifier: GPL-2.0

//! Functions of an adapter.

use super::{
    address_of,
    buffer_of,
    open,
    pending_create,
    put_handle,
    query_extension,
    required,
    shared,
    View, //
};
use crate::{
    adapter::{
        self,
        Adapter, //
    },
    callback::{
        ConnectEvent,
        CqNotification, //
    },
    connector,
    cq,
    ffi::{
        self,
        ndk_adapter,
        ndk_connector,
        ndk_cq,
        ndk_lam,
        ndk_listener,
        ndk_object_header,
        ndk_pd,
        ndk_shared_endpoint, //
    },
    lam::{
        self,
        Lam, //
    },
    listener,
    pd,
    shared_endpoint,
    state::status::Status,
    status, //
};
use core::ffi::{
    c_int,
    c_void, //
};
use kernel::sync::Arc;

unsafe extern "C" fn query_adapter_info(
    adapter: *mut ndk_adapter,
    info: *mut ffi::ndk_adapter_info,
    size: *mut usize,
) -> c_int {
    if size.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: The consumer's, as the module documentation says.
    let adapter = unsafe { open::<Adapter>(adapter) };
    // SAFETY: As above.
    let room = unsafe { *size };
    let (result, bytes) = match adapter.info() {
        Ok(full) => {
            let (result, bytes) = adapter::info_fits(if info.is_null() { 0 } else { room });
            if result.is_ok() {
                // SAFETY: `bytes` is at most `room` and the size of the structure.
                unsafe {
                    info.cast::<u8>()
                        .copy_from_nonoverlapping((&raw const full).cast(), bytes)
                };
            }
            (result, bytes)
        }
        Err(status) => (Err(status), 0),
    };
    // SAFETY: As above.
    unsafe { size.write(bytes) };
    status::of(result)
}

unsafe extern "C" fn create_cq(
    adapter: *mut ndk_adapter,
    depth: u32,
    notification: ffi::ndk_cq_notification_fn,
    notification_context: *mut c_void,
    affinity: c_int,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _cq: *mut *mut ndk_cq,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let notification = CqNotification::new(notification, notification_context);
        pending_create(adapter, completion, context, |adapter, completion| {
            cq::create(
                adapter,
                depth,
                required(notification)?,
                affinity,
                completion,
            )
        })
    }
}

unsafe extern "C" fn create_pd(
    adapter: *mut ndk_adapter,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _pd: *mut *mut ndk_pd,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { pending_create(adapter, completion, context, pd::create) }
}

unsafe extern "C" fn create_shared_endpoint(
    adapter: *mut ndk_adapter,
    address: *const ffi::sockaddr,
    address_len: u32,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _endpoint: *mut *mut ndk_shared_endpoint,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        pending_create(adapter, completion, context, |adapter, completion| {
            shared_endpoint::create(adapter, address_of(address, address_len)?, completion)
        })
    }
}

unsafe extern "C" fn create_connector(
    adapter: *mut ndk_adapter,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    connector: *mut *mut ndk_connector,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let adapter = unsafe { shared::<Adapter>(adapter) };
    // SAFETY: As above.
    unsafe { put_handle(connector, || connector::create(&adapter)) }
}

unsafe extern "C" fn create_listener(
    adapter: *mut ndk_adapter,
    connect_event: ffi::ndk_connect_event_fn,
    connect_event_context: *mut c_void,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    listener: *mut *mut ndk_listener,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (adapter, event) = unsafe {
        (
            shared::<Adapter>(adapter),
            ConnectEvent::new(connect_event, connect_event_context),
        )
    };
    // SAFETY: As above.
    unsafe { put_handle(listener, || listener::create(&adapter, required(event)?)) }
}

unsafe extern "C" fn build_lam(
    adapter: *mut ndk_adapter,
    sgl: *mut ffi::scatterlist,
    nents: u32,
    length: u64,
    _completion: ffi::ndk_request_completion_fn,
    _context: *mut c_void,
    lam: *mut ndk_lam,
    lam_size: *mut usize,
    fbo: *mut u32,
) -> c_int {
    if lam_size.is_null() || (!lam.is_null() && fbo.is_null()) {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: The consumer's, as the module documentation says.
    let adapter = unsafe { shared::<Adapter>(adapter) };
    // SAFETY: The consumer gives a scatterlist of `nents` entries, and leaves it alone until the LAM is released.
    let buffer = match unsafe { buffer_of(sgl, nents, length) } {
        Ok(buffer) => buffer,
        Err(status) => return status::to_errno(status),
    };
    let needed = lam::size(buffer.page_count());
    // SAFETY: As above.
    let room = unsafe { lam_size.replace(needed) };
    if lam.is_null() || room < needed {
        return status::to_errno(Status::BufferTooSmall);
    }
    let offset = buffer.offset();
    match lam::build(&adapter, buffer) {
        Ok((built, pages)) => {
            // SAFETY: `lam` has room for `needed` bytes, by the check above.
            unsafe {
                fbo.write(offset);
                (*lam).page_count = pages.len() as u32;
                (*lam).reserved = 0;
                (*lam)
                    .pages
                    .as_mut_ptr()
                    .copy_from_nonoverlapping(pages.as_ptr(), pages.len());
                (*lam).adapter_context = Arc::into_raw(built).cast_mut().cast();
            }
            0
        }
        Err(status) => status::to_errno(status),
    }
}

unsafe extern "C" fn release_lam(_adapter: *mut ndk_adapter, lam: *mut ndk_lam) {
    // SAFETY: The consumer gives back a LAM that `build_lam` filled in, once.
    let lam = unsafe { Arc::from_raw((*lam).adapter_context.cast::<Lam>()) };
    lam.release();
}

/// Functions of an adapter.
static DISPATCH: ffi::ndk_adapter_dispatch = ffi::ndk_adapter_dispatch {
    query_extension: Some(query_extension),
    query_adapter_info: Some(query_adapter_info),
    create_cq: Some(create_cq),
    create_pd: Some(create_pd),
    create_shared_endpoint: Some(create_shared_endpoint),
    create_connector: Some(create_connector),
    create_listener: Some(create_listener),
    build_lam: Some(build_lam),
    release_lam: Some(release_lam),
};

impl View for ndk_adapter {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_ADAPTER;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
