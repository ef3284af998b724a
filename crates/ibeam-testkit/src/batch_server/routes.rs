//! The requests of the batch APIs, and the rules that a client must keep.
//!
//! Source: the API references "Message Batches" of Anthropic, "Batch" and "Files" of OpenAI, "Batch API" and "Files" of
//! Gemini.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, Response, Uri};
use serde_json::{Value, json};

use super::{AcceptedBatch, BatchState, Inner, PartAnswer, documents, request_of};
use crate::api::AnswerScript;
use crate::request::Request;
use crate::script::Content;
use crate::server::{body_of_frames, header_texts, json_response, response};
use crate::wire::Wire;

/// Responds to any request.
pub(crate) async fn respond(
    State(state): State<Arc<BatchState>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let failure = {
        let mut inner = state.lock();
        inner.requests += 1;
        inner.failures.pop()
    };
    if let Some(status) = failure {
        return json_response(status, &json!({ "error": { "type": "api_error", "message": "a failure" } }));
    }
    let headers = header_texts(&headers);
    let call = Call { method: method.as_str(), path: uri.path(), headers: &headers, body: &body };
    if let Some(wire) = Wire::from_path(call.path).filter(|_| call.method == "POST") {
        return live_answer(&state, wire, &call);
    }
    call.route(&state).unwrap_or_else(|| response(404, "text/plain", Body::from("no API has this path")))
}

/// An HTTP request.
struct Call<'a> {
    method: &'a str,
    path: &'a str,
    headers: &'a [(String, String)],
    body: &'a [u8],
}

