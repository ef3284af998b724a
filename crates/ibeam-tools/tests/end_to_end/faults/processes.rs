//! Commands that leave processes behind, kill processes, or start too many.
//!
//! Each test runs with a pid namespace, as root, and without, as the user `nobody`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, Ibeam, LivenessPipe, Workspace};
use serde_json::{Value, json};

use super::{as_nobody, call_tool, call_tool_through};

/// Start the program as the user of the test and as `nobody`.
const LAUNCHERS: [fn(Ibeam, &Workspace) -> Ibeam; 2] = [|ibeam, _| ibeam, as_nobody];

/// Returns a scene with a pipe that processes hold open.
fn scene_with_pipe(answers: impl FnOnce(&LivenessPipe) -> Vec<Answer>) -> (Scene, LivenessPipe) {
    scene_with_config("", answers)
}

/// Like [`scene_with_pipe`], with a user configuration.
fn scene_with_config(
    config: &str,
    answers: impl FnOnce(&LivenessPipe) -> Vec<Answer>,
) -> (Scene, LivenessPipe) {
    let workspace = Workspace::new().user_config(config);
    let pipe = LivenessPipe::new(&workspace, "line");
    (Scene::new(answers(&pipe)).with_workspace(workspace), pipe)
}

/// Returns a command that starts a daemon, which holds the pipe and ignores HUP, INT and TERM, and waits for its start.
fn daemon_command(pipe: &LivenessPipe) -> String {
    let hold = pipe.command().replace("sleep 60", "touch up; exec sleep 60");
    format!(
        "(setsid bash -c 'trap \"\" HUP INT TERM; {hold}' </dev/null >/dev/null 2>&1 &); \
         until test -e up; do sleep 0.01; done"
    )
}

#[test]
fn f068_a_daemon_is_gone_when_its_call_has_ended() {
    for launch in LAUNCHERS {
        let gate = answer_shell("until test -e go; do sleep 0.01; done");
        let (scene, mut pipe) =
            scene_with_pipe(|line| vec![answer_shell(&daemon_command(line)), gate, answer_text("done")]);
        let running = launch(scene.print(["--force"]), &scene.workspace).start();
        pipe.wait_until_held();
        running.wait_for_stdout("until test -e go");
        pipe.wait_until_gone();
        std::fs::write(scene.workspace.path().join("go"), "").unwrap();
        let output = running.finish().succeeded();
        assert_eq!(output.stream().completed()[0].1["result"]["success"]["exitCode"], 0, "{output}");
    }
}

#[test]
fn f079_a_command_that_kills_its_group_is_reported_as_killed() {
    for launch in LAUNCHERS {
        let arguments = json!({"command": "echo before; kill -9 0"});
        let report = call_tool_through(Workspace::new(), "shell", &arguments, launch);
        let failure = report.result("failure");
        assert_eq!((&failure["exitCode"], &failure["signal"]), (&json!(137), &json!("SIGKILL")), "{failure}");
        assert_eq!(failure["stdout"], "before\n");
        assert!(report.transcript().contains("(ended by SIGKILL)"));
    }
}

#[test]
fn f079_a_command_that_kills_all_processes_kills_only_its_own() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIP: without a pid namespace `kill -9 -1` ends every process of the user");
        return;
    }
    // Without the namespace the test must fail before it kills other processes.
    let command = "[ \"$(cat /proc/1/comm)\" = ibeam-init ] || exit 9; kill -9 -1; sleep 60";
    let report = call_tool(Workspace::new(), "shell", &json!({ "command": command }));
    assert_eq!(report.result("failure")["signal"], "SIGKILL");
}

/// Whether the number of processes of this user is limited. For root only a cgroup limits it.
fn has_process_limit() -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let own_cgroups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own_cgroups.lines().find_map(|line| line.split_once(":pids:/")).map(|(_, path)| path);
    let group = path.map(|path| Path::new("/sys/fs/cgroup/pids").join(path).join("test-probe"));
    group.is_some_and(|group| std::fs::create_dir(&group).and_then(|()| std::fs::remove_dir(&group)).is_ok())
}

