//! Lists of tools of a scripted server, over a pipe in memory.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split};

use super::*;
use crate::connection::StartError;

/// Answers `initialize` with `capabilities`, and each further request with the next of `answers`: a result, or an error
/// with `code`. The last answer repeats.
async fn serve(stream: DuplexStream, capabilities: Value, answers: Vec<Value>) {
    let (input, mut output) = split(stream);
    let (mut lines, mut answers) = (BufReader::new(input).lines(), answers.into_iter().peekable());
    let mut last = Value::Null;
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = request.get("id") else { continue };
        if request["method"] != "initialize" {
            last = answers.next().unwrap_or(last);
        }
        let answer = match request["method"].as_str() {
            Some("initialize") => json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities }),
            _ => last.clone(),
        };
        let key = if answer.get("code").is_some() { "error" } else { "result" };
        let message = json!({ "jsonrpc": "2.0", "id": id, key: answer });
        output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}

/// Returns the names of the tools and of those that are left out.
fn offer(capabilities: Value, answers: Vec<Value>) -> Result<(Vec<String>, Vec<String>), StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, server) = duplex(64 * 1024);
        tokio::spawn(serve(server, capabilities, answers));
        let (output, input) = split(client);
        let (_connection, offer) = Connection::attach(input, output, Duration::from_secs(20)).await?;
        Ok((offer.tools.iter().map(|tool| tool.name.clone()).collect(), offer.left_out))
    })
}

#[track_caller]
fn check(capabilities: Value, answers: Vec<Value>, expect: &[&str], left_out: &[&str]) {
    let (tools, others) = offer(capabilities, answers).unwrap();
    assert_eq!(tools, expect);
    assert_eq!(others.len(), left_out.len(), "{others:?}");
    for (found, expect) in others.iter().zip(left_out) {
        assert!(found.starts_with(expect), "{others:?}");
    }
}

fn page(names: &[&str], cursor: &str) -> Value {
    let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
    json!({ "tools": tools, "nextCursor": cursor })
}

#[test]
fn a_list_ends_at_a_cursor_that_comes_again() {
    let tools = || json!({ "tools": {} });
    check(tools(), vec![page(&["a", "b"], "0")], &["a", "b"], &[]);
    check(tools(), vec![page(&["a"], "0"), page(&["b"], "1"), page(&["c"], "0")], &["a", "b", "c"], &[]);
}

#[test]
fn a_wrong_tool_is_left_out_and_the_others_are_offered() {
    let long = "n".repeat(300);
    let list = json!({ "tools": [
        { "name": "a" }, { "inputSchema": {} }, { "name": 5 }, { "name": " " }, { "name": long },
        { "name": "b", "description": ["x"], "annotations": [], "inputSchema": null },
    ] });
    let left_out = ["number 2 (missing field", "number 3 (", "a tool without a name", "nnn"];
    check(json!({ "tools": {} }), vec![list], &["a", "b"], &left_out);
    check(json!({ "tools": {} }), vec![json!({ "tools": null })], &[], &[]);
}

#[test]
fn a_refused_list_leaves_the_pages_before_it_and_the_other_lists() {
    let refusal = || json!({ "code": -32000, "message": "not now" });
    check(
        json!({ "tools": {}, "prompts": {} }),
        vec![refusal()],
        &[],
        &["all (it answered with error -32000"],
    );
    check(json!({ "tools": {} }), vec![page(&["a"], "0"), refusal()], &["a"], &["the rest (it answered"]);
    check(json!({}), vec![json!({ "code": METHOD_NOT_FOUND, "message": "no" })], &[], &[]);
    assert!(offer(json!({ "tools": {} }), vec![refusal()]).is_err());
}
