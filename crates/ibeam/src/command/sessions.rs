//! `create-chat`, `ls` and `sessions`: stored sessions.

mod archive;
mod arguments;
mod listing;
mod removal;

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::reports::session_report::{session_report, stored_sessions};
use ibeam_agent::run::{damaged_session_reason, is_ephemeral, session_error_reason, session_options};
use ibeam_agent::session_name::find_session;
use ibeam_agent::session_texts::{title_text, utc_time_text};
use ibeam_agent::stderr;
use ibeam_output::SessionLine;
use ibeam_protocol::{Failure, Reason, SessionId, sentence};
use ibeam_session::{CheckReport, Damage, RepairReport, Session};
use serde_json::{Value, json};

use self::arguments::SessionsCommand;
use super::facts::{CURSOR_FLAGS, CommandFacts};
use super::printing::{print_report, print_text, report};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// Create an empty session and print its ID
#[derive(Args, Clone, Debug)]
pub(crate) struct CreateChatArgs {}

impl SubCommand for CreateChatArgs {
    const FACTS: CommandFacts = CommandFacts::new("create-chat")
        .uses(&["workspace"])
        .ignores(CURSOR_FLAGS)
        .with_examples(&["ibeam create-chat"]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        create_chat(app, call.stdout).map(success)
    }
}

/// List the sessions of this directory, newest first
#[derive(Args, Clone, Debug)]
#[command(hide = true)]
pub(crate) struct LsArgs {
    /// List the sessions of all directories
    #[arg(long)]
    all: bool,
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
}

impl SubCommand for LsArgs {
    const FACTS: CommandFacts = CommandFacts::new("ls").uses(&["workspace"]).ignores(CURSOR_FLAGS);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        ls(app, self.all, self.format.unwrap_or_default(), call.stdout).map(success)
    }
}

/// Manage stored sessions
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    what: SessionsCommand,
}

impl SubCommand for SessionsArgs {
    const FACTS: CommandFacts = CommandFacts::new("sessions").uses(&["workspace"]).above(&[
        CommandFacts::new("check")
            .with_examples(&["ibeam sessions check -1", "ibeam sessions check -1 --repair"]),
        CommandFacts::new("export").with_examples(&["ibeam sessions export -1 session.export"]),
        CommandFacts::new("import").with_examples(&["ibeam sessions import session.export"]),
        CommandFacts::new("list").with_examples(&["ibeam sessions list", "ibeam sessions list --all --json"]),
        CommandFacts::new("prune")
            .uses(&["timeout", "workspace"])
            .with_examples(&["ibeam sessions prune --older-than 90 --dry-run"]),
        CommandFacts::new("rename").with_examples(&["ibeam sessions rename -1 Parser rewrite"]),
        CommandFacts::new("rm")
            .uses(&["timeout", "workspace"])
            .with_examples(&["ibeam sessions rm 0f0e0d0c"]),
        CommandFacts::new("search").with_examples(&["ibeam sessions search parser --all"]),
        CommandFacts::new("show").with_examples(&["ibeam sessions show -1"]),
    ]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        sessions(app, &self.what, call.stdout).map(success)
    }
}

fn create_chat(app: &AppContext, stdout: &mut File) -> Result<(), CliError> {
    if is_ephemeral(app) {
        let detail = sentence!(
            "`create-chat` creates a stored session, which `--ephemeral` and `session.ephemeral` forbid"
        );
        return Err(Reason::Usage { detail }.into());
    }
    app.dirs.create_sessions_dir()?;
    let id = SessionId::random();
    Session::create(&app.dirs.sessions(), id, &app.workspace, &session_options(app)?)
        .and_then(|mut session| session.sync_to_disk())
        .map_err(|error| session_error_reason(&error, id))?;
    print_text(stdout, &format!("{id}\n"))
}

/// Returns the session that an argument names.
///
/// # Errors
/// The errors of [`find_session`].
fn find(app: &AppContext, name: &str) -> Result<SessionId, Failure> {
    find_session(&app.dirs.sessions(), &app.workspace, name)
}

fn ls(app: &AppContext, all: bool, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let sessions = stored_sessions(app, all)?;
    let mut text = String::new();
    for session in &sessions {
        let (title, updated) = (title_text(&app.base.catalogue, session), utc_time_text(session.updated_ms));
        let directory = if all { format!("  [{}]", session.cwd.display()) } else { String::new() };
        text.push_str(&format!("{}  {updated}  {title}{directory}\n", session.id));
    }
    let rows: Vec<_> = sessions
        .iter()
        .map(|session| {
            json!({
                "session_id": session.id,
                "cwd": session.cwd,
                "created_ms": session.created_ms,
                "updated_ms": session.updated_ms,
                "title": session.title,
                "parent": session.parent,
            })
        })
        .collect();
    report(stdout, format, &text, &json!(rows))?;
    if sessions.is_empty() && format == ReportFormat::Text {
        report_none(app, all);
    }
    Ok(())
}

/// Writes on stderr that there is no session to list, and how to get one.
fn report_none(app: &AppContext, all: bool) {
    let line = if all { SessionLine::None } else { SessionLine::NoneHere };
    stderr::write_line(&app.base.catalogue.line(&line));
}

