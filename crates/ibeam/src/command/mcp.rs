//! `mcp`: lists the declared servers and the tools of a server; adds, removes, enables and disables a server; logs in
//! and out; serves clients.

mod arguments;
mod change_servers;

use std::fs::File;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::AppContext;
use ibeam_agent::mcp::{ServerDeclaration, ServerPeople, ServerTransport, declared_servers};
use ibeam_agent::reports::server_list::server_list;
use ibeam_agent::{mcp, signals};
use ibeam_config::{Credentials, set_mcp_server_enabled};
use ibeam_core::Stop;
use ibeam_mcp::{Server, UserAgent};
use ibeam_output::escape_to_one_line;
use ibeam_protocol::{Failure, McpStatus, Reason, sentence};
use ibeam_serve::McpServeOptions;

use self::arguments::McpCommand;
use super::facts::{CURSOR_FLAGS, CommandFacts, SINGLE_RUN_GROUPS};
use super::printing::{print_report, print_text};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Manage MCP servers
///
/// (list, add, remove, enable and disable them, list their tools, log in)
#[derive(Args, Clone, Debug)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    what: McpCommand,
}

impl SubCommand for McpArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("mcp").uses(&["McpFlags", "force", "trust", "workspace"]).above(&[
            CommandFacts::new("add").with_examples(&[
                "ibeam mcp add github --env 'GITHUB_TOKEN=${env:GITHUB_TOKEN}' github-mcp-server stdio",
                "ibeam mcp add --project docs --header 'X-Team: a' https://mcp.example.com/mcp",
            ]),
            CommandFacts::new("disable").ignores(CURSOR_FLAGS).with_examples(&["ibeam mcp disable github"]),
            CommandFacts::new("enable").ignores(CURSOR_FLAGS).with_examples(&["ibeam mcp enable github"]),
            CommandFacts::new("list").ignores(CURSOR_FLAGS).with_examples(&["ibeam mcp list"]),
            CommandFacts::new("list-tools")
                .ignores(CURSOR_FLAGS)
                .with_examples(&["ibeam mcp list-tools github"]),
            CommandFacts::new("login").ignores(CURSOR_FLAGS).with_examples(&["ibeam mcp login docs"]),
            CommandFacts::new("logout").with_examples(&["ibeam mcp logout docs"]),
            CommandFacts::new("remove").with_examples(&["ibeam mcp remove github"]),
            CommandFacts::new("serve")
                .uses_all_but(SINGLE_RUN_GROUPS)
                .with_examples(&["ibeam mcp serve", "ibeam mcp serve --http 0 --root src"]),
        ]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        mcp(app, &self.what, call.stdout).map(success)
    }
}

fn mcp(app: &AppContext, what: &McpCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        McpCommand::List { format } => print_report(stdout, format.unwrap_or_default(), &server_list(app)?),
        McpCommand::ListTools { name } => list_tools(app, name, stdout),
        McpCommand::Add { project, environment, header, name, target } => {
            let server = change_servers::new_server(target, environment, header)?;
            change_servers::add(app, name, *project, &server, stdout)
        }
        McpCommand::Remove { project, name } => change_servers::remove(app, name, *project, stdout),
        McpCommand::Login { name } => login(app, name, stdout),
        McpCommand::Logout { name } => logout(app, name, stdout),
        McpCommand::Enable { name } => switch(app, name, true, stdout),
        McpCommand::Disable { name } => switch(app, name, false, stdout),
        McpCommand::Serve { http, token_file, roots } => {
            let options = McpServeOptions { http: *http, token_file: token_file.as_deref(), roots };
            Ok(ibeam_serve::serve_mcp(app, options, stdout).map_err(|failure| failure.reason)?)
        }
    }
}

/// Starts a server and prints its tools.
fn list_tools(app: &AppContext, name: &str, stdout: &mut File) -> Result<(), CliError> {
    let server = find_startable(app, name)?;
    let text = with_server(app, &server, None, |started| {
        let mut text = String::new();
        for tool in started.tools().iter() {
            let first_line = tool.description.as_deref().unwrap_or_default().trim().lines().next();
            let reads = match tool.is_read_only() {
                true => format!(" ({})", app.base.catalogue.sentence(&sentence!("only reads"))),
                false => String::new(),
            };
            let (name, detail) =
                (escape_to_one_line(&tool.name), escape_to_one_line(first_line.unwrap_or_default()));
            text.push_str(&format!("{name}{reads}: {detail}\n"));
        }
        text
    })?;
    print_text(stdout, &text)
}

