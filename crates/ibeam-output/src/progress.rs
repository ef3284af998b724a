//! The status line of a run for people who watch it: what the run waits for.

use ibeam_protocol::{CallId, Event, EventKind, Notice, Usage};

use crate::catalogue::Catalogue;
use crate::catalogue::lines::ProgressLine;
use crate::text::call_target;

/// The progress of a run, which follows its events.
#[derive(Debug)]
pub struct Progress {
    phase: Phase,
    /// When the phase began, in milliseconds since the Unix epoch.
    since_ms: u64,
    /// The calls that run, in the order of their starts.
    calls: Vec<OpenCall>,
    /// The tokens of all answers of the run.
    tokens: u64,
}

/// The phase of a run while no call runs, named after what the run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The start of the run: servers, hooks, the sandbox.
    Start,
    /// The first token of an answer.
    Model,
    /// The end of the model's reasoning.
    Thinking,
    /// The end of an answer.
    Text,
    /// The next attempt of a failed request.
    Retry,
    Background,
    /// Hooks and the checkpoint after the last answer.
    End,
    /// The run has ended.
    Finished,
}

/// A call that has started and not finished.
#[derive(Debug)]
struct OpenCall {
    id: CallId,
    tool: String,
    target: String,
    since_ms: u64,
}

impl Progress {
    /// Returns the progress of a run that starts at `now_ms`, in milliseconds since the Unix epoch.
    pub const fn new(now_ms: u64) -> Self {
        Self { phase: Phase::Start, since_ms: now_ms, calls: Vec::new(), tokens: 0 }
    }

    /// Follows the next event.
    pub fn on_event(&mut self, event: &Event) {
        let phase = match &event.kind {
            EventKind::RunStarted(_) => {
                *self = Self::new(event.at_ms);
                return;
            }
            EventKind::TextDelta { .. } => Phase::Text,
            EventKind::ThinkingDelta { .. } => Phase::Thinking,
            EventKind::Retrying { .. } => Phase::Retry,
            EventKind::Notice(Notice::BackgroundAwaited { .. }) => Phase::Background,
            EventKind::RunFinished(_) => Phase::Finished,
            EventKind::ModelRequestFinished { answer, .. } => {
                self.add_tokens(answer.usage);
                match answer.calls().next() {
                    None => Phase::End,
                    Some(_) => Phase::Model,
                }
            }
            EventKind::Compacted(compacted) => {
                self.add_tokens(compacted.usage);
                Phase::Model
            }
            EventKind::ToolCallStarted { call, .. } => {
                self.calls.push(OpenCall {
                    id: call.id.clone(),
                    tool: call.name.clone(),
                    target: call_target(call).unwrap_or_default(),
                    since_ms: event.at_ms,
                });
                return;
            }
            EventKind::ToolCallFinished { call, .. } => {
                self.calls.retain(|open| open.id != call.id);
                if !self.calls.is_empty() {
                    return;
                }
                Phase::Model
            }
            EventKind::UserMessage { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::ModelRequestFailed { .. } => Phase::Model,
            EventKind::PromptWithheld { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::Notice(_) => return,
        };
        // Each delta continues its phase.
        if phase != self.phase {
            (self.phase, self.since_ms) = (phase, event.at_ms);
        }
    }

    fn add_tokens(&mut self, usage: Option<Usage>) {
        let Usage { input, output, cache_read, cache_write, reasoning: _ } = usage.unwrap_or_default();
        self.tokens += input + output + cache_read + cache_write;
    }

    /// Returns what the run waits for; `None` after its end.
    pub fn activity(&self, catalogue: &Catalogue) -> Option<String> {
        let line = match (self.calls.first(), self.phase) {
            (Some(OpenCall { tool, target, .. }), _) => match self.calls.len().saturating_sub(1) {
                0 => ProgressLine::Call { tool, target },
                more => ProgressLine::Calls { tool, target, count: more as u64 },
            },
            (None, Phase::Start) => ProgressLine::Start,
            (None, Phase::Model) => ProgressLine::Model,
            (None, Phase::Thinking) => ProgressLine::Thinking,
            (None, Phase::Text) => ProgressLine::Text,
            (None, Phase::Retry) => ProgressLine::Retry,
            (None, Phase::Background) => ProgressLine::Background,
            (None, Phase::End) => ProgressLine::End,
            (None, Phase::Finished) => return None,
        };
        Some(catalogue.line(&line))
    }

    /// Returns the status line at `now_ms`: what the run waits for, for how long, and its tokens. `None` after its end.
    pub fn status(&self, catalogue: &Catalogue, now_ms: u64) -> Option<String> {
        let activity = self.activity(catalogue)?;
        let since_ms = self.calls.first().map_or(self.since_ms, |call| call.since_ms);
        let seconds = now_ms.saturating_sub(since_ms) / 1000;
        let line = match self.tokens {
            0 => ProgressLine::Status { activity: &activity, time: seconds },
            tokens => ProgressLine::StatusWithTokens { activity: &activity, time: seconds, tokens },
        };
        Some(catalogue.line(&line))
    }
}
