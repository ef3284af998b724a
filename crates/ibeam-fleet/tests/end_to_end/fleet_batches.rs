//! `fleet run --batch` and `fleet poll`, against a server with the batch APIs.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ibeam_testkit::fleet_tasks::{results, task_dir};
use ibeam_testkit::scene::KEY;
use ibeam_testkit::{
    Answer, BatchServer, Ibeam, PartAnswer, ProgramOutput, Request, Wire, Workspace, program_path,
};
use serde_json::{Value, json};

use super::batches::plan;

/// A fleet whose requests one server answers in batches.
pub(crate) struct BatchFleet {
    pub(crate) server: BatchServer,
    pub(crate) workspace: Workspace,
    wire: Wire,
}

impl BatchFleet {
    pub(crate) fn new(
        wire: Wire,
        plan: impl Fn(&str, &Request) -> PartAnswer + Send + Sync + 'static,
    ) -> Self {
        let workspace = Workspace::new().file("a.txt", "a\n");
        Self { server: BatchServer::start(plan), workspace, wire }
    }

    /// Writes a task file: a task for each word, whose prompt ends with it.
    pub(crate) fn write_tasks(&self, words: &[impl AsRef<str>]) -> PathBuf {
        let path = self.workspace.outside().join("tasks.jsonl");
        let line = |word: &str| {
            let workspace = self.workspace.path();
            let check = "grep -q a a.txt";
            let task = json!({
                "id": word, "prompt": format!("question {word}"), "workspace": workspace, "check": check,
            });
            format!("{task}\n")
        };
        fs::write(&path, words.iter().map(|word| line(word.as_ref())).collect::<String>()).unwrap();
        path
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.workspace.outside().join("tasks.fleet")
    }

    /// Returns the program without a model.
    pub(crate) fn ibeam(&self, args: &[&str]) -> Ibeam {
        Ibeam::new(program_path(), &self.workspace)
            .args(args)
            .env(self.wire.base_url_variable(), self.server.url())
            .env(self.wire.key_variable(), KEY)
            .timeout(Duration::from_secs(120))
    }

    pub(crate) fn run(&self, flags: &[&str]) -> Ibeam {
        self.run_with_interval("1", flags)
    }

    /// Like [`Self::run`], with the seconds between two polls. Requests that come within them are in the same batch.
    fn run_with_interval(&self, seconds: &str, flags: &[&str]) -> Ibeam {
        let tasks = self.workspace.outside().join("tasks.jsonl");
        let args = ["--model", self.wire.model_name(), "--mode", "ask", "fleet", "run", "--batch"];
        self.ibeam(&args).args([tasks]).args(["--interval", seconds]).args(flags)
    }

    pub(crate) fn poll(&self, flags: &[&str]) -> Ibeam {
        self.ibeam(&["fleet", "poll"]).args([self.directory()]).args(["--interval", "1"]).args(flags)
    }

    fn status(&self) -> Value {
        let output = self.ibeam(&["fleet", "status", "--format", "json"]).args([self.directory()]).run();
        serde_json::from_str(&output.succeeded().stdout).unwrap()
    }

    fn files(&self, end: &str) -> usize {
        let entries = fs::read_dir(self.directory().join("parked")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(end)).count()
    }

    /// Returns how many processes name the directory of the fleet.
    fn processes(&self) -> usize {
        let directory = self.directory().to_str().unwrap().to_owned();
        let is_run = |path: PathBuf| {
            let line = fs::read(path.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&directory)
        };
        fs::read_dir("/proc").unwrap().filter(|entry| is_run(entry.as_ref().unwrap().path())).count()
    }
}

/// Asserts that the command has submitted requests and ended, and says how to continue.
#[track_caller]
fn assert_waiting(output: &ProgramOutput, tasks: usize) {
    assert_eq!(output.code, Some(79), "{output}");
    assert!(output.stderr.contains(&format!("error: {tasks} tasks wait for batches")), "{output}");
    assert!(output.stderr.contains("`ibeam fleet poll "), "{output}");
}

