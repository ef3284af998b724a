//! Texts for people. Expected texts are English, unless a test is about another language.

use ibeam_output::{
    Catalogue, CatalogueLine, CheckLine, CompareLine, ContextLine, ConvertLine, DiagnosisLine, FleetLine,
    Locale, PolicyLine, ReplayLine, SessionLine, ShimLine, SubcommandLine, UndoLine,
};
use ibeam_protocol::{
    Failure, FailureCode, LimitKind, Notice, Reason, RequestPart, RunFinished, RunOutcome, Signal, UnusedKey,
};

#[track_caller]
fn check(reason: &Reason, expect: &str) {
    assert_eq!(Catalogue::new(Locale::En).reason(reason).to_string(), expect);
}

#[test]
fn a_reason_is_an_error_line_with_hints() {
    check(
        &Reason::UnknownModel {
            model: "claude-x".into(),
            provider: Some("anthropic".into()),
            near: None,
            also_near: Vec::new(),
        },
        "error: the model `claude-x` is not known to provider `anthropic`\n\
         hint: `--model` names another; `ibeam models` lists what your key may use",
    );
    check(
        &Reason::UnknownModel { model: "claude-x".into(), provider: None, near: None, also_near: Vec::new() },
        "error: no provider is known for the model `claude-x`\n\
         hint: name it with `--model PROVIDER/NAME`; `ibeam models` lists the names",
    );
}

#[test]
fn several_similar_models_are_one_hint() {
    let also_near = vec!["gpt-5-nano".into(), "gpt-5".into()];
    let near = Some("gpt-5-mini".into());
    check(
        &Reason::UnknownModel { model: "gpt-5-min".into(), provider: None, near, also_near },
        "error: no provider is known for the model `gpt-5-min`\n\
         hint: did you mean `gpt-5-mini`, `gpt-5-nano`, `gpt-5`?\n\
         hint: name it with `--model PROVIDER/NAME`; `ibeam models` lists the names",
    );
}

#[test]
fn a_similar_name_is_the_first_hint() {
    check(
        &Reason::UnknownModel {
            model: "openia/x".into(),
            provider: None,
            near: Some("openai/x".into()),
            also_near: Vec::new(),
        },
        "error: no provider is known for the model `openia/x`\n\
         hint: did you mean `openai/x`?\n\
         hint: name it with `--model PROVIDER/NAME`; `ibeam models` lists the names",
    );
    for locale in Locale::ALL {
        let hints = |near: Option<&str>| {
            let reason = Reason::UnknownProvider { provider: "openia".into(), near: near.map(Into::into) };
            Catalogue::new(locale).reason(&reason).hints
        };
        let (with, without) = (hints(Some("openai")), hints(None));
        assert!(with[0].contains("`openai`") && with[1..] == without, "{locale:?}: {with:?} {without:?}");
    }
}

fn unused_key() -> UnusedKey {
    UnusedKey { variable: "COHERE_API_KEY".into(), service: "Cohere".into() }
}

#[test]
fn an_unused_key_is_named_with_the_embedded_model_or_its_absence() {
    for locale in Locale::ALL {
        let catalogue = Catalogue::new(locale);
        let model = || "small".to_owned();
        let texts = [
            catalogue.notice(&Notice::EmbeddedModel { model: model(), unused_key: Some(unused_key()) }),
            catalogue
                .reason(&Reason::ModelNotInstalled {
                    model: model(),
                    unused_key: Some(unused_key()),
                    without_key: true,
                })
                .to_string(),
        ];
        for text in texts {
            let expected =
                ["`small`", "`$COHERE_API_KEY`", "Cohere", "`ibeam login openrouter`", "`base_url`"];
            assert!(expected.iter().all(|part| text.contains(part)), "{locale:?}: {text}");
        }
    }
}

#[test]
fn each_hint_has_its_own_line() {
    check(
        &Reason::NoKey {
            provider: "openai".into(),
            variable: "OPENAI_API_KEY".into(),
            embedded: false,
            without_engine: false,
        },
        "error: no API key for `openai`\n\
         hint: set `$OPENAI_API_KEY`, or run `ibeam login openai`\n\
         hint: `ibeam setup` installs a small model that needs no key",
    );
}

