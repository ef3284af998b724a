//! Files, processes, devices and networks that commands in namespaces can see and change.
//!
//! Each test runs itself again in other environments: as an ordinary user, without a new pid namespace (as in
//! containers), and where only root can create namespaces. `filters.rs` tests the backend without namespaces.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ibeam_sandbox::{Confinement, Launcher, Layers, Tier};
use ibeam_testkit::{LivenessPipe, Workspace};

use crate::command::{Started, TIMEOUT, exit_code, finish, is_installed, start_bash};
use crate::environment::{
    again, can_create_namespaces, environment, in_own_process, inside, is_root, ordinary_user,
};

/// Process limit of commands: enough for git, and low for a fork bomb.
const FEW: u32 = 128;
/// Content of files that commands must not read.
const SECRET: &str = "SECRET-CANARY";

/// A workspace with a repository, a home with secrets, and a launcher for commands.
struct Fixture {
    launcher: Launcher,
    layers: Layers,
    workspace: Workspace,
}

impl Fixture {
    #[track_caller]
    fn new() -> Self {
        Self::with(Workspace::new(), |_, _| {})
    }

    #[track_caller]
    fn with(workspace: Workspace, change: impl FnOnce(&mut Confinement, &Workspace)) -> Self {
        let workspace = workspace
            .file("README.md", "readme\n")
            .file(".git/config", "[core]\n\trepositoryformatversion = 0\n")
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .file(".git/hooks/sample", "")
            .file(".git/objects/info/packs", "")
            .file(".git/refs/heads/.keep", "")
            .file("deep/er/kept/file", "kept\n");
        std::fs::create_dir(workspace.home().join(".ssh")).unwrap();
        std::fs::write(workspace.home().join(".ssh/id_rsa"), SECRET).unwrap();
        std::fs::write(workspace.home().join(".netrc"), SECRET).unwrap();
        std::fs::write(workspace.home().join(".profile"), "profile\n").unwrap();
        let below = |path: &str| workspace.path().join(path);
        let mut confinement = Confinement {
            writable: vec![workspace.path().to_owned()],
            read_only: vec![
                below(".git/config"),
                below(".git/hooks"),
                below("deep/er/kept"),
                below("missing"),
            ],
            hidden: [".ssh", ".netrc", ".aws"].map(|name| workspace.home().join(name)).into(),
            visible: vec![workspace.home().to_owned()],
            ..Confinement::default()
        };
        change(&mut confinement, &workspace);
        let launcher = Launcher::confined(FEW, confinement);
        let layers = launcher.start().unwrap();
        assert_eq!(layers.tier, Tier::Namespaces, "{layers:?}");
        assert_eq!(launcher.layers(), layers.names);
        let has = |name| layers.names.contains(&name);
        assert_eq!((has("user-namespace"), has("pid-namespace")), expected(), "{layers:?}");
        assert_eq!(has("pid-namespace-without-proc"), has_foreign_proc(), "{layers:?}");
        Self { launcher, layers, workspace }
    }

    fn has_pids(&self) -> bool {
        self.layers.names.contains(&"pid-namespace")
    }

    /// Runs a script until its tree has ended. Returns its output and its exit code.
    #[track_caller]
    fn run(&self, script: &str) -> (String, i32) {
        let (output, status) = finish(start(&self.launcher, &self.workspace, script), script);
        (output, exit_code(status))
    }

    #[track_caller]
    fn prints(&self, script: &str, expected: &str) {
        let (output, code) = self.run(script);
        assert_eq!((output.trim(), code), (expected, 0), "{script}");
    }

    /// Checks that each script fails with one of these messages.
    #[track_caller]
    fn refuses(&self, words: &[&str], scripts: &[&str]) {
        for script in scripts {
            let (output, code) = self.run(script);
            assert!(code != 0 && words.iter().any(|word| output.contains(word)), "{script}: {code} {output}");
        }
    }
}

#[track_caller]
fn start(launcher: &Launcher, workspace: &Workspace, script: &str) -> Started {
    start_bash(|launch| launcher.spawn(launch), workspace.path(), workspace.home(), script)
}

