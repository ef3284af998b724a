//! `cargo xtask test`: sets up the requirements of the tests, then runs every check and every test.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ibeam_testkit::{BuildError, build_program};

use crate::size;

/// A failed step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    /// A program could not be started.
    #[error("cannot start `{0}`: {1}")]
    Start(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// A check failed and has printed the reason.
    #[error("`{0}` failed")]
    Check(String),
}

/// Runs all steps until the first failure.
pub(crate) fn run(root: &Path) -> Result<(), TestError> {
    if !is_available("cargo", &["nextest", "--version"]) {
        run_step(root, &["cargo", "install", "--locked", "cargo-nextest"])?;
    }
    run_step(root, &["cargo", "fmt", "--all", "--check"])?;
    run_step(root, &["cargo", "xtask", "tidy"])?;
    run_step(root, &["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    // The program is also distributed without the engine of the embedded model.
    let without =
        ["cargo", "clippy", "-p", "ibeam", "--no-default-features", "--locked", "--", "-D", "warnings"];
    run_step(root, &without)?;
    // The tests that generate with the real model print SKIP and the reason without it.
    let model = std::env::var_os("IBEAM_TEST_NO_MODEL").is_none();
    let program = build_program(root)?;
    if model && run_step(root, &[&program.to_string_lossy(), "setup"]).is_err() {
        eprintln!("warning: the embedded model could not be set up; the tests that need it print SKIP");
    }
    run_step(root, &["cargo", "nextest", "run", "--workspace", "--all-targets", "--locked"])?;
    run_step(root, &["cargo", "test", "--workspace", "--doc", "--locked"])?;
    run_step(root, &["cargo", "xtask", "clients"])?;
    if model {
        run_step(root, &["cargo", "xtask", "clients", "--embedded"])?;
    }
    run_step(root, &["cargo", "xtask", "sdks"])?;
    run_step(root, &["cargo", "xtask", "sdk-types", "--check"])?;
    run_step(root, &["cargo", "xtask", "conformance"])?;
    run_step(root, &["cargo", "xtask", "editors"])?;
    run_step(root, &["cargo", "xtask", "servers"])?;
    run_step(root, &["cargo", "xtask", "fleet-nats"])?;
    run_step(root, &["cargo", "xtask", "harbor"])?;
    run_step(root, &["cargo", "xtask", "traces"])?;
    run_step(root, &["cargo", "xtask", "size", "--without-engine"])?;
    // The steps with thousands of processes use the distribution, which starts many times as fast as the build above.
    let program = size::build_distribution(root)?;
    let bin = ["--bin", &program.to_string_lossy()];
    run_step(root, &[&["cargo", "xtask", "fleet"], &bin[..]].concat())?;
    // The attacks must succeed without protection, and must fail with only the sandbox and with the complete program. The
    // complete program is tested with every attack, the other two with a sample; without `--every`, the command runs all.
    for mode in [&["--bare", "--every", "4"][..], &["--unfenced", "--every", "4"], &[]] {
        run_step(root, &[&["cargo", "xtask", "corpus", "attacks"], mode, &bin].concat())?;
    }
    Ok(())
}

fn is_available(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn run_step(root: &Path, command: &[&str]) -> Result<(), TestError> {
    let command_line = command.join(" ");
    println!("\n== {command_line}");
    let Some((program, args)) = command.split_first() else { return Ok(()) };
    let started = Instant::now();
    let status = Command::new(program)
        .args(args)
        .current_dir(root)
        .status()
        .map_err(|error| TestError::Start(command_line.clone(), error))?;
    println!("== {} s: {command_line}", started.elapsed().as_secs());
    if status.success() { Ok(()) } else { Err(TestError::Check(command_line)) }
}
