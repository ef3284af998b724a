//! What a project's file may do to those who work in it: narrow, until they trust it.

use ibeam_testkit::Workspace;
use serde_json::Value;

use super::{RULES_ONLY, only_result};
use crate::scene::{Scene, answer_shell, answer_text};

/// A project's file may narrow what is allowed, never widen it.
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

/// The settings of `config explain` where this is the project's file: key and value to origin.
fn explained(user: &str, project: &str, flags: &[&str]) -> (Vec<(String, String)>, String) {
    let workspace = Workspace::new().user_config(user).file(".ibeam/config.toml", project);
    let scene = Scene::new([]).with_workspace(workspace);
    let output =
        scene.ibeam_without_model(["config", "explain", "--format", "json"]).args(flags).run().succeeded();
    let rows = output.json().as_array().unwrap().clone();
    let key = |row: &Value| row["key"].as_str().unwrap().to_owned();
    let rows = rows.iter().map(|row| (key(row), row["value"].to_string())).collect();
    let message = scene.ibeam_without_model(["config", "explain"]).args(flags).run().succeeded().stdout;
    (rows, message)
}

/// One key in the user's and the project's file, and what is in force then, untrusted and trusted.
#[track_caller]
fn check(key: &str, user: Option<&str>, project: &str, untrusted: Option<&str>, trusted: Option<&str>) {
    let user = user.map_or_else(String::new, |value| format!("{key} = {value}\n"));
    let project = format!("{key} = {project}\n");
    for (flags, expect) in [(&[][..], untrusted), (&["--trust"][..], trusted)] {
        let (rows, message) = explained(&user, &project, flags);
        let value = rows.iter().find(|(found, _)| found == key).map(|(_, value)| value.as_str());
        assert_eq!(value, expect, "{key} {flags:?}: {message}");
        // What does not count is told.
        let ignored = message.contains(&format!("`{key}` in"));
        let counts = message.contains(".ibeam/config.toml:1");
        assert!(ignored != counts, "{key} {flags:?}: {message}");
    }
}

#[test]
fn what_could_widen_waits_for_trust() {
    let list = "[\"X\"]";
    check("sandbox.environment", None, list, None, Some(list));
    check("network.allow", None, list, None, Some(list));
    check("models.prices.m", Some("\"1/1\""), "\"0/0\"", Some("\"1/1\""), Some("\"0/0\""));
    check("timeouts.hook", None, "\"1ms\"", Some("\"60s\""), Some("\"1ms\""));
}

#[test]
fn a_model_is_not_chosen_by_a_project_that_is_not_trusted() {
    check("model", Some("\"a/b\""), "\"c/d\"", Some("\"a/b\""), Some("\"c/d\""));
    check("models.aliases.auto", None, "\"c/d\"", None, Some("\"c/d\""));
}

#[test]
fn a_limit_may_be_lowered() {
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
fn a_word_may_be_the_narrow_one() {
    check("approval", None, "\"allowlist\"", Some("\"allowlist\""), Some("\"allowlist\""));
    check("approval", Some("\"allowlist\""), "\"sandboxed\"", Some("\"allowlist\""), Some("\"sandboxed\""));
    check("approval", Some("\"allowlist\""), "\"strict\"", Some("\"strict\""), Some("\"strict\""));
    check("approval", Some("\"strict\""), "\"allowlist\"", Some("\"strict\""), Some("\"allowlist\""));
    check("session.durability", Some("\"strict\""), "\"default\"", Some("\"strict\""), Some("\"default\""));
}

#[test]
fn some_things_are_no_projects_to_say() {
    check("sandbox.mode", Some("\"disabled\""), "\"enabled\"", Some("\"enabled\""), Some("\"enabled\""));
    check("sandbox.mode", Some("\"enabled\""), "\"disabled\"", Some("\"enabled\""), Some("\"enabled\""));
    check("network.resolve.name", None, "\"127.0.0.1\"", None, None);
    check("sandbox.writable", None, "[\"~/x\"]", None, None);
    check("sandbox.caches", None, "[\"cargo\"]", None, None);
    check("sandbox.sockets", None, "[\"/run/docker.sock\"]", None, None);
}

/// The rule of the default stands in the file of the project; the flag of the user is stronger.
#[test]
fn a_flag_is_stronger_than_a_file() {
    let (rows, message) = explained("", "sandbox.mode = \"enabled\"\n", &["--sandbox", "disabled"]);
    assert!(rows.contains(&("sandbox.mode".to_owned(), "\"disabled\"".to_owned())), "{message}");
}

#[test]
fn an_untrusted_project_may_ask_for_questions() {
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
