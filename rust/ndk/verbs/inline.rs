// SPDX-License-Identifier: GPL-2.0

//! Data that a request takes from kernel memory while it is posted.
//!
//! The buffer is the consumer's again when the post returns, on every device: one whose kernel QPs have inline data copies it
//! into the request, for the others it is copied here into slots that the QP owns.

use crate::{
    adapter::MAX_INLINE,
    ctx::MaySleep,
    ffi,
    verbs::{
        dma::{
            Direction,
            DmaBuf, //
        },
        pd::Pd,
        work::Place,
        wr::{
            SendWr,
            Sge, //
        },
    },
};
use core::mem::MaybeUninit;
use kernel::prelude::*;

/// The pieces of a send or write.
///
/// # Invariants
///
/// With `inline` each piece names kernel memory that can be read during `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Pieces<'a> {
    sgl: &'a [Sge],
    inline: bool,
    total: u64,
}

impl<'a> Pieces<'a> {
    /// Takes what a consumer sends or writes, `inline` from kernel addresses.
    ///
    /// # Safety
    ///
    /// With `inline` each piece names kernel memory that can be read during `'a`.
    #[inline]
    pub(crate) unsafe fn new(sgl: &'a [ffi::ndk_sge], inline: bool) -> Self {
        let sgl = Sge::from_ndk(sgl);
        // INVARIANT: By the requirements of this function.
        Self {
            sgl,
            inline,
            total: Sge::total(sgl),
        }
    }

    /// The pieces.
    #[inline]
    pub(crate) fn sgl(&self) -> &'a [Sge] {
        self.sgl
    }

    /// Whether the data is taken while the request is posted.
    #[inline]
    pub(crate) fn is_inline(&self) -> bool {
        self.inline
    }

    /// Bytes of all pieces.
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Copies the data to `to`, piece by piece: `copy` gets offset, source and length of each.
    #[inline]
    fn each(&self, mut copy: impl FnMut(usize, *const u8, usize) -> Result) -> Result {
        let mut at = 0;
        for piece in self.sgl {
            let len = piece.length() as usize;
            let from = core::ptr::with_exposed_provenance::<u8>(piece.addr() as usize);
            copy(at, from, len)?;
            at += len;
        }
        Ok(())
    }
}

/// How a QP carries inline data.
pub(crate) enum Inline {
    /// The device copies.
    Device {
        /// Pieces of a request, at most.
        max_sge: usize,
    },
    /// We copy, into one slot for each place in the send queue.
    Slots {
        /// All slots.
        buffer: DmaBuf,
        /// Bytes of a slot.
        size: usize,
        /// Key for `buffer`.
        lkey: u32,
    },
}

/// Room for the pieces that a request names when it is posted.
pub(crate) struct Scratch {
    bytes: MaybeUninit<[u8; MAX_INLINE as usize]>,
    sge: [Sge; 1],
}

impl Scratch {
    /// Room with nothing in it.
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            bytes: MaybeUninit::uninit(),
            sge: [Sge::default()],
        }
    }
}

impl Inline {
    /// Slots for `slots` requests of `size` bytes. Sleeps.
    pub(crate) fn slots(pd: &Pd, slots: u32, size: u32, _ctx: &MaySleep) -> Result<Self> {
        let size = size as usize;
        let bytes = size.checked_mul(slots as usize).ok_or(EINVAL)?;
        Ok(Self::Slots {
            buffer: DmaBuf::new(pd.device().clone(), bytes, Direction::ToDevice, GFP_KERNEL)?,
            size,
            lkey: pd.local_dma_lkey(),
        })
    }

    /// Builds a request at `place` of the send queue, whose data is what `pieces` name now. Their tokens mean nothing.
    ///
    /// `EINVAL`: they are not inline, or more than the QP or [`MAX_INLINE`] allows.
    pub(crate) fn build<'a>(
        &self,
        pieces: Pieces<'a>,
        place: &Place,
        scratch: &'a mut Scratch,
        build: impl FnOnce(&'a [Sge]) -> SendWr<'a>,
    ) -> Result<SendWr<'a>> {
        let limit = match self {
            Self::Device { .. } => MAX_INLINE as usize,
            Self::Slots { size, .. } => *size,
        };
        if !pieces.inline || pieces.total > limit as u64 {
            return Err(EINVAL);
        }
        // CAST: At most `MAX_INLINE`.
        let total = pieces.total as u32;
        match self {
            Self::Device { max_sge } if pieces.sgl.len() <= *max_sge => {
                // SAFETY: By the invariant of `Pieces`.
                Ok(unsafe { build(pieces.sgl).inline_data() })
            }
            // NDKPI: there may be more pieces than other requests have.
            Self::Device { .. } => {
                let start = scratch.bytes.as_mut_ptr().cast::<u8>();
                pieces.each(|at, from, len| {
                    // SAFETY: Readable by the invariant of `Pieces`, and all pieces together fit, as was checked.
                    unsafe { start.add(at).copy_from_nonoverlapping(from, len) };
                    Ok(())
                })?;
                scratch.sge = [Sge::new(start.expose_provenance() as u64, total, 0)];
                // SAFETY: The bytes were just written, and `scratch` is borrowed as long as the request lives.
                Ok(unsafe { build(&scratch.sge).inline_data() })
            }
            Self::Slots { buffer, size, lkey } => {
                let first = place.number().checked_mul(*size).ok_or(EINVAL)?;
                pieces.each(|at, from, len| {
                    // SAFETY: Readable by the invariant of `Pieces`. The slot is that of a place that was reserved, and holds
                    // all pieces, as was checked.
                    unsafe { buffer.write_raw(first + at, from, len) }
                })?;
                scratch.sge = [Sge::new(buffer.addr() + first as u64, total, *lkey)];
                Ok(build(&scratch.sge))
            }
        }
    }
}
