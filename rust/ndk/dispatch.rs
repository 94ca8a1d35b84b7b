// SPDX-License-Identifier: GPL-2.0

//! The C entry points: the only place where a consumer's pointer becomes a reference.
//!
//! Each function checks what it is given, turns it into the provider's types, and calls the object's own function. It may
//! be called in softirq context or under a spinlock unless its object says otherwise.
//!
//! # Safety
//!
//! What consumers owe to every function here, by `include/ndk/ndk.h`: a handle is one that the provider gave out and that
//! was not closed; arrays, addresses and buffers are readable, and out pointers writable, for the length given with them
//! and for the duration of the call; contexts and callbacks stay valid until they were used for the last time.

use crate::{
    adapter::{
        self,
        Adapter, //
    },
    callback::*,
    connector::{
        self,
        Connector,
        ReadLimits, //
    },
    cq::{
        self,
        Cq, //
    },
    ffi::{
        self,
        ndk_adapter,
        ndk_connector,
        ndk_cq,
        ndk_lam,
        ndk_listener,
        ndk_mr,
        ndk_mw,
        ndk_object_header,
        ndk_pd,
        ndk_qp,
        ndk_shared_endpoint,
        ndk_srq, //
    },
    lam,
    listener::{
        self,
        Listener, //
    },
    mr::{
        self,
        Mr, //
    },
    object::{
        self,
        Object, //
    },
    pd::{
        self,
        Pd, //
    },
    qp::{
        self,
        Qp, //
    },
    state::{
        arm::ArmType,
        limits,
        status::Status, //
    },
    status::{
        self,
        Result, //
    },
    verbs::addr::SocketAddr,
};
use core::{
    ffi::{
        c_int,
        c_void, //
    },
    slice,
};
use kernel::{
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::Opaque,
};

/// What a consumer sees of an object: a C structure of a header and a table of functions.
pub(crate) trait View: Sized {
    /// Its `enum ndk_object_type`.
    const KIND: u32;

    /// The structure with this header and the functions of its kind.
    fn new(header: ndk_object_header) -> Self;
}

/// The place of a [`View`] in an object, at which handles point.
#[repr(transparent)]
pub(crate) struct Shell<V>(Opaque<V>);

// SAFETY: It is for consumers to read; the provider does not touch it once it is made.
unsafe impl<V> Send for Shell<V> {}
// SAFETY: As above.
unsafe impl<V> Sync for Shell<V> {}

impl<V: View> Shell<V> {
    /// The view of a new object.
    pub(crate) fn new(version: ffi::ndk_version) -> Self {
        Self(Opaque::new(V::new(ndk_object_header {
            version,
            type_: V::KIND,
            // NDKPI: the provider clears the reserved block once and never touches it again.
            reserved: [core::ptr::null_mut(); 4],
        })))
    }
}

/// The object behind a handle.
///
/// # Safety
///
/// `handle` is a handle of a `T` that stays open during `'a`.
unsafe fn open<'a, T: Object>(handle: *mut T::Shell) -> ArcBorrow<'a, T> {
    // SAFETY: `into_handle` made the pointer from an `Arc<T>` and left it a count, which the close takes back. Objects start
    // with their shell.
    unsafe { ArcBorrow::from_raw(handle.cast::<T>()) }
}

/// As [`open`], with a count of its own.
///
/// # Safety
///
/// As for [`open`].
unsafe fn shared<T: Object>(handle: *mut T::Shell) -> Arc<T> {
    // SAFETY: By this function's requirements.
    unsafe { open::<T>(handle) }.into()
}

/// A slice that may come as a null pointer when it is empty.
///
/// # Safety
///
/// `ptr` is readable for `len` elements during `'a` where it is not null.
unsafe fn slice_of<'a, T>(ptr: *const T, len: u32) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() {
        return Err(Status::InvalidParameter);
    }
    // SAFETY: Not null, and readable by this function's requirements.
    Ok(unsafe { slice::from_raw_parts(ptr, len as usize) })
}

/// A socket address.
///
/// # Safety
///
/// `ptr` is null or readable for `len` bytes.
unsafe fn address_of(ptr: *const ffi::sockaddr, len: u32) -> Result<SocketAddr> {
    // SAFETY: By this function's requirements.
    Ok(unsafe { SocketAddr::from_raw(ptr, len as usize) }?)
}

