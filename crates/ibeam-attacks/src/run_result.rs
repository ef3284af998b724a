//! The output of one run of the program, as far as a verdict needs it.

use ibeam_testkit::ProgramOutput;
use serde_json::{Map, Value};

use crate::canary::collect_strings;

/// A run that has ended.
#[derive(Clone, Debug)]
pub(crate) struct RunResult {
    pub(crate) finished: ProgramOutput,
    /// The bodies of its requests to the model.
    pub(crate) requests: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct CompletedCall {
    args: Value,
    /// The key of its result, such as `success`.
    pub(crate) result_kind: String,
    payload: Value,
}

impl RunResult {
    /// Returns the lines of stdout that are JSON.
    fn events(&self) -> impl Iterator<Item = Value> {
        self.finished.stdout.lines().filter_map(|line| serde_json::from_str(line).ok())
    }

    /// Returns the completed calls in their order.
    pub(crate) fn completed_calls(&self) -> Vec<CompletedCall> {
        let is_completed =
            |event: &Value| has_text(event, "type", "tool_call") && has_text(event, "subtype", "completed");
        self.events().filter(is_completed).filter_map(|event| CompletedCall::from_event(&event)).collect()
    }

    /// Whether the run ended with exit code 0 and a result as the last line.
    pub(crate) fn is_complete(&self) -> bool {
        let last =
            self.finished.stdout.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        self.finished.code == Some(0) && last.is_some_and(|last| has_text(&last, "type", "result"))
    }

    /// Whether the run ended with a result, or with an error that the program reported.
    pub(crate) fn ended_cleanly(&self) -> bool {
        let has_error_line = self.finished.stderr.lines().any(|line| line.starts_with("error:"));
        self.is_complete()
            || self.finished.code.is_some_and(|code| (1..100).contains(&code)) && has_error_line
    }

    /// Whether the result is this text, or has these fields.
    pub(crate) fn has_result(&self, expect: &Value) -> bool {
        let Some(result) = self.events().filter(|event| has_text(event, "type", "result")).last() else {
            return false;
        };
        match expect {
            Value::String(text) => has_text(&result, "result", text),
            Value::Object(fields) => fields.iter().all(|(name, value)| result.get(name) == Some(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
        }
    }

    /// Whether there is a second result, or a line that is not an event.
    pub(crate) fn has_extra_result(&self) -> bool {
        let events: Vec<Value> = self.events().collect();
        let results = events.iter().filter(|event| has_text(event, "type", "result")).count();
        results > 1 || events.len() != self.finished.stdout.lines().count()
    }

    /// Describes the end of the run in a few words.
    pub(crate) fn end_summary(&self) -> String {
        let ProgramOutput { code, signal, stderr, .. } = &self.finished;
        let end = match (code, signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        };
        match stderr.lines().find(|line| line.starts_with("error:")) {
            Some(detail) => format!("{end}, {}", truncate(detail)),
            None => end,
        }
    }
}

impl CompletedCall {
    fn from_event(event: &Value) -> Option<Self> {
        let body = event.get("tool_call")?.as_object()?.values().next()?;
        let (result_kind, payload) = body.get("result")?.as_object()?.iter().next()?;
        Some(Self {
            args: body.get("args").cloned().unwrap_or_default(),
            result_kind: result_kind.clone(),
            payload: payload.clone(),
        })
    }

    /// Whether policy or the system refused the call.
    pub(crate) fn is_refused(&self) -> bool {
        ["rejected", "permissionDenied"].contains(&self.result_kind.as_str())
    }

    /// Whether the call failed as a whole before it had an effect, such as for invalid arguments or an invalid path.
    /// Errors of the operating system do not count, since they may come from the middle of the work or from an
    /// incomplete fixture.
    pub(crate) fn is_refused_as_error(&self) -> bool {
        const SYSTEM_ERROR_PARTS: [&str; 5] =
            ["os error", "ENOENT", "no such", "not found", "does not exist"];
        let detail = self.summary().to_lowercase();
        self.result_kind == "error"
            && !SYSTEM_ERROR_PARTS.iter().any(|words| detail.contains(&words.to_lowercase()))
    }

    /// Whether the call was executed, with any result.
    pub(crate) fn was_executed(&self) -> bool {
        ["success", "failure", "timeout"].contains(&self.result_kind.as_str())
    }

    /// Returns the command of the call, or an empty text for another tool.
    pub(crate) fn command(&self) -> String {
        self.args.get("command").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(crate) fn is_success(&self) -> bool {
        self.result_kind == "success"
    }

    /// Whether the call has this command.
    pub(crate) fn has_command(&self, command: &str) -> bool {
        has_text(&self.args, "command", command)
    }

    /// Whether the call has a command.
    pub(crate) fn is_command(&self) -> bool {
        self.args.get("command").is_some()
    }

    /// Returns the output of a command on both streams, or all texts of the result of another tool.
    pub(crate) fn output(&self) -> String {
        let mut texts = Vec::new();
        let streams: Vec<&Value> =
            ["stdout", "stderr"].iter().filter_map(|key| self.payload.get(*key)).collect();
        match streams.as_slice() {
            [] if self.is_refused() => {}
            [] => collect_strings(&self.payload, &mut texts),
            streams => streams.iter().for_each(|stream| collect_strings(stream, &mut texts)),
        }
        texts.join("\n")
    }

    /// Returns the exit code of a command.
    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.payload.get("exitCode")?.as_i64()
    }

    /// Describes the result and its reason in a few words.
    pub(crate) fn summary(&self) -> String {
        let first_text = |keys: &[&str], fields: &Map<String, Value>| {
            keys.iter().find_map(|key| fields.get(*key)?.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let keys = ["reason", "errorMessage", "error", "stderr", "stdout"];
        let reason = self.payload.as_object().map(|fields| first_text(&keys, fields)).unwrap_or_default();
        truncate(format!("{} {}", self.result_kind, reason.replace('\n', " ")).trim()).to_owned()
    }
}

/// Whether a field of an object is this text.
fn has_text(object: &Value, key: &str, text: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(text)
}

/// Returns the first 160 characters of a text.
fn truncate(text: &str) -> &str {
    text.char_indices().nth(160).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}
