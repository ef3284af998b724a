//! The coding agent ibeam as a library: runs with their settings, models, tools, policy, sandbox and sessions, without a
//! command line.
//!
//! An [`Agent`] opens a [`Session`] on a thread of its own. Each prompt is a [`Turn`]: an iterator of [`Event`]s, the same
//! that the program prints and stores. Configuration, keys, trust and sessions are those of the user, so a session may begin
//! in the program and continue here.
//!
//! ```no_run
#![doc = include_str!("../examples/quickstart.rs")]
//! ```
//!
//! [`RunOptions`] has what the flags of the command line have. [`HostTool`] adds a tool of the embedding program. The
//! modules below are what front ends of ibeam itself are made of.

mod agent;
pub mod app;
pub mod call_form;
pub mod checkpoint;
pub mod claude_tools;
pub mod clock;
pub mod context;
pub mod debug_log;
pub mod environment;
mod frontmatter;
pub mod git;
pub mod helper_process;
pub mod hooks;
mod host_tool;
pub mod instructions;
pub mod key_check;
pub mod mcp;
pub mod message_queue;
pub mod model;
pub mod model_installation;
pub mod option_checks;
pub mod otel;
pub mod own_program;
pub mod printer;
pub mod process_end;
pub mod programs;
pub mod progress_line;
pub mod project_entries;
pub mod prompt;
pub mod pump;
mod resource_exhaustion;
pub mod run;
pub mod run_error;
pub mod run_options;
mod search_config;
pub mod session_name;
pub mod session_observer;
pub mod session_texts;
pub mod signals;
pub mod similar_names;
pub mod skills;
pub mod slash_commands;
pub mod stderr;
mod stderr_notices;
pub mod stdout;
pub mod text_sources;
mod time_zone;
pub mod worktree;

pub use self::agent::{Agent, FinalAnswer, Session, Turn};
pub use self::host_tool::HostTool;
pub use self::run::session_opener::SessionTarget;
pub use self::run_error::RunError;
pub use self::run_options::{RunOptions, WorkMode};
pub use ibeam_core::{Approval, Tool};
pub use ibeam_protocol::{Event, EventKind};
