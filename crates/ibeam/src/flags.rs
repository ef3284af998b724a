//! The flags of the command line, and the options of a run that they ask for.

mod batch_flags;
mod prompt_line;
mod queue_flags;
mod values;

use std::path::PathBuf;

use clap::Args;
use ibeam_agent::prompt::StdinUse;
use ibeam_agent::run::SessionTarget;
use ibeam_agent::run_options::{ProgramConventions, RunOptions, WorkMode};
use ibeam_core::FailOn;

pub(crate) use self::batch_flags::BatchFlags;
pub(crate) use self::prompt_line::{PromptLine, parse_flags};
#[cfg(feature = "nats")]
pub(crate) use self::queue_flags::CredentialFlags;
pub(crate) use self::queue_flags::{
    FleetFlags, GrantFlags, QueueFlags, ReadQueueFlags, SubmissionFlags, WorkerFlags,
};
use self::values::{BackgroundArg, Mode, Switch};
pub(crate) use self::values::{ErrorFormat, FailOnArg, Format, InputFormat, ReportFormat, Stdin};

/// The flags, which may come before or after the prompt or the command.
///
/// The structs are the groups in which commands use flags: the facts of each command name them. Help has a flag under the title
/// that is its help heading, which `sentences.txt` translates.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) prompt: PromptFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    #[command(flatten)]
    pub(crate) session: SessionFlags,
    #[command(flatten)]
    pub(crate) traffic: TrafficFlags,
    #[command(flatten)]
    pub(crate) models: ModelFlags,
    #[command(flatten)]
    pub(crate) connection: ConnectionFlags,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) instructions: InstructionFlags,
    #[command(flatten)]
    pub(crate) mcp: McpFlags,
    #[command(flatten)]
    pub(crate) other: OtherFlags,
}

/// The flags about one prompt.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "run")]
pub(crate) struct PromptFlags {
    /// Print the answer and exit
    ///
    /// (no questions are asked)
    #[arg(short, long, global = true)]
    pub(crate) print: bool,

    /// Form of the prompts when printing [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", global = true)]
    pub(crate) input_format: Option<InputFormat>,

    /// Whether to read stdin when a prompt is given
    #[arg(long, value_enum, value_name = "HOW", global = true)]
    pub(crate) stdin: Option<Stdin>,

    /// Attach a file to the prompt
    ///
    /// (text, an image or a PDF; may be repeated; in the prompt, `@PATH` attaches a file too)
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) file: Vec<PathBuf>,

    /// Attach an image to the prompt: PNG, JPEG, GIF or WebP; may be repeated
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) image: Vec<PathBuf>,

    /// Run in a git worktree of its own, on the branch `ibeam/NAME`; it is created if it does not exist, and stays
    #[arg(short, long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "", global = true)]
    pub(crate) worktree: Option<String>,

    /// The branch or commit at which the branch of a new worktree begins; the default is HEAD
    #[arg(long, value_name = "REF", global = true)]
    pub(crate) worktree_base: Option<String>,

    /// Do not run the set-up commands of a new worktree
    #[arg(long, global = true)]
    pub(crate) skip_worktree_setup: bool,

    /// Print the version and exit
    #[arg(short = 'V', short_alias = 'v', long, global = true, help_heading = "setup")]
    pub(crate) version: bool,

    /// Same as the command `models`
    #[arg(long, global = true, hide = true)]
    pub(crate) list_models: bool,
}

/// The flags about the output of one run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "output")]
pub(crate) struct OutputFlags {
    /// Output format when printing
    ///
    /// [default: stream-json; under contract 2: text]
    #[arg(long, value_enum, value_name = "FORMAT", global = true)]
    pub(crate) output_format: Option<Format>,

    /// Under contract 2, stream deltas too; under contract 1 they are always streamed
    #[arg(long, global = true)]
    pub(crate) stream_partial_output: bool,

    /// Print a line on stderr every so many seconds during the run
    #[arg(long, value_name = "SECONDS", global = true)]
    pub(crate) heartbeat: Option<u64>,

    /// Interactive mode for screen readers: lines only, numbered choices, a bell at the end of a turn
    #[arg(long, global = true)]
    pub(crate) screen_reader: bool,
}

/// The flags about the session of one run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "sessions")]
pub(crate) struct SessionFlags {
    /// Resume a session
    ///
    /// (by its ID or the beginning of it, at least 4 characters; without an ID, the newest of this directory)
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "-1", global = true)]
    pub(crate) resume: Option<String>,

    /// Resume the newest session of this directory
    #[arg(long = "continue", global = true)]
    pub(crate) continue_: bool,

    /// Copy the session that `--resume` or `--continue` names to a new one, and resume that
    #[arg(long, global = true)]
    pub(crate) fork: bool,

    /// Start with the plan that ended a session in plan mode; without a prompt, the plan is the task
    #[arg(long, value_name = "ID", allow_hyphen_values = true, global = true)]
    pub(crate) from_plan: Option<String>,

    /// Start a new session with the conversation of a trajectory in the format ATIF
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) from_atif: Option<PathBuf>,
}

