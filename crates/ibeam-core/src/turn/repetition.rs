//! The guard against a model that makes the same call with the same result again and again.
//!
//! Counts within the last few calls only: to read a file again after fifty other calls is no loop. Calls of one answer
//! were made without having seen their results, so the same call within one answer counts once.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use ibeam_protocol::ToolCall;

/// At this count the model is told.
pub(super) const WARN_AT: u32 = 5;
/// At this count the run ends.
pub(super) const STOP_AT: u32 = 10;
/// How many calls are looked back on; two calls in turn still reach `STOP_AT`.
const WINDOW: usize = 2 * STOP_AT as usize;

/// The last calls, as hashes of (tool, arguments, result).
#[derive(Default)]
pub(super) struct RepetitionGuard {
    recent: VecDeque<u64>,
    /// Calls of the answer at hand.
    in_answer: HashSet<u64>,
}

impl RepetitionGuard {
    /// Begins the calls of the next answer.
    pub(super) fn start_answer(&mut self) {
        self.in_answer.clear();
    }

    /// Takes a finished call and gives its count within the window, when that is worth a word.
    pub(super) fn record_call(&mut self, call: &ToolCall, result: &str) -> Option<u32> {
        let mut hasher = DefaultHasher::new();
        (&call.name, call.arguments.to_string(), result).hash(&mut hasher);
        let hash = hasher.finish();
        if !self.in_answer.insert(hash) {
            return None;
        }
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(hash);
        let count = self.recent.iter().filter(|seen| **seen == hash).count();
        u32::try_from(count).ok().filter(|count| *count == WARN_AT || *count >= STOP_AT)
    }
}
