//! The settings that result from each field of a case.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::user::User;

fn case(policy: Value, tool: &str, args: Value) -> Case {
    let line = json!({"id": "x", "policy": policy, "tool": tool, "args": args, "expect": "denied", "breach": ["exists:/out/pwned"]});
    Case::parse(&line).unwrap()
}

fn run_setup(case: &Case) -> (RunSetup, Fixture) {
    let fixture = Fixture::create(User::Nobody, Path::new("/p/ibeam"), Path::new("/p"), 4711).unwrap();
    let pins = pins(case, false, 4711);
    (RunSetup::new(case, &fixture, "http://127.0.0.1:1", &pins).unwrap(), fixture)
}

fn home(fixture: &Fixture, path: &str) -> String {
    std::fs::read_to_string(fixture.workspace.home().join(path)).unwrap()
}

#[test]
fn tokens_and_switches_are_flags() {
    let policy = json!({"allow": ["Shell(ls)"], "deny": ["Shell(rm)"], "sandbox": "off", "force": true, "mode": "plan"});
    let (run_setup, fixture) = run_setup(&case(policy, "shell", json!({})));
    let approved = json!({"approve_mcps": true, "sockets": ["/run/a.sock"]});
    assert_eq!(
        super::tests::run_setup(&case(approved, "shell", json!({}))).0.args[4..],
        ["--approve-mcps", "--allow-socket=/run/a.sock"]
    );
    let flags = ["--allow=Shell(ls)", "--deny=Shell(rm)", "--sandbox=disabled", "--force", "--mode=plan"];
    assert_eq!(run_setup.args[4..], flags);
    assert!(!home(&fixture, ".config/ibeam/config.toml").contains("Shell"));
}

#[test]
fn with_trust_the_rules_are_in_a_file() {
    let policy = json!({"allow": ["Shell(ls)"], "ask": ["Shell(git:*)"], "trust": true});
    let (run_setup, fixture) = run_setup(&case(policy, "shell", json!({})));
    assert_eq!(run_setup.args[4..], ["--trust"]);
    let config: Table = home(&fixture, ".config/ibeam/config.toml").parse().unwrap();
    assert_eq!(config["permissions"]["allow"][0].as_str(), Some("Shell(ls)"));
    assert_eq!(config["permissions"]["ask"][0].as_str(), Some("Shell(git:*)"));
}

#[test]
fn a_broken_file_is_written_as_it_is() {
    let (_, fixture) = run_setup(&case(json!({"raw": "{\"a\":1,\"a\":2}"}), "shell", json!({})));
    assert_eq!(home(&fixture, ".cursor/cli-config.json"), "{\"a\":1,\"a\":2}");
    let (run_setup, fixture) =
        run_setup(&case(json!({"deny": ["Shell(rm)"], "chmod": "000"}), "shell", json!({})));
    assert_eq!(run_setup.args.len(), 4);
    let file = fixture.workspace.home().join(".cursor/cli-config.json");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap()) & 0o777, 0);
}

#[test]
fn keys_and_variables_are_the_environment() {
    let policy = json!({"env": {"PATH": ".:$PATH"}, "setup_env": {"PROVIDER_API_KEY": "k"}});
    let (run_setup, _) = run_setup(&case(policy, "shell", json!({})));
    let last = |name: &str| {
        run_setup.environment.iter().rfind(|(candidate, _)| candidate == name).unwrap().1.clone()
    };
    assert_eq!(last("PATH"), format!(".:{SYSTEM_PATH}"));
    assert_eq!((last("ANTHROPIC_API_KEY"), last("PROVIDER_API_KEY")), ("k".to_owned(), "k".to_owned()));
}

#[test]
fn a_hook_rewrites_to_what_is_forbidden() {
    let policy = json!({"hook": "preToolUse rewrites command to touch"});
    let (_, fixture) = run_setup(&case(policy, "shell", json!({})));
    assert!(home(&fixture, ".cursor/hooks.json").contains("touch /out/pwned"));
}

#[test]
fn a_server_has_the_name_and_the_tool_of_the_call() {
    let call = case(json!({}), "mcp", json!({"server": "DB", "tool": "drop"}));
    let (_, fixture) = run_setup(&call);
    let config: Table = home(&fixture, ".config/ibeam/config.toml").parse().unwrap();
    let args = config["mcp_servers"]["DB"]["args"].as_array().unwrap();
    assert_eq!(args.last().and_then(Toml::as_str), Some("drop"));
}

#[test]
fn without_a_name_server_names_are_pinned() {
    let confused = case(json!({}), "web_fetch", json!({"url": "http://docs.example.test@evil.test:80/a"}));
    let names: Vec<String> = pins(&confused, false, 4711).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["docs.example.test", "evil.test"]);
    assert!(pins(&confused, true, 4711).is_empty());
    let policy = json!({"resolve": {"a.test": "127.0.0.1:4711"}, "insecure_loopback_ok": true});
    let granted = case(policy, "web_fetch", json!({"url": "http://a.test/"}));
    assert_eq!(pins(&granted, true, 4711), [("a.test".to_owned(), "127.0.0.1:4711".to_owned())]);
}
