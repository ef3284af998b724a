//! A configuration that another program is writing: its rules apply, or the run fails.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text};

const RULES: &str = "[permissions]\ndeny = [\"Shell(touch)\"]\n";
const CURSOR_RULES: &str = r#"{"permissions": {"deny": ["Shell(touch)"]}}"#;

/// Starts runs while a thread repeatedly truncates `path` and writes `text` to it.
fn run_during_rewrites(path: &str, text: &str) {
    let workspace = Workspace::new();
    let path = workspace.home().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let mut scene = Scene::new([]).with_workspace(workspace);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                rewrite(&path, text);
            }
        });
        for _ in 0..6 {
            scene = std::mem::replace(&mut scene, Scene::new([]))
                .with_answers([answer_shell("touch made"), answer_text("done")]);
            let output = scene.print(["--force"]).run();
            if output.code != Some(78) && !output.stdout.contains("rejected") {
                done.store(true, Ordering::Relaxed);
                panic!("it ran without its rule: {output}");
            }
            assert!(output.code != Some(78) || output.stderr.contains(path.to_str().unwrap()), "{output}");
            assert_eq!(scene.workspace.read("made"), None);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Writes in several steps, like a program that writes in place.
fn rewrite(path: &Path, text: &str) {
    let (first, second) = text.split_at(text.len() / 2);
    std::fs::write(path, "").unwrap();
    std::thread::sleep(Duration::from_millis(2));
    std::fs::write(path, first).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    std::fs::write(path, [first, second].concat()).unwrap();
    std::thread::sleep(Duration::from_millis(1));
}

/// The file is repeatedly truncated and written in one step. Most runs read the complete file; none ignores it.
#[test]
fn rules_that_are_rewritten_in_a_loop_are_found() {
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(RULES));
    let path = scene.workspace.home().join(".config/ibeam/config.toml");
    let mut scene = scene;
    let done = AtomicBool::new(false);
    let mut found = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::fs::write(&path, RULES).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let mut wrong = None;
        for _ in 0..4 {
            scene = std::mem::replace(&mut scene, Scene::new([]))
                .with_answers([answer_shell("touch made"), answer_text("done")]);
            let output = scene.print(["--force"]).run();
            let is_enforced = output.code == Some(0) && output.stdout.contains("rejected");
            found += u32::from(is_enforced);
            if (!is_enforced && output.code != Some(78)) || scene.workspace.read("made").is_some() {
                wrong = Some(output);
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(wrong.is_none(), "it ran without its rule: {}", wrong.unwrap());
    });
    assert!(found >= 3, "{found} of 4 runs found the complete file");
}

#[test]
fn rules_that_are_being_written_apply_or_the_run_fails() {
    run_during_rewrites(".config/ibeam/config.toml", RULES);
}

#[test]
fn cursor_rules_that_are_being_written_apply_or_the_run_fails() {
    run_during_rewrites(".cursor/cli-config.json", CURSOR_RULES);
}

#[test]
fn a_file_that_lost_its_rules_is_reported_once() {
    for (path, rules) in [(".config/ibeam/config.toml", RULES), (".cursor/cli-config.json", CURSOR_RULES)] {
        let is_toml = rules == RULES;
        for replacement in [Some(if is_toml { "\n" } else { "{}" }), None] {
            let scene = Scene::new([answer_text("one")]);
            let file = scene.workspace.home().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, rules).unwrap();
            let first = scene.print::<&str>([]).run().succeeded();
            assert_eq!(first.stderr, "", "{first}");
            match replacement {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            let scene = scene.with_answers([answer_text("two")]);
            let second = scene.print::<&str>([]).run().succeeded();
            // An explicit `{}` is a deliberate change.
            let is_warned = replacement != Some("{}");
            let warned = second.stderr.contains("held permission rules in the last run")
                && second.stderr.contains(path);
            assert_eq!(warned, is_warned, "{second}");
            let scene = scene.with_answers([answer_text("three")]);
            let third = scene.print::<&str>([]).run().succeeded();
            assert_eq!(third.stderr, "", "{third}");
        }
    }
}
