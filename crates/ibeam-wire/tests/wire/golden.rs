//! Every finding on every broken stream of these tests, compared with a stored file.
//!
//! `write_the_golden_findings` renews it after an intended change:
//! `cargo test -p ibeam-wire --test wire -- --ignored write_the_golden_findings`.

use std::path::{Path, PathBuf};

use ibeam_wire::check::Report;

use crate::samples::{checked, documented};
use crate::{segments, violations};

fn findings() -> String {
    let mut text = String::new();
    let mut add = |name: &str, report: Report| {
        let Report { is_single_object, is_from_ibeam, contract, events, errors, warnings, .. } = report;
        text.push_str(&format!(
            "{name}: single object {is_single_object}, from ibeam {is_from_ibeam}, contract {}, \
             {events} events, {errors} errors, {warnings} warnings\n",
            contract.as_str()
        ));
        for finding in report.findings {
            let (rule, severity) = (finding.rule, finding.severity.as_str());
            let (line, column, message) = (finding.line, finding.column, finding.message);
            text.push_str(&format!("  {line}:{column}: {severity}: {rule}: {message}\n"));
        }
    };
    for (index, (_, _, slip)) in violations::VIOLATIONS.iter().chain(violations::WARNINGS).enumerate() {
        add(&format!("contract 1, {index}"), checked(slip.done_to(documented())));
    }
    for (stream, slips) in
        [(segments::whole(), segments::OF_WHOLE), (segments::partial(), segments::OF_PARTIAL)]
    {
        for (index, (_, _, slip)) in slips.iter().enumerate() {
            add(&format!("contract 2, {index}"), checked(slip.done_to(&stream)));
        }
    }
    text
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/findings.txt")
}

#[test]
fn every_finding_is_as_in_the_golden_file() {
    let golden = std::fs::read_to_string(path()).unwrap();
    for (found, golden) in findings().lines().zip(golden.lines()) {
        assert_eq!(found, golden);
    }
    assert_eq!(findings().len(), golden.len());
}

#[test]
#[ignore = "writes the file that the other test compares with"]
fn write_the_golden_findings() {
    std::fs::write(path(), findings()).unwrap();
}
