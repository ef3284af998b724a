//! Runs: the front ends, and the driver that they share.

mod acp;
mod answer_schema;
mod answered_calls;
mod attachments;
mod check_command;
mod command_work;
pub(crate) mod context_preview;
mod default_replacement;
mod early_start;
mod event_tap;
mod from_plan;
mod front_end;
mod home_workspace;
mod hook_model;
mod host_model;
mod hosted;
mod index_lock;
mod input_stream;
mod interactive;
mod last_sandbox;
mod mcp_serve;
mod message_stdio;
pub(crate) mod model_info;
pub(crate) mod policy_rules;
mod prepare;
mod print;
mod resources;
mod rule_markers;
mod run_process;
mod run_session;
pub(crate) mod sandbox;
mod session_opener;
mod shutdown;
mod subagents;
pub(crate) mod system_prompt;
mod trace_export;
mod trajectory_import;
mod turn_loop;
mod watchdog;
mod web;
mod web_search;
mod writable_dirs;

use std::io;

use ibeam_protocol::{Failure, Reason};
use tokio::runtime::Runtime;

pub(crate) use acp::serve_editor;
pub(crate) use attachments::media_from_base64;
pub(crate) use check_command::run_check;
pub(crate) use command_work::{run_command, run_git_command};
pub(crate) use from_plan::{PlanHandover, load_plan};
pub(crate) use hook_model::HookModel;
pub(crate) use hosted::run_hosted;
pub(crate) use input_stream::run_input_stream;
pub(crate) use interactive::{InteractiveStart, conversation_commands, run_interactive};
pub(crate) use mcp_serve::{McpServeOptions, serve_mcp};
pub(crate) use policy_rules::build_policy;
pub(crate) use prepare::{config_errors, permission_mode};
pub(crate) use print::{PrintInput, print};
pub(crate) use sandbox::computed_sizes;
pub(crate) use session_opener::{
    SessionTarget, damaged_session_reason, is_ephemeral, journal_write_reason, nth_newest,
    session_error_reason, session_options, session_store_reason,
};
pub(crate) use subagents::AGENT_DIRECTORIES;
pub(crate) use watchdog::StartupWatchdog;

/// Calls `work` with a new runtime and does not wait for the threads of the runtime: a thread that never returns, for
/// example from a read of a dead network share, must not delay the end of the process.
///
/// # Errors
/// The errors of `work`, and `System` if no runtime can be created.
pub(crate) fn on_runtime<T, E: From<Failure>>(work: impl FnOnce(&Runtime) -> Result<T, E>) -> Result<T, E> {
    crate::resource_exhaustion::check_descriptors(0).map_err(Failure::from)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::from(system_error("epoll", &error)))?;
    let done = work(&runtime);
    runtime.shutdown_background();
    done
}

/// Returns the failure to start a thread.
fn thread_error(error: io::Error) -> Failure {
    system_error("thread", &error).into()
}

/// Returns the reason for a failure of the system; `what` names the resource or the system call.
fn system_error(what: &str, error: &io::Error) -> Reason {
    Reason::System { what: what.to_owned(), detail: error.to_string() }
}
