//! Complete lines: the names, the order and the absence of keys.

use ibeam_protocol::run::{Denial, McpServer, McpStatus};
use ibeam_protocol::{
    EventKind, KeySource, Limits, PermissionMode, Reason, RunOutcome, RunTotals, ToolOutcome, Usage,
};
use serde_json::{Value, json};

use crate::golden::{fallback_of_a_run, models_of_a_run};
use crate::run_events::{self, RunEvents, run_started};

fn totals() -> RunTotals {
    RunTotals {
        turns: 2,
        api_ms: 4000,
        usage: Some(Usage { input: 11, output: 22, cache_read: 33, cache_write: 44, ..Usage::default() }),
        denials: vec![Denial { call_id: "toolu_9".into(), tool: "shell".into(), rule: "default".into() }],
        failed_tool_calls: 1,
        files_changed: vec!["/p/a.txt".into()],
        retries: 3,
        continuations: 2,
        compactions: 0,
        cost_micros: Some(12_500),
        fallbacks: fallback_of_a_run(),
        models: models_of_a_run(),
        tool_calls: 4,
        background_stopped: 0,
        background_ended: Vec::new(),
        unsynced: false,
        effort_used: None,
        request_id: Some("req_1".into()),
    }
}

const SUMMARY: &str = r#""ibeam":{"turns":2,"api_ms":4000,"cost_usd":0.0125,"permission_denials":[{"call_id":"toolu_9","tool":"shell","rule":"default"}],"failed_tool_calls":1,"files_changed":["/p/a.txt"],"retries":3,"continuations":2,"compactions":0,"tool_calls":4,"background_stopped":0,"final":"ab","models":[{"model":"anthropic/claude-sonnet-4-5","requests":2,"failed_requests":3,"uncounted_requests":1,"usage":{"inputTokens":11,"outputTokens":22,"cacheReadTokens":33,"cacheWriteTokens":44,"reasoningTokens":5},"cost_usd":0.0125,"cost_by_class":{"input_usd":0.000033,"output_usd":0.00033,"cache_read_usd":9.9e-6,"cache_write_usd":0.000165,"reasoning_usd":0.000075}},{"model":"openai/gpt-5","requests":0,"failed_requests":1}],"fallbacks":[{"from_model":"anthropic/claude-sonnet-4-5","to_model":"openai/gpt-5","code":"rate_limited","message":"`anthropic` limits the rate of requests: slow down"}]}"#;

#[test]
fn init_has_the_published_keys_before_the_additions() {
    assert_eq!(
        run_events::stream_json(&RunEvents::new().events),
        concat!(
            r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/Users/user/project","#,
            r#""session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","model":"Claude 4 Sonnet","#,
            r#""permissionMode":"default","tools":["read","write"],"mcp_servers":[],"#,
            r#""ibeam":{"version":"0.1.0","contract":"1","api_key":"login","#,
            r#""sandbox":{"mode":"off","layers":[],"network":true,"#,
            r#""reason":"commands are confined by permission rules only"},"#,
            r#""limits":{"max_turns":100}}}"#,
            "\n"
        )
    );
}

#[track_caller]
fn check_init(change: impl FnOnce(&mut ibeam_protocol::RunStarted), pointer: &str, expect: Value) {
    let mut head = run_started();
    change(&mut head);
    let line: Value =
        serde_json::from_str(&run_events::stream_json(&RunEvents::from_start(head).events)).unwrap();
    assert_eq!(line.pointer(pointer), Some(&expect));
}

#[test]
fn a_model_without_a_key_has_the_published_source_env_and_the_added_source_none() {
    check_init(|head| head.key_source = KeySource::None, "/apiKeySource", json!("env"));
    check_init(|head| head.key_source = KeySource::None, "/ibeam/api_key", json!("none"));
}

#[test]
fn every_key_source_has_its_value() {
    check_init(|head| head.key_source = KeySource::Env, "/apiKeySource", json!("env"));
    check_init(|head| head.key_source = KeySource::Env, "/ibeam/api_key", json!("env"));
    check_init(|head| head.key_source = KeySource::Flag, "/apiKeySource", json!("flag"));
    check_init(|head| head.key_source = KeySource::Flag, "/ibeam/api_key", json!("flag"));
}

#[test]
fn every_permission_mode_has_its_value() {
    check_init(|head| head.permission_mode = PermissionMode::Force, "/permissionMode", json!("force"));
    check_init(|head| head.permission_mode = PermissionMode::Plan, "/permissionMode", json!("plan"));
    check_init(|head| head.permission_mode = PermissionMode::Ask, "/permissionMode", json!("ask"));
}

#[test]
fn limits_contain_a_timeout_if_there_is_one() {
    check_init(
        |head| head.limits = Limits { max_turns: 5, timeout_ms: Some(60_000), ..Limits::NONE },
        "/ibeam/limits",
        json!({"max_turns": 5, "timeout_ms": 60_000}),
    );
}

