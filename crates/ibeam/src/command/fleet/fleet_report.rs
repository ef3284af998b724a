//! `fleet report`: the report on a fleet, or on two and their comparison, as text, JSON or HTML.
//!
//! The results are read for the sums, and again where they are listed. None is kept: a fleet may have a million.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ibeam_fleet::{
    ComparisonSums, EachTask, FleetComparison, FleetReport, Ledger, LedgerState, ModelRow, ReportSums,
    ReportedFleet, TaskQueue as _, TaskResult, TaskState, print_report_page,
};
use ibeam_output::{Catalogue, escape_to_one_line};
use ibeam_protocol::{Sentence, sentence};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use unicode_width::UnicodeWidthStr as _;

use super::arguments::FleetReportFormat;
use super::ledger_access::{open_ledger, queue_error};
use super::listing::{Listing, ListingForm};
use super::names::{counted, failure_name, left_aligned, result_text, right_aligned, state_name};
use crate::cli_error::CliError;
use crate::command::printing::{report, stdout_error};
use crate::flags::ReportFormat;

struct Fleet {
    name: String,
    directory: PathBuf,
    ledger: Ledger,
    report: FleetReport,
}

impl Fleet {
    /// Reads the fleet in a directory. Each result goes to `each`, too, with the cluster of its task.
    fn read(directory: &Path, mut each: impl FnMut(&TaskResult, u64)) -> Result<Self, CliError> {
        let mut ledger = open_ledger(directory)?;
        ledger.keep_state().map_err(queue_error)?;
        let mut sums = ReportSums::default();
        let read = ledger.each_result(|result, cluster| {
            each(&result, cluster);
            sums.add(&result, cluster);
            Ok::<_, Infallible>(())
        });
        let Ok(()) = read.map_err(queue_error)?;
        let unfinished = ledger.unfinished().map_err(queue_error)?;
        let not_decided = ledger.count_in(LedgerState::Undecided).map_err(queue_error)?;
        let name = directory.display().to_string();
        let report = sums.report(unfinished, not_decided);
        Ok(Self { name, directory: directory.to_owned(), ledger, report })
    }

    /// Passes each result to `each`, in the order of the tasks.
    fn each_result(&self, each: impl FnMut(&TaskResult) -> Result<(), CliError>) -> Result<(), CliError> {
        each_result(&self.ledger, each)
    }
}

fn each_result(
    ledger: &Ledger,
    mut each: impl FnMut(&TaskResult) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let read = ledger.each_task(|_, result| result.as_ref().map_or(Ok(()), &mut each));
    read.map_err(queue_error)?
}

/// Reports on a fleet, and compares another one with it.
pub(super) fn fleet_report(
    catalogue: &Catalogue,
    directory: &Path,
    other: Option<&Path>,
    format: FleetReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    if format == FleetReportFormat::Ndjson {
        for directory in std::iter::once(directory).chain(other) {
            let ledger = open_ledger(directory)?;
            each_result(&ledger, |result| report(stdout, ReportFormat::Json, "", result))?;
        }
        return Ok(());
    }
    let mut sums = ComparisonSums::default();
    let second = other.map(|other| Fleet::read(other, |result, _| sums.add_second(result))).transpose()?;
    let first = Fleet::read(directory, |result, cluster| sums.add_first(result, cluster))?;
    let comparison = second.is_some().then(|| sums.comparison());
    match (format, comparison, second) {
        (FleetReportFormat::Json, Some(comparison), Some(second)) => {
            let (first, second) = (FleetObject::new(&first), FleetObject::new(&second));
            report(stdout, ReportFormat::Json, "", &ComparedFleets { comparison: &comparison, first, second })
        }
        (FleetReportFormat::Json, _, _) => report(stdout, ReportFormat::Json, "", &FleetObject::new(&first)),
        (FleetReportFormat::Html, comparison, second) => {
            let fleets: Vec<Fleet> = std::iter::once(first).chain(second).collect();
            print_page(&fleets, comparison.as_ref(), stdout)
        }
        (FleetReportFormat::Text | FleetReportFormat::Ndjson, comparison, second) => {
            let fleets: Vec<Fleet> = std::iter::once(first).chain(second).collect();
            print_text_report(catalogue, &fleets, comparison.as_ref(), stdout)
        }
    }
}

