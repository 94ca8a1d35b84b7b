// SPDX-License-Identifier: GPL-2.0

//! Connections over ndk, step by step what raw_connect.c does.

use crate::{
    client::{
        AcceptParams,
        Adapter,
        ConnectParams,
        Connector,
        Cq,
        Event,
        Handler,
        OnConnect,
        Pd,
        Qp,
        QpParams,
        Queue,
        Tasks,
        Then,
        Wait, //
    },
    job::{
        Job,
        Outcome, //
    },
};
use core::net::{
    IpAddr,
    SocketAddr, //
};
use kernel::{
    alloc::KVVec,
    new_spinlock_irq,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SpinLockIrq, //
    },
    time::{
        Instant,
        Monotonic, //
    },
};

/// Most connections at a time.
const MAX_WORKERS: u32 = 64;

/// Nothing is posted, so nothing comes.
struct Idle;

impl Handler for Idle {
    fn notify(_queue: Queue<'_, Self>, _status: Result) {}
}

/// PD and CQ of one end, for all its connections. Dropped in this order.
struct End {
    cq: Cq<Idle>,
    pd: Pd,
}

impl End {
    fn new(adapter: &Adapter) -> Result<Self> {
        Ok(Self {
            cq: adapter.create_cq(64, None, Idle, Wait)?,
            pd: adapter.create_pd(Wait)?,
        })
    }

    fn params() -> QpParams {
        QpParams {
            receive_depth: 4,
            initiator_depth: 4,
            ..Default::default()
        }
    }
}

/// Connections of the passive side that are there, and one for the run itself.
#[pin_data]
struct Count {
    left: Atomic<i32>,
    #[pin]
    all_gone: Event,
}

impl Count {
    fn get(&self) {
        self.left.add(1, Relaxed);
    }

    fn put(&self) {
        if self.left.fetch_sub(1, kernel::sync::atomic::Full) == 1 {
            self.all_gone.set();
        }
    }
}

/// A connection of the passive side: closed, from within its callbacks, when the peer goes.
enum Passive {
    /// Being accepted.
    Coming,
    Here(Connector, Qp),
    Gone,
}

#[pin_data]
struct Holder {
    #[pin]
    passive: SpinLockIrq<Passive>,
    count: Arc<Count>,
}

impl Holder {
    fn new(count: Arc<Count>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                passive <- new_spinlock_irq!(Passive::Coming),
                count,
            }),
            GFP_ATOMIC,
        )
    }

    fn hold(&self, connector: Connector, qp: Qp) {
        let mut passive = self.passive.lock();
        if let Passive::Coming = *passive {
            *passive = Passive::Here(connector, qp);
            return;
        }
        drop(passive);
        self.close(connector, qp);
    }

    fn end(&self) {
        let was = core::mem::replace(&mut *self.passive.lock(), Passive::Gone);
        if let Passive::Here(connector, qp) = was {
            self.close(connector, qp);
        }
    }

    fn close(&self, connector: Connector, qp: Qp) {
        let count = self.count.clone();
        connector.close(Then(move |_| qp.close(Then(move |_| count.put()))));
    }
}

struct Acceptor {
    end: Arc<End>,
    count: Arc<Count>,
}

impl OnConnect for Acceptor {
    fn connect(&self, mut connector: Connector) {
        let count = self.count.clone();
        let (pd, cq) = (&self.end.pd, &self.end.cq);
        pd.create_qp(
            cq,
            cq,
            End::params(),
            Then(move |qp: Result<Qp>| {
                // Dropped without a QP, the connection is rejected.
                let Ok(qp) = qp else { return };
                let Ok(holder) = Holder::new(count.clone()) else {
                    return;
                };
                count.get();
                let (on_disconnect, on_accept) = (holder.clone(), holder.clone());
                let params = AcceptParams {
                    inbound_reads: 1,
                    outbound_reads: 1,
                    private_data: &[],
                };
                connector.accept(
                    &qp,
                    &params,
                    move || on_disconnect.end(),
                    Then(move |accepted: Result| {
                        if accepted.is_err() {
                            on_accept.end();
                        }
                    }),
                );
                holder.hold(connector, qp);
            }),
        );
    }
}

/// What the workers share.
struct Run {
    adapter: Arc<Adapter>,
    end: End,
    source: SocketAddr,
    destination: SocketAddr,
    left: Atomic<i32>,
    error: Atomic<i32>,
}

impl Run {
    fn connect_once(&self) -> Result {
        let mut connector = self.adapter.create_connector(Wait)?;
        let qp = self
            .end
            .pd
            .create_qp(&self.end.cq, &self.end.cq, End::params(), Wait)?;
        let params = ConnectParams {
            source: self.source,
            destination: self.destination,
            inbound_reads: 1,
            outbound_reads: 1,
            private_data: &[],
        };
        connector.connect(&qp, &params, Wait)?;
        connector.complete_connect(|| (), Wait)?;
        connector.disconnect(Wait)?;
        connector.close(Wait)?;
        qp.close(Wait)
    }

    fn work(&self) {
        while self.error.load(Relaxed) == 0 && self.left.fetch_sub(1, Relaxed) > 0 {
            if let Err(error) = self.connect_once() {
                self.error.store(error.to_errno(), Relaxed);
            }
        }
    }
}

/// Measures. Sleeps until everything is gone again.
pub(crate) fn run(
    job: &Job,
    (adapter_a, address_a): (Arc<Adapter>, IpAddr),
    (adapter_b, address_b): (&Adapter, IpAddr),
) -> Result<Outcome> {
    let count = Arc::pin_init(
        pin_init!(Count {
            left: Atomic::new(1),
            all_gone <- Event::new(),
        }),
        GFP_KERNEL,
    )?;
    let acceptor = Acceptor {
        end: Arc::new(End::new(adapter_b)?, GFP_KERNEL)?,
        count: count.clone(),
    };
    let listener = adapter_b.create_listener(acceptor, Wait)?;
    listener.listen(&SocketAddr::new(address_b, 0), Wait)?;
    let run = Arc::new(
        Run {
            end: End::new(&adapter_a)?,
            source: SocketAddr::new(address_a, 0),
            destination: listener.local_address()?,
            adapter: adapter_a,
            left: Atomic::new(i32::try_from(job.iters)?),
            error: Atomic::new(0),
        },
        GFP_KERNEL,
    )?;
    let tasks = Tasks::new(c"ndk_perf_ours")?;
    let start = Instant::<Monotonic>::now();
    for _ in 0..job.depth.clamp(1, MAX_WORKERS) {
        let run = run.clone();
        tasks.spawn(move || run.work())?;
    }
    drop(tasks);
    // Done when both ends are gone.
    count.put();
    count.all_gone.wait();
    // CAST: Time goes forward.
    let elapsed = start.elapsed().as_nanos() as u64;
    listener.close(Wait)?;
    kernel::error::to_result(run.error.load(Relaxed))?;
    Ok(Outcome {
        samples: KVVec::new(),
        count: job.iters,
        elapsed,
    })
}
