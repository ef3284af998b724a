//! Complete and well-formed answers with wrong content.

use ibeam_protocol::{StopReason, Usage};
use ibeam_testkit::scene::{Scene, WIRES, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, Wire};
use serde_json::{Value, json};

use super::raw_server::{block, chunk, end, start};
use super::{
    FAST_RETRIES, expect_failure, expect_failure_on_both_wires, expect_success, expect_success_on_both_wires,
    workspace_with_config,
};

#[test]
fn f048_a_call_that_the_output_limit_cut_is_not_executed() {
    let cut = || {
        let arguments = r#"{"path": "made.txt", "fileText": "hal"#;
        Answer::new().text("I write. ").call_as_written("t", "write", arguments).stop(StopReason::MaxTokens)
    };
    for (scene, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![cut(), answer_text("done")]) {
        assert_eq!(scene.workspace.read("made.txt"), None, "{output}");
        let transcript = scene.server.requests()[1].transcript().join("\n");
        assert!(transcript.contains("cut off by the output limit"), "{transcript}");
    }
}

/// A complete call of a cut answer may depend on calls that are missing.
#[test]
fn f048_a_complete_call_of_a_cut_answer_is_not_executed_either() {
    let cut = || {
        let complete = answer_call("t", "write", &json!({ "path": "made.txt", "fileText": "complete" }));
        complete.stop(StopReason::MaxTokens)
    };
    for (scene, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![cut(), answer_text("done")]) {
        assert_eq!(scene.workspace.read("made.txt"), None, "{output}");
        let transcript = scene.server.requests()[1].transcript().join("\n");
        assert!(transcript.contains("not executed"), "{transcript}");
    }
}

#[test]
fn f049_no_arguments_are_enough_only_where_none_are_required() {
    for (tool, key) in [("ls", "success"), ("read", "error")] {
        let answers = || vec![Answer::new().call_as_written("t", tool, ""), answer_text("done")];
        for (_, output) in expect_success_on_both_wires(FAST_RETRIES, answers) {
            let stream = output.stream();
            let (_, body) = stream.completed()[0];
            assert!(body["result"].get(key).is_some(), "{tool}: {output}");
        }
    }
}

#[test]
fn f050_an_unknown_tool_is_named_to_the_model() {
    for (scene, output) in expect_success_on_both_wires(FAST_RETRIES, || {
        vec![answer_call("t", "teleport", &json!({})), answer_text("done")]
    }) {
        let result = &scene.server.requests()[1].transcript()[2];
        assert!(result.contains("teleport") && !result.contains("update_todos"), "{result}; {output}");
    }
}

#[test]
fn f051_of_two_calls_with_one_id_only_the_first_is_executed() {
    let twice = || {
        let write = |name: &str| json!({ "path": name, "fileText": "x" });
        Answer::new().call("same", "write", &write("first")).call("same", "write", &write("second"))
    };
    for (scene, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![twice(), answer_text("done")]) {
        assert!(
            scene.workspace.read("first").is_some() && scene.workspace.read("second").is_none(),
            "{output}"
        );
        let stream = output.stream();
        let results: Vec<bool> =
            stream.completed().iter().map(|(_, body)| body["result"].get("success").is_some()).collect();
        assert_eq!(results, [true, false], "{output}");
        let transcript = scene.server.requests()[1].body.to_string();
        assert!(transcript.contains("has the id `same` too"), "{transcript}");
    }
}

#[test]
fn f052_a_call_without_an_id_gets_one_that_does_not_change() {
    let call = json!({ "type": "tool_use", "name": "ls", "input": { "path": "." } });
    let anthropic = start() + &block(0, &call, &[]) + &end("tool_use");
    let function = json!({ "name": "ls", "arguments": "{\"path\":\".\"}" });
    let openai = chunk(&json!({ "tool_calls": [{ "index": 0, "function": function }] }), None)
        + &chunk(&json!({}), Some("tool_calls"));
    for (wire, body) in [(Wire::Anthropic, anthropic), (Wire::OpenAi, openai)] {
        let scene = Scene::with_wire(wire, [Answer::status(200, body), answer_text("done")])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        let stream = output.stream();
        let id = stream.events[2]["call_id"].as_str().unwrap();
        assert!(!id.is_empty(), "{output}");
        let events = journal(&scene, stream.session_id());
        let recorded: Vec<&Value> = events
            .iter()
            .flat_map(|event| {
                ["tool_call_started", "tool_call_finished"].map(|kind| &event["kind"][kind]["call"]["id"])
            })
            .filter(|id| !id.is_null())
            .collect();
        assert_eq!(recorded, [id, id], "{output}");
        // The next run sends the same conversation again.
        let scene = scene.with_answers([answer_text("again")]);
        scene.print(["--continue"]).run().succeeded();
        assert!(scene.server.requests()[0].body["messages"].to_string().contains(id), "{output}");
    }
}

