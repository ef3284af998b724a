//! Batches of Gemini at Google AI Studio.
//!
//! Source: the API reference, "Batch API" and "Files", and the guide "Batch API", v1beta. The requests are a file, and
//! so are the results. The label of a batch is its display name.

use std::time::SystemTime;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ibeam_core::ProviderError;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::part_results::{failed_part, parse_line, present};
use super::service::{Authorisation, Content, Service};
use super::{
    BatchApi, BatchContent, BatchEncoding, BatchEnd, BatchError, BatchId, BatchLimits, BatchState,
    EndedBatch, JSON_LINES, ListedBatch, PartOutcome, PartResult,
};
use crate::provider_errors::ResponseHead;
use crate::response_error::ResponseError;

/// The header with the URL for an upload.
const UPLOAD_URL: &str = "x-goog-upload-url";
/// The number of batches on a page of the list.
const PAGE_SIZE: u32 = 100;
/// The most pages that are read.
const MAX_PAGES: u32 = 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct GeminiBatches;

impl BatchApi for GeminiBatches {
    fn limits(&self) -> BatchLimits {
        // The guide limits the size of the file only. The number keeps a file of results within one download.
        BatchLimits { requests: 50_000, bytes: 2_000_000_000 }
    }

    fn encoding(&self) -> BatchEncoding {
        JSON_LINES
    }

