//! stdout in another program's dialect: lines of contract 1 come in as they are born, theirs go out at once.
//!
//! What a line finishes is never held back. A run ends with its last line, so one voice tells any number of runs.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_dialects::{Converter, DialectName};
use ibeam_output::{EventWriter, StreamJson};
use ibeam_protocol::{Event, SessionId};
use serde_json::{Value, json};

use super::claude::Facts;
use super::control_protocol::at;
use super::partial_messages::PartialMessages;
use super::{DialectOptions, Output};
use crate::cli_error::CliError;
use crate::clock::now_ms;

/// A voice that can be shared; lines of one run and of the control protocol do not mix.
#[derive(Clone)]
pub(crate) struct DialectWriter {
    options: Arc<DialectOptions>,
    state: Arc<Mutex<State>>,
}

struct State {
    options: Arc<DialectOptions>,
    out: Box<dyn Write + Send>,
    /// The run that is told now.
    converter: Option<Converter>,
    partial_messages: PartialMessages,
    /// The last run has been told to its end.
    ended: bool,
    /// A line whose end has not come.
    torn: Vec<u8>,
    /// Lines of theirs, for a moment.
    said: Vec<u8>,
    /// The last line of theirs.
    last: Vec<u8>,
    /// The last text between two calls, and whether it may go on.
    text: (String, bool),
    /// Calls as they were told, by id: their name and their input.
    calls: HashMap<String, (String, Value)>,
    /// What the stream of Claude Code carries beyond contract 1.
    facts: Facts,
}

