use std::time::{Duration, Instant};

use ibeam_protocol::tool_output::{GrepMatches, GrepOutput};
use ibeam_protocol::{Reason, ToolFailure, ToolOutput};
use serde_json::{Value, json};

use crate::fixture::{Fixture, failure, success};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.put("a.rs", "fn one() {}\nfn two() {}\n");
    fixture.put("src/b.py", "def one():\n    pass\n");
    fixture.put("src/.c.rs", "// FN hidden\r\n");
    fixture.put("target/d.rs", "fn ignored() {}\n");
    fixture.put("bin", b"fn\0binary");
    fixture.put(".git/config", "fn\n");
    fixture.put(".gitignore", "/target\n");
    fixture.link("..", "src/loop");
    fixture.fifo("pipe");
    fixture
}

#[track_caller]
fn grep(fixture: &Fixture, arguments: Value) -> (GrepOutput, String) {
    match success(fixture.call("grep", arguments)) {
        (ToolOutput::Grep(output), for_model) => (output, for_model),
        (other, _) => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(arguments: Value, expect_for_model: &str) {
    assert_eq!(grep(&fixture(), arguments).1, expect_for_model);
}

#[track_caller]
fn refused(arguments: Value, expect: &str) {
    let (_, for_model) = failure(fixture().call("grep", arguments));
    assert!(for_model.contains(expect), "{for_model}");
    assert_eq!(for_model.lines().count(), 1, "{for_model}");
}

#[test]
fn matching_lines_are_grouped_by_file() {
    check(json!({"pattern": "fn "}), "a.rs\n1:fn one() {}\n2:fn two() {}\n");
    check(json!({"pattern": "one"}), "a.rs\n1:fn one() {}\nsrc/b.py\n1:def one():\n");
    check(json!({"pattern": "fn ", "caseInsensitive": true, "path": "src"}), "src/.c.rs\n1:// FN hidden\n");
    check(json!({"pattern": "two", "path": "a.rs"}), "a.rs\n2:fn two() {}\n");
    check(json!({"pattern": "ignored", "path": "target"}), "target/d.rs\n1:fn ignored() {}\n");
    check(json!({"pattern": "^pass$"}), "(no match)\n");
}

#[test]
fn files_and_counts_are_returned_on_request() {
    check(json!({"pattern": "o", "outputMode": "files_with_matches"}), "a.rs\nsrc/b.py\n");
    check(json!({"pattern": "fn", "outputMode": "count"}), "a.rs:2\n");
}

#[test]
fn globs_and_types_narrow_the_search() {
    check(json!({"pattern": "one", "glob": "*.py"}), "src/b.py\n1:def one():\n");
    check(json!({"pattern": "one", "glob": "src/**"}), "src/b.py\n1:def one():\n");
    check(json!({"pattern": "one", "type": "rust"}), "a.rs\n1:fn one() {}\n");
    check(json!({"pattern": "ignored", "glob": "*.rs"}), "(no match)\n");
}

#[test]
fn a_pattern_spans_lines_on_request() {
    check(json!({"pattern": "one.*two", "multiline": true}), "a.rs\n1:fn one() {}\n2:fn two() {}\n");
    check(json!({"pattern": "one.*two"}), "(no match)\n");
}

#[test]
fn output_is_typed_and_relative_to_the_directory() {
    let fixture = fixture();
    let (output, _) = grep(&fixture, json!({"pattern": "def", "path": "src"}));
    let GrepMatches::Content(files) = output.matches else { panic!("{:?}", output.matches) };
    assert_eq!((output.path, output.truncated), (fixture.path("src"), false));
    assert_eq!(files[0].file.to_str(), Some("b.py"));
    assert_eq!(files[0].lines, [(1, "def one():".to_owned())]);
}

#[test]
fn a_cut_is_reported_and_an_exact_fit_is_not_a_cut() {
    let more = "(more was found; narrow the search, or raise `headLimit`)\n";
    check(json!({"pattern": "fn ", "headLimit": 1}), &format!("a.rs\n1:fn one() {{}}\n{more}"));
    check(json!({"pattern": "fn ", "headLimit": 2}), "a.rs\n1:fn one() {}\n2:fn two() {}\n");
    let files = json!({"pattern": "o", "outputMode": "files_with_matches", "headLimit": 1});
    check(files, &format!("a.rs\n{more}"));
    check(json!({"pattern": "fn", "outputMode": "count", "headLimit": 1}), "a.rs:2\n");
}

#[test]
fn output_and_lines_are_bounded() {
    let fixture = Fixture::with("long", format!("x{}\n", "é".repeat(100_000)));
    let (_, for_model) = grep(&fixture, json!({"pattern": "x"}));
    assert!(for_model.len() < 700 && for_model.contains("bytes left out …"), "{} bytes", for_model.len());
    let fixture = Fixture::with("many", format!("{}\n", "x".repeat(400)).repeat(5000));
    let (output, for_model) = grep(&fixture, json!({"pattern": "x", "headLimit": 5000}));
    assert!(output.truncated && for_model.len() < 33 << 10, "{} bytes", for_model.len());
}

#[test]
fn wrong_patterns_are_explained() {
    refused(json!({"pattern": "a("}), "unclosed group; escape special characters");
    refused(json!({"pattern": "(?=x)"}), "look-around");
    refused(json!({"pattern": "x", "type": "klingon"}), "unknown file type `klingon`");
    refused(json!({"pattern": "x", "path": "none"}), "`none` does not exist (ENOENT)");
    refused(json!({"pattern": "x", "path": "pipe"}), "named pipe");
}

#[test]
fn a_pattern_that_explodes_elsewhere_is_linear_here() {
    let fixture = Fixture::with("f", format!("{}!\n", "a".repeat(100_000)));
    let started = Instant::now();
    let (_, for_model) = grep(&fixture, json!({"pattern": "(a+)+$"}));
    assert_eq!(for_model, "(no match)\n");
    assert!(started.elapsed().as_secs() < 10);
}

#[test]
fn utf16_is_searched() {
    let text: Vec<u8> = "\u{FEFF}né\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (_, for_model) = grep(&Fixture::with("f", text), json!({"pattern": "é"}));
    assert_eq!(for_model, "f\n1:né\n");
}

#[test]
fn a_run_that_ends_interrupts_the_search() {
    let fixture = fixture();
    fixture.stop.request(Reason::OutputClosed);
    let (why, _) = failure(fixture.call("grep", json!({"pattern": "x"})));
    assert_eq!(why, ToolFailure::Interrupted);
}

#[test]
fn a_pattern_that_takes_too_much_is_refused_before_the_search() {
    let long = (0..10_000).map(|n| format!("name{n}")).collect::<Vec<_>>().join("|");
    let classes = r"(?i)\pL\w".repeat(4000);
    for pattern in [
        "(a{1000}){1000}",
        r"\pL{1000}{1000}",
        r"(?i)\w{1000}",
        "((((a{99}){99}){99}){99}){99}",
        &long,
        &classes,
    ] {
        let began = Instant::now();
        let head = pattern.get(..pattern.len().min(40)).unwrap();
        let fixture = Fixture::with("big.txt", "a".repeat(3_000_000));
        let (_, for_model) = failure(fixture.call("grep", json!({"pattern": pattern})));
        assert!(for_model.contains("simplify"), "{head}: {for_model}");
        assert!(for_model.len() < 1000, "{head}: {} bytes", for_model.len());
        assert!(began.elapsed() < Duration::from_secs(20), "{head}: {:?}", began.elapsed());
    }
    refused(json!({"pattern": format!("{}a{}", "(".repeat(1000), ")".repeat(1000))}), "nest");
}

#[test]
fn a_large_pattern_searches_lines_of_usual_length_only() {
    let fixture = Fixture::with("f", format!("{}\nwords that match here\n", "x".repeat(100)));
    fixture.put("long", "a".repeat(3_000_000));
    // It compiles to some megabytes.
    let (_, for_model) = grep(&fixture, json!({"pattern": r"\w{1,40} that"}));
    assert!(for_model.starts_with("f\n2:words that match here\n"), "{for_model}");
    assert!(for_model.contains("1 paths could not be read"), "{for_model}");
    let (_, for_model) = grep(&fixture, json!({"pattern": "a{3}", "outputMode": "count"}));
    assert_eq!(for_model, "long:1\n");
}