/// The JSON object of a comparison.
#[derive(Serialize)]
struct ComparedFleets<'a> {
    comparison: &'a FleetComparison,
    first: FleetObject<'a>,
    second: FleetObject<'a>,
}

/// The JSON object of a fleet.
#[derive(Serialize)]
struct FleetObject<'a> {
    #[serde(flatten)]
    report: &'a FleetReport,
    tasks: ResultList<'a>,
}

impl<'a> FleetObject<'a> {
    fn new(fleet: &'a Fleet) -> Self {
        Self { report: &fleet.report, tasks: ResultList(&fleet.ledger) }
    }
}

/// The results of a fleet, which are read while they are written.
struct ResultList<'a>(&'a Ledger);

impl Serialize for ResultList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let read = self.0.each_task(|_, result| match result {
            Some(result) => list.serialize_element(&result),
            None => Ok(()),
        });
        read.map_err(S::Error::custom)??;
        list.end()
    }
}

/// Prints a page about one fleet, or two and their comparison.
fn print_page(
    fleets: &[Fleet],
    comparison: Option<&FleetComparison>,
    stdout: &mut File,
) -> Result<(), CliError> {
    // The links of a page are absolute.
    let directories: Vec<Option<PathBuf>> =
        fleets.iter().map(|fleet| fleet.directory.canonicalize().ok()).collect();
    let lists: Vec<Box<EachTask<'_>>> = fleets
        .iter()
        .map(|fleet| -> Box<EachTask<'_>> {
            Box::new(|each| fleet.ledger.each_task(each).map_err(io::Error::other)?)
        })
        .collect();
    let parts = fleets.iter().zip(&lists).zip(&directories);
    let reported: Vec<ReportedFleet<'_>> = parts
        .map(|((fleet, tasks), directory)| ReportedFleet {
            name: &fleet.name,
            report: &fleet.report,
            tasks: &**tasks,
            directory: directory.as_deref(),
        })
        .collect();
    let mut listing = Listing::new(stdout, ListingForm::Page);
    let mut failure = None;
    let printed = print_report_page(&reported, comparison, &mut |part| {
        listing.push(part).map_err(|error| {
            failure = Some(error);
            io::ErrorKind::Other.into()
        })
    });
    match (failure, printed) {
        (Some(failure), _) => Err(failure),
        (None, Err(error)) => Err(stdout_error(&error)),
        (None, Ok(())) => listing.finish(),
    }
}

fn print_text_report(
    catalogue: &Catalogue,
    fleets: &[Fleet],
    comparison: Option<&FleetComparison>,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut listing = Listing::new(stdout, ListingForm::Lines);
    if let Some(comparison) = comparison {
        listing.push(&comparison_text(catalogue, comparison))?;
    }
    for fleet in fleets {
        if comparison.is_some() {
            listing.push(&format!("{}\n", escape_to_one_line(&fleet.name)))?;
        }
        listing.push(&report_text(catalogue, &fleet.report))?;
        fleet.each_result(|result| listing.push(&result_line(catalogue, result)))?;
        if comparison.is_some() {
            listing.push("\n")?;
        }
    }
    listing.finish()
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
    text
}

/// Returns the line of a task with a result.
fn result_line(catalogue: &Catalogue, result: &TaskResult) -> String {
    format!(
        "{}  {}  {}  {} s  {}\n",
        result.id,
        result_text(catalogue, result.outcome, result.code.as_deref()),
        cost(result.cost_usd),
        result.duration_ms / 1000,
        result.usage.total()
    )
}

/// Returns an amount of dollars; `-` if it is unknown.
fn cost(usd: Option<f64>) -> String {
    usd.map_or("-".to_owned(), |usd| format!("{usd:.4}"))
}