#[test]
fn tasks_wait_without_a_process_and_a_poll_continues_them_with_the_flags_of_the_fleet() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let fleet = BatchFleet::new(wire, plan);
        fleet.write_tasks(&["0", "1", "2"]);
        fleet.server.hold(true);
        let output = fleet.run_with_interval("60", &["--jobs", "2"]).run();
        assert_waiting(&output, 3);
        assert_eq!((fleet.processes(), output.stdout.as_str()), (0, ""), "{output}");
        assert_eq!(fleet.status()["counts"]["waiting"], 3);
        assert_waiting(&fleet.poll(&[]).run(), 3);
        assert_eq!(fleet.server.batches().len(), 1, "{wire:?}: nothing is submitted twice");
        fleet.server.hold(false);
        let output = fleet.poll(&["--wait"]).run().succeeded();
        let results = results(&output);
        assert_eq!(results.len(), 3, "{output}");
        for (word, result) in &results {
            assert_eq!(result["outcome"], "passed", "{output}");
            assert_eq!((&result["check"]["passed"], &result["runs"]), (&json!(true), &json!(3)));
            let stream = task_dir(&fleet.directory(), word).join("stream.ndjson");
            let stream = fs::read_to_string(stream).unwrap();
            let last: Value = serde_json::from_str(stream.lines().last().unwrap()).unwrap();
            assert_eq!(last["result"], format!("the answer to {word}"), "{wire:?}");
            // Each of the two requests counts once.
            assert_eq!(result["usage"]["outputTokens"], 20, "{wire:?}: {result}");
            if wire == Wire::Anthropic {
                assert_eq!(result["cost_usd"], last["ibeam"]["cost_usd"], "{result}");
            }
        }
        let sizes: Vec<_> = fleet.server.batches().iter().map(|batch| batch.requests.len()).collect();
        // On a busy machine the second step takes longer than an interval.
        assert_eq!((sizes[0], sizes.iter().sum::<usize>()), (3, 6), "{wire:?}: no request is in two batches");
        assert!(fleet.server.live_requests().is_empty(), "{wire:?}");
        assert_eq!((fleet.files(".request.json"), fleet.files(".answer.json")), (0, 0), "{wire:?}");
        // No result again, and no request.
        let again = fleet.poll(&[]).run().succeeded();
        assert_eq!(again.stdout, "");
        assert_eq!(fleet.server.batches().len(), sizes.len());
    }
}

#[test]
fn a_waiting_command_stays_until_all_tasks_have_ended() {
    let fleet = BatchFleet::new(Wire::Anthropic, plan);
    fleet.write_tasks(&["0", "1", "2", "3"]);
    fleet.server.end_after(1);
    let output = fleet.run_with_interval("5", &["--wait"]).run().succeeded();
    assert_eq!(results(&output).len(), 4, "{output}");
    assert!(output.stderr.contains("batch batch_0: 4 requests to "), "{output}");
    // The answers of a batch may be reported in several lines.
    let reports = output.stderr_lines("batches have answered ").into_iter();
    let answered = reports.filter_map(|line| match line.split(' ').nth(3)? {
        "one" => Some(1),
        number => number.parse::<u32>().ok(),
    });
    assert_eq!(answered.sum::<u32>(), 8, "{output}");
    assert_eq!(fleet.server.batches().len(), 2, "{output}");
}

/// The report and the results have half the price of the same fleet without batches.
#[test]
fn a_batch_costs_half_and_the_report_counts_each_request_once() {
    let fleet = BatchFleet::new(Wire::Anthropic, plan);
    let tasks = fleet.write_tasks(&["0", "1"]);
    fleet.run(&["--wait"]).run().succeeded();
    let live = fleet.workspace.outside().join("live.fleet");
    let args = ["--model", Wire::Anthropic.model_name(), "--mode", "ask", "fleet", "run", "--dir"];
    fleet.ibeam(&args).args([&live, &tasks]).run().succeeded();
    let report = |directory: &PathBuf| {
        let output = fleet.ibeam(&["fleet", "report", "--json"]).args([directory]).run().succeeded();
        serde_json::from_str::<Value>(&output.stdout).unwrap()["all"].clone()
    };
    let (half, whole) = (report(&fleet.directory()), report(&live));
    assert_eq!(half["tokens"], whole["tokens"], "{half}\n{whole}");
    let cost = |row: &Value| row["cost_usd"].as_f64().unwrap();
    assert!((cost(&half) * 2.0 - cost(&whole)).abs() < 4e-6, "{half}\n{whole}");
}