/// Returns whether a user namespace and a pid namespace are expected.
fn expected() -> (bool, bool) {
    match environment().as_deref() {
        Some(WITHOUT_PIDS | FOREIGN_PROC) => (true, false),
        Some(WITHOUT_USERS) => (false, true),
        Some(_) | None => (true, true),
    }
}

/// Returns shell code that sets `p` to the pid of the shell itself (1), its supervisor (2) or the server (3), as /proc
/// shows it.
fn ancestor(generation: usize) -> String {
    format!(
        "p=self; for i in $(seq {generation}); do p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status); done"
    )
}

/// Whether `/proc` belongs to the system and shows other pids than commands use.
fn has_foreign_proc() -> bool {
    environment().as_deref() == Some(FOREIGN_PROC)
}

const NOBODY: &str = "as an ordinary user";
const WITHOUT_PIDS: &str = "without a pid namespace";
const FOREIGN_PROC: &str = "with the /proc of the system";
const WITHOUT_USERS: &str = "with namespaces for root only";

/// Runs a test here and in the other environments; skips it where namespaces are not available.
fn everywhere(test: &str, body: fn()) {
    if environment().is_some() {
        return body();
    }
    if !can_create_namespaces(test) {
        return;
    }
    body();
    if is_root() {
        again(test, NOBODY, &ordinary_user());
    }
    // Containers mask parts of /proc in this way; the system then refuses a new mount of /proc.
    again(test, FOREIGN_PROC, &inside("mount -t tmpfs none /proc/fs"));
    again(test, WITHOUT_PIDS, &inside("echo 0 >/proc/sys/user/max_pid_namespaces"));
    again(test, WITHOUT_USERS, &inside("echo 0 >/proc/sys/user/max_user_namespaces"));
}

/// Messages of the system when a mount, a mode or a filter refuses access.
const REFUSED: &[&str] = &[
    "Read-only file system",
    "ermission denied",
    "not permitted",
    "Device or resource busy",
    "Invalid cross-device link",
    "must be superuser",
    "must be root",
];

