//! `fleet run`: the budget and the rates of a fleet whose drivers and runs are killed.

use std::path::Path;
use std::time::{Duration, Instant};

use ibeam_testkit::fleet_tasks::{results, run, task, task_file};
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, RunningProgram};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::fleet::runs;

/// The tokens of each answer of the scripted service.
const TOKENS: usize = 110;

/// Returns a scene in which each request is answered with a call, after some time.
fn endless_scene() -> Scene {
    let step = |number| {
        answer_call(&format!("c{number}"), "ls", &json!({ "path": "." })).delay(Duration::from_millis(150))
    };
    Scene::new((0..400).map(step))
}

fn tasks(scene: &Scene, count: usize) -> Vec<Value> {
    (0..count).map(|number| task(scene, &format!("t{number}"))).collect()
}

fn start(scene: &Scene, file: &Path, flags: &[&str]) -> RunningProgram {
    let args = ["fleet", "run", file.to_str().unwrap(), "--max-runs", "50"];
    scene.ibeam(args.iter().chain(flags)).timeout(Duration::from_secs(120)).start()
}

/// Kills a driver, and leaves its runs alive.
fn kill(driver: RunningProgram) {
    // It may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(driver.pid()).unwrap(), Signal::KILL);
    drop(driver.finish());
}

fn ended_for_its_budget(output: &ProgramOutput) -> bool {
    output.code == Some(75) && output.stderr.contains("the budget is spent")
}

/// A request that was open when its run was killed counts, because the service may have answered it.
#[test]
fn kills_of_drivers_and_runs_never_exceed_a_budget() {
    const REQUESTS: usize = 40;
    let scene = endless_scene();
    let file = task_file(&scene, &tasks(&scene, 12));
    let fleet = file.with_extension("fleet");
    let budget = (REQUESTS * TOKENS).to_string();
    let flags = ["--jobs", "6", "--budget-tokens", &budget];
    let (mut random, mut killed_runs) = (fastrand::Rng::new(), 0);
    let mut driver = start(&scene, &file, &flags);
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(random.u64(100..500)));
        if random.bool() {
            kill(driver);
            driver = start(&scene, &file, &flags);
        } else if let Some(pid) = random.choice(runs(&fleet)) {
            killed_runs += usize::from(kill_process(pid, Signal::KILL).is_ok());
        }
    }
    let output = driver.finish();
    assert!(ended_for_its_budget(&output), "{output}");
    let sent = scene.server.received();
    println!("{sent} requests of {REQUESTS}; {killed_runs} runs were killed");
    assert!(sent <= REQUESTS, "{sent} requests; {output}");
    // The last driver may have had no budget left from its start, and so no time for the runs of the one before. They wait a
    // minute for another driver, then they end.
    let started = Instant::now();
    while !runs(&fleet).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(90), "runs outlive their fleet");
        std::thread::sleep(Duration::from_millis(100));
    }

    let output = run(&scene, &file, ["--jobs", "6", "--budget-tokens", budget.as_str()]);
    assert!(ended_for_its_budget(&output), "{output}");
    assert_eq!(scene.server.received(), sent, "a spent budget stays spent; {output}");
}

/// Without kills the budget is used to its last request.
#[test]
fn a_budget_is_used_to_its_last_request() {
    let scene = endless_scene();
    let file = task_file(&scene, &tasks(&scene, 6));
    let budget = (9 * TOKENS).to_string();
    let output = run(&scene, &file, ["--jobs", "4", "--budget-tokens", budget.as_str()]);
    assert!(ended_for_its_budget(&output), "{output}");
    assert_eq!(scene.server.received(), 9, "{output}");
}

#[test]
fn runs_of_a_killed_driver_wait_for_the_next_one() {
    let slow = |answer: Answer| answer.delay(Duration::from_millis(400));
    let answers =
        (0..6).map(|number| slow(answer_call(&format!("c{number}"), "ls", &json!({ "path": "." }))));
    let scene = Scene::new(answers.chain((0..6).map(|_| answer_text("done"))));
    let file = task_file(&scene, &tasks(&scene, 6));
    let flags = ["--jobs", "6", "--requests-per-minute", "1000"];
    let driver = start(&scene, &file, &flags);
    scene.server.wait_for_requests(6);
    kill(driver);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(scene.server.received(), 6, "no request follows the kill");
    assert_eq!(runs(&file.with_extension("fleet")).len(), 6, "the runs wait");
    let output = start(&scene, &file, &flags).finish().succeeded();
    let interrupted = |result: &Value| result["interrupted_runs"] != json!(0);
    assert_eq!(results(&output).values().filter(|result| interrupted(result)).count(), 0, "{output}");
    assert_eq!(scene.server.received(), 12, "no request is repeated");
}

#[test]
fn a_killed_driver_does_not_begin_a_new_minute() {
    let scene = endless_scene();
    let file = task_file(&scene, &tasks(&scene, 4));
    let flags = ["--jobs", "4", "--requests-per-minute", "7"];
    let mut driver = start(&scene, &file, &flags);
    scene.server.wait_for_requests(7);
    for _ in 0..2 {
        kill(driver);
        driver = start(&scene, &file, &flags);
        std::thread::sleep(Duration::from_secs(2));
    }
    assert_eq!(scene.server.received(), 7);
    let pid = Pid::from_raw(driver.pid()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(driver.finish().code, Some(143));
}

#[test]
fn an_exhausted_account_parks_its_tasks_and_the_others_go_on() {
    let refused = Answer::error(402, "insufficient_quota", "the account has no credit left");
    let scene = Scene::new([refused, answer_text("done")]);
    let mut tasks = tasks(&scene, 4);
    tasks[3]["model"] = json!("openrouter/openai/gpt-6.2-sol");
    let file = task_file(&scene, &tasks);
    let output = run(&scene, &file, ["--jobs", "1"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert!(output.stderr.contains("error: 3 tasks are not finished: rate_limited: "), "{output}");
    assert_eq!(results(&output).into_keys().collect::<Vec<_>>(), ["t3"], "{output}");
    assert_eq!(scene.server.received(), 2, "the other tasks of the account send nothing; {output}");
}
