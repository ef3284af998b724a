//! The progress of running sub-agents, as the content of the calls that started them.

use std::collections::VecDeque;

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCallContent, ToolCallUpdate, ToolCallUpdateFields,
};
use ibeam_protocol::{Answer, Block, Event, EventKind, ToolCall};

use crate::tool_call::{self, CallView};

/// The number of steps of a sub-agent that are shown: the latest ones.
const MAX_STEPS: usize = 20;
/// Maximum number of characters of a step.
const MAX_STEP_CHARS: usize = 200;

/// The sub-agents whose calls run.
#[derive(Debug, Default)]
pub(crate) struct SubagentProgress(Vec<RunningSubagent>);

#[derive(Debug)]
struct RunningSubagent {
    call: ToolCall,
    steps: VecDeque<String>,
}

impl SubagentProgress {
    /// Records the start of a call. Calls that start no sub-agent are ignored.
    pub(crate) fn start(&mut self, call: &ToolCall) {
        if session_of(call).is_some() {
            self.0.push(RunningSubagent { call: call.clone(), steps: VecDeque::new() });
        }
    }

    /// Records the end of a call.
    pub(crate) fn end(&mut self, call: &ToolCall) {
        self.0.retain(|running| running.call.id != call.id);
    }

    /// Returns the update for an event of the sub-agent with the session `session`; `None` for an event that is not a step,
    /// and for a sub-agent whose call does not run.
    pub(crate) fn step(&mut self, session: &str, event: &Event, view: CallView<'_>) -> Option<SessionUpdate> {
        let running = self.0.iter_mut().find(|running| session_of(&running.call) == Some(session))?;
        let step = if let EventKind::ToolCallStarted { call, .. } = &event.kind {
            tool_call::title(call, view)
        } else if let EventKind::ModelRequestFinished { answer, .. } = &event.kind {
            first_line(answer)?
        } else {
            return None;
        };
        if running.steps.len() == MAX_STEPS {
            running.steps.pop_front();
        }
        running.steps.push_back(step.chars().take(MAX_STEP_CHARS).collect());
        let text: String = running.steps.iter().map(|step| format!("- {step}\n")).collect();
        let fields =
            ToolCallUpdateFields::new().content(vec![ToolCallContent::from(tool_call::text_block(text))]);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(running.call.id.as_str().to_owned(), fields)))
    }
}

/// Returns the session of the sub-agent that a call starts.
fn session_of(call: &ToolCall) -> Option<&str> {
    (call.name == "task").then(|| call.arguments.get("agentId")?.as_str()).flatten()
}

/// Returns the first line of the text of an answer, if it has text.
fn first_line(answer: &Answer) -> Option<String> {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
    });
    texts.flat_map(str::lines).map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
