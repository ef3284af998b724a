//! Where the commands of a run come from.

use std::sync::{Mutex, PoisonError};

use crate::request::Launch;
use crate::server::{ForkServer, SpawnError};
use crate::tree::Tree;

/// The most processes and threads that the commands of a launcher may have, where nobody says otherwise.
pub const PROCESSES: u32 = 4096;

/// Starts commands: makes the fork server with the first of them, and again when it was killed by force.
#[derive(Debug)]
pub struct Launcher {
    processes: u32,
    server: Mutex<Option<ForkServer>>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self::new(PROCESSES)
    }
}

impl Launcher {
    /// A launcher whose commands together may have so many processes and threads. Starts nothing yet.
    pub const fn new(processes: u32) -> Self {
        Self { processes, server: Mutex::new(None) }
    }

    /// Starts a command. Returns when its program runs.
    ///
    /// # Errors
    /// As [`ForkServer::spawn`]; `Lost` only when a new server was lost at once.
    pub fn spawn(&self, launch: &Launch<'_>) -> Result<Tree, SpawnError> {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        match server.as_ref().map(|server| server.spawn(launch)) {
            None | Some(Err(SpawnError::Lost)) => {
                server.insert(ForkServer::start(self.processes)?).spawn(launch)
            }
            Some(answer @ (Ok(_) | Err(SpawnError::Nul | SpawnError::Refused(_)))) => answer,
        }
    }

    /// What holds the processes: see [`ForkServer::layers`]. Empty before the first command.
    pub fn layers(&self) -> Vec<&'static str> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map(ForkServer::layers).unwrap_or_default()
    }

    /// Ends everything that was started, and waits for that up to two seconds. The next command gets a new server.
    pub fn end(&self) {
        drop(self.server.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
