//! The conversation of a session, as its journal has it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use ibeam_output::Catalogue;
use ibeam_protocol::{Event, EventKind, SessionId};
use ibeam_session::SessionError;
use ibeam_tui::{Line, PagerStart, Style, TranscriptLines, TuiLine};

use super::inline_screen::InlineScreen;
use ibeam_agent::app::AppContext;

/// The width of lines where there is no screen.
const LINE_WIDTH: usize = 100;
/// The number of turns that are shown of a session that is resumed.
const SHOWN_TURNS: usize = 10;

/// A session whose conversation can be shown.
#[derive(Clone)]
pub(super) struct StoredConversation {
    sessions: PathBuf,
    id: SessionId,
    catalogue: Arc<Catalogue>,
}

impl StoredConversation {
    pub(super) fn new(app: &AppContext, id: SessionId) -> Self {
        Self { sessions: app.dirs.sessions(), id, catalogue: Arc::clone(&app.base.catalogue) }
    }

    /// Returns the lines of all turns until now; none if nothing is stored.
    fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = TranscriptLines::new(Arc::clone(&self.catalogue), width);
        let read = ibeam_session::read::<SessionError>(&self.sessions, self.id, &mut |event| {
            lines.add(&event, Instant::now());
            Ok(())
        });
        // What could be read before an error is shown.
        drop(read);
        lines.finish()
    }

    /// Returns the text of all turns.
    pub(super) fn text(&self) -> String {
        let lines = self.lines(LINE_WIDTH);
        if lines.is_empty() {
            return format!("{}\n", self.catalogue.line(&TuiLine::NoTranscript));
        }
        text_of(&lines)
    }

    /// Returns the events of the last turns, and the number of earlier turns.
    pub(super) fn last_turns(&self) -> (Vec<Event>, u64) {
        let (mut turns, mut hidden) = (VecDeque::<Vec<Event>>::new(), 0);
        let read = ibeam_session::read::<SessionError>(&self.sessions, self.id, &mut |event| {
            if matches!(event.kind, EventKind::RunStarted(_)) {
                turns.push_back(Vec::new());
                if turns.len() > SHOWN_TURNS {
                    turns.pop_front();
                    hidden += 1;
                }
            }
            turns.back_mut().into_iter().for_each(|turn| turn.push(event.clone()));
            Ok(())
        });
        // A session that cannot be read was not opened.
        drop(read);
        (turns.into_iter().flatten().collect(), hidden)
    }

    /// Returns the text of the last turns, with the number of earlier turns.
    pub(super) fn last_turns_text(&self) -> String {
        let (events, hidden) = self.last_turns();
        let mut lines = TranscriptLines::new(Arc::clone(&self.catalogue), LINE_WIDTH);
        events.iter().for_each(|event| lines.add(event, Instant::now()));
        let count = (hidden > 0).then_some(TuiLine::EarlierTurns { count: hidden });
        let count: String = count.iter().map(|line| self.catalogue.line(line) + "\n").collect();
        count + &text_of(&lines.finish())
    }

    /// Shows all turns, with the last page first.
    pub(super) fn show(&self, screen: &InlineScreen) {
        let width = screen.with(|ui| ui.width()).unwrap_or(LINE_WIDTH);
        let lines = self.lines(width.saturating_sub(1));
        if lines.is_empty() {
            return screen.print(Style::DIM, &self.catalogue.line(&TuiLine::NoTranscript));
        }
        let title = self.catalogue.line(&TuiLine::TranscriptTitle);
        screen.with(|ui| drop(ui.show_pager(title, lines, PagerStart::Bottom, Instant::now())));
    }
}

fn text_of(lines: &[Line]) -> String {
    lines.iter().map(|line| line.text() + "\n").collect()
}
