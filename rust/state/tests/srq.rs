// SPDX-License-Identifier: GPL-2.0

//! The shared receive queue: its slots against a model of a device and of consumers, its alarm row by row.

#![cfg(not(loom))]

use ndk_state::srq::{group_size, locate, Alarm, Cell, Cells, Heard, Srq, GROUPS, MAX_SLOTS};
use ndk_state::status::Status;
use proptest::prelude::*;
use std::collections::HashSet;

struct Slots(Vec<Cell>);

impl Cells for Slots {
    fn cell(&self, number: u32) -> Option<&Cell> {
        self.0.get(number as usize)
    }
}

/// A queue with this many slots, all of them room.
fn queue(depth: u32) -> (Srq, Slots) {
    let (srq, slots) = (Srq::new(), Slots((0..64).map(|_| Cell::new()).collect()));
    srq.add(0, depth, &slots);
    srq.set_room(depth).unwrap();
    (srq, slots)
}

fn post(srq: &Srq, slots: &Slots) -> u32 {
    let place = srq.reserve(slots).unwrap();
    srq.publish(&place, slots);
    place.number
}

fn retire(srq: &Srq, slots: &Slots, number: u32) -> Option<u32> {
    srq.retire(number, slots, || ()).map(|((), level)| level)
}

/// Proves: SRQ_RECEIVE.no-resources
#[test]
fn the_depth_is_exact() {
    for depth in [1, 2, 3, 7, 64] {
        let (srq, slots) = queue(depth);
        let posted: HashSet<_> = (0..depth).map(|_| post(&srq, &slots)).collect();
        assert_eq!(posted.len() as u32, depth, "a slot was given out twice");
        assert_eq!(srq.level(), depth);
        assert_eq!(srq.reserve(&slots), Err(Status::NoMoreEntries));
        assert_eq!(srq.level(), depth);
    }
}

#[test]
fn a_queue_without_room_takes_nothing() {
    let slots = Slots(vec![]);
    assert_eq!(Srq::new().reserve(&slots), Err(Status::NoMoreEntries));
    assert_eq!(Srq::default().room(), 0);
}

#[test]
fn receives_complete_in_any_order() {
    let (srq, slots) = queue(4);
    let posted: Vec<_> = (0..4).map(|_| post(&srq, &slots)).collect();
    for (left, number) in [(3, posted[2]), (2, posted[0]), (1, posted[3])] {
        assert_eq!(retire(&srq, &slots, number), Some(left));
    }
    let again: HashSet<_> = (0..3).map(|_| post(&srq, &slots)).collect();
    assert!(!again.contains(&posted[1]));
    assert_eq!(srq.reserve(&slots), Err(Status::NoMoreEntries));
}

#[test]
fn a_slot_is_retired_once_and_only_when_posted() {
    let (srq, slots) = queue(2);
    assert_eq!(retire(&srq, &slots, 0), None);
    assert_eq!(retire(&srq, &slots, 99), None);
    let place = srq.reserve(&slots).unwrap();
    assert_eq!(retire(&srq, &slots, place.number), None);
    srq.publish(&place, &slots);
    assert_eq!(retire(&srq, &slots, place.number), Some(0));
    assert_eq!(retire(&srq, &slots, place.number), None);
    assert_eq!(srq.level(), 0);
}

#[test]
fn what_the_device_refuses_leaves_no_trace() {
    let (srq, slots) = queue(1);
    for _ in 0..3 {
        let place = srq.reserve(&slots).unwrap();
        assert_eq!(place.level, 1);
        srq.publish(&place, &slots);
        srq.retract(&place, &slots);
        assert_eq!(srq.level(), 0);
        assert_eq!(retire(&srq, &slots, place.number), None);
    }
    post(&srq, &slots);
}

