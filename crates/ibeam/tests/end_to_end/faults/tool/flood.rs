//! Commands that print without end.

use std::time::Instant;

use ibeam_testkit::Workspace;
use serde_json::{Value, json};

use super::{MORE, command, peak_of};

/// Bytes that a debug build reads in some seconds; `cargo xtask flood` asks for ten gigabytes.
fn flood_bytes(usual: u64) -> u64 {
    std::env::var("IBEAM_FLOOD_BYTES").map_or(usual, |bytes| bytes.parse().unwrap())
}

#[track_caller]
fn peak(line: &str) -> (u64, Value) {
    let (peak, body) = peak_of(Workspace::new(), "shell", &json!({ "command": line, "timeout": 200_000 }));
    (peak, body["result"]["success"].clone())
}

/// The number in `… 1234 bytes left out …`.
#[track_caller]
fn left_out(text: &str) -> u64 {
    let (before, _) = text.split_once(" bytes left out …").unwrap_or_else(|| panic!("no gap in {text}"));
    before.rsplit_once("… ").unwrap().1.parse().unwrap()
}

/// Holds that the flood takes no more memory than a trickle, and that what is told accounts for every byte.
#[track_caller]
fn check(usual: u64, line: impl Fn(u64) -> String, stream: &str) {
    let bytes = flood_bytes(usual);
    let (small, _) = peak(&line(100_000));
    let started = Instant::now();
    let (large, reported) = peak(&line(bytes));
    let (seconds, more) = (started.elapsed().as_secs_f64(), large.saturating_sub(small) >> 10);
    eprintln!("{bytes} bytes of {stream} in {seconds:.1} s; {more} kB more memory than for 100,000 bytes");
    assert!(large < small + MORE, "{} MB more", (large - small) >> 20);
    let text = reported[stream].as_str().unwrap();
    assert!(text.len() < 64 << 10, "{} bytes told", text.len());
    let gap = format!("… {} bytes left out …\n", left_out(text));
    // The note stands on a line of its own, for which a line end may have been added.
    let kept = text.len() - gap.len();
    let total = kept as u64 + left_out(text);
    assert!(total == bytes || total == bytes + 1, "{total} of {bytes} bytes");
}

#[test]
fn f070_a_flood_takes_no_memory_and_keeps_its_ends() {
    check(4 << 30, |bytes| format!("yes | head -c {bytes}"), "stdout");
}

#[test]
fn f071_one_endless_line_takes_no_memory_and_no_time_of_its_own() {
    check(1 << 30, |bytes| format!("head -c {bytes} /dev/zero | tr '\\0' a"), "stdout");
}

#[test]
fn f072_a_flood_of_stderr_does_not_wait_for_stdout() {
    // stdout stays open and idle until the end.
    check(1 << 30, |bytes| format!("yes | head -c {bytes} >&2"), "stderr");
}

#[test]
fn f073_bytes_that_are_no_text_are_marked_and_counted() {
    // One mark for each byte, so that what is told can be counted.
    let reported = command("head -c 1048576 /dev/zero | tr '\\0' '\\377'; printf 'a\\0b' >&2");
    let success = reported.arm("success");
    let text = success["stdout"].as_str().unwrap();
    let marks = text.matches('\u{fffd}').count() as u64;
    assert_eq!(marks + left_out(text), 1 << 20);
    assert_eq!(success["stderr"], "a\0b");
    // Anything at all keeps the laws of the stream.
    command("head -c 1000000 /dev/urandom; head -c 1000000 /dev/urandom >&2");
    command("printf '\\302\\205 \\302\\233 \\342\\200\\250 \\177 \\000'");
}

#[test]
fn f074_a_character_in_two_writes_stays_whole() {
    let reported = command("printf '\\342'; sleep 0.05; printf '\\200\\224'");
    assert_eq!(reported.arm("success")["stdout"], "\u{2014}");
    assert_eq!(reported.arm("success")["interleavedOutput"], "\u{2014}");
}
