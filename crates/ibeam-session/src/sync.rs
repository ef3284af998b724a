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
const MAX_QUEUED_STEPS: usize = 64;

/// One thing that must be on the disk.
#[derive(Clone, Debug)]
pub(crate) enum SyncStep {
    /// The content of a file.
    FileData(Arc<File>),
    /// The entries of a directory.
    DirectoryEntries(PathBuf),
}

impl SyncStep {
    fn has_same_target(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::FileData(one), Self::FileData(other)) => Arc::ptr_eq(one, other),
            (Self::DirectoryEntries(one), Self::DirectoryEntries(other)) => one == other,
            (Self::FileData(_), Self::DirectoryEntries(_))
            | (Self::DirectoryEntries(_), Self::FileData(_)) => false,
        }
    }

    fn run(&self) -> io::Result<()> {
        match self {
            Self::FileData(file) => file.sync_data(),
            Self::DirectoryEntries(directory) => sync_entries(directory),
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
    queue: VecDeque<SyncStep>,
    is_busy: bool,
    /// The system's number of the first failure.
    first_error: Option<Option<i32>>,
    is_closing: bool,
}

impl State {
    fn check(&self) -> io::Result<()> {
        match self.first_error {
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
    pub(crate) fn submit(&mut self, steps: Vec<SyncStep>) -> io::Result<()> {
        if !self.started {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name("journal-sync".to_owned()).spawn(move || shared.work())?;
            self.started = true;
        }
        let mut state = self.shared.lock();
        while state.queue.len() > MAX_QUEUED_STEPS {
            state = self.shared.wait(state);
        }
        for step in steps {
            state.queue.retain(|queued| !queued.has_same_target(&step));
            state.queue.push_back(step);
        }
        self.shared.changed.notify_all();
        state.check()
    }

    /// Waits until all that was handed over is on the disk.
    ///
    /// # Errors
    /// The first failure of any step so far.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        while state.is_busy || !state.queue.is_empty() {
            state = self.shared.wait(state);
        }
        state.check()
    }

    /// The first failure so far, without waiting.
    ///
    /// # Errors
    /// That failure.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.shared.lock().check()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
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
            if state.queue.is_empty() {
                if state.is_closing {
                    return;
                }
                state = self.wait(state);
                continue;
            }
            let steps = std::mem::take(&mut state.queue);
            state.is_busy = true;
            drop(state);
            self.changed.notify_all();
            let failed = steps.iter().find_map(|step| step.run().err());
            state = self.lock();
            state.is_busy = false;
            if let Some(error) = failed {
                state.first_error.get_or_insert(error.raw_os_error());
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
    fn failing() -> SyncStep {
        let (reader, _) = io::pipe().unwrap();
        SyncStep::FileData(Arc::new(File::from(OwnedFd::from(reader))))
    }

    #[test]
    fn f135_a_failure_stands_although_later_steps_go_well() {
        let home = tempfile::tempdir().unwrap();
        let good = || SyncStep::DirectoryEntries(home.path().to_owned());
        let mut syncer = Syncer::default();
        syncer.submit(vec![good()]).unwrap();
        syncer.wait().unwrap();
        syncer.submit(vec![good(), failing()]).unwrap();
        let told = syncer.wait().unwrap_err();
        assert_eq!(told.kind(), ErrorKind::InvalidInput);
        assert!(syncer.submit(vec![good()]).is_err());
        assert!(syncer.wait().is_err() && syncer.check().is_err());
    }

    #[test]
    fn a_directory_that_is_gone_is_a_failure() {
        let mut syncer = Syncer::default();
        let gone = tempfile::tempdir().unwrap().path().join("gone");
        drop(syncer.submit(vec![SyncStep::DirectoryEntries(gone)]));
        assert_eq!(syncer.wait().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_waits_already_waits_once_at_its_last_place() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let (one, other) = (SyncStep::FileData(Arc::clone(&file)), SyncStep::DirectoryEntries("/".into()));
        assert!(
            one.has_same_target(&SyncStep::FileData(file))
                && !one.has_same_target(&other)
                && other.has_same_target(&other)
        );
        let mut syncer = Syncer::default();
        // No thread takes them.
        syncer.started = true;
        syncer.submit(vec![one.clone(), other.clone()]).unwrap();
        syncer.submit(vec![one.clone()]).unwrap();
        let waiting = std::mem::take(&mut syncer.shared.lock().queue);
        assert_eq!(waiting.len(), 2);
        assert!(waiting[0].has_same_target(&other) && waiting[1].has_same_target(&one));
    }
}
