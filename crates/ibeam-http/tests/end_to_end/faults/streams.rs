//! Answers that are damaged in transit: cuts, stalls, floods, wrong bytes.

use std::time::Duration;

use ibeam_protocol::StopReason;
use ibeam_testkit::scene::{Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, ProgramOutput, Wire};
use serde_json::{Value, json};

use super::raw_server::{
    RawServer, Reply, block, call_answer, chunk, end, event, open_head, response, start, text_answer,
    text_delta,
};
use super::{
    FAST_RETRIES, expect_failure, expect_failure_on_both_wires, expect_success, expect_success_on_both_wires,
    retries, workspace_with_config,
};

/// Short timeouts and two attempts.
const SHORT_TIMEOUTS: &str = "[retry]\nattempts = 2\nfirst_pause = \"1ms\"\n[timeouts]\nidle = \"700ms\"\n\
                         first_byte = \"700ms\"\ncontent_idle = \"1500ms\"\n";

/// Returns an answer of these bytes.
fn answer_of_bytes(body: impl Into<String>) -> Answer {
    Answer::status(200, body)
}

/// Checks that a run fails if the server always replies so.
fn expect_failure_against(exit: i32, config: &str, reply: &Reply) -> ProgramOutput {
    expect_failure(exit, || {
        let scene = Scene::new([]).with_workspace(workspace_with_config(config));
        let server = RawServer::start(vec![reply.clone(); 8]);
        let ibeam = scene.print::<&str>([]).env("ANTHROPIC_BASE_URL", server.url());
        (scene, ibeam)
    })
}

#[test]
fn f024_a_server_that_never_answers_is_a_failure() {
    let output = expect_failure_on_both_wires(28, SHORT_TIMEOUTS, || vec![Answer::silence(); 4]);
    assert_eq!(retries(&output), 1, "{output}");
}

#[test]
fn f024_a_server_that_answers_the_second_request_is_used() {
    let config = "[timeouts]\nfirst_byte = \"3s\"\n";
    expect_success_on_both_wires(config, || vec![Answer::silence(), answer_text("ok")]);
}

#[test]
fn f025_a_stream_that_stalls_is_a_failure() {
    let trickle = || (0..5).fold(Answer::new(), |answer, number| answer.text(format!("{number} "))).stall();
    let output = expect_failure_on_both_wires(28, SHORT_TIMEOUTS, || vec![trickle(); 4]);
    // The answer was continued once.
    assert_eq!(output.stream().deltas(), ["0 ", "1 ", "2 ", "3 ", "4 "].repeat(2), "{output}");
}

#[test]
fn f025_comments_keep_a_silent_stream_alive_only_so_long() {
    let first = [open_head(), (start() + ": ping\n\n").into_bytes()].concat();
    let again = b": keep-alive\n\n".to_vec();
    let output = expect_failure_against(
        28,
        SHORT_TIMEOUTS,
        &Reply::Repeat { first, again, pause: Duration::from_millis(20) },
    );
    assert!(output.stderr.contains("1.5 s"), "the timeout for content ended the stream; {output}");
}

#[test]
fn f026_a_slow_stream_without_end_is_a_failure() {
    let config = "[timeouts]\nanswer = \"1s\"\n";
    let trickle =
        || (0..400).fold(Answer::new(), |answer, _| answer.text("x").pause(Duration::from_millis(20)));
    let output = expect_failure_on_both_wires(28, config, || vec![trickle(); 2]);
    assert!(output.elapsed < Duration::from_secs(7), "{output}");
    assert_eq!(retries(&output), 0, "{output}");
    // The server sent much: the message must not claim that it sent nothing.
    assert!(output.stderr.contains("was not complete after 1 s"), "{output}");
}

/// Pings at full speed do not count as an answer either.
#[test]
fn f026_a_flood_without_end_is_a_failure() {
    let config = "[timeouts]\nanswer = \"1s\"\n";
    let again = "event: ping\ndata: {\"type\": \"ping\"}\n\n".repeat(500).into_bytes();
    let first = [open_head(), start().into_bytes()].concat();
    expect_failure_against(28, config, &Reply::Repeat { first, again, pause: Duration::ZERO });
}

#[test]
fn f027_pings_without_content_are_not_an_answer() {
    let again = "event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned().into_bytes();
    let first = [open_head(), start().into_bytes()].concat();
    expect_failure_against(
        28,
        SHORT_TIMEOUTS,
        &Reply::Repeat { first, again, pause: Duration::from_millis(20) },
    );
}

