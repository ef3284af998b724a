//! `--settings` and `--mcp-config` of Claude Code: JSON, or the path of a JSON file.
//!
//! Permissions and the model of the settings are applied. Hooks are refused, because they may restrict the run.

use ibeam_protocol::{Reason, sentence};
use serde_json::{Map, Value};

use super::{ClaudeDraft, Env, set, usage_error};

/// Keys that restrict a run. They must not be ignored.
const RESTRICTING_KEYS: &[&str] =
    &["permissions", "sandbox", "allowedMcpServers", "deniedMcpServers", "disabledMcpjsonServers"];

impl ClaudeDraft {
    /// Applies settings: JSON, or the path of a file.
    ///
    /// # Errors
    /// `NoInput`; `Usage` for anything but a JSON object, and for keys that must not be left out.
    pub(super) fn apply_settings(&mut self, given: &str, env: &Env<'_>) -> Result<(), Reason> {
        for (key, value) in read_object("--settings", given, env)? {
            match (key.as_str(), &value) {
                ("permissions", Value::Object(permissions)) => self.apply_permissions(permissions)?,
                ("model", Value::String(model)) => {
                    self.model.get_or_insert_with(|| model.clone());
                }
                ("sandbox", Value::Object(sandbox)) => self.apply_sandbox(sandbox)?,
                ("env", Value::Object(variables)) => self.check_env(variables)?,
                ("$schema", _) => {}
                ("hooks", Value::Object(hooks)) if hooks.is_empty() => {}
                ("hooks", _) => {
                    return Err(usage_error(sentence!(
                        "`hooks` of `--settings` are not supported: `ibeam help hooks`"
                    )));
                }
                (key, _) if RESTRICTING_KEYS.contains(&key) => return Err(unsupported_key_error(key)),
                (key, _) => self.ignored_arguments.push(format!("--settings {key}")),
            }
        }
        Ok(())
    }

    /// Applies the restrictions of a sandbox. Settings that grant more have no effect; only the configuration of ibeam
    /// can grant more.
    fn apply_sandbox(&mut self, sandbox: &Map<String, Value>) -> Result<(), Reason> {
        if sandbox.get("enabled") == Some(&Value::Bool(true)) {
            self.flags.push("--sandbox=enabled".to_owned());
        }
        for (group, keys) in sandbox.iter().filter_map(|(group, value)| Some((group, value.as_object()?))) {
            let forbids = |(key, value): &(&String, &Value)| {
                key.starts_with("den") && value.as_array().is_none_or(|list| !list.is_empty())
            };
            if let Some((key, _)) = keys.iter().find(forbids) {
                return Err(unsupported_key_error(&format!("sandbox.{group}.{key}")));
            }
        }
        Ok(())
    }

    /// Ignores variables, but refuses those that change the provider or the connection.
    fn check_env(&mut self, variables: &Map<String, Value>) -> Result<(), Reason> {
        let changes_connection = |name: &&String| {
            let name = name.to_ascii_uppercase();
            name.starts_with("ANTHROPIC_") || name.starts_with("CLAUDE_CODE_USE_") || name.ends_with("_PROXY")
        };
        if let Some(name) = variables.keys().find(changes_connection) {
            return Err(unsupported_key_error(&format!("env.{name}")));
        }
        if !variables.is_empty() {
            self.ignored_arguments.push("--settings env".to_owned());
        }
        Ok(())
    }

    fn apply_permissions(&mut self, permissions: &Map<String, Value>) -> Result<(), Reason> {
        for (key, value) in permissions {
            match key.as_str() {
                "allow" => self.allow.extend(read_texts(key, value)?),
                "deny" => self.deny.extend(read_texts(key, value)?),
                "ask" => self.ask.extend(read_texts(key, value)?),
                "additionalDirectories" => self.directories.extend(read_texts(key, value)?),
                "defaultMode" if self.mode.is_none() => {
                    set(&mut self.mode, value.as_str().map(str::to_owned))?
                }
                "defaultMode" => {}
                "disableBypassPermissionsMode" => set(&mut self.forbids_bypass, true)?,
                other => return Err(unsupported_key_error(&format!("permissions.{other}"))),
            }
        }
        Ok(())
    }

    /// Adds MCP servers: JSON, or the path of a file. Only the names of servers that the host runs are kept.
    ///
    /// # Errors
    /// `NoInput`; `Usage` for anything but a JSON object.
    pub(super) fn add_mcp_config(&mut self, given: &str, env: &Env<'_>) -> Result<(), Reason> {
        let mut document = read_object("--mcp-config", given, env)?;
        if let Some(Value::Object(servers)) = document.get_mut("mcpServers") {
            let is_of_host = |server: &Value| server.get("type").is_some_and(|kind| kind == "sdk");
            let of_host = servers.iter().filter(|(_, server)| is_of_host(server));
            self.host_servers.extend(of_host.map(|(name, _)| name.clone()));
            servers.retain(|_, server| !is_of_host(server));
        }
        self.forward("--mcp-config", &Value::Object(document).to_string())
    }
}

fn unsupported_key_error(key: &str) -> Reason {
    usage_error(sentence!("`{key}` of `--settings` is not supported", key))
}

/// Returns the JSON object that `given` contains, or that the file `given` contains.
fn read_object(flag: &str, given: &str, env: &Env<'_>) -> Result<Map<String, Value>, Reason> {
    let text = if given.trim_start().starts_with('{') { given.to_owned() } else { env.file(given)? };
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text)
        .map_err(|error| usage_error(sentence!("`{flag}` should be a JSON object: {error}", flag, error)))
}

/// Returns the texts of the list `permissions.KEY`.
fn read_texts(key: &str, value: &Value) -> Result<Vec<String>, Reason> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Option<Vec<String>> = list.iter().map(|entry| entry.as_str().map(str::to_owned)).collect();
    match texts {
        Some(texts) if value.is_array() => Ok(texts),
        Some(_) | None => Err(usage_error(sentence!(
            "`permissions.{key}` of `--settings` should be a list of strings",
            key
        ))),
    }
}
