//! `fleet report`: the report on a fleet, or on two and their comparison, as text, JSON or HTML.

use std::fs::File;
use std::path::Path;

use ibeam_fleet::{FleetComparison, FleetReport, ModelRow, TaskQueue as _, TaskState, report_page};
use ibeam_output::{Catalogue, escape_invisible, escape_to_one_line};
use ibeam_protocol::{Sentence, sentence};
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::names::{counted, failure_name, left_aligned, result_text, right_aligned, state_name};
use super::{open_ledger, queue_error};
use crate::cli::{FleetReportFormat, ReportFormat};
use crate::cli_error::CliError;
use crate::command::{report, write};

/// Reports on a fleet, and compares another one with it.
pub(super) fn fleet_report(
    catalogue: &Catalogue,
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
        FleetReportFormat::Ndjson => {
            for result in fleets.iter().flat_map(|(_, found)| &found.tasks) {
                report(stdout, ReportFormat::Json, "", result)?;
            }
            return Ok(());
        }
        FleetReportFormat::Json => ReportFormat::Json,
        FleetReportFormat::Text => ReportFormat::Text,
    };
    if format == ReportFormat::Json {
        return match (&comparison, fleets.as_slice()) {
            (Some(comparison), [(_, first), (_, second)]) => {
                report(stdout, format, "", &ComparedReports { comparison, first, second })
            }
            (_, fleets) => report(stdout, format, "", &fleets.first().map(|(_, found)| found)),
        };
    }
    let mut text = comparison.as_ref().map(|found| comparison_text(catalogue, found)).unwrap_or_default();
    for (name, found) in &fleets {
        if comparison.is_some() {
            text.push_str(&format!("{}\n", escape_to_one_line(name)));
        }
        text.push_str(&report_text(catalogue, found));
        text.push_str(if comparison.is_some() { "\n" } else { "" });
    }
    report(stdout, format, &text, &())
}

/// The JSON object of a comparison.
#[derive(Serialize)]
struct ComparedReports<'a> {
    comparison: &'a FleetComparison,
    first: &'a FleetReport,
    second: &'a FleetReport,
}

fn read(directory: &Path) -> Result<FleetReport, CliError> {
    let mut ledger = open_ledger(directory)?;
    let unfinished = ledger.unfinished().map_err(queue_error)?;
    let mut open = ledger.statuses().map_err(queue_error)?;
    open.retain(|status| status.outcome.is_none());
    let results = ledger.results().map_err(queue_error)?;
    let clusters = ledger.clusters().map_err(queue_error)?;
    Ok(FleetReport::new(results, unfinished, clusters).with_files(directory, open))
}

/// Returns the comparison as text. In English, the headings are the keys of the JSON object.
fn comparison_text(catalogue: &Catalogue, comparison: &FleetComparison) -> String {
    let FleetComparison {
        tasks,
        infrastructure,
        both_passed,
        first_passed,
        second_passed,
        difference,
        changed,
    } = comparison;
    let mut lines = vec![
        sentence!("tasks: {tasks}", tasks),
        sentence!("infrastructure: {count}", count = infrastructure),
        sentence!("both_passed: {count}", count = both_passed),
        sentence!("first_passed: {count}", count = first_passed),
        sentence!("second_passed: {count}", count = second_passed),
    ];
    if let Some(d) = difference {
        let percent = |rate: f64| format!("{:+.1}", rate * 100.0);
        lines.push(sentence!(
            "difference: {rate} % (95 %: {low} to {high}), p_value: {p_value}",
            rate = percent(d.rate),
            low = percent(d.low),
            high = percent(d.high),
            p_value = format!("{:.4}", d.p_value)
        ));
    }
    let mut text: String = lines.iter().map(|line| format!("{}\n", catalogue.sentence(line))).collect();
    for task in changed {
        let [first, second] = [task.first, task.second].map(|outcome| result_text(catalogue, outcome, None));
        text.push_str(&format!("{}  {first} -> {second}\n", task.id));
    }
    text.push('\n');
    text
}

/// Returns the headings of the columns after that of the model, with the smallest widths of these columns.
fn columns() -> [(Sentence, usize); 7] {
    [
        (sentence!("tasks"), 6),
        (sentence!("passed"), 6),
        (sentence!("pass_rate"), 9),
        ("95 %".into(), 15),
        (sentence!("cost_usd"), 10),
        (sentence!("seconds"), 9),
        (sentence!("tokens"), 10),
    ]
}

/// Returns the report as tables. In English, the headings are the keys of the JSON object.
fn report_text(catalogue: &Catalogue, found: &FleetReport) -> String {
    let columns = columns().map(|(heading, width)| {
        let heading = catalogue.sentence(&heading);
        let width = width.max(heading.width());
        (heading, width)
    });
    let line = |model: &str, values: [&str; 7]| {
        let values = values.iter().zip(&columns).map(|(value, (_, width))| right_aligned(value, *width));
        format!("{} {}\n", left_aligned(model, 30), values.collect::<Vec<_>>().join(" "))
    };
    let headings = columns.each_ref().map(|(heading, _)| heading.as_str());
    let mut text = line(&catalogue.sentence(&sentence!("model")), headings);
    let all = ModelRow { model: "*".to_owned(), ..found.all.clone() };
    for row in found.models.iter().chain([&all]) {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let rate = row.pass_rate.map_or("-".to_owned(), |rate| percent(rate.rate));
        let interval = row
            .pass_rate
            .map_or("-".to_owned(), |rate| format!("{:.1}-{:.1}", rate.low * 100.0, rate.high * 100.0));
        let model = if row.model.is_empty() { "-" } else { &row.model };
        let [tasks, passed, seconds, tokens] =
            [row.tasks, row.passed, row.duration_ms / 1000, row.tokens].map(|number| number.to_string());
        let values = [&tasks, &passed, &rate, &interval, &cost(row.cost_usd), &seconds, &tokens];
        text.push_str(&line(&escape_to_one_line(model), values.map(String::as_str)));
    }
    for row in found.models.iter().filter(|row| !row.pass_at_k.is_empty()) {
        let rates = row.pass_at_k.iter().map(|found| format!("pass@{} {:.1} %", found.k, found.rate * 100.0));
        let rates = rates.collect::<Vec<_>>().join(", ");
        text.push_str(&format!("\n{}  {rates}", escape_to_one_line(&row.model)));
    }
    if found.all.infrastructure > 0 {
        let line = sentence!("infrastructure: {count}", count = found.all.infrastructure);
        text.push_str(&format!("\n{}", catalogue.sentence(&line)));
        for (class, count) in &found.infrastructure {
            text.push_str(&format!("\n  {}: {count}", escape_to_one_line(class)));
        }
        text.push('\n');
    }
    let unfinished = sentence!("unfinished: {count}", count = found.unfinished);
    text.push_str(&format!("\n{}\n", catalogue.sentence(&unfinished)));
    if found.not_decided > 0 {
        text.push_str(&counted(catalogue, &state_name(catalogue, TaskState::Undecided), found.not_decided));
    }
    for (class, count) in &found.failures {
        let name = failure_name(catalogue, class);
        text.push_str(&counted(catalogue, &escape_to_one_line(&name), *count));
    }
    text.push('\n');
    for result in &found.tasks {
        text.push_str(&format!(
            "{}  {}  {}  {} s  {}\n",
            result.id,
            result_text(catalogue, result.outcome, result.code.as_deref()),
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
