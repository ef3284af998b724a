//! The directory walk that `grep`, `glob` and `ls` share.
//!
//! Level by level, sorted by name, so that a search that ends early always ends at the same entry. For what is skipped
//! see [`crate::dir_walk`].

use std::path::{Path, PathBuf};

use ibeam_protocol::sentence;
use rustix::fs::FileType;

use crate::blocking::EndFlag;
use crate::dir_walk::{DirReader, DirWalk, UnreadDirectories};
use crate::file_error::{FileAction, FileError};
use crate::files::{Files, ReadPolicy, TargetPath};
use crate::ignore_rules::RuleCounts;
use crate::similar_path;
use crate::workspace::Workspace;

/// The place where a search starts.
pub(crate) struct SearchRoot {
    /// Absolute, without links: a directory or a regular file.
    pub(crate) path: PathBuf,
    /// The directory: `path` itself, or the parent of the file.
    pub(crate) directory: PathBuf,
}

impl SearchRoot {
    /// Returns the place to which `target`, the path of a call, leads, if it may be read.
    pub(crate) fn new(files: &Files, path: &str, target: TargetPath) -> Result<Self, FileError> {
        let real = files.check_read(FileAction::Search, path, target)?.real;
        Self::from_path(files.workspace(), path, real).map_err(|error| similar_path::explain(files, error))
    }

    /// Like [`Self::new`]; a file is refused.
    pub(crate) fn for_directory(files: &Files, path: &str, target: TargetPath) -> Result<Self, FileError> {
        Self::new(files, path, target)?.require_directory(path)
    }

    /// Like [`Self::for_directory`], for the directory of a command; policy checks it with the command.
    pub(crate) fn for_command(
        workspace: &Workspace,
        path: &str,
        target: TargetPath,
    ) -> Result<Self, FileError> {
        Self::from_path(workspace, path, target.into_resolved(FileAction::Search, path)?.real)?
            .require_directory(path)
    }

    fn from_path(workspace: &Workspace, requested: &str, path: PathBuf) -> Result<Self, FileError> {
        let stat = workspace
            .stat(&path)
            .map_err(|errno| FileError::for_resolved_path(FileAction::Search, requested, errno))?;
        // A walk and a command use the path, so it must still lead into the held workspace.
        let by_path = rustix::fs::lstat(&path).map(|stat| (stat.st_dev, stat.st_ino));
        if by_path != Ok((stat.st_dev, stat.st_ino)) {
            return Err(FileError::refused(
                requested,
                "is no longer where it was, because the workspace was moved; `read`, `write`, `edit` and `delete` still \
                 reach it",
            ));
        }
        match (FileType::from_raw_mode(stat.st_mode), path.parent()) {
            (FileType::Directory, _) => Ok(Self { directory: path.clone(), path }),
            (FileType::RegularFile, Some(parent)) => Ok(Self { directory: parent.to_owned(), path }),
            (kind, _) => Err(crate::dir_entry::not_regular_error(requested, kind)),
        }
    }

    fn require_directory(self, requested: &str) -> Result<Self, FileError> {
        if self.path != self.directory {
            return Err(FileError::Refused(sentence!(
                "`{path}` is a file, not a directory; name its directory",
                path = requested
            )));
        }
        Ok(self)
    }

    /// Returns `path` relative to the directory.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.directory).unwrap_or(path)
    }
}

/// The end of a walk.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WalkSummary {
    /// Directories and files that could not be read.
    pub(crate) skipped: u64,
    /// The time was up before the end of the tree.
    pub(crate) is_out_of_time: bool,
    /// The limit of entries was reached.
    pub(crate) is_truncated: bool,
    /// The ignore files and rules that apply or are skipped.
    pub(crate) rule_counts: RuleCounts,
    /// The directories that were not read, or read in part.
    pub(crate) unread: UnreadDirectories,
}

impl WalkSummary {
    /// Adds the counts of `reader`.
    pub(crate) fn add(&mut self, reader: DirReader<'_>) {
        self.skipped += reader.skipped;
        self.is_truncated |= reader.is_truncated;
        self.rule_counts = reader.rule_counts;
        self.unread = reader.unread;
    }

    /// Whether a part of the tree was not visited.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_out_of_time || self.is_truncated
    }
}

/// The step after a visited file.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum WalkStep {
    /// The next file.
    Continue,
    /// The next file; this one could not be read.
    Skipped,
    /// The walk ends.
    Stop,
}

