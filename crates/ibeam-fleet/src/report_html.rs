//! A report as one file of HTML, without scripts and without anything from elsewhere. The headings are the keys of the
//! JSON object. The tasks are in pages, some for each state: a link shows one page and hides the others. They are read once
//! for each state, and none is kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::comparison::FleetComparison;
use crate::report::{FleetReport, ModelRow};
use crate::task_result::TaskResult;
use crate::task_status::{TaskState, TaskStatus};
use ibeam_governor::task_directory;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;\
color:#1b1f24;background:#fff}table{border-collapse:collapse;margin:.5rem 0 2rem}th,td{padding:.2rem .8rem;\
text-align:left;border-bottom:1px solid #d0d7de}.n{text-align:right;font-variant-numeric:tabular-nums}\
.passed{color:#1a7f37}.failed,.check_failed{color:#b3261e}.skipped{color:#6e7781}\
nav a{margin-right:.6rem}.page{display:none}.page:target{display:block}\
body:not(:has(.page:target)) .first{display:block}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}\
.passed{color:#3fb950}.failed,.check_failed{color:#ff7b72}}";

const PAGE_ROWS: usize = 200;
/// The headings of the tasks.
const TASK_COLUMNS: [&str; 10] =
    ["id", "outcome", "code", "model", "files", "cost_usd", "seconds", "tokens", "runs", "changed_files"];
/// The links of a task, each to the first of these files that exists.
const LINKS: [(&str, &[&str]); 3] = [
    ("patch", &["changes.patch"]),
    ("log", &["stream.ndjson"]),
    ("trace", &["trace.html", "trajectory.json"]),
];

/// Passes every task with its state and its result to a function, until that fails.
pub type EachTask<'a> =
    dyn Fn(&mut dyn FnMut(TaskStatus, Option<TaskResult>) -> io::Result<()>) -> io::Result<()> + 'a;

pub struct ReportedFleet<'a> {
    pub name: &'a str,
    pub report: &'a FleetReport,
    /// The tasks, which are the same each time.
    pub tasks: &'a EachTask<'a>,
    /// The directory with the files to which the tasks have links.
    pub directory: Option<&'a Path>,
}

/// Prints a page about one fleet, or about several and the comparison of the first two, in parts of whole lines.
///
/// # Errors
/// The errors of `print` and of the readers of the tasks.
pub fn print_report_page(
    fleets: &[ReportedFleet<'_>],
    comparison: Option<&FleetComparison>,
    print: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>ibeam fleet report</title>\n\
         <style>{STYLE}</style>\n"
    );
    if let Some(comparison) = comparison {
        push_comparison(&mut page, comparison);
    }
    for (number, fleet) in fleets.iter().enumerate() {
        push_sums(&mut page, fleet.name, fleet.report);
        print(&page)?;
        page.clear();
        print_pages(number, fleet, print)?;
    }
    page.push_str("</html>\n");
    print(&page)
}

fn push_comparison(page: &mut String, comparison: &FleetComparison) {
    let FleetComparison {
        tasks,
        infrastructure,
        both_passed,
        first_passed,
        second_passed,
        difference,
        changed,
    } = comparison;
    page.push_str("<h1>comparison</h1>\n");
    push_head(
        page,
        &[
            "tasks",
            "infrastructure",
            "both_passed",
            "first_passed",
            "second_passed",
            "difference",
            "95 %",
            "p_value",
        ],
    );
    let (rate, interval, p_value) = match difference {
        Some(d) => (
            format!("{:+.1} %", d.rate * 100.0),
            format!("{:+.1} to {:+.1}", d.low * 100.0, d.high * 100.0),
            format!("{:.4}", d.p_value),
        ),
        None => Default::default(),
    };
    let counts = [tasks, infrastructure, both_passed, first_passed, second_passed].map(ToString::to_string);
    push_row(page, &counts, &[rate, interval, p_value]);
    page.push_str("</table>\n");
    if !changed.is_empty() {
        push_head(page, &["id", "first", "second"]);
        for task in changed {
            let _infallible = writeln!(
                page,
                "<tr><td>{}<td class=\"{1}\">{1}<td class=\"{2}\">{2}",
                escape(&task.id),
                task.first.as_str(),
                task.second.as_str()
            );
        }
        page.push_str("</table>\n");
    }
}

