// SPDX-License-Identifier: GPL-2.0

//! Work requests.
//!
//! They are built on the stack and posted one by one. Nothing here locks or allocates.

use crate::{
    ffi,
    state::flags,
    verbs::mr::FastMr, //
};
use core::{
    marker::PhantomData,
    mem::{
        align_of,
        offset_of,
        size_of, //
    },
    ops::BitOr,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::ffi::c_int;

/// What the peer may do with the QP, or somebody with an MR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access(u32);

impl Access {
    /// Local reading only.
    pub(crate) const NONE: Self = Self(0);
    /// Local writing: receives, and the sink of a read.
    pub(crate) const LOCAL_WRITE: Self = Self(ffi::ib_access_flags_IB_ACCESS_LOCAL_WRITE);
    /// RDMA write by the peer. Needs local writing as well.
    pub(crate) const REMOTE_WRITE: Self = Self(ffi::ib_access_flags_IB_ACCESS_REMOTE_WRITE);
    /// RDMA read by the peer.
    pub(crate) const REMOTE_READ: Self = Self(ffi::ib_access_flags_IB_ACCESS_REMOTE_READ);

    /// The rights as a C bit set.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A piece of a buffer: DMA address, length, local key.
///
/// The same thing as `struct ib_sge` and as `struct ndk_sge`.
#[repr(transparent)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Sge(ffi::ib_sge);

const _: () = {
    assert!(size_of::<Sge>() == size_of::<ffi::ndk_sge>());
    assert!(align_of::<Sge>() == align_of::<ffi::ndk_sge>());
    assert!(offset_of!(ffi::ib_sge, addr) == offset_of!(ffi::ndk_sge, __bindgen_anon_1));
    assert!(offset_of!(ffi::ib_sge, length) == offset_of!(ffi::ndk_sge, length));
    assert!(offset_of!(ffi::ib_sge, lkey) == offset_of!(ffi::ndk_sge, token));
};

impl Sge {
    /// Makes a piece.
    #[inline]
    pub(crate) fn new(addr: u64, length: u32, lkey: u32) -> Self {
        Self(ffi::ib_sge { addr, length, lkey })
    }

    /// The address.
    #[inline]
    pub(crate) fn addr(&self) -> u64 {
        self.0.addr
    }

    /// The length.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.0.length
    }

    /// The local key.
    #[inline]
    pub(crate) fn lkey(&self) -> u32 {
        self.0.lkey
    }

    /// Bytes of all pieces of a list.
    #[inline]
    pub(crate) fn total(sgl: &[Self]) -> u64 {
        // A slice has less than 2^60 elements of 16 bytes, each of less than 2^32 bytes; what counts is far below.
        sgl.iter().fold(0, |sum: u64, piece| {
            sum.saturating_add(u64::from(piece.length()))
        })
    }

    /// A consumer's list as it is.
    #[inline]
    pub(crate) fn from_ndk(sgl: &[ffi::ndk_sge]) -> &[Self] {
        // SAFETY: Both have one layout (asserted above) and every bit pattern is valid.
        unsafe { core::slice::from_raw_parts(sgl.as_ptr().cast(), sgl.len()) }
    }
}

/// A receive request over a borrowed list of buffers.
#[repr(transparent)]
pub(crate) struct RecvWr<'a> {
    raw: ffi::ib_recv_wr,
    _sgl: PhantomData<&'a [Sge]>,
}

impl<'a> RecvWr<'a> {
    /// A receive into `sgl`, which the device may write to until the request completes.
    #[inline]
    pub(crate) fn new(wr_id: u64, sgl: &'a [Sge]) -> Self {
        Self {
            raw: ffi::ib_recv_wr {
                next: ptr::null_mut(),
                __bindgen_anon_1: ffi::ib_recv_wr__bindgen_ty_1 { wr_id },
                sg_list: sgl.as_ptr().cast_mut().cast(),
                num_sge: sge_count(sgl),
            },
            _sgl: PhantomData,
        }
    }

    /// The C request, which is not linked to another.
    #[inline]
    pub(super) fn as_raw(&self) -> *const ffi::ib_recv_wr {
        &self.raw
    }
}

