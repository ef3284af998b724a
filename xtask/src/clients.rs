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

use std::path::{Path, PathBuf};

pub(crate) use client::ClientsError;
use client::{CLIENTS, Client};
pub(crate) use environment::embedded_model;
use environment::{ClientEnvironment, Model};
use install::Installed;
pub(crate) use install::{Installer, MissingRequirement, pinned_versions};

use ibeam_testkit::build_program;

use crate::conformance::{Counts, SuiteResult, record};

/// Runs the clients that `args` select and prints a verdict for each run.
pub(crate) fn run(root: &Path, args: impl Iterator<Item = String>) -> Result<(), ClientsError> {
    let options = Options::parse(args)?;
    let program = match &options.program {
        Some(path) => path.canonicalize().map_err(ClientsError::system(path.display()))?,
        None => build_program(root)?,
    };
    let model = match options.embedded.then(environment::embedded_model) {
        None => Model::Scripted,
        Some(Some(file)) => Model::Embedded(file),
        Some(None) => {
            eprintln!("SKIP: the embedded model is not installed; run `ibeam setup`");
            return Ok(());
        }
    };
    let installer = Installer::new(root);
    let mut tally = Tally::default();
    for client in CLIENTS.iter().filter(|client| options.includes(client)) {
        match installer.install(client)? {
            Ok(installed) => {
                tally.versions.push(format!("{} `{}` {}", client.registry(), client.name, installed.version));
                for (mode, contract) in client.modes_and_contracts(options.embedded) {
                    let environment =
                        ClientEnvironment::create(root, &program, client, mode, contract, &model)?;
                    tally.run_one(&installed, client, environment)?;
                }
            }
            Err(missing) => {
                eprintln!("SKIP: {}: {missing}", client.name);
                tally.counts.skipped += 1;
            }
        }
    }
    let Tally { counts, versions } = tally;
    let Counts { passed, failed, skipped, .. } = counts;
    println!("clients: {passed} passed, {failed} failed, {skipped} skipped");
    if options.names.is_empty() {
        let suite = if options.embedded { "clients-embedded" } else { "clients" };
        record(root, suite, SuiteResult { versions, counts, details: Vec::new() })?;
    }
    if failed == 0 { Ok(()) } else { Err(ClientsError::Runs(failed)) }
}

/// The results of all clients.
#[derive(Default)]
struct Tally {
    /// The numbers of passed and failed runs, and of clients that this machine cannot run.
    counts: Counts,
    /// The clients that ran, with their versions.
    versions: Vec<String>,
}

impl Tally {
    /// Runs one client in one environment, and prints and counts the verdict.
    fn run_one(
        &mut self,
        installed: &Installed,
        client: &Client,
        environment: ClientEnvironment,
    ) -> Result<(), ClientsError> {
        let observed = environment.run_driver(installed)?;
        let label = format!(
            "{} {}, {}, contract {}",
            client.name, installed.version, environment.mode, environment.contract
        );
        let misreads = client.misreads == Some(environment.contract);
        match verdict::evaluate(&environment, &observed, misreads)? {
            Ok(matched) => {
                let how = if misreads { "misread as documented in docs/clients.md;  " } else { "" };
                self.counts.passed += 1;
                println!("PASS {label}: {how}{matched}");
            }
            Err(reasons) => {
                self.counts.failed += 1;
                println!("FAIL {label}\n{reasons}\n     files: {}", environment.keep_files().display());
            }
        }
        for call in &observed.calls {
            println!("       {}", call.display_line());
        }
        Ok(())
    }
}

/// The parsed arguments.
struct Options {
    names: Vec<String>,
    program: Option<PathBuf>,
    embedded: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, ClientsError> {
        let mut options = Self { names: Vec::new(), program: None, embedded: false };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--embedded" => options.embedded = true,
                "--bin" => {
                    let path = args.next().ok_or(ClientsError::Usage("`--bin` needs a path".to_owned()))?;
                    options.program = Some(path.into());
                }
                name if CLIENTS.iter().any(|client| client.name == name) => options.names.push(arg),
                _ => {
                    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
                    return Err(ClientsError::Usage(format!(
                        "unknown client `{arg}`; use one of: {}",
                        names.join(", ")
                    )));
                }
            }
        }
        match CLIENTS.iter().any(|client| options.includes(client)) {
            true => Ok(options),
            false => {
                Err(ClientsError::Usage("none of these clients runs with the embedded model".to_owned()))
            }
        }
    }

    fn includes(&self, client: &Client) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| name == client.name);
        named && !(self.embedded && client.embedded.is_none())
    }
}