#[test]
fn a_message_with_an_empty_detail_has_no_colon() {
    for locale in Locale::ALL {
        let reason = Reason::ProviderFailed { provider: "groq".into(), detail: String::new() };
        let message = Catalogue::new(locale).reason(&reason).message;
        assert!(!message.ends_with([':', ' ', '\u{a0}']), "{message:?}");
    }
}

#[test]
fn control_characters_in_details_are_escaped() {
    check(
        &Reason::ProviderFailed { provider: "groq".into(), detail: "\u{1b}[31mno\r\nerror: fake\n".into() },
        "error: `groq` failed: \\u{1b}[31mno\\r\\nerror: fake\n\
         hint: try again later, or choose another model with `--model`",
    );
}

#[test]
fn a_position_in_a_file_has_the_form_that_editors_open() {
    let at = |line, column| {
        let path = "c.toml".into();
        Catalogue::new(Locale::En)
            .reason(&Reason::BadConfig { path, line, column, detail: "x".into() })
            .message
    };
    assert_eq!(at(Some(3), Some(7)), "the configuration in `c.toml:3:7` is wrong: x");
    assert_eq!(at(Some(3), None), "the configuration in `c.toml:3` is wrong: x");
    assert_eq!(at(None, None), "the configuration in `c.toml` is wrong: x");
}

#[test]
fn milliseconds_are_shown_as_seconds() {
    let waited = |waited_ms| Catalogue::new(Locale::En).notice(&Notice::StdinIgnored { waited_ms });
    let sentence = |seconds| {
        format!("stdin sent nothing within {seconds} s and was ignored; `--stdin ignore` skips the wait")
    };
    assert_eq!(waited(3000), sentence("3"));
    assert_eq!(waited(100), sentence("0.1"));
    assert_eq!(waited(1234), sentence("1.2"));
    assert_eq!(waited(1290), sentence("1.2"), "more than 1.29 s may be less than 1.3 s");
    assert_eq!(waited(950), sentence("0.95"));
    assert_eq!(waited(50), sentence("0.05"));
    assert_eq!(waited(30_000), sentence("30"));
}

#[test]
fn a_retry_has_its_reason_and_delay() {
    let reason = Reason::ProviderFailed { provider: "groq".into(), detail: "overloaded".into() };
    assert_eq!(
        Catalogue::new(Locale::En).retry_warning(2, 1480, &reason),
        "`groq` failed: overloaded (attempt 2); trying again in 1.4 s"
    );
}

#[test]
fn counts_select_the_plural_form() {
    let failed = |locale, count| Catalogue::new(locale).reason(&Reason::ToolErrors { count }).message;
    assert_eq!(failed(Locale::En, 1), "1 tool call failed");
    assert_eq!(failed(Locale::En, 2), "2 tool calls failed");
    assert_eq!(failed(Locale::Fr, 0), "0 appel d'outil a échoué");
    assert_eq!(failed(Locale::Fr, 1200), "1200 appels d'outils ont échoué");
    assert_eq!(failed(Locale::Ja, 2), "2 件のツール呼び出しが失敗しました");
}

#[test]
fn the_request_id_of_the_provider_is_the_last_hint() {
    let failure = Failure {
        request_id: Some("req_7".into()),
        ..Failure::from(Reason::BadRequest {
            provider: "openai".into(),
            detail: "no".into(),
            part: RequestPart::Unknown,
        })
    };
    let hints = Catalogue::new(Locale::En).failure(&failure).hints;
    assert_eq!(hints.last().unwrap(), "the provider's ID of the failed request is `req_7`");
}

#[test]
fn a_run_without_a_stored_session_has_no_hint_to_resume() {
    let failure = Failure::from(Reason::WorkspaceGone { path: "/w".into() });
    let suggests_resume = |locale, ephemeral| {
        let run =
            RunFinished { ephemeral, ..crate::run_events::run_finished(RunOutcome::Failed(failure.clone())) };
        let hints = Catalogue::new(locale).failed_run(&failure, Some(&run)).hints;
        hints.iter().any(|hint| hint.contains("--resume"))
    };
    for locale in Locale::ALL {
        assert_eq!(
            [suggests_resume(locale, false), suggests_resume(locale, true)],
            [true, false],
            "{locale:?}"
        );
    }
}

