//! Permissions of runs that cannot ask a person.

mod cursor;
mod managed;
mod policy_command;
mod project;
mod sandbox;

use std::fs;

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_shell, answer_text, only_result};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

/// Only rules decide; calls that no rule covers need approval.
const RULES_ONLY: &str = "approval = \"allowlist\"\n";

/// Runs one command; returns the arm of its result, the payload of the arm, and the output of the run.
#[track_caller]
fn run(command: &str, flags: &[&str]) -> (String, Value, ProgramOutput) {
    let scene = Scene::new([answer_shell(command), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(RULES_ONLY));
    let output = scene.print(flags).run().succeeded();
    let (arm, payload) = only_result(&output);
    // The model receives the same reason as the stream.
    let transcript = scene.server.requests()[1].transcript().join("\n");
    if let Some(reason) = payload["reason"].as_str() {
        assert!(transcript.contains(reason), "{transcript}");
    }
    (arm, payload, output)
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
fn a_rejected_command_names_the_flags_that_allow_it() {
    let reason = check_rejected("make all", &[]);
    assert!(reason.contains("--force") && reason.contains("Shell(make"), "{reason}");
}

/// The default of print mode: a command in the sandbox needs no rule.
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

/// `--force` skips approvals, but keeps the sandbox.
#[test]
fn force_keeps_the_sandbox() {
    for (sandbox, made) in [("enabled", false), ("disabled", true)] {
        let scene = Scene::new([answer_shell("sh script"), answer_text("done")]);
        let outside = scene.workspace.outside().join("made");
        // Rules do not cover what a script does.
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
fn tokens_in_the_configuration_apply() {
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
fn ask_beats_allow_and_force_beats_ask() {
    let flags = ["--allow", "Shell(echo)", "--ask", "Shell(echo)"];
    check_rejected("echo hello", &flags);
    check_allowed("echo hello", &[&flags[..], &["--force"]].concat(), "hello\n");
    check_rejected("echo hello", &["--force", "--ask", "Shell(echo)", "--deny", "Shell(echo)"]);
}

#[test]
fn ask_rules_in_files_apply() {
    let config = "[permissions]\nallow = [\"Shell(echo)\"]\nask = [\"Shell(echo)\"]\n";
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")])
        .with_workspace(Workspace::new().user_config(config));
    assert_eq!(only_result(&scene.print::<&str>([]).run().succeeded()).0, "rejected");
}

/// A run starts only if every rule is valid.
#[test]
fn an_invalid_token_stops_the_run() {
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
fn white_space_in_a_token_is_ignored() {
    for token in [" Shell( touch ) ", "\tShell(touch)", "Shell (touch)", "Shell( touch : * )"] {
        check_rejected("touch made", &["--force", "--deny", token]);
    }
}

#[test]
fn the_permission_mode_is_in_init() {
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

/// Covers every kind of path that leads out of the workspace.
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
fn an_added_directory_is_writable() {
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

#[test]
fn the_model_cannot_read_stored_keys() {
    let scene = Scene::new([]);
    let login =
        scene.ibeam_without_model(["login", "openai", "--no-check", "--api-key", KEY]).run().succeeded();
    assert!(!login.stdout.contains(KEY), "{login}");
    let credentials = scene.workspace.home().join(".config/ibeam/credentials.toml");
    let scene =
        scene.with_answers([answer_call("t", "read", &json!({ "path": credentials })), answer_text("done")]);
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
    assert!(!scene.server.requests()[1].body.to_string().contains(KEY));
}

#[test]
fn commands_do_not_receive_keys() {
    let (arm, payload, output) = run("env", &["--force"]);
    assert_eq!(arm, "success", "{output}");
    assert!(payload["stdout"].as_str().unwrap().contains("HOME="), "{payload}");
    assert!(!payload.to_string().contains(KEY) && !payload.to_string().contains("API_KEY"), "{payload}");
}

#[test]
fn the_number_of_refused_calls_is_reported_once() {
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

/// The hint depends on the cause: a flag if no rule covers the call, none for a mode or a deny rule.
#[test]
fn a_refused_call_is_reported_with_its_reason_and_a_hint() {
    let stderr = |flags: &[&str]| {
        let scene = Scene::new([answer_shell("rm -r build"), answer_text("done")]);
        scene.print(flags).run().succeeded().stderr
    };
    let denied = stderr(&["--deny", "Shell(rm)"]);
    assert!(denied.contains("denied by the rule `Shell(rm)`") && !denied.contains("--force"), "{denied}");
    let planned = stderr(&["--mode", "plan"]);
    assert!(planned.contains("`--mode plan` changes no") && !planned.contains("--force"), "{planned}");
    let uncovered = stderr(&["--approval", "strict"]);
    assert!(uncovered.contains("`--allow 'Shell(rm)'`"), "{uncovered}");
}
