//! `cargo xtask conformance`: runs official suites against this program, and records the results of all suites.
//!
//! [`SUITES`] lists every suite. The suites of [`Source::Here`] run in this subcommand. The others have a subcommand or a
//! test of their own; a subcommand calls [`record`] when it has run its suite completely. To add a suite: an entry of
//! `SUITES`, and its function here or a call of `record`.

mod mcp_programs;
mod mcp_suite;
mod suite_results;
mod suite_run;
mod third_party_clients;
mod third_party_servers;

use std::path::Path;

use crate::suite::{ProgramOption, SuiteContext, SuiteError, SuiteResult};
pub(crate) use mcp_suite::install_node;
pub(crate) use suite_results::{check, record, record_program};

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these suites [default: all that have no subcommand of their own]
    #[arg(value_name = "SUITE", value_parser = parse_suite)]
    suites: Vec<&'static str>,
    #[command(flatten)]
    program: ProgramOption,
    /// Run nothing; write docs/conformance.md from clients/results.json
    #[arg(long)]
    page: bool,
}

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

/// Runs a suite and prints a line for each case.
type RunSuite = fn(&SuiteContext, &mut SuiteResult) -> Result<(), SuiteError>;

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
        title: "SDKs of Claude Code and Codex, and programs that start them",
        about: "The unmodified SDKs start this program in its [dialects](dialects.md). A script of each SDK checks sessions, \
                permissions, hooks, tools of the host, interrupts and failures. Eight programs of others that start `claude` \
                or `codex` get the scripted answers in one session.",
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

/// Runs the suites that the options select, and records their results.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), SuiteError> {
    if options.page {
        return suite_results::write_page(root);
    }
    let context = SuiteContext::new(root, &options.program)?;
    let mut ended = Ok(());
    for (suite, run_suite) in runnable_suites() {
        if options.suites.is_empty() || options.suites.contains(&suite.name) {
            match context.run(suite.name, run_suite) {
                Ok(()) => {}
                Err(failure @ SuiteError::Cases { .. }) => ended = Err(failure),
                Err(error) => return Err(error),
            }
        }
    }
    ended
}

/// Returns the suites that this subcommand runs.
fn runnable_suites() -> impl Iterator<Item = (&'static Suite, RunSuite)> {
    SUITES.iter().filter_map(|suite| match suite.source {
        Source::Here(run) => Some((suite, run)),
        Source::Subcommand(_) | Source::Test(_) => None,
    })
}

/// Returns the name of a suite that this subcommand runs.
fn parse_suite(word: &str) -> Result<&'static str, String> {
    let mut names = runnable_suites().map(|(suite, _)| suite.name);
    if let Some(name) = names.find(|name| *name == word) {
        return Ok(name);
    }
    if let Some(suite) = SUITES.iter().find(|suite| suite.name == word) {
        return Err(format!("the suite `{word}` is run by `{}`", suite.command()));
    }
    let names: Vec<&str> = runnable_suites().map(|(suite, _)| suite.name).collect();
    Err(format!("the suites are: {}", names.join(", ")))
}
