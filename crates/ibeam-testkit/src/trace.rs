//! Runs the program under a tracer that stops the program at each step with a lasting effect, such as a write. A test can
//! kill the program at the step or let the step fail.
//!
//! Follows every thread and child with ptrace, without unsafe code. Works on Linux on x86_64 with glibc. On other
//! systems, and if the system refuses, the result is a `TraceError`. The traced processes are released at the end,
//! not killed.

mod disk;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod stopped_thread;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod system_call;
mod trace_point;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod tracer;

use std::io::Write;
use std::process::Stdio;

pub use disk::{Disk, PowerLoss};
pub use trace_point::{Errno, StepKind, TraceAction, TracePoint};

use crate::program::Ibeam;
use crate::surviving_processes::BackgroundPipeReader;

#[derive(Debug)]
pub struct TraceResult {
    /// The steps, in their order. A killed program has the step at which it was killed as the last one.
    pub points: Vec<TracePoint>,
    /// Whether an action other than `Pass` was carried out.
    pub has_acted: bool,
    /// The exit code, or `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The complete stdout. Its last line may be torn.
    pub stdout: String,
    pub stderr: String,
}

/// The reason why programs cannot be traced here.
#[derive(Debug, thiserror::Error)]
#[error("programs cannot be traced here: {0}")]
pub struct TraceError(String);

impl Ibeam {
    /// Runs the program to its end under a tracer. Calls `act` before each lasting step in the directories under
    /// `disk`, and records in `disk` what is synced.
    ///
    /// Stdin is `/dev/null`.
    ///
    /// # Errors
    /// `TraceError` on other systems than Linux on x86_64 with glibc, or if ptrace is not permitted.
    ///
    /// # Panics
    /// If the program cannot be started, or does not end before its timeout.
    pub fn trace(
        self,
        disk: &mut Disk,
        act: impl FnMut(&TracePoint) -> TraceAction + Send,
    ) -> Result<TraceResult, TraceError> {
        let timeout = self.timeout;
        // The tracer has its own thread, since its end releases the traced processes.
        let traced = std::thread::scope(|scope| {
            let tracer = scope.spawn(move || {
                // The shell waits for a line, so that the program starts only when it is traced.
                let mut command = std::process::Command::new("/bin/sh");
                command.args(["-c", "read -r go && exec \"$@\" </dev/null", "sh"]);
                command.arg(&self.program).args(&self.args).current_dir(&self.directory);
                command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut child = command.spawn().expect("a shell");
                let (stdout, stderr) = (
                    BackgroundPipeReader::from(child.stdout.take()),
                    BackgroundPipeReader::from(child.stderr.take()),
                );
                match tracer::Tracer::seize(&child, disk, act) {
                    Ok(tracer) => {
                        let mut stdin = child.stdin.take().expect("a pipe to the shell");
                        stdin.write_all(b"\n").expect("a shell that waits");
                        Ok((tracer.run_to_end(timeout), stdout, stderr))
                    }
                    Err(reason) => {
                        // The shell ends because its stdin is closed.
                        drop(child.stdin.take());
                        drop(child.wait());
                        Err(TraceError(reason))
                    }
                }
            });
            tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let ((points, has_acted, code), stdout, stderr) = traced?;
        Ok(TraceResult {
            points,
            has_acted,
            code,
            stdout: stdout.read_to_end(),
            stderr: stderr.read_to_end(),
        })
    }
}

/// The tracer of other systems, which cannot trace.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
mod tracer {
    use std::convert::Infallible;
    use std::process::Child;
    use std::time::Duration;

    use super::{Disk, TraceAction, TracePoint};

    /// Never constructed.
    pub(crate) struct Tracer(Infallible);

    impl Tracer {
        /// # Errors
        /// Always.
        pub(crate) fn seize(
            _: &Child,
            _: &mut Disk,
            _: impl FnMut(&TracePoint) -> TraceAction,
        ) -> Result<Self, String> {
            Err("only on Linux on x86_64 with glibc".to_owned())
        }

        pub(crate) fn run_to_end(self, _: Duration) -> (Vec<TracePoint>, bool, Option<i32>) {
            match self.0 {}
        }
    }
}
