//! What the model may do when nobody can be asked.

#[path = "permissions/caches.rs"]
mod caches;
#[path = "permissions/command.rs"]
mod command;
#[path = "permissions/cursor.rs"]
mod cursor;
#[path = "permissions/managed.rs"]
mod managed;
#[path = "permissions/project.rs"]
mod project;

use std::fs;

use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

use crate::scene::{KEY, Scene, answer_call, answer_shell, answer_text};

/// Only rules decide: what none covers is put to a person.
const RULES_ONLY: &str = "approval = \"allowlist\"\n";

/// A run of one command with these flags: the arm of its result, the reason or payload, and the run.
#[track_caller]
fn run(command: &str, flags: &[&str]) -> (String, Value, ProgramOutput) {
    let scene = Scene::new([answer_shell(command), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(RULES_ONLY));
    let output = scene.print(flags).run().succeeded();
    let (arm, payload) = only_result(&output);
    // The model is told what the stream tells.
    let reported = scene.server.requests()[1].transcript().join("\n");
    if let Some(reason) = payload["reason"].as_str() {
        assert!(reported.contains(reason), "{reported}");
    }
    (arm, payload, output)
}

#[track_caller]
fn only_result(output: &ProgramOutput) -> (String, Value) {
    let stream = output.stream();
    let completed = stream.completed();
    assert_eq!(completed.len(), 1, "{output}");
    let (arm, payload) = completed[0].1["result"].as_object().unwrap().iter().next().unwrap();
    (arm.clone(), payload.clone())
}

#[track_caller]
fn check_allowed(command: &str, flags: &[&str], stdout: &str) {
    let (arm, payload, output) = run(command, flags);
    assert_eq!((arm.as_str(), &payload["stdout"]), ("success", &json!(stdout)), "{output}");
    assert_eq!(output.stderr, "");
}

#[track_caller]
fn check_rejected(command: &str, flags: &[&str]) -> String {
    let (arm, payload, output) = run(command, flags);
    assert_eq!(arm, "rejected", "{output}");
    assert_eq!(
        output.stream().last()["ibeam"]["permission_denials"].as_array().map(Vec::len),
        Some(1),
        "{output}"
    );
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert!(output.stderr_lines("warning: ")[0].contains("1 tool call was refused"), "{output}");
    payload["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_command_is_rejected_with_the_way_out() {
    let reason = check_rejected("make all", &[]);
    assert!(reason.contains("--force") && reason.contains("Shell(make"), "{reason}");
}

/// The default when printing: held by the sandbox, a command needs no rule.
#[test]
fn a_command_that_no_rule_covers_runs_in_the_sandbox() {
    let scene = Scene::new([answer_shell("echo hello; echo x > made"), answer_text("done")]);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(only_result(&output).0, "success", "{output}");
    assert_eq!(scene.workspace.read("made").as_deref(), Some("x\n"));
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
    let output = scene.print(["--sandbox", "disabled"]).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
}

/// `--force` lifts what would be asked, and the sandbox holds all the same.
#[test]
fn force_lifts_no_sandbox() {
    for (sandbox, made) in [("enabled", false), ("disabled", true)] {
        let scene = Scene::new([answer_shell("sh script"), answer_text("done")]);
        let outside = scene.workspace.outside().join("made");
        // No rule sees what a script does.
        fs::write(scene.workspace.path().join("script"), format!("echo x > '{}'", outside.display()))
            .unwrap();
        scene.print(["--force", "--sandbox", sandbox]).run().succeeded();
        assert_eq!(outside.exists(), made, "{sandbox}");
    }
}

#[test]
fn a_token_allows_the_commands_it_covers() {
    check_allowed("echo hello", &["--allow", "Shell(echo)"], "hello\n");
    check_allowed("echo a && echo b", &["--allow=Shell(echo)"], "a\nb\n");
    check_rejected("echo a && make", &["--allow", "Shell(echo)"]);
    check_rejected("echo $(make)", &["--allow", "Shell(echo)"]);
}

#[test]
fn tokens_of_the_configuration_count() {
    let config = "[permissions]\nallow = [\"Shell(echo)\"]\ndeny = [\"Shell(printf)\"]\n";
    let config = format!("{RULES_ONLY}{config}");
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")])
        .with_workspace(Workspace::new().user_config(&config));
    assert_eq!(only_result(&scene.print::<&str>([]).run().succeeded()).0, "success");
    let scene = scene.with_answers([answer_shell("printf hello"), answer_text("done")]);
    assert_eq!(only_result(&scene.print(["--force"]).run().succeeded()).0, "rejected");
}

#[test]
fn force_allows_what_is_not_denied() {
    check_allowed("printf '%s' forced", &["--force"], "forced");
    check_allowed("printf '%s' forced", &["--yolo"], "forced");
    check_allowed("printf '%s' forced", &["-f"], "forced");
}

#[test]
fn deny_beats_force_and_allow() {
    let reason = check_rejected("echo hello", &["--force", "--deny", "Shell(echo)"]);
    assert!(reason.contains("Shell(echo)"), "{reason}");
    check_rejected("echo hello", &["--allow", "Shell(echo)", "--deny", "Shell(echo)"]);
    check_rejected("true && bash -c 'echo hello'", &["--force", "--deny", "Shell(echo)"]);
}

#[test]
fn ask_beats_allow_and_force_lifts_it() {
    let asked = ["--allow", "Shell(echo)", "--ask", "Shell(echo)"];
    check_rejected("echo hello", &asked);
    check_allowed("echo hello", &[&asked[..], &["--force"]].concat(), "hello\n");
    check_rejected("echo hello", &["--force", "--ask", "Shell(echo)", "--deny", "Shell(echo)"]);
}

#[test]
fn ask_rules_of_files_count() {
    let config = "[permissions]\nallow = [\"Shell(echo)\"]\nask = [\"Shell(echo)\"]\n";
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")])
        .with_workspace(Workspace::new().user_config(config));
    assert_eq!(only_result(&scene.print::<&str>([]).run().succeeded()).0, "rejected");
}

/// Nothing is done before every rule is understood.
#[test]
fn a_token_that_is_none_stops_the_run() {
    for token in
        ["Shel(touch)", "Shell(touch", "Shell()", "touch", "", "Shell(a b)", "Mcp(x)", "WebFetch(a/b)"]
    {
        for flag in ["--allow", "--ask", "--deny"] {
            let scene = Scene::new([]);
            let output = scene.print(["--force", flag, token]).run();
            assert_eq!(
                (output.code, output.stderr_lines("error: ").len()),
                (Some(2), 1),
                "{token}: {output}"
            );
            assert!(output.stderr.contains(token), "{token}: {output}");
            assert_eq!(scene.server.requests().len(), 0);
        }
        let config = format!("[permissions]\ndeny = [\n  \"Shell(ls)\",\n  \"{token}\",\n]\n");
        let scene = Scene::new([]).with_workspace(Workspace::new().user_config(&config));
        let output = scene.print(["--force"]).run();
        assert_eq!((output.code, output.stderr_lines("error: ").len()), (Some(78), 1), "{token}: {output}");
        assert!(output.stderr.contains("config.toml:4:3"), "{token}: {output}");
    }
}

#[test]
fn white_space_in_a_token_does_not_count() {
    for token in [" Shell( touch ) ", "\tShell(touch)", "Shell (touch)", "Shell( touch : * )"] {
        check_rejected("touch made", &["--force", "--deny", token]);
    }
}

#[test]
fn the_mode_is_told() {
    for (flags, mode) in [
        (&[][..], "default"),
        (&["--force"], "force"),
        (&["--plan"], "plan"),
        (&["--mode", "ask"], "ask"),
        (&["--plan", "-f"], "plan"),
    ] {
        let scene = Scene::new([answer_text("hi")]);
        assert_eq!(scene.print(flags).run().succeeded().stream().init()["permissionMode"], mode);
    }
}

#[test]
fn plan_and_ask_change_nothing() {
    for mode in ["plan", "ask"] {
        let write = answer_call("t", "write", &json!({ "path": "made.txt", "fileText": "x" }));
        let scene = Scene::new([write, answer_text("done")]);
        let output = scene.print(["--mode", mode, "--force"]).run().succeeded();
        assert_eq!(only_result(&output).0, "rejected", "{output}");
        assert_eq!(scene.workspace.read("made.txt"), None);
    }
}

/// Every way out of the workspace that a file tool could take.
#[test]
fn nothing_outside_the_workspace_is_written() {
    let outside = |scene: &Scene| scene.workspace.outside().join("made.txt");
    for path in ["../made.txt", "ABSOLUTE", "link/made.txt", "sub/../../made.txt"] {
        for flags in [&[][..], &["--force"]] {
            let workspace = Workspace::new().file("sub/keep", "");
            std::os::unix::fs::symlink(workspace.outside(), workspace.path().join("link")).unwrap();
            let absolute = workspace.outside().canonicalize().unwrap().join("made.txt");
            let path = if path == "ABSOLUTE" { absolute.to_str().unwrap() } else { path };
            let write = answer_call("t", "write", &json!({ "path": path, "fileText": "x" }));
            let scene = Scene::new([write, answer_text("done")]).with_workspace(workspace);
            let output = scene.print(flags).run().succeeded();
            assert_eq!(only_result(&output).0, "rejected", "{output}");
            assert!(!outside(&scene).exists(), "{path}");
        }
    }
}

#[test]
fn a_directory_that_was_added_may_be_written() {
    let scene = Scene::new([]);
    let extra = scene.workspace.outside().join("extra");
    fs::create_dir(&extra).unwrap();
    let extra = extra.canonicalize().unwrap();
    let write = answer_call("t", "write", &json!({ "path": extra.join("made.txt"), "fileText": "x" }));
    let scene = scene.with_answers([write, answer_text("done")]);
    let output = scene.print(["--add-dir", extra.to_str().unwrap()]).run().succeeded();
    assert_eq!(only_result(&output).0, "success", "{output}");
    assert_eq!(fs::read_to_string(extra.join("made.txt")).unwrap(), "x");
}

/// Dials a socket of the host from a command; returns whether a connection arrived there.
#[track_caller]
fn is_socket_reached(configure: impl FnOnce(&str) -> (String, Vec<String>)) -> bool {
    let dial = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('daemon')\"";
    let scene = Scene::new([answer_shell(dial), answer_text("done")]);
    let listener = std::os::unix::net::UnixListener::bind(scene.workspace.path().join("daemon")).unwrap();
    let (config, flags) = configure(&scene.workspace.path().join("daemon").display().to_string());
    let directory = scene.workspace.home().join(".config/ibeam");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), config).unwrap();
    scene.print(flags.iter().map(String::as_str)).run().succeeded();
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_ok()
}

