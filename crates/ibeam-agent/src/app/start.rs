//! Resolves the contexts from the options and the environment.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ibeam_config::{Config, ConfigError, Credentials, Setting, Settings, Trust};
use ibeam_core::Redactor;
use ibeam_output::{Catalogue, Contract, Locale};
use ibeam_protocol::{FailureCode, Reason, sentence};
use ibeam_providers::TrafficMode;

use super::workspace::resolve_workspace;
use super::{AppContext, BaseContext, ConfigUse};
use crate::debug_log::DebugLog;
use crate::environment::{catalogue, variable};
use crate::model::{all_secrets, recordings};
use crate::option_checks;
use crate::programs::Programs;
use crate::run_options::RunOptions;

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
        let added = options.added_directories().flatten();
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
        let mut app = Self {
            base,
            dirs,
            programs,
            trust,
            credentials,
            workspace,
            started_at,
            observer: None,
            traffic: TrafficMode::Live,
            debug_log: None,
            worktree: None,
            deferred_keys: Arc::default(),
            redactor: Redactor::default(),
            model_lists: OnceLock::new(),
        };
        app.redactor = Redactor::new(all_secrets(&app));
        app.debug_log = debug_log(&app)?;
        app.traffic = recordings::open(&app)?;
        if config_use == ConfigUse::Shown {
            let errors = crate::run::config_errors(&app);
            app.base.config_errors.extend(errors);
        }
        Ok(app)
    }
}

/// Creates the log that the flags request; `None` without a request.
///
/// # Errors
/// `CannotCreate` with the path.
fn debug_log(app: &AppContext) -> Result<Option<Arc<DebugLog>>, Reason> {
    let Some(path) = &app.base.options.debug else { return Ok(None) };
    let catalogue = Arc::clone(&app.base.catalogue);
    let log = DebugLog::create(path, app.started_at, app.redactor.clone(), catalogue, Some(&app.workspace));
    let log = log.map_err(|error| Reason::CannotCreate {
        path: path.display().to_string(),
        detail: error.to_string(),
    })?;
    Ok(Some(Arc::new(log)))
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
