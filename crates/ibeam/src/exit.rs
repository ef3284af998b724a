//! The one place where a failure becomes an exit code and lines on stderr.
//!
//! Contract section 7: stderr ends with exactly one `error:` line, then `hint:` lines; or, with
//! `--error-format json`, one line that holds the `error` object.

use std::io::{self, Write};
use std::process::ExitCode;

use ibeam_output::Catalogue;
use ibeam_protocol::Failure;

use crate::cli::ErrorFormat;

/// Tells the failure and gives its exit code. A closed stderr changes nothing.
pub(crate) fn fail(failure: &Failure, catalogue: &Catalogue, format: ErrorFormat) -> ExitCode {
    let told = match format {
        ErrorFormat::Text => catalogue.failure(failure).to_string(),
        ErrorFormat::Json => ibeam_output::error_object(failure),
    };
    drop(writeln!(io::stderr(), "{told}"));
    ExitCode::from(failure.reason.code().exit_code())
}
