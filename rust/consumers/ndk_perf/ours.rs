// SPDX-License-Identifier: GPL-2.0

//! Data path over ndk, step by step what raw.c does. Side a measures, side b answers.

use crate::{
    client::{
        Adapter,
        Batch,
        Buffer,
        Cq,
        Event,
        FastMr,
        Handler,
        Lam,
        MrFlags,
        Notify,
        OpFlags,
        Operation,
        Pd,
        Qp,
        QpParams,
        Queue,
        Region,
        Sge,
        Wait,
        WorkResult, //
    },
    job::{
        Job,
        Outcome,
        Test,
        MAX_QPS,
        TIMEOUT, //
    },
    pair::Passive, //
};
use core::net::IpAddr;
use kernel::{
    alloc::KVVec,
    new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        SpinLockIrq, //
    },
    time::{
        Instant,
        Monotonic, //
    },
};

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// What the handler tells.
#[pin_data]
struct Signals {
    #[pin]
    done: Event,
    #[pin]
    drained: Event,
    #[pin]
    status: SpinLockIrq<Result>,
}

impl Signals {
    fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                done <- Event::new(),
                drained <- Event::new(),
                status <- new_spinlock_irq!(Ok(())),
            }),
            GFP_KERNEL,
        )
    }

    fn end(&self, status: Result) {
        *self.status.lock() = status;
        self.done.set();
    }
}

/// What a fast registration takes. The pages belong to a LAM that outlives the handler's QPs.
struct Pages {
    mr: FastMr,
    pages: KVVec<u64>,
    fbo: u32,
    length: u64,
    address: u64,
}

impl Pages {
    fn new(pd: &Pd, lam: &Lam<'_>) -> Result<Self> {
        let mut pages = KVVec::with_capacity(lam.pages().len(), GFP_KERNEL)?;
        pages.extend_from_slice(lam.pages(), GFP_KERNEL)?;
        Ok(Self {
            mr: pd.create_fast_mr(u32::try_from(pages.len())?, true)?,
            pages,
            fbo: lam.fbo(),
            length: lam.buffer().len() as u64,
            address: lam.name(),
        })
    }
}

/// A QP, and what the rate test counts for it.
struct Lane {
    qp: Qp,
    credits: u32,
    outstanding: u32,
    received: u32,
}

/// The handler of one end's CQ.
struct End {
    side: Side,
    job: Job,
    lanes: [Option<Lane>; MAX_QPS],
    from: Sge,
    into: Sge,
    remote: (u64, u32),
    pages: Option<Pages>,
    samples: KVVec<u64>,
    stamp: Instant<Monotonic>,
    posted: u32,
    completed: u32,
    /// Requests whose results will come, at least.
    pending: u32,
    over: bool,
    gone: bool,
    signals: Arc<Signals>,
}

impl Lane {
    /// Posts a chain of sends, of which the last has a result.
    #[inline]
    fn send_chain(&mut self, at: usize, count: u32, from: Sge) -> Result {
        for _ in 1..count {
            self.qp
                .send(at, &[from], OpFlags::SILENT_SUCCESS | OpFlags::DEFER)?;
        }
        self.qp.send(at, &[from], OpFlags::NONE)
    }
}

impl End {
    fn lane(&mut self, at: usize) -> Result<&mut Lane> {
        match self.lanes.get_mut(at) {
            Some(Some(lane)) => Ok(lane),
            _ => Err(ENOTCONN),
        }
    }

    fn end(&mut self, status: Result) {
        if !self.over {
            self.over = true;
            self.signals.end(status);
        }
    }

    fn receive(&mut self, at: usize) -> Result {
        let into = self.into;
        self.lane(at)?.qp.receive(at, &[into])?;
        self.pending += 1;
        Ok(())
    }

    fn send(&mut self, at: usize, from: Sge) -> Result {
        self.lane(at)?.send_chain(at, 1, from)?;
        self.pending += 1;
        Ok(())
    }

