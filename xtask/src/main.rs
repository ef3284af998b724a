//! The checks and development tasks of the repository: `cargo xtask SUBCOMMAND`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the subcommands are command line programs for developers"
)]

mod additions;
mod bench;
mod callgrind;
mod clients;
mod conformance;
mod distribution;
mod editors;
mod embedding;
mod faults;
mod fleet;
mod fleet_nats;
mod full_size_tests;
mod harbor_tasks;
mod interpreter;
mod local_eval;
mod model_facts;
mod mutations;
mod schema;
mod sdk_types;
mod sdks;
mod servers;
mod size;
mod suite;
mod test;
mod test_runner;
mod tidy;
mod traces;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};
use ibeam_testkit::{build_workspace_program, cargo_command};

use suite::{ProgramOption, SuiteError};

/// The checks and development tasks of the repository
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Add one throw-away thing of six kinds to a copy of the tree, and check that it compiles
    Additions,
    /// Run the benches; prints one table
    Bench(bench::Options),
    /// Resume a session of 10,000 turns and receive long answers; prints time and memory
    Bounds,
    /// Run third-party clients with the program; prints what they parsed
    Clients(clients::Options),
    /// Run official suites of protocols with the program; writes docs/conformance.md
    Conformance(conformance::Options),
    /// Run every case of a file of attacks with the real program, as root and as nobody
    Corpus {
        #[arg(value_parser = ["attacks"])]
        corpus: String,
        /// [FILE.jsonl…] and the options of the runner: --only IDS, --part K/N, --bare, --unfenced, --bin PATH and others
        #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Build the program as it is distributed; prints its path
    Dist {
        /// Include the engine of the embedded model and the client of queues
        #[arg(long)]
        everything: bool,
    },
    /// Run clients of the Agent Client Protocol with `ibeam acp`, and check every line
    Editors(editors::Options),
    /// Build and run a program outside of the workspace that embeds the agent
    Embedding,
    /// Write docs/faults.md from the corpus of faults and their tests
    Faults,
    /// Run fleets of scripted tasks while processes are killed and requests refused
    Fleet(fleet::Options),
    /// Run fleets over many machines with the real NATS server
    FleetNats(fleet_nats::Options),
    /// Send an endless output through a release build; prints time and memory
    Flood {
        /// [default: ten gigabytes]
        #[arg(default_value_t = 10 << 30, hide_default_value = true)]
        bytes: u64,
    },
    /// Let harbor run ten simple tasks with the program, without containers
    Harbor(ProgramOption),
    /// Kill the program at each step of many runs; prints what was lost
    KillSweep(full_size_tests::KillSweepOptions),
    /// Run the small tasks on the embedded model; prints score and speed
    LocalEval(local_eval::Options),
    /// Write the man pages of all commands
    Man {
        /// The directory, which is created if it is missing
        directory: PathBuf,
    },
    /// Write the table of models from two pinned packages, and the list of their conflicts
    ModelFacts,
    /// Remove protections one by one; some test must fail for each
    Mutations {
        /// Only the protections whose names contain this word [default: all]
        word: Option<String>,
    },
    /// Run the tests of the workspace that may run at the same time as others
    RunTests {
        /// Run those that need the machine alone instead
        #[arg(long)]
        alone: bool,
    },
    /// Write docs/schema and types from the wire types
    Schema,
    /// Write docs/screens from a scripted conversation
    Screens,
    /// Write the types of requests from pinned packages of the official client libraries
    SdkTypes {
        /// Only compare the types with the committed file
        #[arg(long)]
        check: bool,
    },
    /// Run the SDKs of Claude Code and Codex with the program in its dialects
    Sdks(ProgramOption),
    /// Let the program use the servers of LiteLLM and llama.cpp over each of their APIs
    Servers(servers::Options),
    /// Build the distribution; prints size and instructions, and fails over the limits
    Size {
        /// Only measure the program without the embedded engine
        #[arg(long)]
        without_engine: bool,
    },
    /// Set up the requirements of the tests, then run every check and every test
    Test(test::Options),
    /// Check the edges between crates, files, words, and what must change together
    Tidy,
    /// Let Chromium and libraries of others read the exports of recorded runs
    Traces(ProgramOption),
    /// Play recorded answers of model services into the decoders; prints differences
    Traffic {
        /// The directory of recorded answers
        path: String,
        /// --wire WIRE, --id ID, --chunking all|random|whole, --cut, --part K/N, or --mirror: compare the decoders with the
        /// official client libraries on a sample
        #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match distribution::linker::is_called() {
        true => distribution::linker::run().map_err(Into::into),
        false => run(Arguments::parse().chore),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<(), Box<dyn Error>> {
    let root = &root();
    match chore {
        Chore::Additions => additions::run(root)?,
        Chore::Bench(options) => bench::run(root, &options)?,
        Chore::Bounds => full_size_tests::run_bounds(root)?,
        Chore::Clients(options) => clients::run(root, &options)?,
        Chore::Conformance(options) => conformance::run(root, &options)?,
        Chore::Corpus { corpus: _, options } => run_attacks(root, &options)?,
        Chore::Dist { everything } => distribution::run(root, everything)?,
        Chore::Editors(options) => editors::run(root, &options)?,
        Chore::Embedding => embedding::run(root)?,
        Chore::Faults => faults::run(root)?,
        Chore::Fleet(options) => fleet::run(root, &options)?,
        Chore::FleetNats(options) => fleet_nats::run(root, &options)?,
        Chore::Flood { bytes } => full_size_tests::run_flood(root, bytes)?,
        Chore::Harbor(program) => harbor_tasks::run(root, &program)?,
        Chore::KillSweep(options) => full_size_tests::run_kill_sweep(root, &options)?,
        Chore::LocalEval(options) => local_eval::run(root, &options)?,
        Chore::Man { directory } => write_man_pages(root, &directory)?,
        Chore::ModelFacts => model_facts::run(root)?,
        Chore::Mutations { word } => mutations::run(root, word.as_deref())?,
        Chore::RunTests { alone } => test_runner::run(root, alone)?,
        Chore::Schema => schema::run(root)?,
        Chore::Screens => write_screens(root)?,
        Chore::SdkTypes { check } => sdk_types::run(root, check)?,
        Chore::Sdks(program) => sdks::run(root, &program)?,
        Chore::Servers(options) => servers::run(root, &options)?,
        Chore::Size { without_engine } => size::run(root, without_engine)?,
        Chore::Test(options) => test::run(root, &options)?,
        Chore::Tidy => tidy::run(root)?,
        Chore::Traces(program) => traces::run(root, &program)?,
        Chore::Traffic { path, options } => run_traffic(root, path, options)?,
    }
    Ok(())
}

/// Runs the attack runner with the arguments after `corpus attacks`.
fn run_attacks(root: &Path, options: &[String]) -> Result<(), SuiteError> {
    let suite = match options.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some("attacks"),
        ["--unfenced"] => Some("attacks-sandbox"),
        ["--bare"] => Some("attacks-bare"),
        // Only a part of the cases, or another program.
        _ => None,
    };
    run_program(root, suite, "ibeam-attacks", options, Vec::new())
}

/// Writes the images of screens. The test that compares them with the display can write them too.
fn write_screens(root: &Path) -> Result<(), SuiteError> {
    let mut command = cargo_command();
    command.args([
        "test",
        "-q",
        "-p",
        "ibeam-tui",
        "--test",
        "screen",
        "--",
        "--ignored",
        "write_the_screens",
    ]);
    run_writer(command.current_dir(root), "screens")
}

/// Writes the man pages into a directory, which is created if it is missing. The test of the pages writes them.
fn write_man_pages(root: &Path, directory: &Path) -> Result<(), SuiteError> {
    let absolute = std::path::absolute(directory).map_err(SuiteError::system(directory.display()))?;
    let mut command = cargo_command();
    command.args(["test", "-q", "-p", "ibeam", "--bin", "ibeam", "--no-default-features"]);
    command.arg("every_command_has_a_man_page").env("IBEAM_MAN_DIR", &absolute);
    run_writer(command.current_dir(root), "man pages")
}

/// Runs a test that writes files.
fn run_writer(command: &mut Command, what: &str) -> Result<(), SuiteError> {
    match command.status().map_err(SuiteError::system("cargo"))? {
        status if status.success() => Ok(()),
        status => Err(SuiteError::Failed(format!("the {what} were not written: {status}"))),
    }
}

/// Runs the player of recorded traffic. For `--mirror`, installs the client libraries first.
fn run_traffic(root: &Path, path: String, mut options: Vec<String>) -> Result<(), SuiteError> {
    let suite = match options.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--cut"] => Some("traffic"),
        ["--mirror"] => Some("traffic-mirror"),
        _ => None,
    };
    let mut versions = Vec::new();
    if let Some(at) = options.iter().position(|option| option == "--mirror") {
        let folder = root.join("clients/libraries");
        let (pins, directory) = (folder.join("requirements.txt"), root.join("target/libraries"));
        let python = match clients::Installer::new(root).install_from_pypi(&pins, &directory, 12) {
            Ok(python) => python,
            Err(error) => {
                println!("SKIP: the client libraries are not compared: {error}");
                return Ok(());
            }
        };
        versions = clients::pinned_versions(&pins, &["anthropic", "google-genai", "openai"]);
        let paths = [python, folder.join("parse.py")].map(|path| path.display().to_string());
        options.splice(at..=at, ["--mirror-with".to_owned()].into_iter().chain(paths));
    }
    options.insert(0, path);
    run_program(root, suite, "ibeam-traffic", &options, versions)
}

