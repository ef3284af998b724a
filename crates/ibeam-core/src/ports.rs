//! The ports of the loop: the traits through which it reaches the model, tools, hooks, approvers, time and commands in
//! the background.
//!
//! Implementations live in other crates. A port holds no policy: the gate decides what may run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use ibeam_policy::Access;
use ibeam_protocol::event::HookRequest;
use ibeam_protocol::{
    Answer, Checkpoint, CheckpointMoment, Failure, Message, Notice, RunOutcome, SessionId, ToolCall,
    ToolOutcome, ToolSpec, Usage, UserPrompt,
};
use serde_json::Value;

use crate::budget::Budget;
use crate::gate::Refusal;
use crate::json_schema::JsonSchema;
use crate::stop::Stop;

/// One request to a model, in the order that keeps provider caches warm.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Instructions, the same for the whole session.
    pub system: Arc<str>,
    /// The tools offered, the same for the whole run.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation so far, oldest first; it only grows.
    pub messages: Vec<Arc<Message>>,
    /// The largest number of tokens to generate; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// The schema of the final answer, for services that can enforce one.
    pub answer_schema: Option<Arc<JsonSchema>>,
}

/// A part of an answer as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Visible text.
    TextDelta(String),
    /// Reasoning.
    ThinkingDelta(String),
    /// The model began to write a tool call; its arguments may still be arriving.
    ToolCallStarted,
    /// A notice for people about the connection.
    Notice(Notice),
    /// The answer is complete; the last item of a stream.
    Finished(Box<Answer>),
}

/// The events of one answer: deltas and started calls, then one `Finished` or one error, and nothing after either.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ProviderError>>;

/// A model behind an API, or in this process.
pub trait Provider: Send + Sync {
    /// Sends the request and streams the answer.
    ///
    /// Makes one attempt; the loop retries. Dropping the stream ends the request. A stream that ends without `Finished`
    /// or an error is a bug of the provider.
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream;
}

/// A failed request, classified.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderError {
    /// The failure with which the run would end.
    pub failure: Failure,
    /// Whether and how the loop may retry.
    pub retry: Retry,
    /// The tokens that the service reported for the request before it failed.
    pub usage: Option<Box<Usage>>,
    /// Whether the model cannot answer now for a reason that another model may not have: it is overloaded, or a quota of
    /// the account is exhausted.
    pub is_unavailable: bool,
}

impl ProviderError {
    /// Returns an error without token counts.
    pub fn new(failure: impl Into<Failure>, retry: Retry) -> Self {
        Self { failure: failure.into(), retry, usage: None, is_unavailable: false }
    }

    /// Returns the shortest delay that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.failure.retry_after_ms.map(Duration::from_millis)
    }
}

/// Whether and how to retry a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A retry would fail in the same way.
    Never,
    /// One immediate retry may succeed: a stale key, a stream that violates its own protocol.
    Once,
    /// The provider may be restarting: a few attempts with short delays.
    Fast,
    /// The provider is overloaded: exponential backoff.
    Backoff,
}

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
pub struct ToolInputError(pub String);

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
}

