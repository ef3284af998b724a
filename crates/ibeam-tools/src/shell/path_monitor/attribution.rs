//! The author of a change: a command of this run, or something else on this machine.
//!
//! An editor, git of the user or another run may change protected places at any time. Only what a command did is
//! undone. The sandbox records which names its commands touched (`ibeam_sandbox::ChangeRecord`), and what it mounts
//! read-only no command can touch. A change that is in neither, and every change where there is no record, is left
//! alone.

use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ibeam_process::Launcher;
use ibeam_sandbox::{ChangeRecord, FileId};
use rustix::fs::{AtFlags, statat};

use super::snapshot::{SnapshotEntry, parent_of};
use super::watched_directory::WatchedDirectory;
use crate::file_id::file_id;
use crate::shell::recorded_launcher::RecordedLauncher;

/// The author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    Command,
    /// Usually another program: the sandbox saw no command do it.
    Other,
    /// Another program, because no command could.
    Person,
}

/// The source from which the author of a change is known.
#[derive(Clone)]
pub(super) enum Attribution {
    /// By the record of this launcher.
    Recorded(Arc<RecordedLauncher>),
    /// To the commands, whatever it is.
    #[cfg(test)]
    Commands,
    /// To others, whatever it is.
    #[cfg(test)]
    Others,
}

impl Attribution {
    /// Begins to record for a command, if no other one runs.
    pub(super) fn begin_command(&self) {
        match self {
            Self::Recorded(launcher) => launcher.begin_record(),
            #[cfg(test)]
            Self::Commands | Self::Others => {}
        }
    }

    /// Ends the record of a command, after all questions about it.
    pub(super) fn end_command(&self) {
        match self {
            Self::Recorded(launcher) => launcher.end_record(),
            #[cfg(test)]
            Self::Commands | Self::Others => {}
        }
    }

    /// Whether it is known that no command has changed anything.
    pub(super) fn is_unchanged(&self) -> bool {
        match self {
            Self::Recorded(_) => self.record().is_some_and(ChangeRecord::is_empty),
            #[cfg(test)]
            Self::Commands | Self::Others => false,
        }
    }

    /// Whether the changes of commands are known. Otherwise [`Self::author`] never names a command.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Recorded(_) => self.record().is_some(),
            #[cfg(test)]
            Self::Commands | Self::Others => true,
        }
    }

    /// Returns the author of the difference between two states of an entry.
    pub(super) fn author(
        &self,
        watched: &WatchedDirectory<'_>,
        rel_path: &Path,
        entries: [Option<&SnapshotEntry>; 2],
    ) -> Author {
        let ids = entries.into_iter().flatten().flat_map(|entry| [entry.id(), entry.parent]);
        let parents = entries.into_iter().flatten().map(|entry| entry.parent);
        self.decide(watched, rel_path, |record, name| {
            ids.clone().any(|id| record.has_file(id))
                || parents.clone().any(|parent| record.has_name(parent, name))
        })
    }

    /// Returns the author of a directory with more entries than can be watched; `inside` are directories below it.
    pub(super) fn author_of_tree<'a>(
        &self,
        watched: &WatchedDirectory<'_>,
        rel_path: &Path,
        mut inside: impl Iterator<Item = &'a SnapshotEntry>,
    ) -> Author {
        let own = file_id_at(watched.directory, rel_path);
        let parent = file_id_at(watched.directory, parent_of(rel_path));
        self.decide(watched, rel_path, |record, name| {
            own.is_some_and(|own| record.has_directory(own) || record.has_file(own))
                || parent.is_some_and(|parent| record.has_name(parent, name))
                || inside.any(|directory| record.has_directory(directory.id()))
        })
    }

    fn decide(
        &self,
        watched: &WatchedDirectory<'_>,
        rel_path: &Path,
        is_recorded: impl FnOnce(ChangeRecord, &[u8]) -> bool,
    ) -> Author {
        match self {
            Self::Recorded(launcher) => {
                if is_fixed(launcher.launcher(), &watched.path.join(rel_path)) {
                    return Author::Person;
                }
                let Some(record) = self.record() else { return Author::Other };
                let name = rel_path.file_name().unwrap_or_default().as_bytes();
                // A command that renamed a directory brought everything below it.
                let mut above = rel_path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
                let was_moved = above
                    .any(|above| file_id_at(watched.directory, above).is_some_and(|id| record.has_file(id)));
                if was_moved || is_recorded(record, name) { Author::Command } else { Author::Other }
            }
            #[cfg(test)]
            Self::Commands => Author::Command,
            #[cfg(test)]
            Self::Others => Author::Other,
        }
    }

    /// Returns the record, if it has the changes of all commands.
    fn record(&self) -> Option<ChangeRecord> {
        match self {
            Self::Recorded(launcher) => {
                launcher.launcher().change_record().filter(|record| record.is_complete())
            }
            #[cfg(test)]
            Self::Commands | Self::Others => None,
        }
    }
}

fn is_fixed(launcher: &Launcher, path: &Path) -> bool {
    // Mounts are known by their real paths. The entry itself may be a link, which is not what is mounted.
    let real = path
        .parent()
        .zip(path.file_name())
        .and_then(|(above, name)| Some(above.canonicalize().ok()?.join(name)));
    launcher.is_fixed(real.as_deref().unwrap_or(path))
}

/// Returns device and inode of what is at a path now, without following a link there.
fn file_id_at(directory: BorrowedFd<'_>, rel_path: &Path) -> Option<FileId> {
    let path = if rel_path.as_os_str().is_empty() { Path::new(".") } else { rel_path };
    statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|found| file_id(&found))
}
