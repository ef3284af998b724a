//! The contract's tables: the keys of each event and of each tool's result, in their order.

use super::shape::{Key, Need, Shape};

const fn key(name: &'static str, shape: Shape) -> Key {
    Key { name, need: Need::Always, shape }
}

const fn ours(name: &'static str, shape: Shape) -> Key {
    Key { name, need: Need::Ours, shape }
}

const fn maybe(name: &'static str, shape: Shape) -> Key {
    Key { name, need: Need::Maybe, shape }
}

pub(super) static INIT: &[Key] = &[
    key("type", Shape::Text),
    key("subtype", Shape::Text),
    key("apiKeySource", Shape::Word(&["env", "flag", "login"])),
    key("cwd", Shape::AbsolutePath),
    key("session_id", Shape::Uuid),
    key("model", Shape::Text),
    key("permissionMode", Shape::Word(&["default", "force", "plan", "ask"])),
    ours("tools", Shape::List(&Shape::Text)),
    ours("mcp_servers", Shape::List(&Shape::Object(SERVER))),
    ours("ibeam", Shape::Object(INIT_EXTRAS)),
];

static SERVER: &[Key] = &[
    key("name", Shape::Text),
    key("status", Shape::OpenWord(&["connected", "failed", "untrusted", "unsupported", "disabled"])),
];

static INIT_EXTRAS: &[Key] = &[
    key("version", Shape::Text),
    key("contract", Shape::Word(&["1", "2"])),
    key("api_key", Shape::Word(&["env", "flag", "login", "none"])),
    key("sandbox", Shape::Object(SANDBOX)),
    key("limits", Shape::Object(LIMITS)),
    maybe("journal_gaps", Shape::Count),
    maybe("ephemeral", Shape::Flag),
];

static SANDBOX: &[Key] = &[
    key("mode", Shape::OpenWord(&["off", "namespaces", "landlock"])),
    key("layers", Shape::List(&Shape::Text)),
    key("network", Shape::Flag),
    maybe("writable", Shape::List(&Shape::Text)),
    key("reason", Shape::Text),
];

static LIMITS: &[Key] = &[
    key("max_turns", Shape::Count),
    maybe("max_tokens", Shape::Count),
    maybe("max_cost_usd", Shape::Amount),
    maybe("max_tool_calls", Shape::Count),
    maybe("timeout_ms", Shape::Count),
];

pub(super) static USER: &[Key] =
    &[key("type", Shape::Text), key("message", Shape::Object(USER_MESSAGE)), key("session_id", Shape::Uuid)];

static USER_MESSAGE: &[Key] = &[key("role", Shape::Word(&["user"])), key("content", CONTENT)];

pub(super) static ASSISTANT: &[Key] = &[
    key("type", Shape::Text),
    key("message", Shape::Object(ASSISTANT_MESSAGE)),
    key("session_id", Shape::Uuid),
    ours("timestamp_ms", Shape::Count),
];

/// Under contract 2, where the two last keys tell the three forms apart.
pub(super) static SEGMENT: &[Key] = &[
    key("type", Shape::Text),
    key("message", Shape::Object(ASSISTANT_MESSAGE)),
    key("session_id", Shape::Uuid),
    maybe("model_call_id", Shape::Text),
    maybe("timestamp_ms", Shape::Count),
];

static ASSISTANT_MESSAGE: &[Key] = &[key("role", Shape::Word(&["assistant"])), key("content", CONTENT)];

const CONTENT: Shape = Shape::Some(&Shape::Object(BLOCK));

static BLOCK: &[Key] = &[key("type", Shape::Word(&["text"])), key("text", Shape::Text)];

pub(super) static TOOL_CALL: &[Key] = &[
    key("type", Shape::Text),
    key("subtype", Shape::Text),
    key("call_id", Shape::Text),
    key("tool_call", Shape::AnyObject),
    key("session_id", Shape::Uuid),
    ours("model_call_id", Shape::Text),
    ours("timestamp_ms", Shape::Count),
];

const SUCCESS: Shape = Shape::Word(&["success"]);

/// As the last line of a stream.
pub(super) static RESULT: &[Key] = &[
    key("type", Shape::Text),
    key("subtype", SUCCESS),
    key("duration_ms", Shape::Count),
    key("duration_api_ms", Shape::Count),
    key("is_error", Shape::False),
    key("result", Shape::Text),
    key("session_id", Shape::Uuid),
    maybe("request_id", Shape::Text),
    maybe("usage", Shape::Object(USAGE)),
    ours("ibeam", Shape::Object(SUMMARY)),
];

