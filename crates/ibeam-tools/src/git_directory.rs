//! Finds the directories in which git keeps the repository of a root, as far as the repository itself names them.
//!
//! A `.git` file may name any directory. The directory is trusted only if it points back to the root. The directory of
//! a linked work tree does so by its `gitdir` file and its position below the common directory, the directory of a
//! submodule by `core.worktree`. A process that can write those files could write the repository anyway.
//!
//! A command can write everything in the root, so nothing in the root proves anything about a directory outside of it:
//! a git directory in its own work tree leads nowhere else. A directory outside must be a repository, and must not
//! contain the root or the home directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;
use ibeam_policy::read_only_git_entries;

use crate::git_config;

/// Maximum bytes of a small file that names another path.
const MAX_POINTER_BYTES: u64 = 4096;
/// Maximum bytes of a git configuration; a larger one is not read.
pub(crate) const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Maximum number of directories of submodules and work trees.
const MAX_PARTS: usize = 256;

/// The directories of a root's repository.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GitDirectories {
    /// Directories with their own configuration: `.git`, the common directory of a linked work tree, and the
    /// directories of submodules.
    pub(crate) repositories: Vec<PathBuf>,
    /// Directories of linked work trees, which have only `commondir`, `gitdir` and `config.worktree`.
    pub(crate) linked_worktrees: Vec<PathBuf>,
}

impl GitDirectories {
    /// Returns the directories of `root`, without links; empty where there is no repository, or none that can be
    /// trusted. None of them contains `root` or `home`.
    pub(crate) fn find(root: &Path, home: Option<&Path>) -> Self {
        let entry = root.join(".git");
        let mut found = Self::default();
        let Ok(kind) = entry.symlink_metadata().map(|metadata| metadata.file_type()) else { return found };
        if kind.is_dir() {
            found.repositories.push(entry);
        } else if kind.is_file() {
            found.follow_pointer(root, home, &entry);
        } else if kind.is_symlink()
            && let Some(directory) = resolve_directory(root, &entry)
        {
            found.add_inner(root, directory);
        }
        if let Some(common) = found.repositories.first().cloned() {
            add_modules(&common.join("modules"), 0, &mut found.repositories);
            found.linked_worktrees.extend(
                subdirectories(&common.join("worktrees")).filter(|path| path.join("gitdir").exists()),
            );
            found.linked_worktrees.sort();
            found.linked_worktrees.dedup();
        }
        found
    }

    /// Adds a git directory with another name in the work tree itself, such as `.bare`.
    fn add_inner(&mut self, root: &Path, directory: PathBuf) {
        if directory != root && directory.starts_with(root) && is_repository(&directory) {
            self.repositories.push(directory);
        }
    }

    fn follow_pointer(&mut self, root: &Path, home: Option<&Path>, entry: &Path) {
        let Some(directory) =
            read_pointer(entry, b"gitdir: ").and_then(|path| resolve_directory(root, &path))
        else {
            return;
        };
        if directory.starts_with(root) {
            let common = read_pointer(&directory.join("commondir"), b"")
                .and_then(|path| resolve_directory(&directory, &path));
            self.add_inner(root, common.unwrap_or(directory));
            return;
        }
        let is_trusted = |path: &Path| {
            !root.starts_with(path) && !home.is_some_and(|home| home.starts_with(path)) && is_repository(path)
        };
        if !is_owned_by_user(&directory) {
            return;
        }
        let points_back = read_pointer(&directory.join("gitdir"), b"").and_then(|path| {
            let back = directory.join(path);
            Some(back.parent()?.canonicalize().ok()?.join(back.file_name()?))
        });
        if points_back.as_deref() == Some(entry) {
            let common = read_pointer(&directory.join("commondir"), b"")
                .and_then(|path| resolve_directory(&directory, &path));
            if let Some(common) = common
                && directory.parent() == Some(common.join("worktrees").as_path())
                && is_owned_by_user(&common)
                && is_trusted(&common)
            {
                self.repositories.push(common);
                self.linked_worktrees.push(directory);
            }
            return;
        }
        // Each submodule is a repository.
        let config = read_small_file(&directory.join("config"), MAX_CONFIG_BYTES).unwrap_or_default();
        let work_tree = git_config::value(&config, "core.worktree")
            .and_then(|path| resolve_directory(&directory, Path::new(&path)));
        if work_tree.as_deref() == Some(root) && is_trusted(&directory) {
            self.repositories.push(directory);
        }
    }
}

/// Whether `directory` has what git requires of a repository: `HEAD`, `objects` and `refs`.
pub(crate) fn is_repository(directory: &Path) -> bool {
    let is_directory = |name: &str| {
        directory.join(name).symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_dir())
    };
    directory.join("HEAD").symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
        && is_directory("objects")
        && is_directory("refs")
}

/// Returns the git directory that `path` belongs to, if its name is not `.git` and git reads its configuration or hooks
/// from `path`. `path` is absolute and without links.
pub(crate) fn git_directory_configured_by(path: &Path) -> Option<&Path> {
    let is_controlling = |name: &OsStr| {
        let names = read_only_git_entries().iter().chain(&["modules", "worktrees"]);
        names.into_iter().any(|kept| name.as_bytes().eq_ignore_ascii_case(kept.as_bytes()))
    };
    path.ancestors().skip(1).find(|above| {
        let inner = path.strip_prefix(above).ok().and_then(|rest| rest.iter().next());
        inner.is_some_and(is_controlling)
            && (is_repository(above)
                || (above.join("HEAD").is_file() && above.join("commondir").symlink_metadata().is_ok()))
    })
}

/// Returns the content of a regular file of at most `limit` bytes; `None` for anything else. Never waits.
pub(crate) fn read_small_file(file: &Path, limit: u64) -> Option<Vec<u8>> {
    regular_file::read(file, limit).ok()
}

/// Returns the path in a file of one line that begins with `before`.
pub(crate) fn read_pointer(file: &Path, before: &[u8]) -> Option<PathBuf> {
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let content = read_small_file(file, MAX_POINTER_BYTES)?;
    let line = content.strip_prefix(before)?.trim_ascii_end();
    (!line.is_empty() && !line.contains(&0)).then(|| PathBuf::from(OsStr::from_bytes(line)))
}

fn resolve_directory(from: &Path, path: &Path) -> Option<PathBuf> {
    from.join(path).canonicalize().ok().filter(|path| path.is_dir())
}

fn is_owned_by_user(directory: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    directory.metadata().is_ok_and(|metadata| metadata.uid() == own)
}

fn subdirectories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().take(MAX_PARTS).flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Adds the directories of submodules. The name of a submodule may be any path, so its directory may be nested in
/// others.
fn add_modules(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in subdirectories(directory) {
        if found.len() >= MAX_PARTS || depth > 8 {
            return;
        }
        if path.join("HEAD").exists() {
            add_modules(&path.join("modules"), depth + 1, found);
            found.push(path);
        } else {
            add_modules(&path, depth + 1, found);
        }
    }
}
