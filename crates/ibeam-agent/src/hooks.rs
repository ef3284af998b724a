//! Finds the hook files of a run and starts their runner.
//!
//! A project's files count only in a trusted workspace. A missing file has no hooks. The settings of Claude Code are read
//! for their hooks only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_config::{ConfigError, Settings, Trust, config_file};
use ibeam_hooks::{
    ClaudeCall, ClaudeCalls, HookConfig, HookRunner, HooksFileError, PromptModel, RunnerOptions,
};
use ibeam_protocol::{Notice, Reason, RunStarted, ToolCall, ToolOutcome};
use serde_json::{Map, Value};

use crate::app::AppContext;
use crate::claude_call_form::ClaudeCallForm;

/// The directories of the administrator's hook files.
const MANAGED_DIRS: [&str; 2] = ["/etc/cursor", "/etc/ibeam"];
/// The administrator's settings of Claude Code.
const MANAGED_CLAUDE_SETTINGS: &str = "/etc/claude-code/managed-settings.json";
/// The directories of a project that may contain a hook file.
const PROJECT_DIRS: [&str; 2] = [".cursor", ".ibeam"];
/// The settings of Claude Code in a project, those that take precedence first.
const PROJECT_CLAUDE_SETTINGS: [&str; 2] = [".claude/settings.local.json", ".claude/settings.json"];

/// The page of `ibeam help` that describes the files.
const HELP_PAGE: &str = "hooks";

#[derive(Clone, Copy)]
enum FileFormat {
    Hooks,
    ClaudeSettings,
}

#[derive(Clone, Copy)]
enum FileOwner {
    Administrator,
    Project,
    User,
}

/// A file that may have hooks.
struct HookFile {
    format: FileFormat,
    owner: FileOwner,
    path: PathBuf,
    directory: PathBuf,
}

impl HookFile {
    /// Returns the bytes of the file; `None` if there is no file.
    fn read(&self, trust: &Trust) -> Result<Option<Vec<u8>>, ConfigError> {
        match self.owner {
            FileOwner::Administrator => config_file::read_managed(&self.path),
            FileOwner::Project => trust.files.bytes(&self.path),
            FileOwner::User => config_file::read(&self.path),
        }
    }

    /// Adds the hooks of the file to `config`.
    ///
    /// # Errors
    /// `BadJsonConfig` with line and column; the error of reading the file.
    fn add_to(&self, config: &mut HookConfig, trust: &Trust) -> Result<(), Reason> {
        let Some(bytes) = self.read(trust)? else { return Ok(()) };
        let added = match self.format {
            FileFormat::Hooks => config.add_file(&bytes, &self.path, &self.directory),
            FileFormat::ClaudeSettings => config.add_claude_settings(&bytes, &self.path, &self.directory),
        };
        added.map_err(|HooksFileError { line, column, message: detail }| Reason::BadJsonConfig {
            path: self.path.display().to_string(),
            line: line.try_into().ok(),
            column: column.try_into().ok(),
            page: HELP_PAGE.to_owned(),
            detail,
        })
    }

    /// Adds the hooks of the file, and for a file of a project that is not valid, those that can be read: what the others
    /// could refuse is refused.
    ///
    /// # Errors
    /// As [`Self::add_to`]; the files of the user and the administrator must be valid.
    fn add_readable_to(&self, config: &mut HookConfig, trust: &Trust) -> Result<(), Reason> {
        let added = self.add_to(config, trust);
        match (self.owner, added) {
            (FileOwner::Project, Err(error)) => {
                let Some(bytes) = self.read(trust)? else { return Err(error) };
                let read = match self.format {
                    FileFormat::Hooks => config.add_readable_file(&bytes, &self.path, &self.directory),
                    FileFormat::ClaudeSettings => {
                        config.add_readable_claude_settings(&bytes, &self.path, &self.directory)
                    }
                };
                read.map_err(|_| error)
            }
            (FileOwner::Project | FileOwner::Administrator | FileOwner::User, added) => added,
        }
    }

    /// Whether the file belongs to a project that is not trusted, so that no run reads it.
    fn is_untrusted(&self, trust: &Trust) -> bool {
        match self.owner {
            FileOwner::Project => !trust.is_trusted(),
            FileOwner::Administrator | FileOwner::User => false,
        }
    }
}

/// Reads all hook files, those that take precedence first.
///
/// # Errors
/// `BadJsonConfig` with line and column; the error of reading a file.
pub fn load(app: &AppContext) -> Result<HookConfig, Reason> {
    let mut config = HookConfig::default();
    for file in files(app) {
        if !file.is_untrusted(&app.trust) {
            file.add_readable_to(&mut config, &app.trust)?;
        } else if has_untrusted_hooks(&app.trust, &file) {
            config.notices.push(Notice::HooksUntrusted { path: file.path.display().to_string() });
        }
    }
    Ok(config)
}

/// Returns the path of each file that a run reads, with its error if it has one.
pub fn check_files(app: &AppContext) -> Vec<(PathBuf, Option<Reason>)> {
    let read = files(app).into_iter().filter(|file| !file.is_untrusted(&app.trust));
    let check = |file: HookFile| {
        let error = file.add_to(&mut HookConfig::default(), &app.trust).err();
        (file.path, error)
    };
    read.map(check).collect()
}

