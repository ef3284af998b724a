//! The part of a policy that the sandbox and the file tools need: hidden paths and read-only paths.
//!
//! Works on paths only, without file access. `ibeam-tools` applies the results to the files that exist.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::glob::PathGlob;
use crate::names;
use crate::policy::Access;
use crate::policy::{Policy, Verdict, read_glob, write_glob};
use crate::protected_paths::names_explicitly;
use crate::rule::Rule;

/// The part of a policy that applies whatever a command does. The default hides nothing and protects nothing.
#[derive(Clone, Debug, Default)]
pub struct PathPolicy(Option<Arc<Policy>>);

impl Policy {
    /// Returns the part of the policy that applies whatever a command does.
    pub fn path_policy(&self) -> PathPolicy {
        PathPolicy(Some(Arc::new(self.clone())))
    }

    /// Whether the file tools may show the file at `path`, which is absolute and resolved.
    pub fn allows_read(&self, path: &Path) -> bool {
        matches!(self.decide_read(path), Verdict::Allow { .. })
    }

    /// Whether an allow rule names the protected path explicitly, and so lifts the protection of `path`. Returns true
    /// for paths that are not protected.
    pub(crate) fn exempts(&self, path: &Path) -> bool {
        let Some(name) = self.protected_name(path) else { return true };
        self.allow.iter().filter_map(write_glob).any(|glob| {
            names_explicitly(glob, name)
                && (glob.allows(path, &self.workspace, &self.home)
                    || glob.may_allow_below(path, &self.workspace, &self.home))
        })
    }
}

impl PathPolicy {
    /// Whether the file tools may show the file at `path`.
    pub fn allows_read(&self, path: &Path) -> bool {
        self.0.as_ref().is_none_or(|policy| policy.allows_read(path))
    }

