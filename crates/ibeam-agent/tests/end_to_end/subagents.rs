//! Sub-agents: the tool `task`, the sessions of sub-agents, and their limits.

use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, journal};
use ibeam_testkit::{Answer, LivenessPipe, Stream, Workspace};
use serde_json::{Value, json};

/// Returns a scene whose user has enabled sub-agents, with these answers.
pub(crate) fn scene(answers: impl IntoIterator<Item = Answer>) -> Scene {
    Scene::new(answers).with_workspace(Workspace::new().user_config("subagents.mode = \"enabled\"\n"))
}

/// Returns an answer with one call of `task`.
pub(crate) fn answer_task(arguments: &Value) -> Answer {
    let mut all = json!({"description": "look", "prompt": "Look at it."});
    for (name, value) in arguments.as_object().unwrap() {
        all[name] = value.clone();
    }
    answer_call("t1", "task", &all)
}

/// Returns the events of the tool calls of a subtype.
fn calls<'a>(stream: &'a Stream, subtype: &str) -> Vec<&'a Value> {
    let is_call = |event: &&Value| event["type"] == "tool_call" && event["subtype"] == subtype;
    stream.events.iter().filter(is_call).collect()
}

/// Returns the id of the only sub-agent.
fn agent_id(stream: &Stream) -> String {
    let started = calls(stream, "started");
    started[0].pointer("/tool_call/taskToolCall/args/agentId").unwrap().as_str().unwrap().to_owned()
}

/// Returns the message of the failed call of a sub-agent.
fn error_message(stream: &Stream) -> String {
    let completed = calls(stream, "completed");
    let message = completed[0].pointer("/tool_call/taskToolCall/result/error/errorMessage");
    message.unwrap_or_else(|| panic!("{completed:?}")).as_str().unwrap().to_owned()
}

