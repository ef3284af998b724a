//! The steps of a program with a lasting effect, and the actions of a test at such a step.

use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// Writes bytes to a file.
    Write,
    /// Syncs a file or directory.
    Sync,
    Rename,
    /// Adds a name to a file.
    Link,
    Remove,
    /// Sets the length of a file.
    Truncate,
    /// Creates a directory.
    MakeDirectory,
    /// Creates a process.
    Fork,
    /// Starts an executable, in the program itself or in a child.
    Exec,
    /// Ends the program.
    Exit,
}

/// A step that is about to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePoint {
    /// The number of the step in the run, from 0.
    pub number: usize,
    pub kind: StepKind,
    /// The number of the step among the steps of its kind, from 0. The order of threads varies between runs, so `nth` is
    /// more stable than `number`.
    pub nth: usize,
    /// The file, the new name or the executable, relative to the program's directories if it lies below them. Empty if
    /// the step has no path.
    pub path: PathBuf,
}

impl TracePoint {
    /// Whether `other` is the same step in another run of the same program.
    pub fn is_same_step(&self, other: &Self) -> bool {
        (self.kind, self.nth) == (other.kind, other.nth)
    }
}

impl std::fmt::Display for TracePoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?} {}) {}", self.number, self.kind, self.nth, self.path.display())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAction {
    /// Takes the step.
    Pass,
    /// Kills only the program, before the step is taken.
    KillBefore,
    /// Holds the thread before the step for 150 ms, while all others run, then kills the program. Effects that should
    /// have waited for the step become visible.
    HoldThenKill,
    /// Kills the program after the step.
    KillAfter,
    /// Writes the first half of the bytes, then kills the program. At other steps than writes, has the effect of
    /// `KillAfter`.
    Tear,
    /// Kills the program and all its children before the step, like a power cut.
    KillAll,
    /// Skips the step. The program gets this error, e.g. `EIO`.
    Fail(Errno),
}

/// The error of a failed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// `EAGAIN`: no process or thread available.
    Again,
    /// `EIO`: the device failed.
    Io,
    /// `ENOSPC`: the disk is full.
    NoSpace,
    /// `EROFS`: the file system is read-only.
    ReadOnly,
}
