//! The options of a run. The command line fills [`RunOptions`]; editors and servers change a copy; a fleet turns them back
//! into flags.

use std::path::PathBuf;

use ibeam_config::{FlagInput, FlagSetting, TrustRequest};
use ibeam_core::FailOn;
use ibeam_protocol::Reason;

use crate::run::SessionTarget;

/// The options of a run. The configuration and its defaults decide what they leave open.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The directory to work in; `None` for that of the process.
    pub workspace: Option<PathBuf>,
    /// Other directories whose files may be read and written.
    pub add_dir: Vec<PathBuf>,
    /// The git worktree to work in, which is created if it does not exist; an empty name for a new one.
    pub worktree: Option<String>,
    /// The branch or commit at which the branch of a new worktree begins; `None` for HEAD.
    pub worktree_base: Option<String>,
    /// Whether a new worktree is left without its set-up commands.
    pub skip_worktree_setup: bool,

    /// The session whose conversation the run continues.
    pub session: SessionTarget,
    /// Whether an unknown session ID creates a session with that ID.
    pub creates_named_session: bool,
    /// Whether the run continues a copy of the session.
    pub fork: bool,
    /// Whether nothing of the run is stored.
    pub ephemeral: bool,
    /// The session in plan mode with whose plan the run begins.
    pub from_plan: Option<String>,
    /// The trajectory in the format ATIF with which a new session begins.
    pub from_atif: Option<PathBuf>,
    /// Whether the run continues the parked run of the session, without a prompt.
    pub unpark: bool,
    /// The directory for model requests of a batch: the run ends at each request and stores it there.
    pub park_requests: Option<PathBuf>,

    /// `provider/name`, a name or an alias; several with commas take over in this order.
    pub model: Option<String>,
    /// The models that take over after those of `model`.
    pub fallback_model: Vec<String>,
    /// The amount of reasoning: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    pub effort: Option<String>,
    /// The maximum number of tokens for reasoning before an answer.
    pub thinking_budget: Option<u32>,
    /// The key of the provider; `None` for that of the configuration or the environment.
    pub api_key: Option<String>,
    /// The base URL of the provider.
    pub endpoint: Option<String>,
    /// Headers of every model request, `Name: value`.
    pub header: Vec<String>,
    /// A PEM file with certificate authorities that are trusted too.
    pub ca_file: Option<String>,
    /// A PEM file with the certificate for model servers that request one.
    pub client_cert: Option<String>,
    /// The PEM file with its private key; `None` if `client_cert` has it.
    pub client_key: Option<String>,
    /// Whether a missing embedded model is installed first.
    pub setup: bool,
    /// The directory in which the traffic with the model is recorded.
    pub record: Option<PathBuf>,
    /// The directory of recordings that answer model requests.
    pub from_recording: Option<PathBuf>,
    /// The speed of `from_recording`: 0 waits for nothing, 1 is as recorded.
    pub recording_speed: Option<u8>,

    /// The instructions instead of the built-in ones; `@FILE` reads them from a file.
    pub system_prompt: Option<String>,
    /// Instructions after all others; `@FILE` reads them from a file.
    pub append_system_prompt: Vec<String>,
    /// Whether the instruction files of the workspace are left out.
    pub without_instructions: bool,
    /// The files of the first prompt: text, an image or a PDF.
    pub file: Vec<PathBuf>,
    /// The images of the first prompt.
    pub image: Vec<PathBuf>,
    /// The JSON Schema (2020-12) of the answer, or its file.
    pub json_schema: Option<PathBuf>,

    /// Whether the run works, plans or answers.
    pub mode: WorkMode,
    /// Whether everything is allowed that is not denied.
    pub force: bool,
    /// Whether the workspace is trusted from now on.
    pub trust: bool,
    /// Rules for calls that are allowed, such as `Shell(cargo test)`.
    pub allow: Vec<String>,
    /// Rules for calls about which somebody is asked, even if they are allowed.
    pub ask: Vec<String>,
    /// Rules for calls that are refused.
    pub deny: Vec<String>,
    /// The hosts and ports to which commands may connect.
    pub allow_net: Vec<String>,
    /// The Unix sockets to which commands may connect.
    pub allow_socket: Vec<String>,
    /// The policy for calls that no rule covers: `sandboxed`, `allowlist` or `strict`.
    pub approval: Option<String>,
    /// Whether commands run in a sandbox.
    pub sandbox: Option<bool>,
    /// The tools that the model does not get.
    pub without: Vec<String>,
    /// Whether the MCP servers of the project are started too, and the calls of all servers are allowed.
    pub approve_mcps: bool,
    /// MCP servers: JSON as in `mcp.json`, or files with it.
    pub mcp_config: Vec<String>,
    /// Whether only the servers of `mcp_config` are started.
    pub strict_mcp_config: bool,

    /// The maximum number of model requests.
    pub max_turns: Option<u32>,
    /// The maximum number of tokens, prompts and answers together.
    pub max_tokens: Option<u64>,
    /// The maximum cost in US dollars, as in the configuration.
    pub max_cost: Option<String>,
    /// The maximum number of tool calls.
    pub max_tool_calls: Option<u32>,
    /// The maximum duration, as in the configuration: `90`, `90s`, `10m`.
    pub timeout: Option<String>,
    /// The conditions that make a completed run fail.
    pub fail_on: FailOn,
    /// Whether the run waits for background commands when the answer is complete, instead of stopping them.
    pub waits_for_background: Option<bool>,

    /// The language of messages.
    pub lang: Option<String>,
    /// Whether the text format shows the path or command of each action.
    pub verbose: bool,
    /// The conventions of the program whose command line started the run.
    pub conventions: ProgramConventions,
    /// The version of the output contract.
    pub contract: Option<String>,
    /// The file for what the program does and when.
    pub debug: Option<PathBuf>,
    /// The file for the spans of the run, as OTLP/JSON.
    pub trace_file: Option<PathBuf>,
    /// The seconds between two lines on stderr while the run lasts.
    pub heartbeat: Option<u64>,
}

