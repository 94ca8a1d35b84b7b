// SPDX-License-Identifier: GPL-2.0

//! The status table: complete, and one to one in every view.

#![cfg(not(loom))]

use ndk_state::status::Status;
use std::collections::BTreeSet;

/// Name, error number by its Linux value, NT number: written out a second time on purpose.
const TABLE: &[(&str, i32, u32)] = &[
    ("SUCCESS", 0, 0),
    ("PENDING", 115, 0x103),
    ("BUFFER_OVERFLOW", 75, 0x8000_0005),
    ("DEVICE_BUSY", 16, 0x8000_0011),
    ("NO_MORE_ENTRIES", 105, 0x8000_001A),
    ("ACCESS_VIOLATION", 13, 0xC000_0005),
    ("INVALID_PARAMETER", 22, 0xC000_000D),
    ("INVALID_PARAMETER_MIX", 33, 0xC000_0030),
    ("INVALID_DEVICE_REQUEST", 56, 0xC000_0010),
    ("BUFFER_TOO_SMALL", 28, 0xC000_0023),
    ("DATA_OVERRUN", 90, 0xC000_003C),
    ("SHARING_VIOLATION", 98, 0xC000_0043),
    ("INSUFFICIENT_RESOURCES", 12, 0xC000_009A),
    ("NETWORK_UNREACHABLE", 101, 0xC000_023C),
    ("HOST_UNREACHABLE", 113, 0xC000_023D),
    ("DEVICE_REMOVED", 19, 0xC000_02B6),
    ("BAD_VERSION", 93, 0xC001_0004),
    ("IO_TIMEOUT", 110, 0xC000_00B5),
    ("NOT_SUPPORTED", 95, 0xC000_00BB),
    ("INTERNAL_ERROR", 5, 0xC000_00E5),
    ("CANCELLED", 125, 0xC000_0120),
    ("REMOTE_RESOURCES", 121, 0xC000_013D),
    ("INVALID_ADDRESS", 99, 0xC000_0141),
    ("INVALID_DEVICE_STATE", 77, 0xC000_0184),
    ("INVALID_BUFFER_SIZE", 7, 0xC000_0206),
    ("TOO_MANY_ADDRESSES", 87, 0xC000_0209),
    ("ADDRESS_ALREADY_EXISTS", 17, 0xC000_020A),
    ("CONNECTION_DISCONNECTED", 108, 0xC000_020C),
    ("CONNECTION_REFUSED", 111, 0xC000_0236),
    ("CONNECTION_INVALID", 107, 0xC000_023A),
    ("CONNECTION_ACTIVE", 106, 0xC000_023B),
    ("CONNECTION_ABORTED", 103, 0xC000_0241),
    ("IMPLEMENTATION_LIMIT", 34, 0xC000_042B),
    ("ADAPTER_NOT_READY", 100, 0xC001_0011),
];

/// Proves: 6.11-statuses
// Bug: B57, K10
#[test]
fn the_table_is_as_designed() {
    assert_eq!(Status::ALL.len(), TABLE.len());
    for (name, errno, ntstatus) in TABLE {
        let status = Status::ALL
            .iter()
            .find(|status| status.name() == *name)
            .expect(name);
        assert_eq!(status.errno(), *errno, "{name}");
        assert_eq!(status.ntstatus(), *ntstatus, "{name}");
    }
}

/// Proves: 6.11-statuses
#[test]
fn every_view_is_one_to_one() {
    let count = Status::ALL.len();
    let distinct = |set: BTreeSet<String>| assert_eq!(set.len(), count);
    distinct(Status::ALL.iter().map(|s| s.errno().to_string()).collect());
    distinct(
        Status::ALL
            .iter()
            .map(|s| s.ntstatus().to_string())
            .collect(),
    );
    distinct(Status::ALL.iter().map(|s| s.name().to_string()).collect());
    for status in Status::ALL {
        assert_eq!(Status::from_errno(status.errno()), Some(*status));
        assert_eq!(Status::from_ntstatus(status.ntstatus()), Some(*status));
    }
    assert_eq!(Status::from_errno(-1), None);
    assert_eq!(Status::from_errno(1), None);
    assert_eq!(Status::from_ntstatus(1), None);
}

