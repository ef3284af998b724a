//! The tools and resources that a program offers to the clients of its server.

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::progress::Progress;

/// The tools and resources of a program.
pub trait Service: Send + Sync + 'static {
    /// Returns a text for the model of the client: what the server is for.
    fn instructions(&self) -> &str;

    /// Returns the tools. The list never changes.
    fn tools(&self) -> &[Tool];

    /// Calls a tool of the list. Dropping the future cancels the call.
    ///
    /// Errors that the model of the client can correct are results with `is_error`.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: Progress,
    ) -> BoxFuture<'static, ToolResult>;

    /// Returns the forms of the URIs that can be read.
    fn resource_templates(&self) -> &[ResourceTemplate];

    /// Returns the page of the resources after `cursor`, which an earlier page returned.
    fn list_resources(
        &self,
        cursor: Option<String>,
    ) -> BoxFuture<'static, Result<ResourcePage, ResourceError>>;

    fn read_resource(&self, uri: &str) -> BoxFuture<'static, Result<ResourceContent, ResourceError>>;
}

/// The declaration of a tool.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name in calls.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints about the effects of a call.
    pub annotations: Value,
}

#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    /// The texts for the model.
    pub texts: Vec<String>,
    /// The result as data, which matches the output schema of the tool.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

/// An entry of the list of resources.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The URI to read.
    pub uri: String,
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub mime_type: &'static str,
}

#[derive(Clone, Debug, Default)]
pub struct ResourcePage {
    pub resources: Vec<Resource>,
    /// The cursor of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
}

/// The form of the URIs of similar resources.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The template of RFC 6570.
    pub uri_template: &'static str,
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The description for the model.
    pub description: &'static str,
    pub mime_type: &'static str,
}

#[derive(Clone, Debug)]
pub struct ResourceContent {
    pub mime_type: &'static str,
    pub text: String,
}

/// The reason why a resource was not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceError {
    /// The resource does not exist, or the client may not read it.
    NotFound,
    /// The cursor was not returned by an earlier page.
    InvalidCursor,
    /// The resource cannot be read, for this reason.
    Failed(String),
}
