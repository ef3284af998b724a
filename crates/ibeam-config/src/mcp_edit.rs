//! Changes the MCP servers of a configuration file and keeps its comments, its other keys and their order.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use ibeam_files::regular_file;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError, value};

use crate::toml_fault::toml_fault;
use crate::{ConfigError, config_file};

/// The key of the servers in `mcp.json`.
const JSON_KEY: &str = "mcpServers";

/// A server to add to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMcpServer {
    /// The program and its arguments; empty for a server over HTTP.
    pub command_line: Vec<String>,
    /// The variables of the program, name and value.
    pub environment: Vec<(String, String)>,
    /// The URL of a server over HTTP.
    pub url: Option<String>,
    /// The headers of requests to the URL, name and value.
    pub headers: Vec<(String, String)>,
}

/// Sets `mcp_servers.NAME.enabled` in the file at `path`, which is created if it is missing.
///
/// # Errors
/// `Invalid` for a file that cannot be read or parsed; `CannotCreate`.
pub fn set_mcp_server_enabled(path: &Path, name: &str, enabled: bool) -> Result<(), ConfigError> {
    let mut document = read_document(path)?;
    server_table(path, &mut document, name)?.insert("enabled", value(enabled));
    replace(path, document.to_string().as_bytes())
}

/// Adds `[mcp_servers.NAME]` to the file at `path`, which is created if it is missing. An existing `enabled` stays.
/// Returns `false`, and changes nothing, if the file declares the server already.
///
/// # Errors
/// `Invalid` for a file that cannot be read or parsed; `CannotCreate`.
pub fn add_mcp_server(path: &Path, name: &str, server: &NewMcpServer) -> Result<bool, ConfigError> {
    let mut document = read_document(path)?;
    let table = server_table(path, &mut document, name)?;
    if table.contains_key("command") || table.contains_key("url") {
        return Ok(false);
    }
    if let Some((command, args)) = server.command_line.split_first() {
        table.insert("command", value(command));
        if !args.is_empty() {
            table.insert("args", value(args.iter().collect::<Array>()));
        }
    }
    if let Some(url) = &server.url {
        table.insert("url", value(url));
    }
    for (key, pairs) in [("env", &server.environment), ("headers", &server.headers)] {
        if !pairs.is_empty() {
            let pairs = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            table.insert(key, value(pairs.collect::<InlineTable>()));
        }
    }
    replace(path, document.to_string().as_bytes())?;
    Ok(true)
}

/// Removes a server from the file at `path`, in TOML or, by its extension, in JSON. Returns whether the file had it.
///
/// # Errors
/// `Invalid` for a file that cannot be read or parsed; `CannotCreate`.
pub fn remove_mcp_server(path: &Path, name: &str) -> Result<bool, ConfigError> {
    let Some(text) = read_text(path)? else { return Ok(false) };
    let remaining = match path.extension().is_some_and(|extension| extension == "json") {
        true => without_json_server(&text, name).map_err(|error| {
            let message = error.to_string();
            ConfigError::at(path, error.line(), error.column(), message)
        })?,
        false => without_toml_server(path, &text, name)?,
    };
    remaining.map_or(Ok(false), |text| replace(path, text.as_bytes()).map(|()| true))
}

/// Returns the document without the server; `None` if it has none of this name.
fn without_toml_server(path: &Path, text: &str, name: &str) -> Result<Option<String>, ConfigError> {
    let mut document = parse_document(path, text)?;
    let Some(servers) = document.get_mut("mcp_servers").and_then(Item::as_table_like_mut) else {
        return Ok(None);
    };
    Ok(servers.remove(name).map(|_| document.to_string()))
}

/// The entries of a JSON object in their order. The values keep their text.
struct JsonEntries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for JsonEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = JsonEntries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(JsonEntries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

/// Returns the text of an `mcp.json` without the server; `None` if it has none of this name.
fn without_json_server(text: &str, name: &str) -> serde_json::Result<Option<String>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let JsonEntries(entries) = serde_json::from_str(text)?;
    let mut is_found = false;
    let mut remaining: Vec<(String, String)> = Vec::new();
    for (key, raw) in entries {
        if key != JSON_KEY {
            remaining.push((key, raw.get().to_owned()));
            continue;
        }
        let JsonEntries(servers) = serde_json::from_str(raw.get())?;
        let kept: Vec<(String, String)> = servers
            .iter()
            .filter(|(server, _)| server != name)
            .map(|(server, raw)| (server.clone(), raw.get().to_owned()))
            .collect();
        is_found |= kept.len() < servers.len();
        remaining.push((key, json_object(&kept, "  ")?));
    }
    let text = json_object(&remaining, "")?;
    Ok(is_found.then(|| format!("{text}\n")))
}