/// As the one object of `json`.
pub(super) static OBJECT: &[Key] = &[
    key("type", Shape::Text),
    key("subtype", SUCCESS),
    key("is_error", Shape::False),
    key("duration_ms", Shape::Count),
    key("duration_api_ms", Shape::Count),
    key("result", Shape::Text),
    key("session_id", Shape::Uuid),
    maybe("request_id", Shape::Text),
    maybe("usage", Shape::Object(USAGE)),
    ours("ibeam", Shape::Object(SUMMARY)),
];

/// A failure before a run.
pub(super) static FAILURE: &[Key] = &[
    key("type", Shape::Text),
    key("code", Shape::Text),
    key("message", Shape::Text),
    key("exit_code", Shape::Between(1, 255)),
    key("retryable", Shape::Flag),
    maybe("retry_after_ms", Shape::Count),
    maybe("http_status", Shape::Between(100, 999)),
    maybe("request_id", Shape::Text),
];

/// That of a run.
pub(super) static ERROR: &[Key] = &[
    key("type", Shape::Text),
    key("code", Shape::Text),
    key("message", Shape::Text),
    key("exit_code", Shape::Between(1, 255)),
    key("retryable", Shape::Flag),
    maybe("retry_after_ms", Shape::Count),
    maybe("http_status", Shape::Between(100, 999)),
    maybe("request_id", Shape::Text),
    key("session_id", Shape::Uuid),
    key("ibeam", Shape::Object(SUMMARY)),
    key("resumable", Shape::Flag),
    maybe("result", Shape::Text),
];

static USAGE: &[Key] = &[
    key("inputTokens", Shape::Count),
    key("outputTokens", Shape::Count),
    key("cacheReadTokens", Shape::Count),
    key("cacheWriteTokens", Shape::Count),
];

static SUMMARY: &[Key] = &[
    key("turns", Shape::Count),
    key("api_ms", Shape::Count),
    maybe("cost_usd", Shape::Amount),
    key("permission_denials", Shape::List(&Shape::Object(DENIAL))),
    key("failed_tool_calls", Shape::Count),
    key("files_changed", Shape::List(&Shape::Text)),
    key("retries", Shape::Count),
    maybe("continuations", Shape::Count),
    key("compactions", Shape::Count),
    key("tool_calls", Shape::Count),
    key("background_stopped", Shape::Count),
    maybe("final", Shape::Text),
    maybe("unsynced", Shape::Flag),
];

static DENIAL: &[Key] = &[key("call_id", Shape::Text), key("tool", Shape::Text), key("rule", Shape::Text)];

/// The classes of failure: word, exit codes, whether the same run may succeed later.
pub(super) const CODES: &[(&str, &[u64], bool)] = &[
    ("failed", &[1], false),
    ("usage", &[2], false),
    ("denied", &[3], false),
    ("auth", &[20], false),
    ("model", &[21], false),
    ("request", &[22], false),
    ("context", &[23], false),
    ("rate_limited", &[24], true),
    ("provider", &[25], true),
    ("network", &[26], true),
    ("tls", &[27], false),
    ("stalled", &[28], true),
    ("limit", &[30], false),
    ("empty", &[31], true),
    ("refused", &[32], false),
    ("timeout", &[33], false),
    ("sandbox", &[40], false),
    ("untrusted", &[41], false),
    ("too_large", &[64], false),
    ("data", &[65], false),
    ("noinput", &[66], false),
    ("internal", &[70], false),
    ("os", &[71], false),
    ("cantcreat", &[73], false),
    ("io", &[74], false),
    ("busy", &[75], true),
    ("config", &[78], false),
    ("signal", &[129, 130, 131, 143], false),
];

/// The key of a tool without a key of its own.
pub(super) const FUNCTION: &str = "function";

pub(super) static FUNCTION_CALL: &[Key] = &[key("name", Shape::Text), key("arguments", Shape::Text)];

pub(super) static NAMED_CALL: &[Key] = &[key("args", Shape::AnyObject)];

