//! Checks the dependencies between crates against the table of ARCHITECTURE.md, "Crates".

use std::path::Path;

use serde_json::Value;

use super::tree::{TidyError, output_of};

/// A crate of the workspace, the workspace crates it may depend on, and the outside crates that only it, and others that
/// name them, may depend on.
struct CrateRule {
    name: &'static str,
    may_use: &'static [&'static str],
    exclusive: &'static [&'static str],
}

const CRATE_RULES: &[CrateRule] = &[
    CrateRule { name: "ibeam-protocol", may_use: &[], exclusive: &[] },
    CrateRule { name: "ibeam-policy", may_use: &["ibeam-protocol"], exclusive: &[] },
    CrateRule { name: "ibeam-core", may_use: &["ibeam-protocol", "ibeam-policy"], exclusive: &[] },
    CrateRule {
        name: "ibeam-providers",
        may_use: &["ibeam-protocol", "ibeam-core", "ibeam-http"],
        exclusive: &["reqwest", "rustls", "tokio-tungstenite"],
    },
    CrateRule {
        name: "ibeam-http",
        may_use: &["ibeam-protocol"],
        exclusive: &["reqwest", "rustls", "rustls-platform-verifier"],
    },
    CrateRule {
        name: "ibeam-local",
        may_use: &["ibeam-protocol", "ibeam-core", "ibeam-files"],
        exclusive: &["candle-core", "candle-nn", "tokenizers"],
    },
    CrateRule {
        name: "ibeam-tools",
        may_use: &[
            "ibeam-protocol",
            "ibeam-policy",
            "ibeam-core",
            "ibeam-files",
            "ibeam-process",
            "ibeam-sandbox",
        ],
        exclusive: &["grep-searcher", "grep-regex", "similar"],
    },
    CrateRule {
        name: "ibeam-acp",
        may_use: &["ibeam-protocol", "ibeam-output"],
        exclusive: &["agent-client-protocol-schema"],
    },
    CrateRule { name: "ibeam-json-rpc", may_use: &["ibeam-protocol"], exclusive: &[] },
    CrateRule {
        name: "ibeam-mcp",
        may_use: &["ibeam-protocol", "ibeam-core", "ibeam-http", "ibeam-json-rpc", "ibeam-process"],
        exclusive: &["reqwest"],
    },
    CrateRule { name: "ibeam-mcp-server", may_use: &["ibeam-json-rpc"], exclusive: &["hyper", "hyper-util"] },
    CrateRule {
        name: "ibeam-web",
        may_use: &["ibeam-protocol", "ibeam-core"],
        exclusive: &["hyper", "hyper-util", "htmd", "html5ever", "url"],
    },
    CrateRule { name: "ibeam-sandbox", may_use: &["ibeam-protocol"], exclusive: &["libc"] },
    CrateRule { name: "ibeam-process", may_use: &["ibeam-protocol", "ibeam-sandbox"], exclusive: &[] },
    CrateRule { name: "ibeam-files", may_use: &[], exclusive: &[] },
    CrateRule { name: "ibeam-git", may_use: &["ibeam-files"], exclusive: &[] },
    CrateRule {
        name: "ibeam-hooks",
        may_use: &["ibeam-protocol", "ibeam-core", "ibeam-files", "ibeam-process"],
        exclusive: &[],
    },
    CrateRule {
        name: "ibeam-config",
        may_use: &["ibeam-protocol", "ibeam-policy", "ibeam-files"],
        exclusive: &[],
    },
    CrateRule { name: "ibeam-session", may_use: &["ibeam-protocol", "ibeam-files"], exclusive: &[] },
    CrateRule {
        name: "ibeam-output",
        may_use: &["ibeam-protocol", "ibeam-wire"],
        exclusive: &["fluent-bundle", "unic-langid"],
    },
    CrateRule {
        name: "ibeam-trace",
        may_use: &["ibeam-protocol", "ibeam-wire", "ibeam-output"],
        exclusive: &[],
    },
    CrateRule {
        name: "ibeam-tui",
        may_use: &["ibeam-protocol", "ibeam-output"],
        exclusive: &["crossterm", "pulldown-cmark"],
    },
    CrateRule {
        name: "ibeam-agent",
        may_use: &[
            "ibeam-protocol",
            "ibeam-policy",
            "ibeam-core",
            "ibeam-config",
            "ibeam-dialects",
            "ibeam-files",
            "ibeam-git",
            "ibeam-governor",
            "ibeam-hooks",
            "ibeam-local",
            "ibeam-mcp",
            "ibeam-output",
            "ibeam-process",
            "ibeam-providers",
            "ibeam-sandbox",
            "ibeam-session",
            "ibeam-tools",
            "ibeam-trace",
            "ibeam-web",
            "ibeam-wire",
        ],
        exclusive: &[],
    },
    CrateRule {
        name: "ibeam-conversation",
        may_use: &[
            "ibeam-protocol",
            "ibeam-policy",
            "ibeam-agent",
            "ibeam-core",
            "ibeam-files",
            "ibeam-output",
            "ibeam-providers",
            "ibeam-session",
            "ibeam-tools",
            "ibeam-tui",
        ],
        exclusive: &[],
    },
    CrateRule {
        name: "ibeam-serve",
        may_use: &[
            "ibeam-protocol",
            "ibeam-acp",
            "ibeam-agent",
            "ibeam-config",
            "ibeam-core",
            "ibeam-dialects",
            "ibeam-files",
            "ibeam-hooks",
            "ibeam-json-rpc",
            "ibeam-mcp",
            "ibeam-mcp-server",
            "ibeam-output",
            "ibeam-providers",
            "ibeam-session",
            "ibeam-tools",
            "ibeam-wire",
        ],
        exclusive: &[],
    },
    CrateRule {
        name: "ibeam",
        may_use: &[
            "ibeam-protocol",
            "ibeam-policy",
            "ibeam-agent",
            "ibeam-conversation",
            "ibeam-core",
            "ibeam-files",
            "ibeam-config",
            "ibeam-serve",
            "ibeam-fleet",
            "ibeam-fleet-nats",
            "ibeam-hooks",
            "ibeam-providers",
            "ibeam-tools",
            "ibeam-trace",
            "ibeam-tui",
            "ibeam-mcp",
            "ibeam-sandbox",
            "ibeam-session",
            "ibeam-output",
            "ibeam-wire",
            "ibeam-dialects",
        ],
        exclusive: &["clap", "clap_complete"],
    },
    CrateRule {
        name: "ibeam-fleet",
        may_use: &["ibeam-protocol", "ibeam-files", "ibeam-git", "ibeam-governor"],
        exclusive: &["rusqlite"],
    },
    CrateRule { name: "ibeam-governor", may_use: &[], exclusive: &[] },
    CrateRule {
        name: "ibeam-fleet-nats",
        may_use: &["ibeam-protocol", "ibeam-fleet"],
        exclusive: &["async-nats"],
    },
    CrateRule { name: "ibeam-wire", may_use: &[], exclusive: &[] },
    CrateRule { name: "ibeam-dialects", may_use: &["ibeam-wire"], exclusive: &[] },
    CrateRule {
        name: "ibeam-testkit",
        may_use: &["ibeam-protocol", "ibeam-wire", "ibeam-governor"],
        exclusive: &["axum"],
    },
    CrateRule { name: "ibeam-attacks", may_use: &["ibeam-testkit"], exclusive: &[] },
    CrateRule {
        name: "ibeam-traffic",
        may_use: &["ibeam-protocol", "ibeam-core", "ibeam-output", "ibeam-providers", "ibeam-testkit"],
        exclusive: &[],
    },
    CrateRule { name: "xtask", may_use: &["ibeam-wire", "ibeam-testkit"], exclusive: &["clap"] },
];

