//! The MCP servers of a session that change between its turns: their tools, or the servers themselves.

use ibeam_core::Stop;
use ibeam_protocol::{Failure, McpServer, McpStatus};
use tokio::io::DuplexStream;

use super::RunSession;
use crate::mcp::{McpServers, ServerDeclaration, ServerDeclarations};

/// A change of the MCP servers of a session.
#[derive(Debug, Default)]
pub struct ServerChange {
    /// The names of the servers that end.
    pub removed: Vec<String>,
    /// The servers that start. They replace others of their names.
    pub declared: Vec<ServerDeclaration>,
    /// The names of the servers that the front end runs and that are added, as those of `declared`.
    pub of_front_end: Vec<String>,
}

impl RunSession<'_> {
    /// Offers the tools that the MCP servers have now, if their lists have expired or changed since the last prompt.
    pub(super) fn refresh_server_tools(&mut self, stop: &Stop) {
        if !std::mem::replace(&mut self.has_run_prompt, true) {
            return;
        }
        let (app, runtime) = (&self.process.app, self.process.runtime);
        let before: Vec<String> = self.servers.tools().into_keys().collect();
        let is_changed = runtime.block_on(async {
            tokio::select! {
                biased;
                _ = stop.wait() => false,
                is_changed = self.servers.refresh_tools(app) => is_changed,
            }
        });
        if is_changed {
            self.replace_server_tools(&before);
        }
    }

    /// Ends and starts MCP servers for the following turns, and returns the statuses of all. `connect` returns the streams
    /// of servers that the front end runs. A server that does not start has a notice. A server that the user has disabled
    /// stays so.
    ///
    /// # Errors
    /// The reason of a stop.
    pub fn change_servers(
        &mut self,
        change: ServerChange,
        connect: impl Fn(&str) -> DuplexStream,
    ) -> Result<Vec<McpServer>, Failure> {
        let ServerChange { mut removed, mut declared, mut of_front_end } = change;
        let statuses = &self.servers.statuses;
        let is_disabled = |name: &str| {
            statuses.iter().any(|server| server.name == name && server.status == McpStatus::Disabled)
        };
        removed.retain(|name| !is_disabled(name));
        declared.retain(|server| !is_disabled(&server.name));
        of_front_end.retain(|name| !is_disabled(name));
        let before: Vec<String> = self.servers.tools().into_keys().collect();
        removed.extend(declared.iter().map(|server| server.name.clone()));
        removed.extend(of_front_end.iter().cloned());
        let (app, stop) = (&self.process.app, &self.process.stop);
        self.servers.notices.clear();
        self.process.runtime.block_on(async {
            self.servers.remove(&removed).await;
            let declared = ServerDeclarations { servers: declared, notices: Vec::new() };
            self.servers.merge(McpServers::start_all(app, declared, None, stop).await?);
            let streams = of_front_end.into_iter().map(|name| (name.clone(), connect(&name))).collect();
            self.servers.attach(app, streams, stop).await
        })?;
        self.run.head.mcp_servers.clone_from(&self.servers.statuses);
        self.replace_server_tools(&before);
        Ok(self.servers.statuses.clone())
    }

    /// Offers the tools of the MCP servers in place of those `before`.
    fn replace_server_tools(&mut self, before: &[String]) {
        let app = &self.process.app;
        self.run.tools.retain(|name, _| !before.contains(name));
        let now = self.servers.tools().into_iter();
        self.run.tools.extend(now.filter(|(name, _)| !app.base.options.without.contains(name)));
        self.run.head.tools = self.run.tools.keys().cloned().collect();
        self.run.gate.set_unapproved_mcp_tools(self.servers.unapproved.clone());
        self.notices.extend(self.servers.notices.iter().cloned());
        if let Some(subagents) = &self.subagents {
            subagents.set_parent(&self.run);
        }
    }
}
