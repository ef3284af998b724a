use std::collections::HashMap;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use ibeam_protocol::ToolOutcome;
use serde_json::{Value, json};

use super::{ContentDigest, KnownContents, MAX_FILES};
use crate::bounded_read::SAMPLE_BYTES;
use crate::fixture::{Fixture, failure, success};
use crate::workspace::ResolvedPath;

const OLD: &str = "one\ntwo\nthree\n";

fn edit() -> (&'static str, Value) {
    ("edit", json!({"path": "f", "oldText": "two", "newText": "2"}))
}

fn write() -> (&'static str, Value) {
    ("write", json!({"path": "f", "fileText": "all new\n"}))
}

fn delete() -> (&'static str, Value) {
    ("delete", json!({"path": "f"}))
}

fn call(fixture: &Fixture, (tool, arguments): (&str, Value)) -> ToolOutcome {
    fixture.call(tool, arguments)
}

fn read(fixture: &Fixture) {
    success(fixture.call("read", json!({"path": "f"})));
}

/// Checks that each change of a file is refused after `before`, that the file stays as it is, and that the same change
/// succeeds once the file was read again.
#[track_caller]
fn refused_until_read(before: impl Fn(&Fixture)) {
    for change in [edit, write, delete] {
        let fixture = Fixture::with("f", OLD);
        before(&fixture);
        let bytes = fixture.bytes("f");
        let (_, for_model) = failure(call(&fixture, change()));
        assert!(for_model.contains("has changed on disk since you last read"), "{for_model}");
        assert!(for_model.contains("read it again with `read`"), "{for_model}");
        assert_eq!(fixture.bytes("f"), bytes, "nothing was done");
        read(&fixture);
        success(call(&fixture, change()));
    }
}

/// Checks that each change of a file succeeds after `before`.
#[track_caller]
fn made_after(before: impl Fn(&Fixture)) {
    for change in [edit, write, delete] {
        let fixture = Fixture::with("f", OLD);
        before(&fixture);
        success(call(&fixture, change()));
    }
}

#[test]
fn a_file_that_a_person_changed_after_it_was_read_is_not_overwritten() {
    refused_until_read(|fixture| {
        read(fixture);
        fixture.put("f", "one\ntwo\nthree, by hand\n");
    });
}

#[test]
fn a_change_that_keeps_size_and_time_is_a_change() {
    refused_until_read(|fixture| {
        read(fixture);
        let modified = std::fs::metadata(fixture.path("f")).unwrap().modified().unwrap();
        fixture.put("f", "ONE\ntwo\nthree\n");
        let file = std::fs::File::options().write(true).open(fixture.path("f")).unwrap();
        file.set_modified(modified).unwrap();
    });
}

#[test]
fn a_change_by_a_command_of_the_run_is_a_change() {
    refused_until_read(|fixture| {
        read(fixture);
        success(fixture.call("shell", json!({"command": "echo more >> f"})));
    });
}

#[test]
fn reading_a_part_counts_for_the_complete_file() {
    refused_until_read(|fixture| {
        success(fixture.call("read", json!({"path": "f", "offset": 1, "limit": 1})));
        fixture.put("f", "one\ntwo\nthree, by hand\n");
    });
}

#[test]
fn a_written_file_counts_as_read() {
    refused_until_read(|fixture| {
        success(fixture.call("write", json!({"path": "f", "fileText": OLD})));
        fixture.put("f", "one\ntwo\nformatted\n");
    });
    refused_until_read(|fixture| {
        success(fixture.call("edit", json!({"path": "f", "oldText": "one", "newText": "1"})));
        fixture.put("f", "one\ntwo\nformatted\n");
    });
}

#[test]
fn a_file_that_was_not_read_can_be_changed() {
    made_after(|fixture| fixture.put("f", "two\n"));
}

#[test]
fn a_file_that_has_its_content_again_is_changed() {
    made_after(|fixture| {
        read(fixture);
        fixture.put("f", "other");
        fixture.put("f", OLD);
    });
}

