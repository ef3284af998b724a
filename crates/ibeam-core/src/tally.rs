//! The sums of a run, a pure fold over its events.

use std::time::Duration;

use ibeam_protocol::event::{HookRequest, PermissionDecided};
use ibeam_protocol::run::{Denial, RunTotals};
use ibeam_protocol::{
    BackgroundEnd, ClassCosts, EventKind, FailedUsage, ModelFallback, ModelTotals, Notice, Sentence,
    ToolFailure, ToolOutcome, ToolOutput, Usage,
};

/// Number of different reasons that the warning about refused calls lists; more would hide the rest of stderr.
const MAX_DENIAL_REASONS: usize = 3;

/// The sums of a run so far; starts from zero at each `RunStarted`, unless the run continues the one before it.
#[derive(Default)]
pub struct Tally {
    /// The sums that `RunFinished` reports.
    pub totals: RunTotals,
    /// All visible text so far.
    pub text: String,
    /// Why calls were refused: the first few reasons, each once.
    pub denial_reasons: Vec<Sentence>,
    /// Whether the files of the workspace were saved in this run.
    pub has_checkpoint: bool,
    /// Whether saving them was tried, so that it is not tried before every change.
    pub checkpoint_tried: bool,
    /// When the run began, on the monotonic clock.
    pub started: Duration,
    /// The model that receives the requests, as `PROVIDER/ID`.
    model: String,
}

impl Tally {
    /// Adds one event, recorded at `now`.
    pub fn fold(&mut self, kind: &EventKind, now: Duration) {
        match kind {
            EventKind::RunStarted(head) if head.continues => {
                (self.started, self.model) = (now, head.model.qualified_name());
                // Each process reports its own text.
                self.text.clear();
            }
            EventKind::RunStarted(head) => {
                *self = Self { started: now, model: head.model.qualified_name(), ..Self::default() };
            }
            EventKind::TextDelta { text } => self.text.push_str(text),
            EventKind::ModelRequestFinished { answer, api_ms, cost_micros, costs, .. } => {
                self.totals.turns += 1;
                self.totals.api_ms += api_ms;
                self.fold_answer(answer.usage);
                self.fold_tokens(answer.usage, *cost_micros, *costs);
                if answer.request_id.is_some() {
                    self.totals.request_id.clone_from(&answer.request_id);
                }
            }
            EventKind::PermissionDecided(decision) if !decision.allowed => self.fold_refusal(decision),
            EventKind::ToolCallFinished { outcome, .. } => self.fold_outcome(outcome),
            EventKind::Retrying { usage, .. } => {
                self.totals.retries += 1;
                self.fold_failed_request(usage.as_deref());
            }
            EventKind::ModelRequestFailed { usage, .. } => self.fold_failed_request(usage.as_deref()),
            EventKind::ToolCallStarted { .. } => self.totals.tool_calls += 1,
            EventKind::Compacted(compacted) => {
                self.totals.compactions += 1;
                self.totals.api_ms += compacted.api_ms;
                if compacted.replaced > 0 {
                    self.fold_answer(compacted.usage);
                }
                self.fold_tokens(compacted.usage, compacted.cost_micros, compacted.costs);
            }
            EventKind::HookRequestFinished(request) => self.fold_hook_request(request),
            EventKind::Notice(Notice::ModelFallback { from, to, reason }) => {
                self.model.clone_from(to);
                let (from, to, reason) = (from.clone(), to.clone(), reason.clone());
                self.totals.fallbacks.push(ModelFallback { from, to, reason });
            }
            EventKind::Notice(Notice::DefaultModelReplaced { to, .. }) => self.model.clone_from(to),
            EventKind::CheckpointTaken(_) => {
                (self.has_checkpoint, self.checkpoint_tried) = (true, true);
            }
            EventKind::Notice(Notice::CheckpointSkipped { .. }) => self.checkpoint_tried = true,
            EventKind::Notice(Notice::AnswerInterrupted { .. }) => self.totals.continuations += 1,
            // The first notice is about the model of the run, later ones are about fallback models.
            EventKind::Notice(Notice::EffortChanged { used, .. }) => {
                self.totals.effort_used.get_or_insert_with(|| used.clone());
            }
            EventKind::Notice(Notice::BackgroundStopped { count }) => {
                self.totals.background_stopped += count;
            }
            EventKind::Notice(Notice::BackgroundEnded { call_id, command, exit_code }) => {
                let (call_id, command) = (call_id.clone(), command.clone());
                let end = BackgroundEnd { call_id, command, exit_code: *exit_code };
                self.totals.failed_tool_calls += u32::from(end.has_failed());
                self.totals.background_ended.push(end);
            }
            EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => {}
        }
    }

