//! `--settings` and `--mcp-config` of Claude Code: JSON, or a file of it.
//!
//! Of the settings, what permits and forbids is kept, and the model. Hooks are refused, for they may guard.

use ibeam_protocol::Reason;
use serde_json::{Map, Value};

use super::{Draft, Env, set, usage_error};

/// Keys whose leaving out would allow more.
const NARROWING: &[&str] =
    &["permissions", "sandbox", "allowedMcpServers", "deniedMcpServers", "disabledMcpjsonServers"];

impl Draft {
    /// Arity the settings that `given` is or names.
    ///
    /// # Errors
    /// `NoInput`; `Usage` for what is no JSON object, or must not be left out.
    pub(super) fn settings(&mut self, given: &str, env: &Env<'_>) -> Result<(), Reason> {
        for (key, value) in object("--settings", given, env)? {
            match (key.as_str(), &value) {
                ("permissions", Value::Object(permissions)) => self.granted(permissions)?,
                ("model", Value::String(model)) => {
                    self.model.get_or_insert_with(|| model.clone());
                }
                ("sandbox", Value::Object(sandbox)) => self.confined(sandbox)?,
                ("env", Value::Object(variables)) => self.variables(variables)?,
                ("$schema", _) => {}
                ("hooks", Value::Object(hooks)) if hooks.is_empty() => {}
                ("hooks", _) => {
                    return Err(usage_error(
                        "`hooks` of `--settings` cannot be kept here; see docs/hooks.md",
                    ));
                }
                (key, _) if NARROWING.contains(&key) => return Err(cannot_be_kept(key)),
                (key, _) => self.ignored_arguments.push(format!("--settings {key}")),
            }
        }
        Ok(())
    }

    /// Arity what a sandbox is to forbid; what it is to allow is the configuration's to say.
    fn confined(&mut self, sandbox: &Map<String, Value>) -> Result<(), Reason> {
        if sandbox.get("enabled") == Some(&Value::Bool(true)) {
            self.flags.push("--sandbox=enabled".to_owned());
        }
        for (group, keys) in sandbox.iter().filter_map(|(group, value)| Some((group, value.as_object()?))) {
            let forbids = |(key, value): &(&String, &Value)| {
                key.starts_with("den") && value.as_array().is_none_or(|list| !list.is_empty())
            };
            if let Some((key, _)) = keys.iter().find(forbids) {
                return Err(cannot_be_kept(&format!("sandbox.{group}.{key}")));
            }
        }
        Ok(())
    }

    /// Passes over variables, but for those that would lead the run to another provider or by another way.
    fn variables(&mut self, variables: &Map<String, Value>) -> Result<(), Reason> {
        let leads = |name: &&String| {
            let name = name.to_ascii_uppercase();
            name.starts_with("ANTHROPIC_") || name.starts_with("CLAUDE_CODE_USE_") || name.ends_with("_PROXY")
        };
        if let Some(name) = variables.keys().find(leads) {
            return Err(cannot_be_kept(&format!("env.{name}")));
        }
        if !variables.is_empty() {
            self.ignored_arguments.push("--settings env".to_owned());
        }
        Ok(())
    }

    fn granted(&mut self, permissions: &Map<String, Value>) -> Result<(), Reason> {
        for (key, value) in permissions {
            match key.as_str() {
                "allow" => self.allow.extend(texts(key, value)?),
                "deny" => self.deny.extend(texts(key, value)?),
                "ask" => self.ask.extend(texts(key, value)?),
                "additionalDirectories" => self.directories.extend(texts(key, value)?),
                "defaultMode" if self.mode.is_none() => {
                    set(&mut self.mode, value.as_str().map(str::to_owned))?
                }
                "defaultMode" => {}
                "disableBypassPermissionsMode" => set(&mut self.no_bypass, true)?,
                other => return Err(cannot_be_kept(&format!("permissions.{other}"))),
            }
        }
        Ok(())
    }

    /// Arity the MCP servers that `given` is or names. Of those that the host runs only the name is known.
    ///
    /// # Errors
    /// `NoInput`; `Usage` for what is no JSON object.
    pub(super) fn servers(&mut self, given: &str, env: &Env<'_>) -> Result<(), Reason> {
        let mut document = object("--mcp-config", given, env)?;
        if let Some(Value::Object(servers)) = document.get_mut("mcpServers") {
            let is_of_host = |server: &Value| server.get("type").is_some_and(|kind| kind == "sdk");
            let of_host = servers.iter().filter(|(_, server)| is_of_host(server));
            self.host_servers.extend(of_host.map(|(name, _)| name.clone()));
            servers.retain(|_, server| !is_of_host(server));
        }
        self.forward("--mcp-config", &Value::Object(document).to_string())
    }
}

fn cannot_be_kept(key: &str) -> Reason {
    usage_error(format!("`{key}` of `--settings` cannot be kept here"))
}

fn object(flag: &str, given: &str, env: &Env<'_>) -> Result<Map<String, Value>, Reason> {
    let text = if given.trim_start().starts_with('{') { given.to_owned() } else { env.file(given)? };
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text)
        .map_err(|error| usage_error(format!("`{flag}` should be a JSON object: {error}")))
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, Reason> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Option<Vec<String>> = list.iter().map(|entry| entry.as_str().map(str::to_owned)).collect();
    match texts {
        Some(texts) if value.is_array() => Ok(texts),
        Some(_) | None => {
            Err(usage_error(format!("`permissions.{key}` of `--settings` should be a list of strings")))
        }
    }
}