#[test]
fn a_socket_of_the_host_is_reached_only_where_it_was_granted() {
    assert!(!is_socket_reached(|_| (String::new(), vec!["--force".to_owned()])));
    assert!(is_socket_reached(|path| (String::new(), vec!["--allow-socket".to_owned(), path.to_owned()])));
    assert!(is_socket_reached(|path| (format!("[sandbox]\nsockets = [\"{path}\"]\n"), Vec::new())));
}

#[test]
fn the_stored_keys_are_kept_from_the_model() {
    let scene = Scene::new([]);
    let login = scene.ibeam_without_model(["login", "openai", "--api-key", KEY]).run().succeeded();
    assert!(!login.stdout.contains(KEY), "{login}");
    let credentials = scene.workspace.home().join(".config/ibeam/credentials.toml");
    let scene =
        scene.with_answers([answer_call("t", "read", &json!({ "path": credentials })), answer_text("done")]);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
    assert!(!scene.server.requests()[1].body.to_string().contains(KEY));
}

#[test]
fn no_command_sees_a_key() {
    let (arm, payload, output) = run("env", &["--force"]);
    assert_eq!(arm, "success", "{output}");
    assert!(payload["stdout"].as_str().unwrap().contains("HOME="), "{payload}");
    assert!(!payload.to_string().contains(KEY) && !payload.to_string().contains("API_KEY"), "{payload}");
}

