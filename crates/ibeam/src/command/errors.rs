//! `errors`: the table of failures, for those who write scripts.

use std::fs::File;

use ibeam_protocol::FailureCode;
use serde_json::json;

use super::report;
use crate::app::BaseContext;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;

pub(super) fn errors(base: &BaseContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let mut text = format!("{:>4}  {:<13} {:<6} {}\n", "exit", "code", "retry", "meaning");
    let mut rows = Vec::new();
    for code in FailureCode::ALL {
        let (exit, word, retryable) = (code.exit_code(), code.as_str(), code.is_retryable());
        let again = if retryable { "yes" } else { "" };
        let signal = if let FailureCode::Signal(signal) = code {
            format!(" ({})", signal.name())
        } else {
            String::new()
        };
        text.push_str(&format!("{exit:>4}  {word:<13} {again:<6} {}{signal}\n", base.catalogue.code(code)));
        rows.push(json!({
            "exit_code": exit,
            "code": word,
            "retryable": retryable,
            "resumable": code.is_resumable(),
            "meaning": base.catalogue.code(code),
        }));
    }
    report(stdout, format, &text, &json!(rows))
}
