//! The shapes of docs/dialects.md: what every line of a dialect has.

use ibeam_dialects::DialectName;
use serde_json::Value;

/// The type of the value at a pointer.
#[derive(Clone, Copy, Debug)]
enum Is {
    Text,
    Count,
    Number,
    Flag,
    List,
    Object,
    Word(&'static [&'static str]),
    Null,
}

use Is::{Count, Flag, List, Null, Number, Object, Text, Word};

impl Is {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Count => value.is_u64(),
            Self::Number => value.is_number(),
            Self::Flag => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Null => value.is_null(),
        }
    }
}

type Keys = &'static [(&'static str, Is)];

/// Every line of a stream has what its event has.
#[track_caller]
pub(crate) fn hold(dialect: DialectName, stream: &str) {
    for line in stream.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let wrong = match dialect {
            DialectName::Cursor => panic!("`ibeam_wire::check` holds these"),
            DialectName::Claude => claude(&event),
            DialectName::Codex => codex(&event),
            DialectName::Gemini => gemini(&event),
            DialectName::Opencode => opencode(&event),
        };
        if let Some(wrong) = wrong {
            panic!("{dialect}: {wrong} in {line}");
        }
    }
}

fn missing(event: &Value, keys: Keys) -> Option<String> {
    let wrong = keys.iter().find(|(pointer, is)| !event.pointer(pointer).is_some_and(|value| is.fits(value)));
    wrong.map(|(pointer, is)| format!("{pointer} should be {is:?}"))
}

fn word<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn claude(event: &Value) -> Option<String> {
    const ALL: Keys = &[("/session_id", Text), ("/uuid", Text)];
    const INIT: Keys = &[
        ("/apiKeySource", Text),
        ("/claude_code_version", Text),
        ("/cwd", Text),
        ("/tools", List),
        ("/mcp_servers", List),
        ("/model", Text),
        (
            "/permissionMode",
            Word(&["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"]),
        ),
        ("/slash_commands", List),
        ("/output_style", Text),
        ("/skills", List),
        ("/plugins", List),
    ];
    const ASSISTANT: Keys = &[
        ("/parent_tool_use_id", Null),
        ("/message/id", Text),
        ("/message/type", Word(&["message"])),
        ("/message/role", Word(&["assistant"])),
        ("/message/model", Text),
        ("/message/content", List),
        ("/message/usage/input_tokens", Count),
        ("/message/usage/output_tokens", Count),
    ];
    const USER: Keys =
        &[("/parent_tool_use_id", Null), ("/message/role", Word(&["user"])), ("/message/content", List)];
    const RESULT: Keys = &[
        ("/subtype", Word(&["success", "error_during_execution", "error_max_turns", "error_max_budget_usd"])),
        ("/is_error", Flag),
        ("/duration_ms", Count),
        ("/duration_api_ms", Count),
        ("/num_turns", Count),
        ("/total_cost_usd", Number),
        ("/usage/input_tokens", Count),
        ("/usage/cache_creation_input_tokens", Count),
        ("/usage/cache_read_input_tokens", Count),
        ("/usage/output_tokens", Count),
        ("/modelUsage", Object),
        ("/permission_denials", List),
    ];
    let keys: Keys = match (word(event, "/type"), word(event, "/subtype")) {
        ("system", "init") => INIT,
        ("assistant", _) => ASSISTANT,
        ("user", _) => USER,
        ("result", "success") if !event["result"].is_string() => {
            return Some("/result is missing".to_owned());
        }
        ("result", subtype) if subtype != "success" && !event["errors"].is_array() => {
            return Some("/errors is missing".to_owned());
        }
        ("result", _) => RESULT,
        ("system" | "stream_event", _) => &[],
        (other, _) => return Some(format!("the event `{other}`")),
    };
    let blocks = event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    let block = |block: &Value| {
        let keys: Keys = match word(block, "/type") {
            "text" => &[("/text", Text)],
            "thinking" => &[("/thinking", Text), ("/signature", Text)],
            "tool_use" => &[("/id", Text), ("/name", Text), ("/input", Object)],
            "tool_result" => &[("/tool_use_id", Text)],
            other => return Some(format!("the block `{other}`")),
        };
        missing(block, keys)
    };
    missing(event, ALL).or_else(|| missing(event, keys)).or_else(|| blocks.into_iter().find_map(block))
}

