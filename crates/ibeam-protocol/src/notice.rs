//! Notices of a run for people, printed on stderr; their text is in `ibeam-output`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::{Reason, UnusedKey};
use crate::id::CallId;
use crate::run::LimitKind;
use crate::sentence::Sentence;

/// A notice of a run. Notices with `for_model` are part of the conversation too.
///
/// The serialized tag of a variant is its message id, and the fields are the arguments of the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The run uses the small embedded model.
    EmbeddedModel {
        /// The display name of the model.
        model: String,
        /// A key that is set and that no provider uses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unused_key: Option<UnusedKey>,
    },
    /// The model has no setting for reasoning, so `--effort` and `--thinking-budget` have no effect.
    EffortIgnored {
        /// The display name of the model.
        model: String,
    },
    /// The model does not accept the level of reasoning that the user asked for.
    EffortChanged {
        /// The display name of the model.
        model: String,
        /// The level that the user asked for.
        asked: String,
        /// The nearest level that the model accepts.
        used: String,
    },
    /// The service does not know the default model, and another one took its place.
    DefaultModelReplaced {
        /// The model that the service does not know, as `PROVIDER/ID`.
        from: String,
        /// The model in its place, as `PROVIDER/ID`.
        to: String,
    },
    /// stdin sent nothing and was ignored.
    StdinIgnored {
        /// The time that the run waited for input, in milliseconds.
        waited_ms: u64,
    },
    /// Arguments of another program have no counterpart and were ignored.
    ArgumentsIgnored {
        /// The dialect of the other program.
        dialect: String,
        /// The arguments, separated by commas.
        arguments: String,
    },
    /// The limit of the cost has no effect, because no price of the model is known.
    BudgetNotEnforced {
        /// The model.
        model: String,
    },
    /// The run ended before the disk had confirmed the last records of the session.
    SessionUnsynced,
    /// Events of the resumed session are missing, repeated or in the wrong order.
    SessionGaps {
        /// The number of places where an event does not follow the event before it.
        count: u64,
    },
    /// The file system of the session does not support locks, so a file is the lease.
    SessionLeaseFile {
        /// The lease file.
        path: String,
    },
    /// Calls were refused by policy.
    CallsDenied {
        /// The number of calls.
        count: u32,
        /// The first few reasons, without duplicates.
        #[serde(default)]
        reasons: Vec<Sentence>,
    },
    /// The provider gave an unknown stop reason, which was treated as the end of the turn.
    UnknownStopReason {
        /// The stop reason.
        word: String,
    },
    /// The output limit cut an answer; the model was asked to continue.
    AnswerCut,
    /// The connection or the provider failed during the text of an answer; the model was asked to continue it.
    AnswerInterrupted {
        /// The failure that ended the answer.
        reason: Box<Reason>,
    },
    /// The service could not be used over WebSocket; requests go over HTTP.
    WebsocketUnavailable {
        /// The provider.
        provider: String,
        /// The reason.
        detail: String,
    },
    /// The service refused the thinking of earlier answers; the request was repeated without it.
    ThinkingRefused {
        /// The provider.
        provider: String,
    },
    /// The service refused tools; the request was repeated without them.
    ToolsRefused {
        /// The provider.
        provider: String,
        /// The tools, separated by commas: those of MCP servers as `SERVER:TOOL`.
        tools: String,
    },
    /// The service accepts fewer tools than there are; the request has no more.
    ToolsBeyondLimit {
        /// The provider.
        provider: String,
        /// The number of tools that it accepts.
        limit: u64,
        /// The tools that are left out, as in [`Self::ToolsRefused`].
        tools: String,
    },
    /// The service refused images or documents; the request was repeated without them.
    FilesRefused {
        /// The provider.
        provider: String,
        /// The files, separated by commas.
        files: String,
    },
    /// Images are incomplete or damaged, and requests do not contain them.
    ImagesDamaged {
        /// The files, separated by commas.
        files: String,
    },
    /// Images have more pixels than the service accepts, and requests do not contain them.
    ImagesTooLarge {
        /// The provider.
        provider: String,
        /// The number of pixels of a side that it accepts.
        limit: u64,
        /// The files, separated by commas.
        files: String,
    },
    /// A conversation has more images or documents than the service accepts, and requests do not contain the oldest.
    FilesBeyondLimit {
        /// The provider.
        provider: String,
        /// The number of images, or of documents, that it accepts.
        limit: u64,
        /// The files that are left out, separated by commas.
        files: String,
    },
    /// A model was unavailable, and another one takes over.
    ModelFallback {
        /// The model that was unavailable, as `PROVIDER/ID`.
        from: String,
        /// The model that takes over, as `PROVIDER/ID`.
        to: String,
        /// The last failure of the unavailable model.
        reason: Box<Reason>,
    },
    /// A model of the configured chain cannot be used, so it will not take over.
    FallbackUnusable {
        /// The name of the model, as it was given.
        model: String,
        /// The reason.
        reason: Box<Reason>,
    },
    /// The service paused the answer; it was sent back for completion.
    AnswerPaused,
    /// The answer was empty; the model was asked again.
    EmptyAnswer,
    /// The answer does not match the schema of `--json-schema`; the model was asked to correct it.
    AnswerMismatch {
        /// The number of the correction, from 1.
        attempt: u32,
        /// The violations.
        #[serde(rename = "said")]
        detail: Sentence,
    },
    /// A call was repeated with the same result.
    RepeatedCall {
        /// The tool.
        tool: String,
        /// The number of repetitions so far.
        count: u32,
    },
    /// The run approaches one of its limits; the model was asked to finish.
    LimitNear {
        /// The limit.
        kind: LimitKind,
        /// The used share, in percent.
        percent: u32,
    },
    /// A configuration file has an unknown key.
    UnknownConfigKey {
        /// The file.
        path: String,
        /// The line of the key, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// The key, dotted.
        key: String,
        /// The known key that was probably meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        near: Option<String>,
    },
    /// A file of a project sets a key that only a trusted workspace may set.
    UntrustedConfigKey {
        /// The file.
        path: String,
        /// The key, dotted.
        key: String,
    },
    /// A file of a project sets a key to a value that no project may set.
    ForbiddenConfigKey {
        /// The file.
        path: String,
        /// The key, dotted.
        key: String,
    },
    /// Files of a project have changed since its workspace was trusted, so it is no longer trusted.
    TrustChanged {
        /// The files.
        path: String,
    },
    /// The trust in a workspace or the approval of servers could not be stored.
    #[serde(rename = "trust_not_kept")]
    TrustNotSaved {
        /// The file of the trust store.
        path: String,
        /// The error of the system or the other program.
        #[serde(rename = "said")]
        detail: String,
    },
    /// The trust store cannot be read, so it grants no trust.
    TrustUnreadable {
        /// The file of the trust store.
        path: String,
        /// The error of the system or the other program.
        #[serde(rename = "said")]
        detail: String,
    },
    /// A rule file, skill, slash command or file of another program, or a part of it, is not valid and not used.
    TextFileIgnored {
        /// The file, with the part after a colon.
        path: String,
        /// The reason.
        detail: String,
    },
    /// Rule files or skills are too long for the model, which receives only a part of them.
    TextsCut {
        /// The files, separated by commas.
        files: String,
    },
    /// A configuration file that held permission rules in the last run is now empty.
    RulesLost {
        /// The file.
        path: String,
    },
    /// The objects of git are hidden from commands, since they contain a tracked file that a rule forbids to read.
    GitObjectsHidden {
        /// The tracked file.
        path: String,
        /// The rule that would make the objects visible.
        rule: String,
    },
    /// The files of the workspace could not be saved before a change, so the turn cannot be undone.
    CheckpointSkipped {
        /// The reason: an English sentence without a full stop.
        detail: String,
    },
    /// A checkpoint does not contain some files.
    CheckpointIncomplete {
        /// The number of files.
        count: u64,
        /// The first of them.
        path: String,
    },
    /// The run works in a git worktree of its own.
    WorktreeUsed {
        /// The directory.
        path: String,
        /// The branch that is checked out there.
        branch: String,
    },
    /// The set-up commands of a worktree are not run, because the workspace is not trusted.
    WorktreeSetupUntrusted {
        /// The file with the commands.
        path: String,
    },
    /// Tools of an MCP server differ from those that a person approved, and are not called.
    McpToolsChanged {
        /// The server.
        server: String,
        /// The tools.
        tools: String,
    },
    /// Tools of an MCP server are not offered, because the server describes them wrongly.
    McpToolsLeftOut {
        /// The server.
        server: String,
        /// The tools, with the reasons.
        tools: String,
    },
    /// The answer is complete, and the run waits for commands in the background.
    BackgroundAwaited {
        /// The number of commands.
        count: u32,
    },
    /// An MCP server did not start; the run continues without its tools.
    McpServerFailed {
        /// The server.
        server: String,
        /// The error of the system or the other program.
        #[serde(rename = "said")]
        detail: String,
    },
    /// A file of a project requests an MCP server, and the workspace is not trusted.
    McpServerUntrusted {
        /// The server.
        server: String,
        /// The file.
        path: String,
    },
    /// An MCP server uses the old transport `sse`, which this version does not support.
    McpServerUnsupported {
        /// The server.
        server: String,
    },
    /// A hook failed, and the run continued without it.
    HookFailed {
        /// The hook.
        hook: String,
        /// The event of the hook.
        event: String,
        /// The error of the system or the other program.
        #[serde(rename = "said")]
        detail: String,
    },
    /// The definitions of sub-agents of a project are not used, because the workspace is not trusted.
    SubagentsUntrusted {
        /// The directory of the definitions.
        path: String,
    },
    /// A definition of a sub-agent is not used, or only in part.
    SubagentDefinition {
        /// The file.
        path: String,
        /// The reason, in English.
        detail: String,
    },
    /// A file of a project has hooks, and the workspace is not trusted.
    HooksUntrusted {
        /// The file.
        path: String,
    },
    /// A file has hooks of a kind that this version does not run.
    HooksNotRun {
        /// The file.
        path: String,
        /// The events and types of the hooks.
        what: String,
    },
    /// A command failed in a way that suggests that it needs the network, which the sandbox denies.
    NetworkDenied,
    /// A command failed in a way that suggests that it writes where the sandbox does not let it.
    WriteDenied {
        /// A directory that the user could add.
        example: String,
    },
    /// A command failed in a way that suggests that it needs a service of this machine, whose socket the sandbox hides.
    SocketDenied,
    /// The workspace is, or contains, the home directory, so that some protections do not apply to it.
    HomeWorkspace {
        /// The workspace.
        path: String,
    },
    /// Commands changed protected paths. What they created is in the quarantine, what they changed was restored.
    ProtectedPathsRestored {
        /// Some of the paths, separated by commas.
        paths: String,
    },
    /// Protected names appeared while commands ran, and no command is known to have made them. They were left alone.
    ProtectedPathsAppeared {
        /// Some of the paths, separated by commas.
        paths: String,
    },
    /// A command in the background ended by itself.
    BackgroundEnded {
        /// The call that started it.
        call_id: CallId,
        /// The command.
        command: String,
        /// The exit code; 128 + number for a signal.
        exit_code: i32,
    },
    /// Commands still ran in the background when the run ended and were stopped.
    BackgroundStopped {
        /// The number of commands.
        count: u32,
    },
}

