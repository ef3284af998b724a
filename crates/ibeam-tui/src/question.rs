//! The question about a call: its choices, and the protection against text that looks like an answer.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_protocol::CallId;

use crate::styled::Line;
use ibeam_output::TuiLine;

/// The time without any key after which a key can be an answer. Text typed before the question appeared never counts as an answer.
const PAUSE_BEFORE: Duration = Duration::from_millis(600);
/// The time without any key after which a character is an answer, not the beginning of a text.
const PAUSE_AFTER: Duration = Duration::from_millis(400);

/// The answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Allow the call.
    Once,
    /// Allow the call, and calls like it until the program ends.
    ForSession,
    /// Allow the call, and all changes of files in the workspace until the program ends.
    AllEdits,
    /// Allow the call, and add the rule of the question for this workspace.
    AlwaysHere,
    /// Allow the call, and add the rule of the question.
    Always,
    Refuse,
    /// Refuse the call, with a message to the model.
    RefuseAndExplain(String),
}

/// The answers that a question offers besides those that every question has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastingAnswers {
    /// Whether the answer may last until the program ends.
    pub same_call: bool,
    /// Whether the answer may hold for all changes of files in the workspace until the program ends.
    pub all_edits: bool,
    /// The rule that would allow such calls; `None` where no rule can.
    pub rule: Option<String>,
}

impl LastingAnswers {
    /// Returns the choices of a question, in the order of their numbers.
    pub fn choices(&self) -> Vec<Choice> {
        let offered = [
            (Choice::Once, true),
            (Choice::ForSession, self.same_call),
            (Choice::AllEdits, self.all_edits),
            (Choice::AlwaysHere, self.rule.is_some()),
            (Choice::Always, self.rule.is_some()),
            (Choice::Refuse, true),
            (Choice::RefuseAndExplain, true),
        ];
        offered.into_iter().filter_map(|(choice, is_offered)| is_offered.then_some(choice)).collect()
    }
}

/// A question about a call.
pub struct Question {
    pub call: CallId,
    /// The cause, and the exact command or target.
    pub body: Vec<Line>,
    /// The change of a file that the call would make; empty for other calls.
    pub change: Vec<Line>,
    pub lasting: LastingAnswers,
    /// Receives the answer.
    pub reply: Box<dyn FnOnce(Reply) + Send>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Allow the call.
    Once,
    /// Allow calls like it until the program ends.
    ForSession,
    /// Allow all changes of files in the workspace until the program ends.
    AllEdits,
    /// Add a rule for this workspace.
    AlwaysHere,
    /// Add a rule.
    Always,
    Refuse,
    /// Refuse the call, with a message to the model.
    RefuseAndExplain,
}

impl Choice {
    /// Returns the choice that an answer names with its position from 1 on, or with `y` or `n`.
    pub fn from_answer(answer: &str, choices: &[Self]) -> Option<Self> {
        match answer {
            "y" | "Y" | "yes" => Some(Self::Once),
            "n" | "N" | "no" => Some(Self::Refuse),
            _ => {
                let number: usize = answer.parse().ok()?;
                choices.get(number.checked_sub(1)?).copied()
            }
        }
    }

    /// Returns the text of the choice. `rule` is the rule that is added.
    pub fn line(self, rule: Option<&str>) -> TuiLine<'_> {
        match self {
            Self::Once => TuiLine::Once,
            Self::ForSession => TuiLine::ForSession,
            Self::AllEdits => TuiLine::AllEdits,
            Self::AlwaysHere => TuiLine::AlwaysHere { rule: rule.unwrap_or_default() },
            Self::Always => TuiLine::Always { rule: rule.unwrap_or_default() },
            Self::Refuse => TuiLine::Refuse,
            Self::RefuseAndExplain => TuiLine::RefuseAndExplain,
        }
    }
}

/// The protection of a question against text: a character is an answer only if it is typed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeAheadGuard {
    /// The time from which on a key can be an answer.
    armed_at: Instant,
    /// A character that is an answer, unless text follows before this time.
    held: Option<(char, Instant)>,
}

/// The meaning of a key while a question is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardedKey {
    /// The key moves through the choices, confirms one, or has the meaning that it has without a question.
    Control,
    /// The character is an answer unless text follows: see [`TypeAheadGuard::settled`].
    Held(char),
    /// The key confirms this character.
    Confirms(char),
    /// The key is text of the input, as is a character that was held.
    Text {
        /// The character before the key.
        held: Option<char>,
    },
}

impl TypeAheadGuard {
    /// Returns the protection of a question that is shown at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self { armed_at: now + PAUSE_BEFORE, held: None }
    }

    /// Returns the meaning of a key at `now`. Text postpones the time from which on keys are answers.
    pub(crate) fn on_key(
        &mut self,
        key: KeyEvent,
        now: Instant,
        is_answer: impl FnOnce(char) -> bool,
    ) -> GuardedKey {
        let is_text_key = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete)
            && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match (self.held, key.code) {
            (Some((character, _)), KeyCode::Enter) => {
                self.held = None;
                return GuardedKey::Confirms(character);
            }
            (Some(_), _) if is_text_key => return GuardedKey::Text { held: self.on_text(now) },
            (Some(_) | None, _) => self.held = None,
        }
        if now < self.armed_at {
            return GuardedKey::Text { held: self.on_text(now) };
        }
        match key.code {
            KeyCode::Char(character) if is_text_key && is_answer(character) => {
                self.held = Some((character, now + PAUSE_AFTER));
                GuardedKey::Held(character)
            }
            _ if is_text_key => GuardedKey::Text { held: self.on_text(now) },
            _ => GuardedKey::Control,
        }
    }

    /// Records text at `now`, and returns the character before it that was held.
    pub(crate) fn on_text(&mut self, now: Instant) -> Option<char> {
        self.armed_at = now + PAUSE_BEFORE;
        self.held.take().map(|(character, _)| character)
    }

    /// Returns the character that was held, once no text has followed.
    pub(crate) fn settled(&mut self, now: Instant) -> Option<char> {
        let settled = self.held.filter(|(_, at)| now >= *at);
        settled.inspect(|_| self.held = None).map(|(character, _)| character)
    }
}

