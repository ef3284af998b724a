//! The program that runs the tests: cargo-nextest where it works, else a prebuilt one, else `cargo test`.
//!
//! Nothing is compiled only to run tests. With `cargo test`, the tests that `.config/nextest.toml` lets run alone or in a
//! group run one at a time, after the others. It refuses to guess: a filter of such tests that it cannot translate is an
//! error.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::clients::Installer;

/// The configuration of nextest, relative to the root of the repository.
const CONFIG_PATH: &str = ".config/nextest.toml";
/// The pins of the prebuilt program, relative to the root.
const PINS_PATH: &str = "clients/tools/requirements.txt";
/// The directory of its installation, relative to the root.
const TOOLS_PATH: &str = "target/tools";

/// The targets with tests. Benches are compiled by clippy only.
const ALL_TESTS: [&str; 4] = ["--workspace", "--lib", "--bins", "--tests"];

/// A program that runs the tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestRunner {
    /// `PROGRAM nextest run`: cargo, or the prebuilt cargo-nextest.
    Nextest(PathBuf),
    /// `cargo test`.
    CargoTest,
}

/// A configuration or a filter of nextest that `cargo test` cannot use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestRunnerError {
    /// The file cannot be read.
    #[error("{CONFIG_PATH}: {0}")]
    File(#[from] std::io::Error),
    /// The file is invalid.
    #[error("{CONFIG_PATH}: {0}")]
    Config(#[from] toml::de::Error),
    /// A filter has more than words of names.
    #[error("`cargo test` has no filter like `{0}`; use `test(WORD) or test(WORD)`")]
    Filter(String),
}

impl TestRunner {
    /// Finds the program that runs the tests, and installs the prebuilt cargo-nextest if that is needed and possible. The
    /// reason for a fallback is printed.
    pub(crate) fn find(root: &Path) -> Self {
        let install = || {
            let directory = root.join(TOOLS_PATH);
            // Python 3.8 is the oldest with the options of pip that the installer uses.
            match Installer::new(root).install_from_pypi(&root.join(PINS_PATH), &directory, 8) {
                Ok(Ok(_)) => Ok(directory.join("bin/cargo-nextest")),
                Ok(Err(missing)) => Err(missing),
                Err(error) => Err(error.to_string()),
            }
        };
        Self::find_or_install(&std::env::var_os("PATH").unwrap_or_default(), install)
    }

    /// Finds the program with cargo in this `PATH`. `install` returns the path of the prebuilt one.
    fn find_or_install(search_path: &OsStr, install: impl FnOnce() -> Result<PathBuf, String>) -> Self {
        let cargo = PathBuf::from("cargo");
        if runs_nextest(&cargo, search_path) {
            return Self::Nextest(cargo);
        }
        let reason = match install() {
            Ok(program) if runs_nextest(&program, search_path) => return Self::Nextest(program),
            Ok(program) => format!("`{} nextest --version` fails", program.display()),
            Err(reason) => reason,
        };
        eprintln!("note: no cargo-nextest, so `cargo test` runs the tests, which takes longer: {reason}");
        Self::CargoTest
    }

    /// Returns the start of a command that runs tests in `root`. It takes the options of cargo that select targets, then
    /// words in the names of tests.
    pub(crate) fn command(&self, root: &Path) -> Command {
        let mut command = match self {
            Self::Nextest(program) => {
                let mut command = Command::new(program);
                command.args(["nextest", "run"]);
                command
            }
            Self::CargoTest => {
                let mut command = Command::new("cargo");
                command.arg("test");
                command
            }
        };
        command.args(["--locked", "--no-fail-fast"]).current_dir(root);
        command
    }

    /// Returns the commands that run all tests of the workspace. Each runs after the end of the one before, also after its
    /// failure.
    ///
    /// # Errors
    /// With `cargo test`: the configuration of nextest cannot be translated.
    #[allow(dead_code, reason = "the gate does not use it yet")]
    pub(crate) fn all_tests(&self, root: &Path) -> Result<Vec<Command>, TestRunnerError> {
        let mut all = self.command(root);
        all.args(ALL_TESTS);
        if matches!(self, Self::Nextest(_)) {
            return Ok(vec![all]);
        }
        let config = toml::from_str::<Config>(&std::fs::read_to_string(root.join(CONFIG_PATH))?)?;
        let Profile { test_threads, overrides } = config.profile.default;
        let mut serial_words = Vec::new();
        for rule in overrides.iter().filter(|rule| rule.is_serial()) {
            serial_words.extend(words_of_filter(&rule.filter)?);
        }
        all.arg("--");
        if let Some(toml::Value::Integer(threads)) = test_threads {
            all.arg(format!("--test-threads={threads}"));
        }
        for word in &serial_words {
            all.args(["--skip", word]);
        }
        let mut serial = self.command(root);
        serial.args(ALL_TESTS).args(["--", "--test-threads=1"]).args(&serial_words);
        Ok(if serial_words.is_empty() { vec![all] } else { vec![all, serial] })
    }
}

/// The part of the configuration of nextest that `cargo test` needs.
#[derive(Deserialize)]
struct Config {
    profile: Profiles,
}

#[derive(Deserialize)]
struct Profiles {
    default: Profile,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Profile {
    test_threads: Option<toml::Value>,
    #[serde(default)]
    overrides: Vec<Override>,
}

/// Settings for the tests that a filter selects.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Override {
    filter: String,
    threads_required: Option<toml::Value>,
    test_group: Option<String>,
}

impl Override {
    /// Whether the tests need more than one of the threads, or share a bound with others.
    fn is_serial(&self) -> bool {
        let needs_more =
            self.threads_required.as_ref().is_some_and(|threads| threads.as_integer() != Some(1));
        needs_more || self.test_group.is_some()
    }
}

/// Returns the words of a filter such as `test(fork_bomb) or test(the_real_model)`.
///
/// # Errors
/// `Filter` for every other filter.
pub(crate) fn words_of_filter(filter: &str) -> Result<Vec<String>, TestRunnerError> {
    let is_word = |word: &&str| {
        !word.is_empty()
            && word.chars().all(|character| character.is_alphanumeric() || "_:".contains(character))
    };
    let words = filter.split(" or ").flat_map(|part| part.split(" + ")).map(|part| {
        part.trim().strip_prefix("test(").and_then(|part| part.strip_suffix(')')).filter(is_word)
    });
    let words: Option<Vec<String>> = words.map(|word| word.map(str::to_owned)).collect();
    words.ok_or_else(|| TestRunnerError::Filter(filter.to_owned()))
}

/// Whether `program nextest` starts. A proxy with the name of the program may exist and start nothing.
fn runs_nextest(program: &Path, search_path: &OsStr) -> bool {
    let mut command = Command::new(program);
    command.args(["nextest", "--version"]).env("PATH", OsString::from(search_path));
    command.output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Writes a script. Another process writes it: a child that another test starts meanwhile would inherit the open file,
    /// and a file that is open for writing cannot be executed.
    fn write_program(path: &Path, script: &str) {
        let written = Command::new("sh")
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\""])
            .arg(path)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
    }

    fn arguments(command: &Command) -> String {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        arguments.join(" ")
    }

    const WITH_NEXTEST: &str = "test \"$*\" = 'nextest --version'";
    const WITHOUT_NEXTEST: &str = "exit 101";

    #[test]
    fn the_first_program_that_starts_runs_the_tests() {
        let directory = tempfile::tempdir().unwrap();
        let prebuilt = directory.path().join("cargo-nextest");
        let find = |cargo: &str, install: Result<PathBuf, String>| {
            write_program(&directory.path().join("cargo"), cargo);
            TestRunner::find_or_install(directory.path().as_os_str(), || install)
        };
        let installed = || Ok(prebuilt.clone());

        let cargo = find(WITH_NEXTEST, Err("not needed".to_owned()));
        assert_eq!(cargo, TestRunner::Nextest("cargo".into()));

        write_program(&prebuilt, WITH_NEXTEST);
        assert_eq!(find(WITHOUT_NEXTEST, installed()), TestRunner::Nextest(prebuilt.clone()));
        assert_eq!(find(WITHOUT_NEXTEST, Err("no network".to_owned())), TestRunner::CargoTest);

        write_program(&prebuilt, "exit 126");
        assert_eq!(find(WITHOUT_NEXTEST, installed()), TestRunner::CargoTest);
    }

    #[test]
    fn serial_tests_run_once_and_stay_serial_with_cargo_test() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".config")).unwrap();
        let config = r#"
            [profile.default]
            test-threads = 6
            [[profile.default.overrides]]
            filter = "test(fork_bomb) or test(the_real_model)"
            threads-required = "num-test-threads"
            [[profile.default.overrides]]
            filter = "test(clock::)"
            test-group = "timing"
            [[profile.default.overrides]]
            filter = "test(/^crash::/)"
            success-output = "final"
        "#;
        fs::write(root.path().join(CONFIG_PATH), config).unwrap();
        let commands = TestRunner::CargoTest.all_tests(root.path()).unwrap();
        let [parallel, serial] = &commands[..] else { panic!("{commands:?}") };
        assert_eq!(
            arguments(parallel),
            "test --locked --no-fail-fast --workspace --lib --bins --tests -- --test-threads=6 \
             --skip fork_bomb --skip the_real_model --skip clock::"
        );
        assert_eq!(
            arguments(serial),
            "test --locked --no-fail-fast --workspace --lib --bins --tests -- --test-threads=1 \
             fork_bomb the_real_model clock::"
        );
        let nextest = TestRunner::Nextest("cargo".into()).all_tests(root.path()).unwrap();
        let all = "nextest run --locked --no-fail-fast --workspace --lib --bins --tests";
        assert_eq!(nextest.iter().map(arguments).collect::<Vec<_>>(), [all]);
    }

    #[test]
    fn a_filter_without_translation_is_an_error() {
        assert_eq!(words_of_filter("test(a::) + test(b_c)").unwrap(), ["a::", "b_c"]);
        for filter in
            ["", "all()", "binary(a)", "test(/^a/)", "test(=a)", "test(a) and test(b)", "not test(a)"]
        {
            assert!(words_of_filter(filter).is_err(), "{filter}");
        }
    }

    #[test]
    fn cargo_test_takes_the_configuration_of_this_repository() {
        let commands = TestRunner::CargoTest.all_tests(&crate::root()).unwrap();
        assert_eq!(commands.len(), 2, "{commands:?}");
    }
}