/// What each tool gives when it succeeds. The page has the first two.
pub(super) static SUCCESSES: &[(&str, &[Key])] = &[
    (
        "readToolCall",
        &[
            key("content", Shape::Text),
            key("isEmpty", Shape::Flag),
            key("exceededLimit", Shape::Flag),
            key("totalLines", Shape::Count),
            key("totalChars", Shape::Count),
        ],
    ),
    (
        "writeToolCall",
        &[key("path", Shape::AbsolutePath), key("linesCreated", Shape::Count), key("fileSize", Shape::Count)],
    ),
    (
        "editToolCall",
        &[
            ours("path", Shape::Text),
            ours("linesAdded", Shape::Count),
            ours("linesRemoved", Shape::Count),
            ours("diffString", Shape::Text),
            ours("message", Shape::Text),
        ],
    ),
    (SHELL, COMMAND),
    (
        "grepToolCall",
        &[
            ours("pattern", Shape::Text),
            ours("path", Shape::Text),
            ours("outputMode", Shape::OpenWord(&["content", "files_with_matches", "count"])),
            ours("workspaceResults", Shape::AnyObject),
        ],
    ),
    (
        "globToolCall",
        &[
            ours("pattern", Shape::Text),
            ours("path", Shape::Text),
            ours("files", Shape::List(&Shape::Text)),
            ours("totalFiles", Shape::Count),
        ],
    ),
    ("lsToolCall", &[ours("directoryTreeRoot", Shape::Object(DIRECTORY))]),
    ("deleteToolCall", &[ours("path", Shape::Text), ours("fileSize", Shape::Count)]),
    ("updateTodosToolCall", &[ours("todos", Shape::List(&Shape::Object(TODO)))]),
    ("webFetchToolCall", &[ours("url", Shape::Text), ours("markdown", Shape::Text)]),
    ("mcpToolCall", &[ours("content", Shape::List(&Shape::AnyObject)), ours("isError", Shape::Flag)]),
    ("taskToolCall", &[ours("conversationSteps", Shape::List(&Shape::Any)), ours("agentId", Shape::Text)]),
];

pub(super) const SHELL: &str = "shellToolCall";

static COMMAND: &[Key] = &[
    ours("command", Shape::Text),
    ours("workingDirectory", Shape::Text),
    ours("exitCode", Shape::Integer),
    maybe("signal", Shape::Text),
    ours("stdout", Shape::Text),
    ours("stderr", Shape::Text),
    ours("interleavedOutput", Shape::Text),
    ours("executionTime", Shape::Count),
];

static DIRECTORY: &[Key] = &[
    ours("absPath", Shape::Text),
    ours("numFiles", Shape::Count),
    ours("childrenFiles", Shape::List(&Shape::Object(FILE))),
    ours("childrenDirs", Shape::List(&Shape::AnyObject)),
];

static FILE: &[Key] = &[key("name", Shape::Text)];

static TODO: &[Key] = &[
    ours("id", Shape::Text),
    ours("content", Shape::Text),
    ours(
        "status",
        Shape::OpenWord(&[
            "TODO_STATUS_PENDING",
            "TODO_STATUS_IN_PROGRESS",
            "TODO_STATUS_COMPLETED",
            "TODO_STATUS_CANCELLED",
        ]),
    ),
];

/// An arm beside `success`: its name, its keys, the tools that have it; none named are all.
pub(super) struct Arm {
    pub(super) name: &'static str,
    pub(super) keys: &'static [Key],
    pub(super) tools: &'static [&'static str],
}

pub(super) static ARMS: &[Arm] = &[
    Arm { name: "failure", keys: COMMAND, tools: &[SHELL] },
    Arm { name: "timeout", keys: &[ours("timeoutMs", Shape::Count)], tools: &[SHELL] },
    Arm { name: "spawnError", keys: &[ours("errorMessage", Shape::Text)], tools: &[SHELL] },
    Arm {
        name: "fileNotFound",
        keys: &[ours("path", Shape::Text)],
        tools: &["readToolCall", "deleteToolCall"],
    },
    Arm {
        name: "permissionDenied",
        keys: &[ours("path", Shape::Text), ours("error", Shape::Text)],
        tools: &[],
    },
    Arm { name: "rejected", keys: &[ours("reason", Shape::Text)], tools: &[] },
    Arm { name: "error", keys: &[ours("errorMessage", Shape::Text)], tools: &[] },
];
