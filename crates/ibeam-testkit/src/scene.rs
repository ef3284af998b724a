//! A scene for a test: a model server, a workspace and the program.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::{Value, json};

use crate::{Answer, Ibeam, ModelServer, ProgramOutput, Wire, Workspace, program_path};

/// The key for each provider. It must never be printed.
pub const KEY: &str = "key-0123456789abcdef";

/// The APIs for tests of what does not depend on the API. See `Wire::ALL` for the others.
pub const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

/// Commands that use no `--model`, but for some of `fleet` and `mcp`.
const COMMANDS_WITHOUT_MODEL: &[&str] = &[
    "batch",
    "check",
    "complete",
    "completions",
    "convert",
    "diff",
    "errors",
    "fleet",
    "logout",
    "mcp",
    "policy",
    "providers",
    "quarantine",
    "replay",
    "report",
    "schema",
    "sessions",
    "setup",
    "shim",
    "trust",
    "undo",
];

/// Returns the name of the model for a wire, with its provider.
pub fn model_name(wire: Wire) -> &'static str {
    wire.model_name()
}

/// Returns the provider of [`model_name`].
pub fn provider_name(wire: Wire) -> &'static str {
    wire.provider_name()
}

/// A workspace and a model server for a test.
pub struct Scene {
    pub wire: Wire,
    pub workspace: Workspace,
    pub server: ModelServer,
}

impl Scene {
    /// Creates an empty workspace and a model server with these answers on the Anthropic wire.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with_wire(Wire::Anthropic, answers)
    }

    /// Like [`Self::new`], with another wire.
    pub fn with_wire(wire: Wire, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { wire, workspace: Workspace::new(), server: ModelServer::start(answers) }
    }

    /// Replaces the workspace.
    pub fn with_workspace(self, workspace: Workspace) -> Self {
        Self { workspace, ..self }
    }

    /// Replaces the model server by one with these answers. Workspace and home directory stay.
    pub fn with_answers(self, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { server: ModelServer::start(answers), ..self }
    }

    /// Returns the program in this workspace with these arguments, without model, server and key.
    pub fn ibeam_without_model<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        Ibeam::new(program_path(), &self.workspace).args(args)
    }

    /// Returns the program with these arguments, the model and its server, without key.
    pub fn ibeam_without_key<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        self.configure_wire();
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let model = model_name(self.wire);
        let ibeam = match takes_model(&args) {
            true => self.ibeam_without_model(["--model", model]),
            false => self.ibeam_without_model([""; 0]).env("IBEAM_MODEL", model),
        };
        ibeam
            .args(args)
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("OPENROUTER_BASE_URL", self.server.url())
            .env(self.wire.base_url_variable(), self.server.url())
    }

    /// Adds the configuration of the wire to that of the user.
    fn configure_wire(&self) {
        let Some(config) = self.wire.config() else { return };
        let directory = self.workspace.home().join(".config/ibeam");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("config.toml");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if !text.contains(config) {
            std::fs::write(path, text + config).unwrap();
        }
    }

    /// Returns the program with these arguments, the model, its server and a key.
    pub fn ibeam<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        self.ibeam_without_key(args)
            .env("ANTHROPIC_API_KEY", KEY)
            .env("OPENROUTER_API_KEY", KEY)
            .env(self.wire.key_variable(), KEY)
    }

    /// Returns a run with `--print`, a prompt and these arguments.
    pub fn print<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        self.ibeam(["-p", "do it"]).args(args)
    }
}

/// Whether a line that begins with these words is a run, or a command that uses `--model`.
fn takes_model(args: &[OsString]) -> bool {
    let words: Vec<&str> = args.iter().take(2).map_while(|arg| arg.to_str()).collect();
    match words.as_slice() {
        ["fleet", "run" | "worker"] | ["mcp", "serve"] => true,
        [first, ..] => !COMMANDS_WITHOUT_MODEL.contains(first),
        [] => true,
    }
}

/// Checks that a run did not start, and that its failure is the only line of its stream.
#[track_caller]
pub fn check_unstarted(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    let stream = output.stream();
    assert!(stream.is_unstarted() && stream.last()["exit_code"] == exit, "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
}

/// Checks that the journal of the session contains the printed text and calls.
#[track_caller]
pub fn check_journaled(scene: &Scene, output: &ProgramOutput) {
    let printed: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id = printed[0]["session_id"].as_str().unwrap();
    let events = journal(scene, id);
    let texts = |values: &[Value], pointer: &str| -> String {
        values.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
    };
    let deltas: Vec<Value> = printed.iter().filter(|line| line["type"] == "assistant").cloned().collect();
    let (text, recorded) =
        (texts(&deltas, "/message/content/0/text"), texts(&events, "/kind/text_delta/text"));
    assert!(recorded.contains(&text), "printed {text:?}, recorded {recorded:?}");
    let count = |subtype: &str, kind: &str| {
        let printed = printed.iter().filter(|line| line["type"] == "tool_call" && line["subtype"] == subtype);
        (printed.count(), events.iter().filter(|event| !event["kind"][kind].is_null()).count())
    };
    for (subtype, kind) in [("started", "tool_call_started"), ("completed", "tool_call_finished")] {
        let (printed, recorded) = count(subtype, kind);
        assert!(recorded >= printed, "{recorded} of {printed} {subtype} calls are in the journal; {output}");
    }
}

/// Returns the arm and the payload of each completed call.
#[track_caller]
pub fn results(output: &ProgramOutput) -> Vec<(String, Value)> {
    let stream = output.stream();
    let arm = |body: &Value| {
        let (arm, payload) = body["result"].as_object().unwrap().iter().next().unwrap();
        (arm.clone(), payload.clone())
    };
    stream.completed().into_iter().map(|(_, body)| arm(body)).collect()
}

/// Returns the arm and the payload of the first completed call.
#[track_caller]
pub fn result(output: &ProgramOutput) -> (String, Value) {
    results(output).swap_remove(0)
}

/// Returns the arm and the payload of the only completed call.
#[track_caller]
pub fn only_result(output: &ProgramOutput) -> (String, Value) {
    let results = results(output);
    assert_eq!(results.len(), 1, "{output}");
    result(output)
}

/// Returns the events of a session's journal.
#[track_caller]
pub fn journal(scene: &Scene, id: &str) -> Vec<Value> {
    read_journal(&scene.workspace.journal(id))
}

/// Returns the events of the journal in a file.
pub fn read_journal(path: &Path) -> Vec<Value> {
    let event = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if let Some(name) = record["blob"]["sha256"].as_str() {
            let kind = std::fs::read_to_string(path.with_file_name("blobs").join(name)).unwrap();
            let mut event = record["blob"].clone();
            event["kind"] = serde_json::from_str(&kind).unwrap();
            return Some(event);
        }
        record.get_mut("event").map(Value::take)
    };
    std::fs::read_to_string(path).unwrap().lines().filter_map(event).collect()
}

/// Returns an answer of one text delta.
pub fn answer_text(text: &str) -> Answer {
    Answer::new().text(text)
}

/// Returns an answer of one call.
pub fn answer_call(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::new().call(id, tool, arguments)
}

/// Returns an answer of one call of the tool `shell`.
pub fn answer_shell(command: &str) -> Answer {
    answer_call("toolu_shell", "shell", &json!({ "command": command }))
}
