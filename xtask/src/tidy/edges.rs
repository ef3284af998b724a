//! Which crate may know which: the table of ARCHITECTURE.md, "Rooms".

use std::path::Path;

use serde_json::Value;

use super::{Untidy, output_of};

/// A crate, the crates of ours it may depend on, and the outside crates that nobody else may depend on.
struct Room {
    name: &'static str,
    may_know: &'static [&'static str],
    alone_knows: &'static [&'static str],
}

const ROOMS: &[Room] = &[
    Room { name: "ibeam-protocol", may_know: &[], alone_knows: &[] },
    Room { name: "ibeam-policy", may_know: &["ibeam-protocol"], alone_knows: &[] },
    Room { name: "ibeam-core", may_know: &["ibeam-protocol", "ibeam-policy"], alone_knows: &[] },
    Room {
        name: "ibeam-providers",
        may_know: &["ibeam-protocol", "ibeam-core"],
        alone_knows: &["reqwest", "rustls"],
    },
    Room {
        name: "ibeam-local",
        may_know: &["ibeam-protocol", "ibeam-core"],
        alone_knows: &["candle-core", "candle-nn", "tokenizers"],
    },
    Room {
        name: "ibeam-tools",
        may_know: &["ibeam-protocol", "ibeam-policy", "ibeam-core", "ibeam-files", "ibeam-sandbox"],
        alone_knows: &["grep-searcher", "grep-regex", "similar"],
    },
    Room {
        name: "ibeam-mcp",
        may_know: &["ibeam-protocol", "ibeam-core", "ibeam-sandbox"],
        alone_knows: &[],
    },
    Room {
        name: "ibeam-web",
        may_know: &["ibeam-protocol", "ibeam-core"],
        alone_knows: &["hyper", "hyper-util", "htmd", "html5ever", "url"],
    },
    Room { name: "ibeam-sandbox", may_know: &["ibeam-protocol"], alone_knows: &["libc"] },
    Room { name: "ibeam-files", may_know: &[], alone_knows: &[] },
    Room {
        name: "ibeam-hooks",
        // `ibeam-tools` for its process trees only.
        may_know: &["ibeam-protocol", "ibeam-core", "ibeam-files", "ibeam-sandbox", "ibeam-tools"],
        alone_knows: &[],
    },
    Room {
        name: "ibeam-config",
        may_know: &["ibeam-protocol", "ibeam-policy", "ibeam-files"],
        alone_knows: &[],
    },
    Room { name: "ibeam-session", may_know: &["ibeam-protocol"], alone_knows: &[] },
    Room {
        name: "ibeam-output",
        may_know: &["ibeam-protocol", "ibeam-wire"],
        alone_knows: &["fluent-bundle", "unic-langid"],
    },
    Room {
        name: "ibeam",
        may_know: &[
            "ibeam-protocol",
            "ibeam-policy",
            "ibeam-core",
            "ibeam-files",
            "ibeam-config",
            "ibeam-hooks",
            "ibeam-providers",
            "ibeam-local",
            "ibeam-tools",
            "ibeam-mcp",
            "ibeam-web",
            "ibeam-sandbox",
            "ibeam-session",
            "ibeam-output",
            "ibeam-wire",
            "ibeam-dialects",
        ],
        alone_knows: &["clap", "clap_complete"],
    },
    Room { name: "ibeam-wire", may_know: &[], alone_knows: &[] },
    Room { name: "ibeam-dialects", may_know: &["ibeam-wire"], alone_knows: &[] },
    Room { name: "ibeam-testkit", may_know: &["ibeam-protocol", "ibeam-wire"], alone_knows: &["axum"] },
    Room { name: "xtask", may_know: &["ibeam-wire", "ibeam-testkit"], alone_knows: &[] },
];

/// Crates that only the rooms with async work may use.
const ASYNC: &[&str] = &["tokio", "tokio-util", "futures-util"];
const SYNC_ROOMS: &[&str] = &[
    "ibeam-protocol",
    "ibeam-policy",
    "ibeam-files",
    "ibeam-config",
    "ibeam-sandbox",
    "ibeam-session",
    "ibeam-output",
    "ibeam-wire",
    "ibeam-dialects",
    "xtask",
];

pub(super) fn check(root: &Path) -> Result<Vec<String>, Untidy> {
    let metadata = output_of(root, "cargo", &["metadata", "--format-version", "1", "--no-deps", "--locked"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| Untidy::Unreadable(error.to_string()))?;
    let mut findings = Vec::new();
    let packages = metadata.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    for package in &packages {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(room) = ROOMS.iter().find(|room| room.name == name) else {
            findings.push(format!("{name}: no room of this name in xtask/src/tidy/edges.rs"));
            continue;
        };
        for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            // What only tests use may be known by tests.
            if dependency.get("kind").and_then(Value::as_str) == Some("dev") {
                continue;
            }
            let known = dependency.get("name").and_then(Value::as_str).unwrap_or_default();
            findings.extend(wrong_edge(room, known).map(|why| format!("{name} -> {known}: {why}")));
        }
    }
    Ok(findings)
}

fn wrong_edge(room: &Room, known: &str) -> Option<String> {
    let ours = ROOMS.iter().any(|other| other.name == known);
    if ours && !room.may_know.contains(&known) {
        return Some(format!("`{}` may know only {:?}", room.name, room.may_know));
    }
    if SYNC_ROOMS.contains(&room.name) && ASYNC.contains(&known) {
        return Some(format!("`{}` is sync", room.name));
    }
    let owner = ROOMS.iter().find(|other| other.alone_knows.contains(&known))?;
    (owner.name != room.name).then(|| format!("only `{}` may know `{known}`", owner.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str, allowed: bool) {
        let room = ROOMS.iter().find(|room| room.name == from).unwrap();
        assert_eq!(wrong_edge(room, to).is_none(), allowed, "{from} -> {to}");
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
        check("ibeam-local", "candle-core", true);
        check("ibeam", "candle-core", false);
    }
}
