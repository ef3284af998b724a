//! `text`: what happened, for people: a line per action as it is done, then the final message; under contract 2 that
//! message alone.

use std::io::{self, Write};
use std::sync::Arc;

use ibeam_protocol::invisible::is_invisible;
use ibeam_protocol::{Event, EventKind, RunOutcome, ToolCall, ToolOutcome};

use crate::catalogue::{Action, ActionEnding, Catalogue};
use crate::line_buffer::LineBuffer;
use crate::tool_call_line::mcp_tool;
use crate::writer::EventWriter;

/// The line of an action is short; a path or command longer than this many characters is cut.
const DETAIL_CHARACTERS: usize = 200;

/// What `Text` prints beyond the bare lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Add the path or command to the line of each action.
    pub verbose: bool,
    /// Print text as it is written instead of the final message at the end: for a conversation at a terminal.
    pub live: bool,
    /// Leave out the lines of actions: contract 2.
    pub message_only: bool,
}

/// Writes contract section 5, without colour or cursor movement.
pub struct Text<W> {
    lines: LineBuffer<W>,
    catalogue: Arc<Catalogue>,
    options: TextOptions,
    /// An action's line was printed.
    acted: bool,
    /// `live` has printed text since the last line end.
    mid_line: bool,
    /// The text since the last tool call.
    segment: String,
    /// The last text before that which was not blank.
    earlier: String,
}

impl<W: Write> Text<W> {
    /// A writer that says its lines in the language of `catalogue`.
    pub fn new(out: W, catalogue: Arc<Catalogue>, options: TextOptions) -> Self {
        Self {
            lines: LineBuffer::new(out),
            catalogue,
            options,
            acted: false,
            mid_line: false,
            segment: String::new(),
            earlier: String::new(),
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        self.lines.append(|bytes| bytes.write_all(text.as_bytes()))
    }

    fn delta(&mut self, text: &str) -> io::Result<()> {
        if !self.options.live {
            self.segment.push_str(text);
            return Ok(());
        }
        let text = many_lines(text);
        if let Some(last) = text.chars().next_back() {
            self.mid_line = last != '\n';
        }
        self.print(&text)
    }

    fn call_began(&mut self) {
        let segment = std::mem::take(&mut self.segment);
        if !segment.trim().is_empty() {
            self.earlier = segment;
        }
    }

    fn call_ended(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> io::Result<()> {
        if self.options.message_only {
            return Ok(());
        }
        self.end_line()?;
        self.acted = true;
        let detail = self.options.verbose.then(|| detail(call)).flatten();
        let line = self.catalogue.action(
            &Action::for_call(call, outcome),
            ActionEnding::for_outcome(outcome),
            detail.as_deref(),
        );
        self.print(&format!("{line}\n"))
    }

    fn run_ended(&mut self, outcome: &RunOutcome) -> io::Result<()> {
        self.end_line()?;
        let (segment, earlier) = (std::mem::take(&mut self.segment), std::mem::take(&mut self.earlier));
        let acted = std::mem::take(&mut self.acted);
        match outcome {
            RunOutcome::Completed => {
                let said = if segment.trim().is_empty() { earlier } else { segment };
                let message = many_lines(said.trim());
                let gap = if acted { "\n" } else { "" };
                if message.is_empty() { Ok(()) } else { self.print(&format!("{gap}{message}\n")) }
            }
            RunOutcome::Failed(_) => Ok(()),
        }
    }
}

impl<W: Write> EventWriter for Text<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::TextDelta { text } => self.delta(text),
            EventKind::ToolCallStarted { .. } => {
                self.call_began();
                Ok(())
            }
            EventKind::ToolCallFinished { call, outcome, .. } => self.call_ended(call, outcome),
            EventKind::RunFinished(run) => self.run_ended(&run.outcome),
            // A question about a call begins a line of its own.
            EventKind::ModelRequestFinished { answer, .. } if answer.calls().next().is_some() => {
                self.end_line()
            }
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::Retrying { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::Compacted(_)
            | EventKind::Notice(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    /// Ends the line that `live` has begun.
    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.mid_line) { self.print("\n") } else { Ok(()) }
    }
}

/// The path, command, pattern or address a call is about.
pub(crate) fn detail(call: &ToolCall) -> Option<String> {
    let names = ["command", "pattern", "globPattern", "path", "url"];
    let named = || names.iter().find_map(|name| call.arguments.get(name)?.as_str());
    let text = mcp_tool(call).or_else(named)?;
    Some(shortened(one_line(text), DETAIL_CHARACTERS))
}

/// Returns `text` on one line: control characters, line ends and invisible characters become escapes like `\n`, `\u{1b}`.
pub(crate) fn one_line(text: &str) -> String {
    // One selector or joiner belongs to the writing of many emoji, and misleads nobody.
    let is_of_writing = |c| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    escaped(text, |c| c.is_control() || (is_invisible(c) && !is_of_writing(c)))
}

/// Returns `text` with its lines: `\n` and tabs stay, `\r` goes, other control characters become escapes.
pub(crate) fn many_lines(text: &str) -> String {
    escaped(&text.replace('\r', ""), |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Shortens `text` to at most `limit` characters, the last of them `…` where something was cut.
pub(crate) fn shortened(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text,
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}
