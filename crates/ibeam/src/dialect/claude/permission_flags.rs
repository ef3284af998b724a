//! Permission modes and rules of Claude Code as flags of ibeam.

use ibeam_protocol::{Reason, sentence};

use super::permission_rules::{self, RuleEffect, Translation};
use super::{ClaudeDraft, usage_error};

impl ClaudeDraft {
    /// Adds the flags of ibeam for the permission mode and the rules, and returns the name of the mode. The flags never
    /// allow more than the mode and the rules.
    pub(super) fn translate_permissions(&mut self) -> Result<&'static str, Reason> {
        let mode = if self.bypasses_permissions {
            "bypassPermissions"
        } else {
            self.mode.as_deref().unwrap_or("default")
        };
        if self.forbids_bypass && mode == "bypassPermissions" {
            return Err(usage_error(sentence!(
                "`permissions.disableBypassPermissionsMode` of `--settings` forbids the bypass"
            )));
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
            // The sandbox replaces the automatic decisions of Claude Code.
            "auto" => ("auto", &[]),
            other => return Err(usage_error(sentence!("unknown permission mode `{other}`", other))),
        };
        let mut given: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        if mode == "acceptEdits" {
            self.allow.push("Edit".to_owned());
        }
        for rule in &self.allow {
            match permission_rules::tokens_for(rule, RuleEffect::Allow) {
                Translation::Tokens(tokens) => {
                    given.extend(tokens.iter().map(|token| format!("--allow={token}")))
                }
                Translation::NotNeeded => {}
                Translation::Unclear => self.ignored_arguments.push(format!("--allowedTools {rule}")),
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
            self.deny.iter().flat_map(|rule| permission_rules::ibeam_tools_for(rule)).copied().collect();
        // `--force` removes `ask` rules, but in Claude Code they take precedence over the bypass.
        let ask = if mode == "bypassPermissions" { "--deny" } else { "--ask" };
        for (rules, flag) in [(&self.deny, "--deny"), (&self.ask, ask)] {
            for rule in rules {
                match permission_rules::tokens_for(rule, RuleEffect::Forbid) {
                    Translation::Tokens(tokens) => {
                        given.extend(tokens.iter().map(|token| format!("{flag}={token}")))
                    }
                    // A tool that no token covers is not offered.
                    Translation::NotNeeded => without.extend(permission_rules::ibeam_tools_for(rule)),
                    Translation::Unclear => {
                        return Err(usage_error(sentence!(
                            "the rule `{rule}` cannot be applied exactly",
                            rule
                        )));
                    }
                }
            }
        }
        if let Some(base) = &self.tools {
            let offered: Vec<&str> =
                base.iter().flat_map(|name| permission_rules::ibeam_tools_for(name)).copied().collect();
            without.extend(permission_rules::all_ibeam_tools().filter(|tool| !offered.contains(tool)));
        }
        without.sort_unstable();
        without.dedup();
        given.extend(without.into_iter().map(|tool| format!("--without={tool}")));
        self.flags.extend(given);
        Ok(mode)
    }
}
