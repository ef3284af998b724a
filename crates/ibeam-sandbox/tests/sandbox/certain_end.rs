//! Commands that stop and kill every process they can reach, in every tier: their processes do not outlive the end of
//! the call, and nothing outside is changed.
//!
//! Each test runs itself again in other environments, from the strongest tier to the weakest. Attacks name only the
//! processes of the test itself, or all processes where the user of the test has no other.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibeam_sandbox::{Confinement, DEFAULT_PROCESS_LIMIT, Launcher, Layers, Tier};
use ibeam_testkit::{LivenessPipe, Workspace};

use crate::command::{Started, TIMEOUT, exit_code, finish, start_bash};
use crate::environment::{
    again, can_create_namespaces, environment, inside, is_root, ordinary_user, part_of_a_test,
    without_namespaces,
};

const NOBODY: &str = "ordinary user";
const HIDDEN_PROC: &str = "/proc is hidden in part";
const NO_PID_NAMESPACES: &str = "no pid namespaces";
const NO_NAMESPACES: &str = "no namespaces";
const NO_NAMESPACES_AS_NOBODY: &str = "ordinary user, no namespaces";

/// Prints the pids of supervisor, server and client of this command, as far as it can see them.
const ANCESTORS: &str = "ancestors() { p=$PPID; for i in 1 2 3; do echo $p; \
    p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status); [ \"${p:-0}\" -gt 1 ] || break; done; }";

struct Fixture {
    launcher: Launcher,
    layers: Layers,
    workspace: Workspace,
}

impl Fixture {
    #[track_caller]
    fn new() -> Self {
        let workspace = Workspace::new();
        let launcher = launcher(workspace.path());
        let layers = launcher.start().unwrap();
        let has = |name| layers.names.contains(&name);
        let expected = match environment().as_deref() {
            Some(HIDDEN_PROC) => (Tier::Namespaces, false, true),
            Some(NO_PID_NAMESPACES) => (Tier::Namespaces, false, false),
            Some(NO_NAMESPACES | NO_NAMESPACES_AS_NOBODY) => (Tier::Landlock, false, false),
            Some(_) | None => (Tier::Namespaces, true, false),
        };
        let found = (layers.tier, has("pid-namespace"), has("pid-namespace-without-proc"));
        assert_eq!(found, expected, "{layers:?}");
        Self { launcher, layers, workspace }
    }

    fn has_pids(&self) -> bool {
        self.layers.names.iter().any(|name| name.starts_with("pid-namespace"))
    }

    /// Whether some layer refuses signals to processes outside the sandbox.
    fn bounds_signals(&self) -> bool {
        let has = |abi: u32| self.layers.names.contains(&format!("landlock-abi-{abi}").as_str());
        self.has_pids() || (6..=10).any(has)
    }

    #[track_caller]
    fn start(&self, script: &str) -> Started {
        start(&self.launcher, self.workspace.path(), script)
    }

    #[track_caller]
    fn run(&self, script: &str) -> (String, i32) {
        let (output, status) = finish(self.start(script), script);
        (output, exit_code(status))
    }
}

fn launcher(workspace: &Path) -> Launcher {
    let confinement = Confinement { writable: vec![workspace.to_owned()], ..Confinement::default() };
    Launcher::confined(DEFAULT_PROCESS_LIMIT, confinement)
}

#[track_caller]
fn start(launcher: &Launcher, directory: &Path, script: &str) -> Started {
    start_bash(|launch| launcher.spawn(launch), directory, directory, &format!("{ANCESTORS}; {script}"))
}

fn everywhere(test: &str, body: fn()) {
    if environment().is_some() {
        return body();
    }
    if can_create_namespaces(test) {
        body();
    }
    again(test, HIDDEN_PROC, &inside("mount -t tmpfs none /proc/fs"));
    again(test, NO_PID_NAMESPACES, &inside("echo 0 >/proc/sys/user/max_pid_namespaces"));
    again(test, NO_NAMESPACES, &without_namespaces());
    if is_root() {
        again(test, NOBODY, &ordinary_user());
        again(test, NO_NAMESPACES_AS_NOBODY, &[ordinary_user(), without_namespaces()].concat());
    }
}

