//! `fleet run --queue` and `fleet worker` with a real NATS server. `cargo xtask fleet-nats` installs it.

mod checks;
mod commands;
mod managed_policy;
mod outages;
mod secrets;
mod signed_tasks;
mod worker_keys;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_testkit::fault_injection::skip;
use ibeam_testkit::fleet_tasks::{results, task, task_dir, task_file, wait_for, with};
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, RunningProgram, program_path};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A server on loopback, killed at the end.
struct Server {
    process: Child,
    program: OsString,
    home: tempfile::TempDir,
    port: u16,
    url: String,
}

impl Server {
    /// Starts a server. Without its program, or with an `ibeam` without the client, prints the reason and returns nothing.
    fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("IBEAM_TEST_NATS_SERVER") else {
            skip("`IBEAM_TEST_NATS_SERVER` does not name a nats-server; see `cargo xtask fleet-nats`");
            return None;
        };
        let about = Scene::new([]).ibeam_without_model(["about", "--format", "json"]).run().succeeded();
        if about.json()["queueClient"] != true {
            skip(&format!("`{}` has no client of queues", program_path()));
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let configuration = home.path().join("server.conf");
        let text = format!("host: 127.0.0.1\nport: {port}\njetstream {{ store_dir: {:?} }}\n", home.path());
        fs::write(&configuration, text).unwrap();
        let process = start_server(&program, &configuration);
        let server = Self { process, program, home, port, url: format!("nats://127.0.0.1:{port}/f") };
        server.wait_until_ready();
        Some(server)
    }

