// SPDX-License-Identifier: GPL-2.0

//! The servers and sessions that there are.

use crate::{
    client::{
        Adapter,
        Connector,
        Listener,
        Net,
        OnConnect,
        Target,
        Tasks,
        Wait, //
    },
    command::Options,
    log::Log,
    session::{
        run_client,
        run_server,
        Role,
        Session, //
    },
};
use core::net::SocketAddr;
use kernel::{
    fmt, new_condvar, new_mutex,
    prelude::*,
    sync::{
        Arc,
        CondVar,
        CondVarTimeoutResult,
        Mutex, //
    },
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
};

/// How a server answers, and over what.
struct Server {
    id: u32,
    options: Options,
    adapter: Adapter,
}

/// A server that takes connections. The listener goes before the adapter.
struct Open {
    listener: Listener,
    server: Arc<Server>,
}

struct Inner {
    next_id: u32,
    servers: KVec<Open>,
    sessions: KVec<Arc<Session>>,
}

impl Inner {
    fn new_id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    fn server(&self, id: u32) -> Option<&Open> {
        self.servers.iter().find(|open| open.server.id == id)
    }

    fn add_session(&mut self, server: u32, role: Role, log: &Arc<Log>) -> Result<Arc<Session>> {
        let session = Session::new(self.new_id(), server, role, log.clone())?;
        self.sessions.push(session.clone(), GFP_KERNEL)?;
        Ok(session)
    }
}

/// All of it. What listeners and tasks hold of it they have given back when [`Registry::shut_down`] returns.
#[pin_data]
pub(crate) struct Registry {
    log: Arc<Log>,
    tasks: Tasks,
    #[pin]
    inner: Mutex<Inner>,
    /// A session has ended.
    #[pin]
    changed: CondVar,
}

/// Gives a listener's connections to tasks.
struct Taker {
    registry: Arc<Registry>,
    server: u32,
}

impl OnConnect for Taker {
    fn connect(&self, connector: Connector) {
        self.registry.log.add(0, "connect_event", Ok(()));
        let (registry, server) = (self.registry.clone(), self.server);
        // Without memory for the task the connector is dropped, which rejects.
        let spawned = self
            .registry
            .tasks
            .spawn(move || registry.serve(server, connector));
        if spawned.is_err() {
            self.registry.log.add(0, "spawn", spawned);
        }
    }
}

impl Registry {
    pub(crate) fn new() -> Result<Arc<Self>> {
        let log = Arc::pin_init(Log::new()?, GFP_KERNEL)?;
        let tasks = Tasks::new(c"ndk_rping")?;
        let inner = Inner {
            next_id: 0,
            servers: KVec::new(),
            sessions: KVec::new(),
        };
        Arc::pin_init(
            pin_init!(Self {
                log,
                tasks,
                inner <- new_mutex!(inner),
                changed <- new_condvar!(),
            }),
            GFP_KERNEL,
        )
    }

    fn end_session(&self, session: &Session, status: Result) {
        let _inner = self.inner.lock();
        session.ended(status);
        self.changed.notify_all();
    }

    /// Opens a server.
    pub(crate) fn start_server(self: &Arc<Self>, net: &Net, options: Options) -> Result {
        let adapter = Adapter::open(net, Target::Address(options.addr))?;
        let address = SocketAddr::new(options.addr, options.port);
        let id = self.inner.lock().new_id();
        let taker = Taker {
            registry: self.clone(),
            server: id,
        };
        let open = Open {
            listener: adapter.create_listener(taker, Wait)?,
            server: Arc::new(
                Server {
                    id,
                    options,
                    adapter,
                },
                GFP_KERNEL,
            )?,
        };
        // Until the server is in its place, connections wait for the lock. On failure it is free before the adapter closes.
        let mut inner = self.inner.lock();
        inner.servers.reserve(1, GFP_KERNEL)?;
        open.listener.listen(&address, Wait)?;
        inner.servers.push_within_capacity(open).map_err(|_| ENOMEM)
    }

