//! Writes stdout in the dialect of another program: converts events of runs to lines of the dialect.
//!
//! A line is written with the event that completes it. One writer writes any number of runs, and between them the
//! messages of the control protocol.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_dialects::{LiveEncoder, Step, TextStep, write_line};
use ibeam_output::{EventWriter, call_event, failure_event, init_event, result_event};
use ibeam_protocol::{Event, EventKind, Reason, RunOutcome, SessionId, Signal};
use ibeam_wire::{Contract, ErrorEvent};
use serde_json::Value;

use super::control_protocol::value_at;
use super::partial_messages::PartialMessages;
use super::run_facts::RunFacts;
use super::{DialectOptions, DialectOutput};
use ibeam_agent::clock::now_ms;
use ibeam_agent::session_observer::{ModelLimits, SessionObserver};
use ibeam_agent::slash_commands::SlashCommand;

/// The message of a run that the host has interrupted, as Claude Code writes it.
const INTERRUPTED: &str = "[Request interrupted by user]";
/// The size from which waiting lines are written without waiting for a flush.
const MAX_WAITING_BYTES: usize = 64 * 1024;

/// A writer that can be shared: lines of a run and of the control protocol do not mix.
#[derive(Clone)]
pub struct DialectWriter {
    options: Arc<DialectOptions>,
    state: Arc<Mutex<State>>,
}

struct State {
    options: Arc<DialectOptions>,
    out: Box<dyn Write + Send>,
    /// Complete lines that wait for a flush.
    waiting: Vec<u8>,
    /// The error of the output. After an error no line is written, because a part of a line may have been written.
    broken: Option<io::ErrorKind>,
    /// The id of the session, once a run has started.
    session: Option<String>,
    /// The encoder of the run in progress.
    encoder: Option<LiveEncoder>,
    /// Whether the last step was the end of a run.
    has_ended: bool,
    /// Whether the host has asked for the end of the run.
    is_interrupted: bool,
    partial_messages: PartialMessages,
    final_message: FinalMessage,
    /// The last line of the run, where the output is that line.
    last_line: Option<Value>,
    /// The calls of the run as the stream reported them, by id: name and input.
    reported_calls: HashMap<String, (String, Value)>,
    facts: RunFacts,
    /// The first texts and the ids of the prompts of the host that were not written yet.
    prompt_ids: VecDeque<(String, String)>,
}

/// The text after the last call, or before it where no text follows.
#[derive(Default)]
struct FinalMessage {
    text: String,
    /// Whether the next text continues this one.
    is_open: bool,
}

impl DialectWriter {
    /// Returns a writer before the first run.
    pub fn new(options: DialectOptions, out: impl Write + Send + 'static) -> Self {
        let options = Arc::new(options);
        let state = State {
            options: Arc::clone(&options),
            out: Box::new(out),
            waiting: Vec::new(),
            broken: None,
            session: None,
            encoder: None,
            has_ended: false,
            is_interrupted: false,
            partial_messages: PartialMessages::default(),
            final_message: FinalMessage::default(),
            last_line: None,
            reported_calls: HashMap::new(),
            facts: RunFacts::new(&options.claude.mode),
            prompt_ids: VecDeque::new(),
        };
        Self { options, state: Arc::new(Mutex::new(state)) }
    }

    pub fn options(&self) -> &DialectOptions {
        &self.options
    }

    /// Returns a writer of the events of any number of runs.
    pub fn event_writer(&self) -> Box<dyn EventWriter + Send> {
        Box::new(self.clone())
    }

    /// Replaces the output.
    pub fn set_output(&self, out: impl Write + Send + 'static) {
        let mut state = self.lock();
        (state.out, state.broken) = (Box::new(out), None);
    }

    /// Prepares for a further run after one that has ended.
    pub(crate) fn start_run(&self) {
        self.lock().has_ended = false;
    }

    /// Writes a line that is not part of a run and flushes it.
    ///
    /// # Errors
    /// The error of the output.
    pub(crate) fn write_line(&self, line: &Value) -> io::Result<()> {
        let mut state = self.lock();
        state.out.write_all(format!("{line}\n").as_bytes())?;
        state.out.flush()
    }

