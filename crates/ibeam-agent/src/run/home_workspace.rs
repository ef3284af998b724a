//! A workspace that is the home directory or contains it, as `/` does.
//!
//! Most of what changes there while a run works belongs to other programs. So checkpoints leave it out,
//! and only its own start-up files are monitored, unless the configuration asks for more. A warning says so.

use ibeam_protocol::Notice;

use crate::app::AppContext;

/// Whether the workspace is, or contains, the home directory.
pub(super) fn holds_home(app: &AppContext) -> bool {
    let home = app.dirs.home.canonicalize();
    home.as_ref().unwrap_or(&app.dirs.home).starts_with(&app.workspace)
}

/// Whether such a workspace is to be covered.
pub(super) fn is_covered(app: &AppContext) -> bool {
    app.base.settings.session.cover_home.value
}

/// Returns the warning about such a workspace, if it is one and is not covered.
pub(super) fn notice(app: &AppContext) -> Option<Notice> {
    (holds_home(app) && !is_covered(app))
        .then(|| Notice::HomeWorkspace { path: app.workspace.display().to_string() })
}
