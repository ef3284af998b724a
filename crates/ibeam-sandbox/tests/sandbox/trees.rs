//! Real process trees that are hard to end, with and without a pid namespace.
//!
//! A test that runs as root runs itself a second time as an ordinary user, without a namespace.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use ibeam_sandbox::{ForkServer, LaunchSpec, Launcher, SpawnError, SupervisedTree};
use ibeam_testkit::{LivenessPipe, Workspace};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

use crate::command::{Started, TIMEOUT, finish, start_bash};
use crate::environment::{again, environment, in_own_process, is_root, ordinary_user, part_of_a_test};

/// Guard before `kill -9 -1`: with a broken namespace the test must fail, not end every process of the machine.
const IF_ALONE: &str = "[ \"$(cat /proc/1/comm)\" = ibeam-init ] || exit 9;";

/// Process limit for a fork bomb, low enough not to slow down the machine.
const FEW: u32 = 256;

/// A workspace and a server.
struct Fixture {
    server: ForkServer,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        Self { server: ForkServer::start(FEW).unwrap(), workspace: Workspace::new() }
    }

    fn has_namespace(&self) -> bool {
        self.server.layers().contains(&"pid-namespace")
    }

    fn has_cgroup(&self) -> bool {
        self.server.layers().contains(&"pids-cgroup")
    }

    /// Starts a bash script. Returns its tree and a reader of its output.
    #[track_caller]
    fn start(&self, script: &str) -> Started {
        start(&self.server, self.workspace.path(), script)
    }

    /// Runs a script until its tree has ended.
    #[track_caller]
    fn run(&self, script: &str) -> (String, ExitStatus) {
        finish(self.start(script), script)
    }

    fn lifeline(&self) -> LivenessPipe {
        LivenessPipe::new(&self.workspace, "lifeline")
    }
}

#[track_caller]
fn start(server: &ForkServer, directory: &Path, script: &str) -> Started {
    start_bash(|launch| server.spawn(launch), directory, directory, script)
}

/// Waits until the command has ended. Returns its status.
#[track_caller]
fn ended(tree: &mut SupervisedTree) -> ExitStatus {
    let deadline = std::time::Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = tree.status() {
            return status;
        }
        assert!(std::time::Instant::now() < deadline, "the command does not end");
        if tree.read_events().is_err() {
            std::thread::yield_now();
        }
    }
}

#[track_caller]
fn line(reader: &mut BufReader<std::io::PipeReader>) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Runs the body here and, if this is root, also as an ordinary user.
fn with_and_without_namespace(test: &str, body: fn()) {
    body();
    if is_root() {
        again(test, "as an ordinary user", &ordinary_user());
    }
}

