//! Changes of protected places by commands and by others at the same time, and the return of what was moved away.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, only_result};
use serde_json::{Value, json};

use super::acp::{Editor, stored_session, updates};

/// The command of the model: it waits until others have made their changes.
const WAITING: &str =
    "touch started; n=0; while [ ! -e go ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done; echo x > own";

/// Makes the changes of an editor and of the user once the command has started.
fn change_protected_places(workspace: &Path) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !workspace.join("started").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::create_dir(workspace.join(".idea")).unwrap();
    fs::write(workspace.join(".idea/workspace.xml"), "<x/>").unwrap();
    fs::write(workspace.join("new"), "{\"b\":2}").unwrap();
    fs::rename(workspace.join("new"), workspace.join(".vscode/settings.json")).unwrap();
    fs::remove_file(workspace.join(".envrc")).unwrap();
    fs::write(workspace.join("go"), "").unwrap();
}

#[track_caller]
fn check_changes_are_kept(workspace: &Path) {
    assert_eq!(fs::read_to_string(workspace.join(".idea/workspace.xml")).unwrap(), "<x/>");
    assert_eq!(fs::read_to_string(workspace.join(".vscode/settings.json")).unwrap(), "{\"b\":2}");
    assert!(!workspace.join(".envrc").exists() && workspace.join("own").exists());
}

fn scene() -> Scene {
    let workspace = Workspace::new().file(".envrc", "mine").file(".vscode/settings.json", "{}");
    Scene::new([answer_shell(WAITING), answer_text("done")]).with_workspace(workspace)
}

#[test]
fn a_run_leaves_the_changes_of_others_alone() {
    for flags in [&[][..], &["--sandbox", "disabled", "--force"]] {
        let scene = scene();
        let workspace = scene.workspace.path().to_owned();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| change_protected_places(&workspace));
            scene.print(flags).run().succeeded()
        });
        assert_eq!(only_result(&output).0, "success", "{output}");
        check_changes_are_kept(&workspace);
        assert!(!scene.workspace.home().join(".cache/ibeam/quarantine").exists(), "{output}");
        assert_eq!(output.stderr.contains(".idea"), flags.is_empty(), "{output}");
        assert!(!output.stderr.contains(".envrc"), "{output}");
    }
}

#[test]
fn a_conversation_leaves_the_changes_of_others_alone() {
    for flags in [&["--force"][..], &["--sandbox", "disabled", "--force"]] {
        let scene = scene();
        let arguments = [&["do it"], flags].concat();
        let running = scene.ibeam(arguments).env("TERM", "xterm-256color").terminal().start();
        change_protected_places(scene.workspace.path());
        running.wait_for_stdout("done");
        running.type_text("/exit\r");
        let output = running.finish().succeeded();
        check_changes_are_kept(scene.workspace.path());
        assert!(!output.stdout.contains("stopped by the sandbox"), "{output}");
    }
}

#[test]
fn a_session_of_an_editor_leaves_the_changes_of_others_alone() {
    for flags in [&["--force"][..], &["--sandbox", "disabled", "--force"]] {
        let scene = scene().with_answers([answer_text("One."), answer_shell(WAITING), answer_text("done")]);
        let id = stored_session(&scene, "first");
        let mut editor = Editor::start_with(scene.ibeam(flags), &json!({}));
        editor.open("session/resume", &scene, &id);
        let prompt = editor.send_prompt(&id, "go");
        change_protected_places(scene.workspace.path());
        editor.wait_for_response(prompt);
        let messages = editor.end();
        check_changes_are_kept(scene.workspace.path());
        let ends = updates(&messages, "tool_call_update");
        assert_eq!(ends.last().unwrap()["status"], "completed", "{messages:?}");
    }
}

#[test]
fn stderr_names_what_was_undone_and_a_person_brings_it_back() {
    let scene = Scene::new([answer_shell("bash x.sh"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().file("x.sh", "mkdir .idea; echo x > .idea/x"));
    let text = ["-p", "--output-format", "text", "go"];
    let output = scene.ibeam(text).run();
    let idea = scene.workspace.path().join(".idea");
    assert!(!idea.exists() && output.stderr.contains("commands changed protected paths"), "{output}");
    assert!(output.stderr.contains("`ibeam quarantine list`"), "{output}");
    let list = || scene.ibeam_without_model(["quarantine", "list", "--format", "json"]).run().succeeded();
    let listed: Value = serde_json::from_str(&list().stdout).unwrap();
    let [file] = listed["quarantine"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!(file["path"], idea.canonicalize().unwrap_or(idea.clone()).to_str().unwrap());
    let id = file["id"].as_str().unwrap();
    let plain = scene.ibeam_without_model(["quarantine", "list"]).run().succeeded();
    assert!(plain.stdout.starts_with(id) && plain.stdout.contains("/.idea\n"), "{plain}");
    // Nothing is overwritten.
    fs::create_dir(&idea).unwrap();
    let refused = scene.ibeam_without_model(["quarantine", "restore", id]).run();
    assert!(refused.code == Some(73) && refused.stderr.contains(".idea"), "{refused}");
    fs::remove_dir(&idea).unwrap();
    scene.ibeam_without_model(["quarantine", "restore", id]).run().succeeded();
    assert_eq!(fs::read_to_string(idea.join("x")).unwrap(), "x\n");
    let gone = scene.ibeam_without_model(["quarantine", "restore", id]).run();
    assert_eq!(gone.code, Some(66), "{gone}");
    assert_eq!(list().stdout.trim(), r#"{"quarantine":[]}"#);
}

#[test]
fn a_workspace_that_holds_the_home_is_named_and_not_covered() {
    for (config, is_covered) in [("", false), ("[session]\ncover_home = true\n", true)] {
        let scene = Scene::new([answer_shell("bash x.sh"), answer_text("done")]);
        let scene = scene.with_workspace(Workspace::new().user_config(config));
        let home = scene.workspace.home().to_owned();
        fs::write(
            home.join("x.sh"),
            "mkdir -p sub/.idea .idea .config/autostart; echo x > .config/autostart/x.desktop",
        )
        .unwrap();
        let output = scene.print(["--workspace", home.to_str().unwrap()]).run();
        assert_eq!(output.stderr.contains("contains your home directory"), !is_covered, "{output}");
        assert_eq!(home.join("sub/.idea").exists(), !is_covered, "{output}");
        assert!(!home.join(".idea").exists(), "{output}");
        assert!(!home.join(".config/autostart/x.desktop").exists(), "{output}");
    }
    let scene = Scene::new([answer_text("done")]);
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(!output.stderr.contains("home directory"), "{output}");
}
