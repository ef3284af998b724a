//! The lines of a tool call: what it did to which target, how long it took, its result, and the end of its output.

use ibeam_output::{Catalogue, EditorLine, call_target};
use ibeam_protocol::tool_output::{GrepMatches, Todo, TodoStatus};
use ibeam_protocol::{ToolCall, ToolFailure, ToolOutcome, ToolOutput};

use crate::changes::finished_change;
use crate::styled::{Color, Line, Style};
use ibeam_output::TuiLine;

/// The number of lines of an output that are shown.
const OUTPUT_LINES: usize = 5;
/// The number of cells of a line of an output that are shown.
const MAX_LINE_CELLS: usize = 400;
/// The number of lines of a change that are shown.
const DIFF_LINES: usize = 60;
/// The number of lines of a new file that are shown.
const NEW_FILE_LINES: usize = 10;
/// The number of lines of a reason that are shown.
const REASON_LINES: usize = 4;

/// The extent of the lines of a finished call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallDetails {
    /// Whether long outputs are not shortened.
    pub(crate) is_complete: bool,
    /// Whether the change of a file was shown before the call.
    pub(crate) omits_change: bool,
}

/// Returns the lines of a finished call. `ms` is its duration, if it is known.
pub(crate) fn finished_call(
    catalogue: &Catalogue,
    call: &ToolCall,
    outcome: &ToolOutcome,
    ms: Option<u64>,
    width: usize,
    details: CallDetails,
) -> Vec<Line> {
    let color = match outcome {
        ToolOutcome::Success { .. } => Color::Green,
        ToolOutcome::Failure { .. } => Color::Red,
        ToolOutcome::Rejected { .. } => Color::Yellow,
    };
    let mut head = Line::new(Style::color(color), "● ");
    head.push(Style::BOLD, &catalogue.call_action(call, outcome));
    if let Some(target) = target_of(call) {
        head.push(Style::PLAIN, " ");
        head.push(Style::color(Color::Cyan), &target);
    }
    let items = ms.filter(|ms| *ms >= 100).map(duration).into_iter().chain(summary(catalogue, outcome));
    for item in items {
        head.push(Style::DIM, " · ");
        head.push(Style::DIM, &item);
    }
    let mut lines = head.wrap(width, 2);
    lines.extend(body(catalogue, call, outcome, width, details));
    lines
}

/// Returns the session of the sub-agent that a call runs.
pub(crate) fn subagent_session(call: &ToolCall) -> Option<&str> {
    (call.name == "task").then(|| call.arguments.get("agentId")?.as_str()).flatten()
}

/// Returns the target of a call; of a sub-agent, its task.
pub(crate) fn target_of(call: &ToolCall) -> Option<String> {
    let task = || call.arguments.get("description")?.as_str().map(str::to_owned);
    call_target(call).or_else(task)
}

/// Returns a duration such as `0.4 s` or `2 min 5 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms / 1000 {
        seconds if seconds >= 60 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds if seconds >= 10 => format!("{seconds} s"),
        seconds => format!("{seconds}.{} s", ms % 1000 / 100),
    }
}

/// Returns the result in a few words.
fn summary(catalogue: &Catalogue, outcome: &ToolOutcome) -> Option<String> {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let lines = |count: u64| catalogue.line(&TuiLine::Lines { count });
    let results = |count: u64| catalogue.line(&TuiLine::Results { count });
    let exit_code = |code: &str| catalogue.line(&TuiLine::ExitCode { text: code });
    match outcome {
        ToolOutcome::Success { output, .. } => match output {
            ToolOutput::Read(read) if read.media.is_empty() => {
                Some(lines(count(read.content.lines().count())))
            }
            ToolOutput::Write(written) => Some(lines(written.lines_created)),
            ToolOutput::Edit(edit) => Some(format!("+{} −{}", edit.lines_added, edit.lines_removed)),
            ToolOutput::Grep(grep) => Some(results(match &grep.matches {
                GrepMatches::Content(files) => count(files.iter().map(|file| file.lines.len()).sum()),
                GrepMatches::Files(files) => count(files.len()),
                GrepMatches::Count(files) => files.iter().map(|(_, found)| found).sum(),
            })),
            ToolOutput::Glob(glob) => Some(results(glob.total_files)),
            ToolOutput::Task(task) => {
                let count = task.totals.tool_calls.into();
                Some(catalogue.line(&TuiLine::Calls { count }))
            }
            ToolOutput::Read(_)
            | ToolOutput::Shell(_)
            | ToolOutput::Ls(_)
            | ToolOutput::Delete(_)
            | ToolOutput::Todos(_)
            | ToolOutput::WebFetch(_)
            | ToolOutput::WebSearch(_)
            | ToolOutput::Mcp(_)
            | ToolOutput::Other(_) => None,
        },
        ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), .. } => {
            Some(output.signal.clone().unwrap_or_else(|| exit_code(&output.exit_code.to_string())))
        }
        ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => None,
    }
}

