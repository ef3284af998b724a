//! The five published sample streams, reproduced end to end on every API.
//!
//! A sample string that ends in `...` is abbreviated: the printed string has the same start, and the sizes that the
//! sample contains. Ids and times are those of the run, paths those of the workspace. A run may add keys only.

use ibeam_testkit::scene::{KEY, Scene, provider_name};
use ibeam_testkit::{Answer, Stdin, Wire, Workspace};
use serde_json::Value;

const SAMPLE_DIRECTORY: &str = "/Users/user/project";

#[track_caller]
fn check(sample: &str) {
    for wire in Wire::ALL {
        reproduce(sample, wire);
    }
}

#[track_caller]
fn reproduce(sample: &str, wire: Wire) {
    let mut published: Vec<Value> = sample.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (_, id) = wire.model_name().split_once('/').unwrap();
    let display = format!("[models.display]\n\"{id}\" = {}\n", published[0]["model"]);
    let workspace = Workspace::new().user_config(&display).file("README.md", readme(&published));
    let scene = Scene::with_wire(wire, script(&published)).with_workspace(workspace);
    let login = scene
        .ibeam_without_model(["login", provider_name(wire), "--no-check"])
        .stdin(Stdin::Piped(format!("{KEY}\n").into_bytes()));
    login.run().succeeded();

    let prompt = published[1]["message"]["content"][0]["text"].as_str().unwrap();
    let output = scene.ibeam_without_key(["-p", "--output-format", "stream-json", prompt]).run().succeeded();
    let own = output.stream();
    scene.server.assert_all_answers_sent();

    let directory = scene.workspace.path().to_str().unwrap();
    let last = published.len() - 1;
    published[last]["result"] = deltas(&published).concat().into();
    if !wire.has_request_ids() {
        published[last].as_object_mut().unwrap().shift_remove("request_id");
    }
    assert_eq!(own.events.len(), published.len(), "{output}");
    for (own, published) in own.events.iter().zip(&published) {
        let published = published.to_string().replace(SAMPLE_DIRECTORY, directory);
        check_value(own, &serde_json::from_str(&published).unwrap(), "");
    }
    let summary = scene.workspace.read("summary.txt").unwrap();
    assert_eq!((summary.lines().count(), summary.len()), (19, 942));
    assert_eq!(output.stderr, "");
}

/// Asserts that a printed value has the content of the published one, in the same order.
#[track_caller]
fn check_value(own: &Value, published: &Value, at: &str) {
    match (own, published) {
        (Value::Object(own), Value::Object(published)) => {
            let known: Vec<&String> = own.keys().filter(|key| published.contains_key(*key)).collect();
            assert_eq!(known, published.keys().collect::<Vec<_>>(), "keys at {at}");
            for (key, value) in published {
                check_value(&own[key], value, &format!("{at}/{key}"));
            }
        }
        (Value::Array(own), Value::Array(published)) => {
            assert_eq!(own.len(), published.len(), "length at {at}");
            for (own, published) in own.iter().zip(published) {
                check_value(own, published, &format!("{at}/0"));
            }
        }
        (Value::String(_), Value::String(_)) if at == "/session_id" || at == "/request_id" => {}
        (Value::Number(own), Value::Number(_)) if at.starts_with("/duration") => {
            assert!(own.is_u64(), "integer milliseconds at {at}: {own}");
        }
        (Value::String(own), Value::String(published)) => match published.strip_suffix("...") {
            Some(beginning) => assert!(own.starts_with(beginning), "{at}: {own}"),
            None => assert_eq!(own, published, "{at}"),
        },
        _ => assert_eq!(own, published, "{at}"),
    }
}

/// Returns the answers that produce the sample. Each has text and a call; the last one is empty, as in the samples.
fn script(published: &[Value]) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut answer = Answer::new();
    for event in published {
        match (event["type"].as_str().unwrap(), event["subtype"].as_str()) {
            ("assistant", _) => answer = answer.text(text_of(event)),
            ("tool_call", Some("started")) => {
                let id = event["call_id"].as_str().unwrap();
                let (key, body) = event["tool_call"].as_object().unwrap().iter().next().unwrap();
                let name = key.strip_suffix("ToolCall").unwrap();
                let mut arguments = body["args"].clone();
                arguments.as_object_mut().unwrap().remove("toolCallId");
                if let Some(text) = arguments["fileText"].as_str() {
                    arguments["fileText"] = expand(text, 19, |text| 942 - text.len()).into();
                }
                answers.push(std::mem::take(&mut answer).call(id, name, &arguments));
            }
            _ => {}
        }
    }
    answers.push(answer);
    answers
}

/// Returns the content of the file that the sample reads.
fn readme(published: &[Value]) -> String {
    let read =
        published.iter().find_map(|event| event.pointer("/tool_call/readToolCall/result/success")).unwrap();
    let chars = usize::try_from(read["totalChars"].as_u64().unwrap()).unwrap();
    let lines = usize::try_from(read["totalLines"].as_u64().unwrap()).unwrap();
    expand(read["content"].as_str().unwrap(), lines, |text| chars - text.chars().count())
}

/// Returns an abbreviated text with its full size: `lines` lines, and as many filler characters as `missing` returns.
fn expand(abbreviated: &str, lines: usize, missing: impl Fn(&str) -> usize) -> String {
    let mut text = abbreviated.strip_suffix("...").unwrap().to_owned();
    let breaks = lines - text.matches('\n').count();
    let filler = missing(&text) - breaks;
    for line in 0..breaks {
        let extra = usize::from(line < filler % breaks);
        text.push_str(&".".repeat(filler / breaks + extra));
        text.push('\n');
    }
    text
}

fn text_of(event: &Value) -> &str {
    event["message"]["content"][0]["text"].as_str().unwrap()
}

fn deltas(published: &[Value]) -> Vec<&str> {
    published.iter().filter(|event| event["type"] == "assistant").map(text_of).collect()
}

#[test]
fn the_spanish_sample_is_reproduced() {
    check(include_str!("../samples/es.ndjson"));
}

#[test]
fn the_french_sample_is_reproduced() {
    check(include_str!("../samples/fr.ndjson"));
}

#[test]
fn the_indonesian_sample_is_reproduced() {
    check(include_str!("../samples/id.ndjson"));
}

/// The `result` of this sample is not the concatenation of its deltas; `reproduce` expects the concatenation.
#[test]
fn the_japanese_sample_is_reproduced() {
    check(include_str!("../samples/ja.ndjson"));
}

#[test]
fn the_portuguese_sample_is_reproduced() {
    check(include_str!("../samples/pt.ndjson"));
}
