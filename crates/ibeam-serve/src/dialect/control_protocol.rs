//! The control protocol of Claude Code's SDKs: a JSON object on each line of stdin.
//!
//! Reads prompts, requests and responses. An unsupported request is refused with a reason, because an SDK waits for
//! each response. Any other line is reported.

use ibeam_protocol::{Attachment, Reason, UserPrompt};
use serde_json::{Map, Value, json};

use super::host_hooks::{HostHook, read_registration};
use super::usage_error;
pub(super) use ibeam_agent::claude_call_form::value_at;
use ibeam_agent::message_queue::UnreadMessage;
use ibeam_agent::run::media_from_base64;

#[derive(Debug, PartialEq)]
pub(crate) enum HostMessage {
    /// A prompt, with its id if the host gives it one.
    Prompt(UserPrompt, Option<String>),
    /// A request that needs a response under its id.
    Request(String, ControlRequest),
    /// The response to a request to the host; an error is the message of the host.
    Response(String, Result<Value, String>),
    /// A message of an MCP server that the host runs, under the id of its request.
    Mcp { id: String, server: String, message: Value },
    /// A message without a meaning for runs.
    Other,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    /// Describes ibeam; carries the additions of the host to runs.
    Initialize(HostAdditions),
    /// Ends the run in progress.
    Interrupt,
    /// Selects another model for later prompts; `None` is the default model.
    SetModel(Option<String>),
    /// Changes the permission mode.
    SetMode(String),
    /// Asks for the status of the MCP servers.
    McpStatus,
    /// Replaces the MCP servers of the session that an earlier request of this kind has set.
    SetServers(Map<String, Value>),
    /// A request that has no effect.
    NoOp,
    /// An unsupported request, with the reason.
    Reject(String),
}

/// The instructions, MCP servers and hooks that the host adds to runs with `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostAdditions {
    /// Further instructions for the model.
    pub(crate) instructions: Vec<String>,
    /// The names of MCP servers that the host runs.
    pub(crate) servers: Vec<String>,
    pub(crate) hooks: Vec<HostHook>,
    /// The events whose hooks are never called; such hooks cannot refuse anything.
    pub(crate) uncalled_hooks: Vec<String>,
}

impl HostAdditions {
    fn is_empty(&self) -> bool {
        self.instructions.is_empty() && self.servers.is_empty() && self.hooks.is_empty()
    }

    /// Checks that the additions come before the first run.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub(crate) fn check_before_first_prompt(&self, has_started: bool) -> Result<(), &'static str> {
        match has_started && !self.is_empty() {
            true => Err("instructions, servers and hooks are accepted only before the first message"),
            false => Ok(()),
        }
    }
}

/// Reads one line.
///
/// # Errors
/// A line that is not a message, a prompt without text, and one with a file that cannot be attached.
pub(crate) fn parse_message(line: &[u8]) -> Result<HostMessage, UnreadMessage> {
    let not_a_message = |reason| UnreadMessage { reason, is_prompt: false };
    let line =
        std::str::from_utf8(line).map_err(|_| not_a_message(usage_error("a line of stdin is not UTF-8")))?;
    let line = line.trim_start_matches('\u{feff}');
    if line.trim().is_empty() {
        return Ok(HostMessage::Other);
    }
    let message: Value = serde_json::from_str(line).map_err(|error| {
        let message = error.to_string().replace(" at line 1 column ", " at column ");
        not_a_message(usage_error(format!("a line of stdin is not JSON: {message}")))
    })?;
    let text = |pointer: &str| value_at(&message, pointer).as_str().unwrap_or_default().to_owned();
    // Some programs write the id into the request.
    let request_id = || match text("/request_id") {
        id if id.is_empty() => text("/request/request_id"),
        id => id,
    };
    match value_at(&message, "/type").as_str() {
        Some("user") => {
            let prompt = read_prompt(value_at(&message, "/message/content"))
                .map_err(|reason| UnreadMessage { reason, is_prompt: true })?;
            Ok(HostMessage::Prompt(prompt, value_at(&message, "/uuid").as_str().map(str::to_owned)))
        }
        Some("control_request") if *value_at(&message, "/request/subtype") == "mcp_message" => {
            Ok(HostMessage::Mcp {
                id: request_id(),
                server: text("/request/server_name"),
                message: value_at(&message, "/request/message").clone(),
            })
        }
        Some("control_request") => {
            Ok(HostMessage::Request(request_id(), read_control_request(value_at(&message, "/request"))))
        }
        Some("control_response") => {
            let result = match value_at(&message, "/response/subtype").as_str() {
                Some("success") => Ok(value_at(&message, "/response/response").clone()),
                Some(_) | None => Err(text("/response/error")),
            };
            Ok(HostMessage::Response(text("/response/request_id"), result))
        }
        Some(_) => Ok(HostMessage::Other),
        None => Err(not_a_message(usage_error("a line of stdin is not a message: it has no `type`"))),
    }
}