#[test]
fn a_missing_key_suggests_an_installed_embedded_model() {
    for locale in Locale::ALL {
        let hints = |embedded, without_engine| {
            let (provider, variable) = ("openai".to_owned(), "KEY".to_owned());
            let reason = Reason::NoKey { provider, variable, embedded, without_engine };
            Catalogue::new(locale).reason(&reason).hints
        };
        let hint = |embedded| hints(embedded, false).pop().unwrap();
        assert_eq!(
            hints(false, true).len(),
            1,
            "{locale:?}: a program without the engine has no `ibeam setup`"
        );
        assert!(hint(true).contains("`--model embedded`") && !hint(true).contains("setup"), "{locale:?}");
        assert!(hint(false).contains("`ibeam setup`"), "{locale:?}");
    }
}

#[test]
fn costs_are_dollars_with_the_necessary_decimals() {
    let message =
        |limit_micros| Catalogue::new(Locale::En).reason(&Reason::CostLimit { limit_micros }).message;
    assert_eq!(message(500_000), "the run used up its budget of $0.50");
    assert_eq!(message(2_000_000), "the run used up its budget of $2.00");
    assert_eq!(message(1_250), "the run used up its budget of $0.00125");
}

#[test]
fn help_headings_are_localized_and_an_unknown_id_is_returned() {
    let usage = Locale::ALL.map(|locale| Catalogue::new(locale).help("usage"));
    assert_eq!(usage, ["Usage", "Uso", "Penggunaan", "使い方", "Utilisation", "Uso"]);
    assert_eq!(Catalogue::new(Locale::Fr).help("no-such-word"), "no-such-word");
}

