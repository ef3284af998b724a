//! `models`: the available models, one `<id> - <Label>` per line.

use std::fs::File;
use std::io::IsTerminal as _;

use ibeam_agent::app::AppContext;
use ibeam_agent::reports::model_list::{ModelList, ModelListForm};
use ibeam_agent::run::run_command;

use super::printing::{LISTING_INDENT, print_listing, report, warn_of};
use crate::cli::ReportFormat;
use crate::cli_error::CliError;

/// The options of `models`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelListOptions {
    pub(crate) details: bool,
    pub(crate) json: bool,
    pub(crate) refresh: bool,
}

/// Prints the available models.
pub(crate) fn list(app: &AppContext, options: ModelListOptions, stdout: &mut File) -> Result<(), CliError> {
    let list = run_command(None, ModelList::load(app, options.refresh))?;
    warn_of(&list.warnings);
    if options.json {
        return report(stdout, ReportFormat::Json, "", &list.to_json(app)?);
    }
    let is_terminal = stdout.is_terminal();
    let form = ModelListForm { with_details: options.details || is_terminal, is_translated: is_terminal };
    let text = list.to_text(app, form)?;
    warn_of(list.no_model_warning(app).as_slice());
    print_listing(stdout, &text, LISTING_INDENT)
}