fn push_sums(page: &mut String, name: &str, report: &FleetReport) {
    let _infallible = writeln!(page, "<h1>{}</h1>", escape(name));
    push_head(page, &["model", "tasks", "passed", "pass_rate", "95 %", "cost_usd", "seconds", "tokens"]);
    let all = ModelRow { model: "*".to_owned(), ..report.all.clone() };
    for row in report.models.iter().chain([&all]) {
        let (rate, interval) = match row.pass_rate {
            Some(rate) => (
                format!("{:.1} %", rate.rate * 100.0),
                format!("{:.1}–{:.1}", rate.low * 100.0, rate.high * 100.0),
            ),
            None => Default::default(),
        };
        let numbers = [
            row.tasks.to_string(),
            row.passed.to_string(),
            rate,
            interval,
            cost(row.cost_usd),
            (row.duration_ms / 1000).to_string(),
            row.tokens.to_string(),
        ];
        push_row(page, std::slice::from_ref(&escape(&row.model)), &numbers);
    }
    page.push_str("</table>\n");
    if report.models.iter().any(|row| !row.pass_at_k.is_empty()) {
        push_head(page, &["model", "k", "pass@k"]);
        for row in report.models.iter().chain([&all]) {
            for found in &row.pass_at_k {
                let numbers = [found.k.to_string(), format!("{:.1} %", found.rate * 100.0)];
                push_row(page, std::slice::from_ref(&escape(&row.model)), &numbers);
            }
        }
        page.push_str("</table>\n");
    }
    push_head(page, &["failures", "tasks"]);
    for (class, count) in &report.failures {
        push_row(page, &[escape(class)], &[count.to_string()]);
    }
    for (class, count) in &report.infrastructure {
        push_row(page, &[format!("infrastructure: {}", escape(class))], &[count.to_string()]);
    }
    push_row(page, &["unfinished".to_owned()], &[report.unfinished.to_string()]);
    push_row(page, &["not decided".to_owned()], &[report.not_decided.to_string()]);
    page.push_str("</table>\n");
}

/// Prints the links to all pages, and the tasks, some on each page.
fn print_pages(
    number: usize,
    fleet: &ReportedFleet<'_>,
    print: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut counts: BTreeMap<TaskState, usize> = BTreeMap::new();
    (fleet.tasks)(&mut |status, _| {
        *counts.entry(status.state).or_default() += 1;
        Ok(())
    })?;
    let id = |state: TaskState, page: usize| format!("f{number}-{}-{page}", state.as_str());
    print("<nav>\n")?;
    for (state, count) in &counts {
        let mut links = format!("<p>{} {count}: ", state.as_str());
        for page in 1..=count.div_ceil(PAGE_ROWS) {
            let _infallible = write!(links, "<a href=\"#{}\">{page}</a>", id(*state, page));
        }
        print(&format!("{links}\n"))?;
    }
    print("</nav>\n")?;
    let end = "</table>\n</section>\n";
    let mut class = "page first";
    for state in counts.into_keys() {
        let mut rows = 0;
        (fleet.tasks)(&mut |status, result| {
            if status.state != state {
                return Ok(());
            }
            if rows % PAGE_ROWS == 0 {
                let mut head = if rows > 0 { end.to_owned() } else { String::new() };
                let id = id(state, rows / PAGE_ROWS + 1);
                let _infallible = writeln!(head, "<section class=\"{class}\" id=\"{id}\">");
                push_head(&mut head, &TASK_COLUMNS);
                print(&head)?;
                class = "page";
            }
            rows += 1;
            print(&match result {
                Some(result) => result_row(&result, fleet.directory),
                None => open_row(&status),
            })
        })?;
        print(end)?;
    }
    Ok(())
}

/// Returns the row of a task without a result.
fn open_row(status: &TaskStatus) -> String {
    let reason = escape(status.reason.as_deref().unwrap_or_default());
    format!("<tr><td>{}<td>{}<td colspan=\"8\">{reason}\n", escape(&status.id), status.state.as_str())
}

/// Returns the row of a task with a result, with links to those of its files that exist.
fn result_row(result: &TaskResult, fleet: Option<&Path>) -> String {
    let mut row = format!(
        "<tr><td>{}<td class=\"{2}\" title=\"{1}\">{2}",
        escape(&result.id),
        escape(result.message.as_deref().unwrap_or_default()),
        result.outcome.as_str()
    );
    for text in [&result.code, &result.model] {
        let _infallible = write!(row, "<td>{}", escape(text.as_deref().unwrap_or_default()));
    }
    row.push_str("<td>");
    let directory = fleet.map(|fleet| task_directory(&fleet.join("tasks"), &result.id));
    for (name, files) in LINKS {
        let mut found = files.iter().filter_map(|file| Some(directory.as_ref()?.join(file)));
        if let Some(file) = found.find(|file| file.is_file()) {
            let _infallible = write!(row, "<a href=\"{}\">{name}</a> ", file_url(&file));
        }
    }
    push_numbers(
        &mut row,
        &[
            cost(result.cost_usd),
            (result.duration_ms / 1000).to_string(),
            result.usage.total().to_string(),
            result.runs.to_string(),
            result.changed_files.len().to_string(),
        ],
    );
    row
}

/// Returns the URL of a file on this machine.
fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                url.push(char::from(*byte));
            }
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

fn push_head(page: &mut String, names: &[&str]) {
    page.push_str("<table>\n<tr>");
    for name in names {
        let _infallible = write!(page, "<th>{name}");
    }
    page.push('\n');
}

