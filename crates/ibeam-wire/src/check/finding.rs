//! What a check has found.

use super::rule::{Rule, Severity};
use crate::Contract;
use crate::scan::{self, Step};

/// One breach of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// The rule that is broken.
    pub rule: Rule,
    /// Whether the contract is broken, or a reader should only know.
    pub severity: Severity,
    /// One English sentence without its full stop, on one line.
    pub message: String,
}

/// What a whole check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// It was one object, that of `json` or that of a failure, not a stream.
    pub is_single_object: bool,
    /// It has the object `ibeam`, so it was held to everything that ibeam promises.
    pub is_from_ibeam: bool,
    /// The contract that it was held to.
    pub contract: Contract,
    /// Lines that are not empty.
    pub events: u64,
    /// Breaches of the contract.
    pub errors: u64,
    /// What a reader should know.
    pub warnings: u64,
    /// The first of both, in the order of lines and columns.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The contract is kept.
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }
}

/// Collects findings, so many of them.
pub(super) struct Findings {
    pub(super) report: Report,
    pub(super) most: usize,
}

impl Findings {
    pub(super) fn add(&mut self, line: u64, column: usize, rule: Rule, message: String) {
        let severity = rule.severity(self.report.is_from_ibeam);
        match severity {
            Severity::Error => self.report.errors += 1,
            Severity::Warning => self.report.warnings += 1,
        }
        if self.report.findings.len() < self.most {
            let column = column as u64;
            self.report.findings.push(Finding { line, column, rule, severity, message });
        }
    }
}

/// The line that is judged, and where to tell of it.
pub(super) struct LineContext<'a> {
    pub(super) findings: &'a mut Findings,
    pub(super) number: u64,
    pub(super) text: &'a str,
}

impl LineContext<'_> {
    /// A finding at the value at the end of `path`.
    pub(super) fn add(&mut self, path: &[Step<'_>], rule: Rule, message: impl Into<String>) {
        self.add_at(scan::locate(self.text, path), rule, message);
    }

    /// A finding at a byte of the line.
    pub(super) fn add_at(&mut self, byte: usize, rule: Rule, message: impl Into<String>) {
        self.findings.add(self.number, scan::column(self.text, byte), rule, message.into());
    }

    pub(super) fn column(&self, path: &[Step<'_>]) -> usize {
        scan::column(self.text, scan::locate(self.text, path))
    }
}

/// Foreign text for a sentence: on one line, printable, not long.
pub(super) fn printable_excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let mut printable_excerpt: String = text.chars().take(MOST).flat_map(printable).collect();
    if text.chars().nth(MOST).is_some() {
        printable_excerpt.push('…');
    }
    printable_excerpt
}

/// `escape_debug` escapes what steers or cannot be seen, and quotes too, which may stand.
fn printable(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = match c {
        '"' | '\'' => (Some(c), None),
        _ => (None, Some(c.escape_debug())),
    };
    plain.into_iter().chain(escaped.into_iter().flatten())
}
