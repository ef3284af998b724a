//! Writes and edits that must keep bytes, encoding, attributes and owner.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, Workspace};
use serde_json::{Value, json};

use super::{CallReport, after_mounts, as_nobody, call_tool, call_tool_through, can_mount};

fn edit_arguments(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "oldText": old, "newText": new })
}

fn write_arguments(path: &str, text: &str) -> Value {
    json!({ "path": path, "fileText": text })
}

/// Edits a file and checks its bytes.
#[track_caller]
fn check_edit(before: &[u8], old: &str, new: &str, after: &[u8]) {
    let report = call_tool(Workspace::new().file("f", before), "edit", &edit_arguments("f", old, new));
    report.result("success");
    assert_eq!(std::fs::read(report.scene.workspace.path().join("f")).unwrap(), after);
}

/// Checks that an edit fails and the file is unchanged.
#[track_caller]
fn check_failed_edit(before: &[u8], old: &str, new: &str, expect: &str) {
    let report = call_tool(Workspace::new().file("f", before), "edit", &edit_arguments("f", old, new));
    let error = report.error();
    assert!(error.contains(expect), "{error}");
    assert_eq!(std::fs::read(report.scene.workspace.path().join("f")).unwrap(), before);
}

#[test]
fn f098_bytes_outside_an_edit_are_the_same() {
    check_edit(b"a\r\nb\r\nc", "b", "B", b"a\r\nB\r\nc");
    check_edit(b"a\r\nb\nc\r\n", "b\nc", "B\nC", b"a\r\nB\nC\r\n");
    check_edit(b"\xef\xbb\xbfone\ntwo", "two", "2", b"\xef\xbb\xbfone\n2");
    check_edit(b"a\n\n\n", "a", "b", b"b\n\n\n");
}

#[test]
fn f099_an_edit_does_not_change_the_encoding() {
    check_edit(
        b"caf\xe9 cr\xe8me br\xfbl\xe9e\nx\n",
        "x",
        "y\u{e9}",
        b"caf\xe9 cr\xe8me br\xfbl\xe9e\ny\xe9\n",
    );
    check_edit(b"\xff\xfea\0\n\0", "a", "b", b"\xff\xfeb\0\n\0");
    let (sjis, _, _) = (b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x82\xc5\x82\xb7\n".to_vec(), 0, 0);
    check_edit(&[&sjis[..], b"x\n"].concat(), "x", "y", &[&sjis[..], b"y\n"].concat());
    // The encoding of the file does not have this character.
    check_failed_edit(b"caf\xe9 cr\xe8me br\xfbl\xe9e\nx\n", "x", "\u{1f600}", "has no `\u{1f600}`");
    // Invalid UTF-8 outside the edit is not changed.
    let broken = [&"\u{e9}".repeat(20).into_bytes()[..], b"\xff x\n"].concat();
    let after = [&"\u{e9}".repeat(20).into_bytes()[..], b"\xff y\n"].concat();
    check_edit(&broken, "x", "y", &after);
}

#[test]
fn f102_the_error_of_an_ambiguous_edit_contains_the_number_of_matches() {
    check_failed_edit(b"a\n", "z", "y", "0 matches");
    check_failed_edit(b"a\na\na\n", "a", "y", "3 times");
    check_failed_edit(b"a\n", "", "y", "empty `oldText`");
}

#[test]
fn f103_a_killed_writer_leaves_the_old_file_or_the_new() {
    let states = ["one\n".repeat(100_000), "two\n".repeat(130_000)];
    let workspace = Workspace::new().file("f", &states[0]);
    let mut scene = Scene::new([]).with_workspace(workspace);
    for round in 0..8 {
        // Writes follow each other until the kill. The run cannot end before, because the last answer stalls.
        let writes = (0..8).map(|number| {
            let id = format!("toolu_{round}_{number}");
            Answer::new().call(&id, "write", &write_arguments("f", &states[number % 2]))
        });
        scene = scene.with_answers(writes.chain([answer_text("done").stall()]));
        let running = scene.print(["--force"]).start();
        running.wait_for_stdout("\"started\"");
        // Each round kills at another instant.
        std::thread::sleep(Duration::from_millis(11 * round));
        running.kill_alone();
        assert_eq!(running.finish().signal, Some(9));
        let found = scene.workspace.read("f").unwrap();
        assert!(states.contains(&found), "{} bytes, neither old nor new", found.len());
    }
    // A kill before the rename leaves this file. The next write in the directory removes it.
    std::fs::write(scene.workspace.path().join(".ibeam-0123456789abcdef.tmp"), "half").unwrap();
    let scene = scene.with_answers([
        answer_call("toolu_last", "write", &write_arguments("f", &states[1])),
        answer_text("done"),
    ]);
    scene.print(["--force", "--continue"]).run().succeeded();
    assert_eq!(scene.workspace.read("f").as_deref(), Some(states[1].as_str()));
    let names: Vec<_> =
        std::fs::read_dir(scene.workspace.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"], "no temporary file is left");
}

#[test]
fn f104_a_write_preserves_permissions_and_links() {
    let workspace = || {
        let workspace = Workspace::new().file("real", "old").file("hard", "old");
        let path = |name: &str| workspace.path().join(name);
        std::fs::set_permissions(path("real"), std::fs::Permissions::from_mode(0o4750)).unwrap();
        std::os::unix::fs::symlink("real", path("link")).unwrap();
        std::fs::write(workspace.outside().join("secret"), "mine").unwrap();
        std::os::unix::fs::symlink("../secret", path("out")).unwrap();
        std::fs::hard_link(path("hard"), path("other")).unwrap();
        workspace
    };
    let report = call_tool(workspace(), "write", &write_arguments("link", "new"));
    report.result("success");
    let path = |report: &CallReport, name: &str| report.scene.workspace.path().join(name);
    assert_eq!(std::fs::read_to_string(path(&report, "real")).unwrap(), "new");
    assert_eq!(path(&report, "real").metadata().unwrap().mode() & 0o7777, 0o4750);
    assert!(path(&report, "link").symlink_metadata().unwrap().is_symlink());

    let report = call_tool(workspace(), "write", &write_arguments("out", "new"));
    assert!(report.error().contains("outside the workspace"), "{}", report.error());
    assert_eq!(std::fs::read_to_string(report.scene.workspace.outside().join("secret")).unwrap(), "mine");

    // A hard link is broken, as documented in docs/tools.md.
    let report = call_tool(workspace(), "write", &write_arguments("hard", "new"));
    assert_eq!(report.scene.workspace.read("hard").as_deref(), Some("new"));
    assert_eq!(report.scene.workspace.read("other").as_deref(), Some("old"));
}

#[test]
fn f104_a_write_preserves_the_owner() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIP: only root can change the owner of a file");
        return;
    }
    let workspace = Workspace::new().file("f", "old");
    std::os::unix::fs::chown(workspace.path().join("f"), Some(1234), Some(2345)).unwrap();
    let report = call_tool(workspace, "write", &write_arguments("f", "new"));
    let file = report.scene.workspace.path().join("f").metadata().unwrap();
    assert_eq!(
        (report.scene.workspace.read("f").as_deref(), file.uid(), file.gid()),
        (Some("new"), 1234, 2345)
    );
}

