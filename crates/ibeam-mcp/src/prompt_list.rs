//! The prompts of a server, requested when a user names one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ibeam_protocol::Elision;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::call_result::{Content, MAX_RESULT_BYTES};
use crate::connection::parse_result;
use crate::lenient_list::{LenientList, text_or_none};
use crate::list_changes::ServerList;
use crate::server::Server;

const LIST: &str = "prompts/list";

/// A prompt as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ListedPrompt {
    pub name: String,
    /// The description for people.
    #[serde(default, deserialize_with = "text_or_none")]
    pub description: Option<String>,
    /// The arguments in their order.
    #[serde(default, deserialize_with = "valid_arguments")]
    pub arguments: Vec<PromptArgument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    /// Whether the prompt needs it.
    #[serde(default)]
    pub required: bool,
}

fn valid_arguments<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PromptArgument>, D::Error> {
    LenientList::deserialize(from).map(|list| list.items)
}

#[derive(Deserialize)]
struct ListPromptsResult {
    #[serde(default)]
    prompts: LenientList<ListedPrompt>,
}

#[derive(Deserialize)]
struct GetPromptResult {
    #[serde(default)]
    messages: LenientList<PromptMessage>,
}

#[derive(Deserialize)]
struct PromptMessage {
    #[serde(default)]
    role: String,
    /// A block, or several of them.
    #[serde(default)]
    content: Content,
}

impl Server {
    /// Returns the prompts of the server, stored as long as it allows.
    ///
    /// # Errors
    /// A message that names the server.
    pub async fn prompts(&self) -> Result<Arc<[ListedPrompt]>, String> {
        if self.take_changed(ServerList::Prompts).await {
            self.lists.prompts.clear().await;
        }
        let parse =
            |page: &RawValue| parse_result(LIST, page).map(|ListPromptsResult { prompts }| prompts.items);
        self.lists.prompts.get_or_request(Instant::now(), self.request_list(LIST, parse)).await
    }

    /// Returns the messages of a prompt as one text, bounded.
    ///
    /// # Errors
    /// A message that names the server.
    pub async fn prompt_text(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<String, String> {
        let params = json!({ "name": name, "arguments": arguments });
        let result = self.request("prompts/get", params).await?;
        let GetPromptResult { messages } = parse_result("prompts/get", &result)?;
        let messages = messages.items;
        let is_dialogue = messages.iter().any(|message| !matches!(message.role.as_str(), "user" | ""));
        let texts = messages.into_iter().map(|PromptMessage { role, content }| {
            let text = content.into_texts().join("\n");
            if is_dialogue { format!("{role}: {text}") } else { text }
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        Ok(Elision::mostly_head(MAX_RESULT_BYTES).apply(&text).into_owned())
    }
}
