//! Parses `mcp.json`: `{"mcpServers": {"name": {"command", "args", "env"} | {"url", "headers"}}}`.
//!
//! Accepts the keys of several editors. A missing file declares no servers. Invalid JSON is an error with its position.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use ibeam_protocol::Reason;
use serde::Deserialize;
use serde_json::Value;

use super::auth_declaration::AuthDeclaration;
use super::declaration::{HttpDeclaration, ServerDeclaration, ServerSource, ServerTimeouts, ServerTransport};

/// The page of `ibeam help` that describes the files.
const HELP_PAGE: &str = "mcp";

/// The shortest `timeout` of another program that counts.
const MIN_FOREIGN_TIMEOUT_MS: u64 = 1000;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `mcpServers`")]
struct McpFile {
    #[serde(default)]
    mcp_servers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with the `command` or the `url` of a server")]
struct Entry {
    /// `stdio`, `http` or `sse`.
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    headers_command: Vec<String>,
    #[serde(default)]
    auth: AuthDeclaration,
    revision: Option<String>,
    elicitation: Option<String>,
    /// Milliseconds.
    start_timeout: Option<NonZeroU64>,
    /// Milliseconds.
    call_timeout: Option<NonZeroU64>,
    /// The limit of a call in files of other programs. Some of them write seconds, which are too short to be milliseconds.
    #[serde(default)]
    timeout: Value,
    #[serde(default)]
    disabled: bool,
}

/// Returns the servers of a file. `switch` returns whether a file that takes precedence enables or disables a server.
///
/// # Errors
/// `BadJsonConfig`, with line and column for a mistake of the syntax or of a type.
pub(super) fn parse(
    path: &Path,
    bytes: Option<Vec<u8>>,
    of_project: bool,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> Result<Vec<ServerDeclaration>, Reason> {
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let file: McpFile = serde_json::from_slice(bytes).map_err(|error| {
        // serde_json appends the position to the message, but the reason has its own fields for the position.
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        invalid_file(path, Some((error.line(), error.column())), message.to_owned())
    })?;
    let servers = file.mcp_servers.into_iter().map(|(name, entry)| {
        let invalid = |message: String| invalid_file(path, None, format!("`mcpServers.{name}` {message}"));
        let enabled = switch(&name).unwrap_or(!entry.disabled);
        let source = ServerSource { path: path.to_owned(), line: None, of_project };
        let (revision, elicitation) = (entry.revision.clone(), entry.elicitation.clone());
        let foreign = entry.timeout.as_u64().filter(|time| *time >= MIN_FOREIGN_TIMEOUT_MS);
        let call_timeout = entry.call_timeout.or_else(|| foreign.and_then(NonZeroU64::new));
        let time = |milliseconds: NonZeroU64| Duration::from_millis(milliseconds.get());
        let timeouts = ServerTimeouts { start: entry.start_timeout.map(time), call: call_timeout.map(time) };
        let transport =
            entry.into_transport().ok_or_else(|| invalid("has neither `command` nor `url`".to_owned()))?;
        let mut server = ServerDeclaration::new(name.clone(), source, transport, enabled);
        server.set_revision(revision.as_deref()).map_err(invalid)?;
        server.set_elicitation(elicitation.as_deref()).map_err(invalid)?;
        Ok(ServerDeclaration { timeouts, ..server })
    });
    servers.collect()
}

/// Returns the error of a file, with the line and the column where they are known.
fn invalid_file(path: &Path, position: Option<(usize, usize)>, detail: String) -> Reason {
    let number = |number: usize| u64::try_from(number).ok();
    Reason::BadJsonConfig {
        path: path.display().to_string(),
        line: position.and_then(|(line, _)| number(line)),
        column: position.and_then(|(_, column)| number(column)),
        page: HELP_PAGE.to_owned(),
        detail,
    }
}

impl Entry {
    fn into_transport(self) -> Option<ServerTransport> {
        let Self { kind, command, args, env, cwd, url, headers, headers_command, auth, .. } = self;
        let environment = env.into_iter().collect();
        let process =
            command.map(|command| ServerTransport::Command { command, args, environment, directory: cwd });
        process.or_else(|| {
            let url = url?;
            if kind.as_deref() == Some("sse") {
                return Some(ServerTransport::Sse(url));
            }
            let headers = headers.into_iter().collect();
            let http = HttpDeclaration { url, headers, headers_command, auth };
            Some(ServerTransport::Http(Box::new(http)))
        })
    }
}
