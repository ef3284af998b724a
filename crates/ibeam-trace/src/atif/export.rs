//! Events as the steps of a trajectory.
//!
//! A prompt is a step of the user. An answered model request is a step of the agent, with its calls and their results.
//! A stream has no model requests: there, the text before calls and the calls of one answer are a step.

use std::io::{self, Write};

use ibeam_output::{EventWriter, call_result_value};
use ibeam_protocol::{
    Answer, Block, Event, EventKind, ModelCallId, Notice, RunOutcome, RunStarted, RunTotals, ToolCall,
    ToolOutcome, Usage,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::VERSION;
use crate::dollars;

/// Writes the trajectory of a run or of all runs of a session as one JSON object on one line.
pub struct AtifWriter<W> {
    out: W,
    head: Option<Box<RunStarted>>,
    steps: Vec<Value>,
    /// The step of the agent that can still get calls and results.
    open: Option<AgentStep>,
    /// The text of a stream since the last step.
    text: String,
    text_at_ms: u64,
    totals: Totals,
    runs: u64,
    failures: Vec<&'static str>,
    /// Whether the end of a run ends the document.
    ends_with_run: bool,
}

struct AgentStep {
    model_call_id: ModelCallId,
    at_ms: u64,
    text: String,
    calls: Vec<ToolCall>,
    results: Vec<Value>,
    metrics: Option<Value>,
    /// Whether the step has the end of its model request, which a stream does not contain.
    has_request: bool,
}

/// The sums of all runs.
#[derive(Default)]
struct Totals {
    usage: Option<Usage>,
    cost_micros: Option<u64>,
}

impl Totals {
    fn add(&mut self, run: &RunTotals) {
        if let Some(usage) = run.usage {
            self.usage = Some(self.usage.unwrap_or_default().plus(usage));
        }
        if let Some(cost) = run.cost_micros {
            self.cost_micros = Some(self.cost_micros.unwrap_or_default().saturating_add(cost));
        }
    }
}

impl<W: Write> AtifWriter<W> {
    /// Returns a writer that prints the trajectory of all runs at the end of the document.
    pub fn new(out: W) -> Self {
        Self {
            out,
            head: None,
            steps: Vec::new(),
            open: None,
            text: String::new(),
            text_at_ms: 0,
            totals: Totals::default(),
            runs: 0,
            failures: Vec::new(),
            ends_with_run: false,
        }
    }

    /// Returns a writer that prints the trajectory of one run at the end of the run, also where it failed.
    pub fn for_run(out: W) -> Self {
        Self { ends_with_run: true, ..Self::new(out) }
    }

    fn push_step(&mut self, source: &str, at_ms: u64, message: &str, further: Map<String, Value>) {
        let mut step = Map::new();
        step.insert("step_id".to_owned(), Value::from(self.steps.len() + 1));
        step.extend(timestamp(at_ms).map(|time| ("timestamp".to_owned(), Value::from(time))));
        step.insert("source".to_owned(), Value::from(source));
        step.insert("message".to_owned(), Value::from(message));
        step.extend(further);
        self.steps.push(Value::Object(step));
    }

    /// Ends the open step of the agent.
    fn end_step(&mut self) {
        let Some(step) = self.open.take() else { return };
        let mut further = Map::new();
        if !step.calls.is_empty() {
            let calls: Vec<_> = step.calls.iter().map(tool_call).collect();
            further.insert("tool_calls".to_owned(), Value::from(calls));
        }
        if !step.results.is_empty() {
            further.insert("observation".to_owned(), json!({ "results": step.results }));
        }
        further.extend(step.metrics.map(|metrics| ("metrics".to_owned(), metrics)));
        if step.has_request {
            further.insert("llm_call_count".to_owned(), Value::from(1));
        }
        self.push_step("agent", step.at_ms, &step.text, further);
    }

    /// Ends the open step, and makes a step of text that no step contains.
    fn end_answer(&mut self) {
        self.end_step();
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.push_step("agent", self.text_at_ms, &text, Map::new());
        }
    }

    fn push_answer(
        &mut self,
        at_ms: u64,
        model_call_id: &ModelCallId,
        answer: &Answer,
        cost_micros: Option<u64>,
    ) {
        self.end_step();
        self.text.clear();
        let text = answer.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
        });
        self.open = Some(AgentStep {
            model_call_id: model_call_id.clone(),
            at_ms,
            text: text.collect(),
            calls: answer.calls().cloned().collect(),
            results: Vec::new(),
            metrics: answer.usage.map(|usage| metrics(usage, cost_micros)),
            has_request: true,
        });
    }

    /// Returns the step of a call, which a stream begins with the first call of an answer.
    fn step_of(&mut self, at_ms: u64, model_call_id: &ModelCallId, call: &ToolCall) -> &mut AgentStep {
        let is_known = self.open.as_ref().is_some_and(|open| {
            let has_call = open.calls.iter().any(|known| known.id == call.id);
            has_call || !open.has_request && open.model_call_id == *model_call_id && self.text.is_empty()
        });
        if !is_known {
            self.end_step();
        }
        let text = &mut self.text;
        let step = self.open.get_or_insert_with(|| AgentStep {
            model_call_id: model_call_id.clone(),
            at_ms,
            text: std::mem::take(text),
            calls: Vec::new(),
            results: Vec::new(),
            metrics: None,
            has_request: false,
        });
        if !step.calls.iter().any(|known| known.id == call.id) {
            step.calls.push(call.clone());
        }
        step
    }

    /// Returns the trajectory; `None` without a run.
    fn trajectory(&mut self) -> Option<Value> {
        self.end_answer();
        let head = self.head.take()?;
        let model =
            if head.model.id.is_empty() { head.model.display.clone() } else { head.model.qualified_name() };
        let version = if head.version.is_empty() { "unknown" } else { head.version.as_str() };
        let session = head.session_id.to_string();
        let steps = std::mem::take(&mut self.steps);
        let mut total = Map::new();
        total.insert("total_steps".to_owned(), Value::from(steps.len()));
        if let Some(usage) = self.totals.usage {
            total.insert("total_prompt_tokens".to_owned(), Value::from(usage.prompt()));
            total.insert("total_completion_tokens".to_owned(), Value::from(usage.output));
            total.insert("total_cached_tokens".to_owned(), Value::from(usage.cache_read));
        }
        let cost = self.totals.cost_micros.map(dollars);
        total.extend(cost.map(|cost| ("total_cost_usd".to_owned(), Value::from(cost))));
        Some(json!({
            "schema_version": VERSION,
            "session_id": session,
            "trajectory_id": session,
            "agent": {
                "name": "ibeam",
                "version": version,
                "model_name": model,
                "extra": { "tools": head.tools, "cwd": head.cwd.to_string_lossy() },
            },
            "steps": steps,
            "final_metrics": total,
            "extra": { "runs": self.runs, "failures": self.failures },
        }))
    }
}

