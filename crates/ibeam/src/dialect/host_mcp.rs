//! MCP servers that the host runs: their messages travel as requests of the control protocol.
//!
//! A server is a pair of streams for everybody else, one JSON-RPC message a line, as that of a process is.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf, duplex, split,
};
use tokio::sync::mpsc;

use super::control_protocol::at;
use super::host::Host;

/// Bytes that wait in either direction; a longer message is read in pieces.
const CAPACITY: usize = 64 << 10;
/// JSON-RPC's code for an error within the server.
const INTERNAL_ERROR: i64 = -32603;

impl Host {
    /// Connects to the MCP server `name` of the host. Must be called within an async runtime.
    pub(crate) fn connect_server(self: &Arc<Self>, name: &str) -> DuplexStream {
        let (near, far) = duplex(CAPACITY);
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

/// Puts one message to the host; the answer to a request goes to `sender`.
async fn forward(host: Arc<Host>, name: String, message: Value, sender: mpsc::UnboundedSender<Value>) {
    let id = at(&message, "/id").clone();
    let is_request = !id.is_null() && message.get("method").is_some();
    let request = json!({ "subtype": "mcp_message", "server_name": name, "message": message });
    let answer = host.request(host.request_id("mcp"), request).await;
    if is_request {
        // Nobody reads once the server has been given up.
        drop(sender.send(reply(&id, answer)));
    }
}

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
    fn every_request_has_a_reply_under_its_id() {
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
