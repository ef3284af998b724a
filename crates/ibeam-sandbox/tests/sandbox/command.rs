//! Starts commands and waits for their end.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{BufReader, PipeReader, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use ibeam_sandbox::{LaunchSpec, SupervisedTree};

/// More than any command needs to end on a loaded machine. Only a command that hangs takes as long.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command and the reader of its output.
pub(crate) type Started = (SupervisedTree, BufReader<PipeReader>);

/// Starts a bash script with `spawn`, which starts a command in the sandbox.
#[track_caller]
pub(crate) fn start_bash<E: Display>(
    spawn: impl FnOnce(&LaunchSpec<'_>) -> Result<SupervisedTree, E>,
    directory: &Path,
    home: &Path,
    script: &str,
) -> Started {
    let arguments = ["bash", "--norc", "--noprofile", "-c", script];
    start(spawn, directory, home, Path::new("/bin/bash"), &arguments)
}

/// Starts a program with `spawn`, which starts a command in the sandbox.
#[track_caller]
pub(crate) fn start<E: Display>(
    spawn: impl FnOnce(&LaunchSpec<'_>) -> Result<SupervisedTree, E>,
    directory: &Path,
    home: &Path,
    program: &Path,
    arguments: &[&str],
) -> Started {
    let (reader, writer) = std::io::pipe().unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let environment: Vec<(OsString, OsString)> =
        [("PATH", OsStr::new(SEARCH_PATH)), ("HOME", home.as_os_str()), ("LC_ALL", OsStr::new("C"))]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let launch = LaunchSpec {
        program,
        arguments: &arguments,
        environment: &environment,
        directory,
        stdio: [null.as_fd(), writer.as_fd(), writer.as_fd()],
    };
    let tree = spawn(&launch).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    (tree, BufReader::new(reader))
}

/// Waits until the tree of a command has ended. Returns its output and its status.
#[track_caller]
pub(crate) fn finish((mut tree, mut reader): Started, script: &str) -> (String, ExitStatus) {
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    assert!(tree.wait_until_gone(TIMEOUT), "{script} does not end: {output}");
    (output, tree.status().unwrap())
}

/// Returns the exit code; a signal counts as in a shell.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Whether a program is installed for all users. Prints that the test is skipped if it is not.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = SEARCH_PATH.split(':').any(|directory| Path::new(directory).join(program).exists());
    if !found {
        eprintln!("SKIP: {program} is not installed");
    }
    found
}