#[test]
fn piped_context_is_a_second_block_of_the_user_line() {
    let content = vec!["explain".into(), "line 1\nline 2".into()];
    let lines = run_events::lines(
        &RunEvents::new().event(EventKind::UserMessage { content, attachments: Vec::new() }).events,
    );
    assert_eq!(
        lines[1],
        concat!(
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"explain"},"#,
            r#"{"type":"text","text":"line 1\nline 2"}]},"session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff"}"#
        )
    );
}

#[test]
fn a_delta_has_its_time() {
    let lines = run_events::lines(&RunEvents::new().text("hello").events);
    assert_eq!(
        lines[1],
        concat!(
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"hello"}]},"#,
            r#""session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","timestamp_ms":1001}"#
        )
    );
}

#[test]
fn a_call_has_its_request_and_time_after_the_published_keys() {
    let call = run_events::call("read", json!({"path": "a.txt"}));
    let lines = run_events::lines(&RunEvents::new().start_call(&call).events);
    assert_eq!(
        lines[1],
        concat!(
            r#"{"type":"tool_call","subtype":"started","call_id":"toolu_1","#,
            r#""tool_call":{"readToolCall":{"args":{"path":"a.txt"}}},"#,
            r#""session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","model_call_id":"m1","timestamp_ms":1001}"#
        )
    );
}

#[test]
fn the_terminal_line_ends_with_usage_and_ibeam() {
    let lines =
        run_events::lines(&RunEvents::new().text("a").text("b").finish(RunOutcome::Completed, totals()));
    let expect = concat!(
        r#"{"type":"result","subtype":"success","duration_ms":5234,"duration_api_ms":5234,"is_error":false,"#,
        r#""result":"ab","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","request_id":"req_1","#,
        r#""usage":{"inputTokens":11,"outputTokens":22,"cacheReadTokens":33,"cacheWriteTokens":44},"#
    );
    assert_eq!(lines.last().unwrap(), &format!("{expect}{SUMMARY}}}"));
}

#[test]
fn the_json_object_has_its_own_order() {
    let events = RunEvents::new().text("a").text("b").finish(RunOutcome::Completed, totals());
    let expect = concat!(
        r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":5234,"duration_api_ms":5234,"#,
        r#""result":"ab","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","request_id":"req_1","#,
        r#""usage":{"inputTokens":11,"outputTokens":22,"cacheReadTokens":33,"cacheWriteTokens":44},"#
    );
    assert_eq!(run_events::json(&events), format!("{expect}{SUMMARY}}}\n"));
}

#[test]
fn the_final_message_is_the_text_after_the_last_call() {
    let call = || run_events::call("read", json!({ "path": "a" }));
    let run = |text: &str| {
        let events = RunEvents::new().user("go").text("Looking.").start_call(&call());
        events.finish_call(&call(), ToolOutcome::error("no")).text(text).text(text)
    };
    for (text, expect) in [("It. ", "It. It. "), ("", "")] {
        let last = run_events::lines(&run(text).completed()).pop().unwrap();
        for printed in [last, run_events::json(&run(text).completed())] {
            let printed: Value = serde_json::from_str(&printed).unwrap();
            assert_eq!(printed["ibeam"]["final"], expect, "{printed}");
            assert_eq!(printed["result"], format!("Looking.{expect}"));
        }
    }
    let failed = run_events::lines(&run("It. ").failed(Reason::Refused)).pop().unwrap();
    assert!(!failed.contains(r#""final""#), "{failed}");
}

#[test]
fn values_that_the_provider_does_not_send_are_absent() {
    let summary = r#""ibeam":{"turns":0,"api_ms":0,"permission_denials":[],"failed_tool_calls":0,"files_changed":[],"retries":0,"compactions":0,"tool_calls":0,"background_stopped":0,"final":""}}"#;
    let lines = run_events::lines(&RunEvents::new().completed());
    let head = concat!(
        r#"{"type":"result","subtype":"success","duration_ms":5234,"duration_api_ms":5234,"is_error":false,"#,
        r#""result":"","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","#
    );
    assert_eq!(lines[1], format!("{head}{summary}"));
}

#[test]
fn init_lists_the_mcp_servers_with_their_status() {
    let server = |name: &str, status| McpServer { name: name.to_owned(), status };
    check_init(
        |head| {
            head.mcp_servers = vec![
                server("a", McpStatus::Connected),
                server("b", McpStatus::Failed),
                server("c", McpStatus::Untrusted),
                server("d", McpStatus::Unsupported),
                server("e", McpStatus::Disabled),
            ];
        },
        "/mcp_servers",
        json!([
            { "name": "a", "status": "connected" },
            { "name": "b", "status": "failed" },
            { "name": "c", "status": "untrusted" },
            { "name": "d", "status": "unsupported" },
            { "name": "e", "status": "disabled" },
        ]),
    );
}
