//! A stored session as a page to read.

use std::io::Write;
use std::sync::Arc;

use ibeam_output::EventWriter as _;
use ibeam_protocol::{Event, EventKind, Failure, SessionId};
use ibeam_session::{Damage, SessionError};
use ibeam_trace::Html;

use crate::app::AppContext;
use crate::run::{damaged_session_reason, session_error_reason};
use crate::stdout::write_reason;

/// The reason why a page is not complete.
enum PageError {
    Session(SessionError),
    Output(std::io::Error),
}

impl From<SessionError> for PageError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<std::io::Error> for PageError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes the page of a session, with all its runs.
///
/// # Errors
/// The reason why the session cannot be read or the page not be written; `SessionDamaged` after the intact part.
pub fn write_session_page(app: &AppContext, id: SessionId, out: impl Write) -> Result<(), Failure> {
    let sessions = app.dirs.sessions();
    let title = ibeam_session::given_title(&sessions, id);
    let mut page = Html::new(out, Arc::clone(&app.base.catalogue), title);
    let mut is_open = false;
    let mut write = |event: Event| {
        if matches!(event.kind, EventKind::RunStarted(_)) && std::mem::replace(&mut is_open, true) {
            page.finish_incomplete_run()?;
        }
        page.write(&event)?;
        is_open &= !matches!(event.kind, EventKind::RunFinished(_));
        Ok::<_, PageError>(())
    };
    let read = ibeam_session::read(&sessions, id, &mut write).and_then(|report| {
        if is_open {
            page.finish_incomplete_run()?;
        }
        page.end_document()?;
        Ok(report)
    });
    match read.map(|report| report.damage) {
        Ok(None) => Ok(()),
        Ok(Some(Damage { path, line, detail })) => {
            Err(damaged_session_reason(id, &path, line, &detail).into())
        }
        Err(PageError::Session(error)) => Err(session_error_reason(&error, id).into()),
        Err(PageError::Output(error)) => Err(write_reason(&error).into()),
    }
}
