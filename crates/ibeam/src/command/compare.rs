//! `diff` of two sessions or streams: their calls, changed files, tokens and costs. Reads them as a replay does, and locks
//! and changes nothing.

use std::ffi::OsString;
use std::fs::File;

use ibeam_trace::{Comparison, SessionFacts};

use super::printing::report;
use super::replay;
use crate::cli_error::CliError;
use crate::flags::ReportFormat;
use ibeam_agent::app::AppContext;

/// Prints the comparison of two sessions or streams.
///
/// # Errors
/// The errors of a replay of either.
pub(super) fn compare(
    app: &AppContext,
    sources: [&OsString; 2],
    is_json: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut both = [SessionFacts::default(), SessionFacts::default()];
    for (facts, source) in both.iter_mut().zip(sources) {
        replay::read_events(&app.base, source, Box::new(facts), stdout)?;
    }
    let [first, second] = &both;
    let names = sources.map(|source| source.to_string_lossy());
    let [first_name, second_name] = &names;
    let comparison = Comparison::new([first_name, second_name], [first, second]);
    let format = if is_json { ReportFormat::Json } else { ReportFormat::Text };
    report(stdout, format, &comparison.to_text(&app.base.catalogue), &comparison.to_json())
}
