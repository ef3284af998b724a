//! The driver of runs, which all front ends share.

mod answer_schema;
pub mod answered_calls;
pub mod attachments;
mod command_work;
pub mod context_preview;
mod default_replacement;
mod early_start;
mod event_tap;
pub mod from_plan;
pub mod front_end;
pub mod given_instructions;
mod home_workspace;
mod hook_model;
mod index_lock;
mod last_sandbox;
pub mod policy_rules;
pub mod prepare;
pub mod resources;
mod rule_markers;
pub mod run_process;
pub mod run_session;
pub mod sandbox;
pub mod session_opener;
mod shutdown;
pub mod subagents;
mod trace_export;
mod trajectory_import;
pub mod turn_loop;
pub mod watchdog;
mod web;
mod web_search;
mod writable_dirs;

use std::io;

use ibeam_protocol::{Failure, Reason};
use tokio::runtime::Runtime;

pub use attachments::{MentionedFiles, media_from_base64};
pub use command_work::{run_command, run_git_command};
pub use from_plan::{PlanHandover, load_plan};
pub use hook_model::HookModel;
pub use policy_rules::build_policy;
pub use prepare::{config_errors, permission_mode};
pub use sandbox::computed_sizes;
pub use session_opener::{
    SessionTarget, damaged_session_reason, is_ephemeral, journal_write_reason, nth_newest,
    session_error_reason, session_options, session_store_reason,
};
pub use subagents::AGENT_DIRECTORIES;
pub use watchdog::StartupWatchdog;

/// Calls `work` with a new runtime and does not wait for the threads of the runtime: a thread that never returns, for
/// example from a read of a dead network share, must not delay the end of the process.
///
/// # Errors
/// The errors of `work`, and `System` if no runtime can be created.
pub fn on_runtime<T, E: From<Failure>>(work: impl FnOnce(&Runtime) -> Result<T, E>) -> Result<T, E> {
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
pub fn thread_error(error: io::Error) -> Failure {
    system_error("thread", &error).into()
}

/// Returns the reason for a failure of the system; `what` names the resource or the system call.
pub fn system_error(what: &str, error: &io::Error) -> Reason {
    Reason::System { what: what.to_owned(), detail: error.to_string() }
}
