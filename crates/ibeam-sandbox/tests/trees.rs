//! Real process trees of every unpleasant kind, with a pid namespace and without.
//!
//! A test that runs as root runs itself a second time as nobody, who gets no namespace.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use ibeam_sandbox::{ForkServer, LaunchSpec, SpawnError, SupervisedTree};
use ibeam_testkit::{Lifeline, Workspace};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

/// Longer than any tree may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Before `kill -9 -1`: a broken namespace must fail a test, not end every process of the machine.
const IF_ALONE: &str = "[ \"$(cat /proc/1/comm)\" = ibeam-init ] || exit 9;";

/// Processes for what forks without end to reach, without slowing everybody down.
const FEW: u32 = 256;

/// Where a test runs.
struct World {
    server: ForkServer,
    workspace: Workspace,
}

impl World {
    fn new() -> Self {
        Self { server: ForkServer::start(FEW).unwrap(), workspace: Workspace::new() }
    }

    fn has_namespace(&self) -> bool {
        self.server.layers().contains(&"pid-namespace")
    }

    fn has_cgroup(&self) -> bool {
        self.server.layers().contains(&"pids-cgroup")
    }

    /// Starts a script of bash and gives what reads its output.
    #[track_caller]
    fn start(&self, script: &str) -> (SupervisedTree, BufReader<std::io::PipeReader>) {
        start(&self.server, self.workspace.path(), script)
    }

    /// Runs a script to the end of its tree.
    #[track_caller]
    fn run(&self, script: &str) -> (String, ExitStatus) {
        let (mut tree, mut reader) = self.start(script);
        let mut output = String::new();
        reader.read_to_string(&mut output).unwrap();
        assert!(tree.wait_until_gone(PATIENCE), "{script} does not end; {output}");
        (output, tree.status().unwrap())
    }

    fn lifeline(&self) -> Lifeline {
        Lifeline::new(&self.workspace, "lifeline")
    }
}

