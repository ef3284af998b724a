//! `models`: the available models, one `<id> - <Label>` per line.

use std::fs::File;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::AppContext;
use ibeam_agent::reports::model_list::{ModelList, ModelListForm};
use ibeam_agent::run::run_command;

use super::facts::{CURSOR_FLAGS, CommandFacts};
use super::printing::{LISTING_INDENT, print_listing, report, warn_of};
use super::providers;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// List the models that can be used now
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelsArgs {
    /// List the providers instead, and where the key of each comes from; sends no request
    #[arg(long, conflicts_with_all = ["details", "refresh"])]
    providers: bool,
    /// Show context size, prices and abilities too, as on a terminal
    #[arg(long, conflicts_with = "json")]
    details: bool,
    /// Print one JSON object with everything known about each model
    #[arg(long)]
    json: bool,
    /// Request the lists again instead of using those of the last hour
    #[arg(long)]
    refresh: bool,
}

impl SubCommand for ModelsArgs {
    const FACTS: CommandFacts = CommandFacts::new("models")
        .uses(&["ConnectionFlags", "list_models", "model", "trust", "workspace"])
        .ignores(CURSOR_FLAGS)
        .with_examples(&[
            "ibeam models --details",
            "ibeam models --providers",
            "ibeam models --endpoint http://127.0.0.1:8080/v1",
        ]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        let list = if self.providers {
            providers::list(app, self.json, call.stdout)
        } else {
            self.list(app, call.stdout)
        };
        list.map(success)
    }
}

impl ModelsArgs {
    /// Prints the available models.
    pub(crate) fn list(&self, app: &AppContext, stdout: &mut File) -> Result<(), CliError> {
        let list = run_command(None, ModelList::load(app, self.refresh))?;
        warn_of(&list.warnings);
        if self.json {
            return report(stdout, ReportFormat::Json, "", &list.to_json(app)?);
        }
        let is_terminal = stdout.is_terminal();
        let form = ModelListForm { with_details: self.details || is_terminal, is_translated: is_terminal };
        let text = list.to_text(app, form)?;
        warn_of(list.no_model_warning(app).as_slice());
        print_listing(stdout, &text, LISTING_INDENT)
    }
}