/// Proves: MODIFY_SRQ.no-resources
#[test]
fn the_room_is_not_made_smaller_than_the_level() {
    let (srq, slots) = queue(8);
    for _ in 0..5 {
        post(&srq, &slots);
    }
    assert_eq!(srq.set_room(4), Err(Status::BufferOverflow));
    assert_eq!(srq.room(), 8);
    assert_eq!(srq.set_room(5), Ok(()));
    assert_eq!(srq.reserve(&slots), Err(Status::NoMoreEntries));
    srq.add(8, 8, &slots);
    srq.set_room(16).unwrap();
    for _ in 5..16 {
        post(&srq, &slots);
    }
    assert_eq!(srq.reserve(&slots), Err(Status::NoMoreEntries));
}

#[test]
fn groups_are_without_gaps() {
    for shift in [0, 1, 5] {
        let (mut group, mut place) = (0, 0);
        for number in 0..4096 {
            assert_eq!(locate(number, shift), (group, place), "{number}");
            place += 1;
            if place == group_size(group, shift) as usize {
                (group, place) = (group + 1, 0);
            }
        }
    }
    let (last, place) = locate(MAX_SLOTS - 1, 0);
    assert_eq!(
        (last, place + 1),
        (GROUPS - 1, group_size(last, 0) as usize)
    );
    assert_eq!(locate(MAX_SLOTS - 1, 24), (0, (MAX_SLOTS - 1) as usize));
}

proptest! {
    /// No slot is given out twice, none is lost, and the level is that of the model.
    #[test]
    fn slots_against_a_model(depth in 1..16u32, steps in prop::collection::vec((0..4u8, any::<prop::sample::Index>()), 0..200)) {
        let (srq, slots) = queue(depth);
        let mut posted: Vec<u32> = Vec::new();
        let (mut room, mut added) = (depth, depth);
        for (step, pick) in steps {
            match step {
                0 | 1 => match srq.reserve(&slots) {
                    Ok(place) => {
                        prop_assert!((posted.len() as u32) < room);
                        prop_assert!(!posted.contains(&place.number));
                        srq.publish(&place, &slots);
                        posted.push(place.number);
                    }
                    Err(status) => {
                        prop_assert_eq!(status, Status::NoMoreEntries);
                        prop_assert_eq!(posted.len() as u32, room);
                    }
                },
                2 if !posted.is_empty() => {
                    let number = posted.swap_remove(pick.index(posted.len()));
                    prop_assert_eq!(retire(&srq, &slots, number), Some(posted.len() as u32));
                }
                3 => {
                    let wanted = 1 + pick.index(32) as u32;
                    if wanted > added {
                        srq.add(added, wanted - added, &slots);
                        added = wanted;
                    }
                    if srq.set_room(wanted).is_ok() {
                        room = wanted;
                    } else {
                        prop_assert!(posted.len() as u32 > wanted);
                    }
                }
                _ => {}
            }
            prop_assert_eq!(srq.level(), posted.len() as u32);
            prop_assert_eq!(srq.room(), room);
        }
    }
}

/// Proves: CREATE_SRQ.ok
#[test]
fn without_a_threshold_nothing_notifies() {
    let alarm = Alarm::new(0);
    assert!(!alarm.posted(1));
    assert!(!alarm.retired(0));
    assert_eq!(alarm.event(), Heard::Nothing);
    assert!(!alarm.look(0, 0));
    assert_eq!(alarm.ask(), None);
    assert_eq!(alarm.begin_callback(), None);
}

/// Proves: CREATE_SRQ.ok
#[test]
fn a_new_queue_notifies_of_a_fall_only() {
    let alarm = Alarm::new(2);
    assert!(!alarm.posted(1));
    assert!(!alarm.retired(0));
    assert_eq!(alarm.event(), Heard::Nothing);
    assert_eq!(alarm.ask(), None);
    assert!(alarm.posted(2), "the threshold is reached");
    assert!(!alarm.posted(3));
    assert!(alarm.is_armed());
    assert_eq!(alarm.ask(), Some(2));
    assert!(!alarm.look(2, 0));
    assert!(!alarm.retired(2));
    assert!(alarm.retired(1));
    assert_eq!(alarm.begin_callback(), Some(Status::Success));
    assert_eq!(alarm.begin_callback(), None);
}

