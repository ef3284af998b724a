//! The output streams of other programs, and the messages of their hosts.

mod auth_status;
mod codex_options;
mod control_protocol;
mod dialect_writer;
mod host;
mod host_hooks;
mod host_mcp;
mod partial_messages;
mod run_facts;
mod session_servers;

use std::borrow::Cow;

use ibeam_dialects::DialectName;
use ibeam_protocol::{Notice, Reason, Sentence, SessionId, sentence};
use ibeam_wire::{ApiKeySource, InitEvent, InitExtras};

pub use self::auth_status::{StatusFormat, requested_format};
pub use self::codex_options::CodexOptions;
pub(crate) use self::control_protocol::HostAdditions;
pub use self::dialect_writer::DialectWriter;
pub(crate) use self::host::{Host, SetModelReceiver, SetModelRequest};
pub(crate) use self::host_hooks::HostHooks;
pub(crate) use self::session_servers::SessionServers;
use ibeam_agent::environment::variable;
use ibeam_agent::run_options::ProgramConventions;

/// Returns the failure of an argument or a message of another program.
pub fn usage_error(detail: impl Into<Sentence>) -> Reason {
    Reason::Usage { detail: detail.into() }
}

/// The options of a dialect that the flags of ibeam do not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectOptions {
    pub dialect: DialectName,
    pub output: DialectOutput,
    pub input: PromptSource,
    /// Whether the stream of Claude Code contains the prompts too.
    pub echo_prompts: bool,
    /// Whether pieces of texts come before the complete text.
    pub partial_messages: bool,
    /// Whether the host is asked about calls that no rule covers.
    pub ask_host: bool,
    /// Whether the named session must not exist yet.
    pub new_session: bool,
    /// The message for an unknown session, up to its id. `None` where an unknown id names a new session.
    pub unknown_session_message: Option<&'static str>,
    /// Arguments that were left out.
    pub ignored_arguments: Vec<String>,
    pub claude: ClaudeOptions,
    pub codex: CodexOptions,
}

impl DialectOptions {
    /// Returns the notice about arguments of the other program that are ignored, where there are some.
    pub fn ignored_arguments_notice(&self) -> Option<Notice> {
        (!self.ignored_arguments.is_empty()).then(|| Notice::ArgumentsIgnored {
            dialect: self.dialect.to_string(),
            arguments: self.ignored_arguments.join(", "),
        })
    }

    /// Returns the options of a dialect whose every line is printed.
    pub fn new(dialect: DialectName) -> Self {
        Self {
            dialect,
            output: DialectOutput::Stream,
            input: PromptSource::Prompt,
            echo_prompts: false,
            partial_messages: false,
            ask_host: false,
            new_session: false,
            unknown_session_message: None,
            ignored_arguments: Vec::new(),
            claude: ClaudeOptions::default(),
            codex: CodexOptions::default(),
        }
    }

    /// Returns the conventions of the other program.
    pub fn conventions(&self) -> ProgramConventions {
        match self.is_claude() {
            true => ProgramConventions { provider: Some("anthropic"), accepts_unknown_prices: true },
            false => ProgramConventions::default(),
        }
    }

    fn is_claude(&self) -> bool {
        self.dialect == DialectName::Claude
    }

    /// Whether the stream lists the slash commands, the skills and the sub-agents.
    pub fn lists_commands(&self) -> bool {
        self.is_claude()
    }

    /// Whether prompts are part of the stream.
    fn writes_prompts(&self) -> bool {
        self.echo_prompts || !self.is_claude()
    }

    /// Returns the reason why a run cannot use the session `name`; `exists` is whether the session is stored.
    pub fn session_error(&self, name: &str, exists: bool) -> Option<Reason> {
        if self.new_session {
            let detail =
                sentence!("the session `{name}` already exists; use `--resume` to continue it", name);
            return exists.then_some(Reason::Usage { detail });
        }
        let must_exist = self.unknown_session_message.is_some();
        (must_exist && !exists).then(|| Reason::UnknownSession { session: name.to_owned() })
    }

    /// Returns the message that clients of the other program look for, where it differs from the message of ibeam.
    fn failure_message(&self, reason: &Reason) -> Option<String> {
        let Reason::UnknownSession { session } = reason else { return None };
        Some(format!("{}{session}", self.unknown_session_message?))
    }
}

/// The part of the dialect's stream that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialectOutput {
    /// Every line, as it is produced.
    Stream,
    /// The last line, at the end.
    LastLine,
    /// The final message, at the end.
    FinalMessage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSource {
    /// The arguments and stdin, once.
    Prompt,
    /// Messages on stdin, a run for each.
    Messages,
}

/// The parts of a command line of Claude Code that its stream repeats, and the request for the login status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaudeOptions {
    /// The permission mode by its name in Claude Code.
    pub mode: String,
    /// The id of the session, where the arguments name one.
    pub session_id: Option<String>,
    /// The model as the arguments name it.
    pub model: Option<String>,
    /// The names of MCP servers that the host runs.
    pub host_servers: Vec<String>,
    /// The format of the login status, where the arguments request only the status.
    pub auth_status: Option<StatusFormat>,
}

impl ClaudeOptions {
    /// Returns the first line of the stream (`init`) for a run that failed before its start.
    pub fn init_of_failed_run(&self) -> InitEvent<Cow<'_, str>> {
        let session = self.session_id.as_deref().filter(|id| id.parse::<SessionId>().is_ok());
        let directory =
            std::env::current_dir().and_then(|path| path.canonicalize()).unwrap_or_else(|_| "/".into());
        let key = match variable("ANTHROPIC_API_KEY") {
            Some(_) => ApiKeySource::Env,
            None => ApiKeySource::None,
        };
        InitEvent {
            api_key_source: "env".into(),
            cwd: directory.to_string_lossy().into_owned().into(),
            session_id: session.map_or_else(|| SessionId::random().to_string().into(), Cow::from),
            model: self.model.as_deref().unwrap_or("unknown").into(),
            permission_mode: "default".into(),
            ibeam: Some(InitExtras { api_key: key, ..InitExtras::default() }),
            ..InitEvent::default()
        }
    }
}

/// Returns the model that a name of Claude Code means. A short name such as `opus` means the newest model of this kind.
/// `None` means the default model.
pub fn resolve_claude_model(name: &str) -> Option<String> {
    let plain = name.split_once('[').map_or(name, |(plain, _)| plain);
    match plain {
        "default" | "" => None,
        "opusplan" => resolve_claude_model("opus"),
        name => Some(name.to_owned()),
    }
}
