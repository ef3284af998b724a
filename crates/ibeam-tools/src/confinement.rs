//! What commands may touch, from what the policy says and what exists.
//!
//! Looks at the disk once, before the first command. Resolves found, so that what is hidden or kept is the place
//! itself and not a name of it. Searches a bounded part for what deny rules cover, and says when that was not all.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ibeam_policy::{Shield, is_kept_at_root, kept_in_git, kept_in_stores};
use ibeam_sandbox::Confinement;

use crate::files::Identities;
use crate::git_config;
use crate::git_directory::{CONFIGURATION, GitDirectories, read_small};
use crate::workspace::Workspace;

/// Entries of directories that are looked at for deny rules.
const SEARCHED: usize = 200_000;
/// Places of one kind that are told to the sandbox: each is a mount.
const PLACES: usize = 4096;
/// Entries of a hidden directory of which a rule opens some.
const SIBLINGS: usize = 4096;
/// Entries of directories that are looked at for the files that may not be read.
const LINKED: usize = 50_000;

/// What commands may touch.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// For the launcher; the caller adds what is no matter of paths.
    pub confinement: Confinement,
    /// Everything that a deny rule covers was found. Otherwise some of it is kept from commands by their analysis
    /// only, and from the file tools as ever.
    pub complete: bool,
}

/// Finds what commands may touch in `workspace`, and makes the directories of `.git` that could not be kept as
/// they are if they were not there.
pub fn survey(workspace: &Workspace, shield: &Shield) -> Survey {
    let mut places = Places {
        shield,
        writable: workspace.directories().map(Path::to_owned).collect(),
        read_only: BTreeSet::new(),
        hidden: BTreeSet::new(),
        complete: true,
    };
    for root in workspace.directories() {
        places.repository(root);
        places.names_at(root);
    }
    for hidden in shield.hidden() {
        // Most of the table is not there, which one call tells.
        if hidden.symlink_metadata().is_ok()
            && let Ok(real) = hidden.canonicalize()
            && !shield.may_read(&hidden)
        {
            places.hide(&hidden, real, 0);
        }
    }
    places.search();
    let Places { writable, read_only, hidden, complete, .. } = places;
    let below_writable = |path: &&PathBuf| writable.iter().any(|root| path.starts_with(root));
    let hides = |path: &&PathBuf| path.ancestors().skip(1).any(|above| hidden.contains(above));
    let confinement = Confinement {
        read_only: read_only.iter().filter(below_writable).cloned().collect(),
        hidden: hidden.iter().filter(|path| !hides(path)).cloned().collect(),
        visible: shield.home().and_then(|home| home.canonicalize().ok()).into_iter().collect(),
        writable: writable.into_iter().collect(),
        ..Confinement::default()
    };
    Survey { confinement, complete }
}

/// Names in a root that commands leave as they are, and that are there.
pub(crate) fn kept_names(root: &Path) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_kept_at_root(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    kept.extend(kept_in_stores().iter().map(|name| root.join(name)).filter(|path| path.exists()));
    kept
}

/// The files that may not be read, by device and inode: of what deny rules cover, and of credentials. Searches a
/// bounded part. How many names they have at this moment says nothing of another.
pub(crate) fn denied_files(shield: &Shield) -> Identities {
    let mut found = Identities::new();
    let mut left = LINKED;
    let searched = shield.search().into_iter().map(|path| (path, false));
    let hidden = shield.hidden().into_iter().filter(|path| !shield.may_read(path));
    let hidden = hidden.filter_map(|path| Some((path.canonicalize().ok()?, true)));
    let mut ahead: Vec<(PathBuf, bool)> = hidden.chain(searched).collect();
    while let Some((path, is_denied)) = ahead.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        let is_denied = is_denied || shield.denies_read(&path);
        if metadata.is_file() && is_denied {
            found.insert((metadata.dev(), metadata.ino()));
        }
        if !metadata.is_dir() || is_of_the_system(&path) {
            continue;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let Some(fewer) = usize::checked_sub(left, 1) else { return found };
            left = fewer;
            let may_matter = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
            if may_matter
                && (is_denied
                    || entry.file_type().is_ok_and(|kind| kind.is_dir())
                    || shield.denies_read(&entry.path()))
            {
                ahead.push((entry.path(), is_denied));
            }
        }
    }
    found
}

