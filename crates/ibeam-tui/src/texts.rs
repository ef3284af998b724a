//! The texts of the display, in the language of the catalogue.

use ibeam_output::CatalogueLine;
use serde::Serialize;

/// A text of the display. The tag of a variant is the end of its message id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TuiLine<'a> {
    /// The first line of a session.
    Welcome { model: &'a str, directory: &'a str },
    /// The line about the help, after the first line.
    WelcomeHelp,
    /// The session is being opened.
    Opening { seconds: u64 },
    /// The model has not answered yet.
    Working { seconds: u64 },
    /// The keys while a turn runs.
    KeysBusy,
    /// The keys of a question about a call.
    KeysQuestion,
    /// The keys of the message about a refusal.
    KeysExplain,
    /// The keys while a command of the person runs.
    KeysCommand,
    /// The keys while no turn runs.
    KeysIdle,
    /// The keys where there are lines only.
    KeysLines,
    /// The terminal may have cut a line.
    LineCut,
    /// A second Ctrl-C ends the program.
    PressAgain,
    /// A second Ctrl-D ends the turn and the program.
    PressAgainBusy,
    /// A message that is added to the running turn.
    Steering { text: &'a str },
    /// A message that waits for the end of the turn.
    Queued { text: &'a str },
    /// A search in the history.
    Search { text: &'a str },
    /// A search in the history that found nothing.
    SearchNoMatch { text: &'a str },
    /// The lines before a shown end of an output.
    HiddenLines { count: u64 },
    /// The number of lines of an output.
    Lines { count: u64 },
    /// The number of results of a search.
    Results { count: u64 },
    /// The number of calls of a sub-agent.
    Calls { count: u64 },
    /// The number of tokens of a turn.
    Tokens { text: &'a str },
    /// The exit code of a command.
    ExitCode { text: &'a str },
    /// The question about a call.
    AllowThis,
    /// Allow this call only.
    Once,
    /// Allow calls like this one until the program ends.
    ForSession,
    /// Write an allow rule.
    Always { rule: &'a str },
    /// Refuse.
    Refuse,
    /// Refuse, and write a message to the model.
    RefuseAndExplain,
    /// The message to the model about a refusal.
    Explain,
    /// The message to the model about a refusal, where there are lines only.
    ExplainInLine,
    /// The call was allowed once.
    AllowedOnce,
    /// Calls like it are allowed until the program ends.
    AllowedForSession,
    /// The call is allowed by a new rule.
    RuleAdded { rule: &'a str, path: &'a str },
    /// The rule could not be written; the call is allowed once.
    RuleNotWritten { path: &'a str, detail: &'a str },
    /// The call was refused.
    Refused,
    /// The session.
    StatusSession { id: &'a str },
    /// The model with its provider.
    StatusModel { name: &'a str },
    /// The mode.
    StatusMode { mode: &'a str },
    /// The isolation of commands.
    StatusSandbox { state: &'a str },
    /// The values that a command accepts; the current one is in brackets.
    Choices { list: &'a str },
    /// A command that does not exist.
    UnknownCommand { name: &'a str },
    /// A command that does not exist, and the one that was probably meant.
    UnknownCommandNear { name: &'a str, nearest: &'a str },
    /// A value that a command does not accept.
    UnknownChoice { name: &'a str, list: &'a str },
    /// A command was typed with a word after it that it does not take.
    NoArgument { name: &'a str },
    /// A model that is not in the tables, and the one that was probably meant.
    UnknownModelNear { name: &'a str, nearest: &'a str },
    /// A model that is not in the tables.
    UnknownModel { name: &'a str },
    /// The current model, and how to change it.
    ModelHint { model: &'a str },
    /// The person ended a turn.
    Interrupted,
    /// The description of `/redo`.
    CommandRedo,
    /// The amount of reasoning of the model.
    Effort { level: &'a str },
    /// The description of `/help`.
    CommandHelp,
    /// The description of `/status`.
    CommandStatus,
    /// The description of `/model`.
    CommandModel,
    /// The description of `/context`.
    CommandContext,
    /// The description of `/permissions`.
    CommandPermissions,
    /// The description of `/mcp`.
    CommandMcp,
    /// The description of `/mode`.
    CommandMode,
    /// The description of `/effort`.
    CommandEffort,
    /// The description of `/resume`.
    CommandResume,
    /// The description of `/new`.
    CommandNew,
    /// The description of `/compact`.
    CommandCompact,
    /// The description of `/undo`.
    CommandUndo,
    /// The description of `/diff`.
    CommandDiff,
    /// The description of `/cost`.
    CommandCost,
    /// The description of `/skills`.
    CommandSkills,
    /// The description of `/export`.
    CommandExport,
    /// The conversation will be shortened with the next prompt.
    CompactRequested,
    /// The conversation has no part that a summary would shorten.
    NothingToCompact,
    /// The conversation was shortened.
    Compacted { before: u64, after: u64 },
    /// No skill was found.
    NoSkills,
    /// The session was written to a file.
    Exported { path: &'a str },
    /// The turns of a resumed session that are not shown.
    EarlierTurns { count: u64 },
    /// The description of `/transcript`.
    CommandTranscript,
    /// The title of the picker with the sessions of the current directory.
    PickerHere,
    /// The title of the picker with all sessions.
    PickerAll,
    /// No session matches the filter.
    PickerEmpty,
    /// The keys of the picker.
    PickerKeys,
    /// The question for the number of a session, where there are lines only.
    PickNumber,
    /// A time of some minutes.
    Minutes { count: u64 },
    /// A time of some hours.
    Hours { count: u64 },
    /// A time of some days.
    Days { count: u64 },
    /// The title of the view of changes.
    ChangesTitle,
    /// The title of the view of the whole conversation.
    TranscriptTitle,
    /// The session has changed no files.
    NoChanges,
    /// No turn of the session has changed files.
    NothingToUndo,
    /// The changes of the session are all undone.
    AlreadyUndone,
    /// The session has no undo to take back.
    NothingToRedo,
    /// A value that should be the number of a turn.
    NotATurn { name: &'a str },
    /// The conversation cannot be shown, because none is stored.
    NoTranscript,
    /// The keys of a view of lines.
    ViewKeys,
    /// A search in a view of lines.
    ViewSearch { text: &'a str },
    /// A search in a view of lines that found nothing.
    ViewNoMatch { text: &'a str },
    /// The description of `/exit`.
    CommandExit,
    /// The keys of a choice.
    DialogKeys,
    /// The keys of a choice that is the first question.
    DialogKeysLeave,
    /// The keys of a text that is asked for.
    DialogTextKeys,
    /// The question for the number of a choice, where there are lines only.
    DialogNumber,
    /// The question for the number of a choice that is the first question, where there are lines only.
    DialogNumberLeaves,
    /// The effect of an empty line, where there are lines only.
    DialogEmptyLine,
    /// The choice to end the program.
    DialogLeave,
    /// A folder has configuration of its own that is not trusted.
    TrustFolder { directory: &'a str },
    /// The configuration of a trusted folder has changed.
    TrustChanged { directory: &'a str },
    /// A hook of the folder.
    TrustHook { event: &'a str, command: &'a str, file: &'a str },
    /// An MCP server of the folder.
    TrustServer { name: &'a str, target: &'a str, file: &'a str },
    /// A setting of the folder.
    TrustSetting { text: &'a str, file: &'a str },
    /// A policy file of the folder that cannot be read, or sets nothing.
    TrustFile { file: &'a str },
    /// Sub-agents of the folder.
    TrustAgents { names: &'a str },
    /// Rule files of the folder.
    TrustRules { names: &'a str },
    /// Skills of the folder.
    TrustSkills { names: &'a str },
    /// The entries that are not shown.
    TrustMore { count: u64 },
    /// The effect of trust, and of its lack.
    TrustMeaning,
    /// The question whether a folder is trusted.
    TrustQuestion,
    /// Trust the folder.
    TrustYes,
    /// Continue without trust.
    TrustNo,
    /// The folder is trusted now.
    TrustStored,
    /// The folder is not trusted, and its configuration has no effect.
    TrustDeclined,
    /// The trust could not be stored.
    TrustNotStored { detail: &'a str },
    /// The model of the first start, the reason for it, and how to change it.
    FirstModel { model: &'a str, id: &'a str, origin: &'a str, path: &'a str },
    /// No model can be used yet.
    SetupQuestion,
    /// Enter the key of a service.
    SetupKey,
    /// Install the embedded model.
    SetupInstall { size: &'a str },
    /// Use a server at an address.
    SetupServer,
    /// The question for the service of a key.
    SetupProvider,
    /// The question for a key.
    SetupEnterKey { provider: &'a str },
    /// A key is one word.
    SetupKeyIsWord,
    /// The service is asked whether a key is valid.
    SetupChecking { provider: &'a str },
    /// The embedded model is being downloaded.
    SetupFetching { percent: u64, done: &'a str, total: &'a str },
    /// The embedded model is being verified.
    SetupVerifying { percent: u64 },
    /// The embedded model is installed.
    SetupInstalled,
    /// The work was ended by the person.
    SetupCancelled,
    /// The question for the address of a server.
    SetupEnterUrl,
    /// The server is asked for its models.
    SetupAsking { url: &'a str },
    /// The server does not answer as one, or its address is not valid.
    SetupServerFailed { url: &'a str, detail: &'a str },
    /// The question for a model of the server.
    SetupModel,
    /// The question for the name of a model, where the server lists none.
    SetupEnterModel,
    /// The server and the model are stored.
    SetupServerStored { model: &'a str, path: &'a str },
    /// The configuration could not be written.
    SetupNotStored { path: &'a str, detail: &'a str },
    /// The embedded model is being loaded.
    LoadingModel,
    /// The heading of `/help` for keys.
    Keys,
}

impl CatalogueLine for TuiLine<'_> {
    const PREFIX: &'static str = "tui";
}
