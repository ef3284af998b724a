//! The facts of a session or stream that a comparison shows, collected from its events.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use ibeam_output::{EventWriter, call_target};
use ibeam_protocol::{
    Event, EventKind, ModelCallId, RunFinished, RunOutcome, SessionId, ToolCall, ToolOutcome, Usage,
};

/// The tools whose argument `path` is a file that a successful call changed.
const CHANGING_TOOLS: [&str; 3] = ["write", "edit", "delete"];

/// The actions and totals of the runs of a session or stream.
#[derive(Debug, Default)]
pub struct SessionFacts {
    session_id: Option<SessionId>,
    /// The models, each once, in the order of their first run.
    models: Vec<String>,
    cwd: PathBuf,
    runs: u64,
    end: Option<RunEnd>,
    duration_ms: u64,
    requests: u64,
    usage: Option<Usage>,
    cost_micros: Option<u64>,
    /// Whether a run does not state its cost.
    has_unknown_cost: bool,
    calls: Vec<CallFact>,
    /// The positions of the calls without a result so far.
    open_calls: Vec<(ModelCallId, ToolCall, usize)>,
    files: BTreeSet<String>,
}

/// A call of a comparison. Two calls are equal if their outcomes are equal too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallFact {
    pub(super) tool: String,
    pub(super) target: Option<String>,
    pub(super) outcome: CallOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Success,
    Failed,
    Refused,
    /// The result is missing.
    Open,
}

/// The end of the last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    Completed,
    Failed,
    Missing,
}

impl SessionFacts {
    pub(super) fn session_id(&self) -> Option<SessionId> {
        self.session_id
    }

    pub(super) fn models(&self) -> &[String] {
        &self.models
    }

    pub(super) fn runs(&self) -> u64 {
        self.runs
    }

    pub(super) fn end(&self) -> Option<RunEnd> {
        self.end
    }

    pub(super) fn duration_ms(&self) -> u64 {
        self.duration_ms
    }

    /// Returns the number of model requests; `None` for a stream that does not state it.
    pub(super) fn requests(&self) -> Option<u64> {
        (self.requests > 0).then_some(self.requests)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Returns the cost of all runs; `None` if the cost of one is unknown.
    pub(super) fn cost_micros(&self) -> Option<u64> {
        self.cost_micros.filter(|_| !self.has_unknown_cost)
    }

    pub(super) fn calls(&self) -> &[CallFact] {
        &self.calls
    }

    /// Returns the number of calls that failed or were refused.
    pub(super) fn failed_calls(&self) -> usize {
        let has_failed =
            |call: &&CallFact| matches!(call.outcome, CallOutcome::Failed | CallOutcome::Refused);
        self.calls.iter().filter(has_failed).count()
    }

    pub(super) fn files(&self) -> &BTreeSet<String> {
        &self.files
    }

    fn start_call(&mut self, model_call_id: &ModelCallId, call: &ToolCall) {
        self.open_calls.push((model_call_id.clone(), call.clone(), self.calls.len()));
        self.push_call(call, CallOutcome::Open);
    }

    fn end_call(&mut self, model_call_id: &ModelCallId, call: &ToolCall, outcome: &ToolOutcome) {
        let result = match outcome {
            ToolOutcome::Success { .. } => CallOutcome::Success,
            ToolOutcome::Failure { .. } => CallOutcome::Failed,
            ToolOutcome::Rejected { .. } => CallOutcome::Refused,
        };
        let path = call.arguments.get("path").and_then(serde_json::Value::as_str);
        if let Some(path) =
            path.filter(|_| result == CallOutcome::Success && CHANGING_TOOLS.contains(&call.name.as_str()))
        {
            self.files.insert(self.relative(Path::new(path)));
        }
        let is_same =
            |(id, open, _): &(ModelCallId, ToolCall, usize)| id == model_call_id && open.id == call.id;
        let started = self.open_calls.iter().position(is_same).map(|index| self.open_calls.remove(index).2);
        match started.and_then(|index| self.calls.get_mut(index)) {
            Some(fact) => fact.outcome = result,
            None => self.push_call(call, result),
        }
    }

    fn push_call(&mut self, call: &ToolCall, outcome: CallOutcome) {
        let target = call_target(call).map(|target| self.relative(Path::new(&target)));
        self.calls.push(CallFact { tool: call.name.clone(), target, outcome });
    }

    /// Returns a path without the workspace before it.
    fn relative(&self, path: &Path) -> String {
        let relative = match self.cwd.as_os_str().is_empty() {
            true => path,
            false => path.strip_prefix(&self.cwd).unwrap_or(path),
        };
        relative.to_string_lossy().into_owned()
    }

    fn end_run(&mut self, finished: &RunFinished) {
        self.end = Some(match finished.outcome {
            RunOutcome::Completed => RunEnd::Completed,
            RunOutcome::Failed(_) => RunEnd::Failed,
        });
        self.duration_ms = self.duration_ms.saturating_add(finished.duration_ms);
        let totals = &finished.totals;
        self.requests = self.requests.saturating_add(totals.turns.into());
        if let Some(usage) = totals.usage {
            self.usage = Some(self.usage.unwrap_or_default().plus(usage));
        }
        match totals.cost_micros {
            Some(cost) => self.cost_micros = Some(self.cost_micros.unwrap_or_default().saturating_add(cost)),
            None => self.has_unknown_cost = true,
        }
        for path in &totals.files_changed {
            let path = self.relative(path);
            self.files.insert(path);
        }
        self.open_calls.clear();
    }
}

impl EventWriter for &mut SessionFacts {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        if let EventKind::RunStarted(head) = &event.kind {
            self.session_id = Some(head.session_id);
            self.cwd.clone_from(&head.cwd);
            self.runs += 1;
            self.end = Some(RunEnd::Missing);
            self.open_calls.clear();
            if !self.models.contains(&head.model.display) {
                self.models.push(head.model.display.clone());
            }
        } else if let EventKind::ToolCallStarted { model_call_id, call } = &event.kind {
            self.start_call(model_call_id, call);
        } else if let EventKind::ToolCallFinished { model_call_id, call, outcome } = &event.kind {
            self.end_call(model_call_id, call, outcome);
        } else if let EventKind::RunFinished(finished) = &event.kind {
            self.end_run(finished);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
