//! The client of the batch API of one endpoint.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use super::anthropic::AnthropicBatches;
use super::gemini::GeminiBatches;
use super::openai::OpenAiBatches;
use super::part_results::read_lines;
use super::service::Service;
use super::{BatchApi, BatchContent, BatchError, BatchId, BatchState, EndedBatch, PartResult, ReceiveResult};
use crate::endpoint::{Endpoint, TransportKind};
use crate::recording::TrafficMode;
use crate::transport::Transport;
use crate::wire_protocol::{BatchKind, WireProtocol};

/// Returns the batch API for the requests of a protocol; `None` if there is none.
pub fn batch_api(protocol: &dyn WireProtocol) -> Option<&'static dyn BatchApi> {
    protocol.batch_kind().map(|kind| match kind {
        BatchKind::Anthropic => &AnthropicBatches as &dyn BatchApi,
        BatchKind::Gemini => &GeminiBatches,
        BatchKind::OpenAiChat => &OpenAiBatches { path: "/v1/chat/completions" },
        BatchKind::OpenAiResponses => &OpenAiBatches { path: "/v1/responses" },
    })
}

/// Submits, finds and reads the batches of one model.
#[derive(Clone, Debug)]
pub struct BatchClient {
    service: Service,
    api: &'static dyn BatchApi,
}

/// The result of a search for a batch whose id was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundBatch {
    Submitted(BatchId),
    /// The batch was not submitted.
    Missing,
    /// A batch that is still in progress may be the one. The API tells only when that one has ended.
    Unknown(BatchId),
}

impl BatchClient {
    /// Returns a client of the batch API of an endpoint. It sends nothing before its first request.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn new(endpoint: Endpoint) -> Result<Self, BatchError> {
        let protocol = endpoint.protocol;
        let api = batch_api(protocol).ok_or(BatchError::Unsupported(protocol.name()))?;
        let endpoint = Endpoint { transport: TransportKind::Http, ..endpoint };
        let transport = Arc::new(Transport::new(endpoint, TrafficMode::Live));
        Ok(Self { service: Service::new(transport), api })
    }

    pub fn api(&self) -> &'static dyn BatchApi {
        self.api
    }

    /// Submits a batch whose requests were written with [`BatchApi::write_request`]. `label` identifies it for
    /// [`Self::find`]: letters, digits and `-`, at most 64.
    ///
    /// # Errors
    /// `Service`, `Io`. After a broken connection the batch may have been submitted nevertheless: use [`Self::find`]
    /// before another attempt.
    pub async fn submit(&self, content: &dyn BatchContent, label: &str) -> Result<BatchId, BatchError> {
        self.api.submit(&self.service, content, label).await
    }

    /// Searches for a batch of `requests` requests whose submission began at `since` and whose id was lost. `is_part`
    /// recognises the ids of its requests, `is_known` the batches that are others.
    pub async fn find(
        &self,
        label: &str,
        requests: u64,
        since: SystemTime,
        is_part: &(dyn Fn(&str) -> bool + Sync),
        is_known: &(dyn Fn(&BatchId) -> bool + Sync),
    ) -> Result<FoundBatch, BatchError> {
        let mut unknown = None;
        for batch in self.api.list(&self.service, since).await? {
            match &batch.label {
                Some(other) if other == label && !batch.is_rejected => {
                    return Ok(FoundBatch::Submitted(batch.id));
                }
                Some(_) => continue,
                None => {}
            }
            let may_match = batch.requests == Some(requests) && !batch.is_rejected && !is_known(&batch.id);
            if !may_match || self.has_labels() {
                continue;
            }
            match self.state(&batch.id).await? {
                BatchState::InProgress => unknown = Some(batch.id),
                BatchState::Ended(ended) => {
                    if self.first_id(&ended).await?.is_some_and(|id| is_part(&id)) {
                        return Ok(FoundBatch::Submitted(batch.id));
                    }
                }
            }
        }
        Ok(unknown.map_or(FoundBatch::Missing, FoundBatch::Unknown))
    }

    pub async fn state(&self, id: &BatchId) -> Result<BatchState, BatchError> {
        self.api.state(&self.service, id).await
    }

    /// Cancels a batch. It goes on until the service has ended it, and has the answers until then.
    ///
    /// # Errors
    /// `Service`, also for a batch that has ended.
    pub async fn cancel(&self, id: &BatchId) -> Result<(), BatchError> {
        self.api.cancel(&self.service, id).await
    }

    /// Reads the results of a batch that has ended, in any order. A request without a result ended as the batch did.
    ///
    /// # Errors
    /// `Service`; `Io` from `receive`, which ends the reading.
    pub async fn results(
        &self,
        batch: &EndedBatch,
        receive: &mut ReceiveResult<'_>,
    ) -> Result<(), BatchError> {
        for url in &batch.results {
            read_lines(&self.service, url, self.api, receive).await?;
        }
        Ok(())
    }

    fn has_labels(&self) -> bool {
        self.api.has_labels()
    }

    async fn first_id(&self, batch: &EndedBatch) -> Result<Option<String>, BatchError> {
        let mut first = None;
        let mut receive = |result: PartResult| {
            first = Some(result.id);
            Err(io::Error::from(io::ErrorKind::Interrupted))
        };
        let read = self.results(batch, &mut receive).await;
        match (first, read) {
            (Some(id), _) => Ok(Some(id)),
            (None, read) => read.map(|()| None),
        }
    }
}
