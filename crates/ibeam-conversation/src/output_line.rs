//! The last line of the output of a command that runs, for the inline screen.

use std::sync::{Arc, Mutex, PoisonError};

use ibeam_agent::app::AppContext;
use ibeam_core::OutputObserver;
use ibeam_output::escape_to_one_line;
use ibeam_protocol::CallId;
use ibeam_tui::overwritten;

use super::inline_screen::InlineScreen;

/// The bytes of a line that are kept.
const MAX_LINE_BYTES: usize = 400;
/// The number of calls whose output is kept.
const MAX_CALLS: usize = 16;

/// Shows the last line of each command. The display draws it with the seconds, so a flood of output costs little.
pub(super) struct OutputLines {
    screen: Arc<InlineScreen>,
    app: Arc<AppContext>,
    /// The calls that run, each with the end of its output. A call that has ended is replaced by the next one.
    ends: Mutex<Vec<(CallId, String)>>,
}

impl OutputLines {
    pub(super) fn new(screen: Arc<InlineScreen>, app: Arc<AppContext>) -> Self {
        Self { screen, app, ends: Mutex::new(Vec::new()) }
    }
}

impl OutputObserver for OutputLines {
    fn on_output(&self, call: &CallId, bytes: &[u8]) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let at = ends.iter().position(|(known, _)| known == call).unwrap_or_else(|| {
            ends.truncate(MAX_CALLS - 1);
            ends.insert(0, (call.clone(), String::new()));
            0
        });
        let Some((_, end)) = ends.get_mut(at) else { return };
        *end = end_of_output(end, &String::from_utf8_lossy(bytes));
        let shown = shown_line(end);
        if !shown.is_empty() {
            let shown = escape_to_one_line(&self.app.redactor().redact(shown));
            self.screen.with(|ui| ui.set_output_line(call, &shown));
        }
    }
}

/// Returns the end of an output to which `next` was added: its last line with text, and what follows that.
fn end_of_output(end: &str, next: &str) -> String {
    let text = format!("{end}{next}");
    let trimmed = text.trim_end_matches(['\n', '\r', ' ']);
    let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let kept = text.get(start..).unwrap_or_default();
    let cut = kept.len().saturating_sub(MAX_LINE_BYTES);
    let cut = (cut..kept.len()).find(|at| kept.is_char_boundary(*at)).unwrap_or(kept.len());
    kept.get(cut..).unwrap_or_default().to_owned()
}

/// Returns the last line of an output as a terminal shows it.
fn shown_line(end: &str) -> &str {
    overwritten(end.trim_end()).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expect: &str) {
        let end = pieces.iter().fold(String::new(), |end, piece| end_of_output(&end, piece));
        assert_eq!(shown_line(&end), expect, "{pieces:?}");
    }

    #[test]
    fn the_last_line_with_text_is_shown() {
        check(&["Compiling a\n", "Compiling b\n"], "Compiling b");
        check(&["Compiling a\nComp", "iling b"], "Compiling b");
        check(&["10 %\r", "20 %\r"], "20 %");
        check(&["done\n\n", "\n"], "done");
        check(&[&"x".repeat(1000)], &"x".repeat(MAX_LINE_BYTES));
    }
}
