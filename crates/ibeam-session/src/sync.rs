//! The thread that waits for the disk, so that the run need not.
//!
//! What must be on the disk is handed over in order; whatever comes while the thread is busy is done in one go
//! after it. The first failure stands: after it the system may claim success for what it has already dropped.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// More steps than this wait for the thread: each may hold a descriptor.
const WAITING_LIMIT: usize = 64;

/// One thing that must be on the disk.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The content of a file.
    Content(Arc<File>),
    /// The entries of a directory.
    Entries(PathBuf),
}

impl Step {
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Content(one), Self::Content(other)) => Arc::ptr_eq(one, other),
            (Self::Entries(one), Self::Entries(other)) => one == other,
            (Self::Content(_), Self::Entries(_)) | (Self::Entries(_), Self::Content(_)) => false,
        }
    }

    fn carry_out(&self) -> io::Result<()> {
        match self {
            Self::Content(file) => file.sync_data(),
            Self::Entries(directory) => sync_entries(directory),
        }
    }
}

/// Puts the entries of a directory on the disk.
pub(crate) fn sync_entries(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        // Some file systems do not let a directory be synced; they have no other way either.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// Steps on their way to the disk.
#[derive(Debug, Default)]
pub(crate) struct Syncer {
    shared: Arc<Shared>,
    started: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Step>,
    busy: bool,
    /// The system's number of the first failure.
    failed: Option<Option<i32>>,
    closing: bool,
}

impl State {
    fn outcome(&self) -> io::Result<()> {
        match self.failed {
            None => Ok(()),
            Some(Some(number)) => Err(io::Error::from_raw_os_error(number)),
            Some(None) => Err(io::Error::other("the disk did not take it")),
        }
    }
}

impl Syncer {
    /// Hands `steps` over, to be done in this order; a step that waits already is done once, at its last place.
    ///
    /// # Errors
    /// The first failure of any step so far; the system's, when no thread can be had.
    pub(crate) fn start(&mut self, steps: Vec<Step>) -> io::Result<()> {
        if !self.started {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name("journal-sync".to_owned()).spawn(move || shared.work())?;
            self.started = true;
        }
        let mut state = self.shared.lock();
        while state.waiting.len() > WAITING_LIMIT {
            state = self.shared.wait(state);
        }
        for step in steps {
            state.waiting.retain(|waiting| !waiting.covers(&step));
            state.waiting.push_back(step);
        }
        self.shared.changed.notify_all();
        state.outcome()
    }

    /// Waits until all that was handed over is on the disk.
    ///
    /// # Errors
    /// The first failure of any step so far.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        while state.busy || !state.waiting.is_empty() {
            state = self.shared.wait(state);
        }
        state.outcome()
    }

    /// The first failure so far, without waiting.
    ///
    /// # Errors
    /// That failure.
    pub(crate) fn outcome(&self) -> io::Result<()> {
        self.shared.lock().outcome()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                if state.closing {
                    return;
                }
                state = self.wait(state);
                continue;
            }
            let steps = std::mem::take(&mut state.waiting);
            state.busy = true;
            drop(state);
            self.changed.notify_all();
            let failed = steps.iter().find_map(|step| step.carry_out().err());
            state = self.lock();
            state.busy = false;
            if let Some(error) = failed {
                state.failed.get_or_insert(error.raw_os_error());
            }
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    /// A pipe cannot be synced; it stands for a disk that fails.
    fn failing() -> Step {
        let (reader, _) = io::pipe().unwrap();
        Step::Content(Arc::new(File::from(OwnedFd::from(reader))))
    }

    #[test]
    fn f135_a_failure_stands_although_later_steps_go_well() {
        let home = tempfile::tempdir().unwrap();
        let good = || Step::Entries(home.path().to_owned());
        let mut syncer = Syncer::default();
        syncer.start(vec![good()]).unwrap();
        syncer.wait().unwrap();
        syncer.start(vec![good(), failing()]).unwrap();
        let told = syncer.wait().unwrap_err();
        assert_eq!(told.kind(), ErrorKind::InvalidInput);
        assert!(syncer.start(vec![good()]).is_err());
        assert!(syncer.wait().is_err() && syncer.outcome().is_err());
    }

    #[test]
    fn a_directory_that_is_gone_is_a_failure() {
        let mut syncer = Syncer::default();
        let gone = tempfile::tempdir().unwrap().path().join("gone");
        drop(syncer.start(vec![Step::Entries(gone)]));
        assert_eq!(syncer.wait().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_waits_already_waits_once_at_its_last_place() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let (one, other) = (Step::Content(Arc::clone(&file)), Step::Entries("/".into()));
        assert!(one.covers(&Step::Content(file)) && !one.covers(&other) && other.covers(&other));
        let mut syncer = Syncer::default();
        // No thread takes them.
        syncer.started = true;
        syncer.start(vec![one.clone(), other.clone()]).unwrap();
        syncer.start(vec![one.clone()]).unwrap();
        let waiting = std::mem::take(&mut syncer.shared.lock().waiting);
        assert_eq!(waiting.len(), 2);
        assert!(waiting[0].covers(&other) && waiting[1].covers(&one));
    }
}
