//! Every key there is: its kind, its default, the variable that sets it, and what a project's file may do with it.

use super::value::Kind;

/// What a project's file may do with a key. The user's and the managed one may set every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectScope {
    /// Set it: it can only narrow what is allowed, or widens nothing.
    Any,
    /// Set it in a trusted workspace: it could widen what is allowed or send a key elsewhere.
    Trusted,
    /// Lower it; in a trusted workspace set it.
    MayLower,
    /// Say this word; in a trusted workspace any.
    IfEqual(&'static str),
    /// Say a later word of the kind than the one in force; in a trusted workspace any.
    MayTighten,
    /// Say this word, and never another.
    OnlyEqual(&'static str),
    /// Nothing, trusted or not.
    Never,
    /// Set it; whoever uses it tells the layers apart and what it may do with which.
    Delegated,
}

/// One key. `*` in `path` stands for any one name.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    pub(crate) variable: Option<&'static str>,
    pub(crate) project_scope: ProjectScope,
}

const fn key(
    path: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    project_scope: ProjectScope,
) -> Key {
    Key { path, kind, default, variable: None, project_scope }
}

const fn with_variable(key: Key, variable: &'static str) -> Key {
    Key { variable: Some(variable), ..key }
}

/// The whole list; docs/configuration.md says what each does.
pub(crate) const KEYS: &[Key] = &[
    with_variable(key("model", Kind::Name, None, ProjectScope::Trusted), "IBEAM_MODEL"),
    with_variable(key("lang", Kind::Name, None, ProjectScope::Any), "IBEAM_LANG"),
    key("verbose", Kind::Switch, None, ProjectScope::Any),
    key("models.aliases.*", Kind::Name, None, ProjectScope::Trusted),
    key("models.display.*", Kind::Name, None, ProjectScope::Trusted),
    key("models.context.*", Kind::Number, None, ProjectScope::Trusted),
    key("models.prices.*", Kind::Name, None, ProjectScope::Trusted),
    key("providers.*.wire", Kind::Name, None, ProjectScope::Trusted),
    key("providers.*.base_url", Kind::Name, None, ProjectScope::Trusted),
    key("providers.*.key_variable", Kind::Name, None, ProjectScope::Trusted),
    key("providers.*.headers.*", Kind::Text, None, ProjectScope::Trusted),
    key("providers.*.text_tool_calls", Kind::Switch, None, ProjectScope::Trusted),
    key("permissions.allow", Kind::Tokens, None, ProjectScope::Trusted),
    key("permissions.ask", Kind::Tokens, None, ProjectScope::Any),
    key("permissions.deny", Kind::Tokens, None, ProjectScope::Any),
    // From wide to narrow.
    key(
        "approval",
        Kind::Word(&["sandboxed", "allowlist", "strict"]),
        Some("sandboxed"),
        ProjectScope::MayTighten,
    ),
    key("sandbox.mode", Kind::Word(&["enabled", "disabled"]), None, ProjectScope::OnlyEqual("enabled")),
    key("sandbox.environment", Kind::Set, None, ProjectScope::Trusted),
    // What a later build outside of the sandbox runs may lie there.
    key("sandbox.writable", Kind::Set, None, ProjectScope::Never),
    key("sandbox.caches", Kind::Set, None, ProjectScope::Never),
    key("sandbox.scratch_size", Kind::Size, None, ProjectScope::MayLower),
    // The process that listens there acts with the user's rights, or with more.
    key("sandbox.sockets", Kind::Set, None, ProjectScope::Never),
    key("network.allow", Kind::Set, None, ProjectScope::Trusted),
    // A key would travel unencrypted.
    key("network.insecure_hosts", Kind::Set, None, ProjectScope::Never),
    // Where a name leads is where keys and pages come from.
    key("network.resolve.*", Kind::Name, None, ProjectScope::Never),
    with_variable(
        key("limits.max_turns", Kind::Number, Some("200"), ProjectScope::MayLower),
        "IBEAM_MAX_TURNS",
    ),
    with_variable(key("limits.timeout", Kind::Time, None, ProjectScope::MayLower), "IBEAM_TIMEOUT"),
    key("limits.max_tokens", Kind::Number, None, ProjectScope::MayLower),
    key("limits.max_cost", Kind::Money, None, ProjectScope::MayLower),
    key("limits.max_tool_calls", Kind::Number, None, ProjectScope::MayLower),
    key("limits.file_size", Kind::Size, None, ProjectScope::MayLower),
    // Too few, and a hook that guards could not start what it needs.
    key("limits.processes", Kind::Number, Some("4096"), ProjectScope::Trusted),
    key("limits.max_output_tokens", Kind::Number, None, ProjectScope::MayLower),
    key("background", Kind::Name, Some("stop"), ProjectScope::IfEqual("stop")),
    // Without a value of the user's, the bounds that suit the service: a local server may first load its model.
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
    // Too short, it would end a hook that guards before it has spoken.
    key("timeouts.hook", Kind::Time, Some("60s"), ProjectScope::Trusted),
    key("timeouts.mcp_start", Kind::Time, Some("10s"), ProjectScope::MayLower),
    key("timeouts.mcp_call", Kind::Time, Some("120s"), ProjectScope::MayLower),
    key("mcp_servers.*.command", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.args", Kind::List, None, ProjectScope::Delegated),
    key("mcp_servers.*.env.*", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.cwd", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.url", Kind::Text, None, ProjectScope::Delegated),
    key("mcp_servers.*.required", Kind::Switch, None, ProjectScope::Delegated),
    key("mcp_servers.*.enabled", Kind::Switch, None, ProjectScope::Delegated),
    with_variable(key("local.model", Kind::Name, None, ProjectScope::Trusted), "IBEAM_LOCAL_MODEL"),
    // What a run did must be found afterwards, unless a person does not want it.
    with_variable(key("session.ephemeral", Kind::Switch, None, ProjectScope::Trusted), "IBEAM_EPHEMERAL"),
    key("session.durability", Kind::Name, Some("default"), ProjectScope::IfEqual("strict")),
];

impl Key {
    /// The key that this path is.
    pub(crate) fn named(path: &[String]) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.matches(path))
    }

    /// The path as words.
    pub(crate) fn path_words(&self) -> Vec<String> {
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
    use super::super::value::Value;
    use super::*;

    /// Without a default a missing bound would be no time at all.
    #[test]
    fn every_bound_that_does_not_depend_on_the_service_has_a_default() {
        let of_the_service = ["connect", "first_byte", "idle", "content_idle", "answer"];
        for key in KEYS.iter().filter(|key| key.path.starts_with("timeouts.")) {
            let depends = of_the_service.iter().any(|name| key.path == format!("timeouts.{name}"));
            assert_eq!(key.default.is_none(), depends, "{}", key.path);
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

    #[test]
    fn every_key_is_in_the_documentation() {
        let page = include_str!("../../../../docs/configuration.md");
        for key in KEYS {
            let written = key.path.replace('*', "NAME");
            assert!(
                page.contains(&format!("`{written}`")),
                "`{written}` is missing in docs/configuration.md"
            );
        }
    }

    /// The last column of the table is what people rely on when they clone a repository.
    #[test]
    fn the_documentation_says_what_a_project_may_do_with_each_key() {
        let page = include_str!("../../../../docs/configuration.md");
        for key in KEYS {
            let row = format!("| `{}` |", key.path.replace('*', "NAME"));
            let Some(row) = page.lines().find(|line| line.starts_with(&row)) else { panic!("no row {row}") };
            let told = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
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
            assert_eq!(told, expect, "{row}");
        }
    }

    #[test]
    fn a_star_stands_for_one_name() {
        let words = |path: &[&str]| path.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let key = key("providers.*.base_url", Kind::Name, None, ProjectScope::Trusted);
        assert!(key.matches(&words(&["providers", "a.b", "base_url"])));
        assert!(!key.matches(&words(&["providers", "base_url"])));
        assert!(!key.matches(&words(&["providers", "a", "b", "base_url"])));
    }
}
