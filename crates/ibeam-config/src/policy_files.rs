//! The files of a project that set rules or start programs, each read once.
//!
//! A file that cannot be read is an error for the code that needs it, and never counts as unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::{ConfigError, config_file};

/// The paths of the files in a workspace. A workspace is no longer trusted when one of them changes.
pub(crate) const POLICY_FILES: [&str; 11] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursor/cli.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".cursor/worktrees.json",
    ".ibeam/config.toml",
    ".ibeam/hooks.json",
    ".ibeam/mcp.json",
    ".ibeam/worktrees.json",
    ".mcp.json",
];

/// The SHA-256 of each existing file in hexadecimal, by relative path.
pub(crate) type Fingerprints = BTreeMap<String, String>;

/// The policy files of a workspace as they were when the program started.
#[derive(Clone, Debug)]
pub struct PolicyFiles {
    workspace: PathBuf,
    /// The content of each file by relative path; `None` if there is no file.
    files: BTreeMap<&'static str, Result<Option<Vec<u8>>, ConfigError>>,
}

impl PolicyFiles {
    /// Reads all policy files of `workspace`.
    pub fn read(workspace: &Path) -> Self {
        let files = POLICY_FILES.map(|name| (name, config_file::read(&workspace.join(name))));
        Self { workspace: workspace.to_owned(), files: files.into_iter().collect() }
    }

    /// Returns the bytes of the file at `path`; `None` if there is no file.
    ///
    /// # Errors
    /// The error of reading it; `Invalid` for a path that is not a policy file.
    pub fn bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
        match self.read_result(path) {
            Some(read) => read.clone(),
            None => Err(ConfigError::in_file(path, "it is not a policy file of the workspace")),
        }
    }

    /// Whether there is a file at `path`, readable or not.
    pub fn exists(&self, path: &Path) -> bool {
        self.read_result(path).is_some_and(|read| !matches!(read, Ok(None)))
    }

    /// Returns the relative paths of the files that exist, readable or not.
    pub fn existing(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().filter(|(_, read)| !matches!(read, Ok(None))).map(|(name, _)| *name)
    }

    /// Returns a digest of the content on which trust depends; `None` if a file cannot be read.
    pub fn digest(&self) -> Option<String> {
        let lines = self.fingerprints()?.into_iter().map(|(name, hash)| format!("{name} {hash}\n"));
        Some(fingerprint(lines.collect::<String>().as_bytes()))
    }

    /// Returns the result of reading the file at `path`; `None` if the path is not a policy file.
    fn read_result(&self, path: &Path) -> Option<&Result<Option<Vec<u8>>, ConfigError>> {
        self.files.get(path.strip_prefix(&self.workspace).ok()?.to_str()?)
    }

    /// Returns the fingerprints of all files; `None` if a file cannot be read.
    pub(crate) fn fingerprints(&self) -> Option<Fingerprints> {
        let mut fingerprints = Fingerprints::new();
        for (name, read) in &self.files {
            if let Some(bytes) = read.as_ref().ok()?.as_deref().and_then(|bytes| trusted_part(name, bytes)) {
                fingerprints.insert((*name).to_owned(), fingerprint(&bytes));
            }
        }
        Some(fingerprints)
    }

    /// Returns the paths of the files that differ from the `trusted` ones, are new, or are missing.
    pub(crate) fn changed_files(&self, trusted: &Fingerprints) -> Vec<PathBuf> {
        let differs = |(name, read): (&&str, &Result<Option<Vec<u8>>, ConfigError>)| {
            let is_same = match read {
                Ok(bytes) => {
                    let part = bytes.as_deref().and_then(|bytes| trusted_part(name, bytes));
                    part.as_deref().map(fingerprint).as_ref() == trusted.get(*name)
                }
                Err(_) => false,
            };
            (!is_same).then(|| self.workspace.join(name))
        };
        self.files.iter().filter_map(differs).collect()
    }
}

/// The keys of the settings of Claude Code that are used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeSettings<'a> {
    /// The text, in which keys may be repeated.
    #[serde(borrow)]
    hooks: Option<&'a RawValue>,
    #[serde(default)]
    disable_all_hooks: bool,
}

