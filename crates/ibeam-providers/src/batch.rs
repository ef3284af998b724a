//! The batch APIs of services: many requests in one upload, answered within a day, at half the price.
//!
//! [`BatchApi`] is what every API implements, in a module of its own below `batch/`; [`BatchClient`] is what callers
//! use. The bodies of requests are those of the [wire protocol](crate::wire_protocol), without the keys that ask for a
//! stream, and its decoder reads the answers. Uses no files: the content of a batch is a [`BatchContent`] of the caller.

mod anthropic;
mod client;
mod gemini;
mod openai;
mod parking;
mod part_results;
mod plain_body;
mod service;

use std::fmt;
use std::io;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use ibeam_core::ProviderError;

pub use client::{BatchClient, FoundBatch, batch_api};
pub use parking::{ParkedRequest, ParkingProvider, RequestStore};
pub use plain_body::remove_stream_keys;

use service::Service;

/// A batch API. The methods that send requests are for [`BatchClient`].
pub trait BatchApi: fmt::Debug + Send + Sync {
    fn limits(&self) -> BatchLimits;

    /// Returns the form in which a batch is uploaded.
    fn encoding(&self) -> BatchEncoding;

    /// Whether [`Self::list`] returns the labels of batches.
    fn has_labels(&self) -> bool {
        true
    }

    /// Appends a request to a batch. `id` identifies its result; `body` is the JSON body of the request, without the
    /// keys that ask for a stream.
    fn write_request(&self, id: &str, body: &[u8], batch: &mut Vec<u8>);

    /// Submits a batch of requests to one model. `label` identifies the batch for [`Self::list`], if the API has labels.
    fn submit<'a>(
        &'a self,
        service: &'a Service,
        content: &'a dyn BatchContent,
        label: &'a str,
    ) -> BoxFuture<'a, Result<BatchId, BatchError>>;

    /// Returns the batches of the account that were created after `since`, and perhaps older ones.
    fn list<'a>(
        &'a self,
        service: &'a Service,
        since: SystemTime,
    ) -> BoxFuture<'a, Result<Vec<ListedBatch>, BatchError>>;

    /// Returns the state of a batch.
    fn state<'a>(
        &'a self,
        service: &'a Service,
        id: &'a BatchId,
    ) -> BoxFuture<'a, Result<BatchState, BatchError>>;

    /// Cancels a batch. It goes on until the service has ended it.
    fn cancel<'a>(&'a self, service: &'a Service, id: &'a BatchId) -> BoxFuture<'a, Result<(), BatchError>>;

    /// Returns the result in a line of the results; `None` if the line is not a result.
    fn parse_result(&self, service: &Service, line: &str) -> Option<PartResult>;
}

/// Receives the results of a batch. An error ends the reading.
pub type ReceiveResult<'a> = dyn FnMut(PartResult) -> io::Result<()> + Send + 'a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// The maximum number of requests.
    pub requests: usize,
    /// The maximum size of the upload in bytes.
    pub bytes: u64,
}

/// The form of a batch: the requests between a prefix and a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEncoding {
    /// The bytes before the first request.
    pub prefix: &'static [u8],
    /// The bytes between two requests.
    pub separator: &'static [u8],
    /// The bytes after the last request.
    pub suffix: &'static [u8],
}

const JSON_LINES: BatchEncoding = BatchEncoding { prefix: b"", separator: b"\n", suffix: b"\n" };

/// The content of a batch, in the form of [`BatchApi::encoding`].
pub trait BatchContent: Send + Sync {
    /// Returns the size in bytes.
    fn size(&self) -> u64;

    /// Opens the content from its beginning.
    fn open(&self) -> io::Result<Box<dyn io::Read + Send>>;
}

/// The id of a batch at its service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BatchId(String);

impl BatchId {
    /// Returns the id, unless it has characters that do not belong in the path of a URL.
    pub fn new(id: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.".contains(&byte);
        let is_valid = !id.is_empty() && id.len() <= 256 && id.bytes().all(is_plain) && !id.contains("..");
        is_valid.then(|| Self(id.to_owned()))
    }

    /// Returns the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A batch in the list of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBatch {
    pub id: BatchId,
    /// The label with which it was submitted; `None` if the API has no labels or the batch has none.
    pub label: Option<String>,
    /// The number of its requests, if the service reports it.
    pub requests: Option<u64>,
    /// Whether the service rejected it, so that it has no results.
    pub is_rejected: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum BatchState {
    /// The service works on it, or ends it after a request to cancel it.
    InProgress,
    /// The service works on it no longer.
    Ended(EndedBatch),
}

#[derive(Clone, Debug, PartialEq)]
pub struct EndedBatch {
    /// The end, which is the outcome of every request without a result.
    pub end: BatchEnd,
    /// The documents with the results, in the form of the API.
    pub(crate) results: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum BatchEnd {
    /// All requests were processed.
    Completed,
    /// The time of the service was over. Requests without a result were not processed.
    Expired,
    /// The batch was cancelled. Requests without a result were not processed.
    Cancelled,
    /// The service rejected it. No request was processed.
    Rejected(Box<ProviderError>),
}

/// The result of one request of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct PartResult {
    /// The id with which the request was written.
    pub id: String,
    pub outcome: PartOutcome,
}

/// The outcome of one request of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum PartOutcome {
    /// The answer: the document that the API returns for a single request without a stream.
    Succeeded(String),
    Failed(Box<PartFailure>),
    /// The batch expired before the request was processed.
    Expired,
    /// The batch was cancelled before the request was processed.
    Cancelled,
}

/// A failed request of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFailure {
    /// The error document.
    pub document: String,
    /// The failure, and whether it can be retried.
    pub error: ProviderError,
}

/// The reason why a batch could not be submitted, found or read.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The API of the model has no batches.
    #[error("the API `{0}` has no batches that this program can use")]
    Unsupported(&'static str),
    /// The service refused the request, or it cannot be reached.
    #[error("{}", .0.failure.reason.detail())]
    Service(Box<ProviderError>),
    /// The content of the batch could not be read, or the caller could not receive a result.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<ProviderError> for BatchError {
    fn from(error: ProviderError) -> Self {
        Self::Service(Box::new(error))
    }
}