/// Returns a value of each variant, and several values of variants with several messages.
pub(crate) fn every_reason() -> Vec<Reason> {
    let s = || "value".to_owned();
    vec![
        Reason::Usage { detail: s().into() },
        Reason::EmptyPrompt,
        Reason::FormatWithoutPrint,
        Reason::NotText { what: s() },
        Reason::InputLine { line: 1, detail: s() },
        Reason::InvalidJsonSchema { path: s(), place: s().into(), detail: s().into() },
        Reason::Unsupported { what: s() },
        Reason::NoKey { provider: s(), variable: s(), embedded: true, without_engine: false },
        Reason::NoModel { unused_key: Some(unused_key()) },
        Reason::NoDefaultModel { provider: s() },
        Reason::KeyUnavailable { provider: s(), setting: s(), detail: s() },
        Reason::KeyRefused { provider: s(), source: Some(s()), detail: s() },
        Reason::KeyRefused { provider: s(), source: None, detail: s() },
        Reason::UnknownProvider { provider: s(), near: Some(s()) },
        Reason::UnknownModel { model: s(), provider: Some(s()), near: None, also_near: Vec::new() },
        Reason::UnknownModel { model: s(), provider: None, near: Some(s()), also_near: Vec::new() },
        Reason::ModelNotInstalled { model: s(), unused_key: Some(unused_key()), without_key: true },
        Reason::ModelNotInstalled { model: s(), unused_key: None, without_key: false },
        Reason::LocalModel { detail: s() },
        Reason::NoLocalEngine,
        Reason::BadRequest { provider: s(), detail: s(), part: RequestPart::Unknown },
        Reason::BadRequest { provider: s(), detail: s(), part: RequestPart::Reasoning },
        Reason::BadRequest { provider: s(), detail: s(), part: RequestPart::Tools },
        Reason::BadRequest { provider: s(), detail: s(), part: RequestPart::Media },
        Reason::BadRequest { provider: s(), detail: s(), part: RequestPart::OutputLimit },
        Reason::ContextTooLong { provider: s(), detail: s() },
        Reason::RateLimited { provider: s(), detail: s() },
        Reason::QuotaExhausted { provider: s(), detail: s() },
        Reason::ProviderFailed { provider: s(), detail: s() },
        Reason::AnswerTruncated { provider: s() },
        Reason::NotRecorded { recording: s(), difference: s() },
        Reason::Unreachable { address: s(), detail: s() },
        Reason::ServerNotRunning { server: s(), address: s(), detail: s() },
        Reason::Tls { address: s(), detail: s() },
        Reason::NoTls { address: s() },
        Reason::Stalled { provider: s(), waited_ms: 1 },
        Reason::AnswerTooSlow { provider: s(), waited_ms: 1 },
        Reason::Parked { path: s() },
        Reason::FleetDriverGone,
        Reason::TurnLimit { limit: 2 },
        Reason::TokenLimit { limit: 2 },
        Reason::CostLimit { limit_micros: 500_000 },
        Reason::ToolCallLimit { limit: 2 },
        Reason::LoopGuard { tool: s(), count: 3 },
        Reason::EmptyAnswer,
        Reason::OutputLimit,
        Reason::AnswerPaused { count: 3 },
        Reason::InvalidArguments { tool: s(), count: 3 },
        Reason::Refused,
        Reason::RefusedWithMessage { message: s() },
        Reason::RefusedInCategory { category: s(), message: s() },
        Reason::TimedOut { timeout_ms: 1 },
        Reason::Denied { count: 1 },
        Reason::ToolErrors { count: 1 },
        Reason::BackgroundStopped { count: 1 },
        Reason::NoText,
        Reason::AnswerMismatch { repairs: 2, detail: s().into() },
        Reason::SessionDamaged { session: s(), line: 1, detail: s() },
        Reason::UnknownSession { session: s() },
        Reason::SessionIdTooShort { prefix: s(), minimum: 4 },
        Reason::AmbiguousSession { prefix: s(), sessions: s() },
        Reason::ReplayedFailure { detail: s() },
        Reason::NoSessionToContinue { cwd: s() },
        Reason::SessionElsewhere { session: s(), cwd: s() },
        Reason::NoPlan { session: s() },
        Reason::InvalidTrajectory { path: s(), detail: s() },
        Reason::SessionBusy { session: s(), holder: s() },
        Reason::SessionRemoved { path: s() },
        Reason::SessionLeased { session: s(), holder: s(), path: s() },
        Reason::StdinSilent { waited_ms: 1 },
        Reason::InputTooLarge { what: s(), limit_bytes: 16 << 20 },
        Reason::WorkspaceGone { path: s() },
        Reason::WorktreeSetup { command: s(), path: s(), detail: s() },
        Reason::NoInput { path: s(), detail: s() },
        Reason::CannotCreate { path: s(), detail: s() },
        Reason::Io { what: s(), detail: s() },
        Reason::OutputClosed,
        Reason::System { what: s(), detail: s() },
        Reason::NoSandbox { detail: s() },
        Reason::Untrusted { what: s(), path: s() },
        Reason::BadConfig { path: s(), line: Some(1), column: Some(2), detail: s().into() },
        Reason::BadJsonConfig { path: s(), line: Some(1), column: Some(2), page: s(), detail: s() },
        Reason::UnreadableConfig { path: s(), detail: s() },
        Reason::McpServerFailed { server: s(), detail: s() },
        Reason::PromptRefused { hook: s(), detail: s() },
        Reason::Signalled(Signal::Term),
        Reason::Internal { detail: s() },
    ]
}

