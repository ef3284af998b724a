//! Trajectories in the format ATIF, written and read.

use ibeam_output::EventWriter as _;
use ibeam_protocol::{Block, Event, EventKind, ToolOutcome, ToolOutput};
use ibeam_trace::{AtifHistory, AtifWriter};
use serde_json::{Value, json};

use crate::recorded::{self, Recorded};

fn trajectory(events: &[Event]) -> Value {
    let mut bytes = Vec::new();
    let mut writer = AtifWriter::new(&mut bytes);
    events.iter().for_each(|event| writer.write(event).unwrap());
    writer.end_document().unwrap();
    drop(writer);
    serde_json::from_slice(&bytes).unwrap()
}

/// Returns a run with two requests, two calls and their results.
fn run() -> Recorded {
    let read = recorded::call("c1", "read", json!({ "path": "a" }));
    let shell = recorded::call("c2", "shell", json!({ "command": "rm x" }));
    Recorded::new()
        .prompt("look at it")
        .text("I look.")
        .answer("m1", "I look.", &[read.clone(), shell.clone()])
        .call("m1", &read, recorded::success(ToolOutput::Other(json!({})), "the content"))
        .call("m1", &shell, ToolOutcome::Rejected { reason: "no".into() })
        .text("Done.")
        .answer("m2", "Done.", &[])
        .completed()
}

#[test]
fn a_session_is_a_trajectory_with_a_step_for_each_prompt_and_request() {
    let trajectory = trajectory(&run().events);
    assert_eq!(trajectory["schema_version"], "ATIF-v1.8");
    assert_eq!(trajectory["session_id"], recorded::SESSION);
    assert_eq!(trajectory["agent"]["model_name"], "anthropic/claude-sonnet-4");
    let steps = trajectory["steps"].as_array().unwrap();
    let outline: Vec<_> = steps
        .iter()
        .map(|step| (step["step_id"].as_u64().unwrap(), &step["source"], &step["message"]))
        .collect();
    let texts = ["user", "look at it", "agent", "I look.", "agent", "Done."].map(Value::from);
    assert_eq!(outline, [(1, &texts[0], &texts[1]), (2, &texts[2], &texts[3]), (3, &texts[4], &texts[5])]);
    assert_eq!(
        steps[1]["tool_calls"][0],
        json!({ "tool_call_id": "c1", "function_name": "read", "arguments": { "path": "a" } })
    );
    assert_eq!(
        steps[1]["observation"]["results"],
        json!([
            { "source_call_id": "c1", "content": "the content" },
            { "source_call_id": "c2", "content": "no", "extra": { "status": "rejected" } },
        ])
    );
    assert_eq!(
        steps[1]["metrics"],
        json!({ "prompt_tokens": 35, "completion_tokens": 3, "cached_tokens": 20, "cost_usd": 0.00125 })
    );
    assert_eq!(steps[0]["timestamp"], "2023-11-14T22:13:20.1Z");
    assert_eq!(
        trajectory["final_metrics"],
        json!({ "total_steps": 3, "total_prompt_tokens": 70, "total_completion_tokens": 6,
                "total_cached_tokens": 40, "total_cost_usd": 0.0025 })
    );
}

#[test]
fn a_stream_without_model_requests_has_the_same_steps() {
    let is_in_stream = |event: &&Event| !matches!(event.kind, EventKind::ModelRequestFinished { .. });
    let events: Vec<_> = run().events.iter().filter(is_in_stream).cloned().collect();
    let steps = trajectory(&events)["steps"].clone();
    let messages: Vec<_> = steps.as_array().unwrap().iter().map(|step| step["message"].clone()).collect();
    assert_eq!(messages, ["look at it", "I look.", "Done."]);
    assert_eq!(steps[1]["tool_calls"].as_array().unwrap().len(), 2);
    assert_eq!(steps[1]["observation"]["results"].as_array().unwrap().len(), 2);
}