/// The number of characters of a command that a message to the model repeats.
const MAX_COMMAND_CHARS: usize = 200;

/// Returns the beginning of a command on one line.
fn shortened_command(command: &str) -> String {
    let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match command.char_indices().nth(MAX_COMMAND_CHARS) {
        None => command,
        Some((end, _)) => format!("{}…", command.get(..end).unwrap_or_default()),
    }
}

/// The number of files or tools that a notice names.
const MAX_NAMED: usize = 5;

impl Notice {
    /// Returns the notice about texts that are too long; `None` if there are none.
    pub fn texts_cut(files: &[String]) -> Option<Self> {
        (!files.is_empty()).then(|| Self::TextsCut { files: Self::list(files) })
    }

    /// Returns the first few names, separated by commas, with the number of all if there are more.
    pub fn list(names: &[String]) -> String {
        let named = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        if names.len() > MAX_NAMED { format!("{named}, … ({})", names.len()) } else { named }
    }

    /// Returns the notice about a part of a file, of which the rest is used.
    pub fn part_ignored(path: &Path, part: &str, detail: String) -> Self {
        Self::TextFileIgnored { path: format!("{}: {part}", path.display()), detail }
    }

    /// Returns the text for the model, in English, if the notice is for the model too.
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
            Self::AnswerMismatch { detail, .. } => Some(format!(
                "Your last answer does not match the required JSON Schema: {detail}. Answer again with the corrected \
                 JSON document: exactly one document that matches the schema, without other text and without a code \
                 fence."
            )),
            Self::BackgroundEnded { command, exit_code, .. } => Some(format!(
                "The background command `{}` has ended with exit code {exit_code}.",
                shortened_command(command)
            )),
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
            | Self::EffortIgnored { .. }
            | Self::EffortChanged { .. }
            | Self::DefaultModelReplaced { .. }
            | Self::ModelFallback { .. }
            | Self::FallbackUnusable { .. }
            | Self::StdinIgnored { .. }
            | Self::ArgumentsIgnored { .. }
            | Self::BudgetNotEnforced { .. }
            | Self::SessionUnsynced
            | Self::SessionGaps { .. }
            | Self::SessionLeaseFile { .. }
            | Self::CallsDenied { .. }
            | Self::UnknownStopReason { .. }
            | Self::WebsocketUnavailable { .. }
            | Self::ThinkingRefused { .. }
            | Self::ToolsRefused { .. }
            | Self::ToolsBeyondLimit { .. }
            | Self::FilesRefused { .. }
            | Self::ImagesDamaged { .. }
            | Self::ImagesTooLarge { .. }
            | Self::FilesBeyondLimit { .. }
            | Self::UnknownConfigKey { .. }
            | Self::UntrustedConfigKey { .. }
            | Self::ForbiddenConfigKey { .. }
            | Self::McpServerFailed { .. }
            | Self::McpServerUntrusted { .. }
            | Self::McpServerUnsupported { .. }
            | Self::HookFailed { .. }
            | Self::HooksUntrusted { .. }
            | Self::SubagentsUntrusted { .. }
            | Self::SubagentDefinition { .. }
            | Self::HooksNotRun { .. }
            | Self::TrustChanged { .. }
            | Self::TrustNotSaved { .. }
            | Self::TrustUnreadable { .. }
            | Self::TextFileIgnored { .. }
            | Self::TextsCut { .. }
            | Self::RulesLost { .. }
            | Self::GitObjectsHidden { .. }
            | Self::CheckpointSkipped { .. }
            | Self::CheckpointIncomplete { .. }
            | Self::WorktreeUsed { .. }
            | Self::WorktreeSetupUntrusted { .. }
            | Self::McpToolsChanged { .. }
            | Self::McpToolsLeftOut { .. }
            | Self::NetworkDenied
            | Self::WriteDenied { .. }
            | Self::SocketDenied
            | Self::HomeWorkspace { .. }
            | Self::ProtectedPathsRestored { .. }
            | Self::ProtectedPathsAppeared { .. }
            | Self::BackgroundAwaited { .. }
            | Self::BackgroundStopped { .. } => None,
        }
    }
}
