//! Runs that end at each model request and continue with the answers of a batch.

use std::path::{Path, PathBuf};

use ibeam_testkit::scene::{Scene, WIRES, answer_text};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, Wire, answer_document};
use serde_json::{Value, json};

/// A run that is parked in a directory of its own.
struct Parked {
    scene: Scene,
    directory: PathBuf,
    session: String,
}

impl Parked {
    /// Starts a run, which parks its first request.
    fn start(wire: Wire, flags: &[&str]) -> Self {
        let scene = Scene::with_wire(wire, []);
        let directory = scene.workspace.home().join("parked");
        let output = scene.print(["--force", "--park-requests"]).args([&directory]).args(flags).run();
        assert_parked(&output);
        let session = output.stream().session_id().to_owned();
        Self { scene, directory, session }
    }

    /// Returns the command that continues the run.
    fn unpark(&self, flags: &[&str]) -> Ibeam {
        let resume = format!("--resume={}", self.session);
        let args = ["-p", &resume, "--unpark", "--force", "--park-requests"];
        self.scene.ibeam(args).args([&self.directory]).args(flags)
    }

    /// Returns the only parked request.
    #[track_caller]
    fn request(&self) -> Value {
        let paths = files(&self.directory, ".request.json");
        assert_eq!(paths.len(), 1, "{paths:?}");
        serde_json::from_slice(&std::fs::read(&paths[0]).unwrap()).unwrap()
    }

    /// Answers the parked request.
    fn answer(&self, document: &str) {
        let id = self.request()["id"].as_str().unwrap().to_owned();
        std::fs::write(self.directory.join(format!("{id}.answer.json")), document).unwrap();
    }

    fn answer_with(&self, answer: &Answer) {
        self.answer(&answer_document(self.scene.wire, answer));
    }
}

fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().ends_with(end)).collect()
}

#[track_caller]
fn assert_parked(output: &ProgramOutput) {
    assert_eq!(output.code, Some(79), "{output}");
    let stream = output.stream();
    let last = stream.last();
    assert_eq!((&last["type"], &last["code"]), (&json!("error"), &json!("parked")), "{output}");
    assert_eq!((&last["retryable"], &last["resumable"]), (&json!(false), &json!(true)), "{output}");
}

fn list_call() -> Answer {
    Answer::new().text("I look. ").call("call_1", "ls", &json!({ "path": ".", "ignore": [] }))
}

#[test]
fn a_parked_run_continues_as_if_the_service_had_answered() {
    for wire in WIRES {
        let parked = Parked::start(wire, &[]);
        let request = parked.request();
        assert_eq!((&request["version"], request["wire"].is_string()), (&json!(1), true), "{request}");
        assert_eq!(request["session_id"], parked.session);
        assert!(request["body"].get("stream").is_none(), "{request}");
        parked.answer_with(&list_call());
        let second = parked.unpark(&[]).run();
        assert_parked(&second);
        assert_eq!(second.stream().completed().len(), 1, "{second}");
        assert_eq!(second.stream().last()["result"], "I look. ", "{second}");
        let body = parked.request()["body"].clone();
        parked.answer_with(&answer_text("All done."));
        let last = parked.unpark(&[]).run().succeeded();
        let stream = last.stream();
        let result = stream.last();
        assert_eq!(
            (&result["result"], &result["ibeam"]["final"]),
            (&json!("All done."), &json!("All done."))
        );
        let counts =
            (&result["ibeam"]["turns"], &result["ibeam"]["tool_calls"], &result["usage"]["outputTokens"]);
        assert_eq!(counts, (&json!(2), &json!(1), &json!(20)), "{last}");
        assert!(parked.scene.server.requests().is_empty(), "nothing was sent");
        // The same run without a batch.
        let live = parked.scene.with_answers([list_call(), answer_text("All done.")]);
        let output = live.print(["--force"]).run().succeeded();
        let sent = live.server.requests();
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(sent[1].messages().len()));
        assert_eq!(body["tools"], sent[1].body["tools"]);
        if wire == Wire::Anthropic {
            let cost = |result: &Value| result["ibeam"]["cost_usd"].as_f64().unwrap();
            let (half, whole) = (cost(result), cost(output.stream().last()));
            assert!((half * 2.0 - whole).abs() < 4e-6, "{half} of {whole}");
        }
    }
}

