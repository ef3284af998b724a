//! One round: finds lost batches, submits new ones, reads those that have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ibeam_core::Retry;
use ibeam_protocol::{Failure, Reason, SessionId, sentence};
use ibeam_providers::batch::{
    BatchClient, BatchEnd, BatchError, BatchId, BatchState, FoundBatch, PartOutcome, PartResult,
};
use serde_json::{Value, json};

use super::records::{Record, Records, UploadFile};
use super::requests::{RequestDir, Target};
use crate::app::AppContext;
use crate::model;

/// The number of batches that a request may be in. Then the run gets the error.
const MAX_ATTEMPTS: u32 = 5;
/// The largest upload. Services accept larger ones; a smaller one ends earlier and is repeated sooner.
const MAX_UPLOAD_BYTES: u64 = 100 * 1024 * 1024;

/// The result of a round.
#[derive(Default)]
pub(super) struct Report {
    /// The steps, for stdout.
    pub(super) lines: Vec<Value>,
    /// Whether every request has an answer.
    pub(super) is_done: bool,
    /// The failure that ends the command.
    pub(super) failure: Option<Failure>,
}

/// The rounds of a command.
pub(super) struct Rounds<'a> {
    app: &'a AppContext,
    requests: RequestDir,
    records: Records,
    lines: Vec<Value>,
}

/// The reason why a round ended early.
enum RoundError {
    /// The next round may succeed.
    Temporary(Failure),
    /// The command ends.
    Final(Failure),
}

impl From<BatchError> for RoundError {
    fn from(error: BatchError) -> Self {
        match error {
            // The next round would use the same key, and get the same document.
            BatchError::Service(error) if matches!(error.retry, Retry::Never | Retry::Once) => {
                Self::Final(error.failure)
            }
            BatchError::Service(error) => Self::Temporary(error.failure),
            BatchError::Io(error) => error.into(),
            BatchError::Unsupported(_) => Self::Final(Reason::Unsupported { what: error.to_string() }.into()),
        }
    }
}

impl From<io::Error> for RoundError {
    fn from(error: io::Error) -> Self {
        Self::Final(Reason::Io { what: "batches".to_owned(), detail: error.to_string() }.into())
    }
}

impl<'a> Rounds<'a> {
    pub(super) fn new(app: &'a AppContext, requests: RequestDir, records: Records) -> Self {
        Self { app, requests, records, lines: Vec::new() }
    }

    /// Runs one round. A failure that may pass is in the lines, and the next round tries again.
    pub(super) async fn run_once(&mut self) -> Report {
        let result = self.work().await;
        let lines = std::mem::take(&mut self.lines);
        match result {
            Ok(is_done) => Report { lines, is_done, failure: None },
            Err(RoundError::Final(failure)) => Report { lines, is_done: false, failure: Some(failure) },
            Err(RoundError::Temporary(failure)) => {
                let message = failure.reason.detail();
                let line =
                    json!({ "type": "retry", "code": failure.reason.code().as_str(), "message": message });
                Report { lines: lines.into_iter().chain([line]).collect(), is_done: false, failure: None }
            }
        }
    }

    async fn work(&mut self) -> Result<bool, RoundError> {
        for record in self.records.load()? {
            if record.batch.is_none() {
                self.recover(record).await?;
            }
        }
        self.submit_new().await?;
        for record in self.records.load()? {
            if let Some(id) = record.batch.as_deref().and_then(BatchId::new) {
                self.poll(&record, &id).await?;
            }
        }
        // Requests whose batch gave no answer belong to the next one at once.
        self.submit_new().await?;
        Ok(self.records.load()?.is_empty())
    }

    fn client(&self, provider: &str, model: &str) -> Result<BatchClient, RoundError> {
        let endpoint = model::batch_endpoint(self.app, provider, model)
            .map_err(|reason| RoundError::Final(reason.into()))?;
        Ok(BatchClient::new(endpoint)?)
    }

