//! The directory of a task, which is the record of what happened to it.
//!
//! `stream.ndjson` is what the current run writes. The run itself holds a lock on it, through its stdout, until its last
//! process has ended: so a driver can see whether a run of an earlier driver is still alive. The streams of earlier runs
//! are `stream.1.ndjson`, `stream.2.ndjson` and so on. `error.json` is the error file of the run: a run that fails before it
//! starts writes nothing else. `result.json` is written last.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ibeam_files::file_lock;
use serde::{Deserialize, Serialize};

use crate::error::FleetError;
use crate::run_stream::RunStream;
use crate::task_result::TaskResult;
use crate::workspace::Changes;
use ibeam_governor::{ANSWERS, task_directory};

/// The file with the report of a check.
pub(crate) const REPORT: &str = "check.json";
/// The file with the names of the changed files.
const CHANGES: &str = "changes.json";

/// The directory of a task.
#[derive(Debug)]
pub(crate) struct TaskDir {
    path: PathBuf,
}

/// The attempt at a task that its next run belongs to. Numbers count the streams of earlier runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// The streams of earlier attempts.
    pub(crate) first: usize,
    /// The streams whose failures do not count any more.
    pub(crate) counted: usize,
    /// The number of the attempt in a queue.
    #[serde(default)]
    pub(crate) number: u32,
    /// The number of times that a check or git has decided nothing since the task was parked last.
    #[serde(default)]
    pub(crate) undecided: u32,
}

impl Attempt {
    /// Returns the streams of this attempt.
    pub(crate) fn streams(self, earlier: &[RunStream]) -> &[RunStream] {
        earlier.get(self.first..).unwrap_or_default()
    }

    /// Returns the streams whose failures count.
    pub(crate) fn counted_streams(self, earlier: &[RunStream]) -> &[RunStream] {
        earlier.get(self.counted.max(self.first)..).unwrap_or_default()
    }
}

pub(crate) enum CurrentStream {
    /// No process writes to it. The file is locked.
    Free(File),
    /// A run that an earlier driver started still writes to it.
    InUse,
}

impl TaskDir {
    /// Opens the directory of a task, and creates it if it is missing.
    pub(crate) fn open(tasks: &Path, id: &str) -> Result<Self, FleetError> {
        Self::at(task_directory(tasks, id))
    }

    /// Opens the directory `path` of a task, and creates it if it is missing.
    pub(crate) fn at(path: PathBuf) -> Result<Self, FleetError> {
        fs::create_dir_all(&path).map_err(FleetError::at(&path))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }

    pub(crate) fn patch(&self) -> PathBuf {
        self.path.join("changes.patch")
    }

    /// Locks the directory for its only executor, until the returned file is closed; `None` if another one holds it.
    pub(crate) fn hold(&self) -> Result<Option<File>, FleetError> {
        let directory = File::open(&self.path).map_err(FleetError::at(&self.path))?;
        match file_lock::try_lock(&directory) {
            Ok(()) => Ok(Some(directory)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FleetError::at(&self.path)(error)),
        }
    }

    /// Sets a result aside that does not count, because the task has another one.
    pub(crate) fn supersede_result(&self) -> Result<(), FleetError> {
        let path = self.path.join("result.json");
        fs::rename(&path, self.path.join("result.superseded.json")).map_err(FleetError::at(&path))
    }

    /// Returns the recorded result. An incomplete file does not exist: it is renamed into place.
    pub(crate) fn result(&self) -> Option<TaskResult> {
        serde_json::from_slice(&fs::read(self.path.join("result.json")).ok()?).ok()
    }

    /// Records the result.
    pub(crate) fn write_result(&self, result: &TaskResult) -> Result<(), FleetError> {
        let mut text = serde_json::to_vec_pretty(result)
            .map_err(io::Error::other)
            .map_err(FleetError::at(&self.path))?;
        text.push(b'\n');
        self.replace("result.json", &text)
    }

