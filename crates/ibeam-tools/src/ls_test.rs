use ibeam_protocol::ToolOutput;
use ibeam_protocol::tool_output::LsOutput;
use serde_json::{Value, json};

use crate::fixture::{Fixture, failure, success};

#[track_caller]
fn ls(fixture: &Fixture, arguments: Value) -> (LsOutput, String) {
    match success(fixture.call("ls", arguments)) {
        (ToolOutput::Ls(output), for_model) => (output, for_model),
        (other, _) => panic!("{other:?}"),
    }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for file in ["b.txt", "a.txt", "src/main.rs", "src/deep/x.rs", "out/skipped.o", ".git/config", ".env"] {
        fixture.put(file, "");
    }
    fixture.put(".ignore", "out/\n");
    fixture.link(".", "src/loop");
    fixture
}

#[test]
fn a_directory_is_listed_as_a_tree() {
    let (output, for_model) = ls(&fixture(), json!({}));
    assert_eq!(
        for_model,
        "./\n  src/\n    deep/\n      x.rs\n    loop\n    main.rs\n  .env\n  .ignore\n  a.txt\n  b.txt\n"
    );
    assert_eq!((output.root.num_files, output.truncated), (7, false));
    assert_eq!(output.root.directories[0].directories[0].files, ["x.rs"]);
    assert_eq!(output.root.directories[0].num_files, 3);
}

#[test]
fn globs_to_ignore_are_left_out() {
    let (_, for_model) = ls(&fixture(), json!({"path": ".", "ignore": ["*.txt", "src/deep", ".*"]}));
    assert_eq!(for_model, "./\n  src/\n    loop\n    main.rs\n");
}

#[test]
fn an_ignored_directory_is_listed_when_it_is_named() {
    let (_, for_model) = ls(&fixture(), json!({"path": "out"}));
    assert_eq!(for_model, "out/\n  skipped.o\n");
}

#[test]
fn a_large_tree_is_cut_level_by_level_and_reported() {
    let fixture = Fixture::new();
    (0..30).for_each(|d| (0..30).for_each(|f| fixture.put(&format!("d{d:02}/f{f:02}"), "")));
    let (output, for_model) = ls(&fixture, json!({}));
    assert!(output.truncated);
    assert_eq!((output.root.directories.len(), output.root.num_files), (30, 370));
    assert!(for_model.ends_with("(more exists; list a directory further down)\n"));
}

#[test]
fn f108_a_deep_tree_is_returned_to_a_depth_that_json_readers_accept() {
    let fixture = Fixture::with(&format!("{}f", "d/".repeat(200)), "");
    let (output, for_model) = ls(&fixture, json!({}));
    assert!(output.truncated && for_model.contains("more exists"), "{for_model}");
    let mut depth = 0;
    let mut directory = &output.root;
    while let Some(below) = directory.directories.first() {
        (directory, depth) = (below, depth + 1);
    }
    assert_eq!(depth, 40);
    // The tree starts at any directory.
    let (output, _) = ls(&fixture, json!({"path": "d/".repeat(190)}));
    assert!(!output.truncated);
}

#[test]
fn anything_but_a_directory_is_refused() {
    for (path, expect) in
        [("a.txt", "is a file, not a directory"), ("none", "(ENOENT)"), ("/dev/null", "device")]
    {
        let (_, for_model) = failure(fixture().call("ls", json!({"path": path})));
        assert!(for_model.contains(expect), "{for_model}");
    }
}