tests_in! { everywhere:
    fn every_layer_is_reported() {
        let fixture = Fixture::new();
        for name in ["mount-namespace", "network-namespace", "ipc-namespace", "uts-namespace", "seccomp",
            "no-new-privileges", "no-capabilities", "subreaper"] {
            assert!(fixture.layers.names.contains(&name), "{name}: {:?}", fixture.layers);
        }
        let own = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
        for (kind, differs) in [("mnt", true), ("net", true), ("ipc", true), ("uts", true),
            ("user", expected().0), ("pid", expected().1 || has_foreign_proc())] {
            let command_value = fixture.run(&format!("readlink /proc/self/ns/{kind}")).0;
            assert_eq!(Path::new(command_value.trim()) != own(kind), differs, "{kind} {command_value}");
        }
    }

    fn only_the_workspace_is_writable() {
        let fixture = Fixture::new();
        fixture.prints("echo new >new && mkdir -p a/b && mv new a/b && cat a/b/new && rm -r a", "new");
        fixture.prints("echo x >deep/er/other && chmod 700 deep/er/other && ln -s other deep/er/link && cat deep/er/link", "x");
        fixture.refuses(REFUSED, &[
            "echo x >>~/.profile", "echo x >~/.bashrc", "rm -f ~/.profile", "mv ~/.profile .", "ln ~/.profile l",
            "touch -d 2001-01-01 ~/.profile", "chmod 777 ~/.profile", "chown $(id -u) ~/.profile",
            "mkdir ../x", "rmdir ../home", "mv ../home ../h", "mv $PWD ../away", "echo x >/etc/ibeam-test",
            "echo x >/usr/ibeam-test", "echo x >/sys/fs/cgroup/ibeam-test", "mkdir /sys/fs/cgroup/memory/ibeam-test",
            "echo x >/run/x", "echo x >/dev/x", "echo x >/var/ibeam-test",
        ]);
        assert_eq!(std::fs::read_to_string(fixture.workspace.home().join(".profile")).unwrap(), "profile\n");
    }

    fn every_mount_is_safe_and_most_are_read_only() {
        let fixture = Fixture::new();
        let (mounts, _) = fixture.run("cat /proc/self/mountinfo");
        let open = ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"].map(PathBuf::from);
        // Only the last mount at a path counts; it covers the others.
        let mut last = std::collections::BTreeMap::new();
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            last.insert(PathBuf::from(fields[4]), fields[5].split(',').map(str::to_owned).collect::<Vec<_>>());
        }
        for (path, options) in &last {
            let has = |option: &str| options.iter().any(|one| one == option);
            let is_device = path.starts_with("/dev") && !path.starts_with("/dev/shm") && path != Path::new("/dev");
            assert!(has("nosuid") && (has("nodev") || is_device), "{path:?} {options:?}");
            let kept = ["/.git/config", "/.git/hooks", "/deep/er/kept"];
            let is_kept = kept.iter().any(|kept| *path == Path::new(&format!("{}{kept}", fixture.workspace.path().display())));
            let is_open = open.contains(path) || is_device || path.starts_with(fixture.workspace.path());
            assert_eq!(has("ro"), is_kept || !is_open, "{path:?} {options:?}");
        }
        assert!(last.len() > 20, "{mounts}");
        // In their own tmpfs commands can change anything; outside they cannot even change a mode.
        if open.iter().any(|open| Path::new(env!("CARGO_TARGET_TMPDIR")).starts_with(open)) {
            return eprintln!("SKIP: what is built below a private directory is not there for commands");
        }
        let Ok(own_file) = std::fs::File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("own_file-{}", std::process::id()))) else {
            return eprintln!("SKIP: no file outside can be made");
        };
        drop(own_file);
        let path = format!("{}/own_file-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        fixture.refuses(REFUSED, &[&format!("chmod 777 {path}"), &format!("touch -d 2001-01-01 {path}"), &format!("echo x >{path}"), &format!("rm -f {path}")]);
        std::fs::remove_file(path).unwrap();
    }

    fn read_only_paths_cannot_be_changed_or_moved_away() {
        let fixture = Fixture::new();
        fixture.refuses(REFUSED, &[
            "echo x >>.git/config", "rm -f .git/config", "mv .git/config c", "echo >c && mv -f c .git/config", "ln -f README.md .git/config",
            "echo x >.git/hooks/pre-commit", "rm .git/hooks/sample", "mv .git/hooks h", "rm -rf .git/hooks",
            "mv .git g", "mkdir g && mv -T g .git", "chmod 777 .git/config", "truncate -s 0 .git/config",
            "mv deep d", "mv deep/er d", "mv deep/er/kept k", "echo x >deep/er/kept/file", "ln deep/er/kept/file f",
            "ln -s deep/er/kept link && echo x >link/file", "python3 -c 'import os; os.rename(\".git\", \"g\")'",
        ]);
        fixture.prints("cat deep/er/kept/file", "kept");
        fixture.prints("echo y >deep/other && mkdir deep/er/more && echo z >deep/er/more/f && cat deep/other", "y");
        let whole = "git -c user.name=a -c user.email=a@b add README.md && git -c user.name=a -c user.email=a@b \
            commit -qm one && git log --format=%s && git branch side && git stash list && git gc -q && git status --short README.md";
        if is_installed("git") {
            fixture.prints(whole, "one");
        }
        let config = std::fs::read_to_string(fixture.workspace.path().join(".git/config")).unwrap();
        assert_eq!(config, "[core]\n\trepositoryformatversion = 0\n");
        assert!(!fixture.workspace.path().join("missing").exists());
    }

    fn a_read_only_path_wins_over_a_writable_one() {
        let fixture = Fixture::with(Workspace::new(), |confinement, workspace| {
            let inner = workspace.path().join("deep/er");
            confinement.writable.push(inner.clone());
            confinement.read_only.push(inner);
        });
        fixture.refuses(REFUSED, &["echo x >deep/er/x", "rm -r deep/er"]);
        fixture.prints("echo x >deep/x && cat deep/x", "x");
        let fixture = Fixture::with(Workspace::new(), |confinement, workspace| {
            confinement.read_only = vec![workspace.outside().to_owned()];
        });
        fixture.refuses(REFUSED, &["echo x >x", "echo x >.git/config"]);
    }

    fn hidden_paths_are_empty() {
        let fixture = Fixture::with(Workspace::new().file(".env", SECRET).file("sub/.env", SECRET), |confinement, workspace| {
            confinement.hidden.extend([workspace.path().join(".env"), workspace.path().join("sub/.env")]);
            std::os::unix::fs::symlink("../home/.ssh", workspace.path().join("keys")).unwrap();
        });
        fixture.prints("cat ~/.netrc .env sub/.env; ls -A ~/.ssh; ls -A keys; echo end", "end");
        fixture.refuses(REFUSED, &["echo x >>~/.netrc", "rm ~/.netrc", "mv .env env", "rm sub/.env", "touch ~/.ssh/x", "mv sub s"]);
        let (output, _) = fixture.run("cp -r ~ copy; cat copy/.ssh/* copy/.netrc; tar -c ~ . ; grep -r . ~; cat /proc/*/root$HOME/.netrc");
        assert!(output.contains("profile") && !output.contains(SECRET));
    }

    fn directories_for_temporary_files_are_private() {
        let mark = format!("ibeam-test-{}", std::process::id());
        let fixture = Fixture::new();
        for directory in ["/tmp", "/var/tmp", "/dev/shm"].into_iter().filter(|path| Path::new(path).is_dir()) {
            let path = Path::new(directory).join(&mark);
            std::fs::write(&path, "outside").unwrap();
            fixture.refuses(&["No such file"], &[&format!("cat {}", path.display())]);
            let write = format!("echo inside >{0} && cat {0}", path.display());
            fixture.prints(&write, "inside");
            // The next command of the same launcher sees it.
            fixture.prints(&format!("cat {}", path.display()), "inside");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "outside");
            std::fs::remove_file(path).unwrap();
        }
        fixture.prints("t=$(mktemp) && echo ok >$t && cat $t; echo $TMPDIR; stat -c %a /tmp", "ok\n/tmp\n1777");
        fixture.prints("printf '#!/bin/sh\necho ran\n' >/tmp/run && chmod +x /tmp/run && /tmp/run", "ran");
    }

    fn a_workspace_in_a_private_directory_stays_at_its_path() {
        for directory in ["/tmp", "/var/tmp", "/dev/shm"].into_iter().filter(|path| Path::new(path).is_dir()) {
            let fixture = Fixture::with(Workspace::new_in(Path::new(directory)), |_, _| {});
            let outside = fixture.workspace.outside().display().to_string();
            fixture.prints("pwd -P", &fixture.workspace.path().display().to_string());
            fixture.prints("cat ~/.profile; cd .. && ls", "profile\nhome\nproject");
            fixture.prints("echo x >made && cat made", "x");
            assert_eq!(fixture.workspace.read("made").unwrap(), "x\n");
            fixture.refuses(REFUSED, &[&format!("mv {outside} /tmp/away"), &format!("touch {outside}/x"), "mv ../project ../p"]);
            fixture.prints("echo x >made && cat made", "x");
        }
    }

    fn a_workspace_at_a_private_directory_is_that_of_the_system() {
        let workspace = Workspace::new_in(Path::new("/tmp"));
        let fixture = Fixture::with(workspace, |confinement, workspace| {
            confinement.writable = vec![PathBuf::from("/var/tmp")];
            confinement.read_only.clear();
            confinement.visible.push(workspace.path().to_owned());
        });
        let other = Workspace::new_in(Path::new("/var/tmp"));
        let file = other.outside().join("file");
        fixture.prints(&format!("echo x >{0} && cat {0}", file.display()), "x");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "x\n");
        fixture.refuses(REFUSED, &["echo x >made"]);
    }

    fn a_workspace_at_the_root_keeps_the_system_read_only() {
        let fixture = Fixture::with(Workspace::new(), |confinement, workspace| {
            confinement.writable = vec![PathBuf::from("/")];
            confinement.visible.push(workspace.path().to_owned());
        });
        fixture.refuses(REFUSED, &[
            "echo x >/etc/ibeam-test", "echo x >/usr/ibeam-test", "mv /etc /e", "echo x >/var/ibeam-test",
            "echo x >/proc/sys/kernel/core_pattern", "echo x >/sys/ibeam-test", "echo x >/dev/ibeam-test",
            "echo x >>.git/config", "mv .git g",
        ]);
        fixture.prints("cat ~/.netrc; ls /dev/vda /dev/sda /dev/kmsg 2>/dev/null; echo y >/tmp/x && cat /tmp/x", "y");
    }

    fn a_home_may_be_the_workspace() {
        let fixture = Fixture::with(Workspace::new(), |confinement, workspace| {
            confinement.writable = vec![workspace.home().to_owned(), workspace.home().join(".ssh")];
            confinement.read_only = vec![workspace.home().join(".profile")];
            confinement.visible.push(workspace.path().to_owned());
        });
        fixture.refuses(REFUSED, &["echo x >>~/.profile", "rm ~/.profile", "mv ~/.ssh ~/s", "echo x >~/.ssh/authorized_keys", "echo x >x"]);
        fixture.prints("ls -A ~/.ssh; cat ~/.netrc; echo x >~/new && cat ~/new", "x");
    }

    fn directories_of_the_kernel_are_never_writable() {
        let fixture = Fixture::with(Workspace::new(), |confinement, _| {
            confinement.writable.extend(["/dev", "/proc", "/sys/fs", "/proc/sys/kernel"].map(PathBuf::from));
        });
        fixture.refuses(REFUSED, &["echo x >/dev/x", "echo x >/proc/sys/kernel/core_pattern", "mkdir /sys/fs/x", "mkdir /sys/fs/cgroup/x"]);
        fixture.prints("ls /dev | tr '\\n' ' '; cat README.md", "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero readme");
    }

    fn only_stateless_devices_are_available() {
        let fixture = Fixture::new();
        fixture.prints("ls /dev | tr '\\n' ' '", "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero");
        fixture.prints("echo x >/dev/null; head -c 3 /dev/zero | od -An -tx1; head -c 9 /dev/urandom | wc -c; cat <(echo sub); echo err >/dev/stderr", "00 00 00\n9\nsub\nerr");
        fixture.refuses(&["No space left"], &["echo x >/dev/full"]);
        fixture.refuses(REFUSED, &["mknod b b 254 0", "mknod c c 1 3", "mknod /tmp/b b 254 0"]);
        if is_installed("python3") {
            fixture.prints("python3 -c 'import os; a,b=os.openpty(); os.write(b,b\"tty\"); print(os.read(a,3).decode())'", "tty");
        }
    }

    fn settings_of_the_system_cannot_be_changed() {
        let fixture = Fixture::new();
        let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
        fixture.refuses(REFUSED, &[
            "echo '|/x' >/proc/sys/kernel/core_pattern", "echo 1 >/proc/sys/vm/drop_caches", "echo 0 >/proc/sys/kernel/yama/x || echo 1 >/proc/sys/vm/swappiness",
            "echo 0 >/proc/sys/kernel/ns_last_pid", "echo 0 >/proc/self/oom_score_adj", "hostname x", "mount -t tmpfs x /tmp",
            "mount --bind /etc deep", "umount .git/config", "umount -l /tmp", "umount /proc", "mount -o remount,rw /", "unshare -Ur true", "unshare -m true",
            "chroot / true", "nsenter -t $$ -m true || nsenter -m/proc/self/ns/mnt true", "setpriv --reuid 12345 true", "dmesg --clear",
        ]);
        assert_eq!(std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap(), pattern);
        fixture.prints("cat /proc/self/oom_score_adj; grep core /proc/self/limits | tr -s ' '", "1000\nMax core file size 1 1 bytes");
        let (status, _) = fixture.run("cat /proc/self/status");
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} {status}")).trim()
        };
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(field(set), "0000000000000000", "{set}");
        }
        assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), ("1", "2"));
        let securebits = fixture.run("setpriv --dump").0;
        assert!(securebits.contains("noroot_locked") || !securebits.contains("Securebits"), "{securebits}");
    }

    fn processes_outside_are_neither_visible_nor_reachable() {
        let fixture = Fixture::new();
        let mut other = Command::new("sleep").arg("60").env("SECRET", SECRET).spawn().unwrap();
        let pid = other.id();
        if fixture.has_pids() {
            // The same pid may belong to another process inside.
            fixture.prints("grep -l ^sleep$ /proc/[0-9]*/comm; cat /proc/1/comm; [ $(ls -d /proc/[0-9]* | wc -l) -lt 10 ] && echo few", "ibeam-init\nfew");
        } else {
            let (output, _) = fixture.run(&format!("cd /proc/{pid} && cat environ maps root/etc/hostname; readlink cwd exe fd/0"));
            assert!(output.lines().all(|line| line.ends_with("Permission denied")), "{output}");
            fixture.refuses(&["not permitted", "No such process"], &[&format!("kill -9 {pid}")]);
        }
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    fn server_and_supervisor_expose_no_memory_and_ignore_commands() {
        let fixture = Fixture::new();
        for (process, name) in [(ancestor(2), "ibeam-watch"), (ancestor(3), "ibeam-init")] {
            fixture.prints(&format!("{process}; cat /proc/$p/comm"), name);
            for attack in ["cat /proc/$p/environ", "cat /proc/$p/mem", "cat /proc/$p/maps",
                "ls -l /proc/$p/fd | grep -q . && readlink /proc/$p/fd/0", "ls /proc/$p/root/", "echo x >/proc/$p/mem"] {
                fixture.refuses(REFUSED, &[&format!("{process}; {attack}")]);
            }
        }
    }

    fn a_daemon_ends_with_its_tree() {
        let fixture = Fixture::new();
        let mut lifeline = LivenessPipe::new(&fixture.workspace, "lifeline");
        let daemon = format!("(setsid bash -c '{}' </dev/null >/dev/null 2>&1 &) ; exit 0", lifeline.command());
        let (mut tree, _reader) = start(&fixture.launcher, &fixture.workspace, &daemon);
        lifeline.wait_until_held();
        assert!(!tree.wait_until_gone(Duration::ZERO));
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
    }

    fn a_dropped_launcher_has_ended_every_tree() {
        let fixture = Fixture::new();
        let mut lifeline = LivenessPipe::new(&fixture.workspace, "lifeline");
        let daemon = format!("setsid bash -c '{}' & exec sleep 60", lifeline.command());
        let (mut tree, _reader) = start(&fixture.launcher, &fixture.workspace, &daemon);
        lifeline.wait_until_held();
        fixture.launcher.stop();
        assert!(tree.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
        // The next command gets a new server with the same confinement.
        fixture.prints("cat ~/.netrc; echo next", "next");
    }

    fn sockets_of_the_host_are_refused_and_those_of_commands_work() {
        let fixture = Fixture::new();
        let path = fixture.workspace.path().join("daemon");
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        if is_installed("python3") {
            let dial = "socket.socket(socket.AF_UNIX).connect";
            fixture.refuses(&["denied", "Permission"], &[&format!("python3 -c \"import socket; {dial}('daemon')\"")]);
            fixture.prints(&format!("python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); {dial}('own'); print(1)\""), "1");
        }
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    }

    fn the_network_is_a_private_loopback() {
        let fixture = Fixture::new();
        fixture.prints("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /proc/net/route | wc -l", "lo\n1");
        assert!(fixture.launcher.take_proxy_listener().is_none());
        let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = outside.local_addr().unwrap().port();
        fixture.refuses(&["refused"], &[&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")]);
        fixture.refuses(&["unreachable"], &["exec 3<>/dev/tcp/192.0.2.1/80", "exec 3<>/dev/udp/192.0.2.1/53"]);
        outside.set_nonblocking(true).unwrap();
        assert!(outside.accept().is_err());
        if is_installed("python3") {
            fixture.prints("python3 -c \"import socket; s=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(s.getsockname()); s6=socket.create_server(('::1',0),family=socket.AF_INET6); print(1)\"", "1");
        }
    }

    fn a_proxy_outside_accepts_connections_from_inside() {
        let fixture = Fixture::with(Workspace::new(), |confinement, _| confinement.has_proxy = true);
        let (listener, port) = fixture.launcher.take_proxy_listener().unwrap();
        assert!(fixture.launcher.take_proxy_listener().is_none());
        let (mut tree, mut reader) = start(&fixture.launcher, &fixture.workspace, &format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo asked >&3; cat <&3"));
        let (mut connection, peer) = listener.accept().unwrap();
        assert!(peer.ip().is_loopback());
        let mut request = String::new();
        BufReader::new(&connection).read_line(&mut request).unwrap();
        connection.write_all(b"answered\n").unwrap();
        drop(connection);
        let mut output = String::new();
        reader.read_to_string(&mut output).unwrap();
        assert_eq!((request.as_str(), output.as_str()), ("asked\n", "answered\n"));
        assert!(tree.wait_until_gone(TIMEOUT));
        // The socket listens only inside.
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
        // A new server has a new network, and the same port, because commands already have it.
        for outdate in [Launcher::stop, |_: &Launcher| ()] {
            outdate(&fixture.launcher);
            std::fs::remove_dir_all(fixture.workspace.home().join(".ssh")).unwrap();
            std::fs::create_dir(fixture.workspace.home().join(".ssh")).unwrap();
            let (mut tree, mut reader) =
                start(&fixture.launcher, &fixture.workspace, &format!("cat </dev/tcp/127.0.0.1/{port}"));
            let (listener, same) = fixture.launcher.take_proxy_listener().unwrap();
            assert_eq!(same, port);
            listener.accept().unwrap().0.write_all(b"answered\n").unwrap();
            output.clear();
            reader.read_to_string(&mut output).unwrap();
            assert_eq!(output, "answered\n");
            assert!(tree.wait_until_gone(TIMEOUT));
        }
    }

    fn the_number_of_processes_is_limited() {
        let fixture = Fixture::new();
        if expected().0 {
            fixture.prints("ulimit -Hu; ulimit -Su", &format!("{FEW}\n{FEW}"));
        }
        if is_root() && !fixture.layers.names.contains(&"pids-cgroup") {
            return eprintln!("SKIP: without a cgroup nothing binds root");
        }
        let (mut tree, mut reader) = start(&fixture.launcher, &fixture.workspace, "exec 2>/dev/null; bomb() { bomb | bomb & }; bomb; echo up; sleep 60");
        let mut up = String::new();
        reader.read_line(&mut up).unwrap();
        assert!(!tree.wait_until_gone(Duration::from_millis(300)));
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
        fixture.prints("echo next", "next");
    }

    fn directories_for_temporary_files_share_one_size_limit() {
        let fixture = Fixture::with(Workspace::new(), |confinement, _| confinement.max_scratch_size = Some(8 << 20));
        for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
            let (output, code) = fixture.run(&format!("head -c 9000000 /dev/zero >{directory}/large; c=$?; rm {directory}/large; exit $c"));
            assert!(code != 0 && output.contains("No space left"), "{directory}: {code} {output}");
            fixture.prints(&format!("head -c 7000000 /dev/zero >{directory}/large && rm {directory}/large"), "");
        }
        let (output, code) = fixture.run("head -c 5000000 /dev/zero >/tmp/a && head -c 5000000 /dev/zero >/dev/shm/b");
        assert!(code != 0 && output.contains("No space left"), "{code} {output}");
        fixture.prints("rm /tmp/a /dev/shm/b", "");
        // Empty files use memory too.
        let (output, code) = fixture.run("cd /var/tmp && for i in $(seq 20000); do : >$i || exit 1; done");
        assert!(code != 0 && output.contains("No space left"), "{code} {output}");
        fixture.prints("head -c 9000000 /dev/zero >large && rm large", "");
    }

    fn the_size_of_files_is_limited() {
        let fixture = Fixture::with(Workspace::new(), |confinement, _| confinement.max_file_size = Some(1 << 20));
        let (output, code) = fixture.run("head -c 3000000 /dev/zero >large");
        assert_ne!(code, 0, "{output}");
        assert_eq!(std::fs::metadata(fixture.workspace.path().join("large")).unwrap().len(), 1 << 20);
        fixture.prints("head -c 3000000 /dev/zero | wc -c", "3000000");
    }

    fn an_unreachable_writable_directory_affects_nothing_else() {
        let fixture = Fixture::with(Workspace::new(), |confinement, workspace| {
            let closed = workspace.home().join("closed");
            std::fs::create_dir_all(closed.join("inner")).unwrap();
            confinement.writable.extend([closed.join("inner"), workspace.outside().join("nowhere")]);
            confinement.read_only.push(closed.join("inner"));
            std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
            // A directory of another user, if this is root.
            let _ = std::os::unix::fs::chown(&closed, Some(54_321), None);
        });
        fixture.refuses(REFUSED, &["echo x >~/closed/inner/x"]);
        fixture.prints("cat README.md", "readme");
    }

    fn a_replaced_file_is_protected_and_hidden_too() {
        let fixture = Fixture::new();
        let home = fixture.workspace.home();
        let mut lifeline = LivenessPipe::new(&fixture.workspace, "lifeline");
        let (mut tree, _reader) = start(&fixture.launcher, &fixture.workspace, &lifeline.command());
        lifeline.wait_until_held();
        // Editors and git replace files in this way.
        let replace = |path: &Path, text: &str| {
            let new = path.with_extension("new");
            std::fs::write(&new, text).unwrap();
            std::fs::rename(new, path).unwrap();
        };
        replace(&home.join(".netrc"), SECRET);
        replace(&fixture.workspace.path().join(".git/config"), "[core]\n\tbare = false\n");
        std::fs::create_dir(home.join(".aws")).unwrap();
        std::fs::write(home.join(".aws/credentials"), SECRET).unwrap();
        fixture.refuses(REFUSED, &["echo x >>.git/config", "echo x >>~/.netrc"]);
        fixture.prints("cat ~/.netrc; ls -A ~/.aws; cat .git/config; echo x >new; cat new", "[core]\n\tbare = false\nx");
        // Commands in the outdated view continue until they are ended.
        assert!(!tree.wait_until_gone(Duration::ZERO));
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
        lifeline.wait_until_gone();
        // A new file is detected even if it reuses the inode.
        std::fs::remove_file(home.join(".netrc")).unwrap();
        std::fs::write(home.join(".netrc"), SECRET).unwrap();
        fixture.prints("cat ~/.netrc; echo x", "x");
        // Changes by commands do not make the view outdated.
        fixture.prints("echo kept >/tmp/kept; echo 1 >.git/other", "");
        fixture.prints("cat /tmp/kept", "kept");
    }

    fn two_servers_use_different_first_process_ids() {
        let [first, second]: [u32; 2] =
            [Fixture::new(), Fixture::new()].map(|fixture| fixture.run("echo $$").0.trim().parse().unwrap());
        assert!(!expected().1 && !has_foreign_proc() || first.abs_diff(second) > 100, "{first} {second}");
    }

    fn the_memory_of_the_client_is_discarded() {
        const SIZE: usize = 128 << 20;
        let much = vec![1_u8; SIZE];
        let fixture = Fixture::new();
        // The shell, its supervisor and the server.
        let held = fixture.run(&format!("{}; cat /proc/$p/comm; grep VmRSS /proc/$p/status | tr -dc 0-9", ancestor(2))).0;
        let (name, held) = held.split_once('\n').unwrap();
        assert_eq!(name, "ibeam-watch");
        assert!(held.parse::<usize>().unwrap() * 1024 < SIZE, "{held} kB");
        drop(much);
    }
}

#[test]
fn a_client_that_hides_its_memory_can_confine() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    everywhere(test_name!(a_client_that_hides_its_memory_can_confine), || {
        in_own_process(test_name!(a_client_that_hides_its_memory_can_confine), || {
            set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap();
            Fixture::new().prints("cat ~/.netrc; echo x", "x");
        });
    });
}

/// Without any backend no layer is reported and no command runs.
#[test]
fn a_command_that_cannot_be_confined_does_not_run() {
    let test = test_name!(a_command_that_cannot_be_confined_does_not_run);
    // The process limit does not apply to root.
    if environment().is_none() && is_root() {
        return again(test, NOBODY, &ordinary_user());
    }
    in_own_process(test, refuse_all_backends);
}

fn refuse_all_backends() {
    let workspace = Workspace::new();
    let launcher = Launcher::confined(
        FEW,
        Confinement { writable: vec![workspace.path().to_owned()], ..Confinement::default() },
    );
    let former = rustix::process::getrlimit(rustix::process::Resource::Nproc);
    let none = rustix::process::Rlimit { current: Some(0), maximum: former.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nproc, none).unwrap();
    let refusal = launcher.start().unwrap_err();
    rustix::process::setrlimit(rustix::process::Resource::Nproc, former).unwrap();
    assert_eq!(refusal.failures.len(), 5, "{refusal}");
    let output = refusal.to_string();
    assert!(output.contains("namespaces: the process: ") && output.contains("; Landlock: "), "{output}");
    assert!(launcher.layers().is_empty());
}
