//! The listed faults, injected for real; each test is named by the fault that it holds. See docs/faults.md.

#[path = "faults/hooks.rs"]
mod hooks;
#[path = "faults/host.rs"]
pub(crate) mod host;
#[path = "faults/input.rs"]
mod input;
#[path = "faults/mcp.rs"]
mod mcp;
#[path = "faults/provider.rs"]
mod provider;
#[path = "faults/tool.rs"]
mod tool;
