//! The questions about calls on the display.

use std::io::{self, Write};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::Ui;
use crate::question::{Choice, OpenQuestion, Question, Reply};
use crate::styled::{Color, Line, Style};
use crate::texts::TuiLine;

impl<W: Write> Ui<W> {
    /// Prints a question and waits for its answer, which goes to the question.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn ask(&mut self, mut question: Question, now: Instant) -> io::Result<()> {
        let width = self.screen.width() - 1;
        let body = std::mem::take(&mut question.body);
        self.transcript.add_lines(body.iter().flat_map(|line| line.wrap(width, 2)));
        self.transcript.add_change(question.call.clone(), std::mem::take(&mut question.change));
        self.close_pager()?;
        self.completion = None;
        self.question = Some(OpenQuestion::new(question, now));
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

    /// Handles a key of the question.
    pub(super) fn answer(&mut self, key: KeyEvent) {
        let Some(open) = &mut self.question else { return };
        let choice = match key.code {
            KeyCode::Up | KeyCode::BackTab => {
                open.advance(false);
                None
            }
            KeyCode::Down | KeyCode::Tab => {
                open.advance(true);
                None
            }
            KeyCode::Enter => open.selected.and_then(|at| open.choices().get(at).copied()),
            KeyCode::Char(c) if key.modifiers.is_empty() => open.choice_of(c),
            _ => None,
        };
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
            Reply::Always => (Color::Green, None),
            Reply::Refuse | Reply::RefuseAndExplain(_) => (Color::Yellow, Some(TuiLine::Refused)),
        };
        if let Some(line) = line {
            self.transcript
                .add_lines([Line::new(Style::color(color), &format!("  {}", self.catalogue.line(&line)))]);
        }
        (question.reply)(reply);
    }
}
