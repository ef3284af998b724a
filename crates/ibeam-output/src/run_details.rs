//! The details of a run that `text` does not print, as lines for stderr: reasons, to-do lists, changed files, totals,
//! and the text of a run that failed.

use std::path::PathBuf;
use std::sync::Arc;

use ibeam_protocol::tool_output::{McpOutput, ShellOutput, Todo, TodoStatus};
use ibeam_protocol::{EventKind, RunFinished, ToolCall, ToolFailure, ToolOutcome, ToolOutput, sentence};

use crate::catalogue::lines::RunLine;
use crate::catalogue::{Action, ActionEnding, Catalogue};
use crate::run_summary::{ChangedFiles, total_lines};
use crate::text::{call_target, printable_line, printable_lines, shorten};

/// The maximum length of a reason, in characters.
const REASON_CHARACTERS: usize = 500;

/// The options of [`RunDetails`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunDetailsOptions {
    /// Add reasons, to-do lists and totals. Without it and `targets` there are only the changed files and the unfinished
    /// answer of a failed run.
    pub verbose: bool,
    /// Add what `text` leaves out of the lines of actions without `verbose`: targets, reasons and to-do items that
    /// changed.
    pub targets: bool,
    /// Add the lines of actions, which `text` does not print under contract 2.
    pub actions: bool,
    /// Return only the unfinished answer of a failed run.
    pub unfinished_answer_only: bool,
}

/// A formatter of the details of a run.
pub struct RunDetails {
    catalogue: Arc<Catalogue>,
    options: RunDetailsOptions,
    directory: PathBuf,
    files: ChangedFiles,
    /// Whether a command ran, which may have changed files too.
    has_command: bool,
    /// Whether an MCP tool ran, which may have changed files too.
    has_mcp_call: bool,
    /// Whether `ibeam diff` can compare the files before and after the run.
    has_checkpoint: bool,
    /// The lines of the last to-do list.
    todos: Vec<String>,
    /// The text since the last call.
    segment: String,
    /// The last text that is not blank before `segment`.
    previous_segment: String,
}

impl RunDetails {
    /// Returns the details in the language of `catalogue`.
    pub fn new(catalogue: Arc<Catalogue>, options: RunDetailsOptions) -> Self {
        Self {
            catalogue,
            options,
            directory: PathBuf::new(),
            files: ChangedFiles::default(),
            has_command: false,
            has_mcp_call: false,
            has_checkpoint: false,
            todos: Vec::new(),
            segment: String::new(),
            previous_segment: String::new(),
        }
    }

    /// Returns the lines after an event; most events have none.
    pub fn on_event(&mut self, kind: &EventKind) -> Vec<String> {
        if let EventKind::RunStarted(head) = kind {
            self.directory.clone_from(&head.cwd);
            self.files = ChangedFiles::default();
            (self.has_command, self.has_mcp_call, self.has_checkpoint) = (false, false, false);
            self.todos.clear();
            self.segment.clear();
            self.previous_segment.clear();
        } else if let EventKind::TextDelta { text } = kind {
            self.segment.push_str(text);
        } else if let EventKind::ToolCallStarted { .. } | EventKind::HookMessage { .. } = kind {
            let segment = std::mem::take(&mut self.segment);
            if !segment.trim().is_empty() {
                self.previous_segment = segment;
            }
        } else if let EventKind::ToolCallFinished { call, outcome, .. } = kind {
            self.files.add(outcome);
            self.has_command |= is_of_command(outcome);
            self.has_mcp_call |= is_of_mcp_tool(outcome);
            if self.options.verbose || self.options.targets {
                return self.call_lines(call, outcome);
            }
        } else if let EventKind::RunFinished(run) = kind {
            return self.closing_lines(run);
        } else if let EventKind::CheckpointTaken(_) = kind {
            self.has_checkpoint = true;
        }
        Vec::new()
    }

