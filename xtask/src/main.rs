//! The checks and development tasks of the repository: `cargo xtask SUBCOMMAND`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the subcommands are command line programs for developers"
)]

mod bench;
mod callgrind;
mod clients;
mod conformance;
mod distribution;
mod editors;
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
mod test;
mod test_runner;
mod tidy;
mod traces;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ibeam_testkit::{build_workspace_program, cargo_command};

const USAGE: &str = "\
usage: cargo xtask SUBCOMMAND

  bench [--quick] [WORD…]
          run the benches, all or those with a word in their names; prints one table
  bounds  resume a session of 10,000 turns and receive long answers; prints time and memory
  clients [NAME…] [--bin PATH] [--embedded]
          run third-party clients with this program; prints what they parsed
  conformance [SUITE…] [--bin PATH] [--page]
          run official suites of protocols with this program; writes docs/conformance.md, as do the
          subcommands that run the other suites
  corpus attacks [FILE.jsonl] [OPTION…]
          run every case of a file of attacks with the real program, as root and as nobody
  dist [--everything]
          build the program as it is distributed, without the embedded engine and the client of queues or with
          everything; prints its path
  editors [--bin PATH] [--runners DIR]
          run clients of the Agent Client Protocol with `ibeam acp`; compares every line with the schema
  faults  write docs/faults.md from the corpus of faults and their tests
  fleet [TASKS] [--peers TASKS] [--bin PATH]
          run a fleet of scripted tasks while processes are killed, and fleets whose provider refuses requests;
          with --peers, compare a fleet with GNU parallel and a pool of threads in Python
  fleet-nats [tests] [launchers] [kills] [--tasks N] [--bin PATH]
          run fleets over many machines with the real NATS server: their tests, the documented launchers, and a
          fleet whose processes and servers are killed
  flood [BYTES]
          send ten gigabytes of output through a release build; prints time and memory
  harbor [--bin PATH]
          let harbor run ten simple tasks with the program, without containers
  kill-sweep [SEED] [--bin PATH]
          kill the program at each step of many runs and at random instants; prints what was lost
  local-eval [NAME…]
          run the small tasks on the embedded model; prints score and speed
  man DIR write the man pages of all commands
  model-facts
          write the table of models from two pinned packages of the registries, and the list of their conflicts
  mutations [WORD]
          remove protections one by one; some test must fail for each
  run-tests [--alone]
          run the tests of the workspace that may run at the same time as others, or those that need the machine alone
  screens write docs/screens from a scripted conversation
  schema  write docs/schema and types from the wire types
  sdk-types [--check]
          write the types of requests from pinned packages of the official client libraries, or compare them
  sdks [--bin PATH]
          run the SDKs of Claude Code and Codex with the program in its dialects
  servers [NAME…] [--bin PATH]
          let the program use the servers of LiteLLM and llama.cpp over each of their APIs
  size [--without-engine]
          build the program as it is distributed, with the embedded engine and without; prints size and
          instructions, and fails over the limits
  traces [--bin PATH]
          let Chromium and the libraries of OpenTelemetry and ATIF read the exports of recorded runs
  traffic PATH [--wire WIRE] [--id ID] [--chunking all|random|whole] [--cut] [--part K/N]
          play recorded answers of model services into the decoders; prints differences and one table
  traffic PATH --mirror
          compare the decoders with the official client libraries on a sample of recorded answers
  tidy    check the edges between crates, files, words, and what must change together
  test [--all] [--traffic PATH]
          set up the requirements of the tests, then run every check and every test; sweeps are samples that change
          with each commit, or complete with --all
";

