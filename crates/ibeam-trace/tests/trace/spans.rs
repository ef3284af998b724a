//! The spans of `otlp`.

use ibeam_protocol::{EventKind, Reason, RunOutcome, ToolOutcome, ToolOutput};
use ibeam_trace::{OtlpOptions, OtlpSpans, SpanId, TraceContext, TraceId};
use serde_json::{Value, json};

use crate::recorded::{self, Recorded};

/// Returns the spans of a request, the span of the run last.
#[track_caller]
fn spans(run: &Recorded, options: OtlpOptions) -> Vec<Value> {
    let mut spans = OtlpSpans::new(options);
    run.events.iter().for_each(|event| spans.push(event));
    let request = spans.finish();
    assert!(spans.is_empty());
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

/// Returns the value of an attribute of a span; null without it.
fn attribute(span: &Value, key: &str) -> Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    found
        .map(|found| found["value"].as_object().unwrap().values().next().unwrap().clone())
        .unwrap_or_default()
}

fn run() -> Recorded {
    let read = recorded::call("c1", "read", json!({ "path": "secret.txt" }));
    let shell = recorded::call("c2", "shell", json!({ "command": "rm x" }));
    Recorded::new()
        .prompt("look at it")
        .text("I look.")
        .answer("m1", "I look.", &[read.clone(), shell.clone()])
        .call("m1", &read, recorded::success(ToolOutput::Other(json!({})), "the content"))
        .call("m1", &shell, ToolOutcome::Rejected { reason: "no".into() })
        .answer("m2", "Done.", &[])
        .completed()
}

#[test]
fn a_run_is_a_tree_of_spans_with_the_names_of_the_conventions() {
    let spans = spans(&run(), OtlpOptions::default());
    let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    let chat = "chat claude-sonnet-4";
    assert_eq!(names, [chat, "execute_tool read", "execute_tool shell", chat, "invoke_agent ibeam"]);
    let root = spans.last().unwrap();
    assert_eq!(root["parentSpanId"], Value::Null);
    for span in &spans {
        assert_eq!(span["traceId"], root["traceId"]);
        assert_eq!(
            (span["traceId"].as_str().unwrap().len(), span["spanId"].as_str().unwrap().len()),
            (32, 16)
        );
        let nanoseconds = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nanoseconds("startTimeUnixNano") <= nanoseconds("endTimeUnixNano"));
    }
    assert!(spans[..4].iter().all(|span| span["parentSpanId"] == root["spanId"]));
    for (span, key, expect) in [
        (0, "gen_ai.operation.name", json!("chat")),
        (0, "gen_ai.provider.name", json!("anthropic")),
        (0, "gen_ai.request.model", json!("claude-sonnet-4")),
        (0, "gen_ai.conversation.id", json!(recorded::SESSION)),
        (0, "gen_ai.response.id", json!("req-m1")),
        (0, "gen_ai.response.finish_reasons", json!({ "values": [{ "stringValue": "tool_call" }] })),
        (0, "gen_ai.usage.input_tokens", json!("35")),
        (0, "gen_ai.usage.output_tokens", json!("3")),
        (0, "gen_ai.usage.cache_read.input_tokens", json!("20")),
        (0, "ibeam.cost_usd", json!(0.00125)),
        (1, "gen_ai.operation.name", json!("execute_tool")),
        (1, "gen_ai.tool.name", json!("read")),
        (1, "gen_ai.tool.call.id", json!("c1")),
        (1, "error.type", Value::Null),
        (2, "error.type", json!("rejected")),
        (4, "gen_ai.operation.name", json!("invoke_agent")),
        (4, "gen_ai.agent.name", json!("ibeam")),
        (4, "gen_ai.usage.output_tokens", json!("6")),
    ] {
        assert_eq!(attribute(&spans[span], key), expect, "{key}");
    }
    let length = |span: &Value| {
        let at = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        at("endTimeUnixNano") - at("startTimeUnixNano")
    };
    assert_eq!((length(&spans[0]), length(&spans[1])), (50_000_000, 100_000_000));
    assert_eq!((&spans[1]["status"], &spans[2]["status"]["code"]), (&Value::Null, &json!(2)));
}

#[test]
fn texts_of_the_session_are_in_spans_only_on_request() {
    let without = spans(&run(), OtlpOptions::default());
    let text = serde_json::to_string(&without).unwrap();
    for content in ["look at it", "I look.", "secret.txt", "rm x", "the content", "Done."] {
        assert!(!text.contains(content), "{content} is in {text}");
    }
    let with = spans(&run(), OtlpOptions { has_content: true, ..OtlpOptions::default() });
    let messages = |span: &Value, key: &str| -> Value {
        serde_json::from_str(attribute(span, key).as_str().unwrap()).unwrap()
    };
    assert_eq!(
        messages(&with[0], "gen_ai.input.messages"),
        json!([{ "role": "user", "parts": [{ "type": "text", "content": "look at it" }] }])
    );
    assert_eq!(
        messages(&with[0], "gen_ai.output.messages"),
        json!([{ "role": "assistant", "finish_reason": "tool_call", "parts": [
            { "type": "text", "content": "I look." },
            { "type": "tool_call", "id": "c1", "name": "read", "arguments": { "path": "secret.txt" } },
            { "type": "tool_call", "id": "c2", "name": "shell", "arguments": { "command": "rm x" } },
        ] }])
    );
    let response = json!({ "type": "tool_call_response", "id": "c1", "response": "the content" });
    assert_eq!(
        messages(&with[3], "gen_ai.input.messages")[0],
        json!({ "role": "tool", "parts": [response] })
    );
    assert_eq!(attribute(&with[1], "gen_ai.tool.call.result"), "the content");
}

