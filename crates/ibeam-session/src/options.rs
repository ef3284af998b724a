//! Options of an open session: durability, waiting time for the lease, file sizes, cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::SessionError;

/// The durability of flushed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Records are written to the file system and survive the end of the process. Syncs start at each checkpoint and
    /// are awaited at the end of the run.
    #[default]
    Written,
    /// Records are synced to the disk and survive a power cut.
    Synced,
}

/// Cancels the opening of a session from another thread, both the wait for its lease and the reading of its records.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels the opening.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Checks that the opening was not cancelled.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn check(&self) -> Result<(), SessionError> {
        if self.0.load(Ordering::Relaxed) { Err(SessionError::Cancelled) } else { Ok(()) }
    }
}

/// Options of an open session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The durability of flushed records.
    pub durability: Durability,
    /// The longest wait for a lease that another process holds; zero fails at once.
    pub wait: Duration,
    /// Length at which a segment is closed and the next one is created.
    pub segment_bytes: u64,
    /// Bytes that are allocated after the end of the journal, so that the last records of a run still fit when another
    /// program fills the disk. Extended when half of them are used. Must hold the largest record twice.
    pub reserve_bytes: u64,
    /// Cancels the opening.
    pub cancel: CancelFlag,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            wait: Duration::ZERO,
            segment_bytes: 64 << 20,
            reserve_bytes: 2 << 20,
            cancel: CancelFlag::default(),
        }
    }
}