/// Returns the lines below the head.
fn body(
    catalogue: &Catalogue,
    call: &ToolCall,
    outcome: &ToolOutcome,
    width: usize,
    details: CallDetails,
) -> Vec<Line> {
    let at_most = |lines: usize| if details.is_complete { usize::MAX } else { lines };
    match outcome {
        ToolOutcome::Success { output, .. } => match output {
            ToolOutput::Shell(output) => tail(catalogue, &output.interleaved, at_most(OUTPUT_LINES)),
            ToolOutput::Edit(_) | ToolOutput::Write(_) if details.omits_change => Vec::new(),
            ToolOutput::Write(written) if written.created => {
                folded_end(catalogue, finished_change(call, outcome), at_most(NEW_FILE_LINES))
            }
            ToolOutput::Edit(_) | ToolOutput::Write(_) => {
                folded_end(catalogue, finished_change(call, outcome), at_most(DIFF_LINES))
            }
            ToolOutput::Todos(todos) => todos.iter().map(todo_line).collect(),
            ToolOutput::Mcp(output) => tail(catalogue, &output.content.join("\n"), at_most(OUTPUT_LINES)),
            // The answer of a sub-agent is for the model, which reports it.
            ToolOutput::Task(_)
            | ToolOutput::Read(_)
            | ToolOutput::Grep(_)
            | ToolOutput::Glob(_)
            | ToolOutput::Ls(_)
            | ToolOutput::Delete(_)
            | ToolOutput::WebFetch(_)
            | ToolOutput::WebSearch(_)
            | ToolOutput::Other(_) => Vec::new(),
        },
        ToolOutcome::Failure { failure, for_model } => match failure {
            ToolFailure::CommandFailed(output) => tail(catalogue, &output.interleaved, at_most(OUTPUT_LINES)),
            ToolFailure::TimedOut { timeout_ms, partial } => {
                let mut lines = tail(catalogue, &partial.interleaved, at_most(OUTPUT_LINES));
                let ending = catalogue.line(&EditorLine::TimedOut { timeout_ms: *timeout_ms });
                lines.push(Line::new(Style::DIM, &format!("  {ending}")));
                lines
            }
            ToolFailure::McpError(_) => reason_lines(catalogue, for_model, at_most(REASON_LINES), width),
            ToolFailure::Interrupted
            | ToolFailure::FileNotFound { .. }
            | ToolFailure::PermissionDenied { .. }
            | ToolFailure::SpawnFailed { .. }
            | ToolFailure::TaskFailed { .. }
            | ToolFailure::Error { .. } => {
                reason_lines(catalogue, &catalogue.sentence(for_model), at_most(REASON_LINES), width)
            }
        },
        ToolOutcome::Rejected { reason } => {
            reason_lines(catalogue, &catalogue.sentence(reason), at_most(REASON_LINES), width)
        }
    }
}

/// Returns the last lines of a text, after a line with the number of lines that are left out.
pub(crate) fn tail(catalogue: &Catalogue, text: &str, shown: usize) -> Vec<Line> {
    let lines: Vec<&str> = text.trim_end().lines().map(overwritten).collect();
    let hidden = lines.len().saturating_sub(shown);
    let limit = if shown == usize::MAX { usize::MAX } else { MAX_LINE_CELLS };
    let indented = |line: &&str| Line::new(Style::DIM, &format!("  {line}")).fit(limit);
    hidden_lines(catalogue, hidden).into_iter().chain(lines.iter().skip(hidden).map(indented)).collect()
}

/// Returns the last lines of a reason, which consists of sentences, wrapped at words.
fn reason_lines(catalogue: &Catalogue, text: &str, shown: usize, width: usize) -> Vec<Line> {
    tail(catalogue, text, shown).iter().flat_map(|line| line.wrap(width, 2)).collect()
}

