//! The lists of models that providers returned, in a file of the cache directory.
//!
//! The file may be deleted at any time. A file that cannot be read or written counts as absent.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::time::Duration;

use ibeam_providers::ListedModel;
use serde::{Deserialize, Serialize};

use super::ConfiguredProvider;
use crate::clock::now_ms;

/// The age up to which a list is used without a request.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// The name of the file.
const FILE_NAME: &str = "model-lists.json";
/// The maximum size of the file.
const MAX_BYTES: u64 = 8 << 20;

/// The cached lists.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListCache {
    providers: BTreeMap<String, CachedList>,
}

/// The list of one provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CachedList {
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
}

impl ListCache {
    /// Reads the file.
    pub(crate) fn load(cache_dir: &Path) -> Self {
        let bytes =
            ibeam_files::regular_file::read(&cache_dir.join(FILE_NAME), MAX_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Writes the file.
    pub(crate) fn store(&self, cache_dir: &Path) {
        if std::fs::create_dir_all(cache_dir).is_ok()
            && let Ok(bytes) = serde_json::to_vec(self)
        {
            drop(ibeam_files::private_file::replace(&cache_dir.join(FILE_NAME), &bytes));
        }
    }

    /// Returns the list that this provider returned for the same address, key and headers.
    pub(crate) fn get(&self, provider: &ConfiguredProvider) -> Option<&CachedList> {
        self.providers.get(&provider.name).filter(|list| list.origin == origin_hash(provider))
    }

    /// Adds a list that the provider returned now.
    pub(crate) fn insert(&mut self, provider: &ConfiguredProvider, models: &[ListedModel]) {
        let models =
            models.iter().map(|model| CachedModel { id: model.id.clone(), label: model.label.clone() });
        let list =
            CachedList { origin: origin_hash(provider), listed_at_ms: now_ms(), models: models.collect() };
        self.providers.insert(provider.name.clone(), list);
    }

    /// Returns all models as `provider/id`.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.providers
            .iter()
            .flat_map(|(name, list)| list.models.iter().map(move |model| format!("{name}/{}", model.id)))
    }
}

impl CachedList {
    /// Returns the age.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_millis(now_ms().saturating_sub(self.listed_at_ms))
    }

    /// Returns the models.
    pub(crate) fn models(&self) -> Vec<ListedModel> {
        let model = |model: &CachedModel| ListedModel { id: model.id.clone(), label: model.label.clone() };
        self.models.iter().map(model).collect()
    }
}

/// Returns a hash of the address, the key and the headers of a provider. It has only 16 bits, so that no one can find
/// the key by trying keys.
fn origin_hash(provider: &ConfiguredProvider) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&provider.base_url, &provider.key, &provider.deferred_key, &provider.headers).hash(&mut hasher);
    hasher.finish() & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let models = vec![CachedModel { id: "a".into(), label: None }];
        let list = CachedList { origin: 7, listed_at_ms: now_ms(), models };
        let cache = ListCache { providers: BTreeMap::from([("p".to_owned(), list)]) };
        let read: ListCache = serde_json::from_slice(&serde_json::to_vec(&cache).unwrap()).unwrap();
        assert_eq!(read.names().collect::<Vec<_>>(), ["p/a"]);
        let list = read.providers.values().next().unwrap();
        assert!(list.age() < MAX_AGE && list.models() == [ListedModel { id: "a".into(), label: None }]);
    }

    #[test]
    fn a_list_of_the_future_or_of_1970_has_an_age() {
        let at = |listed_at_ms| CachedList { origin: 0, listed_at_ms, models: Vec::new() }.age();
        assert_eq!(at(u64::MAX), Duration::ZERO);
        assert!(at(0) > MAX_AGE);
    }
}
