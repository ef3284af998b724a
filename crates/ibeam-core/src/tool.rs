//! The port to tools.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::{Notice, ToolCall, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::stop::Stop;

/// Something the model can call. No permission code lives inside: the gate has spoken before `run`.
pub trait Tool: Send + Sync {
    /// How it is offered to the model.
    fn spec(&self) -> ToolSpec;

    /// The arguments under the names and in the shapes of contract section 4 (`args`), without `toolCallId`.
    ///
    /// # Errors
    /// One sentence for the model: what is missing or wrong, and how it should look.
    fn canonical(&self, arguments: &Value) -> Result<Value, String>;

    /// What the call is about to touch. `arguments` are canonical.
    fn access(&self, arguments: &Value) -> Access;

    /// What is there now, cheaply looked at, of a call that was started and never finished: evidence of its effect.
    ///
    /// One sentence for the model; `None` when nothing can be told. Blocks for some milliseconds at the most.
    fn evidence(&self, call: &ToolCall) -> Option<String> {
        let _ = call;
        None
    }

    /// Does it. `call.arguments` are canonical.
    ///
    /// Dropping the future ends everything it started. When `context.stop` is requested it ends what it
    /// started within two seconds and returns what it has.
    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, ToolOutcome>;
}

/// What a running call may use of the run.
#[derive(Clone)]
pub struct ToolContext {
    /// Asks the call to end early.
    pub stop: Stop,
    /// The longest that reading, writing and searching files may take.
    pub file_timeout: Duration,
    /// What the call has to tell people.
    pub notices: Notices,
}

impl ToolContext {
    /// Returns the context of a call without notices.
    pub fn new(stop: Stop, file_time: Duration) -> Self {
        Self { stop, file_timeout: file_time, notices: Notices::default() }
    }
}

/// Notices of calls, which are recorded when a call has ended. Clones share one list.
#[derive(Clone, Default)]
pub struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    /// Adds a notice.
    pub fn add(&self, notice: Notice) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Removes all notices and returns them.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The tools of a run by name; their order is the order in which they are offered.
pub type ToolSet = BTreeMap<String, Arc<dyn Tool>>;
