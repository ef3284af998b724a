//! The trust in a workspace. Only the files of a trusted workspace may allow more or start programs.
//!
//! `--trust` is stored with the real path of the workspace and the content of its policy files. When a file changes, the
//! workspace is no longer trusted and a notice names the file. `--force` trusts the workspace for one run. The bytes that are
//! compared here are the bytes that are used: no policy file of a project is read twice.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_protocol::Notice;

use crate::{Dirs, PolicyFiles, TrustStore, TrustedWorkspace};

/// The trust that a command line requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustRequest {
    /// No flag: the trust store decides.
    UseStored,
    /// Trust the workspace in this run only.
    ThisRun,
    /// Trust the workspace and store the trust.
    Remember,
}

/// The trust in the workspace, decided once at start.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The policy files of the project, as they were read.
    pub files: PolicyFiles,
    /// The store of trusted workspaces and approved servers.
    pub store: TrustStore,
    state: TrustState,
    /// Warnings about trust.
    notices: Vec<Notice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrustState {
    /// A flag trusts the workspace, or it is stored with the same content.
    Trusted,
    /// The workspace was never trusted, or the trust store cannot be read.
    Unknown,
    /// The workspace was trusted with other policy files.
    Changed,
}

impl Trust {
    /// Decides whether `workspace`, a real path, is trusted, and stores it for [`TrustRequest::Remember`].
    ///
    /// Never fails: a trust store that cannot be read trusts no workspace, and a notice reports it.
    pub fn evaluate(request: TrustRequest, dirs: &Dirs, workspace: &Path) -> Self {
        let files = PolicyFiles::read(workspace);
        let store = TrustStore::new(dirs.user_config.with_file_name("trust.json"));
        let mut notices = Vec::new();
        let path = || store.path().display().to_string();
        let stored = store.load().map(|document| document.workspace(workspace).cloned());
        let state = match &stored {
            _ if request != TrustRequest::UseStored => TrustState::Trusted,
            Ok(Some(trusted)) => match files.changed_files(&trusted.files) {
                changed if changed.is_empty() => TrustState::Trusted,
                changed => {
                    notices.push(Notice::TrustChanged { path: join_paths(&changed) });
                    TrustState::Changed
                }
            },
            Ok(None) | Err(_) => TrustState::Unknown,
        };
        match stored {
            Err(detail) => notices.push(Notice::TrustUnreadable { path: path(), detail }),
            Ok(before) if request == TrustRequest::Remember => {
                let result = match (files.fingerprints(), before) {
                    // A file that cannot be read cannot be compared later; the code that needs it reports it.
                    (None, _) => Ok(()),
                    (Some(now), Some(before)) if now == before.files => Ok(()),
                    (Some(now), _) => {
                        store.trust(workspace, TrustedWorkspace { at_ms: now_ms(), files: now })
                    }
                };
                if let Err(detail) = result {
                    notices.push(Notice::TrustNotSaved { path: path(), detail });
                }
            }
            Ok(_) => {}
        }
        Self { files, store, state, notices }
    }

    /// Stores that `workspace`, a real path, is trusted with its policy files as they were read.
    ///
    /// # Errors
    /// The message why it cannot be stored.
    pub fn remember(&self, workspace: &Path) -> Result<(), String> {
        let files = self.files.fingerprints().ok_or("a file of its configuration cannot be read")?;
        self.store.trust(workspace, TrustedWorkspace { at_ms: now_ms(), files })
    }

    /// Whether the workspace was trusted with other policy files.
    pub fn is_changed(&self) -> bool {
        self.state == TrustState::Changed
    }

    /// Whether the project's files may allow more, and start programs.
    pub fn is_trusted(&self) -> bool {
        self.state == TrustState::Trusted
    }

    /// Whether another directory, a real path, is stored as trusted with the policy files that it has now.
    pub fn is_directory_trusted(&self, directory: &Path) -> bool {
        let stored = self.store.load().ok();
        let trusted = stored.as_ref().and_then(|stored| stored.workspace(directory));
        trusted.is_some_and(|trusted| PolicyFiles::read(directory).changed_files(&trusted.files).is_empty())
    }

    /// Returns this trust as if the workspace were trusted, to show what that would change.
    pub fn as_if_trusted(&self) -> Self {
        Self { state: TrustState::Trusted, ..self.clone() }
    }

    /// Returns `trusted`, `untrusted` or `changed`.
    pub fn status(&self) -> &'static str {
        match self.state {
            TrustState::Trusted => "trusted",
            TrustState::Unknown => "untrusted",
            TrustState::Changed => "changed",
        }
    }

    /// Returns the notices about trust, then `notices`. If a file changed, the notice about it replaces those about what
    /// the file would allow.
    pub fn merge_notices(&self, notices: Vec<Notice>) -> Vec<Notice> {
        let is_about_trust = |notice: &Notice| {
            matches!(
                notice,
                Notice::UntrustedConfigKey { .. }
                    | Notice::HooksUntrusted { .. }
                    | Notice::SubagentsUntrusted { .. }
                    | Notice::McpServerUntrusted { .. }
            )
        };
        let is_redundant = |notice: &Notice| self.state == TrustState::Changed && is_about_trust(notice);
        let rest = notices.into_iter().filter(|notice| !is_redundant(notice));
        self.notices.iter().cloned().chain(rest).collect()
    }
}

fn join_paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
