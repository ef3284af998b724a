//! MCP servers over HTTP: both revisions, headers, streams that break, OAuth, and what is never contacted.

use ibeam_testkit::http_mcp_server::{McpAnswer, McpRequest, McpServer, text, tools, with_sessions};
use ibeam_testkit::scene::{Scene, answer_text, results};
use ibeam_testkit::stdio_mcp_server::{call, servers};
use ibeam_testkit::{ProxyServer, Workspace};
use serde_json::{Value, json};

/// Answers as a server of revision 2026-07-28.
fn without_sessions(request: &McpRequest) -> McpAnswer {
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
        _ => McpAnswer::status(404),
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
    assert_eq!(
        ibeam_testkit::stdio_mcp_server::offered(&scene),
        ["mcp_test_echo"],
        "a tool with invalid headers is left out"
    );
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
        ("tools/call", _) => McpAnswer::events("id: e-1\nretry: 10\ndata:\n\n".to_owned()),
        ("", "GET") if request.header("last-event-id") == Some("e-1") => {
            let result = text("resumed");
            let ids = 1..9;
            let events = ids.map(|id| json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            McpAnswer::events(events.map(|event| format!("data: {event}\n\n")).collect())
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
        _ => McpAnswer::status(401),
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
        McpServer::start(|_| McpAnswer::status(307).with_header("Location", "https://other.example/mcp"));
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
fn with_oauth(request: &McpRequest) -> McpAnswer {
    let origin = format!("http://{}", request.header("host").unwrap());
    let json = |body: Value| McpAnswer {
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
            (None, _) | (Some("Bearer access-1-secret"), "tools/call") => McpAnswer::status(401),
            (Some("Bearer access-2-secret"), "tools/call") => McpAnswer::status(403)
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

/// Servers of revision 2025-03-26 are their own authorization servers, with or without metadata.
#[test]
fn a_server_without_protected_resource_metadata_is_its_own_authorization_server() {
    let auth = "[mcp_servers.test.auth]\ngrant = \"client_credentials\"\nclient_id = \"ibeam-ci\"\n\
                client_secret = \"hush-hush-hush\"\n";
    for (has_metadata, token_path) in [(false, "/token"), (true, "/oauth/token")] {
        let server = McpServer::start(move |request| {
            let json = |body: Value| McpAnswer {
                status: 200,
                headers: vec![("Content-Type", "application/json".to_owned())],
                body: body.to_string(),
            };
            let origin = format!("http://{}", request.header("host").unwrap());
            match request.path.as_str() {
                "/.well-known/oauth-authorization-server" if has_metadata => json(json!({
                    "issuer": format!("{origin}/"), "token_endpoint": format!("{origin}/oauth/token"),
                })),
                path if path.starts_with("/.well-known/") => McpAnswer::status(404),
                path if path == token_path => {
                    json(json!({ "access_token": "access-secret", "token_type": "Bearer" }))
                }
                _ if request.header("authorization").is_none() => McpAnswer::status(401),
                _ => without_sessions(request),
            }
        });
        let scene = scene(server.workspace(auth));
        let listed = scene.ibeam_without_model(["mcp", "list-tools", "test"]).run().succeeded();
        assert!(server.received().iter().any(|request| request.path == token_path), "{listed}");
    }
}

/// The server is on this machine, and its authorization server at `auth.test`.
#[test]
fn an_authorization_server_is_reached_through_the_proxy_for_its_own_host() {
    let server = McpServer::start(|request| match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            let resource = format!("http://{}/mcp", request.header("host").unwrap());
            McpAnswer {
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
fn with_short_lifetime(request: &McpRequest) -> McpAnswer {
    if request.path == "/token" && !request.form.contains("grant_type=refresh_token") {
        let body = json!({
            "access_token": "access-1-secret", "token_type": "Bearer", "refresh_token": "refresh-1-secret",
            "expires_in": 0,
        });
        return McpAnswer {
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
