//! The events of a run: everything that happens in it, as facts in the past tense.
//!
//! Invariants: an end event repeats the content of its begin event. The first event is `RunStarted`, the last is
//! `RunFinished`, once each, on failure and cancellation too. The enum is closed and matched without `_`. Other
//! programs do not parse these types: they parse the output format of the contract (crate `ibeam-wire`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::{Failure, Reason};
use crate::id::{CallId, ModelCallId, SessionId};
use crate::media::Attachment;
use crate::message::Answer;
use crate::notice::Notice;
use crate::prompt::PromptRecord;
use crate::run::{
    ClassCosts, FailedUsage, KeySource, Limits, McpServer, ModelInfo, PermissionMode, RunOutcome, RunTotals,
    Sandbox, Usage,
};
use crate::sentence::Sentence;
use crate::tool::{ToolCall, ToolOutcome};

/// A numbered, dated fact of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the session, from 0, without gaps.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The fact.
    pub kind: EventKind,
}

/// The facts of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run began. Session files keep the name that the event had first.
    #[serde(rename = "session_started")]
    RunStarted(Box<RunStarted>),
    /// The text before the conversation and the tools, as the requests from here on contain them. Recorded before the
    /// first request, after a compaction, and when they have changed.
    PromptRecorded(Box<PromptRecord>),
    /// The user submitted a prompt, followed by piped context if there is any.
    UserMessage {
        /// Text blocks, verbatim.
        content: Vec<String>,
        /// The files that the user attached.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// The user submitted a prompt that is not part of the conversation: a hook blocked it, or the run was stopped before
    /// all hooks had checked it.
    PromptWithheld {
        /// Text blocks, verbatim.
        content: Vec<String>,
    },
    /// The model received rules for files that it had just used.
    RulesAdded {
        /// The files of the rules.
        files: Vec<String>,
        /// The text for the model.
        text: String,
    },
    /// The model received a message of a hook: context after a call, or what continues a run whose answer is complete.
    HookMessage {
        /// The text for the model.
        text: String,
    },
    /// A model answered a hook, or failed to. The conversation does not contain the request.
    HookRequestFinished(Box<HookRequest>),
    /// The model wrote visible text. It is never repeated and never withdrawn.
    TextDelta {
        /// The fragment.
        text: String,
    },
    /// The model wrote reasoning.
    ThinkingDelta {
        /// The fragment.
        text: String,
    },
    /// The answer of the model is complete.
    ModelRequestFinished {
        /// The id of the request, which its calls have too.
        model_call_id: ModelCallId,
        /// The complete answer.
        answer: Box<Answer>,
        /// The time from the request to the end of the answer, in milliseconds.
        api_ms: u64,
        /// The cost in millionths of a US dollar, if the price is known.
        #[serde(default)]
        cost_micros: Option<u64>,
        /// The cost of each class of tokens, if the price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        costs: Option<ClassCosts>,
        /// The fingerprint of everything that was before the answer in its request; only if the answer has thinking that
        /// its model binds to that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<u64>,
    },
    /// A model request gave no usable answer, and it is not retried.
    ModelRequestFailed {
        /// The reason of the failure.
        reason: Box<Reason>,
        /// The tokens, if the provider reported any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Box<FailedUsage>>,
    },
    /// The permission check decided on a call.
    PermissionDecided(PermissionDecided),
    /// A call is about to be decided on; it may still be refused.
    ToolCallStarted {
        /// The request whose answer contains the call.
        model_call_id: ModelCallId,
        /// The call with canonical arguments.
        call: ToolCall,
    },
    /// A call finished. Every started call finishes exactly once.
    ToolCallFinished {
        /// The request whose answer contains the call.
        model_call_id: ModelCallId,
        /// The call as it started.
        call: ToolCall,
        /// The outcome.
        outcome: Box<ToolOutcome>,
    },
    /// A model request failed before its first text and is retried after a delay.
    Retrying {
        /// The number of the failed attempt, from 1.
        attempt: u32,
        /// The delay, in milliseconds.
        delay_ms: u64,
        /// The reason of the failure.
        reason: Reason,
        /// The tokens of the failed attempt, if the provider reported any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Box<FailedUsage>>,
    },
    /// A killed run had started this call and not finished it. The resuming run looked for its effects.
    CallInterrupted {
        /// The call.
        call_id: CallId,
        /// The effects found, as a sentence for the model.
        evidence: String,
    },
    /// The conversation had become too long for the model and was shortened.
    Compacted(Box<Compacted>),
    /// Thinking is no longer sent back to the model: the service would refuse it, or has refused it. That is final.
    ThinkingOmitted {
        /// The number of messages, from the oldest, whose thinking is left out.
        messages: usize,
    },
    /// Parts of requests are no longer sent to the model: its service has refused them, or would refuse them. That is final.
    PartsOmitted(OmittedParts),
    /// The files of the workspace were saved. Those before and after an undo are recorded between two runs.
    CheckpointTaken(Checkpoint),
    /// A notice for people; some are for the model too.
    Notice(Notice),
    /// The run ended: the last event.
    RunFinished(Box<RunFinished>),
}

