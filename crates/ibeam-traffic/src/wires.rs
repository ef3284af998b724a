//! The wires of the corpus. A wire is the name of a model API in the corpus. For each wire: the protocol that decodes
//! it, and how its services count tokens.

use ibeam_providers::{WireProtocol, find_protocol};

/// A model API as the corpus names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    /// The name of the model API in this program.
    protocol: &'static str,
    /// Whether the input count of the services includes cached tokens.
    pub(crate) input_includes_cache: bool,
    /// Whether the output count of the services excludes reasoning.
    pub(crate) output_excludes_reasoning: bool,
}

const WIRES: &[Wire] = &[
    Wire {
        name: "openai-responses",
        protocol: "openai-responses",
        input_includes_cache: true,
        output_excludes_reasoning: false,
    },
    Wire {
        name: "openai-chat",
        protocol: "openai",
        input_includes_cache: true,
        output_excludes_reasoning: false,
    },
    Wire {
        name: "anthropic-messages",
        protocol: "anthropic",
        input_includes_cache: false,
        output_excludes_reasoning: false,
    },
    Wire { name: "gemini", protocol: "gemini", input_includes_cache: true, output_excludes_reasoning: true },
    Wire {
        name: "gemini-interactions",
        protocol: "gemini-interactions",
        input_includes_cache: true,
        output_excludes_reasoning: true,
    },
    Wire {
        name: "vertex-gemini",
        protocol: "vertex-gemini",
        input_includes_cache: true,
        output_excludes_reasoning: true,
    },
    Wire {
        name: "bedrock-converse",
        protocol: "bedrock",
        input_includes_cache: false,
        output_excludes_reasoning: false,
    },
    Wire {
        name: "bedrock-invoke",
        protocol: "bedrock-anthropic",
        input_includes_cache: false,
        output_excludes_reasoning: false,
    },
    Wire {
        name: "ollama-chat",
        protocol: "ollama",
        input_includes_cache: false,
        output_excludes_reasoning: false,
    },
    Wire {
        name: "cohere-v2",
        protocol: "cohere",
        input_includes_cache: true,
        output_excludes_reasoning: false,
    },
    Wire {
        name: "vertex-anthropic",
        protocol: "vertex-anthropic",
        input_includes_cache: false,
        output_excludes_reasoning: false,
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
