//! Directory trees that are deep, wide, circular or unreadable, and names with control characters.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{LivenessPipe, Workspace};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use serde_json::{Value, json};

use super::{MEMORY_MARGIN, as_nobody, call_tool, call_tool_through, peak_memory_of};

#[test]
fn f108_names_of_any_kind_stay_unchanged() {
    let long = "n".repeat(255);
    for name in ["new\nline.x", "quote\"'.x", "esc\u{1b}[31m.x", "tab\t\\.x", long.as_str()] {
        let report = call_tool(Workspace::new(), "write", &json!({ "path": name, "fileText": name }));
        report.result("success");
        assert_eq!(report.scene.workspace.read(name).as_deref(), Some(name));
        let report = call_tool(Workspace::new().file(name, "x"), "glob", &json!({ "globPattern": "*" }));
        assert_eq!(report.result("success")["files"], json!([name]), "{}", report.output);
        let report = call_tool(Workspace::new().file(name, "x"), "ls", &json!({ "path": "." }));
        assert_eq!(
            report.result("success")["directoryTreeRoot"]["childrenFiles"][0]["name"],
            name,
            "{}",
            report.output
        );
    }
    // In text output a name contains no control characters and no line ends.
    let name = "a\nerror: b\u{1b}[31m\u{202e}c";
    let write = answer_call("toolu_1", "write", &json!({ "path": name, "fileText": "x" }));
    let scene = Scene::new([write, answer_text("done")]);
    let output = scene.print(["--force", "--output-format", "text", "--verbose"]).run().succeeded();
    assert!(output.stdout.contains("error: b") && output.stdout.lines().count() == 3, "{output:?}");
    assert!(!output.stdout.contains(['\u{1b}', '\u{202e}']), "{output:?}");
}

#[test]
fn f108_a_deep_directory_is_read_and_walked() {
    let deep = format!("{}f.txt", "d/".repeat(400));
    let arguments = json!({ "path": deep, "fileText": "needle\n" });
    let report = call_tool(Workspace::new(), "write", &arguments);
    report.result("success");
    let scene = report.scene.with_answers([
        answer_call("toolu_1", "grep", &json!({ "pattern": "needle" })),
        answer_call("toolu_2", "read", &json!({ "path": deep })),
        answer_call("toolu_3", "ls", &json!({ "path": "." })),
        answer_text("done"),
    ]);
    let output = scene.print(["--force"]).run().succeeded();
    let stream = output.stream();
    let completed = stream.completed();
    assert!(completed[0].1["result"]["success"].to_string().contains(&deep), "{output}");
    assert_eq!(completed[1].1["result"]["success"]["content"], "needle\n");
    // The listing is not deeper than JSON parsers accept. The check of the stream uses such a parser.
    assert!(completed[2].1["result"]["success"]["directoryTreeRoot"].is_object(), "{output}");
}

/// Returns a workspace with this many files, which are hard links to one file per directory.
fn wide(count: u32) -> Workspace {
    let workspace = Workspace::new().file("seed", "hay\n");
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    // A file can have only a limited number of links.
    for directory in 0..count.div_ceil(1000) {
        let path = workspace.path().join(format!("d{directory:04}"));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("0"), "hay\n").unwrap();
        let directory_fd = open(&path, flags, Mode::empty()).unwrap();
        for file in 1..count.min(1000) {
            linkat(CWD, path.join("0"), &directory_fd, file.to_string(), AtFlags::empty()).unwrap();
        }
    }
    workspace
}

#[test]
fn f109_a_wide_tree_is_searched_within_bounds() {
    for (tool, arguments) in [
        ("glob", json!({ "globPattern": "**/*" })),
        ("grep", json!({ "pattern": "hay", "outputMode": "count" })),
        ("ls", json!({ "path": "." })),
    ] {
        let (small, _) = peak_memory_of(wide(10), tool, &arguments);
        let (peak, body) = peak_memory_of(wide(100_000), tool, &arguments);
        assert!(peak < small + MEMORY_MARGIN, "{tool}: {} MB more", (peak - small) >> 20);
        let success = &body["result"]["success"];
        assert!(success.is_object() && success.to_string().len() < 256 << 10, "{tool}: {success}");
        if tool == "glob" {
            assert_eq!(success["totalFiles"], 100_001, "{success}");
        }
    }
}

#[test]
fn f109_cycles_are_not_followed_and_unreadable_paths_are_counted() {
    let workspace = || {
        let workspace =
            Workspace::new().file("open/f.x", "hay\n").file("locked/f.x", "hay\n").file("f.x", "hay\n");
        std::os::unix::fs::symlink("..", workspace.path().join("open/up")).unwrap();
        std::fs::set_permissions(workspace.path().join("f.x"), PermissionsExt::from_mode(0o000)).unwrap();
        std::fs::set_permissions(workspace.path().join("locked"), PermissionsExt::from_mode(0o000)).unwrap();
        workspace
    };
    let report = call_tool_through(workspace(), "grep", &json!({ "pattern": "hay" }), as_nobody);
    let found = report.result("success").to_string();
    assert_eq!(found.matches("f.x").count(), 1, "{found}");
    assert!(
        report.transcript().contains("(2 paths could not be read and were skipped)"),
        "{}",
        report.transcript()
    );

    let report = call_tool_through(workspace(), "glob", &json!({ "globPattern": "**/*.x" }), as_nobody);
    assert_eq!(report.result("success")["totalFiles"], 2, "{}", report.output);
    assert!(report.transcript().contains("(1 paths could not be read"), "{}", report.transcript());
}

#[test]
fn f110_a_pattern_that_backtracks_in_other_engines_is_linear() {
    let text = format!("{}!\n", "a".repeat(100_000));
    let arguments = json!({ "pattern": "(a+)+$" });
    let report = call_tool(Workspace::new().file("f", text), "grep", &arguments);
    report.result("success");
    assert!(report.output.elapsed < Duration::from_secs(20), "{:?}", report.output.elapsed);
}

/// Checks that a run in this repository starts, reads and ends as in any other directory.
#[track_caller]
fn check_start_in(workspace: Workspace) {
    let report = call_tool(workspace.file("f", "x\n"), "read", &json!({ "path": "f" }));
    assert_eq!(report.result("success")["content"], "x\n");
    assert!(report.output.elapsed < Duration::from_secs(20), "{:?}", report.output.elapsed);
}

#[test]
fn f112_a_start_does_not_depend_on_git() {
    check_start_in(Workspace::new().file(".git", "gitdir: /nowhere/at/all\n"));
    check_start_in(Workspace::new().file(".git", [0xff; 10]));
    check_start_in(Workspace::new().file(".git/HEAD", "ref: refs/heads/x\n").file(".git/index.lock", ""));
    check_start_in(Workspace::new().file(".git/HEAD/not-a-file", ""));
    check_start_in(Workspace::new().file(".git/HEAD", "h".repeat(50 << 20)).file(".git/index", "garbage"));
    check_start_in(Workspace::new().file(".git/packed-refs", "p".repeat(50 << 20)));
    let workspace = Workspace::new().file(".git/config", "x");
    let _pipe = LivenessPipe::new(&workspace, ".git/HEAD");
    check_start_in(workspace);
    let workspace = Workspace::new().file(".git/HEAD", "ref: refs/heads/x\n");
    std::fs::set_permissions(workspace.path().join(".git"), PermissionsExt::from_mode(0o000)).unwrap();
    let report = call_tool_through(workspace.file("f", "x\n"), "read", &json!({ "path": "f" }), as_nobody);
    let content: &Value = &report.result("success")["content"];
    assert_eq!(content, "x\n");
}