impl DialectWriter {
    /// A voice that speaks to `out`.
    pub(crate) fn new(options: DialectOptions, out: impl Write + Send + 'static) -> Self {
        let options = Arc::new(options);
        let state = State {
            options: Arc::clone(&options),
            out: Box::new(out),
            converter: None,
            partial_messages: PartialMessages::default(),
            ended: false,
            torn: Vec::new(),
            said: Vec::new(),
            last: Vec::new(),
            text: (String::new(), false),
            calls: HashMap::new(),
            facts: Facts::new(&options.claude.mode),
        };
        Self { options, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns the options of the dialect.
    pub(crate) fn options(&self) -> &DialectOptions {
        &self.options
    }

    /// Replaces the output.
    pub(crate) fn set_output(&self, out: impl Write + Send + 'static) {
        self.lock().out = Box::new(out);
    }

    /// Prepares for a further run after one that has ended.
    pub(crate) fn start_run(&self) {
        self.lock().ended = false;
    }

    /// Writes a line that is not part of a run and flushes it.
    ///
    /// # Errors
    /// Those of stdout.
    pub(crate) fn write_line(&self, line: &Value) -> io::Result<()> {
        let mut state = self.lock();
        state.out.write_all(format!("{line}\n").as_bytes())?;
        state.out.flush()
    }

    /// Writes a failure as the end of the stream, unless the last run has ended. Errors of stdout are ignored.
    pub(crate) fn write_failure(&self, error: &CliError) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        if state.options.dialect == DialectName::Claude && state.converter.is_none() {
            let head = head_of_failure(&state.options);
            drop(state.line(format!("{head}\n").as_bytes()));
        }
        let mut line = error.to_object();
        if let Some(words) = error.reason().and_then(|reason| self.options.words_of(reason)) {
            crate::stderr::write_line(&words);
            line = with_message(&line, words);
        }
        drop(state.line(format!("{line}\n").as_bytes()).and_then(|()| state.out.flush()));
    }

    /// Returns a writer of the events of any number of runs.
    pub(crate) fn event_writer(&self) -> Box<dyn EventWriter + Send> {
        Box::new(DialectEventWriter::new(self))
    }

    /// Sets the limits of the model, in tokens.
    pub(crate) fn set_model_limits(&self, window: Option<u64>, longest_output: Option<u64>) {
        self.lock().facts.set_limits(window, longest_output);
    }

    /// The call of this id as it was told: its name and its input.
    pub(crate) fn reported_call(&self, id: &str) -> Option<(String, Value)> {
        self.lock().calls.get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A line is said or it is not.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first line of a run that could not begin, in contract 1, with what is known of it.
fn head_of_failure(options: &DialectOptions) -> Value {
    let session = options.claude.session.clone().filter(|id| id.parse::<SessionId>().is_ok());
    let directory =
        std::env::current_dir().and_then(|path| path.canonicalize()).unwrap_or_else(|_| "/".into());
    let key = crate::environment::variable("ANTHROPIC_API_KEY").map_or("none", |_| "env");
    json!({
        "type": "system",
        "subtype": "init",
        "apiKeySource": "env",
        "cwd": directory.to_string_lossy(),
        "session_id": session.unwrap_or_else(|| SessionId::random().to_string()),
        "model": options.claude.model.as_deref().unwrap_or("unknown"),
        "permissionMode": "default",
        "tools": [],
        "mcp_servers": [],
        "ibeam": { "api_key": key },
    })
}

/// Writes the events of runs to a voice. Facts that contract 1 does not carry reach the voice beside the lines.
struct DialectEventWriter {
    lines: StreamJson<DialectWriter>,
    writer: DialectWriter,
}

impl DialectEventWriter {
    /// Returns a writer of any number of runs.
    fn new(writer: &DialectWriter) -> Self {
        Self { lines: StreamJson::new(writer.clone()), writer: writer.clone() }
    }
}

impl EventWriter for DialectEventWriter {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        if self.writer.lock().facts.is_changed_by(event) {
            // The lines of earlier events carry the facts of their own time.
            self.lines.flush()?;
            self.writer.lock().facts.observe(event);
        }
        self.lines.write(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    fn finish_incomplete(&mut self) -> io::Result<()> {
        self.lines.finish_incomplete()
    }
}

impl Write for DialectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !state.torn.is_empty() || !piece.ends_with(b"\n") {
                state.torn.extend_from_slice(piece);
                if !piece.ends_with(b"\n") {
                    continue;
                }
                let line = std::mem::take(&mut state.torn);
                state.line(&line)?;
            } else {
                state.line(piece)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().out.flush()
    }
}

impl State {
    /// Arity a line of contract 1.
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if line.starts_with(br#"{"type":"user","#)
            && self.options.dialect == DialectName::Claude
            && !self.options.echo_prompts
        {
            return Ok(());
        }
        let ends = line.starts_with(br#"{"type":"result","#) || line.starts_with(br#"{"type":"error","#);
        self.ended = ends;
        self.said.clear();
        if self.options.partial_messages {
            self.partial_messages.line(line, &mut self.said);
        }
        let dialect = self.options.dialect;
        let converter = self.converter.get_or_insert_with(|| {
            Converter::new(DialectName::Cursor, dialect).live(&SessionId::random().to_string(), now_ms())
        });
        converter.set_time(now_ms());
        converter.line(line, &mut self.said).map_err(io::Error::other)?;
        if ends && let Some(converter) = self.converter.take() {
            // What was lost is in docs/dialects.md; nobody reads it here.
            converter.finish(&mut self.said).map_err(io::Error::other)?;
        }
        if dialect == DialectName::Claude {
            self.said = self.facts.complete(&self.said);
        }
        if self.options.ask_host {
            self.remember_calls();
        }
        if self.options.output == Output::FinalMessage || self.options.codex.needs_last_message() {
            self.remember_text(line);
        }
        let answer = if ends { std::mem::take(&mut self.text).0 } else { String::new() };
        let succeeds = line.starts_with(br#"{"type":"result","#);
        match self.options.output {
            Output::Stream => self.out.write_all(&self.said)?,
            Output::LastLine => {
                if let Some(last) = self.said.split_inclusive(|byte| *byte == b'\n').next_back() {
                    self.last = last.to_vec();
                }
                if ends {
                    self.out.write_all(&std::mem::take(&mut self.last))?;
                }
            }
            Output::FinalMessage => {
                if line.starts_with(br#"{"type":"system","#) {
                    let event: Value = serde_json::from_slice(line).unwrap_or_default();
                    self.options
                        .codex
                        .print_session_id(at(&event, "/session_id").as_str().unwrap_or_default());
                }
                if succeeds && !answer.is_empty() {
                    self.out.write_all(format!("{answer}\n").as_bytes())?;
                }
            }
        }
        if succeeds && self.options.codex.needs_last_message() {
            // The end of the run is on stdout before a slow disk is waited for.
            self.out.flush()?;
            self.options.codex.write_last_message(&answer);
        }
        Ok(())
    }

    /// Keeps the final message: the text behind the last call, or the last one before it.
    fn remember_text(&mut self, line: &[u8]) {
        let (text, open) = &mut self.text;
        if line.starts_with(br#"{"type":"assistant","#) {
            if !std::mem::replace(open, true) {
                text.clear();
            }
            let event: Value = serde_json::from_slice(line).unwrap_or_default();
            text.push_str(at(&event, "/message/content/0/text").as_str().unwrap_or_default());
        } else if line.starts_with(br#"{"type":"tool_call","#) {
            *open = false;
        }
    }

    fn remember_calls(&mut self) {
        if self.ended {
            self.calls.clear();
        }
        let lines = self.said.split(|byte| *byte == b'\n');
        let events = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        for event in events {
            let blocks = event.pointer("/message/content").and_then(Value::as_array);
            for block in blocks.into_iter().flatten().filter(|block| *at(block, "/type") == "tool_use") {
                let text = |pointer: &str| at(block, pointer).as_str().unwrap_or_default().to_owned();
                self.calls.insert(text("/id"), (text("/name"), at(block, "/input").clone()));
            }
        }
    }
}

/// Returns a line with another sentence as its message.
fn with_message(line: &str, message: String) -> String {
    let mut event: Value = serde_json::from_str(line).unwrap_or_default();
    if let Some(event) = event.as_object_mut() {
        event.insert("message".to_owned(), message.into());
    }
    event.to_string()
}

#[cfg(test)]
#[path = "dialect_writer_test.rs"]
mod tests;

#[cfg(test)]
#[path = "dialect_writer_golden_test.rs"]
mod golden_tests;
