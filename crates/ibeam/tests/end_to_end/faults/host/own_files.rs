//! Files and directories of the program: temporary files, permissions, planted links.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ibeam_testkit::fault_injection::{check_failure, is_root, launcher_works, make_accessible_to_all, skip};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Stdin, Workspace};
use serde_json::json;

use super::expect_success;

#[test]
fn f142_a_run_needs_no_temporary_directory() {
    let answers = || {
        [
            answer_call("a", "write", &json!({ "path": "made.txt", "fileText": "one\n" })),
            answer_call(
                "b",
                "edit",
                &json!({ "path": "made.txt", "strReplace": { "oldText": "one", "newText": "two" } }),
            ),
            answer_shell("cat made.txt"),
            answer_text("done"),
        ]
    };
    let scene = Scene::new(answers());
    let output = expect_success(&scene, scene.print(["--force"]).env("TMPDIR", scene.workspace.missing()));
    assert_eq!(scene.workspace.read("made.txt").as_deref(), Some("two\n"), "{output}");
    if !is_root() || !launcher_works(&["unshare", "--mount"]) {
        return skip("no mount namespace in which /tmp could be read-only");
    }
    let workspace = Workspace::new_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let scene = Scene::new(answers()).with_workspace(workspace);
    // Only the workspace stays writable. The workspace and the program may lie in /tmp.
    let top = scene.workspace.outside().display();
    let read_only = format!(
        "mount --bind '{top}' '{top}' && mount --rbind /tmp /tmp && mount -o remount,bind,ro /tmp && ! touch /tmp/x 2>/dev/null || exit 90"
    );
    let without_tmp = scene.print(["--force"]).after(&read_only);
    let output = expect_success(&scene, without_tmp.through(["unshare", "--mount"]));
    assert_eq!(scene.workspace.read("made.txt").as_deref(), Some("two\n"), "{output}");
}

/// Returns each file and directory below `top`, with its mode.
fn tree(top: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(top).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        found.push((path.clone(), metadata.mode() & 0o777));
        if metadata.is_dir() {
            found.extend(tree(&path));
        }
    }
    found
}

#[test]
fn f143_created_files_are_only_for_their_owner_with_any_umask() {
    for umask in ["000", "022"] {
        let scene = Scene::new([
            answer_call("t", "shell", &json!({ "command": "sleep 30", "isBackground": true })),
            // Large enough to be stored in a file next to the journal.
            answer_text(&"0123456789abcdef".repeat(8 * 1024)),
        ]);
        let set_umask = format!("umask {umask}");
        expect_success(&scene, scene.print(["--force"]).after(&set_umask));
        scene.ibeam_without_model(["create-chat"]).after(&set_umask).run().succeeded();
        let key = Stdin::Piped(b"k-1\n".to_vec());
        scene
            .ibeam_without_model(["login", "anthropic", "--no-check"])
            .after(&set_umask)
            .stdin(key)
            .run()
            .succeeded();
        let created = tree(scene.workspace.home());
        assert!(created.len() > 8, "{created:?}");
        for (path, mode) in created {
            let expect = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expect, "{} has mode {mode:o} under umask {umask}", path.display());
        }
    }
}

/// A link at the path of a file or directory that the program would create is not followed.
#[test]
fn f144_a_planted_link_is_not_followed() {
    let id = "0f0e0d0c-0b0a-4908-8706-050403020100";
    let session = format!(".local/share/ibeam/sessions/{id}");
    let inside = [format!("{session}/lock"), format!("{session}/events.jsonl")];
    let directories =
        [".local/share/ibeam", ".local/share/ibeam/sessions", ".cache/ibeam", ".cache/ibeam/background"];
    for path in directories.into_iter().chain([session.as_str()]).chain(inside.iter().map(String::as_str)) {
        for victim in ["directory", "file", "missing"] {
            let scene = Scene::new([answer_text("never")]);
            let target = scene.workspace.outside().join(victim);
            match victim {
                "directory" => std::fs::create_dir(&target).unwrap(),
                "file" => std::fs::write(&target, "precious").unwrap(),
                _ => {}
            }
            let link = scene.workspace.home().join(path);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&target, &link).unwrap();
            let output = scene.print([format!("--resume={id}")]).run();
            assert_eq!(output.code, Some(73), "{path} -> {victim}: {output}");
            check_failure(&output, 73);
            match victim {
                "directory" => assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{path}"),
                "file" => assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious", "{path}"),
                _ => assert!(!target.exists(), "{path}"),
            }
        }
    }
}

#[test]
fn f144_a_directory_of_another_user_is_not_used() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        return skip("only root can become another user");
    }
    let scene = Scene::new([answer_text("never")]);
    let planted = scene.workspace.home().join(".local/share/ibeam");
    std::fs::create_dir_all(&planted).unwrap();
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o777)).unwrap();
    make_accessible_to_all(&scene);
    let output = scene
        .print::<&str>([])
        .through(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        .run();
    check_failure(&output, 73);
    assert!(output.stderr.contains("another user"), "{output}");
}
