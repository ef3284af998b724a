//! The ports of tools: a tool, its checked call, and what a call may use.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::{CallId, Notice, Sentence, ToolOutcome, ToolSpec, sentence};
use serde_json::Value;

use crate::budget::Budget;
use crate::stop::Stop;

/// A tool that the model can call.
///
/// A tool holds no permission code: [`crate::gate::Gate`] decides on [`PreparedCall::access`] before the call runs.
pub trait Tool: Send + Sync {
    /// Returns the name, description and parameter schema that are offered to the model.
    fn spec(&self) -> ToolSpec;

    /// Parses the arguments that a model or a hook wrote, and determines what the call will access.
    ///
    /// Changes nothing and remembers nothing, so a prepared call may be dropped. May block for about a second where a
    /// file system does not respond.
    ///
    /// # Errors
    /// The arguments are incomplete or wrong.
    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError>;

    /// Returns what a prepared call would do now, without doing it. `arguments` are canonical, and `access` is that of the
    /// prepared call.
    ///
    /// Files that the access names are read, so callers first check that they may be. Dropping the future ends the work.
    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        access: &'a Access,
        context: ToolContext,
    ) -> BoxFuture<'a, CallPreview> {
        let _ = (arguments, access, context);
        Box::pin(std::future::ready(CallPreview::Unknown))
    }

    /// Describes, in one sentence for the model, what is found now of a call that started and never finished.
    ///
    /// `arguments` are canonical. Returns `None` when nothing can be determined. Blocks for a few milliseconds at most.
    fn evidence(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Whether a call that started and never finished has certainly changed nothing so far, so that it can be executed.
    ///
    /// `arguments` are canonical. Blocks for a few milliseconds at most.
    fn has_no_effect_yet(&self, arguments: &Value) -> bool {
        let _ = arguments;
        false
    }

    /// Returns where a tool of an MCP server comes from; `None` for any other tool.
    fn origin(&self) -> Option<ToolOrigin<'_>> {
        None
    }
}

/// The MCP server of a tool, and the name that the server gives the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolOrigin<'a> {
    /// The server.
    pub server: &'a str,
    /// The tool.
    pub tool: &'a str,
}

/// The effect that a call would have now.
#[derive(Clone, Debug, PartialEq)]
pub enum CallPreview {
    /// This is not known before the call runs.
    Unknown,
    /// The call would change a file.
    Change {
        /// The unified diff; empty where the texts are not compared.
        diff: String,
    },
    /// The call would fail with this outcome and change nothing.
    Failure(ToolOutcome),
}

/// The tools of a run by name; their order is the order in which they are offered.
pub type ToolSet = BTreeMap<String, Arc<dyn Tool>>;

/// A call whose arguments were parsed. Policy decides on the same value that the call opens.
pub struct PreparedCall {
    /// The arguments as in `args` of the tool's call in `docs/output-format.md`, but without `toolCallId`.
    pub arguments: Value,
    /// The resource that the call will access.
    pub access: Access,
    /// Executes the call.
    pub run: CallRunner,
}

/// The function that executes a prepared call.
///
/// Dropping the future ends everything that the call started. When [`ToolContext::stop`] is requested, the call ends
/// what it started within two seconds and returns what it has.
pub type CallRunner = Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, ToolOutcome> + Send>;

impl PreparedCall {
    /// Returns a call that `run` executes.
    pub fn new<F>(
        arguments: Value,
        access: Access,
        run: impl FnOnce(ToolContext) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ToolOutcome> + Send + 'static,
    {
        Self { arguments, access, run: Box::new(move |context| Box::pin(run(context))) }
    }
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arguments, access, run: _ } = self;
        f.debug_struct("PreparedCall")
            .field("arguments", arguments)
            .field("access", access)
            .finish_non_exhaustive()
    }
}

/// Arguments that a tool cannot run with: one sentence for the model about what is missing or wrong, and how it should
/// look.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolInputError(pub Sentence);

impl ToolInputError {
    /// Returns the error about a call of `tool`, with an example of valid arguments.
    pub fn with_example(tool: &str, reason: impl Into<Sentence>, example: &str) -> Self {
        let reason = reason.into();
        Self(sentence!("`{tool}`: {reason}; a call looks like {example}", tool, reason, example))
    }
}

/// The parts of the run that a running call may use.
#[derive(Clone)]
pub struct ToolContext {
    /// Requests an early end of the call.
    pub stop: Stop,
    /// The longest that reading, writing and searching files may take.
    pub file_timeout: Duration,
    /// Collects the call's notices for people.
    pub notices: Notices,
    /// The budget that the sub-agents of these calls share.
    pub budget: Budget,
    /// The call; empty outside of a turn.
    pub call_id: CallId,
    /// Receives the output of commands while they run.
    pub output_observer: Option<Arc<dyn OutputObserver>>,
}

/// Receives what commands write while they run, for a person who watches.
pub trait OutputObserver: Send + Sync {
    /// Receives the next bytes of the output of a call. They are as the command wrote them, with secrets.
    fn on_output(&self, call: &CallId, bytes: &[u8]);
}

impl ToolContext {
    /// Returns the context of a call without notices.
    pub fn new(stop: Stop, file_timeout: Duration) -> Self {
        Self {
            stop,
            file_timeout,
            notices: Notices::default(),
            budget: Budget::unlimited(),
            call_id: "".into(),
            output_observer: None,
        }
    }
}

/// Notices of calls, which are recorded when a call has ended. Clones share one list.
#[derive(Clone, Debug, Default)]
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
