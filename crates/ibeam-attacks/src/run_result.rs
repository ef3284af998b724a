//! What one run of the program printed, as far as a verdict needs it.

use ibeam_testkit::ProgramOutput;
use serde_json::{Map, Value};

use crate::case::collect;

/// A run that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) finished: ProgramOutput,
    /// The bodies of its requests to the model.
    pub(crate) requests: Vec<Value>,
}

/// A call that was completed.
#[derive(Clone, Debug)]
pub(crate) struct Completed {
    args: Value,
    /// The arm of its result.
    pub(crate) arm: String,
    payload: Value,
}

impl Ran {
    /// The lines of stdout that are JSON.
    fn events(&self) -> impl Iterator<Item = Value> {
        self.finished.stdout.lines().filter_map(|line| serde_json::from_str(line).ok())
    }

    /// The completed calls in their order.
    pub(crate) fn completed(&self) -> Vec<Completed> {
        let is_completed =
            |event: &Value| is(event, "type", "tool_call") && is(event, "subtype", "completed");
        self.events().filter(is_completed).filter_map(|event| Completed::read(&event)).collect()
    }

    /// Exit code 0 and a result as the last line.
    pub(crate) fn came_to_its_result(&self) -> bool {
        let last =
            self.finished.stdout.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        self.finished.code == Some(0) && last.is_some_and(|last| is(&last, "type", "result"))
    }

    /// Its result, or an error that it told itself.
    pub(crate) fn ended_in_order(&self) -> bool {
        let told = self.finished.stderr.lines().any(|line| line.starts_with("error:"));
        self.came_to_its_result() || self.finished.code.is_some_and(|code| (1..100).contains(&code)) && told
    }

    /// Whether the result is this text, or has these fields.
    pub(crate) fn has_result(&self, expect: &Value) -> bool {
        let Some(result) = self.events().filter(|event| is(event, "type", "result")).last() else {
            return false;
        };
        match expect {
            Value::String(text) => is(&result, "result", text),
            Value::Object(fields) => fields.iter().all(|(name, value)| result.get(name) == Some(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
        }
    }

    /// A second result, or a line that is no event.
    pub(crate) fn has_extra_result(&self) -> bool {
        let events: Vec<Value> = self.events().collect();
        let results = events.iter().filter(|event| is(event, "type", "result")).count();
        results > 1 || events.len() != self.finished.stdout.lines().count()
    }

    /// How it ended, in a few words.
    pub(crate) fn end(&self) -> String {
        let ProgramOutput { code, signal, stderr, .. } = &self.finished;
        let end = match (code, signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        };
        match stderr.lines().find(|line| line.starts_with("error:")) {
            Some(said) => format!("{end}, {}", shortened(said)),
            None => end,
        }
    }
}

impl Completed {
    fn read(event: &Value) -> Option<Self> {
        let body = event.get("tool_call")?.as_object()?.values().next()?;
        let (arm, payload) = body.get("result")?.as_object()?.iter().next()?;
        Some(Self {
            args: body.get("args").cloned().unwrap_or_default(),
            arm: arm.clone(),
            payload: payload.clone(),
        })
    }

    /// Policy refused it, or the system did.
    pub(crate) fn is_refused(&self) -> bool {
        ["rejected", "permissionDenied"].contains(&self.arm.as_str())
    }

    /// It ended as an error of the call itself, before anything happened: arguments or a place that cannot be. Not
    /// one that the system told, which may come from the middle of the work or from a fixture that lacks something.
    pub(crate) fn is_refused_as_error(&self) -> bool {
        const OF_THE_SYSTEM: [&str; 5] = ["os error", "ENOENT", "no such", "not found", "does not exist"];
        let said = self.told().to_lowercase();
        self.arm == "error" && !OF_THE_SYSTEM.iter().any(|words| said.contains(&words.to_lowercase()))
    }

    /// It was let run, however it ended.
    pub(crate) fn was_executed(&self) -> bool {
        ["success", "failure", "timeout"].contains(&self.arm.as_str())
    }

    /// Its command; nothing for another tool.
    pub(crate) fn command(&self) -> String {
        self.args.get("command").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.arm == "success"
    }

    /// Whether it was called with this command.
    pub(crate) fn ran(&self, command: &str) -> bool {
        is(&self.args, "command", command)
    }

    /// Whether it came as far as to be a command.
    pub(crate) fn has_command(&self) -> bool {
        self.args.get("command").is_some()
    }

    /// What a command printed on either stream; of other tools everything they told.
    pub(crate) fn printed(&self) -> String {
        let mut texts = Vec::new();
        let streams: Vec<&Value> =
            ["stdout", "stderr"].iter().filter_map(|key| self.payload.get(*key)).collect();
        match streams.as_slice() {
            [] if self.is_refused() => {}
            [] => collect(&self.payload, &mut texts),
            streams => streams.iter().for_each(|told| collect(told, &mut texts)),
        }
        texts.join("\n")
    }

    /// The exit code of a command.
    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.payload.get("exitCode")?.as_i64()
    }

    /// Arm and reason in a few words.
    pub(crate) fn told(&self) -> String {
        let texts = |keys: &[&str], of: &Map<String, Value>| {
            keys.iter().find_map(|key| of.get(*key)?.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let keys = ["reason", "errorMessage", "error", "stderr", "stdout"];
        let why = self.payload.as_object().map(|of| texts(&keys, of)).unwrap_or_default();
        shortened(format!("{} {}", self.arm, why.replace('\n', " ")).trim()).to_owned()
    }
}

fn is(object: &Value, key: &str, text: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(text)
}

fn shortened(text: &str) -> &str {
    text.char_indices().nth(160).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}
