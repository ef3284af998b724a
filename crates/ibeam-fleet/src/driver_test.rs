//! A driver whose queue delivers a task again while the driver executes it.

use std::fs::{self, Permissions};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use ibeam_git::Git;

use ibeam_protocol::Sentence;

use crate::budget::{Budget, ExtraLimits, RateLimits};
use crate::child::{Children, RunProgram};
use crate::driver::{DriverOptions, FleetEnd, FleetObserver, run_fleet};
use crate::file_filter::FileFilter;
use crate::fleet_directory::FleetDirectory;
use crate::ledger::Ledger;
use crate::queue::TaskQueue as _;
use crate::queue_conformance::task;
use crate::stop::StopFlag;
use crate::task::{Task, WorkspaceSource};
use crate::task_dir::TaskDir;
use crate::task_result::{Outcome, TaskResult};
use crate::task_run::{Conclusion, TaskRunner};
use crate::workspace::Workspaces;

/// A program whose runs complete, and whose checks take a while and note when they begin and end.
const PROGRAM: &str = r#"#!/bin/sh
log="$(dirname "$0")/log"
case "$*" in
*run-check*)
    echo begin >>"$log"
    if rm "$(dirname "$0")/kill" 2>/dev/null; then kill -KILL $$; fi
    sleep 1; echo end >>"$log"; echo '{"exit_code":0,"timeout_ms":null,"output":""}'
    ;;
*replay*) ;;
*) echo run >>"$log"; echo '{"type":"result","session_id":"s","duration_ms":1}' ;;
esac
"#;

/// A fleet in a directory of its own.
struct Fleet {
    home: tempfile::TempDir,
    program: RunProgram,
    task: Task,
}

impl Fleet {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("source")).unwrap();
        fs::write(at("program"), PROGRAM).unwrap();
        fs::set_permissions(at("program"), Permissions::from_mode(0o700)).unwrap();
        let program = RunProgram {
            program: at("program"),
            git: Git::from_system(at("views")),
            sandbox_flags: Vec::new(),
            run_flags: Vec::new(),
            key_file: None,
            hidden: FileFilter::default(),
            parking: None,
        };
        let task = Task {
            workspace: WorkspaceSource::Path(at("source")),
            check: Some("true".to_owned()),
            ..task("a", &[])
        };
        Self { home, program, task }
    }

    fn directory(&self) -> PathBuf {
        self.home.path().join("fleet")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default().replace('\n', " ")
    }

    /// Runs the fleet with leases that end at once.
    fn run(&self) -> (FleetEnd, Vec<Outcome>) {
        let directory = FleetDirectory::open(&self.directory()).unwrap();
        let mut ledger = Ledger::open(&FleetDirectory::ledger(directory.path())).unwrap();
        ledger.submit(std::slice::from_ref(&self.task)).unwrap();
        let options = DriverOptions {
            lease: Duration::from_millis(1),
            jobs: NonZeroUsize::new(3).unwrap(),
            max_runs: 5,
            budget: Budget::default(),
            rates: RateLimits::default(),
            discards_workspaces: false,
        };
        let mut outcomes = Outcomes::default();
        let stop = StopFlag::default();
        let end = run_fleet(&directory, ledger, &self.program, &options, &stop, &mut outcomes).unwrap();
        (end, outcomes.0)
    }
}

#[derive(Default)]
struct Outcomes(Vec<Outcome>);

impl FleetObserver for Outcomes {
    fn finished(&mut self, result: &TaskResult) -> io::Result<()> {
        self.0.push(result.outcome);
        Ok(())
    }

    fn started(&mut self, _task: &str) {}

    fn retried(&mut self, _task: &str, _pause: Duration) {}

    fn parked(&mut self, _task: &str, _reason: &Sentence) {}

    fn undecided(&mut self, _task: &str, _reason: &Sentence) {}
}

#[test]
fn a_task_that_is_delivered_again_is_not_executed_a_second_time() {
    let fleet = Fleet::new();
    let (end, outcomes) = fleet.run();
    assert_eq!((end.passed, end.unfinished, outcomes), (1, 0, vec![Outcome::Passed]));
    assert_eq!(fleet.log(), "run begin end ");
}

#[test]
fn a_killed_check_is_repeated_by_its_driver_where_another_machine_might_have_less_of_the_run() {
    for keeps_ended_runs in [true, false] {
        let fleet = Fleet::new();
        fs::write(fleet.home.path().join("kill"), "").unwrap();
        fs::create_dir_all(fleet.directory()).unwrap();
        let dir = TaskDir::open(&fleet.directory().join("tasks"), "a").unwrap();
        let runner = TaskRunner {
            program: &fleet.program,
            workspaces: &Workspaces::new(fleet.program.git.clone(), fleet.directory()),
            children: &Children::default(),
            governor: &fleet.directory().join("governor.sock"),
            refusal: &|_| None,
            stop: &StopFlag::default(),
            max_runs: 5,
            keeps_ended_runs,
            discards_workspaces: false,
        };
        let (conclusion, _) = runner.execute(&fleet.task, &dir, ExtraLimits::default()).unwrap();
        match keeps_ended_runs {
            true => assert!(matches!(conclusion, Conclusion::Finished(_)), "{conclusion:?}"),
            false => assert!(matches!(conclusion, Conclusion::FinishAgain(_)), "{conclusion:?}"),
        }
        assert_eq!(fleet.log(), if keeps_ended_runs { "run begin begin end " } else { "run begin " });
    }
}

#[test]
fn a_task_whose_directory_another_process_holds_waits_for_it() {
    let fleet = Fleet::new();
    let tasks = fleet.directory().join("tasks");
    let dir = TaskDir::open(&tasks, "a").unwrap();
    let guard = dir.hold().unwrap().unwrap();
    assert!(dir.hold().unwrap().is_none());
    std::thread::scope(|scope| {
        let running = scope.spawn(|| fleet.run());
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(fleet.log(), "");
        drop(guard);
        assert_eq!(running.join().unwrap().0.passed, 1);
    });
}