/// Returns a value of each variant, and several values of variants with several messages.
pub(crate) fn every_notice() -> Vec<Notice> {
    let s = || "value".to_owned();
    vec![
        Notice::EmbeddedModel { model: s(), unused_key: None },
        Notice::EmbeddedModel { model: s(), unused_key: Some(unused_key()) },
        Notice::EffortIgnored { model: s() },
        Notice::EffortChanged { model: s(), asked: s(), used: s() },
        Notice::DefaultModelReplaced { from: s(), to: s() },
        Notice::StdinIgnored { waited_ms: 1 },
        Notice::SessionGaps { count: 2 },
        Notice::SessionLeaseFile { path: s() },
        Notice::ArgumentsIgnored { dialect: s(), arguments: s() },
        Notice::BudgetNotEnforced { model: s() },
        Notice::SessionUnsynced,
        Notice::CallsDenied { count: 1, reasons: vec![s().into()] },
        Notice::UnknownStopReason { word: s() },
        Notice::AnswerCut,
        Notice::AnswerInterrupted { reason: Box::new(Reason::AnswerTruncated { provider: s() }) },
        Notice::WebsocketUnavailable { provider: s(), detail: s() },
        Notice::ThinkingRefused { provider: s() },
        Notice::ToolsRefused { provider: s(), tools: s() },
        Notice::ToolsBeyondLimit { provider: s(), limit: 128, tools: s() },
        Notice::FilesRefused { provider: s(), files: s() },
        Notice::ImagesDamaged { files: s() },
        Notice::ImagesTooLarge { provider: s(), limit: 8000, files: s() },
        Notice::FilesBeyondLimit { provider: s(), limit: 100, files: s() },
        Notice::ModelFallback {
            from: s(),
            to: s(),
            reason: Box::new(Reason::AnswerTruncated { provider: s() }),
        },
        Notice::FallbackUnusable { model: s(), reason: Box::new(Reason::AnswerTruncated { provider: s() }) },
        Notice::AnswerPaused,
        Notice::EmptyAnswer,
        Notice::AnswerMismatch { attempt: 1, detail: s().into() },
        Notice::RepeatedCall { tool: s(), count: 3 },
        Notice::LimitNear { kind: LimitKind::Turns, percent: 80 },
        Notice::LimitNear { kind: LimitKind::Tokens, percent: 80 },
        Notice::LimitNear { kind: LimitKind::Cost, percent: 80 },
        Notice::LimitNear { kind: LimitKind::ToolCalls, percent: 80 },
        Notice::LimitNear { kind: LimitKind::Time, percent: 80 },
        Notice::UnknownConfigKey { path: s(), line: Some(3), key: s(), near: None },
        Notice::UnknownConfigKey { path: s(), line: None, key: s(), near: Some(s()) },
        Notice::UntrustedConfigKey { path: s(), key: s() },
        Notice::ForbiddenConfigKey { path: s(), key: s() },
        Notice::McpServerFailed { server: s(), detail: s() },
        Notice::McpServerUntrusted { server: s(), path: s() },
        Notice::McpServerUnsupported { server: s() },
        Notice::HookFailed { hook: s(), event: s(), detail: s() },
        Notice::HooksUntrusted { path: s() },
        Notice::SubagentsUntrusted { path: s() },
        Notice::SubagentDefinition { path: s(), detail: s() },
        Notice::HooksNotRun { path: s(), what: s() },
        Notice::TrustChanged { path: s() },
        Notice::TrustNotSaved { path: s(), detail: s() },
        Notice::TrustUnreadable { path: s(), detail: s() },
        Notice::TextFileIgnored { path: s(), detail: s() },
        Notice::TextsCut { files: s() },
        Notice::RulesLost { path: s() },
        Notice::GitObjectsHidden { path: s(), rule: s() },
        Notice::CheckpointSkipped { detail: s() },
        Notice::CheckpointIncomplete { count: 2, path: s() },
        Notice::WorktreeUsed { path: s(), branch: s() },
        Notice::WorktreeSetupUntrusted { path: s() },
        Notice::McpToolsChanged { server: s(), tools: s() },
        Notice::McpToolsLeftOut { server: s(), tools: s() },
        Notice::NetworkDenied,
        Notice::WriteDenied { example: s() },
        Notice::SocketDenied,
        Notice::HomeWorkspace { path: s() },
        Notice::ProtectedPathsRestored { paths: s() },
        Notice::ProtectedPathsAppeared { paths: s() },
        Notice::BackgroundAwaited { count: 1 },
        Notice::BackgroundEnded { call_id: "a".into(), command: s(), exit_code: 4 },
        Notice::BackgroundStopped { count: 1 },
    ]
}

#[test]
fn the_lists_have_every_reason_and_notice_of_the_english_file() {
    let english = include_str!("../../locales/en.ftl");
    let count = |prefix: &str| english.lines().filter(|line| line.starts_with(prefix)).count();
    assert_eq!(every_reason().len(), count("reason-"));
    assert_eq!(every_notice().len(), count("notice-"));
}