/// Logs in to a server over HTTP, which must then list its tools.
fn login(app: &AppContext, name: &str, stdout: &mut File) -> Result<(), CliError> {
    let server = find_startable(app, name)?;
    if !matches!(server.transport, ServerTransport::Http(_)) {
        let detail = sentence!("`{name}` is a program, which needs no login", name);
        return Err(Reason::Usage { detail }.into());
    }
    let user: Arc<dyn UserAgent> = Arc::new(mcp::TerminalUser::new(app));
    let count = with_server(app, &server, Some(user), |started| started.tools().len())?;
    let name = escape_to_one_line(name);
    let done = match count {
        1 => sentence!("Logged in to {name}, which offers 1 tool", name),
        _ => sentence!("Logged in to {name}, which offers {count} tools", name, count),
    };
    print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&done)))
}

/// Deletes the login to a server.
fn logout(app: &AppContext, name: &str, stdout: &mut File) -> Result<(), CliError> {
    let server = find(app, name)?;
    let mut credentials = Credentials::load(&mcp::login_file(app))?;
    let url = mcp::server_url(app, &server).map_err(|detail| Reason::Usage { detail: detail.into() })?;
    let removed = credentials.remove(Some(&url))?;
    let name = escape_to_one_line(name);
    let done = match removed {
        0 => sentence!("There is no login to {name}", name),
        _ => sentence!("Logged out of {name}", name),
    };
    print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&done)))
}

/// Returns the declared server of this name, if it may start.
fn find_startable(app: &AppContext, name: &str) -> Result<ServerDeclaration, Reason> {
    let server = find(app, name)?;
    match server.status {
        McpStatus::Untrusted => {
            let detail = sentence!(
                "`{name}` is a server of `{path}`, a file of the project; add `--approve-mcps` or `--trust` to start it",
                name,
                path = server.source.path.display(),
            );
            return Err(Reason::Usage { detail });
        }
        McpStatus::Unsupported => {
            return Err(Reason::Unsupported { what: "the MCP transport `sse`".to_owned() });
        }
        // The user named the server, so it is started even if it is disabled.
        McpStatus::Connected | McpStatus::Failed | McpStatus::Disabled => {}
    }
    Ok(server)
}

/// Starts or reaches a server, and returns what `read` returns of it.
fn with_server<T>(
    app: &AppContext,
    server: &ServerDeclaration,
    user: Option<Arc<dyn UserAgent>>,
    read: impl FnOnce(&Server) -> T,
) -> Result<T, CliError> {
    let stop = Stop::default();
    let people = ServerPeople { user, ..ServerPeople::default() };
    let work = async {
        let system =
            |error: io::Error| Reason::System { what: "sigaction".to_owned(), detail: error.to_string() };
        let _watch = signals::watch(&ibeam_agent::pump::CurrentStop::new(stop.clone())).map_err(system)?;
        let failed = |detail| Reason::McpServerFailed { server: server.name.clone(), detail };
        let started = tokio::select! {
            biased;
            reason = stop.wait() => return Err(reason),
            started = mcp::start_server(app, server, Arc::default(), people) => started.map_err(failed)?,
        };
        let value = read(&started);
        started.shut_down(mcp::GRACE).await;
        Ok::<_, Reason>(value)
    };
    Ok(ibeam_agent::run::on_runtime(|runtime| runtime.block_on(work).map_err(Failure::from))?)
}

/// Sets `enabled` of the server in the user's file, which overrides the files that declare the server.
fn switch(app: &AppContext, name: &str, enabled: bool, stdout: &mut File) -> Result<(), CliError> {
    let server = find(app, name)?;
    let path = &app.dirs.user_config;
    set_mcp_server_enabled(path, name, enabled)?;
    let (name, path) = (escape_to_one_line(&server.name), path.display());
    let done = match enabled {
        true => sentence!("enabled `{name}` in {path}", name, path),
        false => sentence!("disabled `{name}` in {path}", name, path),
    };
    print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&done)))
}

/// Returns the declared server of this name.
///
/// # Errors
/// `Usage` with the names of all servers.
fn find(app: &AppContext, name: &str) -> Result<ServerDeclaration, Reason> {
    let servers = declared_servers(app)?.servers;
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let detail = match names.as_slice() {
        [] => sentence!("no MCP server is called `{name}`; none is configured: `ibeam help mcp`", name),
        names => {
            sentence!("no MCP server is called `{name}`; there are: {names}", name, names = names.join(", "))
        }
    };
    servers.into_iter().find(|server| server.name == name).ok_or(Reason::Usage { detail })
}
