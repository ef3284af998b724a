//! The declared MCP servers, and whether each may start.
//!
//! The files, in order of precedence: the managed file, `--mcp-config`, the project's `.ibeam/config.toml`, its
//! `.ibeam/mcp.json`, `.mcp.json` and `.cursor/mcp.json`, the user's `config.toml` and `mcp.json`, the user's
//! `~/.cursor/mcp.json`. The first of them that declares a server provides the whole declaration, so that no project sends a user's token to its own program. An untrusted
//! project replaces nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_config::{Origin, Value, config_file};
use ibeam_files::regular_file;
use ibeam_mcp::{Elicitation, RevisionChoice};
use ibeam_protocol::{McpStatus, Reason};

use super::auth_declaration::AuthDeclaration;
use super::json_file;
use crate::app::AppContext;

/// A declared server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerDeclaration {
    pub(crate) name: String,
    pub(crate) source: ServerSource,
    pub(crate) transport: ServerTransport,
    pub(crate) revision: RevisionChoice,
    pub(crate) elicitation: Elicitation,
    pub(crate) timeouts: ServerTimeouts,
    /// Whether a run fails if the server cannot be started.
    pub(crate) required: bool,
    /// `Connected` for a server that may start.
    pub(crate) status: McpStatus,
}

/// The time limits of one server; `None` for those of all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerTimeouts {
    /// From the start of the server until it is ready.
    pub(crate) start: Option<Duration>,
    /// For one request.
    pub(crate) call: Option<Duration>,
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
    /// A URL, over streamable HTTP.
    Http(Box<HttpDeclaration>),
    /// A URL of the older transport with server-sent events, which is not supported.
    Sse(String),
}

/// A server over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpDeclaration {
    pub(crate) url: String,
    /// Headers of every request, name and value.
    pub(crate) headers: Vec<(String, String)>,
    /// The program, with its arguments, that prints further headers; empty for none.
    pub(crate) headers_command: Vec<String>,
    pub(crate) auth: AuthDeclaration,
}

impl ServerTransport {
    /// Returns the command line or the URL, for people.
    pub(crate) fn target(&self) -> String {
        match self {
            Self::Command { command, args, .. } => format!("{command} {}", args.join(" ")),
            Self::Http(http) => http.url.clone(),
            Self::Sse(url) => url.clone(),
        }
    }
}

impl ServerDeclaration {
    pub(super) fn new(name: String, source: ServerSource, transport: ServerTransport, enabled: bool) -> Self {
        let status = match transport {
            _ if !enabled => McpStatus::Disabled,
            ServerTransport::Command { .. } | ServerTransport::Http(_) => McpStatus::Connected,
            ServerTransport::Sse(_) => McpStatus::Unsupported,
        };
        let (revision, elicitation) = (RevisionChoice::default(), Elicitation::default());
        let timeouts = ServerTimeouts::default();
        Self { name, source, transport, revision, elicitation, timeouts, required: false, status }
    }

    /// Sets the revision of the protocol, if one is given.
    ///
    /// # Errors
    /// The end of a sentence that begins with the name of the server.
    pub(super) fn set_revision(&mut self, value: Option<&str>) -> Result<(), String> {
        if let Some(value) = value {
            self.revision = RevisionChoice::parse(value).ok_or_else(|| {
                format!("has the unknown revision `{value}`; use `auto`, `2025-11-25` or `2026-07-28`")
            })?;
        }
        Ok(())
    }

    /// Sets the answer to questions of the server, if one is given.
    ///
    /// # Errors
    /// The end of a sentence that begins with the name of the server.
    pub(super) fn set_elicitation(&mut self, value: Option<&str>) -> Result<(), String> {
        self.elicitation = match value {
            None => self.elicitation,
            Some("decline") => Elicitation::Decline,
            Some("defaults") => Elicitation::Defaults,
            Some(value) => {
                return Err(format!("has the unknown elicitation `{value}`; use `decline` or `defaults`"));
            }
        };
        Ok(())
    }
}

/// Returns all declared servers, sorted by name.
///
/// # Errors
/// `BadConfig` or `BadJsonConfig` for a server without a command, and for a file that is wrong; the error of reading a
/// file.
pub(crate) fn declared_servers(app: &AppContext) -> Result<Vec<ServerDeclaration>, Reason> {
    let trusted = is_project_trusted(app);
    let tables = server_tables(app);
    let switch = |name: &str| tables.switch(name, trusted);
    let TablesByLayer { managed, user, project } = &tables;
    let mut servers = BTreeMap::new();
    if app.base.flags.strict_mcp_config {
        servers.extend(servers_of_flag(app, &switch)?);
        servers.extend(declarations(managed, &switch)?);
        return Ok(servers.into_values().collect());
    }
    for path in user_files(app) {
        let of_file = servers_of_file(app, &path, false, &switch)?;
        servers.extend(of_file.into_iter().map(|server| (server.name.clone(), server)));
    }
    servers.extend(declarations(user, &switch)?);
    let mut of_project = BTreeMap::new();
    for path in project_files(app) {
        let of_file = servers_of_file(app, &path, true, &switch)?;
        of_project.extend(of_file.into_iter().map(|server| (server.name.clone(), server)));
    }
    of_project.extend(declarations(project, &switch)?);
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
    servers.extend(declarations(managed, &switch)?);
    Ok(servers.into_values().collect())
}

