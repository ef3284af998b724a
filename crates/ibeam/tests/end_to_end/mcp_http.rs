//! MCP servers over HTTP: both revisions, headers, streams that break, OAuth, and what is never contacted.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ibeam_testkit::{ProxyServer, Workspace};
use serde_json::{Value, json};

use crate::mcp::{call, results, servers};
use crate::scene::{Scene, answer_text};

/// A request that the server received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    /// The body as text.
    form: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the method of the message.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn result(&self, result: Value) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result });
        Answer {
            status: 200,
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }
}

pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }

    fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn events(body: String) -> Self {
        Self { status: 200, headers: vec![("Content-Type", "text/event-stream".to_owned())], body }
    }
}

/// A server that answers each request with `answer` and records it.
pub(crate) struct McpServer {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl McpServer {
    pub(crate) fn start(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
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

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the methods of the messages, in order.
    fn methods(&self) -> Vec<String> {
        let received = self.received();
        received.iter().map(|request| request.rpc().to_owned()).filter(|method| !method.is_empty()).collect()
    }

    /// Returns a workspace whose user has configured this server as `test`.
    pub(crate) fn workspace(&self, further: &str) -> Workspace {
        Workspace::new().user_config(&format!("[mcp_servers.test]\nurl = {:?}\n{further}", self.url))
    }
}

fn serve(mut stream: TcpStream, record: &Mutex<Vec<Received>>, answer: &dyn Fn(&Received) -> Answer) {
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
    let request = Received { method, path, headers, body, form };
    record.lock().unwrap().push(request.clone());
    let Answer { status, headers, body } = answer(&request);
    let mut head = format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    drop(stream.write_all(format!("{head}\r\n{body}").as_bytes()));
}

pub(crate) fn tools() -> Value {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let invalid = json!({ "type": "number", "x-mcp-header": "N" });
    let tool = |name: &str, field: Value| json!({ "name": name, "inputSchema": { "type": "object", "properties": { "value": field } } });
    json!({ "tools": [tool("echo", region), tool("invalid", invalid)] })
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Answers as a server of revision 2025-11-25 with the session `s-1`.
pub(crate) fn with_sessions(request: &Received) -> Answer {
    match request.rpc() {
        "server/discover" => Answer::status(400),
        "initialize" => request
            .result(json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } }))
            .with_header("Mcp-Session-Id", "s-1"),
        "tools/list" => request.result(tools()),
        "tools/call" => request.result(text("called")),
        _ if request.method == "GET" => Answer::status(405),
        _ => Answer::status(202),
    }
}

/// Answers as a server of revision 2026-07-28.
fn without_sessions(request: &Received) -> Answer {
    match request.rpc() {
        "server/discover" => {
            request.result(json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }))
        }
        "tools/list" => request.result(tools()),
        "tools/call" if request.body["params"].get("inputResponses").is_none() => request.result(json!({
            "resultType": "input_required",
            "requestState": "opaque",
            "inputRequests": { "a": { "method": "elicitation/create", "params": { "message": "sure?" } } },
        })),
        "tools/call" => request.result(text("called")),
        _ => Answer::status(404),
    }
}

fn scene(workspace: Workspace) -> Scene {
    Scene::new([call("echo", json!({ "value": "eu west" })), answer_text("done")]).with_workspace(workspace)
}

