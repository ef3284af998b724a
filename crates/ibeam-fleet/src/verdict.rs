//! The three values of a check: passed, failed, and not decided.
//!
//! A process that was killed, a lost report and a fault of the machine say nothing about the work of a task. So none of
//! them is a failure, and none is a success: the check is repeated.

use std::path::Path;
use std::process::ExitStatus;

use ibeam_protocol::{Sentence, sentence};
use rustix::fs::StatVfs;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

/// The space that a file system needs for the failure of a check to count, in bytes.
const MIN_FREE_BYTES: u64 = 1 << 20;
/// The signals with which people and systems end processes. With others, such as SEGV, a program ends itself.
const ENDING_SIGNALS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::KILL, Signal::TERM];
/// A shell reports a signal as this and its number.
const SIGNAL_BASE: i32 = 128;

/// The value of the work of a task, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The work is right.
    Passed,
    /// The work is not right.
    Failed,
    /// The work is unknown, for this reason.
    Undecided(Cause),
}

/// The reason for which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A signal ended the check.
    Signal(i32),
    /// The program that runs the check was killed, or could not run it.
    Program(String),
    /// The disk was full while the check ran.
    DiskFull,
    /// The changes in the workspace cannot be read now.
    Changes(String),
    /// The workspace cannot be prepared now.
    Workspace(String),
    /// The files of the check cannot be copied.
    Files(String),
    /// Too many runs were killed.
    Runs(usize),
}

/// The output of `ibeam fleet run-check`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckReport {
    /// The exit code; 128 and the number for a signal. `None` if the command was ended at its time limit.
    pub exit_code: Option<i32>,
    /// The time limit at which the command was ended.
    pub timeout_ms: Option<u64>,
    pub output: String,
}

impl CheckReport {
    /// Returns the verdict of a command that ran in `workspace`.
    pub(crate) fn verdict(&self, workspace: &Path) -> Verdict {
        match (self.exit_code, self.timeout_ms) {
            (None, Some(_)) => Verdict::Failed,
            (None, None) => Verdict::Undecided(Cause::Program("its report has no end".to_owned())),
            (Some(0), _) => Verdict::Passed,
            (Some(code), _) => {
                let signal = code - SIGNAL_BASE;
                if ENDING_SIGNALS.iter().any(|ending| ending.as_raw() == signal) {
                    Verdict::Undecided(Cause::Signal(signal))
                } else if is_full(workspace) {
                    Verdict::Undecided(Cause::DiskFull)
                } else {
                    Verdict::Failed
                }
            }
        }
    }
}

impl Cause {
    /// Returns the cause for people.
    pub(crate) fn sentence(&self) -> Sentence {
        match self {
            Self::Signal(signal) => sentence!("the check was ended by the signal {signal}", signal),
            Self::Program(detail) => sentence!("the check could not be run ({detail})", detail),
            Self::DiskFull => sentence!("the disk is full"),
            Self::Changes(detail) => sentence!("the changes cannot be read: {detail}", detail),
            Self::Workspace(detail) => format!("workspace: {detail}").into(),
            Self::Files(detail) => format!("the files of the check cannot be copied: {detail}").into(),
            Self::Runs(runs) => sentence!("{runs} runs ended without a result", runs),
        }
    }

    /// Returns the cause where `ibeam fleet run-check` ended without a report.
    pub(crate) fn without_report(status: ExitStatus, log: &Path) -> Self {
        Self::Program(format!("{status}; see `{}`", log.display()))
    }
}

/// Whether a file system has no room for further files. One that cannot be asked counts as one that has room.
pub(crate) fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| lacks_room(&found))
}

fn lacks_room(found: &StatVfs) -> bool {
    // Some file systems count neither blocks nor files.
    let lacks_bytes = found.f_blocks > 0 && found.f_bavail.saturating_mul(found.f_frsize) < MIN_FREE_BYTES;
    lacks_bytes || found.f_files > 0 && found.f_favail == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_end_of_its_own_decides_a_check() {
        let home = tempfile::tempdir().unwrap();
        let verdict = |exit_code, timeout_ms| {
            CheckReport { exit_code, timeout_ms, output: String::new() }.verdict(home.path())
        };
        assert_eq!(verdict(Some(0), None), Verdict::Passed);
        // 139 is SEGV, with which a wrong program ends itself.
        for code in [1, 2, 127, 128, 139, 134, 255, -1] {
            assert_eq!(verdict(Some(code), None), Verdict::Failed, "{code}");
        }
        assert_eq!(verdict(None, Some(1000)), Verdict::Failed);
        for (code, signal) in [(129, 1), (130, 2), (137, 9), (143, 15)] {
            assert_eq!(verdict(Some(code), None), Verdict::Undecided(Cause::Signal(signal)));
        }
        assert!(matches!(verdict(None, None), Verdict::Undecided(Cause::Program(_))));
    }

    #[test]
    fn a_file_system_without_room_is_full() {
        let home = tempfile::tempdir().unwrap();
        for (blocks, free_blocks, files, free_files, is_full) in
            [(9, 9, 9, 9, false), (9, 0, 9, 9, true), (9, 9, 9, 0, true), (0, 0, 0, 0, false)]
        {
            let found = StatVfs {
                f_frsize: 1 << 20,
                f_blocks: blocks,
                f_bavail: free_blocks,
                f_files: files,
                f_favail: free_files,
                ..rustix::fs::statvfs(home.path()).unwrap()
            };
            assert_eq!(lacks_room(&found), is_full, "{blocks} {free_blocks} {files} {free_files}");
        }
        assert!(!is_full(Path::new("/nonexistent")));
    }
}