impl Call<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(self.body).unwrap_or_default()
    }

    fn route(&self, state: &BatchState) -> Option<Response<Body>> {
        let segments: Vec<&str> = self.path.trim_start_matches('/').split('/').collect();
        let mut inner = state.lock();
        Some(match (self.method, segments.as_slice()) {
            ("POST", ["v1", "messages", "batches"]) => self.create_anthropic(state, &mut inner),
            ("GET", ["v1", "messages", "batches"]) => {
                let data: Vec<_> =
                    batches_on(&inner, &[Wire::Anthropic]).map(|batch| anthropic(&inner, batch)).collect();
                json_response(200, &json!({ "data": data, "has_more": false, "last_id": null }))
            }
            ("GET", ["v1", "messages", "batches", id]) => {
                let batch = poll(&mut inner, id)?;
                json_response(200, &anthropic(&inner, &batch))
            }
            ("POST", ["v1", "messages", "batches", id, "cancel"]) => match cancel(&mut inner, id)? {
                Ok(batch) => json_response(200, &anthropic(&inner, &batch)),
                Err(refused) => refused,
            },
            ("GET", ["v1", "messages", "batches", id, "results"]) => lines(&inner, id, anthropic_line)?,
            ("POST", ["v1", "files"]) => self.upload_form(&mut inner),
            ("GET", ["v1", "files", name, "content"]) => {
                let (kind, id) = name.split_once('-')?;
                let is_error = kind == "errors";
                lines(&inner, id, |batch, id, request, outcome| {
                    openai_line(batch, id, request, outcome)
                        .filter(|(_, failed)| *failed == is_error)
                        .map(|(line, _)| line)
                })?
            }
            ("POST", ["v1", "batches"]) => self.create_openai(state, &mut inner),
            ("GET", ["v1", "batches"]) => {
                let wires = [Wire::OpenAi, Wire::Responses];
                let data: Vec<_> = batches_on(&inner, &wires).map(|batch| openai(&inner, batch)).collect();
                json_response(200, &json!({ "object": "list", "data": data, "has_more": false }))
            }
            ("GET", ["v1", "batches", id]) => {
                let batch = poll(&mut inner, id)?;
                json_response(200, &openai(&inner, &batch))
            }
            ("POST", ["v1", "batches", id, "cancel"]) => match cancel(&mut inner, id)? {
                Ok(batch) => json_response(200, &openai(&inner, &batch)),
                Err(refused) => refused,
            },
            ("POST", ["upload", "v1beta", "files"]) => self.start_upload(state),
            ("POST", ["uploads", label]) => self.finish_upload(&mut inner, label),
            ("POST", ["v1beta", "models", call]) => {
                let model = call.strip_suffix(":batchGenerateContent")?;
                self.create_gemini(state, &mut inner, model)
            }
            ("GET", ["v1beta", "batches"]) => {
                let operations: Vec<_> =
                    batches_on(&inner, &[Wire::Gemini]).map(|batch| gemini(&inner, batch)).collect();
                json_response(200, &json!({ "operations": operations }))
            }
            ("GET", ["v1beta", "batches", id]) => {
                let batch = poll(&mut inner, id)?;
                json_response(200, &gemini(&inner, &batch))
            }
            ("POST", ["v1beta", "batches", call]) => match cancel(&mut inner, call.strip_suffix(":cancel")?)?
            {
                Ok(_) => json_response(200, &json!({})),
                Err(refused) => refused,
            },
            ("GET", ["download", "v1beta", "files", name]) => {
                let id = name.strip_suffix(":download")?.strip_prefix("results-")?;
                lines(&inner, id, gemini_line)?
            }
            _ => return None,
        })
    }

    fn create_anthropic(&self, state: &BatchState, inner: &mut Inner) -> Response<Body> {
        if self.header("anthropic-version").is_none() || self.header("x-api-key").is_none() {
            return invalid("a header is missing");
        }
        let body = self.json();
        let entries = body["requests"].as_array().cloned().unwrap_or_default();
        let requests = entries.iter().map(|entry| {
            let id = entry["custom_id"].as_str().unwrap_or_default().to_owned();
            (id, request_of(Wire::Anthropic, "/v1/messages", self.headers, entry["params"].clone()))
        });
        accept(state, inner, Wire::Anthropic, None, requests.collect(), anthropic)
    }

    /// Stores the file of a form.
    fn upload_form(&self, inner: &mut Inner) -> Response<Body> {
        let boundary = self.header("content-type").and_then(|value| value.split_once("boundary="));
        let Some((_, boundary)) = boundary else { return invalid("the upload is not a form") };
        let text = String::from_utf8_lossy(self.body).into_owned();
        let parts: Vec<&str> = text.split(&format!("--{boundary}")).collect();
        let field = |name: &str| {
            let part = parts.iter().find(|part| part.contains(&format!("name=\"{name}\"")))?;
            let (_, content) = part.split_once("\r\n\r\n")?;
            content.strip_suffix("\r\n")
        };
        if field("purpose") != Some("batch") || parts.last() != Some(&"--\r\n") {
            return invalid("the purpose is missing");
        }
        let Some(content) = field("file") else { return invalid("the file is missing") };
        let id = format!("file-{}", inner.files.len());
        inner.files.insert(id.clone(), content.to_owned());
        json_response(200, &json!({ "id": id, "object": "file", "purpose": "batch" }))
    }

    fn create_openai(&self, state: &BatchState, inner: &mut Inner) -> Response<Body> {
        let body = self.json();
        let file = body["input_file_id"].as_str().and_then(|id| inner.files.get(id)).cloned();
        let Some(file) = file else { return invalid("no such file") };
        let endpoint = body["endpoint"].as_str().unwrap_or_default();
        let wire = if endpoint == "/v1/responses" { Wire::Responses } else { Wire::OpenAi };
        if body["completion_window"] != "24h" {
            return invalid("the completion window must be 24h");
        }
        let mut requests = Vec::new();
        for line in file.lines() {
            let entry: Value = serde_json::from_str(line).unwrap_or_default();
            if entry["method"] != "POST" || entry["url"] != endpoint {
                return invalid("a line has another endpoint");
            }
            let id = entry["custom_id"].as_str().unwrap_or_default().to_owned();
            requests.push((id, request_of(wire, endpoint, self.headers, entry["body"].clone())));
        }
        let label = body["metadata"]["ibeam_batch"].as_str().map(str::to_owned);
        accept(state, inner, wire, label, requests, openai)
    }

    fn start_upload(&self, state: &BatchState) -> Response<Body> {
        let is_start = self.header("x-goog-upload-command") == Some("start");
        let is_resumable = self.header("x-goog-upload-protocol") == Some("resumable");
        if !is_start || !is_resumable || self.header("x-goog-upload-header-content-length").is_none() {
            return invalid("a header of the upload is missing");
        }
        let body = self.json();
        let label = body["file"]["displayName"].as_str().unwrap_or("file");
        let url = format!("http://{}/uploads/{label}", state.address);
        let mut started = json_response(200, &json!({}));
        let url = HeaderValue::from_str(&url).expect("a URL");
        started.headers_mut().insert("x-goog-upload-url", url);
        started
    }

    fn finish_upload(&self, inner: &mut Inner, label: &str) -> Response<Body> {
        if self.header("x-goog-api-key").is_some() {
            return invalid("the URL authorises an upload, not the key");
        }
        if self.header("x-goog-upload-command") != Some("upload, finalize")
            || self.header("content-length") != Some(self.body.len().to_string().as_str())
        {
            return invalid("a header of the upload is missing");
        }
        let id = format!("files/{label}-{}", inner.files.len());
        inner.files.insert(id.clone(), String::from_utf8_lossy(self.body).into_owned());
        json_response(200, &json!({ "file": { "name": id, "state": "ACTIVE" } }))
    }

    fn create_gemini(&self, state: &BatchState, inner: &mut Inner, model: &str) -> Response<Body> {
        let body = self.json();
        let file =
            body["batch"]["inputConfig"]["fileName"].as_str().and_then(|id| inner.files.get(id)).cloned();
        let Some(file) = file else { return invalid("no such file") };
        let path = format!("/v1beta/models/{model}:generateContent");
        let requests = file.lines().map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap_or_default();
            let id = entry["key"].as_str().unwrap_or_default().to_owned();
            (id, request_of(Wire::Gemini, &path, self.headers, entry["request"].clone()))
        });
        let requests: Vec<_> = requests.collect();
        let label = body["batch"]["displayName"].as_str().map(str::to_owned);
        accept(state, inner, Wire::Gemini, label, requests, gemini)
    }
}

