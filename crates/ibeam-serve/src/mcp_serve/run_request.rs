//! The arguments of a run, and how they narrow the configuration of the server.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibeam_output::Catalogue;
use ibeam_protocol::{PermissionMode, Reason};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::served_sessions::ServedSessions;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::run::permission_mode;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run_options::{RunOptions, WorkMode};

/// The settings that all runs of the server share: the choices of the person who started it.
pub(super) struct ServerSettings {
    options: RunOptions,
    /// The workspace of a run that names none.
    workspace: PathBuf,
    pub(super) roots: AllowedRoots,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) sessions_dir: PathBuf,
    /// The token of the server over HTTP.
    token: Option<String>,
}

impl ServerSettings {
    /// Returns the settings of a server with the options of `app`, for the directories `roots`. Runs remove `token` from
    /// their output.
    ///
    /// # Errors
    /// `NoInput` for a directory that does not exist.
    pub(super) fn new(app: &AppContext, roots: &[PathBuf], token: Option<String>) -> Result<Self, Reason> {
        let options = RunOptions {
            // Another workspace is trusted only if a person has trusted it. That of the server is remembered already.
            trust: false,
            session: SessionTarget::New,
            fork: false,
            from_plan: None,
            file: Vec::new(),
            image: Vec::new(),
            heartbeat: None,
            ..app.base.options.clone()
        };
        Ok(Self {
            options,
            workspace: app.workspace.clone(),
            roots: AllowedRoots::new(roots, &app.workspace)?,
            catalogue: Arc::clone(&app.base.catalogue),
            sessions_dir: app.dirs.sessions(),
            token,
        })
    }
}

/// The directories in which clients may work, absolute and with links resolved.
#[derive(Clone)]
pub(super) struct AllowedRoots(Vec<PathBuf>);

