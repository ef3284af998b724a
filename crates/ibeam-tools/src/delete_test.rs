use ibeam_core::Access;
use ibeam_protocol::tool_output::DeleteOutput;
use ibeam_protocol::{ToolFailure, ToolOutput};
use serde_json::json;

use crate::fixture::{Fixture, failure, success};

#[test]
fn a_deleted_file_is_reported_with_its_size() {
    let fixture = Fixture::with("f", "four");
    let (output, _) = success(fixture.call("delete", json!({"path": "f"})));
    assert_eq!(output, ToolOutput::Delete(DeleteOutput { path: fixture.path("f"), file_size: 4 }));
    assert!(!fixture.path("f").exists());
}

#[test]
fn deleting_a_link_keeps_its_target() {
    let fixture = Fixture::with("f", "x");
    fixture.link("f", "link");
    fixture.link("gone", "dangling");
    assert_eq!(
        fixture.prepare("delete", json!({"path": "link"})).access,
        Access::Write(fixture.path("link"))
    );
    success(fixture.call("delete", json!({"path": "link"})));
    success(fixture.call("delete", json!({"path": "dangling"})));
    assert!(fixture.path("f").exists());
    assert!(fixture.path("link").symlink_metadata().is_err());
}

#[test]
fn a_directory_is_refused_with_a_suggestion() {
    let (_, for_model) = failure(Fixture::with("d/f", "").call("delete", json!({"path": "d"})));
    assert!(for_model.starts_with("`d` is a directory") && for_model.contains("rm -r"), "{for_model}");
}

#[test]
fn a_missing_file_is_reported() {
    let (why, _) = failure(Fixture::new().call("delete", json!({"path": "f"})));
    assert_eq!(why, ToolFailure::FileNotFound { path: "f".into() });
}
