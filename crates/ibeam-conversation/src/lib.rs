//! Conversations with a person on a terminal: interactive mode, without `--print`.
//!
//! One session, one run for each prompt. On most terminals the display is the inline screen (`inline.rs`); for screen
//! readers and for terminals that cannot move the cursor there is line mode (`line_mode.rs`).

mod command_display;
mod command_table;
mod conversation;
mod file_index;
mod inline;
mod inline_approver;
mod inline_input;
mod inline_screen;
mod line_mode;
mod model_commands;
mod model_setup;
mod no_echo;
mod output_line;
mod person_approver;
mod person_commands;
mod report_commands;
mod rewind;
mod session_list;
mod session_status;
mod shell_command;
mod start_dialog;
mod terminal_palette;
mod transcript_view;
mod trust_question;
mod typed_commands;

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use ibeam_core::Access;
use ibeam_output::Catalogue;
use ibeam_protocol::{ToolCall, sentence};
use ibeam_tools::diff_of_file;
use ibeam_tui::{Line, diff_lines, proposed_change};
use serde_json::Value;

pub use self::command_table::conversation_commands;
pub use self::no_echo::NoEcho;
pub use self::terminal_palette::stated_palette;
use ibeam_agent::app::AppContext;
use ibeam_agent::environment::variable;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run::watchdog::StartupWatchdog;
use ibeam_agent::run_error::RunError;

/// The session with which interactive mode starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InteractiveStart {
    /// A new or a stored session.
    Session(SessionTarget),
    /// The stored session that the person chooses.
    Choice,
}

/// Runs `first`, where there is one, and then each prompt of the person, until the person leaves.
///
/// # Errors
/// A failure before the first run, or one that no further run can follow. Other failed runs are printed, and the loop
/// continues.
pub fn run_interactive(
    app: &Arc<AppContext>,
    start: &InteractiveStart,
    first: Option<String>,
    stdout: File,
    startup: StartupWatchdog,
    for_screen_reader: bool,
) -> Result<(), RunError> {
    match !for_screen_reader && can_move_cursor() {
        true => inline::run_inline(app, start, first, stdout, startup),
        false => line_mode::run_lines(app, start, first, stdout, startup, for_screen_reader),
    }
}

/// Whether the terminal can move the cursor, as far as `TERM` states it.
fn can_move_cursor() -> bool {
    variable("TERM").is_some_and(|name| name != "dumb")
}

/// Returns the exact command of a call, or its tool and what it would touch.
fn subject_of(call: &ToolCall, access: &Access) -> String {
    match access {
        Access::Command { text, directory: None } => text.clone(),
        Access::Command { text, directory: Some(directory) } => format!("{}$ {text}", directory.display()),
        Access::Read(path) | Access::Write(path) => format!("{} {}", call.name, path.display()),
        Access::Fetch { url } => format!("{} {url}", call.name),
        Access::Mcp { server, tool, .. } => {
            let arguments = call.arguments.get("args").map(ToString::to_string).unwrap_or_default();
            format!("{server}:{tool} {arguments}")
        }
        Access::Nothing | Access::Task { .. } => call.name.clone(),
    }
}

/// Returns what the question about a command in the background adds; `None` for other calls.
fn background_note(catalogue: &Catalogue, call: &ToolCall) -> Option<String> {
    let is_background = call.arguments.get("isBackground").and_then(Value::as_bool) == Some(true);
    is_background
        .then(|| catalogue.sentence(&sentence!("in the background: it may keep running after this call")))
}

/// Returns the change of a file that a call would make, from its unified diff where it is known; of a file that would be
/// replaced, the difference. Empty for other calls.
fn change_of(call: &ToolCall, access: &Access, diff: Option<&str>) -> Vec<Line> {
    if let Some(diff) = diff.filter(|diff| !diff.is_empty()) {
        return diff_lines(diff);
    }
    let new = call.arguments.get("fileText").and_then(Value::as_str);
    if let (Access::Write(path), Some(new)) = (access, new)
        && let Some(diff) = diff_of_file(path, new)
    {
        return diff_lines(&diff);
    }
    proposed_change(call)
}

/// Writes a file that only the user can read, with its directory. The file is a convenience, so a disk that cannot be
/// written is ignored.
fn write_private(path: &Path, bytes: &[u8]) {
    let Some(directory) = path.parent() else { return };
    drop(DirBuilder::new().recursive(true).mode(0o700).create(directory));
    drop(ibeam_files::private_file::replace(path, bytes));
}
