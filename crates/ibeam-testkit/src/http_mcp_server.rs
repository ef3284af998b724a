//! An MCP server over HTTP that is scripted by a function and records what it receives.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::Workspace;

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct McpRequest {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The body as text.
    pub form: String,
}

impl McpRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the method of the message.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub fn result(&self, result: Value) -> McpAnswer {
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result });
        McpAnswer {
            status: 200,
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }
}

pub struct McpAnswer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl McpAnswer {
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }

    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn events(body: String) -> Self {
        Self { status: 200, headers: vec![("Content-Type", "text/event-stream".to_owned())], body }
    }
}

/// A server that answers each request with `answer` and records it.
pub struct McpServer {
    pub url: String,
    received: Arc<Mutex<Vec<McpRequest>>>,
}

impl McpServer {
    pub fn start(answer: impl Fn(&McpRequest) -> McpAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (record, answer) = (Arc::clone(&received), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (record, answer) = (Arc::clone(&record), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &record, &*answer));
            }
        });
        Self { url, received }
    }

    pub fn received(&self) -> Vec<McpRequest> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the methods of the messages, in order.
    pub fn methods(&self) -> Vec<String> {
        let received = self.received();
        received.iter().map(|request| request.rpc().to_owned()).filter(|method| !method.is_empty()).collect()
    }

    /// Returns a workspace whose user has configured this server as `test`.
    pub fn workspace(&self, further: &str) -> Workspace {
        Workspace::new().user_config(&format!("[mcp_servers.test]\nurl = {:?}\n{further}", self.url))
    }
}

fn serve(mut stream: TcpStream, record: &Mutex<Vec<McpRequest>>, answer: &dyn Fn(&McpRequest) -> McpAnswer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let form = String::from_utf8(body).unwrap();
    let body = serde_json::from_str(&form).unwrap_or_default();
    let request = McpRequest { method, path, headers, body, form };
    record.lock().unwrap().push(request.clone());
    let McpAnswer { status, headers, body } = answer(&request);
    let mut head = format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    drop(stream.write_all(format!("{head}\r\n{body}").as_bytes()));
}

pub fn tools() -> Value {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let invalid = json!({ "type": "number", "x-mcp-header": "N" });
    let tool = |name: &str, field: Value| json!({ "name": name, "inputSchema": { "type": "object", "properties": { "value": field } } });
    json!({ "tools": [tool("echo", region), tool("invalid", invalid)] })
}

pub fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Answers as a server of revision 2025-11-25 with the session `s-1`.
pub fn with_sessions(request: &McpRequest) -> McpAnswer {
    match request.rpc() {
        "server/discover" => McpAnswer::status(400),
        "initialize" => request
            .result(json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } }))
            .with_header("Mcp-Session-Id", "s-1"),
        "tools/list" => request.result(tools()),
        "tools/call" => request.result(text("called")),
        _ if request.method == "GET" => McpAnswer::status(405),
        _ => McpAnswer::status(202),
    }
}
