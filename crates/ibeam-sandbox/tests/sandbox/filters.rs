//! Operations that are refused to commands, and ordinary work that is not, with namespaces and without.
//!
//! Each test runs itself again in other environments: as an ordinary user, and, where the system refuses namespaces, as
//! root and as an ordinary user. There the limits of a user namespace are set to zero; containers refuse namespaces in
//! other ways with the same result. Tests name missing programs and skip them.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_sandbox::{Confinement, DEFAULT_PROCESS_LIMIT, Launcher, Tier};
use ibeam_testkit::Workspace;

use crate::command::{TIMEOUT, exit_code, finish, is_installed, start_bash};
use crate::environment::{again, environment, is_root, ordinary_user, without_namespaces};

/// The environment of an ordinary user who can create namespaces.
const WITH_NAMESPACES: &str = "as an ordinary user with namespaces";

/// A workspace, a home with a secret, and a launcher for commands.
struct Fixture {
    launcher: Launcher,
    tier: Tier,
    workspace: Workspace,
}

impl Fixture {
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
        match environment().as_deref() {
            None => assert_ne!(layers.tier, Tier::Supervision, "{layers:?}"),
            Some(WITH_NAMESPACES) => assert_eq!(layers.tier, Tier::Namespaces, "{layers:?}"),
            Some(_) => assert_eq!(layers.tier, Tier::Landlock, "{layers:?}"),
        }
        Self { launcher, tier: layers.tier, workspace }
    }

    fn is_alone(&self) -> bool {
        self.tier == Tier::Landlock
    }

    /// Runs a script until it ends. Returns its output and its exit code; a signal counts as in a shell.
    #[track_caller]
    fn run(&self, script: &str) -> (String, i32) {
        run(&self.launcher, &self.workspace, script)
    }

    #[track_caller]
    fn prints(&self, script: &str, expected: &str) {
        let (output, code) = self.run(script);
        assert_eq!((output.trim_end(), code), (expected, 0), "{script}");
    }

    #[track_caller]
    fn refuses(&self, script: &str) {
        let (output, code) = self.run(script);
        assert_ne!(code, 0, "{script}: {output}");
    }
}

#[track_caller]
fn run(launcher: &Launcher, workspace: &Workspace, script: &str) -> (String, i32) {
    let started = start_bash(|launch| launcher.spawn(launch), workspace.path(), workspace.home(), script);
    let (output, status) = finish(started, script);
    (output, exit_code(status))
}

/// Compiles a test program, outside any sandbox.
fn compile(source: &Path, workspace: &Workspace) -> Option<PathBuf> {
    if !is_installed("cc") {
        return None;
    }
    let program = workspace.path().join(source.file_stem().unwrap());
    let compiled = Command::new("cc").arg("-O").arg("-o").arg(&program).arg(source).output().unwrap();
    let output = String::from_utf8_lossy(&compiled.stderr);
    if !compiled.status.success() && output.contains("No such file") {
        eprintln!("SKIP: headers of the system are not installed: {output}");
        return None;
    }
    assert!(compiled.status.success(), "{output}");
    Some(program)
}

fn fixture_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn everywhere(test: &str, body: fn()) {
    body();
    if environment().is_some() {
        return;
    }
    if !is_root() {
        return again(test, "without namespaces", &without_namespaces());
    }
    let user = ordinary_user();
    let (setpriv, options) = user.split_first().unwrap();
    let may = Command::new(setpriv).args(options).args(["unshare", "--user", "true"]).status();
    let has_namespaces = may.is_ok_and(|status| status.success());
    again(test, if has_namespaces { WITH_NAMESPACES } else { "as an ordinary user" }, &user);
    again(test, "as root without namespaces", &without_namespaces());
    again(test, "as an ordinary user without namespaces", &[user, without_namespaces()].concat());
}

