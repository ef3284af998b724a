//! The table of protected names and of credential files, with a reason for each.
//!
//! `docs/protected-names.md` shows the same table, and a test compares the two. Names are compared folded (see
//! [`crate::fold`]) on every file system, because some file system would open the same file for both spellings. Uses
//! only names; no file access.

mod credential_variables;
mod credentials;
mod personal_data;
mod protected;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use crate::fold::{fold, is_short_form};

pub use credential_variables::credentials_from_environment;

/// The kind of protection: which accesses are refused, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protection {
    /// Neither file tools nor commands may change it, anywhere in a directory of the workspace.
    ReadOnly,
    /// File tools must not change it. Commands may, except for the parts of it that are `ReadOnly`.
    ReadOnlyForFileTools,
    /// Neither file tools nor commands may read it. The name is relative to the home directory.
    Credential,
    /// Neither file tools nor commands may read it. The name is an absolute path.
    SystemCredential,
}

/// Names that are in the table for the same reason.
#[derive(Debug)]
pub struct NameGroup {
    pub protection: Protection,
    /// The reason: for read-only names what makes them dangerous, for credentials what they contain.
    pub reason: &'static str,
    /// Each entry is one name, several names joined by `/`, or `*` and the end of a name.
    pub names: &'static [&'static str],
}

/// One entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedName {
    /// The name in the form of [`NameGroup::names`].
    pub name: &'static str,
    pub protection: Protection,
    /// The reason, as in [`NameGroup::reason`].
    pub reason: &'static str,
}

/// Returns all groups of the table.
pub fn name_groups() -> impl Iterator<Item = &'static NameGroup> {
    protected::GROUPS.iter().chain(credentials::GROUPS).chain(personal_data::GROUPS)
}

/// Returns all entries of the table.
pub fn entries() -> impl Iterator<Item = ProtectedName> {
    name_groups().flat_map(|group| {
        let entry =
            |name: &&'static str| ProtectedName { name, protection: group.protection, reason: group.reason };
        group.names.iter().map(entry)
    })
}

