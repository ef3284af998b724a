//! The clients that are tried: how each is installed, and which of its ways to start the program are gone through.

use std::path::Path;

use super::Failed;

/// A client.
pub(super) struct Client {
    /// Its name in its registry, without a scope, and the name of its folder.
    pub(super) name: &'static str,
    pub(super) made_for: MadeFor,
    /// What its driver takes.
    modes: &'static [&'static str],
    /// The contract whose text it misreads, as docs/clients.md says. It is tried all the same, and must have the
    /// answer that is known to be wrong.
    pub(super) misreads: Option<u8>,
    pub(super) tells: Tells,
    /// The mode that is tried with the embedded model.
    pub(super) embedded: Option<&'static str>,
}

/// What a client runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MadeFor {
    /// Python, of this version 3.N at least.
    Python(u8),
    Node,
}

/// What the model is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// Two calls with words before each, an answer, then an answer to each further prompt.
    Task,
    /// A JSON object with a citation.
    Citation,
}

const CONTRACTS: [u8; 2] = [1, 2];

pub(super) const KNOWN: [Client; 7] = [
    Client {
        name: "cursor-cli",
        made_for: MadeFor::Python(8),
        modes: &["json", "stream", "text"],
        misreads: None,
        tells: Tells::Task,
        embedded: Some("json"),
    },
    Client {
        name: "harbor",
        made_for: MadeFor::Python(12),
        modes: &["run"],
        misreads: Some(1),
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "agent-intern",
        made_for: MadeFor::Python(12),
        modes: &["text", "stream"],
        misreads: None,
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "marshal-agents",
        made_for: MadeFor::Python(11),
        modes: &["read-only", "safe-edit"],
        misreads: None,
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "mcp-portal",
        made_for: MadeFor::Python(10),
        modes: &["run"],
        misreads: None,
        tells: Tells::Citation,
        embedded: None,
    },
    Client {
        name: "ai-cli-runner",
        made_for: MadeFor::Python(12),
        modes: &["json", "text"],
        // It takes the last `assistant` event for the answer, and gives no format where it wants text.
        misreads: Some(1),
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "cursor-agent-acp",
        made_for: MadeFor::Node,
        modes: &["run"],
        misreads: None,
        tells: Tells::Task,
        embedded: None,
    },
];

impl Client {
    /// The file of its folder that says what is installed, to the last part.
    pub(super) fn pins(&self) -> &'static str {
        match self.made_for {
            MadeFor::Python(_) => "requirements.txt",
            MadeFor::Node => "package-lock.json",
        }
    }

    /// The version that is pinned, in a folder of `clients`.
    ///
    /// # Errors
    /// `System`, and `Setup` when the pins do not have the client.
    pub(super) fn version(&self, clients: &Path) -> Result<String, Failed> {
        let path = clients.join(self.name).join(self.pins());
        let pins = std::fs::read_to_string(&path).map_err(Failed::system(path.display()))?;
        let found = match self.made_for {
            MadeFor::Python(_) => {
                pins.lines().find_map(|line| line.strip_prefix(self.name)?.strip_prefix("=="))
            }
            MadeFor::Node => {
                // Its name in the registry has a scope before it.
                let entry = pins.split("\n    \"node_modules/").find(|entry| {
                    entry.split_once('"').is_some_and(|(path, _)| path.rsplit('/').next() == Some(self.name))
                });
                entry.and_then(|entry| entry.split_once("\"version\": \"")?.1.split('"').next())
            }
        };
        found.map(str::to_owned).ok_or_else(|| Failed::Setup(format!("`{}`", path.display())))
    }

    /// Each mode under each contract.
    pub(super) fn runs(&self, embedded: bool) -> impl Iterator<Item = (&'static str, u8)> {
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
        for client in KNOWN {
            let version = client.version(&root.join("clients")).unwrap();
            let said = page
                .lines()
                .any(|line| line.contains(client.name) && line.contains(&format!("| {version} |")));
            assert!(said, "docs/clients.md does not have {} {version}", client.name);
        }
    }
}
