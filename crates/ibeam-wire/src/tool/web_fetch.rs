//! `web_fetch`: fetches a page as Markdown.

use super::definition::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "webFetchToolCall";

/// The tool `web_fetch`.
pub const TOOL: Tool = Tool {
    name: Some("web_fetch"),
    key: KEY,
    description: "Fetches a page.",
    args: Some(WebFetchArgs::<String>::object),
    success: WebFetchSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// The page to fetch.
    pub struct WebFetchArgs<S: Default = String> {
        /// The address of the page.
        required url("url"): S,
    }
}

contract_object! {
    /// A fetched page.
    pub struct WebFetchSuccess<S: Default = String> {
        /// The address of the page, after redirects.
        payload url("url"): S,
        /// The text of the page as Markdown.
        payload markdown("markdown"): S,
    }
}
