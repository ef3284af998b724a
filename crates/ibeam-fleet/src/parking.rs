//! The directory where the requests of a fleet wait for batches, and the sessions whose requests are sent directly.
//!
//! A run parks its requests unless its session is known to have none in a batch. So no request is sent while a batch
//! holds it, whatever was killed before.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The parking of the requests of a fleet.
#[derive(Debug)]
pub struct Parking {
    directory: PathBuf,
    /// The sessions that send their requests directly, and so do new ones; `None` while all requests are parked.
    direct: Mutex<Option<BTreeSet<String>>>,
}

impl Parking {
    /// Returns the parking of all requests in `directory`.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, direct: Mutex::default() }
    }

    /// Returns the directory of the requests.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Lets new sessions and those in `sessions` send their requests directly. None of them has a request in a batch.
    pub fn send_directly(&self, sessions: impl IntoIterator<Item = String>) {
        let mut direct = self.direct.lock().unwrap_or_else(PoisonError::into_inner);
        direct.get_or_insert_default().extend(sessions);
    }

    /// Returns the directory for the next request of a session, or of a new one; `None` if it is sent directly.
    pub(crate) fn directory_for(&self, session: Option<&str>) -> Option<&Path> {
        let direct = self.direct.lock().unwrap_or_else(PoisonError::into_inner);
        let is_direct =
            direct.as_ref().is_some_and(|direct| session.is_none_or(|session| direct.contains(session)));
        (!is_direct).then_some(&self.directory)
    }
}