#[test]
fn f030_a_stream_that_ends_before_its_text_is_requested_again() {
    let halves = [start(), chunk(&json!({ "role": "assistant", "content": "" }), None)];
    for (wire, half) in [Wire::Anthropic, Wire::OpenAi].into_iter().zip(halves) {
        let scene = Scene::with_wire(wire, [answer_of_bytes(half), answer_text("ok")])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!((output.stream().deltas(), retries(&output)), (vec!["ok"], 1), "{output}");
    }
}

#[test]
fn f030_a_stream_that_ends_in_its_text_is_continued_from_there() {
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
    let with_error = Answer::new().text("half ").text("an ").text("ans").raw(event(&error)).cut();
    for broken in [answer_text("half an ans").cut(), answer_text("half an ans").stall(), with_error] {
        for (scene, output) in
            expect_success_on_both_wires(SHORT_TIMEOUTS, || vec![broken.clone(), answer_text("wer")])
        {
            let (stream, requests) = (output.stream(), scene.server.requests());
            assert_eq!(stream.last()["result"], "half an answer", "{output}");
            assert_eq!(stream.last()["ibeam"]["continuations"], 1, "{output}");
            assert_eq!(requests.len(), 2, "{output}");
            let sent = requests[1].transcript();
            assert_eq!(sent[..2], ["user: do it", "assistant: half an ans"], "{sent:?}");
            assert!(
                sent.len() == 3 && sent[2].contains("Continue exactly where that text stops"),
                "{sent:?}"
            );
            let warnings = output.stderr_lines("warning: ");
            assert!(warnings.len() == 1 && warnings[0].contains("continue its answer"), "{output}");
            // The next run sends the same conversation.
            let again = scene.with_answers([answer_text("again")]);
            again.print(["--continue"]).run().succeeded();
            let sent = again.server.requests()[0].transcript();
            assert_eq!(sent[1], "assistant: half an ans", "{sent:?}");
            assert_eq!(sent[3..], ["assistant: wer", "user: do it"], "{sent:?}");
        }
    }
}

/// The rest of the answer may be a call.
#[test]
fn f030_a_stream_that_ends_before_a_call_is_continued_with_the_call() {
    let answers = || {
        vec![
            answer_text("I look. ").cut(),
            answer_call("t", "ls", &json!({ "path": "." })),
            answer_text("Nothing there."),
        ]
    };
    for (scene, output) in expect_success_on_both_wires(FAST_RETRIES, answers) {
        assert_eq!(output.stream().last()["result"], "I look. Nothing there.", "{output}");
        assert_eq!(output.stream().completed().len(), 1, "{output}");
        scene.server.assert_all_answers_sent();
    }
}

/// The rest of an incomplete call is unknown.
#[test]
fn f030_a_stream_that_ends_in_a_call_after_text_is_not_continued() {
    let cut =
        || answer_text("I write. ").call("t", "write", &json!({ "path": "made.txt", "fileText": "x" })).cut();
    let output = expect_failure_on_both_wires(25, FAST_RETRIES, || vec![cut(); 4]);
    assert_eq!(output.stream().deltas().concat(), "I write. ", "{output}");
}

#[test]
fn f030_a_stream_that_ends_twice_after_its_text_is_not_a_success() {
    let half = || {
        let complete = text_answer("half an ans");
        vec![answer_of_bytes(complete.split_once("event: content_block_stop").unwrap().0); 4]
    };
    let run = || {
        let scene = Scene::new(half()).with_workspace(workspace_with_config(FAST_RETRIES));
        let ibeam = scene.print::<&str>([]);
        (scene, ibeam)
    };
    let output = expect_failure(25, run);
    let twice = vec!["half an ans", "half an ans"];
    assert_eq!((output.stream().deltas(), retries(&output)), (twice, 0), "{output}");
    assert_eq!(output.stream().last()["ibeam"]["continuations"], 1, "{output}");
    expect_failure_on_both_wires(25, FAST_RETRIES, || vec![answer_text("half an ans").cut(); 4]);
}

