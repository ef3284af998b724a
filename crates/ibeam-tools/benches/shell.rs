//! What a call of the shell costs besides its command: from the arguments to the outcome, the whole tree gone.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::Bencher;
use ibeam_core::{Stop, ToolContext};
use ibeam_protocol::{CallId, ToolCall, ToolOutcome};
use ibeam_tools::{ToolSettings, Workspace, all};
use serde_json::json;
use std::time::Duration;

fn main() {
    divan::main();
}

/// A builtin, and a command that leaves a daemon behind.
#[divan::bench(args = [":", "setsid -f sleep 60 >/dev/null 2>&1"])]
fn turn(bencher: Bencher<'_, '_>, command: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(directory.path(), &[]).unwrap();
    let shell = all(workspace, ToolSettings::default()).remove("shell").unwrap();
    let call = ToolCall {
        id: CallId::from("call_1"),
        name: "shell".to_owned(),
        arguments: shell.canonical(&json!({ "command": command })).unwrap(),
    };
    let context = ToolContext { stop: Stop::default(), file_time: Duration::from_secs(60) };
    bencher.bench_local(|| {
        let outcome = runtime.block_on(shell.run(&call, &context));
        assert!(matches!(outcome, ToolOutcome::Success { .. }), "{outcome:?}");
    });
}
