//! `ibeam batch`, against a server with the batch APIs, and the script of docs/batch.md.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ibeam_testkit::scene::KEY;
use ibeam_testkit::{
    Answer, BatchServer, Ibeam, PartAnswer, ProgramOutput, Request, Wire, Workspace, program_path,
};
use serde_json::{Value, json};

use super::documented_fleet;

/// Runs that use one batch server.
struct Batches {
    server: BatchServer,
    workspace: Workspace,
    wire: Wire,
}

/// Lets each run make a call, and then answer with its prompt.
pub(crate) fn plan(_: &str, request: &Request) -> PartAnswer {
    let transcript = request.transcript();
    let prompt = transcript.first().cloned().unwrap_or_default();
    let word = prompt.rsplit(' ').next().unwrap_or_default().to_owned();
    match transcript.iter().any(|line| line.starts_with("result ")) {
        true => Answer::new().text(format!("the answer to {word}")).into(),
        false => Answer::new().call("call_1", "ls", &json!({ "path": ".", "ignore": [] })).into(),
    }
}

impl Batches {
    fn new(wire: Wire, plan: impl Fn(&str, &Request) -> PartAnswer + Send + Sync + 'static) -> Self {
        Self { server: BatchServer::start(plan), workspace: Workspace::new(), wire }
    }

    fn parked(&self) -> PathBuf {
        self.workspace.home().join("parked")
    }

    fn ibeam(&self, args: &[&str]) -> Ibeam {
        Ibeam::new(program_path(), &self.workspace)
            .args(args)
            .env("IBEAM_MODEL", self.wire.model_name())
            .env(self.wire.base_url_variable(), self.server.url())
            .env(self.wire.key_variable(), KEY)
    }

    /// Starts a run with the prompt and returns its session.
    fn start(&self, prompt: &str) -> String {
        let output =
            self.ibeam(&["-p", prompt, "--mode", "ask", "--park-requests"]).args([self.parked()]).run();
        assert_eq!(output.code, Some(79), "{output}");
        output.stream().session_id().to_owned()
    }

    fn unpark(&self, session: &str) -> ProgramOutput {
        let resume = format!("--resume={session}");
        let args = ["-p", "--mode", "ask", &resume, "--unpark", "--park-requests"];
        self.ibeam(&args).args([self.parked()]).run()
    }

    fn batch(&self) -> Ibeam {
        self.ibeam(&["batch", "--interval", "0"]).args([self.parked()])
    }

    fn files(&self, end: &str) -> usize {
        let entries = std::fs::read_dir(self.parked()).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().ends_with(end)).count()
    }

    /// Runs batches and runs until all have ended. Returns the final answers by session.
    fn run_all(&self, sessions: &[String]) -> BTreeMap<String, Value> {
        let mut results = BTreeMap::new();
        for _ in 0..6 {
            self.batch().args(["--wait"]).run().succeeded();
            for session in
                sessions.iter().filter(|session| !results.contains_key(*session)).cloned().collect::<Vec<_>>()
            {
                let output = self.unpark(&session);
                if output.code != Some(79) {
                    results.insert(session, output.succeeded().stream().last().clone());
                }
            }
            if results.len() == sessions.len() {
                return results;
            }
        }
        panic!("some runs have not ended");
    }
}

fn lines(output: &ProgramOutput) -> Vec<Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(output: &ProgramOutput) -> Vec<String> {
    lines(output).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_answered_by_batches_of_every_api() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let batches = Batches::new(wire, plan);
        let sessions: Vec<String> = (0..3).map(|n| batches.start(&format!("question {n}"))).collect();
        let results = batches.run_all(&sessions);
        for (n, session) in sessions.iter().enumerate() {
            let result = &results[session];
            assert_eq!(result["result"], format!("the answer to {n}"), "{wire:?}");
            assert_eq!(result["ibeam"]["turns"], 2, "{wire:?}");
        }
        let accepted = batches.server.batches();
        let sizes: Vec<_> = accepted.iter().map(|batch| batch.requests.len()).collect();
        assert_eq!(sizes, [3, 3], "{wire:?}: one batch for each request of all runs");
        assert!(batches.server.live_requests().is_empty(), "{wire:?}");
        assert_eq!((batches.files(".request.json"), batches.files(".answer.json")), (0, 0), "{wire:?}");
    }
}

#[test]
fn a_batch_whose_reply_was_lost_is_not_submitted_again() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let batches = Batches::new(wire, plan);
        batches.start("question 1");
        batches.server.lose_next_reply();
        let interrupted = batches.batch().run().succeeded();
        assert_eq!(kinds(&interrupted), ["retry"], "{wire:?}: {interrupted}");
        let found = batches.batch().args(["--wait"]).run().succeeded();
        assert!(kinds(&found).contains(&"found".to_owned()), "{wire:?}: {found}");
        assert!(kinds(&found).contains(&"answered".to_owned()), "{wire:?}: {found}");
        assert_eq!(batches.server.batches().len(), 1, "{wire:?}");
    }
}

