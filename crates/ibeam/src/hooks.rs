//! Finds the hook files of a run and starts their runner.
//!
//! A project's files count only in a trusted workspace. A missing file has no hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_config::{ConfigError, config_file};
use ibeam_hooks::{HookConfig, HookRunner, HooksFileError, RunnerOptions};
use ibeam_protocol::{Notice, Reason, SessionStarted};

use crate::app::AppContext;

/// The directories of the administrator's hook files.
const MANAGED_DIRS: [&str; 2] = ["/etc/cursor", "/etc/ibeam"];
/// The directories of a project that may contain a hook file.
const PROJECT_DIRS: [&str; 2] = [".cursor", ".ibeam"];

/// Reads all hook files, those that take precedence first.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn load(app: &AppContext) -> Result<HookConfig, Reason> {
    let mut config = HookConfig::default();
    let home = &app.dirs.home;
    for directory in MANAGED_DIRS.map(Path::new) {
        let path = directory.join("hooks.json");
        add(&mut config, config_file::read_managed(&path)?, &path, directory)?;
    }
    for directory in PROJECT_DIRS {
        let path = app.workspace.join(directory).join("hooks.json");
        if app.workspace == *home && directory == ".cursor" {
            // This file is the user's own, which is added below.
            continue;
        }
        if app.trust.is_trusted() {
            add(&mut config, app.trust.files.bytes(&path)?, &path, &app.workspace)?;
        } else if app.trust.files.exists(&path) {
            config.notices.push(Notice::HooksUntrusted { path: path.display().to_string() });
        }
    }
    for directory in [&home.join(".cursor"), app.dirs.config_directory()] {
        let path = directory.join("hooks.json");
        add(&mut config, config_file::read(&path)?, &path, directory)?;
    }
    Ok(config)
}

/// Returns the file, the event and the command of each hook of the project, trusted or not.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn project_hooks(app: &AppContext) -> Result<Vec<(PathBuf, String, String)>, Reason> {
    let mut found = Vec::new();
    for directory in PROJECT_DIRS {
        let path = app.workspace.join(directory).join("hooks.json");
        let mut config = HookConfig::default();
        add(&mut config, app.trust.files.bytes(&path)?, &path, &app.workspace)?;
        let hooks = config.commands();
        found.extend(hooks.map(|(event, command)| (path.clone(), event.to_owned(), command.to_owned())));
    }
    Ok(found)
}

/// Returns the runner of the hooks in `config` for the run that `head` describes.
pub(crate) fn runner(
    config: HookConfig,
    app: &AppContext,
    head: &SessionStarted,
    is_single_run: bool,
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
    };
    HookRunner::new(config, head, options)
}

/// Adds the hooks of a file to `config`.
fn add(
    config: &mut HookConfig,
    bytes: Option<Vec<u8>>,
    path: &Path,
    directory: &Path,
) -> Result<(), ConfigError> {
    let Some(bytes) = bytes else { return Ok(()) };
    config.add_file(&bytes, path, directory).map_err(|error| {
        let HooksFileError { line, column, message } = error;
        ConfigError::at(path, line, column, message)
    })
}