/// Adds a row of markup and of numbers.
fn push_row(page: &mut String, markup: &[String], numbers: &[String]) {
    page.push_str("<tr>");
    for cell in markup {
        let _infallible = write!(page, "<td>{cell}");
    }
    push_numbers(page, numbers);
}

fn push_numbers(page: &mut String, numbers: &[String]) {
    for number in numbers {
        let _infallible = write!(page, "<td class=\"n\">{number}");
    }
    page.push('\n');
}

fn cost(usd: Option<f64>) -> String {
    usd.map_or(String::new(), |usd| format!("{usd:.4}"))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ComparisonSums;
    use crate::report::ReportSums;
    use crate::task_result::Outcome;
    use ibeam_governor::Spend;

    /// Returns a page about fleets with these names, results and tasks without one.
    fn page_about(
        fleets: &[(&str, &[TaskResult], &[TaskStatus])],
        directory: Option<&Path>,
        comparison: Option<&FleetComparison>,
    ) -> String {
        let report = |results: &[TaskResult]| {
            let mut sums = ReportSums::default();
            results.iter().zip(0..).for_each(|(result, cluster)| sums.add(result, cluster));
            sums.report(1, 0)
        };
        let reports: Vec<FleetReport> = fleets.iter().map(|(_, results, _)| report(results)).collect();
        let lists: Vec<Box<EachTask<'_>>> = fleets
            .iter()
            .map(|(_, results, open)| -> Box<EachTask<'_>> {
                Box::new(|each| {
                    let finished =
                        results.iter().map(|result| (TaskStatus::for_result(result), Some(result.clone())));
                    let mut all = finished.chain(open.iter().map(|status| (status.clone(), None)));
                    all.try_for_each(|(status, result)| each(status, result))
                })
            })
            .collect();
        let parts = fleets.iter().zip(&reports).zip(&lists);
        let reported: Vec<ReportedFleet<'_>> = parts
            .map(|(((name, ..), report), tasks)| ReportedFleet { name, report, tasks: &**tasks, directory })
            .collect();
        let mut page = String::new();
        let mut print = |part: &str| {
            assert!(part.ends_with('\n'), "{part}");
            page.push_str(part);
            Ok(())
        };
        print_report_page(&reported, comparison, &mut print).unwrap();
        page
    }

    #[test]
    fn the_tasks_are_in_pages_by_state_with_links_to_their_files() {
        let home = tempfile::tempdir().unwrap();
        let fleet = home.path().join("a b.fleet");
        let task = task_directory(&fleet.join("tasks"), "t0");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(task.join("changes.patch"), "").unwrap();
        let result = |number: usize| match number {
            250 => TaskResult::without_run("bad", Outcome::CheckFailed, String::new()),
            number => TaskResult::without_run(&format!("t{number}"), Outcome::Passed, String::new()),
        };
        let parked =
            TaskStatus::without_result("p", TaskState::Parked, Some("no <key>".to_owned()), Spend::default());
        let results: Vec<TaskResult> = (0..=250).map(result).collect();
        let page = page_about(&[("f", &results, &[parked])], Some(&fleet), None);
        let sections: Vec<&str> =
            page.split("<section class=\"").skip(1).filter_map(|rest| rest.split('>').next()).collect();
        assert_eq!(
            sections,
            [
                "page first\" id=\"f0-passed-1\"",
                "page\" id=\"f0-passed-2\"",
                "page\" id=\"f0-failed-1\"",
                "page\" id=\"f0-parked-1\""
            ]
        );
        for part in [
            "<p>passed 250: <a href=\"#f0-passed-1\">1</a><a href=\"#f0-passed-2\">2</a>",
            "/t0/changes.patch\">patch</a>",
            "no &lt;key&gt;",
        ] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert_eq!((page.matches("patch</a>").count(), page.matches("log</a>").count()), (1, 0));
    }

    #[test]
    fn a_page_has_every_task_and_no_markup_of_a_run() {
        let failed = TaskResult {
            code: Some("timeout".to_owned()),
            model: Some("<m>".to_owned()),
            ..TaskResult::without_run("a", Outcome::Failed, "\"><script>x</script>".to_owned())
        };
        let passed = TaskResult::without_run("a", Outcome::Passed, String::new());
        let mut sums = ComparisonSums::default();
        sums.add_second(&passed);
        sums.add_first(&failed, 0);
        let comparison = sums.comparison();
        let page =
            page_about(&[("one & two", &[failed], &[]), ("three", &[passed], &[])], None, Some(&comparison));
        assert!(!page.contains("<script") && !page.contains("<m>"), "{page}");
        for part in
            ["<h1>one &amp; two</h1>", "&lt;m&gt;", ">timeout<", "class=\"passed\">passed", "+100.0 %"]
        {
            assert!(page.contains(part), "no {part} in {page}");
        }
        let tables = page.matches("<table>").count();
        assert_eq!((tables, page.matches("</table>").count()), (8, 8));
    }
}
