// SPDX-License-Identifier: GPL-2.0

//! Short lists of things to do, in order, without allocation.

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

/// Effects of several steps that wait for the one worker that does them, first come, first served.
///
/// # Invariants
///
/// The `len` items from `first` on, around the end, are `Some`, all others `None`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Todo<E: Copy, const N: usize> {
    items: [Option<E>; N],
    first: usize,
    len: usize,
}

impl<E: Copy, const N: usize> Default for Todo<E, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy, const N: usize> Todo<E, N> {
    /// Nothing waits.
    pub const fn new() -> Self {
        // INVARIANT: No item, all `None`.
        Self {
            items: [None; N],
            first: 0,
            len: 0,
        }
    }

    /// Appends an effect. `false` if there is no room for it: `N` is to be chosen so that there is.
    #[must_use = "an effect that is not queued is not done"]
    pub fn push(&mut self, effect: E) -> bool {
        // `first` and `len` are at most `N`, the length of an array.
        let end = self.first.wrapping_add(self.len).checked_rem(N);
        match end.and_then(|end| self.items.get_mut(end)) {
            Some(slot) if slot.is_none() => {
                // INVARIANT: The item behind the last becomes `Some` and `len` covers it.
                *slot = Some(effect);
                self.len = self.len.saturating_add(1);
                true
            }
            _ => false,
        }
    }

    /// Takes the effect that has waited longest.
    pub fn pop(&mut self) -> Option<E> {
        self.pop_if(|_| true)
    }

    /// Takes the effect that has waited longest if it is wanted.
    pub fn pop_if(&mut self, wanted: impl FnOnce(&E) -> bool) -> Option<E> {
        let effect = self
            .items
            .get_mut(self.first)?
            .take_if(|effect| wanted(effect))?;
        // INVARIANT: The first item has become `None`, and `first` and `len` leave it out.
        self.first = self.first.wrapping_add(1).checked_rem(N).unwrap_or(0);
        self.len = self.len.saturating_sub(1);
        Some(effect)
    }

    /// Number of effects that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
