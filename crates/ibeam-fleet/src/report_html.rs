//! A report as one page of HTML, without scripts and without anything from elsewhere. The headings are the keys of the
//! JSON object.

use std::fmt::Write as _;

use crate::comparison::FleetComparison;
use crate::report::{FleetReport, ModelRow};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;\
color:#1b1f24;background:#fff}table{border-collapse:collapse;margin:.5rem 0 2rem}th,td{padding:.2rem .8rem;\
text-align:left;border-bottom:1px solid #d0d7de}.n{text-align:right;font-variant-numeric:tabular-nums}\
.passed{color:#1a7f37}.failed,.check_failed{color:#b3261e}.skipped{color:#6e7781}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}\
.passed{color:#3fb950}.failed,.check_failed{color:#ff7b72}}";

/// Returns a page about one fleet, or about several and the comparison of the first two. Each has a name.
pub fn report_page(fleets: &[(String, FleetReport)], comparison: Option<&FleetComparison>) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>ibeam fleet report</title>\n\
         <style>{STYLE}</style>\n"
    );
    if let Some(comparison) = comparison {
        push_comparison(&mut page, comparison);
    }
    for (name, report) in fleets {
        push_fleet(&mut page, name, report);
    }
    page.push_str("</html>\n");
    page
}

fn push_comparison(page: &mut String, comparison: &FleetComparison) {
    let FleetComparison { tasks, both_passed, first_passed, second_passed, difference, changed } = comparison;
    page.push_str("<h1>comparison</h1>\n");
    push_head(
        page,
        &["tasks", "both_passed", "first_passed", "second_passed", "difference", "95 %", "p_value"],
    );
    let (rate, interval, p_value) = match difference {
        Some(d) => (
            format!("{:+.1} %", d.rate * 100.0),
            format!("{:+.1} to {:+.1}", d.low * 100.0, d.high * 100.0),
            format!("{:.4}", d.p_value),
        ),
        None => Default::default(),
    };
    let counts = [tasks, both_passed, first_passed, second_passed].map(ToString::to_string);
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

fn push_fleet(page: &mut String, name: &str, report: &FleetReport) {
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
    push_head(page, &["failures", "tasks"]);
    for (class, count) in &report.failures {
        push_row(page, &[escape(class)], &[count.to_string()]);
    }
    push_row(page, &["unfinished".to_owned()], &[report.unfinished.to_string()]);
    push_row(page, &["not decided".to_owned()], &[report.not_decided.to_string()]);
    page.push_str("</table>\n");
    push_head(
        page,
        &["id", "outcome", "code", "model", "cost_usd", "seconds", "tokens", "runs", "changed_files"],
    );
    for result in &report.tasks {
        let _infallible = write!(
            page,
            "<tr><td>{}<td class=\"{2}\" title=\"{1}\">{2}",
            escape(&result.id),
            escape(result.message.as_deref().unwrap_or_default()),
            result.outcome.as_str()
        );
        for text in [&result.code, &result.model] {
            let _infallible = write!(page, "<td>{}", escape(text.as_deref().unwrap_or_default()));
        }
        let numbers = [
            cost(result.cost_usd),
            (result.duration_ms / 1000).to_string(),
            result.usage.total().to_string(),
            result.runs.to_string(),
            result.changed_files.len().to_string(),
        ];
        push_numbers(page, &numbers);
    }
    page.push_str("</table>\n");
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
    use crate::task_result::{Outcome, TaskResult};

    #[test]
    fn a_page_has_every_task_and_no_markup_of_a_run() {
        let failed = TaskResult {
            code: Some("timeout".to_owned()),
            model: Some("<m>".to_owned()),
            ..TaskResult::without_run("a", Outcome::Failed, "\"><script>x</script>".to_owned())
        };
        let passed = TaskResult::without_run("a", Outcome::Passed, String::new());
        let (first, second) = (FleetReport::new(vec![failed], 2), FleetReport::new(vec![passed], 0));
        let comparison = FleetComparison::new(&first, &second);
        let page =
            report_page(&[("one & two".to_owned(), first), ("three".to_owned(), second)], Some(&comparison));
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