tests_in! { everywhere:
    fn calls_that_leave_a_sandbox_are_refused() {
        const EPERM: &str = "1";
        const ENOSYS: &str = "38";
        let fixture = Fixture::new();
        let Some(program) = compile(&fixture_path("tests/sandbox/filters/attempts.c"), &fixture.workspace) else { return };
        let attempts = |launcher: &Launcher| {
            let (output, code) = run(launcher, &fixture.workspace, &format!("{}; rm -f fifo", program.display()));
            assert_eq!(code, 0, "{output}");
            let lines = output.lines().filter_map(|line| line.split_once(' '));
            lines.map(|(name, came)| (name.to_owned(), came.to_owned())).collect::<Vec<_>>()
        };
        let confined = attempts(&fixture.launcher);
        for (name, came) in confined.iter().filter(|(name, _)| name != "landlock") {
            let expected = match name.as_str() {
                "getpid" | "mkfifo" => "done",
                "clone3" => ENOSYS,
                _ => EPERM,
            };
            assert_eq!(came, expected, "{name}");
        }
        // Calls that the system refuses anyway prove nothing.
        let free = attempts(&Launcher::default());
        let proven: Vec<_> =
            free.iter().filter(|(name, came)| came != EPERM && *name != "getpid").map(|(name, _)| name).collect();
        assert!(proven.len() >= 15 && confined.len() >= 20, "{free:?}");
        let layers = |attempts: &[(String, String)]| -> u32 {
            attempts.iter().find(|(name, _)| name == "landlock").unwrap().1.parse().unwrap()
        };
        let own_layers = layers(&free) - layers(&confined);
        let has_landlock = fixture.launcher.layers().iter().any(|name| name.starts_with("landlock-abi-"));
        assert_eq!(own_layers, u32::from(has_landlock));
    }

    fn io_uring_cannot_connect() {
        let fixture = Fixture::new();
        let Some(program) = compile(&fixture_path("../../corpus/helpers/iouring_connect.c"), &fixture.workspace) else {
            return;
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect = format!("{} 127.0.0.1 {port}", program.display());
        let (output, code) = fixture.run(&connect);
        assert!(code == 1 && output.starts_with("io_uring_setup: Operation not permitted"), "{code}: {output}");
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
        let (output, code) = run(&Launcher::default(), &fixture.workspace, &connect);
        if code == 1 && output.starts_with("io_uring_setup") {
            return eprintln!("SKIP: io_uring is refused to everybody here: {output}");
        }
        assert_eq!((output.as_str(), code), ("MARK-RAN\n", 0));
        listener.accept().unwrap();
    }

    fn no_socket_outside_is_reachable() {
        if !is_installed("python3") {
            return;
        }
        let mut made = None;
        let fixture = Fixture::with(|_, workspace| {
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
            fixture.refuses(&format!("exec python3 -c \"import socket; {attempt}\""));
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

    fn only_files_in_the_workspace_are_writable() {
        let fixture = Fixture::new();
        let home = fixture.workspace.home().display().to_string();
        let outside = fixture.workspace.outside().display().to_string();
        let in_etc = format!("/etc/ibeam-test-{}", std::process::id());
        fixture.prints("echo new >new; mkdir -p a/b; mv new a/b; ln a/b/new c; cat c", "new");
        fixture.prints("t=$(mktemp); echo kept >$t; cat $t; rm $t", "kept");
        fixture.prints("echo >/dev/null && cat README.md", "readme");
        for attempt in [
            format!("echo x >>{home}/.profile"),
            format!("echo x >{home}/.bashrc"),
            format!("rm {home}/.profile"),
            format!("mv {home}/.profile ."),
            format!("ln {home}/.profile l && echo x >>l"),
            format!("ln -s {home}/.profile s && echo x >>s"),
            format!("mkdir {outside}/x && ! test -w {outside}"),
            format!("echo x >{in_etc}"),
            "echo x >/proc/sys/kernel/core_pattern".to_owned(),
        ] {
            fixture.refuses(&attempt);
        }
        assert_eq!(std::fs::read_to_string(fixture.workspace.home().join(".profile")).unwrap(), "profile\n");
        assert!(!fixture.workspace.home().join(".bashrc").exists());
        assert!(!fixture.workspace.outside().join("x").exists());
        assert!(!Path::new(&in_etc).exists());
    }

    // Landlock refuses most of these too, where it exists.
    fn mounts_cannot_be_changed() {
        let fixture = Fixture::new();
        if fixture.is_alone() {
            return;
        }
        for place in ["/", "/proc", "/dev", "/run"] {
            let options = format!("awk '$5 == \"{place}\" {{ options = $6 }} END {{ print options }}' /proc/self/mountinfo");
            let (options, _) = fixture.run(&options);
            assert!(["ro", "nosuid"].iter().all(|wanted| options.trim().split(',').any(|is| is == *wanted)), "{place}: {options}");
        }
    }

    fn hidden_files_cannot_be_read() {
        let fixture = Fixture::with(|confinement, workspace| {
            std::fs::write(workspace.path().join(".env"), "SECRET-CANARY\n").unwrap();
            confinement.hidden.push(workspace.path().join(".env"));
        });
        let home = fixture.workspace.home().display().to_string();
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
            let (output, _) = fixture.run(&format!("{attempt}; true"));
            assert!(!output.contains("CANARY"), "{attempt}: {output}");
        }
        fixture.prints(&format!("cat {home}/.profile"), "profile");
        fixture.prints("echo made >src/file && cat src/file README.md", "made\nreadme");
        if !fixture.is_alone() {
            fixture.prints("mkdir out && echo made >out/file && cat out/file", "made");
        }
    }

    fn of_a_covered_directory_only_the_workspace_is_visible() {
        let fixture = Fixture::with(|confinement, workspace| {
            let around = workspace.path().parent().unwrap().to_owned();
            std::fs::write(around.join("ledger"), "SECRET-CANARY\n").unwrap();
            confinement.covered = vec![around];
        });
        std::fs::write(fixture.workspace.path().parent().unwrap().join("later"), "SECRET-CANARY\n").unwrap();
        for attempt in ["cat ../ledger ../later", "cat ../*", "grep -r CANARY ..", "ln ../ledger l; cat l"] {
            let (output, _) = fixture.run(&format!("{attempt} 2>/dev/null; true"));
            assert!(!output.contains("CANARY"), "{attempt}: {output}");
        }
        fixture.prints("echo made >src/file && cat src/file README.md", "made\nreadme");
    }

    fn a_hidden_path_that_is_created_later_cannot_be_read() {
        let fixture = Fixture::with(|confinement, workspace| {
            confinement.hidden_when_created =
                [".aws/credentials", ".config/tool/token"].map(|name| workspace.home().join(name)).into();
        });
        let home = fixture.workspace.home().display().to_string();
        fixture.prints(&format!("cat {home}/.profile"), "profile");
        for name in [".aws/credentials", ".config/tool/token"] {
            let path = fixture.workspace.home().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "SECRET-CANARY\n").unwrap();
            std::fs::write(path.with_file_name("other"), "other\n").unwrap();
            let (output, _) = fixture.run(&format!("cat {home}/{name}; cp -r {home} copy; cat copy/{name}; true"));
            assert!(!output.contains("CANARY"), "{name}: {output}");
            fixture.prints(&format!("cat {}", path.with_file_name("other").display()), "other");
        }
    }

    fn processes_outside_cannot_be_affected() {
        let fixture = Fixture::new();
        let mut other = Command::new("sleep").arg("60").env("SECRET", "SECRET-CANARY").spawn().unwrap();
        let pid = other.id();
        let (output, _) = fixture.run(&format!("cat /proc/{pid}/environ /proc/{pid}/root/etc/hostname; true"));
        assert!(!output.contains("CANARY"), "{output}");
        if !fixture.is_alone() || rules_know_signals() {
            fixture.refuses(&format!("[ \"$(cat /proc/{pid}/comm)\" = sleep ] || exit 3; kill {pid}"));
            assert!(other.try_wait().unwrap().is_none());
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }

    fn set_uid_programs_give_no_privileges() {
        let fixture = Fixture::new();
        let (status, _) = fixture.run("cat /proc/self/status");
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} {status}")).trim()
        };
        assert_eq!(field("NoNewPrivs:"), "1");
        assert_eq!(field("Seccomp:"), "2");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(field(set), "0000000000000000", "{set}");
        }
    }

    fn ordinary_work_is_possible() {
        let shared_memory_is_free = std::fs::read_dir("/dev/shm").is_ok_and(|entries| entries.count() == 0);
        let fixture = Fixture::new();
        let check = |program: &str, script: &str, expected: &str| {
            if is_installed(program) {
                fixture.prints(script, expected);
            }
        };
        check(
            "git",
            "git init -q r && cd r && git config user.email a@b && git config user.name a && echo 1 >f && git add f && \
             git commit -qm one && git mv f g && git commit -qam two && git stash list && git log --format=%s && git gc -q",
            "two\none",
        );
        check("python3", "python3 -c 'import subprocess as s, threading as t; x=t.Thread(target=lambda:print(1)); x.start(); x.join(); print(s.check_output([\"echo\",\"2\"]).decode())'", "1\n2");
        // A lock shared between processes needs named shared memory.
        if !fixture.is_alone() || shared_memory_is_free {
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
            fixture.prints(concat!(env!("CARGO"), " --version | cut -d' ' -f1"), "cargo");
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
fn the_socket_test_detects_a_datagram_that_arrives() {
    let workspace = Workspace::new();
    if !is_installed("python3") {
        return;
    }
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = udp.local_addr().unwrap().port();
    let script =
        format!("python3 -c \"import socket; socket.socket(2,2).sendto(b'x',('127.0.0.1',{port}))\"");
    assert_eq!(run(&Launcher::default(), &workspace, &script), (String::new(), 0));
    udp.set_read_timeout(Some(TIMEOUT)).unwrap();
    assert_eq!(udp.recv(&mut [0]).unwrap(), 1);
}
