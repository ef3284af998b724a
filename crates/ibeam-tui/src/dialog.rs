//! A question of the program outside of a turn, in the live rows: a choice, or a text that may be secret.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::Catalogue;

use crate::editor::Editor;
use crate::question::{GuardedKey, TypeAheadGuard};
use crate::screen::Live;
use crate::styled::{Color, Line, Style};
use crate::view::is_control;
use ibeam_output::TuiLine;

/// The sign before the text that is typed.
const SIGN: &str = "❯ ";
/// The sign of a character of a secret, and the number that is shown. The length of a secret is not shown.
const SECRET_SIGN: &str = "•";
const MAX_SECRET_SIGNS: usize = 8;
/// The largest number of choices of which one key chooses.
const MAX_ONE_KEY_CHOICES: usize = 9;

/// A question of the program.
pub struct DialogOptions {
    /// The question.
    pub title: String,
    /// The kind of the answer.
    pub input: DialogInput,
    /// The protection against keys that are meant otherwise.
    pub guard: DialogGuard,
    /// The effect of [`DialogReply::Back`].
    pub escape: EscapeEffect,
    /// Receives the answer. It is dropped when the display ends.
    pub reply: Box<dyn FnOnce(DialogReply) + Send>,
}

/// The answers that a dialog accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogInput {
    /// One of these.
    Choice(Vec<String>),
    Text,
    /// A text of one line that is not shown.
    Secret,
}

impl DialogInput {
    /// Returns the position of the choice with this number.
    fn choice_of(&self, character: char) -> Option<usize> {
        let Self::Choice(choices) = self else { return None };
        let number = usize::try_from(character.to_digit(10)?).ok()?;
        number.checked_sub(1).filter(|at| *at < choices.len())
    }
}

/// The protection of a dialog against keys that are meant otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialogGuard {
    /// Every key counts.
    None,
    /// Text is not an answer. The first choice is selected.
    AgainstText,
    /// Text is not an answer, nor is Enter alone: an answer may grant something.
    Consent,
    /// Text closes the dialog, as Esc does, and goes into the input. The first choice is selected.
    GivesWay,
}

/// The effect of Esc, and of an empty line where there are lines only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeEffect {
    /// Esc leads to what was before the question.
    GoesBack,
    /// The question is the first one, so Esc ends the program.
    Leaves,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogReply {
    /// The position of the choice.
    Choice(usize),
    /// The text, without spaces around it. Never empty.
    Text(String),
    /// Esc: back to the previous question.
    Back,
    /// Ctrl-C or Ctrl-D: leave.
    Leave,
}

/// The effect of a key on a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DialogKeyEffect {
    StaysOpen,
    /// The key is text of the input, as is a character that was held.
    IsText {
        /// The character before the key.
        held: Option<char>,
    },
    Answers(DialogReply),
}

/// A dialog that is shown.
pub(crate) struct OpenDialog {
    title: String,
    input: DialogInput,
    guard: Option<TypeAheadGuard>,
    /// Whether text closes the dialog.
    pub(crate) gives_way: bool,
    escape: EscapeEffect,
    /// The choice that Enter alone chooses.
    preselected: Option<usize>,
    selected: Option<usize>,
    /// The number that is being typed.
    number: usize,
    editor: Editor,
    pub(crate) reply: Box<dyn FnOnce(DialogReply) + Send>,
}

impl OpenDialog {
    pub(crate) fn new(options: DialogOptions, now: Instant) -> Self {
        let DialogOptions { title, input, guard, escape, reply } = options;
        let preselected = (guard != DialogGuard::Consent).then_some(0);
        Self {
            title,
            input,
            gives_way: guard == DialogGuard::GivesWay,
            guard: (guard != DialogGuard::None).then(|| TypeAheadGuard::new(now)),
            escape,
            preselected,
            selected: preselected,
            number: 0,
            editor: Editor::default(),
            reply,
        }
    }