/// Writes an address out, by the rule of the Get…Address functions: when it does not fit, the size is told and the
/// buffer left alone.
///
/// # Safety
///
/// `len` is writable, and `ptr` is for `*len` bytes.
unsafe fn put_address(
    address: Result<SocketAddr>,
    ptr: *mut ffi::sockaddr,
    len: *mut u32,
) -> Result {
    let address = address?;
    if len.is_null() {
        return Err(Status::InvalidParameter);
    }
    // SAFETY: By this function's requirements.
    let room = unsafe { *len };
    let room = if ptr.is_null() { 0 } else { room as usize };
    let answer = limits::address(room, address.len());
    // SAFETY: As above. CAST: An address is short.
    unsafe { len.write(answer.size as u32) };
    if answer.status != Status::Success {
        return Err(answer.status);
    }
    let storage = address.to_storage();
    // SAFETY: There is room for them, as was just checked.
    unsafe {
        ptr.cast::<u8>()
            .copy_from_nonoverlapping((&raw const storage).cast(), answer.copy)
    };
    Ok(())
}

/// Puts the handle of an object that was created at once where the consumer wants it.
///
/// # Safety
///
/// `out` is null or writable.
unsafe fn put_handle<T: Object>(
    out: *mut *mut T::Shell,
    make: impl FnOnce() -> Result<Arc<T>>,
) -> c_int {
    if out.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    match make() {
        Ok(made) => {
            // SAFETY: Not null, and writable by this function's requirements.
            unsafe { out.write(object::into_handle(made)) };
            0
        }
        Err(status) => status::to_errno(status),
    }
}

/// A callback that a call cannot do without.
fn required<T>(callback: Option<T>) -> Result<T> {
    callback.ok_or(Status::InvalidParameter)
}

/// Slot `query_extension` of every object.
///
/// NDKPI: no standard extension exists, so answering "not supported" to each is conforming.
unsafe extern "C" fn query_extension(
    _object: *mut ndk_object_header,
    _id: *const ffi::ndk_guid,
    _version: ffi::ndk_version,
    _extension: *mut ffi::ndk_extension,
) -> c_int {
    status::to_errno(Status::NotSupported)
}

/// Slot `close` of every object that has one.
unsafe extern "C" fn close<T: Object>(
    handle: *mut ndk_object_header,
    completion: ffi::ndk_close_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer gives the handle back, and with it the count that `into_handle` left.
    let this = unsafe { Arc::from_raw(handle.cast::<T>()) };
    // SAFETY: The consumer's, as the module documentation says.
    let completion = unsafe { CloseCompletion::new(completion, context) };
    object::close(this, completion);
    status::PENDING
}

// Adapter.

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
    let (adapter, notification, completion) = unsafe {
        (
            shared::<Adapter>(adapter),
            CqNotification::new(notification, notification_context),
            CreateCompletion::new(completion, context),
        )
    };
    status::pending((|| {
        let (notification, completion) = (required(notification)?, required(completion)?);
        cq::create(&adapter, depth, notification, affinity, completion)
    })())
}

unsafe extern "C" fn create_pd(
    adapter: *mut ndk_adapter,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    _pd: *mut *mut ndk_pd,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (adapter, completion) = unsafe {
        (
            shared::<Adapter>(adapter),
            CreateCompletion::new(completion, context),
        )
    };
    status::pending(required(completion).and_then(|completion| pd::create(&adapter, completion)))
}

unsafe extern "C" fn create_shared_endpoint(
    _adapter: *mut ndk_adapter,
    _address: *const ffi::sockaddr,
    _address_len: u32,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    _endpoint: *mut *mut ndk_shared_endpoint,
) -> c_int {
    status::to_errno(Status::NotSupported)
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
    let buffer = match unsafe { lam::Buffer::new(sgl, nents, length) } {
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
        Ok(built) => {
            // SAFETY: `lam` has room for `needed` bytes, by the check above.
            unsafe {
                fbo.write(offset);
                (*lam).page_count = built.pages().len() as u32;
                (*lam).reserved = 0;
                (*lam)
                    .pages
                    .as_mut_ptr()
                    .copy_from_nonoverlapping(built.pages().as_ptr(), built.pages().len());
                (*lam).adapter_context = built.into_context();
            }
            0
        }
        Err(status) => status::to_errno(status),
    }
}

unsafe extern "C" fn release_lam(_adapter: *mut ndk_adapter, lam: *mut ndk_lam) {
    // SAFETY: The consumer gives back a LAM that `build_lam` filled in, once.
    unsafe { lam::release((*lam).adapter_context) };
}

/// Functions of an adapter.
static ADAPTER: ffi::ndk_adapter_dispatch = ffi::ndk_adapter_dispatch {
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
            dispatch: &raw const ADAPTER,
        }
    }
}

