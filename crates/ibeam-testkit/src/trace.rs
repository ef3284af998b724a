//! The program under a tracer that sees each lasting step it takes, and can end it or fail it right there.
//!
//! Follows every thread and child with ptrace, through safe calls alone. Linux on x86_64 with glibc only; anywhere
//! else, and where the system refuses, `TraceError` says why. What it traces is let go, not killed, at the end.

mod disk;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod engine;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod memory;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
mod no_engine;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod system_call;
mod trace_point;

use std::io::Write;
use std::process::Stdio;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
use no_engine as engine;

pub use disk::{Disk, PowerLoss};
pub use trace_point::{CallKind, TracePoint};

use crate::program::Ibeam;
use crate::surviving_processes::Heard;

/// What to do about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAction {
    /// Let it be.
    Pass,
    /// Kill the program, and it alone, before the step is taken.
    KillBefore,
    /// Keep the thread from taking the step, let all others go on for 150 ms, then kill the program: whatever should
    /// have waited for the step shows.
    HoldThenKill,
    /// Kill it when the step has just been taken.
    KillAfter,
    /// Of a write, let the first half through, then kill it. Any other step: as `KillAfter`.
    Tear,
    /// Kill the program and everything it has started, before the step is taken: what a power cut does.
    KillAll,
    /// The step is not taken; the program is told that it failed with this error, e.g. `EIO`.
    Fail(Errno),
}

/// What the system said no with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// Try again: no process or thread to be had.
    Again,
    /// The device failed.
    Io,
    /// The disk is full.
    NoSpace,
    /// The file system turned read-only.
    ReadOnly,
}

/// A run that was traced to its end.
#[derive(Debug)]
pub struct TraceResult {
    /// The steps, in their order; the last is the one at which it was killed.
    pub points: Vec<TracePoint>,
    /// An act other than `Pass` was carried out.
    pub has_acted: bool,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// All of stdout. Its last line may be torn.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

/// Programs cannot be traced here, and why.
#[derive(Debug, thiserror::Error)]
#[error("programs cannot be traced here: {0}")]
pub struct TraceError(String);

impl Ibeam {
    /// Runs it to its end under a tracer; `act` is asked at each lasting step in the program's directories, which
    /// are those under `disk`, and `disk` learns what is synced.
    ///
    /// stdin is `/dev/null` whatever was set.
    ///
    /// # Errors
    /// `TraceError` on systems without this ptrace, or where it is not permitted.
    ///
    /// # Panics
    /// When the program cannot be started, or does not end within its guard.
    pub fn trace(
        self,
        disk: &mut Disk,
        act: impl FnMut(&TracePoint) -> TraceAction + Send,
    ) -> Result<TraceResult, TraceError> {
        let guard = self.guard;
        // The tracer is a thread of its own: whom it traces goes free with its end.
        let traced = std::thread::scope(|scope| {
            let tracer = scope.spawn(move || {
                // Begins when the tracer has it: the shell waits for a line, then becomes the program.
                let mut command = std::process::Command::new("/bin/sh");
                command.args(["-c", "read -r go && exec \"$@\" </dev/null", "sh"]);
                command.arg(&self.program).args(&self.args).current_dir(&self.directory);
                command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut child = command.spawn().expect("a shell");
                let (stdout, stderr) = (Heard::from(child.stdout.take()), Heard::from(child.stderr.take()));
                match engine::Engine::seize(&child, disk, act) {
                    Ok(engine) => {
                        let mut stdin = child.stdin.take().expect("a pipe to the shell");
                        stdin.write_all(b"\n").expect("a shell that waits");
                        Ok((engine.follow(guard), stdout, stderr))
                    }
                    Err(said) => {
                        // Its stdin ends, and so does the shell.
                        drop(child.stdin.take());
                        drop(child.wait());
                        Err(TraceError(said))
                    }
                }
            });
            tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let ((points, has_acted, code), stdout, stderr) = traced?;
        Ok(TraceResult { points, has_acted, code, stdout: stdout.all(), stderr: stderr.all() })
    }
}
