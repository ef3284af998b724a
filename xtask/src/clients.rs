//! `cargo xtask clients`: programs that others wrote start this one under the names they know, and must read what it says.
//!
//! Each client is installed at a pinned version into `target/clients` and driven by its `clients/NAME/drive.py`, against a
//! scripted model. What it reports is held against what was printed, and what was printed against the contract.

mod install;
mod known;
mod printed;
mod stage;
mod story;
mod verdict;

use std::path::{Path, PathBuf};

use install::{Installed, Installer};
use known::{Client, KNOWN};
use stage::{Model, Stage};

use ibeam_testkit::{BuildError, build_program};

const USAGE: &str = "\
usage: cargo xtask clients [NAME…] [--bin PATH] [--embedded]

  NAME         these clients, e.g. harbor [default: all]
  --bin PATH   the program [default: a debug build]
  --embedded   one client with the embedded model in place of the script";

/// Why not every client passed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
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

impl Failed {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// Runs what `words` say and prints a verdict for each run.
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> Result<(), Failed> {
    let options = Options::parse(words)?;
    let program = match &options.program {
        Some(path) => path.canonicalize().map_err(Failed::system(path.display()))?,
        None => build_program(root, &[])?,
    };
    let model = match options.embedded.then(stage::embedded_model) {
        None => Model::Scripted,
        Some(Some(file)) => Model::Embedded(file),
        Some(None) => {
            eprintln!("SKIP: the embedded model is not set up on this machine; `ibeam setup` installs it");
            return Ok(());
        }
    };
    let installer = Installer::new(root);
    let mut score = Score::default();
    for client in KNOWN.iter().filter(|client| options.wants(client)) {
        match installer.install(client)? {
            Ok(installed) => {
                for (mode, contract) in client.runs(options.embedded) {
                    let stage = Stage::set(root, &program, client, mode, contract, &model)?;
                    score.take(&installed, client, stage)?;
                }
            }
            Err(missing) => {
                eprintln!("SKIP: {}: {missing}", client.name);
                score.skipped += 1;
            }
        }
    }
    let Score { passed, failed, skipped } = score;
    println!("clients: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(Failed::Runs(failed)) }
}

/// How many runs ended how, and clients that are not to be had.
#[derive(Default)]
struct Score {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Score {
    /// Plays one run and says how it ended.
    fn take(&mut self, installed: &Installed, client: &Client, stage: Stage) -> Result<(), Failed> {
        let seen = stage.play(installed)?;
        let said =
            format!("{} {}, {}, contract {}", client.name, installed.version, stage.mode, stage.contract);
        let misreads = client.misreads == Some(stage.contract);
        match verdict::judge(&stage, &seen, misreads)? {
            Ok(understood) => {
                let how = if misreads { "misread as docs/clients.md says; " } else { "" };
                self.passed += 1;
                println!("PASS {said}: {how}{understood}");
            }
            Err(reasons) => {
                self.failed += 1;
                println!("FAIL {said}\n{reasons}\n     kept: {}", stage.keep().display());
            }
        }
        for call in &seen.calls {
            println!("       {}", call.line());
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
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failed> {
        let mut options = Self { names: Vec::new(), program: None, embedded: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--embedded" => options.embedded = true,
                "--bin" => {
                    let path = words.next().ok_or(Failed::Usage("`--bin` needs a path".to_owned()))?;
                    options.program = Some(path.into());
                }
                name if KNOWN.iter().any(|client| client.name == name) => options.names.push(word),
                _ => {
                    let known: Vec<&str> = KNOWN.iter().map(|client| client.name).collect();
                    return Err(Failed::Usage(format!("`{word}` is none of {}", known.join(", "))));
                }
            }
        }
        match KNOWN.iter().any(|client| options.wants(client)) {
            true => Ok(options),
            false => Err(Failed::Usage("no client of these is tried with the embedded model".to_owned())),
        }
    }

    fn wants(&self, client: &Client) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| name == client.name);
        named && !(self.embedded && client.embedded.is_none())
    }
}
