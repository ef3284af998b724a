//! `stream-json`: one complete line per event, in the order of the run.
//!
//! Under contract 1 each delta is a line. Under contract 2 each segment is a line, and deltas are optional.

use std::io::{self, Write};

use ibeam_protocol::{
    Attachment, Event, EventKind, ModelCallId, RunFinished, RunOutcome, ToolCall, ToolOutcome,
};
use ibeam_wire::{
    AssistantEvent, AttachmentEntry, Contract, Message, ResultEvent, TextBlock, UserEvent, UserExtras,
};
use serde::Serialize;

use crate::delta_line::{DeltaLine, assistant_message};
use crate::json_line::write_line;
use crate::line_buffer::LineBuffer;
use crate::run_lines::{
    borrowed, call_event, completed_summary, error_event, fallback_event, init_event, result_event,
};
use crate::writer::EventWriter;

/// Writes NDJSON of either contract.
pub struct StreamJson<W> {
    lines: LineBuffer<W>,
    session_id: Option<String>,
    delta: Option<DeltaLine>,
    /// The text of all deltas so far, which the last line repeats.
    result: String,
    final_message: FinalMessage,
    /// Whether the last line is written in pieces.
    spares_memory: bool,
    /// The segments; only under contract 2.
    segments: Option<Segments>,
}

impl<W: Write> StreamJson<W> {
    /// Returns a writer for one run, under contract 1.
    pub fn new(out: W) -> Self {
        Self {
            lines: LineBuffer::new(out),
            session_id: None,
            delta: None,
            result: String::new(),
            final_message: FinalMessage::default(),
            spares_memory: false,
            segments: None,
        }
    }

    /// Returns a writer for one run, under contract 2. With `partial` it prints the deltas of each segment before the segment.
    pub fn for_contract_two(out: W, partial: bool) -> Self {
        Self { segments: Some(Segments::new(partial)), ..Self::new(out) }
    }

    fn contract(&self) -> Contract {
        match self.segments {
            None => Contract::One,
            Some(_) => Contract::Two,
        }
    }

    fn append_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.lines.append(|bytes| write_line(bytes, line))
    }

    /// Writes the text since the last call as a segment. `before` is the `model_call_id` and the time of the next call; it is
    /// `None` for the last segment.
    fn end_segment(&mut self, before: Option<(&ModelCallId, u64)>) -> io::Result<()> {
        let Some(text) = self.segments.as_mut().and_then(|segments| segments.end(&self.result)) else {
            return Ok(());
        };
        let segment = AssistantEvent {
            message: assistant_message(text),
            session_id: self.session_id.as_deref().ok_or_else(too_early_error)?,
            model_call_id: before.map(|(model_call_id, _)| model_call_id.as_str()),
            timestamp_ms: before.map(|(_, at_ms)| at_ms),
        };
        self.lines.append(|bytes| write_line(bytes, &segment))
    }

    fn write_call(
        &mut self,
        model_call_id: &ModelCallId,
        timestamp_ms: u64,
        call: &ToolCall,
        outcome: Option<&ToolOutcome>,
    ) -> io::Result<()> {
        let session_id = self.session_id.as_deref().ok_or_else(too_early_error)?;
        let event = call_event(session_id, model_call_id, timestamp_ms, call, outcome);
        self.lines.append(|bytes| write_line(bytes, &event))
    }

    fn write_end(&mut self, run: &RunFinished) -> io::Result<()> {
        self.end_segment(None)?;
        self.segments.iter_mut().for_each(Segments::restart);
        let result = &std::mem::take(&mut self.result);
        let final_message = self.final_message.take(result);
        match &run.outcome {
            RunOutcome::Completed => self.append_line(&ResultEvent {
                result: borrowed(result),
                ibeam: Some(completed_summary(run, Some(final_message))),
                ..result_event(run)
            }),
            RunOutcome::Failed(failure) => {
                let message = crate::catalogue::english().failure(failure).message;
                let event = error_event(failure, &message, Some(run), Some(result));
                match self.spares_memory {
                    true => self.lines.write_in_pieces(&event),
                    false => self.append_line(&event),
                }
            }
        }
    }

    fn write_prompt(&mut self, content: &[String], attachments: &[Attachment]) -> io::Result<()> {
        let content = content.iter().map(|text| TextBlock { kind: "text", text: text.as_str() });
        let entry = |attachment| AttachmentEntry {
            name: Attachment::name(attachment),
            media_type: Attachment::media_type_name(attachment),
        };
        let attachments: Vec<_> = attachments.iter().map(entry).collect();
        let event = UserEvent {
            message: Message { role: "user", content: content.collect() },
            session_id: self.session_id.as_deref().ok_or_else(too_early_error)?,
            ibeam: (!attachments.is_empty()).then_some(UserExtras { attachments }),
        };
        self.lines.append(|bytes| write_line(bytes, &event))
    }
}

