//! Models over WebSocket, in the mode of OpenAI Responses.

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, Ibeam, ModelServer, ProgramOutput, Wire, Workspace, program_path};
use serde_json::{Value, json};

const CONFIG: &str = "[providers.openai]\ntransport = \"websocket\"\n[retry]\nfirst_pause = \"1ms\"\n";

fn workspace() -> Workspace {
    Workspace::new().user_config(CONFIG).file("a", "content of a\n").file("b", "content of b\n")
}

/// Returns a scene whose server accepts WebSocket connections.
fn scene(answers: impl IntoIterator<Item = Answer>) -> Scene {
    Scene { wire: Wire::Responses, workspace: workspace(), server: ModelServer::with_websocket(answers) }
}

/// Returns the messages of the requests over WebSocket.
#[track_caller]
fn messages(scene: &Scene) -> Vec<Value> {
    scene.server.requests().into_iter().map(|request| request.message.unwrap()).collect()
}

/// Returns the previous response and the types of the items that a message has.
fn outline(message: &Value) -> (Option<&str>, Vec<&str>) {
    let items = message["input"].as_array().unwrap();
    let types = items.iter().map(|item| item["role"].as_str().or(item["type"].as_str()).unwrap());
    (message["previous_response_id"].as_str(), types.collect())
}

fn read(id: &str, path: &str) -> Answer {
    answer_call(id, "read", &json!({ "path": path }))
}

/// Returns the transcript of each request.
fn transcripts(scene: &Scene) -> Vec<Vec<String>> {
    scene.server.requests().iter().map(ibeam_testkit::Request::transcript).collect()
}

/// Returns what a run printed: text, calls, retries and result, without what differs between two runs.
fn printed(output: &ProgramOutput) -> (Option<i32>, Vec<String>, Value, Value) {
    let stream = output.stream();
    let last = stream.last();
    let result = json!([last["result"], last["code"], last["usage"], last["http_status"], last["retryable"]]);
    // Calls that run at the same time end in any order.
    let mut outline = stream.outline();
    outline.sort();
    (output.code, outline, result, last["ibeam"]["retries"].clone())
}

fn notices(output: &ProgramOutput) -> Vec<&str> {
    output.stderr.lines().filter(|line| line.contains("WebSocket")).collect()
}

#[test]
fn a_tool_loop_sends_only_new_items_over_one_connection() {
    let answers = || {
        [
            Answer::new().thinking("Hmm.", "c2ln").text("I look. ").call(
                "t1",
                "read",
                &json!({ "path": "a" }),
            ),
            read("t2", "b").call("t3", "ls", &json!({ "path": "." })),
            answer_text("done"),
        ]
    };
    let over_http = Scene::with_wire(Wire::Responses, answers())
        .with_workspace(Workspace::new().file("a", "content of a\n").file("b", "content of b\n"));
    let scene = scene(answers());
    let (expected, output) =
        (over_http.print::<&str>([]).run().succeeded(), scene.print::<&str>([]).run().succeeded());
    assert_eq!(printed(&output), printed(&expected));
    assert_eq!(transcripts(&scene), transcripts(&over_http), "the model has the same conversation");
    assert_eq!(scene.server.connections(), 1);
    assert!(notices(&output).is_empty(), "{output}");
    let messages = messages(&scene);
    assert_eq!(
        messages.iter().map(outline).collect::<Vec<_>>(),
        [
            (None, vec!["developer", "user"]),
            (Some("resp_0000"), vec!["function_call_output"]),
            (Some("resp_0001"), vec!["function_call_output", "function_call_output"]),
        ]
    );
    for message in &messages {
        let mut fields = message.as_object().unwrap().clone();
        assert_eq!(fields["type"], "response.create");
        assert_eq!((&fields["store"], fields.get("stream")), (&json!(false), None));
        assert_eq!(
            (&fields["tools"], fields.get("instructions")),
            (&messages[0]["tools"], messages[0].get("instructions"))
        );
        assert!(fields.remove("model").is_some());
    }
    let request = &scene.server.requests()[0];
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(request.header("user-agent").unwrap().starts_with("ibeam/"));
    assert_eq!(request.header("content-type"), None);
}

