use std::time::{Duration, SystemTime};

use ibeam_protocol::ToolOutput;
use ibeam_protocol::tool_output::GlobOutput;
use serde_json::{Value, json};

use crate::fixture::{Fixture, failure, success};

/// A small tree; of the files, later ones are newer.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let files = ["a.rs", "src/b.rs", "src/deep/c.rs", "notes.md", ".hidden.rs", "target/d.rs", ".git/e.rs"];
    for (age, file) in files.iter().rev().enumerate() {
        fixture.put(file, "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 - age as u64);
        std::fs::File::options().write(true).open(fixture.path(file)).unwrap().set_modified(time).unwrap();
    }
    fixture.put(".gitignore", "target/\n");
    fixture.link("..", "src/loop");
    fixture
}

#[track_caller]
fn glob(fixture: &Fixture, arguments: Value) -> (GlobOutput, String) {
    match success(fixture.call("glob", arguments)) {
        (ToolOutput::Glob(output), for_model) => (output, for_model),
        (other, _) => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(arguments: Value, expect: &[&str]) {
    let (output, _) = glob(&fixture(), arguments);
    let files: Vec<_> = output.files.iter().map(|file| file.to_str().unwrap()).collect();
    assert_eq!((files.as_slice(), output.total_files), (expect, expect.len() as u64));
}

#[test]
fn files_are_found_newest_first_without_ignored_ones() {
    check(json!({"globPattern": "*.rs"}), &[".hidden.rs", "src/deep/c.rs", "src/b.rs", "a.rs"]);
    check(json!({"globPattern": "**/*.rs"}), &[".hidden.rs", "src/deep/c.rs", "src/b.rs", "a.rs"]);
}

#[test]
fn a_glob_with_a_slash_starts_at_the_directory() {
    check(json!({"globPattern": "src/*.rs"}), &["src/b.rs"]);
    check(json!({"globPattern": "./src/**"}), &["src/deep/c.rs", "src/b.rs"]);
    check(json!({"globPattern": "*.{md,rs}", "targetDirectory": "src"}), &["deep/c.rs", "b.rs"]);
    check(json!({"globPattern": "none*"}), &[]);
}

#[test]
fn an_absolute_glob_below_the_directory_is_understood() {
    let fixture = fixture();
    let (output, for_model) = glob(&fixture, json!({"globPattern": fixture.path("src/*.rs")}));
    assert_eq!(output.total_files, 1);
    assert_eq!(for_model, "src/b.rs\n");
}

#[test]
fn files_beyond_the_limit_are_counted() {
    let fixture = Fixture::new();
    (0..250).for_each(|n| fixture.put(&format!("f{n}"), ""));
    let (output, for_model) = glob(&fixture, json!({"globPattern": "f*"}));
    assert_eq!((output.files.len(), output.total_files), (200, 250));
    assert!(for_model.ends_with("(the newest 200 of 250; narrow the glob)\n"));
}

#[test]
fn an_invalid_glob_or_directory_is_an_error_with_the_reason() {
    let (_, for_model) = failure(fixture().call("glob", json!({"globPattern": "a{b"})));
    assert!(for_model.contains("`a{b` is not a glob"), "{for_model}");
    let (_, for_model) =
        failure(fixture().call("glob", json!({"globPattern": "*", "targetDirectory": "none"})));
    assert!(for_model.contains("(ENOENT)"), "{for_model}");
    let (_, for_model) =
        failure(fixture().call("glob", json!({"globPattern": "*", "targetDirectory": "a.rs"})));
    assert!(for_model.contains("is a file, not a directory"), "{for_model}");
}

#[test]
fn ignored_files_are_named_where_no_other_file_matches() {
    let fixture = Fixture::with("dist/out.js", "");
    fixture.put(".gitignore", "dist/\n");
    fixture.put("src/in.js", "");
    let note = |pattern: &str| fixture.call("glob", json!({ "globPattern": pattern })).for_model();
    let named = note("dist/**");
    assert!(
        named.starts_with("(no file matches)\n") && named.contains("the first: `dist/out.js`"),
        "{named}"
    );
    assert_eq!(&*note("**/*.js"), "src/in.js\n");
    assert_eq!(&*note("*.rs"), "(no file matches)\n");
}
