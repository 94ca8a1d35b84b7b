// SPDX-License-Identifier: GPL-2.0

//! The C entry points: the only place where a consumer's pointer becomes a reference.
//!
//! Each function checks what it is given, turns it into the provider's types, and calls the object's own function. It may
//! be called in softirq context or under a spinlock unless its object says otherwise. Here is what they share; each object
//! has its functions in a file of its own.
//!
//! # Safety
//!
//! What consumers owe to every function here, by `include/ndk/ndk.h`: a handle is one that the provider gave out and that
//! was not closed; arrays, addresses and buffers are readable, and out pointers writable, for the length given with them
//! and for the duration of the call; contexts and callbacks stay valid until they were used for the last time.

#![expect(
    clippy::missing_safety_doc,
    reason = "the same holds for all entry points, and stands above"
)]

use crate::{
    callback::{
        CloseCompletion,
        CreateCompletion,
        RequestCompletion, //
    },
    ffi::{
        self,
        ndk_object_header, //
    },
    lam::Buffer,
    object::{
        self,
        Object, //
    },
    state::{
        limits,
        status::Status, //
    },
    status::{
        self,
        Result, //
    },
    verbs::{
        addr::SocketAddr,
        sg, //
    }, //
};
use core::{
    ffi::{
        c_int,
        c_void, //
    },
    slice,
};
use kernel::{
    alloc::flags::GFP_ATOMIC,
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::Opaque,
};

mod adapter;
mod connector;
mod cq;
mod listener;
mod mr;
mod mw;
mod pd;
mod qp;
mod query;
mod shared_endpoint;
mod srq;

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

/// As [`open`], of a handle that a call cannot do without.
///
/// # Safety
///
/// As for [`open`], where `handle` is not null.
unsafe fn given<'a, T: Object>(handle: *mut T::Shell) -> Result<ArcBorrow<'a, T>> {
    if handle.is_null() {
        return Err(Status::InvalidParameter);
    }
    // SAFETY: By this function's requirements.
    Ok(unsafe { open::<T>(handle) })
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

/// A buffer.
///
/// # Safety
///
/// `sgl` is null or a scatterlist of `nents` entries; it and the memory it names are left alone while the buffer, or what is
/// made of it, lives.
unsafe fn buffer_of(sgl: *mut ffi::scatterlist, nents: u32, length: u64) -> Result<Buffer> {
    // SAFETY: By this function's requirements.
    let list = unsafe { sg::List::new(sgl, nents) };
    Buffer::new(list.ok_or(Status::InvalidParameter)?, length)
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
    match object::listed(GFP_ATOMIC, make) {
        Ok(made) => {
            // SAFETY: Not null, and writable by this function's requirements.
            unsafe { out.write(object::into_handle(made)) };
            0
        }
        Err(status) => status::to_errno(status),
    }
}

/// Starts a create call that pends.
///
/// # Safety
///
/// As the module documentation says.
unsafe fn pending_create<T: Object>(
    parent: *mut T::Shell,
    completion: ffi::ndk_create_completion_fn,
    context: *mut c_void,
    create: impl FnOnce(&Arc<T>, CreateCompletion) -> Result,
) -> c_int {
    // SAFETY: By this function's requirements.
    let (parent, completion) = unsafe {
        (
            shared::<T>(parent),
            CreateCompletion::new(completion, context),
        )
    };
    status::pending(required(completion).and_then(|completion| create(&parent, completion)))
}

/// Starts a request that pends.
///
/// # Safety
///
/// As the module documentation says.
unsafe fn pending_request<T: Object>(
    handle: *mut T::Shell,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
    request: impl FnOnce(&Arc<T>, RequestCompletion) -> Result,
) -> c_int {
    // SAFETY: By this function's requirements.
    let (this, completion) = unsafe {
        (
            shared::<T>(handle),
            RequestCompletion::new(completion, context),
        )
    };
    status::pending(required(completion).and_then(|completion| request(&this, completion)))
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
