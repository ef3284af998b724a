//! `cargo xtask clients`: programs that others wrote start this one under the names they know, and must read what it says.
//!
//! Each client is installed at a pinned version into `target/clients` and driven by its `clients/NAME/drive.py`, against a
//! scripted model. What it reports is held against what was printed, and what was printed against the contract.

mod client;
mod environment;
mod install;
mod program_call;
mod verdict;

use std::path::{Path, PathBuf};

use client::{CLIENTS, Client};
use environment::{Environment, Model};
use install::{Installed, Installer};

use ibeam_testkit::{BuildError, build_program};

const USAGE: &str = "\
usage: cargo xtask clients [NAME…] [--bin PATH] [--embedded]

  NAME         these clients, e.g. harbor [default: all]
  --bin PATH   the program [default: a debug build]
  --embedded   one client with the embedded model in place of the script";

/// Why not every client passed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientsError {
    /// The words after the command.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// Something could not be started, read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// A client could not be installed, or does not fit; it has been said why.
    #[error("{0} failed")]
    Setup(String),
    /// Already printed.
    #[error("{0} run(s) of clients failed")]
    Runs(usize),
}

impl ClientsError {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// Runs what `words` say and prints a verdict for each run.
pub(crate) fn run(root: &Path, args: impl Iterator<Item = String>) -> Result<(), ClientsError> {
    let options = Options::parse(args)?;
    let program = match &options.program {
        Some(path) => path.canonicalize().map_err(ClientsError::system(path.display()))?,
        None => build_program(root, &[])?,
    };
    let model = match options.embedded.then(environment::embedded_model) {
        None => Model::Scripted,
        Some(Some(file)) => Model::Embedded(file),
        Some(None) => {
            eprintln!("SKIP: the embedded model is not set up on this machine; `ibeam setup` installs it");
            return Ok(());
        }
    };
    let installer = Installer::new(root);
    let mut tally = Tally::default();
    for client in CLIENTS.iter().filter(|client| options.includes(client)) {
        match installer.install(client)? {
            Ok(installed) => {
                for (mode, contract) in client.modes_and_contracts(options.embedded) {
                    let environment = Environment::create(root, &program, client, mode, contract, &model)?;
                    tally.run_one(&installed, client, environment)?;
                }
            }
            Err(missing) => {
                eprintln!("SKIP: {}: {missing}", client.name);
                tally.skipped += 1;
            }
        }
    }
    let Tally { passed, failed, skipped } = tally;
    println!("clients: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(ClientsError::Runs(failed)) }
}

/// How many runs ended how, and clients that are not to be had.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// Plays one run and says how it ended.
    fn run_one(
        &mut self,
        installed: &Installed,
        client: &Client,
        environment: Environment,
    ) -> Result<(), ClientsError> {
        let observed = environment.run_driver(installed)?;
        let label = format!(
            "{} {}, {}, contract {}",
            client.name, installed.version, environment.mode, environment.contract
        );
        let misreads = client.misreads == Some(environment.contract);
        match verdict::judge(&environment, &observed, misreads)? {
            Ok(matched) => {
                let how = if misreads { "misread as docs/clients.md says; " } else { "" };
                self.passed += 1;
                println!("PASS {label}: {how}{matched}");
            }
            Err(reasons) => {
                self.failed += 1;
                println!("FAIL {label}\n{reasons}\n     kept: {}", environment.keep_files().display());
            }
        }
        for call in &observed.calls {
            println!("       {}", call.display_line());
        }
        Ok(())
    }
}

/// What was asked for.
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
                    return Err(ClientsError::Usage(format!("`{arg}` is none of {}", names.join(", "))));
                }
            }
        }
        match CLIENTS.iter().any(|client| options.includes(client)) {
            true => Ok(options),
            false => {
                Err(ClientsError::Usage("no client of these is tried with the embedded model".to_owned()))
            }
        }
    }

    fn includes(&self, client: &Client) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| name == client.name);
        named && !(self.embedded && client.embedded.is_none())
    }
}
