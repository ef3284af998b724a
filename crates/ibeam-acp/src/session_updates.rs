//! Converts the events of a session into updates for an editor, while a turn runs and for the turns of the past.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CompactionStatus, CompactionUpdate,
    ContentChunk, Cost, MessageId, Notice as ShownNotice, NoticeSeverity, SessionInfoUpdate, SessionUpdate,
    UnstructuredCommandInput, UsageUpdate,
};
use ibeam_output::{Catalogue, EditorLine};
use ibeam_protocol::{ClassCosts, Compacted, Event, EventKind, ToolFailure, ToolOutcome, ToolOutput, Usage};

use crate::client::ClientFeatures;
use crate::subagent_progress::SubagentProgress;
use crate::tool_call::{self, CallView, Detail, text_block};

/// Maximum number of bytes of a payload of a past call.
const MAX_PAST_PAYLOAD_BYTES: usize = 2 << 10;
/// Maximum number of characters of the title of a session.
const MAX_TITLE_CHARS: usize = 100;

/// The properties of a session that its updates depend on.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    pub cwd: PathBuf,
    /// The optional features of the client.
    pub features: ClientFeatures,
    /// The context window of the model in tokens, if it is known.
    pub context_window: Option<u64>,
}

/// The state of the conversion of one session.
pub struct SessionUpdates {
    options: UpdateOptions,
    catalogue: Arc<Catalogue>,
    /// Whether the events are those of the past.
    is_replay: bool,
    /// The texts of a past answer that are not sent yet: visible text, or reasoning.
    pending: Option<(TextKind, String)>,
    /// The message of the last chunk: its kind, and the number of the event that began it. The number is the same
    /// whenever the session is read again.
    message: Option<(TextKind, u64)>,
    subagents: SubagentProgress,
    has_title: bool,
    cost_micros: Option<u64>,
    /// The tokens of the last request and its answer.
    used_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    User,
    Answer,
    Thought,
}

impl SessionUpdates {
    /// Returns the conversion for a session without a past.
    pub fn new(options: UpdateOptions, catalogue: Arc<Catalogue>) -> Self {
        Self {
            options,
            catalogue,
            is_replay: false,
            pending: None,
            message: None,
            subagents: SubagentProgress::default(),
            has_title: false,
            cost_micros: None,
            used_tokens: None,
        }
    }

    /// Starts or ends the conversion of the past, which shortens large payloads and joins the deltas of an answer.
    /// Returns what was still pending.
    pub fn set_replay(&mut self, is_replay: bool) -> Vec<SessionUpdate> {
        let updates = self.flush_text().into_iter().collect();
        self.is_replay = is_replay;
        updates
    }

    /// Replaces the options after a change of the model.
    pub fn set_options(&mut self, options: UpdateOptions) {
        self.options = options;
    }

