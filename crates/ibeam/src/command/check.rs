//! `check`: reports where a stream does not follow the output contract.
//!
//! A stream names its contract; `--contract` is for streams that do not. Reads only a file or stdin. The exit code
//! states the result.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;

use ibeam_output::CheckLine;
use ibeam_protocol::Reason;
use ibeam_wire::check::{Finding, Report, Severity, check_with_contract};
use serde_json::{Value, json};

use super::printing::report;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use ibeam_agent::app::BaseContext;

/// The number of findings that are printed; all findings are counted.
const MAX_FINDINGS: usize = 100;

/// The exit code of a stream that breaks the contract, as for other damaged data.
const EXIT_BROKEN: u8 = 65;

pub(super) fn check(
    base: &BaseContext,
    file: Option<&Path>,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<ExitCode, CliError> {
    let file = file.filter(|file| *file != Path::new("-"));
    let name = file.map_or("-".into(), Path::to_string_lossy).replace(char::is_control, "\u{fffd}");
    let default_contract = base.contract();
    let found = match file {
        Some(path) => File::open(path)
            .and_then(|file| check_with_contract(default_contract, BufReader::new(file), MAX_FINDINGS)),
        None => check_with_contract(default_contract, io::stdin().lock(), MAX_FINDINGS),
    };
    let found = found.map_err(|error| Reason::NoInput { path: name.clone(), detail: error.to_string() })?;
    report(stdout, format, &as_text(base, &name, &found), &as_json(&name, &found))?;
    Ok(if found.is_valid() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_BROKEN) })
}

/// Returns a line per finding in the format of compiler messages, then the result.
fn as_text(base: &BaseContext, file: &str, found: &Report) -> String {
    let mut text = String::new();
    for Finding { line, column, rule, severity, message, .. } in &found.findings {
        let warning = match severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        text.push_str(&format!("{file}:{line}:{column}: {rule}: {warning}{message}\n"));
    }
    let Report { events, errors, warnings, contract, .. } = *found;
    let contract = contract.as_str();
    let more = (errors + warnings).saturating_sub(found.findings.len() as u64);
    if more > 0 {
        text.push_str(&format!("{}\n", base.catalogue.line(&CheckLine::MoreFindings { count: more })));
    }
    let verdict = if found.is_valid() {
        CheckLine::Valid { file, contract, events, warnings }
    } else {
        CheckLine::Invalid { file, contract, events, errors, warnings }
    };
    text.push_str(&format!("{}\n", base.catalogue.line(&verdict)));
    text
}

fn as_json(file: &str, found: &Report) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "line": finding.line,
            "column": finding.column,
            "rule": finding.rule.as_str(),
            "severity": finding.severity.as_str(),
            "message": finding.message,
        })
    };
    json!({
        "file": file,
        "contract": found.contract.as_str(),
        "keeps": found.is_valid(),
        "format": if found.is_single_object { "json" } else { "stream-json" },
        "ours": found.is_from_ibeam,
        "events": found.events,
        "errors": found.errors,
        "warnings": found.warnings,
        "findings": found.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
