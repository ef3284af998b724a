//! This program as it was started, for the processes that it starts, even if its file has been replaced or removed since.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The file of the process that opens it. A new process opens it before it executes it.
pub const PATH: &str = "/proc/self/exe";

/// Returns a command that starts this program.
pub fn command() -> Command {
    let mut command = Command::new(PATH);
    command.arg0("ibeam");
    command
}
