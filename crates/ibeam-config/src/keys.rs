//! The table of configuration keys: kind, default, environment variable, and what a project's file may set.

use crate::value::Kind;

/// The values that a project's file may set for a key. The user's file and the managed file may set every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectScope {
    /// Set it to any value: no value allows more.
    Any,
    /// Set it in a trusted workspace: a value could allow more or send an API key to another server.
    Trusted,
    /// Lower it; set it to any value in a trusted workspace.
    MayLower,
    /// Set it to this word; set it to any in a trusted workspace.
    IfEqual(&'static str),
    /// Set it to a later word of its kind than the one in force; set it to any in a trusted workspace.
    MayTighten,
    /// Set it to this word only, trusted or not.
    OnlyEqual(&'static str),
    /// Never set it, trusted or not.
    Never,
    /// Set it; the code that uses the value decides by its origin.
    Delegated,
}

/// One key. `*` in `path` matches any one name.
#[derive(Debug)]
pub(crate) struct Key {
    /// The names of the key, separated by dots.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    /// The environment variable that sets the key.
    pub(crate) variable: Option<&'static str>,
    /// The values that a project's file may set.
    pub(crate) project_scope: ProjectScope,
    /// Whether the value is the path of a file with a secret. Such a file is hidden from the model and its commands.
    pub(crate) names_secret: bool,
}

const fn key(
    path: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    project_scope: ProjectScope,
) -> Key {
    Key { path, kind, default, variable: None, project_scope, names_secret: false }
}

/// Returns a key whose value is the path of a file with a secret.
const fn secret_file(path: &'static str, project_scope: ProjectScope) -> Key {
    Key { names_secret: true, ..key(path, Kind::NonBlankText, None, project_scope) }
}

/// Returns a key whose value is the path of a file with a secret, or a list of such paths.
const fn secret_files(path: &'static str, project_scope: ProjectScope) -> Key {
    Key { kind: Kind::TextOrList, ..secret_file(path, project_scope) }
}

const fn with_variable(key: Key, variable: &'static str) -> Key {
    Key { variable: Some(variable), ..key }
}

/// Returns the words that the key at `path`, names joined by `.`, may have; none for a key of another kind.
pub fn choices(path: &str) -> &'static [&'static str] {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    if let Some(Key { kind: Kind::Choice(words) | Kind::Words(words), .. }) = Key::find(&path) {
        words
    } else {
        &[]
    }
}

/// Whether the value of the key at `path`, names joined by `.`, is the path of a file with a secret.
pub fn names_secret(path: &str) -> bool {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    Key::find(&path).is_some_and(|key| key.names_secret)
}

/// Returns the fields that `[models.NAME]` may set, names joined by `.`.
pub fn model_fields() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|key| key.path.strip_prefix("models.*."))
}

/// The levels of reasoning that a model may accept.
const EFFORT_LEVELS: &[&str] = &["minimal", "low", "medium", "high", "xhigh", "max"];
/// The forms of a request for reasoning.
const THINKING_FORMS: &[&str] =
    &["none", "adaptive", "budget", "levels", "object", "switch", "zai", "together", "nova"];
/// The ways to switch reasoning off.
const THINKING_OFF: &[&str] = &["none", "disabled", "between_tools", "level"];
const CACHE_FORMS: &[&str] = &["none", "breakpoints", "cache_control", "points", "system_points"];
/// The forms of a request for an answer that matches a JSON Schema.
const SCHEMA_FORMS: &[&str] = &["prompt", "json_schema", "output_config"];
/// The roles of instructions that follow later in a conversation.
const INSTRUCTION_ROLES: &[&str] = &["user", "system", "developer"];
/// The rules for the parts of a request.
const REQUEST_RULES: &[&str] = &[
    "added_tools",
    "developer_prompt",
    "effort_updates",
    "interleaved_beta",
    "media_in_results",
    "omitted_thinking",
    "reasoning_content",
    "result_status",
    "separate_text",
    "signed_calls",
    "summaries",
    "tool_stream",
];