#[test]
fn f104_a_write_preserves_extended_attributes() {
    let workspace = Workspace::new().file("f", "old");
    let path = workspace.path().join("f");
    if let Err(errno) = rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty()) {
        eprintln!("SKIP: the file system has no user attributes ({errno})");
        return;
    }
    let report = call_tool(workspace, "write", &write_arguments("f", "new"));
    assert_eq!(report.scene.workspace.read("f").as_deref(), Some("new"));
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn f105_a_write_to_a_read_only_file_fails_and_the_run_continues() {
    let workspace = || {
        let workspace = Workspace::new().file("f", "old").file("d/x", "");
        let lock = |name: &str, mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(workspace.path().join(name), mode).unwrap();
        };
        lock("f", 0o444);
        lock("d", 0o555);
        workspace
    };
    for path in ["f", "d/new", "d/sub/new"] {
        let report = call_tool_through(workspace(), "write", &write_arguments(path, "new"), as_nobody);
        assert!(report.error().contains("not permitted by the system (EACCES)"), "{}", report.error());
        assert_eq!(report.scene.workspace.read("f").as_deref(), Some("old"));
    }
    if !can_mount() {
        return;
    }
    let read_only = "mount --bind \"$OUTSIDE/project\" \"$OUTSIDE/project\"; \
                     mount -o remount,ro,bind \"$OUTSIDE/project\"";
    for path in ["f", "new"] {
        let report = call_tool_through(
            Workspace::new().file("f", "old"),
            "write",
            &write_arguments(path, "new"),
            |ibeam, workspace| after_mounts(ibeam, workspace, read_only),
        );
        assert!(report.error().contains("(EROFS)"), "{}", report.error());
        assert_eq!(report.scene.workspace.read("f").as_deref(), Some("old"));
    }
}

#[test]
fn f107_a_name_collision_on_other_systems_is_reported() {
    let report = call_tool(Workspace::new().file("Foo", "1"), "write", &write_arguments("foo", "2"));
    assert!(report.transcript().contains("`Foo` exists and differs only in case"), "{}", report.transcript());
    assert_eq!(report.scene.workspace.read("Foo").as_deref(), Some("1"));

    let report =
        call_tool(Workspace::new().file("caf\u{e9}", "1"), "write", &write_arguments("cafe\u{301}", "2"));
    assert!(report.transcript().contains("(Unicode NFC and NFD)"), "{}", report.transcript());
    assert_eq!(report.scene.workspace.read("caf\u{e9}").as_deref(), Some("1"));
    assert_eq!(report.scene.workspace.read("cafe\u{301}").as_deref(), Some("2"));
}
