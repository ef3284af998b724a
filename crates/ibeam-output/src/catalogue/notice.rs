//! From a notice to its sentence.

use ibeam_protocol::{LimitKind, Notice};

use super::Catalogue;
use super::message::Message;

/// `catalogue` has the sentence of a reason inside a notice.
pub(crate) fn message_for(notice: &Notice, catalogue: &Catalogue) -> Message {
    match notice {
        Notice::EmbeddedModel { model, unused_key: _ } => {
            Message::new("notice-embedded-model").text("model", model)
        }
        Notice::StdinIgnored { waited_ms } => Message::new("notice-stdin-ignored").seconds(*waited_ms),
        Notice::ArgumentsIgnored { dialect, arguments } => {
            Message::new("notice-arguments-ignored").text("dialect", dialect).text("arguments", arguments)
        }
        Notice::SessionUnsynced => Message::new("notice-session-unsynced"),
        Notice::SessionGaps { count } => Message::new("notice-session-gaps").count("count", *count),
        Notice::SessionLeaseFile { path } => Message::new("notice-session-lease-file").text("path", path),
        Notice::CallsDenied { count, reasons: _ } => {
            Message::new("notice-calls-denied").count("count", *count)
        }
        Notice::UnknownStopReason { word } => Message::new("notice-unknown-stop-reason").text("word", word),
        Notice::AnswerCut => Message::new("notice-answer-cut"),
        Notice::AnswerInterrupted { reason } => {
            Message::new("notice-answer-interrupted").text("message", &catalogue.reason(reason).message)
        }
        Notice::AnswerPaused => Message::new("notice-answer-paused"),
        Notice::EmptyAnswer => Message::new("notice-empty-answer"),
        Notice::RepeatedCall { tool, count } => {
            Message::new("notice-repeated-call").text("tool", tool).count("count", *count)
        }
        Notice::LimitNear { kind, percent } => {
            let id = match kind {
                LimitKind::Turns => "notice-turns-near",
                LimitKind::Tokens => "notice-tokens-near",
                LimitKind::Cost => "notice-cost-near",
                LimitKind::ToolCalls => "notice-calls-near",
                LimitKind::Time => "notice-time-near",
            };
            Message::new(id).count("percent", *percent)
        }
        Notice::UnknownConfigKey { path, key } => {
            Message::new("notice-unknown-config-key").text("path", path).text("key", key)
        }
        Notice::UntrustedConfigKey { path, key } => {
            Message::new("notice-untrusted-config-key").text("path", path).text("key", key)
        }
        Notice::ForbiddenConfigKey { path, key } => {
            Message::new("notice-forbidden-config-key").text("path", path).text("key", key)
        }
        Notice::McpServerFailed { server, detail } => {
            Message::new("notice-mcp-server-failed").text("server", server).text("detail", detail)
        }
        Notice::McpServerUntrusted { server, path } => {
            Message::new("notice-mcp-server-untrusted").text("server", server).text("path", path)
        }
        Notice::McpServerUnsupported { server } => {
            Message::new("notice-mcp-server-unsupported").text("server", server)
        }
        Notice::HookFailed { hook, event, detail } => {
            Message::new("notice-hook-failed").text("hook", hook).text("event", event).text("detail", detail)
        }
        Notice::HooksUntrusted { path } => Message::new("notice-hooks-untrusted").text("path", path),
        Notice::HooksNotRun { path, what } => {
            Message::new("notice-hooks-not-run").text("path", path).text("what", what)
        }
        Notice::TrustChanged { path } => Message::new("notice-trust-changed").text("path", path),
        Notice::TrustNotSaved { path, detail } => {
            Message::new("notice-trust-not-kept").text("path", path).text("detail", detail)
        }
        Notice::TrustUnreadable { path, detail } => {
            Message::new("notice-trust-unreadable").text("path", path).text("detail", detail)
        }
        Notice::RulesLost { path } => Message::new("notice-rules-lost").text("path", path),
        Notice::GitObjectsHidden { path, rule } => {
            Message::new("notice-git-objects-hidden").text("path", path).text("rule", rule)
        }
        Notice::McpToolsChanged { server, tools } => {
            Message::new("notice-mcp-tools-changed").text("server", server).text("tools", tools)
        }
        Notice::BackgroundAwaited { count } => {
            Message::new("notice-background-awaited").count("count", *count)
        }
        Notice::NetworkDenied => Message::new("notice-network-denied"),
        Notice::BackgroundStopped { count } => {
            Message::new("notice-background-stopped").count("count", *count)
        }
    }
}
