//! Checkpoints, `undo` and `diff`, and the example of docs/checkpoints.md.

use std::fs;

use ibeam_protocol::Signal;
use ibeam_testkit::repository::{git, references, repository, shell};
use ibeam_testkit::scene::{Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, LivenessPipe};
use serde_json::json;

const PAGE: &str = include_str!("../../../../docs/checkpoints.md");
/// The session of the example.
const DOCUMENTED_SESSION: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";

fn rename() -> Answer {
    answer_call("e1", "edit", &json!({ "path": "calc.py", "oldText": "def add", "newText": "def sum" }))
}

#[test]
fn the_documented_example_is_what_happens() {
    let example = PAGE.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let read = || answer_call("r1", "read", &json!({ "path": "calc.py" }));
    let scene = repository([read(), rename(), answer_text("Renamed it.")]);
    let mut session = String::new();
    for step in example.split("$ ibeam ").skip(1) {
        let (command, expect) = step.split_once('\n').unwrap();
        let arguments: Vec<String> = command
            .split('"')
            .enumerate()
            .flat_map(|(index, part)| match index % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect();
        let output = scene.ibeam(&arguments).run().succeeded();
        if session.is_empty() {
            let sessions = scene.ibeam_without_model(["ls", "--format", "json"]).run().succeeded().json();
            session = sessions[0]["session_id"].as_str().unwrap().to_owned();
        }
        // The hashes of the example are not those of its files.
        let comparable = |text: &str| -> Vec<String> {
            let text = text.replace(&session, DOCUMENTED_SESSION);
            text.lines()
                .filter(|line| !line.starts_with("index ") && *line != "Read file")
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(comparable(&output.stdout), comparable(expect), "ibeam {command}: {output}");
    }
    assert!(scene.workspace.read("calc.py").unwrap().starts_with("def add"));
}

#[test]
fn a_command_is_undone_with_all_its_files_while_index_and_branch_stay() {
    let scene =
        repository(shell("rm calc.py; mkdir -p new/deep; echo x > new/deep/file; echo y >> untracked"));
    fs::write(scene.workspace.path().join("untracked"), "mine\n").unwrap();
    fs::write(scene.workspace.path().join("calc.py"), "staged\n").unwrap();
    git(&scene, &["add", "calc.py"]);
    fs::write(scene.workspace.path().join("calc.py"), "not staged\n").unwrap();
    let state = |scene: &Scene| {
        (git(scene, &["rev-parse", "HEAD"]), git(scene, &["diff", "--cached"]), git(scene, &["branch", "-a"]))
    };
    let before = state(&scene);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(output.stderr, "");
    let session = output.stream().events[0]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(references(&scene).lines().count(), 2);
    let moments: Vec<_> = journal(&scene, &session)
        .iter()
        .filter_map(|event| event["kind"]["checkpoint_taken"]["moment"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(moments, ["turn_start", "turn_end"]);
    let stat = scene.ibeam_without_model(["diff", &session, "--stat", "--turn", "1"]).run().succeeded();
    assert!(stat.stdout.contains("new/deep/file"), "{stat}");

    let dry = scene.ibeam_without_model(["undo", "--dry-run"]).run().succeeded();
    let listed = "restore: calc.py\nremove: new/deep/file\nrestore: untracked\n";
    assert_eq!(dry.stdout, listed, "{dry}");
    assert_eq!(scene.workspace.read("calc.py"), None);
    let undone = scene.ibeam_without_model(["undo"]).run().succeeded();
    assert!(undone.stdout.starts_with(listed), "{undone}");
    let read = |path: &str| scene.workspace.read(path);
    assert_eq!((read("calc.py"), read("untracked")), (Some("not staged\n".into()), Some("mine\n".into())));
    assert!(!scene.workspace.path().join("new").exists());
    assert_eq!(state(&scene), before);
    assert_eq!(scene.ibeam_without_model(["diff"]).run().succeeded().stdout, "");

    let again = scene.ibeam_without_model(["undo"]).run();
    assert_eq!((again.code, again.stderr_lines("error: ").len()), (Some(66), 1), "{again}");
    scene.ibeam_without_model(["undo", &session, "--redo"]).run().succeeded();
    assert_eq!((read("calc.py"), read("new/deep/file")), (None, Some("x\n".into())));
    // The session is whole, and can be resumed and shown.
    scene.ibeam_without_model(["sessions", "check", &session]).run().succeeded();
    scene.ibeam_without_model(["replay", &session, "--output-format", "json"]).run().succeeded();
}

#[test]
fn files_that_somebody_else_changed_are_overwritten_only_with_force() {
    let scene = repository(shell("echo turn > calc.py"));
    scene.print(["--force"]).run().succeeded();
    fs::write(scene.workspace.path().join("calc.py"), "mine\n").unwrap();
    let refused = scene.ibeam_without_model(["undo"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("`calc.py` has changed since"), "{refused}");
    assert_eq!(scene.workspace.read("calc.py").as_deref(), Some("mine\n"));
    scene.ibeam_without_model(["undo", "--force"]).run().succeeded();
    assert!(scene.workspace.read("calc.py").unwrap().starts_with("def add"));
    scene.ibeam_without_model(["undo", "--redo"]).run().succeeded();
    assert_eq!(scene.workspace.read("calc.py").as_deref(), Some("mine\n"));
}

#[test]
fn a_redo_names_the_commit_with_what_it_overwrites() {
    let scene = repository(shell("echo turn > calc.py"));
    scene.print(["--force"]).run().succeeded();
    scene.ibeam_without_model(["undo"]).run().succeeded();
    fs::write(scene.workspace.path().join("calc.py"), "mine\n").unwrap();
    let refused = scene.ibeam_without_model(["undo", "--redo"]).run();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused}");
    assert!(refused.stderr.contains("names the commit"), "{refused}");
    let redone = scene.ibeam_without_model(["undo", "--redo", "--force"]).run().succeeded();
    assert_eq!(scene.workspace.read("calc.py").as_deref(), Some("turn\n"));
    let (_, arguments) = redone.stderr.split_once("`git ").unwrap();
    let (arguments, _) = arguments.split_once('`').unwrap();
    assert_eq!(git(&scene, &arguments.split(' ').collect::<Vec<_>>()), "mine\n");
    let nothing = scene.ibeam_without_model(["undo", "--redo"]).run();
    assert!(nothing.code == Some(66) && nothing.stderr.contains("nothing to redo"), "{nothing}");
    // What was overwritten is not a change of somebody else any more.
    scene.ibeam_without_model(["undo"]).run().succeeded();
    assert!(scene.workspace.read("calc.py").unwrap().starts_with("def add"));
}

#[test]
fn a_redo_that_brings_back_changes_of_somebody_else_leaves_them_a_conflict() {
    let scene = repository(shell("echo turn > calc.py"));
    scene.print(["--force"]).run().succeeded();
    fs::write(scene.workspace.path().join("calc.py"), "mine\n").unwrap();
    for arguments in [&["undo", "--force"][..], &["undo", "--redo"]] {
        scene.ibeam_without_model(arguments).run().succeeded();
    }
    assert_eq!(scene.ibeam_without_model(["undo"]).run().code, Some(1));
    assert_eq!(scene.workspace.read("calc.py").as_deref(), Some("mine\n"));
}

#[test]
fn turns_without_changes_leave_nothing_and_unknown_turns_are_named() {
    let scene = repository([answer_call("r1", "read", &json!({ "path": "calc.py" })), answer_text("read")]);
    scene.print([""; 0]).run().succeeded();
    assert_eq!(references(&scene), "");
    assert!(!scene.workspace.home().join(".local/share/ibeam/checkpoints").exists());
    for (arguments, code) in
        [(["diff", "--turn", "1"], 0), (["diff", "--turn", "2"], 66), (["undo", "--to", "1"], 66)]
    {
        let output = scene.ibeam_without_model(arguments).run();
        assert_eq!(output.code, Some(code), "{arguments:?}: {output}");
    }
    let scene = scene.with_answers(shell("true"));
    scene.print(["--force", "--continue"]).run().succeeded();
    assert_eq!(references(&scene), "", "the command changed nothing");
    assert_eq!(scene.ibeam_without_model(["undo"]).run().code, Some(66));
}

#[test]
fn changes_without_checkpoints_are_not_shown_as_no_changes() {
    let write = answer_call("w1", "write", &json!({ "path": "new.txt", "fileText": "x\n" }));
    let scene = Scene::new([write, answer_text("written"), answer_text("hello")]);
    scene.print(["--force"]).run().succeeded();
    let output = scene.ibeam_without_model(["diff"]).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(66), ""), "{output}");
    assert!(output.stderr.contains("changed files, but has no checkpoints"), "{output}");
    scene.print(["--force"]).run().succeeded();
    assert_eq!(scene.ibeam_without_model(["diff"]).run().succeeded().stdout, "", "nothing was changed");
}

#[test]
fn configuration_and_ephemeral_runs_switch_checkpoints_off() {
    let scene = repository(shell("echo x > x"));
    scene.print(["--force", "--ephemeral"]).run().succeeded();
    assert_eq!(references(&scene), "");
    let scene = scene.with_answers(shell("echo y > x"));
    let config = scene.workspace.home().join(".config/ibeam/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[session]\ncheckpoints = false\n").unwrap();
    scene.print(["--force"]).run().succeeded();
    assert_eq!(references(&scene), "");
}

#[test]
fn a_repository_that_cannot_be_saved_gives_a_warning_and_the_run_continues() {
    let scene = repository(shell("echo x > x"));
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let path = scene.workspace.path().join(".gitignore");
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let output = scene.print(["--force"]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    assert!(warnings.len() == 1 && warnings[0].contains("cannot be undone"), "{output}");
    assert_eq!(scene.workspace.read("x").as_deref(), Some("x\n"));
}

#[test]
fn a_worktree_has_a_branch_of_its_own_and_stays() {
    let scene = repository(shell("pwd; echo x > x"));
    // Programs that the repository names.
    let path = scene.workspace.path();
    let ran = scene.workspace.outside().join("ran");
    fs::write(path.join(".gitattributes"), "*.py filter=evil\n").unwrap();
    git(&scene, &["add", ".gitattributes"]);
    git(&scene, &["commit", "-q", "-m", "two"]);
    git(&scene, &["config", "filter.evil.smudge", &format!("touch {}; cat", ran.display())]);
    let hook = path.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = scene.print(["--force", "--worktree=fix-1"]).run().succeeded();
    let cwd = output.stream().events[0]["cwd"].as_str().unwrap().to_owned();
    assert!(cwd.contains(".local/state/ibeam/worktrees/") && cwd.ends_with("/fix-1"), "{cwd}");
    assert!(output.stderr.contains("on the branch `ibeam/fix-1`"), "{output}");
    assert_eq!(scene.workspace.read("x"), None);
    assert_eq!(fs::read_to_string(format!("{cwd}/x")).unwrap(), "x\n");
    assert!(git(&scene, &["branch", "--list", "ibeam/fix-1"]).contains("ibeam/fix-1"));
    assert!(!ran.exists(), "a program of the repository ran");
    // The second run finds the worktree, and undo works there.
    let scene = scene.with_answers(shell("cat x"));
    let again = scene.print(["--force", "--worktree=fix-1", "--continue"]).run().succeeded();
    assert_eq!(again.stream().events[0]["cwd"], cwd.as_str());
    scene.ibeam_without_model(["undo", "--workspace", &cwd]).run().succeeded();
    assert!(!std::path::Path::new(&cwd).join("x").exists());

    let scene = Scene::new([]);
    let check = |args: &[&str], message: &str| {
        let refused = scene.print(args).run();
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(message), "{refused}");
    };
    check(&["--worktree"], "needs a git repository");
    git(&scene, &["init", "-q"]);
    check(&["--worktree"], "needs a commit to start from");
    check(&["--worktree", "--worktree-base", "nope"], "`--worktree-base nope` is not a branch or commit");
}

/// The files are saved before the call of a sub-agent that may change some, and an undo of the run restores them.
#[test]
fn the_changes_of_a_sub_agent_are_those_of_the_turn() {
    for (read_only, moments) in [(false, ["turn_start", "turn_end"].as_slice()), (true, &[])] {
        let task = json!({ "description": "rename", "prompt": "Rename add.", "readonly": read_only });
        let mut answers =
            vec![answer_call("t1", "task", &task), answer_call("r1", "read", &json!({ "path": "calc.py" }))];
        if !read_only {
            answers.push(rename());
        }
        let scene = repository(answers.into_iter().chain([answer_text("Done."), answer_text("done")]));
        let config = scene.workspace.home().join(".config/ibeam/config.toml");
        fs::create_dir_all(config.parent().unwrap()).unwrap();
        fs::write(config, "subagents.mode = \"enabled\"\n").unwrap();
        let output = scene.print::<&str>([]).run().succeeded();
        let events = journal(&scene, output.stream().session_id());
        let found: Vec<_> =
            events.iter().filter_map(|event| event["kind"]["checkpoint_taken"]["moment"].as_str()).collect();
        assert_eq!(found, moments, "{output}");
        if read_only {
            continue;
        }
        let started = events.iter().find(|event| !event["kind"]["tool_call_started"].is_null()).unwrap();
        let child = started.pointer("/kind/tool_call_started/call/arguments/agentId").unwrap();
        let saved = events.iter().find(|event| !event["kind"]["checkpoint_taken"].is_null()).unwrap();
        let child = journal(&scene, child.as_str().unwrap());
        assert!(saved["at_ms"].as_u64() <= child[0]["at_ms"].as_u64(), "{saved} {}", child[0]);
        assert!(scene.workspace.read("calc.py").unwrap().starts_with("def sum"));
        let undone = scene.ibeam_without_model(["undo"]).run().succeeded();
        assert!(undone.stdout.starts_with("restore: calc.py\n"), "{undone}");
        assert!(scene.workspace.read("calc.py").unwrap().starts_with("def add"));
    }
}

/// A git that hangs delays neither, and ends with the command.
#[test]
fn undo_and_diff_end_in_order_on_a_signal_and_at_the_time_limit() {
    let scene = repository(shell("echo x > x"));
    scene.print(["--force"]).run().succeeded();
    for (command, args, code) in
        [("undo", &[][..], 143), ("diff", &[], 143), ("undo", &["--timeout", "1"], 33)]
    {
        let directory = tempfile::tempdir().unwrap();
        let mut lifeline = LivenessPipe::new_in(directory.path(), "line");
        let pipe = directory.path().join("line");
        let hang = lifeline.command().replace("3>line", &format!("3>{}", pipe.display()));
        let git = directory.path().join("git");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *cat-file*) {hang};; *) PATH=/usr/bin:/bin exec git \"$@\";; esac\n"
        );
        fs::write(&git, script).unwrap();
        fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", directory.path().display());
        let running = scene.ibeam_without_model([command]).args(args).env("PATH", path).start();
        lifeline.wait_until_held();
        if args.is_empty() {
            running.signal(Signal::Term);
        }
        let output = running.finish();
        lifeline.wait_until_gone();
        assert_eq!(output.code, Some(code), "{command}: {output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{command}: {output}");
    }
    assert_eq!(scene.workspace.read("x").as_deref(), Some("x\n"));
    scene.ibeam_without_model(["undo"]).run().succeeded();
    assert_eq!(scene.workspace.read("x"), None);
}
