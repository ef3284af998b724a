//! What people are told on the way, on stderr; the words are in `ibeam-output`.

use serde::{Deserialize, Serialize};

use crate::failure::{Reason, UnusedKey};
use crate::run::LimitKind;

/// A closed list of notices. Those with `for_model` are part of the conversation too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The small embedded model is used.
    EmbeddedModel {
        /// Its display name.
        model: String,
        /// A key that is set and opens nothing here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unused_key: Option<UnusedKey>,
    },
    /// stdin stayed silent and was ignored.
    StdinIgnored {
        /// How long it was waited for, in milliseconds.
        waited_ms: u64,
    },
    /// Arguments in another program's forms have no counterpart and were left out.
    ArgumentsIgnored {
        /// That program.
        dialect: String,
        /// The arguments, parted by commas.
        arguments: String,
    },
    /// The run ended without waiting for the disk, which has not confirmed the last records of the session.
    SessionUnsynced,
    /// Events of the resumed session are missing, repeated or in another order than they were recorded in.
    SessionGaps {
        /// The number of places.
        count: u64,
    },
    /// The file system of the session cannot lock, so a file stands for the lease.
    SessionLeaseFile {
        /// That file.
        path: String,
    },
    /// Calls were refused by policy.
    CallsDenied {
        /// How many.
        count: u32,
        /// Why, in English: the first few reasons, each once.
        #[serde(default)]
        reasons: Vec<String>,
    },
    /// The provider gave a stop reason that we do not know; taken as the end of the turn.
    UnknownStopReason {
        /// The word.
        word: String,
    },
    /// The output limit cut an answer; the model was asked to go on.
    AnswerCut,
    /// The connection or the provider failed in the middle of the text of an answer; the model was asked to continue it.
    AnswerInterrupted {
        /// The failure that ended the answer.
        reason: Box<Reason>,
    },
    /// The service paused the answer; it was sent back to be completed.
    AnswerPaused,
    /// The answer was empty; the model was asked again.
    EmptyAnswer,
    /// The same call came again with the same result.
    RepeatedCall {
        /// The tool.
        tool: String,
        /// How often by now.
        count: u32,
    },
    /// The run comes near one of its limits; the model was asked to finish.
    LimitNear {
        /// Which.
        kind: LimitKind,
        /// How much is used, in percent.
        percent: u32,
    },
    /// Files of the configuration have keys that nobody reads.
    UnknownConfigKey {
        /// The file.
        path: String,
        /// The key, dotted.
        key: String,
    },
    /// A project's file sets a key that only a trusted workspace may set.
    UntrustedConfigKey {
        /// The file.
        path: String,
        /// The key, dotted.
        key: String,
    },
    /// A project's file sets a key that no project may set so.
    ForbiddenConfigKey {
        /// The file.
        path: String,
        /// The key, dotted.
        key: String,
    },
    /// Files of a project have changed since its workspace was trusted, which it is not any more.
    TrustChanged {
        /// The files.
        path: String,
    },
    /// The workspace is trusted, or servers are approved, and that could not be remembered.
    #[serde(rename = "trust_not_kept")]
    TrustNotSaved {
        /// The file of what is remembered.
        path: String,
        /// What went wrong.
        #[serde(rename = "said")]
        detail: String,
    },
    /// What is remembered of trust cannot be read; nothing is trusted by it.
    TrustUnreadable {
        /// The file of what is remembered.
        path: String,
        /// What went wrong.
        #[serde(rename = "said")]
        detail: String,
    },
    /// A configuration file without content, which held permission rules in the last run.
    RulesLost {
        /// The file.
        path: String,
    },
    /// Commands see no objects of git, since they hold the content of a tracked file that a rule denies to read.
    GitObjectsHidden {
        /// The tracked file.
        path: String,
        /// The rule that would show the objects.
        rule: String,
    },
    /// Tools of an MCP server are not what a person approved; they are not called.
    McpToolsChanged {
        /// The server.
        server: String,
        /// The tools.
        tools: String,
    },
    /// The answer is there; commands in the background are waited for.
    BackgroundAwaited {
        /// How many.
        count: u32,
    },
    /// An MCP server did not start; the run goes on without its tools.
    McpServerFailed {
        /// The server.
        server: String,
        /// What went wrong.
        #[serde(rename = "said")]
        detail: String,
    },
    /// A project's file asks for an MCP server, and the workspace is not trusted.
    McpServerUntrusted {
        /// The server.
        server: String,
        /// The file.
        path: String,
    },
    /// An MCP server is reached over HTTP, which we do not speak.
    McpServerUnsupported {
        /// The server.
        server: String,
    },
    /// A hook failed, and what it should have judged or heard went on without it.
    HookFailed {
        /// The hook.
        hook: String,
        /// The event it was told of.
        event: String,
        /// What went wrong.
        #[serde(rename = "said")]
        detail: String,
    },
    /// A project's file has hooks, and the workspace is not trusted.
    HooksUntrusted {
        /// The file.
        path: String,
    },
    /// A file has hooks of a kind that this version does not run.
    HooksNotRun {
        /// The file.
        path: String,
        /// Their events and types.
        what: String,
    },
    /// A command failed as one does that needs the network, which the sandbox denies.
    NetworkDenied,
    /// Commands still ran in the background when the run ended and were stopped.
    BackgroundStopped {
        /// How many.
        count: u32,
    },
}