    /// Writes a file so that it is never seen in part.
    fn replace(&self, name: &str, content: &[u8]) -> Result<(), FleetError> {
        let (path, new) = (self.path.join(name), self.path.join(format!("{name}.new")));
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        write().map_err(FleetError::at(&path))
    }

    /// Returns the attempt of the next run.
    pub(crate) fn attempt(&self) -> Attempt {
        let read = || serde_json::from_slice(&fs::read(self.path.join("attempt.json")).ok()?).ok();
        read().unwrap_or_default()
    }

    /// Records the attempt of the next run.
    pub(crate) fn write_attempt(&self, attempt: Attempt) -> Result<(), FleetError> {
        let text =
            serde_json::to_vec(&attempt).map_err(io::Error::other).map_err(FleetError::at(&self.path))?;
        self.replace("attempt.json", &text)
    }

    /// Returns the changes that were recorded before the check.
    pub(crate) fn changes(&self) -> Option<Changes> {
        serde_json::from_slice(&fs::read(self.path.join(CHANGES)).ok()?).ok()
    }

    /// Records the changes of the run, before its check adds others.
    pub(crate) fn write_changes(&self, changes: &Changes) -> Result<(), FleetError> {
        let text =
            serde_json::to_vec(changes).map_err(io::Error::other).map_err(FleetError::at(&self.path))?;
        self.replace(CHANGES, &text)
    }

    /// Removes what the next attempt must not find: what the check has left, and the answers of the model.
    pub(crate) fn forget_attempt(&self) -> Result<(), FleetError> {
        [CHANGES, REPORT, ANSWERS].into_iter().try_for_each(|name| self.remove(name))
    }

    /// Removes the answers of the model, which the journal of a completed run has.
    pub(crate) fn forget_answers(&self) -> Result<(), FleetError> {
        self.remove(ANSWERS)
    }

