//! `stream-json`: one line per event, each whole, in the order of the run.
//!
//! Under contract 1 each delta is a line; under contract 2 each segment is, and deltas where they are asked for.

use std::io::{self, Write};

use ibeam_protocol::{Event, EventKind, ModelCallId, RunFinished, RunOutcome, SessionId};

use crate::delta_line::DeltaLine;
use crate::line_buffer::LineBuffer;
use crate::segments::{FinalMessage, Segments};
use crate::wire::{
    ErrorLine, InitExtras, Line, LossyPath, Message, Role, RunSummary, Segment, ServerEntry, Subtype,
    TextBlock, ToolCallObject, key_source, permission_mode, write_line,
};
use crate::writer::EventWriter;
use ibeam_wire::Contract;

/// Writes NDJSON, of either contract.
pub struct StreamJson<W> {
    lines: LineBuffer<W>,
    session_id: Option<SessionId>,
    delta: Option<DeltaLine>,
    /// Every delta so far: what the terminal line repeats.
    result: String,
    final_message: FinalMessage,
    /// Under contract 2 alone.
    segments: Option<Segments>,
}

impl<W: Write> StreamJson<W> {
    /// A writer for one run, under contract 1.
    pub fn new(out: W) -> Self {
        Self {
            lines: LineBuffer::new(out),
            session_id: None,
            delta: None,
            result: String::new(),
            final_message: FinalMessage::default(),
            segments: None,
        }
    }

    /// A writer for one run, under contract 2; `partial` prints the deltas of each segment before it.
    pub fn for_contract_two(out: W, partial: bool) -> Self {
        Self { segments: Some(Segments::new(partial)), ..Self::new(out) }
    }

    fn contract(&self) -> Contract {
        match self.segments {
            None => Contract::One,
            Some(_) => Contract::Two,
        }
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.lines.append(|bytes| write_line(bytes, line))
    }

    fn session(&self) -> io::Result<SessionId> {
        self.session_id.ok_or_else(too_early)
    }

    /// Prints what was said since the last call: before the next one, in whose answer it stands, or as the last segment.
    fn end_segment(&mut self, before: Option<(&ModelCallId, u64)>) -> io::Result<()> {
        let Some(text) = self.segments.as_mut().and_then(|segments| segments.end(&self.result)) else {
            return Ok(());
        };
        let session_id = self.session_id.ok_or_else(too_early)?;
        self.lines.append(|bytes| {
            let line = Segment {
                message: Message { role: Role::Assistant, content: &[TextBlock { text }] },
                session_id,
                model_call_id: before.map(|(model_call_id, _)| model_call_id),
                timestamp_ms: before.map(|(_, at_ms)| at_ms),
            };
            write_line(bytes, &line)
        })
    }

    fn end(&mut self, run: &RunFinished) -> io::Result<()> {
        self.end_segment(None)?;
        let result = &std::mem::take(&mut self.result);
        let final_message = self.final_message.take(result);
        let lines = &mut self.lines;
        match &run.outcome {
            RunOutcome::Completed => lines.append(|bytes| {
                let line = Line::Result {
                    subtype: Subtype::Success,
                    duration_ms: run.duration_ms,
                    duration_api_ms: run.duration_ms,
                    is_error: false,
                    result,
                    session_id: run.session_id,
                    request_id: run.totals.request_id.as_deref(),
                    usage: run.totals.usage.map(Into::into),
                    ibeam: RunSummary::new(&run.totals, Some(final_message)),
                };
                write_line(bytes, &line)
            }),
            RunOutcome::Failed(failure) => {
                let message = crate::catalogue::english().failure(failure).message;
                let line = Line::Error(ErrorLine::new(failure, &message, Some(run), Some(result)));
                lines.append(|bytes| write_line(bytes, &line))
            }
        }
    }
}

impl<W: Write> EventWriter for StreamJson<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let timestamp_ms = event.at_ms;
        match &event.kind {
            EventKind::SessionStarted(started) => {
                self.session_id = Some(started.session_id);
                self.delta = Some(DeltaLine::new(started.session_id)?);
                self.line(&Line::Init {
                    subtype: Subtype::Init,
                    api_key_source: key_source(started.key_source),
                    cwd: LossyPath(&started.cwd),
                    session_id: started.session_id,
                    model: &started.model.display,
                    permission_mode: permission_mode(started.permission_mode),
                    tools: &started.tools,
                    mcp_servers: started.mcp_servers.iter().map(ServerEntry::new).collect(),
                    ibeam: InitExtras::new(started, self.contract()),
                })
            }
            EventKind::UserMessage { content } | EventKind::PromptWithheld { content } => {
                let content: Vec<_> = content.iter().map(|text| TextBlock { text }).collect();
                let message = Message { role: Role::User, content: &content };
                let session_id = self.session()?;
                self.line(&Line::User { message, session_id })
            }
            EventKind::TextDelta { text } => {
                self.result.push_str(text);
                if self.segments.as_ref().is_some_and(|segments| !segments.partial) {
                    return Ok(());
                }
                let delta = self.delta.as_ref().ok_or_else(too_early)?;
                self.lines.append(|bytes| delta.write(bytes, text, timestamp_ms))
            }
            EventKind::ToolCallStarted { model_call_id, call } => {
                self.end_segment(Some((model_call_id, timestamp_ms)))?;
                self.final_message.restart(&self.result);
                let session_id = self.session()?;
                self.line(&Line::ToolCallStarted {
                    subtype: Subtype::Started,
                    call_id: &call.id,
                    tool_call: ToolCallObject { call, outcome: None },
                    session_id,
                    model_call_id,
                    timestamp_ms,
                })
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                let session_id = self.session()?;
                self.line(&Line::ToolCallCompleted {
                    subtype: Subtype::Completed,
                    call_id: &call.id,
                    tool_call: ToolCallObject { call, outcome: Some(outcome) },
                    session_id,
                    model_call_id,
                    timestamp_ms,
                })
            }
            EventKind::RunFinished(run) => self.end(run),
            EventKind::ThinkingDelta { .. }
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

    fn finish_incomplete(&mut self) -> io::Result<()> {
        self.end_segment(None)?;
        self.flush()
    }
}

fn too_early() -> io::Error {
    io::Error::other("an event came before `SessionStarted`")
}
