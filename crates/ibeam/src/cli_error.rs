//! The error with which the program ends: a failure that a run can end with, or one that only a command reports.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use ibeam_agent::model_installation::InstallError;
use ibeam_config::ConfigError;
use ibeam_output::{Catalogue, Explanation, cli_error_event, cli_error_object, error_object, failure_event};
use ibeam_protocol::{Failure, FailureCode, Reason, Sentence};
use ibeam_wire::ErrorEvent;
use serde::Serialize;

use ibeam_agent::reports::file_changes::ChangesError;
use ibeam_agent::run_error::RunError;

/// An error of the program.
///
/// The message id of a variant is `cli-` and the tag of the variant. The fields are the arguments of the message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CliError {
    /// A failure that a run can end with. It may also occur before a run has started.
    #[serde(skip)]
    Run(RunError),
    /// A failure of `undo` or `diff`.
    #[serde(skip)]
    Changes(Box<ChangesError>),
    /// The arguments of a sub-command cannot be parsed.
    CommandUsage {
        command: String,
        detail: Sentence,
    },
    /// The arguments of a line without a command cannot be parsed, and nothing similar is known.
    LineUsage {
        detail: Sentence,
    },
    /// The prompt is one word that is similar to a command, or a word for which there is a command.
    MistypedCommand {
        word: String,
        near: String,
    },
    /// The prompt is one word that is a command of a conversation, or similar to one.
    ConversationCommand {
        word: String,
        near: String,
    },
    /// The prompt is one word that is a command of other programs.
    NotACommand {
        word: String,
    },
    /// The prompt begins with `resume` and a session.
    ResumeInPrompt {
        session: String,
    },
    /// A configuration file has an unknown key, which a run ignores.
    UnknownSetting {
        path: String,
        line: Option<u64>,
        key: String,
    },
    /// `help` with a word that is neither a command nor a topic.
    UnknownTopic {
        word: String,
    },
    /// `help` with a word that is similar to a command or a topic.
    MistypedTopic {
        word: String,
        near: String,
    },
    /// A command creates only new files, and there is one with this name.
    FileExists {
        path: String,
    },
    /// A name is not in the list of the quarantine.
    NotInQuarantine {
        id: String,
    },
    /// The origin of a file in the quarantine is not known.
    OriginUnknown {
        id: String,
    },
    /// The name of a worktree that no run made for the repository.
    UnknownWorktree {
        name: String,
    },
    /// The command works in the worktree that it should remove.
    WorktreeInUse {
        name: String,
    },
    /// A worktree has work that is nowhere else.
    WorktreeHasChanges {
        name: String,
        uncommitted: u64,
        unmerged: u64,
    },
    /// The name of a worktree whose changes cannot be determined.
    WorktreeUnreadable {
        name: String,
        detail: String,
    },
    /// A name where `shim` creates a link or script is taken by another program.
    NameTaken {
        path: String,
    },
    /// The embedded model could not be fetched or installed.
    SetupFailed {
        detail: Sentence,
    },
    /// A file is not a valid stream from this line on.
    StreamDamaged {
        source: String,
        line: u64,
        detail: String,
    },
    /// The source of a replay or a comparison is neither a session nor a file.
    NoSessionOrFile {
        name: String,
    },
    /// `--run` names a run that does not exist.
    UnknownRun {
        source: String,
        run: u64,
        runs: u64,
    },
    /// Lines of a task file are not valid tasks; the first is named.
    InvalidTasks {
        source: String,
        line: u64,
        detail: Sentence,
        count: u64,
    },
    NoTasks {
        source: String,
    },
    /// A file to import does not begin like an exported session.
    NotAnExport {
        source: String,
    },
    /// A file to import begins like an exported session, but is not a complete one.
    DamagedExport {
        source: String,
    },
    /// The input for a trial of hooks is not a JSON object.
    InvalidHookInput {
        path: String,
        line: u64,
        column: u64,
    },
    NoFleet {
        directory: String,
    },
    /// A directory has no fleet whose requests are answered in batches.
    NoBatchFleet {
        directory: String,
    },
    /// A task differs from the one of the same id that a fleet has.
    FleetTaskChanged {
        task: String,
        directory: String,
    },
    /// Another process runs the fleet.
    FleetInUse {
        directory: String,
    },
    /// All tasks are finished, and some did not pass.
    FleetTasksFailed {
        failed: u64,
        total: u64,
        directory: String,
    },
    /// The changes of some tasks were not applied.
    FleetNotApplied {
        failed: u64,
        total: u64,
    },
    /// Tasks are not finished, and no further run may start.
    FleetUnfinished {
        unfinished: u64,
        detail: Sentence,
    },
    /// Tasks are not finished, and the budget is spent.
    FleetBudgetSpent {
        unfinished: u64,
    },
    /// Tasks wait for batches, and the command does not.
    FleetWaiting {
        waiting: u64,
        directory: String,
    },
}

