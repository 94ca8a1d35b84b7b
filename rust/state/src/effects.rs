// SPDX-License-Identifier: GPL-2.0

//! A short list of things to do, in order, without allocation.

/// What a step asks its caller to do, first item first.
///
/// # Invariants
///
/// The first `len` items are `Some`, all others `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects<E: Copy, const N: usize> {
    items: [Option<E>; N],
    len: usize,
}

impl<E: Copy, const N: usize> Effects<E, N> {
    /// Nothing to do.
    pub const fn none() -> Self {
        // INVARIANT: No item, all `None`.
        Self {
            items: [None; N],
            len: 0,
        }
    }

    /// Appends one thing to do.
    ///
    /// `N` is chosen so that no step of a machine fills the list; the exhaustive walks prove it.
    pub(super) fn push(&mut self, effect: E) {
        debug_assert!(self.len < N, "a step has more effects than the list holds");
        if let Some(slot) = self.items.get_mut(self.len) {
            // INVARIANT: The item at `len` becomes `Some` and `len` covers it.
            *slot = Some(effect);
            self.len = self.len.saturating_add(1);
        }
    }

    /// Number of things to do.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The things to do, in order.
    pub fn iter(&self) -> impl Iterator<Item = E> + '_ {
        self.items.iter().copied().flatten()
    }
}

impl<E: Copy, const N: usize> IntoIterator for Effects<E, N> {
    type Item = E;
    type IntoIter = core::iter::Flatten<core::array::IntoIter<Option<E>, N>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter().flatten()
    }
}