    /// Folds an event of the past without showing it, for the title and the cost.
    pub fn skip(&mut self, event: &Event) {
        match &event.kind {
            EventKind::UserMessage { .. } => self.has_title = true,
            EventKind::ModelRequestFinished { answer, cost_micros, .. } => {
                self.add_usage(answer.usage, *cost_micros);
            }
            EventKind::ToolCallFinished { outcome, .. } => self.add_cost(subagent_cost(outcome)),
            EventKind::Compacted(compacted) => self.add_compaction(compacted),
            EventKind::HookRequestFinished(request) => self.add_cost(request.costs.map(ClassCosts::micros)),
            EventKind::RunStarted(_)
            | EventKind::PromptWithheld { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::Retrying { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::Notice(_)
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::RunFinished(_) => {}
        }
    }

    /// Returns the update for an event of the sub-agent with the session `session`, if its call runs.
    pub fn convert_subagent(&mut self, session: &str, event: &Event) -> Option<SessionUpdate> {
        let view = CallView {
            cwd: &self.options.cwd,
            detail: Detail::Full,
            catalogue: &self.catalogue,
            has_terminals: false,
        };
        self.subagents.step(session, event, view)
    }

    /// Returns the updates for an event.
    pub fn convert(&mut self, event: &Event) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        match &event.kind {
            EventKind::TextDelta { text } => updates.extend(self.delta(TextKind::Answer, text, event.seq)),
            EventKind::ThinkingDelta { text } => {
                updates.extend(self.delta(TextKind::Thought, text, event.seq));
            }
            EventKind::RunStarted(_) => updates.extend(self.flush_text()),
            EventKind::UserMessage { content, attachments } => {
                updates.extend(self.flush_text());
                if self.is_replay {
                    let mut text = content.join("\n\n");
                    for attachment in attachments {
                        let line = EditorLine::Attached { name: attachment.name() };
                        text.push_str(&format!("\n[{}]", self.catalogue.line(&line)));
                    }
                    self.message = None;
                    updates.push(self.chunk(TextKind::User, text, event.seq));
                }
                self.message = None;
                updates.extend(self.title(content.first().map_or("", String::as_str)));
            }
            EventKind::PromptWithheld { content } if self.is_replay => {
                updates.extend(self.flush_text());
                self.message = None;
                updates.push(self.chunk(TextKind::User, content.join("\n\n"), event.seq));
            }
            EventKind::ModelRequestFinished { answer, cost_micros, .. } => {
                updates.extend(self.flush_text());
                self.message = None;
                self.add_usage(answer.usage, *cost_micros);
                if !self.is_replay {
                    updates.extend(self.usage());
                }
            }
            EventKind::ToolCallStarted { call, .. } => {
                updates.extend(self.flush_text());
                if !self.is_replay {
                    self.subagents.start(call);
                }
                let call = tool_call::started(call, self.view());
                updates.push(SessionUpdate::ToolCall(call));
            }
            EventKind::PermissionDecided(decided) if decided.allowed && !self.is_replay => {
                updates.push(SessionUpdate::ToolCallUpdate(tool_call::approved(decided.call_id.as_str())));
            }
            EventKind::ToolCallFinished { call, outcome, .. } => {
                updates.extend(self.flush_text());
                self.subagents.end(call);
                self.add_cost(subagent_cost(outcome));
                let finished = tool_call::finished(call, outcome, self.view());
                updates.push(SessionUpdate::ToolCallUpdate(finished));
                if let ToolOutcome::Success { output: ToolOutput::Todos(todos), .. } = outcome.as_ref() {
                    updates.push(SessionUpdate::Plan(tool_call::plan(todos)));
                }
            }
            EventKind::Compacted(compacted) => {
                updates.extend(self.flush_text());
                self.add_compaction(compacted);
                if self.options.features.compaction {
                    let id = format!("compaction-{}", event.seq);
                    let update = CompactionUpdate::new(id, CompactionStatus::Completed)
                        .summary(vec![text_block(compacted.summary.as_str())]);
                    updates.push(SessionUpdate::CompactionUpdate(update));
                } else if self.options.features.notices && !self.is_replay {
                    let title = self.catalogue.compaction_warning(compacted);
                    updates.push(SessionUpdate::Notice(ShownNotice::new(NoticeSeverity::Info, title)));
                }
            }
            EventKind::Notice(notice) if self.options.features.notices && !self.is_replay => {
                let notice = ShownNotice::new(NoticeSeverity::Warning, self.catalogue.notice(notice));
                updates.push(SessionUpdate::Notice(notice));
            }
            EventKind::HookRequestFinished(request) => self.add_cost(request.costs.map(ClassCosts::micros)),
            EventKind::RunFinished(_) => updates.extend(self.flush_text()),
            EventKind::PromptWithheld { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::Retrying { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::Notice(_) => {}
        }
        updates
    }

    /// Returns the tokens in the context window and the cost of the session, if both are known.
    pub fn usage(&self) -> Option<SessionUpdate> {
        let usage = UsageUpdate::new(self.used_tokens?, self.options.context_window?);
        // Millionths of a dollar are far below the precision of a double.
        #[expect(clippy::cast_precision_loss, reason = "the cost of a session is below 2^53 millionths")]
        let cost = self.cost_micros.map(|micros| Cost::new(micros as f64 / 1e6, "USD"));
        Some(SessionUpdate::UsageUpdate(usage.cost(cost)))
    }

    fn view(&self) -> CallView<'_> {
        let detail = if self.is_replay { Detail::Shortened(MAX_PAST_PAYLOAD_BYTES) } else { Detail::Full };
        let has_terminals = self.options.features.terminal_output;
        CallView { cwd: &self.options.cwd, detail, catalogue: &self.catalogue, has_terminals }
    }

    /// Returns the chunk of a delta. The deltas of the past are joined.
    fn delta(&mut self, kind: TextKind, text: &str, seq: u64) -> Option<SessionUpdate> {
        if !self.is_replay {
            return Some(self.chunk(kind, text.to_owned(), seq));
        }
        match &mut self.pending {
            Some((pending, joined)) if *pending == kind => {
                joined.push_str(text);
                None
            }
            Some(_) | None => {
                let flushed = self.flush_text();
                self.begin_message(kind, seq);
                self.pending = Some((kind, text.to_owned()));
                flushed
            }
        }
    }

    fn flush_text(&mut self) -> Option<SessionUpdate> {
        let (kind, text) = self.pending.take()?;
        // The first delta has begun the message.
        Some(self.chunk(kind, text, 0))
    }

    /// Returns the number of the message to which a chunk of the event `seq` belongs. Consecutive chunks of one kind
    /// belong to one message.
    fn begin_message(&mut self, kind: TextKind, seq: u64) -> u64 {
        match self.message {
            Some((current, number)) if current == kind => number,
            Some(_) | None => {
                self.message = Some((kind, seq));
                seq
            }
        }
    }

    /// Returns a chunk of text of the event `seq`.
    fn chunk(&mut self, kind: TextKind, text: String, seq: u64) -> SessionUpdate {
        let id = format!("message-{}", self.begin_message(kind, seq));
        let chunk = ContentChunk::new(text_block(text)).message_id(MessageId::new(id));
        match kind {
            TextKind::User => SessionUpdate::UserMessageChunk(chunk),
            TextKind::Answer => SessionUpdate::AgentMessageChunk(chunk),
            TextKind::Thought => SessionUpdate::AgentThoughtChunk(chunk),
        }
    }

    /// Returns the title of the session, which is the start of its first prompt.
    fn title(&mut self, prompt: &str) -> Option<SessionUpdate> {
        let is_first = !std::mem::replace(&mut self.has_title, true);
        let title = title_of(prompt).filter(|_| is_first)?;
        Some(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)))
    }

