//! `cargo xtask fleet-nats`: fleets over many machines, with the real server.
//!
//! The server is installed at a pinned version into `target/servers` and started on loopback ports. The parts are the tests
//! of the crates, the documented launchers, and a fleet whose processes and servers are killed.

mod cluster;
mod cluster_kills;
mod launchers;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::clients::Installer;
use crate::suite::{ProgramOption, SuiteContext, SuiteError};
use crate::test_runner::{ALL_TESTS, TestRunner};

/// The directory of the installation, relative to the root.
const SERVER_DIRECTORY: &str = "target/servers/nats";

/// The variable in which the tests find the server.
pub(crate) const SERVER_VARIABLE: &str = "IBEAM_TEST_NATS_SERVER";

/// The tests that use the server, as a filter of nextest.
const TESTS: &str = "package(ibeam-fleet-nats)";

/// The parts of this subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Install,
    Tests,
    Launchers,
    Kills,
}

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The server is installed, then these parts run [default: all]
    #[arg(value_name = "PART")]
    parts: Vec<Part>,
    /// The number of tasks whose processes are killed
    #[arg(long, value_name = "N", default_value = "200")]
    tasks: NonZeroUsize,
    #[command(flatten)]
    program: ProgramOption,
}

impl Options {
    fn has(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

/// Installs the server and runs the selected parts. Without Python the reason is printed.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), SuiteError> {
    let pins = root.join("clients/servers/nats/requirements.txt");
    match Installer::new(root).install_from_pypi(&pins, &root.join(SERVER_DIRECTORY), 8) {
        Ok(_) => {}
        Err(SuiteError::Missing(missing)) => {
            println!("SKIP: fleet-nats: {missing}");
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    let server = server_program(root);
    if options.has(Part::Tests) {
        run_tests(root, &server)?;
    }
    if !options.has(Part::Launchers) && !options.has(Part::Kills) {
        return Ok(());
    }
    let context = SuiteContext::new(root, &options.program)?;
    if options.has(Part::Launchers) {
        context.run_part("launchers", false, |context, result| launchers::run(context, &server, result))?;
    }
    if options.has(Part::Kills) {
        cluster_kills::run(&context.program, &server, options.tasks.get())?;
    }
    Ok(())
}

/// Returns the path of the server, which exists once it is installed.
pub(crate) fn server_program(root: &Path) -> PathBuf {
    root.join(SERVER_DIRECTORY).join("bin/nats-server")
}

/// Runs the tests that need the server.
fn run_tests(root: &Path, server: &Path) -> Result<(), SuiteError> {
    let runner = TestRunner::find(root);
    let mut command = runner.command(root);
    command.args(selection(&runner)).env(SERVER_VARIABLE, server);
    let passed = command.status().map_err(SuiteError::system("cargo"))?.success();
    if passed { Ok(()) } else { Err(SuiteError::Failed("tests failed".to_owned())) }
}

/// Returns the arguments of the runner.
fn selection(runner: &TestRunner) -> Vec<&'static str> {
    match runner {
        // The build of all tests of the workspace, which may exist already.
        TestRunner::Nextest(_) => [ALL_TESTS.as_slice(), &["-E", TESTS]].concat(),
        TestRunner::CargoTest => vec!["-p", "ibeam-fleet-nats", "--lib", "--tests"],
    }
}
