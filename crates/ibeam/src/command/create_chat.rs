//! `create-chat`: an id that `--resume` takes.

use std::fs::File;

use ibeam_protocol::{Reason, SessionId};
use ibeam_session::Session;

use super::say;
use crate::app::AppContext;
use crate::cli_error::CliError;
use crate::run::{is_ephemeral, reason_of, session_options};

pub(super) fn create_chat(app: &AppContext, stdout: &mut File) -> Result<(), CliError> {
    if is_ephemeral(app) {
        let detail = "`create-chat` makes a session that is stored; `--ephemeral`, or `session.ephemeral`, forbids that";
        return Err(Reason::Usage { detail: detail.to_owned() }.into());
    }
    app.dirs.create_sessions_dir()?;
    let id = SessionId::random();
    Session::create(&app.dirs.sessions(), id, &app.workspace, &session_options(app)?)
        .and_then(|mut session| session.settle())
        .map_err(|error| reason_of(&error, id))?;
    say(stdout, &format!("{id}\n"))
}
