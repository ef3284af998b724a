//! MCP servers and clients of others, at the versions that `clients/mcp-programs` pins: ibeam uses the servers, and the
//! clients use `ibeam mcp serve`.

use super::{third_party_clients, third_party_servers};
use crate::suite::{Programs, SuiteContext, SuiteError, SuiteResult};

/// Installs the programs and runs all checks.
pub(super) fn run(context: &SuiteContext, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let target = "target/conformance/programs";
    let programs = Programs::install(context, "mcp-programs", target, &["mcp"], result)?;
    third_party_servers::run(&programs, result)?;
    third_party_clients::run(&programs, result)
}
