//! The commands of a queue in a program without the client of one.

use std::fs::File;
use std::path::Path;

use ibeam_fleet::{DriverOptions, TaskFile};
use ibeam_output::Catalogue;
use ibeam_protocol::{Reason, sentence};

use super::Submission;
use super::logs::TaskLines;
use super::show::FoundTask;
use super::status::StatusReader;
use crate::cli_error::CliError;
use crate::flags::{GrantFlags, QueueFlags, ReportFormat, WorkerFlags};
use ibeam_agent::app::AppContext;

/// The queue is not available.
pub(super) fn submit(
    _app: &AppContext,
    _what: &Submission<'_>,
    _tasks: TaskFile,
    _directory: &Path,
    _options: &DriverOptions,
    _stdout: &mut File,
) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn work(_app: &AppContext, _flags: &WorkerFlags, _stdout: &mut File) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn sync_record(
    _directory: &Path,
    _flags: &QueueFlags,
    _format: ReportFormat,
    _stdout: &mut File,
) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn print_events(
    _flags: &QueueFlags,
    _task: Option<&str>,
    _follows: bool,
    _stdout: &mut File,
) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn print_refusals(
    _app: &AppContext,
    _flags: &QueueFlags,
    _grants: &GrantFlags,
    _format: ReportFormat,
    _stdout: &mut File,
) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn cancel(_flags: &QueueFlags) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn workers(
    _catalogue: &Catalogue,
    _flags: &QueueFlags,
    _format: ReportFormat,
    _stdout: &mut File,
) -> Result<(), CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn status_reader(_flags: &QueueFlags) -> Result<StatusReader, CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn find(_flags: &QueueFlags, _task: &str) -> Result<Option<FoundTask>, CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn task_lines(_flags: &QueueFlags, _task: &str) -> Result<TaskLines, CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn open_tasks(_flags: &QueueFlags) -> Result<u64, CliError> {
    Err(unavailable())
}

/// The queue is not available.
pub(super) fn delete(_flags: &QueueFlags) -> Result<(), CliError> {
    Err(unavailable())
}

fn unavailable() -> CliError {
    let detail =
        sentence!("this program was built without the client of a queue; build it with `--features nats`");
    Reason::Usage { detail }.into()
}
