//! `context`: what a run would send to the model first, with the bytes and the estimated tokens of each part.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::AppContext;
use ibeam_agent::reports::context_report::{ContextOptions, context_report};

use super::facts::CommandFacts;
use super::printing::{print_report, print_text, warn_of};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// The flags that change the first request of a run.
const CONTEXT_FLAGS: &[&str] = &[
    "AccessFlags",
    "InstructionFlags",
    "McpFlags",
    "RuleFlags",
    "api_key",
    "continue_",
    "endpoint",
    "file",
    "image",
    "model",
    "resume",
    "workspace",
];

/// Show what a run would send to the model first, with the size of each part; sends nothing
#[derive(Args, Clone, Debug)]
#[command(after_help = "The parts: `ibeam help rules`. MCP tools are counted with `--start-servers` only.")]
pub(crate) struct ContextArgs {
    /// Print the texts too
    #[arg(long)]
    full: bool,
    /// Start the MCP servers that a run would start, and count their tools
    #[arg(long)]
    start_servers: bool,
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// The prompt
    #[arg(value_name = "PROMPT")]
    words: Vec<OsString>,
}

impl SubCommand for ContextArgs {
    const FACTS: CommandFacts = CommandFacts::new("context")
        .uses(CONTEXT_FLAGS)
        .with_examples(&["ibeam context --full", "ibeam context --start-servers \"Fix the failing test\""]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        let (full, format) = (self.full, self.format.unwrap_or_default());
        let options = ContextOptions { full, start_servers: self.start_servers, conversation: false };
        let report = context_report(app, &self.words, options)?;
        match format {
            // The texts of a full report are those that the model gets.
            ReportFormat::Text if full => {
                warn_of(&report.warnings);
                print_text(call.stdout, &report.text)
            }
            ReportFormat::Text | ReportFormat::Json => print_report(call.stdout, format, &report),
        }
        .map(success)
    }
}