    /// Handles a key.
    pub(crate) fn on_key(&mut self, key: KeyEvent, now: Instant) -> DialogKeyEffect {
        if is_control(key, 'c') || is_control(key, 'd') {
            return DialogKeyEffect::Answers(DialogReply::Leave);
        }
        if key.code == KeyCode::Esc {
            return DialogKeyEffect::Answers(DialogReply::Back);
        }
        let is_choice = |character: char| self.input.choice_of(character).is_some();
        match self.guard.as_mut().map(|guard| guard.on_key(key, now, is_choice)) {
            Some(GuardedKey::Text { held }) => {
                self.selected = self.preselected;
                return DialogKeyEffect::IsText { held };
            }
            Some(GuardedKey::Held(character)) => {
                self.selected = self.input.choice_of(character);
                return DialogKeyEffect::StaysOpen;
            }
            // Enter confirms what is selected.
            Some(GuardedKey::Confirms(_) | GuardedKey::Control) | None => {}
        }
        let answer = match &self.input {
            DialogInput::Choice(choices) => {
                let count = choices.len();
                self.on_choice_key(key, count).map(DialogReply::Choice)
            }
            DialogInput::Text | DialogInput::Secret => self.on_text_key(key).map(DialogReply::Text),
        };
        answer.map_or(DialogKeyEffect::StaysOpen, DialogKeyEffect::Answers)
    }

    /// Returns the answer of a character that was typed, once it is certain that it is not text.
    pub(crate) fn settled(&mut self, now: Instant) -> Option<DialogReply> {
        let character = self.guard.as_mut()?.settled(now)?;
        self.input.choice_of(character).map(DialogReply::Choice)
    }

    /// Adds pasted text, and returns what belongs to the input instead.
    pub(crate) fn on_paste(&mut self, text: &str, now: Instant) -> Option<String> {
        match (&self.input, &mut self.guard) {
            (DialogInput::Choice(_), Some(guard)) => {
                self.selected = self.preselected;
                Some(guard.on_text(now).into_iter().chain(text.chars()).collect())
            }
            (DialogInput::Choice(_), None) => None,
            (DialogInput::Text | DialogInput::Secret, _) => {
                let line: String = text.trim().chars().filter(|c| !c.is_control()).collect();
                self.editor.insert(&line);
                None
            }
        }
    }

