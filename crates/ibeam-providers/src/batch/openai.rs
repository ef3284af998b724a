//! Batches of OpenAI, for both of its APIs, and of the services that copy them.
//!
//! Source: the API reference, "Batch" and "Files", and the guide "Batch API". The requests are a file, and so are the
//! results: one file for the answers and one for the errors. The label of a batch is in its metadata.

use std::time::SystemTime;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ibeam_core::{ProviderError, Retry};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::part_results::{failed_part, parse_line, present};
use super::service::{Content, Service};
use super::{
    BatchApi, BatchContent, BatchEncoding, BatchEnd, BatchError, BatchId, BatchLimits, BatchState,
    EndedBatch, JSON_LINES, ListedBatch, PartOutcome, PartResult,
};
use crate::provider_errors::ResponseHead;
use crate::response_error::{ReportedError, ResponseError};

/// The key of the label in the metadata of a batch.
const LABEL_KEY: &str = "ibeam_batch";
/// The most batches that a page of the list can have.
const PAGE_SIZE: u32 = 100;
/// The most pages that are read.
const MAX_PAGES: u32 = 20;
/// The difference that the clocks of this machine and of the service may have.
const CLOCK_TOLERANCE_SECS: u64 = 15 * 60;
/// The boundary of the parts of an upload. JSON has no line with it: a line of JSON begins with another character.
const BOUNDARY: &str = "ibeam-batch-7c1f0a52";

/// Batches of OpenAI with requests to one of its APIs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAiBatches {
    /// The path of the API, which every request repeats.
    pub(crate) path: &'static str,
}

impl BatchApi for OpenAiBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: 50_000, bytes: 200 * 1000 * 1000 }
    }

    fn encoding(&self) -> BatchEncoding {
        JSON_LINES
    }

    fn write_request(&self, id: &str, body: &[u8], batch: &mut Vec<u8>) {
        let head =
            format!(r#"{{"custom_id":{},"method":"POST","url":"{}","body":"#, Value::from(id), self.path);
        batch.extend_from_slice(head.as_bytes());
        batch.extend_from_slice(body);
        batch.push(b'}');
    }

    fn submit<'a>(
        &'a self,
        service: &'a Service,
        content: &'a dyn BatchContent,
        label: &'a str,
    ) -> BoxFuture<'a, Result<BatchId, BatchError>> {
        async move {
            let base = service.base_url();
            let before = format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
                 --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{label}.jsonl\"\r\n\
                 content-type: application/jsonl\r\n\r\n"
            );
            let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
            let upload = Content::Upload {
                media_type: &media_type,
                before: before.into_bytes(),
                content,
                after: format!("\r\n--{BOUNDARY}--\r\n").into_bytes(),
            };
            let file = service.post_json(&format!("{base}/files"), upload).await?;
            let request = json!({
                "input_file_id": service.batch_id(&file, "id")?.as_str(),
                "endpoint": self.path,
                "completion_window": "24h",
                "metadata": { LABEL_KEY: label },
            });
            let batch = service.post_json(&format!("{base}/batches"), Content::Json(&request)).await?;
            service.batch_id(&batch, "id")
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        service: &'a Service,
        since: SystemTime,
    ) -> BoxFuture<'a, Result<Vec<ListedBatch>, BatchError>> {
        async move {
            let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            let since = since.saturating_sub(CLOCK_TOLERANCE_SECS);
            let mut batches = Vec::new();
            let mut after = String::new();
            for _ in 0..MAX_PAGES {
                let url = format!("{}/batches?limit={PAGE_SIZE}{after}", service.base_url());
                let page = service.get_json(&url).await?;
                let entries = page.get("data").and_then(Value::as_array).map(Vec::as_slice);
                for entry in entries.unwrap_or_default() {
                    if entry.get("created_at").and_then(Value::as_u64).is_some_and(|at| at < since) {
                        return Ok(batches);
                    }
                    let label = entry.pointer(&format!("/metadata/{LABEL_KEY}")).and_then(Value::as_str);
                    batches.push(ListedBatch {
                        id: service.batch_id(entry, "id")?,
                        label: label.map(str::to_owned),
                        requests: entry.pointer("/request_counts/total").and_then(Value::as_u64),
                        is_rejected: status(entry) == Some("failed"),
                    });
                }
                let last = batches.last().map(|batch| batch.id.as_str());
                match (page.get("has_more").and_then(Value::as_bool), last) {
                    (Some(true), Some(last)) => after = format!("&after={last}"),
                    _ => break,
                }
            }
            Ok(batches)
        }
        .boxed()
    }

    fn state<'a>(
        &'a self,
        service: &'a Service,
        id: &'a BatchId,
    ) -> BoxFuture<'a, Result<BatchState, BatchError>> {
        async move {
            let url = format!("{}/batches/{}", service.base_url(), id.as_str());
            let batch = service.get_json(&url).await?;
            let end = match status(&batch) {
                Some("completed") => BatchEnd::Completed,
                Some("expired") => BatchEnd::Expired,
                Some("cancelled") => BatchEnd::Cancelled,
                Some("failed") => BatchEnd::Rejected(Box::new(rejection(service, &batch))),
                Some(_) => return Ok(BatchState::InProgress),
                None => return Err(service.protocol_error("the batch has no `status`")),
            };
            let mut results = Vec::new();
            for key in ["output_file_id", "error_file_id"] {
                if batch.get(key).is_some_and(Value::is_string) {
                    let file = service.batch_id(&batch, key)?;
                    results.push(format!("{}/files/{}/content", service.base_url(), file.as_str()));
                }
            }
            Ok(BatchState::Ended(EndedBatch { end, results }))
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, service: &'a Service, id: &'a BatchId) -> BoxFuture<'a, Result<(), BatchError>> {
        async move {
            let url = format!("{}/batches/{}/cancel", service.base_url(), id.as_str());
            service.post_json(&url, Content::Json(&json!({}))).await.map(drop)
        }
        .boxed()
    }

    fn parse_result(&self, service: &Service, line: &str) -> Option<PartResult> {
        parse_result(service, line)
    }
}