impl AllowedRoots {
    fn new(given: &[PathBuf], workspace: &Path) -> Result<Self, Reason> {
        if given.is_empty() {
            return Ok(Self(vec![workspace.to_owned()]));
        }
        let resolve = |path: &PathBuf| {
            let no_input = |detail: String| Reason::NoInput { path: path.display().to_string(), detail };
            let resolved = path.canonicalize().map_err(|error| no_input(error.to_string()))?;
            if resolved.is_dir() { Ok(resolved) } else { Err(no_input("not a directory".to_owned())) }
        };
        given.iter().map(resolve).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a path, absolute and with links resolved, is one of the directories or beneath one.
    pub(super) fn contain(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    fn check(&self, path: &Path) -> Result<(), Reason> {
        if self.contain(path) {
            return Ok(());
        }
        let roots: Vec<_> = self.0.iter().map(|root| root.display().to_string()).collect();
        Err(usage(format!(
            "`workspace` is `{}`, but this server serves only: {}",
            path.display(),
            roots.join(", ")
        )))
    }
}

/// The arguments of the tool `run`. `tool_list.rs` has their JSON Schema.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunArguments {
    pub(super) prompt: String,
    workspace: Option<PathBuf>,
    session_id: Option<String>,
    model: Option<String>,
    mode: Option<RequestedMode>,
    force: Option<bool>,
    max_turns: Option<NonZeroU32>,
    max_tokens: Option<NonZeroU64>,
    max_cost_usd: Option<f64>,
    max_tool_calls: Option<u32>,
    timeout_seconds: Option<NonZeroU64>,
    json_schema: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RequestedMode {
    Agent,
    Plan,
    Ask,
}

/// A run that may start.
pub(super) struct AcceptedRun {
    pub(super) app: Arc<AppContext>,
    pub(super) target: SessionTarget,
}

impl RunArguments {
    /// Returns the arguments in a call.
    ///
    /// # Errors
    /// `Usage` with the argument.
    pub(super) fn parse(arguments: Map<String, Value>) -> Result<Self, Reason> {
        let arguments: Self = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| usage(format!("the arguments of `run` are not valid: {error}")))?;
        match arguments.prompt.trim().is_empty() {
            true => Err(usage("`prompt` is empty".to_owned())),
            false => Ok(arguments),
        }
    }

    /// Reads the configuration of the workspace and narrows it.
    ///
    /// # Errors
    /// `Usage` for what the server does not allow; the errors of [`AppContext::new`].
    pub(super) fn accept(&self, settings: &ServerSettings) -> Result<AcceptedRun, Reason> {
        let (target, stored_workspace) = match &self.session_id {
            None => (SessionTarget::New, None),
            Some(id) => {
                let summary = ServedSessions::new(settings).find(id)?;
                (SessionTarget::Named(summary.id.to_string()), Some(summary.cwd))
            }
        };
        let workspace = match (&self.workspace, stored_workspace) {
            // A relative path is beneath the workspace of the server.
            (Some(given), _) => settings.workspace.join(given),
            (None, Some(stored)) => stored,
            (None, None) => settings.workspace.clone(),
        };
        let no_input = |error: std::io::Error| Reason::NoInput {
            path: workspace.display().to_string(),
            detail: error.to_string(),
        };
        let workspace = workspace.canonicalize().map_err(no_input)?;
        // Before anything of the directory is read.
        settings.roots.check(&workspace)?;
        let options = RunOptions { workspace: Some(workspace), ..settings.options.clone() };
        let app = new_context(options.clone())?;
        let app = new_context(self.narrow(options, &app)?)?;
        // A link may have replaced the directory in the meantime.
        settings.roots.check(&app.workspace)?;
        settings.token.iter().for_each(|token| app.redactor().add(token));
        Ok(AcceptedRun { app: Arc::new(app), target })
    }

    /// Returns the options of the run. `app` has the configuration of the server for the workspace.
    fn narrow(&self, mut options: RunOptions, app: &AppContext) -> Result<RunOptions, Reason> {
        if let Some(mode) = self.mode {
            options.mode = allowed_mode(permission_mode(app), mode)?;
        }
        match (self.force, options.force) {
            (Some(true), false) => {
                return Err(usage("`force` is not allowed; start the server with `--force`".to_owned()));
            }
            (Some(force), true) => options.force = force,
            (Some(false), false) | (None, _) => {}
        }
        if let Some(model) = &self.model {
            options.model = Some(model.clone());
            options.fallback_model = Vec::new();
        }
        if let Some(schema) = &self.json_schema {
            options.json_schema = Some(Value::Object(schema.clone()).to_string().into());
        }
        let limits = &app.base.settings.limits;
        let max_turns = Some(limits.max_turns.value);
        if let Some(turns) = lower(self.max_turns.map(|turns| u64::from(turns.get())), max_turns) {
            options.max_turns = u32::try_from(turns).ok();
        }
        if let Some(tokens) = lower(self.max_tokens.map(NonZeroU64::get), limits.max_tokens.value) {
            options.max_tokens = Some(tokens);
        }
        if let Some(calls) = lower(self.max_tool_calls.map(u64::from), limits.max_tool_calls.value) {
            options.max_tool_calls = u32::try_from(calls).ok();
        }
        let cost = limits.max_cost.value.map(|micros| micros as f64 / 1e6);
        if let Some(cost) = lower(self.max_cost_usd, cost) {
            options.max_cost = Some(cost.to_string());
        }
        let timeout = self.timeout_seconds.map(|seconds| Duration::from_secs(seconds.get()));
        if let Some(timeout) = lower(timeout, limits.timeout.value) {
            options.timeout = Some(format!("{}s", timeout.as_secs()));
        }
        Ok(options)
    }
}

fn new_context(options: RunOptions) -> Result<AppContext, Reason> {
    AppContext::new(options, ConfigUse::Needed, Instant::now())
}

/// Returns the requested limit if it is lower than that of the server.
fn lower<T: PartialOrd>(requested: Option<T>, configured: Option<T>) -> Option<T> {
    let requested = requested?;
    match configured {
        Some(configured) if configured <= requested => None,
        Some(_) | None => Some(requested),
    }
}

/// Returns the requested mode, unless the mode of the server is a narrower one.
fn allowed_mode(server: PermissionMode, requested: RequestedMode) -> Result<WorkMode, Reason> {
    match (server, requested) {
        (PermissionMode::Default | PermissionMode::Force, RequestedMode::Agent) => Ok(WorkMode::Agent),
        (PermissionMode::Default | PermissionMode::Force | PermissionMode::Plan, RequestedMode::Plan) => {
            Ok(WorkMode::Plan)
        }
        (PermissionMode::Default | PermissionMode::Force | PermissionMode::Ask, RequestedMode::Ask) => {
            Ok(WorkMode::Ask)
        }
        (PermissionMode::Plan, RequestedMode::Agent | RequestedMode::Ask) => {
            Err(usage("`mode` should be `plan`, the mode of this server".to_owned()))
        }
        (PermissionMode::Ask, RequestedMode::Agent | RequestedMode::Plan) => {
            Err(usage("`mode` should be `ask`, the mode of this server".to_owned()))
        }
    }
}

fn usage(detail: String) -> Reason {
    Reason::Usage { detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_a_client_is_never_above_that_of_the_server() {
        assert_eq!(lower(Some(3), Some(5)), Some(3));
        assert_eq!(lower(Some(7), Some(5)), None);
        assert_eq!(lower(Some(5), Some(5)), None);
        assert_eq!(lower(Some(7), None), Some(7));
        assert_eq!(lower(None, Some(5)), None);
    }

    #[track_caller]
    fn check_mode(server: PermissionMode, requested: RequestedMode, expect: Option<WorkMode>) {
        assert_eq!(allowed_mode(server, requested).ok(), expect, "{server:?} {requested:?}");
    }

    #[test]
    fn a_client_cannot_leave_a_read_only_mode() {
        check_mode(PermissionMode::Force, RequestedMode::Plan, Some(WorkMode::Plan));
        check_mode(PermissionMode::Default, RequestedMode::Agent, Some(WorkMode::Agent));
        check_mode(PermissionMode::Plan, RequestedMode::Agent, None);
        check_mode(PermissionMode::Ask, RequestedMode::Plan, None);
        check_mode(PermissionMode::Ask, RequestedMode::Ask, Some(WorkMode::Ask));
    }

    #[test]
    fn only_the_roots_and_what_is_beneath_them_are_allowed() {
        let roots = AllowedRoots(vec![PathBuf::from("/work/a")]);
        assert!(roots.contain(Path::new("/work/a")));
        assert!(roots.contain(Path::new("/work/a/b")));
        assert!(!roots.contain(Path::new("/work/ab")));
        assert!(!roots.contain(Path::new("/work")));
    }

    #[test]
    fn unknown_arguments_and_an_empty_prompt_are_refused() {
        let parse = |value: Value| RunArguments::parse(value.as_object().unwrap().clone()).is_ok();
        assert!(parse(serde_json::json!({ "prompt": "x", "max_turns": 2 })));
        assert!(!parse(serde_json::json!({ "prompt": " " })));
        assert!(!parse(serde_json::json!({ "prompt": "x", "api_key": "y" })));
        assert!(!parse(serde_json::json!({ "prompt": "x", "max_turns": 0 })));
    }
}