#[test]
fn a_refused_upgrade_falls_back_to_http_with_one_notice() {
    let scene = Scene::with_wire(Wire::Responses, [read("t1", "a"), read("t2", "b"), answer_text("done")])
        .with_workspace(workspace());
    let output = scene.print::<&str>([]).run().succeeded();
    scene.server.assert_all_answers_sent();
    assert!(scene.server.requests().iter().all(|request| request.message.is_none()));
    let [notice] = notices(&output)[..] else { panic!("{output}") };
    assert!(notice.contains("`openai`") && notice.contains("HTTP status 405"), "{notice}");
}

#[test]
fn an_answer_that_is_cut_is_repeated_or_continued_as_over_http() {
    let call = || read("t1", "a").cut();
    for answers in [
        vec![answer_text("half an ans").cut(), answer_text("wer")],
        vec![Answer::new().cut(), answer_text("again")],
        vec![call(), call(), call(), call(), call()],
    ] {
        let (scene, over_http) = (scene(answers.clone()), Scene::with_wire(Wire::Responses, answers.clone()));
        let over_http =
            over_http.with_workspace(Workspace::new().user_config("[retry]\nfirst_pause = \"1ms\"\n"));
        let (output, expected) = (scene.print::<&str>([]).run(), over_http.print::<&str>([]).run());
        assert_eq!(printed(&output), printed(&expected), "{answers:?}");
        assert_eq!(transcripts(&scene), transcripts(&over_http));
        assert_eq!(
            scene.server.connections(),
            scene.server.requests().len(),
            "a broken connection is not used again"
        );
        assert!(messages(&scene).iter().all(|message| message.get("previous_response_id").is_none()));
    }
}

#[test]
fn a_lost_response_is_repeated_with_the_complete_input() {
    let lost = Answer::error(400, "previous_response_not_found", "Previous response not found.");
    let scene = scene([read("t1", "a"), lost, read("t2", "b"), answer_text("done")]);
    let output = scene.print::<&str>([]).run().succeeded();
    let messages = messages(&scene);
    assert_eq!(
        messages.iter().map(outline).collect::<Vec<_>>(),
        [
            (None, vec!["developer", "user"]),
            (Some("resp_0000"), vec!["function_call_output"]),
            (None, vec!["developer", "user", "function_call", "function_call_output"]),
            (Some("resp_0002"), vec!["function_call_output"]),
        ]
    );
    assert_eq!(scene.server.connections(), 1);
    assert_eq!(output.stream().last()["ibeam"]["retries"], 0);
}

#[test]
fn a_connection_at_its_maximum_age_is_replaced() {
    let limit = || Answer::error(400, "websocket_connection_limit_reached", "60 minutes");
    let scene = scene([read("t1", "a"), limit(), answer_text("done")]);
    let output = scene.print::<&str>([]).run().succeeded();
    let messages = messages(&scene);
    assert_eq!(
        outline(&messages[2]),
        (None, vec!["developer", "user", "function_call", "function_call_output"])
    );
    assert_eq!((scene.server.connections(), notices(&output).len()), (2, 0), "{output}");
}

/// The service may close a connection at any time, also with an answer on it or while a tool runs.
#[test]
fn a_connection_that_the_service_closes_at_its_maximum_age_costs_no_turn() {
    let limit = r#"{"type":"error","status":400,"error":{"code":"websocket_connection_limit_reached"}}"#;
    let limited = |answer: Answer| answer.raw(format!("data: {limit}\n\n")).cut();
    for (answers, deltas, connections, retries) in [
        // Before the first text of an answer, and after it.
        (vec![limited(Answer::new()), answer_text("done")], vec!["done"], 2, 1),
        (vec![limited(Answer::new().text("half ")), answer_text("done")], vec!["half ", "done"], 2, 0),
        // While a command runs.
        (
            vec![answer_shell("sleep 0.4").header("connection", "close"), answer_text("done")],
            vec!["done"],
            2,
            0,
        ),
    ] {
        let scene = scene(answers);
        let output = scene.print(["--force", "--sandbox", "disabled"]).run().succeeded();
        let stream = output.stream();
        assert_eq!((stream.deltas(), scene.server.connections()), (deltas, connections), "{output}");
        assert_eq!(
            (&stream.last()["ibeam"]["retries"], notices(&output).len()),
            (&json!(retries), 0),
            "{output}"
        );
    }
}