impl Notice {
    /// What the model is told, in English, the language of all our words to it.
    pub fn for_model(&self) -> Option<String> {
        match self {
            Self::AnswerCut => Some(
                "Your answer was cut off by the output limit. Calls in it were not executed. Go on exactly where \
                 you stopped; write long files in several steps."
                    .to_owned(),
            ),
            Self::AnswerInterrupted { .. } => Some(
                "Your last answer was interrupted by a technical fault after the text above, which the user has \
                 already received. Continue exactly where that text stops, without repeating any of it and without \
                 mentioning the interruption."
                    .to_owned(),
            ),
            Self::AnswerPaused => Some(
                "Your last answer was paused before it was complete. Continue exactly where it stops, without \
                 repeating any of it."
                    .to_owned(),
            ),
            Self::EmptyAnswer => {
                Some("Your last answer was empty. Answer the user, or call a tool.".to_owned())
            }
            Self::RepeatedCall { tool, count } => Some(format!(
                "You have called `{tool}` {count} times with the same arguments and the same result. Try something \
                 else, or end with an answer."
            )),
            Self::LimitNear { kind, percent } => {
                let what = match kind {
                    LimitKind::Turns => "model requests",
                    LimitKind::Tokens => "tokens",
                    LimitKind::Cost => "money",
                    LimitKind::ToolCalls => "tool calls",
                    LimitKind::Time => "time",
                };
                Some(format!(
                    "You have used {percent} % of the {what} of this run. Finish now: do only what is \
                     indispensable, then give your final answer and say what is left to do."
                ))
            }
            Self::EmbeddedModel { .. }
            | Self::StdinIgnored { .. }
            | Self::ArgumentsIgnored { .. }
            | Self::SessionUnsynced
            | Self::SessionGaps { .. }
            | Self::SessionLeaseFile { .. }
            | Self::CallsDenied { .. }
            | Self::UnknownStopReason { .. }
            | Self::UnknownConfigKey { .. }
            | Self::UntrustedConfigKey { .. }
            | Self::ForbiddenConfigKey { .. }
            | Self::McpServerFailed { .. }
            | Self::McpServerUntrusted { .. }
            | Self::McpServerUnsupported { .. }
            | Self::HookFailed { .. }
            | Self::HooksUntrusted { .. }
            | Self::HooksNotRun { .. }
            | Self::TrustChanged { .. }
            | Self::TrustNotSaved { .. }
            | Self::TrustUnreadable { .. }
            | Self::RulesLost { .. }
            | Self::GitObjectsHidden { .. }
            | Self::McpToolsChanged { .. }
            | Self::NetworkDenied
            | Self::BackgroundAwaited { .. }
            | Self::BackgroundStopped { .. } => None,
        }
    }
}
