//! The program that runs the tests: cargo-nextest where it works, else a prebuilt one, else `cargo test`.
//!
//! Nothing is compiled only to run tests. With `cargo test`, the tests that `.config/nextest.toml` lets run alone or in a
//! group run one at a time, after the others. It refuses to guess: a filter of such tests that it cannot translate is an
//! error.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{TEST_FEATURES, cargo_command, without_package_variables};
use serde::Deserialize;

use crate::clients::Installer;
use crate::fleet_nats;

/// The configuration of nextest, relative to the root of the repository.
const CONFIG_PATH: &str = ".config/nextest.toml";
/// The pins of the prebuilt program, relative to the root.
const PINS_PATH: &str = "clients/tools/requirements.txt";
/// The directory of its installation, relative to the root.
const TOOLS_PATH: &str = "target/tools";

/// The report of the tests that nextest writes, relative to the root: with the output of passed tests too.
const REPORT_PATH: &str = "target/nextest/default/junit.xml";

/// The targets with tests, and their features. Benches are compiled by clippy only.
pub(crate) const ALL_TESTS: [&str; 6] =
    ["--workspace", "--lib", "--bins", "--tests", TEST_FEATURES[0], TEST_FEATURES[1]];

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
    /// Tests failed and have printed the reasons.
    #[error("tests failed")]
    Tests,
    /// The file cannot be read, or cargo cannot be started.
    #[error("{CONFIG_PATH}, or the tests: {0}")]
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
            // The package supports every Python 3 that the installer can use.
            match Installer::new(root).install_from_pypi(&root.join(PINS_PATH), &directory, 8) {
                Ok(_) => Ok(directory.join("bin/cargo-nextest")),
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
                let mut command = without_package_variables(Command::new(program));
                command.args(["nextest", "run"]);
                command
            }
            Self::CargoTest => {
                let mut command = cargo_command();
                command.arg("test");
                command
            }
        };
        command.args(["--locked", "--no-fail-fast"]).current_dir(root);
        command
    }

    /// Returns the commands that run tests of the workspace: those that need the machine alone, or all others. Each runs after
    /// the end of the one before, also after its failure.
    ///
    /// # Errors
    /// The configuration of nextest cannot be translated.
    fn commands(&self, root: &Path, which: Tests, cores: usize) -> Result<Vec<Command>, TestRunnerError> {
        let config = toml::from_str::<Config>(&std::fs::read_to_string(root.join(CONFIG_PATH))?)?;
        let Profile { overrides } = config.profile.default;
        let words = |selects: fn(&Override) -> bool| {
            let filters =
                overrides.iter().filter(|rule| selects(rule)).map(|rule| words_of_filter(&rule.filter));
            filters.collect::<Result<Vec<_>, _>>().map(|words| words.concat())
        };
        let (alone, serial) = (words(Override::needs_machine)?, words(Override::shares_bound)?);
        let command = || {
            let mut command = self.command(root);
            command.args(ALL_TESTS);
            command
        };
        let serially = |words: &[String]| {
            let mut command = command();
            command.args(["--", "--test-threads=1"]).args(words);
            command
        };
        // Most tests wait for a program some of the time.
        let threads = (2 * cores).to_string();
        let any = alone.iter().map(|word| format!("test({word})")).collect::<Vec<_>>().join(" or ");
        Ok(match (self, which) {
            (Self::Nextest(_), Tests::Alone) => {
                let mut command = command();
                command.args(["-E", &any, "--test-threads", "1"]);
                vec![command]
            }
            (Self::Nextest(_), Tests::Shared) => {
                let mut command = command();
                command.args(["-E", &format!("not ({any})"), "--test-threads", &threads]);
                vec![command]
            }
            (Self::CargoTest, Tests::Alone) => vec![serially(&alone)],
            (Self::CargoTest, Tests::Shared) => {
                let mut all = command();
                all.args(["--", "--test-threads", &threads]);
                all.args(alone.iter().chain(&serial).flat_map(|word| ["--skip", word]));
                if serial.is_empty() { vec![all] } else { vec![all, serially(&serial)] }
            }
        })
    }
}

/// The tests of the workspace that a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tests {
    /// All that may run at the same time as others.
    Shared,
    /// All that need the machine alone.
    Alone,
}

