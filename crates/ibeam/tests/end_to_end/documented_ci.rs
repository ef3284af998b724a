//! The script of docs/ci.md, run as it is printed there.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use ibeam_testkit::scene::{KEY, Scene, answer_text};
use ibeam_testkit::{Answer, Workspace, program_path};

/// Returns the shell script of the page.
fn script() -> &'static str {
    let page = include_str!("../../../../docs/ci.md");
    let mut scripts = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script = scripts.next().unwrap();
    assert_eq!(scripts.next(), None);
    script
}

/// Runs the script in the workspace of a scene, with a `sleep` that only notes its argument in the file `slept`. Returns its
/// output and the content of a file of its results, which are outside of the workspace.
fn run(scene: &Scene, key: Option<&str>, file: &str) -> (Output, String) {
    let programs = scene.workspace.outside().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(program_path(), programs.join("ibeam")).unwrap();
    let slept = scene.workspace.outside().join("ibeam-results/slept");
    let sleep = programs.join("sleep");
    std::fs::write(&sleep, format!("#!/bin/sh\necho \"$1\" >>'{}'\n", slept.display())).unwrap();
    std::fs::set_permissions(&sleep, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let root: &Path = scene.workspace.path();
    let mut command = Command::new("bash");
    command.args(["-c", script()]).current_dir(root).env_clear();
    command.env("PATH", path).env("HOME", scene.workspace.home()).stdin(Stdio::null());
    command.env("ANTHROPIC_BASE_URL", scene.server.url()).env("IBEAM_MODEL", "anthropic/claude-sonnet-4-5");
    command.env("LC_ALL", "C").envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
    let output = command.output().unwrap();
    let results = scene.workspace.outside().join("ibeam-results");
    (output, std::fs::read_to_string(results.join(file)).unwrap())
}

fn scene(answers: Vec<Answer>) -> Scene {
    let config = "[retry]\nattempts = 1\n[sandbox]\nmode = \"disabled\"\n";
    Scene::new(answers).with_workspace(Workspace::new().user_config(config))
}

#[test]
fn the_script_succeeds_after_a_failure_that_can_be_retried() {
    let overloaded =
        Answer::status(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#);
    let scene = scene(vec![overloaded, answer_text("The test was wrong.")]);
    let (output, stream) = run(&scene, Some(KEY), "run.ndjson");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stream.contains("The test was wrong."), "{stream}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("keeps contract 1"), "{output:?}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn the_script_waits_as_long_as_the_service_asks() {
    let busy = r#"{"type":"error","error":{"type":"rate_limit_error","message":"busy"}}"#;
    let limited = Answer::status(429, busy).header("retry-after", "7");
    let scene = scene(vec![limited, Answer::status(529, busy), answer_text("done")]);
    let (output, slept) = run(&scene, Some(KEY), "slept");
    assert_eq!((output.status.code(), slept.as_str()), (Some(0), "7\n60\n"), "{output:?}");
    let files = std::fs::read_dir(scene.workspace.path()).unwrap();
    let names: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with("json")), "{names:?}");
}

#[test]
fn the_script_ends_with_the_exit_code_of_a_failure_that_stays() {
    let scene = scene(vec![answer_text("never")]);
    let (output, error) = run(&scene, None, "error.json");
    assert_eq!(output.status.code(), Some(20), "{output:?}");
    assert!(error.contains(r#""code":"auth""#), "{error}");
    assert!(scene.server.requests().is_empty(), "{output:?}");
}
