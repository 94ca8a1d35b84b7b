// SPDX-License-Identifier: GPL-2.0

//! The functions that the module exports (`ffi/exports.c` has the `EXPORT_SYMBOL` lines): open and close of adapters, and
//! registration of clients. All of them in process context.

use crate::{
    adapter::{
        self,
        Adapter,
        Consumer,
        Selector, //
    },
    callback::{
        ClientCalls,
        CloseCompletion, //
    },
    clients::Client,
    ctx::MaySleep,
    ffi,
    object,
    state::status::Status,
    status::{
        self,
        Result, //
    },
    verbs::{
        addr::SocketAddr,
        net::NetNs, //
    }, //
};
use core::{
    ffi::{
        c_int,
        c_void, //
    },
    ptr::NonNull,
};
use kernel::{
    prelude::*,
    str::CStr,
    sync::{
        Arc,
        Completion, //
    },
};

/// See `ndk_open_adapter()` in `include/ndk/ndk.h`.
///
/// # Safety
///
/// Process context; `net` is a namespace that the caller has a reference to, the pointers in `params` are valid as the
/// header says, and `out` is writable.
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_open_adapter(
    net: *mut ffi::net,
    params: *const ffi::ndk_open_params,
    out: *mut *mut ffi::ndk_adapter,
) -> c_int {
    if params.is_null() || out.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: By the requirements of this function.
    let (ctx, net, params) = unsafe { (MaySleep::assume(), NetNs::from_raw(net), &*params) };
    let opened = (|| {
        let net = net.ok_or(Status::InvalidParameter)?;
        // SAFETY: By the requirements of this function.
        let selector = unsafe { selector(params) }?;
        let name = if params.client.is_null() {
            None
        } else {
            // SAFETY: A terminated string, by the requirements of this function.
            Some(unsafe { CStr::from_char_ptr(params.client) })
        };
        adapter::open(&net, params.version, &selector, Consumer::new(name), &ctx)
    })();
    match opened {
        Ok(adapter) => {
            // SAFETY: By the requirements of this function.
            unsafe { out.write(object::into_handle(adapter)) };
            0
        }
        Err(status) => status::to_errno(status),
    }
}

/// Which of the three ways to name an adapter was taken; exactly one must be.
///
/// # Safety
///
/// The pointers in `params` are valid as the header says.
pub(crate) unsafe fn selector(params: &ffi::ndk_open_params) -> Result<Selector<'_>> {
    let by_name = !params.device.is_null();
    let by_index = params.ifindex != 0;
    let by_address = !params.address.is_null();
    match (by_name, by_index, by_address) {
        (true, false, false) => {
            // SAFETY: A terminated string, by the requirements of this function.
            let name = unsafe { CStr::from_char_ptr(params.device) };
            Ok(Selector::Device(name, params.port))
        }
        (false, true, false) => Ok(Selector::Interface(params.ifindex)),
        (false, false, true) => {
            let len = params.address_len as usize;
            // SAFETY: Readable for its length, by the requirements of this function.
            let address = unsafe { SocketAddr::from_raw(params.address, len) };
            Ok(Selector::Address(address?))
        }
        _ => Err(Status::InvalidParameter),
    }
}

/// Wakes the closer of an adapter.
///
/// # Safety
///
/// `done` is the completion on which [`ndk_close_adapter`] waits.
unsafe extern "C" fn adapter_closed(done: *mut c_void) {
    // SAFETY: `ndk_close_adapter` passed it, and waits until it is completed.
    unsafe { &*done.cast::<Completion>() }.complete_all();
}

/// See `ndk_close_adapter()` in `include/ndk/ndk.h`.
///
/// # Safety
///
/// Process context, outside of every callback; `handle` came from [`ndk_open_adapter`] and was not closed.
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_close_adapter(handle: *mut ffi::ndk_adapter) {
    if handle.is_null() {
        return;
    }
    // SAFETY: The handle owns a count, which the caller gives back.
    let adapter = unsafe { Arc::from_raw(handle.cast::<Adapter>()) };
    pin_init::stack_pin_init!(let done = Completion::new());
    let context = (&raw const *done).cast_mut().cast::<c_void>();
    // SAFETY: `done` stays until the function has been called: this function waits for it.
    let completion = unsafe { CloseCompletion::new(Some(adapter_closed), context) };
    object::close(adapter, completion);
    // NDKPI: closing an adapter blocks until every callback of everything below it has returned.
    done.wait_for_completion();
}

/// See `ndk_register_client()` in `include/ndk/ndk.h`.
///
/// # Safety
///
/// Process context; `client` is valid until it is unregistered.
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_register_client(client: *mut ffi::ndk_client) -> c_int {
    let Some(raw) = NonNull::new(client) else {
        return status::to_errno(Status::InvalidParameter);
    };
    // SAFETY: By the requirements of this function.
    let (ctx, fresh) = unsafe {
        let complete = (*client).add.is_some() && (*client).remove.is_some();
        (MaySleep::assume(), complete && (*client).provider.is_null())
    };
    if !fresh {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: It stays until it is unregistered, which drops the calls.
    match Client::register(unsafe { ClientCalls::new(raw) }, &ctx) {
        Ok(registered) => {
            // SAFETY: As above; the callbacks, which have the pointer as well, do not touch this member.
            unsafe { (*client).provider = Arc::into_raw(registered).cast_mut().cast() };
            0
        }
        Err(error) => status::to_errno(error),
    }
}

/// See `ndk_unregister_client()` in `include/ndk/ndk.h`.
///
/// # Safety
///
/// Process context, outside of the client's callbacks; `client` is valid.
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_unregister_client(client: *mut ffi::ndk_client) {
    // SAFETY: By the requirements of this function.
    let (ctx, provider) = unsafe {
        let provider = core::mem::replace(&mut (*client).provider, core::ptr::null_mut());
        (MaySleep::assume(), provider)
    };
    if provider.is_null() {
        return;
    }
    // SAFETY: `ndk_register_client` made the pointer from an `Arc` and left it a count.
    let registered = unsafe { Arc::from_raw(provider.cast::<Client>()) };
    Client::unregister(&registered, &ctx);
}