    /// Writes a failure as the end of the stream, unless the last run has ended. Ignores errors of the output.
    pub fn write_failure(&self, mut event: ErrorEvent<Cow<'_, str>>, reason: Option<&Reason>) {
        let mut state = self.lock();
        if state.has_ended {
            return;
        }
        // The output is tried again, because the error may come from an earlier output.
        state.broken = None;
        if state.options.is_claude() && state.encoder.is_none() {
            let mut init = state.options.claude.init_of_failed_run();
            if let Some(session) = &state.session {
                init.session_id = session.clone().into();
            }
            let step = Step::from_init(&init);
            drop(state.write(step));
        }
        if let Some(message) = reason.and_then(|reason| self.options.failure_message(reason)) {
            ibeam_agent::stderr::write_line(&message);
            event.message = message.into();
        }
        let end = Step::from_error(&event);
        drop(state.end_with_error(end).and_then(|()| state.flush()));
    }

    /// Records whether the host has asked for the end of the run in progress, or of the next one.
    pub(crate) fn expect_interrupt(&self, is_interrupted: bool) {
        self.lock().is_interrupted = is_interrupted;
    }

    /// Adds the id that the host gave a prompt. The line of the prompt has it.
    pub(crate) fn add_prompt_id(&self, text: String, id: String) {
        self.lock().prompt_ids.push_back((text, id));
    }

