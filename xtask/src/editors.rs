//! `cargo xtask editors`: clients of the Agent Client Protocol start `ibeam acp`, and every line that the program sends to
//! them is compared with the official schema.
//!
//! The clients are installed at the versions that `clients/editors` pins into `target/editors`. What this machine lacks is
//! skipped, and the reason is printed.

mod client_runs;
mod recording;
mod scene;

use std::path::{Path, PathBuf};

use crate::suite::{ProgramOption, Programs, SuiteContext, SuiteError};
use recording::MessageSchema;

/// The schema, in the directory of the npm packages.
const SCHEMA: &str = "@agentclientprotocol/sdk/schema/v1/schema.json";
/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ProgramOption,
    /// The directory with further scripts that run clients [default: ../shared/clients]
    #[arg(long, value_name = "DIR")]
    runners: Option<PathBuf>,
}

/// The installed clients, and the program under test.
struct Clients {
    programs: Programs,
    /// The directory with further scripts that run clients; it may not exist.
    runners: PathBuf,
    schema: MessageSchema,
}

/// Runs all clients, prints a line for each, and records the result.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), SuiteError> {
    let runners = match &options.runners {
        Some(path) => path.canonicalize().map_err(SuiteError::system(path.display()))?,
        None => root.join("../shared/clients"),
    };
    SuiteContext::new(root, &options.program)?.run("acp", |context, result| {
        let pypi = ["agent-client-protocol", "harbor"];
        let programs = Programs::install(context, "editors", "target/editors", &pypi, result)?;
        let schema = MessageSchema::load(&programs.packages.join(SCHEMA))?;
        client_runs::run(&Clients { programs, runners, schema }, result)
    })
}
