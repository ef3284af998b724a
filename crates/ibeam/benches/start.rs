//! What the program costs as a whole process: to say its version, to its first request, and to a whole short run.
//!
//! The bench itself is the model server: it takes the connection, reads the request and writes the answer. Rows named
//! `by_…` are what the others of their group are compared with; `by_bare_socket` is this very executable, started anew
//! to send the same request and read the same answer with nothing but a socket.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a bench that fails should stop"
)]

#[path = "start/endpoint.rs"]
mod endpoint;

use std::process::{Child, Command, Stdio};

use divan::Bencher;
use endpoint::Endpoint;
use ibeam_testkit::Workspace;

const BINARY: &str = env!("CARGO_BIN_EXE_ibeam");
/// What a run is given besides the usual: nothing, and no sandbox.
const SANDBOX: [&[&str]; 2] = [&[], &["--sandbox", "disabled"]];

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(endpoint::BARE) => endpoint::ask_with_a_bare_socket(),
        _ => divan::main(),
    }
}

mod version {
    use super::*;

    #[divan::bench]
    fn ibeam(bencher: Bencher<'_, '_>) {
        let workspace = Workspace::new();
        bencher.bench_local(|| end(program(BINARY, &workspace).arg("--version").spawn().unwrap()));
    }

    #[divan::bench]
    fn by_fork_and_exec(bencher: Bencher<'_, '_>) {
        let workspace = Workspace::new();
        bencher.bench_local(|| end(program("/bin/true", &workspace).spawn().unwrap()));
    }
}

/// From the start of the process until its request has arrived whole.
mod first_request {
    use super::*;

    #[divan::bench(args = SANDBOX)]
    fn ibeam(bencher: Bencher<'_, '_>, sandbox: &[&str]) {
        let scene = Scene::new();
        // The answer and the end are not timed: they are the drop's.
        bencher.bench_local(|| scene.until_request(scene.ibeam(sandbox)));
    }

    #[divan::bench]
    fn by_bare_socket(bencher: Bencher<'_, '_>) {
        let scene = Scene::new();
        bencher.bench_local(|| scene.until_request(scene.bare()));
    }
}

/// From the start of the process to its end, with one answer of one word.
mod hello {
    use super::*;

    #[divan::bench(args = SANDBOX)]
    fn ibeam(bencher: Bencher<'_, '_>, sandbox: &[&str]) {
        let scene = Scene::new();
        bencher.bench_local(|| drop(scene.until_request(scene.ibeam(sandbox))));
    }

    #[divan::bench]
    fn by_bare_socket(bencher: Bencher<'_, '_>) {
        let scene = Scene::new();
        bencher.bench_local(|| drop(scene.until_request(scene.bare())));
    }
}

/// A workspace, and where the model is.
struct Scene {
    workspace: Workspace,
    endpoint: Endpoint,
    /// As many bytes as the request of ours has.
    request_bytes: usize,
}

impl Scene {
    fn new() -> Self {
        let (workspace, endpoint) = (Workspace::new().file("README.md", "# A project\n"), Endpoint::open());
        let mut scene = Self { workspace, endpoint, request_bytes: 0 };
        scene.request_bytes = scene.until_request(scene.ibeam(&[])).asked.bytes;
        scene
    }

    fn ibeam(&self, sandbox: &[&str]) -> Command {
        let mut ibeam = program(BINARY, &self.workspace);
        ibeam.args([
            "-p",
            "--output-format",
            "stream-json",
            "--force",
            "--model",
            "mock-model",
            "Say hello.",
        ]);
        ibeam.args(sandbox).env("OPENAI_API_KEY", "key-0123456789abcdef");
        ibeam.env("OPENAI_BASE_URL", format!("http://{}/v1", self.endpoint.address()));
        ibeam
    }

    fn bare(&self) -> Command {
        let mut bare = program(std::env::current_exe().unwrap(), &self.workspace);
        bare.args([endpoint::BARE, &self.endpoint.address().to_string(), &self.request_bytes.to_string()]);
        bare
    }

    fn until_request(&self, mut program: Command) -> Asked {
        let child = program.spawn().unwrap();
        Asked { asked: self.endpoint.take_request(), child }
    }
}

/// A process whose request has come; dropped, it is answered and ends.
struct Asked {
    asked: endpoint::Asked,
    child: Child,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.asked.answer();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

/// A program in a clean environment, whose output nobody reads.
fn program(name: impl AsRef<std::ffi::OsStr>, workspace: &Workspace) -> Command {
    let mut program = Command::new(name);
    program.env_clear().env("HOME", workspace.home()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    program.current_dir(workspace.path());
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    program
}

fn end(mut child: Child) {
    assert!(child.wait().unwrap().success());
}
