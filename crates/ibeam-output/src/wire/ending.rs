//! How a run ended: the `json` object, the `error` line, and what `ibeam` sums up.

use ibeam_protocol::run::Denial;
use ibeam_protocol::{Failure, FailureCode, RunFinished, RunTotals, SessionId, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use super::schemas::{FailureWord, Uuid};
use super::{Line, LossyPath, Subtype, write_line};

/// The one object that the format `json` prints on stdout, at the end of a run that succeeded.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "result")]
pub(crate) struct JsonResult<'a> {
    /// How the run ended.
    #[schemars(with = "String", extend("const" = "success"))]
    pub(crate) subtype: Subtype,
    /// Always false: a run that failed prints nothing on stdout.
    #[schemars(extend("const" = false))]
    pub(crate) is_error: bool,
    /// How long the run took.
    #[schemars(extend("x-unit" = "ms"))]
    pub(crate) duration_ms: u64,
    /// Equals `duration_ms`; the time spent waiting for the model is `ibeam.api_ms`.
    #[schemars(extend("x-unit" = "ms"))]
    pub(crate) duration_api_ms: u64,
    /// Every text of the answer, in order, with nothing in between.
    pub(crate) result: &'a str,
    /// The session of the run, which `--resume` takes.
    #[schemars(with = "Uuid")]
    pub(crate) session_id: SessionId,
    /// The provider's id of the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<&'a str>,
    /// The tokens of the run, where the provider counts them.
    #[schemars(extend("x-origin" = "ibeam"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<TokenUsage>,
    /// Sums over the run.
    #[schemars(extend("x-origin" = "ibeam"))]
    pub(crate) ibeam: RunSummary<'a>,
}

/// What a failed run tells: the last line of its stream, and the object of `--error-format json` and `--error-file`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorLine<'a> {
    /// The class of the failure.
    #[schemars(with = "FailureWord")]
    code: &'static str,
    /// One sentence for people, in English.
    message: &'a str,
    /// The exit code of the program.
    #[schemars(range(min = 1), extend("x-unit" = "exit code"))]
    exit_code: u8,
    /// Whether the same run may succeed later.
    retryable: bool,
    /// How long the provider asks to wait.
    #[schemars(extend("x-unit" = "ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// The status of the provider's answer.
    #[schemars(range(min = 100, max = 999), extend("x-unit" = "HTTP status"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    /// The provider's id of the request that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    /// The session of the run; absent where no run had begun.
    #[schemars(with = "Option<Uuid>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    /// Sums over the run; absent where no run had begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    ibeam: Option<RunSummary<'a>>,
    /// `--resume` takes up where it ended; absent where no run had begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumable: Option<bool>,
    /// The text that was there when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

impl<'a> ErrorLine<'a> {
    /// `message` is the English sentence, `said` the text until then; without a run there is neither a session nor a
    /// summary.
    pub(crate) fn new(
        failure: &'a Failure,
        message: &'a str,
        run: Option<&'a RunFinished>,
        said: Option<&'a str>,
    ) -> Self {
        let Failure { reason, http_status, request_id, retry_after_ms } = failure;
        Self {
            retry_after_ms: *retry_after_ms,
            http_status: *http_status,
            request_id: request_id.as_deref(),
            session_id: run.map(|run| run.session_id),
            ibeam: run.map(|run| RunSummary::new(&run.totals, None)),
            resumable: run.map(|run| reason.is_resumable() && !run.ephemeral),
            result: said.filter(|said| !said.is_empty()),
            ..Self::without_run(reason.code(), message)
        }
    }

    /// Returns the line of a failure without a provider and a run.
    fn without_run(code: FailureCode, message: &'a str) -> Self {
        Self {
            code: code.as_str(),
            message,
            exit_code: code.exit_code(),
            retryable: code.is_retryable(),
            retry_after_ms: None,
            http_status: None,
            request_id: None,
            session_id: None,
            ibeam: None,
            resumable: None,
            result: None,
        }
    }
}

/// The `error` object as one line without its end, for `--error-format json`.
///
/// Without a run there is neither `session_id` nor `ibeam`. The message is English whatever the locale.
pub fn error_object(failure: &Failure, run: Option<&RunFinished>) -> String {
    let message = crate::catalogue::english().failure(failure).message;
    let text = run.and_then(|run| run.partial.as_deref());
    error_line(ErrorLine::new(failure, &message, run, text))
}

