//! `report`: one file with what a bug report needs.
//!
//! Every section is what another command prints. The text passes the redactor of this process, as journals do, and loses
//! what is likely another secret.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::run::session_error_reason;
use ibeam_agent::session_name::find_session;
use ibeam_output::{SubcommandLine, escape_invisible};
use ibeam_protocol::{Event, Reason, SessionId, sentence};
use ibeam_session::SessionError;
use serde_json::Value;

use super::facts::CommandFacts;
use super::printing::print_text;
use super::sub_command::{Call, SubCommand, success};
use super::{config, diagnostics};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;
use crate::secret_mask::mask_secrets;

/// Write a file with what a bug report needs, without keys (results of a fleet: `ibeam fleet report`)
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "The file has what `about`, `doctor` and `config explain` print, and the newest session of this directory, shortened.\n\
                  A session contains parts of prompts and files: read the file before you publish it."
)]
pub(crate) struct ReportArgs {
    /// The new file [default: ibeam-report.txt]
    file: Option<PathBuf>,
    /// Another session than the newest of this directory
    #[arg(long, value_name = "SESSION", allow_negative_numbers = true)]
    session: Option<String>,
    /// Leave the session out
    #[arg(long, conflicts_with = "session")]
    no_session: bool,
    /// Add this debug log, which `--debug` wrote, shortened
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl SubCommand for ReportArgs {
    const FACTS: CommandFacts = CommandFacts::new("report")
        .uses(&["workspace"])
        .with_examples(&["ibeam report", "ibeam report bug.txt --no-session"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        write_report(app, self, call.stdout).map(success)
    }
}

/// The name of the file without an argument.
const DEFAULT_FILE: &str = "ibeam-report.txt";
/// The number of the first and of the last events of a session, or lines of a log, that the report contains.
const FIRST_EVENTS: usize = 20;
const LAST_EVENTS: usize = 200;
/// The maximum length of a text in an event, in characters.
const MAX_TEXT_CHARACTERS: usize = 400;

struct Section {
    name: &'static str,
    text: String,
}

fn write_report(app: &AppContext, args: &ReportArgs, stdout: &mut File) -> Result<(), CliError> {
    let path = args.file.as_deref().unwrap_or_else(|| Path::new(DEFAULT_FILE));
    if path == Path::new("-") {
        return Err(
            Reason::Usage { detail: sentence!("`report` writes a file, not stdout; name the file") }.into()
        );
    }
    let session = session_of_report(app, args)?;
    let log = args.log.as_deref().map(log_text).transpose()?;
    let has_log = log.is_some();
    let cannot_create = |error: io::Error| CliError::from_creation(path, &error);
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create_new(true).mode(0o600).open(path).map_err(cannot_create)?;
    let written = collect(app, session, &mut file).and_then(|mut sections| {
        sections.extend(log.map(|text| Section { name: "debug log", text }));
        list(&sections, stdout)?;
        let text: String =
            sections.iter().map(|section| format!("## {}\n\n{}\n", section.name, section.text)).collect();
        let text = app.redactor().redact(&text).into_owned();
        replace_content(&mut file, mask_secrets(&text).as_bytes()).map_err(cannot_create)?;
        let path = &path.to_string_lossy();
        let line = match session.is_some() || has_log {
            true => SubcommandLine::ReportWritten { path },
            false => SubcommandLine::ReportOfMachineWritten { path },
        };
        print_text(stdout, &format!("{}\n", app.base.catalogue.line(&line)))
    });
    if written.is_err() {
        // An incomplete report would only be in the way of the next one.
        drop(std::fs::remove_file(path));
    }
    written
}

/// Returns the session that the report contains.
fn session_of_report(app: &AppContext, args: &ReportArgs) -> Result<Option<SessionId>, CliError> {
    if args.no_session {
        return Ok(None);
    }
    let find = |name| find_session(&app.dirs.sessions(), &app.workspace, name);
    match args.session.as_deref() {
        Some(name) => Ok(Some(find(name)?)),
        None => match find("-1") {
            Err(failure) if matches!(failure.reason, Reason::NoSessionToContinue { .. }) => Ok(None),
            found => Ok(Some(found?)),
        },
    }
}

/// Returns the sections of the report. `scratch` is empty and gets each of them for a moment.
fn collect(
    app: &AppContext,
    session: Option<SessionId>,
    scratch: &mut File,
) -> Result<Vec<Section>, CliError> {
    let explain = config::ConfigCommand::Explain { format: None };
    let mut sections = vec![
        section(app, "about", scratch, |out| diagnostics::about(app, ReportFormat::Text, out))?,
        section(app, "doctor", scratch, |out| diagnostics::doctor(app, ReportFormat::Text, out))?,
        section(app, "config explain", scratch, |out| config::config(app, &explain, out))?,
    ];
    if let Some(id) = session {
        sections.push(Section { name: "session", text: session_text(app, id)? });
    }
    Ok(sections)
}

/// Returns what a command prints, and its error.
fn section(
    app: &AppContext,
    name: &'static str,
    scratch: &mut File,
    command: impl FnOnce(&mut File) -> Result<(), CliError>,
) -> Result<Section, CliError> {
    let failed = |error: io::Error| Reason::Io { what: "report".to_owned(), detail: error.to_string() };
    replace_content(scratch, b"").map_err(failed)?;
    let result = command(scratch);
    let mut text = String::new();
    scratch.rewind().and_then(|()| scratch.read_to_string(&mut text)).map_err(failed)?;
    if let Err(error) = result {
        text.push_str(&format!("{}\n", error.explain(&app.base.catalogue)));
    }
    Ok(Section { name, text })
}

fn replace_content(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(content)
}

/// Returns the first and the last events of a session without deltas and with shortened texts, one per line.
fn session_text(app: &AppContext, id: SessionId) -> Result<String, Reason> {
    let mut excerpt = Excerpt::default();
    let read = ibeam_session::read(&app.dirs.sessions(), id, &mut |event: Event| {
        if !event.kind.is_delta() {
            excerpt.push(serde_json::to_value(&event).unwrap_or_default());
        }
        Ok::<_, SessionError>(())
    });
    let report = read.map_err(|error| session_error_reason(&error, id))?;
    let mut lines = excerpt.into_lines();
    if let Some(damage) = report.damage {
        lines.push(format!("damage: {} line {}: {}", damage.path.display(), damage.line, damage.detail));
    }
    Ok(escape_invisible(&format!("{id}\n{}\n", lines.join("\n"))).into_owned())
}

/// Returns the first and the last lines of a debug log with shortened texts.
///
/// # Errors
/// `NoInput` for the file.
fn log_text(path: &Path) -> Result<String, Reason> {
    let unreadable =
        |error: io::Error| Reason::NoInput { path: path.display().to_string(), detail: error.to_string() };
    let mut excerpt = Excerpt::default();
    for line in BufReader::new(File::open(path).map_err(unreadable)?).lines() {
        let line = line.map_err(unreadable)?;
        excerpt.push(serde_json::from_str(&line).unwrap_or(Value::String(line)));
    }
    Ok(escape_invisible(&format!("{}\n", excerpt.into_lines().join("\n"))).into_owned())
}

/// The first and the last of many JSON values, with shortened texts.
#[derive(Default)]
struct Excerpt {
    first: Vec<String>,
    last: VecDeque<String>,
    left_out: u64,
}

impl Excerpt {
    fn push(&mut self, mut value: Value) {
        shorten_texts(&mut value);
        if self.first.len() < FIRST_EVENTS {
            self.first.push(value.to_string());
            return;
        }
        self.last.push_back(value.to_string());
        if self.last.len() > LAST_EVENTS {
            self.last.pop_front();
            self.left_out += 1;
        }
    }

    fn into_lines(self) -> Vec<String> {
        let gap = (self.left_out > 0).then(|| format!("… {} lines left out …", self.left_out));
        self.first.into_iter().chain(gap).chain(self.last).collect()
    }
}

fn shorten_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if count > MAX_TEXT_CHARACTERS {
                let start: String = text.chars().take(MAX_TEXT_CHARACTERS).collect();
                *text = format!("{start}… ({count} characters)");
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten_texts),
        Value::Object(values) => values.values_mut().for_each(shorten_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Lists the sections with their sizes.
fn list(sections: &[Section], stdout: &mut File) -> Result<(), CliError> {
    let lines = sections.iter().map(|Section { name, text }| format!("{name}: {} bytes\n", text.len()));
    print_text(stdout, &lines.collect::<String>())
}
