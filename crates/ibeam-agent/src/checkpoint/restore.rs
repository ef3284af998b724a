//! Undo: restores the files that a session changed, and shows what it changed.
//!
//! Only files that the session changed are restored. A file that somebody else changed since is a conflict. Links among
//! the parent directories are not followed. The index and the branches of the repository stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ibeam_protocol::{Checkpoint, CheckpointMoment, SessionId};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::file_snapshot::{IgnoredFiles, Snapshot};
use super::objects::{FileMode, ObjectReader, TreeChanges, TreeFile};
use super::repository::{CheckpointError, GitSetup, Repository, line, paths};
use super::session_changes::SessionChanges;

/// The name of the files with ignore rules.
const IGNORE_FILE: &str = ".gitignore";
/// The permissions of restored files and directories before the umask.
const FILE_MODE: u32 = 0o666;
const EXECUTABLE_MODE: u32 = 0o777;

/// The beginning of the names of files that an undo writes and renames. A killed undo leaves at most one.
const TEMPORARY_PREFIX: &str = ".ibeam-undo-";

/// The effect of an undo on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoAction {
    /// Writes its old content.
    Restore,
    /// Removes it: it did not exist.
    Remove,
    /// Leaves it alone: it was ignored, or too large to be saved.
    Keep,
}

/// The effect of an undo on the files of the workspace.
pub struct UndoPlan {
    /// The files, relative to the work tree, with the state to restore.
    files: BTreeMap<PathBuf, (UndoAction, Option<TreeFile>)>,
    /// The files that somebody else changed since.
    pub conflicts: BTreeSet<PathBuf>,
    /// The files now.
    current: Snapshot,
}

impl UndoPlan {
    /// Returns the files, relative to the work tree, with what happens to each.
    pub fn actions(&self) -> impl Iterator<Item = (&Path, UndoAction)> {
        self.files.iter().map(|(path, (action, _))| (path.as_path(), *action))
    }

    /// Whether no file has to be changed.
    pub fn changes_nothing(&self) -> bool {
        self.files.values().all(|(action, _)| *action == UndoAction::Keep)
    }
}

