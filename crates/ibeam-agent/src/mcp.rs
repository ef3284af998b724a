//! The MCP servers of a run: which are declared, which may start, and the status of each.
//!
//! All servers start at the same time, and the first model request waits for them, so that no run silently lacks tools.
//! The servers of a project start only in a trusted workspace: their author is unknown.

mod auth_declaration;
mod command_line;
mod declaration;
mod environment_file;
mod http_server;
mod json_file;
mod login;
mod placeholder;
pub mod plain_secret;
mod secret_files;
mod tool_fingerprint;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ibeam_config::ServerTools;
use ibeam_core::{Stop, Tool, ToolSet};
use ibeam_mcp::{
    Launcher, Questioner, Server, ServerConfig, StartError, StdioConfig, TransportConfig, UserAgent,
};
use ibeam_protocol::{McpServer, McpStatus, Notice, PermissionMode, Reason, ToolSpec};
use tokio::io::DuplexStream;

use crate::app::AppContext;
use crate::programs::Programs;
pub use declaration::{
    ServerDeclaration, ServerDeclarations, ServerTransport, check_files, declaration_errors,
    declared_servers, server_from_json,
};
pub use login::{TerminalUser, login_file};
pub(crate) use secret_files::secret_files;

use placeholder::Placeholders;
use tool_fingerprint::tool_fingerprint;

/// The time limit for a server to end after its stdin was closed, and again after SIGTERM.
pub const GRACE: Duration = Duration::from_millis(500);

/// The servers of a run. Dropping them kills those that still run.
#[derive(Default)]
pub(crate) struct McpServers {
    running: Vec<Arc<Server>>,
    /// The names of the servers that files of the project declare.
    of_project: BTreeSet<String>,
    /// The status of every declared server.
    pub(crate) statuses: Vec<McpServer>,
    /// Tools that differ from the approved ones, by server and name.
    pub(crate) unapproved: Vec<(String, String)>,
    /// Warnings about servers.
    pub(crate) notices: Vec<Notice>,
}

impl McpServers {
    /// Returns servers with these statuses, none of which runs.
    pub(crate) fn with_statuses(statuses: Vec<McpServer>) -> Self {
        Self { statuses, ..Self::default() }
    }

    /// Starts all servers that may start, and waits until each is ready or has failed. `person` asks a person their
    /// questions.
    ///
    /// # Errors
    /// `McpServerFailed` for a required server; the reason of a stop. No server runs after an error.
    pub(crate) async fn start_all(
        app: &AppContext,
        declarations: ServerDeclarations,
        person: Option<Arc<dyn Questioner>>,
        stop: &Stop,
    ) -> Result<Self, Reason> {
        let launcher = Arc::new(Launcher::new(app.base.settings.limits.process_count()));
        let ServerDeclarations { servers: declared, notices } = declarations;
        let started = join_all(declared.into_iter().map(async |declaration| {
            let outcome = match declaration.status {
                McpStatus::Connected => {
                    let (launcher, people) = (Arc::clone(&launcher), ServerPeople::answering(person.clone()));
                    start_server(app, &declaration, launcher, people).await.map(Some)
                }
                McpStatus::Unsupported if declaration.required => {
                    Err("its transport `sse` is not supported".to_owned())
                }
                McpStatus::Failed | McpStatus::Untrusted | McpStatus::Unsupported | McpStatus::Disabled => {
                    Ok(None)
                }
            };
            (declaration, outcome)
        }));
        let started = tokio::select! {
            biased;
            reason = stop.wait() => return Err(reason),
            started = started => started,
        };
        let mut servers = Self { notices, ..Self::default() };
        for (declaration, outcome) in started {
            if declaration.source.is_of_project {
                servers.of_project.insert(declaration.name.clone());
            }
            servers.add(declaration, outcome)?;
        }
        servers.check_approved_tools(app);
        Ok(servers)
    }

