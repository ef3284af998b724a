//! The log of the requests of a fleet: which ones were permitted, and what they used.
//!
//! `requests.ndjson` in the directory of the fleet. The driver appends a line before it permits a request. The run appends
//! one when the request has ended, before it reports that. So a kill of either one loses nothing, and the next driver begins
//! with what was consumed. A request of a process that is gone may have been answered, although no line says so.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::spend::Spend;

/// The name of the log in the directory of a fleet.
const NAME: &str = "requests.ndjson";
/// The size from which a log without open requests is written anew when a driver starts, in bytes.
const COMPACTED_BYTES: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A request may be sent. The amounts are what it is expected to use.
    #[default]
    Sent,
    /// A request has ended, and has used the amounts.
    Ended,
    /// A task has consumed the amounts besides its requests.
    Added,
    /// The fleet has consumed at least the amounts.
    Consumed,
    /// A request has used the amounts.
    Largest,
    /// The requests of a running task have consumed the amounts.
    Running,
    /// A request of a task was refused.
    Refused,
    /// The consumption of a task is recorded in the queue.
    Settled,
    /// The id of the log, as `request`.
    Log,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogLine {
    pub kind: LineKind,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub account: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time in milliseconds since 1970.
    pub at_ms: u64,
    pub tokens: u64,
    pub cost_micros: u64,
}

impl LogLine {
    /// Returns a line with amounts.
    pub fn new(kind: LineKind, spend: Spend) -> Self {
        Self { kind, tokens: spend.tokens, cost_micros: spend.cost_micros, ..Self::default() }
    }

    /// Returns a line about a task.
    pub fn for_task(kind: LineKind, task: &str, spend: Spend) -> Self {
        Self { task: task.to_owned(), ..Self::new(kind, spend) }
    }

    pub fn end(request: &str, used: Spend) -> Self {
        Self { request: request.to_owned(), ..Self::new(LineKind::Ended, used) }
    }

    /// Returns the amounts.
    pub fn spend(&self) -> Spend {
        Spend { tokens: self.tokens, cost_micros: self.cost_micros }
    }
}

/// The log of a fleet, opened by its driver.
#[derive(Debug)]
pub struct RequestLog {
    file: File,
    /// The position up to which the lines were read.
    position: u64,
    path: PathBuf,
}

impl RequestLog {
    /// Opens the log in `directory`, and creates it if it is missing. The lines are then returned by [`Self::read_new`].
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(NAME);
        let mut file = OpenOptions::new().create(true).append(true).read(true).open(&path)?;
        // What follows a line that a full disk cut is a line of its own.
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(Self { file, position: 0, path })
    }

    /// Returns the lines that were appended since the last call, except for one that is not complete.
    pub fn read_new(&mut self) -> io::Result<Vec<LogLine>> {
        self.file.seek(SeekFrom::Start(self.position))?;
        let (mut lines, mut line) = (Vec::new(), Vec::new());
        let mut reader = BufReader::new(&self.file);
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.position += line.len() as u64;
            lines.extend(serde_json::from_slice(&line).ok());
            line.clear();
        }
        Ok(lines)
    }

    /// Appends lines. With `is_durable`, a machine that loses its power keeps them.
    pub fn append(&mut self, lines: &[LogLine], is_durable: bool) -> io::Result<()> {
        write_lines(&mut self.file, lines)?;
        if is_durable { self.file.sync_data() } else { Ok(()) }
    }

    /// Whether the log is so long that it should be replaced by a summary.
    pub fn is_long(&self) -> bool {
        self.position > COMPACTED_BYTES
    }

    /// Replaces the log.
    ///
    /// # Errors
    /// The system's error. The log is then as before.
    pub fn replace(&mut self, lines: &[LogLine]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        write_lines(&mut file, lines)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        self.file = OpenOptions::new().append(true).read(true).open(&self.path)?;
        self.position = self.file.metadata()?.len();
        Ok(())
    }
}

/// Records the end of a request in the log of the fleet in `directory`.
pub fn append_end(directory: &Path, request: &str, used: Spend) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(directory.join(NAME))?;
    write_lines(&mut file, &[LogLine::end(request, used)])
}

/// Writes the lines at once, so that those of several processes are not mixed.
fn write_lines(file: &mut File, lines: &[LogLine]) -> io::Result<()> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    file.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_processes_are_read_once_and_a_cut_one_spoils_no_other() {
        let home = tempfile::tempdir().unwrap();
        let used = Spend { tokens: 7, cost_micros: 0 };
        let mut log = RequestLog::open(home.path()).unwrap();
        let sent = LogLine { request: "a".to_owned(), at_ms: 5, ..LogLine::default() };
        log.append(std::slice::from_ref(&sent), true).unwrap();
        append_end(home.path(), "a", used).unwrap();
        assert_eq!(log.read_new().unwrap(), [sent, LogLine::end("a", used)]);
        log.file.write_all(br#"{"kind":"ended","requ"#).unwrap();
        assert_eq!(log.read_new().unwrap(), []);
        let mut log = RequestLog::open(home.path()).unwrap();
        append_end(home.path(), "b", used).unwrap();
        assert_eq!(log.read_new().unwrap().len(), 3);
        log.replace(&[LogLine::end("c", used)]).unwrap();
        append_end(home.path(), "d", used).unwrap();
        assert_eq!(log.read_new().unwrap(), [LogLine::end("d", used)]);
    }
}
