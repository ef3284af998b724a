//! Exports of runs: spans of OpenTelemetry, trajectories, and streams of other agents as their source. Includes the
//! examples of docs/trace.md.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{ProgramOutput, ProxyServer, Stdin, Workspace, unreachable_url};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../../../docs/trace.md");
const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Returns the spans of a request of OTLP.
#[track_caller]
fn spans(request: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(request).unwrap_or_else(|error| panic!("{error}: {request}"));
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().map(|span| span["name"].as_str().unwrap()).collect()
}

/// Accepts one request and returns its head and its body, after it has answered with `status`.
fn receive_one(listener: TcpListener, status: &'static str) -> JoinHandle<(String, String)> {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            stream.read_line(&mut head).unwrap();
            let line = head[start..].to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
        TcpStream::write_all(stream.get_mut(), answer.as_bytes()).unwrap();
        (head, String::from_utf8(body).unwrap())
    })
}

#[test]
fn a_run_is_written_as_spans_and_its_commands_belong_to_its_trace() {
    let scene = Scene::new([answer_shell("echo \"parent=$TRACEPARENT\""), answer_text("done")]);
    let file = scene.workspace.outside().join("trace.json");
    let output = scene.print(["--force", "--trace-file", file.to_str().unwrap()]).run().succeeded();
    let text = fs::read_to_string(&file).unwrap();
    let spans = spans(&text);
    let chat = spans[0]["name"].as_str().unwrap();
    assert!(chat.starts_with("chat "), "{chat}");
    assert_eq!(names(&spans), [chat, "execute_tool shell", chat, "invoke_agent ibeam"]);
    let root = &spans[3];
    let parent =
        format!("parent=00-{}-{}-01", root["traceId"].as_str().unwrap(), root["spanId"].as_str().unwrap());
    assert!(output.stdout.contains(&parent), "{parent} is not in {output}");
    assert!(!text.contains("echo") && !text.contains("do it"), "no content without a request: {text}");
}

