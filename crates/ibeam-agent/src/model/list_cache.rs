//! The lists of models that providers returned, in a file of the cache directory.
//!
//! The file may be deleted at any time. A file that cannot be read or written counts as absent.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ibeam_providers::{ListedFacts, ListedModel};
use serde::{Deserialize, Serialize};

use crate::clock::now_ms;

/// The age up to which a list is used without a request.
pub const MAX_AGE: Duration = Duration::from_secs(60 * 60);
const FILE_NAME: &str = "model-lists.json";
/// The maximum size of the file.
const MAX_BYTES: u64 = 8 << 20;

/// The source of a list: the name of a provider, and the hash of the address, the key and the headers that are used.
#[derive(Clone, Copy, Debug)]
pub struct ListSource<'a> {
    pub(super) provider: &'a str,
    pub(super) origin: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ListCache {
    providers: BTreeMap<String, CachedList>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CachedList {
    /// The hash of the address, the key and the headers that were used.
    origin: u64,
    listed_at_ms: u64,
    models: Vec<CachedModel>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachedModel {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "has_no_facts")]
    facts: ListedFacts,
}

impl ListCache {
    /// Reads the file.
    pub fn load(cache_dir: &Path) -> Self {
        let bytes =
            ibeam_files::regular_file::read(&cache_dir.join(FILE_NAME), MAX_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Writes the file.
    pub fn store(&self, cache_dir: &Path) {
        if std::fs::create_dir_all(cache_dir).is_ok()
            && let Ok(bytes) = serde_json::to_vec(self)
        {
            drop(ibeam_files::private_file::replace(&cache_dir.join(FILE_NAME), &bytes));
        }
    }

    /// Whether the file has a list of this provider.
    pub(crate) fn has(&self, provider: &str) -> bool {
        self.providers.contains_key(provider)
    }

    /// Returns the list that came from this source.
    pub fn get(&self, source: ListSource<'_>) -> Option<&CachedList> {
        self.providers.get(source.provider).filter(|list| list.origin == source.origin)
    }

    /// Adds a list that came from this source now.
    pub fn insert(&mut self, source: ListSource<'_>, models: &[ListedModel]) {
        let models = models.iter().map(|ListedModel { id, label, facts }| CachedModel {
            id: id.clone(),
            label: label.clone(),
            facts: facts.clone(),
        });
        let list = CachedList { origin: source.origin, listed_at_ms: now_ms(), models: models.collect() };
        self.providers.insert(source.provider.to_owned(), list);
    }

    /// Returns what the provider states about a model, which `id` names by its id or by an alias; `None` if the list from
    /// this source is not cached or has no such model.
    pub(crate) fn facts(&self, source: ListSource<'_>, id: &str) -> Option<ListedFacts> {
        self.get(source)?.facts(id).cloned()
    }

    /// Returns all models that are served as `provider/id`.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.providers.iter().flat_map(|(name, list)| {
            let served = list.models.iter().filter(|model| !model.facts.is_retired());
            served.map(move |model| format!("{name}/{}", model.id))
        })
    }
}

impl CachedList {
    pub fn age(&self) -> Duration {
        Duration::from_millis(now_ms().saturating_sub(self.listed_at_ms))
    }

    pub fn models(&self) -> Vec<ListedModel> {
        let model = |CachedModel { id, label, facts }: &CachedModel| ListedModel {
            id: id.clone(),
            label: label.clone(),
            facts: facts.clone(),
        };
        self.models.iter().map(model).collect()
    }

    /// Returns the facts about a model. Its own id takes precedence over an alias of another model.
    fn facts(&self, id: &str) -> Option<&ListedFacts> {
        let named = self.models.iter().find(|model| model.id == id);
        let by_alias =
            || self.models.iter().find(|model| model.facts.aliases.iter().any(|alias| alias == id));
        Some(&named.or_else(by_alias)?.facts)
    }
}

fn has_no_facts(facts: &ListedFacts) -> bool {
    *facts == ListedFacts::default()
}

#[cfg(test)]
mod tests {
    use ibeam_providers::Lifecycle;

    use super::*;

    fn listed(id: &str, facts: ListedFacts) -> CachedModel {
        CachedModel { id: id.to_owned(), label: None, facts }
    }

    fn cache(models: Vec<CachedModel>) -> ListCache {
        let list = CachedList { origin: 7, listed_at_ms: now_ms(), models };
        ListCache { providers: BTreeMap::from([("p".to_owned(), list)]) }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let facts = ListedFacts { retires: Some("2026-11-30".into()), ..ListedFacts::default() };
        let cache = cache(vec![listed("a", facts.clone()), listed("b", ListedFacts::default())]);
        let read: ListCache = serde_json::from_slice(&serde_json::to_vec(&cache).unwrap()).unwrap();
        assert_eq!(read.names().collect::<Vec<_>>(), ["p/a", "p/b"]);
        let list = read.providers.values().next().unwrap();
        let b = ListedModel { id: "b".into(), ..ListedModel::default() };
        assert!(list.age() < MAX_AGE);
        assert_eq!(list.models(), [ListedModel { id: "a".into(), label: None, facts }, b]);
    }

    #[test]
    fn a_list_without_facts_is_read_as_earlier_versions_wrote_it() {
        let file = r#"{"providers":{"p":{"origin":7,"listed_at_ms":1,"models":[{"id":"a","label":"A"},{"id":"b"}]}}}"#;
        let cache: ListCache = serde_json::from_str(file).unwrap();
        assert_eq!(cache.names().count(), 2);
        assert_eq!(serde_json::to_string(&cache).unwrap(), file);
    }

    #[test]
    fn facts_are_found_by_id_and_by_alias() {
        let of = |context_window, aliases: &[&str]| ListedFacts {
            context_window: Some(context_window),
            aliases: aliases.iter().map(ToString::to_string).collect(),
            ..ListedFacts::default()
        };
        let cache = cache(vec![listed("a", of(1, &["b", "newest"])), listed("b", of(2, &[]))]);
        let list = cache.providers.values().next().unwrap();
        let found = ["a", "b", "newest", "c"].map(|id| list.facts(id)?.context_window);
        assert_eq!(found, [Some(1), Some(2), Some(1), None]);
    }

    #[test]
    fn a_retired_model_is_no_suggestion() {
        let facts = ListedFacts { lifecycle: Some(Lifecycle::Retired), ..ListedFacts::default() };
        let cache = cache(vec![listed("old", facts), listed("new", ListedFacts::default())]);
        assert_eq!(cache.names().collect::<Vec<_>>(), ["p/new"]);
    }

    #[test]
    fn a_list_of_the_future_or_of_1970_has_an_age() {
        let at = |listed_at_ms| CachedList { origin: 0, listed_at_ms, models: Vec::new() }.age();
        assert_eq!(at(u64::MAX), Duration::ZERO);
        assert!(at(0) > MAX_AGE);
    }
}