impl<W: Write> EventWriter for AtifWriter<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let at_ms = event.at_ms;
        match &event.kind {
            EventKind::RunStarted(head) => {
                self.end_answer();
                self.runs += 1;
                self.head = Some(head.clone());
            }
            EventKind::UserMessage { content, .. } => {
                self.end_answer();
                self.push_step("user", at_ms, &content.join("\n\n"), Map::new());
            }
            EventKind::HookMessage { text } => {
                self.end_answer();
                let extra = Map::from_iter([("extra".to_owned(), json!({ "kind": "hook" }))]);
                self.push_step("user", at_ms, text, extra);
            }
            EventKind::TextDelta { text } => {
                if self.text.is_empty() {
                    self.text_at_ms = at_ms;
                }
                self.text.push_str(text);
            }
            EventKind::ModelRequestFinished { model_call_id, answer, cost_micros, .. } => {
                self.push_answer(at_ms, model_call_id, answer, *cost_micros);
            }
            EventKind::ToolCallStarted { model_call_id, call } => {
                self.step_of(at_ms, model_call_id, call);
            }
            EventKind::ToolCallFinished { model_call_id, call, outcome } => {
                let result = result(call, outcome);
                self.step_of(at_ms, model_call_id, call).results.push(result);
            }
            EventKind::Compacted(compacted) if !compacted.summary.is_empty() => {
                self.end_answer();
                let extra = json!({ "kind": "compaction", "replaced_messages": compacted.replaced });
                let further = Map::from_iter([("extra".to_owned(), extra)]);
                self.push_step("system", at_ms, &compacted.summary, further);
            }
            EventKind::RunFinished(run) => {
                self.end_answer();
                self.totals.add(&run.totals);
                if let RunOutcome::Failed(failure) = &run.outcome {
                    self.failures.push(failure.reason.code().as_str());
                }
                if self.ends_with_run {
                    return self.end_document();
                }
            }
            // The answer that follows continues the text, so the text is a step of its own.
            EventKind::Notice(Notice::AnswerInterrupted { .. }) => self.end_answer(),
            EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::Retrying { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::Compacted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::Notice(_) => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end_document(&mut self) -> io::Result<()> {
        if let Some(trajectory) = self.trajectory() {
            writeln!(self.out, "{trajectory}")?;
        }
        self.flush()
    }
}

/// Returns a time of ISO 8601; `None` for an unknown time.
fn timestamp(at_ms: u64) -> Option<String> {
    let at_ms = i64::try_from(at_ms).ok().filter(|at_ms| *at_ms > 0)?;
    Some(Timestamp::from_millisecond(at_ms).ok()?.to_string())
}

/// Returns a call. The arguments of the format are an object; text that is no JSON becomes one.
fn tool_call(call: &ToolCall) -> Value {
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            json!({ "input": other })
        }
    };
    json!({ "tool_call_id": call.id.as_str(), "function_name": call.name, "arguments": arguments })
}

/// Returns the result of a call: the text that the model received. A stream does not contain that text, but the result.
fn result(call: &ToolCall, outcome: &ToolOutcome) -> Value {
    let for_model = outcome.for_model();
    let content = if for_model.is_empty() {
        call_result_value(&call.name, outcome).to_string()
    } else {
        for_model.to_string()
    };
    match outcome {
        ToolOutcome::Success { .. } => json!({ "source_call_id": call.id.as_str(), "content": content }),
        ToolOutcome::Failure { .. } => json!({
            "source_call_id": call.id.as_str(), "content": content, "extra": { "status": "failed" },
        }),
        ToolOutcome::Rejected { .. } => json!({
            "source_call_id": call.id.as_str(), "content": content, "extra": { "status": "rejected" },
        }),
    }
}

/// Returns the tokens and the cost of a model request. The prompt tokens of the format include cached ones.
fn metrics(usage: Usage, cost_micros: Option<u64>) -> Value {
    let mut metrics = Map::new();
    metrics.insert("prompt_tokens".to_owned(), Value::from(usage.prompt()));
    metrics.insert("completion_tokens".to_owned(), Value::from(usage.output));
    metrics.insert("cached_tokens".to_owned(), Value::from(usage.cache_read));
    metrics.extend(cost_micros.map(|cost| ("cost_usd".to_owned(), Value::from(dollars(cost)))));
    Value::Object(metrics)
}