/// Runs the tests of the workspace that may run at the same time as others, or those that need the machine alone. Prints what the tests left out.
///
/// # Errors
/// A configuration that cannot be translated, and failed tests.
pub(crate) fn run(root: &Path, is_alone: bool) -> Result<(), TestRunnerError> {
    let which = if is_alone { Tests::Alone } else { Tests::Shared };
    let mut passed = true;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for mut command in TestRunner::find(root).commands(root, which, cores)? {
        let server = fleet_nats::server_program(root);
        if server.exists() {
            command.env(fleet_nats::SERVER_VARIABLE, server);
        }
        passed &= command.status()?.success();
    }
    let report = std::fs::read_to_string(root.join(REPORT_PATH)).unwrap_or_default();
    skipped_parts(&report).iter().for_each(|part| println!("{part}"));
    if passed { Ok(()) } else { Err(TestRunnerError::Tests) }
}

/// Returns the different lines of a report with which tests named what they left out.
fn skipped_parts(report: &str) -> BTreeSet<String> {
    let lines = report.lines().filter_map(|line| line.find("SKIP: ").map(|at| line.split_at(at).1));
    lines.map(|line| unescape(line.split("</system-").next().unwrap_or(line))).collect()
}

/// Returns a text of XML as it was written.
fn unescape(text: &str) -> String {
    let names = [("&apos;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
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
    /// Whether each of the tests needs all threads.
    fn needs_machine(&self) -> bool {
        self.threads_required.as_ref().is_some_and(|threads| threads.as_integer() != Some(1))
    }

    /// Whether the tests share a bound with others.
    fn shares_bound(&self) -> bool {
        self.test_group.is_some()
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

/// Writes a script. Another process writes it: a child that another test starts meanwhile would inherit the open file,
/// and a file that is open for writing cannot be executed.
#[cfg(test)]
pub(crate) fn write_program(path: &Path, script: &str) {
    let written = Command::new("sh")
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .arg(script)
        .status();
    assert!(written.unwrap().success());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let commands = |runner: TestRunner, which: Tests| {
            let commands = runner.commands(root.path(), which, 3).unwrap();
            commands.iter().map(arguments).collect::<Vec<_>>()
        };
        let test = "test --locked --no-fail-fast --workspace --lib --bins --tests --features ibeam/nats --";
        assert_eq!(
            commands(TestRunner::CargoTest, Tests::Shared),
            [
                format!("{test} --test-threads 6 --skip fork_bomb --skip the_real_model --skip clock::"),
                format!("{test} --test-threads=1 clock::"),
            ]
        );
        assert_eq!(
            commands(TestRunner::CargoTest, Tests::Alone),
            [format!("{test} --test-threads=1 fork_bomb the_real_model")]
        );
        let nextest =
            "nextest run --locked --no-fail-fast --workspace --lib --bins --tests --features ibeam/nats -E";
        let alone = "test(fork_bomb) or test(the_real_model)";
        assert_eq!(
            commands(TestRunner::Nextest("cargo".into()), Tests::Shared),
            [format!("{nextest} not ({alone}) --test-threads 6")]
        );
        assert_eq!(
            commands(TestRunner::Nextest("cargo".into()), Tests::Alone),
            [format!("{nextest} {alone} --test-threads 1")]
        );
    }

    #[test]
    fn end_to_end_tests_start_a_program_with_the_features_of_all_tests() {
        let script = include_str!("../../.config/build_program.sh");
        assert!(script.contains(&format!(" --locked {} ", TEST_FEATURES.join(" "))));
    }

    #[test]
    fn what_tests_left_out_is_listed_once() {
        let report = "<system-err>SKIP: no one&apos;s Chromium</system-err>\n<out>\nSKIP: no server\nok\n SKIP: no server\n";
        assert_eq!(
            skipped_parts(report).into_iter().collect::<Vec<_>>(),
            ["SKIP: no one's Chromium", "SKIP: no server"]
        );
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
        for which in [Tests::Shared, Tests::Alone] {
            assert!(TestRunner::CargoTest.commands(&crate::root(), which, 2).is_ok());
        }
    }
}
