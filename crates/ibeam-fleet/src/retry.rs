//! A further attempt at the tasks that failed.
//!
//! A new attempt starts with a new session and a new workspace. What the attempts before it left stays in the directory of
//! the task: their streams, which count in the sums, and with a number their results, patches and logs.

use std::fs;
use std::io;

use rustix::process::{Signal, kill_process_group};

use crate::error::FleetError;
use crate::fleet_directory::FleetDirectory;
use crate::ledger::Ledger;
use crate::task_dir::{Attempt, TaskDir};

/// The files of an attempt that get its number. The result is the last one: without it, the attempt is not finished.
const FILES: [(&str, &str); 5] =
    [("changes", "patch"), ("check", "log"), ("stderr", "log"), ("trajectory", "json"), ("result", "json")];

/// Returns the tasks that failed to the queue, and those that were skipped because of them. Returns the number of tasks
/// that failed.
///
/// A kill at any instant is harmless: the tasks then have their earlier result, or are in the queue.
///
/// # Errors
/// `Queue`, `Io`.
pub fn retry_failed(directory: &FleetDirectory, ledger: &mut Ledger) -> Result<usize, FleetError> {
    let failed = ledger.failed_tasks()?;
    for id in &failed {
        begin_attempt(&TaskDir::open(&directory.path().join("tasks"), id)?)?;
    }
    ledger.reopen(&failed)?;
    Ok(failed.len())
}

/// Begins the attempt with this number, if the directory has what an earlier one left. Another machine may have finished that
/// one, so there need not be a result.
pub(crate) fn begin_numbered_attempt(dir: &TaskDir, number: u32) -> Result<(), FleetError> {
    if dir.attempt().number >= number {
        return Ok(());
    }
    if let Some(pid) = dir.surviving_process() {
        // Of a run whose worker has died.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    end_attempt(dir)?;
    // Last: after a kill before this, everything is done again.
    dir.write_attempt(Attempt { number, ..dir.attempt() })
}

/// Ends the attempt of a task that has a result, so that the next run begins another one.
fn begin_attempt(dir: &TaskDir) -> Result<(), FleetError> {
    match dir.result() {
        Some(_) => end_attempt(dir),
        None => Ok(()),
    }
}

fn end_attempt(dir: &TaskDir) -> Result<(), FleetError> {
    if dir.path().join("stream.ndjson").exists() {
        dir.set_aside_stream()?;
    }
    let streams = dir.earlier()?.len();
    dir.write_attempt(Attempt { first: streams, counted: streams, undecided: 0, ..dir.attempt() })?;
    dir.forget_attempt()?;
    match fs::remove_dir_all(dir.workspace()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(FleetError::at(&dir.workspace())(error));
        }
        Ok(()) | Err(_) => {}
    }
    let numbered = |number: u32, (name, extension): (&str, &str)| {
        dir.path().join(format!("{name}.{number}.{extension}"))
    };
    let number = (1..).find(|number| !numbered(*number, ("result", "json")).exists()).unwrap_or(u32::MAX);
    for file in FILES {
        let (path, target) = (dir.path().join(format!("{}.{}", file.0, file.1)), numbered(number, file));
        match fs::rename(&path, &target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FleetError::at(&path)(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_result::{Outcome, TaskResult};

    #[test]
    fn an_attempt_of_a_queue_begins_once_and_keeps_what_earlier_ones_left() {
        let home = tempfile::tempdir().unwrap();
        let dir = TaskDir::open(home.path(), "a").unwrap();
        let at = |name: &str| dir.path().join(name);
        let result = |message: &str| TaskResult::without_run("a", Outcome::Failed, message.to_owned());
        begin_numbered_attempt(&dir, 0).unwrap();
        assert!(!at("attempt.json").exists());
        fs::create_dir(dir.workspace()).unwrap();
        fs::write(at("stream.ndjson"), "{}\n").unwrap();
        fs::write(at("changes.patch"), "").unwrap();
        dir.write_result(&result("first")).unwrap();
        for _ in 0..2 {
            begin_numbered_attempt(&dir, 1).unwrap();
            assert_eq!(dir.attempt(), Attempt { first: 1, counted: 1, number: 1, undecided: 0 });
            assert!(dir.result().is_none() && !dir.workspace().exists());
            for name in ["stream.1.ndjson", "changes.1.patch", "result.1.json"] {
                assert!(at(name).exists(), "{name}");
            }
        }
        // Another machine has finished an attempt that was interrupted here.
        fs::write(at("stream.ndjson"), "{}\n").unwrap();
        begin_numbered_attempt(&dir, 3).unwrap();
        assert_eq!(dir.attempt(), Attempt { first: 2, counted: 2, number: 3, undecided: 0 });
        dir.write_result(&result("last")).unwrap();
        begin_numbered_attempt(&dir, 3).unwrap();
        assert!(dir.result().is_some(), "the result of this attempt stays");
    }
}
