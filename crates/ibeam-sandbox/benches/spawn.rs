//! The cost of supervision and confinement: `true` and the shell, started and waited for, in several ways.
//!
//! Goal: a median of at most 8 ms for a confined command, including the first one of its launcher. Rows named `by_…`
//! are for comparison.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a bench that fails should stop"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use divan::Bencher;
use ibeam_sandbox::{Confinement, DEFAULT_PROCESS_LIMIT, LaunchSpec, Launcher};
use ibeam_testkit::Workspace;

fn main() {
    let layers = Fixture::new().confined().start().unwrap();
    eprintln!("confined by {:?}: {}", layers.tier, layers.names.join(" "));
    divan::main();
}

/// The smallest program, and the shell as commands use it.
const COMMANDS: [&str; 2] = ["/bin/true", "/bin/bash --norc --noprofile -c :"];
/// More than any of them needs.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A typical workspace: in a home with secrets, with a repository whose configuration is read-only.
struct Fixture(Workspace);

impl Fixture {
    fn new() -> Self {
        let workspace =
            Workspace::new().file(".git/config", "").file(".git/hooks/pre-commit", "").file(".env", "");
        for directory in [".ssh", ".aws", ".gnupg", ".kube"] {
            std::fs::create_dir(workspace.home().join(directory)).unwrap();
        }
        Self(workspace)
    }

    fn confined(&self) -> Launcher {
        let (workspace, home) = (self.0.path(), self.0.home());
        Launcher::confined(
            DEFAULT_PROCESS_LIMIT,
            Confinement {
                writable: vec![workspace.to_owned()],
                read_only: [".git/config", ".git/hooks"].map(|path| workspace.join(path)).into(),
                hidden: [".ssh", ".aws", ".gnupg", ".kube"].map(|path| home.join(path)).into(),
                visible: vec![home.to_owned()],
                ..Confinement::default()
            },
        )
    }
}

/// Runs a command until it ends.
fn run(launcher: &Launcher, command: &str, directory: &Path) {
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let arguments: Vec<&OsStr> = command.split(' ').map(OsStr::new).collect();
    let launch = LaunchSpec {
        program: Path::new(arguments[0]),
        arguments: &arguments,
        environment: &[],
        directory,
        stdio: [null.as_fd(); 3],
    };
    let mut tree = launcher.spawn(&launch).unwrap();
    assert!(tree.wait_until_gone(TIMEOUT));
    assert!(tree.status().unwrap().success());
}

mod command {
    use super::*;

    #[divan::bench(args = COMMANDS)]
    fn by_fork_and_exec(bencher: Bencher<'_, '_>, command: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        bencher.bench_local(|| {
            runtime.block_on(async {
                let mut command = tokio::process::Command::new(words[0]);
                command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                command.status().await.unwrap()
            })
        });
    }

    #[divan::bench(args = COMMANDS)]
    fn supervised(bencher: Bencher<'_, '_>, command: &str) {
        let launcher = Launcher::default();
        launcher.start().unwrap();
        bencher.bench_local(|| run(&launcher, command, Path::new("/")));
    }

    #[divan::bench(args = COMMANDS)]
    fn confined(bencher: Bencher<'_, '_>, command: &str) {
        let fixture = Fixture::new();
        let launcher = fixture.confined();
        launcher.start().unwrap();
        bencher.bench_local(|| run(&launcher, command, fixture.0.path()));
    }

    /// Including everything that happens before the first command of a run.
    #[divan::bench(args = COMMANDS)]
    fn confined_first(bencher: Bencher<'_, '_>, command: &str) {
        let fixture = Fixture::new();
        bencher.bench_local(|| {
            let launcher = fixture.confined();
            run(&launcher, command, fixture.0.path());
            // The end of the launcher is not part of the command; it comes when the run is over.
            launcher
        });
    }

    /// A comparable setup with bubblewrap.
    #[divan::bench(args = COMMANDS)]
    fn by_bubblewrap(bencher: Bencher<'_, '_>, command: &str) {
        let fixture = Fixture::new();
        let workspace = fixture.0.path().to_str().unwrap();
        let mut arguments: Vec<&str> =
            "--unshare-all --die-with-parent --new-session --cap-drop ALL --ro-bind / / \
            --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run --bind"
                .split_whitespace()
                .collect();
        arguments.extend([workspace, workspace, "--chdir", workspace]);
        let git = [".git/config", ".git/hooks"].map(|path| format!("{workspace}/{path}"));
        git.iter().for_each(|path| arguments.extend(["--ro-bind", path, path]));
        arguments.extend(command.split(' '));
        let bwrap = || {
            let mut bwrap = Command::new("bwrap");
            bwrap.args(&arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            bwrap.status()
        };
        match bwrap() {
            Ok(status) if status.success() => bencher.bench_local(|| bwrap().unwrap()),
            Ok(status) => eprintln!("SKIP: bwrap does not work here: {status}"),
            Err(error) => eprintln!("SKIP: bwrap: {error}"),
        }
    }
}

mod begin {
    use super::*;

    #[divan::bench]
    fn unconfined(bencher: Bencher<'_, '_>) {
        bencher.bench_local(|| {
            let launcher = Launcher::default();
            launcher.start().unwrap();
            launcher
        });
    }

    #[divan::bench]
    fn confined(bencher: Bencher<'_, '_>) {
        let fixture = Fixture::new();
        bencher.bench_local(|| {
            let launcher = fixture.confined();
            launcher.start().unwrap();
            launcher
        });
    }
}