tests_in! { with_and_without_namespace:
    fn the_end_of_a_command_is_reported() {
        let fixture = Fixture::new();
        assert_eq!(fixture.run("echo output; exit 3"), ("output\n".to_owned(), ExitStatus::from_raw(3 << 8)));
        assert_eq!(fixture.run("kill -SEGV $$").1.signal(), Some(11));
        let may = Command::new("unshare").args(["--pid", "--mount", "--fork", "true"]).output();
        let may = may.is_ok_and(|ran| ran.status.success());
        assert_eq!(fixture.has_namespace(), may, "{:?}", fixture.server.layers());
    }

    fn a_command_that_cannot_start_is_an_error() {
        let fixture = Fixture::new();
        let null = std::fs::File::open("/dev/null").unwrap();
        let refusal = |program: &str, directory: &str, argument: &str| {
            let launch = LaunchSpec {
                program: Path::new(program),
                arguments: &[OsStr::new("x"), OsStr::new(argument)],
                environment: &[],
                directory: Path::new(directory),
                stdio: [null.as_fd(); 3],
            };
            match fixture.server.spawn(&launch) {
                Err(SpawnError::System(errno)) => Some(errno),
                Err(SpawnError::NulByte) => None,
                other => panic!("{other:?}"),
            }
        };
        let missing = fixture.workspace.missing().display().to_string();
        assert_eq!(refusal(&missing, "/", ""), Some(Errno::NOENT));
        assert_eq!(refusal("/bin/bash", &missing, ""), Some(Errno::NOENT));
        assert_eq!(refusal("/etc/passwd", "/", ""), Some(Errno::ACCESS));
        assert_eq!(refusal("/bin/true", "/", &"x".repeat(200_000)), Some(Errno::TOOBIG));
        assert_eq!(refusal("/bin/true", "/", "a\0b"), None);
        assert_eq!(fixture.run("echo still").0, "still\n");
    }

    fn a_daemon_stays_in_the_tree_and_ends_with_it() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        // Two forks and a new session, as daemons do to leave their parents.
        let daemon = format!("(setsid bash -c '{}' </dev/null >/dev/null 2>&1 &) ; exit 0", lifeline.command());
        let (mut tree, _reader) = fixture.start(&daemon);
        assert!(ended(&mut tree).success());
        lifeline.wait_until_held();
        assert!(!tree.wait_until_gone(Duration::ZERO));
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
    }

    fn a_tree_that_ignores_term_is_killed() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        let (mut tree, mut reader) = fixture.start(&format!(
            "exec 2>/dev/null; trap 'echo no' TERM; (trap '' TERM; {}) & while :; do sleep 0.05; done",
            lifeline.command()
        ));
        lifeline.wait_until_held();
        tree.terminate();
        assert_eq!(line(&mut reader), "no");
        assert!(!tree.wait_until_gone(Duration::ZERO));
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
        assert_eq!(tree.status().unwrap().signal(), Some(9));
        lifeline.wait_until_gone();
    }

    fn term_reaches_the_whole_tree() {
        let fixture = Fixture::new();
        let (mut tree, mut reader) = fixture.start(
            "exec 2>/dev/null; trap 'wait; exit 4' TERM; \
             setsid bash -c 'trap \"echo cleaned; exit 0\" TERM; echo up; while :; do sleep 0.01; done' & \
             wait",
        );
        assert_eq!(line(&mut reader), "up");
        tree.terminate();
        assert!(tree.wait_until_gone(TIMEOUT));
        assert_eq!(line(&mut reader), "cleaned");
        assert_eq!(tree.status().unwrap().code(), Some(4));
    }

    fn a_stopped_tree_can_be_ended() {
        let fixture = Fixture::new();
        for kill in [false, true] {
            let (mut tree, mut reader) = fixture.start("echo up; kill -STOP $$");
            assert_eq!(line(&mut reader), "up");
            if kill { tree.kill() } else { tree.terminate() }
            assert!(tree.wait_until_gone(TIMEOUT));
            assert!(tree.status().unwrap().signal().is_some());
        }
    }

    fn a_command_that_kills_its_group_is_reported_as_killed() {
        let fixture = Fixture::new();
        assert_eq!(fixture.run("kill -9 0").1.signal(), Some(9));
        assert_eq!(fixture.run("sleep 60 & kill -TERM 0; wait").1.signal(), Some(15));
    }

    fn a_command_that_kills_its_supervisor_leaves_nothing() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        let hold = lifeline.command().replace("sleep 60", "echo up; exec sleep 60");
        let (mut tree, mut reader) =
            fixture.start(&format!("setsid bash -c '{hold}' & while [ ! -e go ]; do sleep 0.01; done; kill -9 $PPID; sleep 60"));
        assert_eq!(line(&mut reader), "up");
        lifeline.wait_until_held();
        std::fs::write(fixture.workspace.path().join("go"), "").unwrap();
        assert!(tree.wait_until_gone(TIMEOUT));
        assert_eq!(tree.status().unwrap().signal(), Some(9));
        // The end was reported only after it was complete.
        lifeline.wait_until_gone();
        assert_eq!(fixture.run("echo next").0, "next\n");
    }

    fn a_command_that_kills_the_server_ends_all_or_nothing() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        let (mut other, _reader) = fixture.start(&format!("setsid bash -c '{}' & wait", lifeline.command()));
        lifeline.wait_until_held();
        let (mut tree, mut reader) = fixture.start("kill -9 $(ps -o ppid= -p $PPID); sleep 0.2; echo still");
        if fixture.has_namespace() {
            // The first process of a namespace cannot be killed from inside.
            assert_eq!(line(&mut reader), "still");
            assert_eq!(fixture.run("echo next").0, "next\n");
            other.kill();
        }
        assert!(tree.wait_until_gone(TIMEOUT) && other.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
    }

    fn a_dropped_tree_is_killed() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        let (tree, _reader) = fixture.start(&lifeline.command());
        lifeline.wait_until_held();
        drop(tree);
        lifeline.wait_until_gone();
    }

    fn a_dropped_server_has_ended_every_tree() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        let (mut tree, _reader) =
            fixture.start(&format!("setsid bash -c '{}' & exec sleep 60", lifeline.command()));
        lifeline.wait_until_held();
        drop(fixture.server);
        assert!(tree.wait_until_gone(Duration::ZERO));
        lifeline.wait_until_gone();
    }

    fn a_command_that_kills_server_and_supervisor_ends_with_them() {
        let fixture = Fixture::new();
        let mut lifeline = fixture.lifeline();
        let kill = "kill -9 $(ps -o ppid= -p $PPID) $PPID; sleep 60";
        let (mut tree, _reader) = fixture.start(&lifeline.command().replace("sleep 60", kill));
        lifeline.wait_until_held();
        assert!(tree.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
    }

    fn a_tree_that_forks_continuously_is_ended() {
        let fixture = Fixture::new();
        let (mut tree, mut reader) = fixture.start("run() { run & }; echo up; run; sleep 60");
        assert_eq!(line(&mut reader), "up");
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
    }

    fn a_pipe_that_the_command_closes_is_closed() {
        let fixture = Fixture::new();
        let (mut tree, mut reader) = fixture.start("echo up; exec >&- 2>&-; while :; do sleep 60; done");
        let mut output = String::new();
        reader.read_to_string(&mut output).unwrap();
        assert_eq!(output, "up\n");
        assert!(!tree.wait_until_gone(Duration::ZERO));
    }

    fn the_memory_of_the_client_is_discarded() {
        const SIZE: usize = 128 << 20;
        let much = vec![1_u8; SIZE];
        let fixture = Fixture::new();
        let held = fixture.run("grep VmRSS /proc/$PPID/status | tr -dc 0-9").0;
        assert!(held.parse::<usize>().unwrap() * 1024 < SIZE, "{held} kB");
        drop(much);
    }

    fn a_command_can_end_another() {
        let fixture = Fixture::new();
        let (mut server, mut reader) = fixture.start("echo up; exec sleep 60");
        assert_eq!(line(&mut reader), "up");
        assert_eq!(fixture.run(&format!("kill -0 {0} && kill -- -{0}", server.pid())).1.code(), Some(0));
        assert!(server.wait_until_gone(TIMEOUT));
        assert_eq!(server.status().unwrap().signal(), Some(15));
    }

    fn no_descriptor_or_signal_state_of_the_client_is_inherited() {
        let fixture = Fixture::new();
        let (other, _reader) = fixture.start("sleep 60");
        assert_eq!(fixture.run("ls /proc/$$/fd; :").0, "0\n1\n2\n");
        assert_eq!(fixture.run("trap").0, "");
        assert_eq!(fixture.run("grep ^SigBlk /proc/self/status").0, "SigBlk:\t0000000000000000\n");
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = |status: &str| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
            u64::from_str_radix(mask, 16).unwrap()
        };
        // As in every child: signals that ibeam was started with as ignored stay ignored; those that Rust ignores do
        // not.
        let pipe = 1 << (rustix::process::Signal::PIPE.as_raw() - 1);
        assert_eq!(ignored(&fixture.run("cat /proc/self/status").0), ignored(&own) & !pipe);
        drop(other);
    }

    fn a_command_has_one_pid_everywhere() {
        let fixture = Fixture::new();
        let (mut tree, mut reader) = fixture.start(
            "read -r stat _ </proc/self/stat; echo $$ $stat $(ps -o pid= -p $$) $(ps -o sid= -p $$) $BASHPID",
        );
        let pid = tree.pid().to_string();
        assert_eq!(line(&mut reader).split(' ').collect::<Vec<_>>(), [pid.as_str(); 5]);
        assert!(tree.wait_until_gone(TIMEOUT));
    }

    fn command_line_and_environment_of_the_client_are_not_visible() {
        let fixture = Fixture::new();
        // The supervisor and, in a namespace, the server.
        let (shown, _) = fixture.run("for p in $PPID $(ps -o ppid= -p $PPID); do cat /proc/$p/cmdline /proc/$p/environ; done");
        assert_eq!(shown.trim_matches('\0'), "");
    }

    fn a_fork_bomb_is_limited_and_ended() {
        let fixture = Fixture::new();
        if is_root() && !fixture.has_cgroup() {
            return eprintln!("SKIP: without a cgroup nothing binds root");
        }
        let mut lifeline = fixture.lifeline();
        let (mut tree, _reader) = fixture.start(&format!(
            "exec 2>/dev/null; ({}) & while [ ! -e go ]; do sleep 0.01; done; bomb() {{ bomb | bomb & }}; bomb; sleep 60",
            lifeline.command()
        ));
        lifeline.wait_until_held();
        std::fs::write(fixture.workspace.path().join("go"), "").unwrap();
        // The fork bomb gets some time to grow; whether it reaches the limit does not matter.
        assert!(!tree.wait_until_gone(Duration::from_secs(1)));
        tree.kill();
        assert!(tree.wait_until_gone(Duration::from_secs(60)));
        lifeline.wait_until_gone();
        assert_eq!(fixture.run("echo next").0, "next\n");
    }

    fn a_killed_client_leaves_nothing() {
        let workspace = Workspace::new();
        let mut lifeline = LivenessPipe::new(&workspace, "lifeline");
        let mut client = part_of_a_test(test_name!(client_process))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let hold = lifeline.command();
        let script = format!("{}\nsetsid bash -c '{hold}' & setsid -f bash -c 'trap \"\" TERM HUP; sleep 60'; sleep 60\n",
            workspace.path().display());
        let mut stdin = client.stdin.take().unwrap();
        stdin.write_all(script.as_bytes()).unwrap();
        lifeline.wait_until_held();
        client.kill().unwrap();
        client.wait().unwrap();
        lifeline.wait_until_gone();
    }

    fn the_number_of_processes_is_limited() {
        let fixture = Fixture::new();
        let bound: u64 = fixture.run("ulimit -u").0.trim().parse().unwrap();
        let own = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
        // All existing processes plus a few thousand.
        assert!(own.is_none_or(|own| bound < own || own < 10_000), "{bound} of {own:?}");
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let Some(group) = own.lines().find_map(|line| line.split_once(":pids:/")).map(|(_, path)| path) else {
            return eprintln!("SKIP: no pids cgroup hierarchy");
        };
        let group = Path::new("/sys/fs/cgroup/pids").join(group);
        let probe = group.join(format!("probe-{}", std::process::id()));
        let may = std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe)).is_ok();
        assert_eq!(fixture.has_cgroup(), may, "{:?}", fixture.server.layers());
        if may {
            let command_value = fixture.run("cat /proc/self/cgroup").0;
            let path = command_value.lines().find_map(|line| line.split_once(":pids:/")).unwrap().1.to_owned();
            let limit = std::fs::read_to_string(Path::new("/sys/fs/cgroup/pids").join(path).join("pids.max"));
            assert_eq!(limit.unwrap(), format!("{FEW}\n"));
        }
    }
}