/// Accepts a batch, unless its requests violate a rule that the APIs share.
fn accept(
    state: &BatchState,
    inner: &mut Inner,
    wire: Wire,
    label: Option<String>,
    requests: Vec<(String, Request)>,
    describe: fn(&Inner, &AcceptedBatch) -> Value,
) -> Response<Body> {
    let mut ids: Vec<&str> = requests.iter().map(|(id, _)| id.as_str()).collect();
    ids.sort_unstable();
    let is_id = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if ids.is_empty() || !ids.iter().all(is_id) || ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return invalid("the ids of the requests are not valid");
    }
    if let Some((_, request)) = requests.iter().find(|(_, request)| request.messages().is_empty()) {
        return invalid(&format!("a request has no messages: {}", request.body));
    }
    if requests.iter().any(|(_, request)| request.body.get("stream").is_some()) {
        return invalid("a batch cannot stream");
    }
    let outcomes = requests.iter().map(|(id, request)| (state.plan)(id, request)).collect();
    let prefix = if wire == Wire::Gemini { "batches/" } else { "" };
    let id = format!("{prefix}batch_{}", inner.batches.len());
    let batch = AcceptedBatch { id, wire, label, requests, outcomes, polls: 0, cancelled_at: None };
    inner.batches.push(batch.clone());
    if std::mem::take(&mut inner.loses_reply) {
        let cut = vec![crate::script::Frame::Cut];
        return response(200, "application/json", body_of_frames(cut));
    }
    json_response(200, &describe(inner, &batch))
}

/// Returns the batches of an API, the newest first.
fn batches_on<'a>(inner: &'a Inner, wires: &'a [Wire]) -> impl Iterator<Item = &'a AcceptedBatch> {
    inner.batches.iter().rev().filter(move |batch| wires.contains(&batch.wire))
}

/// Counts a poll of a batch and returns the batch.
fn poll(inner: &mut Inner, id: &str) -> Option<AcceptedBatch> {
    let batch = inner.batches.iter_mut().find(|batch| batch.id.trim_start_matches("batches/") == id)?;
    batch.polls += 1;
    Some(batch.clone())
}

