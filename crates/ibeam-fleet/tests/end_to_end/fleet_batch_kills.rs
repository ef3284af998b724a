//! Kills at random instants: of fleets with batches, their runs, and `ibeam batch`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ibeam_testkit::fleet_tasks::results;
use ibeam_testkit::scene::{KEY, read_journal};
use ibeam_testkit::{BatchServer, Ibeam, Wire, Workspace, program_path};
use rustix::process::{Pid, Signal, kill_process};

use super::batches::plan;
use super::fleet_batches::BatchFleet;

/// Asserts that no batch has a request that another batch has.
#[track_caller]
fn assert_sent_once(server: &BatchServer) -> usize {
    let mut sent = BTreeMap::<String, u32>::new();
    for (id, _) in server.batches().iter().flat_map(|batch| &batch.requests) {
        *sent.entry(id.clone()).or_default() += 1;
    }
    let repeated: Vec<_> = sent.iter().filter(|(_, count)| **count > 1).collect();
    assert!(repeated.is_empty(), "sent twice: {repeated:?}");
    sent.len()
}

/// Returns the running processes whose command line has both texts.
fn processes(first: &str, second: &str) -> Vec<Pid> {
    let is_found = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(first) && line.contains(second)
    };
    let entries =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    entries.filter(is_found).filter_map(Pid::from_raw).collect()
}

/// Drivers and runs of a fleet are killed at random instants. No task is lost, no request is in two batches, and no run
/// completes twice.
#[test]
fn kills_of_a_fleet_with_batches_lose_nothing_and_send_nothing_twice() {
    const TASKS: usize = 16;
    const KILLS: usize = 24;
    for wire in [Wire::Anthropic, Wire::Responses] {
        let fleet = BatchFleet::new(wire, plan);
        let words: Vec<String> = (0..TASKS).map(|number| format!("{number}")).collect();
        fleet.write_tasks(&words);
        let flags = ["--wait", "--jobs", "4", "--max-runs", "100"];
        let directory = fleet.directory();
        let name = directory.to_str().unwrap().to_owned();
        let (mut random, mut killed_drivers, mut killed_runs) = (fastrand::Rng::new(), 0, 0);
        let (mut driver, mut printed) = (fleet.run(&flags).start(), String::new());
        for _ in 0..KILLS {
            std::thread::sleep(Duration::from_millis(random.u64(20..500)));
            if random.bool() {
                // The driver may have ended meanwhile. Then the next one prints nothing.
                let pid = Pid::from_raw(driver.pid()).unwrap();
                killed_drivers += usize::from(kill_process(pid, Signal::KILL).is_ok());
                printed.push_str(&driver.finish().stdout);
                let has_settings = directory.join("batch.json").exists();
                driver = match random.bool() && has_settings {
                    true => fleet.poll(&["--wait"]).start(),
                    false => fleet.run(&flags).start(),
                };
            } else if let Some(pid) = random.choice(processes(&name, "--print")) {
                // The run may have ended meanwhile.
                killed_runs += usize::from(kill_process(pid, Signal::KILL).is_ok());
            }
        }
        let mut output = driver.finish().succeeded();
        output.stdout.insert_str(0, &printed);
        let results = results(&output);
        assert_eq!(results.len(), TASKS, "a task is lost; {output}");
        let twice = output.stdout.lines().count() - TASKS;
        assert!(twice <= killed_drivers, "only a kill after its line prints a result twice; {output}");
        let sent = assert_sent_once(&fleet.server);
        assert_eq!(sent, TASKS * 2, "{wire:?}: {output}");
        assert!(fleet.server.live_requests().is_empty(), "{wire:?}");
        for (id, result) in &results {
            let session = result["session_id"].as_str().unwrap();
            let recorded = read_journal(&fleet.workspace.journal(session));
            let completed =
                recorded.iter().filter(|event| event["kind"]["run_finished"]["outcome"] == "completed");
            assert_eq!(completed.count(), 1, "{id}, session {session}");
            assert_eq!(result["usage"]["outputTokens"], 20, "{id}: {result}");
        }
        println!("{wire:?}: {killed_drivers} drivers and {killed_runs} runs were killed");
        assert!(killed_drivers > 0);
    }
}

fn park(workspace: &Workspace, server: &BatchServer, wire: Wire, args: &[&str]) -> Ibeam {
    Ibeam::new(program_path(), workspace)
        .args(args)
        .env("IBEAM_MODEL", wire.model_name())
        .env(wire.base_url_variable(), server.url())
        .env(wire.key_variable(), KEY)
}

/// `ibeam batch` is killed at random instants, with requests of several sizes of batches.
#[test]
fn kills_of_the_command_batch_send_no_request_twice_and_lose_no_answer() {
    const REQUESTS: usize = 12;
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let (workspace, server) = (Workspace::new(), BatchServer::start(plan));
        let parked = workspace.home().join("parked");
        let path = parked.to_str().unwrap();
        let count = |end: &str| {
            let entries = fs::read_dir(&parked).unwrap().map(|entry| entry.unwrap().file_name());
            entries.filter(|name| name.to_string_lossy().ends_with(end)).count()
        };
        let mut random = fastrand::Rng::new();
        for number in 0..REQUESTS {
            let prompt = format!("question {number}");
            let args = ["-p", &prompt, "--mode", "ask", "--park-requests", path];
            assert_eq!(park(&workspace, &server, wire, &args).run().code, Some(79));
            server.end_after(random.u32(0..3));
            let batch =
                park(&workspace, &server, wire, &["batch", path, "--wait", "--interval", "0"]).start();
            std::thread::sleep(Duration::from_millis(random.u64(0..150)));
            // The command may have ended meanwhile.
            let _ = kill_process(Pid::from_raw(batch.pid()).unwrap(), Signal::KILL);
            drop(batch.finish());
        }
        server.end_after(0);
        park(&workspace, &server, wire, &["batch", path, "--wait", "--interval", "0"]).run().succeeded();
        assert_eq!(assert_sent_once(&server), REQUESTS, "{wire:?}");
        assert_eq!((count(".request.json"), count(".answer.json")), (REQUESTS, REQUESTS), "{wire:?}");
        assert!(fs::read_dir(Path::new(path).join("batches")).unwrap().all(|entry| {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            !name.ends_with(".json") && !name.ends_with(".upload")
        }));
    }
}
