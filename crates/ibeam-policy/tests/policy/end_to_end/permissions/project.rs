//! The configuration of a project: until the project is trusted, it can only restrict permissions.

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, only_result};
use serde_json::Value;

use super::RULES_ONLY;

/// The file of a project can restrict permissions, but not extend them.
#[test]
fn a_project_cannot_allow_itself_commands() {
    let config = "[permissions]\nallow = [\"Shell(echo)\"]\n";
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
    let workspace = Workspace::new().user_config(RULES_ONLY);
    let scene = scene.with_workspace(workspace.file(".ibeam/config.toml", config));
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(only_result(&output).0, "rejected", "{output}");
    assert!(output.stderr.contains("--trust"), "{output}");
    let scene = scene.with_answers([answer_shell("echo hello"), answer_text("done")]);
    assert_eq!(only_result(&scene.print(["--trust"]).run().succeeded()).0, "success");
}

#[test]
fn a_project_can_deny_itself_commands() {
    let config = "[permissions]\ndeny = [\"Shell(echo)\"]\n";
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().file(".ibeam/config.toml", config));
    assert_eq!(only_result(&scene.print(["--force"]).run().succeeded()).0, "rejected");
}

/// Returns the keys and values that `config explain` shows with these files, and its text output.
fn explain_config(user: &str, project: &str, flags: &[&str]) -> (Vec<(String, String)>, String) {
    let workspace = Workspace::new().user_config(user).file(".ibeam/config.toml", project);
    let scene = Scene::new([]).with_workspace(workspace);
    let output =
        scene.ibeam_without_model(["config", "explain", "--format", "json"]).args(flags).run().succeeded();
    let rows = output.json().as_array().unwrap().clone();
    let key = |row: &Value| row["key"].as_str().unwrap().to_owned();
    let rows = rows.iter().map(|row| (key(row), row["value"].to_string())).collect();
    let text = scene.ibeam_without_model(["config", "explain"]).args(flags).run().succeeded().stdout;
    (rows, text)
}

/// Sets one key in the user's and the project's file; asserts its value without and with trust.
#[track_caller]
fn check(key: &str, user: Option<&str>, project: &str, untrusted: Option<&str>, trusted: Option<&str>) {
    let user = user.map_or_else(String::new, |value| format!("{key} = {value}\n"));
    let project = format!("{key} = {project}\n");
    for (flags, expect) in [(&[][..], untrusted), (&["--trust"][..], trusted)] {
        let (rows, text) = explain_config(&user, &project, flags);
        let value = rows.iter().find(|(found, _)| found == key).map(|(_, value)| value.as_str());
        assert_eq!(value, expect, "{key} {flags:?}: {text}");
        // An ignored value is reported.
        let is_ignored = text.contains(&format!("`{key}` in"));
        let is_applied = text.contains(".ibeam/config.toml:1");
        assert!(is_ignored != is_applied, "{key} {flags:?}: {text}");
    }
}

#[test]
fn settings_that_extend_permissions_need_trust() {
    let list = "[\"X\"]";
    check("sandbox.environment", None, list, None, Some(list));
    let hosts = "[\"example.com:443\"]";
    check("network.allow", None, hosts, None, Some(hosts));
    check("models.prices.m", Some("\"1/1\""), "\"0/0\"", Some("\"1/1\""), Some("\"0/0\""));
    check("timeouts.hook", None, "\"1ms\"", Some("\"60s\""), Some("\"1ms\""));
}

#[test]
fn an_untrusted_project_cannot_choose_the_model() {
    check("model", Some("\"a/b\""), "\"c/d\"", Some("\"a/b\""), Some("\"c/d\""));
    check("models.aliases.auto", None, "\"c/d\"", None, Some("\"c/d\""));
}

#[test]
fn an_untrusted_project_can_only_lower_limits() {
    check("limits.max_turns", None, "100", Some("100"), Some("100"));
    check("limits.max_turns", None, "300", Some("200"), Some("300"));
    check("limits.max_turns", Some("50"), "60", Some("50"), Some("60"));
    check("limits.max_cost", None, "\"0.50\"", Some("0.5"), Some("0.5"));
    check("limits.max_cost", Some("\"0.50\""), "\"9\"", Some("0.5"), Some("9.0"));
    check("limits.timeout", Some("\"10m\""), "\"20m\"", Some("\"600s\""), Some("\"1200s\""));
    check("sandbox.scratch_size", Some("\"1G\""), "\"2G\"", Some("1073741824"), Some("2147483648"));
    check("limits.file_size", None, "\"4G\"", Some("4294967296"), Some("4294967296"));
}

#[test]
fn an_untrusted_project_can_only_choose_stricter_modes() {
    check("approval", None, "\"allowlist\"", Some("\"allowlist\""), Some("\"allowlist\""));
    check("approval", Some("\"allowlist\""), "\"sandboxed\"", Some("\"allowlist\""), Some("\"sandboxed\""));
    check("approval", Some("\"allowlist\""), "\"strict\"", Some("\"strict\""), Some("\"strict\""));
    check("approval", Some("\"strict\""), "\"allowlist\"", Some("\"strict\""), Some("\"allowlist\""));
    check("session.durability", Some("\"strict\""), "\"default\"", Some("\"strict\""), Some("\"default\""));
}

#[test]
fn some_settings_cannot_be_extended_by_a_trusted_project() {
    check("sandbox.mode", Some("\"disabled\""), "\"enabled\"", Some("\"enabled\""), Some("\"enabled\""));
    check("sandbox.mode", Some("\"enabled\""), "\"disabled\"", Some("\"enabled\""), Some("\"enabled\""));
    check("network.resolve.name", None, "\"127.0.0.1\"", None, None);
    check("sandbox.writable", None, "[\"~/x\"]", None, None);
    check("sandbox.caches", None, "[\"cargo\"]", None, None);
    check("sandbox.sockets", None, "[\"/run/docker.sock\"]", None, None);
}

#[test]
fn a_flag_overrides_a_project_file() {
    let (rows, text) = explain_config("", "sandbox.mode = \"enabled\"\n", &["--sandbox", "disabled"]);
    assert!(rows.contains(&("sandbox.mode".to_owned(), "\"disabled\"".to_owned())), "{text}");
}

#[test]
fn an_untrusted_project_can_require_approval() {
    let config = "[permissions]\nask = [\"Shell(echo)\"]\n";
    let scene = Scene::new([answer_shell("echo hello"), answer_text("done")]);
    let scene = scene.with_workspace(Workspace::new().file(".ibeam/config.toml", config));
    let output = scene.print(["--allow", "Shell(echo)"]).run().succeeded();
    assert_eq!(
        (only_result(&output).0.as_str(), output.stderr_lines("warning: ").len()),
        ("rejected", 1),
        "{output}"
    );
}
