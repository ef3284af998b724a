//! The declared MCP servers, and whether each may start.
//!
//! The files, in order of precedence: the managed file, `--mcp-config`, the project's `.ibeam/config.toml`, its
//! `.ibeam/mcp.json`, `.mcp.json` and `.cursor/mcp.json`, the user's `config.toml` and `mcp.json`, the user's
//! `~/.cursor/mcp.json`. The first of them that declares a server provides the whole declaration, so that no project sends a user's token to its own program. An untrusted
//! project replaces nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_config::{Config, Origin, Value, config_file};
use ibeam_files::regular_file;
use ibeam_mcp::{Elicitation, RevisionChoice};
use ibeam_protocol::{McpStatus, Notice, Reason, sentence};

use super::auth_declaration::AuthDeclaration;
use super::json_file::{self, McpFile};
use crate::app::AppContext;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDeclaration {
    pub name: String,
    pub source: ServerSource,
    pub transport: ServerTransport,
    pub(crate) revision: RevisionChoice,
    pub(crate) elicitation: Elicitation,
    pub(crate) timeouts: ServerTimeouts,
    /// Whether a run fails if the server cannot be started.
    pub required: bool,
    /// `Connected` for a server that may start.
    pub status: McpStatus,
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
pub struct ServerSource {
    pub path: PathBuf,
    pub line: Option<u64>,
    pub is_of_project: bool,
}

/// The connection to a server. Placeholders are not filled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTransport {
    /// A process, over stdio.
    Command {
        command: String,
        args: Vec<String>,
        environment: Vec<(String, String)>,
        /// A file with further variables, relative to the workspace.
        environment_file: Option<String>,
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
pub struct HttpDeclaration {
    pub(crate) url: String,
    /// Headers of every request, name and value.
    pub(crate) headers: Vec<(String, String)>,
    /// The program, with its arguments, that prints further headers; empty for none.
    pub(crate) headers_command: Vec<String>,
    pub(crate) auth: AuthDeclaration,
}

impl ServerTransport {
    /// Returns the command line or the URL, for people.
    pub fn target(&self) -> String {
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

/// The declared servers, sorted by name, and the notices about what is wrong in files of other programs.
#[derive(Debug, Default)]
pub struct ServerDeclarations {
    pub servers: Vec<ServerDeclaration>,
    pub notices: Vec<Notice>,
}

/// Returns all declared servers.
///
/// # Errors
/// `BadConfig` or `BadJsonConfig` for a server without a command, and for a file of ibeam that is wrong; the error of
/// reading such a file.
pub fn declared_servers(app: &AppContext) -> Result<ServerDeclarations, Reason> {
    let trusted = is_project_trusted(app);
    let tables = server_tables(&app.base.config);
    let switch = |name: &str| tables.switch(name, trusted);
    let TablesByLayer { managed, user, project } = &tables;
    let mut servers = BTreeMap::new();
    let mut notices = Vec::new();
    if app.base.options.strict_mcp_config {
        servers.extend(servers_of_flag(app, &switch, &mut notices)?);
        servers.extend(declarations(managed, &switch)?);
        return Ok(ServerDeclarations { servers: servers.into_values().collect(), notices });
    }
    for file in user_files(app) {
        servers.extend(file.servers(app, &switch, &mut notices)?);
    }
    servers.extend(declarations(user, &switch)?);
    let mut of_project = BTreeMap::new();
    for file in project_files(app) {
        of_project.extend(file.servers(app, &switch, &mut notices)?);
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
    servers.extend(servers_of_flag(app, &switch, &mut notices)?);
    servers.extend(declarations(managed, &switch)?);
    Ok(ServerDeclarations { servers: servers.into_values().collect(), notices })
}

/// Returns all servers that the user declares in JSON, also those that other declarations replace. What is wrong in a file
/// is left out.
pub(super) fn users_json_servers(app: &AppContext) -> Vec<ServerDeclaration> {
    let mut notices = Vec::new();
    let mut found = Vec::new();
    for file in user_files(app) {
        let servers = JsonFile { is_strict: false, ..file }.servers(app, &|_| None, &mut notices);
        found.extend(servers.unwrap_or_default().into_values());
    }
    found.extend(servers_of_flag(app, &|_| None, &mut notices).unwrap_or_default().into_values());
    found
}

/// Returns the path of each JSON file that a run reads, with its error if the run ends for it. A file that is used only in
/// part is left out.
pub fn check_files(app: &AppContext) -> Vec<(PathBuf, Option<Reason>)> {
    if app.base.options.strict_mcp_config {
        return Vec::new();
    }
    let check = |file: JsonFile| {
        let mut notices = Vec::new();
        let error = file.servers(app, &|_| None, &mut notices).err();
        notices.is_empty().then_some((file.path, error))
    };
    user_files(app).into_iter().chain(project_files(app)).filter_map(check).collect()
}

/// Returns the errors of the tables `[mcp_servers.NAME]` and of `--mcp-config`.
pub fn declaration_errors(app: &AppContext) -> Vec<Reason> {
    let TablesByLayer { managed, user, project } = server_tables(&app.base.config);
    let is_strict = app.base.options.strict_mcp_config;
    let tables = [(&managed, true), (&user, !is_strict), (&project, !is_strict)];
    let used = tables.into_iter().filter_map(|(tables, is_used)| is_used.then_some(tables));
    let errors = used.filter_map(|tables| declarations(tables, &|_| None).err());
    errors.chain(servers_of_flag(app, &|_| None, &mut Vec::new()).err()).collect()
}

/// Whether the servers of the project may start.
fn is_project_trusted(app: &AppContext) -> bool {
    app.trust.is_trusted() || app.base.options.approve_mcps
}

/// A JSON file with servers.
struct JsonFile {
    path: PathBuf,
    is_of_project: bool,
    /// Whether the run ends if the file is wrong: a file of ibeam, not of another program or of a project that is not
    /// trusted.
    is_strict: bool,
}

/// Returns the JSON files of the user, the one that takes precedence last.
fn user_files(app: &AppContext) -> [JsonFile; 2] {
    let file = |path, is_strict| JsonFile { path, is_of_project: false, is_strict };
    [
        file(app.dirs.home.join(".cursor/mcp.json"), false),
        file(app.dirs.config_directory().join("mcp.json"), true),
    ]
}

/// Returns the JSON files of the project, the one that takes precedence last.
fn project_files(app: &AppContext) -> [JsonFile; 3] {
    let trusted = is_project_trusted(app);
    [(".cursor/mcp.json", false), (".mcp.json", false), (".ibeam/mcp.json", trusted)]
        .map(|(name, is_strict)| JsonFile { path: app.workspace.join(name), is_of_project: true, is_strict })
}

impl JsonFile {
    /// Returns the servers of the file by their names, and adds what is wrong in a file of another program to `notices`.
    ///
    /// # Errors
    /// What is wrong in a strict file.
    fn servers(
        &self,
        app: &AppContext,
        switch: &dyn Fn(&str) -> Option<bool>,
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeMap<String, ServerDeclaration>, Reason> {
        let bytes = match self.is_of_project {
            true => app.trust.files.bytes(&self.path),
            false => config_file::read(&self.path),
        };
        let bytes = match bytes.map_err(Reason::from) {
            Ok(bytes) => bytes,
            Err(error) if self.is_strict => return Err(error),
            Err(error) => {
                let path = self.path.display().to_string();
                notices.push(Notice::TextFileIgnored { path, detail: error.detail() });
                return Ok(BTreeMap::new());
            }
        };
        let parsed = json_file::parse(&self.path, bytes, self.is_of_project, switch);
        let warns_of_keys = !self.is_of_project || is_project_trusted(app);
        used_servers(parsed, &self.path, self.is_strict, warns_of_keys, notices)
    }
}

/// Returns the servers of a parsed file by their names, and adds what is not used to `notices`.
///
/// # Errors
/// What is wrong in a strict file.
fn used_servers(
    parsed: McpFile,
    path: &Path,
    is_strict: bool,
    warns_of_keys: bool,
    notices: &mut Vec<Notice>,
) -> Result<BTreeMap<String, ServerDeclaration>, Reason> {
    let McpFile { servers, faults, unknown_keys } = parsed;
    for fault in faults {
        if is_strict {
            return Err(fault.into_reason(path));
        }
        notices.push(fault.into_notice(path));
    }
    if warns_of_keys && !unknown_keys.is_empty() {
        let detail = "ibeam knows no such key".to_owned();
        notices.push(Notice::part_ignored(path, &unknown_keys.join(", "), detail));
    }
    Ok(servers.into_iter().map(|server| (server.name.clone(), server)).collect())
}

/// The flag with servers.
const FLAG: &str = "--mcp-config";

/// Returns the failure of a wrong value of the flag.
fn usage(reason: Reason) -> Reason {
    let Reason::BadJsonConfig { line, column, detail, .. } = reason else { return reason };
    let example = r#"{"mcpServers": {"db": {"command": "db-server"}}}"#;
    let (line, column) = (line.unwrap_or(1), column.unwrap_or(1));
    Reason::Usage {
        detail: sentence!(
            "`{flag}`, line {line}, column {column}: {detail}; e.g. {example}",
            flag = FLAG,
            line,
            column,
            detail,
            example,
        ),
    }
}

/// Returns the servers of `--mcp-config`: JSON, or a file with it.
fn servers_of_flag(
    app: &AppContext,
    switch: &dyn Fn(&str) -> Option<bool>,
    notices: &mut Vec<Notice>,
) -> Result<BTreeMap<String, ServerDeclaration>, Reason> {
    let mut servers = BTreeMap::new();
    for given in &app.base.options.mcp_config {
        let (path, bytes) = match given.trim_start().starts_with('{') {
            true => (PathBuf::from(FLAG), given.clone().into_bytes()),
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
        let is_inline = path == Path::new(FLAG);
        let parsed = json_file::parse(&path, Some(bytes), false, switch);
        let used = used_servers(parsed, &path, true, true, notices);
        servers.extend(used.map_err(|reason| if is_inline { usage(reason) } else { reason })?);
    }
    Ok(servers)
}

/// Returns the server that a program declares in a message, as an entry of `mcp.json`.
///
/// # Errors
/// A sentence about the mistake.
pub fn server_from_json(name: &str, entry: &serde_json::Value) -> Result<ServerDeclaration, String> {
    let document = serde_json::json!({ "mcpServers": { name: entry } }).to_string();
    let path = Path::new("mcp_set_servers");
    let McpFile { servers, faults, .. } =
        json_file::parse(path, Some(document.into_bytes()), false, &|_| None);
    match (faults.into_iter().next(), servers.into_iter().next()) {
        (None, Some(server)) if server.status == McpStatus::Unsupported => {
            Err("its transport `sse` is not supported".to_owned())
        }
        (None, Some(server)) => Ok(server),
        (Some(fault), _) => Err(fault.into_reason(path).detail()),
        (None, None) => Err("it is not a server".to_owned()),
    }
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
        let switch =
            |tables: &BTreeMap<String, ServerTable>| tables.get(name).and_then(|table| table.enabled);
        let project = switch(&self.project).filter(|on| trusts_project || !on);
        switch(&self.managed).or_else(|| switch(&self.user)).or(project)
    }
}

/// Collects the tables `[mcp_servers.NAME]` of the configuration.
fn server_tables(config: &Config) -> TablesByLayer {
    let mut tables = TablesByLayer::default();
    for (path, settings) in config.all_settings() {
        let [first, name, key @ ..] = path else { continue };
        if first != "mcp_servers" {
            continue;
        }
        for setting in settings {
            let (layer, path, line, is_of_project) = match &setting.origin {
                Origin::User { path, line } => (&mut tables.user, path, *line, false),
                Origin::Project { path, line } => (&mut tables.project, path, *line, true),
                Origin::Managed { path, line } => (&mut tables.managed, path, *line, false),
                Origin::Default | Origin::Env(_) | Origin::Flag(_) => continue,
            };
            let table = layer.entry(name.clone()).or_default();
            let first_line = table.source.as_ref().and_then(|source| source.line).unwrap_or(line).min(line);
            table.source = Some(ServerSource { path: path.clone(), line: Some(first_line), is_of_project });
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
            detail: format!("`mcp_servers.{name}` {message}").into(),
        };
        if let Some(mistake) = &table.mistake {
            return Err(invalid(mistake.clone()));
        }
        let transport = match (&table.command, &table.url) {
            (Some(command), _) => ServerTransport::Command {
                command: command.clone(),
                args: table.args.clone(),
                environment: table.environment.clone(),
                environment_file: None,
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