#[test]
fn four_failures_are_retryable() {
    let retryable: Vec<_> = Status::ALL.iter().filter(|s| s.is_retryable()).collect();
    assert_eq!(
        retryable,
        [
            &Status::IoTimeout,
            &Status::ConnectionRefused,
            &Status::NetworkUnreachable,
            &Status::HostUnreachable
        ]
    );
}

#[test]
fn success_and_pending_are_no_failures() {
    for status in Status::ALL {
        let failure = !matches!(status, Status::Success | Status::Pending);
        assert_eq!(status.is_failure(), failure, "{status:?}");
    }
}

/// Names of Linux's error numbers as `include/ndk/ndkpi_base.h` uses them.
const ERRNO_NAMES: &[(&str, i32)] = &[
    ("EINPROGRESS", 115),
    ("EOVERFLOW", 75),
    ("EBUSY", 16),
    ("ENOBUFS", 105),
    ("EACCES", 13),
    ("EINVAL", 22),
    ("EBADRQC", 56),
    ("ENOSPC", 28),
    ("EDOM", 33),
    ("EMSGSIZE", 90),
    ("EADDRINUSE", 98),
    ("ENOMEM", 12),
    ("ETIMEDOUT", 110),
    ("EOPNOTSUPP", 95),
    ("EIO", 5),
    ("ECANCELED", 125),
    ("EREMOTEIO", 121),
    ("EADDRNOTAVAIL", 99),
    ("EBADFD", 77),
    ("E2BIG", 7),
    ("EUSERS", 87),
    ("EEXIST", 17),
    ("ESHUTDOWN", 108),
    ("ECONNREFUSED", 111),
    ("ENOTCONN", 107),
    ("EISCONN", 106),
    ("ENETUNREACH", 101),
    ("EHOSTUNREACH", 113),
    ("ECONNABORTED", 103),
    ("ENODEV", 19),
    ("ERANGE", 34),
    ("EPROTONOSUPPORT", 93),
    ("ENETDOWN", 100),
];

#[test]
fn the_windows_names_are_those_of_the_table() {
    let header = include_str!("../../../include/ndk/ndkpi_base.h");
    let number = |name: &str| {
        header.lines().find_map(|line| {
            let rest = line.strip_prefix("#define ")?.strip_prefix(name)?;
            // Not the beginning of a longer name.
            rest.starts_with([' ', '\t']).then_some(())?;
            let value = rest.trim().split_once("STATUS)0x")?.1;
            u32::from_str_radix(value.trim_end_matches(')'), 16).ok()
        })
    };
    let rows: Vec<(&str, &str)> = header
        .lines()
        .filter_map(|line| line.trim().strip_prefix('[')?.split_once(']'))
        .map(|(errno, rest)| (errno, rest.trim_matches([' ', '\t', '=', ','])))
        .collect();
    // Success is no entry of the array.
    assert_eq!(rows.len() + 1, Status::ALL.len());
    for (name, windows) in rows {
        let (_, errno) = ERRNO_NAMES.iter().find(|(n, _)| *n == name).expect(name);
        let status = Status::from_errno(*errno).expect(name);
        assert_eq!(number(windows), Some(status.ntstatus()), "{windows}");
        let plain = windows
            .trim_start_matches("NDIS_")
            .trim_start_matches("STATUS_");
        assert_eq!(plain, status.name());
    }
    for status in Status::ALL {
        let name = format!("STATUS_{}", status.name());
        let number = number(&name).or_else(|| number(&format!("NDIS_{name}")));
        assert_eq!(number, Some(status.ntstatus()), "{name}");
    }
}
