//! MCP servers that the host runs: their messages are requests of the control protocol.
//!
//! Such a server is a pair of streams with one JSON-RPC message per line, like a server that is a process.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf, duplex, split,
};
use tokio::sync::mpsc;

use super::control_protocol::value_at;
use super::host::Host;

/// The size of the buffer in each direction; a longer message is read in pieces.
const CAPACITY_BYTES: usize = 64 << 10;
/// The code of JSON-RPC for an error in the server.
const INTERNAL_ERROR: i64 = -32603;

impl Host {
    /// Connects to the MCP server `name` of the host. Must be called within an async runtime.
    pub(crate) fn connect_server(self: &Arc<Self>, name: &str) -> DuplexStream {
        let (near, far) = duplex(CAPACITY_BYTES);
        let (sender, messages) = mpsc::unbounded_channel();
        self.register_server(name, sender.clone());
        let (read, write) = split(far);
        tokio::spawn(write_messages(write, messages));
        let (host, name) = (Arc::clone(self), name.to_owned());
        tokio::spawn(async move {
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(message) = serde_json::from_str(&line) {
                    tokio::spawn(forward(Arc::clone(&host), name.clone(), message, sender.clone()));
                }
            }
        });
        near
    }
}

/// Sends one message to the host; the response to a request goes to `sender`.
async fn forward(host: Arc<Host>, name: String, message: Value, sender: mpsc::UnboundedSender<Value>) {
    let id = value_at(&message, "/id").clone();
    let is_request = !id.is_null() && message.get("method").is_some();
    let request = json!({ "subtype": "mcp_message", "server_name": name, "message": message });
    let answer = host.request(host.request_id("mcp"), request).await;
    if is_request {
        // The receiver is gone once the server has been shut down.
        drop(sender.send(reply(&id, answer)));
    }
}

/// Returns the JSON-RPC response to the request `id`, or an error in its place.
fn reply(id: &Value, answer: Option<Result<Value, String>>) -> Value {
    let message = match answer {
        Some(Ok(answer)) => match answer.get("mcp_response") {
            Some(Value::Object(response)) => {
                let mut response = response.clone();
                response.insert("id".to_owned(), id.clone());
                return Value::Object(response);
            }
            Some(_) | None => "the host answered without `mcp_response`".to_owned(),
        },
        Some(Err(message)) => message,
        None => "the host is gone".to_owned(),
    };
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": INTERNAL_ERROR, "message": message } })
}

async fn write_messages(mut write: WriteHalf<DuplexStream>, mut messages: mpsc::UnboundedReceiver<Value>) {
    while let Some(message) = messages.recv().await {
        if write.write_all(format!("{message}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_reply_with_its_id() {
        let id = json!(7);
        let result = json!({ "mcp_response": { "jsonrpc": "2.0", "id": "other", "result": { "a": 1 } } });
        let replied = reply(&id, Some(Ok(result)));
        assert_eq!(replied, json!({ "jsonrpc": "2.0", "id": 7, "result": { "a": 1 } }));
        for (answer, part) in [
            (Some(Ok(json!({}))), "without `mcp_response`"),
            (Some(Err("no such server".to_owned())), "no such server"),
            (None, "gone"),
        ] {
            let replied = reply(&id, answer);
            assert_eq!(replied["id"], 7);
            assert!(replied["error"]["message"].as_str().unwrap().contains(part), "{replied}");
        }
    }
}