/// Returns the path of each JSON file that a run reads, with its error if it has one.
pub(crate) fn check_files(app: &AppContext) -> Vec<(PathBuf, Option<Reason>)> {
    if app.base.flags.strict_mcp_config {
        return Vec::new();
    }
    let files = user_files(app).map(|path| (path, false)).into_iter();
    let files = files.chain(project_files(app).map(|path| (path, true)));
    let check = |(path, of_project): (PathBuf, bool)| {
        let error = servers_of_file(app, &path, of_project, &|_| None).err();
        (path, error)
    };
    files.map(check).collect()
}

/// Returns the errors of the tables `[mcp_servers.NAME]` and of `--mcp-config`.
pub(crate) fn declaration_errors(app: &AppContext) -> Vec<Reason> {
    let TablesByLayer { managed, user, project } = server_tables(app);
    let is_strict = app.base.flags.strict_mcp_config;
    let tables = [(&managed, true), (&user, !is_strict), (&project, !is_strict)];
    let used = tables.into_iter().filter_map(|(tables, is_used)| is_used.then_some(tables));
    let errors = used.filter_map(|tables| declarations(tables, &|_| None).err());
    errors.chain(servers_of_flag(app, &|_| None).err()).collect()
}

/// Whether the servers of the project may start.
fn is_project_trusted(app: &AppContext) -> bool {
    app.trust.is_trusted() || app.base.flags.approve_mcps
}

/// Returns the JSON files of the user, the one that takes precedence last.
fn user_files(app: &AppContext) -> [PathBuf; 2] {
    [app.dirs.home.join(".cursor/mcp.json"), app.dirs.config_directory().join("mcp.json")]
}

/// Returns the JSON files of the project, the one that takes precedence last.
fn project_files(app: &AppContext) -> [PathBuf; 3] {
    [".cursor/mcp.json", ".mcp.json", ".ibeam/mcp.json"].map(|name| app.workspace.join(name))
}

/// Returns the servers of a JSON file of the user or the project.
fn servers_of_file(
    app: &AppContext,
    path: &Path,
    of_project: bool,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> Result<Vec<ServerDeclaration>, Reason> {
    let bytes = if of_project { app.trust.files.bytes(path)? } else { config_file::read(path)? };
    json_file::parse(path, bytes, of_project, switch)
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
        for server in json_file::parse(&path, Some(bytes), false, switch)? {
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
    headers: Vec<(String, String)>,
    headers_command: Vec<String>,
    auth: AuthDeclaration,
    /// The end of a sentence about a wrong key.
    mistake: Option<String>,
    revision: Option<String>,
    elicitation: Option<String>,
    timeouts: ServerTimeouts,
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

impl TablesByLayer {
    /// Returns whether the tables enable or disable a server. An untrusted project may disable a server, but not enable
    /// one that the user disabled.
    fn switch(&self, name: &str, trusts_project: bool) -> Option<bool> {
        let of = |tables: &BTreeMap<String, ServerTable>| tables.get(name).and_then(|table| table.enabled);
        let of_project = of(&self.project).filter(|on| trusts_project || !on);
        of(&self.managed).or_else(|| of(&self.user)).or(of_project)
    }
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
            (["headers", name], Value::Text(text)) => self.headers.push(((*name).to_owned(), text.clone())),
            (["headers_command"], Value::List(entries)) => self.headers_command.clone_from(entries),
            (["auth", "scopes"], Value::List(entries)) => self.auth.scopes.clone_from(entries),
            (["auth", "redirect_port"], Value::Number(port)) => match u16::try_from(*port) {
                Ok(port) => self.auth.redirect_port = Some(port),
                Err(_) => self.mistake = Some("has a `redirect_port` over 65535".to_owned()),
            },
            (["auth", name], Value::Text(text)) => self.mistake = self.auth.set(name, text).err(),
            (["revision"], Value::Text(text)) => self.revision = Some(text.clone()),
            (["elicitation"], Value::Text(text)) => self.elicitation = Some(text.clone()),
            (["start_timeout"], Value::Time(time)) => self.timeouts.start = Some(*time),
            (["call_timeout"], Value::Time(time)) => self.timeouts.call = Some(*time),
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
        let invalid = |message: String| Reason::BadConfig {
            path: source.path.display().to_string(),
            line: source.line,
            column: None,
            detail: format!("`mcp_servers.{name}` {message}"),
        };
        if let Some(mistake) = &table.mistake {
            return Err(invalid(mistake.clone()));
        }
        let transport = match (&table.command, &table.url) {
            (Some(command), _) => ServerTransport::Command {
                command: command.clone(),
                args: table.args.clone(),
                environment: table.environment.clone(),
                directory: table.directory.clone(),
            },
            (None, Some(url)) => ServerTransport::Http(Box::new(HttpDeclaration {
                url: url.clone(),
                headers: table.headers.clone(),
                headers_command: table.headers_command.clone(),
                auth: table.auth.clone(),
            })),
            // The table only enables or disables a server of another file.
            (None, None) if table.enabled.is_some() => continue,
            (None, None) => return Err(invalid("has neither `command` nor `url`".to_owned())),
        };
        let enabled = switch(name).unwrap_or(true);
        let mut server = ServerDeclaration::new(name.clone(), source.clone(), transport, enabled);
        server.set_revision(table.revision.as_deref()).map_err(invalid)?;
        server.set_elicitation(table.elicitation.as_deref()).map_err(invalid)?;
        let ServerTable { timeouts, required, .. } = *table;
        servers.insert(name.clone(), ServerDeclaration { timeouts, required, ..server });
    }
    Ok(servers)
}
