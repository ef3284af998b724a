//! Streams of other agents that no recording has, written from their sources and from reports of their users.

use ibeam_dialects::{DialectName, LossKind, Losses};
use serde_json::{Value, json};

use crate::convert::{converted, keeps_the_contract};
use crate::facts::comes_back;

const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

/// Converts events into contract 1, and returns the result and the losses.
#[track_caller]
fn to_contract(from: DialectName, events: &[Value]) -> (Vec<Value>, Losses) {
    let source: String = events.iter().map(|event| format!("{event}\n")).collect();
    for to in DialectName::ALL.iter().filter(|to| **to != from) {
        comes_back(from, *to, &source);
    }
    let (target, losses) = converted(from, DialectName::Cursor, &source);
    keeps_the_contract(&target);
    (target.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), losses)
}

fn texts(events: &[Value]) -> Vec<&str> {
    let texts = events.iter().filter(|event| event["type"] == "assistant");
    texts.map(|event| event["message"]["content"][0]["text"].as_str().unwrap()).collect()
}

#[track_caller]
fn dropped(losses: &Losses, key: &str, line: u64) {
    let found = losses.iter().find(|loss| loss.key == key && loss.kind == LossKind::Dropped);
    assert_eq!(found.map(|loss| loss.first_line), Some(line), "{key}: {losses:#?}");
}

fn claude(kind: &str, parent: Option<&str>, content: Value) -> Value {
    json!({
        "type": kind, "session_id": SESSION, "message": { "role": kind, "content": [content] },
        "parent_tool_use_id": parent,
    })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn texts_of_a_sub_agent_are_not_the_answer_and_its_calls_count() {
    let task = json!({ "type": "tool_use", "id": "t1", "name": "Task", "input": { "prompt": "look" } });
    let read = json!({ "type": "tool_use", "id": "t2", "name": "Read", "input": { "file_path": "/a" } });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "x" });
    let (events, losses) = to_contract(
        DialectName::Claude,
        &[
            claude("user", None, text("do it")),
            claude("assistant", None, task),
            claude("user", Some("t1"), text("look")),
            claude("assistant", Some("t1"), json!({ "type": "thinking", "thinking": "hm", "signature": "" })),
            claude("assistant", Some("t1"), text("I see.")),
            claude("assistant", Some("t1"), read),
            claude("user", Some("t1"), result("t2")),
            claude("user", None, result("t1")),
            claude("assistant", None, text("Done.")),
            json!({ "type": "result", "subtype": "success", "is_error": false, "result": "Done.", "session_id": SESSION }),
        ],
    );
    assert_eq!(texts(&events), ["Done."]);
    assert_eq!(events.last().unwrap()["result"], "Done.");
    let calls = events.iter().filter(|event| event["subtype"] == "completed");
    assert_eq!(calls.map(|call| call["call_id"].as_str().unwrap()).collect::<Vec<_>>(), ["t2", "t1"]);
    dropped(&losses, "user/text", 3);
    dropped(&losses, "assistant/thinking", 4);
    dropped(&losses, "assistant/text", 5);
}

#[test]
fn a_second_prompt_is_lost_where_the_target_has_one() {
    let (events, losses) = to_contract(
        DialectName::Claude,
        &[
            claude("user", None, text("first")),
            claude("assistant", None, text("One.")),
            claude("user", None, text("second")),
            claude("assistant", None, text("Two.")),
        ],
    );
    assert_eq!(texts(&events), ["One.", "Two."]);
    dropped(&losses, "user/text", 3);
    // One that comes after the model has begun has no place either.
    let (_, losses) = to_contract(
        DialectName::Claude,
        &[claude("assistant", None, text("One.")), claude("user", None, text("late"))],
    );
    dropped(&losses, "user/text", 2);
}

#[test]
fn pieces_that_never_became_a_message_do_not_double_the_next() {
    let event = |inner: Value| json!({ "type": "stream_event", "session_id": SESSION, "event": inner });
    let start = || {
        let block = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
        event(block)
    };
    let piece = |text: &str| {
        event(
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        )
    };
    let whole = claude("assistant", None, text("Hello."));
    let (events, _) = to_contract(
        DialectName::Claude,
        &[start(), piece("Hel"), start(), piece("Hel"), piece("lo."), whole],
    );
    assert_eq!(texts(&events), ["Hel", "Hel", "lo."]);
}

#[test]
fn a_call_of_other_agents_of_codex_is_a_call() {
    let item = |event: &str, state: &str, id: &str| {
        json!({ "type": event, "item": {
            "id": id, "type": "collab_tool_call", "tool": "spawn_agent", "sender_thread_id": "a",
            "receiver_thread_ids": ["b"], "prompt": "look", "agents_states": {}, "status": state,
        } })
    };
    let (events, losses) = to_contract(
        DialectName::Codex,
        &[
            json!({ "type": "thread.started", "thread_id": SESSION }),
            item("item.started", "in_progress", "item_0"),
            item("item.completed", "completed", "item_0"),
            item("item.started", "in_progress", "item_1"),
            item("item.completed", "failed", "item_1"),
        ],
    );
    assert!(losses.is_empty(), "{losses:#?}");
    let arms: Vec<&String> = events
        .iter()
        .filter_map(|event| event.pointer("/tool_call/function/result")?.as_object()?.keys().next())
        .collect();
    assert_eq!(arms, ["success", "error"]);
}

