//! The ports of hooks: the points of a run at which they run, and what they may change.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_policy::Access;
use ibeam_protocol::event::HookRequest;
use ibeam_protocol::{Answer, Notice, RunOutcome, SessionId, ToolCall, ToolOutcome};
use serde_json::Value;

use crate::gate::Refusal;

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
        Refusal { for_model: self.message.as_str().into(), for_people: for_people.into() }
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
