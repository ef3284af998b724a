//! Notifications about the progress of a call.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

/// Reports the progress of one call, if its client asked for it.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Reporter>>);

struct Reporter {
    token: Value,
    count: AtomicU64,
    send: Box<dyn Fn(Value) + Send + Sync>,
}

impl Progress {
    /// Returns the progress of a call with these parameters. `send` receives the parameters of each notification and
    /// must not wait.
    pub(crate) fn for_call(
        params: &Map<String, Value>,
        send: impl Fn(Value) + Send + Sync + 'static,
    ) -> Self {
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
        let token = token.filter(|token| token.is_string() || token.is_number());
        Self(token.map(|token| {
            Arc::new(Reporter { token: token.clone(), count: AtomicU64::new(0), send: Box::new(send) })
        }))
    }

    /// Reports a step. The report is lost if the client does not read.
    pub fn report(&self, message: &str) {
        let Some(reporter) = &self.0 else { return };
        let count = reporter.count.fetch_add(1, Ordering::Relaxed) + 1;
        (reporter.send)(json!({ "progressToken": reporter.token, "progress": count, "message": message }));
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Progress").field(&self.0.as_ref().map(|reporter| &reporter.token)).finish()
    }
}
