//! The question about a call: its choices, and the protection against text that was typed ahead.

use std::time::{Duration, Instant};

use ibeam_protocol::CallId;

use crate::styled::Line;
use crate::texts::TuiLine;

/// The time without any key after which a key can be an answer. Text that is typed ahead is never consent.
const PAUSE: Duration = Duration::from_millis(600);

/// The answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Allow the call.
    Once,
    /// Allow the call, and calls like it until the program ends.
    ForSession,
    /// Allow the call, and add the rule of the question.
    Always,
    /// Refuse the call.
    Refuse,
    /// Refuse the call, with a message to the model.
    RefuseAndExplain(String),
}

/// A question about a call.
pub struct Question {
    /// The call.
    pub call: CallId,
    /// The cause, and the exact command or target.
    pub body: Vec<Line>,
    /// The change of a file that the call would make; empty for other calls.
    pub change: Vec<Line>,
    /// Whether the answer may last until the program ends.
    pub may_last: bool,
    /// The rule that would allow such calls; `None` where no rule can.
    pub rule: Option<String>,
    /// Receives the answer.
    pub reply: Box<dyn FnOnce(Reply) + Send>,
}

/// A choice of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Allow the call.
    Once,
    /// Allow calls like it until the program ends.
    ForSession,
    /// Add a rule.
    Always,
    /// Refuse the call.
    Refuse,
    /// Refuse the call, with a message to the model.
    RefuseAndExplain,
}

impl Choice {
    /// Returns the number of the choice. It is the same in every question, so that a habit never chooses something else.
    pub fn number(self) -> usize {
        match self {
            Self::Once => 1,
            Self::ForSession => 2,
            Self::Always => 3,
            Self::Refuse => 4,
            Self::RefuseAndExplain => 5,
        }
    }

    /// Returns the choices of a question in the order of their numbers.
    pub fn offered(may_last: bool, has_rule: bool) -> Vec<Self> {
        let mut choices = vec![Self::Once];
        choices.extend(may_last.then_some(Self::ForSession));
        choices.extend(has_rule.then_some(Self::Always));
        choices.extend([Self::Refuse, Self::RefuseAndExplain]);
        choices
    }

    /// Returns the choice that an answer names with its number, or with `y` or `n`.
    pub fn from_answer(answer: &str, choices: &[Self]) -> Option<Self> {
        match answer {
            "y" | "Y" | "yes" => Some(Self::Once),
            "n" | "N" | "no" => Some(Self::Refuse),
            _ => {
                let number: usize = answer.parse().ok()?;
                choices.iter().copied().find(|choice| choice.number() == number)
            }
        }
    }

    /// Returns the text of the choice. `rule` is the rule that [`Self::Always`] adds.
    pub fn line(self, rule: Option<&str>) -> TuiLine<'_> {
        match self {
            Self::Once => TuiLine::Once,
            Self::ForSession => TuiLine::ForSession,
            Self::Always => TuiLine::Always { rule: rule.unwrap_or_default() },
            Self::Refuse => TuiLine::Refuse,
            Self::RefuseAndExplain => TuiLine::RefuseAndExplain,
        }
    }
}

/// The protection of a question against text that was typed ahead: a key is an answer only after a time without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeAheadGuard {
    /// The time from which on a key is an answer.
    armed_at: Instant,
}

impl TypeAheadGuard {
    /// Returns the protection of a question that is shown at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self { armed_at: now + PAUSE }
    }

    /// Returns whether a key at `now` is an answer. A key that is not postpones the time from which on keys are.
    pub(crate) fn accepts_key(&mut self, now: Instant) -> bool {
        let is_answer = now >= self.armed_at;
        if !is_answer {
            self.armed_at = now + PAUSE;
        }
        is_answer
    }
}

/// A question that is shown.
pub(crate) struct OpenQuestion {
    pub(crate) question: Question,
    guard: TypeAheadGuard,
    pub(crate) selected: Option<usize>,
    /// Whether the input is the message to the model about a refusal.
    pub(crate) explains: bool,
    /// The text of the input before the message.
    pub(crate) draft: String,
}

impl OpenQuestion {
    pub(crate) fn new(question: Question, now: Instant) -> Self {
        let guard = TypeAheadGuard::new(now);
        Self { question, guard, selected: None, explains: false, draft: String::new() }
    }

    /// Returns whether a key at `now` is an answer: see [`TypeAheadGuard::accepts_key`].
    pub(crate) fn accepts_key(&mut self, now: Instant) -> bool {
        self.guard.accepts_key(now)
    }

    /// Returns the choices in the order of their numbers.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        Choice::offered(self.question.may_last, self.question.rule.is_some())
    }

    /// Selects the next or the previous choice.
    pub(crate) fn advance(&mut self, forward: bool) {
        let count = self.choices().len();
        self.selected = Some(match (self.selected, forward) {
            (None, true) => 0,
            (None, false) => count.saturating_sub(1),
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        });
    }

    /// Returns the choice of a key: its number, or `y` and `n`.
    pub(crate) fn choice_of(&self, key: char) -> Option<Choice> {
        Choice::from_answer(key.encode_utf8(&mut [0; 4]), &self.choices())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_typed_ahead_are_no_answer() {
        let start = Instant::now();
        let question = Question {
            call: "c".into(),
            body: Vec::new(),
            change: Vec::new(),
            may_last: false,
            rule: None,
            reply: Box::new(drop),
        };
        let mut open = OpenQuestion::new(question, start);
        let at = |ms| start + Duration::from_millis(ms);
        assert!(!open.accepts_key(at(100)) && !open.accepts_key(at(650)) && !open.accepts_key(at(1200)));
        assert!(open.accepts_key(at(1900)));
        assert_eq!(open.choices(), [Choice::Once, Choice::Refuse, Choice::RefuseAndExplain]);
        assert_eq!(
            (open.choice_of('4'), open.choice_of('2'), open.choice_of('0')),
            (Some(Choice::Refuse), None, None)
        );
    }
}
