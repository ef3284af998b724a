//! Conversion of complete streams.

use ibeam_dialects::{ConvertError, Converter, DialectName, Losses};
use ibeam_wire::check::check;

/// Converts a stream into another dialect.
#[track_caller]
pub(crate) fn converted(from: DialectName, to: DialectName, source: &str) -> (String, Losses) {
    try_converted(from, to, source.as_bytes()).unwrap_or_else(|error| panic!("{from} → {to}: {error}"))
}

pub(crate) fn try_converted(
    from: DialectName,
    to: DialectName,
    source: &[u8],
) -> Result<(String, Losses), ConvertError> {
    let mut converter = Converter::new(from, to);
    let mut out = Vec::new();
    for line in source.split_inclusive(|byte| *byte == b'\n') {
        converter.convert_line(line, &mut out)?;
    }
    let losses = converter.finish(&mut out)?;
    Ok((String::from_utf8_lossy(&out).into_owned(), losses))
}

/// Checks the contract, except for a missing end.
#[track_caller]
pub(crate) fn keeps_the_contract(stream: &str) {
    let report = check(stream.as_bytes(), 10).unwrap();
    let findings: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.rule.as_str() != "no-end")
        .map(|finding| format!("{}:{} {} {}", finding.line, finding.column, finding.rule, finding.message))
        .collect();
    assert!(findings.is_empty(), "{findings:#?}\n{stream}");
}
