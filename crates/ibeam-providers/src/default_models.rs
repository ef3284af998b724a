//! The default model of a provider: a rule, applied to the list of the service or to the model table.

use crate::model_name::ModelName;
use crate::model_table::{models_of, newest_of_family};
use crate::provider_table::{DefaultModel, known_provider};

/// A model in the list of a service, as far as a rule needs it.
#[derive(Clone, Copy, Debug)]
pub struct ListedId<'a> {
    /// The id for requests.
    pub id: &'a str,
    /// The line of its family, such as `sonnet`, if the service states it.
    pub line: Option<&'a str>,
    /// Whether the service offers it for new work: it is neither deprecated nor retired.
    pub is_current: bool,
}

/// Returns the default model of a provider from the model table: one that is not retired on `today`, `YYYY-MM-DD`.
pub fn default_model(provider: &str, today: &str) -> Option<&'static str> {
    match known_provider(provider)?.default_model? {
        DefaultModel::Alias(id) => Some(id),
        DefaultModel::Newest(family) => newest_of_family(provider, family, today).map(|model| model.id),
    }
}

/// Returns the default model of a provider from the list of the service; `None` if no model of the list follows the rule.
///
/// An alias that the service does not list stands for its family: the newest model with the same words.
pub fn default_of_list<'a>(provider: &str, listed: &[ListedId<'a>]) -> Option<&'a str> {
    match known_provider(provider)?.default_model? {
        DefaultModel::Alias(alias) => {
            let is_alias = |model: &&ListedId<'_>| model.id == alias && model.is_current;
            let found = listed.iter().find(is_alias).map(|model| model.id);
            found.or_else(|| newest_listed(listed, &ModelName::new(alias).family))
        }
        DefaultModel::Newest(family) => newest_listed(listed, family),
    }
}

/// Returns the newest current model of a family in the list of a service.
pub fn newest_listed<'a>(listed: &[ListedId<'a>], family: &str) -> Option<&'a str> {
    let line = family.rsplit_once('-').map(|(_, line)| line);
    let current = listed.iter().filter(|model| model.is_current);
    let of_family = current.filter_map(|model| {
        let name = ModelName::new(model.id);
        let is_of_family = name.family == family || (line.is_some() && model.line == line);
        is_of_family.then_some((name, model.id))
    });
    // Of two ids of one version, the one of a profile for all regions can always be used, and the shorter one has no date.
    let rank = |id: &str| (id.starts_with("global."), std::cmp::Reverse(id.len()));
    let newest = of_family
        .max_by(|(a, a_id), (b, b_id)| a.version.cmp(&b.version).then_with(|| rank(a_id).cmp(&rank(b_id))));
    newest.map(|(_, id)| id)
}

