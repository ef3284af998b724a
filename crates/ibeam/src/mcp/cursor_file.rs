//! Parses `mcp.json` of editors: `{"mcpServers": {"name": {"command", "args", "env"}}}`.
//!
//! A missing file declares no servers. Invalid JSON is an error with its position.

use std::collections::BTreeMap;
use std::path::Path;

use ibeam_config::ConfigError;
use serde::Deserialize;

use super::declaration::{ServerDeclaration, ServerSource, ServerTransport};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpFile {
    #[serde(default)]
    mcp_servers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    disabled: bool,
}

/// Returns the servers of a file. `switch` returns whether a file that takes precedence enables or disables a server.
///
/// # Errors
/// `Invalid` with line and column.
pub(super) fn parse(
    path: &Path,
    bytes: Option<Vec<u8>>,
    of_project: bool,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> Result<Vec<ServerDeclaration>, ConfigError> {
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let file: McpFile = serde_json::from_slice(bytes).map_err(|error| {
        // serde_json appends the position to the message, but `ConfigError` has its own fields for the position.
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        ConfigError::at(path, error.line(), error.column(), message)
    })?;
    let servers = file.mcp_servers.into_iter().map(|(name, entry)| {
        let enabled = switch(&name).unwrap_or(!entry.disabled);
        let source = ServerSource { path: path.to_owned(), line: None, of_project };
        let transport = entry.into_transport().ok_or_else(|| {
            ConfigError::in_file(path, format!("`mcpServers.{name}` has neither `command` nor `url`"))
        })?;
        Ok(ServerDeclaration::new(name, source, transport, enabled))
    });
    servers.collect()
}

impl Entry {
    fn into_transport(self) -> Option<ServerTransport> {
        let Self { command, args, env, cwd, url, disabled: _ } = self;
        let environment = env.into_iter().collect();
        let process =
            command.map(|command| ServerTransport::Command { command, args, environment, directory: cwd });
        process.or_else(|| url.map(ServerTransport::Url))
    }
}
