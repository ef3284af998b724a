//! The stored sessions from which a person chooses one to resume.

use std::path::PathBuf;
use std::sync::Arc;

use ibeam_output::Catalogue;
use ibeam_protocol::{Failure, Reason, SessionId};
use ibeam_session::SessionSummary;
use ibeam_tui::{PickerEntry, TuiLine};

use ibeam_agent::app::AppContext;
use ibeam_agent::clock::now_ms;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run::session_store_reason;
use ibeam_agent::session_name::find_session;
use ibeam_agent::session_texts::{size_text, title_text};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A session that a person has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenSession {
    pub(super) target: SessionTarget,
    /// Its directory, if that is another one and exists.
    pub(super) workspace: Option<PathBuf>,
}

impl ChosenSession {
    /// Returns the session of an entry.
    pub(super) fn from_entry(entry: PickerEntry) -> Self {
        let directory = PathBuf::from(entry.directory);
        let workspace = (!entry.is_here && directory.is_dir()).then_some(directory);
        Self { target: SessionTarget::Named(entry.id), workspace }
    }

    /// Returns the session that a person named.
    ///
    /// # Errors
    /// The errors of [`find_session`]; `UnknownSession` for an ID without a session.
    pub(super) fn named(app: &AppContext, name: &str) -> Result<Self, Failure> {
        let sessions = app.dirs.sessions();
        let id = find_session(&sessions, &app.workspace, name)?;
        if !ibeam_session::exists(&sessions, id) {
            return Err(Reason::UnknownSession { session: name.to_owned() }.into());
        }
        Ok(Self { target: SessionTarget::Named(id.to_string()), workspace: None })
    }
}

/// Returns the sessions of persons that have been used, the latest first. Each is read when the iterator reaches it.
///
/// # Errors
/// `NoSessionToContinue` if there is none; `Io`.
pub(super) fn entries(app: &AppContext) -> Result<impl Iterator<Item = PickerEntry> + Send + use<>, Reason> {
    let sessions = app.dirs.sessions();
    let ids = ibeam_session::newest_first(&sessions).map_err(|error| session_store_reason(&error))?;
    let source = EntrySource {
        sessions,
        workspace: PathBuf::from(&*app.workspace.to_string_lossy()),
        catalogue: Arc::clone(&app.base.catalogue),
        now_ms: now_ms(),
    };
    let mut entries = ids.into_iter().filter_map(move |id| source.entry(id)).peekable();
    match entries.peek() {
        Some(_) => Ok(entries),
        None => Err(Reason::NoSessionToContinue { cwd: app.workspace.display().to_string() }),
    }
}

/// The inputs of entries.
struct EntrySource {
    sessions: PathBuf,
    /// The workspace, as journals have it.
    workspace: PathBuf,
    catalogue: Arc<Catalogue>,
    now_ms: u64,
}

impl EntrySource {
    /// Returns the entry of a session; `None` for the session of a sub-agent, an unused one, and a damaged one.
    fn entry(&self, id: SessionId) -> Option<PickerEntry> {
        let summary = ibeam_session::summarize(&self.sessions, id)?;
        if summary.parent.is_some() || summary.is_empty() {
            return None;
        }
        let bytes = ibeam_session::stored_bytes(&self.sessions, id).unwrap_or_default();
        Some(PickerEntry {
            id: id.to_string(),
            title: title_text(&self.catalogue, &summary),
            age: self.age(&summary),
            size: size_text(bytes),
            directory: summary.cwd.display().to_string(),
            is_here: summary.cwd == self.workspace,
        })
    }

    fn age(&self, summary: &SessionSummary) -> String {
        let ms = self.now_ms.saturating_sub(summary.updated_ms);
        self.catalogue.line(&match ms {
            0..HOUR_MS => TuiLine::Minutes { count: ms / MINUTE_MS },
            HOUR_MS..DAY_MS => TuiLine::Hours { count: ms / HOUR_MS },
            _ => TuiLine::Days { count: ms / DAY_MS },
        })
    }
}
