//! Long lines, many findings and long streams.

use std::io::{self, Read};

use ibeam_wire::Reader;
use ibeam_wire::check::{Rule, check};

use crate::samples::{checked, documented_run};

/// One answer may have 64 MiB, and the last line repeats the text of all answers.
#[test]
fn the_longest_lines_that_a_run_prints_are_read() {
    let text = "I will read it.".repeat((65 << 20) / 15);
    let result = documented_run().lines().last().unwrap().replace("I will read it.", &text) + "\n";
    assert!(result.len() > 64 << 20);
    let report = check(result.as_bytes(), 9).unwrap();
    assert!(report.findings.iter().all(|finding| finding.rule != Rule::LineTooLong), "{:?}", report.findings);
    assert_eq!(report.events, 1);
}

#[test]
fn findings_are_stored_up_to_a_maximum_and_all_are_counted() {
    let stream =
        documented_run().replace(r#""role":"assistant""#, r#""role":1"#).replace("1764000000", "-1764000000");
    let all = checked(&stream);
    assert_eq!(all.errors, all.findings.len() as u64);
    let few = check(stream.as_bytes(), 2).unwrap();
    assert_eq!((few.findings.len(), few.errors), (2, all.errors));
}

/// The memory does not grow with the stream: completed calls are removed, and texts are not stored.
#[test]
fn a_long_stream_is_checked_and_its_completed_calls_are_removed() {
    let lines: Vec<&str> = documented_run().lines().collect();
    let mut calls = Vec::new();
    let mut events = 0;
    for number in 0..6_000 {
        let id = format!("\"toolu_{number}\"");
        for line in [lines[3], lines[4], lines[5]] {
            calls.extend(line.replace("\"toolu_01\"", &id).replace("read it.", "").into_bytes());
            calls.push(b'\n');
            events += 1;
        }
    }
    let head = format!("{}\n{}\n", lines[0], lines[1]);
    let end = format!("{}\n", lines[6].replace("I will read it.", ""));
    let stream = head.as_bytes().chain(calls.as_slice()).chain(end.as_bytes());
    let report = check(stream, 9).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.events, events + 3);
}

#[test]
fn an_input_that_fails_is_one_error() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let input = || io::BufReader::new(documented_run().as_bytes().take(300).chain(Failing));
    assert_eq!(check(input(), 9).unwrap_err().to_string(), "gone");
    let read: Vec<_> = Reader::new(input()).collect();
    let [Err(error)] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!(error.to_string(), "line 1, column 1: cannot be read: gone");
}