#[test]
fn f031_an_answer_that_is_cut_inside_its_final_event_is_complete() {
    for (wire, cut) in [
        (Wire::Anthropic, "sage_stop\"}\n\n"),
        (Wire::OpenAi, "NE]\n\n"),
        (Wire::Responses, "\n\n"),
        (Wire::Gemini, "\n\n"),
        (Wire::Ollama, "\n"),
        (Wire::Cohere, "\n\ndata: [DONE]\n\n"),
    ] {
        let body = wire.text_stream("ok");
        let body = body.strip_suffix(cut).unwrap_or_else(|| panic!("{body} ends with {cut}"));
        let scene = Scene::with_wire(wire, [answer_of_bytes(body)])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!((output.stream().deltas(), retries(&output)), (vec!["ok"], 0), "{output}");
    }
}

#[test]
fn f032_line_ends_of_every_kind_and_a_byte_order_mark_change_nothing() {
    let has_lines = |wire: &Wire| wire.streams_events() || *wire == Wire::Ollama;
    for wire in Wire::ALL.into_iter().filter(has_lines) {
        for line_end in ["\n", "\r\n", "\r"] {
            for mark in ["", "\u{feff}"] {
                let body = mark.to_owned() + &wire.text_stream("one two").replace('\n', line_end);
                let scene = Scene::with_wire(wire, [answer_of_bytes(body)])
                    .with_workspace(workspace_with_config(FAST_RETRIES));
                let output = expect_success(&scene, scene.print::<&str>([]));
                assert_eq!(
                    (output.stream().deltas(), retries(&output)),
                    (vec!["one two"], 0),
                    "{line_end:?}: {output}"
                );
            }
        }
    }
}

/// Each byte arrives alone, so each character is split at every offset.
#[test]
fn f033_characters_that_are_split_are_decoded_correctly() {
    const TEXT: &str = "\u{1f600}漢字\u{1f469}\u{200d}\u{1f680} é";
    let call = call_answer("write", &json!({ "path": "made.txt", "fileText": TEXT }));
    let head = "content-type: text/event-stream\r\n";
    let server = RawServer::start([
        Reply::Dribble(response(head, call.as_bytes())),
        Reply::Dribble(response(head, text_answer(TEXT).as_bytes())),
    ]);
    let scene = Scene::new([]).with_workspace(workspace_with_config(FAST_RETRIES));
    let output = expect_success(&scene, scene.print::<&str>([]).env("ANTHROPIC_BASE_URL", server.url()));
    assert_eq!(output.stream().deltas().concat(), TEXT, "{output}");
    assert_eq!(scene.workspace.read("made.txt").as_deref(), Some(TEXT));
    let journal = std::fs::read_to_string(scene.workspace.journal(output.stream().session_id())).unwrap();
    for text in [&journal, &output.stdout] {
        assert!(text.contains("漢字") && !text.contains('\u{fffd}'), "{output}");
    }
}

#[test]
fn f034_invalid_utf_8_ends_the_answer() {
    let delta =
        |text: &str| event(&json!({ "type": "content_block_delta", "index": 0, "delta": text_delta(text) }));
    let spoiled = || Answer::new().raw([delta("a").as_bytes(), b"data: \xff\n\n"].concat());
    let output = expect_failure_on_both_wires(25, FAST_RETRIES, || vec![spoiled(); 4]);
    assert!(output.stderr.contains("UTF-8"), "{output}");
    assert_eq!(retries(&output), 1, "a protocol error is retried once; {output}");
}

#[test]
fn f035_half_a_surrogate_pair_is_replaced_in_text() {
    let spoil = |body: String| answer_of_bytes(body.replace("HALF", "\\ud83d"));
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let scene = Scene::with_wire(wire, [spoil(wire.text_stream("a HALF b"))])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!(output.stream().deltas(), ["a \u{fffd} b"], "{output}");
    }
}

#[test]
fn f035_a_call_with_half_a_surrogate_pair_is_not_executed() {
    let call = call_answer("write", &json!({ "path": "made.txt", "fileText": "HALF" }));
    let scene = Scene::new([answer_of_bytes(call.replace("HALF", "\\\\ud83d")), answer_text("done")])
        .with_workspace(workspace_with_config(FAST_RETRIES));
    let output = expect_success(&scene, scene.print::<&str>([]));
    assert_eq!(scene.workspace.read("made.txt"), None);
    let (key, body) =
        output.stream().completed().first().map(|(key, body)| ((*key).to_owned(), (*body).clone())).unwrap();
    assert_eq!(key, "writeToolCall");
    assert!(body["result"].get("error").is_some(), "{output}");
}

/// Four times the maximum size of an event.
const HUGE: usize = 64 * 1024 * 1024;
const MEGABYTE: u64 = 1024 * 1024;

