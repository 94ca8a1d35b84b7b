// SPDX-License-Identifier: GPL-2.0

//! Work requests.
//!
//! They are built on the stack or in a caller's array and linked where they are when they are
//! posted. Nothing here locks, and only [`SendChain::new`] allocates.

use crate::{
    ffi,
    verbs::{
        mr::FastMr,
        qp::Qp, //
    },
};
use core::{
    marker::PhantomData,
    mem::{
        align_of,
        offset_of,
        size_of, //
    },
    ops::BitOr,
    ptr,
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

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

    /// A consumer's list as it is.
    #[inline]
    pub(crate) fn from_ndk(sgl: &[ffi::ndk_sge]) -> &[Self] {
        // SAFETY: Both have one layout (asserted above) and every bit pattern is valid.
        unsafe { core::slice::from_raw_parts(sgl.as_ptr().cast(), sgl.len()) }
    }
}

/// Why a post failed, and where.
#[derive(Clone, Copy)]
pub(crate) struct PostError {
    /// `ENOMEM` for a full queue, `EINVAL` for a bad request or state.
    pub(crate) error: Error,
    /// The first request that was not posted.
    pub(crate) index: usize,
}

impl From<PostError> for Error {
    fn from(e: PostError) -> Self {
        e.error
    }
}

/// A request that can be linked to the next one.
pub(super) trait Link: Sized {
    /// The C request, at the same address.
    type Raw;

    /// Links `self` to `next`.
    fn link(&mut self, next: *mut Self::Raw);
}

/// Links `wrs` in their order, hands the first to `post`, and finds the request at which it
/// stopped.
#[inline]
pub(super) fn post_chain<W: Link>(
    wrs: &mut [W],
    post: impl FnOnce(*const W::Raw, *mut *const W::Raw) -> c_int,
) -> Result<(), PostError> {
    let base = wrs.as_mut_ptr();
    let len = wrs.len();
    if len == 0 {
        return Ok(());
    }
    for i in 0..len {
        let next = if i + 1 < len {
            // `i + 1` is within the slice.
            base.wrapping_add(i + 1).cast::<W::Raw>()
        } else {
            ptr::null_mut()
        };
        // SAFETY: `i` is within the slice, to which `base` has exclusive access.
        unsafe { (*base.add(i)).link(next) };
    }
    let mut bad: *const W::Raw = base.cast();
    let ret = post(base.cast_const().cast(), &mut bad);
    if ret == 0 {
        return Ok(());
    }
    // Drivers set `bad` to the failed request; one that forgets leaves the first, and nothing was
    // posted then.
    let index = bad.addr().wrapping_sub(base.addr()) / size_of::<W>();
    Err(PostError {
        error: Error::from_errno(ret.min(-1)),
        index: index.min(len - 1),
    })
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
}

impl Link for RecvWr<'_> {
    type Raw = ffi::ib_recv_wr;

    #[inline]
    fn link(&mut self, next: *mut Self::Raw) {
        self.raw.next = next;
    }
}

/// The length of a list as verbs want it. A list beyond `int` becomes one that every device
/// refuses.
#[inline]
fn sge_count(sgl: &[Sge]) -> c_int {
    c_int::try_from(sgl.len()).unwrap_or(c_int::MAX)
}

/// All kinds of send requests: each starts with an `ib_send_wr`.
#[repr(C)]
#[derive(Clone, Copy)]
union RawSend {
    send: ffi::ib_send_wr,
    rdma: ffi::ib_rdma_wr,
    reg: ffi::ib_reg_wr,
}