    /// Adds the servers of the host, each connected by a stream, and waits until each is ready or has failed.
    ///
    /// # Errors
    /// The reason of a stop.
    pub(crate) async fn attach(
        &mut self,
        app: &AppContext,
        streams: Vec<(String, DuplexStream)>,
        stop: &Stop,
    ) -> Result<(), Reason> {
        let (start, call) =
            (app.base.settings.timeouts.mcp_start.value, app.base.settings.timeouts.mcp_call.value);
        let attached = join_all(streams.into_iter().map(async |(name, stream)| {
            let (output, input) = tokio::io::split(stream);
            let server = Server::attach(name.clone(), input, output, start, call).await;
            (name, server)
        }));
        let attached = tokio::select! {
            biased;
            reason = stop.wait() => return Err(reason),
            attached = attached => attached,
        };
        for (name, server) in attached {
            let status = match server {
                Ok(server) => {
                    self.running.push(Arc::new(server));
                    McpStatus::Connected
                }
                Err(error) => {
                    let detail = error.to_string();
                    self.notices.push(Notice::McpServerFailed { server: name.clone(), detail });
                    McpStatus::Failed
                }
            };
            self.statuses.push(McpServer { name, status });
        }
        Ok(())
    }

    /// Requests the lists of tools again that have expired or changed. If any tool is another one now, checks the approval
    /// of all tools again, and replaces the notices.
    pub(crate) async fn refresh_tools(&mut self, app: &AppContext) -> bool {
        let refreshed = join_all(self.running.iter().map(|server| server.refresh_tools())).await;
        if !refreshed.contains(&true) {
            return false;
        }
        self.unapproved.clear();
        self.notices.clear();
        self.check_approved_tools(app);
        true
    }

    /// With `--approve-mcps`, stores the tools of all servers as approved; without it, records those that have changed
    /// since they were approved.
    fn check_approved_tools(&mut self, app: &AppContext) {
        let tools_of = |server: &Arc<Server>| {
            let tools = server.tools();
            let fingerprints = tools.iter().map(|tool| (tool.name.clone(), tool_fingerprint(tool)));
            (Arc::clone(server), fingerprints.collect::<Vec<_>>())
        };
        let servers: Vec<_> = self.running.iter().map(tools_of).collect();
        let servers = servers.iter().map(|(server, tools)| {
            let project = self.of_project.contains(server.name()).then_some(app.workspace.as_path());
            ServerTools { name: server.name(), project, tools: tools.clone() }
        });
        let store = &app.trust.store;
        if app.base.options.approve_mcps {
            if let Err(detail) = store.approve_tools(servers) {
                self.notices.push(Notice::TrustNotSaved { path: store.path().display().to_string(), detail });
            }
            return;
        }
        // A store that cannot be read has its own notice; which tools were approved is then unknown.
        let approved = store.load();
        for server in servers {
            let tools = match &approved {
                Ok(approved) => approved.changed_tools(&server),
                Err(_) => server.tools.iter().map(|(name, _)| name.clone()).collect(),
            };
            let server = server.name.to_owned();
            if !tools.is_empty() {
                let (server, tools) = (server.clone(), tools.join(", "));
                self.notices.push(Notice::McpToolsChanged { server, tools });
            }
            self.unapproved.extend(tools.into_iter().map(|tool| (server.clone(), tool)));
        }
    }

