//! The end of a run, good or bad.

use serde::{Deserialize, Serialize};

use crate::describe::{Describe, Shape, contract_object};

contract_object! {
    /// The end of a run that succeeded: the last line.
    pub struct ResultEvent<S: Default = String> type "result" {
        /// How the run ended.
        required subtype("subtype"): ResultSubtype,
        /// How long the run took.
        required duration_ms("duration_ms", unit: "ms"): u64,
        /// Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`.
        required duration_api_ms("duration_api_ms", unit: "ms"): u64,
        /// Always false: a run that failed ends with the line `error`.
        required is_error("is_error", shape: Shape::False): bool,
        /// The texts of all `assistant` lines, in order, with nothing in between.
        required result("result"): S,
        /// The session of the run.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The provider's id of the last request.
        optional request_id("request_id"): Option<S>,
        /// The tokens of the run, where the provider counts them.
        optional usage("usage", is_addition: true): Option<TokenUsage>,
        /// Sums over the run.
        added ibeam("ibeam"): Option<RunSummary<S>>,
    }
}

/// The `subtype` of [`ResultEvent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultSubtype {
    /// The run succeeded.
    #[default]
    Success,
}

impl Describe for ResultSubtype {
    const SHAPE: Shape = Shape::Enum(&["success"]);
}

contract_object! {
    /// The one object that the format `json` prints on stdout, at the end of a run that succeeded.
    pub struct ResultObject<S: Default = String> type "result" {
        /// How the run ended.
        required subtype("subtype"): ResultSubtype,
        /// Always false: a run that failed prints nothing on stdout.
        required is_error("is_error", shape: Shape::False): bool,
        /// How long the run took.
        required duration_ms("duration_ms", unit: "ms"): u64,
        /// Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`.
        required duration_api_ms("duration_api_ms", unit: "ms"): u64,
        /// Every text of the answer, in order, with nothing in between.
        required result("result"): S,
        /// The session of the run, which `--resume` takes.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The provider's id of the last request.
        optional request_id("request_id"): Option<S>,
        /// The tokens of the run, where the provider counts them.
        optional usage("usage", is_addition: true): Option<TokenUsage>,
        /// Sums over the run.
        added ibeam("ibeam"): Option<RunSummary<S>>,
    }
}

contract_object! {
    /// The end of a run that failed: the last line.
    pub struct ErrorEvent<S: Default = String> type "error" {
        /// The class of the failure.
        required code("code", shape: Shape::FailureCode): S,
        /// One sentence for people, in English.
        required message("message"): S,
        /// The exit code of the program.
        required exit_code("exit_code", shape: Shape::Between(1, 255), unit: "exit code"): u8,
        /// Whether the same run may succeed later.
        required retryable("retryable"): bool,
        /// How long the provider asks to wait.
        optional retry_after_ms("retry_after_ms", unit: "ms"): Option<u64>,
        /// The status of the provider's answer.
        optional http_status("http_status", shape: Shape::Between(100, 999), unit: "HTTP status"): Option<u16>,
        /// The provider's id of the request that failed.
        optional request_id("request_id"): Option<S>,
        /// The session of the run; absent where no run had begun.
        optional session_id("session_id", shape: Shape::Uuid): Option<S>,
        /// Sums over the run; absent where no run had begun.
        optional ibeam("ibeam"): Option<RunSummary<S>>,
        /// `--resume` takes up where it ended; absent where no run had begun.
        optional resumable("resumable"): Option<bool>,
        /// The text that was there when it failed.
        optional result("result"): Option<S>,
    }
}

/// The keys of [`ErrorEvent`] that a failure has if a run had begun, all of them, and none of them otherwise.
pub(crate) const KEYS_OF_A_RUN: [&str; 3] = ["session_id", "ibeam", "resumable"];