impl Repository {
    /// Determines what an undo of all changes from position `first` on does.
    ///
    /// # Errors
    /// The errors of a snapshot; `Damaged`.
    pub async fn plan_undo(
        &self,
        session: &SessionChanges,
        first: usize,
    ) -> Result<UndoPlan, CheckpointError> {
        let current = self.snapshot(IgnoredFiles::Keep).await?;
        let mut reader = ObjectReader::start(self)?;
        let undone = session.changes.get(first..).unwrap_or_default();
        let Some(oldest) = undone.first() else {
            return Ok(UndoPlan { files: BTreeMap::new(), conflicts: BTreeSet::new(), current });
        };
        let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
        // The files with changes of somebody else: now, and at the beginning of each change.
        let mut foreign: BTreeSet<PathBuf> = BTreeSet::new();
        let mut foreign_before: Vec<BTreeSet<PathBuf>> = Vec::new();
        let restored = session.restored().into_iter().skip(first);
        for (index, (change, restored)) in undone.iter().zip(restored).enumerate() {
            foreign_before.push(foreign.clone());
            let start = reader.tree_of(&change.start).await?;
            let next = match undone.get(index + 1) {
                Some(next) => reader.tree_of(&next.start).await?,
                None => current.tree.clone(),
            };
            match &change.end {
                Some(end) => {
                    let end = reader.tree_of(end).await?;
                    let paths = reader.changes(&start, &end).await?.into_keys();
                    let restored =
                        restored.and_then(|position| foreign_before.get(position.checked_sub(first)?));
                    for path in paths {
                        // A restored file has the changes of somebody else that it had there.
                        if let Some(restored) = restored {
                            match restored.contains(&path) {
                                true => foreign.insert(path.clone()),
                                false => foreign.remove(&path),
                            };
                        }
                        changed.insert(path);
                    }
                    foreign.extend(reader.changes(&end, &next).await?.into_keys());
                }
                // A run that was killed: whatever changed since may be its change or that of somebody else. Of an undo that
                // was interrupted, it is known what it restored.
                None => {
                    let found =
                        restored.and_then(|position| Some((position, session.changes.get(position)?)));
                    let unrestored = match found {
                        Some((_, found)) => {
                            let wanted = reader.tree_of(&found.start).await?;
                            Some(reader.changes(&next, &wanted).await?)
                        }
                        None => None,
                    };
                    let before =
                        found.and_then(|(position, _)| foreign_before.get(position.checked_sub(first)?));
                    for path in reader.changes(&start, &next).await?.into_keys() {
                        let is_own = unrestored
                            .as_ref()
                            .is_some_and(|unrestored| !unrestored.contains_key(&path) || is_temporary(&path));
                        match (is_own, before.map(|before| before.contains(&path))) {
                            (false, _) | (true, Some(true)) => drop(foreign.insert(path.clone())),
                            (true, Some(false)) => drop(foreign.remove(&path)),
                            (true, None) => {}
                        }
                        changed.insert(path);
                    }
                }
            }
        }
        let target = reader.tree_of(&oldest.start).await?;
        let wanted = reader.changes(&current.tree, &target).await?;
        // A file that is hidden since was saved before.
        let is_hidden = |path: &Path| {
            let found = path.symlink_metadata();
            self.is_excluded(path) || found.is_ok_and(|found| self.is_hidden_by_another_name(&found))
        };
        let is_restored = |path: &PathBuf| changed.contains(path) && !is_hidden(&self.top.join(path));
        let wanted: TreeChanges = wanted.into_iter().filter(|(path, _)| is_restored(path)).collect();
        let removed =
            wanted.iter().filter(|(_, (_, wanted))| wanted.is_none()).map(|(path, _)| path.as_path());
        let removed: Vec<&Path> = removed.collect();
        // What an undo created did not exist before.
        let ignored = match oldest.is_turn() {
            true => self.ignored_by(&mut reader, &target, &removed).await?,
            false => BTreeSet::new(),
        };
        let conflicts = wanted.keys().filter(|path| foreign.contains(*path)).cloned().collect();
        let files = wanted.into_iter().map(|(path, (_, wanted))| {
            let action = match &wanted {
                Some(_) => UndoAction::Restore,
                None if ignored.contains(&path) => UndoAction::Keep,
                None if oldest.left_out.contains(&*path.to_string_lossy()) => UndoAction::Keep,
                None => UndoAction::Remove,
            };
            (path, (action, wanted))
        });
        Ok(UndoPlan { files: files.collect(), conflicts, current })
    }

    /// Returns those of `paths` that the ignore rules of `tree` ignore.
    async fn ignored_by(
        &self,
        reader: &mut ObjectReader,
        tree: &str,
        candidates: &[&Path],
    ) -> Result<BTreeSet<PathBuf>, CheckpointError> {
        if candidates.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rules = TemporaryDirectory::new(&self.index())?;
        for (path, file) in reader.files_named(tree, Path::new(IGNORE_FILE)).await? {
            if file.mode == FileMode::Link {
                continue;
            }
            let copy = rules.0.join(&path);
            let directory = copy.parent().unwrap_or(&rules.0);
            fs::create_dir_all(directory).map_err(CheckpointError::io(directory))?;
            fs::write(&copy, reader.file(&file).await?).map_err(CheckpointError::io(&copy))?;
        }
        let arguments = ["check-ignore", "--no-index", "-z", "--stdin"];
        let mut command = self.command(GitSetup::Own(None), arguments)?;
        command.current_dir(&rules.0).env("GIT_WORK_TREE", &rules.0).env_remove("GIT_LITERAL_PATHSPECS");
        let input: Vec<u8> =
            candidates.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        // Without an ignored path the exit code is 1, and there is no message.
        let output = super::repository::run_command(&command, &input).await;
        match output {
            Ok(output) => Ok(paths(&output).map(Path::to_owned).collect()),
            Err(detail) if detail == "exit status: 1" => Ok(BTreeSet::new()),
            Err(detail) => Err(CheckpointError::Git { command: "check-ignore".to_owned(), detail }),
        }
    }