/// All keys; docs/configuration.md describes each.
pub(crate) const KEYS: &[Key] = &[
    with_variable(key("model", Kind::TextOrList, None, ProjectScope::Trusted), "IBEAM_MODEL"),
    // More reasoning costs more.
    with_variable(
        key(
            "effort",
            Kind::Choice(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
            None,
            ProjectScope::Trusted,
        ),
        "IBEAM_EFFORT",
    ),
    with_variable(key("thinking_budget", Kind::Number, None, ProjectScope::Trusted), "IBEAM_THINKING_BUDGET"),
    with_variable(key("lang", Kind::NonBlankText, None, ProjectScope::Any), "IBEAM_LANG"),
    key("verbose", Kind::Switch, None, ProjectScope::Any),
    key("models.aliases.*", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("models.display.*", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("models.context.*", Kind::Number, None, ProjectScope::Trusted),
    key("models.prices.*", Kind::NonBlankText, None, ProjectScope::Trusted),
    // The fields of a model: this list is the only one.
    key("models.*.label", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("models.*.context_window", Kind::Number, None, ProjectScope::Trusted),
    key("models.*.economic_window", Kind::Number, None, ProjectScope::Trusted),
    key("models.*.max_output_tokens", Kind::Number, None, ProjectScope::Trusted),
    key("models.*.prices", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("models.*.tiers", Kind::List, None, ProjectScope::Trusted),
    key("models.*.batch_percent", Kind::Number, None, ProjectScope::Trusted),
    key("models.*.max_images", Kind::Number, None, ProjectScope::Trusted),
    key("models.*.tools", Kind::Switch, None, ProjectScope::Trusted),
    key("models.*.images", Kind::Switch, None, ProjectScope::Trusted),
    key("models.*.documents", Kind::Switch, None, ProjectScope::Trusted),
    key("models.*.reasoning", Kind::Switch, None, ProjectScope::Trusted),
    key("models.*.structured_output", Kind::Switch, None, ProjectScope::Trusted),
    key("models.*.wire", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("models.*.cache", Kind::Choice(CACHE_FORMS), None, ProjectScope::Trusted),
    key("models.*.schema", Kind::Choice(SCHEMA_FORMS), None, ProjectScope::Trusted),
    key("models.*.rules", Kind::Words(REQUEST_RULES), None, ProjectScope::Trusted),
    key("models.*.instruction_role", Kind::Choice(INSTRUCTION_ROLES), None, ProjectScope::Trusted),
    key("models.*.thinking.form", Kind::Choice(THINKING_FORMS), None, ProjectScope::Trusted),
    key("models.*.thinking.off", Kind::Choice(THINKING_OFF), None, ProjectScope::Trusted),
    key("models.*.thinking.levels", Kind::Words(EFFORT_LEVELS), None, ProjectScope::Trusted),
    key("models.*.thinking.default", Kind::Choice(EFFORT_LEVELS), None, ProjectScope::Trusted),
    key("models.*.thinking.bound", Kind::Switch, None, ProjectScope::Trusted),
    key("models.*.retires", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("models.*.successor", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("providers.*.wire", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("providers.*.base_url", Kind::NonBlankText, None, ProjectScope::Trusted),
    key("providers.*.key_variable", Kind::TextOrList, None, ProjectScope::Trusted),
    // A command of a project would run without the sandbox, and a file of a project could be anyone's key.
    key("providers.*.api_key_command", Kind::List, None, ProjectScope::Never),
    secret_files("providers.*.api_key_file", ProjectScope::Never),
    key("providers.*.headers.*", Kind::Text, None, ProjectScope::Trusted),
    key("providers.*.transport", Kind::Choice(&["http", "websocket"]), None, ProjectScope::Trusted),
    key("providers.*.text_tool_calls", Kind::Switch, None, ProjectScope::Trusted),
    key("providers.*.echo_reasoning", Kind::Switch, None, ProjectScope::Trusted),
    key("providers.*.prompt_cache", Kind::Switch, None, ProjectScope::Trusted),
    key("permissions.allow", Kind::Tokens, None, ProjectScope::Trusted),
    key("permissions.ask", Kind::Tokens, None, ProjectScope::Any),
    key("permissions.deny", Kind::Tokens, None, ProjectScope::Any),
    // The words are ordered from the least strict to the strictest.
    key(
        "approval",
        Kind::Choice(&["sandboxed", "allowlist", "strict"]),
        Some("sandboxed"),
        ProjectScope::MayTighten,
    ),
    key("sandbox.mode", Kind::Choice(&["enabled", "disabled"]), None, ProjectScope::OnlyEqual("enabled")),
    key("sandbox.environment", Kind::Set, None, ProjectScope::Trusted),
    // A build outside of the sandbox may later run the files in these directories.
    key("sandbox.writable", Kind::Set, None, ProjectScope::Never),
    key("sandbox.caches", Kind::Set, None, ProjectScope::Never),
    key("sandbox.scratch_size", Kind::Size, None, ProjectScope::MayLower),
    // The process that listens on a socket has the user's rights, or more.
    key("sandbox.sockets", Kind::Set, None, ProjectScope::Never),
    key("network.allow", Kind::Set, None, ProjectScope::Trusted),
    // Another authority could read API keys on their way.
    with_variable(key("tls.ca_file", Kind::NonBlankText, None, ProjectScope::Never), "IBEAM_CA_FILE"),
    // The file of the certificate may have its key too.
    secret_file("tls.client_cert", ProjectScope::Never),
    secret_file("tls.client_key", ProjectScope::Never),
    // An API key would be sent unencrypted.
    key("network.insecure_hosts", Kind::Set, None, ProjectScope::Never),
    // The address of a name decides who receives keys and where pages come from.
    key("network.resolve.*", Kind::NonBlankText, None, ProjectScope::Never),
    with_variable(
        key("limits.max_turns", Kind::Number, Some("200"), ProjectScope::MayLower),
        "IBEAM_MAX_TURNS",
    ),
    with_variable(key("limits.timeout", Kind::Time, None, ProjectScope::MayLower), "IBEAM_TIMEOUT"),
    key("limits.max_tokens", Kind::Number, None, ProjectScope::MayLower),
    key("limits.max_cost", Kind::Money, None, ProjectScope::MayLower),
    key("limits.max_tool_calls", Kind::Number, None, ProjectScope::MayLower),
    // Sub-agents cost more.
    key("subagents.mode", Kind::Choice(&["enabled", "disabled"]), None, ProjectScope::IfEqual("disabled")),
    key("subagents.max_depth", Kind::Number, Some("1"), ProjectScope::MayLower),
    key("limits.file_size", Kind::Size, None, ProjectScope::MayLower),
    // With too few processes, a hook that denies calls could not start the programs that it needs.
    key("limits.processes", Kind::Number, Some("4096"), ProjectScope::Trusted),
    key("limits.max_output_tokens", Kind::Number, None, ProjectScope::MayLower),
    key("background", Kind::NonBlankText, Some("stop"), ProjectScope::IfEqual("stop")),
    // Without a value, the default of the provider applies: a local server may have to load its model first.
    key("timeouts.connect", Kind::Time, None, ProjectScope::Trusted),
    key("timeouts.first_byte", Kind::Time, None, ProjectScope::Trusted),
    key("timeouts.idle", Kind::Time, None, ProjectScope::Trusted),
    key("timeouts.content_idle", Kind::Time, None, ProjectScope::Trusted),
    key("timeouts.answer", Kind::Time, None, ProjectScope::Trusted),
    key("timeouts.stdin", Kind::Time, Some("30s"), ProjectScope::Trusted),
    key("timeouts.stdin_context", Kind::Time, Some("3s"), ProjectScope::Trusted),
    key("timeouts.lock", Kind::Pause, Some("0s"), ProjectScope::Trusted),
    key("timeouts.files", Kind::Time, Some("60s"), ProjectScope::MayLower),
    key("timeouts.tool", Kind::Time, Some("120s"), ProjectScope::MayLower),
    key("timeouts.tool_longest", Kind::Time, Some("600s"), ProjectScope::MayLower),
    key("timeouts.background", Kind::Time, Some("10m"), ProjectScope::MayLower),
    key("timeouts.shutdown", Kind::Time, Some("3s"), ProjectScope::Trusted),
    key("retry.attempts", Kind::Number, Some("6"), ProjectScope::MayLower),
    key("retry.first_pause", Kind::Pause, Some("1s"), ProjectScope::Trusted),
    key("retry.give_up_after", Kind::Time, Some("5m"), ProjectScope::MayLower),
    // Too short a time would end a hook before it can deny a call.
    key("timeouts.hook", Kind::Time, Some("60s"), ProjectScope::Trusted),
    key("timeouts.api_key_command", Kind::Time, Some("30s"), ProjectScope::Never),
    key("timeouts.checkpoint", Kind::Time, Some("10s"), ProjectScope::Trusted),
    key("timeouts.git", Kind::Time, Some("10m"), ProjectScope::Trusted),
    key("timeouts.mcp_start", Kind::Time, Some("10s"), ProjectScope::MayLower),
    key("timeouts.mcp_call", Kind::Time, Some("120s"), ProjectScope::MayLower),
    key("mcp_servers.*.command", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.args", Kind::List, None, ProjectScope::Delegated),
    key("mcp_servers.*.env.*", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.cwd", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.url", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.headers.*", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.headers_command", Kind::List, None, ProjectScope::Delegated),
    key(
        "mcp_servers.*.revision",
        Kind::Choice(&["auto", "2025-11-25", "2026-07-28"]),
        None,
        ProjectScope::Delegated,
    ),
    key("mcp_servers.*.elicitation", Kind::Choice(&["decline", "defaults"]), None, ProjectScope::Delegated),
    key(
        "mcp_servers.*.auth.grant",
        Kind::Choice(&[
            "authorization_code",
            "device_code",
            "client_credentials",
            "jwt_bearer",
            "id_jag",
            "none",
        ]),
        None,
        ProjectScope::Delegated,
    ),
    key("mcp_servers.*.auth.scopes", Kind::List, None, ProjectScope::Delegated),
    key("mcp_servers.*.auth.redirect_port", Kind::Number, None, ProjectScope::Delegated),
    secret_file("mcp_servers.*.auth.private_key_file", ProjectScope::Delegated),
    secret_file("mcp_servers.*.auth.assertion_file", ProjectScope::Delegated),
    key("mcp_servers.*.auth.*", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.start_timeout", Kind::Time, None, ProjectScope::Delegated),
    key("mcp_servers.*.call_timeout", Kind::Time, None, ProjectScope::Delegated),
    key("mcp_servers.*.required", Kind::Switch, None, ProjectScope::Delegated),
    key("mcp_servers.*.enabled", Kind::Switch, None, ProjectScope::Delegated),
    // The service receives what the model searches for, and a key.
    key(
        "web_search.service",
        Kind::Choice(&["brave", "searxng", "tavily", "mcp"]),
        None,
        ProjectScope::Never,
    ),
    key("web_search.url", Kind::NonBlankText, None, ProjectScope::Never),
    key("web_search.tool", Kind::NonBlankText, None, ProjectScope::Never),
    key("web_search.key_variable", Kind::NonBlankText, None, ProjectScope::Never),
    key("web_search.api_key_command", Kind::List, None, ProjectScope::Never),
    secret_file("web_search.api_key_file", ProjectScope::Never),
    with_variable(key("local.model", Kind::NonBlankText, None, ProjectScope::Trusted), "IBEAM_LOCAL_MODEL"),
    // A project must not be able to prevent the recording of a run.
    with_variable(key("session.ephemeral", Kind::Switch, None, ProjectScope::Trusted), "IBEAM_EPHEMERAL"),
    // A project must not be able to prevent an undo.
    key("session.checkpoints", Kind::Switch, Some("true"), ProjectScope::Trusted),
    // Only a person knows whether all of a home directory is meant.
    key("session.cover_home", Kind::Switch, Some("false"), ProjectScope::Never),
    key("session.durability", Kind::NonBlankText, Some("default"), ProjectScope::IfEqual("strict")),
];

/// The smallest number of bytes of a name that counts as a part of the name of a key.
const MIN_PART_LENGTH: usize = 4;
/// The largest number of bytes of a key for which a similar one is searched.
const MAX_TYPED_LENGTH: usize = 100;

impl Key {
    /// Returns the key that `path` names.
    pub(crate) fn find(path: &[String]) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.matches(path))
    }

    /// Whether the value of the key that `path` names is the path of a file with a secret.
    pub(crate) fn is_secret_file(path: &[String]) -> bool {
        KEYS.iter().any(|key| key.names_secret && key.matches(path))
    }

    /// Returns the key that `path`, which names none, probably means; `None` if no key is similar.
    pub(crate) fn closest(path: &[String]) -> Option<String> {
        let typed = path.join(".");
        let last = path.last()?;
        // The time grows with the length, and a file may have any names.
        if typed.len() > MAX_TYPED_LENGTH {
            return None;
        }
        let near = KEYS.iter().filter_map(|key| {
            let (table, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
            // The last name decides: all keys of a provider are similar to each other.
            let is_near = 3 * strsim::osa_distance(last, name)
                <= last.chars().count().max(name.chars().count())
                || last.len() >= MIN_PART_LENGTH && name.contains(last.as_str());
            let is_named_by_user = name == "*" || table.contains('*') && path.len() < 3;
            let candidate = key.with_names_of(path);
            let distance = strsim::osa_distance(&typed, &candidate);
            (is_near && !is_named_by_user).then_some((distance, candidate))
        });
        near.min().map(|(_, candidate)| candidate)
    }

    /// Returns the path with the names that `path` has in the place of each `*`.
    fn with_names_of(&self, path: &[String]) -> String {
        let names = self.path.split('.').enumerate().map(|(index, name)| match path.get(index) {
            Some(given) if name == "*" => given.as_str(),
            Some(_) | None => name,
        });
        names.collect::<Vec<_>>().join(".")
    }

    pub(crate) fn path_names(&self) -> Vec<String> {
        self.path.split('.').map(str::to_owned).collect()
    }

    /// Whether `path` is this key.
    pub(crate) fn matches(&self, path: &[String]) -> bool {
        let mut words = self.path.split('.');
        path.iter().all(|found| words.next().is_some_and(|word| word == "*" || word == found))
            && words.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    /// A timeout without a default would be 0.
    #[test]
    fn every_timeout_that_does_not_depend_on_the_provider_has_a_default() {
        let of_provider = ["connect", "first_byte", "idle", "content_idle", "answer"];
        for key in KEYS.iter().filter(|key| key.path.starts_with("timeouts.")) {
            let depends = of_provider.iter().any(|name| key.path == format!("timeouts.{name}"));
            assert_eq!(key.default.is_none(), depends, "{}", key.path);
        }
    }

    #[test]
    fn an_unknown_key_finds_the_similar_one() {
        for (typed, expect) in [
            ("modle", Some("model")),
            ("max_turns", Some("limits.max_turns")),
            ("limits.turns", Some("limits.max_turns")),
            ("limit.max_turns", Some("limits.max_turns")),
            ("timeouts.conect", Some("timeouts.connect")),
            ("permissions.alow", Some("permissions.allow")),
            ("providers.corp.base_ulr", Some("providers.corp.base_url")),
            ("providers.corp.x", None),
            ("models.m.context_windw", Some("models.m.context_window")),
            ("models.m.thinking.form2", Some("models.m.thinking.form")),
            ("mcp_servers.files.comand", Some("mcp_servers.files.command")),
            ("nothing.of.this", None),
            ("colour", None),
            (&"modle".repeat(4_000), None),
        ] {
            let path: Vec<String> = typed.split('.').map(str::to_owned).collect();
            assert_eq!(Key::closest(&path).as_deref(), expect, "{typed}");
        }
    }

    #[test]
    fn every_default_is_of_its_kind() {
        for key in KEYS {
            if let Some(default) = key.default {
                assert!(Value::parse(key.kind, default).is_some(), "{}", key.path);
            }
        }
    }

    /// A name that ends so is that of a file with a secret, unless it is listed here with the reason.
    #[test]
    fn every_key_for_a_file_with_a_secret_is_marked() {
        // The certificates of authorities are public.
        let public = ["tls.ca_file"];
        for key in KEYS.iter().filter(|key| !public.contains(&key.path)) {
            let is_file = ["_file", "_key", "_cert"].iter().any(|end| key.path.ends_with(end));
            assert_eq!(key.names_secret, is_file, "{}", key.path);
        }
        assert!(
            names_secret("mcp_servers.a.auth.private_key_file") && !names_secret("mcp_servers.a.auth.issuer")
        );
    }

    #[test]
    fn every_key_is_in_the_documentation() {
        let page = include_str!("../../../docs/configuration.md");
        for key in KEYS {
            let written = key.path.replace('*', "NAME");
            assert!(
                page.contains(&format!("`{written}`")),
                "`{written}` is missing in docs/configuration.md"
            );
        }
    }

    /// People rely on the last column of the table when they clone a repository.
    #[test]
    fn the_documentation_names_what_a_project_may_set() {
        let page = include_str!("../../../docs/configuration.md");
        for key in KEYS {
            let row = format!("| `{}` |", key.path.replace('*', "NAME"));
            let Some(row) = page.lines().find(|line| line.starts_with(&row)) else { panic!("no row {row}") };
            let documented = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
            let expect = match key.project_scope {
                ProjectScope::Any => "yes".to_owned(),
                ProjectScope::Trusted => "trusted".to_owned(),
                ProjectScope::MayLower => "lower".to_owned(),
                ProjectScope::IfEqual(word) => format!("`\"{word}\"`"),
                ProjectScope::MayTighten => "narrower".to_owned(),
                ProjectScope::OnlyEqual(word) => format!("`\"{word}\"`, even when trusted"),
                ProjectScope::Never => "no".to_owned(),
                ProjectScope::Delegated => continue,
            };
            assert_eq!(documented, expect, "{row}");
        }
    }

    #[test]
    fn a_star_matches_one_name() {
        let words = |path: &[&str]| path.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let key = key("providers.*.base_url", Kind::NonBlankText, None, ProjectScope::Trusted);
        assert!(key.matches(&words(&["providers", "a.b", "base_url"])));
        assert!(!key.matches(&words(&["providers", "base_url"])));
        assert!(!key.matches(&words(&["providers", "a", "b", "base_url"])));
    }
}
