//! The launcher, which starts the commands of a run.

use std::net::TcpListener;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::backend::{self, ConfinedServer, PreviousServer};
use crate::confinement::{BackendFailure, Confinement, Layers, SandboxUnavailable, Tier};
use crate::launch_request::LaunchSpec;
use crate::path_snapshot::PathSnapshot;
use crate::server::{ForkServer, SpawnError};
use crate::setup_step::SetupStep;
use crate::supervised_tree::SupervisedTree;
use crate::supervisor::TreeEnd;

/// Default maximum of processes and threads that the commands of a launcher may have.
pub const DEFAULT_PROCESS_LIMIT: u32 = 4096;

/// Starts commands. Creates the fork server with the first command, and again after the server was killed.
///
/// Confined commands also get a new server when another file was put at a read-only or hidden path: see
/// [`PathSnapshot`]. The outdated server lives until its trees have ended. The new server has the same tier, or its
/// commands do not run. Later commands do not see temporary files of earlier servers.
#[derive(Debug)]
pub struct Launcher {
    /// Maximum number of processes and threads of all commands together.
    processes: u32,
    confinement: Option<Confinement>,
    end: TreeEnd,
    servers: Mutex<Servers>,
}

#[derive(Debug)]
struct Servers {
    /// The server that starts commands.
    current: Option<RunningServer>,
    /// Servers with an outdated view of the files, whose trees have not ended.
    outdated: Vec<ForkServer>,
    /// The values that every later server takes over from the first one.
    previous: Option<PreviousServer>,
}

/// A running server and its properties.
#[derive(Debug)]
struct RunningServer {
    server: ForkServer,
    tier: Tier,
    listener: Option<TcpListener>,
    snapshot: Option<PathSnapshot>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self::new(DEFAULT_PROCESS_LIMIT)
    }
}

impl Launcher {
    /// Creates a launcher whose commands together may have up to `processes` processes and threads. Starts nothing.
    pub const fn new(processes: u32) -> Self {
        Self { processes, confinement: None, end: TreeEnd::Kill, servers: Mutex::new(Servers::NONE) }
    }

    /// Like [`Self::new`], but a tree that is to be killed first gets TERM and half a second, also when this process dies:
    /// for programs that have to remove their lock files.
    pub const fn gentle(processes: u32) -> Self {
        Self { processes, confinement: None, end: TreeEnd::TermFirst, servers: Mutex::new(Servers::NONE) }
    }

    /// Like [`Self::new`], but all commands are confined, or do not run.
    pub const fn confined(processes: u32, confinement: Confinement) -> Self {
        let servers = Mutex::new(Servers::NONE);
        Self { processes, confinement: Some(confinement), end: TreeEnd::Kill, servers }
    }

    /// Whether commands are confined.
    pub const fn is_confined(&self) -> bool {
        self.confinement.is_some()
    }

    /// Starts the server now, so that the layers are known before the first command.
    ///
    /// # Errors
    /// The failure of each backend.
    pub fn start(&self) -> Result<Layers, SandboxUnavailable> {
        let mut servers = self.lock();
        let running = self.current_server(&mut servers).map_err(|error| match error {
            SpawnError::Sandbox(unavailable) => unavailable,
            SpawnError::System(errno) => supervision_failure(errno),
            SpawnError::NulByte | SpawnError::ServerLost => supervision_failure(Errno::CHILD),
        })?;
        Ok(Layers { tier: running.tier, names: running.server.layers() })
    }

    /// Returns the socket that listens inside the sandbox at 127.0.0.1, for a proxy that runs outside, and its port.
    ///
    /// Returns each socket once. A new server may have a new network and so a new socket, with the port of the first
    /// one; so call this again while commands run. Connections wait until they are accepted.
    pub fn take_proxy_listener(&self) -> Option<(TcpListener, u16)> {
        let listener = self.lock().current.as_mut()?.listener.take()?;
        let port = backend::local_port(&listener)?;
        Some((listener, port))
    }

    /// Starts a command. Returns when its program runs.
    ///
    /// # Errors
    /// The errors of [`ForkServer::spawn`]; `ServerLost` only if a new server was lost too; `Sandbox` as in [`Self::start`].
    pub fn spawn(&self, launch: &LaunchSpec<'_>) -> Result<SupervisedTree, SpawnError> {
        let mut servers = self.lock();
        match self.current_server(&mut servers)?.server.spawn(launch) {
            Err(SpawnError::ServerLost) => {
                servers.current = None;
                self.current_server(&mut servers)?.server.spawn(launch)
            }
            answer => answer,
        }
    }

    /// Returns the layers of the current server, as [`ForkServer::layers`] does. Empty before the first command.
    pub fn layers(&self) -> Vec<&'static str> {
        self.lock().current.as_ref().map(|running| running.server.layers()).unwrap_or_default()
    }

    /// Ends everything that was started and waits up to two seconds for that. The next command gets a new server.
    pub fn stop(&self) {
        let mut servers = self.lock();
        servers.current = None;
        servers.outdated.clear();
    }

    /// Returns the server for the next command.
    fn current_server<'a>(&self, servers: &'a mut Servers) -> Result<&'a mut RunningServer, SpawnError> {
        servers.outdated.retain(|server| !server.is_idle());
        if let Some(outdated) = servers.current.take_if(|server| !server.is_up_to_date()) {
            servers.outdated.push(outdated.server);
        }
        match &mut servers.current {
            Some(running) => Ok(running),
            empty @ None => {
                let running = self.start_server(servers.previous)?;
                let port = running.listener.as_ref().and_then(backend::local_port);
                servers.previous.get_or_insert(PreviousServer { tier: running.tier, port });
                Ok(empty.insert(running))
            }
        }
    }

    fn start_server(&self, previous: Option<PreviousServer>) -> Result<RunningServer, SpawnError> {
        let Some(confinement) = &self.confinement else {
            let server = ForkServer::start_with(self.processes, self.end)?;
            return Ok(RunningServer { server, tier: Tier::Supervision, listener: None, snapshot: None });
        };
        let snapshot = Some(PathSnapshot::new(confinement));
        let ConfinedServer { server, tier, listener } =
            backend::start_confined(self.processes, confinement, previous).map_err(SpawnError::Sandbox)?;
        Ok(RunningServer { server, tier, listener, snapshot })
    }

    fn lock(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Servers {
    const NONE: Self = Self { current: None, outdated: Vec::new(), previous: None };
}

impl RunningServer {
    fn is_up_to_date(&self) -> bool {
        self.snapshot.as_ref().is_none_or(PathSnapshot::is_current)
    }
}

fn supervision_failure(errno: Errno) -> SandboxUnavailable {
    SandboxUnavailable {
        failures: vec![BackendFailure { backend: "supervision", step: SetupStep::Start.name(), errno }],
    }
}