    /// Adds a declared server with the result of its start.
    ///
    /// # Errors
    /// `McpServerFailed` or `Untrusted` for a required server.
    fn add(
        &mut self,
        declaration: ServerDeclaration,
        outcome: Result<Option<Server>, String>,
    ) -> Result<(), Reason> {
        let ServerDeclaration { name: server, mut status, source, required, .. } = declaration;
        match outcome {
            Ok(running) => {
                let left_out = running.as_ref().map(|running| running.left_out_tools().join(", "));
                if let Some(tools) = left_out.filter(|tools| !tools.is_empty()) {
                    self.notices.push(Notice::McpToolsLeftOut { server: server.clone(), tools });
                }
                self.running.extend(running.map(Arc::new));
            }
            Err(detail) if required => return Err(Reason::McpServerFailed { server, detail }),
            Err(detail) => {
                status = McpStatus::Failed;
                self.notices.push(Notice::McpServerFailed { server: server.clone(), detail });
            }
        }
        match status {
            McpStatus::Untrusted if required => {
                let (what, path) = (format!("mcp_servers.{server}"), source.path.display().to_string());
                return Err(Reason::Untrusted { what, path });
            }
            McpStatus::Untrusted => {
                let path = source.path.display().to_string();
                self.notices.push(Notice::McpServerUntrusted { server: server.clone(), path });
            }
            McpStatus::Unsupported => {
                self.notices.push(Notice::McpServerUnsupported { server: server.clone() });
            }
            McpStatus::Connected | McpStatus::Failed | McpStatus::Disabled => {}
        }
        self.statuses.push(McpServer { name: server, status });
        Ok(())
    }

    /// Returns the tools of all running servers, and those for their resources. They are the same in every mode, so that a
    /// session keeps its list of tools when its mode changes; the policy refuses what a mode does not allow.
    pub(crate) fn tools(&self) -> ToolSet {
        let mut tools = self.resource_tools();
        tools.extend(ibeam_mcp::tool_set(&self.running, false));
        tools
    }

    pub(crate) fn read_only_tools(&self) -> ToolSet {
        let mut tools = self.resource_tools();
        tools.extend(ibeam_mcp::tool_set(&self.running, true));
        tools
    }

    /// Returns the tools for the resources of the running servers.
    pub(crate) fn resource_tools(&self) -> ToolSet {
        ibeam_mcp::resource_tools(&self.running)
    }

    /// Returns the descriptions of the tools of each running server.
    pub(crate) fn tools_by_server(&self) -> Vec<(String, Vec<ToolSpec>)> {
        let describe_tools = |server: &Arc<Server>| {
            let tools = ibeam_mcp::tool_set(std::slice::from_ref(server), false);
            (server.name().to_owned(), tools.values().map(|tool| tool.spec()).collect())
        };
        self.running.iter().map(describe_tools).collect()
    }

    /// Returns the running servers that have prompts.
    pub(crate) fn with_prompts(&self) -> Vec<Arc<Server>> {
        self.running.iter().filter(|server| server.has_prompts()).map(Arc::clone).collect()
    }

    /// Returns the running server of this name.
    pub(crate) fn find(&self, server: &str) -> Option<&Server> {
        self.running.iter().find(|running| running.name() == server).map(Arc::as_ref)
    }

    /// Whether the server of this name runs.
    pub(crate) fn is_running(&self, server: &str) -> bool {
        self.find(server).is_some()
    }

    /// Returns a tool of a running server; in a read-only mode, only one that reads.
    pub(crate) fn find_tool(&self, server: &str, tool: &str, mode: PermissionMode) -> Option<Arc<dyn Tool>> {
        ibeam_mcp::find_tool(&self.running, server, tool, is_read_only(mode))
    }

    /// Ends the servers with these names.
    pub(crate) async fn remove(&mut self, names: &[String]) {
        let is_removed = |name: &str| names.iter().any(|removed| removed == name);
        let ending: Vec<_> = self.running.extract_if(.., |server| is_removed(server.name())).collect();
        join_all(ending.iter().map(|server| server.shut_down(GRACE))).await;
        self.statuses.retain(|server| !is_removed(&server.name));
        self.unapproved.retain(|(server, _)| !is_removed(server));
    }

    /// Adds the servers of `other`.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { running, of_project, statuses, unapproved, notices } = other;
        self.running.extend(running);
        self.of_project.extend(of_project);
        self.statuses.extend(statuses);
        self.unapproved.extend(unapproved);
        self.notices.extend(notices);
    }

    /// Ends every server and everything that it started, within `timeout`.
    pub(crate) async fn shut_down(&self, timeout: Duration) {
        let grace = GRACE.min(timeout / 3);
        join_all(self.running.iter().map(|server| server.shut_down(grace))).await;
    }
}