/// Proves: MODIFY_SRQ.ok
#[test]
fn an_arm_notifies_once() {
    let alarm = Alarm::new(0);
    for _ in 0..2 {
        alarm.arm(4);
        assert_eq!(alarm.ask(), Some(4));
        assert!(!alarm.look(9, 0));
        assert_eq!(alarm.event(), Heard::Kick);
        assert!(!alarm.retired(0), "the completion of the same receive");
        assert_eq!(alarm.event(), Heard::Nothing);
        assert_eq!(alarm.begin_callback(), Some(Status::Success));
        assert_eq!(alarm.begin_callback(), None);
        assert!(!alarm.posted(9));
        assert!(!alarm.retired(3));
    }
}

/// Proves: MODIFY_SRQ.ok
#[test]
fn an_arm_below_the_threshold_notifies_at_once() {
    let alarm = Alarm::new(0);
    alarm.arm(4);
    assert!(alarm.look(3, 0));
    assert_eq!(alarm.begin_callback(), Some(Status::Success));
    assert_eq!(alarm.ask(), None);
}

/// Proves: MODIFY_SRQ.ok
#[test]
fn an_arm_takes_the_place_of_the_one_at_creation() {
    let alarm = Alarm::new(8);
    alarm.arm(2);
    assert!(!alarm.look(2, 0));
    assert!(!alarm.posted(8));
    assert!(!alarm.retired(7));
    assert!(alarm.retired(1));
}

#[test]
fn an_old_event_is_not_taken_for_a_new_one() {
    let alarm = Alarm::new(0);
    alarm.arm(100);
    assert_eq!(alarm.ask(), Some(100));
    alarm.arm(2);
    assert_eq!(alarm.ask(), Some(2));
    assert_eq!(alarm.event(), Heard::Look);
    assert!(!alarm.look(50, 3), "far above the new threshold");
    assert!(alarm.is_armed());
    // The last one is believed.
    assert_eq!(alarm.event(), Heard::Kick);
}

#[test]
fn no_old_event_of_many_is_taken_for_a_new_one() {
    for arms in 2..300 {
        let alarm = Alarm::new(0);
        for threshold in (2..=arms).rev() {
            alarm.arm(threshold);
            assert_eq!(alarm.ask(), Some(threshold));
        }
        // All of them but the last come late.
        for _ in 2..arms {
            assert_eq!(alarm.event(), Heard::Look);
        }
        assert!(alarm.is_armed());
        // More than are counted leave it in doubt.
        let last = if arms <= 255 {
            Heard::Kick
        } else {
            Heard::Look
        };
        assert_eq!(alarm.event(), last, "{arms}");
    }
}

#[test]
fn an_event_before_the_device_is_armed_is_an_old_one() {
    let alarm = Alarm::new(0);
    alarm.arm(100);
    assert_eq!(alarm.ask(), Some(100));
    alarm.arm(2);
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.ask(), Some(2));
    assert!(!alarm.look(50, 3));
    assert_eq!(alarm.event(), Heard::Kick);
}

#[test]
fn what_is_heard_during_a_look_is_for_the_next() {
    let alarm = Alarm::new(0);
    alarm.arm(3);
    assert_eq!(alarm.ask(), Some(3));
    alarm.arm(2);
    assert_eq!(alarm.ask(), Some(2));
    assert_eq!(alarm.event(), Heard::Look);
    assert!(!alarm.look(4, 3), "the level is older than the event");
    assert_eq!(alarm.ask(), Some(2));
    assert!(alarm.look(4, 3));
    assert_eq!(alarm.begin_callback(), Some(Status::Success));
}

