//! A run under valgrind, its failures, and the figures measured in it.

use std::io;
use std::path::Path;

use ibeam_testkit::{Answer, BuildError, Ibeam, ModelServer, ProgramOutput, Workspace};

use crate::distribution::DistributionError;

/// A measured figure and its limit.
pub(super) struct Figure {
    pub(super) what: &'static str,
    pub(super) measured: u64,
    pub(super) limit: u64,
}

/// A failure of a measurement, or a figure over its limit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SizeError {
    /// A program or a file could not be used.
    #[error("cannot measure: {0}")]
    Io(#[from] io::Error),
    /// The debug build failed.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The distribution was not built.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// The measured run failed.
    #[error("{what} failed under valgrind: {output}")]
    Run {
        /// The name of the measurement.
        what: &'static str,
        output: String,
    },
    /// The shortest run uses these libraries.
    #[error("a run without tools uses libraries that it does not need: {0}")]
    UnusedLibraries(String),
    /// The callgrind record has no function names.
    #[error("the debug build has no function names")]
    NoFunctionNames,
    /// The figures over their limits.
    #[error("over the limit: {0}")]
    OverLimit(String),
}

/// Returns the shortest run with a model, on loopback and without a sandbox.
pub(super) fn shortest_run(program: &Path, workspace: &Workspace, server: &ModelServer) -> Ibeam {
    Ibeam::new(program, workspace)
        .args(["-p", "hello", "--model", "mock-model", "--sandbox", "disabled"])
        .env("OPENAI_BASE_URL", format!("{}/v1", server.url()))
        .env("OPENAI_API_KEY", "key-0123456789abcdef")
}

/// Returns the answer of the shortest run.
pub(super) fn shortest_answer() -> Answer {
    Answer::new().text("hello")
}

/// Runs a program to its successful end.
pub(super) fn run_successfully(what: &'static str, run: Ibeam) -> Result<ProgramOutput, SizeError> {
    let output = run.run();
    if output.code == Some(0) { Ok(output) } else { Err(SizeError::Run { what, output: output.to_string() }) }
}