impl From<InstallError> for CliError {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Failure(failure) => failure.into(),
            InstallError::SetupFailed { detail } => Self::SetupFailed { detail },
        }
    }
}

impl CliError {
    /// Returns the error of creating a new file.
    pub(crate) fn from_creation(path: &Path, error: &io::Error) -> Self {
        let (path, detail) = (path.display().to_string(), error.to_string());
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::FileExists { path },
            _ => Reason::CannotCreate { path, detail }.into(),
        }
    }

    /// Returns the class of the failure, which has the exit code.
    pub(crate) fn code(&self) -> FailureCode {
        match self {
            Self::Run(failed) => failed.failure.reason.code(),
            Self::Changes(error) => error.code(),
            Self::CommandUsage { .. }
            | Self::LineUsage { .. }
            | Self::MistypedCommand { .. }
            | Self::ConversationCommand { .. }
            | Self::NotACommand { .. }
            | Self::ResumeInPrompt { .. }
            | Self::UnknownTopic { .. }
            | Self::MistypedTopic { .. } => FailureCode::Usage,
            Self::UnknownSetting { .. } => FailureCode::Config,
            Self::FileExists { .. } | Self::NameTaken { .. } => FailureCode::CantCreate,
            Self::SetupFailed { .. } => FailureCode::Model,
            Self::StreamDamaged { .. }
            | Self::InvalidTasks { .. }
            | Self::NoTasks { .. }
            | Self::NotAnExport { .. }
            | Self::DamagedExport { .. }
            | Self::InvalidHookInput { .. }
            | Self::FleetTaskChanged { .. } => FailureCode::Data,
            Self::NoSessionOrFile { .. }
            | Self::UnknownWorktree { .. }
            | Self::NotInQuarantine { .. }
            | Self::OriginUnknown { .. }
            | Self::UnknownRun { .. }
            | Self::NoFleet { .. }
            | Self::NoBatchFleet { .. } => FailureCode::NoInput,
            Self::FleetNotApplied { .. }
            | Self::FleetTasksFailed { .. }
            | Self::WorktreeInUse { .. }
            | Self::WorktreeHasChanges { .. }
            | Self::WorktreeUnreadable { .. } => FailureCode::Failed,
            Self::FleetInUse { .. } | Self::FleetUnfinished { .. } | Self::FleetBudgetSpent { .. } => {
                FailureCode::Busy
            }
            Self::FleetWaiting { .. } => FailureCode::Parked,
        }
    }

    /// Returns the failure that a run can end with; `None` for an error that only a command reports.
    fn run_failure(&self) -> Option<&RunError> {
        if let Self::Run(failed) = self { Some(failed) } else { None }
    }

    /// Returns the sentence and the hints for people.
    pub(crate) fn explain(&self, catalogue: &Catalogue) -> Explanation {
        if let Self::CommandUsage { detail, .. }
        | Self::LineUsage { detail }
        | Self::SetupFailed { detail }
        | Self::InvalidTasks { detail, .. }
        | Self::FleetUnfinished { detail, .. } = self
        {
            return catalogue.cli_error_with_detail(self, detail);
        }
        if let Self::Changes(error) = self {
            return error.explain(catalogue);
        }
        match self.run_failure() {
            Some(failed) => failed.explained(catalogue),
            None => catalogue.cli_error(self),
        }
    }

    /// Returns the `error` object for programs, as one line without its end.
    pub(crate) fn to_object(&self) -> String {
        if let Self::Changes(error) = self {
            return cli_error_object(error.code(), error);
        }
        match self.run_failure() {
            Some(failed) => error_object(&failed.failure, failed.run.as_deref()),
            None => cli_error_object(self.code(), self),
        }
    }

    /// Returns the event `error` of contract 1.
    pub(crate) fn to_contract_event(&self) -> ErrorEvent<Cow<'_, str>> {
        if let Self::Changes(error) = self {
            return cli_error_event(error.code(), error);
        }
        match self.run_failure() {
            Some(failed) => failure_event(&failed.failure, failed.run.as_deref()),
            None => cli_error_event(self.code(), self),
        }
    }

    /// Returns the reason of a failure that a run can end with.
    pub(crate) fn reason(&self) -> Option<&Reason> {
        self.run_failure().map(|failed| &failed.failure.reason)
    }

    /// Names the command in a usage error, so that the hint leads to the help of that command.
    pub(crate) fn in_command(self, command: Option<&str>) -> Self {
        match (self.reason(), command) {
            (Some(Reason::Usage { detail }), Some(command)) => {
                Self::CommandUsage { command: command.to_owned(), detail: detail.clone() }
            }
            _ => self,
        }
    }
}

