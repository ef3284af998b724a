//! What commands find refused, and that ordinary work is not: by namespaces with filters, and by filters alone.
//!
//! Each test runs itself again in other worlds: as nobody, and where the system gives no namespace, as root and as
//! nobody. There the limits of a user namespace are set to zero; containers refuse it in other ways, to the same
//! end. Programs that are missing are named and passed over.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_types,
    reason = "tests"
)]

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ibeam_sandbox::{Confinement, DEFAULT_PROCESS_LIMIT, LaunchSpec, Launcher, Tier};
use ibeam_testkit::Workspace;

/// Longer than any command here takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Tells a test that was started by itself which tier it must find.
const EXPECTED: &str = "IBEAM_TEST_TIER";
/// Where programs are looked for, here and by commands.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A workspace, a home with a secret, and what runs commands in them.
struct World {
    launcher: Launcher,
    tier: Tier,
    workspace: Workspace,
}

impl World {
    #[track_caller]
    fn new() -> Self {
        Self::with(|_, _| {})
    }

    #[track_caller]
    fn with(change: impl FnOnce(&mut Confinement, &Workspace)) -> Self {
        let workspace = Workspace::new().file("README.md", "readme\n").file("src/main.py", "");
        let secret = workspace.home().join(".ssh");
        std::fs::create_dir(&secret).unwrap();
        std::fs::write(secret.join("id_rsa"), "SECRET-CANARY\n").unwrap();
        std::fs::write(workspace.home().join(".profile"), "profile\n").unwrap();
        let mut confinement = Confinement {
            writable: vec![workspace.path().to_owned()],
            hidden: vec![secret],
            visible: vec![workspace.home().to_owned()],
            ..Confinement::default()
        };
        change(&mut confinement, &workspace);
        let launcher = Launcher::confined(DEFAULT_PROCESS_LIMIT, confinement);
        let layers = launcher.start().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the only word between two processes of a test")]
        match std::env::var(EXPECTED).as_deref() {
            Ok("landlock") => assert_eq!(layers.tier, Tier::Landlock, "{layers:?}"),
            Ok("namespaces") => assert_eq!(layers.tier, Tier::Namespaces, "{layers:?}"),
            Ok(_) | Err(_) => assert_ne!(layers.tier, Tier::Supervision, "{layers:?}"),
        }
        Self { launcher, tier: layers.tier, workspace }
    }

    fn is_alone(&self) -> bool {
        self.tier == Tier::Landlock
    }

    /// Runs a script to its end, and gives what it printed and its exit code; a signal counts as in a shell.
    #[track_caller]
    fn run(&self, script: &str) -> (String, i32) {
        run(&self.launcher, &self.workspace, script)
    }

    #[track_caller]
    fn prints(&self, script: &str, expected: &str) {
        let (said, code) = self.run(script);
        assert_eq!((said.trim_end(), code), (expected, 0), "{script}");
    }

    #[track_caller]
    fn refuses(&self, script: &str) {
        let (said, code) = self.run(script);
        assert_ne!(code, 0, "{script}: {said}");
    }
}

