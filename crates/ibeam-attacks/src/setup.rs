//! The settings of a case, as flags, configuration files and environment of the program.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde_json::json;
use toml::{Table, Value as Toml};

use crate::case::Case;
use crate::effect::Effect;
use crate::fixture::Fixture;
use crate::hook::CaseHook;
use crate::policy::{Policy, Sandbox};
use crate::user::{SYSTEM_PATH, find_program, find_system_program};

/// The source of the MCP server.
const MCP_SERVER: &str = include_str!("mcp_server.py");
const MODEL: &str = "anthropic/claude-sonnet-4-6";
/// The API key of a case that does not set one.
const DEFAULT_API_KEY: &str = "key-0123456789abcdef";
/// The variable that a corpus for several programs uses for the API key.
const GENERIC_KEY_VARIABLE: &str = "PROVIDER_API_KEY";

/// The arguments and environment of a run.
#[derive(Debug)]
pub(crate) struct RunSetup {
    pub(crate) args: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// The file that the MCP server creates when it is called.
    pub(crate) mcp_marker: PathBuf,
    /// The name of the MCP server and its tools.
    mcp: Option<(String, Vec<String>)>,
}

impl RunSetup {
    /// Writes the files and returns the arguments and environment. `pins` are names with configured addresses.
    pub(crate) fn new(
        case: &Case,
        fixture: &Fixture,
        model: &str,
        pins: &[(String, String)],
    ) -> io::Result<Self> {
        let policy = &case.policy;
        let mut run_setup = Self {
            args: vec!["-p".into(), case.prompt().into(), "--model".into(), MODEL.into()],
            environment: Vec::new(),
            mcp_marker: fixture.top().join("mcp-called"),
            mcp: mcp_server(case),
        };
        let config = fixture.workspace.home().join(".config/ibeam/config.toml");
        let mut permissions = Table::new();
        let in_file = policy.raw.is_some() || policy.chmod.is_some();
        if let Some(raw) = &policy.raw {
            fixture.write_file(&policy_file(fixture), raw)?;
        } else if in_file {
            let permissions = json!({ "allow": policy.allow, "deny": policy.deny });
            fixture.write_file(
                &policy_file(fixture),
                &json!({ "version": 1, "permissions": permissions }).to_string(),
            )?;
        } else if policy.trust.is_some() {
            // Both the repository and the user's file contain rules, so these go into the user's file.
            let lists = [("allow", &policy.allow), ("deny", &policy.deny)];
            permissions.extend(lists.map(|(name, tokens)| (name.to_owned(), toml_list(tokens))));
        } else {
            run_setup.args.extend(policy.allow.iter().map(|token| format!("--allow={token}")));
            run_setup.args.extend(policy.deny.iter().map(|token| format!("--deny={token}")));
        }
        if !policy.ask.is_empty() {
            permissions.insert("ask".to_owned(), toml_list(&policy.ask));
        }
        let mut tables = run_setup.config(model, pins);
        tables.insert("permissions".to_owned(), permissions.into());
        fixture.write_file(&config, &tables.to_string())?;
        if let Some(mode) = &policy.chmod {
            fixture.run_bash(&format!("chmod {mode} '{}'", policy_file(fixture).display()))?;
        }
        if let Some(description) = &policy.hook {
            let payload = hook_payload(case);
            let hook = CaseHook::parse(description, &payload).map_err(io::Error::other)?;
            fixture
                .write_file(&fixture.workspace.home().join(".cursor/hooks.json"), &hook.file().to_string())?;
        }
        if run_setup.mcp.is_some() {
            fixture.write_file(&fixture.top().join("mcp/server.py"), MCP_SERVER)?;
            run_setup.set_mcp_version(fixture, "one")?;
        }
        run_setup.add_flags(case);
        run_setup.add_environment(case);
        Ok(run_setup)
    }

    /// Changes the descriptions of the MCP server's tools.
    pub(crate) fn set_mcp_version(&self, fixture: &Fixture, version: &str) -> io::Result<()> {
        fixture.write_file(&fixture.top().join("mcp/version"), version)
    }

    /// Changes the address of the model in the configuration.
    pub(crate) fn replace_model_url(&self, fixture: &Fixture, from: &str, to: &str) -> io::Result<()> {
        let config = fixture.workspace.home().join(".config/ibeam/config.toml");
        let text = std::fs::read_to_string(&config)?;
        fixture.write_file(&config, &text.replace(from, to))
    }

    fn config(&self, model: &str, pins: &[(String, String)]) -> Table {
        let mut tables = Table::new();
        // The address is set in a file, because a variable, which the repository may set, has precedence over a file.
        let provider = Table::from_iter([("base_url".to_owned(), Toml::String(model.to_owned()))]);
        tables
            .insert("providers".into(), Table::from_iter([("anthropic".to_owned(), provider.into())]).into());
        if let Some((name, tools)) = &self.mcp {
            let directory = self.mcp_marker.with_file_name("mcp");
            let python = find_system_program("python3").unwrap_or_else(|| "python3".into());
            let marker = self.mcp_marker.display().to_string();
            let args = ["server.py".to_owned(), marker].into_iter().chain(tools.iter().cloned());
            let server = Table::from_iter([
                ("command".to_owned(), python.display().to_string().into()),
                ("args".to_owned(), toml_list(&args.collect::<Vec<_>>())),
                ("cwd".to_owned(), directory.display().to_string().into()),
            ]);
            tables.insert("mcp_servers".into(), Table::from_iter([(name.clone(), server.into())]).into());
        }
        if !pins.is_empty() {
            let pins =
                Table::from_iter(pins.iter().map(|(name, place)| (name.clone(), place.clone().into())));
            tables.insert("network".into(), Table::from_iter([("resolve".to_owned(), pins.into())]).into());
        }
        tables
    }

