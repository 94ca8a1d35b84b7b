// SPDX-License-Identifier: GPL-2.0

//! Files of debugfs whose text is made in process context.

use super::ctx::MaySleep;
use kernel::{
    debugfs::{
        Dir,
        File,
        Writer, //
    },
    fmt,
    prelude::*,
    str::CStr, //
};

/// Something about which a file speaks.
pub(crate) type Show<T> = fn(&T, &mut fmt::Formatter<'_>, &MaySleep) -> fmt::Result;

/// A value with what a file says of it.
pub(crate) struct Shown<T> {
    value: T,
    show: Show<T>,
}

impl<T> Writer for Shown<T> {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: Only files of [`file`] come here, which are read by a task that may sleep.
        let ctx = unsafe { MaySleep::assume() };
        (self.show)(&self.value, f, &ctx)
    }
}

/// A file that is there until it is dropped, which sleeps until nobody reads it any more.
pub(crate) type ReadOnly<T> = Pin<KBox<File<Shown<T>>>>;

/// Makes a file; `show` is called by whoever reads it. Sleeps.
pub(crate) fn file<T: Send + Sync + 'static>(
    dir: &Dir,
    name: &CStr,
    value: T,
    show: Show<T>,
) -> Result<ReadOnly<T>> {
    KBox::pin_init(dir.read_only_file(name, Shown { value, show }), GFP_KERNEL)
}
