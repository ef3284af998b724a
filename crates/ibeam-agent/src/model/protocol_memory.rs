//! The protocols that services needed instead of the first choice, and the deviations that they have shown, in a file of the
//! cache directory.
//!
//! Without it, each run would send one request that is refused. The file may be deleted at any time. A file that cannot be
//! read or written counts as absent.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use ibeam_providers::{Adaptation, Observer, WireProtocol, find_protocol};

use super::configured_provider::ConfiguredProvider;

const FILE_NAME: &str = "model-protocols.json";
/// The maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;
/// The maximum number of entries. A full file is started again.
const MAX_ENTRIES: usize = 1000;

/// The entries of the file: the name of the protocol for a hash of address and model, and an empty text for the same hash with
/// the name of a deviation.
type Entries = BTreeMap<String, String>;

/// Returns the protocol that a service needed for a model.
pub(super) fn remembered(
    cache_dir: &Path,
    provider: &ConfiguredProvider,
    model: &str,
) -> Option<&'static dyn WireProtocol> {
    find_protocol(load(cache_dir).get(&key(provider, model))?)
}

/// Returns the deviations that a service has shown for a model.
pub(super) fn remembered_adaptations(
    cache_dir: &Path,
    provider: &ConfiguredProvider,
    model: &str,
) -> Vec<Adaptation> {
    let (entries, key) = (load(cache_dir), key(provider, model));
    let is_known = |adaptation: &Adaptation| entries.contains_key(&adaptation_key(&key, *adaptation));
    Adaptation::ALL.into_iter().filter(is_known).collect()
}

/// Returns an observer that stores the protocol that a service needs for a model.
pub(super) fn observer(
    cache_dir: PathBuf,
    provider: &ConfiguredProvider,
    model: &str,
) -> Observer<&'static dyn WireProtocol> {
    let key = key(provider, model);
    Observer::new(move |protocol: &'static dyn WireProtocol| store(&cache_dir, key.clone(), protocol.name()))
}

/// Returns an observer that stores the deviations that a service shows for a model.
pub(super) fn adaptation_observer(
    cache_dir: PathBuf,
    provider: &ConfiguredProvider,
    model: &str,
) -> Observer<Adaptation> {
    let key = key(provider, model);
    Observer::new(move |adaptation| store(&cache_dir, adaptation_key(&key, adaptation), ""))
}

fn adaptation_key(key: &str, adaptation: Adaptation) -> String {
    format!("{key} {}", adaptation.name())
}

fn store(cache_dir: &Path, key: String, value: &str) {
    let mut entries = load(cache_dir);
    if entries.len() >= MAX_ENTRIES {
        entries.clear();
    }
    entries.insert(key, value.to_owned());
    if std::fs::create_dir_all(cache_dir).is_ok()
        && let Ok(bytes) = serde_json::to_vec(&entries)
    {
        drop(ibeam_files::private_file::replace(&cache_dir.join(FILE_NAME), &bytes));
    }
}

fn load(cache_dir: &Path) -> Entries {
    let bytes = ibeam_files::regular_file::read(&cache_dir.join(FILE_NAME), MAX_BYTES).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns a hash: an address may have a password.
fn key(provider: &ConfiguredProvider, model: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (&provider.name, &provider.base_url, model).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
