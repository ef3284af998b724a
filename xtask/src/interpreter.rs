//! The Python interpreter that runs scripts and installs packages: the newest one that runs.
//!
//! A program with the right name proves nothing, since a shim may start nothing, so each candidate is started. Neither `HOME`
//! nor the order of `PATH` decides what is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use nix::unistd::{User, getuid};

/// A Python 3 interpreter with `venv` and `pip`, and its minor version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Python {
    pub(crate) program: PathBuf,
    pub(crate) minor: u8,
}

/// The names of interpreters.
const NAMES: [&str; 3] = ["python3.13", "python3.12", "python3"];

/// Directories of programs that `PATH` may lack.
const DIRECTORIES: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", "/opt/python/bin"];

/// Directories with a directory for each version, relative to the home of the user.
const VERSIONS: [&str; 2] = [".pyenv/versions", ".local/share/uv/python"];

/// Returns the newest Python 3 that creates virtual environments.
pub(crate) fn find_python() -> Option<&'static Python> {
    static FOUND: OnceLock<Option<Python>> = OnceLock::new();
    let find = || {
        // The home in the user database: `HOME` may be another one.
        let home = User::from_uid(getuid()).ok().flatten().map(|user| user.dir);
        let versions = home.iter().flat_map(|home| VERSIONS.map(|versions| home.join(versions)));
        let directories =
            DIRECTORIES.map(PathBuf::from).into_iter().chain(versions.flat_map(binaries)).collect();
        newest(directories)
    };
    FOUND.get_or_init(find).as_ref()
}

/// Returns the program to start for Python scripts without requirements.
pub(crate) fn script_python() -> PathBuf {
    find_python().map_or_else(|| PathBuf::from("python3"), |python| python.program.clone())
}

/// Returns the directories `bin` of the installed versions.
fn binaries(versions: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(versions).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join("bin")).collect()
}

/// Returns the newest interpreter in `PATH` and in these directories; of equal ones, the first.
fn newest(directories: Vec<PathBuf>) -> Option<Python> {
    let in_path = NAMES.map(PathBuf::from);
    let in_directories = directories.iter().flat_map(|directory| NAMES.map(|name| directory.join(name)));
    let candidates = in_path.into_iter().chain(in_directories.filter(|program| program.exists()));
    let mut found: Vec<Python> = candidates.filter_map(|program| probe(&program)).collect();
    // `max_by_key` returns the last of equal items.
    found.reverse();
    found.into_iter().max_by_key(|python| python.minor)
}

/// Returns the interpreter if it runs.
fn probe(program: &Path) -> Option<Python> {
    let script = "import sys, venv, pip; print(sys.version_info.minor) if sys.version_info[0] == 3 else 1/0";
    let output = Command::new(program).args(["-c", script]).output().ok()?;
    let minor = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    output.status.success().then(|| Python { program: program.to_owned(), minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_interpreter_that_runs_is_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |version: &str, name: &str, script: &str| {
            let directory = root.path().join(version).join("bin");
            fs::create_dir_all(&directory).unwrap();
            crate::test_runner::write_program(&directory.join(name), script);
        };
        write("3.97", "python3", "echo 97");
        write("3.98", "python3.13", "echo 98");
        write("3.98-again", "python3", "echo 98");
        write("3.99-shim", "python3.13", "echo 'not found' >&2; exit 127");
        write("3.100-without-pip", "python3", "echo 100; exit 1");
        fs::write(root.path().join("version"), "3.97").unwrap();
        let mut directories = binaries(root.path().to_owned());
        directories.sort();
        let found = newest(directories).unwrap();
        assert_eq!(found, Python { program: root.path().join("3.98/bin/python3.13"), minor: 98 });
        assert_eq!(binaries(root.path().join("missing")), Vec::<PathBuf>::new());
    }
}
