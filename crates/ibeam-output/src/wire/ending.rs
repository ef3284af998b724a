//! How a run ended: the `json` object, the `error` line, and what `ibeam` sums up.

use ibeam_protocol::run::Denial;
use ibeam_protocol::{Failure, RunFinished, RunTotals, SessionId, Usage};
use serde::Serialize;

use super::{Line, LossyPath, Subtype, write_line};

/// The one object of `json`, on success.
#[derive(Serialize)]
#[serde(tag = "type", rename = "result")]
pub(crate) struct JsonResult<'a> {
    pub(crate) subtype: Subtype,
    pub(crate) is_error: bool,
    pub(crate) duration_ms: u64,
    pub(crate) duration_api_ms: u64,
    pub(crate) result: &'a str,
    pub(crate) session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<TokenUsage>,
    pub(crate) ibeam: RunSummary<'a>,
}

/// The last line of a failed run.
#[derive(Serialize)]
pub(crate) struct ErrorLine<'a> {
    code: &'static str,
    message: &'a str,
    exit_code: u8,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
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
        let code = reason.code();
        Self {
            code: code.as_str(),
            message,
            exit_code: code.exit_code(),
            retryable: code.retryable(),
            retry_after_ms: *retry_after_ms,
            http_status: *http_status,
            request_id: request_id.as_deref(),
            session_id: run.map(|run| run.session_id),
            ibeam: run.map(|run| RunSummary::new(&run.totals)),
            resumable: run.map(|_| code.leaves_session()),
            result: said.filter(|said| !said.is_empty()),
        }
    }
}

/// The `error` object as one line without its end, for `--error-format json`.
///
/// Without a run there is neither `session_id` nor `ibeam`. The message is English whatever the locale.
pub fn error_object(failure: &Failure, run: Option<&RunFinished>) -> String {
    let message = crate::catalogue::english().reason(&failure.reason).message;
    let said = run.and_then(|run| run.partial.as_deref());
    let mut bytes = Vec::new();
    match write_line(&mut bytes, &Line::Error(ErrorLine::new(failure, &message, run, said))) {
        Ok(()) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
        // Strings and integers always serialise; an empty object is still an object.
        Err(_) => "{}".to_owned(),
    }
}

/// `usage`, in the order of the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
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

/// `ibeam` in `result` and `error`.
#[derive(Serialize)]
pub(crate) struct RunSummary<'a> {
    turns: u32,
    api_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    permission_denials: Vec<DenialEntry<'a>>,
    failed_tool_calls: u32,
    files_changed: Vec<LossyPath<'a>>,
    retries: u32,
    compactions: u32,
    tool_calls: u32,
    background_stopped: u32,
}

impl<'a> RunSummary<'a> {
    pub(crate) fn new(totals: &'a RunTotals) -> Self {
        Self {
            turns: totals.turns,
            api_ms: totals.api_ms,
            cost_usd: totals.cost_micros.map(super::init::dollars),
            permission_denials: totals.denials.iter().map(DenialEntry::new).collect(),
            failed_tool_calls: totals.failed_tool_calls,
            files_changed: totals.files_changed.iter().map(|path| LossyPath(path)).collect(),
            retries: totals.retries,
            compactions: totals.compactions,
            tool_calls: totals.tool_calls,
            background_stopped: totals.background_stopped,
        }
    }
}

#[derive(Serialize)]
struct DenialEntry<'a> {
    call_id: &'a str,
    tool: &'a str,
    rule: &'a str,
}

impl<'a> DenialEntry<'a> {
    fn new(denial: &'a Denial) -> Self {
        Self { call_id: denial.call_id.as_str(), tool: &denial.tool, rule: &denial.rule }
    }
}
