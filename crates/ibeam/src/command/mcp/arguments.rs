//! The arguments of `mcp`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::flags::ReportFormat;

/// The commands of `mcp`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum McpCommand {
    /// List the servers of the configuration; starts none
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Start a server and list its tools
    ListTools {
        /// The server
        name: String,
    },
    /// Add a server to your configuration, or to the project's
    Add {
        /// Write into `.ibeam/config.toml` of the project instead of your `config.toml`
        #[arg(long)]
        project: bool,
        /// A variable of the program, e.g. `TOKEN=${env:TOKEN}`; can be repeated
        #[arg(long = "env", value_name = "NAME=VALUE")]
        environment: Vec<String>,
        /// A header of requests to the URL, e.g. `X-Team: a`; can be repeated
        #[arg(long, short = 'H', value_name = "NAME: VALUE")]
        header: Vec<String>,
        /// The name of the new server
        name: String,
        /// The URL of the server, or its program and the arguments of that program
        #[arg(
            value_name = "URL|PROGRAM",
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        target: Vec<String>,
    },
    /// Remove a server from your configuration, or from the project's
    Remove {
        /// Remove it from `.ibeam/config.toml`, `.ibeam/mcp.json` and `.mcp.json` of the project
        #[arg(long)]
        project: bool,
        /// The server
        name: String,
    },
    /// Log in to a server over HTTP
    Login {
        /// The server
        name: String,
    },
    /// Delete the login to a server
    Logout {
        /// The server
        name: String,
    },
    /// Enable a server for runs
    Enable {
        /// The server
        name: String,
    },
    /// Disable a server for runs
    Disable {
        /// The server
        name: String,
    },
    /// Be an MCP server: clients start runs and read sessions, over stdin and stdout or over HTTP
    #[command(
        after_help = "Runs have the flags of this command; a client can only narrow them: `ibeam help mcp-server`"
    )]
    Serve {
        /// Serve over HTTP on this port of 127.0.0.1; 0 selects a free port
        #[arg(long, value_name = "PORT")]
        http: Option<u16>,
        /// The file with the token that requests over HTTP must carry [default: $IBEAM_MCP_TOKEN, else a new one]
        #[arg(long, value_name = "FILE", requires = "http")]
        token_file: Option<PathBuf>,
        /// A directory in which clients may work, with everything beneath; repeatable [default: the workspace]
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
    },
}
