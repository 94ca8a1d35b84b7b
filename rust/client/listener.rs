// SPDX-License-Identifier: GPL-2.0

//! Listeners.

use super::{
    addr::RawAddr,
    connector::Connector,
    ffi,
    notice::{
        dispatch,
        Notice,
        MISSING, //
    },
    owned::{
        Hook,
        Owned, //
    },
};
use core::{
    ffi::c_void,
    net::SocketAddr,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The taker of a listener's connections.
pub(crate) trait OnConnect: Send + Sync + 'static {
    /// A connection comes in: accept or reject it. Dropped, it is rejected. Softirq context; calls may overlap.
    fn connect(&self, connector: Connector);
}

/// What a listener needs before there is one.
pub(super) struct Seed<L> {
    hook: Hook,
    handler: NonNull<L>,
}

// SAFETY: The hook owns what the pointer is to, which is `Send` and `Sync`.
unsafe impl<L: OnConnect> Send for Seed<L> {}

impl<L: OnConnect> Seed<L> {
    pub(super) fn new(handler: L) -> Result<Self> {
        let (hook, handler) = Hook::new(handler)?;
        Ok(Self { hook, handler })
    }

    pub(super) fn context(&self) -> *mut c_void {
        self.handler.as_ptr().cast()
    }

    /// # Safety
    ///
    /// `raw` is open, made with [`connect_event`] and this seed's context, and becomes the listener's own.
    pub(super) unsafe fn grow(self, raw: NonNull<ffi::ndk_listener>) -> Listener {
        // SAFETY: By this function's requirements. The hook owns the only context.
        Listener(unsafe { Owned::new(raw, Some(self.hook)) })
    }
}

/// # Safety
///
/// `context` is that of a [`Seed`] whose listener is open, and `connector` is given to this call.
pub(super) unsafe extern "C" fn connect_event<L: OnConnect>(
    context: *mut c_void,
    connector: *mut ffi::ndk_connector,
) {
    // SAFETY: By this function's requirements; the hook lives until the close has completed.
    let handler = unsafe { &*context.cast::<L>() };
    if let Some(raw) = NonNull::new(connector) {
        // SAFETY: By this function's requirements.
        handler.connect(unsafe { Connector::new(raw) });
    }
}

/// Takes incoming connections.
pub(crate) struct Listener(Owned<ffi::ndk_listener>);

impl Listener {
    fn as_ptr(&self) -> *mut ffi::ndk_listener {
        self.0.as_ptr()
    }

    /// Starts to listen on a local address of the adapter; port 0 has one chosen.
    pub(crate) fn listen<N: Notice<()>>(&self, address: &SocketAddr, how: N) -> N::Return {
        let address = RawAddr::new(address);
        how.request(
            // SAFETY: The listener is open; the address is read during the call only.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), listen(
                    self.as_ptr(), address.as_ptr(), address.len(), done, context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// The address that it listens on.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let mut raw = RawAddr::zeroed();
        let mut length = raw.len();
        // SAFETY: The listener is open, and `raw` has `length` bytes.
        to_result(unsafe {
            dispatch!(self.as_ptr(), get_local_address(
                self.as_ptr(), raw.as_mut_ptr(), &mut length,
            ) or MISSING)
        })?;
        raw.get()
    }

    /// Refuses what comes in, as if nobody listened, or takes it again.
    pub(crate) fn pause(&self, pause: bool) {
        // SAFETY: The listener is open.
        unsafe { dispatch!(self.as_ptr(), control_connect_events(self.as_ptr(), pause) or ()) };
    }

    /// Closes the listener; done when every connector that it gave is closed.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }
}