#[test]
fn f053_the_results_of_256_calls_are_in_the_order_of_the_calls() {
    let many = || {
        (0..256).fold(Answer::new(), |answer, number| {
            answer.call(&format!("t{number}"), "read", &json!({ "path": format!("f{number}") }))
        })
    };
    for wire in WIRES {
        let workspace = (0..256).fold(workspace_with_config(FAST_RETRIES), |workspace, number| {
            workspace.file(&format!("f{number}"), format!("content {number}\n"))
        });
        let scene = Scene::with_wire(wire, [many(), answer_text("done")]).with_workspace(workspace);
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!(output.stream().completed().len(), 256);
        let transcript = scene.server.requests()[1].transcript();
        let results: Vec<&String> = transcript.iter().filter(|line| line.starts_with("result ")).collect();
        assert_eq!(results.len(), 256);
        for (number, result) in results.iter().enumerate() {
            assert!(result.contains(&format!("content {number}")), "{number}: {result}");
        }
        // At most eight calls run at the same time.
        let mut running = 0_i32;
        for line in output.stream().outline() {
            running += i32::from(line == "started read") - i32::from(line == "completed read");
            assert!(running <= 8, "{running} at once");
        }
    }
}

#[test]
fn f054_a_call_that_is_repeated_without_end_ends_the_run() {
    let repeated =
        || (0..20).map(|number| answer_call(&format!("t{number}"), "ls", &json!({ "path": "." }))).collect();
    expect_failure_on_both_wires(30, FAST_RETRIES, repeated);
    let scene = Scene::new(repeated());
    let output = scene.print::<&str>([]).run();
    assert_eq!(scene.server.requests().len(), 10, "{output}");
    let transcript = scene.server.requests()[5].transcript().join("\n");
    assert!(transcript.contains("5 times with the same arguments"), "{transcript}");
}

/// The model has not received the first result when it requests the last call.
#[test]
fn f054_the_same_call_ten_times_in_one_answer_is_not_a_loop() {
    let ten = || {
        (0..10).fold(Answer::new(), |answer, number| {
            answer.call(&format!("t{number}"), "ls", &json!({ "path": "." }))
        })
    };
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![ten(), answer_text("done")]) {
        assert_eq!(output.stream().completed().len(), 10, "{output}");
        assert!(output.stderr_lines("warning: ").is_empty(), "{output}");
    }
}

#[test]
fn f049_invalid_json_arguments_in_three_answers_in_a_row_end_the_run() {
    let broken = |number: usize| {
        let arguments = format!("{{\"path\": \"f{number}");
        Answer::new().call_as_written(&format!("t{number}"), "read", &arguments)
    };
    for wire in WIRES {
        let output = expect_failure(30, || {
            let scene = Scene::with_wire(wire, (0..10).map(broken));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        });
        assert!(output.stderr.contains("`read` were not valid JSON in 3 answers in a row"), "{output}");
        assert_eq!(output.stream().completed().len(), 3, "{output}");
        assert_eq!(output.stream().last()["ibeam"]["turns"], 3, "{output}");
    }
    let answers =
        || vec![broken(1), broken(2), answer_call("t3", "ls", &json!({ "path": "." })), answer_text("done")];
    expect_success_on_both_wires(FAST_RETRIES, answers);
}

#[test]
fn f055_different_calls_without_end_reach_the_turn_limit() {
    let other = || {
        (0..20)
            .map(|number| answer_call(&format!("t{number}"), "ls", &json!({ "path": format!("d{number}") })))
    };
    for wire in WIRES {
        let output = expect_failure(30, || {
            let scene = Scene::with_wire(wire, other());
            let ibeam = scene.print(["--max-turns", "5"]);
            (scene, ibeam)
        });
        assert_eq!(output.stream().last()["code"], "limit", "{output}");
    }
}

#[test]
fn f056_two_empty_answers_are_a_failure() {
    let output = expect_failure_on_both_wires(31, FAST_RETRIES, || vec![Answer::new(); 8]);
    assert_eq!(output.stream().last()["code"], "empty", "{output}");
}

#[test]
fn f056_an_empty_answer_is_requested_again() {
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, || vec![Answer::new(), answer_text("here")])
    {
        assert_eq!(output.stream().last()["result"], "here", "{output}");
    }
}

#[test]
fn f058_an_answer_that_the_service_paused_is_sent_back_and_completed() {
    let paused = || answer_text("one ").stop(StopReason::Paused);
    for (scene, output) in
        expect_success_on_both_wires(FAST_RETRIES, || vec![paused(), paused(), answer_text("two")])
    {
        assert_eq!(output.stream().last()["result"], "one one two", "{output}");
        assert_eq!(output.stderr_lines("warning: ").len(), 2, "{output}");
        let sent = scene.server.requests()[1].transcript();
        assert_eq!(sent[1], "assistant: one ", "{sent:?}");
    }
}

#[test]
fn f058_an_answer_that_is_paused_without_end_is_not_a_success() {
    let output = expect_failure_on_both_wires(30, FAST_RETRIES, || {
        vec![answer_text("x").stop(StopReason::Paused); 20]
    });
    assert_eq!(output.stream().last()["result"], "x".repeat(10), "{output}");
}