    /// Whether the run produced visible text.
    pub fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    fn fold_refusal(&mut self, decision: &PermissionDecided) {
        self.totals.denials.push(Denial {
            call_id: decision.call_id.clone(),
            tool: decision.tool.clone(),
            rule: decision.rule.clone(),
        });
        if let Some(reason) = &decision.reason
            && self.denial_reasons.len() < MAX_DENIAL_REASONS
            && !self.denial_reasons.contains(reason)
        {
            self.denial_reasons.push(reason.clone());
        }
    }

    /// Counts an answered request to the current model.
    fn fold_answer(&mut self, usage: Option<Usage>) {
        self.update_model(|model| {
            model.requests += 1;
            model.uncounted_requests += u32::from(usage.is_none());
        });
    }

    /// Counts a failed request to the current model.
    fn fold_failed_request(&mut self, failed: Option<&FailedUsage>) {
        self.update_model(|model| model.failed_requests += 1);
        if let Some(FailedUsage { usage, costs }) = failed {
            self.fold_tokens(Some(*usage), costs.map(ClassCosts::micros), *costs);
        }
    }

    /// Adds a request of a hook to the model that it names.
    fn fold_hook_request(&mut self, request: &HookRequest) {
        let HookRequest { usage, costs, api_ms, is_failed, .. } = *request;
        self.totals.api_ms += api_ms;
        let current = std::mem::replace(&mut self.model, request.model.clone());
        match is_failed {
            true => self.update_model(|model| model.failed_requests += 1),
            false => self.fold_answer(usage),
        }
        self.fold_tokens(usage, costs.map(ClassCosts::micros), costs);
        self.model = current;
    }

    /// Adds the tokens of a request to the current model.
    fn fold_tokens(&mut self, usage: Option<Usage>, cost_micros: Option<u64>, costs: Option<ClassCosts>) {
        let add_usage = |sum: &mut Option<Usage>| {
            *sum = usage.map(|usage| sum.unwrap_or_default().plus(usage)).or(*sum);
        };
        let add_micros = |sum: &mut Option<u64>| {
            *sum = cost_micros.map(|cost| sum.unwrap_or(0).saturating_add(cost)).or(*sum);
        };
        add_usage(&mut self.totals.usage);
        add_micros(&mut self.totals.cost_micros);
        if usage.is_some() {
            self.update_model(|model| {
                add_usage(&mut model.usage);
                add_micros(&mut model.cost_micros);
                model.costs = costs.map(|costs| model.costs.unwrap_or_default().plus(costs)).or(model.costs);
            });
        }
    }

    /// Updates the totals of the model that receives the requests.
    fn update_model(&mut self, update: impl FnOnce(&mut ModelTotals)) {
        let models = &mut self.totals.models;
        if !models.iter().any(|totals| totals.model == self.model) {
            models.push(ModelTotals { model: self.model.clone(), ..ModelTotals::default() });
        }
        if let Some(totals) = models.iter_mut().find(|totals| totals.model == self.model) {
            update(totals);
        }
    }

