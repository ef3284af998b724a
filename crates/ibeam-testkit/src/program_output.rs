//! What a program left behind: its exit, its output, its time.

use std::time::Duration;

use serde_json::Value;

use crate::stream::Stream;

/// A program that has ended.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
    /// From its start to its end.
    pub elapsed: Duration,
}

impl ProgramOutput {
    /// Holds that it succeeded.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "exit code; {self}");
        self
    }

    /// stdout as a stream that keeps every law.
    ///
    /// # Panics
    /// When it breaks one.
    #[track_caller]
    pub fn stream(&self) -> Stream {
        Stream::check(&self.stdout).unwrap_or_else(|violation| panic!("{violation}; {self}"))
    }

    /// stdout as one JSON object and a newline; that of `json` was held against the contract when the program ended.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        let line = self.stdout.strip_suffix('\n').filter(|line| !line.contains('\n'));
        let line = line.unwrap_or_else(|| panic!("stdout is not one line; {self}"));
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}; {self}"))
    }

    /// The lines of stderr that begin with `prefix`.
    pub fn stderr_lines(&self, prefix: &str) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with(prefix)).collect()
    }
}

impl std::fmt::Display for ProgramOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, signal, stdout, stderr, elapsed } = self;
        write!(f, "code {code:?}, signal {signal:?}, {elapsed:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
    }
}
