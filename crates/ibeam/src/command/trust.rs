//! `trust`: lists trusted workspaces, removes one, and shows what trust would change in the current workspace.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::project_entries::{ProjectEntry, project_entries, project_texts};
use ibeam_output::{SubcommandLine, escape_to_one_line};
use ibeam_protocol::{Reason, Sentence, sentence};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::facts::CommandFacts;
use super::printing::{print_text, report};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// Manage the trusted workspaces
#[derive(Args, Clone, Debug)]
pub(crate) struct TrustArgs {
    #[command(subcommand)]
    what: TrustCommand,
}

/// The commands of `trust`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TrustCommand {
    /// List the trusted workspaces and the approved MCP servers
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Remove a workspace from the trusted list
    Forget {
        /// Its directory [default: the current workspace]
        directory: Option<PathBuf>,
    },
    /// Show what the project's files would change if they were trusted
    Show {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

impl SubCommand for TrustArgs {
    const FACTS: CommandFacts = CommandFacts::new("trust").uses(&["trust", "workspace"]).above(&[
        CommandFacts::new("forget").with_examples(&["ibeam trust forget"]),
        CommandFacts::new("list").with_examples(&["ibeam trust list"]),
        CommandFacts::new("show")
            .uses(&["approve_mcps", "force", "trust", "workspace"])
            .with_examples(&["ibeam trust show"]),
    ]);

    fn config_use(&self) -> ConfigUse {
        match self.what {
            TrustCommand::List { .. } | TrustCommand::Forget { .. } => ConfigUse::Incidental,
            TrustCommand::Show { .. } => ConfigUse::Needed,
        }
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        trust(app, &self.what, call.stdout).map(success)
    }
}

fn trust(app: &AppContext, what: &TrustCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        TrustCommand::List { format } => list(app, format.unwrap_or_default(), stdout),
        TrustCommand::Forget { directory } => forget(app, directory.as_deref(), stdout),
        TrustCommand::Show { format } => show(app, format.unwrap_or_default(), stdout),
    }
}

fn list(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let document = app.trust.store.load().map_err(|message| unreadable(app, message))?;
    let mut text = String::new();
    let mut workspaces = Vec::new();
    for (path, trusted) in &document.workspaces {
        let since = date_of(trusted.at_ms);
        let files: Vec<&String> = trusted.files.keys().collect();
        text.push_str(&format!("{}  # since {since}, {}\n", escape_to_one_line(path), files_of(&files)));
        workspaces.push(json!({ "path": path, "since_ms": trusted.at_ms, "files": trusted.files }));
    }
    let mut servers = Vec::new();
    for (key, pinned) in &document.servers {
        let (workspace, name) =
            key.split_once('\0').map_or((None, key.as_str()), |(at, name)| (Some(at), name));
        let of =
            workspace.map_or(String::new(), |workspace| format!(" of {}", escape_to_one_line(workspace)));
        let (since, count) = (date_of(pinned.at_ms), pinned.tools.len() as u64);
        let approved = app.base.catalogue.line(&SubcommandLine::ApprovedTools { since: &since, count });
        text.push_str(&format!("MCP server {}{of}  # {approved}\n", escape_to_one_line(name)));
        servers.push(
            json!({ "name": name, "workspace": workspace, "since_ms": pinned.at_ms, "tools": pinned.tools }),
        );
    }
    if text.is_empty() {
        text.push_str(&format!("{}\n", app.base.catalogue.line(&SubcommandLine::NoTrustedWorkspaces)));
    }
    report(stdout, format, &text, &json!({ "workspaces": workspaces, "mcp_servers": servers }))
}

fn files_of(names: &[&String]) -> String {
    match names {
        [] => "with no policy files".to_owned(),
        names => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// Removes a workspace and the servers of its files. A directory that no longer exists is removed by the given path.
fn forget(app: &AppContext, directory: Option<&Path>, stdout: &mut File) -> Result<(), CliError> {
    let given = directory.map(|given| {
        let real = given.canonicalize().or_else(|_| std::path::absolute(given));
        real.unwrap_or_else(|_| given.to_owned())
    });
    let path = given.unwrap_or_else(|| app.workspace.clone()).display().to_string();
    let before = format!("{path}\0");
    let document = app.trust.store.load().map_err(|message| unreadable(app, message))?;
    if directory.is_none() && document.workspaces.is_empty() && document.servers.is_empty() {
        let line = SubcommandLine::NotTrusted { path: &path };
        return print_text(stdout, &format!("{}\n", app.base.catalogue.line(&line)));
    }
    let forgotten = app.trust.store.change(|document| {
        let was_trusted = document.workspaces.remove(&path).is_some();
        let servers = document.servers.len();
        document.servers.retain(|key, _| !key.starts_with(&before));
        was_trusted || servers > document.servers.len()
    });
    let path = escape_to_one_line(&path);
    let cannot_write = |error: String| Reason::CannotCreate {
        path: app.trust.store.path().display().to_string(),
        detail: format!("{error}; set XDG_CONFIG_HOME to a directory that can be written"),
    };
    match forgotten.map_err(cannot_write)? {
        true => print_text(
            stdout,
            &format!("{}\n", app.base.catalogue.line(&SubcommandLine::TrustRemoved { path: &path })),
        ),
        false => Err(Reason::Usage {
            detail: sentence!("`{path}` is not trusted; `ibeam trust list` says what is", path),
        }
        .into()),
    }
}

/// Shows what the project's files set, and which of these settings have an effect now.
fn show(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let rows: Vec<ProjectEntry> = project_entries(app)?.into_iter().chain(project_texts(app)).collect();
    let status = app.trust.status();
    let sentence = |english: Sentence| app.base.catalogue.sentence(&english);
    let status_text = match status {
        "trusted" => sentence(sentence!("trusted")),
        "changed" => sentence(sentence!("changed since it was trusted")),
        _ => sentence(sentence!("untrusted")),
    };
    let workspace = escape_to_one_line(&app.workspace.display().to_string());
    let mut text = format!("{workspace}: {status_text}\n");
    for notice in app.trust.merge_notices(Vec::new()) {
        text.push_str(&format!("# {}\n", app.base.catalogue.notice(&notice)));
    }
    let (now, trusted) = (sentence(sentence!("counts now")), sentence(sentence!("with --trust")));
    let width = now.width().max(trusted.width());
    for ProjectEntry { kind, file, counts } in &rows {
        let label = if *counts { &now } else { &trusted };
        let padding = width - label.width();
        let what = kind.text();
        text.push_str(&format!(
            "{label}{:padding$}  {}  # {}\n",
            "",
            escape_to_one_line(&what),
            escape_to_one_line(file)
        ));
    }
    if rows.is_empty() {
        text.push_str(&format!("{}\n", sentence(sentence!("the project's files would change nothing"))));
    }
    let json: Vec<Value> = rows
        .iter()
        .map(|ProjectEntry { kind, file, counts }| json!({ "what": kind.text(), "file": file, "counts": counts }))
        .collect();
    report(
        stdout,
        format,
        &text,
        &json!({ "workspace": app.workspace.display().to_string(), "trust": status, "says": json }),
    )
}

fn unreadable(app: &AppContext, detail: String) -> Reason {
    let path = app.trust.store.path().display().to_string();
    Reason::BadConfig { path, line: None, column: None, detail: detail.into() }
}

fn date_of(ms: u64) -> String {
    let at =
        i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    at.strftime("%Y-%m-%d").to_string()
}
