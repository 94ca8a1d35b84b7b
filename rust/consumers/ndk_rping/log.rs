// SPDX-License-Identifier: GPL-2.0

//! What happened on a connection: when, and in which context.

use crate::client::in_softirq;
use kernel::{
    cpu::CpuId,
    fmt,
    new_spinlock_irq,
    prelude::*,
    sync::SpinLockIrq,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// Lines kept; later ones are dropped and counted.
const LINES: usize = 512;

struct Line {
    at: Instant<Monotonic>,
    session: u32,
    event: &'static str,
    softirq: bool,
    cpu: u32,
    status: Result,
}

struct Lines {
    lines: KVec<Line>,
    dropped: u32,
}

/// The log. Written in any context, without allocation.
#[pin_data]
pub(crate) struct Log {
    start: Instant<Monotonic>,
    #[pin]
    lines: SpinLockIrq<Lines>,
}

impl Log {
    pub(crate) fn new() -> Result<impl PinInit<Self>> {
        let lines = Lines {
            lines: KVec::with_capacity(LINES, GFP_KERNEL)?,
            dropped: 0,
        };
        Ok(pin_init!(Self {
            start: Instant::now(),
            lines <- new_spinlock_irq!(lines),
        }))
    }

    pub(crate) fn add(&self, session: u32, event: &'static str, status: Result) {
        let line = Line {
            at: Instant::now(),
            session,
            event,
            softirq: in_softirq(),
            cpu: CpuId::current().as_u32(),
            status,
        };
        let mut lines = self.lines.lock();
        if lines.lines.push_within_capacity(line).is_err() {
            lines.dropped = lines.dropped.saturating_add(1);
        }
    }

    pub(crate) fn clear(&self) {
        let mut lines = self.lines.lock();
        lines.lines.clear();
        lines.dropped = 0;
    }

    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut next = 0;
        loop {
            // The formatter may sleep, so a line at a time leaves the lock.
            let (line, dropped) = {
                let lines = self.lines.lock();
                match lines.lines.get(next) {
                    Some(line) => (
                        Some((
                            line.at - self.start,
                            line.session,
                            line.event,
                            line.softirq,
                            line.cpu,
                            line.status,
                        )),
                        0,
                    ),
                    None => (None, lines.dropped),
                }
            };
            let Some((at, session, event, softirq, cpu, status)) = line else {
                if dropped != 0 {
                    writeln!(f, "dropped={dropped}")?;
                }
                return Ok(());
            };
            let us = at.as_micros_ceil();
            writeln!(
                f,
                "us={us} session={session} event={event} context={} cpu={cpu} status={}",
                if softirq { "softirq" } else { "process" },
                Status(status),
            )?;
            next += 1;
        }
    }
}

/// A status as its errno's name, or 0.
pub(crate) struct Status(pub(crate) Result);

/// What ndk answers, by name: the kernel has its names only with CONFIG_SYMBOLIC_ERRNAME.
const NAMES: &[(Error, &str)] = &[
    (ENOMEM, "ENOMEM"),
    (EACCES, "EACCES"),
    (EBUSY, "EBUSY"),
    (EEXIST, "EEXIST"),
    (EIO, "EIO"),
    (EINVAL, "EINVAL"),
    (EDOM, "EDOM"),
    (EBADRQC, "EBADRQC"),
    (EBADMSG, "EBADMSG"),
    (EBADFD, "EBADFD"),
    (EPROTO, "EPROTO"),
    (E2BIG, "E2BIG"),
    (ENODEV, "ENODEV"),
    (ENOSPC, "ENOSPC"),
    (ERANGE, "ERANGE"),
    (EMSGSIZE, "EMSGSIZE"),
    (EOVERFLOW, "EOVERFLOW"),
    (ENOBUFS, "ENOBUFS"),
    (EUSERS, "EUSERS"),
    (EADDRINUSE, "EADDRINUSE"),
    (EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (EREMOTEIO, "EREMOTEIO"),
    (ECANCELED, "ECANCELED"),
    (ETIMEDOUT, "ETIMEDOUT"),
    (EOPNOTSUPP, "EOPNOTSUPP"),
    (EPROTONOSUPPORT, "EPROTONOSUPPORT"),
    (ENETDOWN, "ENETDOWN"),
    (ENETUNREACH, "ENETUNREACH"),
    (EHOSTUNREACH, "EHOSTUNREACH"),
    (ENOTCONN, "ENOTCONN"),
    (EISCONN, "EISCONN"),
    (ECONNREFUSED, "ECONNREFUSED"),
    (ECONNABORTED, "ECONNABORTED"),
    (ESHUTDOWN, "ESHUTDOWN"),
];

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Err(error) = self.0 else {
            return f.write_str("0");
        };
        match NAMES.iter().find(|entry| entry.0 == error) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}", error.to_errno()),
        }
    }
}
