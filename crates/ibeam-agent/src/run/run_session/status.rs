//! Facts about an open session, such as whether it is worth keeping.

use ibeam_protocol::{Failure, PermissionMode, RunStarted, SessionId};

use super::RunSession;
use crate::app::AppContext;
use crate::model::model_info::context_window;
use crate::run::session_opener::{SessionTarget, session_error_reason, session_options};

impl RunSession<'_> {
    /// Returns the context with which the session was opened.
    pub fn app(&self) -> &AppContext {
        &self.process.app
    }

    /// Returns the head of the next run.
    pub fn head(&self) -> &RunStarted {
        &self.run.head
    }

    /// Returns the display name of the model, and the mode.
    pub fn model_and_mode(&self) -> (&str, PermissionMode) {
        (&self.run.head.model.display, self.run.head.permission_mode)
    }

    /// Returns the context window of the model in tokens, if it is known.
    pub fn context_window(&self) -> Option<u64> {
        context_window(self.app(), &self.run.head.model)
    }

    /// Returns the provider of the model.
    pub fn provider(&self) -> &str {
        &self.run.head.model.provider
    }

    /// Whether the session was created by this opening, and has no prompt.
    pub fn is_unused(&self) -> bool {
        self.is_new && !self.has_run_prompt && is_empty(&self.process.app, self.id())
    }

    /// Returns what opens the session again after its end, at which a session without a prompt is removed.
    pub fn reopening_target(&self) -> SessionTarget {
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