#[test]
fn a_server_with_sessions_is_found_called_and_left() {
    let server = McpServer::start(with_sessions);
    let scene = scene(server.workspace("headers = { X-Team = \"blue\" }\n"));
    let output = scene.print(["--approve-mcps"]).run().succeeded();
    assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
    assert_eq!(results(&output)[0].1["content"][0]["text"]["text"], "called", "{output}");
    let methods = server.methods();
    let expect = ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert_eq!(methods, expect);
    let received = server.received();
    let called = received.iter().find(|request| request.rpc() == "tools/call").unwrap();
    assert_eq!(called.header("mcp-session-id"), Some("s-1"));
    assert_eq!(called.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!((called.header("x-team"), called.header("mcp-method")), (Some("blue"), None));
    assert_eq!(received.last().unwrap().method, "DELETE", "the session is deleted at the end");
}

#[test]
fn a_server_without_sessions_gets_everything_in_each_request() {
    let server = McpServer::start(without_sessions);
    let scene = scene(server.workspace(""));
    let output = scene.print(["--approve-mcps"]).run().succeeded();
    assert_eq!(crate::mcp::offered(&scene), ["mcp_test_echo"], "a tool with invalid headers is left out");
    assert_eq!(results(&output)[0].1["content"][0]["text"]["text"], "called", "{output}");
    assert_eq!(server.methods(), ["server/discover", "tools/list", "tools/call", "tools/call"]);
    let received = server.received();
    let [.., first, second] = received.as_slice() else { panic!("{received:?}") };
    assert_eq!(first.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!((first.header("mcp-method"), first.header("mcp-name")), (Some("tools/call"), Some("echo")));
    assert_eq!(first.header("mcp-param-region"), Some("eu west"));
    assert_eq!(first.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    let params = &second.body["params"];
    assert_eq!(params["inputResponses"], json!({ "a": { "action": "decline" } }));
    assert_eq!(params["requestState"], "opaque");
    assert_ne!(first.body["id"], second.body["id"]);
}

#[test]
fn a_stream_that_ends_early_is_resumed() {
    let server = McpServer::start(|request| match (request.rpc(), request.method.as_str()) {
        ("tools/call", _) => Answer::events("id: e-1\nretry: 10\ndata:\n\n".to_owned()),
        ("", "GET") if request.header("last-event-id") == Some("e-1") => {
            let result = text("resumed");
            let ids = 1..9;
            let events = ids.map(|id| json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            Answer::events(events.map(|event| format!("data: {event}\n\n")).collect())
        }
        _ => with_sessions(request),
    });
    let scene = scene(server.workspace("revision = \"2025-11-25\"\n"));
    let output = scene.print(["--approve-mcps"]).run().succeeded();
    assert_eq!(results(&output)[0].1["content"][0]["text"]["text"], "resumed", "{output}");
}

#[test]
fn headers_of_a_command_are_read_again_after_a_refusal() {
    let server = McpServer::start(|request| match request.header("authorization") {
        Some("Bearer token-2-0123456789") => with_sessions(request),
        _ => Answer::status(401),
    });
    let script =
        "#!/bin/sh\necho x >> ~/runs\necho \"Authorization: Bearer token-$(wc -l < ~/runs)-0123456789\"\n";
    let further = "headers_command = [\"/bin/sh\", \"${userHome}/headers.sh\"]\nrevision = \"2025-11-25\"\n";
    let scene = scene(server.workspace(further).file("../home/headers.sh", script));
    let output = scene.print(["--approve-mcps"]).run().succeeded();
    assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
    assert!(!format!("{output}").contains("0123456789"), "{output}");
}

#[test]
fn a_redirect_and_an_unencrypted_secret_are_refused_with_the_way_out() {
    let server =
        McpServer::start(|_| Answer::status(307).with_header("Location", "https://other.example/mcp"));
    let scene = Scene::new([answer_text("done")]).with_workspace(server.workspace(""));
    let output = scene.print::<&str>([]).run().succeeded();
    let warning = &output.stderr_lines("warning: ")[0];
    assert!(warning.contains("it redirects to `https://other.example/mcp`"), "{output}");
    let config =
        "[mcp_servers.test]\nurl = \"http://mcp.example/x\"\nheaders = { Authorization = \"Bearer k\" }\n";
    let scene = Scene::new([answer_text("done")]).with_workspace(Workspace::new().user_config(config));
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(output.stderr_lines("warning: ")[0].contains("unencrypted; use `https://`"), "{output}");
}

#[test]
fn a_server_of_an_untrusted_project_is_not_contacted() {
    for file in [".mcp.json", ".ibeam/mcp.json", ".cursor/mcp.json"] {
        let server = McpServer::start(with_sessions);
        let content = json!({ "mcpServers": { "test": { "url": server.url } } }).to_string();
        let scene = Scene::new([answer_text("done"), answer_text("done")])
            .with_workspace(Workspace::new().file(file, &content));
        let output = scene.print::<&str>([]).run().succeeded();
        assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "untrusted" }]), "{output}");
        assert!(server.received().is_empty(), "{file}");
        let output = scene.print(["--approve-mcps"]).run().succeeded();
        assert_eq!(servers(&scene, &output), json!([{ "name": "test", "status": "connected" }]), "{output}");
    }
}