/// Calls `visit` for each regular file below `start` that may be read, in order. The walk uses paths, so `visit` has to
/// open files beneath a held directory ([`crate::dir_cache::DirCache`]).
pub(crate) fn walk_files(
    start: &Path,
    read_policy: &ReadPolicy,
    end: &EndFlag,
    visit: impl FnMut(&Path) -> WalkStep,
) -> WalkSummary {
    walk(start, DirReader::new(read_policy, end), end, visit)
}

/// Like [`walk_files`], also for the files that ignore files leave out.
pub(crate) fn walk_ignored_files(
    start: &Path,
    read_policy: &ReadPolicy,
    end: &EndFlag,
    visit: impl FnMut(&Path) -> WalkStep,
) {
    walk(start, DirReader::without_ignore_files(read_policy, end), end, visit);
}

fn walk(
    start: &Path,
    reader: DirReader<'_>,
    end: &EndFlag,
    mut visit: impl FnMut(&Path) -> WalkStep,
) -> WalkSummary {
    let mut outcome = WalkSummary::default();
    if start.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        outcome.skipped += u64::from(visit(start) == WalkStep::Skipped);
        outcome.is_out_of_time = end.is_out_of_time();
        return outcome;
    }
    let mut walk = DirWalk::with_reader(start, reader);
    loop {
        let entry = walk.next();
        if end.is_stopped() {
            break;
        }
        if end.is_out_of_time() {
            outcome.is_out_of_time = true;
            break;
        }
        let Some(entry) = entry else { break };
        if entry.kind.is_file() {
            match visit(&entry.path) {
                WalkStep::Continue => {}
                WalkStep::Skipped => outcome.skipped += 1,
                WalkStep::Stop => return outcome,
            }
        }
    }
    outcome.add(walk.finish());
    outcome
}

/// Returns a note for the model on what was not searched.
pub(crate) fn summary_note(workspace: &Workspace, end: &WalkSummary) -> String {
    let mut note = String::new();
    if end.skipped > 0 {
        note.push_str(&format!("({} paths could not be read and were skipped)\n", end.skipped));
    }
    let cause = match (end.is_out_of_time, end.is_truncated) {
        (true, _) => Some("the time was up before everything was searched"),
        (false, true) => Some("there are too many entries, and not all were searched"),
        (false, false) => None,
    };
    if let Some(cause) = cause {
        let UnreadDirectories { count, first } = &end.unread;
        let names: Vec<String> = first.iter().map(|path| format!("`{}`", workspace.display(path))).collect();
        let unread = match count {
            0 => String::new(),
            _ => format!(": {count} directories were not read, among them {}", names.join(", ")),
        };
        note.push_str(&format!("({cause}{unread}; name a smaller directory)\n"));
    }
    let RuleCounts { skipped_files, skipped_rules, .. } = end.rule_counts;
    if skipped_files > 0 || skipped_rules > 0 {
        note.push_str(&format!(
            "({skipped_files} ignore files and {skipped_rules} rules do not count: not a regular file, too large or too \
             complex)\n"
        ));
    }
    note
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_walk_that_runs_out_of_time_names_unread_directories() {
        let fixture = Fixture::with("first", "");
        ["a/x", "b/x", "b/c/x"].iter().for_each(|file| fixture.put(file, ""));
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        let end = EndFlag::after(Duration::from_millis(500));
        let mut visited = Vec::new();
        let walked = walk_files(&fixture.root(), &ReadPolicy::default(), &end, |path| {
            visited.push(path.to_owned());
            while !end.is_out_of_time() {
                std::thread::sleep(Duration::from_millis(10));
            }
            WalkStep::Continue
        });
        assert_eq!(visited, [fixture.path("first")]);
        let note = summary_note(&workspace, &walked);
        assert_eq!(
            note,
            "(the time was up before everything was searched: 2 directories were not read, among them `a`, `b`; \
             name a smaller directory)\n"
        );
    }

    #[test]
    fn a_file_that_was_not_searched_to_its_end_is_reported() {
        let fixture = Fixture::with("f", "x");
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        let walked =
            walk_files(&fixture.path("f"), &ReadPolicy::default(), &EndFlag::after(Duration::ZERO), |_| {
                WalkStep::Continue
            });
        assert!(walked.is_partial());
        assert!(summary_note(&workspace, &walked).contains("the time was up"));
    }
}
