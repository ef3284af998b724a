//! From a system call to the step it is, if it is one.

use std::path::{Path, PathBuf};

use nix::libc;

use super::memory::Thread;
use super::trace_point::CallKind;

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The program's.
    Program,
    /// A process's that the program has forked and that runs no other program.
    Copy,
    /// That of a command.
    Other,
}

/// The arguments of a system call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) call: i64,
    pub(super) arguments: [u64; 6],
}

/// The directory argument of calls that have none.
const HERE: u64 = libc::AT_FDCWD as u64;

impl Entry {
    /// The kind of step and its path, if it is one: of the program everything under `root`, of its copies their
    /// children, of anybody else the start of programs alone.
    pub(super) fn step(self, thread: Thread, who: Who, root: &Path) -> Option<(CallKind, PathBuf)> {
        let [a, b, c, d, ..] = self.arguments;
        let inside = |path: Option<PathBuf>| path.filter(|path| path.starts_with(root));
        let of = |call: CallKind, path: Option<PathBuf>| path.map(|path| (call, path));
        match self.call {
            libc::SYS_fork | libc::SYS_vfork if who != Who::Other => Some((CallKind::Fork, PathBuf::new())),
            libc::SYS_clone if who != Who::Other => forks(a),
            libc::SYS_clone3 if who != Who::Other => forks(thread.word(a)?),
            // The program's own is how it came to be.
            libc::SYS_execve if who != Who::Program => of(CallKind::Exec, thread.path(HERE, a)),
            libc::SYS_execveat if who != Who::Program => of(CallKind::Exec, thread.path(a, b)),
            _ if who != Who::Program => None,
            libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_writev
            | libc::SYS_pwritev
            | libc::SYS_pwritev2 => of(CallKind::Write, inside(thread.descriptor(a))),
            libc::SYS_fsync | libc::SYS_fdatasync => of(CallKind::Sync, inside(thread.descriptor(a))),
            libc::SYS_rename => of(CallKind::Rename, inside(thread.path(HERE, b))),
            libc::SYS_renameat | libc::SYS_renameat2 => of(CallKind::Rename, inside(thread.path(c, d))),
            libc::SYS_link => of(CallKind::Link, inside(thread.path(HERE, b))),
            libc::SYS_linkat => of(CallKind::Link, inside(thread.path(c, d))),
            libc::SYS_unlink | libc::SYS_rmdir => of(CallKind::Remove, inside(thread.path(HERE, a))),
            libc::SYS_unlinkat => of(CallKind::Remove, inside(thread.path(a, b))),
            libc::SYS_truncate => of(CallKind::Truncate, inside(thread.path(HERE, a))),
            libc::SYS_ftruncate => of(CallKind::Truncate, inside(thread.descriptor(a))),
            libc::SYS_mkdir => of(CallKind::MakeDirectory, inside(thread.path(HERE, a))),
            libc::SYS_mkdirat => of(CallKind::MakeDirectory, inside(thread.path(a, b))),
            libc::SYS_exit_group => Some((CallKind::Exit, PathBuf::new())),
            _ => None,
        }
    }

    /// The descriptor that is to be synced, if it is that.
    pub(super) fn synced(self) -> Option<u64> {
        let sync = matches!(self.call, libc::SYS_fsync | libc::SYS_fdatasync);
        sync.then_some(self.arguments[0])
    }
}

/// A clone that makes no thread makes a process.
fn forks(flags: u64) -> Option<(CallKind, PathBuf)> {
    (flags & libc::CLONE_THREAD as u64 == 0).then(|| (CallKind::Fork, PathBuf::new()))
}
