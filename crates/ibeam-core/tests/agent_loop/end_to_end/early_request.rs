//! Runs whose first request is sent while the sandbox is set up.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::fault_injection::compile;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, check_unstarted};
use ibeam_testkit::{ProgramOutput, RunningProgram, Workspace};
use rustix::process::{Pid, Signal as PosixSignal, kill_process};
use serde_json::Value;

const RECORD: &str = ".local/share/ibeam/last-sandbox";

/// Runs the prompt and returns the steps of its start.
fn run_with_steps(scene: &Scene, flags: &[&str]) -> (ProgramOutput, Vec<String>) {
    let log = scene.workspace.outside().join("debug.jsonl");
    let _ = fs::remove_file(&log);
    let output = scene.print(["--force", "--debug", log.to_str().unwrap()]).args(flags).run();
    let text = fs::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (output, lines.filter_map(|line| line["step"].as_str().map(str::to_owned)).collect())
}

/// Removes the values that differ between two equal runs: numbers, ids and times.
fn without_ids(value: &mut Value) {
    match value {
        Value::Number(number) => *number = 0.into(),
        Value::Array(values) => values.iter_mut().for_each(without_ids),
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.to_lowercase().ends_with("id") {
                    true => *value = Value::Null,
                    false => without_ids(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn comparable_lines(output: &ProgramOutput) -> Vec<Value> {
    let mut lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.iter_mut().for_each(without_ids);
    lines
}

/// Returns the files below a directory with this name.
fn files_named(name: &str, directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_named(name, &path),
            false => path.ends_with(name).then_some(path).into_iter().collect(),
        })
        .collect()
}

#[test]
fn the_request_goes_out_before_the_sandbox_is_set_up_and_the_stream_is_the_same() {
    let answers = || [answer_shell("echo one"), answer_text("done")];
    let scene = Scene::new(answers().into_iter().chain(answers())).with_workspace(Workspace::new());
    let (first, steps) = run_with_steps(&scene, &[]);
    let first = first.succeeded();
    assert_eq!(steps, ["sandbox ready", "MCP servers started", "session open"]);
    let (second, steps) = run_with_steps(&scene, &[]);
    let second = second.succeeded();
    assert_eq!(steps, ["MCP servers started", "first request sent", "sandbox ready", "session open"]);
    assert_eq!(comparable_lines(&second), comparable_lines(&first));
    assert_eq!(second.stderr, first.stderr);
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[2].messages(), requests[0].messages());
}

#[test]
fn a_run_in_which_more_comes_first_waits_for_its_sandbox() {
    let scene = Scene::new((0..4).map(|_| answer_text("done"))).with_workspace(Workspace::new());
    run_with_steps(&scene, &[]).0.succeeded();
    let hooks = scene.workspace.home().join(".config/ibeam/hooks.json");
    fs::create_dir_all(hooks.parent().unwrap()).unwrap();
    fs::write(&hooks, r#"{"version": 1, "hooks": {"beforeSubmitPrompt": [{"command": "true"}]}}"#).unwrap();
    let (output, steps) = run_with_steps(&scene, &[]);
    output.succeeded();
    assert_eq!(steps[0], "sandbox ready");
    fs::remove_file(hooks).unwrap();
    for flags in [&["--continue"][..], &["--allow", "WebFetch(example.com)", "--sandbox", "disabled"]] {
        let (output, steps) = run_with_steps(&scene, flags);
        output.succeeded();
        assert_eq!(steps[0], "sandbox ready", "{flags:?}");
    }
}

#[test]
fn a_sandbox_that_fails_cancels_the_request_and_comes_first_in_the_next_run() {
    let scene = Scene::new((0..2).map(|_| answer_text("done"))).with_workspace(Workspace::new());
    let Some(refuse) = compile(&scene, "refuse.c", &[]) else { return };
    scene.print(["--force"]).run().succeeded();
    let (record, data) = (scene.workspace.home().join(RECORD), scene.workspace.home().join(".local/share"));
    assert!(record.exists());
    let sessions = files_named("events.jsonl", &data);
    let refused = || scene.print(["--force"]).through([&refuse]).run();
    let overlapped = refused();
    check_unstarted(&overlapped, 40);
    assert_eq!(files_named("events.jsonl", &data), sessions);
    assert!(!record.exists());
    let requests = scene.server.requests().len();
    let waiting = refused();
    check_unstarted(&waiting, 40);
    assert_eq!(scene.server.requests().len(), requests);
    assert_eq!(comparable_lines(&overlapped), comparable_lines(&waiting));
    assert_eq!(overlapped.stderr, waiting.stderr);
}

/// The command of the tool call. It writes the namespace of its processes.
const TOOL: &str = "readlink /proc/self/ns/pid > ran";

/// Waits until a run has processes that set up its sandbox, and stops them after `moment`.
fn stop_setup(run: &RunningProgram, moment: Duration) -> Vec<Pid> {
    let children = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", run.pid())).into_iter().flatten().flatten();
        let ids = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let ids: Vec<_> = ids.collect();
        let ids = ids.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse().ok());
        ids.filter_map(Pid::from_raw).collect::<Vec<_>>()
    };
    let deadline = Instant::now() + Duration::from_secs(5);
    while children().is_empty() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    sleep(moment);
    let setup = children();
    setup.iter().for_each(|pid| {
        let _ = kill_process(*pid, PosixSignal::STOP);
    });
    setup
}

