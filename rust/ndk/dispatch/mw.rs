// SPDX-License-Identifier: GPL-2.0

//! Functions of a memory window.

use super::{
    close,
    open,
    query_extension,
    View, //
};
use crate::{
    ffi::{
        self,
        ndk_mw,
        ndk_object_header, //
    },
    mw::Mw,
};

unsafe extern "C" fn get_remote_token(mw: *mut ndk_mw) -> u32 {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { open::<Mw>(mw) }.remote_token()
}

/// Functions of a memory window.
static DISPATCH: ffi::ndk_mw_dispatch = ffi::ndk_mw_dispatch {
    close: Some(close::<Mw>),
    query_extension: Some(query_extension),
    get_remote_token: Some(get_remote_token),
};

impl View for ndk_mw {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_MW;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