/// Returns the family of a line of a provider, such as `claude-opus` for `opus`; the one with the newest model if there are
/// several.
pub fn family_of_line(provider: &str, line: &str) -> Option<String> {
    // A line is one word.
    if line.contains('-') {
        return None;
    }
    let names = models_of(provider).map(|model| ModelName::new(model.id));
    let is_of_line = |name: &ModelName| name.family.rsplit_once('-').is_some_and(|(_, last)| last == line);
    names.filter(is_of_line).max_by_key(|name| name.version).map(|name| name.family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::days_of_date;
    use crate::model_table::{TABLE_DATE, find_model, known_models, retired_model};
    use crate::provider_table::PROVIDERS;

    /// The newest dated entry of the changes, which is the date of the release.
    fn release_date() -> &'static str {
        let changes = include_str!("../../../CHANGELOG.md");
        let dated = changes.lines().filter_map(|line| line.strip_prefix("## ")?.rsplit_once(' '));
        let is_date =
            |text: &&str| text.len() == 10 && text.bytes().filter(|byte| *byte == b'-').count() == 2;
        dated.map(|(_, date)| date).find(is_date).expect("an entry with a date")
    }

    fn days(date: &str) -> i64 {
        days_of_date(date).unwrap_or_else(|| panic!("{date}"))
    }

    #[test]
    fn every_default_is_in_the_table_and_stays_for_90_days_after_the_release() {
        let mut count = 0;
        for provider in PROVIDERS.iter().filter(|provider| provider.default_model.is_some()) {
            let name = provider.name;
            let id = default_model(name, TABLE_DATE).unwrap_or_else(|| panic!("{name} has no default"));
            let model = find_model(name, id).unwrap_or_else(|| panic!("{name}/{id} is not in the table"));
            assert!(!model.is_assumed && model.provider == name, "{name}/{id} is only assumed");
            assert!(model.abilities.tools != Some(false), "{name}/{id} calls no tools");
            assert!(model.successor.is_none(), "{name}/{id} has a successor");
            let left = model.retires.map_or(i64::MAX, |day| days(day) - days(release_date()));
            assert!(left >= 90, "{name}/{id} retires {left} days after the release");
            count += 1;
        }
        assert!(count >= 15, "{count}");
    }

    #[test]
    fn a_default_is_replaced_on_the_day_of_its_retirement() {
        assert_eq!(default_model("anthropic", "2026-11-28"), Some("claude-sonnet-5-5"));
        assert_eq!(default_model("openai", "2026-11-28"), Some("gpt-6.2-sol"));
        assert_eq!(default_model("ollama", "2026-11-28"), None);
        let mut count = 0;
        for model in known_models().filter(|model| model.successor.is_none()) {
            let Some(day) = model.retires else { continue };
            let newest = newest_of_family(model.provider, &ModelName::new(model.id).family, day);
            assert!(newest.is_none_or(|newest| newest.id != model.id), "{}/{}", model.provider, model.id);
            count += 1;
        }
        assert!(count > 0);
    }

    #[test]
    fn the_list_of_a_service_decides_over_the_table() {
        let list = |ids: &[&'static str]| -> Vec<ListedId<'static>> {
            ids.iter().map(|id| ListedId { id, line: None, is_current: true }).collect()
        };
        for (provider, ids, expect) in [
            (
                "anthropic",
                &["claude-opus-7", "claude-sonnet-6-20270101", "claude-sonnet-6", "claude-sonnet-5-5"][..],
                Some("claude-sonnet-6"),
            ),
            ("openai", &["gpt-6.2-sol", "gpt-6.10-sol", "gpt-7-luna"], Some("gpt-6.10-sol")),
            (
                "bedrock",
                &[
                    "anthropic.claude-sonnet-6",
                    "us.anthropic.claude-sonnet-6",
                    "global.anthropic.claude-sonnet-6",
                ],
                Some("global.anthropic.claude-sonnet-6"),
            ),
            ("deepseek", &["deepseek-flash", "deepseek-v9-flash"], Some("deepseek-flash")),
            (
                "together",
                &["zai-org/GLM-5.3", "zai-org/GLM-6", "zai-org/GLM-6.1-Flash"],
                Some("zai-org/GLM-6"),
            ),
            ("anthropic", &["something-else"], None),
            ("ollama", &["llama3"], None),
        ] {
            assert_eq!(default_of_list(provider, &list(ids)), expect, "{provider}");
        }
        let deprecated = ListedId { id: "claude-sonnet-6", line: None, is_current: false };
        let current = ListedId { id: "claude-sonnet-5-5", line: None, is_current: true };
        assert_eq!(default_of_list("anthropic", &[deprecated, current]), Some("claude-sonnet-5-5"));
        let of_line = ListedId { id: "claude-poem-7", line: Some("sonnet"), is_current: true };
        assert_eq!(default_of_list("anthropic", &[current, of_line]), Some("claude-poem-7"));
    }

    #[test]
    fn the_documentation_lists_every_default_model() {
        let page = include_str!("../../../docs/getting-started.md");
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let defaults = PROVIDERS.iter().filter_map(|provider| {
            Some(format!("| `{}` | `{}` |", provider.name, default_model(provider.name, TABLE_DATE)?))
        });
        assert_eq!(rows.collect::<Vec<_>>(), defaults.collect::<Vec<_>>());
    }

    #[test]
    fn the_documentation_names_no_model_that_retires_within_90_days_of_the_release() {
        let texts = [
            ("README.md", include_str!("../../../README.md")),
            ("getting-started.md", include_str!("../../../docs/getting-started.md")),
            ("models.md", include_str!("../../../docs/models.md")),
            ("configuration.md", include_str!("../../../docs/configuration.md")),
            ("fleet.md", include_str!("../../../docs/fleet.md")),
            ("clients.md", include_str!("../../../docs/clients.md")),
            ("output-format.md", include_str!("../../../docs/output-format.md")),
            ("editors.md", include_str!("../../../docs/editors.md")),
        ];
        let is_part_of_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '@');
        let words = texts.iter().flat_map(|(page, text)| {
            text.split(move |c| !is_part_of_id(c)).map(move |word| (*page, word.trim_end_matches('.')))
        });
        let words: std::collections::BTreeSet<(&str, &str)> =
            words.filter(|(_, word)| word.len() > 2).collect();
        let ends_soon = |day: &str| days(day) - days(release_date()) < 90;
        let mut count = 0;
        for (page, word) in words {
            for provider in PROVIDERS.iter().filter(|provider| !provider.own_names.is_empty()) {
                count += 1;
                let retired = retired_model(provider.name, word);
                assert!(retired.is_none(), "{page} names the retired model {word}");
                let own = models_of_word(provider.name, word);
                let retires = own.and_then(|model| model.retires).filter(|day| ends_soon(day));
                assert!(retires.is_none(), "{page} names {word}, which retires on {retires:?}");
            }
        }
        assert!(count > 10_000, "{count}");
    }

    /// Returns the model with exactly this id.
    fn models_of_word(provider: &str, word: &str) -> Option<crate::KnownModel> {
        find_model(provider, word).filter(|model| model.id == word)
    }

    #[test]
    fn a_line_has_its_newest_model() {
        for (line, expect) in [
            ("opus", Some("claude-opus-5-5")),
            ("sonnet", Some("claude-sonnet-5-5")),
            ("haiku", Some("claude-haiku-5-5")),
            ("fable", Some("claude-fable-5-2")),
            ("unknown", None),
        ] {
            let family = family_of_line("anthropic", line);
            let newest = family.and_then(|family| newest_of_family("anthropic", &family, TABLE_DATE));
            assert_eq!(newest.map(|model| model.id), expect, "{line}");
        }
    }
}
