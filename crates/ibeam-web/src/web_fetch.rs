//! The tool `web_fetch`, which returns a web page as text.

use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolContext, ToolInputError};
use ibeam_protocol::tool_output::WebFetchOutput;
use ibeam_protocol::{ToolFailure, ToolOutcome, ToolOutput, ToolSpec, sentence};
use serde_json::{Value, json};

use crate::dialer::Dialer;
use crate::fetch::{FetchLimits, Fetcher, TlsConfigFactory, UrlPolicy};
use crate::fetch_url::FetchUrl;
use crate::page::page_text;

pub const WEB_FETCH_NAME: &str = "web_fetch";
/// Names under which models pass the URL.
const URL_ARGUMENT_NAMES: [&str; 5] = ["url", "uri", "address", "link", "href"];

/// The tool `web_fetch`.
pub struct WebFetch {
    fetcher: Arc<Fetcher>,
}

impl WebFetch {
    /// Creates the tool. Redirects to another host are followed if `url_policy` allows the URL.
    pub fn new(
        dialer: Arc<Dialer>,
        url_policy: UrlPolicy,
        tls: TlsConfigFactory,
        limits: FetchLimits,
    ) -> Self {
        Self { fetcher: Arc::new(Fetcher::new(dialer, url_policy, tls, limits)) }
    }
}

/// Fetches `target` and converts the page to the outcome of the call.
async fn fetch(fetcher: &Fetcher, target: Result<FetchUrl, String>) -> ToolOutcome {
    let target = match target {
        Ok(target) => target,
        Err(reason) => return ToolOutcome::Rejected { reason: reason.into() },
    };
    let fetched = match fetcher.fetch(&target).await {
        Ok(fetched) => fetched,
        Err(error) if error.is_refusal() => return ToolOutcome::Rejected { reason: error.sentence() },
        Err(error) => return ToolOutcome::error(error.sentence()),
    };
    match page_text(fetched, fetcher.limits.text_bytes).await {
        Ok(page) => {
            let from = if page.url == target.url.as_str() { "" } else { page.url.as_str() };
            let from = if from.is_empty() { String::new() } else { format!("(from {from})\n\n") };
            let for_model = format!("{from}{}", page.text).into();
            let output = WebFetchOutput { url: page.url, markdown: page.text };
            ToolOutcome::Success { output: ToolOutput::WebFetch(output), for_model }
        }
        Err(message) => ToolOutcome::error(message),
    }
}

/// Returns the URL that a call requests.
fn url_argument(arguments: &Value) -> Result<&str, ToolInputError> {
    let given = URL_ARGUMENT_NAMES.iter().find_map(|name| arguments.get(name));
    given.and_then(Value::as_str).map(str::trim).filter(|url| !url.is_empty()).ok_or_else(|| {
        let problem = match arguments.is_object() {
            true => "`url` is missing or not a string".into(),
            false => sentence!("the arguments are not a JSON object"),
        };
        let example = r#"{"url": "https://docs.example.org/page"}"#;
        ToolInputError::with_example(WEB_FETCH_NAME, problem, example)
    })
}

impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: WEB_FETCH_NAME.into(),
            description: include_str!("web_fetch.md").trim_end().into(),
            parameters: json!({
                "type": "object",
                "properties": { "url": { "type": "string" } },
                "required": ["url"],
            })
            .into(),
        }
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let url = url_argument(arguments)?;
        let access = Access::Fetch { url: url.to_owned() };
        let (fetcher, target) = (Arc::clone(&self.fetcher), FetchUrl::parse(url));
        Ok(PreparedCall::new(json!({ "url": url }), access, async move |context: ToolContext| {
            tokio::select! {
                biased;
                outcome = fetch(&fetcher, target) => outcome,
                _ = context.stop.wait() => ToolOutcome::Failure {
                    failure: ToolFailure::Interrupted,
                    for_model: "interrupted: the run is ending".into(),
                },
            }
        }))
    }
}

#[cfg(test)]
#[path = "web_fetch_test.rs"]
mod tests;