#[test]
fn an_old_event_that_nobody_waits_for_leaves_the_next_one_in_doubt() {
    let alarm = Alarm::new(0);
    alarm.arm(100);
    assert_eq!(alarm.ask(), Some(100));
    alarm.arm(100);
    assert_eq!(alarm.ask(), Some(100));
    // The fall is seen before the event of the first arm is heard, and that of the second is under way when it is armed again.
    assert!(alarm.retired(99));
    assert_eq!(alarm.event(), Heard::Nothing);
    alarm.arm(2);
    assert_eq!(alarm.ask(), Some(2));
    assert_eq!(alarm.event(), Heard::Look);
    assert!(!alarm.look(50, 3));
    assert!(alarm.is_armed());
    assert_eq!(alarm.event(), Heard::Kick);
}

#[test]
fn an_event_that_may_be_true_is_believed() {
    let alarm = Alarm::new(0);
    alarm.arm(3);
    assert_eq!(alarm.ask(), Some(3));
    alarm.arm(2);
    assert_eq!(alarm.ask(), Some(2));
    assert!(!alarm.look(4, 3), "nothing was heard");
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.ask(), Some(2));
    assert!(!alarm.look(5, 3), "one more than can be");
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.ask(), Some(2));
    assert!(alarm.look(4, 3), "three messages may be coming in");
    assert_eq!(alarm.begin_callback(), Some(Status::Success));
}

#[test]
fn an_answered_arm_leaves_no_doubt() {
    let alarm = Alarm::new(0);
    alarm.arm(3);
    assert_eq!(alarm.ask(), Some(3));
    assert!(alarm.retired(2));
    // The device says it too, late.
    assert_eq!(alarm.event(), Heard::Nothing);
    alarm.arm(3);
    assert_eq!(alarm.ask(), Some(3));
    assert_eq!(alarm.event(), Heard::Kick);
}

/// An alarm whose device was armed twice for 3 and twice for 2, as far as it has not answered.
fn doubtful() -> Alarm {
    let alarm = Alarm::new(0);
    for threshold in [3, 2] {
        alarm.arm(threshold);
        assert_eq!(alarm.ask(), Some(threshold));
        assert_eq!(alarm.ask(), Some(threshold));
    }
    alarm
}

#[test]
fn what_was_heard_is_kept_until_somebody_looks() {
    // Twice before the device is armed again, and between two times that it is.
    let alarm = doubtful();
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.ask(), Some(2));
    assert!(alarm.look(4, 3));
    let alarm = doubtful();
    for _ in 0..2 {
        assert_eq!(alarm.event(), Heard::Look);
        assert_eq!(alarm.ask(), Some(2));
    }
    assert!(alarm.look(4, 3));
    // Not beyond the look, nor beyond the arm that it was heard for.
    let alarm = doubtful();
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.ask(), Some(2));
    assert!(!alarm.look(5, 3));
    assert!(!alarm.look(4, 3));
    for is_asked in [false, true] {
        let alarm = doubtful();
        assert_eq!(alarm.event(), Heard::Look);
        assert!(!is_asked || alarm.ask().is_some());
        alarm.arm(2);
        assert_eq!(alarm.ask(), Some(2));
        assert!(!alarm.look(4, 3));
        assert_eq!(alarm.begin_callback(), None);
    }
}

#[test]
fn a_device_that_was_armed_twice_answers_last_for_this_arm() {
    let alarm = Alarm::new(0);
    alarm.arm(2);
    assert_eq!(alarm.ask(), Some(2));
    assert_eq!(alarm.ask(), Some(2));
    assert_eq!(alarm.event(), Heard::Look);
    assert_eq!(alarm.event(), Heard::Kick);
}

/// Proves: SRQ_NOTIFICATION_CALLBACK.ok
#[test]
fn two_falls_before_the_callback_are_one() {
    let alarm = Alarm::new(0);
    for _ in 0..2 {
        alarm.arm(2);
        assert!(alarm.look(1, 0));
    }
    assert_eq!(alarm.begin_callback(), Some(Status::Success));
    assert_eq!(alarm.begin_callback(), None);
}

