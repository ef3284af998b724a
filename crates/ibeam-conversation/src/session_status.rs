//! The values of an open session that a person may ask for.

use ibeam_agent::run::run_session::RunSession;
use ibeam_tui::{TuiLine, mode_name};

/// A value of a session that a person may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusItem {
    Session,
    Model,
    Mode,
    Effort,
    Sandbox,
}

impl StatusItem {
    const ALL: [Self; 5] = [Self::Session, Self::Model, Self::Mode, Self::Effort, Self::Sandbox];
}

/// Returns the values of the session in a line each, for a person.
pub(super) fn status(session: &RunSession<'_>) -> String {
    StatusItem::ALL.map(|item| status_line(session, item)).join("\n")
}

/// Returns a value with its name.
pub(super) fn status_line(session: &RunSession<'_>, item: StatusItem) -> String {
    let value = status_value(session, item);
    session.app().base.catalogue.line(&match item {
        StatusItem::Session => TuiLine::StatusSession { id: &value },
        StatusItem::Model => TuiLine::StatusModel { name: &value },
        StatusItem::Mode => TuiLine::StatusMode { mode: &value },
        StatusItem::Effort => TuiLine::Effort { level: &value },
        StatusItem::Sandbox => TuiLine::StatusSandbox { state: &value },
    })
}

/// Returns a value; `-` for one that is not set.
pub(super) fn status_value(session: &RunSession<'_>, item: StatusItem) -> String {
    let (head, settings) = (session.head(), &session.app().base.settings);
    let value = match item {
        StatusItem::Session => head.session_id.to_string(),
        StatusItem::Model => format!("{} ({})", head.model.display, head.model.provider),
        StatusItem::Mode => mode_name(head.permission_mode).to_owned(),
        StatusItem::Effort => settings.effort.value.as_deref().unwrap_or("default").to_owned(),
        StatusItem::Sandbox => session.app().base.catalogue.sentence(&head.sandbox.reason),
    };
    if value.is_empty() { "-".to_owned() } else { value }
}
