//! The stored events of a session that an editor loads or resumes.

use std::io;
use std::path::Path;

use ibeam_json_rpc::RpcError;
use ibeam_protocol::{Event, EventKind, Reason, SessionId};
use ibeam_session::{Damage, SessionError};

use super::session_settings::rpc_error;
use ibeam_agent::app::AppContext;
use ibeam_agent::run::session_opener::{damaged_session_reason, is_other_workspace, session_error_reason};

/// Passes the events of the stored session `id` to `on_event`.
///
/// # Errors
/// The session does not exist, is damaged, or belongs to another directory; the errors of `on_event`.
pub(super) fn read_past(
    app: &AppContext,
    id: SessionId,
    on_event: &mut dyn FnMut(Event) -> io::Result<()>,
) -> Result<(), RpcError> {
    let sessions = app.dirs.sessions();
    let failed = |reason: &Reason| rpc_error(&app.base.catalogue, reason);
    if !ibeam_session::exists(&sessions, id) {
        return Err(failed(&Reason::UnknownSession { session: id.to_string() }));
    }
    let mut elsewhere = None;
    let mut each = |event: Event| {
        let checked = match &event.kind {
            EventKind::RunStarted(head) if is_other_workspace(&app.workspace, &head.cwd) => {
                elsewhere = Some(head.cwd.display().to_string());
                Err(io::ErrorKind::InvalidInput.into())
            }
            _ => on_event(event),
        };
        checked.map_err(|source| SessionError::Io { path: Path::new("stdout").to_owned(), source })
    };
    let report = ibeam_session::read::<SessionError>(&sessions, id, &mut each);
    if let Some(cwd) = elsewhere {
        return Err(failed(&Reason::SessionElsewhere { session: id.to_string(), cwd }));
    }
    let report = report.map_err(|error| failed(&session_error_reason(&error, id)))?;
    match report.damage {
        Some(Damage { path, line, detail }) => Err(failed(&damaged_session_reason(id, &path, line, &detail))),
        None => Ok(()),
    }
}
