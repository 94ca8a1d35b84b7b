// SPDX-License-Identifier: GPL-2.0

//! A poster against a poller, and posts against each other on one memory region.

use crate::model;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::sync::Arc;
use loom::thread;
use ndk_state::queue::{Request, Retired, Ring};
use ndk_state::token::{Event, Mr, State};

#[test]
fn a_slot_is_filled_before_it_is_seen_and_read_before_it_is_filled_again() {
    model(3, || {
        let ring = Arc::new(Ring::new(1, 0).unwrap());
        let slot = Arc::new(AtomicU32::new(0));
        // What the device hands over orders nothing by itself.
        let completed = Arc::new(AtomicU32::new(0));
        let poster = thread::spawn({
            let (ring, slot, completed) = (ring.clone(), slot.clone(), completed.clone());
            move || {
                let mut posted = 0;
                for value in 1..=2 {
                    let Ok(reservation) = ring.reserve(false) else {
                        break;
                    };
                    // Free again: the poller has read the value before.
                    assert_eq!(slot.load(Relaxed) & 1, 0, "not read yet");
                    slot.store(value * 2 - 1, Relaxed);
                    ring.publish(&reservation);
                    completed.store(value, Relaxed);
                    posted = value;
                }
                posted
            }
        });
        let mut polled = 0;
        // The indices of a ring follow each other.
        let first = Ring::new(1, 0).unwrap().reserve(false).unwrap().index;
        for value in 1..=2u32 {
            let index = first.wrapping_add(value - 1);
            if completed.load(Relaxed) < value || !ring.is_posted(index) {
                break;
            }
            let seen = slot.load(Relaxed);
            assert_eq!(seen, value * 2 - 1, "read before it was filled");
            slot.store(value * 2, Relaxed);
            let request = Request::Last { silent: false };
            assert_eq!(ring.retire(index, true, request), Retired::Report);
            polled = value;
        }
        let posted = poster.join().unwrap();
        assert!(polled <= posted && posted <= polled + 1);
        assert_eq!(ring.in_flight(), posted - polled);
    });
}

#[test]
fn a_region_is_registered_by_one_of_two_posts() {
    model(3, || {
        let region = Arc::new(Mr::new(true));
        region.apply(Event::Initialize).unwrap();
        region
            .apply(Event::InitializeDone { success: true })
            .unwrap();
        let other = thread::spawn({
            let region = region.clone();
            move || region.apply(Event::FastRegister).is_ok()
        });
        let mine = region.apply(Event::FastRegister).is_ok();
        assert!(mine != other.join().unwrap());
        assert_eq!(region.state(), State::Valid);
    });
}
