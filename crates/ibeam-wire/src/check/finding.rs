//! The findings of a check.

use super::rule::{Rule, Severity};
use crate::Contract;
use crate::scan::{self, PathStep};

/// A breach of a rule of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The line number, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// The rule that is broken.
    pub rule: Rule,
    /// The severity of the breach.
    pub severity: Severity,
    /// One English sentence without its full stop, on one line.
    pub message: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Whether the input was one object, of `json` or of a failure, instead of a stream.
    pub is_single_object: bool,
    /// Whether the stream has the object `ibeam`. It was then checked against all of docs/output-format.md.
    pub is_from_ibeam: bool,
    /// The contract that the stream was checked against.
    pub contract: Contract,
    /// The number of non-empty lines.
    pub events: u64,
    /// The number of findings that break the contract.
    pub errors: u64,
    /// The number of warnings.
    pub warnings: u64,
    /// The first errors and warnings, in the order of lines and columns.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether the stream follows the contract.
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }
}

/// Collects findings up to a maximum and counts all of them.
pub(super) struct Findings {
    pub(super) report: Report,
    /// The maximum number of stored findings.
    pub(super) max: usize,
}

impl Findings {
    pub(super) fn add(&mut self, line: u64, column: usize, rule: Rule, message: String) {
        let severity = rule.severity(self.report.is_from_ibeam);
        match severity {
            Severity::Error => self.report.errors += 1,
            Severity::Warning => self.report.warnings += 1,
        }
        if self.report.findings.len() < self.max {
            let column = column as u64;
            self.report.findings.push(Finding { line, column, rule, severity, message });
        }
    }
}

/// The checked line, and the list for its findings.
pub(super) struct LineContext<'a> {
    pub(super) findings: &'a mut Findings,
    /// The line number, from 1.
    pub(super) number: u64,
    pub(super) text: &'a str,
}

impl LineContext<'_> {
    /// Adds a finding at the value at `path`.
    pub(super) fn add(&mut self, path: &[PathStep<'_>], rule: Rule, message: impl Into<String>) {
        self.add_at(scan::locate(self.text, path), rule, message);
    }

    /// Adds a finding at a byte offset of the line.
    pub(super) fn add_at(&mut self, byte: usize, rule: Rule, message: impl Into<String>) {
        self.findings.add(self.number, scan::column(self.text, byte), rule, message.into());
    }

    /// Returns the column of the value at `path`, in characters from 1.
    pub(super) fn column(&self, path: &[PathStep<'_>]) -> usize {
        scan::column(self.text, scan::locate(self.text, path))
    }
}

/// Returns text of the stream for a message: on one line, printable, and at most 60 characters.
pub(super) fn printable_excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut excerpt: String = text.chars().take(MAX_CHARS).flat_map(escape_unprintable).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// Escapes control characters and invisible characters. Unlike `escape_debug`, does not escape quotes.
fn escape_unprintable(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = match c {
        '"' | '\'' => (Some(c), None),
        _ => (None, Some(c.escape_debug())),
    };
    plain.into_iter().chain(escaped.into_iter().flatten())
}
