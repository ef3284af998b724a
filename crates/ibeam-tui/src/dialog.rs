//! A question of the program outside of a turn, in the live rows: a choice, or a text that may be secret.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::Catalogue;

use crate::editor::Editor;
use crate::question::TypeAheadGuard;
use crate::screen::Live;
use crate::styled::{Color, Line, Style};
use crate::texts::TuiLine;
use crate::view::is_control;

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
    /// Whether keys that were typed ahead are no answer, as for a question that grants something.
    pub is_guarded: bool,
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
    /// A text of one line.
    Text,
    /// A text of one line that is not shown.
    Secret,
}

/// The effect of Esc, and of an empty line where there are lines only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeEffect {
    /// Esc leads to what was before the question.
    GoesBack,
    /// The question is the first one, so Esc ends the program.
    Leaves,
}

/// The answer to a dialog.
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
    /// The key was typed ahead, and belongs to the input.
    IsTypedAhead,
    Answers(DialogReply),
}

/// A dialog that is shown.
pub(crate) struct OpenDialog {
    title: String,
    input: DialogInput,
    guard: Option<TypeAheadGuard>,
    escape: EscapeEffect,
    selected: Option<usize>,
    /// The number that is being typed.
    number: usize,
    editor: Editor,
    pub(crate) reply: Box<dyn FnOnce(DialogReply) + Send>,
}

impl OpenDialog {
    pub(crate) fn new(options: DialogOptions, now: Instant) -> Self {
        let DialogOptions { title, input, is_guarded, escape, reply } = options;
        Self {
            title,
            input,
            guard: is_guarded.then(|| TypeAheadGuard::new(now)),
            escape,
            // Enter alone must not grant anything.
            selected: (!is_guarded).then_some(0),
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
        if self.guard.as_mut().is_some_and(|guard| !guard.accepts_key(now)) {
            return DialogKeyEffect::IsTypedAhead;
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

    /// Adds pasted text; returns `false` if the text belongs to the input.
    pub(crate) fn on_paste(&mut self, text: &str, now: Instant) -> bool {
        match self.input {
            DialogInput::Choice(_) => self.guard.as_mut().is_none_or(|guard| guard.accepts_key(now)),
            DialogInput::Text | DialogInput::Secret => {
                let line: String = text.trim().chars().filter(|c| !c.is_control()).collect();
                self.editor.insert(&line);
                true
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
            DialogInput::Choice(choices) => self.choice_rows(choices, height, title.len()),
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

    /// Returns the choices that fit around the selected one, and the position of the cursor in them.
    fn choice_rows(
        &self,
        choices: &[String],
        height: usize,
        title_rows: usize,
    ) -> (Vec<Line>, (usize, usize)) {
        // At least a row of the question stays.
        let room = height.saturating_sub(title_rows.min(1)).max(1).min(choices.len());
        let current = self.selected.unwrap_or(0);
        let first = (current + 1).saturating_sub(room);
        let shown = choices.iter().enumerate().skip(first).take(room);
        let rows = shown.map(|(at, text)| {
            let style = Style { reverse: self.selected == Some(at), ..Style::PLAIN };
            Line::plain("  ").with(style, &format!("{} {text}", at + 1))
        });
        (rows.collect(), (current - first, 0))
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

    fn dialog(input: DialogInput, is_guarded: bool, now: Instant) -> OpenDialog {
        let title = "Which one of these?".to_owned();
        let escape = if is_guarded { EscapeEffect::Leaves } else { EscapeEffect::GoesBack };
        OpenDialog::new(DialogOptions { title, input, is_guarded, escape, reply: Box::new(drop) }, now)
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
    fn keys_that_were_typed_ahead_choose_nothing() {
        let now = Instant::now();
        let mut dialog = dialog(choices(3), true, now);
        let at = |ms| now + Duration::from_millis(ms);
        for code in [KeyCode::Char('1'), KeyCode::Enter, KeyCode::Down] {
            assert_eq!(press(&mut dialog, code, at(100)), DialogKeyEffect::IsTypedAhead);
        }
        assert!(!dialog.on_paste("1", at(200)));
        // Without a selection, Enter chooses nothing.
        assert_eq!(press(&mut dialog, KeyCode::Enter, at(900)), DialogKeyEffect::StaysOpen);
        assert_eq!(
            press(&mut dialog, KeyCode::Char('2'), at(901)),
            DialogKeyEffect::Answers(DialogReply::Choice(1))
        );
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
        assert!(dialog.on_paste(" sk-0123456789\n", now));
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
