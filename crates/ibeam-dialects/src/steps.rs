//! What decoders and encoders are, and where a decoder puts what it finds.

use crate::difference::says_nothing;
use crate::json::Object;
use crate::losses::{LossKind, Losses};
use crate::step::Step;

/// Makes steps of events.
pub(crate) trait Decode {
    /// The steps of one event; `false` if it is none of the dialect.
    fn event(&mut self, event: Object, into: &mut Steps<'_>) -> bool;
    /// What was held back until the end of the source.
    fn finish(&mut self, into: &mut Steps<'_>);
}

/// Writes steps, whose cards are in its own form.
pub(crate) trait Encode {
    /// The run goes on now: what it is called, as nothing else is, and when it began.
    fn live(&mut self, _run: &str, _began_ms: u64) {}
    /// Sets the present time of a run that goes on, in milliseconds since 1970.
    fn set_time(&mut self, _now_ms: u64) {}
    /// Appends whole lines.
    fn step(&mut self, step: Step, out: &mut Vec<u8>);
    /// Appends what was held back until the end of the source.
    fn finish(&mut self, _out: &mut Vec<u8>) {}
}

/// Where a decoder puts what it finds.
pub(crate) struct Steps<'a> {
    steps: Vec<Step>,
    losses: &'a mut Losses,
    line: u64,
}

impl<'a> Steps<'a> {
    /// Of a line of the source.
    pub(crate) fn of(line: u64, losses: &'a mut Losses) -> Self {
        Self { steps: Vec::new(), losses, line }
    }

    /// Those that were found.
    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// An event or a key that no step holds.
    pub(crate) fn lose(&mut self, key: &str) {
        self.losses.add(self.line, key, None, LossKind::Dropped);
    }

    /// Several that became one.
    pub(crate) fn join(&mut self, key: &str) {
        self.losses.add(self.line, key, None, LossKind::Joined);
    }

    /// The keys of an event that nobody took.
    pub(crate) fn lose_rest(&mut self, event: &str, rest: &Object) {
        let kept = rest.iter().filter(|(_, value)| !says_nothing(value));
        for (key, _) in kept {
            self.losses.add(self.line, &format!("{event}.{key}"), None, LossKind::Dropped);
        }
    }
}