    /// Searches for a batch that may have been submitted, and submits it if it was not.
    async fn recover(&mut self, record: Record) -> Result<(), RoundError> {
        let client = self.client(&record.provider, &record.model)?;
        let known: BTreeSet<String> =
            self.records.load()?.into_iter().filter_map(|other| other.batch).collect();
        let parts: BTreeSet<&str> = record.requests.iter().map(String::as_str).collect();
        let since = UNIX_EPOCH + Duration::from_secs(record.since);
        let count = u64::try_from(record.requests.len()).unwrap_or(u64::MAX);
        let is_part = |id: &str| parts.contains(id);
        let is_known = |id: &BatchId| known.contains(id.as_str());
        match client.find(&record.label, count, since, &is_part, &is_known).await? {
            FoundBatch::Submitted(id) => self.confirm(record, &id, "found"),
            FoundBatch::Missing => self.submit(&client, record).await,
            FoundBatch::Unknown(id) => {
                let (label, batch) = (&record.label, id.as_str());
                self.lines.push(json!({ "type": "searching", "label": label, "batch": batch }));
                Ok(())
            }
        }
    }

    /// Submits the requests that are in no batch.
    async fn submit_new(&mut self) -> Result<(), RoundError> {
        let taken: BTreeSet<String> =
            self.records.load()?.into_iter().flat_map(|record| record.requests).collect();
        let targets = self.requests.unanswered(|id| taken.contains(id))?;
        for (target, ids) in targets {
            self.check_address(&target)?;
            let client = self.client(&target.provider, &target.model)?;
            let mut ids = ids.into_iter().peekable();
            while ids.peek().is_some() {
                if let Some(record) = self.write_upload(&client, &target, &mut ids)? {
                    self.submit(&client, record).await?;
                }
            }
        }
        Ok(())
    }

    /// Checks that requests go to the server for which their run was configured.
    fn check_address(&self, target: &Target) -> Result<(), RoundError> {
        let endpoint = model::batch_endpoint(self.app, &target.provider, &target.model)
            .map_err(|reason| RoundError::Final(reason.into()))?;
        if endpoint.base_url == target.base_url && endpoint.protocol.name() == target.wire {
            return Ok(());
        }
        let detail = sentence!(
            "the requests to `{model}` are for `{url}`, but the configuration has `{configured}`",
            model = target.model,
            url = target.base_url,
            configured = endpoint.base_url,
        );
        Err(RoundError::Final(Reason::Usage { detail }.into()))
    }

