//! Parses `mcp.json`: `{"mcpServers": {"name": {"command", "args", "env"} | {"url", "headers"}}}`.
//!
//! Accepts the keys of several programs, comments and trailing commas. A missing or an empty file declares no servers. A
//! wrong server is a fault of its own, with its place; the caller decides whether the run ends for it. Keys without an
//! effect here are returned too.

mod json_values;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use ibeam_files::json_with_comments;
use ibeam_protocol::{Notice, Reason, json_fault};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use self::json_values::{CommandLine, Flag, Text, TextList, TextMap};
use super::auth_declaration::AuthDeclaration;
use super::declaration::{HttpDeclaration, ServerDeclaration, ServerSource, ServerTimeouts, ServerTransport};

/// The page of `ibeam help` that describes the files.
const HELP_PAGE: &str = "mcp";

/// The shortest `timeout` of another program that counts.
const MIN_FOREIGN_TIMEOUT_MS: u64 = 1000;

/// The key of the servers.
const SERVERS: &str = "mcpServers";

/// Keys that are for people or other programs only. Their names need no warning.
const KEYS_WITHOUT_EFFECT: [&str; 4] = ["$schema", "description", "name", "version"];

/// The servers of a file.
#[derive(Debug, Default)]
pub(super) struct McpFile {
    /// The servers that are valid.
    pub(super) servers: Vec<ServerDeclaration>,
    /// The mistakes: the file, or servers in it.
    pub(super) faults: Vec<McpFileFault>,
    /// The keys that have no effect here.
    pub(super) unknown_keys: Vec<String>,
}

/// A mistake in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct McpFileFault {
    /// The server; `None` if the whole file is wrong.
    server: Option<String>,
    /// The line and the column, from 1, of a mistake of the syntax or of a type.
    position: Option<(usize, usize)>,
    /// The message; without a position, the end of a sentence about the server.
    detail: String,
}

impl McpFileFault {
    /// Returns the error for which a run ends.
    pub(super) fn into_reason(self, path: &Path) -> Reason {
        let number = |number: usize| u64::try_from(number).ok();
        Reason::BadJsonConfig {
            path: path.display().to_string(),
            line: self.position.and_then(|(line, _)| number(line)),
            column: self.position.and_then(|(_, column)| number(column)),
            page: HELP_PAGE.to_owned(),
            detail: match (self.server, self.position) {
                (Some(server), Some(_)) => format!("`{SERVERS}.{server}`: {}", self.detail),
                (Some(server), None) => format!("`{SERVERS}.{server}` {}", self.detail),
                (None, _) => self.detail,
            },
        }
    }

    /// Returns the notice that the file, or the server in it, is not used.
    pub(super) fn into_notice(self, path: &Path) -> Notice {
        let place = self.position.map(|(line, column)| format!("line {line}, column {column}"));
        let detail = if self.position.is_some() { self.detail } else { format!("it {}", self.detail) };
        match self.server.map(|server| format!("{SERVERS}.{server}")).or(place) {
            Some(part) => Notice::part_ignored(path, &part, detail),
            None => Notice::TextFileIgnored { path: path.display().to_string(), detail },
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with the `command` or the `url` of a server")]
struct Entry {
    /// `stdio`, `http` or `sse`; other programs write `transport`.
    #[serde(rename = "type", default)]
    kind: Text,
    #[serde(default)]
    transport: Text,
    #[serde(default)]
    command: CommandLine,
    #[serde(default)]
    args: TextList,
    #[serde(default)]
    env: TextMap,
    #[serde(default)]
    env_file: Text,
    #[serde(default)]
    cwd: Text,
    #[serde(default)]
    url: Text,
    #[serde(default)]
    server_url: Text,
    #[serde(default)]
    http_url: Text,
    #[serde(default)]
    headers: TextMap,
    #[serde(default)]
    headers_command: TextList,
    auth: Option<AuthDeclaration>,
    #[serde(default)]
    revision: Text,
    #[serde(default)]
    elicitation: Text,
    /// Milliseconds.
    start_timeout: Option<NonZeroU64>,
    /// Milliseconds.
    call_timeout: Option<NonZeroU64>,
    /// The limit of a call in files of other programs. Some of them write seconds, which are too short to be milliseconds.
    #[serde(default)]
    timeout: Value,
    #[serde(default)]
    disabled: Flag,
    #[serde(default)]
    enabled: Flag,
    #[serde(flatten)]
    unknown: BTreeMap<String, IgnoredAny>,
}

/// Returns the servers of a file. `switch` returns whether a file that takes precedence enables or disables a server.
pub(super) fn parse(
    path: &Path,
    bytes: Option<Vec<u8>>,
    is_of_project: bool,
    switch: &dyn Fn(&str) -> Option<bool>,
) -> McpFile {
    let mut found = McpFile::default();
    let json = json_with_comments::to_json(&bytes.unwrap_or_default());
    if json.trim_ascii().is_empty() {
        return found;
    }
    let entries = match entries(&json, &mut found.unknown_keys) {
        Ok(entries) => entries,
        Err(error) => {
            found.faults.push(fault(None, (1, 0), &error));
            return found;
        }
    };
    let source = ServerSource { path: path.to_owned(), line: None, is_of_project };
    for (name, entry) in entries {
        let parsed = serde_json::from_str::<Entry>(entry.get());
        let parsed = parsed.map_err(|error| fault(Some(&name), start_of(&json, entry), &error));
        let server = parsed.and_then(|mut entry| {
            found.unknown_keys.extend(unknown_keys(&name, std::mem::take(&mut entry.unknown)));
            let invalid =
                |detail: String| McpFileFault { server: Some(name.clone()), position: None, detail };
            entry.into_server(&name, source.clone(), switch(&name)).map_err(invalid)
        });
        match server {
            Ok(server) => found.servers.push(server),
            Err(fault) => found.faults.push(fault),
        }
    }
    found
}

/// Returns the entries of a file, and adds the other keys to `unknown_keys`.
fn entries<'a>(
    json: &'a [u8],
    unknown_keys: &mut Vec<String>,
) -> Result<BTreeMap<String, &'a RawValue>, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object with `mcpServers`")]
    struct TopLevel<'a> {
        #[serde(rename = "mcpServers", borrow, default)]
        servers: Option<BTreeMap<String, &'a RawValue>>,
    }
    let TopLevel { servers } = serde_json::from_slice(json)?;
    let keys: BTreeMap<String, IgnoredAny> = serde_json::from_slice(json)?;
    unknown_keys.extend(keys.into_keys().filter(|key| key != SERVERS && is_worth_a_warning(key)));
    Ok(servers.unwrap_or_default())
}