#[test]
fn every_message_is_one_complete_line_in_every_language() {
    for locale in Locale::ALL {
        let catalogue = Catalogue::new(locale);
        let explanations = every_reason().into_iter().map(|reason| catalogue.reason(&reason));
        let sentences =
            explanations.flat_map(|explanation| [vec![explanation.message], explanation.hints].concat());
        for sentence in sentences.chain(every_notice().iter().map(|notice| catalogue.notice(notice))) {
            assert!(!sentence.contains(['{', '\n', '\u{2068}']), "{locale:?}: {sentence:?}");
            assert!(!sentence.ends_with(['.', '。', '!']), "{locale:?}: {sentence:?}");
            assert!(!sentence.starts_with("reason-") && !sentence.starts_with("notice-"), "{sentence:?}");
            assert!(!sentence.starts_with(|c: char| c.is_uppercase()), "{locale:?}: {sentence:?}");
        }
    }
}

#[test]
fn every_class_of_failures_has_its_meaning_in_every_language() {
    for locale in Locale::ALL {
        for code in FailureCode::ALL {
            let meaning = Catalogue::new(locale).code_meaning(code);
            assert!(!meaning.starts_with("code-") && !meaning.is_empty(), "{locale:?}: {code:?}");
        }
    }
}

#[test]
fn every_subcommand_line_exists_in_every_language() {
    let lines = [
        SubcommandLine::KeyDeleted { provider: "p" },
        SubcommandLine::LogoutQuestion { providers: "p, q" },
        SubcommandLine::KeyOverridden { source: "x" },
        SubcommandLine::KeyRemains { provider: "x", source: "x" },
        SubcommandLine::LoggedOut { count: 0 },
        SubcommandLine::LoggedOut { count: 1 },
        SubcommandLine::LoggedOut { count: 2 },
        SubcommandLine::TrustRemoved { path: "p" },
        SubcommandLine::NotTrusted { path: "p" },
        SubcommandLine::NoTrustedWorkspaces,
        SubcommandLine::ApprovedTools { since: "2026-01-31", count: 1 },
        SubcommandLine::ApprovedTools { since: "2026-01-31", count: 2 },
        SubcommandLine::NoServers,
        SubcommandLine::NoHooks,
        SubcommandLine::QuarantineEmpty,
        SubcommandLine::QuarantineRestored { path: "a" },
    ];
    for locale in Locale::ALL {
        for line in &lines {
            let text = Catalogue::new(locale).line(line);
            assert!(!text.starts_with("command-") && !text.contains(['{', '\n']), "{locale:?}: {text}");
        }
    }
    let deleted = |count| Catalogue::new(Locale::En).line(&SubcommandLine::LoggedOut { count });
    assert_eq!(deleted(0), "there was no stored key to delete");
    assert_eq!(deleted(1), "deleted 1 stored key");
    assert_eq!(deleted(2), "deleted 2 stored keys");
}

#[test]
fn numbers_of_one_have_the_singular() {
    let english = Catalogue::new(Locale::En);
    let gaps = |count| english.line(&SessionLine::Gaps { count });
    assert!(gaps(1).contains(": one place ("), "{}", gaps(1));
    assert!(gaps(2).contains(": 2 places ("), "{}", gaps(2));
    let torn = |bytes| english.line(&ReplayLine::TruncatedRecord { bytes });
    assert_eq!(torn(1), "the last record is torn; one byte was left out");
    assert_eq!(torn(2), "the last record is torn; 2 bytes were left out");
    let failure = Reason::AnswerMismatch { repairs: 1, detail: "d".into() };
    let text = english.failure(&failure.into()).message;
    assert_eq!(text, "the answer does not match the JSON Schema after one correction: d");
}

#[test]
fn every_line_about_a_fleet_exists_in_every_language() {
    let lines = [
        FleetLine::Started { task: "t" },
        FleetLine::Finished { task: "t", outcome: "passed", seconds: 3 },
        FleetLine::Retried { task: "t", seconds: 3 },
        FleetLine::Stopped { task: "t", state: "parked", reason: "r" },
        FleetLine::Waiting { task: "t" },
        FleetLine::Restored { task: "t" },
        FleetLine::NotRestored { task: "t", detail: "d" },
        FleetLine::NotStored { task: "t", detail: "d" },
        FleetLine::NotPublished { task: "t", detail: "d" },
        FleetLine::NotTraced { task: "t", detail: "d" },
        FleetLine::Submitted { batch: "b", model: "m", requests: 2 },
        FleetLine::Answered { requests: 2 },
        FleetLine::Cancelled { batch: "b" },
        FleetLine::PolledAgain { detail: "d" },
    ];
    for locale in Locale::ALL {
        for line in &lines {
            let text = Catalogue::new(locale).line(line);
            assert!(!text.starts_with("fleet-") && !text.contains(['{', '\n']), "{locale:?}: {text}");
        }
    }
}

