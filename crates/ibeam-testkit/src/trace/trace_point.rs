//! The steps of a program that outlast it: what it writes, syncs, renames and starts.

use std::path::PathBuf;

/// What kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// Bytes into a file.
    Write,
    /// A file or directory is to survive a power cut.
    Sync,
    /// A name moves.
    Rename,
    /// A second name.
    Link,
    /// A name goes.
    Remove,
    /// A file gets another length.
    Truncate,
    /// A new directory.
    MakeDirectory,
    /// A new process.
    Fork,
    /// A program begins, in the program itself or in a child of it.
    Exec,
    /// The program ends by itself.
    Exit,
}

/// A step that is about to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePoint {
    /// Its number in the run, from 0.
    pub number: usize,
    /// What kind.
    pub call: CallKind,
    /// Its number among the steps of its kind, from 0. Threads take turns as they like, so from run to run this is
    /// what stays.
    pub nth: usize,
    /// The file, the new name or the program, relative to the program's directories where it lies there; empty
    /// where there is none.
    pub path: PathBuf,
}

impl TracePoint {
    /// Whether `other`, a step of another run of the same program, is the same.
    pub fn is_same_step(&self, other: &Self) -> bool {
        (self.call, self.nth) == (other.call, other.nth)
    }
}

impl std::fmt::Display for TracePoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?} {}) {}", self.number, self.call, self.nth, self.path.display())
    }
}