/// Builds and runs a program of the workspace, and records its counts as the result of a suite.
fn run_program(
    root: &Path,
    suite: Option<&str>,
    package: &str,
    args: &[String],
    versions: Vec<String>,
) -> Result<(), SuiteError> {
    let mut command = Command::new(build_workspace_program(root, package)?);
    command.args(args);
    match conformance::record_program(root, suite, command, versions)? {
        true => Ok(()),
        false => Err(SuiteError::Failed(format!("`{package}` failed"))),
    }
}

/// Returns the root directory of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Arguments, Chore};

    fn parse(line: &str) -> Result<Chore, clap::Error> {
        Arguments::try_parse_from(line.split_whitespace()).map(|arguments| arguments.chore)
    }

    #[test]
    fn the_definition_of_the_arguments_is_valid() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_of_the_gate_is_one_of_this_program() {
        for line in crate::test::command_lines() {
            if let Some(words) = line.strip_prefix("cargo ").filter(|words| words.starts_with("xtask ")) {
                assert!(parse(words).is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn arguments_are_checked() {
        for line in [
            "fleet",
            "fleet 10 --peers 20 --bin ibeam",
            "fleet --sizes --waiting 5",
            "fleet-nats kills --tasks 30",
        ] {
            assert!(parse(&format!("xtask {line}")).is_ok(), "{line}");
        }
        for line in [
            "",
            "unknown",
            "bench nothing-like-this",
            "clients nobody",
            "conformance sdks",
            "corpus other",
            "fleet 0",
            "fleet --peers",
            "fleet-nats --tasks 0",
            "fleet-nats other",
            "harbor --bin",
            "man",
            "servers other",
            "tidy now",
        ] {
            assert!(parse(&format!("xtask {line}")).is_err(), "{line}");
        }
    }

    #[test]
    fn options_of_other_programs_are_passed_on() {
        let Ok(Chore::Corpus { options, .. }) = parse("xtask corpus attacks --part 0/4 file.jsonl --bin x")
        else {
            panic!("not parsed");
        };
        assert_eq!(options, ["--part", "0/4", "file.jsonl", "--bin", "x"]);
        let Ok(Chore::Traffic { path, options }) = parse("xtask traffic ../traffic --cut --part 1/8") else {
            panic!("not parsed");
        };
        assert_eq!((path.as_str(), options.join(" ").as_str()), ("../traffic", "--cut --part 1/8"));
    }
}
