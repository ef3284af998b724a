//! `cargo xtask clients`: third-party clients start this program under the names that they expect, and must parse the
//! output of the program.
//!
//! Each client is installed at a pinned version into `target/clients` and run by its `clients/NAME/drive.py`, against a
//! scripted model. The report of the driver is compared with the output, and the output is checked against the
//! contract.

mod client;
mod environment;
mod install;
mod program_call;
mod verdict;

use std::path::Path;

use client::{CLIENTS, Client};
pub(crate) use environment::embedded_model;
use environment::{ClientEnvironment, Model};
use install::Installed;
pub(crate) use install::{Installer, NO_PYTHON, pinned_versions};

use crate::suite::{ProgramOption, SuiteContext, SuiteError, SuiteResult};

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these clients, e.g. harbor [default: all]
    #[arg(value_name = "NAME", value_parser = CLIENTS.map(|client| client.name))]
    names: Vec<String>,
    #[command(flatten)]
    program: ProgramOption,
    /// Run one client with the embedded model instead of the script
    #[arg(long)]
    embedded: bool,
}

impl Options {
    fn includes(&self, client: &Client) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| name == client.name);
        named && !(self.embedded && client.embedded.is_none())
    }
}

/// Runs the clients that the options select and prints a verdict for each run.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), SuiteError> {
    if !CLIENTS.iter().any(|client| options.includes(client)) {
        return Err(SuiteError::Failed("none of these clients runs with the embedded model".to_owned()));
    }
    let suite = if options.embedded { "clients-embedded" } else { "clients" };
    SuiteContext::new(root, &options.program)?.run_part(suite, options.names.is_empty(), |context, result| {
        let model = match options.embedded.then(embedded_model) {
            None => Model::Scripted,
            Some(Some(file)) => Model::Embedded(file),
            Some(None) => {
                let missing = "the embedded model is not installed; run `ibeam setup`";
                return Err(SuiteError::Missing(missing.to_owned()));
            }
        };
        for client in CLIENTS.iter().filter(|client| options.includes(client)) {
            let installed = result.available(client.name, context.installer.install(client))?;
            let Some(installed) = installed else { continue };
            result.versions.push(format!("{} `{}` {}", client.registry(), client.name, installed.version));
            for (mode, contract) in client.modes_and_contracts(options.embedded) {
                let program = &context.program;
                let environment = ClientEnvironment::create(root, program, client, mode, contract, &model)?;
                run_one(&installed, client, environment, result)?;
            }
        }
        Ok(())
    })
}

/// Runs one client in one environment, and prints and counts the verdict.
fn run_one(
    installed: &Installed,
    client: &Client,
    environment: ClientEnvironment,
    result: &mut SuiteResult,
) -> Result<(), SuiteError> {
    let observed = environment.run_driver(installed)?;
    let label = format!(
        "{} {}, {}, contract {}",
        client.name, installed.version, environment.mode, environment.contract
    );
    let misreads = client.misreads == Some(environment.contract);
    match verdict::evaluate(&environment, &observed, misreads)? {
        Ok(matched) => {
            let how = if misreads { "misread as documented in docs/clients.md;  " } else { "" };
            result.add(&label, true, &format!(": {how}{matched}"));
        }
        Err(reasons) => {
            let files = environment.keep_files();
            result.add(&label, false, &format!("\n{reasons}\n     files: {}", files.display()));
        }
    }
    for call in &observed.calls {
        println!("       {}", call.display_line());
    }
    Ok(())
}
