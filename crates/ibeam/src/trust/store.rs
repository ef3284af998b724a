//! The file of what people trust: one for all runs of a user, for nobody else to read or write.
//!
//! Written as a whole beside the old one and put in its place, under a lock on its directory. Bounded: what was
//! trusted longest ago is forgotten first. A file that is not as we write it trusts nothing, and is left as it is.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::files::Fingerprints;
use crate::{private_file, regular_file};

/// Bytes of the file.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Workspaces, and approved servers, that are remembered.
const MOST: usize = 1000;
/// The format of the file.
const VERSION: u32 = 1;
/// How long another run that writes is waited for.
const LOCKED: Duration = Duration::from_secs(2);
/// Between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(10);

/// What the file holds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustFile {
    version: u32,
    /// By real path.
    #[serde(default)]
    pub(crate) workspaces: BTreeMap<String, TrustedWorkspace>,
    /// The servers whose tools a person approved, by `ApprovedServer::key`.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, ApprovedServer>,
}

/// A trusted workspace.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedWorkspace {
    /// When, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
    /// Its policy files.
    pub(crate) files: Fingerprints,
}

/// The approved tools of an MCP server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovedServer {
    /// When, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
    /// The fingerprint of each tool by its name.
    pub(crate) tools: BTreeMap<String, String>,
}

impl Default for TrustFile {
    fn default() -> Self {
        Self { version: VERSION, workspaces: BTreeMap::new(), servers: BTreeMap::new() }
    }
}

impl TrustFile {
    /// What is remembered of a workspace.
    pub(crate) fn workspace(&self, path: &Path) -> Option<&TrustedWorkspace> {
        self.workspaces.get(path.to_str()?)
    }

    /// The bytes of the file, the oldest entries left out where they are too many.
    fn into_bytes(mut self) -> Result<Vec<u8>, String> {
        loop {
            let mut bytes = serde_json::to_vec_pretty(&self).map_err(|error| error.to_string())?;
            bytes.push(b'\n');
            let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= LARGEST);
            if fits && self.workspaces.len() <= MOST && self.servers.len() <= MOST {
                return Ok(bytes);
            }
            self.forget_oldest().ok_or("it would be too large")?;
        }
    }

    /// Forgets what is oldest; `None` where hardly anything is left.
    fn forget_oldest(&mut self) -> Option<()> {
        if self.workspaces.len() + self.servers.len() < 2 {
            return None;
        }
        let ages = self.workspaces.iter().map(|(path, trusted)| (trusted.at_ms, path.clone()));
        let workspace = ages.min();
        let server = self.servers.iter().map(|(key, pinned)| (pinned.at_ms, key.clone())).min();
        match (workspace, server) {
            (Some(workspace), Some(server)) if server.0 < workspace.0 => drop(self.servers.remove(&server.1)),
            (Some((_, path)), _) => drop(self.workspaces.remove(&path)),
            (None, Some((_, key))) => drop(self.servers.remove(&key)),
            (None, None) => return None,
        }
        Some(())
    }
}

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct TrustStore {
    path: PathBuf,
}

impl TrustStore {
    /// The store at `path`, which need not exist.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds; nothing where there is no file.
    ///
    /// # Errors
    /// Why it is not to be believed, in words.
    pub(crate) fn load(&self) -> Result<TrustFile, String> {
        let bytes = match read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
                return Ok(TrustFile::default());
            }
            Err(error) => return Err(error.to_string()),
        };
        let document: TrustFile = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        match document.version {
            VERSION => Ok(document),
            other => Err(format!("version {other} of this file is not known")),
        }
    }

    /// Remembers a workspace.
    ///
    /// # Errors
    /// Why it cannot be remembered, in words.
    pub(crate) fn trust(&self, workspace: &Path, trusted: TrustedWorkspace) -> Result<(), String> {
        // Two paths that look alike must not be one.
        let path = workspace.to_str().ok_or("the path of the workspace is not UTF-8")?.to_owned();
        self.change(|document| drop(document.workspaces.insert(path, trusted)))
    }

    /// Changes what it holds, one run after the other.
    ///
    /// # Errors
    /// Why it cannot be changed, in words; it is as it was then.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut TrustFile) -> T) -> Result<T, String> {
        let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
        let said = |error: io::Error| error.to_string();
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(said)?;
        let locked = File::open(directory).map_err(said)?;
        lock(&locked)?;
        let mut document = self.load()?;
        let before = document.clone();
        let changed = change(&mut document);
        if document != before {
            private_file::replace(&self.path, &document.into_bytes()?)
                .and_then(|()| locked.sync_all())
                .map_err(said)?;
        }
        Ok(changed)
    }
}

