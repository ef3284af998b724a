//! `fleet report`: the report on a fleet, or on two and their comparison, as text, JSON or HTML.

use std::fs::File;
use std::path::Path;

use ibeam_fleet::{FleetComparison, FleetReport, ModelRow, TaskQueue as _, report_page};
use ibeam_output::{escape_invisible, escape_to_one_line};
use serde_json::json;

use super::{open_ledger, queue_error};
use crate::cli::{FleetReportFormat, ReportFormat};
use crate::cli_error::CliError;
use crate::command::{report, write};

/// Reports on a fleet, and compares another one with it.
pub(super) fn fleet_report(
    directory: &Path,
    other: Option<&Path>,
    format: FleetReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut fleets = Vec::new();
    for directory in std::iter::once(directory).chain(other) {
        fleets.push((directory.display().to_string(), read(directory)?));
    }
    let comparison = match fleets.as_slice() {
        [(_, first), (_, second)] => Some(FleetComparison::new(first, second)),
        _ => None,
    };
    let format = match format {
        FleetReportFormat::Html => {
            return write(stdout, &escape_invisible(&report_page(&fleets, comparison.as_ref())));
        }
        FleetReportFormat::Json => ReportFormat::Json,
        FleetReportFormat::Text => ReportFormat::Text,
    };
    let mut text = comparison.as_ref().map(comparison_text).unwrap_or_default();
    for (name, found) in &fleets {
        if comparison.is_some() {
            text.push_str(&format!("{}\n", escape_to_one_line(name)));
        }
        text.push_str(&report_text(found));
        text.push_str(if comparison.is_some() { "\n" } else { "" });
    }
    let object = match (comparison, fleets.as_slice()) {
        (Some(comparison), [(_, first), (_, second)]) => {
            json!({ "comparison": comparison, "first": first, "second": second })
        }
        (_, fleets) => json!(fleets.first().map(|(_, found)| found)),
    };
    report(stdout, format, &text, &object)
}

fn read(directory: &Path) -> Result<FleetReport, CliError> {
    let mut ledger = open_ledger(directory)?;
    let unfinished = ledger.unfinished().map_err(queue_error)?;
    Ok(FleetReport::new(ledger.results().map_err(queue_error)?, unfinished))
}

/// Returns the comparison as text. The headings are the keys of the JSON object.
fn comparison_text(comparison: &FleetComparison) -> String {
    let FleetComparison { tasks, both_passed, first_passed, second_passed, difference, changed } = comparison;
    let mut text = format!(
        "tasks: {tasks}\nboth_passed: {both_passed}\nfirst_passed: {first_passed}\nsecond_passed: {second_passed}\n"
    );
    if let Some(d) = difference {
        text.push_str(&format!(
            "difference: {:+.1} % (95 %: {:+.1} to {:+.1}), p_value: {:.4}\n",
            d.rate * 100.0,
            d.low * 100.0,
            d.high * 100.0,
            d.p_value
        ));
    }
    for task in changed {
        text.push_str(&format!("{}  {} -> {}\n", task.id, task.first.as_str(), task.second.as_str()));
    }
    text.push('\n');
    text
}

/// Returns the report as tables. The headings are the keys of the JSON object.
fn report_text(found: &FleetReport) -> String {
    let mut text = format!(
        "{:<30} {:>6} {:>6} {:>9} {:>15} {:>10} {:>9} {:>10}\n",
        "model", "tasks", "passed", "pass_rate", "95 %", "cost_usd", "seconds", "tokens"
    );
    let all = ModelRow { model: "*".to_owned(), ..found.all.clone() };
    for row in found.models.iter().chain([&all]) {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let rate = row.pass_rate.map_or("-".to_owned(), |rate| percent(rate.rate));
        let interval = row
            .pass_rate
            .map_or("-".to_owned(), |rate| format!("{:.1}-{:.1}", rate.low * 100.0, rate.high * 100.0));
        let model = if row.model.is_empty() { "-" } else { &row.model };
        text.push_str(&format!(
            "{:<30} {:>6} {:>6} {rate:>9} {interval:>15} {:>10} {:>9} {:>10}\n",
            escape_to_one_line(model),
            row.tasks,
            row.passed,
            cost(row.cost_usd),
            row.duration_ms / 1000,
            row.tokens
        ));
    }
    text.push_str(&format!("\nunfinished: {}\n", found.unfinished));
    for (class, count) in &found.failures {
        text.push_str(&format!("{}: {count}\n", escape_to_one_line(class)));
    }
    text.push('\n');
    for result in &found.tasks {
        let code = result.code.as_ref().map(|code| format!(" ({})", escape_to_one_line(code)));
        text.push_str(&format!(
            "{}  {}{}  {}  {} s  {}\n",
            result.id,
            result.outcome.as_str(),
            code.unwrap_or_default(),
            cost(result.cost_usd),
            result.duration_ms / 1000,
            result.usage.total()
        ));
    }
    text
}

/// Returns an amount of dollars; `-` if it is unknown.
fn cost(usd: Option<f64>) -> String {
    usd.map_or("-".to_owned(), |usd| format!("{usd:.4}"))
}