#[test]
fn a_trajectory_that_was_written_is_read_as_the_same_conversation() {
    let history = AtifHistory::parse(&trajectory(&run().events).to_string()).unwrap();
    let outline: Vec<String> = history
        .events
        .iter()
        .map(|event| match event {
            EventKind::UserMessage { content, .. } => format!("user {}", content.join("|")),
            EventKind::ModelRequestFinished { answer, .. } => {
                let blocks = answer.blocks.iter().map(|block| match block {
                    Block::Text(text) => text.clone(),
                    Block::ToolCall(call) => format!("{}({})", call.name, call.arguments),
                    other => panic!("{other:?}"),
                });
                format!("agent {}", blocks.collect::<Vec<_>>().join("|"))
            }
            EventKind::ToolCallStarted { call, .. } => format!("start {}", call.id.as_str()),
            EventKind::ToolCallFinished { call, outcome, .. } => {
                format!("end {} {}", call.id.as_str(), outcome.for_model())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        outline,
        [
            "user look at it",
            "agent I look.|read({\"path\":\"a\"})|shell({\"command\":\"rm x\"})",
            "start c1",
            "end c1 the content",
            "start c2",
            "end c2 no",
            "agent Done.",
        ]
    );
    assert_eq!((history.agent.as_str(), history.steps), ("ibeam 0.1.0", 3));
}

#[test]
fn results_without_ids_and_calls_without_results_are_read() {
    let trajectory = json!({
        "schema_version": "ATIF-v1.6",
        "agent": { "name": "other", "version": "2", "model_name": "m" },
        "steps": [
            { "step_id": 1, "source": "system", "message": "You are another agent." },
            { "step_id": 2, "source": "user", "message": [
                { "type": "text", "text": "see" },
                { "type": "image", "source": { "media_type": "image/png", "path": "a.png" } },
            ] },
            { "step_id": 3, "source": "agent", "message": "", "reasoning_content": "hm", "tool_calls": [
                { "tool_call_id": "a", "function_name": "keys", "arguments": { "keys": "ls\n" } },
                { "tool_call_id": "b", "function_name": "keys", "arguments": {} },
            ], "observation": { "results": [{ "content": "x y" }] } },
            { "step_id": 4, "source": "agent", "message": "ok", "observation": { "results": [{ "content": "late" }] } },
        ],
    });
    let history = AtifHistory::parse(&trajectory.to_string()).unwrap();
    assert_eq!((history.steps, history.system_steps, history.model.as_str()), (3, 1, "m"));
    let outcomes: Vec<_> = history
        .events
        .iter()
        .filter_map(|event| match event {
            EventKind::ToolCallFinished { outcome, .. } => {
                Some((outcome.is_error(), outcome.for_model().to_string()))
            }
            _ => None,
        })
        .collect();
    let missing = "The trajectory has no result of this call.".to_owned();
    assert_eq!(outcomes, [(true, missing), (false, "x y".to_owned())]);
    let texts: Vec<_> = history
        .events
        .iter()
        .filter_map(|event| match event {
            EventKind::UserMessage { content, .. } => Some(content.join("|")),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["see\n[image: a.png]", "late"]);
}

#[test]
fn documents_that_are_no_trajectories_are_errors() {
    let agent = json!({ "name": "a", "version": "1" });
    let call = json!({ "tool_call_id": "a", "function_name": "f", "arguments": {} });
    for (document, expect) in [
        ("{".to_owned(), "EOF"),
        (json!({ "schema_version": "ATIF-v2.0", "agent": agent, "steps": [] }).to_string(), "ATIF-v2.0"),
        (json!({ "schema_version": "ATIF-v1.8", "agent": agent, "steps": [] }).to_string(), "no step"),
        (
            json!({ "schema_version": "ATIF-v1.8", "steps": [{ "source": "robot", "message": "" }] })
                .to_string(),
            "step 1: `source` is `robot`",
        ),
        (
            json!({ "schema_version": "ATIF-v1.8", "steps": [
                { "source": "agent", "message": "", "tool_calls": [call, call] },
            ] })
            .to_string(),
            "step 1: the id `a`",
        ),
    ] {
        let error = AtifHistory::parse(&document).unwrap_err().to_string();
        assert!(error.contains(expect), "{expect}: {error}");
    }
}