// ---- OAuth

/// Answers as a server of revision 2026-07-28 that is its own authorization server. The token `access-1` expires with the
/// first call, and `access-2` lacks the scope of `echo`.
fn with_oauth(request: &Received) -> Answer {
    let origin = format!("http://{}", request.header("host").unwrap());
    let json = |body: Value| Answer {
        status: 200,
        headers: vec![("Content-Type", "application/json".to_owned())],
        body: body.to_string(),
    };
    match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => json(json!({
            "resource": format!("{origin}/mcp"), "authorization_servers": [origin], "scopes_supported": ["read"],
        })),
        "/.well-known/oauth-authorization-server" => json(json!({
            "issuer": origin,
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "device_authorization_endpoint": format!("{origin}/device"),
            "token_endpoint_auth_methods_supported": ["none"],
        })),
        "/register" => json(json!({ "client_id": "client-7" })),
        "/device" => json(json!({
            "device_code": "device-1", "user_code": "ABCD-1234", "verification_uri": "https://as.example/device",
            "interval": 0,
        })),
        "/token" if request.form.contains("grant_type=refresh_token") => {
            json(json!({ "access_token": "access-2-secret", "token_type": "Bearer" }))
        }
        "/token" => json(json!({
            "access_token": "access-1-secret", "token_type": "Bearer", "refresh_token": "refresh-1-secret",
        })),
        _ => match (request.header("authorization"), request.rpc()) {
            (None, _) | (Some("Bearer access-1-secret"), "tools/call") => Answer::status(401),
            (Some("Bearer access-2-secret"), "tools/call") => Answer::status(403)
                .with_header("WWW-Authenticate", r#"Bearer error="insufficient_scope", scope="write""#),
            (Some(_), _) => without_sessions(request),
        },
    }
}

#[test]
fn a_login_is_stored_refreshed_and_never_printed() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = McpServer::start(with_oauth);
    let scene = scene(server.workspace("[mcp_servers.test.auth]\ngrant = \"device_code\"\n"));
    let refused = scene.ibeam_without_model(["mcp", "list-tools", "test"]).run();
    assert!(refused.stderr.contains("it requires a login: run `ibeam mcp login test`"), "{refused}");
    let login = scene.ibeam_without_model(["mcp", "login", "test"]).run().succeeded();
    assert!(login.stderr.contains("https://as.example/device and enter the code ABCD-1234"), "{login}");
    assert_eq!(login.stdout, "Logged in to test, which offers 1 tool\n");
    let form =
        |from: &str| server.received().into_iter().find(|request| request.form.contains(from)).unwrap().form;
    assert!(form("client_id=client-7").contains("scope=read"), "the scopes of the metadata");
    let file = scene.workspace.path().join("../home/.config/ibeam/mcp-credentials.toml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let output = scene.print(["--approve-mcps"]).run().succeeded();
    assert!(form("refresh_token=refresh-1-secret").contains("grant_type=refresh_token"));
    let result = results(&output)[0].1.to_string();
    assert!(result.contains("it requires a login: run `ibeam mcp login test`"), "{output}");
    assert!(!format!("{login}{output}").contains("-secret"), "{login}{output}");
    scene.ibeam_without_model(["mcp", "login", "test"]).run().succeeded();
    assert!(form("scope=write").contains("scope=write+read"), "the missing scope and those of before");
    let logout = scene.ibeam_without_model(["mcp", "logout", "test"]).run().succeeded();
    assert_eq!(logout.stdout, "Logged out of test\n");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("access-"));
}