fn start(
    server: &ForkServer,
    directory: &Path,
    script: &str,
) -> (SupervisedTree, BufReader<std::io::PipeReader>) {
    let (reader, writer) = std::io::pipe().unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let launch = LaunchSpec {
        program: Path::new("/bin/bash"),
        arguments: &["bash", "--norc", "-c", script].map(OsStr::new),
        environment: &[("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        directory,
        stdio: [null.as_fd(), writer.as_fd(), writer.as_fd()],
    };
    (server.spawn(&launch).unwrap_or_else(|error| panic!("{script}: {error}")), BufReader::new(reader))
}

/// Waits until the command itself has ended, and gives how.
#[track_caller]
fn ended(tree: &mut SupervisedTree) -> ExitStatus {
    let deadline = std::time::Instant::now() + PATIENCE;
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

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the body here and, as root, once more as nobody.
fn with_and_without_namespace(name: &str, body: fn()) {
    body();
    if !is_root() {
        return;
    }
    // A user of its own: a bound on processes counts all of a user's.
    let user = (60_000 + std::process::id() % 5_000).to_string();
    let nobody = ["--reuid", &user, "--regid", &user, "--clear-groups", "--inh-caps=-all"];
    let program = std::env::current_exe().unwrap();
    let found = Command::new("setpriv").args(nobody).arg("--").args(["test", "-x"]).arg(&program).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("SKIP: {name} without a namespace: nobody cannot run {}", program.display());
        return;
    }
    let output = Command::new("setpriv")
        .args(nobody)
        .arg("--")
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .current_dir("/")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "as nobody: {said}");
}

macro_rules! trees {
    ($(fn $name:ident() $body:block)*) => {
        $(
            #[test]
            fn $name() {
                with_and_without_namespace(stringify!($name), || $body);
            }
        )*
    };
}

trees! {
    fn the_end_of_a_command_is_told() {
        let world = World::new();
        assert_eq!(world.run("echo said; exit 3"), ("said\n".to_owned(), ExitStatus::from_raw(3 << 8)));
        assert_eq!(world.run("kill -SEGV $$").1.signal(), Some(11));
        let may = Command::new("unshare").args(["--pid", "--mount", "--fork", "true"]).output();
        let may = may.is_ok_and(|ran| ran.status.success());
        assert_eq!(world.has_namespace(), may, "{:?}", world.server.layers());
    }

    fn what_cannot_begin_is_told() {
        let world = World::new();
        let null = std::fs::File::open("/dev/null").unwrap();
        let refusal = |program: &str, directory: &str, argument: &str| {
            let launch = LaunchSpec {
                program: Path::new(program),
                arguments: &[OsStr::new("x"), OsStr::new(argument)],
                environment: &[],
                directory: Path::new(directory),
                stdio: [null.as_fd(); 3],
            };
            match world.server.spawn(&launch) {
                Err(SpawnError::Refused(errno)) => Some(errno),
                Err(SpawnError::NulByte) => None,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refusal("/nonexistent", "/", ""), Some(Errno::NOENT));
        assert_eq!(refusal("/bin/bash", "/nonexistent", ""), Some(Errno::NOENT));
        assert_eq!(refusal("/etc/passwd", "/", ""), Some(Errno::ACCESS));
        assert_eq!(refusal("/bin/true", "/", &"x".repeat(200_000)), Some(Errno::TOOBIG));
        assert_eq!(refusal("/bin/true", "/", "a\0b"), None);
        assert_eq!(world.run("echo still").0, "still\n");
    }

    fn a_daemon_stays_in_the_tree_and_ends_with_it() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        // Two forks and a session of its own: what a daemon does to be rid of its parents.
        let daemon = format!("(setsid bash -c '{}' </dev/null >/dev/null 2>&1 &) ; exit 0", lifeline.command());
        let (mut tree, _reader) = world.start(&daemon);
        assert!(ended(&mut tree).success());
        lifeline.wait_until_held();
        assert!(!tree.wait_until_gone(Duration::ZERO));
        tree.kill();
        assert!(tree.wait_until_gone(PATIENCE));
        lifeline.wait_until_gone();
    }

    fn a_tree_that_ignores_term_is_killed() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        let (mut tree, mut reader) = world.start(&format!(
            "exec 2>/dev/null; trap 'echo no' TERM; (trap '' TERM; {}) & while :; do sleep 0.05; done",
            lifeline.command()
        ));
        lifeline.wait_until_held();
        tree.terminate();
        assert_eq!(line(&mut reader), "no");
        assert!(!tree.wait_until_gone(Duration::ZERO));
        tree.kill();
        assert!(tree.wait_until_gone(PATIENCE));
        assert_eq!(tree.status().unwrap().signal(), Some(9));
        lifeline.wait_until_gone();
    }

    fn term_reaches_the_whole_tree() {
        let world = World::new();
        let (mut tree, mut reader) = world.start(
            "exec 2>/dev/null; trap 'wait; exit 4' TERM; \
             setsid bash -c 'trap \"echo cleaned; exit 0\" TERM; echo up; while :; do sleep 0.01; done' & \
             wait",
        );
        assert_eq!(line(&mut reader), "up");
        tree.terminate();
        assert!(tree.wait_until_gone(PATIENCE));
        assert_eq!(line(&mut reader), "cleaned");
        assert_eq!(tree.status().unwrap().code(), Some(4));
    }

    fn a_stopped_tree_can_be_ended() {
        let world = World::new();
        for kill in [false, true] {
            let (mut tree, mut reader) = world.start("echo up; kill -STOP $$");
            assert_eq!(line(&mut reader), "up");
            if kill { tree.kill() } else { tree.terminate() }
            assert!(tree.wait_until_gone(PATIENCE));
            assert!(tree.status().unwrap().signal().is_some());
        }
    }

    fn a_command_that_kills_its_group_is_told_as_killed() {
        let world = World::new();
        assert_eq!(world.run("kill -9 0").1.signal(), Some(9));
        assert_eq!(world.run("sleep 60 & kill -TERM 0; wait").1.signal(), Some(15));
    }

    fn a_command_that_kills_its_supervisor_leaves_nothing() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        let hold = lifeline.command().replace("sleep 60", "echo up; exec sleep 60");
        let (mut tree, mut reader) =
            world.start(&format!("setsid bash -c '{hold}' & while [ ! -e go ]; do sleep 0.01; done; kill -9 $PPID; sleep 60"));
        assert_eq!(line(&mut reader), "up");
        lifeline.wait_until_held();
        std::fs::write(world.workspace.path().join("go"), "").unwrap();
        assert!(tree.wait_until_gone(PATIENCE));
        assert_eq!(tree.status().unwrap().signal(), Some(9));
        // The end was told only when it was so.
        lifeline.wait_until_gone();
        assert_eq!(world.run("echo next").0, "next\n");
    }

    fn a_command_that_kills_the_server_ends_all_or_nothing() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        let (mut other, _reader) = world.start(&format!("setsid bash -c '{}' & wait", lifeline.command()));
        lifeline.wait_until_held();
        let (mut tree, mut reader) = world.start("kill -9 $(ps -o ppid= -p $PPID); sleep 0.2; echo still");
        if world.has_namespace() {
            // The first process of a namespace cannot be killed from within.
            assert_eq!(line(&mut reader), "still");
            assert_eq!(world.run("echo next").0, "next\n");
            other.kill();
        }
        assert!(tree.wait_until_gone(PATIENCE) && other.wait_until_gone(PATIENCE));
        lifeline.wait_until_gone();
    }

    fn a_dropped_tree_is_killed() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        let (tree, _reader) = world.start(&lifeline.command());
        lifeline.wait_until_held();
        drop(tree);
        lifeline.wait_until_gone();
    }

    fn a_dropped_server_has_ended_every_tree() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        let (mut tree, _reader) =
            world.start(&format!("setsid bash -c '{}' & exec sleep 60", lifeline.command()));
        lifeline.wait_until_held();
        drop(world.server);
        assert!(tree.wait_until_gone(Duration::ZERO));
        lifeline.wait_until_gone();
    }

    fn a_command_that_kills_server_and_supervisor_goes_with_them() {
        let world = World::new();
        let mut lifeline = world.lifeline();
        let kill = "kill -9 $(ps -o ppid= -p $PPID) $PPID; sleep 60";
        let (mut tree, _reader) = world.start(&lifeline.command().replace("sleep 60", kill));
        lifeline.wait_until_held();
        assert!(tree.wait_until_gone(PATIENCE));
        lifeline.wait_until_gone();
    }

    fn a_tree_that_never_stands_still_is_ended() {
        let world = World::new();
        let (mut tree, mut reader) = world.start("run() { run & }; echo up; run; sleep 60");
        assert_eq!(line(&mut reader), "up");
        tree.kill();
        assert!(tree.wait_until_gone(PATIENCE));
    }

    fn a_pipe_that_the_command_closes_is_closed() {
        let world = World::new();
        let (mut tree, mut reader) = world.start("echo up; exec >&- 2>&-; while :; do sleep 60; done");
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, "up\n");
        assert!(!tree.wait_until_gone(Duration::ZERO));
    }

    fn the_memory_of_the_client_is_not_kept() {
        const SIZE: usize = 128 << 20;
        let much = vec![1_u8; SIZE];
        let world = World::new();
        let held = world.run("grep VmRSS /proc/$PPID/status | tr -dc 0-9").0;
        assert!(held.parse::<usize>().unwrap() * 1024 < SIZE, "{held} kB");
        drop(much);
    }

    fn a_command_is_ended_from_another() {
        let world = World::new();
        let (mut server, mut reader) = world.start("echo up; exec sleep 60");
        assert_eq!(line(&mut reader), "up");
        assert_eq!(world.run(&format!("kill -0 {0} && kill -- -{0}", server.pid())).1.code(), Some(0));
        assert!(server.wait_until_gone(PATIENCE));
        assert_eq!(server.status().unwrap().signal(), Some(15));
    }

    fn nothing_of_ours_is_inherited() {
        let world = World::new();
        let (other, _reader) = world.start("sleep 60");
        assert_eq!(world.run("ls /proc/$$/fd; :").0, "0\n1\n2\n");
        assert_eq!(world.run("trap").0, "");
        assert_eq!(world.run("grep ^SigBlk /proc/self/status").0, "SigBlk:\t0000000000000000\n");
        let ours = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = |status: &str| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
            u64::from_str_radix(mask, 16).unwrap()
        };
        // As for every child: what we were told to ignore stays so, what Rust ignores does not.
        let pipe = 1 << (rustix::process::Signal::PIPE.as_raw() - 1);
        assert_eq!(ignored(&world.run("cat /proc/self/status").0), ignored(&ours) & !pipe);
        drop(other);
    }

    fn a_command_is_ended_first_when_memory_runs_out() {
        for client in [DumpableBehavior::Dumpable, DumpableBehavior::NotDumpable] {
            rustix::process::set_dumpable_behavior(client).unwrap();
            assert_eq!(World::new().run("cat /proc/self/oom_score_adj").0, "1000\n", "{client:?}");
        }
    }

    fn a_command_knows_itself_by_one_number() {
        let world = World::new();
        let (mut tree, mut reader) = world.start(
            "read -r stat _ </proc/self/stat; echo $$ $stat $(ps -o pid= -p $$) $(ps -o sid= -p $$) $BASHPID",
        );
        let pid = tree.pid().to_string();
        assert_eq!(line(&mut reader).split(' ').collect::<Vec<_>>(), [pid.as_str(); 5]);
        assert!(tree.wait_until_gone(PATIENCE));
    }

    fn our_command_line_and_environment_are_not_shown() {
        let world = World::new();
        // The supervisor and, in a namespace, the server too.
        let (shown, _) = world.run("for p in $PPID $(ps -o ppid= -p $PPID); do cat /proc/$p/cmdline /proc/$p/environ; done");
        assert_eq!(shown.trim_matches('\0'), "");
    }

    fn forks_without_end_are_bound_and_ended() {
        let world = World::new();
        if is_root() && !world.has_cgroup() {
            return eprintln!("SKIP: without a cgroup nothing binds root");
        }
        let mut lifeline = world.lifeline();
        let (mut tree, _reader) = world.start(&format!(
            "exec 2>/dev/null; ({}) & while [ ! -e go ]; do sleep 0.01; done; bomb() {{ bomb | bomb & }}; bomb; sleep 60",
            lifeline.command()
        ));
        lifeline.wait_until_held();
        std::fs::write(world.workspace.path().join("go"), "").unwrap();
        // It has a moment to grow; whether it reaches its bound is of no matter to its end.
        assert!(!tree.wait_until_gone(Duration::from_secs(1)));
        tree.kill();
        assert!(tree.wait_until_gone(Duration::from_secs(60)));
        lifeline.wait_until_gone();
        assert_eq!(world.run("echo next").0, "next\n");
    }

    fn a_killed_client_leaves_nothing() {
        let workspace = Workspace::new();
        let mut lifeline = Lifeline::new(&workspace, "lifeline");
        let mut client = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stand_in", "--ignored", "--nocapture"])
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

    fn the_number_of_processes_is_bound() {
        let world = World::new();
        let bound: u64 = world.run("ulimit -u").0.trim().parse().unwrap();
        let ours = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
        // All that there are, and a few thousand more.
        assert!(ours.is_none_or(|ours| bound < ours || ours < 10_000), "{bound} of {ours:?}");
        let ours = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let Some(group) = ours.lines().find_map(|line| line.split_once(":pids:/")).map(|(_, path)| path) else {
            return eprintln!("SKIP: there is no hierarchy of pids here");
        };
        let group = Path::new("/sys/fs/cgroup/pids").join(group);
        let probe = group.join(format!("probe-{}", std::process::id()));
        let may = std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe)).is_ok();
        assert_eq!(world.has_cgroup(), may, "{:?}", world.server.layers());
        if may {
            let theirs = world.run("cat /proc/self/cgroup").0;
            let path = theirs.lines().find_map(|line| line.split_once(":pids:/")).unwrap().1.to_owned();
            let limit = std::fs::read_to_string(Path::new("/sys/fs/cgroup/pids").join(path).join("pids.max"));
            assert_eq!(limit.unwrap(), format!("{FEW}\n"));
        }
    }
}

