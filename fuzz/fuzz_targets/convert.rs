//! Any lines of any dialect: no converter crashes, every output line is JSON, and a stream that is converted to its own
//! dialect is copied.
#![no_main]

use ibeam_dialects::{Converter, DialectName};
use libfuzzer_sys::fuzz_target;

/// Returns the converted lines up to the first invalid line, and whether all lines are valid.
fn converted(from: DialectName, to: DialectName, source: &[u8]) -> (Vec<u8>, bool) {
    let mut converter = Converter::new(from, to);
    let mut out = Vec::new();
    let mut lines = source.split_inclusive(|byte| *byte == b'\n');
    let is_valid = lines.all(|line| converter.convert_line(line, &mut out).is_ok());
    let finished = converter.finish(&mut out).is_ok();
    (out, is_valid && finished)
}

fuzz_target!(|bytes: &[u8]| {
    // The first two bytes name the pair.
    let [from, to, source @ ..] = bytes else { return };
    let dialect = |byte: &u8| DialectName::ALL[usize::from(*byte) % DialectName::ALL.len()];
    let (from, to) = (dialect(from), dialect(to));
    let (target, is_valid) = converted(from, to, source);
    if from == to {
        assert!(source.starts_with(&target));
        assert!(!is_valid || target == source);
        return;
    }
    assert!(target.is_empty() || target.ends_with(b"\n"));
    for line in target.split_inclusive(|byte| *byte == b'\n') {
        let event: serde_json::Value = serde_json::from_slice(line).expect("a line of JSON");
        assert!(event["type"].is_string());
    }
    // The conversion is deterministic, and its output can be converted back.
    assert_eq!(converted(from, to, source).0, target);
    if !target.is_empty() {
        assert!(converted(to, from, &target).1);
    }
});
