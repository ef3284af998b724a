//! Processes whose program file is replaced while they run, as by an upgrade.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_testkit::fleet_tasks::{results, task, task_dir, task_file, wait_for, with};
use ibeam_testkit::repository::repository;
use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::{PROGRAM_VARIABLE, program_path};
use serde_json::json;

fn write_script(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&new, Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, path).unwrap();
}

/// Returns a copy of the program, and a launcher that starts it instead of the program itself.
fn copied_program(scene: &Scene) -> (PathBuf, PathBuf) {
    let at = |name: &str| scene.workspace.outside().join(name);
    let (copy, launcher) = (at("ibeam"), at("launcher"));
    let program = std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| program_path().into());
    fs::copy(program, &copy).unwrap();
    write_script(&launcher, &format!("shift\nexec '{}' \"$@\"", copy.display()));
    (copy, launcher)
}

/// Replaces the program by one that fails.
fn replace(copy: &Path) {
    write_script(copy, "echo another version >&2\nexit 99");
}

#[test]
fn later_tasks_and_checks_of_a_fleet_use_the_program_that_was_started() {
    let scene = repository([answer_text("done"), answer_text("done")]);
    let (copy, launcher) = copied_program(&scene);
    let check = "touch begun; for _ in $(seq 600); do test -e go && exit; sleep 0.1; done; exit 1";
    let tasks = [
        with(task(&scene, "first"), "check", json!(check)),
        with(with(task(&scene, "second"), "check", json!("true")), "needs", json!(["first"])),
    ];
    let file = task_file(&scene, &tasks);
    let workspace = task_dir(&file.with_extension("fleet"), "first").join("workspace");
    let args = ["fleet", "run", file.to_str().unwrap(), "--force", "--jobs", "1"];
    let running = scene.ibeam(args).through([launcher]).timeout(Duration::from_secs(120)).start();
    wait_for("the check begins", || workspace.join("begun").exists());
    replace(&copy);
    fs::write(workspace.join("go"), "").unwrap();
    let output = running.finish().succeeded();
    let outcomes: Vec<_> = results(&output).into_values().map(|result| result["outcome"].clone()).collect();
    assert_eq!(outcomes, ["passed", "passed"], "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn the_commands_of_a_conversation_use_the_program_that_was_started() {
    let scene = Scene::new([answer_text("One.\n")]);
    let (copy, launcher) = copied_program(&scene);
    let running = scene.ibeam(["--screen-reader"]).terminal().through([launcher]).start();
    running.wait_for_stderr("> ");
    running.type_text("begin\n");
    running.wait_for_stdout("One.");
    replace(&copy);
    for (line, printed) in [("/cost", "changed files: 0"), ("/diff", "no file was changed")] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(printed);
    }
    running.type_text("/exit\n");
    let output = running.finish().succeeded();
    assert!(
        !output.stdout.contains("another version") && !output.stderr.contains("another version"),
        "{output}"
    );
}
