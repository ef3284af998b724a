//! Runs as events, and the output of each writer for them.

use std::io;
use std::sync::{Arc, Mutex};

use ibeam_output::{Catalogue, EventWriter, Json, Locale, StreamJson, Text, TextOptions};
use ibeam_protocol::{
    Answer, CallId, Event, EventKind, Failure, KeySource, Limits, ModelInfo, Notice, PermissionMode, Reason,
    RunFinished, RunOutcome, RunStarted, RunTotals, Sandbox, SessionId, StopReason, ToolCall, ToolOutcome,
    ToolOutput,
};
use serde_json::Value;

use crate::schema;

pub(crate) const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

pub(crate) fn session_id() -> SessionId {
    SESSION.parse().unwrap()
}

/// Returns the end of a run.
pub(crate) fn run_finished(outcome: RunOutcome) -> RunFinished {
    RunFinished {
        session_id: session_id(),
        outcome,
        duration_ms: 5234,
        totals: RunTotals::default(),
        partial: None,
        structured: None,
        ephemeral: false,
    }
}

pub(crate) fn run_started() -> RunStarted {
    RunStarted {
        session_id: session_id(),
        cwd: "/Users/user/project".into(),
        model: ModelInfo {
            provider: "anthropic".into(),
            id: "claude-sonnet-4-20250514".into(),
            display: "Claude 4 Sonnet".into(),
        },
        key_source: KeySource::Login,
        permission_mode: PermissionMode::Default,
        tools: vec!["read".into(), "write".into()],
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: "0.1.0".into(),
        limits: Limits { max_turns: 100, ..Limits::NONE },
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        parent: None,
        ephemeral: false,
        environment: None,
    }
}

/// The events of one run; event `n` happens at millisecond `1000 + n`.
#[derive(Default)]
pub(crate) struct RunEvents {
    pub(crate) events: Vec<Event>,
}

impl RunEvents {
    pub(crate) fn from_start(started: RunStarted) -> Self {
        Self::default().event(EventKind::RunStarted(Box::new(started)))
    }

    pub(crate) fn new() -> Self {
        Self::from_start(run_started())
    }

    pub(crate) fn event(mut self, kind: EventKind) -> Self {
        let seq = self.events.len() as u64;
        self.events.push(Event { seq, at_ms: 1000 + seq, kind });
        self
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.event(EventKind::UserMessage { content: vec![text.into()], attachments: Vec::new() })
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.event(EventKind::TextDelta { text: text.into() })
    }

    pub(crate) fn thinking(self, text: &str) -> Self {
        self.event(EventKind::ThinkingDelta { text: text.into() })
    }

    pub(crate) fn start_call(self, call: &ToolCall) -> Self {
        self.event(EventKind::ToolCallStarted { model_call_id: "m1".into(), call: call.clone() })
    }

    pub(crate) fn finish_call(self, call: &ToolCall, outcome: ToolOutcome) -> Self {
        let outcome = Box::new(outcome);
        self.event(EventKind::ToolCallFinished { model_call_id: "m1".into(), call: call.clone(), outcome })
    }

    pub(crate) fn call(self, call: &ToolCall, outcome: ToolOutcome) -> Self {
        self.start_call(call).finish_call(call, outcome)
    }

    /// Adds events that no writer prints: an answer, a retry and a notice, with `text` in them.
    pub(crate) fn unprinted(self, text: &str) -> Self {
        let answer = Answer {
            blocks: Vec::new(),
            stop: StopReason::Unknown(text.into()),
            usage: None,
            refusal: None,
            request_id: None,
        };
        let reason = Reason::ProviderFailed { provider: "p".into(), detail: text.into() };
        self.event(EventKind::ModelRequestFinished {
            model_call_id: "m1".into(),
            answer: Box::new(answer),
            api_ms: 1,
            cost_micros: None,
            costs: None,
            prefix: None,
        })
        .event(EventKind::Retrying { attempt: 1, delay_ms: 1, reason, usage: None })
        .event(EventKind::Notice(Notice::UnknownStopReason { word: text.into() }))
    }

    pub(crate) fn finish(self, outcome: RunOutcome, totals: RunTotals) -> Vec<Event> {
        let run = RunFinished { totals, ..run_finished(outcome) };
        self.event(EventKind::RunFinished(Box::new(run))).events
    }

    pub(crate) fn completed(self) -> Vec<Event> {
        self.finish(RunOutcome::Completed, RunTotals::default())
    }

    pub(crate) fn failed(self, reason: Reason) -> Vec<Event> {
        self.finish(RunOutcome::Failed(Failure::from(reason)), RunTotals::default())
    }
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: CallId::from("toolu_1"), name: name.into(), arguments }
}

pub(crate) fn success(output: ToolOutput) -> ToolOutcome {
    ToolOutcome::Success { output, for_model: "for the model only".into() }
}

/// Returns the output of `stream-json` and checks each line against the schema.
#[track_caller]
pub(crate) fn stream_json(events: &[Event]) -> String {
    let printed = print_events(events, |out| Box::new(StreamJson::new(out)));
    printed.split_terminator('\n').for_each(|line| schema::STREAM.check(line));
    printed
}

/// Returns the output of `stream-json` under contract 2 and checks each line against the schema.
#[track_caller]
pub(crate) fn segments(events: &[Event], partial: bool) -> String {
    let printed = print_events(events, |out| Box::new(StreamJson::for_contract_two(out, partial)));
    printed.split_terminator('\n').for_each(|line| schema::SEGMENTS.check(line));
    printed
}

/// Returns the output of `json` and checks it against the schema.
#[track_caller]
pub(crate) fn json(events: &[Event]) -> String {
    let printed = print_events(events, |out| Box::new(Json::new(out)));
    printed.split_terminator('\n').for_each(|line| schema::JSON.check(line));
    printed
}

pub(crate) fn text(events: &[Event], locale: Locale, options: TextOptions) -> String {
    let printed =
        print_events(events, |out| Box::new(Text::new(out, Arc::new(Catalogue::new(locale)), options)));
    schema::TEXT.check(&Value::from(printed.as_str()).to_string());
    printed
}

/// Returns the lines of `stream_json` and checks that they are JSON.
pub(crate) fn lines(events: &[Event]) -> Vec<String> {
    let text = stream_json(events);
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has no line end: {text:?}");
    text.lines()
        .inspect(|line| {
            serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        })
        .map(str::to_owned)
        .collect()
}

pub(crate) fn print_events(
    events: &[Event],
    writer: impl FnOnce(SharedBuffer) -> Box<dyn EventWriter>,
) -> String {
    let out = SharedBuffer::default();
    let mut writer = writer(out.clone());
    for event in events {
        writer.write(event).unwrap();
        writer.flush().unwrap();
    }
    out.text()
}

/// An inner writer that stores each write.
#[derive(Clone, Default)]
pub(crate) struct SharedBuffer(pub(crate) Arc<Mutex<Vec<Vec<u8>>>>);

impl SharedBuffer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().concat()).unwrap()
    }
}

impl io::Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