/// Returns the names of the tools in the n-th model request.
fn offered(scene: &Scene, request: usize) -> Vec<String> {
    let requests = scene.server.requests();
    let tools = requests[request].body["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_sub_agent_works_in_its_own_session_and_its_usage_counts_once() {
    let scene = scene([
        answer_task(&json!({})),
        answer_call("c1", "ls", &json!({"path": "."})),
        answer_text("It is empty."),
        answer_text("Done."),
    ]);
    let output = scene.print::<&str>([]).run().succeeded();
    let stream = output.stream();
    assert_eq!(stream.outline(), ["system", "user", "started task", "completed task", "text", "result"]);
    assert_eq!(stream.deltas(), ["Done."], "the text of a sub-agent is not that of the run");
    let id = agent_id(&stream);
    let success = calls(&stream, "completed")[0].pointer("/tool_call/taskToolCall/result/success").unwrap();
    assert_eq!(success["agentId"], *id);
    assert_eq!(success["conversationSteps"], json!([{"assistantMessage": {"text": "It is empty."}}]));
    let last = stream.last();
    assert_eq!((&last["usage"]["inputTokens"], &last["usage"]["outputTokens"]), (&json!(400), &json!(40)));
    assert_eq!((&last["ibeam"]["turns"], &last["ibeam"]["models"][0]["requests"]), (&json!(4), &json!(4)));
    let requests = scene.server.requests();
    assert_eq!(requests[1].transcript(), ["user: Look at it."], "it receives the task only");
    let result = requests[3].transcript().join("\n");
    assert!(result.contains("It is empty.") && result.contains(&id), "{result}");
    let events = journal(&scene, &id);
    assert_eq!(events[0]["kind"]["session_started"]["parent"], *stream.session_id());
    assert!(!events.last().unwrap()["kind"]["run_finished"].is_null());
    let listed = scene.ibeam_without_model(["ls"]).run().succeeded();
    assert!(listed.stdout.contains(stream.session_id()) && !listed.stdout.contains(&id), "{listed}");
    let scene = scene.with_answers([answer_text("Still here.")]);
    let next = scene.ibeam(["-p", "go on", "--continue"]).run().succeeded();
    assert_eq!(next.stream().session_id(), stream.session_id());
}

#[test]
fn sub_agents_that_only_read_run_at_the_same_time() {
    let task = |prompt: &str| json!({"description": "look", "prompt": prompt, "readonly": true});
    let both = Answer::new().call("t1", "task", &task("One.")).call("t2", "task", &task("Two."));
    let slow = || answer_text("It ").pause(Duration::from_millis(200)).text("is.");
    let scene = scene([both, slow(), slow(), answer_text("Done.")]);
    let output = scene.print::<&str>([]).run().succeeded();
    let stream = output.stream();
    let outline = stream.outline();
    assert_eq!(
        outline[2..6],
        ["started task", "started task", "completed task", "completed task"],
        "{outline:?}"
    );
    assert_eq!(stream.last()["usage"]["inputTokens"], 400);
    assert!(!offered(&scene, 1).iter().any(|tool| tool == "shell" || tool == "write"));
}

/// A kind of failure is reported once, so a report in the sub-agent alone would be the only one.
#[test]
fn a_hook_that_fails_in_a_sub_agent_is_named_in_the_run() {
    let scene = scene([
        answer_task(&json!({})),
        answer_shell("echo here"),
        answer_text("It is empty."),
        answer_text("Done."),
    ]);
    let hooks = r#"{"version": 1, "hooks": {"beforeShellExecution": [{"command": "/nowhere/check.sh"}]}}"#;
    let path = scene.workspace.home().join(".config/ibeam/hooks.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, hooks).unwrap();
    let output = scene.print(["--force", "--output-format", "text"]).run().succeeded();
    assert!(output.stderr.contains("/nowhere/check.sh"), "{output}");
}

#[test]
fn a_failure_of_a_sub_agent_is_a_tool_error_with_its_reason() {
    let scene = scene([
        answer_task(&json!({})),
        Answer::error(400, "invalid_request_error", "no such thing"),
        answer_text("I did it myself."),
    ]);
    let output = scene.print::<&str>([]).run().succeeded();
    let stream = output.stream();
    let message = error_message(&stream);
    assert!(message.contains("no such thing") && message.contains(&agent_id(&stream)), "{message}");
    assert_eq!(stream.last()["ibeam"]["failed_tool_calls"], 1);
}

#[test]
fn a_stop_of_the_run_ends_its_sub_agents_in_order() {
    let scene = scene([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let command = lifeline.command();
    let scene = scene.with_answers([answer_task(&json!({})), answer_shell(&command)]);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    running.signal(Signal::Int);
    let output = running.finish();
    lifeline.wait_until_gone();
    assert_eq!(output.code, Some(130), "{output}");
    let stream = output.stream();
    assert!(error_message(&stream).contains("failed"), "{output}");
    assert_eq!(stream.last()["ibeam"]["turns"], 2, "the request of the sub-agent counts");
    let events = journal(&scene, &agent_id(&stream));
    let end = &events.last().unwrap()["kind"]["run_finished"];
    assert!(!end["outcome"]["failed"].is_null(), "{end}");
    assert!(events.iter().any(|event| !event["kind"]["tool_call_finished"].is_null()));
}

#[test]
fn the_limits_of_the_run_bound_the_sum_of_all_requests() {
    let scene = scene([
        answer_task(&json!({})),
        answer_call("c1", "ls", &json!({"path": "."})),
        answer_call("c2", "ls", &json!({"path": "/"})),
        answer_text("never sent"),
    ]);
    let output = scene.print(["--max-turns", "3"]).run();
    assert_eq!(output.code, Some(30), "{output}");
    let stream = output.stream();
    assert!(error_message(&stream).contains("limit"), "{output}");
    assert_eq!(stream.last()["ibeam"]["turns"], 3);
    assert_eq!(scene.server.requests().len(), 3);
}

#[test]
fn sub_agents_at_the_same_time_share_the_limits() {
    let task = |prompt: &str| json!({"description": "look", "prompt": prompt, "readonly": true});
    let all = (0..8).fold(Answer::new(), |answer, at| answer.call(&format!("t{at}"), "task", &task("Look.")));
    let slow =
        |at| answer_call(&format!("c{at}"), "ls", &json!({"path": "."})).delay(Duration::from_millis(50));
    let scene = scene([all].into_iter().chain((0..12).map(slow)));
    let output = scene.print(["--max-turns", "4"]).run();
    assert_eq!(output.code, Some(30), "{output}");
    assert_eq!(scene.server.requests().len(), 4, "each sub-agent reserves its request; {output}");
}

#[test]
fn a_sub_agent_is_resumed_by_its_id_in_the_same_session_only() {
    let scene = scene([answer_task(&json!({})), answer_text("It is red."), answer_text("Red.")]);
    let output = scene.print::<&str>([]).run().succeeded();
    let (parent, id) = (output.stream().session_id().to_owned(), agent_id(&output.stream()));
    let resumed = json!({"prompt": "And now?", "resume": id});
    let scene = scene.with_answers([answer_task(&resumed), answer_text("It is blue."), answer_text("Blue.")]);
    let output = scene.ibeam(["-p", "again", "--resume", &parent]).run().succeeded();
    assert_eq!(agent_id(&output.stream()), id);
    let sent = scene.server.requests()[1].transcript();
    assert_eq!(sent, ["user: Look at it.", "assistant: It is red.", "user: And now?"]);
    let scene = scene.with_answers([answer_task(&json!({"resume": parent})), answer_text("No.")]);
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(error_message(&output.stream()).contains("there is no session"), "{output}");
    let scene = scene.with_answers([answer_task(&json!({"resume": id})), answer_text("No.")]);
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(error_message(&output.stream()).contains("there is no session"), "another run: {output}");
}

#[test]
fn a_sub_agent_may_do_no_more_than_its_parent() {
    for args in [&["--deny", "Shell(touch:*)", "--force"][..], &["--mode", "plan"], &["--without", "shell"]] {
        let scene = scene([
            answer_task(&json!({})),
            answer_shell("touch made"),
            answer_text("I could not."),
            answer_text("Done."),
        ]);
        let output = scene.print(args).run().succeeded();
        assert_eq!(scene.workspace.read("made"), None, "{args:?}: {output}");
        let events = journal(&scene, &agent_id(&output.stream()));
        let finished = events.iter().find(|event| !event["kind"]["tool_call_finished"].is_null()).unwrap();
        let outcome = &finished["kind"]["tool_call_finished"]["outcome"];
        assert!(outcome.get("success").is_none(), "{args:?}: {outcome}");
    }
}

#[test]
fn the_depth_of_sub_agents_is_bounded() {
    let nested = scene([answer_task(&json!({})), answer_text("one"), answer_text("Done.")]);
    nested.print::<&str>([]).run().succeeded();
    assert!(offered(&nested, 0).contains(&"task".to_owned()));
    assert!(!offered(&nested, 1).contains(&"task".to_owned()));
    let config = "[subagents]\nmode = \"enabled\"\nmax_depth = 2\n";
    let deep = Scene::new([
        answer_task(&json!({})),
        answer_task(&json!({})),
        answer_text("two"),
        answer_text("one"),
        answer_text("Done."),
    ])
    .with_workspace(Workspace::new().user_config(config));
    let output = deep.print::<&str>([]).run().succeeded();
    assert!(offered(&deep, 1).contains(&"task".to_owned()));
    assert!(!offered(&deep, 2).contains(&"task".to_owned()));
    assert_eq!(output.stream().last()["usage"]["inputTokens"], 500, "each request counts once");
}

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews a change\ntools: Read, Grep, Glob\n\
                        model: anthropic/claude-haiku-4-5\n---\nBe strict about names.\n";

#[test]
fn a_definition_of_the_user_gives_a_sub_agent_its_instructions_tools_and_model() {
    let scene = Scene::new([
        answer_task(&json!({"subagentType": "reviewer"})),
        answer_text("Fine."),
        answer_text("Done."),
    ]);
    let directory = scene.workspace.home().join(".claude/agents");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("reviewer.md"), REVIEWER).unwrap();
    std::fs::write(directory.join("broken.md"), "---\nname: x\n---\n").unwrap();
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(output.stderr.contains("broken.md") && output.stderr.contains("description"), "{output}");
    let requests = scene.server.requests();
    assert!(requests[0].body["tools"].to_string().contains("reviewer: Reviews a change"));
    assert!(requests[1].body["system"].to_string().contains("Be strict about names."));
    assert_eq!(requests[1].body["model"], "claude-haiku-4-5");
    assert_eq!(requests[2].body["model"], requests[0].body["model"]);
    let mut tools = offered(&scene, 1);
    tools.sort();
    assert_eq!(tools, ["glob", "grep", "read"]);
    let models = output.stream().last()["ibeam"]["models"].clone();
    assert_eq!((&models[0]["requests"], &models[1]["requests"]), (&json!(2), &json!(1)), "{models}");
}

#[test]
fn the_definitions_of_a_repository_count_only_when_it_is_trusted() {
    let answers = || [answer_text("Done.")];
    let workspace = Workspace::new().file(".ibeam/agents/reviewer.md", REVIEWER);
    let scene = Scene::new(answers()).with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(!offered(&scene, 0).contains(&"task".to_owned()));
    assert!(output.stderr.contains(".ibeam/agents") && output.stderr.contains("--trust"), "{output}");
    let scene = scene.with_answers(answers());
    let output = scene.print(["--trust"]).run().succeeded();
    assert!(offered(&scene, 0).contains(&"task".to_owned()), "{output}");
}

#[test]
fn sub_agents_are_offered_only_where_there_are_some() {
    let plain = Scene::new([answer_text("Done.")]);
    plain.print::<&str>([]).run().succeeded();
    assert!(!offered(&plain, 0).contains(&"task".to_owned()));
    let without = scene([answer_text("Done.")]);
    without.print(["--without", "task"]).run().succeeded();
    assert!(!offered(&without, 0).contains(&"task".to_owned()));
}

#[test]
fn a_run_that_is_killed_during_a_task_leaves_two_sessions_that_can_be_resumed() {
    let scene = scene([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let command = lifeline.command();
    let scene = scene.with_answers([answer_task(&json!({})), answer_shell(&command)]);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    running.kill_alone();
    lifeline.wait_until_gone();
    let lines = running.finish().stdout;
    let started: Value =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).next_back().unwrap();
    let id = started.pointer("/tool_call/taskToolCall/args/agentId").unwrap().as_str().unwrap().to_owned();
    let parent = started["session_id"].as_str().unwrap().to_owned();
    let resumed = json!({"prompt": "Go on.", "resume": id});
    let scene = scene.with_answers([answer_task(&resumed), answer_text("It is."), answer_text("Done.")]);
    let output = scene.ibeam(["-p", "go on", "--continue"]).run().succeeded();
    assert_eq!(output.stream().session_id(), parent);
    let requests = scene.server.requests();
    let first = requests[0].transcript().join("\n");
    assert!(first.contains("interrupted") && first.contains(&id), "{first}");
    let child = requests[1].transcript().join("\n");
    assert!(child.contains("interrupted") && child.contains("user: Go on."), "{child}");
}

#[test]
fn wrong_arguments_and_unknown_names_are_explained_to_the_model() {
    for (arguments, expect) in [
        (json!({"prompt": " "}), "`prompt` is empty"),
        (json!({"subagentType": "nobody"}), "there is no sub-agent `nobody`"),
        (json!({"resume": "not an id"}), "a call looks like"),
        (json!({"model": "no/such"}), "was not started"),
    ] {
        let scene = scene([answer_task(&arguments), answer_text("Done.")]);
        let output = scene.print::<&str>([]).run().succeeded();
        assert!(error_message(&output.stream()).contains(expect), "{arguments}: {output}");
    }
}

/// Returns a scene with a definition `slow` whose time limit is one second.
fn slow_scene(answers: impl IntoIterator<Item = Answer>) -> Scene {
    let definition = "---\nname: slow\ndescription: Takes its time\ntimeout: 1s\n---\nBe slow.\n";
    Scene::new(answers).with_workspace(Workspace::new().file(".ibeam/agents/slow.md", definition))
}

#[test]
fn a_task_ends_at_the_time_limit_of_its_definition_and_the_run_continues() {
    let scene = slow_scene([
        answer_task(&json!({"subagentType": "slow"})),
        answer_shell("sleep 300"),
        answer_text("Done."),
    ]);
    let output = scene.print(["--trust", "--force", "--lang", "en"]).run().succeeded();
    let stream = output.stream();
    assert_eq!(stream.deltas(), ["Done."]);
    let message = error_message(&stream);
    assert!(message.ends_with("failed: the run took longer than 1 s"), "{message}");
    let events = journal(&scene, &agent_id(&stream));
    assert!(!events.last().unwrap()["kind"]["run_finished"].is_null(), "it ended in order");
}

#[test]
fn a_task_with_a_time_limit_ends_with_its_run() {
    let scene = slow_scene([answer_task(&json!({"subagentType": "slow"})), answer_shell("sleep 300")]);
    let output = scene.print(["--trust", "--force", "--timeout", "500ms"]).run();
    assert_eq!(output.code, Some(33), "{output}");
    let events = journal(&scene, &agent_id(&output.stream()));
    let last = events.last().unwrap();
    assert!(last.to_string().contains("500"), "the sub-agent ended at the limit of the run: {last}");
}

#[test]
fn the_text_format_has_a_line_for_a_sub_agent() {
    let scene = scene([answer_task(&json!({})), answer_text("one"), answer_text("Done.")]);
    let output = scene.print(["--output-format", "text"]).run().succeeded();
    assert_eq!(output.stdout, "Ran sub-agent\n\nDone.\n");
}

#[test]
fn the_example_of_the_documentation_is_a_valid_definition() {
    let page = include_str!("../../../../docs/subagents.md");
    let example = page.split("```markdown\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let workspace = Workspace::new().file(".ibeam/agents/reviewer.md", example);
    let scene = Scene::new([
        answer_task(&json!({"subagentType": "reviewer"})),
        answer_text("Fine."),
        answer_text("Done."),
    ])
    .with_workspace(workspace);
    let output = scene.print(["--trust"]).run().succeeded();
    assert!(!output.stderr.contains("reviewer.md"), "{output}");
    assert!(!offered(&scene, 1).iter().any(|tool| tool == "shell" || tool == "edit"));
    assert_eq!(output.stream().outline()[2..4], ["started task", "completed task"]);
}