// PD.

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
    _pd: *mut ndk_pd,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    _mw: *mut *mut ndk_mw,
) -> c_int {
    status::to_errno(Status::NotSupported)
}

unsafe extern "C" fn create_srq(
    _pd: *mut ndk_pd,
    _depth: u32,
    _max_sge: u32,
    _notify_threshold: u32,
    _notification: ffi::ndk_srq_notification_fn,
    _notification_context: *mut c_void,
    _affinity: c_int,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    _srq: *mut *mut ndk_srq,
) -> c_int {
    status::to_errno(Status::NotSupported)
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
    // SAFETY: The consumer's, as the module documentation says.
    let (pd, receive_cq, initiator_cq, completion) = unsafe {
        (
            shared::<Pd>(pd),
            shared::<Cq>(receive_cq),
            shared::<Cq>(initiator_cq),
            CreateCompletion::new(completion, context),
        )
    };
    status::pending(required(completion).and_then(|completion| {
        qp::create(
            &pd,
            &receive_cq,
            &initiator_cq,
            qp::Config {
                context: qp_context,
                receive_depth,
                initiator_depth,
                max_receive_sge,
                max_initiator_sge,
                inline_size,
            },
            completion,
        )
    }))
}

unsafe extern "C" fn create_qp_with_srq(
    _pd: *mut ndk_pd,
    _receive_cq: *mut ndk_cq,
    _initiator_cq: *mut ndk_cq,
    _srq: *mut ndk_srq,
    _qp_context: *mut c_void,
    _initiator_depth: u32,
    _max_initiator_sge: u32,
    _inline_size: u32,
    _completion: ffi::ndk_create_completion_fn,
    _context: *mut c_void,
    _qp: *mut *mut ndk_qp,
) -> c_int {
    status::to_errno(Status::NotSupported)
}

unsafe extern "C" fn get_privileged_token(pd: *mut ndk_pd) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Pd>(pd) }.privileged_token()
}

/// Functions of a PD.
static PD: ffi::ndk_pd_dispatch = ffi::ndk_pd_dispatch {
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
            dispatch: &raw const PD,
        }
    }
}

// CQ.

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
static CQ: ffi::ndk_cq_dispatch = ffi::ndk_cq_dispatch {
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
            dispatch: &raw const CQ,
        }
    }
}

// QP.

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
    let (qp, sgl) = unsafe { (open::<Qp>(qp), slice_of(sgl, nr_sge)) };
    status::of(sgl.and_then(|sgl| qp.send(context, sgl, flags, None)))
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
    _qp: *mut ndk_qp,
    _context: *mut c_void,
    _mr: *mut ndk_mr,
    _mw: *mut ndk_mw,
    _va: u64,
    _length: u64,
    _flags: u32,
) -> c_int {
    status::to_errno(Status::NotSupported)
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
    if mr.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: The consumer's, as the module documentation says.
    let (qp, mr, pages) = unsafe { (open::<Qp>(qp), open::<Mr>(mr), slice_of(pages, page_count)) };
    status::of(pages.and_then(|pages| {
        qp.fast_register(
            context,
            &mr,
            mr::Region {
                pages,
                fbo,
                length,
                va,
            },
            flags,
        )
    }))
}

unsafe extern "C" fn invalidate(
    qp: *mut ndk_qp,
    context: *mut c_void,
    mr_or_mw: *mut ndk_object_header,
    flags: u32,
) -> c_int {
    if mr_or_mw.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: The consumer's, as the module documentation says.
    if unsafe { (*mr_or_mw).type_ } != ffi::ndk_object_type_NDK_OBJECT_MR {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: As above; it is an MR, by its header.
    let (qp, mr) = unsafe { (open::<Qp>(qp), open::<Mr>(mr_or_mw.cast())) };
    status::of(qp.invalidate(context, &mr, flags))
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
    status::of(sgl.and_then(|sgl| qp.read(context, sgl, remote, flags)))
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
    let (qp, sgl) = unsafe { (open::<Qp>(qp), slice_of(sgl, nr_sge)) };
    let remote = qp::Remote {
        address: remote_address,
        token: remote_token,
    };
    status::of(sgl.and_then(|sgl| qp.write(context, sgl, remote, flags)))
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
    let (qp, sgl) = unsafe { (open::<Qp>(qp), slice_of(sgl, nr_sge)) };
    status::of(sgl.and_then(|sgl| qp.send(context, sgl, flags, Some(remote_token))))
}

/// Functions of a QP.
static QP: ffi::ndk_qp_dispatch = ffi::ndk_qp_dispatch {
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
            dispatch: &raw const QP,
        }
    }
}

