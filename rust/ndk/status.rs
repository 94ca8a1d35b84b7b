// SPDX-License-Identifier: GPL-2.0

//! Statuses at the edges of the provider: from the kernel's errors, and to the errnos of the API.
//!
//! The table itself is `state/status.rs`.

use crate::state::status::Status;
use kernel::{
    alloc::AllocError,
    error::{
        code,
        Error, //
    },
};

/// How a call of the provider ends.
pub(crate) type Result<T = ()> = core::result::Result<T, Status>;

/// What pending calls return.
pub(crate) const PENDING: i32 = -Status::Pending.errno();

/// The negative errno of `status`.
pub(crate) fn to_errno(status: Status) -> i32 {
    -status.errno()
}

/// 0 or the negative errno of `result`.
pub(crate) fn of(result: Result) -> i32 {
    match result {
        Ok(()) => 0,
        Err(status) => to_errno(status),
    }
}

/// The answer of a call that pends unless it fails at once.
pub(crate) fn pending(result: Result) -> i32 {
    match result {
        Ok(()) => PENDING,
        Err(status) => to_errno(status),
    }
}

impl From<AllocError> for Status {
    fn from(_: AllocError) -> Self {
        Status::InsufficientResources
    }
}

/// What an error of the RDMA core means, where the caller knows no better.
impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            e if e == code::ENOMEM || e == code::EAGAIN || e == code::ENOSPC => {
                Status::InsufficientResources
            }
            e if e == code::ENODEV => Status::DeviceRemoved,
            e if e == code::EINVAL => Status::InvalidParameter,
            e if e == code::EADDRINUSE => Status::SharingViolation,
            e if e == code::EADDRNOTAVAIL => Status::InvalidAddress,
            e if e == code::ENETUNREACH => Status::NetworkUnreachable,
            e if e == code::EHOSTUNREACH => Status::HostUnreachable,
            e if e == code::ETIMEDOUT => Status::IoTimeout,
            e if e == code::ECONNREFUSED => Status::ConnectionRefused,
            e if e == code::EOPNOTSUPP => Status::NotSupported,
            _ => Status::InternalError,
        }
    }
}