#[test]
fn a_run_that_has_ended_is_reported_again_without_a_request() {
    let parked = Parked::start(Wire::Anthropic, &[]);
    parked.answer_with(&answer_text("Hello."));
    parked.unpark(&[]).run().succeeded();
    for path in files(&parked.directory, ".json") {
        std::fs::remove_file(path).unwrap();
    }
    let again = parked.unpark(&[]).run().succeeded();
    assert_eq!(again.stream().last()["ibeam"]["turns"], 1, "{again}");
    assert!(files(&parked.directory, ".json").is_empty());
}

#[test]
fn a_run_that_was_killed_within_an_answer_reads_the_answer_again() {
    let parked = Parked::start(Wire::Anthropic, &[]);
    parked.answer_with(&answer_text("All done."));
    let [answer] = files(&parked.directory, ".answer.json").try_into().unwrap();
    let document = std::fs::read(&answer).unwrap();
    parked.unpark(&[]).run().succeeded();
    std::fs::write(&answer, document).unwrap();
    let path = parked.scene.workspace.journal(&parked.session);
    let journal = std::fs::read_to_string(&path).unwrap();
    let (whole, _) = journal.split_once("\"model_request_finished\"").unwrap();
    let (recorded, _) = whole.rsplit_once('\n').unwrap();
    assert!(recorded.contains("\"text_delta\""), "{recorded}");
    std::fs::write(&path, format!("{recorded}\n")).unwrap();
    let again = parked.unpark(&[]).run().succeeded();
    let result = again.stream().last().clone();
    assert_eq!((&result["result"], &result["ibeam"]["turns"]), (&json!("All done."), &json!(1)), "{again}");
}

#[test]
fn a_request_without_an_answer_stays_parked_as_it_was() {
    let parked = Parked::start(Wire::Anthropic, &[]);
    let request = parked.request();
    assert_parked(&parked.unpark(&[]).run());
    assert_eq!(parked.request(), request);
}

#[test]
fn limits_count_over_all_processes_of_a_run() {
    let parked = Parked::start(Wire::Anthropic, &["--max-turns", "2"]);
    for _ in 0..2 {
        parked.answer_with(&list_call());
        let output = parked.unpark(&["--max-turns", "2"]).run();
        if output.code == Some(79) {
            continue;
        }
        assert_eq!(output.stream().last()["code"], "limit", "{output}");
        return;
    }
    panic!("the limit ends the run");
}

#[test]
fn a_refused_request_fails_the_run_and_is_parked_again_later() {
    let parked = Parked::start(Wire::Anthropic, &[]);
    let error =
        json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "not valid" } });
    let request = parked.request();
    parked.answer(&error.to_string());
    let output = parked.unpark(&[]).run();
    assert_eq!((output.code, &output.stream().last()["code"]), (Some(22), &json!("request")), "{output}");
    assert_parked(&parked.unpark(&[]).run());
    assert_eq!(parked.request(), request);
}

#[test]
fn a_killed_process_asks_for_nothing_twice() {
    let parked = Parked::start(Wire::Anthropic, &["--sandbox", "disabled"]);
    let first = parked.request()["id"].clone();
    let command = json!({ "command": "sleep 60" });
    parked.answer_with(&Answer::new().call("call_1", "shell", &command));
    let running = parked.unpark(&["--sandbox", "disabled"]).start();
    running.wait_for_stdout("\"subtype\":\"started\"");
    drop(running);
    let output = parked.unpark(&["--sandbox", "disabled"]).run();
    assert_parked(&output);
    let second = parked.request();
    assert_ne!(second["id"], first);
    assert!(second["body"]["messages"].to_string().contains("sleep 60"), "{second}");
    parked.answer_with(&answer_text("Done."));
    let last = parked.unpark(&[]).run().succeeded();
    assert_eq!(last.stream().last()["ibeam"]["turns"], 2, "{last}");
}

#[test]
fn flags_that_cannot_work_are_refused() {
    let check = |args: &[&str], message: &str| {
        let output = Scene::new([]).ibeam(args.iter().copied()).run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(message), "{output}");
    };
    check(&["-p", "--unpark"], "`--unpark` needs `--resume`");
    check(&["-p", "--continue", "--unpark", "more"], "without a prompt");
    let output = Scene::with_wire(Wire::Cohere, []).print(["--park-requests", "parked"]).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("batch API"), "{output}");
}
