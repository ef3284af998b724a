//! Random runs of contract 1: parts that are not reported as lost return, and the target keeps its shape.

use ibeam_dialects::DialectName;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::convert::{converted, keeps_the_contract};
use crate::facts::comes_back;
use crate::shapes;

const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z /.é\n]{0,12}",
        ".{0,8}",
        Just("Exit code 1\nx".to_owned()),
        Just("{\"success\":{}}".to_owned())
    ]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..1000_u64, Just(u64::MAX)]
}

/// An object of some of these keys.
fn some(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let member = prop_oneof![
        4 => words().prop_map(Value::from),
        1 => count().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({ "a": [1, { "b": "c" }] })),
    ];
    prop::collection::vec((prop::sample::select(keys), member), 0..4).prop_map(|members| {
        members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<serde_json::Map<_, _>>()
            .into()
    })
}

fn with(mut one: Value, more: Value) -> Value {
    if let (Some(one), Value::Object(more)) = (one.as_object_mut(), more) {
        for (key, value) in more {
            one.entry(key).or_insert(value);
        }
    }
    one
}

/// A call's key, its body without a result, and what it may give when it succeeds.
fn call() -> impl Strategy<Value = (String, Value, Value)> {
    let tool = |key: &'static str, args: BoxedStrategy<Value>, success: BoxedStrategy<Value>| {
        let extra =
            some(&["description", "offset", "limit", "new_key", "title", "content", "name", "message"]);
        (args, success, extra).prop_map(move |(args, success, extra)| {
            (key.to_owned(), json!({ "args": with(args, extra) }), success)
        })
    };
    let of = |names: &'static [&'static str]| some(names).boxed();
    let read = (words(), count()).prop_map(|(text, total)| {
        json!({
            "content": text, "isEmpty": text.is_empty(), "exceededLimit": total > 9,
            "totalLines": total, "totalChars": total,
        })
    });
    let edits = prop_oneof![
        (words(), words())
            .prop_map(|(old, new)| json!({ "path": "a", "strReplace": { "oldText": old, "newText": new } })),
        words().prop_map(
            |old| json!({ "path": "a", "multiStrReplace": { "edits": [{ "oldText": old, "newText": "" }] } })
        ),
        words().prop_map(|patch| json!({ "path": "a", "applyPatch": { "patchContent": patch } })),
    ];
    let shell = (words(), words(), any::<bool>()).prop_map(|(out, err, mixed)| {
        let both = if mixed { format!("{err}{out}") } else { format!("{out}{err}") };
        json!({
            "command": "ls", "workingDirectory": "/w", "exitCode": 0, "stdout": out, "stderr": err,
            "interleavedOutput": both, "executionTime": 7,
        })
    });
    let states =
        prop::sample::select(vec!["TODO_STATUS_PENDING", "TODO_STATUS_COMPLETED", "TODO_STATUS_IN_PROGRESS"]);
    let todos = (states, words())
        .prop_map(|(state, text)| json!([{ "id": "1", "content": text, "status": state }]))
        .boxed();
    let one_text = |key: &'static str| words().prop_map(move |text| json!({ key: text })).boxed();
    let function = (words(), some(&["city", "arguments"])).prop_map(|(name, arguments)| {
        let body = json!({ "name": name, "arguments": arguments.to_string() });
        ("function".to_owned(), body, json!({ "x": "y" }))
    });
    let mcp = (some(&["query"]), words()).prop_map(|(args, text)| {
        let args =
            json!({ "name": "docs-find", "args": args, "providerIdentifier": "docs", "toolName": "find" });
        let success = json!({ "content": [{ "text": { "text": text } }], "isError": text.len() > 5 });
        ("mcpToolCall".to_owned(), json!({ "args": args }), success)
    });
    prop_oneof![
        tool("readToolCall", one_text("path"), read.boxed()),
        tool(
            "writeToolCall",
            words().prop_map(|text| json!({ "path": "a", "fileText": text })).boxed(),
            Just(json!({ "path": "/w/a", "linesCreated": 1, "fileSize": 2 })).boxed(),
        ),
        tool(
            "editToolCall",
            edits.boxed(),
            words().prop_map(|text| json!({ "path": "/w/a", "linesAdded": 1, "message": text })).boxed()
        ),
        tool("shellToolCall", one_text("command"), shell.boxed()),
        tool(
            "grepToolCall",
            one_text("pattern"),
            Just(json!({ "pattern": "x", "workspaceResults": {} })).boxed()
        ),
        tool(
            "globToolCall",
            one_text("globPattern"),
            Just(json!({ "files": ["a"], "totalFiles": 1 })).boxed()
        ),
        tool("lsToolCall", one_text("path"), of(&["note"])),
        tool("deleteToolCall", one_text("path"), Just(json!({ "path": "/w/a", "fileSize": 3 })).boxed()),
        tool(
            "updateTodosToolCall",
            todos.clone().prop_map(|todos| json!({ "todos": todos, "merge": false })).boxed(),
            todos.prop_map(|todos| json!({ "todos": todos })).boxed(),
        ),
        tool("webFetchToolCall", one_text("url"), one_text("markdown")),
        function,
        mcp,
    ]
}