    fn rdma(&mut self) -> Result {
        let (from, remote, test) = (self.from, self.remote, self.job.test);
        let qp = &mut self.lane(0)?.qp;
        match test {
            Test::ReadLatency | Test::ReadStream => qp.read(0, &[from], remote, OpFlags::NONE)?,
            _ => qp.write(0, &[from], remote, OpFlags::NONE)?,
        }
        self.pending += 1;
        Ok(())
    }

    fn register(&mut self) -> Result {
        let (Some(Some(lane)), Some(pages)) = (self.lanes.get_mut(0), &self.pages) else {
            return Err(ENOTCONN);
        };
        let flags =
            OpFlags::ALLOW_LOCAL_WRITE | OpFlags::ALLOW_REMOTE_READ | OpFlags::ALLOW_REMOTE_WRITE;
        // SAFETY: The LAM is released after the MR is closed, see `run`.
        unsafe {
            lane.qp.fast_register(
                0,
                &pages.mr,
                &pages.pages,
                pages.fbo,
                pages.length,
                pages.address,
                flags,
            )?;
        }
        self.pending += 1;
        Ok(())
    }

    fn invalidate(&mut self) -> Result {
        let (Some(Some(lane)), Some(pages)) = (self.lanes.get_mut(0), &self.pages) else {
            return Err(ENOTCONN);
        };
        lane.qp.invalidate(0, &pages.mr, OpFlags::NONE)?;
        self.pending += 1;
        Ok(())
    }

    #[inline]
    fn sample(&mut self) {
        let now = Instant::now();
        // CAST: Time goes forward.
        let time = (now - self.stamp).as_nanos() as u64;
        // There is room for every operation.
        let _ = self.samples.push_within_capacity(time);
        self.stamp = now;
        self.completed += 1;
    }

    /// Sends as much as depth and credits allow.
    #[inline]
    fn pump(&mut self, at: usize) -> Result {
        let (iters, chain, depth) = (self.job.iters, self.job.chain, self.job.depth);
        let from = self.from;
        while self.posted < iters {
            let lane = self.lane(at)?;
            if lane.credits < chain || lane.outstanding + chain > depth {
                break;
            }
            lane.send_chain(at, chain, from)?;
            lane.credits -= chain;
            lane.outstanding += chain;
            self.posted += chain;
            self.pending += 1;
        }
        Ok(())
    }

