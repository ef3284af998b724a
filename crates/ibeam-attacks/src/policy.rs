//! The settings of the user in a case, made before the model answers.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::name_answers::NameAnswers;

/// The fields of a policy.
pub(crate) const FIELDS: [&str; 18] = [
    "allow",
    "deny",
    "ask",
    "sandbox",
    "force",
    "trust",
    "mode",
    "env",
    "hook",
    "raw",
    "chmod",
    "resolve",
    "insecure_loopback_ok",
    "mcp_tools",
    "approved_mcp_hash",
    "approve_mcps",
    "sockets",
    "setup_env",
];

/// Whether commands run in the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sandbox {
    /// The default without a flag.
    #[default]
    On,
    Off,
}

/// The settings of the user.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Policy {
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) sandbox: Sandbox,
    pub(crate) force: bool,
    /// Whether the user trusts the workspace. If set, the rules are in the user's configuration file.
    pub(crate) trust: Option<bool>,
    pub(crate) mode: Option<String>,
    /// The environment of the program.
    pub(crate) env: BTreeMap<String, String>,
    /// A description of a hook of the user.
    pub(crate) hook: Option<String>,
    /// The user's policy file, verbatim.
    pub(crate) raw: Option<String>,
    /// The mode of the user's policy file, in octal.
    pub(crate) chmod: Option<String>,
    /// The addresses of names.
    pub(crate) resolve: BTreeMap<String, String>,
    /// Whether the user pins the names in `resolve` to their addresses.
    pub(crate) insecure_loopback_ok: bool,
    /// Tools of an MCP server of the user.
    pub(crate) mcp_tools: Vec<String>,
    /// Set if the user approved another version of the MCP server in an earlier run.
    pub(crate) approved_mcp_hash: Option<String>,
    /// Whether the user approves the MCP servers of this run.
    pub(crate) approve_mcps: bool,
    /// Unix sockets that the user allows commands to use.
    pub(crate) sockets: Vec<String>,
    /// The API keys of the program.
    pub(crate) setup_env: BTreeMap<String, String>,
}

impl Policy {
    /// Whether a rule or the policy file is invalid, so that the program may refuse to start.
    pub(crate) fn is_invalid(&self) -> bool {
        let mut tokens = self.allow.iter().chain(&self.deny).chain(&self.ask);
        // A relative path would point into the repository.
        let relative = self.env.get("CURSOR_CONFIG_DIR").is_some_and(|directory| !directory.starts_with('/'));
        relative || self.raw.is_some() || self.chmod.is_some() || tokens.any(|token| !is_token(token))
    }

    /// Whether the address of a name changes between two queries.
    pub(crate) fn rebinds(&self) -> bool {
        self.resolve.values().any(|text| NameAnswers::parse(text).is_ok_and(|answers| answers.is_changing()))
    }
}

/// Whether the token has the form `Kind(words)`, without surrounding text.
fn is_token(token: &str) -> bool {
    const KINDS: [&str; 5] = ["Shell", "Read", "Write", "WebFetch", "Mcp"];
    let inner = token.split_once('(').filter(|(kind, _)| KINDS.contains(kind)).map(|(_, rest)| rest);
    let inner = inner.and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| !inner.is_empty() && inner == inner.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_rules_differ_from_valid_ones() {
        for (token, broken) in [
            ("Shell(ls)", false),
            ("Shell(git:log*)", false),
            ("Read(~/.ssh/**)", false),
            ("Shel(touch)", true),
            ("Shell(touch", true),
            ("Shell()", true),
            (" Shell( touch ) ", true),
        ] {
            let policy = Policy { deny: vec![token.to_owned()], ..Policy::default() };
            assert_eq!(policy.is_invalid(), broken, "{token}");
        }
        for (directory, broken) in [(".cursor", true), ("/srv/cursor", false)] {
            let env = BTreeMap::from([("CURSOR_CONFIG_DIR".to_owned(), directory.to_owned())]);
            assert_eq!(Policy { env, ..Policy::default() }.is_invalid(), broken, "{directory}");
        }
        assert!(Policy { raw: Some("{}".to_owned()), ..Policy::default() }.is_invalid());
    }
}
