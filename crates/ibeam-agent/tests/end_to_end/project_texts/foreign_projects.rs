//! Projects that were made for the Cursor CLI and for Claude Code: their rules, skills, commands and hooks as these
//! programs document them, in `tests/samples/projects`.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, result};
use ibeam_testkit::{Answer, Workspace};
use serde_json::json;

/// The number of a request that is never sent.
const NEVER: usize = usize::MAX;

/// Returns a workspace with the files of a sample project.
fn workspace(name: &str) -> Workspace {
    let workspace = Workspace::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/projects").join(name);
    let mut directories: Vec<PathBuf> = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let target = workspace.path().join(path.strip_prefix(&root).unwrap());
            if path.is_dir() {
                fs::create_dir_all(target).unwrap();
                directories.push(path);
            } else {
                fs::copy(&path, target).unwrap();
            }
        }
    }
    workspace
}

fn scene(name: &str, answers: impl IntoIterator<Item = Answer>) -> Scene {
    Scene::new(answers).with_workspace(workspace(name))
}

fn read(id: &str, path: &str) -> Answer {
    answer_call(id, "read", &json!({ "path": path }))
}

/// Checks which of the texts each request contains: a text is in the request with its number and in all later ones.
#[track_caller]
fn check_texts(scene: &Scene, texts: &[(&str, usize)]) {
    for (number, request) in scene.server.requests().iter().enumerate() {
        let body = request.body.to_string();
        for (text, first) in texts {
            assert_eq!(body.contains(text), number >= *first, "{text} in request {number}: {body}");
        }
    }
}

