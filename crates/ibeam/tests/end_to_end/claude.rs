//! The stream of Claude Code as its clients read it: ids, modes, tokens and cost.

use ibeam_protocol::Usage;
use ibeam_testkit::{Answer, Finished, Stdin};
use serde_json::{Value, json};

use crate::dialect::{SDK, claude, events, prompt};
use crate::scene::{Scene, calls, says};

const LINES: [&str; 4] = ["-p", "--output-format", "stream-json", "--verbose"];
const MODEL: &str = "claude-sonnet-4-20250514";

fn with_usage(answer: Answer, input: u64, output: u64) -> Answer {
    answer.usage(Usage { input, output, cache_read: 3, cache_write: 0 })
}

fn results(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["type"] == "result").collect()
}

fn tokens(input: u64, cache_read: u64, output: u64) -> Value {
    json!({
        "input_tokens": input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cache_read,
        "output_tokens": output,
    })
}

#[test]
fn the_model_is_an_id_wherever_it_is_named() {
    let scene = Scene::new([calls("t1", "read", &json!({ "path": "a.txt" })), says("Done.")]);
    let ran =
        claude(&scene, &[&LINES[..], &["--include-partial-messages", "do it"]].concat()).run().succeeded();
    let lines = events(&ran);
    let pointers = ["/model", "/message/model", "/event/message/model"];
    let models: Vec<&str> =
        lines.iter().flat_map(|line| pointers.iter().filter_map(|at| line.pointer(at)?.as_str())).collect();
    // The head, a call, the start of a streamed text, the text.
    assert_eq!(models, [MODEL; 4], "{ran}");
}

#[test]
fn the_permission_mode_is_the_one_that_was_given() {
    for (mode, expect) in [
        ("default", "default"),
        ("manual", "default"),
        ("acceptEdits", "acceptEdits"),
        ("dontAsk", "dontAsk"),
        ("plan", "plan"),
        ("auto", "auto"),
        ("bypassPermissions", "bypassPermissions"),
    ] {
        let scene = Scene::new([says("Hello.")]);
        let args = [&LINES[..], &["--permission-mode", mode, "hi"]].concat();
        let lines = events(&claude(&scene, &args).run().succeeded());
        assert_eq!(lines[0]["permissionMode"], expect, "{mode}");
    }
}

#[test]
fn each_answer_has_its_tokens() {
    let first = with_usage(says("I look.").call("t1", "read", &json!({ "path": "a.txt" })), 100, 7);
    let scene = Scene::new([first, with_usage(says("Done."), 200, 9)]);
    let args = [&LINES[..], &["--include-partial-messages", "do it"]].concat();
    let lines = events(&claude(&scene, &args).run().succeeded());
    let of = |kind: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["type"] == kind).map(|line| &line["message"]["usage"]).collect()
    };
    assert_eq!(of("assistant"), [&tokens(100, 3, 7), &tokens(100, 3, 7), &tokens(200, 3, 9)], "{lines:?}");
    let deltas: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"]["type"] == "message_delta")
        .map(|line| &line["event"]["usage"])
        .collect();
    assert_eq!(deltas, [&tokens(100, 3, 7), &tokens(200, 3, 9)], "{lines:?}");
}

#[test]
fn tokens_are_those_of_the_turn_and_sums_those_of_the_process() {
    let scene = Scene::new([with_usage(says("One."), 100, 10), with_usage(says("Two."), 200, 20)]);
    let stdin = prompt("first") + &prompt("second");
    let ran = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let lines = events(&ran);
    let [first, second] = results(&lines)[..] else { panic!("{ran}") };
    assert_eq!((&first["usage"], &second["usage"]), (&tokens(100, 3, 10), &tokens(200, 3, 20)));
    let used = |end: &Value| {
        let used = &end["modelUsage"][MODEL];
        ["inputTokens", "outputTokens", "cacheReadInputTokens"].map(|key| used[key].as_u64().unwrap())
    };
    assert_eq!((used(first), used(second)), ([100, 10, 3], [300, 30, 6]), "{ran}");
    let cost = |end: &Value| end["total_cost_usd"].as_f64().unwrap();
    // 3 and 15 dollars for a million, 0.3 for what is read from the cache.
    assert!((cost(first) - 0.000_450_9).abs() < 2e-6, "{ran}");
    assert!((cost(second) - cost(first) - 0.000_900_9).abs() < 2e-6, "{ran}");
    for end in [first, second] {
        let used = &end["modelUsage"][MODEL];
        assert_eq!(end["modelUsage"].as_object().unwrap().len(), 1, "{ran}");
        assert_eq!(used["costUSD"], end["total_cost_usd"]);
        assert!(used["contextWindow"].as_u64() > Some(0) && used["maxOutputTokens"].as_u64() > Some(0));
    }
}

#[test]
fn a_failed_turn_tells_what_it_took() {
    let scene = Scene::new([with_usage(calls("t1", "read", &json!({ "path": "a.txt" })), 100, 10)]);
    let args = [&LINES[..], &["--max-turns", "1", "do it"]].concat();
    let ran: Finished = claude(&scene, &args).run();
    let lines = events(&ran);
    let end = lines.last().unwrap();
    assert_eq!((&end["is_error"], &end["usage"]), (&json!(true), &tokens(100, 3, 10)), "{ran}");
    assert_eq!(end["modelUsage"][MODEL]["inputTokens"], 100, "{ran}");
}

#[test]
fn an_empty_argument_is_none() {
    let scene = Scene::new([says("One.")]);
    let args = [&SDK[..], &["--replay-user-messages", ""]].concat();
    let ran = claude(&scene, &args).stdin(Stdin::Piped(prompt("first").into())).run().succeeded();
    assert_eq!(results(&events(&ran))[0]["result"], "One.");
    let scene = Scene::new([says("Two.")]);
    let ran = claude(&scene, &["-p", ""]).stdin(Stdin::Piped(b"from stdin".to_vec())).run().succeeded();
    assert_eq!(ran.stdout, "Two.\n");
}

#[test]
fn a_failure_before_a_run_says_where_and_of_which_session() {
    let scene = Scene::new([]);
    let id = "c6b62c6f-7ead-4fd6-9922-e952131177ff";
    let fails = |more: &[&str]| {
        let program = scene.bare(["--dialect=claude"]).args(LINES).args(["--model", "sonnet"]).args(more);
        let ran = program.args(["x"]).run();
        assert_eq!(ran.code, Some(20), "{ran}");
        events(&ran)
    };
    let lines = fails(&["--session-id", id, "--permission-mode", "plan"]);
    let here = scene.workspace.path().canonicalize().unwrap();
    assert_eq!(lines[0]["cwd"], here.to_str().unwrap());
    assert_eq!((&lines[0]["apiKeySource"], &lines[0]["permissionMode"]), (&json!("none"), &json!("plan")));
    assert!(lines.iter().all(|line| line["session_id"] == id), "{lines:?}");
    let lines = fails(&[]);
    let fresh = lines[0]["session_id"].as_str().unwrap();
    assert!(fresh.len() == 36 && lines.iter().all(|line| line["session_id"] == fresh), "{lines:?}");
}