/// Cancels a batch: most of its requests are not processed. A batch that has ended cannot be cancelled.
fn cancel(inner: &mut Inner, id: &str) -> Option<Result<AcceptedBatch, Response<Body>>> {
    let at = inner.batches.iter().position(|batch| batch.id.trim_start_matches("batches/") == id)?;
    if has_ended(inner, &inner.batches[at]) {
        return Some(Err(invalid("the batch has ended")));
    }
    let answered = inner.answered_before_cancel;
    let batch = &mut inner.batches[at];
    batch.cancelled_at = Some(batch.polls);
    batch.outcomes.iter_mut().skip(answered).for_each(|outcome| *outcome = PartAnswer::Cancelled);
    Some(Ok(batch.clone()))
}

/// Whether a batch has ended. A cancelled one is in progress at one poll more.
fn has_ended(inner: &Inner, batch: &AcceptedBatch) -> bool {
    match batch.cancelled_at {
        Some(polls) => batch.polls > polls + 1,
        None => !inner.is_held && batch.polls > inner.polls_until_end,
    }
}

fn anthropic(inner: &Inner, batch: &AcceptedBatch) -> Value {
    let count = batch.requests.len();
    let ended = has_ended(inner, batch);
    let (processing, succeeded) = if ended { (0, count) } else { (count, 0) };
    json!({
        "id": batch.id, "type": "message_batch", "created_at": "2999-01-01T00:00:00.100435Z",
        "processing_status": match (ended, batch.is_cancelled()) {
            (true, _) => "ended",
            (false, true) => "canceling",
            (false, false) => "in_progress",
        },
        "request_counts": {
            "processing": processing, "succeeded": succeeded, "errored": 0, "canceled": 0, "expired": 0,
        },
        "results_url": ended.then_some("https://elsewhere.example.com/results"),
    })
}

fn openai(inner: &Inner, batch: &AcceptedBatch) -> Value {
    let ended = has_ended(inner, batch);
    let has = |failed: bool| {
        batch.outcomes.iter().any(|outcome| matches!(outcome, PartAnswer::Answer(_)) != failed)
    };
    let is_expired = batch.outcomes.iter().any(|outcome| matches!(outcome, PartAnswer::Expired));
    let status = match (ended, is_expired) {
        (false, _) if batch.is_cancelled() => "cancelling",
        (true, _) if batch.is_cancelled() => "cancelled",
        (false, _) => "in_progress",
        (true, false) => "completed",
        (true, true) => "expired",
    };
    json!({
        "id": batch.id, "object": "batch", "status": status, "created_at": 32_472_144_000_u64,
        "output_file_id": (ended && has(false)).then(|| format!("answers-{}", batch.id)),
        "error_file_id": (ended && has(true)).then(|| format!("errors-{}", batch.id)),
        "request_counts": { "total": batch.requests.len(), "completed": 0, "failed": 0 },
        "metadata": batch.label.as_ref().map(|label| json!({ "ibeam_batch": label })),
    })
}

fn gemini(inner: &Inner, batch: &AcceptedBatch) -> Value {
    let ended = has_ended(inner, batch);
    let id = batch.id.trim_start_matches("batches/");
    json!({
        "name": batch.id,
        "metadata": {
            "displayName": batch.label,
            "state": match (ended, batch.is_cancelled()) {
                (true, true) => "BATCH_STATE_CANCELLED",
                (true, false) => "BATCH_STATE_SUCCEEDED",
                (false, _) => "BATCH_STATE_RUNNING",
            },
            "batchStats": { "requestCount": batch.requests.len().to_string() },
        },
        "done": ended,
        "response": ended.then(|| json!({ "responsesFile": format!("files/results-{id}") })),
    })
}

/// Returns the results of a batch as lines, in reverse order.
fn lines(
    inner: &Inner,
    id: &str,
    line: impl Fn(&AcceptedBatch, &str, &Request, &PartAnswer) -> Option<Value>,
) -> Option<Response<Body>> {
    let batch = inner.batches.iter().find(|batch| batch.id.trim_start_matches("batches/") == id)?;
    let text: String = batch
        .requests
        .iter()
        .zip(&batch.outcomes)
        .rev()
        .filter_map(|((id, request), outcome)| line(batch, id, request, outcome))
        .map(|line| format!("{line}\n"))
        .collect();
    Some(response(200, "application/jsonl", Body::from(text)))
}