    /// Task of an incoming connection.
    fn serve(&self, id: u32, connector: Connector) {
        let (session, server) = {
            let mut inner = self.inner.lock();
            let Some(server) = inner.server(id).map(|open| open.server.clone()) else {
                return;
            };
            match inner.add_session(id, Role::Server, &self.log) {
                Ok(session) => (session, server),
                Err(_) => return,
            }
        };
        let result = run_server(&session, &server.adapter, &server.options, connector);
        drop(server);
        self.end_session(&session, result);
    }

    /// Starts a client.
    pub(crate) fn start_client(self: &Arc<Self>, net: &Net, options: Options) -> Result {
        let adapter = Adapter::open(net, Target::Address(options.addr))?;
        let session = self.inner.lock().add_session(0, Role::Client, &self.log)?;
        let (registry, for_task) = (self.clone(), session.clone());
        let spawned = self.tasks.spawn(move || {
            let result = run_client(&for_task, &adapter, &options);
            // Waits for what is still being closed.
            drop(adapter);
            registry.end_session(&for_task, result);
        });
        if spawned.is_err() {
            self.end_session(&session, spawned);
        }
        spawned
    }

    /// Waits until no client runs.
    pub(crate) fn wait(&self, limit: Msecs) -> Result {
        let mut left = msecs_to_jiffies(limit);
        let mut inner = self.inner.lock();
        while inner
            .sessions
            .iter()
            .any(|session| session.role() == Role::Client && !session.is_over())
        {
            match self.changed.wait_interruptible_timeout(&mut inner, left) {
                CondVarTimeoutResult::Woken { jiffies } => left = jiffies,
                CondVarTimeoutResult::Timeout => return Err(ETIMEDOUT),
                CondVarTimeoutResult::Signal { .. } => return Err(EINTR),
            }
        }
        Ok(())
    }

    /// Has a server refuse connections, or take them again.
    pub(crate) fn pause(&self, id: u32, pause: bool) -> Result {
        let inner = self.inner.lock();
        inner.server(id).ok_or(ENOENT)?.listener.pause(pause);
        Ok(())
    }

    /// Ends a server and its sessions, or one session, or all. Returns when they are gone.
    pub(crate) fn stop(&self, id: Option<u32>) -> Result {
        let concerns =
            |session: &Session| id.is_none_or(|id| session.id() == id || session.server() == id);
        let mut found = id.is_none();
        loop {
            let mut inner = self.inner.lock();
            let Some(at) = inner
                .servers
                .iter()
                .position(|open| id.is_none_or(|id| open.server.id == id))
            else {
                break;
            };
            found = true;
            let Open { listener, server } = inner.servers.remove(at).map_err(|_| EIO)?;
            for session in inner.sessions.iter() {
                if session.server() == server.id {
                    session.stop();
                }
            }
            drop(inner);
            listener.close(Wait)?;
            // The adapter goes with the last session.
            drop(server);
        }
        let mut inner = self.inner.lock();
        for session in inner.sessions.iter() {
            if concerns(session) {
                found = true;
                session.stop();
            }
        }
        while inner
            .sessions
            .iter()
            .any(|session| concerns(session) && !session.is_over())
        {
            self.changed.wait(&mut inner);
        }
        if found {
            Ok(())
        } else {
            Err(ENOENT)
        }
    }

    /// Forgets what has ended.
    pub(crate) fn clear(&self) {
        self.inner
            .lock()
            .sessions
            .retain(|session| !session.is_over());
        self.log.clear();
    }

    /// Ends everything. No task runs afterwards.
    pub(crate) fn shut_down(&self) {
        if let Err(error) = self.stop(None) {
            pr_err!("stop: {}\n", error.to_errno());
        }
        self.tasks.flush();
    }

    /// A read of `status`.
    pub(crate) fn show(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.lock();
        for Open { listener, server } in inner.servers.iter() {
            let sessions = inner
                .sessions
                .iter()
                .filter(|session| session.server() == server.id);
            write!(f, "server id={} sessions={}", server.id, sessions.count())?;
            if let Ok(address) = listener.local_address() {
                write!(f, " addr={} port={}", address.ip(), address.port())?;
            }
            f.write_str("\n")?;
        }
        for session in inner.sessions.iter() {
            session.show(f)?;
        }
        Ok(())
    }

    /// A read of `log`.
    pub(crate) fn show_log(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.show(f)
    }
}
