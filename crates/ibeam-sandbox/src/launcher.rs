//! Where the commands of a run come from.

use std::net::TcpListener;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::confinement::{Confinement, Layers, Refusal, Tier, Unavailable};
use crate::request::Launch;
use crate::server::{ForkServer, SpawnError};
use crate::step::Step;
use crate::tree::Tree;
use crate::ways::{self, Confined};

/// The most processes and threads that the commands of a launcher may have, where nobody says otherwise.
pub const PROCESSES: u32 = 4096;

/// Starts commands: makes the fork server with the first of them, and again when it was killed by force.
#[derive(Debug)]
pub struct Launcher {
    processes: u32,
    confinement: Option<Confinement>,
    running: Mutex<Option<Running>>,
}

/// A server and what is known of it.
#[derive(Debug)]
struct Running {
    server: ForkServer,
    tier: Tier,
    listener: Option<TcpListener>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self::new(PROCESSES)
    }
}

impl Launcher {
    /// A launcher whose commands together may have so many processes and threads. Starts nothing yet.
    pub const fn new(processes: u32) -> Self {
        Self { processes, confinement: None, running: Mutex::new(None) }
    }

    /// As [`Self::new`], but its commands are confined, all in the same way, or do not run.
    pub const fn confined(processes: u32, confinement: Confinement) -> Self {
        Self { processes, confinement: Some(confinement), running: Mutex::new(None) }
    }

    /// Whether its commands are confined, or do not run.
    pub const fn is_confined(&self) -> bool {
        self.confinement.is_some()
    }

    /// Makes the server now, so that what holds the commands is known before the first of them.
    ///
    /// # Errors
    /// Each way to confine commands, and why the system refuses it.
    pub fn begin(&self) -> Result<Layers, Unavailable> {
        let mut running = self.lock();
        let running = match running.as_ref() {
            Some(running) => running,
            None => running.insert(self.start().map_err(|error| match error {
                SpawnError::Unconfined(unavailable) => unavailable,
                SpawnError::Refused(errno) => unsupervised(errno),
                SpawnError::Nul | SpawnError::Lost => unsupervised(Errno::CHILD),
            })?),
        };
        Ok(Layers { tier: running.tier, names: running.server.layers() })
    }

    /// The socket that listens inside the sandbox, at 127.0.0.1 and the port that is given, for a proxy that runs
    /// outside. Once for each server: again when a server that was killed by force has been replaced.
    pub fn proxy_listener(&self) -> Option<(TcpListener, u16)> {
        let listener = self.lock().as_mut()?.listener.take()?;
        let port = listener.local_addr().ok()?.port();
        Some((listener, port))
    }

    /// Starts a command. Returns when its program runs.
    ///
    /// # Errors
    /// As [`ForkServer::spawn`]; `Lost` only when a new server was lost at once, `Unconfined` as for `begin`.
    pub fn spawn(&self, launch: &Launch<'_>) -> Result<Tree, SpawnError> {
        let mut running = self.lock();
        match running.as_ref().map(|running| running.server.spawn(launch)) {
            None | Some(Err(SpawnError::Lost)) => {
                *running = None;
                running.insert(self.start()?).server.spawn(launch)
            }
            Some(answer) => answer,
        }
    }

    /// What holds the processes: see [`ForkServer::layers`]. Empty before the first command.
    pub fn layers(&self) -> Vec<&'static str> {
        self.lock().as_ref().map(|running| running.server.layers()).unwrap_or_default()
    }

    /// Ends everything that was started, and waits for that up to two seconds. The next command gets a new server.
    pub fn end(&self) {
        drop(self.lock().take());
    }

    fn start(&self) -> Result<Running, SpawnError> {
        let Some(confinement) = &self.confinement else {
            let server = ForkServer::start(self.processes)?;
            return Ok(Running { server, tier: Tier::Supervision, listener: None });
        };
        let Confined { server, tier, listener } =
            ways::confined(self.processes, confinement).map_err(SpawnError::Unconfined)?;
        Ok(Running { server, tier, listener })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unsupervised(errno: Errno) -> Unavailable {
    Unavailable { refusals: vec![Refusal { way: "supervision", step: Step::Start.name(), errno }] }
}