fn huge_event() -> Answer {
    let mut body = b"data: ".to_vec();
    body.resize(HUGE, b'x');
    Answer::new().raw(body)
}

#[test]
fn f036_an_event_of_64_megabytes_is_rejected_and_not_buffered() {
    let run = |format: &str| {
        let scene =
            Scene::new([huge_event(), huge_event()]).with_workspace(workspace_with_config(FAST_RETRIES));
        let output = scene.print(["--output-format", format]).run();
        super::check_failure(&output, 25);
        assert!(output.stderr.contains("longer than 16777216 bytes"), "{output}");
        output
    };
    assert!(run("json").stdout.is_empty());
    run("stream-json").stream();
    // The run has read the event when it sends the second request.
    let scene =
        Scene::new([huge_event(), Answer::silence()]).with_workspace(workspace_with_config(FAST_RETRIES));
    let running = scene.print::<&str>([]).start();
    scene.server.wait_for_requests(2);
    let peak = running.peak_memory();
    eprintln!("peak after an event of {} MB: {} MB", HUGE as u64 / MEGABYTE, peak / MEGABYTE);
    assert!(peak < 160 * MEGABYTE, "{peak}");
}

/// The size of an answer is limited, also if its events are small.
#[test]
fn f036_an_answer_of_more_than_64_megabytes_is_rejected() {
    let delta = event(&json!({
        "type": "content_block_delta", "index": 0,
        "delta": { "type": "thinking_delta", "thinking": "x".repeat(4 * 1024 * 1024) },
    }));
    let first = event(&json!({
        "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" },
    }));
    let answer = Answer::new().raw(first).raw(delta.repeat(17)).stall();
    let scene = Scene::new([answer]).with_workspace(workspace_with_config(FAST_RETRIES));
    let output = scene.print(["--output-format", "json"]).run();
    super::check_failure(&output, 25);
    assert!(
        output.stdout.is_empty() && output.stderr.contains("longer than 67108864 bytes"),
        "{}",
        output.stderr
    );
}

/// Returns the peak memory in bytes after `count` deltas of one byte.
fn peak_after_deltas(count: usize, args: &[&str], slowly: bool) -> u64 {
    let delta = event(&json!({ "type": "content_block_delta", "index": 0, "delta": text_delta("x") }));
    let text = event(&json!({
        "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" },
    }));
    let stop = event(&json!({ "type": "content_block_stop", "index": 0 }));
    let call = block(1, &json!({ "type": "tool_use", "id": "t", "name": "ls", "input": {} }), &[]);
    let answer = Answer::new().raw(text + &delta.repeat(count) + &stop + &call).stop(StopReason::ToolUse);
    let scene = Scene::new([answer, Answer::silence()]).with_workspace(workspace_with_config(FAST_RETRIES));
    let ibeam = scene.print(args).timeout(Duration::from_secs(200));
    let running = if slowly { ibeam.slow_reader() } else { ibeam }.start();
    // The call runs after the complete answer was read; then the run sends the second request.
    let before = std::time::Instant::now();
    while scene.server.requests().len() < 2 {
        assert!(before.elapsed() < Duration::from_secs(180), "{count} deltas take too long");
        std::thread::sleep(Duration::from_millis(20));
    }
    let peak = running.peak_memory();
    eprintln!("{count} deltas in {:?}: peak {} kB", before.elapsed(), peak / 1024);
    peak
}

/// The answer grows by one byte per delta; nothing else may grow with the number of deltas.
#[test]
fn f037_memory_does_not_grow_with_the_number_of_deltas() {
    const COUNT: usize = 75_000;
    let few = peak_after_deltas(COUNT, &["--output-format", "json"], false);
    let many = peak_after_deltas(4 * COUNT, &["--output-format", "json"], false);
    assert!(many < few + 12 * MEGABYTE, "{few} and {many}");
}

/// A slow reader slows down the server and does not increase memory.
#[test]
fn f037_a_slow_reader_slows_the_stream_down() {
    const COUNT: usize = 20_000;
    let few = peak_after_deltas(COUNT, &[], true);
    let many = peak_after_deltas(4 * COUNT, &[], true);
    assert!(many < few + 12 * MEGABYTE, "{few} and {many}");
}

