//! The scripted model over WebSocket, in the mode of OpenAI Responses.
//!
//! Source: the guide "WebSocket mode". A connection knows its last response. A request that names it has only the new
//! items; a request that names another one is an error. An idle connection is pinged, and closed without a pong. After an
//! answer with the header `connection: close`, the connection is closed.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use serde_json::{Value, json};

use crate::api::AnswerScript;
use crate::request::Request;
use crate::script::{Answer, Content, Frame};
use crate::server::ServerState;
use crate::wire::Wire;

/// The time between two pings of an idle connection.
const PING_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum wait for a pong.
const PONG_TIMEOUT: Duration = Duration::from_secs(10);

struct LastResponse {
    id: String,
    /// The input and the output.
    items: Vec<Value>,
}

/// A connection that ends.
struct ConnectionClosed;

/// Answers the requests of one connection until it ends.
pub(crate) async fn serve(
    mut socket: WebSocket,
    script: Arc<ServerState>,
    path: String,
    headers: Vec<(String, String)>,
) {
    let mut last = None;
    while let Ok(message) = receive(&mut socket).await {
        let request = match http_body(&message, last.as_ref()) {
            Ok(body) => Request {
                wire: Wire::Responses,
                path: path.clone(),
                headers: headers.clone(),
                body,
                message: Some(message),
            },
            Err(violation) => {
                if send_error(&mut socket, 500, "invalid_message", violation, &[]).await.is_err() {
                    return;
                }
                continue;
            }
        };
        match answer(&mut socket, &script, request).await {
            Ok(response) => last = response,
            Err(ConnectionClosed) => return,
        }
    }
}

/// Returns the next message of the client.
async fn receive(socket: &mut WebSocket) -> Result<Value, ConnectionClosed> {
    loop {
        match tokio::time::timeout(PING_INTERVAL, socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) => return Ok(serde_json::from_str(&text).unwrap_or_default()),
            Ok(Some(Ok(Message::Pong(_) | Message::Ping(_) | Message::Binary(_)))) => {}
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return Err(ConnectionClosed),
            Err(_) => {
                if let Some(text) = ping(socket).await? {
                    return Ok(serde_json::from_str(&text).unwrap_or_default());
                }
            }
        }
    }
}

/// Sends a ping and waits for its pong. Returns a text that arrived before it.
async fn ping(socket: &mut WebSocket) -> Result<Option<String>, ConnectionClosed> {
    socket.send(Message::Ping("are you there?".into())).await.map_err(|_| ConnectionClosed)?;
    let mut text = None;
    loop {
        match tokio::time::timeout(PONG_TIMEOUT, socket.recv()).await {
            Ok(Some(Ok(Message::Pong(_)))) => return Ok(text),
            Ok(Some(Ok(Message::Text(early)))) => text = Some(early.to_string()),
            Ok(Some(Ok(Message::Ping(_) | Message::Binary(_)))) => {}
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) | Err(_) => return Err(ConnectionClosed),
        }
    }
}

/// Returns the body that the request would have over HTTP.
fn http_body(message: &Value, last: Option<&LastResponse>) -> Result<Value, &'static str> {
    let mut body = message.clone();
    let fields = body.as_object_mut().ok_or("the message is not an object")?;
    if fields.remove("type") != Some(json!("response.create")) {
        return Err("the message is not `response.create`");
    }
    if fields.insert("stream".to_owned(), json!(true)).is_some() {
        return Err("`stream` is a field of HTTP");
    }
    let mut items = match (fields.remove("previous_response_id"), last) {
        (None, _) => Vec::new(),
        (Some(id), Some(last)) if id == last.id.as_str() => last.items.clone(),
        (Some(_), _) => return Err("the previous response is not the last one of this connection"),
    };
    items.extend(fields.get("input").and_then(Value::as_array).into_iter().flatten().cloned());
    fields.insert("input".to_owned(), items.into());
    Ok(body)
}

/// Sends the next answer of the script. Returns the response, if the next request can continue it.
async fn answer(
    socket: &mut WebSocket,
    script: &ServerState,
    request: Request,
) -> Result<Option<LastResponse>, ConnectionClosed> {
    let api = Wire::Responses.api();
    let (violation, model, mut items) =
        ((api.violation)(&request), request.model(), request.messages().to_vec());
    let (number, answer) = script.record(request);
    if let Some(violation) = violation {
        let message = format!("the request violates the rules of its wire: {violation}");
        return send_error(socket, 400, "invalid_request_error", &message, &[]).await.map(|()| None);
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(message) => return send_error(socket, 500, "api_error", &message, &[]).await.map(|()| None),
    };
    let Answer { status, headers, head_delay, content } = answer.as_ref();
    tokio::time::sleep(*head_delay).await;
    let (steps, usage, stop) = match content {
        Content::Silence => std::future::pending().await,
        Content::Error { kind, message } => {
            return send_error(socket, *status, kind, message, headers).await.map(|()| None);
        }
        Content::Body { text, .. } => return send_text(socket, text).await.map(|()| None),
        Content::Steps { steps, usage, stop } => (steps, *usage, stop.as_ref()),
    };
    let mut last = Value::Null;
    for frame in (api.stream)(&AnswerScript { steps, usage, stop, model: &model, number }) {
        match frame {
            Frame::Bytes(bytes) => send_frame(socket, &bytes, &mut last).await?,
            Frame::Pause(pause) => tokio::time::sleep(pause).await,
            Frame::Cut => return Err(ConnectionClosed),
            Frame::Stall => std::future::pending().await,
        }
    }
    if headers.iter().any(|header| header.0.eq_ignore_ascii_case("connection") && header.1 == "close") {
        drop(socket.send(Message::Close(None)).await);
        return Err(ConnectionClosed);
    }
    let response = &last["response"];
    let id = response["id"].as_str().map(str::to_owned);
    items.extend(response["output"].as_array().into_iter().flatten().cloned());
    Ok(id.map(|id| LastResponse { id, items }))
}

/// Sends a part of a stream: the data of an event as text, a comment as a ping, anything else as a binary message.
async fn send_frame(socket: &mut WebSocket, bytes: &[u8], last: &mut Value) -> Result<(), ConnectionClosed> {
    let text = String::from_utf8_lossy(bytes);
    if text.starts_with(':') {
        return ping(socket).await.map(|_| ());
    }
    match text.lines().find_map(|line| line.strip_prefix("data: ")) {
        Some(data) => {
            *last = serde_json::from_str(data).unwrap_or_default();
            send_text(socket, data).await
        }
        None => socket.send(Message::Binary(bytes.to_vec().into())).await.map_err(|_| ConnectionClosed),
    }
}

/// Sends an error with the headers that it would have over HTTP.
async fn send_error(
    socket: &mut WebSocket,
    status: u16,
    kind: &str,
    message: &str,
    headers: &[(String, String)],
) -> Result<(), ConnectionClosed> {
    let mut error = (Wire::Responses.api().error)(status, kind, message);
    error["type"] = "error".into();
    error["status"] = status.into();
    let headers = headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    error["headers"] = Value::Object(headers.collect());
    send_text(socket, &error.to_string()).await
}

async fn send_text(socket: &mut WebSocket, text: &str) -> Result<(), ConnectionClosed> {
    socket.send(Message::Text(text.to_owned().into())).await.map_err(|_| ConnectionClosed)
}
