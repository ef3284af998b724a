//! Files that are no files, have no end, or do not hold still.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ibeam_testkit::{LivenessPipe, Workspace};
use serde_json::{Value, json};

use super::{CallReport, MORE, as_nobody, call_through, peak_of};

#[track_caller]
fn read(workspace: Workspace, path: &str) -> CallReport {
    // What policy keeps from the model by itself is allowed here: the tool must hold on its own.
    let allowed = ["--allow", "Read(/dev/**)", "--allow", "Read(/proc/**)"];
    call_through(workspace, "read", &json!({ "path": path }), |ibeam, _| ibeam.args(allowed))
}

#[track_caller]
fn refused(workspace: Workspace, path: &str, expect: &str) {
    let reported = read(workspace, path);
    let error = reported.error();
    assert!(error.contains(expect), "{error}");
}

#[test]
fn f089_a_named_pipe_is_refused_by_its_type() {
    let workspace = Workspace::new();
    let pipe = LivenessPipe::new(&workspace, "pipe");
    refused(workspace, "pipe", "is a named pipe (FIFO)");
    drop(pipe);
}

#[test]
fn f090_devices_and_sockets_are_refused_by_their_type() {
    for device in ["/dev/zero", "/dev/random", "/dev/tty", "/dev/full"] {
        refused(Workspace::new(), device, "is a character device");
    }
    let workspace = Workspace::new();
    let _socket = UnixListener::bind(workspace.path().join("socket")).unwrap();
    refused(workspace, "socket", "is a socket");
}

#[test]
fn f091_files_of_proc_are_read_within_bounds() {
    let reported = read(Workspace::new(), "/proc/self/status");
    let content = reported.arm("success")["content"].as_str().unwrap();
    assert!(content.starts_with("Name:") && content.contains("VmRSS:"), "{content}");
    refused(Workspace::new(), "/proc/self/pagemap", "is a binary file");
    // It waits for messages of the kernel; whatever this user may see of it, nobody waits.
    let reported = read(Workspace::new(), "/proc/kmsg");
    assert!(reported.output.elapsed.as_secs() < 20, "{}", reported.output);
}

#[test]
fn f092_a_sparse_file_is_read_within_bounds() {
    let large = |length: u64| {
        let workspace = Workspace::new().file("f", "line\n".repeat(300_000));
        let file = std::fs::OpenOptions::new().append(true).open(workspace.path().join("f")).unwrap();
        file.set_len(length).unwrap();
        workspace
    };
    let arguments = json!({ "path": "f", "limit": 2 });
    let (small, _) = peak_of(large(2 << 20), "read", &arguments);
    let (peak, body) = peak_of(large(10 << 30), "read", &arguments);
    assert!(peak < small + MORE, "{} MB more", (peak - small) >> 20);
    let success = &body["result"]["success"];
    assert_eq!((&success["content"], &success["exceededLimit"]), (&json!("line\nline\n"), &json!(true)));
}

#[test]
fn f093_one_endless_line_is_cut_where_it_says() {
    const LENGTH: usize = 200 << 20;
    let line = |length: usize| Workspace::new().file("f", vec![b'a'; length]);
    let (small, _) = peak_of(line(1000), "read", &json!({ "path": "f" }));
    let (peak, body) = peak_of(line(LENGTH), "read", &json!({ "path": "f" }));
    assert!(peak < small + MORE, "{} MB more", (peak - small) >> 20);
    let success = &body["result"]["success"];
    assert_eq!(success["content"].as_str().unwrap().len(), 256 << 10);
    assert_eq!(
        (&success["exceededLimit"], &success["totalLines"], &success["totalChars"]),
        (&json!(true), &json!(1), &json!(LENGTH))
    );
}

#[test]
fn f094_an_empty_file_is_a_success() {
    let reported = read(Workspace::new().file("empty", ""), "empty");
    let success = reported.arm("success");
    assert_eq!((&success["isEmpty"], &success["content"]), (&json!(true), &json!("")));
}

#[test]
fn f096_what_cannot_be_read_says_why_in_one_line() {
    let workspace = || {
        let workspace = Workspace::new().file("f", "x").file("secret", "x").file("d/f", "x");
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, workspace.path().join(name)).unwrap();
        };
        link("b", "a");
        link("a", "b");
        let locked = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(workspace.path().join("secret"), locked).unwrap();
        workspace
    };
    for (path, expect) in [
        ("secret", "not permitted by the system (EACCES)"),
        ("d", "is a directory"),
        ("missing", "does not exist (ENOENT)"),
        (&"n".repeat(300), "(ENAMETOOLONG)"),
        ("a", "(ELOOP)"),
        ("f/x", "(ENOTDIR)"),
    ] {
        let reported = call_through(workspace(), "read", &json!({ "path": path }), as_nobody);
        let error = reported.error();
        assert!(error.contains(expect), "{path}: {error}");
    }
}

#[test]
fn f097_a_file_that_is_being_rewritten_is_read_as_one_of_its_states() {
    let workspace = Workspace::new().file("f", "");
    let path = workspace.path().join("f");
    let done = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            for length in (0..4000).step_by(37).cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                // In place, as `>` of a shell does: truncated, then written.
                std::fs::write(&path, "line\n".repeat(length)).unwrap();
            }
        }
    });
    let reported = read(workspace, "f");
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let success: &Value = reported.arm("success");
    let content = success["content"].as_str().unwrap();
    assert!("line\n".repeat(4000).starts_with(content), "{content}");
}
