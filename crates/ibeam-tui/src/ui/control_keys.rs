//! The keys that end a turn or the program, go back, or change the mode; and the title, which shows what they would end.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::{Action, ExitKey, QueuedPrompt, Ui};
use crate::question::Reply;
use crate::terminal::title_bytes;
use crate::transcript::mode_name;

/// The time in which a second Ctrl-C ends the program, and a second Esc opens the choice of prompts.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The command that changes the mode.
const MODE_COMMAND: &str = "/mode ";

impl<W: Write> Ui<W> {
    /// Shows in the title whether a question waits for an answer, or a turn runs.
    pub(super) fn draw_title(&mut self) -> io::Result<()> {
        let Some(title) = self.title.as_ref().filter(|_| !self.is_stopped) else { return Ok(()) };
        let sign = match (&self.question, self.busy_since) {
            (Some(_), _) => "? ",
            (None, Some(_)) => "● ",
            (None, None) => "",
        };
        let title = format!("{sign}{title}");
        if title != self.shown_title {
            self.screen.write_raw(&title_bytes(&title))?;
            self.shown_title = title;
        }
        Ok(())
    }

    /// Returns the key that ends the program now.
    pub(super) fn exit_key(&self, now: Instant) -> Option<ExitKey> {
        let (key, at) = self.exit_armed?;
        (now.saturating_duration_since(at) < EXIT_TIMEOUT).then_some(key)
    }

    /// Ctrl-C: ends the turn, empties the input, or at the second time ends the program.
    pub(super) fn on_interrupt_key(&mut self, now: Instant) -> Option<Action> {
        if self.exit_key(now) == Some(ExitKey::ControlC) {
            return Some(Action::Exit);
        }
        self.exit_armed = Some((ExitKey::ControlC, now));
        self.end_search();
        self.completion = None;
        if self.is_busy() {
            return Some(self.interrupt());
        }
        self.editor.take();
        None
    }

    /// Ctrl-D without input: ends the program, but not a turn at the first time.
    pub(super) fn on_end_key(&mut self, now: Instant) -> Option<Action> {
        let is_working = self.busy_since.is_some() || self.has_cancellable_activity();
        if !is_working || self.exit_key(now) == Some(ExitKey::ControlD) {
            return Some(Action::Exit);
        }
        self.exit_armed = Some((ExitKey::ControlD, now));
        None
    }

    pub(super) fn on_escape(&mut self, now: Instant) -> Option<Action> {
        match self.question.take() {
            Some(open) if open.explains => {
                self.editor.set(&open.draft);
                self.reply(open.question, Reply::Refuse);
                None
            }
            question => {
                self.question = question;
                if self.is_busy() {
                    return Some(self.interrupt());
                }
                let is_second =
                    self.escaped_at.is_some_and(|at| now.saturating_duration_since(at) < EXIT_TIMEOUT);
                self.escaped_at = (!is_second).then_some(now);
                (is_second && self.editor.is_empty()).then(|| self.command("/rewind".to_owned()))
            }
        }
    }

    /// Puts a command into the queue that a key stands for.
    fn command(&mut self, text: String) -> Action {
        self.queue.push(QueuedPrompt { text, steers: false });
        Action::Commanded
    }

    /// Changes to the mode after the current one, or after the one that waits for the end of the turn.
    pub(super) fn next_mode(&mut self) -> Action {
        let waiting = self.queue.iter().position(|prompt| prompt.text.starts_with(MODE_COMMAND));
        let waiting = waiting.map(|at| self.queue.remove(at).text);
        let current = waiting.as_deref().and_then(|text| text.strip_prefix(MODE_COMMAND));
        let next = match current.or(self.transcript.mode.map(mode_name)) {
            Some("plan") => "ask",
            Some("ask") => "agent",
            Some(_) | None => "plan",
        };
        self.command(format!("{MODE_COMMAND}{next}"))
    }

    /// Returns the messages that wait to the input, so that none runs at once after the interrupt.
    fn interrupt(&mut self) -> Action {
        let is_explaining = self.question.as_ref().is_some_and(|open| open.explains);
        if !self.queue.is_empty() && !is_explaining {
            let mut texts: Vec<String> = self.queue.drain(..).map(|prompt| prompt.text).collect();
            texts.extend((!self.editor.is_empty()).then(|| self.editor.take()));
            self.editor.set(&texts.join("\n"));
        }
        Action::Interrupt
    }
}
