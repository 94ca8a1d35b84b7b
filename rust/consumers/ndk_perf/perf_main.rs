// SPDX-License-Identifier: GPL-2.0

//! ndk beside kernel verbs, in one module: same CQ context, depths and buffers.
//!
//! Driven through debugfs, directory `ndk_perf`. Both ends are here. A command written to `ctl`:
//!
//! ```text
//! open end=a|b addr=IP    in the network namespace of that end
//! run side=ours|raw test=NAME [iters=N] [size=N] [depth=N] [chain=N] [qps=N] [ticks=1] [count=1]
//! close
//! ```
//!
//! `run` returns when the measurement is over. `result` then says `test side count elapsed_ns`, `samples` has the time of each
//! operation in ns, where the test times them. Tests: send_latency (to and fro), write_latency, read_latency, write_stream,
//! read_stream, send_rate, connect (`depth` at a time), register, list_read, list_write, layer (over ndk_nulldev; samples are
//! the totals of receives, sends, polls, arms and notifications, in ticks of the processor with `ticks`, and with `count` the
//! bytes that `qps` connections take).

use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    fmt, new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    uaccess::UserSliceReader,
};

mod baseline;
#[path = "../../client/client.rs"]
mod client;
mod connect;
mod job;
mod ours;
mod pair;

use client::{
    Adapter,
    Net,
    Target, //
};
use core::{
    net::IpAddr,
    str::FromStr, //
};
use job::{
    Job,
    Outcome,
    Test, //
};

module! {
    type: Perf,
    name: "ndk_perf",
    authors: ["The ndk authors"],
    description: "ndk measured beside kernel verbs",
    license: "GPL",
    imports_ns: ["NDK"],
}

/// Bytes of the longest command.
const MAX_COMMAND: usize = 256;

/// One end: who it is in which namespace.
struct Place {
    net: Net,
    address: IpAddr,
    adapter: Arc<Adapter>,
}

/// The last measurement.
struct Last {
    job: Job,
    ours: bool,
    outcome: Outcome,
}

struct State {
    last: Option<Last>,
    ends: [Option<Place>; 2],
}

#[pin_data]
struct Bench {
    #[pin]
    state: Mutex<State>,
}

fn number<T: FromStr>(value: &str) -> Result<T> {
    value.parse().map_err(|_| EINVAL)
}

impl State {
    fn open<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> Result {
        let (mut end, mut address) = (None, None);
        for word in words {
            match word.split_once('=').ok_or(EINVAL)? {
                ("end", "a") => end = Some(0),
                ("end", "b") => end = Some(1),
                ("addr", value) => address = Some(number(value)?),
                _ => return Err(EINVAL),
            }
        }
        let (end, address): (usize, IpAddr) = (end.ok_or(EINVAL)?, address.ok_or(EINVAL)?);
        let net = Net::current()?;
        let adapter = Adapter::open(&net, Target::Address(address))?;
        self.ends[end] = Some(Place {
            net,
            address,
            adapter: Arc::new(adapter, GFP_KERNEL)?,
        });
        Ok(())
    }

    fn run<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> Result {
        let mut job = Job {
            test: Test::SendLatency,
            iters: 1000,
            size: 64,
            depth: 1,
            chain: 1,
            qps: 1,
            ticks: 0,
            count: 0,
        };
        let mut ours = true;
        for word in words {
            match word.split_once('=').ok_or(EINVAL)? {
                ("side", "ours") => ours = true,
                ("side", "raw") => ours = false,
                ("test", value) => job.test = Test::parse(value)?,
                ("iters", value) => job.iters = number(value)?,
                ("size", value) => job.size = number(value)?,
                ("depth", value) => job.depth = number(value)?,
                ("chain", value) => job.chain = number(value)?,
                ("qps", value) => job.qps = number(value)?,
                ("ticks", value) => job.ticks = number(value)?,
                ("count", value) => job.count = number(value)?,
                _ => return Err(EINVAL),
            }
        }
        job.check()?;
        self.last = None;
        let [Some(a), Some(b)] = &self.ends else {
            return Err(ENOTCONN);
        };
        let outcome = if !ours || job.test == Test::Layer || job.test.is_list() {
            let place = |end: &Place| baseline::Place {
                net: end.net.clone(),
                address: end.address,
            };
            baseline::run(&job, ours, place(a), place(b))?
        } else if job.test == Test::Connect {
            connect::run(
                &job,
                (a.adapter.clone(), a.address),
                (&b.adapter, b.address),
            )?
        } else {
            ours::run(&job, (&a.adapter, a.address), (&b.adapter, b.address))?
        };
        self.last = Some(Last { job, ours, outcome });
        Ok(())
    }
}

impl Bench {
    fn write(bench: &Arc<Self>, reader: &mut UserSliceReader) -> Result {
        let len = reader.len();
        if len > MAX_COMMAND {
            return Err(E2BIG);
        }
        let mut text = KVec::from_elem(0u8, len, GFP_KERNEL)?;
        reader.read_slice(&mut text)?;
        let text = core::str::from_utf8(&text).map_err(|_| EINVAL)?;
        let mut words = text.split_ascii_whitespace();
        let mut state = bench.state.lock();
        match words.next().ok_or(EINVAL)? {
            "open" => state.open(words),
            "run" => state.run(words),
            "close" => {
                state.ends = [None, None];
                Ok(())
            }
            _ => Err(EINVAL),
        }
    }

    fn show_result(bench: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = bench.state.lock();
        let Some(Last { job, ours, outcome }) = &state.last else {
            return Ok(());
        };
        writeln!(
            f,
            "test={} side={} size={} depth={} chain={} qps={} count={} elapsed_ns={}",
            job.test.name(),
            if *ours { "ours" } else { "raw" },
            job.size,
            job.depth,
            job.chain,
            job.qps,
            outcome.count,
            outcome.elapsed,
        )
    }

    fn show_samples(bench: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = bench.state.lock();
        let Some(last) = &state.last else {
            return Ok(());
        };
        for sample in last.outcome.samples.iter() {
            writeln!(f, "{sample}")?;
        }
        Ok(())
    }
}

#[pin_data]
struct Perf {
    #[pin]
    ctl: File<Arc<Bench>>,
    #[pin]
    result: File<Arc<Bench>>,
    #[pin]
    samples: File<Arc<Bench>>,
    _dir: Dir,
}

impl kernel::InPlaceModule for Perf {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(|| {
            let state = State {
                last: None,
                ends: [None, None],
            };
            let bench = Arc::pin_init(
                pin_init!(Bench {
                    state <- new_mutex!(state),
                }),
                GFP_KERNEL,
            )?;
            let dir = Dir::new(c"ndk_perf");
            Ok(try_pin_init!(Self {
                ctl <- dir.write_callback_file(c"ctl", bench.clone(), &Bench::write),
                result <- dir.read_callback_file(c"result", bench.clone(), &Bench::show_result),
                samples <- dir.read_callback_file(c"samples", bench, &Bench::show_samples),
                _dir: dir.clone(),
            }))
        })
    }
}