#[test]
fn f081_a_fork_bomb_ends_with_its_call() {
    for (launch, has_process_limit) in LAUNCHERS.into_iter().zip([has_process_limit(), true]) {
        if !has_process_limit {
            eprintln!("SKIP: without a cgroup root has no process limit");
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
        // With a small limit the fork bomb does not slow down other tests.
        let (scene, mut pipe) = scene_with_config("[limits]\nprocesses = 256\n", bomb);
        let ibeam = scene.print(["--force"]).timeout(Duration::from_secs(120));
        let running = launch(ibeam, &scene.workspace).start();
        pipe.wait_until_held();
        let output = running.finish().succeeded();
        assert_eq!(output.stream().completed()[0].1["result"]["timeout"]["timeoutMs"], 1500, "{output}");
        pipe.wait_until_gone();
    }
}

/// A cgroup with a memory limit, removed on drop.
struct MemoryCgroup(PathBuf);

impl MemoryCgroup {
    /// Creates the cgroup. `None` if that is not possible here.
    fn new(bytes: u64) -> Option<Self> {
        let own_cgroups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own_cgroups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.strip_prefix("memory:/")
        })?;
        let path = Path::new("/sys/fs/cgroup/memory").join(path).join(format!("test-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let cgroup = Self(path);
        std::fs::write(cgroup.0.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        Some(cgroup)
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

#[test]
fn f082_when_memory_runs_out_the_command_is_killed_and_not_the_agent() {
    for launch in LAUNCHERS {
        let arguments = json!({"command": "cat /proc/self/oom_score_adj"});
        // Hidden from the model by default, like all of /proc/self.
        let allow = ["--allow", "Read(/proc/self/oom_score_adj)"];
        let report = call_tool_through(Workspace::new(), "shell", &arguments, |ibeam, workspace| {
            launch(ibeam.args(allow), workspace)
        });
        assert_eq!(report.result("success")["stdout"], "1000\n");
    }
    let Some(memory) = MemoryCgroup::new(400 << 20) else {
        eprintln!("SKIP: a memory cgroup cannot be created here");
        return;
    };
    let join = format!("echo $$ > {}", memory.0.join("cgroup.procs").display());
    // `tail` holds the last line of its input, which does not end.
    let arguments = json!({"command": "tail /dev/zero; echo \"ended with $?\""});
    let report = call_tool_through(Workspace::new(), "shell", &arguments, |ibeam, _| ibeam.after(&join));
    assert!(report.transcript().contains("ended with 137"), "{}", report.transcript());
}

/// Starts a run whose command has started a daemon and still runs, calls `end` and checks that the daemon ends.
fn check_daemon_ends(
    launch: fn(Ibeam, &Workspace) -> Ibeam,
    end: impl FnOnce(ibeam_testkit::RunningProgram),
) {
    let commands = |line: &LivenessPipe| {
        vec![answer_shell(&format!("{}; sleep 60", daemon_command(line))), answer_text("never")]
    };
    let (scene, mut pipe) = scene_with_pipe(commands);
    let running = launch(scene.print(["--force"]), &scene.workspace).start();
    pipe.wait_until_held();
    end(running);
    pipe.wait_until_gone();
}

#[test]
fn f118_sigterm_ends_daemons_too() {
    for launch in LAUNCHERS {
        check_daemon_ends(launch, |running| {
            running.signal(Signal::Term);
            let output = running.finish();
            assert_eq!(output.code, Some(143), "{output}");
        });
    }
}

#[test]
fn f153_an_agent_that_is_killed_leaves_no_process() {
    for launch in LAUNCHERS {
        check_daemon_ends(launch, |running| {
            running.kill_alone();
            assert_eq!(running.finish().signal, Some(9));
        });
    }
}

#[test]
fn f153_an_agent_that_is_killed_leaves_no_background_command() {
    for launch in LAUNCHERS {
        let background = |line: &LivenessPipe| -> Value {
            json!({ "command": format!("setsid bash -c '{}' & wait", line.command()), "isBackground": true })
        };
        let gate = answer_shell("sleep 60");
        let (scene, mut pipe) = scene_with_pipe(|line| {
            vec![answer_call("toolu_1", "shell", &background(line)), gate, answer_text("never")]
        });
        let running = launch(scene.print(["--force"]), &scene.workspace).start();
        pipe.wait_until_held();
        running.wait_for_stdout("sleep 60\"");
        running.kill_alone();
        assert_eq!(running.finish().signal, Some(9));
        pipe.wait_until_gone();
    }
}
