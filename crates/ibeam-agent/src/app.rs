//! The context of every command: options, directories, configuration, catalogue. Resolved once.
//!
//! A command that needs no files of the user uses [`BaseContext`] alone: broken or missing files do not stop it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ibeam_config::{Config, ConfigError, Credentials, Dirs, Setting, Settings, Trust};
use ibeam_core::Redactor;
use ibeam_output::{Catalogue, Contract, Locale};
use ibeam_protocol::{FailureCode, Reason, sentence};
use ibeam_providers::TrafficMode;
use rustix::fs::{Access, access};

use crate::debug_log::DebugLog;
use crate::environment::{catalogue, variable};
use crate::model::{self, DeferredKeys, ListCache, recordings};
use crate::option_checks;
use crate::programs::Programs;
use crate::resource_exhaustion;
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
    /// The keys that files and commands gave.
    pub(crate) deferred_keys: DeferredKeys,
    /// See [`Self::redactor`].
    redactor: OnceLock<Redactor>,
    /// See [`Self::model_lists`].
    model_lists: OnceLock<ListCache>,
}

impl BaseContext {
    /// Resolves the options, and the configuration where it is valid and can be found.
    ///
    /// # Errors
    /// `Usage`, `NotText`, `Unsupported`.
    pub fn for_offline_command(options: RunOptions) -> Result<Self, Reason> {
        option_checks::reject_empty_values(&options)?;
        let requested_contract = requested_contract(&options)?;
        let resolve = |config: Config| {
            let settings = Settings::new(&config);
            let catalogue = configured_catalogue(&settings)?;
            Ok::<_, Reason>((config, settings, catalogue))
        };
        let from_files = || {
            let (workspace, dirs) = resolve_workspace(&options)?;
            let trust = Trust::evaluate(options.trust_request(), &dirs, &workspace);
            resolve(Config::load(&options.settings(), &dirs, &trust, &variable)?)
        };
        let from_flags = |_: Reason| resolve(Config::from_flags(&options.settings())?);
        let (config, settings, catalogue) = from_files().or_else(from_flags)?;
        let config_errors = Vec::new();
        Ok(Self { options, requested_contract, config, settings, config_errors, catalogue })
    }

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
    /// Resolves everything from the options and the environment.
    ///
    /// # Errors
    /// `NoInput` for the workspace, `Usage`, `Unsupported`; `BadConfig` where the configuration is needed.
    pub fn new(options: RunOptions, config_use: ConfigUse, started_at: Instant) -> Result<Self, Reason> {
        option_checks::reject_empty_values(&options)?;
        let requested_contract = requested_contract(&options)?;
        let (workspace, dirs) = resolve_workspace(&options)?;
        let added = options.add_dir.iter().filter_map(|directory| directory.canonicalize().ok());
        let roots = std::iter::once(workspace.clone()).chain(added).collect();
        let programs = Programs::new(std::env::var_os("PATH").as_deref(), roots);
        let trust = Trust::evaluate(options.trust_request(), &dirs, &workspace);
        let is_needed = config_use == ConfigUse::Needed;
        let settings = options.settings();
        let (config, errors) = match is_needed {
            true => (Config::load(&settings, &dirs, &trust, &variable)?, Vec::new()),
            false => Config::load_readable(&settings, &dirs, &trust, &variable)?,
        };
        let mut config_errors: Vec<Reason> = errors.into_iter().map(Reason::from).collect();
        let mut collect = |error: Reason| match is_needed || error.code() != FailureCode::Config {
            true => Err(error),
            false => {
                config_errors.push(error);
                Ok(())
            }
        };
        let no_credentials = |()| Credentials::empty(&dirs.credentials);
        let credentials = Credentials::load(&dirs.credentials)
            .or_else(|error| collect(error.into()).map(no_credentials))?;
        let from_environment = |()| Arc::new(catalogue(None));
        let settings = Settings::new(&config);
        let catalogue =
            configured_catalogue(&settings).or_else(|error| collect(error.into()).map(from_environment))?;
        let base = BaseContext { options, requested_contract, config, settings, config_errors, catalogue };
        let traffic = TrafficMode::Live;
        let app = Self {
            base,
            dirs,
            programs,
            trust,
            credentials,
            workspace,
            started_at,
            observer: None,
            traffic,
            debug_log: None,
            worktree: None,
            deferred_keys: DeferredKeys::default(),
            redactor: OnceLock::new(),
            model_lists: OnceLock::new(),
        };
        let app = Self { debug_log: DebugLog::requested(&app)?, ..app };
        let traffic = recordings::open(&app)?;
        let mut app = Self { traffic, ..app };
        if config_use == ConfigUse::Shown {
            let errors = crate::run::config_errors(&app);
            app.base.config_errors.extend(errors);
        }
        Ok(app)
    }

    /// Returns the redactor of all secrets of this process. Its clones share the secrets that are added later.
    pub fn redactor(&self) -> &Redactor {
        self.redactor.get_or_init(|| Redactor::new(model::all_secrets(self)))
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

/// Returns the workspace, absolute and with links resolved, and the directories of the user and of the project.
///
/// # Errors
/// `NoInput` for the workspace; `CannotCreate` where no home directory is known.
pub fn resolve_workspace(options: &RunOptions) -> Result<(PathBuf, Dirs), Reason> {
    let given = options.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let no_input = |detail: String| Reason::NoInput { path: given.display().to_string(), detail };
    let unread = |error: io::Error| {
        resource_exhaustion::from_io_error(&error).unwrap_or_else(|| no_input(error.to_string()))
    };
    let workspace = given.canonicalize().map_err(unread)?;
    if !workspace.is_dir() {
        return Err(no_input("not a directory".to_owned()));
    }
    // Without this check, each file in the workspace would be reported as unreadable.
    access(&workspace, Access::EXEC_OK).map_err(|errno| unread(errno.into()))?;
    let dirs = Dirs::for_workspace(&workspace)?;
    Ok((workspace, dirs))
}

/// Returns the message catalogue of the configured language.
fn configured_catalogue(settings: &Settings) -> Result<Arc<Catalogue>, ConfigError> {
    let Setting { value, origin } = &settings.lang;
    let catalogue = match value {
        None => catalogue(None),
        Some(name) => Catalogue::new(Locale::from_name(name).ok_or_else(|| {
            origin.invalid(sentence!(
                "unknown language `{name}`; use one of: {names}",
                name,
                names = "en, es, id, ja, fr, pt"
            ))
        })?),
    };
    Ok(Arc::new(catalogue))
}

/// Returns the version of the output contract that options and variables ask for; the default where they are invalid.
pub fn contract_or_default(options: &RunOptions) -> Contract {
    requested_contract(options).ok().flatten().unwrap_or_default()
}

/// Returns the version that `--contract`, else `IBEAM_CONTRACT` names.
///
/// # Errors
/// `Usage` for an unknown version.
fn requested_contract(options: &RunOptions) -> Result<Option<Contract>, Reason> {
    let Some(name) = options.contract.clone().or_else(|| variable("IBEAM_CONTRACT")) else { return Ok(None) };
    let known = Contract::from_name(&name);
    known.map(Some).ok_or_else(|| Reason::Usage {
        detail: sentence!(
            "unknown contract `{name}`; use one of: {known}",
            name,
            known = Contract::ALL.map(Contract::as_str).join(", ")
        ),
    })
}