/// A class of failures.
#[derive(Debug)]
pub struct FailureClass {
    /// The value of `code`.
    pub code: &'static str,
    /// The exit codes of the program.
    pub exit_codes: &'static [u64],
    /// Whether the same run may succeed later.
    pub is_retryable: bool,
}

const fn class(code: &'static str, exit_codes: &'static [u64], is_retryable: bool) -> FailureClass {
    FailureClass { code, exit_codes, is_retryable }
}

/// The classes of failures.
pub const FAILURE_CLASSES: &[FailureClass] = &[
    class("failed", &[1], false),
    class("usage", &[2], false),
    class("denied", &[3], false),
    class("auth", &[20], false),
    class("model", &[21], false),
    class("request", &[22], false),
    class("context", &[23], false),
    class("rate_limited", &[24], true),
    class("provider", &[25], true),
    class("network", &[26], true),
    class("tls", &[27], false),
    class("stalled", &[28], true),
    class("limit", &[30], false),
    class("empty", &[31], true),
    class("refused", &[32], false),
    class("timeout", &[33], false),
    class("sandbox", &[40], false),
    class("untrusted", &[41], false),
    class("too_large", &[64], false),
    class("data", &[65], false),
    class("noinput", &[66], false),
    class("internal", &[70], false),
    class("os", &[71], false),
    class("cantcreat", &[73], false),
    class("io", &[74], false),
    class("busy", &[75], true),
    class("config", &[78], false),
    class("signal", &[129, 130, 131, 143], false),
];

contract_object! {
    /// The tokens of a run, all requests together.
    pub struct TokenUsage {
        /// Tokens of prompts, without those read from or written to the provider's cache.
        required input_tokens("inputTokens", unit: "tokens"): u64,
        /// Tokens of answers.
        required output_tokens("outputTokens", unit: "tokens"): u64,
        /// Tokens of prompts that the provider read from its cache.
        required cache_read_tokens("cacheReadTokens", unit: "tokens"): u64,
        /// Tokens of prompts that the provider wrote to its cache.
        required cache_write_tokens("cacheWriteTokens", unit: "tokens"): u64,
    }
}

contract_object! {
    /// Sums over a run.
    pub struct RunSummary<S: Default = String> {
        /// Requests that the model answered.
        expected turns("turns", unit: "count"): u64,
        /// The time spent waiting for the model.
        expected api_ms("api_ms", unit: "ms"): u64,
        /// What the run cost, where the price of the model is known.
        optional cost_usd("cost_usd", unit: "USD"): Option<f64>,
        /// The calls that were refused.
        expected permission_denials("permission_denials"): Vec<DenialEntry<S>>,
        /// The calls that failed; those that were refused are not counted.
        expected failed_tool_calls("failed_tool_calls", unit: "count"): u64,
        /// The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change.
        expected files_changed("files_changed"): Vec<S>,
        /// Requests that were sent again.
        expected retries("retries", unit: "count"): u64,
        /// Answers that were interrupted in their text and continued by another request; absent where there was none.
        optional continuations("continuations", unit: "count"): u64,
        /// How often the conversation was shortened.
        expected compactions("compactions", unit: "count"): u64,
        /// The calls of tools that were started.
        expected tool_calls("tool_calls", unit: "count"): u64,
        /// The commands that still ran in the background at the end, and were stopped.
        expected background_stopped("background_stopped", unit: "count"): u64,
        /// The final message: the text after the last call, which is the end of `result`; absent where the run failed.
        optional final_message("final"): Option<S>,
        /// Present where the end did not wait for the disk: a resumed session may lack its last records.
        optional unsynced("unsynced", shape: Shape::True): bool,
    }
}

contract_object! {
    /// A call that was refused.
    pub struct DenialEntry<S: Default = String> {
        /// The call's id.
        required call_id("call_id"): S,
        /// The tool it was for.
        required tool("tool"): S,
        /// The rule that refused it.
        required rule("rule"): S,
    }
}
