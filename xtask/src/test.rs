//! Every check and every test, after setting up what they need: the README's second command.

use std::path::Path;
use std::process::Command;

/// Why the checks ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// A program could not be started.
    #[error("cannot start `{0}`: {1}")]
    Start(String, std::io::Error),
    /// A check failed; it has said why.
    #[error("`{0}` failed")]
    Check(String),
}

/// Runs it all; the first failure ends it.
pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    if !works("cargo", &["nextest", "--version"]) {
        step(root, &["cargo", "install", "--locked", "cargo-nextest"])?;
    }
    step(root, &["cargo", "fmt", "--all", "--check"])?;
    step(root, &["cargo", "xtask", "tidy"])?;
    step(root, &["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    // The program without the embedded model's engine is distributed too.
    let without =
        ["cargo", "clippy", "-p", "ibeam", "--no-default-features", "--locked", "--", "-D", "warnings"];
    step(root, &without)?;
    // The tests that generate with the real model need it; they say SKIP and why without it.
    let model = std::env::var_os("IBEAM_TEST_NO_MODEL").is_none();
    if model && step(root, &["cargo", "run", "--locked", "-p", "ibeam", "--", "setup"]).is_err() {
        eprintln!("warning: the embedded model could not be set up; the tests that need it will say SKIP");
    }
    step(root, &["cargo", "nextest", "run", "--workspace", "--all-targets", "--locked"])?;
    step(root, &["cargo", "test", "--workspace", "--doc", "--locked"])?;
    step(root, &["cargo", "xtask", "clients"])?;
    if model {
        step(root, &["cargo", "xtask", "clients", "--embedded"])?;
    }
    step(root, &["cargo", "xtask", "sdks"])?;
    step(root, &["cargo", "xtask", "size", "--without-engine"])?;
    // The attacks do harm where nothing holds them back, none where only the sandbox does, and none with the program.
    step(root, &["cargo", "xtask", "corpus", "attacks", "--bare"])?;
    step(root, &["cargo", "xtask", "corpus", "attacks", "--unfenced"])?;
    step(root, &["cargo", "xtask", "corpus", "attacks"])
}

fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn step(root: &Path, command: &[&str]) -> Result<(), Failed> {
    let said = command.join(" ");
    println!("\n== {said}");
    let Some((program, args)) = command.split_first() else { return Ok(()) };
    let status = Command::new(program)
        .args(args)
        .current_dir(root)
        .status()
        .map_err(|error| Failed::Start(said.clone(), error))?;
    if status.success() { Ok(()) } else { Err(Failed::Check(said)) }
}
