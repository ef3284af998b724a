//! `web_search`: searches the web.

use super::definition::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "webSearchToolCall";

/// The tool `web_search`.
pub const TOOL: Tool = Tool {
    name: Some("web_search"),
    key: KEY,
    description: "Searches the web.",
    args: Some(WebSearchArgs::<String>::object),
    success: WebSearchSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

contract_object! {
    /// The words to search for.
    pub struct WebSearchArgs<S: Default = String> {
        /// The words.
        required search_term("searchTerm"): S,
        /// The `call_id` of the event.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// The results of a search.
    pub struct WebSearchSuccess<S: Default = String> {
        /// Title, address and text of each result.
        payload content("content"): S,
    }
}
