//! The place where commands of a conversation print, which the inline screen and line mode are.

use futures_util::future::BoxFuture;
use ibeam_tui::{Color, DialogGuard, DialogReply, Line, Style, TuiLine};

use super::session_list::ChosenSession;
use super::transcript_view::StoredConversation;
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run_error::RunError;

/// The style of lines about the session.
pub(super) const INFORMATION: Style = Style::color(Color::Cyan);

/// The place where a conversation shows what its commands print.
pub(super) trait CommandDisplay {
    /// Prints the lines of a text.
    fn print(&self, style: Style, text: &str);

    fn show_changes(&self, title: String, lines: Vec<Line>);

    /// Shows all turns of the session that is open.
    fn show_transcript(&self, conversation: &StoredConversation);

    /// Shows the model and the mode of the session that is open, if the display has a place for them.
    fn show_status(&self, _: &RunSession<'_>) {}

    /// Requests a shorter conversation before the next request to the model.
    fn request_compaction(&self);

    /// Lets the person choose a stored session; `None` if they choose none. `notice` states why the one that they chose
    /// before could not be opened.
    ///
    /// # Errors
    /// The errors of [`super::session_list::entries`]; the reason of a signal.
    fn pick_session(
        &self,
        process: &RunProcess<'_>,
        notice: Option<String>,
    ) -> Result<Option<ChosenSession>, RunError>;

    /// Lets the person choose one of `choices`. Line mode needs no guard: what was typed before is never an answer.
    ///
    /// # Errors
    /// The reason of a signal.
    fn choose(
        &self,
        process: &RunProcess<'_>,
        title: String,
        choices: Vec<String>,
        guard: DialogGuard,
    ) -> Result<DialogReply, RunError>;

    /// Returns the keys that help lists.
    fn keys(&self) -> &'static [TuiLine<'static>] {
        &[TuiLine::KeysIdle, TuiLine::KeysBusy]
    }

    /// Repeats what the person typed before its output, where the terminal does not.
    fn echo(&self, style: Style, text: &str);

    /// Shows the command of the person that runs, or that none does any more.
    fn set_running(&self, label: Option<&str>);

    /// Waits until a key ends the command of the person.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}