impl EventKind {
    /// Whether this is a fragment of text or reasoning. The finished request has all of them.
    pub fn is_delta(&self) -> bool {
        matches!(self, Self::TextDelta { .. } | Self::ThinkingDelta { .. })
    }
}

/// The settings with which a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The session.
    pub session_id: SessionId,
    /// Absolute working directory: the workspace.
    #[serde(serialize_with = "crate::path_text::serialize_path")]
    pub cwd: PathBuf,
    /// The model.
    pub model: ModelInfo,
    /// The source of the API key.
    pub key_source: KeySource,
    /// The actions that the run may take without approval.
    pub permission_mode: PermissionMode,
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// The MCP servers that are configured.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// The confinement of commands.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// The version of the program.
    pub version: String,
    /// The limits of the run.
    pub limits: Limits,
    /// Whether the session existed before this run.
    pub resumed: bool,
    /// Whether the run goes on where the run before it was parked or killed, without a prompt. Its totals include those
    /// of that run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// The number of the run among those of its process, from 1, if its prompt is a message on stdin; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub message_turn: u64,
    /// The number of places where the journal of the resumed session lacks, repeats or moves events.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journal_gaps: u64,
    /// Whether the run keeps no session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
    /// The session of the run whose sub-agent this run is; `None` for any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The environment at the start of the session; `None` in sessions of earlier versions. Later runs repeat it, so that
    /// their system prompt is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
}

/// The parts of the system prompt that change by themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The date, `YYYY-MM-DD`.
    pub date: String,
    /// The branch or the commit of the git repository, as the system prompt states it; empty without one.
    pub git_head: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A decision of the permission check on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionDecided {
    /// The call.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: String,
    /// Whether the call may run.
    pub allowed: bool,
    /// The rule that decided, e.g. `Shell(ls)`, `--force`, `workspace`, `default`.
    pub rule: String,
    /// The reason of a refusal, for people; `None` if the call was allowed.
    #[serde(default)]
    pub reason: Option<Sentence>,
}

/// A conversation that was shortened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The number of messages, from the oldest, that the summary replaced; 0 if there is no summary.
    pub replaced: usize,
    /// The text that replaced them.
    pub summary: String,
    /// The estimated tokens of the next request before the conversation was shortened.
    pub before_tokens: u64,
    /// The estimated tokens of the next request after the conversation was shortened.
    pub after_tokens: u64,
    /// The tokens used for the summary.
    pub usage: Option<Usage>,
    /// The time used for the summary, in milliseconds.
    pub api_ms: u64,
    /// The cost of the summary in millionths of a US dollar, if the price is known.
    pub cost_micros: Option<u64>,
    /// The cost of each class of tokens of the summary, if the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<ClassCosts>,
    /// The tool results that were shortened after the summary, in this order.
    #[serde(default)]
    pub shortened_results: Vec<ShortenedResults>,
}

/// Parts that requests no longer contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OmittedParts {
    /// The names of the tools that are not offered any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The fingerprints of the images and documents in whose place the model receives a line of text, wherever they are in
    /// the conversation and whenever they come again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<u64>,
}

/// A request of a hook to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRequest {
    /// The model, as `PROVIDER/ID`.
    pub model: String,
    /// The tokens, if the provider reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The cost of each class of tokens, if the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<ClassCosts>,
    /// The time from the request to its end, in milliseconds.
    pub api_ms: u64,
    /// Whether the request failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_failed: bool,
}

/// Tool results that were shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortenedResults {
    /// The number of messages, from the oldest, whose results were shortened.
    pub messages: usize,
    /// The number of bytes that each result retains, from its beginning and its end.
    pub bytes: usize,
}

/// The saved files of a workspace: a commit in its repository, which no branch contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The moment at which the files were saved.
    pub moment: CheckpointMoment,
    /// The hash of the commit.
    pub commit: String,
    /// The files that were not saved, relative to the work tree, with `/` between names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The moment at which files are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointMoment {
    /// Before the first change of a turn.
    TurnStart,
    /// At the end of a turn that may have changed files.
    TurnEnd,
    /// Before an undo.
    UndoStart {
        /// The turn before which the undo restores the files; `None` if it takes back the last undo.
        turn: Option<u32>,
    },
    /// After an undo.
    UndoEnd,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// The session.
    pub session_id: SessionId,
    /// Success or failure.
    pub outcome: RunOutcome,
    /// The time from `RunStarted` to this event, in milliseconds.
    pub duration_ms: u64,
    /// The totals of the run.
    pub totals: RunTotals,
    /// The visible text of a failed run until the failure; `None` if the run succeeded or produced no text.
    #[serde(default)]
    pub partial: Option<String>,
    /// The answer as a value, if a schema was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether the run kept no session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
}

impl RunFinished {
    /// Returns the failure, if the run failed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            RunOutcome::Completed => None,
            RunOutcome::Failed(failure) => Some(failure),
        }
    }
}