fn main() -> ExitCode {
    if distribution::linker::is_called() {
        return exit_code(distribution::linker::run().map_err(|error| error.to_string()));
    }
    let mut args = std::env::args().skip(1);
    let subcommand = args.next().unwrap_or_default();
    let result = match subcommand.as_str() {
        "bench" => bench::run(&root(), args).map_err(|error| error.to_string()),
        "bounds" => full_size_tests::run_bounds(&root()).map_err(|error| error.to_string()),
        "clients" => clients::run(&root(), args).map_err(|error| error.to_string()),
        "conformance" => conformance::run(&root(), args).map_err(|error| error.to_string()),
        "corpus" => run_attacks(&root(), args),
        "dist" => distribution::run(&root(), args).map_err(|error| error.to_string()),
        "editors" => editors::run(&root(), args).map_err(|error| error.to_string()),
        "faults" => faults::run(&root()).map_err(|error| error.to_string()),
        "fleet" => fleet::run(&root(), args).map_err(|error| error.to_string()),
        "fleet-nats" => fleet_nats::run(&root(), args).map_err(|error| error.to_string()),
        "flood" => {
            full_size_tests::run_flood(&root(), args.next().as_deref()).map_err(|error| error.to_string())
        }
        "harbor" => harbor_tasks::run(&root(), args).map_err(|error| error.to_string()),
        "kill-sweep" => full_size_tests::run_kill_sweep(&root(), args).map_err(|error| error.to_string()),
        "local-eval" => {
            let args: Vec<String> = args.collect();
            local_eval::run(&root(), &args).map_err(|error| error.to_string())
        }
        "man" => write_man_pages(&root(), args.next().as_deref()),
        "sdk-types" => sdk_types::run(&root(), args).map_err(|error| error.to_string()),
        "model-facts" => model_facts::run(&root()).map_err(|error| error.to_string()),
        "mutations" => mutations::run(&root(), args.next().as_deref()).map_err(|error| error.to_string()),
        "schema" => schema::run(&root()).map_err(|error| error.to_string()),
        "run-tests" => test_runner::run(&root(), args).map_err(|error| error.to_string()),
        "screens" => write_screens(&root()),
        "sdks" => sdks::run(&root(), args).map_err(|error| error.to_string()),
        "servers" => servers::run(&root(), args).map_err(|error| error.to_string()),
        "size" => size::run(&root(), args.next().as_deref()).map_err(|error| error.to_string()),
        "traces" => traces::run(&root(), args).map_err(|error| error.to_string()),
        "traffic" => run_traffic(&root(), args),
        "tidy" => tidy::run(&root()).map_err(|error| error.to_string()),
        "test" => test::run(&root(), args).map_err(|error| error.to_string()),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    exit_code(result)
}

fn exit_code(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the attack runner with the arguments after `corpus attacks`.
fn run_attacks(root: &Path, mut args: impl Iterator<Item = String>) -> Result<(), String> {
    if args.next().as_deref() != Some("attacks") {
        return Err("usage: cargo xtask corpus attacks [FILE.jsonl…] [OPTION…]".to_owned());
    }
    let args: Vec<String> = args.collect();
    let suite = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some("attacks"),
        ["--unfenced"] => Some("attacks-sandbox"),
        ["--bare"] => Some("attacks-bare"),
        // Only a part of the cases, or another program.
        _ => None,
    };
    run_program(root, suite, "ibeam-attacks", &args, Vec::new())
}

/// Writes the images of screens. The test that compares them with the display can write them too.
fn write_screens(root: &Path) -> Result<(), String> {
    let mut command = cargo_command();
    command.current_dir(root).args(["test", "-q", "-p", "ibeam-tui", "--test", "screen", "--", "--ignored"]);
    match command.arg("write_the_screens").status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the screens were not written: {status}")),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}

/// Writes the man pages into a directory, which is created if it is missing. The test of the pages writes them.
fn write_man_pages(root: &Path, directory: Option<&str>) -> Result<(), String> {
    let directory = directory.ok_or("usage: cargo xtask man DIR")?;
    let absolute = std::path::absolute(directory).map_err(|error| error.to_string())?;
    let mut command = cargo_command();
    command.current_dir(root).args(["test", "-q", "-p", "ibeam", "--bin", "ibeam", "--no-default-features"]);
    command.arg("every_command_has_a_man_page").env("IBEAM_MAN_DIR", &absolute);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the man pages were not written: {status}")),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}

/// Runs the player of recorded traffic. For `--mirror`, installs the client libraries first.
fn run_traffic(root: &Path, args: impl Iterator<Item = String>) -> Result<(), String> {
    let mut args: Vec<String> = args.collect();
    let suite = match args.iter().skip(1).map(String::as_str).collect::<Vec<_>>()[..] {
        ["--cut"] => Some("traffic"),
        ["--mirror"] => Some("traffic-mirror"),
        _ => None,
    };
    let mut versions = Vec::new();
    if let Some(at) = args.iter().position(|arg| arg == "--mirror") {
        let folder = root.join("clients/libraries");
        let (pins, directory) = (folder.join("requirements.txt"), root.join("target/libraries"));
        let installed = clients::Installer::new(root).install_from_pypi(&pins, &directory, 12);
        let python = match installed.map_err(|error| error.to_string()) {
            Ok(Ok(python)) => python,
            Ok(Err(reason)) | Err(reason) => {
                println!("SKIP: the client libraries are not compared: {reason}");
                return Ok(());
            }
        };
        versions = clients::pinned_versions(&pins, &["anthropic", "google-genai", "openai"]);
        let paths = [python, folder.join("parse.py")].map(|path| path.display().to_string());
        args.splice(at..=at, ["--mirror-with".to_owned()].into_iter().chain(paths));
    }
    run_program(root, suite, "ibeam-traffic", &args, versions)
}

/// Builds and runs a program of the workspace, and records its counts as the result of a suite.
fn run_program(
    root: &Path,
    suite: Option<&str>,
    package: &str,
    args: &[String],
    versions: Vec<String>,
) -> Result<(), String> {
    let program = build_workspace_program(root, package).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(args);
    match conformance::record_program(root, suite, command, versions) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("`{package}` failed")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the root directory of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}