/// Creates a group of credentials below the home directory.
const fn home_credentials(reason: &'static str, names: &'static [&'static str]) -> NameGroup {
    NameGroup { protection: Protection::Credential, reason, names }
}

/// Creates a group of credentials of the system.
const fn system_credentials(reason: &'static str, names: &'static [&'static str]) -> NameGroup {
    NameGroup { protection: Protection::SystemCredential, reason, names }
}

/// The name of the file that makes a directory a git repository. A directory with this name does not make one.
const HEAD: &str = "HEAD";

/// The read-only names of the table as an index.
struct Index {
    /// Entries of one name, keyed by the folded name.
    single: HashMap<String, ProtectedName>,
    /// Entries of several names, folded and split.
    nested: Vec<(Vec<String>, ProtectedName)>,
    /// Entries that are the end of a name, folded.
    endings: Vec<(String, ProtectedName)>,
    /// First characters of the entries in `single` and `nested`.
    starts: Vec<char>,
}

/// The credentials of the table as an index. Built apart from the other, because many runs need only one of them.
#[derive(Default)]
struct CredentialIndex {
    /// Credentials below the home directory, keyed by their folded path.
    home: HashMap<String, ProtectedName>,
    system: Vec<ProtectedName>,
    /// First characters of the entries in `home`.
    starts: Vec<char>,
    /// Maximum number of names in a path of `home`.
    depth: usize,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index =
        Index { single: HashMap::new(), nested: Vec::new(), endings: Vec::new(), starts: Vec::new() };
    for entry in entries() {
        match entry.protection {
            Protection::ReadOnly | Protection::ReadOnlyForFileTools => {}
            Protection::Credential | Protection::SystemCredential => continue,
        }
        if let Some(ending) = entry.name.strip_prefix('*') {
            index.endings.push((fold(ending), entry));
            continue;
        }
        let parts = folded_parts(entry);
        index.starts.push(start_of(&parts));
        if parts.len() == 1 {
            index.single.insert(parts.concat(), entry);
        } else {
            index.nested.push((parts, entry));
        }
    }
    index.starts.sort_unstable();
    index.starts.dedup();
    index
});

static CREDENTIALS: LazyLock<CredentialIndex> = LazyLock::new(|| {
    let mut index = CredentialIndex::default();
    for entry in entries() {
        match entry.protection {
            Protection::Credential => {
                let parts = folded_parts(entry);
                index.starts.push(start_of(&parts));
                index.depth = index.depth.max(parts.len());
                index.home.insert(parts.join("/"), entry);
            }
            Protection::SystemCredential => index.system.push(entry),
            Protection::ReadOnly | Protection::ReadOnlyForFileTools => {}
        }
    }
    index.starts.sort_unstable();
    index.starts.dedup();
    index
});

fn folded_parts(entry: ProtectedName) -> Vec<String> {
    entry.name.split('/').map(fold).collect()
}

/// Returns the first character of an entry.
fn start_of(parts: &[String]) -> char {
    parts.first().and_then(|part| part.chars().next()).unwrap_or('.')
}

impl Index {
    /// Returns the entry of the single name `name`, in any directory.
    fn find_single(&self, name: &str) -> Option<ProtectedName> {
        let may_end = || {
            let end = name.split(':').next().unwrap_or(name).trim_end_matches(['.', ' ']);
            self.endings.iter().any(|(ending, _)| {
                let start = end.len().checked_sub(ending.len());
                start.and_then(|start| end.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
            })
        };
        if !may_start(name, &self.starts) && !may_end() {
            return None;
        }
        let name = fold(name);
        if let Some(entry) = self.single.get(&name) {
            return Some(*entry);
        }
        let ending = self.endings.iter().find(|(ending, _)| name.ends_with(ending.as_str()));
        if let Some((_, entry)) = ending {
            return Some(*entry);
        }
        if !name.contains('~') {
            return None;
        }
        let short = self.single.iter().find(|(long, _)| is_short_form(&name, long));
        let short_ending = || self.endings.iter().find(|(ending, _)| is_short_ending(&name, ending));
        short.map(|(_, entry)| *entry).or_else(|| short_ending().map(|(_, entry)| *entry))
    }

    /// Returns the entry of several names that `names` begins with, and their number.
    fn find_nested(&self, names: &[&str]) -> Option<(ProtectedName, usize)> {
        let first = names.first()?;
        if !may_start(first, &self.starts) {
            return None;
        }
        let matches_part = |part: &String, name: &&str| {
            let name = fold(name);
            name == *part || is_short_form(&name, part)
        };
        let found = self.nested.iter().find(|(parts, _)| {
            parts.len() <= names.len() && parts.iter().zip(names).all(|(part, name)| matches_part(part, name))
        });
        found.map(|(parts, entry)| (*entry, parts.len()))
    }
}

/// Whether `name` may fold to, or be a short name of, a name that starts with one of `starts`.
fn may_start(name: &str, starts: &[char]) -> bool {
    let begins = |c: char| starts.binary_search(&c.to_ascii_lowercase()).is_ok();
    !name.is_ascii() || name.starts_with(begins) || name.contains('~')
}

/// Whether the folded `name` may be the short name (8.3) of a name with this ending.
fn is_short_ending(name: &str, ending: &str) -> bool {
    let Some((base, extension)) = name.split_once('.') else { return false };
    let short: String = ending.trim_start_matches('.').chars().take(3).collect();
    let has_number = base
        .rsplit_once('~')
        .is_some_and(|(_, number)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    has_number && extension == short
}

/// Returns the first protected name in `path`. The first `workspace_depth` names of the path are those of a workspace
/// directory. An entry of several names does not count within these names, because the user has chosen to work in that
/// directory, such as `~/.config/fish`.
pub(crate) fn first_protected_name(path: &Path, workspace_depth: usize) -> Option<ProtectedName> {
    let names = normal_names(path);
    let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
    (0..names.len()).find_map(|index| {
        let rest = names.get(index..)?;
        let is_last = rest.len() == 1;
        let single = rest.first().and_then(|name| INDEX.find_single(name));
        single.filter(|entry| is_last || entry.name != HEAD).or_else(|| {
            let (entry, count) = INDEX.find_nested(rest)?;
            (index + count > workspace_depth).then_some(entry)
        })
    })
}

/// Returns the entry for `relative`, a path below a directory of the workspace. Entries for parents of the path do not
/// count.
pub fn find_protected_name(relative: &Path) -> Option<ProtectedName> {
    let names = normal_names(relative);
    let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
    let (last, above) = names.split_last()?;
    if let Some(entry) = INDEX.find_single(last) {
        return Some(entry);
    }
    // Few paths contain a name with which an entry begins.
    (0..above.len()).find_map(|index| {
        let rest = names.get(index..)?;
        INDEX.find_nested(rest).filter(|(_, count)| *count == rest.len()).map(|(entry, _)| entry)
    })
}

/// Whether commands must not change the file at this path below a directory of the workspace, nor anything below it.
/// Directories of version control are only partly read-only: see [`read_only_git_entries`] and
/// [`read_only_nested_paths`].
pub fn is_read_only_path(relative: &Path) -> bool {
    let Some(entry) = find_protected_name(relative) else { return false };
    match entry.protection {
        Protection::ReadOnly => true,
        // Another spelling of such a name makes a repository only on some file systems, and there not the repository
        // in use.
        Protection::ReadOnlyForFileTools => {
            entry.name != HEAD && relative.file_name().is_none_or(|name| name != entry.name)
        }
        Protection::Credential | Protection::SystemCredential => false,
    }
}

/// Like [`is_read_only_path`], for one name in a directory of the workspace.
pub fn is_read_only_name(name: &str) -> bool {
    is_read_only_path(Path::new(name))
}

/// Returns the names in a git directory from which git reads programs to run, or the location of such configuration.
pub fn read_only_git_entries() -> &'static [&'static str] {
    &["config", "config.worktree", "commondir", "hooks", "info"]
}

/// Returns the read-only paths of several names, to search below a directory of the workspace.
pub fn read_only_nested_paths() -> &'static [&'static str] {
    static NESTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let nested =
            entries().filter(|entry| entry.protection == Protection::ReadOnly && entry.name.contains('/'));
        nested.map(|entry| entry.name).collect()
    });
    &NESTED
}

