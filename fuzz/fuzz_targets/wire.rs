//! Any bytes: the reader and the checker of streams do not crash, and agree on which lines can be read.
#![no_main]

use ibeam_wire::Reader;
use ibeam_wire::check::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let report = check(bytes, usize::MAX).expect("a slice is always read");
    assert_eq!(report.errors + report.warnings, report.findings.len() as u64);
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    for finding in &report.findings {
        assert!(finding.column > 0 && (1..=lines + 1).contains(&finding.line));
        assert!(!finding.message.contains(char::is_control));
    }
    let read: Vec<_> = Reader::new(bytes).collect();
    assert!(read.len() as u64 <= lines);
    // A stream that follows the contract can be read event by event.
    if report.holds() {
        assert!(read.iter().all(Result::is_ok));
        assert_eq!(read.len() as u64, report.events);
    }
});
