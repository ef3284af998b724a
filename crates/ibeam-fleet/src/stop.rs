//! The request to end a fleet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end, shared by all its clones. It cannot be taken back.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Requests the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