/// Nothing is told of the number of receives any more.
fn is_deaf(alarm: &Alarm) -> bool {
    alarm.arm(4);
    !alarm.is_armed()
        && !alarm.posted(4)
        && alarm.ask().is_none()
        && alarm.event() == Heard::Nothing
        && !alarm.retired(0)
        && !alarm.look(0, 9)
}

/// Proves: SRQ_NOTIFICATION_CALLBACK.ok
#[test]
fn a_failure_is_told_once_armed_or_not() {
    for threshold in [0, 4] {
        let alarm = Alarm::new(threshold);
        assert!(!alarm.is_faulty());
        assert!(alarm.fail());
        assert!(!alarm.fail());
        assert!(alarm.is_faulty());
        assert!(is_deaf(&alarm));
        assert_eq!(alarm.begin_callback(), Some(Status::InternalError));
        assert_eq!(alarm.begin_callback(), None);
    }
    let alarm = doubtful();
    assert_eq!(alarm.event(), Heard::Look);
    assert!(alarm.fail());
    assert!(is_deaf(&alarm));
}

#[test]
fn a_failure_takes_the_place_of_a_fall() {
    let alarm = Alarm::new(0);
    alarm.arm(4);
    assert!(alarm.look(0, 0));
    assert!(alarm.fail());
    assert_eq!(alarm.begin_callback(), Some(Status::InternalError));
    assert_eq!(alarm.begin_callback(), None);
}

/// Proves: CLOSE_OBJECT.ok
#[test]
fn a_closing_queue_says_nothing() {
    let alarm = Alarm::new(0);
    alarm.arm(4);
    assert!(alarm.look(0, 0));
    alarm.close();
    assert_eq!(alarm.begin_callback(), None);
    assert!(is_deaf(&alarm));
    assert!(!alarm.fail() && alarm.is_faulty());
    assert_eq!(alarm.begin_callback(), None);
    for alarm in [Alarm::new(4), Alarm::new(0), doubtful()] {
        alarm.arm(4);
        alarm.close();
        alarm.close();
        assert!(!alarm.is_faulty() && is_deaf(&alarm));
    }
    let alarm = Alarm::new(4);
    assert!(alarm.fail());
    alarm.close();
    assert_eq!(alarm.begin_callback(), None);
    let alarm = Alarm::new(4);
    alarm.close();
    assert!(!alarm.posted(4));
}

proptest! {
    /// Whatever happens, there is never more than one callback for an arm, and a fall that is seen is told.
    #[test]
    fn never_more_callbacks_than_arms(steps in prop::collection::vec((0..5u8, 0..8u32), 0..100)) {
        let alarm = Alarm::new(0);
        let (mut arms, mut calls) = (0, 0);
        for (step, number) in steps {
            match step {
                0 => {
                    alarm.arm(number + 1);
                    arms += 1;
                    prop_assert_eq!(alarm.ask(), Some(number + 1));
                    if alarm.look(number, 0) {
                        prop_assert!(!alarm.is_armed());
                    }
                }
                1 => {
                    let was_armed = alarm.is_armed();
                    match alarm.event() {
                        Heard::Kick => prop_assert!(was_armed && !alarm.is_armed()),
                        Heard::Look => prop_assert!(was_armed && alarm.look(0, 0)),
                        Heard::Nothing => prop_assert!(!was_armed),
                    }
                }
                2 => {
                    let was_armed = alarm.is_armed();
                    prop_assert_eq!(alarm.retired(0), was_armed);
                }
                3 => prop_assert!(!alarm.posted(number)),
                _ => calls += i32::from(alarm.begin_callback() == Some(Status::Success)),
            }
            prop_assert!(calls <= arms);
        }
    }
}
