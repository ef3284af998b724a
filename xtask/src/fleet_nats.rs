//! `cargo xtask fleet-nats`: fleets over many machines, with the real server.
//!
//! The server is installed at a pinned version into `target/servers` and started on loopback ports. The parts are the tests
//! of the crates, the documented launchers, and a fleet whose processes and servers are killed.

mod cluster;
mod cluster_kills;
mod launchers;

use std::path::{Path, PathBuf};

use ibeam_testkit::{BuildError, TEST_FEATURES, build_program};

use crate::clients::{ClientsError, Installer};
use crate::fleet::FleetError;
use crate::test_runner::{ALL_TESTS, TestRunner};

const USAGE: &str =
    "usage: cargo xtask fleet-nats [install] [tests] [launchers] [kills] [--tasks N] [--bin PATH]";

/// The directory of the installation, relative to the root.
const SERVER_DIRECTORY: &str = "target/servers/nats";

/// The variable in which the tests find the server.
pub(crate) const SERVER_VARIABLE: &str = "IBEAM_TEST_NATS_SERVER";

/// The tests that use the server, as a filter of nextest.
const TESTS: &str = "package(ibeam-fleet-nats) | test(/^fleet_nats::/)";

/// The parts of this subcommand.
const PARTS: [&str; 4] = ["install", "tests", "launchers", "kills"];

/// The number of tasks whose processes are killed, unless it is given.
const TASKS: usize = 200;

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
    tasks: usize,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, FleetNatsError> {
        let mut options = Self { parts: Vec::new(), tasks: TASKS, program: None };
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| FleetNatsError::Usage(format!("`{word}` needs a value")));
            match word.as_str() {
                "--bin" => options.program = Some(value()?.into()),
                "--tasks" => {
                    let number = value()?;
                    let invalid = || FleetNatsError::Usage(format!("`{number}` is not a number of tasks"));
                    options.tasks = number.parse().ok().filter(|tasks| *tasks > 0).ok_or_else(invalid)?;
                }
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
    let directory = root.join(SERVER_DIRECTORY);
    let installer = Installer::new(root);
    if let Err(missing) = installer.install_from_pypi(&pins, &directory, 8)? {
        println!("SKIP fleet-nats: {missing}");
        return Ok(());
    }
    let server = server_program(root);
    if options.has("tests") {
        run_tests(root, &server)?;
    }
    if !options.has("launchers") && !options.has("kills") {
        return Ok(());
    }
    let program = match &options.program {
        Some(path) => path.canonicalize().map_err(FleetError::system(path.display()))?,
        None => build_program(root)?,
    };
    if options.has("launchers") {
        launchers::run(root, &installer, &program, &server)?;
    }
    if options.has("kills") {
        cluster_kills::run(&program, &server, options.tasks)?;
    }
    Ok(())
}

/// Returns the path of the server, which exists once it is installed.
pub(crate) fn server_program(root: &Path) -> PathBuf {
    root.join(SERVER_DIRECTORY).join("bin/nats-server")
}

/// Runs the tests that need the server.
fn run_tests(root: &Path, server: &Path) -> Result<(), FleetNatsError> {
    let runner = TestRunner::find(root);
    let mut passed = true;
    for selection in selections(&runner) {
        let mut command = runner.command(root);
        command.args(selection).env(SERVER_VARIABLE, server);
        passed &= command.status().map_err(FleetNatsError::Start)?.success();
    }
    if passed { Ok(()) } else { Err(FleetNatsError::Tests) }
}

/// Returns the arguments of each command of the runner.
fn selections(runner: &TestRunner) -> Vec<Vec<&'static str>> {
    match runner {
        // The build of all tests of the workspace, which may exist already.
        TestRunner::Nextest(_) => vec![[ALL_TESTS.as_slice(), &["-E", TESTS]].concat()],
        TestRunner::CargoTest => {
            let end_to_end = ["-p", "ibeam", "--test", "end_to_end"];
            vec![
                vec!["-p", "ibeam-fleet-nats", "--lib"],
                [end_to_end.as_slice(), &TEST_FEATURES, &["fleet_nats::"]].concat(),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn parts_are_known_and_numbers_positive() {
        let parse = |words: &str| Options::parse(words.split_whitespace().map(str::to_owned));
        let options = parse("kills --tasks 30").unwrap();
        assert_eq!((options.has("kills"), options.has("tests"), options.tasks), (true, false, 30));
        assert!(parse("").unwrap().has("launchers"));
        for words in ["--tasks 0", "--tasks", "other", "--bin"] {
            assert!(parse(words).is_err(), "{words}");
        }
    }
}
