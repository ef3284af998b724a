//! Builds the program with cargo, in one of its profiles.
//!
//! Cargo reports the path of the executable, so the target directory may be configured in any way.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

/// The prefixes of the variables that `cargo run` sets for the package of the program that it starts.
const PACKAGE_VARIABLES: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// A failed build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo could not be run.
    #[error("cannot run cargo: {0}")]
    Cargo(#[from] io::Error),
    /// The build failed; cargo has printed the reason.
    #[error("`cargo {0}` failed")]
    Failed(String),
}

/// The environment variable with the path of the program that end-to-end tests start, instead of the debug build.
pub const PROGRAM_VARIABLE: &str = "IBEAM_TEST_PROGRAM";

/// The environment variable with the absolute path of a directory of debug builds that need no build.
pub const PROGRAMS_VARIABLE: &str = "IBEAM_TEST_PROGRAMS";

/// The features with which the workspace is tested, as cargo takes them: the client of queues is not a default one.
pub const TEST_FEATURES: [&str; 2] = ["--features", "ibeam/nats"];

/// Returns the path of the program that end-to-end tests start: that of [`PROGRAM_VARIABLE`], or [`build_program`]. It is
/// built once in each process; cargo locks its directory meanwhile. nextest, which starts a process for each test, builds it
/// before them (`.config/nextest.toml`).
#[must_use]
pub fn program_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = match std::env::var_os(PROGRAM_VARIABLE) {
            Some(path) => path.into(),
            None => build_program(&root).unwrap_or_else(|error| panic!("{error}")),
        };
        path.into_os_string().into_string().expect("a path in UTF-8")
    });
    &PATH
}

/// Builds the debug build of the program, and returns the absolute path of the executable.
///
/// # Errors
/// As [`build_workspace_program`].
pub fn build_program(root: &Path) -> Result<PathBuf, BuildError> {
    build_workspace_program(root, "ibeam")
}

/// Builds the debug build of a program of the workspace, and returns the absolute path of the executable. It has the features
/// of libraries that the whole workspace has, so it is the build that the tests of the workspace use. With
/// [`PROGRAMS_VARIABLE`] the program is taken from there.
///
/// # Errors
/// `Cargo` when cargo cannot be run, `Failed` when the build fails.
pub fn build_workspace_program(root: &Path, name: &str) -> Result<PathBuf, BuildError> {
    match std::env::var_os(PROGRAMS_VARIABLE) {
        Some(directory) => Ok(Path::new(&directory).join(name)),
        None => build_with(root, &[&["--workspace", "--bin", name], &TEST_FEATURES[..]].concat()),
    }
}

/// Builds the program alone with these options of `cargo build`, and returns the absolute path of the executable.
///
/// # Errors
/// As [`build_with`].
pub fn build_program_with(root: &Path, options: &[&str]) -> Result<PathBuf, BuildError> {
    build_with(root, &[&["-p", "ibeam"], options].concat())
}

/// Builds the program alone with these options of `cargo build`, linked by the program `linker` instead of `cc`, and returns
/// the absolute path of the executable.
///
/// # Errors
/// As [`build_with`].
pub fn build_program_linked_by(root: &Path, options: &[&str], linker: &Path) -> Result<PathBuf, BuildError> {
    let linker = format!("linker={}", linker.display());
    cargo(root, "rustc", &[&["-p", "ibeam", "--bin", "ibeam"], options, &["--", "-C", &linker]].concat())
}

/// Returns a command that runs cargo.
#[must_use]
pub fn cargo_command() -> Command {
    without_package_variables(Command::new("cargo"))
}

/// Returns the command without the variables that `cargo run` sets for the package of this program. Build scripts of
/// libraries compare some of them, so with them cargo would build these libraries, and all that use them, again.
#[must_use]
pub fn without_package_variables(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| PACKAGE_VARIABLES.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds with these options, and returns the absolute path of the last executable.
///
/// # Errors
/// `Cargo` when cargo cannot be run, `Failed` when the build fails.
fn build_with(root: &Path, options: &[&str]) -> Result<PathBuf, BuildError> {
    cargo(root, "build", options)
}

fn cargo(root: &Path, subcommand: &str, options: &[&str]) -> Result<PathBuf, BuildError> {
    let mut cargo = cargo_command()
        .args([subcommand, "--locked", "--message-format", "json-render-diagnostics"])
        .args(options)
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut program = None;
    if let Some(messages) = cargo.stdout.take() {
        for line in BufReader::new(messages).lines() {
            let message: Value = serde_json::from_str(&line?).unwrap_or_default();
            let path = message.get("executable").and_then(Value::as_str);
            program = path.map(PathBuf::from).or(program);
        }
    }
    match program {
        Some(program) if cargo.wait()?.success() => Ok(program),
        Some(_) | None => Err(BuildError::Failed(format!("{subcommand} {}", options.join(" ")))),
    }
}