    /// Kills the server.
    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts the server with what it has stored.
    fn start_again(&mut self) {
        self.process = start_server(&self.program, &self.home.path().join("server.conf"));
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        wait_for("the server answers", || std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }
}

fn start_server(program: &OsStr, configuration: &Path) -> Child {
    let mut command = Command::new(program);
    command.arg("-c").arg(configuration).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn submitter(scene: &Scene, file: &std::path::Path, server: &Server) -> RunningProgram {
    let args = ["fleet", "run", file.to_str().unwrap(), "--queue", &server.url, "--queue-lease", "3"];
    scene.ibeam_without_model(args).timeout(Duration::from_secs(200)).start()
}

fn worker(scene: &Scene, name: &str, server: &Server, flags: &[&str]) -> RunningProgram {
    let directory = scene.workspace.outside().join(name);
    let workspace = scene.workspace.path();
    let args =
        ["fleet", "worker", "--queue", &server.url, "--dir", directory.to_str().unwrap(), "--slots", "2"];
    let args = args.into_iter().chain(["--allow-workspaces", workspace.to_str().unwrap()]);
    scene.ibeam(args.chain(flags.iter().copied())).timeout(Duration::from_secs(200)).start()
}

#[test]
fn workers_execute_the_tasks_that_another_machine_submits() {
    let Some(server) = Server::start() else { return };
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let scene = Scene::new([write, answer_text("done"), answer_text("done")])
        .with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let tasks = [
        with(task(&scene, "first"), "check", json!("grep -q new new.txt")),
        with(task(&scene, "second"), "needs", json!(["first"])),
        with(task(&scene, "outside"), "workspace", json!("/")),
        with(task(&scene, "never"), "needs", json!(["outside"])),
    ];
    let file = task_file(&scene, &tasks);
    let submitter = submitter(&scene, &file, &server);
    let worker = worker(&scene, "w1", &server, &["--force", "--allow-checks", "--until-drained"]);
    let output = submitter.finish();
    assert_eq!(output.code, Some(1), "{output}");
    let found = results(&output);
    let outcome = |id: &str| (found[id]["outcome"].as_str().unwrap(), found[id]["code"].as_str());
    assert_eq!(outcome("first"), ("passed", None), "{output}");
    assert_eq!(outcome("second"), ("passed", None), "{output}");
    assert_eq!(outcome("outside"), ("failed", Some("refused")), "{output}");
    assert_eq!(outcome("never"), ("skipped", None), "{output}");
    worker.finish().succeeded();
    // The trace is where the session is.
    assert!(task_dir(&scene.workspace.outside().join("w1"), "first").join("trajectory.json").is_file());
    let fleet = file.with_extension("fleet");
    assert!(!task_dir(&fleet, "first").exists());
    let args = ["fleet", "sync", fleet.to_str().unwrap(), "--queue", &server.url, "--format", "json"];
    let report: Value =
        serde_json::from_str(&scene.ibeam_without_model(args).run().succeeded().stdout).unwrap();
    assert_eq!(report, json!({ "tasks_sent": 0, "results_sent": 0, "results_received": 0 }));
    let status = scene.ibeam_without_model(["fleet", "status", fleet.to_str().unwrap()]).run().succeeded();
    assert!(status.stdout.contains("refused: 1\n"), "{status}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn failed_tasks_of_a_queue_are_run_again_on_request_with_those_that_needed_them() {
    let Some(server) = Server::start() else { return };
    let refused = Answer::error(400, "invalid_request_error", "no");
    let write = answer_call("t", "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let scene =
        Scene::new([write, refused]).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let tasks = [task(&scene, "a"), with(task(&scene, "b"), "needs", json!(["a"]))];
    let file = task_file(&scene, &tasks);
    let flags = ["--force", "--until-drained"];
    let submitted = submitter(&scene, &file, &server);
    worker(&scene, "w1", &server, &flags).finish();
    let output = submitted.finish();
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(results(&output)["b"]["outcome"], "skipped", "{output}");

    let scene = scene.with_answers((0..2).map(|_| answer_text("done")));
    let submitted = submitter_with(&scene, &file, &server, &["--retry-failed"]);
    wait_for("the tasks are ready again", || {
        let fleet = file.with_extension("fleet");
        let status = scene.ibeam_without_model(["fleet", "status", fleet.to_str().unwrap()]).run();
        status.stdout.contains("waiting: 2\n")
    });
    worker(&scene, "w1", &server, &flags).finish().succeeded();
    let output = submitted.finish().succeeded();
    let results = results(&output);
    let outcome = |id: &str| (results[id]["outcome"].clone(), results[id]["runs"].clone());
    assert_eq!(outcome("a"), (json!("passed"), json!(2)), "{output}");
    assert_eq!(outcome("b"), (json!("passed"), json!(1)), "{output}");
    assert_eq!(results["a"]["changed_files"], json!([]), "the workspace is a new one");
    let of_task = task_dir(&scene.workspace.outside().join("w1"), "a");
    for name in ["stream.1.ndjson", "result.1.json", "changes.1.patch"] {
        assert!(of_task.join(name).is_file(), "{name}");
    }
    scene.server.assert_all_answers_sent();
}

fn submitter_with(scene: &Scene, file: &std::path::Path, server: &Server, flags: &[&str]) -> RunningProgram {
    let args = ["fleet", "run", file.to_str().unwrap(), "--queue", &server.url];
    scene.ibeam_without_model(args).args(flags).timeout(Duration::from_secs(200)).start()
}

/// Returns a worker with a home of its own, as on another machine.
fn worker_elsewhere(scene: &Scene, name: &str, server: &Server, flags: &[&str]) -> RunningProgram {
    let (home, directory) = (scene.workspace.outside().join("home2"), scene.workspace.outside().join(name));
    let args = ["fleet", "worker", "--queue", &server.url, "--dir", directory.to_str().unwrap()];
    let args = args.into_iter().chain(["--allow-workspaces", scene.workspace.path().to_str().unwrap()]);
    let mut program = scene.ibeam(args.chain(flags.iter().copied()));
    for (variable, path) in scene.workspace.environment() {
        if let Ok(rest) = path.strip_prefix(scene.workspace.home()) {
            fs::create_dir_all(home.join(rest)).unwrap();
            program = program.env(variable, home.join(rest));
        }
    }
    program.timeout(Duration::from_secs(200)).start()
}

/// Kills a worker and the runs that it started, as if the machine had lost its power.
fn kill_machine(worker: RunningProgram, directory: &std::path::Path) {
    kill_process(Pid::from_raw(worker.pid()).unwrap(), Signal::KILL).unwrap();
    let groups = fs::read_dir(directory.join("tasks")).unwrap();
    let tasks = groups.flat_map(|group| fs::read_dir(group.unwrap().path()).unwrap());
    for task in tasks {
        let Ok(pid) = fs::read_to_string(task.unwrap().path().join("process")) else { continue };
        // A run that has ended is not there.
        let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
    }
    drop(worker.finish());
}

#[test]
fn a_run_goes_on_on_another_machine_with_its_session_and_its_files() {
    let Some(server) = Server::start() else { return };
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "fileText": "new\n" }));
    let slow = answer_text("too late").delay(Duration::from_secs(60));
    let scene = Scene::new([write, slow, answer_text("done")])
        .with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let file = task_file(&scene, &[with(task(&scene, "a"), "check", json!("grep -q new new.txt"))]);
    let submitter = submitter(&scene, &file, &server);
    let flags = ["--force", "--allow-checks", "--until-drained"];
    let first = worker(&scene, "w1", &server, &flags);
    let directory = scene.workspace.outside().join("w1");
    let left = task_dir(&directory, "a");
    wait_for("a snapshot is written", || left.join("snapshot.git/index").exists());
    wait_for("the snapshot is stored", || !left.join("snapshot.files").exists());
    kill_machine(first, &directory);
    let second = worker_elsewhere(&scene, "w2", &server, &flags);
    let output = submitter.finish().succeeded();
    let result = &results(&output)["a"];
    assert_eq!(result["changed_files"], json!(["new.txt"]), "{output}");
    assert_eq!((&result["runs"], &result["interrupted_runs"]), (&json!(2), &json!(1)), "{output}");
    let worked = second.finish().succeeded();
    assert!(worked.stderr.contains("a: continues where another machine stopped"), "{worked}");
    let requests = scene.server.requests();
    let last = requests.last().unwrap().body.to_string();
    assert!(last.contains("task a") && last.contains("fileText"), "the session goes on: {last}");
    scene.server.assert_all_answers_sent();

    let args = ["fleet", "events", "--queue", &server.url];
    let printed = scene.ibeam_without_model(args).run().succeeded();
    let events: Vec<Value> = printed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let published = |run: u64, stream: std::path::PathBuf| {
        let of_run: Vec<&Value> =
            events.iter().filter(|event| event["run"] == run).map(|event| &event["event"]).collect();
        let text = fs::read_to_string(stream).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(of_run, lines.iter().collect::<Vec<_>>(), "run {run}: {printed}");
    };
    published(1, task_dir(&directory, "a").join("stream.ndjson"));
    published(2, task_dir(&scene.workspace.outside().join("w2"), "a").join("stream.ndjson"));
    assert_ne!(events.first().unwrap()["worker"], events.last().unwrap()["worker"], "{printed}");
    let other = scene.ibeam_without_model(args).args(["--task", "b"]).run().succeeded();
    assert_eq!(other.stdout, "");
}

#[test]
fn workers_share_a_budget_and_wait_for_a_larger_one() {
    let Some(server) = Server::start() else { return };
    let answers = (0..4).map(|_| answer_text("done").delay(Duration::from_millis(300)));
    let scene = Scene::new(answers).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let tasks: Vec<Value> = ["a", "b", "c", "d"].map(|id| task(&scene, id)).into();
    let file = task_file(&scene, &tasks);
    let first = submitter_with(&scene, &file, &server, &["--budget-tokens", "1"]);
    let workers = [worker(&scene, "w1", &server, &[]), worker_elsewhere(&scene, "w2", &server, &[])];
    let output = first.finish();
    assert_eq!(output.code, Some(75), "{output}");
    assert_eq!((scene.server.requests().len(), results(&output).len()), (1, 1), "{output}");
    assert!(output.stderr.contains("3 tasks are not finished: the budget is spent"), "{output}");
    let output = submitter_with(&scene, &file, &server, &["--budget-tokens", "1000000"]).finish().succeeded();
    assert_eq!(results(&output).len(), 3, "{output}");
    scene.server.assert_all_answers_sent();
    for worker in workers {
        kill_process(Pid::from_raw(worker.pid()).unwrap(), Signal::TERM).unwrap();
        assert_eq!(worker.finish().code, Some(143));
    }
}

#[test]
fn an_exhausted_quota_that_one_worker_meets_ends_the_requests_of_the_other() {
    let Some(server) = Server::start() else { return };
    let refused = Answer::error(402, "insufficient_quota", "the account has no credit left");
    let slow = answer_call("t", "shell", &json!({ "command": "sleep 3" }));
    let scene =
        Scene::new([slow, refused]).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let file = task_file(&scene, &[task(&scene, "a"), task(&scene, "b")]);
    let submitter = submitter(&scene, &file, &server);
    let flags = ["--force", "--until-drained"];
    let workers = ["w1", "w2"].map(|name| worker_elsewhere(&scene, name, &server, &flags));
    let output = submitter.finish();
    assert_eq!((output.code, output.stdout.as_str()), (Some(75), ""), "{output}");
    for worker in workers {
        let output = worker.finish();
        assert_eq!(output.code, Some(75), "{output}");
        assert!(output.stderr.contains("the account has no credit left"), "{output}");
    }
    assert_eq!(scene.server.requests().len(), 2, "the run whose command ran sent no other request");
}

#[test]
fn a_cancelled_fleet_stops_its_runs_within_seconds_and_can_be_started_again() {
    let Some(server) = Server::start() else { return };
    let slow = || answer_text("done").delay(Duration::from_secs(60));
    let scene = Scene::new([slow(), answer_text("done"), answer_text("done")])
        .with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let file = task_file(&scene, &[task(&scene, "a"), with(task(&scene, "b"), "needs", json!(["a"]))]);
    let waiting = worker(&scene, "w1", &server, &[]);
    let first = submitter(&scene, &file, &server);
    waiting.wait_for_stderr("a: started");
    while scene.server.requests().is_empty() {
        thread::sleep(Duration::from_millis(20));
    }
    let start = Instant::now();
    scene.ibeam_without_model(["fleet", "cancel", "--queue", &server.url]).run().succeeded();
    let output = first.finish();
    assert_eq!(output.code, Some(75), "{output}");
    assert!(output.stderr.contains("the fleet was cancelled"), "{output}");
    waiting.wait_for_stderr("a: parked");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let output = submitter(&scene, &file, &server).finish().succeeded();
    assert_eq!(results(&output)["a"]["interrupted_runs"], 0, "{output}");
    kill_process(Pid::from_raw(waiting.pid()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(waiting.finish().code, Some(143));
}

#[test]
fn a_task_with_variables_and_a_queue_with_a_password_are_refused() {
    let scene = Scene::new([]);
    let file = task_file(&scene, &[with(task(&scene, "a"), "env", json!({ "TOKEN": "x" }))]);
    for (url, reason) in
        [("nats://127.0.0.1:1/f", "`env`"), ("nats://user:password@127.0.0.1:1/f", "credentials file")]
    {
        let file = if reason == "`env`" { file.clone() } else { task_file(&scene, &[task(&scene, "b")]) };
        let args = ["fleet", "run", file.to_str().unwrap(), "--queue", url];
        let output = scene.ibeam_without_model(args).run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(reason), "{output}");
    }
}

/// Workers are killed at random instants. Each time another one takes their place.
#[test]
fn killed_workers_lose_no_task_and_complete_none_twice() {
    const TASKS: usize = 24;
    const KILLS: usize = 6;
    let Some(server) = Server::start() else { return };
    let answers = (0..TASKS * 8).map(|_| answer_text("finished").delay(Duration::from_millis(400)));
    let answers: Vec<Answer> = answers.collect();
    let scene = Scene::new(answers).with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let tasks: Vec<Value> = (0..TASKS).map(|number| task(&scene, &format!("t{number}."))).collect();
    let file = task_file(&scene, &tasks);
    let submitter = submitter(&scene, &file, &server);
    let mut workers: Vec<RunningProgram> = ["w0", "w1"].map(|name| worker(&scene, name, &server, &[])).into();
    for kill in 0..KILLS {
        thread::sleep(Duration::from_millis(fastrand::u64(300..1200)));
        let name = ["w0", "w1"][kill % 2];
        let killed = workers.remove(0);
        kill_process(Pid::from_raw(killed.pid()).unwrap(), Signal::KILL).unwrap();
        drop(killed.finish());
        workers.push(worker(&scene, name, &server, &[]));
    }
    let output = submitter.finish().succeeded();
    let found = results(&output);
    assert_eq!((found.len(), output.stdout.lines().count()), (TASKS, TASKS), "{output}");
    for worker in workers {
        kill_process(Pid::from_raw(worker.pid()).unwrap(), Signal::TERM).unwrap();
        let output = worker.finish();
        // One that was started just now does not handle the signal yet.
        assert!(output.code == Some(143) || output.signal == Some(15), "{output}");
    }
}