#[track_caller]
fn run(launcher: &Launcher, workspace: &Workspace, script: &str) -> (String, i32) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let environment: Vec<(OsString, OsString)> =
        [("PATH", OsStr::new(PATH)), ("HOME", workspace.home().as_os_str()), ("LC_ALL", OsStr::new("C"))]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
    let launch = LaunchSpec {
        program: Path::new("/bin/bash"),
        arguments: &["bash", "--norc", "--noprofile", "-c", script].map(OsStr::new),
        environment: &environment,
        directory: workspace.path(),
        stdio: [null.as_fd(), writer.as_fd(), writer.as_fd()],
    };
    let mut tree = launcher.spawn(&launch).unwrap_or_else(|error| panic!("{script}: {error}"));
    drop(writer);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert!(tree.wait_until_gone(PATIENCE), "{script} does not end: {said}");
    let status = tree.status().unwrap();
    use std::os::unix::process::ExitStatusExt as _;
    (said, status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// A program, where it is installed for everybody.
fn installed(program: &str) -> bool {
    let found = PATH.split(':').any(|directory| Path::new(directory).join(program).exists());
    if !found {
        eprintln!("SKIP: {program} is not installed");
    }
    found
}

/// Compiles a program of ours, outside of any sandbox.
fn compile(source: &Path, workspace: &Workspace) -> Option<PathBuf> {
    if !installed("cc") {
        return None;
    }
    let program = workspace.path().join(source.file_stem().unwrap());
    let compiled = Command::new("cc").arg("-O").arg("-o").arg(&program).arg(source).output().unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr);
    if !compiled.status.success() && said.contains("No such file") {
        eprintln!("SKIP: headers of the system are not installed: {said}");
        return None;
    }
    assert!(compiled.status.success(), "{said}");
    Some(program)
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a test again: its name and the tier to find, by a program that makes the world for it.
fn again(name: &str, world: &str, maker: &[&str], tier: &str) {
    let program = std::env::current_exe().unwrap();
    let (first, rest) = maker.split_first().unwrap();
    let made = Command::new(first).args(rest).args(["test", "-x"]).arg(&program).output();
    match made {
        Ok(made) if made.status.success() => {}
        Ok(made) => {
            let said = String::from_utf8_lossy(&made.stderr);
            return eprintln!("SKIP: {name} {world}, which cannot be had here: {said}");
        }
        Err(error) => return eprintln!("SKIP: {name} {world}: {first}: {error}"),
    }
    let output = Command::new(first)
        .args(rest)
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(EXPECTED, tier)
        .current_dir("/")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{world}: {said}");
    said.lines().filter(|line| line.starts_with("SKIP")).for_each(|line| eprintln!("{line} ({world})"));
}

/// No namespace can be made below here, and nobody has a capability.
const NO_NAMESPACES: &str = "set -e; for limit in /proc/sys/user/max_*_namespaces; do echo 0 >$limit; done; \
    exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all \"$@\"";

fn everywhere(name: &str, body: fn()) {
    body();
    #[expect(clippy::disallowed_methods, reason = "the only word between two processes of a test")]
    if std::env::var_os(EXPECTED).is_some() {
        return;
    }
    let user = (60_000 + std::process::id() % 5_000).to_string();
    let nobody = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "--inh-caps=-all"];
    let without = ["bash", "-c", NO_NAMESPACES, "bash"];
    let as_itself =
        [["unshare", "--user", "--map-current-user", "--keep-caps"].as_slice(), &without].concat();
    if rustix::process::geteuid().is_root() {
        let may = Command::new("setpriv").args(&nobody[1..]).args(["unshare", "--user", "true"]).status();
        let tier = if may.is_ok_and(|status| status.success()) { "namespaces" } else { "landlock" };
        again(name, "as nobody", &nobody, tier);
        again(name, "as root without namespaces", &as_itself, "landlock");
        again(name, "as nobody without namespaces", &[nobody.as_slice(), &as_itself].concat(), "landlock");
    } else {
        again(name, "without namespaces", &as_itself, "landlock");
    }
}

macro_rules! everywhere {
    ($(fn $name:ident() $body:block)*) => {
        $(
            #[test]
            fn $name() {
                everywhere(stringify!($name), || $body);
            }
        )*
    };
}

