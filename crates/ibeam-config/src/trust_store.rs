//! The store of trusted workspaces and approved MCP servers: one file for all runs of a user.
//!
//! Only the owner may read it. It is replaced as a whole under a lock on its directory. It is bounded: the oldest
//! entries are removed first. A file that this program could not have written trusts nothing and is not changed.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_files::{file_lock, private_file, regular_file};
use ibeam_protocol::json_fault;
use serde::{Deserialize, Serialize};

use crate::policy_files::Fingerprints;
use crate::trust::now_ms;

/// The size limit of the file in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The number of workspaces, and of approved servers, that are stored.
const MAX_ENTRIES: usize = 1000;
/// The version of the file format.
const VERSION: u32 = 1;
/// The maximum wait for another run that writes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The failure of a change while another process holds the lock.
const LOCKED: &str = "another process holds its lock";
/// The pause between two attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TrustFile {
    version: u32,
    /// The trusted workspaces by real path.
    #[serde(default)]
    pub workspaces: BTreeMap<String, TrustedWorkspace>,
    /// The servers whose tools the user approved: by name for a server of the user, by workspace and name, separated by
    /// NUL, for a server of a project.
    #[serde(default)]
    pub servers: BTreeMap<String, ApprovedServer>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedWorkspace {
    /// When it was stored, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The fingerprints of its policy files.
    pub files: Fingerprints,
}

/// The approved tools of an MCP server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedServer {
    /// When it was stored, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The fingerprint of each tool by name.
    pub tools: BTreeMap<String, String>,
}

/// An MCP server and the tools that it offers now.
#[derive(Clone, Debug)]
pub struct ServerTools<'a> {
    pub name: &'a str,
    /// The workspace whose file declares the server; `None` for a server of the user.
    pub project: Option<&'a Path>,
    /// The name and the fingerprint of each tool.
    pub tools: Vec<(String, String)>,
}

impl ServerTools<'_> {
    /// Returns the key in the file; `None` if the path of the workspace is not UTF-8.
    fn key(&self) -> Option<String> {
        Some(match self.project {
            None => self.name.to_owned(),
            // Neither the name of a server nor a path contains a NUL.
            Some(workspace) => format!("{}\0{}", workspace.to_str()?, self.name),
        })
    }
}

impl Default for TrustFile {
    fn default() -> Self {
        Self { version: VERSION, workspaces: BTreeMap::new(), servers: BTreeMap::new() }
    }
}

impl TrustFile {
    /// Returns what is stored about a workspace.
    pub fn workspace(&self, path: &Path) -> Option<&TrustedWorkspace> {
        self.workspaces.get(path.to_str()?)
    }

    /// Returns the names of the tools of `server` that differ from the approved ones. Empty for a server that was never
    /// approved.
    pub fn changed_tools(&self, server: &ServerTools<'_>) -> Vec<String> {
        let approved = server.key().and_then(|key| self.servers.get(&key));
        let Some(approved) = approved else { return Vec::new() };
        let is_changed =
            |tool: &&(String, String)| approved.tools.get(&tool.0).is_none_or(|known| *known != tool.1);
        server.tools.iter().filter(is_changed).map(|(name, _)| name.clone()).collect()
    }

    /// Returns the bytes of the file, without the oldest entries if there are too many.
    fn into_bytes(mut self) -> Result<Vec<u8>, String> {
        loop {
            let mut bytes = serde_json::to_vec_pretty(&self).map_err(|error| error.to_string())?;
            bytes.push(b'\n');
            let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES);
            if fits && self.workspaces.len() <= MAX_ENTRIES && self.servers.len() <= MAX_ENTRIES {
                return Ok(bytes);
            }
            self.remove_oldest().ok_or("it would be too large")?;
        }
    }

    /// Removes the oldest entry; `None` if fewer than two are left.
    fn remove_oldest(&mut self) -> Option<()> {
        if self.workspaces.len() + self.servers.len() < 2 {
            return None;
        }
        let ages = self.workspaces.iter().map(|(path, trusted)| (trusted.at_ms, path.clone()));
        let workspace = ages.min();
        let server = self.servers.iter().map(|(key, approved)| (approved.at_ms, key.clone())).min();
        match (workspace, server) {
            (Some(workspace), Some(server)) if server.0 < workspace.0 => drop(self.servers.remove(&server.1)),
            (Some((_, path)), _) => drop(self.workspaces.remove(&path)),
            (None, Some((_, key))) => drop(self.servers.remove(&key)),
            (None, None) => return None,
        }
        Some(())
    }
}

/// The store of trusted workspaces and approved servers.
#[derive(Clone, Debug)]
pub struct TrustStore {
    path: PathBuf,
}

