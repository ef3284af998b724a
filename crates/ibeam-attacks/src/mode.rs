//! The protection that is active during an attack.
//!
//! The rules refuse most commands before the sandbox sees them, and the sandbox would confine most of what the rules
//! allow. To test each of them alone, the other is left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::case::Case;
use crate::policy::{Policy, Sandbox};

/// The timeout of a command. It is short, because some attacks run for minutes after they have done their harm.
const TIMEOUT_MS: u64 = 15_000;

/// The protection that is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Mode {
    /// The program as users run it.
    Full,
    /// Bash without the program. A pass means that the attack does its harm, and that the harm is detected.
    Bare,
    /// Only the sandbox: the command is hidden from the rules.
    SandboxOnly,
}

impl Mode {
    /// Whether the case is meaningful in this mode. Only verified harm can be required.
    pub(crate) fn includes_case(self, case: &Value) -> bool {
        let is = |key: &str, text: &str| case.get(key).and_then(Value::as_str) == Some(text);
        let denied = case.pointer("/policy/deny").and_then(Value::as_array).into_iter().flatten();
        let mut file_rules = denied.filter_map(Value::as_str).filter(|token| !token.starts_with("Shell("));
        let sandboxed = case.pointer("/policy/sandbox").and_then(Value::as_str) == Some("on");
        match self {
            Self::Full => true,
            Self::Bare => is("live", "verified") && case.get("known_limit").is_none(),
            // The sandbox allows changes of the workspace that only a rule forbids. Commands are hidden with `--force`, which
            // trusts the workspace.
            Self::SandboxOnly => {
                let policy = |key: &str| case.pointer(&format!("/policy/{key}")).and_then(Value::as_bool);
                let untrusted = policy("trust") == Some(false) && policy("force") != Some(true);
                let attack = !is("expect", "allowed") && is("live", "verified") || sandboxed;
                (is("tool", "shell") || case.get("steps").is_some())
                    && attack
                    && file_rules.next().is_none()
                    && !has_workspace_breach(case)
                    && !untrusted
            }
        }
    }

    /// Returns the case as it runs in this mode.
    pub(crate) fn apply(self, mut case: Case) -> Case {
        if self != Self::SandboxOnly {
            return case;
        }
        let Policy { env, setup_env, trust, sockets, .. } = case.policy;
        case.policy =
            Policy { force: true, sandbox: Sandbox::On, env, setup_env, trust, sockets, ..Policy::default() };
        if case.tool == "shell" {
            case.relax_denied();
            hide_from_rules(&mut case.args);
            case.args.insert("timeout".to_owned(), TIMEOUT_MS.into());
        }
        for step in case.steps.iter_mut().filter(|step| step.tool == "shell") {
            hide_from_rules(&mut step.args);
        }
        case
    }
}

/// Replaces a command and its working directory by a command with the same effect that rules cannot analyse.
fn hide_from_rules(args: &mut Map<String, Value>) {
    let Some(command) = args.get("command").and_then(Value::as_str).map(str::to_owned) else { return };
    let change = match args.remove("workingDirectory") {
        Some(Value::String(directory)) => format!("cd '{}' && ", directory.replace('\'', r"'\''")),
        Some(_) | None => String::new(),
    };
    let hidden = format!("eval \"$(echo {} | base64 -d)\"", STANDARD.encode(change + &command));
    args.insert("command".to_owned(), hidden.into());
}

/// Whether the case forbids an effect in the workspace that only a rule prevents.
fn has_workspace_breach(case: &Value) -> bool {
    let forbidden_effects =
        case.get("breach").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let sandboxed = case.pointer("/policy/sandbox").and_then(Value::as_str) == Some("on");
    // Commands may create the lock of the index, as each `git add` does; other places of git are protected.
    let is_protected = |breach: &&str| breach.contains("/.git/") && !breach.ends_with("/index.lock");
    let mut in_workspace =
        forbidden_effects.filter(|breach| breach.contains(":{{WS}}/") && !is_protected(breach));
    !sandboxed && in_workspace.next().is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mode: Mode, case: &Value, included: bool) {
        assert_eq!(mode.includes_case(case), included, "{mode:?}: {case}");
    }

    #[test]
    fn a_mode_includes_the_cases_that_are_meaningful_in_it() {
        let seen = json!({"tool": "shell", "live": "verified", "expect": "denied", "policy": {"deny": ["Shell(touch)"]}});
        check(Mode::Bare, &seen, true);
        check(Mode::SandboxOnly, &seen, true);
        let rule = json!({"tool": "shell", "live": "verified", "expect": "denied", "policy": {"deny": ["Read(.env)"]}});
        check(Mode::Bare, &rule, true);
        check(Mode::SandboxOnly, &rule, false);
        let unseen = json!({"tool": "shell", "live": "not-probed", "expect": "denied", "policy": {}});
        check(Mode::Bare, &unseen, false);
        check(Mode::SandboxOnly, &unseen, false);
        let benign =
            json!({"tool": "shell", "live": "verified", "expect": "allowed", "policy": {"sandbox": "off"}});
        check(Mode::SandboxOnly, &benign, false);
        let boxed = json!({"tool": "shell", "expect": "allowed", "policy": {"sandbox": "on"}});
        check(Mode::SandboxOnly, &boxed, true);
        let untrusted =
            json!({"tool": "shell", "expect": "contained", "policy": {"sandbox": "on", "trust": false}});
        check(Mode::SandboxOnly, &untrusted, false);
        check(Mode::Full, &untrusted, true);
        check(Mode::Full, &json!({}), true);
    }

    #[test]
    fn settings_of_the_sandbox_remain_without_the_rules() {
        let policy = json!({"sockets": ["/run/a.sock"], "allow": ["Shell(ls)"], "env": {"A": "b"}});
        let line = json!({"id": "x", "tool": "shell", "expect": "allowed", "policy": policy});
        let policy = Mode::SandboxOnly.apply(Case::parse(&line).unwrap()).policy;
        assert_eq!((policy.sockets.len(), policy.env.len(), policy.allow.len()), (1, 1, 0));
    }

    #[test]
    fn a_hidden_command_is_the_same_command() {
        let line = json!({"id": "x", "tool": "shell", "args": {"command": "echo a"}, "expect": "denied"});
        let case = Mode::SandboxOnly.apply(Case::parse(&line).unwrap());
        let command = case.args["command"].as_str().unwrap();
        let output = std::process::Command::new("bash").args(["-c", command]).output().unwrap();
        assert_eq!(output.stdout, b"a\n");
        assert!(!command.contains("echo a") && case.policy.force);
        let args = json!({"command": "pwd", "workingDirectory": "/usr/lib"});
        let line = json!({"id": "x", "tool": "shell", "args": args, "expect": "denied"});
        let case = Mode::SandboxOnly.apply(Case::parse(&line).unwrap());
        let command = case.args["command"].as_str().unwrap();
        let output = std::process::Command::new("bash").args(["-c", command]).output().unwrap();
        assert_eq!(
            (output.stdout.as_slice(), case.args.contains_key("workingDirectory")),
            (&b"/usr/lib\n"[..], false)
        );
    }
}
