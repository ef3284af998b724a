//! The table of clients: how each is installed, and in which modes it is run.

use std::path::Path;

use crate::suite::SuiteError;

pub(super) struct Client {
    /// The name of the client in its package registry, without a scope, and of its folder.
    pub(super) name: &'static str,
    pub(super) runtime: Runtime,
    /// The modes of its driver.
    modes: &'static [&'static str],
    /// The contract whose text the client parses incorrectly, as docs/clients.md documents. A run under this contract must
    /// have the documented wrong answer.
    pub(super) misreads: Option<u8>,
    pub(super) script: ModelScript,
    /// The mode for runs with the embedded model; `None` if the client has no such runs.
    pub(super) embedded: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    /// Python 3.N or later.
    Python(u8),
    Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelScript {
    /// Two calls with text before each, an answer, then an answer to each further prompt.
    Task,
    /// A JSON object with a citation.
    Citation,
}

/// The contracts that each mode is run with.
const CONTRACTS: [u8; 2] = [1, 2];

pub(super) const CLIENTS: [Client; 7] = [
    Client {
        name: "cursor-cli",
        runtime: Runtime::Python(8),
        modes: &["json", "stream", "text"],
        misreads: None,
        script: ModelScript::Task,
        embedded: Some("json"),
    },
    Client {
        name: "harbor",
        runtime: Runtime::Python(12),
        modes: &["run"],
        misreads: Some(1),
        script: ModelScript::Task,
        embedded: None,
    },
    Client {
        name: "agent-intern",
        runtime: Runtime::Python(12),
        modes: &["text", "stream"],
        misreads: None,
        script: ModelScript::Task,
        embedded: None,
    },
    Client {
        name: "marshal-agents",
        runtime: Runtime::Python(11),
        modes: &["read-only", "safe-edit"],
        misreads: None,
        script: ModelScript::Task,
        embedded: None,
    },
    Client {
        name: "mcp-portal",
        runtime: Runtime::Python(10),
        modes: &["run"],
        misreads: None,
        script: ModelScript::Citation,
        embedded: None,
    },
    Client {
        name: "ai-cli-runner",
        runtime: Runtime::Python(12),
        modes: &["json", "text"],
        // It uses the last `assistant` event as the answer, and sets no format where it expects text.
        misreads: Some(1),
        script: ModelScript::Task,
        embedded: None,
    },
    Client {
        name: "cursor-agent-acp",
        runtime: Runtime::Node,
        modes: &["run"],
        misreads: None,
        script: ModelScript::Task,
        embedded: None,
    },
];

impl Client {
    /// Returns the name of the lock file in the client's folder.
    pub(super) fn lock_file(&self) -> &'static str {
        match self.runtime {
            Runtime::Python(_) => "requirements.txt",
            Runtime::Node => "package-lock.json",
        }
    }

    /// Returns the package registry of the client.
    pub(super) fn registry(&self) -> &'static str {
        match self.runtime {
            Runtime::Python(_) => "PyPI",
            Runtime::Node => "npm",
        }
    }

    /// Returns the pinned version. `clients` is the parent of the client's folder.
    ///
    /// # Errors
    /// `System`, and `Setup` if the lock file lacks the client.
    pub(super) fn version(&self, clients: &Path) -> Result<String, SuiteError> {
        let path = clients.join(self.name).join(self.lock_file());
        let pins = std::fs::read_to_string(&path).map_err(SuiteError::system(path.display()))?;
        let found = match self.runtime {
            Runtime::Python(_) => {
                pins.lines().find_map(|line| line.strip_prefix(self.name)?.strip_prefix("=="))
            }
            Runtime::Node => {
                // The name in the registry has a scope as prefix.
                let entry = pins.split("\n    \"node_modules/").find(|entry| {
                    entry.split_once('"').is_some_and(|(path, _)| path.rsplit('/').next() == Some(self.name))
                });
                entry.and_then(|entry| entry.split_once("\"version\": \"")?.1.split('"').next())
            }
        };
        found.map(str::to_owned).ok_or_else(|| SuiteError::Setup(format!("`{}`", path.display())))
    }

    /// Returns the runs of the client: each mode with each contract, or the one run with the embedded model.
    pub(super) fn modes_and_contracts(&self, embedded: bool) -> impl Iterator<Item = (&'static str, u8)> {
        let embedded_run = self.embedded.filter(|_| embedded).map(|mode| (mode, 1));
        let all = self.modes.iter().flat_map(|mode| CONTRACTS.map(|contract| (*mode, contract)));
        embedded_run.into_iter().chain(all.filter(move |_| !embedded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documentation lists every client with its version.
    #[test]
    fn the_documentation_has_every_client() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let page = std::fs::read_to_string(root.join("docs/clients.md")).unwrap();
        for client in CLIENTS {
            let version = client.version(&root.join("clients")).unwrap();
            let is_documented = page
                .lines()
                .any(|line| line.contains(client.name) && line.contains(&format!("| {version} |")));
            assert!(is_documented, "docs/clients.md does not have {} {version}", client.name);
        }
    }
}