fn anthropic_line(batch: &AcceptedBatch, id: &str, request: &Request, outcome: &PartAnswer) -> Option<Value> {
    let result = match outcome {
        PartAnswer::Answer(answer) => {
            let message = documents::document(batch.wire, answer, &request.body["model"], id);
            json!({ "type": "succeeded", "message": message })
        }
        PartAnswer::Error(status, kind, message) => {
            json!({ "type": "errored", "error": (batch.wire.api().error)(*status, kind, message) })
        }
        PartAnswer::Expired => json!({ "type": "expired" }),
        PartAnswer::Cancelled => json!({ "type": "canceled" }),
    };
    Some(json!({ "custom_id": id, "result": result }))
}

/// Returns a line, and whether it belongs to the file of errors.
fn openai_line(
    batch: &AcceptedBatch,
    id: &str,
    request: &Request,
    outcome: &PartAnswer,
) -> Option<(Value, bool)> {
    let responded = |status: u16, body: Value| json!({ "status_code": status, "request_id": format!("req_{id}"), "body": body });
    let (response, error, failed) = match outcome {
        PartAnswer::Answer(answer) => {
            let document = documents::document(batch.wire, answer, &request.body["model"], id);
            (responded(200, document), Value::Null, false)
        }
        PartAnswer::Error(status, kind, message) => {
            let body = (batch.wire.api().error)(*status, kind, message);
            (responded(*status, body), Value::Null, true)
        }
        PartAnswer::Expired => {
            let message = "This request could not be executed before the completion window expired.";
            (Value::Null, json!({ "code": "batch_expired", "message": message }), true)
        }
        PartAnswer::Cancelled => {
            (Value::Null, json!({ "code": "batch_cancelled", "message": "The batch was cancelled." }), true)
        }
    };
    let line =
        json!({ "id": format!("batch_req_{id}"), "custom_id": id, "response": response, "error": error });
    Some((line, failed))
}

/// Returns a line. A request that was not processed has none.
fn gemini_line(batch: &AcceptedBatch, id: &str, request: &Request, outcome: &PartAnswer) -> Option<Value> {
    match outcome {
        PartAnswer::Answer(answer) => {
            let response = documents::document(batch.wire, answer, &request.model(), id);
            Some(json!({ "key": id, "response": response }))
        }
        PartAnswer::Error(status, kind, message) => {
            let error = (batch.wire.api().error)(*status, kind, message);
            Some(json!({ "key": id, "error": error["error"] }))
        }
        PartAnswer::Expired | PartAnswer::Cancelled => None,
    }
}

/// Answers a request without a batch.
fn live_answer(state: &BatchState, wire: Wire, call: &Call<'_>) -> Response<Body> {
    let request = request_of(wire, call.path, call.headers, call.json());
    let outcome = (state.plan)("live", &request);
    let (model, number) = (request.model(), {
        let mut inner = state.lock();
        inner.live.push(request);
        inner.live.len()
    });
    match outcome {
        PartAnswer::Answer(answer) => match &answer.content {
            Content::Steps { steps, usage, stop } => {
                let script =
                    AnswerScript { steps, usage: *usage, stop: stop.as_ref(), model: &model, number };
                response(200, wire.media_type(), body_of_frames((wire.api().stream)(&script)))
            }
            Content::Body { .. } | Content::Error { .. } | Content::Silence => {
                invalid("no answer of a model")
            }
        },
        PartAnswer::Error(status, kind, message) => {
            json_response(status, &(wire.api().error)(status, kind, message))
        }
        PartAnswer::Expired | PartAnswer::Cancelled => invalid("only a batch can end so"),
    }
}

fn invalid(message: &str) -> Response<Body> {
    let error = json!({ "type": "invalid_request_error", "message": message });
    json_response(400, &json!({ "type": "error", "error": error }))
}