struct Places<'a> {
    shield: &'a Shield,
    writable: BTreeSet<PathBuf>,
    read_only: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    complete: bool,
}

impl Places<'_> {
    /// The git directories of a root become writable, but for what makes git run something.
    fn repository(&mut self, root: &Path) {
        let GitDirectories { whole, linked } = GitDirectories::of(root, self.shield.home());
        for directory in whole {
            // What is not there can be made by a command; what is there is kept.
            if directory.join("HEAD").exists() {
                for name in ["hooks", "info"] {
                    let _ = std::fs::create_dir(directory.join(name));
                }
            }
            for name in kept_in_git() {
                self.keep(&directory.join(name));
            }
            let says = read_small(&directory.join("config"), CONFIGURATION).unwrap_or_default();
            if let Some(hooks) = git_config::value(&says, "core.hookspath") {
                self.keep(&root.join(hooks));
            }
            self.writable.insert(directory);
        }
        for directory in linked {
            for name in ["commondir", "gitdir", "config.worktree"] {
                self.keep(&directory.join(name));
            }
        }
        let entry = root.join(".git");
        if entry.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            self.keep(&entry);
        }
    }

    fn names_at(&mut self, root: &Path) {
        for path in kept_names(root) {
            self.keep(&path);
        }
    }

    fn keep(&mut self, path: &Path) {
        if !self.shield.opens(path)
            && let Ok(real) = path.canonicalize()
        {
            self.read_only.insert(real);
        }
    }

    /// Hides `real`, known as `named`, whole; or, where a rule opens a part or a root lies in it, all the rest.
    fn hide(&mut self, named: &Path, real: PathBuf, depth: usize) {
        if self.hidden.len() >= PLACES || depth > 16 {
            self.complete = false;
            return;
        }
        let holds_root = self.writable.iter().any(|root| root.starts_with(&real));
        if !holds_root && !self.shield.opens_below(named) {
            self.hidden.insert(real);
            return;
        }
        if self.writable.contains(&real) || !real.is_dir() {
            return;
        }
        for (count, entry) in std::fs::read_dir(&real).into_iter().flatten().flatten().enumerate() {
            self.complete &= count < SIBLINGS;
            let named = named.join(entry.file_name());
            if !self.shield.may_read(&named)
                && let Ok(real) = entry.path().canonicalize()
            {
                self.hide(&named, real, depth + 1);
            }
        }
    }

    /// What deny rules with wildcards cover.
    fn search(&mut self) {
        let mut ahead: Vec<PathBuf> =
            self.shield.search().into_iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut left = SEARCHED;
        while let Some(directory) = ahead.pop() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Some(fewer) = left.checked_sub(1) else {
                    self.complete = false;
                    return;
                };
                left = fewer;
                let Ok(kind) = entry.file_type() else { continue };
                // What a link leads to is covered by its own name or not at all.
                if kind.is_symlink() || is_of_the_system(&entry.path()) {
                    continue;
                }
                let path = entry.path();
                if self.hidden.contains(&path) {
                    continue;
                }
                if self.shield.denies_read(&path) {
                    self.complete &= self.hidden.len() < PLACES;
                    if self.complete {
                        self.hidden.insert(path);
                    }
                    continue;
                }
                if self.shield.denies_write(&path) {
                    self.complete &= self.read_only.len() < PLACES;
                    if self.complete {
                        self.read_only.insert(path.clone());
                    }
                }
                if kind.is_dir() {
                    ahead.push(path);
                }
            }
        }
    }
}

fn is_of_the_system(path: &Path) -> bool {
    [&b"/proc"[..], b"/sys", b"/dev"].contains(&path.as_os_str().as_bytes())
}

#[cfg(test)]
#[path = "confinement_test.rs"]
mod tests;