#[test]
fn a_run_belongs_to_the_trace_of_its_caller_and_sends_its_spans() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/base/", listener.local_addr().unwrap());
    let received = receive_one(listener, "200 OK");
    let scene = Scene::new([answer_text("done")]);
    let output = scene
        .print(["--lang", "en"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b")
        .env("OTEL_SERVICE_NAME", "checks")
        .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        .env("TRACEPARENT", CALLER)
        .run()
        .succeeded();
    assert_eq!(output.stderr, "");
    let (head, body) = received.join().unwrap();
    assert!(head.starts_with("POST /base/v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("x-team: a b\r\n") && head.contains("content-type: application/json\r\n"),
        "{head}"
    );
    let spans = spans(&body);
    assert_eq!(spans.last().unwrap()["parentSpanId"], "b7ad6b7169203331");
    assert!(spans.iter().all(|span| span["traceId"] == "0af7651916cd43dd8448eb211c80319c"), "{body}");
    assert!(body.contains(r#"{"key":"service.name","value":{"stringValue":"checks"}}"#), "{body}");
    assert!(body.contains("do it") && body.contains("done"), "the content was requested: {body}");
}

#[test]
fn a_receiver_that_fails_is_a_warning_and_delays_the_end_by_three_seconds_at_most() {
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
    let (refusing_url, silent_url) = (address(&refusing), address(&silent));
    let refused = receive_one(refusing, "401 Unauthorized");
    for (url, expect) in
        [(refusing_url, "http 401"), (unreachable_url(), "refused"), (silent_url, "no answer within")]
    {
        let scene = Scene::new([answer_text("done")]);
        let output = scene.print(["--lang", "en"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &url).run().succeeded();
        let warning = format!("warning: cannot send the trace to `{url}/v1/traces`: ");
        assert!(output.stderr.starts_with(&warning), "{output}");
        assert!(output.stderr.to_lowercase().contains(expect), "{expect}; {output}");
        assert!(output.elapsed < Duration::from_secs(8), "{:?}", output.elapsed);
    }
    refused.join().unwrap();
}

#[test]
fn a_key_is_not_sent_unencrypted_to_a_receiver_on_another_machine() {
    let proxy = ProxyServer::without_targets();
    let allowed = "[network]\ninsecure_hosts = [\"traces.ibeam.example\"]\n";
    for (headers, config, is_sent) in [
        ("authorization=Bearer%20hush-hush-0123456789", "", false),
        ("x-team=a", "", true),
        ("authorization=Bearer%20hush-hush-0123456789", allowed, true),
    ] {
        let before = proxy.requests().len();
        let scene = Scene::new([answer_text("done")]).with_workspace(Workspace::new().user_config(config));
        let output = scene
            .print(["--lang", "en"])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://traces.ibeam.example:4318")
            .env("OTEL_EXPORTER_OTLP_HEADERS", headers)
            .env("HTTP_PROXY", format!("http://{}", proxy.address()))
            .run()
            .succeeded();
        assert_eq!(proxy.requests().len() > before, is_sent, "{headers}: {output}");
        assert_eq!(output.stderr.contains("would send a key unencrypted"), !is_sent, "{output}");
        assert!(!format!("{output}").contains("hush-hush"), "{output}");
    }
}

#[test]
fn an_export_that_cannot_work_is_an_error_before_the_run() {
    let scene = Scene::new([]);
    let missing = scene.workspace.missing().join("trace.json");
    let output = scene.print(["--trace-file", missing.to_str().unwrap()]).run();
    assert_eq!(output.code, Some(73), "{output}");
    assert_eq!(scene.ibeam(["ls"]).run().succeeded().stdout, "", "no session is left");
}

/// The variables are those of an environment, for many programs: none of them ends a run.
#[test]
fn a_variable_of_opentelemetry_that_cannot_work_is_one_warning_and_no_export() {
    let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    for (variables, expect) in [
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")][..], "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (&[common, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "not over `grpc`"),
        (&[common, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "carrier-pigeon")], "not over `carrier-pigeon`"),
        (&[common, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")], "the header `a b` is invalid"),
    ] {
        let scene = Scene::new([answer_text("done")]);
        let run = scene.print(["--lang", "en"]);
        let run = variables.iter().fold(run, |run, (name, value)| run.env(name, value));
        let output = run.run().succeeded();
        assert!(output.stderr.starts_with("warning: no trace is sent: "), "{output}");
        assert!(output.stderr.contains(expect) && output.stderr.lines().count() == 1, "{output}");
    }
}

#[test]
fn a_trace_that_the_caller_does_not_record_is_not_sent() {
    let scene = Scene::new([answer_shell("echo \"parent=$TRACEPARENT\""), answer_text("done")]);
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let output = scene
        .print(["--force"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", unreachable_url())
        .env("TRACEPARENT", caller)
        .run()
        .succeeded();
    assert_eq!(output.stderr, "");
    assert!(
        output.stdout.contains(&format!("parent={caller}")),
        "commands get the trace of the caller: {output}"
    );
}

#[test]
fn a_recorded_session_is_exported_as_spans_and_as_a_trajectory() {
    let scene = Scene::new([answer_shell("echo hi"), answer_text("done")]);
    scene.print(["--force"]).run().succeeded();
    let replay = |format: &str| {
        let args = ["replay", "-1", "--output-format", format];
        scene.ibeam_without_model(args).run().succeeded().stdout
    };
    let otlp = replay("otlp");
    assert_eq!((otlp.lines().count(), spans(&otlp).len()), (1, 4));
    let atif: Value = serde_json::from_str(&replay("atif")).unwrap();
    assert_eq!(atif["schema_version"], "ATIF-v1.8");
    assert_eq!(atif["steps"].as_array().unwrap().len(), 3);
    assert_eq!(atif["steps"][1]["tool_calls"][0]["function_name"], "shell");
    for format in ["otlp", "html"] {
        let live = scene.print(["--output-format", format]).run();
        assert_eq!(live.code, Some(2), "{live}");
    }
}

/// Prints a run as a trajectory.
fn print_trajectory(scene: &Scene, args: &[&str]) -> (ProgramOutput, Value) {
    let output = scene.print(["--force", "--output-format", "atif"]).args(args).run();
    assert_eq!(output.stdout.lines().count(), 1, "{output}");
    let trajectory = serde_json::from_str(&output.stdout).unwrap();
    (output, trajectory)
}

#[test]
fn a_run_prints_its_trajectory_at_its_end() {
    let scene = Scene::new([answer_shell("echo hi"), answer_text("done"), answer_text("again")]);
    let (output, live) = print_trajectory(&scene, &[]);
    output.succeeded();
    let replay = || -> Value {
        let replay = scene.ibeam_without_model(["replay", "-1", "--output-format", "atif"]).run().succeeded();
        serde_json::from_str(&replay.stdout).unwrap()
    };
    assert_eq!(live, replay(), "the trajectory of the run is that of its session");
    assert_eq!(live["steps"][1]["observation"]["results"].as_array().unwrap().len(), 1);
    let (output, resumed) = print_trajectory(&scene, &["--continue"]);
    output.succeeded();
    let messages: Vec<_> = resumed["steps"].as_array().unwrap().iter().map(|step| &step["message"]).collect();
    assert_eq!(messages.last(), Some(&&Value::from("again")));
    assert_eq!(messages.len(), 2, "a resumed session has its earlier runs in other trajectories: {resumed}");
    assert_eq!(replay()["steps"].as_array().unwrap().len(), 5);
}

#[test]
fn a_run_that_fails_prints_the_trajectory_so_far() {
    let scene = Scene::new([answer_shell("echo hi"), answer_text("late")]);
    let (output, trajectory) = print_trajectory(&scene, &["--max-turns", "1", "--lang", "en"]);
    assert_eq!(output.code, Some(30), "{output}");
    assert!(output.stderr.contains("error: "), "{output}");
    assert_eq!(trajectory["extra"]["failures"], json!(["limit"]));
    assert_eq!(trajectory["steps"][1]["tool_calls"].as_array().unwrap().len(), 1);

    let scene = Scene::new([answer_text("half of the ").stall()]);
    let running = scene.print(["--output-format", "atif", "--lang", "en"]).start();
    scene.server.wait_for_requests(1);
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    let trajectory: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(trajectory["extra"]["failures"].as_array().unwrap().len(), 1, "{trajectory}");
}

#[test]
fn a_run_that_cannot_start_prints_no_trajectory() {
    let scene = Scene::new([]);
    let output =
        scene.ibeam_without_key(["-p", "x", "--model", "anthropic/x", "--output-format", "atif"]).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(20), ""), "{output}");
    let args = ["-p", "--input-format", "stream-json", "--output-format", "atif"];
    let output = scene.ibeam(args).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
}

#[test]
fn a_trajectory_of_another_agent_is_imported_and_continued() {
    let trajectory = json!({
        "schema_version": "ATIF-v1.6",
        "session_id": "run-1",
        "agent": { "name": "terminus-2", "version": "2.0.0", "model_name": "anthropic/claude" },
        "steps": [
            { "step_id": 1, "source": "user", "message": "Count the files" },
            { "step_id": 2, "source": "agent", "message": "I list them.", "tool_calls": [
                { "tool_call_id": "call_0_1", "function_name": "bash_command", "arguments": { "keystrokes": "ls\n" } },
            ], "observation": { "results": [{ "content": "a b c" }] } },
            { "step_id": 3, "source": "agent", "message": "There are 3 files." },
        ],
    });
    let scene = Scene::new([answer_text("They are a, b and c.")]);
    let file = scene.workspace.outside().join("trajectory.json");
    fs::write(&file, trajectory.to_string()).unwrap();
    let path = file.to_str().unwrap();
    let output = scene.ibeam(["-p", "Name them", "--from-atif", path]).run().succeeded();
    let sent = scene.server.requests()[0].transcript().join("\n");
    for part in
        ["Count the files", "I list them.", "bash_command", "a b c", "There are 3 files.", "Name them"]
    {
        assert!(sent.contains(part), "{part} is not in {sent}");
    }
    let id = output.stream().session_id().to_owned();
    let args = ["replay", &id, "--output-format", "atif"];
    let exported: Value =
        serde_json::from_str(&scene.ibeam_without_model(args).run().succeeded().stdout).unwrap();
    let messages: Vec<_> =
        exported["steps"].as_array().unwrap().iter().map(|step| step["message"].clone()).collect();
    assert_eq!(
        messages,
        ["Count the files", "I list them.", "There are 3 files.", "Name them", "They are a, b and c."]
    );
    let checked = scene.ibeam_without_model(["sessions", "check", &id]).run().succeeded();
    assert!(!checked.stdout.contains("gaps"), "{checked}");
}

#[test]
fn a_file_that_is_no_trajectory_is_an_error_that_names_it() {
    let scene = Scene::new([]);
    let file = scene.workspace.outside().join("x.json");
    fs::write(&file, "{}").unwrap();
    let path = file.to_str().unwrap();
    let missing = scene.workspace.missing().display().to_string();
    for (args, code) in [
        (vec!["--from-atif", path], 65),
        (vec!["--from-atif", &missing], 66),
        (vec!["--from-atif", path, "--continue"], 2),
        (vec!["--from-atif", ""], 2),
    ] {
        let output = scene.print(&args).run();
        assert_eq!(output.code, Some(code), "{args:?}: {output}");
        let named = if code == 2 { "--from-atif" } else { args[1] };
        assert!(output.stderr.contains(named), "{args:?}: {output}");
    }
}

#[test]
fn the_stream_of_every_agent_is_shown_as_a_page() {
    let scene = Scene::new([]);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../ibeam-dialects/tests/golden");
    for dialect in ["claude", "codex", "gemini", "opencode"] {
        let path = format!("{golden}/{dialect}-files/source.ndjson");
        let args = ["replay", &path, "--output-format", "html", "--lang", "en"];
        let page = scene.ibeam_without_model(args).run().succeeded().stdout;
        assert!(page.contains("\"k\":\"call\""), "{dialect}: {page}");
        let stdin = Stdin::Piped(fs::read(&path).unwrap());
        let args = ["replay", "-", "--output-format", "atif"];
        let atif = scene.ibeam_without_model(args).stdin(stdin).run().succeeded().stdout;
        let atif: Value = serde_json::from_str(&atif).unwrap();
        assert!(!atif["steps"].as_array().unwrap().is_empty(), "{dialect}");
    }
}

#[test]
fn the_spans_of_every_stream_have_their_own_ids_and_the_duration_of_their_run() {
    let scene = Scene::new([answer_shell("echo hi"), answer_text("done")]);
    let stream = scene.workspace.outside().join("own.ndjson");
    let printed = scene.print(["--force"]).run().succeeded().stdout;
    // Two runs, as a person would append them.
    fs::write(&stream, format!("{printed}{printed}")).unwrap();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../ibeam-dialects/tests/golden");
    let mut paths = vec![stream.to_str().unwrap().to_owned()];
    paths.extend(
        ["claude", "codex", "gemini", "opencode"].map(|name| format!("{golden}/{name}-files/source.ndjson")),
    );
    for path in paths {
        let args = ["replay", &path, "--output-format", "otlp"];
        let spans = spans(&scene.ibeam_without_model(args).run().succeeded().stdout);
        let ids: std::collections::BTreeSet<_> =
            spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), spans.len(), "{path}: {spans:#?}");
        for span in &spans {
            let at = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
            let seconds = (at("endTimeUnixNano") - at("startTimeUnixNano")) / 1_000_000_000;
            assert!(seconds < 3600, "{path}: {seconds} s: {span}");
        }
    }
}

/// Returns two sessions that differ in a call and a file. Each reads `n.txt` and writes a file of its own.
fn two_sessions() -> Scene {
    let answers = |name: &str| {
        [
            answer_call("t1", "read", &json!({ "path": "n.txt" })),
            answer_call("t2", "write", &json!({ "path": name, "fileText": "x" })),
            answer_text("done"),
        ]
    };
    let answers = [answers("a.txt"), answers("b.txt")].concat();
    let scene = Scene::new(answers).with_workspace(Workspace::new().file("n.txt", "42\n"));
    scene.print(["--force", "--model", "claude-sonnet-4-5"]).run().succeeded();
    scene.print(["--force", "--model", "claude-sonnet-4-5"]).run().succeeded();
    scene
}

#[test]
fn two_sessions_are_compared_in_calls_files_tokens_and_cost() {
    let scene = two_sessions();
    let diff = |args: &[&str]| scene.ibeam_without_model(["diff"]).args(args).args(["--lang", "en"]).run();
    let text = diff(&["-2", "-1"]).succeeded().stdout;
    let lists = text.split_once("\n\ncalls\n").unwrap().1;
    assert_eq!(lists, "  read n.txt\n- write a.txt\n+ write b.txt\n\nchanged files\n- a.txt\n+ b.txt\n");
    for row in ["model requests", "tokens read", "tokens written"] {
        let values: Vec<_> = text.lines().find(|line| line.starts_with(row)).unwrap().split("  ").collect();
        assert!(values.last().unwrap().trim().parse::<u64>().is_ok_and(|count| count > 0), "{row}: {text}");
    }
    let json: Value = serde_json::from_str(&diff(&["-2", "-1", "--json"]).succeeded().stdout).unwrap();
    for side in ["a", "b"] {
        let side = &json[side];
        assert_eq!(
            (&side["runs"], &side["requests"], &side["tool_calls"]),
            (&json!(1), &json!(3), &json!(2))
        );
        assert_eq!((&side["outcome"], &side["files_changed"]), (&json!("completed"), &json!(1)));
        assert!(side["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{side}");
        assert!(side["usage"]["outputTokens"].as_u64().is_some_and(|count| count > 0), "{side}");
    }
    assert_ne!(json["a"]["session_id"], json["b"]["session_id"]);
    assert_eq!(
        json["calls"][1],
        json!({ "in": "a", "tool": "write", "target": "a.txt", "outcome": "success" })
    );
    assert_eq!(json["files_changed"][1], json!({ "in": "b", "path": "b.txt" }));
}

#[test]
fn a_session_is_compared_with_its_own_stream_and_with_those_of_other_agents() {
    let scene = two_sessions();
    let stream = scene.workspace.outside().join("own.ndjson");
    fs::write(&stream, scene.ibeam_without_model(["replay", "-1"]).run().succeeded().stdout).unwrap();
    let diff = |other: &str| -> Value {
        let args = ["diff", "-1", other, "--json"];
        serde_json::from_str(&scene.ibeam_without_model(args).run().succeeded().stdout).unwrap()
    };
    let own = diff(stream.to_str().unwrap());
    for key in ["session_id", "requests", "usage", "cost_usd", "duration_ms", "outcome", "tool_calls"] {
        assert_eq!(own["a"][key], own["b"][key], "{key}: {own}");
    }
    for list in ["calls", "files_changed"] {
        assert!(own[list].as_array().unwrap().iter().all(|entry| entry["in"] == "both"), "{own}");
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../ibeam-dialects/tests/golden");
    for dialect in ["claude", "codex", "gemini", "opencode"] {
        let other = diff(&format!("{golden}/{dialect}-files/source.ndjson"));
        assert!(other["b"]["tool_calls"].as_u64().is_some_and(|count| count > 0), "{dialect}: {other}");
        assert_eq!(other["b"]["outcome"], "completed", "{dialect}: {other}");
    }
}

#[test]
fn a_comparison_names_what_cannot_be_read() {
    let scene = two_sessions();
    let missing = scene.workspace.missing().display().to_string();
    for (args, code, named) in [
        (vec!["-1", &missing], 66, missing.as_str()),
        (vec!["-1", "-9"], 66, "9"),
        (vec!["-1", "-2", "--stat"], 2, "--stat"),
        (vec!["-1", "--json"], 2, "OTHER"),
    ] {
        let output = scene.ibeam_without_model(["diff"]).args(&args).run();
        assert_eq!(output.code, Some(code), "{args:?}: {output}");
        assert!(output.stderr.contains(named), "{args:?}: {output}");
    }
}

/// Runs the commands of docs/trace.md as they are printed.
#[test]
fn the_commands_of_the_page_work() {
    let commands: Vec<_> =
        PAGE.split("```sh\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert!(commands.len() >= 3, "the page has its examples");
    for command in commands {
        let scene = Scene::new([answer_shell("echo hi"), answer_text("done"), answer_text("more")]);
        scene.print(["--force"]).run().succeeded();
        scene.print(["--force"]).run().succeeded();
        let trajectory = scene.workspace.path().join("trajectory.json");
        let args = ["replay", "-1", "--output-format", "atif"];
        fs::write(trajectory, scene.ibeam_without_model(args).run().succeeded().stdout).unwrap();
        let scene = scene.with_answers([answer_text("done"), answer_text("more")]);
        let unreachable = unreachable_url();
        let script = command
            .replace("http://localhost:4318", &unreachable)
            .lines()
            .map(|line| line.replace("ibeam ", "\"$0\" ") + "\n")
            .collect::<String>();
        let program = scene.ibeam::<&str>([]);
        let output = program.through(["sh", "-euc", &script]).run();
        assert_eq!(output.code, Some(0), "{command}\n{output}");
    }
}
