//! The result of a program: exit code, output, time.

use std::time::Duration;

use serde_json::Value;

use crate::stream::Stream;

/// The result of a program that has ended.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// The exit code, or `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The time from the start to the end.
    pub elapsed: Duration,
}

impl ProgramOutput {
    /// Checks that the program succeeded.
    ///
    /// # Panics
    /// If the program failed.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "exit code; {self}");
        self
    }

    /// Returns stdout as a checked stream.
    ///
    /// # Panics
    /// If the stream fails a check.
    #[track_caller]
    pub fn stream(&self) -> Stream {
        Stream::check(&self.stdout).unwrap_or_else(|violation| panic!("{violation}; {self}"))
    }

    /// Returns stdout as one line of JSON. `RunningProgram::finish` has checked an object of `--output-format json`
    /// against the contract.
    ///
    /// # Panics
    /// If stdout is not one line of JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let line = self.stdout.strip_suffix('\n').filter(|line| !line.contains('\n'));
        let line = line.unwrap_or_else(|| panic!("stdout is not one line; {self}"));
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}; {self}"))
    }

    /// Returns the lines of stderr that start with `prefix`.
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