    /// Adds the flags of the policy.
    fn add_flags(&mut self, case: &Case) {
        let Policy { sandbox, force, trust, mode, approve_mcps, sockets, .. } = &case.policy;
        if *approve_mcps {
            self.args.push("--approve-mcps".to_owned());
        }
        if *sandbox == Sandbox::Off {
            self.args.push("--sandbox=disabled".to_owned());
        }
        if *force {
            self.args.push("--force".to_owned());
        }
        if *trust == Some(true) {
            self.args.push("--trust".to_owned());
        }
        self.args.extend(sockets.iter().map(|path| format!("--allow-socket={path}")));
        self.args.extend(mode.iter().map(|mode| format!("--mode={mode}")));
        if reads_stdin(case) {
            self.args.push("--stdin=ignore".to_owned());
        }
    }

    /// Adds the variables of the environment.
    fn add_environment(&mut self, case: &Case) {
        let path = match case.needed_programs().contains(&"cargo").then(cargo_directory).flatten() {
            Some(directory) => format!("{SYSTEM_PATH}:{directory}"),
            None => SYSTEM_PATH.to_owned(),
        };
        let api_key = case.policy.setup_env.get(GENERIC_KEY_VARIABLE).map_or(DEFAULT_API_KEY, String::as_str);
        self.environment.push(("ANTHROPIC_API_KEY".to_owned(), api_key.to_owned()));
        self.environment.push(("PATH".to_owned(), path.clone()));
        let given = case.setup_env.iter().chain(&case.policy.setup_env).chain(&case.policy.env);
        let expand = |value: &String| value.replace("${PATH}", &path).replace("$PATH", &path);
        self.environment.extend(given.map(|(name, value)| (name.clone(), expand(value))));
    }
}

/// Whether the call reads the stdin of the program, which must then have content.
pub(crate) fn reads_stdin(case: &Case) -> bool {
    case.own_texts()
        .iter()
        .any(|word| ["/dev/stdin", "/fd/0", "/dev/fd"].iter().any(|place| word.contains(place)))
}

/// Returns the directory of the `cargo` that runs this program, which is outside the system path.
pub(crate) fn cargo_directory() -> Option<String> {
    let cargo = PathBuf::from(std::env::var_os("CARGO")?);
    let directory = cargo.parent()?.to_str()?.to_owned();
    find_program("cargo", &directory).map(|_| directory)
}

/// Returns the path of the user's policy file.
fn policy_file(fixture: &Fixture) -> PathBuf {
    fixture.workspace.home().join(".cursor/cli-config.json")
}

fn toml_list(texts: &[String]) -> Toml {
    Toml::Array(texts.iter().map(|text| Toml::String(text.clone())).collect())
}

/// Returns the command to which a hook rewrites: the effect that the case forbids.
fn hook_payload(case: &Case) -> String {
    let word =
        case.policy.hook.as_deref().and_then(|description| description.rsplit("rewrites command to ").next());
    let word = word.unwrap_or_default().trim();
    let effects = [case.forbidden_effects(), case.expected_effects()]
        .into_iter()
        .flatten()
        .flatten()
        .collect::<Vec<_>>();
    let path = effects.iter().find_map(|effect| match effect {
        Effect::Exists(path) | Effect::Changed(path) => Some(path.display().to_string()),
        _ => None,
    });
    format!("{word} {}", path.unwrap_or_default())
}

/// Returns the MCP server of a case and its tools.
fn mcp_server(case: &Case) -> Option<(String, Vec<String>)> {
    let text = |key: &str| case.args.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    let called = (case.tool == "mcp").then(|| text("tool")).flatten();
    let name = (case.tool == "mcp").then(|| text("server")).flatten().unwrap_or_else(|| "x".to_owned());
    let mut tools = case.policy.mcp_tools.clone();
    tools.extend(called);
    tools.dedup();
    (!tools.is_empty()).then_some((name, tools))
}

/// Returns the names that the user's configuration pins to an address of the listener: the names that the case lists.
/// Without a name server, every name in the URL is included, so that a refusal is not due to a missing address.
pub(crate) fn pins(case: &Case, has_names: bool, port: u16) -> Vec<(String, String)> {
    let policy = &case.policy;
    let mut pins = BTreeMap::new();
    if !has_names && !case.policy.rebinds() {
        let url = case.args.get("url").and_then(serde_json::Value::as_str).unwrap_or_default();
        let words = url.split(|part: char| !part.is_ascii_alphanumeric() && !"-.".contains(part));
        // An invalid host name cannot be pinned and has no address anyway.
        let is_name = |word: &&str| {
            let last = word.rsplit_once('.').map(|(_, last)| last);
            last.is_some_and(|last| last.chars().all(char::is_alphabetic)) && !word.contains("xn--")
        };
        pins.extend(words.filter(is_name).map(|name| (name.to_owned(), format!("127.0.0.1:{port}"))));
    }
    if policy.insecure_loopback_ok || !has_names && !case.policy.rebinds() {
        pins.extend(policy.resolve.clone());
    }
    pins.into_iter().collect()
}

#[cfg(test)]
#[path = "setup_test.rs"]
mod tests;