fn sessions(app: &AppContext, what: &SessionsCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        SessionsCommand::List { all, json } => listing::list(app, *all, *json, stdout),
        SessionsCommand::Show { id, json } => {
            print_report(stdout, listing::format(*json), &session_report(app, find(app, id)?)?)
        }
        SessionsCommand::Search { words, all, json } => {
            listing::search(app, &words.join(" "), *all, *json, stdout)
        }
        SessionsCommand::Rename { id, words } => listing::rename(app, id, &words.join(" ")),
        SessionsCommand::Rm { ids, yes } => removal::remove(app, ids, *yes, stdout),
        SessionsCommand::Prune { older_than, all, dry_run, yes } => {
            let options =
                removal::PruneOptions { days: *older_than, all: *all, dry_run: *dry_run, yes: *yes };
            removal::prune(app, &options, stdout)
        }
        SessionsCommand::Export { id, file } => archive::export(app, id, file.as_deref(), stdout),
        SessionsCommand::Import { file } => archive::import(app, file, stdout),
        SessionsCommand::Check { id, repair, format } => {
            check(app, id, *repair, format.unwrap_or_default(), stdout)
        }
    }
}

fn check(
    app: &AppContext,
    name: &str,
    repair: bool,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let id = find(app, name)?;
    let failed = |error| session_error_reason(&error, id);
    let sessions = app.dirs.sessions();
    let repaired = match repair {
        true => Some(ibeam_session::repair(&sessions, id, &session_options(app)?).map_err(failed)?),
        false => None,
    };
    let found = match &repaired {
        // Without a header, nothing is left to check.
        Some(RepairReport { is_session_left: false, .. }) => None,
        Some(_) | None => Some(ibeam_session::check(&sessions, id).map_err(failed)?),
    };
    let session = id.to_string();
    let lines = report_lines(&session, found.as_ref(), repaired.as_ref());
    let text: String = lines.iter().map(|line| app.base.catalogue.line(line) + "\n").collect();
    report(stdout, format, &text, &as_json(id, found.as_ref(), repaired.as_ref()))?;
    match found.and_then(|found| found.damage) {
        Some(Damage { path, line, detail }) => Err(damaged_session_reason(id, &path, line, &detail).into()),
        None => Ok(()),
    }
}

/// Returns the lines of the report: the result of the check and of the repair, then the counts.
fn report_lines<'a>(
    session: &'a str,
    found: Option<&'a CheckReport>,
    repaired: Option<&'a RepairReport>,
) -> Vec<SessionLine<'a>> {
    let moved = repaired.filter(|repaired| repaired.damage.is_some());
    let mut lines = vec![match (found, moved) {
        (None, _) => SessionLine::Unrecoverable { session },
        (Some(CheckReport { damage: Some(_), .. }), _) => SessionLine::Damaged { session },
        (Some(_), Some(_)) => SessionLine::Repaired { session },
        (Some(CheckReport { gaps: 1.., .. }), None) => SessionLine::Incomplete { session },
        (Some(_), None) => SessionLine::Intact { session },
    }];
    if let Some(found) = found {
        lines.push(SessionLine::Events { count: found.events });
        lines.push(SessionLine::Files { count: found.segments, bytes: found.bytes });
        let details = [
            (found.blobs, SessionLine::Payloads { count: found.blobs, bytes: found.blob_bytes }),
            (found.orphan_blobs, SessionLine::UnreferencedPayloads { count: found.orphan_blobs }),
            (found.torn_bytes, SessionLine::TruncatedRecord { bytes: found.torn_bytes }),
            (found.gaps, SessionLine::Gaps { count: found.gaps }),
            (found.open_calls, SessionLine::OpenCalls { count: found.open_calls }),
        ];
        lines.extend(details.into_iter().filter(|(count, _)| *count > 0).map(|(_, line)| line));
    }
    let damage = moved.and_then(|repaired| repaired.damage.as_ref());
    if let Some(Damage { path, line, detail }) = damage.or(found.and_then(|found| found.damage.as_ref())) {
        lines.push(SessionLine::Damage { file: file_name(path), line: *line, detail });
    }
    let aside = moved.map(|repaired| repaired.backups.as_slice()).unwrap_or_default();
    lines
        .extend(aside.iter().map(|path| SessionLine::MovedAside { path: path.to_str().unwrap_or_default() }));
    lines
}

fn as_json(id: SessionId, found: Option<&CheckReport>, repaired: Option<&RepairReport>) -> Value {
    let damage = |damage: Option<&Damage>| {
        damage.map(
            |Damage { path, line, detail }| json!({ "file": file_name(path), "line": line, "said": detail }),
        )
    };
    let mut object = json!({
        "session_id": id,
        "whole": found.is_some_and(|found| found.damage.is_none() && found.gaps == 0),
        "damage": damage(found.and_then(|found| found.damage.as_ref())),
        "repaired": repaired.map(|repaired| json!({
            "damage": damage(repaired.damage.as_ref()),
            "aside": repaired.backups.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "remains": repaired.is_session_left,
        })),
    });
    if let (Some(found), Some(object)) = (found, object.as_object_mut()) {
        for (key, count) in [
            ("events", found.events),
            ("records", found.records),
            ("segments", found.segments),
            ("bytes", found.bytes),
            ("blobs", found.blobs),
            ("blob_bytes", found.blob_bytes),
            ("orphan_blobs", found.orphan_blobs),
            ("torn_bytes", found.torn_bytes),
            ("gaps", found.gaps),
            ("open_calls", found.open_calls),
        ] {
            object.insert(key.to_owned(), count.into());
        }
        let forked_from = found.header.as_ref().and_then(|header| header.forked_from);
        object.insert("forked_from".to_owned(), json!(forked_from));
    }
    object
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
