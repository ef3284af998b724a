//! The interface between the driver of runs and a front end: print mode, interactive mode, editors, hosts.

use std::sync::Arc;

use ibeam_core::{Approver, Hooks, NoSteering, OutputObserver, Steering, Tool};
use ibeam_mcp::Questioner;
use ibeam_output::RunDetails;
use ibeam_protocol::{McpServer, Notice, RunStarted};
use ibeam_tools::EditorFiles;
use tokio::io::DuplexStream;

use super::subagents::SubagentObserver;
use crate::mcp::ServerDeclaration;

/// The parts of a session that depend on the front end. The defaults are those of print mode.
pub trait FrontEnd {
    /// Returns what decides calls that no rule covers.
    fn approver(&self) -> Arc<dyn Approver>;

    /// Returns the tools that the program around the run adds.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Returns the streams of MCP servers that the front end runs itself, by name. Removes the servers from `declared`
    /// that they replace.
    fn mcp_streams(&self, _declared: &mut Vec<ServerDeclaration>) -> Vec<(String, DuplexStream)> {
        Vec::new()
    }

    /// Receives the statuses of all MCP servers once they have started.
    fn on_servers_started(&self, _statuses: &[McpServer]) {}

    /// Returns the hooks of runs like `head`: the configured hooks, then the hooks of the front end.
    fn hooks(&self, configured: Arc<dyn Hooks>, _head: &RunStarted) -> Arc<dyn Hooks> {
        configured
    }

    /// Returns the messages that the user adds while a turn runs.
    fn steering(&self) -> Arc<dyn Steering> {
        Arc::new(NoSteering)
    }

    /// Returns what receives the output of commands while they run.
    fn output_observer(&self) -> Option<Arc<dyn OutputObserver>> {
        None
    }

    /// Returns what asks a person the questions of MCP servers.
    fn questioner(&self) -> Option<Arc<dyn Questioner>> {
        None
    }

    /// Returns what receives the events of sub-agents while they run.
    fn subagent_observer(&self) -> Option<Arc<dyn SubagentObserver>> {
        None
    }

    /// Returns the editor that has files of the workspace open.
    fn editor_files(&self) -> Option<Arc<dyn EditorFiles>> {
        None
    }

    /// Returns instructions for the model that come after those of the flags.
    fn instructions(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the details of runs that stderr shows.
    fn details(&self) -> Option<RunDetails> {
        None
    }

    /// Whether the prompts are messages on stdin, and the runs the turns of one stream.
    fn has_message_turns(&self) -> bool {
        false
    }

    /// Returns the notices of the front end, which the first run reports.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}