fn result(key: &str, success: Value, ending: u8, text: &str) -> Value {
    match (ending, key) {
        (0..=4, _) => json!({ "success": success }),
        (5, "shellToolCall") => {
            let mut failed = success;
            failed["exitCode"] = json!(1);
            json!({ "failure": failed })
        }
        (6, "shellToolCall") => json!({ "timeout": { "timeoutMs": 10 } }),
        (5, "readToolCall" | "deleteToolCall") => json!({ "fileNotFound": { "path": text } }),
        (6, _) => json!({ "permissionDenied": { "path": "a", "error": text } }),
        (7, _) => json!({ "rejected": { "reason": text } }),
        _ => json!({ "error": { "errorMessage": text } }),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Text(String),
    Call { call: (String, Value, Value), ending: u8, text: String },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        words().prop_map(Step::Text),
        (call(), 0..9_u8, words()).prop_map(|(call, ending, text)| Step::Call { call, ending, text }),
    ]
}

fn end() -> impl Strategy<Value = Value> {
    let summary = (1..9_u64, prop::option::of(0.0..9.0_f64)).prop_map(|(turns, cost)| {
        let mut summary = json!({
            "turns": turns, "api_ms": 5, "permission_denials": [{ "call_id": "c", "tool": "shell", "rule": "r" }],
            "failed_tool_calls": 0, "files_changed": ["/w/a"], "retries": 1, "compactions": 0, "tool_calls": 2,
            "background_stopped": 0,
        });
        if let Some(cost) = cost {
            summary["cost_usd"] = json!(cost);
        }
        summary
    });
    let codes =
        prop::sample::select(vec![("auth", 20, false), ("rate_limited", 24, true), ("limit", 30, false)]);
    (summary, prop::option::of(codes), 0..9_000_u64).prop_map(|(summary, failed, tokens)| match failed {
        None => json!({
            "type": "result", "subtype": "success", "duration_ms": 9, "duration_api_ms": 9, "is_error": false,
            "result": "", "session_id": SESSION, "request_id": "r",
            "usage": { "inputTokens": tokens, "outputTokens": 1, "cacheReadTokens": 2, "cacheWriteTokens": 3 },
            "ibeam": summary,
        }),
        Some((code, exit, again)) => json!({
            "type": "error", "code": code, "message": "no", "exit_code": exit, "retryable": again,
            "http_status": 401, "session_id": SESSION, "ibeam": summary, "resumable": true,
        }),
    })
}