fn unknown_keys(server: &str, keys: BTreeMap<String, IgnoredAny>) -> impl Iterator<Item = String> {
    let keys = keys.into_keys().filter(|key| is_worth_a_warning(key));
    keys.map(move |key| format!("{SERVERS}.{server}.{key}"))
}

/// Whether a key may be meant for this program. People write comments as keys such as `_comment` and `//`.
fn is_worth_a_warning(key: &str) -> bool {
    !KEYS_WITHOUT_EFFECT.contains(&key) && !key.starts_with(['_', '/', '#'])
}

/// Returns the line and the number of columns before an entry of the file.
fn start_of(json: &[u8], entry: &RawValue) -> (usize, usize) {
    let length = (entry.get().as_ptr() as usize).saturating_sub(json.as_ptr() as usize);
    let before = json.get(..length).unwrap_or_default();
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    (before.iter().filter(|byte| **byte == b'\n').count() + 1, length - line_start)
}

/// Returns the fault for an error in a part of the file that begins at `start`.
fn fault(server: Option<&str>, (line, columns): (usize, usize), error: &serde_json::Error) -> McpFileFault {
    let column = if error.line() <= 1 { columns + error.column() } else { error.column() };
    let position = Some((line + error.line().saturating_sub(1), column));
    McpFileFault { server: server.map(str::to_owned), position, detail: json_fault(error).to_string() }
}

impl Entry {
    /// Returns the server. `switch` takes precedence over the keys of the entry.
    ///
    /// # Errors
    /// The end of a sentence that begins with the name of the server.
    fn into_server(
        self,
        name: &str,
        source: ServerSource,
        switch: Option<bool>,
    ) -> Result<ServerDeclaration, String> {
        let enabled = switch.unwrap_or(self.disabled.0 != Some(true) && self.enabled.0 != Some(false));
        let foreign = self.timeout.as_u64().filter(|time| *time >= MIN_FOREIGN_TIMEOUT_MS);
        let call_timeout = self.call_timeout.or_else(|| foreign.and_then(NonZeroU64::new));
        let time = |milliseconds: NonZeroU64| Duration::from_millis(milliseconds.get());
        let timeouts = ServerTimeouts { start: self.start_timeout.map(time), call: call_timeout.map(time) };
        let (revision, elicitation) = (self.revision.0.clone(), self.elicitation.0.clone());
        let transport = self.into_transport().ok_or_else(|| "has neither `command` nor `url`".to_owned())?;
        let mut server = ServerDeclaration::new(name.to_owned(), source, transport, enabled);
        server.set_revision(revision.as_deref())?;
        server.set_elicitation(elicitation.as_deref())?;
        Ok(ServerDeclaration { timeouts, ..server })
    }

    fn into_transport(self) -> Option<ServerTransport> {
        let is_given = |text: &String| !text.trim().is_empty();
        let (url, http_url) = (self.url.0.or(self.server_url.0).filter(is_given), self.http_url.0);
        let mut words = self.command.0.into_iter();
        if let Some(command) = words.next().filter(is_given) {
            return Some(ServerTransport::Command {
                command,
                args: words.chain(self.args.0).collect(),
                environment: self.env.0,
                environment_file: self.env_file.0,
                directory: self.cwd.0,
            });
        }
        let kind = self.kind.0.or(self.transport.0);
        let url = match http_url.filter(is_given) {
            Some(url) => url,
            None if kind.as_deref() == Some("sse") => return url.map(ServerTransport::Sse),
            None => url?,
        };
        let (headers, headers_command) = (self.headers.0, self.headers_command.0);
        let auth = self.auth.unwrap_or_default();
        Some(ServerTransport::Http(Box::new(HttpDeclaration { url, headers, headers_command, auth })))
    }
}

#[cfg(test)]
#[path = "json_file_test.rs"]
mod tests;