/// Returns the `error` object of an error that only a command reports, as [`error_object`] does.
pub fn cli_error_object(code: FailureCode, error: &impl Serialize) -> String {
    let message = crate::catalogue::english().cli_error(error).message;
    error_line(ErrorLine::without_run(code, &message))
}

fn error_line(line: ErrorLine<'_>) -> String {
    let mut bytes = Vec::new();
    match write_line(&mut bytes, &Line::Error(line)) {
        Ok(()) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
        // Strings and integers always serialise; an empty object is still an object.
        Err(_) => "{}".to_owned(),
    }
}

/// The tokens of a run, all requests together.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsage {
    /// Tokens of prompts, without those read from or written to the provider's cache.
    #[schemars(extend("x-unit" = "tokens"))]
    input_tokens: u64,
    /// Tokens of answers.
    #[schemars(extend("x-unit" = "tokens"))]
    output_tokens: u64,
    /// Tokens of prompts that the provider read from its cache.
    #[schemars(extend("x-unit" = "tokens"))]
    cache_read_tokens: u64,
    /// Tokens of prompts that the provider wrote to its cache.
    #[schemars(extend("x-unit" = "tokens"))]
    cache_write_tokens: u64,
}

impl From<Usage> for TokenUsage {
    fn from(Usage { input, output, cache_read, cache_write }: Usage) -> Self {
        Self {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
        }
    }
}

/// Sums over a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunSummary<'a> {
    /// Requests that the model answered.
    #[schemars(extend("x-unit" = "count"))]
    turns: u32,
    /// The time spent waiting for the model.
    #[schemars(extend("x-unit" = "ms"))]
    api_ms: u64,
    /// What the run cost, where the price of the model is known.
    #[schemars(range(min = 0), extend("x-unit" = "USD"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    /// The calls that were refused.
    permission_denials: Vec<DenialEntry<'a>>,
    /// The calls that failed; those that were refused are not counted.
    #[schemars(extend("x-unit" = "count"))]
    failed_tool_calls: u32,
    /// The absolute paths that tools wrote, changed or deleted, each once, in the order of their first change.
    files_changed: Vec<LossyPath<'a>>,
    /// Requests that were sent again.
    #[schemars(extend("x-unit" = "count"))]
    retries: u32,
    /// Answers that were interrupted in their text and continued by another request; absent where there was none.
    #[schemars(extend("x-unit" = "count"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    continuations: Option<u32>,
    /// How often the conversation was shortened.
    #[schemars(extend("x-unit" = "count"))]
    compactions: u32,
    /// The calls of tools that were started.
    #[schemars(extend("x-unit" = "count"))]
    tool_calls: u32,
    /// The commands that still ran in the background at the end, and were stopped.
    #[schemars(extend("x-unit" = "count"))]
    background_stopped: u32,
    /// The final message: the text after the last call, which is the end of `result`; absent where the run failed.
    #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
    final_message: Option<&'a str>,
    /// Present where the end did not wait for the disk: a resumed session may lack its last records.
    #[schemars(extend("const" = true))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unsynced: bool,
}

impl<'a> RunSummary<'a> {
    /// `final_message` is the text after the last call of a run that succeeded.
    pub(crate) fn new(totals: &'a RunTotals, final_message: Option<&'a str>) -> Self {
        Self {
            turns: totals.turns,
            api_ms: totals.api_ms,
            cost_usd: totals.cost_micros.map(super::init::dollars),
            permission_denials: totals.denials.iter().map(DenialEntry::new).collect(),
            failed_tool_calls: totals.failed_tool_calls,
            files_changed: totals.files_changed.iter().map(|path| LossyPath(path)).collect(),
            retries: totals.retries,
            continuations: Some(totals.continuations).filter(|count| *count > 0),
            compactions: totals.compactions,
            tool_calls: totals.tool_calls,
            background_stopped: totals.background_stopped,
            final_message,
            unsynced: totals.unsynced,
        }
    }
}

/// A call that was refused.
#[derive(Serialize, JsonSchema)]
struct DenialEntry<'a> {
    /// The call's id.
    call_id: &'a str,
    /// The tool it was for.
    tool: &'a str,
    /// The rule that refused it.
    rule: &'a str,
}

impl<'a> DenialEntry<'a> {
    fn new(denial: &'a Denial) -> Self {
        Self { call_id: denial.call_id.as_str(), tool: &denial.tool, rule: &denial.rule }
    }
}