    fn remove(&self, name: &str) -> Result<(), FleetError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FleetError::at(&path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Makes the stream of the last earlier run that of the current one: another machine has run it to its end.
    pub(crate) fn take_back_stream(&self) -> Result<(), FleetError> {
        let last = (1..).take_while(|number| self.numbered(*number).exists()).last();
        let Some(number) = last else { return Ok(()) };
        let path = self.numbered(number);
        fs::rename(&path, self.stream()).map_err(FleetError::at(&path))
    }

    /// Opens and locks the stream of the current run.
    pub(crate) fn lock_stream(&self) -> Result<CurrentStream, FleetError> {
        let path = self.stream();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(&path)
            .map_err(FleetError::at(&path))?;
        match file_lock::try_lock(&file) {
            Ok(()) => Ok(CurrentStream::Free(file)),
            Err(TryLockError::WouldBlock) => Ok(CurrentStream::InUse),
            Err(TryLockError::Error(error)) => Err(FleetError::at(&path)(error)),
        }
    }

    /// Reads the stream of the current run.
    pub(crate) fn current(&self) -> Result<RunStream, FleetError> {
        read(&self.stream(), &self.error_file())
    }

    /// Reads the streams of the earlier runs, the oldest first.
    pub(crate) fn earlier(&self) -> Result<Vec<RunStream>, FleetError> {
        let mut streams = Vec::new();
        for number in 1.. {
            let path = self.numbered(number);
            if !path.exists() {
                break;
            }
            streams.push(read(&path, &self.numbered_error(number))?);
        }
        Ok(streams)
    }

    /// Ends the current run: its stream becomes that of an earlier one.
    pub(crate) fn set_aside_stream(&self) -> Result<(), FleetError> {
        let number = (1..).find(|number| !self.numbered(*number).exists()).unwrap_or(u32::MAX);
        let (path, error) = (self.stream(), self.error_file());
        match fs::rename(&error, self.numbered_error(number)) {
            // A kill between the two renames has left the error of a run without a stream.
            Err(failed) if failed.kind() == io::ErrorKind::NotFound => {
                let _ = fs::remove_file(self.numbered_error(number));
            }
            renamed => renamed.map_err(FleetError::at(&error))?,
        }
        fs::rename(&path, self.numbered(number)).map_err(FleetError::at(&path))
    }

    /// Returns the file for the failure of the current run.
    pub(crate) fn error_file(&self) -> PathBuf {
        self.path.join("error.json")
    }

    /// Returns the streams of all runs and their error files, the oldest first. The last may be that of the current run.
    pub(crate) fn streams(&self) -> Vec<(PathBuf, PathBuf)> {
        let earlier = (1..).map(|number| (self.numbered(number), self.numbered_error(number)));
        let mut files: Vec<_> = earlier.take_while(|(stream, _)| stream.exists()).collect();
        let current = self.stream();
        if fs::metadata(&current).is_ok_and(|stream| stream.len() > 0) {
            files.push((current, self.error_file()));
        }
        files
    }

    /// Returns the stream of the current run.
    pub(crate) fn stream(&self) -> PathBuf {
        self.path.join("stream.ndjson")
    }

    /// Records the lease under which the task is executed here.
    pub(crate) fn write_lease(&self, number: u64) -> Result<(), FleetError> {
        let path = self.path.join("lease");
        fs::write(&path, number.to_string()).map_err(FleetError::at(&path))
    }

    /// Returns the number of the last lease under which the task was executed here.
    pub(crate) fn lease(&self) -> Option<u64> {
        fs::read_to_string(self.path.join("lease")).ok()?.parse().ok()
    }

    /// Records that a session came from another machine: it is copied when it is resumed.
    pub(crate) fn write_restored_session(&self, session: &str) -> Result<(), FleetError> {
        let path = self.path.join("restored");
        fs::write(&path, session).map_err(FleetError::at(&path))
    }

    /// Returns the session that came from another machine.
    pub(crate) fn restored_session(&self) -> Option<String> {
        fs::read_to_string(self.path.join("restored")).ok()
    }

    fn numbered_error(&self, number: u32) -> PathBuf {
        self.path.join(format!("error.{number}.json"))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.path.join(format!("stream.{number}.ndjson"))
    }

    /// Opens a log of the task to append to it.
    pub(crate) fn open_log(&self, name: &str) -> Result<File, FleetError> {
        let path = self.path.join(name);
        OpenOptions::new().create(true).append(true).open(&path).map_err(FleetError::at(&path))
    }

    /// Records the process of the current run.
    pub(crate) fn write_process(&self, pid: u32) -> Result<(), FleetError> {
        let path = self.path.join("process");
        fs::write(&path, pid.to_string()).map_err(FleetError::at(&path))
    }

    /// Returns the process of the current run, if it still runs.
    pub(crate) fn surviving_process(&self) -> Option<rustix::process::Pid> {
        let pid: i32 = fs::read_to_string(self.path.join("process")).ok()?.parse().ok()?;
        // The command line names the workspace of the task, so the number is not that of a newer process.
        let command_line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let workspace = self.workspace();
        let workspace = workspace.to_str()?.as_bytes();
        command_line.windows(workspace.len()).any(|window| window == workspace).then_some(())?;
        rustix::process::Pid::from_raw(pid)
    }
}

/// Whether the changes of the run were recorded in the directory of a task: the run has ended, and its check begins.
pub(crate) fn has_changes(directory: &Path) -> bool {
    directory.join(CHANGES).exists()
}

fn read(path: &Path, error: &Path) -> Result<RunStream, FleetError> {
    let mut stream = File::open(path).and_then(RunStream::read).map_err(FleetError::at(path))?;
    if stream.end.is_none() {
        // There is no such file unless the run wrote it.
        let failed = File::open(error).and_then(RunStream::read).unwrap_or_default();
        (stream.end, stream.session_id) = (failed.end, stream.session_id.or(failed.session_id));
    }
    Ok(stream)
}
