//! The published samples and the documented run follow the contract.

use ibeam_wire::check::{Report, Rule, Severity, check};

const DOCS: &str = include_str!("../../../../docs/output-format.md");
pub(crate) const JA: &str = include_str!("../../../ibeam-output/tests/samples/ja.ndjson");
pub(crate) const ES: &str = include_str!("../../../ibeam-output/tests/samples/es.ndjson");
const SAMPLES: [&str; 4] = [
    ES,
    include_str!("../../../ibeam-output/tests/samples/fr.ndjson"),
    include_str!("../../../ibeam-output/tests/samples/id.ndjson"),
    include_str!("../../../ibeam-output/tests/samples/pt.ndjson"),
];

/// Returns the run that docs/output-format.md shows.
pub(crate) fn documented_run() -> &'static str {
    let (_, rest) = DOCS.split_once("```json\n").unwrap();
    rest.split_once("```").unwrap().0
}

pub(crate) fn checked(stream: impl AsRef<[u8]>) -> Report {
    check(stream.as_ref(), 100).unwrap()
}

#[test]
fn four_published_samples_keep_the_contract() {
    for sample in SAMPLES {
        let report = checked(sample);
        assert_eq!(report.findings, []);
        assert_eq!((report.events, report.is_from_ibeam, report.is_single_object), (10, false, false));
    }
}

#[test]
fn the_japanese_sample_is_accepted_with_a_warning_about_its_result() {
    let report = checked(JA);
    let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!((finding.rule, finding.severity, finding.line), (Rule::ResultDiffers, Severity::Warning, 10));
    let line = JA.lines().last().unwrap();
    let column = usize::try_from(finding.column).unwrap();
    assert!(line.chars().skip(column - 1).collect::<String>().starts_with("\"README.md を読んで要約"));
    assert!(report.is_valid());
}

#[test]
fn the_same_mistake_in_a_stream_of_ibeam_breaks_the_contract() {
    let wrong = documented_run().replace(r#""result":"I will read it.""#, r#""result":"I read it.""#);
    let report = checked(wrong);
    assert!(!report.is_valid());
    assert_eq!((report.findings[0].rule, report.findings[0].line), (Rule::ResultDiffers, 7));
}

#[test]
fn the_documented_run_follows_the_contract() {
    let report = checked(documented_run());
    assert_eq!(report.findings, []);
    assert_eq!((report.events, report.is_from_ibeam), (7, true));
}
