//! Decides about tools of MCP servers. Their effects are not known, so a person or a rule decides.

use ibeam_protocol::{PermissionMode, sentence};

use crate::glob::TextGlob;
use crate::policy::{Policy, Verdict, with_flags};
use crate::rule::Rule;

impl Policy {
    /// Decides about calling one tool. `read_only` is the server's own statement. It only means that the read-only
    /// modes do not deny the call.
    pub(crate) fn decide_mcp(&self, server: &str, tool: &str, read_only: bool) -> Verdict {
        let denies = |servers: &TextGlob, tools: &TextGlob| {
            servers.matches_folded(server) && tools.matches_folded(tool)
        };
        let name = format!("{server}:{tool}");
        if let Some(rule) = find_mcp_rule(&self.deny, denies) {
            let reason = sentence!("the MCP tool `{tool}` is denied by the rule `{rule}`", tool = name, rule);
            return Verdict::deny(rule, reason);
        }
        let is_unapproved =
            |(other_server, other_tool): &(String, String)| other_server == server && other_tool == tool;
        if self.unapproved_mcp_tools.iter().any(is_unapproved) {
            return Verdict::deny(
                "changed",
                format!(
                    "the MCP tool `{name}` is not what a person approved: its description or its \
                     arguments have changed since; a person may approve it again with `--approve-mcps`"
                ),
            );
        }
        if !read_only && let Some(verdict) = self.read_only_denial() {
            return verdict;
        }
        if self.mode != PermissionMode::Force
            && let Some(rule) = find_mcp_rule(&self.ask, denies)
        {
            let reason =
                sentence!("the MCP tool `{tool}` needs approval under the rule `{rule}`", tool = name, rule);
            return Verdict::ask(rule, reason);
        }
        let allows = |servers: &TextGlob, tools: &TextGlob| servers.matches(server) && tools.matches(tool);
        if let Some(rule) = find_mcp_rule(&self.allow, allows) {
            return Verdict::allow(rule);
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        let flags = format!("`--allow 'Mcp({name})'`");
        let flags = sentence!("{flags}, all such tools with `--approve-mcps`", flags);
        Verdict::ask(
            "default",
            with_flags(sentence!("no rule allows the MCP tool `{tool}`", tool = name), flags),
        )
    }
}

fn find_mcp_rule(rules: &[Rule], covers: impl Fn(&TextGlob, &TextGlob) -> bool) -> Option<&Rule> {
    rules.iter().find(|rule| match rule {
        Rule::Mcp { server, tool } => covers(server, tool),
        Rule::Shell(_) | Rule::Read(_) | Rule::Write(_) | Rule::WebFetch(_) => false,
    })
}