#[test]
fn the_secret_of_a_client_reaches_only_its_authorization_server() {
    let server = McpServer::start(with_oauth);
    let auth = |issuer: &str| {
        format!(
            "[mcp_servers.test.auth]\ngrant = \"client_credentials\"\nissuer = \"{issuer}\"\n\
             client_id = \"ibeam-ci\"\nclient_secret = \"hush-hush-hush\"\n"
        )
    };
    let foreign = scene(server.workspace(&auth("https://login.example.com")));
    let refused = foreign.ibeam_without_model(["mcp", "list-tools", "test"]).run();
    assert!(refused.stderr.contains("and `auth.issuer` is `https://login.example.com`"), "{refused}");
    assert!(server.received().iter().all(|request| request.path != "/token"), "{refused}");
    let origin = server.url.trim_end_matches("/mcp").to_owned();
    let own = scene(server.workspace(&auth(&origin)));
    let listed = own.ibeam_without_model(["mcp", "list-tools", "test"]).run().succeeded();
    assert!(server.received().iter().any(|request| request.path == "/token"), "{listed}");
}

/// The server is on this machine, and its authorization server at `auth.test`.
#[test]
fn an_authorization_server_is_reached_through_the_proxy_for_its_own_host() {
    let server = McpServer::start(|request| match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            let resource = format!("http://{}/mcp", request.header("host").unwrap());
            Answer {
                status: 200,
                headers: vec![("Content-Type", "application/json".to_owned())],
                body: json!({ "resource": resource, "authorization_servers": ["https://auth.test"] })
                    .to_string(),
            }
        }
        _ => with_oauth(request),
    });
    let auth = "[mcp_servers.test.auth]\ngrant = \"client_credentials\"\nclient_id = \"ibeam-ci\"\n\
                client_secret = \"hush-hush-hush\"\n";
    let scene = scene(server.workspace(auth));
    let list = |variables: &[(&str, &str)]| {
        let mut ibeam = scene.ibeam_without_model(["mcp", "list-tools", "test"]);
        for (name, value) in variables {
            ibeam = ibeam.env(name, value);
        }
        ibeam.run().stderr
    };
    let proxy = ProxyServer::without_targets();
    let address = format!("http://{}", proxy.address());
    let stderr = list(&[("HTTPS_PROXY", &address)]);
    assert!(proxy.requests().iter().any(|request| request.contains("auth.test:443")), "{stderr}");
    for variables in
        [[("HTTPS_PROXY", address.as_str()), ("NO_PROXY", "auth.test")], [("HTTPS_PROXY", ""), ("A", "")]]
    {
        let before = proxy.requests().len();
        let stderr = list(&variables);
        assert_eq!(proxy.requests().len(), before, "{stderr}");
        assert!(stderr.contains("auth.test"), "{stderr}");
    }
    let stderr = list(&[("HTTPS_PROXY", "ftp://proxy")]);
    assert!(stderr.contains("$HTTPS_PROXY"), "no connection without the proxy: {stderr}");
}

/// Answers as [`with_oauth`], but the first token expires at once and is refused everywhere.
fn with_short_lifetime(request: &Received) -> Answer {
    if request.path == "/token" && !request.form.contains("grant_type=refresh_token") {
        let body = json!({
            "access_token": "access-1-secret", "token_type": "Bearer", "refresh_token": "refresh-1-secret",
            "expires_in": 0,
        });
        return Answer {
            status: 200,
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: body.to_string(),
        };
    }
    with_oauth(request)
}

#[test]
fn a_token_that_expires_is_refreshed_before_it_is_sent() {
    let server = McpServer::start(with_short_lifetime);
    let scene = scene(server.workspace("[mcp_servers.test.auth]\ngrant = \"device_code\"\n"));
    let login = scene.ibeam_without_model(["mcp", "login", "test"]).run().succeeded();
    assert_eq!(login.stdout, "Logged in to test, which offers 1 tool\n");
    let received = server.received();
    let sent = |token: &str| received.iter().any(|request| request.header("authorization") == Some(token));
    assert!(!sent("Bearer access-1-secret") && sent("Bearer access-2-secret"));
}
