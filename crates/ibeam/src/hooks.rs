//! Finds the hook files of a run and starts their runner.
//!
//! A project's files count only in a trusted workspace. A missing file has no hooks. The settings of Claude Code are read
//! for their hooks only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_config::{ConfigError, config_file};
use ibeam_hooks::{
    ClaudeCall, ClaudeCalls, HookConfig, HookRunner, HooksFileError, PromptModel, RunnerOptions,
};
use ibeam_protocol::{Notice, Reason, SessionStarted, ToolCall, ToolOutcome};
use serde_json::{Map, Value};

use crate::app::AppContext;
use crate::dialect::CallForm;

/// The directories of the administrator's hook files.
const MANAGED_DIRS: [&str; 2] = ["/etc/cursor", "/etc/ibeam"];
/// The administrator's settings of Claude Code.
const MANAGED_CLAUDE_SETTINGS: &str = "/etc/claude-code/managed-settings.json";
/// The directories of a project that may contain a hook file.
const PROJECT_DIRS: [&str; 2] = [".cursor", ".ibeam"];
/// The settings of Claude Code in a project, those that take precedence first.
const PROJECT_CLAUDE_SETTINGS: [&str; 2] = [".claude/settings.local.json", ".claude/settings.json"];

/// The format of a file with hooks.
#[derive(Clone, Copy)]
enum FileFormat {
    Hooks,
    ClaudeSettings,
}

/// Reads all hook files, those that take precedence first.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn load(app: &AppContext) -> Result<HookConfig, Reason> {
    let mut config = HookConfig::default();
    let home = &app.dirs.home;
    for directory in MANAGED_DIRS.map(Path::new) {
        let path = directory.join("hooks.json");
        add(&mut config, FileFormat::Hooks, config_file::read_managed(&path)?, &path, directory)?;
    }
    let path = Path::new(MANAGED_CLAUDE_SETTINGS);
    let bytes = config_file::read_managed(path)?;
    add(&mut config, FileFormat::ClaudeSettings, bytes, path, &app.workspace)?;
    for (format, path) in project_files(app) {
        if app.trust.is_trusted() {
            add(&mut config, format, app.trust.files.bytes(&path)?, &path, &app.workspace)?;
        } else if has_untrusted_hooks(app, format, &path) {
            config.notices.push(Notice::HooksUntrusted { path: path.display().to_string() });
        }
    }
    for directory in [&home.join(".cursor"), app.dirs.config_directory()] {
        let path = directory.join("hooks.json");
        add(&mut config, FileFormat::Hooks, config_file::read(&path)?, &path, directory)?;
    }
    let path = home.join(".claude/settings.json");
    add(&mut config, FileFormat::ClaudeSettings, config_file::read(&path)?, &path, &app.workspace)?;
    Ok(config)
}

/// Returns the files of the project that may have hooks, without those that are the user's own because the workspace is
/// the home directory.
fn project_files(app: &AppContext) -> impl Iterator<Item = (FileFormat, PathBuf)> {
    let is_home = app.workspace == app.dirs.home;
    let hook_files = PROJECT_DIRS.into_iter().filter(move |directory| !is_home || *directory != ".cursor");
    let hook_files = hook_files.map(|directory| (FileFormat::Hooks, Path::new(directory).join("hooks.json")));
    let settings = PROJECT_CLAUDE_SETTINGS.into_iter().filter(move |name| !is_home || name.contains("local"));
    let settings = settings.map(|name| (FileFormat::ClaudeSettings, PathBuf::from(name)));
    let workspace = app.workspace.clone();
    hook_files.chain(settings).map(move |(format, path)| (format, workspace.join(path)))
}

/// Whether a file of an untrusted project would have to be run. Settings of Claude Code often have no hooks.
fn has_untrusted_hooks(app: &AppContext, format: FileFormat, path: &Path) -> bool {
    match format {
        FileFormat::Hooks => app.trust.files.exists(path),
        FileFormat::ClaudeSettings => {
            let mut config = HookConfig::default();
            let Ok(bytes) = app.trust.files.bytes(path) else { return true };
            let added = add(&mut config, format, bytes, path, &app.workspace);
            added.is_err() || config.commands().next().is_some()
        }
    }
}

/// Returns the file, the event and the command of each hook of the project, trusted or not.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn project_hooks(app: &AppContext) -> Result<Vec<(PathBuf, String, String)>, Reason> {
    let mut found = Vec::new();
    for (format, path) in project_files(app) {
        let mut config = HookConfig::default();
        add(&mut config, format, app.trust.files.bytes(&path)?, &path, &app.workspace)?;
        let hooks = config.commands();
        found.extend(hooks.map(|(event, command)| (path.clone(), event.to_owned(), command.to_owned())));
    }
    Ok(found)
}

/// Returns the runner of the hooks in `config` for the run that `head` describes. `prompt_model` answers the hooks of type
/// `prompt`.
pub(crate) fn runner(
    config: HookConfig,
    app: &AppContext,
    head: &SessionStarted,
    is_single_run: bool,
    prompt_model: Arc<dyn PromptModel>,
) -> Arc<HookRunner> {
    let mut environment = crate::mcp::inherited_environment(app);
    for name in ["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "IBEAM_PROJECT_DIR"] {
        environment.push((name.into(), app.workspace.clone().into()));
    }
    environment.push(("CURSOR_VERSION".into(), env!("CARGO_PKG_VERSION").into()));
    let settings = &app.base.config;
    let options = RunnerOptions {
        bash: app.programs.find("bash"),
        environment,
        process_limit: settings.process_limit(),
        redactor: app.redactor().clone(),
        workspace: app.workspace.clone(),
        timeout: settings.timeout("hook"),
        grace: settings.timeout("shutdown") / 6,
        is_single_run,
        started_at: app.started_at,
        claude_calls: Some(Arc::new(CallForms { head: head.clone() })),
        prompt_model: Some(prompt_model),
    };
    HookRunner::new(config, head, options)
}

/// Adds the hooks of a file to `config`.
fn add(
    config: &mut HookConfig,
    format: FileFormat,
    bytes: Option<Vec<u8>>,
    path: &Path,
    directory: &Path,
) -> Result<(), ConfigError> {
    let Some(bytes) = bytes else { return Ok(()) };
    let added = match format {
        FileFormat::Hooks => config.add_file(&bytes, path, directory),
        FileFormat::ClaudeSettings => config.add_claude_settings(&bytes, path, directory),
    };
    added.map_err(|error| {
        let HooksFileError { line, column, message } = error;
        ConfigError::at(path, line, column, message)
    })
}

/// Converts the calls of a run to the form of Claude Code with the encoder of its stream.
struct CallForms {
    /// The description of the run.
    head: SessionStarted,
}

impl ClaudeCalls for CallForms {
    fn call(&self, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Result<ClaudeCall, String> {
        let CallForm { name, names, input, response } = CallForm::new(&self.head, call, outcome)?;
        Ok(ClaudeCall { name, names, input, response })
    }

    fn arguments(&self, call: &ClaudeCall, input: Map<String, Value>) -> Result<Value, String> {
        let ClaudeCall { name, names, input: own, response } = call.clone();
        CallForm { name, names, input: own, response }.arguments(input)
    }
}
