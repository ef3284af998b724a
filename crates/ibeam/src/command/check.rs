//! `check`: whether what was printed keeps the output contract, and where it does not.
//!
//! A stream says which contract it keeps; `--contract` is for those that do not.
//! Reads a file or stdin and nothing else. The verdict is the exit code too.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;

use ibeam_output::CheckLine;
use ibeam_protocol::Reason;
use ibeam_wire::check::{Finding, Report, Severity, check_with_contract};
use serde_json::{Value, json};

use super::report;
use crate::app::BaseContext;
use crate::cli::ReportFormat;
use crate::cli_error::CliError;

/// Findings that are told; all are counted.
const MOST: usize = 100;

/// The exit code of a stream that breaks the contract: that of all damaged data.
const BROKEN: u8 = 65;

pub(super) fn check(
    base: &BaseContext,
    file: Option<&Path>,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<ExitCode, CliError> {
    let file = file.filter(|file| *file != Path::new("-"));
    let name = file.map_or("-".into(), Path::to_string_lossy).replace(char::is_control, "\u{fffd}");
    let unsaid = base.contract();
    let found = match file {
        Some(path) => {
            File::open(path).and_then(|file| check_with_contract(unsaid, BufReader::new(file), MOST))
        }
        None => check_with_contract(unsaid, io::stdin().lock(), MOST),
    };
    let found = found.map_err(|error| Reason::NoInput { path: name.clone(), detail: error.to_string() })?;
    report(stdout, format, &as_text(base, &name, &found), &as_json(&name, &found))?;
    Ok(if found.is_valid() { ExitCode::SUCCESS } else { ExitCode::from(BROKEN) })
}

/// A finding a line, as compilers tell them, then the verdict.
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
