//! Checks a stream line by line: its bytes, then the event, then the order of the events.

use serde_json::{Map, Value};

use super::answer::{AnswerEventKind, AnswerTracker};
use super::call_payload::check_call;
use super::call_tracker::CallTracker;
use super::finding::{Findings, LineContext, Report, printable_excerpt};
use super::rule::Rule;
use super::value::{check_object, type_name};
use crate::Contract;
use crate::describe::{DescribeObject, Object};
use crate::digest::TextDigest;
use crate::event::{
    AssistantEvent, CallPhase, DeltaEvent, ErrorEvent, FAILURE_CLASSES, InitEvent, ModelFallbackEvent,
    RUN_KEYS, ResultEvent, ResultObject, ToolCallBody, ToolCallEvent, UserEvent,
};
use crate::lines::{Line, MAX_LINE_BYTES};
use crate::scan::{self, PathStep};

/// The part of the stream that the next event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before the first event.
    Start,
    /// After `init` and before `user`.
    AfterInit,
    /// After `user`.
    Running,
    /// After the `result` or `error` of a turn, if further turns may follow.
    BetweenTurns,
    /// After the last `result` or `error`.
    Ended,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamEventKind {
    Init,
    User,
    Assistant,
    ToolCall(CallPhase),
    ModelFallback,
    Result,
    Error,
    Unknown,
}

/// Checks a stream line by line.
pub(super) struct Checker {
    findings: Findings,
    stage: Stage,
    has_init: bool,
    has_user: bool,
    /// Whether the prompts are messages on stdin, so that there may be several turns.
    has_turns: bool,
    session: Option<String>,
    answer: AnswerTracker,
    calls: CallTracker,
    last_line: u64,
}

impl Checker {
    pub(super) fn new(contract: Contract, max: usize) -> Self {
        Self {
            findings: Findings { report: Report { contract, ..Report::default() }, max },
            stage: Stage::Start,
            has_init: false,
            has_user: false,
            has_turns: false,
            session: None,
            answer: AnswerTracker::default(),
            calls: CallTracker::default(),
            last_line: 0,
        }
    }

    pub(super) fn check_line(&mut self, line: Line<'_>) {
        let Line { number, bytes, has_end, is_cut } = line;
        self.last_line = number;
        let event = if is_cut {
            self.findings.add(
                number,
                1,
                Rule::LineTooLong,
                format!("the line is longer than {} MiB", MAX_LINE_BYTES >> 20),
            );
            None
        } else {
            match std::str::from_utf8(bytes) {
                Ok(text) if text.trim().is_empty() => {
                    let message = "the line is empty".to_owned();
                    return self.findings.add(number, 1, Rule::EmptyLine, message);
                }
                Ok(text) => self.parse_line(number, text).map(|event| (text, event)),
                Err(error) => {
                    let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                    let column = String::from_utf8_lossy(valid).chars().count() + 1;
                    self.findings.add(number, column, Rule::NotUtf8, "the line is not UTF-8".to_owned());
                    None
                }
            }
        };
        self.findings.report.events += 1;
        if !has_end {
            let column = String::from_utf8_lossy(bytes).chars().count() + 1;
            self.findings.add(number, column, Rule::NoLineEnd, "the last line has no line end".to_owned());
        }
        match event {
            Some((text, event)) => self.process_event(number, text, &event),
            None => self.skip_unreadable(),
        }
    }

    /// Reports what is missing at the end of the input, and returns the report.
    pub(super) fn finish(mut self) -> Report {
        let next = self.last_line + 1;
        if self.findings.report.events == 0 {
            self.findings.add(1, 1, Rule::Empty, "the input is empty".to_owned());
        } else if !matches!(self.stage, Stage::BetweenTurns | Stage::Ended) {
            self.calls.report_open_calls(&mut self.findings);
            let message = "the stream ends without `result` or `error`".to_owned();
            self.findings.add(next, 1, Rule::NoEnd, message);
        }
        let mut report = self.findings.report;
        report.findings.sort_by_key(|finding| (finding.line, finding.column));
        report
    }

