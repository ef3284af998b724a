//! From a notice to its sentence.

use ibeam_protocol::{LimitKind, Notice};

use super::Catalogue;
use super::words::Words;

/// `catalogue` has the sentence of a reason inside a notice.
pub(crate) fn words(notice: &Notice, catalogue: &Catalogue) -> Words {
    match notice {
        Notice::EmbeddedModel { model, unused_key: _ } => {
            Words::new("notice-embedded-model").text("model", model)
        }
        Notice::StdinIgnored { waited_ms } => Words::new("notice-stdin-ignored").seconds(*waited_ms),
        Notice::ArgumentsIgnored { dialect, arguments } => {
            Words::new("notice-arguments-ignored").text("dialect", dialect).text("arguments", arguments)
        }
        Notice::SessionUnsynced => Words::new("notice-session-unsynced"),
        Notice::SessionGaps { count } => Words::new("notice-session-gaps").count("count", *count),
        Notice::SessionLeaseFile { path } => Words::new("notice-session-lease-file").text("path", path),
        Notice::CallsDenied { count, reasons: _ } => Words::new("notice-calls-denied").count("count", *count),
        Notice::UnknownStopReason { word } => Words::new("notice-unknown-stop-reason").text("word", word),
        Notice::AnswerCut => Words::new("notice-answer-cut"),
        Notice::AnswerInterrupted { reason } => {
            Words::new("notice-answer-interrupted").text("message", &catalogue.reason(reason).message)
        }
        Notice::AnswerPaused => Words::new("notice-answer-paused"),
        Notice::EmptyAnswer => Words::new("notice-empty-answer"),
        Notice::RepeatedCall { tool, count } => {
            Words::new("notice-repeated-call").text("tool", tool).count("count", *count)
        }
        Notice::LimitNear { kind, percent } => {
            let id = match kind {
                LimitKind::Turns => "notice-turns-near",
                LimitKind::Tokens => "notice-tokens-near",
                LimitKind::Cost => "notice-cost-near",
                LimitKind::ToolCalls => "notice-calls-near",
                LimitKind::Time => "notice-time-near",
            };
            Words::new(id).count("percent", *percent)
        }
        Notice::UnknownConfigKey { path, key } => {
            Words::new("notice-unknown-config-key").text("path", path).text("key", key)
        }
        Notice::UntrustedConfigKey { path, key } => {
            Words::new("notice-untrusted-config-key").text("path", path).text("key", key)
        }
        Notice::ForbiddenConfigKey { path, key } => {
            Words::new("notice-forbidden-config-key").text("path", path).text("key", key)
        }
        Notice::McpServerFailed { server, detail } => {
            Words::new("notice-mcp-server-failed").text("server", server).text("detail", detail)
        }
        Notice::McpServerUntrusted { server, path } => {
            Words::new("notice-mcp-server-untrusted").text("server", server).text("path", path)
        }
        Notice::McpServerUnsupported { server } => {
            Words::new("notice-mcp-server-unsupported").text("server", server)
        }
        Notice::HookFailed { hook, event, detail } => {
            Words::new("notice-hook-failed").text("hook", hook).text("event", event).text("detail", detail)
        }
        Notice::HooksUntrusted { path } => Words::new("notice-hooks-untrusted").text("path", path),
        Notice::HooksNotRun { path, what } => {
            Words::new("notice-hooks-not-run").text("path", path).text("what", what)
        }
        Notice::TrustChanged { path } => Words::new("notice-trust-changed").text("path", path),
        Notice::TrustNotSaved { path, detail } => {
            Words::new("notice-trust-not-kept").text("path", path).text("detail", detail)
        }
        Notice::TrustUnreadable { path, detail } => {
            Words::new("notice-trust-unreadable").text("path", path).text("detail", detail)
        }
        Notice::RulesLost { path } => Words::new("notice-rules-lost").text("path", path),
        Notice::GitObjectsHidden { path, rule } => {
            Words::new("notice-git-objects-hidden").text("path", path).text("rule", rule)
        }
        Notice::McpToolsChanged { server, tools } => {
            Words::new("notice-mcp-tools-changed").text("server", server).text("tools", tools)
        }
        Notice::BackgroundAwaited { count } => Words::new("notice-background-awaited").count("count", *count),
        Notice::NetworkDenied => Words::new("notice-network-denied"),
        Notice::BackgroundStopped { count } => Words::new("notice-background-stopped").count("count", *count),
    }
}
