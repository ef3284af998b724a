//! Checks a stream, the object of `json`, or the object of a failure against its contract.
//!
//! A stream with the object `ibeam` in its `init` is checked against all of docs/output-format.md. A stream without it
//! comes from another program and is checked against the published page, which documents the output of the Cursor CLI:
//! the additions of ibeam may be absent, and the mistakes of the samples on that page are warnings.
//! `init.ibeam.contract` names the contract; for other streams the caller names it. Memory is bounded by the longest line
//! and the number of open calls. The exit code and stderr are not checked.

mod answer;
mod call_payload;
mod call_tracker;
mod finding;
mod rule;
mod stream;
mod value;

use std::io::{self, BufRead};

use serde_json::{Map, Value};

pub(crate) use self::call_payload::FUNCTION_CALL;
pub use self::finding::{Finding, Report};
use self::finding::{Findings, LineContext, printable_excerpt};
pub use self::rule::{Rule, Severity};
use self::stream::Checker;
use self::value::{check_object, type_name};
use crate::Contract;
use crate::describe::Object;
use crate::lines::Lines;

/// Checks a stream to its end. The report has the first `max_findings` findings and the number of all findings.
///
/// An input that starts with a `result` is the object of `json`. An input that starts with an `error` is the object of a
/// failure. Any other input is a stream.
///
/// # Errors
/// Reading the input failed.
pub fn check<R: BufRead>(stream: R, max_findings: usize) -> io::Result<Report> {
    check_with_contract(Contract::One, stream, max_findings)
}

/// Like [`check`]. A stream that does not name its contract is checked against `contract`.
///
/// # Errors
/// Reading the input failed.
pub fn check_with_contract<R: BufRead>(
    contract: Contract,
    stream: R,
    max_findings: usize,
) -> io::Result<Report> {
    check_lines(contract, Lines::new(stream), max_findings)
}

/// Returns the column and the message of the first error of an object that is alone on its line.
pub(crate) fn first_error(
    text: &str,
    description: &'static Object,
    object: &Map<String, Value>,
) -> Option<(usize, String)> {
    let mut findings = Findings { report: Report::default(), max: usize::MAX };
    let mut line = LineContext { findings: &mut findings, number: 1, text };
    check_object(&mut line, &mut Vec::new(), description, object);
    let mut found = findings.report.findings.into_iter();
    let error = found.find(|finding| finding.severity == Severity::Error)?;
    Some((usize::try_from(error.column).unwrap_or(usize::MAX), error.message))
}

/// Returns a value for a message: on one line, printable and short.
pub(crate) fn excerpt_of(value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("`{}`", printable_excerpt(text)),
        None => type_name(value).to_owned(),
    }
}

/// Checks lines like [`check_with_contract`].
pub(crate) fn check_lines<R: BufRead>(
    contract: Contract,
    mut lines: Lines<R>,
    max_findings: usize,
) -> io::Result<Report> {
    let mut checker = Checker::new(contract, max_findings);
    while let Some(line) = lines.next()? {
        checker.check_line(line);
    }
    Ok(checker.finish())
}