/// Returns the paths of the credentials below `home` and of the system, whether they exist or not.
pub fn credential_paths(home: &Path) -> impl Iterator<Item = PathBuf> {
    entries().filter_map(move |entry| match entry.protection {
        Protection::Credential => Some(home.join(entry.name)),
        Protection::SystemCredential => Some(PathBuf::from(entry.name)),
        Protection::ReadOnly | Protection::ReadOnlyForFileTools => None,
    })
}

/// Returns the entry of the credential that `path` is or is below.
pub(crate) fn find_credential(path: &Path, home: &Path) -> Option<ProtectedName> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_in =
        |entry: &&ProtectedName| bytes.starts_with(entry.name.as_bytes()) && path.starts_with(entry.name);
    if let Some(entry) = CREDENTIALS.system.iter().find(is_in) {
        return Some(*entry);
    }
    let relative = path.strip_prefix(home).ok()?;
    let names = normal_names(relative);
    if !names.first().is_some_and(|first| may_start(first, &CREDENTIALS.starts)) {
        return None;
    }
    let mut prefix = String::new();
    names.iter().take(CREDENTIALS.depth).find_map(|name| {
        if !prefix.is_empty() {
            prefix.push('/');
        }
        prefix.push_str(&fold(name));
        CREDENTIALS.home.get(&prefix).copied()
    })
}

/// Returns the names in a path, without `.`, `..` and the root.
fn normal_names(path: &Path) -> Vec<std::borrow::Cow<'_, str>> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    names.collect()
}

#[cfg(test)]
#[path = "names_test.rs"]
mod tests;
