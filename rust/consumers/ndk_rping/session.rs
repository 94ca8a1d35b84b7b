// SPDX-License-Identifier: GPL-2.0

//! A connection from its set up to its end, in process context.

use crate::{
    client::{
        AcceptParams,
        Adapter,
        ConnectParams,
        Connector,
        Cq,
        Event,
        Notice,
        Pd,
        Qp,
        QpParams,
        SharedConnectParams,
        Wait, //
    },
    command::Options,
    log::{
        Log,
        Status, //
    },
    ping::{
        self,
        Ping, //
    },
    step::step, //
};
use core::net::SocketAddr;
use kernel::{
    error::to_result,
    fmt, new_spinlock_irq,
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
        delay::fsleep,
        Delta, //
    },
};

/// Which side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Answers.
    Server,
    /// Asks and compares.
    Client,
}

/// Bytes of a peer's private data that are shown.
const DATA: usize = 64;

/// Where a session is.
#[derive(Clone, Copy)]
enum State {
    Setup = 0,
    Connecting = 1,
    Held = 2,
    Connected = 3,
    Ending = 4,
    Ended = 5,
}

const STATES: [&str; 6] = [
    "setup",
    "connecting",
    "held",
    "connected",
    "ending",
    "ended",
];

/// What others see of a connection.
#[pin_data]
pub(crate) struct Session {
    id: u32,
    server: u32,
    role: Role,
    log: Arc<Log>,
    state: Atomic<u32>,
    rounds: Atomic<u32>,
    verified: Atomic<u32>,
    error: Atomic<i32>,
    over: Atomic<u32>,
    cancelled: Atomic<u32>,
    stopped: Atomic<u32>,
    #[pin]
    peer: SpinLockIrq<Peer>,
    #[pin]
    finished: Event,
    #[pin]
    drained: Event,
}

struct Peer {
    address: Option<SocketAddr>,
    data: [u8; DATA],
    data_len: usize,
}

impl Session {
    pub(crate) fn new(id: u32, server: u32, role: Role, log: Arc<Log>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                id,
                server,
                role,
                log,
                state: Atomic::new(State::Setup as u32),
                rounds: Atomic::new(0),
                verified: Atomic::new(0),
                error: Atomic::new(0),
                over: Atomic::new(0),
                cancelled: Atomic::new(0),
                stopped: Atomic::new(0),
                peer <- new_spinlock_irq!(Peer {
                    address: None,
                    data: [0; DATA],
                    data_len: 0,
                }),
                finished <- Event::new(),
                drained <- Event::new(),
            }),
            GFP_KERNEL,
        )
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn server(&self) -> u32 {
        self.server
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Whether its task has done its work.
    pub(crate) fn is_over(&self) -> bool {
        self.state.load(Relaxed) == State::Ended as u32
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed) != 0
    }

    /// Ends it from outside.
    pub(crate) fn stop(&self) {
        self.stopped.store(1, Relaxed);
        self.finish(Err(ECANCELED));
    }

    /// Ends it. The first status counts, and what was cancelled says less than why. Any context.
    pub(crate) fn finish(&self, status: Result) {
        if status == Err(ECANCELED) {
            self.cancelled.store(1, Relaxed);
        } else if self.over.cmpxchg(0, 1, Relaxed).is_ok() {
            if let Err(error) = status {
                self.error.store(error.to_errno(), Relaxed);
            }
        }
        self.finished.set();
    }

    /// Its task has done its work.
    pub(crate) fn ended(&self, status: Result) {
        let cancelled = self.cancelled.load(Relaxed) != 0 || status == Err(ECANCELED);
        if cancelled && self.over.load(Relaxed) == 0 {
            self.error.store(ECANCELED.to_errno(), Relaxed);
        } else {
            self.finish(status);
        }
        self.enter(State::Ended);
    }

    /// No request is outstanding, and the QP is closed.
    pub(crate) fn drained(&self) {
        self.drained.set();
    }

    pub(crate) fn round_done(&self) {
        self.rounds.add(1, Relaxed);
    }

    pub(crate) fn verified(&self) {
        self.verified.add(1, Relaxed);
    }

    pub(crate) fn log(&self, event: &'static str, status: Result) {
        self.log.add(self.id, event, status);
    }

    fn enter(&self, state: State) {
        self.state.store(state as u32, Relaxed);
    }

    /// Notes who the peer is and what it sent.
    fn meet(&self, connector: &Connector) {
        let mut data = [0; DATA];
        let sent = connector.connection_data(&mut data);
        let address = connector.peer_address();
        let mut peer = self.peer.lock();
        if let Ok(address) = address {
            peer.address = Some(address);
        }
        if sent.is_ok() {
            // The transport pads with zeroes.
            peer.data_len = data
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |at| at + 1);
            peer.data = data;
        }
    }

    /// The line in `status`.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = STATES
            .get(self.state.load(Relaxed) as usize)
            .unwrap_or(&"unknown");
        let role = match self.role {
            Role::Server => "server",
            Role::Client => "client",
        };
        write!(
            f,
            "session id={} role={role} server={} state={state} rounds={} verified={} error={}",
            self.id,
            self.server,
            self.rounds.load(Relaxed),
            self.verified.load(Relaxed),
            Status(to_result(self.error.load(Relaxed))),
        )?;
        let (address, data, data_len) = {
            let peer = self.peer.lock();
            (peer.address, peer.data, peer.data_len)
        };
        if let Some(address) = address {
            write!(f, " peer={} peer_port={}", address.ip(), address.port())?;
        }
        if data_len != 0 {
            f.write_str(" data=")?;
            for byte in &data[..data_len] {
                if byte.is_ascii_graphic() {
                    write!(f, "{}", char::from(*byte))?;
                } else {
                    f.write_str(".")?;
                }
            }
        }
        f.write_str("\n")
    }
}

