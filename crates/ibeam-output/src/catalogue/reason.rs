//! From a reason to its sentence. The hints are the attributes `.hint…` of the same message.

use ibeam_protocol::{Reason, Signal};

use super::words::Words;

pub(crate) fn words(reason: &Reason) -> Words {
    match reason {
        Reason::Usage { detail } => Words::new("reason-usage").text("detail", detail),
        Reason::CommandUsage { command, detail } => {
            Words::new("reason-command-usage").text("command", command).text("detail", detail)
        }
        Reason::EmptyPrompt => Words::new("reason-empty-prompt"),
        Reason::FormatWithoutPrint => Words::new("reason-format-without-print"),
        Reason::NotText { what } => Words::new("reason-not-text").text("what", what),
        Reason::Unsupported { what } => Words::new("reason-unsupported").text("what", what),
        Reason::NoKey { provider, variable, embedded } => Words::new("reason-no-key")
            .text("provider", provider)
            .text("variable", variable)
            .text("embedded", if *embedded { "yes" } else { "no" }),
        Reason::KeyRefused { provider, detail } => {
            Words::new("reason-key-refused").text("provider", provider).text("detail", detail)
        }
        Reason::UnknownProvider { provider, near: _ } => {
            Words::new("reason-unknown-provider").text("provider", provider)
        }
        Reason::UnknownModel { model, provider: Some(provider), near: _ } => {
            Words::new("reason-unknown-model").text("model", model).text("provider", provider)
        }
        Reason::UnknownModel { model, provider: None, near: _ } => {
            Words::new("reason-model-without-provider").text("model", model)
        }
        Reason::ModelNotInstalled { model, unused_key: _ } => {
            Words::new("reason-model-not-installed").text("model", model)
        }
        Reason::SetupFailed { detail } => Words::new("reason-setup-failed").text("detail", detail),
        Reason::LocalModel { detail } => Words::new("reason-local-model").text("detail", detail),
        Reason::NoLocalEngine => Words::new("reason-no-local-engine"),
        Reason::BadRequest { provider, detail } => {
            Words::new("reason-bad-request").text("provider", provider).text("detail", detail)
        }
        Reason::ContextTooLong { provider, detail } => {
            Words::new("reason-context-too-long").text("provider", provider).text("detail", detail)
        }
        Reason::RateLimited { provider, detail } => {
            Words::new("reason-rate-limited").text("provider", provider).text("detail", detail)
        }
        Reason::ProviderFailed { provider, detail } => {
            Words::new("reason-provider-failed").text("provider", provider).text("detail", detail)
        }
        Reason::AnswerTruncated { provider } => {
            Words::new("reason-answer-truncated").text("provider", provider)
        }
        Reason::Unreachable { address, detail } => {
            Words::new("reason-unreachable").text("address", address).text("detail", detail)
        }
        Reason::Tls { address, detail } => {
            Words::new("reason-tls").text("address", address).text("detail", detail)
        }
        Reason::Stalled { provider, waited_ms } => {
            Words::new("reason-stalled").text("provider", provider).seconds(*waited_ms)
        }
        Reason::AnswerTooSlow { provider, waited_ms } => {
            Words::new("reason-answer-too-slow").text("provider", provider).seconds(*waited_ms)
        }
        Reason::TurnLimit { limit } => Words::new("reason-turn-limit").count("limit", *limit),
        Reason::TokenLimit { limit } => Words::new("reason-token-limit").count("limit", *limit),
        Reason::CostLimit { limit_micros } => {
            Words::new("reason-cost-limit").text("limit", &dollars(*limit_micros))
        }
        Reason::ToolCallLimit { limit } => Words::new("reason-tool-call-limit").count("limit", *limit),
        Reason::LoopGuard { tool, count } => {
            Words::new("reason-loop-guard").text("tool", tool).count("count", *count)
        }
        Reason::EmptyAnswer => Words::new("reason-empty-answer"),
        Reason::OutputLimit => Words::new("reason-output-limit"),
        Reason::AnswerPaused { count } => Words::new("reason-answer-paused").count("count", *count),
        Reason::InvalidArguments { tool, count } => {
            Words::new("reason-invalid-arguments").text("tool", tool).count("count", *count)
        }
        Reason::RefusedWithMessage { message } => {
            Words::new("reason-refused-with-message").text("message", message)
        }
        Reason::Refused => Words::new("reason-refused"),
        Reason::PromptRefused { hook, detail } => {
            Words::new("reason-prompt-refused").text("hook", hook).text("detail", detail)
        }
        Reason::TimedOut { timeout_ms } => Words::new("reason-timed-out").seconds(*timeout_ms),
        Reason::Denied { count } => Words::new("reason-denied").count("count", *count),
        Reason::ToolErrors { count } => Words::new("reason-tool-errors").count("count", *count),
        Reason::BackgroundStopped { count } => Words::new("reason-background-stopped").count("count", *count),
        Reason::NoText => Words::new("reason-no-text"),
        Reason::SessionDamaged { session, line, detail } => Words::new("reason-session-damaged")
            .text("session", session)
            .text("line", &line.to_string())
            .text("detail", detail),
        Reason::UnknownSession { session } => Words::new("reason-unknown-session").text("session", session),
        Reason::UnknownRun { source, run, runs } => {
            Words::new("reason-unknown-run").text("source", source).count("run", *run).count("runs", *runs)
        }
        Reason::StreamDamaged { source, line, detail } => Words::new("reason-stream-damaged")
            .text("source", source)
            .text("line", &line.to_string())
            .text("detail", detail),
        Reason::ReplayedFailure { detail } => Words::new("reason-retold").text("detail", detail),
        Reason::NoSessionToContinue { cwd } => Words::new("reason-no-session-to-continue").text("cwd", cwd),
        Reason::SessionElsewhere { session, cwd } => {
            Words::new("reason-session-elsewhere").text("session", session).text("cwd", cwd)
        }
        Reason::SessionBusy { session, holder } => {
            Words::new("reason-session-busy").text("session", session).text("holder", holder)
        }
        Reason::InputTooLarge { what, limit_bytes } => Words::new("reason-input-too-large")
            .text("what", what)
            .text("megabytes", &(limit_bytes >> 20).to_string()),
        Reason::SessionLeased { session, holder, path } => Words::new("reason-session-leased")
            .text("session", session)
            .text("holder", holder)
            .text("path", path),
        Reason::SessionRemoved { path } => Words::new("reason-session-removed").text("path", path),
        Reason::StdinSilent { waited_ms } => Words::new("reason-stdin-silent").seconds(*waited_ms),
        Reason::WorkspaceGone { path } => Words::new("reason-workspace-gone").text("path", path),
        Reason::NoInput { path, detail } => {
            Words::new("reason-no-input").text("path", path).text("detail", detail)
        }
        Reason::CannotCreate { path, detail } => {
            Words::new("reason-cannot-create").text("path", path).text("detail", detail)
        }
        Reason::NameTaken { path } => Words::new("reason-name-taken").text("path", path),
        Reason::Io { what, detail } => Words::new("reason-io").text("what", what).text("detail", detail),
        Reason::OutputClosed => Words::new("reason-output-closed"),
        Reason::System { what, detail } => {
            Words::new("reason-system").text("what", what).text("detail", detail)
        }
        Reason::NoSandbox { detail } => Words::new("reason-no-sandbox").text("detail", detail),
        Reason::Untrusted { what, path } => {
            Words::new("reason-untrusted").text("what", what).text("path", path)
        }
        Reason::BadConfig { path, line, column, detail } => {
            Words::new("reason-bad-config").text("place", &place(path, *line, *column)).text("detail", detail)
        }
        Reason::UnreadableConfig { path, detail } => {
            Words::new("reason-unreadable-config").text("path", path).text("detail", detail)
        }
        Reason::McpServerFailed { server, detail } => {
            Words::new("reason-mcp-server-failed").text("server", server).text("detail", detail)
        }
        Reason::Signalled(signal) => Words::new("reason-signalled").text("signal", signal_name(*signal)),
        Reason::Internal { detail } => Words::new("reason-internal").text("detail", detail),
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
