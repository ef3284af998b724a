//! `ibeam acp`: the waits of an editor, from its request to the response or the first update.
//!
//! The aims are 15 ms for `initialize` after the start of the process, 5 ms for `session/new`, and 150 ms for the first
//! update of a session of 10,000 turns. `IBEAM_BENCH_BIN` names another program than the one that is built.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use divan::Bencher;
use ibeam_protocol::SessionId;
use ibeam_testkit::Workspace;
use serde_json::{Value, json};

#[path = "../tests/end_to_end/long_session.rs"]
mod long_session;

const TURNS: [usize; 2] = [100, 10_000];

fn main() {
    divan::main();
}

/// From the start of the process to the response.
#[divan::bench]
fn initialize(bencher: Bencher<'_, '_>) {
    let workspace = Workspace::new();
    bencher.bench_local(|| Editor::start(&workspace));
}

#[divan::bench]
fn session_new(bencher: Bencher<'_, '_>) {
    let workspace = Workspace::new();
    bencher.with_inputs(|| Editor::start(&workspace)).bench_local_values(|mut editor| {
        let params = json!({ "cwd": workspace.path(), "mcpServers": [] });
        editor.request("session/new", &params, "\"result\"");
        editor
    });
}

/// From the request to the first update of the conversation.
#[divan::bench(args = TURNS)]
fn first_update(bencher: Bencher<'_, '_>, turns: usize) {
    load(bencher, turns, "\"session/update\"");
}

/// From the request to its response, which follows the whole conversation.
#[divan::bench(args = TURNS)]
fn whole_session(bencher: Bencher<'_, '_>, turns: usize) {
    load(bencher, turns, "\"id\":2,\"result\"");
}

fn load(bencher: Bencher<'_, '_>, turns: usize, end: &str) {
    let workspace = Workspace::new();
    let id: SessionId = long_session::record(&workspace, turns);
    let params = json!({ "sessionId": id, "cwd": workspace.path(), "mcpServers": [] });
    bencher.with_inputs(|| Editor::start(&workspace)).bench_local_values(|mut editor| {
        editor.request("session/load", &params, end);
        editor
    });
}

/// A connected editor.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Editor {
    /// Starts the program and initializes the connection.
    fn start(workspace: &Workspace) -> Self {
        let program =
            std::env::var_os("IBEAM_BENCH_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_ibeam").into());
        let mut command = Command::new(program);
        command.args(["--model", "anthropic/claude-sonnet-4-6", "acp"]).current_dir(workspace.path());
        command.env_clear().env("HOME", workspace.home()).env("ANTHROPIC_API_KEY", "fake-key-of-the-bench");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut editor = Self { child, input, output, last_id: 0 };
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        editor.request("initialize", &params, "\"result\"");
        editor
    }

    /// Sends a request and reads until a line contains `end`.
    fn request(&mut self, method: &str, params: &Value, end: &str) {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        writeln!(self.input, "{request}").unwrap();
        let mut line = String::new();
        while !line.contains(end) {
            assert!(!line.contains("\"error\":"), "{line}");
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the program ended before {end}");
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
