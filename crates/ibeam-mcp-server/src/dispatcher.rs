//! Answers the requests of clients, whatever transport they use.

use std::sync::Arc;

use ibeam_json_rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use serde_json::{Map, Value, json};

use crate::progress::Progress;
use crate::revision::{Lifecycle, RESOURCE_NOT_FOUND, STATELESS_REVISION, complete_result, negotiate};
use crate::service::{ResourceError, Service};

/// Answers requests with a [`Service`].
pub struct Dispatcher {
    service: Arc<dyn Service>,
    /// The name and the version of the server.
    server: Value,
}

impl Dispatcher {
    /// Returns a dispatcher for a program with this name, title and version.
    pub fn new(service: Arc<dyn Service>, name: &str, title: &str, version: &str) -> Arc<Self> {
        let server = json!({ "name": name, "title": title, "version": version });
        Arc::new(Self { service, server })
    }

    /// Whether a request calls a tool that exists. Such a request may take long and reports progress; all others are
    /// answered at once.
    pub(crate) fn is_tool_call(&self, method: &str, params: &Map<String, Value>) -> bool {
        let name = params.get("name").and_then(Value::as_str);
        method == "tools/call" && name.is_some_and(|name| self.has_tool(name))
    }

    fn has_tool(&self, name: &str) -> bool {
        self.service.tools().iter().any(|tool| tool.name == name)
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The error of the response.
    pub(crate) async fn answer(
        &self,
        lifecycle: Lifecycle,
        method: &str,
        params: Map<String, Value>,
        progress: Progress,
    ) -> Result<Value, RpcError> {
        let capabilities = json!({ "tools": {}, "resources": {} });
        let mut is_cacheable = true;
        let mut result = match (method, lifecycle) {
            ("initialize", Lifecycle::Session) => {
                let requested = params.get("protocolVersion").and_then(Value::as_str);
                json!({
                    "protocolVersion": negotiate(requested),
                    "capabilities": capabilities,
                    "serverInfo": self.server,
                    "instructions": self.service.instructions(),
                })
            }
            ("ping", Lifecycle::Session) => json!({}),
            ("server/discover", Lifecycle::Stateless) => json!({
                "supportedVersions": [STATELESS_REVISION],
                "capabilities": capabilities,
                "instructions": self.service.instructions(),
            }),
            ("tools/list", _) => json!({ "tools": self.service.tools() }),
            ("tools/call", _) => {
                is_cacheable = false;
                self.call(params, progress).await?
            }
            ("resources/list", _) => self.list_resources(&params).await?,
            ("resources/templates/list", _) => {
                json!({ "resourceTemplates": self.service.resource_templates() })
            }
            ("resources/read", _) => self.read_resource(lifecycle, &params).await?,
            (other, _) => return Err(RpcError::method_not_found("server", other)),
        };
        if let (Lifecycle::Stateless, Some(result)) = (lifecycle, result.as_object_mut()) {
            complete_result(result, &self.server, is_cacheable);
        }
        Ok(result)
    }

    async fn call(&self, mut params: Map<String, Value>, progress: Progress) -> Result<Value, RpcError> {
        let name = text_param(&params, "name")?.to_owned();
        if !self.has_tool(&name) {
            let names: Vec<&str> = self.service.tools().iter().map(|tool| tool.name).collect();
            let message = format!("unknown tool; there are: {}", names.join(", "));
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        let arguments = match params.remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            Some(Value::Null) | None => Map::new(),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                return Err(RpcError::new(INVALID_PARAMS, "`arguments` should be an object"));
            }
        };
        let called = self.service.call(&name, arguments, progress).await;
        let content: Vec<Value> =
            called.texts.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
        let mut result = json!({ "content": content, "isError": called.is_error });
        if let (Some(structured), Some(result)) = (called.structured, result.as_object_mut()) {
            result.insert("structuredContent".to_owned(), structured);
        }
        Ok(result)
    }

    async fn list_resources(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let cursor = params.get("cursor").and_then(Value::as_str).map(str::to_owned);
        let page = self.service.list_resources(cursor).await.map_err(|error| match error {
            ResourceError::InvalidCursor | ResourceError::NotFound => {
                RpcError::new(INVALID_PARAMS, "the cursor is not of this server")
            }
            ResourceError::Failed(message) => RpcError::new(INTERNAL_ERROR, message),
        })?;
        let mut result = json!({ "resources": page.resources });
        if let (Some(cursor), Some(result)) = (page.next_cursor, result.as_object_mut()) {
            result.insert("nextCursor".to_owned(), cursor.into());
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        lifecycle: Lifecycle,
        params: &Map<String, Value>,
    ) -> Result<Value, RpcError> {
        let uri = text_param(params, "uri")?;
        let content = self.service.read_resource(uri).await.map_err(|error| match error {
            ResourceError::NotFound | ResourceError::InvalidCursor => RpcError {
                code: match lifecycle {
                    Lifecycle::Session => RESOURCE_NOT_FOUND,
                    Lifecycle::Stateless => INVALID_PARAMS,
                },
                message: "there is no such resource".to_owned(),
                data: Some(json!({ "uri": uri })),
            },
            ResourceError::Failed(message) => RpcError::new(INTERNAL_ERROR, message),
        })?;
        Ok(json!({ "contents": [{ "uri": uri, "mimeType": content.mime_type, "text": content.text }] }))
    }
}

/// Returns a parameter that must be text.
fn text_param<'a>(params: &'a Map<String, Value>, name: &str) -> Result<&'a str, RpcError> {
    let value = params.get(name).and_then(Value::as_str);
    value.ok_or_else(|| RpcError::new(INVALID_PARAMS, format!("the parameter `{name}` should be a text")))
}
