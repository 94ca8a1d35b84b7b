// SPDX-License-Identifier: GPL-2.0

//! What the two ends of a connection tell each other: private data and read limits.

use crate::{
    state::{
        limits,
        status::Status, //
    },
    status::Result,
    verbs::cm_id::ConnData,
};

/// Private data of a message, as long as any transport has it.
const MAX_PRIVATE_DATA: usize = u8::MAX as usize;

/// Read limits as a consumer gives and gets them.
#[derive(Clone, Copy)]
pub(crate) struct ReadLimits {
    /// Reads of the peer at a time.
    pub(crate) inbound: u32,
    /// Reads of ours at a time.
    pub(crate) outbound: u32,
}

/// Private data of one message.
#[derive(Clone, Copy)]
pub(super) struct PrivateData {
    bytes: [u8; MAX_PRIVATE_DATA],
    len: usize,
}

impl PrivateData {
    /// No data.
    pub(super) const NONE: Self = Self {
        bytes: [0; MAX_PRIVATE_DATA],
        len: 0,
    };

    /// What a consumer gives, at most `max` bytes.
    pub(super) fn checked(data: &[u8], max: u32) -> Result<Self> {
        limits::check_private_data(data.len(), max)?;
        Ok(Self::copy(data))
    }

    /// What came in a message.
    pub(super) fn copy(data: &[u8]) -> Self {
        let mut copy = Self::NONE;
        for (to, from) in copy.bytes.iter_mut().zip(data) {
            *to = *from;
            copy.len += 1;
        }
        copy
    }

    /// The data.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

/// What the peer sent, and the read limits in force.
pub(crate) struct ConnectionData {
    /// The limits.
    pub(crate) limits: ReadLimits,
    private_data: PrivateData,
}

impl ConnectionData {
    pub(super) fn new(limits: limits::ReadLimits, private_data: PrivateData) -> Self {
        Self {
            limits: ReadLimits {
                inbound: u32::from(limits.inbound),
                outbound: u32::from(limits.outbound),
            },
            private_data,
        }
    }

    /// The private data. InfiniBand and RoCE fill it up with zeros to what the message can carry.
    pub(crate) fn private_data(&self) -> &[u8] {
        self.private_data.as_bytes()
    }

    /// How GetConnectionData answers a consumer with a buffer, or without one, of `room` bytes; and how many bytes it copies.
    pub(crate) fn fits(&self, buffer: bool, room: u32) -> (Result, usize) {
        let answer = limits::connection_data(buffer, room as usize, self.private_data.len);
        (to_result(answer.status), answer.copy)
    }
}

/// The peer's limits as the peer sees them.
pub(super) fn peer_limits(data: &ConnData<'_>) -> limits::ReadLimits {
    limits::ReadLimits {
        inbound: data.initiator_depth,
        outbound: data.responder_resources,
    }
}

/// A status as the result that it is.
pub(super) fn to_result(status: Status) -> Result {
    match status {
        Status::Success => Ok(()),
        status => Err(status),
    }
}
