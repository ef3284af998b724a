//! Commands that leave processes behind, end their own, or make more than there is room for.
//!
//! Each with a pid namespace, which root gets, and without, as nobody.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::{Answer, Ibeam, LivenessPipe, Workspace};
use serde_json::{Value, json};

use super::{as_nobody, call, call_through};
use crate::scene::{Scene, answer_call, answer_shell, answer_text};

/// How the program is started: as whoever runs the test, and as nobody.
const LAUNCHES: [fn(Ibeam, &Workspace) -> Ibeam; 2] = [|ibeam, _| ibeam, as_nobody];

/// A scene with a pipe in it.
fn scene(answers: impl FnOnce(&LivenessPipe) -> Vec<Answer>) -> (Scene, LivenessPipe) {
    scene_with("", answers)
}

/// The same with a configuration.
fn scene_with(config: &str, answers: impl FnOnce(&LivenessPipe) -> Vec<Answer>) -> (Scene, LivenessPipe) {
    let workspace = Workspace::new().user_config(config);
    let lifeline = LivenessPipe::new(&workspace, "line");
    (Scene::new(answers(&lifeline)).with_workspace(workspace), lifeline)
}

/// A command that leaves a daemon with the pipe, deaf to polite signals, once that is up.
fn daemon(lifeline: &LivenessPipe) -> String {
    let hold = lifeline.command().replace("sleep 60", "touch up; exec sleep 60");
    format!(
        "(setsid bash -c 'trap \"\" HUP INT TERM; {hold}' </dev/null >/dev/null 2>&1 &); \
         until test -e up; do sleep 0.01; done"
    )
}

#[test]
fn f068_a_daemon_is_gone_when_its_call_has_ended() {
    for launch in LAUNCHES {
        let gate = answer_shell("until test -e go; do sleep 0.01; done");
        let (scene, mut lifeline) =
            scene(|line| vec![answer_shell(&daemon(line)), gate, answer_text("done")]);
        let running = launch(scene.print(["--force"]), &scene.workspace).start();
        lifeline.wait_until_held();
        running.wait_for_stdout("until test -e go");
        lifeline.wait_until_gone();
        std::fs::write(scene.workspace.path().join("go"), "").unwrap();
        let output = running.finish().succeeded();
        assert_eq!(output.stream().completed()[0].1["result"]["success"]["exitCode"], 0, "{output}");
    }
}

#[test]
fn f079_a_command_that_kills_its_group_is_told_as_killed() {
    for launch in LAUNCHES {
        let arguments = json!({"command": "echo before; kill -9 0"});
        let reported = call_through(Workspace::new(), "shell", &arguments, launch);
        let failure = reported.arm("failure");
        assert_eq!((&failure["exitCode"], &failure["signal"]), (&json!(137), &json!("SIGKILL")), "{failure}");
        assert_eq!(failure["stdout"], "before\n");
        assert!(reported.for_model().contains("(ended by SIGKILL)"));
    }
}

#[test]
fn f079_a_command_that_kills_all_it_can_see_hurts_only_itself() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIP: without a pid namespace `kill -9 -1` ends every process of the user");
        return;
    }
    // A broken namespace must fail the test, not end every process of the machine.
    let command = "[ \"$(cat /proc/1/comm)\" = ibeam-init ] || exit 9; kill -9 -1; sleep 60";
    let reported = call(Workspace::new(), "shell", &json!({ "command": command }));
    assert_eq!(reported.arm("failure")["signal"], "SIGKILL");
}

/// Whether something bounds the processes of whoever runs the test: for root that is a cgroup only.
fn is_bound() -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let own_cgroups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own_cgroups.lines().find_map(|line| line.split_once(":pids:/")).map(|(_, path)| path);
    let group = path.map(|path| Path::new("/sys/fs/cgroup/pids").join(path).join("test-probe"));
    group.is_some_and(|group| std::fs::create_dir(&group).and_then(|()| std::fs::remove_dir(&group)).is_ok())
}