/// The flags about the exchange of one run with its model.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "models")]
pub(crate) struct TrafficFlags {
    /// End the run at each model request and store the request in this directory, for a batch
    #[arg(long, value_name = "DIR", global = true, conflicts_with_all = ["record", "from_recording"])]
    pub(crate) park_requests: Option<PathBuf>,

    /// Continue a parked run of the session that `--resume` names, without a prompt
    #[arg(long, global = true)]
    pub(crate) unpark: bool,

    /// Record the traffic with the model in this directory, one file per exchange, without secrets
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) record: Option<PathBuf>,

    /// Answer model requests from the recordings in this directory; no connection is opened
    #[arg(long, alias = "replay", value_name = "DIR", global = true, conflicts_with = "record")]
    pub(crate) from_recording: Option<PathBuf>,

    /// Speed of `--from-recording`: 0 waits for nothing, 1 is as recorded [default: 0]
    #[arg(long, alias = "replay-speed", value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1), global = true)]
    pub(crate) recording_speed: Option<u8>,

    /// Set up the embedded model first if it is missing (downloads 1.1 GB)
    #[arg(long, global = true)]
    pub(crate) setup: bool,
}

/// The flags that choose the model and its reasoning.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "models")]
pub(crate) struct ModelFlags {
    /// The model: `provider/name`, a name or an alias
    ///
    /// (several with commas, see `--fallback-model`)
    #[arg(short, long, value_name = "MODEL", global = true)]
    pub(crate) model: Option<String>,

    /// The model that takes over if the model is overloaded or its quota is exhausted; may be repeated
    #[arg(long, value_name = "MODEL", value_delimiter = ',', global = true)]
    pub(crate) fallback_model: Vec<String>,

    /// Amount of reasoning by the model
    ///
    /// (none, minimal, low, medium, high, xhigh or max)
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(crate) effort: Option<String>,

    /// Maximum number of tokens for reasoning before an answer, for models that have such a limit
    #[arg(long, value_name = "N", global = true)]
    pub(crate) thinking_budget: Option<u32>,
}

/// The flags about connections to model servers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "models")]
pub(crate) struct ConnectionFlags {
    /// API key of the provider
    #[arg(short, long, value_name = "KEY", global = true)]
    pub(crate) api_key: Option<String>,

    /// Base URL of the provider
    #[arg(short, long, value_name = "URL", global = true)]
    pub(crate) endpoint: Option<String>,

    /// Trust the certificate authorities in this PEM file too
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) ca_file: Option<String>,

    /// Client certificate in PEM, for model servers that request one
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) client_cert: Option<String>,

    /// Its private key in PEM; without it, the file of the certificate has the key too
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) client_key: Option<String>,

    /// A header for every model request, `Name: value`; repeatable
    #[arg(short = 'H', long, value_name = "HEADER", global = true)]
    pub(crate) header: Vec<String>,
}

/// The flags that decide what a run may do, besides rules.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "permissions")]
pub(crate) struct AccessFlags {
    /// Allow everything that is not denied
    ///
    /// (same as `--yolo`)
    #[arg(short, long, alias = "yolo", global = true)]
    pub(crate) force: bool,

    /// Trust the workspace
    ///
    /// (its configuration may widen what is allowed)
    #[arg(long, global = true)]
    pub(crate) trust: bool,

    /// Whether commands run in a sandbox [default: enabled]
    #[arg(long, value_enum, value_name = "SWITCH", num_args = 0..=1, default_missing_value = "enabled", global = true)]
    pub(crate) sandbox: Option<Switch>,

    /// Another directory whose files may be read and written
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) add_dir: Vec<PathBuf>,
}

/// The flags with permission rules.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "permissions")]
pub(crate) struct RuleFlags {
    /// Allow calls that a token covers
    ///
    /// (e.g. `Shell(cargo:*)`)
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) allow: Vec<String>,

    /// Refuse calls that a token covers; beats everything else
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) deny: Vec<String>,

    /// Ask a person about calls that a token covers, even if they are allowed; not with `--force`
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) ask: Vec<String>,

    /// Let commands connect to this host and port, e.g. `example.com:443`
    #[arg(long, value_name = "HOST:PORT", global = true)]
    pub(crate) allow_net: Vec<String>,

    /// Let commands connect to the Unix socket at this path
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) allow_socket: Vec<String>,

    /// Policy for calls that no rule covers: `sandboxed`, `allowlist` or `strict`
    #[arg(long, value_name = "WORD", global = true)]
    pub(crate) approval: Option<String>,
}

