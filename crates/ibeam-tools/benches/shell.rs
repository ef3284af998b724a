//! The cost of a shell call besides its command: from the arguments to the outcome, with all processes ended.
//!
//! Rows named `by_…` are the baseline: bash alone.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::Bencher;
use ibeam_core::{Stop, ToolContext};
use ibeam_policy::Policy;
use ibeam_protocol::{PermissionMode, ToolOutcome};
use ibeam_tools::{ToolSettings, Workspace, all};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn main() {
    divan::main();
}

/// A builtin, and a command that leaves a daemon behind.
#[divan::bench(args = [":", "setsid -f sleep 60 >/dev/null 2>&1"])]
fn turn(bencher: Bencher<'_, '_>, command: &str) {
    let directory = tempfile::tempdir().unwrap();
    measure(bencher, directory.path(), ToolSettings::default(), command);
}

/// A builtin in this repository, with scans of the protected paths before and after.
#[divan::bench]
fn guarded(bencher: Bencher<'_, '_>) {
    let quarantine = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let settings = ToolSettings {
        path_policy: Policy::new(PermissionMode::Force, root.clone(), "/home/nobody".into()).path_policy(),
        quarantine: Some(quarantine.path().to_owned()),
        ..ToolSettings::default()
    };
    measure(bencher, &root, settings, ":");
}

/// Runs a command in a tree of this many files, fifty in each directory.
#[divan::bench(args = [500, 50_000])]
fn guarded_tree(bencher: Bencher<'_, '_>, files: usize) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    for file in 0..files {
        let directory = root.join(format!("{}/{}", file / 1000, file / 50));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(file.to_string()), "").unwrap();
    }
    let settings = ToolSettings {
        path_policy: Policy::new(PermissionMode::Force, root.clone(), "/home/nobody".into()).path_policy(),
        quarantine: Some(directory.path().join("quarantine")),
        ..ToolSettings::default()
    };
    // A file that changed just now is read again regardless of its times.
    std::thread::sleep(Duration::from_secs(2));
    measure(bencher, &root, settings, ":");
}

#[divan::bench]
fn by_fork_and_exec(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        assert!(
            Command::new("/bin/bash").args(["--norc", "--noprofile", "-c", ":"]).status().unwrap().success()
        );
    });
}

fn measure(bencher: Bencher<'_, '_>, root: &Path, settings: ToolSettings, command: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let workspace = Workspace::new(root, &[]).unwrap();
    let shell = all(workspace, settings).remove("shell").unwrap();
    let arguments = json!({ "command": command });
    let context = ToolContext::new(Stop::default(), Duration::from_secs(60));
    bencher.bench_local(|| {
        let call = shell.prepare(&arguments).unwrap();
        let outcome = runtime.block_on((call.run)(context.clone()));
        assert!(matches!(outcome, ToolOutcome::Success { .. }), "{outcome:?}");
    });
}
