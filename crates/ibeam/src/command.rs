//! Executes the sub-commands, which `cli/commands.rs` lists. Small commands of one subject share a file.
//!
//! A command receives the resolved context, and stdout as a private descriptor (`stdout.rs`).

mod batch;
mod bug_report;
mod check;
mod compare;
mod complete;
mod config;
mod context;
mod convert;
mod diagnostics;
mod fleet;
mod hooks;
mod login;
mod mcp;
mod models;
mod policy;
mod printing;
mod providers;
mod quarantine;
mod reference;
mod replay;
mod sessions;
mod setup;
mod shim;
mod trust;
mod undo;

use std::fs::File;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ibeam_dialects::DialectName;
use ibeam_protocol::Reason;

use crate::cli::{
    Command, ConfigCommand, FailOnArg, Flags, FleetCommand, OfflineCommand, ReportFormat, TrustCommand,
};
use crate::cli_error::CliError;
use ibeam_agent::app::{AppContext, BaseContext, ConfigUse};
use ibeam_agent::reports::context_report::ContextOptions;
use ibeam_agent::stderr;

pub(crate) use models::{ModelListOptions, list as list_models};
pub(crate) use setup::install_if_missing;

/// Executes a command other than `resume`, which is a run. Returns the exit code of success.
///
/// # Errors
/// The error of the command.
pub(crate) fn execute(
    app: &Arc<AppContext>,
    flags: &Flags,
    command: &Command,
    stdout: &mut File,
) -> Result<ExitCode, CliError> {
    let config_use = config_use(command);
    if config_use == ConfigUse::Incidental {
        app.base.config_errors.iter().for_each(|error| warn(app, error));
    }
    let done = match command {
        Command::Login { provider, no_check } => login::login(app, provider.as_deref(), *no_check, stdout),
        Command::Logout { provider, all } => login::logout(app, provider.as_deref(), *all, stdout),
        Command::Status { format } => diagnostics::status(app, format.unwrap_or_default(), stdout),
        Command::Providers { json } | Command::Models { providers: true, json, .. } => {
            let format = if *json { ReportFormat::Json } else { ReportFormat::Text };
            providers::list(app, format, stdout)
        }
        Command::Models { providers: false, details, json, refresh } => {
            let options = ModelListOptions { details: *details, json: *json, refresh: *refresh };
            models::list(app, options, stdout)
        }
        Command::Batch { directory, wait, interval } => {
            let interval = Duration::from_secs(interval.unwrap_or(60));
            batch::batch(app, directory, batch::BatchOptions { wait: *wait, interval }, stdout)
        }
        Command::About { format } => diagnostics::about(app, format.unwrap_or_default(), stdout),
        Command::CreateChat => sessions::create_chat(app, stdout),
        Command::Ls { all, format } => sessions::ls(app, *all, format.unwrap_or_default(), stdout),
        Command::Diff { id: Some(first), other: Some(second), json, .. } => {
            compare::compare(app, [first, second], *json, stdout)
        }
        Command::Diff { id, stat, turn, .. } => {
            let id = id.as_ref().map(|id| id.to_string_lossy());
            undo::diff(app, id.as_deref(), *stat, *turn, stdout)
        }
        Command::Undo { id, to, redo, dry_run } => {
            undo::undo(app, id.as_deref(), undo::target(*to, *redo), *dry_run, stdout)
        }
        Command::Sessions { what } => sessions::sessions(app, what, stdout),
        Command::Config { what } => config::config(app, what, stdout),
        Command::Setup { from } => setup::setup(app, from.as_deref(), stdout),
        Command::Doctor { format } => diagnostics::doctor(app, format.unwrap_or_default(), stdout),
        Command::Report { file, session, no_session, log } => {
            let (file, session) = (file.as_deref(), session.as_deref());
            let log = log.as_deref();
            let options = bug_report::BugReportOptions { file, session, without_session: *no_session, log };
            bug_report::write_report(app, &options, stdout)
        }
        Command::Context { full, start_servers, format, words } => {
            let options = ContextOptions { full: *full, start_servers: *start_servers, conversation: false };
            context::context(app, words, options, format.unwrap_or_default(), stdout)
        }
        Command::Hooks { what } => hooks::hooks(app, what, stdout),
        Command::Quarantine { what } => quarantine::quarantine(app, what, stdout),
        Command::Mcp { what } => mcp::mcp(app, what, stdout),
        Command::Trust { what } => trust::trust(app, what, stdout),
        Command::Acp => acp(app, stdout),
        Command::Complete { words } => complete::complete(app, words, stdout),
        Command::Fleet { what } => fleet::fleet(app, flags, what, stdout),
        Command::Resume { .. } => Err(Reason::Internal { detail: "`resume` is a run".to_owned() }.into()),
        // Commands with several exit codes of success.
        Command::Policy { what } => return policy::policy(app, what, stdout),
        Command::Offline(command) => return execute_offline(&app.base, flags, command, stdout),
    };
    done?;
    match app.base.config_errors.split_first() {
        Some((first, rest)) if config_use == ConfigUse::Shown => {
            rest.iter().for_each(|error| warn(app, error));
            Err(first.clone().into())
        }
        Some(_) | None => Ok(ExitCode::SUCCESS),
    }
}

