//! The player of recordings.
//!
//! Equal requests get their recordings in the order in which they were recorded, and the last one from then on. A retry
//! of a failed request is such an equal request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ibeam_core::{ProviderError, Retry};
use ibeam_protocol::Reason;
use serde_json::Value;

use super::canonical::{Normalizer, difference, similarity};
use super::exchange::{BodyEnd, Exchange, ExchangeOutcome};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplaySpeed {
    /// Without any delay.
    #[default]
    Full,
    /// Chunks arrive at their recorded times, and retries wait for their delays.
    Recorded,
}

/// Answers requests from recordings.
#[derive(Debug)]
pub struct Player {
    entries: Vec<Entry>,
    normalizer: Normalizer,
    speed: ReplaySpeed,
    /// The number of requests with each key so far.
    played: Mutex<HashMap<String, usize>>,
}

/// A recording.
#[derive(Debug)]
struct Entry {
    name: String,
    /// The API and the canonical request, as one text.
    key: String,
    exchange: Exchange,
}

impl Player {
    /// `recordings` are the names and contents of the files, in the order of recording.
    pub fn new(recordings: Vec<(String, Exchange)>, normalizer: Normalizer, speed: ReplaySpeed) -> Self {
        let entry = |(name, exchange): (String, Exchange)| {
            let key = key(&exchange.api, &exchange.request);
            Entry { name, key, exchange }
        };
        let entries = recordings.into_iter().map(entry).collect();
        Self { entries, normalizer, speed, played: Mutex::default() }
    }

    pub fn speed(&self) -> ReplaySpeed {
        self.speed
    }

    /// Returns the time of the first recording in milliseconds since the Unix epoch.
    pub fn recorded_at_ms(&self) -> u64 {
        self.entries.iter().map(|entry| entry.exchange.recorded_at_ms).min().unwrap_or_default()
    }

    /// Returns provider and model of the first recording whose model is `model`; of the first recording without a name.
    pub fn recorded_model(&self, model: Option<&str>) -> Option<(&str, &str)> {
        let mut exchanges = self.entries.iter().map(|entry| &entry.exchange);
        let found = exchanges.find(|exchange| model.is_none_or(|model| exchange.model == model))?;
        Some((&found.provider, &found.model))
    }

    /// Returns the recorded outcome of a request over `api`.
    ///
    /// # Errors
    /// `NotRecorded` with the most similar recording and the difference.
    pub(crate) fn find(&self, api: &str, request: &Value) -> Result<&ExchangeOutcome, ProviderError> {
        let request = self.normalizer.canonical(request);
        let key = key(api, &request);
        let matching: Vec<&Entry> = self.entries.iter().filter(|entry| entry.key == key).collect();
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let count = played.entry(key.clone()).or_default();
        let entry = matching.get(*count).or(matching.last());
        *count += 1;
        match entry {
            Some(entry) => match &entry.exchange.outcome {
                ExchangeOutcome::Response(response) if response.end == BodyEnd::Withheld => {
                    Err(not_recorded(&entry.name, "the recorded answer contained a secret".to_owned()))
                }
                outcome => Ok(outcome),
            },
            None => Err(self.missing_recording(api, &key, &request)),
        }
    }

    /// Returns the error of a request without a recording, with the most similar recording.
    fn missing_recording(&self, api: &str, key: &str, request: &Value) -> ProviderError {
        let nearest = self.entries.iter().max_by_key(|entry| {
            // The first of equally similar recordings.
            (entry.exchange.api == api, similarity(&entry.key, key))
        });
        match nearest {
            Some(Entry { name, exchange, .. }) if exchange.api != api => {
                not_recorded(name, format!("api: recorded `{}`, now `{api}`", exchange.api))
            }
            Some(Entry { name, exchange, .. }) => not_recorded(name, difference(&exchange.request, request)),
            None => not_recorded("-", "there are no recordings".to_owned()),
        }
    }
}

fn not_recorded(recording: &str, difference: String) -> ProviderError {
    let reason = Reason::NotRecorded { recording: recording.to_owned(), difference };
    ProviderError::new(reason, Retry::Never)
}

fn key(api: &str, request: &Value) -> String {
    format!("{api} {request}")
}