/// What a connection is made of. Dropped in this order.
struct Connection {
    connector: Connector,
    cq: Cq<Ping>,
    pd: Pd,
}

/// Makes PD, CQ, buffers and QP, with the receives posted.
fn prepare(
    session: &Arc<Session>,
    adapter: &Adapter,
    options: &Options,
) -> Result<(Pd, Cq<Ping>, crate::client::Qp)> {
    ping::check(adapter)?;
    let pd = step(session, "create_pd", |then| adapter.create_pd(then))?;
    let ping = Ping::new(session.clone(), &pd, options.size, options.count)?;
    let cq = step(session, "create_cq", |then| {
        adapter.create_cq(4 * ping::DEPTH, None, ping, then)
    })?;
    let params = QpParams {
        context: session.id() as usize,
        receive_depth: ping::DEPTH,
        initiator_depth: ping::DEPTH,
        ..Default::default()
    };
    let qp = step(session, "create_qp", |then| {
        pd.create_qp(&cq, &cq, params, then)
    })?;
    Ok((pd, cq, qp))
}

fn hold(session: &Arc<Session>, options: &Options) -> Result {
    if options.hold != 0 {
        session.enter(State::Held);
        for _ in 0..options.hold.div_ceil(10) {
            if session.is_stopped() {
                return Err(ECANCELED);
            }
            fsleep(Delta::from_millis(10));
        }
    }
    Ok(())
}

/// Ends a connection, and waits until nothing of it moves.
fn end(session: &Arc<Session>, connection: Connection, connected: bool) -> Result {
    session.enter(State::Ending);
    let Connection { connector, cq, pd } = connection;
    if connected {
        // Whatever the status, the connection is gone.
        let _ = step(session, "disconnect", |then| connector.disconnect(then));
    }
    connector.close(Wait)?;
    session.log("close_connector", Ok(()));
    // The close flushes the QP, so the handler sees the end of every request.
    session.drained.wait();
    cq.close(Wait)?;
    session.log("close_cq", Ok(()));
    pd.close(Wait)?;
    session.log("close_pd", Ok(()));
    Ok(())
}