#[test]
fn a_command_is_ended_first_when_memory_runs_out() {
    let test = test_name!(a_command_is_ended_first_when_memory_runs_out);
    let body = || {
        for client in [DumpableBehavior::Dumpable, DumpableBehavior::NotDumpable] {
            rustix::process::set_dumpable_behavior(client).unwrap();
            assert_eq!(Fixture::new().run("cat /proc/self/oom_score_adj").0, "1000\n", "{client:?}");
        }
    };
    in_own_process(test, body);
    if environment().is_none() && is_root() {
        again(test, "as an ordinary user", &ordinary_user());
    }
}

#[test]
fn kill_all_stays_in_the_namespace() {
    let fixture = Fixture::new();
    if !fixture.has_namespace() {
        eprintln!("SKIP: without a pid namespace `kill -9 -1` ends every process of the user");
        return;
    }
    let mut lifeline = fixture.lifeline();
    let (mut other, _reader) = fixture.start(&format!("setsid bash -c '{}' & sleep 60", lifeline.command()));
    lifeline.wait_until_held();
    let mut outside = Command::new("sleep").arg("60").spawn().unwrap();
    let (mut tree, _reader) = fixture.start(&format!("{IF_ALONE} kill -9 -1; sleep 60"));
    for tree in [&mut tree, &mut other] {
        assert!(tree.wait_until_gone(TIMEOUT));
        assert_eq!(tree.status().unwrap().signal(), Some(9));
    }
    lifeline.wait_until_gone();
    assert!(outside.try_wait().unwrap().is_none());
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert_eq!(fixture.run("echo next").0, "next\n");
}