    /// Parses the object of a line and checks its bytes.
    fn parse_line(&mut self, number: u64, text: &str) -> Option<Map<String, Value>> {
        let mut line = LineContext { findings: &mut self.findings, number, text };
        let mut text = text;
        if let Some(rest) = text.strip_prefix('\u{feff}') {
            line.add_at(0, Rule::ByteOrderMark, "the line starts with a byte order mark");
            (text, line.text) = (rest, rest);
        }
        if let Some(rest) = text.strip_suffix('\r') {
            line.add_at(rest.len(), Rule::CarriageReturn, "the line ends with a carriage return");
        }
        let is_bare = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}');
        if let Some((at, c)) = text.char_indices().find(|(_, c)| is_bare(*c)) {
            line.add_at(at, Rule::BareControl, format!("U+{:04X} is not escaped", u32::from(c)));
        }
        if scan::depth(text) > scan::MAX_DEPTH {
            line.add_at(
                0,
                Rule::TooDeep,
                format!("the line is nested deeper than {} levels", scan::MAX_DEPTH),
            );
            return None;
        }
        match scan::parse(text) {
            Ok(Value::Object(object)) => {
                let mut duplicates = Vec::new();
                scan::duplicate_keys(text, scan::locate(text, &[]), 5, &mut duplicates);
                for (at, key) in duplicates {
                    line.add_at(
                        at,
                        Rule::DuplicateKey,
                        format!("`{}` occurs twice", printable_excerpt(&key)),
                    );
                }
                Some(object)
            }
            Ok(other) => {
                let message = format!("the line should be an object, and is {}", type_name(&other));
                line.add(&[], Rule::NotAnObject, message);
                None
            }
            Err(error) => {
                let column = scan::column_of(text, &error);
                let message = scan::message_without_position(&error);
                self.findings.add(number, column, Rule::NotJson, format!("not JSON: {message}"));
                None
            }
        }
    }

    /// Continues after a line that could not be read, as if the line had been the expected event.
    fn skip_unreadable(&mut self) {
        if self.stage == Stage::BetweenTurns {
            self.start_turn();
        }
        self.answer.mark_incomplete();
        self.calls.mark_incomplete();
        self.stage = match self.stage {
            Stage::Start => Stage::AfterInit,
            Stage::AfterInit | Stage::Running | Stage::BetweenTurns => Stage::Running,
            Stage::Ended => Stage::Ended,
        };
        (self.has_init, self.has_user) = (true, self.stage == Stage::Running);
    }

    /// Resets the state of the turn.
    fn start_turn(&mut self) {
        self.answer = AnswerTracker::default();
        self.calls = CallTracker::default();
        self.stage = Stage::Running;
    }

    /// Checks an event by its kind, its place in the stream, and the events before it.
    fn process_event(&mut self, number: u64, text: &str, event: &Map<String, Value>) {
        let kind = self.classify(number, text, event);
        if self.stage == Stage::Start {
            // Only ibeam prints the object of a failure alone.
            self.findings.report.is_from_ibeam = kind == StreamEventKind::Error
                || matches!(kind, StreamEventKind::Init | StreamEventKind::Result)
                    && event.contains_key("ibeam");
            self.findings.report.is_single_object =
                matches!(kind, StreamEventKind::Result | StreamEventKind::Error);
        }
        if kind == StreamEventKind::Init && !self.has_init {
            let declared = event.get("ibeam").and_then(|ibeam| ibeam.get("contract")?.as_str());
            let known = declared.and_then(Contract::from_name);
            self.findings.report.contract = known.unwrap_or(self.findings.report.contract);
            let ibeam = event.get("ibeam");
            // Other programs do not state where their prompts come from.
            self.has_turns = ibeam.is_none_or(|ibeam| ibeam.get("input").is_some_and(Value::is_string));
        }
        if self.stage == Stage::BetweenTurns && kind == StreamEventKind::User {
            self.start_turn();
        }
        let belongs_to_no_turn = self.stage == Stage::BetweenTurns && !is_of_started_run(event);
        let is_late = match self.stage {
            Stage::Start | Stage::AfterInit | Stage::Running => false,
            Stage::BetweenTurns => !matches!(kind, StreamEventKind::Error if belongs_to_no_turn),
            Stage::Ended => true,
        };
        let mut line = LineContext { findings: &mut self.findings, number, text };
        match kind {
            _ if is_late => {}
            StreamEventKind::Init => check_event(&mut line, InitEvent::<String>::object(), event),
            StreamEventKind::User => check_event(&mut line, UserEvent::<String>::object(), event),
            StreamEventKind::Assistant => match line.findings.report.contract {
                Contract::One => check_event(&mut line, DeltaEvent::<String>::object(), event),
                Contract::Two => check_event(&mut line, AssistantEvent::<String>::object(), event),
            },
            StreamEventKind::ToolCall(_) => {
                check_event(&mut line, ToolCallEvent::<String, ToolCallBody>::object(), event);
            }
            StreamEventKind::Result if line.findings.report.is_single_object => {
                check_event(&mut line, ResultObject::<String>::object(), event);
            }
            StreamEventKind::Result => check_event(&mut line, ResultEvent::<String>::object(), event),
            StreamEventKind::Error => {
                check_event(&mut line, ErrorEvent::<String>::object(), event);
                if !(line.findings.report.is_single_object || belongs_to_no_turn) || is_of_started_run(event)
                {
                    require_run_keys(&mut line, event);
                }
            }
            StreamEventKind::ModelFallback => {
                check_event(&mut line, ModelFallbackEvent::<String>::object(), event)
            }
            StreamEventKind::Unknown => {}
        }
        self.check_order(number, text, kind, is_late);
        if is_late {
            return;
        }
        self.check_session(number, text, event);
        let mut line = LineContext { findings: &mut self.findings, number, text };
        if belongs_to_no_turn {
            return check_exit_code(&mut line, event);
        }
        match kind {
            StreamEventKind::Init
            | StreamEventKind::User
            | StreamEventKind::ModelFallback
            | StreamEventKind::Unknown => {}
            StreamEventKind::Assistant => {
                self.answer.record_event(&mut line, event, AnswerEventKind::Assistant)
            }
            StreamEventKind::ToolCall(phase) => {
                let place = match phase {
                    CallPhase::Started => AnswerEventKind::CallStart,
                    CallPhase::Completed => AnswerEventKind::CallEnd,
                };
                self.answer.record_event(&mut line, event, place);
                match check_call(&mut line, event, phase) {
                    Some((tool, body)) => self.calls.record_event(&mut line, event, phase, tool, body),
                    None => self.calls.mark_incomplete(),
                }
            }
            StreamEventKind::Result | StreamEventKind::Error => {
                self.answer.record_event(&mut line, event, AnswerEventKind::RunEnd);
                self.check_ending(number, text, event, kind);
                self.calls.report_open_calls(&mut self.findings);
            }
        }
    }

    /// Returns the kind of an event and reports unknown ones.
    fn classify(&mut self, number: u64, text: &str, event: &Map<String, Value>) -> StreamEventKind {
        let text_of = |key: &str| event.get(key).and_then(Value::as_str);
        let mut line = LineContext { findings: &mut self.findings, number, text };
        let Some(name) = text_of("type") else {
            match event.get("type") {
                None => line.add(&[], Rule::MissingKey, "`type` is missing"),
                Some(value) => {
                    let message = format!("`type` should be a string, and is {}", type_name(value));
                    line.add(&[PathStep::Key("type")], Rule::WrongType, message);
                }
            }
            self.answer.mark_incomplete();
            self.calls.mark_incomplete();
            return StreamEventKind::Unknown;
        };
        let is_thinking = |kind: &str| ["thinking", "reasoning", "redacted_thinking"].contains(&kind);
        let blocks =
            event.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
        let block = blocks
            .into_iter()
            .flatten()
            .filter_map(|block| block.get("type")?.as_str())
            .find(|kind| is_thinking(kind));
        if is_thinking(name) || block.is_some() {
            line.add(&[], Rule::Thinking, "the stream contains the thinking of the model");
        }
        match (name, text_of("subtype")) {
            ("system", Some("init")) => StreamEventKind::Init,
            ("user", _) => StreamEventKind::User,
            ("assistant", _) => StreamEventKind::Assistant,
            ("tool_call", Some("started")) => StreamEventKind::ToolCall(CallPhase::Started),
            ("tool_call", Some("completed")) => StreamEventKind::ToolCall(CallPhase::Completed),
            ("ibeam", Some("model_fallback")) => StreamEventKind::ModelFallback,
            ("result", _) => StreamEventKind::Result,
            ("error", _) => StreamEventKind::Error,
            ("system" | "tool_call", None) => {
                line.add(&[], Rule::MissingKey, "`subtype` is missing");
                StreamEventKind::Unknown
            }
            (_, subtype) if !is_thinking(name) => {
                let subtype =
                    subtype.map(|subtype| format!("`/`{}", printable_excerpt(subtype))).unwrap_or_default();
                let message = format!("unknown event `{}{subtype}`", printable_excerpt(name));
                line.add(&[PathStep::Key("type")], Rule::UnknownEvent, message);
                StreamEventKind::Unknown
            }
            _ => StreamEventKind::Unknown,
        }
    }

    /// Checks the order: `init`, `user`, any events, one end. If the prompts are messages on stdin, each turn has this
    /// order without `init`, and an `error` that belongs to no turn may follow the last.
    fn check_order(&mut self, number: u64, text: &str, kind: StreamEventKind, is_late: bool) {
        let is_end = matches!(kind, StreamEventKind::Result | StreamEventKind::Error);
        let mut line = LineContext { findings: &mut self.findings, number, text };
        match self.stage {
            Stage::Ended if is_end && !line.findings.report.is_single_object => {
                return line.add(&[], Rule::EndAgain, "the run has already ended");
            }
            Stage::Ended if kind == StreamEventKind::Init => {
                let message = "another run starts after the end of the first; check each run alone, for example \
                               with `ibeam replay SESSION --run N --output-format stream-json | ibeam check`";
                return line.add(&[], Rule::LateOutput, message);
            }
            Stage::Ended => return line.add(&[], Rule::LateOutput, "an event follows the end of the run"),
            Stage::BetweenTurns if kind == StreamEventKind::Init => {
                return line.add(&[], Rule::InitAgain, "`system`/`init` occurs again");
            }
            Stage::BetweenTurns if is_late && is_end => {
                return line.add(&[], Rule::EndAgain, "the turn has already ended");
            }
            Stage::BetweenTurns if is_late && kind != StreamEventKind::Unknown => {
                return line.add(&[], Rule::LateOutput, "an event follows the end of its turn");
            }
            Stage::BetweenTurns => {}
            Stage::Start if kind == StreamEventKind::Init || line.findings.report.is_single_object => {}
            Stage::Start => line.add(&[], Rule::InitNotFirst, "the first event is not `system`/`init`"),
            Stage::AfterInit | Stage::Running if kind == StreamEventKind::Init && self.has_init => {
                line.add(&[], Rule::InitAgain, "`system`/`init` occurs again");
            }
            Stage::AfterInit
                if !matches!(
                    kind,
                    StreamEventKind::User | StreamEventKind::Init | StreamEventKind::Unknown
                ) =>
            {
                line.add(&[], Rule::UserNotSecond, "the second event is not `user`");
            }
            // A steering message is a `user` line within a turn.
            Stage::Running if kind == StreamEventKind::User && self.has_user && !self.has_turns => {
                line.add(&[], Rule::UserAgain, "`user` occurs again");
            }
            Stage::AfterInit | Stage::Running => {}
        }
        self.has_init |= kind == StreamEventKind::Init;
        self.has_user |= kind == StreamEventKind::User;
        self.stage = match (self.stage, kind) {
            (Stage::AfterInit | Stage::Running, _) if is_end && self.has_turns => Stage::BetweenTurns,
            _ if is_end => Stage::Ended,
            (Stage::BetweenTurns, _) => Stage::BetweenTurns,
            (Stage::Start, StreamEventKind::Init) => Stage::AfterInit,
            // Later versions may add events between `init` and `user`.
            (Stage::AfterInit, StreamEventKind::Unknown | StreamEventKind::Init) => Stage::AfterInit,
            _ => Stage::Running,
        };
    }

    fn check_session(&mut self, number: u64, text: &str, event: &Map<String, Value>) {
        let Some(id) = event.get("session_id").and_then(Value::as_str) else { return };
        match &self.session {
            None => self.session = Some(id.to_owned()),
            Some(first) if first == id => {}
            Some(first) => {
                let message = format!(
                    "`session_id` was `{}`, and is `{}`",
                    printable_excerpt(first),
                    printable_excerpt(id)
                );
                let mut line = LineContext { findings: &mut self.findings, number, text };
                line.add(&[PathStep::Key("session_id")], Rule::SessionChanged, message);
            }
        }
    }

    /// Checks the last event against the events before it.
    fn check_ending(&mut self, number: u64, text: &str, event: &Map<String, Value>, kind: StreamEventKind) {
        let mut line = LineContext { findings: &mut self.findings, number, text };
        let result = event.get("result").and_then(Value::as_str);
        let repeated = match kind {
            StreamEventKind::Error => Some(result.unwrap_or_default()),
            _ => result,
        };
        let is_stream = !line.findings.report.is_single_object;
        let text = self.answer.text().filter(|_| is_stream);
        if let (Some(repeated), Some(text)) = (repeated.map(TextDigest::from_text), text)
            && repeated != text
        {
            let message = match (repeated.chars, text.chars) {
                (repeated, expected) if repeated == expected => {
                    format!(
                        "`result` differs from the texts of the `assistant` events; both have {repeated} characters"
                    )
                }
                (repeated, expected) => format!(
                    "`result` differs from the texts of the `assistant` events: it has {repeated} characters, they have {expected}"
                ),
            };
            line.add(&[PathStep::Key("result")], Rule::ResultDiffers, message);
        } else {
            let after_last_call = self.answer.text_after_last_call().filter(|_| is_stream);
            check_final_message(&mut line, event, after_last_call, kind == StreamEventKind::Error);
        }
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        if let (Some(all), Some(api)) = (number("duration_ms"), number("duration_api_ms"))
            && all != api
        {
            let message = format!("`duration_api_ms` is {api}, and `duration_ms` is {all}");
            line.add(&[PathStep::Key("duration_api_ms")], Rule::DurationsDiffer, message);
        }
        if kind == StreamEventKind::Error {
            check_exit_code(&mut line, event);
        }
    }
}

