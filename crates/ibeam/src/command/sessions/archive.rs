//! `sessions export` and `sessions import`: a session as one file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ibeam_output::SessionLine;
use ibeam_protocol::{Reason, SessionId, sentence};
use ibeam_session::{Damage, ImportError, SessionError};

use super::super::printing::print_text;
use super::find;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::run::{damaged_session_reason, session_error_reason};
use ibeam_agent::stderr;

pub(super) fn export(
    app: &AppContext,
    name: &str,
    file: Option<&Path>,
    stdout: &mut File,
) -> Result<(), CliError> {
    let id = find(app, name)?;
    let sessions = app.dirs.sessions();
    // An unknown session must not leave an empty file.
    ibeam_session::stored_bytes(&sessions, id).map_err(|error| session_error_reason(&error, id))?;
    let Some(path) = file else {
        let written = ibeam_session::export(&sessions, id, &mut BufWriter::new(stdout));
        return written.map_err(|error| output_reason(&error, id).into());
    };
    let cannot_create = |error: io::Error| CliError::from_creation(path, &error);
    let new =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(cannot_create)?;
    let mut out = BufWriter::new(new);
    ibeam_session::export(&sessions, id, &mut out).map_err(|error| output_reason(&error, id))?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(cannot_create)?;
    let line = SessionLine::Exported { session: &id.to_string(), path: &path.to_string_lossy() };
    stderr::write_line(&app.base.catalogue.line(&line));
    Ok(())
}

/// Returns the reason for a failed export. A closed stdout is not an error of the session.
fn output_reason(error: &SessionError, id: SessionId) -> Reason {
    match error {
        SessionError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Reason::OutputClosed,
        error => session_error_reason(error, id),
    }
}

pub(super) fn import(app: &AppContext, file: &Path, stdout: &mut File) -> Result<(), CliError> {
    let is_stdin = file == Path::new("-");
    let source = || if is_stdin { "stdin".to_owned() } else { file.display().to_string() };
    let unreadable = |error: &io::Error| Reason::NoInput { path: source(), detail: error.to_string() };
    app.dirs.create_sessions_dir()?;
    let sessions = app.dirs.sessions();
    let imported = if is_stdin {
        ibeam_session::import(&sessions, &mut io::stdin().lock())
    } else {
        let input = File::open(file).map_err(|error| unreadable(&error))?;
        ibeam_session::import(&sessions, &mut BufReader::new(input))
    };
    let (id, report) = imported.map_err(|error| match error {
        ImportError::NotAnExport => CliError::NotAnExport { source: source() },
        ImportError::Incomplete(_) => CliError::DamagedExport { source: source() },
        ImportError::Input(error) => unreadable(&error).into(),
        ImportError::Exists(id) => {
            let detail = sentence!("the session `{id}` exists; `ibeam sessions rm {id}` removes it", id);
            Reason::Usage { detail }.into()
        }
        ImportError::Damaged(id, Damage { path, line, detail }) => {
            damaged_session_reason(id, &path, line, &detail).into()
        }
        ImportError::Session(error) => {
            Reason::Io { what: "sessions".to_owned(), detail: error.to_string() }.into()
        }
    })?;
    let line = SessionLine::Imported { session: &id.to_string(), count: report.events };
    print_text(stdout, &format!("{}\n", app.base.catalogue.line(&line)))
}
