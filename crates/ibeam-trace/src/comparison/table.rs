//! A comparison as text: the totals in two columns, then the calls and the changed files with the signs of a diff.

use std::fmt::Write as _;

use ibeam_output::{Catalogue, CompareLine};
use ibeam_protocol::escape_invisible;
use unicode_width::UnicodeWidthStr as _;

use super::Comparison;
use super::facts::{CallFact, CallOutcome, RunEnd, SessionFacts};
use super::sequence::Presence;

/// Equal calls before and after a difference that are shown.
const CONTEXT: usize = 2;

/// A value that is not known.
const UNKNOWN: &str = "–";

pub(super) fn to_text(comparison: &Comparison<'_>, catalogue: &Catalogue) -> String {
    let mut text = totals(comparison, catalogue);
    let calls: Vec<_> =
        comparison.calls.iter().map(|(presence, call)| (*presence, call_text(call, catalogue))).collect();
    push_list(&mut text, &catalogue.line(&CompareLine::Calls), &calls, catalogue);
    let files: Vec<_> =
        comparison.files.iter().map(|(presence, path)| (*presence, (*path).to_owned())).collect();
    push_list(&mut text, &catalogue.line(&CompareLine::ChangedFiles), &files, catalogue);
    text
}

/// Returns the rows of the totals: a name, and the value of each side.
fn totals(comparison: &Comparison<'_>, catalogue: &Catalogue) -> String {
    let line = |line: &CompareLine| catalogue.line(line);
    let both = |value: &dyn Fn(&SessionFacts) -> String| comparison.facts.map(value);
    let tokens = |count: fn(ibeam_protocol::Usage) -> u64| {
        both(&|facts| facts.usage().map_or_else(|| UNKNOWN.to_owned(), |usage| count(usage).to_string()))
    };
    let end = |end: RunEnd| {
        line(&match end {
            RunEnd::Completed => CompareLine::Completed,
            RunEnd::Failed => CompareLine::Failed,
            RunEnd::Missing => CompareLine::Incomplete,
        })
    };
    let rows = [
        (String::new(), comparison.names.map(str::to_owned)),
        (
            line(&CompareLine::Session),
            both(&|facts| facts.session_id().map_or_else(|| UNKNOWN.to_owned(), |id| id.to_string())),
        ),
        (line(&CompareLine::Model), both(&|facts| facts.models().join(", "))),
        (line(&CompareLine::Runs), both(&|facts| facts.runs().to_string())),
        (line(&CompareLine::LastRun), both(&|facts| facts.end().map_or_else(String::new, end))),
        (line(&CompareLine::Duration), both(&|facts| seconds(facts.duration_ms()))),
        (
            line(&CompareLine::Requests),
            both(&|facts| facts.requests().map_or_else(|| UNKNOWN.to_owned(), |count| count.to_string())),
        ),
        (line(&CompareLine::Calls), both(&|facts| facts.calls().len().to_string())),
        (line(&CompareLine::FailedCalls), both(&|facts| facts.failed_calls().to_string())),
        (line(&CompareLine::TokensRead), tokens(|usage| usage.input)),
        (line(&CompareLine::TokensCached), tokens(|usage| usage.cache_read)),
        (line(&CompareLine::TokensWritten), tokens(|usage| usage.output)),
        (line(&CompareLine::Cost), both(&|facts| cost(facts.cost_micros()))),
        (line(&CompareLine::ChangedFiles), both(&|facts| facts.files().len().to_string())),
    ];
    let rows = rows.map(|(name, values)| (name, values.map(|value| escape_invisible(&value).into_owned())));
    let name_width = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let value_width = rows.iter().map(|(_, [first, _])| first.width()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (name, [first, second])| {
        let (name_gap, value_gap) = (name_width + 2 - name.width(), value_width + 2 - first.width());
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}",
            format!("{name}{:name_gap$}{first}{:value_gap$}{second}", "", "").trim_end()
        );
        text
    })
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

fn cost(micros: Option<u64>) -> String {
    micros.map_or_else(|| UNKNOWN.to_owned(), |micros| format!("${:.4}", crate::dollars(micros)))
}

fn call_text(call: &CallFact, catalogue: &Catalogue) -> String {
    let target = call.target.as_ref().map(|target| format!(" {target}")).unwrap_or_default();
    let outcome = match call.outcome {
        CallOutcome::Success => None,
        CallOutcome::Failed => Some(CompareLine::Failed),
        CallOutcome::Refused => Some(CompareLine::Refused),
        CallOutcome::Open => Some(CompareLine::Incomplete),
    };
    let outcome = outcome.map(|outcome| format!(" ({})", catalogue.line(&outcome))).unwrap_or_default();
    format!("{}{target}{outcome}", call.tool)
}

/// Adds a list with its heading. Of the entries that both have, those around a difference are shown.
fn push_list(text: &mut String, heading: &str, entries: &[(Presence, String)], catalogue: &Catalogue) {
    if entries.is_empty() {
        return;
    }
    let is_near_difference = |index: usize| {
        let range = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(entries.len());
        let near = entries.get(range).unwrap_or_default();
        near.iter().any(|(presence, _)| *presence != Presence::Both)
    };
    let mut push = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let equal = |count: u64| format!("  … {}", catalogue.line(&CompareLine::Equal { count }));
    push("");
    push(heading);
    let mut hidden = 0;
    for (index, (presence, entry)) in entries.iter().enumerate() {
        if !is_near_difference(index) {
            hidden += 1;
            continue;
        }
        if hidden > 0 {
            push(&equal(std::mem::take(&mut hidden)));
        }
        let sign = match presence {
            Presence::Both => ' ',
            Presence::First => '-',
            Presence::Second => '+',
        };
        push(&format!("{sign} {}", escape_invisible(entry)));
    }
    if hidden > 0 {
        push(&equal(hidden));
    }
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    #[test]
    fn columns_are_aligned_by_their_width_on_a_terminal() {
        let facts = [SessionFacts::default(), SessionFacts::default()];
        for locale in Locale::ALL {
            let names = ["一つ目", "second"];
            let text = Comparison::new(names, [&facts[0], &facts[1]]).to_text(&Catalogue::new(locale));
            let columns: Vec<usize> = text
                .lines()
                .filter_map(|line| line.rsplit_once("  ").map(|(before, _)| before.width()))
                .collect();
            assert!(columns.len() > 5 && columns.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
        }
    }
}