#[test]
fn unanswered_requests_are_sent_again_and_those_that_fail_end_their_task() {
    let seen = std::sync::Mutex::new(BTreeMap::<String, u32>::new());
    let fleet = BatchFleet::new(Wire::Anthropic, move |id, request| {
        let prompt = request.transcript().first().cloned().unwrap_or_default();
        let mut seen = seen.lock().unwrap();
        let count = seen.entry(id.to_owned()).or_default();
        *count += 1;
        match (prompt.rsplit(' ').next().unwrap_or_default(), *count) {
            ("expired", 1) => PartAnswer::Expired,
            ("busy", 1 | 2) | ("down", _) => PartAnswer::Error(529, "overloaded_error", "busy"),
            ("invalid", _) => PartAnswer::Error(400, "invalid_request_error", "not valid"),
            (word, _) => Answer::new().text(word).into(),
        }
    });
    fleet.write_tasks(&["expired", "busy", "invalid", "down"]);
    let output = fleet.run(&["--wait"]).run();
    assert_eq!(output.code, Some(1), "{output}");
    let results = results(&output);
    let outcome = |word: &str| (results[word]["outcome"].clone(), results[word]["code"].clone());
    assert_eq!(outcome("expired"), (json!("passed"), Value::Null));
    assert_eq!(outcome("busy"), (json!("passed"), Value::Null));
    assert_eq!(outcome("invalid"), (json!("failed"), json!("request")));
    assert_eq!(outcome("down"), (json!("failed"), json!("provider")));
    let down = fleet.server.batches();
    let down = down
        .iter()
        .flat_map(|batch| &batch.requests)
        .filter(|(_, request)| request.transcript().first().is_some_and(|prompt| prompt.ends_with("down")));
    assert_eq!(down.count(), 5, "the limit of attempts");
}

#[test]
fn after_the_deadline_the_answers_so_far_are_taken_and_the_rest_is_sent_directly() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let fleet = BatchFleet::new(wire, plan);
        fleet.write_tasks(&["0", "1", "2"]);
        fleet.server.hold(true);
        fleet.server.answer_before_cancel(1);
        let output = fleet.run(&["--wait", "--batch-deadline", "3s"]).run().succeeded();
        let results = results(&output);
        assert_eq!(results.len(), 3, "{output}");
        assert!(output.stderr.contains("batch_0 was cancelled"), "{output}");
        let batches = fleet.server.batches();
        assert_eq!((batches.len(), batches[0].is_cancelled()), (1, true), "{wire:?}");
        // Two tasks send both requests directly, and one sends the second.
        assert_eq!(fleet.server.live_requests().len(), 5, "{wire:?}: {output}");
        let tokens: Vec<_> = results.values().map(|result| &result["usage"]["outputTokens"]).collect();
        assert_eq!(tokens, [20, 20, 20], "{wire:?}");
        if wire == Wire::Anthropic {
            let mut costs: Vec<_> =
                results.values().map(|result| result["cost_usd"].as_f64().unwrap()).collect();
            costs.sort_by(f64::total_cmp);
            assert!((costs[1] - costs[2]).abs() < 2e-6 && costs[0] < costs[1] * 0.9, "{costs:?}");
        }
        assert_eq!(fleet.files(".request.json"), 0, "{wire:?}");
    }
}

#[test]
fn the_budget_limits_the_requests_of_a_batch_and_holds_for_direct_ones() {
    let fleet = BatchFleet::new(Wire::Anthropic, plan);
    fleet.write_tasks(&["0", "1", "2", "3"]);
    let output = fleet.run(&["--wait", "--budget-tokens", "1"]).run();
    assert_eq!(output.code, Some(75), "{output}");
    assert!(output.stderr.contains("4 tasks are not finished: the budget is spent"), "{output}");
    let sizes = |fleet: &BatchFleet| -> usize {
        fleet.server.batches().iter().map(|batch| batch.requests.len()).sum()
    };
    assert_eq!(sizes(&fleet), 1, "{output}");
    let output = fleet.run(&["--wait", "--budget-tokens", "1", "--batch-deadline", "0s"]).run();
    assert_eq!(output.code, Some(75), "{output}");
    assert_eq!((sizes(&fleet), fleet.server.live_requests().len()), (1, 0), "{output}");
    let output = fleet.run(&["--wait", "--budget-tokens", "100000"]).run().succeeded();
    assert_eq!(results(&output).len(), 4, "{output}");
}