impl TrustStore {
    /// Returns the store in the file at `path`, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; a missing file is empty.
    ///
    /// # Errors
    /// The message why it cannot be used.
    pub fn load(&self) -> Result<TrustFile, String> {
        let bytes = match read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
                return Ok(TrustFile::default());
            }
            Err(error) => return Err(error.to_string()),
        };
        let document: TrustFile =
            serde_json::from_slice(&bytes).map_err(|error| json_fault(&error).to_string())?;
        match document.version {
            VERSION => Ok(document),
            other => Err(format!("version {other} of this file is not known")),
        }
    }

    /// Stores a workspace.
    ///
    /// # Errors
    /// The message why it cannot be stored.
    pub fn trust(&self, workspace: &Path, trusted: TrustedWorkspace) -> Result<(), String> {
        // A lossy conversion could make two different paths equal.
        let path = workspace.to_str().ok_or("the path of the workspace is not UTF-8")?.to_owned();
        self.change(|document| drop(document.workspaces.insert(path, trusted)))
    }

    /// Stores the tools of `servers` as approved.
    ///
    /// # Errors
    /// The message why they cannot be stored.
    pub fn approve_tools<'a>(
        &self,
        servers: impl IntoIterator<Item = ServerTools<'a>>,
    ) -> Result<(), String> {
        let approved = servers.into_iter().filter_map(|server| {
            let tools = server.tools.iter().cloned().collect();
            Some((server.key()?, ApprovedServer { at_ms: now_ms(), tools }))
        });
        let approved: BTreeMap<String, ApprovedServer> = approved.collect();
        self.change(|document| {
            for (key, server) in approved {
                let is_same = document.servers.get(&key).is_some_and(|stored| stored.tools == server.tools);
                if !is_same {
                    document.servers.insert(key, server);
                }
            }
        })
    }

    /// Changes the content under the lock.
    ///
    /// # Errors
    /// The message why it cannot be changed; the file is then as before.
    pub fn change<T>(&self, change: impl FnOnce(&mut TrustFile) -> T) -> Result<T, String> {
        let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
        let message = |error: io::Error| error.to_string();
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(message)?;
        let locked = File::open(directory).map_err(message)?;
        lock(&locked)?;
        let mut document = self.load()?;
        let before = document.clone();
        let changed = change(&mut document);
        if document != before {
            private_file::replace(&self.path, &document.into_bytes()?)
                .and_then(|()| locked.sync_all())
                .map_err(message)?;
        }
        Ok(changed)
    }
}

/// Takes the lock, which closing the descriptor releases.
fn lock(directory: &File) -> Result<(), String> {
    let started = Instant::now();
    loop {
        match file_lock::try_lock(directory) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIMEOUT => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(LOCKED.to_owned()),
            Err(TryLockError::Error(error)) => return Err(error.to_string()),
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read_stable(path, false, MAX_BYTES, &|found| {
        let own_id = rustix::process::geteuid();
        if found.uid() != own_id.as_raw() && !own_id.is_root() {
            return Err(io::Error::other(format!("it belongs to user {}", found.uid())));
        }
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o777;
            return Err(io::Error::other(format!("other users may read or write it (mode {mode:o})")));
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
    fn a_trusted_workspace_is_found_again_and_only_the_owner_may_read_the_file() {
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
    fn a_file_that_this_program_could_not_have_written_trusts_nothing_and_is_not_changed() {
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
    fn the_oldest_entries_are_removed_first() {
        let mut document = TrustFile::default();
        for at_ms in 0..1200 {
            document.workspaces.insert(format!("/{at_ms}"), trusted(at_ms));
        }
        let kept: TrustFile = serde_json::from_slice(&document.into_bytes().unwrap()).unwrap();
        assert_eq!(kept.workspaces.len(), MAX_ENTRIES);
        assert!(kept.workspaces.contains_key("/1199") && !kept.workspaces.contains_key("/199"));
    }

    #[test]
    fn runs_at_the_same_time_keep_the_entries_of_each_other() {
        let (_home, store) = store();
        thread::scope(|scope| {
            for run in 0..8 {
                let store = store.clone();
                scope.spawn(move || {
                    for number in 0..4 {
                        let path = format!("/{run}/{number}");
                        // On a slow disk the other runs hold the lock for longer than one call waits.
                        while let Err(failure) = store.trust(Path::new(&path), trusted(run)) {
                            assert_eq!(failure, LOCKED);
                        }
                    }
                });
            }
        });
        assert_eq!(store.load().unwrap().workspaces.len(), 32);
    }

    #[test]
    fn servers_of_other_workspaces_have_other_keys() {
        let key = |project: Option<&str>| {
            ServerTools { name: "x", project: project.map(Path::new), tools: Vec::new() }.key()
        };
        let keys = [key(None), key(Some("/a")), key(Some("/b"))];
        assert!(keys.iter().all(Option::is_some) && keys[0] != keys[1] && keys[1] != keys[2]);
    }
}
