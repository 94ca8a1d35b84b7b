// SPDX-License-Identifier: GPL-2.0

//! The protocol, as the handler of a connection's CQ: all of it runs in softirq context.
//!
//! A message is 16 bytes: address, token and size of a buffer, big endian. A round: the client sends its source buffer, the
//! server reads it, and sends a message whose content does not matter; the client sends its sink buffer, the server writes
//! there what it read, up to the first zero byte, and sends again.

use crate::{
    client::{
        Adapter,
        Batch,
        Buffer,
        Handler,
        MrFlags,
        Notify,
        OpFlags,
        Operation,
        Pd,
        Qp,
        Queue,
        Region,
        WorkResult, //
    },
    session::{
        Role,
        Session, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Bytes of a message.
const MESSAGE: usize = 16;
/// Requests that can be outstanding: a receive, its successor, a message, a read or write.
pub(crate) const DEPTH: u32 = 8;
/// The smallest buffer: the longest prefix, and a zero.
pub(crate) const MIN_SIZE: u32 = 26;
/// The largest buffer of rping.
pub(crate) const MAX_SIZE: u32 = 65535;

/// What the other side does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client has its source buffer on the way, or the server waits for it.
    Source,
    /// The server reads.
    Read,
    /// The client has its sink buffer on the way, or the server waits for it.
    Sink,
    /// The server writes.
    Write,
}

/// One side of a connection.
pub(crate) struct Ping {
    session: Arc<Session>,
    qp: Option<Qp>,
    phase: Phase,
    outstanding: u32,
    over: bool,
    count: u32,
    rounds: u32,
    size: usize,
    inbox: Region,
    outbox: Region,
    source: Region,
    sink: Region,
}

/// The data of a round: a prefix with its number, a row of letters that starts one further each time, and a zero.
struct Pattern {
    prefix: [u8; MIN_SIZE as usize],
    prefix_len: usize,
    start: usize,
    size: usize,
}

impl Pattern {
    fn new(round: u32, size: usize) -> Self {
        let mut digits = [0u8; 10];
        let mut first = digits.len();
        let mut rest = round;
        loop {
            first -= 1;
            // CAST: Below 10.
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let mut prefix = [0; MIN_SIZE as usize];
        let mut prefix_len = 0;
        for part in [&b"rdma-ping-"[..], &digits[first..], &b": "[..]] {
            for byte in part {
                prefix[prefix_len] = *byte;
                prefix_len += 1;
            }
        }
        Self {
            prefix,
            prefix_len,
            start: round as usize,
            size,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        /// The row goes from 'A' to 'z' and begins again.
        const ROW: usize = 58;
        if at + 1 >= self.size {
            0
        } else if at < self.prefix_len {
            self.prefix[at]
        } else {
            // CAST: Below 58.
            b'A' + ((self.start % ROW + at - self.prefix_len) % ROW) as u8
        }
    }

    /// Calls `each` with consecutive pieces of the pattern.
    fn pieces(&self, mut each: impl FnMut(usize, &[u8]) -> Result) -> Result {
        let mut piece = [0; 256];
        let mut at = 0;
        while at < self.size {
            let len = piece.len().min(self.size - at);
            for (offset, byte) in piece[..len].iter_mut().enumerate() {
                *byte = self.byte(at + offset);
            }
            each(at, &piece[..len])?;
            at += len;
        }
        Ok(())
    }
}

impl Ping {
    /// Registers the buffers. Sleeps.
    pub(crate) fn new(session: Arc<Session>, pd: &Pd, size: u32, count: u32) -> Result<Self> {
        let size = size as usize;
        let source = match session.role() {
            // Where the server puts what it reads, and takes what it writes.
            Role::Server => MrFlags::LOCAL_WRITE | MrFlags::READ_SINK,
            Role::Client => MrFlags::REMOTE_READ,
        };
        Ok(Self {
            qp: None,
            phase: Phase::Source,
            outstanding: 0,
            over: false,
            count,
            rounds: 0,
            size,
            inbox: pd.register(Buffer::new(2 * MESSAGE)?, MrFlags::LOCAL_WRITE)?,
            outbox: pd.register(Buffer::new(2 * MESSAGE)?, MrFlags::LOCAL_READ)?,
            source: pd.register(Buffer::new(size)?, source)?,
            sink: pd.register(Buffer::new(size)?, MrFlags::REMOTE_WRITE)?,
            session,
        })
    }

    /// Gives the QP, before it is connected: receives are posted now, so that no message comes too early.
    pub(crate) fn attach(&mut self, qp: Qp) -> Result<&Qp> {
        self.qp = Some(qp);
        self.receive(0)?;
        self.receive(1)?;
        self.qp.as_ref().ok_or(ENOTCONN)
    }

    /// Lets the handler run: it has the QP, and `status` tells whether there is a connection.
    pub(crate) fn run(mut queue: Queue<'_, Self>, status: Result) {
        let ping = queue.handler();
        if let Err(error) = status {
            ping.fail(error);
        }
        Self::go_on(queue);
    }

    fn fail(&mut self, error: Error) {
        self.session.finish(Err(error));
        self.over = true;
    }

    /// Waits for more, or lets the QP go when nothing more comes.
    fn go_on(mut queue: Queue<'_, Self>) {
        let ping = queue.handler();
        if ping.over {
            match &ping.qp {
                // Whatever is left comes back cancelled.
                Some(qp) if ping.outstanding != 0 => qp.flush(),
                _ => {
                    ping.qp = None;
                    ping.session.drained();
                    return;
                }
            }
        }
        queue.arm(Notify::Any);
    }

    fn qp(&mut self) -> Result<&mut Qp> {
        self.qp.as_mut().ok_or(ENOTCONN)
    }

    fn posted(&mut self, result: Result) -> Result {
        if result.is_ok() {
            self.outstanding += 1;
        }
        result
    }

    fn receive(&mut self, slot: usize) -> Result {
        let sge = self.inbox.sge(slot * MESSAGE, MESSAGE as u32)?;
        let result = self.qp()?.receive(slot, &[sge]);
        self.posted(result)
    }

    /// Sends the message in `slot` of the outbox.
    fn send(&mut self, slot: usize) -> Result {
        let sge = self.outbox.sge(slot * MESSAGE, MESSAGE as u32)?;
        let result = self.qp()?.send(slot, &[sge], OpFlags::NONE);
        self.posted(result)
    }

    /// Writes the message that names a buffer.
    fn name(&self, slot: usize, region: &Region) -> Result {
        let mut message = [0; MESSAGE];
        message[..8].copy_from_slice(&region.address(0).to_be_bytes());
        message[8..12].copy_from_slice(&region.remote_token().to_be_bytes());
        // CAST: At most MAX_SIZE.
        message[12..].copy_from_slice(&(self.size as u32).to_be_bytes());
        self.outbox.write(slot * MESSAGE, &message)
    }

    /// Starts the first round of a client.
    pub(crate) fn begin(&mut self) -> Result {
        self.name(0, &self.source)?;
        self.name(1, &self.sink)?;
        self.next_round()
    }

    fn next_round(&mut self) -> Result {
        self.phase = Phase::Source;
        Pattern::new(self.rounds, self.size).pieces(|at, piece| self.source.write(at, piece))?;
        let zeroes = [0; 256];
        for at in (0..self.size).step_by(zeroes.len()) {
            self.sink
                .write(at, &zeroes[..zeroes.len().min(self.size - at)])?;
        }
        self.send(0)
    }

    fn verify(&self) -> Result {
        Pattern::new(self.rounds, self.size).pieces(|at, piece| {
            let mut seen = [0; 256];
            self.sink.read(at, &mut seen[..piece.len()])?;
            if &seen[..piece.len()] == piece {
                Ok(())
            } else {
                Err(EBADMSG)
            }
        })
    }

    fn round_done(&mut self) {
        self.rounds = self.rounds.wrapping_add(1);
        self.session.round_done();
        if self.count != 0 && self.rounds >= self.count {
            self.session.finish(Ok(()));
        }
    }

    fn is_last(&self) -> bool {
        self.count != 0 && self.rounds >= self.count
    }

    fn message(&mut self, slot: usize, bytes: u32) -> Result {
        if bytes as usize != MESSAGE {
            return Err(EBADMSG);
        }
        let mut message = [0; MESSAGE];
        self.inbox.read(slot * MESSAGE, &mut message)?;
        self.receive(slot)?;
        match self.session.role() {
            Role::Client => self.client_message(),
            Role::Server => self.server_message(&message),
        }
    }

    fn client_message(&mut self) -> Result {
        match self.phase {
            Phase::Source => {
                self.phase = Phase::Sink;
                self.send(1)
            }
            Phase::Sink => {
                self.verify()?;
                self.session.verified();
                self.round_done();
                if self.is_last() {
                    return Ok(());
                }
                self.next_round()
            }
            _ => Err(EPROTO),
        }
    }

    fn server_message(&mut self, message: &[u8; MESSAGE]) -> Result {
        let [a0, a1, a2, a3, a4, a5, a6, a7, t0, t1, t2, t3, s0, s1, s2, s3] = *message;
        let remote = (
            u64::from_be_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
            u32::from_be_bytes([t0, t1, t2, t3]),
        );
        let size = u32::from_be_bytes([s0, s1, s2, s3]);
        match self.phase {
            Phase::Source => {
                self.phase = Phase::Read;
                let sge = self.source.sge(0, size).map_err(|_| EMSGSIZE)?;
                let result = self.qp()?.read(0, &[sge], remote, OpFlags::NONE);
                self.posted(result)
            }
            Phase::Sink => {
                self.phase = Phase::Write;
                let sge = self.source.sge(0, self.text_len(size)?)?;
                let result = self.qp()?.write(0, &[sge], remote, OpFlags::NONE);
                self.posted(result)
            }
            _ => Err(EPROTO),
        }
    }

    /// Bytes up to and with the first zero, at most `limit`.
    fn text_len(&self, limit: u32) -> Result<u32> {
        let mut piece = [0; 256];
        let limit = self.size.min(limit as usize);
        let mut at = 0;
        while at < limit {
            let len = piece.len().min(limit - at);
            self.source.read(at, &mut piece[..len])?;
            if let Some(zero) = piece[..len].iter().position(|byte| *byte == 0) {
                at += zero + 1;
                break;
            }
            at += len;
        }
        Ok(u32::try_from(at)?)
    }

    fn result(&mut self, result: &WorkResult) -> Result {
        self.outstanding = self.outstanding.saturating_sub(1);
        result.status()?;
        if self.over {
            return Ok(());
        }
        match result.operation() {
            Operation::Receive | Operation::ReceiveAndInvalidate(_) => {
                self.message(result.request(), result.bytes())
            }
            Operation::Read => {
                self.phase = Phase::Sink;
                self.send(0)
            }
            Operation::Write => {
                self.phase = Phase::Source;
                self.send(0)?;
                self.round_done();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Handler for Ping {
    fn notify(mut queue: Queue<'_, Self>, status: Result) {
        let mut batch = Batch::<8>::new();
        loop {
            let results = queue.poll(&mut batch);
            let ping = queue.handler();
            for result in results {
                if let Err(error) = ping.result(result) {
                    ping.fail(error);
                }
            }
            if results.len() < 8 {
                break;
            }
        }
        if let Err(error) = status {
            let ping = queue.handler();
            ping.fail(error);
            ping.outstanding = 0;
        }
        Self::go_on(queue);
    }

    fn let_go(&mut self) {
        self.qp = None;
    }
}

/// Tells whether the adapter can do what a session needs.
pub(crate) fn check(adapter: &Adapter) -> Result {
    let info = adapter.info()?;
    if info.max_receive_queue_depth < DEPTH || info.max_initiator_queue_depth < DEPTH {
        return Err(ERANGE);
    }
    Ok(())
}
