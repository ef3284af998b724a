//! The check of a task: one process, which may survive its driver, and a report that decides.
//!
//! The process holds a lock on its report with its stdout. So a driver waits for the check of an earlier driver and takes its
//! report, and no workspace ever has two checks at the same time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use ibeam_files::file_lock;
use rustix::process::{Signal, kill_process};

use crate::check_files::place_check_files;
use crate::child::stdin_from;
use crate::error::FleetError;
use crate::task::Task;
use crate::task_dir::{REPORT, TaskDir};
use crate::task_result::CheckResult;
use crate::task_run::{POLL_INTERVAL, TaskRunner};
use crate::verdict::{Cause, CheckReport, Verdict};

/// The file with the command of a check while it runs.
const COMMAND: &str = "check.command";

pub(crate) enum CheckEnd {
    /// The check passed or failed.
    Decided(CheckResult),
    /// The check has to be repeated.
    Undecided(Cause),
    /// The fleet was stopped meanwhile.
    Stopped,
}

impl TaskRunner<'_> {
    /// Runs the check of a task. Its output goes to `check.log`.
    pub(crate) fn check(
        &self,
        task: &Task,
        dir: &TaskDir,
        start: &Path,
        command: &str,
    ) -> Result<CheckEnd, FleetError> {
        let path = dir.path().join(REPORT);
        let Some(mut file) = self.lock_report(dir, &path)? else { return Ok(CheckEnd::Stopped) };
        let log = dir.path().join("check.log");
        // The report of a check whose driver was killed, if there was one.
        let (mut report, mut lost) = (read(&mut file), None);
        if report.is_none() {
            file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(FleetError::at(&path))?;
            if let Err(error) = place_check_files(task, start) {
                return Ok(CheckEnd::Undecided(Cause::Files(error.to_string())));
            }
            // Of an interrupted check.
            let _ = fs::remove_file(&log);
            let input = dir.path().join(COMMAND);
            fs::write(&input, command).map_err(FleetError::at(&input))?;
            let mut process = self.program.check(task, start, self.governor.parent());
            process.stdin(stdin_from(&input).map_err(FleetError::at(&input))?);
            let output = file.try_clone().map_err(FleetError::at(&path))?;
            process.stdout(Stdio::from(output)).stderr(Stdio::from(dir.open_log("check.log")?));
            let started = self.children.start(&mut process);
            drop(process);
            let child = match started {
                Err(_) if self.stop.is_requested() => return Ok(CheckEnd::Stopped),
                started => started.map_err(FleetError::at(&self.program.program))?,
            };
            dir.write_process(child.id())?;
            let status = self.children.wait(child).map_err(FleetError::at(dir.path()))?;
            let _ = fs::remove_file(&input);
            report = read(&mut file);
            lost = Some(Cause::without_report(status, &log));
        }
        let verdict = match (&report, lost) {
            (Some(report), _) => report.verdict(start),
            (None, lost) => {
                Verdict::Undecided(lost.unwrap_or(Cause::Program("its report is lost".to_owned())))
            }
        };
        if let Some(report) = &report {
            fs::write(&log, &report.output).map_err(FleetError::at(&log))?;
        }
        // After the log: a driver that is killed before takes the report again.
        let _ = fs::remove_file(&path);
        let passed = match verdict {
            Verdict::Passed => true,
            Verdict::Failed => false,
            Verdict::Undecided(_) if self.stop.is_requested() => return Ok(CheckEnd::Stopped),
            Verdict::Undecided(cause) => return Ok(CheckEnd::Undecided(cause)),
        };
        let report = report.as_ref();
        let error = report
            .and_then(|report| report.timeout_ms)
            .map(|ms| format!("timed out after {} s; see `{}`", ms.div_ceil(1000), log.display()));
        let exit_code = report.and_then(|report| report.exit_code);
        Ok(CheckEnd::Decided(CheckResult { command: command.to_owned(), passed, exit_code, error }))
    }

    /// Opens and locks the report, once no check of an earlier driver writes to it; `None` if the driver is to end before.
    fn lock_report(&self, dir: &TaskDir, path: &Path) -> Result<Option<File>, FleetError> {
        let mut asked_to_end = false;
        loop {
            let mut options = OpenOptions::new();
            let opened = options.create(true).truncate(false).read(true).write(true).open(path);
            let file = opened.map_err(FleetError::at(path))?;
            match file_lock::try_lock(&file) {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(FleetError::at(path)(error)),
            }
            if self.stop.is_requested() && !asked_to_end {
                asked_to_end = true;
                let Some(pid) = dir.surviving_process() else { return Ok(None) };
                let _ = kill_process(pid, Signal::INT);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Returns the report in a file; `None` if it is not complete.
fn read(file: &mut File) -> Option<CheckReport> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
