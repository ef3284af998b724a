//! A model server, a workspace and the binary, put together.

use std::ffi::OsStr;

use ibeam_testkit::{Answer, Ibeam, ModelServer, ProgramOutput, Wire, Workspace};
use serde_json::{Value, json};

/// The key of every provider; it must never be printed.
pub(crate) const KEY: &str = "key-0123456789abcdef";

pub(crate) const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

/// The binary.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_ibeam");

/// The name of the model on a wire.
pub(crate) fn model_name(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic/claude-sonnet-4-20250514",
        Wire::OpenAi => "openrouter/anthropic/claude-sonnet-4",
    }
}

/// The provider of that model.
pub(crate) fn provider_name(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic",
        Wire::OpenAi => "openrouter",
    }
}

/// What a test runs in.
pub(crate) struct Scene {
    pub(crate) wire: Wire,
    pub(crate) workspace: Workspace,
    pub(crate) server: ModelServer,
}

impl Scene {
    /// An empty workspace and a model that answers so, on the Anthropic wire.
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with_wire(Wire::Anthropic, answers)
    }

    /// The same on either wire.
    pub(crate) fn with_wire(wire: Wire, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { wire, workspace: Workspace::new(), server: ModelServer::start(answers) }
    }

    /// The same in another workspace.
    pub(crate) fn with_workspace(self, workspace: Workspace) -> Self {
        Self { workspace, ..self }
    }

    /// The next part of the story: the same workspace and home, other answers.
    pub(crate) fn with_answers(self, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { server: ModelServer::start(answers), ..self }
    }

    /// The binary in this workspace with these arguments, nothing more: no key, no server.
    pub(crate) fn ibeam_without_model<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        Ibeam::new(BINARY, &self.workspace).args(args)
    }

    /// The binary that knows where the server is, but no key.
    pub(crate) fn ibeam_without_key<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        self.ibeam_without_model(["--model", model_name(self.wire)])
            .args(args)
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("OPENROUTER_BASE_URL", self.server.url())
    }

    /// The binary with all it needs, and these arguments.
    pub(crate) fn ibeam<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        self.ibeam_without_key(args).env("ANTHROPIC_API_KEY", KEY).env("OPENROUTER_API_KEY", KEY)
    }

    /// A run with `-p` and a prompt.
    pub(crate) fn print<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ibeam {
        self.ibeam(["-p", "do it"]).args(args)
    }
}

/// Holds that what was printed is in the journal of the session too.
#[track_caller]
pub(crate) fn check_journaled(scene: &Scene, output: &ProgramOutput) {
    let printed: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id = printed[0]["session_id"].as_str().unwrap();
    let events = journal(scene, id);
    let texts = |of: &[Value], pointer: &str| -> String {
        of.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
    };
    let deltas: Vec<Value> = printed.iter().filter(|line| line["type"] == "assistant").cloned().collect();
    let (message, kept) =
        (texts(&deltas, "/message/content/0/text"), texts(&events, "/kind/text_delta/text"));
    assert!(kept.contains(&message), "printed {message:?}, kept {kept:?}");
    let count = |subtype: &str, kind: &str| {
        let printed = printed.iter().filter(|line| line["type"] == "tool_call" && line["subtype"] == subtype);
        (printed.count(), events.iter().filter(|event| !event["kind"][kind].is_null()).count())
    };
    for (subtype, kind) in [("started", "tool_call_started"), ("completed", "tool_call_finished")] {
        let (printed, kept) = count(subtype, kind);
        assert!(kept >= printed, "{kept} of {printed} {subtype} calls were kept; {output}");
    }
}

/// The events of a session's journal.
#[track_caller]
pub(crate) fn journal(scene: &Scene, id: &str) -> Vec<Value> {
    let path = scene.workspace.journal(id);
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
    std::fs::read_to_string(&path).unwrap().lines().filter_map(event).collect()
}

/// An answer of one delta.
pub(crate) fn answer_text(text: &str) -> Answer {
    Answer::new().text(text)
}

/// An answer of one call.
pub(crate) fn answer_call(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::new().call(id, tool, arguments)
}

/// An answer of one call of the shell.
pub(crate) fn answer_shell(command: &str) -> Answer {
    answer_call("toolu_shell", "shell", &json!({ "command": command }))
}
