//! The set-up commands of a new worktree, and the example of docs/checkpoints.md.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_protocol::Signal;
use ibeam_testkit::repository::{git, repository, shell};
use ibeam_testkit::scene::{Scene, answer_text};
use ibeam_testkit::{LivenessPipe, ProgramOutput};
use serde_json::json;

const PAGE: &str = include_str!("../../../../docs/checkpoints.md");

/// Returns a repository whose `worktrees.json` has this content.
fn scene(file: &str, content: &str) -> Scene {
    let scene = repository([answer_text("done")]);
    write(&scene, file, content);
    scene
}

fn write(scene: &Scene, file: &str, content: &str) {
    let path = scene.workspace.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Returns the scene with the answers of another run.
fn again(scene: Scene) -> Scene {
    scene.with_answers([answer_text("done")])
}

fn worktree(output: &ProgramOutput) -> PathBuf {
    PathBuf::from(output.stream().events[0]["cwd"].as_str().unwrap())
}

fn read(worktree: &Path, name: &str) -> Option<String> {
    fs::read_to_string(worktree.join(name)).ok()
}

#[test]
fn the_documented_commands_set_up_a_new_worktree_once() {
    let example = PAGE.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let scene = scene(".cursor/worktrees.json", example);
    write(&scene, "settings.local", "mine\n");
    let output = scene.print(["--worktree=a", "--trust"]).run().succeeded();
    let path = worktree(&output);
    assert_eq!(read(&path, "settings.local").as_deref(), Some("mine\n"), "{output}");
    assert!(path.join("build").is_dir());
    assert_eq!(output.stream().outline(), ["system", "user", "text", "result"], "the commands are no calls");
    fs::remove_file(path.join("settings.local")).unwrap();
    let scene = again(scene);
    scene.print(["--worktree=a", "--trust"]).run().succeeded();
    assert_eq!(read(&path, "settings.local"), None, "the worktree was set up before");
}

#[test]
fn only_a_trusted_workspace_sets_up_its_worktrees() {
    let scene = scene(".ibeam/worktrees.json", r#"{"setup-worktree": ["touch ran"]}"#);
    let output = scene.print(["--worktree=a"]).run().succeeded();
    let path = worktree(&output);
    assert!(output.stderr.contains("worktrees.json` were not run"), "{output}");
    assert_eq!(read(&path, "ran"), None);
    // Once the workspace is trusted, the same worktree is set up.
    let scene = again(scene);
    scene.print(["--trust"]).run().succeeded();
    let scene = again(scene);
    let output = scene.print(["--worktree=a"]).run().succeeded();
    assert!(!output.stderr.contains("were not run"), "{output}");
    assert_eq!(read(&path, "ran").as_deref(), Some(""));
    // A change of the file ends the trust.
    write(&scene, ".ibeam/worktrees.json", r#"{"setup-worktree": ["touch other"]}"#);
    let scene = again(scene);
    let output = scene.print(["--worktree=b"]).run().succeeded();
    assert!(output.stderr.contains("were not run"), "{output}");
    assert_eq!(read(&worktree(&output), "other"), None);
}

/// The person trusts the worktree, which has the same file.
#[test]
fn a_consent_to_the_question_about_trust_sets_up_the_worktree() {
    let scene = scene(".ibeam/worktrees.json", r#"{"setup-worktree": ["touch ran"]}"#);
    git(&scene, &["add", "."]);
    git(&scene, &["commit", "-qm", "set-up"]);
    let running = scene.ibeam(["--worktree=a", "begin", "--screen-reader"]).terminal().start();
    running.wait_for_stderr("Do you trust this folder?");
    running.type_text("1\n");
    running.wait_for_stdout("done");
    running.type_text("!ls ran\n");
    running.wait_for_stdout("\nran");
    running.type_text("exit\n");
    let output = running.finish().succeeded();
    assert!(!output.stderr.contains("were not run"), "{output}");
}

#[test]
fn a_command_that_fails_ends_the_run_and_the_next_run_repeats_the_set_up() {
    let commands = json!({"setup-worktree": ["echo x >> count", "test -e \"$ROOT_WORKTREE_PATH/go\" || \
                          { echo no licence >&2; exit 3; }", "touch last"]});
    let scene = scene(".cursor/worktrees.json", &commands.to_string());
    let output = scene.print(["--worktree=a", "--force"]).run();
    assert_eq!(output.code, Some(1), "{output}");
    let errors = output.stderr_lines("error: ");
    assert_eq!(errors.len(), 1, "{output}");
    for part in ["ROOT_WORKTREE_PATH/go", "worktrees.json", "exit code 3", "no licence"] {
        assert!(errors[0].contains(part), "{part}: {output}");
    }
    assert!(output.stderr.contains("hint: ") && output.stderr.contains("--skip-worktree-setup"), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
    write(&scene, "go", "");
    let output = scene.print(["--worktree=a", "--force"]).run().succeeded();
    let path = worktree(&output);
    assert_eq!((read(&path, "count"), read(&path, "last")), (Some("x\nx\n".into()), Some(String::new())));
}

#[test]
fn set_up_commands_run_in_the_sandbox() {
    let scene = scene(".cursor/worktrees.json", r#"{"setup-worktree": "./set-up.sh"}"#);
    let outside = scene.workspace.outside().join("outside");
    let script = format!(
        "touch '{}' 2>/dev/null && touch escaped\ntouch \"$ROOT_WORKTREE_PATH/root\" 2>/dev/null && touch wrote\n\
         env > variables\n",
        outside.display()
    );
    write(&scene, ".cursor/set-up.sh", &script);
    let output = scene.print(["--worktree=a", "--force"]).run().succeeded();
    let path = worktree(&output);
    let variables = read(&path, "variables").unwrap();
    assert!(!variables.contains(ibeam_testkit::scene::KEY), "{variables}");
    assert!(!outside.exists() && !path.join("escaped").exists() && !path.join("wrote").exists());
}

#[test]
fn a_mode_without_commands_and_a_flag_leave_the_set_up_to_a_later_run() {
    let scene = scene(".cursor/worktrees.json", r#"{"setup-worktree-unix": ["touch ran"]}"#);
    let mut path = PathBuf::new();
    let mut scene = Some(scene);
    for (flags, expect) in [
        (["--mode=plan", "--trust"], None),
        (["--skip-worktree-setup", "--trust"], None),
        (["--trust", "--without=shell"], Some("")),
    ] {
        let current = again(scene.take().unwrap());
        let output = current.print(["--worktree=a"]).args(flags).run().succeeded();
        path = worktree(&output);
        assert_eq!(read(&path, "ran").as_deref(), expect, "{flags:?}: {output}");
        scene = Some(current);
    }
    assert!(path.ends_with("a"));
    let refused = scene.unwrap().print(["--skip-worktree-setup"]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
}

#[test]
fn a_signal_ends_the_set_up() {
    let scene = repository([]);
    let mut pipe = LivenessPipe::new(&scene.workspace, "line");
    let commands = json!({"setup-worktree": [format!("cd \"$ROOT_WORKTREE_PATH\"; {}", pipe.command())]});
    write(&scene, ".cursor/worktrees.json", &commands.to_string());
    let running = scene.print(["--worktree=a", "--force"]).start();
    pipe.wait_until_held();
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    pipe.wait_until_gone();
}

#[test]
fn an_invalid_file_is_an_error_with_its_place_and_a_branch_may_begin_elsewhere() {
    let scene = scene(".cursor/worktrees.json", "{\"setup-worktree\":\n3}");
    let output = scene.print(["--worktree=a", "--force"]).run();
    assert_eq!(output.code, Some(78), "{output}");
    assert!(output.stderr.contains("worktrees.json:2"), "{output}");
    write(&scene, ".cursor/worktrees.json", "{}");
    git(&scene, &["commit", "-q", "--allow-empty", "-m", "second"]);
    let output = scene.print(["--worktree=b", "--worktree-base=HEAD~1"]).run().succeeded();
    let branch = git(&scene, &["log", "--format=%s", "ibeam/b"]);
    assert_eq!(branch, "one\n", "{output}");
}

/// Several runs start with one new name: one creates the worktree, and the others wait for it.
#[test]
fn runs_that_start_at_once_share_a_new_worktree() {
    let scene = repository((0..6).map(|_| answer_text("done")));
    let running: Vec<_> = (0..6).map(|_| scene.print(["--worktree=a"]).start()).collect();
    let outputs: Vec<ProgramOutput> =
        running.into_iter().map(|running| running.finish().succeeded()).collect();
    let paths: Vec<PathBuf> = outputs.iter().map(worktree).collect();
    assert!(paths.iter().all(|path| *path == paths[0] && path.join("calc.py").is_file()), "{paths:?}");
}

/// The worktree has a copy of a tracked file that is a credential where the user started.
#[test]
fn the_copy_of_a_credential_is_hidden_in_the_worktree() {
    let scene = repository(shell("cat kube.yaml; ls kube.yaml"));
    write(&scene, "kube.yaml", "CANARY-kube");
    git(&scene, &["add", "kube.yaml"]);
    git(&scene, &["commit", "-q", "-m", "two"]);
    let path = scene.workspace.path().join("kube.yaml");
    let output = scene.print(["--worktree=a", "--force"]).env("KUBECONFIG", path).run().succeeded();
    assert_eq!(read(&worktree(&output), "kube.yaml").as_deref(), Some("CANARY-kube"), "{output}");
    let last = scene.server.requests().last().unwrap().body.to_string();
    assert!(last.contains("kube.yaml") && !last.contains("CANARY"), "{last}");
}

/// Returns a repository with a file for which the user's git runs a filter that takes a minute, and its life line.
fn slow_repository() -> (Scene, LivenessPipe) {
    let scene = repository([answer_text("never")]);
    write(&scene, ".gitattributes", "*.bin filter=slow\n");
    write(&scene, "a.bin", "x");
    git(&scene, &["add", ".gitattributes", "a.bin"]);
    git(&scene, &["commit", "-q", "-m", "two"]);
    let lifeline = LivenessPipe::new_in(scene.workspace.outside(), "line");
    let pipe = scene.workspace.outside().join("line");
    let command = lifeline.command().replace("3>line", &format!("3>{}", pipe.display()));
    let config = format!("[filter \"slow\"]\n\tsmudge = \"{command}\"\n\tclean = cat\n");
    fs::write(scene.workspace.home().join(".gitconfig"), config).unwrap();
    (scene, lifeline)
}

#[test]
fn git_and_its_filters_end_with_the_run_that_creates_a_worktree() {
    for (signal, args, code) in [
        (None, &["--worktree=a", "--timeout", "2"][..], Some(33)),
        (Some(Signal::Term), &["--worktree=a"], Some(143)),
    ] {
        let (scene, mut lifeline) = slow_repository();
        let running = scene.print(args).start();
        lifeline.wait_until_held();
        if let Some(signal) = signal {
            running.signal(signal);
        }
        let output = running.finish();
        lifeline.wait_until_gone();
        assert_eq!(output.code, code, "{output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    }
}

#[test]
fn a_killed_run_leaves_neither_git_nor_half_a_worktree() {
    let (scene, mut lifeline) = slow_repository();
    let running = scene.print(["--worktree=a"]).start();
    lifeline.wait_until_held();
    running.kill_alone();
    drop(running);
    lifeline.wait_until_gone();
    fs::remove_file(scene.workspace.home().join(".gitconfig")).unwrap();
    let scene = again(scene);
    let path = worktree(&scene.print(["--worktree=a"]).run().succeeded());
    assert!(path.join("a.bin").is_file() && path.join("calc.py").is_file());
}

#[test]
fn worktrees_are_listed_and_removed_unless_work_would_be_lost() {
    let scene = repository(shell("echo x > x"));
    let worktrees = |scene: &Scene| {
        let listed = scene.ibeam_without_model(["worktree", "list", "--format", "json"]).run().succeeded();
        listed.json()["worktrees"].clone()
    };
    assert_eq!(worktrees(&scene), json!([]));
    let path = worktree(&scene.print(["--force", "-w", "fix-1"]).run().succeeded());
    assert_eq!(
        worktrees(&scene),
        json!([{ "name": "fix-1", "path": path, "branch": "ibeam/fix-1", "uncommitted": 1, "unmerged": 0 }])
    );
    let remove = |args: &[&str]| {
        scene.ibeam_without_model(["worktree", "rm"].iter().chain(args)).args(["--lang", "en"]).run()
    };
    let refused = remove(&["fix-1"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("uncommitted files: 1, unmerged commits: 0"), "{refused}");
    for arguments in [&["add", "x"][..], &["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "x"]] {
        git(&scene, &[&["-C", path.to_str().unwrap()], arguments].concat());
    }
    let refused = remove(&["fix-1"]);
    assert!(refused.stderr.contains("uncommitted files: 0, unmerged commits: 1"), "{refused}");
    let refused = remove(&["fix-1", "--force", "--workspace", path.to_str().unwrap()]);
    assert!(refused.code == Some(1) && refused.stderr.contains("the one that you are in"), "{refused}");
    assert_eq!(remove(&["fix-2"]).code, Some(66));
    git(&scene, &["merge", "-q", "ibeam/fix-1"]);
    remove(&["fix-1"]).succeeded();
    assert!(!path.exists());
    assert_eq!(worktrees(&scene), json!([]));
    assert!(!git(&scene, &["worktree", "list"]).contains("fix-1"));
    assert!(git(&scene, &["branch", "--list", "ibeam/fix-1"]).contains("ibeam/fix-1"), "the branch stays");
}

#[test]
fn a_forced_removal_of_a_worktree_keeps_its_commits() {
    let scene = repository(shell("echo x > x"));
    let path = worktree(&scene.print(["--force", "--worktree", "fix-1"]).run().succeeded());
    scene.ibeam_without_model(["worktree", "rm", "fix-1", "--force"]).run().succeeded();
    assert!(!path.exists());
    // The name can be used again, with the branch that stayed.
    let again = scene.with_answers(shell("echo y > y"));
    assert_eq!(worktree(&again.print(["--force", "--worktree=fix-1"]).run().succeeded()), path);
    let outside = Scene::new([]).ibeam_without_model(["worktree", "list"]).run();
    assert_eq!(outside.code, Some(2), "{outside}");
}
