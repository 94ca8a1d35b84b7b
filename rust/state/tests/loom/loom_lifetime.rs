// SPDX-License-Identifier: GPL-2.0

//! Close against everything that can be in flight.

use crate::model;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::sync::Arc;
use loom::thread;
use ndk_state::lifetime::{Closed, Kind, Last, Life};
use ndk_state::status::Status;

/// An object with something that happens under its references.
struct Object {
    life: Life,
    used: AtomicU32,
    told: AtomicU32,
}

impl Object {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            life: Life::new(),
            used: AtomicU32::new(0),
            told: AtomicU32::new(0),
        })
    }

    fn put(&self, kind: Kind, expected: u32) {
        if self.life.put(kind) == Last::Yes {
            self.quiet(expected);
        }
    }

    fn close(&self, expected: u32) {
        if self.life.close() == Ok(Closed::AlreadyQuiet) {
            self.quiet(expected);
        }
    }

    /// Somebody is told. What happened under the references must be visible.
    fn quiet(&self, at_least: u32) {
        assert_eq!(self.told.fetch_add(1, Relaxed), 0, "two were told");
        assert!(self.used.load(Relaxed) >= at_least, "not visible");
    }
}

// Bug: B21, K3
#[test]
fn close_against_put_against_get() {
    model(3, || {
        let object = Object::new();
        object.life.try_get(Kind::Request).unwrap();
        let completer = thread::spawn({
            let object = object.clone();
            move || {
                object.used.fetch_add(1, Relaxed);
                object.put(Kind::Request, 1);
            }
        });
        let starter = thread::spawn({
            let object = object.clone();
            move || {
                // Either it starts, and is waited for, or it does not.
                if object.life.try_get(Kind::Callback).is_ok() {
                    assert_eq!(object.told.load(Relaxed), 0, "started after the end");
                    object.put(Kind::Callback, 0);
                }
            }
        });
        object.close(1);
        completer.join().unwrap();
        starter.join().unwrap();
        assert_eq!(object.told.load(Relaxed), 1, "nobody was told");
    });
}

/// Proves: 3.4, 3.8
#[test]
fn close_inside_a_callback_against_a_completion() {
    model(3, || {
        let object = Object::new();
        object.life.try_get(Kind::Request).unwrap();
        object.life.try_get(Kind::Callback).unwrap();
        let completer = thread::spawn({
            let object = object.clone();
            move || {
                object.used.fetch_add(1, Relaxed);
                object.put(Kind::Request, 1);
            }
        });
        // The callback: it closes, goes on, and returns.
        assert_eq!(object.life.close(), Ok(Closed::Pending));
        object.used.fetch_add(1, Relaxed);
        object.put(Kind::Callback, 2);
        completer.join().unwrap();
        assert_eq!(object.told.load(Relaxed), 1);
    });
}

#[test]
fn two_closers_one_close() {
    model(3, || {
        let object = Object::new();
        let other = thread::spawn({
            let object = object.clone();
            move || {
                object
                    .life
                    .close()
                    .map(|closed| closed == Closed::AlreadyQuiet)
            }
        });
        let mine = object
            .life
            .close()
            .map(|closed| closed == Closed::AlreadyQuiet);
        let theirs = other.join().unwrap();
        let refused = Err(Status::InvalidDeviceState);
        assert!((mine, theirs) == (Ok(true), refused) || (mine, theirs) == (refused, Ok(true)));
    });
}

/// Proves: 3.6
#[test]
fn an_antecedent_ends_after_the_close_callback_of_its_successor_has_returned() {
    model(3, || {
        // A queue pair on a completion queue; a connector's callback is still running on the pair.
        let cq = Object::new();
        let qp = Object::new();
        let returned = Arc::new(AtomicU32::new(0));
        cq.life.try_get(Kind::Successor).unwrap();
        qp.life.try_get(Kind::Callback).unwrap();

        let cq_quiet = {
            let (cq, returned) = (cq.clone(), returned.clone());
            move || {
                cq.quiet(0);
                assert_eq!(returned.load(Relaxed), 1, "the callback had not returned");
            }
        };
        let qp_quiet = {
            let (cq, returned, cq_quiet) = (cq.clone(), returned.clone(), cq_quiet.clone());
            move || {
                // The CloseCompletion, and then the reference on the antecedent.
                returned.store(1, Relaxed);
                if cq.life.put(Kind::Successor) == Last::Yes {
                    cq_quiet();
                }
            }
        };

        let callback = thread::spawn({
            let (qp, qp_quiet) = (qp.clone(), qp_quiet.clone());
            move || {
                if qp.life.put(Kind::Callback) == Last::Yes {
                    qp_quiet();
                }
            }
        });
        let closer = thread::spawn({
            let qp = qp.clone();
            move || {
                if qp.life.close() == Ok(Closed::AlreadyQuiet) {
                    qp_quiet();
                }
            }
        });
        // The antecedent is closed first, or last.
        if cq.life.close() == Ok(Closed::AlreadyQuiet) {
            cq_quiet();
        }
        callback.join().unwrap();
        closer.join().unwrap();
        assert_eq!(cq.told.load(Relaxed), 1);
    });
}