/// Lets the handler work until the session is over, and ends the connection.
fn serve(session: &Arc<Session>, connection: Connection, connected: Result) -> Result {
    match connected {
        Ok(()) => {
            session.enter(State::Connected);
            session.finished.wait();
        }
        Err(error) => session.finish(Err(error)),
    }
    end(session, connection, connected.is_ok())
}

fn on_disconnect(session: &Arc<Session>, status: Result) -> impl FnOnce() + Send + 'static {
    let session = session.clone();
    move || {
        session.log("disconnect_event", Ok(()));
        session.finish(status);
    }
}

/// Asks the server for a connection, from an address of the connector's own or from a shared endpoint, whose close waits for the
/// connector's.
fn connect(
    session: &Arc<Session>,
    adapter: &Adapter,
    connector: &Connector,
    qp: &Qp,
    options: &Options,
) -> Result {
    let source = SocketAddr::new(options.addr, options.source);
    let destination = SocketAddr::new(options.dst.ok_or(EINVAL)?, options.port);
    if !options.shared {
        let params = ConnectParams {
            source,
            destination,
            inbound_reads: 1,
            outbound_reads: 1,
            private_data: &options.data,
        };
        return step(session, "connect", |then| {
            connector.connect(qp, &params, then)
        });
    }
    let endpoint = step(session, "create_shared_endpoint", |then| {
        adapter.create_shared_endpoint(&source, then)
    })?;
    let params = SharedConnectParams {
        endpoint: &endpoint,
        destination,
        inbound_reads: 1,
        outbound_reads: 1,
        private_data: &options.data,
    };
    step(session, "connect_with_shared_endpoint", |then| {
        connector.connect_with_shared_endpoint(qp, &params, then)
    })?;
    if endpoint.local_address()? != connector.local_address()? {
        return Err(EADDRNOTAVAIL);
    }
    Ok(())
}

/// Runs a client from its connect to its end.
pub(crate) fn run_client(session: &Arc<Session>, adapter: &Adapter, options: &Options) -> Result {
    let (pd, cq, qp) = prepare(session, adapter, options)?;
    let mut connector = step(session, "create_connector", |then| {
        adapter.create_connector(then)
    })?;
    session.enter(State::Connecting);
    let answer = connect(session, adapter, &connector, &qp, options);
    session.meet(&connector);
    answer?;
    hold(session, options)?;
    if let Some(reason) = &options.reject {
        let result = connector.reject(reason);
        session.log("reject", result);
        return result;
    }
    let mut queue = cq.queue().ok_or(EBUSY)?;
    let connected = match queue.handler().attach(qp) {
        Ok(_) => step(session, "complete_connect", |then| {
            connector.complete_connect(on_disconnect(session, Err(ESHUTDOWN)), then)
        }),
        Err(error) => Err(error),
    };
    let begun = connected.and_then(|()| queue.handler().begin());
    Ping::run(queue, begun);
    serve(session, Connection { connector, cq, pd }, connected)
}

/// Runs an incoming connection to its end.
pub(crate) fn run_server(
    session: &Arc<Session>,
    adapter: &Adapter,
    options: &Options,
    mut connector: Connector,
) -> Result {
    session.enter(State::Connecting);
    session.meet(&connector);
    if let Some(reason) = &options.reject {
        hold(session, options)?;
        let result = connector.reject(reason);
        session.log("reject", result);
        return result;
    }
    let (pd, cq, qp) = prepare(session, adapter, options)?;
    hold(session, options)?;
    let params = AcceptParams {
        inbound_reads: 1,
        outbound_reads: 1,
        private_data: &options.data,
    };
    session.enter(State::Connecting);
    let mut queue = cq.queue().ok_or(EBUSY)?;
    let connected = step(session, "accept", |then| {
        let event = on_disconnect(session, Ok(()));
        let started = match queue.handler().attach(qp) {
            Ok(qp) => {
                connector.accept(qp, &params, event, then);
                Ok(())
            }
            Err(error) => {
                then.fail(error);
                Err(error)
            }
        };
        // The peer's first message may come before the accept is over.
        Ping::run(queue, started);
    });
    serve(session, Connection { connector, cq, pd }, connected)
}