/// Returns what a terminal shows of a line in which carriage returns start again, as those of progress bars do.
pub fn overwritten(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit_once('\r').map_or(line, |(_, last)| last)
}

/// Returns the first lines of a change, and the number of lines that are left out.
fn folded_end(catalogue: &Catalogue, mut lines: Vec<Line>, shown: usize) -> Vec<Line> {
    let hidden = lines.len().saturating_sub(shown);
    lines.truncate(shown);
    lines.extend(hidden_lines(catalogue, hidden));
    lines
}

/// Returns the line with the number of lines that are left out, if there are any.
pub(crate) fn hidden_lines(catalogue: &Catalogue, hidden: usize) -> Option<Line> {
    let count = u64::try_from(hidden).unwrap_or(u64::MAX);
    let text = || format!("  {}", catalogue.line(&TuiLine::HiddenLines { count }));
    (hidden > 0).then(|| Line::new(Style::DIM, &text()))
}

fn todo_line(todo: &Todo) -> Line {
    let (sign, style) = match todo.status {
        TodoStatus::Pending => ("☐", Style::PLAIN),
        TodoStatus::InProgress => ("▶", Style::BOLD),
        TodoStatus::Completed => ("☒", Style::DIM),
        TodoStatus::Cancelled => ("−", Style::DIM),
    };
    Line::new(style, &format!("  {sign} {}", todo.content))
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;
    use ibeam_protocol::sentence;
    use ibeam_protocol::tool_output::WriteOutput;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(created: bool, diff: &str, text: &str, expect: &[&str]) {
        let catalogue = Catalogue::new(Locale::En);
        let arguments = json!({ "path": "f", "fileText": text });
        let call = ToolCall { id: "c".into(), name: "write".to_owned(), arguments };
        let (path, diff) = ("/w/f".into(), diff.to_owned());
        let output = WriteOutput { path, lines_created: 1, file_size: 1, created, diff };
        let outcome = ToolOutcome::Success { output: ToolOutput::Write(output), for_model: "".into() };
        let lines = finished_call(&catalogue, &call, &outcome, None, 80, CallDetails::default());
        assert_eq!(lines.iter().skip(1).map(Line::text).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_reason_of_a_call_without_success_is_in_the_language_of_the_person() {
        let refused = |reason: &str| ToolOutcome::Rejected { reason: reason.into() };
        let interrupted =
            |text: &str| ToolOutcome::Failure { failure: ToolFailure::Interrupted, for_model: text.into() };
        let (ended, stopped) = (
            "interrupted: the run was stopped before this call ended; its effect is unknown",
            "not executed: the run was stopped before this call was allowed",
        );
        let path = "x";
        let gone = sentence!("`{path}` does not exist (ENOENT); `ls` or `glob` shows what does", path);
        let failure = ToolFailure::FileNotFound { path: "x".into() };
        let not_found = ToolOutcome::Failure { failure, for_model: gone.clone() };
        let unknown = sentence!("there is no tool `{name}`", name = path);
        let call = ToolCall { id: "c".into(), name: "ls".to_owned(), arguments: json!({ "path": "." }) };
        for (reason, outcome) in [
            (gone.as_str(), not_found),
            (unknown.as_str(), ToolOutcome::error(unknown.clone())),
            ("the user refused this call", refused("the user refused this call")),
            (stopped, refused(stopped)),
            (ended, interrupted(ended)),
        ] {
            let lines = |locale| {
                finished_call(&Catalogue::new(locale), &call, &outcome, None, 200, CallDetails::default())
            };
            assert_eq!(lines(Locale::En).last().map(Line::text), Some(format!("  {reason}")));
            assert_ne!(lines(Locale::Ja).last().map(Line::text), Some(format!("  {reason}")));
        }
    }

    #[test]
    fn a_written_file_shows_what_changed() {
        check(false, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "b\n", &["  @@ -1 +1 @@", "  -a", "  +b"]);
        check(false, "", "same\n", &[]);
        check(true, "", "a\nb\n", &["  +a", "  +b"]);
        let long = "x\n".repeat(NEW_FILE_LINES + 2);
        check(true, "", &long, &[vec!["  +x"; NEW_FILE_LINES], vec!["  … 2 more lines"]].concat());
    }
}
