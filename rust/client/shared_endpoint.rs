// SPDX-License-Identifier: GPL-2.0

//! Shared endpoints: a local address for several connectors.

use super::{
    addr::RawAddr,
    ffi,
    notice::{
        dispatch,
        Notice,
        MISSING, //
    },
    owned::Owned, //
};
use core::{
    net::SocketAddr,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// A local address and port that several connectors connect from, each to another remote one.
pub(crate) struct SharedEndpoint(Owned<ffi::ndk_shared_endpoint>);

impl SharedEndpoint {
    /// # Safety
    ///
    /// `raw` is open and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_shared_endpoint>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_shared_endpoint {
        self.0.as_ptr()
    }

    /// The address, with its port.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let mut raw = RawAddr::zeroed();
        let mut length = raw.len();
        // SAFETY: The endpoint is open, and `raw` has `length` bytes.
        to_result(unsafe {
            dispatch!(self.as_ptr(), get_local_address(
                self.as_ptr(), raw.as_mut_ptr(), &mut length,
            ) or MISSING)
        })?;
        raw.get()
    }

    /// Closes the endpoint; done, and its address free, when every connector over it is closed.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }
}
