// SPDX-License-Identifier: GPL-2.0

//! A shared receive queue with its device and its consumer: every order of posts, messages, completions, arms and events.

use super::explore::{explore, World, TO_THE_END};
use ndk_state::srq::*;
use ndk_state::status::Status;

struct Slots(Vec<Cell>);

impl Cells for Slots {
    fn cell(&self, number: u32) -> Option<&Cell> {
        self.0.get(number as usize)
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Post,
    /// The device refuses what is posted.
    Refuse,
    /// The receive in this slot completes.
    Retire(u32),
    Room(u32),
}

const MOST: u32 = 3;

const OPS: [Op; 8] = [
    Op::Post,
    Op::Refuse,
    Op::Retire(0),
    Op::Retire(1),
    Op::Retire(2),
    Op::Room(1),
    Op::Room(2),
    Op::Room(MOST),
];

struct Queue {
    srq: Srq,
    slots: Slots,
    posted: [bool; MOST as usize],
    room: u32,
    added: u32,
}

impl Queue {
    fn new() -> Self {
        let queue = Self {
            srq: Srq::new(),
            slots: Slots((0..MOST).map(|_| Cell::new()).collect()),
            posted: [false; MOST as usize],
            room: 2,
            added: 2,
        };
        queue.srq.add(0, 2, &queue.slots);
        queue.srq.set_room(2).unwrap();
        queue
    }

    fn level(&self) -> u32 {
        self.posted.iter().filter(|posted| **posted).count() as u32
    }

    fn reserve(&self) -> Option<Place> {
        let level = self.level();
        match self.srq.reserve(&self.slots) {
            Ok(place) => {
                assert!(level < self.room && place.level == level + 1);
                assert!(place.number < self.added && !self.posted[place.number as usize]);
                Some(place)
            }
            Err(status) => {
                assert_eq!((status, level), (Status::NoMoreEntries, self.room));
                None
            }
        }
    }
}

impl World for Queue {
    type Input = Op;
    /// The machine and its cells are all there is.
    type Key = String;

    fn step(&mut self, op: Op) -> bool {
        match op {
            Op::Post => {
                let Some(place) = self.reserve() else {
                    return false;
                };
                self.srq.publish(&place, &self.slots);
                self.posted[place.number as usize] = true;
            }
            Op::Refuse => {
                let Some(place) = self.reserve() else {
                    return false;
                };
                self.srq.publish(&place, &self.slots);
                self.srq.retract(&place, &self.slots);
            }
            Op::Retire(number) => {
                let was_posted = std::mem::take(&mut self.posted[number as usize]);
                let retired = self.srq.retire(number, &self.slots, || number);
                assert_eq!(retired, was_posted.then(|| (number, self.level())));
                if !was_posted {
                    return false;
                }
            }
            Op::Room(room) => {
                if room == self.room {
                    return false;
                }
                if room > self.added {
                    self.srq.add(self.added, room - self.added, &self.slots);
                    self.added = room;
                }
                let set = self.srq.set_room(room);
                if room < self.level() {
                    assert_eq!(set, Err(Status::BufferOverflow));
                } else {
                    assert_eq!(set, Ok(()));
                    self.room = room;
                }
            }
        }
        assert_eq!(
            (self.srq.level(), self.srq.room()),
            (self.level(), self.room)
        );
        true
    }

    fn key(&self) -> String {
        format!("{:?} {:?}", self.srq, self.slots.0)
    }

