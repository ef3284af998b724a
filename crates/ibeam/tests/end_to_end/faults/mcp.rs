//! Faults of MCP servers: missing, hanging, crashing, flooding, slow. Each server is a real process.

use ibeam_protocol::Signal;
use ibeam_testkit::{LivenessPipe, ProgramOutput, Workspace};
use serde_json::json;

use crate::mcp::{call, offered, results, servers, table, workspace};
use crate::scene::{Scene, answer_text};

/// More than a run without servers takes, less than what a flood would.
const MEMORY: u64 = 200 << 20;

#[track_caller]
fn check_failed(scene: &Scene, output: &ProgramOutput, message: &str) {
    assert_eq!(servers(scene, output), json!([{ "name": "test", "status": "failed" }]), "{output}");
    let warnings = output.stderr_lines("warning: ");
    assert_eq!(warnings.len(), 1, "{output}");
    assert!(warnings[0].contains("`test`") && warnings[0].contains(message), "{message}: {output}");
}

#[test]
fn f172_a_server_that_is_missing_is_told_and_the_run_goes_on() {
    let workspace = Workspace::new().user_config("[mcp_servers.test]\ncommand = \"/nowhere/server\"\n");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed(&scene, &output, "`/nowhere/server` cannot be started");
}

#[test]
fn f172_a_server_that_ends_at_once_is_told_with_its_last_words() {
    let Some(workspace) = workspace(&["exit=3"]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed(&scene, &output, "it ended (exit status: 3); its stderr ends with: [1mno licence found");
}

#[test]
fn f172_a_server_of_an_unknown_revision_is_told_and_not_used() {
    let Some(workspace) = workspace(&["version=1999-01-01"]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed(&scene, &output, "revision `1999-01-01`");
    assert_eq!(offered(&scene), Vec::<String>::new());
}

#[test]
fn f172_a_server_that_lists_no_tools_within_reason_is_told_in_a_line() {
    for (how, message) in [
        ("long_list", "its list of tools is longer than 1024 kB"),
        ("refuse", "it answered with error -32000: not today not today"),
    ] {
        let Some(workspace) = workspace(&[how]) else { return };
        let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
        let output = scene.print::<&str>([]).run().succeeded();
        check_failed(&scene, &output, message);
        assert!(output.stderr.len() < 1000, "{output}");
    }
}

#[test]
fn f172_a_required_server_that_is_missing_ends_the_run() {
    let config = "[mcp_servers.test]\ncommand = \"/nowhere/server\"\nrequired = true\n";
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
    let output = scene.print::<&str>([]).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(78), ""), "{output}");
    assert!(
        output.stderr_lines("error: ")[0].contains("required MCP server `test` did not start"),
        "{output}"
    );
    assert!(output.stderr_lines("hint: ")[0].contains("required = false"), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn f173_a_server_that_hangs_in_initialize_is_killed_at_its_bound() {
    let Some(table) = table("test", &["hold=line", "deaf", "hang"]) else { return };
    let config = format!("{table}\n[timeouts]\nmcp_start = \"5s\"\n");
    let workspace = workspace(&[]).unwrap().user_config(&config);
    let mut lifeline = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed(&scene, &output, "it was not ready within 5 s and was killed");
    assert_eq!(output.stream().last()["result"], "done");
    lifeline.wait_until_held();
    lifeline.wait_until_gone();
}

#[test]
fn f173_the_bound_is_10_s_unless_somebody_sets_it() {
    let scene = Scene::new([]);
    let explained = scene.ibeam_without_model(["config", "explain"]).run().succeeded().stdout;
    let line = explained.lines().find(|line| line.starts_with("timeouts.mcp_start")).unwrap();
    assert!(line.contains("= \"10s\"") && line.ends_with("# default"), "{line}");
}

#[test]
fn f174_a_crash_during_a_call_is_an_error_and_the_server_is_started_again_once() {
    let Some(workspace) = workspace(&["starts=starts"]) else { return };
    let echo = || call("echo", json!({ "text": "alive" }));
    let answers =
        [call("crash", json!({})), echo(), call("crash", json!({})), echo(), echo(), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let results = results(&output);
    let arms: Vec<&str> = results.iter().map(|(arm, _)| arm.as_str()).collect();
    assert_eq!(arms, ["error", "success", "error", "error", "error"], "{output}");
    let message = |at: usize| results[at].1["errorMessage"].as_str().unwrap();
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
fn f174_a_crash_ends_every_call_that_was_waiting() {
    let Some(workspace) = workspace(&["all_read"]) else { return };
    let together = call("silence", json!({})).call("toolu_crash", "mcp_test_crash", &json!({}));
    let answers = [together, call("echo", json!({ "text": "alive" })), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let arms: Vec<String> = results(&output).into_iter().map(|(arm, _)| arm).collect();
    assert_eq!(arms, ["error", "error", "success"], "{output}");
}

#[test]
fn f175_a_flood_on_stdout_is_no_mcp_server() {
    let Some(workspace) = workspace(&["flood_stdout"]) else { return };
    let scene = Scene::new([answer_text("done")]).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    check_failed(&scene, &output, "it writes lines that are not MCP messages: `y`");
}

#[test]
fn f175_a_flood_on_stderr_is_read_and_not_kept() {
    let Some(workspace) = workspace(&["flood_stderr"]) else { return };
    let answers = [call("await_file", json!({ "name": "go" })), answer_text("done")];
    let scene = Scene::new(answers).with_workspace(workspace);
    let running = scene.print(["--force"]).start();
    // 64 MB have been read before the server answered the first time.
    running.wait_for_stdout("\"subtype\":\"started\"");
    let peak = running.peak_memory();
    assert!(peak < MEMORY, "{peak} bytes");
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
    let output = running.finish().succeeded();
    assert_eq!(results(&output)[0].0, "success", "{output}");
}

#[test]
fn f175_a_line_beyond_the_cap_is_an_error_of_its_call() {
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
fn nothing_of_a_deaf_server_outlives_its_run() {
    let Some(workspace) = workspace(&["hold=line", "deaf"]) else { return };
    let mut lifeline = LivenessPipe::new(&workspace, "line");
    let scene =
        Scene::new([call("echo", json!({ "text": "x" })), answer_text("done")]).with_workspace(workspace);
    scene.print(["--force"]).run().succeeded();
    lifeline.wait_until_held();
    lifeline.wait_until_gone();
}

#[test]
fn nothing_of_a_deaf_server_outlives_a_signal() {
    let Some(workspace) = workspace(&["hold=line", "deaf"]) else { return };
    let mut lifeline = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([call("silence", json!({})), answer_text("done")]).with_workspace(workspace);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    let results = results(&output);
    // The signal may come before the call was allowed.
    let ended = |key: &str, word: &str| results[0].1[key].as_str().is_some_and(|text| text.contains(word));
    assert!(ended("errorMessage", "interrupted") || ended("reason", "not executed"), "{output}");
    lifeline.wait_until_gone();
}

#[test]
fn f173_a_signal_while_servers_start_ends_the_run_and_them() {
    let Some(workspace) = workspace(&["hold=line", "deaf", "hang"]) else { return };
    let mut lifeline = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([]).with_workspace(workspace);
    let running = scene.print::<&str>([]).start();
    lifeline.wait_until_held();
    running.signal(Signal::Int);
    assert_eq!(running.finish().code, Some(130));
    lifeline.wait_until_gone();
}

#[test]
fn f153_an_agent_that_is_killed_leaves_no_server() {
    let Some(workspace) = workspace(&["hold=line", "deaf"]) else { return };
    let mut lifeline = LivenessPipe::new(&workspace, "line");
    let scene = Scene::new([call("silence", json!({}))]).with_workspace(workspace);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.kill_alone();
    lifeline.wait_until_gone();
}

#[test]
fn f173_the_time_of_the_run_bounds_the_start_of_servers_too() {
    let Some(workspace) = workspace(&["hang"]) else { return };
    let scene = Scene::new([]).with_workspace(workspace);
    let output = scene.print(["--timeout", "500ms"]).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(33), ""), "{output}");
}
