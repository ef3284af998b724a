//! Calls across lines: each begins once, completes once, as the same call.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::finding::{Findings, LineContext, printable_excerpt};
use super::rule::Rule;
use crate::digest;
use crate::event::CallPhase;
use crate::scan::Step;

/// Calls that may be open at once, and completed ones that are remembered: what keeps memory bounded.
const MOST_OPEN: usize = 1024;
const MOST_DONE: usize = 4096;

/// The calls of a stream so far.
#[derive(Default)]
pub(super) struct Calls {
    open: Vec<Open>,
    /// The last completed calls, oldest first, and the same for looking up.
    done: VecDeque<u128>,
    known: HashSet<u128>,
    /// Calls were passed over, so what is missing proves nothing.
    incomplete: bool,
}

/// A call that has begun.
struct Open {
    key: u128,
    call_id: String,
    model_call_id: Option<String>,
    tool: String,
    /// All that stands under the tool's key but its result.
    body: u128,
    line: u64,
    column: usize,
}

impl Calls {
    /// A line could not be read; it may have begun or completed any call.
    pub(super) fn lost(&mut self) {
        self.incomplete = true;
    }

    pub(super) fn event(
        &mut self,
        line: &mut LineContext<'_>,
        event: &Map<String, Value>,
        phase: CallPhase,
        tool: &str,
        body: &Map<String, Value>,
    ) {
        let Some(call_id) = event.get("call_id").and_then(Value::as_str) else { return self.lost() };
        let model_call_id = event.get("model_call_id").and_then(Value::as_str);
        let call = Open {
            key: key(call_id, model_call_id),
            call_id: call_id.to_owned(),
            model_call_id: model_call_id.map(str::to_owned),
            tool: tool.to_owned(),
            body: body_digest(body),
            line: line.number,
            column: line.column(&[Step::Key("call_id")]),
        };
        match phase {
            CallPhase::Started => self.start(line, call),
            CallPhase::Completed => self.complete(line, &call),
        }
    }

    fn start(&mut self, line: &mut LineContext<'_>, call: Open) {
        let id = printable_excerpt(&call.call_id);
        if self.known.contains(&call.key) {
            return line.add(
                &[Step::Key("call_id")],
                Rule::CallStartedTwice,
                format!("the call `{id}` begins again after it was completed"),
            );
        }
        if let Some(first) = self.open.iter().find(|open| open.key == call.key) {
            let message = format!("the call `{id}` has begun in line {}", first.line);
            return line.add(&[Step::Key("call_id")], Rule::CallStartedTwice, message);
        }
        if self.open.len() < MOST_OPEN {
            self.open.push(call);
        } else if !std::mem::replace(&mut self.incomplete, true) {
            line.add(&[], Rule::TooManyOpenCalls, format!("more than {MOST_OPEN} calls are open"));
        }
    }

    fn complete(&mut self, line: &mut LineContext<'_>, call: &Open) {
        let id = printable_excerpt(&call.call_id);
        let exact = self.open.iter().position(|open| open.key == call.key);
        let near = || self.open.iter().position(|open| open.call_id == call.call_id);
        let mut say = |rule, message: String| line.add(&[Step::Key("call_id")], rule, message);
        let Some(index) = exact.or_else(near) else {
            if self.known.contains(&call.key) {
                say(Rule::CallCompletedTwice, format!("the call `{id}` was completed before"));
            } else if !self.incomplete {
                say(Rule::CallNotStarted, format!("the call `{id}` has not begun"));
            }
            return;
        };
        let begun = self.open.remove(index);
        let changed = |what: &str| format!("the call `{id}` began in line {} with {what}", begun.line);
        if begun.model_call_id != call.model_call_id {
            say(Rule::CallChanged, changed("another `model_call_id`"));
        }
        if begun.tool != call.tool {
            say(Rule::CallChanged, changed(&format!("another tool, `{}`", printable_excerpt(&begun.tool))));
        } else if begun.body != call.body {
            say(Rule::CallChanged, changed("other arguments"));
        }
        for done in [begun.key, call.key] {
            if self.known.insert(done) {
                self.done.push_back(done);
            }
        }
        while self.done.len() > MOST_DONE {
            if let Some(oldest) = self.done.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    /// The run is over: what is still open stays so.
    pub(super) fn end(&mut self, findings: &mut Findings) {
        for Open { call_id, line, column, .. } in std::mem::take(&mut self.open) {
            if !self.incomplete {
                let message = format!("the call `{}` is never completed", printable_excerpt(&call_id));
                findings.add(line, column, Rule::CallNotCompleted, message);
            }
        }
    }
}

/// What tells calls apart. A provider may use an id again in another answer.
fn key(call_id: &str, model_call_id: Option<&str>) -> u128 {
    digest::hash_value(&Value::from(vec![
        Value::from(call_id),
        model_call_id.map_or(Value::Null, Value::from),
    ]))
}

fn body_digest(body: &Map<String, Value>) -> u128 {
    let parts = body.iter().filter(|(name, _)| *name != "result");
    let hash = |(name, value): (&String, &Value)| {
        digest::hash_value(&Value::from(name.as_str())).wrapping_mul(digest::hash_value(value) | 1)
    };
    parts.map(hash).fold(0, u128::wrapping_add)
}
