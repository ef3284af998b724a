//! A server as the files speak of it, and whether it may start.
//!
//! Strongest first: the managed file, `--mcp-config`, the project's `.ibeam/config.toml`, its `.cursor/mcp.json`, the user's
//! `config.toml`, the user's `~/.cursor/mcp.json`. The strongest file that names a server counts whole, so that no
//! project sends a user's token to a program of its own; a project that is not trusted replaces nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ibeam_config::{Origin, Value, source};
use ibeam_files::regular_file;
use ibeam_protocol::{McpStatus, Reason};

use super::cursor_file;
use crate::app::AppContext;

/// A server that some file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerDeclaration {
    pub(crate) name: String,
    pub(crate) source: ServerSource,
    pub(crate) launch: Transport,
    /// Without it there is no run.
    pub(crate) required: bool,
    /// `Connected` for one that may start.
    pub(crate) status: McpStatus,
}

/// The file that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerSource {
    pub(crate) path: PathBuf,
    pub(crate) line: Option<u64>,
    pub(crate) of_project: bool,
}

/// How it is reached. Placeholders are not filled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// As a process, over stdio.
    Command {
        command: String,
        args: Vec<String>,
        environment: Vec<(String, String)>,
        /// Relative to the workspace, which it is by default.
        directory: Option<String>,
    },
    /// Over HTTP.
    Url(String),
}

impl ServerDeclaration {
    pub(super) fn new(name: String, source: ServerSource, launch: Transport, enabled: bool) -> Self {
        let status = match launch {
            _ if !enabled => McpStatus::Disabled,
            Transport::Command { .. } => McpStatus::Connected,
            Transport::Url(_) => McpStatus::Unsupported,
        };
        Self { name, source, launch, required: false, status }
    }
}

/// Every server that the files name, by name.
///
/// # Errors
/// `BadConfig` for a file that cannot be read, or a server without a command.
pub(crate) fn declared_servers(app: &AppContext) -> Result<Vec<ServerDeclaration>, Reason> {
    let trusted = app.trust.is_trusted() || app.base.flags.approve_mcps;
    let Tables { managed, user, project } = tables(app);
    let switch = |name: &str| {
        let of = |tables: &BTreeMap<String, Table>| tables.get(name).and_then(|table| table.enabled);
        // A stranger may switch a server off, not one on that the user has switched off.
        let of_project = of(&project).filter(|on| trusted || !on);
        of(&managed).or_else(|| of(&user)).or(of_project)
    };
    let mut servers = BTreeMap::new();
    if app.base.flags.strict_mcp_config {
        servers.extend(given(app, &switch)?);
        servers.extend(declarations(&managed, &switch)?);
        return Ok(servers.into_values().collect());
    }
    let path = app.dirs.home.join(".cursor/mcp.json");
    for server in cursor_file::parse(&path, source::read(&path)?, false, &switch)? {
        servers.insert(server.name.clone(), server);
    }
    servers.extend(declarations(&user, &switch)?);
    let mut of_project = BTreeMap::new();
    let path = app.workspace.join(".cursor/mcp.json");
    for server in cursor_file::parse(&path, app.trust.files.bytes(&path)?, true, &switch)? {
        of_project.insert(server.name.clone(), server);
    }
    of_project.extend(declarations(&project, &switch)?);
    for (name, mut server) in of_project {
        if trusted {
            servers.insert(name, server);
        } else {
            if server.status != McpStatus::Disabled {
                server.status = McpStatus::Untrusted;
            }
            servers.entry(name).or_insert(server);
        }
    }
    servers.extend(given(app, &switch)?);
    servers.extend(declarations(&managed, &switch)?);
    Ok(servers.into_values().collect())
}