/// The flags that limit a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "run")]
pub(crate) struct LimitFlags {
    /// Maximum number of model requests of a run
    #[arg(long, value_name = "N", global = true)]
    pub(crate) max_turns: Option<u32>,

    /// Maximum number of tokens of a run, prompts and answers together
    #[arg(long, value_name = "N", global = true)]
    pub(crate) max_tokens: Option<u64>,

    /// Maximum cost of a run in US dollars
    ///
    /// (e.g. `0.50`)
    #[arg(long, value_name = "USD", global = true)]
    pub(crate) max_cost: Option<String>,

    /// Maximum number of tool calls of a run
    #[arg(long, value_name = "N", global = true)]
    pub(crate) max_tool_calls: Option<u32>,

    /// Maximum duration of a run
    ///
    /// (e.g. `90`, `90s`, `10m`)
    #[arg(long, value_name = "TIME", global = true)]
    pub(crate) timeout: Option<String>,
}

/// The flags about what the model gets besides the prompt.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "run")]
pub(crate) struct InstructionFlags {
    /// Read-only modes
    #[arg(long, value_enum, value_name = "MODE", global = true)]
    pub(crate) mode: Option<Mode>,

    /// Same as `--mode plan`
    #[arg(long, global = true, hide = true, conflicts_with = "mode")]
    pub(crate) plan: bool,

    /// Require an answer that is one JSON document matching this JSON Schema (2020-12)
    #[arg(long, value_name = "FILE|JSON", global = true)]
    pub(crate) json_schema: Option<PathBuf>,

    /// Instructions for the model instead of the built-in ones; `@FILE` reads them from a file
    #[arg(long, value_name = "TEXT", global = true)]
    pub(crate) system_prompt: Option<String>,

    /// Additional instructions for the model, after all others; `@FILE` reads them from a file
    #[arg(long, value_name = "TEXT", global = true)]
    pub(crate) append_system_prompt: Vec<String>,

    /// Do not offer this tool to the model, e.g. `web_fetch`
    #[arg(long, value_name = "TOOL", global = true, help_heading = "permissions")]
    pub(crate) without: Vec<String>,
}

/// The flags about MCP servers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "run")]
pub(crate) struct McpFlags {
    /// MCP servers for this run: JSON as in `mcp.json`, or a file with it
    #[arg(long, value_name = "JSON|FILE", global = true)]
    pub(crate) mcp_config: Vec<String>,

    /// Start only the MCP servers of `--mcp-config`
    #[arg(long, global = true)]
    pub(crate) strict_mcp_config: bool,

    /// Start the MCP servers of the project too, and allow the calls of all servers
    #[arg(long, global = true)]
    pub(crate) approve_mcps: bool,
}

/// The flags that commands take one by one.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "output")]
pub(crate) struct OtherFlags {
    /// The directory to work in
    ///
    /// [default: the current one]
    #[arg(long, value_name = "DIR", global = true, help_heading = "run")]
    pub(crate) workspace: Option<PathBuf>,

    /// Keep no session: nothing of the run is stored, and it cannot be resumed
    #[arg(long, global = true, help_heading = "sessions")]
    pub(crate) ephemeral: bool,

    /// Policy for background commands when the answer is complete [default: stop]
    #[arg(long, value_enum, value_name = "WHAT", global = true, help_heading = "run")]
    pub(crate) background: Option<BackgroundArg>,

    /// Exit with code 3 in these cases, even if the model finished normally
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', global = true, help_heading = "run")]
    pub(crate) fail_on: Vec<FailOnArg>,

    /// Show the path or command of each action in the text format
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    /// Write the spans of the runs to this file at the end, as OTLP/JSON: `ibeam help trace`
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) trace_file: Option<PathBuf>,

    /// Read no instruction files of the workspace; for dialects
    #[arg(long, global = true, hide = true)]
    pub(crate) without_instructions: bool,

    /// The version of the output contract, 1 or 2 [default: 1]
    #[arg(long, value_name = "N", global = true)]
    pub(crate) contract: Option<String>,

    /// Write what the program does and when to this file, one JSON object per line, without keys: `ibeam help debug`
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) debug: Option<PathBuf>,

    /// Format of the error on stderr
    #[arg(long, value_enum, value_name = "FORMAT", global = true)]
    pub(crate) error_format: Option<ErrorFormat>,

    /// Also write the error as a JSON object to this file; it is empty after a success
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) error_file: Option<PathBuf>,

    /// Language of messages: en, es, id, ja, fr, pt
    #[arg(long, value_name = "LANG", global = true, help_heading = "setup")]
    pub(crate) lang: Option<String>,

    /// Print in the format of another agent; must be the first argument; `claude` and `codex` take the arguments of that agent
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<String>,

    /// Not supported: certificates are always checked
    #[arg(short = 'k', long, global = true, hide = true)]
    pub(crate) insecure: bool,

    /// Not supported: there is no cloud
    #[arg(long, global = true, hide = true)]
    pub(crate) cloud: bool,
}