/// Outside crates that the crates in `SYNC_CRATES` must not use.
const ASYNC_LIBRARIES: &[&str] = &["tokio", "tokio-util", "futures-util"];
/// Crates without async code.
const SYNC_CRATES: &[&str] = &[
    "ibeam-protocol",
    "ibeam-policy",
    "ibeam-files",
    "ibeam-config",
    "ibeam-sandbox",
    "ibeam-session",
    "ibeam-fleet",
    "ibeam-governor",
    "ibeam-output",
    "ibeam-trace",
    "ibeam-tui",
    "ibeam-wire",
    "ibeam-dialects",
    "ibeam-attacks",
    "xtask",
];

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let metadata = output_of(root, "cargo", &["metadata", "--format-version", "1", "--no-deps", "--locked"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| TidyError::Unreadable(error.to_string()))?;
    let mut findings = Vec::new();
    let packages = metadata.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    for package in &packages {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(rule) = CRATE_RULES.iter().find(|rule| rule.name == name) else {
            findings.push(format!("{name}: not in xtask/src/tidy/edges.rs"));
            continue;
        };
        for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            // Tests may use any crate.
            if dependency.get("kind").and_then(Value::as_str) == Some("dev") {
                continue;
            }
            let dependency = dependency.get("name").and_then(Value::as_str).unwrap_or_default();
            findings.extend(
                wrong_edge(rule, dependency).map(|reason| format!("{name} -> {dependency}: {reason}")),
            );
        }
    }
    Ok(findings)
}

/// Returns the reason why the crate of `rule` must not depend on `dependency`, if there is one.
fn wrong_edge(rule: &CrateRule, dependency: &str) -> Option<String> {
    let is_in_workspace = CRATE_RULES.iter().any(|other| other.name == dependency);
    if is_in_workspace && !rule.may_use.contains(&dependency) {
        return Some(format!("`{}` may use only {:?}", rule.name, rule.may_use));
    }
    if SYNC_CRATES.contains(&rule.name) && ASYNC_LIBRARIES.contains(&dependency) {
        return Some(format!("`{}` is sync", rule.name));
    }
    let owners: Vec<_> = CRATE_RULES
        .iter()
        .filter(|other| other.exclusive.contains(&dependency))
        .map(|rule| rule.name)
        .collect();
    let is_allowed = owners.is_empty() || owners.contains(&rule.name);
    (!is_allowed).then(|| format!("only {owners:?} may use `{dependency}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str, allowed: bool) {
        let rule = CRATE_RULES.iter().find(|rule| rule.name == from).unwrap();
        assert_eq!(wrong_edge(rule, to).is_none(), allowed, "{from} -> {to}");
    }

    #[test]
    fn edges_follow_the_table() {
        check("ibeam-core", "ibeam-policy", true);
        check("ibeam-core", "ibeam-output", false);
        check("ibeam-policy", "ibeam-core", false);
        check("ibeam-tools", "ibeam-providers", false);
        check("ibeam-session", "tokio", false);
        check("ibeam-core", "reqwest", false);
        check("ibeam-providers", "reqwest", true);
        check("ibeam-http", "reqwest", true);
        check("ibeam", "reqwest", false);
        check("ibeam-agent", "ibeam", false);
        check("ibeam-agent", "ibeam-tui", false);
        check("ibeam-serve", "ibeam-conversation", false);
        check("ibeam-agent", "rusqlite", false);
        check("ibeam-agent", "clap", false);
        check("ibeam-local", "candle-core", true);
        check("ibeam", "candle-core", false);
    }
}