#[test]
fn an_end_of_gemini_without_a_reason_has_the_error_before_it() {
    let at = "2026-11-21T15:10:00.000Z";
    let begin = json!({ "type": "init", "timestamp": at, "session_id": SESSION, "model": "m" });
    let error = json!({ "type": "error", "timestamp": at, "severity": "error", "message": "blocked" });
    let end = json!({ "type": "result", "timestamp": at, "status": "error" });
    let (events, losses) = to_contract(DialectName::Gemini, &[begin.clone(), error, end]);
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["code"], &last["message"]),
        (&json!("error"), &json!("failed"), &json!("blocked"))
    );
    dropped(&losses, "error", 2);

    let why = json!({ "type": "FatalCancellationError", "message": "Operation cancelled." });
    let end = json!({ "type": "result", "timestamp": at, "status": "error", "error": why });
    let (events, _) = to_contract(DialectName::Gemini, &[begin, end]);
    assert_eq!(events.last().unwrap()["code"], "signal");
}

#[test]
fn the_last_error_of_opencode_is_the_end_and_others_are_lost() {
    let error = |name: &str, data: Value| json!({ "type": "error", "timestamp": 0, "sessionID": "ses_1", "error": { "name": name, "data": data } });
    let (events, losses) = to_contract(
        DialectName::Opencode,
        &[error("APIError", json!({ "message": "x" })), error("MessageOutputLengthError", json!({}))],
    );
    assert_eq!(events.last().unwrap()["message"], "MessageOutputLengthError");
    dropped(&losses, "error", 2);
    for (name, code) in [("ContextOverflowError", "context"), ("ContentFilterError", "refused")] {
        let (events, _) = to_contract(DialectName::Opencode, &[error(name, json!({ "message": "no" }))]);
        assert_eq!(events.last().unwrap()["code"], code);
    }
}

#[test]
fn a_segment_without_end_is_cut() {
    let piece = "~".repeat(4 << 20);
    let delta =
        json!({ "type": "message", "timestamp": "", "role": "assistant", "content": piece, "delta": true });
    let (target, _) = converted(DialectName::Gemini, DialectName::Codex, &format!("{delta}\n").repeat(5));
    let longest = target.lines().map(str::len).max().unwrap();
    assert!((16 << 20..17 << 20).contains(&longest), "{longest}");
    assert_eq!(target.matches('~').count(), 20 << 20);
}

#[test]
fn a_call_that_never_ended_returns_or_is_reported_as_lost() {
    let used = |id: &str, name: &str, input: Value| {
        claude("assistant", None, json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
    };
    let started = [
        claude("user", None, text("do it")),
        used("t1", "Bash", json!({ "command": "sleep 9" })),
        used("t2", "TodoWrite", json!({ "todos": [{ "content": "x", "status": "pending" }] })),
        used("t3", "Read", json!({ "file_path": "/a" })),
    ];
    let end = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": SESSION });
    let cut: String = started.iter().map(|event| format!("{event}\n")).collect();
    for to in DialectName::ALL.iter().filter(|to| **to != DialectName::Claude) {
        comes_back(DialectName::Claude, *to, &cut);
    }
    let whole = format!("{cut}{end}\n");
    let (target, _) = converted(DialectName::Claude, DialectName::Cursor, &whole);
    keeps_the_contract(&target);
    assert_eq!(target.matches("\"subtype\":\"completed\"").count(), 3, "{target}");
    for (to, lost) in [
        (DialectName::Codex, ["TodoWrite"].as_slice()),
        (DialectName::Opencode, &["Bash", "Read", "TodoWrite"]),
    ] {
        for source in [&cut, &whole] {
            let (_, losses) = converted(DialectName::Claude, to, source);
            let calls = losses
                .iter()
                .filter(|loss| loss.key == "assistant/tool_use" && loss.kind == LossKind::Dropped);
            assert_eq!(calls.filter_map(|loss| loss.tool).collect::<Vec<_>>(), lost);
        }
    }
}

#[test]
fn what_the_steps_of_a_run_without_a_good_end_used_is_lost() {
    let step = |reason: &str| {
        json!({ "type": "step_finish", "timestamp": 0, "sessionID": "ses_1", "part": {
            "type": "step-finish", "reason": reason, "cost": 0.5, "tokens": { "input": 3, "output": 1 },
        } })
    };
    let error =
        json!({ "type": "error", "timestamp": 0, "sessionID": "ses_1", "error": { "name": "APIError" } });
    let (_, losses) = to_contract(DialectName::Opencode, &[step("tool-calls")]);
    dropped(&losses, "step_finish", 1);
    let (_, losses) = to_contract(DialectName::Opencode, &[step("stop"), error]);
    dropped(&losses, "step_finish", 2);
    let (_, losses) = to_contract(DialectName::Opencode, &[step("length"), step("stop")]);
    dropped(&losses, "step_finish.part.reason", 2);
}

#[test]
fn messages_of_other_roles_are_not_part_of_the_answer() {
    let message = |role: &str| json!({ "type": "message", "timestamp": "", "role": role, "content": role });
    let (events, losses) =
        to_contract(DialectName::Gemini, &[message("user"), message("assistant"), message("tool")]);
    assert_eq!(texts(&events), ["assistant"]);
    dropped(&losses, "message/tool", 3);
}
