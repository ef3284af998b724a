//! `create-chat`: an id that `--resume` takes.

use std::fs::File;

use ibeam_protocol::{Failure, SessionId};
use ibeam_session::Session;

use super::say;
use crate::app::App;
use crate::run::{reason_of, session_options};

pub(super) fn create_chat(app: &App, stdout: &mut File) -> Result<(), Failure> {
    app.places.prepare()?;
    let id = SessionId::random();
    Session::create(&app.places.sessions(), id, &app.workspace, &session_options(app)?)
        .and_then(|mut session| session.settle())
        .map_err(|error| reason_of(&error, id))?;
    say(stdout, &format!("{id}\n"))
}