#[test]
fn every_line_about_the_context_exists_in_every_language() {
    let lines = [
        ContextLine::Bytes,
        ContextLine::Tokens,
        ContextLine::System,
        ContextLine::Tools,
        ContextLine::ServerTools,
        ContextLine::Repository,
        ContextLine::Conversation,
        ContextLine::Prompt,
        ContextLine::Total,
        ContextLine::Free,
        ContextLine::Window { model: "m", tokens: 1 },
        ContextLine::Servers { servers: "s" },
        ContextLine::Commands,
    ];
    for locale in Locale::ALL {
        for line in &lines {
            let text = Catalogue::new(locale).line(line);
            assert!(!text.starts_with("context-") && !text.contains(['{', '\n']), "{locale:?}: {text}");
        }
    }
}

/// Checks that each line has a complete text in every language, and that the texts are translated.
#[track_caller]
fn check_translated<L: CatalogueLine>(lines: &[L]) {
    let id_start = format!("{}-", L::PREFIX);
    for locale in Locale::ALL {
        for line in lines {
            let text = Catalogue::new(locale).line(line);
            assert!(!text.contains(['{', '\n', '\u{2068}']) && !text.starts_with(&id_start), "{text:?}");
            let english = Catalogue::new(Locale::En).line(line);
            assert!(locale == Locale::En || text != english, "{locale:?} is not translated: {text:?}");
        }
    }
}

#[test]
fn every_line_about_the_installation_exists_in_every_language() {
    check_translated(&[
        DiagnosisLine::NotLoggedIn,
        DiagnosisLine::LoggedIn { provider: "x", source: "x" },
        DiagnosisLine::Model { model: "x", id: "x", origin: "x" },
        DiagnosisLine::NoModel { detail: "x" },
        DiagnosisLine::AboutContract { version: "x" },
        DiagnosisLine::AboutModel { model: "x" },
        DiagnosisLine::AboutNoModel,
        DiagnosisLine::AboutEngine,
        DiagnosisLine::AboutNoEngine,
        DiagnosisLine::AboutPlatform { os: "x", arch: "x" },
        DiagnosisLine::AboutLicence,
        DiagnosisLine::Ok,
        DiagnosisLine::Missing,
        DiagnosisLine::Wrong,
        DiagnosisLine::CheckModel,
        DiagnosisLine::CheckKey,
        DiagnosisLine::KeyNotNeeded { model: "x" },
        DiagnosisLine::CheckEmbedded,
        DiagnosisLine::CheckSessions,
        DiagnosisLine::CheckCache,
        DiagnosisLine::CheckConfiguration,
        DiagnosisLine::CheckSandbox,
        DiagnosisLine::KeyFound { provider: "x", source: "x" },
        DiagnosisLine::KeyMissing,
        DiagnosisLine::EmbeddedMissing,
        DiagnosisLine::BashPurpose,
        DiagnosisLine::GitPurpose,
        DiagnosisLine::PythonPurpose,
    ]);
}

#[test]
fn every_session_line_exists_in_every_language() {
    let lines = [
        SessionLine::Renamed { session: "s", title: "t" },
        SessionLine::Intact { session: "s" },
        SessionLine::Damaged { session: "s" },
        SessionLine::Repaired { session: "s" },
        SessionLine::Unrecoverable { session: "s" },
        SessionLine::Events { count: 1 },
        SessionLine::Files { count: 1, bytes: 2 },
        SessionLine::Payloads { count: 1, bytes: 2 },
        SessionLine::UnreferencedPayloads { count: 1 },
        SessionLine::TruncatedRecord { bytes: 1 },
        SessionLine::Gaps { count: 1 },
        SessionLine::OpenCalls { count: 1 },
        SessionLine::Damage { file: "f", line: 1, detail: "s" },
        SessionLine::MovedAside { path: "p" },
    ];
    check_translated(&lines);
}

