//! The clients that are tried: how each is installed, and which of its ways to start the program are gone through.

use std::path::Path;

use super::ClientsError;

/// A client.
pub(super) struct Client {
    /// Its name in its registry, without a scope, and the name of its folder.
    pub(super) name: &'static str,
    pub(super) runtime: Runtime,
    /// What its driver takes.
    modes: &'static [&'static str],
    /// The contract whose text it misreads, as docs/clients.md says. It is tried all the same, and must have the
    /// answer that is known to be wrong.
    pub(super) misreads: Option<u8>,
    pub(super) script: ModelScript,
    /// The mode that is tried with the embedded model.
    pub(super) embedded: Option<&'static str>,
}

/// What a client runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    /// Python, of this version 3.N at least.
    Python(u8),
    Node,
}

/// What the model is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelScript {
    /// Two calls with words before each, an answer, then an answer to each further prompt.
    Task,
    /// A JSON object with a citation.
    Citation,
}

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
        // It takes the last `assistant` event for the answer, and gives no format where it wants text.
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
    /// The file of its folder that says what is installed, to the last part.
    pub(super) fn pins(&self) -> &'static str {
        match self.runtime {
            Runtime::Python(_) => "requirements.txt",
            Runtime::Node => "package-lock.json",
        }
    }

    /// The version that is pinned, in a folder of `clients`.
    ///
    /// # Errors
    /// `System`, and `Setup` when the pins do not have the client.
    pub(super) fn version(&self, clients: &Path) -> Result<String, ClientsError> {
        let path = clients.join(self.name).join(self.pins());
        let pins = std::fs::read_to_string(&path).map_err(ClientsError::system(path.display()))?;
        let found = match self.runtime {
            Runtime::Python(_) => {
                pins.lines().find_map(|line| line.strip_prefix(self.name)?.strip_prefix("=="))
            }
            Runtime::Node => {
                // Its name in the registry has a scope before it.
                let entry = pins.split("\n    \"node_modules/").find(|entry| {
                    entry.split_once('"').is_some_and(|(path, _)| path.rsplit('/').next() == Some(self.name))
                });
                entry.and_then(|entry| entry.split_once("\"version\": \"")?.1.split('"').next())
            }
        };
        found.map(str::to_owned).ok_or_else(|| ClientsError::Setup(format!("`{}`", path.display())))
    }

    /// Each mode under each contract.
    pub(super) fn modes_and_contracts(&self, embedded: bool) -> impl Iterator<Item = (&'static str, u8)> {
        let of_embedded = self.embedded.filter(|_| embedded).map(|mode| (mode, 1));
        let all = self.modes.iter().flat_map(|mode| CONTRACTS.map(|contract| (*mode, contract)));
        of_embedded.into_iter().chain(all.filter(move |_| !embedded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was run stands in the documentation, at its version.
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
