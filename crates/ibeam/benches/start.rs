//! The cost of the program as a process: to print its version, to send its first request, and for a short run.
//!
//! The bench is the model server: it accepts the connection, reads the request and writes the answer. Rows named `by_…`
//! are the baselines of their group; `by_bare_socket` is this executable, started a second time to send a request of the
//! same size and to read the same answer with a socket alone.

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
/// Additional flags of a run: none, and no sandbox.
const SANDBOX: [&[&str]; 2] = [&[], &["--sandbox", "disabled"]];

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(endpoint::BARE_CLIENT) => endpoint::run_bare_client(),
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

/// From the start of the process to the arrival of its complete request.
mod first_request {
    use super::*;

    #[divan::bench(args = SANDBOX)]
    fn ibeam(bencher: Bencher<'_, '_>, sandbox: &[&str]) {
        let scene = Scene::new();
        // The answer and the end of the process are in `drop`, which is not timed.
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

/// A workspace and a model server.
struct Scene {
    workspace: Workspace,
    endpoint: Endpoint,
    /// The size of a request of ibeam in bytes.
    request_bytes: usize,
}

impl Scene {
    fn new() -> Self {
        let (workspace, endpoint) = (Workspace::new().file("README.md", "# A project\n"), Endpoint::open());
        let mut scene = Self { workspace, endpoint, request_bytes: 0 };
        scene.request_bytes = scene.until_request(scene.ibeam(&[])).request.bytes;
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
        bare.args([
            endpoint::BARE_CLIENT,
            &self.endpoint.address().to_string(),
            &self.request_bytes.to_string(),
        ]);
        bare
    }

    fn until_request(&self, mut program: Command) -> WaitingProcess {
        let child = program.spawn().unwrap();
        WaitingProcess { request: self.endpoint.read_request(), child }
    }
}

/// A process that waits for the answer to its request. `drop` answers and waits for the end of the process.
struct WaitingProcess {
    request: endpoint::PendingRequest,
    child: Child,
}

impl Drop for WaitingProcess {
    fn drop(&mut self) {
        self.request.answer();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

/// Returns a program in a clean environment without output.
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
