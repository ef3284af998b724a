//! Permission files of the original program: settings that apply, and errors that stop a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ibeam_testkit::fault_injection::{check_failure, is_root, launcher_works, make_accessible_to_all};
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, only_result};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

use super::RULES_ONLY;

const PROJECT: &str = ".cursor/cli.json";

/// Returns the path of the user's permission file.
fn user_file(scene: &Scene) -> PathBuf {
    scene.workspace.home().join(".cursor/cli-config.json")
}

fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs `echo a` with these files; returns the arm of the result and the output of the run.
#[track_caller]
fn run(user: Option<&Value>, project: Option<&Value>, flags: &[&str]) -> (String, ProgramOutput) {
    let scene = Scene::new([answer_shell("echo a"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(RULES_ONLY));
    if let Some(user) = user {
        write_file(&user_file(&scene), &user.to_string());
    }
    if let Some(project) = project {
        write_file(&scene.workspace.path().join(PROJECT), &project.to_string());
    }
    let files = [user_file(&scene), scene.workspace.path().join(PROJECT)];
    let before: Vec<_> = files.iter().map(|path| fs::read(path).ok()).collect();
    let output = scene.print(flags).run().succeeded();
    let after: Vec<_> = files.iter().map(|path| fs::read(path).ok()).collect();
    assert_eq!(before, after, "a file of the original was written");
    (only_result(&output).0, output)
}

fn allow(token: &str) -> Value {
    json!({"version": 1, "editor": {"vimMode": false}, "permissions": {"allow": [token], "deny": []}})
}

fn deny(token: &str) -> Value {
    json!({"permissions": {"deny": [token]}})
}

#[test]
fn the_users_file_allows_and_denies() {
    assert_eq!(run(Some(&allow("Shell(echo)")), None, &[]).0, "success");
    assert_eq!(run(Some(&allow("Shell(ls)")), None, &[]).0, "rejected");
    assert_eq!(run(Some(&deny("Shell(echo)")), None, &["--force"]).0, "rejected");
    let asks = json!({"permissions": {"allow": ["Shell(echo)"], "ask": ["Shell(echo)"]}});
    assert_eq!(run(Some(&asks), None, &[]).0, "rejected");
    assert_eq!(run(Some(&asks), None, &["--force"]).0, "success");
}

#[test]
fn an_untrusted_project_can_only_restrict() {
    let (arm, output) = run(None, Some(&allow("Shell(*)")), &[]);
    assert_eq!(arm, "rejected", "{output}");
    assert!(output.stderr.contains("permissions.allow") && output.stderr.contains("--trust"), "{output}");
    assert_eq!(run(None, Some(&allow("Shell(echo)")), &["--trust"]).0, "success");
    assert_eq!(run(None, Some(&deny("Shell(echo)")), &["--allow", "Shell(echo)"]).0, "rejected");
    assert_eq!(run(Some(&deny("Shell(echo)")), Some(&allow("Shell(echo)")), &["--trust"]).0, "rejected");
    let asks = json!({"permissions": {"ask": ["Shell(echo)"]}});
    assert_eq!(run(None, Some(&asks), &["--allow", "Shell(echo)"]).0, "rejected");
}

/// An allow list in the ibeam configuration replaces the one of the original. Deny rules of both files apply.
#[test]
fn the_ibeam_configuration_takes_precedence() {
    let config = "[permissions]\nallow = [\"Shell(ls)\"]\ndeny = [\"Shell(rm)\"]\n";
    let config = format!("{RULES_ONLY}{config}");
    let project_rules = json!({"permissions": {"allow": ["Shell(echo)"], "deny": ["Shell(true)"]}});
    for (command, flags, arm) in [
        ("echo a", &[][..], "rejected"),
        ("ls", &[], "success"),
        ("true", &["--force"], "rejected"),
        ("rm x", &["--force"], "rejected"),
    ] {
        let scene = Scene::new([answer_shell(command), answer_text("done")]);
        let scene = scene.with_workspace(Workspace::new().user_config(&config));
        write_file(&user_file(&scene), &project_rules.to_string());
        let output = scene.print(flags).run().succeeded();
        assert_eq!(only_result(&output).0, arm, "{command}: {output}");
    }
}

#[test]
fn the_directory_of_the_users_file_can_be_configured() {
    let scene = Scene::new([answer_shell("echo a"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(RULES_ONLY));
    let (home, configured) =
        (scene.workspace.home().to_owned(), scene.workspace.outside().join("configured"));
    write_file(&user_file(&scene), &deny("Shell(echo)").to_string());
    write_file(&home.join(".config/cursor/cli-config.json"), &allow("Shell(echo)").to_string());
    // The XDG directory precedes the one in the home directory. A configured directory replaces both.
    let xdg = scene.print::<&str>([]).run().succeeded();
    assert_eq!(only_result(&xdg).0, "success", "{xdg}");
    let scene = scene.with_answers([answer_shell("echo a"), answer_text("done")]);
    let explicit = scene.print::<&str>([]).env("CURSOR_CONFIG_DIR", &configured).run().succeeded();
    assert_eq!(only_result(&explicit).0, "rejected", "{explicit}");
    let reason = only_result(&explicit).1["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("--allow"), "no rule should apply: {reason}");
    let scene = scene.with_answers([answer_shell("echo a"), answer_text("done")]);
    write_file(&configured.join("cli-config.json"), &allow("Shell(echo)").to_string());
    let explicit = scene.print::<&str>([]).env("CURSOR_CONFIG_DIR", &configured).run().succeeded();
    assert_eq!(only_result(&explicit).0, "success", "{explicit}");
}

/// Asserts the value that `config explain` shows for a key with these files.
#[track_caller]
fn check_setting(user: &Value, project: &Value, key: &str, expect: &str) {
    let scene = Scene::new([]);
    write_file(&user_file(&scene), &user.to_string());
    write_file(&scene.workspace.path().join(PROJECT), &project.to_string());
    let output =
        scene.ibeam_without_model(["config", "explain", "--trust", "--format", "json"]).run().succeeded();
    let rows = output.json();
    let row = rows.as_array().unwrap().iter().find(|row| row["key"] == key);
    assert_eq!(row.map(|row| row["value"].to_string()).as_deref(), Some(expect), "{user} {project}");
}

#[test]
fn modes_of_the_original_map_to_own_modes() {
    let (none, mode) = (json!({}), |mode: &str| json!({"approvalMode": mode}));
    check_setting(&mode("allowlist"), &none, "approval", "\"allowlist\"");
    check_setting(&mode("unrestricted"), &none, "approval", "\"sandboxed\"");
    check_setting(&none, &mode("allowlist"), "approval", "\"allowlist\"");
    // Even a trusted project can only restrict.
    check_setting(&mode("allowlist"), &mode("unrestricted"), "approval", "\"allowlist\"");
    check_setting(&mode("allowlist"), &mode("some-day"), "approval", "\"allowlist\"");
    let sandbox = |mode: &str| json!({"sandbox": {"mode": mode, "networkAccess": "allowlist"}});
    check_setting(&sandbox("disabled"), &none, "sandbox.mode", "\"disabled\"");
    check_setting(&sandbox("disabled"), &sandbox("enabled"), "sandbox.mode", "\"enabled\"");
    check_setting(&sandbox("enabled"), &sandbox("disabled"), "sandbox.mode", "\"enabled\"");
}

/// An ambiguous or invalid file is an error. It is never treated as empty.
#[test]
fn an_invalid_file_stops_the_run_with_its_position() {
    for (text, position) in [
        (r#"{"permissions":{"deny":["Shell(touch)"],"deny":[]}}"#, ":1:"),
        ("{\"permissions\":{},\n \"permissions\":{}}", ":1:1"),
        ("{\"permissions\": {\n  \"deny\": [\"Shell(ls)\",\n    \"Shel(touch)\"]}}", ":3:5"),
        ("{\"permissions\": {\n  \"allow\": [\"Shell(touch\"]}}", ":2:13"),
        ("{\"permissions\": {\n  \"deny\": \"Shell(touch)\"}}", ":2:11"),
        ("{\"permissions\": {\n  \"deny\": [7]}}", ":2:12"),
        ("{\"permissions\": []}", ":1:17"),
        ("{\"permissions\": {\"deny\": [\"Shell(a)\",]}}", ":1:"),
        ("[]", ":1:1"),
        ("", ":1:"),
        ("{\"permissions\":\n", ":2:"),
        ("{\"a\": \"\u{0}\"}", ":1:"),
    ] {
        for is_user_file in [true, false] {
            let scene = Scene::new([]);
            let project = scene.workspace.path().join(PROJECT);
            let path = if is_user_file { user_file(&scene) } else { project };
            write_file(&path, text);
            let output = scene.print(["--force"]).run();
            check_failure(&output, 78);
            assert!(output.stderr.contains(&format!("{}{position}", path.display())), "{text}: {output}");
            assert_eq!(scene.server.requests().len(), 0);
        }
    }
    let scene = Scene::new([]);
    write_file(&user_file(&scene), "{\"approvalMode\": \"some-day\"}");
    check_failure(&scene.print(["--force"]).run(), 78);
}

#[test]
fn an_unreadable_file_stops_the_run() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        eprintln!("SKIP: only root can be a user without the right to read");
        return;
    }
    for is_user_file in [true, false] {
        let scene = Scene::new([]);
        let project = scene.workspace.path().join(PROJECT);
        let path = if is_user_file { user_file(&scene) } else { project };
        write_file(&path, &deny("Shell(touch)").to_string());
        make_accessible_to_all(&scene);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let output = scene.print(["--force"]).through(user).run();
        check_failure(&output, 78);
        assert!(output.stderr.contains(path.to_str().unwrap()), "{output}");
    }
}

/// The model cannot change a file that could give the next run more permissions.
#[test]
fn the_users_file_is_protected_in_any_directory() {
    let scene = Scene::new([]);
    let path = scene.workspace.path().join("configuration/cli-config.json");
    write_file(&path, "{}");
    let write = ibeam_testkit::scene::answer_call("t", "write", &json!({"path": path, "fileText": "{}"}));
    let scene = scene.with_answers([write, answer_text("done")]);
    let directory = path.parent().unwrap().to_owned();
    let output = scene.print(["--force"]).env("CURSOR_CONFIG_DIR", directory).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
}