    /// Returns the chosen position.
    fn on_choice_key(&mut self, key: KeyEvent, count: usize) -> Option<usize> {
        let last = count.checked_sub(1)?;
        let typed = std::mem::take(&mut self.number);
        match key.code {
            KeyCode::Up | KeyCode::BackTab => {
                self.selected = Some(self.selected.map_or(last, |at| at.checked_sub(1).unwrap_or(last)));
            }
            KeyCode::Down | KeyCode::Tab => {
                self.selected = Some(self.selected.map_or(0, |at| if at < last { at + 1 } else { 0 }));
            }
            KeyCode::Home => self.selected = Some(0),
            KeyCode::End => self.selected = Some(last),
            KeyCode::Enter => return self.selected,
            KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                let digit = usize::try_from(c.to_digit(10)?).ok()?;
                let number =
                    [typed * 10 + digit, digit].into_iter().find(|number| (1..=count).contains(number))?;
                self.selected = Some(number - 1);
                if count <= MAX_ONE_KEY_CHOICES {
                    return self.selected;
                }
                self.number = number;
            }
            _ => {}
        }
        None
    }

    /// Returns the text when it is complete.
    fn on_text_key(&mut self, key: KeyEvent) -> Option<String> {
        let editor = &mut self.editor;
        let has_modifier = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter => {
                let text = editor.text().trim().to_owned();
                return (!text.is_empty()).then_some(text);
            }
            KeyCode::Char(c) if !has_modifier => editor.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Delete => editor.delete(),
            KeyCode::Left => editor.left(),
            KeyCode::Right => editor.right(),
            KeyCode::Home => editor.home(),
            KeyCode::End => editor.end(),
            _ if is_control(key, 'a') => editor.home(),
            _ if is_control(key, 'e') => editor.end(),
            _ if is_control(key, 'h') => editor.backspace(),
            _ if is_control(key, 'u') => editor.delete_to_line_start(),
            _ if is_control(key, 'w') => editor.delete_word(),
            _ => {}
        }
        None
    }

    /// Returns the rows: the question, the choices or the text, and the keys. `typed_ahead` is the text of the input.
    pub(crate) fn compose(
        &self,
        catalogue: &Catalogue,
        width: usize,
        height: usize,
        typed_ahead: &str,
    ) -> Live {
        let title = Line::new(Style { bold: true, ..Style::color(Color::Yellow) }, &self.title);
        let title = title.wrap(width.saturating_sub(1).max(2), 0);
        let keys = match (&self.input, self.escape) {
            (DialogInput::Choice(_), EscapeEffect::GoesBack) => TuiLine::DialogKeys,
            (DialogInput::Choice(_), EscapeEffect::Leaves) => TuiLine::DialogKeysLeave,
            (DialogInput::Text | DialogInput::Secret, EscapeEffect::GoesBack | EscapeEffect::Leaves) => {
                TuiLine::DialogTextKeys
            }
        };
        let keys = Line::new(Style::DIM, &catalogue.line(&keys)).wrap(width.saturating_sub(1).max(2), 0);
        let input_row = (!typed_ahead.is_empty()).then(|| {
            let first = typed_ahead.lines().next().unwrap_or_default();
            Line::new(Style::color(Color::Cyan), SIGN).with(Style::PLAIN, first)
        });
        let (body, cursor) = match &self.input {
            DialogInput::Choice(choices) => self.choice_rows(choices, width, height, title.len()),
            DialogInput::Text | DialogInput::Secret => {
                let (row, column) = self.text_row(width);
                (vec![row], (0, column))
            }
        };
        // Where the screen is low, the keys are left out, then the beginning of the question.
        let room = height.saturating_sub(body.len());
        let skipped = title.len().saturating_sub(room);
        let mut rows: Vec<Line> = title.into_iter().skip(skipped).collect();
        let cursor_row = rows.len() + cursor.0;
        rows.extend(body);
        let below = input_row.into_iter().chain(keys);
        rows.extend(below.take(height.saturating_sub(rows.len())));
        Live { rows, cursor_row, cursor_column: cursor.1 }
    }

    /// Returns all choices, wrapped, or where the screen is low, those that fit around the selected one; and the position
    /// of the cursor in them.
    fn choice_rows(
        &self,
        choices: &[String],
        width: usize,
        height: usize,
        title_rows: usize,
    ) -> (Vec<Line>, (usize, usize)) {
        // At least a row of the question stays.
        let room = height.saturating_sub(title_rows.min(1)).max(1);
        let current = self.selected.unwrap_or(0);
        let row = |(at, text): (usize, &String)| {
            let style = Style { reverse: self.selected == Some(at), ..Style::PLAIN };
            Line::plain("  ").with(style, &format!("{} {text}", at + 1))
        };
        let rows = choices.iter().enumerate().map(row);
        let wrapped: Vec<Vec<Line>> =
            rows.clone().map(|row| row.wrap(width.saturating_sub(1).max(2), 4)).collect();
        let count_before = |end: usize| wrapped.iter().take(end).map(Vec::len).sum::<usize>();
        if count_before(choices.len()) <= room {
            return (wrapped.concat(), (count_before(current), 0));
        }
        let room = room.min(choices.len());
        let first = (current + 1).saturating_sub(room);
        (rows.skip(first).take(room).collect(), (current - first, 0))
    }

    /// Returns the row of the text, and the cell of the cursor. Of a long text, the part before the cursor is shown.
    fn text_row(&self, width: usize) -> (Line, usize) {
        let sign = Line::new(Style::color(Color::Cyan), SIGN);
        if self.input == DialogInput::Secret {
            let count = self.editor.text().chars().count().min(MAX_SECRET_SIGNS);
            return (sign.with(Style::PLAIN, &SECRET_SIGN.repeat(count)), 2 + count);
        }
        let room = width.saturating_sub(4).max(1);
        let before = self.editor.before();
        let mut start = 0;
        for (at, _) in before.char_indices() {
            if Line::plain(before.get(at..).unwrap_or_default()).width() <= room {
                start = at;
                break;
            }
            start = before.len();
        }
        let shown = self.editor.text().get(start..).unwrap_or_default();
        let column = Line::plain(before.get(start..).unwrap_or_default()).width();
        (sign.with(Style::PLAIN, shown), 2 + column)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ibeam_output::Locale;

    use super::*;

    fn dialog(input: DialogInput, is_consent: bool, now: Instant) -> OpenDialog {
        let title = "Which one of these?".to_owned();
        let (guard, escape) = match is_consent {
            true => (DialogGuard::Consent, EscapeEffect::Leaves),
            false => (DialogGuard::None, EscapeEffect::GoesBack),
        };
        OpenDialog::new(DialogOptions { title, input, guard, escape, reply: Box::new(drop) }, now)
    }

    fn choices(count: usize) -> DialogInput {
        DialogInput::Choice((1..=count).map(|number| format!("choice {number}")).collect())
    }

    fn press(dialog: &mut OpenDialog, code: KeyCode, now: Instant) -> DialogKeyEffect {
        dialog.on_key(KeyEvent::new(code, KeyModifiers::NONE), now)
    }

    fn rows(dialog: &OpenDialog, width: usize, height: usize) -> Vec<String> {
        let live = dialog.compose(&Catalogue::new(Locale::En), width, height, "");
        assert!(live.rows.len() <= height && live.cursor_row < live.rows.len(), "{live:?}");
        live.rows.iter().map(Line::text).collect()
    }

    #[test]
    fn text_chooses_nothing() {
        let now = Instant::now();
        let mut dialog = dialog(choices(3), true, now);
        let at = |ms| now + Duration::from_millis(ms);
        let text = |held| DialogKeyEffect::IsText { held };
        for code in [KeyCode::Char('1'), KeyCode::Enter, KeyCode::Down] {
            assert_eq!(press(&mut dialog, code, at(100)), text(None));
        }
        assert_eq!(dialog.on_paste("1", at(200)).as_deref(), Some("1"));
        // Without a selection, Enter chooses nothing.
        assert_eq!(press(&mut dialog, KeyCode::Enter, at(900)), DialogKeyEffect::StaysOpen);
        // A digit in a word, and one that begins a text.
        for (ms, character) in [(1000, 'n'), (1100, '1')] {
            assert_eq!(press(&mut dialog, KeyCode::Char(character), at(ms)), text(None));
        }
        assert_eq!(press(&mut dialog, KeyCode::Char('2'), at(2000)), DialogKeyEffect::StaysOpen);
        assert_eq!(press(&mut dialog, KeyCode::Char('n'), at(2100)), text(Some('2')));
        assert_eq!((dialog.settled(at(9000)), dialog.selected), (None, None));
    }

    #[test]
    fn a_number_alone_chooses() {
        let now = Instant::now();
        let at = |ms| now + Duration::from_millis(ms);
        let mut slow = dialog(choices(3), true, now);
        assert_eq!(press(&mut slow, KeyCode::Char('2'), at(900)), DialogKeyEffect::StaysOpen);
        assert_eq!(slow.settled(at(1000)), None);
        assert_eq!(slow.settled(at(1300)), Some(DialogReply::Choice(1)));
        let mut confirmed = dialog(choices(3), true, now);
        press(&mut confirmed, KeyCode::Char('3'), at(900));
        let effect = press(&mut confirmed, KeyCode::Enter, at(950));
        assert_eq!(effect, DialogKeyEffect::Answers(DialogReply::Choice(2)));
    }

    #[test]
    fn a_choice_is_shown_whole_where_there_is_room() {
        let input = DialogInput::Choice(vec!["trust it, until it changes".to_owned(), "leave".to_owned()]);
        let dialog = dialog(input, false, Instant::now());
        let shown = rows(&dialog, 20, 10);
        assert!(shown.contains(&"  1 trust it, until".to_owned()), "{shown:?}");
        assert!(shown.contains(&"    it changes".to_owned()), "{shown:?}");
        let shown = rows(&dialog, 20, 3);
        assert!(shown.iter().any(|row| row.starts_with("  1 trust")), "{shown:?}");
    }

    #[test]
    fn the_keys_name_the_effect_of_escape() {
        for (is_first, expect) in [(true, "Esc, Ctrl-C leave"), (false, "Esc back · Ctrl-C leaves")] {
            let dialog = dialog(choices(2), is_first, Instant::now());
            let shown = rows(&dialog, 80, 10);
            assert!(shown.last().unwrap().ends_with(expect), "{shown:?}");
        }
    }

    #[test]
    fn escape_and_control_c_always_lead_out() {
        let now = Instant::now();
        for input in [choices(3), DialogInput::Text, DialogInput::Secret] {
            let mut dialog = dialog(input, true, now);
            assert_eq!(press(&mut dialog, KeyCode::Esc, now), DialogKeyEffect::Answers(DialogReply::Back));
            let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(dialog.on_key(key, now), DialogKeyEffect::Answers(DialogReply::Leave));
        }
    }

    #[test]
    fn of_many_choices_a_number_of_two_digits_selects_one() {
        let now = Instant::now();
        let mut dialog = dialog(choices(12), false, now);
        for c in ['1', '2'] {
            assert_eq!(press(&mut dialog, KeyCode::Char(c), now), DialogKeyEffect::StaysOpen);
        }
        assert_eq!(
            press(&mut dialog, KeyCode::Enter, now),
            DialogKeyEffect::Answers(DialogReply::Choice(11))
        );
        press(&mut dialog, KeyCode::Down, now);
        assert_eq!(dialog.selected, Some(0));
    }

    #[test]
    fn the_selected_choice_fits_a_low_screen() {
        let now = Instant::now();
        let mut dialog = dialog(choices(12), false, now);
        press(&mut dialog, KeyCode::End, now);
        let shown = rows(&dialog, 20, 4);
        assert_eq!(shown.first().map(String::as_str), Some("Which one of these?"));
        assert_eq!(shown.last().map(|row| row.trim()), Some("12 choice 12"));
        assert!(rows(&dialog, 80, 24).len() > 13, "the keys are shown too");
    }

    #[test]
    fn a_secret_is_not_shown_and_a_pasted_text_is_one_line() {
        let now = Instant::now();
        let mut dialog = dialog(DialogInput::Secret, false, now);
        assert_eq!(dialog.on_paste(" sk-0123456789\n", now), None);
        let shown = rows(&dialog, 80, 24).join("\n");
        assert!(
            !shown.contains("sk") && shown.contains("••••••••") && !shown.contains("•••••••••"),
            "{shown}"
        );
        assert_eq!(
            press(&mut dialog, KeyCode::Enter, now),
            DialogKeyEffect::Answers(DialogReply::Text("sk-0123456789".to_owned()))
        );
        let mut empty = self::dialog(DialogInput::Text, false, now);
        assert_eq!(press(&mut empty, KeyCode::Enter, now), DialogKeyEffect::StaysOpen);
    }

    #[test]
    fn of_a_long_text_the_end_is_shown() {
        let now = Instant::now();
        let mut dialog = dialog(DialogInput::Text, false, now);
        dialog.on_paste("http://127.0.0.1:11434/v1", now);
        let shown = rows(&dialog, 20, 4);
        assert!(shown.iter().any(|row| row.ends_with("0.1:11434/v1")), "{shown:?}");
    }
}
