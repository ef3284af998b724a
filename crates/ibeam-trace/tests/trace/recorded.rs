//! Events of runs, as a journal would contain them.

use ibeam_protocol::{
    Answer, Block, Event, EventKind, KeySource, Limits, ModelInfo, PermissionMode, RunFinished, RunOutcome,
    RunStarted, RunTotals, Sandbox, SessionId, StopReason, ToolCall, ToolOutcome, ToolOutput, Usage,
};
use serde_json::Value;

pub(crate) const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

pub(crate) fn session_id() -> SessionId {
    SESSION.parse().unwrap()
}

pub(crate) fn run_started() -> RunStarted {
    RunStarted {
        session_id: session_id(),
        cwd: "/w/project".into(),
        model: ModelInfo {
            provider: "anthropic".into(),
            id: "claude-sonnet-4".into(),
            display: "Claude 4 Sonnet".into(),
        },
        key_source: KeySource::Login,
        permission_mode: PermissionMode::Default,
        tools: vec!["read".into(), "shell".into()],
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: "0.1.0".into(),
        limits: Limits::NONE,
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        parent: None,
        ephemeral: false,
        environment: None,
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments }
}

pub(crate) fn success(output: ToolOutput, for_model: &str) -> ToolOutcome {
    ToolOutcome::Success { output, for_model: for_model.into() }
}

pub(crate) const USAGE: Usage = Usage { input: 10, output: 3, cache_read: 20, cache_write: 5, reasoning: 0 };

/// The events of a session; event `n` happens `100 * n` milliseconds after the first.
#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) events: Vec<Event>,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        Self::default().event(EventKind::RunStarted(Box::new(run_started())))
    }

    pub(crate) fn event(mut self, kind: EventKind) -> Self {
        let seq = self.events.len() as u64;
        self.events.push(Event { seq, at_ms: 1_700_000_000_000 + 100 * seq, kind });
        self
    }

    pub(crate) fn prompt(self, text: &str) -> Self {
        self.event(EventKind::UserMessage { content: vec![text.into()], attachments: Vec::new() })
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.event(EventKind::TextDelta { text: text.into() })
    }

    /// Adds the end of a model request whose answer has this text and these calls.
    pub(crate) fn answer(self, id: &str, text: &str, calls: &[ToolCall]) -> Self {
        let mut blocks: Vec<_> =
            (!text.is_empty()).then(|| Block::Text(text.to_owned())).into_iter().collect();
        blocks.extend(calls.iter().cloned().map(Block::ToolCall));
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let request_id = Some(format!("req-{id}"));
        let answer = Answer { blocks, stop, refusal: None, usage: Some(USAGE), request_id };
        self.event(EventKind::ModelRequestFinished {
            model_call_id: id.into(),
            answer: Box::new(answer),
            api_ms: 50,
            cost_micros: Some(1_250),
            costs: None,
            prefix: None,
        })
    }

    pub(crate) fn start_call(self, request: &str, call: &ToolCall) -> Self {
        self.event(EventKind::ToolCallStarted { model_call_id: request.into(), call: call.clone() })
    }

    pub(crate) fn call(self, request: &str, call: &ToolCall, outcome: ToolOutcome) -> Self {
        let outcome = Box::new(outcome);
        let (model_call_id, same) = (request.into(), call.clone());
        self.start_call(request, call).event(EventKind::ToolCallFinished {
            model_call_id,
            call: same,
            outcome,
        })
    }

    pub(crate) fn finish(self, outcome: RunOutcome) -> Self {
        let totals = RunTotals {
            turns: 2,
            usage: Some(USAGE.plus(USAGE)),
            cost_micros: Some(2_500),
            tool_calls: 1,
            files_changed: vec!["/w/project/a".into()],
            ..RunTotals::default()
        };
        let run = RunFinished {
            session_id: session_id(),
            outcome,
            duration_ms: 5234,
            totals,
            partial: None,
            structured: None,
            ephemeral: false,
        };
        self.event(EventKind::RunFinished(Box::new(run)))
    }

    pub(crate) fn completed(self) -> Self {
        self.finish(RunOutcome::Completed)
    }
}