fn resume(setup: &[Pid]) {
    setup.iter().for_each(|pid| {
        let _ = kill_process(*pid, PosixSignal::CONT);
    });
}

#[test]
fn no_tool_runs_before_the_sandbox_is_set_up_however_long_that_takes() {
    let mut scene = Scene::new([answer_text("done")]).with_workspace(Workspace::new());
    scene.print(["--force"]).run().succeeded();
    let (ran, own) = (scene.workspace.path().join("ran"), fs::read_link("/proc/self/ns/pid").unwrap());
    let mut early = 0;
    // On a busy machine, every set-up of a round may be over before it is stopped.
    for moment in (0..10).cycle().take(50).map(Duration::from_millis) {
        scene = scene.with_answers([answer_shell(TOOL), answer_text("done")]);
        let run = scene.print(["--force"]).start();
        let setup = stop_setup(&run, moment);
        // Long enough for the whole answer to arrive.
        sleep(Duration::from_millis(200));
        // The head of the run is printed once the sandbox is set up. Without it, the set-up stands still.
        let is_held = run.stdout().is_empty();
        assert!(!(is_held && ran.exists()), "{moment:?}: the tool ran while the set-up stood still");
        early += u32::from(is_held && !scene.server.requests().is_empty());
        resume(&setup);
        run.finish().succeeded();
        let namespace = fs::read_to_string(&ran).unwrap();
        assert!(
            namespace.starts_with("pid:[") && Path::new(namespace.trim_end()) != own,
            "{moment:?}: {namespace}"
        );
        fs::remove_file(&ran).unwrap();
        if early > 0 && moment == Duration::from_millis(9) {
            break;
        }
    }
    assert!(early > 0, "no request was sent before the sandbox was set up");
}

#[test]
fn a_run_that_is_stopped_while_its_sandbox_is_set_up_ends_and_runs_no_tool() {
    let mut scene = Scene::new([answer_text("done")]).with_workspace(Workspace::new());
    scene.print(["--force"]).run().succeeded();
    let ran = scene.workspace.path().join("ran");
    // On a busy machine, the set-up may be over before it is stopped.
    for _ in 0..20 {
        scene = scene.with_answers([answer_shell(TOOL)]);
        let run = scene.print(["--force"]).start();
        let setup = stop_setup(&run, Duration::ZERO);
        sleep(Duration::from_millis(200));
        let is_early = run.stdout().is_empty() && scene.server.requests().len() == 1;
        run.signal(Signal::Term);
        if !is_early {
            resume(&setup);
        }
        // The processes of the set-up end with the run, although they stand still.
        let output = run.finish();
        if is_early {
            check_unstarted(&output, 143);
            assert!(output.elapsed < Duration::from_secs(10), "{output}");
            assert!(!ran.exists());
            return;
        }
        let _ = fs::remove_file(&ran);
    }
    panic!("no set-up was stopped in time");
}
