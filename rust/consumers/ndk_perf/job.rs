// SPDX-License-Identifier: GPL-2.0

//! What to measure, in the form that both layers take. Mirrors raw.h.

use kernel::{
    alloc::KVVec,
    prelude::*, //
};

/// The measurements.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Test {
    /// One message to and fro at a time.
    SendLatency = 0,
    /// One write at a time.
    WriteLatency = 1,
    /// One read at a time.
    ReadLatency = 2,
    /// Writes, several at a time.
    WriteStream = 3,
    /// Reads, several at a time.
    ReadStream = 4,
    /// Messages one way.
    SendRate = 5,
    /// Connections.
    Connect = 6,
    /// Fast registrations and invalidations, one pair at a time.
    Register = 7,
    /// The calls one by one, and what a connection takes.
    Layer = 8,
    /// Reads into a list of pages that is mapped for each, several at a time.
    ListRead = 9,
    /// Writes from one.
    ListWrite = 10,
}

const NAMES: [(Test, &str); 11] = [
    (Test::SendLatency, "send_latency"),
    (Test::WriteLatency, "write_latency"),
    (Test::ReadLatency, "read_latency"),
    (Test::WriteStream, "write_stream"),
    (Test::ReadStream, "read_stream"),
    (Test::SendRate, "send_rate"),
    (Test::Connect, "connect"),
    (Test::Register, "register"),
    (Test::Layer, "layer"),
    (Test::ListRead, "list_read"),
    (Test::ListWrite, "list_write"),
];

impl Test {
    pub(crate) fn parse(name: &str) -> Result<Self> {
        let found = NAMES.iter().find(|entry| entry.1 == name);
        found.map(|entry| entry.0).ok_or(EINVAL)
    }

    pub(crate) fn name(self) -> &'static str {
        let found = NAMES.iter().find(|entry| entry.0 == self);
        found.map_or("", |entry| entry.1)
    }
}

impl Test {
    /// Whether lists of pages are transferred.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Self::ListRead | Self::ListWrite)
    }

    /// Whether there are samples: the time of each operation, or the totals of [`Test::Layer`].
    pub(crate) fn is_sampled(self) -> bool {
        matches!(
            self,
            Self::SendLatency | Self::WriteLatency | Self::ReadLatency | Self::Layer
        )
    }
}

/// `struct perf_job`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Job {
    pub(crate) test: Test,
    pub(crate) iters: u32,
    pub(crate) size: u32,
    pub(crate) depth: u32,
    pub(crate) chain: u32,
    pub(crate) qps: u32,
    /// For [`Test::Layer`]: in ticks of the processor instead of ns.
    pub(crate) ticks: u32,
    /// For [`Test::Layer`]: whether to count memory.
    pub(crate) count: u32,
}

/// Milliseconds after which a measurement has failed.
pub(crate) const TIMEOUT: u32 = 60_000;

/// QPs of a job.
pub(crate) const MAX_QPS: usize = 2;

/// The same of [`Test::Layer`].
const MAX_LAYER_QPS: u32 = 1024;

/// Lists of pages at a time: `LIST_SLOTS`.
const MAX_LISTS: u32 = 16;

/// Operations of [`Test::Layer`] at a time: `LAYER_BATCH`.
const LAYER_BATCH: u32 = 64;

impl Job {
    /// Refuses what would not end, or not fit.
    pub(crate) fn check(&self) -> Result {
        let layer = self.test == Test::Layer;
        let whole = if layer {
            self.iters % LAYER_BATCH == 0
        } else {
            self.chain != 0 && self.iters % self.chain == 0
        };
        let max_qps = if layer { MAX_LAYER_QPS } else { MAX_QPS as u32 };
        if !(1..=1 << 20).contains(&self.iters)
            || !(1..=1 << 20).contains(&self.size)
            || !(1..=256).contains(&self.depth)
            || !whole
            || self.chain > 16
            || self.chain > self.depth
            || !(1..=max_qps).contains(&self.qps)
            || (self.test == Test::SendRate && self.depth % 2 != 0)
            || (self.test.is_list() && (self.depth > MAX_LISTS || self.qps != 1))
        {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Bytes of the buffer at each end.
    pub(crate) fn buffer_size(&self) -> usize {
        let size = self.size as usize;
        if self.has_receives() {
            2 * size
        } else {
            size
        }
    }

    /// Receives posted to each QP: twice what can be outstanding, as credits come back in halves.
    pub(crate) fn receives(&self) -> u32 {
        2 * self.depth
    }

    /// Whether messages are received.
    pub(crate) fn has_receives(&self) -> bool {
        matches!(self.test, Test::SendLatency | Test::SendRate)
    }
}

/// What came out.
pub(crate) struct Outcome {
    /// Time of each operation in ns, for tests of latency.
    pub(crate) samples: KVVec<u64>,
    /// Operations.
    pub(crate) count: u32,
    /// ns for all of them.
    pub(crate) elapsed: u64,
}
