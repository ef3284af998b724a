//! Whether the workspace is trusted: only then does what stands in it widen what is allowed, or run.
//!
//! `--trust` is remembered by the real path of the workspace and by the content of its policy files; when one of
//! them differs, the workspace is not trusted and people are told which. `--force` trusts for one run and is not
//! remembered. The bytes judged here are the bytes that are used: no policy file of a project is read twice.

mod files;
mod pins;
mod store;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_protocol::{Notice, Reason};

use crate::cli::Flags;
use crate::dirs::Dirs;
pub(crate) use files::{PolicyFiles, fingerprint};
pub(crate) use pins::{approve_tools, changed_tools};
pub(crate) use store::TrustStore;
use store::TrustedWorkspace;

/// What is known of the workspace, decided once at start.
#[derive(Clone, Debug)]
pub(crate) struct Trust {
    /// The policy files of the project, as they were judged.
    pub(crate) files: PolicyFiles,
    /// What is remembered.
    pub(crate) store: TrustStore,
    state: TrustState,
    /// What people should know of it.
    notices: Vec<Notice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrustState {
    /// By a flag of this run, or remembered with the same content.
    Trusted,
    /// Nobody ever said so.
    Unknown,
    /// It was, with other content.
    Changed,
}

impl Trust {
    /// Judges `workspace`, which is a real path, and remembers it where `--trust` is given. Never fails: what cannot
    /// be read trusts nothing, and people are told.
    pub(crate) fn evaluate(flags: &Flags, dirs: &Dirs, workspace: &Path) -> Self {
        let files = PolicyFiles::read(workspace);
        let store = TrustStore::new(dirs.user_config.with_file_name("trust.json"));
        let mut notices = Vec::new();
        let path = || store.path().display().to_string();
        let remembered = store.load().map(|document| document.workspace(workspace).cloned());
        let state = match &remembered {
            _ if flags.trust || flags.force => TrustState::Trusted,
            Ok(Some(trusted)) => match files.changed_since(&trusted.files) {
                changed if changed.is_empty() => TrustState::Trusted,
                changed => {
                    notices.push(Notice::TrustChanged { path: shown(&changed) });
                    TrustState::Changed
                }
            },
            Ok(None) | Err(_) => TrustState::Unknown,
        };
        match remembered {
            Err(detail) => notices.push(Notice::TrustUnreadable { path: path(), detail }),
            Ok(known) if flags.trust => {
                let kept = match (files.fingerprints(), known) {
                    // What cannot be read cannot be known again; whoever needs it says what is wrong with it.
                    (None, _) => Ok(()),
                    (Some(now), Some(known)) if now == known.files => Ok(()),
                    (Some(now), _) => {
                        store.trust(workspace, TrustedWorkspace { at_ms: now_ms(), files: now })
                    }
                };
                if let Err(detail) = kept {
                    notices.push(Notice::TrustNotSaved { path: path(), detail });
                }
            }
            Ok(_) => {}
        }
        Self { files, store, state, notices }
    }

    /// Whether the project's files count whole.
    pub(crate) fn is_trusted(&self) -> bool {
        self.state == TrustState::Trusted
    }

    /// The same as if somebody trusted it: to tell what that would change.
    pub(crate) fn assuming_trusted(&self) -> Self {
        Self { state: TrustState::Trusted, ..self.clone() }
    }

    /// In a word: `trusted`, `untrusted`, `changed`.
    pub(crate) fn status(&self) -> &'static str {
        match self.state {
            TrustState::Trusted => "trusted",
            TrustState::Unknown => "untrusted",
            TrustState::Changed => "changed",
        }
    }

    /// `notices` with those of the trust first. After a change the one that names the file says it all: what each
    /// part of it would widen is left out.
    pub(crate) fn merge_notices(&self, notices: Vec<Notice>) -> Vec<Notice> {
        let follows_from_it = |notice: &Notice| {
            matches!(
                notice,
                Notice::UntrustedConfigKey { .. }
                    | Notice::HooksUntrusted { .. }
                    | Notice::McpServerUntrusted { .. }
            )
        };
        let left_out = |notice: &Notice| self.state == TrustState::Changed && follows_from_it(notice);
        let rest = notices.into_iter().filter(|notice| !left_out(notice));
        self.notices.iter().cloned().chain(rest).collect()
    }

    /// The reason for a run that needs what only the project's file at `path` has.
    pub(crate) fn required(what: impl Into<String>, path: &Path) -> Reason {
        Reason::Untrusted { what: what.into(), path: path.display().to_string() }
    }
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
