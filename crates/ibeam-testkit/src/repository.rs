//! A workspace that is a git repository, and the checkpoints of its runs.

use std::fs;
use std::process::Command;

use crate::Answer;
use crate::scene::{Scene, answer_shell, answer_text};

/// Runs git in the workspace and returns what it printed.
pub fn git(scene: &Scene, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = command
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .current_dir(scene.workspace.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a scene whose workspace is a repository with `calc.py`.
pub fn repository(answers: impl IntoIterator<Item = Answer>) -> Scene {
    let scene = Scene::new(answers);
    git(&scene, &["init", "-q"]);
    fs::write(scene.workspace.path().join("calc.py"), "def add(a, b):\n    return a + b\n").unwrap();
    git(&scene, &["add", "calc.py"]);
    git(&scene, &["commit", "-q", "-m", "one"]);
    scene
}

/// Returns the references of all checkpoints, a line each. None of them is in the repository.
pub fn references(scene: &Scene) -> String {
    assert_eq!(git(scene, &["for-each-ref", "refs/ibeam/"]), "");
    let directory = scene.workspace.home().join(".local/share/ibeam/checkpoints");
    let stores = fs::read_dir(directory).into_iter().flatten().flatten();
    stores
        .map(|store| {
            let directory = format!("--git-dir={}", store.path().display());
            git(scene, &[&directory, "for-each-ref", "refs/ibeam/"])
        })
        .collect()
}

/// Returns the answers of a turn that runs a command.
pub fn shell(command: &str) -> [Answer; 2] {
    [answer_shell(command), answer_text("done")]
}
