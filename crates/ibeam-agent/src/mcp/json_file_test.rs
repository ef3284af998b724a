use serde_json::json;

use super::*;

fn parsed(text: &str) -> McpFile {
    parse(Path::new("/w/.mcp.json"), Some(text.as_bytes().to_vec()), true, &|_| None)
}

/// Returns the transport of the only server of a file with this entry.
#[track_caller]
fn transport(entry: &Value) -> ServerTransport {
    let found = parsed(&json!({ "mcpServers": { "x": entry } }).to_string());
    assert_eq!((found.faults.as_slice(), found.servers.len()), (&[][..], 1), "{entry}");
    found.servers.into_iter().next().unwrap().transport
}

fn command(words: &[&str], environment: &[(&str, &str)]) -> ServerTransport {
    let pairs = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ServerTransport::Command {
        command: words[0].to_owned(),
        args: words[1..].iter().map(ToString::to_string).collect(),
        environment: pairs.collect(),
        environment_file: None,
        directory: None,
    }
}

#[test]
fn values_of_other_types_are_read_where_they_have_one_meaning() {
    for (entry, expect) in [
        (
            json!({ "command": "a", "args": ["-p", 80, true], "env": { "PORT": 3000, "ON": false, "NONE": null } }),
            command(&["a", "-p", "80", "true"], &[("ON", "false"), ("PORT", "3000")]),
        ),
        (json!({ "command": ["a", "b"], "args": null, "env": null }), command(&["a", "b"], &[])),
        (json!({ "command": "a", "args": "b", "cwd": null, "url": "" }), command(&["a", "b"], &[])),
    ] {
        assert_eq!(transport(&entry), expect);
    }
}

#[test]
fn the_url_has_several_names() {
    let http = |entry: Value| match transport(&entry) {
        ServerTransport::Http(http) => http.url,
        other => panic!("{other:?}"),
    };
    for key in ["url", "serverUrl", "httpUrl"] {
        assert_eq!(http(json!({ key: "https://a.test", "command": "" })), "https://a.test");
    }
    assert_eq!(http(json!({ "url": "https://sse.test", "httpUrl": "https://a.test" })), "https://a.test");
    let sse = transport(&json!({ "url": "https://a.test", "transport": "sse" }));
    assert_eq!(sse, ServerTransport::Sse("https://a.test".to_owned()));
}

#[test]
fn a_wrong_server_is_a_fault_and_the_others_count() {
    let found = parsed(
        "{ // the servers\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\",},\n    \"b\": {\"command\": 1},\n    \
         \"c\": {}, \"d\": 5,\n  },\n}",
    );
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["a"]);
    let faults: Vec<_> =
        found.faults.iter().map(|fault| (fault.server.as_deref().unwrap(), fault.position)).collect();
    assert_eq!(faults, [("b", Some((4, 22))), ("c", None), ("d", Some((5, 19)))], "{:?}", found.faults);
}

#[test]
fn a_file_that_is_not_json_is_a_fault_with_its_position() {
    for (text, position) in
        [("<<<<<<< HEAD\n{}", (1, 1)), ("{\n  \"mcpServers\": {,}\n}", (2, 18)), ("[]", (1, 0))]
    {
        let found = parsed(text);
        assert_eq!(found.faults.len(), 1, "{text}");
        assert_eq!((&found.faults[0].server, found.faults[0].position), (&None, Some(position)), "{text}");
    }
    for text in ["", " \n", "{}", "{\"mcpServers\": null}", "// nothing\n"] {
        let found = parsed(text);
        assert!(found.faults.is_empty() && found.servers.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn unknown_keys_are_returned_and_comments_are_not() {
    let text = json!({
        "servers": {}, "$schema": "x", "_comment": "y",
        "mcpServers": { "a": { "command": "a", "alwaysAllow": [], "description": "z", "enabled": false } },
    });
    let found = parsed(&text.to_string());
    assert_eq!(found.unknown_keys, ["servers", "mcpServers.a.alwaysAllow"]);
    assert_eq!(found.servers[0].status, ibeam_protocol::McpStatus::Disabled);
}