/// Returns a prompt.
///
/// # Errors
/// `Usage` for a prompt without text, and for a block that cannot be attached.
fn read_prompt(content: &Value) -> Result<UserPrompt, Reason> {
    let prompt = match content.as_str() {
        Some(text) => vec![text.to_owned()].into(),
        None => read_blocks(content.as_array().map(Vec::as_slice).unwrap_or_default())?,
    };
    if prompt.texts.iter().all(|text| text.trim().is_empty()) {
        return Err(usage_error("a prompt on stdin is empty"));
    }
    if prompt.texts.iter().any(|text| text.contains('\0')) {
        return Err(usage_error("a prompt on stdin has a NUL character"));
    }
    Ok(prompt)
}

fn read_blocks(blocks: &[Value]) -> Result<UserPrompt, Reason> {
    let mut prompt = UserPrompt::default();
    for block in blocks {
        match (value_at(block, "/type").as_str(), value_at(block, "/text").as_str()) {
            (Some("text"), Some(text)) => prompt.texts.push(text.to_owned()),
            (Some(kind @ ("image" | "document")), _) => {
                let name = format!("{kind} {}", prompt.attachments.len() + 1);
                let attachment = read_file(name, value_at(block, "/source"))
                    .map_err(|why| usage_error(format!("a prompt on stdin: {why}")))?;
                prompt.attachments.push(attachment);
            }
            (kind, _) => {
                let kind = kind.unwrap_or("?");
                return Err(usage_error(format!("a prompt has text, images and documents, not `{kind}`")));
            }
        }
    }
    Ok(prompt)
}

/// Returns the file in the `source` of a block.
///
/// # Errors
/// The reason why it cannot be attached.
fn read_file(name: String, source: &Value) -> Result<Attachment, String> {
    let text = |pointer: &str| value_at(source, pointer).as_str().unwrap_or_default();
    match text("/type") {
        "base64" => {
            media_from_base64(name, text("/media_type"), text("/data").to_owned()).map(Attachment::Media)
        }
        "text" => Ok(Attachment::Text { name, text: text("/data").into() }),
        other => Err(format!("`{name}` has the source `{other}`; send the content as `base64`")),
    }
}

/// Reads a request of the host.
fn read_control_request(request: &Value) -> ControlRequest {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(object) => object.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    match value_at(request, "/subtype").as_str().unwrap_or_default() {
        "initialize" => {
            match RESTRICTING_KEYS.iter().find(|key| !is_empty(value_at(request, &format!("/{key}")))) {
                Some(key) => ControlRequest::Reject(format!(
                    "`{key}` is not accepted with `initialize`; pass it as a flag at the start"
                )),
                None => match (tool_policy_refusal(request), read_registration(request)) {
                    // A run without a hook might allow more.
                    (Some(reason), _) | (None, Err(reason)) => ControlRequest::Reject(reason),
                    (None, Ok((hooks, uncalled_hooks))) => ControlRequest::Initialize(HostAdditions {
                        instructions: instructions(request),
                        servers: text_list(value_at(request, "/sdkMcpServers")),
                        hooks,
                        uncalled_hooks,
                    }),
                },
            }
        }
        "interrupt" => ControlRequest::Interrupt,
        "set_permission_mode" => {
            ControlRequest::SetMode(value_at(request, "/mode").as_str().unwrap_or_default().to_owned())
        }
        "set_model" => ControlRequest::SetModel(value_at(request, "/model").as_str().map(str::to_owned)),
        "mcp_status" => ControlRequest::McpStatus,
        "mcp_set_servers" => match value_at(request, "/servers") {
            Value::Object(servers) => ControlRequest::SetServers(servers.clone()),
            _ => ControlRequest::Reject("`servers` should be an object".to_owned()),
        },
        "set_max_thinking_tokens" => ControlRequest::NoOp,
        other => ControlRequest::Reject(format!("Unsupported control request subtype: {other}")),
    }
}