#[test]
fn expired_and_failed_requests_are_sent_again_and_refused_ones_fail_their_run() {
    let seen = std::sync::Mutex::new(BTreeMap::<String, u32>::new());
    let batches = Batches::new(Wire::Anthropic, move |id, request| {
        let prompt = request.transcript().first().cloned().unwrap_or_default();
        let mut seen = seen.lock().unwrap();
        let count = seen.entry(id.to_owned()).or_default();
        *count += 1;
        match (prompt.rsplit(' ').next().unwrap_or_default(), *count) {
            ("expired", 1) => PartAnswer::Expired,
            ("cancelled", 1) => PartAnswer::Cancelled,
            ("overloaded", 1 | 2) => PartAnswer::Error(529, "overloaded_error", "busy"),
            ("invalid", _) => PartAnswer::Error(400, "invalid_request_error", "not valid"),
            (word, _) => Answer::new().text(word).into(),
        }
    });
    let words = ["expired", "cancelled", "overloaded", "invalid"];
    let sessions = words.map(|word| batches.start(&format!("question {word}")));
    let output = batches.batch().args(["--wait"]).run().succeeded();
    let count = |kind: &str| kinds(&output).iter().filter(|other| *other == kind).count();
    assert_eq!((count("answered"), count("unanswered")), (4, 4), "{output}");
    for (word, session) in words.iter().zip(&sessions) {
        let ended = batches.unpark(session);
        match *word {
            "invalid" => assert_eq!(ended.code, Some(22), "{ended}"),
            word => assert_eq!(ended.succeeded().stream().last()["result"], word),
        }
    }
    assert_eq!(batches.files(".json"), 0);
}

#[test]
fn a_refused_batch_ends_the_command_and_loses_nothing() {
    let batches = Batches::new(Wire::Anthropic, plan);
    batches.start("question 1");
    batches.server.fail_next(&[401]);
    let refused = batches.batch().args(["--wait"]).run();
    assert_eq!(refused.code, Some(20), "{refused}");
    assert!(!refused.stdout.contains(KEY) && !refused.stderr.contains(KEY));
    batches.server.fail_next(&[503]);
    let answered = batches.batch().args(["--wait"]).run().succeeded();
    assert!(kinds(&answered).contains(&"answered".to_owned()), "{answered}");
    assert_eq!(batches.server.batches().len(), 1);
}

/// Runs a script of docs/batch.md, which contains `word`, in the workspace.
fn run_script_of_the_page(batches: &Batches, word: &str) -> std::process::Output {
    let page = include_str!("../../../../docs/batch.md");
    let server = batches.server.url();
    let variables = [("INTERVAL", "0"), ("ANTHROPIC_BASE_URL", server.as_str())];
    documented_fleet::run_script(page, word, &batches.workspace, batches.workspace.path(), &variables)
}

/// Returns the text of the result in the file of a run.
fn result_in(path: &std::path::Path) -> String {
    let stream = std::fs::read_to_string(path).unwrap();
    let last: Value = serde_json::from_str(stream.lines().last().unwrap()).unwrap();
    last["result"].as_str().unwrap().to_owned()
}

#[test]
fn the_script_for_one_run_gets_its_result() {
    let batches = Batches::new(Wire::Anthropic, plan);
    run_script_of_the_page(&batches, "--continue --unpark");
    assert_eq!(result_in(&batches.workspace.path().join("run.ndjson")), "the answer to project");
}

#[test]
fn the_script_for_a_fleet_gives_every_task_its_result_and_a_report() {
    let batches = Batches::new(Wire::Anthropic, plan);
    let root = batches.workspace.path();
    let task = |n: u32| format!("{{\"id\":\"t{n}\",\"prompt\":\"question {n}\",\"workspace\":\".\"}}\n");
    std::fs::write(root.join("tasks.jsonl"), (0..3).map(task).collect::<String>()).unwrap();
    let output = run_script_of_the_page(&batches, "ibeam fleet poll");
    let results = std::fs::read_to_string(root.join("results.ndjson")).unwrap();
    assert_eq!(results.matches("\"outcome\":\"passed\"").count(), 3, "{results}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("t2"), "{output:?}");
}

#[test]
fn the_script_of_the_page_gives_every_task_its_result() {
    let batches = Batches::new(Wire::Anthropic, plan);
    let root = batches.workspace.path();
    std::fs::create_dir(root.join("tasks")).unwrap();
    for n in 0..3 {
        std::fs::write(root.join(format!("tasks/{n}")), format!("question {n}")).unwrap();
    }
    run_script_of_the_page(&batches, "for task in tasks/*");
    let results = std::fs::read_dir(root.join("results")).unwrap();
    let mut results: Vec<_> = results.map(|entry| result_in(&entry.unwrap().path())).collect();
    results.sort();
    assert_eq!(results, ["the answer to 0", "the answer to 1", "the answer to 2"]);
    assert_eq!(batches.server.batches().len(), 2);
}
