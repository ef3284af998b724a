//! From a reason to its sentence. The hints are the attributes `.hint…` of the same message.

use ibeam_protocol::{Reason, Signal};

use super::message::Message;

pub(crate) fn message_for(reason: &Reason) -> Message {
    match reason {
        Reason::Usage { detail } => Message::new("reason-usage").text("detail", detail),
        Reason::CommandUsage { command, detail } => {
            Message::new("reason-command-usage").text("command", command).text("detail", detail)
        }
        Reason::EmptyPrompt => Message::new("reason-empty-prompt"),
        Reason::FormatWithoutPrint => Message::new("reason-format-without-print"),
        Reason::NotText { what } => Message::new("reason-not-text").text("what", what),
        Reason::Unsupported { what } => Message::new("reason-unsupported").text("what", what),
        Reason::NoKey { provider, variable, embedded } => Message::new("reason-no-key")
            .text("provider", provider)
            .text("variable", variable)
            .text("embedded", if *embedded { "yes" } else { "no" }),
        Reason::KeyRefused { provider, detail } => {
            Message::new("reason-key-refused").text("provider", provider).text("detail", detail)
        }
        Reason::UnknownProvider { provider, near: _ } => {
            Message::new("reason-unknown-provider").text("provider", provider)
        }
        Reason::UnknownModel { model, provider: Some(provider), near: _ } => {
            Message::new("reason-unknown-model").text("model", model).text("provider", provider)
        }
        Reason::UnknownModel { model, provider: None, near: _ } => {
            Message::new("reason-model-without-provider").text("model", model)
        }
        Reason::ModelNotInstalled { model, unused_key: _ } => {
            Message::new("reason-model-not-installed").text("model", model)
        }
        Reason::SetupFailed { detail } => Message::new("reason-setup-failed").text("detail", detail),
        Reason::LocalModel { detail } => Message::new("reason-local-model").text("detail", detail),
        Reason::NoLocalEngine => Message::new("reason-no-local-engine"),
        Reason::BadRequest { provider, detail } => {
            Message::new("reason-bad-request").text("provider", provider).text("detail", detail)
        }
        Reason::ContextTooLong { provider, detail } => {
            Message::new("reason-context-too-long").text("provider", provider).text("detail", detail)
        }
        Reason::RateLimited { provider, detail } => {
            Message::new("reason-rate-limited").text("provider", provider).text("detail", detail)
        }
        Reason::ProviderFailed { provider, detail } => {
            Message::new("reason-provider-failed").text("provider", provider).text("detail", detail)
        }
        Reason::AnswerTruncated { provider } => {
            Message::new("reason-answer-truncated").text("provider", provider)
        }
        Reason::Unreachable { address, detail } => {
            Message::new("reason-unreachable").text("address", address).text("detail", detail)
        }
        Reason::Tls { address, detail } => {
            Message::new("reason-tls").text("address", address).text("detail", detail)
        }
        Reason::Stalled { provider, waited_ms } => {
            Message::new("reason-stalled").text("provider", provider).seconds(*waited_ms)
        }
        Reason::AnswerTooSlow { provider, waited_ms } => {
            Message::new("reason-answer-too-slow").text("provider", provider).seconds(*waited_ms)
        }
        Reason::TurnLimit { limit } => Message::new("reason-turn-limit").count("limit", *limit),
        Reason::TokenLimit { limit } => Message::new("reason-token-limit").count("limit", *limit),
        Reason::CostLimit { limit_micros } => {
            Message::new("reason-cost-limit").text("limit", &dollars(*limit_micros))
        }
        Reason::ToolCallLimit { limit } => Message::new("reason-tool-call-limit").count("limit", *limit),
        Reason::LoopGuard { tool, count } => {
            Message::new("reason-loop-guard").text("tool", tool).count("count", *count)
        }
        Reason::EmptyAnswer => Message::new("reason-empty-answer"),
        Reason::OutputLimit => Message::new("reason-output-limit"),
        Reason::AnswerPaused { count } => Message::new("reason-answer-paused").count("count", *count),
        Reason::InvalidArguments { tool, count } => {
            Message::new("reason-invalid-arguments").text("tool", tool).count("count", *count)
        }
        Reason::RefusedWithMessage { message } => {
            Message::new("reason-refused-with-message").text("message", message)
        }
        Reason::Refused => Message::new("reason-refused"),
        Reason::PromptRefused { hook, detail } => {
            Message::new("reason-prompt-refused").text("hook", hook).text("detail", detail)
        }
        Reason::TimedOut { timeout_ms } => Message::new("reason-timed-out").seconds(*timeout_ms),
        Reason::Denied { count } => Message::new("reason-denied").count("count", *count),
        Reason::ToolErrors { count } => Message::new("reason-tool-errors").count("count", *count),
        Reason::BackgroundStopped { count } => {
            Message::new("reason-background-stopped").count("count", *count)
        }
        Reason::NoText => Message::new("reason-no-text"),
        Reason::SessionDamaged { session, line, detail } => Message::new("reason-session-damaged")
            .text("session", session)
            .text("line", &line.to_string())
            .text("detail", detail),
        Reason::UnknownSession { session } => Message::new("reason-unknown-session").text("session", session),
        Reason::UnknownRun { source, run, runs } => {
            Message::new("reason-unknown-run").text("source", source).count("run", *run).count("runs", *runs)
        }
        Reason::StreamDamaged { source, line, detail } => Message::new("reason-stream-damaged")
            .text("source", source)
            .text("line", &line.to_string())
            .text("detail", detail),
        Reason::ReplayedFailure { detail } => Message::new("reason-retold").text("detail", detail),
        Reason::NoSessionToContinue { cwd } => Message::new("reason-no-session-to-continue").text("cwd", cwd),
        Reason::SessionElsewhere { session, cwd } => {
            Message::new("reason-session-elsewhere").text("session", session).text("cwd", cwd)
        }
        Reason::SessionBusy { session, holder } => {
            Message::new("reason-session-busy").text("session", session).text("holder", holder)
        }
        Reason::InputTooLarge { what, limit_bytes } => Message::new("reason-input-too-large")
            .text("what", what)
            .text("megabytes", &(limit_bytes >> 20).to_string()),
        Reason::SessionLeased { session, holder, path } => Message::new("reason-session-leased")
            .text("session", session)
            .text("holder", holder)
            .text("path", path),
        Reason::SessionRemoved { path } => Message::new("reason-session-removed").text("path", path),
        Reason::StdinSilent { waited_ms } => Message::new("reason-stdin-silent").seconds(*waited_ms),
        Reason::WorkspaceGone { path } => Message::new("reason-workspace-gone").text("path", path),
        Reason::NoInput { path, detail } => {
            Message::new("reason-no-input").text("path", path).text("detail", detail)
        }
        Reason::CannotCreate { path, detail } => {
            Message::new("reason-cannot-create").text("path", path).text("detail", detail)
        }
        Reason::NameTaken { path } => Message::new("reason-name-taken").text("path", path),
        Reason::Io { what, detail } => Message::new("reason-io").text("what", what).text("detail", detail),
        Reason::OutputClosed => Message::new("reason-output-closed"),
        Reason::System { what, detail } => {
            Message::new("reason-system").text("what", what).text("detail", detail)
        }
        Reason::NoSandbox { detail } => Message::new("reason-no-sandbox").text("detail", detail),
        Reason::Untrusted { what, path } => {
            Message::new("reason-untrusted").text("what", what).text("path", path)
        }
        Reason::BadConfig { path, line, column, detail } => Message::new("reason-bad-config")
            .text("place", &place(path, *line, *column))
            .text("detail", detail),
        Reason::UnreadableConfig { path, detail } => {
            Message::new("reason-unreadable-config").text("path", path).text("detail", detail)
        }
        Reason::McpServerFailed { server, detail } => {
            Message::new("reason-mcp-server-failed").text("server", server).text("detail", detail)
        }
        Reason::Signalled(signal) => Message::new("reason-signalled").text("signal", signal_name(*signal)),
        Reason::Internal { detail } => Message::new("reason-internal").text("detail", detail),
    }
}

/// `path:line:column`, as far as it is known; editors open it.
fn place(path: &str, line: Option<u64>, column: Option<u64>) -> String {
    [line, column]
        .into_iter()
        .map_while(|number| number)
        .fold(path.to_owned(), |place, number| format!("{place}:{number}"))
}

/// `0.50`; more places only where they say something.
fn dollars(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let places = format!("{part:06}");
    let shown = places.trim_end_matches('0');
    format!("{whole}.{shown:0<2}")
}

fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Hup => "SIGHUP",
        Signal::Int => "SIGINT",
        Signal::Quit => "SIGQUIT",
        Signal::Term => "SIGTERM",
    }
}