    /// Writes the next requests to an upload, as many as a batch can have, and records them.
    fn write_upload(
        &self,
        client: &BatchClient,
        target: &Target,
        ids: &mut std::iter::Peekable<impl Iterator<Item = String>>,
    ) -> Result<Option<Record>, RoundError> {
        let (api, label) = (client.api(), format!("ibeam-{}", SessionId::random()));
        let (limits, encoding) = (api.limits(), api.encoding());
        let limit = limits.bytes.min(MAX_UPLOAD_BYTES);
        let path = self.records.upload_path(&label);
        let mut file = BufWriter::new(File::create(&path)?);
        file.write_all(encoding.prefix)?;
        let mut size = (encoding.prefix.len() + encoding.suffix.len()) as u64;
        let mut requests: Vec<String> = Vec::new();
        let mut part = Vec::new();
        while let Some(id) = ids.peek() {
            let Some(body) = self.requests.body(id)? else {
                ids.next();
                continue;
            };
            part.clear();
            if !requests.is_empty() {
                part.extend_from_slice(encoding.separator);
            }
            api.write_request(id, body.get().as_bytes(), &mut part);
            let is_full = requests.len() >= limits.requests || size + part.len() as u64 > limit;
            if is_full && !requests.is_empty() {
                break;
            }
            file.write_all(&part)?;
            size += part.len() as u64;
            requests.extend(ids.next());
        }
        file.write_all(encoding.suffix)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        if requests.is_empty() {
            fs::remove_file(path)?;
            return Ok(None);
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let Target { provider, model, .. } = target.clone();
        let record = Record { label, provider, model, since, batch: None, requests };
        self.records.store(&record)?;
        Ok(Some(record))
    }

    /// Submits a recorded batch.
    async fn submit(&mut self, client: &BatchClient, record: Record) -> Result<(), RoundError> {
        let content = UploadFile::open_existing(self.records.upload_path(&record.label))?;
        match client.submit(&content, &record.label).await {
            Ok(id) => self.confirm(record, &id, "submitted"),
            Err(BatchError::Service(error)) if error.failure.http_status.is_some() => {
                // The service has refused the batch, so it does not exist.
                self.records.remove(&record)?;
                Err(BatchError::Service(error).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Records the id of a batch.
    fn confirm(&mut self, mut record: Record, id: &BatchId, kind: &str) -> Result<(), RoundError> {
        record.batch = Some(id.as_str().to_owned());
        self.records.store(&record)?;
        self.records.remove_upload(&record)?;
        let Record { provider, model, requests, .. } = &record;
        let count = requests.len();
        self.lines.push(json!({
            "type": kind, "batch": id.as_str(), "provider": provider, "model": model, "requests": count,
        }));
        Ok(())
    }

    /// Stores the answers of a batch, if it has ended.
    async fn poll(&mut self, record: &Record, id: &BatchId) -> Result<(), RoundError> {
        let client = self.client(&record.provider, &record.model)?;
        let ended = match client.state(id).await? {
            BatchState::InProgress => return Ok(()),
            BatchState::Ended(ended) => ended,
        };
        let mut attempts = self.records.attempts()?;
        let mut open: BTreeSet<&str> = record.requests.iter().map(String::as_str).collect();
        let mut errors: BTreeMap<String, String> = BTreeMap::new();
        let (requests, lines) = (&self.requests, &mut self.lines);
        let mut receive = |PartResult { id, outcome }: PartResult| {
            let document = match outcome {
                PartOutcome::Succeeded(document) => document,
                PartOutcome::Failed(failed) if failed.error.retry == Retry::Never => failed.document,
                PartOutcome::Failed(failed) => {
                    errors.insert(id, failed.document);
                    return Ok(());
                }
                PartOutcome::Expired | PartOutcome::Cancelled => return Ok(()),
            };
            // A result of a request that was not in the batch is not trusted.
            if open.remove(id.as_str()) && requests.store_answer(&id, &document)? {
                lines.push(answered(&id));
            }
            Ok(())
        };
        client.results(&ended, &mut receive).await?;
        let rejection = match &ended.end {
            BatchEnd::Rejected(error) => Some(error),
            BatchEnd::Completed | BatchEnd::Expired | BatchEnd::Cancelled => None,
        };
        for id in open {
            let count = attempts.get(id).copied().unwrap_or(0) + 1;
            if rejection.is_some() {
                continue;
            }
            if count < MAX_ATTEMPTS {
                attempts.insert(id.to_owned(), count);
                self.lines.push(json!({ "type": "unanswered", "id": id, "attempts": count }));
                continue;
            }
            attempts.remove(id);
            let error = errors.remove(id).unwrap_or_else(|| {
                let message = format!("{count} batches ended without an answer to the request");
                json!({ "type": "error", "error": { "type": "api_error", "message": message } }).to_string()
            });
            if self.requests.store_answer(id, &error)? {
                self.lines.push(answered(id));
            }
        }
        self.records.store_attempts(&attempts)?;
        self.requests.sync()?;
        self.records.remove(record)?;
        match rejection {
            Some(error) => Err(BatchError::Service(error.clone()).into()),
            None => Ok(()),
        }
    }
}

/// Returns the line about an answer. An id begins with that of its session.
fn answered(id: &str) -> Value {
    let session = id.get(..36).unwrap_or(id);
    json!({ "type": "answered", "id": id, "session_id": session })
}
