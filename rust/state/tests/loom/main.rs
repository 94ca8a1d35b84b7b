// SPDX-License-Identifier: GPL-2.0

//! The lock-free machines under every interleaving, and every reordering that the memory model allows.
//!
//! `RUSTFLAGS='--cfg loom' cargo test --release --test loom --target-dir target/loom`
//!
//! "Visible" is tested with relaxed accesses to a plain flag: only the machine orders them.

#![cfg(loom)]

mod loom_arm;
mod loom_lifetime;
mod loom_queue_token;
mod loom_srq;

/// Runs a model with a bound on preemptions, which is what keeps three threads within seconds.
fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}