/// A request for the send queue, over a borrowed list of buffers.
///
/// The list is read while the request is posted; the buffers belong to the device until it
/// completes.
///
/// # Invariants
///
/// `raw` holds the member that its opcode says, and `raw.send` in any case.
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
        // SAFETY: `send` is valid by the type invariant.
        unsafe { self.raw.send.send_flags |= flag as c_int };
        self
    }

    /// Asks for a completion on success. Failures complete in any case.
    #[inline]
    pub(crate) fn signaled(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_SIGNALED)
    }

    /// Wakes a peer that armed for solicited completions.
    #[inline]
    pub(crate) fn solicited(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_SOLICITED)
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

    /// The number that comes back with the completion.
    #[inline]
    pub(crate) fn wr_id(&self) -> u64 {
        // SAFETY: `send` is valid by the type invariant, and we put numbers in only.
        unsafe { self.raw.send.__bindgen_anon_1.wr_id }
    }
}

impl Link for SendWr<'_> {
    type Raw = ffi::ib_send_wr;

    #[inline]
    fn link(&mut self, next: *mut Self::Raw) {
        self.raw.send.next = next;
    }
}

/// Room for a chain of send requests with their lists, for those that are posted later together.
/// Allocates once.
pub(crate) struct SendChain {
    wrs: KVec<SendWr<'static>>,
    sges: KVec<Sge>,
    max_sge: usize,
}

// SAFETY: The pointers inside go to `sges` and to MRs, which may be used from every thread.
unsafe impl Send for SendChain {}
// SAFETY: Nothing can be done through a shared reference.
unsafe impl Sync for SendChain {}

impl SendChain {
    /// Room for `max_wr` requests of `max_sge` pieces.
    pub(crate) fn new(max_wr: usize, max_sge: usize, flags: kernel::alloc::Flags) -> Result<Self> {
        let sges = max_wr.checked_mul(max_sge).ok_or(EOVERFLOW)?;
        Ok(Self {
            wrs: KVec::with_capacity(max_wr, flags)?,
            sges: KVec::from_elem(Sge::default(), sges, flags)?,
            max_sge,
        })
    }

    /// How many requests are in.
    pub(crate) fn len(&self) -> usize {
        self.wrs.len()
    }

    /// Whether none is in.
    pub(crate) fn is_empty(&self) -> bool {
        self.wrs.is_empty()
    }

    /// Appends a request, with a copy of its list. `ENOMEM`: full. `EINVAL`: too many pieces.
    ///
    /// # Safety
    ///
    /// The MR of a registration lives until the chain is posted or cleared, and so does what a
    /// request with inline data points to.
    pub(crate) unsafe fn push(&mut self, wr: &SendWr<'_>) -> Result {
        let at = self.wrs.len();
        if at == self.wrs.capacity() {
            return Err(ENOMEM);
        }
        let mut raw = wr.raw;
        // SAFETY: `send` is valid by the type invariant of `SendWr`.
        let send = unsafe { &mut raw.send };
        let count = usize::try_from(send.num_sge).map_err(|_| EINVAL)?;
        if count > self.max_sge {
            return Err(EINVAL);
        }
        let start = at.checked_mul(self.max_sge).ok_or(EOVERFLOW)?;
        let room = self
            .sges
            .as_mut_slice()
            .get_mut(start..start + count)
            .ok_or(ENOMEM)?;
        if count > 0 {
            // SAFETY: The request borrows a list of `count` pieces.
            room.copy_from_slice(unsafe {
                core::slice::from_raw_parts(send.sg_list.cast::<Sge>(), count)
            });
        }
        // The list lives in `sges`, which is never reallocated.
        send.sg_list = room.as_mut_ptr().cast();
        // INVARIANT: Copied from a valid request.
        self.wrs
            .push_within_capacity(SendWr {
                raw,
                _sgl: PhantomData,
            })
            .map_err(|_| ENOMEM)
    }

    /// Posts everything and empties the chain. Any context.
    pub(crate) fn post(&mut self, qp: &Qp) -> Result<(), PostError> {
        let result = qp.post_send(self.wrs.as_mut_slice());
        self.wrs.clear();
        result
    }

    /// Empties the chain without posting.
    pub(crate) fn clear(&mut self) {
        self.wrs.clear();
    }
}
