//! The files of a project that are read for more than text, each of them once.
//!
//! A file that is not there is none; one that cannot be read is an error for whoever needs it, and never known
//! again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ibeam_protocol::Reason;
use sha2::{Digest, Sha256};

use crate::config::source;

/// Their names in the workspace. A change of one of them takes the trust away.
pub(crate) const POLICY_FILES: [&str; 5] =
    [".cursor/cli.json", ".cursor/hooks.json", ".cursor/mcp.json", ".ibeam/config.toml", ".ibeam/hooks.json"];

/// The SHA-256 of each file that is there, in hexadecimal, by name.
pub(crate) type Fingerprints = BTreeMap<String, String>;

/// The files as they were when the program started.
#[derive(Clone, Debug)]
pub(crate) struct PolicyFiles {
    workspace: PathBuf,
    /// By name.
    files: BTreeMap<&'static str, Result<Option<Vec<u8>>, Reason>>,
}

impl PolicyFiles {
    /// Reads them all.
    pub(crate) fn read(workspace: &Path) -> Self {
        let files = POLICY_FILES.map(|name| (name, source::read(&workspace.join(name))));
        Self { workspace: workspace.to_owned(), files: files.into_iter().collect() }
    }

    /// The bytes of the one at `path`; `None` where there is none.
    ///
    /// # Errors
    /// Why it could not be read.
    pub(crate) fn bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, Reason> {
        match self.at(path) {
            Some(read) => read.clone(),
            None => Err(Reason::Internal { detail: format!("`{}` is no policy file", path.display()) }),
        }
    }

    /// Whether something stands at `path`, readable or not.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        self.at(path).is_some_and(|read| !matches!(read, Ok(None)))
    }

    fn at(&self, path: &Path) -> Option<&Result<Option<Vec<u8>>, Reason>> {
        self.files.get(path.strip_prefix(&self.workspace).ok()?.to_str()?)
    }

    /// What they are known by; `None` when one cannot be read.
    pub(crate) fn fingerprints(&self) -> Option<Fingerprints> {
        let mut known = Fingerprints::new();
        for (name, read) in &self.files {
            if let Some(bytes) = read.as_ref().ok()? {
                known.insert((*name).to_owned(), fingerprint(bytes));
            }
        }
        Some(known)
    }

    /// Those that differ from what was `known`, came since, or are gone.
    pub(crate) fn changed_since(&self, known: &Fingerprints) -> Vec<PathBuf> {
        let differs = |(name, read): (&&str, &Result<Option<Vec<u8>>, Reason>)| {
            let same = match read {
                Ok(bytes) => bytes.as_deref().map(fingerprint).as_ref() == known.get(*name),
                Err(_) => false,
            };
            (!same).then(|| self.workspace.join(name))
        };
        self.files.iter().filter_map(differs).collect()
    }
}

/// The SHA-256 in hexadecimal.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Files at first, files later, and which of them differ.
    #[track_caller]
    fn check(first: &[(&str, &str)], later: &[(&str, Option<&str>)], expect: &[&str]) {
        let home = tempfile::tempdir().unwrap();
        let workspace = home.path();
        for directory in [".cursor", ".ibeam"] {
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
        let changed = PolicyFiles::read(workspace).changed_since(&known);
        let expect: Vec<PathBuf> = expect.iter().map(|name| workspace.join(name)).collect();
        assert_eq!(changed, expect);
    }

    #[test]
    fn content_is_what_a_file_is_known_by() {
        let (config, hooks) = (".ibeam/config.toml", ".cursor/hooks.json");
        check(&[], &[], &[]);
        check(&[(config, "a")], &[(config, Some("a"))], &[]);
        check(&[(config, "a")], &[(config, Some("b"))], &[config]);
        check(&[(config, "a")], &[(config, None)], &[config]);
        check(&[(config, "a")], &[(hooks, Some("")), (config, Some("b"))], &[hooks, config]);
        check(&[], &[("AGENTS.md", Some("text is no policy"))], &[]);
    }

    #[test]
    fn what_cannot_be_read_is_never_known() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".ibeam/config.toml")).unwrap();
        let files = PolicyFiles::read(home.path());
        assert!(files.fingerprints().is_none());
        assert_eq!(files.changed_since(&Fingerprints::new()), [home.path().join(".ibeam/config.toml")]);
        let path = home.path().join(".ibeam/config.toml");
        assert!(files.is_there(&path) && files.bytes(&path).is_err());
    }
}