/// Attacks of a command on its ancestors, while a daemon of the command tries to survive.
const ATTACKS: [&str; 5] = [
    "for p in $(ancestors); do kill -STOP $p; done; : >attacked; sleep 60",
    "for p in $(ancestors); do kill -STOP $p; done; for p in $(ancestors); do kill -KILL $p; done; : >attacked; sleep 60",
    "kill -STOP $PPID; : >attacked; sleep 60",
    "kill -STOP $PPID; s=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status); kill -STOP -$s $s; kill -KILL -$s $s; : >attacked; sleep 60",
    "while :; do for p in $(ancestors); do kill -STOP $p; kill -KILL $p; done; : >attacked; done",
];

/// Returns a script that attacks after [`attack`] was called, while a daemon holds the lifeline.
fn attack_script(hold: &str, attack: &str) -> String {
    format!("exec 2>/dev/null; setsid bash -c '{hold}' & while [ ! -e go ]; do sleep 0.01; done; {attack}")
}

/// Lets the attack begin and waits until it was made. Some attacks end their own command before they can report it, so the
/// wait has an end.
fn attack(directory: &Path) {
    std::fs::write(directory.join("go"), "").unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    while !directory.join("attacked").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

tests_in! { everywhere:
    fn a_command_that_attacks_its_ancestors_ends_with_its_call() {
        for script in ATTACKS {
            let fixture = Fixture::new();
            let mut lifeline = LivenessPipe::new(&fixture.workspace, "lifeline");
            let hold = lifeline.command();
            let (mut tree, _reader) = fixture.start(&attack_script(&hold, script));
            lifeline.wait_until_held();
            attack(fixture.workspace.path());
            tree.kill();
            assert!(tree.wait_until_gone(TIMEOUT), "{script}");
            lifeline.wait_until_gone();
            let (output, code) = fixture.run("echo next");
            assert_eq!((output.as_str(), code), ("next\n", 0), "{script}");
        }
    }

    fn a_command_that_attacks_its_ancestors_ends_with_the_run() {
        for script in ATTACKS {
            let fixture = Fixture::new();
            let mut lifeline = LivenessPipe::new(&fixture.workspace, "lifeline");
            let hold = lifeline.command();
            let (tree, _reader) = fixture.start(&attack_script(&hold, script));
            lifeline.wait_until_held();
            attack(fixture.workspace.path());
            fixture.launcher.stop();
            lifeline.wait_until_gone();
            drop(tree);
        }
    }

    fn a_command_that_attacks_its_ancestors_ends_with_a_killed_client() {
        for script in ATTACKS {
            let workspace = Workspace::new();
            let mut lifeline = LivenessPipe::new(&workspace, "lifeline");
            let hold = lifeline.command();
            let mut client = part_of_a_test(test_name!(client_process))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let script = attack_script(&hold, script);
            let mut stdin = client.stdin.take().unwrap();
            stdin.write_all(format!("{}\n{script}\n", workspace.path().display()).as_bytes()).unwrap();
            lifeline.wait_until_held();
            attack(workspace.path());
            client.kill().unwrap();
            client.wait().unwrap();
            lifeline.wait_until_gone();
        }
    }

    fn kill_all_reaches_no_process_outside() {
        let fixture = Fixture::new();
        if !fixture.bounds_signals() && is_root() {
            return eprintln!("SKIP: before ABI 6 of Landlock this would end processes that are not of the test");
        }
        if environment().as_deref() != Some(NOBODY) && !fixture.has_pids() && is_root() {
            // Landlock refuses this, but with a broken layer it would end every process of the machine.
            let (output, _) = fixture.run("kill -0 -1; echo $?");
            return assert!(output.ends_with("1\n") && output.contains("not permitted"), "{output}");
        }
        let mut lifeline = LivenessPipe::new(&fixture.workspace, "lifeline");
        let hold = lifeline.command();
        let mut outside = Command::new("sleep").arg("60").spawn().unwrap();
        let (mut tree, _reader) = fixture.start(&format!("setsid bash -c '{hold}' & while [ ! -e go ]; do sleep 0.01; done; kill -KILL -1; kill -STOP -1; sleep 60"));
        lifeline.wait_until_held();
        std::fs::write(fixture.workspace.path().join("go"), "").unwrap();
        tree.wait_until_gone(Duration::from_millis(300));
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
        assert!(outside.try_wait().unwrap().is_none());
        outside.kill().unwrap();
        outside.wait().unwrap();
    }

    fn commands_of_a_run_can_end_each_other() {
        let fixture = Fixture::new();
        let (mut server, mut reader) = fixture.start("echo up; exec sleep 60");
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let (output, code) = fixture.run(&format!("kill -0 {0} && kill -- -{0}", server.pid()));
        assert_eq!(code, 0, "{output}");
        assert!(server.wait_until_gone(TIMEOUT));
        let (output, code) = fixture.run("sleep 60 & kill $!; wait $!; echo $?; kill -0 $$ && echo own");
        assert_eq!((output.lines().next(), output.lines().last(), code), (Some("143"), Some("own"), 0), "{output}");
    }

    fn priorities_and_affinity_of_other_processes_cannot_be_changed() {
        let fixture = Fixture::new();
        let mut outside = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = outside.id();
        let stat = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let nice = stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().to_owned();
            let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned();
            (nice, cpus, std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap())
        };
        let before = stat();
        for attack in [
            format!("renice -n 5 -p {pid}"),
            format!("renice -n 5 -g {pid}"),
            "renice -n 5 -u $(id -u)".to_owned(),
            format!("taskset -p 1 {pid}"),
            format!("prlimit --pid {pid} --nofile=10:10"),
            format!("ionice -c 3 -p {pid}"),
            format!("chrt -b -p 0 {pid}"),
            format!("chrt -i -p 0 {pid}"),
        ] {
            let (output, code) = fixture.run(&format!("command -v {} >/dev/null || exit 99; {attack}", attack.split(' ').next().unwrap()));
            if code == 99 {
                eprintln!("SKIP: {attack}: the program is not installed");
            }
            // In a pid namespace the same pid may belong to a process of the sandbox.
            assert!(code != 0 || fixture.has_pids(), "{attack}: {output}");
            assert_eq!(stat(), before, "{attack}: {output}");
        }
        // A process may always lower its own priority to the end, and keep its processors: the test may run with a low
        // priority, and without the first processor.
        let own_mask = "taskset $(taskset -p $$ | sed 's/.*: //') true";
        for own in ["nice -n 5 true", "renice -n 19 -p 0", own_mask, "ionice -c 3 true", "chrt -b 0 true", "ulimit -n 100"] {
            let (output, code) = fixture.run(&format!("command -v {} >/dev/null || exit 0; {own}", own.split(' ').next().unwrap()));
            assert_eq!(code, 0, "{own}: {output}");
        }
        outside.kill().unwrap();
        outside.wait().unwrap();
    }

    fn command_lines_of_processes_outside_are_not_visible() {
        let mark = format!("CANARY-{}", std::process::id());
        let mut outside = Command::new("bash").args(["-c", "read -r line", &mark]).stdin(Stdio::piped()).spawn().unwrap();
        let fixture = Fixture::new();
        let (output, _) = fixture.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ps -e -o args=; true");
        if fixture.layers.tier == Tier::Landlock {
            // This is not guaranteed there, and the test would find visible command lines.
            assert!(output.contains(&mark), "{output}");
        } else {
            assert!(!output.contains(&mark), "{output}");
        }
        // The process finds itself.
        let (output, code) = fixture.run("cat /proc/self/comm; [ -e /dev/fd/1 ] && cat <(echo sub)");
        assert_eq!((output.as_str(), code), ("cat\nsub\n", 0));
        outside.kill().unwrap();
        outside.wait().unwrap();
    }
}

/// Not a test: the client that another test kills.
#[test]
#[ignore = "a part of another test"]
fn client_process() {
    let lines: Vec<String> = std::io::stdin().lines().take(2).map(Result::unwrap).collect();
    let [directory, script] = lines.as_slice() else { panic!("{lines:?}") };
    let launcher = launcher(Path::new(directory));
    let (mut tree, _reader) = start(&launcher, Path::new(directory), script);
    tree.wait_until_gone(Duration::from_secs(60));
}
