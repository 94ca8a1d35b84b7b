// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers of the RDMA core and its connection manager.
//!
//! Rules that hold throughout:
//!
//! * Every object holds what it lives on: a [`qp::Qp`] its [`pd::Pd`], [`cq::Cq`]s and [`srq::Srq`],
//!   each of them a [`device::DeviceRef`]. So the verbs order of destruction follows from ownership, and a
//!   device's removal waits for the last object.
//! * What sleeps takes [`crate::ctx::MaySleep`]. Dropping an object that owns a verbs resource
//!   sleeps as well (a debug kernel complains elsewhere); `destroy` is the same thing said aloud.
//! * Post, poll, arm and DMA mapping run in any context, allocate nothing and take no lock of ours.
//! * Addresses and keys given to the device are trusted as everywhere in the kernel: a consumer
//!   that names memory which is not its own can have it overwritten.

pub(crate) mod addr;
pub(crate) mod chain;
pub(crate) mod cm_id;
pub(crate) mod cq;
pub(crate) mod device;
pub(crate) mod dma;
pub(crate) mod fault;
pub(crate) mod handle;
pub(crate) mod inline;
pub(crate) mod mr;
pub(crate) mod net;
pub(crate) mod pd;
pub(crate) mod poll;
pub(crate) mod qp;
pub(crate) mod sg;
pub(crate) mod shared_queue;
pub(crate) mod srq;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod work;
pub(crate) mod wr;
