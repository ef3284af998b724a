//! `quarantine`: lists what was moved away because commands made it under protected names, and moves it back.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_output::{SubcommandLine, escape_to_one_line};
use ibeam_protocol::Reason;
use ibeam_tools::QuarantinedFile;
use serde_json::{Value, json};

use super::facts::CommandFacts;
use super::printing::report;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// List and restore what was moved away because commands made it under protected names
#[derive(Args, Clone, Debug)]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    what: QuarantineCommand,
}

/// The commands of `quarantine`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum QuarantineCommand {
    /// List what was moved to the quarantine, with the place that it came from
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Move a file or directory back; nothing is overwritten
    Restore {
        /// Its name in the list
        #[arg(value_name = "ID")]
        id: String,
        /// Another place for it [default: where it came from]
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

impl SubCommand for QuarantineArgs {
    const FACTS: CommandFacts = CommandFacts::new("quarantine").uses(&[]).above(&[
        CommandFacts::new("list")
            .with_examples(&["ibeam quarantine list", "ibeam quarantine list --format json"]),
        CommandFacts::new("restore").with_examples(&["ibeam quarantine restore 1795930000000-a1b2/.idea"]),
    ]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        quarantine(app, &self.what, call.stdout).map(success)
    }
}

fn quarantine(app: &AppContext, what: &QuarantineCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        QuarantineCommand::List { format } => list(app, format.unwrap_or_default(), stdout),
        QuarantineCommand::Restore { id, to, format } => {
            restore(app, id, to.as_deref(), format.unwrap_or_default(), stdout)
        }
    }
}

fn files(app: &AppContext) -> Result<Vec<QuarantinedFile>, CliError> {
    let directory = app.dirs.quarantine();
    QuarantinedFile::list(&directory).map_err(|error| {
        let what = directory.display().to_string();
        Reason::Io { what, detail: error.to_string() }.into()
    })
}

fn list(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let files = files(app)?;
    let mut text = String::new();
    for file in &files {
        let origin = file.origin.as_ref().map_or("?".to_owned(), |origin| origin.display().to_string());
        let line = format!("{}  {origin}", file.id);
        text.push_str(&format!("{}\n", escape_to_one_line(&line)));
    }
    if files.is_empty() {
        text.push_str(&format!("{}\n", app.base.catalogue.line(&SubcommandLine::QuarantineEmpty)));
    }
    let rows: Vec<Value> = files
        .iter()
        .map(|file| {
            json!({
                "id": file.id,
                "path": file.origin.as_ref().map(|origin| origin.display().to_string()),
                "place": file.place.display().to_string(),
                "movedAtMs": file.moved_at_ms,
            })
        })
        .collect();
    report(stdout, format, &text, &json!({ "quarantine": rows }))
}

fn restore(
    app: &AppContext,
    id: &str,
    to: Option<&Path>,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let file = files(app)?.into_iter().find(|file| file.id == id);
    let file = file.ok_or_else(|| CliError::NotInQuarantine { id: id.to_owned() })?;
    let target = match to {
        Some(to) => absolute(to)?,
        None => file.origin.clone().ok_or_else(|| CliError::OriginUnknown { id: id.to_owned() })?,
    };
    let path = target.display().to_string();
    file.restore(&target).map_err(|errno| match errno {
        rustix::io::Errno::EXIST => CliError::FileExists { path: path.clone() },
        errno => Reason::Io { what: path.clone(), detail: errno.to_string() }.into(),
    })?;
    let text = app.base.catalogue.line(&SubcommandLine::QuarantineRestored { path: &path });
    report(stdout, format, &format!("{text}\n"), &json!({ "restored": { "id": id, "path": path } }))
}

/// Returns a path that a person gave, with its directory resolved.
fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    let failed = |error: std::io::Error| {
        CliError::from(Reason::Io { what: path.display().to_string(), detail: error.to_string() })
    };
    let path = std::path::absolute(path).map_err(failed)?;
    match path.parent().zip(path.file_name()) {
        Some((above, name)) => Ok(above.canonicalize().map_err(failed)?.join(name)),
        None => Ok(path),
    }
}
