//! Requests the list of tools: all pages, bounded. What cannot be read of it is left out and named.

use std::time::Duration;

use ibeam_json_rpc::{MAX_QUOTED_CHARS, METHOD_NOT_FOUND};
use ibeam_protocol::elide_end;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::connection::{Connection, parse_result};
use crate::lenient_list::LenientList;
use crate::list_cache::{PageInfo, SeenCursors};
use crate::listed_tool::{ListedTool, Offer};
use crate::param_headers::ParamHeader;

/// Maximum number of tools of one server; no model can choose among more.
const MAX_TOOLS: usize = 1000;
/// Maximum size of the list of tools; a longer one leaves no room in the context window.
const MAX_TOOL_LIST_BYTES: usize = 1 << 20;
const MAX_TOOL_NAME_BYTES: usize = 256;
/// Maximum number of pages of a list, against a cursor that never ends.
const MAX_PAGES: usize = 100;
#[derive(Deserialize)]
struct ListToolsResult {
    tools: LenientList<ListedTool>,
}

struct ToolPage {
    tools: LenientList<ListedTool>,
    info: PageInfo,
    /// The number of bytes of the answer.
    length: usize,
}

/// Returns the name of a tool with the reason why no model can call it, if there is one.
fn fault_of(tool: &ListedTool) -> Option<String> {
    if tool.name.trim().is_empty() {
        return Some("a tool without a name".to_owned());
    }
    let name = elide_end(&tool.name, MAX_QUOTED_CHARS / 4);
    (tool.name.len() > MAX_TOOL_NAME_BYTES)
        .then(|| format!("{name} (its name is longer than {MAX_TOOL_NAME_BYTES} bytes)"))
}

impl Connection {
    /// Requests every page of the list of tools. If a page cannot be read, the tools of the pages before it count. A list
    /// without any page is an error only if the server `offers_nothing_else`; one that does not announce tools may reject
    /// the request.
    pub(crate) async fn list_tools(
        &self,
        announces_tools: bool,
        offers_nothing_else: bool,
    ) -> Result<Offer, String> {
        let mut tools: Vec<ListedTool> = Vec::new();
        let mut left_out = Vec::new();
        let (mut cursor, mut ttl) = (None::<String>, None::<Option<Duration>>);
        let (mut cursors, mut length, mut pages) = (SeenCursors::default(), 0, 0);
        loop {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = match self.tool_page(params).await {
                Ok(page) => page,
                Err(CallError::Rejected(error)) if error.code == METHOD_NOT_FOUND && !announces_tools => {
                    return Ok(Offer::default());
                }
                Err(error @ (CallError::Rejected(_) | CallError::Input(_)))
                    if pages > 0 || !offers_nothing_else =>
                {
                    left_out.push(format!("{} ({error})", if pages > 0 { "the rest" } else { "all" }));
                    break;
                }
                Err(error) => return Err(error.to_string()),
            };
            pages += 1;
            length += page.length;
            if length > MAX_TOOL_LIST_BYTES {
                return Err(format!("its list of tools is longer than {} kB", MAX_TOOL_LIST_BYTES >> 10));
            }
            ttl = Some(match ttl {
                None => page.info.ttl(),
                Some(ttl) => ttl.zip(page.info.ttl()).map(|(ttl, of_page)| ttl.min(of_page)),
            });
            left_out.extend(page.tools.left_out);
            for tool in page.tools.items {
                if let Some(fault) = fault_of(&tool) {
                    left_out.push(fault);
                } else if tools.iter().all(|other| other.name != tool.name) {
                    tools.push(tool);
                }
            }
            if tools.len() > MAX_TOOLS {
                return Err(format!("it offers more than {MAX_TOOLS} tools"));
            }
            cursor = cursors.next(page.info);
            if cursor.is_none() {
                break;
            }
            if pages == MAX_PAGES {
                left_out.push(format!("the rest (the list has more than {MAX_PAGES} pages)"));
                break;
            }
        }
        let mut offer = self.with_valid_headers(tools);
        offer.left_out.extend(left_out.iter().map(|tool| elide_end(tool, MAX_QUOTED_CHARS)));
        Ok(Offer { ttl: ttl.flatten(), ..offer })
    }

    /// Requests a page of the list of tools.
    async fn tool_page(&self, params: Value) -> Result<ToolPage, CallError> {
        let page = self.request("tools/list", params, &[]).await?;
        let ListToolsResult { tools } = parse_result("tools/list", &page).map_err(CallError::Input)?;
        let info = parse_result("tools/list", &page).map_err(CallError::Input)?;
        Ok(ToolPage { tools, info, length: page.get().len() })
    }

    /// Returns the tools with the headers of their calls, and apart the tools whose headers are not valid. Only HTTP without
    /// sessions has such headers.
    fn with_valid_headers(&self, mut tools: Vec<ListedTool>) -> Offer {
        let mut left_out = Vec::new();
        if self.is_http() && self.is_stateless() {
            tools.retain_mut(|tool| match ParamHeader::from_schema(&tool.input_schema) {
                Ok(headers) => {
                    tool.param_headers = headers;
                    true
                }
                Err(error) => {
                    left_out.push(format!("{} ({error})", tool.name));
                    false
                }
            });
        }
        Offer { tools: tools.into(), left_out, ..Offer::default() }
    }
}

#[cfg(test)]
#[path = "tool_list_test.rs"]
mod tests;