impl ToolContext {
    /// Returns the context of a call without notices.
    pub fn new(stop: Stop, file_timeout: Duration) -> Self {
        Self { stop, file_timeout, notices: Notices::default(), budget: Budget::unlimited() }
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

/// A point of a run at which hooks run.
#[derive(Clone, Copy, Debug)]
pub enum HookEvent<'a> {
    /// The run starts.
    RunStart,
    /// The user's prompt, before it becomes part of the conversation. Hooks may block it.
    PromptSubmit(&'a [String]),
    /// A call, before the gate decides on it. Hooks may block it or update its arguments.
    BeforeToolCall {
        /// The call with canonical arguments.
        call: &'a ToolCall,
        /// The resource that the call would access.
        access: &'a Access,
        /// Whether a hook has updated the arguments already; a second update is ignored.
        is_rewritten: bool,
    },
    /// A call that ended, whether it ran or not. Hooks may add context for the model.
    AfterToolCall(&'a FinishedCall),
    /// The model has answered a request; the calls of the answer have not run.
    AnswerReceived(&'a Answer),
    /// The conversation is about to be shortened.
    Compaction(CompactionStart),
    /// The answer is complete, or the run failed. Hooks may continue a run whose answer is complete.
    AnswerEnd(AnswerEnd<'a>),
    /// The answer of a sub-agent is complete, or its run failed. Hooks of the parent may continue it.
    SubagentEnd {
        /// The sub-agent.
        subagent: &'a Subagent,
        /// The end.
        end: AnswerEnd<'a>,
    },
    /// The run ends with this outcome.
    RunEnd(&'a RunOutcome),
}

/// The conversation that is about to be shortened.
#[derive(Clone, Copy, Debug)]
pub struct CompactionStart {
    /// The estimated tokens of the next request.
    pub tokens: u64,
    /// The context window of the model, if it is known.
    pub window: Option<u64>,
    /// The number of messages.
    pub messages: usize,
    /// The number of messages that a summary would replace.
    pub replaced: usize,
    /// Whether the conversation was not shortened before in this run.
    pub is_first: bool,
}

/// The end of the answer of a run.
#[derive(Clone, Copy, Debug)]
pub struct AnswerEnd<'a> {
    /// `Completed`, or the failure of the run.
    pub outcome: &'a RunOutcome,
    /// The text of the last answer; empty if the run failed.
    pub text: &'a str,
    /// The number of messages with which hooks have continued this run.
    pub follow_ups: u32,
    /// The number of tool calls of the run.
    pub tool_calls: u32,
    /// The duration of the run.
    pub duration_ms: u64,
}

/// The description of a sub-agent for hooks.
#[derive(Clone, Debug)]
pub struct Subagent {
    /// The session of the sub-agent.
    pub id: SessionId,
    /// The name of its definition.
    pub kind: String,
    /// The prompt.
    pub task: String,
    /// The ID of its model.
    pub model: String,
}

/// A tool call with its outcome.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// The call as it ran, with canonical arguments.
    pub call: ToolCall,
    /// The outcome.
    pub outcome: ToolOutcome,
    /// The time that the call ran; zero if it did not run.
    pub duration: Duration,
}

/// The joint output of all hooks that ran on an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutput {
    /// The strictest decision.
    pub decision: HookDecision,
    /// Text for the model. At `RunStart` and `PromptSubmit` it is added to the user's prompt, after a tool call it
    /// becomes a message of the user. Other events ignore it.
    pub context: Vec<String>,
    /// A message of the user that continues the run; at `AnswerEnd` and `SubagentEnd` only.
    pub follow_up: Option<String>,
    /// Notices for people.
    pub notices: Vec<Notice>,
    /// The requests of the hooks to models.
    pub requests: Vec<HookRequest>,
}

/// A decision of hooks about an event. A hook can narrow what the rules allow, and never widen it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HookDecision {
    /// The run continues.
    #[default]
    Continue,
    /// The prompt or call is blocked.
    Block(HookBlock),
    /// The call gets other arguments, which the gate then checks like any others.
    UpdateInput {
        /// The name of the hook.
        hook: String,
        /// The arguments, in any form that a model might write.
        arguments: Value,
    },
}

/// A hook's objection to a prompt or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookBlock {
    /// The name of the hook.
    pub hook: String,
    /// The reason, for the model.
    pub message: String,
    /// The reason, for people; `None` where the model's message is for both.
    pub for_people: Option<String>,
    /// Whether a person may approve the call in spite of the hook.
    pub ask: bool,
}

impl HookBlock {
    /// Returns the name under which the block is recorded as a rule.
    pub(crate) fn rule(&self) -> String {
        format!("hook: {}", self.hook)
    }

    /// Returns the refusal of the blocked call.
    pub(crate) fn refusal(&self) -> Refusal {
        let message = self.for_people.as_ref().unwrap_or(&self.message);
        let for_people = format!("the hook `{}` refused it: {message}", self.hook);
        Refusal { for_model: self.message.clone(), for_people }
    }
}

/// The user's programs that observe a run and may narrow it.
pub trait Hooks: Send + Sync {
    /// Whether any hook runs on `AfterToolCall`; only then are outcomes retained for it.
    fn wants_tool_results(&self) -> bool;

    /// Returns how long the hooks of `RunEnd` may take in a run that was stopped.
    fn grace(&self) -> Duration;

    /// Runs the hooks of an event one after another. Returns `None` when there are none.
    ///
    /// Dropping the future ends the hook that is running.
    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>>;
}

/// A run without hooks.
pub struct NoHooks;

impl Hooks for NoHooks {
    fn wants_tool_results(&self) -> bool {
        false
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn run<'a>(&'a self, _: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        None
    }
}

/// Why a person is asked to approve a call.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequest<'a> {
    /// The rule that requires approval: a token, `hook: NAME`, or the name of a built-in rule.
    pub rule: &'a str,
    /// The reason, in the words for the model.
    pub reason: &'a str,
    /// The unified diff of the file that the call would change now, if it is known.
    pub diff: Option<&'a str>,
}

