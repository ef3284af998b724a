//! Reads small files that another program may have written, replaces files that are for their owner alone, locks files,
//! and chooses the directories in which programs are found.
//!
//! Shared by the configuration, the tools, the hooks and the binary. Knows no permissions of a run.

pub mod file_lock;
pub mod json_with_comments;
pub mod private_file;
pub mod regular_file;
pub mod search_path;

use std::io;

use rustix::io::Errno;

/// Returns what the system has run out of, if that is why `error` occurred: `descriptor`, `memory` or `thread`.
pub fn exhausted_resource(error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some("descriptor"),
        Errno::NOMEM => Some("memory"),
        // No call here blocks and could return this error for another reason: a thread could not be started.
        Errno::AGAIN => Some("thread"),
        _ => None,
    }
}
