//! The outcome of a command: the facts for programs, the text for the model.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use ibeam_process::signal_name;
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{ToolFailure, ToolOutcome, ToolOutput};

use super::path_monitor::{PathFinding, findings_text};
use super::spawn::RunningCommand;

/// Returns the outcome of a command that has ended.
pub(super) fn finished_outcome(
    command: &str,
    mut running: RunningCommand,
    status: ExitStatus,
) -> ToolOutcome {
    let output = shell_output(command, &mut running, status_parts(status));
    let mut for_model = with_newline(&output.interleaved);
    if for_model.contains(char::REPLACEMENT_CHARACTER) {
        for_model.push_str("(bytes that are not UTF-8 are shown as \u{FFFD})\n");
    }
    if let Some(signal) = &output.signal {
        for_model.push_str(&format!("(ended by {signal})\n"));
    } else if output.exit_code != 0 {
        for_model.push_str(&format!("(exit code {})\n", output.exit_code));
    } else if for_model.is_empty() {
        for_model.push_str("(no output)\n");
    }
    if output.exit_code == 0 {
        ToolOutcome::Success { output: ToolOutput::Shell(output), for_model: for_model.into() }
    } else {
        ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), for_model: for_model.into() }
    }
}

/// Returns the outcome of a command after which the monitor found a change: always a failure.
pub(super) fn add_findings(outcome: ToolOutcome, findings: &[PathFinding]) -> ToolOutcome {
    let Some(first) = findings.first() else { return outcome };
    let text = outcome.for_model();
    let error = findings_text(findings);
    let for_model = format!("{}{error}", with_newline(&text)).into();
    let error = error.trim_matches(['(', ')', '\n']).into();
    ToolOutcome::Failure {
        failure: ToolFailure::PermissionDenied { path: first.path.clone(), error },
        for_model,
    }
}

/// Adds a line for the model to the outcome.
pub(super) fn with_note(mut outcome: ToolOutcome, note: &str) -> ToolOutcome {
    match &mut outcome {
        ToolOutcome::Success { for_model, .. } => {
            *for_model = format!("{}{note}", with_newline(for_model)).into();
        }
        ToolOutcome::Failure { for_model, .. } => {
            *for_model = format!("{}{note}", with_newline(for_model)).into();
        }
        ToolOutcome::Rejected { .. } => {}
    }
    outcome
}

/// Returns the facts of a command, with its output so far.
pub(super) fn shell_output(
    command: &str,
    running: &mut RunningCommand,
    (exit_code, signal): (i32, Option<String>),
) -> ShellOutput {
    let texts = running.output.texts();
    ShellOutput {
        command: command.to_owned(),
        working_directory: running.directory.clone(),
        exit_code,
        signal,
        stdout: texts.stdout,
        stderr: texts.stderr,
        interleaved: texts.interleaved,
        execution_ms: u64::try_from(running.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        is_background: false,
    }
}

/// Returns the exit code, 128 + number for a signal, and the signal's name.
pub(super) fn status_parts(status: ExitStatus) -> (i32, Option<String>) {
    match (status.code(), status.signal()) {
        (Some(code), _) => (code, None),
        (None, Some(number)) => (128 + number, Some(signal_name(number))),
        (None, None) => (1, None),
    }
}

/// Returns `text` with a newline at its end, unless it is empty.
pub(super) fn with_newline(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
