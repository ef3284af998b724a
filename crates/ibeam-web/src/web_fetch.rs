//! The tool `web_fetch`: a page of the web, as text.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Tool, ToolContext};
use ibeam_protocol::tool_output::WebFetchOutput;
use ibeam_protocol::{ToolCall, ToolFailure, ToolOutcome, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::dial::Dialer;
use crate::fetch::{Bounds, Fetcher, Judge, Tls};
use crate::page::page;
use crate::target::Target;

/// The tool's name.
pub const NAME: &str = "web_fetch";
/// What other programs call the address.
const ALIASES: [&str; 5] = ["url", "uri", "address", "link", "href"];

/// Fetches a page.
pub struct WebFetch {
    fetcher: Fetcher,
}

impl WebFetch {
    /// The tool; redirects to another host are followed where `judge` allows their address.
    pub fn new(dialer: Arc<Dialer>, judge: Judge, tls: Tls, bounds: Bounds) -> Self {
        Self { fetcher: Fetcher::new(dialer, judge, tls, bounds) }
    }

    async fn fetch(&self, arguments: &Value) -> ToolOutcome {
        let url = match url(arguments) {
            Ok(url) => url,
            Err(said) => return ToolOutcome::error(said),
        };
        let target = match Target::parse(url) {
            Ok(target) => target,
            Err(reason) => return ToolOutcome::Rejected { reason },
        };
        let fetched = match self.fetcher.fetch(&target).await {
            Ok(fetched) => fetched,
            Err(error) if error.is_refusal() => return ToolOutcome::Rejected { reason: error.to_string() },
            Err(error) => return ToolOutcome::error(error.to_string()),
        };
        match page(fetched, self.fetcher.bounds.text).await {
            Ok(page) => {
                let from = if page.url == target.url.as_str() { "" } else { page.url.as_str() };
                let from = if from.is_empty() { String::new() } else { format!("(from {from})\n\n") };
                let for_model = format!("{from}{}", page.text).into();
                let output = WebFetchOutput { url: page.url, markdown: page.text };
                ToolOutcome::Success { output: ToolOutput::WebFetch(output), for_model }
            }
            Err(said) => ToolOutcome::error(said),
        }
    }
}

fn url(arguments: &Value) -> Result<&str, String> {
    let given = ALIASES.iter().find_map(|name| arguments.get(name));
    given.and_then(Value::as_str).filter(|url| !url.trim().is_empty()).ok_or_else(|| {
        let wrong = if arguments.is_object() {
            "`url` is missing or no text"
        } else {
            "the arguments are no JSON object"
        };
        format!(r#"`{NAME}`: {wrong}; a call looks like {{"url": "https://docs.example.org/page"}}"#)
    })
}

impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.into(),
            description: include_str!("web_fetch.md").trim_end().into(),
            parameters: json!({
                "type": "object",
                "properties": { "url": { "type": "string" } },
                "required": ["url"],
            }),
        }
    }

    fn canonical(&self, arguments: &Value) -> Result<Value, String> {
        Ok(json!({ "url": url(arguments)?.trim() }))
    }

    fn access(&self, arguments: &Value) -> Access {
        Access::Fetch { url: url(arguments).unwrap_or_default().to_owned() }
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                biased;
                outcome = self.fetch(&call.arguments) => outcome,
                _ = context.stop.wait() => ToolOutcome::Failure {
                    failure: ToolFailure::Interrupted,
                    for_model: "interrupted: the run is ending".into(),
                },
            }
        })
    }
}

#[cfg(test)]
#[path = "web_fetch_test.rs"]
mod tests;
