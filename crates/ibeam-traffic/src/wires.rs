//! The wires of the corpus: the model API that decodes each, and how its services count tokens.

use ibeam_providers::{WireProtocol, find_protocol};

/// A wire of the corpus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// The name in the corpus.
    pub(crate) name: &'static str,
    /// The name of the model API in this program.
    protocol: &'static str,
    /// Whether the input count of the services includes cached tokens.
    pub(crate) cache_in_input: bool,
    /// Whether the output count of the services excludes reasoning.
    pub(crate) reasoning_apart: bool,
}

const WIRES: &[Wire] = &[
    Wire {
        name: "openai-responses",
        protocol: "openai-responses",
        cache_in_input: true,
        reasoning_apart: false,
    },
    Wire { name: "openai-chat", protocol: "openai", cache_in_input: true, reasoning_apart: false },
    Wire { name: "anthropic-messages", protocol: "anthropic", cache_in_input: false, reasoning_apart: false },
    Wire { name: "gemini", protocol: "gemini", cache_in_input: true, reasoning_apart: true },
    Wire {
        name: "gemini-interactions",
        protocol: "gemini-interactions",
        cache_in_input: true,
        reasoning_apart: true,
    },
    Wire { name: "vertex-gemini", protocol: "vertex-gemini", cache_in_input: true, reasoning_apart: true },
    Wire { name: "bedrock-converse", protocol: "bedrock", cache_in_input: false, reasoning_apart: false },
    Wire {
        name: "bedrock-invoke",
        protocol: "bedrock-anthropic",
        cache_in_input: false,
        reasoning_apart: false,
    },
    Wire { name: "ollama-chat", protocol: "ollama", cache_in_input: false, reasoning_apart: false },
    Wire { name: "cohere-v2", protocol: "cohere", cache_in_input: true, reasoning_apart: false },
    Wire {
        name: "vertex-anthropic",
        protocol: "vertex-anthropic",
        cache_in_input: false,
        reasoning_apart: false,
    },
];

impl Wire {
    /// Returns the wire of this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        WIRES.iter().copied().find(|wire| wire.name == name)
    }

    /// Returns the model API that decodes the wire.
    pub(crate) fn protocol(self) -> Option<&'static dyn WireProtocol> {
        find_protocol(self.protocol)
    }
}