#[test]
fn a_kill_of_everything_stays_in_the_namespace() {
    let world = World::new();
    if !world.has_namespace() {
        eprintln!("SKIP: without a pid namespace `kill -9 -1` ends every process of the user");
        return;
    }
    let mut lifeline = world.lifeline();
    let (mut other, _reader) = world.start(&format!("setsid bash -c '{}' & sleep 60", lifeline.command()));
    lifeline.wait_until_held();
    let mut outside = Command::new("sleep").arg("60").spawn().unwrap();
    let (mut tree, _reader) = world.start(&format!("{IF_ALONE} kill -9 -1; sleep 60"));
    for tree in [&mut tree, &mut other] {
        assert!(tree.wait_until_gone(PATIENCE));
        assert_eq!(tree.status().unwrap().signal(), Some(9));
    }
    lifeline.wait_until_gone();
    assert!(outside.try_wait().unwrap().is_none());
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert_eq!(world.run("echo next").0, "next\n");
}

#[test]
fn two_servers_do_not_begin_with_the_same_process_ids() {
    let world = World::new();
    if !world.has_namespace() {
        eprintln!("SKIP: process ids are those of the system");
        return;
    }
    let [first, second]: [u32; 2] =
        [&world, &World::new()].map(|world| world.run("echo $$").0.trim().parse().unwrap());
    assert!(first > std::process::id() && first.abs_diff(second) > 100, "{first} {second}");
}

/// Not a test: the process that `a_killed_client_leaves_nothing` kills.
#[test]
#[ignore = "a part of another test"]
fn stand_in() {
    let lines: Vec<String> = std::io::stdin().lines().take(2).map(Result::unwrap).collect();
    let [directory, script] = lines.as_slice() else { panic!("{lines:?}") };
    let server = ForkServer::start(FEW).unwrap();
    let (mut tree, _reader) = start(&server, Path::new(directory), script);
    tree.wait_until_gone(Duration::from_secs(60));
}
