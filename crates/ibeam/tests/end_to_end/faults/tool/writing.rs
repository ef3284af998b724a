//! Files that must come out of a change as they went in.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use ibeam_testkit::{Answer, Workspace};
use serde_json::{Value, json};

use super::{CallReport, after_mounts, as_nobody, call, call_through, may_mount};
use crate::scene::{Scene, answer_call, answer_text};

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "oldText": old, "newText": new })
}

fn text(path: &str, text: &str) -> Value {
    json!({ "path": path, "fileText": text })
}

/// Edits the one file and holds its bytes.
#[track_caller]
fn edited(before: &[u8], old: &str, new: &str, after: &[u8]) {
    let reported = call(Workspace::new().file("f", before), "edit", &replace("f", old, new));
    reported.arm("success");
    assert_eq!(std::fs::read(reported.scene.workspace.path().join("f")).unwrap(), after);
}

/// The same where the file stays as it is.
#[track_caller]
fn not_edited(before: &[u8], old: &str, new: &str, expect: &str) {
    let reported = call(Workspace::new().file("f", before), "edit", &replace("f", old, new));
    let error = reported.error();
    assert!(error.contains(expect), "{error}");
    assert_eq!(std::fs::read(reported.scene.workspace.path().join("f")).unwrap(), before);
}

#[test]
fn f098_bytes_outside_an_edit_are_the_same() {
    edited(b"a\r\nb\r\nc", "b", "B", b"a\r\nB\r\nc");
    edited(b"a\r\nb\nc\r\n", "b\nc", "B\nC", b"a\r\nB\nC\r\n");
    edited(b"\xef\xbb\xbfone\ntwo", "two", "2", b"\xef\xbb\xbfone\n2");
    edited(b"a\n\n\n", "a", "b", b"b\n\n\n");
}

#[test]
fn f099_other_encodings_are_never_changed_into_another() {
    edited(b"caf\xe9 cr\xe8me br\xfbl\xe9e\nx\n", "x", "y\u{e9}", b"caf\xe9 cr\xe8me br\xfbl\xe9e\ny\xe9\n");
    edited(b"\xff\xfea\0\n\0", "a", "b", b"\xff\xfeb\0\n\0");
    let (sjis, _, _) = (b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x82\xc5\x82\xb7\n".to_vec(), 0, 0);
    edited(&[&sjis[..], b"x\n"].concat(), "x", "y", &[&sjis[..], b"y\n"].concat());
    // The character is not to be had in the file's encoding.
    not_edited(b"caf\xe9 cr\xe8me br\xfbl\xe9e\nx\n", "x", "\u{1f600}", "has no `\u{1f600}`");
    // Broken UTF-8 beside the edit stays broken.
    let broken = [&"\u{e9}".repeat(20).into_bytes()[..], b"\xff x\n"].concat();
    let after = [&"\u{e9}".repeat(20).into_bytes()[..], b"\xff y\n"].concat();
    edited(&broken, "x", "y", &after);
}

#[test]
fn f102_an_edit_that_does_not_fit_once_says_how_often() {
    not_edited(b"a\n", "z", "y", "0 matches");
    not_edited(b"a\na\na\n", "a", "y", "3 times");
    not_edited(b"a\n", "", "y", "empty `oldText`");
}

#[test]
fn f103_a_killed_writer_leaves_the_old_file_or_the_new() {
    let states = ["one\n".repeat(100_000), "two\n".repeat(130_000)];
    let workspace = Workspace::new().file("f", &states[0]);
    let mut scene = Scene::new([]).with_workspace(workspace);
    for round in 0..8 {
        // Writes follow each other until the kill; whatever the machine's pace, the run has not ended by then.
        let writes = (0..8).map(|number| {
            let id = format!("toolu_{round}_{number}");
            Answer::new().call(&id, "write", &text("f", &states[number % 2]))
        });
        scene = scene.with_answers(writes.chain([answer_text("done").stall()]));
        let running = scene.print(["--force"]).start();
        running.wait_for_stdout("\"started\"");
        // Not to wait for something, but to come at another instant in each round.
        std::thread::sleep(Duration::from_millis(11 * round));
        running.kill_alone();
        assert_eq!(running.finish().signal, Some(9));
        let found = scene.workspace.read("f").unwrap();
        assert!(states.contains(&found), "{} bytes, neither old nor new", found.len());
    }
    // What a kill leaves just before a rename; whoever writes there next removes it.
    std::fs::write(scene.workspace.path().join(".ibeam-0123456789abcdef.tmp"), "half").unwrap();
    let scene =
        scene.with_answers([answer_call("toolu_last", "write", &text("f", &states[1])), answer_text("done")]);
    scene.print(["--force", "--continue"]).run().succeeded();
    assert_eq!(scene.workspace.read("f").as_deref(), Some(states[1].as_str()));
    let names: Vec<_> =
        std::fs::read_dir(scene.workspace.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"], "nothing is left beside it");
}

#[test]
fn f104_a_write_keeps_what_belongs_to_the_file() {
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
    let reported = call(workspace(), "write", &text("link", "new"));
    reported.arm("success");
    let path = |reported: &CallReport, name: &str| reported.scene.workspace.path().join(name);
    assert_eq!(std::fs::read_to_string(path(&reported, "real")).unwrap(), "new");
    assert_eq!(path(&reported, "real").metadata().unwrap().mode() & 0o7777, 0o4750);
    assert!(path(&reported, "link").symlink_metadata().unwrap().is_symlink());

    let reported = call(workspace(), "write", &text("out", "new"));
    assert!(reported.error().contains("outside the workspace"), "{}", reported.error());
    assert_eq!(std::fs::read_to_string(reported.scene.workspace.outside().join("secret")).unwrap(), "mine");

    // A hard link is broken, as docs/tools.md says.
    let reported = call(workspace(), "write", &text("hard", "new"));
    assert_eq!(reported.scene.workspace.read("hard").as_deref(), Some("new"));
    assert_eq!(reported.scene.workspace.read("other").as_deref(), Some("old"));
}

#[test]
fn f104_the_owner_stays() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIP: only root can give a file to somebody else");
        return;
    }
    let workspace = Workspace::new().file("f", "old");
    std::os::unix::fs::chown(workspace.path().join("f"), Some(1234), Some(2345)).unwrap();
    let reported = call(workspace, "write", &text("f", "new"));
    let file = reported.scene.workspace.path().join("f").metadata().unwrap();
    assert_eq!(
        (reported.scene.workspace.read("f").as_deref(), file.uid(), file.gid()),
        (Some("new"), 1234, 2345)
    );
}