    /// Returns the name and the input of a call as the stream reported them.
    pub(crate) fn reported_call(&self, id: &str) -> Option<(String, Value)> {
        self.lock().reported_calls.get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves only complete lines, so the state can still be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionObserver for DialectWriter {
    fn on_model(&self, model: &str, limits: ModelLimits) {
        self.lock().facts.set_limits(model, limits);
    }

    fn wants_commands(&self) -> bool {
        self.options.lists_commands()
    }

    fn on_commands(&self, commands: Vec<SlashCommand>, agents: &[String]) {
        self.lock().facts.set_commands(&commands, agents);
    }
}

impl EventWriter for DialectWriter {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let mut state = self.lock();
        state.facts.observe(event);
        match &event.kind {
            EventKind::RunStarted(head) => {
                let session = head.session_id.to_string();
                state.options.codex.print_session_id(&session);
                let step = Step::from_init(&init_event(head, &session, Contract::One));
                state.session = Some(session);
                state.write(step)
            }
            EventKind::UserMessage { content, .. } | EventKind::PromptWithheld { content } => {
                state.check_started()?;
                match state.options.writes_prompts() {
                    true => state.write_prompt(content),
                    false => Ok(()),
                }
            }
            EventKind::TextDelta { text } => {
                state.check_started()?;
                state.final_message.push(text);
                let at_ms = Some(event.at_ms);
                state.write(Step::Text(TextStep { text: text.clone(), at_ms, answer_id: None }))
            }
            EventKind::ToolCallStarted { model_call_id, call } => {
                let session = state.check_started()?;
                let event = call_event(session, model_call_id, event.at_ms, call, None);
                let step = Step::from_call_start(&event);
                state.final_message.is_open = false;
                state.write(step)
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                let session = state.check_started()?;
                let event = call_event(session, model_call_id, event.at_ms, call, Some(outcome.as_ref()));
                let step = Step::from_call_end(&event);
                state.final_message.is_open = false;
                state.write(step)
            }
            EventKind::RunFinished(run) => {
                state.check_started()?;
                let is_interrupted = std::mem::take(&mut state.is_interrupted);
                match &run.outcome {
                    RunOutcome::Completed => state.end_with_result(Step::from_result(&result_event(run))),
                    RunOutcome::Failed(failure) => {
                        let mut event = failure_event(failure, Some(run));
                        // No signal has ended the run.
                        if is_interrupted && failure.reason == Reason::Signalled(Signal::Int) {
                            event.message = INTERRUPTED.into();
                        }
                        state.end_with_error(Step::from_error(&event))
                    }
                }
            }
            EventKind::ThinkingDelta { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
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
        self.lock().flush()
    }
}

impl State {
    /// Returns the id of the session.
    fn check_started(&self) -> io::Result<&str> {
        self.session.as_deref().ok_or_else(|| io::Error::other("an event came before `RunStarted`"))
    }

    fn end_with_result(&mut self, end: Step) -> io::Result<()> {
        let lines = self.encode(end);
        let message = std::mem::take(&mut self.final_message).text;
        match self.options.output {
            DialectOutput::Stream => self.append(&lines)?,
            DialectOutput::LastLine => self.append_last_line(lines)?,
            DialectOutput::FinalMessage if message.is_empty() => {}
            DialectOutput::FinalMessage => self.append_bytes(format!("{message}\n").as_bytes())?,
        }
        if self.options.codex.needs_last_message() {
            // The end of the run is written to stdout before the wait for a slow disk.
            self.flush()?;
            self.options.codex.write_last_message(&message);
        }
        Ok(())
    }

    fn end_with_error(&mut self, end: Step) -> io::Result<()> {
        let lines = self.encode(end);
        self.final_message = FinalMessage::default();
        match self.options.output {
            DialectOutput::Stream => self.append(&lines),
            DialectOutput::LastLine => self.append_last_line(lines),
            DialectOutput::FinalMessage => Ok(()),
        }
    }

    /// Writes a prompt, with the id that the host gave it.
    fn write_prompt(&mut self, content: &[String]) -> io::Result<()> {
        let mut lines = self.encode(Step::Prompt(content.to_vec()));
        let is_written = |(text, _): &(String, String)| content.first() == Some(text);
        if let Some(at) = self.prompt_ids.iter().position(is_written)
            && let Some((_, id)) = self.prompt_ids.drain(..=at).next_back()
        {
            let prompts = lines.iter_mut().filter(|line| *value_at(line, "/type") == "user");
            for line in prompts.filter_map(Value::as_object_mut) {
                line.insert("uuid".to_owned(), id.clone().into());
            }
        }
        self.write_lines(lines)
    }

    /// Writes a step that is not the end of the run.
    fn write(&mut self, step: Step) -> io::Result<()> {
        let lines = self.encode(step);
        self.write_lines(lines)
    }

    fn write_lines(&mut self, lines: Vec<Value>) -> io::Result<()> {
        match self.options.output {
            DialectOutput::Stream => self.append(&lines),
            DialectOutput::LastLine => {
                self.last_line = lines.into_iter().next_back().or(self.last_line.take());
                Ok(())
            }
            DialectOutput::FinalMessage => Ok(()),
        }
    }

    /// Returns the lines for a step.
    fn encode(&mut self, step: Step) -> Vec<Value> {
        let mut lines = Vec::new();
        self.has_ended = matches!(step, Step::End(_));
        if self.options.partial_messages {
            self.partial_messages.write(&step, &mut lines);
        }
        let dialect = self.options.dialect;
        let encoder = self
            .encoder
            .get_or_insert_with(|| LiveEncoder::new(dialect, &SessionId::random().to_string(), now_ms()));
        encoder.set_time(now_ms());
        encoder.write(step, &mut lines);
        if self.has_ended
            && let Some(encoder) = self.encoder.take()
        {
            encoder.finish(&mut lines);
            self.reported_calls.clear();
        }
        if self.options.is_claude() {
            lines.iter_mut().for_each(|line| self.facts.complete(line));
        }
        if self.options.ask_host {
            self.record_calls(&lines);
        }
        lines
    }

    fn record_calls(&mut self, lines: &[Value]) {
        let blocks = lines.iter().filter_map(|line| line.pointer("/message/content")?.as_array()).flatten();
        for block in blocks.filter(|block| *value_at(block, "/type") == "tool_use") {
            let text = |pointer: &str| value_at(block, pointer).as_str().unwrap_or_default().to_owned();
            self.reported_calls.insert(text("/id"), (text("/name"), value_at(block, "/input").clone()));
        }
    }

    fn append_last_line(&mut self, lines: Vec<Value>) -> io::Result<()> {
        let last = lines.into_iter().next_back().or(self.last_line.take());
        self.last_line = None;
        self.append(last.as_slice())
    }

    fn append(&mut self, lines: &[Value]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for line in lines {
            match self.options.is_claude() {
                // Claude Code escapes only what JSON requires.
                true => bytes.extend_from_slice(format!("{line}\n").as_bytes()),
                false => write_line(line, &mut bytes),
            }
        }
        self.append_bytes(&bytes)
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(kind) = self.broken {
            return Err(kind.into());
        }
        self.waiting.extend_from_slice(bytes);
        match self.waiting.len() >= MAX_WAITING_BYTES {
            true => self.write_waiting(),
            false => Ok(()),
        }
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.out.write_all(&self.waiting);
        self.waiting.clear();
        self.waiting.shrink_to(2 * MAX_WAITING_BYTES);
        self.record_error(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(kind) = self.broken {
            return Err(kind.into());
        }
        self.write_waiting()?;
        let flushed = self.out.flush();
        self.record_error(flushed)
    }

    fn record_error(&mut self, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result {
            self.broken = Some(error.kind());
        }
        result
    }
}

impl FinalMessage {
    fn push(&mut self, text: &str) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.text.clear();
        }
        self.text.push_str(text);
    }
}

#[cfg(test)]
#[path = "dialect_writer_test.rs"]
mod tests;