/// Returns the lines of the log that the hooks of the samples write.
fn logged(scene: &Scene) -> Vec<String> {
    let mut lines: Vec<String> =
        scene.workspace.read("hooks.log").unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn the_rules_of_a_cursor_project_reach_the_model() {
    let scene = scene("cursor", [read("1", "main.ts"), read("2", "web/index.html"), answer_text("done")]);
    fs::remove_file(scene.workspace.path().join(".cursor/hooks.json")).unwrap();
    let output = scene.print(["--trust"]).run().succeeded();
    assert_eq!(output.stderr, "", "{output}");

    check_texts(
        &scene,
        &[
            ("AGENTS-TEXT: run", 0),
            ("CURSORRULES-TEXT", 0),
            ("ALWAYS-TEXT", 0),
            ("How to write a database migration", 0),
            ("rules/manual.mdc", 0),
            ("GLOB-TEXT", 1),
            ("NESTED-TEXT", 2),
            ("NESTED-AGENTS-TEXT", 2),
            ("REQUESTED-TEXT", NEVER),
            ("MANUAL-TEXT", NEVER),
            // Skills are offered by their descriptions.
            ("Deploys the application.", 0),
            ("Audits dependencies.", 0),
            ("DEPLOY-TEXT", NEVER),
        ],
    );
}

#[test]
fn the_skill_and_the_command_of_a_cursor_project_are_used() {
    let call = answer_call("1", "skill", &json!({ "name": "deploy" }));
    let scene = scene("cursor", [call, answer_text("done")]);
    scene.ibeam(["-p", "--trust", "/review-code"]).run().succeeded();
    check_texts(&scene, &[("REVIEW-TEXT", 0), ("DEPLOY-TEXT", 1), ("scripts/deploy.sh", 1)]);
}

#[test]
fn the_hooks_of_a_cursor_project_run() {
    let answers = [
        answer_shell("curl http://localhost"),
        answer_shell("echo ran > new.txt"),
        read("1", "main.ts"),
        answer_call("2", "write", &json!({ "path": "other.txt", "fileText": "x\n" })),
        answer_text("done"),
    ];
    let scene = scene("cursor", answers);
    let output = scene.print(["--force"]).run().succeeded();
    let (arm, payload) = result(&output);
    let reason = "NO-NETWORK: use the files of the repository.";
    assert_eq!((arm.as_str(), &payload["reason"]), ("rejected", &json!(reason)), "{output}");
    assert_eq!(scene.workspace.read("new.txt").as_deref(), Some("ran\n"));
    assert_eq!(
        logged(&scene),
        [
            "afterAgentResponse",
            "afterFileEdit",
            "afterShellExecution",
            "beforeReadFile",
            "beforeShellExecution",
            "beforeSubmitPrompt",
            "postToolUse",
            "postToolUseFailure",
            "preToolUse",
            "sessionEnd",
            "sessionStart",
            "stop",
        ]
    );
    // The events that do not exist here are named.
    let warnings = output.stderr_lines("warning: ").join("\n");
    assert!(warnings.contains("afterTabFileEdit"), "{output}");
    let listed =
        scene.ibeam_without_model(["hooks", "list", "--trust", "--format", "json"]).run().succeeded().json();
    assert_eq!(listed["hooks"].as_array().unwrap().len(), 19, "{listed}");
}

#[test]
fn the_rules_of_a_claude_project_reach_the_model() {
    let scene = scene("claude", [read("1", "src/api/user.ts"), answer_text("done")]);
    fs::remove_file(scene.workspace.path().join(".claude/settings.json")).unwrap();
    let output = scene.print(["--trust"]).run().succeeded();
    assert_eq!(output.stderr, "", "{output}");

    check_texts(
        &scene,
        &[
            ("CLAUDE-TEXT", 0),
            ("IMPORTED-TEXT", 0),
            ("RULE-TEXT", 0),
            ("PATHS-TEXT", 1),
            ("NESTED-CLAUDE-TEXT", 1),
            ("Fills in PDF forms.", 0),
            ("FORMS-TEXT", NEVER),
            // The definition of a sub-agent is offered by its description too.
            ("Reviews changes.", 0),
            ("REVIEWER-TEXT", NEVER),
        ],
    );
}

#[test]
fn the_skill_the_command_and_the_sub_agent_of_a_claude_project_are_used() {
    let task = json!({ "description": "look", "prompt": "Look.", "subagentType": "reviewer" });
    let answers = [
        answer_call("1", "skill", &json!({ "name": "pdf-forms" })),
        answer_call("2", "task", &task),
        answer_text("Nothing."),
        answer_text("done"),
    ];
    let scene = scene("claude", answers);
    fs::remove_file(scene.workspace.path().join(".claude/settings.json")).unwrap();
    let output = scene.ibeam(["-p", "--trust", "/fix-issue 123 high"]).run().succeeded();
    let requests = scene.server.requests();
    let prompt = requests[0].transcript().join("\n");
    assert!(prompt.contains("FIX-TEXT: fix issue 123 with priority high"), "{prompt}");
    assert!(prompt.contains("!`git status`"), "a line of another program stays text: {prompt}");
    assert!(requests[1].transcript().join("\n").contains("FORMS-TEXT"), "{output}");
    let child = requests[2].body.to_string();
    assert!(child.contains("REVIEWER-TEXT") && !child.contains("FORMS-TEXT"), "{child}");
    let tools = requests[2].body["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"grep") && !names.contains(&"shell"), "{names:?}");
}

#[test]
fn the_hooks_of_a_claude_project_run() {
    let answers = [
        answer_shell("curl http://localhost"),
        answer_shell("echo ran"),
        answer_call("2", "write", &json!({ "path": "other.txt", "fileText": "x\n" })),
        answer_text("done"),
    ];
    let scene = scene("claude", answers);
    let output = scene.print(["--force"]).run().succeeded();
    let (arm, payload) = result(&output);
    let reason = "NO-NETWORK: use the files of the repository.";
    assert_eq!((arm.as_str(), &payload["reason"]), ("rejected", &json!(reason)), "{output}");
    let events = ["PostToolUse", "PreToolUse", "SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"];
    assert_eq!(logged(&scene), events, "{output}");
    let warnings = output.stderr_lines("warning: ").join("\n");
    assert!(warnings.contains("Notification") && !warnings.contains("PreCompact"), "{output}");
    let listed = scene.ibeam_without_model(["hooks", "list", "--trust", "--format", "json"]);
    assert_eq!(listed.run().succeeded().json()["hooks"].as_array().unwrap().len(), 10);
}
