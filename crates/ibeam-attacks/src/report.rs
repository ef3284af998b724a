//! The report at the end: failures, known limits, reasons of skips, counts.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::case_run::CaseResult;
use crate::user::User;
use crate::verdict::CaseOutcome;

/// The result of one case for one user.
#[derive(Debug)]
pub(crate) struct ReportLine {
    id: String,
    user: User,
    expect: String,
    /// The reason why the case cannot pass completely.
    known_limit: Option<String>,
    result: CaseResult,
}

impl ReportLine {
    pub(crate) fn new(case: &Value, user: User, result: CaseResult) -> Self {
        let text = |key: &str| case.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            id: text("id").unwrap_or_else(|| "(a case without an id)".to_owned()),
            user,
            expect: text("expect").unwrap_or_default(),
            known_limit: text("known_limit"),
            result,
        }
    }

    fn label(&self) -> String {
        format!("{} {}", self.id, self.user.name())
    }
}

/// The environment variable with the path of a file for the counts, which `cargo xtask` records.
const COUNTS_VARIABLE: &str = "IBEAM_SUITE_COUNTS";

/// The results of all cases.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<ReportLine>,
}

impl Report {
    pub(crate) fn add(&mut self, line: ReportLine) {
        self.lines.push(line);
    }

    /// Returns the number of failures, without known limits.
    pub(crate) fn failure_count(&self) -> usize {
        let is_failure = |line: &&ReportLine| {
            line.known_limit.is_none() && matches!(line.result.outcome, CaseOutcome::Failed(_))
        };
        self.lines.iter().filter(is_failure).count()
    }

    /// Prints the report, and writes the transcripts of failed cases to `directory`.
    pub(crate) fn print(&self, directory: Option<&Path>) -> io::Result<()> {
        self.text().lines().for_each(|line| println!("{line}"));
        if let Some(path) = std::env::var_os(COUNTS_VARIABLE) {
            std::fs::write(path, self.counts())?;
        }
        let Some(directory) = directory else { return Ok(()) };
        std::fs::create_dir_all(directory)?;
        let failed_lines = self.lines.iter().filter(|line| !line.result.transcript.is_empty());
        for line in failed_lines {
            let path = directory.join(format!("{}-{}.txt", line.id, line.user.name()));
            std::fs::write(&path, &line.result.transcript)?;
            println!("written: {}", path.display());
        }
        Ok(())
    }

    /// Returns the numbers of passed and failed cases, of cases that reached a known limit, and of skipped cases.
    fn counts(&self) -> String {
        let count = |is_counted: &dyn Fn(&ReportLine) -> bool| {
            self.lines.iter().filter(|line| is_counted(line)).count()
        };
        let passed = count(&|line| matches!(line.result.outcome, CaseOutcome::Passed));
        let limits = count(&|line| {
            line.known_limit.is_some() && matches!(line.result.outcome, CaseOutcome::Failed(_))
        });
        let skipped = count(&|line| matches!(line.result.outcome, CaseOutcome::Skipped(_)));
        format!("{passed} {} {limits} {skipped}\n", self.failure_count())
    }

    /// Returns the report. Its last line has the counts.
    fn text(&self) -> String {
        let mut lines: Vec<&ReportLine> = self.lines.iter().collect();
        lines.sort_by_key(|line| (line.id.clone(), line.user));
        let (mut passed, mut skipped, mut limits_passed) = (0, 0, 0);
        let (mut text, mut limits_failed) = (String::new(), Vec::new());
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for line in lines {
            match (&line.result.outcome, &line.known_limit) {
                (CaseOutcome::Passed, None) => passed += 1,
                (CaseOutcome::Passed, Some(_)) => limits_passed += 1,
                (CaseOutcome::Skipped(reason), _) => {
                    skipped += 1;
                    reasons.entry(reason).or_default().push(line.label());
                }
                (CaseOutcome::Failed(problems), None) => {
                    let (label, expect, problems) = (line.label(), &line.expect, problems.join("; "));
                    text.push_str(&format!("FAIL {label}: expected {expect}, but {problems}\n"));
                }
                (CaseOutcome::Failed(_), Some(reason)) => {
                    limits_failed.push(format!("{} ({reason})", line.label()))
                }
            }
        }
        for (reason, labels) in reasons {
            text.push_str(&format!("skipped: {reason}: {}\n", labels.join(", ")));
        }
        if limits_passed + limits_failed.len() > 0 {
            let failed_labels = if limits_failed.is_empty() {
                String::new()
            } else {
                format!(": {}", limits_failed.join(", "))
            };
            text.push_str(&format!(
                "known limits: {limits_passed} passed, {} failed{failed_labels}\n",
                limits_failed.len()
            ));
        }
        text.push_str(&format!("{passed} passed, {} failed, {skipped} skipped\n", self.failure_count()));
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_case_is_reported_once() {
        let mut report = Report::default();
        let mut add = |id: &str, known_limit: Option<&str>, outcome: CaseOutcome| {
            let case = json!({"id": id, "expect": "denied", "known_limit": known_limit});
            report.add(ReportLine::new(
                &case,
                User::Nobody,
                CaseResult { outcome, transcript: String::new() },
            ));
        };
        let failed = || CaseOutcome::Failed(vec!["BREACH Leak".to_owned()]);
        add("AT-4", Some("best effort"), failed());
        add("AT-2", None, failed());
        add("AT-1", None, CaseOutcome::Passed);
        add("AT-3", None, CaseOutcome::Skipped("needs gdb".to_owned()));
        add("AT-5", Some("best effort"), CaseOutcome::Passed);
        let expect = "FAIL AT-2 nobody: expected denied, but BREACH Leak\n\
                      skipped: needs gdb: AT-3 nobody\n\
                      known limits: 1 passed, 1 failed: AT-4 nobody (best effort)\n\
                      1 passed, 1 failed, 1 skipped\n";
        assert_eq!(report.text(), expect);
        assert_eq!(report.failure_count(), 1);
        assert_eq!(report.counts(), "2 1 1 1\n");
    }
}
