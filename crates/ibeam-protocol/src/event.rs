//! The one `Event`: everything that happens in a run, as facts in the past tense.
//!
//! Laws: an end event says again what its begin event said; the first is `SessionStarted`, the last
//! `RunFinished`, once each, on failure and cancellation too; the enum is closed and matched without `_`.
//! What programs parse is not this but the wire types of `ibeam-output`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Reason};
use crate::id::{CallId, ModelCallId, SessionId};
use crate::message::Answer;
use crate::notice::Notice;
use crate::run::{KeySource, Limits, McpServer, ModelInfo, PermissionMode, RunOutcome, RunTotals, Sandbox};
use crate::tool::{ToolCall, ToolOutcome};
use crate::usage::Usage;

/// A numbered, dated fact of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the session, from 0, without gaps.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run began on this session.
    SessionStarted(Box<SessionStarted>),
    /// The user said something: the prompt, then piped context where there is any.
    UserMessage {
        /// Text blocks, verbatim.
        content: Vec<String>,
    },
    /// The user said something that is no part of the conversation: a hook refused it, or the run was stopped
    /// before all hooks had judged it.
    PromptWithheld {
        /// Text blocks, verbatim.
        content: Vec<String>,
    },
    /// The model wrote visible text: never repeated, never retracted.
    TextDelta {
        /// The fragment.
        text: String,
    },
    /// The model wrote reasoning.
    ThinkingDelta {
        /// The fragment.
        text: String,
    },
    /// The model's answer is complete.
    ModelRequestFinished {
        /// The request; its calls carry the same id.
        model_call_id: ModelCallId,
        /// The whole answer.
        answer: Box<Answer>,
        /// From the request to the end of the answer, in milliseconds.
        api_ms: u64,
        /// What it cost, in millionths of a US dollar, where the price is known.
        #[serde(default)]
        cost_micros: Option<u64>,
    },
    /// The gate decided about a call.
    PermissionDecided(PermissionDecided),
    /// A call began.
    ToolCallStarted {
        /// The request that asked for it.
        model_call_id: ModelCallId,
        /// The call, its arguments in canonical names.
        call: ToolCall,
    },
    /// A call ended; every started call ends exactly once.
    ToolCallFinished {
        /// The request that asked for it.
        model_call_id: ModelCallId,
        /// The call as it started.
        call: ToolCall,
        /// How it ended.
        outcome: ToolOutcome,
    },
    /// A model request failed before its first text and is repeated after a pause.
    Retrying {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The pause, in milliseconds.
        delay_ms: u64,
        /// Why it failed.
        reason: Reason,
    },
    /// A killed run had started this call and not finished it; whoever resumes looked at what is there now.
    CallInterrupted {
        /// The call.
        call_id: CallId,
        /// What was found, in the model's words.
        evidence: String,
    },
    /// The conversation had become too long for the model: its oldest part gave way to a summary.
    Compacted(Box<Compacted>),
    /// Something people should know; some notices the model is told too.
    Notice(Notice),
    /// The run ended: the last event.
    RunFinished(Box<RunFinished>),
}

/// The head of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The session.
    pub session_id: SessionId,
    /// Absolute working directory: the workspace.
    #[serde(serialize_with = "crate::path_text::one")]
    pub cwd: PathBuf,
    /// The model.
    pub model: ModelInfo,
    /// Where its key came from.
    pub key_source: KeySource,
    /// What may be done without asking.
    pub permission_mode: PermissionMode,
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// The MCP servers that are configured.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// What confines commands.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// The version of the program.
    pub version: String,
    /// The bounds.
    pub limits: Limits,
    /// The session existed before this run.
    pub resumed: bool,
    /// The number of places where the journal of the resumed session lacks, repeats or moves events.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journal_gaps: u64,
    /// Whether the run keeps no session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A decision of the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionDecided {
    /// The call decided on.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The decision.
    pub allowed: bool,
    /// The rule that decided, e.g. `Shell(ls)`, `--force`, `workspace`, `default`.
    pub rule: String,
    /// Why the call was refused, for people, in English; `None` where it was allowed.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A conversation made shorter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// How many messages, from the oldest, gave way to the summary; 0 where there is no summary.
    pub replaced: usize,
    /// The text that stands in their place.
    pub summary: String,
    /// Tokens of the next request before, as far as they can be told.
    pub before_tokens: u64,
    /// The same after.
    pub after_tokens: u64,
    /// Tokens that the summary itself took.
    pub usage: Option<Usage>,
    /// Time that the summary took, in milliseconds.
    pub api_ms: u64,
    /// What the summary cost, in millionths of a US dollar, where the price is known.
    pub cost_micros: Option<u64>,
    /// The results of tools that were shortened after that, in this order.
    #[serde(default)]
    pub shortened_results: Vec<ShortenedResults>,
}

/// Results of tools that were too long for the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortenedResults {
    /// The results in so many messages, from the oldest.
    pub messages: usize,
    /// The bytes that each of them keeps, from its beginning and its end.
    pub bytes: usize,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// The session, repeated for consumers that join late.
    pub session_id: SessionId,
    /// Success or the failure.
    pub outcome: RunOutcome,
    /// From `SessionStarted` to here, in milliseconds.
    pub duration_ms: u64,
    /// The sums.
    pub totals: RunTotals,
    /// The visible text of a run that failed, as far as it came; `None` when it succeeded or said nothing.
    #[serde(default)]
    pub partial: Option<String>,
    /// Whether the run kept no session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
}

impl RunFinished {
    /// The failure, where there is one.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            RunOutcome::Completed => None,
            RunOutcome::Failed(failure) => Some(failure),
        }
    }
}
