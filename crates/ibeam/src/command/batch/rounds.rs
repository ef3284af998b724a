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
use ibeam_agent::app::AppContext;
use ibeam_agent::model;

/// The number of batches that a request may be in. Then the run gets the error.
const MAX_ATTEMPTS: u32 = 5;
/// The largest upload. Services accept larger ones; a smaller one ends earlier and is repeated sooner.
const MAX_UPLOAD_BYTES: u64 = 100 * 1024 * 1024;

/// Receives the steps of a round: the lines of `ibeam batch`.
pub(crate) type ReceiveStep<'a> = dyn FnMut(Value) + Send + 'a;

/// The requests that a round submits.
#[derive(Clone, Copy)]
pub(crate) enum Submission<'a> {
    /// All requests without an answer.
    All,
    /// The requests of some sessions.
    Some {
        /// Whether the requests of a session belong to them.
        includes: &'a (dyn Fn(&str) -> bool + Sync),
        /// The number of requests that all batches together may have.
        limit: Option<u64>,
    },
    /// No request: the batches are cancelled, and the answers that they have are stored.
    Withdrawn,
}

pub(crate) struct Rounds<'a> {
    app: &'a AppContext,
    requests: RequestDir,
    records: Records,
    /// The labels of the batches that were cancelled.
    cancelled: BTreeSet<String>,
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
            BatchError::Service(error)
                if error.retry == Retry::Once || error.retry.needs_another_request() =>
            {
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
        Self { app, requests, records, cancelled: BTreeSet::new() }
    }

    /// Returns the directory of the requests.
    pub(crate) fn requests(&self) -> &RequestDir {
        &self.requests
    }

    /// Returns the ids of the requests that are in a batch.
    ///
    /// # Errors
    /// Errors of the system; a damaged record.
    pub(crate) fn submitted(&self) -> io::Result<BTreeSet<String>> {
        Ok(self.records.load()?.into_iter().flat_map(|record| record.requests).collect())
    }

    /// Runs one round, and returns whether no request is in a batch. A failure that may pass is a step, and the next round
    /// tries again.
    ///
    /// # Errors
    /// The failure that ends the command.
    pub(crate) async fn run_once(
        &mut self,
        submission: Submission<'_>,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<bool, Failure> {
        match self.work(submission, receive).await {
            Ok(is_done) => Ok(is_done),
            Err(RoundError::Final(failure)) => Err(failure),
            Err(RoundError::Temporary(failure)) => {
                let message = failure.reason.detail();
                receive(
                    json!({ "type": "retry", "code": failure.reason.code().as_str(), "message": message }),
                );
                Ok(false)
            }
        }
    }

    async fn work(
        &mut self,
        submission: Submission<'_>,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<bool, RoundError> {
        for record in self.records.load()? {
            if record.batch.is_none() {
                self.recover(record, submission, receive).await?;
            }
        }
        self.submit_new(submission, receive).await?;
        for record in self.records.load()? {
            if let Some(id) = record.batch.as_deref().and_then(BatchId::new) {
                if matches!(submission, Submission::Withdrawn) {
                    self.cancel(&record, &id, receive).await?;
                }
                self.poll(&record, &id, submission, receive).await?;
            }
        }
        // Requests whose batch gave no answer belong to the next one at once, unless the answers count for the limit.
        if !matches!(submission, Submission::Some { limit: Some(_), .. }) {
            self.submit_new(submission, receive).await?;
        }
        Ok(self.records.load()?.is_empty())
    }

    fn client(&self, provider: &str, model: &str) -> Result<BatchClient, RoundError> {
        let endpoint = model::batch_endpoint(self.app, provider, model)
            .map_err(|reason| RoundError::Final(reason.into()))?;
        Ok(BatchClient::new(endpoint)?)
    }

    /// Searches for a batch that may have been submitted, and submits it if it was not.
    async fn recover(
        &mut self,
        record: Record,
        submission: Submission<'_>,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<(), RoundError> {
        let client = self.client(&record.provider, &record.model)?;
        let known: BTreeSet<String> =
            self.records.load()?.into_iter().filter_map(|other| other.batch).collect();
        let parts: BTreeSet<&str> = record.requests.iter().map(String::as_str).collect();
        let since = UNIX_EPOCH + Duration::from_secs(record.since);
        let count = u64::try_from(record.requests.len()).unwrap_or(u64::MAX);
        let is_part = |id: &str| parts.contains(id);
        let is_known = |id: &BatchId| known.contains(id.as_str());
        match client.find(&record.label, count, since, &is_part, &is_known).await? {
            FoundBatch::Submitted(id) => self.confirm(record, &id, "found", receive),
            FoundBatch::Missing => match submission {
                Submission::All | Submission::Some { .. } => self.submit(&client, record, receive).await,
                Submission::Withdrawn => Ok(self.records.remove(&record)?),
            },
            FoundBatch::Unknown(id) => {
                let (label, batch) = (&record.label, id.as_str());
                receive(json!({ "type": "searching", "label": label, "batch": batch }));
                Ok(())
            }
        }
    }

    /// Submits the requests that are in no batch.
    async fn submit_new(
        &mut self,
        submission: Submission<'_>,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<(), RoundError> {
        let taken = self.submitted()?;
        let is_taken = |id: &str| match submission {
            Submission::All => taken.contains(id),
            Submission::Some { includes, .. } => taken.contains(id) || !includes(session_of(id)),
            Submission::Withdrawn => true,
        };
        let mut room = match submission {
            Submission::All | Submission::Withdrawn | Submission::Some { limit: None, .. } => usize::MAX,
            Submission::Some { limit: Some(limit), .. } => {
                usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(taken.len())
            }
        };
        let targets = self.requests.unanswered(is_taken)?;
        for (target, mut ids) in targets {
            ids.truncate(room);
            room -= ids.len();
            if ids.is_empty() {
                continue;
            }
            self.check_address(&target)?;
            let client = self.client(&target.provider, &target.model)?;
            let mut ids = ids.into_iter().peekable();
            while ids.peek().is_some() {
                if let Some(record) = self.write_upload(&client, &target, &mut ids)? {
                    self.submit(&client, record, receive).await?;
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
    async fn submit(
        &self,
        client: &BatchClient,
        record: Record,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<(), RoundError> {
        let content = UploadFile::open_existing(self.records.upload_path(&record.label))?;
        match client.submit(&content, &record.label).await {
            Ok(id) => self.confirm(record, &id, "submitted", receive),
            Err(BatchError::Service(error))
                if error.failure.http_status.is_some_and(|status| status < 500) =>
            {
                // The service has refused the batch, so it does not exist. After an internal error it may exist.
                self.records.remove(&record)?;
                Err(BatchError::Service(error).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Records the id of a batch.
    fn confirm(
        &self,
        mut record: Record,
        id: &BatchId,
        kind: &str,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<(), RoundError> {
        record.batch = Some(id.as_str().to_owned());
        self.records.store(&record)?;
        self.records.remove_upload(&record)?;
        let Record { provider, model, requests, .. } = &record;
        let count = requests.len();
        receive(json!({
            "type": kind, "batch": id.as_str(), "provider": provider, "model": model, "requests": count,
        }));
        Ok(())
    }

    /// Cancels a batch, unless this was done already.
    async fn cancel(
        &mut self,
        record: &Record,
        id: &BatchId,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<(), RoundError> {
        if self.cancelled.contains(&record.label) {
            return Ok(());
        }
        match self.client(&record.provider, &record.model)?.cancel(id).await {
            // A batch that has ended, or that is being cancelled, cannot be cancelled. Its state tells which.
            Err(BatchError::Service(error)) if matches!(error.failure.http_status, Some(400 | 404 | 409)) => {
            }
            cancelled => cancelled?,
        }
        receive(json!({ "type": "cancelled", "batch": id.as_str() }));
        self.cancelled.insert(record.label.clone());
        Ok(())
    }

    /// Stores the answers of a batch, if it has ended.
    async fn poll(
        &self,
        record: &Record,
        id: &BatchId,
        submission: Submission<'_>,
        receive: &mut ReceiveStep<'_>,
    ) -> Result<(), RoundError> {
        let client = self.client(&record.provider, &record.model)?;
        let ended = match client.state(id).await? {
            BatchState::InProgress => return Ok(()),
            BatchState::Ended(ended) => ended,
        };
        let mut attempts = self.records.attempts()?;
        let mut open: BTreeSet<&str> = record.requests.iter().map(String::as_str).collect();
        let mut errors: BTreeMap<String, String> = BTreeMap::new();
        let requests = &self.requests;
        let mut receive_result = |PartResult { id, outcome }: PartResult| {
            let document = match outcome {
                PartOutcome::Succeeded(document) => document,
                PartOutcome::Failed(failed) if failed.error.retry.needs_another_request() => failed.document,
                PartOutcome::Failed(failed) => {
                    errors.insert(id, failed.document);
                    return Ok(());
                }
                PartOutcome::Expired | PartOutcome::Cancelled => return Ok(()),
            };
            // A result of a request that was not in the batch is not trusted.
            if open.remove(id.as_str()) && requests.store_answer(&id, &document)? {
                receive(answered(&id));
            }
            Ok(())
        };
        client.results(&ended, &mut receive_result).await?;
        let rejection = match &ended.end {
            BatchEnd::Rejected(error) => Some(error),
            BatchEnd::Completed | BatchEnd::Expired | BatchEnd::Cancelled => None,
        };
        // The requests of a batch that was rejected or withdrawn were not tried.
        let is_tried = rejection.is_none() && !matches!(submission, Submission::Withdrawn);
        for id in open.into_iter().filter(|_| is_tried) {
            let count = attempts.get(id).copied().unwrap_or(0) + 1;
            if count < MAX_ATTEMPTS {
                attempts.insert(id.to_owned(), count);
                receive(json!({ "type": "unanswered", "id": id, "attempts": count }));
                continue;
            }
            attempts.remove(id);
            let error = errors.remove(id).unwrap_or_else(|| {
                let message = format!("{count} batches ended without an answer to the request");
                json!({ "type": "error", "error": { "type": "api_error", "message": message } }).to_string()
            });
            if self.requests.store_answer(id, &error)? {
                receive(answered(id));
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

/// Returns the line about an answer.
fn answered(id: &str) -> Value {
    json!({ "type": "answered", "id": id, "session_id": session_of(id) })
}

/// Returns the session of a request. The id of a request begins with that of its session.
pub(crate) fn session_of(id: &str) -> &str {
    id.get(..36).unwrap_or(id)
}
