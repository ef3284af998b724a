//! The one way to end a run from outside: a signal, the timeout, or a closed output.

use std::sync::{Arc, OnceLock};

use ibeam_protocol::Reason;
use tokio_util::sync::CancellationToken;

/// A request to stop with its reason. The first reason is retained. Clones share one request.
#[derive(Clone, Default)]
pub struct Stop {
    token: CancellationToken,
    reason: Arc<OnceLock<Reason>>,
}

impl Stop {
    /// Requests that everything ends. Later requests change nothing.
    pub fn request(&self, reason: Reason) {
        if self.reason.set(reason).is_ok() {
            self.token.cancel();
        }
    }

    /// Returns the reason, if a stop was requested.
    pub fn reason(&self) -> Option<&Reason> {
        self.reason.get()
    }

    /// Waits for a request and returns its reason. Cancel safe.
    pub async fn wait(&self) -> Reason {
        loop {
            self.token.cancelled().await;
            if let Some(reason) = self.reason.get() {
                return reason.clone();
            }
        }
    }
}
