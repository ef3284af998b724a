//! Composes the live rows: running calls, the incomplete text, queued messages, a question, the input, the status.

use std::time::Instant;

use ibeam_output::Catalogue;

use crate::completion::Completion;
use crate::dialog::OpenDialog;
use crate::editor::Editor;
use crate::question::{Choice, OpenQuestion};
use crate::screen::Live;
use crate::styled::{Color, Line, Style};
use crate::transcript::{ModelState, Transcript};
use crate::ui::{ExitKey, QueuedPrompt, ShownActivity};
use ibeam_output::TuiLine;

/// The number of rows of incomplete text that are shown.
const TEXT_ROWS: usize = 4;
/// The number of candidates that are shown.
const CANDIDATE_ROWS: usize = 6;
/// The sign before the input.
const SIGN: &str = "❯ ";

/// The text between the items of the status.
const SEPARATOR: &str = " · ";

/// Returns the items that fit in `width` cells, from the left; at least the first one.
fn joined_items<'a>(items: impl Iterator<Item = &'a str>, width: usize) -> String {
    let mut text = String::new();
    for item in items {
        let separator = if text.is_empty() { "" } else { SEPARATOR };
        let longer = format!("{text}{separator}{item}");
        if !text.is_empty() && Line::plain(&longer).width() > width {
            break;
        }
        text = longer;
    }
    text
}

/// The content of the live rows.
pub(crate) struct LiveState<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) transcript: &'a Transcript,
    pub(crate) editor: &'a Editor,
    pub(crate) queue: &'a [QueuedPrompt],
    pub(crate) question: Option<&'a OpenQuestion>,
    pub(crate) dialog: Option<&'a OpenDialog>,
    pub(crate) activity: Option<&'a ShownActivity>,
    pub(crate) completion: Option<&'a Completion>,
    /// The text of a search in the history.
    pub(crate) search: Option<TuiLine<'a>>,
    /// The start of the turn that runs.
    pub(crate) busy_since: Option<Instant>,
    /// The start of the opening of a session.
    pub(crate) opening_since: Option<Instant>,
    /// The key that ends the program now.
    pub(crate) exit_key: Option<ExitKey>,
    pub(crate) now: Instant,
    pub(crate) width: usize,
    /// The number of rows that fit.
    pub(crate) height: usize,
}