#[test]
fn consecutive_changes_need_no_read_in_between() {
    let fixture = Fixture::with("f", OLD);
    read(&fixture);
    success(call(&fixture, edit()));
    success(fixture.call("edit", json!({"path": "f", "oldText": "one", "newText": "1"})));
    success(call(&fixture, write()));
    success(call(&fixture, write()));
    assert_eq!(fixture.bytes("f"), b"all new\n");
    success(call(&fixture, delete()));
    success(call(&fixture, write()));
    assert_eq!(fixture.bytes("f"), b"all new\n", "a file that was removed is created");
}

#[test]
fn a_file_is_known_by_every_path_that_leads_to_it() {
    let fixture = Fixture::with("f", OLD);
    fixture.link("f", "link");
    success(fixture.call("read", json!({"path": "link"})));
    fixture.put("f", "one\ntwo\n");
    let (_, for_model) = failure(call(&fixture, edit()));
    assert!(for_model.contains("has changed on disk"), "{for_model}");
}

#[test]
fn a_file_that_became_unreadable_as_text_can_be_replaced() {
    for change in [write, delete] {
        let fixture = Fixture::with("f", OLD);
        read(&fixture);
        fixture.put("f", b"\0\0\0binary");
        failure(call(&fixture, change()));
        let (_, for_model) = failure(fixture.call("read", json!({"path": "f"})));
        assert!(for_model.contains("binary"), "{for_model}");
        success(call(&fixture, change()));
    }
}

#[test]
fn large_files_are_compared_completely() {
    let mut content = vec![b'x'; 17 << 20];
    let fixture = Fixture::with("f", &content);
    read(&fixture);
    if let Some(last) = content.last_mut() {
        *last = b'y';
    }
    fixture.put("f", &content);
    failure(call(&fixture, write()));
    read(&fixture);
    success(call(&fixture, write()));
}

#[test]
fn a_digest_is_the_same_however_it_is_computed() {
    for length in [0, 1, SAMPLE_BYTES - 1, SAMPLE_BYTES, SAMPLE_BYTES + 1, 2 * SAMPLE_BYTES] {
        let fixture = Fixture::with("f", vec![b'a'; length]);
        read(&fixture);
        success(call(&fixture, write()));
    }
    assert_ne!(ContentDigest::from_bytes(b"a"), ContentDigest::from_bytes(b"b"));
}

#[test]
fn the_list_is_limited_and_keeps_the_last_used_files() {
    let known = KnownContents::default();
    let path = |number: usize| {
        let real = PathBuf::from(format!("/{number}"));
        ResolvedPath { lexical: real.clone(), real, is_inside: true, is_dangling: false }
    };
    let digest = ContentDigest::from_bytes(b"a");
    (0..MAX_FILES).for_each(|number| known.record(&path(number), digest));
    known.record(&path(0), digest);
    known.record(&path(MAX_FILES), digest);
    assert_eq!(known.lock().digests.len(), MAX_FILES);
    assert!(known.digest(&path(0)).is_some() && known.digest(&path(1)).is_none());
}

/// In a resumed run, a file that was changed after the last call of the earlier run is read again first.
#[test]
fn a_change_between_two_runs_of_a_session_is_a_change() {
    let now_ms = u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let hour_ms = 3_600_000;
    for (read_at_ms, is_changed) in [(now_ms - hour_ms, true), (now_ms + hour_ms, false)] {
        for change in [edit, write, delete] {
            let fixture = Fixture::with("f", OLD);
            let path = fixture.path("f");
            let fixture = fixture.with_past(HashMap::from([(path, read_at_ms)]));
            if is_changed {
                let (_, for_model) = failure(call(&fixture, change()));
                assert!(for_model.contains("has changed on disk"), "{for_model}");
                read(&fixture);
            }
            success(call(&fixture, change()));
        }
    }
}
