// SPDX-License-Identifier: GPL-2.0

//! One poster against pollers of several completion queues, and a fall of the level against an arm.

use crate::model;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::sync::Arc;
use loom::thread;
use ndk_state::srq::{Alarm, Cell, Cells, Srq};

struct Slots {
    cells: [Cell; 2],
    contents: [AtomicU32; 2],
}

impl Cells for Slots {
    fn cell(&self, number: u32) -> Option<&Cell> {
        self.cells.get(number as usize)
    }
}

impl Slots {
    fn new() -> Self {
        Self {
            cells: [Cell::new(), Cell::new()],
            contents: [AtomicU32::new(0), AtomicU32::new(0)],
        }
    }

    fn post(&self, srq: &Srq, value: u32) -> Option<u32> {
        let place = srq.reserve(self).ok()?;
        self.contents[place.number as usize].store(value, Relaxed);
        srq.publish(&place, self);
        Some(place.number)
    }

    fn retire(&self, srq: &Srq, number: u32) -> Option<u32> {
        let read = || self.contents[number as usize].load(Relaxed);
        srq.retire(number, self, read).map(|(value, _)| value)
    }
}

fn queue(depth: u32) -> Arc<(Srq, Slots)> {
    let (srq, slots) = (Srq::new(), Slots::new());
    srq.add(0, depth, &slots);
    srq.set_room(depth).unwrap();
    Arc::new((srq, slots))
}

// Bug: B70
#[test]
fn slots_come_back_from_two_pollers_and_none_is_lost() {
    model(3, || {
        let both = queue(2);
        let numbers = [1, 2].map(|value| both.1.post(&both.0, value).unwrap());
        let pollers = [0, 1].map(|which| {
            let both = both.clone();
            thread::spawn(move || {
                let value = both.1.retire(&both.0, numbers[which]);
                assert_eq!(value, Some(which as u32 + 1));
            })
        });
        // Posts while they come back: whoever gets a place gets a slot, which is free.
        let meanwhile = both.1.post(&both.0, 3);
        for poller in pollers {
            poller.join().unwrap();
        }
        let last = both.1.post(&both.0, 4).unwrap();
        if let Some(number) = meanwhile {
            assert_ne!(number, last);
            assert_eq!(both.1.retire(&both.0, number), Some(3));
        }
        assert_eq!(both.1.retire(&both.0, last), Some(4));
        assert_eq!(both.0.level(), 0);
    });
}

// Bug: B37
#[test]
fn a_slot_is_read_before_it_is_filled_again() {
    model(3, || {
        let both = queue(1);
        let number = both.1.post(&both.0, 1).unwrap();
        let poller = thread::spawn({
            let both = both.clone();
            move || assert_eq!(both.1.retire(&both.0, number), Some(1))
        });
        if let Some(number) = both.1.post(&both.0, 2) {
            assert_eq!(both.1.retire(&both.0, number), Some(2));
        }
        poller.join().unwrap();
    });
}

#[test]
fn a_completion_that_comes_twice_retires_once() {
    model(3, || {
        let both = queue(1);
        let number = both.1.post(&both.0, 1).unwrap();
        let other = thread::spawn({
            let both = both.clone();
            move || both.1.retire(&both.0, number).is_some()
        });
        let mine = both.1.retire(&both.0, number).is_some();
        assert!(mine != other.join().unwrap());
        assert_eq!(both.0.level(), 0);
    });
}

#[test]
fn the_room_does_not_shrink_below_a_post() {
    model(3, || {
        let both = queue(2);
        both.1.post(&both.0, 1).unwrap();
        let poster = thread::spawn({
            let both = both.clone();
            move || both.1.post(&both.0, 2).is_some()
        });
        let shrunk = both.0.set_room(1).is_ok();
        assert!(shrunk != poster.join().unwrap());
        assert!(both.0.level() <= both.0.room());
    });
}

#[test]
fn a_fall_during_an_arm_is_seen_by_one_of_them() {
    model(3, || {
        let both = queue(1);
        let alarm = Arc::new(Alarm::new(0));
        let number = both.1.post(&both.0, 1).unwrap();
        let poller = thread::spawn({
            let (both, alarm) = (both.clone(), alarm.clone());
            move || {
                let retired = both.0.retire(number, &both.1, || ());
                retired.is_some_and(|((), level)| alarm.retired(level))
            }
        });
        alarm.arm(1);
        let seen = alarm.look(both.0.level(), 0);
        assert!(seen != poller.join().unwrap());
        assert!(alarm.begin_callback().is_some());
        assert!(alarm.begin_callback().is_none());
    });
}
