//! Message batches of Anthropic.
//!
//! Source: the API reference, "Message Batches", and the guide "Batch processing". The API has no labels, so a batch
//! whose id was lost is found by the ids of its requests, which only its results have.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::part_results::{failed_part, parse_line};
use super::service::{Content, Service};
use super::{
    BatchApi, BatchContent, BatchEncoding, BatchEnd, BatchError, BatchId, BatchLimits, BatchState,
    EndedBatch, ListedBatch, PartOutcome, PartResult,
};
use crate::calendar::date_of_days;

/// The most batches that a page of the list can have.
const PAGE_SIZE: u32 = 1000;
/// The most pages that are read.
const MAX_PAGES: u32 = 10;
/// The difference that the clocks of this machine and of the service may have.
const CLOCK_TOLERANCE_SECS: u64 = 15 * 60;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AnthropicBatches;

impl BatchApi for AnthropicBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: 100_000, bytes: 256 * 1024 * 1024 }
    }

    fn encoding(&self) -> BatchEncoding {
        BatchEncoding { prefix: br#"{"requests":["#, separator: b",", suffix: b"]}" }
    }

    fn has_labels(&self) -> bool {
        false
    }

    fn write_request(&self, id: &str, body: &[u8], batch: &mut Vec<u8>) {
        batch.extend_from_slice(br#"{"custom_id":"#);
        batch.extend_from_slice(Value::from(id).to_string().as_bytes());
        batch.extend_from_slice(br#","params":"#);
        batch.extend_from_slice(body);
        batch.push(b'}');
    }

    fn submit<'a>(
        &'a self,
        service: &'a Service,
        content: &'a dyn BatchContent,
        _label: &'a str,
    ) -> BoxFuture<'a, Result<BatchId, BatchError>> {
        async move {
            let upload = Content::Upload {
                media_type: "application/json",
                before: Vec::new(),
                content,
                after: Vec::new(),
            };
            let batch = service.post_json(&batches_url(service), upload).await?;
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
            let since = rfc3339_utc(since, CLOCK_TOLERANCE_SECS);
            let mut batches = Vec::new();
            let mut after = String::new();
            for _ in 0..MAX_PAGES {
                let url = format!("{}?limit={PAGE_SIZE}{after}", batches_url(service));
                let page = service.get_json(&url).await?;
                let entries = page.get("data").and_then(Value::as_array).map(Vec::as_slice);
                for entry in entries.unwrap_or_default() {
                    // The newest come first. Both texts are UTC, so their order is that of the times.
                    let created = entry.get("created_at").and_then(Value::as_str);
                    if created.is_some_and(|created| created < since.as_str()) {
                        return Ok(batches);
                    }
                    batches.push(ListedBatch {
                        id: service.batch_id(entry, "id")?,
                        label: None,
                        requests: entry.get("request_counts").and_then(total),
                        is_rejected: false,
                    });
                }
                let last = page.get("last_id").and_then(Value::as_str).and_then(BatchId::new);
                match (page.get("has_more").and_then(Value::as_bool), last) {
                    (Some(true), Some(last)) => after = format!("&after_id={}", last.as_str()),
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
            let url = format!("{}/{}", batches_url(service), id.as_str());
            let batch = service.get_json(&url).await?;
            match batch.get("processing_status").and_then(Value::as_str) {
                Some("ended") => {
                    let results = vec![format!("{url}/results")];
                    Ok(BatchState::Ended(EndedBatch { end: BatchEnd::Completed, results }))
                }
                Some(_) => Ok(BatchState::InProgress),
                None => Err(service.protocol_error("the batch has no `processing_status`")),
            }
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, service: &'a Service, id: &'a BatchId) -> BoxFuture<'a, Result<(), BatchError>> {
        async move {
            let url = format!("{}/{}/cancel", batches_url(service), id.as_str());
            service.post_json(&url, Content::Json(&json!({}))).await.map(drop)
        }
        .boxed()
    }

    fn parse_result(&self, service: &Service, line: &str) -> Option<PartResult> {
        parse_result(service, line)
    }
}

#[derive(Deserialize)]
struct ResultLine<'a> {
    custom_id: String,
    #[serde(borrow)]
    result: LineResult<'a>,
}

#[derive(Deserialize)]
struct LineResult<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn parse_result(service: &Service, line: &str) -> Option<PartResult> {
    let ResultLine { custom_id, result } = parse_line(line)?;
    let outcome = match result.kind {
        "succeeded" => PartOutcome::Succeeded(result.message?.get().to_owned()),
        "errored" => failed_part(service, None, result.error?.get()),
        "expired" => PartOutcome::Expired,
        "canceled" => PartOutcome::Cancelled,
        _ => return None,
    };
    Some(PartResult { id: custom_id, outcome })
}

fn batches_url(service: &Service) -> String {
    // The path of batches is below the path of messages.
    let messages = service.protocol().request_url(service.base_url(), &service.endpoint().model);
    format!("{messages}/batches")
}

/// Returns the number of requests of a batch.
fn total(counts: &Value) -> Option<u64> {
    let counts = counts.as_object()?;
    Some(counts.values().filter_map(Value::as_u64).sum())
}

/// Returns a time in UTC, `tolerance` seconds earlier, as the service writes times, without fractions of a second.
fn rfc3339_utc(time: SystemTime, tolerance: u64) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().saturating_sub(tolerance);
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    let date = date_of_days(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{date}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_as_the_service_writes_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_724_179_044, "2024-08-20T18:37:24"),
            (4_107_542_399, "2100-02-28T23:59:59"),
        ] {
            assert_eq!(rfc3339_utc(UNIX_EPOCH + Duration::from_secs(seconds), 0), text);
        }
    }
}