#[test]
fn f039_an_event_with_invalid_json_is_retried_once() {
    let output =
        expect_failure_on_both_wires(25, FAST_RETRIES, || vec![Answer::new().raw("data: {oops\n\n"); 4]);
    assert_eq!(retries(&output), 1, "{output}");
    expect_success_on_both_wires(FAST_RETRIES, || {
        vec![Answer::new().raw("data: {oops\n\n"), answer_text("ok")]
    });
}

/// Repeated deltas of arguments are not valid JSON. The call is not executed and the run continues.
#[test]
fn f044_a_call_with_repeated_deltas_is_not_executed() {
    let arguments = json!({ "path": "made.txt", "fileText": "x" }).to_string();
    let delta = |text: &str| json!({ "type": "input_json_delta", "partial_json": text });
    let (head, tail) = arguments.split_at(9);
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "write", "input": {} });
    let deltas = [delta(head), delta(head), delta(tail), delta(tail)];
    let anthropic = start() + &block(0, &call, &deltas) + &end("tool_use");
    let delta = |text: &str, id: Value| {
        let call = json!({ "index": 0, "id": id, "function": { "name": "write", "arguments": text } });
        chunk(&json!({ "tool_calls": [call] }), None)
    };
    let openai = delta(&arguments, json!("c1")).repeat(2) + &chunk(&json!({}), Some("tool_calls"));
    for (wire, body) in [(Wire::Anthropic, anthropic), (Wire::OpenAi, openai)] {
        let scene = Scene::with_wire(wire, [answer_of_bytes(body), answer_text("done")])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print::<&str>([]));
        assert_eq!(output.stream().outline()[2..4], ["started write", "completed write"], "{output}");
        assert_eq!(output.stream().completed().len(), 1, "{output}");
        assert_eq!(scene.workspace.read("made.txt"), None);
    }
}

/// A complete call that is sent twice, with the same id or without an id, is one call.
#[test]
fn f044_a_call_that_is_sent_twice_is_executed_once() {
    for id in [json!("c1"), Value::Null] {
        let call = |index: u32| {
            let function = json!({ "name": "shell", "arguments": "{\"command\":\"echo once >> log\"}" });
            let index = if id.is_null() { 0 } else { index };
            chunk(&json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }), None)
        };
        let body = call(0) + &call(1) + &chunk(&json!({}), Some("tool_calls")) + "data: [DONE]\n\n";
        let scene = Scene::with_wire(Wire::OpenAi, [answer_of_bytes(body), answer_text("done")])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let output = expect_success(&scene, scene.print(["--force"]));
        assert_eq!(scene.workspace.read("log").as_deref(), Some("once\n"), "{output}");
        assert_eq!(output.stream().completed().len(), 1, "{output}");
    }
}

#[test]
fn f044_an_answer_with_repeated_events_is_requested_again() {
    let twice: String = text_answer("ok").split_inclusive("\n\n").flat_map(|event| [event, event]).collect();
    let scene = Scene::new([answer_of_bytes(twice), answer_text("ok")])
        .with_workspace(workspace_with_config(FAST_RETRIES));
    let output = expect_success(&scene, scene.print::<&str>([]));
    assert_eq!((output.stream().deltas(), retries(&output)), (vec!["ok"], 1), "{output}");
}

#[test]
fn f046_events_out_of_order_are_retried_once() {
    let stop_first = event(&json!({ "type": "content_block_stop", "index": 0 })) + &text_answer("late");
    let run = || {
        let scene = Scene::new(vec![answer_of_bytes(stop_first.clone()); 4])
            .with_workspace(workspace_with_config(FAST_RETRIES));
        let ibeam = scene.print::<&str>([]);
        (scene, ibeam)
    };
    let output = expect_failure(25, run);
    assert_eq!(retries(&output), 1, "{output}");
    assert!(output.stderr.contains("out of order"), "{output}");
}

/// The calls of an incomplete answer are not executed.
#[test]
fn f030_a_call_of_an_answer_without_an_end_is_not_executed() {
    let cut = || answer_call("t", "write", &json!({ "path": "made.txt", "fileText": "x" })).cut();
    let scene = Scene::new(vec![cut(); 4]).with_workspace(workspace_with_config("[retry]\nattempts = 1\n"));
    let output = scene.print::<&str>([]).run();
    super::check_failure(&output, 25);
    assert_eq!(scene.workspace.read("made.txt"), None);
    let started = |event: &Value| !event["kind"]["tool_call_started"].is_null();
    assert!(!journal(&scene, output.stream().session_id()).iter().any(started), "{output}");
}
