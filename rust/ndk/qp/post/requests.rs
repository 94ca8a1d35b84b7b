// SPDX-License-Identifier: GPL-2.0

//! The requests that can be posted.

use super::{
    super::{
        Gate,
        Qp,
        Receives,
        Remote, //
    },
    refused,
    Tracked, //
};
use crate::{
    ffi,
    mr::{
        Mr,
        Region, //
    },
    mw::{
        Bind,
        Mw, //
    },
    state::{
        flags::{
            self,
            Op, //
        },
        status::Status, //
    },
    status::Result,
    verbs::{
        inline::Pieces,
        qp,
        work::Tag,
        wr::{
            Parts,
            RecvWr,
            SendWr,
            Sge, //
        },
    }, //
};
use core::ffi::c_void;
use kernel::sync::{
    rcu,
    ArcBorrow, //
};

/// What an invalidation names.
pub(crate) enum Memory<'a> {
    /// An MR.
    Mr(ArcBorrow<'a, Mr>),
    /// A memory window.
    Mw(ArcBorrow<'a, Mw>),
}

impl Qp {
    /// Sends a message, or one that invalidates a token of the peer. Any context.
    pub(crate) fn send(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        pieces: Pieces<'_>,
        flags: u32,
        invalidate: Option<u32>,
    ) -> Result {
        // NDKPI: to its sender, a send that invalidates is a send.
        let operation = ffi::ndk_operation_type_NDK_OPERATION_SEND;
        match invalidate {
            None => {
                Op::Send.check(flags)?;
                self.post_data(context, operation, pieces, flags, |wr_id, sgl| {
                    SendWr::send(wr_id, sgl)
                })
            }
            Some(token) => {
                Op::SendAndInvalidate.check(flags)?;
                self.post_data(context, operation, pieces, flags, |wr_id, sgl| {
                    SendWr::send_inv(wr_id, sgl, token)
                })
            }
        }
    }

    /// Writes to the peer's memory. Any context.
    pub(crate) fn write(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        pieces: Pieces<'_>,
        remote: Remote,
        flags: u32,
    ) -> Result {
        Op::Write.check(flags)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_WRITE;
        self.post_data(context, operation, pieces, flags, |wr_id, sgl| {
            SendWr::write(wr_id, sgl, remote.address, remote.token)
        })
    }

    /// Reads the peer's memory. Any context.
    pub(crate) fn read(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        sgl: &[ffi::ndk_sge],
        remote: Remote,
        flags: u32,
    ) -> Result {
        Op::Read.check(flags)?;
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        self.check_size(sgl, self.max_read_sge)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_READ;
        // NDKPI: with local invalidation, success ends the token of the first piece.
        let first = sgl
            .first()
            .filter(|_| flags & flags::RDMA_READ_LOCAL_INVALIDATE != 0);
        // On iWARP a read names a sink, also where it brings nothing.
        let nowhere = [Sge::default()];
        let sgl = match sgl {
            [] if self.read_invalidates => &nowhere,
            _ => sgl,
        };
        let read = |wr_id| SendWr::read(wr_id, sgl, remote.address, remote.token);
        let Some(first) = first else {
            return self.post(lower, context, operation, flags, |wr_id, _| Ok(read(wr_id)));
        };
        let token = first.lkey();
        let fenced = flags & flags::READ_FENCE != 0;
        let (barrier, flags) = match lower.barrier() {
            // The device's own fence would hold the read up for ever once it has to be sent again.
            Some(_) if fenced => (self.barrier(lower), flags & !flags::READ_FENCE),
            _ => (None, flags),
        };
        self.pd.registrations().end_local(token, || {
            let tracked = Tracked::counted(token);
            self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                if self.read_invalidates {
                    let (address, remote) = (remote.address, remote.token);
                    return Ok(SendWr::read_inv(wr_id, sgl, address, remote, token).into());
                }
                // After the read, and it alone has the completion.
                let invalidate = SendWr::local_inv(wr_id, token).fenced();
                Ok(Parts::two(read(wr_id), invalidate).after(barrier, wr_id))
            })
        })
    }

    /// The key to invalidate before a registration or a fenced request, where a retry of what is under way would come to that.
    #[inline]
    fn barrier(&self, lower: ArcBorrow<'_, qp::Qp>) -> Option<u32> {
        lower.barrier().filter(|_| self.send.in_flight() != 0)
    }

    /// Registers the pages of a LAM. Any context.
    pub(crate) fn fast_register(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        mr: &Mr,
        region: Region<'_>,
        flags: u32,
    ) -> Result {
        Op::FastRegister.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        if !mr.is_of(self.pd.object()) {
            return Err(Status::InvalidParameter);
        }
        let operation = ffi::ndk_operation_type_NDK_OPERATION_FAST_REGISTER;
        let user = (&self.chain, self.reads_late);
        let barrier = self.barrier(lower);
        self.with_spare(|| {
            mr.fast_register(&region, flags, &guard, user, |mr, access| {
                let tracked = Tracked::new(mr.rkey(), self.reads_late);
                self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                    let register = SendWr::reg_mr(wr_id, mr, mr.rkey(), access);
                    Ok(Parts::behind(barrier, wr_id, register))
                })
            })
        })
    }

    /// Has a window show a part of an MR. Any context.
    pub(crate) fn bind(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        mr: ArcBorrow<'_, Mr>,
        mw: &Mw,
        bind: Bind,
    ) -> Result {
        let flags = bind.flags;
        Op::Bind.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        let pd = self.pd.object();
        if !mr.is_of(pd) || !mw.is_of(pd) {
            return Err(Status::AccessViolation);
        }
        let operation = ffi::ndk_operation_type_NDK_OPERATION_BIND;
        let user = (&self.chain, self.reads_late);
        let barrier = self.barrier(lower);
        self.with_spare(|| {
            mw.bind(mr, &bind, &guard, user, |mr, access, replaces| {
                let counted = self.reads_late || replaces.is_some();
                let tracked = Tracked::new(mr.rkey(), counted);
                self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                    let register = SendWr::reg_mr(wr_id, mr, mr.rkey(), access);
                    Ok(Parts::behind(replaces.or(barrier), wr_id, register))
                })
            })
        })
    }

    /// Ends a fast registration, or what a window shows. Any context.
    pub(crate) fn invalidate(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        memory: Memory<'_>,
        flags: u32,
    ) -> Result {
        Op::Invalidate.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        let pd = self.pd.object();
        let operation = ffi::ndk_operation_type_NDK_OPERATION_INVALIDATE;
        let post = |token| {
            let tracked = Tracked::counted(token);
            self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                Ok(SendWr::local_inv(wr_id, token).into())
            })
        };
        match memory {
            Memory::Mr(mr) if mr.is_of(pd) => mr.invalidate(&guard, post),
            Memory::Mw(mw) if mw.is_of(pd) => mw.invalidate(&guard, post),
            _ => Err(Status::InvalidParameter),
        }
    }

    /// Posts a receive. Any context.
    pub(crate) fn receive(&self, context: *mut c_void, sgl: &[ffi::ndk_sge]) -> Result {
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.lower.access(&guard)?;
        // NDKPI: receives of a QP with an SRQ are posted to that.
        let Receives::Own { queue, max_sge } = &self.receives else {
            return Err(Status::InvalidDeviceRequest);
        };
        // NDKPI: a receive needs no connection, but one that was disconnected takes none any more.
        if self.gate() == Gate::Nothing as u32 {
            return Err(Status::ConnectionInvalid);
        }
        self.check_size(sgl, *max_sge)?;
        let reservation = queue.reserve(false)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_RECEIVE;
        let tag = Tag::new(operation, false);
        let (wr_id, _) = queue.fill(&reservation, tag, context);
        queue.publish(&reservation);
        lower.trace_post(operation, 0, context, true);
        if let Err(error) = lower.post_recv(RecvWr::new(wr_id, sgl)) {
            queue.retract(&reservation);
            return Err(refused(error));
        }
        Ok(())
    }
}
