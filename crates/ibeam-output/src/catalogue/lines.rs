//! Lines that people read: reports of sub-commands, and the headings of a page.
//!
//! The tag of a variant is the end of its message id, and its fields are the arguments, as
//! [`variant_message`](super::message::variant_message) derives them. A new line is one variant here and one message in each
//! locale.

use serde::Serialize;

/// The lines of one report. The message id of a line starts with `PREFIX`.
pub trait CatalogueLine: Serialize {
    /// The message id without the tag of the variant.
    const PREFIX: &'static str;
}

/// The lines around the findings of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckLine<'a> {
    /// The stream follows the contract.
    #[serde(rename = "keeps")]
    Valid { file: &'a str, contract: &'a str, events: u64, warnings: u64 },
    /// The stream breaks the contract.
    #[serde(rename = "breaks")]
    Invalid { file: &'a str, contract: &'a str, events: u64, errors: u64, warnings: u64 },
    /// The number of findings that the report does not list.
    #[serde(rename = "more")]
    MoreFindings { count: u64 },
}

impl CatalogueLine for CheckLine<'_> {
    const PREFIX: &'static str = "check";
}

/// A line that a sub-command prints about its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubcommandLine<'a> {
    /// The result of `login`.
    LoggedIn {
        /// The provider.
        provider: &'a str,
        /// The file with the key.
        path: &'a str,
    },
    /// The hint after a stream for programs was printed on a terminal.
    StreamOnTerminal,
    /// The question of `login` for a provider, on a terminal.
    ProviderQuestion {
        /// The provider of an empty answer.
        provider: &'a str,
    },
    /// The question of `login` for a key, on a terminal.
    KeyQuestion { provider: &'a str },
    /// The service accepted the key of `login`.
    KeyAccepted { provider: &'a str },
    /// The service answers without a key too, so `login` could not check the key.
    KeyUnverifiable { provider: &'a str },
    /// The service could not be asked whether the key of `login` is valid.
    KeyUnchecked {
        /// The provider.
        provider: &'a str,
        /// The failure.
        message: &'a str,
    },
    /// The result of `logout` for one provider.
    KeyDeleted {
        /// The provider.
        provider: &'a str,
    },
    /// The question of `logout` for a provider, on a terminal.
    LogoutQuestion {
        /// The providers with a stored key.
        providers: &'a str,
    },
    /// A variable or a setting takes precedence over the key that `login` stored.
    KeyOverridden { source: &'a str },
    /// A provider still has a key after `logout`: that of a variable or a setting.
    KeyRemains {
        /// The provider.
        provider: &'a str,
        /// The variable or the setting.
        source: &'a str,
    },
    /// The result of `logout` for all providers, or without a stored key.
    LoggedOut {
        /// The number of deleted keys; may be 0.
        count: u64,
    },
    /// `trust forget` removed a workspace from the list.
    #[serde(rename = "forgotten")]
    TrustRemoved {
        /// The workspace.
        path: &'a str,
    },
    /// `trust forget` found that the workspace is not trusted.
    #[serde(rename = "nothing_to_forget")]
    NotTrusted {
        /// The workspace.
        path: &'a str,
    },
    /// `trust list` found no trusted workspace.
    #[serde(rename = "nothing_trusted")]
    NoTrustedWorkspaces,
    /// The approval that `trust list` adds to an MCP server.
    ApprovedTools {
        /// The day of the approval.
        since: &'a str,
        /// The number of approved tools.
        count: u64,
    },
    /// `mcp list` found no configured server.
    NoServers,
    /// `hooks` found no configured hook.
    NoHooks,
    /// `quarantine list` found nothing.
    QuarantineEmpty,
    /// `quarantine restore` moved a file or directory back.
    QuarantineRestored {
        /// The place where it is now.
        path: &'a str,
    },
    /// `report` wrote its file.
    ReportWritten {
        /// The file.
        path: &'a str,
    },
    /// `report` wrote its file, without a session or a log.
    ReportOfMachineWritten {
        /// The file.
        path: &'a str,
    },
}

impl CatalogueLine for SubcommandLine<'_> {
    const PREFIX: &'static str = "command";
}

/// The headings and lines of `context`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextLine<'a> {
    /// The heading of the column with bytes.
    Bytes,
    /// The heading of the column with estimated tokens.
    Tokens,
    /// The heading of the system prompt.
    System,
    /// The heading of the tools.
    Tools,
    /// The heading of the tools of MCP servers.
    ServerTools,
    /// The heading of the texts of a repository that is not trusted.
    Repository,
    /// The heading of the conversation of a resumed session.
    Conversation,
    /// The heading of the prompt.
    Prompt,
    /// The name of the sum.
    Total,
    /// The name of the tokens that are left of the context window.
    Free,
    /// The context window of the model.
    Window { model: &'a str, tokens: u64 },
    /// The MCP servers whose tools are not counted.
    Servers { servers: &'a str },
    /// The heading of the slash commands.
    Commands,
}

impl CatalogueLine for ContextLine<'_> {
    const PREFIX: &'static str = "context";
}

/// The lines about the losses of `convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvertLine<'a> {
    /// The conversion lost this many different things.
    Lossy { file: &'a str, to: &'a str, count: u64 },
    /// The target has no such key.
    Dropped { key: &'a str, count: u64, line: u64 },
    /// The target has another value.
    Changed { key: &'a str, count: u64, line: u64 },
    /// The target has one event for several events of the source.
    Joined { key: &'a str, count: u64, line: u64 },
    /// The number of losses that the report does not list.
    #[serde(rename = "more")]
    MoreLosses { count: u64 },
}

impl CatalogueLine for ConvertLine<'_> {
    const PREFIX: &'static str = "convert";
}

/// The lines of `policy test` and `policy list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyLine<'a> {
    /// The access is allowed.
    Allowed { rule: &'a str },
    /// The access is denied.
    Denied { rule: &'a str, reason: &'a str },
    /// A person decides about the access.
    #[serde(rename = "asked")]
    NeedsApproval { rule: &'a str, reason: &'a str },
    /// A command that cannot be analyzed.
    #[serde(rename = "opaque")]
    Unanalyzable { what: &'a str },
    /// The program that a command runs, and the programs that start it.
    #[serde(rename = "runs")]
    RunsProgram { program: &'a str, wrappers: &'a str },
    /// A file that a command reads by a redirection.
    #[serde(rename = "reads")]
    ReadsFile { path: &'a str },
    /// A file that a command writes by a redirection.
    #[serde(rename = "writes")]
    WritesFile { path: &'a str },
    /// A rule applies to the access.
    #[serde(rename = "applies")]
    RuleApplies { rule: &'a str, why: &'a str },
    /// A rule does not apply to the access.
    #[serde(rename = "passes")]
    RuleDoesNotApply { rule: &'a str, why: &'a str },
    /// No rules exist.
    NoRules,
    /// Path rules do not cover everything that commands do.
    #[serde(rename = "path_bounds")]
    PathRuleLimits,
}

impl CatalogueLine for PolicyLine<'_> {
    const PREFIX: &'static str = "policy";
}

/// The warnings of `replay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayLine<'a> {
    /// A run has no last event: it was killed, or still runs.
    NoEnd { run: u64 },
    /// A run failed, which its format does not show.
    Failed { run: u64, message: &'a str },
    /// The last record or line is incomplete.
    #[serde(rename = "torn")]
    TruncatedRecord { bytes: u64 },
    /// The number of places where events are missing.
    Gaps { count: u64 },
}

impl CatalogueLine for ReplayLine<'_> {
    const PREFIX: &'static str = "replay";
}

/// The lines of `sessions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionLine<'a> {
    /// Every record and every payload is as it was stored.
    #[serde(rename = "whole")]
    Intact { session: &'a str },
    /// Every record is as it was stored, but some are missing, repeated or moved.
    Incomplete { session: &'a str },
    /// A record or a payload is not as it was stored.
    Damaged { session: &'a str },
    /// A repair preserved the records before the damage.
    Repaired { session: &'a str },
    /// A repair found no valid record.
    #[serde(rename = "gone")]
    Unrecoverable { session: &'a str },
    /// The number of complete events before any damage.
    Events { count: u64 },
    /// The files of the journal.
    Files { count: u64, bytes: u64 },
    /// Payloads that are too large for the journal.
    Payloads { count: u64, bytes: u64 },
    /// Payloads that no record names.
    #[serde(rename = "orphans")]
    UnreferencedPayloads { count: u64 },
    /// The last record is incomplete.
    #[serde(rename = "torn")]
    TruncatedRecord { bytes: u64 },
    /// The number of places where events are missing, repeated or moved.
    Gaps { count: u64 },
    /// Calls without a result.
    OpenCalls { count: u64 },
    /// The first damage.
    Damage { file: &'a str, line: u64, detail: &'a str },
    /// The file to which a repair moved the damaged records.
    #[serde(rename = "moved")]
    MovedAside { path: &'a str },
    /// The title of a session.
    Title { session: &'a str, title: &'a str },
    /// The workspace of a session.
    Directory { path: &'a str },
    /// The times of the creation and of the last write.
    Times { created: &'a str, updated: &'a str },
    /// The size of all files of a session.
    Stored { size: &'a str },
    /// The runs of a session, and their requests and calls.
    Runs { count: u64, requests: u64, calls: u64 },
    /// The tokens of all runs.
    Tokens { read: u64, written: u64 },
    /// The cost of all runs.
    Cost { cost_micros: u64 },
    /// The number of changed files.
    ChangedFiles { count: u64 },
    /// The question before sessions are removed.
    ConfirmRemoval { count: u64 },
    /// A session was removed.
    Removed { session: &'a str },
    /// A session is in use and was not removed.
    InUse { session: &'a str, holder: &'a str },
    /// No session is old enough.
    NothingToRemove,
    /// No session of the directory is stored.
    NoneHere,
    /// No session is stored.
    None,
    /// No session of the directory contains the text.
    NoMatchHere { words: &'a str },
    /// No session contains the text.
    NoMatch { words: &'a str },
    /// A session has another title.
    Renamed { session: &'a str, title: &'a str },
    /// A session was written to a file.
    Exported { session: &'a str, path: &'a str },
    /// The references of the checkpoints could not be removed.
    CheckpointsLeft { path: &'a str, detail: &'a str },
    /// A session was imported.
    Imported { session: &'a str, count: u64 },
}

impl CatalogueLine for SessionLine<'_> {
    const PREFIX: &'static str = "session";
}

/// The lines of `undo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoLine<'a> {
    /// A file gets its old content.
    Restores { path: &'a str },
    /// A file did not exist and is removed.
    Removes { path: &'a str },
    /// A file was ignored or too large to be saved, and is left alone.
    Keeps { path: &'a str },
    /// A file was changed since by somebody else.
    ChangedSince { path: &'a str },
    /// A redo has overwritten a file that somebody else had changed; the commit in this git directory has its content.
    Overwritten { path: &'a str, commit: &'a str, directory: &'a str },
    /// The files are as they were already.
    Unchanged,
    /// The undo is done; `command` takes it back.
    Done { count: u64, command: &'a str },
    /// The undo was taken back.
    Redone { count: u64 },
}

impl CatalogueLine for UndoLine<'_> {
    const PREFIX: &'static str = "undo";
}

/// The lines of `fleet run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetLine<'a> {
    /// A run of the task starts.
    Started { task: &'a str },
    /// The task has a result.
    Finished { task: &'a str, outcome: &'a str, seconds: u64 },
    /// The task will be run again.
    Retried { task: &'a str, seconds: u64 },
    /// The task is parked or not decided, and waits until the fleet is started again.
    Stopped { task: &'a str, state: &'a str, reason: &'a str },
    /// This worker leaves the task to others.
    Refused { task: &'a str, reason: &'a str },
    /// The task waits for a batch.
    Waiting { task: &'a str },
    /// The task continues where another machine stopped.
    Restored { task: &'a str },
    /// The snapshot of another machine cannot be used.
    NotRestored { task: &'a str, detail: &'a str },
    /// No snapshot can be stored for other machines.
    NotStored { task: &'a str, detail: &'a str },
    /// The events of runs cannot be published now.
    NotPublished { task: &'a str, detail: &'a str },
    /// The trace of a finished task cannot be written.
    NotTraced { task: &'a str, detail: &'a str },
    /// A batch was submitted.
    Submitted { batch: &'a str, model: &'a str, requests: u64 },
    /// Batches have answered requests.
    Answered { requests: u64 },
    /// The deadline has passed: a batch was cancelled.
    Cancelled { batch: &'a str },
    /// The service of the batches failed in a way that may pass.
    PolledAgain { detail: &'a str },
}

impl CatalogueLine for FleetLine<'_> {
    const PREFIX: &'static str = "fleet";
}

/// The lines of `shim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShimLine<'a> {
    /// The link was created or replaced.
    #[serde(rename = "made")]
    Created { link: &'a str, program: &'a str },
    /// The link was already correct.
    #[serde(rename = "kept")]
    Unchanged { link: &'a str },
    /// Clients find the link.
    InPath { directory: &'a str },
    /// Clients do not find the link; `command` changes that.
    NotInPath { directory: &'a str, command: &'a str },
    /// Clients find another program with this name first.
    #[serde(rename = "hidden")]
    Shadowed { name: &'a str, other: &'a str, directory: &'a str },
}

impl CatalogueLine for ShimLine<'_> {
    const PREFIX: &'static str = "shim";
}

/// The names and values of a comparison of two sessions or streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareLine {
    /// The name of the id of the session.
    Session,
    /// The name of the models.
    Model,
    /// The name of the number of runs.
    Runs,
    /// The name of the result of the last run.
    LastRun,
    /// The name of the duration of all runs.
    Duration,
    /// The name of the number of model requests.
    Requests,
    /// The name of the calls and of their number.
    Calls,
    /// The name of the number of calls that failed or were refused.
    FailedCalls,
    /// The name of the number of tokens that were sent and not cached.
    TokensRead,
    /// The name of the number of tokens from the cache.
    TokensCached,
    /// The name of the number of tokens of answers.
    TokensWritten,
    /// The name of the cost.
    Cost,
    /// The name of the changed files and of their number.
    ChangedFiles,
    /// The run succeeded.
    Completed,
    /// The run or the call failed.
    Failed,
    /// The call was refused.
    Refused,
    /// The end of the run or the call is missing.
    Incomplete,
    /// Entries that are equal in both, and not shown.
    Equal { count: u64 },
}

impl CatalogueLine for CompareLine {
    const PREFIX: &'static str = "compare";
}

/// The warnings about an export of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceLine<'a> {
    /// The spans could not be written to the file.
    NotWritten { path: &'a str, detail: &'a str },
    /// The service did not accept the spans.
    NotSent { url: &'a str, detail: &'a str },
}

impl CatalogueLine for TraceLine<'_> {
    const PREFIX: &'static str = "trace";
}

/// The lines about what a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProgressLine<'a> {
    /// The run starts.
    Start,
    /// The model has sent nothing of its answer yet.
    Model,
    /// The model reasons.
    Thinking,
    /// The model writes its answer.
    Text,
    /// A failed request is repeated later.
    Retry,
    /// A call runs.
    Call { tool: &'a str, target: &'a str },
    /// A call and `count` other calls run.
    Calls { tool: &'a str, target: &'a str, count: u64 },
    /// Commands run in the background.
    Background,
    /// The run ends.
    End,
    /// The activity, and its time in seconds.
    Status { activity: &'a str, time: u64 },
    /// The activity, its time in seconds, and the tokens of the run.
    StatusWithTokens { activity: &'a str, time: u64, tokens: u64 },
}

impl CatalogueLine for ProgressLine<'_> {
    const PREFIX: &'static str = "progress";
}

/// The lines after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunLine {
    /// The heading of the text of a run that failed.
    Unfinished,
    /// The heading of the changed files.
    ChangedFiles,
    /// The heading of the changed files where commands ran, which may have changed more.
    ChangedFilesWithoutCommands,
    /// No file was changed.
    NoChangedFiles,
    /// No file was changed by the file tools; a command or an MCP tool may have changed some.
    NoFilesChangedByFileTools,
    /// The requests to the model, the calls and the duration.
    Requests { requests: u64, calls: u64, duration_ms: u64 },
    /// The tokens.
    Tokens { read: u64, cached: u64, written: u64 },
    /// The cost.
    Cost { cost_micros: u64 },
}

impl CatalogueLine for RunLine {
    const PREFIX: &'static str = "run";
}