/// The model may write anything where the name and the ID of a call belong.
#[test]
fn what_the_model_invents_as_names_and_ids_of_calls_is_content() {
    let invented = recorded::call("the secret id", "the secret name", json!({}));
    let run = Recorded::new()
        .prompt("x")
        .answer("m1", "", std::slice::from_ref(&invented))
        .call("m1", &invented, ToolOutcome::Rejected { reason: "no".into() })
        .completed();
    let without = spans(&run, OtlpOptions::default());
    assert!(!serde_json::to_string(&without).unwrap().contains("secret"), "{without:?}");
    let call = without.iter().find(|span| span["name"] == "execute_tool _OTHER").unwrap();
    assert_eq!(attribute(call, "gen_ai.tool.name"), "_OTHER");
    let with = spans(&run, OtlpOptions { has_content: true, ..OtlpOptions::default() });
    assert!(with.iter().any(|span| span["name"] == "execute_tool the secret name"), "{with:?}");
}

#[test]
fn a_run_belongs_to_the_trace_of_its_caller() {
    let caller = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    let spans = spans(&run(), OtlpOptions { context: Some(caller), ..OtlpOptions::default() });
    let root = spans.last().unwrap();
    assert_eq!(root["parentSpanId"], "b7ad6b7169203331");
    assert!(spans.iter().all(|span| span["traceId"] == "0af7651916cd43dd8448eb211c80319c"));
}

#[test]
fn an_invalid_traceparent_is_ignored() {
    let parse = |text: &str| TraceContext::parse(text).map(|context| context.is_sampled);
    assert_eq!(parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"), Some(false));
    assert_eq!(parse("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"), Some(true));
    for invalid in [
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01",
    ] {
        assert_eq!(parse(invalid), None, "{invalid}");
    }
    let trace = TraceId::derive("session", 5);
    let span = SpanId::for_run(trace, "session", (5, 0));
    let context = TraceContext::parse(&span.traceparent(trace)).unwrap();
    assert_eq!((context.trace, context.parent), (trace, Some(span)));
}

#[test]
fn failures_and_missing_ends_are_errors() {
    let call = recorded::call("c1", "read", json!({}));
    let reason = Reason::ProviderFailed { provider: "p".into(), detail: "secret detail".into() };
    let failed = Recorded::new()
        .prompt("x")
        .event(EventKind::ModelRequestFailed { reason: Box::new(reason.clone()), usage: None })
        .finish(RunOutcome::Failed(reason.into()));
    let failed = spans(&failed, OtlpOptions::default());
    for span in &failed {
        assert_eq!((attribute(span, "error.type"), &span["status"]["code"]), (json!("provider"), &json!(2)));
    }
    assert!(!serde_json::to_string(&failed).unwrap().contains("secret detail"));
    let killed = spans(&Recorded::new().prompt("x").start_call("m", &call), OtlpOptions::default());
    assert_eq!(
        killed.iter().map(|span| attribute(span, "error.type")).collect::<Vec<_>>(),
        ["incomplete"; 2]
    );
}

#[test]
fn a_second_export_has_the_same_ids() {
    let ids = |spans: Vec<Value>| spans.iter().map(|span| span["spanId"].clone()).collect::<Vec<_>>();
    let first = ids(spans(&run(), OtlpOptions::default()));
    assert_eq!(first, ids(spans(&run(), OtlpOptions::default())));
    let different: std::collections::BTreeSet<_> = first.iter().map(Value::to_string).collect();
    assert_eq!(different.len(), first.len());
}

/// Returns the ids of spans without repetitions, and the number of spans.
fn different_ids(spans: &[Value]) -> (usize, usize) {
    let ids: std::collections::BTreeSet<_> = spans.iter().map(|span| span["spanId"].to_string()).collect();
    (ids.len(), spans.len())
}

fn milliseconds(span: &Value) -> (u64, u64) {
    let at = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap() / 1_000_000;
    (at("startTimeUnixNano"), at("endTimeUnixNano"))
}

#[test]
fn the_first_events_of_a_stream_without_a_time_do_not_begin_in_1970() {
    let mut stream = run();
    let (first_call, last) = (4, stream.events.len() - 1);
    // A stream has times from its first answer on; its end has a duration only.
    stream.events[..=first_call].iter_mut().for_each(|event| event.at_ms = 0);
    let last_ms = stream.events[last - 1].at_ms;
    stream.events[last].at_ms = last_ms;
    let spans = spans(&stream, OtlpOptions::default());
    let root = spans.last().unwrap();
    assert_eq!(milliseconds(root), (last_ms - 5234, last_ms));
    let call = spans.iter().find(|span| span["name"] == "execute_tool read").unwrap();
    assert_eq!(milliseconds(call).0, stream.events[first_call + 1].at_ms);
}

#[test]
fn the_runs_of_a_stream_without_times_have_their_duration_and_different_ids() {
    let mut stream = run();
    stream.events.extend(run().events);
    for (seq, event) in stream.events.iter_mut().enumerate() {
        (event.seq, event.at_ms) = (seq as u64, 0);
    }
    let spans = spans(&stream, OtlpOptions::default());
    assert_eq!(different_ids(&spans), (10, 10));
    assert_eq!(milliseconds(spans.last().unwrap()), (0, 5234));
}
