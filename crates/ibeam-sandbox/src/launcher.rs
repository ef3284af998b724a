//! The launcher, which starts the commands of a run.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::io::Errno;

use crate::backend::{self, ConfinedServer, PreviousServer};
use crate::change_record::ChangeRecord;
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
    /// Allocated with the first server.
    record: OnceLock<Option<ChangeRecord>>,
}

#[derive(Debug)]
struct Servers {
    /// The server that starts commands.
    current: Option<RunningServer>,
    /// Servers with an outdated view of the files, whose trees have not ended.
    outdated: Vec<RunningServer>,
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
    /// Paths that are mounts which no command can change.
    fixed_paths: Vec<PathBuf>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self::new(DEFAULT_PROCESS_LIMIT)
    }
}

impl Launcher {
    /// Creates a launcher whose commands together may have up to `processes` processes and threads. Starts nothing.
    pub const fn new(processes: u32) -> Self {
        Self::with(processes, None, TreeEnd::Kill)
    }

    /// Like [`Self::new`], but a tree that is to be killed first gets TERM and half a second, also when this process dies:
    /// for programs that have to remove their lock files.
    pub const fn gentle(processes: u32) -> Self {
        Self::with(processes, None, TreeEnd::TermFirst)
    }

    /// Like [`Self::new`], but all commands are confined, or do not run.
    pub const fn confined(processes: u32, confinement: Confinement) -> Self {
        Self::with(processes, Some(confinement), TreeEnd::Kill)
    }

    const fn with(processes: u32, confinement: Option<Confinement>, end: TreeEnd) -> Self {
        let servers = Mutex::new(Servers::NONE);
        Self { processes, confinement, end, servers, record: OnceLock::new() }
    }

    /// Returns the record of what commands have changed. `None` if there is none: no confined command has run, or the
    /// system does not allow it.
    pub fn change_record(&self) -> Option<ChangeRecord> {
        self.record.get().copied().flatten()
    }

    /// Whether no command that runs or may run next can change what is at `path`, because it is or lies in a read-only
    /// mount.
    pub fn is_fixed(&self, path: &Path) -> bool {
        let servers = self.lock();
        let mut all = servers.current.iter().chain(&servers.outdated).peekable();
        all.peek().is_some()
            && all.all(|running| running.fixed_paths.iter().any(|fixed| path.starts_with(fixed)))
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
        servers.outdated.retain(|outdated| !outdated.server.is_idle());
        if let Some(outdated) = servers.current.take_if(|server| !server.is_up_to_date()) {
            servers.outdated.push(RunningServer { listener: None, ..outdated });
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
            let (tier, fixed_paths) = (Tier::Supervision, Vec::new());
            return Ok(RunningServer { server, tier, listener: None, snapshot: None, fixed_paths });
        };
        let snapshot = Some(PathSnapshot::new(confinement));
        // Without memory for it, changes are not recorded.
        let new_record = || backend::can_read_callers().then(ChangeRecord::new)?.ok();
        let record = *self.record.get_or_init(new_record);
        let ConfinedServer { server, tier, listener, fixed_paths } =
            backend::start_confined(self.processes, confinement, previous, record)
                .map_err(SpawnError::Sandbox)?;
        Ok(RunningServer { server, tier, listener, snapshot, fixed_paths })
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
