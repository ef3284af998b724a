//! The questions before a session: on the inline screen, and in line mode by numbers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ibeam_output::Catalogue;
use ibeam_tui::{Activity, Color, DialogGuard, DialogInput, DialogReply, EscapeEffect, Style, TuiLine};
use tokio::sync::Mutex;

use super::NoEcho;
use super::inline_screen::InlineScreen;
use super::line_mode::TerminalInput;
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run_error::RunError;
use ibeam_agent::stderr;

/// The importance of a printed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Plain,
    Success,
    Warning,
    Failure,
}

/// Receives the progress of work on another thread.
pub(super) type ProgressSink = Arc<dyn Fn(String) + Send + Sync>;

/// A question before a session.
pub(super) struct StartQuestion {
    pub(super) title: String,
    pub(super) input: DialogInput,
    pub(super) guard: DialogGuard,
    pub(super) escape: EscapeEffect,
}

impl StartQuestion {
    /// Returns a question that follows another one.
    pub(super) fn following(title: String, input: DialogInput) -> Self {
        Self { title, input, guard: DialogGuard::None, escape: EscapeEffect::GoesBack }
    }
}

/// The place of the questions.
pub(super) trait StartDialog {
    fn print(&self, kind: LineKind, text: &str);

    /// Asks, and returns the answer.
    ///
    /// # Errors
    /// The reason of a signal.
    fn ask(&self, process: &RunProcess<'_>, question: StartQuestion) -> Result<DialogReply, RunError>;

    /// Shows `activity` while it waits for `work`; `None` if the person ended the wait.
    ///
    /// # Errors
    /// The reason of a signal.
    fn wait<T>(
        &self,
        process: &RunProcess<'_>,
        activity: String,
        work: impl Future<Output = T>,
    ) -> Result<Option<T>, RunError>;

    /// Returns what shows the progress of the work that is waited for.
    fn progress_sink(&self) -> ProgressSink;

    /// Whether a progress replaces the one before. Otherwise each is printed, so there should be few.
    fn replaces_progress(&self) -> bool;
}

/// The questions on the inline screen.
pub(super) struct InlineDialog(pub(super) Arc<InlineScreen>);

impl StartDialog for InlineDialog {
    fn print(&self, kind: LineKind, text: &str) {
        let style = match kind {
            LineKind::Plain => Style::PLAIN,
            LineKind::Success => Style::color(Color::Green),
            LineKind::Warning => Style::color(Color::Yellow),
            LineKind::Failure => Style::color(Color::Red),
        };
        self.0.print(style, text);
    }

    fn ask(&self, process: &RunProcess<'_>, question: StartQuestion) -> Result<DialogReply, RunError> {
        let StartQuestion { title, input, guard, escape } = question;
        self.0.ask(process, title, input, (guard, escape))
    }

    fn wait<T>(
        &self,
        process: &RunProcess<'_>,
        activity: String,
        work: impl Future<Output = T>,
    ) -> Result<Option<T>, RunError> {
        let screen = &self.0;
        // Esc and Ctrl-C end the work, not the program.
        screen.runs_command.store(true, Ordering::Release);
        show_activity(screen, Some(activity));
        let ended = process.wait(async {
            Ok(tokio::select! {
                biased;
                () = screen.cancel.notified() => None,
                done = work => Some(done),
            })
        });
        screen.runs_command.store(false, Ordering::Release);
        show_activity(screen, None);
        Ok(ended?)
    }

    fn progress_sink(&self) -> ProgressSink {
        let screen = Arc::clone(&self.0);
        Arc::new(move |text| {
            screen.with(|ui| drop(ui.update_activity(text, Instant::now())));
        })
    }

    fn replaces_progress(&self) -> bool {
        true
    }
}

fn show_activity(screen: &InlineScreen, text: Option<String>) {
    let activity = text.map(|text| Activity { text, is_cancellable: true });
    screen.with(|ui| drop(ui.set_activity(activity, Instant::now())));
}

/// The questions of line mode.
pub(super) struct LineDialog {
    pub(super) input: Arc<Mutex<TerminalInput>>,
    pub(super) catalogue: Arc<Catalogue>,
}

impl StartDialog for LineDialog {
    fn print(&self, _: LineKind, text: &str) {
        text.lines().for_each(stderr::write_line);
    }

    /// A line that was typed before the question is never its answer.
    fn ask(&self, process: &RunProcess<'_>, question: StartQuestion) -> Result<DialogReply, RunError> {
        let StartQuestion { title, input, escape, .. } = question;
        let mut text = format!("{title}\n");
        let end = match &input {
            DialogInput::Choice(choices) => {
                for (number, choice) in (1..).zip(choices) {
                    text.push_str(&format!("{number} {choice}\n"));
                }
                match escape {
                    EscapeEffect::GoesBack => TuiLine::DialogNumber,
                    EscapeEffect::Leaves => TuiLine::DialogNumberLeaves,
                }
            }
            DialogInput::Text | DialogInput::Secret => TuiLine::DialogEmptyLine,
        };
        text.push_str(&format!("{}\n", self.catalogue.line(&end)));
        loop {
            let no_echo = match input {
                DialogInput::Secret => Some(NoEcho::start()?),
                DialogInput::Choice(_) | DialogInput::Text => None,
            };
            let answer = process.wait(async { Ok(self.input.lock().await.answer(&text).await) })?;
            drop(no_echo);
            let Some(answer) = answer else { return Ok(DialogReply::Leave) };
            let answer = answer.trim();
            if answer.is_empty() {
                return Ok(DialogReply::Back);
            }
            let DialogInput::Choice(choices) = &input else {
                return Ok(DialogReply::Text(answer.to_owned()));
            };
            let number = answer.parse().ok().and_then(|number: usize| number.checked_sub(1));
            if let Some(at) = number.filter(|at| *at < choices.len()) {
                return Ok(DialogReply::Choice(at));
            }
        }
    }

    fn wait<T>(
        &self,
        process: &RunProcess<'_>,
        activity: String,
        work: impl Future<Output = T>,
    ) -> Result<Option<T>, RunError> {
        stderr::write_line(&activity);
        Ok(process.wait(async { Ok(Some(work.await)) })?)
    }

    fn progress_sink(&self) -> ProgressSink {
        Arc::new(|text| stderr::write_line(&text))
    }

    fn replaces_progress(&self) -> bool {
        false
    }
}
