//! `acp`: serves an editor until it closes stdin.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_protocol::Reason;

use super::facts::{CURSOR_FLAGS, CommandFacts, SINGLE_RUN_GROUPS};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Serve an editor over the Agent Client Protocol on stdin and stdout
#[derive(Args, Clone, Debug)]
pub(crate) struct AcpArgs {}

impl SubCommand for AcpArgs {
    const FACTS: CommandFacts = CommandFacts::new("acp")
        .uses_all_but(SINGLE_RUN_GROUPS)
        .ignores(CURSOR_FLAGS)
        .with_examples(&["ibeam acp --model openai/gpt-5"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        let io = |error: io::Error| Reason::Io { what: "stdout".to_owned(), detail: error.to_string() };
        let stdout = call.stdout.try_clone().map_err(io)?;
        ibeam_serve::serve_editor(app, stdout).map(success).map_err(|failure| CliError::from(failure.reason))
    }
}