// MR.

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
    // SAFETY: The consumer's, as the module documentation says.
    let (mr, completion) = unsafe {
        (
            shared::<Mr>(mr),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending((|| {
        let completion = required(completion)?;
        // SAFETY: The consumer gives a scatterlist of `nents` entries, and leaves it alone until it is deregistered.
        let buffer = unsafe { lam::Buffer::new(sgl, nents, length) }?;
        mr::register(&mr, buffer, va, flags, completion)
    })())
}

unsafe extern "C" fn deregister_mr(
    mr: *mut ndk_mr,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (mr, completion) = unsafe {
        (
            shared::<Mr>(mr),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending(required(completion).and_then(|completion| mr::deregister(&mr, completion)))
}

unsafe extern "C" fn initialize_fast_register(
    mr: *mut ndk_mr,
    page_count: u32,
    remote_access: bool,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (mr, completion) = unsafe {
        (
            shared::<Mr>(mr),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending(required(completion).and_then(|completion| {
        mr::initialize_fast_register(&mr, page_count, remote_access, completion)
    }))
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
static MR: ffi::ndk_mr_dispatch = ffi::ndk_mr_dispatch {
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
            dispatch: &raw const MR,
        }
    }
}

// Connector.

unsafe extern "C" fn connect(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    source: *const ffi::sockaddr,
    source_len: u32,
    destination: *const ffi::sockaddr,
    destination_len: u32,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    if qp.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: The consumer's, as the module documentation says.
    let (connector, qp, source, destination, private_data, completion) = unsafe {
        (
            shared::<Connector>(connector),
            shared::<Qp>(qp),
            address_of(source, source_len),
            address_of(destination, destination_len),
            slice_of(private_data.cast::<u8>(), private_data_len),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending((|| {
        connector::connect(
            &connector,
            &qp,
            source?,
            destination?,
            ReadLimits {
                inbound: inbound_read_limit,
                outbound: outbound_read_limit,
            },
            private_data?,
            required(completion)?,
        )
    })())
}

unsafe extern "C" fn connect_with_shared_endpoint(
    _connector: *mut ndk_connector,
    _qp: *mut ndk_qp,
    _endpoint: *mut ndk_shared_endpoint,
    _destination: *const ffi::sockaddr,
    _destination_len: u32,
    _inbound_read_limit: u32,
    _outbound_read_limit: u32,
    _private_data: *const c_void,
    _private_data_len: u32,
    _completion: ffi::ndk_request_completion_fn,
    _context: *mut c_void,
) -> c_int {
    status::to_errno(Status::NotSupported)
}

/// Both forms of complete_connect.
///
/// # Safety
///
/// As the module documentation says.
unsafe fn complete_connect_with(
    connector: *mut ndk_connector,
    event: Option<DisconnectEvent>,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: By this function's requirements.
    let (connector, completion) = unsafe {
        (
            shared::<Connector>(connector),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending(
        required(completion)
            .and_then(|completion| connector::complete_connect(&connector, event, completion)),
    )
}

unsafe extern "C" fn complete_connect(
    connector: *mut ndk_connector,
    disconnect_event: ffi::ndk_disconnect_event_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = PlainDisconnectEvent::new(disconnect_event, disconnect_event_context);
        complete_connect_with(
            connector,
            event.map(DisconnectEvent::Plain),
            completion,
            context,
        )
    }
}

unsafe extern "C" fn complete_connect_ex(
    connector: *mut ndk_connector,
    disconnect_event: ffi::ndk_disconnect_event_ex_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = DisconnectEventEx::new(disconnect_event, disconnect_event_context);
        complete_connect_with(
            connector,
            event.map(DisconnectEvent::Ex),
            completion,
            context,
        )
    }
}

/// Both forms of accept.
///
/// # Safety
///
/// As the module documentation says.
unsafe fn accept_with(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    limits: ReadLimits,
    private_data: *const c_void,
    private_data_len: u32,
    event: Option<DisconnectEvent>,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    if qp.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: By this function's requirements.
    let (connector, qp, private_data, completion) = unsafe {
        (
            shared::<Connector>(connector),
            shared::<Qp>(qp),
            slice_of(private_data.cast::<u8>(), private_data_len),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending((|| {
        connector::accept(
            &connector,
            &qp,
            limits,
            private_data?,
            event,
            required(completion)?,
        )
    })())
}

unsafe extern "C" fn accept(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    disconnect_event: ffi::ndk_disconnect_event_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = PlainDisconnectEvent::new(disconnect_event, disconnect_event_context);
        accept_with(
            connector,
            qp,
            ReadLimits {
                inbound: inbound_read_limit,
                outbound: outbound_read_limit,
            },
            private_data,
            private_data_len,
            event.map(DisconnectEvent::Plain),
            completion,
            context,
        )
    }
}

unsafe extern "C" fn accept_ex(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    disconnect_event: ffi::ndk_disconnect_event_ex_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = DisconnectEventEx::new(disconnect_event, disconnect_event_context);
        accept_with(
            connector,
            qp,
            ReadLimits {
                inbound: inbound_read_limit,
                outbound: outbound_read_limit,
            },
            private_data,
            private_data_len,
            event.map(DisconnectEvent::Ex),
            completion,
            context,
        )
    }
}

unsafe extern "C" fn reject(
    connector: *mut ndk_connector,
    private_data: *const c_void,
    private_data_len: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (connector, private_data) = unsafe {
        (
            shared::<Connector>(connector),
            slice_of(private_data.cast::<u8>(), private_data_len),
        )
    };
    status::of(private_data.and_then(|data| connector::reject(&connector, data)))
}

unsafe extern "C" fn get_connection_data(
    connector: *mut ndk_connector,
    inbound_read_limit: *mut u32,
    outbound_read_limit: *mut u32,
    private_data: *mut c_void,
    private_data_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let connector = unsafe { open::<Connector>(connector) };
    let data = match connector.connection_data() {
        Ok(data) => data,
        Err(status) => return status::to_errno(status),
    };
    // SAFETY: As above.
    unsafe {
        if !inbound_read_limit.is_null() {
            inbound_read_limit.write(data.limits.inbound);
        }
        if !outbound_read_limit.is_null() {
            outbound_read_limit.write(data.limits.outbound);
        }
    }
    if private_data_len.is_null() {
        return status::of(if private_data.is_null() {
            Ok(())
        } else {
            Err(Status::InvalidParameter)
        });
    }
    // SAFETY: As above.
    let room = unsafe { *private_data_len };
    let (result, copied) = data.fits(!private_data.is_null(), room);
    if result != Err(Status::InvalidParameter) {
        // SAFETY: `copied` is at most `room` and the length of the data; where it is not 0 the buffer is not null.
        unsafe {
            private_data
                .cast::<u8>()
                .copy_from_nonoverlapping(data.private_data().as_ptr(), copied);
            private_data_len.write(data.private_data().len() as u32);
        }
    }
    status::of(result)
}

unsafe extern "C" fn get_local_address(
    connector: *mut ndk_connector,
    address: *mut ffi::sockaddr,
    address_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    status::of(unsafe {
        put_address(
            open::<Connector>(connector).local_address(),
            address,
            address_len,
        )
    })
}

unsafe extern "C" fn get_peer_address(
    connector: *mut ndk_connector,
    address: *mut ffi::sockaddr,
    address_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    status::of(unsafe {
        put_address(
            open::<Connector>(connector).peer_address(),
            address,
            address_len,
        )
    })
}

unsafe extern "C" fn disconnect(
    connector: *mut ndk_connector,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (connector, completion) = unsafe {
        (
            shared::<Connector>(connector),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending(
        required(completion).and_then(|completion| connector::disconnect(&connector, completion)),
    )
}

/// Functions of a connector.
static CONNECTOR: ffi::ndk_connector_dispatch = ffi::ndk_connector_dispatch {
    close: Some(close::<Connector>),
    query_extension: Some(query_extension),
    connect: Some(connect),
    connect_with_shared_endpoint: Some(connect_with_shared_endpoint),
    complete_connect: Some(complete_connect),
    accept: Some(accept),
    reject: Some(reject),
    get_connection_data: Some(get_connection_data),
    get_local_address: Some(get_local_address),
    get_peer_address: Some(get_peer_address),
    disconnect: Some(disconnect),
    complete_connect_ex: Some(complete_connect_ex),
    accept_ex: Some(accept_ex),
};

impl View for ndk_connector {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_CONNECTOR;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const CONNECTOR,
        }
    }
}

// Listener.

unsafe extern "C" fn listen(
    listener: *mut ndk_listener,
    address: *const ffi::sockaddr,
    address_len: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (listener, address, completion) = unsafe {
        (
            shared::<Listener>(listener),
            address_of(address, address_len),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending((|| {
        listener::listen(&listener, address?, required(completion)?)
    })())
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
static LISTENER: ffi::ndk_listener_dispatch = ffi::ndk_listener_dispatch {
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
            dispatch: &raw const LISTENER,
        }
    }
}
