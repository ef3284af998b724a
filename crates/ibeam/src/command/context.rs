//! `context`: what a run would send to the model first, with the bytes and the estimated tokens of each part.

use std::ffi::OsString;
use std::fs::File;

use ibeam_agent::app::AppContext;
use ibeam_agent::reports::context_report::{ContextOptions, context_report};

use super::printing::{print_report, print_text, warn_of};
use crate::cli::ReportFormat;
use crate::cli_error::CliError;

pub(super) fn context(
    app: &AppContext,
    words: &[OsString],
    options: ContextOptions,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let report = context_report(app, words, options)?;
    match format {
        // The texts of a full report are those that the model gets.
        ReportFormat::Text if options.full => {
            warn_of(&report.warnings);
            print_text(stdout, &report.text)
        }
        ReportFormat::Text | ReportFormat::Json => print_report(stdout, format, &report),
    }
}
