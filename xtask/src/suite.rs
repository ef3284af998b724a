//! The one runner of the suites of others: finds the program, runs the cases, prints and records their results.
//!
//! A requirement that the machine lacks is [`SuiteError::Missing`]. It leaves out a case or a whole suite, and is printed.

mod programs;
mod result;

use std::io;
use std::path::{Path, PathBuf};

use ibeam_testkit::{BuildError, build_program};

use crate::clients::Installer;
pub(crate) use programs::Programs;
pub(crate) use result::{Checks, Counts, SuiteResult};

/// A failure of a suite or of its cases.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuiteError {
    /// A program could not be started, or a file could not be used.
    #[error("{0}: {1}")]
    System(String, io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// A requirement that this machine lacks.
    #[error("{0}")]
    Missing(String),
    /// Programs of others could not be installed; the reason is printed.
    #[error("{0} failed")]
    Setup(String),
    /// Any other failure, as a sentence.
    #[error("{0}")]
    Failed(String),
    /// The number of failed cases, which are already printed.
    #[error("{failed} cases of `{suite}` failed")]
    Cases { suite: String, failed: usize },
}

impl SuiteError {
    pub(crate) fn system(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }

    /// Turns an installation that failed, for example without a registry, into a missing requirement.
    pub(crate) fn setup_as_missing(self) -> Self {
        if matches!(self, Self::Setup(_)) { Self::Missing(self.to_string()) } else { self }
    }
}

/// The option of subcommands that run the program.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProgramOption {
    /// The program [default: a debug build]
    #[arg(long = "bin", value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

impl ProgramOption {
    /// Returns the absolute path of the program, which is built unless it is given.
    pub(crate) fn find(&self, root: &Path) -> Result<PathBuf, SuiteError> {
        match &self.path {
            Some(path) => path.canonicalize().map_err(SuiteError::system(path.display())),
            None => Ok(build_program(root)?),
        }
    }
}

pub(crate) struct SuiteContext {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) installer: Installer,
}

impl SuiteContext {
    pub(crate) fn new(root: &Path, program: &ProgramOption) -> Result<Self, SuiteError> {
        let (root, program) = (root.to_owned(), program.find(root)?);
        Ok(Self { installer: Installer::new(&root), root, program })
    }
}