/// The budget is what the tasks need.
#[test]
fn a_budget_does_not_split_a_batch_whose_requests_fit() {
    let batches = |budget: &str| {
        let fleet =
            BatchFleet::new(Wire::Anthropic, |_, _| PartAnswer::Answer(Box::new(Answer::new().text("done"))));
        fleet.write_tasks(&(10..30).map(|number| number.to_string()).collect::<Vec<_>>());
        let output = fleet.run(&["--wait", "--budget-tokens", budget]).run().succeeded();
        let tokens = |result: &Value| -> u64 {
            result["usage"].as_object().unwrap().values().filter_map(Value::as_u64).sum()
        };
        let results = results(&output);
        assert_eq!(results.len(), 20, "{output}");
        let batches: Vec<usize> = fleet.server.batches().iter().map(|batch| batch.requests.len()).collect();
        (batches, results.values().map(tokens).sum::<u64>())
    };
    let (_, needed) = batches("1000000");
    assert_eq!(batches(&needed.to_string()).0, [1, 19]);
}

#[test]
fn a_refused_key_ends_the_command_and_the_same_command_goes_on() {
    let fleet = BatchFleet::new(Wire::Anthropic, plan);
    fleet.write_tasks(&["0", "1"]);
    fleet.server.fail_next(&[401]);
    let output = fleet.run(&["--wait"]).run();
    assert_eq!(output.code, Some(75), "{output}");
    assert!(output.stderr.contains("error: 2 tasks are not finished: "), "{output}");
    assert!(!output.stderr.contains(KEY));
    let output = fleet.run(&["--wait"]).run().succeeded();
    assert_eq!(results(&output).len(), 2, "{output}");
}

#[test]
fn a_fleet_keeps_to_batches_or_to_direct_requests() {
    let fleet = BatchFleet::new(Wire::Anthropic, plan);
    let tasks = fleet.write_tasks(&["0", "1"]);
    let check = |output: ProgramOutput, message: &str| {
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(message), "{output}");
    };
    check(fleet.ibeam(&["fleet", "run", "--wait"]).args([&tasks]).run(), "--batch");
    check(fleet.run(&["--batch-deadline", "soon"]).run(), "should be a duration");
    fleet.server.hold(true);
    assert_waiting(&fleet.run(&[]).run(), 2);
    check(fleet.ibeam(&["fleet", "run"]).args([&tasks]).run(), "was started with `--batch`");
    let other = fleet.workspace.outside().join("other");
    fleet
        .ibeam(&["--model", Wire::Anthropic.model_name(), "--mode", "ask", "fleet", "run", "--dir"])
        .args([&other, &tasks])
        .run()
        .succeeded();
    check(fleet.run(&["--dir", other.to_str().unwrap()]).run(), "was started without `--batch`");
    let nothing = fleet.ibeam(&["fleet", "poll", "nowhere"]).run();
    assert_eq!(nothing.code, Some(66), "{nothing}");
}

/// Prints the memory of the command while all tasks wait. Takes minutes: each task is a process once.
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_waiting_tasks_need_no_process_and_little_memory() {
    let count: usize = std::env::var("IBEAM_TEST_TASKS").map_or(10_000, |count| count.parse().unwrap());
    let fleet = BatchFleet::new(Wire::Anthropic, plan);
    fleet.write_tasks(&(0..count).map(|number| format!("{number}")).collect::<Vec<_>>());
    fleet.server.hold(true);
    let minutes = Duration::from_secs(3600);
    // The pages of the program itself, which a build for tests has many of, are apart.
    let memory = |pid: i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let lines = status.lines().filter(|line| line.starts_with("Rss") || line.starts_with("VmHWM"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
    };
    let flags = ["--wait", "--discard-workspaces", "--interval", "1200"];
    let tasks = fleet.workspace.outside().join("tasks.jsonl");
    let args = ["--model", fleet.wire.model_name(), "--mode", "ask", "fleet", "run", "--batch"];
    let running = fleet.ibeam(&args).args([tasks]).args(flags).timeout(minutes).start();
    running.wait_for_stderr("requests to ");
    println!("fleet run --wait: {}", memory(running.pid()));
    drop(running);
    let running = fleet.poll(&["--wait"]).timeout(minutes).start();
    std::thread::sleep(Duration::from_secs(5));
    println!("fleet poll --wait: {}", memory(running.pid()));
    assert_eq!(fleet.processes(), 1, "that of the command");
}
