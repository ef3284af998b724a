//! The content of each wire protocol besides text: thinking, calls, results, usage, keys.

use ibeam_protocol::{StopReason, Usage};
use ibeam_testkit::scene::{KEY, Scene, WIRES, answer_call, answer_text};
use ibeam_testkit::{Answer, Wire, Workspace, unreachable_url};
use serde_json::{Value, json};

#[test]
fn thinking_is_returned_verbatim_with_its_signature() {
    let scene = Scene::new([
        Answer::new()
            .thinking("first thought\nwith \"quotes\" and 日本", "c2lnbmF0dXJl+/==")
            .text("Looking.")
            .thinking("second thought", "sig-2")
            .call("toolu_1", "ls", &json!({ "path": "." })),
        answer_text("done"),
    ]);
    scene.print::<&str>([]).run().succeeded();
    let requests = scene.server.requests();
    let answer = &requests[1].messages()[1];
    assert_eq!(answer["role"], "assistant");
    let blocks = answer["content"].as_array().unwrap();
    let thinking =
        |text: &str, signature: &str| json!({ "type": "thinking", "thinking": text, "signature": signature });
    assert_eq!(blocks[0], thinking("first thought\nwith \"quotes\" and 日本", "c2lnbmF0dXJl+/=="));
    assert_eq!(blocks[1], json!({ "type": "text", "text": "Looking." }));
    assert_eq!(blocks[2], thinking("second thought", "sig-2"));
    assert_eq!((&blocks[3]["type"], &blocks[3]["id"]), (&json!("tool_use"), &json!("toolu_1")));
    assert_eq!(blocks.len(), 4);
}

/// Proxies and routers insert comments and pings between the events.
#[test]
fn comments_and_pings_between_the_events_change_nothing() {
    let comment = ": OPENROUTER PROCESSING\r\n\r\n: keep-alive\n\n";
    for wire in Wire::ALL.into_iter().filter(|wire| wire.streams_events()) {
        let answer =
            Answer::new().raw(comment).text("one ").raw(comment).text("two").raw("\n\nretry: 10\n\n");
        let scene = Scene::with_wire(wire, [answer]);
        assert_eq!(scene.print::<&str>([]).run().succeeded().stream().deltas(), ["one ", "two"]);
    }
}

/// Some servers ignore a request to stream.
#[test]
fn a_complete_document_is_an_answer() {
    let document = json!({
        "id": "chatcmpl-1", "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "all at once" } }],
        "usage": { "prompt_tokens": 5, "completion_tokens": 3 },
    });
    let scene = Scene::with_wire(Wire::OpenAi, [Answer::status(200, document.to_string())]);
    let stream = scene.print::<&str>([]).run().succeeded().stream();
    assert_eq!(stream.last()["result"], "all at once");
    assert_eq!(stream.last()["usage"]["inputTokens"], 5);
}

