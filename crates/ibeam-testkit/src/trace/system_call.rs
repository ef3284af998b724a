//! The lasting step of a system call, if it has one.

use std::path::{Path, PathBuf};

use nix::libc;

use super::stopped_thread::StoppedThread;
use super::trace_point::CallKind;

/// The process that makes a call, in relation to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessRole {
    /// The program.
    Program,
    /// A process that the program has forked and that runs the same executable.
    ForkedCopy,
    /// A process that runs another executable.
    Other,
}

/// The number and arguments of a system call.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemCall {
    pub(super) call: i64,
    pub(super) arguments: [u64; 6],
}

/// The directory argument of calls without one.
const WORKING_DIRECTORY: u64 = libc::AT_FDCWD as u64;

impl SystemCall {
    /// Returns the kind of the step and its path. For the program these are all steps under `root`, for its forked
    /// copies the start of processes, for other processes only the start of executables.
    pub(super) fn step(
        self,
        thread: StoppedThread,
        role: ProcessRole,
        root: &Path,
    ) -> Option<(CallKind, PathBuf)> {
        let [a, b, c, d, ..] = self.arguments;
        let inside = |path: Option<PathBuf>| path.filter(|path| path.starts_with(root));
        let of = |call: CallKind, path: Option<PathBuf>| path.map(|path| (call, path));
        match self.call {
            libc::SYS_fork | libc::SYS_vfork if role != ProcessRole::Other => {
                Some((CallKind::Fork, PathBuf::new()))
            }
            libc::SYS_clone if role != ProcessRole::Other => forks(a),
            libc::SYS_clone3 if role != ProcessRole::Other => forks(thread.word(a)?),
            // The program's own `execve` is its start.
            libc::SYS_execve if role != ProcessRole::Program => {
                of(CallKind::Exec, thread.path(WORKING_DIRECTORY, a))
            }
            libc::SYS_execveat if role != ProcessRole::Program => of(CallKind::Exec, thread.path(a, b)),
            _ if role != ProcessRole::Program => None,
            libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_writev
            | libc::SYS_pwritev
            | libc::SYS_pwritev2 => of(CallKind::Write, inside(thread.descriptor(a))),
            libc::SYS_fsync | libc::SYS_fdatasync => of(CallKind::Sync, inside(thread.descriptor(a))),
            libc::SYS_rename => of(CallKind::Rename, inside(thread.path(WORKING_DIRECTORY, b))),
            libc::SYS_renameat | libc::SYS_renameat2 => of(CallKind::Rename, inside(thread.path(c, d))),
            libc::SYS_link => of(CallKind::Link, inside(thread.path(WORKING_DIRECTORY, b))),
            libc::SYS_linkat => of(CallKind::Link, inside(thread.path(c, d))),
            libc::SYS_unlink | libc::SYS_rmdir => {
                of(CallKind::Remove, inside(thread.path(WORKING_DIRECTORY, a)))
            }
            libc::SYS_unlinkat => of(CallKind::Remove, inside(thread.path(a, b))),
            libc::SYS_truncate => of(CallKind::Truncate, inside(thread.path(WORKING_DIRECTORY, a))),
            libc::SYS_ftruncate => of(CallKind::Truncate, inside(thread.descriptor(a))),
            libc::SYS_mkdir => of(CallKind::MakeDirectory, inside(thread.path(WORKING_DIRECTORY, a))),
            libc::SYS_mkdirat => of(CallKind::MakeDirectory, inside(thread.path(a, b))),
            libc::SYS_exit_group => Some((CallKind::Exit, PathBuf::new())),
            _ => None,
        }
    }

    /// Returns the descriptor that the call syncs.
    pub(super) fn synced(self) -> Option<u64> {
        let sync = matches!(self.call, libc::SYS_fsync | libc::SYS_fdatasync);
        sync.then_some(self.arguments[0])
    }
}

/// A clone without the thread flag creates a process.
fn forks(flags: u64) -> Option<(CallKind, PathBuf)> {
    (flags & libc::CLONE_THREAD as u64 == 0).then(|| (CallKind::Fork, PathBuf::new()))
}