/// A question that is shown.
pub(crate) struct OpenQuestion {
    pub(crate) question: Question,
    pub(crate) guard: TypeAheadGuard,
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

    /// Returns the meaning of a key at `now`, and selects the choice of a character that may be an answer. Without text in
    /// the input, a character alone that is no choice has no effect.
    pub(crate) fn on_key(&mut self, key: KeyEvent, now: Instant, has_input: bool) -> GuardedKey {
        let choices = self.choices();
        let choice_of = |character: char| Choice::from_answer(character.encode_utf8(&mut [0; 4]), &choices);
        let meaning = self.guard.on_key(key, now, |character| !has_input || choice_of(character).is_some());
        match meaning {
            GuardedKey::Held(character) => {
                let choice = choice_of(character);
                self.selected = choices.iter().position(|offered| Some(*offered) == choice);
            }
            GuardedKey::Text { .. } => self.selected = None,
            GuardedKey::Control | GuardedKey::Confirms(_) => {}
        }
        meaning
    }

    /// Returns the choices in the order of their numbers.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        self.question.lasting.choices()
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

    /// Types characters in a question that was shown at 0 ms, each at its time. Returns the text that went into the
    /// input, and the answer that was settled 2 s after the last key.
    fn typed(keys: &[(u64, char)]) -> (String, Option<Choice>) {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let question = Question {
            call: "c".into(),
            body: Vec::new(),
            change: Vec::new(),
            lasting: LastingAnswers::default(),
            reply: Box::new(drop),
        };
        let mut open = OpenQuestion::new(question, start);
        assert_eq!(open.choices(), [Choice::Once, Choice::Refuse, Choice::RefuseAndExplain]);
        let mut text = String::new();
        for (ms, character) in keys {
            assert_eq!(open.guard.settled(at(*ms)), None, "{keys:?}");
            match open.on_key(KeyEvent::from(KeyCode::Char(*character)), at(*ms), !text.is_empty()) {
                GuardedKey::Text { held } => text.extend(held.into_iter().chain([*character])),
                GuardedKey::Held(_) => {}
                meaning @ (GuardedKey::Control | GuardedKey::Confirms(_)) => panic!("{meaning:?}"),
            }
        }
        let end = at(keys.last().unwrap().0 + 2000);
        let answer = open.guard.settled(end).and_then(|character| open.choice_of(character));
        assert_eq!(open.guard.settled(end), None);
        (text, answer)
    }

    #[test]
    fn a_character_alone_is_an_answer() {
        assert_eq!(typed(&[(700, 'y')]), (String::new(), Some(Choice::Once)));
        assert_eq!(typed(&[(700, '2')]), (String::new(), Some(Choice::Refuse)));
        // What is no choice has no effect.
        for key in ['4', '0', 'x'] {
            assert_eq!(typed(&[(700, key)]), (String::new(), None));
        }
    }

    #[test]
    fn text_is_no_answer() {
        let word = |start: u64, every: u64, text: &str| -> Vec<(u64, char)> {
            (start..).step_by(usize::try_from(every).unwrap()).zip(text.chars()).collect()
        };
        for (start, every) in [(100, 150), (700, 100), (700, 350), (2000, 20)] {
            for text in ["why is it", "use port 3128", "what is this for, then", "you should", "1st", "no 4"]
            {
                assert_eq!(typed(&word(start, every, text)), (text.into(), None), "{start} {every}");
            }
        }
        // Keys that were typed ahead, and one that was not.
        assert_eq!(
            typed(&[(100, 'y'), (650, 'y'), (1200, 'y'), (1900, 'y')]),
            ("yyy".into(), Some(Choice::Once))
        );
    }

    #[test]
    fn enter_confirms_a_character_at_once() {
        let start = Instant::now();
        let mut guard = TypeAheadGuard::new(start);
        let at = |ms| start + Duration::from_millis(ms);
        let is_answer = |character| character == 'y';
        let (y, enter) = (KeyEvent::from(KeyCode::Char('y')), KeyEvent::from(KeyCode::Enter));
        assert_eq!(guard.on_key(y, at(700), is_answer), GuardedKey::Held('y'));
        assert_eq!(guard.on_key(enter, at(750), is_answer), GuardedKey::Confirms('y'));
        // A line feed at the end belongs to the text.
        assert_eq!(guard.on_key(y, at(1000), is_answer), GuardedKey::Held('y'));
        assert_eq!(guard.on_key(y, at(1100), is_answer), GuardedKey::Text { held: Some('y') });
        assert_eq!(guard.on_key(enter, at(1200), is_answer), GuardedKey::Text { held: None });
    }
}