/// Returns the lines of a run.
fn run() -> impl Strategy<Value = String> {
    let mode = prop::sample::select(vec!["default", "force", "plan", "ask"]);
    let key = prop::sample::select(vec!["env", "flag", "login"]);
    (mode, key, words(), prop::collection::vec(step(), 0..8), end()).prop_map(|(mode, key, prompt, steps, mut end)| {
        let mut lines = vec![
            json!({
                "type": "system", "subtype": "init", "apiKeySource": key, "cwd": "/w", "session_id": SESSION,
                "model": "M", "permissionMode": mode, "tools": ["read", "shell", "x"],
                "mcp_servers": [{ "name": "docs", "status": "connected" }],
            }),
            json!({
                "type": "user", "message": { "role": "user", "content": [{ "type": "text", "text": prompt }] },
                "session_id": SESSION,
            }),
        ];
        let mut answer = String::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Text(text) => {
                    answer.push_str(&text);
                    lines.push(json!({
                        "type": "assistant",
                        "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] },
                        "session_id": SESSION, "timestamp_ms": 1_764_000_000_000_u64 + number as u64,
                    }));
                }
                Step::Call { call: (key, mut body, success), ending, text } => {
                    for subtype in ["started", "completed"] {
                        if subtype == "completed" {
                            body["result"] = result(&key, success.clone(), ending, &text);
                        }
                        lines.push(json!({
                            "type": "tool_call", "subtype": subtype, "call_id": format!("call{number}"),
                            "tool_call": { &key: body }, "session_id": SESSION,
                            "model_call_id": (number / 2).to_string(),
                            "timestamp_ms": 1_764_000_000_000_u64 + number as u64,
                        }));
                    }
                }
            }
        }
        if end["type"] == "result" || !answer.is_empty() {
            end["result"] = json!(answer);
        }
        lines.push(end);
        lines.iter().map(|line| format!("{line}\n")).collect()
    })
}

/// Adds unknown keys to some objects of some lines.
fn with_new_keys(stream: &str, places: &[u16]) -> String {
    let mut lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for place in places {
        let at = usize::from(*place) % lines.len();
        let mut object = &mut lines[at];
        for step in 0..*place % 4 {
            let keys: Vec<String> = object
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, v)| v.is_object())
                .map(|(k, _)| k.clone())
                .collect();
            let Some(key) = keys.get(usize::from(place / 7 + step) % keys.len().max(1)) else { break };
            object = &mut object[key];
        }
        object["novelty"] = json!("new");
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn contract_streams_return_from_every_dialect(run in run(), places in prop::collection::vec(any::<u16>(), 0..3)) {
        let run = with_new_keys(&run, &places);
        for to in DialectName::ALL.iter().filter(|to| **to != DialectName::Cursor) {
            comes_back(DialectName::Cursor, *to, &run);
            shapes::hold(*to, &converted(DialectName::Cursor, *to, &run).0);
        }
    }

    #[test]
    fn streams_of_every_dialect_return_from_the_contract(run in run(), places in prop::collection::vec(any::<u16>(), 0..3)) {
        for from in DialectName::ALL.iter().filter(|from| **from != DialectName::Cursor) {
            let (stream, _) = converted(DialectName::Cursor, *from, &run);
            let stream = with_new_keys(&stream, &places);
            comes_back(*from, DialectName::Cursor, &stream);
            keeps_the_contract(&converted(*from, DialectName::Cursor, &stream).0);
        }
    }
}

/// Two different dialects other than contract 1.
fn pair() -> impl Strategy<Value = (DialectName, DialectName)> {
    let others = || DialectName::ALL.iter().copied().filter(|dialect| *dialect != DialectName::Cursor);
    let pairs = others().flat_map(|from| others().map(move |to| (from, to))).filter(|(from, to)| from != to);
    prop::sample::select(pairs.collect::<Vec<_>>())
}

proptest! {
    // One pair for each case. The properties above check the conversions to and from contract 1 for every dialect.
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_dialect_converts_to_every_other(run in run(), (from, to) in pair()) {
        let (stream, _) = converted(DialectName::Cursor, from, &run);
        shapes::hold(to, &converted(from, to, &stream).0);
        comes_back(from, to, &stream);
    }
}