impl Flags {
    /// Returns the options of a run with these flags.
    pub(crate) fn run_options(&self) -> RunOptions {
        let given = self.clone();
        RunOptions {
            session: self.session(),
            mode: self.work_mode(),
            sandbox: self.access.sandbox.map(|switch| switch == Switch::Enabled),
            waits_for_background: self.other.background.map(|arg| arg == BackgroundArg::Wait),
            fail_on: self.fail_on(),
            workspace: given.other.workspace,
            add_dir: given.access.add_dir,
            worktree: given.prompt.worktree,
            worktree_base: given.prompt.worktree_base,
            skip_worktree_setup: given.prompt.skip_worktree_setup,
            creates_named_session: false,
            conventions: ProgramConventions::default(),
            fork: given.session.fork,
            ephemeral: given.other.ephemeral,
            from_plan: given.session.from_plan,
            from_atif: given.session.from_atif,
            unpark: given.traffic.unpark,
            park_requests: given.traffic.park_requests,
            model: given.models.model,
            fallback_model: given.models.fallback_model,
            effort: given.models.effort,
            thinking_budget: given.models.thinking_budget,
            api_key: given.connection.api_key,
            endpoint: given.connection.endpoint,
            header: given.connection.header,
            ca_file: given.connection.ca_file,
            client_cert: given.connection.client_cert,
            client_key: given.connection.client_key,
            setup: given.traffic.setup,
            record: given.traffic.record,
            from_recording: given.traffic.from_recording,
            recording_speed: given.traffic.recording_speed,
            system_prompt: given.instructions.system_prompt,
            append_system_prompt: given.instructions.append_system_prompt,
            without_instructions: given.other.without_instructions,
            file: given.prompt.file,
            image: given.prompt.image,
            json_schema: given.instructions.json_schema,
            force: given.access.force,
            trust: given.access.trust,
            allow: given.rules.allow,
            ask: given.rules.ask,
            deny: given.rules.deny,
            allow_net: given.rules.allow_net,
            allow_socket: given.rules.allow_socket,
            approval: given.rules.approval,
            without: given.instructions.without,
            approve_mcps: given.mcp.approve_mcps,
            mcp_config: given.mcp.mcp_config,
            strict_mcp_config: given.mcp.strict_mcp_config,
            max_turns: given.limits.max_turns,
            max_tokens: given.limits.max_tokens,
            max_cost: given.limits.max_cost,
            max_tool_calls: given.limits.max_tool_calls,
            timeout: given.limits.timeout,
            lang: given.other.lang,
            verbose: given.other.verbose,
            contract: given.other.contract,
            debug: given.other.debug,
            trace_file: given.other.trace_file,
            heartbeat: given.output.heartbeat,
        }
    }

    fn session(&self) -> SessionTarget {
        match (&self.session.resume, self.session.continue_) {
            (Some(name), _) if name == "-1" => SessionTarget::Newest,
            (Some(name), _) => SessionTarget::Named(name.clone()),
            (None, true) => SessionTarget::Newest,
            (None, false) => SessionTarget::New,
        }
    }

    fn work_mode(&self) -> WorkMode {
        match self.instructions.mode {
            Some(Mode::Plan) => WorkMode::Plan,
            Some(Mode::Ask) => WorkMode::Ask,
            Some(Mode::Agent) | None if self.instructions.plan => WorkMode::Plan,
            Some(Mode::Agent) | None => WorkMode::Agent,
        }
    }

    fn fail_on(&self) -> FailOn {
        let fails = |word| self.other.fail_on.contains(&word);
        FailOn {
            denied: fails(FailOnArg::Denied),
            tool_error: fails(FailOnArg::ToolError),
            empty: fails(FailOnArg::Empty),
            background: fails(FailOnArg::Background),
        }
    }
}

impl From<Stdin> for StdinUse {
    fn from(given: Stdin) -> Self {
        match given {
            Stdin::Auto => Self::Auto,
            Stdin::Read => Self::Read,
            Stdin::Ignore => Self::Ignore,
        }
    }
}