impl From<RunError> for CliError {
    fn from(failed: RunError) -> Self {
        Self::Run(failed)
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        Self::Run(failure.into())
    }
}

impl From<Reason> for CliError {
    fn from(reason: Reason) -> Self {
        Self::Run(reason.into())
    }
}

impl From<ChangesError> for CliError {
    fn from(error: ChangesError) -> Self {
        if let ChangesError::Run(failed) = error {
            return Self::Run(failed);
        }
        Self::Changes(Box::new(error))
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Reason::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    fn every_command_error() -> [CliError; 45] {
        let s = || "value".to_owned();
        [
            CliError::CommandUsage { command: s(), detail: s().into() },
            CliError::LineUsage { detail: s().into() },
            CliError::MistypedCommand { word: s(), near: s() },
            CliError::ConversationCommand { word: s(), near: s() },
            CliError::NotACommand { word: s() },
            CliError::ResumeInPrompt { session: s() },
            CliError::UnknownSetting { path: s(), line: Some(3), key: s() },
            CliError::UnknownTopic { word: s() },
            CliError::MistypedTopic { word: s(), near: s() },
            CliError::FileExists { path: s() },
            CliError::NameTaken { path: s() },
            CliError::UnknownWorktree { name: s() },
            CliError::WorktreeInUse { name: s() },
            CliError::WorktreeHasChanges { name: s(), uncommitted: 2, unmerged: 1 },
            CliError::WorktreeUnreadable { name: s(), detail: s() },
            CliError::SetupFailed { detail: s().into() },
            CliError::StreamDamaged { source: s(), line: 1, detail: s() },
            CliError::NoSessionOrFile { name: s() },
            CliError::NotInQuarantine { id: s() },
            CliError::OriginUnknown { id: s() },
            CliError::UnknownRun { source: s(), run: 3, runs: 2 },
            ChangesError::NothingToUndo { session: s() }.into(),
            ChangesError::NothingToRedo { session: s() }.into(),
            ChangesError::AlreadyUndone { session: s() }.into(),
            ChangesError::SessionHeld { session: s(), holder: s() }.into(),
            ChangesError::NoCheckpoints { session: s() }.into(),
            ChangesError::UnknownTurn { session: s(), turn: 3, turns: 2 }.into(),
            ChangesError::NoRepository { path: s() }.into(),
            ChangesError::FilesChangedSince { count: 2, path: s() }.into(),
            ChangesError::FilesChangedSinceUndo { count: 2, path: s() }.into(),
            ChangesError::CheckpointFailed { detail: s() }.into(),
            CliError::InvalidTasks { source: s(), line: 3, detail: s().into(), count: 2 },
            CliError::NoTasks { source: s() },
            CliError::NotAnExport { source: s() },
            CliError::DamagedExport { source: s() },
            CliError::InvalidHookInput { path: s(), line: 3, column: 4 },
            CliError::NoFleet { directory: s() },
            CliError::NoBatchFleet { directory: s() },
            CliError::FleetTaskChanged { task: s(), directory: s() },
            CliError::FleetInUse { directory: s() },
            CliError::FleetTasksFailed { failed: 2, total: 9, directory: s() },
            CliError::FleetNotApplied { failed: 2, total: 9 },
            CliError::FleetUnfinished { unfinished: 2, detail: s().into() },
            CliError::FleetBudgetSpent { unfinished: 2 },
            CliError::FleetWaiting { waiting: 2, directory: s() },
        ]
    }

    /// The file is in the form of the golden file of the failures of runs in `ibeam-output`.
    #[test]
    fn every_command_error_has_the_codes_and_lines_of_the_golden_file() {
        let mut table = String::new();
        for error in every_command_error() {
            let code = error.code();
            let (exit, token, again) = (code.exit_code(), code.as_str(), code.is_retryable());
            table.push_str(&format!(
                "== {error:?}\n{exit} {token} retryable={again} resumable={}\n",
                code.is_resumable()
            ));
            for locale in Locale::ALL {
                table.push_str(&format!("{}: {}\n", locale.code(), error.explain(&Catalogue::new(locale))));
            }
            table.push_str(&format!("{}\n\n", error.to_object()));
        }
        let golden = include_str!("cli_error_golden.txt");
        let differs = table.lines().zip(golden.lines()).find(|(line, expected)| line != expected);
        assert_eq!(differs, None, "the whole table:\n{table}");
        assert_eq!(table.len(), golden.len(), "the whole table:\n{table}");
    }

    #[test]
    fn a_usage_error_of_a_command_leads_to_the_help_of_the_command() {
        let error = CliError::from(Reason::Usage { detail: "wrong".into() }).in_command(Some("ibeam ls"));
        let explanation = error.explain(&Catalogue::new(Locale::En));
        assert!(explanation.hints.concat().contains("`ibeam ls --help`"), "{explanation}");
    }
}