/// The answer about a call that no rule decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The call may run.
    Granted,
    /// Somebody refused the call, with a message for the model or without.
    Refused(Option<String>),
    /// Nobody can be asked, or nobody answered.
    Unanswered,
}

/// Decides on calls that no rule decides.
pub trait Approver: Send + Sync {
    /// Whether a call is previewed before the question about it. A call that would fail is then not asked about: it fails.
    fn wants_preview(&self) -> bool {
        false
    }

    /// Returns the answer about the call. Dropping the future withdraws the question.
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval>;
}

/// Refuses every call at once, in a run that no person can approve.
pub struct NoApprover;

impl Approver for NoApprover {
    fn decide<'a>(
        &'a self,
        _: &'a ToolCall,
        _: &'a Access,
        _: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(Approval::Unanswered))
    }
}

/// Time as the loop sees it; tests provide their own.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since the Unix epoch, for people.
    fn unix_ms(&self) -> u64;

    /// Returns the time since a fixed point; it never goes back. Durations are measured with it.
    fn monotonic(&self) -> Duration;

    /// Completes after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Whether the clock never advances, so that two equal runs record the same events. Then nothing may depend on
    /// chance or on the speed of the machine.
    fn is_pinned(&self) -> bool {
        false
    }
}

/// The messages that the user adds to a turn while it runs.
pub trait Steering: Send + Sync {
    /// Returns the next message for the running turn; `None` if none is waiting.
    fn next_message(&self) -> Option<UserPrompt>;

    /// Returns whether the user has asked since the last call for a shorter conversation.
    fn take_compaction(&self) -> bool {
        false
    }

    /// Receives that the shorter conversation that the user asked for was not possible.
    fn on_nothing_to_compact(&self) {}
}

/// A run to which the user adds nothing after the prompt.
pub struct NoSteering;

impl Steering for NoSteering {
    fn next_message(&self) -> Option<UserPrompt> {
        None
    }
}

/// The rules for parts of the workspace. The model receives them once it has used a file there.
pub trait ScopedRules: Send + Sync {
    /// Returns the rules for these files, without those of the `known` files of rules. Returns `None` when there are
    /// none.
    fn rules_for<'a>(
        &'a self,
        paths: Vec<PathBuf>,
        known: &'a BTreeSet<String>,
    ) -> BoxFuture<'a, Option<AddedRules>>;
}

/// Rules for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedRules {
    /// The files of the rules.
    pub files: Vec<String>,
    /// The text for the model.
    pub text: String,
}

/// A run without rules for parts of the workspace.
pub struct NoScopedRules;

impl ScopedRules for NoScopedRules {
    fn rules_for<'a>(
        &'a self,
        _: Vec<PathBuf>,
        _: &'a BTreeSet<String>,
    ) -> BoxFuture<'a, Option<AddedRules>> {
        Box::pin(std::future::ready(None))
    }
}

/// Saves the files of the workspace, so that the changes of a turn can be shown and undone.
pub trait Checkpoints: Send + Sync {
    /// Saves the files at this moment of a turn, within a time limit. `unix_ms` is the time now. Returns `None` where
    /// nothing can be saved, e.g. outside of a repository.
    ///
    /// Dropping the future ends the work and changes nothing that a user sees.
    fn save(&self, moment: CheckpointMoment, unix_ms: u64) -> Option<BoxFuture<'_, SavedFiles>>;
}

/// The result of saving files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedFiles {
    /// The checkpoint; `None` if the files could not be saved.
    pub checkpoint: Option<Checkpoint>,
    /// The notices for people: why there is no checkpoint, or which files it does not contain.
    pub notices: Vec<Notice>,
}

/// A run whose changes cannot be undone.
pub struct NoCheckpoints;

impl Checkpoints for NoCheckpoints {
    fn save(&self, _: CheckpointMoment, _: u64) -> Option<BoxFuture<'_, SavedFiles>> {
        None
    }
}

/// Commands that outlive their call. A run never ends while one of them is running.
pub trait Background: Send + Sync {
    /// Returns how many commands are running.
    fn running_count(&self) -> u32;

    /// Completes when no command is running any more, and returns how many had to be stopped.
    /// With `wait` it first lets them end by themselves, within a time limit and until `stop` is requested.
    fn finish<'a>(&'a self, wait: bool, stop: &'a Stop) -> BoxFuture<'a, u32>;
}

/// A run whose tools leave no command running.
pub struct NoBackground;

impl Background for NoBackground {
    fn running_count(&self) -> u32 {
        0
    }

    fn finish<'a>(&'a self, _: bool, _: &'a Stop) -> BoxFuture<'a, u32> {
        Box::pin(std::future::ready(0))
    }
}
