//! A guided run with the real weights, if they are installed, in a temporary directory.
#![allow(clippy::disallowed_methods, reason = "it looks for the model where the program installs it")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking and reports when it is skipped"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use ibeam_core::{ModelEvent, ModelRequest, Provider};
use ibeam_local::setup::ModelStore;
use ibeam_local::{LocalProvider, WorkspaceFiles};
use ibeam_protocol::{Answer, Block, Message, StopReason, ToolResult, ToolSpec};

const README: &str = "# Windvane\n\nWindvane reads a weather station over a serial cable and publishes wind speed and \
                      direction on a small web page. It needs no account.\n";

struct Directory(PathBuf);

impl WorkspaceFiles for Directory {
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn exists(&self, path: &str) -> bool {
        self.0.join(path).is_file()
    }
}

fn installed() -> Option<PathBuf> {
    let data = match std::env::var_os("XDG_DATA_HOME") {
        Some(data) => PathBuf::from(data),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".local/share"),
    };
    ModelStore::new(data.join("ibeam/models")).installed_path()
}

fn spec(name: &'static str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "".into(),
        parameters: serde_json::json!({ "type": "object" }).into(),
    }
}

/// Returns the answer to `messages`, and the text of its deltas.
fn ask(provider: &LocalProvider, messages: &[Arc<Message>]) -> (Answer, String) {
    let tools = Arc::from([spec("read"), spec("write")]);
    let request = ModelRequest {
        system: "".into(),
        tools,
        messages: messages.to_vec(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    };
    let mut stream = provider.stream(Arc::new(request));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut text = String::new();
    runtime.block_on(async {
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                ModelEvent::TextDelta(delta) => text.push_str(&delta),
                ModelEvent::ThinkingDelta(_) => panic!("the embedded model sends no thinking"),
                ModelEvent::ToolCallAnnounced | ModelEvent::Notice(_) => {}
                ModelEvent::Finished(answer) => return (*answer, text),
            }
        }
        panic!("the stream ended without an end")
    })
}

fn execute(directory: &Path, call: &ibeam_protocol::ToolCall) -> String {
    let argument = |name: &str| call.arguments[name].as_str().unwrap();
    let path = directory.join(argument("path"));
    match call.name.as_str() {
        "read" => std::fs::read_to_string(path).unwrap(),
        "write" => {
            std::fs::write(path, argument("fileText")).unwrap();
            "written".to_owned()
        }
        other => panic!("`{other}` was not offered"),
    }
}

#[test]
fn the_real_model_reads_a_file_writes_its_summary_and_answers() {
    let Some(model) = installed() else {
        println!("SKIP: the embedded model is not set up (`ibeam setup` fetches it)");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("work");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("README.md"), README).unwrap();
    let workspace = Box::new(Directory(directory.clone()));
    let provider = LocalProvider::new(model, home.path().join("cache"), workspace, Box::new(drop));

    let prompt = "Read README.md and write a summary to summary.txt".to_owned();
    let mut messages = vec![Arc::new(Message::User(vec![prompt.into()]))];
    let mut called = Vec::new();
    let answer = loop {
        let (answer, text) = ask(&provider, &messages);
        let call = match answer.blocks.as_slice() {
            [Block::ToolCall(call)] => call.clone(),
            [Block::Text(streamed)] => {
                assert_eq!(*streamed, text, "the answer equals the streamed text");
                break answer;
            }
            other => panic!("neither one call nor one text: {other:?}"),
        };
        assert_eq!((answer.stop, text.as_str()), (StopReason::ToolUse, ""));
        called.push(format!("{} {}", call.name, call.arguments["path"].as_str().unwrap()));
        let result = ToolResult {
            media: Vec::new(),
            call_id: call.id.clone(),
            name: call.name.clone(),
            text: execute(&directory, &call).into(),
            is_error: false,
        };
        messages.push(Arc::new(Message::Assistant(vec![Block::ToolCall(call)])));
        messages.push(Arc::new(Message::ToolResults(vec![result])));
    };
    assert_eq!(called, ["read README.md", "write summary.txt"]);
    assert_eq!(answer.stop, StopReason::EndTurn);
    let usage = answer.usage.unwrap();
    assert!(usage.output > 0 && usage.cache_read > usage.input, "the prefix is reused: {usage:?}");
    let summary = std::fs::read_to_string(directory.join("summary.txt")).unwrap().to_lowercase();
    assert!(summary.contains("wind") || summary.contains("weather"), "{summary}");
    assert_eq!(std::fs::read_to_string(directory.join("README.md")).unwrap(), README);

    // A stream that is dropped lets go of the engine: the next request is served.
    let request = ModelRequest {
        system: "".into(),
        tools: Arc::from([]),
        messages: vec![messages[0].clone()],
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    };
    let mut dropped = provider.stream(Arc::new(request));
    assert!(dropped.next().now_or_never().is_none());
    drop(dropped);
    let hello = [Arc::new(Message::User(vec!["Say hello.".into()]))];
    assert_eq!(ask(&provider, &hello).0.stop, StopReason::EndTurn);
}

#[test]
fn a_missing_model_is_reported_as_not_installed() {
    let home = tempfile::tempdir().unwrap();
    let workspace = Box::new(Directory(home.path().to_owned()));
    let (sender, loads) = std::sync::mpsc::channel();
    let on_load = Box::new(move |is_loading| sender.send(is_loading).unwrap());
    let provider =
        LocalProvider::new(home.path().join("none.gguf"), home.path().join("cache"), workspace, on_load);
    let request = ModelRequest {
        system: "".into(),
        tools: Arc::from([]),
        messages: Vec::new(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let events: Vec<_> = runtime.block_on(provider.stream(Arc::new(request)).collect());
    let [Err(error)] = events.as_slice() else { panic!("{events:?}") };
    assert!(matches!(error.failure.reason, ibeam_protocol::Reason::ModelNotInstalled { .. }), "{error:?}");
    assert_eq!(loads.try_iter().collect::<Vec<_>>(), [true, false], "the loading has an end");
}
