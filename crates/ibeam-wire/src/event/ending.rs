//! The end of a run, good or bad.

use serde::Deserialize;

/// `result`/`success`: the last event of a run that succeeded, and the one object of `json`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ResultEvent {
    /// Milliseconds from start to end. Published.
    pub duration_ms: u64,
    /// The same figure as `duration_ms`; the time spent on the model is `ibeam.api_ms`. Published.
    pub duration_api_ms: u64,
    /// `false`. Published.
    pub is_error: bool,
    /// Every text of the assistant, put together. Published.
    pub result: String,
    /// A UUID, the same in every event of the run; what `--resume` takes. Published.
    pub session_id: String,
    /// The provider's id of the last request. Published.
    pub request_id: Option<String>,
    /// Tokens of the whole run. Since 0.1.0.
    pub usage: Option<TokenUsage>,
    /// What ibeam adds; absent in a stream of another program. Since 0.1.0.
    pub ibeam: Option<RunSummary>,
}

/// `error`: the last event of a run that failed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ErrorEvent {
    /// The class of the failure, e.g. `rate_limited`. Since 0.1.0.
    pub code: String,
    /// One English sentence. Since 0.1.0.
    pub message: String,
    /// The exit code of the program. Since 0.1.0.
    pub exit_code: u8,
    /// The same run may succeed later. Since 0.1.0.
    pub retryable: bool,
    /// Milliseconds that the provider asks to wait. Since 0.1.0.
    pub retry_after_ms: Option<u64>,
    /// The provider's HTTP status. Since 0.1.0.
    pub http_status: Option<u16>,
    /// The provider's id of the failed request. Since 0.1.0.
    pub request_id: Option<String>,
    /// As in [`ResultEvent`]; absent on stderr where no run had begun. Since 0.1.0.
    pub session_id: Option<String>,
    /// As in [`ResultEvent`]. Since 0.1.0.
    pub ibeam: Option<RunSummary>,
    /// `--resume` takes the session up. Since 0.1.0.
    pub resumable: Option<bool>,
    /// The text that was there when the run failed; absent where there was none. Since 0.1.0.
    pub result: Option<String>,
}

/// Tokens, in four classes that do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenUsage {
    /// Of prompts, without those read from or written to the provider's cache. Since 0.1.0.
    pub input_tokens: u64,
    /// Of answers. Since 0.1.0.
    pub output_tokens: u64,
    /// Read from the provider's cache. Since 0.1.0.
    pub cache_read_tokens: u64,
    /// Written to the provider's cache. Since 0.1.0.
    pub cache_write_tokens: u64,
}

/// `ibeam` in `result` and `error`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunSummary {
    /// Model requests that were answered. Since 0.1.0.
    pub turns: u64,
    /// Milliseconds spent waiting for the model. Since 0.1.0.
    pub api_ms: u64,
    /// US dollars, where the price of the model is known. Since 0.1.0.
    pub cost_usd: Option<f64>,
    /// Calls that were refused. Since 0.1.0.
    pub permission_denials: Vec<DenialEntry>,
    /// Calls that failed. Since 0.1.0.
    pub failed_tool_calls: u64,
    /// Absolute paths. Since 0.1.0.
    pub files_changed: Vec<String>,
    /// Requests that were repeated. Since 0.1.0.
    pub retries: u64,
    /// Answers that were interrupted in their text and continued by another request. Since 0.1.0.
    pub continuations: u64,
    /// Times the conversation was shortened. Since 0.1.0.
    pub compactions: u64,
    /// Calls. Since 0.1.0.
    pub tool_calls: u64,
    /// Background commands that still ran at the end and were stopped. Since 0.1.0.
    pub background_stopped: u64,
    /// The final message: the text after the last call; absent where the run failed. Since 0.1.0.
    #[serde(rename = "final")]
    pub final_message: Option<String>,
    /// The end did not wait for the disk: a resumed session may lack its last records. Since 0.1.0.
    pub unsynced: bool,
}

/// A call that was refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct DenialEntry {
    /// As in the events of the call. Since 0.1.0.
    pub call_id: String,
    /// The tool, e.g. `shell`. Since 0.1.0.
    pub tool: String,
    /// The rule that refused it, e.g. `Shell(rm)`. Since 0.1.0.
    pub rule: String,
}