#[test]
fn every_check_line_exists_in_every_language() {
    let lines = [
        CheckLine::Valid { file: "f", contract: "2", events: 1, warnings: 0 },
        CheckLine::Invalid { file: "f", contract: "2", events: 1, errors: 2, warnings: 3 },
        CheckLine::MoreFindings { count: 1 },
    ];
    check_translated(&lines);
}

#[test]
fn every_convert_line_exists_in_every_language() {
    let lines = [
        ConvertLine::Lossy { file: "f", to: "codex", count: 1 },
        ConvertLine::Dropped { key: "k", count: 1, line: 2 },
        ConvertLine::Changed { key: "k", count: 1, line: 2 },
        ConvertLine::Joined { key: "k", count: 1, line: 2 },
        ConvertLine::MoreLosses { count: 1 },
    ];
    check_translated(&lines);
}

#[test]
fn every_undo_line_exists_in_every_language() {
    let lines = [
        UndoLine::Restores { path: "p" },
        UndoLine::Removes { path: "p" },
        UndoLine::Keeps { path: "p" },
        UndoLine::ChangedSince { path: "p" },
        UndoLine::Unchanged,
        UndoLine::Done { count: 2, command: "c" },
        UndoLine::Redone { count: 2 },
    ];
    check_translated(&lines);
}

#[test]
fn every_compare_line_exists_in_every_language() {
    let lines = [
        CompareLine::Session,
        CompareLine::Model,
        CompareLine::Runs,
        CompareLine::LastRun,
        CompareLine::Duration,
        CompareLine::Requests,
        CompareLine::Calls,
        CompareLine::FailedCalls,
        CompareLine::TokensRead,
        CompareLine::TokensCached,
        CompareLine::TokensWritten,
        CompareLine::Cost,
        CompareLine::ChangedFiles,
        CompareLine::Completed,
        CompareLine::Failed,
        CompareLine::Refused,
        CompareLine::Incomplete,
        CompareLine::Equal { count: 3 },
    ];
    check_translated(&lines);
}

#[test]
fn every_shim_line_exists_in_every_language() {
    let lines = [
        ShimLine::Created { link: "l", program: "p" },
        ShimLine::Unchanged { link: "l" },
        ShimLine::InPath { directory: "d" },
        ShimLine::NotInPath { directory: "d", command: "c" },
        ShimLine::Shadowed { name: "n", other: "o", directory: "d" },
    ];
    check_translated(&lines);
}

#[test]
fn every_replay_line_exists_in_every_language() {
    let lines = [
        ReplayLine::NoEnd { run: 2 },
        ReplayLine::Failed { run: 2, message: "s" },
        ReplayLine::TruncatedRecord { bytes: 3 },
        ReplayLine::Gaps { count: 1 },
    ];
    check_translated(&lines);
}

#[test]
fn every_policy_line_exists_in_every_language() {
    let lines = [
        PolicyLine::Allowed { rule: "r" },
        PolicyLine::Denied { rule: "r", reason: "s" },
        PolicyLine::NeedsApproval { rule: "r", reason: "s" },
        PolicyLine::Unanalyzable { what: "s" },
        PolicyLine::RunsProgram { program: "p", wrappers: "w" },
        PolicyLine::ReadsFile { path: "p" },
        PolicyLine::WritesFile { path: "p" },
        PolicyLine::RuleApplies { rule: "r", why: "s" },
        PolicyLine::RuleDoesNotApply { rule: "r", why: "s" },
        PolicyLine::NoRules,
    ];
    check_translated(&lines);
}

#[test]
fn every_failure_has_a_hint() {
    let catalogue = Catalogue::new(Locale::En);
    for reason in every_reason() {
        // Its message says what to write.
        let is_usage = matches!(reason, Reason::Usage { .. });
        assert_eq!(catalogue.reason(&reason).hints.is_empty(), is_usage, "{reason:?}");
    }
}

#[test]
fn each_reason_of_a_refusal_has_its_own_line() {
    let reasons = vec!["no rule allows `make`".into(), "a\nline".into()];
    let notice = Catalogue::new(Locale::En).notice(&Notice::CallsDenied { count: 2, reasons });
    assert_eq!(notice, "2 tool calls were refused:\n  no rule allows `make`\n  a\\nline");
}