#[test]
fn two_servers_use_different_first_process_ids() {
    let fixture = Fixture::new();
    if !fixture.has_namespace() {
        eprintln!("SKIP: process ids are those of the system");
        return;
    }
    let [first, second]: [u32; 2] =
        [&fixture, &Fixture::new()].map(|fixture| fixture.run("echo $$").0.trim().parse().unwrap());
    assert!(first > std::process::id() && first.abs_diff(second) > 100, "{first} {second}");
}

#[test]
fn a_gentle_launcher_sends_term_before_it_kills() {
    let workspace = Workspace::new();
    for (script, expect) in [
        ("trap 'echo cleaned; exit' TERM; echo ready; sleep 60 & wait", "cleaned\n"),
        ("trap '' TERM; echo ready; sleep 60", ""),
    ] {
        let launcher = Launcher::gentle(FEW);
        let (reader, writer) = std::io::pipe().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let launch = LaunchSpec {
            program: Path::new("/bin/bash"),
            arguments: &["bash", "--norc", "-c", script].map(OsStr::new),
            environment: &[("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            directory: workspace.path(),
            stdio: [null.as_fd(), writer.as_fd(), writer.as_fd()],
        };
        let mut tree = launcher.spawn(&launch).unwrap();
        drop(writer);
        let (mut reader, mut line, mut rest) = (BufReader::new(reader), String::new(), String::new());
        reader.read_line(&mut line).unwrap();
        tree.kill();
        assert!(tree.wait_until_gone(Duration::from_secs(5)), "{script}");
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!((line.as_str(), rest.as_str()), ("ready\n", expect), "{script}");
    }
}

/// Not a test: the process that `a_killed_client_leaves_nothing` kills.
#[test]
#[ignore = "a part of another test"]
fn client_process() {
    let lines: Vec<String> = std::io::stdin().lines().take(2).map(Result::unwrap).collect();
    let [directory, script] = lines.as_slice() else { panic!("{lines:?}") };
    let server = ForkServer::start(FEW).unwrap();
    let (mut tree, _reader) = start(&server, Path::new(directory), script);
    tree.wait_until_gone(Duration::from_secs(60));
}
