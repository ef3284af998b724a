//! A thread that syncs files and directories, so that the run does not wait for the disk.
//!
//! Steps run in the order of their submission. Steps that are submitted while the thread is busy run as one batch. The
//! first failure is reported by all later calls: after a failed sync the system may drop data and report success.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Queued steps above which `submit` blocks, because each step may hold a descriptor.
const MAX_QUEUED_STEPS: usize = 64;

/// One file or directory to sync.
#[derive(Clone, Debug)]
pub(crate) enum SyncStep {
    FileData(Arc<File>),
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

pub(crate) fn sync_entries(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        // Some file systems cannot sync a directory and offer no alternative.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// A queue of steps, with the thread that runs them.
#[derive(Debug, Default)]
pub(crate) struct Syncer {
    shared: Arc<SharedQueue>,
    /// Whether the thread was started.
    is_started: bool,
}

/// The state that the owner of a `Syncer` and its thread share.
#[derive(Debug, Default)]
struct SharedQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

/// The queue of the thread and its progress.
#[derive(Debug, Default)]
struct QueueState {
    queue: VecDeque<SyncStep>,
    /// Whether the thread runs a batch of steps.
    is_busy: bool,
    /// The first failure, with its error number if it has one.
    first_error: Option<Option<i32>>,
    /// Whether the `Syncer` was dropped: the thread ends when the queue is empty.
    is_closing: bool,
}

impl QueueState {
    fn check(&self) -> io::Result<()> {
        match self.first_error {
            None => Ok(()),
            Some(Some(number)) => Err(io::Error::from_raw_os_error(number)),
            Some(None) => Err(io::Error::other("the disk reported an error")),
        }
    }
}

impl Syncer {
    /// Queues `steps` in this order. A step that is queued already moves to the end. Blocks while the queue is full.
    ///
    /// # Errors
    /// The first failure of any step so far, or that the thread cannot be started.
    pub(crate) fn submit(&mut self, steps: Vec<SyncStep>) -> io::Result<()> {
        if !self.is_started {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name("journal-sync".to_owned()).spawn(move || shared.work())?;
            self.is_started = true;
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

    /// Waits until all submitted steps have run.
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

    /// Checks that no step has failed so far. Does not wait for queued steps.
    ///
    /// # Errors
    /// The first failure.
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

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, QueueState>) -> MutexGuard<'a, QueueState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the steps in the queue until the `Syncer` is dropped.
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

    /// A step that fails: a pipe cannot be synced.
    fn failing() -> SyncStep {
        let (reader, _) = io::pipe().unwrap();
        SyncStep::FileData(Arc::new(File::from(OwnedFd::from(reader))))
    }

    #[test]
    fn f135_a_failed_sync_is_reported_although_later_ones_succeed() {
        let home = tempfile::tempdir().unwrap();
        let good = || SyncStep::DirectoryEntries(home.path().to_owned());
        let mut syncer = Syncer::default();
        syncer.submit(vec![good()]).unwrap();
        syncer.wait().unwrap();
        syncer.submit(vec![good(), failing()]).unwrap();
        let error = syncer.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(syncer.submit(vec![good()]).is_err());
        assert!(syncer.wait().is_err() && syncer.check().is_err());
    }

    #[test]
    fn a_missing_directory_is_a_failure() {
        let mut syncer = Syncer::default();
        let gone = tempfile::tempdir().unwrap().path().join("gone");
        drop(syncer.submit(vec![SyncStep::DirectoryEntries(gone)]));
        assert_eq!(syncer.wait().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_queued_step_moves_to_the_end_when_it_is_submitted_again() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let (one, other) = (SyncStep::FileData(Arc::clone(&file)), SyncStep::DirectoryEntries("/".into()));
        assert!(
            one.has_same_target(&SyncStep::FileData(file))
                && !one.has_same_target(&other)
                && other.has_same_target(&other)
        );
        let mut syncer = Syncer::default();
        // No thread is started, so the steps stay queued.
        syncer.is_started = true;
        syncer.submit(vec![one.clone(), other.clone()]).unwrap();
        syncer.submit(vec![one.clone()]).unwrap();
        let queue = std::mem::take(&mut syncer.shared.lock().queue);
        assert_eq!(queue.len(), 2);
        assert!(queue[0].has_same_target(&other) && queue[1].has_same_target(&one));
    }
}
