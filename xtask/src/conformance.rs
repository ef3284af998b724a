//! `cargo xtask conformance`: runs official suites against this program, and records the results of all suites.
//!
//! [`SUITES`] lists every suite. The suites of [`Source::Here`] run in this subcommand. The others have a subcommand or a
//! test of their own; a subcommand calls [`record`] when it has run its suite completely. To add a suite: an entry of
//! `SUITES`, and its function here or a call of `record`.

mod mcp_programs;
mod mcp_suite;
mod program_checks;
mod suite_results;
mod third_party_clients;
mod third_party_servers;

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_testkit::{BuildError, build_program};

use crate::clients::ClientsError;

pub(crate) use mcp_suite::{NodePackages, install_node};
pub(crate) use program_checks::{Checks, Results, missing_if_failed, npm_versions};
pub(crate) use suite_results::{Counts, SuiteResult, check, record, record_program};

const USAGE: &str = "\
usage: cargo xtask conformance [SUITE…] [--bin PATH] [--page]

  SUITE        only these suites [default: all that have no subcommand of their own]
  --bin PATH   the program [default: a debug build]
  --page       run nothing; write docs/conformance.md from clients/results.json";

/// A suite that this program is tested with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suite {
    /// The name in `clients/results.json`, and in the arguments of the subcommand.
    name: &'static str,
    /// The heading in the page.
    title: &'static str,
    /// Sentences for the page: what is tested, and who wrote it.
    about: &'static str,
    source: Source,
}

impl Suite {
    /// Returns the command that runs the suite.
    fn command(&self) -> String {
        match self.source {
            Source::Here(_) => format!("cargo xtask conformance {}", self.name),
            Source::Subcommand(subcommand) => format!("cargo xtask {subcommand}"),
            Source::Test(test) => format!("cargo nextest run {test}"),
        }
    }
}

/// The origin of the result of a suite.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A function that runs the suite.
    Here(RunSuite),
    /// Another subcommand, with its arguments, which records the result.
    Subcommand(&'static str),
    /// A test of the workspace with this name, which fails if a case fails. It has no record.
    Test(&'static str),
}

/// Runs a suite and prints a line for each case. `Err` of the result is the requirement that this machine lacks.
type RunSuite = fn(&SuiteContext<'_>) -> Result<Result<SuiteResult, String>, ConformanceError>;

/// The input of a suite.
pub(crate) struct SuiteContext<'a> {
    /// The root of the repository.
    root: &'a Path,
    /// The program under test.
    program: &'a Path,
}

/// The suites, in the order of the page.
const SUITES: &[Suite] = &[
    Suite {
        name: "mcp-client",
        title: "Model Context Protocol, client",
        about: "The official conformance suite of the protocol. The program runs as the client of the servers of the suite.",
        source: Source::Here(mcp_suite::run_client),
    },
    Suite {
        name: "mcp-server",
        title: "Model Context Protocol, server",
        about: "The same suite as the client of `ibeam mcp serve --http`. Most of its scenarios call tools that only a server \
                made for the suite has.",
        source: Source::Here(mcp_suite::run_server),
    },
    Suite {
        name: "mcp-programs",
        title: "Model Context Protocol, programs of others",
        about: "Servers that a run with a scripted model uses, and clients that use `ibeam mcp serve`. \"Session\" is a \
                revision up to 2025-11-25.",
        source: Source::Here(mcp_programs::run),
    },
    Suite {
        name: "acp",
        title: "Agent Client Protocol",
        about: "Clients of others that start `ibeam acp`, with a scripted model. Every line that the program sends to them is \
                compared with the official `schema.json` of the protocol. [Editors](editors.md) describes the methods.",
        source: Source::Subcommand("editors"),
    },
    Suite {
        name: "clients",
        title: "Clients of the output format",
        about: "Programs of others that start `cursor-agent` and parse its output. Each starts this program instead, with a \
                scripted model, under both contracts. What the client parsed must equal the output. [Clients](clients.md) \
                describes them.",
        source: Source::Subcommand("clients"),
    },
    Suite {
        name: "clients-embedded",
        title: "Clients with the embedded model",
        about: "The same clients in one mode each, with the embedded model instead of a script.",
        source: Source::Subcommand("clients --embedded"),
    },
    Suite {
        name: "sdks",
        title: "SDKs of Claude Code and Codex",
        about: "The unmodified SDKs start this program in its [dialects](dialects.md). A script of each SDK checks sessions, \
                permissions, hooks, tools of the host, interrupts and failures.",
        source: Source::Subcommand("sdks"),
    },
    Suite {
        name: "servers",
        title: "Model servers",
        about: "Servers of others, which this program uses over each API that they offer.",
        source: Source::Subcommand("servers"),
    },
    Suite {
        name: "traces",
        title: "Exports of runs",
        about: "What others make of a recorded session: headless Chromium opens its [page](trace.md) and uses the keys, \
                the libraries of OpenTelemetry parse its spans, those of ATIF and harbor validate its trajectory, and a run \
                continues a trajectory that harbor made.",
        source: Source::Subcommand("traces"),
    },
    Suite {
        name: "traffic",
        title: "Recorded answers of model services",
        about: "Answers of real services, whole and cut at every place, against the expectation of each record.",
        source: Source::Subcommand("traffic PATH --cut"),
    },
    Suite {
        name: "traffic-mirror",
        title: "Official client libraries of model services",
        about: "A sample of the recorded answers, parsed by this program and by the official libraries. Both results must be \
                equal.",
        source: Source::Subcommand("traffic PATH --mirror"),
    },
    Suite {
        name: "attacks",
        title: "Attacks",
        about: "What a hostile model, file or repository may try, against the complete program, as root and as a user \
                without rights. [Security](security.md) names the promises.",
        source: Source::Subcommand("corpus attacks"),
    },
    Suite {
        name: "attacks-sandbox",
        title: "Attacks on the sandbox alone",
        about: "The same attacks with the permission rules switched off.",
        source: Source::Subcommand("corpus attacks --unfenced"),
    },
    Suite {
        name: "attacks-bare",
        title: "Attacks without the program",
        about: "The attacks in bash, without protection. Each must do its harm there; otherwise it would prove nothing.",
        source: Source::Subcommand("corpus attacks --bare"),
    },
    Suite {
        name: "json-schema",
        title: "JSON Schema of answers",
        about: "The validator of structured answers, compared with the complete implementation of the crate `jsonschema`.",
        source: Source::Test("both_implementations_agree"),
    },
];

/// A failure of this subcommand, or of scenarios.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConformanceError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A program that could not be started, or a file that could not be read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// Programs of others could not be installed.
    #[error("{0}")]
    Installation(Box<ClientsError>),
    /// A result of a suite that is not listed.
    #[error("there is no suite `{0}`; add it to `SUITES` in xtask/src/conformance.rs")]
    Unknown(String),
    /// The number of cases whose result was not expected; each is already printed.
    #[error("{0} cases did not end as expected")]
    Cases(usize),
}

