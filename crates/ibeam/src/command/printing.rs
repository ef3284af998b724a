//! Printing of commands: texts, listings and reports on stdout, warnings on stderr.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use ibeam_agent::reports::Report;
use ibeam_agent::{stderr, stdout};
use ibeam_output::{escape_invisible, escape_invisible_in_json};
use serde::Serialize;

use crate::cli_error::CliError;
use crate::flags::ReportFormat;
use crate::wrap;

/// The number of spaces before the further lines of a wrapped line.
pub(super) const LISTING_INDENT: usize = 4;

/// Writes text for people to stdout. Invisible characters are escaped, because parts of the text come from others.
pub(crate) fn print_text(stdout: &mut File, text: &str) -> Result<(), CliError> {
    write(stdout, &escape_invisible(text))
}

/// Writes a listing for people to stdout. On a terminal, long lines are wrapped, and their further lines are indented.
pub(super) fn print_listing(stdout: &mut File, text: &str, indent: usize) -> Result<(), CliError> {
    let text = escape_invisible(text);
    let wrapped = wrap::for_terminal(&*stdout, &text, indent);
    write(stdout, &wrapped)
}

pub(super) fn write(stdout: &mut File, text: &str) -> Result<(), CliError> {
    stdout.write_all(text.as_bytes()).map_err(|error| stdout_error(&error))
}

pub(super) fn stdout_error(error: &io::Error) -> CliError {
    stdout::write_reason(error).into()
}

/// Writes the warnings to stderr, then the report to stdout.
pub(super) fn print_report(
    stdout: &mut File,
    format: ReportFormat,
    content: &Report,
) -> Result<(), CliError> {
    warn_of(&content.warnings);
    report(stdout, format, &content.text, &content.json)
}

pub(super) fn warn_of(warnings: &[String]) {
    warnings.iter().for_each(|warning| stderr::write_line(&format!("warning: {warning}")));
}

/// Writes a report as text or as one JSON value. On a terminal, long lines of text are wrapped.
pub(super) fn report(
    stdout: &mut File,
    format: ReportFormat,
    text: &str,
    json: &impl Serialize,
) -> Result<(), CliError> {
    match format {
        ReportFormat::Text => print_listing(stdout, text, LISTING_INDENT),
        ReportFormat::Json => {
            // The report of a large fleet is not in the memory as text, too.
            let mut out = BufWriter::new(EscapingWriter(&mut *stdout));
            let written = serde_json::to_writer(&mut out, json).map_err(io::Error::from);
            let written = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
            written.map_err(|error| stdout_error(&error))
        }
    }
}

/// Escapes invisible characters in the JSON that is written.
struct EscapingWriter<'a>(&'a mut File);

impl io::Write for EscapingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character at the end may be incomplete.
        let end = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let text = bytes.get(..end).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        self.0.write_all(escape_invisible_in_json(text).as_bytes())?;
        Ok(end)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
