//! The directories in which git keeps the repository of a root, as far as the repository itself says so.
//!
//! A `.git` file may name any directory; it is believed only when what it names points back: the work tree's own
//! directory by its `gitdir` file and its place below the common one, a submodule's by `core.worktree`. Whoever
//! can write those could write the repository anyway.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::git_config;

/// Bytes of the small files that lead from one place to another.
const POINTER: usize = 4096;
/// Directories of submodules and work trees that are looked at.
const PARTS: usize = 256;

/// Where the repository of a root is.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GitDirectories {
    /// Directories with a configuration of their own: `.git`, the common one of a linked work tree, submodules'.
    pub(crate) whole: Vec<PathBuf>,
    /// Those of linked work trees, which have only `commondir`, `gitdir` and `config.worktree`.
    pub(crate) linked: Vec<PathBuf>,
}

impl GitDirectories {
    /// Those of `root`, without links; empty where there is no repository, or none that is to be believed.
    pub(crate) fn of(root: &Path) -> Self {
        let entry = root.join(".git");
        let mut found = Self::default();
        let Ok(kind) = entry.symlink_metadata().map(|metadata| metadata.file_type()) else { return found };
        if kind.is_dir() {
            found.whole.push(entry);
        } else if kind.is_file() {
            found.follow(root, &entry);
        }
        if let Some(common) = found.whole.first().cloned() {
            modules(&common.join("modules"), 0, &mut found.whole);
            found.linked.extend(below(&common.join("worktrees")).filter(|path| path.join("gitdir").exists()));
            found.linked.sort();
            found.linked.dedup();
        }
        found
    }

    fn follow(&mut self, root: &Path, entry: &Path) {
        let Some(directory) = pointer(entry, b"gitdir: ").and_then(|path| real(root, &path)) else { return };
        if !is_ours(&directory) {
            return;
        }
        let points_back = pointer(&directory.join("gitdir"), b"").and_then(|path| {
            let back = directory.join(path);
            Some(back.parent()?.canonicalize().ok()?.join(back.file_name()?))
        });
        if points_back.as_deref() == Some(entry) {
            let common = pointer(&directory.join("commondir"), b"").and_then(|path| real(&directory, &path));
            if let Some(common) = common
                && directory.parent() == Some(common.join("worktrees").as_path())
                && is_ours(&common)
            {
                self.whole.push(common);
                self.linked.push(directory);
            }
            return;
        }
        // A submodule's is a repository of its own.
        let says = std::fs::read(directory.join("config")).unwrap_or_default();
        let work_tree =
            git_config::value(&says, "core.worktree").and_then(|path| real(&directory, Path::new(&path)));
        if work_tree.as_deref() == Some(root) {
            self.whole.push(directory);
        }
    }
}

/// The path in a file of one line that begins with `before`.
fn pointer(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let metadata = file.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > POINTER as u64 {
        return None;
    }
    let content = std::fs::read(file).ok()?;
    let line = content.strip_prefix(before)?.trim_ascii_end();
    (!line.is_empty() && !line.contains(&0)).then(|| PathBuf::from(OsStr::from_bytes(line)))
}

fn real(from: &Path, path: &Path) -> Option<PathBuf> {
    from.join(path).canonicalize().ok().filter(|path| path.is_dir())
}

fn is_ours(directory: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    directory.metadata().is_ok_and(|metadata| metadata.uid() == own)
}

fn below(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().take(PARTS).flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// A submodule may have any path as its name, so its directory may lie in others.
fn modules(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in below(directory) {
        if found.len() >= PARTS || depth > 8 {
            return;
        }
        if path.join("HEAD").exists() {
            modules(&path.join("modules"), depth + 1, found);
            found.push(path);
        } else {
            modules(&path, depth + 1, found);
        }
    }
}
