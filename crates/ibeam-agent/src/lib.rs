//! ibeam as a library: everything except the command line.
//!
//! An [`Agent`] opens a [`Session`] on a thread of its own. Each prompt is a [`Turn`]: an iterator of [`Event`]s, which the
//! journal stores too. They are not the format that the program prints, and may change in each release; match them with `_`.
//! Configuration, keys, trust and sessions are those of the user, so a session may begin in the program and continue here.
//!
//! ```no_run
#![doc = include_str!("../examples/quickstart.rs")]
//! ```
//!
//! [`RunOptions`] mirrors the flags of the command line. [`HostTool`] adds a tool of the embedding program. The sandbox needs
//! Linux; the feature `embedded` adds the engine of the embedded model.

// The hidden modules serve ibeam's own front ends and may change in any release.

mod agent;
#[doc(hidden)]
pub mod app;
#[doc(hidden)]
pub mod checkpoint;
#[doc(hidden)]
pub mod claude_call_form;
#[doc(hidden)]
pub mod claude_tools;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod debug_log;
#[doc(hidden)]
pub mod environment;
mod frontmatter;
#[doc(hidden)]
pub mod git;
#[doc(hidden)]
pub mod helper_process;
#[doc(hidden)]
pub mod hooks;
mod host_tool;
#[doc(hidden)]
pub mod instructions;
#[doc(hidden)]
pub mod key_check;
#[doc(hidden)]
pub mod mcp;
#[doc(hidden)]
pub mod message_queue;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod model_installation;
#[doc(hidden)]
pub mod option_checks;
#[doc(hidden)]
pub mod otel;
#[doc(hidden)]
pub mod printer;
#[doc(hidden)]
pub mod process_end;
#[doc(hidden)]
pub mod programs;
#[doc(hidden)]
pub mod progress_line;
#[doc(hidden)]
pub mod project_entries;
#[doc(hidden)]
pub mod prompt;
#[doc(hidden)]
pub mod pump;
#[doc(hidden)]
pub mod reports;
mod resource_exhaustion;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod run_error;
#[doc(hidden)]
pub mod run_options;
mod search_config;
#[doc(hidden)]
pub mod session_name;
#[doc(hidden)]
pub mod session_observer;
#[doc(hidden)]
pub mod session_texts;
#[doc(hidden)]
pub mod signals;
#[doc(hidden)]
pub mod similar_names;
#[doc(hidden)]
pub mod skills;
#[doc(hidden)]
pub mod slash_commands;
#[doc(hidden)]
pub mod stderr;
mod stderr_notices;
#[doc(hidden)]
pub mod stdout;
#[doc(hidden)]
pub mod system_prompt;
#[doc(hidden)]
pub mod text_sources;
mod time_zone;
#[doc(hidden)]
pub mod worktree;

pub use self::agent::{Agent, Canceller, FinalAnswer, Session, Turn};
pub use self::host_tool::HostTool;
pub use self::run::session_opener::SessionTarget;
pub use self::run_error::RunError;
pub use self::run_options::{RunOptions, WorkMode};
pub use ibeam_core::{Access, Approval, FailOn, PreparedCall, Tool, ToolContext, ToolInputError};
pub use ibeam_protocol::{
    Answer, Block, Event, EventKind, Failure, FailureCode, Notice, Reason, RunFinished, RunOutcome,
    RunTotals, SessionId, ToolCall, ToolFailure, ToolOutcome, ToolOutput, ToolSpec,
};
