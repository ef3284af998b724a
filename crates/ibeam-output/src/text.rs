//! `text`, the format for people: one line for each action, then the final message. Under contract 2 only the final
//! message.

use std::io::{self, Write};
use std::sync::Arc;

use ibeam_protocol::invisible::is_invisible;
use ibeam_protocol::{Event, EventKind, RunOutcome, ToolCall, ToolFailure, ToolOutcome, ToolOutput};

use crate::catalogue::lines::EditorLine;
use crate::catalogue::{Action, ActionEnding, Catalogue};
use crate::line_buffer::LineBuffer;
use crate::run_details::todo_line;
use crate::tool_call_line::mcp_tool;
use crate::writer::EventWriter;

/// The maximum length in characters of the path or command in the line of an action.
const DETAIL_CHARACTERS: usize = 200;
/// The number of lines of a reason or an output that are printed.
const REASON_LINES: usize = 5;
/// The number of lines of a change that are printed.
const CHANGE_LINES: usize = 60;

/// The options of [`Text`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Add the path or command to the line of each action.
    pub verbose: bool,
    /// Print text as it arrives instead of the final message at the end, for a conversation at a terminal.
    pub live: bool,
    /// Add what a person wants to see to the line of an action: the reason of a failure, the end of the output of a
    /// command, the change of a file, the to-do list.
    pub shows_details: bool,
    /// Omit the lines of actions, as under contract 2.
    pub message_only: bool,
}

/// Writes text without colour or cursor movement.
pub struct Text<W> {
    lines: LineBuffer<W>,
    catalogue: Arc<Catalogue>,
    options: TextOptions,
    /// Whether the line of an action was printed.
    has_actions: bool,
    /// Whether `live` has printed text since the last line end.
    is_mid_line: bool,
    /// The text since the last tool call.
    segment: String,
    /// The last non-blank text before `segment`, which is the final message if `segment` is blank.
    previous_segment: String,
}

