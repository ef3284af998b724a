//! The context of every command: options, directories, configuration, catalogue. `start` resolves it once.
//!
//! A command that needs no files of the user uses [`BaseContext`] alone: broken or missing files do not stop it.

mod start;
pub(crate) mod workspace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use ibeam_config::{Config, Credentials, Dirs, Settings, Trust};
use ibeam_core::Redactor;
use ibeam_output::{Catalogue, Contract};
use ibeam_protocol::Reason;
use ibeam_providers::{Secret, TrafficMode};

pub use self::start::contract_or_default;
pub use self::workspace::resolve_workspace;
use crate::debug_log::DebugLog;
use crate::model::list_cache::ListCache;
use crate::programs::Programs;
use crate::run_options::RunOptions;
use crate::session_observer::SessionObserver;
use crate::worktree::Worktree;

/// The context of a command that needs no files of the user.
pub struct BaseContext {
    pub options: RunOptions,
    /// The version of the output contract that an option or variable asks for.
    requested_contract: Option<Contract>,
    /// All settings of all layers, for commands that show them.
    pub config: Config,
    /// The settings in force.
    pub settings: Settings,
    /// Errors of the configuration, for a command that does not need a valid one.
    pub config_errors: Vec<Reason>,
    pub catalogue: Arc<Catalogue>,
}

/// The effect of an invalid configuration on a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigUse {
    /// An error ends the command.
    Needed,
    /// The command shows what could be read, and fails with the error.
    Shown,
    /// The error is a warning.
    Incidental,
}

/// The context of runs, and of commands that manage files of the user.
pub struct AppContext {
    pub base: BaseContext,
    pub dirs: Dirs,
    /// The directories in which programs are found.
    pub programs: Programs,
    /// Whether the files of the project are trusted, and those files.
    pub trust: Trust,
    pub(crate) credentials: Credentials,
    /// Absolute, with links resolved.
    pub workspace: PathBuf,
    pub started_at: Instant,
    /// The receiver of facts about sessions that no event has.
    pub observer: Option<Arc<dyn SessionObserver>>,
    /// Whether the traffic with models is recorded or replayed.
    pub(crate) traffic: TrafficMode,
    /// The log of `--debug`.
    pub debug_log: Option<Arc<DebugLog>>,
    /// The worktree that is the workspace: `--worktree`.
    pub worktree: Option<Worktree>,
    /// The keys that files and commands gave, by provider and place.
    pub(crate) deferred_keys: Arc<Mutex<BTreeMap<String, Secret>>>,
    /// See [`Self::redactor`].
    redactor: Redactor,
    /// See [`Self::model_lists`].
    model_lists: OnceLock<ListCache>,
}

impl BaseContext {
    /// Returns the version of the output contract that a flag or variable asks for.
    pub fn requested_contract(&self) -> Option<Contract> {
        self.requested_contract
    }

    /// Returns the version of the output contract of this process.
    pub fn contract(&self) -> Contract {
        self.requested_contract.unwrap_or_default()
    }
}

impl AppContext {
    /// Returns the redactor of all secrets of this process. Its clones share the secrets that are added later.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns the cached lists of models. They are read once.
    pub(crate) fn model_lists(&self) -> &ListCache {
        self.model_lists.get_or_init(|| ListCache::load(&self.dirs.cache))
    }

    /// Writes to the debug log, if there is one, that a step of the start is complete.
    pub(crate) fn log_step(&self, name: &str) {
        if let Some(log) = &self.debug_log {
            log.write_step(name);
        }
    }

    /// Whether model requests are answered from recordings.
    pub(crate) fn replays(&self) -> bool {
        self.traffic.player().is_some()
    }
}
