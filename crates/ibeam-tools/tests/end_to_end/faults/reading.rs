//! Files that are not regular, have no end or change while they are read.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ibeam_testkit::{LivenessPipe, Workspace};
use serde_json::{Value, json};

use super::{CallReport, MEMORY_MARGIN, as_nobody, call_tool_through, peak_memory_of};

#[track_caller]
fn read(workspace: Workspace, path: &str) -> CallReport {
    // Policy would deny these paths. The rules allow them, so that the test reaches the tool.
    let allowed = ["--allow", "Read(/dev/**)", "--allow", "Read(/proc/**)"];
    call_tool_through(workspace, "read", &json!({ "path": path }), |ibeam, _| ibeam.args(allowed))
}

#[track_caller]
fn check_refusal(workspace: Workspace, path: &str, expect: &str) {
    let report = read(workspace, path);
    let error = report.error();
    assert!(error.contains(expect), "{error}");
}

#[test]
fn f089_a_named_pipe_is_refused_by_its_type() {
    let workspace = Workspace::new();
    let pipe = LivenessPipe::new(&workspace, "pipe");
    check_refusal(workspace, "pipe", "is a named pipe (FIFO)");
    drop(pipe);
}

#[test]
fn f090_devices_and_sockets_are_refused_by_their_type() {
    for device in ["/dev/zero", "/dev/random", "/dev/tty", "/dev/full"] {
        check_refusal(Workspace::new(), device, "is a character device");
    }
    let workspace = Workspace::new();
    let _socket = UnixListener::bind(workspace.path().join("socket")).unwrap();
    check_refusal(workspace, "socket", "is a socket");
}

#[test]
fn f091_files_of_proc_are_read_within_bounds() {
    let report = read(Workspace::new(), "/proc/self/status");
    let content = report.result("success")["content"].as_str().unwrap();
    assert!(content.starts_with("Name:") && content.contains("VmRSS:"), "{content}");
    // Files of a process that hides its memory belong to root.
    let is_root = rustix::process::geteuid().is_root();
    let pagemap = if is_root { "is a binary file" } else { "not permitted by the system (EACCES)" };
    check_refusal(Workspace::new(), "/proc/self/pagemap", pagemap);
    // A read of this file would wait for messages of the kernel.
    let report = read(Workspace::new(), "/proc/kmsg");
    assert!(report.output.elapsed.as_secs() < 20, "{}", report.output);
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
    let (small, _) = peak_memory_of(large(2 << 20), "read", &arguments);
    let (peak, body) = peak_memory_of(large(10 << 30), "read", &arguments);
    assert!(peak < small + MEMORY_MARGIN, "{} MB more", (peak - small) >> 20);
    let success = &body["result"]["success"];
    assert_eq!((&success["content"], &success["exceededLimit"]), (&json!("line\nline\n"), &json!(true)));
}

#[test]
fn f093_one_endless_line_is_cut_at_its_limit() {
    const LENGTH: usize = 200 << 20;
    let line = |length: usize| Workspace::new().file("f", vec![b'a'; length]);
    let (small, _) = peak_memory_of(line(1000), "read", &json!({ "path": "f" }));
    let (peak, body) = peak_memory_of(line(LENGTH), "read", &json!({ "path": "f" }));
    assert!(peak < small + MEMORY_MARGIN, "{} MB more", (peak - small) >> 20);
    let success = &body["result"]["success"];
    assert_eq!(success["content"].as_str().unwrap().len(), 256 << 10);
    assert_eq!(
        (&success["exceededLimit"], &success["totalLines"], &success["totalChars"]),
        (&json!(true), &json!(1), &json!(LENGTH))
    );
}

#[test]
fn f094_an_empty_file_is_a_success() {
    let report = read(Workspace::new().file("empty", ""), "empty");
    let success = report.result("success");
    assert_eq!((&success["isEmpty"], &success["content"]), (&json!(true), &json!("")));
}

#[test]
fn f096_the_error_of_an_unreadable_file_is_one_line() {
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
        let report = call_tool_through(workspace(), "read", &json!({ "path": path }), as_nobody);
        let error = report.error();
        assert!(error.contains(expect), "{path}: {error}");
    }
}

#[test]
fn f097_a_file_that_is_being_rewritten_is_read_in_one_of_its_states() {
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
                // Written in place, as by `>` in a shell: truncated first.
                std::fs::write(&path, "line\n".repeat(length)).unwrap();
            }
        }
    });
    let report = read(workspace, "f");
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let success: &Value = report.result("success");
    let content = success["content"].as_str().unwrap();
    assert!("line\n".repeat(4000).starts_with(content), "{content}");
}