    fn write_request(&self, id: &str, body: &[u8], batch: &mut Vec<u8>) {
        batch.extend_from_slice(br#"{"key":"#);
        batch.extend_from_slice(Value::from(id).to_string().as_bytes());
        batch.extend_from_slice(br#","request":"#);
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
            let file = upload(service, content, label).await?;
            let model = &service.endpoint().model;
            let collection = if model.contains('/') { "" } else { "models/" };
            let url = format!("{}/{collection}{model}:batchGenerateContent", service.base_url());
            let request = json!({
                "batch": { "displayName": label, "inputConfig": { "fileName": file.as_str() } },
            });
            let batch = service.post_json(&url, Content::Json(&request)).await?;
            service.batch_id(&batch, "name")
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        service: &'a Service,
        _since: SystemTime,
    ) -> BoxFuture<'a, Result<Vec<ListedBatch>, BatchError>> {
        async move {
            let mut batches = Vec::new();
            let mut token = String::new();
            for _ in 0..MAX_PAGES {
                let url = format!("{}/batches?pageSize={PAGE_SIZE}{token}", service.base_url());
                let page = service.get_json(&url).await?;
                let entries = page.get("operations").and_then(Value::as_array).map(Vec::as_slice);
                for entry in entries.unwrap_or_default() {
                    let text = |path: &str| entry.pointer(path).and_then(Value::as_str);
                    // An integer of 64 bits is a string.
                    let requests = text("/metadata/batchStats/requestCount");
                    batches.push(ListedBatch {
                        id: service.batch_id(entry, "name")?,
                        label: text("/metadata/displayName").map(str::to_owned),
                        requests: requests.and_then(|count| count.parse().ok()),
                        is_rejected: state_name(entry) == Some("FAILED"),
                    });
                }
                let next = page.get("nextPageToken").and_then(Value::as_str).unwrap_or_default();
                if next.is_empty() || !next.bytes().all(|byte| byte.is_ascii_graphic()) {
                    break;
                }
                token = format!("&pageToken={}", escape(next));
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
            let batch = service.get_json(&format!("{}/{}", service.base_url(), id.as_str())).await?;
            let end = match state_name(&batch) {
                Some("SUCCEEDED") => BatchEnd::Completed,
                Some("EXPIRED") => BatchEnd::Expired,
                Some("CANCELLED") => BatchEnd::Cancelled,
                Some("FAILED") => BatchEnd::Rejected(Box::new(rejection(service, &batch))),
                Some(_) => return Ok(BatchState::InProgress),
                None => return Err(service.protocol_error("the batch has no `state`")),
            };
            let file = ["/response/responsesFile", "/metadata/output/responsesFile"]
                .into_iter()
                .find_map(|path| batch.pointer(path)?.as_str());
            let results = match file {
                Some(file) => {
                    let file = BatchId::new(file)
                        .ok_or_else(|| service.protocol_error("the file of results has no valid name"))?;
                    let url = url_with_prefix(service, "download")?;
                    vec![format!("{url}/{}:download?alt=media", file.as_str())]
                }
                None => Vec::new(),
            };
            Ok(BatchState::Ended(EndedBatch { end, results }))
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, service: &'a Service, id: &'a BatchId) -> BoxFuture<'a, Result<(), BatchError>> {
        async move {
            let url = format!("{}/{}:cancel", service.base_url(), id.as_str());
            service.post_json(&url, Content::Json(&json!({}))).await.map(drop)
        }
        .boxed()
    }

    fn parse_result(&self, service: &Service, line: &str) -> Option<PartResult> {
        parse_result(service, line)
    }
}

/// Uploads the requests and returns the name of the file.
async fn upload(service: &Service, content: &dyn BatchContent, label: &str) -> Result<BatchId, BatchError> {
    let url = format!("{}/files", url_with_prefix(service, "upload")?);
    let file = json!({ "file": { "displayName": label } });
    let start = [
        ("x-goog-upload-protocol", "resumable".to_owned()),
        ("x-goog-upload-command", "start".to_owned()),
        ("x-goog-upload-header-content-length", content.size().to_string()),
        ("x-goog-upload-header-content-type", "application/jsonl".to_owned()),
    ];
    let response = service.send(Method::POST, &url, &start, Content::Json(&file), Authorisation::Key).await?;
    let target = response.headers().get(UPLOAD_URL).and_then(|value| value.to_str().ok());
    let target = target.and_then(|target| Url::parse(target).ok());
    // The conversations of the user go to no other server than the one that was configured.
    let target = target
        .filter(|target| Url::parse(&url).is_ok_and(|url| url.origin() == target.origin()))
        .ok_or_else(|| service.protocol_error("the upload has no valid address"))?;
    let finish =
        [("x-goog-upload-offset", "0".to_owned()), ("x-goog-upload-command", "upload, finalize".to_owned())];
    let upload =
        Content::Upload { media_type: "application/jsonl", before: Vec::new(), content, after: Vec::new() };
    let response = service.send(Method::POST, target.as_str(), &finish, upload, Authorisation::Url).await?;
    let document = service.read_json(response).await?;
    service.batch_id(document.get("file").unwrap_or(&document), "name")
}

/// Returns the base URL with a segment before its path, such as `/upload/v1beta`.
fn url_with_prefix(service: &Service, prefix: &str) -> Result<String, BatchError> {
    let mut url = Url::parse(service.base_url())
        .map_err(|_| service.errors().invalid_configuration("the base URL is not valid"))?;
    let path = format!("/{prefix}{}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url.as_str().to_owned())
}

/// Returns the state of a batch without the prefix, which is `BATCH_STATE_` in the reference and `JOB_STATE_` in the
/// guide.
fn state_name(batch: &Value) -> Option<&str> {
    let state = batch.pointer("/metadata/state").and_then(Value::as_str)?;
    Some(state.trim_start_matches("BATCH_STATE_").trim_start_matches("JOB_STATE_"))
}

/// Returns the error of a batch that failed as a whole.
fn rejection(service: &Service, batch: &Value) -> ProviderError {
    let error = service.protocol().parse_error(&json!({ "error": batch.get("error") }));
    service.errors().invalid_response(ResponseError::Reported(error), ResponseHead::default())
}

#[derive(Deserialize)]
struct ResultLine<'a> {
    key: String,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn parse_result(service: &Service, line: &str) -> Option<PartResult> {
    let ResultLine { key, response, error } = parse_line(line)?;
    let outcome = match (present(response), present(error)) {
        (Some(response), None) => PartOutcome::Succeeded(response.to_owned()),
        (_, Some(error)) => failed_part(service, None, &format!(r#"{{"error":{error}}}"#)),
        (None, None) => return None,
    };
    Some(PartResult { id: key, outcome })
}

/// Escapes a value of a query.
fn escape(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
