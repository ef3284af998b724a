//! `fleet logs`: prints the runs of a task as `replay` does, also while they work.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;
use std::thread;
use std::time::Duration;

use ibeam_fleet::{TaskLog, task_directory};
use ibeam_protocol::{Reason, sentence_text};

use super::ledger_access::{FleetSource, open_ledger, queue_error, unknown_task};
use super::queue;
use crate::cli_error::CliError;
use crate::command::replay::{ReplayOptions, replay_lines};
use crate::flags::Flags;
use ibeam_agent::app::AppContext;

/// The time between two looks for further lines.
const PAUSE: Duration = Duration::from_millis(200);

/// The lines of the runs of a task, where they are recorded.
pub(super) struct TaskLines {
    /// Returns the next complete lines; none if there are no further ones now.
    pub(super) read: Box<dyn FnMut() -> io::Result<Vec<u8>>>,
    /// Whether the task waits or runs.
    pub(super) is_open: Box<dyn FnMut() -> io::Result<bool>>,
}

/// Prints the runs of a task.
///
/// # Errors
/// `Usage` for an unknown task, `NoInput` for one without a run; the errors of a replay.
pub(super) fn print_log(
    app: &AppContext,
    flags: &Flags,
    source: &FleetSource<'_>,
    task: &str,
    follows: bool,
    stdout: &File,
) -> Result<(), CliError> {
    let options = ReplayOptions::for_log(&app.base, flags)?;
    let lines = match source {
        FleetSource::Directory(directory) => lines_in(directory, task)?,
        FleetSource::Queue(flags) => queue::task_lines(flags, task)?,
    };
    let mut lines = BufReader::new(FollowedLines { lines, follows, ready: io::Cursor::default() });
    let unread = |detail: String| Reason::NoInput { path: task.to_owned(), detail };
    if lines.fill_buf().map_err(|error| unread(error.to_string()))?.is_empty() {
        return Err(unread(sentence_text!("the task has no run yet").to_owned()).into());
    }
    replay_lines(&app.base, task, lines, &options, stdout)
}

fn lines_in(directory: &Path, task: &str) -> Result<TaskLines, CliError> {
    let ledger = open_ledger(directory)?;
    if ledger.find(task).map_err(queue_error)?.is_none() {
        return Err(unknown_task(task).into());
    }
    let mut log = TaskLog::new(&task_directory(&directory.join("tasks"), task));
    let task = task.to_owned();
    Ok(TaskLines {
        read: Box::new(move || log.read()),
        is_open: Box::new(move || {
            let found = ledger.find(&task).map_err(io::Error::other)?;
            Ok(found.is_some_and(|(_, status, _)| status.state.is_open()))
        }),
    })
}

/// Waits for further lines until the task has ended, if it `follows`.
struct FollowedLines {
    lines: TaskLines,
    follows: bool,
    ready: io::Cursor<Vec<u8>>,
}

impl Read for FollowedLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.ready.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            // Looked at before the lines: what a task wrote before its end is read.
            let is_open = self.follows && (self.lines.is_open)()?;
            let lines = (self.lines.read)()?;
            match (lines.is_empty(), is_open) {
                (false, _) => self.ready = io::Cursor::new(lines),
                (true, true) => thread::sleep(PAUSE),
                (true, false) => return Ok(0),
            }
        }
    }
}
