//! The interface of a sub-command: each has a file in `command/` with a struct of its arguments.

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;

use ibeam_agent::app::{AppContext, BaseContext, ConfigUse};
use ibeam_protocol::Reason;

use super::facts::CommandFacts;
use crate::cli_error::CliError;
use crate::flags::Flags;

/// The arguments of a sub-command. Their documentation is its help.
///
/// A command implements one of the two functions that execute it. `resume`, which is a run, and `complete`, which needs the
/// parser, implement none.
pub(crate) trait SubCommand: clap::Args {
    const FACTS: CommandFacts;
    /// Whether it needs no home directory and no configuration.
    const IS_OFFLINE: bool = false;

    /// Returns the effect of an invalid configuration. With one, a key could be sent to another server, or a rule could be
    /// missing.
    fn config_use(&self) -> ConfigUse {
        ConfigUse::Needed
    }

    /// Executes the command. Returns the exit code of success.
    ///
    /// # Errors
    /// The error of the command.
    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        self.execute_offline(&app.base, call)
    }

    /// Executes a command that needs no home directory and no configuration. Returns the exit code of success.
    ///
    /// # Errors
    /// The error of the command.
    fn execute_offline(&self, _base: &BaseContext, _call: Call<'_>) -> Result<ExitCode, CliError> {
        Err(Reason::Internal { detail: format!("`{}` is executed elsewhere", Self::FACTS.name) }.into())
    }
}

/// The objects that a command uses besides its arguments.
pub(crate) struct Call<'a> {
    pub(crate) flags: &'a Flags,
    /// The private descriptor of stdout (`stdout.rs`).
    pub(crate) stdout: &'a mut File,
}

/// Returns the exit code of a command that has one exit code of success.
pub(crate) fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
