//! The declared MCP servers, and whether each may start.
//!
//! The files, in order of precedence: the managed file, `--mcp-config`, the project's `.ibeam/config.toml`, its
//! `.cursor/mcp.json`, the user's `config.toml`, the user's `~/.cursor/mcp.json`. The first of them that declares a
//! server provides the whole declaration, so that no project sends a user's token to its own program. An untrusted
//! project replaces nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ibeam_config::{Origin, Value, config_file};
use ibeam_files::regular_file;
use ibeam_protocol::{McpStatus, Reason};

use super::cursor_file;
use crate::app::AppContext;

/// A declared server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerDeclaration {
    pub(crate) name: String,
    pub(crate) source: ServerSource,
    pub(crate) transport: ServerTransport,
    /// Whether a run fails if the server cannot be started.
    pub(crate) required: bool,
    /// `Connected` for a server that may start.
    pub(crate) status: McpStatus,
}

/// The file that declares a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerSource {
    pub(crate) path: PathBuf,
    pub(crate) line: Option<u64>,
    pub(crate) of_project: bool,
}

/// The connection to a server. Placeholders are not filled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerTransport {
    /// A process, over stdio.
    Command {
        command: String,
        args: Vec<String>,
        environment: Vec<(String, String)>,
        /// The working directory relative to the workspace; `None` for the workspace.
        directory: Option<String>,
    },
    /// A URL, over HTTP.
    Url(String),
}

impl ServerDeclaration {
    pub(super) fn new(name: String, source: ServerSource, transport: ServerTransport, enabled: bool) -> Self {
        let status = match transport {
            _ if !enabled => McpStatus::Disabled,
            ServerTransport::Command { .. } => McpStatus::Connected,
            ServerTransport::Url(_) => McpStatus::Unsupported,
        };
        Self { name, source, transport, required: false, status }
    }
}

/// Returns all declared servers, sorted by name.
///
/// # Errors
/// `BadConfig` for a file that cannot be read, or a server without a command.
pub(crate) fn declared_servers(app: &AppContext) -> Result<Vec<ServerDeclaration>, Reason> {
    let trusted = app.trust.is_trusted() || app.base.flags.approve_mcps;
    let TablesByLayer { managed, user, project } = server_tables(app);
    let switch = |name: &str| {
        let of = |tables: &BTreeMap<String, ServerTable>| tables.get(name).and_then(|table| table.enabled);
        // An untrusted project may disable a server, but not enable one that the user disabled.
        let of_project = of(&project).filter(|on| trusted || !on);
        of(&managed).or_else(|| of(&user)).or(of_project)
    };
    let mut servers = BTreeMap::new();
    if app.base.flags.strict_mcp_config {
        servers.extend(servers_of_flag(app, &switch)?);
        servers.extend(declarations(&managed, &switch)?);
        return Ok(servers.into_values().collect());
    }
    let path = app.dirs.home.join(".cursor/mcp.json");
    for server in cursor_file::parse(&path, config_file::read(&path)?, false, &switch)? {
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
    servers.extend(servers_of_flag(app, &switch)?);
    servers.extend(declarations(&managed, &switch)?);
    Ok(servers.into_values().collect())
}

/// Returns the servers of `--mcp-config`: JSON, or a file with it.
fn servers_of_flag(
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
                    regular_file::read(Path::new(given), config_file::MAX_BYTES).map_err(no_input)?,
                )
            }
        };
        for server in cursor_file::parse(&path, Some(bytes), false, switch)? {
            servers.insert(server.name.clone(), server);
        }
    }
    Ok(servers)
}

/// A table `[mcp_servers.NAME]` of one file.
#[derive(Default)]
struct ServerTable {
    source: Option<ServerSource>,
    command: Option<String>,
    args: Vec<String>,
    environment: Vec<(String, String)>,
    directory: Option<String>,
    url: Option<String>,
    required: bool,
    enabled: Option<bool>,
}

/// The tables of all files, by the kind of file and the name of the server.
#[derive(Default)]
struct TablesByLayer {
    managed: BTreeMap<String, ServerTable>,
    user: BTreeMap<String, ServerTable>,
    project: BTreeMap<String, ServerTable>,
}

/// Collects the tables `[mcp_servers.NAME]` of the configuration.
fn server_tables(app: &AppContext) -> TablesByLayer {
    let mut tables = TablesByLayer::default();
    for (path, settings) in app.base.config.all_settings() {
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
            table.set(key, &setting.value);
        }
    }
    tables
}

impl ServerTable {
    fn set(&mut self, key: &[String], value: &Value) {
        let key: Vec<&str> = key.iter().map(String::as_str).collect();
        match (key.as_slice(), value) {
            (["command"], Value::Text(text)) => self.command = Some(text.clone()),
            (["args"], Value::List(entries)) => self.args.clone_from(entries),
            (["env", name], Value::Text(text)) => self.environment.push(((*name).to_owned(), text.clone())),
            (["cwd"], Value::Text(text)) => self.directory = Some(text.clone()),
            (["url"], Value::Text(text)) => self.url = Some(text.clone()),
            (["required"], Value::Switch(on)) => self.required = *on,
            (["enabled"], Value::Switch(on)) => self.enabled = Some(*on),
            // The configuration accepts no other keys of a server.
            _ => {}
        }
    }
}

/// Returns the servers that the tables of one kind of file declare.
fn declarations(
    tables: &BTreeMap<String, ServerTable>,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> Result<BTreeMap<String, ServerDeclaration>, Reason> {
    let mut servers = BTreeMap::new();
    for (name, table) in tables {
        let Some(source) = &table.source else { continue };
        let transport = match (&table.command, &table.url) {
            (Some(command), _) => ServerTransport::Command {
                command: command.clone(),
                args: table.args.clone(),
                environment: table.environment.clone(),
                directory: table.directory.clone(),
            },
            (None, Some(url)) => ServerTransport::Url(url.clone()),
            // The table only enables or disables a server of another file.
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
        let server = ServerDeclaration::new(name.clone(), source.clone(), transport, enabled);
        servers.insert(name.clone(), ServerDeclaration { required: table.required, ..server });
    }
    Ok(servers)
}
