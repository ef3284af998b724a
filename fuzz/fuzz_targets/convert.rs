//! Any lines of any dialect: no converter crashes, whatever it writes is lines of JSON, and what is already of the
//! dialect stays as it is.
#![no_main]

use ibeam_dialects::{Converter, DialectName};
use libfuzzer_sys::fuzz_target;

/// What a stream becomes; nothing after its first wrong line.
fn converted(from: DialectName, to: DialectName, source: &[u8]) -> (Vec<u8>, bool) {
    let mut converter = Converter::new(from, to);
    let mut out = Vec::new();
    let mut lines = source.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.all(|line| converter.convert_line(line, &mut out).is_ok());
    let finished = converter.finish(&mut out).is_ok();
    (out, whole && finished)
}

fuzz_target!(|bytes: &[u8]| {
    // The first two bytes name the pair.
    let [from, to, source @ ..] = bytes else { return };
    let dialect = |byte: &u8| DialectName::ALL[usize::from(*byte) % DialectName::ALL.len()];
    let (from, to) = (dialect(from), dialect(to));
    let (target, whole) = converted(from, to, source);
    if from == to {
        assert!(source.starts_with(&target));
        assert!(!whole || target == source);
        return;
    }
    assert!(target.is_empty() || target.ends_with(b"\n"));
    for line in target.split_inclusive(|byte| *byte == b'\n') {
        let event: serde_json::Value = serde_json::from_slice(line).expect("a line of JSON");
        assert!(event["type"].is_string());
    }
    // The same lines become the same bytes, and what was written can be read.
    assert_eq!(converted(from, to, source).0, target);
    if !target.is_empty() {
        assert!(converted(to, from, &target).1);
    }
});