impl<W: Write> Text<W> {
    /// Returns a writer in the language of `catalogue`.
    pub fn new(out: W, catalogue: Arc<Catalogue>, options: TextOptions) -> Self {
        Self {
            lines: LineBuffer::new(out),
            catalogue,
            options,
            has_actions: false,
            is_mid_line: false,
            segment: String::new(),
            previous_segment: String::new(),
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        self.lines.append(|bytes| bytes.write_all(text.as_bytes()))
    }

    fn write_delta(&mut self, text: &str) -> io::Result<()> {
        if !self.options.live {
            self.segment.push_str(text);
            return Ok(());
        }
        let text = printable_lines(text);
        if let Some(last) = text.chars().next_back() {
            self.is_mid_line = last != '\n';
        }
        self.print(&text)
    }

    fn end_segment(&mut self) {
        let segment = std::mem::take(&mut self.segment);
        if !segment.trim().is_empty() {
            self.previous_segment = segment;
        }
    }

    fn write_action(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> io::Result<()> {
        if self.options.message_only {
            return Ok(());
        }
        self.end_line()?;
        self.has_actions = true;
        let detail = self.options.verbose.then(|| call_target(call)).flatten();
        let line = self.catalogue.action(
            &Action::for_call(call, outcome),
            ActionEnding::for_outcome(outcome),
            detail.as_deref(),
        );
        let reason =
            if self.options.shows_details { detail_lines(outcome, &self.catalogue) } else { String::new() };
        self.print(&format!("{line}\n{reason}"))
    }

    fn write_final_message(&mut self, outcome: &RunOutcome) -> io::Result<()> {
        self.end_line()?;
        let segment = std::mem::take(&mut self.segment);
        let previous = std::mem::take(&mut self.previous_segment);
        let has_actions = std::mem::take(&mut self.has_actions);
        // The text of an answer that is not complete is on stderr: see `RunDetails`.
        let is_complete = match outcome {
            RunOutcome::Completed => true,
            RunOutcome::Failed(failure) => failure.reason.follows_complete_answer(),
        };
        let text = if segment.trim().is_empty() { previous } else { segment };
        let message = printable_lines(text.trim());
        if !is_complete || message.is_empty() {
            return Ok(());
        }
        let gap = if has_actions { "\n" } else { "" };
        self.print(&format!("{gap}{message}\n"))
    }
}

impl<W: Write> EventWriter for Text<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::TextDelta { text } => self.write_delta(text),
            EventKind::ToolCallStarted { .. } => {
                self.end_segment();
                Ok(())
            }
            // The next answer starts on a new line.
            EventKind::HookMessage { .. } => {
                self.end_segment();
                self.end_line()
            }
            EventKind::ToolCallFinished { call, outcome, .. } => self.write_action(call, outcome),
            EventKind::RunFinished(run) => self.write_final_message(&run.outcome),
            // An approval question about a call starts on a new line.
            EventKind::ModelRequestFinished { answer, .. } if answer.calls().next().is_some() => {
                self.end_line()
            }
            EventKind::RunStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::Retrying { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::Compacted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::Notice(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    /// Ends the line that `live` has started.
    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_mid_line) { self.print("\n") } else { Ok(()) }
    }
}

/// Returns what a person wants to see of a call.
fn detail_lines(outcome: &ToolOutcome, catalogue: &Catalogue) -> String {
    let in_language;
    let text = match outcome {
        ToolOutcome::Success { output: ToolOutput::Todos(todos), .. } => {
            return todos.iter().map(|todo| todo_line(todo) + "\n").collect();
        }
        ToolOutcome::Success { output: ToolOutput::Edit(edit), .. } => return change_lines(&edit.diff),
        ToolOutcome::Success { output: ToolOutput::Write(written), .. } => {
            return change_lines(&written.diff);
        }
        ToolOutcome::Success { output: ToolOutput::Shell(output), .. } => output.interleaved.as_str(),
        ToolOutcome::Success { .. } => return String::new(),
        ToolOutcome::Failure { failure: ToolFailure::CommandFailed(output), .. } => {
            output.interleaved.as_str()
        }
        ToolOutcome::Failure { failure: ToolFailure::TimedOut { timeout_ms, partial }, .. } => {
            let ending = catalogue.line(&EditorLine::TimedOut { timeout_ms: *timeout_ms });
            in_language = format!("{}\n{ending}", partial.interleaved.trim_end());
            in_language.trim_start()
        }
        ToolOutcome::Failure { failure: ToolFailure::McpError(_), for_model } => for_model,
        ToolOutcome::Failure { for_model: reason, .. } | ToolOutcome::Rejected { reason } => {
            in_language = catalogue.sentence(reason);
            &in_language
        }
    };
    let text = printable_lines(text.trim_end());
    let lines: Vec<&str> = text.lines().collect();
    let hidden = lines.len().saturating_sub(REASON_LINES);
    let more = if hidden > 0 { "  …\n" } else { "" };
    let shown = lines.iter().skip(hidden).map(|line| format!("  {line}\n"));
    std::iter::once(more.to_owned()).chain(shown).collect()
}

/// Returns the lines of a unified diff without the names of the files.
pub fn hunk_lines(diff: &str) -> impl Iterator<Item = &str> {
    // A removed line that begins with `-- ` looks like a name.
    let mut is_in_hunk = false;
    diff.lines().filter(move |line| {
        is_in_hunk = line.starts_with("@@") || is_in_hunk && !line.starts_with("diff ");
        is_in_hunk || !line.starts_with("--- ") && !line.starts_with("+++ ")
    })
}

/// Returns the first lines of a unified diff.
fn change_lines(diff: &str) -> String {
    let text = printable_lines(diff);
    let lines: Vec<&str> = hunk_lines(&text).collect();
    let more = if lines.len() > CHANGE_LINES { "  …\n" } else { "" };
    let shown = lines.iter().take(CHANGE_LINES).map(|line| format!("  {line}\n"));
    shown.chain([more.to_owned()]).collect()
}

/// Returns the path, command, pattern or address of a call.
pub fn call_target(call: &ToolCall) -> Option<String> {
    let names = ["command", "pattern", "globPattern", "path", "url", "searchTerm"];
    let named = || names.iter().find_map(|name| call.arguments.get(name)?.as_str());
    let text = mcp_tool(call).or_else(named)?;
    Some(shorten(printable_line(text), DETAIL_CHARACTERS))
}

/// Returns `text` on one line: control characters, line ends and invisible characters become escapes like `\n`, `\u{1b}`.
pub(crate) fn printable_line(text: &str) -> String {
    // Many emoji contain a selector or a joiner, which are harmless.
    let is_part_of_emoji = |c| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    escape(text, |c| c.is_control() || (is_invisible(c) && !is_part_of_emoji(c)))
}

/// Returns `text` with control characters as escapes. Line ends and tabs remain, and `\r` is removed.
pub fn printable_lines(text: &str) -> String {
    escape(&text.replace('\r', ""), |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Shortens `text` to at most `limit` characters. The last character of a shortened text is `…`.
pub(crate) fn shorten(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text,
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn escape(text: &str, is_unsafe: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}