/// Returns all files that may have hooks, those that take precedence first.
fn files(app: &AppContext) -> Vec<HookFile> {
    let hooks_in = |owner, directory: &Path| HookFile {
        format: FileFormat::Hooks,
        owner,
        path: directory.join("hooks.json"),
        directory: directory.to_owned(),
    };
    let claude_settings = |owner, path| HookFile {
        format: FileFormat::ClaudeSettings,
        owner,
        path,
        directory: app.workspace.clone(),
    };
    let home = &app.dirs.home;
    let mut files: Vec<_> =
        MANAGED_DIRS.map(|directory| hooks_in(FileOwner::Administrator, Path::new(directory))).into();
    files.push(claude_settings(FileOwner::Administrator, PathBuf::from(MANAGED_CLAUDE_SETTINGS)));
    files.extend(project_files(app));
    files.push(hooks_in(FileOwner::User, &home.join(".cursor")));
    files.push(hooks_in(FileOwner::User, app.dirs.config_directory()));
    files.push(claude_settings(FileOwner::User, home.join(".claude/settings.json")));
    files
}

/// Returns the files of the project that may have hooks, without those that are the user's own because the workspace is
/// the home directory.
fn project_files(app: &AppContext) -> impl Iterator<Item = HookFile> {
    let is_home = app.workspace == app.dirs.home;
    let hook_files = PROJECT_DIRS.into_iter().filter(move |directory| !is_home || *directory != ".cursor");
    let hook_files = hook_files.map(|directory| (FileFormat::Hooks, Path::new(directory).join("hooks.json")));
    let settings = PROJECT_CLAUDE_SETTINGS.into_iter().filter(move |name| !is_home || name.contains("local"));
    let settings = settings.map(|name| (FileFormat::ClaudeSettings, PathBuf::from(name)));
    let workspace = app.workspace.clone();
    hook_files.chain(settings).map(move |(format, path)| HookFile {
        format,
        owner: FileOwner::Project,
        path: workspace.join(path),
        directory: workspace.clone(),
    })
}

/// Whether a file of an untrusted project would have to be run. Settings of Claude Code often have no hooks.
fn has_untrusted_hooks(trust: &Trust, file: &HookFile) -> bool {
    match file.format {
        FileFormat::Hooks => trust.files.exists(&file.path),
        FileFormat::ClaudeSettings => {
            let mut config = HookConfig::default();
            let added = file.add_to(&mut config, trust);
            added.is_err() || config.commands().next().is_some()
        }
    }
}

/// Returns the file, the event and the command of each hook of the project, trusted or not.
///
/// # Errors
/// `BadJsonConfig` with line and column; the error of reading a file.
pub fn project_hooks(app: &AppContext) -> Result<Vec<(PathBuf, String, String)>, Reason> {
    let mut found = Vec::new();
    for file in project_files(app) {
        let mut config = HookConfig::default();
        file.add_readable_to(&mut config, &app.trust)?;
        let hooks = config.commands();
        found.extend(hooks.map(|(event, command)| (file.path.clone(), event.to_owned(), command.to_owned())));
    }
    Ok(found)
}

/// Returns the runner of the hooks in `config` for the run that `head` describes. `prompt_model` answers the hooks of type
/// `prompt`.
pub fn runner(
    config: HookConfig,
    app: &AppContext,
    head: &RunStarted,
    is_single_run: bool,
    prompt_model: Arc<dyn PromptModel>,
) -> Arc<HookRunner> {
    let mut environment = crate::mcp::inherited_environment(app);
    for name in ["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "IBEAM_PROJECT_DIR"] {
        environment.push((name.into(), app.workspace.clone().into()));
    }
    environment.push(("CURSOR_VERSION".into(), env!("CARGO_PKG_VERSION").into()));
    let Settings { limits, timeouts, .. } = &app.base.settings;
    let options = RunnerOptions {
        bash: app.programs.find("bash"),
        environment,
        process_limit: limits.process_count(),
        redactor: app.redactor().clone(),
        workspace: app.workspace.clone(),
        timeout: timeouts.hook.value,
        grace: timeouts.shutdown.value / 6,
        is_single_run,
        started_at: app.started_at,
        claude_calls: Some(Arc::new(CallForms { head: head.clone() })),
        prompt_model: Some(prompt_model),
    };
    HookRunner::new(config, head, options)
}

/// Converts the calls of a run to the form of Claude Code with the encoder of its stream.
struct CallForms {
    /// The description of the run.
    head: RunStarted,
}

impl ClaudeCalls for CallForms {
    fn call(&self, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Result<ClaudeCall, String> {
        let ClaudeCallForm { name, names, input, response } = ClaudeCallForm::new(&self.head, call, outcome)?;
        Ok(ClaudeCall { name, names, input, response })
    }

    fn arguments(&self, call: &ClaudeCall, input: Map<String, Value>) -> Result<Value, String> {
        let ClaudeCall { name, names, input: own, response } = call.clone();
        ClaudeCallForm { name, names, input: own, response }.arguments(input)
    }
}
