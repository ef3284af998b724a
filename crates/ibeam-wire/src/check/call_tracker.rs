//! Tracks calls across lines: each starts once and completes once, with the same tool and arguments.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::finding::{Findings, LineContext, printable_excerpt};
use super::rule::Rule;
use crate::digest;
use crate::event::CallPhase;
use crate::scan::PathStep;

/// The maximum number of open calls, so that memory is bounded.
const MAX_OPEN: usize = 1024;
/// The maximum number of stored completed calls.
const MAX_COMPLETED: usize = 4096;

/// The calls of a stream so far.
#[derive(Default)]
pub(super) struct CallTracker {
    open: Vec<OpenCall>,
    /// The keys of the last completed calls, oldest first.
    completed: VecDeque<u128>,
    /// The keys in `completed`, for lookups.
    completed_keys: HashSet<u128>,
    /// Whether a call may have been missed. Then a missing call is not reported.
    is_incomplete: bool,
}

/// A call that has started.
struct OpenCall {
    /// The hash of `call_id` and `model_call_id`.
    key: u128,
    call_id: String,
    model_call_id: Option<String>,
    tool: String,
    /// The digest of the value under the tool's key without its result.
    body: u128,
    line: u64,
    column: usize,
}

impl CallTracker {
    /// Records that a line could not be read. It may have started or completed any call.
    pub(super) fn mark_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Records the start or the end of a call. `tool` is the key of the tool, and `body` the value under this key.
    pub(super) fn record_event(
        &mut self,
        line: &mut LineContext<'_>,
        event: &Map<String, Value>,
        phase: CallPhase,
        tool: &str,
        body: &Map<String, Value>,
    ) {
        let Some(call_id) = event.get("call_id").and_then(Value::as_str) else {
            return self.mark_incomplete();
        };
        let model_call_id = event.get("model_call_id").and_then(Value::as_str);
        let call = OpenCall {
            key: call_key(call_id, model_call_id),
            call_id: call_id.to_owned(),
            model_call_id: model_call_id.map(str::to_owned),
            tool: tool.to_owned(),
            body: body_digest(body),
            line: line.number,
            column: line.column(&[PathStep::Key("call_id")]),
        };
        match phase {
            CallPhase::Started => self.start(line, call),
            CallPhase::Completed => self.complete(line, &call),
        }
    }

    fn start(&mut self, line: &mut LineContext<'_>, call: OpenCall) {
        let id = printable_excerpt(&call.call_id);
        if self.completed_keys.contains(&call.key) {
            return line.add(
                &[PathStep::Key("call_id")],
                Rule::CallStartedTwice,
                format!("the call `{id}` starts again after its completion"),
            );
        }
        if let Some(first) = self.open.iter().find(|open| open.key == call.key) {
            let message = format!("the call `{id}` already started in line {}", first.line);
            return line.add(&[PathStep::Key("call_id")], Rule::CallStartedTwice, message);
        }
        if self.open.len() < MAX_OPEN {
            self.open.push(call);
        } else if !std::mem::replace(&mut self.is_incomplete, true) {
            line.add(&[], Rule::TooManyOpenCalls, format!("more than {MAX_OPEN} calls are open"));
        }
    }

    fn complete(&mut self, line: &mut LineContext<'_>, call: &OpenCall) {
        let id = printable_excerpt(&call.call_id);
        let exact = self.open.iter().position(|open| open.key == call.key);
        let same_id = || self.open.iter().position(|open| open.call_id == call.call_id);
        let mut add = |rule, message: String| line.add(&[PathStep::Key("call_id")], rule, message);
        let Some(index) = exact.or_else(same_id) else {
            if self.completed_keys.contains(&call.key) {
                add(Rule::CallCompletedTwice, format!("the call `{id}` is already completed"));
            } else if !self.is_incomplete {
                add(Rule::CallNotStarted, format!("the call `{id}` has not started"));
            }
            return;
        };
        let started = self.open.remove(index);
        let changed = |what: &str| format!("the call `{id}` started in line {} with {what}", started.line);
        if started.model_call_id != call.model_call_id {
            add(Rule::CallChanged, changed("another `model_call_id`"));
        }
        if started.tool != call.tool {
            add(Rule::CallChanged, changed(&format!("another tool, `{}`", printable_excerpt(&started.tool))));
        } else if started.body != call.body {
            add(Rule::CallChanged, changed("other arguments"));
        }
        for completed in [started.key, call.key] {
            if self.completed_keys.insert(completed) {
                self.completed.push_back(completed);
            }
        }
        while self.completed.len() > MAX_COMPLETED {
            if let Some(oldest) = self.completed.pop_front() {
                self.completed_keys.remove(&oldest);
            }
        }
    }

    /// Reports the calls that are still open at the end of the run.
    pub(super) fn report_open_calls(&mut self, findings: &mut Findings) {
        for OpenCall { call_id, line, column, .. } in std::mem::take(&mut self.open) {
            if !self.is_incomplete {
                let message = format!("the call `{}` is never completed", printable_excerpt(&call_id));
                findings.add(line, column, Rule::CallNotCompleted, message);
            }
        }
    }
}

/// Returns the hash that identifies a call: of both ids, because a provider may reuse a call id in another response.
fn call_key(call_id: &str, model_call_id: Option<&str>) -> u128 {
    digest::hash_value(&Value::from(vec![
        Value::from(call_id),
        model_call_id.map_or(Value::Null, Value::from),
    ]))
}

/// Returns the hash of the value under the tool's key without its result. The order of keys makes no difference.
fn body_digest(body: &Map<String, Value>) -> u128 {
    let parts = body.iter().filter(|(name, _)| *name != "result");
    let hash = |(name, value): (&String, &Value)| {
        digest::hash_value(&Value::from(name.as_str())).wrapping_mul(digest::hash_value(value) | 1)
    };
    parts.map(hash).fold(0, u128::wrapping_add)
}
