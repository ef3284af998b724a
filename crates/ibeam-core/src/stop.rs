//! The one way to end a run from outside: a signal, the time-out, the reader gone.

use std::sync::{Arc, OnceLock};

use ibeam_protocol::Reason;
use tokio_util::sync::CancellationToken;

/// A request to stop, with its reason; the first reason stands.
#[derive(Clone, Default)]
pub struct Stop {
    token: CancellationToken,
    reason: Arc<OnceLock<Reason>>,
}

impl Stop {
    /// Asks everything to end. Later requests change nothing.
    pub fn request(&self, reason: Reason) {
        if self.reason.set(reason).is_ok() {
            self.token.cancel();
        }
    }

    /// The reason, once somebody asked.
    pub fn requested(&self) -> Option<&Reason> {
        self.reason.get()
    }

    /// Waits for a request and gives its reason. Cancel safe.
    pub async fn wait(&self) -> Reason {
        loop {
            self.token.cancelled().await;
            if let Some(reason) = self.reason.get() {
                return reason.clone();
            }
        }
    }
}
