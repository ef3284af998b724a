//! `fleet export`: writes the trace of every task into its directory.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use ibeam_fleet::{TaskResult, task_directory};
use ibeam_output::{escape_invisible_in_json, escape_to_one_line};
use ibeam_protocol::Reason;
use ibeam_trace::AtifWriter;
use serde_json::json;

use super::ledger_access::{open_ledger, queue_error};
use crate::cli_error::CliError;
use crate::command::printing::write;
use crate::command::replay::{self, read_events};
use crate::flags::Format;
use ibeam_agent::app::BaseContext;
use ibeam_agent::stderr;

#[derive(Clone, Copy, Debug)]
pub(super) enum TraceFormat {
    /// A trajectory for programs that evaluate agents.
    Atif,
    /// A page for people.
    Html,
    /// Spans of OpenTelemetry.
    Otlp,
}

impl TraceFormat {
    /// Returns the format of its content.
    fn content(self) -> Format {
        match self {
            Self::Atif => Format::Atif,
            Self::Html => Format::Html,
            Self::Otlp => Format::Otlp,
        }
    }

    /// Returns the name of the file.
    fn file_name(self) -> &'static str {
        match self {
            Self::Atif => "trajectory.json",
            Self::Html => "trace.html",
            Self::Otlp => "trace.otlp.json",
        }
    }
}

/// Writes the traces of the tasks with a session, and prints an object with `id` and `file` for each.
///
/// # Errors
/// `NoInput`, `Io`; `Io` as well if the journal of a session cannot be read, after all others were written.
pub(super) fn export(
    base: &BaseContext,
    directory: &Path,
    format: TraceFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut failures = 0_u64;
    let export = |_, result: Option<TaskResult>| {
        let Some(result) = result else { return Ok(()) };
        let (Some(session), Some(_)) = (&result.session_id, &result.directory) else { return Ok(()) };
        // The fleet may have been moved.
        let task = task_directory(&directory.join("tasks"), &result.id);
        match trace(base, session, &task, format) {
            Ok(file) => {
                let object = json!({ "id": result.id, "file": file }).to_string();
                write(stdout, &format!("{}\n", escape_invisible_in_json(&object)))
            }
            Err(detail) => {
                failures += 1;
                stderr::write_line(&escape_to_one_line(&format!("warning: {}: {detail}", result.id)));
                Ok(())
            }
        }
    };
    open_ledger(directory)?.each_task(export).map_err(queue_error)??;
    match failures {
        0 => Ok(()),
        failures => {
            let detail = format!("{failures} traces could not be written");
            Err(Reason::Io { what: directory.display().to_string(), detail }.into())
        }
    }
}

/// Writes the trajectory of a session for the result of a task, in this process. An incomplete file does not exist: it is
/// renamed into place.
///
/// # Errors
/// The reason for people.
pub(super) fn write_trajectory(base: &BaseContext, session: &str, task: &Path) -> Result<(), String> {
    let name = TraceFormat::Atif.file_name();
    let (file, new) = (task.join(name), task.join(format!("{name}.new")));
    let at = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
    let output = File::create(&new).map_err(|error| at(&new, &error))?;
    let buffer = output.try_clone().map(BufWriter::new).map_err(|error| at(&new, &error))?;
    if let Err(error) = read_events(base, OsStr::new(session), Box::new(AtifWriter::new(buffer)), &output) {
        drop(fs::remove_file(&new));
        return Err(error.explain(&base.catalogue).message);
    }
    fs::rename(&new, &file).map_err(|error| at(&file, &error))
}

/// Returns the file of the trajectory of a task.
pub(super) fn trajectory_file(task: &Path) -> PathBuf {
    task.join(TraceFormat::Atif.file_name())
}

/// Writes the trace of a session, and returns its file. An incomplete file does not exist: it is renamed into place.
fn trace(base: &BaseContext, session: &str, task: &Path, format: TraceFormat) -> Result<PathBuf, String> {
    let name = format.file_name();
    let (file, new) = (task.join(name), task.join(format!("{name}.new")));
    let output = File::create(&new).map_err(|error| format!("{}: {error}", new.display()))?;
    let ended = replay::export(base, session, format.content(), &output);
    // What can be read of a damaged session is its trace, so the output decides.
    let is_empty = fs::metadata(&new).map_or(true, |metadata| metadata.len() == 0);
    if is_empty {
        drop(fs::remove_file(&new));
        return Err(ended.err().map(|error| error.explain(&base.catalogue).to_string()).unwrap_or_default());
    }
    fs::rename(&new, &file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
