//! Commands that print large amounts of output.

use std::time::Instant;

use ibeam_testkit::Workspace;
use serde_json::{Value, json};

use super::{MEMORY_MARGIN, call_shell, peak_memory_of};

/// Returns the size of a flood in bytes. `usual` takes a debug build some seconds; `cargo xtask flood` sets more.
fn flood_bytes(usual: u64) -> u64 {
    std::env::var("IBEAM_FLOOD_BYTES").map_or(usual, |bytes| bytes.parse().unwrap())
}

#[track_caller]
fn run_command(line: &str) -> (u64, Value) {
    let (peak_memory, body) =
        peak_memory_of(Workspace::new(), "shell", &json!({ "command": line, "timeout": 200_000 }));
    (peak_memory, body["result"]["success"].clone())
}

/// Returns the number in `… 1234 bytes left out …`.
#[track_caller]
fn omitted_bytes(text: &str) -> u64 {
    let (before, _) = text.split_once(" bytes left out …").unwrap_or_else(|| panic!("no gap in {text}"));
    before.rsplit_once("… ").unwrap().1.parse().unwrap()
}

/// Checks that a flood takes no more memory than little output, and that the result accounts for every byte.
#[track_caller]
fn check_flood(usual: u64, line: impl Fn(u64) -> String, stream: &str) {
    let bytes = flood_bytes(usual);
    let (small, _) = run_command(&line(100_000));
    let started = Instant::now();
    let (large, success) = run_command(&line(bytes));
    let (seconds, more) = (started.elapsed().as_secs_f64(), large.saturating_sub(small) >> 10);
    eprintln!("{bytes} bytes of {stream} in {seconds:.1} s; {more} kB more memory than for 100,000 bytes");
    assert!(large < small + MEMORY_MARGIN, "{} MB more", (large - small) >> 20);
    let text = success[stream].as_str().unwrap();
    assert!(text.len() < 64 << 10, "{} bytes in the result", text.len());
    let gap = format!("… {} bytes left out …\n", omitted_bytes(text));
    // The note is a separate line, for which a line end may have been added.
    let retained = text.len() - gap.len();
    let total = retained as u64 + omitted_bytes(text);
    assert!(total == bytes || total == bytes + 1, "{total} of {bytes} bytes");
}

#[test]
fn f070_a_flood_takes_no_memory_and_retains_both_ends() {
    check_flood(4 << 30, |bytes| format!("yes | head -c {bytes}"), "stdout");
}

#[test]
fn f071_one_endless_line_takes_no_additional_memory_and_time() {
    check_flood(1 << 30, |bytes| format!("head -c {bytes} /dev/zero | tr '\\0' a"), "stdout");
}

#[test]
fn f072_a_flood_of_stderr_does_not_wait_for_stdout() {
    // stdout stays open and idle until the end.
    check_flood(1 << 30, |bytes| format!("yes | head -c {bytes} >&2"), "stderr");
}

#[test]
fn f073_invalid_utf_8_is_marked_and_counted() {
    // Each byte has one mark, so that the marks can be counted.
    let report = call_shell("head -c 1048576 /dev/zero | tr '\\0' '\\377'; printf 'a\\0b' >&2");
    let success = report.result("success");
    let text = success["stdout"].as_str().unwrap();
    let marks = text.matches('\u{fffd}').count() as u64;
    assert_eq!(marks + omitted_bytes(text), 1 << 20);
    assert_eq!(success["stderr"], "a\0b");
    // With random bytes the stream stays valid.
    call_shell("head -c 1000000 /dev/urandom; head -c 1000000 /dev/urandom >&2");
    call_shell("printf '\\302\\205 \\302\\233 \\342\\200\\250 \\177 \\000'");
}

#[test]
fn f074_a_character_in_two_writes_is_decoded_correctly() {
    let report = call_shell("printf '\\342'; sleep 0.05; printf '\\200\\224'");
    assert_eq!(report.result("success")["stdout"], "\u{2014}");
    assert_eq!(report.result("success")["interleavedOutput"], "\u{2014}");
}
