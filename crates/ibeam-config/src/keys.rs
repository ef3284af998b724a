//! A configuration key: kind, default, environment variable, and what a project's file may set.

use crate::settings::tables::{MODEL_KEYS, TABLES};
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
    MODEL_KEYS.iter().filter_map(|key| key.path.strip_prefix("models.*."))
}

/// Returns all keys.
pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    TABLES.iter().copied().flatten()
}

/// The smallest number of bytes of a name that counts as a part of the name of a key.
const MIN_PART_LENGTH: usize = 4;
/// The largest number of bytes of a key for which a similar one is searched.
const MAX_TYPED_LENGTH: usize = 100;

impl Key {
    /// Returns the key that `path` names.
    pub(crate) fn find(path: &[String]) -> Option<&'static Self> {
        all().find(|key| key.matches(path))
    }

    /// Whether the value of the key that `path` names is the path of a file with a secret.
    pub(crate) fn is_secret_file(path: &[String]) -> bool {
        all().any(|key| key.names_secret && key.matches(path))
    }

    /// Returns the key that `path`, which names none, probably means; `None` if no key is similar.
    pub(crate) fn closest(path: &[String]) -> Option<String> {
        let typed = path.join(".");
        let last = path.last()?;
        // The time grows with the length, and a file may have any names.
        if typed.len() > MAX_TYPED_LENGTH {
            return None;
        }
        let near = all().filter_map(|key| {
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
        for key in all().filter(|key| key.path.starts_with("timeouts.")) {
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
        for key in all() {
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
        for key in all().filter(|key| !public.contains(&key.path)) {
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
        for key in all() {
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
        for key in all() {
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
        let key = all().find(|key| key.path == "providers.*.base_url").unwrap();
        assert!(key.matches(&words(&["providers", "a.b", "base_url"])));
        assert!(!key.matches(&words(&["providers", "base_url"])));
        assert!(!key.matches(&words(&["providers", "a", "b", "base_url"])));
    }
}
