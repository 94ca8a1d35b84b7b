// SPDX-License-Identifier: GPL-2.0

//! Patience: every time, and every first try.

use ndk_state::patience::Patience;

#[test]
fn every_time_is_spent_on_tries_that_double() {
    for total in 0..600 {
        for first in 0..40 {
            let mut patience = Patience::new(total, first);
            let mut spent = 0;
            let mut due = first.max(1);
            while let Some(time) = patience.begin() {
                let left = total - spent;
                // Twice as long as the one before, and longer only where the rest is no whole try.
                let whole = left >= 2 * due;
                assert_eq!(time, if whole { due } else { left }, "{total} {first}");
                spent += time;
                due *= 2;
                assert_eq!(patience.is_over(), spent == total);
            }
            assert_eq!(spent, total);
        }
    }
}