/// The length of a list as verbs want it. A list beyond `int` becomes one that every device
/// refuses.
#[inline]
fn sge_count(sgl: &[Sge]) -> c_int {
    c_int::try_from(sgl.len()).unwrap_or(c_int::MAX)
}

/// All kinds of send requests: each starts with an `ib_send_wr`.
///
/// # Invariants
///
/// It holds the member that its opcode says, and `send` in any case.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union RawSend {
    send: ffi::ib_send_wr,
    rdma: ffi::ib_rdma_wr,
    reg: ffi::ib_reg_wr,
}

impl RawSend {
    /// The C request.
    #[inline]
    pub(super) fn as_ptr(&self) -> *const ffi::ib_send_wr {
        ptr::from_ref(self).cast()
    }

    /// Has the request followed by `next`, and gives the list that it begins.
    #[inline]
    pub(super) fn link(&mut self, next: *mut ffi::ib_send_wr) -> *mut ffi::ib_send_wr {
        self.send.next = next;
        ptr::from_mut(self).cast()
    }

    /// Has the request name these pieces.
    pub(super) fn set_sgl(&mut self, sgl: &[Sge]) {
        // SAFETY: `send` is valid by the type invariant.
        let send = unsafe { &mut self.send };
        send.sg_list = sgl.as_ptr().cast_mut().cast();
        send.num_sge = sge_count(sgl);
    }
}

/// How a request is to be done: flags of the device.
#[derive(Clone, Copy)]
pub(crate) struct How(c_int);

impl How {
    /// What `flags` of the consumer say; `signalled` asks for a completion on success, which there is of a failure in any case.
    #[inline]
    pub(crate) fn of(flags: u32, signalled: bool) -> Self {
        let mut how = 0;
        if signalled {
            how |= ffi::ib_send_flags_IB_SEND_SIGNALED;
        }
        // It starts after all reads before it are done.
        if flags & flags::READ_FENCE != 0 {
            how |= ffi::ib_send_flags_IB_SEND_FENCE;
        }
        // It wakes a peer that armed for solicited completions.
        if flags & flags::SEND_AND_SOLICIT_EVENT != 0 {
            how |= ffi::ib_send_flags_IB_SEND_SOLICITED;
        }
        // CAST: A bit set in a C `int`.
        Self(how as c_int)
    }
}

/// A request for the send queue, over a borrowed list of buffers.
///
/// The list is read while the request is posted; the buffers belong to the device until it
/// completes.
///
/// # Invariants
///
/// `raw.send` names the pieces of `_sgl`.
#[repr(C)]
pub(crate) struct SendWr<'a> {
    raw: RawSend,
    _sgl: PhantomData<&'a [Sge]>,
}

impl<'a> SendWr<'a> {
    #[inline]
    fn base(wr_id: u64, opcode: ffi::ib_wr_opcode, sgl: &'a [Sge], key: u32) -> ffi::ib_send_wr {
        ffi::ib_send_wr {
            next: ptr::null_mut(),
            __bindgen_anon_1: ffi::ib_send_wr__bindgen_ty_1 { wr_id },
            sg_list: sgl.as_ptr().cast_mut().cast(),
            num_sge: sge_count(sgl),
            opcode,
            send_flags: 0,
            ex: ffi::ib_send_wr__bindgen_ty_2 {
                invalidate_rkey: key,
            },
        }
    }

    #[inline]
    fn rdma(wr: ffi::ib_send_wr, remote_addr: u64, rkey: u32) -> Self {
        // INVARIANT: Callers pass an RDMA opcode.
        Self {
            raw: RawSend {
                rdma: ffi::ib_rdma_wr {
                    wr,
                    remote_addr,
                    rkey,
                },
            },
            _sgl: PhantomData,
        }
    }

    #[inline]
    fn plain(wr: ffi::ib_send_wr) -> Self {
        // INVARIANT: Callers pass an opcode that needs no more.
        Self {
            raw: RawSend { send: wr },
            _sgl: PhantomData,
        }
    }

