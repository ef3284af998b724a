//! Modes and rules of Claude Code as flags of ours.

use ibeam_protocol::Reason;

use super::permission_rules::{self, Said, Use};
use super::{Draft, usage_error};

impl Draft {
    /// Arity what may be done, never more than they say, and returns the name of the permission mode.
    pub(super) fn permissions(&mut self) -> Result<&'static str, Reason> {
        let mode = if self.bypass { "bypassPermissions" } else { self.mode.as_deref().unwrap_or("default") };
        if self.no_bypass && mode == "bypassPermissions" {
            return Err(usage_error(
                "`permissions.disableBypassPermissionsMode` of `--settings` forbids the bypass",
            ));
        }
        let (mode, flags): (&str, &[&str]) = match mode {
            "default" | "manual" => ("default", &["--approval=strict"]),
            "dontAsk" => {
                self.ask_host = false;
                ("dontAsk", &["--approval=strict"])
            }
            "acceptEdits" => ("acceptEdits", &["--approval=strict"]),
            "plan" => ("plan", &["--mode=plan", "--approval=strict"]),
            "bypassPermissions" => ("bypassPermissions", &["--force"]),
            // Something decides in place of a person: here the sandbox.
            "auto" => ("auto", &[]),
            other => return Err(usage_error(format!("there is no permission mode `{other}`"))),
        };
        let mut given: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        if mode == "acceptEdits" {
            self.allow.push("Edit".to_owned());
        }
        for rule in &self.allow {
            match permission_rules::tokens(rule, Use::Allow) {
                Said::Tokens(tokens) => given.extend(tokens.iter().map(|token| format!("--allow={token}"))),
                Said::Nothing => {}
                Said::Unclear => self.ignored_arguments.push(format!("--allowedTools {rule}")),
            }
        }
        if self.allow.iter().any(|rule| ["Edit", "MultiEdit", "Write"].contains(&rule.as_str())) {
            let plain = |directory: &&String| {
                !directory.contains(['*', '?', '[', '{', '\\']) && !directory.contains("..")
            };
            let directories = self.directories.iter().filter(plain);
            given.extend(directories.map(|directory| format!("--allow=Write({directory}/**)")));
        }
        let mut without: Vec<&str> =
            self.deny.iter().flat_map(|rule| permission_rules::tools(rule)).copied().collect();
        // The bypass of theirs does not lift a question, `--force` does.
        let ask = if mode == "bypassPermissions" { "--deny" } else { "--ask" };
        for (rules, flag) in [(&self.deny, "--deny"), (&self.ask, ask)] {
            for rule in rules {
                match permission_rules::tokens(rule, Use::Forbid) {
                    Said::Tokens(tokens) => {
                        given.extend(tokens.iter().map(|token| format!("{flag}={token}")))
                    }
                    // What no token covers is not offered, where it is a tool of ours.
                    Said::Nothing => without.extend(permission_rules::tools(rule)),
                    Said::Unclear => {
                        return Err(usage_error(format!(
                            "the rule `{rule}` cannot be kept here as it stands"
                        )));
                    }
                }
            }
        }
        if let Some(base) = &self.tools {
            let offered: Vec<&str> =
                base.iter().flat_map(|name| permission_rules::tools(name)).copied().collect();
            without.extend(permission_rules::all_tools().filter(|tool| !offered.contains(tool)));
        }
        without.sort_unstable();
        without.dedup();
        given.extend(without.into_iter().map(|tool| format!("--without={tool}")));
        self.flags.extend(given);
        Ok(mode)
    }
}
