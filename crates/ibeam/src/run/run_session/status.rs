//! The values of an open session that a person may ask for, and whether the session is worth keeping.

use ibeam_protocol::{Failure, PermissionMode, SessionId};
use ibeam_tui::{TuiLine, mode_name};

use super::RunSession;
use crate::app::AppContext;
use crate::run::session_opener::{SessionTarget, session_error_reason, session_options};

/// A value of a session that a person may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum StatusItem {
    Session,
    Model,
    Mode,
    Effort,
    Sandbox,
}

impl StatusItem {
    const ALL: [Self; 5] = [Self::Session, Self::Model, Self::Mode, Self::Effort, Self::Sandbox];
}

impl RunSession<'_> {
    /// Returns the values of the session in a line each, for a person.
    pub(in crate::run) fn status(&self) -> String {
        StatusItem::ALL.map(|item| self.status_line(item)).join("\n")
    }

    /// Returns a value with its name.
    pub(in crate::run) fn status_line(&self, item: StatusItem) -> String {
        let value = self.status_value(item);
        self.process.app.base.catalogue.line(&match item {
            StatusItem::Session => TuiLine::StatusSession { id: &value },
            StatusItem::Model => TuiLine::StatusModel { name: &value },
            StatusItem::Mode => TuiLine::StatusMode { mode: &value },
            StatusItem::Effort => TuiLine::Effort { level: &value },
            StatusItem::Sandbox => TuiLine::StatusSandbox { state: &value },
        })
    }

    /// Returns a value; `-` for one that is not set.
    pub(in crate::run) fn status_value(&self, item: StatusItem) -> String {
        let (head, settings) = (&self.run.head, &self.process.app.base.settings);
        let value = match item {
            StatusItem::Session => head.session_id.to_string(),
            StatusItem::Model => format!("{} ({})", head.model.display, head.model.provider),
            StatusItem::Mode => mode_name(head.permission_mode).to_owned(),
            StatusItem::Effort => settings.effort.value.as_deref().unwrap_or("default").to_owned(),
            StatusItem::Sandbox => {
                let (reason, catalogue) = (head.sandbox.reason.as_str(), &self.process.app.base.catalogue);
                match catalogue.in_language(reason) {
                    // A reason with notes.
                    same if same == reason => {
                        let parts = reason.split("; ").map(|part| catalogue.in_language(part));
                        parts.collect::<Vec<_>>().join("; ")
                    }
                    translated => translated,
                }
            }
        };
        if value.is_empty() { "-".to_owned() } else { value }
    }

    /// Returns the display name of the model, and the mode.
    pub(in crate::run) fn model_and_mode(&self) -> (&str, PermissionMode) {
        (&self.run.head.model.display, self.run.head.permission_mode)
    }

    /// Returns the provider of the model.
    pub(in crate::run) fn provider(&self) -> &str {
        &self.run.head.model.provider
    }

    /// Whether the session was created by this opening, and has no prompt.
    pub(in crate::run) fn is_unused(&self) -> bool {
        self.is_new && !self.has_run_prompt && is_empty(&self.process.app, self.id())
    }

    /// Returns what opens the session again after its end, at which a session without a prompt is removed.
    pub(in crate::run) fn reopening_target(&self) -> SessionTarget {
        match self.is_unused() {
            true => SessionTarget::New,
            false => SessionTarget::Named(self.id().to_string()),
        }
    }
}

/// Whether the stored session has neither an event nor a title of the user.
fn is_empty(app: &AppContext, id: SessionId) -> bool {
    ibeam_session::summarize(&app.dirs.sessions(), id).is_none_or(|summary| summary.is_empty())
}

/// Removes a stored session that is closed.
///
/// # Errors
/// The errors of [`ibeam_session::remove`].
pub(super) fn remove_session(app: &AppContext, id: SessionId) -> Result<(), Failure> {
    let options = session_options(app)?;
    ibeam_session::remove(&app.dirs.sessions(), id, &options)
        .map_err(|error| session_error_reason(&error, id).into())
}
