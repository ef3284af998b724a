//! The settings of a session of an editor, the configuration that follows from them, and the errors of both.

use std::time::Instant;

use ibeam_acp::{AUTH_REQUIRED, ModelOption, RESOURCE_NOT_FOUND, SessionSettings};
use ibeam_json_rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use ibeam_output::Catalogue;
use ibeam_protocol::{FailureCode, PermissionMode, Reason};
use ibeam_providers::known_models;
use serde_json::json;

use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::model;
use ibeam_agent::run::permission_mode;
use ibeam_agent::run_options::{RunOptions, WorkMode};

/// Returns the context of a session with these options.
pub(super) fn new_context(options: RunOptions) -> Result<AppContext, Reason> {
    AppContext::new(options, ConfigUse::Needed, Instant::now())
}

/// Returns the context of a session with the settings that its editor changed. `model` is the model that it chose.
///
/// # Errors
/// The errors of [`AppContext::new`].
pub(super) fn changed_context(
    given: &RunOptions,
    settings: &SessionSettings,
    model: Option<&String>,
) -> Result<AppContext, Reason> {
    let mode = match settings.mode {
        PermissionMode::Default | PermissionMode::Force => WorkMode::Agent,
        PermissionMode::Plan => WorkMode::Plan,
        PermissionMode::Ask => WorkMode::Ask,
    };
    new_context(RunOptions {
        mode,
        model: model.or(given.model.as_ref()).cloned(),
        effort: settings.effort.clone(),
        ..given.clone()
    })
}

/// Returns the settings with which a session begins.
pub(super) fn settings_of(app: &AppContext) -> Result<SessionSettings, Reason> {
    let choice = model::choose_model(app)?;
    let info = choice.info();
    let model = format!("{}/{}", info.provider, info.id);
    let mut models = vec![ModelOption { value: model.clone(), name: info.display.clone() }];
    for (alias, target) in model::aliases(app) {
        add_model(&mut models, &alias, &format!("{alias} ({target})"));
    }
    let providers = model::key_sources(app);
    for known in known_models().filter(|known| providers.iter().any(|(name, _)| name == known.provider)) {
        add_model(&mut models, &format!("{}/{}", known.provider, known.id), known.label.unwrap_or(known.id));
    }
    let effort = app.base.options.effort.clone();
    Ok(SessionSettings { mode: permission_mode(app), model, models, effort })
}

/// Adds a model, unless it is in the list.
pub(super) fn add_model(models: &mut Vec<ModelOption>, value: &str, name: &str) {
    if models.iter().all(|model| model.value != value) {
        models.push(ModelOption { value: value.to_owned(), name: name.to_owned() });
    }
}

/// Returns the error of a request that failed for `reason`.
pub(super) fn rpc_error(catalogue: &Catalogue, reason: &Reason) -> RpcError {
    let code = match (reason, reason.code()) {
        (Reason::UnknownSession { .. }, _) => RESOURCE_NOT_FOUND,
        // Without a key, the embedded model would answer. The user of an editor can log in instead.
        (Reason::ModelNotInstalled { .. }, _) | (_, FailureCode::Auth) => AUTH_REQUIRED,
        (_, FailureCode::Usage | FailureCode::NoInput) => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    let explained = catalogue.reason(reason);
    let data = json!({ "code": reason.code().as_str(), "hints": explained.hints });
    RpcError { code, message: explained.message, data: Some(data) }
}