    /// Whether commands and the helpers of this program must not see the file at `path`, which is absolute and resolved:
    /// a deny rule covers it, or it is a credential that no rule allows by name.
    pub fn hides(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|policy| matches!(policy.decide_read(path), Verdict::Deny { .. }))
    }

    /// Returns the verdict about reading or writing `path`; `None` without a policy.
    pub fn verdict(&self, path: &Path, writes: bool) -> Option<Verdict> {
        let path = path.to_owned();
        let access = if writes { Access::Write(path) } else { Access::Read(path) };
        self.0.as_ref().map(|policy| policy.decide(&access))
    }

    /// Returns the directories in which git would search for a repository when a command runs. Empty if the command
    /// names the repository or cannot be analyzed.
    pub fn git_search_directories(&self, access: &Access) -> Vec<PathBuf> {
        match (&self.0, access) {
            (Some(policy), Access::Command { text, directory }) if text.contains("git") => {
                policy.git_search_directories(text, directory.as_deref())
            }
            (Some(_) | None, _) => Vec::new(),
        }
    }

    pub fn home(&self) -> Option<&Path> {
        self.0.as_ref().map(|policy| policy.home.as_path())
    }

    /// Returns the paths that commands must not read, whether they exist or not: credentials, directories of ibeam, and
    /// paths that a deny rule names without a wildcard.
    pub fn hidden_paths(&self) -> Vec<PathBuf> {
        let mut hidden: Vec<PathBuf> = self.0.iter().flat_map(|policy| hidden_paths(policy)).collect();
        // Compared as bytes, because comparing components takes ten times as long.
        hidden.sort_unstable_by(|one, another| one.as_os_str().cmp(another.as_os_str()));
        hidden.dedup();
        hidden
    }

    /// Whether one of [`Self::hidden_paths`] is `directory`, below it or above it.
    pub fn may_hide_below(&self, directory: &Path) -> bool {
        let directory_bytes = directory.as_os_str().as_encoded_bytes();
        self.0.iter().flat_map(|policy| hidden_paths(policy)).any(|hidden| {
            // Compared as bytes first, because comparing components takes ten times as long.
            let bytes = hidden.as_os_str().as_encoded_bytes();
            (bytes.starts_with(directory_bytes) || directory_bytes.starts_with(bytes))
                && (hidden.starts_with(directory) || directory.starts_with(&hidden))
        })
    }

    /// Whether an allow rule lets the file tools show `hidden`, which is one of [`Self::hidden_paths`].
    pub fn allows_hidden(&self, hidden: &Path) -> bool {
        // A decision about each of several hundred paths takes longer than the rest of a start.
        self.0.as_ref().is_none_or(|policy| {
            policy.allow.iter().any(|rule| read_glob(rule).is_some()) && policy.allows_read(hidden)
        })
    }

    /// Returns the directories of which commands see only the workspace and the additional directories.
    pub fn surrounding_dirs(&self) -> &[PathBuf] {
        self.0.as_ref().map(|policy| policy.surrounding_dirs.as_slice()).unwrap_or_default()
    }

    /// Whether an allow rule may cover something below `hidden`, so that it must not be hidden completely.
    pub fn may_allow_read_below(&self, hidden: &Path) -> bool {
        self.0.as_ref().is_some_and(|policy| {
            policy
                .allow
                .iter()
                .filter_map(read_glob)
                .any(|glob| glob.may_allow_below(hidden, &policy.workspace, &policy.home))
        })
    }

    /// Returns the directories to search for files that deny rules cover. Empty without such rules.
    pub fn search_roots(&self) -> Vec<PathBuf> {
        let Some(policy) = &self.0 else { return Vec::new() };
        let mut directories = Vec::new();
        for glob in policy.deny.iter().filter_map(path_glob) {
            let root = glob.root(&policy.workspace, &policy.home);
            if glob.matches_anywhere() || root.starts_with(&policy.workspace) {
                directories.push(policy.workspace.clone());
                directories.extend(policy.extra_dirs.iter().cloned());
            } else {
                directories.push(root);
            }
        }
        directories.sort();
        directories.dedup();
        directories
    }

    /// Whether there is a deny rule for writing.
    pub fn has_write_denials(&self) -> bool {
        self.0.as_ref().is_some_and(|policy| policy.deny.iter().any(|rule| write_glob(rule).is_some()))
    }

    /// Whether a rule denies writing `path`.
    pub fn denies_write(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|policy| policy.deny_rule(path, write_glob).is_some())
    }

    /// Whether a rule denies reading `path`.
    pub fn denies_read(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|policy| policy.deny_rule(path, read_glob).is_some())
    }

    /// Returns paths in the workspace that are protected because of their use, such as the directory that
    /// `core.hooksPath` names.
    pub fn protected_paths(&self) -> &[PathBuf] {
        self.0.as_ref().map(|policy| policy.protected_paths.as_slice()).unwrap_or_default()
    }

    /// Whether an allow rule that names `name` explicitly lets commands change `path` or something below it.
    pub fn exempts_by_name(&self, path: &Path, name: &str) -> bool {
        self.0.as_ref().is_none_or(|policy| {
            policy.allow.iter().filter_map(write_glob).any(|glob| {
                names_explicitly(glob, name)
                    && (glob.allows(path, &policy.workspace, &policy.home)
                        || glob.may_allow_below(path, &policy.workspace, &policy.home))
            })
        })
    }

    /// Whether there is a deny rule for reading.
    pub fn has_read_denials(&self) -> bool {
        self.0.as_ref().is_some_and(|policy| policy.deny.iter().any(|rule| read_glob(rule).is_some()))
    }

    /// Whether an allow rule that names `name` explicitly covers reading everything below `path`.
    pub fn allows_read_by_name(&self, path: &Path, name: &str) -> bool {
        self.0.as_ref().is_some_and(|policy| {
            policy.allow.iter().filter_map(read_glob).any(|glob| {
                names_explicitly(glob, name) && glob.allows(&path.join("_"), &policy.workspace, &policy.home)
            })
        })
    }

    /// Whether an allow rule that names the protected path explicitly lets commands change `path` or something below
    /// it. Returns true for paths that are not protected.
    pub fn exempts(&self, path: &Path) -> bool {
        self.0.as_ref().is_none_or(|policy| policy.exempts(path))
    }
}

/// Returns the paths of [`PathPolicy::hidden_paths`], in any order.
fn hidden_paths(policy: &Policy) -> impl Iterator<Item = PathBuf> {
    let named = policy.deny.iter().filter_map(read_glob).filter(|glob| glob.is_tree());
    let homes = std::iter::once(&policy.home).chain(&policy.other_home);
    homes
        .flat_map(|home| names::credential_paths(home))
        .chain(policy.private_dirs.iter().cloned())
        .chain(policy.credential_files.iter().cloned())
        .chain(named.map(move |glob| glob.root(&policy.workspace, &policy.home)))
}

/// Returns the pattern of a rule about reading or writing.
fn path_glob(rule: &Rule) -> Option<&PathGlob> {
    read_glob(rule).or_else(|| write_glob(rule))
}