/// Takes the lock; it goes with the descriptor.
fn lock(directory: &File) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCKED => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err("another process holds its lock".to_owned()),
            Err(TryLockError::Error(error)) => return Err(error.to_string()),
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read_whole(path, false, LARGEST, &|found| {
        let us = rustix::process::geteuid();
        if found.uid() != us.as_raw() && !us.is_root() {
            return Err(io::Error::other(format!("it belongs to user {}", found.uid())));
        }
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o777;
            return Err(io::Error::other(format!("it is not for its owner alone (mode {mode:o})")));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn store() -> (tempfile::TempDir, TrustStore) {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path().join("ibeam/trust.json"));
        (home, store)
    }

    fn trusted(at_ms: u64) -> TrustedWorkspace {
        TrustedWorkspace {
            at_ms,
            files: BTreeMap::from([(".ibeam/config.toml".to_owned(), "00".repeat(32))]),
        }
    }

    #[test]
    fn what_is_trusted_is_found_again_and_only_the_owner_may_read_it() {
        let (_home, store) = store();
        assert_eq!(store.load().unwrap(), TrustFile::default());
        store.trust(Path::new("/a"), trusted(1)).unwrap();
        store.trust(Path::new("/b"), trusted(2)).unwrap();
        assert_eq!(fs::metadata(store.path()).unwrap().mode() & 0o777, 0o600);
        let document = store.load().unwrap();
        assert_eq!(document.workspace(Path::new("/a")), Some(&trusted(1)));
        assert_eq!(document.workspace(Path::new("/a/b")), None);
        let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"/\xff");
        assert!(store.trust(Path::new(odd), trusted(3)).is_err());
    }

    #[test]
    fn a_file_that_is_not_as_we_write_it_trusts_nothing_and_is_left_alone() {
        let good = serde_json::to_string(&TrustFile::default()).unwrap();
        for (text, mode) in [
            ("", 0o600),
            ("{\"version\": 1, \"workspaces\": {\"/a\": {}}}", 0o600),
            ("{\"version\": 2}", 0o600),
            (&good[..good.len() - 3], 0o600),
            (good.as_str(), 0o644),
        ] {
            let (_home, store) = store();
            fs::create_dir_all(store.path().parent().unwrap()).unwrap();
            fs::write(store.path(), text).unwrap();
            fs::set_permissions(store.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(store.load().is_err(), "{text}");
            assert!(store.trust(Path::new("/a"), trusted(1)).is_err(), "{text}");
            assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
        }
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut document = TrustFile::default();
        for at_ms in 0..1200 {
            document.workspaces.insert(format!("/{at_ms}"), trusted(at_ms));
        }
        let kept: TrustFile = serde_json::from_slice(&document.into_bytes().unwrap()).unwrap();
        assert_eq!(kept.workspaces.len(), MOST);
        assert!(kept.workspaces.contains_key("/1199") && !kept.workspaces.contains_key("/199"));
    }

    #[test]
    fn runs_at_the_same_time_forget_nothing_of_each_other() {
        let (_home, store) = store();
        thread::scope(|scope| {
            for run in 0..8 {
                let store = store.clone();
                scope.spawn(move || {
                    for number in 0..4 {
                        store.trust(Path::new(&format!("/{run}/{number}")), trusted(run)).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.load().unwrap().workspaces.len(), 32);
    }
}
