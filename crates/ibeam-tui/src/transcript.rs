//! Turns events into finished lines, and keeps what the live rows show of them.

use std::sync::Arc;
use std::time::Instant;

use ibeam_output::Catalogue;
use ibeam_protocol::{
    CallId, Event, EventKind, PermissionMode, Reason, RunFinished, RunOutcome, RunStarted, Signal,
};

use crate::changes::ShownChanges;
use crate::markdown;
use crate::markdown_blocks::MarkdownBlocks;
use crate::styled::{Color, Line, Style};
use crate::tool_lines::{CallDetails, duration, finished_call, hidden_lines, subagent_session, target_of};
use ibeam_output::TuiLine;

/// A call that has started and not finished.
pub(crate) struct RunningCall {
    id: CallId,
    /// The name of the tool and the target.
    pub(crate) label: String,
    /// The session of the sub-agent that the call runs.
    subagent: Option<String>,
    /// The last call of the sub-agent, or the last line of the output.
    pub(crate) step: Option<String>,
    pub(crate) since: Instant,
    since_ms: u64,
}

/// The number of lines of a prompt from which on only its first half is shown.
const PROMPT_LINES: usize = 20;

/// The state of the model while no call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelState {
    /// The model has sent nothing of the answer.
    Waiting,
    /// The model reasons before it answers.
    Thinking,
    /// The text of the answer arrives.
    Writing,
}

/// The subject of the last finished line. Different subjects are separated by an empty line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Start,
    Prompt,
    Text,
    Call,
    Other,
}

/// The lines of a session.
pub(crate) struct Transcript {
    catalogue: Arc<Catalogue>,
    /// Lines that are not printed yet.
    finished: Vec<Line>,
    text: MarkdownBlocks,
    pub(crate) running: Vec<RunningCall>,
    /// The state of the model, and its beginning; `None` before the first event of a turn.
    pub(crate) model: Option<(ModelState, Instant)>,
    /// The mode of the session that is open.
    pub(crate) mode: Option<PermissionMode>,
    /// The model and the mode, for the status line.
    pub(crate) status: String,
    /// The tokens and the cost of the last run, for the status line.
    pub(crate) usage: String,
    /// The context window of the model in tokens, if it is known.
    context_window: Option<u64>,
    /// The tokens of the conversation, as far as the last answer states them.
    context_tokens: u64,
    last: Subject,
    is_welcomed: bool,
    /// The width of the screen at the last event.
    width: usize,
    /// Whether long outputs are not shortened.
    is_complete: bool,
    /// Whether the events are those of earlier turns, whose failures nothing else prints.
    is_past: bool,
    /// The changes of calls that have not finished.
    shown_changes: ShownChanges,
}

/// The lines of a whole conversation, with complete outputs.
pub struct TranscriptLines(Transcript);

impl TranscriptLines {
    /// Returns a conversation without events, in lines of at most `width` cells.
    pub fn new(catalogue: Arc<Catalogue>, width: usize) -> Self {
        Self(Transcript { width, is_complete: true, is_past: true, ..Transcript::new(catalogue) })
    }

    pub fn add(&mut self, event: &Event, now: Instant) {
        let width = self.0.width;
        self.0.on_event(event, now, width);
    }

    pub fn finish(mut self) -> Vec<Line> {
        self.0.end_past();
        self.0.take_finished()
    }
}

/// Returns a number of tokens, such as `12.3k`.
fn count_text(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{}.{}k", count / 1000, count % 1000 / 100),
    }
}

fn status_of(model: &str, mode: PermissionMode) -> String {
    format!("{model} · {}", mode_name(mode))
}

/// Returns the name of a mode as commands accept it; `force` is the flag `--force`.
pub fn mode_name(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "agent",
        PermissionMode::Force => "force",
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "ask",
    }
}

impl Transcript {
    pub(crate) fn new(catalogue: Arc<Catalogue>) -> Self {
        Self {
            catalogue,
            finished: Vec::new(),
            text: MarkdownBlocks::default(),
            running: Vec::new(),
            model: None,
            mode: None,
            status: String::new(),
            usage: String::new(),
            context_window: None,
            context_tokens: 0,
            last: Subject::Start,
            is_welcomed: false,
            width: 80,
            is_complete: false,
            is_past: false,
            shown_changes: ShownChanges::default(),
        }
    }

