// SPDX-License-Identifier: GPL-2.0

//! Data that a request takes from kernel memory while it is posted.
//!
//! The buffer is the consumer's again when the post returns, on every device: one whose kernel QPs have inline data copies it
//! into the request, for the others it is copied here into slots that the QP owns.

use crate::{
    adapter::MAX_INLINE,
    ctx::MaySleep,
    verbs::{
        dma::{
            Direction,
            DmaBuf, //
        },
        pd::Pd,
        wr::{
            SendWr,
            Sge, //
        },
    },
};
use core::mem::MaybeUninit;
use kernel::prelude::*;

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

    /// Builds a request whose data is what `sgl` names now: kernel addresses, with tokens that mean nothing. `place` is the
    /// request's place in the send queue.
    ///
    /// # Safety
    ///
    /// - Each piece of `sgl` can be read; together they have at most the bytes that the QP was made for, which is at most
    ///   [`MAX_INLINE`].
    /// - No request at `place` is outstanding, and nobody else posts one.
    pub(crate) unsafe fn build<'a>(
        &self,
        sgl: &'a [Sge],
        place: usize,
        scratch: &'a mut Scratch,
        build: impl FnOnce(&'a [Sge]) -> SendWr<'a>,
    ) -> Result<SendWr<'a>> {
        match self {
            Self::Device { max_sge } if sgl.len() <= *max_sge => {
                // SAFETY: By the requirements of this function.
                Ok(unsafe { build(sgl).inline_data() })
            }
            // NDKPI: there may be more pieces than other requests have.
            Self::Device { .. } => {
                let start = scratch.bytes.as_mut_ptr().cast::<u8>();
                let mut at = 0;
                for piece in sgl {
                    let len = piece.length() as usize;
                    let from = core::ptr::with_exposed_provenance::<u8>(piece.addr() as usize);
                    // SAFETY: Readable, and all pieces together fit, by the requirements of this function.
                    unsafe { start.add(at).copy_from_nonoverlapping(from, len) };
                    at += len;
                }
                // CAST: At most `MAX_INLINE`.
                scratch.sge = [Sge::new(start.expose_provenance() as u64, at as u32, 0)];
                // SAFETY: The bytes were just written, and `scratch` is borrowed as long as the request lives.
                Ok(unsafe { build(&scratch.sge).inline_data() })
            }
            Self::Slots { buffer, size, lkey } => {
                let first = place.checked_mul(*size).ok_or(EINVAL)?;
                let mut at = 0;
                for piece in sgl {
                    let len = piece.length() as usize;
                    let from = core::ptr::with_exposed_provenance::<u8>(piece.addr() as usize);
                    // SAFETY: Readable, and the place is free, by the requirements of this function; a slot holds all pieces.
                    unsafe { buffer.write_raw(first + at, from, len) }?;
                    at += len;
                }
                // CAST: At most `MAX_INLINE`.
                scratch.sge = [Sge::new(buffer.addr() + first as u64, at as u32, *lkey)];
                Ok(build(&scratch.sge))
            }
        }
    }
}