/// Returns the effect of an invalid configuration on a command.
pub(crate) fn config_use(command: &Command) -> ConfigUse {
    match command {
        Command::Config { what: ConfigCommand::Explain { .. } }
        | Command::Doctor { .. }
        | Command::Status { .. } => ConfigUse::Shown,
        Command::About { .. }
        | Command::Acp
        | Command::Diff { other: Some(_), .. }
        | Command::Complete { .. }
        | Command::Fleet {
            what:
                FleetCommand::Status { .. }
                | FleetCommand::Show { .. }
                | FleetCommand::Logs { .. }
                | FleetCommand::Workers { .. }
                | FleetCommand::Delete { .. }
                | FleetCommand::Report { .. }
                | FleetCommand::Export { .. }
                | FleetCommand::Sync { .. }
                | FleetCommand::Cancel { .. }
                | FleetCommand::Events { .. },
        }
        | Command::Config { what: ConfigCommand::Path }
        | Command::Login { .. }
        | Command::Logout { .. }
        | Command::Ls { .. }
        | Command::Offline(_)
        | Command::Quarantine { .. }
        | Command::Report { .. }
        | Command::Sessions { .. }
        | Command::Setup { .. }
        | Command::Trust { what: TrustCommand::List { .. } | TrustCommand::Forget { .. } } => {
            ConfigUse::Incidental
        }
        // With an invalid file, a key could be sent to another server, or a rule could be missing.
        Command::Batch { .. }
        | Command::Context { .. }
        | Command::CreateChat
        | Command::Diff { other: None, .. }
        | Command::Fleet {
            what:
                FleetCommand::Run { .. }
                | FleetCommand::Apply { .. }
                | FleetCommand::Doctor { .. }
                | FleetCommand::Poll { .. }
                | FleetCommand::RunCheck { .. }
                | FleetCommand::Worker(_),
        }
        | Command::Undo { .. }
        | Command::Hooks { .. }
        | Command::Mcp { .. }
        | Command::Models { .. }
        | Command::Policy { .. }
        | Command::Providers { .. }
        | Command::Resume { .. }
        | Command::Trust { what: TrustCommand::Show { .. } } => ConfigUse::Needed,
    }
}

/// Serves an editor until it closes stdin.
fn acp(app: &AppContext, stdout: &File) -> Result<(), CliError> {
    let io = |error: io::Error| Reason::Io { what: "stdout".to_owned(), detail: error.to_string() };
    let stdout = stdout.try_clone().map_err(io)?;
    ibeam_serve::serve_editor(app, stdout).map_err(|failure| CliError::from(failure.reason))
}

fn warn(app: &AppContext, error: &Reason) {
    stderr::write_line(&format!("warning: {}", app.base.catalogue.reason(error).message));
}

/// Executes a command that needs no home directory and no configuration. Returns the exit code of success.
///
/// # Errors
/// The error of the command.
pub(crate) fn execute_offline(
    base: &BaseContext,
    flags: &Flags,
    command: &OfflineCommand,
    stdout: &mut File,
) -> Result<ExitCode, CliError> {
    let done = match command {
        OfflineCommand::Replay { what, run, speed, longest_pause } => {
            let (speed, pause) = (speed.as_deref(), longest_pause.as_deref());
            let options = replay::ReplayOptions::new(base, flags, *run, speed, pause, stdout)?;
            replay::replay(base, what, &options, stdout)
        }
        OfflineCommand::Errors { format } => reference::errors(base, format.unwrap_or_default(), stdout),
        OfflineCommand::Schema { format } => reference::schema(base, format.unwrap_or_default(), stdout),
        OfflineCommand::Shim { directory, dialect } => shim::shim(base, directory, dialect, stdout),
        OfflineCommand::Completions { shell } => reference::completions(*shell, stdout),
        // Commands with several exit codes of success.
        OfflineCommand::Convert { from, to, losses, file } => {
            let to = to.unwrap_or(DialectName::Cursor);
            let fails_on_loss = flags.other.fail_on.contains(&FailOnArg::Loss);
            let (file, losses) = (file.as_deref(), losses.as_deref());
            return convert::convert(base, (*from, to), file, losses, fails_on_loss, stdout);
        }
        OfflineCommand::Check { file, format, json } => {
            let format = if *json { ReportFormat::Json } else { format.unwrap_or_default() };
            return check::check(base, file.as_deref(), format, stdout);
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}