    /// A message.
    #[inline]
    pub(crate) fn send(wr_id: u64, sgl: &'a [Sge]) -> Self {
        Self::plain(Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_SEND, sgl, 0))
    }

    /// A message that invalidates a key of the peer.
    #[inline]
    pub(crate) fn send_inv(wr_id: u64, sgl: &'a [Sge], rkey: u32) -> Self {
        Self::plain(Self::base(
            wr_id,
            ffi::ib_wr_opcode_IB_WR_SEND_WITH_INV,
            sgl,
            rkey,
        ))
    }

    /// Writes `sgl` to the peer's memory.
    #[inline]
    pub(crate) fn write(wr_id: u64, sgl: &'a [Sge], remote_addr: u64, rkey: u32) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_RDMA_WRITE, sgl, 0);
        Self::rdma(wr, remote_addr, rkey)
    }

    /// Reads the peer's memory into `sgl`.
    #[inline]
    pub(crate) fn read(wr_id: u64, sgl: &'a [Sge], remote_addr: u64, rkey: u32) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_RDMA_READ, sgl, 0);
        Self::rdma(wr, remote_addr, rkey)
    }

    /// Reads the peer's memory into `sgl` and invalidates the local key of it, where
    /// [`Port::has_read_inv`].
    #[inline]
    pub(crate) fn read_inv(
        wr_id: u64,
        sgl: &'a [Sge],
        remote_addr: u64,
        rkey: u32,
        lkey: u32,
    ) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_RDMA_READ_WITH_INV, sgl, lkey);
        Self::rdma(wr, remote_addr, rkey)
    }

    /// Invalidates a key of our own.
    #[inline]
    pub(crate) fn local_inv(wr_id: u64, key: u32) -> Self {
        Self::plain(Self::base(
            wr_id,
            ffi::ib_wr_opcode_IB_WR_LOCAL_INV,
            &[],
            key,
        ))
    }

    /// Makes valid what was mapped into `mr`, under `key`, which is one of [`FastMr::rkey`] with
    /// any low byte.
    ///
    /// The MR must not be mapped anew or dropped before the request has completed.
    #[inline]
    pub(crate) fn reg_mr(wr_id: u64, mr: &'a FastMr, key: u32, access: Access) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_REG_MR, &[], 0);
        // INVARIANT: The opcode is that of a registration.
        Self {
            raw: RawSend {
                reg: ffi::ib_reg_wr {
                    wr,
                    mr: mr.as_raw(),
                    key,
                    // CAST: A bit set in a C `int`.
                    access: access.0 as c_int,
                },
            },
            _sgl: PhantomData,
        }
    }

    #[inline]
    fn flag(mut self, flag: ffi::ib_send_flags) -> Self {
        self.set(How(flag as c_int));
        self
    }

    /// Bytes of its pieces.
    pub(crate) fn length(&self) -> u64 {
        // SAFETY: `send` is valid by the type invariant.
        let send = unsafe { &self.raw.send };
        let pieces = usize::try_from(send.num_sge).unwrap_or(0);
        (0..pieces)
            // SAFETY: The list has so many pieces, and is borrowed, by the type invariant.
            .map(|piece| unsafe { u64::from((*send.sg_list.add(piece)).length) })
            .sum()
    }

    /// Says how it is to be done. In place: a request is too large to be moved for that.
    #[inline]
    pub(crate) fn set(&mut self, how: How) {
        // SAFETY: `send` is valid by the type invariant.
        unsafe { self.raw.send.send_flags |= how.0 };
    }

    /// Asks for a completion on success. Failures complete in any case.
    #[inline]
    pub(crate) fn signaled(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_SIGNALED)
    }

    /// Starts after all reads before it are done.
    #[inline]
    pub(crate) fn fenced(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_FENCE)
    }

    /// Takes the data from kernel addresses while it is posted; keys are ignored.
    ///
    /// # Safety
    ///
    /// The addresses in the list can be read for their lengths in the context in which the request
    /// is posted.
    #[inline]
    pub(crate) unsafe fn inline_data(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_INLINE)
    }

    /// The C request, which is not linked to another.
    #[inline]
    pub(super) fn as_raw(&self) -> *const ffi::ib_send_wr {
        self.raw.as_ptr()
    }

    /// A copy of the request, which names the same pieces.
    pub(super) fn raw(&self) -> RawSend {
        self.raw
    }

    /// The pieces.
    pub(super) fn sgl(&self) -> &'a [Sge] {
        // SAFETY: `send` is valid by the type invariant, and names a slice that lives during `'a`.
        unsafe {
            let send = &self.raw.send;
            let count = usize::try_from(send.num_sge).unwrap_or(0);
            match NonNull::new(send.sg_list.cast::<Sge>()) {
                Some(first) => core::slice::from_raw_parts(first.as_ptr(), count),
                None => &[],
            }
        }
    }

    /// Whether the data is taken while the request is posted.
    pub(super) fn is_inline(&self) -> bool {
        // SAFETY: `send` is valid by the type invariant.
        // CAST: A bit set in a C `int`.
        unsafe { self.raw.send.send_flags & ffi::ib_send_flags_IB_SEND_INLINE as c_int != 0 }
    }

    /// Marks the id of a part that is not the last of its request.
    #[inline]
    fn first_of_two(mut self) -> Self {
        // SAFETY: `send` is valid by the type invariant, and ids are numbers.
        unsafe { self.raw.send.__bindgen_anon_1.wr_id |= FIRST_OF_TWO };
        self
    }
}

