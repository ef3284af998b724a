//! The clients that are tried: how each is installed, and which of its ways to start the program are gone through.

/// A client.
pub(super) struct Client {
    /// Its name in its registry, without a scope, and the name of its folder.
    pub(super) name: &'static str,
    /// The version in the folder's `requirements.txt` or `package.json`.
    pub(super) version: &'static str,
    pub(super) made_for: MadeFor,
    /// What its driver takes.
    modes: &'static [&'static str],
    contracts: &'static [u8],
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

const BOTH: &[u8] = &[1, 2];

pub(super) const KNOWN: [Client; 7] = [
    Client {
        name: "cursor-cli",
        version: "0.1.13",
        made_for: MadeFor::Python(8),
        modes: &["json", "stream", "text"],
        contracts: BOTH,
        tells: Tells::Task,
        embedded: Some("json"),
    },
    Client {
        name: "harbor",
        version: "0.24.0",
        made_for: MadeFor::Python(12),
        modes: &["run"],
        contracts: BOTH,
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "agent-intern",
        version: "0.33.0",
        made_for: MadeFor::Python(12),
        modes: &["text", "stream"],
        contracts: BOTH,
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "marshal-agents",
        version: "0.6.0",
        made_for: MadeFor::Python(11),
        modes: &["read-only", "safe-edit"],
        contracts: BOTH,
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "mcp-portal",
        version: "0.1.0",
        made_for: MadeFor::Python(10),
        modes: &["run"],
        contracts: BOTH,
        tells: Tells::Citation,
        embedded: None,
    },
    Client {
        name: "ai-cli-runner",
        version: "0.5.0",
        made_for: MadeFor::Python(12),
        modes: &["json", "text"],
        // It takes the last `assistant` event for the answer.
        contracts: &[2],
        tells: Tells::Task,
        embedded: None,
    },
    Client {
        name: "cursor-agent-acp",
        version: "0.7.1",
        made_for: MadeFor::Node,
        modes: &["run"],
        contracts: BOTH,
        tells: Tells::Task,
        embedded: None,
    },
];

impl Client {
    /// Each mode under each contract that the client understands.
    pub(super) fn runs(&self, embedded: bool) -> impl Iterator<Item = (&'static str, u8)> {
        let of_embedded = self.embedded.filter(|_| embedded).map(|mode| (mode, 1));
        let (modes, contracts) = (self.modes, self.contracts);
        let all = modes.iter().flat_map(|mode| contracts.iter().map(|contract| (*mode, *contract)));
        of_embedded.into_iter().chain(all.filter(move |_| !embedded))
    }
}