    fn add_usage(&mut self, usage: Option<Usage>, cost_micros: Option<u64>) {
        if let Some(Usage { input, output, cache_read, cache_write, .. }) = usage {
            self.used_tokens = Some(input + output + cache_read + cache_write);
        }
        self.add_cost(cost_micros);
    }

    fn add_compaction(&mut self, compacted: &Compacted) {
        self.used_tokens = Some(compacted.after_tokens);
        self.add_cost(compacted.cost_micros);
    }

    fn add_cost(&mut self, micros: Option<u64>) {
        if let Some(micros) = micros {
            *self.cost_micros.get_or_insert(0) += micros;
        }
    }
}

/// Returns the cost of the sub-agent that a call started, if it is known.
fn subagent_cost(outcome: &ToolOutcome) -> Option<u64> {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Task(task), .. } => task.totals.cost_micros,
        ToolOutcome::Failure { failure: ToolFailure::TaskFailed { totals, .. }, .. } => totals.cost_micros,
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => None,
    }
}

/// Returns the update with these slash commands: the name, the description, and the arguments for people.
pub fn available_commands(commands: impl Iterator<Item = (String, String, Option<String>)>) -> SessionUpdate {
    let command = |(name, description, arguments): (String, String, Option<String>)| {
        let input =
            arguments.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        AvailableCommand::new(name, description).input(input)
    };
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands.map(command).collect()))
}

/// Returns the first line of a prompt that is not empty, shortened.
pub fn title_of(prompt: &str) -> Option<String> {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty())?;
    let title: String = line.chars().take(MAX_TITLE_CHARS).collect();
    Some(if title.len() < line.len() { format!("{title}…") } else { title })
}