fn check_event(line: &mut LineContext<'_>, description: &'static Object, event: &Map<String, Value>) {
    check_object(line, &mut Vec::new(), description, event);
}

/// Whether the failure belongs to a run that had started.
fn is_of_started_run(error: &Map<String, Value>) -> bool {
    RUN_KEYS.iter().any(|key| error.contains_key(*key))
}

/// Reports the keys of a started run that a failure lacks.
fn require_run_keys(line: &mut LineContext<'_>, error: &Map<String, Value>) {
    for key in RUN_KEYS.iter().filter(|key| !error.contains_key(**key)) {
        line.add(&[], Rule::MissingKey, format!("`{key}` is missing"));
    }
}

/// Checks `ibeam.final` against the text after the last call, if that is known, and against the end of `result`.
fn check_final_message(
    line: &mut LineContext<'_>,
    event: &Map<String, Value>,
    after_last_call: Option<TextDigest>,
    is_failure: bool,
) {
    let message = event.get("ibeam").and_then(|ibeam| ibeam.get("final")?.as_str());
    let Some(message) = message else { return };
    let path = [PathStep::Key("ibeam"), PathStep::Key("final")];
    if is_failure {
        return line.add(&path, Rule::FinalDiffers, "a failed run must not have `final`");
    }
    if let Some(expected) = after_last_call.filter(|expected| *expected != TextDigest::from_text(message)) {
        let found = TextDigest::from_text(message).chars;
        let message = format!(
            "`final` differs from the text after the last call: {found} characters instead of {}",
            expected.chars
        );
        return line.add(&path, Rule::FinalDiffers, message);
    }
    let result = event.get("result").and_then(Value::as_str);
    if result.is_some_and(|result| !result.ends_with(message)) {
        line.add(&path, Rule::FinalDiffers, "`final` is not the end of `result`");
    }
}

/// Checks that `exit_code` and `retryable` belong to the class of the failure.
fn check_exit_code(line: &mut LineContext<'_>, event: &Map<String, Value>) {
    let Some(code) = event.get("code").and_then(Value::as_str) else { return };
    let Some(class) = FAILURE_CLASSES.iter().find(|class| class.code == code) else {
        let message = format!("`code` has the unknown value `{}`", printable_excerpt(code));
        return line.add(&[PathStep::Key("code")], Rule::UnknownValue, message);
    };
    if let Some(exit) =
        event.get("exit_code").and_then(Value::as_u64).filter(|exit| !class.exit_codes.contains(exit))
    {
        let message = format!("`exit_code` is {exit}, which does not belong to `{code}`");
        line.add(&[PathStep::Key("exit_code")], Rule::ExitCodeDiffers, message);
    }
    if let Some(retryable) =
        event.get("retryable").and_then(Value::as_bool).filter(|flag| *flag != class.is_retryable)
    {
        let message = format!("`retryable` is `{retryable}`, which does not belong to `{code}`");
        line.add(&[PathStep::Key("retryable")], Rule::ExitCodeDiffers, message);
    }
}