everywhere! {
    fn calls_by_which_sandboxes_are_left_are_refused() {
        const EPERM: &str = "1";
        const ENOSYS: &str = "38";
        let world = World::new();
        let Some(program) = compile(&fixture("tests/filters/attempts.c"), &world.workspace) else { return };
        let attempts = |launcher: &Launcher| {
            let (said, code) = run(launcher, &world.workspace, &format!("{}; rm -f fifo", program.display()));
            assert_eq!(code, 0, "{said}");
            let lines = said.lines().filter_map(|line| line.split_once(' '));
            lines.map(|(name, came)| (name.to_owned(), came.to_owned())).collect::<Vec<_>>()
        };
        let confined = attempts(&world.launcher);
        for (name, came) in confined.iter().filter(|(name, _)| name != "landlock") {
            let expected = match name.as_str() {
                "getpid" | "mkfifo" => "done",
                "clone3" => ENOSYS,
                _ => EPERM,
            };
            assert_eq!(came, expected, "{name}");
        }
        // What the system lets anybody do must be told apart from what it refuses anyway.
        let free = attempts(&Launcher::default());
        let proven: Vec<_> =
            free.iter().filter(|(name, came)| came != EPERM && *name != "getpid").map(|(name, _)| name).collect();
        assert!(proven.len() >= 15 && confined.len() >= 20, "{free:?}");
        let layers = |attempts: &[(String, String)]| -> u32 {
            attempts.iter().find(|(name, _)| name == "landlock").unwrap().1.parse().unwrap()
        };
        let of_ours = layers(&free) - layers(&confined);
        let told = world.launcher.layers().iter().any(|name| name.starts_with("landlock-abi-"));
        assert_eq!(of_ours, u32::from(told));
    }

    fn io_uring_connects_nowhere() {
        let world = World::new();
        let Some(program) = compile(&fixture("../../corpus/helpers/iouring_connect.c"), &world.workspace) else {
            return;
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect = format!("{} 127.0.0.1 {port}", program.display());
        let (said, code) = world.run(&connect);
        assert!(code == 1 && said.starts_with("io_uring_setup: Operation not permitted"), "{code}: {said}");
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
        let (said, code) = run(&Launcher::default(), &world.workspace, &connect);
        if code == 1 && said.starts_with("io_uring_setup") {
            return eprintln!("SKIP: io_uring is refused to everybody here: {said}");
        }
        assert_eq!((said.as_str(), code), ("MARK-RAN\n", 0));
        listener.accept().unwrap();
    }

    fn nothing_outside_is_reached_by_a_socket() {
        if !installed("python3") {
            return;
        }
        let mut made = None;
        let world = World::with(|_, workspace| {
            made = Some(std::os::unix::net::UnixListener::bind(workspace.path().join("socket")).unwrap());
        });
        let local = made.unwrap();
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let name = format!("ibeam-test-{}", std::process::id());
        let address = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name);
        let unnamed = std::os::unix::net::UnixListener::bind_addr(&address.unwrap()).unwrap();
        let port = |address: std::net::SocketAddr| address.port();
        let (tcp_port, udp_port) = (port(tcp.local_addr().unwrap()), port(udp.local_addr().unwrap()));
        for attempt in [
            format!("s=socket.socket(); s.connect(('127.0.0.1',{tcp_port}))"),
            format!("s=socket.socket(2,2); s.sendto(b'x',('127.0.0.1',{udp_port})); raise SystemExit(9)"),
            format!("s=socket.socket(); s.sendto(b'x',0x20000000,('127.0.0.1',{tcp_port}))"),
            format!("s=socket.socket(2,1,262); s.connect(('127.0.0.1',{tcp_port}))"),
            format!("s=socket.socket(socket.AF_UNIX); s.connect('\\0{name}')"),
            "s=socket.socket(socket.AF_UNIX); s.connect('socket')".to_owned(),
            "a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); a.sendto(b'x','socket')".to_owned(),
            "socket.socket(16,3)".to_owned(),
            "socket.socket(40,1)".to_owned(),
        ] {
            world.refuses(&format!("exec python3 -c \"import socket; {attempt}\""));
        }
        for listener in [&local, &unnamed] {
            listener.set_nonblocking(true).unwrap();
            assert!(listener.accept().is_err());
        }
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        assert!(tcp.accept().is_err());
        assert!(udp.recv(&mut [0]).is_err());
    }

    fn files_are_written_in_the_workspace_alone() {
        let world = World::new();
        let home = world.workspace.home().display().to_string();
        let outside = world.workspace.outside().display().to_string();
        world.prints("echo new >new; mkdir -p a/b; mv new a/b; ln a/b/new c; cat c", "new");
        world.prints("t=$(mktemp); echo kept >$t; cat $t; rm $t", "kept");
        world.prints("echo >/dev/null && cat README.md", "readme");
        for attempt in [
            format!("echo x >>{home}/.profile"),
            format!("echo x >{home}/.bashrc"),
            format!("rm {home}/.profile"),
            format!("mv {home}/.profile ."),
            format!("ln {home}/.profile l && echo x >>l"),
            format!("ln -s {home}/.profile s && echo x >>s"),
            format!("mkdir {outside}/x && ! test -w {outside}"),
            "echo x >/etc/ibeam-test".to_owned(),
            "echo x >/proc/sys/kernel/core_pattern".to_owned(),
        ] {
            world.refuses(&attempt);
        }
        assert_eq!(std::fs::read_to_string(world.workspace.home().join(".profile")).unwrap(), "profile\n");
        assert!(!world.workspace.home().join(".bashrc").exists());
        assert!(!world.workspace.outside().join("x").exists());
        assert!(!Path::new("/etc/ibeam-test").exists());
    }

    // Landlock refuses most of it too, where there is one.
    fn mounts_keep_what_is_not_written() {
        let world = World::new();
        if world.is_alone() {
            return;
        }
        for place in ["/", "/proc", "/dev", "/run"] {
            let options = format!("awk '$5 == \"{place}\" {{ options = $6 }} END {{ print options }}' /proc/self/mountinfo");
            let (options, _) = world.run(&options);
            assert!(["ro", "nosuid"].iter().all(|wanted| options.trim().split(',').any(|is| is == *wanted)), "{place}: {options}");
        }
    }

    fn what_is_hidden_is_not_read() {
        let world = World::with(|confinement, workspace| {
            std::fs::write(workspace.path().join(".env"), "SECRET-CANARY\n").unwrap();
            confinement.hidden.push(workspace.path().join(".env"));
        });
        let home = world.workspace.home().display().to_string();
        for attempt in [
            format!("cat {home}/.ssh/id_rsa"),
            format!("cd {home}/.ssh && cat *"),
            format!("cp -r {home}/.ssh . && cat .ssh/*"),
            format!("ln -s {home}/.ssh keys; cat keys/id_rsa"),
            format!("cat /proc/self/root{home}/.ssh/id_rsa"),
            format!("cat /proc/1/root{home}/.ssh/id_rsa"),
            "cat .env".to_owned(),
            "cat ./src/../.env".to_owned(),
            "mv .env env; cat env".to_owned(),
            "ln .env e2; cat e2".to_owned(),
        ] {
            let (said, _) = world.run(&format!("{attempt}; true"));
            assert!(!said.contains("CANARY"), "{attempt}: {said}");
        }
        world.prints(&format!("cat {home}/.profile"), "profile");
        world.prints("echo made >src/file && cat src/file README.md", "made\nreadme");
        if !world.is_alone() {
            world.prints("mkdir out && echo made >out/file && cat out/file", "made");
        }
    }

    fn what_is_to_be_hidden_and_is_made_later_is_not_read() {
        let world = World::with(|confinement, workspace| {
            confinement.hidden_when_created =
                [".aws/credentials", ".config/tool/token"].map(|name| workspace.home().join(name)).into();
        });
        let home = world.workspace.home().display().to_string();
        world.prints(&format!("cat {home}/.profile"), "profile");
        for name in [".aws/credentials", ".config/tool/token"] {
            let path = world.workspace.home().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "SECRET-CANARY\n").unwrap();
            std::fs::write(path.with_file_name("other"), "other\n").unwrap();
            let (said, _) = world.run(&format!("cat {home}/{name}; cp -r {home} copy; cat copy/{name}; true"));
            assert!(!said.contains("CANARY"), "{name}: {said}");
            world.prints(&format!("cat {}", path.with_file_name("other").display()), "other");
        }
    }

    fn processes_of_others_are_left_alone() {
        let world = World::new();
        let mut other = Command::new("sleep").arg("60").env("SECRET", "SECRET-CANARY").spawn().unwrap();
        let pid = other.id();
        let (said, _) = world.run(&format!("cat /proc/{pid}/environ /proc/{pid}/root/etc/hostname; true"));
        assert!(!said.contains("CANARY"), "{said}");
        if !world.is_alone() || rules_know_signals() {
            world.refuses(&format!("[ \"$(cat /proc/{pid}/comm)\" = sleep ] || exit 3; kill {pid}"));
            assert!(other.try_wait().unwrap().is_none());
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }

    fn nothing_is_gained_by_programs_of_others() {
        let world = World::new();
        let (status, _) = world.run("cat /proc/self/status");
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} {status}")).trim()
        };
        assert_eq!(field("NoNewPrivs:"), "1");
        assert_eq!(field("Seccomp:"), "2");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(field(set), "0000000000000000", "{set}");
        }
    }

    fn ordinary_work_goes_on() {
        let shared_memory_is_free = std::fs::read_dir("/dev/shm").is_ok_and(|entries| entries.count() == 0);
        let world = World::new();
        let check = |program: &str, script: &str, expected: &str| {
            if installed(program) {
                world.prints(script, expected);
            }
        };
        check(
            "git",
            "git init -q r && cd r && git config user.email a@b && git config user.name a && echo 1 >f && git add f && \
             git commit -qm one && git mv f g && git commit -qam two && git stash list && git log --format=%s && git gc -q",
            "two\none",
        );
        check("python3", "python3 -c 'import subprocess as s, threading as t; x=t.Thread(target=lambda:print(1)); x.start(); x.join(); print(s.check_output([\"echo\",\"2\"]).decode())'", "1\n2");
        // A lock that processes share has a name in memory.
        if !world.is_alone() || shared_memory_is_free {
            check(
                "python3",
                "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'",
                "[1, 2]",
            );
        }
        check(
            "cc",
            "mkdir -p c; printf '#include <stdio.h>\\nint main(void){puts(\"built\");}' >c/a.c && cc -O2 -o c/a c/a.c && c/a",
            "built",
        );
        check("make", "mkdir -p m; printf 'all: b c\\nb c:\\n\\t@echo $@ >$@\\n' >m/Makefile && make -s -j4 -C m && cat m/b m/c", "b\nc");
        check(
            "node",
            "node -e 'const {execFileSync}=require(\"child_process\");const fs=require(\"fs\");fs.promises.writeFile(\"n\",\"1\").then(()=>console.log(fs.readFileSync(\"n\",\"utf8\")+execFileSync(\"echo\",[\"2\"])))'",
            "12",
        );
        if Command::new(env!("CARGO")).arg("--version").output().is_ok() {
            world.prints(concat!(env!("CARGO"), " --version | cut -d' ' -f1"), "cargo");
        } else {
            eprintln!("SKIP: {} is not for everybody", env!("CARGO"));
        }
        check("ps", "ps -o comm= -p $$; :", "bash");
        check("tar", "mkdir -p t/u && echo 1 >t/u/v && tar -czf t.tgz t && rm -r t && tar -xzf t.tgz && cat t/u/v", "1");
        check("sort", "seq 100000 | sort -R --parallel=4 | sort -n -S 64K | tail -1", "100000");
        check("find", "find . -name README.md -exec cat {} +", "readme");
        check("setsid", "setsid -w sh -c 'echo 1 | (sleep 0; cat)'", "1");
        check("perl", "perl -e 'print `echo 1`, sqrt(4)'", "1\n2");
    }
}

fn rules_know_signals() -> bool {
    let probe = Launcher::confined(DEFAULT_PROCESS_LIMIT, Confinement::default());
    let names = probe.start().unwrap().names;
    !(1..6).any(|abi| names.contains(&format!("landlock-abi-{abi}").as_str()))
}

#[test]
fn a_test_of_sockets_would_notice_one_that_gets_through() {
    let workspace = Workspace::new();
    if !installed("python3") {
        return;
    }
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = udp.local_addr().unwrap().port();
    let script =
        format!("python3 -c \"import socket; socket.socket(2,2).sendto(b'x',('127.0.0.1',{port}))\"");
    assert_eq!(run(&Launcher::default(), &workspace, &script), (String::new(), 0));
    udp.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(udp.recv(&mut [0]).unwrap(), 1);
}