/// Returns the part of a policy file on which trust depends; `None` if there is none.
///
/// Claude Code changes its settings during its work, e.g. when a person approves a command. Only their hooks count here.
fn trusted_part<'a>(name: &str, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    if !name.starts_with(".claude/") {
        return Some(Cow::Borrowed(bytes));
    }
    match serde_json::from_slice(bytes) {
        Ok(ClaudeSettings { hooks, disable_all_hooks }) => {
            hooks.map(|hooks| Cow::Owned(format!("{disable_all_hooks} {}", hooks.get()).into_bytes()))
        }
        // A repeated key is an error too.
        Err(_) => Some(Cow::Borrowed(bytes)),
    }
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Compares the files `first` with the files after the changes `later`.
    #[track_caller]
    fn check(first: &[(&str, &str)], later: &[(&str, Option<&str>)], expect: &[&str]) {
        let home = tempfile::tempdir().unwrap();
        let workspace = home.path();
        for directory in [".claude", ".cursor", ".ibeam"] {
            fs::create_dir(workspace.join(directory)).unwrap();
        }
        for (name, text) in first {
            fs::write(workspace.join(name), text).unwrap();
        }
        let known = PolicyFiles::read(workspace).fingerprints().unwrap();
        for (name, text) in later {
            match text {
                Some(text) => fs::write(workspace.join(name), text).unwrap(),
                None => fs::remove_file(workspace.join(name)).unwrap(),
            }
        }
        let changed = PolicyFiles::read(workspace).changed_files(&known);
        let expect: Vec<PathBuf> = expect.iter().map(|name| workspace.join(name)).collect();
        assert_eq!(changed, expect);
    }

    #[test]
    fn a_file_is_unchanged_if_its_content_is() {
        let (config, hooks) = (".ibeam/config.toml", ".cursor/hooks.json");
        check(&[], &[], &[]);
        check(&[(config, "a")], &[(config, Some("a"))], &[]);
        check(&[(config, "a")], &[(config, Some("b"))], &[config]);
        check(&[(config, "a")], &[(config, None)], &[config]);
        check(&[(config, "a")], &[(hooks, Some("")), (config, Some("b"))], &[hooks, config]);
        check(&[], &[("AGENTS.md", Some("not a policy file"))], &[]);
    }

    #[test]
    fn of_the_settings_of_claude_code_only_the_hooks_count() {
        let claude = ".claude/settings.local.json";
        let compare = |before: &str, after: &str, is_same: bool| {
            let expect: &[&str] = if is_same { &[] } else { &[claude] };
            check(&[(claude, before)], &[(claude, Some(after))], expect);
        };
        compare(r#"{"permissions": {}}"#, r#"{"permissions": {"allow": ["Bash(ls)"]}}"#, true);
        compare(r#"{"hooks": {"Stop": []}}"#, r#"{"model": "x", "hooks": {"Stop": []}}"#, true);
        compare("{}", r#"{"hooks": {}}"#, false);
        compare(r#"{"hooks": {"Stop": []}}"#, r#"{"hooks": {"Stop": [1], "Stop": []}}"#, false);
        compare(r#"{"hooks": {"Stop": []}}"#, r#"{"hooks": [], "hooks": {"Stop": []}}"#, false);
        compare(r#"{"hooks": {}, "disableAllHooks": true}"#, r#"{"hooks": {}}"#, false);
        compare("{}", "{", false);
        // A file that appears without hooks changes nothing.
        check(&[], &[(claude, Some("{}"))], &[]);
    }

    #[test]
    fn a_file_that_cannot_be_read_never_counts_as_unchanged() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".ibeam/config.toml")).unwrap();
        let files = PolicyFiles::read(home.path());
        assert!(files.fingerprints().is_none());
        assert_eq!(files.changed_files(&Fingerprints::new()), [home.path().join(".ibeam/config.toml")]);
        let path = home.path().join(".ibeam/config.toml");
        assert!(files.exists(&path) && files.bytes(&path).is_err());
    }
}
