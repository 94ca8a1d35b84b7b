// SPDX-License-Identifier: GPL-2.0

//! Flags: every request with every combination of flags.

#![cfg(not(loom))]

use ndk_state::flags::*;
use ndk_state::status::Status;

/// Proves: 6.6-read-invalidate, 6.6-remote-write, 6.7-remote-write
#[test]
fn the_values_are_those_of_the_interface() {
    let values = [
        SILENT_SUCCESS,
        READ_FENCE,
        SEND_AND_SOLICIT_EVENT,
        ALLOW_REMOTE_READ,
        ALLOW_LOCAL_WRITE,
        ALLOW_REMOTE_WRITE,
        INLINE,
        RDMA_READ_SINK,
        RDMA_READ_LOCAL_INVALIDATE,
        DEFER,
    ];
    assert_eq!(values, [1, 2, 4, 8, 0x10, 0x30, 0x40, 0x80, 0x100, 0x200]);
    let regions = [
        MR_ALLOW_LOCAL_WRITE,
        MR_ALLOW_REMOTE_READ,
        MR_ALLOW_REMOTE_WRITE,
        MR_RDMA_READ_SINK,
    ];
    assert_eq!(regions, [1, 2, 5, 8]);
}

/// The "valid on" column of section 6.6, written out.
fn valid_on(flag: u32) -> Vec<Op> {
    match flag {
        SILENT_SUCCESS | READ_FENCE | DEFER => Op::ALL.to_vec(),
        SEND_AND_SOLICIT_EVENT => vec![Op::Send, Op::SendAndInvalidate],
        INLINE => vec![Op::Send, Op::SendAndInvalidate, Op::Write],
        ALLOW_REMOTE_READ => vec![Op::Bind, Op::FastRegister],
        // With 0x20 it is the right of remote writes.
        ALLOW_LOCAL_WRITE => vec![Op::Bind, Op::FastRegister],
        0x20 => vec![Op::Bind, Op::FastRegister],
        RDMA_READ_SINK => vec![Op::FastRegister],
        RDMA_READ_LOCAL_INVALIDATE => vec![Op::Read],
        _ => Vec::new(),
    }
}

/// Proves: 6.6-remote-write
#[test]
fn each_request_takes_its_own_flags_only() {
    for op in Op::ALL {
        for flags in 0..0x1000u32 {
            let bits_fit = (0..32)
                .map(|bit| 1 << bit)
                .filter(|bit| flags & bit != 0)
                .all(|bit| valid_on(bit).contains(&op));
            let write_is_whole = match flags & 0x30 {
                0 | 0x30 => true,
                0x10 => op == Op::FastRegister,
                _ => false,
            };
            let expected = if bits_fit && write_is_whole {
                Ok(())
            } else {
                Err(Status::InvalidParameter)
            };
            assert_eq!(op.check(flags), expected, "{op:?} {flags:#x}");
        }
        assert!(op.check(1 << 31).is_err());
    }
}

/// Proves: 6.7-remote-write
#[test]
fn region_flags() {
    for flags in 0..0x40u32 {
        let valid = flags < 0x10 && flags & 0x5 != 0x4;
        assert_eq!(check_mr(flags).is_ok(), valid, "{flags:#x}");
    }
    assert!(check_mr(1 << 31).is_err());
}

/// Proves: 6.6-remote-write, 6.7-remote-write
#[test]
fn a_local_write_is_no_remote_write() {
    assert!(!grants(ALLOW_LOCAL_WRITE, ALLOW_REMOTE_WRITE));
    assert!(grants(ALLOW_REMOTE_WRITE, ALLOW_LOCAL_WRITE));
    assert!(!grants(MR_ALLOW_LOCAL_WRITE, MR_ALLOW_REMOTE_WRITE));
    assert!(grants(MR_ALLOW_REMOTE_WRITE, MR_ALLOW_LOCAL_WRITE));
    assert!(!grants(0, ALLOW_REMOTE_READ));
}