fn codex(event: &Value) -> Option<String> {
    const STATES: Is = Word(&["in_progress", "completed", "failed", "declined"]);
    let keys: Keys = match word(event, "/type") {
        "thread.started" => &[("/thread_id", Text)],
        "turn.started" => &[],
        "turn.completed" => &[
            ("/usage/input_tokens", Count),
            ("/usage/cached_input_tokens", Count),
            ("/usage/output_tokens", Count),
        ],
        "turn.failed" => &[("/error/message", Text)],
        "error" => &[("/message", Text)],
        "item.started" | "item.updated" | "item.completed" => match word(event, "/item/type") {
            "agent_message" | "reasoning" => &[("/item/id", Text), ("/item/text", Text)],
            "command_execution" => &[
                ("/item/id", Text),
                ("/item/command", Text),
                ("/item/aggregated_output", Text),
                ("/item/status", STATES),
            ],
            "file_change" => &[("/item/id", Text), ("/item/changes", List), ("/item/status", STATES)],
            "mcp_tool_call" => &[
                ("/item/id", Text),
                ("/item/server", Text),
                ("/item/tool", Text),
                ("/item/arguments", Object),
                ("/item/status", STATES),
            ],
            "web_search" => &[("/item/id", Text), ("/item/query", Text)],
            "todo_list" => &[("/item/id", Text), ("/item/items", List)],
            "error" => &[("/item/id", Text), ("/item/message", Text)],
            other => return Some(format!("the item `{other}`")),
        },
        other => return Some(format!("the event `{other}`")),
    };
    missing(event, keys)
}

fn gemini(event: &Value) -> Option<String> {
    let keys: Keys = match word(event, "/type") {
        "init" => &[("/session_id", Text), ("/model", Text)],
        "message" => &[("/role", Word(&["user", "assistant"])), ("/content", Text)],
        "tool_use" => &[("/tool_name", Text), ("/tool_id", Text), ("/parameters", Object)],
        "tool_result" => &[("/tool_id", Text), ("/status", Word(&["success", "error"]))],
        "error" => &[("/severity", Word(&["warning", "error"])), ("/message", Text)],
        "result" if event["status"] == "error" => &[("/error/type", Text), ("/error/message", Text)],
        "result" => &[
            ("/status", Word(&["success"])),
            ("/stats/total_tokens", Count),
            ("/stats/input_tokens", Count),
            ("/stats/output_tokens", Count),
            ("/stats/cached", Count),
            ("/stats/input", Count),
            ("/stats/duration_ms", Count),
            ("/stats/tool_calls", Count),
        ],
        other => return Some(format!("the event `{other}`")),
    };
    missing(event, &[("/timestamp", Text)]).or_else(|| missing(event, keys))
}

fn opencode(event: &Value) -> Option<String> {
    const PART: Keys = &[("/part/id", Text), ("/part/sessionID", Text), ("/part/messageID", Text)];
    let (part, keys): (Keys, Keys) = match word(event, "/type") {
        "step_start" => (PART, &[("/part/type", Word(&["step-start"]))]),
        "text" => (PART, &[("/part/type", Word(&["text"])), ("/part/text", Text)]),
        "reasoning" => (PART, &[("/part/type", Word(&["reasoning"])), ("/part/text", Text)]),
        "tool_use" => (
            PART,
            &[
                ("/part/type", Word(&["tool"])),
                ("/part/callID", Text),
                ("/part/tool", Text),
                ("/part/state/status", Word(&["completed", "error"])),
                ("/part/state/input", Object),
                ("/part/state/time/start", Count),
                ("/part/state/time/end", Count),
            ],
        ),
        "step_finish" => (
            PART,
            &[
                ("/part/type", Word(&["step-finish"])),
                ("/part/reason", Text),
                ("/part/cost", Number),
                ("/part/tokens/input", Count),
                ("/part/tokens/output", Count),
                ("/part/tokens/reasoning", Count),
                ("/part/tokens/cache/read", Count),
                ("/part/tokens/cache/write", Count),
            ],
        ),
        "error" => (&[], &[("/error/name", Text), ("/error/data", Object)]),
        other => return Some(format!("the event `{other}`")),
    };
    let all: Keys = &[("/timestamp", Count), ("/sessionID", Text)];
    missing(event, all).or_else(|| missing(event, part)).or_else(|| missing(event, keys))
}
