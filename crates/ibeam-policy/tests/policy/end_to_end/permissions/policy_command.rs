//! `ibeam policy`: verdicts and active rules without a run.

use ibeam_testkit::scene::Scene;
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

const RULES: &str = "[permissions]\nallow = [\"Shell(git:status*)\", \"Shell(echo)\"]\n\
                     ask = [\"Shell(git:push*)\"]\ndeny = [\"Shell(rm)\", \"Read(.env)\"]\n";

fn run(args: &[&str]) -> ProgramOutput {
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(RULES));
    let output = scene.ibeam_without_model(["policy"]).args(args).run();
    assert_eq!(output.stderr, "", "{output}");
    output
}

/// Asserts the exit code and the verdict; returns the report.
#[track_caller]
fn check(args: &[&str], code: i32, verdict: &str) -> Value {
    let output = run(&[&["test", "--format", "json"], args].concat());
    assert_eq!(
        (output.code, output.json()["verdict"].as_str()),
        (Some(code), Some(verdict)),
        "{args:?}: {output}"
    );
    output.json()
}

#[test]
fn a_command_is_allowed_denied_or_needs_approval() {
    check(&["git status -s"], 0, "allow");
    check(&["git status && echo a"], 0, "allow");
    let denied = check(&["echo a; rm -rf x"], 3, "deny");
    assert_eq!(denied["rule"], "Shell(rm)");
    assert!(denied["reason"].as_str().unwrap().contains("`rm`"), "{denied}");
    check(&["git push"], 4, "ask");
    check(&["make"], 0, "allow");
    check(&["make", "--sandbox", "disabled"], 4, "ask");
    check(&["git push", "--force"], 0, "allow");
    check(&["rm x", "--force"], 3, "deny");
    check(&["make", "--allow", "Shell(make)"], 0, "allow");
    check(&["echo a", "--mode", "plan"], 3, "deny");
}

#[test]
fn files_pages_and_tools_have_verdicts_too() {
    check(&["--read", "src/main.rs"], 0, "allow");
    check(&["--read", "./.env"], 3, "deny");
    check(&["--write", "new.txt"], 0, "allow");
    check(&["--write", "../new.txt"], 3, "deny");
    check(&["--write", ".git/config"], 3, "deny");
    check(&["--fetch", "https://example.org/x"], 4, "ask");
    check(&["--fetch", "https://example.org/x", "--allow", "WebFetch(*.example.org)"], 4, "ask");
    check(&["--fetch", "https://a.example.org/x", "--allow", "WebFetch(*.example.org)"], 0, "allow");
    check(&["--mcp", "files:read"], 4, "ask");
    check(&["--mcp", "files:read", "--approve-mcps"], 0, "allow");
}

/// The verdict on a link depends on its target.
#[test]
fn a_path_is_resolved_as_a_tool_would() {
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(RULES).file(".env", "x"));
    std::os::unix::fs::symlink(".env", scene.workspace.path().join("innocent")).unwrap();
    assert_eq!(scene.ibeam_without_model(["policy", "test", "--read", "innocent"]).run().code, Some(3));
}

/// The report has every evaluated rule and its origin.
#[test]
fn each_evaluated_rule_is_reported_with_its_origin() {
    let report = check(&["git status && rm x"], 3, "deny");
    let parts = report["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{report}");
    let finding = |part: &Value, rule: &str| {
        let findings = part["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["rule"] == rule).cloned().unwrap_or_default()
    };
    let deny = finding(&parts[1], "Shell(rm)");
    assert_eq!((&deny["applies"], &deny["list"]), (&json!(true), &json!("deny")), "{report}");
    assert!(deny["origin"].as_str().unwrap().ends_with(".config/ibeam/config.toml:4"), "{report}");
    let inapplicable = finding(&parts[0], "Shell(rm)");
    assert_eq!(inapplicable["applies"], json!(false), "{report}");
    let allow = finding(&parts[0], "Shell(git:status*)");
    assert!(allow["applies"] == true && allow["origin"].as_str().unwrap().ends_with(":2"), "{report}");
}

#[test]
fn the_text_report_is_translated() {
    let output = run(&["test", "git status && rm x"]);
    assert!(
        output.stdout.contains("\ngit status\n") || output.stdout.starts_with("git status\n"),
        "{output}"
    );
    assert!(
        output.stdout.contains("`Shell(rm)` applies") && output.stdout.contains("config.toml:4"),
        "{output}"
    );
    assert!(output.stdout.contains("\ndenied by `Shell(rm)`: "), "{output}");
    let output = run(&["test", "rm x", "--lang", "es"]);
    assert!(output.stdout.contains("denegado por `Shell(rm)`: "), "{output}");
}

#[test]
fn the_active_rules_are_listed_with_their_origins() {
    let output = run(&["list", "--deny", " Shell( touch ) "]);
    let words: Vec<Vec<&str>> = output.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let tokens: Vec<(&str, &str)> = words.iter().take(6).map(|words| (words[0], words[1])).collect();
    let expect = [
        ("deny", "Shell(rm)"),
        ("deny", "Read(.env)"),
        ("deny", "Shell(touch)"),
        ("ask", "Shell(git:push*)"),
        ("allow", "Shell(git:status*)"),
        ("allow", "Shell(echo)"),
    ];
    assert_eq!(tokens, expect, "{output}");
    assert!(output.stdout.contains("# --deny\n") && output.stdout.contains("config.toml:3\n"), "{output}");
    assert!(output.stdout.contains("approval = \"sandboxed\"  # default"), "{output}");
    let json = run(&["list", "--format", "json"]).json();
    assert_eq!(json["rules"].as_array().map(Vec::len), Some(5), "{json}");
    assert_eq!(json["settings"][0], json!({"key": "approval", "value": "sandboxed", "origin": "default"}));
}

#[test]
fn an_empty_list_of_rules_is_reported() {
    let output = Scene::new([]).ibeam_without_model(["policy", "list"]).run().succeeded();
    assert!(output.stdout.starts_with("no rule is set"), "{output}");
}

#[test]
fn exactly_one_action_must_be_given() {
    for args in [&["test"][..], &["test", "ls", "--read", "x"], &["test", "--mcp", "server"]] {
        let output = Scene::new([]).ibeam_without_model(["policy"]).args(args).run();
        assert_eq!((output.code, output.stderr_lines("error: ").len()), (Some(2), 1), "{args:?}: {output}");
    }
}
