//! `create-chat`: an id that `--resume` takes.

use std::fs::File;

use ibeam_protocol::{Failure, SessionId};
use ibeam_session::Session;

use super::say;
use crate::app::App;
use crate::run::reason_of;

pub(super) fn create_chat(app: &App, stdout: &mut File) -> Result<(), Failure> {
    let id = SessionId::random();
    drop(Session::create(&app.places.sessions(), id, &app.workspace).map_err(|error| reason_of(&error, id))?);
    say(stdout, &format!("{id}\n"))
}