/// Whether a run in this mode may only read.
fn is_read_only(mode: PermissionMode) -> bool {
    match mode {
        PermissionMode::Default | PermissionMode::Force => false,
        PermissionMode::Plan | PermissionMode::Ask => true,
    }
}

/// The limit of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);

/// The people who are there while a server starts and runs.
#[derive(Default)]
pub struct ServerPeople {
    /// Logs in to the server if that is needed.
    pub user: Option<Arc<dyn UserAgent>>,
    /// Asks a person the questions of the server.
    pub questioner: Option<Arc<dyn Questioner>>,
}

impl ServerPeople {
    /// Returns the people of a run, in which nobody logs in.
    fn answering(questioner: Option<Arc<dyn Questioner>>) -> Self {
        Self { user: None, questioner }
    }
}

/// Starts or reaches a declared server.
///
/// # Errors
/// The message why it could not be started.
pub async fn start_server(
    app: &AppContext,
    declaration: &ServerDeclaration,
    launcher: Arc<Launcher>,
    people: ServerPeople,
) -> Result<Server, String> {
    let config = config_of(app, declaration, launcher, people)?;
    Server::start(config).await.map_err(|error: StartError| error.to_string())
}

/// Returns the URL of a declared server, with all placeholders filled.
///
/// # Errors
/// The message why there is none.
pub fn server_url(app: &AppContext, declaration: &ServerDeclaration) -> Result<String, String> {
    match &declaration.transport {
        ServerTransport::Http(http) => Filler::new(app, declaration).fill(&http.url),
        ServerTransport::Command { .. } | ServerTransport::Sse(_) => {
            Err(format!("`{}` is not a server over HTTP, so there is no login", declaration.name))
        }
    }
}

/// Returns the configuration to start a declared server, with all placeholders filled.
///
/// # Errors
/// The message why the server cannot be started.
fn config_of(
    app: &AppContext,
    declaration: &ServerDeclaration,
    launcher: Arc<Launcher>,
    people: ServerPeople,
) -> Result<ServerConfig, String> {
    let ServerPeople { user, questioner } = people;
    let start_timeout = match user {
        // A person needs more time than a server.
        Some(_) => LOGIN_TIMEOUT,
        None => declaration.timeouts.start.unwrap_or(app.base.settings.timeouts.mcp_start.value),
    };
    let filler = Filler::new(app, declaration);
    let transport = match &declaration.transport {
        ServerTransport::Command { .. } => TransportConfig::Stdio(stdio_config(app, declaration, launcher)?),
        ServerTransport::Http(http) => {
            TransportConfig::Http(Box::new(http_server::config(app, &declaration.name, http, &filler, user)?))
        }
        ServerTransport::Sse(_) => return Err("its transport `sse` is not supported".to_owned()),
    };
    Ok(ServerConfig {
        name: declaration.name.clone(),
        transport,
        revision: declaration.revision,
        elicitation: declaration.elicitation,
        questioner,
        start_timeout,
        call_timeout: declaration.timeouts.call.unwrap_or(app.base.settings.timeouts.mcp_call.value),
    })
}

/// Returns the configuration to start the program of a declared server.
///
/// # Errors
/// The message why it cannot be started.
fn stdio_config(
    app: &AppContext,
    declaration: &ServerDeclaration,
    launcher: Arc<Launcher>,
) -> Result<StdioConfig, String> {
    let ServerTransport::Command { command, args, environment, environment_file, directory } =
        &declaration.transport
    else {
        return Err("it is not a program".to_owned());
    };
    let filler = Filler::new(app, declaration);
    let directory = match directory {
        Some(directory) => app.workspace.join(PathBuf::from(filler.fill_path(directory)?)),
        None => app.workspace.clone(),
    };
    let programs = server_programs(app, environment, &filler)?;
    let command = filler.fill_path(command)?;
    let args = args.iter().map(|word| filler.fill_path(word)).collect::<Result<_, _>>()?;
    let (command, args) = command_line::split(command, args, &directory, programs.directories());
    let program_directories = programs.usable_directories(&command).cloned().collect();
    let mut variables = inherited_environment(app);
    if let Some(file) = environment_file {
        let path = app.workspace.join(filler.fill_path(file)?);
        for (name, value) in environment_file::read(&path)? {
            filler.keys.check(&name, Some(&value))?;
            variables.push((name.into(), value.into()));
        }
    }
    for (name, value) in environment {
        variables.push((name.into(), filler.fill(value)?.into()));
    }
    Ok(StdioConfig { command, args, directory, program_directories, environment: variables, launcher })
}