#[test]
fn the_number_of_refused_calls_is_told_once() {
    let answer = answer_shell("make").call("t2", "shell", &json!({ "command": "make install" }));
    let scene =
        Scene::new([answer, answer_text("done")]).with_workspace(Workspace::new().user_config(RULES_ONLY));
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stderr_lines("warning: 2 tool calls were refused:").len(), 1, "{output}");
    let reasons = ["  the command `make` is not covered", "  the command `make install` is not covered"];
    for reason in reasons {
        assert_eq!(output.stderr_lines(reason).len(), 1, "{output}");
    }
    assert_eq!(output.stderr.lines().count(), 1 + reasons.len(), "{output}");
}

/// What helps differs: a flag for what no rule covers, nothing for a mode or a rule of one's own.
#[test]
fn people_are_told_why_a_call_was_refused_and_what_helps() {
    let reported = |flags: &[&str]| {
        let scene = Scene::new([answer_shell("rm -r build"), answer_text("done")]);
        scene.print(flags).run().succeeded().stderr
    };
    let denied = reported(&["--deny", "Shell(rm)"]);
    assert!(denied.contains("denied by the rule `Shell(rm)`") && !denied.contains("--force"), "{denied}");
    let planned = reported(&["--mode", "plan"]);
    assert!(planned.contains("`--mode plan` changes no") && !planned.contains("--force"), "{planned}");
    let uncovered = reported(&["--approval", "strict"]);
    assert!(uncovered.contains("`--allow 'Shell(rm)'`"), "{uncovered}");
}