fn status(batch: &Value) -> Option<&str> {
    batch.get("status").and_then(Value::as_str)
}

/// Returns the error of a batch whose requests were not accepted.
fn rejection(service: &Service, batch: &Value) -> ProviderError {
    let first = batch.pointer("/errors/data/0");
    let text = |key: &str| first.and_then(|error| error.get(key)).and_then(Value::as_str);
    let (code, message) = (text("code").unwrap_or_default(), text("message").unwrap_or("no details given"));
    let error = ReportedError { status: Some(400), kind: code.to_owned(), message: message.to_owned() };
    let error = service.errors().invalid_response(ResponseError::Reported(error), ResponseHead::default());
    // The limit of the tokens that wait in all batches of the account: there is room when one of them ends.
    match code {
        "token_limit_exceeded" => ProviderError { retry: Retry::Backoff, ..error },
        _ => error,
    }
}

#[derive(Deserialize)]
struct ResultLine<'a> {
    custom_id: String,
    #[serde(borrow)]
    response: Option<LineResponse<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LineResponse<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

fn parse_result(service: &Service, line: &str) -> Option<PartResult> {
    let ResultLine { custom_id, response, error } = parse_line(line)?;
    let outcome = match (response, present(error)) {
        (_, Some(error)) => failed_line(service, error),
        (Some(LineResponse { status_code, body }), None) => match (status_code, present(body)?) {
            (200..=299, body) => PartOutcome::Succeeded(body.to_owned()),
            (status, body) => failed_part(service, Some(status), body),
        },
        (None, None) => return None,
    };
    Some(PartResult { id: custom_id, outcome })
}

/// Returns the outcome of a request that got no response.
fn failed_line(service: &Service, error: &str) -> PartOutcome {
    let value: Value = serde_json::from_str(error).unwrap_or_default();
    match value.get("code").and_then(Value::as_str) {
        Some("batch_expired") => PartOutcome::Expired,
        Some("batch_cancelled") => PartOutcome::Cancelled,
        _ => failed_part(service, None, &json!({ "error": value }).to_string()),
    }
}
