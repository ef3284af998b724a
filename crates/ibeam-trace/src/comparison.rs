//! Two sessions or streams side by side: calls, changed files, tokens and cost.
//!
//! [`SessionFacts`] are collected from the events of one of them; [`Comparison`] writes them as text or as JSON. Paths
//! below the workspace are relative, so that runs in two worktrees can be compared.

mod facts;
mod sequence;
mod table;

use std::collections::BTreeSet;

use ibeam_output::Catalogue;
use serde_json::{Value, json};

pub use self::facts::SessionFacts;
use self::facts::{CallFact, CallOutcome, RunEnd};
use self::sequence::{Presence, merge};
use crate::dollars;

/// A comparison of two sessions or streams.
pub struct Comparison<'a> {
    names: [&'a str; 2],
    facts: [&'a SessionFacts; 2],
    calls: Vec<(Presence, &'a CallFact)>,
    files: Vec<(Presence, &'a str)>,
}

impl<'a> Comparison<'a> {
    /// Returns the comparison of two sessions or streams with the names that the user gave them.
    pub fn new(names: [&'a str; 2], facts: [&'a SessionFacts; 2]) -> Self {
        let [first, second] = facts;
        let all: BTreeSet<_> = first.files().union(second.files()).collect();
        let file = |path: &'a String| {
            let presence = match (first.files().contains(path), second.files().contains(path)) {
                (true, false) => Presence::First,
                (false, true) => Presence::Second,
                (true, true) | (false, false) => Presence::Both,
            };
            (presence, path.as_str())
        };
        let files = all.into_iter().map(file).collect();
        Self { names, facts, calls: merge(first.calls(), second.calls()), files }
    }

    /// Returns the comparison for people.
    pub fn to_text(&self, catalogue: &Catalogue) -> String {
        table::to_text(self, catalogue)
    }

    /// Returns the comparison for programs.
    pub fn to_json(&self) -> Value {
        let [a, b] = [0, 1].map(|index| self.side(index));
        let call = |(presence, call): &(Presence, &CallFact)| {
            json!({
                "in": presence.name(),
                "tool": call.tool,
                "target": call.target,
                "outcome": call.outcome.name(),
            })
        };
        let file = |(presence, path): &(Presence, &str)| json!({ "in": presence.name(), "path": path });
        json!({
            "a": a,
            "b": b,
            "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
            "files_changed": self.files.iter().map(file).collect::<Vec<_>>(),
        })
    }

    fn side(&self, index: usize) -> Value {
        let (Some(name), Some(facts)) = (self.names.get(index), self.facts.get(index)) else {
            return Value::Null;
        };
        let usage = facts.usage().map(|usage| {
            json!({
                "inputTokens": usage.input,
                "outputTokens": usage.output,
                "cacheReadTokens": usage.cache_read,
                "cacheWriteTokens": usage.cache_write,
            })
        });
        json!({
            "source": name,
            "session_id": facts.session_id().map(|id| id.to_string()),
            "models": facts.models(),
            "runs": facts.runs(),
            "outcome": facts.end().map(RunEnd::name),
            "duration_ms": facts.duration_ms(),
            "requests": facts.requests(),
            "tool_calls": facts.calls().len(),
            "failed_tool_calls": facts.failed_calls(),
            "usage": usage,
            "cost_usd": facts.cost_micros().map(dollars),
            "files_changed": facts.files().len(),
        })
    }
}

impl CallOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Open => "open",
        }
    }
}

impl RunEnd {
    fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Missing => "incomplete",
        }
    }
}
