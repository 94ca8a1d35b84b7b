// SPDX-License-Identifier: GPL-2.0

//! Two threads that race: once loaded, it has done what KCSAN must report, and what it must not.

use core::cell::UnsafeCell;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Completion, //
    },
    workqueue, //
};

module! {
    type: RaceProbe,
    name: "race_probe",
    authors: ["The ndk authors"],
    description: "a data race, to see it found",
    license: "GPL",
}

/// Enough for hundreds of watchpoints: one in some thousand accesses gets one.
const ROUNDS: u32 = 2_000_000;

#[pin_data]
struct Probe {
    #[pin]
    begun: Completion,
    #[pin]
    ended: Completion,
    plain: UnsafeCell<u64>,
    marked: Atomic<u64>,
}

// SAFETY: Nothing holds that would make it safe to share: that is what is to be found.
unsafe impl Send for Probe {}
// SAFETY: As above.
unsafe impl Sync for Probe {}

impl Probe {
    #[inline(never)]
    fn race_probe_plain(&self) {
        // SAFETY: The pointer is valid; that the other thread writes there too is the race.
        unsafe {
            let value = self.plain.get();
            *value = (*value).wrapping_add(1);
        }
    }

    #[inline(never)]
    fn race_probe_marked(&self) {
        self.marked
            .store(self.marked.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn run(&self) {
        for _ in 0..ROUNDS {
            self.race_probe_plain();
            self.race_probe_marked();
        }
    }
}

struct RaceProbe;

impl kernel::Module for RaceProbe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let probe = Arc::pin_init(
            pin_init!(Probe {
                begun <- Completion::new(),
                ended <- Completion::new(),
                plain: UnsafeCell::new(0),
                marked: Atomic::new(0),
            }),
            GFP_KERNEL,
        )?;
        let other = probe.clone();
        workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
            other.begun.complete_all();
            other.run();
            other.ended.complete_all();
        })?;
        probe.begun.wait_for_completion();
        probe.run();
        probe.ended.wait_for_completion();
        Ok(Self)
    }
}