    /// Adds the totals of a sub-agent. Its time at the model is not added: the time of the call contains it, and
    /// sub-agents run at the same time.
    fn fold_subagent(&mut self, child: &RunTotals) {
        let own = &mut self.totals;
        own.turns += child.turns;
        own.tool_calls += child.tool_calls;
        own.failed_tool_calls += child.failed_tool_calls;
        own.retries += child.retries;
        own.continuations += child.continuations;
        own.compactions += child.compactions;
        own.denials.extend(child.denials.iter().cloned());
        own.usage = child.usage.map(|usage| own.usage.unwrap_or_default().plus(usage)).or(own.usage);
        own.cost_micros = add_costs(own.cost_micros, child.cost_micros);
        for path in &child.files_changed {
            if !own.files_changed.contains(path) {
                own.files_changed.push(path.clone());
            }
        }
        for model in &child.models {
            match own.models.iter_mut().find(|totals| totals.model == model.model) {
                Some(totals) => add_model_totals(totals, model),
                None => own.models.push(model.clone()),
            }
        }
    }

    fn fold_outcome(&mut self, outcome: &ToolOutcome) {
        let changed = match outcome {
            ToolOutcome::Success { output, .. } => {
                if let ToolOutput::Task(task) = output {
                    self.fold_subagent(&task.totals);
                }
                output.changed_path()
            }
            ToolOutcome::Failure { failure, .. } => {
                self.totals.failed_tool_calls += 1;
                if let ToolFailure::TaskFailed { totals, .. } = failure {
                    self.fold_subagent(totals);
                }
                None
            }
            ToolOutcome::Rejected { .. } => None,
        };
        if let Some(path) = changed
            && !self.totals.files_changed.contains(path)
        {
            self.totals.files_changed.push(path.clone());
        }
    }
}

/// Returns the sum of two costs, of which either may be unknown; saturating.
fn add_costs(first: Option<u64>, second: Option<u64>) -> Option<u64> {
    second.map(|cost| first.unwrap_or(0).saturating_add(cost)).or(first)
}

/// Adds the requests of a sub-agent to the same model.
fn add_model_totals(own: &mut ModelTotals, child: &ModelTotals) {
    own.requests += child.requests;
    own.failed_requests += child.failed_requests;
    own.uncounted_requests += child.uncounted_requests;
    own.usage = child.usage.map(|usage| own.usage.unwrap_or_default().plus(usage)).or(own.usage);
    own.cost_micros = add_costs(own.cost_micros, child.cost_micros);
    own.costs = child.costs.map(|costs| own.costs.unwrap_or_default().plus(costs)).or(own.costs);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::{Prices, TokenPrices};

    /// The tokens of hooks belong to the model that answered them, and to the run.
    #[test]
    fn requests_of_hooks_are_added_to_their_model() {
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        let prices = TokenPrices { input: 2_000_000, output: 3_000_000, ..TokenPrices::default() };
        let costs = Prices::from(prices).costs(usage);
        let request = HookRequest {
            model: "p/hooks".to_owned(),
            usage: Some(usage),
            costs: Some(costs),
            api_ms: 7,
            is_failed: false,
        };
        let mut tally = Tally { model: "p/run".to_owned(), ..Tally::default() };
        let failed = HookRequest { usage: None, costs: None, is_failed: true, ..request.clone() };
        for request in [&request, &failed, &request] {
            tally.fold(&EventKind::HookRequestFinished(Box::new(request.clone())), Duration::ZERO);
        }
        let totals = &tally.totals;
        assert_eq!((totals.turns, totals.api_ms), (0, 21));
        assert_eq!((totals.usage, totals.cost_micros), (Some(usage.plus(usage)), Some(46)));
        let [model] = &totals.models[..] else { panic!("{:?}", totals.models) };
        assert_eq!((model.model.as_str(), model.requests, model.failed_requests), ("p/hooks", 2, 1));
        assert_eq!((model.usage, model.cost_micros), (totals.usage, totals.cost_micros));
        assert_eq!(tally.model, "p/run", "the model of the run stays");
    }
}
