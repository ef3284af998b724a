//! The events that end a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::describe::{Describe, Shape, contract_object};

contract_object! {
    /// The end of a successful run: the last line.
    pub struct ResultEvent<S: Default = String> type "result" {
        /// The outcome of the run.
        required subtype("subtype"): ResultSubtype,
        /// The duration of the run.
        required duration_ms("duration_ms", unit: "ms"): u64,
        /// Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`.
        required duration_api_ms("duration_api_ms", unit: "ms"): u64,
        /// Always false: a failed run ends with an `error` line.
        required is_error("is_error", shape: Shape::False): bool,
        /// The concatenation of the texts of all `assistant` lines, in order.
        required result("result"): S,
        /// The id of the session.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The provider's id of the last request.
        optional request_id("request_id"): Option<S>,
        /// The tokens of the run, if the provider counts them.
        optional usage("usage", is_addition: true): Option<TokenUsage>,
        /// Totals of the run.
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
    /// The one object that the format `json` prints on stdout at the end of a successful run.
    pub struct ResultObject<S: Default = String> type "result" {
        /// The outcome of the run.
        required subtype("subtype"): ResultSubtype,
        /// Always false: a failed run prints nothing on stdout.
        required is_error("is_error", shape: Shape::False): bool,
        /// The duration of the run.
        required duration_ms("duration_ms", unit: "ms"): u64,
        /// Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`.
        required duration_api_ms("duration_api_ms", unit: "ms"): u64,
        /// The concatenation of all texts of the answer, in order.
        required result("result"): S,
        /// The id of the session, for `--resume`.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The provider's id of the last request.
        optional request_id("request_id"): Option<S>,
        /// The tokens of the run, if the provider counts them.
        optional usage("usage", is_addition: true): Option<TokenUsage>,
        /// Totals of the run.
        added ibeam("ibeam"): Option<RunSummary<S>>,
    }
}

contract_object! {
    /// The end of a failed run: the last line.
    pub struct ErrorEvent<S: Default = String> type "error" {
        /// The class of the failure.
        required code("code", shape: Shape::FailureCode): S,
        /// The message for people: one English sentence.
        required message("message"): S,
        /// The exit code of the program.
        required exit_code("exit_code", shape: Shape::Between(1, 255), unit: "exit code"): u8,
        /// Whether the same run may succeed later.
        required retryable("retryable"): bool,
        /// The delay that the provider requests before a retry.
        optional retry_after_ms("retry_after_ms", unit: "ms"): Option<u64>,
        /// The status of the provider's response.
        optional http_status("http_status", shape: Shape::Between(100, 999), unit: "HTTP status"): Option<u16>,
        /// The provider's id of the failed request.
        optional request_id("request_id"): Option<S>,
        /// The id of the session; absent if no run had started.
        optional session_id("session_id", shape: Shape::Uuid): Option<S>,
        /// Totals of the run; absent if no run had started.
        optional ibeam("ibeam"): Option<RunSummary<S>>,
        /// Whether `--resume` can continue the run; absent if no run had started.
        optional resumable("resumable"): Option<bool>,
        /// The text of the answer up to the failure.
        optional result("result"): Option<S>,
    }
}

/// The keys of [`ErrorEvent`] that are all present if a run had started, and all absent otherwise.
pub(crate) const RUN_KEYS: [&str; 3] = ["session_id", "ibeam", "resumable"];

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
    class("parked", &[79], false),
    class("signal", &[129, 130, 131, 143], false),
];

contract_object! {
    /// The tokens of all requests of a run.
    pub struct TokenUsage {
        /// Input tokens that were neither read from nor written to the provider's cache.
        required input_tokens("inputTokens", unit: "tokens"): u64,
        /// Output tokens.
        required output_tokens("outputTokens", unit: "tokens"): u64,
        /// Input tokens read from the provider's cache.
        required cache_read_tokens("cacheReadTokens", unit: "tokens"): u64,
        /// Input tokens written to the provider's cache.
        required cache_write_tokens("cacheWriteTokens", unit: "tokens"): u64,
    }
}

