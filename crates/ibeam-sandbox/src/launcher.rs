//! Where the commands of a run come from.

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

/// The most processes and threads that the commands of a launcher may have, where nobody says otherwise.
pub const DEFAULT_PROCESS_LIMIT: u32 = 4096;

/// Starts commands: creates the fork server with the first of them, and again when it was killed by force.
///
/// ConfinedServer commands get a new one, too, when somebody put another file at a path that is kept or hidden: see [`PathSnapshot`].
/// The former lives until its trees are gone. The new one is confined in the same way, or its commands do not run; what is
/// short-lived of former commands is not seen by later ones.
#[derive(Debug)]
pub struct Launcher {
    processes: u32,
    confinement: Option<Confinement>,
    servers: Mutex<Servers>,
}

#[derive(Debug)]
struct Servers {
    /// From which commands are started.
    current: Option<RunningServer>,
    /// Whose view is out of date, with trees that live.
    outdated: Vec<ForkServer>,
    /// What is the same of all.
    previous: Option<PreviousServer>,
}

/// A server and what is known of it.
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
    /// A launcher whose commands together may have so many processes and threads. Starts nothing yet.
    pub const fn new(processes: u32) -> Self {
        Self { processes, confinement: None, servers: Mutex::new(Servers::NONE) }
    }

    /// As [`Self::new`], but its commands are confined, all in the same way, or do not run.
    pub const fn confined(processes: u32, confinement: Confinement) -> Self {
        Self { processes, confinement: Some(confinement), servers: Mutex::new(Servers::NONE) }
    }

    /// Whether its commands are confined, or do not run.
    pub const fn is_confined(&self) -> bool {
        self.confinement.is_some()
    }

    /// Makes the server now, so that what holds the commands is known before the first of them.
    ///
    /// # Errors
    /// Each way to confine commands, and why the system refuses it.
    pub fn start(&self) -> Result<Layers, SandboxUnavailable> {
        let mut servers = self.lock();
        let running = self.current_server(&mut servers).map_err(|error| match error {
            SpawnError::Sandbox(unavailable) => unavailable,
            SpawnError::Refused(errno) => unsupervised(errno),
            SpawnError::NulByte | SpawnError::ServerLost => unsupervised(Errno::CHILD),
        })?;
        Ok(Layers { tier: running.tier, names: running.server.layers() })
    }

    /// The socket that listens inside the sandbox, at 127.0.0.1 and the port that is given, for a proxy that runs
    /// outside. Once for each network: to be asked again while commands run, since a new server may have a new one. Its
    /// port is that of the first, and connections wait until they are taken.
    pub fn take_proxy_listener(&self) -> Option<(TcpListener, u16)> {
        let listener = self.lock().current.as_mut()?.listener.take()?;
        let port = backend::port_of(&listener)?;
        Some((listener, port))
    }

    /// Starts a command. Returns when its program runs.
    ///
    /// # Errors
    /// As [`ForkServer::spawn`]; `Lost` only when a new server was lost at once, `Unconfined` as for `begin`.
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

    /// What holds the processes: see [`ForkServer::layers`]. Empty before the first command.
    pub fn layers(&self) -> Vec<&'static str> {
        self.lock().current.as_ref().map(|running| running.server.layers()).unwrap_or_default()
    }

    /// Ends everything that was started, and waits for that up to two seconds. The next command gets a new server.
    pub fn stop(&self) {
        let mut servers = self.lock();
        servers.current = None;
        servers.outdated.clear();
    }

    /// The server for the next command.
    fn current_server<'a>(&self, servers: &'a mut Servers) -> Result<&'a mut RunningServer, SpawnError> {
        servers.outdated.retain(|server| !server.is_idle());
        if let Some(outdated) = servers.current.take_if(|running| !running.is_up_to_date()) {
            servers.outdated.push(outdated.server);
        }
        match &mut servers.current {
            Some(running) => Ok(running),
            none @ None => {
                let running = self.start_server(servers.previous)?;
                let port = running.listener.as_ref().and_then(backend::port_of);
                servers.previous.get_or_insert(PreviousServer { tier: running.tier, port });
                Ok(none.insert(running))
            }
        }
    }

    fn start_server(&self, first: Option<PreviousServer>) -> Result<RunningServer, SpawnError> {
        let Some(confinement) = &self.confinement else {
            let server = ForkServer::start(self.processes)?;
            return Ok(RunningServer { server, tier: Tier::Supervision, listener: None, snapshot: None });
        };
        let seen = Some(PathSnapshot::new(confinement));
        let ConfinedServer { server, tier, listener } =
            backend::start_confined(self.processes, confinement, first).map_err(SpawnError::Sandbox)?;
        Ok(RunningServer { server, tier, listener, snapshot: seen })
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

fn unsupervised(errno: Errno) -> SandboxUnavailable {
    SandboxUnavailable {
        failures: vec![BackendFailure { backend: "supervision", step: SetupStep::Start.name(), errno }],
    }
}