#[test]
fn f104_extended_attributes_stay() {
    let workspace = Workspace::new().file("f", "old");
    let path = workspace.path().join("f");
    if let Err(errno) = rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty()) {
        eprintln!("SKIP: the file system has no user attributes ({errno})");
        return;
    }
    let reported = call(workspace, "write", &text("f", "new"));
    assert_eq!(reported.scene.workspace.read("f").as_deref(), Some("new"));
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn f105_what_is_read_only_is_refused_and_the_run_goes_on() {
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
        let reported = call_through(workspace(), "write", &text(path, "new"), as_nobody);
        assert!(reported.error().contains("not permitted by the system (EACCES)"), "{}", reported.error());
        assert_eq!(reported.scene.workspace.read("f").as_deref(), Some("old"));
    }
    if !may_mount() {
        return;
    }
    let read_only = "mount --bind \"$KEPT/project\" \"$KEPT/project\"; \
                     mount -o remount,ro,bind \"$KEPT/project\"";
    for path in ["f", "new"] {
        let reported = call_through(
            Workspace::new().file("f", "old"),
            "write",
            &text(path, "new"),
            |ibeam, workspace| after_mounts(ibeam, workspace, read_only),
        );
        assert!(reported.error().contains("(EROFS)"), "{}", reported.error());
        assert_eq!(reported.scene.workspace.read("f").as_deref(), Some("old"));
    }
}

#[test]
fn f107_a_name_that_some_systems_take_for_another_is_told() {
    let reported = call(Workspace::new().file("Foo", "1"), "write", &text("foo", "2"));
    assert!(
        reported.for_model().contains("`Foo` exists and differs only in case"),
        "{}",
        reported.for_model()
    );
    assert_eq!(reported.scene.workspace.read("Foo").as_deref(), Some("1"));

    let reported = call(Workspace::new().file("caf\u{e9}", "1"), "write", &text("cafe\u{301}", "2"));
    assert!(reported.for_model().contains("(Unicode NFC and NFD)"), "{}", reported.for_model());
    assert_eq!(reported.scene.workspace.read("caf\u{e9}").as_deref(), Some("1"));
    assert_eq!(reported.scene.workspace.read("cafe\u{301}").as_deref(), Some("2"));
}