    /// Returns the checkpoint of the files before an undo with this plan.
    ///
    /// # Errors
    /// `NoGit`, `Git`.
    pub async fn save_before_undo(
        &self,
        plan: &UndoPlan,
        session: SessionId,
        turn: Option<u32>,
        unix_ms: u64,
    ) -> Result<Checkpoint, CheckpointError> {
        let moment = CheckpointMoment::UndoStart { turn };
        let (commit, _) = self.save(&plan.current.tree, session, moment, unix_ms)?;
        Ok(Checkpoint { moment, commit, left_out: plan.current.left_out.clone() })
    }

    /// Returns the checkpoint of the files after an undo.
    ///
    /// # Errors
    /// The errors of a snapshot.
    pub async fn save_after_undo(
        &self,
        session: SessionId,
        unix_ms: u64,
    ) -> Result<Checkpoint, CheckpointError> {
        let moment = CheckpointMoment::UndoEnd;
        let Snapshot { tree, left_out } = self.snapshot(IgnoredFiles::Keep).await?;
        let (commit, _) = self.save(&tree, session, moment, unix_ms)?;
        Ok(Checkpoint { moment, commit, left_out })
    }

    /// Restores the files of the plan. Each file has its old or its new content at any time.
    ///
    /// # Errors
    /// `Damaged` before any file is changed; `Io` for the first file that could not be restored, after all others.
    pub async fn restore(&self, plan: &UndoPlan) -> Result<(), CheckpointError> {
        let mut reader = ObjectReader::start(self)?;
        // All objects are checked first.
        for (_, wanted) in plan.files.values() {
            if let Some(file) = wanted {
                reader.file(file).await?;
            }
        }
        let mut first_error = None;
        let mut note = |path: &Path, done: io::Result<()>| {
            if let Err(error) = done {
                first_error.get_or_insert_with(|| CheckpointError::io(path)(error));
            }
        };
        for (path, (action, _)) in plan.files.iter().rev() {
            if *action == UndoAction::Remove {
                note(path, remove(&self.top, path));
            }
        }
        for (path, (_, wanted)) in &plan.files {
            if let Some(file) = wanted {
                let content = reader.file(file).await?;
                note(path, write(&self.top, path, file.mode, &content));
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Returns a unified diff, or a summary with `stat`, of the changes of a session: of all, or of that at one position.
    ///
    /// # Errors
    /// The errors of a snapshot; `Damaged`.
    pub async fn diff(
        &self,
        session: &SessionChanges,
        only: Option<usize>,
        stat: bool,
    ) -> Result<Vec<u8>, CheckpointError> {
        let range = only.map_or(0..session.changes.len(), |index| index..index + 1);
        let changes = session.changes.get(range.clone()).unwrap_or_default();
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(Vec::new()) };
        let mut reader = ObjectReader::start(self)?;
        let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
        let mut end = String::new();
        for (index, change) in range.zip(changes) {
            let start = reader.tree_of(&change.start).await?;
            end = match (&change.end, session.changes.get(index + 1)) {
                (Some(end), _) => reader.tree_of(end).await?,
                (None, Some(next)) => reader.tree_of(&next.start).await?,
                (None, None) => self.snapshot(IgnoredFiles::Keep).await?.tree,
            };
            changed.extend(reader.changes(&start, &end).await?.into_keys());
        }
        let start = reader.tree_of(&first.start).await?;
        let net = reader.changes(&start, &end).await?;
        let is_whole = net.keys().all(|path| changed.contains(path));
        let start = match is_whole || std::ptr::eq(first, last) {
            true => start,
            // Without what somebody else changed between two turns.
            false => self.tree_with(&end, &net, &changed).await?,
        };
        let form: &[&str] = if stat { &["--stat", "--summary"] } else { &["-p", "--full-index", "--binary"] };
        let arguments = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color"];
        let arguments = arguments.iter().chain(form).copied().chain([start.as_str(), end.as_str()]);
        self.run(GitSetup::Own(None), arguments, b"").await
    }

    /// Returns the tree `end` with the old state of those files of `net` that are in `changed`.
    async fn tree_with(
        &self,
        end: &str,
        net: &TreeChanges,
        changed: &BTreeSet<PathBuf>,
    ) -> Result<String, CheckpointError> {
        let directory = TemporaryDirectory::new(&self.index())?;
        let index = directory.0.join("index");
        let own = GitSetup::Own(Some(&index));
        self.run(own, ["read-tree", end], b"").await?;
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (path, (old, _)) in net.iter().filter(|(path, _)| changed.contains(*path)) {
            let (mode, hash, list) = match old {
                Some(TreeFile { mode, hash }) => (mode.digits(), hash.clone(), &mut added),
                None => ("0", "0".repeat(end.len()), &mut removed),
            };
            list.extend_from_slice(format!("{mode} {hash}\t").as_bytes());
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
        }
        // A file takes the place of a directory only when the directory is gone.
        let input = [removed, added].concat();
        self.run(own, ["update-index", "-z", "--index-info"], &input).await?;
        Ok(line(&self.run(own, ["write-tree"], b"").await?))
    }
}

/// A temporary directory in the directory of this program's index. It is deleted when the value is dropped.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn new(index: &Path) -> Result<Self, CheckpointError> {
        let path = index.with_file_name(format!("temporary.{}", SessionId::random()));
        fs::create_dir(&path).map_err(CheckpointError::io(&path))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether an undo wrote the file to rename it.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let id = name.and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
    id.is_some_and(|id| id.parse::<SessionId>().is_ok())
}

/// Opens the parent directory of `path` below `top` without following links. Creates missing directories with `create`.
pub(super) fn open_parent(top: &Path, path: &Path, create: bool) -> io::Result<(OwnedFd, OsString)> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = open(top, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    for part in path.parent().into_iter().flat_map(Path::iter) {
        if create {
            match mkdirat(&directory, part, Mode::from_raw_mode(EXECUTABLE_MODE)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        directory = openat(&directory, part, flags, Mode::empty())?;
    }
    Ok((directory, name))
}

/// Removes a file, and the directories that it leaves empty.
fn remove(top: &Path, path: &Path) -> io::Result<()> {
    let (directory, name) = match open_parent(top, path, false) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match unlinkat(&directory, &name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
        let (directory, name) = open_parent(top, parent, false)?;
        if unlinkat(&directory, &name, AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}

/// Replaces a file through a temporary file in the same directory. An existing file keeps its permissions, except for the
/// executable bits.
fn write(top: &Path, path: &Path, mode: FileMode, content: &[u8]) -> io::Result<()> {
    let (directory, name) = open_parent(top, path, true)?;
    let temporary = format!("{TEMPORARY_PREFIX}{}", SessionId::random());
    let done = (|| {
        if mode == FileMode::Link {
            symlinkat(OsStr::from_bytes(content), &directory, &temporary)?;
        } else {
            let is_executable = mode == FileMode::Executable;
            let permissions = existing_permissions(&directory, &name).map(|kept| match is_executable {
                true => kept | ((kept & 0o444) >> 2) | 0o100,
                false => kept & !0o111,
            });
            let default = if is_executable { EXECUTABLE_MODE } else { FILE_MODE };
            let created = Mode::from_raw_mode(permissions.unwrap_or(default) & 0o777);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(&directory, &temporary, flags, created)?);
            file.write_all(content)?;
            if let Some(permissions) = permissions {
                file.set_permissions(fs::Permissions::from_mode(permissions))?;
            }
            file.sync_all()?;
        }
        remove_empty_directories(&directory, &name);
        renameat(&directory, &temporary, &directory, &name)?;
        Ok(())
    })();
    if done.is_err() {
        let _ = unlinkat(&directory, &temporary, AtFlags::empty());
    }
    done
}

/// Removes a directory that contains no files, which would block a restored file of its name. Anything else stays.
fn remove_empty_directories(parent: &OwnedFd, name: &OsStr) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(directory) = openat(parent, name, flags, Mode::empty()) else { return };
    let inner = rustix::fs::Dir::read_from(&directory).into_iter().flatten().flatten();
    for entry in inner {
        let inner = OsStr::from_bytes(entry.file_name().to_bytes());
        if inner != "." && inner != ".." {
            remove_empty_directories(&directory, inner);
        }
    }
    // A directory with a file in it stays.
    let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
}

/// Returns the permissions of an existing regular file.
fn existing_permissions(directory: &OwnedFd, name: &OsStr) -> Option<u32> {
    let file =
        openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(file).ok()?;
    rustix::fs::FileType::from_raw_mode(found.st_mode).is_file().then_some(found.st_mode & 0o7777)
}

#[cfg(test)]
#[path = "restore_test.rs"]
pub(super) mod tests;