    /// All of the room can be used from here.
    fn end(self) {
        for level in self.level()..self.room {
            let place = self.srq.reserve(&self.slots).unwrap();
            assert_eq!(place.level, level + 1);
        }
        assert!(self.srq.reserve(&self.slots).is_err());
    }
}

#[test]
fn no_slot_is_lost_or_given_twice_in_every_order_of_posts_and_completions() {
    let walked = explore(Queue::new, &OPS, TO_THE_END);
    assert!(walked.all, "{} {}", walked.longest, walked.worlds);
    assert!(walked.worlds > 100, "{}", walked.worlds);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// The queue gets this threshold at its creation.
    Create(u32),
    Post,
    /// A message takes a receive of the device.
    Message,
    /// What it brings is complete.
    Placed,
    /// The consumer takes a completion.
    Poll,
    /// The event of the device that has been under way for longest is heard.
    Event,
    Arm(u32),
    /// The device is armed, and what has completed taken out.
    Ask,
    /// After that somebody looks.
    Look,
    /// The bottom half runs.
    Bottom,
    Fail,
    Close,
}

const INPUTS: [Input; 14] = [
    Input::Create(1),
    Input::Create(2),
    Input::Post,
    Input::Message,
    Input::Placed,
    Input::Poll,
    Input::Event,
    Input::Arm(1),
    Input::Arm(2),
    Input::Ask,
    Input::Look,
    Input::Bottom,
    Input::Fail,
    Input::Close,
];

/// Receives at most, messages that can be coming in, and times that the device is armed without an answer.
const DEPTH: u32 = 3;
const COMING: u32 = 1;
const ASKS: u32 = 3;

struct Alarmed {
    alarm: Alarm,
    new: bool,
    /// Receives with the device, messages coming in, completions that wait.
    device: u32,
    coming: u32,
    placed: u32,
    /// What the device is armed for, and its events that are under way.
    limit: Option<u32>,
    events: u32,
    /// How often the device was armed, less its events that were heard.
    asks: u32,
    /// The device is to be armed; it was, and this is the level before the look.
    queued: bool,
    seen: Option<u32>,
    due: bool,

    /// The threshold of the arm that is to be answered.
    wanted: Option<u32>,
    /// A new queue waits for its threshold first.
    rising: Option<u32>,
    /// Since the arm the number of receives has been below.
    fell: bool,
    /// It was so low that an event could not be told from an old one.
    near: bool,
    /// The device was armed for it, and has answered.
    asked: bool,
    answered: bool,
    failed: bool,
    told: bool,
    closed: bool,
}

impl Alarmed {
    fn new() -> Self {
        Self {
            alarm: Alarm::new(0),
            new: true,
            device: 0,
            coming: 0,
            placed: 0,
            limit: None,
            events: 0,
            asks: 0,
            queued: false,
            seen: None,
            due: false,
            wanted: None,
            rising: None,
            fell: false,
            near: false,
            asked: false,
            answered: false,
            failed: false,
            told: false,
            closed: false,
        }
    }

    /// What the provider counts: what was posted and has not been taken.
    fn level(&self) -> u32 {
        self.device + self.coming + self.placed
    }

    fn watch(&mut self) {
        if let Some(threshold) = self.wanted {
            self.fell |= self.device < threshold;
            self.near |= self.level().saturating_sub(COMING) < threshold;
        }
    }

    fn armed(&mut self, threshold: u32) {
        self.wanted = Some(threshold);
        self.rising = None;
        self.fell = false;
        self.near = false;
        self.asked = false;
        self.answered = false;
        self.watch();
    }

    /// A callback is due: for an arm, and after a fall.
    fn kick(&mut self, kick: bool) {
        if kick {
            assert!(self.wanted.take().is_some(), "without an arm");
            assert!(self.fell || self.near, "{} receives", self.level());
            self.due = true;
        }
    }

    fn poll(&mut self) {
        self.placed -= 1;
        self.watch();
        let kick = self.alarm.retired(self.level());
        self.kick(kick);
    }

    /// Arms the device, and takes what has completed out.
    fn ask(&mut self) {
        if self.alarm.retired(self.level()) {
            self.kick(true);
            return;
        }
        let Some(threshold) = self.alarm.ask() else {
            return;
        };
        assert_eq!(Some(threshold), self.wanted);
        self.limit = Some(threshold);
        self.asks += 1;
        self.asked = true;
        while self.placed != 0 {
            self.poll();
        }
        self.seen = Some(self.level());
    }

    fn event(&mut self) {
        self.events -= 1;
        self.asks -= 1;
        match self.alarm.event() {
            Heard::Kick => {
                assert!(self.fell, "an old event");
                self.kick(true);
            }
            Heard::Look => self.queued = true,
            Heard::Nothing => {}
        }
    }

    /// The bottom half calls the consumer if something is due, and with a failure last.
    fn bottom(&mut self) {
        let due = std::mem::take(&mut self.due) && !self.closed;
        let fails = self.failed && !std::mem::replace(&mut self.told, self.failed) && !self.closed;
        let status = if fails {
            Status::InternalError
        } else {
            Status::Success
        };
        let expected = (fails || due && !self.failed).then_some(status);
        assert_eq!(self.alarm.begin_callback(), expected);
    }
}

impl World for Alarmed {
    type Input = Input;
    type Key = ([u32; 5], [Option<u32>; 4], [bool; 10], String);