contract_object! {
    /// Totals of a run.
    pub struct RunSummary<S: Default = String> {
        /// The number of model requests that were answered.
        expected turns("turns", unit: "count"): u64,
        /// The time spent waiting for the model.
        expected api_ms("api_ms", unit: "ms"): u64,
        /// The cost of the run, if the price of the model is known.
        optional cost_usd("cost_usd", unit: "USD"): Option<f64>,
        /// The refused calls.
        expected permission_denials("permission_denials"): Vec<DenialEntry<S>>,
        /// The number of failed calls, without refused ones.
        expected failed_tool_calls("failed_tool_calls", unit: "count"): u64,
        /// The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change.
        expected files_changed("files_changed"): Vec<S>,
        /// The number of repeated requests.
        expected retries("retries", unit: "count"): u64,
        /// The number of interrupted answers that another request continued; absent if there were none.
        optional continuations("continuations", unit: "count"): u64,
        /// The number of compactions of the conversation.
        expected compactions("compactions", unit: "count"): u64,
        /// The number of started tool calls.
        expected tool_calls("tool_calls", unit: "count"): u64,
        /// The number of background commands that still ran at the end and were stopped.
        expected background_stopped("background_stopped", unit: "count"): u64,
        /// The background commands that ended by themselves, in the order of their ends; absent if there were none.
        optional background_ended("background_ended"): Vec<BackgroundEndEntry<S>>,
        /// The final message: the text after the last call, at the end of `result`; absent if the run failed.
        optional final_message("final"): Option<S>,
        /// The final message as a value; only with `--json-schema`, and absent if the run failed.
        optional structured("structured"): Option<Value>,
        /// Present and true if the run ended before its session was synced to disk: the last records may be lost.
        optional unsynced("unsynced", shape: Shape::True): bool,
        /// The requests, tokens and cost of each model, in the order of the first request; absent if nothing was requested.
        optional models("models"): Vec<ModelUsage<S>>,
        /// The changes of the model, in their order; absent if there were none.
        optional fallbacks("fallbacks"): Vec<FallbackEntry<S>>,
        /// The level of reasoning that was used, if the model does not accept the one of `--effort`; otherwise absent.
        optional effort_used("effort_used"): Option<S>,
    }
}

contract_object! {
    /// The end of a background command that ended by itself.
    pub struct BackgroundEndEntry<S: Default = String> {
        /// The call that started it.
        required call_id("call_id"): S,
        /// The command.
        required command("command"): S,
        /// The exit code; 128 + number for a signal.
        required exit_code("exit_code", unit: "exit code"): i32,
    }
}

contract_object! {
    /// A change to another model, because a model was overloaded or a quota was exhausted.
    pub struct FallbackEntry<S: Default = String> {
        /// The model that was unavailable, as `PROVIDER/ID`.
        required from_model("from_model"): S,
        /// The model that took over, as `PROVIDER/ID`.
        required to_model("to_model"): S,
        /// The class of the last failure of the unavailable model.
        required code("code", shape: Shape::FailureCode): S,
        /// The failure for people: one English sentence.
        required message("message"): S,
    }
}

contract_object! {
    /// The requests of the run to one model. Failed requests, and requests for summaries and corrections, are included.
    pub struct ModelUsage<S: Default = String> {
        /// The model as `PROVIDER/ID`, the form that `--model` takes.
        required model("model"): S,
        /// The number of requests that were answered.
        required requests("requests", unit: "count"): u64,
        /// The number of requests that failed, whether they were retried or not.
        required failed_requests("failed_requests", unit: "count"): u64,
        /// The number of answers without token counts; absent if there were none.
        optional uncounted_requests("uncounted_requests", unit: "count"): u64,
        /// The tokens, as far as the provider reported them; absent if it reported none.
        optional usage("usage"): Option<ModelTokens>,
        /// The cost of these tokens, rounded up to millionths for each request; absent if the price is unknown.
        optional cost_usd("cost_usd", unit: "USD"): Option<f64>,
        /// The cost of each class of tokens, not rounded; absent if the price is unknown.
        optional cost_by_class("cost_by_class"): Option<ModelCosts>,
    }
}

contract_object! {
    /// The tokens of the requests to one model.
    pub struct ModelTokens {
        /// Input tokens that were neither read from nor written to the provider's cache.
        required input_tokens("inputTokens", unit: "tokens"): u64,
        /// Output tokens, reasoning included.
        required output_tokens("outputTokens", unit: "tokens"): u64,
        /// Input tokens read from the provider's cache.
        required cache_read_tokens("cacheReadTokens", unit: "tokens"): u64,
        /// Input tokens written to the provider's cache.
        required cache_write_tokens("cacheWriteTokens", unit: "tokens"): u64,
        /// The part of the output tokens that was reasoning, as far as the provider reports it.
        required reasoning_tokens("reasoningTokens", unit: "tokens"): u64,
    }
}

contract_object! {
    /// The cost of the tokens of one model by class.
    pub struct ModelCosts {
        /// The cost of `inputTokens`.
        required input_usd("input_usd", unit: "USD"): f64,
        /// The cost of `outputTokens`.
        required output_usd("output_usd", unit: "USD"): f64,
        /// The cost of `cacheReadTokens`.
        required cache_read_usd("cache_read_usd", unit: "USD"): f64,
        /// The cost of `cacheWriteTokens`.
        required cache_write_usd("cache_write_usd", unit: "USD"): f64,
        /// The part of `output_usd` that was for reasoning.
        required reasoning_usd("reasoning_usd", unit: "USD"): f64,
    }
}

contract_object! {
    /// A refused call.
    pub struct DenialEntry<S: Default = String> {
        /// The id of the call.
        required call_id("call_id"): S,
        /// The tool of the call.
        required tool("tool"): S,
        /// The rule that refused the call.
        required rule("rule"): S,
    }
}