impl LiveState<'_> {
    /// Returns the rows. The input and a question come before everything else where the screen is low.
    pub(crate) fn compose(&self) -> Live {
        if let Some(dialog) = self.dialog {
            return dialog.compose(self.catalogue, self.width, self.height, self.editor.text());
        }
        let input_width = self.width.saturating_sub(4).max(2);
        let layout = self.editor.layout(input_width);
        let mut above = Vec::new();
        above.extend(self.opening_since.map(|since| {
            let seconds = self.now.saturating_duration_since(since).as_secs();
            self.progress_row(&TuiLine::Opening { seconds })
        }));
        above.extend(self.activity.map(|shown| self.activity_row(shown)));
        if self.busy_since.is_some() {
            above.extend(self.text_rows());
            above.extend(self.running_rows());
        }
        above.extend(self.queue.iter().map(|prompt| {
            let first = prompt.text.lines().next().unwrap_or_default();
            let line = match prompt.steers {
                true => TuiLine::Steering { text: first },
                false => TuiLine::Queued { text: first },
            };
            Line::new(Style::DIM, &self.catalogue.line(&line))
        }));
        let question = self.question.map(|open| self.question_rows(open)).unwrap_or_default();
        let hides_input = self.question.is_some_and(|open| !open.explains && self.editor.is_empty());
        let max_input = if self.height > 8 { self.height / 2 } else { self.height.saturating_sub(2).max(1) };
        let first_row = (layout.cursor_row + 1).saturating_sub(max_input);
        let input = layout.rows.iter().enumerate().skip(first_row).take(max_input).map(|(number, row)| {
            let sign = if number == 0 { SIGN } else { "  " };
            Line::new(Style::color(Color::Cyan), sign).with(Style::PLAIN, row)
        });
        let input: Vec<Line> = if hides_input { vec![Line::new(Style::DIM, SIGN)] } else { input.collect() };
        // The rows that are left out where the screen is low: what is above, then the status.
        let needed = question.len() + input.len();
        let room = self.height.saturating_sub(needed);
        let below: Vec<Line> = self.candidate_rows(room).into_iter().chain([self.status_row()]).collect();
        let below: Vec<Line> = below.into_iter().take(room).collect();
        let room = room - below.len();
        let skipped = above.len().saturating_sub(room);
        let mut rows: Vec<Line> = above.into_iter().skip(skipped).collect();
        rows.extend(question);
        let cursor_row = rows.len() + if hides_input { 0 } else { layout.cursor_row - first_row };
        rows.extend(input);
        rows.extend(below);
        Live { rows, cursor_row, cursor_column: 2 + if hides_input { 0 } else { layout.cursor_column } }
    }

    /// Returns the end of the text that is not finished.
    fn text_rows(&self) -> Vec<Line> {
        let text = self.transcript.pending_text().trim_end();
        let wrapped = text.lines().rev().take(TEXT_ROWS).collect::<Vec<_>>().into_iter().rev();
        let rows: Vec<Line> = wrapped.flat_map(|line| Line::plain(line).wrap(self.width - 1, 0)).collect();
        let skipped = rows.len().saturating_sub(TEXT_ROWS);
        rows.into_iter().skip(skipped).collect()
    }

    fn running_rows(&self) -> Vec<Line> {
        let seconds = |since: Instant| self.now.saturating_duration_since(since).as_secs();
        let calls = &self.transcript.running;
        if calls.is_empty() && self.question.is_none() && self.activity.is_some() {
            // The activity is the reason to wait.
            return Vec::new();
        }
        if calls.is_empty() && self.question.is_none() {
            return vec![self.progress_row(&match self.transcript.model {
                Some((ModelState::Waiting, since)) => TuiLine::Waiting { seconds: seconds(since) },
                Some((ModelState::Thinking, since)) => TuiLine::Thinking { seconds: seconds(since) },
                Some((ModelState::Writing, _)) | None => {
                    TuiLine::Working { seconds: self.busy_since.map(seconds).unwrap_or_default() }
                }
            })];
        }
        let row = |call: &crate::transcript::RunningCall| {
            let time = format!(" · {} s", seconds(call.since));
            let mut label = Line::plain(&call.label);
            if let Some(step) = &call.step {
                label.push(Style::DIM, &format!(" · {step}"));
            }
            let label = label.fit(self.width.saturating_sub(time.chars().count() + 4));
            let mut line = Line::new(Style::color(Color::Cyan), "○ ");
            line.append(&label);
            line.with(Style::DIM, &time)
        };
        calls.iter().map(row).collect()
    }

    fn progress_row(&self, text: &TuiLine<'_>) -> Line {
        Line::new(Style::color(Color::Cyan), "○ ").with(Style::DIM, &self.catalogue.line(text))
    }

    fn activity_row(&self, shown: &ShownActivity) -> Line {
        let seconds = self.now.saturating_duration_since(shown.since).as_secs();
        let time = format!(" · {seconds} s");
        let text = Line::new(Style::DIM, &shown.activity.text);
        let mut line = Line::new(Style::color(Color::Cyan), "○ ");
        line.append(&text.fit(self.width.saturating_sub(time.chars().count() + 3)));
        line.with(Style::DIM, &time)
    }

    fn question_rows(&self, open: &OpenQuestion) -> Vec<Line> {
        if open.explains {
            let title = Line::new(Style::color(Color::Yellow), &self.catalogue.line(&TuiLine::Explain));
            // On a low screen, the status row names the keys.
            return if self.height > 8 { title.wrap(self.width - 1, 0) } else { vec![title] };
        }
        let title = Line::new(
            Style { bold: true, ..Style::color(Color::Yellow) },
            &self.catalogue.line(&TuiLine::AllowThis),
        );
        let rule = open.question.lasting.rule.as_deref();
        let row = |(at, choice): (usize, Choice), number: &str| {
            let style = Style { reverse: open.selected == Some(at), ..Style::PLAIN };
            Line::new(style, &format!("{number} {}", self.catalogue.line(&choice.line(rule))))
        };
        let offered = open.choices();
        let numbered = || offered.iter().copied().enumerate();
        let choices: Vec<Line> =
            numbered().map(|(at, choice)| row((at, choice), &(at + 1).to_string())).collect();
        // A rule is shown whole before the person consents to it.
        let indented: Vec<Line> = choices
            .iter()
            .flat_map(|line| {
                let mut row = Line::plain("  ");
                row.append(line);
                row.wrap(self.width - 1, 4)
            })
            .collect();
        if self.height > indented.len() + 3 {
            return std::iter::once(title).chain(indented).collect();
        }
        // A low screen has one row for all choices, or some of them around the selected one.
        let mut all = title.clone();
        for line in &choices {
            all.push(Style::PLAIN, "  ");
            all.append(line);
        }
        let rows = all.wrap(self.width - 1, 0);
        // One row is for the input.
        let room = self.height.saturating_sub(1).max(1);
        if rows.len() <= room {
            return rows;
        }
        let has_title = room > 1;
        let room = room - usize::from(has_title);
        let first = (open.selected.unwrap_or(0) + 1).saturating_sub(room);
        let last = offered.len();
        let shown = numbered().skip(first).take(room);
        let shown = shown.map(|(at, choice)| row((at, choice), &format!("{}/{last}", at + 1)));
        has_title.then_some(title).into_iter().chain(shown).collect()
    }

    /// Returns the candidates around the selected one, in at most `room` rows.
    fn candidate_rows(&self, room: usize) -> Vec<Line> {
        let Some(completion) = self.completion else { return Vec::new() };
        let room = room.min(CANDIDATE_ROWS);
        let first = (completion.selected + 1).saturating_sub(room);
        let shown = completion.candidates.iter().enumerate().skip(first).take(room);
        let row = |(at, candidate): (usize, &crate::completion::Candidate)| {
            let style = Style { reverse: at == completion.selected, ..Style::PLAIN };
            let line = Line::plain("  ").with(style, &candidate.word);
            line.with(Style::DIM, &format!("  {}", candidate.description))
        };
        shown.map(row).collect()
    }

    fn status_row(&self) -> Line {
        let text = if let Some(line) = &self.search {
            self.catalogue.line(line)
        } else if let Some(key) = self.exit_key {
            self.catalogue.line(&match key {
                ExitKey::ControlC => TuiLine::PressAgain,
                ExitKey::ControlD => TuiLine::PressAgainBusy,
            })
        } else {
            let (keys, is_working) = self.keys();
            let (keys, status) = (self.catalogue.line(&keys), self.transcript.status.as_str());
            // While something runs, its keys are more important than the last turn, and on a narrow screen than the model.
            let parts = match is_working {
                true if Line::plain(&format!("{status}{SEPARATOR}{keys}")).width() < self.width => {
                    [status, keys.as_str(), ""]
                }
                true => [keys.as_str(), status, ""],
                false => [status, self.transcript.usage.as_str(), keys.as_str()],
            };
            let items =
                parts.into_iter().flat_map(|part| part.split(SEPARATOR)).filter(|item| !item.is_empty());
            joined_items(items, self.width - 1)
        };
        Line::new(Style::DIM, &text)
    }
    /// Returns the keys that have an effect now, and whether something runs or waits for an answer.
    fn keys(&self) -> (TuiLine<'static>, bool) {
        let runs_command = self.activity.is_some_and(|shown| shown.activity.is_cancellable);
        match (self.question, self.busy_since) {
            (Some(open), _) if open.explains => (TuiLine::KeysExplain, true),
            (Some(_), _) => (TuiLine::KeysQuestion, true),
            (None, Some(_)) => (TuiLine::KeysBusy, true),
            (None, None) if runs_command => (TuiLine::KeysCommand, true),
            (None, None) => (TuiLine::KeysIdle, false),
        }
    }
}
