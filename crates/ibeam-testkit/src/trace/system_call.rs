//! Finds the step with a lasting effect that a system call takes, if there is one.

use std::path::{Path, PathBuf};

use nix::libc;

use super::stopped_thread::StoppedThread;
use super::trace_point::StepKind;

/// The process that makes a call, in relation to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessRole {
    Program,
    /// A process that the program has forked and that runs the same executable.
    ForkedCopy,
    /// A process that runs another executable.
    Other,
}

/// The number and arguments of a system call.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemCall {
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// The directory argument of calls without one.
const WORKING_DIRECTORY: u64 = libc::AT_FDCWD as u64;

impl SystemCall {
    /// Returns the kind and the path of the lasting step; `None` if the call has none. For the program, all steps under
    /// `root` count. For its forked copies, only starts of processes count, and for other processes only starts of
    /// executables.
    pub(super) fn lasting_step(
        self,
        thread: StoppedThread,
        role: ProcessRole,
        root: &Path,
    ) -> Option<(StepKind, PathBuf)> {
        let [a, b, c, d, ..] = self.arguments;
        let inside = |path: Option<PathBuf>| path.filter(|path| path.starts_with(root));
        let with_path = |kind: StepKind, path: Option<PathBuf>| path.map(|path| (kind, path));
        match self.number {
            libc::SYS_fork | libc::SYS_vfork if role != ProcessRole::Other => {
                Some((StepKind::Fork, PathBuf::new()))
            }
            libc::SYS_clone if role != ProcessRole::Other => clone_step(a),
            libc::SYS_clone3 if role != ProcessRole::Other => clone_step(thread.word(a)?),
            // The program's own `execve` is its start.
            libc::SYS_execve if role != ProcessRole::Program => {
                with_path(StepKind::Exec, thread.path(WORKING_DIRECTORY, a))
            }
            libc::SYS_execveat if role != ProcessRole::Program => {
                with_path(StepKind::Exec, thread.path(a, b))
            }
            _ if role != ProcessRole::Program => None,
            libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_writev
            | libc::SYS_pwritev
            | libc::SYS_pwritev2 => with_path(StepKind::Write, inside(thread.descriptor(a))),
            libc::SYS_fsync | libc::SYS_fdatasync => with_path(StepKind::Sync, inside(thread.descriptor(a))),
            libc::SYS_rename => with_path(StepKind::Rename, inside(thread.path(WORKING_DIRECTORY, b))),
            libc::SYS_renameat | libc::SYS_renameat2 => {
                with_path(StepKind::Rename, inside(thread.path(c, d)))
            }
            libc::SYS_link => with_path(StepKind::Link, inside(thread.path(WORKING_DIRECTORY, b))),
            libc::SYS_linkat => with_path(StepKind::Link, inside(thread.path(c, d))),
            libc::SYS_unlink | libc::SYS_rmdir => {
                with_path(StepKind::Remove, inside(thread.path(WORKING_DIRECTORY, a)))
            }
            libc::SYS_unlinkat => with_path(StepKind::Remove, inside(thread.path(a, b))),
            libc::SYS_truncate => with_path(StepKind::Truncate, inside(thread.path(WORKING_DIRECTORY, a))),
            libc::SYS_ftruncate => with_path(StepKind::Truncate, inside(thread.descriptor(a))),
            libc::SYS_mkdir => with_path(StepKind::MakeDirectory, inside(thread.path(WORKING_DIRECTORY, a))),
            libc::SYS_mkdirat => with_path(StepKind::MakeDirectory, inside(thread.path(a, b))),
            libc::SYS_exit_group => Some((StepKind::Exit, PathBuf::new())),
            _ => None,
        }
    }

    /// Whether the call hides the memory and the descriptors of its process from other processes of the user.
    pub(super) fn hides_memory(self) -> bool {
        let [option, value, ..] = self.arguments;
        self.number == libc::SYS_prctl && option == libc::PR_SET_DUMPABLE as u64 && value == 0
    }

    /// Returns the descriptor that the call syncs.
    pub(super) fn synced_descriptor(self) -> Option<u64> {
        let sync = matches!(self.number, libc::SYS_fsync | libc::SYS_fdatasync);
        sync.then_some(self.arguments[0])
    }
}

/// Returns the step of a `clone` with these flags. Without the flag for threads, it creates a process.
fn clone_step(flags: u64) -> Option<(StepKind, PathBuf)> {
    (flags & libc::CLONE_THREAD as u64 == 0).then(|| (StepKind::Fork, PathBuf::new()))
}
