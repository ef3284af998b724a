//! The vocabulary of ibeam, which all other crates share.
//!
//! Events (`event`), messages of the conversation (`message`), tool calls and their outcomes (`tool`), the closed lists of
//! failures of a run (`failure`) and of notices for people (`notice`). Plain data with serde. Refuses I/O, async, output
//! formats and text in any human language.
#![warn(missing_docs, reason = "every other crate uses its types")]

pub mod elision;
pub mod event;
pub mod event_order;
pub mod failure;
mod failure_code;
pub mod id;
pub mod invisible;
pub mod json;
mod json_fault;
pub mod media;
pub mod message;
pub mod notice;
pub mod path_text;
pub mod prompt;
pub mod run;
pub mod sentence;
pub mod tool;
pub mod tool_output;

pub use elision::{Elision, elide_end};
pub use event::{
    Checkpoint, CheckpointMoment, Compacted, Environment, Event, EventKind, OmittedParts, PermissionDecided,
    RunFinished, RunStarted, ShortenedResults,
};
pub use event_order::{EventOrder, EventPosition};
pub use failure::{Failure, FailureCode, Reason, RequestPart, Signal, UnusedKey};
pub use id::{CallId, ModelCallId, SessionId};
pub use invisible::{escape_invisible, escape_invisible_in_json, escape_to_one_line};
pub use json::{FromJson, JsonParser, json_error, parse_json};
pub use json_fault::json_fault;
pub use media::{AcceptedMedia, Attachment, Media, MediaType, UserPrompt};
pub use message::{
    Answer, Block, Message, OriginalBlock, RefusalDetails, RequestUpdate, StopReason, ToolResult, UserPart,
};
pub use notice::Notice;
pub use prompt::{PromptOwner, PromptPart, PromptRecord};
pub use run::{
    BackgroundEnd, ClassCosts, FailedUsage, KeySource, LimitKind, Limits, McpServer, McpStatus,
    ModelFallback, ModelInfo, ModelTotals, PermissionMode, RunOutcome, RunTotals, Sandbox, SandboxMode,
    Usage,
};
pub use sentence::Sentence;
pub use tool::{ToolCall, ToolFailure, ToolOutcome, ToolSpec};
pub use tool_output::ToolOutput;
