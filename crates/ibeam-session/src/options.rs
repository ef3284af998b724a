//! How a session is kept: when the disk is waited for, how long for its lease, and the sizes of its files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::SessionError;

/// What a durable point waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The system has the records: they survive the end of the process. The disk is told to store them, and is
    /// waited for at the end of the run.
    #[default]
    Written,
    /// The disk has the records: they survive a power cut.
    Synced,
}

/// Lets another thread end the opening of a session: the wait for its lease, and the reading of its records.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Ends the opening.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Checks whether the opening goes on.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn check(&self) -> Result<(), SessionError> {
        if self.0.load(Ordering::Relaxed) { Err(SessionError::Cancelled) } else { Ok(()) }
    }
}

/// How a session is kept.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// What a durable point waits for.
    pub durability: Durability,
    /// How long to wait for a lease that another process holds; zero fails at once.
    pub wait: Duration,
    /// A segment this long is closed and the next one begun.
    pub segment_bytes: u64,
    /// Bytes kept allocated ahead of the end of the journal, so that a disk which somebody else fills still
    /// takes the records of an orderly end; renewed at the half. Must hold the largest record twice.
    pub reserve_bytes: u64,
    /// Ends the opening from outside.
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