/// The servers of `--mcp-config`: JSON, or a file of it.
fn given(
    app: &AppContext,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> Result<BTreeMap<String, ServerDeclaration>, Reason> {
    let mut servers = BTreeMap::new();
    for given in &app.base.flags.mcp_config {
        let (path, bytes) = match given.trim_start().starts_with('{') {
            true => (PathBuf::from("--mcp-config"), given.clone().into_bytes()),
            false => {
                let no_input = |error: std::io::Error| Reason::NoInput {
                    path: given.clone(),
                    detail: error.to_string(),
                };
                (
                    PathBuf::from(given),
                    regular_file::read(Path::new(given), source::MAX_BYTES).map_err(no_input)?,
                )
            }
        };
        for server in cursor_file::parse(&path, Some(bytes), false, switch)? {
            servers.insert(server.name.clone(), server);
        }
    }
    Ok(servers)
}

/// `[mcp_servers.NAME]` of one file.
#[derive(Default)]
struct Table {
    source: Option<ServerSource>,
    command: Option<String>,
    args: Vec<String>,
    environment: Vec<(String, String)>,
    directory: Option<String>,
    url: Option<String>,
    required: bool,
    enabled: Option<bool>,
}

#[derive(Default)]
struct Tables {
    managed: BTreeMap<String, Table>,
    user: BTreeMap<String, Table>,
    project: BTreeMap<String, Table>,
}

fn tables(app: &AppContext) -> Tables {
    let mut tables = Tables::default();
    for (path, settings) in app.base.config.all() {
        let [first, name, key @ ..] = path else { continue };
        if first != "mcp_servers" {
            continue;
        }
        for setting in settings {
            let (layer, path, line, of_project) = match &setting.origin {
                Origin::User { path, line } => (&mut tables.user, path, *line, false),
                Origin::Project { path, line } => (&mut tables.project, path, *line, true),
                Origin::Managed { path, line } => (&mut tables.managed, path, *line, false),
                Origin::Default | Origin::Env(_) | Origin::Flag(_) => continue,
            };
            let table = layer.entry(name.clone()).or_default();
            let first_line = table.source.as_ref().and_then(|source| source.line).unwrap_or(line).min(line);
            table.source = Some(ServerSource { path: path.clone(), line: Some(first_line), of_project });
            table.take(key, &setting.value);
        }
    }
    tables
}

impl Table {
    fn take(&mut self, key: &[String], value: &Value) {
        let key: Vec<&str> = key.iter().map(String::as_str).collect();
        match (key.as_slice(), value) {
            (["command"], Value::Text(text)) => self.command = Some(text.clone()),
            (["args"], Value::List(entries)) => self.args.clone_from(entries),
            (["env", name], Value::Text(text)) => self.environment.push(((*name).to_owned(), text.clone())),
            (["cwd"], Value::Text(text)) => self.directory = Some(text.clone()),
            (["url"], Value::Text(text)) => self.url = Some(text.clone()),
            (["required"], Value::Switch(on)) => self.required = *on,
            (["enabled"], Value::Switch(on)) => self.enabled = Some(*on),
            // `keys.rs` lets nothing else through.
            _ => {}
        }
    }
}

fn declarations(
    tables: &BTreeMap<String, Table>,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> Result<BTreeMap<String, ServerDeclaration>, Reason> {
    let mut servers = BTreeMap::new();
    for (name, table) in tables {
        let Some(source) = &table.source else { continue };
        let launch = match (&table.command, &table.url) {
            (Some(command), _) => Transport::Command {
                command: command.clone(),
                args: table.args.clone(),
                environment: table.environment.clone(),
                directory: table.directory.clone(),
            },
            (None, Some(url)) => Transport::Url(url.clone()),
            // It switches a server of another file.
            (None, None) if table.enabled.is_some() => continue,
            (None, None) => {
                return Err(Reason::BadConfig {
                    path: source.path.display().to_string(),
                    line: source.line,
                    column: None,
                    detail: format!("`mcp_servers.{name}` has neither `command` nor `url`"),
                });
            }
        };
        let enabled = switch(name).unwrap_or(true);
        let server = ServerDeclaration::new(name.clone(), source.clone(), launch, enabled);
        servers.insert(name.clone(), ServerDeclaration { required: table.required, ..server });
    }
    Ok(servers)
}