/// Returns the directories in which the program of a server is looked up: those of its own `PATH`, if it has one.
fn server_programs(
    app: &AppContext,
    environment: &[(String, String)],
    filler: &Filler<'_>,
) -> Result<Programs, String> {
    let own_path = environment.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| filler.fill(path));
    Ok(match own_path.transpose()? {
        Some(path) => app.programs.with_path(path.as_ref()),
        None => app.programs.clone(),
    })
}

/// Fills the placeholders of one declaration.
struct Filler<'a> {
    placeholders: Placeholders<'a>,
    keys: ModelKeys,
    is_of_project: bool,
}

impl<'a> Filler<'a> {
    fn new(app: &'a AppContext, declaration: &ServerDeclaration) -> Self {
        let placeholders = Placeholders { home: &app.dirs.home, workspace: &app.workspace };
        let is_of_project = declaration.source.is_of_project;
        let keys = if is_of_project { ModelKeys::new(app) } else { ModelKeys::default() };
        Self { placeholders, keys, is_of_project }
    }

    fn fill(&self, text: &str) -> Result<String, String> {
        self.placeholders.fill(text, &|name| self.keys.variable(name))
    }

    fn fill_path(&self, text: &str) -> Result<String, String> {
        self.placeholders.fill_path(text, &|name| self.keys.variable(name))
    }

    fn fill_all(&self, texts: &[String]) -> Result<Vec<String>, String> {
        texts.iter().map(|text| self.fill(text)).collect()
    }
}

/// The API keys of models. A server of a project never receives them: the user approved the server, but not that it
/// receives a key.
#[derive(Default)]
struct ModelKeys {
    variables: Vec<String>,
    keys: Vec<String>,
}

impl ModelKeys {
    fn new(app: &AppContext) -> Self {
        Self { variables: crate::model::key_variable_names(app), keys: crate::model::all_keys(app) }
    }

    /// Returns the value of an environment variable.
    ///
    /// # Errors
    /// The message that the variable contains the key of a model, whatever its name is.
    fn variable(&self, name: &str) -> Result<Option<String>, String> {
        let value = crate::environment::variable(name);
        self.check(name, value.as_deref())?;
        Ok(value)
    }

    /// Checks that a variable does not contain the key of a model.
    ///
    /// # Errors
    /// The message that it does.
    fn check(&self, name: &str, value: Option<&str>) -> Result<(), String> {
        let is_key = self.variables.iter().any(|variable| variable == name)
            || value.is_some_and(|value| self.keys.iter().any(|key| key == value.trim()));
        match is_key {
            true => Err(format!(
                "the variable `{name}` holds the key of a model, which a server of a project does not receive; \
                 declare the server in your own configuration if it needs the key"
            )),
            false => Ok(()),
        }
    }
}

/// Returns the environment of this process without the keys of models.
pub(crate) fn inherited_environment(app: &AppContext) -> Vec<(OsString, OsString)> {
    let secrets = crate::model::key_variable_names(app);
    let is_withheld = |name: &OsString| {
        let name = name.to_string_lossy();
        name.ends_with("_API_KEY") || secrets.iter().any(|secret| *secret == name)
    };
    let mut environment: Vec<_> = std::env::vars_os().filter(|(name, _)| !is_withheld(name)).collect();
    if !app.trust.is_trusted() {
        // The server must not start programs of the repository by name either.
        environment.retain(|(name, _)| name != "PATH");
        environment.push(("PATH".into(), app.programs.path()));
    }
    environment
}