/// In a work request id: a part that is not the last of its request. Ids are addresses of aligned memory, so the bit is free.
pub(crate) const FIRST_OF_TWO: u64 = 1;

/// A request as the device sees it: one work request, or two or three that follow each other.
pub(crate) struct Parts<'a> {
    barrier: Option<SendWr<'a>>,
    first: Option<SendWr<'a>>,
    last: SendWr<'a>,
}

impl<'a> From<SendWr<'a>> for Parts<'a> {
    #[inline]
    fn from(last: SendWr<'a>) -> Self {
        Self {
            barrier: None,
            first: None,
            last,
        }
    }
}

impl<'a> Parts<'a> {
    /// Two work requests with one id. The first one only completes when it fails.
    #[inline]
    pub(crate) fn two(first: SendWr<'a>, last: SendWr<'a>) -> Self {
        Self {
            barrier: None,
            first: Some(first.first_of_two()),
            last,
        }
    }

    /// The same two, behind the invalidation of a key if there is one.
    #[inline]
    pub(crate) fn after(mut self, key: Option<u32>, wr_id: u64) -> Self {
        self.barrier = key.map(|key| SendWr::local_inv(wr_id, key).first_of_two());
        self
    }

    /// A work request, behind the invalidation of a key if there is one.
    #[inline]
    pub(crate) fn behind(key: Option<u32>, wr_id: u64, last: SendWr<'a>) -> Self {
        match key {
            Some(key) => Self::two(SendWr::local_inv(wr_id, key), last),
            None => last.into(),
        }
    }

    /// The work request, of a request of one.
    #[inline]
    pub(crate) fn last(&self) -> &SendWr<'a> {
        &self.last
    }

    /// How many work requests.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        1 + u32::from(self.first.is_some()) + u32::from(self.barrier.is_some())
    }

    /// The work requests, and whether each is the last.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SendWr<'a>, bool)> {
        let before = self.barrier.iter().chain(&self.first);
        before.map(|wr| (wr, false)).chain([(&self.last, true)])
    }

    /// The C requests.
    pub(super) fn ptrs(&self) -> impl Iterator<Item = *const ffi::ib_send_wr> + use<'_, 'a> {
        self.iter().map(|(wr, _)| wr.as_raw())
    }

    /// Links them, and gives the list.
    pub(super) fn link(&mut self) -> *mut ffi::ib_send_wr {
        let mut list = self.last.raw.link(ptr::null_mut());
        for wr in self.first.iter_mut().chain(&mut self.barrier) {
            list = wr.raw.link(list);
        }
        list
    }

    /// Says how they are to be done: the fence is before the first one, the rest is of the last.
    #[inline]
    pub(crate) fn set(&mut self, how: How) {
        let fence = ffi::ib_send_flags_IB_SEND_FENCE as c_int;
        match &mut self.first {
            Some(first) => {
                first.set(How(how.0 & fence));
                self.last.set(How(how.0 & !fence));
            }
            None => self.last.set(how),
        }
    }
}