#[test]
fn redacted_thinking_is_returned_verbatim() {
    let redacted = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
                    {\"type\":\"redacted_thinking\",\"data\":\"b3BhcXVl\"}}\n\nevent: content_block_stop\n\
                    data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let call = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":\
                {\"type\":\"tool_use\",\"id\":\"toolu_9\",\"name\":\"ls\",\"input\":{}}}\n\nevent: content_block_delta\n\
                data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\
                \"partial_json\":\"{\\\"path\\\":\\\".\\\"}\"}}\n\nevent: content_block_stop\n\
                data: {\"type\":\"content_block_stop\",\"index\":1}\n\n";
    let scene = Scene::new([Answer::new().raw(redacted).raw(call), answer_text("done")]);
    scene.print::<&str>([]).run().succeeded();
    let block = scene.server.requests()[1].messages()[1]["content"][0].clone();
    assert_eq!(block, json!({ "type": "redacted_thinking", "data": "b3BhcXVl" }));
}

/// A search of the service that takes long: the answer is paused in it, and continued by the next request.
#[test]
fn a_paused_tool_of_the_service_goes_back_verbatim() {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let block = |index: u32, block: Value| {
        event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
    };
    let end = |index: u32| event(json!({ "type": "content_block_stop", "index": index }));
    let text = |index: u32, text: Value| block(index, text) + &end(index);
    let input = json!({ "type": "input_json_delta", "partial_json": "{\"query\":\"rust\"}" });
    let input = event(json!({ "type": "content_block_delta", "index": 1, "delta": input }));
    let search =
        |input: Value| json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": input });
    let paused = Answer::new()
        .raw(text(0, json!({ "type": "text", "text": "Searching." })))
        .raw(block(1, search(json!({}))) + &input + &end(1))
        .stop(StopReason::Paused);
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] });
    let citations = json!([{ "encrypted_index": "RW8=" }]);
    let completed = Answer::new()
        .raw(block(0, found.clone()) + &end(0))
        .raw(text(1, json!({ "type": "text", "text": "Found.", "citations": citations })));
    let scene = Scene::new([paused, completed, answer_text("done")]);
    let first = scene.print::<&str>([]).run().succeeded();
    assert_eq!(first.stream().last()["result"], "Searching.Found.", "{first}");
    scene.print(["--resume", first.stream().session_id()]).run().succeeded();
    let messages = scene.server.requests()[2].messages().to_vec();
    let content = messages[1]["content"].as_array().unwrap();
    assert_eq!(content[1..3], [search(json!({ "query": "rust" })), found], "{messages:?}");
    assert_eq!(content[3]["citations"], citations);
    assert_eq!(scene.server.requests()[1].messages()[1]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn reasoning_is_returned_to_services_that_require_it() {
    let answers = [
        Answer::new().thinking("let me see", "").text("Looking.").call(
            "call_1",
            "ls",
            &json!({ "path": "." }),
        ),
        answer_text("done"),
    ];
    let scene = Scene::with_wire(Wire::OpenAi, answers);
    let run = scene.ibeam_without_model(["-p", "x", "--model", "deepseek/deepseek-reasoner"]);
    run.env("DEEPSEEK_BASE_URL", scene.server.url()).env("DEEPSEEK_API_KEY", KEY).run().succeeded();
    let requests = scene.server.requests();
    let answer = requests[1].messages().iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!(answer["reasoning_content"], "let me see");
    assert_eq!(answer["content"], "Looking.");
    assert_eq!(answer["tool_calls"][0]["id"], "call_1");
}

#[test]
fn read_only_calls_of_one_answer_run_together() {
    for wire in Wire::ALL {
        let read = |name: &str| json!({ "path": name });
        let answer = Answer::new()
            .text("Three files.")
            .call("t1", "read", &read("a"))
            .call("t2", "read", &read("b"))
            .call("t3", "ls", &json!({ "path": "." }));
        let workspace = Workspace::new().file("a", "content of a\n").file("b", "content of b\n");
        let scene = Scene::with_wire(wire, [answer, answer_text("done")]).with_workspace(workspace);
        let stream = scene.print::<&str>([]).run().succeeded().stream();
        let outline = stream.outline();
        assert_eq!(outline[2..6], ["text", "started read", "started read", "started ls"]);
        let ids: Vec<&Value> =
            stream.events.iter().map(|event| &event["model_call_id"]).filter(|id| !id.is_null()).collect();
        assert!(ids.len() == 6 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let transcript = scene.server.requests()[1].transcript();
        let results: Vec<&String> = transcript.iter().filter(|line| line.starts_with("result ")).collect();
        assert_eq!(results.len(), 3);
        assert!(results[0].contains("content of a") && results[1].contains("content of b"), "{results:?}");
    }
}

/// The calls after a write wait for its end, so that each call has the effects of the earlier ones.
#[test]
fn a_changing_call_runs_alone() {
    for wire in Wire::ALL {
        let answer = Answer::new()
            .call("t1", "write", &json!({ "path": "a", "fileText": "new\n" }))
            .call("t2", "read", &json!({ "path": "a" }))
            .call("t3", "edit", &json!({ "path": "a", "oldText": "new", "newText": "newer" }));
        let scene = Scene::with_wire(wire, [answer, answer_text("done")]);
        let stream = scene.print::<&str>([]).run().succeeded().stream();
        assert_eq!(
            stream.outline()[2..8],
            [
                "started write",
                "completed write",
                "started read",
                "completed read",
                "started edit",
                "completed edit"
            ]
        );
        assert_eq!(stream.completed()[1].1["result"]["success"]["content"], "new\n");
        assert_eq!(scene.workspace.read("a").as_deref(), Some("newer\n"));
    }
}

#[test]
fn the_providers_call_ids_are_echoed() {
    for wire in Wire::ALL {
        let id = "toolu_vrtx_01NnjaR886UcE8whekg2MGJd";
        let scene =
            Scene::with_wire(wire, [answer_call(id, "ls", &json!({ "path": "." })), answer_text("done")]);
        let stream = scene.print::<&str>([]).run().succeeded().stream();
        assert_eq!(stream.events[2]["call_id"], id);
        assert!(json!(scene.server.requests()[1].messages()).to_string().contains(id));
    }
}

/// Some services restart the numbers of their ids in every answer.
#[test]
fn repeated_ids_in_later_answers_are_different_calls() {
    for wire in Wire::ALL {
        let ls = |path: &str| answer_call("call_0", "ls", &json!({ "path": path }));
        let workspace = Workspace::new().file("one/x", "").file("two/y", "");
        let scene =
            Scene::with_wire(wire, [ls("one"), ls("two"), answer_text("done")]).with_workspace(workspace);
        let stream = scene.print::<&str>([]).run().succeeded().stream();
        assert_eq!(stream.completed().len(), 2);
    }
}

#[test]
fn an_unknown_tool_is_reported_under_function() {
    for wire in Wire::ALL {
        let scene = Scene::with_wire(
            wire,
            [answer_call("t", "teleport", &json!({ "to": "mars" })), answer_text("done")],
        );
        let stream = scene.print::<&str>([]).run().succeeded().stream();
        let (key, body) = stream.completed()[0];
        assert_eq!((key, &body["name"]), ("function", &json!("teleport")));
        assert_eq!(
            body["arguments"].as_str().map(serde_json::from_str::<Value>).unwrap().unwrap(),
            json!({ "to": "mars" })
        );
        assert!(scene.server.requests()[1].transcript().join("\n").contains("there is no tool `teleport`"));
    }
}

#[test]
fn arguments_that_are_not_json_are_reported_to_the_model() {
    for wire in WIRES {
        let answer = Answer::new().call_as_written("t", "read", "{\"path\": \"a");
        let scene = Scene::with_wire(wire, [answer, answer_text("done")])
            .with_workspace(Workspace::new().file("a", "never read\n"));
        let output = scene.print::<&str>([]).run().succeeded();
        let stream = output.stream();
        let (key, body) = stream.completed()[0];
        assert_eq!(key, "readToolCall", "{output}");
        assert!(body["result"].get("error").is_some(), "{output}");
        assert!(!scene.server.requests()[1].body.to_string().contains("never read"));
    }
}

/// Azure's Grok counts tokens so. Without usage a limit of tokens would never be reached.
#[test]
fn more_cached_tokens_than_prompt_tokens_count_as_usage() {
    let call = json!({ "id": "c", "type": "function", "function": { "name": "ls", "arguments": "{\"path\":\".\"}" } });
    let answer = json!({
        "id": "chatcmpl-1", "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "tool_calls": [call] } }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 8, "prompt_tokens_details": { "cached_tokens": 161 } },
    });
    let answer = || Answer::status(200, answer.to_string());
    let output =
        Scene::with_wire(Wire::OpenAi, [answer(), answer_text("done")]).print::<&str>([]).run().succeeded();
    let usage = output.stream().last()["usage"].clone();
    assert_eq!(usage["cacheReadTokens"], 161, "{output}");
    for key in ["inputTokens", "outputTokens", "cacheWriteTokens"] {
        assert!(usage[key].is_u64(), "{key}: {output}");
    }
    let output =
        Scene::with_wire(Wire::OpenAi, [answer(), answer_text("done")]).print(["--max-tokens", "100"]).run();
    assert_eq!(output.code, Some(30), "{output}");
}

#[test]
fn usage_is_the_sum_of_the_answers() {
    for (wire, cache_write) in
        [(Wire::Anthropic, 5), (Wire::OpenAi, 0), (Wire::Bedrock, 5), (Wire::VertexAnthropic, 5)]
    {
        let usage = Usage { input: 10, output: 3, cache_read: 7, cache_write, ..Usage::default() };
        let answers =
            [answer_call("t", "ls", &json!({ "path": "." })).usage(usage), answer_text("done").usage(usage)];
        let scene = Scene::with_wire(wire, answers);
        let stream = scene.print::<&str>([]).run().succeeded().stream();
        let expected = json!({
            "inputTokens": 20, "outputTokens": 6, "cacheReadTokens": 14, "cacheWriteTokens": 2 * cache_write
        });
        assert_eq!(stream.last()["usage"], expected);
        assert_eq!(stream.last()["request_id"], "req_0001");
    }
}

#[test]
fn the_key_is_in_the_header_of_its_wire() {
    for wire in Wire::ALL {
        let scene = Scene::with_wire(wire, [answer_text("hi")]);
        scene.print(["-H", "x-team: blue"]).run().succeeded();
        let request = &scene.server.requests()[0];
        let (name, value) = wire.key_header(KEY);
        assert_eq!(request.header(name), Some(value.as_str()));
        assert_eq!(request.header("x-team"), Some("blue"));
        assert_eq!(request.wire, wire);
    }
}

#[test]
fn the_source_of_the_key_is_in_init() {
    let scene = Scene::new([answer_text("hi")]);
    let stream = scene.ibeam_without_key(["-p", "x", "--api-key", KEY]).run().succeeded().stream();
    assert_eq!(
        (&stream.init()["apiKeySource"], &stream.init()["ibeam"]["api_key"]),
        (&json!("flag"), &json!("flag"))
    );
    assert_eq!(scene.server.requests()[0].header("x-api-key"), Some(KEY));
}

/// A server that only `--endpoint` names needs no key.
#[test]
fn an_endpoint_without_a_key_is_used() {
    let scene = Scene::with_wire(Wire::OpenAi, [answer_text("hi")]);
    let url = format!("{}/v1", scene.server.url());
    let stream = scene
        .ibeam_without_model(["-p", "x", "--endpoint", &url, "--model", "my-model"])
        .run()
        .succeeded()
        .stream();
    assert_eq!(
        (&stream.init()["apiKeySource"], &stream.init()["ibeam"]["api_key"]),
        (&json!("env"), &json!("none"))
    );
    assert_eq!(stream.init()["model"], "my-model");
    assert_eq!(scene.server.requests()[0].body["model"], "my-model");
    assert_eq!(scene.server.requests()[0].header("authorization"), None);
}

/// Each request starts with the bytes of the previous one, so that caches of providers hit.
#[test]
fn a_request_starts_with_the_previous_one() {
    for wire in Wire::ALL {
        let ls = |path: &str| answer_call(&format!("t-{path}"), "ls", &json!({ "path": path }));
        let workspace = Workspace::new().file("one/x", "").file("two/y", "");
        let scene =
            Scene::with_wire(wire, [ls("one"), ls("two"), answer_text("done")]).with_workspace(workspace);
        scene.print::<&str>([]).run().succeeded();
        let plain = |request: &ibeam_testkit::Request| {
            let mut body = request.body.clone();
            without_cache_marks(&mut body);
            let keys = ["messages", "input", "contents"];
            let key = keys.into_iter().find(|key| body[*key].is_array()).unwrap();
            let messages = body[key].take();
            (body, messages.as_array().unwrap().clone())
        };
        let requests: Vec<_> = scene.server.requests().iter().map(plain).collect();
        for pair in requests.windows(2) {
            assert_eq!(pair[0].0.to_string(), pair[1].0.to_string());
            assert_eq!(pair[0].1, pair[1].1[..pair[0].1.len()]);
        }
    }
}

fn without_cache_marks(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.shift_remove("cache_control");
            object.values_mut().for_each(without_cache_marks);
        }
        Value::Array(values) => {
            values.retain(|value| value.get("cachePoint").is_none());
            values.iter_mut().for_each(without_cache_marks);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A proxy of the environment is not used for servers on this machine.
#[test]
fn a_server_on_this_machine_is_used_without_a_proxy() {
    let scene = Scene::new([answer_text("hi")]);
    let run =
        scene.print::<&str>([]).env("HTTP_PROXY", unreachable_url()).env("ALL_PROXY", unreachable_url());
    run.run().succeeded();
}

/// A server that only its address names needs no key, and receives none.
#[test]
fn a_base_url_suffices_for_a_bare_model_name() {
    let scene = Scene::with_wire(Wire::OpenAi, [answer_text("ok")]);
    let output = scene
        .ibeam_without_model(["-p", "hi", "--model", "my-own-model"])
        .env("OPENAI_BASE_URL", format!("{}/v1", scene.server.url()))
        .run()
        .succeeded();
    assert_eq!(output.stream().init()["ibeam"]["api_key"], "none", "{output}");
    assert_eq!(scene.server.requests()[0].body["model"], "my-own-model");
}
