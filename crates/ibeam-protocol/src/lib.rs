//! The vocabulary of ibeam: what every other room speaks.
//!
//! Facts (`event`), what the model sees and says (`message`), tool calls and their outcomes (`tool`), the
//! closed list of reasons for which a run can fail (`failure`) and of what people are told on the way
//! (`notice`). Plain data with serde; refuses I/O, async, formats and words in any human language.

pub mod elision;
pub mod event;
pub mod event_order;
pub mod failure;
pub mod id;
pub mod invisible;
pub mod message;
pub mod notice;
pub mod path_text;
pub mod run;
pub mod tool;
pub mod tool_output;
pub mod usage;

pub use elision::{Elision, elide_end};
pub use event::{
    Compacted, Event, EventKind, PermissionDecided, RunFinished, SessionStarted, ShortenedResults,
};
pub use event_order::{EventOrder, EventPosition};
pub use failure::{Failure, FailureCode, Reason, Signal, UnusedKey};
pub use id::{CallId, ModelCallId, SessionId};
pub use invisible::{escape_invisible, escape_invisible_in_json, escape_to_one_line};
pub use message::{Answer, Block, Message, Provenance, StopReason, ToolResult};
pub use notice::Notice;
pub use run::{
    KeySource, LimitKind, Limits, McpServer, McpStatus, ModelInfo, PermissionMode, RunOutcome, RunTotals,
    Sandbox, SandboxMode,
};
pub use tool::{ToolCall, ToolFailure, ToolOutcome, ToolSpec};
pub use tool_output::ToolOutput;
pub use usage::Usage;
