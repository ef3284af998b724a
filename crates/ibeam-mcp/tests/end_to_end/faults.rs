//! Faults of MCP servers: missing, hanging, crashing, flooding, slow. Each server is a real process.

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_text, check_unstarted, results};
use ibeam_testkit::stdio_mcp_server::{call, offered, servers, table, workspace};
use ibeam_testkit::{LivenessPipe, ProgramOutput, Workspace};
use serde_json::json;

/// More bytes than a run without servers uses, and fewer than a flood.
const MAX_MEMORY: u64 = 200 << 20;

#[track_caller]
pub(super) fn check_failed_server(scene: &Scene, output: &ProgramOutput, message: &str) {
    assert_eq!(servers(scene, output), json!([{ "name": "test", "status": "failed" }]), "{output}");
    let warnings = output.stderr_lines("warning: ");
    assert_eq!(warnings.len(), 1, "{output}");
    assert!(warnings[0].contains("`test`") && warnings[0].contains(message), "{message}: {output}");
}

#[test]
fn f172_a_missing_server_is_reported_and_the_run_continues() {
    let workspace = Workspace::new().user_config("[mcp_servers.test]\ncommand = \"/nowhere/server\"\n");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed_server(&scene, &output, "`/nowhere/server` cannot be started");
}

#[test]
fn f172_a_server_that_exits_at_once_is_reported_with_its_stderr() {
    let Some(workspace) = workspace(&["exit=3"]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed_server(
        &scene,
        &output,
        "it ended (exit status: 3); its stderr ends with: [1mno licence found",
    );
}

#[test]
fn f172_a_server_with_an_unknown_revision_is_reported_and_not_used() {
    let Some(workspace) = workspace(&["version=1999-01-01"]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed_server(&scene, &output, "revision `1999-01-01`");
    assert_eq!(offered(&scene), Vec::<String>::new());
}

#[test]
fn f172_an_invalid_list_of_tools_is_reported_in_one_line() {
    for (behavior, message) in [
        ("long_list", "its list of tools is longer than 1024 kB"),
        ("refuse", "it answered with error -32000: not today not today"),
    ] {
        let Some(workspace) = workspace(&[behavior]) else { return };
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
        let output = scene.print::<&str>([]).run().succeeded();
        check_failed_server(&scene, &output, message);
        assert!(output.stderr.len() < 1000, "{output}");
    }
}

#[test]
fn f172_a_required_server_that_is_missing_ends_the_run() {
    let config = "[mcp_servers.test]\ncommand = \"/nowhere/server\"\nrequired = true\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let output = scene.print::<&str>([]).run();
    check_unstarted(&output, 78);
    assert!(output.stderr_lines("error: ")[0].contains("the MCP server `test` did not start"), "{output}");
    assert!(output.stderr_lines("hint: ")[0].contains("required = true"), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn f173_a_server_that_hangs_in_initialize_is_killed_at_its_timeout() {
    let Some(table) = table("test", &["hold=line", "deaf", "hang"]) else { return };
    let config = format!("{table}\n[timeouts]\nmcp_start = \"5s\"\n");
    let workspace = workspace(&[]).unwrap().user_config(&config);
    let mut pipe = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed_server(&scene, &output, "it was not ready within 5 s and was killed");
    assert_eq!(output.stream().last()["result"], "done");
    pipe.wait_until_held();
    pipe.wait_until_gone();
}

#[test]
fn f173_the_default_timeout_is_10_s() {
    let scene = Scene::new([]);
    let explained = scene.ibeam_without_model(["config", "explain"]).run().succeeded().stdout;
    let line = explained.lines().find(|line| line.starts_with("timeouts.mcp_start")).unwrap();
    assert!(line.contains("= \"10s\"") && line.ends_with("# default"), "{line}");
}

#[test]
fn f174_a_crash_during_a_call_is_an_error_and_the_server_is_restarted_once() {
    let Some(workspace) = workspace(&["starts=starts"]) else { return };
    let echo = || call("echo", json!({ "text": "alive" }));
    let answers =
        [call("crash", json!({})), echo(), call("crash", json!({})), echo(), echo(), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let results = results(&output);
    let arms: Vec<&str> = results.iter().map(|(arm, _)| arm.as_str()).collect();
    assert_eq!(arms, ["error", "success", "error", "error", "error"], "{output}");
    let message = |index: usize| results[index].1["errorMessage"].as_str().unwrap();
    assert!(
        message(0).contains("failed during the call") && message(0).contains("exit status: 7"),
        "{output}"
    );
    assert!(message(0).ends_with("its stderr ends with: [31mthe disk is on fire"), "{output}");
    assert!(message(3).contains("failed twice in this run"), "{output}");
    assert_eq!(scene.workspace.read("starts").as_deref(), Some("started\nstarted\n"));
    assert_eq!(output.stream().last()["ibeam"]["failed_tool_calls"], 4);
}

#[test]
fn f174_a_crash_ends_every_pending_call() {
    let Some(workspace) = workspace(&["all_read"]) else { return };
    let both_calls = call("silence", json!({})).call("toolu_crash", "mcp_test_crash", &json!({}));
    let answers = [both_calls, call("echo", json!({ "text": "alive" })), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let arms: Vec<String> = results(&output).into_iter().map(|(arm, _)| arm).collect();
    assert_eq!(arms, ["error", "error", "success"], "{output}");
}

#[test]
fn f175_a_flood_on_stdout_is_not_an_mcp_server() {
    let Some(workspace) = workspace(&["flood_stdout"]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed_server(&scene, &output, "it writes lines that are not MCP messages: `y`");
}

#[test]
fn f175_a_flood_on_stderr_is_read_and_not_stored() {
    let Some(workspace) = workspace(&["flood_stderr"]) else { return };
    let answers = [call("await_file", json!({ "name": "go" })), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let running = scene.print(["--force"]).start();
    // The server writes 64 MB before its first answer.
    running.wait_for_stdout("\"subtype\":\"started\"");
    let peak = running.peak_memory();
    assert!(peak < MAX_MEMORY, "{peak} bytes");
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
    let output = running.finish().succeeded();
    assert_eq!(results(&output)[0].0, "success", "{output}");
}

#[test]
fn f175_a_line_above_the_maximum_size_is_an_error_of_its_call() {
    let Some(workspace) = workspace(&[]) else { return };
    let answers =
        [call("long_line", json!({})), call("echo", json!({ "text": "alive" })), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let results = results(&output);
    let message = results[0].1["errorMessage"].as_str().unwrap();
    assert!(message.contains("a line of more than 16 MB"), "{output}");
    assert_eq!(results[1].0, "success", "{output}");
}

#[test]
fn f178_the_first_request_waits_for_a_slow_server() {
    let Some(workspace) = workspace(&["slow_list=2"]) else { return };
    let scene =
        Scene::new([call("echo", json!({ "text": "x" })), answer_text("done")]).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(offered(&scene).len(), 9, "{output}");
    assert_eq!(results(&output)[0].0, "success", "{output}");
}

#[test]
fn a_server_that_ignores_signals_ends_with_its_run() {
    let Some(workspace) = workspace(&["hold=line", "deaf"]) else { return };
    let mut pipe = LivenessPipe::new(&workspace, "line");
    let scene =
        Scene::new([call("echo", json!({ "text": "x" })), answer_text("done")]).with_workspace(workspace);
    scene.print(["--force"]).run().succeeded();
    pipe.wait_until_held();
    pipe.wait_until_gone();
}

#[test]
fn a_server_that_ignores_signals_ends_when_its_run_is_stopped() {
    let Some(workspace) = workspace(&["hold=line", "deaf"]) else { return };
    let mut pipe = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([call("silence", json!({})), answer_text("done")]).with_workspace(workspace);
    let running = scene.print(["--force"]).start();
    pipe.wait_until_held();
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    let results = results(&output);
    // The signal may arrive before the call was allowed.
    let contains = |key: &str, part: &str| results[0].1[key].as_str().is_some_and(|text| text.contains(part));
    assert!(contains("errorMessage", "interrupted") || contains("reason", "not executed"), "{output}");
    pipe.wait_until_gone();
}

#[test]
fn f173_a_signal_while_servers_start_ends_the_run_and_the_servers() {
    let Some(workspace) = workspace(&["hold=line", "deaf", "hang"]) else { return };
    let mut pipe = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([]).with_workspace(workspace);
    let running = scene.print::<&str>([]).start();
    pipe.wait_until_held();
    running.signal(Signal::Int);
    assert_eq!(running.finish().code, Some(130));
    pipe.wait_until_gone();
}

#[test]
fn f153_an_agent_that_is_killed_leaves_no_server() {
    let Some(workspace) = workspace(&["hold=line", "deaf"]) else { return };
    let mut pipe = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([call("silence", json!({}))]).with_workspace(workspace);
    let running = scene.print(["--force"]).start();
    pipe.wait_until_held();
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.kill_alone();
    pipe.wait_until_gone();
}

#[test]
fn f173_the_timeout_of_the_run_limits_the_start_of_servers() {
    let Some(workspace) = workspace(&["hang"]) else { return };
    let scene = Scene::new([]).with_workspace(workspace);
    let output = scene.print(["--timeout", "500ms"]).run();
    check_unstarted(&output, 33);
}
