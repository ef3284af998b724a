//! The check before the first task of a fleet: what would fail every run ends the command, as it would end a run.

use std::collections::HashSet;
use std::path::PathBuf;

use ibeam_fleet::{Task, WorkspaceSource};

use crate::cli_error::CliError;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::model::{FallbackChain, ModelChoice, choose_model, choose_model_named, model_info};
use ibeam_agent::run::context_preview::ContextPreview;
use ibeam_agent::run_options::RunOptions;

/// Checks that a run can start with the flags of the command and with the models of the tasks: their keys, their prices
/// where the cost is limited, and the files of flags. Nothing is sent.
///
/// Each model is checked in the workspace of the first task that uses it, whose configuration can have aliases and
/// providers. Tasks with variables of their own are not checked, because these can be keys.
///
/// # Errors
/// The errors with which such a run would not start.
pub(super) fn check_start(app: &AppContext, tasks: &[Task], has_budget_usd: bool) -> Result<(), CliError> {
    let mut models: HashSet<Option<&str>> = HashSet::new();
    let mut is_first = true;
    for task in tasks.iter().filter(|task| task.env.is_empty()) {
        if !models.insert(task.model.as_deref()) {
            continue;
        }
        let in_workspace = match local_source(&task.workspace) {
            Some(directory) => Some(context_in(app, directory)?),
            None => None,
        };
        let app = in_workspace.as_ref().unwrap_or(app);
        if is_first {
            ContextPreview::new(app, &[], false, false, None)?;
            is_first = false;
        }
        let flag = if has_budget_usd { Some("--budget-usd") } else { cost_flag(app, task) };
        check_model(app, task.model.as_deref(), flag)?;
    }
    Ok(())
}

/// Checks that a model and those that take over for it can be used. With `cost_flag`, their prices have to be known.
fn check_model(app: &AppContext, name: Option<&str>, cost_flag: Option<&str>) -> Result<(), CliError> {
    let first = match name {
        None => choose_model(app)?,
        Some(name) => choose_model_named(app, name, "model")?,
    };
    let chain = FallbackChain::choose(app, &first)?;
    for model in std::iter::once(&first).chain(&chain.choices).map(ModelChoice::info) {
        let prices = model_info::budget_prices(app, model)?;
        if let Some(flag) = cost_flag.filter(|_| prices.is_none()) {
            return Err(model_info::no_price(model, flag).into());
        }
    }
    Ok(())
}

/// Returns the flag that limits the cost of a run of this task.
fn cost_flag(app: &AppContext, task: &Task) -> Option<&'static str> {
    let limit = app.base.settings.limits.max_cost.value;
    if task.limits.max_cost_micros.is_some() {
        return Some("limits.max_cost_usd");
    }
    limit.map(|_| "--max-cost")
}

/// Returns the directory of a source on this machine.
fn local_source(source: &WorkspaceSource) -> Option<PathBuf> {
    let path = match source.start() {
        WorkspaceSource::Path(path) => path.clone(),
        WorkspaceSource::Git(source) => PathBuf::from(&source.git),
        WorkspaceSource::Result(_) => return None,
    };
    // A bare repository has no files of a project.
    (path.is_dir() && !path.join("HEAD").is_file()).then_some(path)
}

/// Returns the context of a run with the options of the command in another workspace.
fn context_in(app: &AppContext, workspace: PathBuf) -> Result<AppContext, CliError> {
    let options = &app.base.options;
    let options = RunOptions {
        workspace: Some(workspace),
        // The check does not remember that a project is trusted.
        force: options.force || options.trust,
        trust: false,
        debug: None,
        record: None,
        ..options.clone()
    };
    Ok(AppContext::new(options, ConfigUse::Needed, app.started_at)?)
}