/// The conventions of a program, where they differ from those of ibeam.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramConventions {
    /// The provider of a model name that names none, if it has a key.
    pub provider: Option<&'static str>,
    /// Whether a run with a limited cost starts although the price of its model is not known.
    pub accepts_unknown_prices: bool,
}

/// The kind of work of a run. Without permission for everything, [`Self::Agent`] asks or refuses where policy says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkMode {
    /// Work on the task.
    #[default]
    Agent,
    /// Read only, and end with a plan.
    Plan,
    /// Read only, and answer a question.
    Ask,
}

impl WorkMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Plan, Self::Ask];

    /// Returns the value of `--mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Plan => "plan",
            Self::Ask => "ask",
        }
    }

    /// Returns the mode of this name; `default` is another name of `agent`.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "default" {
            return Some(Self::Agent);
        }
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether the run changes nothing.
    pub fn is_read_only(self) -> bool {
        self != Self::Agent
    }
}

impl RunOptions {
    /// Returns what the options set in the configuration.
    #[doc(hidden)]
    pub fn settings(&self) -> Vec<FlagSetting> {
        let word = |is_given: bool| is_given.then(|| "true".to_owned());
        let texts = [
            ("--model", "model", self.model.clone()),
            ("--effort", "effort", self.effort.clone()),
            ("--thinking-budget", "thinking_budget", self.thinking_budget.map(|tokens| tokens.to_string())),
            ("--lang", "lang", self.lang.clone()),
            ("--timeout", "limits.timeout", self.timeout.clone()),
            ("--max-turns", "limits.max_turns", self.max_turns.map(|turns| turns.to_string())),
            ("--max-tokens", "limits.max_tokens", self.max_tokens.map(|tokens| tokens.to_string())),
            ("--max-cost", "limits.max_cost", self.max_cost.clone()),
            ("--max-tool-calls", "limits.max_tool_calls", self.max_tool_calls.map(|calls| calls.to_string())),
            (
                "--background",
                "background",
                self.waits_for_background.map(|waits| if waits { "wait" } else { "stop" }.to_owned()),
            ),
            ("--approval", "approval", self.approval.clone()),
            ("--ephemeral", "session.ephemeral", word(self.ephemeral)),
            ("--from-recording", "session.ephemeral", word(self.starts_recorded_session())),
            ("--ca-file", "tls.ca_file", self.ca_file.clone()),
            ("--client-cert", "tls.client_cert", self.client_cert.clone()),
            ("--client-key", "tls.client_key", self.client_key.clone()),
            ("--verbose", "verbose", word(self.verbose)),
            (
                "--sandbox",
                "sandbox.mode",
                self.sandbox.map(|is_on| if is_on { "enabled" } else { "disabled" }.to_owned()),
            ),
        ];
        let lists = [
            ("--allow", "permissions.allow", &self.allow),
            ("--ask", "permissions.ask", &self.ask),
            ("--deny", "permissions.deny", &self.deny),
            ("--allow-net", "network.allow", &self.allow_net),
            ("--allow-socket", "sandbox.sockets", &self.allow_socket),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(flag, key, text)| Some(FlagSetting { flag, key, input: FlagInput::Text(text?) }));
        let lists = lists.into_iter().map(|(flag, key, entries)| FlagSetting {
            flag,
            key,
            input: FlagInput::Entries(entries.clone()),
        });
        texts.chain(lists).collect()
    }

    /// Returns those flags that set keys of the configuration and that `is_used` accepts, each with its value in one word.
    #[doc(hidden)]
    pub fn setting_flags(&self, is_used: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
        let settings = self.settings().into_iter().filter(move |setting| is_used(setting.flag));
        settings.flat_map(|FlagSetting { flag, input, .. }| {
            let values = match input {
                FlagInput::Text(text) => vec![text],
                FlagInput::Entries(entries) => entries,
            };
            values.into_iter().map(move |value| format!("{flag}={value}"))
        })
    }

    /// Whether the run answers from recordings in a new session. Such a session is not stored: each of these runs has the same
    /// pinned session id.
    fn starts_recorded_session(&self) -> bool {
        self.from_recording.is_some() && self.session == SessionTarget::New
    }

    /// Returns the other directories of the run, links resolved.
    pub(crate) fn added_directories(&self) -> impl Iterator<Item = Result<PathBuf, Reason>> {
        self.add_dir.iter().map(|directory| {
            let path = directory.display().to_string();
            directory.canonicalize().map_err(|error| Reason::NoInput { path, detail: error.to_string() })
        })
    }

    /// Returns what the options say about trust in the workspace.
    pub(crate) fn trust_request(&self) -> TrustRequest {
        match (self.trust, self.force) {
            (true, _) => TrustRequest::Remember,
            (false, true) => TrustRequest::ThisRun,
            (false, false) => TrustRequest::UseStored,
        }
    }
}