    fn call_lines(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Vec<String> {
        let mut lines = Vec::new();
        if self.options.actions {
            let (action, ending) = (Action::for_call(call, outcome), ActionEnding::for_outcome(outcome));
            lines.push(self.catalogue.action(&action, ending, call_target(call).as_deref()));
        }
        if self.options.targets {
            lines.extend(call_target(call).map(|target| format!("  {}", self.without_directory(&target))));
        }
        match outcome {
            ToolOutcome::Success { output: ToolOutput::Todos(todos), .. } => {
                let list: Vec<String> = todos.iter().map(todo_line).collect();
                let previous = std::mem::replace(&mut self.todos, list.clone());
                lines
                    .extend(list.into_iter().filter(|line| self.options.verbose || !previous.contains(line)));
            }
            ToolOutcome::Success { .. } => {}
            ToolOutcome::Failure { failure, .. } => {
                lines.extend(reason_line(&failure_reason(failure, &self.catalogue)))
            }
            ToolOutcome::Rejected { reason } => {
                lines.extend(reason_line(&self.catalogue.sentence(reason)));
            }
        }
        lines
    }

    /// Returns the target relative to the directory of the run, if it is a path in it.
    fn without_directory<'a>(&self, target: &'a str) -> &'a str {
        let directory = self.directory.to_str().unwrap_or_default();
        let relative = target.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
        relative.filter(|relative| !relative.is_empty()).unwrap_or(target)
    }

    fn closing_lines(&mut self, run: &RunFinished) -> Vec<String> {
        let mut lines = Vec::new();
        let segment = std::mem::take(&mut self.segment);
        let text =
            if segment.trim().is_empty() { std::mem::take(&mut self.previous_segment) } else { segment };
        let is_unfinished = run.failure().is_some_and(|failure| !failure.reason.follows_complete_answer());
        if is_unfinished && !text.trim().is_empty() {
            lines.push(self.catalogue.line(&RunLine::Unfinished));
            lines.push(printable_lines(text.trim()));
        }
        if self.options.unfinished_answer_only {
            return lines;
        }
        let files = self.files.lines(&self.directory);
        let heading = match files.as_slice() {
            [] if self.has_command || self.has_mcp_call => RunLine::NoFilesChangedByFileTools,
            [] => RunLine::NoChangedFiles,
            [_, ..] if self.has_command && self.has_checkpoint => RunLine::ChangedFilesWithoutCommands,
            [_, ..] => RunLine::ChangedFiles,
        };
        lines.push(self.catalogue.line(&heading));
        lines.extend(files);
        if self.options.verbose {
            lines.extend(total_lines(run, &self.catalogue));
        }
        lines
    }
}

/// Whether the outcome is of a command, whose changes of files are unknown.
fn is_of_command(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Success { output, .. } => matches!(output, ToolOutput::Shell(_)),
        ToolOutcome::Failure { failure, .. } => {
            matches!(failure, ToolFailure::CommandFailed(_) | ToolFailure::TimedOut { .. })
        }
        ToolOutcome::Rejected { .. } => false,
    }
}

/// Whether the outcome is of an MCP tool, whose changes of files are unknown.
fn is_of_mcp_tool(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Success { output, .. } => matches!(output, ToolOutput::Mcp(_)),
        ToolOutcome::Failure { failure, .. } => matches!(failure, ToolFailure::McpError(_)),
        ToolOutcome::Rejected { .. } => false,
    }
}

/// Returns the line of an item of a to-do list.
pub(crate) fn todo_line(todo: &Todo) -> String {
    let mark = match todo.status {
        TodoStatus::Pending => ' ',
        TodoStatus::InProgress => '>',
        TodoStatus::Completed => 'x',
        TodoStatus::Cancelled => '-',
    };
    format!("  [{mark}] {}", printable_line(&todo.content))
}

/// Returns a reason on an indented line; `None` if it is blank.
fn reason_line(reason: &str) -> Option<String> {
    let reason = printable_line(reason.trim());
    (!reason.is_empty()).then(|| format!("  {}", shorten(reason, REASON_CHARACTERS)))
}

/// Returns the cause of a failed call in the language, as far as it has a translation.
fn failure_reason(failure: &ToolFailure, catalogue: &Catalogue) -> String {
    let sentence = match failure {
        ToolFailure::McpError(McpOutput { content, .. }) => return content.join(" "),
        ToolFailure::PermissionDenied { path, error } => {
            return format!("{}: {}", path.display(), catalogue.sentence(error));
        }
        ToolFailure::FileNotFound { path } => {
            sentence!("no such file or directory: {path}", path = path.display())
        }
        ToolFailure::CommandFailed(output) => match (&output.signal, last_line(output)) {
            (Some(signal), None) => return signal.clone(),
            (Some(signal), Some(line)) => return format!("{signal}: {line}"),
            (None, None) => sentence!("exit code {code}", code = output.exit_code),
            (None, Some(line)) => sentence!("exit code {code}: {line}", code = output.exit_code, line),
        },
        ToolFailure::TimedOut { timeout_ms, partial } => match (timeout_ms / 1000, last_line(partial)) {
            (seconds, None) => sentence!("timeout after {seconds} s", seconds),
            (seconds, Some(line)) => sentence!("timeout after {seconds} s: {line}", seconds, line),
        },
        ToolFailure::Interrupted => sentence!("interrupted"),
        ToolFailure::SpawnFailed { message }
        | ToolFailure::TaskFailed { message, totals: _ }
        | ToolFailure::Error { message } => message.clone(),
    };
    catalogue.sentence(&sentence)
}

/// Returns the last line of a command's output, which usually names the error.
fn last_line(output: &ShellOutput) -> Option<&str> {
    output.interleaved.lines().rev().map(str::trim).find(|line| !line.is_empty())
}
