//! `completions`: what a shell needs to complete our flags.

use std::fs::File;

use clap::CommandFactory;

use super::say;
use crate::cli::Cli;
use crate::cli_error::CliError;

pub(super) fn completions(shell: clap_complete::Shell, stdout: &mut File) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ibeam", &mut script);
    say(stdout, &String::from_utf8_lossy(&script))
}
