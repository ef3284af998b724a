//! The closed list of reasons for which a run can fail.
//!
//! A `Reason` is data without text: `ibeam-output` has its sentence, its hints and their translations. Errors that only
//! commands report are not among them. Their classes are in `failure_code.rs`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::failure_code::FailureCode;
use crate::json::tag_and_fields;
use crate::sentence::Sentence;

/// A failure of a run, with what the provider reported about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The reason.
    pub reason: Reason,
    /// The HTTP status of the failed request.
    pub http_status: Option<u16>,
    /// The provider's id of the failed request.
    pub request_id: Option<String>,
    /// The delay that the provider asks for, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self { reason, http_status: None, request_id: None, retry_after_ms: None }
    }
}

/// A key of a service that is not a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedKey {
    /// The environment variable that holds it.
    pub variable: String,
    /// The name of the service for people.
    pub service: String,
}

/// The reason of a failure.
///
/// The serialized tag of a variant is its message id, and the fields are the arguments of the message. A `detail` is text
/// of another program or the system, on one line; journals store it as `said`. A new variant also gets its class in
/// [`Reason::code`], its message in the locales, and a line in the golden file of `ibeam-output`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the name of a field and the sentence of its variant describe it")]
pub enum Reason {
    // ---- usage
    /// The command line cannot be parsed.
    Usage {
        #[serde(rename = "said")]
        detail: Sentence,
    },
    /// No prompt, or a blank one.
    EmptyPrompt,
    /// `--output-format` without print mode.
    FormatWithoutPrint,
    /// An argument or stdin is not UTF-8, or has a NUL.
    NotText { what: String },
    /// The prompt on stdin is too long, or never ends.
    InputTooLarge { what: String, limit_bytes: u64 },
    /// A line of `--input-format stream-json` is not a valid message.
    InputLine {
        line: u64,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The file of `--json-schema` is not a valid schema.
    InvalidJsonSchema {
        path: String,
        place: Sentence,
        #[serde(rename = "said")]
        detail: Sentence,
    },
    /// This version does not have the feature.
    Unsupported { what: String },
    // ---- auth, model, request
    /// No key for the provider.
    NoKey {
        provider: String,
        variable: String,
        /// Whether the embedded model is installed, which needs no key.
        #[serde(default)]
        embedded: bool,
        /// Whether the program was built without the embedded model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_engine: bool,
    },
    /// No model is named, no provider has a key, and the program was built without the embedded model.
    NoModel {
        /// A key that is set and that no provider uses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unused_key: Option<UnusedKey>,
    },
    /// The key of the provider cannot be read from its file or command.
    KeyUnavailable {
        provider: String,
        /// The key of the configuration that names the file or the command.
        setting: String,
        detail: String,
    },
    /// The provider refused the key.
    KeyRefused {
        provider: String,
        /// The flag, variable or setting that has the key, if it takes precedence over a stored key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        #[serde(rename = "said")]
        detail: String,
    },
    /// No such provider.
    UnknownProvider {
        provider: String,
        /// The provider with a similar name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        near: Option<String>,
    },
    /// The provider does not know the model, or no provider is known for it.
    UnknownModel {
        model: String,
        provider: Option<String>,
        /// The model with a similar name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        near: Option<String>,
        /// Further models with similar names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also_near: Vec<String>,
    },
    /// No model is named, and the only providers with a key have no default model.
    NoDefaultModel { provider: String },
    /// The embedded model is not installed.
    ModelNotInstalled {
        model: String,
        /// A key that is set and that no provider uses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unused_key: Option<UnusedKey>,
        /// Whether the model was chosen because no key is set.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_key: bool,
    },
    /// The embedded model cannot be loaded or run.
    LocalModel {
        #[serde(rename = "said")]
        detail: String,
    },
    /// The program was built without the embedded model.
    NoLocalEngine,
    /// The provider rejected the request.
    BadRequest {
        provider: String,
        #[serde(rename = "said")]
        detail: String,
        /// The part that the provider does not accept.
        #[serde(default, skip_serializing_if = "RequestPart::is_unknown")]
        part: RequestPart,
    },
    /// The conversation is too long for the model.
    ContextTooLong {
        provider: String,
        #[serde(rename = "said")]
        detail: String,
    },
    // ---- provider, network
    /// The provider still refused the request after all retries, because there were too many requests.
    RateLimited {
        provider: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The account has no credit or no quota left.
    QuotaExhausted {
        provider: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The provider failed: 5xx, an error object, or an answer that violates its protocol.
    ProviderFailed {
        provider: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The stream ended without its terminal event.
    AnswerTruncated { provider: String },
    /// A replay of model traffic has no recording of the request.
    NotRecorded {
        /// The name of the most similar recording.
        recording: String,
        /// The first difference from that recording.
        difference: String,
    },
    /// The connection could not be opened, or it broke.
    Unreachable {
        address: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// A server on this machine does not run at its usual address.
    ServerNotRunning {
        /// The name of the server for people.
        server: String,
        address: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The certificate or the TLS handshake failed.
    Tls {
        address: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// A server answers without TLS where the address begins with `https://`.
    NoTls { address: String },
    /// The provider sent nothing for too long.
    Stalled { provider: String, waited_ms: u64 },
    /// The answer was not complete within its time limit.
    AnswerTooSlow { provider: String, waited_ms: u64 },
    /// `--park-requests`: the run waits for the answer to a request.
    Parked {
        /// The file with the request.
        path: String,
    },
    /// The driver of the fleet has died, and without it the budget or the rates of the fleet allow no request.
    FleetDriverGone,
    // ---- limits
    /// `--max-turns`.
    TurnLimit { limit: u32 },
    /// `--max-tokens`.
    TokenLimit { limit: u64 },
    /// `--max-cost`, in millionths of a US dollar.
    CostLimit { limit_micros: u64 },
    /// `--max-tool-calls`.
    ToolCallLimit { limit: u32 },
    /// A call was repeated with the same result.
    LoopGuard { tool: String, count: u32 },
    /// Two answers in a row had neither text nor a call.
    EmptyAnswer,
    /// The output limit cut several answers in a row.
    OutputLimit,
    /// The service paused several answers in a row.
    AnswerPaused { count: u32 },
    /// In several answers in a row, no call had valid JSON arguments.
    InvalidArguments { tool: String, count: u32 },
    /// The model declined without a message.
    Refused,
    /// The model declined and gave a message.
    RefusedWithMessage { message: String },
    /// The model declined, and the service named the class of what it declined.
    RefusedInCategory { category: String, message: String },
    /// A hook blocked the prompt.
    PromptRefused {
        hook: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// `--timeout`.
    TimedOut { timeout_ms: u64 },
    /// `--fail-on denied`.
    Denied { count: u32 },
    /// `--fail-on tool-error`.
    ToolErrors { count: u32 },
    /// `--fail-on background`.
    BackgroundStopped { count: u32 },
    /// `--fail-on empty`: the run produced no text.
    NoText,
    /// `--json-schema`: the last answer does not match the schema.
    AnswerMismatch {
        repairs: u32,
        #[serde(rename = "said")]
        detail: Sentence,
    },
    // ---- sessions, files, system
    /// A session file is damaged.
    SessionDamaged {
        session: String,
        line: u64,
        #[serde(rename = "said")]
        detail: String,
    },
    /// No such session.
    UnknownSession { session: String },
    /// The given beginning of a session ID has fewer characters than a beginning needs.
    SessionIdTooShort { prefix: String, minimum: u32 },
    /// Several session IDs start with the given text.
    AmbiguousSession {
        /// The given beginning of an ID.
        prefix: String,
        /// Some of the IDs.
        sessions: String,
    },
    /// A run of a replayed stream failed. The message is that of the stream.
    #[serde(rename = "retold")]
    ReplayedFailure {
        #[serde(rename = "said")]
        detail: String,
    },
    /// `--continue` with no session in this workspace.
    NoSessionToContinue { cwd: String },
    /// The session belongs to another workspace, which still exists.
    SessionElsewhere { session: String, cwd: String },
    /// No run of the session ended with a plan or an answer of a read-only mode: `--from-plan`.
    NoPlan { session: String },
    /// Another process holds the session.
    SessionBusy { session: String, holder: String },
    /// A process that cannot be checked from this machine holds the session with a lease file.
    SessionLeased { session: String, holder: String, path: String },
    /// The session was removed while the run worked in it.
    SessionRemoved { path: String },
    /// stdin was expected to be the prompt, and sent nothing or did not end.
    StdinSilent { waited_ms: u64 },
    /// A file or directory that the user named cannot be read.
    NoInput {
        path: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// A file that the user named contains no trajectory in the format ATIF.
    InvalidTrajectory { path: String, detail: String },
    /// The workspace was removed while the run worked in it.
    WorkspaceGone { path: String },
    /// A file or directory cannot be created.
    CannotCreate {
        path: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// A set-up command of the worktree failed: `--worktree`.
    WorktreeSetup {
        command: String,
        /// The file that has the command.
        path: String,
        detail: String,
    },
    /// Reading or writing failed, e.g. because the disk is full.
    Io {
        what: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The reader of stdout closed it.
    OutputClosed,
    /// The system refused a process, thread or descriptor.
    System {
        what: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// The sandbox for commands cannot be set up.
    NoSandbox {
        #[serde(rename = "said")]
        detail: String,
    },
    /// A file of the project requests something that only a trusted workspace may have.
    Untrusted { what: String, path: String },
    /// A configuration file is invalid.
    BadConfig {
        path: String,
        line: Option<u64>,
        column: Option<u64>,
        #[serde(rename = "said")]
        detail: Sentence,
    },
    /// A JSON file with hooks or MCP servers is invalid.
    BadJsonConfig {
        path: String,
        line: Option<u64>,
        column: Option<u64>,
        /// The page of `ibeam help` that describes the file.
        page: String,
        detail: String,
    },
    /// A configuration file cannot be read.
    UnreadableConfig {
        path: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// An MCP server that the configuration requires did not start.
    McpServerFailed {
        server: String,
        #[serde(rename = "said")]
        detail: String,
    },
    /// A signal requested the stop.
    Signalled(Signal),
    /// A bug of this program.
    Internal {
        #[serde(rename = "said")]
        detail: String,
    },
}

/// The signals that end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// SIGHUP
    Hup,
    /// SIGINT
    Int,
    /// SIGQUIT
    Quit,
    /// SIGTERM
    Term,
}

impl Signal {
    /// Returns the name of the signal, e.g. `SIGTERM`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hup => "SIGHUP",
            Self::Int => "SIGINT",
            Self::Quit => "SIGQUIT",
            Self::Term => "SIGTERM",
        }
    }
}

/// A part of a request to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestPart {
    /// The provider does not name the part.
    #[default]
    Unknown,
    /// The level of reasoning, or its number of tokens.
    Reasoning,
    /// The tools.
    Tools,
    /// An image or a document.
    Media,
    /// The limit of the answer.
    OutputLimit,
}

impl RequestPart {
    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

impl Reason {
    /// Whether the session of a run that failed for this reason can be resumed.
    pub fn is_resumable(&self) -> bool {
        !matches!(self, Self::SessionRemoved { .. }) && self.code().is_resumable()
    }

    /// Returns the text of the other program or the system, where the reason has one; otherwise the token of its class.
    pub fn detail(&self) -> String {
        let (_, fields) = tag_and_fields(self);
        let text = fields.get("detail").or_else(|| fields.get("message")).and_then(Value::as_str);
        text.unwrap_or_else(|| self.code().as_str()).to_owned()
    }

    /// Whether the model ended its turn, and only a condition of `--fail-on` made the run fail.
    pub fn follows_complete_answer(&self) -> bool {
        matches!(
            self,
            Self::Denied { .. } | Self::ToolErrors { .. } | Self::BackgroundStopped { .. } | Self::NoText
        )
    }

    /// Returns the class, which programs see.
    pub fn code(&self) -> FailureCode {
        use FailureCode as C;
        match self {
            Self::Usage { .. }
            | Self::AmbiguousSession { .. }
            | Self::EmptyPrompt
            | Self::FormatWithoutPrint
            | Self::NotText { .. }
            | Self::InputLine { .. }
            | Self::InvalidJsonSchema { .. }
            | Self::Unsupported { .. } => C::Usage,
            Self::InputTooLarge { .. } => C::TooLarge,
            Self::NoKey { .. }
            | Self::NoModel { .. }
            | Self::KeyUnavailable { .. }
            | Self::KeyRefused { .. } => C::Auth,
            Self::UnknownProvider { .. }
            | Self::UnknownModel { .. }
            | Self::NoDefaultModel { .. }
            | Self::ModelNotInstalled { .. }
            | Self::LocalModel { .. }
            | Self::NoLocalEngine => C::Model,
            Self::BadRequest { .. } => C::Request,
            Self::ContextTooLong { .. } => C::Context,
            Self::RateLimited { .. } | Self::QuotaExhausted { .. } => C::RateLimited,
            Self::ProviderFailed { .. } | Self::AnswerTruncated { .. } | Self::NotRecorded { .. } => {
                C::Provider
            }
            Self::Unreachable { .. } | Self::ServerNotRunning { .. } => C::Network,
            Self::Tls { .. } | Self::NoTls { .. } => C::Tls,
            Self::Stalled { .. } | Self::AnswerTooSlow { .. } => C::Stalled,
            Self::Parked { .. } | Self::FleetDriverGone => C::Parked,
            Self::TurnLimit { .. }
            | Self::TokenLimit { .. }
            | Self::CostLimit { .. }
            | Self::ToolCallLimit { .. }
            | Self::LoopGuard { .. }
            | Self::OutputLimit
            | Self::AnswerPaused { .. }
            | Self::InvalidArguments { .. } => C::Limit,
            Self::EmptyAnswer => C::Empty,
            Self::Refused | Self::RefusedWithMessage { .. } | Self::RefusedInCategory { .. } => C::Refused,
            Self::TimedOut { .. } => C::Timeout,
            Self::PromptRefused { .. }
            | Self::Denied { .. }
            | Self::ToolErrors { .. }
            | Self::BackgroundStopped { .. }
            | Self::NoText => C::Denied,
            Self::AnswerMismatch { .. } | Self::WorktreeSetup { .. } => C::Failed,
            Self::SessionDamaged { .. } | Self::InvalidTrajectory { .. } => C::Data,
            Self::UnknownSession { .. }
            | Self::SessionIdTooShort { .. }
            | Self::NoSessionToContinue { .. }
            | Self::SessionElsewhere { .. }
            | Self::NoPlan { .. }
            | Self::StdinSilent { .. }
            | Self::WorkspaceGone { .. }
            | Self::NoInput { .. } => C::NoInput,
            Self::SessionBusy { .. } | Self::SessionLeased { .. } => C::Busy,
            Self::CannotCreate { .. } => C::CantCreate,
            Self::Io { .. } | Self::OutputClosed | Self::SessionRemoved { .. } => C::Io,
            Self::System { .. } => C::Os,
            Self::NoSandbox { .. } => C::Sandbox,
            Self::Untrusted { .. } => C::Untrusted,
            Self::BadConfig { .. }
            | Self::BadJsonConfig { .. }
            | Self::UnreadableConfig { .. }
            | Self::McpServerFailed { .. } => C::Config,
            Self::Signalled(signal) => C::Signal(*signal),
            Self::Internal { .. } | Self::ReplayedFailure { .. } => C::Internal,
        }
    }
}
