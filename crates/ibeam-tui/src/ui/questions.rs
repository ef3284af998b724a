//! The questions about calls on the display.

use std::io::{self, Write};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::Ui;
use crate::question::{Choice, GuardedKey, OpenQuestion, Question, Reply};
use crate::styled::{Color, Line, Style};
use crate::terminal::BELL;
use ibeam_output::TuiLine;

/// The number of lines of a pasted text that are shown in the input.
const MAX_PASTED_LINES: usize = 10;

impl<W: Write> Ui<W> {
    /// Prints a question and waits for its answer, which goes to the question.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn ask(&mut self, mut question: Question, now: Instant) -> io::Result<()> {
        let width = self.screen.width() - 1;
        let body = std::mem::take(&mut question.body);
        self.transcript.add_lines(body.iter().flat_map(|line| line.wrap(width, line.own_indent())));
        self.transcript.add_change(question.call.clone(), std::mem::take(&mut question.change));
        self.close_pager()?;
        self.completion = None;
        self.question = Some(OpenQuestion::new(question, now));
        self.screen.write_raw(BELL)?;
        self.draw(now)
    }

    /// Removes a question that nobody waits for any more.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn withdraw_question(&mut self, now: Instant) -> io::Result<()> {
        if let Some(open) = self.question.take()
            && open.explains
        {
            self.editor.set(&open.draft);
        }
        self.draw(now)
    }

    /// Handles a key while a question is shown. Returns `false` for a key that has the meaning that it has without one.
    pub(super) fn on_question_key(&mut self, key: KeyEvent, now: Instant) -> bool {
        let has_input = !self.editor.is_empty();
        let Some(open) = self.question.as_mut().filter(|open| !open.explains) else { return false };
        match open.on_key(key, now, has_input) {
            GuardedKey::Held(_) => {}
            GuardedKey::Confirms(character) => {
                let choice = open.choice_of(character);
                self.answer(choice);
            }
            GuardedKey::Text { held } => {
                self.editor.insert(&String::from_iter(held));
                return false;
            }
            GuardedKey::Control => match key.code {
                KeyCode::Up | KeyCode::BackTab => open.advance(false),
                KeyCode::Down => open.advance(true),
                KeyCode::Tab if !has_input => open.advance(true),
                KeyCode::Enter if open.selected.is_some() => {
                    let choice = open.selected.and_then(|at| open.choices().get(at).copied());
                    self.answer(choice);
                }
                _ => return false,
            },
        }
        true
    }

    /// Puts pasted text into the input, which is never an answer.
    pub(super) fn paste(&mut self, text: &str, now: Instant) {
        let held = self.question.as_mut().and_then(|open| open.guard.on_text(now));
        self.editor.insert(&String::from_iter(held));
        let lines = text.lines().count();
        if lines > MAX_PASTED_LINES {
            let count = u64::try_from(lines).unwrap_or(u64::MAX);
            self.editor.insert_paste(&self.catalogue.line(&TuiLine::Pasted { count }), text);
        } else {
            self.editor.insert(text);
        }
        self.completion = None;
    }

    /// Records that a key was text of the search of the history, so that it answers no question.
    pub(super) fn note_text(&mut self, now: Instant) {
        if let Some(open) = &mut self.question {
            open.selected = None;
            // Ctrl-R, which opened the search, has discarded a character that was held.
            let _ = open.guard.on_text(now);
        }
    }

    /// Answers with the character that was typed, once it is certain that it is not text.
    pub(super) fn settle_answer(&mut self, now: Instant) {
        if let Some(open) = &mut self.question
            && let Some(character) = open.guard.settled(now)
        {
            let choice = open.choice_of(character);
            self.answer(choice);
        }
    }

    /// Gives the answer of a choice.
    fn answer(&mut self, choice: Option<Choice>) {
        let Some(open) = &mut self.question else { return };
        let Some(choice) = choice else { return };
        if choice == Choice::RefuseAndExplain {
            open.explains = true;
            open.draft = self.editor.take();
            return;
        }
        let Some(open) = self.question.take() else { return };
        let reply = match choice {
            Choice::Once => Reply::Once,
            Choice::ForSession => Reply::ForSession,
            Choice::AllEdits => Reply::AllEdits,
            Choice::AlwaysHere => Reply::AlwaysHere,
            Choice::Always => Reply::Always,
            Choice::Refuse | Choice::RefuseAndExplain => Reply::Refuse,
        };
        self.reply(open.question, reply);
    }

    /// Prints the answer and passes it on. What follows from a rule is printed by its writer.
    pub(super) fn reply(&mut self, question: Question, reply: Reply) {
        let (color, line) = match &reply {
            Reply::Once => (Color::Green, Some(TuiLine::AllowedOnce)),
            Reply::ForSession => (Color::Green, Some(TuiLine::AllowedForSession)),
            Reply::AllEdits => (Color::Green, Some(TuiLine::AllowedAllEdits)),
            Reply::AlwaysHere | Reply::Always => (Color::Green, None),
            Reply::Refuse | Reply::RefuseAndExplain(_) => (Color::Yellow, Some(TuiLine::Refused)),
        };
        if let Some(line) = line {
            self.transcript
                .add_lines([Line::new(Style::color(color), &format!("  {}", self.catalogue.line(&line)))]);
        }
        (question.reply)(reply);
    }
}
