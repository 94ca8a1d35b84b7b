// SPDX-License-Identifier: GPL-2.0

//! Patience: how a time is divided.

#![cfg(not(loom))]

use ndk_state::patience::Patience;
use proptest::prelude::*;

fn tries(mut patience: Patience) -> Vec<u32> {
    core::iter::from_fn(|| patience.begin()).collect()
}

#[test]
fn tries_grow_and_end_with_the_time() {
    assert_eq!(
        tries(Patience::new(5000, 100)),
        [100, 200, 400, 800, 1600, 1900]
    );
    assert_eq!(tries(Patience::new(300, 100)), [100, 200]);
    assert_eq!(tries(Patience::new(100, 100)), [100]);
    assert_eq!(tries(Patience::new(50, 100)), [50]);
    assert_eq!(tries(Patience::new(0, 100)), [] as [u32; 0]);
    assert_eq!(tries(Patience::new(3, 0)), [1, 2]);
}

#[test]
fn it_is_over_when_no_try_is_left() {
    let mut patience = Patience::new(300, 100);
    assert!(!patience.is_over());
    assert_eq!(patience.begin(), Some(100));
    assert!(!patience.is_over());
    assert_eq!(patience.begin(), Some(200));
    assert!(patience.is_over());
    assert_eq!(patience.begin(), None);
    assert!(Patience::new(0, 1).is_over());
}

proptest! {
    #[test]
    fn all_of_the_time_is_spent_and_no_try_is_shorter_than_the_one_before(total: u32, first: u32) {
        let tries = tries(Patience::new(total, first));
        prop_assert_eq!(tries.iter().map(|time| u64::from(*time)).sum::<u64>(), u64::from(total));
        prop_assert!(tries.is_sorted());
        prop_assert!(tries.len() <= 33);
    }
}
