//! `web_fetch`: a page as Markdown.

use super::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("web_fetch"),
    key: "webFetchToolCall",
    description: "Fetches a page.",
    args: Some(WebFetchArgs::<String>::object),
    success: WebFetchSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// Which page is fetched.
    pub struct WebFetchArgs<S: Default = String> {
        /// Its address.
        required url("url"): S,
    }
}

contract_object! {
    /// A page that was fetched.
    pub struct WebFetchSuccess<S: Default = String> {
        /// The address of the page, after redirects.
        payload url("url"): S,
        /// Its text as Markdown.
        payload markdown("markdown"): S,
    }
}