#[track_caller]
fn git(directory: &std::path::Path, script: &str) -> String {
    let output = std::process::Command::new("bash")
        .args(["-ec", script])
        .current_dir(directory)
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A nested repository whose configuration runs something, and a gitlink to it: the person's next `git status` in the
/// root would visit it.
#[test]
fn a_repository_that_a_command_plants_runs_nothing_afterwards() {
    let attack = "mkdir sub && cd sub && git init -q . && echo 1 > f && git add f && \
        git -c user.name=a -c user.email=a@example.com commit -qm x && H=$(git rev-parse HEAD) && \
        printf '[core]\\n\\tfsmonitor=\"touch ../ran; false\"\\n' >> .git/config && cd .. && \
        git update-index --add --cacheinfo 160000,$H,sub && touch planted";
    let scene = Scene::new([answer_shell("bash x.sh"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().file("x.sh", attack));
    let root = scene.workspace.path();
    git(root, "git init -q .");
    let output = scene.print(["--sandbox", "enabled"]).run().succeeded();
    let (arm, payload) = only_result(&output);
    assert_eq!(arm, "permissionDenied", "{output}");
    assert!(payload["error"].as_str().unwrap().contains("sub/.git/config"), "{output}");
    assert!(root.join("planted").exists(), "{output}");
    git(root, "git status && git -C sub status && git diff");
    assert!(!root.join("ran").exists() && !root.join("sub/ran").exists());
}

/// What commands may write outside of the workspace is in `init`, before anything runs.
#[test]
fn init_lists_the_repository_of_a_linked_work_tree() {
    let scene = Scene::new([answer_text("done")]);
    let root = scene.workspace.path();
    let main = scene.workspace.home().join("main");
    git(
        root,
        &format!(
            "git init -q '{0}'; cd '{0}'; git commit -q --allow-empty -m one; git worktree add -q '{1}/tree'",
            main.display(),
            root.display()
        ),
    );
    let tree = root.join("tree");
    let output =
        scene.print(["--sandbox", "enabled", "--workspace", tree.to_str().unwrap()]).run().succeeded();
    let writable = json!([main.join(".git").canonicalize().unwrap()]);
    assert_eq!(output.stream().init()["ibeam"]["sandbox"]["writable"], writable, "{output}");
    let output = scene.with_answers([answer_text("done")]).print(["--sandbox", "enabled"]).run().succeeded();
    assert_eq!(output.stream().init()["ibeam"]["sandbox"]["writable"], Value::Null, "{output}");
}

#[test]
fn people_learn_why_git_fails_where_its_objects_are_hidden() {
    let scene = Scene::new([answer_shell("git log --format=%s"), answer_text("done")]);
    let root = scene.workspace.path().to_owned();
    fs::write(root.join("a.pem"), "key").unwrap();
    for arguments in ["init -q", "add a.pem", "-c user.name=a -c user.email=a@b commit -qm first"] {
        let output = std::process::Command::new("git").args(arguments.split(' ')).current_dir(&root).status();
        assert!(output.unwrap().success(), "{arguments}");
    }
    let output = scene.print(["--deny", "Read(**/*.pem)"]).run().succeeded();
    let warnings = output.stderr_lines("warning: ");
    let is_recorded = |line: &&str| line.contains("git tracks `a.pem`") && line.contains("--allow 'Read(");
    assert_eq!(warnings.iter().filter(|line| is_recorded(line)).count(), 1, "{output}");
    assert_ne!(only_result(&output).1["stdout"], json!("first\n"), "{output}");
}
