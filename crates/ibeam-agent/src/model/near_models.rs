//! The models whose names are similar to a name that no provider knows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ibeam_providers::{find_model, known_models, models_of, retired_model};

use super::configured_provider::provider_names;
use super::list_cache::ListCache;
use crate::app::AppContext;
use crate::similar_names::{closest, most_similar};

/// The maximum number of similar names.
const MAX_NAMES: usize = 3;

/// The sources of known model names. The cache is read only during a search.
#[derive(Clone, Debug)]
pub(super) struct NameSources {
    aliases: Vec<String>,
    providers: Vec<String>,
    cache_dir: PathBuf,
}

impl NameSources {
    /// Returns the sources of the configuration and the cache of this user.
    pub(super) fn new(app: &AppContext) -> Self {
        Self {
            aliases: app.base.settings.models.aliases.keys().cloned().collect(),
            providers: provider_names(app),
            cache_dir: app.dirs.cache.clone(),
        }
    }
}

/// Returns the cached and the known models, as `provider/id`.
fn model_names(cache_dir: &Path) -> BTreeSet<String> {
    let known = known_models().map(|model| format!("{}/{}", model.provider, model.id));
    ListCache::load(cache_dir).names().chain(known).collect()
}

/// Returns the models of `provider` that may be meant by `id`, the most likely first: the successor of a retired model, then
/// the models whose ids are similar.
pub(super) fn near_models_of(provider: &str, id: &str, cache_dir: &Path) -> Vec<String> {
    let prefix = format!("{provider}/");
    let models = model_names(cache_dir);
    let ids = models.iter().filter_map(|model| model.strip_prefix(&prefix)).map(str::to_owned);
    let successor = successor(provider, id);
    let near = most_similar(id, ids, MAX_NAMES);
    let near = near.into_iter().filter(|near| Some(near.as_str()) != successor.as_deref() && near != id);
    successor.clone().into_iter().chain(near).take(MAX_NAMES).map(|id| format!("{prefix}{id}")).collect()
}

/// Returns the model that replaces a retired or retiring one, after all its successors.
fn successor(provider: &str, id: &str) -> Option<String> {
    let next = |id: &str| match retired_model(provider, id) {
        Some(retired) => retired.successor,
        None => find_model(provider, id).filter(|known| !known.is_assumed)?.successor,
    };
    let mut last = next(id)?;
    // A cycle in the table must not keep the search going.
    for _ in 0..MAX_NAMES {
        match next(last) {
            Some(later) => last = later,
            None => break,
        }
    }
    models_of(provider).any(|model| model.id == last).then(|| last.to_owned())
}

/// Returns the names that are similar to `name`, the most similar first: aliases, cached models and known models.
///
/// If `name` has a misspelt provider, the result is `name` with the right one.
pub(super) fn near_models(sources: &NameSources, name: &str) -> Vec<String> {
    let models = model_names(&sources.cache_dir);
    let aliases = sources.aliases.iter().cloned();
    let Some((typed_provider, typed_model)) = name.split_once('/') else {
        let ids = models.iter().filter_map(|model| Some(model.split_once('/')?.1.to_owned()));
        let near = most_similar(name, ids.chain(aliases), MAX_NAMES);
        let complete = |id: String| {
            let found = models.iter().find(|model| model.split_once('/').is_some_and(|(_, bare)| bare == id));
            found.cloned().unwrap_or(id)
        };
        return near.into_iter().map(complete).collect();
    };
    match closest(typed_provider, sources.providers.iter().map(String::as_str)) {
        Some(provider) => vec![format!("{provider}/{typed_model}")],
        None => most_similar(name, models.into_iter().chain(aliases), MAX_NAMES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, first: &[&str]) {
        let sources = NameSources {
            aliases: vec!["composer-1".into()],
            providers: vec!["anthropic".into(), "openai".into()],
            cache_dir: PathBuf::from("/dev/null/cache"),
        };
        let near = near_models(&sources, name);
        assert!(near.len() <= MAX_NAMES, "{near:?}");
        assert_eq!(near.iter().take(first.len()).map(String::as_str).collect::<Vec<_>>(), first, "{near:?}");
    }

    #[test]
    fn similar_names_are_found_with_their_provider() {
        check("claude-sonet-5-5", &["anthropic/claude-sonnet-5-5"]);
        check("composer-2", &["composer-1"]);
        check("openai/gpt-6-lunar", &["openai/gpt-6-luna"]);
        let near = near_models_of("openai", "gpt-6-lunar", Path::new("/dev/null/cache"));
        assert_eq!(near.first().map(String::as_str), Some("openai/gpt-6-luna"));
    }

    #[test]
    fn a_retired_model_is_answered_with_its_successor_and_never_with_a_retired_one() {
        for (provider, id, first) in [
            ("anthropic", "claude-sonnet-4", "anthropic/claude-sonnet-5-5"),
            ("anthropic", "claude-sonnet-4-5", "anthropic/claude-sonnet-5-5"),
            ("xai", "grok-code-fast-1", "xai/grok-4.7"),
            ("deepseek", "deepseek-chat", "deepseek/deepseek-flash"),
        ] {
            let near = near_models_of(provider, id, Path::new("/dev/null/cache"));
            assert_eq!(near.first().map(String::as_str), Some(first), "{provider}/{id}: {near:?}");
            for name in &near {
                let (provider, id) = name.split_once('/').unwrap();
                assert!(retired_model(provider, id).is_none(), "{name}");
            }
        }
    }

    #[test]
    fn a_misspelt_provider_is_corrected_for_any_model() {
        check("openia/my-model", &["openai/my-model"]);
    }

    #[test]
    fn a_different_name_finds_nothing() {
        check("zzzzzzzzzzzzzz", &[]);
        for (provider, id) in [("openai", "zzzzzzzzzzzzzz"), ("vllm", "gpt-6.2-sol")] {
            assert_eq!(near_models_of(provider, id, Path::new("/dev/null/cache")), Vec::<String>::new());
        }
    }
}
