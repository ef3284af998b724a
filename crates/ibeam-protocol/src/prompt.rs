//! The text before a conversation and the tools, as the requests of a session begin with them.

use serde::{Deserialize, Serialize};

use crate::tool::ToolSpec;

/// The beginning of the requests of a session, or a change of it. A session only appends: what was sent stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptRecord {
    /// The text and the tools that the requests from here on begin with.
    Complete {
        /// All parts, in their order.
        parts: Vec<PromptPart>,
        /// The tools, in their order.
        tools: Vec<ToolSpec>,
        /// The level of reasoning, for a provider that takes a change of it as a message; `default` for that of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
    /// The changes since the last record. The model receives their texts as later messages.
    Change {
        /// The parts that are new, and those with another text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<PromptPart>,
        /// The names of the parts that no longer apply.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<String>,
        /// The tools that were added.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<ToolSpec>,
        /// The new level of reasoning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
}

/// A part of the text before a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptPart {
    /// The name, which no other part of the prompt has: its kind, and what distinguishes it within the kind.
    pub name: String,
    /// The owner of the text, which decides how much authority it has.
    pub owner: PromptOwner,
    /// The text, verbatim.
    pub text: String,
}

/// The owner of a text before a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptOwner {
    /// The user or the program. The text is part of the system prompt. A change has the same authority, if the model has
    /// a form for that.
    User,
    /// A workspace that the user trusts, or a server. The text is part of the system prompt. A change is a text of the
    /// user: others can write it.
    Project,
    /// A repository that the user does not trust. The text is content before the first message, and so is a change.
    Repository,
}