    fn start(&mut self) -> Result {
        self.stamp = Instant::now();
        match self.job.test {
            Test::SendLatency => self.send(0, self.from),
            Test::SendRate => {
                for at in 0..self.job.qps as usize {
                    self.pump(at)?;
                }
                Ok(())
            }
            Test::Register => self.register(),
            _ => {
                while self.posted < self.job.depth.min(self.job.iters) {
                    self.posted += 1;
                    self.rdma()?;
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn received(&mut self, at: usize) -> Result {
        self.receive(at)?;
        match (self.job.test, self.side) {
            (Test::SendRate, Side::A) => {
                let half = self.job.depth / 2;
                self.lane(at)?.credits += half;
                self.pump(at)
            }
            (Test::SendRate, Side::B) => {
                let half = self.job.depth / 2;
                let lane = self.lane(at)?;
                lane.received += 1;
                if lane.received < half {
                    return Ok(());
                }
                lane.received = 0;
                self.send(at, self.from.resized(0))
            }
            (_, Side::A) => {
                self.sample();
                if self.completed == self.job.iters {
                    self.end(Ok(()));
                    return Ok(());
                }
                self.send(at, self.from)
            }
            (_, Side::B) => self.send(at, self.from),
        }
    }

    #[inline]
    fn sent(&mut self, at: usize) -> Result {
        if self.job.test != Test::SendRate || self.side == Side::B {
            return Ok(());
        }
        let chain = self.job.chain;
        self.lane(at)?.outstanding -= chain;
        self.completed += chain;
        if self.completed >= self.job.iters {
            self.end(Ok(()));
            return Ok(());
        }
        self.pump(at)
    }

    #[inline]
    fn moved(&mut self) -> Result {
        match self.job.test {
            Test::WriteLatency | Test::ReadLatency => self.sample(),
            _ => self.completed += 1,
        }
        if self.completed == self.job.iters {
            self.end(Ok(()));
        } else if self.posted < self.job.iters {
            self.posted += 1;
            return self.rdma();
        }
        Ok(())
    }

    #[inline]
    fn result(&mut self, result: &WorkResult) -> Result {
        self.pending = self.pending.saturating_sub(1);
        if result.status().is_err() {
            self.gone = true;
            return result.status();
        }
        if self.over {
            return Ok(());
        }
        match result.operation() {
            Operation::Receive => self.received(result.request()),
            Operation::Send => self.sent(result.request()),
            Operation::Read | Operation::Write => self.moved(),
            Operation::FastRegister => self.invalidate(),
            Operation::Invalidate => {
                self.completed += 1;
                if self.completed == self.job.iters {
                    self.end(Ok(()));
                    return Ok(());
                }
                self.register()
            }
            _ => Err(EIO),
        }
    }

    /// Waits for more, or lets the QPs go when nothing more comes.
    #[inline]
    fn go_on(mut queue: Queue<'_, Self>) {
        let end = queue.handler();
        if (end.gone || end.over) && end.pending == 0 {
            end.let_go();
            end.signals.drained.set();
            return;
        }
        queue.arm(Notify::Any);
    }
}

impl Handler for End {
    fn notify(mut queue: Queue<'_, Self>, status: Result) {
        let mut batch = Batch::<16>::new();
        loop {
            let results = queue.poll(&mut batch);
            let end = queue.handler();
            for result in results {
                if let Err(error) = end.result(result) {
                    end.end(Err(error));
                }
            }
            if results.len() < 16 {
                break;
            }
        }
        if let Err(error) = status {
            let end = queue.handler();
            end.end(Err(error));
            end.gone = true;
            end.pending = 0;
        }
        Self::go_on(queue);
    }

    fn let_go(&mut self) {
        self.lanes = [None, None];
    }
}

/// One end, ready to connect. Dropped in this order.
struct Ready {
    cq: Cq<End>,
    region: Region,
    pd: Pd,
    signals: Arc<Signals>,
}

impl Ready {
    fn new(adapter: &Adapter, job: &Job, side: Side) -> Result<Self> {
        let pd = adapter.create_pd(Wait)?;
        let region = pd.register(
            Buffer::new(job.buffer_size())?,
            MrFlags::LOCAL_WRITE
                | MrFlags::REMOTE_READ
                | MrFlags::REMOTE_WRITE
                | MrFlags::READ_SINK,
        )?;
        let signals = Signals::new()?;
        let end = End {
            side,
            job: *job,
            lanes: [None, None],
            from: region.sge(0, job.size)?,
            into: if job.has_receives() {
                region.sge(job.size as usize, job.size)?
            } else {
                region.sge(0, job.size)?
            },
            remote: (0, 0),
            pages: None,
            samples: KVVec::with_capacity(job.iters as usize, GFP_KERNEL)?,
            stamp: Instant::now(),
            posted: 0,
            completed: 0,
            pending: 0,
            over: false,
            gone: false,
            signals: signals.clone(),
        };
        let depth = job.qps * (job.receives() + 2 * job.depth + 8);
        let cq = adapter.create_cq(depth, None, end, Wait)?;
        Ok(Self {
            cq,
            region,
            pd,
            signals,
        })
    }

    fn create_qp(&self, job: &Job) -> Result<Qp> {
        let params = QpParams {
            receive_depth: job.receives() + 4,
            initiator_depth: 2 * job.depth + 8,
            ..Default::default()
        };
        self.pd.create_qp(&self.cq, &self.cq, params, Wait)
    }

    /// Waits until nothing moves.
    fn drain(&self) {
        if !self.signals.drained.wait_for(TIMEOUT) {
            pr_err!("requests of a closed connection do not end\n");
        }
    }

    /// Takes what was measured, and ends the fast registration while its pages are there.
    fn take(&self) -> Result<(KVVec<u64>, u32)> {
        self.drain();
        let mut queue = self.cq.queue().ok_or(EBUSY)?;
        let end = queue.handler();
        let samples = core::mem::replace(&mut end.samples, KVVec::new());
        let count = end.completed;
        if let Some(pages) = end.pages.take() {
            pages.mr.close(Wait)?;
        }
        Ok((samples, count))
    }

    /// Closes, when nothing moves any more.
    fn close(self) -> Result {
        self.drain();
        self.cq.close(Wait)?;
        self.region.close(Wait)?;
        self.pd.close(Wait)
    }
}

fn lane(qp: Qp, job: &Job) -> Option<Lane> {
    Some(Lane {
        qp,
        credits: job.receives(),
        outstanding: 0,
        received: 0,
    })
}

/// Gives the handlers their QPs and lets them work until the measurement is over. Tells how long that took.
fn work(a: &Ready, b: &Ready, lanes: [[Option<Lane>; MAX_QPS]; 2], job: &Job) -> Result<u64> {
    let mut queue_a = a.cq.queue().ok_or(EBUSY)?;
    let mut queue_b = b.cq.queue().ok_or(EBUSY)?;
    let [lanes_a, lanes_b] = lanes;
    let end = queue_b.handler();
    end.lanes = lanes_b;
    let end = queue_a.handler();
    end.lanes = lanes_a;
    end.remote = (b.region.address(0), b.region.remote_token());
    if job.has_receives() {
        for at in 0..job.qps as usize {
            for _ in 0..job.receives() {
                queue_b.handler().receive(at)?;
                queue_a.handler().receive(at)?;
            }
        }
        End::go_on(queue_b);
    } else {
        // Nothing ends at this side: its QPs go with the CQ.
        b.signals.drained.set();
        drop(queue_b);
    }
    let start = Instant::<Monotonic>::now();
    let end = queue_a.handler();
    if let Err(error) = end.start() {
        end.end(Err(error));
    }
    End::go_on(queue_a);
    let in_time = a.signals.done.wait_for(TIMEOUT);
    // CAST: Time goes forward.
    let elapsed = start.elapsed().as_nanos() as u64;
    if !in_time {
        return Err(ETIMEDOUT);
    }
    let status = *a.signals.status.lock();
    status.map(|()| elapsed)
}

/// Measures. Sleeps until everything is gone again.
pub(crate) fn run(
    job: &Job,
    (adapter_a, address_a): (&Adapter, IpAddr),
    (adapter_b, address_b): (&Adapter, IpAddr),
) -> Result<Outcome> {
    let lam = if job.test == Test::Register {
        Some(adapter_a.build_lam(Buffer::new(job.size as usize)?)?)
    } else {
        None
    };
    let a = Ready::new(adapter_a, job, Side::A)?;
    let b = Ready::new(adapter_b, job, Side::B)?;
    if let Some(lam) = &lam {
        let pages = Pages::new(&a.pd, lam)?;
        a.cq.queue().ok_or(EBUSY)?.handler().pages = Some(pages);
    }
    let listener = Passive::new(adapter_b, address_b)?;
    let mut connectors = KVec::new();
    let mut lanes = [[None, None], [None, None]];
    for at in 0..job.qps as usize {
        let (qp_a, qp_b) = (a.create_qp(job)?, b.create_qp(job)?);
        let pair = listener.connect(&qp_b, adapter_a, address_a, &qp_a)?;
        connectors.push(pair, GFP_KERNEL)?;
        lanes[0][at] = lane(qp_a, job);
        lanes[1][at] = lane(qp_b, job);
    }
    let elapsed = work(&a, &b, lanes, job);

    for (active, passive) in connectors {
        active.close(Wait)?;
        passive.close(Wait)?;
    }
    listener.close()?;
    let (samples, count) = a.take()?;
    a.close()?;
    b.close()?;
    drop(lam);
    Ok(Outcome {
        samples,
        count,
        elapsed: elapsed?,
    })
}