/// Returns an object with an entry a line, indented by `indent` and two spaces.
fn json_object(entries: &[(String, String)], indent: &str) -> serde_json::Result<String> {
    if entries.is_empty() {
        return Ok("{}".to_owned());
    }
    let lines: serde_json::Result<Vec<String>> = entries
        .iter()
        .map(|(key, raw)| Ok(format!("{indent}  {}: {raw}", serde_json::to_string(key)?)))
        .collect();
    Ok(format!("{{\n{}\n{indent}}}", lines?.join(",\n")))
}

/// Returns the table of a server, which is added if it is missing.
fn server_table<'a>(
    path: &Path,
    document: &'a mut DocumentMut,
    name: &str,
) -> Result<&'a mut dyn TableLike, ConfigError> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let servers = document.entry("mcp_servers").or_insert_with(implicit).as_table_like_mut();
    servers
        .and_then(|servers| {
            servers.entry(name).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut()
        })
        .ok_or_else(|| ConfigError::in_file(path, "`mcp_servers` is not a table"))
}

/// Returns the document in the file at `path`, empty if the file is missing.
fn read_document(path: &Path) -> Result<DocumentMut, ConfigError> {
    parse_document(path, &read_text(path)?.unwrap_or_default())
}

fn parse_document(path: &Path, text: &str) -> Result<DocumentMut, ConfigError> {
    text.parse().map_err(|error: TomlError| ConfigError::in_file(path, toml_fault(&error)))
}

fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    // A file that was read in part would be written back in part.
    let bytes = match regular_file::read_stable(path, true, config_file::MAX_BYTES, &|_| Ok(())) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::in_file(path, error.to_string())),
    };
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| ConfigError::in_file(path, ibeam_protocol::sentence!("it is not UTF-8")))
}

/// Replaces the file with a complete new one and keeps its permissions. For a symbolic link, replaces the target.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    write_and_rename(path, bytes).map_err(|error| {
        let message =
            format!("{error}; use a directory that can be written (XDG_CONFIG_HOME for your own file)");
        ConfigError::cannot_create(path, message)
    })
}

fn write_and_rename(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = target.with_file_name(name);
    drop(std::fs::remove_file(&new));
    let mut file = File::create_new(&new)?;
    file.write_all(bytes)?;
    if let Ok(old) = std::fs::metadata(&target) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    std::fs::rename(&new, &target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_added_and_removed_and_the_rest_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sub/config.toml");
        let before =
            "# mine\nmodel = \"m\" # why\nunknown = [1]\n\n[mcp_servers.a] # first\ncommand = \"x\"\n";
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, before).unwrap();
        let server = NewMcpServer {
            command_line: ["run", "--stdio", "a \"b\""].map(str::to_owned).into(),
            environment: vec![("TOKEN".into(), "${env:TOKEN}".into())],
            ..NewMcpServer::default()
        };
        assert!(add_mcp_server(&path, "b", &server).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let (kept, added) = text.split_at(before.len());
        assert_eq!(kept, before);
        let expect = "[mcp_servers.b]\ncommand = \"run\"\nargs = [\"--stdio\", 'a \"b\"']\nenv = { TOKEN = \"${env:TOKEN}\" }\n";
        assert_eq!(added.trim_start(), expect);
        let unchanged = std::fs::read(&path).unwrap();
        assert!(!add_mcp_server(&path, "b", &NewMcpServer::default()).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), unchanged);
        assert_eq!(remove_mcp_server(&path, "b"), Ok(true));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        assert_eq!(remove_mcp_server(&path, "b"), Ok(false));
    }

    #[test]
    fn a_missing_file_is_created_and_a_switch_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".ibeam/config.toml");
        assert_eq!(remove_mcp_server(&path, "b"), Ok(false));
        set_mcp_server_enabled(&path, "b", false).unwrap();
        let server = NewMcpServer {
            url: Some("https://a.test/mcp".into()),
            headers: vec![("X-Team".into(), "c".into())],
            ..NewMcpServer::default()
        };
        assert!(add_mcp_server(&path, "b", &server).unwrap());
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "[mcp_servers.b]\nenabled = false\nurl = \"https://a.test/mcp\"\nheaders = { X-Team = \"c\" }\n"
        );
    }

    #[test]
    fn a_server_is_removed_from_json_and_other_values_keep_their_text() {
        let text = "{\"$schema\": \"s\",\n \"mcpServers\": {\"a\": {\"command\":  \"x\", \"n\": 1e2}, \"b\": {\"url\": \"u\"}}, \"later\": [ 1 ]}";
        let expect = "{\n  \"$schema\": \"s\",\n  \"mcpServers\": {\n    \"a\": {\"command\":  \"x\", \"n\": 1e2}\n  },\n  \"later\": [ 1 ]\n}\n";
        assert_eq!(without_json_server(text, "b").unwrap().unwrap(), expect);
        assert_eq!(without_json_server(text, "c").unwrap(), None);
        let last = without_json_server("{\"mcpServers\": {\"a\": {}}}", "a").unwrap().unwrap();
        assert_eq!(last, "{\n  \"mcpServers\": {}\n}\n");
        assert!(without_json_server("[]", "a").is_err());
    }
}
