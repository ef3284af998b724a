//! Runs as events, and the output of the writers for them.

use std::io;
use std::sync::{Arc, Mutex};

use ibeam_output::{EventWriter, Json, StreamJson};
use ibeam_protocol::{
    CallId, Event, EventKind, Failure, KeySource, Limits, ModelInfo, Notice, PermissionMode, Reason,
    RunFinished, RunOutcome, RunStarted, RunTotals, Sandbox, ToolCall, ToolOutcome, ToolOutput,
};
use serde_json::Value;

pub(crate) const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

/// The events of one run; event `n` happens at millisecond `1000 + n`.
pub(crate) struct RunEvents(Vec<Event>);

impl RunEvents {
    pub(crate) fn new() -> Self {
        Self(Vec::new()).event(EventKind::RunStarted(Box::new(RunStarted {
            session_id: SESSION.parse().unwrap(),
            cwd: "/home/me/project".into(),
            model: ModelInfo {
                provider: "anthropic".into(),
                id: "claude-sonnet-4-20250514".into(),
                display: "Claude 4 Sonnet".into(),
            },
            key_source: KeySource::None,
            permission_mode: PermissionMode::Force,
            tools: vec!["read".into()],
            mcp_servers: Vec::new(),
            sandbox: Sandbox::default(),
            version: "0.1.0".into(),
            limits: Limits { max_turns: 100, timeout_ms: Some(1), ..Limits::NONE },
            resumed: false,
            continues: false,
            message_turn: 0,
            journal_gaps: 0,
            parent: None,
            ephemeral: false,
            environment: None,
        })))
    }

    pub(crate) fn event(mut self, kind: EventKind) -> Self {
        let seq = self.0.len() as u64;
        self.0.push(Event { seq, at_ms: 1000 + seq, kind });
        self
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.event(EventKind::UserMessage { content: vec![text.into()], attachments: Vec::new() })
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.event(EventKind::TextDelta { text: text.into() })
    }

    /// Adds events that no writer prints.
    pub(crate) fn unprinted(self, text: &str) -> Self {
        self.event(EventKind::ThinkingDelta { text: text.into() })
            .event(EventKind::Notice(Notice::UnknownStopReason { word: text.into() }))
    }

    pub(crate) fn start_call(self, call: &ToolCall) -> Self {
        self.event(EventKind::ToolCallStarted { model_call_id: "m1".into(), call: call.clone() })
    }

    pub(crate) fn finish_call(self, call: &ToolCall, outcome: ToolOutcome) -> Self {
        let outcome = Box::new(outcome);
        self.event(EventKind::ToolCallFinished { model_call_id: "m1".into(), call: call.clone(), outcome })
    }

    pub(crate) fn completed(self) -> Vec<Event> {
        self.finish(RunOutcome::Completed)
    }

    pub(crate) fn failed(self, reason: Reason) -> Vec<Event> {
        self.finish(RunOutcome::Failed(Failure::from(reason)))
    }

    fn finish(self, outcome: RunOutcome) -> Vec<Event> {
        let run = RunFinished {
            session_id: SESSION.parse().unwrap(),
            outcome,
            duration_ms: 5234,
            totals: RunTotals::default(),
            partial: None,
            structured: None,
            ephemeral: false,
        };
        self.event(EventKind::RunFinished(Box::new(run))).0
    }
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: CallId::from("toolu_1"), name: name.into(), arguments }
}

pub(crate) fn success(output: ToolOutput) -> ToolOutcome {
    ToolOutcome::Success { output, for_model: "for the model only".into() }
}

pub(crate) fn stream_json(events: &[Event]) -> String {
    print_events(events, |out| Box::new(StreamJson::new(out)))
}

/// Returns the output of `stream-json` under contract 2.
pub(crate) fn segments(events: &[Event], partial: bool) -> String {
    print_events(events, |out| Box::new(StreamJson::for_contract_two(out, partial)))
}

pub(crate) fn json(events: &[Event]) -> String {
    print_events(events, |out| Box::new(Json::new(out)))
}

fn print_events(events: &[Event], writer: impl FnOnce(SharedBuffer) -> Box<dyn EventWriter>) -> String {
    let out = SharedBuffer::default();
    let mut writer = writer(out.clone());
    for event in events {
        writer.write(event).unwrap();
    }
    writer.flush().unwrap();
    String::from_utf8(out.0.lock().unwrap().clone()).unwrap()
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
