//! The question whether a folder with its own configuration is trusted.

use std::thread::sleep;
use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::{RunningProgram, Workspace};

use super::{hook, hook_ran, trust_file, workspace_with_hook, write_file};

const QUESTION: &str = "Do you trust this folder?";
const TITLE: &str = "has configuration of its own";
const WELCOME: &str = "/help lists commands";
/// Longer than the time after which a key is an answer.
const PAUSE: Duration = Duration::from_millis(800);

fn start(scene: &Scene) -> RunningProgram {
    scene.ibeam::<&str>([]).env("TERM", "xterm-256color").terminal().start()
}

/// Starts the program, answers the question with `key`, and runs a prompt.
#[track_caller]
fn answer(scene: Scene, key: &str, expected: &str) -> Scene {
    let scene = scene.with_answers([answer_text("Done.\n")]);
    let running = start(&scene);
    running.wait_for_stdout(QUESTION);
    assert!(!hook_ran(&scene, "ran"), "nothing has an effect before the answer");
    sleep(PAUSE);
    running.type_text(key);
    running.wait_for_stdout(expected);
    finish(&running);
    let output = running.finish().succeeded();
    assert!(output.stdout.contains("hook sessionStart: touch ran"), "{output}");
    scene
}

fn finish(running: &RunningProgram) {
    running.type_text("hello\r");
    running.wait_for_stdout("Done.");
    running.type_text("/exit\r");
}

/// Starts the program without an answer to any question, and runs a prompt.
#[track_caller]
fn run_unasked(scene: Scene) -> Scene {
    let scene = scene.with_answers([answer_text("Done.\n")]);
    let running = start(&scene);
    running.wait_for_stdout(WELCOME);
    finish(&running);
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains(QUESTION), "{output}");
    scene
}

#[test]
fn a_person_trusts_a_folder_once() {
    let scene = Scene::new([]).with_workspace(workspace_with_hook("ran"));
    let scene = answer(scene, "1", "`ibeam trust forget` removes the trust");
    assert!(hook_ran(&scene, "ran"), "the hook of the trusted folder runs in this session");
    let scene = run_unasked(scene);
    assert!(hook_ran(&scene, "ran"));
    write_file(&scene, ".ibeam/hooks.json", &format!("{}\n", hook("ran")));
    let scene = answer(scene, "1", "`ibeam trust forget` removes the trust");
    assert!(hook_ran(&scene, "ran"), "the changed file is trusted");
}

#[test]
fn a_person_continues_without_trust_and_is_asked_again_after_a_change() {
    let scene = Scene::new([]).with_workspace(workspace_with_hook("ran"));
    let scene = answer(scene, "2", "its configuration has no effect");
    assert!(!hook_ran(&scene, "ran") && !trust_file(&scene.workspace).exists());
    let scene = run_unasked(scene);
    assert!(!hook_ran(&scene, "ran"));
    write_file(&scene, ".ibeam/hooks.json", &format!("{}\n", hook("ran")));
    let scene = answer(scene, "2", "its configuration has no effect");
    assert!(!hook_ran(&scene, "ran"));
}

#[test]
fn text_that_was_typed_ahead_is_no_trust() {
    let scene = Scene::new([]).with_workspace(workspace_with_hook("ran"));
    let running = start(&scene);
    running.type_text("1\r1\r");
    running.wait_for_stdout(QUESTION);
    for _ in 0..10 {
        running.type_text("1\r");
        sleep(Duration::from_millis(100));
    }
    sleep(PAUSE);
    // Nothing is selected, so Enter alone is not an answer either.
    running.type_text("\r");
    sleep(Duration::from_millis(300));
    assert!(!trust_file(&scene.workspace).exists() && !hook_ran(&scene, "ran"));
    running.type_text("\u{3}");
    running.finish().succeeded();
    assert!(!trust_file(&scene.workspace).exists());
    assert!(scene.server.requests().is_empty());
}

#[test]
fn line_mode_asks_by_number() {
    for (line, is_trusted) in [("1\n", true), ("2\n", false)] {
        let scene = Scene::new([answer_text("Done.\n")]).with_workspace(workspace_with_hook("ran"));
        let running = scene.ibeam(["hello"]).terminal().start();
        running.wait_for_stderr("1 trust it");
        running.type_text(line);
        running.wait_for_stdout("Done.");
        running.type_text("\u{4}");
        running.finish().succeeded();
        assert_eq!(hook_ran(&scene, "ran"), is_trusted);
    }
}

#[test]
fn the_question_lists_what_trust_changes() {
    let workspace = Workspace::new()
        .file("AGENTS.md", "Be kind.\n")
        .file(".ibeam/agents/helper.md", "---\nname: helper\ndescription: helps\n---\nHelp.\n")
        .file(".ibeam/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: deploys\n---\nDeploy.\n")
        .file(".ibeam/config.toml", "[permissions]\nallow = [\"Shell(rm)\"]\ndeny = [\"Shell(ls)\"]\n")
        .file(".mcp.json", r#"{"mcpServers": {"db": {"command": "./db", "args": ["\u202e x"]}}}"#);
    let scene = Scene::new([]).with_workspace(workspace);
    let running = start(&scene);
    running.wait_for_stdout(QUESTION);
    running.type_text("\u{1b}");
    let output = running.finish().succeeded();
    for expected in
        ["AGENTS.md", "sub-agents: helper", "skills: deploy", "Shell(rm)", "MCP server db: ./db", TITLE]
    {
        assert!(output.stdout.contains(expected), "{expected}: {output}");
    }
    assert!(!output.stdout.contains('\u{202e}'), "invisible characters are written out: {output}");
}

#[test]
fn a_folder_without_configuration_and_a_trusted_one_are_not_asked_about() {
    let scene = run_unasked(Scene::new([]).with_workspace(Workspace::new().file("README.md", "x")));
    write_file(&scene, ".ibeam/hooks.json", &hook("ran"));
    let scene = scene.with_answers([answer_text("Done.\n"), answer_text("Done.\n")]);
    let running = scene.ibeam(["--trust"]).env("TERM", "xterm-256color").terminal().start();
    running.wait_for_stdout(WELCOME);
    finish(&running);
    assert!(!running.finish().succeeded().stdout.contains(QUESTION));
    assert!(hook_ran(&scene, "ran"));
}