    /// Returns the lines that are finished since the last call.
    pub(crate) fn take_finished(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.finished)
    }

    /// Returns the text of the answer that is not finished.
    pub(crate) fn pending_text(&self) -> &str {
        self.text.pending()
    }

    /// Adds lines of another source than events, e.g. a warning.
    pub(crate) fn add_lines(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.finish_text(self.width);
        self.begin(Subject::Other);
        self.finished.extend(lines);
    }

    /// Adds a command of the person. The lines that follow belong to it.
    pub(crate) fn add_command(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.finish_text(self.width);
        self.begin(Subject::Prompt);
        self.finished.extend(lines);
        self.last = Subject::Other;
    }

    /// Adds the change that a question shows, which is not printed again after the call.
    pub(crate) fn add_change(&mut self, call: CallId, change: Vec<Line>) {
        self.shown_changes.add(call, &change);
        self.finished.extend(change);
    }

    /// Shows the call that a sub-agent starts, in the line of the call that runs it. Returns whether there is one.
    pub(crate) fn on_subagent_event(&mut self, session: &str, event: &Event) -> bool {
        let EventKind::ToolCallStarted { call, .. } = &event.kind else { return false };
        let running = self.running.iter_mut().find(|running| running.subagent.as_deref() == Some(session));
        let Some(running) = running else { return false };
        running.step = Some(format!("{} {}", call.name, target_of(call).unwrap_or_default()));
        true
    }

    /// Shows the last line of the output of a call that runs.
    pub(crate) fn set_output_line(&mut self, call: &CallId, line: &str) {
        if let Some(running) = self.running.iter_mut().find(|running| running.id == *call) {
            running.step = Some(line.to_owned());
        }
    }

    /// Begins the lines of earlier turns.
    pub(crate) fn begin_past(&mut self) {
        self.is_past = true;
    }

    /// Ends the lines of earlier turns: a run that was killed has calls and text without an end.
    pub(crate) fn end_past(&mut self) {
        self.is_past = false;
        self.finish_text(self.width);
        self.running.clear();
    }

    /// Adds the lines of an event. `width` is the width of the screen.
    pub(crate) fn on_event(&mut self, event: &Event, now: Instant, width: usize) {
        self.width = width;
        self.note_model_state(event, now);
        match &event.kind {
            EventKind::RunStarted(head) => self.on_start(head),
            EventKind::UserMessage { content, .. } | EventKind::PromptWithheld { content } => {
                self.finish_text(width);
                let text = content.first().map_or("", String::as_str);
                self.begin(Subject::Prompt);
                let lines: Vec<&str> = text.lines().collect();
                let is_short = self.is_complete || lines.len() <= PROMPT_LINES;
                let shown = if is_short { lines.len() } else { PROMPT_LINES / 2 };
                for (number, line) in lines.iter().take(shown).enumerate() {
                    let sign = if number == 0 { "❯ " } else { "  " };
                    let line = Line::new(Style::color(Color::Cyan), sign).with(Style::BOLD, line);
                    self.finished.extend(line.wrap(width, 2));
                }
                self.finished.extend(hidden_lines(&self.catalogue, lines.len() - shown));
            }
            EventKind::TextDelta { text } => {
                for block in self.text.push(text) {
                    self.print_block(&block, width);
                }
            }
            EventKind::ToolCallStarted { call, .. } => {
                self.finish_text(width);
                let target = target_of(call).unwrap_or_default();
                self.running.push(RunningCall {
                    id: call.id.clone(),
                    label: format!("{} {target}", call.name),
                    subagent: subagent_session(call).map(str::to_owned),
                    step: None,
                    since: now,
                    since_ms: event.at_ms,
                });
            }
            EventKind::ToolCallFinished { call, outcome, .. } => {
                self.finish_text(width);
                let at = self.running.iter().position(|running| running.id == call.id);
                let started = at.map(|at| self.running.remove(at));
                let ms = started.map(|running| event.at_ms.saturating_sub(running.since_ms));
                let omits_change = self.shown_changes.remove(call, outcome);
                self.begin(Subject::Call);
                self.finished.extend(finished_call(
                    &self.catalogue,
                    call,
                    outcome,
                    ms,
                    width,
                    CallDetails { is_complete: self.is_complete, omits_change },
                ));
            }
            EventKind::ModelRequestFinished { answer, .. } => {
                self.finish_text(width);
                if let Some(usage) = &answer.usage {
                    self.context_tokens = usage.total();
                }
            }
            EventKind::HookMessage { .. } => self.finish_text(width),
            EventKind::RunFinished(run) => self.on_end(run, width),
            EventKind::Compacted(compacted) => {
                let (before, after) = (compacted.before_tokens, compacted.after_tokens);
                let text = self.catalogue.line(&TuiLine::Compacted { before, after });
                self.add_lines([Line::new(Style::DIM, &text)]);
            }
            // The time of a call starts when it may run, not when the person is asked.
            EventKind::PermissionDecided(decided) => {
                let asked = self.running.iter_mut().find(|running| running.id == decided.call_id);
                if let Some(running) = asked {
                    (running.since, running.since_ms) = (now, event.at_ms);
                }
            }
            EventKind::RulesAdded { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::Retrying { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::Notice(_) => {}
        }
    }

    /// Keeps whether the model thinks or writes, or whether nothing of its answer has arrived.
    fn note_model_state(&mut self, event: &Event, now: Instant) {
        let state = if matches!(event.kind, EventKind::ThinkingDelta { .. }) {
            ModelState::Thinking
        } else if matches!(event.kind, EventKind::TextDelta { .. }) {
            ModelState::Writing
        } else {
            ModelState::Waiting
        };
        if self.model.is_none_or(|(known, _)| known != state) {
            self.model = Some((state, now));
        }
    }

    /// Shows the model and the mode in the status line, and nothing of an earlier turn.
    pub(crate) fn set_status(&mut self, model: &str, mode: PermissionMode, context_window: Option<u64>) {
        self.mode = Some(mode);
        self.context_window = context_window;
        self.status = status_of(model, mode);
        self.usage.clear();
    }

    fn on_start(&mut self, head: &RunStarted) {
        self.mode = Some(head.permission_mode);
        self.status = status_of(&head.model.display, head.permission_mode);
        if std::mem::replace(&mut self.is_welcomed, true) {
            return;
        }
        let directory = head.cwd.display().to_string();
        let welcome = TuiLine::Welcome { model: &head.model.display, directory: &directory };
        self.begin(Subject::Other);
        self.finished.push(Line::new(Style::BOLD, &self.catalogue.line(&welcome)));
    }

    fn on_end(&mut self, run: &RunFinished, width: usize) {
        self.finish_text(width);
        self.running.clear();
        self.shown_changes.clear();
        if let (true, RunOutcome::Failed(failure)) = (self.is_past, &run.outcome) {
            let line = if failure.reason == Reason::Signalled(Signal::Int) {
                Line::new(Style::DIM, &self.catalogue.line(&TuiLine::Interrupted))
            } else {
                let message = self.catalogue.failure(failure).message;
                Line::new(Style::color(Color::Red), &format!("error: {message}"))
            };
            self.begin(Subject::Other);
            self.finished.extend(line.wrap(width, 2));
        }
        let tokens = run.totals.usage.as_ref().map(|usage| {
            let text = count_text(usage.input + usage.cache_write + usage.output);
            let cached = count_text(usage.cache_read);
            self.catalogue.line(&match usage.cache_read {
                0 => TuiLine::Tokens { text: &text },
                _ => TuiLine::TokensAndCached { text: &text, size: &cached },
            })
        });
        // A model on this machine costs nothing.
        let cost = run
            .totals
            .cost_micros
            .filter(|micros| *micros > 0)
            .map(|micros| format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100));
        let left =
            self.context_window.filter(|window| *window > 0 && self.context_tokens > 0).map(|window| {
                let percent = window.saturating_sub(self.context_tokens).saturating_mul(100) / window;
                self.catalogue.line(&TuiLine::ContextLeft { percent })
            });
        let parts: Vec<String> =
            [Some(duration(run.duration_ms)), left, tokens, cost].into_iter().flatten().collect();
        self.usage = parts.join(" · ");
    }

    /// Prints the incomplete block of the answer.
    fn finish_text(&mut self, width: usize) {
        if let Some(block) = self.text.finish() {
            self.print_block(&block, width);
        }
    }

    fn print_block(&mut self, block: &str, width: usize) {
        self.begin(Subject::Text);
        self.finished.extend(markdown::render(block, width));
    }

    /// Starts lines about a subject, after an empty line where the subject changes.
    fn begin(&mut self, subject: Subject) {
        let is_same = self.last == subject && matches!(subject, Subject::Call | Subject::Other);
        if self.last != Subject::Start && !is_same {
            self.finished.push(Line::default());
        }
        self.last = subject;
    }
}
