//! Cases of `corpus/attacks.jsonl` that policy alone decides: commands without a sandbox, fetches and MCP tools.
//!
//! The other cases need files, processes or a kernel; `cargo xtask corpus attacks` runs all of them with the real
//! binary.

use std::path::PathBuf;

use ibeam_policy::{Access, Policy, Rule, Verdict};
use ibeam_protocol::PermissionMode;
use serde_json::Value;

/// Settings of a case that do not affect policy.
const FIXTURE: &[&str] =
    &["trust", "env", "hook", "raw", "chmod", "mcp_tools", "resolve", "approved_mcp_hash"];

fn place(text: &str) -> String {
    [
        ("{{WS}}", "/home/ann/work"),
        ("{{HOME}}", "/home/ann"),
        ("{{OUT}}", "/srv/out"),
        ("{{STATE}}", "/home/ann/.local/share/ibeam"),
        ("{{PORT}}", "4567"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (holder, value)| text.replace(holder, value))
}

/// The policy of a case; `None` if a token is invalid, so that the run does not start.
fn policy(case: &Value) -> Option<Policy> {
    let of = &case["policy"];
    let rules = |list: &str| -> Option<Vec<Rule>> {
        let tokens = of[list].as_array()?.iter().filter_map(Value::as_str);
        tokens.map(|token| place(token).parse().ok()).collect()
    };
    let mode = match (of["mode"].as_str(), of["force"].as_bool()) {
        (Some("plan"), _) => PermissionMode::Plan,
        (Some("ask"), _) => PermissionMode::Ask,
        (_, Some(true)) => PermissionMode::Force,
        _ => PermissionMode::Default,
    };
    let mut policy = Policy::new(mode, PathBuf::from("/home/ann/work"), PathBuf::from("/home/ann"));
    policy.allow = rules("allow")?;
    policy.deny = rules("deny")?;
    Some(policy)
}

/// Returns the wrong verdicts of the cases of `tool`, one line each, and the numbers of checked cases and of known
/// limits.
fn run(tool: &str) -> (Vec<String>, usize, usize) {
    let text = include_str!("../../../../corpus/attacks.jsonl");
    let (mut wrong, mut checked, mut limits) = (Vec::new(), 0, 0);
    for case in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let of = case["policy"].as_object().unwrap();
        let fixture = FIXTURE.iter().any(|key| of.contains_key(*key)) || case.get("raw_calls").is_some();
        if case["tool"] != tool || of["sandbox"] != "off" || fixture {
            continue;
        }
        let argument = |name: &str| place(case["args"][name].as_str().unwrap());
        let access = match tool {
            "shell" => {
                let directory = case["args"]["workingDirectory"].as_str().map(place);
                let directory = directory.map(|directory| PathBuf::from("/home/ann/work").join(directory));
                Access::Command { text: argument("command"), directory }
            }
            "web_fetch" => Access::Fetch { url: argument("url") },
            "mcp" => Access::Mcp { server: argument("server"), tool: argument("tool"), read_only: false },
            _ => panic!("no such tool"),
        };
        let verdict = policy(&case).map(|policy| policy.decide(&access));
        let runs = matches!(verdict, Some(Verdict::Allow { .. }));
        let right = match case["expect"].as_str().unwrap() {
            "denied" => !runs,
            "allowed" => runs,
            _ => true,
        };
        checked += 1;
        let known = case.get("known_limit").is_some();
        limits += usize::from(known && !right);
        if !right && !known {
            wrong.push(format!("{} {}: {access:?}: {verdict:?}", case["id"], case["note"]));
        }
    }
    (wrong, checked, limits)
}

#[test]
fn verdicts_on_commands_match_the_corpus() {
    let (wrong, checked, limits) = run("shell");
    eprintln!("{checked} cases, {limits} of them beyond what reading a command can tell");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 150, "only {checked} cases were found");
}

#[test]
fn verdicts_on_fetches_match_the_corpus() {
    let (wrong, checked, _) = run("web_fetch");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 12, "only {checked} cases were found");
}

#[test]
fn verdicts_on_mcp_tools_match_the_corpus() {
    let (wrong, checked, _) = run("mcp");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 1, "only {checked} cases were found");
}