/// Stop reasons of services for an answer that they could not complete, before and after its text.
#[test]
fn f058_an_answer_that_the_service_aborted_is_requested_again_or_continued() {
    for reason in ["error", "insufficient_system_resource", "network_error", "abort"] {
        let aborted = |answer: Answer| answer.stop(StopReason::Unknown(reason.to_owned()));
        let answers = [aborted(Answer::new()), aborted(answer_text("half ")), answer_text("rest")];
        let scene =
            Scene::with_wire(Wire::OpenAi, answers).with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!(output.stream().last()["result"], "half rest", "{reason}: {output}");
        assert_eq!(super::retries(&output), 1, "{reason}: {output}");
    }
}

#[test]
fn the_text_of_a_refusal_is_printed_on_stderr() {
    let declines = || answer_text("I cannot help\nwith \u{1b}[31mthat.").stop(StopReason::Refusal);
    let output = expect_failure_on_both_wires(32, FAST_RETRIES, || vec![declines()]);
    let errors = output.stderr_lines("error: ");
    assert!(errors[0].contains("I cannot help with") && errors[0].ends_with("that"), "{output}");
    assert!(!output.stderr.contains('\u{1b}'), "{output}");
    assert!(output.stream().last()["message"].as_str().unwrap().contains("I cannot help"), "{output}");
}

/// Whether the model was done is not known, so the answer is continued once.
#[test]
fn f058_an_unknown_stop_reason_is_not_a_success() {
    let unknown = |text: &str| answer_text(text).stop(StopReason::Unknown("cosmic_ray".to_owned()));
    let answers = || vec![unknown("half "), answer_text("rest")];
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, answers) {
        assert_eq!(output.stream().last()["result"], "half rest", "{output}");
        let warnings = output.stderr_lines("warning: ");
        assert!(warnings.len() == 1 && warnings[0].contains("cosmic_ray"), "{output}");
    }
    let answers = || vec![unknown("half "), unknown("more")];
    let output = expect_failure_on_both_wires(25, FAST_RETRIES, answers);
    assert!(output.stderr_lines("error: ")[0].contains("cosmic_ray"), "{output}");
}

/// Complete calls are executed: the answer after them decides.
#[test]
fn f058_the_calls_of_an_answer_with_an_unknown_stop_reason_are_executed() {
    let unknown = StopReason::Unknown("cosmic_ray".to_owned());
    let call = answer_call("t", "ls", &json!({ "path": "." })).stop(unknown);
    let answers = || vec![call.clone(), answer_text("done")];
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, answers) {
        let warnings = output.stderr_lines("warning: ");
        assert!(warnings.len() == 1 && warnings[0].contains("cosmic_ray"), "{output}");
    }
}

/// A stop reason for calls without a call: the call was lost on the way.
#[test]
fn an_answer_whose_call_was_lost_is_continued_once() {
    let lost = || answer_text("I will read it. ").stop(StopReason::ToolUse);
    let answers = || vec![lost(), answer_text("Done.")];
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, answers) {
        assert_eq!(output.stream().last()["result"], "I will read it. Done.", "{output}");
    }
    expect_failure_on_both_wires(25, FAST_RETRIES, || vec![lost(), lost()]);
}

/// A stop reason that is printed is shortened and has no control characters.
#[test]
fn f058_a_stop_reason_cannot_control_the_terminal() {
    let unknown = || {
        answer_text("x").stop(StopReason::Unknown(format!("\u{1b}[31m{}\nerror: forged", "y".repeat(9999))))
    };
    let output = expect_failure_on_both_wires(25, FAST_RETRIES, || vec![unknown(), unknown()]);
    assert!(!output.stderr.contains('\u{1b}') && output.stderr.len() < 2000, "{output}");
}

#[test]
fn f061_impossible_usage_is_omitted() {
    let answer = |usage: Value| {
        let text = chunk(&json!({ "content": "ok" }), None) + &chunk(&json!({}), Some("stop"));
        let usage = json!({ "id": "c", "choices": [], "usage": usage });
        Answer::status(200, text + &format!("data: {usage}\n\ndata: [DONE]\n\n"))
    };
    for usage in [
        json!(null),
        json!({}),
        json!({ "prompt_tokens": -1, "completion_tokens": 5 }),
        json!({ "prompt_tokens": u64::MAX, "completion_tokens": u64::MAX }),
        json!({ "prompt_tokens": 1e300, "completion_tokens": 5 }),
        json!({ "prompt_tokens": "many", "completion_tokens": [] }),
    ] {
        let scene = Scene::with_wire(Wire::OpenAi, [answer(usage.clone())])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        let stream = output.stream();
        let last = stream.last();
        assert!(last.get("usage").is_none_or(Value::is_null), "{usage}: {output}");
    }
}

#[test]
fn f061_usage_beyond_every_model_is_omitted() {
    let usage = Usage { input: 1_000_000_000, output: 1_000_000_000, ..Usage::default() };
    let answers = || {
        vec![answer_call("t", "ls", &json!({ "path": "." })).usage(usage), answer_text("done").usage(usage)]
    };
    for (_, output) in expect_success_on_both_wires(FAST_RETRIES, answers) {
        assert!(output.stream().last().get("usage").is_none_or(Value::is_null), "{output}");
    }
}