impl From<ClientsError> for ConformanceError {
    fn from(error: ClientsError) -> Self {
        Self::Installation(Box::new(error))
    }
}

impl ConformanceError {
    pub(crate) fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// Runs the suites that the arguments select, and records their results.
pub(crate) fn run(root: &Path, mut words: impl Iterator<Item = String>) -> Result<(), ConformanceError> {
    let (mut names, mut program, mut only_page) = (Vec::new(), None, false);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--page" => only_page = true,
            "--bin" => {
                let path = words.next().ok_or(ConformanceError::Usage("`--bin` needs a path".to_owned()))?;
                program = Some(fs::canonicalize(&path).map_err(ConformanceError::system(path))?);
            }
            name if runnable_suites().any(|(suite, _)| suite.name == name) => names.push(word),
            _ => return Err(ConformanceError::Usage(unknown_suite(&word))),
        }
    }
    if only_page {
        return suite_results::write_page(root);
    }
    let program: PathBuf = match program {
        Some(program) => program,
        None => build_program(root)?,
    };
    let context = SuiteContext { root, program: &program };
    let mut unexpected = 0;
    for (suite, run_suite) in runnable_suites() {
        if !names.is_empty() && !names.iter().any(|name| name == suite.name) {
            continue;
        }
        match run_suite(&context)? {
            Ok(result) => {
                let Counts { passed, failed, known_failures, skipped } = result.counts;
                println!(
                    "{}: {passed} passed, {failed} failed, {known_failures} known failures, {skipped} skipped",
                    suite.name
                );
                unexpected += failed;
                record(root, suite.name, result)?;
            }
            Err(missing) => println!("SKIP: the suite `{}` is not run: {missing}", suite.name),
        }
    }
    if unexpected == 0 { Ok(()) } else { Err(ConformanceError::Cases(unexpected)) }
}

/// Returns the suites that this subcommand runs.
fn runnable_suites() -> impl Iterator<Item = (&'static Suite, RunSuite)> {
    SUITES.iter().filter_map(|suite| match suite.source {
        Source::Here(run) => Some((suite, run)),
        Source::Subcommand(_) | Source::Test(_) => None,
    })
}

fn unknown_suite(word: &str) -> String {
    if let Some(suite) = SUITES.iter().find(|suite| suite.name == word) {
        return format!("the suite `{word}` is run by `{}`", suite.command());
    }
    let names: Vec<&str> = runnable_suites().map(|(suite, _)| suite.name).collect();
    format!("unknown suite or option `{word}`; the suites are: {}", names.join(", "))
}