    fn step(&mut self, input: Input) -> bool {
        let new = std::mem::take(&mut self.new);
        match input {
            Input::Create(threshold) if new => {
                self.alarm = Alarm::new(threshold);
                self.rising = Some(threshold);
            }
            Input::Post if self.level() < DEPTH && !self.closed => {
                self.device += 1;
                let reached = self.alarm.posted(self.level());
                let expected = self
                    .rising
                    .is_some_and(|threshold| self.level() >= threshold);
                assert_eq!(reached, expected && !self.failed);
                if reached {
                    let threshold = self.rising.unwrap();
                    self.armed(threshold);
                    self.queued = true;
                }
            }
            Input::Message if self.device != 0 && self.coming < COMING => {
                self.device -= 1;
                self.coming += 1;
                if self.limit.is_some_and(|limit| self.device < limit) {
                    self.limit = None;
                    self.events += 1;
                    self.answered |= self.asked;
                }
                self.watch();
            }
            Input::Placed if self.coming != 0 => {
                self.coming -= 1;
                self.placed += 1;
            }
            Input::Poll if self.placed != 0 => self.poll(),
            Input::Event if self.events != 0 => self.event(),
            // Who arms and the work item keep each other out.
            Input::Arm(threshold) if !self.closed && self.seen.is_none() && self.asks < ASKS => {
                self.alarm.arm(threshold);
                if !self.failed {
                    self.armed(threshold);
                }
                self.queued = true;
            }
            Input::Ask if self.queued && self.seen.is_none() => {
                self.queued = false;
                self.ask();
            }
            Input::Look if self.seen.is_some() => {
                let level = self.seen.take().unwrap_or(0);
                let kick = self.alarm.look(level, COMING);
                self.kick(kick);
            }
            Input::Bottom if self.due || self.failed && !self.told => self.bottom(),
            Input::Fail if !self.failed => {
                let kick = self.alarm.fail();
                assert_eq!(kick, !self.closed);
                self.failed = true;
                self.wanted = None;
                self.rising = None;
            }
            Input::Close if !self.closed => {
                self.alarm.close();
                self.closed = true;
                self.wanted = None;
                self.rising = None;
            }
            _ => return false,
        }
        assert!(!self.alarm.is_armed() || self.wanted.is_some() && !self.failed && !self.closed);
        assert_eq!(self.alarm.is_faulty(), self.failed);
        true
    }

    fn key(&self) -> Self::Key {
        (
            [
                self.device,
                self.coming,
                self.placed,
                self.events,
                self.asks,
            ],
            [self.limit, self.seen, self.wanted, self.rising],
            [
                self.new,
                self.queued,
                self.due,
                self.fell,
                self.near,
                self.asked,
                self.answered,
                self.failed,
                self.told,
                self.closed,
            ],
            format!("{:?}", self.alarm),
        )
    }

    /// When everything that is under way has come, a fall below the threshold has been told: without a poll where the
    /// device has seen it.
    fn end(mut self) {
        let come = [
            Input::Event,
            Input::Ask,
            Input::Look,
            Input::Placed,
            Input::Bottom,
        ];
        while come.into_iter().any(|input| self.step(input)) {}
        assert!(
            self.wanted
                .is_none_or(|threshold| !self.answered || self.device >= threshold),
            "an answer that nobody heard"
        );
        while self.step(Input::Poll) || self.step(Input::Bottom) {}
        assert!(
            self.wanted
                .is_none_or(|threshold| self.level() >= threshold),
            "a fall that nobody told"
        );
        assert!(!self.failed || self.told || self.closed);
    }
}

/// Proves: SRQ_NOTIFICATION_CALLBACK.ok, MODIFY_SRQ.ok
#[test]
fn a_fall_is_told_once_in_every_order_of_events() {
    let walked = explore(Alarmed::new, &INPUTS, TO_THE_END);
    assert!(walked.all && walked.longest >= 8);
    assert!(walked.worlds > 100_000, "{}", walked.worlds);
}