/// Returns the reason to refuse `initialize` if it has a permission policy for a tool of the host's MCP servers. Rules
/// cannot name such tools.
fn tool_policy_refusal(request: &Value) -> Option<String> {
    let servers = value_at(request, "/sdkMcpServerConfigs").as_object()?;
    let narrowed = |server: &Value| {
        let tools = value_at(server, "/tools").as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().any(|tool| *value_at(tool, "/permission_policy") != "always_allow")
    };
    let (name, _) = servers.iter().find(|(_, server)| narrowed(server))?;
    Some(format!(
        "the tools of the server `{name}` have policies, which are not supported; use `disallowedTools`"
    ))
}

/// Returns the texts of a list; other entries are left out.
fn text_list(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Keys that would restrict a run.
const RESTRICTING_KEYS: &[&str] = &["disallowedTools", "managedSettings", "settings", "toolAliases"];

/// Returns the system prompts of the host, which are appended to the system prompt of ibeam.
fn instructions(request: &Value) -> Vec<String> {
    let given = ["/systemPrompt", "/appendSystemPrompt"].map(|pointer| value_at(request, pointer));
    let texts = given.iter().flat_map(|given| match given {
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        given => given.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Returns the response to `initialize`.
pub(crate) fn initialize_response(models: &[Value]) -> Value {
    json!({
        "commands": [],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": models,
        "account": {},
        "pid": std::process::id(),
    })
}

/// Returns the response to a granted request.
pub(crate) fn success_response(id: &str, response: &Value) -> Value {
    let response = json!({ "subtype": "success", "request_id": id, "response": response });
    json!({ "type": "control_response", "response": response })
}

/// Returns the response to a refused request.
pub(crate) fn error_response(id: &str, why: &str) -> Value {
    let response = json!({ "subtype": "error", "request_id": id, "error": why });
    json!({ "type": "control_response", "response": response })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &Value, expect: HostMessage) {
        assert_eq!(parse_message(line.to_string().as_bytes()).unwrap(), expect, "{line}");
    }

    fn request(of: Value) -> Value {
        json!({ "type": "control_request", "request_id": "r1", "request": of })
    }

    #[test]
    fn prompts_are_text_or_blocks_of_text() {
        let prompt = |texts: &[&str]| {
            HostMessage::Prompt(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>().into(), None)
        };
        check(&json!({ "type": "user", "message": { "role": "user", "content": "do" } }), prompt(&["do"]));
        let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
        check(&json!({ "type": "user", "message": { "content": blocks } }), prompt(&["a", "b"]));
        let marked = json!({ "type": "user", "uuid": "u-1", "message": { "content": "do" } });
        let expect = HostMessage::Prompt(vec!["do".to_owned()].into(), Some("u-1".to_owned()));
        assert_eq!(parse_message(format!("\u{feff}{marked}").as_bytes()).unwrap(), expect);
    }

    #[test]
    fn the_id_of_a_request_may_be_in_the_request() {
        let inner = |subtype: &str| {
            let request =
                json!({ "subtype": subtype, "request_id": "r2", "server_name": "calc", "message": 1 });
            json!({ "type": "control_request", "request": request })
        };
        check(&inner("interrupt"), HostMessage::Request("r2".to_owned(), ControlRequest::Interrupt));
        let (server, message) = ("calc".to_owned(), json!(1));
        check(&inner("mcp_message"), HostMessage::Mcp { id: "r2".to_owned(), server, message });
        let both = json!({ "subtype": "interrupt", "request_id": "r2" });
        check(&request(both), HostMessage::Request("r1".to_owned(), ControlRequest::Interrupt));
    }

    #[test]
    fn requests_are_supported_or_refused() {
        let received = |control| HostMessage::Request("r1".to_owned(), control);
        check(
            &request(json!({ "subtype": "initialize", "hooks": null })),
            received(ControlRequest::Initialize(HostAdditions::default())),
        );
        let prompts =
            json!({ "subtype": "initialize", "systemPrompt": ["a", ""], "appendSystemPrompt": "b" });
        let instructions = vec!["a".to_owned(), "b".to_owned()];
        let added = HostAdditions { instructions, ..HostAdditions::default() };
        check(&request(prompts), received(ControlRequest::Initialize(added)));
        let hooks = json!({ "subtype": "initialize", "hooks": { "SessionStart": [{}], "PreToolUse": [] } });
        let added =
            HostAdditions { uncalled_hooks: vec!["SessionStart".to_owned()], ..HostAdditions::default() };
        check(&request(hooks), received(ControlRequest::Initialize(added)));
        let servers = json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] });
        let added = HostAdditions { servers: vec!["calc".to_owned()], ..HostAdditions::default() };
        check(&request(servers), received(ControlRequest::Initialize(added)));
        check(&request(json!({ "subtype": "interrupt" })), received(ControlRequest::Interrupt));
        for refused in [
            json!({ "subtype": "initialize", "hooks": { "PreToolUse": [{}] } }),
            json!({ "subtype": "initialize", "hooks": { "SessionStart": [{}], "NewlyInvented": [{}] } }),
            json!({ "subtype": "initialize", "disallowedTools": ["Bash"] }),
            json!({
                "subtype": "initialize",
                "sdkMcpServers": ["calc"],
                "sdkMcpServerConfigs": { "calc": { "tools": [{ "name": "add", "permission_policy": "always_deny" }] } },
            }),
            json!({ "subtype": "rewind_files" }),
            json!({ "subtype": "mcp_set_servers", "servers": [] }),
            json!({}),
        ] {
            let read = parse_message(request(refused.clone()).to_string().as_bytes()).unwrap();
            assert!(
                matches!(read, HostMessage::Request(_, ControlRequest::Reject(_))),
                "{refused}: {read:?}"
            );
        }
    }

    #[test]
    fn responses_are_read_with_their_id() {
        let good = json!({ "subtype": "success", "request_id": "a", "response": { "behavior": "allow" } });
        let bad = json!({ "subtype": "error", "request_id": "b", "error": "no" });
        let answer = |id: &str, result| HostMessage::Response(id.to_owned(), result);
        let behavior = json!({ "behavior": "allow" });
        check(&json!({ "type": "control_response", "response": good }), answer("a", Ok(behavior)));
        check(&json!({ "type": "control_response", "response": bad }), answer("b", Err("no".to_owned())));
    }

    #[test]
    fn invalid_messages_are_refused_and_unknown_ones_ignored() {
        check(&json!({ "type": "keep_alive" }), HostMessage::Other);
        assert_eq!(parse_message(b"  ").unwrap(), HostMessage::Other);
        let image = json!({ "type": "user", "message": { "content": [{ "type": "image" }] } }).to_string();
        let prompt =
            |content: Value| json!({ "type": "user", "message": { "content": content } }).to_string();
        let empty = [json!(null), json!(" \n"), json!([]), json!([{ "type": "text", "text": "" }])];
        let empty: Vec<String> = empty.into_iter().chain([json!("a\0b")]).map(prompt).collect();
        for line in ["{", "[]", "{\"a\":1}", &image].into_iter().chain(empty.iter().map(String::as_str)) {
            let UnreadMessage { reason, is_prompt } = parse_message(line.as_bytes()).unwrap_err();
            assert!(matches!(reason, Reason::Usage { .. }), "{line}");
            assert_eq!(is_prompt, line.contains("user"), "{line}");
        }
    }
}