#[test]
fn f081_forks_without_end_end_with_their_call() {
    for (launch, is_bound) in LAUNCHES.into_iter().zip([is_bound(), true]) {
        if !is_bound {
            eprintln!("SKIP: without a cgroup nothing binds root");
            continue;
        }
        let bomb = |line: &LivenessPipe| {
            let hold = line.command().replace("sleep 60", "bomb() { bomb | bomb & }; bomb; sleep 60");
            let command = format!("exec 2>/dev/null; {hold}");
            vec![
                answer_call("toolu_1", "shell", &json!({ "command": command, "timeout": 1500 })),
                answer_text("done"),
            ]
        };
        // A small bound: the bomb is to reach it, not to slow everybody down.
        let (scene, mut lifeline) = scene_with("[limits]\nprocesses = 256\n", bomb);
        let ibeam = scene.print(["--force"]).guard(Duration::from_secs(120));
        let running = launch(ibeam, &scene.workspace).start();
        lifeline.wait_until_held();
        let output = running.finish().succeeded();
        assert_eq!(output.stream().completed()[0].1["result"]["timeout"]["timeoutMs"], 1500, "{output}");
        lifeline.wait_until_gone();
    }
}

/// A memory cgroup of this much, removed when dropped.
struct LittleMemory(PathBuf);

impl LittleMemory {
    /// `None` where none can be made.
    fn new(bytes: u64) -> Option<Self> {
        let own_cgroups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own_cgroups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.strip_prefix("memory:/")
        })?;
        let path = Path::new("/sys/fs/cgroup/memory").join(path).join(format!("test-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let made = Self(path);
        std::fs::write(made.0.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        Some(made)
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

#[test]
fn f082_when_memory_runs_out_the_command_goes_and_not_the_agent() {
    for launch in LAUNCHES {
        let arguments = json!({"command": "cat /proc/self/oom_score_adj"});
        // Kept from the model without a word of the user, as all of /proc/self.
        let allow = ["--allow", "Read(/proc/self/oom_score_adj)"];
        let reported = call_through(Workspace::new(), "shell", &arguments, |ibeam, workspace| {
            launch(ibeam.args(allow), workspace)
        });
        assert_eq!(reported.arm("success")["stdout"], "1000\n");
    }
    let Some(memory) = LittleMemory::new(400 << 20) else {
        eprintln!("SKIP: a memory cgroup cannot be made here");
        return;
    };
    let join = format!("echo $$ > {}", memory.0.join("cgroup.procs").display());
    // It keeps the last line of its input, and this one does not end.
    let arguments = json!({"command": "tail /dev/zero; echo \"ended with $?\""});
    let reported = call_through(Workspace::new(), "shell", &arguments, |ibeam, _| ibeam.after(&join));
    assert!(reported.for_model().contains("ended with 137"), "{}", reported.for_model());
}

/// Starts a run whose command has left a daemon and goes on, and waits until it is so.
fn with_daemon(launch: fn(Ibeam, &Workspace) -> Ibeam, ends: impl FnOnce(ibeam_testkit::RunningProgram)) {
    let commands = |line: &LivenessPipe| {
        vec![answer_shell(&format!("{}; sleep 60", daemon(line))), answer_text("never")]
    };
    let (scene, mut lifeline) = scene(commands);
    let running = launch(scene.print(["--force"]), &scene.workspace).start();
    lifeline.wait_until_held();
    ends(running);
    lifeline.wait_until_gone();
}

#[test]
fn f118_a_termination_ends_daemons_too() {
    for launch in LAUNCHES {
        with_daemon(launch, |running| {
            running.signal(Signal::Term);
            let output = running.finish();
            assert_eq!(output.code, Some(143), "{output}");
        });
    }
}

#[test]
fn f153_an_agent_that_is_killed_leaves_no_process() {
    for launch in LAUNCHES {
        with_daemon(launch, |running| {
            running.kill_alone();
            assert_eq!(running.finish().signal, Some(9));
        });
    }
}

#[test]
fn f153_an_agent_that_is_killed_leaves_no_background_command() {
    for launch in LAUNCHES {
        let background = |line: &LivenessPipe| -> Value {
            json!({ "command": format!("setsid bash -c '{}' & wait", line.command()), "isBackground": true })
        };
        let gate = answer_shell("sleep 60");
        let (scene, mut lifeline) = scene(|line| {
            vec![answer_call("toolu_1", "shell", &background(line)), gate, answer_text("never")]
        });
        let running = launch(scene.print(["--force"]), &scene.workspace).start();
        lifeline.wait_until_held();
        running.wait_for_stdout("sleep 60\"");
        running.kill_alone();
        assert_eq!(running.finish().signal, Some(9));
        lifeline.wait_until_gone();
    }
}