impl<W: Write> EventWriter for StreamJson<W> {
    fn spare_memory(&mut self) {
        self.spares_memory = true;
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        let timestamp_ms = event.at_ms;
        match &event.kind {
            EventKind::RunStarted(started) => {
                let session_id = started.session_id.to_string();
                // If the prompts are messages on stdin, it is printed once, before the first run.
                if started.message_turn <= 1 || self.session_id.is_none() {
                    let mut init = init_event(started, &session_id, self.contract());
                    if let (true, Some(extras)) = (started.message_turn > 0, &mut init.ibeam) {
                        extras.input = Some(borrowed("stream-json"));
                    }
                    self.append_line(&init)?;
                }
                self.delta = Some(DeltaLine::new(&session_id)?);
                self.session_id = Some(session_id);
                match started.continues {
                    // Every stream has a prompt; that of this run was in the stream of an earlier process.
                    true => self.write_prompt(&["[continued]".to_owned()], &[]),
                    false => Ok(()),
                }
            }
            EventKind::UserMessage { content, attachments } => self.write_prompt(content, attachments),
            EventKind::PromptWithheld { content } => self.write_prompt(content, &[]),
            EventKind::TextDelta { text } => {
                self.result.push_str(text);
                if self.segments.as_ref().is_some_and(|segments| !segments.partial) {
                    return Ok(());
                }
                let delta = self.delta.as_ref().ok_or_else(too_early_error)?;
                self.lines.append(|bytes| delta.write(bytes, text, timestamp_ms))
            }
            EventKind::ToolCallStarted { model_call_id, call } => {
                self.end_segment(Some((model_call_id, timestamp_ms)))?;
                self.final_message.restart(&self.result);
                self.write_call(model_call_id, timestamp_ms, call, None)
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                self.write_call(model_call_id, timestamp_ms, call, Some(outcome.as_ref()))
            }
            EventKind::Notice(notice) => {
                let session_id = self.session_id.as_deref().unwrap_or_default();
                match fallback_event(notice, session_id, timestamp_ms) {
                    Some(event) => self.lines.append(|bytes| write_line(bytes, &event)),
                    None => Ok(()),
                }
            }
            EventKind::RunFinished(run) => self.write_end(run),
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
            | EventKind::HookRequestFinished(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    fn finish_incomplete_run(&mut self) -> io::Result<()> {
        self.end_segment(None)?;
        self.flush()
    }
}

fn too_early_error() -> io::Error {
    io::Error::other("an event came before `RunStarted`")
}

/// The segments of one run: the texts between calls. Stores no text, because the writer stores the text of the run for the
/// last line.
#[derive(Debug)]
pub(crate) struct Segments {
    /// Whether deltas are printed before the segment that repeats them.
    pub(crate) partial: bool,
    /// The byte offset in the text of the run at which the current segment starts.
    start: usize,
}

impl Segments {
    pub(crate) fn new(partial: bool) -> Self {
        Self { partial, start: 0 }
    }

    /// Prepares for the text of another run.
    fn restart(&mut self) {
        self.start = 0;
    }

    /// Ends the current segment and returns its text, or `None` if it is empty. `text` is the text of the run so far.
    pub(crate) fn end<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let segment = text.get(self.start..).filter(|segment| !segment.is_empty());
        self.start = text.len();
        segment
    }
}

/// The byte offset in the text of a run at which the final message starts.
#[derive(Debug, Default)]
pub(crate) struct FinalMessage {
    start: usize,
}

impl FinalMessage {
    /// Records a call that starts after `text`. The text after the call may be the final message.
    pub(crate) fn restart(&mut self, text: &str) {
        self.start = text.len();
    }

    /// Returns the final message of a run with this text, and resets the offset for the next run.
    pub(crate) fn take<'a>(&mut self, text: &'a str) -> &'a str {
        text.get(std::mem::take(&mut self.start)..).unwrap_or_default()
    }
}
