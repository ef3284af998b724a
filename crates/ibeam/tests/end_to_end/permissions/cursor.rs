//! The files of the original: what of them counts, and what of them stops a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

use super::{RULES_ONLY, only_result};
use crate::faults::{check_failure, is_root, launcher_works, make_accessible_to_all};
use crate::scene::{Scene, answer_shell, answer_text};

const PROJECT: &str = ".cursor/cli.json";

/// Where the user's file may stand.
fn of_user(scene: &Scene) -> PathBuf {
    scene.workspace.home().join(".cursor/cli-config.json")
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A run of `echo a` with these files in the form of the original: its arm, and the run.
#[track_caller]
fn run(user: Option<&Value>, project: Option<&Value>, flags: &[&str]) -> (String, ProgramOutput) {
    let scene = Scene::new([answer_shell("echo a"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(RULES_ONLY));
    if let Some(user) = user {
        put(&of_user(&scene), &user.to_string());
    }
    if let Some(project) = project {
        put(&scene.workspace.path().join(PROJECT), &project.to_string());
    }
    let files = [of_user(&scene), scene.workspace.path().join(PROJECT)];
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
fn a_project_that_is_not_trusted_only_narrows() {
    let (arm, output) = run(None, Some(&allow("Shell(*)")), &[]);
    assert_eq!(arm, "rejected", "{output}");
    assert!(output.stderr.contains("permissions.allow") && output.stderr.contains("--trust"), "{output}");
    assert_eq!(run(None, Some(&allow("Shell(echo)")), &["--trust"]).0, "success");
    assert_eq!(run(None, Some(&deny("Shell(echo)")), &["--allow", "Shell(echo)"]).0, "rejected");
    assert_eq!(run(Some(&deny("Shell(echo)")), Some(&allow("Shell(echo)")), &["--trust"]).0, "rejected");
    let asks = json!({"permissions": {"ask": ["Shell(echo)"]}});
    assert_eq!(run(None, Some(&asks), &["--allow", "Shell(echo)"]).0, "rejected");
}

/// Where our own file allows something, it says all that is allowed; what narrows counts from both.
#[test]
fn our_own_file_is_the_stronger() {
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
        put(&of_user(&scene), &project_rules.to_string());
        let output = scene.print(flags).run().succeeded();
        assert_eq!(only_result(&output).0, arm, "{command}: {output}");
    }
}

#[test]
fn the_directory_of_the_users_file_can_be_chosen() {
    let scene = Scene::new([answer_shell("echo a"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().user_config(RULES_ONLY));
    let (home, chosen) = (scene.workspace.home().to_owned(), scene.workspace.outside().join("chosen"));
    put(&of_user(&scene), &deny("Shell(echo)").to_string());
    put(&home.join(".config/cursor/cli-config.json"), &allow("Shell(echo)").to_string());
    // The one of XDG comes before the one at home, and an explicit directory is the only one.
    let xdg = scene.print::<&str>([]).run().succeeded();
    assert_eq!(only_result(&xdg).0, "success", "{xdg}");
    let scene = scene.with_answers([answer_shell("echo a"), answer_text("done")]);
    let only = scene.print::<&str>([]).env("CURSOR_CONFIG_DIR", &chosen).run().succeeded();
    assert_eq!(only_result(&only).0, "rejected", "{only}");
    let reason = only_result(&only).1["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("--allow"), "no rule should be there: {reason}");
    let scene = scene.with_answers([answer_shell("echo a"), answer_text("done")]);
    put(&chosen.join("cli-config.json"), &allow("Shell(echo)").to_string());
    let only = scene.print::<&str>([]).env("CURSOR_CONFIG_DIR", &chosen).run().succeeded();
    assert_eq!(only_result(&only).0, "success", "{only}");
}

/// What `config explain` says of a key with these files.
#[track_caller]
fn check_setting(user: &Value, project: &Value, key: &str, expect: &str) {
    let scene = Scene::new([]);
    put(&of_user(&scene), &user.to_string());
    put(&scene.workspace.path().join(PROJECT), &project.to_string());
    let output =
        scene.ibeam_without_model(["config", "explain", "--trust", "--format", "json"]).run().succeeded();
    let rows = output.json();
    let row = rows.as_array().unwrap().iter().find(|row| row["key"] == key);
    assert_eq!(row.map(|row| row["value"].to_string()).as_deref(), Some(expect), "{user} {project}");
}

#[test]
fn the_modes_of_the_original_are_modes_of_ours() {
    let (none, mode) = (json!({}), |mode: &str| json!({"approvalMode": mode}));
    check_setting(&mode("allowlist"), &none, "approval", "\"allowlist\"");
    check_setting(&mode("unrestricted"), &none, "approval", "\"sandboxed\"");
    check_setting(&none, &mode("allowlist"), "approval", "\"allowlist\"");
    // Trusted or not, a project says less, never more.
    check_setting(&mode("allowlist"), &mode("unrestricted"), "approval", "\"allowlist\"");
    check_setting(&mode("allowlist"), &mode("some-day"), "approval", "\"allowlist\"");
    let sandbox = |mode: &str| json!({"sandbox": {"mode": mode, "networkAccess": "allowlist"}});
    check_setting(&sandbox("disabled"), &none, "sandbox.mode", "\"disabled\"");
    check_setting(&sandbox("disabled"), &sandbox("enabled"), "sandbox.mode", "\"enabled\"");
    check_setting(&sandbox("enabled"), &sandbox("disabled"), "sandbox.mode", "\"enabled\"");
}

/// What could be meant in two ways, or cannot be read, is not taken for nothing.
#[test]
fn a_file_that_is_wrong_stops_the_run_with_its_place() {
    for (text, place) in [
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
        for of_user_too in [true, false] {
            let scene = Scene::new([]);
            let project = scene.workspace.path().join(PROJECT);
            let path = if of_user_too { of_user(&scene) } else { project };
            put(&path, text);
            let output = scene.print(["--force"]).run();
            check_failure(&output, 78);
            assert!(output.stderr.contains(&format!("{}{place}", path.display())), "{text}: {output}");
            assert_eq!(scene.server.requests().len(), 0);
        }
    }
    let scene = Scene::new([]);
    put(&of_user(&scene), "{\"approvalMode\": \"some-day\"}");
    check_failure(&scene.print(["--force"]).run(), 78);
}

#[test]
fn a_file_that_may_not_be_read_stops_the_run() {
    if !is_root() || !launcher_works(&["setpriv", "--reuid=65534", "--clear-groups"]) {
        eprintln!("SKIP: only root can be a user without the right to read");
        return;
    }
    for of_user_too in [true, false] {
        let scene = Scene::new([]);
        let project = scene.workspace.path().join(PROJECT);
        let path = if of_user_too { of_user(&scene) } else { project };
        put(&path, &deny("Shell(touch)").to_string());
        make_accessible_to_all(&scene);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let output = scene.print(["--force"]).through(user).run();
        check_failure(&output, 78);
        assert!(output.stderr.contains(path.to_str().unwrap()), "{output}");
    }
}

/// A file whose change would widen the next run is not the model's to change.
#[test]
fn the_users_file_is_out_of_reach_wherever_it_is() {
    let scene = Scene::new([]);
    let path = scene.workspace.path().join("configuration/cli-config.json");
    put(&path, "{}");
    let write = crate::scene::answer_call("t", "write", &json!({"path": path, "fileText": "{}"}));
    let scene = scene.with_answers([write, answer_text("done")]);
    let directory = path.parent().unwrap().to_owned();
    let output = scene.print(["--force"]).env("CURSOR_CONFIG_DIR", directory).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
}