#[test]
fn pings_are_answered_during_an_answer_and_between_two() {
    let scene = scene([
        answer_shell("sleep 0.3"),
        Answer::new().raw(": ping\n\n").text("one ").raw(": ping\n\n").text("two"),
    ]);
    let output = scene.print(["--force", "--sandbox", "disabled"]).run().succeeded();
    assert_eq!((output.stream().deltas(), scene.server.connections()), (vec!["one ", "two"], 1));
}

#[test]
fn a_binary_or_oversized_message_ends_the_answer_as_over_http() {
    for wrong in [Answer::new().raw("binary"), answer_text(&"x".repeat(17 << 20))] {
        let scene = scene([wrong, answer_text("done")]);
        let output = scene.print::<&str>([]).run().succeeded();
        assert_eq!(output.stream().deltas(), ["done"]);
        assert_eq!((scene.server.connections(), &output.stream().last()["ibeam"]["retries"]), (2, &json!(1)));
    }
}

#[test]
fn errors_have_the_class_that_they_have_over_http() {
    let too_long = "Your input exceeds the context window of this model.";
    for (status, kind, message) in [
        (400, "invalid_request_error", "no such parameter"),
        (400, "context_length_exceeded", too_long),
        (401, "invalid_api_key", "the key is not valid"),
        (403, "permission_error", "the key may not do this"),
        (404, "model_not_found", "no such model"),
        (429, "rate_limit_exceeded", "slow down"),
        (429, "insufficient_quota", "You exceeded your current quota"),
        (500, "server_error", "internal error"),
        (503, "overloaded", "the model is overloaded"),
    ] {
        let answers = || vec![Answer::error(status, kind, message).header("retry-after-ms", "2"); 7];
        let (scene, over_http) = (scene(answers()), Scene::with_wire(Wire::Responses, answers()));
        let (output, expected) = (scene.print::<&str>([]).run(), over_http.print::<&str>([]).run());
        let error = |output: &ProgramOutput| {
            let mut error = output.stream().last().clone();
            for detail in ["session_id", "request_id", "ibeam"] {
                error.as_object_mut().unwrap().remove(detail);
            }
            (output.code, error)
        };
        assert_eq!(error(&output), error(&expected), "{status} {kind}");
        assert_eq!(scene.server.requests().len(), over_http.server.requests().len(), "{status} {kind}");
        assert_eq!(messages(&scene).len(), scene.server.requests().len());
        assert!(!output.stderr.contains(KEY), "{output}");
    }
}

#[test]
fn a_service_that_sends_nothing_is_used_over_http_at_the_next_attempt() {
    let silent = [Answer::silence(), answer_text("done")];
    let scene = scene(silent)
        .with_workspace(Workspace::new().user_config(&format!("{CONFIG}[timeouts]\nfirst_byte = \"1s\"\n")));
    let output = scene.print::<&str>([]).run().succeeded();
    let over_socket: Vec<_> =
        scene.server.requests().iter().map(|request| request.message.is_some()).collect();
    assert_eq!((over_socket, notices(&output).len()), (vec![true, false], 1), "{output}");
}

#[test]
fn a_recording_of_one_transport_is_replayed_with_any() {
    let scene = scene([read("t1", "a"), answer_text("done")]);
    let directory = scene.workspace.outside().join("recordings");
    let recorded = scene.print(["--record"]).args([&directory]).run().succeeded();
    let requests = scene.server.requests().len();
    let other = Workspace::new().file("a", "content of a\n").file("b", "content of b\n");
    for workspace in [&scene.workspace, &other] {
        let replay = Ibeam::new(program_path(), workspace)
            .args(["-p", "do it", "--from-recording"])
            .args([&directory])
            .run()
            .succeeded();
        let (replay, recorded) = (replay.stream(), recorded.stream());
        assert_eq!(
            (replay.outline(), &replay.last()["usage"]),
            (recorded.outline(), &recorded.last()["usage"])
        );
    }
    assert_eq!(scene.server.requests().len(), requests, "a replay sends nothing");
    for entry in std::fs::read_dir(&directory).unwrap() {
        let content = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!content.contains(KEY) && content.contains("\"method\": \"POST\""), "{content}");
    }
}

#[test]
fn an_unknown_transport_is_a_configuration_error() {
    let scene = Scene::new([])
        .with_workspace(Workspace::new().user_config("[providers.openai]\ntransport = \"socket\"\n"));
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(78), "{output}");
    for part in ["providers.openai.transport", "http", "websocket", "config.toml"] {
        assert!(output.stderr.contains(part), "{output}");
    }
}
