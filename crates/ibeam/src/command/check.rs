//! `check`: reports where a stream does not follow the output contract.
//!
//! A stream names its contract; `--contract` is for streams that do not. Reads only a file or stdin. The exit code
//! states the result.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ibeam_agent::app::BaseContext;
use ibeam_output::CheckLine;
use ibeam_protocol::Reason;
use ibeam_wire::check::{Finding, Report, Severity, check_with_contract};
use serde_json::{Value, json};

use super::facts::CommandFacts;
use super::printing::report;
use super::sub_command::{Call, SubCommand};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// Check whether a stream, or a result of `json`, follows the output contract
#[derive(Args, Clone, Debug)]
#[command(after_help = "Exit codes: 0 it follows the contract, 65 it does not. Rules: `ibeam help check`")]
pub(crate) struct CheckArgs {
    /// The file with the stream [default: stdin]
    file: Option<PathBuf>,
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl SubCommand for CheckArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("check").uses(&["contract"]).with_examples(&["ibeam check run.ndjson"]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        let format = if self.json { ReportFormat::Json } else { self.format.unwrap_or_default() };
        check(base, self.file.as_deref(), format, call.stdout)
    }
}

/// The number of findings that are printed; all findings are counted.
const MAX_FINDINGS: usize = 100;

/// The exit code of a stream that breaks the contract, as for other damaged data.
const EXIT_BROKEN: u8 = 65;

fn check(
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
