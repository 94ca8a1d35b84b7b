// SPDX-License-Identifier: GPL-2.0

//! A poster against a poller, and posts against each other on one memory region.

use crate::model;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::sync::Arc;
use loom::thread;
use ndk_state::queue::{Request, Retired, Ring};
use ndk_state::token::{Event, Mr, Phase, Registration};

// Bug: B37
#[test]
fn a_slot_is_filled_before_it_is_seen_and_read_before_it_is_filled_again() {
    model(3, || {
        let ring = Arc::new(Ring::new(1, 0).unwrap());
        let slot = Arc::new(AtomicU32::new(0));
        // Set by the poller after it has read the first value.
        let read = Arc::new(AtomicU32::new(0));
        // What the device hands over orders nothing by itself.
        let completed = Arc::new(AtomicU32::new(0));
        let poster = thread::spawn({
            let (ring, slot, read) = (ring.clone(), slot.clone(), read.clone());
            let completed = completed.clone();
            move || {
                for value in 1..=2 {
                    let reservation = loop {
                        match ring.reserve(false) {
                            Ok(reservation) => break reservation,
                            Err(_) => thread::yield_now(),
                        }
                    };
                    // The slot is free again: the poller has read the value before.
                    if value == 2 {
                        assert_eq!(read.load(Relaxed), 1, "not read yet");
                    }
                    slot.store(value, Relaxed);
                    ring.publish(&reservation);
                    completed.store(value, Relaxed);
                }
            }
        });
        // The indices of a ring follow each other.
        let first = Ring::new(1, 0).unwrap().reserve(false).unwrap().index;
        for value in 1..=2u32 {
            while completed.load(Relaxed) < value {
                thread::yield_now();
            }
            let index = first.wrapping_add(value - 1);
            // A device orders its completion after the post; here nothing does, so it may not be seen.
            while !ring.is_posted(index) {
                thread::yield_now();
            }
            assert_eq!(slot.load(Relaxed), value, "read before it was filled");
            read.store(value, Relaxed);
            let request = Request::Last { silent: false };
            assert_eq!(ring.retire(index, true, request), Retired::Report);
        }
        poster.join().unwrap();
        assert_eq!(ring.in_flight(), 0);
    });
}

#[test]
fn a_registration_is_made_by_one_of_two_posts() {
    model(3, || {
        let registration = Arc::new(Registration::new());
        let other = thread::spawn({
            let registration = registration.clone();
            move || registration.make(true).is_ok()
        });
        let mine = registration.make(true).is_ok();
        assert!(mine != other.join().unwrap());
        assert_eq!(registration.phase(), Phase::Valid);
        registration.read();
        assert!(!registration.is_read());
    });
}

// Bug: B64
#[test]
fn a_deregistration_and_a_bind_exclude_each_other() {
    model(3, || {
        let region = Arc::new(Mr::new(false));
        region.apply(Event::Register).unwrap();
        region.apply(Event::RegisterDone { success: true }).unwrap();
        let other = thread::spawn({
            let region = region.clone();
            move || region.apply(Event::Bind).is_ok()
        });
        let deregisters = region.apply(Event::Deregister).is_ok();
        assert!(deregisters != other.join().unwrap());
    });
}
